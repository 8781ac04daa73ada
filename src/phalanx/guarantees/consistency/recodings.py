# SPDX-License-Identifier: Apache-2.0
"""What a published scheme declares of one attribute, read without its makers: which cells are its
own, and which values lie in a cell.

A cell is what the attribute's columns say in one row. Where no level is declared, as in a
partition, a cell may be of any level, or many cells of the finest grid side by side.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, ClassVar, Final, Protocol

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Ints
from phalanx.data.domain import Domain
from phalanx.data.hierarchies.hierarchy import Bands, Hierarchy, Prefix, Tree
from phalanx.errors import ReleaseError
from phalanx.guarantees.views.hierarchies import hierarchy_of
from phalanx.release.manifest import PublishedAttribute

Spans = tuple[Ints, Ints]
"""The first and the last of something that each cell holds; where it holds nothing, the first is
above the last.
"""

_TOP: Final = "*"
_FAR: Final = 1 << 60
"""A place beyond all others."""


class Recoding(Protocol):
    """How one attribute is recoded. ``cells`` are different ones, a row each, in the attribute's
    columns.
    """

    @property
    def name(self) -> str:
        """The attribute."""

    @property
    def type(self) -> str:
        """What its values are."""

    @property
    def columns(self) -> list[str]:
        """The columns in which it stands."""

    @property
    def dtype(self) -> pl.DataType:
        """What they hold."""

    def declared(self, cells: pl.DataFrame) -> Bools:
        """Which of the cells are those of the scheme."""

    def codes(self, cells: pl.DataFrame, domain: Domain) -> Spans:
        """The codes of a domain that lie in each cell."""

    def places(self, cells: pl.DataFrame) -> Spans:
        """Where declared cells lie on a line; two have a place in common just where some value may
        lie in both.
        """


def recoding_of(attribute: PublishedAttribute, entry: Any, *, free: bool) -> Recoding:
    """The recoding that a manifest's scheme declares of an attribute, where ``free`` perhaps
    without a level; ReleaseError where it declares none.
    """
    try:
        recoding, lowest, top = _read(attribute, entry)
        level = entry.get("level")
        leveled = isinstance(level, int) and not isinstance(level, bool) and lowest <= level <= top
        if attribute.columns == recoding.columns and (
            leveled or (level is None and free and "level" not in entry)
        ):
            return recoding
    except (AttributeError, TypeError, ValueError, KeyError, OverflowError):
        pass
    raise ReleaseError(
        f"the scheme in the manifest declares no recoding of {attribute.name!r} that Phalanx knows;"
        " ask the publisher for the folder again."
    )


def _read(attribute: PublishedAttribute, entry: Mapping[str, Any]) -> tuple[Recoding, int, int]:
    """The recoding of an entry, its finest level and its top."""
    hierarchy = (
        None if attribute.hierarchy is None else hierarchy_of(attribute.hierarchy, attribute.name)
    )
    level, ranged = entry.get("level"), entry.keys() - {"level"}
    if (
        ranged == {"low", "high", "widths"}
        and hierarchy is None
        and attribute.type in ("numeric", "date")
    ):
        low, high = (_number(entry[end], attribute.type) for end in ("low", "high"))
        widths = tuple(_number(width, "numeric") for width in entry["widths"])
        if low < high and _nested(widths):
            return (
                Range(attribute.name, attribute.type == "date", low, high, widths, level),
                0,
                len(widths),
            )
    elif not ranged and isinstance(hierarchy, Bands) and attribute.type == "numeric":
        widths = tuple(_number(width, "numeric") for width in hierarchy.widths)
        return Banded(attribute.name, widths, level), 1, len(widths) + 1
    elif not ranged and not isinstance(hierarchy, Bands) and attribute.type == "categorical":
        nodes = Nodes(attribute.name, hierarchy, level)
        return nodes, 0, nodes.top
    raise ValueError


def _number(written: Any, kind: str) -> Fraction:
    """A number of a manifest as written, or the day that it names."""
    if kind == "date":
        return Fraction((date.fromisoformat(written) - date(1970, 1, 1)).days)
    if isinstance(written, bool) or not isinstance(written, int | float):
        raise TypeError
    return Fraction(str(written))


def _nested(widths: tuple[Fraction, ...]) -> bool:
    """Whether each width is a multiple of the one before."""
    return (
        bool(widths)
        and widths[0] > 0
        and all(wide > narrow and wide % narrow == 0 for narrow, wide in itertools.pairwise(widths))
    )


@dataclass(frozen=True)
class Range:
    """Numbers or days in cells of equal width from ``low`` on, the last of which ends at ``high``;
    values beyond are in the end cells.

    The top level is one cell, the whole range, and holds missing values too; they are null below
    it.
    """

    name: str
    days: bool
    low: Fraction
    high: Fraction
    widths: tuple[Fraction, ...]
    level: int | None

    @property
    def type(self) -> str:
        return "date" if self.days else "numeric"

    @property
    def columns(self) -> list[str]:
        return [f"{self.name}_low", f"{self.name}_high"]

    @property
    def dtype(self) -> pl.DataType:
        return pl.Date() if self.days else pl.Int64() if self._whole else pl.Float64()

    @property
    def _whole(self) -> bool:
        return all(x.denominator == 1 for x in (self.low, self.high, *self.widths))

    @property
    def _width(self) -> Fraction:
        """Of the declared cells, or of the finest."""
        return (*self.widths, self.high - self.low)[self.level or 0]

    @property
    def _count(self) -> int:
        return -int((self.low - self.high) // self._width)

    def declared(self, cells: pl.DataFrame) -> Bools:
        first, last = self._edges(cells)
        missing = _missing(cells) & (self.level != len(self.widths))
        apart = last > first if self.level is None else last == first + 1
        return np.asarray(missing | ((first >= 0) & apart), dtype=bool)

    def codes(self, cells: pl.DataFrame, domain: Domain) -> Spans:
        lowest, (first, last) = int(domain.has_missing), _codes_between(cells, domain)
        first = np.where(_is(cells[self.columns[0]], self.low), lowest, first)
        last = np.where(_is(cells[self.columns[1]], self.high), len(domain) - 1, last)
        return np.where(self._is_top(cells), 0, first), last

    def places(self, cells: pl.DataFrame) -> Spans:
        first, last = self._edges(cells)
        missing, top = _missing(cells), self._is_top(cells)
        return np.where(missing | top, -1, first), np.where(missing, -1, last - 1)

    def _is_top(self, cells: pl.DataFrame) -> Bools:
        """Which cells are the whole range at the top, where missing values are too."""
        if self.level not in (None, len(self.widths)):
            return np.zeros(cells.height, dtype=bool)
        return np.asarray(
            _is(cells[self.columns[0]], self.low) & _is(cells[self.columns[1]], self.high),
            dtype=bool,
        )

    def _edges(self, cells: pl.DataFrame) -> Spans:
        """Which edge of the grid each end is, -1 for none."""
        first, last = (
            np.array([self._edge(end) for end in cells[c].to_physical().to_list()], dtype=np.int64)
            for c in self.columns
        )
        return first, last

    def _edge(self, end: Any) -> int:
        if end is None:
            return -1
        at = (
            self._count
            if end == _said(self.high)
            else round((Fraction(end) - self.low) / self._width)
        )
        return (
            at
            if 0 <= at <= self._count and end == _said(min(self.low + at * self._width, self.high))
            else -1
        )


@dataclass(frozen=True)
class Banded:
    """Numbers in the bands of a hierarchy, which are aligned at zero; all are null at the top, and
    missing ones at all levels.
    """

    type: ClassVar[str] = "numeric"
    name: str
    widths: tuple[Fraction, ...]
    level: int | None

    @property
    def columns(self) -> list[str]:
        return [f"{self.name}_low", f"{self.name}_high"]

    @property
    def dtype(self) -> pl.DataType:
        return pl.Int64() if all(x.denominator == 1 for x in self.widths) else pl.Float64()

    def declared(self, cells: pl.DataFrame) -> Bools:
        widths = self.widths if self.level is None else self.widths[self.level - 1 : self.level]
        bands = [any(_is_band(low, high, width) for width in widths) for low, high in cells.rows()]
        return np.asarray(_missing(cells) | np.array(bands, dtype=bool), dtype=bool)

    def codes(self, cells: pl.DataFrame, domain: Domain) -> Spans:
        first, last = _codes_between(cells, domain)
        return first, np.where(self._is_top(cells), len(domain) - 1, last)

    def places(self, cells: pl.DataFrame) -> Spans:
        top, finest = self._is_top(cells), self.widths[0]
        first, last = (
            [_FAR if end is None else round(Fraction(end) / finest) for end in cells[c].to_list()]
            for c in self.columns
        )
        return np.where(top, -_FAR, np.array(first, dtype=np.int64)), np.where(
            top, _FAR, np.array(last, dtype=np.int64) - 1
        )

    def _is_top(self, cells: pl.DataFrame) -> Bools:
        return np.asarray(
            _missing(cells) & (self.level in (None, len(self.widths) + 1)), dtype=bool
        )


@dataclass(frozen=True)
class Nodes:
    """Texts as the nodes of a hierarchy; without one, as they are (level 0) or as ``*`` (level 1).
    Missing values are null below the top.
    """

    type: ClassVar[str] = "categorical"
    name: str
    hierarchy: Hierarchy | None
    level: int | None

    @property
    def columns(self) -> list[str]:
        return [self.name]

    @property
    def dtype(self) -> pl.DataType:
        return pl.String()

    @property
    def top(self) -> int:
        """The level at which all values are one."""
        return (
            1
            if self.hierarchy is None
            else self.hierarchy.ancestors(pl.Series([], dtype=pl.String)).width - 1
        )

    @property
    def _levels(self) -> list[int]:
        """The levels that a node may be of."""
        return list(range(self.top + 1)) if self.level is None else [self.level]

    def declared(self, cells: pl.DataFrame) -> Bools:
        nodes = cells[self.name]
        declared_nodes = nodes.is_null().to_numpy() & (self.level != self.top)
        for level in self._levels:
            declared_nodes = (
                declared_nodes | self._of_level(nodes, level).fill_null(value=False).to_numpy()
            )
        return declared_nodes

    def _of_level(self, nodes: pl.Series, level: int) -> pl.Series:
        """Which of the texts are nodes of a level. A code whose kept part ends in a star is of a
        level above.
        """
        if level == self.top:
            return nodes == _TOP
        if isinstance(self.hierarchy, Tree):
            return nodes.is_in(
                pl.Series(
                    list({path[level] for path in self.hierarchy.paths}), dtype=pl.String
                ).implode()
            )
        if isinstance(self.hierarchy, Prefix):
            full, kept = self.hierarchy.lengths[0], self.hierarchy.lengths[level]
            of_length = (nodes.str.len_chars() == full) & (
                nodes.str.slice(kept) == "*" * (full - kept)
            )
            return of_length & (nodes.str.slice(kept - 1, 1) != "*")
        return nodes != _TOP

    def codes(self, cells: pl.DataFrame, domain: Domain) -> Spans:
        """ReleaseError where the values of a node do not stand side by side in the domain, which is
        ordered by another hierarchy then.
        """
        lowest, code = int(domain.has_missing), np.arange(len(domain), dtype=np.int64)
        values = domain.values[lowest:].cast(pl.String)
        of_level = [
            pl.DataFrame({"node": self._labels(values, level), "code": code[lowest:]})
            for level in self._levels
            if level < self.top
        ]
        code_of_node = pl.concat(
            [
                *of_level,
                pl.DataFrame(
                    {"node": pl.Series([None] * lowest, dtype=pl.String), "code": code[:lowest]}
                ),
            ]
        ).unique()
        spans = code_of_node.group_by("node").agg(
            pl.col("code").min().alias("first"),
            pl.col("code").max().alias("last"),
            pl.len().alias("held"),
        )
        if (spans["last"] - spans["first"] + 1 != spans["held"]).any():
            raise ReleaseError(
                f"{self.name!r} has another hierarchy in the original table than in the release;"
                " take the plan that it was published by."
            )
        ends = cells.select(pl.col(self.name).alias("node")).join(
            spans, on="node", how="left", nulls_equal=True, maintain_order="left"
        )
        top = (ends["node"] == _TOP).fill_null(value=False).to_numpy() & (self.top in self._levels)
        first, last = ends["first"].fill_null(1).to_numpy(), ends["last"].fill_null(0).to_numpy()
        return np.where(top, 0, first), np.where(top, len(domain) - 1, last)

    def _labels(self, values: pl.Series, level: int) -> pl.Series:
        """The node above each value at a level; null for a value that the hierarchy does not
        know.
        """
        if isinstance(self.hierarchy, Tree):
            above = {path[0]: path[level] for path in self.hierarchy.paths}
            return pl.Series([above.get(value) for value in values.to_list()], dtype=pl.String)
        return values if self.hierarchy is None else self.hierarchy.ancestors(values)[str(level)]

    def places(self, cells: pl.DataFrame) -> Spans:
        nodes = cells[self.name].to_list()
        spans = self._spans([node for node in nodes if node not in (None, _TOP)]) | {
            None: (-1, -1),
            _TOP: (-1, _FAR),
        }
        return np.array([spans[node][0] for node in nodes], dtype=np.int64), np.array(
            [spans[node][1] for node in nodes], dtype=np.int64
        )

    def _spans(self, nodes: list[str]) -> dict[str | None, tuple[int, int]]:
        """The first and last leaf under each node; of codes, the first and last of the given nodes
        that go on like each, in their order.
        """
        if isinstance(self.hierarchy, Tree):
            spans: dict[str | None, tuple[int, int]] = {}
            for leaf, path in enumerate(self.hierarchy.paths):
                for node in path:
                    spans[node] = (spans.get(node, (leaf, leaf))[0], leaf)
            return spans
        kept = {
            node: node.rstrip("*") if isinstance(self.hierarchy, Prefix) else node for node in nodes
        }
        order = sorted(nodes, key=kept.__getitem__)
        if not isinstance(self.hierarchy, Prefix):
            return {node: (at, at) for at, node in enumerate(order)}
        last: dict[str, int] = {}
        for at, node in enumerate(order):
            for length in self.hierarchy.lengths:
                last[node[:length]] = at
        return {node: (at, last[kept[node]]) for at, node in enumerate(order)}


def _said(number: Fraction) -> int | float:
    """A number as it is published."""
    return int(number) if number.denominator == 1 else float(number)


def _is(column: pl.Series, number: Fraction) -> Bools:
    """Where the number stands in a column."""
    return (column.to_physical() == _said(number)).fill_null(value=False).to_numpy()


def _missing(cells: pl.DataFrame) -> Bools:
    """Which cells say nothing."""
    return cells.select(pl.all_horizontal(pl.all().is_null())).to_series().to_numpy()


def _is_band(low: Any, high: Any, width: Fraction) -> bool:
    """Whether two ends are those of a band of a width."""
    if low is None or high is None:
        return False
    at = round(Fraction(low) / width)
    return bool(low == _said(at * width) and high == _said((at + 1) * width))


def _codes_between(cells: pl.DataFrame, domain: Domain) -> Spans:
    """The codes of the values from each low end up to, and without, each high end; those of missing
    values where both are null.
    """
    lowest = int(domain.has_missing)
    values = domain.values[lowest:].to_physical().to_numpy()
    low, high = (
        np.searchsorted(values, cells.to_series(i).to_physical().fill_null(0).to_numpy())
        for i in (0, 1)
    )
    missing = _missing(cells)
    return np.where(missing, 0, low + lowest), np.where(missing, lowest - 1, high - 1 + lowest)
