# SPDX-License-Identifier: Apache-2.0
"""Words that have an order of their own, which is not that of the alphabet: months, weekdays,
levels of education, degrees, ranges of ages.
"""

import re
from collections.abc import Callable, Collection
from typing import Final

import polars as pl

_UNKNOWN: Final = "unknown"
_MONTHS: Final = (
    "january, february, march, april, may, june, july, august, september, october, november, december",
    "januar, februar, märz, april, mai, juni, juli, august, september, oktober, november, dezember",
)
_SCHOOLS: Final = (
    (
        "Preschool, 1st-4th, 5th-6th, 7th-8th, 9th, 10th, 11th, 12th, HS-grad, Some-college,"
        " Assoc-voc, Assoc-acdm, Bachelors, Masters, Prof-school, Doctorate"
    ),
    (
        "illiterate, basic.4y, basic.6y, basic.9y, high.school, professional.course,"
        " university.degree"
    ),
)
_SCALES: Final = tuple(
    tuple(scale.split(", "))
    for scale in (
        "jan, feb, mar, apr, may, jun, jul, aug, sep, oct, nov, dec",
        *_MONTHS,
        "jan, feb, mär, apr, mai, jun, jul, aug, sep, okt, nov, dez",
        "mon, tue, wed, thu, fri, sat, sun",
        "monday, tuesday, wednesday, thursday, friday, saturday, sunday",
        "mo, di, mi, do, fr, sa, so",
        "montag, dienstag, mittwoch, donnerstag, freitag, samstag, sonntag",
        "none, primary, secondary, tertiary",
        *_SCHOOLS,
        "less than high school, high school, some college, associate, bachelor, master, doctorate",
        "ohne Abschluss, Hauptschule, Realschule, Fachhochschulreife, Abitur, Hochschule",
        "none, low, medium, high",
        "none, mild, moderate, severe",
        "never, rarely, sometimes, often, always",
        "nie, selten, manchmal, oft, immer",
        "strongly disagree, disagree, neutral, agree, strongly agree",
        "very poor, poor, fair, good, very good, excellent",
        "small, medium, large",
        "niedrig, mittel, hoch",
    )
)
"""Each in its order."""
_SPELLINGS: Final[tuple[Callable[[str], str], ...]] = (
    str,
    str.lower,
    str.capitalize,
    str.title,
    str.upper,
)
_SPELLED: Final = tuple(
    dict.fromkeys(
        tuple(spelled(word) for word in (*scale, _UNKNOWN))
        for scale in _SCALES
        for spelled in _SPELLINGS
    )
)
_OLDEST: Final = 120
_WIDTHS: Final = (5, 10, 15, 20)
_MOST_WORDS: Final = 2 + max(_OLDEST // min(_WIDTHS), *map(len, _SPELLED))
"""The longest scale, unknown and missing beside it."""
_RANGE: Final = re.compile(r"(\D*)(\d{1,3})(\D+)(\d{1,3})(\D*)")


def scale_of(values: pl.Series) -> tuple[str, ...]:
    """The scale whose words a text column holds, spelled as there, whole and in its order; empty
    where it holds others, or fewer than three.

    The words are those of the scale and not of the table, so that nothing is told of it but that
    it holds no others; ``unknown`` may stand beside any of them, and stands last. Ranges of ages, all
    of one width, are a scale from 0 to 120.

    >>> scale_of(pl.Series(["High", "Low", "Medium"]))
    ('None', 'Low', 'Medium', 'High', 'Unknown')
    >>> scale_of(pl.Series(["5-9", "10-14", "40-44"]))[:3]
    ('0-4', '5-9', '10-14')
    """
    if values.dtype != pl.String or values.n_unique() > _MOST_WORDS:
        return ()
    distinct = set(values.to_list()) - {None}
    for words in (*_SPELLED, _ranges(distinct)):
        if len(distinct - {words[-1]}) >= 3 and distinct.issubset(words):
            return words
    return ()


def _ranges(distinct: Collection[str]) -> tuple[str, ...]:
    """All ranges of ages from 0, spelled as one of these and as wide; ``unknown`` last, alone where
    none is a range.
    """
    few = sorted(distinct) if len(distinct) <= _OLDEST // min(_WIDTHS) + 1 else []
    parts = next((match for value in few if (match := _RANGE.fullmatch(value))), None)
    if parts is None:
        return (_UNKNOWN,)
    before, low, between, high, after = parts.groups()
    for short in (0, 1):  # 10-20, where 20 is of the next; 10-19
        width = int(high) - int(low) + short
        if width in _WIDTHS:
            return (
                *(
                    f"{before}{start}{between}{start + width - short}{after}"
                    for start in range(0, _OLDEST, width)
                ),
                _UNKNOWN,
            )
    return (_UNKNOWN,)
