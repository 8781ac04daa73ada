# SPDX-License-Identifier: Apache-2.0
"""Least widths: which intervals a release may have whose narrow ones were moved outward to a grid that
depends on no data.
"""

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Ints
from phalanx.data.domain import Domain
from phalanx.release.manifest import Manifest

_METHODS: Final = frozenset({"global-guarantee", "m-invariance", "mondrian"})
_EPOCH: Final = date(1970, 1, 1).toordinal()
_DAYS: Final = (date.min.toordinal() - _EPOCH, date.max.toordinal() - _EPOCH)
_WHOLE: Final = (-(2**63), 2**63 - 1)
FLOATS: Final = (-sys.float_info.max, sys.float_info.max)
LIMITS: Final = frozenset({_DAYS, _WHOLE, FLOATS})
"""Intervals of all that can be written, which no width is too much for."""
NEAR: Final = 1 + 2.0**-40
"""Floats that are further apart than this times a width are, exactly, no nearer."""


def has_widths(manifest: Manifest) -> bool:
    """Whether it is known what least widths of the manifest's method mean."""
    return manifest.method.get("name") in _METHODS


def follow_persons(manifest: Manifest) -> bool:
    """Whether a manifest says that intervals end at values of persons, or on a known grid beside them."""
    return manifest.boxes == "tight" or (manifest.boxes == "widened" and has_widths(manifest))


def widths_of(manifest: Manifest) -> Mapping[str, Fraction]:
    """The least widths that a manifest says, exactly, by attribute; none of a method of another
    package, which says by itself what they mean.
    """
    widths = manifest.method.get("min_width") if has_widths(manifest) else None
    return {
        str(name): Fraction(str(width))
        for name, width in (widths.items() if isinstance(widths, Mapping) else ())
        if isinstance(width, int | float) and not isinstance(width, bool) and 0 < width < math.inf
    }


@dataclass(frozen=True, eq=False)
class Grid:
    """What the intervals of one attribute become that are narrower than a width."""

    domain: Domain
    width: Fraction
    low: pl.Series
    """Of each group the low end, as published, shape (g,)."""
    high: pl.Series

    def follows(self, least: Ints, greatest: Ints, at: Ints) -> Bools:
        """Whether the intervals of some groups, ``at`` these places, are those of persons whose
        values begin and end at these codes.
        """
        pairs = np.stack([least, greatest], axis=1)
        distinct, which = np.unique(pairs, axis=0, return_inverse=True)
        right = [self._moved(int(a), int(b)) for a, b in distinct]
        low, high = self._published(at)
        return np.array(
            [
                right[pair] == shown
                for pair, shown in zip(which.ravel(), zip(low, high, strict=True), strict=True)
            ],
            dtype=bool,
        )

    def may_follow(self, least: Ints, greatest: Ints, at: Ints) -> Bools:
        """The same of groups of some of these persons: an end is a value of theirs, or a line of the
        grid beside one.
        """
        low, high = self._published(at)
        lines = {code: self._lines(code) for code in {*least.tolist(), *greatest.tolist()}}
        shown = zip(least.tolist(), greatest.tolist(), low, high, strict=True)
        return np.array(
            [
                (x == self._value(a) or x in lines[a][0])
                and (y == self._value(b) or y in lines[b][1])
                for a, b, x, y in shown
            ],
            dtype=bool,
        )

    def _lines(self, code: int) -> tuple[set[Any], set[Any]]:
        """Where a low and a high end may be moved from a value: to the next line, or the one behind it
        where it would be beyond all that can be written.
        """
        if self.domain.type == "categorical":
            low, high = self._cells(code, code)
            return {low}, {high}
        value, (first, last) = self._value(code), self._limits()
        if value is None:
            return {None}, {None}
        exactly, step = Fraction(str(value)), self.width
        down = Fraction(math.floor(exactly / step)) * step
        up = Fraction(math.ceil(exactly / step)) * step
        lows, highs = [down], [up, max(up, down + step)]
        if up + step > last:
            lows.append(down - step)
        if down - step < first:
            highs += [up + step, up + 2 * step]
        return (
            {self._written(max(line, Fraction(first)), math.floor) for line in lows},
            {self._written(min(line, Fraction(last)), math.ceil) for line in highs},
        )

    def _whole(self) -> bool:
        """Whether ends are published as whole numbers, whatever the original holds them as."""
        return not any(end.dtype.is_float() for end in (self.low, self.high))

    def _limits(self) -> tuple[Any, Any]:
        return _DAYS if self.domain.type == "date" else _WHOLE if self._whole() else FLOATS

    def _written(self, line: Fraction, outward: Callable[[Fraction], int]) -> Any:
        return outward(line) if self._whole() else float(line)

    def _published(self, at: Ints) -> tuple[list[Any], list[Any]]:
        """The ends of groups, as values compare."""
        ends = [end.gather(at) for end in (self.low, self.high)]
        if self.domain.type == "categorical":
            return self._as_codes(ends[0]), self._as_codes(ends[1])
        low, high = physical(pl.DataFrame(ends)).get_columns()
        return low.to_list(), high.to_list()

    def _as_codes(self, ends: pl.Series) -> list[Any]:
        texts = self.domain.values.cast(pl.String)
        code = dict(zip(texts.to_list(), range(len(texts)), strict=True))
        return [code.get(end, -1) for end in ends.cast(pl.String).to_list()]

    def _value(self, code: int) -> Any:
        if self.domain.type == "categorical":
            return code
        value = self.domain.values[code]
        return value.toordinal() - _EPOCH if isinstance(value, date) else value

    def _moved(self, low: int, high: int) -> tuple[Any, Any]:
        """The ends of an interval from one code to another, as they are published."""
        if self.domain.type == "categorical":
            return self._cells(low, high)
        a, b = self._value(low), self._value(high)
        if b is None:
            return None, None
        if a is not None and float(b) - float(a) > float(self.width) * NEAR:
            return a, b
        first, last = self._limits()
        step, top = self.width, Fraction(str(b))
        up = Fraction(math.ceil(top / step)) * step
        if a is None:
            return None, self._written(min(up, Fraction(last)), math.ceil)
        bottom = Fraction(str(a))
        if top - bottom >= step:
            return a, b
        down = Fraction(math.floor(bottom / step)) * step
        up = max(up, down + step)
        if up > last:  # no line is beyond what can be written
            down -= step
        elif down < first:
            up += step
        begin, end = max(down, Fraction(first)), min(up, Fraction(last))
        return self._written(begin, math.floor), self._written(end, math.ceil)

    def _cells(self, low: int, high: int) -> tuple[int, int]:
        """The same of leaves: whole cells of so many of them, the last of which takes what is left."""
        first, leaves = (
            int(self.domain.has_missing),
            len(self.domain) - int(self.domain.has_missing),
        )
        width = math.ceil(self.width)
        if high < first or high - max(low, first) + 1 >= width:
            return low, high
        cells = max(1, leaves // width)
        begin, end = (min((code - first) // width, cells - 1) for code in (low, high))
        upto = leaves if end == cells - 1 else (end + 1) * width
        return (low if low < first else first + begin * width), first + upto - 1


def physical(ends: pl.DataFrame) -> pl.DataFrame:
    """Dates as days."""
    return ends.with_columns(pl.col(pl.Date).to_physical())


__all__ = ["LIMITS", "NEAR", "Grid", "follow_persons", "has_widths", "physical", "widths_of"]
