# SPDX-License-Identifier: Apache-2.0
"""Who was ever linked to a value, and with which probability: from published groups and the mapping
of persons to them, exactly.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Floats, Ints
from phalanx.guarantees.global_guarantee.shares import Added, Cells, Protects, nowhere
from phalanx.release.folder import Release

_NEAR: Final = 1e-9
"""Floats choose the candidates: those this near to what is asked for are compared as fractions."""
_LINKS: Final = 1 << 24
"""So many links of persons to values are held in memory at once."""


@dataclass(frozen=True, eq=False)
class Series:
    """Who was in which group that holds something that counts, release by release."""

    persons: pl.Series
    """All persons linked to something, each once."""
    cells: Cells
    hosted: Sequence[tuple[Ints, Ints]]
    """For each release the persons, as places in ``persons``, and the places of their groups."""

    @classmethod
    def of(
        cls,
        releases: Sequence[Release],
        groups: Mapping[int, pl.DataFrame],
        protects: Protects,
        added: Added = nowhere,
    ) -> "Series":
        """Bring releases and their mappings (person, group) together; persons in groups that are
        not published are left out.
        """
        cells = Cells.of(releases, protects, added)
        hosts = [cells.hosts(i, r, groups[r.number]) for i, r in enumerate(releases)]
        people = pl.concat(
            [
                groups[r.number]["person"].gather(row)
                for r, (row, _) in zip(releases, hosts, strict=True)
            ]
        )
        persons, who = _distinct(people)
        bounds = np.cumsum([len(row) for row, _ in hosts])[:-1]
        return cls(
            persons,
            cells,
            [(one, where) for one, (_, where) in zip(np.split(who, bounds), hosts, strict=True)],
        )

    def each(self, numbers: Sequence[int]) -> "list[SoFar]":
        """For every release, by its number and in order, what it and those before it link."""
        seen, persons = np.zeros(len(self.persons), dtype=bool), []
        for who, _ in self.hosted:
            seen[who] = True
            persons.append(int(seen.sum()))
        pairs = dict.fromkeys(numbers, 0)
        worst: dict[int, tuple[Fraction, pl.DataFrame]] = {}
        for some in self.parts():
            first, times = np.unique(
                self.cells.release[some.cell[some.starts[:-1]]], return_counts=True
            )
            for number, count in zip(first.tolist(), times.tolist(), strict=True):
                pairs[number] += count
            some.worst_of_each(worst)
        each: list[SoFar] = []
        for number, linked_to in zip(numbers, persons, strict=True):
            before = each[-1] if each else SoFar(0, 0, None, pl.DataFrame())
            p, cases = before.worst, before.cases
            if number in worst and (p is None or worst[number][0] > p):
                p, cases = worst[number]
            each.append(SoFar(linked_to, before.pairs + pairs[number], p, cases))
        return each

    def parts(self) -> Iterator["Pairs"]:
        """The pairs of person and value, some persons at a time, so that a long series of a large
        table fits into memory.
        """
        links = np.zeros(len(self.persons), dtype=np.int64)
        for at, (who, where) in enumerate(self.hosted):
            links += np.bincount(
                who, weights=np.diff(self.cells.starts[at])[where], minlength=len(links)
            ).astype(np.int64)
        reached = np.cumsum(links)
        low = 0
        while low < len(links):
            high = max(
                int(
                    np.searchsorted(
                        reached, (reached[low - 1] if low else 0) + _LINKS, side="right"
                    )
                ),
                low + 1,
            )
            yield self._pairs(low, high)
            low = high

    def _pairs(self, low: int, high: int) -> "Pairs":
        persons, cells = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for at, (who, where) in enumerate(self.hosted):
            if (low, high) != (0, len(self.persons)):
                inside = np.flatnonzero((who >= low) & (who < high))
                who, where = (  # noqa: PLW2901 - the same persons, fewer of them
                    who[inside],
                    where[inside],
                )
            person, cell = self.cells.spread(at, who, where)
            persons.append(person)
            cells.append(cell)
        person, cell = np.concatenate(persons), np.concatenate(cells)
        width = max(len(self.cells.values), 1)
        key, order = _ordered((person - low) * width + self.cells.value[cell])
        begins = (
            np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
            if len(key)
            else np.zeros(0, dtype=np.int64)
        )
        return Pairs(
            key[begins] // width + low,
            key[begins] % width,
            np.append(begins, len(key)),
            cell[order],
            self.cells,
        )


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a person and a value that some group linked: pair i was linked in
    ``cell[starts[i]:starts[i + 1]]``, in the order of the releases.
    """

    person: Ints
    value: Ints
    starts: Ints
    cell: Ints
    cells: Cells

    def __len__(self) -> int:
        return len(self.person)

    @cached_property
    def survival(self) -> Floats:
        """The probability of never having been linked, in floating point; below 0 where added
        shares exceed it.
        """
        if not len(self):
            return np.zeros(0)
        with np.errstate(divide="ignore"):
            factor = np.where(self.cells.added, 0.0, np.log1p(-self.cells.share))
        product: Floats = np.exp(np.add.reduceat(factor[self.cell], self.starts[:-1]))
        if not self.cells.added.any():
            return product
        less: Floats = product - np.add.reduceat(
            np.where(self.cells.added, self.cells.share, 0.0)[self.cell], self.starts[:-1]
        )
        return less

    def worst(self) -> tuple[Fraction, int]:
        """The largest probability of having ever been linked, as a fraction, and a pair that has
        it; there is at least one pair.
        """
        near = np.flatnonzero(self.survival <= self.survival.min() + _NEAR)
        return max(self._each(near), key=_figure)[:2]

    def above(self, bound: Fraction) -> Bools:
        """Whether each pair's probability of having ever been linked is above a bound, compared
        exactly.
        """
        exceeded: Bools = self.survival < float(1 - bound) - _NEAR
        near = np.flatnonzero(np.abs(self.survival - float(1 - bound)) <= _NEAR)
        for p, _, alike in self._each(near):
            exceeded[alike] = p > bound
        return exceeded

    def _each(self, pairs: Ints) -> Iterator[tuple[Fraction, int, Ints]]:
        """The exact probability of pairs: each different one once, with the first pair and all
        pairs that have that history.
        """
        length = np.diff(self.starts)[pairs]
        for k in np.unique(length).tolist():
            yield from self._alike(pairs[length == k], k)

    def _alike(self, pairs: Ints, k: int) -> Iterator[tuple[Fraction, int, Ints]]:
        """The same, of the first ``k`` releases that linked each pair."""
        histories = np.sort(
            self.cells.kind[self.cell[self.starts[pairs][:, None] + np.arange(k)]], axis=1
        )
        names = [f"{i}" for i in range(k)]
        table = pl.DataFrame(histories, schema=names, orient="row").with_columns(pair=pairs)
        for row in table.group_by(names, maintain_order=True).agg("pair").iter_rows():
            yield self.cells.probability(row[:-1]), row[-1][0], np.array(row[-1])

    def worst_of_each(self, worst: dict[int, tuple[Fraction, pl.DataFrame]]) -> None:
        """Raise ``worst``: by the number of a release, the largest probability, up to it, of a pair
        that it links, and the groups of one that has it. Of cells whose shares are not added.
        """
        survival, length = np.ones(len(self)), np.diff(self.starts)
        for k in range(int(length.max(initial=0))):
            pairs = np.flatnonzero(length > k)
            cell = self.cell[self.starts[pairs] + k]
            survival[pairs] *= 1 - self.cells.share[cell]
            release = self.cells.release[cell]
            for number in np.unique(release).tolist():
                linked_now = pairs[release == number]
                least = survival[linked_now].min()
                before = worst[number][0] if number in worst else Fraction(-1)
                if least > float(1 - before) + _NEAR:
                    continue
                near = linked_now[survival[linked_now] <= least + _NEAR]
                p, pair, _ = max(self._alike(near, k + 1), key=_figure)
                if p > before:
                    worst[number] = p, self.cases(pair, k + 1)

    def cases(self, pair: int, first: int | None = None) -> pl.DataFrame:
        """The groups that linked a person to a value, or the ``first`` of them, as published:
        release, group, members, holding, value; nothing says who it is.
        """
        cell = self.cell[self.starts[pair] : self.starts[pair + 1]][:first]
        columns = {
            name: getattr(self.cells, name)[cell]
            for name in ("release", "group", "members", "holding")
        }
        return pl.DataFrame(columns).with_columns(
            value=pl.lit(str(self.cells.values[int(self.value[pair])]))
        )


@dataclass(frozen=True, eq=False)
class SoFar:
    """What the releases of a series up to one of them link."""

    persons: int
    pairs: int
    worst: Fraction | None
    """The largest probability of having ever been linked; None where no person was."""
    cases: pl.DataFrame


def _figure(each: tuple[Fraction, int, Ints]) -> Fraction:
    return each[0]


def _distinct(persons: pl.Series) -> tuple[pl.Series, Ints]:
    """Each person once, in no particular order, and the place of each entry among them."""
    distinct = persons.alias("person").unique()
    lookup = pl.DataFrame({"person": distinct, "place": np.arange(len(distinct), dtype=np.int64)})
    who = (
        persons.alias("person")
        .to_frame()
        .join(lookup, on="person", how="left", nulls_equal=True, maintain_order="left")["place"]
    )
    return distinct, who.to_numpy().astype(np.int64)


def _ordered(key: Ints) -> tuple[Ints, Ints]:
    """Keys in order, and the stable order of their entries; the place of an entry is packed below
    its key where both fit into 63 bits.
    """
    bits = len(key).bit_length()
    if int(key.max(initial=0)).bit_length() + bits > 62:
        order = np.argsort(key, kind="stable")
        return key[order], order
    packed = (key << bits) | np.arange(len(key), dtype=np.int64)
    packed.sort()
    return packed >> bits, packed & ((1 << bits) - 1)
