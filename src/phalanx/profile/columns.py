# SPDX-License-Identifier: Apache-2.0
"""One column of a table, as counts; no values."""

import re
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from phalanx.data import sets
from phalanx.data.column import infer_type
from phalanx.data.schema import Type
from phalanx.errors import SourceError
from phalanx.profile.scales import scale_of

NEAR_UNIQUE: Final = 0.9
UNIQUE_ROWS: Final = 50
"""Below this many rows uniqueness says nothing (as when the table is encoded)."""

_MOST_CODES: Final = 5
"""So many different codes at most stand among numbers."""
_POSTAL: Final = frozenset({"zip", "zipcode", "postcode", "postal", "plz"})


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """One column, as counts; ``role`` is a proposal that errs on the safe side, ``reason`` says
    why.
    """

    name: str
    type: Type
    rows: int
    distinct: int
    """Distinct values, missing not among them; a set is one value."""
    missing: int
    """Rows without a value: null or NaN."""
    most_frequent: int
    """Rows of the most frequent value, a missing one counted as a value; of sets, rows that have
    it.
    """
    near_unique: bool
    """Whether it names people by its mere values: whole numbers or text, nearly as many as rows; in
    sets, values that hardly ever come again.
    """
    prefix: tuple[int, ...] = ()
    """Lengths of a prefix hierarchy for codes of one length, as zip codes are; empty for all
    else.
    """
    scale: tuple[str, ...] = ()
    """Words with an order of their own (months, degrees) where it holds these and no others; the
    words are the scale's, not the table's.
    """
    coded: int = 0
    """Rows with a code in a column of numbers, such as one for "not applicable", which makes it one
    of words.
    """
    of_waves: int | None = None
    """Of a panel's sensitive attribute, the largest m that each wave by itself allows."""
    changing: float | None = None
    """Of a panel's sensitive attribute, the share of the persons who recur whose value changes."""
    role: str = "quasi"
    reason: str = "nothing says that it is harmless"

    @property
    def uniqueness(self) -> float:
        """Distinct values per row."""
        return self.distinct / self.rows

    @property
    def largest_m(self) -> int:
        """The largest m for which no value has more than 1/m of the rows, of any wave where there
        are waves, at most the number of values.
        """
        if self.of_waves is not None:
            return self.of_waves
        return min(self.rows // self.most_frequent, self.distinct + (self.missing > 0))


def words(name: str) -> set[str]:
    """The words of a column's name, small, without digits: ``PatientNbr2`` says patient and nbr."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return {word for word in re.split(r"[^a-z]+", apart.lower()) if word}


def counted(values: pl.Series) -> ColumnProfile:
    """The counts of a column; a date or number in its own order, all else as text."""
    name, rows = values.name, len(values)
    if (seen := _of_sets(values)) is not None:
        return seen
    if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object, pl.Time, pl.Duration):
        blank = ColumnProfile(
            name=name,
            type="categorical",
            rows=rows,
            distinct=rows,
            missing=values.null_count(),
            most_frequent=rows,
            near_unique=False,
        )
        return replace(blank, role="drop", reason="lists, bytes and times cannot be published")
    kind = infer_type(values.dtype)
    values = values.fill_nan(None) if values.dtype.is_float() else values
    if kind == "categorical":
        values = values.cast(pl.String)
    counts = values.alias("value").value_counts()
    missing = values.null_count()
    distinct = counts.height - (missing > 0)
    discrete = values.dtype.is_integer() or values.dtype == pl.String
    return ColumnProfile(
        name=name,
        type=kind,
        rows=rows,
        distinct=distinct,
        missing=missing,
        most_frequent=int(counts["count"].max()),  # type: ignore[arg-type]
        near_unique=discrete and rows >= UNIQUE_ROWS and distinct > NEAR_UNIQUE * rows,
        prefix=_prefix(values) if words(name) & _POSTAL and discrete else (),
        scale=scale_of(values),
        coded=_coded(values) if values.dtype == pl.String else 0,
    )


def _of_sets(values: pl.Series) -> ColumnProfile | None:
    """The counts of lists, and of texts of which most hold a semicolon and whose parts come again,
    as those of prose do not; None for other columns.
    """
    texts = (
        values.dtype == pl.String
        and 2 * int(values.str.contains(";", literal=True).sum())
        > len(values) - values.null_count()
    )
    if not texts and not sets.holds_sets(values.dtype):
        return None
    try:
        member_values, counts = (
            sets.members(values)["value"],
            sets.canonical(values).alias("value").value_counts(),
        )
    except SourceError:  # its lists hold what cannot be published
        return None
    rare = 2 * member_values.n_unique() > len(member_values)
    if texts and rare:
        return None
    rows, missing = len(values), values.null_count()
    return ColumnProfile(
        name=values.name,
        type="set",
        rows=rows,
        distinct=counts.height - (missing > 0),
        missing=missing,
        most_frequent=max(member_values.value_counts()["count"].to_list(), default=rows),
        near_unique=rare and rows >= UNIQUE_ROWS,
    )


def _coded(texts: pl.Series) -> int:
    """How many texts are none of the numbers that most are; 0 where they are of many kinds."""
    others = texts.filter(texts.is_not_null() & texts.cast(pl.Float64, strict=False).is_null())
    few = 2 * len(others) < len(texts) - texts.null_count() and others.n_unique() <= _MOST_CODES
    return len(others) if few else 0


def _prefix(values: pl.Series) -> tuple[int, ...]:
    lengths = values.drop_nulls().cast(pl.String).str.len_chars().unique().to_list()
    if len(lengths) != 1 or not 3 <= lengths[0] <= 10:
        return ()
    return (*range(lengths[0], 1, -1), 0)
