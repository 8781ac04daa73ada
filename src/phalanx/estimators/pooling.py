# SPDX-License-Identifier: Apache-2.0
"""Answers of several drawn tables put together (Rubin, Multiple Imputation for Nonresponse in
Surveys, 1987, chapter 3).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from phalanx.errors import ReleaseError
from phalanx.exact import bounded

_HALVINGS: Final = 200
_MOST: Final = 1e150
"""No figure is farther from 0: its square is a number, too."""


@dataclass(frozen=True, kw_only=True)
class Pooled:
    """One figure from several drawn tables."""

    estimate: float
    """The mean of the tables' figures."""
    within: float
    """The mean of their variances: what a table of this size does not know."""
    between: float
    """How much the figures differ, as a variance: what the release does not say."""
    variance: float
    """Both together: within + (1 + 1 / tables) * between."""
    freedom: float
    """Degrees of freedom of the t distribution; infinite where the tables agree."""
    interval: tuple[float, float]
    """Where the figure lies, at the asked level."""
    tables: int

    def to_json(self) -> dict[str, Any]:
        """Stable keys: estimate, within, between, variance, freedom, interval, tables."""
        freedom = None if math.isinf(self.freedom) else self.freedom
        return {
            **{k: getattr(self, k) for k in ("estimate", "within", "between", "variance")},
            "freedom": freedom,
            "interval": list(self.interval),
            "tables": self.tables,
        }


def pool(estimates: Sequence[float], variances: Sequence[float], *, level: float = 0.95) -> Pooled:
    """The figure of an analysis that was made of each drawn table, with its variance, by Rubin's
    rules.

    The interval says what the draws do not know; that draws hold less of how attributes go together
    than people do, no pooling mends.

    Parameters
    ----------
    estimates : sequence of float, shape (m,)
        The figure of each table, of at least two.
    variances : sequence of float, shape (m,)
        The squared standard error of each figure.
    level : float, default 0.95
        With what probability the interval is to hold the truth.

    Returns
    -------
    Pooled
        The pooled figure, its variance and its interval.

    Raises
    ------
    ReleaseError
        Where the numbers are not two or more pairs of finite ones.

    Examples
    --------
    >>> found = pool([4.0, 5.0, 6.0], [1.0, 1.0, 1.0])
    >>> found.estimate, round(found.variance, 4), round(found.freedom, 3)
    (5.0, 2.3333, 6.125)
    """
    try:
        q, u = [float(x) for x in estimates], [float(x) for x in variances]
    except (TypeError, ValueError, OverflowError):
        q, u = [], []
    m = len(q)
    if m < 2 or len(u) != m or not all(abs(x) < _MOST for x in (*q, *u)) or min(u) < 0:
        raise ReleaseError(
            "pooling takes an estimate and a variance of at least 0 from each of two or more"
            " tables; give two lists of equal length."
        )
    level = float(bounded(level, "level", 0, 1))
    if level <= 0 or (1 + level) / 2 >= 1:
        raise ReleaseError(f"level = {level} is no share; give one between 0 and 1, such as 0.95.")
    mean, within = math.fsum(q) / m, math.fsum(u) / m
    between = math.fsum((x - mean) ** 2 for x in q) / (m - 1)
    added = (1 + 1 / m) * between
    variance = within + added
    freedom = math.inf if added == 0 else (m - 1) * (variance / added) * (variance / added)
    half = _quantile((1 + level) / 2, freedom) * math.sqrt(variance)
    return Pooled(
        estimate=mean,
        within=within,
        between=between,
        variance=variance,
        freedom=freedom,
        interval=(mean - half, mean + half),
        tables=m,
    )


def _quantile(p: float, freedom: float) -> float:
    """The p-quantile (p above 1/2) of Student's t distribution, by halving.

    >>> round(_quantile(0.975, 4), 4), round(_quantile(0.975, float("inf")), 4)
    (2.7764, 1.96)
    """
    if freedom > 1e7:
        from statistics import NormalDist

        return NormalDist().inv_cdf(p)
    low, high = 0.0, 1.0
    while _above(high, freedom) > 1 - p:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _above(middle, freedom) > 1 - p else (low, middle)
    return high


def _above(t: float, freedom: float) -> float:
    """How probable more than t is: half of the incomplete beta function, by its continued fraction
    (Abramowitz and Stegun 26.5.8 and 26.7.1).
    """
    x = freedom / (freedom + t * t)
    return _incomplete(x, freedom / 2, 0.5) / 2


def _incomplete(x: float, a: float, b: float) -> float:
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete(1 - x, b, a)
    if x == 0:
        return 0.0
    front = (
        math.exp(
            a * math.log(x)
            + b * math.log1p(-x)
            + math.lgamma(a + b)
            - math.lgamma(a)
            - math.lgamma(b)
        )
        / a
    )
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    result = d
    for i in range(1, 10_000):
        for numerator in (
            i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i)),
            -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1)),
        ):
            d, c = 1 / _away(1 + numerator * d), _away(1 + numerator / c)
            result *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * result


def _away(x: float) -> float:
    """The number, or a very small one in the place of 0."""
    return x if abs(x) > 1e-300 else 1e-300
