"""Signatures: the sets of sensitive values under which persons were first published, recalled for the rows of a new table."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.methods.base import Memory

Ints = npt.NDArray[np.int64]

_SIGNATURES: Final = "signatures"
"""Memory table (entry, signature, value): one row per value of a signature; entries are numbered through."""
_PERSONS: Final = "persons"
"""Memory table (person, entry): the signature and the value in it that were first published for a person (or for a record of theirs)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Signatures:
    """All signatures of a series as one table, and where the rows of a new table stand in it.

    Signature b has the entries ``offsets[b] .. offsets[b+1]-1``, one per value, in the order of the values' codes.
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
    changed: npt.NDArray[np.bool_]
    """(n,) whether the person is known with another value only."""
    known: int
    """How many of the signatures memory held before."""

    @property
    def n_values(self) -> int:
        """How many sensitive values there are."""
        return len(self.domain)

    @classmethod
    def recall(cls, microdata: Microdata, memory: Memory, *, everyone: bool, per_record: bool) -> "Signatures":
        """Who was published before, and under which signature.

        ``everyone``: recall all who were ever published, else only those of the last release. ``per_record``: a person may have one signature per value.
        """
        column = microdata.sensitive
        codes = column.codes.astype(np.int64)
        nobody = np.full(microdata.rows, -1, dtype=np.int64)
        table, persons = memory.tables.get(_SIGNATURES), memory.tables.get(_PERSONS)
        if table is None or persons is None or table.height == 0:
            none = np.zeros(0, dtype=np.int64)
            unchanged = np.zeros(microdata.rows, dtype=bool)
            return cls(
                domain=column.domain.values,
                codes=codes,
                offsets=np.zeros(1, dtype=np.int64),
                values=none,
                ids=none,
                entries=none,
                of_row=nobody,
                entry_of_row=nobody,
                changed=unchanged,
                known=0,
            )
        domain = _with_remembered(column.domain.values, table["value"])
        coded = pl.DataFrame({"value": domain, "code": np.arange(len(domain), dtype=np.int64)})
        table = _join_value(table, coded).sort("signature", "code")
        ids, sizes = np.unique(table["signature"].to_numpy(), return_counts=True)
        values, entries = (table[name].to_numpy().astype(np.int64) for name in ("code", "entry"))

        if not everyone:
            last = memory.groups if memory.groups is not None else pl.DataFrame(schema={"person": pl.Binary})
            persons = persons.join(last.select("person"), on="person", how="semi", maintain_order="left")
        place_of = np.zeros(int(entries.max()) + 1, dtype=np.int64)
        place_of[entries] = np.arange(len(entries))
        place = place_of[persons["entry"].to_numpy()]
        records = pl.DataFrame({"person": persons["person"], "place": place, "code": values[place]})
        rows = pl.DataFrame({"person": microdata.persons, "code": codes})
        if everyone and per_record:
            seen = rows.join(records.unique("person"), on="person", how="left", maintain_order="left")["place"].is_not_null().to_numpy()
            found = rows.join(records, on=["person", "code"], how="left", maintain_order="left")["place"]
            entry_of_row = found.fill_null(-1).to_numpy()
        else:
            found = _last(rows, records)
            seen = found.is_not_null().to_numpy()
            entry_of_row = found.fill_null(-1).to_numpy()
            entry_of_row = np.where(values[entry_of_row] == codes, entry_of_row, -1)
        known = entry_of_row >= 0
        return cls(
            domain=domain,
            codes=codes,
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            values=values,
            ids=ids,
            entries=entries,
            of_row=np.where(known, np.repeat(np.arange(len(ids)), sizes)[entry_of_row], -1),
            entry_of_row=entry_of_row,
            changed=seen & ~known,
            known=len(ids),
        )

    def extended(self, alphas: Ints, betas: Ints, chosen: Ints) -> tuple["Signatures", Ints]:
        """With the signatures that the assignment phase made; also how many new tuples it assigned to each entry, shape (e,)."""
        place = {self.values[a:b].tobytes(): i for i, (a, b) in enumerate(zip(self.offsets, self.offsets[1:], strict=False))}
        sizes = list(np.diff(self.offsets))
        created: list[Ints] = []
        moves: list[tuple[int, int]] = []
        end = np.cumsum(betas)
        for alpha, a, b in zip(alphas, end - betas, end, strict=True):
            signature = np.sort(chosen[a:b])
            index = place.setdefault(signature.tobytes(), len(sizes))
            if index == len(sizes):
                sizes.append(len(signature))
                created.append(signature)
            moves.append((index, int(alpha)))
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        assigned = np.zeros(int(offsets[-1]), dtype=np.int64)
        for index, alpha in moves:
            assigned[offsets[index] : offsets[index + 1]] += alpha
        first_new = int(self.ids.max(initial=0)) + 1
        ids = np.concatenate([self.ids, np.arange(first_new, first_new + len(created))])
        new_entries = int(self.entries.max(initial=-1)) + 1 + np.arange(int(offsets[-1]) - len(self.entries))
        entries = np.concatenate([self.entries, new_entries])
        return replace(self, offsets=offsets, values=np.concatenate([self.values, *created]), ids=ids, entries=entries), assigned

    def to_remember(self, persons: pl.Series, rows: Ints, entries: Ints) -> dict[str, pl.DataFrame]:
        """What to append to memory: the signatures that are new, and the new persons (or records) under theirs."""
        first = self.offsets[self.known]
        new = np.repeat(self.ids, np.diff(self.offsets))[first:]
        return {
            _SIGNATURES: pl.DataFrame({"entry": self.entries[first:], "signature": new, "value": self.domain.gather(self.values[first:])}),
            _PERSONS: pl.DataFrame({"person": persons.gather(rows), "entry": self.entries[entries].astype(np.int32)}),
        }


def _with_remembered(values: pl.Series, remembered: pl.Series) -> pl.Series:
    """The table's sensitive values, followed by those that only signatures hold: a counterfeit may need one of them."""
    both = pl.concat([values.to_frame("value"), remembered.unique().sort().to_frame("value")], how="vertical_relaxed")["value"]
    return both.unique(maintain_order=True)


def _last(rows: pl.DataFrame, records: pl.DataFrame) -> pl.Series:
    """The place of the last record of each row's person, shape (n,); null for who has none."""
    found = rows.join(records, on="person", how="left", maintain_order="left")["place"]
    if len(found) > rows.height:  # some have several records
        latest = records.unique("person", keep="last", maintain_order=True)
        found = rows.join(latest, on="person", how="left", maintain_order="left")["place"]
    return found


def _join_value(table: pl.DataFrame, coded: pl.DataFrame) -> pl.DataFrame:
    """The table with the code of each value; a number is the same number whatever its width."""
    return table.with_columns(pl.col("value").cast(coded["value"].dtype)).join(coded, on="value", how="left", nulls_equal=True, maintain_order="left")
