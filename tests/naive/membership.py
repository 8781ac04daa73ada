"""Grouping against membership disclosure, one row and one candidate at a time."""

from fractions import Fraction
from math import isqrt


def keeps(cells, q_of_cell, l):
    """Whether no cell has more than 1/l of the rows with its q."""
    return all(l * cells.count(x) <= sum(q_of_cell[y] == q_of_cell[x] for y in cells) for x in set(cells))


def parting_cut(cells, q_of_cell, middle, l):
    """Which of the rows, in the order of a cut, go left."""

    def mean(rows):
        return Fraction(sum(rows), len(rows))

    rows_of_q, rows_of_cell = {}, {}
    for i, x in enumerate(cells):
        rows_of_q.setdefault(q_of_cell[x], []).append(i)
        rows_of_cell.setdefault(x, []).append(i)
    left, missing = set(), middle
    for q in sorted(rows_of_q, key=lambda q: (mean(rows_of_q[q]), q)):
        n = len(rows_of_q[q])
        of_q = sorted((x for x in rows_of_cell if q_of_cell[x] == q), key=lambda x: (mean(rows_of_cell[x]), x))

        def bounds(taken, n=n, of_q=of_q):
            """For each cell, the fewest and most rows that may go left if so many of the q do."""
            return {x: (max(0, len(rows_of_cell[x]) - (n - taken) // l), min(len(rows_of_cell[x]), taken // l)) for x in of_q}

        def possible(taken):
            each = bounds(taken).values()
            return all(low <= high for low, high in each) and sum(low for low, _ in each) <= taken <= sum(high for _, high in each)

        wanted = min(max(missing, 0), n)
        taken = min(filter(possible, range(n + 1)), key=lambda t: (abs(t - wanted), t))
        missing -= taken
        goes = {x: low for x, (low, _) in bounds(taken).items()}
        for x in of_q:
            goes[x] += min(bounds(taken)[x][1] - goes[x], taken - sum(goes.values()))
            left |= set(rows_of_cell[x][: goes[x]])
    return [i in left for i in range(len(cells))]


def parting_cuts(positions, order, cells, q_of_cell, least, wanted, l):
    """The buckets as lists of rows, in the order of the cuts; ``positions``: per attribute a list of whole numbers."""
    m = len(order)
    parts = max(1, (m + wanted // 2) // wanted)
    if parts > 1:
        variances = [m * sum(p[row] ** 2 for row in order) - sum(p[row] for row in order) ** 2 for p in positions]
        widest = positions[variances.index(max(variances))]
        ordered = sorted(order, key=lambda row: widest[row])
        goes = parting_cut([cells[row] for row in ordered], q_of_cell, m * (parts // 2) // parts, l)
        sides = [[row for row, left in zip(ordered, goes, strict=True) if left is side] for side in (True, False)]
        if min(map(len, sides)) >= least:
            return [bucket for side in sides for bucket in parting_cuts(positions, side, cells, q_of_cell, least, wanted, l)]
    return [list(order)]


def candidates(bucket, weights, others, cells):
    """{(other, cell): [degree, matching buckets, whether it is a row's]} of all candidates."""
    found = {}
    for b in set(bucket):
        rows = [i for i, c in enumerate(bucket) if c == b]
        for w in {others[i] for i in rows}:
            for x in {cells[i] for i in rows}:
                figures = found.setdefault((w, x), [0, 0, (w, x) in set(zip(others, cells, strict=True))])
                figures[0] += weights[b] * sum(others[i] == w for i in rows) * sum(cells[i] == x for i in rows)
                figures[1] += 1
    return found


def degree_class(degree, classes):
    """The whole part of 1.25 times the root, the last class for all beyond."""
    return min(isqrt(25 * degree // 16), classes - 1)


def histograms(found, classes):
    """Candidates by class: fake and original by degree, fake and original by matches."""
    counts = [[0] * classes for _ in range(4)]
    for degree, matched, original in found.values():
        counts[original][degree_class(degree, classes)] += 1
        counts[2 + original][min(matched, classes - 1)] += 1
    return counts


def errors(bucket, codes):
    """{(y, z): estimated less true count} of all pairs of values of different attributes; ``codes``: per row its attributes' values, numbered through."""
    values = sorted({y for row in codes for y in row})
    found = {}
    for y in values:
        for z in values:
            estimate = Fraction(0)
            for b in set(bucket):
                rows = [row for row, c in zip(codes, bucket, strict=True) if c == b]
                estimate += Fraction(sum(y in row for row in rows) * sum(z in row for row in rows), len(rows))
            found[y, z] = estimate - sum(y in row and z in row for row in codes)
    return found


def loss(bucket, weights, others, cells, by_degree, by_matches, codes, prices):
    """What swaps lower, from the beginning."""
    classes = len(by_degree[0])
    total = Fraction(0)
    for degree, matched, original in candidates(bucket, weights, others, cells).values():
        total += Fraction(by_degree[original][degree_class(degree, classes)]) + Fraction(by_matches[original][min(matched, classes - 1)])
    return total + sum(Fraction(prices[y][z]) * error**2 for (y, z), error in errors(bucket, codes).items() if y < z)


def swaps(pairs, bucket, *about):
    """The buckets after all swaps that lower the loss, and how many these are."""
    bucket, done = list(bucket), 0
    for i, j in pairs:
        tried = list(bucket)
        tried[i], tried[j] = tried[j], tried[i]
        if loss(tried, *about) - loss(bucket, *about) < Fraction(-1, 10**12):
            bucket, done = tried, done + 1
    return bucket, done
