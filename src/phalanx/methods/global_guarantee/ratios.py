# SPDX-License-Identifier: Apache-2.0
"""How large a group must be for what it holds of a value: the strategies of the global guarantee
(Wong et al., Section 6) and a better one.

A person's *survival* P of a value is the probability that no release so far linked them to it;
``r`` is a group's size over the rows with the value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import asinh, exp, expm1, inf, log, log1p, sqrt
from typing import Final, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from phalanx.arrays import Floats, Integers
from phalanx.release.evidence.exposures import SCALE

_MARGIN: Final = 1e-10
"""Ratios are rounded up by this part, far more than what floating point loses; groups are checked
in whole numbers all the same.
"""
_TIE: Final = 1 - 1e-6
"""What a strategy asks beyond the least is rounded down by as much, more than what is rounded up of
a ratio in single precision, so that 6 is not taken for 6.0000005, and so for 7 members.
"""
_LEAST: Final = 1e-9
"""Weights below this part of the first no longer change what is spent first."""
_LONGEST: Final = 400
"""So many exposures are looked ahead at most."""
_LOWEST: Final = 0.2
"""No exposure is taken for less likely than this: the few who are exposed again and again would
otherwise need groups of hundreds.
"""
_WEIGHT: Final = 4.0
"""So many observations what is taken for granted counts for."""
_GRID: Final = 4096


def nlow(survival: npt.ArrayLike, l: Fraction) -> Floats:
    """The least ratio that keeps the promise now (Theorem 1): l P / (l P - (l - 1)); infinite once
    l P <= l - 1.

    ``survival`` (n,) in [0, 1]; exactly ``l`` at 1, or a trifle more where survival, carried in
    whole parts and rounded down, would fall below 1 - 1/l.

    >>> nlow([1.0, 9 / 16], Fraction(2)).round(6).tolist()
    [2.0, 9.0]
    """
    p, times = np.asarray(survival, dtype=np.float64), float(l.numerator)
    # l P comes near l - 1: without its last bits, which are added afterwards, nothing is rounded.
    first = p.astype(np.float32).astype(np.float64)
    left = (times * first - float(l.numerator - l.denominator)) + times * (p - first)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(left > 0, times * p / left * (1 + _MARGIN), np.inf)
    fresh = (
        float(l)
        if Fraction(float(l)) >= l and SCALE % l.numerator == 0
        else np.nextafter(float(l), inf)
    )
    return cast("Floats", np.where(p == 1, fresh, ratio))


def constant_ratio(l: Fraction, exposures: int) -> float:
    """n_c = 1 / (1 - (1 - 1/l)^(1/k')): spends the whole promise in k' equal steps, and no smaller
    largest group is possible (Theorem 4).

    >>> round(constant_ratio(Fraction(2), 20), 6)
    29.356789
    """
    return -1 / expm1(log1p(-1 / float(l)) / exposures)


class Strategy(Protocol):
    """Says which ratio a group must have for a member, given the least that keeps the promise
    (``nlow``), the member's survival of the value, in parts of SCALE, and in how many releases they
    were linked to it.
    """

    def beyond(self, least: Floats, survival: Integers, times: Integers) -> Floats:
        """The demanded ratios, shape (n,), never below the ``least``; infinite where the value may
        not be near the person any more.
        """


@dataclass(frozen=True)
class ConstantRatio:
    """The same ratio for up to ``horizon`` exposures (Section 6.1); afterwards what the promise
    leaves.
    """

    l: Fraction
    horizon: int

    def beyond(self, least: Floats, survival: Integers, times: Integers) -> Floats:
        """The larger of n_c and the least."""
        del survival, times
        return np.maximum(constant_ratio(self.l, self.horizon) * _TIE, least)


@dataclass(frozen=True)
class Geometric:
    """``alpha`` times the least ratio (Section 6.2), so that something is always left."""

    l: Fraction
    alpha: float

    def beyond(self, least: Floats, survival: Integers, times: Integers) -> Floats:
        """Alpha times the least."""
        del survival, times
        return np.maximum(self.alpha * _TIE * least, least)


@dataclass(frozen=True)
class Adaptive:
    """Spends a person's budget so that the expected size of their groups is least, given how likely
    further exposures are.

    With x = -ln(1 - 1/r) the promise is that the x of all exposures add up to at most -ln(1 - 1/l).
    The sizes that minimise the sum of w_j r_j, where w_j is the probability that the j-th exposure
    from now on takes place, satisfy w_j = lambda 4 sinh(x_j / 2)^2; lambda is found so that the
    budget is spent. Both strategies of the paper are feasible points of this problem; ours is
    recomputed at every exposure from what is really left.
    """

    l: Fraction
    again: tuple[float, ...]
    """The probability that a person who was linked to a value in 1, 2, … releases will be once
    more; the last one holds for all further ones.
    """

    def beyond(self, least: Floats, survival: Integers, times: Integers) -> Floats:
        """The ratio of the next exposure, for persons with these ``times`` behind them."""
        with np.errstate(divide="ignore", invalid="ignore"):
            budget = np.log(survival / SCALE) - log1p(-1 / float(self.l))
        ratios = np.full(len(least), inf)
        able = np.isfinite(least) & (budget > 0)
        kinds = np.minimum(times, len(self.again))
        for kind in np.unique(kinds[able]):
            here = (kinds == kind) & able
            ratios[here] = _first_ratio(budget[here], weights(self.again, int(kind)))
        return np.maximum(ratios * _TIE, least)


def at_most(times: float, ratio: Floats, least: Floats) -> Floats:
    """A strategy's ratios, and no more than ``times`` the least: what is asked where a table is too
    small for what the strategy would like.
    """
    asked = times * _TIE * least
    np.minimum(ratio, asked, out=asked)
    return np.maximum(asked, least, out=asked)


def weights(again: Sequence[float], times: int) -> list[float]:
    """w_1 = 1, w_2, …: the probabilities of the next exposures of a person who has ``times`` behind
    them.

    >>> weights([0.5, 0.1], 0)[:3]
    [1.0, 0.5, 0.05]
    """
    weights = [1.0]
    while weights[-1] > _LEAST and len(weights) < _LONGEST:
        behind = times + len(weights)
        weights.append(weights[-1] * again[min(behind, len(again)) - 1])
    return weights


class _Along(NamedTuple):
    """What is spent and paid along lambda, from much to little of it, shape (_GRID,) each."""

    spent: Floats
    """The budget that all exposures spend."""
    first: Floats
    """What the first of them spends."""
    log_later: Floats
    """The logarithm of what the others spend."""
    log_cost: Floats
    """The logarithm of the size of groups that is expected for these."""


@lru_cache(maxsize=64)
def _along(chances: tuple[float, ...]) -> _Along:
    """The closed form for exposures with these ``chances``, two or more."""
    w = np.array(chances)
    lambdas = np.exp(np.linspace(log(1e-8), log(1e16), _GRID))[::-1]
    x = 2 * np.arcsinh(np.sqrt(w[:, None] / lambdas) / 2)
    later, cost = x[1:].sum(axis=0), (-w[1:, None] / np.expm1(-x[1:])).sum(axis=0)
    return _Along(x.sum(axis=0), x[0], np.log(later), np.log(cost))


def _first_ratio(budget: Floats, chances: Sequence[float]) -> Floats:
    """r_1 of the closed form for every budget, as a whole number: of the two beside it the one that
    expects less with the best of what is then left.

    Groups have whole members, so a ratio of 3.1 would be paid for like 4. Budgets, shares and costs
    all grow or fall with lambda; they are tabulated along it and read off.
    """
    w = tuple(chance for chance in chances if chance > _LEAST)
    if len(w) == 1:
        return -1 / np.expm1(-budget)
    along = _along(w)
    above = np.ceil(-1 / np.expm1(-np.minimum(np.interp(budget, along.spent, along.first), budget)))

    def expected(members: Floats) -> Floats:
        log_survival = budget + np.log1p(-1 / np.maximum(members, 1 + 1e-12))
        left = np.log(np.maximum(log_survival, 1e-300))
        cost = np.exp(np.interp(left, along.log_later, along.log_cost))
        return np.where(log_survival > 0, members + cost, inf)

    return np.where(expected(above - 1) < expected(above), above - 1, above)


def shares(budget: float, chances: Sequence[float]) -> list[float]:
    """All x_j for one budget and the weights ``chances``, by bisection on lambda: the closed form
    as it is written, for anyone who wants to see the plan of a person.

    >>> [round(x, 6) for x in shares(log(2), [1, 1])]
    [0.346574, 0.346574]
    """
    low, high = 1e-12, 1e18
    for _ in range(300):
        middle = sqrt(low * high)
        if sum(2 * asinh(sqrt(w / middle) / 2) for w in chances) > budget:
            low = middle
        else:
            high = middle
    return [2 * asinh(sqrt(w / high) / 2) for w in chances]


def ratio_of(share: float) -> float:
    """The ratio r that spends ``share`` = -ln(1 - 1/r) of a budget.

    >>> round(ratio_of(log(2)), 9)
    2.0
    """
    return 1 / (1 - exp(-share))


def again_of_series(exposures: Sequence[int], releases: int) -> tuple[float, ...]:
    """The chance of one more exposure after 1, 2, … of them, as a series shows it, which anyone
    can compute from what was published.

    ``exposures``: how many pairs of person and value have 0, 1, … exposures behind them after so
    many ``releases``; those of the last release could not be exposed again yet.
    """
    ratios, chance = [], _LOWEST
    could = max(releases - 1, 0) / max(releases, 1)
    for behind in range(1, len(exposures)):
        reached, further = sum(exposures[behind:]) * could, sum(exposures[behind + 1 :])
        chance = min(
            (further + _WEIGHT * chance) / (reached + _WEIGHT), 1.0
        )  # after more exposures as after fewer, until it is known better
        ratios.append(max(chance, _LOWEST))
    return tuple(ratios)


def again_of_horizon(horizon: int | Sequence[float]) -> tuple[float, ...]:
    """The same from a plan: at most so many exposures, or the probabilities of at least 1, 2, … of
    them.

    >>> again_of_horizon(3), again_of_horizon([1, 0.5, 0.1])
    ((1.0, 1.0, 0.0), (0.5, 0.2, 0.0))
    """
    if isinstance(horizon, int):
        return (*([1.0] * (horizon - 1)), 0.0)
    return (*(after / before if before > 0 else 0.0 for before, after in pairwise(horizon)), 0.0)
