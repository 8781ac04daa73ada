# SPDX-License-Identifier: Apache-2.0
"""The answer to a query: hard bounds, a point estimate, and where there is an honest one, an
interval.
"""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, Final

import polars as pl

from phalanx.errors import ReleaseError

LEVEL = 0.95
"""How often a model's interval is to hold the truth, at least."""
_DIGITS: Final = Context(prec=40)
"""More than any float has that is no whole number, from its first to the fourth behind."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One figure that was asked for, of the table behind the release."""

    low: float | None
    """By construction of the release the truth is not below it; None where nothing bounds it."""
    high: float | None
    """By construction of the release the truth is not above it; None where nothing bounds it."""
    published: tuple[float, float] | None
    """The same bounds of the published rows alone, without rows that were suppressed or not
    sampled; None where nothing bounds them.
    """
    estimate: float | None
    """What is most plausible: right on average only as far as the model holds. None where there is
    no row.
    """
    interval: tuple[float, float] | None
    """Where the truth lies if the model's error is as it was measured on other tables; None where
    no such figure was found to hold.
    """
    values: Mapping[str, Any]
    """The values of the attributes that the query groups by; empty for others."""

    def to_json(self) -> dict[str, Any]:
        """Stable keys: low, high, published, estimate, interval, values."""
        pairs = {
            name: None if (pair := getattr(self, name)) is None else list(pair)
            for name in ("published", "interval")
        }
        return {
            "low": self.low,
            "high": self.high,
            **pairs,
            "estimate": self.estimate,
            "values": {name: _in_json(value) for name, value in self.values.items()},
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Estimate:
    """What a release tells of a query. ``low`` and ``high`` hold by construction; ``estimate`` and
    ``interval`` are a model's.

    Hard bounds need no belief: they are the rows that surely are in, and those that possibly are.
    The interval is labelled ``model`` since it follows from how large the model's errors were on
    other tables; on yours they may be larger.
    """

    query: str
    by: tuple[str, ...]
    figures: tuple[Figures, ...]
    """One for each group, in order; one alone where the query groups by nothing."""
    model: str
    """How the point estimate is made, in a few words."""
    notes: tuple[str, ...]
    """What the figures leave out, and why figures are missing."""
    weight: str | None = None
    """The survey weights that rows count by; None where each counts once."""

    @property
    def _only(self) -> Figures:
        if self.by:
            raise ReleaseError(
                f"the query {self.query!r} has an answer for each of {len(self.figures)} groups;"
                " look at figures, or at table."
            )
        return self.figures[0]

    @property
    def low(self) -> float | None:
        """The lower hard bound of a query without groups."""
        return self._only.low

    @property
    def high(self) -> float | None:
        """The upper hard bound of a query without groups."""
        return self._only.high

    @property
    def estimate(self) -> float | None:
        """The point estimate of a query without groups."""
        return self._only.estimate

    @property
    def interval(self) -> tuple[float, float] | None:
        """The model's interval of a query without groups."""
        return self._only.interval

    @property
    def table(self) -> pl.DataFrame:
        """The figures as a frame, one row for each group: its values, and low, high, estimate,
        model_low, model_high; one of these by whose name is grouped has ``_`` after it.
        """
        names = [
            name + "_" * (1 + max(map(len, self.by))) * (name in self.by)
            for name in ("low", "high", "estimate", "model_low", "model_high")
        ]
        rows = [
            {**f.values}
            | dict(
                zip(names, (f.low, f.high, f.estimate, *(f.interval or (None, None))), strict=True)
            )
            for f in self.figures
        ]
        columns = dict.fromkeys(names, pl.Float64)
        if not rows:
            return pl.DataFrame(schema={**dict.fromkeys(self.by, pl.String), **columns})
        return pl.DataFrame(rows, schema_overrides=columns, infer_schema_length=None)

    def to_json(self) -> dict[str, Any]:
        """Stable keys: query, by, level, model, figures (each low, high, published, interval,
        estimate, values), notes, weight.
        """
        figures = [f.to_json() for f in self.figures]
        return {
            "query": self.query,
            "by": list(self.by),
            "level": LEVEL,
            "model": self.model,
            "figures": figures,
            "notes": list(self.notes),
            "weight": self.weight,
        }

    def lines(self) -> list[list[str]]:
        """The figures as text: the groups' values, then bounds, estimate and interval."""
        return [
            [
                *("missing" if v is None else str(v) for v in f.values.values()),
                between(f.low, f.high),
                shown(f.estimate),
                span(f.interval),
            ]
            for f in self.figures
        ]

    def __repr__(self) -> str:
        if self.by:
            return f"<Estimate of {self.query}: {len(self.figures)} groups; look at .table>"
        bounds, estimate, interval = self.lines()[0]
        return f"<Estimate of {self.query}: {estimate} (model: {interval}), certainly {bounds}>"

    def _repr_html_(self) -> str:
        header = "".join(
            f"<th>{html.escape(name)}</th>"
            for name in (*self.by, "certainly", "estimate", f"{LEVEL:.0%} interval (model)")
        )
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.lines()
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<table><caption>{html.escape(self.query)}</caption><tr>{header}</tr>{rows}</table>{notes}"


def _in_json(value: Any) -> Any:
    """A value of a group; as text where it is an infinity, which JSON does not have."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def shown(figure: float | None) -> str:
    """A figure with the digits that say something.

    >>> shown(1234.56), shown(0.12345), shown(None)
    ('1,235', '0.1235', 'none')
    """
    if figure is None:
        return "none"
    if figure == int(figure):
        return f"{int(figure):,}"
    return f"{figure:,.0f}" if abs(figure) >= 1000 else f"{figure:.4g}"


def between(low: float | None, high: float | None) -> str:
    """Hard bounds in words, the low one rounded down and the high one up.

    >>> between(3, 7), between(3, None), between(None, None), between(2.00001, 2.99999)
    ('3 to 7', 'at least 3', 'no bounds', '2 to 3')
    """
    least, most = (None if x is None else _outward(x, sign) for x, sign in ((low, -1), (high, 1)))
    if least is None:
        return "no bounds" if most is None else f"at most {most}"
    return f"at least {least}" if most is None else f"{least} to {most}"


def _outward(figure: float, sign: int) -> str:
    """Four digits at least, and all of a whole number, rounded down or up."""
    if figure == int(figure):
        return f"{int(figure):,}"
    number = Decimal(repr(float(figure)))
    unit = Decimal(1).scaleb(min(0, number.adjusted() - 3))
    rounded = number.quantize(unit, ROUND_CEILING if sign > 0 else ROUND_FLOOR, _DIGITS).normalize()
    return f"{rounded:e}" if rounded and rounded.adjusted() < -4 else f"{rounded:,f}"


def span(interval: Sequence[float] | None) -> str:
    """A model's interval in words."""
    return "none" if interval is None else f"{shown(interval[0])} to {shown(interval[1])}"
