# SPDX-License-Identifier: Apache-2.0
"""The steps of the simplex method against their definitions: inverses, and which basic cover
leaves. Covers and prices stand in test_outputs.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.methods.mutual_cover.kernels import simplex


@given(st.integers(1, 6), st.data())
@settings(deadline=None, max_examples=80)
def test_the_inverse_is_one(k, data):
    """Where the basis has an inverse worth the name it is found, and weights follow from what rows
    are to sum to; else that is said.
    """
    cells = st.integers(-3, 3)
    basis = np.array(
        [data.draw(st.lists(cells, min_size=k, max_size=k)) for _ in range(k)], dtype=float
    )
    sums = np.array(data.draw(st.lists(st.integers(0, 5), min_size=k, max_size=k)), dtype=float)
    inverse, x = np.empty((k, k)), np.empty(k)
    there_is = simplex.inverted(basis, sums, inverse, np.empty((k, k)), x)
    assert there_is == (round(float(np.linalg.det(basis))) != 0)
    if there_is:
        assert inverse @ basis.T == pytest.approx(np.eye(k), abs=1e-9)
        assert basis.T @ x == pytest.approx(sums, abs=1e-9)


@given(st.integers(1, 5), st.data())
@settings(deadline=None, max_examples=120)
def test_the_lexicographically_least_ratio_leaves(k, data):
    """Of the covers whose weight falls, the one that reaches 0 first leaves; of equals the one
    whose row of the inverse, over the step, comes first.
    """
    whole = st.integers(0, 4)
    x = [data.draw(whole) for _ in range(k)]
    step = [data.draw(st.integers(-3, 3)) for _ in range(k)]
    inverse = [[data.draw(whole) for _ in range(k)] for _ in range(k)]
    found = simplex.leaves(
        np.array(x, dtype=float), np.array(inverse, dtype=float), np.array(step, dtype=float), 0.0
    )
    falls = {
        b: [Fraction(n, step[b]) for n in (x[b], *inverse[b])] for b in range(k) if step[b] > 0
    }
    if not falls:
        assert found == -1
    else:
        assert falls[found] == min(falls.values())


@given(st.integers(1, 6), st.data())
@settings(deadline=None, max_examples=80)
def test_with_slack_the_greatest_pivot_leaves(k, data):
    """Where weights may fall a little below zero, of the covers that reach that the one with the
    greatest step leaves.
    """
    x = [data.draw(st.integers(0, 3)) for _ in range(k)]
    step = [data.draw(st.integers(-3, 3)) for _ in range(k)]
    found = simplex.leaves(np.array(x, dtype=float), np.eye(k), np.array(step, dtype=float), 1e-9)
    falls = [b for b in range(k) if step[b] > 0]
    if not falls:
        assert found == -1
        return
    first = min(Fraction(x[b], step[b]) for b in falls)
    assert step[found] == max(step[b] for b in falls if Fraction(x[b], step[b]) == first)
    for b in range(k):
        assert x[b] - step[b] * (x[found] / step[found]) >= -1e-8
