# SPDX-License-Identifier: Apache-2.0
"""The steps of the simplex method over covers, which all kernels of random output tables share.

A cover of a value is a column of mass 1: weights w_i of classes with sum_i c_i w_i = 1 and 0 <= w_i
<= delta. The best one takes the classes that cost least, each as far as delta goes. Of a basis of
covers the inverse is kept. Every function here releases the lock.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phalanx.kernels import njit

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_PIVOT: Final = 1e-9
"""A pivot below this part of the greatest is taken for zero."""
_EQUAL: Final = 1e-12
"""Weights that differ by less are equal."""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def price(
    c: Ints, d: Floats, delta: float, u: Floats, j: int, order: Ints, reduced: Floats
) -> float:
    """What the best cover of value ``j`` costs more than its classes' prices; ``order`` becomes the
    classes by what a unit of them costs.

    ``c`` are the tuples of the classes, ``d`` the distances, ``delta`` the greatest weight, ``u``
    the prices of the classes; ``reduced`` is filled with what a unit of each class costs more than
    its price.
    """
    k = len(c)
    for i in range(k):
        reduced[i] = d[i, j] - u[i] / c[i]
    for x in range(1, k):  # the order of last time is nearly the order of now
        i = order[x]
        r = reduced[i]
        y = x - 1
        while y >= 0 and reduced[order[y]] > r:
            order[y + 1] = order[y]
            y -= 1
        order[y + 1] = i
    left, cost = 1.0, 0.0
    for x in range(k):
        i = order[x]
        part = min(left, delta * c[i])
        cost += part * reduced[i]
        left -= part
        if left <= 0.0:
            break
    return cost


@_kernel
def cover(c: Ints, delta: float, order: Ints, w: Floats) -> None:
    """The cover that takes classes of ``c`` tuples in ``order``, each as far as ``delta`` goes,
    into ``w``.
    """
    w[:] = 0.0
    left = 1.0
    for x in range(len(c)):
        i = order[x]
        if delta * c[i] >= left:
            w[i] = left / c[i]
            return
        w[i] = delta
        left -= delta * c[i]


@_kernel
def invert(basis: Floats, inverse: Floats, work: Floats) -> bool:
    """Fill ``inverse`` with that of the matrix whose columns are the rows of ``basis``; False where
    there is none worth the name. ``work`` is overwritten.
    """
    k = len(basis)
    for i in range(k):
        for b in range(k):
            work[i, b] = basis[b, i]
            inverse[i, b] = 1.0 if i == b else 0.0
    for step in range(k):
        best = step
        for i in range(step + 1, k):
            if abs(work[i, step]) > abs(work[best, step]):
                best = i
        pivot = work[best, step]
        if abs(pivot) < 1e-13:
            return False
        for b in range(k):
            work[step, b], work[best, b] = work[best, b], work[step, b]
            inverse[step, b], inverse[best, b] = inverse[best, b], inverse[step, b]
        for b in range(k):
            work[step, b] /= pivot
            inverse[step, b] /= pivot
        for i in range(k):
            if i != step and work[i, step] != 0.0:
                factor = work[i, step]
                for b in range(k):
                    work[i, b] -= factor * work[step, b]
                    inverse[i, b] -= factor * inverse[step, b]
    return True


@_kernel
def leaves(x: Floats, inverse: Floats, step: Floats, slack: float) -> int:
    """The basic cover that goes first when another comes in, or -1.

    ``x`` are the weights of the basic covers, ``inverse`` is that of the basis, and ``step`` by how
    much each weight falls for one of what comes in. Of equals the lexicographically least, so that
    the method never turns in a circle. With ``slack``, weights may fall that far below zero for a
    greater pivot, which keeps the inverse good where covers are nearly alike.
    """
    k = len(x)
    pivot = max(_PIVOT * step.max(), 0.0)
    out = -1
    if slack > 0.0:
        reach = np.inf
        for b in range(k):
            if step[b] > pivot:
                reach = min(reach, (max(x[b], 0.0) + slack) / step[b])
        for b in range(k):
            if step[b] > pivot and x[b] <= reach * step[b] and (out < 0 or step[b] > step[out]):
                out = b
        return out
    for b in range(k):
        if step[b] <= pivot:
            continue
        if out < 0:
            out = b
            continue
        difference = x[b] / step[b] - x[out] / step[out]
        column = 0
        while abs(difference) <= _EQUAL and column < k:
            difference = inverse[b, column] / step[b] - inverse[out, column] / step[out]
            column += 1
        if difference < 0.0:
            out = b
    return out


@_kernel
def inverted(basis: Floats, sums: Floats, inverse: Floats, work: Floats, x: Floats) -> bool:
    """Make ``inverse`` and the weights ``x`` of the basic covers anew from the ``basis``; False
    where it has no inverse.

    ``sums`` is what the rows are to sum to; ``work`` is overwritten.
    """
    if not invert(basis, inverse, work):
        return False
    for b in range(len(x)):
        x[b] = 0.0
        for i in range(len(x)):
            x[b] += inverse[b, i] * sums[i]
    return True
