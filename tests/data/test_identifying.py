# SPDX-License-Identifier: Apache-2.0
"""Whether a column names people, asked of a whole table and of one that is read some rows at a
time.
"""

import numpy as np
import polars as pl
import pytest

from phalanx import Schema
from phalanx.data.identifying import check_identifying, check_whole, judged
from phalanx.errors import SchemaError

ROWS = 300
SCHEMA = Schema(quasi=["x"])


def said(check, *given):
    """What is refused, if anything."""
    try:
        check(*given)
    except SchemaError as refusal:
        return str(refusal)
    return None


def in_batches(frame, size):
    """Reads columns some rows at a time, and says how many rows it read."""
    read = []

    def each(names):
        for start in range(0, frame.height, size):
            read.append(size)
            yield frame.select(names)[start : start + size]

    return each, read


@pytest.mark.parametrize("size", [7, 100, ROWS])
@pytest.mark.parametrize("distinct", [1, 100, 268, 270, 272, ROWS])
@pytest.mark.parametrize("kind", ["integer", "text", "category", "missing", "stored", "measured"])
def test_some_rows_at_a_time_say_the_same(tmp_path, kind, distinct, size):
    """A value that comes again is counted wherever it does; missing ones say nothing, and of numbers
    of which one has decimals, wherever it stands, nothing is said.
    """
    values = np.random.default_rng(distinct).permutation(np.arange(ROWS) % distinct)
    column = pl.Series("x", values)
    column = {
        "integer": column,
        "text": column.cast(pl.String),
        "category": column.cast(pl.String).cast(pl.Categorical),
        "missing": column.replace(0, None),
        "stored": column.cast(pl.Float64).replace([0, 1], [-0.0, float("nan")]),
        "measured": column.cast(pl.Float64).replace(0, 0.5),
    }[kind]
    each, _ = in_batches(column.to_frame(), size)
    ours = said(check_whole, ["x"], SCHEMA, each, ROWS, 1000, tmp_path)
    assert ours == said(check_identifying, column, SCHEMA)
    present = pl.Series([value for value in column.drop_nulls().to_list() if value == value])
    assert (ours is not None) is (kind != "measured" and present.n_unique() > 0.9 * present.len())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [7, ROWS])
def test_missing_values_hide_no_identifier(tmp_path, size):
    """Telephone numbers of half of the persons are telephone numbers."""
    column = pl.Series("x", [i if i % 2 else None for i in range(ROWS)])
    each, _ = in_batches(column.to_frame(), size)
    ours = said(check_whole, ["x"], SCHEMA, each, ROWS, 1000, tmp_path)
    assert ours == said(check_identifying, column, SCHEMA)
    assert ours is not None and f"{ROWS // 2} distinct values in {ROWS // 2} rows" in ours


def test_no_more_is_read_once_it_is_known(tmp_path):
    """Where one value in three comes again at once, a third of the table tells."""
    column = pl.Series("x", np.arange(ROWS) * 2 // 3)
    each, read = in_batches(column.to_frame(), 10)
    check_whole(["x"], SCHEMA, each, ROWS, 1000, tmp_path)
    assert 0 < sum(read) < ROWS / 2
    read.clear()
    check_whole([], SCHEMA, each, ROWS, 1000, tmp_path)
    assert sum(read) <= 10


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (Schema(quasi=["a", "b", "c"], sensitive="d", keep=["e"]), ["a", "b", "c", "d", "e"]),
        (Schema(quasi=["a", "b"], types={"a": "numeric"}, drop=["c", "d", "e"]), ["b"]),
        (Schema(quasi=["a"], sensitive="d", types={"d": "set"}, drop=["b", "c", "e"]), ["a"]),
        (Schema(quasi=["a"], sensitive="d", types={"d": "categorical"}, drop=["b", "c", "e"]), ["a"]),
        (Schema(quasi=["a"], keep=["b"], types={"b": "categorical"}, drop=["c", "d", "e"]), ["a", "b"]),
    ],
)  # fmt: skip
def test_what_is_asked_of(schema, expected):
    """Numbers and texts, unless the type of one that is not kept vouches for it; no set."""
    head = pl.DataFrame(
        {"a": [1], "b": ["x"], "c": [0.5], "d": ["y"], "e": [2]},
    ).clear()
    assert judged(head, schema) == expected
