# SPDX-License-Identifier: Apache-2.0
"""What many releases of a series cost together, bounded from above: privacy losses on a grid, added
up by plain convolution.

A release is a pair of distributions (A, B) on outcomes, of tables that differ by a row; its profile
is ``H(x) = sum (A - x B)+`` for ``x >= 0``. A pair whose profile is nowhere lower may stand for it,
whatever else is published (Zhu, Dong, Wang, "Optimal accounting of differential privacy via
characteristic function", AISTATS 2022, Theorem 10), and so may one pair stand for sampled crowds of
all sizes. Here it is the pair of a curve through upper bounds of H at points ``x = e^(i h)``,
straight between them and level after the last: its losses ``ln(A / B)`` are ``i h`` alone, ``B(i
h)`` is the change of slope there, ``A(i h) = e^(i h) B(i h)``, and the last height is the
probability under A of what B never shows (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect
the dots: tighter discrete approximations of privacy loss distributions", PETS 2022). A row more and
a row less have a curve each.

Losses of several releases add up, so that their distributions under A are convolved. All figures
are floats of 0 or more, and a larger one is always safe: each step is raised by more than rounding
can have lowered it.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from phalanx.arrays import Floats
from phalanx.guarantees.differential_privacy.hockey_stick import one_row_less, one_row_more
from phalanx.guarantees.differential_privacy.logarithms import exp_bounds

_STEPS: Final = 2048
"""So many steps of the grid are the budget's epsilon."""
_FARTHEST: Final = 4 * _STEPS
"""Losses so many steps from 0 and farther are counted as more than they are."""
MOST_ROWS: Final = 100_000
"""Where an image needs more rows than this to be shown, on average, composition takes too long."""
_WALK: Final = 150_000
"""So many numbers of rows are walked over, roughly, for dots near a loss of 0."""
_RARE: Final = 2.0**-20
"""Of the budget's delta, what may be lost by counting what is rare as more than it is."""
_ROUNDED: Final = 1 + 2.0**-40
"""More than some operations on floats can have lowered a figure."""
_FAINT: Final = 1e-140
"""Below this a probability is as good as none."""


_Dot = tuple[int, Fraction, Fraction]
"""A step of the grid, ``x`` there, and an upper bound of H."""


@dataclass(frozen=True)
class Losses:
    """How probable privacy losses are under A, or less: ``mass`` (m,) of the losses ``(first + i)
    step``, and ``infinite`` of what B never shows.
    """

    step: Fraction
    first: int
    mass: Floats
    infinite: float

    def plus(self, other: "Losses", rare: float) -> "Losses":
        """The losses of both together, which have one step; what is rarer than ``rare`` at either
        end is counted as more than it is.

        A sum of N products is lowered by less than N 2^-53 of it. Numbers are so large that no
        product is too small for a float.
        """
        terms = min(len(self.mass), len(other.mass))
        mass = np.convolve(self.mass, other.mass) * (1 + (terms + 8) * 2.0**-52)
        below, above = np.cumsum(mass), np.cumsum(mass[::-1])
        first = self.first + other.first
        low = max(int(np.searchsorted(below, rare)), -_FARTHEST - first)
        cut = max(int(np.searchsorted(above, rare)), first + len(mass) - _FARTHEST)
        if low + cut >= len(mass):
            low, cut = 0, len(mass) - 1
        kept = mass[low : len(mass) - cut].copy()
        kept[0] += below[low - 1] * _ROUNDED if low else 0
        infinite = (
            self.infinite
            + other.infinite * (1 - min(self.infinite, 1)) * _ROUNDED
            + float(above[cut - 1] if cut else 0)
        )
        return Losses.of(self.step, first + low, kept, infinite)

    @classmethod
    def of(cls, step: Fraction, first: int, mass: Floats, infinite: float) -> "Losses":
        """These losses; what is as good as impossible is counted as infinite."""
        faint = mass < _FAINT
        return cls(
            step, first, np.where(faint, 0, mass), (infinite + len(mass) * _FAINT) * _ROUNDED
        )

    def times(self, releases: int, rare: float) -> "Losses":
        """The losses of so many releases alike."""
        if releases == 1:
            return self
        half = self.times(releases // 2, rare)
        twice = half.plus(half, rare)
        return twice.plus(self, rare) if releases % 2 else twice

    @property
    def losses(self) -> Floats:
        """The losses, each a little larger than it is."""
        loss = (self.first + np.arange(len(self.mass))) * float(self.step)
        return np.asarray(loss + np.abs(loss) * 1e-12, dtype=np.float64)


@lru_cache(maxsize=64)  # a publication asks at its door, and again of the files
def tight_together(
    k: int,
    beta: Fraction,
    epsilon_scheme: Fraction,
    releases: int,
    epsilon: Fraction,
    delta: Fraction,
) -> float:
    """An upper bound of the delta at ``epsilon`` of so many releases of sampled crowds, each by a
    scheme chosen for ``epsilon_scheme``.

    ``delta``: what the answer will be compared with, so that what is rounded up is small beside it.

    >>> f"{tight_together(10, Fraction(1, 10), Fraction(0), 10, Fraction(1), Fraction(1, 10**5)):.3g}"
    '1.58e-07'
    """
    rare = float(delta) * _RARE / releases
    sides = _sampled(k, beta, epsilon / _STEPS, Fraction(rare))
    choices = _known(epsilon_scheme).times(releases, rare)
    return max(_delta(side.times(releases, rare), choices, float(epsilon)) for side in sides)


def theorem_together(
    left: Fraction,
    delta_each: Fraction,
    epsilon_scheme: Fraction,
    releases: int,
    epsilon: Fraction,
    delta: Fraction,
) -> float:
    """The same where no more is known than that each release is (``left``,
    ``delta_each``)-differentially private beside the choice of its scheme.

    One pair stands for all such (Kairouz, Oh, Viswanath, "The composition theorem for differential
    privacy", ICML 2015): with probability delta a loss is infinite, and else it is as of a
    differentially private choice.
    """
    rare = float(delta) * _RARE / releases
    each = _known(left)
    each = Losses(
        each.step,
        each.first,
        each.mass * (float(1 - delta_each) * _ROUNDED),
        float(delta_each) * _ROUNDED,
    )
    return _delta(
        each.times(releases, rare), _known(epsilon_scheme).times(releases, rare), float(epsilon)
    )


def _delta(one: Losses, other: Losses, epsilon: float) -> float:
    """What of A is not explained by e^epsilon times B, of both together, which is the delta at
    epsilon.
    """
    total, losses = 0.0, one.losses - epsilon * (1 - 1e-12)
    for loss, mass in zip(other.losses, other.mass, strict=True):
        total += float(mass * (one.mass * -np.expm1(-np.maximum(losses + loss, 0))).sum())
    return (
        total * (1 + (len(one.mass) + len(other.mass)) * 2.0**-52) + one.infinite + other.infinite
    ) * _ROUNDED


def _known(epsilon: Fraction) -> Losses:
    """The losses of a pair that stands for all epsilon-differentially private choices: epsilon,
    e^epsilon times as often as -epsilon.
    """
    if epsilon == 0:
        return Losses(Fraction(0), 0, np.ones(1), 0.0)
    less = math.exp(-float(epsilon))
    return Losses(epsilon, -1, np.array([less / (1 + less), 0, 1 / (1 + less)]) * _ROUNDED, 0.0)


def _sampled(k: int, beta: Fraction, h: Fraction, rare: Fraction) -> tuple[Losses, Losses]:
    """The losses of a sampled crowd, for a row more and for a row less.

    With H of a row more and G of a row less, ``H(1 / c) = 1 - (1 - G(c)) / c``, and the other way
    round.
    """
    more: list[_Dot] = []
    less: list[_Dot] = []
    for i in _dots(k, beta, h):
        c = exp_bounds(i * h)[0]
        plus, minus = (
            bound.delta if bound.whole else Fraction(1)
            for bound in (one_row_more(k, beta, c), one_row_less(k, beta, c, rare))
        )
        more += [(i, c, plus), *([(-i, 1 / c, 1 - (1 - minus) / c)] if i else [])]
        less += [(i, c, minus), *([(-i, 1 / c, 1 - (1 - plus) / c)] if i else [])]
        if plus <= max(rare, beta**k * Fraction(1001, 1000)) and minus <= rare:
            break
    return _connected(more, h), _connected(less, h)


def _dots(k: int, beta: Fraction, h: Fraction) -> Iterator[int]:
    """Steps of the grid from 0 on, first as far apart as a small part of the losses that are
    common, and then ever farther.
    """
    common = float(beta) / math.sqrt(k)
    least = max(1, int(common / 64 / float(h)))
    fine = min(64, max(8, int(_WALK * beta / k)))
    i = 0
    while i <= _FARTHEST:
        yield i
        i += max(least, i // fine)


def _connected(dots: list[_Dot], h: Fraction) -> Losses:
    """The losses of the curve from ``H(0) = 1`` through dots, those left out that lie above the
    lower hull of the others.
    """
    hull: list[_Dot] = [(0, Fraction(0), Fraction(1))]
    for i, x, height in sorted(dots):
        rounded = Fraction(-(-height.numerator * 2**400 // height.denominator), 2**400)
        dot = (i, x, min(hull[-1][2], rounded))
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-1], dot):
            hull.pop()
        hull.append(dot)
    slopes = [_slope(one, other) for one, other in itertools.pairwise(hull)] + [Fraction(0)]
    first = hull[1][0]
    mass = np.zeros(hull[-1][0] - first + 1)
    for (i, x, _), before, after in zip(hull[1:], slopes[:-1], slopes[1:], strict=True):
        mass[i - first] = float(x * (after - before)) * _ROUNDED
    return Losses.of(h, first, mass, float(hull[-1][2]))


def _slope(one: _Dot, other: _Dot) -> Fraction:
    """How steeply the curve falls between two dots."""
    return (other[2] - one[2]) / (other[1] - one[1])
