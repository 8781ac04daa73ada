# SPDX-License-Identifier: Apache-2.0
"""Words that have an order of their own, which is not that of the alphabet: months, weekdays,
levels of education, degrees.
"""

from collections.abc import Callable
from typing import Final

import polars as pl

_UNKNOWN: Final = "unknown"
_SCALES: Final = tuple(
    tuple(scale.split())
    for scale in (
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "january february march april may june july august september october november december",
        "jan feb mär apr mai jun jul aug sep okt nov dez",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "mon tue wed thu fri sat sun",
        "monday tuesday wednesday thursday friday saturday sunday",
        "mo di mi do fr sa so",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "none primary secondary tertiary",
        "none low medium high",
        "none mild moderate severe",
        "never rarely sometimes often always",
        "small medium large",
        "niedrig mittel hoch",
    )
)
"""Each in its order, in small letters."""
_SPELLINGS: Final[tuple[Callable[[str], str], ...]] = (str.lower, str.title, str.upper)
_SPELLED: Final = tuple(
    tuple(spelled(word) for word in (*scale, _UNKNOWN))
    for scale in _SCALES
    for spelled in _SPELLINGS
)


def scale_of(values: pl.Series) -> tuple[str, ...]:
    """The scale whose words a text column holds, spelled as there, whole and in its order; empty
    where it holds others, or fewer than three.

    The words are those of the scale and not of the table, so that nothing is told of it but that
    it holds no others; ``unknown`` may stand beside any of them, and stands last.

    >>> scale_of(pl.Series(["High", "Low", "Medium"]))
    ('None', 'Low', 'Medium', 'High', 'Unknown')
    """
    if values.dtype != pl.String:
        return ()
    distinct = set(values.drop_nulls().unique())
    for words in _SPELLED:
        if len(distinct - {words[-1]}) >= 3 and distinct.issubset(words):
            return words
    return ()
