# SPDX-License-Identifier: Apache-2.0
"""The privacy loss of one release, for composition: the whole privacy profile of the mechanism, in
each direction by itself, as floats a little above it.

The profile of a direction is ``sup over n`` of hockey-stick divergences, at every real epsilon. As
a function of e^epsilon it is convex and falling, so it belongs to one pair of distributions, which
dominates every cell whatever its number of rows (Zhu, Dong, Wang 2022); and composing dominating
pairs dominates every composition, whatever n each release meets (their Theorem 10). Below epsilon =
0 the profile of one direction is that of the other: H_{e^epsilon}(Q || P) = 1 - e^epsilon +
e^epsilon H_{e^-epsilon}(P || Q).

Between the points of a grid of losses the profile is replaced by its chords ("connect the dots",
Doroshenko and others 2022), which are above it. Beyond the grid nothing is left out: it ends where
the profile is constant, at ln(k (1 - beta)) and ln(1 - beta).
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from phalanx.accounting.binomials import log_pmf

Floats = npt.NDArray[np.float64]

_Side = Callable[[int, Fraction, Floats], Floats]

_RAISED = 1e-8
"""By so much of it the profile is raised, and by 1e-14 more for every row of the cell: far more
than floats lose in computing it and its second differences.
"""


def added(k: int, beta: Fraction, epsilons: Floats) -> Floats:
    """sup_n of the divergence of a cell with one row more from the cell, at each epsilon, raised;
    any real epsilons, shape (e,).
    """
    return _both_sides(_added, _removed, k, beta, epsilons)


def removed(k: int, beta: Fraction, epsilons: Floats) -> Floats:
    """The same with one row less."""
    return _both_sides(_removed, _added, k, beta, epsilons)


def span(k: int, beta: Fraction) -> tuple[float, float]:
    """Between these losses is every finite loss of an added row; those of a removed row are between
    their negatives.
    """
    lost = math.log1p(-float(beta)) if beta < Fraction(1, 2) else math.log(1 - beta)
    return lost, max(math.log(k) + lost, 0.0)


def _both_sides(own: _Side, other: _Side, k: int, beta: Fraction, epsilons: Floats) -> Floats:
    positive = epsilons >= 0
    result = np.empty_like(epsilons)
    result[positive] = own(k, beta, epsilons[positive])
    below = epsilons[~positive]
    result[~positive] = -np.expm1(below) + np.exp(below) * other(k, beta, -below)
    return np.minimum(result, 1.0)


def _added(k: int, beta: Fraction, epsilons: Floats) -> Floats:
    """sup_n A_n of ``tight``, raised, for epsilons of at least 0, term by term for all of them at
    once.
    """
    p, q = float(beta), float(1 - beta)
    gamma = p - q * np.expm1(-epsilons)
    trials = (
        np.floor((k - 1) / gamma) + 1
    )  # next to a jump n and its neighbour give the same divergence, so a float may choose
    term, some = _first_terms(trials, k, p, q)
    gamma, trials, rest = gamma[some], trials[some], q * np.exp(-epsilons[some])
    total = np.zeros_like(term)
    for j in range(k, int(trials.max(initial=0)) + 1):
        excess = np.where(gamma < 0.5, j - trials * gamma, trials * rest - (trials - j))
        total += term * np.maximum(excess, 0.0) / (trials * rest)
        term *= np.maximum(trials - j, 0.0) / (j + 1) * (p / q)
        if not np.any(term > total * 1e-17):
            break
    result = np.zeros_like(epsilons)
    result[some] = total * (1 + _RAISED + 1e-14 * trials)
    return result


def _removed(k: int, beta: Fraction, epsilons: Floats) -> Floats:
    """sup_n B_n of ``tight``, raised, for epsilons of at least 0; 0 from -ln(1 - beta) on."""
    p, q = float(beta), float(1 - beta)
    gamma = p - q * np.expm1(epsilons)
    near = np.maximum(
        gamma, 1e-9 * p
    )  # nearer to 0 n is beyond 1e9 (k - 1), and nothing is left, or k is 1, and n is 0
    n = np.floor((k - 1) / near)
    term, some = _first_terms(n, k - 1, p, q)
    gamma, n, rest = gamma[some], n[some], q * np.exp(epsilons[some])
    total = np.zeros_like(term)
    for j in range(k - 1, -1, -1):
        excess = np.where(gamma < 0.5, (n + 1) * gamma - j, n + 1 - j - (n + 1) * rest)
        total += term * np.maximum(excess, 0.0) / (n + 1 - j)
        term *= j / (n - j + 1) * (q / p)
        if not np.any(term > total * 1e-17):
            break
    result = np.zeros_like(epsilons)
    result[some] = total * (1 + _RAISED + 1e-14 * n)
    return result


def _first_terms(
    trials: Floats, j: int, p: float, q: float
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """P(Bin(trials, p) = j) where it is above 1e-304, and where that is: what is below is nothing
    against what transforms lose.
    """
    different, where = np.unique(trials, return_inverse=True)
    logs = (
        np.array([log_pmf(int(n), j, p, q) for n in different])[where]
        if len(different)
        else np.zeros(0)
    )
    some = logs > -700
    return np.exp(logs[some]), some
