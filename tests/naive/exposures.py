"""The slow twin of the memory of exposures: a dictionary of fractions."""

from fractions import Fraction


class Exposures:
    """(person, value) -> (parts rounded down, exposures, held the last time, exact survival)."""

    def __init__(self, scale):
        self.scale = scale
        self.pairs = {}

    def release(self, persons, groups, codes, sizes, most):
        """Count one release; returns the least parts among the exposed, and the groups by the most exposures that a holder had behind them."""
        least, stage = self.scale, {}
        for person, group, mine in zip(persons, groups, codes, strict=True):
            if group < 0:
                continue
            inside = [row for row, g in zip(codes, groups, strict=True) if g == group]
            for value in sorted({v for row in inside for v in row}):
                share = Fraction(sum(value in row for row in inside), sizes[group])
                parts, times, _, exact = self.pairs.get((person, value), (self.scale, 0, False, Fraction(1)))
                parts = int(parts * (1 - share))
                self.pairs[person, value] = parts, times + 1, value in mine, exact * (1 - share)
                least = min(least, parts)
                if value in mine:
                    stage[group] = max(stage.get(group, 0), times)
        return least, [sum(min(times, most) == i for times in stage.values()) for i in range(most + 1)]
