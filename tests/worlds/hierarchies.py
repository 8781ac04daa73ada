# SPDX-License-Identifier: Apache-2.0
"""Lines about hierarchies: over quasi-identifiers, by which leaves are ordered and boxes written,
and over sensitive values, by which they are near.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from phalanx.data.hierarchies.hierarchy import Bands, ByFrequency, Hierarchy, Prefix, Tree
from worlds.case import HALF, THIRD, Case, holds, open_
from worlds.choices import as_they_stand, by_value, dealt
from worlds.settings import Setting, once

TOWNS = Tree.of_mapping(
    {
        "north": {"fjord": ["oslo", "bergen"], "lake": ["turku", "kuopio"]},
        "south": {"coast": ["rome", "bari"], "inland": ["siena", "terni"]},
    }
)
FREQUENT = ("rome", "oslo", "rome", "bari", "oslo", "rome")
CODES = ("4710", "4711", "4720", "4730", "5100", "5101", "6200", "6300")
ILLNESSES = Tree.of_mapping({"lung": ["a", "b"], "stomach": ["c"]})


def near(values: str) -> dict[str, Fraction]:
    """What t = 1/6 leaves of the shares in a table: a and b are half as far from each other as from
    c, so that it moves twice as much between them.
    """
    share = {value: Fraction(values.count(value), len(values)) for value in "abc"}
    return {
        "a": share["a"] + Fraction(1, 3),
        "b": share["b"] + Fraction(1, 3),
        "c": share["c"] + Fraction(1, 6),
    }


def in_towns(values: Any) -> Setting:
    """One release of persons in different towns."""
    return _under(TOWNS, [path[0] for path in TOWNS.paths][: len(values)], values)


def _under(hierarchy: Hierarchy, quasi: Iterable[Any], values: Any) -> Setting:
    return once(values, quasi=[(value,) for value in quasi], hierarchies={"q0": hierarchy})


def of_quasi_identifiers(method: str, hiv: Any) -> Iterable[Case]:
    """Every method that takes hierarchies, by the order of the leaves; ``hiv``: values of which one
    is protected.
    """
    towns = "aabbcc, towns"
    deal = {"folds": {"deal": as_they_stand}}
    if method == "anatomy":
        yield holds(method, {"l": 3}, towns, in_towns("aabbcc"), THIRD)
    if method == "m-invariance":
        yield holds(method, {"m": 2}, "aabbc, towns", in_towns("aabbc"), HALF)
        yield holds(
            method, {"m": 2, "min_width": {"q0": 3}}, "aabbc, towns", in_towns("aabbc"), HALF
        )
        counted = _under(ByFrequency(), FREQUENT[:5], "aabbc")
        yield holds(method, {"m": 2}, "aabbc, towns by frequency", counted, HALF)
        yield holds(
            method,
            {"m": 2},
            "aabbc, ages, one is missing",
            once("aabbc", quasi=[(None,), (2,), (4,), (7,), (11,)], missing="value"),
            HALF,
        )
    if method == "global-guarantee":
        given = {"l": 2, "protect": ["hiv"]}
        yield holds(
            method,
            given,
            "2 of 8, towns",
            in_towns(hiv),
            HALF,
            only=("hiv",),
            folds={"grouping": as_they_stand},
        )
        yield open_(
            method,
            given | {"grouping": "bottom-up"},
            "2 of 8, towns",
            in_towns(hiv),
            HALF,
            only=("hiv",),
            how="repeated",
        )
    if method == "mondrian":
        even = {"k": 2, "cuts": "balanced", "l": 2}
        yield holds(method, even, towns, in_towns("aabbcc"), HALF, **deal)
        yield holds(
            method, even | {"min_width": {"q0": 3}}, towns, in_towns("aabbcc"), HALF, **deal
        )
        yield holds(
            method,
            even,
            "aaabbbcc, codes",
            _under(Prefix((4, 2, 0)), CODES, "aaabbbcc"),
            HALF,
            **deal,
        )
        yield holds(
            method,
            even,
            "aaabbbcc, ages in bands",
            _under(Bands((5, 10)), (1, 2, 4, 7, 11, 16, 22, 29), "aaabbbcc"),
            HALF,
            **deal,
        )
        counted = _under(ByFrequency(), FREQUENT, "aabbcc")
        yield holds(method, even, "aabbcc, towns by frequency", counted, HALF, **deal)
        yield open_(method, even | {"cuts": "strict"}, towns, in_towns("aabbcc"), HALF)
        ages = [(None,), (2,), (4,), (7,), (11,), (16,)]
        yield holds(
            method,
            even,
            "aabbcc, ages, one is missing",
            once("aabbcc", quasi=ages, missing={"q0": "value"}),
            HALF,
            **deal,
        )
        close = {"k": 2, "t": "1/6", "distance": "hierarchical"}
        for table in ("aabbcc", "aaabbbcc"):
            ill = once(table, hierarchies={"sick": ILLNESSES})
            yield holds(
                method, close | {"cuts": "balanced"}, f"{table}, a near b", ill, near(table), **deal
            )
        yield open_(method, close | {"cuts": "strict"}, f"{table}, a near b", ill, near(table))
    if method == "slicing":
        columns = [["q0"], ["sick"]]
        cuts = {"l": 2, "columns": columns}
        yield holds(
            method,
            cuts | {"grouping": "random", "bucket_size": 2},
            "aabbc, towns",
            in_towns("aabbc"),
            HALF,
            folds={"deal": dealt(2)},
        )
        yield holds(
            method,
            cuts | {"grouping": "membership", "bucket_size": 2},
            towns,
            in_towns("aabbcc"),
            HALF,
            folds={"deal": by_value},
        )
        yield holds(method, cuts | {"cuts": "balanced"}, towns, in_towns("aabbcc"), HALF, **deal)
        yield open_(method, cuts | {"cuts": "strict"}, towns, in_towns("aabbcc"), HALF)
