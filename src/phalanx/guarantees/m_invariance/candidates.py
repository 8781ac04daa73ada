# SPDX-License-Identifier: Apache-2.0
"""How many values the public view leaves a person: over the releases of a series, one after the
other, the intersection of what all boxes around the person hold.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Ints, Sets, sizes, words
from phalanx.guarantees.m_invariance.hosts import values_of
from phalanx.guarantees.m_invariance.signatures import Signatures
from phalanx.guarantees.views.boxes import candidate_sets
from phalanx.guarantees.views.groups import Groups
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release

_AT_ONCE: Final = 1 << 22
"""So many words of persons' sets are looked at at once."""
_SHOWN: Final = 10
"""So many of the smallest sets are shown."""


class Candidates:
    """Each person's candidate set so far, in one pass over a series; with ``records`` one for each
    value of a person, with ``consecutive`` of each two neighbouring releases; ``m`` values are
    promised.
    """

    def __init__(self, signatures: Signatures, m: int, *, consecutive: bool, records: bool) -> None:
        self.fewest: int | None = None
        """The smallest set that any person has had; None where none is in any box."""
        self.smallest = pl.DataFrame()
        """The sets of that size, and how many are left with each."""
        self.short: list[int] = []
        """How many persons of each release are left with fewer than m."""
        self._m = m
        self._signatures = signatures
        self._consecutive, self._records = consecutive, records
        self._who: pl.DataFrame | None = None
        self._sets: Sets = np.zeros((0, 0), dtype=np.uint64)
        self._seen: Bools = np.zeros(0, dtype=bool)
        """Whose set is known; all values are left to the others."""

    def __len__(self) -> int:
        return 0 if self._who is None else self._who.height

    def add(self, release: Release, evidence: Evidence, *, last: bool) -> None:
        """The next release, whose microdata have persons; of the ``last`` one no sets are kept, which
        of many values take kilobytes each.
        """
        microdata, rows = evidence.microdata[release.number], _published_rows(evidence, release)
        keys = pl.DataFrame({"person": microdata.persons})[rows]
        if self._records:
            keys = keys.with_columns(value=values_of(microdata, self._signatures)[rows])
        values = Groups.of(release).values
        number = self._signatures.values([] if values is None else values.to_list())
        places, q = self._places(keys), self._signatures.number_of_values
        pieces, whose = candidate_sets(microdata, release.generalized, number, q)
        order = np.argsort(whose[rows], kind="stable")
        whose = whose[rows][order]
        after = None if last else self._kept(q)
        now_seen = np.zeros_like(self._seen) if self._consecutive else self._seen.copy()
        smallest = _Smallest(self._m)
        for points, sets in pieces:
            begin, end = (np.searchsorted(whose, points, side=side) for side in ("left", "right"))
            mine = (end > begin) & (sizes(sets) > 0)
            now, first, many = sets[mine], begin[mine], (end - begin)[mine]
            if after is None and not self._seen.any():  # so that all persons of a point are alike
                smallest.see(now, many)
                continue
            for of, at in _some(many, max(1, _AT_ONCE // max(1, words(q)))):
                who = places[order[first[of] + at]]
                together = self._left(who, now[of])
                smallest.see(together, np.ones(len(who), dtype=np.int64))
                if after is not None:
                    after[who] = now[of] if self._consecutive else together
                    now_seen[who] = True
        if after is not None:
            self._sets, self._seen = after, now_seen
        self.short.append(smallest.short)
        if smallest.size is not None and (self.fewest is None or smallest.size < self.fewest):
            self.fewest = smallest.size
            self.smallest = smallest.shown(self._signatures)

    def _places(self, keys: pl.DataFrame) -> Ints:
        """The place of each person, of whom new ones get one."""
        known = keys.clear() if self._who is None else self._who.drop("place")
        self._who = pl.concat([known, keys]).unique(maintain_order=True).with_row_index("place")
        new = np.zeros(self._who.height - len(self._seen), dtype=bool)
        self._seen = np.append(self._seen, new)
        at = keys.join(
            self._who, on=keys.columns, how="left", nulls_equal=True, maintain_order="left"
        )
        return at["place"].to_numpy().astype(np.int64)

    def _kept(self, q: int) -> Sets:
        """The sets so far, with room for those of new persons and of new values."""
        if self._sets.shape == (len(self._seen), words(q)):
            return self._sets
        kept = np.zeros((len(self._seen), words(q)), dtype=np.uint64)
        seen = np.flatnonzero(self._seen)
        kept[seen, : self._sets.shape[1]] = self._sets[seen]
        return kept

    def _left(self, who: Ints, now: Sets) -> Sets:
        """What is left of these sets to persons; no value that was in no release before is left to
        those who were in one.
        """
        left, seen = now.copy(), np.flatnonzero(self._seen[who])
        before = self._sets[who[seen]]
        left[seen, : before.shape[1]] &= before
        left[seen, before.shape[1] :] = 0
        return left


class _Smallest:
    """The smallest of the sets that were seen, and how many have each; how many have fewer than m."""

    def __init__(self, m: int) -> None:
        self.size: int | None = None
        self.short = 0
        self._m = m
        self._found: list[tuple[Ints, Ints]] = []

    def see(self, sets: Sets, many: Ints) -> None:
        """Further sets, and how many have each."""
        size = sizes(sets)
        self.short += int(many[size < self._m].sum())
        if not len(size) or (self.size is not None and size.min() > self.size):
            return
        if self.size is None or size.min() < self.size:
            self.size, self._found = int(size.min()), []
        least = size == self.size
        self._found.append((_numbers(sets[least], self.size), many[least]))

    def shown(self, signatures: Signatures) -> pl.DataFrame:
        """The most frequent ones as texts, each with how many have it."""
        numbers, many = (np.concatenate(side) for side in zip(*self._found, strict=True))
        order = np.lexsort(numbers.T[::-1]) if numbers.shape[1] else np.arange(len(numbers))
        numbers, many = numbers[order], many[order]
        begins = np.flatnonzero(np.append(True, (numbers[1:] != numbers[:-1]).any(axis=1)))
        numbers, many = numbers[begins][::-1], np.add.reduceat(many, begins)[::-1]
        top = np.argsort(-many, kind="stable")[:_SHOWN]
        texts = [", ".join(str(signatures.value(v)) for v in row) for row in numbers[top].tolist()]
        return pl.DataFrame(
            {"candidates": pl.Series(texts, dtype=pl.String), "how_many": many[top]}
        )


def _numbers(sets: Sets, size: int) -> Ints:
    """What is in sets of this size, ascending, shape (n, size)."""
    row, word = np.nonzero(sets)
    octets = sets[row, word].astype("<u8").view(np.uint8).reshape(-1, 8)
    entry, bit = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
    return (word[entry] * 64 + bit).reshape(len(sets), size)


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


def _some(many: Ints, at_once: int) -> Iterator[tuple[Ints, Ints]]:
    """So many of the entries at a time of which the first of some have so ``many`` (n,): whose each
    is, and which of theirs, from 0.
    """
    ends = np.cumsum(many)
    for start in range(0, int(many.sum()), at_once):
        entry = np.arange(start, min(start + at_once, int(many.sum())))
        of = np.searchsorted(ends, entry, side="right")
        yield of, entry - (ends - many)[of]
