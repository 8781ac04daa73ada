# SPDX-License-Identifier: Apache-2.0
"""The ledger in PostgreSQL says in one sentence what went wrong, shows no password and no value,
and leaves nothing readable on the server.
"""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from adbc_driver_manager import AdbcStatusCode, dbapi

from phalanx.errors import LedgerError
from phalanx.ledger import Ledger, ReleaseEntry, postgresql
from phalanx.ledger.keys import VARIABLE
from phalanx.ledger.postgresql import Postgresql
from phalanx.ledger.rows import Head
from phalanx.ledger.sealing import pack
from phalanx.ledger.store import Store
from support import postgresql_server
from support.postgresql_cases import administrator, as_user, put_rows, schema_of


@pytest.fixture
def backend() -> str:
    return "postgresql"


@pytest.fixture
def ann(url: str) -> Iterator[str]:
    """The url of a user who may do nothing yet."""
    with administrator() as server:
        with suppress(LedgerError):
            server.run("CREATE ROLE ann LOGIN")
        yield as_user(url, "ann")
        for what in ("OWNED BY ann", "ROLE ann"):
            server.run(f"DROP {what}")


def test_a_role_that_is_not_granted(ann: str) -> None:
    """The right to connect is there, and would not help."""
    with pytest.raises(LedgerError, match="have that role granted to it"):
        Ledger.open(f"{ann}%20-crole%3Dphalanx")


def test_what_is_sent_is_utf_8(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever encoding a user has: else what one steward writes is damaged for all others."""
    entry = ReleaseEntry(number=1, folder="/tmp/größe-日本", staging="s", digest="d", summary={})  # noqa: S108 - a name
    for here, there in (("LATIN1", "UTF8"), ("UTF8", "WIN1252")):
        monkeypatch.setenv("PGCLIENTENCODING", here)
        with Ledger.open(url) as ledger:
            ledger.commit(here, entry, promise={"m": 2}, remember={}, groups=None)
        monkeypatch.setenv("PGCLIENTENCODING", there)
        with Ledger.open(url) as ledger:
            assert ledger.releases(here)[0].folder == entry.folder


@pytest.mark.parametrize("hidden", ["series", "releases", "segments"])
@pytest.mark.parametrize("marked", [True, False])
def test_a_key_is_not_changed_by_who_does_not_see_all(
    url: str, ann: str, key_file: Path, hidden: str, *, marked: bool
) -> None:
    """Rows that the server hides from a user would stay under the old key; so it is kept, also where
    no mark tells of them.
    """
    with Ledger.open(url) as ledger:
        put_rows(ledger, 1)
    old, schema = key_file.read_text(), schema_of(url)
    if not marked:
        key_file.with_suffix(".mark").unlink()
    with administrator() as server:
        server.run(f"GRANT USAGE ON SCHEMA {schema} TO ann")
        server.run(f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO ann")
        server.run(f"ALTER TABLE {schema}.{hidden} ENABLE ROW LEVEL SECURITY")
    with Ledger.open(ann) as ledger, pytest.raises(LedgerError):
        ledger.rotate_key()
    assert key_file.read_text() == old
    with administrator() as server:
        server.run(f"ALTER TABLE {schema}.{hidden} DISABLE ROW LEVEL SECURITY")
    with Ledger.open(url) as ledger:
        assert len(ledger.releases("visits")) == 1


def test_rights_are_seen_beforehand(url: str, ann: str) -> None:
    """A user who may read and not record, or make no tables, is told by ``check``."""
    schema = schema_of(url)
    with administrator() as server:
        server.run(f"GRANT USAGE ON SCHEMA {schema} TO ann")
        refusal = "does not give you the permission"
        with pytest.raises(LedgerError, match=refusal):
            Ledger.check_place(ann, "visits")
        server.run(f"GRANT CREATE ON SCHEMA {schema} TO ann")
        Ledger.check_place(ann, "visits")
        server.run(f"REVOKE CREATE ON SCHEMA {schema} FROM ann")
        with Ledger.open(url) as ledger:
            put_rows(ledger, 1)
        server.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO ann")
        with pytest.raises(LedgerError, match=refusal):
            Ledger.check_place(ann, "visits")
        for right in (
            "UPDATE (head) ON {0}.series",
            "INSERT ON {0}.releases",
            "UPDATE (authentic) ON {0}.releases",
            "INSERT, DELETE ON {0}.segments",
        ):
            server.run(f"GRANT {right.format(schema)} TO ann")
        Ledger.check_place(ann, "visits")
        with pytest.raises(LedgerError, match=refusal):
            Ledger.check_place(ann, "another")
        with Ledger.open(ann) as ledger:
            put_rows(ledger, 2)
        server.run("ALTER ROLE ann SET default_transaction_read_only = on")
        with pytest.raises(LedgerError, match="may only be read here"):
            Ledger.check_place(ann, "visits")


def test_a_lost_ledger_is_seen_beforehand(url: str, key_file: Path) -> None:
    """Its mark is there, so that it would not be a new one; or its key can be read by others."""
    with Ledger.open(url) as ledger:
        put_rows(ledger, 1)
    schema = schema_of(url)
    with administrator() as server:
        server.run(f"DROP SCHEMA {schema} CASCADE")
        server.run(f"CREATE SCHEMA {schema}")
    with pytest.raises(LedgerError, match="older than what was published of series 'visits'"):
        Ledger.check_place(url, "visits")
    Ledger.check_place(url, "other")
    key_file.chmod(0o644)
    with pytest.raises(LedgerError, match="can be read by others"):
        Ledger.check_place(url, "other")


STATES = {
    "23505": "another publisher was faster",
    "40001": "was changed by others at the same moment",
    "42501": "does not give you the permission",
    "25006": "may only be read here",
    "53100": "the disk of its server is full",
    "53200": "too little memory",
    "55P03": "is locked by another publisher of this series",
    "57014": "statement_timeout",
    "42P01": "a table or column is missing",
    "XX001": "is damaged",
    "99999": "PostgreSQL numbers 99999",
}


@pytest.mark.parametrize("state", STATES)
def test_every_state_has_its_sentence(ledger: Ledger, state: str) -> None:
    """What the server refuses is told by its number, and its words, which may quote values, are not
    repeated.
    """
    error = dbapi.Error(
        f'ERROR: DETAIL: Key (name)=(MARKER) SQLSTATE: {state}\nQuery was: "MARKER"',
        status_code=AdbcStatusCode.IO,
        sqlstate=state,
    )
    for statement in ("INSERT", "COMMIT"):
        told = ledger._store.explain(error, statement)
        assert STATES[state] in told
        assert told.startswith("the ledger postgresql://")
        assert told.endswith(".")
        assert "MARKER" not in told
        assert "not known" not in told


@pytest.mark.parametrize("state", [None, "08006", "57P01", "25P03"])
def test_a_server_that_goes_away(ledger: Ledger, state: str | None) -> None:
    """Before COMMIT nothing was changed; during COMMIT nobody knows, and the sentence says so."""
    error = dbapi.Error(
        "IO: server closed the connection", status_code=AdbcStatusCode.IO, sqlstate=state
    )
    assert "lost its server; nothing was changed, so try again" in ledger._store.explain(
        error, "INSERT"
    )
    assert "whether this was recorded is not known" in ledger._store.explain(error, "COMMIT")


@pytest.mark.parametrize("moment", ["INSERT INTO releases", "COMMIT"])
def test_a_connection_that_is_cut(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """A connection that is really cut in the middle of a commit or at its end gives that sentence;
    nothing is left, and a new one publishes.
    """
    real = Store.run
    ((backend,),) = ledger._store.run("SELECT pg_backend_pid()")

    def cutting(self: Store, statement: str, *parameters: object) -> list[tuple[object, ...]]:
        if self is ledger._store and statement.startswith(moment):
            with administrator() as server:
                real(server, "SELECT pg_terminate_backend($1::int)", backend)
                while real(
                    server, "SELECT count(*) FROM pg_stat_activity WHERE pid = $1::int", backend
                ) != [(0,)]:
                    time.sleep(0.01)
        return real(self, statement, *parameters)

    monkeypatch.setattr(Store, "run", cutting)
    with pytest.raises(
        LedgerError,
        match="not known" if moment == "COMMIT" else "lost its server; nothing was changed",
    ):
        put_rows(ledger, 1)
    monkeypatch.setattr(Store, "run", real)
    with pytest.raises(LedgerError, match="lost its server"):
        ledger.releases("visits")


def test_after_a_cut_a_new_connection_goes_on(ledger: Ledger, url: str) -> None:
    """After its connection was cut a ledger is opened anew and has what was recorded."""
    put_rows(ledger, 1)
    ((backend,),) = ledger._store.run("SELECT pg_backend_pid()")
    with administrator() as server:
        server.run("SELECT pg_terminate_backend($1::int)", backend)
    with pytest.raises(LedgerError, match="lost its server"):
        put_rows(ledger, 2)
    with Ledger.open(url) as again:
        put_rows(again, 2)
        assert len(again.releases("visits")) == 2


def test_a_vanished_publisher_frees_the_series(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A publisher that says nothing more in the middle of a commit is given up by the server after
    a time, and the series is free.
    """
    monkeypatch.setattr(postgresql, "_IDLE_MILLISECONDS", 200)
    with Ledger.open(url) as vanished, Ledger.open(url) as other:
        vanished._store.run(vanished._store.begin)
        vanished._store.exclude("visits")
        put_rows(other, 1)
        with pytest.raises(LedgerError, match="lost its server; nothing was changed"):
            vanished._store.run("SELECT 1")


def test_the_same_series_is_locked(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits too long for another publisher of the series is told so, and reading what is
    remembered goes on; other series are free.
    """
    with Ledger.open(url) as ledger:
        put_rows(ledger, 1)
        monkeypatch.setattr(postgresql, "lock_milliseconds", 50)
        with Ledger.open(url) as other, ledger._store.transaction("visits"):
            for use in (lambda: put_rows(other, 2), lambda: other.releases("visits")):
                with pytest.raises(
                    LedgerError,
                    match=(
                        "is locked by another publisher of this series; try again when it has"
                        " finished"
                    ),
                ):
                    use()
            assert other.remembered("visits")["t"].height == 1
            assert other.releases("other") == []
        assert len(ledger.releases("visits")) == 1


def test_two_schemas_do_not_lock_each_other(new_url, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ledgers in one database with a series of the same name do not wait for each other."""
    monkeypatch.setattr(postgresql, "lock_milliseconds", 50)
    with (
        Ledger.open(new_url("postgresql")) as one,
        Ledger.open(new_url("postgresql")) as two,
        one._store.transaction("visits"),
    ):
        put_rows(two, 1)


def test_without_the_lock_the_constraint_decides(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where nobody takes the lock, the second of two equal releases is refused in one sentence
    that quotes nobody.
    """
    monkeypatch.setattr(Postgresql, "exclude", lambda *_: None)
    with Ledger.open(url) as ledger, Ledger.open(url) as other:
        real = ledger._rows.insert_series

        def late(*said: str) -> None:
            put_rows(other, 1)
            real(*said)

        monkeypatch.setattr(ledger._rows, "insert_series", late)
        with pytest.raises(
            LedgerError, match="another publisher was faster; nothing was changed, so publish again"
        ) as told:
            put_rows(ledger, 1)
        assert "visits" not in str(told.value)
        assert len(ledger.releases("visits")) == 1


def test_settings(ledger: Ledger) -> None:
    """What the ledger relies on is on in its session, whatever the server's default."""
    names = (
        "synchronous_commit",
        "lock_timeout",
        "idle_in_transaction_session_timeout",
        "search_path",
    )
    found = {name: ledger._store.run("SELECT current_setting($1)", name)[0][0] for name in names}
    assert found == found | {
        "synchronous_commit": "on",
        "lock_timeout": "30s",
        "idle_in_transaction_session_timeout": "5min",
    }
    assert found["search_path"].startswith("ledger")


@pytest.mark.parametrize(
    ("default", "ours"),
    [("off", "on"), ("local", "on"), ("remote_write", "on"), ("remote_apply", "remote_apply")],
)
def test_commits_are_durable(url: str, default: str, ours: str) -> None:
    """A default that would lose a commit with the power is overruled, and a stricter one is
    kept.
    """
    with Ledger.open(
        url.replace("&options=", f"&options=-csynchronous_commit%3D{default}%20")
    ) as ledger:
        assert ledger._store.run("SELECT current_setting('synchronous_commit')") == [(ours,)]


def test_a_later_schema_does_not_hide_the_ledger(url: str) -> None:
    """A schema that somebody makes while a ledger is open, and that comes first in the search path,
    changes nothing for it.
    """
    first, second = f"{schema_of(url)}_first", schema_of(url)
    with Ledger.open(url.replace(second, f"{first},{second}")) as ledger:
        with administrator() as server:
            server.run(f"CREATE SCHEMA {first}")
        put_rows(ledger, 1)
        assert ledger._store.tables() == {"meta", "series", "releases", "segments"}


def test_a_schema_that_is_not_there(url: str) -> None:
    """A search path that leads nowhere is one sentence."""
    with pytest.raises(LedgerError, match="has no schema to be in"):
        Ledger.open(url + "x")


def test_another_encoding(new_url) -> None:
    """A database that cannot hold every name is refused before anything is made in it."""
    url = new_url("postgresql").split("&options=")[0]
    with administrator() as server:
        server.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(LedgerError, match="encoding LATIN1"):
        Ledger.open(url.replace("/postgres?", "/latin?"))


def test_tables_of_others(url: str) -> None:
    """Among somebody's tables no ledger is made, and an empty schema is none unless one may be
    made; no key is left either way.
    """
    with pytest.raises(
        LedgerError, match=r"there is no ledger at postgresql://.* \(the database is empty\)"
    ):
        Ledger.open(url, create=False)
    with administrator() as server:
        server.run(f"CREATE TABLE {schema_of(url)}.patients (name TEXT)")
    with pytest.raises(LedgerError, match="is a database and not a ledger; name another database"):
        Ledger.open(url)
    assert not Path(os.environ["XDG_CONFIG_HOME"]).exists()


def test_permissions(url: str, ann: str, key_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without rights a user is told whom to ask for which; with rights to read they read; with all
    that the sentence names they publish.
    """
    schema = schema_of(url)
    with Ledger.open(url) as ledger:
        put_rows(ledger, 1)
    monkeypatch.setenv(VARIABLE, key_file.read_text().strip())
    with administrator() as server:
        with pytest.raises(LedgerError, match="has no schema to be in"):
            Ledger.open(ann)
        server.run(f"GRANT USAGE ON SCHEMA {schema} TO ann")
        with pytest.raises(LedgerError, match="does not give you the permission; ask its owner"):
            Ledger.open(ann)
        server.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO ann")
        with Ledger.open(ann) as reader:
            assert len(reader.releases("visits")) == 1
            with pytest.raises(LedgerError, match="does not give you the permission"):
                put_rows(reader, 2)
            assert len(reader.releases("visits")) == 1
        server.run(f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO ann")
        with Ledger.open(ann) as publisher:
            put_rows(publisher, 2)


def test_a_user_who_may_not_make_tables(url: str, ann: str) -> None:
    """Where there is no ledger yet, a user without the right to make one is told."""
    with administrator() as server:
        server.run(f"GRANT USAGE ON SCHEMA {schema_of(url)} TO ann")
    with pytest.raises(
        LedgerError, match="does not give you the permission; ask its owner for USAGE and CREATE"
    ):
        Ledger.open(ann)


def test_members_of_a_role_share_a_ledger(
    url: str, ann: str, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way that the documentation shows: a role owns the tables, and its members name it in the
    url.
    """
    schema = schema_of(url)
    with administrator() as server:
        server.run(f"CREATE ROLE stewards_{schema}")
        for statement in (
            f"GRANT stewards_{schema} TO ann",
            f"GRANT CREATE, USAGE ON SCHEMA {schema} TO stewards_{schema}",
        ):
            server.run(statement)

        def member(user_url: str) -> str:
            return user_url.replace("&options=", f"&options=-crole%3Dstewards_{schema}%20")

        with Ledger.open(member(ann)) as ledger:
            put_rows(ledger, 1)
        monkeypatch.setenv(VARIABLE, key_file.read_text().strip())
        with Ledger.open(member(url)) as ledger:
            put_rows(ledger, 2)
            assert len(ledger.releases("visits")) == 2


def test_read_only(url: str) -> None:
    """On a server that takes no changes reading goes on, and a commit says why it does not."""
    with Ledger.open(url) as ledger:
        put_rows(ledger, 1)
    with Ledger.open(
        url.replace("&options=", "&options=-cdefault_transaction_read_only%3Don%20")
    ) as ledger:
        assert len(ledger.releases("visits")) == 1
        with pytest.raises(
            LedgerError, match=r"may only be read here .the server is a standby, or was told so."
        ):
            put_rows(ledger, 2)


def test_a_time_limit(url: str) -> None:
    """A commit that takes longer than the server allows says so and leaves nothing."""
    with Ledger.open(url) as ledger:
        put_rows(ledger, 1)
        ledger._store.run("SET statement_timeout = 50")
        with (
            Ledger.open(url) as other,
            other._store.transaction("visits"),
            pytest.raises(LedgerError, match="statement_timeout"),
        ):
            put_rows(ledger, 2)
        ledger._store.run("SET statement_timeout = 0")
        put_rows(ledger, 2)


def test_an_interrupted_wait(url: str) -> None:
    """Ctrl-C while the ledger waits for its server ends the wait at once, in one sentence, with
    nothing changed.
    """
    with Ledger.open(url) as ledger, Ledger.open(url) as other:
        with other._store.transaction("visits"):
            keys = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            keys.start()
            with pytest.raises(LedgerError, match="was interrupted in its work, by you"):
                put_rows(ledger, 1)
            keys.join()
        assert ledger.releases("visits") == []
        put_rows(ledger, 1)


def test_a_stricter_default_is_not_in_the_way(url: str) -> None:
    """Where all transactions of a user are serializable, a publisher who waited still sees the
    release that was faster, and says so.
    """
    strict = url.replace("&options=", "&options=-cdefault_transaction_isolation%3Dserializable%20")
    with Ledger.open(strict) as ledger, Ledger.open(strict) as other:
        put_rows(other, 1)
        with pytest.raises(LedgerError, match="published by another process meanwhile"):
            put_rows(ledger, 1)
        put_rows(ledger, 2)


def test_a_large_table(ledger: Ledger) -> None:
    """Sixty million bytes in one sealed table go in and come back; the limit itself, 900 million,
    was tried by hand.
    """
    rows = 7_500_000
    put_rows(ledger, 1, rows)
    found = ledger.remembered("visits")["t"]["n"]
    assert (len(found), found[0], found[-1]) == (rows, 0, rows - 1)


def test_nothing_about_persons_is_on_the_server(ledger: Ledger, url: str) -> None:
    """No identifier, value or person key is in any file of the server: tables, write-ahead log, a
    log of all statements with their parameters; nor in its statistics.
    """
    names = [f"MARKERPERSON{i}" for i in range(300)]
    persons = ledger.person_key("visits").hash(pl.Series(names))
    memory = pl.DataFrame({"who": names, "person": persons, "value": ["MARKERVALUE"] * 300})
    groups = pl.DataFrame({"person": persons, "group": pl.Series([7] * 300, dtype=pl.Int64)})
    markers = [
        b"MARKER",
        b"MARKER".hex().encode(),
        persons[7],
        persons[7].hex().encode(),
        "MARKER".encode("utf-16-le"),
    ]

    def seen() -> set[bytes]:
        with administrator() as server:
            server.run("CHECKPOINT")
        contents = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
        assert len(contents) > 500
        return {marker for content in contents for marker in markers if marker in content}

    folder = Path(url.partition("host=")[2].partition("&")[0])
    ledger._store.run("SET log_statement = 'all'")
    ledger._store.run(
        "ALTER TABLE meta ALTER COLUMN value SET STORAGE EXTERNAL"
    )  # compressed, the twin would hide
    for number in (1, 2):
        entry = ReleaseEntry(
            number=number, folder="f", staging="s", digest="d", summary={"rows": 300}
        )
        ledger.commit(
            "visits",
            entry,
            promise={"m": 2},
            remember={"t": memory},
            groups=groups,
            state={"c": memory},
        )
    ledger._store.run("ANALYZE")
    statistics = ledger._store.run(
        "SELECT tablename::text, attname::text, most_common_vals::text FROM pg_stats WHERE"
        " schemaname = current_schema()"
    )
    assert {table for table, _, _ in statistics} == {"meta", "series", "releases", "segments"}
    assert "MARKER" not in str(statistics)
    assert seen() == set()
    ledger._store.run("INSERT INTO meta (name, value) VALUES ($1, $2)", "twin", bytes(pack(memory)))
    assert seen() >= {b"MARKER", persons[7]}, "the look itself must find what is not sealed"


def test_a_server_that_is_stopped(new_url) -> None:
    """A server that is shut down in the middle of a commit gives one sentence, and after its start
    the ledger is as before.
    """
    new_url("postgresql")  # skips where there is no server
    with (
        tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder,
        postgresql_server.server(folder) as url,
        Ledger.open(url) as ledger,
    ):
        put_rows(ledger, 1)
        pid = Path(folder) / "data" / "postmaster.pid"

        def stop_in_the_middle() -> None:
            with ledger._store.transaction("other"):
                ledger._rows.insert_series("other", "{}", "2026-01-31", Head.of("{}", [], 0))
                os.kill(int(pid.read_text().split()[0]), signal.SIGINT)
                while pid.exists():
                    time.sleep(0.02)

        with pytest.raises(LedgerError, match="lost its server in the moment of recording"):
            stop_in_the_middle()
        with pytest.raises(LedgerError, match="cannot be reached"):
            Ledger.open(url)
        postgresql_server.start(Path(folder))
        with Ledger.open(url) as again:
            assert [(s.name, s.releases) for s in again.series()] == [("visits", 1)]


def test_passwords(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No password and a wrong one are a sentence each, which shows none; the right one may stand in
    a password file.
    """
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    with administrator() as server:
        server.run("CREATE ROLE careful LOGIN PASSWORD 'hunter2'")
        server.run(f"GRANT USAGE, CREATE ON SCHEMA {schema_of(url)} TO careful")
    try:
        for user, words in (
            ("careful", "asks for a password and none is given"),
            ("careful:hunter3", "refuses the user or the password"),
        ):
            with pytest.raises(LedgerError, match=words) as told:
                Ledger.open(as_user(url, user))
            assert "hunter" not in str(told.value)
        (tmp_path / "pgpass").touch(0o600)
        (tmp_path / "pgpass").write_text("*:*:*:careful:hunter2\n")
        with Ledger.open(as_user(url, "careful")) as ledger:
            put_rows(ledger, 1)
            assert "hunter" not in repr(ledger)
    finally:
        with administrator() as server:
            for what in ("OWNED BY careful", "ROLE careful"):
                server.run(f"DROP {what}")
