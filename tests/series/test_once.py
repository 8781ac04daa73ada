# SPDX-License-Identifier: Apache-2.0
"""The public door, as a data scientist opens it: a table in, a checked release out, and one
sentence for what can be mistaken.
"""

import copy
import pickle
import stat
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import phalanx as px
from phalanx.series import series as publishing

PEOPLE = pl.DataFrame(
    {
        "age": [30 + i % 4 for i in range(40)],
        "zip": [i // 4 for i in range(40)],
        "ill": ["flu", "cold", "gout", "rash"] * 10,
    }
)
SCHEMA = px.Schema(quasi=["age", "zip"], sensitive="ill")
METHODS = [
    px.Mondrian(k=4, l=2),
    px.Anatomy(l=3),
    px.Slicing(l=2, columns=[["age"], ["zip", "ill"]], cuts="strict"),
    px.MutualCover(delta="1/4"),
    px.SafeSampling(
        epsilon=1,
        delta="1e-2",
        allow_empty=True,
        scheme={
            "age": {"low": 30, "high": 34, "width": 4},
            "zip": {"low": 0, "high": 10, "width": 10},
        },
    ),
]


@pytest.fixture(scope="module")
def release() -> px.Release:
    return px.publish(PEOPLE, SCHEMA, METHODS[0])


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_once_in_memory(method: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that remembers nothing publishes without a folder and a ledger; the release is
    checked again, and leaves nothing behind.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    made = px.publish(PEOPLE, SCHEMA, method)
    assert made.verify().holds and px.verify(made).holds
    assert made.table.height == made.rows and (made.rows == 40 or method.name == "safe-sampling")
    assert list(tmp_path.iterdir()) == []


def test_adversaries_need_nothing_else(release: px.Release) -> None:
    """What lies beside a release that was published here is evidence enough: by itself, in a list,
    or through the release.
    """
    attacks = (
        release.attack(px.Linkage()),
        px.Linkage().attack(release),
        px.Linkage().attack([release]),
    )
    assert [attack.persons for attack in attacks] == [40, 40, 40]
    assert release.attack(px.Posterior()).exposed == 0


@pytest.mark.parametrize("kind", [pd.DataFrame, pa.Table, pl.DataFrame, pl.LazyFrame])
def test_the_kind_of_frame_that_came_in(kind: type, tmp_path: Path) -> None:
    """Pandas gives pandas, Arrow Arrow, Polars Polars; a release that is read gives Polars, and so
    do its draws.
    """
    given = {
        pd.DataFrame: PEOPLE.to_pandas(),
        pa.Table: PEOPLE.to_arrow(),
        pl.DataFrame: PEOPLE,
        pl.LazyFrame: PEOPLE.lazy(),
    }[kind]
    made = px.publish(given, SCHEMA, METHODS[0])
    assert isinstance(made.table, kind) and all(
        isinstance(table, kind) for table in made.tables.values()
    )
    read = px.Release.read(made.save(tmp_path / "r").path)
    for table in (read.table, *read.tables.values(), *read.draw(1)):
        assert isinstance(table, pl.DataFrame)


@pytest.mark.parametrize("was_read", [False, True])
def test_what_is_done_to_a_table_is_done_to_it_alone(was_read: bool, tmp_path: Path) -> None:
    """A table that was handed out can be changed in its place, and the release stays what it is."""
    release = px.publish(PEOPLE, SCHEMA, METHODS[0])
    if was_read:
        release = px.Release.read(release.save(tmp_path / "release").path)
    before = release.table.clone()
    for table in (release.table, release.tables["data"]):
        table[0, "ill"] = "plague"
        table.columns = [f"my {name}" for name in table.columns]
    assert release.table.equals(before) and release.tables["data"].equals(before)
    assert release.estimate("count(*) where ill = 'plague'").high == 0


def test_a_file_is_a_table(tmp_path: Path) -> None:
    """The path of a file stands for its table, here and in a series, which attacks and verifies
    with its own ledger.
    """
    PEOPLE.with_row_index("who").write_csv(tmp_path / "p.csv")
    schema = px.Schema(identifier="who", quasi=["age", "zip"], sensitive="ill")
    assert px.publish(tmp_path / "p.csv", schema, METHODS[0]).rows == 40
    series = px.Series("s", schema, px.MInvariance(m=2), to=tmp_path / "out")
    assert series.publish(str(tmp_path / "p.csv")).number == 1
    assert series.publish(tmp_path / "p.csv").number == 2
    assert series.verify().holds
    assert series.attack(px.Intersection()).exposed == 0
    assert series.attack(px.Intersection(), originals=[tmp_path / "p.csv"] * 2).persons == 40


def test_save_writes_what_was_checked(release: px.Release, tmp_path: Path) -> None:
    """The saved folder is the checked one, byte for byte; it can be read, verified and attacked,
    and is never written over.
    """
    saved = release.save(tmp_path / "deep" / "r")
    assert (
        saved.digest == release.digest
        and px.verify(saved.path).holds
        and saved.verify().holds
        and px.verify([str(saved.path)]).holds
    )
    assert {file.name: file.read_bytes() for file in saved.path.iterdir()} == release.files
    assert px.Release.read(saved.path).rows == 40
    with pytest.raises(px.PhalanxError, match="never written over"):
        release.save(tmp_path / "deep" / "r")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["r"]


def test_a_folder_is_attacked_with_evidence(tmp_path: Path) -> None:
    """A release that was only read has none; with its table, and its ledger, it can be attacked by
    everybody, two publishers' releases together, too.
    """
    people = PEOPLE.with_columns(who=pl.Series([f"p{i}" for i in range(40)]))
    schema = px.Schema(identifier="who", quasi=["age", "zip"], sensitive="ill")
    folders = []
    for name in ("one", "other"):
        series = px.Series(name, schema, METHODS[0], to=tmp_path / name, report=False)
        folders.append(series.publish(people).path)
    one, other = (px.Release.read(path) for path in folders)
    for adversary in (px.Linkage(), px.Posterior(), px.Extremes(), px.SinglingOut()):
        with pytest.raises(
            px.PhalanxError, match=r"no original table beside it.* with_evidence\(original=…\)"
        ):
            one.attack(adversary)
    with pytest.raises(px.PhalanxError, match=r"with_evidence\(original=…, identifier=…\)"):
        one.with_evidence(original=people).attack(px.Intersection())
    one, other = (r.with_evidence(original=people, identifier="who") for r in (one, other))
    assert one.attack(px.Linkage()).persons == 40
    assert one.attack(px.Composition(beside=[other])).persons == 40
    checks = px.verify(folders[0], originals=people, identifier="who")  # one table, for one release
    assert checks.holds and len(checks.checks) > len(px.verify(folders[0]).checks)
    ledger = f"sqlite:///{tmp_path}/one.db"
    assert one.with_evidence(ledger=ledger).attack(px.History()).persons == 40


def test_the_ledger_is_a_path_or_a_url(tmp_path: Path) -> None:
    """A file is an SQLite ledger."""
    there = tmp_path / "kept" / "ledger.db"
    there.parent.mkdir()
    series = px.Series("s", SCHEMA, METHODS[0], to=tmp_path / "out", ledger=there, report=False)
    series.publish(PEOPLE)
    assert there.is_file()


def test_every_answer_is_one_line(release: px.Release) -> None:
    """What a prompt shows of a check says how many hold."""
    shown = repr(release.verify())
    assert shown.startswith("<Verification: holds (") and "\n" not in shown and len(shown) < 80
    assert "\n" not in repr(release.checks)


def test_what_was_changed_on_the_disk_is_seen(release: px.Release, tmp_path: Path) -> None:
    """``verify`` of a saved release reads its files again."""
    saved = release.save(tmp_path / "r")
    (saved.path / "data.parquet").write_bytes(b"PAR1")
    with pytest.raises(px.PhalanxError, match="changed after it was published"):
        saved.verify()


def test_the_private_folder_is_private(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the files are checked, only their owner may read them."""
    modes = []
    read = publishing.Drafting.checked

    def look(self: Any, draft: Any, checked: Any, bounds: Any) -> Any:
        modes.extend(
            stat.S_IMODE(path.stat().st_mode) for path in (checked.path, checked.path.parent)
        )
        return read(self, draft, checked, bounds)

    monkeypatch.setattr(publishing.Drafting, "checked", look)
    px.publish(PEOPLE, SCHEMA, METHODS[0])
    assert modes == [0o700, 0o700]


def test_nothing_private_is_carried_away(release: px.Release) -> None:
    """A release has private evidence beside it, so it is neither pickled nor shown; its report and
    card hold released values only.
    """
    for away in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="private evidence"):
            away(release)
    assert len(repr(release)) < 120 and "\n" not in repr(release)
    assert "Evidence" not in repr(release) + release._repr_html_()


def test_the_card_escapes() -> None:
    """A name with markup in it is text on the card."""
    made = px.publish(PEOPLE, SCHEMA, METHODS[0], name="<b>x")
    assert "<b>" not in made._repr_html_() and "&lt;b&gt;x" in made._repr_html_()


def test_a_report(release: px.Release, tmp_path: Path) -> None:
    """The page about a release, wherever it is asked for."""
    assert "mondrian" in release.report(tmp_path / "page.html").read_text(encoding="utf-8").lower()


def test_one_text_is_one_column() -> None:
    """``quasi="age"`` names the column age, not three letters."""
    assert px.Schema(quasi="age", keep="zip").columns == ("age", "zip")


def test_a_failed_check_is_no_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the check of the files does not hold, nothing is returned: the broken twin of the
    method keeps one row by itself.
    """
    import numpy as np

    from phalanx.methods.mondrian import method as mondrian

    monkeypatch.setattr(mondrian, "partition", lambda *_, **__: np.arange(40, dtype=np.int64))
    monkeypatch.setattr(
        mondrian, "balanced_partition", lambda *_, **__: np.arange(40, dtype=np.int64)
    )
    with pytest.raises(px.PhalanxError, match="check of the written files failed"):
        px.publish(PEOPLE, SCHEMA, METHODS[0])


def published() -> px.Release:
    return px.publish(PEOPLE, SCHEMA, METHODS[0])


BUDGETED = px.SafeSampling(
    epsilon=1,
    delta="1e-2",
    budget={"epsilon": 3, "delta": "5e-2"},
    allow_empty=True,
    scheme={"age": {"low": 30, "high": 34, "width": 4}, "zip": {"low": 0, "high": 10, "width": 10}},
)


def test_a_budget_needs_a_memory(tmp_path: Path) -> None:
    """In memory every release would be the first, and the budget never spent; a series spends it,
    and without a budget nothing is said to be kept.
    """
    with pytest.raises(
        px.PhalanxError, match="the budget of safe-sampling is kept by remembering what was spent"
    ):
        px.publish(PEOPLE, SCHEMA, BUDGETED)
    series = px.Series("s", SCHEMA, BUDGETED, to=tmp_path / "out", report=False)
    assert [series.publish(PEOPLE).spent["releases"] for _ in range(2)] == [1, 2]  # type: ignore[index]


MISTAKES: dict[str, Any] = {
    "a name for a method": lambda: px.publish(PEOPLE, SCHEMA, "mondrian"),  # type: ignore[arg-type]
    "a class for a method": lambda: px.publish(PEOPLE, SCHEMA, px.Mondrian),  # type: ignore[arg-type]
    "a method that is asked for nothing": lambda: px.publish(PEOPLE, SCHEMA, px.Mondrian()),
    "table and schema exchanged": lambda: px.publish(SCHEMA, PEOPLE, px.Mondrian(k=2)),  # type: ignore[arg-type]
    "a method with a memory": lambda: px.publish(PEOPLE, SCHEMA, px.MInvariance(m=2)),
    "a budget without a memory": lambda: px.publish(PEOPLE, SCHEMA, BUDGETED),
    "no table": lambda: px.publish(None, SCHEMA, px.Mondrian(k=2)),
    "no file": lambda: px.publish("nowhere.csv", SCHEMA, px.Mondrian(k=2)),
    "one format as text": lambda: px.publish(PEOPLE, SCHEMA, px.Mondrian(k=2), formats="csv"),
    "a name in a series": lambda: px.Series("s", SCHEMA, "mondrian", to="out"),  # type: ignore[arg-type]
    "a frame for a release": lambda: px.verify(PEOPLE),  # type: ignore[arg-type]
    "a column that is no text": lambda: px.Schema(quasi=[1]),  # type: ignore[list-item]
    "two identifiers": lambda: px.Schema(quasi="age", identifier=["a", "b"]),  # type: ignore[arg-type]
    "a path for a release": lambda: px.Linkage().attack("out/x"),  # type: ignore[arg-type]
    "a name for an adversary": lambda: published().attack("linkage"),  # type: ignore[arg-type]
    "a class for an adversary": lambda: published().attack(px.Linkage),  # type: ignore[arg-type]
    "a number for a query": lambda: published().estimate(3),  # type: ignore[arg-type]
    "a number for a folder": lambda: px.Series("s", SCHEMA, METHODS[0], to=3),  # type: ignore[arg-type]
    "a text for a seed": lambda: px.publish(PEOPLE, SCHEMA, METHODS[0], seed="a"),  # type: ignore[arg-type]
    "two tables for one release": lambda: px.verify(published(), originals=[PEOPLE, PEOPLE]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_one_sentence(mistake: str) -> None:
    """Whatever is mistaken is refused by what it is and what to do, without a traceback's words."""
    with pytest.raises(px.PhalanxError) as told:
        MISTAKES[mistake]()
    assert (
        str(told.value).endswith(".")
        and str(told.value).count(". ") == 0
        and len(str(told.value)) < 200
    )


def test_public_names_for_everything() -> None:
    """The calculator, the check of anybody's table, and the reading of a source have public
    names.
    """
    assert px.budget(epsilon=1, delta="1e-6").k == 74
    assert px.verify_table(PEOPLE, quasi=["age"], k=10).holds
    assert px.verify_table(PEOPLE, quasi="age", k=10).holds
    assert callable(px.read_source) and callable(px.together)
