# SPDX-License-Identifier: Apache-2.0
"""Figures of a report equal those computed row by row."""

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.release.forms.generalized import Generalized
from phalanx.release.manifest import PublishedAttribute
from phalanx.report.figures import Figures, size_histogram

TREE = Tree.of_mapping({"west": ["z", "x"], "east": ["y", "w"]})
LEAVES = ["z", "x", "y", "w"]


@dataclass(frozen=True)
class Shown:
    number: int
    form: Generalized


@st.composite
def boxes(draw):
    """One to six groups with an interval of numbers, of values in code point order, and of leaves;
    missing ends among them.
    """
    groups = []
    for _ in range(draw(st.integers(1, 6))):
        a = sorted(draw(st.tuples(st.integers(0, 9), st.integers(0, 9))))
        b = sorted(draw(st.tuples(st.sampled_from("pqr"), st.sampled_from("pqr"))))
        c = sorted(
            draw(st.tuples(st.sampled_from(LEAVES), st.sampled_from(LEAVES))), key=LEAVES.index
        )
        ends = [
            [None, x[1]] if gone == 1 else [None, None] if gone == 2 else list(x)
            for x in (a, b, c)
            for gone in [draw(st.sampled_from([0, 0, 0, 1, 2]))]
        ]
        groups.append((draw(st.integers(1, 4)), *ends))
    return groups


def share(order, low, high):
    """(b - a) / (max - min) of places in an order."""
    if len(order) < 2:
        return Fraction(0)
    return Fraction(order.index(high) - order.index(low), len(order) - 1)


@given(groups=boxes())
@settings(deadline=None)
def test_widths_are_those_of_every_row(groups):
    """Numbers by their distance, values and leaves by their places, a missing one first; means,
    medians and exact rows are over rows. A missing value beside the least one is no single value.
    """
    rows = [(g, *a, *b, *c) for g, (size, a, b, c) in enumerate(groups, 1) for _ in range(size)]
    types = {"group": pl.Int64, "a_low": pl.Int64, "a_high": pl.Int64} | dict.fromkeys(
        ("b_low", "b_high", "c_low", "c_high"), pl.String
    )
    attributes = tuple(
        PublishedAttribute(
            name=n, role="quasi", type=t, columns=[f"{n}_low", f"{n}_high"], hierarchy=h
        )
        for n, t, h in (
            ("a", "numeric", None),
            ("b", "categorical", None),
            ("c", "categorical", TREE.parameters()),
        )
    )
    table = pl.DataFrame(rows, schema=types, orient="row")
    figures = Figures.of(Shown(1, Generalized(table, attributes)))
    mixed = Figures.of(
        Shown(
            1,
            Generalized(
                table.sort(pl.col("group") * 7 % 5, maintain_order=True).reverse(), attributes
            ),
        )
    )

    numbers = [x for r in rows for x in r[1:3] if x is not None]
    least, span = min(numbers, default=0), max(numbers, default=0) - min(numbers, default=0)
    line = [
        Fraction(
            (r[2] if r[2] is not None else least) - (r[1] if r[1] is not None else least), span
        )
        if span
        else Fraction(0)
        for r in rows
    ]
    names = sorted({x for r in rows for x in r[3:5] if x is not None})
    names = [None, *names] if any(None in r[3:5] for r in rows) else names
    leaves = [None, *LEAVES] if any(None in r[5:7] for r in rows) else LEAVES
    expected = [line, [share(names, *r[3:5]) for r in rows], [share(leaves, *r[5:7]) for r in rows]]
    single = [[r[i] == r[i + 1] for r in rows] for i in (1, 3, 5)]
    for width, shares, alone in zip(figures.widths, expected, single, strict=True):
        assert sorted(np.repeat(width.shares, width.sizes)) == pytest.approx(
            sorted(map(float, shares))
        )
        assert width.mean == pytest.approx(float(sum(shares) / len(shares)))
        assert width.median == pytest.approx(float(np.median(list(map(float, shares)))))
        assert width.exact == sum(alone) / len(rows)
    assert [w.mean for w in mixed.widths] == pytest.approx([w.mean for w in figures.widths])
    assert mixed.groups == figures.groups == len(groups)
    assert figures.loss == pytest.approx(float(sum(sum(s) for s in expected) / (3 * len(rows))))
    assert sorted(figures.sizes) == sorted(size for size, *_ in groups)


@given(sizes=st.lists(st.integers(1, 10_000), min_size=1, max_size=60))
def test_every_group_is_in_one_range_of_sizes(sizes):
    """Ranges do not overlap, hold what they say, and lose no group; at most 24 are shown."""
    found = size_histogram(np.array(sizes))

    ends = [[int(end) for end in label.replace(",", "").split("–")] for label, _ in found]
    ranges = [(end[0], end[-1]) for end in ends]
    assert len(found) <= 24
    assert all(a[1] < b[0] for a, b in pairwise(ranges))
    assert [n for _, n in found] == [sum(low <= s <= high for s in sizes) for low, high in ranges]
    assert sum(n for _, n in found) == len(sizes)


@pytest.mark.parametrize(
    ("low", "high", "mean", "domain"),
    [
        (
            [date(2020, 1, 1), date(2020, 1, 11)],
            [date(2020, 1, 6), date(2020, 1, 11)],
            0.25,
            "2020-01-01 to 2020-01-11",
        ),
        ([1.0, 2.5], [2.0, 3.0], 0.375, "1 to 3"),
        ([-1.7e308, 0.0], [1.7e308, 0.0], 0.5, "-1.7e+308 to 1.7e+308"),
        ([None, 10], [20, 20], 1.0, "10 to 20"),
        ([7, 7], [7, 7], 0.0, "7 only"),
        ([None, None], [None, None], 0.0, "missing only"),
    ],
)
def test_lines_of_every_kind(low, high, mean, domain):
    """Days, fractions, the longest lengths, missing ends, a single value and none; two groups of
    one row.
    """
    kind = pl.Int64 if all(x is None for x in low) else None
    table = pl.DataFrame(
        {
            "group": [1, 2],
            "x_low": pl.Series(low, dtype=kind),
            "x_high": pl.Series(high, dtype=kind),
        }
    )
    attribute = PublishedAttribute(
        name="x",
        role="quasi",
        type="date" if isinstance(low[0], date) else "numeric",
        columns=["x_low", "x_high"],
    )
    (width,) = Figures.of(Shown(1, Generalized(table, (attribute,)))).widths

    assert (width.mean, width.domain) == (pytest.approx(mean), domain)
    assert width.with_missing == (None in low)


def test_a_table_without_rows_has_no_width():
    """Nothing is divided by nothing."""
    table = pl.DataFrame(schema={"group": pl.Int64, "x_low": pl.Int64, "x_high": pl.Int64})
    attribute = PublishedAttribute(
        name="x", role="quasi", type="numeric", columns=["x_low", "x_high"]
    )
    figures = Figures.of(Shown(1, Generalized(table, (attribute,))))

    assert (
        figures.rows,
        figures.groups,
        figures.loss,
        figures.widths[0].median,
        figures.widths[0].domain,
    ) == (0, 0, 0, 0, "no values")
    assert size_histogram(figures.sizes) == []


def test_members_are_rows_and_registered_persons():
    """Each group's own count is added, whatever the order of the groups; without a file of counts,
    members are rows.
    """
    table = pl.DataFrame({"group": [1, 1, 2, 3, 3, 3], "ill": list("aabbab")})
    registered = pl.DataFrame({"group": [3, 2], "count": [5, 7]})
    ill = PublishedAttribute(name="ill", role="sensitive", type="categorical", columns=["ill"])
    for shown in (table, table.sample(fraction=1, shuffle=True, seed=1)):
        figures = Figures.of(Shown(1, Generalized(shown, (ill,), None, registered)))
        assert sorted(zip(figures.sizes.tolist(), figures.members.tolist(), strict=True)) == [
            (1, 8),
            (2, 2),
            (3, 8),
        ]
        bare = Figures.of(Shown(1, Generalized(shown, (ill,))))
        assert bare.members.tolist() == bare.sizes.tolist()
