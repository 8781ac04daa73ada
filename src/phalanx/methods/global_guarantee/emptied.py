# SPDX-License-Identifier: Apache-2.0
"""Which rows are published without a value, so that no adversary learns more of them than 1/l
(``grouping = "balanced"``).

Anyone who knows how often a value stands in a table subtracts what is shown, and knows how often it
stands in the rest. So the rest may hold no more than 1/l of any value, as if it were a group. Rows
are published class by class, those who demand least first. Each time the rows that wait are parted,
by what is public and by how often values stand in all of them, into a class to be shown and the
rest. Where the class cannot be cut into groups, or the rest holds more than 1/l of a value, no row
that waits shows a value; and neither does one, by a coin, where nothing is wrong. The coin makes
what is then hidden look like the average.

Why that is enough. Let n rows wait, N of which hold a value, N/n <= 1/l, and let all ways in which
they may lie be equally likely. A part has m rows, h of which hold it. F, what goes wrong, follows
from the counts of the two parts; the coin falls with a. Given that nothing is shown, h is m/l on
average at most if

    E[h - m/l; F] + a E[h - m/l; not F] <= 0.

With A for the first and T = m/l - mN/n the second expectation is -T - A, so that A (1 - a) <= a T
is needed. A is at most E[max(h - m/l, 0)], whatever F is, and a coin of that over itself and T will
do. What is shown is as likely as before, for the coin looks at no row; and the rest then waits with
known counts. Proof: docs/explanation/who-knows-the-method.md; all ways gone through: tests/worlds/,
tests/methods/global_guarantee/test_emptied.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, lgamma
from typing import Any, Final

import numpy as np

from phalanx.arrays import Floats, Ints
from phalanx.errors import NotEligible
from phalanx.exact import plain
from phalanx.methods.global_guarantee.exposures import Demands
from phalanx.methods.global_guarantee.kernels.demands import raised
from phalanx.methods.global_guarantee.protected import Protected

_MARGIN: Final = 1.001
"""What is computed of a tail is raised by this, far more than what floating point loses."""
_PARTS: Final = 2**40
"""A coin is rounded up to so many parts."""


@dataclass(frozen=True, eq=False)
class Waiting:
    """Rows of which none has been published yet, those whose budget is spent among them: what they
    hold, and the least that they demand of a group.
    """

    rows: Ints
    held: Protected
    demands: Demands
    l: Fraction

    @cached_property
    def counts(self) -> Ints:
        """How many of the rows hold each value, shape (v,)."""
        return self._counts(self.rows)

    def _counts(self, rows: Ints) -> Ints:
        return np.bincount(self.held.by(rows), minlength=len(self.demands.base))

    def may_be_hidden(self, rows: Ints) -> bool:
        """Whether rows hold at most 1/l of any value."""
        return int(self._counts(rows).max(initial=0)) * self.l <= len(rows)

    def shown(self, rows: Ints, highest: Floats, least: int) -> Ints:
        """Those of a class, ordered by what they demand, most first, that are to be published: so
        many that most rows may be expected to be shown.

        This is decided by how often values stand in all rows, and by what is public. ``highest``:
        the largest ratio that each person demands.
        """
        best, cost = rows[:0], float(len(self.rows))
        candidates = _candidates(highest[rows], least)
        for padded, ratio in zip(candidates, self._ratios(rows, candidates), strict=True):
            hidden = len(self.rows) - len(rows) + padded
            if hidden >= cost:
                break
            expected = hidden + (len(self.rows) - hidden) * self._failing(len(rows) - padded, ratio)
            if expected < cost:
                best, cost = rows[padded:], expected
        return best

    def coin(self, shown: int) -> Fraction:
        """How likely nothing is published although nothing is wrong, where so many of the rows
        would be shown.
        """
        if shown == len(self.rows):
            return Fraction(0)
        chances = [self._coin(m) for m in (shown, len(self.rows) - shown)]
        return min(Fraction(ceil(max(chances) * _PARTS), _PARTS), Fraction(1))

    def _coin(self, m: int) -> float:
        over = self._beyond(m, np.full(len(self.counts), m / float(self.l)))[1]
        spare = np.maximum(m * (1 / float(self.l) - self.counts / len(self.rows)) / _MARGIN, 0)
        return float(
            np.max(
                np.divide(over, over + spare, out=np.zeros(len(over)), where=over > 0), initial=0.0
            )
        )

    def _ratios(self, rows: Ints, firsts: Sequence[int]) -> Floats:
        """What ``rows`` from each of some places on, ascending, demand by value, shape (f, v)."""
        asked = self.demands
        last = np.full(len(asked.starts) - 1, -1)
        last[asked.history[rows]] = np.arange(len(rows))  # of several, the last one stays
        since = np.searchsorted(firsts, last, side="right") - 1
        ratios = np.tile(asked.base, (len(firsts), 1))
        raised(since, asked.starts, asked.value, asked.ratio, ratios)
        return np.maximum.accumulate(ratios[::-1])[::-1]

    def _failing(self, m: int, ratio: Floats) -> float:
        """How likely nothing is published, at most, where ``m`` rows are to be shown that demand a
        ``ratio`` (v,).
        """
        n = len(self.rows)
        wrong = self._beyond(m, m / ratio)[0].sum()
        if m < n:
            wrong += self._beyond(n - m, np.full(len(ratio), (n - m) / float(self.l)))[0].sum()
        wrong, coin = min(float(wrong), 1.0), float(self.coin(m))
        return wrong + coin - wrong * coin

    def _beyond(self, m: int, most: Floats) -> tuple[Floats, Floats]:
        """Of ``m`` of the rows, drawn at random: P(h > most) and E[max(h - most, 0)] by value,
        shape (v,), or a little more.

        Beyond the mean each further row is less likely by a factor that falls, so that a geometric
        series is above the sum.
        """
        n, counts = len(self.rows), self.counts.astype(np.float64)
        first = np.floor(most) + 1
        sure = first * n <= m * counts
        h = np.clip(first, np.maximum(0, m - (n - counts)), np.minimum(m, counts))
        chance = _MARGIN * np.exp(_choose(counts, h) + _choose(n - counts, m - h) - _choose(n, m))
        chance = np.where(first > np.minimum(m, counts), 0.0, chance)
        factor = np.where(sure, 0.0, (counts - h) * (m - h) / ((h + 1) * (n - counts - m + h + 1)))
        tail, mean = (
            chance / (1 - factor),
            chance * ((first - most) / (1 - factor) + factor / (1 - factor) ** 2),
        )
        return np.where(sure, 1.0, np.minimum(tail, 1.0)), mean


def check_frequent(protected: Protected, rows: Ints, l: Fraction, times: int = 1) -> None:
    """Refuse rows of which more than 1/(times l) hold a value: no adversary who knows that could be
    kept within 1/l.
    """
    most = int(np.bincount(protected.by(rows)).max(initial=0))
    if most * l * times > len(rows):
        raise NotEligible(
            f"a protected value stands in {most} of {len(rows)} rows, and l = {plain(l)} allows at"
            f" most {1 / (l * times)} of them; lower l, or leave frequent values out of protect."
        )


def _candidates(highest: Floats, least: int) -> list[int]:
    """How many rows of a class, ordered by what they demand, may go without a value: few, more and
    more, all of one level, or all.
    """
    n = len(highest)
    steps = np.unique((1.25 ** np.arange(np.log(max(n, 2)) / np.log(1.25))).astype(np.int64))
    levels = np.flatnonzero(np.diff(np.ceil(np.log2(highest) - 1e-9))) + 1
    candidates = (
        np.unique(np.concatenate([[0], steps, levels, np.flatnonzero(highest == highest[-1])[:1]]))
        if n
        else np.zeros(0, dtype=np.int64)
    )
    chosen: list[int] = candidates[n - candidates >= least].tolist()
    return chosen


def _choose(n: Any, k: Any) -> Floats:
    """The logarithm of the number of ways to choose ``k`` of ``n``."""
    return np.asarray(
        _log_gamma(n + 1) - _log_gamma(k + 1) - _log_gamma(n - k + 1), dtype=np.float64
    )


_log_gamma: Final = np.frompyfunc(lgamma, 1, 1)
