# SPDX-License-Identifier: Apache-2.0
"""What a series carries on about each person's exposures, checked beside the release that it
follows: no person is carried on as less exposed than they are.

If that holds after every release, then what is carried before the next one understates no person's
exposure, and a check of the next one alone is a check of the whole series. It is not so of cohorts,
whose promise is about all their releases: a series with permanent values is always checked whole.

Persons of whom the same was carried before, who stand in the same group, and of whom the same is
carried after it, are of one *kind*, and looked at together.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Integers, Ints
from phalanx.data.standing import rows_of
from phalanx.guarantees.global_guarantee.recalled import NONE as _NONE
from phalanx.guarantees.global_guarantee.recalled import Known, Recalled, of_histories
from phalanx.guarantees.global_guarantee.shares import Cells, Protects, distinct, numbered
from phalanx.release.evidence.exposures import SCALE
from phalanx.release.folder import Release

_NEAR = 1e-9
_AT_ONCE = 1 << 22
"""So many links and pairs are looked at together."""
_DENSE = 4
"""A table of all numbers may be so many times as long as what is looked up."""


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What a look at all links of a release finds."""

    links: int
    """How many persons are linked to a value, each as often as to different ones."""
    worst: Fraction | None
    """The largest probability of having ever been linked; None where no person is."""
    cell: int
    """The cell of a link that has it."""
    faults: Sequence[str]


@dataclass(frozen=True, kw_only=True, eq=False)
class Exposed:
    """Every kind of persons of a release, shape (k,) each, beside what was carried about them before
    it and is after it.
    """

    cells: Cells
    persons: Ints
    """How many persons each kind is of."""
    where: Ints
    """The place of the group that hosts them, _NONE for none."""
    past: Ints
    """Their history before the release."""
    history: Ints
    """Their history after it."""
    twice: int
    """How many persons the mapping names more than once."""
    before: Known
    after: Known

    @classmethod
    def of(
        cls,
        release: Release,
        mapping: pl.DataFrame,
        recalled: Recalled,
        protects: Protects,
    ) -> "Exposed":
        """The kinds of a release, where it is known what is recalled of each person."""
        cells, before, after = Cells.of([release], protects), recalled.before, recalled.after
        row, where = cells.hosts(0, mapping)
        whose = rows_of(mapping["person"].gather(row), after.persons)
        named = np.bincount(whose[whose != _NONE], minlength=len(after.persons))
        # An entry for every row of the mapping, and for every other person whom the series knows.
        others = np.flatnonzero(named == 0)
        who = np.concatenate([whose, others])
        kinds, kind_of = distinct(
            np.append(before.history, [_NONE])[who],
            np.concatenate([where, np.full(len(others), _NONE)]),
            np.append(after.history, [_NONE])[who],
        )
        past, where, history = kinds
        return cls(
            cells=cells,
            persons=np.bincount(kind_of, minlength=len(past)),
            where=where,
            past=past,
            history=history,
            twice=int((named > 1).sum()),
            before=before,
            after=after,
        )

    def looked_at(self) -> Looked:
        """All links, some kinds at a time."""
        links, least, worst, cell = 0, np.inf, None, -1
        counts = Counter[str]({"twice": self.twice})
        for some in self._parts():
            if isinstance(some, Resting):
                counts.update(some.faults())
                continue
            links += int(some.persons[some.kind].sum())
            counts.update(some.faults())
            if not len(some.cell):
                continue
            surviving = some.before / SCALE * (1 - self.cells.share[some.cell])
            if surviving.min() <= least + _NEAR:
                least = min(least, surviving.min())
                p, at = some.worst(np.flatnonzero(surviving <= surviving.min() + _NEAR))
                if worst is None or p > worst:
                    worst, cell = p, at
        return Looked(links=links, worst=worst, cell=cell, faults=list(_sentences(counts)))

    def _parts(self) -> "Iterator[Resting | Links]":
        """Kinds with about so many links and pairs together, and then the next: first those whom
        this release exposes to nothing.
        """
        value = numbered(self.cells.values, self.after.values)
        many = np.append(np.diff(self.cells.starts[0]), [0])[self.where]
        rests = many == 0
        for carried, history in ((self.before, self.past), (self.after, self.history)):
            many = many + np.append(np.diff(carried.starts), [0])[history]
        for some in _at_once(np.flatnonzero(rests), many):
            resting = Resting.of(self.persons[some], self.past[some], self.history[some], self)
            yield resting if resting.alike else self._links(some, value)
        for some in _at_once(np.flatnonzero(~rests), many):
            yield self._links(some, value)

    def _links(self, kinds: Ints, value: Ints) -> "Links":
        """The links of some kinds; ``value``: the place that what is carried after the release has
        for each value of the cells, -1 for none.
        """
        where, past, history = (each[kinds] for each in (self.where, self.past, self.history))
        hosted, width = np.flatnonzero(where != _NONE), len(self.after.values)
        kind, cell = self.cells.spread(0, hosted, where[hosted])
        of = value[self.cells.value[cell]]
        key = np.where((history[kind] != _NONE) & (of >= 0), kind * width + of, _NONE)
        before = Carried.of(self.before, past, width)
        survival = np.full(len(key), SCALE, dtype=np.int64)
        at = _among(before.pairs, key, len(past) * width)
        seen = np.flatnonzero(at != _NONE)
        survival[seen] = before.survival[at[seen]]
        return Links(
            cells=self.cells,
            persons=self.persons[kinds],
            width=width,
            kind=kind,
            cell=cell,
            key=key,
            before=survival,
            carried=before,
            going_on=Carried.of(self.after, history, width),
        )


@dataclass(frozen=True, eq=False)
class Carried:
    """What is carried about some kinds of persons, shape (e,) each."""

    pairs: Ints
    """A number for each kind and value, ascending."""
    survival: Integers
    times: Integers

    @classmethod
    def of(cls, carried: Known, history: Ints, width: int) -> "Carried":
        """Of kinds with some histories; ``width`` is more than any value's place."""
        at, many = of_histories(carried, history)
        pairs = np.repeat(np.arange(len(history)), many) * width + carried.value[at]
        return cls(pairs, carried.survival[at], carried.times[at])


@dataclass(frozen=True, kw_only=True, eq=False)
class Resting:
    """Kinds of persons whom a release exposes to nothing, beside their pairs, shape (e,) each."""

    persons: Ints
    """How many persons each kind is of, shape (k,)."""
    many: Ints
    """How many pairs are carried about each kind, shape (k,)."""
    before: Known
    after: Known
    at_before: Ints
    """The places of their pairs in ``before``."""
    at_after: Ints
    """The same in ``after``."""
    alike: bool
    """Whether each kind has the same values in both, one beside the other."""

    @classmethod
    def of(cls, persons: Ints, past: Ints, history: Ints, exposed: Exposed) -> "Resting":
        """Of kinds with some histories before and after the release."""
        before, after = exposed.before, exposed.after
        (at_before, many), (at_after, many_after) = (
            of_histories(before, past),
            of_histories(after, history),
        )
        return cls(
            persons=persons,
            many=many,
            before=before,
            after=after,
            at_before=at_before,
            at_after=at_after,
            alike=np.array_equal(many, many_after)
            and np.array_equal(before.value[at_before], after.value[at_after]),
        )

    def faults(self) -> dict[str, int]:
        """The same as of :class:`Links`, where all values are ``alike``."""
        before, after, times = self.at_before, self.at_after, self.before.times[self.at_before]
        return {
            "over": self._persons(self.after.survival[after] > self.before.survival[before]),
            "miscounted": self._persons(self.after.times[after] != times),
            "invented": self._persons(times == 0),
        }

    def _persons(self, pairs: Bools) -> int:
        """How many pairs of person and value these pairs of kind and value stand for."""
        kind = np.searchsorted(np.cumsum(self.many), np.flatnonzero(pairs), side="right")
        return int(self.persons[kind].sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Links:
    """The links of some kinds of persons to values, shape (e,) each."""

    cells: Cells
    persons: Ints
    """How many persons each kind is of, shape (k,)."""
    width: int
    """How many values there are."""
    kind: Ints
    cell: Ints
    key: Ints
    """The pair of kind and value, as a number under which what is carried after the release knows
    it; -1 where that knows the person or the value not at all.
    """
    before: Ints
    """Survival before, in parts of SCALE."""
    carried: Carried
    """What was carried before the release about these kinds."""
    going_on: Carried
    """What is carried after it."""

    @property
    def after(self) -> Ints:
        """Survival after the release in parts of SCALE, rounded down: whole numbers that fit,
        however large the parts are.
        """
        cells, again = self.cells, np.flatnonzero(self.before != SCALE)
        at, fresh = self.cell[again], np.full(len(cells), SCALE, dtype=np.int64)
        survival = _left(fresh, cells.members, cells.holding)[self.cell]
        survival[again] = _left(self.before[again], cells.members[at], cells.holding[at])
        return survival

    def worst(self, near: Ints) -> tuple[Fraction, int]:
        """The largest probability of having ever been linked, of these links, as a fraction, and the
        cell of one that has it.
        """
        n, n_s = (each[self.cell[near]] for each in (self.cells.members, self.cells.holding))
        table = pl.DataFrame(
            {"before": self.before[near], "n": n, "n_s": n_s, "cell": self.cell[near]}
        )
        worst, where = Fraction(-1), -1
        for before, n, n_s, cell in table.unique(
            ["before", "n", "n_s"], keep="first", maintain_order=True
        ).iter_rows():
            if (p := 1 - Fraction(before, SCALE) * Fraction(n - n_s, n)) > worst:
                worst, where = p, cell
        return worst, where

    def faults(self) -> dict[str, int]:
        """How many pairs of person and value are lost, invented, or carried on as less exposed than
        they are; by what :func:`_sentences` says of them.
        """
        pairs, before, below = self.going_on.pairs, self.carried, len(self.persons) * self.width
        known = self.key >= 0
        key, now = self.key[known], self.after[known]
        counts = {
            "forgotten": int(self.persons[self.kind[~known]].sum()),
            "twice": self._persons(_again(key, below)),
        }
        at, at_before = (_among(pairs, each, below) for each in (key, before.pairs))
        counts["lost"] = self._persons(key[at == _NONE]) + self._persons(
            before.pairs[at_before == _NONE]
        )
        if counts["twice"] or counts["lost"]:
            return counts
        survival = np.full(len(pairs), SCALE, dtype=np.int64)
        times = np.zeros(len(pairs), dtype=np.int64)
        survival[at_before], times[at_before] = before.survival, before.times
        survival[at], times[at] = now, times[at] + 1
        return counts | {
            "over": self._persons(pairs[self.going_on.survival > survival]),
            "miscounted": self._persons(pairs[self.going_on.times != times]),
            "invented": self._persons(pairs[times == 0]),
        }

    def _persons(self, keys: Ints) -> int:
        """How many pairs of person and value these pairs of kind and value stand for."""
        return int(self.persons[keys // max(self.width, 1)].sum())


def _sentences(counts: Mapping[str, int]) -> Iterator[str]:
    """What is at fault; where pairs are twice or lost, nothing else is known of them."""
    if forgotten := counts["forgotten"]:
        yield f"{forgotten} exposure(s) are of persons or to values that nothing is carried about"
    if twice := counts["twice"]:
        yield f"{twice} person(s) are linked twice by one release"
        return
    if lost := counts["lost"]:
        yield f"{lost} pair(s) of person and value are not carried on"
        return
    if over := counts["over"]:
        yield f"{over} pair(s) of person and value are carried on as less exposed than they are"
    if miscounted := counts["miscounted"]:
        yield (
            f"{miscounted} pair(s) of person and value are carried on with another number of"
            " exposures than they had"
        )
    if invented := counts["invented"]:
        yield f"{invented} pair(s) of person and value are carried on and were never linked"


def _left(before: Ints, n: Ints, n_s: Ints) -> Ints:
    """What is left of a survival after a group of n members of whom n_s hold the value."""
    whole, rest = np.divmod(before, n)
    left: Ints = whole * (n - n_s) + rest * (n - n_s) // n
    return left


def _at_once(kinds: Ints, many: Ints) -> Iterator[Ints]:
    """Some of the kinds with about so many pairs together (``many``, by kind), and then the next."""
    reached, low = np.cumsum(many[kinds]), 0
    while low < len(kinds):
        wanted = (reached[low - 1] if low else 0) + _AT_ONCE
        high = max(int(np.searchsorted(reached, wanted, side="right")), low + 1)
        yield kinds[low:high]
        low = high


def _among(pairs: Ints, keys: Ints, below: int) -> Ints:
    """The place of each key among ``pairs``, ascending and less than ``below``; _NONE for one that
    is not there. Where most numbers are pairs, a table of all of them tells.
    """
    if not len(pairs):
        return np.full(len(keys), _NONE)
    if below <= _DENSE * (len(pairs) + len(keys)):
        place = np.full(below + 1, _NONE, dtype=np.int32 if below < 2**31 else np.int64)
        place[pairs] = np.arange(len(pairs))
        places: Ints = place[keys].astype(np.int64)  # _NONE is the last one, which no pair has
        return places
    at = np.minimum(np.searchsorted(pairs, keys), len(pairs) - 1)
    return np.where(pairs[at] == keys, at, _NONE)


def _again(keys: Ints, below: int) -> Ints:
    """The keys, from 0 on and less than ``below``, that are there before."""
    if below <= _DENSE * len(keys):
        further = np.bincount(keys, minlength=below) - 1
        some = np.flatnonzero(further > 0)
        return np.repeat(some, further[some])
    ordered: Ints = np.sort(keys)
    again: Ints = ordered[1:][ordered[1:] == ordered[:-1]]
    return again
