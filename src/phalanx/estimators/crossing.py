# SPDX-License-Identifier: Apache-2.0
"""How often two things are true of a row that a release tells of its group apart, where groups were
dealt without regard to what the rows hold.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from phalanx.arrays import Floats, Ints
from phalanx.estimators.attributing import Held, Shares, diagonal, learned
from phalanx.estimators.conditions import (
    All,
    Comparison,
    Condition,
    Either,
    comparisons,
    negate,
)
from phalanx.estimators.models import Model

_FEW: Final = 12
"""Of more kinds, two together are looked at, too: those that are asked about, and all others."""

_MOST_TESTS: Final = 3
"""So many tests of the sensitive attribute are looked at case by case."""
_HARDLY: Final = 1e-9
_ALWAYS: Final = All(())
_NEVER: Final = Either(())


@dataclass(frozen=True)
class _Number:
    """What is added up: a number of each row less ``shift``."""

    name: str
    shift: float


def crossed(
    model: Model, where: Condition, name: str | None = None, shift: float = 0.0
) -> tuple[float, float] | None:
    """How many rows a condition is expected to be true of, or with ``name`` the expected sum of that number
    less ``shift`` over them, and the standard deviation of that; None where it is not about two facets, or
    groups were not dealt.
    """
    if not model.view.dealt:
        return None
    if isinstance(where, Comparison):
        where = All((where,))
    number = None if name is None else _Number(name, shift)
    if next(model.each()).apart(where) is None or (number and isinstance(where, Either)):
        return _by_case(model, where, number)
    return _of_two(model, where, number)


def _of_two(
    model: Model, where: All | Either, number: _Number | None
) -> tuple[float, float] | None:
    """The same where each part of a condition is about one of two facets, and a number, of which there
    is a condition of all rows then, in one of them; else None.
    """
    apart = dict(next(model.each()).apart(where) or ())
    if number is not None:
        places = _told_in(model, number.name)
        if len(places) != 1:
            return None
        asked = apart.pop(places[0], _ALWAYS)
        if not apart and _is_told(model, asked):
            return sum(float(_hits(part, asked, number).sum()) for part in model.each()), 0.0
        apart = {**apart, places[0]: asked}
    if len(apart) != 2 or not all(_is_told(model, condition) for condition in apart.values()):
        return None
    (place, chosen), (_, asked) = (
        apart.items()
        if number is not None
        else sorted(apart.items(), key=lambda each: -len(_kinds(model, each[0])))
    )
    kinds = len(_kinds(model, place))
    ways = [_crossed(model, place, chosen, asked, kinds, number)]
    if kinds > _FEW:  # kinds of which half are off together are not off by chance
        ways.append(_crossed(model, place, chosen, asked, 0, number))
    expected = ways[0][0]
    deviation = max(abs(way[0] - expected) + way[1] for way in ways)
    if not math.isfinite(deviation):
        return None
    if isinstance(where, Either):
        one, other = (_expected(model, condition) for condition in apart.values())
        expected = one + other - expected
    return expected, deviation


def _by_case(model: Model, where: Condition, number: _Number | None) -> tuple[float, float] | None:
    """The same of a condition of which some part is about two facets: by what is true of the sensitive
    value, of which no two cases have a row in common.
    """
    tests = dict.fromkeys(t for t in comparisons(where) if t.attribute == model.view.sensitive)
    if not tests or len(tests) > _MOST_TESTS:
        return None
    expected = deviation = 0.0
    for truths in product((True, False), repeat=len(tests)):
        known = dict(zip(tests, truths, strict=True))
        case = All(tuple(test if known[test] else _not(test) for test in tests))
        left = _given(where, known)
        if left == _NEVER or not _expected(model, case):
            continue
        if left == _ALWAYS and number is None:
            way = (_expected(model, case), 0.0) if _is_told(model, case) else None
        else:
            way = _of_two(model, All((case,) if left == _ALWAYS else (left, case)), number)
        if way is None:
            return None
        expected, deviation = expected + way[0], deviation + way[1]
    return expected, deviation


def middle_of(model: Model, where: Condition, name: str) -> float:
    """The mean of a number over the rows of which all is true that is asked of the facet that holds it."""
    apart = next(model.each()).apart(where) if isinstance(where, All) else None
    place = next(iter(_told_in(model, name)), -1)
    asked = dict(apart or ()).get(place, Comparison(name, "missing", negated=True))
    rows, total = model.totals(name, asked)
    return total / rows if rows > 0 else 0.0


def left_over(
    model: Model, where: Condition, name: str | None = None, middle: float = 0.0
) -> float:
    """How many rows a count may be off, or with ``name`` the sum of that number less its ``middle``,
    because facets depend on each other inside of groups, too: as they do between groups, by as much
    as groups leave open.

    Groups that were cut tell most of what is between one and another: a count is off from what chance
    in the whole table would make of it by what they depend on each other there.
    """
    number = None if name is None else _Number(name, middle)
    apart = dict((next(model.each()).apart(where) or ()) if isinstance(where, All | Either) else ())
    places = [] if number is None else _told_in(model, number.name)
    if number is not None and (len(places) != 1 or isinstance(where, Either)):
        return 0.0
    of_number = apart.pop(places[0], _ALWAYS) if places else _ALWAYS
    if len(apart) + len(places) < 2:
        return 0.0
    parts = list(model.each())
    rows = np.concatenate([part.view.real.astype(np.float64) for part in parts])
    per_row, total = 1 / np.maximum(rows, 1), max(float(rows.sum()), 1.0)
    shares = [
        np.concatenate([part.rows(condition) for part in parts]) * per_row
        for condition in apart.values()
    ]
    if isinstance(where, Either):  # as of those of which no part is true
        shares = [1 - share for share in shares]
    means = [float((rows * share).sum()) / total for share in shares]
    open_ = [
        float((rows * share * (1 - share)).sum()) / max(total * mean * (1 - mean), _HARDLY)
        for share, mean in zip(shares, means, strict=True)
    ]
    if number is None:
        off = float((rows * np.multiply.reduce(shares)).sum()) - total * math.prod(means)
    else:
        moments = [part.moments(number.name, of_number, number.shift)[1:] for part in parts]
        sums, squares = (np.concatenate(each) for each in zip(*moments, strict=True))
        off = float((sums * np.multiply.reduce(shares)).sum())
        within = 1 - float((sums**2 * per_row).sum()) / max(float(squares.sum()), _HARDLY)
        open_.append(max(within, 0.0))
    both = sorted(open_)[-2]  # two facets depend on each other no more than either of them is open
    return abs(off) * both / max(1 - both, _HARDLY)


def _told_in(model: Model, name: str) -> list[int]:
    """The places of the facets that tell the number of each row."""
    parts = [part.view.believed for part in model.each()]
    places = [i for i, facet in enumerate(parts[0]) if name in facet.ends]
    return [i for i in places if all(facets[i].ends[name].exact for facets in parts)]


def _not(test: Comparison) -> Condition:
    """True of the rows of which a test is not, also of those of which it is unknown."""
    return Either((negate(test), Comparison(test.attribute, "missing")))


def _given(condition: Condition, truths: Mapping[Comparison, bool]) -> Condition:
    """What is left of a condition where it is known which tests are true."""
    if isinstance(condition, Comparison):
        truth = truths.get(condition)
        return condition if truth is None else _ALWAYS if truth else _NEVER
    decides, says_nothing = (_NEVER, _ALWAYS) if isinstance(condition, All) else (_ALWAYS, _NEVER)
    parts = [_given(part, truths) for part in condition.parts]
    if decides in parts:
        return decides
    left = tuple(part for part in parts if part != says_nothing)
    return left[0] if len(left) == 1 else type(condition)(left)


def _expected(model: Model, condition: Condition) -> float:
    return sum(float(part.rows(condition).sum()) for part in model.each())


def _is_told(model: Model, condition: Condition) -> bool:
    """Whether it is certain of how many rows of each group a condition is true."""
    bounds = (part.bounds.rows(condition) for part in model.each())
    return all(bool((low == high).all()) for low, high in bounds)


def _kinds(model: Model, place: int) -> Ints:
    """The kinds of rows that a facet tells apart, where it has no other attribute."""
    alone = len(next(model.each()).view.believed[place].ends) == 1
    return model.kinds(place) if alone else np.zeros(0, dtype=np.int64)


def _crossed(
    model: Model,
    place: int,
    chosen: Condition,
    asked: Condition,
    kinds: int,
    number: _Number | None,
) -> tuple[float, float]:
    """The same of rows of which ``chosen`` is true in the facet that tells so many kinds, or only these
    two, and ``asked`` in the other one, which holds the number.
    """

    def held() -> Iterator[tuple[Held, Floats, Floats]]:
        for part in model.each():
            yield (*_held(part, place, chosen, kinds), _hits(part, asked, number))

    def shares() -> Shares | None:
        squares = None
        if number is not None:
            squares = sum(
                float(part.moments(number.name, asked, number.shift)[2].sum())
                for part in model.each()
            )
            if not math.isfinite(squares):  # of numbers whose squares no float holds
                return None
        parts = ((each, hits) for each, _, hits in held())
        return learned(parts, values, vectors, kinds or 2, squares)

    key = ("normal", model.view, place, model.bounds.regions_of(chosen), chosen if not kinds else None)  # fmt: skip
    values, vectors = model.shared.of(
        key, lambda: diagonal(np.sum([each.normal(kinds or 2) for each, _, _ in held()], axis=0))
    )
    regions = None if number is None else model.bounds.regions[number.name]
    of = ("shares", *key, asked, model.bounds.regions_of(asked), number, regions)
    learnt = model.shared.of(of, shares)
    if learnt is None:
        return 0.0, math.inf
    return learnt.total((each, hits, some) for each, some, hits in held())


def _hits(part: Model, asked: Condition, number: _Number | None) -> Floats:
    """What is counted or added up in each group, shape (g,)."""
    if number is None:
        return part.rows(asked)
    return part.expected(number.name, asked, number.shift)[1]


def _held(part: Model, place: int, chosen: Condition, kinds: int) -> tuple[Held, Floats]:
    """The rows of each kind in the groups of a part, and which share of each entry is chosen; only
    two kinds, the chosen ones and others, where values are not told apart.
    """
    if kinds:
        return part.held(place), part.chosen(part.view.believed[place], chosen)
    rows, some = part.view.rows.astype(np.float64), part.rows(chosen)
    count, kind = np.concatenate([some, rows - some]), np.repeat([1, 0], len(rows))
    return Held(np.tile(np.arange(len(rows)), 2), kind, count, rows), kind.astype(np.float64)


__all__ = ["crossed", "left_over", "middle_of"]
