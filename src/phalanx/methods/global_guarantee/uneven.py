# SPDX-License-Identifier: Apache-2.0
"""How surely members of a group may be linked where its cut, into parts that were not equally
large, failed.

A failed cut into equal parts leaves each member of a group of n rows with c/n. Where n is no
multiple of two or three the parts were of m and m + 1 rows, and a failure says a little more of
some. Each part may hold q = floor(m / r) of a value of which a ratio r is demanded, and then

- where more of some value are there than all parts may hold, the cut fails whichever persons hold
  them: it says nothing;
- where no value has more rows than one part may hold, it did not fail;
- else no person is linked with more than min(c, q) / m, which is at most 1/r, and is reached
  (c = 2, q = 1).

So a series counts such an exposure as min(c, q) of m. All of it follows from what is published.
Source: our own; tests/worlds/test_published_global_guarantee.py counts all ways in which a value
can lie, and tests/worlds/test_balanced.py what the cuts say.
"""

from collections.abc import Sequence

import numpy as np

from phalanx.arrays import Ints, Singles, different
from phalanx.methods.global_guarantee.exposures import Demands
from phalanx.methods.global_guarantee.kernels.exposures import Hosts


def unit_of(demands: Demands, least: int) -> int:
    """The size that most groups will need."""
    finite = demands.base[np.isfinite(demands.base)]
    return max(least, int(np.ceil(finite.max(initial=1.0))))


def hedged(hosts: Hosts, place: Ints, cuts: Sequence[tuple[Demands, Ints]], least: int) -> Hosts:
    """``hosts`` as they expose their members where an uneven cut may have failed.

    ``place`` (n,): the group of every row; ``cuts``: what was demanded where which rows, all in a
    group, were cut; ``least``: the least size of any group.
    """
    v = max((len(demands.base) for demands, _ in cuts), default=1)
    of = np.repeat(np.arange(len(hosts.size)), np.diff(hosts.starts))
    key, ratio = of * max(v, 1) + hosts.value, np.ones(len(of))
    smaller = hosts.size // 2
    uneven = np.zeros(len(hosts.size), dtype=bool)
    for demands, rows in cuts:
        uneven[place[rows]] = True
        here = np.isin(of, place[rows])
        ratio[here] = demands.base[hosts.value[here]]
        group, asked, own = _own(demands, place, rows)
        asked += group * v
        at = np.minimum(np.searchsorted(key, asked), max(len(key) - 1, 0))
        has_key = np.zeros(len(asked), dtype=bool) if len(key) == 0 else key[at] == asked
        np.maximum.at(ratio, at[has_key], own[has_key])
    uneven &= (hosts.size % 2 != 0) & (hosts.size % 3 != 0) & (smaller >= least)
    most = np.floor(smaller[of] / ratio).astype(np.int64)
    most += (most + 1) * ratio <= smaller[of]  # as the cut compares, whatever a division rounds to
    failed, surely = np.zeros((2, len(uneven)), dtype=bool)
    failed[of[hosts.held > most]] = True
    surely[of[hosts.held > 2 * most]] = True
    tells = uneven & failed & ~surely
    return hosts._replace(
        held=np.where(tells[of], np.minimum(hosts.held, most), hosts.held),
        size=np.where(tells, smaller, hosts.size),
    )


def _own(demands: Demands, place: Ints, rows: Ints) -> tuple[Ints, Ints, Singles]:
    """The group, value and ratio of every demand that rows of a group have of their own; of rows
    with one history in one group, once.
    """
    histories = len(demands.starts) - 1
    group, history = np.divmod(
        different(place[rows] * histories + demands.history[rows])[0], histories
    )
    first = demands.starts[history]
    many = demands.starts[history + 1] - first
    entry = np.repeat(first - np.cumsum(many) + many, many) + np.arange(int(many.sum()))
    return np.repeat(group, many), demands.value[entry].astype(np.int64), demands.ratio[entry]
