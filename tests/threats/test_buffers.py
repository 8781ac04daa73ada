# SPDX-License-Identifier: Apache-2.0
"""Threat 8: what is handed out holds nothing behind its values: no rows beyond a slice, none under
a null, none that a filter took out.
"""

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from phalanx import Anatomy, MInvariance, Mondrian, Schema, Series, Slicing

MARKER = "Zq7MarkerThatIsLongerThanTwelveBytes"
N = 60
SCHEMA = Schema(identifier="who", quasi=["age", "town"], sensitive="ill", missing="value")
METHODS = {
    "mondrian": Mondrian(k=3, l=2),
    "m-invariance": MInvariance(m=2),
    "anatomy": Anatomy(l=2),
    "slicing": Slicing(l=2, sensitive_column_size=1),
}


def people() -> pl.DataFrame:
    """Sixty people in the middle of a longer table whose other rows have a marker in every text,
    and a missing value here and there.
    """
    rows = range(-N, 2 * N)
    inside = [0 <= i < N for i in rows]
    return pl.DataFrame({
        "who": [f"{MARKER} {i}" for i in rows],
        "age": [20 + i * 7 % 25 for i in rows],
        "town": [f"town {i % 6}" if own else f"{MARKER} town" for i, own in zip(rows, inside, strict=True)],
        "ill": [None if own and i % 11 == 0 else f"a long name of illness {i % 5}" if own else f"{MARKER} ill" for i, own in zip(rows, inside, strict=True)],
    })  # fmt: skip


def behind(table: Any) -> bytes:
    """Every byte of every buffer that a table brings along, whether a value refers to it or not."""
    arrow = table.to_arrow() if isinstance(table, pl.DataFrame) else table
    chunks = [chunk for column in arrow.columns for chunk in column.chunks]
    return b"".join(
        buffer.to_pybytes() for chunk in chunks for buffer in chunk.buffers() if buffer is not None
    )


@pytest.mark.parametrize("kind", ["a slice", "a filter"])
@pytest.mark.parametrize("name", METHODS)
def test_nothing_stands_behind_what_is_published(tmp_path: Path, name: str, kind: str) -> None:
    """Of a table that is a part of a longer one, no table of the release has a byte of the rest in
    its buffers.
    """
    part = (
        people()[N : 2 * N]
        if kind == "a slice"
        else people().filter(~pl.col("town").str.starts_with(MARKER))
    )
    release = Series(
        "s", schema=SCHEMA, method=METHODS[name], to=tmp_path / "out", report=False
    ).publish(part)
    for table in release.form.tables().values():
        assert MARKER.encode() not in behind(table)
        assert MARKER.encode() not in behind(table.to_arrow(compat_level=pl.CompatLevel.oldest()))
    assert b"illness" in b"".join(map(behind, release.form.tables().values()))


def test_a_slice_would_be_seen() -> None:
    """The search finds the rest of a table behind a slice of it, and under nulls."""
    whole = pa.table({"town": people()["town"].to_list()})
    assert MARKER.encode() in behind(whole.slice(N, N))
    assert MARKER.encode() not in behind(whole.slice(N, N).take(list(range(N))))
    texts = pa.array([MARKER, "b"])
    nulls = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x02"), *texts.buffers()[1:]])
    assert nulls.to_pylist() == [None, "b"] and MARKER.encode() in behind(pa.table({"town": nulls}))
