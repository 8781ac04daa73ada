# SPDX-License-Identifier: Apache-2.0
"""Li, Ma, Xi, Zhang, Xie, Shang, "MuCo": what its text says of the tables, held of ours.

The tables of its example (Figures 1, 3 and 4) are pictures that the text does not repeat, so its
properties are tested, and the numbers that it names: Helen is covered with Daphne and Dean, outputs
28 with .7129 and 29 with .2871, and is re-identified by her age with about .3741.
"""

from fractions import Fraction
from itertools import pairwise, product
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import outputs as naive
from phalanx.data.distances import Line
from phalanx.errors import MethodError
from phalanx.methods.mutual_cover.output_tables import denominator_for, rounded
from phalanx.methods.mutual_cover.problems import Problems
from phalanx.methods.mutual_cover.program import solve

HELEN = (0.7129, 0.2871)


def table(ages: list[int], delta: Fraction) -> tuple[list[int], list[list[int]], int]:
    """Counts, units and denominator of a group's random output table on age."""
    values, counts = np.unique(ages, return_counts=True)
    k = len(values)
    line = Line(values.astype(float))
    problem = Problems.on(line, np.arange(k), counts, np.array([0, k]))
    whole = denominator_for(len(ages), delta)
    units = rounded(problem, solve(problem, delta).probabilities, delta, whole)
    return counts.tolist(), units.reshape(k, -1).tolist(), whole


def share(counts: list[int], units: list[list[int]]) -> Fraction:
    """Definition 3: the largest probability of a column over its sum, for the column in which that
    is largest.
    """
    columns = list(zip(*units, strict=True))
    return max(
        Fraction(max(column), sum(c * n for c, n in zip(counts, column, strict=True)))
        for column in columns
        if any(column)
    )


def reidentified(outputs: list[float]) -> float:
    """Example 1: the first of the tuples that may output a value outputs it, over how many do;
    ``outputs``: with which probability each of them does.
    """
    found = 0.0
    for others in product([0, 1], repeat=len(outputs) - 1):
        p = outputs[0]
        for does, q in zip(others, outputs[1:], strict=True):
            p *= q if does else 1 - q
        found += p / (1 + sum(others))
    return found


def test_helen_is_covered():
    """By Example 1's formula, about .3741 is what Daphne and Dean can bring her to under
    1/2-probability; uncovered it would be .7129.
    """
    probabilities = np.linspace(0, 1, 51)
    found = [
        reidentified([HELEN[0], p, q])
        for p, q in product(probabilities, repeat=2)
        if 2 * HELEN[0] <= HELEN[0] + p + q
    ]
    assert min(found) < 0.3741 < max(found) < reidentified([HELEN[0]]) == HELEN[0]
    assert sum(HELEN) == 1


@given(
    st.lists(st.integers(20, 40), min_size=1, max_size=12),
    st.fractions(Fraction(1, 15), 1, max_denominator=30),
)
@settings(deadline=None, max_examples=80)
def test_property_1(ages, delta):
    """Delta must be in [1/m, 1]: in that range there is a table, whose share is in [1/m, delta];
    below it there is none.
    """
    m = len(ages)
    if delta < Fraction(1, m):
        with pytest.raises(MethodError, match=f"raise delta to at least 1/{m}"):
            table(ages, delta)
        return
    counts, units, denominator = table(ages, delta)
    assert naive.keeps(counts, units, delta, denominator)
    assert Fraction(1, m) <= share(counts, units) <= delta


@given(
    st.lists(st.integers(20, 40), min_size=2, max_size=12),
    st.fractions(Fraction(1, 12), 1, max_denominator=30),
)
@settings(deadline=None, max_examples=80)
def test_corollary_3_2(ages, delta):
    """Each value that is released corresponds to at least ceil(1/delta) tuples; under
    1/2-probability, to at least two.
    """
    for kept in {max(delta, Fraction(1, len(ages))), Fraction(1, 2)}:
        counts, units, _ = table(ages, kept)
        assert naive.fewest_feeders(counts, units) >= ceil(1 / kept)


@given(st.lists(st.integers(20, 40), min_size=6, max_size=12))
@settings(deadline=None, max_examples=40)
def test_a_smaller_delta_costs_more(ages):
    """Section 5.2: the smaller delta is, the more tuples have to be involved for covering, at
    longer distances.
    """
    values, counts = np.unique(ages, return_counts=True)
    k = len(values)
    problem = Problems.on(Line(values.astype(float)), np.arange(k), counts, np.array([0, k]))
    costs = [
        solve(problem, delta).cost[0]
        for delta in (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 6))
    ]
    assert costs[0] == 0
    assert all(less <= more + 1e-9 for less, more in pairwise(costs))


def test_a_value_that_enough_have_is_kept():
    """Section 1.2: original values are kept as much as can be; who shares an age with 1/delta - 1
    others publishes it always.
    """
    counts, units, denominator = table([28, 28, 29, 29, 29, 35], Fraction(1, 2))
    assert units[0][0] == denominator
    assert counts == [2, 3, 1]
    assert units[2][2] == 0
