# SPDX-License-Identifier: Apache-2.0
"""What a table looks like: types, distinct counts, uniqueness and the likely role of every column.
Counts only, never values.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from phalanx.data.not_applicable import is_listed
from phalanx.errors import SourceError
from phalanx.profile.columns import ColumnProfile, counted, is_known, words
from phalanx.profile.dictionary import CODES, LIVING_TOGETHER, OF_HOUSEHOLDS
from phalanx.profile.households import cover
from phalanx.profile.leaving_out import KNOWN, OWN, TOGETHER, WEIGHS, few, why_left_out
from phalanx.profile.looks import like_dates
from phalanx.profile.persons import identifier_of, with_wave
from phalanx.profile.proposal import propose_plan
from phalanx.profile.sensitive import sensitive_of

__all__ = ["ColumnProfile", "profile", "propose_plan"]

_COUNTS: Final = "it counts the rows, and in another table the same number may be another person"
_NO_DATES: Final = (
    "it looks like dates and is text, as some are none or all are written otherwise: write"
    " 2026-01-31, or 31.01.2026"
)
_FEW_SAME: Final = 20
"""Attributes of fewer rows to a value than this may go together by chance."""
_BY_CHANCE: Final = 1_000
"""Numbers of fewer rows than this may go up by the same, other than one, by chance."""


def profile(
    frame: pl.DataFrame, *, not_applicable: Sequence[str | int | float] | None = None
) -> list[ColumnProfile]:
    """Profile every column and propose one role for each; SourceError where the table has no rows.

    ``not_applicable`` are values that say that a person has none, of whom that is public: what is
    sensitive is chosen and counted without them, and SourceError if it holds none of them.

    Roles: at most one identifier, one sensitive attribute, one survey weight, and one wave of a
    panel; columns that
    name people directly, free text, second near-unique columns, and what is missing in most rows
    are dropped. What others are known to know is a quasi-identifier, and so is whatever is not known to
    be harmless where there are fewer than three of these; else it is left out, since every further
    attribute widens the intervals of all.

    >>> [c.role for c in profile(pl.DataFrame({"patient": [1, 2, 3], "age": [30, 30, 41], "disease": ["a", "b", "c"]}))]
    ['identifier', 'quasi', 'sensitive']
    """
    if frame.height == 0:
        raise SourceError("the table has no rows; there is nothing to profile.")
    if frame.width == 0:
        raise SourceError("the table has no columns; there is nothing to profile.")
    if _named_by_a_row(frame):
        raise SourceError(
            "the names of the columns look like the first row of the table, and names are"
            " published; put a line of names above it."
        )
    seen = [counted(column, not_applicable) for column in frame.get_columns()]
    counters = {c.name for c in frame.get_columns() if _counts_rows(c)}
    identifier = identifier_of(seen, counters, frame)
    roles = [
        (
            replace(c, role="identifier", reason=identifier[1])
            if identifier and c.name == identifier[0]
            else c
        )
        for c in seen
    ]
    roles = [_dropped(c, frame[c.name]) if c.role == "quasi" else c for c in roles]
    roles = [
        replace(c, reason=_COUNTS) if c.reason == OWN and c.name in counters else c for c in roles
    ]
    roles = _weighing(with_wave(roles, frame, identifier[0]) if identifier else roles, frame)
    roles = [
        replace(c, reason=KNOWN) if c.role == "quasi" and is_known(c.name) else c for c in roles
    ]
    sensitive = sensitive_of(roles)
    roles = [
        (
            replace(c, role="sensitive", reason=sensitive[1])
            if sensitive and c.name == sensitive[0]
            else c
        )
        for c in roles
    ]
    if not_applicable and not any(c.not_applicable for c in roles if c.role == "sensitive"):
        raise SourceError(
            f"no attribute that may be sensitive holds {' or '.join(map(repr, not_applicable))};"
            " correct --not-applicable, or leave it out."
        )
    if identifier and (wave := next((c.name for c in roles if c.role == "wave"), None)):
        roles = [
            _over_waves(c, frame, identifier[0], wave) if c.role == "sensitive" else c
            for c in roles
        ]
    roles = _households(few(_once(roles, frame)), frame)
    roles = [
        replace(c, reason=f"{c.reason}; {_NO_DATES}") if like_dates(frame[c.name]) else c
        for c in roles
    ]
    roles = [
        replace(
            c,
            reason=f"{c.reason}; numbers but for {c.coded} row(s) with a code, which makes them"
            " words: leave these empty at the source",
        )
        if c.coded > c.inapplicable * (c.role == "sensitive") and c.role in ("quasi", "sensitive")
        else c
        for c in roles
    ]
    return [
        (
            replace(c, role="drop", reason="only the sensitive attribute may be a set of values")
            if c.type == "set" and c.role == "quasi"
            else c
        )
        for c in roles
    ]


def _households(columns: list[ColumnProfile], frame: pl.DataFrame) -> list[ColumnProfile]:
    """With how many households are alike; not of a panel, in which each wave has its own."""
    if any(c.role == "wave" for c in columns):
        return columns
    of = next((c for c in columns if c.role == "sensitive"), None)
    values = None if of is None or of.type == "set" else frame[of.name]
    listed = () if of is None else of.not_applicable

    def covered(column: ColumnProfile) -> ColumnProfile:
        alike, shared = cover(frame[column.name], values, listed)
        return replace(column, alike=alike, shared=shared)

    together = [c.reason == TOGETHER and bool(words(c.name) & LIVING_TOGETHER) for c in columns]
    return [covered(c) if so else c for c, so in zip(columns, together, strict=True)]


def _named_by_a_row(frame: pl.DataFrame) -> bool:
    """Whether a first line was taken for names that is a row: no column of numbers or dates is named
    by anything else, half of all columns at least by such or by a value of theirs, and of columns of
    text, where there are some, one by a value; else years and numbers of columns are names.

    >>> _named_by_a_row(pl.DataFrame({"34": [41, 29], "f": ["m", "f"], "angina": ["flu", "flu"]}))
    True
    """
    texts = [column for column in frame.get_columns() if column.dtype == pl.String]
    others = [c for c in frame.get_columns() if c.dtype.is_numeric() or c.dtype.is_temporal()]
    by_value = sum(column.name in column for column in texts)
    if not all(_reads_as(column.name, column.dtype) for column in others) or (
        texts and not by_value
    ):
        return False
    names = [int(c.name) for c in others if c.name.isdecimal()]
    if not texts and names == list(range(names[0], names[0] + frame.width) if names else ()):
        return False
    like = len(others) + by_value
    return like > 1 and 2 * like >= frame.width


def _reads_as(name: str, dtype: pl.DataType) -> bool:
    """Whether a value is written so that it would be read as one of a column, in any way in which a
    file may write numbers and days.
    """
    text = pl.Series([name])
    if dtype.is_numeric():
        plain = text.str.replace(",", ".", literal=True)
        return plain.cast(pl.Float64, strict=False).null_count() == 0
    day = text.str.slice(0, 10)
    return any(
        day.str.to_date(way, strict=False).null_count() == 0 for way in ("%Y-%m-%d", "%d.%m.%Y")
    )


def _counts_rows(values: pl.Series) -> bool:
    """Whether it goes up by the same from row to row, as what programs write beside a table does: by
    one, or by more where rows at equal distances are looked at.
    """
    if not values.dtype.is_integer() or len(values) < 2 or values.has_nulls():
        return False
    steps = values.cast(pl.Int128).diff().drop_nulls()
    even = steps[0] == 1 or (steps[0] > 1 and len(values) > _BY_CHANCE)
    return bool(even and (steps == steps[0]).all())


def _weighing(columns: list[ColumnProfile], frame: pl.DataFrame) -> list[ColumnProfile]:
    """The first survey weight that could be one of rows, and of no replicate sample by its number,
    weighs them; others stay dropped.
    """
    weight = next(
        (
            c.name
            for c in columns
            if c.reason == WEIGHS
            and not words(c.name) & OF_HOUSEHOLDS
            and not (c.name.lower() not in CODES and any(map(str.isdigit, c.name)))
            and frame[c.name].dtype.is_numeric()
            and not c.missing
            and bool(((frame[c.name] > 0) & frame[c.name].is_finite()).all())
        ),
        None,
    )
    why = "a survey weight, which says how many persons of a population a row stands for"
    return [replace(c, role="weight", reason=why) if c.name == weight else c for c in columns]


def _over_waves(
    column: ColumnProfile, frame: pl.DataFrame, identifier: str, wave: str
) -> ColumnProfile:
    """What every wave allows by itself, and for how many of those who recur with a value it changes."""
    allowed = [
        counted(rows[column.name], column.not_applicable).largest_m
        for rows in frame.partition_by(wave)
    ]
    values = pl.col(column.name).n_unique()
    frame = frame.filter(pl.Series(~is_listed(frame[column.name], column.not_applicable)))
    recurring = frame.group_by(identifier).agg(values, pl.len().alias("")).filter(pl.col("") > 1)
    changing = float((recurring[column.name] > 1).mean() or 0)  # type: ignore[arg-type]
    return replace(column, of_waves=min(allowed), changing=changing)


def _once(columns: list[ColumnProfile], frame: pl.DataFrame) -> list[ColumnProfile]:
    """Of two quasi-identifiers that say the same, as a code beside its words, the words, of two texts
    the first, and of two numbers the last: the other only widens all intervals.
    """
    several = [c for c in columns if c.role == "quasi" and _FEW_SAME * c.distinct <= c.rows]
    frame = frame.with_columns(pl.col(pl.Datetime).dt.date())  # as they are counted
    again: dict[str, str] = {}
    for one, other in _compared(several, frame):
        if one.name not in again and other.name not in again:
            pairs = pl.DataFrame([frame[one.name], frame[other.name]]).n_unique()
            if pairs == one.distinct + (one.missing > 0):
                kept, left = (other, one) if one.type == "numeric" else (one, other)
                again[left.name] = f"it says the same as {kept.name!r}"
    return [
        replace(c, role="drop", reason=again[c.name]) if c.name in again else c for c in columns
    ]


def _compared(
    several: Sequence[ColumnProfile], frame: pl.DataFrame
) -> Iterator[tuple[ColumnProfile, ColumnProfile]]:
    """The pairs of columns that may say the same: in each row both have a value that came first in
    the same row.
    """
    as_many = Counter((c.distinct, c.missing) for c in several)
    alike: dict[tuple[int, int], list[ColumnProfile]] = defaultdict(list)
    for c in several:
        if as_many[c.distinct, c.missing] > 1:
            rows = frame[c.name].alias("value").to_frame().with_row_index()
            first = rows.select(pl.col("index").first().over("value")).to_series()
            if first.n_unique() == c.distinct + (c.missing > 0):
                alike[c.missing, hash(first.to_numpy().tobytes())].append(c)
    for columns in alike.values():
        yield from itertools.combinations(columns, 2)


def _dropped(column: ColumnProfile, values: pl.Series) -> ColumnProfile:
    why = why_left_out(column, values)
    return column if why is None else replace(column, role="drop", reason=why)
