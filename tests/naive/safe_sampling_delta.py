# SPDX-License-Identifier: Apache-2.0
"""Slow, obvious twins of the accounting: all numbers of rows up to some bound, all outputs, in
fractions.
"""

from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, comb


@cache
def power_of_e(epsilon):
    """Two fractions with e^epsilon between them, for epsilon of at least 0, by the series and its
    remainder.
    """
    total = term = Fraction(1)
    i = 0
    while term > Fraction(1, 10**60) or i <= 2 * epsilon:
        i += 1
        term *= epsilon / i
        total += term
    return total, total + 2 * term


def e_to(epsilon):
    """The same for any epsilon."""
    low, high = power_of_e(abs(epsilon))
    return (low, high) if epsilon >= 0 else (1 / high, 1 / low)


def pmf(n, beta):
    """P(Bin(n, beta) = j) for j = 0 .. n."""
    return [comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(n + 1)]


def gamma(beta, epsilon):
    """(e^epsilon - 1 + beta) / e^epsilon, so near that no threshold of this file depends on the
    rest.
    """
    low, high = (1 - (1 - beta) / x for x in e_to(epsilon))
    assert high - low < Fraction(1, 10**40)
    return low


def bad(n, beta, epsilon):
    """P(Bin(n, beta) > gamma n)."""
    a, b = beta.numerator, beta.denominator
    first = int(gamma(beta, epsilon) * n) + 1
    return Fraction(sum(comb(n, j) * a**j * (b - a) ** (n - j) for j in range(first, n + 1)), b**n)


def theorem_deltas(ks, beta, epsilon, upto):
    """For each k the maximum of the theorem over n up to ``upto``, and the n where it is."""
    probability = {n: bad(n, beta, epsilon) for n in range(1, upto + 1)}
    found = {}
    for k in ks:
        least = max(ceil(k / gamma(beta, epsilon) - 1), 1)
        found[k] = max((probability[n], -n) for n in range(least, upto + 1))
    return {k: (value, -n) for k, (value, n) in found.items()}


def shown(counts, k):
    """What is published of a cell whose sampled rows are counted so: all counts below k look alike.
    {output: probability}.
    """
    return {"suppressed": sum(counts[:k]), **{j: p for j, p in enumerate(counts) if j >= k}}


def hockey_stick(first, second, x):
    """The sum over outputs of (first - x second)+."""
    return sum(max(p - x * second.get(output, 0), 0) for output, p in first.items())


def tight_of(n, k, beta, epsilon):
    """The divergences of a cell of n rows and n + 1: (row added, row removed), each two fractions
    with the true one between them.
    """
    p, q = shown(pmf(n, beta), k), shown(pmf(n + 1, beta), k)
    low, high = e_to(epsilon)
    return (hockey_stick(q, p, high), hockey_stick(q, p, low)), (
        hockey_stick(p, q, high),
        hockey_stick(p, q, low),
    )


def tight_delta(k, beta, epsilon, upto):
    """The largest of them for n up to ``upto``, as two fractions."""
    every = [pair for n in range(upto + 1) for pair in tight_of(n, k, beta, epsilon)]
    return max(low for low, _ in every), max(high for _, high in every)


def together(cells, k, beta, epsilon):
    """The divergence of several releases at once, whose cells have ``cells`` rows or one more: all
    combinations of outputs. (added, removed).
    """
    without = [shown(pmf(n, beta), k) for n in cells]
    with_row = [shown(pmf(n + 1, beta), k) for n in cells]

    def joint(releases):
        result = {}
        for outputs in product(*(release.items() for release in releases)):
            probability = Fraction(1)
            for _, p in outputs:
                probability *= p
            result[tuple(o for o, _ in outputs)] = probability
        return result

    p, q = joint(without), joint(with_row)
    x = e_to(epsilon)[1]  # the larger: a divergence not above the true one
    return hockey_stick(q, p, x), hockey_stick(p, q, x)
