# SPDX-License-Identifier: Apache-2.0
"""How many members join a box that grows around one of them before another person does.

Members in the box have joined, since it does not grow with them. So a box is all that is known of a
growing group, and what matters next is near it: seeds that are near each other look at what is near
them alone, and farther where that does not decide.
"""

from typing import Final, NamedTuple

import numpy as np

from phalanx.arrays import Bools, Floats, Ints

ROUNDING: Final = 1e-9
"""More than rounding costs a width or a demand."""
_LOST: Final = 1e-12
"""More than is lost where an extent is taken from a distance."""
_TOGETHER: Final = 16
"""So many seeds look together."""
_NEAR: Final = 64
"""So many times as many different rows, at least, are near them at first."""
_PLACES: Final = 1 << 18
"""So many places of rows beside boxes are held at once, in a processor's cache."""
_UNDECIDED: Final = -2


class Near(NamedTuple):
    """Where rows are, each place once, in the order of their first ones."""

    members: Floats
    """Shape (u, d)."""
    many: Ints
    """How many members stand at each place, shape (u,)."""
    others: Floats
    """Shape (o, d)."""
    reach: float
    """All that is not here is farther than this from the seeds."""


def joined(members: Floats, others: Floats) -> Ints:
    """How many members join each member, one after the other, before another person makes the box
    grow less; ties go to members, of these to the first. Shape (n,).
    """
    first, place, many = _places(members)
    all_of_them = Near(members[first], many, others[_places(others)[0]], np.inf)
    sizes = _sizes(all_of_them, np.arange(len(first)))
    return sizes[place] - 1


def _places(rows: Floats) -> tuple[Ints, Ints, Ints]:
    """The first row of each place, ascending; the number of each row's place; how many each has."""
    _, first, place, many = np.unique(
        rows, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return first[order], number[place.ravel()], many[order]


def _sizes(near: Near, seeds: Ints) -> Ints:
    """How many members are in the box of each seed in the end, _UNDECIDED where what is farther may
    matter.
    """
    sizes = np.full(len(seeds), _UNDECIDED)
    if len(seeds) > _TOGETHER:
        places = near.members[seeds]
        widest = int((places.max(axis=0) - places.min(axis=0)).argmax())
        by_place = np.argsort(places[:, widest], kind="stable")
        for half in np.array_split(by_place, 2):
            half.sort()
            some, kept = _around(near, places[half])
            sizes[half] = _sizes(some, np.searchsorted(kept, seeds[half]))
            if (sizes[half] == _UNDECIDED).mean() > 1 / 2:
                break  # among many attributes hardly anything is near
    left = np.flatnonzero(sizes == _UNDECIDED)
    step = max(1, _PLACES // max(len(near.members) + len(near.others), 1))
    for start in range(0, len(left), step):
        some_left = left[start : start + step]
        sizes[some_left] = _in_the_end(near, near.members[seeds[some_left]])
    return sizes


def _around(near: Near, seeds: Floats) -> tuple[Near, Ints]:
    """What is nearest to the box of some seeds, and which of the members that is."""
    low, high = seeds.min(axis=0)[None], seeds.max(axis=0)[None]
    far = [_wider(rows, low, high)[0] for rows in (near.members, near.others)]
    most = _NEAR * len(seeds)
    together = np.concatenate(far)
    if len(together) <= most:
        return near, np.arange(len(near.members))
    reach = min(near.reach, float(np.partition(together, most)[most]))
    members, others = (np.flatnonzero(away <= reach) for away in far)
    some = Near(near.members[members], near.many[members], near.others[others], reach)
    return some, members


def _in_the_end(near: Near, seeds: Floats) -> Ints:
    """The same of some seeds at once, by all that is ``near``."""
    sizes = np.full(len(seeds), _UNDECIDED)
    low, high, growing = seeds.copy(), seeds.copy(), np.arange(len(seeds))
    while len(growing):
        wider = _wider(near.members, low[growing], high[growing])
        inside = wider == 0
        wider[inside] = np.inf
        least = wider.min(axis=1)
        best = (wider <= least[:, None] + ROUNDING).argmax(axis=1)
        by_others = _wider(near.others, low[growing], high[growing]).min(axis=1, initial=np.inf)
        beyond = near.reach - (high - low)[growing].sum(axis=1) - _LOST
        stops: Bools = by_others < np.minimum(least, beyond) - ROUNDING
        stops |= np.isinf(least) & np.isinf(beyond)  # all have joined
        sizes[growing[stops]] = inside[stops] @ near.many
        grows = ~stops & (least < beyond) & (by_others >= least - ROUNDING)
        growing, best = growing[grows], near.members[best[grows]]
        low[growing], high[growing] = (
            np.minimum(low[growing], best),
            np.maximum(high[growing], best),
        )
    return sizes


def _wider(rows: Floats, low: Floats, high: Floats) -> Floats:
    """By how much each of some boxes, of shape (b, d), grows with each of some rows, shape (b,
    rows): attribute by attribute, of which there are few.
    """
    wider = np.zeros((len(low), len(rows)))
    for at, first, last in zip(rows.T, low.T[:, :, None], high.T[:, :, None], strict=True):
        wider += np.maximum(np.maximum(first - at, at - last), 0)
    return wider
