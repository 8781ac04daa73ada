# SPDX-License-Identifier: Apache-2.0
"""What releases of fresh samples cost together: by plain addition, and by composing their privacy
losses.

**Addition** is exact: R epsilon, R delta. **Composition** adds up the distributions of privacy
losses: with tight accounting the loss of the mechanism itself, with the theorem's the worst loss of
anything (epsilon, delta)-private; a scheme chosen under ``epsilon_scheme`` counts as the worst
choice of that price, once for each release. It covers adaptive series, persons in cells of
different sizes, and both directions (a person in all releases, or in none).

What is rigorous and what is not: the profile of one release and that its chords dominate are
proved, and it is raised by more than floats lose. The convolution is dp-accounting's, by fast
Fourier transforms of floats: ``_rounding`` adds what those may lose (the usual bound on the norm of
their error, with a factor to spare); masses that dp-accounting cuts off at either end it counts as
lost itself. No figure is above plain addition's.

The privacy profile of a direction is ``sup over n`` of hockey-stick divergences, at every real epsilon. As
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
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from phalanx.accounting.binomials import log_pmf
from phalanx.accounting.directed import float_kept
from phalanx.accounting.promise import Promise
from phalanx.arrays import Floats
from phalanx.errors import PlanError, kind_of, require_extra
from phalanx.exact import whole

_Side = Callable[[int, Fraction, Floats], Floats]

_MOST_POINTS = 50_000
_LONGEST = 8_000_000
_FINEST = 400
"""So many steps of the grid of losses in one epsilon, where there is room for them."""

_BITS = 30
_SPARE = 1 + 1e-9

_AGREED: Final = 1.03
"""By so much a composed delta is raised: the check of a release bounds the same figure in another,
coarser way, and what is admitted here is to pass there.
"""
_RAISED = 1e-8
"""By so much of it the profile is raised, and by 1e-14 more for every row of the cell: far more
than floats lose in computing it and its second differences.
"""

_MOST_RELEASES: Final = 10**6


class _Loss(Protocol):
    """A distribution of privacy losses, as dp-accounting has it."""

    def compose(self, other: Any, tail_mass_truncation: float) -> Any: ...
    def self_compose(self, num_times: int, tail_mass_truncation: float) -> Any: ...
    def get_delta_for_epsilon(self, epsilon: float) -> float: ...


@dataclass(frozen=True)
class Together:
    """The cost of so many releases: ``epsilon`` and ``delta`` by plain addition.

    ``tight_epsilon`` at that delta, and ``tight_delta`` at that epsilon, are by composition of
    their privacy losses.
    """

    promise: Promise
    releases: int
    epsilon: Fraction
    delta: Fraction
    _losses: tuple[_Loss, ...] = field(repr=False, compare=False)
    _rounding: float = field(repr=False, compare=False)

    @property
    def tight_epsilon(self) -> float:
        """The least epsilon at the delta of plain addition."""
        return self.epsilon_at(float_kept(self.delta))

    @property
    def tight_delta(self) -> float:
        """The least delta at the epsilon of plain addition."""
        return self.delta_at(float_kept(self.epsilon))

    def delta_at(self, epsilon: float) -> float:
        """The least delta of all releases at this epsilon."""
        added_up = self.delta if Fraction(repr(float(epsilon))) >= self.epsilon else Fraction(1)
        below = math.nextafter(epsilon, -math.inf)
        composed = (
            max(loss.get_delta_for_epsilon(below) for loss in self._losses) * _SPARE
            + self._rounding
        ) * (_AGREED if self.releases > 1 else 1)
        return min(float(composed), float_kept(min(added_up, Fraction(1))))

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon of all releases at this delta, to ten digits; infinite where no epsilon
        has it.
        """
        low, high = 0.0, 1.0
        while self.delta_at(high) > delta:
            low, high = high, 2 * high
            if high > 2 * float(self.epsilon) + 1e4:
                return math.inf
        if self.delta_at(low) <= delta:
            return low
        while high - low > 1e-10 * high:
            middle = (low + high) / 2
            if self.delta_at(middle) <= delta:
                high = middle
            else:
                low = middle
        most = float_kept(self.epsilon)
        return min(high, most) if self.delta <= Fraction(repr(float(delta))) else high

    def to_json(self) -> dict[str, Any]:
        """The figures as plain numbers."""
        return {
            "releases": self.releases,
            "epsilon": float_kept(self.epsilon),
            "delta": float_kept(self.delta),
            "tight_epsilon": self.tight_epsilon,
            "tight_delta": self.tight_delta,
        }


@lru_cache(maxsize=32)
def together(promise: Promise, releases: int) -> Together:
    """What so many releases with this promise, each of a fresh sample, cost together.

    Parameters
    ----------
    promise : Promise
        What one release promises.
    releases : int
        How many releases, each of a fresh sample.

    Returns
    -------
    Together
        Epsilon and delta of all together, by addition and by exact composition.

    Raises
    ------
    PlanError
        Where the number of releases is none.

    Examples
    --------
    >>> from phalanx.accounting import solve
    >>> cost = together(solve(epsilon=1, delta="1e-6", accounting="tight"), 8)
    >>> float(cost.epsilon), cost.tight_epsilon < 4
    (8.0, True)
    """
    if not isinstance(promise, Promise):
        raise PlanError(f"the promise is {kind_of(promise)}; give what budget returns.")
    releases = whole(releases, "releases")
    if releases > _MOST_RELEASES:
        raise PlanError(f"releases must be at most {_MOST_RELEASES}, and is {releases}.")
    require_extra("dp", "what releases cost together")
    losses, rounding = _composed(promise, releases)
    return Together(
        promise,
        releases,
        releases * promise.epsilon,
        min(releases * Fraction(repr(promise.delta)), Fraction(1)),
        losses,
        rounding,
    )


def _composed(promise: Promise, releases: int) -> tuple[tuple[_Loss, ...], float]:
    """The losses of all releases, one distribution for each direction, and what their floats may
    have lost.
    """
    step = _step(promise, releases)
    truncated = releases * promise.delta * 1e-6
    if promise.accounting == "tight":
        one, points, norm = _of_mechanism(promise.k, promise.beta, step)
    else:
        loss, points = _of_anything(promise.epsilon_sampling, promise.delta, step)
        one, norm = (loss,), 1.0
    with np.errstate(
        over="ignore"
        # where dp-accounting looks for what it may cut off, some of the many bounds it tries are
        # infinite
    ):
        composed = [loss.self_compose(releases, truncated) for loss in one]
        if promise.epsilon_scheme:
            choice, more = _of_anything(promise.epsilon_scheme, 0.0, step)
            composed = [
                loss.compose(choice.self_compose(releases, truncated), truncated)
                for loss in composed
            ]
            points += more
    return tuple(composed), _rounding(points * releases, releases, norm)


def _step(promise: Promise, releases: int) -> float:
    """The grid of losses: fine against epsilon, and such that a loss that is one number is on it,
    or a hair below.

    So few of its bits are used that dp-accounting's products and quotients with whole numbers are
    exact, and round a loss to no other point.
    """
    sampling, scheme = promise.epsilon_sampling, promise.epsilon_scheme
    if promise.accounting == "theorem":
        denominator = math.lcm(sampling.denominator, scheme.denominator)
        common = Fraction(
            math.gcd(int(sampling * denominator), int(scheme * denominator)), denominator
        )  # both are multiples; epsilon if there is no scheme
        step = float(max(common, sampling / (10 * _FINEST)))
    else:
        low, high = span(promise.k, promise.beta)
        width = high - low
        step = max(float(sampling) / _FINEST, width / _MOST_POINTS, width * releases / _LONGEST)
        if scheme:
            step = float(scheme) / math.ceil(float(scheme) / step)
    mantissa, exponent = math.frexp(step * _SPARE)
    return math.ldexp(math.ceil(mantissa * 2**_BITS), exponent - _BITS)


def _of_anything(epsilon: Fraction, delta: float, step: float) -> tuple[_Loss, int]:
    """The worst losses of anything (epsilon, delta)-private, and how many points of the grid they
    are apart.
    """
    from dp_accounting.pld.common import DifferentialPrivacyParameters  # type: ignore[import-untyped]  # it ships no types
    from dp_accounting.pld.privacy_loss_distribution import from_privacy_parameters  # type: ignore[import-untyped]  # it ships no types

    steps = math.ceil(epsilon / Fraction(step))
    loss: _Loss = from_privacy_parameters(DifferentialPrivacyParameters(steps * step, delta), step)
    return loss, 2 * steps + 1


def _of_mechanism(k: int, beta: Fraction, step: float) -> tuple[tuple[_Loss, ...], int, float]:
    """The losses of one release, of a row added and of a row removed; how many points they have,
    and the largest norm of their masses.
    """
    from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots  # type: ignore[import-untyped]  # it ships no types
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    low, high = span(k, beta)
    losses, norm = [], 0.0
    for profile, first, last in ((added, low, high), (removed, -high, -low)):
        grid = np.arange(math.floor(first / step) - 1, math.ceil(last / step) + 2)
        heights = profile(k, beta, np.asarray(grid * step, dtype=np.float64))
        heights = np.maximum.accumulate(heights[::-1])[
            ::-1
        ]  # where the profile is level, floats may rise by their last digit
        losses.append(
            PrivacyLossDistribution(create_pmf_pessimistic_connect_dots(step, grid, heights))
        )
        largest = max(
            1 - heights[0], float(np.max(heights[:-1] - heights[1:])) / -math.expm1(-step)
        )  # at least any mass, and all are 1 together
        norm = max(norm, math.sqrt(largest))
    return tuple(losses), len(grid), min(norm, 1.0)


def _rounding(points: int, releases: int, norm: float) -> float:
    """More than the error of an R-fold convolution by Fourier transforms, summed over all points.

    A transform of N points is wrong by less than 8 u log2 N of its norm (Higham, Accuracy and
    Stability, theorem 24.2); the R-th power multiplies that by R, as no coefficient is above 1; and
    the sum over N points is at most sqrt N times the norm.
    """
    return 2.0**-53 * 16 * (releases + 1) * math.log2(points + 2) * math.sqrt(points) * norm


# ---- the privacy profile of one release, as floats a little above it


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
