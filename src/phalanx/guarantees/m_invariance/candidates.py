# SPDX-License-Identifier: Apache-2.0
"""How many values the public view leaves a person: over the releases of a series, one after the
other, the intersection of what all boxes around the person hold.
"""

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Ints
from phalanx.guarantees.m_invariance.hosts import values_of
from phalanx.guarantees.m_invariance.signatures import Signatures
from phalanx.guarantees.views.boxes import candidate_sets
from phalanx.guarantees.views.groups import Groups
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


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
        self._sets: Bools = np.zeros((0, 0), dtype=bool)
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
        places = self._places(keys)
        local = candidate_sets(microdata, release.generalized)[rows]
        boxed = local.any(axis=1)
        who, now = places[boxed], np.zeros((int(boxed.sum()), self._sets.shape[1]), dtype=bool)
        now[:, number] = local[boxed]
        if self._consecutive:
            together = np.where(self._seen[who][:, None], self._sets[who] & now, now)
            self._sets[:], self._seen[:] = True, False
            self._sets[who] = now
        else:
            self._sets[who] &= now
            together = self._sets[who]
        self._seen[who] = True
        sizes = together.sum(axis=1)
        if len(sizes) and (self.fewest is None or sizes.min() < self.fewest):
            self.fewest = int(sizes.min())
            self.smallest = _remaining(together[sizes == self.fewest], self._signatures)

    def _places(self, keys: pl.DataFrame) -> Ints:
        """The place of each person, of whom new ones get one, with every value left to them; no
        value that was in no release before is left to the others.
        """
        known = keys.clear() if self._who is None else self._who.drop("place")
        self._who = pl.concat([known, keys]).unique(maintain_order=True).with_row_index("place")
        old, q = self._sets.shape
        grown = np.ones((self._who.height, self._signatures.number_of_values), dtype=bool)
        grown[:old, :q] = self._sets
        grown[:old, q:] = ~self._seen[:, None]
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


def _remaining(sets: Bools, signatures: Signatures) -> pl.DataFrame:
    """The smallest candidate sets, and how many are left with each."""
    distinct, counts = np.unique(sets, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:10]
    texts = [
        ", ".join(str(signatures.value(v)) for v in np.flatnonzero(distinct[i]).tolist())
        for i in order.tolist()
    ]
    return pl.DataFrame(
        {"candidates": pl.Series(texts, dtype=pl.String), "how_many": counts[order]}
    )
