# SPDX-License-Identifier: Apache-2.0
"""How a row is authenticated, and a head sealed, is written by hand, so that a later version opens
the ledger of an earlier one; and entries of two histories make none.
"""

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from ledger.test_ledger import PROMISE, entry_of, frame
from ledger.test_marks import copy_of, mark_of, put, put_back
from phalanx.errors import LedgerError
from phalanx.ledger import Ledger
from phalanx.ledger.sealing import unseal


def hashed(content: list[Any]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def test_rows_are_as_they_ever_were(ledger: Ledger) -> None:
    """An entry is authenticated with its promise and the names of its segments; the head is sealed at
    release 0 and has a hash over the promise and every digest by its number, from 1.
    """
    entries = [replace(entry_of(n), digest=str(n) * 64, day="2026-01-31") for n in (1, 2)]
    for entry in entries:
        ledger.commit(
            "visits", entry, promise=PROMISE, remember={"b": frame(1), "a": frame(2)}, groups=None
        )
    keys, promise = ledger._rows.keys, '{"m": 2, "method": "m-invariance"}'
    stored = "SELECT authentic FROM releases WHERE series = 'visits' ORDER BY number"
    for n, (authentic,) in enumerate(ledger._store.run(stored), start=1):
        record = ["visits", promise, n, f"releases/{n}", f"releases/.{n}", str(n) * 64]
        record += ["2026-01-31", f'{{"rows": {n}}}', ["memory/a", "memory/b"]]
        assert authentic == keys.authenticate("visits", json.dumps(record).encode())
    ((sealed,),) = ledger._store.run("SELECT head FROM series WHERE name = 'visits'")
    head = unseal(keys.sealing("visits"), sealed, "visits", 0, "head")
    chain = hashlib.sha256(promise.encode()).hexdigest()
    chain = hashed([hashed([chain, 1, "1" * 64]), 2, "2" * 64])
    assert head is not None and json.loads(head) == [2, chain, 0]


def test_two_histories_do_not_make_one(ledger: Ledger) -> None:
    """A release of another history, authentic by itself with all its segments, does not pass where
    the head is of this one, although no mark says which it was.
    """
    put(ledger, 1)
    mark = mark_of(ledger)
    before, began = mark.file.read_bytes(), copy_of(ledger)
    put(ledger, 2, digest="e" * 64)
    other = copy_of(ledger)
    put_back(ledger, began)
    mark.file.write_bytes(before)
    put(ledger, 2, digest="f" * 64)
    this = copy_of(ledger)
    mark.file.unlink()
    mixed = {
        table: [row for row in this[table] if table == "series" or row[1] == 1]
        + [row for row in other[table] if table != "series" and row[1] == 2]
        for table in this
    }
    put_back(ledger, mixed)
    with pytest.raises(LedgerError, match="changed by others than Phalanx at release 2 of series"):
        ledger.releases("visits")
    put_back(ledger, this)
    assert [entry.digest[0] for entry in ledger.releases("visits")] == ["1", "f"]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
@pytest.mark.parametrize("where", ["promise", "summary"])
def test_what_no_json_can_say_is_not_recorded(ledger: Ledger, where: str, wrong: float) -> None:
    """A figure that is no number is not written as a word that other readers of JSON do not know."""
    said: dict[str, dict[str, Any]] = {"promise": PROMISE, "summary": {}}
    said[where] = {"m": wrong}
    with pytest.raises(ValueError, match="not JSON compliant"):
        ledger.commit(
            "visits",
            entry_of(1, summary=said["summary"]),
            promise=said["promise"],
            remember={},
            groups=None,
        )
    assert ledger.series() == []
