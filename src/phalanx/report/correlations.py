# SPDX-License-Identifier: Apache-2.0
"""How much the attributes of a release of buckets tell of each other: the mean-square contingency
coefficient phi^2, from published tables alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.arrays import Codes, Floats, Integers, Ints, different, in_order, places_in
from phalanx.release.form import Form
from phalanx.release.forms.sliced import BUCKET, COUNT
from phalanx.release.manifest import PublishedAttribute

BINS: Final = 10
"""Into so many intervals of equal width is a number or date cut that has more values, as slicing
does when it looks for columns.
"""
MOST: Final = 15
"""So many attributes are compared; more make a table too large to read."""
_NARROW: Final = 32
"""Attributes with up to so many values are counted in tables of values by buckets, which are full
enough.
"""
_CELLS: Final = 1 << 22
"""So many numbers stand in such a table at once."""
_AT_ONCE: Final = 1 << 20
"""The buckets of so many rows are looked at together."""
_MOST_PAIRS: Final = 20_000_000
"""So many pairs of values within buckets are looked at for two attributes, and no more."""


@dataclass(frozen=True, eq=False)
class Correlations:
    """phi^2 of every two attributes: 0 where the release shows them independent, 1 where one is
    told by the other.

    Two attributes of one column stand together in the release, and are counted exactly. Of two that
    stand in no column together, n(a, b) is estimated as what it is on average over all ways to
    assign the columns within buckets to each other::

        n(a, b) = sum_B n_B(a) n_B(b) / |B|

    Generalized values count by the low end of their interval.
    """

    names: tuple[str, ...]
    """In the order of the columns."""
    phi2: Floats
    """Shape (d, d), symmetric; 1 on the diagonal, nan where it is undefined, as one of the two has
    a single value, or was not computed.
    """
    together: npt.NDArray[np.bool_]
    """Which two stand in one column, shape (d, d)."""
    left_out: int
    """So many attributes are left out."""

    @classmethod
    def of(cls, form: Form) -> "Correlations":
        """Of the first ``MOST`` attributes in the order of the columns, the sensitive one among
        them in any case.
        """
        columns, parts = zip(*form.together(), strict=True)
        by_name = {a.name: a for a in form.attributes}
        attribute_names = list(dict.fromkeys(name for column in columns for name in column))
        last = [a.name for a in form.attribute("sensitive") if a.name in attribute_names[MOST:]]
        names = [*attribute_names[: MOST - len(last)], *last]
        ids = different(parts[0][BUCKET].to_numpy())[0]
        rows = [_Rows.of(part, ids) for part in parts]
        codes = {
            (i, name): _codes(by_name[name], rows[i].part)
            for i, column in enumerate(columns)
            for name in column
            if name in names
        }
        spread: dict[str, _Spread] = {}
        for (i, name), code in codes.items():
            spread.setdefault(name, _Spread(rows[i], code))
        narrow = _among_narrow({name: s for name, s in spread.items() if len(s.totals) <= _NARROW})
        matrix, together = np.eye(len(names)), np.eye(len(names), dtype=np.bool_)
        for x, a in enumerate(names):
            for y, b in enumerate(names[:x]):
                both = next(
                    (i for i, column in enumerate(columns) if a in column and b in column), None
                )
                if both is not None:
                    joint: _Joint | None = _counted(
                        codes[both, a], codes[both, b], rows[both].count
                    )
                else:
                    joint = narrow[a, b] if (a, b) in narrow else _estimated(spread[a], spread[b])
                matrix[x, y] = matrix[y, x] = (
                    np.nan if joint is None else _phi2(*joint, spread[a].totals, spread[b].totals)
                )
                together[x, y] = together[y, x] = both is not None
        return cls(tuple(names), matrix, together, len(attribute_names) - len(names))

    def strongest(self, *, together: bool) -> tuple[str, str, float] | None:
        """The two attributes of one column, or of different ones, that tell most of each other;
        None where there are none.
        """
        pairs = [
            (float(self.phi2[x, y]), self.names[y], self.names[x])
            for x in range(len(self.names))
            for y in range(x)
            if self.together[x, y] == together and not np.isnan(self.phi2[x, y])
        ]
        if not pairs:
            return None
        share, a, b = max(pairs, key=_first)
        return a, b, share


def _first(pair: tuple[float, str, str]) -> float:
    return pair[0]


_Joint = tuple[Ints, Ints, Floats]
"""Values of two attributes, and how many tuples have both."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of one column by bucket, without those in no bucket of the first column."""

    part: pl.DataFrame
    bucket: Ints
    """Shape (c,), ascending: a place among the buckets."""
    count: Floats
    """How many tuples each row stands for, shape (c,)."""
    sizes: Floats
    """Tuples of each bucket, shape (g,)."""

    @classmethod
    def of(cls, part: pl.DataFrame, ids: Ints) -> "_Rows":
        """Sorted, where a part is not; ``ids`` (g,): those of the buckets, ascending."""
        bucket = places_in(part[BUCKET].to_numpy(), ids)
        if (bucket < 0).any() or (np.diff(bucket) < 0).any():
            order = in_order(bucket)
            order = order[bucket[order] >= 0]
            part, bucket = part[order], bucket[order]
        count = part[COUNT].to_numpy().astype(np.float64)
        return cls(part, bucket, count, _added(bucket, count, len(ids)))

    def between(self, begin: int, end: int) -> slice:
        """The rows of the buckets from ``begin`` to before ``end``."""
        first, last = np.searchsorted(self.bucket, [begin, end]).tolist()
        return slice(first, last)


@dataclass(frozen=True, eq=False)
class _Spread:
    """One attribute's values over the buckets."""

    rows: _Rows
    code: Codes
    """The value of each row, shape (c,): 0 .. d-1, each of which occurs."""

    @cached_property
    def totals(self) -> Floats:
        """Tuples with each value, shape (d,)."""
        return _added(self.code, self.rows.count)

    def table(self, begin: int, end: int) -> Floats:
        """Tuples with each value in each bucket from ``begin`` to before ``end``, shape (d, end -
        begin).
        """
        here, d, g = self.rows.between(begin, end), len(self.totals), end - begin
        at = self.code[here] * g + self.rows.bucket[here] - begin
        return _added(at, self.rows.count[here], d * g).reshape(d, g)

    def cells(self, begin: int, end: int) -> _Joint:
        """Bucket (from 0 on), value and count of each value that such a bucket has, by bucket."""
        here = self.rows.between(begin, end)
        return _counted(self.rows.bucket[here] - begin, self.code[here], self.rows.count[here])


def _among_narrow(spread: Mapping[str, _Spread]) -> dict[tuple[str, str], _Joint]:
    """The estimates for every two attributes of few values: all at once, some buckets after the
    other.
    """
    ends = np.cumsum([0, *(len(s.totals) for s in spread.values())])
    sizes = next((s.rows.sizes for s in spread.values()), np.zeros(0))
    joint = np.zeros((ends[-1], ends[-1]))
    at_once = max(1, _CELLS // max(1, int(ends[-1])))
    for begin in range(0, len(sizes), at_once):
        end = min(begin + at_once, len(sizes))
        table = np.concatenate([s.table(begin, end) for s in spread.values()])
        joint += table @ (table / sizes[begin:end]).T
    among = {}
    for x, a in enumerate(spread):
        for y, b in enumerate(spread):
            of_both = joint[ends[x] : ends[x + 1], ends[y] : ends[y + 1]]
            rows, columns = np.indices(of_both.shape)
            among[a, b] = rows.ravel(), columns.ravel(), of_both.ravel()
    return among


def _estimated(a: _Spread, b: _Spread) -> _Joint | None:
    """The estimate for two attributes, from all pairs of values within buckets, some buckets after
    the other; None where these are too many.
    """
    sizes, looked_at = a.rows.sizes, 0
    at_once = 1 + len(sizes) * _AT_ONCE // (1 + len(a.code) + len(b.code))
    joints = []
    for begin in range(0, len(sizes), at_once):
        end = min(begin + at_once, len(sizes))
        (of_a, value, n), (of_b, other, m) = a.cells(begin, end), b.cells(begin, end)
        cells = np.bincount(of_b, minlength=end - begin)
        times, first = cells[of_a], (np.cumsum(cells) - cells)[of_a]
        looked_at += int(times.sum())
        if looked_at > _MOST_PAIRS:
            return None
        mine = np.repeat(np.arange(len(value)), times)
        theirs = np.arange(len(mine)) + np.repeat(first - (np.cumsum(times) - times), times)
        share = n / sizes[begin:end][of_a]
        joints.append(_counted(value[mine], other[theirs], share[mine] * m[theirs]))
    return _counted(*map(np.concatenate, zip(*joints, strict=True))) if joints else None


def _counted(a: Integers, b: Integers, count: Floats) -> _Joint:
    """Equal pairs added up, in ascending order."""
    d = int(b.max(initial=0)) + 1
    keys, size = a.astype(np.int64) * d + b, d * (int(a.max(initial=0)) + 1)
    if size <= 4 * len(keys):
        added = _added(keys, count, size)
        distinct = np.flatnonzero(added)
        return distinct // d, distinct % d, added[distinct]
    distinct, back = different(keys)
    return distinct // d, distinct % d, _added(back, count)


def _added(places: Integers, count: Floats, at_least: int = 0) -> Floats:
    """Counts added up by place, of which there are at least so many."""
    added: Floats = np.bincount(places, count, minlength=at_least).astype(np.float64, copy=False)
    return added


def _phi2(a: Ints, b: Ints, joint: Floats, of_a: Floats, of_b: Floats) -> float:
    """By ``sum_ij (f_ij - f_i. f_.j)^2 / (f_i. f_.j) = sum_ij f_ij^2 / (f_i. f_.j) - 1``; nan where
    one of the two has a single value.
    """
    least = min(len(of_a), len(of_b))
    if least < 2:
        return float("nan")
    total = float(((joint / of_a[a]) * (joint / of_b[b])).sum())
    return min(max((total - 1) / (least - 1), 0.0), 1.0)


def _codes(attribute: PublishedAttribute, part: pl.DataFrame) -> Codes:
    """The part's values of one attribute, or their intervals, as 0 .. d-1 of which each occurs."""
    low = part[attribute.columns[-2:][0]].alias("value")
    values = (
        low.unique().sort()
    )  # so that codes are the same in every column that the attribute stands in
    present, missing = values.drop_nulls(), values.null_count()
    code = np.arange(len(present), dtype=np.int32)
    if attribute.type in ("numeric", "date") and len(present) > BINS:
        interval = _intervals(present.to_physical().cast(pl.Float64).to_numpy())
        code = np.unique(interval, return_inverse=True)[1].astype(np.int32)
    numbered = pl.DataFrame({"value": present, "code": code})
    if missing:
        numbered = pl.concat(
            [
                numbered,
                pl.DataFrame(
                    {"value": [None], "code": [int(code.max(initial=-1)) + 1]},
                    schema=numbered.schema,
                ),
            ]
        )
    return (
        low.to_frame()
        .join(numbered, on="value", how="left", nulls_equal=True, maintain_order="left")["code"]
        .to_numpy()
    )


def _intervals(values: Floats) -> Ints:
    """For every number its interval, 0 .. BINS-1, of equal width between the least and the
    greatest; one interval where no float tells them apart.
    """
    scaled = np.ldexp(
        values, -int(np.frexp(np.abs(values).max())[1])
    )  # exact, and no difference overflows
    low, high = scaled.min(), scaled.max()
    if low == high:
        return np.zeros(len(scaled), dtype=np.int64)
    interval_of: Ints = np.floor((scaled - low) * BINS / (high - low)).astype(np.int64)
    return np.minimum(interval_of, BINS - 1)  # the greatest closes the last interval
