# SPDX-License-Identifier: Apache-2.0
"""Which column a proposal takes for the sensitive attribute, and why."""

from collections.abc import Sequence
from typing import Final

from phalanx.profile.columns import UNIQUE_ROWS, ColumnProfile, words
from phalanx.profile.dictionary import (
    ANY_SENSITIVE,
    DIRECT,
    HANDLING,
    NUMBER,
    OF_PERSONS,
    PERSON,
    QUASI,
    SENSITIVE,
    SHARE,
    WAVE,
)

_ENOUGH_M: Final = 5
"""No proposal hides a value among more; of attributes that allow it, the one of fewest values."""
_SECRET_UNIQUENESS: Final = 0.5
"""An attribute with more distinct values per row than this tells people apart."""
_SHORTEST_BY: Final = 6
"""A hobby and a baby are shorter words that end so."""
_SENSITIVE_VALUES: Final = 100
"""Without a name to go by, an attribute of more values than this is more likely known to others (a
place, a date) than a secret.
"""


def sensitive_of(columns: Sequence[ColumnProfile]) -> tuple[str, str] | None:
    """By name, the most telling word first; else a set of values; else the attribute of most
    values, within a bound, that is not what others know.
    """
    several = [c for c in columns if c.role == "quasi" and c.type == "set"]
    eligible = [
        c
        for c in columns
        if c.role == "quasi"
        and c.largest_m >= 2
        and (is_measured(c) or not tells_apart(c) or c.rows < UNIQUE_ROWS)
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
    others = [
        c
        for c in eligible
        if not tells_apart(c)  # few rows or not: a column of single values may name the persons
        and not words(c.name) & (QUASI | DIRECT | OF_PERSONS | PERSON)
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


def is_measured(column: ColumnProfile) -> bool:
    """Whether it is a number that its name says is sensitive, as a wage: made coarser it can be
    published, however many values it has.
    """
    name = words(column.name)
    return bool(
        column.type == "numeric"
        and name & ANY_SENSITIVE
        and not name & (SHARE | NUMBER | {"card", "karte"})
    )


def tells_apart(column: ColumnProfile) -> bool:
    """Whether it has so many values that it tells people apart, published as it is."""
    return column.uniqueness > _SECRET_UNIQUENESS


def _preference(column: ColumnProfile) -> tuple[int, int, int]:
    """The least is the best of those whose names say that they are sensitive: of a diagnosis and its
    year the diagnosis; then what allows more to hide a value, and what has fewer.
    """
    name = words(column.name)
    return len(name & WAVE), -min(column.largest_m, _ENOUGH_M), column.distinct


def _of_handling(name: set[str]) -> bool:
    """Whether it says who did something to the row, as in "given_by" and "adminby"."""
    return bool(name & HANDLING) or any(
        word.endswith("by") and len(word) >= _SHORTEST_BY for word in name
    )
