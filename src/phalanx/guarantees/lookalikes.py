# SPDX-License-Identifier: Apache-2.0
"""Values that look alike to people and are different to a computer: each counts as a value of its
own, and none protects the other.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

_LETTERS: Final = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕһԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧονα",  # noqa: RUF001  # letters of other scripts are meant
    "ABESIJKMHOPCTYXaeopcyxijshdqwABEZHIKMNOPTYXova",
)
"""Cyrillic and Greek letters that are drawn like a Latin one."""
_SIGNS: Final = str.maketrans("I1|0", "lllO")
"""What is drawn alike in many typefaces, while letters keep their case."""


def lookalikes(values: Sequence[str]) -> list[list[str]]:
    """Different values that look alike, together: in letters of other scripts, in case, in blanks
    and signs that are not seen, in how accents are written.

    >>> lookalikes(["flu", "Flu ", "gout", "fIu"])
    [['flu', 'Flu '], ['flu', 'fIu']]
    """
    seen = {value: _seen(value) for value in values}
    by_shape: dict[frozenset[str], list[str]] = {}
    for drawn in (str.casefold, _with_case):
        alike: dict[str, list[str]] = {}
        for value, shown in seen.items():
            alike.setdefault(drawn(shown), []).append(value)
        for group in alike.values():
            if len(group) > 1:
                by_shape.setdefault(frozenset(group), group)
    return list(by_shape.values())


def _with_case(shown: str) -> str:
    return shown.translate(_SIGNS)


def _seen(value: str) -> str:
    """A value without what is not seen, in Latin letters where it looks like them."""
    text = unicodedata.normalize("NFKC", value)
    if not text.isprintable():  # else there is nothing that is not seen
        text = "".join(_visible(text))
    text = " ".join(text.split())
    return text if text.isascii() else text.translate(_LETTERS)


def _visible(text: str) -> Iterator[str]:
    return (
        sign for sign in text if unicodedata.category(sign) not in ("Cf", "Cc") or sign.isspace()
    )
