# SPDX-License-Identifier: Apache-2.0
"""gamma = 1 - (1 - beta) e^-epsilon of the paper, as an interval as narrow as a question needs."""

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from phalanx.accounting.binomials import too_extreme
from phalanx.accounting.directed import downwards, exponential, logarithm, quotient, upwards

_MOST_DIGITS = 4000


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
        self._low = self._scale - _ceiling(
            high, self._digits
        )  # gamma is between low and high, in units of 10**-digits
        self._high = self._scale - _floor(low, self._digits)
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


def _floor(number: Decimal, places: int) -> int:
    return int(
        number.scaleb(places, downwards(2 * places + 400)).to_integral_value(rounding="ROUND_FLOOR")
    )


def _ceiling(number: Decimal, places: int) -> int:
    return int(
        number.scaleb(places, downwards(2 * places + 400)).to_integral_value(
            rounding="ROUND_CEILING"
        )
    )
