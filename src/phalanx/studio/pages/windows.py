# SPDX-License-Identifier: Apache-2.0
"""What several pages show of a table: some rows of it, as text, and a chart of one attribute."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from phalanx.errors import PlanError

ROWS: Final = 20
"""So many rows stand on a page at a time."""
_LONGEST: Final = 80
_BINS: Final = 12


def number(query: Mapping[str, str], name: str, least: int, most: int) -> int:
    """A whole number of the address, moved between its bounds; PlanError where it is none."""
    text = query.get(name, str(least))
    if not re.fullmatch(r"-?[0-9]{1,17}", text):
        raise PlanError(f"{name} is a whole number; correct it.")
    return max(least, min(int(text), max(least, most)))


def decimal(text: str) -> str:
    """A number as it is reckoned with: a comma that cannot part thousands is taken for a point.

    >>> decimal("0,125"), decimal("2,5"), decimal("1,000"), decimal("1/6")
    ('0.125', '2.5', '1,000', '1/6')
    """
    comma = re.fullmatch(r"0,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})", text)
    return text.replace(",", ".") if comma else text


def rows(frame: pl.DataFrame, query: Mapping[str, str], columns: Sequence[str]) -> dict[str, Any]:
    """A window of rows as text; ``from`` of the address is the first one, counted from 1."""
    first = number(query, "from", 1, max(1, frame.height - ROWS + 1))
    window = [frame.get_column(name).slice(first - 1, ROWS).to_list() for name in columns]
    shown = [[text(value) for value in row] for row in zip(*window, strict=True)]
    return {
        "first": first,
        "last": first + len(shown) - 1,
        "of": frame.height,
        "window": ROWS,
        "columns": list(columns),
        "rows": shown,
    }


def text(value: Any) -> str | None:
    """A value as a cell shows it; None for a missing one."""
    if value is None or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN
        return None
    shown = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"


def bars(values: pl.Series, like: pl.Series) -> tuple[list[str], list[int]]:
    """How often values fall into the bins that ``like`` has: intervals of equal width of numbers
    and days, of which infinite ones have none, else its most frequent values; what is in no bin of
    them is counted as other.
    """
    if like.dtype.is_numeric() or like.dtype.is_temporal():
        return _intervals(values, like)
    most = like.cast(pl.String).alias("value").value_counts(sort=True)
    names = [n for n in most["value"].head(_BINS).to_list() if n is not None]
    counts = dict(values.cast(pl.String).alias("value").value_counts().iter_rows())
    heights = [counts.get(name, 0) for name in names]
    labels = [str(text(name)) for name in names]
    rest = len(values) - sum(heights)
    return (
        ([*labels, "other"], [*heights, rest])
        if rest or most.height > len(names)
        else (labels, heights)
    )


def _intervals(values: pl.Series, like: pl.Series) -> tuple[list[str], list[int]]:
    days = like.dtype.is_temporal()
    numbers = like.cast(pl.Date).to_physical() if days else like
    other = values.cast(pl.Date).to_physical() if days else values
    numbers, other = (s.cast(pl.Float64, strict=False) for s in (numbers, other))
    numbers, other = (s.filter(s.is_finite().fill_null(value=False)) for s in (numbers, other))
    if not len(numbers):
        return [], []
    low, high = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
    if like.dtype.is_integer():  # bins that begin at whole numbers
        width = float(math.ceil((high - low + 1) / _BINS))
        count = int((high - low) // width) + 1
    else:
        count, width = _BINS, (high - low) / _BINS or 1.0
    place = ((other - low) / width).floor().clip(0, count - 1).cast(pl.Int64)
    count_of = dict(place.alias("bin").value_counts().iter_rows())
    ends = [low + i * width for i in range(count)]
    if days:
        labels = [str(d)[:7] for d in pl.Series(ends).cast(pl.Int32).cast(pl.Date)]
    else:
        labels = [f"{end:.0f}" if like.dtype.is_integer() else f"{end:.4g}" for end in ends]
    return labels, [int(count_of.get(i, 0)) for i in range(count)]
