# SPDX-License-Identifier: Apache-2.0
"""Figures and values in sentences: nothing is left unnamed without a word, and no figure looks
better than it is.
"""

from fractions import Fraction

import pytest

from phalanx.guarantees.sentences import as_promised, named, one_in, ordinal, percent


@pytest.mark.parametrize(
    ("count", "end"), [(1, "v1"), (11, "v11"), (12, "v12"), (13, "v12 and 1 more"), (30, "v12 and 18 more")]
)  # fmt: skip
def test_values_are_named_or_counted(count: int, end: str) -> None:
    """Twelve values by name, and how many others there are, if any."""
    words = named([f"v{i}" for i in range(1, count + 1)])
    assert words.startswith("v1") and words.endswith(end)
    assert words.count(", ") == min(count, 12) - 1


def test_places() -> None:
    """The places of values by how frequent they are."""
    assert [ordinal(l) for l in (1, 2, 3, 4, 10)] == ["1st", "2nd", "3rd", "4th", "10th"]
    assert (one_in(1), one_in(4), one_in("5/2")) == ("1/1", "1/4", "2/5")


def test_what_is_promised_at_most_is_rounded_up() -> None:
    """A figure that is shown is never below the one that is promised; from a thousandth on a share
    is shown as one of so many.
    """
    for figure in (Fraction(1, 3), Fraction(2, 3000), Fraction(12345678, 10**7), 1e-7 / 3):
        shown = Fraction(as_promised(figure).replace(",", ""))
        assert Fraction(figure) <= shown <= Fraction(figure) * Fraction(1001, 1000)
    assert as_promised(Fraction(1, 1000)) == "1/1,000"
    assert as_promised(Fraction(1, 999)) == "0.001002"
    assert as_promised(Fraction(2, 10**6)) == "1/500,000"
    assert "/" not in as_promised(Fraction(2, 3000001))


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0, "0%"), (0.0004999, "<0.1%"), (0.00051, "0.1%"), (0.5, "50.0%"), (0.99949, "99.9%"),
        (0.9995, ">99.9%"), (1 - 1e-9, ">99.9%"), (1, "100%"),
    ],
)  # fmt: skip
def test_shares_at_the_ends(share: float, shown: str) -> None:
    """What is above 0 is not shown as 0, and what is below 1 not as 1."""
    assert percent(share) == shown
