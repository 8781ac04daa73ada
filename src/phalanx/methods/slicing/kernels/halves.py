# SPDX-License-Identifier: Apache-2.0
"""What both halves of a bucket hold, and whether each keeps a rule by itself.

A row brings a value of each of several columns, and one cell or more: a pair of what is protected
and of what stands beside it, q. The cells of a row are of different q.

Throughout, ``table`` are the rows to cut, in buckets from ``start`` to ``stop - 1``; ``cells`` what
its cells stand for; ``halves`` the counts of both halves of a ``cut``, of which ``half`` is the
left one (0) or the right one (1); ``rule`` is what a bucket must keep.
"""

from typing import Any, NamedTuple

import numpy as np

from phalanx.arrays import Codes, Ints
from phalanx.kernels import njit
from phalanx.kernels.rule import FEW, FREQUENCY, NONE, Rule, Scratch, close, diverse, scratch_of
from phalanx.kernels.sorting import sort
from phalanx.methods.mondrian.kernels.cutting import Cut, Table

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


class Cells(NamedTuple):
    """Pairs (q, s) that occur, numbered in the order of q and then s."""

    of_row: Codes
    """The cell of every row; of several cells a row, of every row in turn."""
    q: Codes
    """Shape (cells,)."""
    s: Codes
    """Shape (cells,): the sensitive value."""
    first: Ints
    """Shape (qs + 1,): where the cells of each q begin, and the end."""


class Halves(NamedTuple):
    """Counts of the left half and of the right one; all zero between two cuts."""

    base: Ints
    """Shape (columns + 1,): where the values of each column begin in ``values``."""
    values: Codes
    """Shape (2, values): how often each column value stands in a half."""
    cells: Codes
    """Shape (2, cells)."""
    among: Codes
    """Shape (2, qs): how many rows have each q."""
    met: Codes
    """Shape (2, cells): first the cells that a half has."""
    cells_met: Ints
    """Shape (2,): how many these are."""
    rows: Ints
    """Shape (2,)."""
    counts: Ints
    """Shape (m,): of the sensitive values beside one q."""
    listed: Codes
    scratch: Scratch


@_kernel
def halves_of(cells: Cells, rule: Rule, widths: Ints) -> Halves:
    """Room for the halves of buckets; ``widths``: how many values each column has."""
    base = np.zeros(len(widths) + 1, np.int64)
    for j in range(len(widths)):
        base[j + 1] = base[j] + widths[j]
    m = len(rule.totals)
    return Halves(
        base,
        np.zeros((2, base[-1]), np.int32),
        np.zeros((2, len(cells.q)), np.int32),
        np.zeros((2, len(cells.first)), np.int32),
        np.empty((2, len(cells.q)), np.int32),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
        np.zeros(m, np.int64),
        np.empty(m, np.int32),
        scratch_of(m),
    )


@_kernel
def count_halves(
    table: Table, start: int, stop: int, cut: Cut, cells: Cells, halves: Halves
) -> None:
    """Count both halves of a bucket; below its attributes the table has the columns' values, and
    then the cells.
    """
    codes, d, columns = table.codes, len(table.offsets) - 1, len(halves.base) - 1
    base, values = halves.base, halves.values
    times, among, met, cells_met = halves.cells, halves.among, halves.met, halves.cells_met
    dealt = cut.dealt
    for i in range(start, stop):
        half = 1
        if codes[cut.attribute, i] <= cut.last:
            half = 0
        elif dealt > 0 and codes[cut.attribute, i] == cut.last + 1:
            half = 0
            dealt -= 1
        for j in range(columns):
            values[half, base[j] + codes[d + j, i]] += 1
        for line in range(d + columns, len(codes)):
            cell = codes[line, i]
            if times[half, cell] == 0:
                met[half, cells_met[half]] = cell
                cells_met[half] += 1
            times[half, cell] += 1
            among[half, cells.q[cell]] += 1
    halves.rows[0], halves.rows[1] = cut.left, stop - start - cut.left


@_kernel
def forget_halves(table: Table, start: int, stop: int, cells: Cells, halves: Halves) -> None:
    """Take back what :func:`count_halves` did."""
    d, columns = len(table.offsets) - 1, len(halves.base) - 1
    for half in range(2):
        for i in range(halves.cells_met[half]):
            cell = halves.met[half, i]
            halves.cells[half, cell] = 0
            halves.among[half, cells.q[cell]] = 0
        halves.cells_met[half] = 0
    for j in range(columns):
        for i in range(start, stop):
            value = halves.base[j] + table.codes[d + j, i]
            halves.values[0, value], halves.values[1, value] = 0, 0


@_kernel
def half_keeps(halves: Halves, half: int, cells: Cells, rule: Rule) -> bool:
    """Whether a half keeps the rule by itself, among the rows with each q."""
    times, among, counts, listed = halves.cells, halves.among, halves.counts, halves.listed
    simple = rule.distance == NONE and rule.diversity == FREQUENCY
    number = halves.cells_met[half]
    few = number < len(cells.q) // FEW
    if few and not simple:
        sort(halves.met[half, :number])
    for i in range(number):
        cell = halves.met[half, i]
        q = cells.q[cell]
        size = among[half, q]
        if simple:
            if times[half, cell] * rule.l_num > size * rule.l_den:
                return False
            continue
        if size < 0:  # this q is judged
            continue
        among[half, q] = -size
        distinct = np.int64(0)
        first, end = (i, number) if few else (cells.first[q], cells.first[q + 1])
        for at in range(first, end):
            other = halves.met[half, at] if few else at
            if cells.q[other] != q:  # of those that the half has, the next q's begin
                break
            if times[half, other] > 0:
                listed[distinct] = cells.s[other]
                counts[cells.s[other]] = times[half, other]
                distinct += 1
        holds = close(counts, listed, distinct, size, rule, halves.scratch) and diverse(
            counts, listed, distinct, size, rule, halves.scratch
        )
        for j in range(distinct):
            counts[listed[j]] = 0
        if not holds:
            return False
    return True


@_kernel
def keeps(lines: Codes, cells: Cells, rule: Rule) -> bool:
    """Whether rows keep the rule as one bucket; ``lines`` (m, n): their cells."""
    n, first = lines.shape[1], np.int64(0)
    nothing = np.empty(0, np.int32), np.empty(0, np.float64), np.empty(0, np.bool_)
    table = Table(lines, nothing[0], nothing[1], np.zeros(1, np.int64), nothing[2])
    halves = halves_of(cells, rule, np.zeros(0, np.int64))
    count_halves(table, first, n, Cut(0, len(cells.q), n, 0), cells, halves)  # all go left
    return bool(half_keeps(halves, first, cells, rule))
