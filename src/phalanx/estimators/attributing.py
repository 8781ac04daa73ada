# SPDX-License-Identifier: Apache-2.0
"""How much of what is counted in each group belongs to the rows of each kind in it, where groups were
made without regard to it.

Of group g it is known how many rows of each kind s it holds, c(g, s), and how many rows are hits,
y(g): that y(g) is about the sum of c(g, s) p(s) tells of each kind the share p(s) of its rows that
are hits (ecological regression, Goodman 1953). The shares of all kinds are drawn towards that of all
rows, the more the less the groups tell: by a normal prior, whose width is the correlation of kinds
and hits, any of which is as likely as another beforehand.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from phalanx.arrays import Floats, Ints

_CORRELATIONS: Final = np.linspace(0, 0.995, 40)
_TEMPER: Final = 0.2
"""What groups say of the correlation counts as if there were so many of them: their rows are not
drawn one by one.
"""
_LIKELY: Final = 0.2
"""A correlation is likely that is so many times as likely as the likeliest."""
_DEVIATIONS: Final = 1.25
"""Errors have so many times the standard deviation at most, in experiments/answers, as not all kinds
are off as a normal prior has it.
"""
_Z: Final = 1.959963984540054


@dataclass(frozen=True, eq=False)
class Held:
    """How many rows of each kind some groups hold."""

    group: Ints
    """Shape (e,): 0 .. g-1."""
    kind: Ints
    """Shape (e,): 0 .. k-1."""
    count: Floats
    """Shape (e,)."""
    rows: Floats
    """Shape (g,), the sum of the counts of each."""

    def normal(self, kinds: int) -> Floats:
        """The products of the counts of all pairs of kinds, over the rows of their group, added up;
        shape (k, k).
        """
        if kinds == 2:
            groups = len(self.rows)
            each = np.bincount(self.kind * groups + self.group, self.count, 2 * groups)
            each = each.reshape(2, groups)
            return np.asarray((each / np.maximum(self.rows, 1)) @ each.T)
        order = np.argsort(self.group, kind="stable")
        group, kind, count = self.group[order], self.kind[order], self.count[order]
        weight = count / np.maximum(self.rows[group], 1)
        total = np.bincount(kind * kinds + kind, weight * count, kinds**2)
        for apart in range(1, len(group)):
            same = group[apart:] == group[:-apart]
            if not same.any():
                break
            one, other = kind[:-apart][same], kind[apart:][same]
            both = weight[:-apart][same] * count[apart:][same]
            total += np.bincount(one * kinds + other, both, kinds**2)
            total += np.bincount(other * kinds + one, both, kinds**2)
        return np.asarray(total.reshape(kinds, kinds))


@dataclass(frozen=True, eq=False)
class Shares:
    """Of each kind, how many of its rows are hits; as each correlation has it, of shape (r, k)."""

    weights: Floats
    """How likely each correlation is, shape (r,)."""
    shares: Floats
    """Shape (r, k)."""
    vectors: Floats
    """Along which these are independent, shape (k, k)."""
    variances: Floats
    """Along those, shape (r, k)."""
    variance: Floats
    """Of one row of a kind, shape (r,)."""

    @property
    def share(self) -> Floats:
        """The mean over all correlations, shape (k,)."""
        return np.asarray(self.weights @ self.shares)

    def entries(self, held: Held, hits: Floats) -> Floats:
        """The expected hits of each kind in each group that has so many, shape (e,)."""
        expected = held.count * self.share[held.kind]
        off = (hits - np.bincount(held.group, expected, len(hits))) / np.maximum(held.rows, 1)
        return np.asarray(expected + held.count * off[held.group])

    def total(self, parts: Iterable[tuple[Held, Floats, Floats]]) -> tuple[float, float]:
        """The expected hits among some rows, and the standard deviation of that, as the least certain
        of all likely correlations has it; ``parts``: what groups hold, their hits, and which share of
        each entry these rows are.
        """
        dealt = within = 0.0
        weighing = np.zeros(self.shares.shape[1])
        for held, hits, chosen in parts:
            some = np.bincount(held.group, held.count * chosen, len(hits))
            share = some / np.maximum(held.rows, 1)
            dealt += float((share * hits).sum())
            within += float((some * (1 - share)).sum())
            weights = held.count * (chosen - share[held.group])
            weighing += np.bincount(held.kind, weights, len(weighing))
        # of the hits of a group its share, and what its kinds make of it beyond the others
        expected = dealt + float(self.share @ weighing)
        off = (self.shares - self.share) @ weighing
        spread = self.variance * max(within, 0.0) + self.variances @ (weighing @ self.vectors) ** 2
        likely = self.weights >= _LIKELY * self.weights.max()
        return expected, _DEVIATIONS * float((np.abs(off) / _Z + np.sqrt(spread))[likely].max())


def diagonal(normal: Floats) -> tuple[Floats, Floats]:
    """The values, shape (k,), and vectors, shape (k, k), of what :meth:`Held.normal` gives."""
    values, vectors = np.linalg.eigh(normal)
    return np.maximum(values, 0), vectors


def learned(
    parts: Iterable[tuple[Held, Floats]],
    values: Floats,
    vectors: Floats,
    kinds: int,
    squares: float | None = None,
) -> Shares:
    """The shares of all kinds; ``parts``: what groups hold, and their hits; ``values`` and
    ``vectors``: of what all hold (``diagonal``). Hits may be numbers added up, of which ``squares`` is
    the sum of the squares over all rows, and shares are means then.
    """
    groups = 0
    rows = hits = of_hits = 0.0
    along, by_rows = np.zeros(kinds), np.zeros(kinds)
    for held, hits_of in parts:
        per_row = hits_of / np.maximum(held.rows, 1)
        along += np.bincount(held.kind, held.count * per_row[held.group], kinds)
        by_rows += np.bincount(held.kind, held.count, kinds)
        rows, hits = rows + float(held.rows.sum()), hits + float(hits_of.sum())
        of_hits += float((hits_of * per_row).sum())
        groups += int((held.rows > 0).sum())
    mean = hits / max(rows, 1.0)
    spread = (hits if squares is None else squares) / max(rows, 1.0) - mean**2
    if spread <= 0:
        none = np.zeros((1, kinds))
        return Shares(np.ones(1), none + mean, np.eye(kinds), none, np.zeros(1))
    left = vectors.T @ (along - mean * by_rows)
    off = of_hits - 2 * mean * hits + mean**2 * rows
    fits = list(_fits(values, left, off, spread, groups))
    likely = _TEMPER * np.array([fit.likely for fit in fits])
    weights = np.exp(likely - likely.max())
    return Shares(
        weights / weights.sum(),
        mean + np.array([fit.along for fit in fits]) @ vectors.T,
        vectors,
        np.array([fit.variances for fit in fits]),
        np.array([fit.variance for fit in fits]),
    )


@dataclass(frozen=True, eq=False)
class _Fit:
    """What a correlation makes of it."""

    likely: float
    """Its logarithm."""
    along: Floats
    """How far shares are off the mean, along the vectors, shape (k,)."""
    variances: Floats
    """Of these, shape (k,)."""
    variance: float
    """Of one row."""


def _fits(
    values: Floats, left: Floats, squares: float, spread: float, groups: int
) -> Iterator[_Fit]:
    for correlation in _CORRELATIONS:
        of_kinds = correlation**2 * spread
        variance = spread - of_kinds
        shrunk = of_kinds / (variance + of_kinds * values)
        off = (squares - float((left**2 * shrunk).sum())) / variance
        scale = groups * np.log(variance) + float(np.log1p(values * of_kinds / variance).sum())
        yield _Fit(-0.5 * (scale + off), left * shrunk, variance * shrunk, variance)


__all__ = ["Held", "Shares", "diagonal", "learned"]
