# SPDX-License-Identifier: Apache-2.0
"""Which new persons of m-invariance come under which signature: phases 2 and 3, region by
region.
"""

from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np

from phalanx.arrays import Ints
from phalanx.methods.m_invariance import kernels
from phalanx.methods.m_invariance.regions import WHOLE, Regions
from phalanx.methods.m_invariance.signatures import Opened, Signatures

_COUNTERFEITS: Final = 0.04
"""The share of counterfeits, when half of the first persons have left, that ``"auto"`` aims at."""
_ROWS_OF_A_SET: Final = 4
"""In a region made by ``"auto"`` there are so many times m rows for each value, on average."""
_CUT: Final = 3
"""The least number of regions in which anything is cut, as a region first keeps some rows."""

_SCATTERED: Final = 4
"""Where a region has fewer of the rows that stand side by side than one in so many, its own are put
side by side."""


def automatic(rows: int, values: int, m: int) -> int:
    """How many regions ``regions = "auto"`` makes of a first table of ``rows`` rows and ``values``
    sensitive values.

    Of ``n`` persons in so many lists, each of which loses half of them by chance, the largest of m
    lists of a signature is above their mean by z(m) sqrt(n / lists) / 2, z(m) being the expected
    largest of m normal numbers (Blom). There are about m / 2 lists for each value, so that the
    share of counterfeits is about z(m) / 2 sqrt(values m / (2 rows)) with one region, and with more
    about their fourth root times as much, as on made-up tables. All of these are public.

    >>> [automatic(150_000, 50, m) for m in (2, 4, 6, 8, 10)]
    [375, 77, 16, 6, 3]
    """
    largest = NormalDist().inv_cdf((m - 0.375) / (m + 0.25))
    alone = largest / 2 * sqrt(values * m / (2 * rows))
    return ceil(min((_COUNTERFEITS / alone) ** 4, rows / (_ROWS_OF_A_SET * values * m)))


def of_newcomers(regions: int, new: int, rows: int) -> int:
    """How many of the regions that are made of ``rows`` rows are made of ``new`` ones among them.

    Each opens signatures, and the fewer rows these have, the more of them are counterfeits: so
    regions become fewer as the root of the rows does.

    >>> [of_newcomers(regions, 5_000, 150_000) for regions in (77, 16, 6, 1)]
    [15, 3, 3, 1]
    """
    return min(regions, max(ceil(regions * sqrt(new / rows)), _CUT))


@dataclass(frozen=True, eq=False)
class _Together:
    """New rows whose values stand side by side: to go through them is to go along memory."""

    rows: Ints
    """(n,) the row of the table that each is."""
    codes: Ints
    """(n,) its sensitive value."""
    regions: Regions

    def among(self, some: Ints) -> "_Together":
        """Some of them (r,), numbered as they stand there."""
        return _Together(self.rows[some], self.codes[some], self.regions.among(some))


@dataclass(frozen=True, kw_only=True)
class Assigning:
    """How new persons are assigned."""

    m: int
    fewest: int
    """No region is made of fewer new rows."""
    whole_sets: bool = True
    """Whether new rows enter the signatures that there are; False for the paper's way."""

    def assign(
        self, s_minus: Ints, signatures: Signatures, members: Ints, regions: Regions
    ) -> tuple[Signatures, Ints, Ints]:
        """The signatures with those that are opened, the new rows region by region, and the entry
        of each.

        ``s_minus`` (n,): the new rows, m-eligible, in random order; ``members`` (q,): the most
        persons present that any value of a signature has.

        A region is cut only where each part will be m-eligible *whatever lies in it*: no value is
        held by more rows than 1/m of the smaller part. To get there, a region first takes some rows
        itself, drawn from all of a value. So all that is decided of a region follows from how often
        each value is held by its new rows, which no renaming within a signature changes.
        """
        opened, n_values = Opened(signatures, members), signatures.n_values
        together = _Together(s_minus, signatures.codes[s_minus], regions.among(s_minus))
        all_rows, all_entries, placed = np.empty_like(s_minus), np.empty_like(s_minus), 0
        waiting = [(WHOLE, together, np.arange(len(s_minus)))] if len(s_minus) else []
        while waiting:
            region, together, some = waiting.pop()
            if _SCATTERED * len(some) < len(together.rows):
                together, some = together.among(some), np.arange(len(some))
            codes = together.codes
            rest, left = some, kernels.counted(codes, some, n_values)
            places, sets = self.sets(left, opened)
            if len(places):
                offsets, values, _ = opened.table()
                asking, counts = kernels.entries_of(offsets, places, sets)
                taken, entries, rest = kernels.take(codes, some, asking, counts, values, n_values)
                left = kernels.counted(codes, rest, n_values)
                these = np.s_[placed : placed + len(taken)]
                all_rows[these], all_entries[these] = together.rows[taken], entries
                placed += len(taken)
            if len(rest):
                parts = together.regions.cut(region, rest, self.m * int(left.max()))
                waiting += [(2 * region + i, together, part) for i, part in enumerate(parts)]
        return signatures.extended(opened), all_rows[:placed], all_entries[:placed]

    def sets(self, left: Ints, opened: Opened) -> tuple[Ints, Ints]:
        """Which signatures take a region's new rows, shape (s,), in ascending order, and how many
        whole sets, shape (s,).

        ``left`` (lambda,): the rows that hold each value. Either some are left that may be cut into
        two regions, or none.
        """
        offsets, values, marks = opened.table()
        none = np.zeros(0, dtype=np.int64)
        for parts in (2, 0) if left.sum() >= 2 * self.fewest else (0,):
            rest, entered, sets = left.copy(), none, none
            if self.whole_sets:
                entered, sets = kernels.entering(
                    offsets, values, marks, opened.ranks, rest, self.m, parts
                )
            alphas, betas, chosen = kernels.assignment(rest, self.m, parts)
            if rest.sum() - (alphas * betas).sum() >= 2 * self.fewest:
                break
        joined = opened.open(chosen, np.concatenate([[0], np.cumsum(betas)]))
        places, taken = kernels.summed(
            np.concatenate([entered, joined]), np.concatenate([sets, alphas])
        )
        opened.add(places, taken)
        return places, taken


def count(codes: Ints, n: int) -> Ints:
    """How often each code of 0 .. n-1 stands in ``codes``, shape (n,)."""
    return np.bincount(codes, minlength=n).astype(np.int64)


__all__ = ["Assigning", "automatic", "count", "of_newcomers"]
