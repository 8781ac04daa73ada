# SPDX-License-Identifier: Apache-2.0
"""The slow, obvious safe sampling and its differential privacy: all samples, all outcomes,
fractions. Shares no code with the source.

A mechanism is described by ``told``, which says what a sample of a table shows. ``Outcomes`` lists
what all samples of a table show, by their size, so that probabilities follow for every beta. A
factor stands for e^epsilon; whoever compares with a claim takes the lower of
``exponential_between``, with which every delta comes out at least as large as it is.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations
from math import ceil, comb, floor


def exponential_between(epsilon, digits=50):
    """Two fractions with e^epsilon between them, some 10^-digits apart, by its series: once i > 2
    epsilon, all later terms together are less than the last.
    """
    term, total, i = Fraction(1), Fraction(1), 0
    while i <= 2 * epsilon or term > Fraction(1, 10 ** (digits + 5)):
        i += 1
        term *= Fraction(epsilon) / i
        total += term
    scale = 10**digits
    return Fraction(floor(total * scale), scale), Fraction(ceil((total + term) * scale), scale)


def publish(rows, image, k):
    """What leaves of sampled rows: the images that occur at least k times, as often as they occur,
    sorted, what is missing last.
    """
    images = Counter(image(row) for row in rows)
    leaves = [i for i, times in images.items() if times >= k for _ in range(times)]
    return tuple(sorted(leaves, key=missing_last))


def missing_last(image):
    return [(x is None, "" if x is None else x) for x in image]


def samples(n):
    """All 2^n samples of n rows, as their row numbers."""
    for size in range(n + 1):
        yield from combinations(range(n), size)


class Outcomes:
    """What the samples of a table of n rows show: outcome -> size of the sample -> how many samples
    of that size show it.
    """

    def __init__(self, n, shown):
        self.n = n
        self.sizes = defaultdict(Counter)
        for sample, outcome in shown:
            self.sizes[outcome][len(sample)] += 1
        assert sum(times for sizes in self.sizes.values() for times in sizes.values()) == 2**n

    def probabilities(self, beta):
        """Outcome -> its probability when every row is sampled with probability beta."""
        weight = [beta**size * (1 - beta) ** (self.n - size) for size in range(self.n + 1)]
        return {
            outcome: sum(times * weight[size] for size, times in sizes.items())
            for outcome, sizes in self.sizes.items()
        }


def excess(likely, other, factor):
    """The largest P(E) - factor * P'(E) over all events E: the hockey-stick divergence of one table
    from another.
    """
    return sum(
        (max(p - factor * other.get(outcome, 0), Fraction(0)) for outcome, p in likely.items()),
        Fraction(0),
    )


def delta(one, other, factor):
    """The smallest delta with which two tables keep the promise of differential privacy in both
    directions.
    """
    return max(excess(one, other, factor), excess(other, one, factor))


def violated(one, other, factor):
    """With what probability an outcome falls where the two differ by more than the factor: the
    larger of the two tables'.
    """
    bad = [
        o
        for o in {**one, **other}
        if one.get(o, 0) > factor * other.get(o, 0) or other.get(o, 0) > factor * one.get(o, 0)
    ]
    return max(sum((table.get(o, Fraction(0)) for o in bad), Fraction(0)) for table in (one, other))


def one_cell(n, k, beta):
    """What a cell of n rows shows: its count of sampled rows, or 0 where that is less than k;
    outcome -> probability.
    """
    shown = defaultdict(Fraction)
    for j in range(n + 1):
        shown[j if j >= k else 0] += comb(n, j) * beta**j * (1 - beta) ** (n - j)
    return dict(shown)


def one_cell_delta(n, k, beta, factor):
    """The delta of a cell with n rows against the same cell with one more."""
    return delta(one_cell(n, k, beta), one_cell(n + 1, k, beta), factor)


def beside(one, other):
    """Two independent outcomes together: pair -> probability."""
    return {(a, b): p * q for a, p in one.items() for b, q in other.items()}


def chosen(probabilities, outcomes):
    """A choice and then what it shows: (choice, outcome) -> probability; ``outcomes[choice]`` holds
    the outcomes of each choice.
    """
    return {
        (choice, o): p * q
        for choice, p in probabilities.items()
        for o, q in outcomes[choice].items()
    }


def exponential_mechanism(qualities, weight):
    """Choice -> its probability, in proportion to weight^quality. Of qualities that one row changes
    by at most 1 it costs 2 ln(weight).
    """
    total = sum(weight**quality for quality in qualities.values())
    return {choice: weight**quality / total for choice, quality in qualities.items()}
