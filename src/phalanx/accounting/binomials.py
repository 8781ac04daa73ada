# SPDX-License-Identifier: Apache-2.0
"""Binomial probabilities, and the threshold gamma of a bad count: floats to search with (as
logarithms, so that nothing underflows), decimals rounded outwards to answer with.
"""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from phalanx.accounting.directed import (
    downwards,
    exponential,
    logarithm,
    power,
    quotient,
    upwards,
)
from phalanx.errors import PlanError

LONGEST = 1_000_000
"""The largest number of steps of one sum or product: beyond it an answer would take more than some
seconds.
"""

_MOST_DIGITS = 4000
_HALF_LOG_TAU = math.log(2 * math.pi) / 2


def too_extreme(what: str) -> PlanError:
    """The refusal of a question that would take more than some seconds."""
    return PlanError(
        f"these parameters are too extreme to be computed in some seconds ({what}); take a smaller"
        " k, a larger epsilon or a larger delta."
    )


# ---- floats, to search


def log_pmf(n: int, j: int, p: float, q: float) -> float:
    """The logarithm of P(Bin(n, p) = j) with q = 1 - p, by Loader's saddle-point form: no large
    numbers are subtracted from each other.
    """
    if j == 0:
        return n * (math.log1p(-p) if p < 0.5 else math.log(q))
    if j == n:
        return n * (math.log1p(-q) if q < 0.5 else math.log(p))
    error = _stirling_error(n) - _stirling_error(j) - _stirling_error(n - j)
    return (
        error
        - _deviance(j, n * p)
        - _deviance(n - j, n * q)
        + 0.5 * math.log(n / (2 * math.pi * j * (n - j)))
    )


def log_tail(n: int, m: int, p: float, q: float) -> float:
    """The logarithm of P(Bin(n, p) >= m), for m above the mean."""
    odds = p / q
    term = total = 1.0
    for j in range(m, min(n, m + LONGEST)):
        term *= (n - j) / (j + 1) * odds
        total += term
        if term < total * 1e-17:
            return log_pmf(n, m, p, q) + math.log(total)
    if n - m > LONGEST:
        raise too_extreme(f"a sum of more than {LONGEST} terms")
    return log_pmf(n, m, p, q) + math.log(total)


def float_doubt(n: int) -> float:
    """By how much a logarithm of ours, of a probability among n trials, may be wrong at most, with
    much to spare.
    """
    return 1e-8 + 1e-14 * n


def _stirling_error(n: int) -> float:
    """The logarithm of n! minus Stirling's approximation of it."""
    if n < 16:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - _HALF_LOG_TAU
    square = float(n) * n
    return (
        1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square
    ) / n


def _deviance(x: float, mean: float) -> float:
    """The deviance x ln(x / mean) + mean - x, also where x is near the mean."""
    if abs(x - mean) < 0.1 * (x + mean):
        v = (x - mean) / (x + mean)
        total = (x - mean) * v
        term = 2 * x * v
        for i in range(3, 1000, 2):
            term *= v * v
            new = total + term / i
            if new == total:
                return total
            total = new
    return x * math.log(x / mean) + mean - x


# ---- decimals, to answer


def pmf(context: Context, n: int, j: int, beta: Fraction) -> Decimal:
    """P(Bin(n, beta) = j), rounded to the side of the context."""
    few = min(j, n - j)
    if few > LONGEST:
        raise too_extreme(f"a binomial coefficient of more than {LONGEST} factors")
    result = context.multiply(
        power(context, quotient(context, beta), j),
        power(context, quotient(context, 1 - beta), n - j),
    )
    for i in range(1, few + 1):
        result = context.divide(context.multiply(result, n - few + i), i)
    return result


def tail_between(n: int, m: int, beta: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Two decimals with P(Bin(n, beta) >= m) between them, for m above the mean."""
    return _tail(downwards(digits), n, m, beta, upper=False), _tail(
        upwards(digits), n, m, beta, upper=True
    )


def _tail(context: Context, n: int, m: int, beta: Fraction, *, upper: bool) -> Decimal:
    """The tail, term by term; what is left out is at most a geometric series, as the ratio of
    neighbouring terms falls.
    """
    gained, lost = beta.numerator, beta.denominator - beta.numerator
    term = total = pmf(context, n, m, beta)
    small = Decimal(10) ** (5 - context.prec)
    for j in range(m, n):
        term = context.divide(context.multiply(term, (n - j) * gained), (j + 1) * lost)
        total = context.add(total, term)
        ratio = Fraction((n - j - 1) * gained, (j + 2) * lost)
        if term < total * small and ratio < 1:
            return (
                context.add(total, context.multiply(term, quotient(context, ratio / (1 - ratio))))
                if upper
                else total
            )
    return total


# ---- gamma = 1 - (1 - beta) e^-epsilon, as narrow as a question needs


@lru_cache(maxsize=4096)
def rest_between(beta: Fraction, epsilon: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Two decimals with (1 - beta) e^-epsilon between them; ``epsilon`` may be negative."""
    low, high = exponential(-epsilon, digits)
    down, up = downwards(digits), upwards(digits)
    return down.multiply(quotient(down, 1 - beta), low), up.multiply(quotient(up, 1 - beta), high)


class Gamma:
    """gamma = 1 - (1 - beta) e^-epsilon, irrational for every rational epsilon but 0 (Lindemann),
    so no whole multiple of 1/gamma is a whole number.

    ``rest`` = 1 - gamma. For negative epsilon it is the threshold of the other direction, and may
    be below 0: see ``positive``.
    """

    def __init__(self, beta: Fraction, epsilon: Fraction) -> None:
        self.beta = beta
        self.epsilon = epsilon
        self._digits = 30
        self._refine()

    def _refine(self) -> None:
        self._digits *= 2
        if self._digits > _MOST_DIGITS:
            raise too_extreme(f"gamma in more than {_MOST_DIGITS // 2} digits")
        low, high = rest_between(self.beta, self.epsilon, self._digits)
        self._scale = int(10**self._digits)
        # gamma is between low and high, in units of 10**-digits
        self._low = self._scale - _whole(high, self._digits, ROUND_CEILING)
        self._high = self._scale - _whole(low, self._digits, ROUND_FLOOR)
        self.rest = float(high)
        self.value = self._high / self._scale if self.rest > 0.1 else 1 - self.rest

    def positive(self) -> bool:
        """Whether gamma is above 0."""
        while self._low <= 0 <= self._high:
            self._refine()
        return self._low > 0

    def most(self, m: int) -> int:
        """The largest n with gamma * n below m (for m = 0: 0); gamma must be positive."""
        while not (
            self.positive()
            and (least := m * self._scale // self._high) == m * self._scale // self._low
        ):
            self._refine()
        return least

    def gap(self, c: int) -> int:
        """An m not above any at which ``most(m) - m`` reaches ``c``."""
        return c * self._low // (self._scale - self._low)

    def divergence(self) -> float:
        """A float not above KL(gamma || beta) = gamma ln(gamma / beta) - epsilon (1 - gamma), for
        positive epsilon: the rate of Chernoff's bound.
        """
        digits = self._digits
        while digits <= _MOST_DIGITS:
            down, up = downwards(digits), upwards(digits)
            _, rest = rest_between(self.beta, self.epsilon, digits)
            gamma = down.subtract(1, rest)
            if gamma > 0:
                ratio, _ = logarithm(Fraction(gamma) / self.beta, digits)
                rate = down.subtract(
                    down.multiply(gamma, ratio), up.multiply(quotient(up, self.epsilon), rest)
                )
                if rate > 0:
                    return float(rate) * (1 - 1e-9)
            digits *= 2
        raise too_extreme(f"a divergence in more than {_MOST_DIGITS} digits")


def _whole(number: Decimal, places: int, rounding: str) -> int:
    """``number`` in units of its decimal place ``places``, rounded."""
    scaled = number.scaleb(places, downwards(2 * places + 400))
    return int(scaled.to_integral_value(rounding=rounding))
