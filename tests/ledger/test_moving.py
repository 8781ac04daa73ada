# SPDX-License-Identifier: Apache-2.0
"""A series goes from one ledger to another whole, with its persons, or stays where it is; between
every two kinds of databases.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from phalanx.errors import LedgerError
from phalanx.ledger import Ledger, ReleaseEntry, transfer
from phalanx.ledger.keys import fresh_key, write_key
from phalanx.ledger.rows import MOVED, PERSON, Rows
from phalanx.ledger.sqlite import Sqlite
from phalanx.ledger.store import Store
from phalanx.ledger.transfer import Contents
from support.moving_cases import PERSONS, SPOILED, everything, publish, same, spoiled

KINDS = list(product(("sqlite", "postgresql"), repeat=2))


@dataclass
class Move:
    """A ledger with a series ``visits`` of two releases, an empty ledger, and the file on its way
    between them.
    """

    source: Ledger
    target: Ledger
    file: Path

    def export(self, **said: Any) -> None:
        self.source.export_series("visits", self.file, **said)

    def take(self, **said: Any) -> None:
        self.target.import_series(self.file, **said)


@pytest.fixture
def kinds() -> tuple[str, str]:
    """Where from and where to; tests that are about the way say others."""
    return ("sqlite", "sqlite")


@pytest.fixture
def move(kinds: tuple[str, str], new_url: Callable[[str], str], tmp_path: Path) -> Iterator[Move]:
    (tmp_path / "way").mkdir()
    with Ledger.open(new_url(kinds[0])) as source, Ledger.open(new_url(kinds[1])) as target:
        publish(source, 1)
        publish(source, 2)
        publish(source, 1, "other")
        yield Move(source, target, tmp_path / "way" / "visits.series")


@pytest.mark.parametrize("kinds", KINDS)
def test_a_series_arrives_whole(move: Move) -> None:
    """Promise, entries, memory, what is carried, groups, the day it began and the persons are the
    same in the new ledger, and other series stay behind.
    """
    said = move.source.export_series("visits", move.file)
    assert (said.series, said.releases, said.copy, said.file, said.key.name) == (
        "visits",
        2,
        False,
        move.file,
        "visits.series.key",
    )
    assert said.folders == ["/there/visits-1", "/there/visits-2"]
    move.take()
    assert same(move.source, move.target)
    assert [s.name for s in move.target.series()] == ["visits"]
    assert [(s.name, s.moved) for s in move.source.series()] == [("other", False), ("visits", True)]
    assert [(s.name, s.moved) for s in move.target.series()] == [("visits", False)]


@pytest.mark.parametrize("kinds", KINDS)
def test_it_goes_on_with_the_same_persons(move: Move) -> None:
    """A release in the new ledger knows everybody by the key of before, and replaces what the last
    release of the old one carried.
    """
    move.export()
    move.take()
    publish(move.target, 3)
    memory = move.target.remembered("visits")["t"]
    assert memory["person"].n_unique() == 50
    assert memory["number"].to_list() == [n for n in (1, 2, 3) for _ in range(50)]
    assert move.target.state("visits")["c"]["number"].unique().to_list() == [3]


def test_without_its_key_the_persons_would_be_forgotten(
    move: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken twin of the test above: under a key that the new ledger derives, everybody is
    somebody else.
    """
    move.export()
    move.take()
    monkeypatch.setattr(Rows, "person_key", lambda self, series, _: self.keys.person(series))
    publish(move.target, 3)
    assert move.target.remembered("visits")["t"]["person"].n_unique() == 100


@pytest.mark.parametrize("kinds", [("sqlite", "sqlite"), ("postgresql", "sqlite")])
def test_the_old_ledger_reads_and_refuses(move: Move) -> None:
    """After the move the old ledger knows everything and publishes nothing, whichever way the day
    is asked for.
    """
    move.export()
    before = everything(move.source)
    day = move.source.moved("visits")
    assert len(day) == len("2026-01-31")
    with pytest.raises(
        LedgerError,
        match=(
            rf"^series 'visits' was moved to another ledger on {day} and goes on there; name that"
            r" ledger"
        ),
    ) as told:
        publish(move.source, 3)
    assert str(told.value).count(".") == 1
    with pytest.raises(LedgerError, match="was moved to another ledger on"):
        move.source.export_series("visits", move.file.with_name("again"))
    assert everything(move.source) == before
    assert move.source.state("visits")["c"].height == 50
    publish(move.source, 2, "other")
    assert move.source.moved("other") is None


def test_a_copy_leaves_the_series_here(move: Move) -> None:
    """A copy changes nothing in the ledger, which publishes on; also what is left of a moved series
    can be copied.
    """
    before = everything(move.source)
    move.export(copy=True)
    assert everything(move.source) == before
    publish(move.source, 3)
    assert move.target.import_series(move.file).copy
    assert len(move.target.releases("visits")) == 2
    move.source.export_series("visits", move.file.with_name("moved"))
    move.source.export_series("visits", move.file.with_name("backup"), copy=True)


@pytest.mark.parametrize("kinds", KINDS)
def test_there_and_back(move: Move) -> None:
    """A series that was moved away comes back with the releases that were made elsewhere, and is
    published here again.
    """
    move.export()
    move.take()
    publish(move.target, 3)
    back = move.file.with_name("back")
    move.target.export_series("visits", back)
    move.source.import_series(back)
    assert same(move.source, move.target)
    publish(move.source, 4)
    assert move.source.remembered("visits")["t"]["person"].n_unique() == 50
    assert [(s.name, s.releases, s.moved) for s in move.source.series()] == [
        ("other", 1, False),
        ("visits", 4, False),
    ]


def test_a_move_is_undone(move: Move) -> None:
    """Importing the file into the ledger that it came from makes it go on there."""
    move.export()
    move.source.import_series(move.file)
    publish(move.source, 3)
    assert move.source.remembered("visits")["t"]["person"].n_unique() == 50


def test_only_its_own_continuation_comes_back(move: Move) -> None:
    """Another series of the same name, or an older state of this one, does not take the place of
    the one that was moved away.
    """
    older = move.file.with_name("older")
    move.source.export_series("visits", older, copy=True)
    publish(move.source, 3)
    move.export()
    publish(move.target, 1, digest="f" * 64)
    foreign = move.file.with_name("foreign")
    move.target.export_series("visits", foreign)
    before = everything(move.source)
    for file in (older, foreign):
        with pytest.raises(
            LedgerError,
            match="had another series 'visits', which was moved away; nothing was imported",
        ):
            move.source.import_series(file)
    assert everything(move.source) == before


@pytest.mark.parametrize("kinds", [("sqlite", "sqlite"), ("sqlite", "postgresql")])
def test_a_name_that_is_taken(move: Move) -> None:
    """A ledger that has a series of the name keeps it and takes nothing; the same file is not taken
    twice.
    """
    move.export()
    publish(move.target, 1)
    before = everything(move.target)
    with pytest.raises(LedgerError, match="has a series 'visits' already; nothing was imported"):
        move.take()
    assert everything(move.target) == before


def test_an_older_copy_brings_nothing(move: Move) -> None:
    """A ledger that knows all of a file and more is told so, and nothing changes."""
    move.source.export_series("visits", move.file, copy=True)
    publish(move.source, 3)
    before = everything(move.source)
    with pytest.raises(LedgerError, match=r"with 3 releases, of which the file has the first 2; .* nothing need be"):  # fmt: skip
        move.source.import_series(move.file)
    assert everything(move.source) == before


def test_three_ledgers(move: Move, new_url: Callable[[str], str]) -> None:
    """Persons are the same also after a second move."""
    move.export()
    move.take()
    again = move.file.with_name("again")
    move.target.export_series("visits", again)
    with Ledger.open(new_url("sqlite")) as third:
        third.import_series(again)
        assert same(move.source, third)


@pytest.mark.parametrize("home", [False, True])
def test_folders_elsewhere(
    move: Move, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, home: bool
) -> None:
    """With a folder given, every release is looked for there under its own name, and the entries
    hold; it may be named from the user's home.
    """
    move.export()
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    folder = f"~/{tmp_path.name}" if home else tmp_path
    assert move.target.import_series(move.file, folder=folder).folders == [
        f"{tmp_path}/visits-1",
        f"{tmp_path}/visits-2",
    ]
    assert [e.folder for e in move.target.releases("visits")] == [
        f"{tmp_path}/visits-1",
        f"{tmp_path}/visits-2",
    ]


@pytest.mark.parametrize("kinds", [("sqlite", "sqlite"), ("sqlite", "postgresql")])
def test_a_changed_file_is_refused(move: Move) -> None:
    """A file that was changed anywhere, cut short or prolonged brings nothing into the ledger; as
    it was, it is taken.
    """
    move.export()
    content, before = move.file.read_bytes(), everything(move.target)
    for how in SPOILED:
        move.file.write_bytes(spoiled(content, how))
        with pytest.raises(
            LedgerError,
            match=(
                r"is not as it was exported .changed or cut short on its way.; nothing was imported"
            ),
        ):
            move.take()
        assert everything(move.target) == before, how
    move.file.write_bytes(content)
    move.take()


def test_files_of_another_kind(move: Move, tmp_path: Path) -> None:
    """What is no exported series, or is one of a later version, is refused by its first bytes, and
    a file that is not there by its name.
    """
    move.export()
    content = move.file.read_bytes()
    for other in (
        b"",
        b"phalanx",
        b"PK\x03\x04" * 99,
        content.replace(b"phalanx-series-2", b"phalanx-series-3"),
    ):
        move.file.write_bytes(other)
        with pytest.raises(
            LedgerError, match="is not a series that this version of Phalanx exported"
        ):
            move.take()
    for absent in (tmp_path / "none", tmp_path):
        with pytest.raises(LedgerError, match=r"cannot be read .(No such file|Is a directory)"):
            move.target.import_series(absent)


def test_contents_that_no_export_writes_are_refused() -> None:
    """A key of another length, releases that are none or do not follow one another, and segments
    that a ledger makes itself.
    """
    first, third = (
        ReleaseEntry(number=number, folder="/there", staging=".1", digest="0" * 64, summary={})
        for number in (1, 3)
    )
    right = Contents(
        series="s",
        promise='{"m": 2}',
        created="2026-01-31",
        person_key=b"k" * 32,
        copy=False,
        moves=0,
        releases=[(first, ["memory/t"])],
    )
    assert Contents.from_bytes(right.to_bytes()) == right
    for wrong in (
        {"person_key": b"k" * 31},
        {"releases": []},
        {"releases": [(first, []), (third, [])]},
        *({"releases": [(first, [name])]} for name in (PERSON, MOVED)),
    ):
        with pytest.raises(ValueError, match=r"^$"):
            Contents.from_bytes(replace(right, **wrong).to_bytes())


def test_keys_that_do_not_fit(move: Move, tmp_path: Path) -> None:
    """The key of another file, no key, half a key and a key that others can read are one sentence
    each, and the right one is taken from wherever it is.
    """
    move.export()
    key = move.file.with_name("visits.series.key")
    right = key.read_text()
    assert len(bytes.fromhex(right)) == 32
    for content, words in (
        ("0" * 64, "does not hold the key of"),
        ("", "does not hold a key"),
        (right[:40], "does not hold a key"),
    ):
        key.write_text(content)
        with pytest.raises(LedgerError, match=words):
            move.take()
    key.write_text(right)
    key.chmod(0o644)
    with pytest.raises(LedgerError, match="chmod 600"):
        move.take()
    key.chmod(0o600)
    key.rename(tmp_path / "elsewhere")
    with pytest.raises(
        LedgerError,
        match=(
            r"is missing, and nothing in .*visits.series can be read without it; have it sent too"
        ),
    ):
        move.take()
    with pytest.raises(LedgerError, match="it is a folder"):
        move.take(key=tmp_path)
    assert move.target.series() == []
    move.take(key=tmp_path / "elsewhere")


def test_nobody_reads_the_file(move: Move) -> None:
    """File and key are for their owner only whatever the umask, and no name, value, person key or
    root key is in either; a table as it is would be seen.
    """
    markers = [
        b"MARKER",
        b"visits",
        *move.source.person_key("visits").hash(PERSONS).to_list(),
        move.source.person_key("visits").key,
    ]
    markers += [move.source._store.key_file.read_bytes().strip(), b"m-invariance"]
    before = os.umask(0)
    try:
        move.export()
    finally:
        os.umask(before)
    for path in sorted(move.file.parent.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not [m for m in markers if m in path.read_bytes()]
    assert sorted(p.name for p in move.file.parent.iterdir()) == [
        "visits.series",
        "visits.series.key",
    ]
    assert markers[0] in move.source._rows.segment(
        "visits", move.source.releases("visits")[1], "carried/c"
    ), "the look itself must find what is not sealed"


def test_two_exports_have_two_keys(move: Move) -> None:
    """Every file has a key of its own, so that one that was overheard opens no other."""
    for name in ("a", "b"):
        move.source.export_series("visits", move.file.with_name(name), copy=True)
    assert move.file.with_name("a.key").read_text() != move.file.with_name("b.key").read_text()
    with pytest.raises(LedgerError, match="does not hold the key"):
        move.target.import_series(move.file.with_name("a"), key=move.file.with_name("b.key"))


@pytest.mark.parametrize("taken", ["visits.series", "visits.series.key"])
def test_nothing_is_overwritten(move: Move, taken: str) -> None:
    """Where the file or its key exists, nothing is written and the series is not moved."""
    (move.file.parent / taken).write_text("dear")
    with pytest.raises(LedgerError, match=f"{taken} exists already and is not overwritten"):
        move.export()
    assert [(p.name, p.read_text()) for p in move.file.parent.iterdir()] == [(taken, "dear")]
    publish(move.source, 3)


def test_places_that_cannot_be_written(move: Move, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder and a full disk are one sentence each; no file is left, and the series is not
    moved.
    """

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(
        LedgerError, match=r"cannot be written .No such file or directory.; nothing was exported"
    ):
        move.source.export_series("visits", move.file / "none")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(
            LedgerError, match=r"cannot be written .No space left on device.; nothing was exported"
        ):
            move.export()
        folder = move.file.parent / "backup"
        with pytest.raises(LedgerError, match=r"backup cannot be written .No space left") as said:
            move.source.backup(folder)
        assert ".phalanx" not in str(said.value) and "nothing was copied" in str(said.value)
    assert list(move.file.parent.iterdir()) == []
    publish(move.source, 3)


def test_an_unknown_series(move: Move) -> None:
    """A series that the ledger does not know is not exported, and no file is left."""
    with pytest.raises(LedgerError, match="knows no series 'visit'"):
        move.source.export_series("visit", move.file)
    with pytest.raises(LedgerError, match="knows no series 'visit'"):
        move.source.reconcile("visit", [], forgotten=False)
    assert list(move.file.parent.iterdir()) == []


def test_another_hand_beside_an_export(move: Move) -> None:
    """A key that somebody else puts beside the file while it is written is never taken for ours,
    and stays.
    """
    key_file = transfer.key_beside(move.file)

    def export() -> None:
        with transfer.Outgoing.to(move.file) as out:
            out.write(b"a record")
            write_key(key_file, fresh_key(), remedy="")
            out.finish()

    with pytest.raises(LedgerError, match="exists already"):
        export()
    assert list(move.file.parent.iterdir()) == [key_file]


def interrupted_at(
    monkeypatch: pytest.MonkeyPatch, store: Store, after: int, act: Callable[[], None]
) -> bool:
    """Whether an action was interrupted instead of running its n-th statement in one of the
    databases; False where it has fewer.
    """
    real, count = Store.run, 0

    def failing(self: Store, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        nonlocal count
        count += self is store
        if self is store and statement != "ROLLBACK" and count == after:
            raise KeyboardInterrupt
        return real(self, statement, *parameters)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "run", failing)
        try:
            act()
        except KeyboardInterrupt:
            return True
    return False


@pytest.mark.parametrize("kinds", [("sqlite", "sqlite"), ("postgresql", "postgresql")])
def test_interrupted_anywhere(move: Move, monkeypatch: pytest.MonkeyPatch) -> None:
    """An export or import that is interrupted at any statement leaves both ledgers as they were,
    and no file; then it can be done again.
    """
    source, after = everything(move.source), 1
    while interrupted_at(monkeypatch, move.source._store, after, move.export):
        assert everything(move.source) == source
        assert list(move.file.parent.iterdir()) == []
        after += 1
    assert after > 10
    target, after = everything(move.target), 1
    while interrupted_at(monkeypatch, move.target._store, after, move.take):
        assert everything(move.target) == target
        after += 1
    assert after > 12
    assert same(move.source, move.target)


def test_the_file_is_there_before_the_mark(move: Move, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the ledger commits that a series is moved, file and key are complete, so that no power
    failure moves a series into nothing.
    """
    real, seen = Store.run, []

    def looking(self: Store, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        if statement == "COMMIT" and self is move.source._store:
            seen.append({path.name: path.read_bytes() for path in move.file.parent.iterdir()})
        return real(self, statement, *parameters)

    monkeypatch.setattr(Store, "run", looking)
    move.export()
    assert seen == [{path.name: path.read_bytes() for path in move.file.parent.iterdir()}]
    assert sorted(seen[0]) == ["visits.series", "visits.series.key"]


REMOVED = {
    "the mark of a move": "DELETE FROM segments WHERE series = 'visits' AND name = 'moved'",
    "the key of the persons": "DELETE FROM segments WHERE series = 'visits' AND name = 'person'",
}


@pytest.mark.parametrize("what", REMOVED)
def test_what_a_move_leaves_cannot_be_taken_away(move: Move, what: str) -> None:
    """Whoever removes the mark of a move, or the key that a series brought, is found out before
    anything is published or anybody forgotten.
    """
    move.export()
    move.take()
    ledger = move.source if "mark" in what else move.target
    ledger._store.run(REMOVED[what])
    for use in (ledger.person_key, ledger.releases, ledger.moved):
        with pytest.raises(LedgerError, match="changed by others than Phalanx"):
            use("visits")


def test_an_altered_source_is_not_exported(move: Move) -> None:
    """A ledger that others changed gives no file."""
    move.source._store.run(
        "UPDATE segments SET sealed = $1 WHERE series = 'visits' AND name = 'groups'", b"x" * 99
    )
    with pytest.raises(LedgerError, match="changed by others than Phalanx"):
        move.export()
    assert list(move.file.parent.iterdir()) == []


def test_nobody_publishes_while_a_series_leaves(
    move: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first table that is read to the mark of the move nobody else gets a release in,
    which would be lost.
    """
    monkeypatch.setattr("phalanx.ledger.sqlite.busy_milliseconds", 50)
    real, tried = Rows.segment, []

    def meanwhile(self: Rows, *place: Any) -> bytes:
        if not tried:
            monkeypatch.setattr(Rows, "segment", real)
            with closing(
                Sqlite.open(f"sqlite:///{move.source._store.where}", create=False)
            ) as store:
                other = Ledger(store, move.source._rows.keys)
                with pytest.raises(LedgerError, match="locked by another publisher") as told:
                    publish(other, 3)
                tried.append(told)
        return real(self, *place)

    monkeypatch.setattr(Rows, "segment", meanwhile)
    move.export()
    assert tried
    assert [e.number for e in move.source.releases("visits")] == [1, 2]
