# SPDX-License-Identifier: Apache-2.0
"""How often two things are true of a row that a release tells of its group apart, where groups were
dealt without regard to what the rows hold.
"""

from collections.abc import Iterator

import numpy as np

from phalanx.arrays import Floats
from phalanx.estimators.attributing import Held, diagonal, learned
from phalanx.estimators.conditions import All, Condition, Either
from phalanx.estimators.models import Model


def crossed(model: Model, where: Condition) -> tuple[float, float] | None:
    """How many rows a condition is expected to be true of, and the standard deviation of that; None where it
    is not one of two facets, or groups were not dealt.
    """
    if not model.view.dealt or not isinstance(where, All | Either):
        return None
    apart = next(model.each()).apart(where)
    if apart is None or len(apart) != 2:
        return None
    (kinds_at, chosen), (_, asked) = sorted(apart, key=lambda each: -model.kinds(each[0]))
    expected, deviation = _crossed(model, kinds_at, chosen, asked)
    if isinstance(where, Either):
        one, other = (sum(float(p.rows(c).sum()) for p in model.each()) for _, c in apart)
        expected = one + other - expected
    return expected, deviation


def _crossed(model: Model, place: int, chosen: Condition, asked: Condition) -> tuple[float, float]:
    """The same of rows of which ``chosen`` is true in the facet that tells kinds, and ``asked`` in the
    other one.
    """
    kinds = model.kinds(place)

    def held() -> Iterator[tuple[Held, Floats, Floats]]:
        for part in model.each():
            yield (*_held(part, place, chosen, kinds), part.rows(asked))

    key = ("kinds", model.view, place, chosen if not kinds else None, kinds)
    values, vectors = model.shared.of(
        key, lambda: diagonal(np.sum([each.normal(kinds or 2) for each, _, _ in held()], axis=0))
    )
    shares = learned(((each, hits) for each, _, hits in held()), values, vectors, kinds or 2)
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
