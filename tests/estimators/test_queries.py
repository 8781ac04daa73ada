# SPDX-License-Identifier: Apache-2.0
"""Queries are read as SQL and Polars mean them, and what no release can answer is refused in a
sentence.
"""

import datetime as dt
import operator
from functools import reduce
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.errors import ExtraError, ReleaseError
from phalanx.estimators.conditions import All, Comparison, Either, Query
from phalanx.estimators.expressions import read_expression
from phalanx.estimators.queries import read_query

C = Comparison


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("count(*)", Query("count", None, All())),
        ("count(*) where sex = 'F'", Query("count", None, C("sex", "in", ("F",)))),
        ("COUNT(*) WHERE 30 <= age", Query("count", None, C("age", "below", (30,), negated=True))),
        (
            "count(*) where age between -1 and 4.5",
            Query(
                "count",
                None,
                All((C("age", "below", (-1,), negated=True), C("age", "upto", (4.5,)))),
            ),
        ),
        (
            "count(*) where not (a < 3 or b in ('x', 'y'))",
            Query(
                "count",
                None,
                All((C("a", "below", (3,), negated=True), C("b", "in", ("x", "y"), negated=True))),
            ),
        ),
        (
            "count(*) where a is null or zip like '47%'",
            Query("count", None, Either((C("a", "missing"), C("zip", "prefix", ("47",))))),
        ),
        (
            "count(*) where zip not like '47%'",
            Query("count", None, C("zip", "prefix", ("47",), negated=True)),
        ),
        (
            "count(*) where not (zip not like '47%')",
            Query("count", None, C("zip", "prefix", ("47",))),
        ),
        ("count(income)", Query("count", None, C("income", "missing", negated=True))),
        (
            "avg(x) group by sex, a",
            Query("mean", "x", C("x", "missing", negated=True), ("sex", "a")),
        ),
        (
            "select sex, sum(x) from release group by sex;",
            Query("sum", "x", C("x", "missing", negated=True), ("sex",)),
        ),
        (
            "mean(x) where married",
            Query("mean", "x", All((C("married", "in", (True,)), C("x", "missing", negated=True)))),
        ),
        (
            "count(*) where day >= date '2020-01-31'",
            Query("count", None, C("day", "below", ("2020-01-31",), negated=True)),
        ),
        (
            "count(*) where a and b and (c or d)",
            Query(
                "count",
                None,
                All(
                    (
                        C("a", "in", (True,)),
                        C("b", "in", (True,)),
                        Either((C("c", "in", (True,)), C("d", "in", (True,)))),
                    )
                ),
            ),
        ),
    ],
)
def test_text_is_read(text: str, query: Query) -> None:
    """Each kind of condition and aggregate is read as SQL means it."""
    assert read_query(text) == query


@pytest.mark.parametrize("digits", [308, 309, 5000])
def test_a_number_of_many_digits(digits: int) -> None:
    """What is greater than any number that a column can hold is infinite, and no fault."""
    asked = read_query(f"count(*) where age < {'9' * digits}")

    assert asked.where.values == ((int("9" * 308),) if digits == 308 else (float("inf"),))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("count(distinct x)", "different values"),
        ("count(*) group by", "'group by' names no attribute"),
        ("count(*) group by all", "'group by' names no attribute"),
        ("sum(a + b)", "columns beside constants"),
        ("count(*) where a = b", "another column"),
        ("count(*) where upper(a) = 'x'", "columns beside constants"),
        ("count(*), sum(x)", "one figure at a time"),
        ("foo(", "no SQL"),
        ("", "one figure at a time"),
        ("delete from x", "ask for count"),
        ("count(*) where x in (select 1)", "columns beside constants"),
        ("count(*) order by x", "'order'"),
        ("count(*) limit 1", "'limit'"),
        ("select count(*) from a join b on a.x = b.x", "'joins'"),
        ("count(*) from (select * from t where a = 1)", "FROM"),
        ("count(*) from read_csv('x')", "FROM"),
        ("count(*) from t tablesample 10%", "'sample'"),
        ("count(*) where a between symmetric 3 and 1", "'symmetric'"),
        ("count(*) group by a with totals", "'totals'"),
        ("count(*) where a = null", "IS NULL"),
        ("count(*) where a is true", "columns beside constants"),
        ("count(*) where a like '%x%'", "begins with"),
        ("median(x)", "ask for count"),
        ("(" * 400 + "1", "no SQL"),
    ],
)
def test_what_cannot_be_asked_is_refused(text: str, why: str) -> None:
    """The reason is said in one line, whatever was typed."""
    with pytest.raises(ReleaseError, match=why) as refused:
        read_query(text)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 250


def test_the_extra_is_named() -> None:
    """Without sqlglot the error says what to install."""
    with (
        patch("phalanx.errors.find_spec", return_value=None),
        pytest.raises(ExtraError, match=r"phalanx\[estimate\]"),
    ):
        read_query("count(*)")


a, b = pl.col("a"), pl.col("b")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (pl.len(), "count(*)"),
        (pl.len().filter(a > 3), "count(*) where a > 3"),
        (
            (a == "F") & ~b.is_in([1, 2]) | b.is_null(),
            "count(*) where a = 'F' and b not in (1, 2) or b is null",
        ),
        (a.filter(b.is_between(1, 2)).mean(), "avg(a) where b between 1 and 2"),
        (a.sum(), "sum(a)"),
        (a.str.starts_with("47").alias("x"), "count(*) where a like '47%'"),
        (pl.lit(3) <= a, "count(*) where 3 <= a"),
        (a.is_not_null(), "count(*) where a is not null"),
        (a.is_in(pl.Series([1, 2])), "count(*) where a in (1, 2)"),
        (a.is_in(pl.Series([], dtype=pl.Int64)), "count(*) where a in ()"),
        (a.is_in(pl.lit([1, 2])), "count(*) where a in (1, 2)"),
    ],
)
def test_expressions_are_read(expression: pl.Expr, text: str) -> None:
    """An expression is the query that its text is."""
    assert read_expression(expression) == read_query(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(deadline=None)
def test_floats_of_expressions_are_those_that_were_written(value: float) -> None:
    """To the last digit, as those of a text are; Polars itself reads some as their neighbours."""
    assert read_expression(a < value) == read_query(f"count(*) where a < {value!r}")
    assert read_expression(a.is_in([value])).where == read_expression(a == value).where


def test_dates_of_expressions() -> None:
    """A date is a constant like any other."""
    assert read_expression(a < dt.date(2020, 1, 31)).where == C(
        "a", "below", (dt.date(2020, 1, 31),)
    )


@pytest.mark.parametrize(
    "expression",
    [
        a > b,
        a.std(),
        a + 1 > 2,
        a.str.to_uppercase() == "X",
        a.sum().over("b"),
        pl.lit(1),
        a.filter(b > 1),
        a == pl.Series([1, 2]),
        a.is_in([1, None]),
        a.is_in([1], nulls_equal=True),
        a.is_in(pl.Series([[1, 2], [3, 4]])),
        a.is_in([1.0, float("nan")]),
        a < float("inf"),
        a == dt.datetime(2020, 1, 31, 12, tzinfo=dt.UTC),
        a == dt.timedelta(1),
        a == b"x",
    ],
)
def test_expressions_that_cannot_be_asked(expression: pl.Expr) -> None:
    """What no release can answer is refused, and not answered as something else."""
    with pytest.raises(ReleaseError):
        read_expression(expression)


def test_a_password_that_is_cut_off_is_not_told() -> None:
    """What is quoted of a long query is short, and a url in it has lost its password before."""
    with pytest.raises(ReleaseError, match=r"postgresql://…@db") as refused:
        read_query(
            "count(*) where a similar to postgresql://ann:pw9secret@db/x?y=[ or " + "b " * 99
        )
    assert "pw9" not in str(refused.value)
    with pytest.raises(ReleaseError, match="no SQL that can be read") as refused:
        read_query("count(*) where nobody similar to postgresql://ann:pw9secret-longer@db/x?y=[")
    assert "pw9" not in str(refused.value)


def test_an_expression_of_too_many_parts_is_refused_in_a_sentence() -> None:
    """Each ``|`` of Polars stands within the next one."""
    nested = reduce(operator.or_, [pl.col("age") == i for i in range(2000)])
    with pytest.raises(ReleaseError, match="too many parts one in another; ask by is_in"):
        read_expression(nested)
