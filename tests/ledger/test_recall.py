# SPDX-License-Identifier: Apache-2.0
"""What a series remembers as of one moment: read table by table, while others may publish."""

import pickle

import pytest

from ledger.test_rotation import put
from phalanx.errors import LedgerError
from phalanx.ledger import Ledger, Recall, ReleaseEntry


def test_what_was_there_is_read_also_later(ledger: Ledger) -> None:
    """Memory of releases only grows, so that what another publisher adds is not seen; what is
    carried on is replaced, and to miss it then is said as it is, and is no damage.
    """
    put(ledger, 1)
    recall = ledger.recall("visits")
    before = recall.remembered()["t"]
    assert recall.state()["c"].height
    put(ledger, 2)
    assert recall.remembered()["t"].equals(before)
    assert recall.groups(2) is None
    assert ledger.remembered("visits")["t"].height == 2 * before.height
    with pytest.raises(LedgerError, match="published by another process meanwhile; nothing was"):
        recall.state()


@pytest.mark.parametrize("name", ["memory/t", "carried/c", "groups"])
def test_a_changed_segment_is_damage(ledger: Ledger, name: str) -> None:
    """Where nobody published meanwhile."""
    put(ledger, 1)
    recall = ledger.recall("visits")
    ledger._store.run("UPDATE segments SET sealed = $1 WHERE name = $2", b"x" * 40, name)
    reads = {
        "memory/t": lambda: recall.remembered()["t"],
        "carried/c": recall.state,
        "groups": lambda: recall.groups(1),
    }
    with pytest.raises(LedgerError, match="changed by others than Phalanx at release 1"):
        reads.pop(name)()
    assert all(read() is not None for read in reads.values())


def test_a_table_is_read_when_it_is_asked_for(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and not before; and what no release remembered is no table."""
    put(ledger, 1)
    put(ledger, 2)
    reads, read = [], Recall.appended
    monkeypatch.setattr(Recall, "appended", lambda *asked: reads.append(asked[1]) or read(*asked))
    tables = ledger.recall("visits").remembered()
    assert (list(tables), len(tables), "t" in tables, reads) == (["t"], 1, True, [])
    assert (tables["t"] is tables["t"], reads) == (True, ["t"])
    assert ("u" in tables, tables.get("u"), reads) == (False, None, ["t"])
    sent = pickle.dumps(ledger.recall("visits").remembered())  # as to a worker
    elsewhere = pickle.loads(sent)  # noqa: S301 - our own
    assert elsewhere["t"].equals(tables["t"])


def test_only_the_last_release_carries(ledger: Ledger) -> None:
    """What a release before the last one carried is not taken for the state of the series, also
    where it is still there, as after a release that was entered with nothing but a memory; and of
    which releases the groups are known is told apart.
    """
    put(ledger, 1)
    recall = ledger.recall("visits")
    assert (list(recall.state()), recall.mapped()) == (["c"], [1])
    entered = ReleaseEntry(number=2, folder="f2", staging="", digest="2" * 64, summary={})
    memory = ledger.remembered("visits")["t"]
    ledger.reconcile("visits", [(entered, {"t": memory})], forgotten=False)
    assert ledger.remembered("visits")["t"]["person"].to_list() == 2 * memory["person"].to_list()
    assert (ledger.state("visits"), ledger.recall("visits").mapped()) == ({}, [1])
    assert ledger._store.run("SELECT number FROM segments WHERE name = 'carried/c'") == [(1,)]
    put(ledger, 3)
    assert ledger.state("visits")["c"]["number"].unique().to_list() == [3]
    assert ledger.recall("visits").mapped() == [1, 3]
