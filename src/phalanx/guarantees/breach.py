"""The probability of having ever been linked to a value: from published groups and the mapping of persons to them, exactly.

Wong, Fu, Liu, Wang, Xu, ICDE 2010, Lemma 4: a release in which a person's group of n members holds a value n_s times leaves the share 1 - n_s / n of the
worlds in which they were never linked to it; releases that the person is not in, or whose group does not hold the value, change nothing (Lemma 5).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.guarantees.exact import Ints
from phalanx.guarantees.groups import Groups, places
from phalanx.release.exposures import SCALE
from phalanx.release.folder import Release

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_NEAR: Final = 1e-9
"""Floats choose the candidates for the worst case: those this near to it are compared as fractions."""


@dataclass(frozen=True, eq=False)
class Links:
    """Who is linked to what in one release, one entry per person and value of their group, shape (e,) each."""

    person: Ints
    """A place in the list of persons that was given."""
    value: Ints
    """A place in the list of values that was given."""
    members: Ints
    """n: the group's rows and the registered persons in it."""
    holding: Ints
    """n_s: the group's rows that hold the value."""
    added: Bools
    """Where shares are added up (groups of a cohort whose rows hold sets), because links of several releases depend on each other."""
    group: Ints
    """The group's id."""


def members(groups: Groups) -> Ints:
    """The n of every group: its rows, counterfeits among them, and the registered persons in it, shape (g,)."""
    return groups.sizes + groups.registered


def links(
    release: Release, mapping: pl.DataFrame, place: Ints, values: pl.Series, protects: Callable[[pl.Series], Bools], added: Callable[[Groups], Bools]
) -> Links:
    """The links of a release. ``place`` (rows of ``mapping``,): the place of each person; ``values``: the list in which values have places.

    ``protects`` says which values count, ``added`` of which groups the shares are added up. Persons in groups that are not published are left out.
    """
    groups = Groups.of(release).members
    n = members(groups)
    known = Groups.of(release).values if groups.values is None else groups.values
    counted = protects(known)[groups.cell_value] if known is not None else np.zeros(0, dtype=bool)
    cell_group, cell_value, cell_count = groups.cell_group[counted], groups.cell_value[counted], groups.cell_count[counted]
    number = _numbers(known, values)[cell_value] if known is not None else cell_value
    ids, hosts = groups.ids.cast(pl.Int64, strict=False).fill_null(-1).to_numpy(), mapping["group"].cast(pl.Int64).to_numpy()
    at = np.minimum(np.searchsorted(ids, hosts), max(len(ids) - 1, 0))
    there = (ids[at] == hosts) & (hosts > 0) if len(ids) else np.zeros(len(hosts), dtype=bool)
    at, who = at[there], place[there]
    first = np.searchsorted(cell_group, np.arange(len(ids) + 1))
    width = np.diff(first)[at] if len(ids) else np.zeros(0, dtype=np.int64)
    cell = np.repeat(first[at] - np.concatenate([[0], np.cumsum(width)[:-1]]) if len(at) else width, width) + np.arange(int(width.sum()))
    host = cell_group[cell]
    return Links(np.repeat(who, width), number[cell].astype(np.int64), n[host], cell_count[cell], added(groups)[host], ids[host])


def _numbers(known: pl.Series, values: pl.Series) -> Ints:
    """The place of each known value among ``values``, -1 for one that is not there."""
    numbered = pl.DataFrame({"value": values, "number": np.arange(len(values), dtype=np.int64)})
    wanted = known.cast(values.dtype, strict=False).alias("value").to_frame()
    return wanted.join(numbered, on="value", how="left", nulls_equal=True, maintain_order="left")["number"].fill_null(-1).to_numpy().astype(np.int64)


def share_left(survival: Ints, link: Links) -> Ints:
    """Survival in parts of SCALE after a link, rounded down, never below 0: whole numbers that fit, however large the parts are."""
    n, rest = link.members, link.members - link.holding
    times = survival // n * rest + survival % n * rest // n
    taken = SCALE // n * link.holding + -(-(SCALE % n * link.holding) // n)
    return np.maximum(np.where(link.added, survival - taken, times), 0)


@dataclass(frozen=True, eq=False)
class Series:
    """All links of a series, by person and value: pair i has the entries ``starts[i]`` to ``starts[i + 1]``, in the order of the releases."""

    persons: pl.Series
    values: pl.Series
    person: Ints
    value: Ints
    starts: Ints
    links: Links
    release: Ints
    """The number of the release of every entry."""
    survival: Floats
    """Of every pair, in floating point."""

    @classmethod
    def of(
        cls,
        releases: Sequence[Release],
        groups: Mapping[int, pl.DataFrame],
        protects: Callable[[pl.Series], Bools],
        added: Callable[[Groups], Bools] | None = None,
    ) -> "Series":
        """Bring the releases' links together; every release needs its mapping (person, group)."""
        persons, who = places(pl.concat([groups[r.number]["person"] for r in releases]))
        known = [g.values for r in releases if (g := Groups.of(r).members).values is not None]
        values = pl.concat([v.drop_nulls().alias("value").to_frame() for v in known if v is not None], how="vertical_relaxed")["value"].unique().sort()
        bounds = np.concatenate([[0], np.cumsum([groups[r.number].height for r in releases])])
        found = [links(r, groups[r.number], who[a:b], values, protects, added or _nowhere) for r, a, b in zip(releases, bounds[:-1], bounds[1:], strict=True)]
        numbers = np.concatenate([np.full(len(link.person), r.number) for r, link in zip(releases, found, strict=True)])
        every = Links(*(np.concatenate([getattr(link, name) for link in found]) for name in ("person", "value", "members", "holding", "added", "group")))
        key = every.person * max(len(values), 1) + every.value
        order = np.argsort(key, kind="stable")
        every = Links(*(getattr(every, name)[order] for name in ("person", "value", "members", "holding", "added", "group")))
        key = key[order]
        begins = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.zeros(0, dtype=np.int64)
        return cls(
            persons=persons,
            values=values,
            person=every.person[begins],
            value=every.value[begins],
            starts=np.append(begins, len(key)),
            links=every,
            release=numbers[order],
            survival=_survival(every, begins),
        )

    def worst(self) -> tuple[Fraction, int]:
        """The largest probability of having ever been linked, as a fraction, and the pair that has it; there is at least one pair."""
        near = np.flatnonzero(self.survival <= self.survival.min() + _NEAR)
        kinds = np.stack([self.links.members, self.links.holding, self.links.added.astype(np.int64)], axis=1)
        distinct, kind = np.unique(kinds, axis=0, return_inverse=True)
        length = np.diff(self.starts)[near]
        worst, where = Fraction(-1), -1
        for k in np.unique(length):
            pairs = near[length == k]
            histories = np.sort(kind.ravel()[self.starts[pairs][:, None] + np.arange(k)], axis=1)
            each, first = np.unique(histories, axis=0, return_index=True)
            for history, pair in zip(each, pairs[first], strict=True):
                p = linked(distinct[history].tolist())
                if p > worst:
                    worst, where = p, int(pair)
        return worst, where

    def cases(self, pair: int) -> pl.DataFrame:
        """The groups that linked somebody to a value, as published: release, group, members, holding; nothing says who it is."""
        part = slice(int(self.starts[pair]), int(self.starts[pair + 1]))
        columns = {"release": self.release[part], "group": self.links.group[part], "members": self.links.members[part], "holding": self.links.holding[part]}
        return pl.DataFrame(columns).with_columns(value=pl.lit(str(self.values[int(self.value[pair])])))


def linked(history: Sequence[Sequence[Any]]) -> Fraction:
    """The probability of having ever been linked, from (n, n_s, added) of every release that did; shares that are added bound it from above.

    >>> linked([(2, 1, False), (2, 1, False)]), linked([(4, 1, False), (4, 1, False)])
    (Fraction(3, 4), Fraction(7, 16))
    """
    survival = Fraction(1)
    for n, n_s, added in history:
        if not added:
            survival *= 1 - Fraction(n_s, n)
    return min(1 - survival + sum(Fraction(n_s, n) for n, n_s, added in history if added), Fraction(1))


def _nowhere(groups: Groups) -> Bools:
    return np.zeros(len(groups), dtype=bool)


def _survival(every: Links, begins: Ints) -> Floats:
    if not len(begins):
        return np.zeros(0)
    share = every.holding / every.members
    with np.errstate(divide="ignore"):
        product = np.exp(np.add.reduceat(np.where(every.added, 0.0, np.log1p(-share)), begins))
    return product - np.add.reduceat(np.where(every.added, share, 0.0), begins)
