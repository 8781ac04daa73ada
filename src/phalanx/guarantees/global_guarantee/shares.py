# SPDX-License-Identifier: Apache-2.0
"""The share of each group that holds a value, and what shares of several releases come to: the
probability of having ever been linked to it, exactly.

Wong, Fu, Liu, Wang, Xu, ICDE 2010, Lemma 4: a release in which a person's group of n members holds
a value n_s times leaves the share 1 - n_s / n of the worlds in which they were never linked to it;
releases that the person is not in, or whose group does not hold the value, change nothing (Lemma
5).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Floats, Ints, ordered
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.members import members, place
from phalanx.release.folder import Release

Protects = Callable[[pl.Series], Bools]
"""Which values count."""
Added = Callable[[Groups], Bools]
"""Groups whose shares are added up, because links of several releases depend on each other
there.
"""


def nowhere(groups: Groups) -> Bools:
    """No group's shares are added up: every release is independent of the others."""
    return np.zeros(len(groups), dtype=bool)


@dataclass(frozen=True, eq=False)
class Cells:
    """The values that count in the groups of a series: an entry for each release, group and value
    in it, shape (c,) each.
    """

    release: Ints
    """The number of the release."""
    group: Ints
    """The group's id."""
    value: Ints
    """A place in ``values``."""
    members: Ints
    """n: the group's rows and the registered persons in it."""
    holding: Ints
    """n_s: the group's rows that hold the value."""
    added: Bools
    """Whether this share is added to the person's others instead of multiplied."""
    values: pl.Series
    """The values that stand in some group and count."""
    starts: Sequence[Ints]
    """For each release the first cell of every group, in the order of the groups, and the end of
    the last one.
    """
    groups: Sequence[Groups]
    """The groups of each release."""

    @classmethod
    def of(cls, releases: Sequence[Release], protects: Protects, added: Added = nowhere) -> "Cells":
        """The cells of a series, release by release and group by group; each is read once."""
        whole = [Groups.of(r) for r in releases]
        groups = [g.members for g in whole]
        values_of = [
            pl.Series("value", [], dtype=pl.String) if g.values is None else g.values.alias("value")
            for g in groups
        ]
        counted = [protects(v) for v in values_of]
        values = _union(
            [
                v.filter(pl.Series(c, dtype=pl.Boolean))
                for v, c in zip(values_of, counted, strict=True)
            ]
        )
        columns: dict[str, list[Any]] = {
            name: [] for name in ("release", "group", "value", "members", "holding", "added")
        }
        starts, cells = [], 0
        for r, w, g, names, counts in zip(releases, whole, groups, values_of, counted, strict=True):
            kept = np.flatnonzero(counts[g.cell_value])
            host = g.cell_group[kept]
            starts.append(cells + np.searchsorted(host, np.arange(len(g) + 1)).astype(np.int64))
            cells += len(kept)
            columns["release"].append(np.full(len(kept), r.number, dtype=np.int64))
            columns["group"].append(
                g.ids.cast(pl.Int64, strict=False).fill_null(-1).to_numpy()[host]
            )
            columns["value"].append(numbered(names, values)[g.cell_value[kept]])
            columns["members"].append(members(g)[host])
            columns["holding"].append(g.cell_count[kept])
            columns["added"].append(added(w)[host])
        return cls(
            **{name: np.concatenate(parts) for name, parts in columns.items()},
            values=values,
            starts=starts,
            groups=whole,
        )

    def __len__(self) -> int:
        return len(self.group)

    @cached_property
    def share(self) -> Floats:
        """n_s / n in floating point."""
        return self.holding / self.members

    @cached_property
    def _kinds(self) -> tuple[Ints, Ints]:
        """The different (n, n_s, added), shape (k, 3), and which of them each cell is, shape
        (c,).
        """
        kinds, kind = distinct(self.members, self.holding, self.added.astype(np.int64))
        return np.stack(kinds, axis=1), kind

    @property
    def kind(self) -> Ints:
        """A number for each cell's n, n_s and whether it is added, shape (c,)."""
        return self._kinds[1]

    def of_kind(self, kind: int) -> tuple[int, int, bool]:
        """The n, the n_s and whether it is added, of a kind of cells."""
        n, n_s, added = self._kinds[0][kind].tolist()
        return n, n_s, bool(added)

    def probability(self, history: Sequence[int]) -> Fraction:
        """The probability of having ever been linked, of a person whose groups had these kinds of
        cells.
        """
        return linked([self.of_kind(kind) for kind in history])

    def hosts(self, at: int, mapping: pl.DataFrame) -> tuple[Ints, Ints]:
        """The rows of a release's mapping whose group holds something that counts, and the place of
        that group; ``at`` is the place of the release.
        """
        where, there = place(self.groups[at], mapping["group"])
        width = np.diff(self.starts[at])
        row = np.flatnonzero(there)
        row = row[width[where[row]] > 0]
        return row, where[row]

    def spread(self, at: int, person: Ints, where: Ints) -> tuple[Ints, Ints]:
        """The links of persons in groups of a release: an entry (person, cell) for each cell of
        each one's group.
        """
        first, width = self.starts[at][where], np.diff(self.starts[at])[where]
        begins = np.cumsum(width) - width
        return np.repeat(person, width), np.repeat(first - begins, width) + np.arange(
            int(width.sum())
        )


def linked(history: Sequence[Sequence[Any]]) -> Fraction:
    """The probability of having ever been linked, from (n, n_s, added) of every release that did;
    shares that are added bound it from above.

    >>> linked([(2, 1, False), (2, 1, False)]), linked([(4, 1, False), (4, 1, False)])
    (Fraction(3, 4), Fraction(7, 16))
    """
    survival = Fraction(1)
    for n, n_s, added in history:
        if not added:
            survival *= 1 - Fraction(n_s, n)
    return min(
        1 - survival + sum(Fraction(n_s, n) for n, n_s, added in history if added), Fraction(1)
    )


def distinct(*columns: Ints) -> tuple[list[Ints], Ints]:
    """The distinct rows of some columns, each of numbers from -1 on, in order; and which of them
    every row is.
    """
    first, of = np.zeros(len(columns[0][:1]), dtype=np.int64), np.zeros(len(columns[0]), np.int64)
    for column in columns:
        key, order = ordered(of * (int(column.max(initial=-1)) + 2) + column + 1)
        begins = np.append(np.ones(len(key[:1]), dtype=bool), key[1:] != key[:-1])
        first, of = order[begins], np.empty_like(of)
        of[order] = np.cumsum(begins) - 1
    return [column[first] for column in columns], of


def numbered(names: pl.Series, values: pl.Series) -> Ints:
    """The place of each of ``names`` among ``values``, -1 for one that is not there; shape of
    ``names``.
    """
    places = pl.DataFrame({"value": values, "place": np.arange(len(values), dtype=np.int64)})
    wanted = names.cast(values.dtype, strict=False).alias("value").to_frame()
    return (
        wanted.join(places, on="value", how="left", maintain_order="left")["place"]
        .fill_null(-1)
        .to_numpy()
        .astype(np.int64)
    )


def _union(columns: Sequence[pl.Series]) -> pl.Series:
    """All values of some columns, in order, none missing; as text where releases have them in
    different types, so that ``5`` is ``"5"``.
    """
    kinds = {c.dtype for c in columns if len(c)}
    kind = next(iter(kinds), pl.String())
    if len(kinds) > 1:
        kind = (
            pl.Float64()
            if all(k.is_numeric() for k in kinds) and any(k.is_float() for k in kinds)
            else pl.String()
        )
    return (
        pl.concat([c.cast(kind, strict=False).alias("value") for c in columns])
        .drop_nulls()
        .unique()
        .sort()
    )
