# SPDX-License-Identifier: Apache-2.0
"""The delta of hiding in a sampled crowd, in whole numbers that are rounded so that the true delta
is never above the computed one.

An image has n rows in one table and n + 1 in its neighbour. A sample shows how many of them it
caught, a number j of a binomial distribution, where j is at least k, and nothing where it is less.
With P = Bin(n, beta), Q = Bin(n + 1, beta), c = e^epsilon and p_n the probabilities of P:

- ``Q(j) / P(j) = (1 - beta)(n + 1) / (n + 1 - j)`` grows with j and is above c just where ``j > (n
  + 1) gamma``, ``gamma = 1 - (1 - beta) / c``.
- ``P(j) / Q(j)`` is above c just where ``j < (n + 1) g``, ``g = 1 - (1 - beta) c``.
- ``Q = (1 - beta) P + beta P shifted by one``, so that ``Q(>= j) = P(>= j) + beta p_n(j - 1)``.

The tight delta (hockey-stick divergence) for a row more and a row less, "nothing" being one
outcome:

- more: ``beta p_n(J - 1) - (c - 1) P(>= J)`` with ``J = max(k, floor((n + 1) gamma) + 1)``;
  "nothing" is never more probable under Q.
- less: ``c beta p_n(M - 1) - (c - 1) P(< M)`` with ``M = max(k, ceil((n + 1) g))``, or 0 where this
  is negative.

The theorem's d (Li, Qardaji, Su, Theorem 3.9) is the largest ``P(> gamma n)`` over ``n >= ceil(k /
gamma - 1)``.

All are largest over n. The walk goes from n = k - 1, below which nothing is ever shown, to an n
after which none can be larger than the largest seen. With ``D(x) = KL(x || beta)`` and ``top_x(n)``
the largest probability that Bin(n, x) gives to one number:

- ``d_n <= exp(-n D(gamma))`` (Chernoff).
- ``more_n <= gamma top_gamma(n) exp(-(n + 1) D(gamma))``: the sum of Q - c P over ``j >= k`` is at
  most that over ``j > (n + 1) gamma``, which holds all positive terms and is ``beta p_n(m) - (c -
  1) P(> m) <= beta p_n(m)`` for ``m = floor((n + 1) gamma)``. To change beta to gamma changes the
  probability of m by ``(beta / gamma)^m ((1 - beta) / (1 - gamma))^(n - m)``, and ``m > (n + 1)
  gamma - 1``.
- ``less_n <= c^2 beta top_g(n) exp(-(n + 1) D(g))``, likewise with ``m = ceil((n + 1) g) - 1 < (n +
  1) g`` and ``(1 - g) / (1 - beta) = c``; and it is 0 where ``g <= 0``.
- ``top_x(n)`` does not grow with n, as Bin(n + 1, x) is an average of Bin(n, x) with itself
  shifted. It is the probability of ``m = floor((n + 1) x)``, which is at most ``sqrt(n / (2 pi m (n
  - m)))`` (Cover, Thomas, "Elements of information theory", Lemma 17.5.1).

All deltas fall as c grows, so c is replaced by a fraction just below it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from phalanx.guarantees.differential_privacy.logarithms import exp_bounds, log_bounds

MOST_STEPS: Final = 2_000_000
"""A walk that would be longer is given up."""
MOST_BITS: Final = 1 << 20
"""Where the probability of k rows has more zeros behind its point, in binary, nothing is computed."""
_MOST_DIGITS: Final = 1 << 16
"""Nor where beta has more."""
_EXACT_BITS: Final = 1 << 18
_POWER_BITS: Final = 1024
"""So many has a power of beta that is not exact."""
_LOOK: Final = 64
"""After so many steps it is asked whether the walk may end."""
_DIGITS: Final = 128
"""So many bits behind its point has a number whose logarithm is asked for."""
_TWO_PI: Final = Fraction(62831, 10000)
"""Below 2 pi."""


@dataclass(frozen=True)
class Bound:
    """No delta of the kind that was asked for is above ``delta``; where the walk was given up
    (``whole`` is not so), some may be.
    """

    delta: Fraction
    whole: bool = True


class _Binomial:
    """Bin(n, beta) at a threshold j: the probability of j - 1, and of j or more, each between two
    whole numbers of units; n and j grow by one at a time.

    It begins at n = k - 1 and j = k. Up to n = k + 64 the unit is so small that nothing is rounded,
    unless that takes too many bits: then, and later, it is so small that the probability of j - 1
    has at least 512 bits.
    """

    def __init__(self, k: int, beta: Fraction) -> None:
        self.hit, self.whole = beta.numerator, beta.denominator
        self.n, self.j = k - 1, k
        self.tail_low = self.tail_high = 0
        if _bits(k, beta) <= _EXACT_BITS:
            self.exact_rows = k + 64
            self.unit = self.whole**self.exact_rows << 512
            self.point_low = self.point_high = self.hit ** (k - 1) * (
                self.unit // self.whole ** (k - 1)
            )
            return
        self.exact_rows = k - 1
        self.point_low, self.point_high, zeros = _power(beta, k - 1)
        self.unit = 1 << zeros

    def add_row(self) -> None:
        """From n to n + 1."""
        if self.n >= self.exact_rows and self.point_high.bit_length() > 1024:
            self._coarsen()
        self.tail_low += self.hit * self.point_low // self.whole
        self.tail_high -= -self.hit * self.point_high // self.whole
        self._point_times(
            (self.n + 1) * (self.whole - self.hit), (self.n + 2 - self.j) * self.whole
        )
        self.n += 1

    def raise_threshold(self, j: int) -> None:
        """From j to the given one, if that is more."""
        while self.j < j:
            self._point_times((self.n - self.j + 1) * self.hit, self.j * (self.whole - self.hit))
            self.tail_low = max(0, self.tail_low - self.point_high)
            self.tail_high -= self.point_low
            self.j += 1

    def _point_times(self, over: int, under: int) -> None:
        self.point_low = self.point_low * over // under
        self.point_high = -(-self.point_high * over // under)

    def _coarsen(self) -> None:
        """Take a larger unit, a power of 2, for the same numbers."""
        unit = 1 << (512 + self.unit.bit_length() - self.point_high.bit_length())
        self.point_low, self.tail_low = (
            self.point_low * unit // self.unit,
            self.tail_low * unit // self.unit,
        )
        self.point_high, self.tail_high = (
            -(-self.point_high * unit // self.unit),
            -(-self.tail_high * unit // self.unit),
        )
        self.unit = unit


class _Largest:
    """The largest fraction seen so far, 0 at first; they are given as they are, not reduced."""

    def __init__(self) -> None:
        self.over, self.under = 0, 1

    def see(self, over: int, under: int) -> None:
        if over > self.over if under == self.under else over * self.under > self.over * under:
            self.over, self.under = over, under

    @property
    def share(self) -> Fraction:
        return Fraction(self.over, self.under)


def tight_delta(k: int, beta: Fraction, epsilon: Fraction) -> Bound:
    """An upper bound, within a few parts in 2^200, of the smallest delta that is true of crowds of
    ``k`` at ``epsilon``; needs ``0 < beta < 1``.

    >>> f"{float(tight_delta(10, Fraction(1, 10), Fraction(1, 2)).delta):.7g}"
    '6.716234e-07'
    """
    if _is_too_small(k, beta):
        return Bound(Fraction(0), whole=False)
    c, _ = exp_bounds(epsilon)
    more = one_row_more(k, beta, c)
    less = one_row_less(k, beta, c, more.delta)
    return Bound(max(more.delta, less.delta), more.whole and less.whole)


def one_row_more(k: int, beta: Fraction, c: Fraction) -> Bound:
    """An upper bound of the delta of a table with a row more beside the table without it, where
    outcomes may be ``c >= 1`` times as probable.
    """
    gamma = 1 - (1 - beta) / c
    largest, fading = _Largest(), _divergence(gamma, beta)
    for n, more in _more(k, beta, c):
        largest.see(*more)
        if (n - k) % _LOOK == 0 and _is_over(n, gamma, largest.share / gamma, fading):
            return Bound(largest.share)
    return Bound(largest.share, whole=False)


def one_row_less(k: int, beta: Fraction, c: Fraction, floor: Fraction) -> Bound:
    """The same of a table with a row less; ``floor``, above 0, is an upper bound that is good
    enough where the delta is below it.
    """
    g = 1 - (1 - beta) * c
    if g <= 0:  # no outcome is c times as probable
        return Bound(Fraction(0))
    largest, fading = _Largest(), _divergence(g, beta)
    largest.see(floor.numerator, floor.denominator)
    for n, less in _less(k, beta, c):
        largest.see(*less)
        if (n - k) % _LOOK == 0 and _is_over(n, g, largest.share / (c * c * beta), fading):
            return Bound(largest.share)
    return Bound(largest.share, whole=False)


def _more(k: int, beta: Fraction, c: Fraction) -> Iterator[tuple[int, tuple[int, int]]]:
    """Every n from k - 1 on and an upper bound of ``more_n``, as a fraction that is not reduced."""
    at, gamma = _Binomial(k, beta), 1 - (1 - beta) / c
    over, one = (
        c.numerator - c.denominator,
        c.denominator,
    )  # c - 1 and 1, in parts of the denominator
    for n in range(k - 1, k - 1 + MOST_STEPS):
        at.raise_threshold((n + 1) * gamma.numerator // gamma.denominator + 1)
        yield (
            n,
            (
                one * at.hit * at.point_high - over * at.whole * at.tail_low,
                at.unit * at.whole * one,
            ),
        )
        at.add_row()


def _less(k: int, beta: Fraction, c: Fraction) -> Iterator[tuple[int, tuple[int, int]]]:
    """The same of ``less_n``, for ``g > 0``."""
    at, g = _Binomial(k, beta), 1 - (1 - beta) * c
    over, one = c.numerator - c.denominator, c.denominator
    for n in range(k - 1, k - 1 + MOST_STEPS):
        at.raise_threshold(-(-(n + 1) * g.numerator // g.denominator))
        below = max(0, at.unit - at.tail_high)
        yield (
            n,
            (
                c.numerator * at.hit * at.point_high - over * at.whole * below,
                at.unit * at.whole * one,
            ),
        )
        at.add_row()


def theorem_delta(k: int, beta: Fraction, epsilon: Fraction) -> Bound:
    """An upper bound, within a few parts in 2^200, of the theorem's ``d(k, beta, epsilon)``; needs
    ``0 < beta < 1`` and ``epsilon > 0``.

    >>> f"{float(theorem_delta(10, Fraction(1, 10), Fraction(1, 2)).delta):.7g}"
    '2.072312e-05'
    """
    if _is_too_small(k, beta):
        return Bound(Fraction(0), whole=False)
    low, high = (1 - (1 - beta) / c for c in exp_bounds(epsilon))
    first = -(-k * high.denominator // high.numerator) - 1  # ceil(k / gamma - 1)
    at, largest, fading = _Binomial(k, beta), _Largest(), _divergence(low, beta)
    while at.n < k - 1 + MOST_STEPS:
        if at.n >= first:
            largest.see(at.tail_high, at.unit)
            if (at.n - first) % _LOOK == 0 and at.n * fading >= _minus_log(largest.share):
                return Bound(largest.share)
        at.add_row()
        at.raise_threshold(at.n * low.numerator // low.denominator + 1)
    return Bound(largest.share, whole=False)


def theorem_applies(beta: Fraction, epsilon: Fraction) -> bool:
    """Whether ``epsilon >= -ln(1 - beta)``, as the theorem asks."""
    return exp_bounds(epsilon)[0] * (1 - beta) >= 1


def _bits(k: int, beta: Fraction) -> int:
    """How many bits beta^k takes, exactly."""
    return (k + 64) * beta.denominator.bit_length()


def _is_too_small(k: int, beta: Fraction) -> bool:
    return beta.denominator.bit_length() > _MOST_DIGITS or _power(beta, k - 1)[2] > MOST_BITS


def _power(beta: Fraction, times: int) -> tuple[int, int, int]:
    """Two whole numbers between which, over 2 to the third one, a power of ``beta`` lies.

    >>> low, high, zeros = _power(Fraction(1, 3), 5)
    >>> Fraction(low, 1 << zeros) <= Fraction(1, 3) ** 5 <= Fraction(high, 1 << zeros)
    True
    """
    zeros = _POWER_BITS + beta.denominator.bit_length() - beta.numerator.bit_length()
    raised = (1, 1, 0)
    square = (
        (beta.numerator << zeros) // beta.denominator,
        -((-beta.numerator << zeros) // beta.denominator),
        zeros,
    )
    while times:
        if times & 1:
            raised = _product(raised, square)
        square, times = _product(square, square), times >> 1
    return raised


def _product(a: tuple[int, int, int], b: tuple[int, int, int]) -> tuple[int, int, int]:
    low, high, zeros = a[0] * b[0], a[1] * b[1], a[2] + b[2]
    surplus = max(0, high.bit_length() - _POWER_BITS)
    return low >> surplus, -(-high >> surplus), zeros - surplus


def _divergence(x: Fraction, beta: Fraction) -> Fraction:
    """A fraction just below ``KL(x || beta) = x ln(x / beta) + (1 - x) ln((1 - x) / (1 -
    beta))``.
    """
    return x * log_bounds(x / beta)[0] + (1 - x) * log_bounds((1 - x) / (1 - beta))[0]


@lru_cache(maxsize=8)  # the largest share is the same at the end of a walk
def _minus_log(share: Fraction) -> Fraction:
    """A number that is hardly more than ``-ln(share)``, for a share above 0 and not above 1."""
    turned = (share.denominator << _DIGITS) // share.numerator + 1
    return log_bounds(Fraction(turned, 1 << _DIGITS))[1]


def _is_over(n: int, x: Fraction, share: Fraction, fading: Fraction) -> bool:
    """Whether ``top_x(n) exp(-(n + 1) fading)``, and so the same of all larger n, is at most
    ``share``.
    """
    mode = (n + 1) * x.numerator // x.denominator
    room = max(Fraction(1), _TWO_PI * mode * (n - mode) / n)
    if share**2 * room >= 1:
        return True
    doublings = (room.numerator // room.denominator).bit_length()
    below, above = log_bounds(Fraction(2))
    twice = 2 * (n + 1) * fading
    halvings = (share.denominator // share.numerator).bit_length() - 1
    if twice < 2 * halvings * below - doublings * above:  # it is far from over
        return False
    return twice >= 2 * _minus_log(share) - (doublings - 1) * below
