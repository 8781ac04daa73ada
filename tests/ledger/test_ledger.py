# SPDX-License-Identifier: Apache-2.0
"""The ledger gives back what was committed, refuses what does not follow, and notices every change
by others.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from phalanx.errors import LedgerError
from phalanx.ledger import Ledger, ReleaseEntry, SeriesEntry, sqlite
from phalanx.ledger.marks import Mark
from phalanx.ledger.rows import Head, Rows
from phalanx.ledger.sqlite import Sqlite
from phalanx.ledger.store import Store

PROMISE = {"method": "m-invariance", "m": 2}


def entry_of(number: int, **changes: Any) -> ReleaseEntry:
    said: dict[str, Any] = {
        "number": number,
        "folder": f"releases/{number}",
        "staging": f"releases/.{number}",
        "digest": "0" * 64,
    }
    return ReleaseEntry(**(said | {"summary": {"rows": number}} | changes))


def mapping_of(ledger: Ledger, series: str, persons: list[int]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "person": ledger.person_key(series).hash(pl.Series(persons)),
            "group": pl.Series([p % 7 for p in persons], dtype=pl.Int64),
        }
    )


def put(ledger: Ledger, series: str, number: int, **tables: pl.DataFrame) -> None:
    ledger.commit(
        series,
        entry_of(number),
        promise=PROMISE,
        remember=tables,
        groups=mapping_of(ledger, series, [3, 1, 2]),
    )


NAMES = ["visits", "Besuche Köln 2026", "患者", "👩🏽‍⚕️"]
NAMES += [
    'it\'s "quoted" `x`',
    "'; DROP TABLE releases; --",
    "$1",
    "?",
    "%s {0}",
    "a\nb",
    " ",
    "\ud7ff\ue000",
    "series" * 50,
    "null",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_goes_round(url: str, name: str) -> None:
    """Whatever a series, a folder or a table of the memory is called, it comes back as it was, also
    after reopening.
    """
    memory = pl.DataFrame({"person": [b"\x01" * 16], "signature": ["flu"]})
    entry = entry_of(
        1,
        folder=name,
        staging=name + "~",
        summary={name: [1, None, {"suppressed_rows": {name: 2}}]},
    )
    with Ledger.open(url) as ledger:
        ledger.commit(name, entry, promise={name: name}, remember={name: memory}, groups=None)
    with Ledger.open(url, create=False) as ledger:
        assert [(s.name, s.releases) for s in ledger.series()] == [(name, 1)]
        assert ledger.promise(name) == {name: name}
        assert ledger.releases(name) == [entry]
        assert_frame_equal(ledger.remembered(name)[name], memory)


def test_nothing_before_the_first_release(ledger: Ledger) -> None:
    """A series that has not begun has no promise, no releases, no memory and no groups."""
    assert ledger.series() == []
    assert ledger.promise("visits") is None
    assert ledger.releases("visits") == []
    assert ledger.remembered("visits") == {}
    assert ledger.groups("visits", 1) is None


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "a\udfff"])
def test_an_impossible_name_is_refused(ledger: Ledger, name: str) -> None:
    """A name that some database cannot hold is refused in one sentence, by every door."""
    for use in (
        ledger.promise,
        ledger.releases,
        ledger.remembered,
        ledger.person_key,
        lambda s: put(ledger, s, 1),
    ):
        with pytest.raises(LedgerError, match="needs a name that is text"):
            use(name)


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "t#2", "#"])
@pytest.mark.parametrize("where", ["remember", "state"])
def test_an_impossible_name_of_a_table_is_refused(ledger: Ledger, where: str, name: str) -> None:
    """So is the sign that numbers the segments of a large table; a series may have it in its name."""
    tables: dict[str, Any] = {"remember": {"t": frame(1)}, "state": {"t": frame(1)}}
    tables[where] = {"t": frame(1), name: frame(2)}
    with pytest.raises(ValueError, match=r"series 'a#b': .* cannot name a table of a memory"):
        ledger.commit("a#b", entry_of(1), promise=PROMISE, groups=None, **tables)
    assert ledger.series() == []
    tables[where] = {"t": frame(1)}
    ledger.commit("a#b", entry_of(1), promise=PROMISE, groups=None, **tables)
    assert list(ledger.remembered("a#b")) == list(ledger.state("a#b")) == ["t"]


def test_whether_there_is_a_ledger(url: str, backend: str, file: Path) -> None:
    """It is told without making one, or its key."""
    assert Ledger.exists(url) is False
    assert not file.exists()
    with pytest.raises(LedgerError, match="there is no ledger at"):
        Ledger.open(url, create=False)
    Ledger.open(url).close()
    assert Ledger.exists(url) is True
    assert file.exists() is (backend == "sqlite")


def test_memory_is_in_release_order(ledger: Ledger) -> None:
    """Tables of one name are put together in the order of the releases (ten comes after nine); an
    empty table keeps its types.
    """
    for number in range(1, 12):
        put(ledger, "visits", number, first=pl.DataFrame({"n": [number], "value": [str(number)]}))
    put(ledger, "visits", 12, second=pl.DataFrame(schema={"x": pl.Date, "y": pl.List(pl.Int32)}))
    memory = ledger.remembered("visits")
    assert list(memory) == ["first", "second"]
    assert memory["first"]["n"].to_list() == list(range(1, 12))
    assert memory["second"].schema == {"x": pl.Date, "y": pl.List(pl.Int32)}
    assert [e.number for e in ledger.releases("visits")] == list(range(1, 13))


def test_groups_are_sorted_by_person(ledger: Ledger) -> None:
    """The mapping of a release is the one that was committed, in the order of the person keys
    whatever the order of the rows.
    """
    mapping = mapping_of(ledger, "visits", list(range(500)))
    ledger.commit("visits", entry_of(1), promise=PROMISE, remember={}, groups=mapping.reverse())
    ledger.commit("visits", entry_of(2), promise=PROMISE, remember={}, groups=mapping.clear())
    ledger.commit("visits", entry_of(3), promise=PROMISE, remember={}, groups=None)
    assert_frame_equal(ledger.groups("visits", 1), mapping.sort("person"))
    assert_frame_equal(ledger.groups("visits", 2), mapping.clear())
    assert ledger.groups("visits", 3) is None
    assert ledger.groups("visits", 4) is None


@pytest.mark.parametrize(
    "wrong",
    [
        pl.DataFrame({"person": ["x"], "group": [1]}),
        pl.DataFrame(
            {"person": [b"x" * 16], "group": [None]},
            schema={"person": pl.Binary, "group": pl.Int64},
        ),
        pl.DataFrame({"group": [1], "person": [b"x" * 16]}),
        pl.DataFrame({"person": [b"x" * 16], "group": [1], "name": ["Bob"]}),
    ],
)
def test_other_columns_are_no_groups(ledger: Ledger, wrong: pl.DataFrame) -> None:
    """A mapping is (person Binary, group Int64), complete and nothing more, and a wrong one leaves
    nothing.
    """
    if wrong.columns == ["group", "person"]:
        ledger.commit("visits", entry_of(1), promise=PROMISE, remember={}, groups=wrong)
        assert ledger.groups("visits", 1).columns == ["person", "group"]
        return
    with pytest.raises(ValueError, match="person Binary, group Int64"):
        ledger.commit("visits", entry_of(1), promise=PROMISE, remember={}, groups=wrong)
    assert ledger.series() == []


def test_persons_differ_between_series_only(url: str) -> None:
    """The same person has the same person key in a series for ever, and an unrelated one in another
    series.
    """
    with Ledger.open(url) as ledger:
        first = ledger.person_key("a").hash(pl.Series([1, 2]))
        other = ledger.person_key("b").hash(pl.Series([1, 2]))
    with Ledger.open(url) as ledger:
        again = ledger.person_key("a").hash(pl.Series(["1", "2"]))
    assert first.to_list() == again.to_list()
    assert not set(first) & set(other)


def test_series_are_listed(ledger: Ledger) -> None:
    """Series stand by name with their promise, the day they began and how many releases they
    have.
    """
    put(ledger, "b", 1)
    put(ledger, "b", 2)
    put(ledger, "a", 1)
    listed = ledger.series()
    day = listed[0].created
    assert listed == [
        SeriesEntry(name="a", promise=PROMISE, created=day, releases=1),
        SeriesEntry(name="b", promise=PROMISE, created=day, releases=2),
    ]
    assert len(day) == len("2026-01-31")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "another process meanwhile"),
        (1, "another process meanwhile"),
        (2, "another process meanwhile"),
        (4, "cannot follow"),
    ],
)
def test_only_the_next_release_is_taken(ledger: Ledger, number: int, words: str) -> None:
    """A number that is taken or not the next one is refused, and the ledger stays as it was."""
    put(ledger, "visits", 1)
    put(ledger, "visits", 2)
    before = ledger.releases("visits")
    with pytest.raises(LedgerError, match=words):
        put(ledger, "visits", number)
    assert ledger.releases("visits") == before
    put(ledger, "visits", 3)


def test_a_series_keeps_its_promise(ledger: Ledger) -> None:
    """A release under another promise is refused; the same promise in another order of keys is the
    same.
    """
    ledger.commit(
        "visits", entry_of(1), promise={"m": 2, "privacy_unit": "person"}, remember={}, groups=None
    )
    ledger.commit(
        "visits", entry_of(2), promise={"privacy_unit": "person", "m": 2}, remember={}, groups=None
    )
    with pytest.raises(LedgerError, match="promises something else"):
        ledger.commit(
            "visits",
            entry_of(3),
            promise={"m": 3, "privacy_unit": "person"},
            remember={},
            groups=None,
        )
    assert len(ledger.releases("visits")) == 2
    assert ledger.promise("visits") == {"m": 2, "privacy_unit": "person"}


def statements_of(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> list[str]:
    """The statements that an action runs."""
    real, seen = Store.run, []

    def counting(self: Store, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        seen.append(statement)
        return real(self, statement, *parameters)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "run", counting)
        act()
    return seen


def interrupted_at(monkeypatch: pytest.MonkeyPatch, after: int, act: Callable[[], None]) -> None:
    """Run an action that is interrupted instead of running its n-th statement."""
    real, count = Store.run, 0

    def failing(self: Store, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        nonlocal count
        count += 1
        if statement != "ROLLBACK" and count == after:
            raise KeyboardInterrupt
        return real(self, statement, *parameters)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "run", failing)
        with pytest.raises(KeyboardInterrupt):
            act()


def everything(ledger: Ledger) -> list[list[tuple[Any, ...]]]:
    """All rows of all tables."""
    tables = (
        "meta ORDER BY name",
        "series ORDER BY name",
        "releases ORDER BY series, number",
        "segments ORDER BY series, number, name",
    )
    return [ledger._store.run(f"SELECT * FROM {table}") for table in tables]


FIRST = {
    "sqlite": ["BEGIN IMMEDIATE", "SELECT value FROM meta WHERE name = $1"],
    "postgresql": [
        "BEGIN ISOLATION LEVEL READ COMMITTED",
        "SELECT pg_catalog.pg_advisory_xact_lock($1)",
        "SELECT pg_catalog.pg_advisory_xact_lock_shared($1)",
        "SELECT value FROM meta WHERE name = $1",
    ],
}


def test_a_failure_in_mid_commit_leaves_nothing(
    ledger: Ledger, new_url, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever statement of a commit fails (begin, what is there, series, release, two segments,
    their names, commit), the ledger is as before, and the commit can be made again.
    """
    persons = mapping_of(ledger, "visits", [3, 1, 2])

    def commit(to: Ledger) -> None:
        to.commit("visits", entry_of(1), promise=PROMISE, remember={"t": frame(1)}, groups=persons)

    with Ledger.open(new_url(backend)) as other:
        statements = statements_of(monkeypatch, lambda: commit(other))
    assert statements[: len(FIRST[backend])] == FIRST[backend]
    assert statements[-1] == "COMMIT"
    assert len(statements) == len(FIRST[backend]) + 7
    before = everything(ledger)
    for after in range(1, len(statements) + 1):
        interrupted_at(monkeypatch, after, lambda: commit(ledger))
        assert everything(ledger) == before
    commit(ledger)
    assert len(ledger.releases("visits")) == 1


FULL_DISK = {
    "sqlite": [
        "CREATE TRIGGER full_disk BEFORE INSERT ON segments BEGIN SELECT raise(ABORT, 'x'); END"
    ],
    "postgresql": [
        (
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION"
            " 'x'; END $$"
        ),
        "CREATE TRIGGER full_disk BEFORE INSERT ON segments EXECUTE FUNCTION fail()",
    ],
}


def test_without_a_transaction_a_failure_would_be_seen(
    ledger: Ledger, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken twin of the test above: statements that are not held together leave a series and a
    release behind.
    """
    monkeypatch.setattr(Store, "transaction", lambda *_: nullcontext())
    for statement in FULL_DISK[backend]:
        ledger._store.run(statement)
    with pytest.raises(LedgerError):
        put(ledger, "visits", 1)
    assert [s.releases for s in ledger.series()] == [1]


def frame(*numbers: int) -> pl.DataFrame:
    return pl.DataFrame({"n": numbers})


def carry(ledger: Ledger, number: int, **tables: pl.DataFrame) -> None:
    """Publish a release of ``visits`` that remembers one table and carries others."""
    ledger.commit(
        "visits",
        entry_of(number),
        promise=PROMISE,
        remember={"t": frame(number)},
        groups=None,
        state=tables,
    )


def test_what_is_carried_is_replaced(ledger: Ledger) -> None:
    """The last release's tables are all that is carried; those of the release before are gone from
    the database, and what is remembered stays.
    """
    assert ledger.state("visits") == {}
    carry(ledger, 1, a=frame(1), b=frame(10))
    assert {name: f["n"].to_list() for name, f in ledger.state("visits").items()} == {
        "a": [1],
        "b": [10],
    }
    carry(ledger, 2, b=frame(20), c=frame(200))
    assert {name: f["n"].to_list() for name, f in ledger.state("visits").items()} == {
        "b": [20],
        "c": [200],
    }
    names = "SELECT number, name FROM segments WHERE series = 'visits' ORDER BY number, name"
    assert ledger._store.run(names) == [
        (1, "memory/t"),
        (2, "carried/b"),
        (2, "carried/c"),
        (2, "memory/t"),
    ]
    carry(ledger, 3)
    assert ledger.state("visits") == {}
    assert ledger._store.run(names) == [(1, "memory/t"), (2, "memory/t"), (3, "memory/t")]
    assert ledger.remembered("visits")["t"]["n"].to_list() == [1, 2, 3]
    assert [e.number for e in ledger.releases("visits")] == [1, 2, 3]


def test_only_the_own_series_is_replaced(ledger: Ledger) -> None:
    """What another series carries stays."""
    ledger.commit(
        "other", entry_of(1), promise=PROMISE, remember={}, groups=None, state={"a": frame(7)}
    )
    carry(ledger, 1, a=frame(1))
    carry(ledger, 2, a=frame(2))
    assert ledger.state("other")["a"]["n"].to_list() == [7]


def test_a_replacement_that_fails_leaves_what_was(
    ledger: Ledger, backend: str, new_url, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash at any statement of a release that replaces what is carried leaves all of the release
    before, and after the last one all of the new.
    """
    with Ledger.open(new_url(backend)) as other:
        carry(other, 1, a=frame(1), b=frame(10))
        statements = statements_of(monkeypatch, lambda: carry(other, 2, a=frame(2)))
    words = [
        "SELECT s.promise",
        "SELECT promise",
        "DELETE",
        "DELETE",
        "SELECT promise",
        "UPDATE releases",
        "UPDATE series",
        "INSERT INTO releases",
        *["INSERT INTO segments"] * 2,
        "UPDATE releases",
        "COMMIT",
    ]
    assert [
        s.strip()[: len(w)] for s, w in zip(statements[len(FIRST[backend]) :], words, strict=True)
    ] == words
    carry(ledger, 1, a=frame(1), b=frame(10))
    before = everything(ledger)
    for after in range(1, len(statements) + 1):
        interrupted_at(monkeypatch, after, lambda: carry(ledger, 2, a=frame(2)))
        assert everything(ledger) == before
        assert {name: f["n"].to_list() for name, f in ledger.state("visits").items()} == {
            "a": [1],
            "b": [10],
        }
    carry(ledger, 2, a=frame(2))
    assert {name: f["n"].to_list() for name, f in ledger.state("visits").items()} == {"a": [2]}


def test_without_a_transaction_a_replacement_would_be_lost(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken twin of the test above: without a transaction an interruption loses what was
    carried.
    """
    carry(ledger, 1, a=frame(1))
    with monkeypatch.context() as patched:
        patched.setattr(Store, "transaction", lambda *_: nullcontext())
        interrupted_at(patched, 6, lambda: carry(ledger, 2, a=frame(2)))
    assert ledger._store.run("SELECT count(*) FROM segments WHERE name = 'carried/a'") == [(0,)]


def test_a_reader_sees_one_release(
    ledger: Ledger, url: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads what is carried while the next release replaces it gets all of one or all of
    the other; without a snapshot, the twin, neither.
    """
    carry(ledger, 1, a=frame(1))
    real = Rows.segment
    monkeypatch.setattr(sqlite, "busy_milliseconds", 50)

    def meanwhile(self: Rows, series: str, entry: ReleaseEntry, name: str) -> bytes:
        monkeypatch.setattr(Rows, "segment", real)
        with (
            Ledger.open(url) as other,
            suppress(LedgerError) if backend == "sqlite" else nullcontext(),
        ):  # SQLite's writer waits for the reader instead
            carry(other, entry.number + 1, a=frame(entry.number + 1))
        return real(self, series, entry, name)

    monkeypatch.setattr(Rows, "segment", meanwhile)
    assert ledger.state("visits")["a"]["n"].to_list() == [1]
    before = len(ledger.releases("visits"))
    assert before == {"sqlite": 1, "postgresql": 2}[backend]
    monkeypatch.setattr(Rows, "segment", meanwhile)
    monkeypatch.setattr(Store, "snapshot", lambda _: nullcontext())
    with pytest.raises(LedgerError, match="published by another process meanwhile"):
        ledger.state("visits")


def test_commits_under_way_are_waited_for(ledger: Ledger, url: str, backend: str) -> None:
    """A publisher that died leaves its commit to the server; whoever asks for the releases waits
    until that is decided, and does not take the staging folder away.
    """
    with Ledger.open(url) as dying, ThreadPoolExecutor(1) as pool:
        with dying._store.transaction("visits"):
            dying._rows.insert_series("visits", "{}", "2026-01-31", Head.of("{}", ["0" * 64], 0))
            dying._rows.insert_release("visits", "{}", entry_of(1), [])
            if backend == "sqlite":
                assert (
                    ledger.releases("visits") == []
                )  # nothing outlives a publisher there: its journal is rolled back by the next one
                return
            assert ledger._rows.entries("visits") == [], "the twin, which does not wait"
            asked = pool.submit(ledger.releases, "visits")
            with pytest.raises(TimeoutError):
                asked.result(timeout=0.3)
        assert [e.number for e in asked.result(timeout=30)] == [1]


def flip(ledger: Ledger, name: str, place: int, number: int = 1) -> None:
    where = "WHERE series = 'visits' AND name = $1 AND number = $2"
    sealed = bytearray(
        ledger._store.run(f"SELECT sealed FROM segments {where}", name, number)[0][0]
    )
    sealed[place] ^= 1
    ledger._store.run(
        "UPDATE segments SET sealed = $1 WHERE series = 'visits' AND name = $2 AND number = $3",
        bytes(sealed),
        name,
        number,
    )


def swap(ledger: Ledger, first: tuple[str, int, str], second: tuple[str, int, str]) -> None:
    read = "SELECT sealed FROM segments WHERE series = $1 AND number = $2 AND name = $3"
    write = "UPDATE segments SET sealed = $1 WHERE series = $2 AND number = $3 AND name = $4"
    a, b = ledger._store.run(read, *first)[0][0], ledger._store.run(read, *second)[0][0]
    ledger._store.run(write, b, *first)
    ledger._store.run(write, a, *second)


def statement(text: str, *parameters: Any) -> Callable[[Ledger], None]:
    """Somebody who may write, and knows how to get around the rules between tables."""

    def tamper(ledger: Ledger) -> None:
        ledger._store.run(
            "PRAGMA foreign_keys = OFF"
            if isinstance(ledger._store, Sqlite)
            else "SET session_replication_role = replica"
        )
        ledger._store.run(text, *parameters)

    return tamper


TAMPERING: dict[str, Callable[[Ledger], None]] = {
    "first byte of a nonce": lambda ledger: flip(ledger, "memory/t", 0),
    "last byte of a tag": lambda ledger: flip(ledger, "memory/t", -1),
    "a byte in the middle": lambda ledger: flip(ledger, "memory/t", 100),
    "a byte of the groups": lambda ledger: flip(ledger, "groups", 100),
    "two releases swapped": lambda ledger: swap(
        ledger, ("visits", 1, "memory/t"), ("visits", 2, "memory/t")
    ),
    "two tables swapped": lambda ledger: swap(
        ledger, ("visits", 1, "memory/t"), ("visits", 1, "memory/u")
    ),
    "memory and groups swapped": lambda ledger: swap(
        ledger, ("visits", 1, "memory/t"), ("visits", 1, "groups")
    ),
    "two series swapped": lambda ledger: swap(
        ledger, ("visits", 1, "memory/t"), ("other", 1, "memory/t")
    ),
    "a byte of what is carried": lambda ledger: flip(ledger, "carried/c", 50, number=2),
    "carried and remembered swapped": lambda ledger: swap(
        ledger, ("visits", 2, "memory/t"), ("visits", 2, "carried/c")
    ),
    "what is carried swapped with another series'": lambda ledger: swap(
        ledger, ("visits", 2, "carried/c"), ("other", 2, "carried/c")
    ),
    "what is carried removed": statement(
        "DELETE FROM segments WHERE series = 'visits' AND name = 'carried/c'"
    ),
    "what is carried put back at release 1": statement(
        "INSERT INTO segments SELECT series, 1, name, sealed FROM segments WHERE name = 'carried/c'"
    ),
    "a segment emptied": statement("UPDATE segments SET sealed = $1 WHERE series = 'visits'", b""),
    "a segment removed": statement(
        "DELETE FROM segments WHERE series = 'visits' AND number = 2 AND name = 'memory/t'"
    ),
    "a segment renamed": statement(
        "UPDATE segments SET name = 'memory/z' WHERE series = 'visits' AND number = 2 AND name ="
        " 'memory/t'"
    ),
    "a segment added": statement(
        "INSERT INTO segments VALUES ('visits', 1, 'memory/v', $1)", b"\0"
    ),
    "a digest changed": statement(
        "UPDATE releases SET digest = 'f' WHERE series = 'visits' AND number = 1"
    ),
    "a summary changed": statement(
        """UPDATE releases SET summary = '{"rows": 9}' WHERE series = 'visits' AND number = 1"""
    ),
    "a summary broken": statement(
        "UPDATE releases SET summary = '{' WHERE series = 'visits' AND number = 1"
    ),
    "a folder changed": statement(
        "UPDATE releases SET folder = 'elsewhere' WHERE series = 'visits' AND number = 2"
    ),
    "a promise changed": statement(
        """UPDATE series SET promise = '{"m": 1}' WHERE name = 'visits'"""
    ),
    "a release removed": statement("DELETE FROM releases WHERE series = 'visits' AND number = 1"),
    "two releases renumbered": statement(
        "UPDATE releases SET number = number + 10 WHERE series = 'visits'"
    ),
}


@pytest.mark.parametrize("promise", ["{", "3", "[[]]", ""])
def test_a_promise_that_is_none_is_noticed(ledger: Ledger, promise: str) -> None:
    """By whoever asks for nothing else."""
    commit = {"remember": {}, "groups": None, "state": {}}
    ledger.commit("visits", entry_of(1), promise=PROMISE, **commit)
    ledger._store.run("UPDATE series SET promise = $1", promise)
    with pytest.raises(LedgerError, match="changed by others than Phalanx at release 1 of series"):
        ledger.promise("visits")


@pytest.mark.parametrize("promise", ["{", "3", "[[]]", "", "[" * 100_000])
def test_a_list_with_a_promise_that_is_none_is_damaged(ledger: Ledger, promise: str) -> None:
    """Where no mark names the series, so that only the list itself looks at it."""
    put(ledger, "visits", 1)
    Mark.beside(ledger._store.key_file).file.unlink()
    assert [s.promise for s in ledger.series()] == [PROMISE]
    ledger._store.run("UPDATE series SET promise = $1", promise)
    with pytest.raises(LedgerError, match="is damaged; put back a copy of it, together with its"):
        ledger.series()


@pytest.mark.parametrize("kind", TAMPERING)
def test_a_change_by_others_is_noticed(ledger: Ledger, kind: str) -> None:
    """Whoever writes into the ledger without its key is found out when the series is read, in a
    sentence that names release and series.
    """
    for series in ("visits", "other"):
        for number in (1, 2):
            tables = {"t": pl.DataFrame({"n": [number]}), "u": pl.DataFrame({"n": [number]})}
            persons = mapping_of(ledger, series, [3, 1, 2])
            ledger.commit(
                series,
                entry_of(number),
                promise=PROMISE,
                remember=tables,
                groups=persons,
                state={"c": pl.DataFrame({"n": [number]})},
            )

    def read() -> None:
        ledger.state("visits")
        ledger.remembered("visits")
        ledger.groups("visits", 1)

    read()
    TAMPERING[kind](ledger)
    with pytest.raises(
        LedgerError, match=r"changed by others than Phalanx at release \d of series 'visits'"
    ):
        read()
