# SPDX-License-Identifier: Apache-2.0
"""An honest restore is possible: the releases that a ledger does not know are entered from their
folders; what cannot be remembered stops the series.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from phalanx.data.schema import Schema
from phalanx.errors import LedgerError, MethodError, PhalanxError, ReleaseError
from phalanx.ledger import Ledger
from phalanx.ledger.marks import Mark
from phalanx.methods.base import Method
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Mondrian
from phalanx.methods.safe_sampling.method import SafeSampling
from phalanx.series.reconciling import reconcile
from phalanx.series.released import Release
from phalanx.series.series import Series

METHODS: dict[str, Callable[[], Method]] = {
    "mondrian": lambda: Mondrian(k=2),
    "m-invariance": lambda: MInvariance(m=2),
    "safe-sampling": lambda: SafeSampling(
        epsilon=1,
        delta=1e-4,
        beta=0.5,
        scheme={"age": {"low": 0, "high": 64, "widths": [8], "level": 1}},
        budget={"epsilon": 1.5, "delta": 2e-4},
        allow_empty=True,
    ),
}


class Scene:
    """A series with an SQLite ledger, whose copies of every moment are kept."""

    def __init__(self, folder: Path, name: str = "mondrian") -> None:
        self.folder, self.name = folder, name
        self.out, self.ledger = folder / "out", f"sqlite:///{folder}/ledger.db"
        self.file, self.mark = folder / "ledger.db", Mark(folder / "ledger.db.mark")

    def publish(self) -> Release:
        n = 200
        table = pl.DataFrame(
            {
                "p": range(n),
                "age": [i * 7 % 64 for i in range(n)],
                "d": ["abcd"[i % 4] for i in range(n)],
            }
        )
        schema = (
            Schema(identifier="p", quasi=["age"], sensitive="d")
            if self.name != "safe-sampling"
            else Schema(identifier="p", quasi=["age"], drop=["d"])
        )
        return Series(
            "s",
            schema=schema,
            method=METHODS[self.name](),
            to=self.out,
            ledger=self.ledger,
            report=False,
        ).publish(table)

    def copies(self, releases: int) -> dict[int, bytes]:
        """The file of the ledger after so many releases."""
        kept = {}
        for n in range(1, releases + 1):
            self.publish()
            kept[n] = self.file.read_bytes()
        return kept

    def reconcile(self, *numbers: int, **how: Any) -> Any:
        return reconcile("s", [self.out / f"s-{n}" for n in numbers], ledger=self.ledger, **how)

    def numbers(self) -> list[int]:
        with Ledger.open(self.ledger) as ledger:
            return [entry.number for entry in ledger.releases("s")]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_series_that_went_back_publishes_no_second_release(scene: Scene) -> None:
    """The attack: a copy of the ledger put back, the later releases gone from the folder, or
    another folder; nothing leaves.
    """
    kept = scene.copies(3)
    scene.file.write_bytes(kept[1])
    shutil.move(scene.out, scene.folder / "handed out")
    with pytest.raises(LedgerError, match="older than what was published of series 's'"):
        scene.publish()
    scene.out = scene.folder / "elsewhere"
    with pytest.raises(LedgerError, match="older than what was published of series 's'"):
        scene.publish()
    assert not scene.out.exists() or list(scene.out.iterdir()) == []


def test_a_budget_is_not_given_back(tmp_path: Path) -> None:
    """Safe sampling: whatever copy is put back, what left counts; and what is entered again from
    its folder counts in the budget as it did.
    """
    scene = Scene(tmp_path, "safe-sampling")
    kept = scene.copies(4)
    with pytest.raises(MethodError, match="release 5 and those before it would cost"):
        scene.publish()
    for n in (1, 2, 3):
        scene.file.write_bytes(kept[n])
        with pytest.raises(LedgerError, match="older than what was published"):
            scene.publish()
    scene.file.write_bytes(kept[1])
    said = scene.reconcile(2, 3, 4)
    assert (list(said.entered), said.forgotten) == ([2, 3, 4], False)
    with pytest.raises(MethodError, match="release 5 and those before it would cost"):
        scene.publish()


def test_a_method_that_remembers_nothing_goes_on(scene: Scene) -> None:
    """The folders are all that is missing: the entries are what they were, but for what only the
    publisher knew, and the next release follows.
    """
    kept = scene.copies(3)
    with Ledger.open(scene.ledger) as ledger:
        before = ledger.releases("s")
    scene.file.write_bytes(kept[1])
    scene.reconcile(1, 2, 3)
    with Ledger.open(scene.ledger) as ledger:
        assert [(e.number, e.digest, e.day, e.folder) for e in ledger.releases("s")] == [
            (e.number, e.digest, e.day, e.folder) for e in before
        ]
        assert [(r.number, r.entered) for r in ledger.reconciled("s")] == [(3, [2, 3])]
    assert scene.publish().number == 4
    with pytest.raises(LedgerError, match="nothing to reconcile"):
        scene.reconcile()


def test_a_method_that_remembers_persons_stops(tmp_path: Path) -> None:
    """m-invariance: what is in no folder is not made up; the series stops, by every way, until the
    ledger that remembers is put back.
    """
    scene = Scene(tmp_path, "m-invariance")
    kept = scene.copies(3)
    scene.file.write_bytes(kept[1])
    assert scene.reconcile(2, 3).forgotten
    assert scene.numbers() == [1, 2, 3]
    for _ in range(2):
        with pytest.raises(
            LedgerError,
            match=r"cannot go on: what release\(s\) 2, 3 remembered is lost",
        ):
            scene.publish()
    with Ledger.open(scene.ledger) as ledger:
        ledger.export_series("s", tmp_path / "s.series", copy=True)
    (tmp_path / "new").mkdir()
    with Ledger.open(f"sqlite:///{tmp_path}/new/ledger.db") as other:
        other.import_series(tmp_path / "s.series")
        with pytest.raises(LedgerError, match="cannot go on"):
            other.check_goes_on("s")
    scene.file.write_bytes(kept[3])
    assert scene.publish().number == 4


def test_a_copy_that_remembers_is_imported(tmp_path: Path) -> None:
    """A ledger that went back takes the series from a copy that was exported later, and goes on
    with its memory.
    """
    scene = Scene(tmp_path, "m-invariance")
    kept = scene.copies(2)
    with Ledger.open(scene.ledger) as ledger:
        ledger.export_series("s", tmp_path / "s.series", copy=True)
    scene.file.write_bytes(kept[1])
    with Ledger.open(scene.ledger) as ledger:
        ledger.import_series(tmp_path / "s.series")
    assert scene.publish().number == 3


def test_a_copy_is_imported_after_memory_was_lost(tmp_path: Path) -> None:
    """What a reconciliation names as the way out is one: the copy takes the place of the series that
    forgot, and it goes on; a copy that knows fewer releases does not.
    """
    scene = Scene(tmp_path, "m-invariance")
    kept = {}
    for n in (1, 2):
        kept |= scene.copies(1)
        with Ledger.open(scene.ledger) as ledger:
            ledger.export_series("s", tmp_path / f"after-{n}.series", copy=True)
        if n == 1:
            before = kept[1]
    scene.file.write_bytes(before)
    assert scene.reconcile(2).forgotten
    with Ledger.open(scene.ledger) as ledger:
        with pytest.raises(LedgerError, match=r"has (another|a) series 's'"):
            ledger.import_series(tmp_path / "after-1.series")
        ledger.import_series(tmp_path / "after-2.series")
        with pytest.raises(LedgerError, match="has a series 's' already"):
            ledger.import_series(tmp_path / "after-2.series")
    assert scene.publish().number == 3


def spoil(path: Path) -> None:
    (path / "data.parquet").write_bytes((path / "data.parquet").read_bytes()[:-9])


def test_what_is_not_what_was_published(scene: Scene, tmp_path: Path) -> None:
    """A release that is missing, changed, of another series, given twice, or from another history
    is refused by name, and nothing is entered.
    """
    kept = scene.copies(3)
    scene.file.write_bytes(kept[1])
    other = Scene(tmp_path / "other")
    other.folder.mkdir()
    other.copies(2)
    two, three = (scene.out / f"s-{n}" for n in (2, 3))
    wrong: list[tuple[list[Path], str]] = [
        ([], r"release 2 of series 's' was published on 2\d{3}-.* and is not given"),
        ([three], "release 2 of series 's' was published on"),
        ([two], "release 3 of series 's' was published on"),
        (
            [other.out / "s-2", three],
            "s-2 is not the release 2 of series 's' that was published on",
        ),
        (
            [other.out / "s-1", two, three],
            "s-1 is not the release 1 of series 's' that the ledger recorded",
        ),
        ([two, two, three], "does not follow release 2"),
        ([tmp_path], "is not a release folder"),
    ]
    for folders, words in wrong:
        with pytest.raises(PhalanxError, match=words):
            reconcile("s", folders, ledger=scene.ledger)
    spoil(three)
    with pytest.raises(ReleaseError):
        reconcile("s", [two, three], ledger=scene.ledger)
    assert scene.file.read_bytes() == kept[1]


def test_without_a_mark_a_steward_says(scene: Scene) -> None:
    """A ledger on another machine, or restored with no mark: nothing is published until somebody
    says what was; a release that lies there is not passed over.
    """
    kept = scene.copies(3)
    scene.mark.file.unlink()
    with pytest.raises(LedgerError, match="may be an old one"):
        scene.publish()
    scene.file.write_bytes(kept[2])
    with pytest.raises(LedgerError, match="s-3 is not in the ledger and not given"):
        scene.reconcile()
    said = scene.reconcile(3)
    assert (said.number, list(said.entered)) == (3, [3])
    assert scene.publish().number == 4
    for _ in range(2):  # the second time takes the place of the first one
        scene.mark.file.unlink()
        assert list(scene.reconcile().entered) == []
    assert scene.publish().number == 5
    with Ledger.open(scene.ledger) as ledger:
        assert [r.number for r in ledger.reconciled("s")] == [3, 4]


def test_without_its_beginning_a_series_is_not_reconciled(scene: Scene) -> None:
    """A series that is nowhere, one that the mark alone knows, and one of another history."""
    with Ledger.open(scene.ledger):
        empty = scene.file.read_bytes()
    scene.publish()
    with pytest.raises(LedgerError, match="knows no series 'other', and no mark does"):
        reconcile("other", [], ledger=scene.ledger)
    mark = scene.mark.file.read_bytes()
    scene.file.write_bytes(empty)
    with pytest.raises(
        LedgerError, match=r"knows nothing of series 's', and its mark .* 1 release"
    ):
        scene.reconcile(1)
    scene.mark.file.unlink()
    shutil.rmtree(scene.out)
    scene.publish()
    scene.mark.file.write_bytes(mark)
    with pytest.raises(
        LedgerError, match=r"^the ledger .*ledger\.db has another release 1 of series 's' than"
    ):
        scene.reconcile(1)


def test_what_another_steward_entered_is_not_entered_twice(scene: Scene) -> None:
    """Nor is one left out: each follows the one before."""
    scene.copies(3)
    with Ledger.open(scene.ledger) as ledger:
        known = ledger.releases("s")
        for entries in (known[2:], known[1:], [replace(known[2], number=5)]):
            with pytest.raises(LedgerError, match="to enter do not follow release 3 of series 's'"):
                ledger.reconcile("s", [(entry, {}) for entry in entries], forgotten=False)
    assert scene.numbers() == [1, 2, 3]


def test_a_series_that_was_moved_is_not_reconciled(scene: Scene, tmp_path: Path) -> None:
    """It goes on in the other ledger, so that nothing is entered here, although the mark is lost."""
    scene.copies(2)
    with Ledger.open(scene.ledger) as ledger:
        ledger.export_series("s", tmp_path / "moved")
    content = scene.file.read_bytes()
    scene.mark.file.unlink()
    with pytest.raises(LedgerError, match=r"'s' was moved to another ledger on .* goes on there"):
        scene.reconcile()
    assert scene.file.read_bytes() == content and not scene.mark.file.exists()


def test_a_damaged_mark_is_made_anew(scene: Scene) -> None:
    """By the same word of a steward, and with what the ledger knows."""
    scene.copies(2)
    content = scene.mark.file.read_bytes()
    scene.mark.file.write_bytes(content[:-1] + b"x")
    with pytest.raises(LedgerError, match="is damaged"):
        scene.publish()
    scene.reconcile()
    assert scene.mark.file.read_bytes() == content
    assert scene.publish().number == 3


def test_ledger_and_mark_from_one_backup(scene: Scene) -> None:
    """Where both are old, a release that lies in the folder is noticed; it is the last thing that
    can tell.
    """
    scene.publish()
    old = scene.file.read_bytes(), scene.mark.file.read_bytes()
    scene.publish()
    scene.publish()
    scene.file.write_bytes(old[0])
    scene.mark.file.write_bytes(old[1])
    (scene.out / "s-2").rename(scene.folder / "s-2")
    with pytest.raises(
        ReleaseError,
        match=(
            r"s-3 exists and is not in the ledger, which may be older .* enter it by"
            r" 'phalanx series reconcile'"
        ),
    ):
        scene.publish()
    (scene.folder / "s-2").rename(scene.out / "s-2")
    scene.reconcile(2, 3)
    assert scene.publish().number == 4


def test_ledger_and_mark_from_one_backup_and_another_folder(scene: Scene) -> None:
    """The folders that the ledger names are looked at, too: a plan with a folder of its own, as of
    another steward, would hand the same number out again.
    """
    scene.publish()
    old = scene.file.read_bytes(), scene.mark.file.read_bytes()
    scene.publish()
    scene.file.write_bytes(old[0])
    scene.mark.file.write_bytes(old[1])
    there, scene.out = scene.out, scene.folder / "mine"
    with pytest.raises(ReleaseError, match=r"out/s-2 exists and is not in the ledger"):
        scene.publish()
    scene.out = there
    scene.reconcile(2)
    assert scene.publish().number == 3


STEPS = ["encode", "group", "write", "check", "record"]


@pytest.mark.parametrize("step", STEPS)
def test_an_old_copy_at_every_step_of_a_publish(
    scene: Scene, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Put back while somebody publishes: whatever the moment, no second release of a number leaves,
    and the publishers after it are refused or go on.
    """
    kept = scene.copies(2)
    digests = {n: (scene.out / f"s-{n}" / "release.json").read_bytes() for n in (1, 2)}
    real = Series.publish

    def publish(self: Series, table: Any, **how: Any) -> Release:
        return real(
            self,
            table,
            **how,
            progress=lambda at, *_: scene.file.write_bytes(kept[1]) if at == step else None,
        )

    with monkeypatch.context() as patched:
        patched.setattr(Series, "publish", publish)
        try:
            scene.publish()
        except LedgerError as error:
            assert "older than what was published" in str(error)  # noqa: PT017 - or it went through, where it holds the file still
    for n, content in digests.items():
        assert (scene.out / f"s-{n}" / "release.json").read_bytes() == content
    with pytest.raises(LedgerError, match="older than what was published"):
        scene.publish()
    assert sorted(path.name for path in scene.out.iterdir() if not path.name.startswith(".")) == [
        "s-1",
        "s-2",
    ]
    scene.file.write_bytes(kept[2])
    assert scene.publish().number == 3
    assert sorted(path.name for path in scene.out.iterdir()) == ["s-1", "s-2", "s-3"]


def test_an_interrupted_release_is_not_taken_away(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that is recorded and has no name yet outlives an old ledger: nobody removes its
    staging folder, and it is entered from there.
    """
    kept = scene.copies(1)

    def dying(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("phalanx.series.staging.Folder.hand_out", dying)
        patched.setattr("phalanx.series.staging.recover", lambda *_: [])
        with pytest.raises(KeyboardInterrupt):
            scene.publish()
    scene.file.write_bytes(kept[1])
    with pytest.raises(LedgerError, match="older than what was published"):
        scene.publish()
    (staged,) = (path for path in scene.out.iterdir() if path.name.endswith(".staging"))
    reconcile("s", [staged], ledger=scene.ledger)
    with pytest.raises(ReleaseError, match="s-2 was recorded"):
        scene.publish()
    assert scene.publish().number == 3
    assert sorted(path.name for path in scene.out.iterdir()) == ["s-1", "s-2", "s-3"]


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_releases_are_not_writable_by_others(scene: Scene) -> None:
    """With umask 0 a release, its tables, its report and the folder that gets it are writable by
    their owner, and ledger, key and mark private.
    """
    before = os.umask(0)
    try:
        scene.publish()
    finally:
        os.umask(before)
    assert [path for path in scene.out.rglob("*") if path.stat().st_mode & 0o022] == []
    assert not scene.out.stat().st_mode & 0o002
    assert {path.stat().st_mode & 0o777 for path in scene.folder.glob("ledger.db*")} == {0o600}
