# SPDX-License-Identifier: Apache-2.0
"""Parameters are the numbers that were written."""

from fractions import Fraction

import numpy as np
import pytest

from phalanx.errors import PlanError
from phalanx.exact import bounded, exact, largest_ratio, plain, whole


def test_exact_reads_what_was_written():
    """Text, floats and fractions become the number that a reader sees."""
    assert exact(0.1, "t") == exact("0.1", "t") == exact("1/10", "t") == Fraction(1, 10)
    assert plain(Fraction(4, 2)) == 2
    assert plain(Fraction(1, 6)) == "1/6"


@pytest.mark.parametrize("number", [np.int8(100), np.uint8(100), np.int64(100), np.float32(100)])
def test_exact_of_numpy_is_of_python(number):
    """A number of few bits computes as what it says: its square, as that of 100, is 10,000."""
    meant = exact(number, "l")
    assert meant * meant == 10_000
    assert {type(meant.numerator), type(meant.denominator)} == {int}


@pytest.mark.parametrize(
    "bad", ["1e99999999", "2E-1_00000", "x", "1/0", float("nan"), float("inf"), True, None, ""]
)
def test_exact_refuses(bad):
    """What is no finite number is refused in one sentence."""
    with pytest.raises(PlanError, match="t must be a number"):
        exact(bad, "t")


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2"])
def test_whole_refuses(bad):
    """A count is a whole number of at least 1."""
    with pytest.raises(PlanError, match="k must be a whole number"):
        whole(bad, "k")


def test_bounded_refuses():
    """Beyond 1 there is no distance."""
    with pytest.raises(PlanError, match="at most 1"):
        bounded("1.1", "t", 0, 1)


def test_largest_ratio_beyond_floats():
    """Two ratios that floats cannot tell apart are told apart."""
    above, below = np.array([10**15, 10**15 + 1]), np.array([10**15 + 1, 10**15 + 2])
    assert float(above[0]) / float(below[0]) == pytest.approx(
        float(above[1]) / float(below[1]), abs=1e-15
    )
    assert largest_ratio(above, below) == (Fraction(10**15 + 1, 10**15 + 2), 1)
