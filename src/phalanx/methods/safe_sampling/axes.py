# SPDX-License-Identifier: Apache-2.0
"""How one attribute may be recoded, level by level, by what the plan declares and never by what a
table holds.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Final

import numpy as np
import polars as pl

from phalanx.arrays import Codes
from phalanx.data.domain import Domain
from phalanx.data.hierarchies.hierarchy import Bands, Hierarchy, Prefix, Tree
from phalanx.data.schema import Type
from phalanx.errors import PlanError, SchemaError, did_you_mean

MOST_CELLS: Final = 1_000_000
"""A grid has no more cells than this."""
_WHOLE: Final = 2**53
"""Whole numbers up to it are floats each."""
_STEPS: Final = 2**50
"""So many bands from zero their ends are floats each."""
_KEYS: Final = ("low", "high", "width", "widths", "level")


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one attribute that a table's values fall into."""

    of_code: Codes
    """The cell of every code of the domain, 0 .. count-1, shape (len(domain),)."""
    columns: list[pl.Series]
    """What is published of each cell, one or two series of length count."""

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.columns[0])


@dataclass(frozen=True)
class Axis(ABC):
    """One attribute and its recodings, from the finest level, 0, to the top, at which all values
    are one.
    """

    type: ClassVar[Type]
    lowest: ClassVar[int] = 0
    """The finest level that may be published."""
    name: str

    @property
    @abstractmethod
    def top(self) -> int:
        """The level at which all values are one."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """The names of the published columns, which are the same at all levels."""

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The declared hierarchy, for the manifest."""
        return None

    @abstractmethod
    def cells(self, domain: Domain, level: int) -> Cells:
        """The cells of a domain's values at a level; each value's cell depends on the value
        alone.
        """

    def information(self, level: int) -> Fraction:
        """How much of what a value says is left at a level: from 1, all of it, to 0, where all
        values are one.

        By what is declared and never by a table; where the declaration says no more, the share of
        levels above.
        """
        return Fraction(self.top - level, self.top - self.lowest)

    def declared_cells(self, level: int) -> int | None:
        """How many cells there are at a level, by what is declared; None where only a table
        tells.
        """
        return 1 if level == self.top else None

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What the manifest says of the axis beside the level."""

    @abstractmethod
    def check_fits(self, domain: Domain) -> None:
        """SchemaError where values of this domain cannot be recoded so."""

    def asked(self, declared: Any) -> int | None:
        """The level that the plan asks for; None where it asks for none; PlanError for one that
        there is not.
        """
        level = declared.get("level") if isinstance(declared, Mapping) else declared
        if level is None and isinstance(declared, Mapping) and "width" in declared:
            level = 0
        if level is not None and (
            isinstance(level, bool)
            or not isinstance(level, int)
            or not self.lowest <= level <= self.top
        ):
            raise PlanError(
                f"[method.scheme] {self.name} has level {level!r}; give one from {self.lowest} to"
                f" {self.top}."
            )
        return level


@dataclass(frozen=True)
class Nodes(Axis):
    """A categorical attribute, published as the nodes of its hierarchy; without one, as it is
    (level 0) or as ``*`` (level 1).
    """

    type: ClassVar[Type] = "categorical"
    declared: Hierarchy | None = None
    height: int = 2

    @property
    def top(self) -> int:
        return self.height - 1

    @property
    def columns(self) -> list[str]:
        return [self.name]

    @property
    def hierarchy(self) -> Hierarchy | None:
        return self.declared

    def cells(self, domain: Domain, level: int) -> Cells:
        if level == self.top:
            return Cells(
                np.zeros(len(domain), dtype=np.int32),
                [pl.Series(self.name, ["*"], dtype=pl.String)],
            )
        labels = self.labels(domain, level)
        nodes = labels.unique(maintain_order=True)
        self._check_stars(nodes, level)
        number = pl.DataFrame({"node": nodes, "cell": np.arange(len(nodes), dtype=np.int32)})
        of_code = (
            labels.to_frame("node")
            .join(number, on="node", how="left", nulls_equal=True, maintain_order="left")["cell"]
            .to_numpy()
        )
        return Cells(of_code, [nodes.alias(self.name)])

    def _check_stars(self, nodes: pl.Series, level: int) -> None:
        """SchemaError where a value's own star would be read as one that stands for what is cut
        off.
        """
        if isinstance(self.declared, Tree):
            return
        kept = nodes
        if isinstance(self.declared, Prefix):
            kept = nodes.str.slice(self.declared.lengths[level] - 1, 1)
        if (kept == "*").any():
            raise SchemaError(
                f"column {self.name!r} holds values with a star of their own where one stands for"
                " what is not published; write another character for it at the source."
            )

    def information(self, level: int) -> Fraction:
        """Of a tree, 1 less the other leaves that a node of the level has beside a leaf, on
        average, as a share of all other leaves.
        """
        if not isinstance(self.declared, Tree) or len(self.declared.paths) == 1:
            return super().information(level)
        leaves, nodes = len(self.declared.paths), len({path[level] for path in self.declared.paths})
        return 1 - (Fraction(leaves, nodes) - 1) / (leaves - 1)

    def declared_cells(self, level: int) -> int | None:
        return (
            len({path[level] for path in self.declared.paths})
            if isinstance(self.declared, Tree)
            else super().declared_cells(level)
        )

    def labels(self, domain: Domain, level: int) -> pl.Series:
        """The node of every code of a domain at a level; null for a missing value."""
        ancestors = domain.ancestors
        return domain.values.cast(pl.String) if ancestors is None else ancestors[str(level)]

    def parameters(self) -> dict[str, Any]:
        return {}

    def check_fits(self, domain: Domain) -> None:
        if domain.type == "set":
            raise SchemaError(
                f"column {self.name!r} holds sets of values, which safe-sampling does not publish;"
                " drop it, or flatten it at the source."
            )
        if domain.type != "categorical":
            raise SchemaError(
                f"column {self.name!r} is {domain.type}, and cells that follow its values tell of"
                " persons; declare its range in [method.scheme], or give it a hierarchy and a"
                " level."
            )


@dataclass(frozen=True)
class Grid(Axis):
    """Numbers or dates in cells of equal width over a range that the plan declares; the end cells
    hold what lies beyond.
    """

    low: Any = 0
    high: Any = 0
    widths: tuple[Any, ...] = ()

    @property
    def type(self) -> Type:  # type: ignore[override]
        """Dates where the range is given in dates, else numbers."""
        return "date" if isinstance(self.low, date) else "numeric"

    @property
    def top(self) -> int:
        return len(self.widths)

    @property
    def columns(self) -> list[str]:
        return [f"{self.name}_low", f"{self.name}_high"]

    def information(self, level: int) -> Fraction:
        """1 less the width of a cell as a share of the range."""
        return (
            Fraction(0)
            if level == self.top
            else max(
                Fraction(0),
                1 - _number(self.widths[level]) / (_number(self.high) - _number(self.low)),
            )
        )

    def declared_cells(self, level: int) -> int | None:
        return len(self.edges(level)) - 1

    def edges(self, level: int) -> pl.Series:
        """The ends of all cells of a level, low to high, whole numbers where all are whole."""
        numbers = [_number(x) for x in (self.low, self.high, *self.widths)]
        parts = math.lcm(*(x.denominator for x in numbers))
        low, high, *widths = (int(x * parts) for x in numbers)
        ends = [*range(low, high, high - low if level == self.top else widths[level]), high]
        plain = (
            pl.Series(ends, dtype=pl.Int64)
            if parts == 1
            else pl.Series([end / parts for end in ends], dtype=pl.Float64)
        )
        return plain.cast(pl.Int32).cast(pl.Date) if self.type == "date" else plain

    def finest(self, domain: Domain) -> Codes:
        """The cell of the finest level of every code of a domain; -1 for a missing value."""
        return self._cell(domain, 0)

    def _cell(self, domain: Domain, level: int) -> Codes:
        first = int(domain.has_missing)
        columns = [self.edges(level).to_physical(), domain.values[first:].to_physical()]
        if any(column.dtype.is_float() for column in columns):
            columns = [column.cast(pl.Float64) for column in columns]
        edges, values = (column.to_numpy() for column in columns)  # of whole numbers each as it is
        cell = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2).astype(
            np.int32
        )
        return np.concatenate([np.full(first, -1, dtype=np.int32), cell])

    def cells(self, domain: Domain, level: int) -> Cells:
        edges = self.edges(level)
        if level == self.top:
            return Cells(
                np.zeros(len(domain), dtype=np.int32),
                [edges[:1].alias(self.columns[0]), edges[1:].alias(self.columns[1])],
            )
        missing = pl.Series([None], dtype=edges.dtype)
        low, high = (
            pl.concat([missing, ends]).alias(name)
            for ends, name in zip((edges[:-1], edges[1:]), self.columns, strict=True)
        )
        return Cells(self._cell(domain, level) + np.int32(1), [low, high])

    def parameters(self) -> dict[str, Any]:
        ends = (
            (self.low.isoformat(), self.high.isoformat())
            if isinstance(self.low, date)
            else (self.low, self.high)
        )
        return {"low": ends[0], "high": ends[1], "widths": list(self.widths)}

    def check_fits(self, domain: Domain) -> None:
        if domain.type != self.type:
            raise SchemaError(
                f"column {self.name!r} is {domain.type} and [method.scheme] gives it a range of"
                f" {self.type} values; correct one of them."
            )


@dataclass(frozen=True)
class Banded(Axis):
    """Numbers in the bands of a declared hierarchy, which are aligned at zero and have no end."""

    type: ClassVar[Type] = "numeric"
    lowest: ClassVar[int] = 1
    bands: Bands

    @property
    def top(self) -> int:
        return len(self.bands.widths) + 1

    @property
    def columns(self) -> list[str]:
        return [f"{self.name}_low", f"{self.name}_high"]

    @property
    def hierarchy(self) -> Hierarchy | None:
        return self.bands

    @property
    def _widths(self) -> list[Fraction]:
        return [_number(width) for width in self.bands.widths]

    @property
    def _are_whole(self) -> bool:
        """Whether the ends of all bands are whole numbers, and written as such."""
        return all(width.denominator == 1 for width in self._widths)

    def cells(self, domain: Domain, level: int) -> Cells:
        self.check_fits(
            domain
        )  # of a table that is read some rows at a time the first rows alone were
        exact, kind = self._widths, pl.Int64 if self._are_whole else pl.Float64
        if level == self.top:
            return Cells(
                np.zeros(len(domain), dtype=np.int32),
                [pl.Series(name, [None], dtype=kind) for name in self.columns],
            )
        width, first = exact[level - 1], int(domain.has_missing)
        lows = [Fraction(str(x)) // width * width for x in domain.values[first:].to_list()]
        distinct_lows = sorted(set(lows))
        number = {low: i + 1 for i, low in enumerate(distinct_lows)}
        of_code = np.array([0] * first + [number[low] for low in lows], dtype=np.int32)
        return Cells(
            of_code,
            [
                pl.Series(
                    name,
                    [
                        None,
                        *(
                            int(x + by) if kind == pl.Int64 else float(x + by)
                            for x in distinct_lows
                        ),
                    ],
                    dtype=kind,
                )
                for name, by in zip(self.columns, (Fraction(0), width), strict=True)
            ],
        )

    def parameters(self) -> dict[str, Any]:
        return {}

    def check_fits(self, domain: Domain) -> None:
        if domain.type != "numeric":
            raise SchemaError(
                f"column {self.name!r} is {domain.type} and its hierarchy is in bands of numbers;"
                " declare it numeric, or give it a tree."
            )
        if max(self._widths) > _WHOLE:
            raise SchemaError(
                f"column {self.name!r} has bands wider than 2^53, whose ends no float tells; make them"
                " narrower."
            )
        ends = domain.values.drop_nulls()[[0, -1]].to_list() if domain.values.count() else []
        narrowest = min(self._widths)
        most = Fraction(_WHOLE)
        if not self._are_whole:
            most = min(most, narrowest * _STEPS)
        if any(abs(Fraction(str(end))) >= most for end in ends):
            # of which a table in floats has others, and whose bands have one end
            raise SchemaError(
                f"column {self.name!r} holds numbers beyond {float(most):g}, of which floats hold too few"
                " for its bands; make them missing, or widen the bands."
            )


def axis_of(name: str, declared: Any, hierarchy: Hierarchy | None) -> Axis:
    """The axis of one attribute, by what the plan declares of it; PlanError where that makes no
    recoding.
    """
    if not (declared is None or isinstance(declared, int | Mapping)):
        raise PlanError(
            f"[method.scheme] {name} = {declared!r} is no recoding; give a level, or a range such"
            " as { low = 0, high = 100, width = 10 }."
        )
    if isinstance(declared, Mapping) and declared.keys() - {"level"}:
        if hierarchy is not None:
            raise PlanError(
                f"[method.scheme] {name} has a range, and the column has a hierarchy too; keep one"
                " of them."
            )
        return _grid(name, declared)
    if isinstance(hierarchy, Bands):
        return Banded(name, hierarchy)
    if hierarchy is None:
        return Nodes(name)
    return Nodes(name, hierarchy, hierarchy.ancestors(pl.Series([], dtype=pl.String)).width)


def _grid(name: str, declared: Mapping[str, Any]) -> Grid:
    for key in declared:
        if key not in _KEYS:
            raise PlanError(
                f"[method.scheme] {name} has an unknown key"
                f" {key!r}{did_you_mean(key, _KEYS) or '; it takes ' + ', '.join(_KEYS) + '.'}"
            )
    if ("width" in declared) == ("widths" in declared) or not {"low", "high"} <= declared.keys():
        raise PlanError(
            f"[method.scheme] {name} needs low, high, and either width or widths; complete it, as"
            " in { low = 0, high = 100, width = 10 }."
        )
    low, high = declared["low"], declared["high"]
    widths = declared["widths"] if "widths" in declared else [declared["width"]]
    if type(low) is not type(high) and date in (type(low), type(high)):
        raise PlanError(
            f"[method.scheme] {name} has a date at one end and a number at the other; give two"
            " dates or two numbers."
        )
    if not isinstance(widths, list | tuple) or not widths:
        raise PlanError(
            f"[method.scheme] {name} has widths = {widths!r}; give a list such as [5, 10, 20]."
        )
    try:
        ends, steps = [_number(x) for x in (low, high)], [_number(w) for w in widths]
    except (TypeError, ValueError, OverflowError):
        raise PlanError(
            f"[method.scheme] {name} has an end or a width that is no number; write dates without"
            " quotes, as low = 2015-01-01, and widths in days."
        ) from None
    if not ends[0] < ends[1]:
        raise PlanError(
            f"[method.scheme] {name} has low = {low} and high = {high}; low must be less."
        )
    if steps[0] <= 0 or any(b <= a or b % a for a, b in pairwise(steps)):
        raise PlanError(
            f"[method.scheme] {name} has widths {list(widths)}; each must be a multiple of the one"
            " before, the first above 0."
        )
    if isinstance(low, date) and any(w.denominator != 1 for w in steps):
        raise PlanError(
            f"[method.scheme] {name} holds dates, and its widths are in days; give whole numbers."
        )
    whole = all(x.denominator == 1 for x in (*ends, *steps))
    farthest = _WHOLE if whole else min(Fraction(_WHOLE), steps[0] * _STEPS)
    if any(abs(end) > farthest for end in ends):
        raise PlanError(
            f"[method.scheme] {name} goes beyond {float(farthest):g}, where floats hold too few numbers"
            " for its cells; write them in another unit."
        )
    if (ends[1] - ends[0]) / steps[0] > MOST_CELLS:
        raise PlanError(
            f"[method.scheme] {name} would have more than {MOST_CELLS} cells; widen the width."
        )
    return Grid(name, low, high, tuple(widths))


def _number(x: Any) -> Fraction:
    """A declared number as written, a date as its day."""
    if isinstance(x, date) and type(x) is date:
        return Fraction(x.toordinal() - date(1970, 1, 1).toordinal())
    if isinstance(x, bool) or not isinstance(x, int | float):
        raise TypeError
    return Fraction(str(x))
