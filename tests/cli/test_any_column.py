# SPDX-License-Identifier: Apache-2.0
"""Columns of any name and of any type: each way to publish, from each kind of source, does all that
is asked of it, or refuses the table in one sentence.
"""

import datetime as dt
import json
import sqlite3
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import phalanx as px
from phalanx.errors import PhalanxError

N = 48
NAMES = {
    "star": "*", "pattern": "^a$", "none": "", "blank": " ", "quotes": " a\"b'c ", "lines": "first\r\nsecond", "dot": "a.b", "backslash": "a\\b{x}%s",
    "two signs": "a\u0308", "emoji": "👩‍⚕️", "long": "x" * 3000, "group": "group", "low": "zip_low", "count": "count", "row": "row", "option": "--help",
    "markup": "<b>[red]", "formula": "=1+1", "case": "ZIP", "word": "select", "null": "null", "mark": "\ufeffa", "nul": "a\0b",
}  # fmt: skip
METHODS = {
    "mondrian": {"k": 4, "l": 2}, "anatomy": {"l": 2}, "m-invariance": {"m": 2}, "global-guarantee": {"l": 2, "protect": ["a"]},
    "slicing": {"l": 2, "columns": 2}, "mutual-cover": {"delta": "1/4"}, "safe-sampling": {"epsilon": 2, "delta": 0.1, "allow_empty": True},
}  # fmt: skip
KEEPS = {"mondrian", "m-invariance", "global-guarantee"}
READERS = ("csv", "parquet", "arrow", "sqlite")
ROLES = ("quasi", "sensitive", "identifier", "keep")


def cases(*lists: Iterable[str]) -> list[Any]:
    """All combinations, each with a role; from one to the next it is another one."""
    found = []
    for numbered in product(*map(list, map(enumerate, lists))):
        words = [word for _, word in numbered]
        role = ROLES[sum(number for number, _ in numbered) % len(ROLES)]
        found.append(pytest.param(*words, role, id="-".join((*words, role))))
    return found


def table(role: str, name: str, values: list[Any] | pa.Array | None = None) -> pa.Table:
    """People, of whom the column of a role has a name; or values, too."""
    columns = {
        "identifier": [f"p{i}" for i in range(N)],
        "quasi": [20 + i * 7 % 40 for i in range(N)],
        "zip": [10000 + i * 131 % 29 for i in range(N)],
        "sensitive": ["abcd"[i % 4] for i in range(N)],
        "keep": [i % 3 for i in range(N)],
    }
    if values is not None:
        columns[role] = values
    return pa.table(list(columns.values()), names=[name if c == role else c for c in columns])


def schema(role: str, name: str, method: str) -> dict[str, Any]:
    """The roles, of which one has a name; a column that a method cannot keep is dropped."""
    named = {c: name if c == role else c for c in ROLES}
    keep = "keep" if method in KEEPS else "drop"
    return {
        "identifier": named["identifier"],
        "quasi": [named["quasi"], "zip"],
        "sensitive": named["sensitive"],
        keep: [named["keep"]],
    }


def parameters(method: str, quasi: str) -> dict[str, Any]:
    """A method's, those that name columns among them."""
    age, zip_ = {"low": 0, "high": 100, "width": 50}, {"low": 0, "high": 20000, "width": 10000}
    scheme = {"scheme": {quasi: age, "zip": zip_}} if method == "safe-sampling" else {}
    return {"name": method} | METHODS[method] | scheme


def toml(value: Any) -> str:
    """A value in a line of TOML; its texts are written as JSON writes them."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def write(content: pa.Table, reader: str) -> dict[str, str]:
    """Write a table, and say where: the source of a plan."""
    if reader == "sqlite":
        with sqlite3.connect("t.db") as connection:
            columns = ", ".join('"' + c.replace('"', '""') + '"' for c in content.column_names)
            connection.execute(f"CREATE TABLE t ({columns})")
            marks = ", ".join("?" * content.num_columns)
            connection.executemany(
                f"INSERT INTO t VALUES ({marks})", zip(*content.to_pydict().values(), strict=True)
            )
        connection.close()
        return {"url": "sqlite:///t.db", "query": "select * from t"}
    path = f"t.{reader}"
    if reader == "csv":
        pa.csv.write_csv(content, path)
    elif reader == "parquet":
        pa.parquet.write_table(content, path)
    else:
        with pa.ipc.new_file(path, content.schema) as file:
            file.write_table(content)
    return {"path": path}


def sentence(said: Any) -> None:
    """It worked and said nothing else, or it was refused in a sentence or two."""
    assert said.code in {0, 1, 2}, said.err
    if said.code == 2 or said.err:
        assert said.err.endswith(".\n"), said.err
        assert "Traceback" not in said.err and len(said.err) < 7000
        assert said.err.count("\n") <= 2, said.err


def all_of_it(ward: Any, name: str, role: str, source: dict[str, str], method: str) -> None:
    """Publish, and if that is not refused: verify, attack, report, estimate, measure."""
    named = schema(role, name, method)
    sections = {
        "series": {"name": "ward"},
        "source": source,
        "schema": named,
        "method": parameters(method, named["quasi"][0]),
        "publish": {"to": "out", "formats": ["parquet", "csv"]},
    }
    lines = [
        line
        for section, entries in sections.items()
        for line in (f"[{section}]", *(f"{k} = {toml(v)}" for k, v in entries.items()))
    ]
    (ward.path / "plan.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    published = ward.publish()
    sentence(published)
    if published.code:
        assert not list(ward.path.glob("out/*"))
        return
    page = (ward.path / "out" / "reports" / "ward-1.html").read_text(encoding="utf-8")
    assert page.endswith("</html>")
    original = source.get("path", "t.parquet")
    beside = ("--original", original)
    verified = ward.call("verify", "out/ward-1", *beside, "--identifier", named["identifier"])
    assert verified.code == 0, verified.out + verified.err
    asked = '"' + named["quasi"][0].replace('"', '""') + '"'
    for words in (
        ("attack", "all", "out/ward-1", *beside),
        ("estimate", "out/ward-1", "count(*)"),
        ("estimate", "out/ward-1", f"count(*) where {asked} >= 30"),
        ("measure", "out/ward-1", *beside),
    ):
        sentence(ward.call(*words))


@pytest.mark.parametrize(("name", "reader", "method", "role"), cases(NAMES, READERS, METHODS))
def test_any_name(ward: Any, name: str, reader: str, method: str, role: str) -> None:
    """A name that Polars, SQL, a shell, HTML, TOML or we ourselves have a use for."""
    content = table(role, NAMES[name])
    try:
        source = write(content, reader)
    except (sqlite3.Error, ValueError) as error:
        pytest.skip(f"no such source can be made: {error}")
    if reader == "sqlite":
        write(content, "parquet")
    all_of_it(ward, NAMES[name], role, source, method)


def of(kind: str) -> pl.Series:
    """So many values of a type."""
    numbers = [20 + i * 7 % 5 for i in range(N)]
    days = [dt.datetime(2020, 1, 1 + n % 5, tzinfo=dt.UTC) for n in numbers]
    kinds: dict[str, Callable[[], pl.Series]] = {
        "int128": lambda: pl.Series([10**25 + n for n in numbers], dtype=pl.Int128),
        "small int128": lambda: pl.Series(numbers, dtype=pl.Int128),
        "uint64": lambda: pl.Series([2**63 + n for n in numbers], dtype=pl.UInt64),
        "decimal": lambda: pl.Series([Decimal(n) / 4 for n in numbers], dtype=pl.Decimal(10, 2)),
        "wide decimal": lambda: pl.Series([Decimal(f"{n}e20") for n in numbers]),
        "with a zone": lambda: pl.Series(days),
        "without a zone": lambda: pl.Series([day.replace(tzinfo=None) for day in days]),
        "date": lambda: pl.Series([day.date() for day in days]),
        "time": lambda: pl.Series([dt.time(n % 24) for n in numbers]),
        "duration": lambda: pl.Series([dt.timedelta(hours=n) for n in numbers]),
        "list": lambda: pl.Series([[n, n + 1] for n in numbers]),
        "list of texts": lambda: pl.Series([["a", "b"][: 1 + n % 2] for n in numbers]),
        "list of lists": lambda: pl.Series([[[n]] for n in numbers]),
        "struct": lambda: pl.Series([{"x": n} for n in numbers]),
        "array": lambda: pl.Series([[n, n] for n in numbers], dtype=pl.Array(pl.Int64, 2)),
        "binary": lambda: pl.Series([str(n).encode() for n in numbers]),
        "nulls": lambda: pl.Series([None] * N),
        "texts that are missing": lambda: pl.Series([None] * N, dtype=pl.String),
        "numbers that are missing": lambda: pl.Series([None] * N, dtype=pl.Int64),
        "one that is there": lambda: pl.Series([7] + [None] * (N - 1)),
        "boolean": lambda: pl.Series([n % 2 == 0 for n in numbers]),
        "categories": lambda: pl.Series(list(map(str, numbers)), dtype=pl.Categorical),
        "enum": lambda: pl.Series(["a", "b"] * (N // 2), dtype=pl.Enum(["a", "b"])),
        "nan": lambda: pl.Series([float("nan"), 1.5] * (N // 2)),
        "infinite": lambda: pl.Series([float("inf"), 1.5] * (N // 2)),
        "empty texts": lambda: pl.Series([""] * N),
    }
    return kinds[kind]().alias("x")


TYPES = (
    *("int128", "small int128", "uint64", "decimal", "wide decimal", "with a zone"),
    *("without a zone", "date", "time", "duration", "list", "list of texts", "list of lists"),
    *("struct", "array", "binary", "nulls", "texts that are missing", "numbers that are missing"),
    *("one that is there", "boolean", "categories", "enum", "nan", "infinite", "empty texts"),
)


@pytest.mark.parametrize(
    ("kind", "reader", "method", "role"), cases(TYPES, ("parquet", "arrow"), METHODS)
)
def test_any_type(ward: Any, kind: str, reader: str, method: str, role: str) -> None:
    """A type that a source may have and an attribute may not."""
    frame = pl.from_arrow(table(role, "x")).with_columns(of(kind))
    write_it = frame.write_parquet if reader == "parquet" else frame.write_ipc
    write_it(ward.path / f"t.{reader}")
    all_of_it(ward, "x", role, {"path": f"t.{reader}"}, method)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", TYPES)
def test_any_type_in_memory(kind: str, role: str, tmp_path: Path) -> None:
    """The same in Python, where no reader stands before it: a release, or an error of ours."""
    frame = pl.from_arrow(table(role, "x")).with_columns(of(kind))
    said = []
    methods = (
        *(px.Mondrian(k=4), px.Anatomy(l=2), px.MInvariance(m=2)),
        *(px.Slicing(l=2, columns=2), px.MutualCover(delta="1/4")),
    )
    for method in methods:
        try:
            release = px.publish(frame, px.Schema(**schema(role, "x", method.name)), method)
        except PhalanxError as refused:
            said.append(str(refused))
        else:
            assert release.verify().holds
            assert release.save(tmp_path / method.name).path.is_dir()
    assert all(words.endswith(".") and words.count(". ") <= 1 for words in said), said
    assert not any("ask the publisher" in words for words in said), "that is us"


def test_a_name_with_a_comma_is_named_as_it_is(ward: Any) -> None:
    """As itself where the table has it; else commas part names."""
    pl.DataFrame({"a": [1, 1], "b": [1, 2], "a,b": [1, 1]}).write_csv(ward.path / "commas.csv")
    for asked, k in (("a,b", [2]), ("b,a", [1]), ("a,b,a", [])):
        said = ward.call("verify", "commas.csv", "--quasi", asked, "--json")
        checks = json.loads(said.out).get("checks", [])
        assert [check["worst"] for check in checks if check["name"] == "k"] == k, asked
