# SPDX-License-Identifier: Apache-2.0
"""Threats 6 to 8, 2 and 26: what was left out is nowhere in the bytes of what is handed out, nor in
the ledger, nor in what is printed.
"""

import contextlib
import io
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import phalanx.report
from phalanx import MInvariance, Mondrian, Prefix, Schema, Series, Tree
from phalanx.errors import PhalanxError

N = 60
MARKER = "Zq7Marker"
"""Stands in every value that must not be found."""
AGE = 8_675_309
"""The same for a number."""
ZSTD = b"\x28\xb5\x2f\xfd"
REPORT = hasattr(phalanx.report, "write_report")


def packed(content: bytes) -> Iterator[bytes]:
    """All that unpacks inside of a file: the pages of Parquet are Zstandard frames."""
    start = content.find(ZSTD)
    while start >= 0:
        frame = bytearray()
        with (
            contextlib.suppress(OSError),
            pa.CompressedInputStream(pa.BufferReader(content[start:]), "zstd") as unpacked,
        ):
            while byte := unpacked.read(
                1
            ):  # what stands behind the frame cannot be unpacked and ends the reading
                frame += byte
        yield bytes(frame)
        start = content.find(ZSTD, start + 1)


def holds(path: Path, text: str | int) -> bool:
    """Whether a file holds a text (as UTF-8 or UTF-16), or a whole number (as text or in eight
    bytes), plain or packed.
    """
    content = path.read_bytes()
    sought = [str(text).encode(), str(text).encode("utf-16-le")] + (
        [text.to_bytes(8, "little")] if isinstance(text, int) else []
    )
    return any(s in part for part in (content, *packed(content)) for s in sought)


def found(folder: Path, text: str | int) -> list[str]:
    return [p.name for p in folder.rglob("*") if p.is_file() and holds(p, text)]


def people(tag: str = "") -> pl.DataFrame:
    """Sixty people, of whom those with a marker are not to be published."""
    return pl.DataFrame({
        "who": [f"{MARKER} id {i}" for i in range(N)],
        "notes": [f"{MARKER} note {i}" for i in range(N)],
        "age": [20 + i * 7 % 25 for i in range(N)],
        "town": [f"town {i % 6}" for i in range(N)],
        "ward": [f"ward {i % 3}{tag}" for i in range(N)],
        "ill": [f"illness {i % 5}" for i in range(N)],
    })  # fmt: skip


SCHEMA = Schema(
    identifier="who", quasi=["age", "town"], sensitive="ill", keep=["ward"], drop=["notes"]
)


def with_unused_categories(frame: pl.DataFrame, kind: str) -> Any:
    """The table as somebody's frame whose categories name values that no row has any more."""
    columns = ["town", "ward", "ill"]
    if kind == "pandas":
        table = frame.to_pandas()
        for name in columns:
            table[name] = pd.Categorical(
                table[name], categories=[*sorted(set(table[name])), f"{MARKER} {name}"]
            )
        table.index = pd.Index([f"{MARKER} row {i}" for i in range(N)], name=f"{MARKER} index")
        table.attrs["source"] = f"{MARKER} path"
        return table
    if kind == "enum":
        return frame.with_columns(
            pl.col(name).cast(pl.Enum([*frame[name].unique().sort(), f"{MARKER} {name}"]))
            for name in columns
        )
    longer = pl.concat(
        [
            frame,
            frame.head(3).with_columns(pl.lit(f"{MARKER} {name}").alias(name) for name in columns),
        ]
    )
    if kind == "categorical":
        return longer.with_columns(pl.col(columns).cast(pl.Categorical))[:N]
    if kind == "slice":
        return longer[:N]
    table = longer.to_arrow(compat_level=pl.CompatLevel.oldest())
    for name in columns:
        table = table.set_column(
            table.column_names.index(name), name, table[name].combine_chunks().dictionary_encode()
        )
    return table.slice(0, N).replace_schema_metadata({"source": f"{MARKER} path"})


KINDS = ["pandas", "enum", "categorical", "slice", "arrow"]


@pytest.mark.parametrize("kind", KINDS)
def test_unused_categories_identifiers_and_dropped_columns(tmp_path: Path, kind: str) -> None:
    """Whatever kind of frame comes in: its unused categories, its index, its metadata, identifiers
    and dropped columns are in no file at all.
    """
    series = Series(
        "s",
        schema=SCHEMA,
        method=MInvariance(m=2),
        to=tmp_path / "out",
        formats=("parquet", "csv"),
        report=REPORT,
    )
    series.publish(with_unused_categories(people(), kind))
    assert found(tmp_path, MARKER) == []
    assert {"data.parquet", "data.csv"} <= set(found(tmp_path, "illness 3"))


@pytest.mark.parametrize(
    "method",
    [Mondrian(k=3, l=2), Mondrian(k=3, cuts="relaxed"), MInvariance(m=2)],
    ids=["mondrian", "relaxed", "m-invariance"],
)
def test_every_method_leaves_out_the_same(tmp_path: Path, method: Any) -> None:
    """The same for every method, from files too."""
    with_unused_categories(people(), "pandas").to_parquet(tmp_path / "in.parquet")
    Series(
        "s",
        schema=SCHEMA,
        method=method,
        to=tmp_path / "out",
        formats=("parquet", "csv"),
        report=REPORT,
    ).publish(pd.read_parquet(tmp_path / "in.parquet"))
    (tmp_path / "in.parquet").unlink()
    assert found(tmp_path, MARKER) == []


def test_rows_that_are_suppressed(tmp_path: Path) -> None:
    """People suppressed, for a changed value or for a value too frequent, leave no trace: not their
    quasi-identifiers, not their kept values.
    """
    schema = Schema(
        identifier="who",
        quasi=["age", "town"],
        sensitive="ill",
        keep=["ward"],
        drop=["notes"],
        types={"town": "categorical", "age": "numeric"},
    )
    method = MInvariance(m=2, changed="suppress", not_eligible="suppress")
    series = Series(
        "s",
        schema=schema,
        method=method,
        to=tmp_path / "out",
        ledger=f"sqlite:///{tmp_path}/l.db",
        formats=("parquet", "csv"),
        report=REPORT,
    )
    series.publish(people())
    changed = people().with_columns(
        age=pl.when(pl.col("ill") == "illness 1")
        .then(pl.lit(AGE, dtype=pl.Int64))
        .otherwise("age"),
        town=pl.when(pl.col("ill") == "illness 1").then(pl.lit(f"{MARKER} town")).otherwise("town"),
        ward=pl.when(pl.col("ill") == "illness 1").then(pl.lit(f"{MARKER} ward")).otherwise("ward"),
        ill=pl.when(pl.col("ill") == "illness 1").then(pl.lit(f"{MARKER} ill")).otherwise("ill"),
    )
    made = series.publish(changed)
    assert made.suppressed_rows == {"changed value": N // 5}
    newcomers = (
        people()
        .head(9)
        .with_columns(who=pl.lit("new ") + pl.col("who"), age=pl.lit(AGE, dtype=pl.Int64))
    )
    newcomers = newcomers.with_columns(ill=pl.lit(f"{MARKER} ill"), town=pl.lit(f"{MARKER} town"))
    assert series.publish(pl.concat([people(), newcomers])).suppressed_rows == {"not m-eligible": 9}
    assert found(tmp_path, MARKER) == []
    assert found(tmp_path, AGE) == []


def test_the_search_would_find_them(tmp_path: Path) -> None:
    """The search finds a marker in each of the places that common writers leave it in: plain,
    packed, in dictionaries, in metadata, as a number.
    """
    frame = with_unused_categories(people().drop("who", "notes"), "arrow")
    pq.write_table(
        frame.replace_schema_metadata(None), tmp_path / "dictionary.parquet", compression="zstd"
    )
    pq.write_table(frame.drop_columns(["town", "ward", "ill"]), tmp_path / "metadata.parquet")
    people().select("who").write_parquet(tmp_path / "packed.parquet", compression="zstd")
    noise = [f"{i * 7919 % 65536:04x}" * 9 for i in range(3000)]
    pl.DataFrame({"text": [*noise, f"a {MARKER}", *noise]}).write_parquet(
        tmp_path / "deep.parquet", compression="zstd"
    )
    pl.DataFrame({"age": [AGE]}).write_parquet(tmp_path / "number.parquet")
    (tmp_path / "wide.txt").write_bytes(f"{MARKER}".encode("utf-16-le"))
    assert sorted(found(tmp_path, MARKER)) == [
        "deep.parquet",
        "dictionary.parquet",
        "metadata.parquet",
        "packed.parquet",
        "wide.txt",
    ]
    assert f"a {MARKER}".encode() not in (tmp_path / "deep.parquet").read_bytes()
    assert found(tmp_path, AGE) == ["number.parquet"]


def test_the_seed_is_nowhere(tmp_path: Path) -> None:
    """A seed is in no file, as text or as a number; that there was one is in the manifest."""
    seed = 8_675_309_424_242
    series = Series(
        "s",
        schema=SCHEMA,
        method=MInvariance(m=2),
        to=tmp_path / "out",
        formats=("parquet", "csv"),
        seed=seed,
        report=REPORT,
    )
    made = series.publish(people())
    assert made.manifest.not_for_publication
    for number in (seed, seed + 1):
        assert found(tmp_path, number) == []
        assert found(tmp_path, f"{number:x}") == []


def test_the_source_is_nowhere(tmp_path: Path) -> None:
    """Neither the path of the folder nor that of the source is in what is handed out."""
    made = Series(
        "s",
        schema=SCHEMA,
        method=Mondrian(k=3),
        to=tmp_path / "out",
        formats=("parquet", "csv"),
        report=False,
    ).publish(people())
    assert found(made.path, tmp_path.name) == []
    assert found(made.path, "notes") == []
    assert found(made.path, "who") == []


CODES = Prefix((5, 3, 0))
TREE = Tree.of_mapping({"a": ["town 0", "town 1"]})


@pytest.mark.parametrize(
    ("change", "schema", "method"),
    [
        ({"age": [None] + [1] * (N - 1)}, {}, Mondrian(k=2)),
        ({"ill": [f"{MARKER}"] * N}, {}, MInvariance(m=2)),
        ({"ill": [f"{MARKER}"] * N}, {}, Mondrian(k=2, l=2)),
        ({"who": [f"{MARKER}"] * N}, {}, MInvariance(m=2)),
        ({"who": [None] * N}, {}, MInvariance(m=2)),
        ({"who": [f" {MARKER} {i}" for i in range(N)]}, {}, MInvariance(m=2)),
        ({"town": [f"{MARKER} {i}" for i in range(N)]}, {}, Mondrian(k=2)),
        ({"ward": [f"{MARKER} {i}" for i in range(N)]}, {}, Mondrian(k=2)),
        ({"town": [f"{MARKER}"] * N}, {"hierarchies": {"town": CODES}}, Mondrian(k=2)),
        ({"town": [f"{MARKER}"] * N}, {"hierarchies": {"town": TREE}}, Mondrian(k=2)),
        ({"age": [f"{MARKER}"] * N}, {"types": {"age": "numeric"}}, Mondrian(k=2)),
        ({"age": [f"{MARKER}"] * N}, {"types": {"age": "date"}}, Mondrian(k=2)),
        ({"more": [f"{MARKER}"] * N}, {}, Mondrian(k=2)),
        ({"town": [[f"{MARKER}"]] * N}, {}, Mondrian(k=2)),
        ({}, {}, Mondrian(k=1000)),
    ],
)
def test_errors_say_nothing_about_persons(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    change: dict[str, Any],
    schema: dict[str, Any],
    method: Any,
) -> None:
    """Whatever is wrong with a table: the error is one line, says no value of it, leaves nothing
    behind, and nothing is printed or logged.
    """
    caplog.set_level(logging.DEBUG)
    roles = {
        "identifier": "who",
        "quasi": ["age", "town"],
        "sensitive": "ill",
        "keep": ["ward"],
        "drop": ["notes"],
    } | schema
    frame = people().with_columns(
        **{name: pl.Series(values, strict=False) for name, values in change.items()}
    )
    with pytest.raises(PhalanxError) as caught:
        Series(
            "s", schema=Schema(**roles), method=method, to=tmp_path / "out", report=False
        ).publish(frame)
    said = str(caught.value) + "".join(capfd.readouterr()) + caplog.text
    assert MARKER not in said
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")
    assert found(tmp_path, MARKER) == []
    assert not (tmp_path / "out").exists() or list((tmp_path / "out").iterdir()) == []


def test_a_csv_holds_the_published_columns_alone(tmp_path: Path) -> None:
    """The header of the CSV file is that of the manifest, with no index before it."""
    made = Series(
        "s",
        schema=SCHEMA,
        method=Mondrian(k=3),
        to=tmp_path / "out",
        formats=("csv",),
        report=False,
    ).publish(with_unused_categories(people(), "pandas"))
    header = io.StringIO((made.path / "data.csv").read_text(encoding="utf-8")).readline().strip()
    assert header == "group,age_low,age_high,town_low,town_high,ill,ward"
