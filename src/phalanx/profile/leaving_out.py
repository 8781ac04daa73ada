# SPDX-License-Identifier: Apache-2.0
"""Which columns a proposal leaves out, and why: what names people, whatever others know of it, and
what nothing says that others know.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from phalanx.profile.columns import UNIQUE_ROWS, ColumnProfile, is_known, words
from phalanx.profile.dictionary import (
    ANY_SENSITIVE,
    BESIDE_NAME,
    DIRECT,
    FREE,
    HANDLING,
    HOUSEHOLD,
    NUMBER,
    NUMBERED,
    OF_A_PERSON,
    OF_A_SAMPLE,
    OF_A_SURVEY,
    OF_PERSONS,
    QUASI,
    SHARE,
    WEIGHT,
)
from phalanx.profile.looks import are_names, is_of_persons
from phalanx.profile.sensitive import is_measured, tells_apart

KNOWN: Final = "others may know it"
TOGETHER: Final = (
    "who lives together: every person is covered alone, and no household as one, unless it is the"
    " cluster of a plan by mondrian"
)
WEIGHS: Final = "a survey weight: it tells people apart, and mondrian alone weighs rows"
OWN: Final = "nearly every row has its own value"
_ALONE: Final = "no other attribute is left, and a plan needs one that others may know"
_ENOUGH: Final = 3
"""So many attributes that others know are enough to propose."""
_FEW_NAMES: Final = 20
"""A column of fewer different values names no person, whatever it is called: whether there is a
telephone, the state of an account.
"""
_MOST_TOGETHER: Final = 50
"""So many rows at most have one household's number; what more rows share is an attribute, such as
its size.
"""
_FREE_TEXT_LENGTH: Final = 40


def why_left_out(column: ColumnProfile, values: pl.Series) -> str | None:
    """Why a column is left out whatever others may know of it; None where nothing says so."""
    name = words(column.name)
    prose = float(values.str.len_chars().mean() or 0) if values.dtype == pl.String else 0  # type: ignore[arg-type]
    reasons = {
        WEIGHS: (
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
        ),
        "its values look like names, addresses or numbers of people": (
            is_of_persons(values)
            or (are_names(values) and not name & (QUASI | HANDLING | ANY_SENSITIVE))
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
        OWN: column.near_unique and not is_known(column.name) and not is_measured(column),
    }
    return next((why for why, holds in reasons.items() if holds), None)


def _names_a_person(name: set[str]) -> bool:
    """Whether it says what a person is called, however many are called so."""
    return bool(name & OF_A_PERSON or ("name" in name and name & BESIDE_NAME))


def few(columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Without what is sensitive by its name, and what is of many words of which nothing is known, as
    they may name people; where enough attributes are known to be known, without all of which nothing
    is, as each attribute more widens all others' intervals. An attribute that would be left alone is
    one that others may know.
    """
    enough = sum(c.role == "quasi" and c.reason == KNOWN for c in columns) >= _ENOUGH
    left = [
        (
            replace(c, role="drop", reason=_unknown(c))
            if c.role == "quasi"
            and c.reason != KNOWN
            and (enough or says_sensitive(c) or _has_many_words(c))
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


def says_sensitive(column: ColumnProfile) -> bool:
    """Whether its name says that people would not want to be linked with it."""
    name = words(column.name)
    return bool(name & ANY_SENSITIVE and not name & SHARE)


def _unknown(column: ColumnProfile) -> str:
    """Why a column is left out of which nothing says that others know it."""
    if not says_sensitive(column):
        return "nothing says whether others may know it; make it quasi if they may, and only then"
    if column.largest_m < 2:
        return (
            "its name says that it is sensitive, and one value has more than half of the rows: no l"
        )
    if tells_apart(column) and not is_measured(column):
        return (
            "its name says that it is sensitive, and most rows have a value of their own: make it"
            " coarser at the source"
        )
    return "its name says that it is sensitive, and one attribute can be; choose which"
