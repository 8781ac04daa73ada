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
        opened, codes = Opened(signatures, members), signatures.codes[s_minus]
        here, regions = np.arange(len(s_minus)), regions.among(s_minus)
        placed = [(here[:0], here[:0])]
        waiting = [(WHOLE, here)] if len(here) else []
        while waiting:
            region, rows = waiting.pop()
            unassigned = kernels.counted(codes, rows, signatures.n_values)
            sets = self.sets(unassigned, opened)
            offsets, values, _ = opened.table()
            of_entries = np.repeat(sets, np.diff(offsets))
            taken, entries, rest = take(rows, codes, of_entries, values, signatures.n_values)
            placed.append((taken, entries))
            if len(rest):
                most = int(kernels.counted(codes, rest, signatures.n_values).max())
                parts = regions.cut(region, rest, self.m * most)
                waiting += [(2 * region + i, rest[part]) for i, part in enumerate(parts)]
        all_rows, all_entries = (np.concatenate(each) for each in zip(*placed, strict=True))
        return signatures.extended(opened), s_minus[all_rows], all_entries

    def sets(self, left: Ints, opened: Opened) -> Ints:
        """How many whole sets of a region's new rows each signature takes, shape (q,).

        ``left`` (lambda,): the rows that hold each value. Either some are left that may be cut into
        two regions, or none.
        """
        offsets, values, members = opened.table()
        for parts in (2, 0) if left.sum() >= 2 * self.fewest else (0,):
            rest = left.copy()
            sets = np.zeros(len(members), dtype=np.int64)
            if self.whole_sets:
                sets = kernels.entering(offsets, values, members, rest, self.m, parts)
            alphas, betas, chosen = kernels.assignment(rest, self.m, parts)
            if rest.sum() - (alphas * betas).sum() >= 2 * self.fewest:
                break
        ends = np.cumsum(betas)
        places = [opened.open(chosen[a:b]) for a, b in zip(ends - betas, ends, strict=True)]
        sets = np.pad(sets, (0, len(opened) - len(sets)))
        np.add.at(sets, places, alphas)
        opened.add(sets)
        return sets


def count(codes: Ints, n: int) -> Ints:
    """How often each code of 0 .. n-1 stands in ``codes``, shape (n,)."""
    return np.bincount(codes, minlength=n).astype(np.int64)


def take(
    rows: Ints, codes: Ints, counts: Ints, values: Ints, n_values: int
) -> tuple[Ints, Ints, Ints]:
    """The first rows of each value, so many as entries ask for, and their entries; and the other
    rows.

    ``rows`` (r,): row numbers; ``codes``: the value of each row of the table; ``counts`` (e,): how
    many rows each entry takes, of its value in ``values`` (e,).
    """
    some = np.flatnonzero(counts)
    asked = np.bincount(values[some], weights=counts[some], minlength=n_values).astype(np.int64)
    entries = some[np.argsort(values[some], kind="stable")]
    taken, rest = kernels.first_of_each(codes, rows, asked)
    return taken, np.repeat(entries, counts[entries]), rest


__all__ = ["Assigning", "automatic", "count", "of_newcomers", "take"]
