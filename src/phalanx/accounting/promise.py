# SPDX-License-Identifier: Apache-2.0
"""What safe sampling promises under given parameters, by the paper's theorem and exactly."""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from phalanx.accounting import theorem, tight
from phalanx.accounting.directed import (
    downwards,
    exponential,
    float_above,
    float_below,
    logarithm,
    quotient,
    rounded_down,
    rounded_up,
    upwards,
)
from phalanx.errors import PlanError

Accounting = Literal["tight", "theorem"]
"""Which delta is promised: the exact one of the mechanism, or the paper's Theorem 3.9."""

PLACES = 15
"""Decimals of a beta that is solved for: a float prints and reads them back unchanged."""

EPSILON_PLACES = 12
"""Decimals of an epsilon that is solved for."""

_BELOW_ONE = math.nextafter(1.0, 0.0)


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
    epsilon_scheme: Fraction = Fraction(0)

    @property
    def epsilon_sampling(self) -> Fraction:
        """What is left of epsilon for the sample itself."""
        return self.epsilon - self.epsilon_scheme

    def to_json(self) -> dict[str, Any]:
        """The promise as plain numbers."""
        return {
            "epsilon": float(self.epsilon),
            "delta": self.delta,
            "beta": float(self.beta),
            "k": self.k,
            "accounting": self.accounting,
            "delta_theorem": self.delta_theorem,
            "delta_tight": self.delta_tight,
            "epsilon_scheme": float(self.epsilon_scheme),
        }


def theorem_delta(k: int, beta: Fraction, epsilon: Fraction) -> float:
    """d(k, beta, epsilon) of the paper's Theorem 3.9, rounded up; PlanError where epsilon < -ln(1 -
    beta), of which it says nothing.

    >>> theorem_delta(10, Fraction("0.1"), Fraction("0.5"))
    2.0723118158797455e-05
    """
    _sensible(k, beta, epsilon)
    refuse_uncovered(beta, epsilon)
    return float_above(theorem.delta_between(k, beta, epsilon)[1])


def tight_delta(k: int, beta: Fraction, epsilon: Fraction) -> float:
    """The smallest delta with which the mechanism is (epsilon, delta)-differentially private,
    rounded up.

    >>> tight_delta(10, Fraction("0.1"), Fraction("0.5"))
    6.716234369993272e-07
    """
    _sensible(k, beta, epsilon)
    return float_above(tight.delta_between(k, beta, epsilon)[1])


def theorem_covers(beta: Fraction, epsilon: Fraction) -> bool:
    """Whether epsilon >= -ln(1 - beta), exactly."""
    digits = 40
    while True:  # e^-epsilon is irrational, so enough digits tell
        low, high = exponential(-epsilon, digits)
        if quotient(upwards(digits), 1 - beta) < low:
            return False
        if quotient(downwards(digits), 1 - beta) > high:
            return True
        digits *= 2


def refuse_uncovered(beta: Fraction, epsilon: Fraction) -> None:
    """PlanError where the theorem says nothing of this beta."""
    if not theorem_covers(beta, epsilon):
        raise PlanError(
            f"beta = {_said(beta)} is more than the theorem allows at epsilon = {_said(epsilon)}:"
            f' take a beta of at most {_said(default_beta(epsilon))}, or accounting = "tight".'
        )


def default_beta(epsilon: Fraction) -> Fraction:
    """The largest beta that the theorem allows, 1 - e^-epsilon, rounded down to 15 decimals.

    >>> float(default_beta(Fraction(1)))
    0.632120558828557
    """
    beta = Fraction(0)
    if epsilon > 0:
        beta = min(rounded_down(_most(epsilon), PLACES), 1 - Fraction(1, 10**PLACES))
    if beta <= 0:
        raise PlanError(
            "epsilon must be above 0 (and above 1e-15, of which beta has 15 decimals), and is"
            f" {_said(epsilon)}."
        )
    return beta


def nearest_beta(epsilon: Fraction) -> Fraction:
    """The same rounded down to the decimals of a float, of which it may have more: between two
    betas of 15 decimals the theorem's d may jump.

    >>> float(nearest_beta(Fraction(1)))
    0.6321205588285576
    """
    return max(default_beta(epsilon), Fraction(repr(min(float_below(_most(epsilon)), _BELOW_ONE))))


def _most(epsilon: Fraction) -> Decimal:
    """1 - e^-epsilon, at most, to some sixty digits."""
    return downwards(60).subtract(1, exponential(-epsilon, 80)[1])


def least_epsilon(beta: Fraction) -> Fraction:
    """The smallest epsilon for which the theorem allows that beta, -ln(1 - beta), rounded up to 12
    decimals.
    """
    return rounded_up(-logarithm(1 - beta, 60 + len(str(beta.denominator)))[0], EPSILON_PLACES)


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
        refuse_uncovered(beta, epsilon)
    exactly, by_theorem = float_above(tight.delta_between(k, beta, epsilon)[1]), None
    if accounting == "theorem" or theorem_covers(beta, epsilon):
        by_theorem = float_above(theorem.delta_between(k, beta, epsilon)[1])
    own = exactly if by_theorem is None or accounting == "tight" else by_theorem
    shown = own if delta is None else delta
    if Fraction(repr(shown)) >= beta:
        raise PlanError(
            f"beta must be above delta, and beta = {_said(beta)} gives a delta of {shown:g}: take a"
            " larger k."
        )
    return Promise(
        epsilon + epsilon_scheme, shown, beta, k, accounting, by_theorem, exactly, epsilon_scheme
    )


def _sensible(k: int, beta: Fraction, epsilon: Fraction) -> None:
    if k < 1:
        raise PlanError(f"k must be a whole number of at least 1, and is {k}.")
    if not 0 < beta < 1:
        raise PlanError(f"beta must be above 0 and below 1, and is {_said(beta)}.")
    if epsilon <= 0:
        raise PlanError(f"epsilon must be above 0, and is {_said(epsilon)}.")


def _said(number: Fraction) -> str:
    """A number as an error shows it."""
    return repr(float(number))
