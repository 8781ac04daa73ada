# SPDX-License-Identifier: Apache-2.0
"""The slow twin of the memory of exposures: a dictionary of fractions."""

from fractions import Fraction


class Exposures:
    """(person, value) -> (parts rounded down, exposures, exact survival)."""

    def __init__(self, scale):
        self.scale = scale
        self.pairs = {}

    def release(self, persons, groups, codes, sizes):
        """Count one release; returns the least parts among the exposed."""
        least = self.scale
        for person, group in zip(persons, groups, strict=True):
            if group < 0:
                continue
            inside = [row for row, g in zip(codes, groups, strict=True) if g == group]
            for value in sorted({v for row in inside for v in row}):
                share = Fraction(sum(value in row for row in inside), sizes[group])
                parts, times, exact = self.pairs.get((person, value), (self.scale, 0, Fraction(1)))
                parts = int(parts * (1 - share))
                self.pairs[person, value] = parts, times + 1, exact * (1 - share)
                least = min(least, parts)
        return least
