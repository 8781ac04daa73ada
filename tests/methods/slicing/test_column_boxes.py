# SPDX-License-Identifier: Apache-2.0
"""Generalized column values are shared by enough rows, and say of every row where it lies."""

import itertools
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import mondrian as naive
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import MethodError, PlanError
from phalanx.methods.slicing.column_boxes import column_boxes
from phalanx.release.forms.sliced import Boxes

QUASI = ("age", "sex", "zip")
COLUMNS = (("age", "sex"), ("zip", "ill"))


def people(rows: list[tuple[int, str, int]]) -> Microdata:
    frame = pl.DataFrame(
        [(*row, f"i{i % 3}") for i, row in enumerate(rows)], schema=[*QUASI, "ill"], orient="row"
    )
    return Microdata.encode(
        frame, Schema(quasi=QUASI, sensitive="ill", types={"zip": "numeric", "age": "numeric"})
    )


def wrong(microdata: Microdata, names: tuple[str, ...], k: int, boxes: Boxes) -> list[str]:
    """What is wrong with a column's boxes: too few rows, a row outside, ends that no row has, or
    two boxes with a value in common.
    """
    found, rows = [], Counter(boxes.of_row.tolist())
    held = {name: microdata.columns[name].codes for name in names}
    if (
        sorted(rows) != list(range(len(rows)))
        or any(len(end) != len(rows) for ends in boxes.ends.values() for end in ends)
        or set(boxes.ends) != set(names)
    ):
        return ["not one pair of ends for each box and attribute"]
    found += [f"box {box} has {count} rows" for box, count in rows.items() if count < k]
    for box, name in itertools.product(rows, names):
        codes = held[name][boxes.of_row == box]
        low, high = (end[box] for end in boxes.ends[name])
        if (codes.min(), codes.max()) != (low, high):
            found.append(f"box {box} is not as wide as its rows")
    for one, other in itertools.combinations(rows, 2):
        if all(
            boxes.ends[name][0][one] <= boxes.ends[name][1][other]
            and boxes.ends[name][0][other] <= boxes.ends[name][1][one]
            for name in names
        ):
            found.append(f"boxes {one} and {other} have values in common")
    return found


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.sampled_from("fm"), st.integers(0, 6)),
        min_size=1,
        max_size=40,
    ),
    st.integers(1, 8),
)
def test_every_column_value_has_k_rows(rows, k):
    """At least k rows in each box, tight, apart from each other; those of the slow Mondrian over
    the column's quasi-identifiers alone.
    """
    microdata = people(rows)
    if len(rows) < k:
        return
    found = column_boxes(microdata, COLUMNS, k)

    assert list(found) == [0, 1]
    for names, boxes in zip((("age", "sex"), ("zip",)), found.values(), strict=True):
        assert wrong(microdata, names, k, boxes) == []
        columns = [microdata.columns[name] for name in names]
        tuples = [tuple(int(column.codes[i]) for column in columns) for i in range(len(rows))]
        slow = naive.groups_of(
            tuples,
            naive.whole([column.domain.normalised.tolist() for column in columns]),
            [0] * len(rows),
            naive.at_least(k),
        )
        together = [np.flatnonzero(boxes.of_row == box).tolist() for box in range(len(slow))]
        assert sorted(together) == sorted(map(sorted, slow))


def test_broken_boxes_are_seen():
    """Boxes of too few rows, too wide, too narrow or in each other's way are found."""
    microdata = people([(i, "f", i % 3) for i in range(8)])
    (good,) = column_boxes(microdata, [("age",)], 4).values()
    low, high = good.ends["age"]
    swapped = np.where(np.arange(8) % 2, good.of_row, good.of_row[::-1])

    assert wrong(microdata, ("age",), 4, good) == []
    assert wrong(microdata, ("age",), 5, good)
    for of_row, ends in (
        (good.of_row, (low - 1, high)),
        (good.of_row, (low, high - 1)),
        (good.of_row, (low[:1], high[:1])),
    ):
        assert wrong(microdata, ("age",), 4, Boxes(of_row, {"age": ends}))
    tight = [
        (codes.min(), codes.max()) for codes in (np.flatnonzero(swapped == box) for box in range(2))
    ]
    assert any(
        "in common" in said
        for said in wrong(microdata, ("age",), 4, Boxes(swapped, {"age": tuple(np.array(tight).T)}))
    )


def test_what_is_sensitive_is_in_no_box():
    """A column of the sensitive attribute alone is not generalized; beside others it is left as it
    is.
    """
    microdata = people([(i, "f", i % 3) for i in range(12)])

    assert list(column_boxes(microdata, [QUASI, ("ill",)], 2)) == [0]
    assert set(column_boxes(microdata, [("age",), ("sex", "zip", "ill")], 2)[1].ends) == {
        "sex",
        "zip",
    }


def test_one_row_each_is_no_generalization():
    """With k = 1 every box is one column value."""
    microdata = people([(i % 5, "fm"[i % 2], i % 3) for i in range(40)])
    boxes = column_boxes(microdata, COLUMNS, 1)[0]

    assert all((low == high).all() for low, high in boxes.ends.values())
    assert len(boxes.ends["age"][0]) == 10


def test_what_cannot_be():
    """Fewer rows than k, and a k that is no number of rows, are refused in one sentence."""
    microdata = people([(1, "f", 1), (2, "m", 2)])

    with pytest.raises(
        MethodError, match=r"the table has 2 row.s. and \[method\] generalize_columns_k = 3 asks"
    ):
        column_boxes(microdata, COLUMNS, 3)
    with pytest.raises(
        PlanError, match="generalize_columns_k must be a whole number of at least 1, and is 0"
    ):
        column_boxes(microdata, COLUMNS, 0)
