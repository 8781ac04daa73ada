# SPDX-License-Identifier: Apache-2.0
"""How often two things are true of a row that a release tells of its group apart, where groups were
dealt without regard to what the rows hold.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from phalanx.arrays import Floats, Ints
from phalanx.estimators.attributing import Held, diagonal, learned
from phalanx.estimators.conditions import All, Condition, Either
from phalanx.estimators.models import Model

_FEW: Final = 12
"""Of more kinds, two together are looked at, too: those that are asked about, and all others."""


def crossed(model: Model, where: Condition) -> tuple[float, float] | None:
    """How many rows a condition is expected to be true of, and the standard deviation of that; None where it
    is not one of two facets, or groups were not dealt.
    """
    if not model.view.dealt or not isinstance(where, All | Either):
        return None
    apart = next(model.each()).apart(where)
    if apart is None or len(apart) != 2:
        return None
    if not all(_is_told(model, condition) for _, condition in apart):
        return None
    (place, chosen), (_, asked) = sorted(apart, key=lambda each: -len(_kinds(model, each[0])))
    kinds = len(_kinds(model, place))
    ways = [_crossed(model, place, chosen, asked, kinds)]
    if kinds > _FEW:  # kinds of which half are off together are not off by chance
        ways.append(_crossed(model, place, chosen, asked, 0))
    expected = ways[0][0]
    deviation = max(abs(way[0] - expected) + way[1] for way in ways)
    if isinstance(where, Either):
        one, other = (sum(float(p.rows(c).sum()) for p in model.each()) for _, c in apart)
        expected = one + other - expected
    return expected, deviation


def _is_told(model: Model, condition: Condition) -> bool:
    """Whether it is certain of how many rows of each group a condition is true."""
    bounds = (part.bounds.rows(condition) for part in model.each())
    return all(bool((low == high).all()) for low, high in bounds)


def _kinds(model: Model, place: int) -> Ints:
    """The kinds of rows that a facet tells apart, where it has no other attribute."""
    alone = len(next(model.each()).view.believed[place].ends) == 1
    return model.kinds(place) if alone else np.zeros(0, dtype=np.int64)


def _crossed(
    model: Model, place: int, chosen: Condition, asked: Condition, kinds: int
) -> tuple[float, float]:
    """The same of rows of which ``chosen`` is true in the facet that tells so many kinds, or only these
    two, and ``asked`` in the other one.
    """

    def held() -> Iterator[tuple[Held, Floats, Floats]]:
        for part in model.each():
            yield (*_held(part, place, chosen, kinds), part.rows(asked))

    key = ("normal", model.view, place, model.bounds.regions_of(chosen), chosen if not kinds else None)  # fmt: skip
    values, vectors = model.shared.of(
        key, lambda: diagonal(np.sum([each.normal(kinds or 2) for each, _, _ in held()], axis=0))
    )
    of = ("shares", *key, asked, model.bounds.regions_of(asked))
    shares = model.shared.of(
        of, lambda: learned(((each, hits) for each, _, hits in held()), values, vectors, kinds or 2)
    )
    return shares.total((each, hits, some) for each, some, hits in held())


def _held(part: Model, place: int, chosen: Condition, kinds: int) -> tuple[Held, Floats]:
    """The rows of each kind in the groups of a part, and which share of each entry is chosen; only
    two kinds, the chosen ones and others, where values are not told apart.
    """
    if kinds:
        return part.held(place), part.chosen(part.view.believed[place], chosen)
    rows, some = part.view.rows.astype(np.float64), part.rows(chosen)
    count, kind = np.concatenate([some, rows - some]), np.repeat([1, 0], len(rows))
    return Held(np.tile(np.arange(len(rows)), 2), kind, count, rows), kind.astype(np.float64)


__all__ = ["crossed"]
