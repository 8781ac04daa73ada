# SPDX-License-Identifier: Apache-2.0
"""What a group must keep: refused where it means nothing, and never loosened for a kernel."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.data.column import Column
from phalanx.data.domain import Domain
from phalanx.errors import MethodError, PlanError, SchemaError
from phalanx.kernels import rule as kernel
from phalanx.methods.requirement import Requirement


def column(*values):
    """Values a, b, c .. by their numbers."""
    domain = Domain("categorical", pl.Series(list("abcdefghij")))
    return Column(np.array(values, dtype=np.int32), domain)


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"k": 0}, "k must be a whole number of at least 1"),
        ({"l": 2, "diversity": "entorpy"}, "did you mean .entropy.?"),
        ({"t": 1, "distance": 3}, "use one of equal, ordered, hierarchical"),
        ({"diversity": "distinct"}, "diversity = 'distinct' needs l"),
        ({"l": "5/2", "diversity": "distinct"}, "l = 5/2 is not a whole number"),
        ({"l": "1/2"}, "l must be"),
        ({"l": 2, "diversity": "recursive"}, "needs both c and l"),
        ({"l": 2, "c": 2}, "needs both c and l"),
        ({"l": 2, "c": 0, "diversity": "recursive"}, "c = 0 is met by no group"),
        ({"t": 2}, "t must be"),
        ({"l": 2, "distance": "ordered"}, "distance = 'ordered' needs t"),
    ],
)
def test_what_no_table_meets_is_refused(parameters, error):
    """Each wrong parameter or pair, with its name."""
    with pytest.raises(PlanError, match=error):
        Requirement(**parameters)


large = st.fractions(1, 9).map(lambda x: x + Fraction(1, 2**33 + 1))


@given(large, large)
def test_a_fraction_that_does_not_fit_is_tightened(l, t):
    """What the kernel asks for is at least l, at most c and at most t, and nearly that."""
    c, t = l, t / 10
    asked = Requirement(l=3, c=c, diversity="recursive", t=t).on(12, column(*range(10), 0, 0)).rule
    assert c - Fraction(1, 2**20) < Fraction(asked.c_num, asked.c_den) <= c
    assert t - Fraction(1, 2**20) < Fraction(asked.t_num, asked.t_den) <= t
    asked = Requirement(l=l).on(12, column(*range(10), 0, 0)).rule
    assert l <= Fraction(asked.l_num, asked.l_den) < l + Fraction(1, 2**20)
    assert max(asked.l_num, asked.l_den, asked.c_num, asked.t_den) < 2**31


def test_a_rule_counts_the_values_of_the_table():
    """Values that no row has are left out; l rows are the fewest that may be diverse."""
    sensitive, rule = Requirement(k=2, l="5/2").on(5, column(1, 1, 7, 7, 4))
    assert sensitive.tolist() == [0, 0, 2, 2, 1]
    assert rule.totals.tolist() == [2, 1, 2]
    assert (rule.k, rule.rows, rule.diversity, rule.distance) == (3, 5, kernel.FREQUENCY, 0)


def test_a_requirement_about_no_value():
    """Only the size counts, and no value has a number."""
    sensitive, rule = Requirement(k=4).on(9, None)
    assert (len(sensitive), len(rule.totals), rule.k) == (0, 0, 4)
    assert not kernel.is_about(rule)
    with pytest.raises(MethodError, match=r"the table has 3 row\(s\) and a group needs k = 4"):
        Requirement(k=4).on(3, None)


def test_a_hierarchy_must_be_there():
    """The hierarchical distance without one is refused."""
    with pytest.raises(SchemaError, match="it has none"):
        Requirement(t="1/2", distance="hierarchical").on(3, column(0, 1, 2))


def test_more_rows_than_closeness_counts():
    """As many as are decided exactly are taken, and one more is refused with the number."""
    close = Requirement(t="1/2", distance="ordered")
    assert close.on(2**31 - 1, column(0, 1, 2)).rule.rows == 2**31 - 1
    with pytest.raises(
        MethodError, match=r"has 2147483648 rows, .* fewer than 2147483648; publish"
    ):
        close.on(2**31, column(0, 1, 2))
