# SPDX-License-Identifier: Apache-2.0
"""Regions of the quasi-identifiers: a coarse partition that no sensitive value has a part in.

Where they are cut follows from a random sample of the rows' quasi-identifiers and from how many
rows there are. So an adversary who knows all quasi-identifiers and this code knows as much of them
without the release, but for the draw of the sample, which is made without a look at anything else.
That the regions are there tells of no person. A region whose rows cannot keep what is asked is never
mended by a coarser one: that there is a coarser one would say what the finer one lacked. The
release is refused instead, and a release that is there says no more than that every region keeps
what each of its published groups shows that it keeps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.arrays import Floats, Ints
from phalanx.data.column import Column, kind_of, typed
from phalanx.data.domain import Domain
from phalanx.data.schema import Schema
from phalanx.errors import SchemaError
from phalanx.randomness import Stream

_LEAST: Final = 0.25
"""No cut takes a smaller share of a region away, as long as there is another one."""
_MANY: Final = 16
"""From so many values on, how far apart rows are is seen of ..."""
_DRAWN: Final = 8
"""... so many, as many as a group has."""
_FEW: Final = 1 << 16
"""Texts that are not worth to be sorted by themselves."""
_MISSING: Final = -1.0
"""Where a missing value is, below all others."""
_PRESENT: Final = -0.5
"""Between a missing value and all others, whichever these are."""


class Attribute:
    """What is known of one quasi-identifier in the whole table: the ends of numbers and dates, the
    values of a categorical one.
    """

    def __init__(self, name: str, schema: Schema) -> None:
        self.name = name
        self._declared = schema.types.get(name)
        self._hierarchy = schema.hierarchies.get(name)
        self._values: pl.Series | None = None
        self._further: list[pl.Series] = []
        """Texts that were seen since, and are sorted once there are many."""

    def see(self, values: pl.Series) -> pl.Series:
        """Look at further values.

        Parameters
        ----------
        values : pl.Series
            As they stand in the source, shape (n,).

        Returns
        -------
        pl.Series
            The same in their canonical type, shape (n,).
        """
        values = self.canonical(values)
        if values.dtype == pl.String:
            self._further.append(compact(values.unique().drop_nulls()))
            known = 0 if self._values is None else len(self._values)
            if sum(map(len, self._further)) > max(known, _FEW):
                self._sort()
            return values
        ends = [values.min(), values.max(), *([] if self._values is None else self._values)]
        seen = pl.Series(self.name, ends, dtype=values.dtype).drop_nulls().unique().sort()
        self._values = pl.concat([seen[:1], seen[-1:]]).unique()
        return values

    def _sort(self) -> None:
        """Put the texts that were seen in order, each once."""
        if self._further:
            seen = [] if self._values is None else [self._values]
            self._values = compact(pl.concat([*seen, *self._further]).unique().sort())
            self._further.clear()

    def canonical(self, values: pl.Series) -> pl.Series:
        """Values as they are compared and published.

        Parameters
        ----------
        values : pl.Series
            As they stand in the source, shape (n,).

        Returns
        -------
        pl.Series
            The same in their canonical type, shape (n,).
        """
        kind = kind_of(values, self._declared, self._hierarchy)
        values = typed(values, kind)
        return values.cast(pl.String) if kind == "categorical" else values

    def reach(self) -> pl.Series:
        """What was seen so far.

        Returns
        -------
        pl.Series
            The ends of numbers and dates, the values of a categorical attribute, in order.
        """
        self._sort()
        return pl.Series(self.name, [], pl.Null) if self._values is None else self._values

    @property
    def held(self) -> int:
        """About so many bytes of memory what was seen takes."""
        return int(self.reach().estimated_size())

    def places(self, values: pl.Series) -> Floats:
        """Where values of their canonical type are from 0 to 1, shape (n,); all values must have
        been seen.

        Parameters
        ----------
        values : pl.Series
            The values, shape (n,).

        Returns
        -------
        Floats
            Their places, shape (n,); missing ones are below 0.
        """
        seen = self.reach()
        if seen.dtype == pl.Null:
            seen = values.clear()
        if seen.dtype == pl.String and self._hierarchy is None:
            at = seen.search_sorted(values.fill_null("")).to_numpy()
            place_of = pl.Series(at / max(1, len(seen) - 1)).set(values.is_null(), None)
        elif seen.dtype == pl.String:
            leaves = self._leaves(seen)
            scale = pl.DataFrame(
                {"value": leaves, "place": np.arange(len(leaves)) / max(1, len(leaves) - 1)}
            )
            place_of = pl.DataFrame({"value": values}).join(
                scale, on="value", how="left", maintain_order="left"
            )["place"]
        else:
            low, high = _ends(seen)
            place_of = (values.to_physical().cast(pl.Float64) - low) / ((high - low) or 1.0)
        places: Floats = place_of.fill_null(_MISSING).to_numpy().astype(np.float64)
        return places

    def cut_at(self, place: float) -> float | str | None:
        """What lies at a place between values, in the attribute's own unit.

        Parameters
        ----------
        place : float
            From 0 to 1, or below 0, between a missing value and all others.

        Returns
        -------
        float | str | None
            A number, of a date the days since 1970; the first value behind the place of a
            categorical attribute; None of what parts the missing ones from all others.
        """
        if place < 0:
            return None
        seen = self.reach()
        if seen.dtype == pl.String:
            leaves = self._leaves(seen)
            return str(leaves[math.ceil(place * max(1, len(leaves) - 1))])
        low, high = _ends(seen)
        return low + place * ((high - low) or 1.0)

    def place_of(self, cut: float | str | None) -> float:
        """The place of what ``cut_at`` gave, which a table with other values may have given.

        Parameters
        ----------
        cut : float | str | None
            In the attribute's own unit.

        Returns
        -------
        float
            All that lies below it has a lower place, all else a higher one, or the same.

        Raises
        ------
        SchemaError
            Where its hierarchy does not name what it was cut at, or its values are texts now and
            were numbers or dates.
        """
        if cut is None:
            return _PRESENT
        seen = self.reach()
        if isinstance(cut, str):
            texts = seen.cast(pl.String)
            known = len(self._leaves(texts)) if self._hierarchy is not None else len(texts)
            try:
                leaves = self._leaves(pl.concat([texts, pl.Series(texts.name, [cut])]).unique())
            except SchemaError:  # the table's own values are named
                raise SchemaError(
                    f"column {self.name!r} has another hierarchy than the series began with, whose"
                    " parts are cut along it; put that back, or begin another series."
                ) from None
            before = leaves[: leaves.to_list().index(cut)]
            return (len(before) - 0.5) / max(1, known - 1)
        if seen.dtype == pl.String:
            raise SchemaError(
                f"column {self.name!r} is categorical in this table, and the series, whose parts are"
                " cut along it, began with numbers or dates; correct the table."
            )
        low, high = _ends(seen)
        return (cut - low) / ((high - low) or 1.0)

    def over_all(self, column: Column) -> Column:
        """The codes of a part over a domain that reaches as far as that of the whole table, so that
        a width means the same in every part.

        Parameters
        ----------
        column : Column
            A part's, codes of shape (n,).

        Returns
        -------
        Column
            The same values, codes of shape (n,).
        """
        domain = column.domain
        reach = self.reach()
        if reach.dtype == pl.Null:
            return column
        missing = int(domain.has_missing)
        present = domain.values[missing:]
        seen = reach.cast(present.dtype)
        if seen.dtype == pl.String and self._hierarchy is None and _holds(seen, present):
            leaves = seen
        else:
            leaves = self._leaves(pl.concat([present, seen.alias(present.name)]).unique())
            leaves = leaves.cast(present.dtype)
        if self._hierarchy is None:
            code = leaves.search_sorted(present)
        else:
            places = pl.DataFrame({"": leaves}).with_row_index("code")
            code = pl.DataFrame({"": present}).join(places, on="", maintain_order="left")["code"]
        place = np.append(np.zeros(missing), missing + code.to_numpy()).astype(np.int32)
        values = pl.concat([domain.values[:missing].alias(self.name), leaves.alias(self.name)])
        return Column(place[column.codes], Domain(domain.type, values, domain.hierarchy))

    def _leaves(self, values: pl.Series) -> pl.Series:
        return values.sort() if self._hierarchy is None else self._hierarchy.leaves(values)


def _holds(some: pl.Series, others: pl.Series) -> bool:
    """Whether all others are among some texts, which are in order."""
    at = some.search_sorted(others)
    return bool((at < len(some)).all() and (some.gather(at) == others).all())


def _ends(seen: pl.Series) -> tuple[float, float]:
    """The least and the greatest number, as which a date counts."""
    ends = seen.to_physical().cast(pl.Float64)
    return float(ends.min() or 0.0), float(ends.max() or 0.0)  # type: ignore[arg-type]


def compact(values: pl.Series) -> pl.Series:
    """The same values, and no others in memory: texts that are drawn from many point to all that
    they were drawn from.

    Parameters
    ----------
    values : pl.Series
        Values, shape (n,).

    Returns
    -------
    pl.Series
        The same, shape (n,).
    """
    if values.dtype != pl.String:
        return values
    return pl.Series(values.name, values.to_arrow(compat_level=pl.CompatLevel.oldest()))


@dataclass(frozen=True)
class Region:
    """A node of the cuts: what is below ``at`` of an attribute, and the rest; or a part, whose rows
    are dealt out by chance over ``ways`` parts where no quasi-identifier divides them.
    """

    attribute: int = -1
    at: float = 0.0
    below: "Region | None" = None
    above: "Region | None" = None
    first: int = 0
    ways: int = 1

    @property
    def end(self) -> int:
        """The number behind that of its last part."""
        return self.first + self.ways if self.above is None else self.above.end

    def cuts(self) -> list[Any]:
        """All that it is, as JSON can say it.

        Returns
        -------
        list[Any]
            Numbers, and of what was cut the same of both sides.

        >>> root = Region(1, 0.5, Region(first=0), Region(first=1, ways=3))
        >>> Region.of_cuts(root.cuts()) == root
        True
        """
        if self.below is None or self.above is None:
            return [self.first, self.ways]
        return [self.attribute, self.at, self.below.cuts(), self.above.cuts()]

    @classmethod
    def of_cuts(cls, cuts: Sequence[Any]) -> "Region":
        """What ``cuts`` gave.

        Parameters
        ----------
        cuts : Sequence[Any]
            Of one region.

        Returns
        -------
        Region
            The region.
        """
        if len(cuts) == 2:
            return cls(first=cuts[0], ways=cuts[1])
        return cls(cuts[0], cuts[1], cls.of_cuts(cuts[2]), cls.of_cuts(cuts[3]))

    def parts_of(self, places: Floats, stream: Stream) -> Ints:
        """The part of every row.

        Parameters
        ----------
        places : Floats
            Of every row and attribute, shape (n, d).
        stream : Stream
            Deals rows out.

        Returns
        -------
        Ints
            Numbers from 0, shape (n,).
        """
        if self.below is None or self.above is None:
            return self.first + stream.integers(self.ways, len(places))
        parts = np.empty(len(places), dtype=np.int64)
        low = places[:, self.attribute] < self.at
        parts[low] = self.below.parts_of(places[low], stream)
        parts[~low] = self.above.parts_of(places[~low], stream)
        return parts


def regions(sample: Floats, rows: int, most: int) -> Region:
    """Regions of about ``most`` rows or fewer, as Mondrian begins: the widest attribute is cut near
    its median, at no place that parts equal values. An attribute of a long tail is as wide as a few
    rows are that are drawn at random, since cuts do not bring the tail nearer to the rest.

    Parameters
    ----------
    sample : Floats
        Places of some rows, drawn at random, shape (s, d).
    rows : int
        How many rows the table has.
    most : int
        So many are wanted in a region.

    Returns
    -------
    Region
        The root; parts are numbered from 0, neighbours in turn.
    """
    return _cut(sample, rows / max(1, len(sample)), most, 0)


def _cut(sample: Floats, weight: float, most: int, first: int) -> Region:
    if len(sample) * weight <= most or len(sample) < 2:
        return Region(first=first)
    counted = [np.unique(places, return_counts=True) for places in sample.T]
    widths = np.array([_width(*of) for of in counted])
    cuts = [(a, *_median(*counted[a])) for a in np.argsort(-widths, kind="stable")]
    even = [cut for cut in cuts if cut[2] >= _LEAST] or sorted(cuts, key=lambda cut: -cut[2])
    attribute, at, share = even[0]
    if not share:
        return Region(first=first, ways=math.ceil(len(sample) * weight / most))
    low = sample[:, attribute] < at
    below = _cut(sample[low], weight, most, first)
    above = _cut(sample[~low], weight, most, below.end)
    return Region(int(attribute), at, below, above)


def _width(values: Floats, counts: Ints) -> float:
    """How far apart rows are that stand at different ``values``, so many at each: all of them or,
    where there are many values and a few rows, drawn at random, are less than half as far apart on
    average, these.
    """
    below, reach = np.cumsum(counts)[:-1] / counts.sum(), float(values[-1] - values[0])
    between = 1 - below**_DRAWN - (1 - below) ** _DRAWN
    drawn = float((np.diff(values) * between).sum())
    return drawn if len(values) >= _MANY and 2 * drawn < reach else reach


def _median(values: Floats, counts: Ints) -> tuple[float, float]:
    """Where to cut rows that stand at different ``values``, so many at each, so that about half lies
    below, and the share of the smaller side; 0 where all are equal.
    """
    if len(values) < 2:
        return 0.0, 0.0
    below, rows = np.cumsum(counts)[:-1], counts.sum()
    cut = int(np.argmin(np.abs(2 * below - rows)))
    share = min(below[cut], rows - below[cut]) / rows
    if values[cut] == _MISSING:
        return _PRESENT, float(share)
    between = (values[cut] + values[cut + 1]) / 2
    # of neighbouring floats it is the lower one, and nothing would lie below
    return float(between if between > values[cut] else values[cut + 1]), float(share)


def merged(counts: Sequence[int], least: int) -> list[list[int]]:
    """Parts that are published together: each with its neighbour as long as they have fewer than
    ``least`` rows, which anyone may know; parts without a row are left out.

    >>> merged([5, 0, 40, 3, 2], 4)
    [[0], [2], [3, 4]]
    """
    together: list[list[int]] = []
    held = 0
    for number, rows in enumerate(counts):
        if not rows:
            continue
        if together and held < least:
            together[-1].append(number)
            held += rows
        else:
            together.append([number])
            held = rows
    if len(together) > 1 and held < least:
        last = together.pop()
        together[-1] += last
    return together
