# SPDX-License-Identifier: Apache-2.0
"""Checking what was published: with the ledger, with original tables, or with nothing but
somebody's file.
"""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx import (
    Anatomy,
    Bands,
    GlobalGuarantee,
    MInvariance,
    Mondrian,
    Prefix,
    Release,
    Schema,
    Series,
    Slicing,
    Tree,
    Verification,
    publish,
    verify,
)
from phalanx.errors import LedgerError, PhalanxError, PlanError, ReleaseError, SchemaError
from phalanx.methods.base import Method
from phalanx.methods.mutual_cover.method import MutualCover
from phalanx.verification import gather_evidence, read_releases, schema_of, verify_table
from support.tampering_cases import written

JOBS = Tree.of_mapping({"care": ["nurse", "doctor"], "craft": ["baker", "smith"]})
SCHEMA = Schema(
    identifier="who", quasi=["age", "zip", "job", "pay", "born"], sensitive="ill", keep=["ward"], drop=["notes"],
    hierarchies={"zip": Prefix((3, 2, 0)), "job": JOBS, "pay": Bands((10, 100))}, types={"born": "date"}, missing="value",
)  # fmt: skip


def table(n: int = 40) -> pl.DataFrame:
    jobs = [path[0] for path in JOBS.paths]
    return pl.DataFrame({
        "who": range(n), "age": [20 + i % 9 for i in range(n)], "zip": [f"{300 + i % 7}" for i in range(n)], "job": [jobs[i % 4] for i in range(n)],
        "pay": [i * 7 % 50 for i in range(n)], "born": [f"19{50 + i % 40}-01-02" if i % 11 else None for i in range(n)],
        "ill": ["abcde"[i % 5] for i in range(n)], "ward": [f"w{i % 3}" for i in range(n)], "notes": [[i] for i in range(n)],
    })  # fmt: skip


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("issued")
    series = Series(
        "s",
        schema=SCHEMA,
        method=MInvariance(m=2),
        to=to,
        ledger=f"sqlite:///{to}/l.db",
        report=False,
    )
    for n in (40, 60):
        series.publish(table(n))
    return to


def folders(issued: Path) -> list[Path]:
    return [issued / "s-1", issued / "s-2"]


def not_checked(found: Verification) -> list[str]:
    return sorted(
        {v.name.split(": ", 1)[1] for v in found.checks if v.note.startswith("not checked")}
    )


def test_from_the_files_alone(issued: Path) -> None:
    """What only the ledger or the original tables could show is said not to be checked; all else
    holds.
    """
    found = verify(folders(issued))
    assert found.holds
    assert not_checked(found) == [
        f"m-invariance: {part}"
        for part in ("candidate sets by box", "persons and groups", "signatures by person")
    ]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda path: (path / "names.txt").write_text("person 1"), "names.txt is not part of"),
        (lambda path: (path / "release.json").unlink(), "is not a release folder"),
        (
            lambda path: shutil.copy(path.parent / "s-2" / "release.json", path),
            "is missing|changed",
        ),
        (lambda path: shutil.copytree(path.parent / "s-2", path, dirs_exist_ok=True), "was read"),
    ],
)
def test_a_folder_that_changed_since_it_was_read(
    issued: Path, tmp_path: Path, change: Callable[[Path], Any], what: str
) -> None:
    """A release that was read before is compared with all of its folder as it is now."""
    for path in folders(issued):
        shutil.copytree(path, tmp_path / path.name)
    release = Release.read(tmp_path / "s-1")
    assert verify(release).holds
    change(release.path)
    with pytest.raises(ReleaseError, match=what):
        verify(release)


def test_with_all_the_evidence(issued: Path, tmp_path: Path) -> None:
    """With the ledger and the original tables, as frames or as files, with columns of any kind
    beside, everything is checked.
    """
    ledger = f"sqlite:///{issued}/l.db"
    table(60).drop("notes").write_parquet(tmp_path / "second.parquet")
    for originals in (
        [table(40), table(60)],
        [table(40).to_pandas(), tmp_path / "second.parquet"],
        [table(40).to_arrow(), str(tmp_path / "second.parquet")],
    ):
        found = verify(folders(issued), ledger=ledger, originals=originals, identifier="who")
        assert found.holds, [v for v in found.checks if not v.holds]
        assert not_checked(found) == []
        assert sum("recorded in the ledger" in v.name for v in found.checks) == 2


def test_originals_without_the_ledger(issued: Path) -> None:
    """Original tables alone show the public view."""
    found = verify(folders(issued), originals=[table(40), table(60)], identifier="who")
    assert found.holds
    assert not_checked(found) == [
        f"m-invariance: {part}" for part in ("persons and groups", "signatures by person")
    ]


def test_what_is_said_as_json(issued: Path) -> None:
    """Stable keys, fractions as text, and one word for the whole."""
    said = json.loads(json.dumps(verify(folders(issued)[:1]).to_json()))
    assert list(said) == ["holds", "checks"]
    assert said["holds"] is True
    assert all(
        list(check) == ["name", "bound", "worst", "holds", "note"] for check in said["checks"]
    )
    found = verify_table(
        pl.DataFrame({"age": [1, 1, 1], "ill": ["a", "b", "c"]}),
        quasi=["age"],
        sensitive="ill",
        t="1/6",
    )
    assert json.loads(json.dumps(found.to_json()))["checks"][0]["bound"] == "1/6"


@pytest.mark.parametrize("method", [Mondrian(k=4, l=2), Anatomy(l=2), Slicing(l=2)])
def test_an_original_that_names_no_person(tmp_path: Path, method: Method) -> None:
    """Its rows are compared with the release that was made of it: a value that is another one, or a
    person who is missing, is seen.
    """
    people = table().select("age", "pay", "ill")
    publish(people, Schema(quasi=["age", "pay"], sensitive="ill"), method).save(tmp_path / "r")
    other = people.with_columns(ill=pl.Series(["e", *people["ill"][1:]]))
    names = []
    for original, holds in ((people, True), (other, False), (people[1:], False)):
        found = verify(tmp_path / "r", originals=[original])
        (check,) = [each for each in found.checks if "persons of the original" in each.name]
        names.append(check.name)
        assert (found.holds, check.holds) == (holds, holds), check.note
    assert names == ["release 1: persons of the original"] * 3


ILL: dict[str, tuple[dict[str, Any], type[PhalanxError], str]] = {
    "no release": ({"releases": []}, ReleaseError, "no release is named"),
    "twice": ({"releases": [1, 1]}, ReleaseError, "one release is given twice"),
    "nowhere": ({"releases": ["nowhere"]}, ReleaseError, "is not a release folder"),
    "too few originals": (
        {"originals": [table()]},
        ReleaseError,
        r"1 original table\(s\) are given for 2 release\(s\)",
    ),
    "originals without an identifier": (
        {"originals": [table(), table()], "identifier": None},
        ReleaseError,
        "needs its identifier column",
    ),
    "another identifier": (
        {"originals": [table(), table()], "identifier": "patient"},
        SchemaError,
        "identifier column 'patient' is not in the table",
    ),
    "an original without a column": (
        {"originals": [table(), table().drop("age")]},
        SchemaError,
        "^the original table of release 2: the quasi column 'age' is not in the table",
    ),
    "a ledger that is not there": (
        {"ledger": "sqlite:////nowhere/l.db"},
        LedgerError,
        "there is no ledger",
    ),
}


@pytest.mark.parametrize(("said", "error", "what"), ILL.values(), ids=ILL.keys())
def test_what_cannot_be_checked(
    issued: Path, said: dict[str, Any], error: type[PhalanxError], what: str
) -> None:
    """One sentence for whatever does not fit together."""
    given = {"releases": [1, 2], "identifier": "who"} | said
    releases = [issued / (f"s-{r}" if isinstance(r, int) else r) for r in given.pop("releases")]
    with pytest.raises(error, match=what):
        verify(releases, **given)


def test_a_ledger_of_another_series(issued: Path, tmp_path: Path) -> None:
    """A ledger that does not know the series is the wrong one; one that knows another release of
    that number says so.
    """
    Series(
        "t",
        schema=SCHEMA,
        method=MInvariance(m=2),
        to=tmp_path,
        ledger=f"sqlite:///{tmp_path}/l.db",
        report=False,
    ).publish(table())
    with pytest.raises(LedgerError, match="the ledger knows no series 's'"):
        verify(folders(issued), ledger=f"sqlite:///{tmp_path}/l.db")
    with pytest.raises(ReleaseError, match=r"of different series \(s, t\)"):
        read_releases([issued / "s-1", tmp_path / "t-1"])
    other = Series(
        "s",
        schema=SCHEMA,
        method=MInvariance(m=2),
        to=tmp_path,
        ledger=f"sqlite:///{tmp_path}/l.db",
        report=False,
    )
    other.publish(table())
    found = verify(folders(issued), ledger=f"sqlite:///{tmp_path}/l.db")
    wrong = {v.name: v.bound for v in found.checks if "recorded" in v.name and not v.holds}
    assert list(wrong) == ["release 1: recorded in the ledger", "release 2: recorded in the ledger"]
    assert wrong["release 2: recorded in the ledger"] == "a record"


def test_an_original_that_breaks_the_view(issued: Path) -> None:
    """Original tables in which somebody stands elsewhere are not covered by the boxes, and the view
    by box shows it: this check can fail.
    """
    swapped = table(60).with_columns(
        age=pl.col("age").reverse(), pay=pl.col("pay").reverse(), zip=pl.col("zip").reverse()
    )
    right = verify(folders(issued), originals=[table(40), table(60)], identifier="who")
    wrong = verify(folders(issued), originals=[table(40), swapped], identifier="who")
    view = {str(v.worst) for v in right.checks if "candidate sets" in v.name}
    assert view != {str(v.worst) for v in wrong.checks if "candidate sets" in v.name}
    assert not wrong.holds


def test_the_schema_of_a_release(issued: Path) -> None:
    """The manifest tells the types and hierarchies under which an original table is encoded; all
    other columns are dropped.
    """
    schema = schema_of(Release.read(issued / "s-1"), "who", [*table().columns, "more"])
    assert (schema.quasi, schema.sensitive, schema.identifier) == (SCHEMA.quasi, "ill", "who")
    assert schema.hierarchies == SCHEMA.hierarchies
    assert set(schema.drop) == {"ward", "notes", "more"}
    assert schema.types["born"] == "date"
    assert schema.keep == ()


def test_evidence_of_nothing(issued: Path) -> None:
    """Without ledger and originals there is no evidence."""
    evidence, recorded = gather_evidence(read_releases(folders(issued)), ledger=None)
    assert (dict(evidence.groups), dict(evidence.microdata), recorded) == ({}, {}, [])


SOMEBODYS = pl.DataFrame(
    {"age": ["2*", "2*", "2*", "3*", "3*", "3*"], "ill": ["a", "a", "b", "a", "b", "c"]}
)


def test_somebodys_table() -> None:
    """Which k, l and t a table has; the bounds that were asked are kept or not, to the fraction."""
    told = {v.name: v.worst for v in verify_table(SOMEBODYS, quasi=["age"], sensitive="ill").checks}
    assert (told["k"], told["distinct_l"], told["frequency_l"], told["t_equal"]) == (
        3,
        2,
        Fraction(3, 2),
        Fraction(1, 6),
    )
    for asked, holds in (
        ({"k": 3}, True), ({"k": 4}, False), ({"l": 1.5}, True), ({"l": 1.6}, False), ({"l": 2}, False), ({"t": "1/6"}, True), ({"t": "0.16"}, False),
    ):  # fmt: skip
        assert verify_table(SOMEBODYS, quasi=["age"], sensitive="ill", **asked).holds is holds, (
            asked
        )


@pytest.mark.parametrize("number", [int, np.int8, np.int64, np.uint8])
def test_bounds_of_numpy(number: Any) -> None:
    """A bound that NumPy counted is that number, and what is found goes into JSON: 64 of 100 rows
    hold one value, which no l of 100 allows.
    """
    table = pl.DataFrame({"age": [1] * 100, "ill": [max(0, i - 63) for i in range(100)]})
    found = verify_table(table, quasi="age", sensitive="ill", k=number(100), l=number(100))
    said = json.loads(json.dumps(found.to_json()))
    assert [(check["name"], check["holds"]) for check in said["checks"][:2]] == [
        ("k-anonymity", True),
        ("frequency-l-diversity", False),
    ]


@pytest.mark.parametrize("names", [None, 5, [1], ["age", None]])
def test_names_that_are_none(names: Any) -> None:
    """What is no name of a column is refused in a sentence."""
    with pytest.raises(ReleaseError, match="is no name of a column; name the columns"):
        verify_table(SOMEBODYS, quasi=names)


def test_where_no_bound_is_asked_nothing_holds() -> None:
    """A table whose rows all differ has not passed any check."""
    found = verify_table(SOMEBODYS, quasi=["age", "ill"])
    assert not found.holds and "nothing was asked" in repr(found)
    said = found.to_json()
    assert said["holds"] is None and {check["holds"] for check in said["checks"]} == {None}
    asked = verify_table(SOMEBODYS, quasi=["age"], k=3).to_json()
    assert asked["holds"] is True
    alike = pl.DataFrame({"age": ["2*"] * 2, "ill": ["flu", "Flu"]})
    told = verify_table(alike, quasi=["age"], sensitive="ill")  # which is no check that holds
    assert not told.holds and told.to_json()["holds"] is None
    of_bounds = [c for c in asked["checks"] if c["name"] != "other columns"]
    assert [check["holds"] for check in of_bounds] == [True, None, None, None]


def test_values_that_look_alike_are_told_of_somebodys_table() -> None:
    """Four ways to write one illness are no four illnesses."""
    ills = ["flu", "Flu", "FLU", "flu "]
    table = pl.DataFrame({"age": ["2*"] * 4, "ill": ills})
    found = verify_table(table, quasi=["age"], sensitive="ill", l=4)
    (note,) = [v.note for v in found.checks if v.name == "values that look alike"]
    assert found.holds and note.startswith("not covered: 4 sensitive values look like another one")
    other = verify_table(SOMEBODYS, quasi=["age"], sensitive="ill", k=3)
    assert "values that look alike" not in {v.name for v in other.checks}


def test_somebodys_file(tmp_path: Path) -> None:
    """The same from CSV and Parquet; a table without a sensitive attribute has a k alone."""
    SOMEBODYS.write_csv(tmp_path / "t.csv")
    SOMEBODYS.write_parquet(tmp_path / "t.parquet")
    said = [
        verify_table(path, quasi=["age"], sensitive="ill", k=3).to_json()
        for path in (SOMEBODYS, tmp_path / "t.csv", tmp_path / "t.parquet")
    ]
    assert said[0] == said[1] == said[2]
    assert {v.name for v in verify_table(SOMEBODYS, quasi=["age"]).checks} == {
        "rows",
        "groups",
        "k",
        "other columns",
    }


@pytest.mark.parametrize(
    ("said", "error", "what"),
    [
        ({"l": 2}, ReleaseError, "frequency-l-diversity is about a sensitive attribute; name it"),
        ({"t": 0.2}, ReleaseError, "t-closeness is about a sensitive attribute; name it"),
        ({"K": 3}, PlanError, "'K' is no bound that a table can be asked for; did you mean 'k'"),
        ({"m": 3}, PlanError, "it can be one of k, l, t"),
        ({"k": 0}, PlanError, "k must be a whole number of at least 1"),
        ({"sensitive": "ilness", "l": 2}, ReleaseError, "has no column 'ilness'"),
        ({"sensitive": "ill", "l": 0.5}, PlanError, "l must be at least 1"),
        ({"sensitive": "ill", "t": 2}, PlanError, "t must be at least 0 and at most 1"),
    ],
)
def test_questions_that_make_no_sense(
    said: dict[str, Any], error: type[PhalanxError], what: str
) -> None:
    """One sentence for bounds without a sensitive attribute, or that mean nothing."""
    with pytest.raises(error, match=what):
        verify_table(SOMEBODYS, quasi=["age"], **said)


def test_mondrian_with_an_identifier(tmp_path: Path) -> None:
    """A release of any method is checked against the ledger and its originals."""
    made = Series(
        "s",
        schema=SCHEMA,
        method=Mondrian(k=3, l=2),
        to=tmp_path,
        ledger=f"sqlite:///{tmp_path}/l.db",
        report=False,
    ).publish(table())
    assert verify(
        [made.path], ledger=f"sqlite:///{tmp_path}/l.db", originals=[table()], identifier="who"
    ).holds


@pytest.mark.parametrize("kept", [True, False])
def test_mutual_cover_with_its_ledger(tmp_path: Path, kept: bool) -> None:
    """Random output tables are checked where the ledger keeps them, of every release; where it does
    not, that is said.
    """
    schema = Schema(
        identifier="who",
        quasi=["age", "zip", "job", "born"],
        sensitive="ill",
        hierarchies={"job": JOBS},
        types={"born": "date"},
        missing="value",
    )
    plain = table().drop("pay", "ward", "notes")
    series = Series(
        "s",
        schema=schema,
        method=MutualCover(delta="1/4", keep_tables=kept),
        to=tmp_path,
        ledger=f"sqlite:///{tmp_path}/l.db",
        report=False,
    )
    paths = [series.publish(plain).path for _ in range(2)]
    found = verify(
        paths,
        ledger=f"sqlite:///{tmp_path}/l.db",
        originals=[plain.with_columns(notes=pl.lit("x"))] * 2,
        identifier="who",
    )
    assert found.holds, [v for v in found.checks if not v.holds]
    assert not_checked(found) == (
        [] if kept else [f"mutual-cover: {part}" for part in ("delta-probability", "drawing")]
    )
    assert sum(
        v.name.endswith("delta-probability") and v.worst == Fraction(1, 4) for v in found.checks
    ) == (2 if kept else 0)
    assert sum(v.name.endswith("truth") for v in found.checks) == 2
    other = plain.with_columns(ill=pl.col("ill").reverse(), age=pl.col("age").reverse())
    wrong = verify(
        paths[:1], ledger=f"sqlite:///{tmp_path}/l.db", originals=[other], identifier="who"
    )
    failing = {v.name.split(": ")[-1] for v in wrong.checks if not v.holds}
    assert failing - {"changed rows"} == ({"truth", "drawing"} if kept else {"truth"}), failing


def test_mutual_cover_beside_an_original_without_a_ledger(tmp_path: Path) -> None:
    """The original table alone shows values, sensitive values, and rows that must be unchanged; its
    schema is told by the manifest.
    """
    schema = Schema(quasi=["age", "job"], sensitive="ill", hierarchies={"job": JOBS})
    plain = table().select("age", "job", "ill")
    made = Series(
        "s",
        schema=schema,
        method=MutualCover(delta="1/4"),
        to=tmp_path,
        ledger=f"sqlite:///{tmp_path}/l.db",
        report=False,
    ).publish(plain)
    told = schema_of(Release.read(made.path), None, ["age", "job", "ill", "more"])
    assert (told.quasi, told.sensitive, told.hierarchies, list(told.drop)) == (
        schema.quasi,
        "ill",
        {"job": JOBS},
        ["more"],
    )
    numbered = plain.with_row_index("who")
    found = verify([made.path], originals=[numbered], identifier="who")
    assert found.holds, [v for v in found.checks if not v.holds]
    assert not_checked(found) == [
        f"mutual-cover: {part}" for part in ("delta-probability", "drawing")
    ]
    assert not verify(
        [made.path], originals=[numbered.with_columns(age=pl.col("age") + 100)], identifier="who"
    ).holds


def test_what_a_ledger_remembers_is_read_to_its_end(issued: Path, tmp_path: Path) -> None:
    """A byte of any segment that is another one is told now, and not by the publisher of next year;
    of releases that are not looked at it is not.
    """
    shutil.copytree(issued, tmp_path / "copy")
    ledger = tmp_path / "copy" / "l.db"
    asked = {"ledger": f"sqlite:///{ledger}"}
    whole, first = folders(tmp_path / "copy"), folders(tmp_path / "copy")[:1]
    assert verify(whole, **asked).holds
    with closing(sqlite3.connect(ledger)) as database:
        segments = database.execute("SELECT rowid, number, name, sealed FROM segments").fetchall()
    assert {name.partition("/")[0] for _, _, name, _ in segments} >= {"groups", "memory"}
    for row, number, name, sealed in segments:
        for content in (sealed[:-1] + bytes([sealed[-1] ^ 1]), sealed):
            with closing(sqlite3.connect(ledger)) as database:
                database.execute("UPDATE segments SET sealed = ? WHERE rowid = ?", (content, row))
                database.commit()
            if content == sealed:
                assert verify(whole, **asked).holds
                continue
            with pytest.raises(LedgerError, match="changed"):
                verify(whole, **asked)
            if number == 2 and name != "person":
                assert verify(first, **asked).holds


@pytest.mark.parametrize("lie", [50, 0])
def test_a_lie_about_registered_persons_is_not_blamed_on_the_original(
    tmp_path: Path, lie: int
) -> None:
    """With the original beside the ledger no less is found than without."""
    everyone = pl.DataFrame({"who": range(100), "age": [20 + i % 50 for i in range(100)]})
    ill = pl.Series(["flu", "gout", "hiv", "flu"] * 10)
    schema = Schema(identifier="who", quasi=["age"], sensitive="ill")
    ledger, original = f"sqlite:///{tmp_path}/l.db", everyone.head(40).with_columns(ill=ill)
    series = Series(
        "s", schema, GlobalGuarantee(l=2, k=6), to=tmp_path, ledger=ledger, report=False
    )
    path = series.publish(original, registry=everyone if lie == 0 else None).path
    asked: dict[str, Any] = {"ledger": ledger, "originals": [original], "identifier": "who"}
    assert verify(path, **asked).holds
    groups = Release.read(path).form.tables()["data"]["group"][:1]
    listed = pl.DataFrame({"group": groups, "count": [lie]}) if lie else None
    written(path, lambda form: replace(form, registered=listed))
    found = {v.name: v for v in verify(path, **asked).checks}
    assert not found["release 1: recorded in the ledger"].holds


@pytest.mark.parametrize(
    "bounds", [{"k": 1}, {"l": 1, "sensitive": "sick"}, {"t": 1, "sensitive": "sick"}]
)
def test_no_table_is_asked_for_nothing(bounds: dict[str, Any]) -> None:
    """A bound that every table keeps is refused, as it is of a release."""
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "sick": list("abab")})
    with pytest.raises(PlanError, match="promises nothing"):
        verify_table(frame, quasi="age", **bounds)


def test_columns_without_a_role_are_named() -> None:
    """Nothing was looked at in them, and a name may stand there; of a table without, nothing is said."""
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "sick": list("abab")})
    checks = verify_table(frame, quasi="age", sensitive="sick", k=2).checks
    assert "other columns" not in [check.name for check in checks]
    what = pl.Series("what", [object()] * 4, dtype=pl.Object)
    named = frame.with_columns(ward=pl.lit("w"), name=pl.Series(["Ann", "Bob", None, "Dee"]))
    named = named.with_columns(what)
    verification = verify_table(named, quasi="age", sensitive="sick", k=2)
    (other,) = (check for check in verification.checks if check.name == "other columns")
    assert verification.holds
    assert "3 column(s) were named neither quasi-identifier nor sensitive" in other.note
    assert "('name', 'ward', 'what')" in other.note
    assert "in 'name' every row has another value" in other.note
    assert "Ann" not in other.note


@pytest.mark.parametrize("wrong", ["yes", 1, None])
def test_a_seed_is_allowed_or_not(issued: Path, wrong: Any) -> None:
    """By True or False alone, in a sentence."""
    with pytest.raises(PlanError, match="give True or False"):
        verify(issued / "s-1", allow_seeded=wrong)
