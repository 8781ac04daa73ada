# SPDX-License-Identifier: Apache-2.0
"""A published release that anybody changes afterwards is refused, in words that name what is wrong;
the untouched one holds.
"""

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phalanx import MInvariance, Prefix, Schema, Series, Verification, verify
from phalanx.errors import ReleaseError
from phalanx.release.folder import Release, write_folder
from phalanx.release.forms.generalized import Generalized
from phalanx.release.manifest import NAME, Manifest, PublishedAttribute, digest

ILLNESSES = ("flu", "gout", "rash", "ulcer", "acne")
SCHEMA = Schema(
    identifier="who",
    quasi=["age", "zip"],
    sensitive="ill",
    keep=["ward"],
    hierarchies={"zip": Prefix((3, 2, 0))},
)
ISSUED = 3


def hospital() -> list[pl.DataFrame]:
    """Three tables: everybody; all who had a flu and some others, so that counterfeits are needed;
    and some who arrive and return.
    """
    everybody = pl.DataFrame({
        "who": [f"person {i}" for i in range(60)],
        "age": [20 + i * 7 % 25 for i in range(60)],
        "zip": [f"{300 + i * 13 % 90}" for i in range(60)],
        "ill": [ILLNESSES[i % 5] for i in range(60)],
        "ward": [f"ward {i % 3}" for i in range(60)],
    })  # fmt: skip
    first = everybody.head(40)
    return [
        first,
        first.filter((pl.col("ill") == "flu") | (pl.col("age") < 30)),
        pl.concat([first.filter(pl.col("ill") != "gout"), everybody.tail(20)]),
    ]


def issue(folder: Path, *, seed: int | None = None) -> list[Path]:
    series = Series(
        "ward",
        schema=SCHEMA,
        method=MInvariance(m=2),
        to=folder,
        ledger=f"sqlite:///{folder}/ward.db",
        formats=("parquet", "csv"),
        seed=seed,
        report=False,
    )
    return [series.publish(table).path for table in hospital()]


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return issue(tmp_path_factory.mktemp("issued"))


@pytest.fixture
def folders(issued: list[Path], tmp_path: Path) -> list[Path]:
    return [Path(shutil.copytree(path, tmp_path / path.name)) for path in issued]


def url_of(issued: list[Path]) -> str:
    return f"sqlite:///{issued[0].parent}/ward.db"


def refusal(folders: list[Path], ledger: str) -> str:
    """What is said against the folders; empty where they hold."""
    try:
        checks = verify(folders, ledger=ledger).checks
    except ReleaseError as error:
        return str(error)
    return " | ".join(f"{v.name}: {v.note}" for v in checks if not v.holds)


def flip(name: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        content = bytearray((path / name).read_bytes())
        content[len(content) // 2] ^= 1
        (path / name).write_bytes(content)

    return change


def said(**changes: Any) -> Callable[[Path], None]:
    """Edit the manifest, in its canonical form; a function is called with the old value."""

    def change(path: Path) -> None:
        manifest = json.loads((path / NAME).read_bytes())
        for key, value in changes.items():
            manifest[key] = value(manifest[key]) if callable(value) else value
        (path / NAME).write_bytes(
            (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
        )

    return change


def again(change: Callable[[Generalized], Generalized]) -> Callable[[Path], None]:
    """Change the form and write the whole folder again, with counts and digests that fit."""

    def rewrite(path: Path) -> None:
        old = Release.read(path)
        shutil.rmtree(path)
        path.mkdir()
        own = {
            "form",
            "attributes",
            "rows",
            "groups",
            "counterfeits",
            "registered",
            "files",
            "format",
        }
        write_folder(
            path, change(old.form), ("parquet", "csv"), **old.manifest.model_dump(exclude=own)
        )

    return rewrite


def in_table(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Path], None]:
    return again(lambda form: Generalized(change(form.table), form.attributes, form.counterfeits))


def in_counts(
    change: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame],
) -> Callable[[Path], None]:
    return again(
        lambda form: Generalized(form.table, form.attributes, change(form.counterfeits, form.table))
    )


def bytes_of(name: str, content: Callable[[Path], bytes]) -> Callable[[Path], None]:
    """Put other bytes in a file, with the right digest in the manifest."""

    def change(path: Path) -> None:
        (path / name).write_bytes(content(path))
        manifest = Manifest.from_bytes((path / NAME).read_bytes(), path)
        files = [
            f.model_copy(update={"sha256": digest((path / f.name).read_bytes())})
            for f in manifest.files
        ]
        (path / NAME).write_bytes(manifest.model_copy(update={"files": files}).to_bytes())

    return change


def parquet(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    def content(path: Path) -> bytes:
        buffer = io.BytesIO()
        pq.write_table(change(pq.read_table(path / "data.parquet")), buffer)
        return buffer.getvalue()

    return bytes_of("data.parquet", content)


def dictionary(table: pa.Table) -> pa.Table:
    values = pa.array(
        [*table["ill"].to_pylist(), "a value that was suppressed"]
    ).dictionary_encode()
    return table.set_column(table.column_names.index("ill"), "ill", values.slice(0, table.num_rows))


def as_enum(path: Path) -> bytes:
    buffer = io.BytesIO()
    pl.read_parquet(path / "data.parquet").with_columns(
        pl.col("ill").cast(pl.Enum([*ILLNESSES, "SECRET"]))
    ).write_parquet(buffer, statistics=False)
    return buffer.getvalue()


def first_row_of_group(table: pl.DataFrame) -> pl.Expr:
    return pl.int_range(pl.len()) == table["group"].search_sorted(2)


def repeat_a_value(table: pl.DataFrame) -> pl.DataFrame:
    first = table.filter(pl.col("group") == 1)["ill"][0]
    return table.with_columns(
        ill=pl.when(pl.col("group") == 1).then(pl.lit(first)).otherwise("ill")
    )


def swap_values(table: pl.DataFrame) -> pl.DataFrame:
    """Exchange the values of two groups of equal size and different signatures."""
    values = {
        g: rows["ill"].to_list() for (g,), rows in table.group_by("group", maintain_order=True)
    }
    a, b = next(
        (a, b)
        for a in values
        for b in values
        if a < b and len(values[a]) == len(values[b]) and not set(values[a]) & set(values[b])
    )
    values[a], values[b] = values[b], values[a]
    return table.with_columns(pl.Series("ill", [v for g in sorted(values) for v in values[g]]))


def merge_groups(table: pl.DataFrame) -> pl.DataFrame:
    last = table["group"].max()
    box = table.filter(pl.col("group") == 1).row(0, named=True)
    here = pl.col("group") == last
    ends = [
        pl.when(here).then(pl.lit(box[c])).otherwise(pl.col(c)).alias(c)
        for c in ("age_low", "age_high", "zip", "zip_low", "zip_high")
    ]
    return table.with_columns(*ends, group=pl.when(here).then(1).otherwise("group")).sort(
        "group", maintain_order=True
    )


def with_a_column(form: Generalized) -> Generalized:
    extra = PublishedAttribute(name="note", role="keep", type="categorical", columns=["note"])
    return Generalized(
        form.table.with_columns(note=pl.lit("x")), (*form.attributes, extra), form.counterfeits
    )


def renamed(path: Path) -> None:
    (path / "data.csv").rename(path / "table.csv")


def a_folder_for_a_file(path: Path) -> None:
    (path / "data.csv").unlink()
    (path / "data.csv").mkdir()


def written(name: str, text: str) -> Callable[[Path], None]:
    return lambda path: (path / name).write_text(text) and None


def bytes_said(old: str, new: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        content = (path / NAME).read_bytes()
        assert old.encode() in content
        (path / NAME).write_bytes(content.replace(old.encode(), new.encode("latin-1"), 1))

    return change


LAST: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a byte of the Parquet file": (flip("data.parquet"), "the file data.parquet was changed after it was published"),
    "a byte of the CSV file": (flip("data.csv"), "the file data.csv was changed"),
    "a byte of the counterfeits": (flip("counterfeits.parquet"), "the file counterfeits.parquet was changed"),
    "a file removed": (lambda p: (p / "data.csv").unlink(), "the file data.csv is missing"),
    "a file added": (written("notes.txt", "x"), "the file notes.txt is not part of the release"),
    "a hidden file added": (written(".DS_Store", "x"), "the file .DS_Store is not part of the release"),
    "a folder added": (lambda p: (p / "more").mkdir(), "more is not part of the release"),
    "a file renamed": (renamed, "the file data.csv is missing"),
    "a file that is a folder": (a_folder_for_a_file, "data.csv is not a file"),
    "the manifest removed": (lambda p: (p / NAME).unlink(), "is not a release folder"),
    "the manifest cut off": (lambda p: (p / NAME).write_bytes((p / NAME).read_bytes()[:-20]), "the manifest is not valid"),
    "the manifest not UTF-8": (bytes_said('"ward"', '"w\xe9rd"'), "the manifest is not valid"),
    "the manifest written otherwise": (bytes_said('"number": 3', '"number":  3'), "not in the form in which it was published"),
    "a key twice": (bytes_said('"number": 3', '"number": 7,\n "number": 3'), "not in the form in which it was published"),
    "rows": (said(rows=lambda n: n + 1), "rows and the files hold"),
    "groups": (said(groups=lambda n: n - 1), "groups and the files hold"),
    "counterfeits": (said(counterfeits=lambda n: n + 2), "counterfeits and the files hold"),
    "a negative count": (said(rows=-1), "the manifest is not valid at rows"),
    "a count as text": (said(rows="51"), "the manifest is not valid at rows"),
    "number": (said(number=4), "release 4 follows on release 2"),
    "series": (said(series="other"), "the releases are of different series (other, ward)"),
    "previous": (said(previous="0" * 64), "release 2 is not the one that release 3 was published after"),
    "no previous": (said(previous=None), "release 3 does not name the release before it"),
    "m raised": (said(guarantees=[{"name": "m-invariance", "m": 3}]), "the method says m = 2 and the promise m-invariance says 3"),
    "m raised everywhere": (said(guarantees=[{"name": "m-invariance", "m": 3}], method=lambda x: x | {"m": 3}), "groups hold fewer than 3 different values"),
    "m lowered": (said(guarantees=[{"name": "m-invariance", "m": 1}]), "the method says m = 2 and the promise m-invariance says 1"),
    "m lowered everywhere": (said(guarantees=[{"name": "m-invariance", "m": 1}], method=lambda x: x | {"m": 1}), "is not the one that the ledger recorded"),
    "m of no sense": (said(guarantees=[{"name": "m-invariance", "m": "2"}]), "the manifest promises m-invariance with a wrong parameter"),
    "the promise removed": (said(guarantees=[]), "the manifest promises nothing"),
    "an unknown promise": (said(guarantees=[{"name": "m-invarianc", "m": 2}]), "which no check is known for; did you mean 'm-invariance'?"),
    "an unknown parameter of a promise": (said(guarantees=[{"name": "m-invariance", "m": 2, "n": 1}]), "with an unknown parameter 'n'"),
    "a promise without its parameter": (said(guarantees=[{"name": "m-invariance"}]), "without its parameter 'm'"),
    "an unknown key": (said(colour="red"), "the manifest is not valid at colour"),
    "an unknown format": (said(format="phalanx-release-9"), "the manifest is not valid at format"),
    "the method's parameters": (said(method=lambda x: x | {"remember": False}), "is not the one that the ledger recorded"),
    "per record instead of per person": (said(privacy_unit="record"), "is not the one that the ledger recorded"),
    "a seed": (said(not_for_publication=True), "it was made with a seed"),
    "a file outside of the folder": (said(files=lambda f: [f[0] | {"name": "../data.csv"}, *f[1:]]), "names files that no release has"),
    "a file named twice": (said(files=lambda f: [f[0], *f]), "names files that no release has"),
    "no data file": (said(files=[]), "is not part of the release"),
    "a row dropped": (in_table(lambda t: t[1:]), "another number of persons in the mapping than real rows"),
    "a row dropped, seen without the ledger": (in_table(lambda t: t[1:]), "groups hold fewer than 2 different values"),
    "a row doubled": (in_table(lambda t: pl.concat([t.head(1), t])), "groups repeat a sensitive value"),
    "a sensitive value": (in_table(repeat_a_value), "groups repeat a sensitive value"),
    "a sensitive value removed": (in_table(lambda t: t.with_columns(ill=pl.lit(None, dtype=pl.String))), "groups repeat a sensitive value"),
    "values of two groups exchanged": (in_table(swap_values), "person(s) stand under more than one signature"),
    "groups merged": (in_table(merge_groups), "into groups that are not in the data"),
    "an interval in one row": (
        in_table(lambda t: t.with_columns(age_low=pl.when(first_row_of_group(t)).then(0).otherwise("age_low"))),
        "differ in quasi-identifiers from row to row (column 'age_low')",
    ),
    "ends crossed": (in_table(lambda t: t.with_columns(age_low=pl.col("age_high") + 1)), "interval(s) of 'age' end before they begin"),
    "a node that does not cover": (in_table(lambda t: t.with_columns(zip=pl.lit("99*"))), "node(s) of 'zip' do not cover their interval"),
    "no group": (in_table(lambda t: t.with_columns(group=pl.when(pl.col("group") > 1).then("group"))), "row(s) have no group"),
    "a gap in the groups": (in_table(lambda t: t.with_columns(group=pl.col("group") + (pl.col("group") > 3))), "the groups are not numbered 1 to"),
    "groups that are no whole numbers": (in_table(lambda t: t.with_columns(pl.col("group").cast(pl.Float64))), "the group column does not hold whole numbers"),
    "a column added": (in_table(lambda t: t.with_columns(id=pl.int_range(pl.len()))), "the columns of data are not those of the manifest"),
    "a column removed": (in_table(lambda t: t.drop("age_high")), "the columns of data are not those of the manifest"),
    "a column added and declared": (again(with_a_column), "its attributes are not those of the release before it"),
    "another type": (in_table(lambda t: t.with_columns(pl.col("age_low").cast(pl.String))), "column 'age_low' holds String and is declared numeric"),
    "another count of counterfeits": (in_counts(lambda c, _: c.with_columns(pl.col("count") + 1)), "would consist of counterfeits alone"),
    "counterfeits in another group": (
        in_counts(lambda c, t: c.with_columns(group=pl.Series([g for g in t["group"].unique().sort() if g not in set(c["group"])][: c.height]))),
        "another number of persons in the mapping than real rows",
    ),
    "no counterfeits": (in_counts(lambda c, _: c.clear()), "another number of persons in the mapping than real rows"),
    "no table of counterfeits": (again(lambda form: Generalized(form.table, form.attributes, None)), "another number of persons in the mapping than real rows"),
    "counterfeits in no group": (in_counts(lambda c, _: c.with_columns(pl.col("group") + 1000)), "name a group that is not in the data"),
    "a group counted twice": (in_counts(lambda c, _: pl.concat([c, c])), "group(s) are counted twice in the counterfeit counts"),
    "a count of nobody": (in_counts(lambda c, _: c.with_columns(pl.col("count") * 0)), "counterfeit count(s) are not positive"),
    "CSV that tells something else": (
        bytes_of("data.csv", lambda p: (p / "data.csv").read_bytes().replace(b"rash", b"acne", 1)),
        "data.parquet and data.csv do not say the same",
    ),
    "counterfeits that differ in CSV": (bytes_of("counterfeits.csv", lambda _: b"group,count\n"), "counterfeits.csv do not say the same"),
    "a dictionary of unused values": (parquet(dictionary), "column 'ill' is dictionary-encoded, which keeps values that no row has"),
    "an enumeration": (bytes_of("data.parquet", as_enum), "column 'ill' holds Enum"),
    "metadata in the footer": (parquet(lambda t: t.replace_schema_metadata({"source": "/home/ann/all.csv"})), "its footer holds metadata beside"),
    "metadata of a column": (
        parquet(lambda t: t.cast(pa.schema([f.with_metadata({"was": "x"}) if f.name == "ill" else f for f in t.schema]))),
        "column 'ill' carries metadata of its own",
    ),
    "a decimal": (in_table(lambda t: t.with_columns(pl.col("age_low").cast(pl.Decimal(20, 2)))), "the data file cannot be read as the manifest describes it"),
    "a file that is no Parquet": (bytes_of("data.parquet", lambda _: b"PAR1 not at all PAR1"), "the data file cannot be read as the manifest describes it"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "what"), LAST.values(), ids=LAST.keys())
def test_a_changed_release_is_refused(
    issued: list[Path], folders: list[Path], change: Callable[[Path], None], what: str
) -> None:
    """Whatever is changed in the last folder of a series, what is wrong is named."""
    change(folders[-1])
    assert what in refusal(folders, url_of(issued))


def test_the_untouched_series_holds(issued: list[Path], folders: list[Path]) -> None:
    """Without a change all checks hold, in whatever order the folders are named: what refuses the
    others is the change.
    """
    assert refusal(folders, url_of(issued)) == ""
    checks: Verification = verify([folders[2], folders[0], folders[1]], ledger=url_of(issued))
    assert checks.holds
    assert sum(v.note.startswith("the manifest is the one") for v in checks.checks) == ISSUED
    assert [Release.read(p).manifest.counterfeits > 0 for p in folders] == [False, True, True]


@pytest.mark.parametrize(
    "tool",
    [
        said(),
        again(lambda form: form),
        in_table(lambda t: t),
        bytes_of("data.csv", lambda p: (p / "data.csv").read_bytes()),
    ],
)
def test_writing_the_same_again_changes_nothing(
    folders: list[Path], tool: Callable[[Path], None]
) -> None:
    """The tools of these tests themselves are not what is refused: a folder read and written again
    is byte for byte the same.
    """
    before = {p.name: p.read_bytes() for p in folders[-1].iterdir()}
    tool(folders[-1])
    assert {p.name: p.read_bytes() for p in folders[-1].iterdir()} == before


def test_releases_exchanged(issued: list[Path], folders: list[Path]) -> None:
    """Two releases that exchange their numbers break the chain."""
    said(number=3)(folders[1])
    said(number=2)(folders[2])
    found = refusal(folders, url_of(issued))
    assert "release 1 is not the one that release 2 was published after" in found
    assert "release 2 is not the one that release 3 was published after" in found


def test_an_earlier_release_replaced(
    issued: list[Path], folders: list[Path], tmp_path: Path
) -> None:
    """An earlier release replaced by another one of the same table and number breaks the chain
    after it, with and without the ledger.
    """
    other = issue(tmp_path / "other")
    assert "release 2 is not the one that release 3 was published after" in refusal(
        [folders[0], other[1], folders[2]], url_of(issued)
    )
    checks = verify([folders[0], other[1], folders[2]]).checks
    assert any("release 2 is not the one" in v.note for v in checks if not v.holds)


def test_an_earlier_release_changed(issued: list[Path], folders: list[Path]) -> None:
    """A change to the first release, with all digests made to fit, shows in the second."""
    in_table(swap_values)(folders[0])
    assert "release 1 is not the one that release 2 was published after" in refusal(
        folders, url_of(issued)
    )


def test_a_release_missing_or_named_twice(issued: list[Path], folders: list[Path]) -> None:
    """A series with a hole, or with a folder named twice, is not checked as if it were whole."""
    assert "the releases between them are missing" in refusal(
        [folders[0], folders[2]], url_of(issued)
    )
    assert "one release is given twice" in refusal([*folders, folders[1]], url_of(issued))


def test_a_first_release_with_a_past(issued: list[Path], folders: list[Path]) -> None:
    """The first release follows on none."""
    said(previous="0" * 64)(folders[0])
    assert "the first release names a release before it" in refusal(folders[:1], url_of(issued))


def test_a_seeded_series_is_refused_unless_asked(tmp_path: Path) -> None:
    """A release made with a seed says so in its manifest, and is accepted only where that is asked
    for.
    """
    paths = issue(tmp_path / "seeded", seed=7)
    ledger = f"sqlite:///{tmp_path}/seeded/ward.db"
    assert Release.read(paths[0]).manifest.not_for_publication
    assert "an adversary who guesses the seed" in refusal(paths, ledger)
    assert verify(paths, ledger=ledger, allow_seeded=True).holds
