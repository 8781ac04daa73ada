# SPDX-License-Identifier: Apache-2.0
"""Tables of large groups, in which all attributes at once are too many: what is missing of a change
is put on one attribute, where it costs least.
"""

import math
from fractions import Fraction
from typing import Final

import numpy as np

from phalanx.methods.mutual_cover.kernels import joint_outputs as kernel
from phalanx.methods.mutual_cover.layout import Layout
from phalanx.methods.mutual_cover.outputs import Floats, Ints, part

LARGE: Final = 320
"""Groups with more classes and tuple types than this are large: the time of all attributes at once
grows with the cube of their number.
"""
_LESS: Final = 1e-9
"""By so much less than it may be is an own value's probability, which leaves room for rounding."""
_ATTEMPTS: Final = ((10.0, 0.0), (10.0, 1e-9))
"""How dear it is not to cover a class, and how far weights may fall below zero, at first and where
that brought nothing.
"""


def change_by_turns(layout: Layout, delta: Fraction, changes: int, g: int, table: Floats) -> float:
    """Change the tables of group ``g`` so that own values have at most d - ``changes`` of d rows
    together; returns their cost, infinite where it cannot.

    ``table`` holds the tables of every attribute by itself, which cost least and change too little.
    For each change in turn one more attribute is solved anew: a class has to change as often as the
    tuple of it that changes least elsewhere needs. The attribute is the one on which this costs
    least.
    """
    problems, (types, first), d = layout.problems, layout.types, layout.attributes
    tables = [a * layout.groups + g for a in range(d)]
    counts = [problems.counts[problems.starts[p] : problems.starts[p + 1]] for p in tables]
    distances = [np.ascontiguousarray(part(problems, problems.distances, p)) for p in tables]
    found = [part(problems, table, p) for p in tables]
    own, left = types[first[g] : first[g + 1]], list(range(d))
    for turn in range(1, changes + 1):
        stays = np.stack([np.diagonal(p)[own[:, a]] for a, p in enumerate(found)], axis=1)
        others = {a: d - turn - (stays.sum(axis=1) - stays[:, a]) for a in left}
        solved = {a: _capped(counts[a], distances[a], own[:, a], others[a], delta) for a in left}
        dearer = {
            a: cost - float((counts[a][:, None] * distances[a] * found[a]).sum())
            for a, (cost, _) in solved.items()
        }
        best = min(left, key=dearer.__getitem__, default=-1)
        if best < 0 or not math.isfinite(dearer[best]):
            return math.inf
        found[best][:] = solved[best][1].reshape(found[best].shape)
        left.remove(best)
    return sum(
        float((c[:, None] * distance * p).sum())
        for c, distance, p in zip(counts, distances, found, strict=True)
    )


def _capped(
    counts: Ints, distances: Floats, own: Ints, room: Floats, delta: Fraction
) -> tuple[float, Floats]:
    """The tables of one attribute in which the own value of every tuple (its class in ``own``) has
    at most what there is ``room`` for, and their cost.
    """
    cap = np.ones(len(counts))
    np.minimum.at(cap, own, room)
    table = np.zeros(len(counts) ** 2)
    if (cap < -_LESS).any():
        return math.inf, table
    cap = np.where(cap < 1, np.maximum(cap - _LESS, 0.0), 1.0)
    capped = np.flatnonzero(cap < 1)
    for dearness, slack in _ATTEMPTS:
        cost = kernel.least_capped(
            counts,
            distances.ravel(),
            capped,
            cap[capped],
            delta.numerator,
            delta.denominator,
            dearness,
            slack,
            table,
        )
        if math.isfinite(cost):
            return float(cost), table
    return math.inf, table
