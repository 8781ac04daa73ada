# SPDX-License-Identifier: Apache-2.0
"""What sampling does to a promise: the paper's Theorem 1, there and back."""

from decimal import Decimal
from fractions import Fraction

from phalanx.accounting.directed import (
    downwards,
    exponential,
    float_above,
    float_below,
    float_kept,
    logarithm,
    quotient,
    upwards,
)
from phalanx.errors import PlanError
from phalanx.exact import MOST_EPSILON, Number, bounded, exact

_DIGITS = 60


def amplified(
    epsilon: Number, delta: Number, beta: Number, beta_before: Number = 1
) -> tuple[float, float]:
    """(epsilon, delta) after a sample of ``beta`` of what keeps them at a sample of
    ``beta_before``, both rounded up.

    epsilon' = ln(1 + (beta / beta_before)(e^epsilon - 1)), delta' = (beta / beta_before) delta
    (Theorem 1 of the paper).

    >>> amplified(1, "1e-5", "0.1")
    (0.15856507874042913, 1e-06)
    """
    ratio = _ratio(beta, beta_before)
    if ratio == 1:
        return float_kept(_epsilon(epsilon)), float_kept(_delta(delta))
    grown = _scaled(_epsilon(epsilon), ratio)
    return float_above(grown[1]), float_kept(_delta(delta) * ratio)


def before_sampling(epsilon: Number, delta: Number, beta: Number) -> tuple[float, float]:
    """The largest (epsilon, delta) a method may keep by itself, so that after a sample of ``beta``
    it keeps these; both rounded down.

    >>> before_sampling("0.1", "1e-6", "0.1")
    (0.7186731924870721, 1e-05)
    """
    ratio = 1 / _ratio(beta, 1)
    before = _delta(delta) * ratio
    if before >= 1:
        raise PlanError(
            f"beta must be above delta, and is {beta} against {delta}: take a larger beta or a"
            " smaller delta."
        )
    return float_below(_scaled(_epsilon(epsilon), ratio)[0]), float_below(before)


def _scaled(epsilon: Fraction, ratio: Fraction) -> tuple[Decimal, Decimal]:
    """Two decimals with ln(1 + ratio (e^epsilon - 1)) between them."""
    digits = _DIGITS + len(str(epsilon.denominator)) + len(str(ratio.denominator))
    down, up = downwards(digits), upwards(digits)
    low, high = exponential(epsilon, digits)
    low = down.add(1, down.multiply(quotient(down, ratio), down.subtract(low, 1)))
    high = up.add(1, up.multiply(quotient(up, ratio), up.subtract(high, 1)))
    return logarithm(Fraction(low), digits)[0], logarithm(Fraction(high), digits)[1]


def _epsilon(epsilon: Number) -> Fraction:
    number = bounded(epsilon, "epsilon", 0, MOST_EPSILON)
    if number == 0:
        raise PlanError(f"epsilon must be above 0, and is {epsilon}.")
    return number


def _delta(delta: Number) -> Fraction:
    number = exact(delta, "delta")
    if not 0 <= number < 1:
        raise PlanError(f"delta must be at least 0 and below 1, and is {delta}.")
    return number


def _ratio(beta: Number, before: Number) -> Fraction:
    after, first = exact(beta, "beta"), exact(before, "beta_before")
    if not 0 < after <= first <= 1:
        raise PlanError(
            f"beta must be above 0 and at most beta_before = {before}, and that at most 1; beta is"
            f" {beta}."
        )
    return after / first
