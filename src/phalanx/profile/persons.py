# SPDX-License-Identifier: Apache-2.0
"""Which column says who a row is about, and which says in which wave of a panel it was collected."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from phalanx.profile.columns import ColumnProfile, words
from phalanx.profile.dictionary import (
    A_TIME,
    ANY_SENSITIVE,
    ANY_TIME,
    BESIDE_BIRTH,
    BORN,
    COUNTED,
    DIRECT,
    FREE,
    NUMBER,
    OF_A_SURVEY,
    PERSON,
    PERSON_NUMBERED,
    QUASI,
    SEX,
    WAVE,
)
from phalanx.profile.looks import are_names, is_of_persons

_MOST_WAVES: Final = 200
_SEVERAL_PER_ROW: Final = 0.1
"""So many distinct values per row may name persons, however few they are."""
_FEW: Final = 20
"""Fewer different values than this may be kinds of persons: subjects of a school, sorts of workers."""
_RECURRING: Final = 1.5
"""Persons recur where there are so many rows to each; fewer is what chance does."""
_PAIRS_BY_CHANCE: Final = 10
"""Where so many pairs of equal values are expected within waves, they are not missing by chance."""
_TELLING: Final = 0.9
"""Where more rows have one sex, that two of a kind have it tells nothing."""
_MISTAKEN: Final = 0.05
"""Of so many persons at most it was once written otherwise what never changes."""


def identifier_of(
    columns: Sequence[ColumnProfile], counters: set[str], frame: pl.DataFrame
) -> tuple[str, str] | None:
    """The column that says who a row is about: by a person's name for it, by what recurs as persons
    do, by a number's name, by uniqueness alone. Of ``counters`` the name must say so: they say where
    a row stands. Two persons may have one name, so that names of people are none.
    """

    def named(column: ColumnProfile) -> bool:
        return is_of_persons(frame[column.name]) or are_names(frame[column.name])

    possible = [
        c
        for c in columns
        if c.role == "quasi"
        and not c.missing
        and c.type not in ("date", "set")
        and not (c.type == "categorical" and named(c))
    ]
    alone = not any(c.near_unique for c in possible)
    of_persons = [
        c
        for c in possible
        if _is_called_so(words(c.name))
        and (
            c.distinct > _SEVERAL_PER_ROW * c.rows
            or (
                alone and c.distinct > _FEW and _says_person(c) and words(c.name) & NUMBER - COUNTED
            )
            or _recurs(c, columns, frame)
        )
    ]
    best = max(of_persons, key=lambda c: (_says_person(c), c.distinct), default=None)
    if best is not None and (_says_person(best) or best.distinct < best.rows):
        return best.name, f"its name says that it names persons{_repeats(best)}"
    others = [
        c
        for c in possible
        if not words(c.name) & (QUASI | DIRECT | FREE | OF_A_SURVEY | ANY_SENSITIVE | A_TIME)
        and not frame[c.name].dtype.is_float()
    ]
    if recurring := [c for c in others if _recurs(c, columns, frame)]:
        best = max(recurring, key=lambda c: (bool(words(c.name) & NUMBER), c.distinct))
        return best.name, f"its values recur as persons do{_repeats(best)}"
    if best is not None:
        return best.name, "its name says that it names persons"
    if numbered := [c for c in possible if words(c.name) & NUMBER and c.near_unique]:
        return numbered[0].name, "it is a number for nearly every row"
    unique = [c for c in others if c.near_unique and c.distinct == c.rows]
    if unique := [c for c in unique if c.name not in counters]:
        return unique[0].name, "every row has its own value"
    return None


def with_wave(
    columns: Sequence[ColumnProfile], frame: pl.DataFrame, identifier: str
) -> list[ColumnProfile]:
    """The columns, of which one is a panel's wave, in which no person is twice: it is of no row but of
    a release. A year before a month, and the first of several.
    """
    if frame[identifier].n_unique() == frame.height:
        return list(columns)
    possible = [
        c
        for c in columns
        if c.role == "quasi"
        and _may_be_wave(c)
        and not frame.select(identifier, c.name).is_duplicated().any()
    ]
    best = min(possible, key=lambda c: bool(words(c.name) & ANY_TIME), default=None)
    why = "which wave a row is of: persons recur, and each wave is a release of its own"
    return [replace(c, role="wave", reason=why) if c is best else c for c in columns]


def _is_called_so(name: set[str]) -> bool:
    """Whether it is called after a person, or after the number of one, and after nothing else."""
    if name & NUMBER:
        persons = PERSON if name & COUNTED else PERSON_NUMBERED
        return bool(name & persons) and name <= persons | NUMBER
    return bool(name) and name <= PERSON


def _says_person(column: ColumnProfile) -> bool:
    """Whether it is called after a person, and not an "id" alone, which may be one of a row."""
    return bool(words(column.name) & (PERSON_NUMBERED - {"id"}))


def _repeats(column: ColumnProfile) -> str:
    if column.distinct == column.rows:
        return ""
    return (
        f"; {column.rows - column.distinct} rows repeat a person, and a release holds one row per"
        " person"
    )


def _may_be_wave(column: ColumnProfile) -> bool:
    name = words(column.name)
    return bool(
        name & WAVE
        and (not name & ANY_TIME or name <= ANY_TIME | NUMBER)
        and not column.missing
        and 2 <= column.distinct <= _MOST_WAVES
    )


def _recurs(column: ColumnProfile, columns: Sequence[ColumnProfile], frame: pl.DataFrame) -> bool:
    """Whether its values come again as persons do: with the same sex and birth each time, where these
    are told, and in no wave twice, where others would be by chance; of what says that it numbers
    something, the one or the other.
    """
    if column.distinct <= _FEW or column.rows < _RECURRING * column.distinct:
        return False
    waves = [c for c in columns if c is not column and _once_in_each(column, c, frame)]
    numbers = bool(words(column.name) & NUMBER)
    if not waves and not numbers:
        return False
    stays = [
        c.name
        for c in columns
        if c.distinct > 1
        and c.most_frequent <= _TELLING * c.rows
        and words(c.name) & (SEX | BORN)
        and words(c.name) <= SEX | BORN | BESIDE_BIRTH
    ]
    of_each = frame.group_by(column.name).agg(pl.col(stays).n_unique())
    if any(float((of_each[name] > 1).mean() or 0) > _MISTAKEN for name in stays):  # type: ignore[arg-type]
        return False
    if stays and (waves or any(words(name) & BORN for name in stays)):
        return True
    return any(not _counts_in_each(column, wave, frame) for wave in waves)


def _counts_in_each(column: ColumnProfile, wave: ColumnProfile, frame: pl.DataFrame) -> bool:
    """Whether it goes from the same number on without a gap in waves of different sizes, as what counts
    the rows of each does, of persons some would leave; or from row to row in each.
    """
    if not frame[column.name].dtype.is_integer():
        return False
    name = pl.col(column.name)
    of = frame.group_by(wave.name).agg(name.min().alias("low"), name.max().alias("high"), pl.len())
    even = of.select((pl.col("high") - pl.col("low") + 1 == pl.col("len")).all()).item()
    if not even or of["low"].n_unique() > 1:
        return False
    steps = frame[column.name].cast(pl.Int128).diff()
    return of["len"].n_unique() > 1 or int((steps == 1).sum()) == frame.height - of.height


def _once_in_each(column: ColumnProfile, wave: ColumnProfile, frame: pl.DataFrame) -> bool:
    """Whether no value comes twice in a wave, although so many would by chance."""
    if (
        not _may_be_wave(wave)
        or column.most_frequent > wave.distinct
        or words(wave.name) & ANY_TIME
    ):
        return False
    sizes = frame[wave.name].value_counts()["count"].cast(pl.Float64)
    pairs = float((sizes * (sizes - 1)).sum()) / 2
    return (
        pairs >= _PAIRS_BY_CHANCE * column.distinct
        and not frame.select(column.name, wave.name).is_duplicated().any()
    )


__all__ = ["identifier_of", "with_wave"]
