# SPDX-License-Identifier: Apache-2.0
"""The generalized form: intervals that hold everybody of the group, and least widths on a grid that
no data move.
"""

from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.data.hierarchies.hierarchy import Bands, Prefix, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import PlanError, SchemaError
from phalanx.methods.base import Memory
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Mondrian
from phalanx.randomness import Randomness
from phalanx.release.forms.generalized import Generalized, generalize

JOBS = Tree.of_mapping(
    {"care": ["nurse", "doctor", "midwife"], "craft": ["baker", "smith"], "law": ["judge", "clerk"]}
)
LEAVES = [path[0] for path in JOBS.paths]
DAY = timedelta(days=1)


def made(
    values: list[Any],
    groups: list[int],
    *,
    dtype: Any = None,
    width: float | None = None,
    counterfeits: int = 0,
    **said: Any,
) -> Generalized:
    """Rows with one quasi-identifier ``x``, published in groups; the last ``counterfeits`` tuples
    are counterfeits.
    """
    frame = pl.DataFrame({"x": pl.Series("x", values, dtype=dtype)})
    microdata = Microdata.encode(frame, Schema(quasi=["x"], missing="value", **said))
    source = np.concatenate([np.arange(len(values)), np.full(counterfeits, -1)]).astype(np.int64)
    widths = None if width is None else {"x": width}
    form, _ = generalize(
        microdata,
        source,
        np.array(groups),
        Randomness.secure().stream("t"),
        counterfeits=counterfeits > 0,
        min_width=widths,
    )
    return form


def ends(values: list[Any], **said: Any) -> tuple[Any, Any]:
    """The published interval of one group of these values."""
    table = made(values, [0] * len(values), **said).table
    assert table["x_low"].n_unique() == table["x_high"].n_unique() == 1
    return table["x_low"][0], table["x_high"][0]


def test_tight_intervals_are_of_the_real_tuples() -> None:
    """Without a least width an interval ends at values of the group; counterfeits have no values to
    widen it.
    """
    table = made([1, 5, 9, 7], [0, 0, 1, 1, 0, 1, 1], counterfeits=3).table
    assert {row[1:] for row in table.rows()} == {(1, 5), (7, 9)}
    assert table.unique().height == 2
    assert table.height == 7


WIDTHS = st.sampled_from([0.1, 0.25, 0.3, 1, 2, 2.5, 5, 7, 10, 1000, 1e9])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-(2**40), 2**40) | st.integers(-50, 50), min_size=1, max_size=4),
    WIDTHS,
    st.sampled_from([pl.Int64, pl.Int8, pl.UInt16, pl.Float64]),
)
def test_least_widths_of_numbers(values: list[int], width: float, dtype: Any) -> None:
    """Never narrower than asked, everybody inside, a wide interval as it was, both ends on the
    grid, and the whole cell a function of its place.
    """
    if dtype == pl.Int8:
        values = [v % 256 - 128 for v in values]
    elif dtype == pl.UInt16:
        values = [v % 65536 for v in values]
    low, high = ends(values, dtype=dtype, width=width)
    step = Fraction(str(width))
    assert low <= min(values)
    assert max(values) <= high
    assert Fraction(high) - Fraction(low) >= step or dtype == pl.Float64
    if max(values) - min(values) >= width:
        assert (low, high) == (min(values), max(values))
    else:
        assert Fraction(str(high)) - Fraction(str(low)) <= 2 * step + 2
        k = Fraction(min(values)) // step
        assert Fraction(str(low)) == (k * step if dtype == pl.Float64 else (k * step).__floor__())


@pytest.mark.parametrize(
    ("values", "width", "expected"),
    [
        ([1.7], 0.1, (1.7, 1.8)),
        ([0.3], 0.1, (0.3, 0.4)),
        ([0.6, 0.65], 0.2, (0.6, 0.8)),
        ([-0.05, 0.0], 0.1, (-0.1, 0.0)),
        ([3.0, None, 4.5], 2.0, (None, 6.0)),
        ([None, None], 2.0, (None, None)),
        ([1.7e308], 1e308, (0.0, 1.7976931348623157e308)),
    ],
)
def test_decimals_mean_their_text(
    values: list[float], width: float, expected: tuple[Any, Any]
) -> None:
    """1.7 is on the grid of 0.1, though 17 times the double nearest 0.1 lies above it; missing
    stays missing; no end is -0.0.
    """
    found = ends(values, width=width)
    assert found == expected
    assert [str(x) for x in found] == [str(x) for x in expected]


@pytest.mark.parametrize(
    ("values", "width", "expected"),
    [
        ([254], 10, (250, 260)),
        ([2**63 - 1], 10, (2**63 - 18, 2**63 - 1)),
        ([-(2**63)], 10, (-(2**63), -(2**63) + 18)),
        ([2**62 + 1, 2**62 + 1], 3, (2**62 - 1, 2**62 + 2)),
        ([2**62 + 1, 2**62 + 9], 3, (2**62 + 1, 2**62 + 9)),
        ([5], 1e300, (-(2**63), 2**63 - 1)),
    ],
)
def test_whole_numbers_at_the_ends_of_their_type(
    values: list[int], width: float, expected: tuple[int, int]
) -> None:
    """The grid does not end where a narrow type ends, large numbers are not rounded, and 64 bits
    are not overrun.
    """
    low, high = ends(
        values,
        width=width,
        dtype=pl.UInt8 if max(values) < 256 and min(values) >= 0 else pl.Int64,
        types={"x": "numeric"},
    )
    assert low <= min(values) <= max(values) <= high
    assert high - low >= min(width, 2**63)
    assert (low, high) == expected or abs(values[0]) > 2**61


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dates(), min_size=1, max_size=3), st.integers(1, 4000))
def test_least_widths_of_dates(values: list[date], width: int) -> None:
    """Days, with the grid aligned at 1970-01-01; the calendar's ends are not overrun."""
    low, high = ends(values, dtype=pl.Date, width=width)
    assert low <= min(values) <= max(values) <= high
    assert high - low >= width * DAY
    if (
        date(1000, 1, 1) < low
        and high < date(9000, 1, 1)
        and (max(values) - min(values)) < width * DAY
    ):
        assert (low - date(1970, 1, 1)).days % width == 0
        assert (high - date(1970, 1, 1)).days % width == 0


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([None, *LEAVES]), min_size=1, max_size=3),
    st.sampled_from([0.5, 1, 2, 2.5, 3, 7, 20]),
)
def test_least_widths_of_leaves(values: list[str | None], width: float) -> None:
    """At least that many leaves, over the declared tree, whichever of them the table holds; a
    missing end stays missing.
    """
    present = [LEAVES.index(v) for v in values if v is not None]
    low, high = ends(values, dtype=pl.String, width=width, hierarchies={"x": JOBS})
    assert (low is None) == (None in values)
    assert (high is None) == (not present)
    if high is None:
        return
    first, last = 0 if low is None else LEAVES.index(low), LEAVES.index(high)
    assert first <= min(present)
    assert max(present) <= last
    assert last - first + 1 >= min(width, len(LEAVES))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 100),
    st.lists(st.integers(-500, 500), max_size=20),
    st.lists(st.integers(-500, 500), max_size=20),
)
def test_the_same_person_again(age: int, others: list[int], later: list[int]) -> None:
    """Whoever else is in the table, a person alone in a group is published with the same ends each
    time.
    """
    found = []
    for rest in (others, later):
        table = made([age, *rest], [0, *range(1, len(rest) + 1)], width=7).table
        found.append({(a, b) for _, a, b in table.rows() if a <= age <= b})
    assert len(found[0] & found[1]) >= 1
    assert all((age // 7 * 7) in {a for a, _ in boxes} for boxes in found)


def test_the_same_leaf_again() -> None:
    """The grid of leaves is that of the declared tree, so values that come and go do not move
    it.
    """
    few, many = ["baker", "judge"], [*LEAVES, "baker"]
    once, again = (
        {
            row[1:]
            for row in made(
                values, list(range(len(values))), width=2, hierarchies={"x": JOBS}, dtype=pl.String
            ).table.rows()
        }
        for values in (few, many)
    )
    assert once <= again


def test_nodes_say_no_more_than_their_widened_intervals() -> None:
    """The node of a widened interval covers the whole of it."""
    table = made([21, 33], [0, 1], width=15, hierarchies={"x": Bands((5, 30))}).table
    assert sorted(row[1:] for row in table.rows()) == [("*", 15, 30), ("30-60", 30, 45)]
    for _, node, low, high in table.rows():
        first, last = (0, 60) if node == "*" else map(int, node.split("-"))
        assert node == "*" or (first <= low and high < last)


@pytest.mark.parametrize(
    "method",
    [Mondrian(k=1, min_width={"x": 2}), MInvariance(m=2, min_width={"x": 2})],
    ids=["mondrian", "m-invariance"],
)
@pytest.mark.parametrize("hierarchy", [None, Prefix((2, 1, 0))], ids=["none", "prefix"])
def test_a_least_width_needs_declared_leaves(method: Any, hierarchy: Any) -> None:
    """Where only the rows tell which values there are, no grid is independent of them, and the
    release is refused.
    """
    schema = Schema(
        identifier="id",
        quasi=["x"],
        sensitive="s",
        hierarchies={} if hierarchy is None else {"x": hierarchy},
    )
    frame = pl.DataFrame(
        {"id": [1, 2, 3, 4], "x": ["11", "12", "21", "22"], "s": ["a", "b", "a", "b"]}
    )
    microdata = Microdata.encode(frame, schema, PersonKey(bytes(32)))
    with pytest.raises(
        PlanError,
        match="min_width names 'x', a categorical attribute whose values are not declared",
    ):
        method.publish(microdata, Memory(), Randomness.secure())


def test_kept_values_beside_counterfeits() -> None:
    """No row of a group with a counterfeit shows a kept value, and every row of a group without
    shows its own; the columns keep their types.
    """
    n = 40
    frame = pl.DataFrame(
        {
            "x": [1] * n,
            "s": [f"s{i % 4}" for i in range(n)],
            "a": [i % 20 for i in range(n)],
            "b": [f"k{(i % 20) * 3}" for i in range(n)],
        }
    )
    microdata = Microdata.encode(frame, Schema(quasi=["x"], sensitive="s", keep=["a", "b"]))
    source = np.concatenate([np.arange(n), np.full(20, -1)])
    groups = np.concatenate([np.arange(n) // 10, np.arange(20) % 2])
    values = pl.Series("s", [*frame["s"], *["unheard"] * 20])
    form, ids = generalize(
        microdata, source, groups, Randomness.secure().stream("t"), values=values, counterfeits=True
    )
    beside = form.table.filter(pl.col("group").is_in(ids[:2].tolist()))
    others = form.table.filter(~pl.col("group").is_in(ids[:2].tolist()))
    assert beside.height == 40 and beside["a"].null_count() == beside["b"].null_count() == 40
    assert sorted(others.select("s", "a", "b").rows()) == sorted(
        frame[20:].select("s", "a", "b").rows()
    )
    assert form.table.select("a", "b").dtypes == [pl.Int64, pl.String]
    assert form.counterfeit_rows == 20


def test_kept_values_have_one_form() -> None:
    """Kept numbers have no -0.0 and no NaN, kept categories no list of categories."""
    kept = pl.DataFrame(
        {
            "f": [float("nan"), -0.0, 0.0],
            "c": pl.Series(["a", "b", "a"], dtype=pl.Enum(["a", "b", "SECRET"])),
        }
    )
    microdata = Microdata.encode(
        kept.with_columns(x=pl.lit(1)), Schema(quasi=["x"], keep=["f", "c"], missing="value")
    )
    form, _ = generalize(
        microdata, np.arange(3), np.zeros(3, dtype=np.int64), Randomness.secure().stream("t")
    )
    assert sorted(map(str, form.table["f"])) == ["0.0", "0.0", "None"]
    assert form.table["c"].dtype == pl.String


def test_quasi_identifiers_have_no_negative_zero() -> None:
    """-0.0 and 0.0 are one value and look alike: which of them a person had is not published."""
    for values in ([-0.0], [-0.0, 0.0], [0.0, -0.0, 5.0]):
        assert str(ends(values)[0]) == "0.0"


@pytest.mark.parametrize("taken", ["x_low", "group"])
def test_columns_that_would_be_called_alike(taken: str) -> None:
    """A column that would take the name of a published one is refused."""
    frame = pl.DataFrame({"x": [1, 2], taken: ["a", "b"]})
    microdata = Microdata.encode(frame, Schema(quasi=["x"], sensitive=taken))
    with pytest.raises(SchemaError, match=f"two published columns would be called '{taken}'"):
        generalize(
            microdata, np.arange(2), np.zeros(2, dtype=np.int64), Randomness.secure().stream("t")
        )


KEY = PersonKey(bytes(range(32)))
ROWS_AND_LISTED = st.tuples(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), min_size=5, max_size=25).map(
        lambda rows: rows + [(v, g) for g, (v, _) in enumerate(rows[:5])]
    ),
    st.lists(st.tuples(st.none() | st.integers(-10, 40), st.integers(-1, 4)), max_size=20),
)


def with_registry(
    rows: list[tuple[Any, int]], listed: list[tuple[Any, int]], width: float | None = None
) -> tuple[Generalized, Any]:
    """Rows and registered persons, each with a value of ``x`` and a group, where -1 is none."""
    people = {"p": [v for v, _ in rows], "v": [v for v, _ in listed]}
    frames = [
        pl.DataFrame(
            {
                "who": pl.Series([f"{who}{i}" for i in range(len(x))], dtype=pl.String),
                "x": pl.Series(x, dtype=pl.Int64),
            }
        )
        for who, x in people.items()
    ]
    microdata = Microdata.encode(
        frames[0], Schema(identifier="who", quasi=["x"], missing="value"), KEY, frames[1]
    )
    assert microdata.registry is not None
    return generalize(
        microdata,
        np.arange(len(rows)),
        np.array([g for _, g in rows]),
        Randomness.secure().stream("t"),
        min_width=None if width is None else {"x": width},
        registry=(microdata.registry, np.array([g for _, g in listed], dtype=np.int64)),
    )


def boxes_of(people: list[tuple[Any, int]], groups: int) -> list[tuple[Any, Any]]:
    """The least and the greatest value of each group, a missing one below all others."""
    order = [
        sorted((v for v, g in people if g == group), key=lambda v: (v is not None, v))
        for group in range(groups)
    ]
    return [(values[0], values[-1]) for values in order]


@settings(max_examples=100, deadline=None)
@given(ROWS_AND_LISTED)
def test_registered_persons_widen_their_group(
    people: tuple[list[tuple[Any, int]], list[tuple[Any, int]]],
) -> None:
    """The interval of a group holds its rows and its registered persons, no more; the latter have
    no row, and each group says how many it has.
    """
    rows, listed = people
    form, published_id = with_registry(rows, listed)
    published = {group: (low, high) for group, low, high in form.table.unique().rows()}

    assert [published[int(i)] for i in published_id] == boxes_of(rows + listed, 5)
    assert sorted(form.table["group"]) == sorted(int(published_id[g]) for _, g in rows)
    held = {int(i): sum(g == group for _, g in listed) for group, i in enumerate(published_id)}
    assert form.registered is not None
    assert form.registered.rows() == sorted((i, count) for i, count in held.items() if count)
    assert form.registered_persons == sum(g >= 0 for _, g in listed)
    assert (form.registered.schema, form.counterfeits) == (
        {"group": pl.Int64, "count": pl.Int64},
        None,
    )


def test_registered_persons_in_no_group_widen_nothing() -> None:
    """Whoever of the registry is in no group leaves no trace but an empty table; without a registry
    there is none at all.
    """
    form, _ = with_registry([(1, 0), (3, 0)], [(99, -1)])
    assert form.table.unique().rows() == [(1, 1, 3)]
    assert form.registered is not None
    assert (form.registered.height, form.registered_persons) == (0, 0)
    assert made([1, 3], [0, 0]).registered is None


def test_least_widths_hold_registered_persons_too() -> None:
    """The grid is laid over the interval of all."""
    form, _ = with_registry([(11, 0), (12, 0)], [(14, 0)], width=5)
    assert form.table.unique().rows() == [(1, 10, 15)]
