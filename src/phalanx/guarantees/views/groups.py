# SPDX-License-Identifier: Apache-2.0
"""How often each sensitive value stands in each group: the one view that all checks look through,
of our releases and of foreign tables.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.arrays import Ints
from phalanx.data import sets
from phalanx.errors import ReleaseError
from phalanx.release.folder import Release
from phalanx.release.foreign import Foreign
from phalanx.release.form import Form
from phalanx.release.manifest import PublishedAttribute

Published = Release | Form | Foreign
"""What a check can look at."""

_DENSE = 4
"""Up to this many integers per row are counted instead of sorted."""


def tells_values(release: Release) -> bool:
    """Whether a release has a sensitive attribute, for which its tables need not be read."""
    return any(attribute.role == "sensitive" for attribute in release.manifest.attributes)


@dataclass(frozen=True, eq=False)
class Groups:
    """The sensitive counts of every group, as cells ``(group, value, count)`` with count > 0, by
    group and value.
    """

    ids: pl.Series
    """The groups as they are named in the table, ascending, shape (g,)."""
    sizes: Ints
    """Published rows per group, shape (g,)."""
    counterfeits: Ints
    """How many of these rows are counterfeits, shape (g,)."""
    registered: Ints
    """How many registered persons each group holds who have no row, shape (g,)."""
    values: pl.Series | None
    """The distinct sensitive values in their order, missing first, shape (q,); None where no
    sensitive attribute is published.
    """
    cell_group: Ints
    """Shape (c,): a place in ``ids``."""
    cell_value: Ints
    """Shape (c,): a place in ``values``."""
    cell_count: Ints
    """Shape (c,)."""
    attribute: PublishedAttribute | None = None
    """What the manifest says about the sensitive attribute."""

    @classmethod
    def of(cls, published: Published) -> "Groups":
        """The view of a release, a published form or a foreign table; computed once for each.
        ReleaseError where the form has no groups.
        """
        form = published.form if isinstance(published, Release) else published
        if form not in _seen:
            _seen[form] = cls._of_foreign(form) if isinstance(form, Foreign) else cls._of_form(form)
        return _seen[form]

    @classmethod
    def _of_form(cls, form: Form) -> "Groups":
        if not form.id_column:
            raise ReleaseError(
                f"a {form.kind} release has no groups; ask about it what fits its form."
            )
        attribute = next(iter(form.attribute("sensitive")), None)
        groups, values, times = form.sensitive_counts()
        return _count(
            groups,
            values,
            form.counterfeits,
            form.registered,
            attribute,
            None if times is None else _whole(times),
        )

    @classmethod
    def _of_foreign(cls, table: Foreign) -> "Groups":
        return _count(table.groups, table.values, None, None, None)

    @classmethod
    def counted(
        cls, groups: pl.Series, values: pl.Series, times: Ints, attribute: PublishedAttribute
    ) -> "Groups":
        """The view of rows that each stand for as many tuples as ``times`` says."""
        return _count(groups, values, None, None, attribute, times)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def rows(self) -> int:
        """All published rows."""
        return int(self.sizes.sum())

    @property
    def persons(self) -> Ints:
        """How many persons each group is of, those without a row among them, shape (g,)."""
        return self.sizes - self.counterfeits + self.registered

    @cached_property
    def starts(self) -> Ints:
        """The first cell of every group, shape (g,)."""
        return np.searchsorted(self.cell_group, np.arange(len(self))).astype(np.int64)

    @cached_property
    def distinct(self) -> Ints:
        """How many different sensitive values each group holds, shape (g,)."""
        return np.bincount(self.cell_group, minlength=len(self)).astype(np.int64)

    @cached_property
    def largest(self) -> Ints:
        """The count of the most frequent value of each group, shape (g,)."""
        largest = np.zeros(len(self), dtype=np.int64)
        has_values = self.distinct > 0  # a group of empty sets has no cell among the members
        if has_values.any():
            largest[has_values] = np.maximum.reduceat(self.cell_count, self.starts[has_values])
        return largest

    @cached_property
    def totals(self) -> Ints:
        """How often each value stands in the whole table, shape (q,)."""
        return np.bincount(self.cell_value, weights=self.cell_count).astype(self.cell_count.dtype)

    @property
    def of_sets(self) -> bool:
        """Whether the sensitive attribute holds a set of values for each person, which counts as
        one value here.
        """
        return self.attribute is not None and self.attribute.type == "set"

    @property
    def members(self) -> "Groups":
        """The same groups with a cell per single value: how many rows of the group have a set that
        holds it; itself where the attribute holds no sets.

        Empty sets and missing ones are in no cell, so that a group may have none, and its counts
        need not add up to its size.
        """
        apart = self._members
        return self if apart is None else apart

    @cached_property
    def _members(self) -> "Groups | None":
        """None, and not itself, where the attribute holds no sets: what remembers itself waits for a
        search for cycles, and all parts of a release with it.
        """
        if self.values is None or self.attribute is None or not self.of_sets:
            return None
        of_values = sets.members(self.values.cast(pl.String, strict=False))
        values, value = places(of_values["value"])
        # cells are by group and value, those of one set stand anywhere: each is repeated for every
        # member of its set
        of_set = of_values["index"].to_numpy()
        length = np.bincount(of_set, minlength=len(self.values))
        first = np.concatenate([[0], np.cumsum(length)])[self.cell_value]
        times = length[self.cell_value]
        within = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        q = max(len(values), 1)
        key = np.repeat(self.cell_group, times) * q + value[np.repeat(first, times) + within]
        cells, count = _tallied(key, len(self) * q, np.repeat(self.cell_count, times))
        attribute = self.attribute.model_copy(update={"type": "categorical"})
        return Groups(
            self.ids,
            self.sizes,
            self.counterfeits,
            self.registered,
            values,
            cells // q,
            cells % q,
            count,
            attribute,
        )

    def signature(self, group: int) -> list[Any]:
        """The set of sensitive values of a group, in their order."""
        first = int(self.starts[group])
        codes = self.cell_value[first : first + int(self.distinct[group])]
        return [] if self.values is None else self.values.gather(codes).to_list()

    def cases(self, which: Ints, **figures: Any) -> pl.DataFrame:
        """Groups as the rows of a verdict: id, size, and a figure or more."""
        shown = which[:10]
        columns = {
            name: [str(x) for x in figure]
            if figure and not isinstance(figure[0], int | float)
            else figure
            for name, figure in figures.items()
        }
        return pl.DataFrame(
            {"group": self.ids.gather(shown), "size": self.sizes[shown]}
            | {name: column[:10] for name, column in columns.items()}
        )


_seen: WeakKeyDictionary[Form | Foreign, Groups] = WeakKeyDictionary()


def _count(
    groups: pl.Series,
    values: pl.Series | None,
    counterfeits: pl.DataFrame | None,
    registered: pl.DataFrame | None,
    attribute: PublishedAttribute | None,
    times: Ints | None = None,
) -> Groups:
    """The view of rows, each of which counts as often as ``times`` says, or once."""
    ids, group = places(groups)
    sizes = np.bincount(group, weights=times, minlength=len(ids)).astype(np.int64)
    invented, listed = _beside(counterfeits, ids), _beside(registered, ids)
    if values is None:
        none = np.zeros(0, dtype=np.int64)
        return Groups(ids, sizes, invented, listed, None, none, none, none, attribute)
    distinct, value = places(values)
    q = max(len(distinct), 1)
    cells, count = _tallied(group * q + value, len(ids) * q, times)
    return Groups(ids, sizes, invented, listed, distinct, cells // q, cells % q, count, attribute)


def _tallied(key: Ints, keys: int, times: Ints | None = None) -> tuple[Ints, Ints]:
    """The keys below ``keys`` that occur, ascending, and how often; each counts as often as
    ``times`` says, or once.
    """
    if keys <= _DENSE * len(key) + 1024:
        tally = np.bincount(key, weights=times, minlength=1)
        cells = np.flatnonzero(tally)
        return cells.astype(np.int64), tally[cells].astype(np.int64)
    if times is None:
        cells, count = np.unique(key, return_counts=True)
        return cells.astype(np.int64), count.astype(np.int64)
    cells, place = np.unique(key, return_inverse=True)
    return cells.astype(np.int64), np.bincount(place, weights=times).astype(np.int64)


def _whole(counts: pl.Series) -> Ints:
    """Published counts; 0 where they are no numbers, which the check of consistency refuses."""
    return counts.cast(pl.Int64, strict=False).fill_null(0).to_numpy()


def _beside(counts: pl.DataFrame | None, ids: pl.Series) -> Ints:
    """The count of every group, by a table of them that is published beside the data; 0 for a group
    that it does not name, shape (g,).
    """
    if counts is None or not counts.height:
        return np.zeros(len(ids), dtype=np.int64)
    cast = counts.select(
        pl.col(counts.columns[0]).cast(ids.dtype, strict=False).alias("group"),
        pl.col("count").cast(pl.Int64, strict=False),
    )
    summed = cast.group_by("group").agg(pl.col("count").sum())
    counted = pl.DataFrame({"group": ids}).join(
        summed, on="group", how="left", maintain_order="left"
    )
    return counted["count"].fill_null(0).to_numpy().astype(np.int64)


def places(column: pl.Series) -> tuple[pl.Series, Ints]:
    """The distinct values in order (missing first, NaN last), and the place of every row's value
    among them.
    """
    if column.dtype.is_integer() and column.null_count() == 0 and len(column):
        low, high = int(column.min()), int(column.max())  # type: ignore[arg-type]
        if high - low <= _DENSE * len(column) + 1024 and high < 2**62 and low > -(2**62):
            offsets = column.cast(pl.Int64).to_numpy() - low
            present = np.zeros(high - low + 1, dtype=bool)
            present[offsets] = True
            numbered = pl.Series(column.name, np.flatnonzero(present) + low, dtype=pl.Int64)
            place = None if present.all() else np.cumsum(present, dtype=np.int64) - 1
            return numbered.cast(column.dtype), offsets if place is None else place[offsets]
    distinct = column.unique().sort()
    lookup = pl.DataFrame({"value": distinct, "place": np.arange(len(distinct), dtype=np.int64)})
    numbers = pl.DataFrame({"value": column}).join(
        lookup, on="value", how="left", nulls_equal=True, maintain_order="left"
    )["place"]
    return distinct, numbers.to_numpy().astype(np.int64)


def a_row_of_each(groups: pl.Series) -> npt.NDArray[np.uint32]:
    """A row of each group, in the order of their ids, shape (g,)."""
    ids, place = places(groups)
    a_row = np.zeros(len(ids), dtype=np.uint32)
    a_row[place] = np.arange(len(place), dtype=np.uint32)
    return a_row
