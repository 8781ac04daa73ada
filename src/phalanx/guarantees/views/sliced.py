# SPDX-License-Identifier: Apache-2.0
"""A sliced release as numbers: what each bucket holds in each column, and which buckets a tuple
matches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.join_tree import ROOT, join_tree
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.guarantees.views.box_search import box_of
from phalanx.guarantees.views.boxes import codes_of_ends
from phalanx.guarantees.views.groups import Groups
from phalanx.release.forms.sliced import BUCKET, COUNT, Sliced
from phalanx.release.manifest import PublishedAttribute


@dataclass(frozen=True, eq=False)
class Side:
    """One column's quasi-identifiers: the distinct values, and how often each stands in each
    bucket, by value and bucket.
    """

    attributes: tuple[PublishedAttribute, ...]
    values: pl.DataFrame
    """The distinct values as published, one row per value; a single row where the column has no
    quasi-identifier.
    """
    bucket: Ints
    """Shape (c,): a place among the buckets."""
    value: Ints
    """Shape (c,): a row of ``values``."""
    count: Ints
    """Shape (c,): tuples of the bucket with the value."""
    within: Ints
    """Shape (c,): tuples of the bucket that the value can be joined with: those that agree on what
    the column shares with its parent.
    """

    @cached_property
    def first(self) -> Ints:
        """Where each value's cells begin, and the end, shape (v + 1,)."""
        return np.searchsorted(self.value, np.arange(len(self.values) + 1)).astype(np.int64)

    def find(self, bucket: Ints, value: Ints) -> tuple[Ints, np.ndarray]:
        """The cells of pairs of bucket and value, and whether there is one."""
        g = int(self.bucket.max(initial=0)) + 1
        wanted = value * g + bucket
        keys = self.value * g + self.bucket
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return at, (keys[at] == wanted) & (bucket < g)


@dataclass(frozen=True, eq=False)
class View:
    """A sliced release: ``sides`` in order of columns (of the last one its quasi-identifiers only),
    and its sensitive values by bucket and these.
    """

    ids: pl.Series
    sizes: Ints
    sides: tuple[Side, ...]
    sensitive: Groups | None
    """Groups of the tuples that agree on bucket and quasi-identifiers of the sensitive column; None
    where there is no sensitive attribute.
    """
    cell_bucket: Ints
    """The bucket of each such group."""
    cell_value: Ints
    """Its row of the last side's values."""

    @classmethod
    def of(cls, form: Sliced) -> "View":
        """The view of a form, computed once; ReleaseError where columns share attributes in a
        circle.
        """
        if form not in _seen:
            _seen[form] = cls._of(form)
        return _seen[form]

    @classmethod
    def _of(cls, form: Sliced) -> "View":
        by_name = {a.name: a for a in form.attributes}
        parents = join_tree(form.columns)
        if parents is None:
            raise ReleaseError(
                "the columns share attributes in a circle, so that what they say together cannot be"
                " checked."
            )
        secret = next((a.name for a in form.attribute("sensitive")), None)
        ids, first = form.sizes[BUCKET], form.sizes[COUNT].to_numpy().astype(np.int64)
        sides = []
        for i, column in enumerate(form.columns):
            attributes = [by_name[name] for name in column if name != secret]
            above = () if parents[i] == ROOT else form.columns[parents[i]]
            sides.append(
                _side(form.parts[i], ids, attributes, [a for a in attributes if a.name in above])
            )
        if secret is None:
            none = np.zeros(0, dtype=np.int64)
            return cls(ids, first, tuple(sides), None, none, none)
        part = form.parts[-1]
        value = _numbers(
            part, [c for a in sides[-1].attributes for c in a.columns], sides[-1].values
        )
        bucket = _places_of(ids, part[BUCKET])
        q = len(sides[-1].values)
        key = bucket * q + value
        groups, of_row = np.unique(key, return_inverse=True)
        attribute = by_name[secret]
        counted = Groups.counted(
            pl.Series(of_row),
            part[attribute.columns[0]],
            part[COUNT].to_numpy().astype(np.int64),
            attribute,
        )
        return cls(ids, first, tuple(sides), counted, groups // q, groups % q)

    def of_people(self, microdata: Microdata, rows: Ints) -> Ints:
        """Each person's value in every column, shape (n, c); -1 where the release has no such
        value.
        """
        return np.stack(
            [own_values(side.attributes, side.values, microdata, rows) for side in self.sides],
            axis=1,
        )


_seen: WeakKeyDictionary[Sliced, View] = WeakKeyDictionary()


def _side(
    part: pl.DataFrame,
    ids: pl.Series,
    attributes: Sequence[PublishedAttribute],
    shared: Sequence[PublishedAttribute],
) -> Side:
    names = [c for a in attributes for c in a.columns]
    values = part.select(names).unique().sort(names) if names else _ONE
    counted = part.group_by(BUCKET, *names).agg(pl.col(COUNT).sum())
    joined = [BUCKET, *(c for a in shared for c in a.columns)]
    counted = counted.with_columns(pl.col(COUNT).sum().over(joined).alias("\0within"))
    value, bucket = _numbers(counted, names, values), _places_of(ids, counted[BUCKET])
    order = np.lexsort((bucket, value))
    count, within = (counted[c].to_numpy().astype(np.int64)[order] for c in (COUNT, "\0within"))
    return Side(tuple(attributes), values, bucket[order], value[order], count, within)


_ONE = pl.DataFrame({"\0": [0]})
"""The values of a column without quasi-identifiers: one, which each person has."""


def _numbers(table: pl.DataFrame, names: Sequence[str], values: pl.DataFrame) -> Ints:
    """The first row of ``values`` that equals every row of the table, -1 for none."""
    if not names:
        return np.zeros(table.height, dtype=np.int64)
    numbered = values.with_columns(pl.Series("\0number", np.arange(values.height, dtype=np.int64)))
    numbers = table.select(names).join(
        numbered.unique(names, keep="first"),
        on=list(names),
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )["\0number"]
    return numbers.fill_null(-1).to_numpy().astype(np.int64)


def _places_of(ids: pl.Series, column: pl.Series) -> Ints:
    return np.searchsorted(ids.to_numpy(), column.to_numpy()).astype(np.int64)


def own_values(
    attributes: Sequence[PublishedAttribute], values: pl.DataFrame, microdata: Microdata, rows: Ints
) -> Ints:
    """Which of a column's published values each person has, -1 for none: the equal one where they
    are exact, the box that holds theirs where generalized.
    """
    if not attributes:
        return np.zeros(len(rows), dtype=np.int64)
    codes = np.stack(
        [microdata.columns[a.name].codes[rows].astype(np.int64) for a in attributes], axis=1
    )
    ends = [
        codes_of_ends(
            microdata.columns[a.name].domain, values[a.columns[-2:][0]], values[a.columns[-1]]
        )
        for a in attributes
    ]
    low, high = (np.stack(side, axis=1) for side in zip(*ends, strict=True))
    if any(len(a.columns) > 1 for a in attributes):
        return box_of(codes, low, high)
    return _equal_values(
        codes, np.where(low == high, low, np.int64(-2))
    )  # a value that is not in the domain has no code of its own


def _equal_values(wanted: Ints, values: Ints) -> Ints:
    """The first row of ``values`` that equals each row of ``wanted``, -1 for none: whole numbers that
    differ may be one number of the microdata.
    """
    names = [f"c{i}" for i in range(wanted.shape[1])]
    mine, theirs = (
        pl.DataFrame(dict(zip(names, table.T.astype(np.int64), strict=True)))
        for table in (wanted, values)
    )
    return _numbers(mine, names, theirs)
