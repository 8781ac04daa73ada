# SPDX-License-Identifier: Apache-2.0
"""What a method is given and gives: the memory that a check sees is the one that the ledger keeps,
and everybody who is in a group is in the mapping.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx import Schema
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.errors import MethodError
from phalanx.ledger import Ledger, ReleaseEntry
from phalanx.methods.base import Draft, Memory

KEY = PersonKey(bytes(32))


def draft(**given: Any) -> Draft:
    """A draft without a form, of which nothing here is asked."""
    return Draft(form=None, **({"groups": np.zeros(0, dtype=np.int64)} | given))  # type: ignore[arg-type]


def table(*values: int) -> pl.DataFrame:
    return pl.DataFrame({"x": values}, schema={"x": pl.Int64})


DRAFTS = [
    draft(remember={"grows": table(1, 2)}, state={"carried": table(5), "once": table(6)}),
    draft(remember={"grows": table(3), "later": table(4)}, state={"carried": table(7)}),
    draft(remember={}, state={"carried": table()}),
    draft(remember={"grows": table()}),
]


def ledger_keeps(ledger: Ledger, memory: Memory, drafts: list[Draft]) -> bool:
    """Whether after each draft the memory has what the ledger has."""
    for number, one in enumerate(drafts, 1):
        entry = ReleaseEntry(number=number, folder=f"s-{number}", staging="", digest="", summary={})
        ledger.commit("s", entry, promise={}, remember=one.remember, groups=None, state=one.state)
        memory = memory.after(one, None)
        for kept, seen in (
            (ledger.remembered("s"), memory.tables),
            (ledger.state("s"), memory.state),
            ({**ledger.state("s"), **ledger.remembered("s")}, memory.everything),
        ):
            if {n: t.rows() for n, t in kept.items()} != {n: t.rows() for n, t in seen.items()}:
                return False
    return memory.releases == len(drafts)


@pytest.mark.parametrize(
    "one",
    [
        draft(state={"grows": table(1)}),
        draft(remember={"carried": table(1)}),
        draft(remember={"new": table(1)}, state={"new": table(1)}),
    ],
)
def test_no_table_hides_another_one(one: Draft) -> None:
    """What is remembered is not carried, and the other way round, in one release or in two."""
    memory = Memory().after(DRAFTS[0], None)
    with pytest.raises(MethodError, match="carries another one of that name"):
        memory.after(one, None)


def test_the_check_sees_what_the_ledger_will_remember(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables grow, and what a release carries on goes with the next; a memory that keeps what no
    draft carries any more is rejected.
    """
    with Ledger.open(f"sqlite:///{tmp_path}/l.db") as ledger:
        assert ledger_keeps(ledger, Memory(), DRAFTS)
    real = Memory.after

    def broken(self: Memory, one: Draft, groups: pl.DataFrame | None) -> Memory:
        after = real(self, one, groups)
        return replace(after, state={**self.state, **after.state})

    monkeypatch.setattr(Memory, "after", broken)
    with Ledger.open(f"sqlite:///{tmp_path}/other.db") as ledger:
        assert not ledger_keeps(ledger, Memory(), DRAFTS)


def test_the_mapping_has_everybody_who_is_in_a_group() -> None:
    """Rows first, then registered persons; not those in no group, and nobody where no identifier is
    declared.
    """
    schema = Schema(identifier="who", quasi=["age"])
    rows = pl.DataFrame({"who": ["a", "b"], "age": [1, 2]})
    listed = pl.DataFrame({"who": ["c", "d", "a"], "age": [3, 4, 1]})
    keys = dict(zip(KEY.hash(pl.Series(["a", "b", "c", "d"])), "abcd", strict=True))

    def mapped(groups: list[int], microdata: Microdata) -> dict[str, int]:
        mapping = draft(groups=np.array(groups)).mapping(microdata)
        assert mapping is not None
        return {keys[person]: group for person, group in mapping.iter_rows()}

    alone, beside = (Microdata.encode(rows, schema, KEY, r) for r in (None, listed))
    assert mapped([7, 0], alone) == {"a": 7}
    assert beside.registry is not None
    assert mapped([7, 8, 0, 7], beside) == {"a": 7, "b": 8, "d": 7}
    unnamed = Microdata.encode(rows.drop("who"), Schema(quasi=["age"]))
    assert draft(groups=np.array([1, 1])).mapping(unnamed) is None
