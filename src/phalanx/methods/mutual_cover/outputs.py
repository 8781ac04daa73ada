# SPDX-License-Identifier: Apache-2.0
"""Random output tables of mutual cover: for every group and attribute, with which probability a
tuple publishes which value, at the least cost.
"""

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phalanx.errors import MethodError
from phalanx.methods.mutual_cover.kernels import exact_tables as exact_kernel
from phalanx.methods.mutual_cover.kernels import outputs as kernel

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_LARGEST: Final = 2**30
"""A delta whose parts are larger does not fit the kernels; it is tightened to one that does."""
_MANY_DIVISORS: Final = 720_720
"""The least common multiple of 1 .. 16: optimal tables are made of small fractions, which are whole
numbers of its multiples.
"""
_FINE: Final = 2**40
"""Exact tables are at least about as fine as this."""
_PROVEN: Final = 1e-9
"""A table is optimal where this part of its cost, or of a thousandth of the greatest distance a
tuple, could at most be saved.
"""
_FEW: Final = 64
"""Up to so many values covers are made when they pay; with more, the general solver gets there in
fewer steps.
"""
_SLACK: Final = 1e-9
"""How far weights may fall below zero in the second attempt."""
_ALONE: Final = 64
"""Below this many problems threads cost more than they save."""


@dataclass(frozen=True, eq=False)
class Problems:
    """Groups, each on one attribute: how many tuples have each of its k distinct original values,
    and how far these are from one another.
    """

    counts: Ints
    """The tuples of each class (distinct original value), all problems one after the other."""
    starts: Ints
    """Where each problem's classes begin, and the end, shape (problems + 1,)."""
    distances: Floats
    """From the value of a class to that of another, k * k per problem, row by row; 0 or more."""

    def __post_init__(self) -> None:
        if (
            len(self.starts) == 0
            or self.starts[0] != 0
            or self.starts[-1] != len(self.counts)
            or not (np.diff(self.starts) > 0).all()
        ):
            raise ValueError(
                "starts must rise from 0 to the number of classes, and every problem has a class"
            )
        if len(self.distances) != self.cells[-1]:
            raise ValueError(
                f"{len(self.distances)} distances are given and the problems have {self.cells[-1]}"
                " cells"
            )
        if len(self.counts) and self.counts.min() < 1:
            raise ValueError("a class without tuples is no class")
        if not (np.isfinite(self.distances).all() and (self.distances >= 0).all()):
            raise MethodError(
                "a distance between two values is negative, infinite or not a number; give"
                " distances of 0 or more."
            )

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def cells(self) -> Ints:
        """Where each problem's distances begin, and the end, shape (problems + 1,); tables stand in
        the same places.
        """
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(self.starts) ** 2)])

    @cached_property
    def tuples(self) -> Ints:
        """The tuples of each problem, shape (problems,)."""
        return (
            np.add.reduceat(self.counts, self.starts[:-1]) if len(self) else np.zeros(0, np.int64)
        )

    @classmethod
    def along(cls, places: Floats, counts: Ints, starts: Ints, scale: float = 1.0) -> "Problems":
        """Problems on an attribute whose values have ``places`` on a line, one per class; a
        distance is a difference over ``scale``.

        Whole places and a scale find more equal problems than scaled places, whose differences
        floating point rounds one way here and another there.
        """
        counts, starts = _integers(counts), _integers(starts)
        cells = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(starts) ** 2)])
        distances = np.empty(cells[-1])
        kernel.along(
            np.ascontiguousarray(places, dtype=np.float64), float(scale), starts, cells, distances
        )
        return cls(counts, starts, distances)

    @classmethod
    def between(cls, codes: Ints, matrix: Floats, counts: Ints, starts: Ints) -> "Problems":
        """Problems on an attribute with a ``matrix`` of distances between all its values, of which
        ``codes`` are those of the classes.
        """
        codes, counts, starts = _integers(codes), _integers(counts), _integers(starts)
        if len(codes) and not 0 <= codes.min() <= codes.max() < len(matrix):
            raise ValueError(
                f"a code is not one of the {len(matrix)} that the matrix of distances has"
            )
        cells = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(starts) ** 2)])
        distances = np.empty(cells[-1])
        kernel.between(
            codes, np.ascontiguousarray(matrix, dtype=np.float64), starts, cells, distances
        )
        return cls(counts, starts, distances)

    @classmethod
    def under(
        cls, codes: Ints, ancestors: npt.NDArray[np.int32], counts: Ints, starts: Ints
    ) -> "Problems":
        """Problems on an attribute with a tree: the node above every code on each level, shape
        (levels, domain); ``codes`` are those of the classes.

        A distance is the level on which two values meet, over that of the root.
        """
        codes, counts, starts = _integers(codes), _integers(counts), _integers(starts)
        cells = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(starts) ** 2)])
        distances = np.empty(cells[-1])
        kernel.under(codes, np.ascontiguousarray(ancestors), starts, cells, distances)
        return cls(counts, starts, distances)

    @classmethod
    def joined(cls, parts: Sequence["Problems"]) -> "Problems":
        """The problems of several, one after the other."""
        ends = np.cumsum([0, *(len(part.counts) for part in parts)])
        starts = [part.starts[:-1] + end for part, end in zip(parts, ends, strict=False)]
        counts, distances = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("counts", "distances")
        )
        return cls(counts, np.concatenate([*starts, ends[-1:]]), distances)

    def distinct(self) -> tuple["Problems", Ints]:
        """Each different problem once, and for every problem which of these it is, shape
        (problems,); as many counts and distances agree to the bit.
        """
        if len(self) == 0:
            return self, np.zeros(0, np.int64)
        prints, same = np.empty(len(self), np.uint64), np.empty(len(self), np.bool_)
        bits = (self.distances + 0.0).view(np.int64)
        kernel.fingerprints(self.counts, self.starts, bits, self.cells, prints)
        _, first, of = np.unique(prints, return_index=True, return_inverse=True)
        kernel.twins(self.counts, self.starts, bits, self.cells, first[of], same)
        alone = np.flatnonzero(~same)  # another problem has the same print by chance
        of[alone] = len(first) + np.arange(len(alone))
        return self.take(np.concatenate([first, alone])), of.astype(np.int64)

    def take(self, which: Ints) -> "Problems":
        """The problems ``which``, in that order."""
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(self.starts)[which])])
        counts = self.counts[ranges(self.starts[which], np.diff(starts))]
        distances = self.distances[ranges(self.cells[which], np.diff(starts) ** 2)]
        return Problems(counts, starts, distances)


@dataclass(frozen=True, eq=False)
class Tables:
    """The random output tables of problems, each different problem solved once."""

    problems: Problems
    """The different problems."""
    of: Ints
    """Which of these each problem is, shape (problems,)."""
    probabilities: Floats
    """Cell (i, j) of a table: with which probability a tuple of class i publishes the value of
    class j; in the places of the distances.
    """
    cost: Floats
    """What each different table costs, summed over its tuples."""
    bound: Floats
    """What any table of that problem costs at least, proven by the prices of its classes."""

    def table(self, problem: int) -> Floats:
        """The table of a problem, shape (k, k)."""
        return part(self.problems, self.probabilities, int(self.of[problem]))


def part(problems: Problems, cells: npt.NDArray[Any], which: int) -> npt.NDArray[Any]:
    """The part of ``cells`` that belongs to one of the ``problems``, shape (k, k)."""
    k = int(problems.starts[which + 1] - problems.starts[which])
    return cells[problems.cells[which] : problems.cells[which + 1]].reshape(k, k)


def solve(problems: Problems, delta: Fraction) -> Tables:
    """The random output tables of least cost that keep delta-probability: no tuple feeds more than
    ``delta`` of what all give to a value.

    Every table comes with a proof, a lower bound on the cost of any table, which meets its own cost
    up to rounding (where delta is nearly but not quite a simple fraction, such as 1/3 + 1e-9, up to
    some 1e-8 of it). The numbers are floating point ones; what is drawn from are those of
    :func:`rounded`. The number of threads has no influence on them.

    Raises MethodError where delta is above 1, or below 1/m for a group of m tuples: all of them
    together do not cover each other so well.

    Source: Li, Ma, Xi, Zhang, Xie, Shang, "MuCo", section 4; how we differ stands at the head of
    ``methods/mutual_cover/kernels/outputs.py``.

    >>> import numpy as np
    >>> two = Problems.along(np.array([30.0, 31.0]), np.array([2, 1]), np.array([0, 2]))
    >>> tables = solve(two, Fraction(1, 2))
    >>> tables.table(0).tolist(), tables.cost.tolist()
    ([[1.0, 0.0], [1.0, 0.0]], [1.0])
    """
    check_delta(problems, delta)
    different, of = problems.distinct()
    delta = fitting(delta, different)
    table, cost, bound = (
        np.zeros(different.cells[-1]),
        np.zeros(len(different)),
        np.zeros(len(different)),
    )
    arrays = (
        different.counts,
        different.starts,
        different.distances,
        different.cells,
        delta.numerator,
        delta.denominator,
    )

    def attempt(which: Ints, slack: float) -> None:
        in_threads(lambda some: kernel.least(*arrays, some, slack, table, cost, bound), which)

    few = (np.diff(different.starts) <= _FEW) | (
        different.tuples * delta.numerator == delta.denominator
    )
    cost[~few] = math.inf
    attempt(np.flatnonzero(few), 0.0)
    attempt(np.flatnonzero(few & ~_proven(different, cost, bound)), _SLACK)
    for t in np.flatnonzero(~_proven(different, cost, bound)).tolist():
        c, d = (
            different.counts[different.starts[t] : different.starts[t + 1]],
            part(different, different.distances, t),
        )
        other, prices = by_highs(c, d, float(delta))
        other_cost, other_bound = kernel.proven(c, d, float(delta), other, prices)
        bound[t] = max(bound[t], other_bound) if np.isfinite(bound[t]) else other_bound
        if other_cost < cost[t] or not np.isfinite(cost[t]):
            part(different, table, t)[:], cost[t] = other, other_cost
        if not np.isfinite(cost[t]):
            raise MethodError(
                f"no random output table was found for a group of {c.sum()} tuples with {len(c)}"
                " values; make groups smaller, or values coarser."
            )
    return Tables(different, of, table, cost, bound)


def rounded(
    problems: Problems, probabilities: Floats, delta: Fraction, denominator: int | None = None
) -> Ints:
    """The tables in whole numbers of 1/``denominator``, for which the promise holds exactly.

    Every row sums to the denominator, and ``n_ij <= delta * sum_h c_h n_hj`` holds in integers in
    every cell. ``probabilities`` are tables that keep that up to rounding, as those of
    :func:`solve`, in the places of the distances of ``problems``. Nearly all tables keep their
    cells of 0; where rounding needs room, rows give a few units to one more value. The denominator
    is :func:`denominator_of` where none is given.

    Raises MethodError where delta is above 1, or below 1/m for a group of m tuples, and where the
    denominator is below m or too large for exact sums.

    >>> import numpy as np
    >>> two = Problems.along(np.array([30.0, 31.0]), np.array([2, 1]), np.array([0, 2]))
    >>> rounded(two, solve(two, Fraction(1, 2)).probabilities, Fraction(1, 2), denominator=100).tolist()
    [100, 0, 100, 0]
    """
    check_delta(problems, delta)
    denominator = denominator_of(problems, delta) if denominator is None else denominator
    largest = int(problems.tuples.max(initial=1))
    if not 1 <= denominator < 2**62 // largest:
        raise MethodError(
            f"tables of {largest} tuples cannot be kept exactly with denominator {denominator};"
            f" give a number from 1 to {2**62 // largest - 1}."
        )
    delta = fitting(delta, problems)
    units, way = np.zeros(problems.cells[-1], np.int64), np.zeros(len(problems), np.int64)
    arrays = (
        problems.counts,
        problems.starts,
        problems.distances,
        problems.cells,
        np.ascontiguousarray(probabilities),
        delta.numerator,
        delta.denominator,
    )
    in_threads(
        lambda some: exact_kernel.exact(*arrays, denominator, some, units, way),
        np.arange(len(problems)),
    )
    if (way < 0).any():
        raise MethodError(
            f"{int((way < 0).sum())} random output table(s) cannot be made to keep delta = {delta}"
            f" exactly; their rows do not sum to 1, or the denominator {denominator} is too small."
        )
    return units


def denominator_of(problems: Problems, delta: Fraction) -> int:
    """A fine common denominator for the tables of ``problems``: one with many divisors, so that
    most tables need no rounding at all.
    """
    return denominator_for(int(problems.tuples.max(initial=1)), delta)


def denominator_for(tuples: int, delta: Fraction) -> int:
    """The same for tables of groups of at most so many ``tuples``."""
    base = math.lcm(_MANY_DIVISORS, delta.denominator)
    base = base if base <= _FINE else _MANY_DIVISORS
    room = min(_FINE, 2**61 // tuples)
    return base << max(0, (room // base).bit_length() - 1) if base <= room else room


def check_delta(problems: Problems, delta: Fraction) -> None:
    """Refuse a ``delta`` that no table can keep, before any work.

    Raises MethodError where delta is above 1, or below 1/m for a group of m tuples (Property 1 of
    the paper).
    """
    if delta > 1:
        raise MethodError(
            f"delta = {delta} bounds nothing, as it is about shares of a whole; give a number up"
            " to 1."
        )
    smallest = int(problems.tuples.min()) if len(problems) else 0
    if len(problems) and delta * smallest < 1:
        least = (
            f"at least {math.ceil(1 / delta)} tuples in every group"
            if delta > 0
            else "more tuples than there can be"
        )
        raise MethodError(
            f"delta = {delta} asks for {least} and a group has {smallest}; raise delta to at least"
            f" 1/{smallest}, or make groups larger."
        )


def by_highs(counts: Ints, distances: Floats, delta: float) -> tuple[Floats, Floats]:
    """One problem by the general solver HiGHS: its table, shape (k, k), and the prices of its
    classes, shape (k,).

    The paper's program with one row per class: k * k probabilities and the mass of every column,
    bound cell by cell.
    """
    import highspy

    k = len(counts)
    cell, i, j = np.arange(k * k), np.repeat(np.arange(k), k), np.tile(np.arange(k), k)
    rows = np.concatenate([i, k + j, 2 * k + cell, k + np.arange(k), 2 * k + cell])
    columns = np.concatenate([cell, cell, cell, k * k + np.arange(k), k * k + j])
    values = np.concatenate(
        [
            np.ones(k * k),
            counts[i].astype(np.float64),
            np.ones(k * k),
            np.full(k, -1.0),
            np.full(k * k, -delta),
        ]
    )
    order = np.lexsort((rows, columns))
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = k * k + k, 2 * k + k * k
    program.col_cost_ = np.concatenate([(counts[:, None] * distances).ravel(), np.zeros(k)])
    program.col_lower_, program.col_upper_ = (
        np.zeros(k * k + k),
        np.full(k * k + k, highspy.kHighsInf),
    )
    program.row_lower_ = np.concatenate(
        [np.ones(k), np.zeros(k), np.full(k * k, -highspy.kHighsInf)]
    )
    program.row_upper_ = np.concatenate([np.ones(k), np.zeros(k + k * k)])
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.concatenate(
        [[0], np.cumsum(np.bincount(columns, minlength=k * k + k))]
    )
    program.a_matrix_.index_, program.a_matrix_.value_ = rows[order], values[order]
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    options: dict[str, Any] = {
        "output_flag": False,
        "presolve": "off",
        "solver": "simplex",
        "threads": 1,
    }
    for option, value in (
        options | {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    ).items():
        solver.setOptionValue(option, value)
    solver.passModel(program)
    solver.run()
    solution = solver.getSolution()
    table = np.maximum(np.array(solution.col_value[: k * k]).reshape(k, k), 0.0)
    return table / table.sum(axis=1, keepdims=True), np.array(solution.row_dual[:k])


def _proven(problems: Problems, cost: Floats, bound: Floats) -> npt.NDArray[np.bool_]:
    """Whether each table is as good as optimal, by its own lower bound."""
    greatest = (
        np.maximum.reduceat(problems.distances, problems.cells[:-1])
        if len(problems)
        else np.zeros(0)
    )
    proven: npt.NDArray[np.bool_] = np.isfinite(cost) & (
        cost - bound <= _PROVEN * (cost + 1e-3 * problems.tuples * greatest)
    )
    return proven


def fitting(delta: Fraction, problems: Problems) -> Fraction:
    """The same where its parts fit the kernels, else a fraction just below that every group can
    still keep.
    """
    if delta.denominator <= _LARGEST:
        return delta
    return max(
        Fraction(math.floor(delta * _LARGEST), _LARGEST), Fraction(1, int(problems.tuples.min()))
    )


def in_threads(work: Callable[[Ints], None], which: Ints) -> None:
    """Do ``work`` on each part of ``which``, on all cores, dealt out so that each has as much to
    do.
    """
    threads = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if len(which) < _ALONE or threads == 1:
        work(which)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, which[part :: 4 * threads]) for part in range(4 * threads)]:
            done.result()


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """The integers from each start on, as many as its length, one after the other."""
    ends = np.cumsum(lengths)
    places: Ints = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
        starts - (ends - lengths), lengths
    )
    return places


def _integers(values: npt.NDArray[Any]) -> Ints:
    integers: Ints = np.ascontiguousarray(values, dtype=np.int64)
    return integers
