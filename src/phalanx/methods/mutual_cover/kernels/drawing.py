# SPDX-License-Identifier: Apache-2.0
"""Drawing what is published from random output tables in whole numbers, so that every row changes.

Source: Li, Ma, Xi, Zhang, Xie, Shang, "MuCo", section 4. The coupling is systematic sampling of the
attributes that change: each has a part of a line that is as long as its probability to change, and
one random point, with all points at whole distances from it, hits those that do. So every attribute
changes with exactly the probability that its table says, and at least as many change as the parts
are long in all, rounded down.

No more attributes are laid along the line than it takes for ``changes`` of them to be certain; all
others are drawn each by itself. Which one is the first on the line is random for every tuple. So a
row tells as little as it can of whose it is not: along a line of all attributes nearly always as
many would change, and an adversary could pass over the rows in which more or fewer do.

All numbers are whole: what is drawn has exactly the probabilities of the tables, given uniform
words.
"""

from typing import NamedTuple

from phalanx.arrays import Ints
from phalanx.kernels import njit
from phalanx.kernels.picking import pick


class Law(NamedTuple):
    """What tuples are drawn by."""

    table: Ints
    """The table of each tuple on each attribute, shape (n, d)."""
    starts: Ints
    """Where the classes of a table begin."""
    cells: Ints
    """Where its cells begin."""
    units: Ints
    """The cells of all tables."""
    denominator: int
    """What a row of a table sums to."""
    order: Ints
    """How attributes are laid along the line, shape (d,)."""
    changes: int
    """The line ends where this many changes are certain."""


class Chances(NamedTuple):
    """What one tuple after the other is drawn with."""

    first: Ints
    """The place in the order from which attributes are laid along the line; uniform, shape (n,)."""
    point: Ints
    """Uniform below the denominator, shape (n,)."""
    draws: Ints
    """Random numbers of 0 .. 2^63-1, one for each value that is drawn and a few more."""


@njit(cache=True, nogil=True, fastmath=False)
def _value(units: Ints, row: int, k: int, own_class: int, number: int) -> int:
    """The class that a ``number`` below what a tuple gives to others falls on; ``own_class`` is passed
    over, -1 for none. Its row of the table begins at ``row``.
    """
    j = 0
    while True:
        part = 0 if j == own_class else units[row + j]
        if number < part or j == k - 1:
            return j
        number -= part
        j += 1


@njit(cache=True, nogil=True, fastmath=False)
def coupled(own: Ints, law: Law, chances: Chances, drawn: Ints) -> int:
    """Fill ``drawn`` (n, d) with the classes that the tuples publish, ``law.changes`` of which are
    others where the tables say so.

    ``own`` (n, d): the tuples' classes, drawn by the ``law`` with these ``chances``. Returns how
    many of the draws were used.
    """
    table, starts, cells, units, denominator, order, changes = law
    at = 0
    for r in range(len(own)):
        begin, point = 0, chances.point[r]
        for place in range(len(order)):
            a = order[(chances.first[r] + place) % len(order)]
            t, i = table[r, a], own[r, a]
            k = starts[t + 1] - starts[t]
            row = cells[t] + i * k
            if begin >= changes * denominator:
                number, at = pick(denominator, chances.draws, at)
                drawn[r, a] = _value(units, row, k, -1, number)
                continue
            end = begin + denominator - units[row + i]
            steps = (begin - point + denominator - 1) // denominator if begin > point else 0
            if point + steps * denominator < end:
                number, at = pick(end - begin, chances.draws, at)
                drawn[r, a] = _value(units, row, k, i, number)
            else:
                drawn[r, a] = i
            begin = end
    return at
