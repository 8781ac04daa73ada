# SPDX-License-Identifier: Apache-2.0
"""The release folder: what is written is read again as it was, in either format, and the bytes
depend on the published tables alone.
"""

import json
import os
import time
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import phalanx as px
from phalanx.data.hierarchies.hierarchy import Bands
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import ReleaseError
from phalanx.guarantees.verify import verify
from phalanx.randomness import Randomness
from phalanx.release.folder import Release, write_folder
from phalanx.release.forms.generalized import Generalized, generalize
from phalanx.release.manifest import NAME, Manifest, digest

SAID = {
    "series": "s", "number": 1, "method": {"name": "mondrian", "k": 2}, "guarantees": [{"name": "k-anonymity", "k": 2}],
    "boxes": "tight", "not_for_publication": False, "previous": None,
}  # fmt: skip


def form_of(frame: pl.DataFrame, **schema: Any) -> Generalized:
    """Two rows to a group, in random order."""
    microdata = Microdata.encode(frame, Schema(**{"missing": "value"} | schema))
    return generalize(
        microdata,
        np.arange(frame.height),
        np.arange(frame.height) // 2,
        Randomness.secure().stream("t"),
    )[0]


def write(path: Path, form: Generalized, formats: tuple[str, ...] = ("parquet", "csv")) -> Release:
    path.mkdir()
    write_folder(path, form, formats, **SAID)
    return Release.read(path)


NASTY = [
    "",
    " ",
    "a,b",
    'say "no"',
    "line\nbreak",
    "carriage\r\n",
    "=1+1",
    "NA",
    "null",
    "0012",
    "1e5",
    "é",
    "é",
    None,
]

KEPT: dict[str, pl.Series] = {
    "text": pl.Series(NASTY),
    "numbers": pl.Series([1, -5, None, 2**62] * 3 + [0, 1]),
    "small numbers": pl.Series([1, 255] * 7, dtype=pl.UInt8),
    "floats": pl.Series([0.1, 1e300, 5e-324, None, float("nan"), -0.0, 3.0] * 2),
    "short floats": pl.Series([0.1, 1e30, 3.0, None, -2.5, 7.0, 1.0] * 2, dtype=pl.Float32),
    "decimals": pl.Series([Decimal("1.50"), Decimal("-2.25")] * 7),
    "booleans": pl.Series([True, False, None, True, False, True, None] * 2),
    "dates": pl.Series([date(2020, 1, 1), date(1899, 12, 31)] * 7),
    "timestamps": pl.Series([datetime.fromisoformat("2020-01-01T03:04:05.000006"), None] * 7),
    "timestamps with a zone": (
        pl.Series([datetime.fromisoformat("2020-07-01T03:04:05"), None] * 7).dt.replace_time_zone(
            "Europe/Berlin"
        )
    ),
    "categories": pl.Series(["a", "b"] * 7, dtype=pl.Categorical),
    "nothing": pl.Series([None] * 14, dtype=pl.String),
}


@pytest.mark.parametrize("formats", [("parquet", "csv"), ("parquet",), ("csv",)], ids=str)
@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT.keys())
def test_every_kind_of_column_is_published(
    tmp_path: Path, kept: pl.Series, formats: tuple[str, ...]
) -> None:
    """Whatever a kept column holds: the folder is read again with the same texts, and its checks
    hold.
    """
    frame = pl.DataFrame({"age": list(range(14)), "x": kept})
    form = form_of(frame, quasi=["age"], keep=["x"])
    release = write(tmp_path / "r", form, formats)
    assert [v.note for v in verify([release]) if not v.holds] == []
    if "parquet" in formats:
        assert release.form.table.equals(form.table)
    elif kept.dtype == pl.String:
        assert release.form.table["x"].to_list() == form.table["x"].to_list()


@pytest.mark.parametrize("formats", [("parquet", "csv"), ("parquet",), ("csv",)], ids=str)
@pytest.mark.parametrize(
    "sensitive",
    [
        pl.Series([date(2020, 1, 1), date(2020, 1, 2), None, None]),
        pl.Series([1.0, 2.0, -0.0, None]),
        pl.Series(["01", "1", "", None]),
        pl.Series([3, 1, 2, 3]),
    ],
    ids=["date", "float", "text", "integer"],
)
def test_every_kind_of_sensitive_value_is_published(
    tmp_path: Path, sensitive: pl.Series, formats: tuple[str, ...]
) -> None:
    """A release of CSV alone has the sensitive values of the Parquet file, in their type."""
    frame = pl.DataFrame(
        {
            "age": [1, 1, 5, 6],
            "born": [date(1990, 1, 1), None, None, date(1991, 1, 1)],
            "s": sensitive,
        }
    )
    form = form_of(frame, quasi=["age", "born"], sensitive="s")
    release = write(tmp_path / "r", form, formats)
    assert [v.note for v in verify([release]) if not v.holds] == []
    assert release.form.table.equals(form.table)


def test_bands_that_read_as_numbers(tmp_path: Path) -> None:
    """Nodes are text also where all of them look like numbers, in a release of CSV alone."""
    form = form_of(
        pl.DataFrame({"age": [20, 20, 30, 30]}), quasi=["age"], hierarchies={"age": Bands((10,))}
    )
    release = write(tmp_path / "r", form, ("csv",))
    assert [v.note for v in verify([release]) if not v.holds] == []
    assert release.form.table["age"].dtype == pl.String


@pytest.mark.parametrize("formats", [("parquet",), ("csv",)], ids=str)
@pytest.mark.parametrize("ages", [[None, 30], [None, 30.5], [None, None]], ids=str)
def test_both_ends_of_an_interval_are_of_one_type(
    tmp_path: Path, ages: list[float | None], formats: tuple[str, ...]
) -> None:
    """Where every group has a person without the number, no low end is there, and is a number all
    the same, in a release of CSV alone, too; there is a page about it.
    """
    dtype = pl.Float64 if 30.5 in ages else pl.Int64
    form = form_of(pl.DataFrame({"age": pl.Series(ages * 2, dtype=dtype)}), quasi=["age"])
    release = write(tmp_path / "r", form, formats)
    assert release.form.table.schema == form.table.schema
    assert px.Release.read(tmp_path / "r").report(tmp_path / "page.html").exists()


def test_column_names_of_every_kind(tmp_path: Path) -> None:
    """Quotes, commas, line breaks, emoji and SQL in names come back as they were."""
    names = ['a "b"', "c,d", "e\nf", "🙂", "x'; DROP TABLE y; --", " g ", "=1"]
    form = form_of(
        pl.DataFrame({name: [1, 2, 3, 4] for name in names}), quasi=names[:4], keep=names[4:]
    )
    for formats in (("parquet", "csv"), ("csv",)):
        release = write(tmp_path / str(len(formats)), form, formats)
        assert [v.note for v in verify([release]) if not v.holds] == []
        assert release.form.table.columns == form.table.columns


@pytest.mark.parametrize("name", ["s[1]-1", "s*", "s?", "a b", "é"])
def test_folders_whose_names_are_patterns(tmp_path: Path, name: str) -> None:
    """The name of a folder is a name and no pattern of names."""
    form = form_of(pl.DataFrame({"age": [20, 20, 30, 30]}), quasi=["age"])
    for formats in (("parquet",), ("csv",)):
        folder = tmp_path / formats[0]
        folder.mkdir()
        assert write(folder / name, form, formats).form.rows == 4


def rebuilt(form: Generalized) -> Generalized:
    """The same tables from other memory: sliced out of a larger frame, in other chunks, flagged as
    sorted.
    """
    longer = pl.concat([form.table, form.table, form.table], rechunk=False)
    table = pl.concat(
        [longer[form.rows : form.rows + 3], longer[form.rows + 3 : 2 * form.rows]], rechunk=False
    ).set_sorted("group")
    return Generalized(
        table, form.attributes, None if form.counterfeits is None else form.counterfeits.clone()
    )


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    """Two equal tables, however they lie in memory, and written at different times in different
    places, are the same folder byte for byte.
    """
    frame = pl.DataFrame(
        {"age": [i % 30 for i in range(300)], "s": [f"value {i % 7}" for i in range(300)]}
    )
    form = form_of(frame, quasi=["age"], sensitive="s")
    form = Generalized(
        form.table, form.attributes, pl.DataFrame({"group": [1, 2], "count": [1, 1]})
    )
    write_one, write_other = tmp_path / "one", tmp_path / "another place"
    write(write_one, form)
    os.utime(write_one / "data.csv", (0, 0))
    write(write_other, rebuilt(form))
    names = sorted(p.name for p in write_one.iterdir())
    assert names == [
        "counterfeits.csv",
        "counterfeits.parquet",
        "data.csv",
        "data.parquet",
        "release.json",
    ]
    assert [(write_one / n).read_bytes() for n in names] == [
        (write_other / n).read_bytes() for n in names
    ]


def test_what_a_parquet_file_says_beside_its_rows(tmp_path: Path) -> None:
    """The footer has the column types once more and the writer's name; no statistics, no index, no
    filter, no order, and row groups of one size.
    """
    n = 600_000
    frame = pl.DataFrame({"age": np.arange(n) // 4, "s": [f"value {i % 7}" for i in range(n)]})
    release = write(tmp_path / "r", form_of(frame, quasi=["age"], sensitive="s"), ("parquet",))
    metadata = pq.read_metadata(release.path / "data.parquet")
    assert set(metadata.metadata) == {b"ARROW:schema"}
    assert metadata.created_by.startswith("Polars")
    assert not any(
        part in metadata.created_by
        for part in (str(tmp_path), os.uname().nodename, os.environ.get("USER", "nobody at all"))
    )
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    assert len({g.num_rows for g in groups[:-1]}) <= 1
    assert all(g.sorting_columns in (None, ()) for g in groups)
    chunks = [g.column(i) for g in groups for i in range(metadata.num_columns)]
    assert not any(
        c.is_stats_set or c.has_column_index or c.bloom_filter_offset for c in chunks
    )  # an offset index says where pages begin, no more
    assert not any(c.metadata or c.file_path for c in chunks)


def test_row_groups_do_not_follow_groups(tmp_path: Path) -> None:
    """Where the file is cut depends on the number of rows alone."""
    sizes = []
    for i, width in enumerate((1, 5000)):
        frame = pl.DataFrame({"age": np.arange(300_000) // width})
        microdata = Microdata.encode(frame, Schema(quasi=["age"], types={"age": "numeric"}))
        groups = np.arange(300_000) // width
        form, _ = generalize(microdata, np.arange(300_000), groups, Randomness.secure().stream("t"))
        metadata = pq.read_metadata(
            write(tmp_path / str(i), form, ("parquet",)).path / "data.parquet"
        )
        sizes.append([metadata.row_group(j).num_rows for j in range(metadata.num_row_groups)])
    assert sizes[0] == sizes[1]


def test_the_manifest_says_what_may_be_public_and_nothing_else(tmp_path: Path) -> None:
    """The manifest's keys are those declared; no time, no path, no host, no user."""
    release = write(tmp_path / "r", form_of(pl.DataFrame({"age": [20, 20, 30, 30]}), quasi=["age"]))
    text = (release.path / NAME).read_text(encoding="utf-8")
    assert set(json.loads(text)) == set(Manifest.model_fields) - {"registered", "sliced", "scheme", "layout", "parts", "holds_if_method_known", "may_suppress"} == {
        "format", "series", "number", "form", "method", "guarantees", "attributes", "rows", "groups", "counterfeits",
        "boxes", "privacy_unit", "not_for_publication", "files", "previous",
    }  # fmt: skip
    assert str(tmp_path) not in text
    assert os.uname().nodename not in text
    assert time.strftime("%Y-%m-%d") not in text


def test_what_is_no_release_folder(tmp_path: Path) -> None:
    """A path that is missing, a file, or an empty folder is refused in one sentence."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    for name in ("nowhere", "file", "empty"):
        with pytest.raises(ReleaseError, match="is not a release folder"):
            Release.read(tmp_path / name)


def with_registered(counts: pl.DataFrame) -> Generalized:
    """Four rows in two groups, and how many registered persons these hold."""
    form = form_of(pl.DataFrame({"age": [20, 20, 30, 30]}), quasi=["age"])
    return Generalized(form.table, form.attributes, None, counts)


@pytest.mark.parametrize("formats", [("parquet", "csv"), ("parquet",), ("csv",)])
def test_registered_persons_are_counted_beside(tmp_path: Path, formats: tuple[str, ...]) -> None:
    """The counts of registered persons come back as they were, with their total in the manifest;
    none at all, and none of the groups, are kept apart.
    """
    counts = pl.DataFrame({"group": [1, 2], "count": [3, 1]})
    release = write(tmp_path / "r", with_registered(counts), formats)
    assert release.form.registered.equals(counts)
    assert release.form.counterfeits is None
    assert (
        release.manifest.registered,
        json.loads((release.path / NAME).read_bytes())["registered"],
    ) == (4, 4)
    assert {p.name for p in release.path.iterdir()} == {
        NAME,
        *(f"{name}.{format}" for name in ("data", "registered") for format in formats),
    }
    assert [v.note for v in verify([release]) if not v.holds] == []
    nobody = write(tmp_path / "nobody", with_registered(counts.clear()), formats)
    assert (nobody.form.registered.height, nobody.manifest.registered) == (0, 0)
    assert write(tmp_path / "none", with_registered(None), formats).form.registered is None


def test_a_manifest_without_registered_persons_does_not_speak_of_them(tmp_path: Path) -> None:
    """So releases from before there were registries are read as ever; a manifest that says 0 is not
    in the form in which it was published.
    """
    release = write(tmp_path / "r", form_of(pl.DataFrame({"age": [20, 20, 30, 30]}), quasi=["age"]))
    said = json.loads((release.path / NAME).read_bytes())
    assert "registered" not in said
    assert release.manifest.registered == 0
    (release.path / NAME).write_text(
        json.dumps({"registered": 0} | said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    with pytest.raises(ReleaseError, match="not in the form in which it was published"):
        Release.read(release.path)


@pytest.mark.parametrize(
    "counts",
    [pl.DataFrame({"group": [1], "count": ["many"]}), pl.DataFrame({"group": [1], "count": [[1]]})],
)
@pytest.mark.parametrize("table", ["counterfeits", "registered"])
def test_counts_that_are_no_numbers(tmp_path: Path, counts: pl.DataFrame, table: str) -> None:
    """Whatever stands in a table of counts, reading it is no fault of Phalanx: it counts nobody,
    against the manifest.
    """
    right = pl.DataFrame({"group": [1], "count": [1]})
    release = write(tmp_path / "r", replace(with_registered(None), **{table: right}), ("parquet",))
    counts.write_parquet(release.path / f"{table}.parquet")
    manifest = release.manifest
    files = [
        f.model_copy(update={"sha256": digest((release.path / f.name).read_bytes())})
        for f in manifest.files
    ]
    (release.path / NAME).write_bytes(manifest.model_copy(update={"files": files}).to_bytes())
    with pytest.raises(ReleaseError, match=f"the manifest says 1 {table} and the files hold 0"):
        Release.read(release.path)
    pl.DataFrame({"group": [1], "COUNT": [1]}).write_parquet(release.path / f"{table}.parquet")
    files = [
        f.model_copy(update={"sha256": digest((release.path / f.name).read_bytes())})
        for f in manifest.files
    ]
    (release.path / NAME).write_bytes(manifest.model_copy(update={"files": files}).to_bytes())
    with pytest.raises(ReleaseError, match=f"the columns of {table} are not those of the manifest"):
        Release.read(release.path)
