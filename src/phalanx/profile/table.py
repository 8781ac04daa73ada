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
from phalanx.profile.columns import UNIQUE_ROWS, ColumnProfile, counted, is_known, words
from phalanx.profile.dictionary import (
    BESIDE_NAME,
    CODES,
    DIRECT,
    FREE,
    HANDLING,
    HOUSEHOLD,
    LIVING_TOGETHER,
    NUMBER,
    NUMBERED,
    OF_A_PERSON,
    OF_A_SAMPLE,
    OF_A_SURVEY,
    OF_HOUSEHOLDS,
    OF_PERSONS,
    PERSON,
    QUASI,
    SENSITIVE,
    SHARE,
    WAVE,
    WEIGHT,
)
from phalanx.profile.households import cover
from phalanx.profile.looks import are_names, is_of_persons
from phalanx.profile.proposal import propose_plan

__all__ = ["ColumnProfile", "profile", "propose_plan"]

_MOST_WAVES: Final = 200
_MOST_TOGETHER: Final = 50
"""So many rows at most have one household's number; what more rows share is an attribute, such as
its size.
"""
TOGETHER: Final = (
    "who lives together: every person is covered alone, and no household as one, unless it is the"
    " cluster of a plan by mondrian"
)
_KNOWN: Final = "others may know it"
_WEIGHS: Final = "a survey weight: it tells people apart, and mondrian alone weighs rows"
_OWN: Final = "nearly every row has its own value"
_COUNTS: Final = "it counts the rows, and in another table the same number may be another person"
_ALONE: Final = "no other attribute is left, and a plan needs one that others may know"
_NO_DATES: Final = (
    "it looks like dates and is text, as some are none or all are written otherwise: write"
    " 2026-01-31, or 31.01.2026"
)
_LIKE_DATES: Final = 0.9
"""Text of which so much is written like dates was meant as dates."""
_ENOUGH: Final = 3
"""So many attributes that others know are enough to propose."""
_FEW_NAMES: Final = 20
"""A column of fewer different values names no person, whatever it is called: whether there is a
telephone, the state of an account.
"""
_SEVERAL_PER_ROW: Final = 0.1
"""An identifier of persons who recur still has at least so many distinct values per row."""
_ENOUGH_M: Final = 5
"""No proposal hides a value among more; of attributes that allow it, the one of fewest values."""
_SECRET_UNIQUENESS: Final = 0.5
"""An attribute with more distinct values per row than this tells people apart, and so cannot be
published as it is.
"""
_FEW_SAME: Final = 20
"""Attributes of fewer rows to a value than this may go together by chance."""
_BY_CHANCE: Final = 1_000
"""Numbers of fewer rows than this may go up by the same, other than one, by chance."""
_FREE_TEXT_LENGTH: Final = 40
_SHORTEST_BY: Final = 6
"""A hobby and a baby are shorter words that end so."""
_SENSITIVE_VALUES: Final = 100
"""Without a name to go by, an attribute of more values than this is more likely known to others (a
place, a date) than a secret.
"""


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
    identifier = _identifier(seen, counters, frame)
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
        replace(c, reason=_COUNTS) if c.reason == _OWN and c.name in counters else c for c in roles
    ]
    roles = _weighing([_wave(c, frame, identifier[0]) if identifier else c for c in roles], frame)
    roles = [
        replace(c, reason=_KNOWN) if c.role == "quasi" and is_known(c.name) else c for c in roles
    ]
    sensitive = _sensitive(roles)
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
    roles = _households(_few(_once(roles, frame)), frame)
    roles = [
        replace(c, reason=f"{c.reason}; {_NO_DATES}") if _like_dates(frame[c.name]) else c
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
    text = pl.Series([name])
    if dtype.is_numeric():
        return text.cast(pl.Float64, strict=False).null_count() == 0
    return text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False).null_count() == 0


def _counts_rows(values: pl.Series) -> bool:
    """Whether it goes up by the same from row to row, as what programs write beside a table does: by
    one, or by more where rows at equal distances are looked at.
    """
    if not values.dtype.is_integer() or len(values) < 2 or values.has_nulls():
        return False
    steps = values.cast(pl.Int128).diff().drop_nulls()
    even = steps[0] == 1 or (steps[0] > 1 and len(values) > _BY_CHANCE)
    return bool(even and (steps == steps[0]).all())


def _identifier(
    columns: list[ColumnProfile], counters: set[str], frame: pl.DataFrame
) -> tuple[str, str] | None:
    """The column that says who a row is about: by a person's name for it, by a number's, by
    uniqueness alone. Of ``counters`` the name must say so: they say where a row stands. Two persons
    may have one name, so that names of people are none.
    """

    def named(column: ColumnProfile) -> bool:
        return is_of_persons(frame[column.name]) or are_names(frame[column.name])

    possible = [
        c
        for c in columns
        if c.role == "quasi"
        and not c.missing
        and c.type not in ("date", "set")
        and c.distinct > _SEVERAL_PER_ROW * c.rows
        and not (c.type == "categorical" and named(c))
    ]
    of_persons = [
        c for c in possible if words(c.name) <= PERSON | NUMBER and words(c.name) & PERSON
    ]
    if of_persons:
        best = max(of_persons, key=lambda c: (bool(words(c.name) & (PERSON - {"id"})), c.distinct))
        return best.name, "its name says that it names persons" + (
            ""
            if best.distinct == best.rows
            else f"; {best.rows - best.distinct} rows repeat a person, and a release holds one row per"
            " person"
        )
    if numbered := [c for c in possible if words(c.name) & NUMBER and c.near_unique]:
        return numbered[0].name, "it is a number for nearly every row"
    if unique := [
        c
        for c in possible
        if c.near_unique
        and c.distinct == c.rows
        and not words(c.name) & (QUASI | DIRECT | FREE | OF_A_SURVEY)
        and c.name not in counters
    ]:
        return unique[0].name, "every row has its own value"
    return None


def _wave(column: ColumnProfile, frame: pl.DataFrame, identifier: str) -> ColumnProfile:
    """A panel's wave, in which no person is twice, is of no row but of a release."""
    of_waves = (
        column.role == "quasi"
        and words(column.name) & WAVE
        and not column.missing
        and 2 <= column.distinct <= _MOST_WAVES
    )
    if (
        not of_waves
        or frame[identifier].n_unique() == frame.height
        or frame.select(identifier, column.name).is_duplicated().any()
    ):
        return column
    return replace(
        column,
        role="wave",
        reason="which wave a row is of: persons recur, and each wave is a release of its own",
    )


def _weighing(columns: list[ColumnProfile], frame: pl.DataFrame) -> list[ColumnProfile]:
    """The first survey weight that could be one of rows, and of no replicate sample by its number,
    weighs them; others stay dropped.
    """
    weight = next(
        (
            c.name
            for c in columns
            if c.reason == _WEIGHS
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


def _few(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Without what is sensitive by its name, and what is of many words of which nothing is known, as
    they may name people; where enough attributes are known to be known, without all of which nothing
    is, as each attribute more widens all others' intervals. An attribute that would be left alone is
    one that others may know.
    """
    enough = sum(c.role == "quasi" and c.reason == _KNOWN for c in columns) >= _ENOUGH
    left = [
        (
            replace(c, role="drop", reason=_unknown(c))
            if c.role == "quasi"
            and c.reason != _KNOWN
            and (enough or _says_sensitive(c) or _has_many_words(c))
            else c
        )
        for c in columns
    ]
    if any(c.role == "quasi" for c in left):
        return left
    quasi = sorted((c for c in columns if c.role == "quasi"), key=lambda c: c.distinct)
    of_one = [c.name for c in quasi]
    of_one += [c.name for c in columns if c.role == "sensitive" and c.type != "set"]
    alone = of_one[0] if of_one else None
    return [replace(c, role="quasi", reason=_ALONE) if c.name == alone else c for c in left]


def _has_many_words(column: ColumnProfile) -> bool:
    return column.type == "categorical" and column.distinct > _FEW_NAMES


def _says_sensitive(column: ColumnProfile) -> bool:
    """Whether its name says that people would not want to be linked with it."""
    name = words(column.name)
    return bool(name & frozenset().union(*SENSITIVE) and not name & SHARE)


def _unknown(column: ColumnProfile) -> str:
    """Why a column is left out of which nothing says that others know it."""
    if not _says_sensitive(column):
        return "nothing says whether others may know it; make it quasi if they may, and only then"
    if column.largest_m < 2:
        return (
            "its name says that it is sensitive, and one value has more than half of the rows: no l"
        )
    return "its name says that it is sensitive, and one attribute can be; choose which"


def _dropped(column: ColumnProfile, values: pl.Series) -> ColumnProfile:
    why = _harm(column, values)
    return column if why is None else replace(column, role="drop", reason=why)


def _harm(column: ColumnProfile, values: pl.Series) -> str | None:
    """Why a column is left out whatever others may know of it; None where nothing says so."""
    name = words(column.name)
    prose = float(values.str.len_chars().mean() or 0) if values.dtype == pl.String else 0  # type: ignore[arg-type]
    reasons = {
        _WEIGHS: (
            name & OF_A_SURVEY
            or (name & WEIGHT and name & OF_A_SAMPLE and column.type == "numeric")
        ),
        TOGETHER: (
            name & HOUSEHOLD
            and name <= HOUSEHOLD | NUMBER
            and column.type in ("numeric", "categorical")
            and column.rows >= UNIQUE_ROWS
            and _MOST_TOGETHER * column.distinct >= column.rows
        ),
        "its name says that it names people": (
            _names_a_person(name)
            or (
                name & (DIRECT if values.dtype != pl.String else DIRECT | OF_PERSONS)
                and (column.distinct > _FEW_NAMES or column.rows < UNIQUE_ROWS)
            )
            or is_of_persons(values)
            or (are_names(values) and not name & (QUASI | HANDLING | frozenset().union(*SENSITIVE)))
        ),
        "it looks like free text": (
            values.dtype == pl.String
            and column.type != "set"
            and (
                (name & FREE and column.distinct > _FEW_NAMES)
                or (column.uniqueness > 0.5 and prose > _FREE_TEXT_LENGTH)
            )
        ),
        "its name says that it numbers something": (
            name & NUMBERED and not is_known(column.name) and column.distinct > _FEW_NAMES
        ),
        "it is missing in most rows": 2 * column.missing > column.rows,
        _OWN: column.near_unique and not is_known(column.name),
    }
    return next((why for why, holds in reasons.items() if holds), None)


def _like_dates(values: pl.Series) -> bool:
    """Whether it is text that looks like dates in a form which is not read as one.

    >>> _like_dates(pl.Series(["02/13/1950", "11/30/1961"])), _like_dates(pl.Series(["1/2", "3"]))
    (True, False)
    """
    if values.dtype != pl.String:
        return False
    like = values.str.contains(r"^\s*[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{2}|[0-9]{4})\s*$").mean()
    return isinstance(like, float) and like >= _LIKE_DATES


def _names_a_person(name: set[str]) -> bool:
    """Whether it says what a person is called, however many are called so."""
    return bool(name & OF_A_PERSON or ("name" in name and name & BESIDE_NAME))


def _of_handling(name: set[str]) -> bool:
    """Whether it says who did something to the row, as in "given_by" and "adminby"."""
    return bool(name & HANDLING) or any(
        word.endswith("by") and len(word) >= _SHORTEST_BY for word in name
    )


def _preference(column: ColumnProfile) -> tuple[int, int, int]:
    """The least is the best of those whose names say that they are sensitive: of a diagnosis and its
    year the diagnosis; then what allows more to hide a value, and what has fewer.
    """
    name = words(column.name)
    return len(name & WAVE), -min(column.largest_m, _ENOUGH_M), column.distinct


def _sensitive(columns: list[ColumnProfile]) -> tuple[str, str] | None:
    """By name, the most telling word first; else a set of values; else the attribute of most
    values, within a bound, that is not what others know.
    """
    several = [c for c in columns if c.role == "quasi" and c.type == "set"]
    eligible = [
        c
        for c in columns
        if c.role == "quasi"
        and c.largest_m >= 2
        and (c.uniqueness <= _SECRET_UNIQUENESS or c.rows < UNIQUE_ROWS)
    ]
    eligible = several + [c for c in eligible if c not in several]
    for hints in SENSITIVE:
        if named := [
            c
            for c in eligible
            if words(c.name) & hints
            and not words(c.name) & SHARE
            and not (c.type != "set" and _of_handling(words(c.name)))
        ]:
            return (
                min(named, key=_preference).name,
                "its name says that people would not want to be linked with it",
            )
    several = [c for c in several if not words(c.name) & (DIRECT | OF_PERSONS | HANDLING)]
    if guessed := [c for c in several if c.rows >= UNIQUE_ROWS]:
        return (
            max(guessed, key=lambda c: c.distinct).name,
            "a guess: a person has several values of it",
        )
    guessed = [
        c for c in eligible if c.uniqueness <= _SECRET_UNIQUENESS and c.type != "set"
    ]  # few rows or not: a column of single values may name the persons
    others = [
        c
        for c in guessed
        if not words(c.name) & (QUASI | DIRECT | OF_PERSONS | PERSON)
        and not _of_handling(words(c.name))
        and c.type == "categorical"
        and 3 <= c.distinct <= _SENSITIVE_VALUES
    ]
    if others:
        best = max(others, key=lambda c: c.distinct)
        return (
            best.name,
            (
                f"a guess: of the attributes with at most {_SENSITIVE_VALUES} values, the one with"
                " most"
            ),
        )
    return None
