# SPDX-License-Identifier: Apache-2.0
"""Who was ever linked to a value, and with which probability: from published groups and the mapping
of persons to them, exactly.

Persons who stood in the same groups have the same *history*, and are looked at together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Floats, Ints, ordered
from phalanx.guarantees.global_guarantee.shares import (
    Added,
    Cells,
    Protects,
    distinct,
    nowhere,
)
from phalanx.release.folder import Release

_NEAR: Final = 1e-9
"""Floats choose the candidates: those this near to what is asked for are compared as fractions."""
_LINKS: Final = 1 << 20
"""So many links of persons to values are held in memory at once."""


@dataclass(frozen=True, eq=False)
class Series:
    """Who was in which group that holds something that counts, release by release."""

    persons: pl.Series
    """All persons linked to something, each once, shape (p,)."""
    history: Ints
    """Which history each has, shape (p,)."""
    cells: Cells
    hosted: Sequence[tuple[int, Ints, Ints]]
    """The place of a release, histories of persons who are in it, each once, and the places of
    their groups; a release that has a person twice is there as often.
    """

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
        persons = groups[releases[0].number]["person"].clear()
        latest, steps = np.zeros(0, dtype=np.int64), [_Step.root()]
        for at, r in enumerate(releases):
            mapping = groups[r.number]
            row, where = cells.hosts(at, mapping)
            persons, who = _placed(persons, mapping["person"].gather(row))
            latest = np.concatenate([latest, np.zeros(len(persons) - len(latest), dtype=np.int64)])
            while len(who):
                last = np.zeros(len(persons), dtype=np.int64)
                last[who] = np.arange(len(who))
                now = last[who] == np.arange(len(who))  # each person once
                step, latest[who[now]] = steps[-1].followed(at, latest[who[now]], where[now])
                steps.append(step)
                who, where = who[~now], where[~now]
        reached, history = np.unique(latest, return_inverse=True)
        hosted = []
        for step in reversed(steps[1:]):
            whose = np.flatnonzero(reached >= step.first)
            node = reached[whose] - step.first
            hosted.append((step.at, whose, step.where[node]))
            reached[whose] = step.before[node]
        return cls(persons, history, cells, hosted[::-1])

    @cached_property
    def many(self) -> Ints:
        """How many persons have each history, shape (h,)."""
        return np.bincount(self.history).astype(np.int64)

    def each(self, numbers: Sequence[int]) -> "list[SoFar]":
        """For every release, by its number and in order, what it and those before it link."""
        seen, persons = np.zeros(len(self.many), dtype=bool), []
        for at in range(len(numbers)):
            for _, whose, _ in (step for step in self.hosted if step[0] == at):
                seen[whose] = True
            persons.append(int(self.many[seen].sum()))
        pairs = dict.fromkeys(numbers, 0)
        worst: dict[int, tuple[Fraction, pl.DataFrame]] = {}
        for some in self.parts():
            first, of = np.unique(
                self.cells.release[some.cell[some.starts[:-1]]], return_inverse=True
            )
            times = np.bincount(of, some.persons, minlength=len(first))
            for number, count in zip(first.tolist(), times.tolist(), strict=True):
                pairs[number] += int(count)
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
        """The pairs of history and value, some histories at a time, so that a long series of a
        large table fits into memory.
        """
        links = np.zeros(len(self.many), dtype=np.int64)
        for at, whose, where in self.hosted:
            links[whose] += np.diff(self.cells.starts[at])[where]
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
        histories, cells = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for at, whose, where in self.hosted:
            first, end = np.searchsorted(whose, [low, high])
            history, cell = self.cells.spread(at, whose[first:end], where[first:end])
            histories.append(history)
            cells.append(cell)
        history, cell = np.concatenate(histories), np.concatenate(cells)
        width = max(len(self.cells.values), 1)
        key, order = ordered((history - low) * width + self.cells.value[cell])
        begins = (
            np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
            if len(key)
            else np.zeros(0, dtype=np.int64)
        )
        of_pair = key[begins] // width + low
        return Pairs(
            of_pair,
            self.many[of_pair],
            key[begins] % width,
            np.append(begins, len(key)),
            cell[order],
            self.cells,
        )


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a history and a value that some group linked: pair i was linked in
    ``cell[starts[i]:starts[i + 1]]``, in the order of the releases.
    """

    history: Ints
    persons: Ints
    """How many have the history."""
    value: Ints
    starts: Ints
    cell: Ints
    cells: Cells

    def __len__(self) -> int:
        return len(self.history)

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


@dataclass(frozen=True)
class _Step:
    """Histories that a release made longer, numbered from ``first`` on."""

    at: int
    """The place of the release."""
    first: int
    before: Ints
    """What each went on from."""
    where: Ints
    """The place of the group."""

    @classmethod
    def root(cls) -> "_Step":
        """The history of those who were in no group yet: number 0."""
        none = np.zeros(1, dtype=np.int64)
        return cls(-1, 0, none, none)

    def followed(self, at: int, latest: Ints, where: Ints) -> tuple["_Step", Ints]:
        """The next step, and the history of each of some persons after it, by their history before
        it and their groups.
        """
        first = self.first + len(self.before)
        (before, group), history = distinct(latest, where)
        return _Step(at, first, before, group), history + first


def _placed(known: pl.Series, persons: pl.Series) -> tuple[pl.Series, Ints]:
    """The persons who are known and those who were not yet, each once; and the place of each of
    ``persons`` among them.
    """
    known, asked = known.alias("person"), persons.alias("person").to_frame()
    new = asked.join(known.to_frame(), on="person", how="anti", nulls_equal=True)["person"]
    known = pl.concat([known, new.unique()])
    lookup = pl.DataFrame({"person": known, "place": np.arange(len(known), dtype=np.int64)})
    places = asked.join(lookup, on="person", how="left", nulls_equal=True, maintain_order="left")
    return known, places["place"].to_numpy().astype(np.int64)
