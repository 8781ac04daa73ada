# SPDX-License-Identifier: Apache-2.0
"""Sets as rows of bits are sets."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.adversaries.candidates import Values, hold
from phalanx.arrays import sizes
from phalanx.data.column import Column
from phalanx.data.domain import Domain
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.release.forms.generalized import Generalized
from phalanx.release.manifest import PublishedAttribute

ATTRIBUTES = (
    PublishedAttribute(name="a", role="quasi", type="numeric", columns=["a_low", "a_high"]),
    PublishedAttribute(name="s", role="sensitive", type="numeric", columns=["s"]),
)


def form_of(groups):
    """Every group is the point of its own number, with the values given."""
    rows = [(g, g, g, v) for g, values in enumerate(groups, 1) for v in values]
    return Generalized(
        pl.DataFrame(
            rows, schema=dict.fromkeys(("group", "a_low", "a_high", "s"), pl.Int64), orient="row"
        ),
        ATTRIBUTES,
    )


def members(values, sets):
    """The sets as Python's own."""
    everything = values.domain.to_list()
    return [
        {
            v
            for v, inside in zip(
                everything,
                hold(np.repeat(s[None], len(everything), axis=0), np.arange(len(everything))),
                strict=True,
            )
            if inside
        }
        for s in sets
    ]


@given(
    groups=st.lists(
        st.lists(st.integers(0, 200), min_size=1, max_size=90, unique=True), min_size=1, max_size=5
    )
)
@settings(deadline=None)
def test_sets_of_groups_and_of_boxes(groups):
    """Beyond 64 values as below, a group's set holds its values, whichever groups are asked for and
    however often, and a point's set those of the groups around it; sizes are counted right.
    """
    form = form_of(groups)
    values = Values.of([form.table["s"], pl.Series([300, 301])])
    asked = np.array([*range(len(groups)), len(groups) - 1, 0])
    sets = values.of_groups(form, asked)
    assert members(values, sets) == [set(groups[g]) for g in asked]
    assert sizes(sets).tolist() == [len(groups[g]) for g in asked]
    assert members(values, values.of_groups(form, asked[-1:])) == [set(groups[0])]
    assert values.of_groups(form, asked[:0]).shape == (0, values.words)

    points = np.arange(len(groups) + 1, dtype=np.int32)
    columns = {
        "a": Column(points, Domain("numeric", pl.Series("a", points.astype(np.int64) + 1))),
        "s": Column(points * 0, Domain("numeric", pl.Series("s", [0]))),
    }
    microdata = Microdata(
        Schema(quasi=["a"], sensitive="s"), len(points), columns, pl.DataFrame(), None
    )
    assert members(values, values.of_boxes(form, microdata)) == [*map(set, groups), set()]


def test_no_value_is_in_no_set():
    """-1 stands for somebody whose value is not known."""
    values = Values.of([pl.Series("s", [1, 2])])
    sets = values.of_groups(form_of([[1, 2]]), np.array([0]))
    assert hold(sets, np.array([-1])).tolist() == [False]
    assert hold(sets, values.places(pl.Series([2]))).tolist() == [True]


@pytest.mark.parametrize(
    ("columns", "same"),
    [
        ([pl.Series([1, 2]), pl.Series([1.0, 2.5])], [(1, 1.0)]),
        ([pl.Series([1, 2]), pl.Series(["1", "x"])], [(1, "1")]),
        ([pl.Series([1, 2], dtype=pl.Int8), pl.Series([1, 300])], [(1, 1)]),
        ([pl.Series([None, "x"]), pl.Series(["x", None])], [("x", "x"), (None, None)]),
        (
            [pl.Series([float("nan"), 1.0]), pl.Series([float("nan")])],
            [(float("nan"), float("nan"))],
        ),
    ],
)
def test_values_are_the_same_in_every_type(columns, same):
    """Whole numbers, numbers, and text of numbers; a missing value is one value, and not the text
    None.
    """
    values = Values.of(columns)
    first, second = columns
    for a, b in same:
        place = values.places(pl.Series([a], dtype=first.dtype))
        assert place.tolist() == values.places(pl.Series([b], dtype=second.dtype)).tolist()
        assert place[0] >= 0
    assert len(values.domain) == sum(c.n_unique() for c in columns) - len(same)


def test_values_are_numbered_as_they_first_stand():
    """So that sums by value, and with them all figures, are the same each time."""
    rng = np.random.default_rng(3)
    columns = [pl.Series("s", rng.permutation(5_000)[:4_000].astype(str)) for _ in range(2)]
    both = list(dict.fromkeys([*columns[0].to_list(), *columns[1].to_list()]))
    assert Values.of(columns).domain.to_list() == both
