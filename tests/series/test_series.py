# SPDX-License-Identifier: Apache-2.0
"""From a table to a release that was checked: what is handed out, what is said, what is refused,
and a broken method that publishes nothing.
"""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from phalanx import (
    Bands,
    Intersection,
    Ledger,
    MInvariance,
    Mondrian,
    Release,
    Schema,
    Series,
    publish,
    verify,
)
from phalanx.data.microdata import Microdata
from phalanx.errors import (
    GuaranteeError,
    LedgerError,
    MethodError,
    NotEligible,
    PhalanxError,
    ReleaseError,
    SchemaError,
    SourceError,
)
from phalanx.methods.base import Draft, Memory
from phalanx.plan import Plan
from phalanx.randomness import Randomness
from phalanx.release.forms.generalized import Generalized
from phalanx.series.given import STEPS

SCHEMA = Schema(identifier="who", quasi=["age", "sex"], sensitive="ill")


def table(n: int = 40, first: int = 0) -> pl.DataFrame:
    every = range(first, first + n)
    return pl.DataFrame(
        {
            "who": list(every),
            "age": [20 + i % 9 for i in every],
            "sex": ["fm"[i % 2] for i in every],
            "ill": ["abcde"[i % 5] for i in every],
        }
    )


def series_in(to: Path, method: Any = None, **said: Any) -> Series:
    return Series(
        "s",
        **{
            "schema": SCHEMA,
            "method": method or MInvariance(m=2),
            "to": to / "out",
            "ledger": f"sqlite:///{to}/l.db",
            "report": False,
        }
        | said,
    )


def nothing_published(to: Path, releases: int = 0) -> None:
    """So many releases as before, in the ledger and in the folder, and nothing remembered of
    another.
    """
    with Ledger.open(f"sqlite:///{to}/l.db") as ledger:
        assert len(ledger.releases("s")) == releases
        assert ledger.groups("s", releases + 1) is None
        assert releases or not ledger.remembered("s")
    assert sorted(p.name for p in (to / "out").iterdir()) == [f"s-{i + 1}" for i in range(releases)]


def test_a_series_stays_where_it_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder and its ledger are those of the moment in which it was made, wherever a notebook
    goes afterwards.
    """
    monkeypatch.chdir(tmp_path)
    series = Series("s", SCHEMA, MInvariance(m=2), to="out", report=False)
    first = series.publish(table())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert series.publish(table()).path == tmp_path / "out" / "s-2"
    assert first.verify().holds and not [*Path().iterdir()]


@pytest.mark.parametrize("kind", ["pandas", "polars", "stream"])
def test_what_is_done_to_a_table_later_is_not_attacked(tmp_path: Path, kind: str) -> None:
    """Adversaries are played on the table as it was published: one that was changed in its place
    meanwhile is not looked at again, nor one that can be read only once.
    """
    arrow = table().to_arrow()
    given: Any = {
        "pandas": arrow.to_pandas,
        "polars": table,
        "stream": lambda: pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches()),
    }[kind]()
    series = series_in(tmp_path)
    series.publish(given)
    expected = series.attack(Intersection(), originals=[table()])
    if kind == "pandas":
        given.loc[:, "ill"] = "flu"
        given.loc[:, "age"] = 0
    elif kind == "polars":
        given[0, "ill"] = "flu"
        given.columns = ["a", "b", "c", "d"]
    assert series.attack(Intersection()) == expected


def test_a_tilde_is_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a plan, wherever a path is given: of what is read, of what is written, of the ledger;
    and a name that only begins with one is a name.
    """
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").mkdir()
    table().write_parquet("home/t.parquet")
    table().write_csv("home/t.csv")
    table().write_csv("~$t.csv")
    series = Series("s", SCHEMA, MInvariance(m=2), to="~/out", ledger=Path("~/l.db"), report=False)
    assert series.publish("~/t.parquet").path == tmp_path / "home" / "out" / "s-1"
    saved = publish("~/t.csv", SCHEMA, Mondrian(k=2)).save("~/once")
    saved.report("~/page.html", audience="external")
    assert verify("~/once").holds and Release.read("~/once").rows == 40
    assert publish("~$t.csv", SCHEMA, Mondrian(k=2)).rows == 40
    assert {p.name for p in tmp_path.iterdir()} == {"home", "~$t.csv"}
    assert {"once", "page.html", "l.db", "out"} < {p.name for p in (tmp_path / "home").iterdir()}


def test_what_publish_says(tmp_path: Path) -> None:
    """The release, its numbers, the checks it passed, the steps on the way, and the same as JSON
    with stable keys.
    """
    steps: list[str] = []
    made = series_in(tmp_path).publish(table(), progress=lambda step, *_: steps.append(step))
    assert (
        made.number,
        made.rows,
        made.groups,
        made.counterfeits,
        made.suppressed_rows,
        made.page,
    ) == (
        1,
        40,
        made.form.groups,
        0,
        {},
        None,
    )
    assert made.path == tmp_path / "out" / "s-1"
    assert steps == [step for step in STEPS if step in steps]
    assert "check" in steps
    said = json.loads(json.dumps(made.to_json()))
    assert list(said) == [
        "release", "number", "wave", "rows", "groups", "counterfeits", "registered", "suppressed_rows", "suppressed_values", "spent", "seconds", "report", "checks",
        "disclosed",
    ]  # fmt: skip
    assert all(
        set(check) == {"name", "bound", "worst", "holds", "note"} and check["holds"]
        for check in said["checks"]
    )
    assert made.seconds > 0
    assert Release.read(made.path).digest == made.digest


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "pyarrow"])
def test_the_same_kind_of_table_comes_out(tmp_path: Path, kind: str) -> None:
    """A published table is the kind of frame that came in."""
    given: Any = {
        "polars": table(),
        "lazy": table().lazy(),
        "pandas": table().to_pandas(),
        "pyarrow": table().to_arrow(),
    }[kind]
    out = series_in(tmp_path).publish(given).table
    assert (
        type(out)
        is {
            "polars": pl.DataFrame,
            "lazy": pl.LazyFrame,
            "pandas": pd.DataFrame,
            "pyarrow": pa.Table,
        }[kind]
    )
    assert list(
        out.collect_schema()
        if kind == "lazy"
        else out.column_names
        if kind == "pyarrow"
        else out.columns
    )[:2] == ["group", "age_low"]


def test_what_the_manifest_says(tmp_path: Path) -> None:
    """Each release names its predecessor, whether its boxes are tight, whom the promise covers, and
    that no seed was used.
    """
    series = series_in(tmp_path, MInvariance(m=2, min_width={"age": 4}, changed="new-record"))
    first, second = series.publish(table()), series.publish(table(50))
    said = second.manifest
    assert (
        said.number,
        said.previous,
        said.boxes,
        said.privacy_unit,
        said.not_for_publication,
    ) == (2, first.digest, "widened", "record", False)
    assert first.manifest.previous is None
    assert series_in(tmp_path / "b", Mondrian(k=2)).publish(table()).manifest.boxes == "tight"


def test_the_formats(tmp_path: Path) -> None:
    """The files are those of the formats, each once; none or an unknown one is refused before
    anything is read.
    """
    assert {
        p.name for p in series_in(tmp_path, formats=("csv", "csv")).publish(table()).path.iterdir()
    } == {"data.csv", "counterfeits.csv", "release.json"}
    for formats, what in (
        ((), "no format is named"),
        (("csv", "xlsx"), "format 'xlsx' is not one of parquet, csv"),
    ):
        with pytest.raises(SchemaError, match=what):
            series_in(tmp_path, formats=formats)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".hidden", "/abs", "a\x1b[31m", "a\u202eb"])
def test_names_that_are_no_folder(tmp_path: Path, name: str) -> None:
    """A series cannot be called what would leave its folder, or hide in it."""
    with pytest.raises(SchemaError, match="cannot be a folder's name"):
        Series(name, schema=SCHEMA, method=MInvariance(m=2), to=tmp_path)


@pytest.mark.parametrize("name", ["x" * 229, "é" * 114, "😀" * 57])
def test_the_longest_names(tmp_path: Path, name: str) -> None:
    """As many bytes as the longest of the folders' names leaves are published, with a page and a
    ledger beside, and verified; one more is refused before anything is made.
    """
    series = Series(name, SCHEMA, MInvariance(m=2), to=tmp_path / "out")
    assert [series.publish(table()).number for _ in range(2)] == [1, 2]
    assert series.verify().holds
    with pytest.raises(SchemaError, match="bytes, and 229 fit into the names of its folders"):
        Series(name + "é", SCHEMA, MInvariance(m=2), to=tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["out"]


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "\ud800"])
def test_names_that_the_system_refuses(tmp_path: Path, name: str) -> None:
    """Names with NUL, too long, or that are no text: one sentence."""
    with pytest.raises(PhalanxError):
        Series(
            name,
            schema=SCHEMA,
            method=MInvariance(m=2),
            to=tmp_path / "out",
            ledger=f"sqlite:///{tmp_path}/l.db",
            report=False,
        ).publish(table())


def test_m_invariance_needs_persons(tmp_path: Path) -> None:
    """A method that follows persons asks for an identifier before it reads anything."""
    with pytest.raises(
        SchemaError,
        match="m-invariance follows persons through the releases and no identifier is declared",
    ):
        series_in(tmp_path, schema=Schema(quasi=["age", "sex"], sensitive="ill", drop=["who"]))
    assert (
        series_in(
            tmp_path,
            Mondrian(k=2),
            schema=Schema(quasi=["age", "sex"], sensitive="ill", drop=["who"]),
        )
        .publish(table())
        .number
        == 1
    )


BAD: dict[str, tuple[Any, type[PhalanxError], str]] = {
    "no rows": (table().clear(), SourceError, "the table has no rows"),
    "one row": (table(1, first=100), NotEligible, "share one value of .ill."),
    "all rows equal": (
        table(first=100).with_columns(age=1, sex=pl.lit("f"), ill=pl.lit("a")),
        NotEligible,
        "share one value of 'ill'",
    ),
    "a person twice": (
        pl.concat([table(), table(1)]),
        SourceError,
        "1 row\\(s\\) repeat a person in identifier column 'who'",
    ),
    "a column missing": (
        table().drop("age"),
        SchemaError,
        "the quasi column 'age' is not in the table",
    ),
    "a column without a role": (
        table().with_columns(zip=1),
        SchemaError,
        "column\\(s\\) 'zip' have no role",
    ),
    "a missing value": (
        table().with_columns(age=pl.when(pl.col("who") > 3).then("age")),
        SourceError,
        "column 'age' is missing in 4 of 40 rows",
    ),
    "no table": ([1, 2], SourceError, "list is not a table"),
}


@pytest.mark.parametrize(("given", "error", "what"), BAD.values(), ids=BAD.keys())
def test_tables_that_cannot_be_published(
    tmp_path: Path, given: Any, error: type[PhalanxError], what: str
) -> None:
    """One sentence, and neither folder nor ledger knows of it; the next publish goes on as if
    nothing had been.
    """
    series = series_in(tmp_path)
    series.publish(table())
    with pytest.raises(error, match=what):
        series.publish(given)
    nothing_published(tmp_path, 1)
    assert series.publish(table()).number == 2


def test_a_series_that_has_begun_lowers_nothing(tmp_path: Path) -> None:
    """No refusal advises to promise less without saying that it cannot be."""
    frequent = table(first=100).with_columns(ill=pl.Series(["a"] * 16 + ["b", "c", "d", "e"] * 6))
    for begun in (False, True):
        series = series_in(tmp_path / str(begun), MInvariance(m=3))
        if begun:
            series.publish(table())
        with pytest.raises(NotEligible) as refused:
            series.publish(frequent)
        assert ("lower m to at most 2" in str(refused.value)) is not begun
        assert ("at the source, or begin another series" in str(refused.value)) is begun


def test_values_that_changed(tmp_path: Path) -> None:
    """By default a changed value refuses the release, and says how many and what can be done."""
    series_in(tmp_path).publish(table())
    with pytest.raises(
        MethodError,
        match=r'10 person.* come with another value of .* another series with changed = "suppress"',
    ):
        series_in(tmp_path).publish(
            table().with_columns(ill=pl.when(pl.col("who") < 10).then(pl.lit("z")).otherwise("ill"))
        )
    nothing_published(tmp_path, 1)


def changing(kind: str, form: Generalized) -> Generalized:
    """What a method with a fault might publish in its second release."""
    rows, counts = form.table, form.counterfeits
    if kind == "signature":  # two groups' values exchanged
        values = {g: r["ill"].to_list() for (g,), r in rows.group_by("group", maintain_order=True)}
        a, b = next(
            (a, b)
            for a in values
            for b in values
            if a < b and len(values[a]) == len(values[b]) and not set(values[a]) & set(values[b])
        )
        values[a], values[b] = values[b], values[a]
        return Generalized(
            rows.with_columns(pl.Series("ill", [v for g in sorted(values) for v in values[g]])),
            form.attributes,
            counts,
        )
    if kind == "one value":
        first = rows.filter(pl.col("group") == 1)["ill"][0]
        return Generalized(
            rows.with_columns(
                ill=pl.when(pl.col("group") == 1).then(pl.lit(first)).otherwise("ill")
            ),
            form.attributes,
            counts,
        )
    if kind == "a row":
        return Generalized(rows[1:], form.attributes, counts)
    if kind == "a box":
        return Generalized(
            rows.with_columns(age_low=pl.int_range(pl.len()) - 1000), form.attributes, counts
        )
    if kind == "a count":
        return Generalized(rows, form.attributes, pl.DataFrame({"group": [1], "count": [1]}))
    return Generalized(
        rows.with_columns(pl.col("ill").cast(pl.Enum(["a", "b", "c", "d", "e", "UNUSED"]))),
        form.attributes,
        counts,
    )


WRONG = {
    "signature": "person\\(s\\) stand under more than one signature",
    "one value": "groups repeat a sensitive value",
    "a row": "fewer than 2 different values",
    "a box": "differ in quasi-identifiers from row to row",
    "a count": "another number of persons in the mapping than real rows",
    "a dictionary": "column 'ill' holds Enum",
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_broken_method_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """One wrong signature, value, row, box, count or dictionary: the check of the files refuses,
    nothing is published, nothing remembered.
    """
    series_in(tmp_path).publish(table())
    real = MInvariance.publish

    def broken(self: MInvariance, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        made = real(self, microdata, memory, rng)
        return replace(made, form=changing(kind, made.form))

    with monkeypatch.context() as patch:
        patch.setattr(MInvariance, "publish", broken)
        with pytest.raises(
            GuaranteeError,
            match=f"the check of the written files failed .*{WRONG[kind]}.*; nothing was published",
        ):
            series_in(tmp_path).publish(table(50))
    nothing_published(tmp_path, 1)
    assert series_in(tmp_path).publish(table(50)).number == 2
    assert verify(
        [tmp_path / "out" / f"s-{n}" for n in (1, 2)], ledger=f"sqlite:///{tmp_path}/l.db"
    ).holds


def test_the_mapping_of_a_broken_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that forgets whom it put where is caught as well, by the numbers of persons in the
    groups.
    """
    real = MInvariance.publish

    def broken(self: MInvariance, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        made = real(self, microdata, memory, rng)
        return Draft(
            form=made.form,
            groups=np.roll(np.where(np.arange(40) == 0, 0, made.groups), 0),
            remember=made.remember,
        )

    monkeypatch.setattr(MInvariance, "publish", broken)
    with pytest.raises(GuaranteeError, match="another number of persons in the mapping"):
        series_in(tmp_path).publish(table())
    nothing_published(tmp_path)


def test_a_folder_that_the_ledger_does_not_know(tmp_path: Path) -> None:
    """A folder of the next release's name that is not in the ledger is not overwritten."""
    (tmp_path / "out" / "s-1").mkdir(parents=True)
    (tmp_path / "out" / "s-1" / "mine").write_text("x")
    with pytest.raises(
        ReleaseError,
        match="s-1 exists and is not in the ledger, which may be older than it; use the one that",
    ):
        series_in(tmp_path).publish(table())
    assert (tmp_path / "out" / "s-1" / "mine").read_text() == "x"


def test_a_ledger_by_url_and_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is no URL is a path, as a Path is: all name one ledger."""
    monkeypatch.chdir(tmp_path)
    for number, place in enumerate(("l.db", Path("l.db"), f"sqlite:///{tmp_path}/l.db"), 1):
        assert series_in(tmp_path, ledger=place).publish(table()).number == number
    with pytest.raises(LedgerError, match="a ledger url starts with sqlite:/// or postgresql://"):
        series_in(tmp_path, ledger="mysql://l.db").publish(table())


def test_a_past_that_was_changed(tmp_path: Path) -> None:
    """Nothing follows on a release that is missing, or is not the one that the ledger recorded."""
    made = series_in(tmp_path).publish(table())
    other = series_in(tmp_path / "other").publish(table())
    made.path.rename(tmp_path / "kept")
    with pytest.raises(ReleaseError, match="s-1 is not a release folder"):
        series_in(tmp_path).publish(table())
    other.path.rename(made.path)
    with pytest.raises(
        ReleaseError,
        match="is not what the ledger recorded as release 1 of 's'; put the published folder back",
    ):
        series_in(tmp_path).publish(table())
    made.path.rename(tmp_path / "wrong")
    (tmp_path / "kept").rename(made.path)
    assert series_in(tmp_path).publish(table()).number == 2


def test_a_series_keeps_its_promise(tmp_path: Path) -> None:
    """Another m, another method or another schema is another series."""
    series_in(tmp_path).publish(table())
    for other in (MInvariance(m=3), Mondrian(k=2), MInvariance(m=2, remember=False)):
        with pytest.raises((LedgerError, GuaranteeError)):
            series_in(tmp_path, other).publish(table())
        nothing_published(tmp_path, 1)
    with pytest.raises((LedgerError, GuaranteeError)):
        series_in(
            tmp_path, schema=Schema(identifier="who", quasi=["age"], sensitive="ill", drop=["sex"])
        ).publish(table())
    nothing_published(tmp_path, 1)


BANDS = Schema(**vars(SCHEMA) | {"hierarchies": {"age": Bands([5])}})


@pytest.mark.parametrize(
    ("first", "then", "what"),
    [
        (BANDS, SCHEMA, "the hierarchy of column 'age' is not that of release 1, and a series"),
        (
            BANDS,
            Schema(**vars(SCHEMA) | {"hierarchies": {"age": Bands([5, 10])}}),
            "the hierarchy of column 'age' is not that of",
        ),
        (
            SCHEMA,
            Schema(**vars(SCHEMA) | {"not_applicable": ["a"]}),
            "what 'not_applicable' lists of column 'ill' is not what it was in release 1",
        ),
        (
            Schema(**vars(SCHEMA) | {"keep": ["ward"]}),
            SCHEMA,
            "column 'ward' is not published now and was in release 1",
        ),
        (
            SCHEMA,
            Schema(**vars(SCHEMA) | {"keep": ["ward"]}),
            "column 'ward' is published now and was not in release 1",
        ),
        (
            Schema(**vars(SCHEMA) | {"keep": ["ward", "room"]}),
            Schema(**vars(SCHEMA) | {"keep": ["room", "ward"]}),
            "the order of the columns is not that of release 1",
        ),
    ],
)
def test_what_is_published_otherwise_is_named(
    tmp_path: Path, first: Schema, then: Schema, what: str
) -> None:
    """A series keeps what it publishes, and says of which column it is not so, and why."""

    def given(schema: Schema) -> pl.DataFrame:
        rooms = table().with_columns(ward=pl.lit("w"), room=pl.lit("r"))
        return rooms.select([name for name in rooms.columns if schema.role(name)])

    series_in(tmp_path, schema=first).publish(given(first))
    with pytest.raises(SchemaError, match=what):
        series_in(tmp_path, schema=then).publish(given(then))
    nothing_published(tmp_path, 1)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """Where the folder is a file, one sentence says so."""
    (tmp_path / "out").write_text("x")
    with pytest.raises(ReleaseError, match=r"out cannot be written .*so make room or choose"):
        series_in(tmp_path).publish(table())


def test_too_many_open_files_are_no_fault_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither more room nor another folder would help."""

    def full(*_: Any) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("phalanx.series.staging.make_room", full)
    with pytest.raises(ReleaseError, match=r"so let a process open more files \(ulimit -n\)\.$"):
        series_in(tmp_path).publish(table())


def test_a_seed_repeats_everything_and_is_marked(tmp_path: Path) -> None:
    """The same seed gives the same bytes; the release says that it is not for publication, and
    releases of one series differ from each other.
    """
    paths = [series_in(tmp_path / name, seed=3).publish(table()).path for name in ("a", "b")]
    assert [(paths[0] / n).read_bytes() for n in ("data.parquet", "release.json")] == [
        (paths[1] / n).read_bytes() for n in ("data.parquet", "release.json")
    ]
    assert Release.read(paths[0]).manifest.not_for_publication
    assert not verify([paths[0]]).holds
    fresh = [series_in(tmp_path / name).publish(table()).path for name in ("c", "d")]
    assert (fresh[0] / "data.parquet").read_bytes() != (fresh[1] / "data.parquet").read_bytes()
    with pytest.raises(PhalanxError, match="the seed must be a whole number of at least 0"):
        series_in(tmp_path / "e", seed=-5).publish(table())


def test_the_operating_system_is_asked_once_per_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release without a seed takes its randomness from the secure door."""
    asked: list[bool] = []
    real = Randomness.secure
    monkeypatch.setattr(Randomness, "secure", lambda: asked.append(True) or real())
    monkeypatch.setattr(Randomness, "seeded", lambda _: pytest.fail("a seed was used"))
    series_in(tmp_path).publish(table())
    assert asked


def test_a_plan_is_a_series(tmp_path: Path) -> None:
    """A plan's file describes the same series as the arguments."""
    (tmp_path / "plan.toml").write_text(
        '[series]\nname = "s"\n[source]\npath = "t.csv"\n[schema]\nidentifier = "who"\nquasi ='
        ' ["age", "sex"]\nsensitive = "ill"\n[method]\nname = "m-invariance"\nm = 2\n[publish]\nto'
        ' = "out"\nformats = ["csv"]\n'
    )
    series = Plan.read(tmp_path / "plan.toml").series()
    assert (series.name, series.schema) == ("s", SCHEMA)
