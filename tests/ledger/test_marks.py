# SPDX-License-Identifier: Apache-2.0
"""A ledger that went back in time is refused, whichever entry it lost, and says what was published
since; a mark that is behind is made good.
"""

import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from phalanx.errors import LedgerError
from phalanx.ledger import Ledger, ReleaseEntry
from phalanx.ledger.marks import Mark, Marked, check_not_older
from phalanx.ledger.rows import Rows
from phalanx.ledger.sqlite import Sqlite

PROMISE = {"method": "m-invariance", "m": 2}
TABLES = ("segments", "releases", "series")


def entry_of(number: int, day: str = "2026-01-31", digest: str = "") -> ReleaseEntry:
    digest = digest or f"{number:x}" * 64
    return ReleaseEntry(
        number=number,
        folder=f"/out/visits-{number}",
        staging=f".{number}",
        digest=digest,
        summary={"rows": number},
        day=day,
    )


def put(ledger: Ledger, number: int, series: str = "visits", **how: Any) -> None:
    table = pl.DataFrame({"n": [number]})
    ledger.commit(
        series,
        entry_of(number, **how),
        promise=PROMISE,
        remember={"t": table},
        groups=None,
        state={"c": table},
    )


def mark_of(ledger: Ledger) -> Mark:
    return Mark.beside(ledger._store.key_file)


def without_rules(ledger: Ledger) -> None:
    """Get around the rules between tables, as whoever may write can."""
    ledger._store.run(
        "PRAGMA foreign_keys = OFF"
        if isinstance(ledger._store, Sqlite)
        else "SET session_replication_role = replica"
    )


def copy_of(ledger: Ledger) -> dict[str, list[tuple[Any, ...]]]:
    """All rows, as a backup has them."""
    return {table: ledger._store.run(f"SELECT * FROM {table}") for table in reversed(TABLES)}


def put_back(ledger: Ledger, copy: dict[str, list[tuple[Any, ...]]]) -> None:
    """Restore a backup: what came after it is gone."""
    without_rules(ledger)
    for table in TABLES:
        ledger._store.run(f"DELETE FROM {table}")
    for table, rows in copy.items():
        for row in rows:
            ledger._store.run(
                f"INSERT INTO {table} VALUES"
                f" ({', '.join(f'${i}' for i in range(1, len(row) + 1))})",
                *row,
            )


DOORS: dict[str, Callable[[Ledger], object]] = {
    "releases": lambda ledger: ledger.releases("visits"),
    "remembered": lambda ledger: ledger.remembered("visits"),
    "carried": lambda ledger: ledger.state("visits"),
    "groups": lambda ledger: ledger.groups("visits", 1),
    "goes on": lambda ledger: ledger.check_goes_on("visits"),
    "commit": lambda ledger: put(ledger, 3),
    "next commit": lambda ledger: put(ledger, 4),
    "export": lambda ledger: ledger.export_series(
        "visits", Path(os.environ["XDG_CONFIG_HOME"]).parent / "visits.series", copy=True
    ),
    "rotate": lambda ledger: ledger.rotate_key(),
    "list": lambda ledger: ledger.series(),
}


@pytest.mark.parametrize("door", DOORS)
def test_an_old_copy_is_refused_by_every_door(ledger: Ledger, door: str) -> None:
    """A ledger that is put back says what was published since, by date and digest, and changes
    nothing.
    """
    put(ledger, 1)
    put(ledger, 2, day="2026-02-28")
    copy = copy_of(ledger)
    put(ledger, 3, day="2026-03-31")
    put(ledger, 4, day="2026-04-30")
    put_back(ledger, copy)
    before = copy_of(ledger)
    with pytest.raises(
        LedgerError, match="is older than what was published of series 'visits'"
    ) as told:
        DOORS[door](ledger)
    for said in (
        "it has 2 releases, its mark",
        "release 3 of 2026-03-31, digest 333333333333; ",
        "release 4 of 2026-04-30, digest 444444444444)",
        "series reconcile",
    ):
        assert said in str(told.value)
    assert "away" not in str(told.value)
    assert copy_of(ledger) == before
    assert len(mark_of(ledger).read()["visits"].releases) == 4


def test_without_a_mark_an_old_copy_would_pass(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken twin of the test above: a ledger that looks at no mark publishes release 2 a
    second time.
    """
    put(ledger, 1)
    copy = copy_of(ledger)
    put(ledger, 2)
    put_back(ledger, copy)
    monkeypatch.setattr(Mark, "read", lambda _: {"visits": Marked()})
    monkeypatch.setattr(Mark, "advance", lambda *_: None)
    put(ledger, 2, digest="f" * 64)
    assert [e.digest for e in ledger.releases("visits")] == ["1" * 64, "f" * 64]


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_every_single_entry_is_missed(ledger: Ledger, number: int, *, marked: bool) -> None:
    """Whichever entry is removed, with all that belongs to it, the ledger is refused; the newest by
    its head alone, too, where the mark is gone.
    """
    for n in (1, 2, 3):
        put(ledger, n)
    without_rules(ledger)
    for table in TABLES[:2]:
        ledger._store.run(f"DELETE FROM {table} WHERE series = 'visits' AND number = {number}")
    if not marked:
        mark_of(ledger).file.unlink()
    for door in ("releases", "commit", "next commit"):
        with pytest.raises(
            LedgerError,
            match=r"older than what was published|was changed by others than Phalanx at release",
        ):
            DOORS[door](ledger)


def test_the_newest_entry_and_its_head(ledger: Ledger) -> None:
    """Whoever removes the newest entry and puts the head of before back is found out by the mark;
    so is whoever removes the series.
    """
    put(ledger, 1)
    head = ledger._store.run("SELECT head FROM series")
    put(ledger, 2)
    without_rules(ledger)
    for table in TABLES[:2]:
        ledger._store.run(f"DELETE FROM {table} WHERE number = 2")
    ledger._store.run("UPDATE series SET head = $1", head[0][0])
    with pytest.raises(
        LedgerError,
        match=r"older than what was published|was changed by others than Phalanx at release 1",
    ):
        ledger.releases("visits")
    for table in TABLES:
        ledger._store.run(f"DELETE FROM {table}")
    with pytest.raises(LedgerError, match=r"it has 0 releases, its mark .*\.mark 2 \("):
        put(ledger, 1)


def test_a_head_of_another_series(ledger: Ledger) -> None:
    """A head opens in its own series only, and one that says less than there is is refused."""
    put(ledger, 1)
    put(ledger, 1, "other")
    ((first,),) = ledger._store.run("SELECT head FROM series WHERE name = 'visits'")
    ((other,),) = ledger._store.run("SELECT head FROM series WHERE name = 'other'")
    put(ledger, 2)
    for head in (other, first, b"", b"x" * 60):
        ledger._store.run("UPDATE series SET head = $1 WHERE name = 'visits'", head)
        with pytest.raises(LedgerError, match="changed by others than Phalanx"):
            ledger.releases("visits")


def test_another_history_is_refused(ledger: Ledger) -> None:
    """A ledger in which another release 2 was published, from an old copy elsewhere, is not the one
    that the mark has.
    """
    put(ledger, 1)
    mark = mark_of(ledger)
    before, copy = mark.file.read_bytes(), copy_of(ledger)
    put(ledger, 2, digest="e" * 64)
    published = mark.file.read_bytes()
    put_back(ledger, copy)
    mark.file.write_bytes(before)
    put(ledger, 2, digest="f" * 64)
    mark.file.write_bytes(published)
    with pytest.raises(
        LedgerError,
        match=(
            r"another release 2 of series 'visits' than its mark .*\.mark says .*digest"
            r" eeeeeeeeeeee"
        ),
    ):
        ledger.releases("visits")


def test_a_mark_that_is_behind_is_made_good(ledger: Ledger) -> None:
    """A crash between ledger and mark leaves a mark that is behind: no alarm, and whoever goes on
    brings it up before anything is named.
    """
    put(ledger, 1)
    mark = mark_of(ledger)
    before = mark.file.read_bytes()
    put(ledger, 2)
    mark.file.write_bytes(before)
    assert len(ledger.releases("visits")) == 2
    assert mark.file.read_bytes() == before, "whoever only reads writes nothing"
    assert len(ledger.releases("visits", marked=True)) == 2
    assert len(mark.read()["visits"].releases) == 2
    mark.file.write_bytes(before)
    put(ledger, 3)
    assert len(mark.read()["visits"].releases) == 3


def test_a_first_release_whose_mark_was_interrupted(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash between the first release and its mark is no alarm either: the mark of a series is
    there before anything is recorded.
    """
    real = Mark.advance
    with monkeypatch.context() as patched:
        patched.setattr(
            Mark,
            "advance",
            lambda self, series, to, **how: (
                real(self, series, to, **how) if not to.releases else None
            ),
        )
        put(ledger, 1)
    assert mark_of(ledger).read() == {"visits": Marked()}
    assert len(ledger.releases("visits", marked=True)) == 1
    put(ledger, 2)


def test_no_mark_is_no_leave(ledger: Ledger) -> None:
    """Where no mark says whether there were more, nobody publishes; the ledger may be read, and a
    series that begins needs no mark.
    """
    put(ledger, 1)
    mark_of(ledger).file.unlink()
    assert len(ledger.releases("visits")) == 1
    for use in (lambda: put(ledger, 2), lambda: ledger.releases("visits", marked=True)):
        with pytest.raises(
            LedgerError,
            match=r"may be an old one: it knows 1 .* there is no mark at .*series reconcile",
        ):
            use()
    put(ledger, 1, "other")
    with pytest.raises(LedgerError, match=r"does not know series 'visits', .* another steward"):
        put(ledger, 2)


def test_without_a_mark_no_series_leaves(ledger: Ledger, tmp_path: Path) -> None:
    """A series that was exported goes on where it arrives, which takes it for the newest: so one that
    may be an old one is only copied, and who imports a copy says what was published.
    """
    put(ledger, 1)
    mark_of(ledger).file.unlink()
    with pytest.raises(LedgerError, match=r"may be an old one: it knows 1 .*series reconcile"):
        ledger.export_series("visits", tmp_path / "visits.series")
    assert list(tmp_path.glob("visits.series*")) == []
    assert ledger.moved("visits") is None
    assert ledger.export_series("visits", tmp_path / "visits.series", copy=True).copy


def test_a_release_of_another_process_is_no_alarm(
    ledger: Ledger, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads while another process publishes sees the ledger of before, or of after, and the mark
    is never ahead of what they see.
    """
    put(ledger, 1)
    read = Rows._read

    def meanwhile(rows: Rows, series: str) -> Any:
        seen = read(rows, series)
        monkeypatch.setattr(Rows, "_read", read)
        with Ledger.open(url) as other:
            put(other, 2)
        return seen

    monkeypatch.setattr(Rows, "_read", meanwhile)
    assert [entry.number for entry in ledger.releases("visits")] == [1]
    assert [entry.number for entry in ledger.releases("visits")] == [1, 2]


@pytest.mark.parametrize("how", ["cut", "byte", "empty", "text", "format", "shape"])
def test_a_damaged_mark(ledger: Ledger, how: str) -> None:
    """A mark that is not as it was written is one sentence, and nothing is published."""
    put(ledger, 1)
    file = mark_of(ledger).file
    content = file.read_bytes()
    spoiled = {
        "cut": content[:-9],
        "byte": content.replace(b"1111", b"1121", 1),
        "empty": b"",
        "text": b"\xff\xfe" * 50,
        "format": b"[]\n",
        "shape": b"{}\n",
    }[how]
    file.write_bytes(spoiled)
    for use in (lambda: put(ledger, 2), lambda: ledger.releases("visits")):
        with pytest.raises(
            LedgerError,
            match=(
                "is damaged; put a copy of it back, or make it anew by 'phalanx series reconcile'"
            ),
        ):
            use()
    assert file.read_bytes() == spoiled


@pytest.mark.parametrize(
    "said",
    [
        {"format": "phalanx-mark-2", "series": {}},
        {"format": "phalanx-mark-1"},
        {"format": "phalanx-mark-1", "series": {"s": {"moves": 0, "releases": ["2026-01-31"]}}},
        {"format": "phalanx-mark-1", "series": {"s": {"moves": "none", "releases": []}}},
        [],
    ],
)
def test_a_whole_mark_of_another_make(tmp_path: Path, said: object) -> None:
    """A file whose sum is right, and which is of another version or says something else than a mark,
    is no mark; only who says so makes it anew.
    """
    text = json.dumps(said)
    mark = Mark(tmp_path / "x.mark")
    content = f"{text}\n{hashlib.sha256(text.encode()).hexdigest()}\n"
    mark.file.write_text(content)
    for use in (mark.read, lambda: mark.advance("s", Marked()), lambda: mark.begin("s")):
        with pytest.raises(LedgerError, match="is damaged; put a copy of it back, or make it anew"):
            use()
    assert mark.file.read_text() == content
    mark.advance("s", Marked(moves=1), damaged=True)
    assert mark.read() == {"s": Marked(moves=1)}


def test_a_mark_that_cannot_be_read(ledger: Ledger) -> None:
    """A folder in its place is not taken for no mark, and the reason is given; it does not stay
    open.
    """
    put(ledger, 1)
    file = mark_of(ledger).file
    file.unlink()
    file.mkdir()
    here = set(Path("/dev/fd").iterdir())
    with pytest.raises(LedgerError, match="Is a directory"):
        mark_of(ledger).read()
    assert set(Path("/dev/fd").iterdir()) <= here
    for use in (lambda: put(ledger, 2), lambda: ledger.releases("visits")):
        with pytest.raises(
            LedgerError, match=r"the mark .* cannot be read \(Is a directory\); give it back to its"
        ):
            use()
    file.rmdir()
    assert len(ledger.releases("visits")) == 1


def test_a_mark_that_cannot_be_written(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is seen before, nothing is recorded; where it fails after the commit, it is said
    that the release is recorded, and the next one makes it good.
    """
    put(ledger, 1)
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda *_: False)
        with pytest.raises(
            LedgerError,
            match=(
                r"cannot be written .permission denied.; make its folder writable, and publish"
                r" again"
            ),
        ):
            put(ledger, 2)
    assert len(ledger.releases("visits")) == 1
    with monkeypatch.context() as patched:
        patched.setattr(
            Path,
            "replace",
            lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")),
        )
        with pytest.raises(
            LedgerError,
            match=(
                r"release 2 of series 'visits' is recorded, and not handed out: the mark .* cannot"
                r" be written"
            ),
        ):
            put(ledger, 2)
    mark = mark_of(ledger)
    assert sorted(mark.file.parent.glob("*.new")) == []
    assert len(mark.read()["visits"].releases) == 1
    assert len(ledger.releases("visits", marked=True)) == 2
    assert len(mark.read()["visits"].releases) == 2


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_a_mark_is_private_and_says_nothing_of_persons(ledger: Ledger) -> None:
    """Mode 0600 with umask 0; series, days and digests, and nothing else."""
    before = os.umask(0)
    try:
        put(ledger, 1)
    finally:
        os.umask(before)
    file = mark_of(ledger).file
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    said = json.loads(file.read_text().rstrip("\n").rpartition("\n")[0])
    assert said == {
        "format": "phalanx-mark-1",
        "series": {"visits": {"moves": 0, "releases": [["2026-01-31", "1" * 64]]}},
    }


@pytest.mark.parametrize(
    ("missing", "said"),
    [(1, r"digest 0\)\. Use"), (3, r"digest 2\)\. Use"), (5, r"digest 2; and 2 more\)\. Use")],
)
def test_three_missing_releases_are_named(tmp_path: Path, missing: int, said: str) -> None:
    """And of others how many there are."""
    marked = Marked(releases=[("2026-01-31", str(n)) for n in range(missing)])
    with pytest.raises(LedgerError, match=said):
        check_not_older("here", "s", Mark(tmp_path / "x.mark"), marked, Marked())


def test_a_mark_only_grows(tmp_path: Path) -> None:
    """Whoever comes late with less changes nothing, and a new file that an interrupted one left is
    taken over.
    """
    mark = Mark(tmp_path / "x.mark")
    three = Marked(releases=[("d", str(n)) for n in range(3)], moves=1)
    (tmp_path / "x.mark.new").write_text("half a mark")
    mark.advance("s", three)
    content = mark.file.read_bytes()
    for less in (
        Marked(releases=three.releases[:2], moves=1),
        Marked(releases=three.releases, moves=0),
        Marked(),
    ):
        mark.advance("s", less)
        assert mark.file.read_bytes() == content
    mark.advance("t", three)
    assert mark.read().keys() == {"s", "t"}
    assert [p.name for p in tmp_path.iterdir()] == ["x.mark"]


@pytest.mark.parametrize("how", ["renamed", "removed"])
def test_another_process_was_faster_with_the_mark(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the file that both had opened beside became the mark, or was taken away, before this one
    had the lock, it begins again, and what both say stands.
    """
    mark, real = Mark(tmp_path / "x.mark"), fcntl.flock
    one = Marked(releases=[("d", "1")])

    def late(*lock: Any) -> None:
        real(*lock)
        monkeypatch.setattr(fcntl, "flock", real)
        beside = tmp_path / "x.mark.new"
        if how == "removed":
            beside.unlink()
        else:
            beside.replace(mark.file)
            mark.file.write_bytes(other.file.read_bytes())

    other = Mark(tmp_path / "other.mark")
    other.advance("t", one)
    monkeypatch.setattr(fcntl, "flock", late)
    mark.advance("s", one)
    assert mark.read().keys() == ({"s", "t"} if how == "renamed" else {"s"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.mark", "x.mark"]


@pytest.mark.parametrize("backend", ["postgresql"])
def test_two_stewards(
    url: str, key_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each steward of a shared ledger has a key and a mark of their own: one that is behind is
    fine, one that is ahead is refused, on either machine.
    """
    places = {name: tmp_path / name for name in ("ann", "bob")}

    def at(name: str) -> Ledger:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(places[name]))
        return Ledger.open(url)

    with at("ann") as ledger:
        put(ledger, 1)
        there = places["bob"] / "phalanx" / key_file.name
        there.parent.mkdir(parents=True, mode=0o700)
        for file in (ledger._store.key_file, mark_of(ledger).file):
            (there.parent / file.name).touch(0o600)
            (there.parent / file.name).write_bytes(file.read_bytes())
    with at("bob") as ledger:
        put(ledger, 2)
        copy = copy_of(ledger)
        put(ledger, 3)
    with at("ann") as ledger:
        assert len(mark_of(ledger).read()["visits"].releases) == 1
        put(ledger, 4)
        put_back(ledger, copy)
        with pytest.raises(LedgerError, match=r"it has 2 releases, its mark .*\.mark 4 \("):
            put(ledger, 3)
    with (
        at("bob") as ledger,
        pytest.raises(LedgerError, match=r"it has 2 releases, its mark .*\.mark 3 \("),
    ):
        put(ledger, 3)


def test_a_move_is_not_undone_by_an_old_copy(ledger: Ledger, tmp_path: Path) -> None:
    """A copy of before the series was moved is refused; coming back is no alarm, and an old copy of
    that neither passes.
    """
    put(ledger, 1)
    copy = copy_of(ledger)
    ledger.export_series("visits", tmp_path / "out.series")
    moved = copy_of(ledger)
    put_back(ledger, copy)
    with pytest.raises(
        LedgerError,
        match="does not know that series 'visits' was moved, so it is older than its mark",
    ):
        put(ledger, 2)
    put_back(ledger, moved)
    ledger.import_series(tmp_path / "out.series")
    back = copy_of(ledger)
    for old in (copy, moved):
        put_back(ledger, old)
        with pytest.raises(LedgerError, match="was moved, so it is older than its mark"):
            ledger.moved("visits")
    put_back(ledger, back)
    put(ledger, 2)
    put_back(ledger, copy)
    with pytest.raises(LedgerError, match="older than what was published"):
        ledger.releases("visits")


def test_a_file_of_no_more_than_is_known_makes_nothing_good(ledger: Ledger, tmp_path: Path) -> None:
    """A ledger that lost a release takes the series from a file that still has it, and from no
    other.
    """
    put(ledger, 1)
    put(ledger, 2)
    copy = copy_of(ledger)
    ledger.export_series("visits", tmp_path / "two.series", copy=True)
    put(ledger, 3)
    ledger.export_series("visits", tmp_path / "three.series", copy=True)
    put_back(ledger, copy)
    with pytest.raises(LedgerError, match="has a series 'visits' already; nothing was imported"):
        ledger.import_series(tmp_path / "two.series")
    assert copy_of(ledger) == copy
    ledger.import_series(tmp_path / "three.series")
    assert [e.number for e in ledger.releases("visits", marked=True)] == [1, 2, 3]


def test_a_series_of_which_the_name_is_left_comes_back(ledger: Ledger, tmp_path: Path) -> None:
    """Where every release was removed and the head that counts them stands, a file that has them
    takes its place.
    """
    put(ledger, 1)
    ledger.export_series("visits", tmp_path / "visits.series", copy=True)
    without_rules(ledger)
    for table in TABLES[:2]:
        ledger._store.run(f"DELETE FROM {table}")
    with pytest.raises(LedgerError, match="older than what was published"):
        ledger.releases("visits")
    ledger.import_series(tmp_path / "visits.series")
    assert ledger.remembered("visits")["t"]["n"].to_list() == [1]
    put(ledger, 2)


def test_no_steward_leaves_out_what_was_recorded(ledger: Ledger) -> None:
    """Where the head counts a release that is removed, and no mark does, what is left is not said to
    be all; with the entry of that release it is.
    """
    put(ledger, 1)
    put(ledger, 2)
    (_, last) = ledger.releases("visits")
    without_rules(ledger)
    for table in TABLES[:2]:
        ledger._store.run(f"DELETE FROM {table} WHERE number = 2")
    mark_of(ledger).file.unlink()
    before = copy_of(ledger)
    with pytest.raises(
        LedgerError, match="2 releases of series 'visits' were recorded, and only 1 would be known"
    ):
        ledger.reconcile("visits", [], forgotten=False)
    assert copy_of(ledger) == before and not mark_of(ledger).file.exists()
    ledger.reconcile("visits", [(last, {})], forgotten=False)
    assert ledger.releases("visits", marked=True)[1] == last
