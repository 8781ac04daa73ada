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
"""Memory table (signature, value): one row per value of a signature."""
_PERSONS: Final = "persons"
"""Memory table (person, value, signature): the value and the signature first published for a person (or for a record of theirs)."""


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
    of_row: Ints
    """(n,) the signature of each row; -1 for a new tuple."""
    entry_of_row: Ints
    """(n,) the entry of each row; meaningless for a new tuple."""
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
                domain=column.domain.values, codes=codes, offsets=np.zeros(1, dtype=np.int64), values=none, ids=none, of_row=nobody, entry_of_row=nobody, changed=unchanged, known=0
            )
        domain = _with_remembered(column.domain.values, table["value"])
        coded = pl.DataFrame({"value": domain, "code": np.arange(len(domain), dtype=np.int64)})
        table = _join_value(table, coded).sort("signature", "code")
        ids, sizes = np.unique(table["signature"].to_numpy(), return_counts=True)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        values = table["code"].to_numpy().astype(np.int64)

        if not everyone:
            last = memory.groups if memory.groups is not None else pl.DataFrame(schema={"person": pl.Binary})
            persons = persons.join(last.select("person"), on="person", how="semi", maintain_order="left")
        if not (everyone and per_record):
            persons = persons.unique("person", keep="last", maintain_order=True)
        records = _join_value(persons, coded).select("person", pl.col("code").alias("recorded"), "signature")
        rows = pl.DataFrame({"person": microdata.persons, "code": codes})
        if everyone and per_record:
            seen = rows.join(records.unique("person"), on="person", how="left", maintain_order="left")["recorded"].is_not_null()
            found = rows.join(records, left_on=["person", "code"], right_on=["person", "recorded"], how="left", maintain_order="left")["signature"]
        else:
            joined = rows.join(records, on="person", how="left", maintain_order="left")
            seen = joined["recorded"].is_not_null()
            found = joined.select(pl.when(pl.col("recorded") == pl.col("code")).then(pl.col("signature")))["signature"]
        changed = (seen & found.is_null()).to_numpy()
        of_row = np.where(found.is_null().to_numpy(), -1, np.searchsorted(ids, found.fill_null(int(ids[0])).to_numpy()))
        keys = np.repeat(np.arange(len(ids)), sizes) * len(domain) + values
        entry_of_row = np.searchsorted(keys, of_row * len(domain) + codes)
        return cls(domain=domain, codes=codes, offsets=offsets, values=values, ids=ids, of_row=of_row, entry_of_row=entry_of_row, changed=changed, known=len(ids))

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
        return replace(self, offsets=offsets, values=np.concatenate([self.values, *created]), ids=ids), assigned

    def to_remember(self, persons: pl.Series, rows: Ints, entries: Ints) -> dict[str, pl.DataFrame]:
        """What to append to memory: the signatures that are new, and the new persons (or records) under theirs."""
        first = self.offsets[self.known]
        new = np.repeat(self.ids, np.diff(self.offsets))[first:]
        signature_of_entry = np.repeat(self.ids, np.diff(self.offsets))
        return {
            _SIGNATURES: pl.DataFrame({"signature": new, "value": self.domain.gather(self.values[first:]).alias("value")}),
            _PERSONS: pl.DataFrame({"person": persons.gather(rows), "value": self.domain.gather(self.codes[rows]).alias("value"), "signature": signature_of_entry[entries]}),
        }


def _with_remembered(values: pl.Series, remembered: pl.Series) -> pl.Series:
    """The table's sensitive values, followed by those that only signatures hold: a counterfeit may need one of them."""
    both = pl.concat([values.to_frame("value"), remembered.unique().sort().to_frame("value")], how="vertical_relaxed")["value"]
    return both.unique(maintain_order=True)


def _join_value(table: pl.DataFrame, coded: pl.DataFrame) -> pl.DataFrame:
    """The table with the code of each value; a number is the same number whatever its width."""
    return table.with_columns(pl.col("value").cast(coded["value"].dtype)).join(coded, on="value", how="left", nulls_equal=True, maintain_order="left")
