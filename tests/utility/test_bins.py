# SPDX-License-Identifier: Apache-2.0
"""Bins of a table that comes in pieces are those of the table."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from phalanx.utility.bins import Bins, Seen

TABLE = pl.DataFrame(
    {
        "few": [[3, 1, None, 2][i * i % 7 % 4] for i in range(500)],
        "many": [float(i * 37 % 211) if i % 9 else None for i in range(500)],
        "day": [date(2020, 1, 1 + i % 25) for i in range(500)],
        "text": [f"t{i * 11 % 300}" for i in range(500)],
        "late": [None] * 400 + [str(i) for i in range(100)],
    }
)


def same(one: Bins, other: Bins) -> bool:
    """Whether bins are the same."""
    return (
        one.edges.keys() == other.edges.keys()
        and one.values.keys() == other.values.keys()
        and all(np.array_equal(edges, other.edges[name]) for name, edges in one.edges.items())
        and all(values.equals(other.values[name]) for name, values in one.values.items())
    )


@pytest.mark.parametrize("rows", [1, 7, 100, 499, 500, 900])
def test_pieces_have_the_bins_of_the_table(rows: int) -> None:
    """However many rows come at a time; a bin by itself for each row, too, and no more room."""
    whole = Bins.of(TABLE)
    assert set(whole.edges) == {"many", "day"}
    seen = Seen(TABLE.iter_slices(rows), TABLE.height)
    assert seen.some.equals(TABLE)
    assert same(seen.bins(), whole)
    codes = whole.code(TABLE)
    for name, code in whole.code_all(TABLE.iter_slices(rows)).items():
        assert code.dtype == codes[name].dtype == (np.uint16 if name == "text" else np.uint8)
        assert code.tolist() == codes[name].tolist()
        assert codes[name].max() < whole.size(name)


@pytest.mark.parametrize(("most", "step"), [(500, 1), (499, 2), (100, 5), (70, 8)])
def test_some_rows_are_at_equal_distances(most: int, step: int) -> None:
    """All values have bins, and tenths are those of the rows that were looked at."""
    for rows in (6, 64, 500):
        seen = Seen(TABLE.iter_slices(rows), TABLE.height, most)
        assert seen.some.equals(TABLE.gather_every(step))
        assert seen.some.height <= most
        bins = seen.bins()
        assert bins.values["text"].equals(Bins.of(TABLE).values["text"])
        present = TABLE["many"].gather_every(step).drop_nulls().to_numpy()
        assert (
            bins.edges["many"].tolist()
            == np.unique(np.quantile(present, np.arange(1, 10) / 10)).tolist()
        )


def test_a_number_that_no_row_of_those_has_is_in_tenths() -> None:
    """Which follow from the values that are known, then."""
    table = pl.DataFrame({"x": [None if i % 4 == 0 else i for i in range(400)]})
    seen = Seen([table], 400, 100)
    assert seen.some["x"].null_count() == 100
    assert len(seen.bins().edges["x"]) == 9
