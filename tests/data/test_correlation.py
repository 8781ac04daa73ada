# SPDX-License-Identifier: Apache-2.0
"""phi^2 is the paper's formula on every pair, knows what tells what, and does not look at names or
order.
"""

import datetime as dt
import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import correlation as naive
from phalanx.data.column import Column
from phalanx.data.correlation import constant, phi2
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PlanError
from support.work import memory


def encoded(frame: pl.DataFrame, **more: Any) -> list[Column]:
    """The attributes of a table; a missing value counts as one of its own."""
    return Microdata.encode(frame, Schema(quasi=frame.columns, missing="value", **more)).quasi


texts = st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=1, max_size=30)
numbers = st.lists(st.one_of(st.integers(-50, 50), st.none()), min_size=1, max_size=30)
eighths = st.lists(st.integers(-400, 400).map(lambda i: i / 8), min_size=1, max_size=30)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(texts, numbers, eighths), min_size=2, max_size=4), st.integers(2, 7))
def test_every_pair_is_the_formula(lists, bins):
    """Against the twin in fractions, numbers cut into intervals first; symmetric, 1 on the
    diagonal, 0 where undefined.
    """
    n = min(map(len, lists))
    rows = [values[:n] for values in lists]
    frame = pl.DataFrame(
        {f"x{i}": pl.Series(values, strict=False) for i, values in enumerate(rows)}
    )
    cut = [
        naive.intervals(values, bins) if frame.dtypes[i].is_numeric() else values
        for i, values in enumerate(rows)
    ]
    found = phi2(encoded(frame), bins)

    assert (
        found.shape == (len(rows), len(rows))
        and (found == found.T).all()
        and (np.diag(found) == 1).all()
    )
    assert ((found >= 0) & (found <= 1)).all()
    for i, j in itertools.combinations(range(len(rows)), 2):
        assert found[i, j] == pytest.approx(float(naive.phi2(cut[i], cut[j]) or 0), abs=1e-12)


def test_pearson():
    """The table of four cells whose phi^2 anybody can work out: (ad - bc)^2 over the product of the
    margins.
    """
    rows = [("x", "u")] * 3 + [("x", "v")] * 1 + [("y", "u")] * 2 + [("y", "v")] * 6
    frame = pl.DataFrame(rows, schema=["a", "b"], orient="row")

    assert phi2(encoded(frame))[0, 1] == pytest.approx((3 * 6 - 1 * 2) ** 2 / (4 * 8 * 5 * 7))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=2, max_size=60), st.permutations(range(6)))
def test_a_renaming_changes_nothing(values, renamed):
    """An attribute and its renamed twin tell each other, exactly; a third is as far from one as
    from the other, exactly.
    """
    third = [(v * i) % 4 for i, v in enumerate(values)]
    frame = pl.DataFrame(
        {
            "a": [f"v{v}" for v in values],
            "b": [f"v{renamed[v]}" for v in values],
            "c": [str(v) for v in third],
        }
    )
    found = phi2(encoded(frame))

    assert found[0, 1] == (len(set(values)) > 1)
    assert found[0, 2] == pytest.approx(found[1, 2], abs=1e-12)


def test_what_is_told_and_what_is_independent():
    """A finer attribute tells a coarser one wholly; all combinations equally often tell nothing."""
    cells = list(itertools.product(range(6), range(4))) * 5
    frame = pl.DataFrame(
        {
            "fine": [f"{i}" for i, _ in cells],
            "coarse": [f"{i // 2}" for i, _ in cells],
            "other": [f"{j}" for _, j in cells],
        }
    )
    found = phi2(encoded(frame))

    assert found[0, 1] == pytest.approx(1)
    assert found[0, 2] == pytest.approx(0, abs=1e-12)
    assert found[1, 2] == pytest.approx(0, abs=1e-12)


def test_constant_attributes_are_correlated_with_nothing():
    """phi^2 of an attribute of one value is undefined: 0 with all others, and the attribute is said
    to be constant, missing or not.
    """
    columns = encoded(
        pl.DataFrame({"a": [1, 2, 1], "b": ["x"] * 3, "c": [None, None, None], "d": [1.5] * 3})
    )

    assert (phi2(columns) == np.eye(4)).all()
    assert constant(columns) == (1, 2, 3)


def test_intervals_are_those_of_the_rows_at_hand():
    """Values of the domain that no row has do not widen the intervals, nor count as values."""
    everybody = pl.DataFrame(
        {"age": [*range(20), 1000], "sex": ["f" if i < 10 else "m" for i in range(20)] + ["f"]}
    )
    columns = encoded(everybody)
    these = [Column(c.codes[:20], c.domain) for c in columns]

    assert phi2(columns, 2)[0, 1] < 1
    assert phi2(these, 2)[0, 1] == 1


def test_dates_and_bins_for_each():
    """Dates lie on their days; a number of intervals may be said for each attribute, and values
    stay apart where there are as many intervals.
    """
    days = [dt.date(2026, 1, 1) + dt.timedelta(days=i) for i in range(24)]
    columns = encoded(
        pl.DataFrame(
            {
                "day": days,
                "hour": list(range(24)),
                "half": ["am" if i < 12 else "pm" for i in range(24)],
            }
        )
    )

    assert phi2(columns, {"day": 2})[0, 2] == 1
    assert phi2(columns, {"day": 3})[0, 2] == pytest.approx(
        float(naive.phi2([i // 8 for i in range(24)], [i // 12 for i in range(24)]))
    )
    assert phi2(columns, 24)[0, 1] == pytest.approx(1)
    assert (
        phi2(columns, {"day": 3})[0, 1]
        == phi2(columns, {"day": 3, "hour": 10})[0, 1]
        != phi2(columns, {"day": 3, "hour": 11})[0, 1]
    )


@pytest.mark.parametrize(
    ("bins", "sentence"),
    [
        (1, "bins must be a whole number of at least 2, and is 1"),
        (True, "bins must be a whole number"),
        (2.5, "bins must be a whole number"),
        ({"age": 0}, "bins of 'age' must be a whole number"),
        ({"aeg": 5}, "bins names 'aeg', which is no attribute; did you mean 'age'"),
        ({"sex": 5}, "bins names 'sex', which is categorical and counts value by value"),
    ],
)
def test_wrong_bins(bins, sentence):
    """Numbers of intervals that say nothing, and attributes that are not there or are not cut, are
    refused in one sentence.
    """
    with pytest.raises(PlanError, match=sentence):
        phi2(encoded(pl.DataFrame({"age": [1, 2], "sex": ["f", "m"]})), bins)


def test_the_ends_of_the_floats():
    """Positions whose difference no float holds are cut all the same."""
    big = [-1.7e308, 1.7e308, 0.0, 1e-308, 1.6e308, -1e308]

    found = phi2(encoded(pl.DataFrame({"x": big, "y": ["a", "b", "a", "a", "b", "a"]})), 2)

    assert found[0, 1] == pytest.approx(float(naive.phi2([0, 1, 1, 1, 1, 0], [0, 1, 0, 0, 1, 0])))


def test_numbers_that_no_float_tells_apart_are_one_interval():
    """Whole numbers near 2^62, more of them than bins, are correlated with nothing."""
    near = [2**62 + i for i in range(20)]

    found = phi2(encoded(pl.DataFrame({"x": near, "y": ["a", "b"] * 10})), 10)

    assert found[0, 1] == 0


def test_huge_domains_are_counted_sparsely():
    """Two attributes of a hundred thousand values each need no table of ten thousand million cells;
    the figures are those of the small tables inside.
    """
    n = 100_000
    rng = np.random.default_rng(3)
    one, other = rng.permutation(n), rng.permutation(n) // 2
    frame = pl.DataFrame(
        {
            "a": [f"{v}" for v in one],
            "b": [f"{v}" for v in other],
            "c": [f"{v}" for v in other // (n // 8)],
        }
    )
    columns = Microdata.encode(
        frame, Schema(quasi=frame.columns, types=dict.fromkeys(frame.columns, "categorical"))
    ).quasi
    found = []
    assert memory(lambda: found.append(phi2(columns))) < 500 * n
    found = found[0]
    assert (
        found[0, 1] == pytest.approx(1)
        and found[0, 2] == pytest.approx(1)
        and found[1, 2] == pytest.approx(1)
    )


def test_counting_sparsely_changes_nothing(monkeypatch):
    """Pairs of values that are sorted give the figures of those that are counted in a table."""
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({name: rng.integers(0, 40, 60).astype(str) for name in "abcd"})
    counted = phi2(encoded(frame, types=dict.fromkeys("abcd", "categorical")))
    monkeypatch.setattr("phalanx.data.correlation._DENSE", 0)
    monkeypatch.setattr(np, "bincount", only_of_values(np.bincount, 40))

    assert phi2(encoded(frame, types=dict.fromkeys("abcd", "categorical"))) == pytest.approx(
        counted, abs=1e-12
    )


def only_of_values(bincount: Any, d: int) -> Any:
    """A count that refuses a table of pairs."""

    def counted(codes: Any, minlength: int = 0) -> Any:
        found = bincount(codes, minlength=minlength)
        assert len(found) <= d
        return found

    return counted
