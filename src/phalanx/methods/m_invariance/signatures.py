# SPDX-License-Identifier: Apache-2.0
"""Signatures: the sets of sensitive values under which persons were first published, recalled for
the rows of a new table.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Ints
from phalanx.data.column import check_beside_fractions
from phalanx.data.microdata import Microdata
from phalanx.data.standing import rows_of
from phalanx.methods.base import Memory
from phalanx.methods.m_invariance import kernels
from phalanx.release.evidence.signatures import PERSONS, SIGNATURES


@dataclass(frozen=True, kw_only=True, eq=False)
class Signatures:
    """All signatures of a series as one table, and where the rows of a new table stand in it.

    Signature b has the entries ``offsets[b] .. offsets[b+1]-1``, one per value, in the order of the
    values' codes.
    """

    domain: pl.Series
    """The sensitive values of the table and of all signatures; codes index it."""
    codes: Ints
    """(n,) the code of each row's sensitive value."""
    offsets: Ints
    """(q + 1,) first entry of each signature."""
    values: Ints
    """(e,) the value code of each entry."""
    ids: Ints
    """(q,) the number by which memory knows each signature."""
    entries: Ints
    """(e,) the number by which memory knows each entry."""
    of_row: Ints
    """(n,) the signature of each row; -1 for a new tuple."""
    entry_of_row: Ints
    """(n,) the entry of each row; -1 for a new tuple."""
    changed: Bools
    """(n,) whether the person is known with another value only."""
    known: int
    """How many of the signatures memory held before."""

    @property
    def n_values(self) -> int:
        """How many sensitive values there are."""
        return len(self.domain)

    @classmethod
    def recall(
        cls, microdata: Microdata, memory: Memory, *, everyone: bool, per_record: bool
    ) -> "Signatures":
        """Who was published before, and under which signature.

        ``everyone``: recall all who were ever published, else only those of the last release.
        ``per_record``: a person may have one signature per value.
        """
        column = microdata.sensitive
        codes = column.codes.astype(np.int64)
        unset = np.full(microdata.rows, -1, dtype=np.int64)
        table, persons = memory.tables.get(SIGNATURES), memory.tables.get(PERSONS)
        if table is None or persons is None or table.height == 0 or microdata.persons is None:
            none = np.zeros(0, dtype=np.int64)
            unchanged = np.zeros(microdata.rows, dtype=bool)
            return cls(
                domain=column.domain.values,
                codes=codes,
                offsets=np.zeros(1, dtype=np.int64),
                values=none,
                ids=none,
                entries=none,
                of_row=unset,
                entry_of_row=unset,
                changed=unchanged,
                known=0,
            )
        domain = _with_remembered(column.domain.values, table["value"])
        coded = pl.DataFrame({"value": domain, "code": np.arange(len(domain), dtype=np.int64)})
        table = _join_value(table, coded).sort("signature", "code")
        ids, sizes = np.unique(table["signature"].to_numpy(), return_counts=True)
        values, entries = (table[name].to_numpy().astype(np.int64) for name in ("code", "entry"))

        if not everyone:
            last = (
                memory.groups
                if memory.groups is not None
                else pl.DataFrame(schema={"person": pl.Binary})
            )
            persons = persons.join(
                last.select("person"), on="person", how="semi", maintain_order="left"
            )
        place_of = np.zeros(int(entries.max()) + 1, dtype=np.int64)
        place_of[entries] = np.arange(len(entries))
        place = place_of[persons["entry"].to_numpy()]
        last_row = rows_of(microdata.persons, persons["person"])
        if everyone and per_record:
            rows = pl.DataFrame({"person": microdata.persons, "code": codes})
            records = persons.select(
                "person", pl.Series("code", values[place]), pl.Series("place", place)
            )
            places = rows.join(records, on=["person", "code"], how="left", maintain_order="left")
            entry_of_row = places["place"].fill_null(-1).to_numpy()
        else:
            entry_of_row = np.append(place, -1)[last_row]
            entry_of_row = np.where(values[entry_of_row] == codes, entry_of_row, -1)
        has_entry = entry_of_row >= 0
        return cls(
            domain=domain,
            codes=codes,
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            values=values,
            ids=ids,
            entries=entries,
            of_row=np.where(has_entry, np.repeat(np.arange(len(ids)), sizes)[entry_of_row], -1),
            entry_of_row=entry_of_row,
            changed=(last_row >= 0) & ~has_entry,
            known=len(ids),
        )

    def extended(self, opened: "Opened") -> "Signatures":
        """With the signatures that a release opened."""
        offsets, values, _ = opened.table()
        opened_ones, entries = len(opened) - len(self.ids), len(values) - len(self.values)
        first_new = int(self.ids.max(initial=0)) + 1
        first_entry = int(self.entries.max(initial=-1)) + 1
        return replace(
            self,
            offsets=offsets.copy(),
            values=values.copy(),
            ids=np.concatenate([self.ids, np.arange(first_new, first_new + opened_ones)]),
            entries=np.concatenate([self.entries, np.arange(first_entry, first_entry + entries)]),
        )

    def to_remember(self, persons: pl.Series, entry_of_new: Ints) -> dict[str, pl.DataFrame]:
        """What to append to memory: the signatures that are new, and the new persons (or records)
        under theirs, in the order of the table. ``entry_of_new``: the entry of each row (n,), -1 of
        one that is not new.
        """
        is_new = entry_of_new >= 0
        first = self.offsets[self.known]
        new = np.repeat(self.ids, np.diff(self.offsets))[first:]
        return {
            SIGNATURES: pl.DataFrame(
                {
                    "entry": self.entries[first:],
                    "signature": new,
                    "value": self.domain.gather(self.values[first:]),
                }
            ),
            PERSONS: pl.DataFrame(
                {
                    "person": persons if is_new.all() else persons.filter(pl.Series(is_new)),
                    "entry": self.entries[entry_of_new[is_new]].astype(np.int32),
                }
            ),
        }


class Opened:
    """The signatures that there are, and those that a release opens while new tuples are
    assigned.
    """

    def __init__(self, signatures: Signatures, members: Ints) -> None:
        self._offsets, self._values = Growing(signatures.offsets), Growing(signatures.values)
        self._marks = Growing(kernels.mark(signatures.offsets, signatures.values))
        self._members = Growing(members)
        self._ranks = Growing(kernels.rank(self._members.all, np.arange(len(members))))
        ends = zip(signatures.offsets, signatures.offsets[1:], strict=False)
        self._place = {signatures.values[a:b].tobytes(): i for i, (a, b) in enumerate(ends)}

    def table(self) -> tuple[Ints, Ints, Ints]:
        """Offsets (q + 1,), values (e,) and marks (q,) of all of them."""
        return self._offsets.all, self._values.all, self._marks.all

    @property
    def ranks(self) -> Ints:
        """The rank of each (q,), the one with most members first, of equally large ones the
        first.
        """
        return self._ranks.all

    def open(self, values: Ints, ends: Ints) -> Ints:
        """The places of the signatures with these values, each of those from one end to the next,
        shape (s,), opened where there is none; ``ends`` (s + 1,) begin with 0.
        """
        values, known, width = kernels.in_order(values, ends), len(self), values.itemsize
        held, place, new = values.tobytes(), self._place, list[int]()
        places = np.empty(len(ends) - 1, dtype=np.int64)
        for i, (first, end) in enumerate(pairwise((width * ends).tolist())):
            at = place.setdefault(held[first:end], known + len(new))
            if at == known + len(new):
                new.append(i)
            places[i] = at
        opened = np.array(new, dtype=np.int64)
        entries, _ = kernels.entries_of(ends, opened, opened)
        offsets = np.concatenate([[0], np.cumsum(np.diff(ends)[opened])])
        self._offsets.add(self._offsets.all[-1] + offsets[1:])
        self._values.add(values[entries])
        self._marks.add(kernels.mark(offsets, values[entries]))
        self._members.add(np.zeros_like(opened))
        self._ranks.add(kernels.rank(self._members.all, known + np.arange(len(opened))))
        return places

    def add(self, places: Ints, sets: Ints) -> None:
        """To each value of the signatures ``places`` (s,), each of them once, in ascending order,
        so many tuples more are assigned, shape (s,).
        """
        kernels.move_up(self._ranks.all, self._members.all, places, sets)

    def __len__(self) -> int:
        return len(self._members.all)


class Growing:
    """Whole numbers to which more are added, in room that is doubled where it does not do."""

    def __init__(self, numbers: Ints) -> None:
        self._room, self._used = numbers.astype(np.int64), len(numbers)

    @property
    def all(self) -> Ints:
        """All of them, until more are added."""
        return self._room[: self._used]

    def add(self, numbers: Ints) -> None:
        """Put these (n,) behind the others."""
        used = self._used + len(numbers)
        if used > len(self._room):
            self._room = np.concatenate([self._room, np.zeros(used, dtype=np.int64)])
        self._room[self._used : used] = numbers
        self._used = used


def _with_remembered(values: pl.Series, remembered: pl.Series) -> pl.Series:
    """The table's sensitive values, followed by those that only signatures hold: a counterfeit may
    need one of them.
    """
    check_beside_fractions(values.name, (values, remembered))
    both = pl.concat(
        [values.to_frame("value"), remembered.unique().sort().to_frame("value")],
        how="vertical_relaxed",
    )["value"]
    return both.unique(maintain_order=True)


def _join_value(table: pl.DataFrame, coded: pl.DataFrame) -> pl.DataFrame:
    """The table with the code of each value; a number is the same number whatever its width."""
    return table.with_columns(pl.col("value").cast(coded["value"].dtype)).join(
        coded, on="value", how="left", nulls_equal=True, maintain_order="left"
    )
