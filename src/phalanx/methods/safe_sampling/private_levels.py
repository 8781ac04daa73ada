# SPDX-License-Identifier: Apache-2.0
"""A level for every attribute, chosen from the table by differential privacy: the generalization
scheme of the exponential mechanism.

Source: Li, Qardaji, Su, section 3.4: an eps1-safe k-anonymization chooses its map by an
eps1-differentially private step, such as the exponential mechanism over all combinations of levels.
How we differ: the choice sees the whole table and not the sample. The sample is drawn afterwards,
fresh, so that what is published is one private answer after another about the same rows: the choice
costs epsilon_scheme, each sample what it costs under any fixed scheme, and the sum holds whatever
the accounting.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from phalanx.arrays import Codes, Ints
from phalanx.data.microdata import Microdata
from phalanx.errors import PlanError
from phalanx.methods.safe_sampling.axes import Axis, Cells
from phalanx.methods.safe_sampling.kernels import images as kernel
from phalanx.methods.safe_sampling.private_choice import UNIT, PrivateChoice
from phalanx.methods.safe_sampling.schemes import Axes, FixedScheme

MOST_NODES: Final = 20_000
"""So many combinations of levels are weighed against each other, at most."""
_STEEPNESS: Final = 3
"""Information counts by this power."""
_LARGEST_KEY: Final = 2**62
"""Keys below this are numbers of 64 bits; numbered without gaps, two together are below it."""


def choose_levels(
    axes: Axes, microdata: Microdata, epsilon: Fraction, crowd: int, times: Ints | None = None
) -> FixedScheme:
    """A scheme of levels that is likely to bring many rows through with much information; the
    choice is epsilon-differentially private.

    ``axes``: the levels that the plan fixes, None where one is chosen; ``crowd``: how many rows a
    cell needs to come through, which is ceil(k / beta); ``times`` (n,): how many rows of the table
    each row of ``microdata`` stands for, None where each is one. The choice is a noisy maximum over
    :func:`qualities`, and nothing else of the table has a part in it.

    Raises PlanError where nothing is left to choose, where there are more than 20,000 combinations,
    or where no noise keeps epsilon.
    """
    if all(level is not None for level in axes.levels.values()):
        raise PlanError(
            "[method] epsilon_scheme pays for a choice of levels, and [method.scheme] fixes them"
            " all; take some out, or set epsilon_scheme = 0."
        )
    nodes = combinations(axes)
    choice = PrivateChoice(epsilon, int(weights(axes).max()))
    chosen = nodes[choice.among(qualities(axes, microdata, crowd, times))]
    return FixedScheme(axes.axes, tuple(int(level) for level in chosen), "levels", epsilon)


def qualities(axes: Axes, microdata: Microdata, crowd: int, times: Ints | None = None) -> Ints:
    """How good each combination of levels is, as a whole number: its weight times the rows in
    excess of a crowd, shape (combinations,).

    ``q(g) = w(g) * sum over cells c of max(0, n_c - crowd)``, where w(g) is what the levels of g
    keep of the information (:func:`weights`), and n_c counts the rows in cell c.

    **Sensitivity**: adding a row raises every q(g) by 0 or by w(g), so all scores move the same
    way, by no more than the largest weight. Proof: g maps the row to one cell by the row alone, so
    one n_c grows by 1 and the other counts stay; max(0, n_c - crowd) grows by 1 if n_c was crowd or
    more, else not at all; w(g) is made of what is declared. Everything is a whole number, so that
    the program's scores are those of the proof.
    """
    return weights(axes) * _excesses(axes, microdata, crowd, times)


def combinations(axes: Axes) -> Ints:
    """All combinations of levels, a row each, in the order of the attributes; a level that is fixed
    is the same in all of them.
    """
    offered = [_offered(axis, axes.levels[axis.name]) for axis in axes.axes]
    if (many := math.prod(len(levels) for levels in offered)) > MOST_NODES:
        raise PlanError(
            f"[method.scheme] leaves {many:,} combinations of levels, and {MOST_NODES:,} can be"
            " weighed; fix the levels of some attributes, or declare fewer."
        )
    return np.array(list(itertools.product(*offered)), dtype=np.int64)


def weights(axes: Axes) -> Ints:
    """The cube of what each combination of levels keeps of the information, summed over the
    attributes, as a part of the most that there may be, in units of 2^-16 for each attribute; at
    least 1, and the same for all tables.

    The cube rewards detail beside rows. That makes errors of counts smaller than the sum itself does
    on two of four tables, and mostly no greater on the others
    (``experiments/safe_sampling/scores.py``).
    """
    of_level = [
        [
            math.floor(UNIT * axis.information(level))
            for level in _offered(axis, axes.levels[axis.name])
        ]
        for axis in axes.axes
    ]
    most = (UNIT * len(axes.axes)) ** (_STEEPNESS - 1)
    return np.array(
        [max(1, sum(kept) ** _STEEPNESS // most) for kept in itertools.product(*of_level)],
        dtype=np.int64,
    )


def _offered(axis: Axis, fixed: int | None) -> range:
    """The levels of an attribute among which there is a choice."""
    return range(axis.lowest, axis.top + 1) if fixed is None else range(fixed, fixed + 1)


@dataclass(frozen=True, eq=False)
class _Step:
    """One attribute of the roll-up. Its cells at the lowest level, together with those of the
    attributes after it, are numbered as tails.
    """

    cell: Ints
    """The lowest cell of every tail."""
    rest: Ints
    """What is left of every tail after this attribute: a tail of the next step."""
    rests: int
    """How many of those there are."""
    upward: list[Codes]
    """For each level on offer, the cell in which every cell of the level below lies; the lowest lie
    in themselves.
    """
    sizes: list[int]
    """How many cells each level has."""


def _excesses(axes: Axes, microdata: Microdata, crowd: int, times: Ints | None) -> Ints:
    """The sum over all cells of max(0, n_c - crowd), for every combination of levels.

    Rows that agree at the lowest levels are counted once. Then, attribute by attribute and level by
    level, cells grow, and what has become equal is added up, so that the work shrinks as the cells
    grow.
    """
    open_axes = [axis for axis in axes.axes if axes.levels[axis.name] is None]
    offered = [
        [axis.cells(microdata.columns[axis.name].domain, level) for level in _offered(axis, None)]
        for axis in open_axes
    ]
    order = sorted(range(len(open_axes)), key=[-cells[0].count for cells in offered].__getitem__)
    tail, tails = np.zeros(microdata.rows, dtype=np.int64), 1
    steps: list[_Step] = []
    for i in reversed(order):
        cell = offered[i][0].of_code[microdata.columns[open_axes[i].name].codes].astype(np.int64)
        numbered, first = kernel.number(cell * tails + tail)
        steps.insert(
            0,
            _Step(
                cell[first],
                tail[first],
                tails,
                _upward(offered[i]),
                [cells.count for cells in offered[i]],
            ),
        )
        tail, tails = numbered, len(first)
    head, heads = np.zeros(microdata.rows, dtype=np.int64), 1
    for axis in axes.axes:
        if (level := axes.levels[axis.name]) is not None:
            cells = axis.cells(microdata.columns[axis.name].domain, level)
            head, first = kernel.number(
                head * cells.count + cells.of_code[microdata.columns[axis.name].codes]
            )
            heads = len(first)
    tuples, first = kernel.number(head * tails + tail)
    excess = np.zeros([len(step.sizes) for step in steps], dtype=np.int64)
    counts = np.bincount(tuples, weights=times).astype(
        np.int64
    )  # exact: fewer rows than a float can count
    _roll_up(head[first], heads, tail[first], counts, steps, crowd, excess)
    return np.transpose(excess, np.argsort(order)).ravel()


def _upward(offered: list[Cells]) -> list[Codes]:
    """For each level, the cell in which every cell of the level below lies; cells of a level lie in
    one cell of the next.
    """
    upward = [np.arange(offered[0].count, dtype=np.int32)]
    for below, above in itertools.pairwise(offered):
        lies_in = np.zeros(below.count, dtype=np.int32)
        lies_in[below.of_code] = above.of_code
        upward.append(lies_in)
    return upward


def _roll_up(
    head: Ints, heads: int, tail: Ints, counts: Ints, steps: list[_Step], crowd: int, excess: Ints
) -> None:
    """Fill in ``excess``, of which the axes are the attributes that are left.

    Different tuples, with their ``counts``: the cells that are settled (``head``, below ``heads``),
    and the lowest ones of the attributes that are left (``tail``).
    """
    step, *later = steps
    cell, rest = step.cell[tail], step.rest[tail]
    if heads * max(step.sizes) >= _LARGEST_KEY:
        head, first = kernel.number(head)
        heads = len(first)
    for i, (upward, size) in enumerate(zip(step.upward, step.sizes, strict=True)):
        cell = upward[cell].astype(np.int64)
        if i > 0:
            settled = head * size + cell
            if heads * size * step.rests >= _LARGEST_KEY:
                settled, _ = kernel.number(settled)
            merged, first = kernel.number(settled * step.rests + rest)
            counts = np.bincount(merged, weights=counts, minlength=len(first)).astype(
                np.int64
            )  # exact: fewer rows than a float can count
            head, cell, rest = head[first], cell[first], rest[first]
        if later:
            _roll_up(head * size + cell, heads * size, rest, counts, later, crowd, excess[i])
        else:
            excess[i] = np.maximum(0, counts - crowd).sum()
