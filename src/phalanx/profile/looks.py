# SPDX-License-Identifier: Apache-2.0
"""Whether the values of a column look like what names or reaches people, or like dates."""

from collections.abc import Sequence
from typing import Final

import polars as pl

_LOOKED_AT: Final = 500
"""So many different values are looked at."""
_MOST: Final = 0.8
"""Where so many of them look alike, they are alike."""
_LIKE_DATES: Final = 0.9
"""Text of which so much is written like dates was meant as dates."""
_FEW: Final = 20
"""Fewer different values than this name no person."""
_STREET: Final = (
    r"(straße|strasse|str\.|weg|allee|gasse|platz|street|road|avenue|lane|drive|ave\.?|rd\.?|st\.?)"
)
_FORMS: Final = (
    r"^\s*[^@\s;,]+@[^@\s;,]+\.[a-zA-Z]{2,}",  # e-mail, also several
    r"^\s*[A-Z]{2}[0-9]{2}[ ]?([0-9A-Z]{4}[ ]?){2,7}[0-9A-Z]{1,4}\s*$",  # IBAN
    r"^\s*(https?://|www\.)",
    r"^\s*(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])(\.(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])){3}\s*$",  # IPv4
    r"^\s*(\+|00|0|\()[0-9()]{1,6}[ /().-]+[0-9][0-9 ().-]{4,}\s*$",  # telephone
    r"^\s*\+[0-9]{8,15}\s*$",
    r"^\s*-?[0-9]{1,3}\.[0-9]{3,}[,; ]+-?[0-9]{1,3}\.[0-9]{3,}\s*$",  # a place on the globe
    rf"(?i)^\s*[\p{{L}} .-]*{_STREET}[ ]+[0-9]+[ ]?[a-z]?\s*$",
    rf"(?i)^\s*[0-9]+[a-z]?[ ]+[\p{{L}} .-]*{_STREET}\s*$",
)
_DATE: Final = (
    r"^\s*([0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{2}|[0-9]{4})|[0-9]{4}[./-][0-9]{1,2}[./-][0-9]{1,2})"
    r"([T ][0-9:., ]+([AaPp][Mm]|Z|UTC|[+-][0-9:]+)?)?\s*$"
)
"""A date, its year last or first, and a time of day."""
_NAME: Final = r"^\s*\p{Lu}[\p{Ll}'-]+([ -]\p{Lu}\.?[\p{Ll}'-]*)?[ ]\p{Lu}[\p{Ll}'-]+\s*$"
"""Two or three words that begin with a capital, as first and last names do."""


def like_dates(values: pl.Series) -> bool:
    """Whether it is text that looks like dates in a form which is not read as one.

    >>> like_dates(pl.Series(["02/13/1950", "11/30/1961"])), like_dates(pl.Series(["1/2", "3"]))
    (True, False)
    >>> like_dates(pl.Series(["0000-00-00", "2020-01-31"])), like_dates(pl.Series(["2020-01-31T10:00Z"]))
    (True, True)
    """
    if values.dtype != pl.String:
        return False
    like = values.str.contains(_DATE).mean()
    return isinstance(like, float) and like >= _LIKE_DATES


def is_of_persons(values: pl.Series) -> bool:
    """Whether most of its texts are addresses, telephone numbers, IBANs, places on the globe and the
    like, whatever it is called.

    >>> is_of_persons(pl.Series([f"a{i}@b.org" for i in range(30)]))
    True
    """
    return _are(values, _FORMS)


def are_names(values: pl.Series) -> bool:
    """Whether most of its texts could be first and last names of people, of which there are many; so
    could diagnoses be, and towns.

    >>> are_names(pl.Series([f"Ann{chr(97 + i)} Cole" for i in range(25)]))
    True
    >>> are_names(pl.Series(["Breast Cancer", "Heart Failure"] * 30))
    False
    """
    return _are(values, [_NAME])


def _are(values: pl.Series, forms: Sequence[str]) -> bool:
    if values.dtype != pl.String:
        return False
    some = values.drop_nulls().unique(maintain_order=True).head(_LOOKED_AT)
    some = some.filter(some.str.strip_chars() != "")
    if len(some) < _FEW:
        return False
    return any(float(some.str.contains(form).mean() or 0) >= _MOST for form in forms)  # type: ignore[arg-type]
