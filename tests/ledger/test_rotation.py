# SPDX-License-Identifier: Apache-2.0
"""The key of a ledger is its own, also where one key is set for several; it can be changed, whole
or not at all, and everybody stays recognised.
"""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from phalanx.errors import LedgerError
from phalanx.ledger import Ledger, ReleaseEntry
from phalanx.ledger.keys import VARIABLE, Keyring
from phalanx.ledger.moving import _locked
from phalanx.ledger.rotation import NEW_VARIABLE
from phalanx.ledger.store import Store

PERSONS = pl.Series([f"p{i}" for i in range(20)])


def put(ledger: Ledger, number: int, series: str = "visits") -> None:
    persons = ledger.person_key(series).hash(PERSONS)
    memory = pl.DataFrame({"person": persons, "number": [number] * 20})
    groups = pl.DataFrame(
        {"person": persons, "group": pl.Series([i % 3 for i in range(20)], dtype=pl.Int64)}
    )
    entry = ReleaseEntry(
        number=number,
        folder=f"f{number}",
        staging=f"s{number}",
        digest=f"{number}" * 64,
        summary={"rows": 20},
    )
    ledger.commit(
        series, entry, promise={"m": 2}, remember={"t": memory}, groups=groups, state={"c": memory}
    )


def knows(ledger: Ledger) -> tuple[Any, ...]:
    """All that a ledger says of a series."""
    return (
        ledger.releases("visits"),
        ledger.remembered("visits")["t"].to_dicts(),
        ledger.state("visits")["c"].to_dicts(),
        ledger.groups("visits", 1).to_dicts(),
        ledger.person_key("visits").hash(PERSONS).to_list(),
    )


def test_one_key_for_two_ledgers_is_two_keys(
    backend: str, new_url: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one key in the environment, persons of one ledger are noise in another, and a segment
    does not open there.
    """
    monkeypatch.setenv(VARIABLE, "ab" * 32)
    with Ledger.open(new_url(backend)) as one, Ledger.open(new_url(backend)) as other:
        for ledger in (one, other):
            put(ledger, 1)
        assert not set(one.person_key("visits").hash(PERSONS)) & set(
            other.person_key("visits").hash(PERSONS)
        )
        ((sealed,),) = one._store.run("SELECT sealed FROM segments WHERE name = 'memory/t'")
        other._store.run("UPDATE segments SET sealed = $1 WHERE name = 'memory/t'", sealed)
        with pytest.raises(LedgerError, match="changed by others"):
            other.remembered("visits")


def test_a_key_is_changed(url: str, key_file: Path) -> None:
    """Everything is as it was, under another key; the old one opens nothing, and the series goes on
    with the same persons.
    """
    with Ledger.open(url) as ledger:
        put(ledger, 1)
        put(ledger, 1, "other")
        before, old = knows(ledger), key_file.read_text()
        blobs = {row[0] for row in ledger._store.run("SELECT sealed FROM segments")}
        assert ledger.rotate_key() == f"the key file {key_file}"
        assert knows(ledger) == before
        assert not blobs & {row[0] for row in ledger._store.run("SELECT sealed FROM segments")}
    assert key_file.read_text() != old
    assert list(key_file.parent.glob("*.next*")) == []
    with Ledger.open(url) as ledger:
        assert knows(ledger) == before
        put(ledger, 2)
        assert ledger.remembered("visits")["t"]["person"].n_unique() == 20
        ledger.rotate_key()
        assert ledger.person_key("visits").hash(PERSONS).to_list() == before[-1]
    key_file.write_text(old)
    with pytest.raises(LedgerError, match="does not hold the key of the ledger"):
        Ledger.open(url)


def test_the_key_of_an_older_ledger_is_not_changed(ledger: Ledger, key_file: Path) -> None:
    """Where the mark knows a series that the ledger does not, or more of one, the newest ledger is
    elsewhere, and would be lost without the key that is there.
    """
    put(ledger, 1)
    put(ledger, 1, "other")
    old = key_file.read_text()
    ledger._rows.delete_series("other")
    with pytest.raises(LedgerError, match="is older than what was published of series 'other'"):
        ledger.rotate_key()
    assert key_file.read_text() == old
    assert list(key_file.parent.glob("*.next*")) == []


def test_the_key_of_a_ledger_without_its_mark_is_not_changed(
    ledger: Ledger, key_file: Path
) -> None:
    """It may be an old one, as a release of it would be refused, too."""
    put(ledger, 1)
    old = key_file.read_text()
    key_file.with_suffix(".mark").unlink()
    with pytest.raises(LedgerError, match="may be an old one"):
        ledger.rotate_key()
    assert key_file.read_text() == old


def test_a_publisher_under_the_old_key_is_told(url: str) -> None:
    """Who opened the ledger before the key was changed records nothing under the old one, also of a
    series that only begins.
    """
    with Ledger.open(url) as slow:
        put(slow, 1)
        with Ledger.open(url) as other:
            other.rotate_key()
            before = knows(other)
            for number, series in ((2, "visits"), (1, "new")):
                with pytest.raises(
                    LedgerError,
                    match=r"the key of the ledger .* was changed meanwhile; nothing was recorded",
                ):
                    put(slow, number, series)
            assert knows(other) == before
            assert [s.name for s in other.series()] == ["visits"]


def test_an_interrupted_change_is_whole_or_nothing(
    url: str, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped at any statement the old key stands, after the last one the new one does, and the
    next who opens the ledger puts it in its place.
    """
    with Ledger.open(url) as ledger:
        put(ledger, 1)
        before = knows(ledger)
    old, real = key_file.read_text(), Store.run
    for last in range(1, 60):
        count = 0

        def dying(
            self: Store, statement: str, *parameters: Any, last: int = last
        ) -> list[tuple[Any, ...]]:
            nonlocal count
            count += 1
            if count == last and statement != "ROLLBACK":
                raise KeyboardInterrupt
            return real(self, statement, *parameters)

        with Ledger.open(url) as ledger, monkeypatch.context() as patched:
            patched.setattr(Store, "run", dying)
            patched.setattr(
                "phalanx.ledger.rotation._put_in_place",
                lambda _: (_ for _ in ()).throw(KeyboardInterrupt),
            )
            with pytest.raises(KeyboardInterrupt):
                ledger.rotate_key()
        assert key_file.read_text() == old
        if count < last:
            break
        with Ledger.open(url) as ledger:
            assert knows(ledger) == before
        assert key_file.read_text() == old
    assert count > 10
    with Ledger.open(url) as ledger:
        assert knows(ledger) == before
    assert key_file.read_text() != old
    assert list(key_file.parent.glob("*.next*")) == []


def test_a_key_of_the_environment(
    url: str, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new key comes from the environment, too, and no file is made."""
    monkeypatch.setenv(VARIABLE, "ab" * 32)
    with Ledger.open(url) as ledger:
        put(ledger, 1)
        before = knows(ledger)
        with pytest.raises(LedgerError, match=f"set {NEW_VARIABLE}"):
            ledger.rotate_key()
        monkeypatch.setenv(NEW_VARIABLE, "ab" * 32)
        with pytest.raises(LedgerError, match=f"{NEW_VARIABLE} is the key that {VARIABLE} has"):
            ledger.rotate_key()
        monkeypatch.setenv(NEW_VARIABLE, "cd" * 32)
        assert ledger.rotate_key() == f"the environment variable {NEW_VARIABLE}"
    with pytest.raises(LedgerError, match="does not hold the key"):
        Ledger.open(url)
    monkeypatch.setenv(VARIABLE, "cd" * 32)
    with Ledger.open(url) as ledger:
        assert knows(ledger) == before
    assert not key_file.exists()


def test_a_backup(url: str, new_url: Callable[[str], str], backend: str, tmp_path: Path) -> None:
    """Every series that goes on here, in files that another ledger takes; nobody publishes from
    there until a steward says what left since.
    """
    with Ledger.open(url) as ledger:
        for series in ("visits", "other/Köln", "gone"):
            put(ledger, 1, series)
        ledger.export_series("gone", tmp_path / "gone.series")
        written = ledger.backup(tmp_path / "backup")
        with pytest.raises(LedgerError, match="exists already and is not overwritten"):
            ledger.backup(tmp_path / "backup")
        memory = ledger.remembered("visits")["t"]
    assert sorted(path.name for path in (tmp_path / "backup").iterdir()) == sorted(
        f"{name}.series{end}" for name in ("visits", "other%2FK%C3%B6ln") for end in ("", ".key")
    )
    assert {each.series for each in written} == {"visits", "other/Köln"}
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o700
    with Ledger.open(new_url(backend)) as lost:
        for each in written:
            lost.import_series(each.file)
        assert_frame_equal(lost.remembered("visits")["t"], memory)
        with pytest.raises(LedgerError, match="may be an old one"):
            put(lost, 2)
        lost.reconcile("visits", [], forgotten=False)
        put(lost, 2)


def test_a_backup_of_long_names(
    ledger: Ledger, new_url: Callable[[str], str], tmp_path: Path
) -> None:
    """Names that are too long for a file once they are quoted: each has a file of its own, which
    begins like them and is taken in.
    """
    names = ["x" * 229, "😀" * 57, "😀" * 56 + "é", "é" * 40 + "a" * 5, "é" * 40 + "a" * 4]
    for series in names:
        put(ledger, 1, series)
    written = ledger.backup(tmp_path / "backup")
    assert len({each.file.name for each in written}) == len(names)
    assert all(len(each.key.name) <= 255 for each in written)
    for each in written:
        begin, _, rest = each.file.name.removesuffix(".series").partition("+")
        assert each.series.startswith(unquote(begin, errors="strict"))
        assert len(rest) == (0 if begin == quote(each.series) else 32)
    with Ledger.open(new_url("sqlite")) as lost:
        for each in written:
            assert lost.import_series(each.file).series == each.series


def test_a_backup_that_fails_leaves_nothing(ledger: Ledger, tmp_path: Path) -> None:
    """One series that cannot be read, and there is no backup."""
    put(ledger, 1)
    put(ledger, 1, "spoiled")
    ledger._store.run("UPDATE segments SET sealed = $1 WHERE series = 'spoiled'", b"x" * 99)
    (tmp_path / "to").mkdir()
    with pytest.raises(LedgerError, match="changed by others"):
        ledger.backup(tmp_path / "to" / "backup")
    assert list((tmp_path / "to").iterdir()) == []


def test_a_backup_to_a_place_that_cannot_be_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    """Where its folder would be, there is a file."""
    put(ledger, 1)
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match=r"cannot be written \(Not a directory\); nothing was"):
        ledger.backup(tmp_path / "file" / "backup")


def test_what_a_killed_backup_left_is_removed(ledger: Ledger, tmp_path: Path) -> None:
    """The next backup into the same folder removes it; what one who is at work has made, and
    anything else, stays.
    """
    put(ledger, 1)
    killed, working, other = (
        tmp_path / "to" / name for name in (".phalanx-backup.0a", ".phalanx-backup.0b", ".other")
    )
    for folder in (killed, working, other):
        folder.mkdir(parents=True)
        (folder / "visits.series").write_bytes(b"half")
    with _locked(working):
        ledger.backup(tmp_path / "to" / "backup")
        assert {path.name for path in (tmp_path / "to").iterdir()} == {
            "backup",
            working.name,
            other.name,
        }
        with pytest.raises(BlockingIOError), _locked(tmp_path / "to" / working.name):
            pytest.fail("two locks on one folder")
    ledger.backup(tmp_path / "to" / "again")
    assert {path.name for path in (tmp_path / "to").iterdir()} == {"backup", "again", other.name}


def test_a_change_that_fails_leaves_no_key(ledger: Ledger, key_file: Path) -> None:
    """One series that cannot be read, and the key stays as it is, with no other beside it."""
    put(ledger, 1)
    ledger._store.run("UPDATE segments SET sealed = $1", b"x" * 99)
    before = sorted(key_file.parent.iterdir())
    with pytest.raises(LedgerError, match="changed by others"):
        ledger.rotate_key()
    assert sorted(key_file.parent.iterdir()) == before


def test_a_change_that_fails_when_its_key_is_gone(
    ledger: Ledger, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What failed is said, and not that there is nothing to remove; the old key opens all."""
    put(ledger, 1)
    before = knows(ledger)

    def failing(*_: Any) -> None:
        key_file.with_name(f"{key_file.name}.next").unlink()
        raise LedgerError("this failed.")

    with monkeypatch.context() as patched:
        patched.setattr("phalanx.ledger.rotation._renew", failing)
        with pytest.raises(LedgerError, match=r"^this failed\.$"):
            ledger.rotate_key()
    assert knows(ledger) == before


def test_a_new_key_that_cannot_get_its_name(
    url: str, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger has it by then, so that both files are named, by whoever changed it and whoever
    opens the ledger; once it can be renamed, the next one who opens the ledger does it.
    """
    new, real = key_file.with_name(f"{key_file.name}.next"), Path.replace

    def read_only(self: Path, to: Path) -> Path:
        if to == key_file:
            raise OSError(errno.EROFS, "Read-only file system")
        return real(self, to)

    words = rf"{new}, which cannot be renamed to {key_file} \(Read-only file system\); rename it"
    with Ledger.open(url) as ledger:
        put(ledger, 1)
        before, old = knows(ledger), key_file.read_text()
        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", read_only)
            with pytest.raises(LedgerError, match=words):
                ledger.rotate_key()
            with pytest.raises(LedgerError, match=words):
                Ledger.open(url)
    assert key_file.read_text() == old
    with Ledger.open(url) as ledger:
        assert knows(ledger) == before
    assert key_file.read_text() != old and not new.exists()


def test_a_folder_in_which_no_key_can_be_put(
    ledger: Ledger, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that may only be read is named with the key, and what to do."""
    put(ledger, 1)
    before = key_file.read_text()

    def read_only(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", read_only)
        patched.setattr("phalanx.ledger.keys.os.open", read_only)
        with pytest.raises(
            LedgerError, match=r"key file .*\.next cannot be written .*; make its folder writable"
        ):
            ledger.rotate_key()
    assert key_file.read_text() == before
    assert len(ledger.releases("visits")) == 1


def test_keys_of_ledgers_differ() -> None:
    """Derived keys differ by ledger, from the root, and by purpose."""
    root = Keyring(b"r" * 32, "a test")
    derived = [root.of_ledger(bytes([n]) * 16).sealing("s") for n in range(5)] + [
        root.sealing("s"),
        root.of_ledger(b"\0" * 16).check(),
    ]
    assert len(set(derived)) == len(derived)
