# SPDX-License-Identifier: Apache-2.0
"""A table that is larger than a database takes as one value stands in several segments, of which
none can be taken away, changed, or taken from another release.
"""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from ledger.test_rotation import knows, put
from phalanx.errors import LedgerError
from phalanx.ledger import Ledger, ReleaseEntry, sealing, within
from phalanx.ledger.sealing import parts, split

READ = "SELECT name, sealed FROM segments WHERE series = 'visits' AND number = $1"


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "LARGEST", 300)


def segments_of(ledger: Ledger, number: int) -> dict[str, bytes]:
    return dict(ledger._store.run(READ, number))


def test_segments_are_put_together_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there are more than nine of them, and an empty table is a segment, too."""
    monkeypatch.setattr(sealing, "LARGEST", 3)
    content = bytes(range(40))
    pieces = split({"t": content, "tall": b"123", "none": b""})
    assert (len(pieces), pieces["none"], pieces["tall"]) == (16, b"", b"123")
    assert b"".join(pieces[part] for part in parts("t", sorted(pieces))) == content
    assert max(map(len, pieces.values())) == 3


@pytest.mark.usefixtures("_small")
def test_a_large_table_goes_round(
    ledger: Ledger, backend: str, new_url: Callable[[str], str], tmp_path: Path
) -> None:
    """Memory, what is carried, and groups of any size are what they were, also under a new key and
    in another ledger; what is carried is replaced, every segment of it.
    """
    for number in (1, 2):
        put(ledger, number)
    known = knows(ledger)
    assert {"groups", "groups#2", "memory/t#2", "carried/c#2"} <= set(segments_of(ledger, 2))
    assert not [name for name in segments_of(ledger, 1) if name.startswith("carried/")]
    assert len(known[1]) == 40
    ledger.rotate_key()
    assert knows(ledger) == known
    ledger.export_series("visits", tmp_path / "visits.series", copy=True)
    with Ledger.open(new_url(backend)) as other:
        other.import_series(tmp_path / "visits.series")
        assert knows(other) == known


def test_it_is_as_if_it_were_one(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a ledger knows does not depend on how much a database takes."""
    put(ledger, 1)
    assert set(segments_of(ledger, 1)) == {"groups", "memory/t", "carried/c"}
    known = knows(ledger)
    monkeypatch.setattr(sealing, "LARGEST", 300)
    put(ledger, 1, "other")
    assert [dict(e.summary) for e in ledger.releases("other")] == [{"rows": 20}]
    assert [row["number"] for row in ledger.remembered("other")["t"].to_dicts()] == [
        row["number"] for row in known[1]
    ]


SPOILED = {
    "removed": "DELETE FROM segments WHERE name = 'memory/t#2'",
    "renamed": "UPDATE segments SET name = 'memory/t#9' WHERE name = 'memory/t#2'",
    "swapped": (
        "UPDATE segments SET sealed = (SELECT sealed FROM segments WHERE name = 'memory/t#2')"
        " WHERE name = 'memory/t'"
    ),
}


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("how", SPOILED)
def test_no_segment_is_missing_unnoticed(ledger: Ledger, how: str) -> None:
    """A segment of a table that is taken away, renamed or put in the place of another one."""
    put(ledger, 1)
    ledger._store.run(SPOILED[how])
    with pytest.raises(LedgerError, match="changed by others than Phalanx at release 1"):
        ledger.remembered("visits")


def test_what_is_remembered_belongs_to_its_release(ledger: Ledger) -> None:
    """A sealed memory of another release under the same number and name, as a second copy of the
    ledger would have it under the same key, does not open: it is bound to the digest.
    """
    put(ledger, 1)
    rows = ledger._rows
    (entry,) = ledger.releases("visits")
    content = rows.segment("visits", entry, "memory/t")
    others = ReleaseEntry(number=1, folder="f1", staging="s1", digest="9" * 64, summary={})
    write = "UPDATE segments SET sealed = $1 WHERE name = 'memory/t'"
    ledger._store.run(write, rows.seal(content, "visits", others, "memory/t"))
    with pytest.raises(LedgerError, match="changed by others than Phalanx at release 1"):
        ledger.remembered("visits")
    ledger._store.run(write, rows.seal(content, "visits", entry, "memory/t"))
    assert ledger.remembered("visits")["t"].height == 20


class OneByOne(dict[str, pl.DataFrame]):
    """Tables of which each must have been recorded before the next one is asked for."""

    def __init__(self, ledger: Ledger, tables: dict[str, pl.DataFrame]) -> None:
        super().__init__(tables)
        self.ledger = ledger
        self.asked: list[str] = []

    def __getitem__(self, name: str) -> pl.DataFrame:
        stored = segments_of(self.ledger, 1)
        assert [f"memory/{each}" in stored for each in self.asked] == [True] * len(self.asked)
        self.asked.append(name)
        return super().__getitem__(name)


@pytest.mark.usefixtures("_small")
def test_each_part_of_a_series_has_tables_of_its_own(
    ledger: Ledger, backend: str, new_url: Callable[[str], str], tmp_path: Path
) -> None:
    """They are written one at a time and read part by part, of any size; what is of no part is
    apart, and who is in which group is known of all parts together, too.
    """
    key = ledger.person_key("visits")
    persons = {
        part: pl.DataFrame(
            {"person": key.hash(pl.Series(range(part, part + 30))), "group": [part] * 30}
        )
        for part in (12, 3)
    }
    remember = {"t": pl.DataFrame({"n": [0]})} | {
        within(part, "t"): pl.DataFrame({"n": range(part * 10)}) for part in (3, 12)
    }
    given = OneByOne(ledger, remember)
    ledger.commit(
        "visits",
        ReleaseEntry(number=1, folder="r", staging=".r", digest="00", summary={}),
        promise={},
        remember=given,
        groups=persons,
        state={within(3, "c"): pl.DataFrame({"n": [7]})},
    )
    assert sorted(given.asked) == sorted(remember)
    ledger.export_series("visits", tmp_path / "visits.series", copy=True)
    with Ledger.open(new_url(backend)) as other:
        other.import_series(tmp_path / "visits.series")
        for each in (ledger, other):
            assert each.parts("visits") == {1: [3, 12]}
            assert each.remembered("visits")["t"]["n"].to_list() == [0]
            assert each.remembered("visits", 12)["t"]["n"].to_list() == list(range(120))
            assert each.remembered("visits", 1) == {}
            assert each.state("visits") == {}
            assert each.state("visits", 3)["c"]["n"].to_list() == [7]
            for part, mapping in persons.items():
                found = each.groups("visits", 1, part)
                assert found is not None
                assert found.equals(mapping.sort("person"))
            both = each.groups("visits", 1)
            assert both is not None
            of_all = pl.concat(persons.values()).sort("person", "group")
            assert both.sort("person", "group").equals(of_all)
            assert each.groups("visits", 1, 4) is None


def test_segments_of_an_older_ledger_may_be_larger(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written in larger pieces is read as it was, and goes on in smaller ones."""
    monkeypatch.setattr(sealing, "LARGEST", 700)
    put(ledger, 1)
    known = knows(ledger)
    assert max(map(len, segments_of(ledger, 1).values())) > 700
    monkeypatch.setattr(sealing, "LARGEST", 300)
    assert knows(ledger) == known
    put(ledger, 2)
    assert knows(ledger)[1][: len(known[1])] == known[1]
