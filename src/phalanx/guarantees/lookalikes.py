# SPDX-License-Identifier: Apache-2.0
"""Values that look alike to people and are different to a computer: each counts as a value of its
own, and none protects the other.
"""

import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Final

_BLANK_OR_NOTHING: Final = "\u115f\u1160\u180e\u2800\u3164\uffa0\U00016fe4\U0001d159"
"""Fillers and empty patterns: a font draws a blank for them, or nothing."""
_NOT_DRAWN: Final = (
    f"{_BLANK_OR_NOTHING}"
    "\u034f\u17b4\u17b5\u2065"  # a joiner, two vowels that nothing is drawn for, and a free place
    "\u180b-\u180f\ufe00-\ufe0f\ufff0-\ufff8"  # variation selectors, and free places
    "\U000e0000-\U000e0fff"  # tags, and further variation selectors
)
"""What is not drawn, beside what Unicode counts among controls and formats."""
_GREEK: Final = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ" + "αβγηικμνορστυχωϲϳ"  # noqa: RUF001  # no Latin ones are meant
_GREEK_AS: Final = "ABEZHIKMNOPTYXCJ" + "aßynikuvopotuxwcj"
_CYRILLIC: Final = "АВЕЅІЈКМНОРСТУХҮҺѴӀԌԚԜӔӨ" + "авгекмнопрстухьѕіјѡѵүһҽӏӕөԁԍԛԝ"
_CYRILLIC_AS: Final = "ABESIJKMHOPCTYXYHVIGQWÆƟ" + "abrekmhonpctyxbsijwvyhelæɵdgqw"
_LATIN: Final = "ɑɡɩʋǀ"  # noqa: RUF001
_LATIN_AS: Final = "agivl"


_LUNATE: Final = "\u03f2\u03f9"
"""Sigmas that look like a C, and have a usual sigma for their only part."""


class _Table(dict[int, int | str | None]):
    """A table for :meth:`str.translate`, whose rows are made when a sign is met first."""

    def __init__(self, of: Callable[[int], int | str | None], known: Mapping[int, str]) -> None:
        super().__init__(known)
        self._of = of

    def __missing__(self, code: int) -> int | str | None:
        drawn = self[code] = self._of(code)
        return drawn


def _parts(code: int) -> int | str | None:
    """The parts of a sign that are drawn; None for nothing."""
    sign = chr(code)
    if _IGNORABLE.match(sign) or unicodedata.category(sign) in ("Cf", "Cc"):
        return code if sign.isspace() else None
    return unicodedata.normalize("NFKD", sign)


def _small_capitals() -> dict[str, str]:
    """The letters of phonetics that are small capitals, each with its usual letter."""
    usual = {}
    for letter in string.ascii_uppercase:
        with suppress(KeyError):  # not each letter has one
            small = unicodedata.lookup(f"LATIN LETTER SMALL CAPITAL {letter}")
            usual[small] = letter.lower()
    return usual


_PARTS: Final = _Table(_parts, str.maketrans({sign: sign for sign in _LUNATE}))
_IGNORABLE: Final = re.compile(f"[{_NOT_DRAWN}]")
_ODD: Final = re.compile(f"[{_LUNATE}{_NOT_DRAWN}]")
"""What is printed, for Python, and is not seen, and what has other parts than it looks like."""
_LATIN_FOR: Final = _small_capitals() | dict(
    zip(_GREEK + _CYRILLIC + _LATIN, _GREEK_AS + _CYRILLIC_AS + _LATIN_AS, strict=True)
)
"""Letters that are drawn like a usual Latin one."""
_LETTERS: Final = _Table(int, str.maketrans(_LATIN_FOR))
_FOREIGN: Final = re.compile(f"[{''.join(_LATIN_FOR)}]")
_BLANKS: Final = str.maketrans(dict.fromkeys(_BLANK_OR_NOTHING, " "))
_UNCERTAIN: Final = re.compile(f"[{_BLANK_OR_NOTHING}\u202d\u202e]")
"""What is drawn in more ways than one."""
_MARK: Final = re.compile(
    "[\u0305-\u030b\u030d-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20dc\u20e5-\u20f0\ufe20-\ufe2f]"
)
"""A combining mark, other than the usual accents of a tone."""
_MARKS: Final = re.compile(
    f"(?<=[!-~\u00c0-\u024f\u1e00-\u1eff\u0300-\u0304\u030c]){_MARK.pattern}+"
)
"""Such marks at a Latin letter, of which they make no other letter."""
_OVERRIDES: Final = "\u202d\u202e"
_EMBEDDINGS: Final = "\u202a\u202b" + _OVERRIDES
_ISOLATES: Final = "\u2066\u2067\u2068"
_EMBEDDING_ENDS: Final = "\u202c"
_ISOLATE_ENDS: Final = "\u2069"


def lookalikes(values: Sequence[str]) -> list[list[str]]:
    """Different values that look alike, together: in letters of other scripts, in case, in blanks
    and signs that are not seen, in how accents are written.

    >>> lookalikes(["flu", "Flu ", "gout", "fIu"])
    [['flu', 'Flu '], ['flu', 'fIu']]
    """
    shown: list[tuple[str, str]] = []
    foreign: list[tuple[str, str, str]] = []
    for value in dict.fromkeys(values):
        if value.isascii() and value.isprintable():
            shown.append((value, " ".join(value.split())))
            continue
        for parts in _readings(value):
            shown.append((value, _drawn(parts)))
            if not parts.isascii() and _FOREIGN.search(parts):
                foreign.append((value, parts, _drawn(parts.translate(_LETTERS))))
    groups = _groups(shown, foreign, str.casefold) + _groups(shown, foreign, _with_case)
    by_shape: dict[frozenset[str], list[str]] = {}
    for group in groups:
        by_shape.setdefault(frozenset(group), group)
    return list(by_shape.values())


def _groups(
    shown: Iterable[tuple[str, str]],
    foreign: Sequence[tuple[str, str, str]],
    shape: Callable[[str], str],
) -> list[list[str]]:
    """Values with one shape: as they are, and with Latin letters in the place of others."""
    alike: dict[str, list[str]] = {}
    for value, text in shown:
        alike.setdefault(shape(text), []).append(value)
    groups = [list(dict.fromkeys(group)) for group in alike.values() if len(group) > 1]
    first: dict[str, int] = {}
    more: dict[str, list[int]] = {}
    for at, (_, parts, latin) in enumerate(foreign):
        drawn = shape(latin)
        if drawn in alike or first.setdefault(drawn, at) != at:
            more.setdefault(drawn, []).append(at)
        if shape is str.casefold and (small := parts.casefold()) != parts:
            other = shape(_drawn(small.translate(_LETTERS)))
            if other != drawn and (other in alike or first.setdefault(other, at) != at):
                more.setdefault(other, []).append(at)
    for drawn, places in more.items():
        beside = alike.get(drawn, [])
        others = places if beside else [first[drawn], *places]
        if beside or _of_several_scripts([foreign[at][1] for at in others]):
            together = dict.fromkeys((*beside, *(foreign[at][0] for at in others)))
            groups.append(sorted(together))
    return [group for group in groups if len(group) > 1]


def _of_several_scripts(texts: Sequence[str]) -> bool:
    """Whether texts have letters of different scripts in one place; two letters of one script are
    different to those who read it.
    """
    return any(
        len({unicodedata.name(sign, "").partition(" ")[0] for sign in set(place)}) > 1
        for place in zip_longest(*texts, fillvalue="")
        if len(set(place)) > 1
    )


def _with_case(text: str) -> str:
    """A text in its case, with one sign for those that many typefaces draw alike."""
    return text.replace("I", "l").replace("1", "l").replace("|", "l").replace("0", "O")


def _readings(value: str) -> Iterable[str]:
    """What may be seen of a value, in parts; more than one thing where it depends on the font or on
    whether a program turns text around.
    """
    if value.isprintable() and not _ODD.search(value):
        return (unicodedata.normalize("NFKD", value),)
    if value.isascii() or not _UNCERTAIN.search(value):
        return (value.translate(_PARTS),)
    blank = value.translate(_BLANKS)
    ways = (value, _turned(value), blank, _turned(blank))
    return dict.fromkeys(way.translate(_PARTS) for way in ways)


def _drawn(text: str) -> str:
    """Parts put together, with single blanks."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        if _MARK.search(text):
            text = _MARKS.sub("", text)
    return " ".join(text.split())


def _turned(text: str) -> str:
    """A text in the order in which its letters are seen where it has signs that turn it around."""
    opened: list[tuple[str, list[str]]] = [("", [])]
    for sign in text:
        if sign in _EMBEDDINGS or sign in _ISOLATES:
            opened.append((sign, []))
        elif sign in _EMBEDDING_ENDS:
            if opened[-1][0] and opened[-1][0] in _EMBEDDINGS:
                _close(opened)
        elif sign in _ISOLATE_ENDS:
            if any(begin and begin in _ISOLATES for begin, _ in opened):
                while opened[-1][0] not in _ISOLATES:
                    _close(opened)
                _close(opened)
        else:
            opened[-1][1].append(sign)
    while len(opened) > 1:
        _close(opened)
    return "".join(opened[0][1])


def _close(opened: list[tuple[str, list[str]]]) -> None:
    """Put what was opened last into what is around it, turned around where it is written against
    the direction of its letters.
    """
    begin, inside = opened.pop()
    text = "".join(inside)
    if begin in _OVERRIDES:
        from_the_right = any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in text)
        if (begin == "\u202e") != from_the_right:
            text = "".join(reversed(inside))
    opened[-1][1].append(text)
