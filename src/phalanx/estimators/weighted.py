# SPDX-License-Identifier: Apache-2.0
"""Answers about the population of a survey: rows count as many times as their weight says, of which
a release tells the mean of each group.

What holds by construction: all rows of a group together weigh its size times its mean, to the
digits that were published. Which of them weighs how much nothing says but that each weighs
something; so of some rows of a group the weight is anything from nothing to all of it.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from phalanx.arrays import Floats
from phalanx.data.weights import half_units
from phalanx.estimators.answers import Figures
from phalanx.estimators.bounds import Bounds
from phalanx.estimators.conditions import Condition, Query
from phalanx.estimators.models import Model, can_be_estimated

_SLACK: Final = 1e-12
"""More than adding up can have changed, as a share of all that is added."""


class WeighedBounds(Bounds):
    """Bounds of sums over rows of unknown weight; those of means follow from these as they do where
    rows count alike.
    """

    def weight(self, where: Condition) -> tuple[Floats, Floats]:
        """The least and the greatest weight, together, of the rows of each group that the condition
        is true of, shapes (g,).
        """
        means, real = self.mean_weights, self.view.real
        low, high = self.rows(where)
        half = half_units(means)
        return (
            np.where(low >= real, real * np.maximum(means - half, 0), 0.0),
            np.where(high > 0, real * (means + half), 0.0),
        )

    @property
    def mean_weights(self) -> Floats:
        """The mean weight of each group, shape (g,)."""
        assert self.view.weights is not None  # noqa: S101  # for the types: asked where there are
        return self.view.weights.means

    def total(self, where: Condition) -> tuple[float, float]:
        """The least and the greatest weight of all rows that the condition is true of."""
        low, high = self.weight(where)
        slack = _SLACK * float(high.sum())
        return max(0.0, math.fsum(low.tolist()) - slack), math.fsum(high.tolist()) + slack

    def sums(self, name: str, where: Condition, shift: float = 0.0) -> tuple[float, float]:
        """The least and the greatest sum of weight times a number less ``shift``, over all rows
        that the condition is true of.
        """
        key = ("extremes", self.view, name, where, self.regions[name], self.regions_of(where))
        low, high, smallest, largest = self.shared.of(key, lambda: self._extremes(name, where))
        none = smallest > largest
        least, greatest = (np.where(none, 0.0, end - shift) for end in (smallest, largest))
        with np.errstate(invalid="ignore"):  # nothing times an open end is nothing
            bottom = np.where(high == 0, 0.0, np.where(least < 0, high, low) * least)
            top = np.where(high == 0, 0.0, np.where(greatest > 0, high, low) * greatest)
        bottom, top = (np.where(np.isnan(sums), 0.0, sums) for sums in (bottom, top))
        if not np.isfinite(bottom).all() or not np.isfinite(top).all():
            return float(bottom.sum()), float(top.sum())
        slack = _SLACK * float(np.abs(bottom).sum() + np.abs(top).sum())
        return math.fsum(bottom.tolist()) - slack, math.fsum(top.tolist()) + slack

    def _extremes(self, name: str, where: Condition) -> tuple[Floats, Floats, Floats, Floats]:
        """The least and the greatest weight of each group, and its least and greatest number;
        shapes (g,).
        """
        low, high = self.weight(where)
        numbers, g = self.numbers(name, where), len(low)
        least, greatest = np.full(g, np.inf), np.full(g, -np.inf)
        np.minimum.at(least, numbers.group, numbers.least)
        np.maximum.at(greatest, numbers.group, numbers.greatest)
        return low, high, least, greatest

    def least(self, name: str, where: Condition, shift: float) -> float:
        """The least of :meth:`sums`."""
        return self.sums(name, where, shift)[0]

    def greatest(self, name: str, where: Condition, shift: float) -> float:
        """The greatest of :meth:`sums`."""
        return self.sums(name, where, shift)[1]


def figures(
    model: Model, bounds: WeighedBounds, asked: Query, values: Mapping[str, Any]
) -> Figures:
    """The figures of one group that a query asks for: rows are expected to weigh what their group's
    rows do on average.

    There is no interval, as none was measured.
    """
    rows, sums = (
        float(moment @ bounds.mean_weights) for moment in model.moments(asked.of, asked.where)[:2]
    )
    point: float | None = rows if asked.aggregate == "count" else sums
    hard: tuple[float, float] | None
    if asked.of is None or asked.aggregate == "count":
        hard = bounds.total(asked.where)
    elif asked.aggregate == "sum":
        hard = bounds.sums(asked.of, asked.where)
    else:
        hard, point = bounds.means(asked.of, asked.where), sums / rows if rows > 0 else None
    hard = hard if hard is not None and all(map(math.isfinite, hard)) else None
    if point is not None and not can_be_estimated(bounds.view, asked.of, point, hard):
        point = None
    if point is not None and hard is not None:
        point = min(max(point, hard[0]), hard[1])
    whole = bounds.view.unpublished == 0
    low = None if hard is None or not (whole or asked.aggregate == "count") else hard[0]
    return Figures(
        low=low,
        high=hard[1] if hard is not None and whole else None,
        published=hard,
        estimate=point,
        interval=None,
        values=values,
    )
