# SPDX-License-Identifier: Apache-2.0
"""Correlations are those of the released tables: exact within a column, and over all ways to assign
columns within buckets across them.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.correlation import intervals
from phalanx.data.correlation import phi2 as of_table
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.randomness import Randomness
from phalanx.release.forms.bucketized import bucketize
from phalanx.release.forms.sliced import Boxes, Sliced, slice_into
from phalanx.release.manifest import PublishedAttribute
from phalanx.report import correlations
from phalanx.report.correlations import Correlations

COLUMNS = {
    "two": [("age", "sex"), ("town", "ill")],
    "own": [("age",), ("sex",), ("town",), ("ill",)],
    "alone": [("age", "sex", "town"), ("ill",)],
    "shared": [("town", "sex", "age"), ("sex", "town", "ill")],
    "all": [("age", "sex", "town", "ill")],
}


@st.composite
def tables(draw):
    """Up to 30 rows of which some agree, some values are missing, and ages are many, in up to 5
    buckets.
    """
    n = draw(st.integers(1, 30))

    def some(values):
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    ages = some([None, *range(20, 20 + draw(st.integers(1, 40)))])
    rows = {
        "age": ages,
        "sex": some("FM"),
        "town": some([None, "Aachen", "Bonn"]),
        "ill": some(["flu", "gout", "acne"]),
    }
    table = pl.DataFrame(
        rows, schema={"age": pl.Int64, "sex": pl.String, "town": pl.String, "ill": pl.String}
    )
    return table, np.unique(
        draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), return_inverse=True
    )[1].astype(np.int64)


def encoded(table, *, sensitive="ill"):
    quasi = [name for name in table.columns if name != sensitive]
    return Microdata.encode(table, Schema(quasi=quasi, sensitive=sensitive, missing="value"))


def sliced(table, buckets, columns, *, seed=1, **said):
    sensitive = said.pop("sensitive", "ill")
    return slice_into(
        encoded(table, sensitive=sensitive),
        columns,
        buckets,
        Randomness.seeded(seed).stream("x"),
        **said,
    )[0]


def expected(table, buckets, a, b, *, together):
    """The paper's formula cell by cell, in fractions; across columns every two rows of a bucket are
    met by a share of 1 in its size.
    """
    one, other = (
        intervals(table[name].to_list(), 10)
        if table[name].dtype.is_numeric()
        else table[name].to_list()
        for name in (a, b)
    )
    n, sizes = len(one), Counter(buckets.tolist())
    first, second = Counter(one), Counter(other)
    if min(len(first), len(second)) < 2:
        return None
    joint = Counter()
    for i in range(n):
        for j in range(n):
            if i == j if together else buckets[i] == buckets[j]:
                joint[one[i], other[j]] += (
                    Fraction(1) if together else Fraction(1, sizes[buckets[i]])
                )
    assert sum(joint.values()) == n
    total = Fraction(0)
    for v in first:
        for w in second:
            by_chance = Fraction(first[v] * second[w], n * n)
            total += (Fraction(joint[v, w]) / n - by_chance) ** 2 / by_chance
    return total / (min(len(first), len(second)) - 1)


def agree(found, table, buckets, columns):
    """Every pair equals the formula, and is marked as it was counted."""
    for x, a in enumerate(found.names):
        for y, b in enumerate(found.names):
            if a == b:
                continue
            together = any(a in column and b in column for column in columns)
            share = expected(table, buckets, a, b, together=together)
            assert found.together[x, y] == together
            assert (
                np.isnan(found.phi2[x, y])
                if share is None
                else found.phi2[x, y] == pytest.approx(float(share), abs=1e-12)
            ), (a, b)


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("columns", list(COLUMNS.values()), ids=list(COLUMNS))
@given(drawn=tables())
@settings(deadline=None, max_examples=40)
def test_every_pair_is_that_of_the_formula(columns, compact, drawn):
    """Within a column from the rows, across columns from all pairs of rows of each bucket; missing
    values and shared attributes among them.
    """
    table, buckets = drawn
    agree(
        Correlations.of(sliced(table, buckets, columns, compact=compact)), table, buckets, columns
    )


@given(drawn=tables())
@settings(deadline=None, max_examples=40)
def test_without_a_sensitive_attribute_as_with_one(drawn):
    """All attributes are compared alike."""
    table, buckets = drawn
    agree(
        Correlations.of(sliced(table, buckets, COLUMNS["two"], sensitive=None)),
        table,
        buckets,
        COLUMNS["two"],
    )


@given(drawn=tables())
@settings(deadline=None, max_examples=40)
def test_two_tables_are_two_columns(drawn):
    """In a bucketized release, quasi-identifiers stand together and the sensitive attribute is
    linked by bucket.
    """
    table, buckets = drawn
    form, _ = bucketize(encoded(table), buckets, Randomness.seeded(1).stream("x"))
    agree(Correlations.of(form), table, buckets, COLUMNS["alone"])


@pytest.mark.parametrize("lacking", ["table", "values"])
@pytest.mark.parametrize("bucket", [0, 2, 4])
def test_a_bucket_that_one_table_lacks_counts_nowhere(lacking, bucket):
    """A bent release gets its figures without what is linked with nothing."""
    draw = np.random.default_rng(7)
    table = pl.DataFrame({name: draw.choice(list("abc"), 40) for name in ("age", "sex", "ill")})
    form, _ = bucketize(encoded(table), np.arange(40) // 8, Randomness.seeded(1).stream("x"))
    gone = pl.col("bucket") != sorted(form.table["bucket"].unique())[bucket]
    bent = replace(form, **{lacking: getattr(form, lacking).filter(gone)})
    both = replace(bent, table=bent.table.filter(gone), values=bent.values.filter(gone))
    found, asked = (Correlations.of(one) for one in (bent, both))
    assert np.isfinite(found.phi2).all()
    if lacking == "table":
        assert found.phi2 == pytest.approx(asked.phi2, abs=1e-12)


def test_many_values_are_counted_as_few_are(monkeypatch):
    """Attributes of many values go another way, and tables of many buckets are counted in pieces: to
    the same figures.
    """
    draw = np.random.default_rng(5)
    n = 400
    table = pl.DataFrame(
        {
            "age": draw.integers(20, 60, n),
            "sex": draw.choice(list("FM"), n),
            "town": draw.choice([f"t{i}" for i in range(50)], n),
        }
    )
    table = table.with_columns(
        pl.Series("ill", [f"v{x % 40}" for x in table["age"] + draw.integers(0, 9, n)])
    )
    buckets = (np.arange(n) // 7).astype(np.int64)
    form = sliced(table, buckets, COLUMNS["two"])
    found = Correlations.of(form)
    agree(found, table, buckets, COLUMNS["two"])
    for narrow, cells, rows in ((0, 500, 60), (100, 500, 1), (10, 100_000, 1), (0, 500, 1 << 20)):
        monkeypatch.setattr(correlations, "_NARROW", narrow)
        monkeypatch.setattr(correlations, "_AT_ONCE", rows)
        monkeypatch.setattr(correlations, "_CELLS", cells)
        assert Correlations.of(form).phi2 == pytest.approx(found.phi2, abs=1e-12)
    monkeypatch.setattr(correlations, "_NARROW", 20)
    monkeypatch.setattr(correlations, "_MOST_PAIRS", 10)
    some = Correlations.of(form)
    assert np.isnan(some.phi2[some.names.index("age"), some.names.index("ill")])
    assert not np.isnan(some.phi2[some.together]).any()


def test_within_a_column_it_is_what_slicing_looked_at():
    """Where nothing is generalized, attributes of one column have the phi^2 of the source."""
    draw = np.random.default_rng(6)
    base = draw.integers(0, 90, 500)
    table = pl.DataFrame(
        {
            "age": base * 0.1 - 3,
            "sex": [list("FM")[x % 2] for x in base],
            "town": base // 30,
            "ill": [f"v{x // 9}" for x in base],
        }
    )
    table = table.with_columns(
        pl.Series("seen", base + 19000).cast(pl.Int32).cast(pl.Date),
        pl.Series("far", np.where(base == 3, 1.7e308, -1.7e308)),
    )
    buckets = (np.arange(500) % 20).astype(np.int64)
    names = ("age", "sex", "town", "seen", "far", "ill")
    found = Correlations.of(sliced(table, buckets, [names]))
    microdata = encoded(table)

    assert found.names == names
    assert found.phi2 == pytest.approx(
        of_table([microdata.columns[name] for name in names]), abs=1e-12
    )
    assert found.together.all()


def test_the_order_within_a_bucket_tells_nothing():
    """However columns were shuffled, the figures are the same; a value that changes its bucket
    changes them.
    """
    draw = np.random.default_rng(7)
    table = pl.DataFrame(
        {
            "age": draw.integers(20, 30, 60),
            "sex": draw.choice(list("FM"), 60),
            "town": draw.choice(list("abc"), 60),
        }
    )
    table = table.with_columns(ill=pl.Series([f"v{x % 4}" for x in table["age"]]))
    buckets = (table["age"].rank("ordinal").to_numpy() // 7).astype(np.int64)
    one, other = (
        Correlations.of(sliced(table, buckets, COLUMNS["two"], seed=seed)) for seed in (1, 2)
    )
    moved = buckets.copy()
    moved[[0, 1]] = buckets[[1, 0]]

    assert one.phi2 == pytest.approx(other.phi2, abs=1e-12)
    assert buckets[0] != buckets[1]
    assert Correlations.of(sliced(table, moved, COLUMNS["two"])).phi2 != pytest.approx(
        one.phi2, abs=1e-12
    )


def test_intervals_count_by_their_low_end():
    """A generalized value is where its interval begins, in codes of the released values."""
    table = pl.DataFrame(
        {
            "age": [20, 21, 30, 31],
            "sex": list("FMFM"),
            "town": list("aabb"),
            "ill": ["flu", "gout", "flu", "gout"],
        }
    )
    boxes = {
        0: Boxes(
            np.array([0, 0, 1, 1]),
            {
                "age": (np.array([0, 2]), np.array([1, 3])),
                "sex": (np.array([0, 0]), np.array([1, 1])),
            },
        )
    }
    found = Correlations.of(sliced(table, np.array([0, 0, 0, 0]), COLUMNS["two"], boxes=boxes))
    lows = table.with_columns(age=pl.Series([20, 20, 30, 30]), sex=pl.lit("F"))

    agree(found, lows, np.zeros(4, dtype=np.int64), COLUMNS["two"])
    assert np.isnan(found.phi2[found.names.index("sex"), found.names.index("age")])


def test_numbers_that_no_float_tells_apart_are_one_interval():
    """Beyond 2^53 whole numbers may be one float; they have one interval, and nothing warns."""
    numbers = [2**60 + i for i in range(16)]
    table = pl.DataFrame(
        {"age": numbers, "sex": list("FM") * 8, "town": list("ab") * 8, "ill": list("xy") * 8}
    )
    found = Correlations.of(sliced(table, np.zeros(16, dtype=np.int64), COLUMNS["two"]))
    assert np.isnan(found.phi2[found.names.index("age"), found.names.index("sex")])


def test_of_very_many_attributes_the_first_are_shown_and_the_sensitive_one():
    """At most fifteen, in the order of the columns, and how many are left out."""
    draw = np.random.default_rng(8)
    names = [f"a{i:02}" for i in range(20)]
    table = pl.DataFrame({name: draw.choice(list("xyz"), 40) for name in [*names, "ill"]})
    columns = [tuple(names[10:]), (*names[:10], "ill")]
    found = Correlations.of(sliced(table, (np.arange(40) // 8).astype(np.int64), columns))

    assert found.names == (*names[10:], *names[:4], "ill")
    assert found.left_out == 6
    agree(found, table, (np.arange(40) // 8).astype(np.int64), columns)


def test_the_strongest_are_named():
    """The two that tell most of each other, of one column and of different ones; none where there
    are none.
    """
    table = pl.DataFrame(
        {
            "age": [1, 1, 2, 2, 3, 3],
            "sex": list("FFMMFF"),
            "town": list("aabbaa"),
            "ill": list("xyxyxy"),
        }
    )
    found = Correlations.of(sliced(table, np.array([0, 0, 1, 1, 2, 2]), COLUMNS["two"]))

    assert found.strongest(together=True) == ("age", "sex", pytest.approx(1))
    assert found.strongest(together=False)[2] == pytest.approx(1)
    assert set(found.strongest(together=False)[:2]) in ({"age", "town"}, {"sex", "town"})
    assert (
        Correlations.of(sliced(table, np.array([0] * 6), COLUMNS["own"])).strongest(together=True)
        is None
    )
    assert (
        Correlations.of(sliced(table, np.array([0] * 6), COLUMNS["all"])).strongest(together=False)
        is None
    )


def test_a_table_without_rows_tells_nothing():
    """Nothing is divided by nothing."""
    kinds = {"age": pl.Int64, "sex": pl.String, "town": pl.String, "ill": pl.String}
    table = pl.DataFrame(schema={"bucket": pl.Int64} | kinds)
    attributes = tuple(
        PublishedAttribute(
            name=n, role="quasi", type="numeric" if n == "age" else "categorical", columns=[n]
        )
        for n in kinds
    )
    found = Correlations.of(Sliced(tuple(COLUMNS["two"]), attributes, (table,)))

    assert np.isnan(found.phi2[~np.eye(4, dtype=bool)]).all()
