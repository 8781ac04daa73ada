# SPDX-License-Identifier: Apache-2.0
"""The SQLite file is private, forgets what is deleted, and every failure is one sentence."""

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from adbc_driver_manager import AdbcStatusCode, dbapi

from phalanx.errors import LedgerError
from phalanx.ledger import Ledger, ReleaseEntry, sqlite
from phalanx.ledger.sqlite import Sqlite


@pytest.fixture
def backend() -> str:
    return "sqlite"


@pytest.fixture
def wide_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def put_rows(ledger: Ledger, number: int, series: str = "visits", *, rows: int = 1) -> None:
    entry = ReleaseEntry(number=number, folder="f", staging="s", digest="d", summary={})
    ledger.commit(
        series,
        entry,
        promise={"m": 2},
        remember={"t": pl.DataFrame({"n": range(rows)})},
        groups=None,
    )


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
@pytest.mark.usefixtures("wide_umask")
def test_files_are_private_whatever_the_umask(ledger: Ledger, file: Path) -> None:
    """Ledger, key and journal are readable by their owner only, even with umask 0 and while a
    commit runs.
    """
    with ledger._store.transaction():
        ledger._store.run("INSERT INTO meta (name, value) VALUES ($1, $2)", "x", b"x")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()}
    assert modes == {"ledger.db": 0o600, "ledger.db.key": 0o600, "ledger.db-journal": 0o600}


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_a_strict_umask_does_not_lock_the_owner_out(url: str, file: Path) -> None:
    """With umask 0777 the files still are 0600."""
    before = os.umask(0o777)
    try:
        Ledger.open(url).close()
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()} == {0o600}


def test_at_rest_there_is_one_file(url: str, file: Path) -> None:
    """Between commits nothing stands beside ledger, key and mark, so that a copy of the ledger and
    its key is whole.
    """
    with Ledger.open(url) as ledger:
        put_rows(ledger, 1)
        assert sorted(p.name for p in file.parent.iterdir()) == [
            "ledger.db",
            "ledger.db.key",
            "ledger.db.mark",
        ]


def test_settings(ledger: Ledger) -> None:
    """What the ledger relies on is really on in the SQLite that ADBC carries."""
    settings = {
        name: ledger._store.run(f"PRAGMA {name}")[0][0]
        for name in ("secure_delete", "synchronous", "journal_mode", "foreign_keys", "busy_timeout")
    }
    assert settings == {
        "secure_delete": 1,
        "synchronous": 3,
        "journal_mode": "delete",
        "foreign_keys": 1,
        "busy_timeout": 5000,
    }


@pytest.mark.parametrize("secure", [True, False])
def test_deleted_is_deleted(ledger: Ledger, file: Path, *, secure: bool) -> None:
    """Deleted bytes are overwritten; without secure_delete, the broken twin, they stay."""
    if not secure:
        ledger._store.run("PRAGMA secure_delete = OFF")
    ledger._store.run(
        "INSERT INTO meta (name, value) VALUES ($1, $2)", "x", b"DELETED-MARKER" * 1000
    )
    assert b"DELETED-MARKER" in file.read_bytes()
    ledger._store.run("DELETE FROM meta WHERE name = $1", "x")
    assert (b"DELETED-MARKER" in file.read_bytes()) is not secure


def test_a_write_ahead_log_is_taken_back(url: str, file: Path) -> None:
    """A ledger that some tool switched to a write-ahead log is switched back when it is opened."""
    with Ledger.open(url) as ledger:
        assert ledger._store.run("PRAGMA journal_mode = WAL") == [("wal",)]
        put_rows(ledger, 1)
    with Ledger.open(url) as ledger:
        put_rows(ledger, 2)
        assert sorted(p.name for p in file.parent.iterdir()) == [
            "ledger.db",
            "ledger.db.key",
            "ledger.db.mark",
        ]
        assert len(ledger.releases("visits")) == 2


def test_a_locked_ledger(url: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While somebody else publishes, a commit waits and then says so; nothing is changed, and
    reading goes on.
    """
    monkeypatch.setattr(sqlite, "busy_milliseconds", 50)
    with Ledger.open(url) as ledger, Ledger.open(url) as other:
        put_rows(ledger, 1)
        with other._store.transaction():
            other._store.run("INSERT INTO meta (name, value) VALUES ($1, $2)", "x", b"x")
            with pytest.raises(LedgerError) as told:
                put_rows(ledger, 2)
            assert len(ledger.releases("visits")) == 1
        assert (
            str(told.value)
            == f"the ledger {file} is locked by another publisher; try again when it has finished."
        )
        put_rows(ledger, 2)
        other._store.run("BEGIN EXCLUSIVE")
        for use in (ledger.series, lambda: ledger.remembered("visits"), lambda: Ledger.open(url)):
            with pytest.raises(LedgerError, match="is locked by another publisher"):
                use()
        other._store.run("ROLLBACK")
        assert len(ledger.releases("visits")) == 2


def test_a_reader_at_commit(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that a reader holds up at the last moment leaves nothing, and no transaction
    open.
    """
    monkeypatch.setattr(sqlite, "busy_milliseconds", 50)
    with Ledger.open(url) as ledger, Ledger.open(url) as other:
        other._store.run("BEGIN")
        assert other.series() == []
        with pytest.raises(LedgerError, match="is locked by another publisher"):
            put_rows(ledger, 1)
        other._store.run("COMMIT")
        assert ledger.series() == []
        put_rows(ledger, 1)


def test_a_full_disk(url: str) -> None:
    """A commit that does not fit leaves the ledger as it was, and goes through when there is
    room.
    """
    with Ledger.open(url) as ledger:
        put_rows(ledger, 1)
        (pages,) = ledger._store.run("PRAGMA page_count")[0]
        ledger._store.run(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(LedgerError, match="disk is full; nothing was changed"):
            put_rows(ledger, 2, rows=10_000)
        assert len(ledger.releases("visits")) == 1
        ledger._store.run(f"PRAGMA max_page_count = {pages + 10_000}")
        put_rows(ledger, 2, rows=10_000)
        assert ledger.remembered("visits")["t"].height == 10_001


def test_no_file(tmp_path: Path) -> None:
    """Without ``create`` nothing is made: neither for a name that is not there nor in an empty
    file.
    """
    with pytest.raises(LedgerError, match="there is no ledger at"):
        Ledger.open(f"sqlite:///{tmp_path}/none.db", create=False)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty.db").touch()
    with pytest.raises(LedgerError, match="there is no ledger at"):
        Ledger.open(f"sqlite:///{tmp_path}/empty.db", create=False)
    assert [p.name for p in tmp_path.iterdir()] == ["empty.db"]


@pytest.mark.parametrize("create", [True, False])
def test_files_that_are_no_ledger(tmp_path: Path, *, create: bool) -> None:
    """Text, a damaged ledger, somebody's database and a later format are refused and left as they
    are, and get no key.
    """
    (tmp_path / "text.db").write_text("a plain file\n" * 100)
    foreign = Sqlite.open(f"sqlite:///{tmp_path}/foreign.db", create=True)
    foreign.run("CREATE TABLE patients (name TEXT)")
    foreign.close()
    meta = Sqlite.open(f"sqlite:///{tmp_path}/meta.db", create=True)
    meta.run("CREATE TABLE meta (name TEXT, value TEXT)")
    meta.close()
    (tmp_path / "meta.db.key").touch(0o600)
    (tmp_path / "meta.db.key").write_text("0" * 64)
    with Ledger.open(f"sqlite:///{tmp_path}/later.db") as later:
        later._store.run("UPDATE meta SET value = $1 WHERE name = 'format'", b"phalanx-ledger-99")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    expected = {
        "text": "some other file",
        "foreign": "is a database and not a ledger",
        "meta": "of this version",
        "later": "of this version",
    }
    for name, words in expected.items():
        with pytest.raises(LedgerError, match=words):
            Ledger.open(f"sqlite:///{tmp_path}/{name}.db", create=create)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("change", "use"),
    [
        ("releases RENAME COLUMN summary TO summaries", lambda ledger: ledger.releases("visits")),
        ("series RENAME COLUMN created TO began", lambda ledger: put_rows(ledger, 1, "other")),
        ("segments RENAME TO parts", lambda ledger: ledger.remembered("visits")),
    ],
    ids=["no such column", "has no column", "no such table"],
)
def test_a_ledger_of_other_columns(
    ledger: Ledger, change: str, use: Callable[[Ledger], Any]
) -> None:
    """One of another version: the sentence that PostgreSQL's ledger has."""
    put_rows(ledger, 1)
    ledger._store.run(f"ALTER TABLE {change}")
    with pytest.raises(LedgerError, match="another version of Phalanx, since a table or column is"):
        use(ledger)


def test_damage(url: str, file: Path) -> None:
    """A ledger with overwritten pages is called damaged, or changed, never read as if it were
    whole.
    """
    with Ledger.open(url) as ledger:
        put_rows(ledger, 1, rows=10_000)
    content = bytearray(file.read_bytes())
    for page in range(4096, len(content), 4096):
        content[page : page + 4096] = b"\xa5" * 4096
    file.write_bytes(bytes(content[: len(content) // 4096 * 4096]))
    with (
        pytest.raises(LedgerError, match=r"damaged|changed|not a ledger"),
        Ledger.open(url) as ledger,
    ):
        ledger.remembered("visits")


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    """A folder that is not there, a path through a file, and a folder in the ledger's place are one
    sentence each.
    """
    (tmp_path / "file").touch()
    for name, words in (
        ("none/l.db", "cannot be made .No such file"),
        ("file/l.db", "cannot be made .Not a directory"),
        ("", "is a folder"),
    ):
        with pytest.raises(LedgerError, match=words):
            Ledger.open(f"sqlite:///{tmp_path}/{name}")


def test_a_folder_without_permission(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system refuses to make the file, the sentence gives its reason."""

    def refused(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(LedgerError, match=r"cannot be made \(Permission denied\); name a folder"):
        Ledger.open(url)


def test_a_file_that_sqlite_does_not_open(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one sentence that names the ledger, and none of the driver's words."""

    def refused(_: str) -> None:
        raise dbapi.Error(
            "IO: [SQLite] Failed to open: unable to open database file",
            status_code=AdbcStatusCode.IO,
        )

    monkeypatch.setattr("adbc_driver_sqlite.connect", refused)
    with pytest.raises(
        LedgerError, match=r"ledger\.db cannot be opened; make the file and"
    ) as told:
        Ledger.open(url)
    assert "SQLite" not in str(told.value)


def test_a_ledger_that_may_only_be_read(url: str) -> None:
    """Reading goes on where writing is forbidden, and a commit says that it is."""
    with Ledger.open(url) as ledger:
        put_rows(ledger, 1)
        ledger._store.run("PRAGMA query_only = ON")
        assert len(ledger.releases("visits")) == 1
        with pytest.raises(LedgerError, match="may not be written"):
            put_rows(ledger, 2)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("IO: failed to open '/x': failed to allocate memory", "cannot be opened"),
        ("IO: Failed to step query: disk I/O error", "the disk reports an error"),
        (
            (
                "INVALID_ARGUMENT: [SQLite] Failed to prepare query: unable to open database"
                " file\nquery: SELECT 'MARKER'"
            ),
            "cannot be opened",
        ),
        (
            (
                "INVALID_ARGUMENT: [SQLite] Failed to prepare query: something new\nquery: SELECT"
                " 'MARKER'"
            ),
            "SQLite calls 'something new'",
        ),
    ],
)
def test_the_drivers_words_are_translated(ledger: Ledger, words: str, sentence: str) -> None:
    """Every failure of the driver becomes one sentence that names the ledger and quotes no
    statement.
    """
    told = ledger._store.explain(dbapi.Error(words, status_code=AdbcStatusCode.IO), "")
    assert sentence in told
    assert told.startswith("the ledger /")
    assert told.endswith(".")
    assert "MARKER" not in told


def test_a_disk_that_fails_at_the_last_moment(ledger: Ledger) -> None:
    """Whether a commit that it ended was recorded is not known, and is not said to be nothing; of any
    other statement, and of any other end of a commit, nothing was changed.
    """
    failed = dbapi.Error("IO: Failed to step query: disk I/O error", status_code=AdbcStatusCode.IO)
    assert "so whether this was recorded is not known" in ledger._store.explain(failed, "COMMIT")
    assert "nothing was changed" in ledger._store.explain(failed, "BEGIN IMMEDIATE")
    full = dbapi.Error("IO: database or disk is full", status_code=AdbcStatusCode.IO)
    assert "nothing was changed" in ledger._store.explain(full, "COMMIT")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://u:hunter2@host/db", "starts with sqlite:/// or postgresql://"),
        ("ledger.db", "write sqlite:///ledger.db"),
        ("", "starts with sqlite:///"),
        ("sqlite:///", "names no file"),
        ("sqlite://ledger.db", "names no file"),
        ("sqlite:", "names no file"),
        ("sqlite:///a\0b", "names no file"),
    ],
)
def test_other_urls(url: str, words: str) -> None:
    """A url that names no SQLite file is refused with one that would do; a password in it is not
    shown.
    """
    with pytest.raises(LedgerError, match=words) as told:
        Ledger.open(url)
    assert "hunter2" not in str(told.value)


def test_relative_files_and_odd_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three slashes are relative to the working folder, and a file name is taken as it is, even
    where SQLite would see options in it.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("plain.db", "file:odd?mode=memory", ":memory:", "ä %20 '.db"):
        with Ledger.open(f"sqlite:///{name}") as ledger:
            put_rows(ledger, 1)
        assert (tmp_path / name).stat().st_size > 0
        assert (tmp_path / f"{name}.key").is_file()


def test_a_link_leads_to_the_same_key(tmp_path: Path) -> None:
    """By whatever link a ledger is opened, its key is the one beside the file itself."""
    with Ledger.open(f"sqlite:///{tmp_path}/real.db") as ledger:
        put_rows(ledger, 1)
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    with Ledger.open(f"sqlite:///{tmp_path}/link.db") as ledger:
        assert len(ledger.releases("visits")) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "link.db",
        "real.db",
        "real.db.key",
        "real.db.mark",
    ]


def test_pages_are_large_and_an_older_file_keeps_its_own(url: str, file: Path) -> None:
    """Segments of megabytes take a quarter of the pages, and a file with others goes on."""
    Ledger.open(url).close()
    assert int.from_bytes(file.read_bytes()[16:18], "big") == 16384
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA page_size = 4096")
        connection.execute("VACUUM")
    with Ledger.open(url) as ledger:
        put_rows(ledger, 1, rows=1000)
        assert ledger.remembered("visits")["t"].height == 1000
    assert int.from_bytes(file.read_bytes()[16:18], "big") == 4096
