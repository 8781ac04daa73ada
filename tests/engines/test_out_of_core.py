# SPDX-License-Identifier: Apache-2.0
"""A table some rows at a time: what is held of it meanwhile."""

import polars as pl
import pyarrow as pa
import pytest

from phalanx import Schema
from phalanx.data.sources.batches import Batches
from phalanx.engines import out_of_core
from phalanx.engines.cells import Cells
from phalanx.engines.out_of_core import Divided
from phalanx.randomness import Randomness

ROWS = 1 << 19


@pytest.fixture
def texts(tmp_path):
    """A table of long texts, hundreds of which are drawn."""
    numbers = pl.int_range(ROWS, eager=True).alias("n")
    frame = pl.select(pl.format("a text of more than twelve bytes, {}", numbers).alias("a"))
    frame.write_parquet(tmp_path / "t.parquet")
    batches = Batches.of(tmp_path / "t.parquet")
    schema = Schema(quasi=["a"])
    return Divided(batches, schema, rows=ROWS, most=500, room=1 << 30)


@pytest.mark.parametrize("apart", [True, False])
def test_rows_that_are_drawn_hold_no_others(texts, monkeypatch, apart):
    """Few of each batch: were texts left where they were read, all of the table would be held."""
    held = []

    def microdata(_, frame):
        held.append((pa.total_allocated_bytes() - before, frame.height))
        return frame

    monkeypatch.setattr(Cells, "microdata", microdata)
    if not apart:
        monkeypatch.setattr(out_of_core, "apart", lambda frame: frame)
    before = pa.total_allocated_bytes()
    texts.drawn(Randomness.seeded(7))
    ((size, rows),) = held
    assert 300 < rows < 700
    assert (size < ROWS * 40 / 2) is apart
