# SPDX-License-Identifier: Apache-2.0
"""Entries of a facet: so many rows of a group, and what they say of each attribute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.arrays import (
    Bools,
    Integers,
    Ints,
    different,
    firsts,
    from_arrow,
    places_among,
)

_FEW: Final = 4
"""Where so many entries or more say the same on average, they have one place."""
_WHOLE: Final = frozenset(
    {pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.Boolean, pl.Date}
)


@dataclass(frozen=True, eq=False)
class Ends:
    """What a facet's entries say of one attribute: the values from ``low`` to ``high``, all arrays
    of shape (e,); or where many entries say the same, of shape (b,) with ``which`` of these each
    says.
    """

    low: pl.Series
    high: pl.Series
    nothing: Bools
    """No value but perhaps the missing one."""
    missing: Bools
    """Also the missing value."""
    unbounded: tuple[Bools, Bools]
    """Nothing below (above) which a value is not: the low (high) end means nothing."""
    half_open: bool = False
    """The high end is not in it."""
    exact: bool = False
    """Each entry is one value, hence low is high."""
    which: Integers | None = None
    """Shape (e,); None where each entry has a place of its own."""

    @classmethod
    def of_values(cls, values: pl.Series, hidden: Bools | None = None) -> "Ends":
        """Values as they are; where one is ``hidden`` it may be any, also the missing one."""
        null = values.is_null().to_numpy()
        free = np.zeros(len(values), dtype=bool) if hidden is None else hidden
        return cls(values, values, null & ~free, null | free, (free, free), exact=True)

    @classmethod
    def of_interval(cls, low: pl.Series, high: pl.Series) -> "Ends":
        """Closed intervals; a missing low end holds the missing value and all values up to the high
        end, or it alone where that is missing, too.
        """
        none, upto = high.is_null().to_numpy(), low.is_null().to_numpy()
        return cls(low, high, none, upto, (upto & ~none, np.zeros(len(low), dtype=bool)))

    @classmethod
    def anything(cls, values: pl.Series, entries: int) -> "Ends":
        """Nothing is known; ``values`` are of the attribute's type."""
        all_of_it, none = np.ones(entries, dtype=bool), np.zeros(entries, dtype=bool)
        null = pl.Series(values.name, [None] * entries, dtype=values.dtype)
        return cls(null, null, none, all_of_it, (all_of_it, all_of_it))

    @classmethod
    def together(cls, ends: Sequence["Ends"]) -> "Ends":
        """Those of the entries of several parts, one after the other."""
        low = _one_after_the_other([e.low for e in ends])
        exact = all(e.exact for e in ends)
        high = low if exact else _one_after_the_other([e.high for e in ends])
        nothing, missing = (
            np.concatenate([getattr(e, name) for e in ends]) for name in ("nothing", "missing")
        )
        below, above = map(np.concatenate, zip(*(e.unbounded for e in ends), strict=True))
        which = None if all(e.which is None for e in ends) else _which_together(ends)
        sides = below, above
        return cls(low, high, nothing, missing, sides, ends[0].half_open, exact, which).shared()

    def shared(self) -> "Ends":
        """The same with one place for all entries that say the same, where these are many."""
        codes = [_codes(end) for end in ((self.low,) if self.exact else (self.low, self.high))]
        number = np.zeros(len(self.low), dtype=np.int64)
        for code in codes:
            if code is None:
                return self
            number = number * (int(code.max(initial=0)) + 1) + code
        for mark in (self.nothing, self.missing, *self.unbounded):
            number = 2 * number + mark
        numbers, place = different(number)
        if len(numbers) * _FEW > (len(number) if self.which is None else len(self.which)):
            return self
        small = place.astype(np.min_scalar_type(len(numbers)))
        which = small if self.which is None else small[self.which]
        one = replace(self, which=None).taken(firsts(place))
        low = _alone(one.low)
        return replace(one, low=low, high=low if one.exact else _alone(one.high), which=which)

    @property
    def size(self) -> int:
        """About so many bytes it takes."""
        marks = sum(each.nbytes for each in (self.nothing, self.missing, *self.unbounded))
        marks += 0 if self.which is None else self.which.nbytes
        return marks + sum(
            int(end.estimated_size()) for end in (self.low, *(() if self.exact else (self.high,)))
        )

    def taken(self, entries: Ints) -> "Ends":
        """The same of some entries."""
        if self.which is not None:
            return replace(self, which=self.which[entries])
        at = pl.Series(entries, dtype=pl.UInt32)
        low, high = self.low.gather(at), self.high.gather(at)
        sides = self.unbounded[0][entries], self.unbounded[1][entries]
        return Ends(
            low,
            high,
            self.nothing[entries],
            self.missing[entries],
            sides,
            self.half_open,
            self.exact,
        )


@dataclass(frozen=True, eq=False)
class Facet:
    """Entries of groups: ``count`` rows of ``group`` hold what the entry says, attribute by
    attribute. Together they are all rows of their group.
    """

    group: Ints
    """Shape (e,): 0 .. g-1, ascending or not."""
    count: Ints
    """Shape (e,), at least 1."""
    ends: Mapping[str, Ends]
    tight: Bools | None = None
    """Whether each end of an entry is held by one of its rows, shape (e,); None: nowhere."""
    fake: bool = False
    """Whether counterfeits are among the rows."""

    @classmethod
    def together(cls, facets: Sequence["Facet"], before: Ints) -> "Facet":
        """The entries of several parts; ``before``: how many groups the parts before each have."""
        tight = [facet.tight for facet in facets if facet.tight is not None]
        return cls(
            _as_ints([facet.group for facet in facets], before),
            _as_ints([facet.count for facet in facets], np.zeros_like(before)),
            {name: Ends.together([f.ends[name] for f in facets]) for name in facets[0].ends},
            np.concatenate(tight) if len(tight) == len(facets) else None,
            facets[0].fake,
        )

    def shared(self) -> "Facet":
        """The same with one place for all entries that say the same of an attribute."""
        return replace(self, ends={name: ends.shared() for name, ends in self.ends.items()})

    def packed(self) -> "Facet":
        """The same in numbers that take little room, and are not to be asked."""
        group, count = (small(numbers) for numbers in (self.group, self.count))
        return replace(self.shared(), group=group, count=count)

    def unpacked(self) -> "Facet":
        """The same in numbers that can be asked."""
        return replace(self, group=wide(self.group), count=wide(self.count))

    def taken(self, place: Ints, entries: Ints) -> "Facet":
        """Some entries, whose groups have other places."""
        return Facet(
            place[self.group[entries]],
            self.count[entries],
            {name: ends.taken(entries) for name, ends in self.ends.items()},
            None if self.tight is None else self.tight[entries],
            self.fake,
        )

    @property
    def size(self) -> int:
        """About so many bytes it takes."""
        return self.group.nbytes + self.count.nbytes + sum(e.size for e in self.ends.values())

    @property
    def size_together(self) -> int:
        """About so many bytes it takes among others."""
        return self.size + 16 * len(self.group) - self.group.nbytes - self.count.nbytes


def small(numbers: Ints) -> npt.NDArray[Any]:
    """Numbers from 0 on in as little room as there is."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def wide(numbers: Integers) -> Ints:
    """The same in numbers that add up to any other."""
    return numbers.astype(np.int64, copy=False)


def _codes(values: pl.Series) -> Ints | None:
    """Which of the different values each is, from 1 on, and 0 for a missing one; None for types of
    which this is not known.
    """
    if values.dtype == pl.String:
        once = values.drop_nulls().unique()
        code = places_among(values, once)
    elif values.dtype.is_float():
        code = different(values.cast(pl.Float64).fill_null(0).to_numpy().view(np.int64))[1]
    elif values.dtype in _WHOLE:
        code = different(values.to_physical().cast(pl.Int64).fill_null(0).to_numpy())[1]
    else:
        return None
    return np.where(values.is_null().to_numpy(), 0, code + 1)


def _which_together(ends: Sequence[Ends]) -> Integers:
    """Which place each entry has behind those of the parts before."""
    each = [np.arange(len(e.low)) if e.which is None else e.which for e in ends]
    places, entries = np.cumsum(
        [[len(e.low), len(w)] for e, w in zip(ends, each, strict=True)], 0
    ).T
    together = np.empty(entries[-1], dtype=np.min_scalar_type(int(places[-1])))
    for e, which, place, entry in zip(ends, each, places, entries, strict=True):
        here = together[entry - len(which) : entry]
        here[:] = which  # of the same type or a smaller one, or of whole numbers that it holds
        here += here.dtype.type(place - len(e.low))
    return together


def _as_ints(parts: Sequence[Integers], more: Ints) -> Ints:
    """The numbers of all parts, each as much more as its part's."""
    together = np.empty(sum(map(len, parts)), dtype=np.int64)
    ends = np.cumsum([len(part) for part in parts])
    for part, end, by in zip(parts, ends, more, strict=True):
        np.add(part, by, out=together[end - len(part) : end])
    return together


def _alone(values: pl.Series) -> pl.Series:
    """Values in memory of their own: texts that were gathered keep all that they were among."""
    if values.dtype != pl.String:
        return values
    return from_arrow(values.to_arrow(compat_level=pl.CompatLevel.oldest())).alias(values.name)


def _one_after_the_other(parts: Sequence[pl.Series]) -> pl.Series:
    frames = [part.alias("").to_frame() for part in parts]
    return pl.concat(frames, how="vertical_relaxed").to_series().alias(parts[0].name)
