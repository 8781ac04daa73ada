# SPDX-License-Identifier: Apache-2.0
"""How attributes are recoded depends on the plan and on the value alone, and what makes no recoding
is refused in one sentence.
"""

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.data.hierarchies.hierarchy import Bands, Hierarchy, Prefix, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PhalanxError, PlanError, SchemaError
from phalanx.methods.safe_sampling.axes import Axis, Grid, axis_of
from phalanx.methods.safe_sampling.method import SafeSampling
from phalanx.methods.safe_sampling.schemes import Axes, FixedScheme
from phalanx.series.once import publish

LUNG = Tree.of_mapping({"lung": ["flu", "asthma"], "stomach": ["ulcer"]})


def shown(
    values: list[Any], declared: Any, level: int, hierarchy: Hierarchy | None = None
) -> list[tuple[Any, ...]]:
    """What is published of each value."""
    schema = Schema(
        quasi=["x"], hierarchies={} if hierarchy is None else {"x": hierarchy}, missing="value"
    )
    domain = Microdata.encode(pl.DataFrame({"x": values}), schema).columns["x"]
    cells = axis_of("x", declared, hierarchy).cells(domain.domain, level)
    at = cells.of_code[domain.codes]
    return list(zip(*(series.gather(at).to_list() for series in cells.columns), strict=True))


AGES = {"low": 0, "high": 100, "widths": [10, 50]}


@pytest.mark.parametrize(
    ("values", "declared", "level", "hierarchy", "expected"),
    [
        ([0, 9, 10, 99], AGES, 0, None, [(0, 10), (0, 10), (10, 20), (90, 100)]),
        ([0, 49, 50, 99], AGES, 1, None, [(0, 50), (0, 50), (50, 100), (50, 100)]),
        ([0, 99], AGES, 2, None, [(0, 100), (0, 100)]),
        ([-7, 100, 250], AGES, 0, None, [(0, 10), (90, 100), (90, 100)]),
        ([5, None], AGES, 0, None, [(0, 10), (None, None)]),
        (
            [0.1, 0.2, 0.29999],
            {"low": 0, "high": 1, "width": 0.1},
            0,
            None,
            [(0.1, 0.2), (0.2, 0.3), (0.2, 0.3)],
        ),
        ([1, 95], {"low": 0, "high": 95, "width": 10}, 0, None, [(0, 10), (90, 95)]),
        (
            [date(2026, 1, 3), date(2025, 1, 1)],
            {"low": date(2026, 1, 1), "high": date(2026, 12, 31), "width": 7},
            0,
            None,
            [(date(2026, 1, 1), date(2026, 1, 8)), (date(2026, 1, 1), date(2026, 1, 8))],
        ),
        (["b", "a", None], 0, 0, None, [("b",), ("a",), (None,)]),
        (["b", "a", None], 1, 1, None, [("*",), ("*",), ("*",)]),
        (["flu", "ulcer", None], 1, 1, LUNG, [("lung",), ("stomach",), (None,)]),
        (["flu", "ulcer", None], 2, 2, LUNG, [("*",), ("*",), ("*",)]),
        (["47906", "47302"], 1, 1, Prefix((5, 3, 0)), [("479**",), ("473**",)]),
        ([7, 12, -1, None], 1, 1, Bands((5, 10)), [(5, 10), (10, 15), (-5, 0), (None, None)]),
        ([7, 12], 3, 3, Bands((5, 10)), [(None, None), (None, None)]),
        ([0.3], 1, 1, Bands((0.1,)), [(0.3, 0.4)]),
    ],
)
def test_a_value_is_published_as_its_cell(
    values: list[Any], declared: Any, level: int, hierarchy: Hierarchy | None, expected: list[Any]
) -> None:
    """The cell on the declared grid, the node of the declared hierarchy; what lies beyond a range
    is in its end cells, and missing is a cell of its own.
    """
    assert shown(values, declared, level, hierarchy) == expected


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-50, 150), min_size=1, max_size=20), st.integers(0, 2))
def test_a_cell_holds_its_value(values: list[float], level: int) -> None:
    """A value is at least low and below high, but in the end cells, which hold everything
    beyond.
    """
    for value, (low, high) in zip(values, shown(values, AGES, level), strict=True):
        assert low <= value or low == 0
        assert value < high or high == 100


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-5, 120), min_size=2, max_size=20), st.integers(0, 2))
def test_a_cell_depends_on_its_value_alone(values: list[int], level: int) -> None:
    """Whoever else is in the table, a value is published as the same cell, in the same types."""
    together, alone = (
        shown(values, AGES, level),
        [shown([value], AGES, level)[0] for value in values],
    )
    assert together == alone
    assert [[type(x) for x in row] for row in together] == [[type(x) for x in row] for row in alone]


def test_the_published_types_are_those_of_the_plan() -> None:
    """One fraction in the table does not turn the published whole numbers into fractions."""
    assert shown([1, 2], AGES, 0) == shown([1.0, 2.5], AGES, 0)
    assert {type(x) for row in shown([1.0, 2.5], AGES, 0) for x in row} == {int}


@pytest.mark.parametrize(
    ("declared", "hierarchy", "says"),
    [
        ({"low": 0, "high": 10}, None, "needs low, high, and either width or widths"),
        ({"low": 0, "high": 10, "width": 1, "widths": [1]}, None, "either width or widths"),
        ({"low": 10, "high": 10, "width": 1}, None, "low must be less"),
        ({"low": 0, "high": 10, "width": 0}, None, "multiple of the one before"),
        ({"low": 0, "high": 10, "widths": [2, 3]}, None, "multiple of the one before"),
        ({"low": 0, "high": 10, "widths": []}, None, "give a list"),
        ({"low": 0, "high": 10, "wdith": 1}, None, "did you mean 'width'"),
        ({"low": 0, "high": "ten", "width": 1}, None, "is no number"),
        ({"low": True, "high": 10, "width": 1}, None, "is no number"),
        ({"low": date(2026, 1, 1), "high": 10, "width": 1}, None, "two dates or two numbers"),
        ({"low": date(2026, 1, 1), "high": date(2026, 2, 1), "width": 0.5}, None, "whole numbers"),
        ({"low": 0, "high": 1, "width": 1e-9}, None, "more than 1000000 cells"),
        ({"low": 0, "high": 1, "width": 1}, Bands((5,)), "a hierarchy too"),
        ("coarse", None, "is no recoding"),
        ([1], None, "is no recoding"),
    ],
)
def test_what_makes_no_recoding_is_refused(
    declared: Any, hierarchy: Hierarchy | None, says: str
) -> None:
    """One sentence of the plan's error, which names the column."""
    with pytest.raises(PlanError, match=says) as refused:
        axis_of("age", declared, hierarchy)
    assert "age" in str(refused.value)


@pytest.mark.parametrize(
    ("declared", "hierarchy"),
    [(2, None), (-1, None), (True, None), (3, LUNG), (0, Bands((5,))), ({"level": 9}, Bands((5,)))],
)
def test_a_level_that_there_is_not_is_refused(declared: Any, hierarchy: Hierarchy | None) -> None:
    """Levels run to the root; bands begin at 1, as their 0 would be the number itself."""
    axis: Axis = axis_of("age", declared, hierarchy)
    with pytest.raises(PlanError, match="give one from"):
        axis.asked(declared)


@pytest.mark.parametrize(
    ("numbers", "widths", "fits"),
    [
        ([2**53], (10,), False),
        ([-(2**53), 3], (10,), False),
        ([2**53 - 1, -(2**53) + 1], (10,), True),
        ([2**63 - 21, 5], (10, 1000), False),
        ([1e19], (10,), False),
        ([1e308, -1e308], (0.5,), False),
        ([2.0**49, -(2.0**49)], (0.5,), False),
        ([2.0**49 - 0.25, -(2.0**49) + 0.25], (0.5,), True),
        ([1e14, -1e14], (0.1,), True),
        ([-7, 5], (10,), True),
    ],
)
def test_bands_that_floats_cannot_tell_are_refused(numbers, widths, fits) -> None:
    """Before anything is drawn, at every level; where they are written, they hold the numbers, and
    have two ends.
    """
    axis: Axis = axis_of("age", None, Bands(widths))
    kind = pl.Float64 if any(isinstance(x, float) for x in numbers) else pl.Int64
    table = pl.DataFrame({"age": pl.Series(numbers, dtype=kind)})
    column = Microdata.encode(table, Schema(quasi=["age"], types={"age": "numeric"})).columns["age"]
    if not fits:
        with pytest.raises(
            SchemaError, match=r"'age' holds numbers beyond .*, of which floats hold too few"
        ):
            axis.check_fits(column.domain)
        return
    axis.check_fits(column.domain)
    for level in range(1, len(widths) + 1):
        cells = axis.cells(column.domain, level)
        of = cells.of_code[column.codes].tolist()
        low, high = ([each.to_list()[i] for i in of] for each in cells.columns)
        assert all(x is None or a <= x < b for x, a, b in zip(numbers, low, high, strict=True))


@pytest.mark.parametrize(
    ("schema", "declared", "frame", "says"),
    [
        (Schema(quasi=["x"]), {}, {"x": [1, 2]}, "declare its range"),
        (
            Schema(quasi=["y"], sensitive="x"),
            {},
            {"x": [["a"], ["b"]], "y": ["a", "b"]},
            "holds sets",
        ),
        (
            Schema(quasi=["x"]),
            {"x": {"low": 0, "high": 9, "width": 3}},
            {"x": ["a", "b"]},
            "a range of numeric values",
        ),
        (
            Schema(quasi=["x"], keep=["y"]),
            {},
            {"x": ["a"], "y": [1]},
            "every published column is covered",
        ),
        (
            Schema(quasi=["x"], sensitive="ill"),
            {"il": 0},
            {"x": ["a"], "ill": ["b"]},
            "did you mean 'ill'",
        ),
    ],
)
def test_a_table_that_the_scheme_does_not_fit_is_refused(
    schema: Schema, declared: Any, frame: Any, says: str
) -> None:
    """Numbers without a declared range, sets, kept columns: never published by what was
    observed.
    """
    with pytest.raises(PhalanxError, match=says) as refused:
        Axes.of(declared, schema, choose=False).check_fits(
            Microdata.encode(pl.DataFrame(frame), schema)
        )
    assert isinstance(refused.value, PlanError | SchemaError)


@pytest.mark.parametrize(
    ("value", "level", "hierarchy", "fits"),
    [
        ("1*  ", 1, Prefix((4, 2, 0)), False),
        ("12 *", 0, Prefix((4, 2, 0)), False),
        ("1* 2", 1, Prefix((4, 2, 0)), False),
        ("12**", 1, Prefix((4, 2, 0)), True),
        ("12 *", 1, Prefix((4, 2, 0)), True),
        ("1* 2", 2, Prefix((4, 2, 0)), True),
        ("*", 0, None, False),
        ("*", 1, None, True),
        ("1*", 0, None, True),
    ],
)
def test_a_star_of_a_value_is_none_of_a_scheme(
    value: str, level: int, hierarchy: Hierarchy | None, fits: bool
) -> None:
    """A value whose own star would be read as one that stands for what is cut off is refused, and
    what is published otherwise passes the check.
    """
    table = pl.DataFrame({"x": [value, "1234"] * 40})
    schema = Schema(quasi=["x"], hierarchies={} if hierarchy is None else {"x": hierarchy})
    method = SafeSampling(
        epsilon=4, delta="7/10", k=2, beta="3/4", scheme={"x": level}, allow_empty=True
    )
    if fits:
        assert publish(table, schema, method).rows
        return
    with pytest.raises(SchemaError, match="column 'x' holds values with a star of their own"):
        publish(table, schema, method)


def test_images_do_not_depend_on_how_many_attributes_there_are() -> None:
    """Beyond the size of one key, keys are numbered anew; the images are those of a group-by all
    the same.
    """
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({f"q{i}": rng.integers(0, 1000, 400) // 250 * 250 for i in range(20)})
    grid = {"low": 0, "high": 1000, "width": 1}
    schema = Schema(quasi=frame.columns)
    scheme = FixedScheme.of(dict.fromkeys(frame.columns, grid), schema)
    microdata = Microdata.encode(frame, schema)
    rows = np.arange(0, 400, 2)
    image, images = scheme.images(microdata, rows)
    again = images[pl.Series(image)].select(pl.col("^.*_low$"))
    assert again.rows() == frame[rows.tolist()].rows()
    assert images.height == images.n_unique()


def test_a_date_in_quotes_is_told_how_it_is_written() -> None:
    """A plan is TOML, in which dates are no texts."""
    schema = Schema(quasi=["born"])
    grid = {"low": "1930-01-01", "high": "2020-01-01", "width": 3650}
    with pytest.raises(PlanError, match=r"write dates without quotes, as low = 2015-01-01"):
        FixedScheme.of({"born": grid}, schema)


@pytest.mark.parametrize("base", [2**53, 2**60, 1_700_000_000_000_000_000, -(2**62)])
@pytest.mark.parametrize("width", [1, 5, 100])
def test_a_cell_of_a_number_that_no_float_holds(base: int, width: int) -> None:
    """Moments in nanoseconds lie in the cell whose ends are around them."""
    axis = Grid("x", base, base + 10 * width, (width,))
    values = [base + i for i in range(0, 10 * width, max(1, width // 7))]
    domain = (
        Microdata.encode(pl.DataFrame({"x": values}), Schema(quasi=["x"], types={"x": "numeric"}))
        .columns["x"]
        .domain
    )
    assert axis.finest(domain).tolist() == [(value - base) // width for value in values]


@pytest.mark.parametrize("widths", [(10, 10**19), (1e20,), (0.5, 1e300)])
def test_bands_whose_ends_no_float_tells_are_refused(widths) -> None:
    """By the plan alone, whatever the table holds."""
    axis: Axis = axis_of("age", None, Bands(widths))
    table = pl.DataFrame({"age": [20, 60]})
    column = Microdata.encode(table, Schema(quasi=["age"], types={"age": "numeric"})).columns["age"]
    with pytest.raises(SchemaError, match=r"bands wider than 2.53"):
        axis.check_fits(column.domain)


@pytest.mark.parametrize(
    ("low", "high", "width"), [(1e15, 1e15 + 1, 0.0001), (2**51 - 100, 2**51 + 100, 0.25)]
)
def test_a_range_whose_cells_no_float_tells_is_refused(low, high, width) -> None:
    """Else the check would fail of some tables and not of others."""
    with pytest.raises(PlanError, match="where floats hold too few numbers"):
        axis_of("age", {"low": low, "high": high, "width": width}, None)
