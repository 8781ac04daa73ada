# SPDX-License-Identifier: Apache-2.0
"""How many values the public view leaves a person: over the releases of a series, one after the
other, the intersection of what all boxes around the person hold.
"""

from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Ints, Sets, full, sizes
from phalanx.guarantees.m_invariance.hosts import values_of
from phalanx.guarantees.m_invariance.signatures import Signatures
from phalanx.guarantees.views.boxes import candidate_sets
from phalanx.guarantees.views.groups import Groups
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release

_FIRST_HIGHEST: Final = np.packbits(
    np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little"), axis=1
).ravel()
"""Each byte with its bits the other way round: so sets are ordered by their first values."""


class Candidates:
    """Each person's candidate set so far, in one pass over a series; with ``records`` one for each
    value of a person, with ``consecutive`` of each two neighbouring releases.
    """

    def __init__(self, signatures: Signatures, *, consecutive: bool, records: bool) -> None:
        self.fewest: int | None = None
        """The smallest set that any person has had; None where none is in any box."""
        self.smallest = pl.DataFrame()
        """The sets of that size, and how many are left with each."""
        self._signatures = signatures
        self._consecutive, self._records = consecutive, records
        self._who: pl.DataFrame | None = None
        self._sets: Sets = np.zeros((0, 0), dtype=np.uint64)
        self._seen: Bools = np.zeros(0, dtype=bool)

    def __len__(self) -> int:
        return len(self._sets)

    def add(self, release: Release, evidence: Evidence) -> None:
        """The next release, whose microdata have persons."""
        microdata, rows = evidence.microdata[release.number], _published_rows(evidence, release)
        keys = pl.DataFrame({"person": microdata.persons})[rows]
        if self._records:
            keys = keys.with_columns(value=values_of(microdata, self._signatures)[rows])
        values = Groups.of(release).values
        number = self._signatures.values([] if values is None else values.to_list())
        places, q = self._places(keys), self._signatures.number_of_values
        local, whose = candidate_sets(microdata, release.generalized, number, q)
        whose = whose[rows]
        boxed = (sizes(local) > 0)[whose]
        who, now = places[boxed], local[whose[boxed]]
        del local  # of many values a set takes kilobytes
        if self._consecutive:
            together = np.where(self._seen[who][:, None], self._sets[who] & now, now)
            self._sets[:], self._seen[:] = full(q), False
            self._sets[who] = now
        else:
            self._sets[who] &= now
            together = self._sets[who]
        self._seen[who] = True
        many = sizes(together)
        if len(many) and (self.fewest is None or many.min() < self.fewest):
            self.fewest = int(many.min())
            self.smallest = _remaining(together[many == self.fewest], self._signatures)

    def _places(self, keys: pl.DataFrame) -> Ints:
        """The place of each person, of whom new ones get one, with every value left to them; no
        value that was in no release before is left to the others.
        """
        known = keys.clear() if self._who is None else self._who.drop("place")
        self._who = pl.concat([known, keys]).unique(maintain_order=True).with_row_index("place")
        (old, words), seen = self._sets.shape, np.flatnonzero(self._seen)
        grown = np.tile(full(self._signatures.number_of_values), (self._who.height, 1))
        grown[seen] = 0
        grown[seen, :words] = self._sets[seen]
        self._sets, self._seen = (
            grown,
            np.append(self._seen, np.zeros(len(grown) - old, dtype=bool)),
        )
        at = keys.join(
            self._who, on=keys.columns, how="left", nulls_equal=True, maintain_order="left"
        )
        return at["place"].to_numpy().astype(np.int64)


def _published_rows(evidence: Evidence, release: Release) -> Ints:
    """The microdata rows that are published, as far as a mapping tells; else all."""
    microdata = evidence.microdata[release.number]
    mapping = evidence.groups.get(release.number)
    if mapping is None:
        return np.arange(microdata.rows)
    rows = pl.DataFrame({"person": microdata.persons}).with_row_index("row")
    return (
        rows.join(mapping.filter(pl.col("group") != 0), on="person", how="semi")["row"]
        .sort()
        .to_numpy()
        .astype(np.int64)
    )


def _remaining(sets: Sets, signatures: Signatures) -> pl.DataFrame:
    """The smallest candidate sets, and how many are left with each."""
    distinct, counts = np.unique(_FIRST_HIGHEST[sets.view(np.uint8)], axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:10]
    texts = [
        ", ".join(str(signatures.value(v)) for v in np.flatnonzero(np.unpackbits(row)).tolist())
        for row in distinct[order]
    ]
    return pl.DataFrame(
        {"candidates": pl.Series(texts, dtype=pl.String), "how_many": counts[order]}
    )
