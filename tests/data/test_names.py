# SPDX-License-Identifier: Apache-2.0
"""Names that Polars would expand are refused at every door, in a sentence; every other name is a
name.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.data.names import check_names
from phalanx.data.schema import Schema
from phalanx.data.sources.frames import to_polars
from phalanx.data.sources.source import read_source
from phalanx.errors import PhalanxError
from phalanx.release.folder import Release
from phalanx.verification import verify_table

PATTERNS = ["*", "^.*$", "^a$", "^$"]


def written(kind: str) -> Callable[[str, Path], Any]:
    def source(name: str, folder: Path) -> pl.DataFrame:
        frame = pl.DataFrame({name: ["1", "2"], "a": [3, 4], "b": [5, 6]})
        path = folder / f"t.{kind}"
        getattr(
            frame,
            {
                "csv": "write_csv",
                "parquet": "write_parquet",
                "arrow": "write_ipc",
                "feather": "write_ipc_stream",
            }[kind],
        )(path)
        return read_source(path, drop=None)

    return source


def foreign(name: str, folder: Path) -> Any:
    pq.write_table(pa.table({name: ["1", "2"], "a": [3, 4]}), folder / "t.parquet")
    return verify_table(folder / "t.parquet", quasi=["a"])


def manifest(name: str, folder: Path) -> Release:
    attribute = {
        "name": name,
        "role": "quasi",
        "type": "numeric",
        "columns": [f"{name}_low", f"{name}_high"],
    }
    of_release = {
        "series": "s",
        "number": 1,
        "form": "generalized",
        "method": {},
        "guarantees": [],
        "attributes": [attribute],
    }
    counts = {"rows": 1, "groups": 1, "counterfeits": 0, "boxes": "tight", "files": []}
    (folder / "release.json").write_text(json.dumps(of_release | counts))
    return Release.read(folder)


DOORS: dict[str, Callable[[str, Path], Any]] = {
    "csv": written("csv"),
    "parquet": written("parquet"),
    "arrow file": written("arrow"),
    "arrow stream": written("feather"),
    "polars": lambda name, _: to_polars(pl.DataFrame({name: [1], "a": [2]})),
    "pandas": lambda name, _: to_polars(pl.DataFrame({name: [1], "a": [2]}).to_pandas()),
    "arrow table": lambda name, _: to_polars(pa.table({name: [1], "a": [2]})),
    "schema": lambda name, _: Schema(quasi=["a"], sensitive=name),
    "dropped": lambda name, _: Schema(quasi=["a"], drop=[name]),
    "somebody's file": foreign,
    "somebody's frame": lambda name, _: verify_table(
        pl.DataFrame({name: [1], "a": [2]}), quasi=["a"]
    ),
    "manifest": manifest,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_is_refused(tmp_path: Path, name: str, door: str) -> None:
    """Whatever brings such a name, and whatever role it has, one sentence says so and what to
    do.
    """
    with pytest.raises(
        PhalanxError, match=r"^the column name .* is a pattern .*; rename it at the source\.$"
    ):
        DOORS[door](name, tmp_path)


@pytest.mark.parametrize(
    "door", ["polars", "arrow table", "schema", "manifest", "somebody's frame"]
)
@pytest.mark.parametrize(
    ("name", "what"), [("\0group", "holds a NUL"), ("\ufeffage", "begins with a byte order mark")]
)
def test_what_a_format_loses_is_refused(tmp_path: Path, name: str, what: str, door: str) -> None:
    """A NUL panics where a table is handed on through Arrow, and begins the names that checks make
    up; CSV readers drop a mark of byte order.
    """
    with pytest.raises(PhalanxError, match=what):
        DOORS[door](name, tmp_path)


@pytest.mark.parametrize("name", ["^", "$", "^a", "a$", "a*", "**", ".*", "^$ ", " *"])
def test_what_only_looks_like_a_pattern_is_a_name(tmp_path: Path, name: str) -> None:
    """Nothing is refused that Polars takes for a name."""
    for kind in ("csv", "parquet", "arrow"):
        assert written(kind)(name, tmp_path).columns == [name, "a", "b"]
    assert Schema(quasi=[name]).role(name) == "quasi"


@given(
    st.lists(
        st.text(alphabet="ab^$*.\n ", min_size=1, max_size=4), min_size=1, max_size=5, unique=True
    )
)
def test_what_passes_is_never_expanded(names: list[str]) -> None:
    """Each name that passes selects, and groups by, its own column."""
    frame = pl.DataFrame({name: [i] for i, name in enumerate(names)})
    for i, name in enumerate(names):
        try:
            check_names([name], PhalanxError)
        except PhalanxError:
            continue
        assert frame.select(name).to_dict(as_series=False) == {name: [i]}
        assert frame.group_by(name).len("\0n").columns == [name, "\0n"]
