# SPDX-License-Identifier: Apache-2.0
"""The worked example of Xiao & Tao (VLDB 2006): Tables 1 and 3, query A, and how little their
reconstruction error can be.
"""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import NotEligible
from phalanx.guarantees.anatomy import AnatomyDiversity
from phalanx.methods.anatomy.method import Anatomy
from phalanx.methods.base import Memory
from phalanx.randomness import Randomness
from phalanx.release.forms.bucketized import Bucketized, bucketize

TABLE_1 = pl.DataFrame(
    [
        (23, "M", 11000, "pneumonia"),  # Bob
        (27, "M", 13000, "dyspepsia"),
        (35, "M", 59000, "dyspepsia"),
        (59, "M", 12000, "pneumonia"),
        (61, "F", 54000, "flu"),
        (65, "F", 25000, "gastritis"),
        (65, "F", 25000, "flu"),  # Alice
        (70, "F", 30000, "bronchitis"),
    ],
    schema=["age", "sex", "zip", "disease"],
    orient="row",
)
TABLE_3 = np.array([0, 0, 0, 0, 1, 1, 1, 1])
SCHEMA = Schema(quasi=["age", "sex", "zip"], sensitive="disease")


def microdata() -> Microdata:
    return Microdata.encode(TABLE_1, SCHEMA)


def table_3() -> Bucketized:
    """The paper's own anatomized table."""
    return bucketize(microdata(), TABLE_3, Randomness.seeded(1).stream("bucketize"))[0]


def shares(form: Bucketized) -> pl.DataFrame:
    """The join of the two tables: every row with each of its bucket's values, whose probability is
    count / size.
    """
    sizes = form.values.group_by("bucket").agg(pl.col("count").sum().alias("size"))
    return form.table.join(form.values, on="bucket").join(sizes, on="bucket")


def test_table_3() -> None:
    """The paper's two buckets, and its sensitive table: two and two, and two and one and one."""
    counts = sorted(
        sorted(rows.select("disease", "count").rows())
        for _, rows in table_3().values.group_by("bucket")
    )
    assert counts == [
        [("bronchitis", 1), ("flu", 2), ("gastritis", 1)],
        [("dyspepsia", 2), ("pneumonia", 2)],
    ]


def test_table_3_is_2_diverse() -> None:
    """And not 3-diverse: half of each bucket has one disease."""
    assert AnatomyDiversity(l=2).check(table_3())[0].holds  # type: ignore[arg-type]
    assert not AnatomyDiversity(l=3).check(table_3())[0].holds  # type: ignore[arg-type]


def test_query_a() -> None:
    """Pneumonia up to age 30 in zip codes 10001 to 20000: the estimate from the two tables is 1, as
    it is (0.1 by generalization).
    """
    asked = shares(table_3()).filter(
        (pl.col("disease") == "pneumonia")
        & (pl.col("age") <= 30)
        & pl.col("zip").is_between(10001, 20000)
    )
    assert (
        sum(Fraction(count, size) for count, size in asked.select("count", "size").iter_rows()) == 1
    )


def test_bob_has_pneumonia_with_one_half() -> None:
    """Whoever knows Bob's age, sex and zip code finds his row, and his disease with one half."""
    bob = shares(table_3()).filter(
        (pl.col("age") == 23) & (pl.col("sex") == "M") & (pl.col("zip") == 11000)
    )
    assert {
        d: Fraction(c, s) for d, c, s in bob.select("disease", "count", "size").iter_rows()
    } == {"dyspepsia": Fraction(1, 2), "pneumonia": Fraction(1, 2)}


@pytest.mark.parametrize("l", [2, 3, 4])
def test_table_1_is_published_by_the_method(l: int) -> None:
    """Table 1 is 4-eligible: two of eight have the most frequent disease."""
    form = Anatomy(l=l).publish(microdata(), Memory(), Randomness.seeded(3)).form
    assert AnatomyDiversity(l=l).check(form)[0].holds  # type: ignore[arg-type]
    assert form.groups == 8 // l


def test_table_1_is_not_5_eligible() -> None:
    """And the refusal says so."""
    with pytest.raises(
        NotEligible, match=r"stands in 2 of 8 rows \(25.0 %\) and l = 5 .* lower l to at most 4"
    ):
        Anatomy(l=5).publish(microdata(), Memory(), Randomness.seeded(3))


def reconstruction_error(form: Bucketized) -> Fraction:
    """In fractions: over all rows, the squared distance of the published distribution to the value
    that is true.
    """
    error = Fraction(0)
    for _, rows in form.values.group_by("bucket"):
        counts = rows["count"].to_list()
        size = sum(counts)
        spread = sum(Fraction(c, size) ** 2 for c in counts)
        error += sum(c * (spread - 2 * Fraction(c, size) + 1) for c in counts)
    return error


@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=9), st.integers(2, 5), st.integers(0, 2**32)
)
@settings(deadline=None)  # the first call compiles
def test_the_reconstruction_error_is_least(counts: list[int], l: int, seed: int) -> None:
    """The error is at least n (1 - 1/l) for any bucketization that is l-diverse; the method's is
    exactly that where l divides n, else within 1 + 1/n of it.
    """
    values = [v for v, count in enumerate(counts) for _ in range(count)]
    n = len(values)
    assume(n > 0 and l * max(counts) <= n)
    frame = pl.DataFrame({"age": [i % 40 for i in range(n)], "disease": [f"d{v}" for v in values]})
    form = (
        Anatomy(l=l)
        .publish(
            Microdata.encode(frame, Schema(quasi=["age"], sensitive="disease")),
            Memory(),
            Randomness.seeded(seed),
        )
        .form
    )
    assert isinstance(form, Bucketized)
    least, error = n * (1 - Fraction(1, l)), reconstruction_error(form)
    assert least <= error <= least * (1 + Fraction(1, n))
    assert n % l or error == least


def test_another_grouping_has_a_larger_error() -> None:
    """The error of Table 3, whose buckets are of four where two would do, is above that of the
    method.
    """
    form = Anatomy(l=2).publish(microdata(), Memory(), Randomness.seeded(3)).form
    assert isinstance(form, Bucketized)
    assert reconstruction_error(form) == 4 < reconstruction_error(table_3()) == Fraction(9, 2)
