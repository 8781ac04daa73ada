# SPDX-License-Identifier: Apache-2.0
"""What safe sampling promises under given parameters, by the paper's theorem and exactly."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from phalanx.accounting import theorem, tight
from phalanx.accounting.directed import float_above, float_kept
from phalanx.errors import PlanError

_MOST_STEPS: Final = 1_900_000
"""The check gives up after two million, and this is a reckoning in floats."""
_MOST_ZEROS: Final = 1 << 20
"""The check gives up, too, where beta^k has so many in binary."""
_HALF: Final = 0.5
Accounting = Literal["tight", "theorem"]
"""Which delta is promised: the exact one of the mechanism, or the paper's Theorem 3.9."""


@dataclass(frozen=True)
class Promise:
    """(epsilon, delta)-differential privacy of one release, for neighbouring tables that differ by
    one row.

    ``epsilon`` is the whole of it, with the ``epsilon_scheme`` that choosing the scheme costs;
    ``delta`` is the one asked for, or else the accounting's. ``delta_theorem`` and ``delta_tight``
    are what the two accountings say of (k, beta), never below the true figures; the theorem says
    nothing (None) where epsilon < -ln(1 - beta).
    """

    epsilon: Fraction
    delta: float
    beta: Fraction
    k: int
    accounting: Accounting
    delta_theorem: float | None
    delta_tight: float
    epsilon_scheme: Fraction

    @property
    def epsilon_sampling(self) -> Fraction:
        """What is left of epsilon for the sample itself."""
        return self.epsilon - self.epsilon_scheme

    @property
    def can_be_checked(self) -> bool:
        """Whether the check of a release comes to an end: it looks at one number of rows after the other
        from k on, until no larger one can tell more.
        """
        x, epsilon = float(1 - self.beta), float(self.epsilon_sampling)
        delta = self.delta_tight if self.accounting == "tight" else self.delta_theorem
        if not delta or epsilon <= 0:  # nothing to walk to, which others refuse
            return True
        away = x * math.exp(-epsilon)
        beta = math.log1p(-x) if x < _HALF else math.log(float(self.beta))
        if -self.k * beta > _MOST_ZEROS * math.log(2):
            return False
        fading = (1 - away) * (math.log1p(-away) - beta) - away * epsilon
        if fading <= 0:
            return False
        last = -math.log(delta / (1 - away)) / fading
        last -= 0.5 * math.log(max(1, math.tau * last * away * (1 - away))) / fading
        return last - self.k < _MOST_STEPS

    def checkable(self) -> "Promise":
        """The promise itself; PlanError where no check of a release comes to an end."""
        if not self.can_be_checked:
            raise PlanError(
                f"no check of a release ends with k = {self.k:,} and beta = {float_kept(self.beta)};"
                " give a less extreme epsilon, or a larger delta."
            )
        return self

    def to_json(self) -> dict[str, Any]:
        """The promise as plain numbers."""
        return {
            "epsilon": float_kept(self.epsilon),
            "delta": self.delta,
            "beta": float_kept(self.beta),
            "k": self.k,
            "accounting": self.accounting,
            "delta_theorem": self.delta_theorem,
            "delta_tight": self.delta_tight,
            "epsilon_scheme": float_kept(self.epsilon_scheme),
        }


def theorem_delta(k: int, beta: Fraction, epsilon: Fraction) -> float:
    """d(k, beta, epsilon) of the paper's Theorem 3.9, rounded up; PlanError where epsilon < -ln(1 -
    beta), of which it says nothing.

    >>> theorem_delta(10, Fraction("0.1"), Fraction("0.5"))
    2.0723118158797455e-05
    """
    _sensible(k, beta, epsilon)
    theorem.refuse_uncovered(beta, epsilon)
    return float_above(theorem.delta_between(k, beta, epsilon)[1])


def tight_delta(k: int, beta: Fraction, epsilon: Fraction) -> float:
    """The smallest delta with which the mechanism is (epsilon, delta)-differentially private,
    rounded up.

    >>> tight_delta(10, Fraction("0.1"), Fraction("0.5"))
    6.716234369993272e-07
    """
    _sensible(k, beta, epsilon)
    return float_above(tight.delta_between(k, beta, epsilon)[1])


def promised(
    accounting: Accounting,
    k: int,
    beta: Fraction,
    epsilon: Fraction,
    epsilon_scheme: Fraction,
    delta: float | None,
) -> Promise:
    """The promise of these parameters, with both accountings' figures; ``epsilon`` is the sample's
    own.
    """
    if accounting == "theorem":
        theorem.refuse_uncovered(beta, epsilon)
    exactly, by_theorem = float_above(tight.delta_between(k, beta, epsilon)[1]), None
    if accounting == "theorem" or theorem.covers(beta, epsilon):
        by_theorem = float_above(theorem.delta_between(k, beta, epsilon)[1])
    own = exactly if by_theorem is None or accounting == "tight" else by_theorem
    shown = own if delta is None else delta
    if Fraction(repr(shown)) >= beta:
        raise PlanError(
            f"beta must be above delta, and beta = {float(beta)} gives a delta of {shown:g}: take a"
            " larger k."
        )
    return Promise(
        epsilon + epsilon_scheme, shown, beta, k, accounting, by_theorem, exactly, epsilon_scheme
    )


def _sensible(k: int, beta: Fraction, epsilon: Fraction) -> None:
    if k < 1:
        raise PlanError(f"k must be a whole number of at least 1, and is {k}.")
    if not 0 < beta < 1:
        raise PlanError(f"beta must be above 0 and below 1, and is {float(beta)}.")
    if epsilon <= 0:
        raise PlanError(f"epsilon must be above 0, and is {float(epsilon)}.")
