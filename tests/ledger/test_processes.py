# SPDX-License-Identifier: Apache-2.0
"""Several publishers at once, and publishers that are killed: the ledger holds whole releases, each
of them once.
"""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from phalanx.ledger import Ledger
from phalanx.ledger.sqlite import Sqlite

# Run by every process. Arguments: url, series, how many releases, the word it signs with, the
# statement before which it kills itself (0: none).
PUBLISHER = """
import os, signal, sys
import polars as pl
from phalanx.errors import LedgerError
from phalanx.ledger import Ledger, ReleaseEntry
from phalanx.ledger.store import Store
url, series, most, word, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
real, count = Store.run, 0
def dying(self, statement, *parameters):
    global count
    count += 1
    if count == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(self, statement, *parameters)
print("ready", flush=True)
sys.stdin.readline()
try:
    with Ledger.open(url) as ledger:
        persons = ledger.person_key(series).hash(pl.Series(range(5000)))
        groups = pl.DataFrame({"person": persons, "group": pl.Series(range(5000), dtype=pl.Int64)})
        Store.run = dying
        first = len(ledger.releases(series)) + 1 if most > 1 else 1
        for number in range(first, first + most):
            entry = ReleaseEntry(number=number, folder=word, staging=word, digest=word, summary={"number": number})
            ledger.commit(series, entry, promise={"m": 2}, remember={"t": pl.DataFrame({"number": [number] * 5000, "person": persons})}, groups=groups)
            print("committed", number, flush=True)
except LedgerError as error:
    print(error, flush=True)
"""


def publisher(url: str, series: str, most: int, word: str, last: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PUBLISHER, url, series, str(most), word, str(last)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def start(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()


def finish(process: subprocess.Popen[str]) -> list[str]:
    process.stdin.close()
    said = (
        process.stdout.read()
    )  # not communicate, which would lose what a readline before it took into its buffer
    process.stdout.close()
    process.wait(timeout=60)
    return said.splitlines()


def check_whole(url: str, series: str, at_least: int) -> int:
    """Every release that was said to be committed is there with all that belongs to it, and at most
    one more; returns how many there are.
    """
    with Ledger.open(url) as ledger:
        releases = ledger.releases(series)
        assert (
            [e.number for e in releases]
            == [e.summary["number"] for e in releases]
            == list(range(1, len(releases) + 1))
        )
        assert at_least <= len(releases) <= at_least + 1
        if releases:
            assert ledger.remembered(series)["t"]["number"].to_list() == [
                n for n in range(1, len(releases) + 1) for _ in range(5000)
            ]
            assert ledger.groups(series, len(releases)).height == 5000
        if isinstance(ledger._store, Sqlite):
            assert ledger._store.run("PRAGMA integrity_check") == [("ok",)]
        assert ledger._store.run("SELECT count(*) FROM segments") == [(2 * len(releases),)]
        return len(releases)


def test_two_publishers_of_one_release(url: str) -> None:
    """Two processes begin the same ledger and commit the same release at once: one wins, the other
    is told so in one sentence.
    """
    two = [publisher(url, "visits", 1, word) for word in ("a", "b")]
    start(*two)
    said = dict(zip("ab", map(finish, two), strict=True))
    winners = [word for word, lines in said.items() if lines == ["committed 1"]]
    losers = [lines for lines in said.values() if lines != ["committed 1"]]
    assert len(winners) == 1, said
    assert losers == [
        [
            (
                "release 1 of series 'visits' was published by another process meanwhile; publish"
                " again to make release 2."
            )
        ]
    ]
    assert check_whole(url, "visits", 1) == 1
    with Ledger.open(url) as ledger:
        assert ledger.releases("visits")[0].folder == winners[0]


def test_publishers_of_different_series(url: str) -> None:
    """Processes that publish different series into one ledger wait for each other and all get
    through.
    """
    two = [publisher(url, series, 10, "w") for series in ("a", "b")]
    start(*two)
    expected = [f"committed {n}" for n in range(1, 11)]
    assert [finish(p) for p in two] == [expected, expected]
    with Ledger.open(url) as ledger:
        assert [(s.name, s.releases) for s in ledger.series()] == [("a", 10), ("b", 10)]


def kill_while_committing(url: str, delay: float, before: int) -> int:
    process = publisher(url, "visits", 100_000, "w")
    start(process)
    first = process.stdout.readline()
    time.sleep(delay)
    process.kill()
    lines = [first.strip(), *finish(process)]
    assert process.returncode == -signal.SIGKILL
    assert all(line.startswith("committed") for line in lines), lines
    return check_whole(url, "visits", before + len(lines))


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL elsewhere")
def test_a_killed_publisher(url: str) -> None:
    """A publisher killed at any moment leaves every release that it reported, and no part of
    another; the next one goes on.
    """
    count = 0
    for delay in (0.0, 0.0137, 0.0411):
        count = kill_while_committing(url, delay, count)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL elsewhere")
def test_many_killed_publishers(url: str) -> None:
    """The same at fifteen moments."""
    count = 0
    for i in range(15):
        count = kill_while_committing(url, 0.0074 * i, count)


LAST = {
    "sqlite": 11,
    "postgresql": 14,
    # PostgreSQL has three statements more: the lock, and two waits, for others' commits and for a
    # change of the key
}
MOMENTS = [(backend, n) for backend, last in LAST.items() for n in range(2, last + 1)]


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL elsewhere")
@pytest.mark.parametrize(
    ("backend", "last"),
    [
        pytest.param(*m, marks=[pytest.mark.slow] if m[1] not in (6, LAST[m[0]]) else [])
        for m in MOMENTS
    ],
)
def test_killed_before_a_statement(url: str, backend: str, file: Path, last: int) -> None:
    """Killed before BEGIN, COMMIT or anything between, a publisher leaves the release before;
    SQLite's journal is private, and gone after the next commit.
    """
    process = publisher(url, "visits", 1, "w")
    start(process)
    assert finish(process) == ["committed 1"]
    process = publisher(url, "visits", 2, "w", last)
    start(process)
    assert finish(process) == []
    assert process.returncode == -signal.SIGKILL
    if backend == "sqlite":
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in file.parent.iterdir())
    assert check_whole(url, "visits", 1) == 1
    process = publisher(url, "visits", 2, "w")
    start(process)
    assert finish(process) == ["committed 2", "committed 3"]
    assert check_whole(url, "visits", 3) == 3
    if backend == "sqlite":
        assert sorted(p.name for p in file.parent.iterdir()) == [
            "ledger.db",
            "ledger.db.key",
            "ledger.db.mark",
        ]


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL elsewhere")
@pytest.mark.parametrize(
    ("backend", "last"), [(backend, last + 1) for backend, last in LAST.items()]
)
def test_the_moments_are_all_there_are(url: str, last: int) -> None:
    """The test above tries every statement: after the last one, the release is in the ledger."""
    process = publisher(url, "visits", 1, "w")
    start(process)
    assert finish(process) == ["committed 1"]
    process = publisher(url, "visits", 2, "w", last)
    start(process)
    assert finish(process) == ["committed 2"]


def test_series_do_not_wait_for_each_other(url: str, backend: str) -> None:
    """While somebody is in the middle of publishing a series, PostgreSQL lets others publish
    another one; the same series waits (the test's power).
    """
    with Ledger.open(url) as ledger:
        other, same = publisher(url, "b", 2, "w"), publisher(url, "a", 2, "w")
        with ledger._store.transaction("a"):
            if backend == "postgresql":
                start(other)
                assert finish(other) == ["committed 1", "committed 2"]
            else:
                other.kill()
                finish(other)
            start(same)
            assert not select.select([same.stdout], [], [], 1.0)[0], "the same series went through"
        assert finish(same) == ["committed 1", "committed 2"]
