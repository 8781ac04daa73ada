# SPDX-License-Identifier: Apache-2.0
"""What safe sampling promises under given parameters, by the paper's theorem and exactly."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from phalanx.accounting import theorem, tight
from phalanx.accounting.directed import float_above, float_kept
from phalanx.errors import PlanError

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
