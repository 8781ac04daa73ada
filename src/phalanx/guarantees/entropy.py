# SPDX-License-Identifier: Apache-2.0
"""Is the entropy of some counts at least ln l? Decided exactly, without the huge powers of the
textbook inequality.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal, Inexact, Rounded, localcontext
from fractions import Fraction
from typing import Final

import numpy as np

from phalanx.arrays import Ints
from phalanx.guarantees.views.groups import Groups

_PRECISIONS: Final = (40, 80, 160, 320, 640, 1280, 2560)
"""Decimal digits tried one after the other; the two sides differ by then, unless a table was built
them to be hard.
"""


def entropy_at_least(counts: Sequence[int], l: Fraction) -> bool:
    """Whether ``-sum (r/n) ln(r/n) >= ln l``, that is ``n**n >= l**n * prod(r**r)``, for positive
    counts ``r`` of sum n.

    Equality is decided by unique factorisation into coprime parts. Where the two sides differ,
    logarithms with proven error bounds tell which is larger. Undecided at the last precision counts
    as no.

    >>> entropy_at_least([4, 1, 1, 1, 1], Fraction(4)), entropy_at_least([4, 1, 1, 1, 1], Fraction(4001, 1000))
    (True, False)
    """
    times = Counter(counts)
    n = sum(counts)
    if len(times) == 1:
        return len(counts) >= l
    powers = Counter({n: n})
    powers[l.denominator] += n
    powers[l.numerator] -= n
    for r, how_often in times.items():
        powers[r] -= how_often * r
    powers = Counter({base: power for base, power in powers.items() if base > 1 and power})
    return _is_one(powers) or _logarithm_is_positive(powers)


def _is_one(powers: Counter[int]) -> bool:
    """Whether ``prod(base**power)`` is exactly 1."""
    for part in _coprime_parts(powers):
        exponent = 0
        for base, power in powers.items():
            rest, times = base, 0
            while rest % part == 0:
                rest, times = rest // part, times + 1
            exponent += times * power
        if exponent:
            return False
    return True


def _coprime_parts(numbers: Iterable[int]) -> list[int]:
    """Pairwise coprime factors of which every number is a product (factor refinement, Bach,
    Driscoll & Shallit 1993).
    """
    parts: list[int] = []
    waiting = list(numbers)
    while waiting:
        x = waiting.pop()
        for i, y in enumerate(parts):
            common = math.gcd(x, y)
            if common > 1:
                parts.pop(i)
                waiting += [z for z in (x // common, y // common, common) if z > 1]
                break
        else:
            parts.append(x)
    return parts


def _logarithm_is_positive(powers: Counter[int]) -> bool:
    """Whether ``sum(power * ln(base)) > 0``, given that it is not 0; False where no precision
    decides it.
    """
    for digits in _PRECISIONS:
        with localcontext(Context(prec=digits, traps=[])) as context:
            context.traps[Inexact] = context.traps[Rounded] = False
            terms = [Decimal(power) * Decimal(base).ln() for base, power in powers.items()]
            total, weight = sum(terms, Decimal(0)), sum(map(abs, terms), Decimal(0))
            # a base, a power and a logarithm are each rounded once (ln(base) >= ln 2 keeps a
            # rounded base's effect below 2 units), then each product and sum
            doubt = weight * (len(terms) + 16) * Decimal(10) ** (2 - digits)
            if abs(total) > doubt:
                return total > 0
    return False


def entropy_fails(groups: Groups, l: Fraction) -> Ints:
    """The groups whose entropy is below ln l, as places in ``groups.ids``.

    Floats settle only the groups that are farther from the bound than all rounding together; the
    others are decided exactly.
    """
    n, count = groups.sizes.astype(np.float64), groups.cell_count.astype(np.float64)
    ln_l = math.log(l.numerator) - math.log(l.denominator)
    inside = np.add.reduceat(count * np.log(count), groups.starts)
    gap = n * np.log(n) - inside - n * ln_l
    margin = (groups.distinct + 64) * 2.0**-48 * (n * np.log(n) + inside + n * abs(ln_l) + 1)
    failing = gap < -margin
    decided: dict[tuple[int, ...], bool] = {}
    for g in np.flatnonzero(np.abs(gap) <= margin).tolist():
        first = int(groups.starts[g])
        counts = tuple(sorted(groups.cell_count[first : first + int(groups.distinct[g])].tolist()))
        if counts not in decided:
            decided[counts] = entropy_at_least(counts, l)
        failing[g] = not decided[counts]
    return np.flatnonzero(failing)


def effective_numbers(groups: Groups) -> list[float]:
    """``exp(entropy)`` of every group, for reading only: whole where all counts are equal, else
    rounded down at nine digits.
    """
    n, count = groups.sizes.astype(np.float64), groups.cell_count.astype(np.float64)
    inside = np.add.reduceat(count * np.log(count), groups.starts)
    figures = np.floor(np.exp(np.log(n) - inside / n) * (1 - 1e-12) * 1e9) / 1e9
    even = groups.largest * groups.distinct == groups.sizes
    shown: list[float] = np.where(even, groups.distinct.astype(np.float64), figures).tolist()
    return shown
