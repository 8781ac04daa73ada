"""The array work of grouping against membership disclosure: cuts that part values of the sensitive column and keep l, and swaps of rows between buckets.

*Cells* are the pairs (q, s) of the quasi-identifiers beside the sensitive attribute and its value, numbered in the order of q and then s; a cell is a value of
the sensitive column. A bucket keeps l = above / below where ``above * n(q, s) <= below * n(q)`` for each of its cells. ``others`` number the values
of all other columns together, so that a candidate is a pair (other, cell), entry ``other * cells + cell`` of the tables here. Degrees are
whole numbers, so that equal ones are equal: a bucket adds n(other) * n(cell) times its weight, which stands for 1 / size^2.
"""

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

CLASSES: Final = 2048
"""Classes of degrees, and of numbers of matches, whose ranks the swaps look at."""
UNIT: Final = 256
"""The weight of a bucket of mean size."""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def parting_cut(cells: Ints, q_of_cell: Ints, middle: int, above: int, below: int) -> Bools:
    """Which rows of an l-eligible bucket go left, shape (m,): about ``middle`` of them, so that both sides are l-eligible and share as few cells as can be.

    ``cells`` (m,): the rows' cells in the order of the cut; ``q_of_cell`` (cells,): each cell's q, ascending.
    Whole q go left, in the order of the mean places of their rows, until the middle is reached;
    of a q that is parted, as near to what is missing as leaves both sides eligible. Of its cells, what the right side cannot bear goes left, and then, again in the order
    of mean places, as much as the left side can bear. Of a cell, the first rows go left.
    """
    m, n_cells = len(cells), len(q_of_cell)
    places, sizes, rank = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)
    present, kinds = np.empty(min(m, n_cells), np.int64), 0
    for i in range(m):
        if sizes[cells[i]] == 0:
            present[kinds] = cells[i]
            kinds += 1
        sizes[cells[i]] += 1
        places[cells[i]] += i
    present = np.sort(present[:kinds])
    begins, parts = np.empty(kinds + 1, np.int64), 0
    for k in range(kinds):
        if k == 0 or q_of_cell[present[k]] != q_of_cell[present[k - 1]]:
            begins[parts] = k
            parts += 1
    begins[parts] = kinds
    means = np.empty(parts, np.float64)
    for p in range(parts):
        of_q = present[begins[p] : begins[p + 1]]
        means[p] = places[of_q].sum() / sizes[of_q].sum()
    goes = np.zeros(n_cells, np.int64)
    missing = middle
    for p in np.argsort(means, kind="mergesort"):
        of_q = present[begins[p] : begins[p + 1]]
        n = sizes[of_q].sum()
        wanted = min(max(missing, 0), n)
        taken, cap, rest = wanted, 0, 0
        for step in range(2 * n + 1):  # nearest first; none and all are always possible
            taken = wanted - (step + 1) // 2 if step % 2 else wanted + step // 2
            if taken < 0 or taken > n:
                continue
            cap, rest = taken * below // above, (n - taken) * below // above
            least, most, possible = 0, 0, True
            for x in of_q:
                low, high = max(0, sizes[x] - rest), min(sizes[x], cap)
                possible = possible and low <= high
                least += low
                most += high
            if possible and least <= taken <= most:
                break
        missing -= taken
        for x in of_q:
            goes[x] = max(0, sizes[x] - rest)
            taken -= goes[x]
        for k in np.argsort(places[of_q] / sizes[of_q], kind="mergesort"):
            x = of_q[k]
            more = min(min(sizes[x], cap) - goes[x], taken)
            goes[x] += more
            taken -= more
    left = np.empty(m, np.bool_)
    for i in range(m):
        left[i] = rank[cells[i]] < goes[cells[i]]
        rank[cells[i]] += 1
    return left


@_kernel
def parting_cuts(positions: Floats, order: Ints, cells: Ints, q_of_cell: Ints, least: int, wanted: int, above: int, below: int) -> Ints:
    """The bucket of every row, 0 .. g-1 in the order of the cuts, shape (n,): the table is cut while parts of at least ``least`` rows result.

    ``positions`` (d, n): where rows stand on each attribute; ``order`` (n,): the rows in random order, by which equal ones are dealt out; it is reordered.
    ``q_of_cell`` as in :func:`parting_cut`. A cut
    is along the attribute of greatest variance, and in the middle of what will be buckets of ``wanted`` rows.
    """
    d, n = positions.shape
    bucket, keys = np.empty(n, np.int64), np.empty(n, np.float64)
    stack = np.empty((n // least + 2, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    waiting, found = 1, 0
    while waiting > 0:
        waiting -= 1
        start, end = stack[waiting, 0], stack[waiting, 1]
        rows = order[start:end].copy()
        m = end - start
        parts = max(1, (m + wanted // 2) // wanted)
        if parts > 1:
            widest, variance = 0, -1.0
            for a in range(d):
                total, squares = 0.0, 0.0
                for row in rows:
                    total += positions[a, row]
                    squares += positions[a, row] ** 2
                if squares - total * total / m > variance:
                    widest, variance = a, squares - total * total / m
            for i in range(m):
                keys[i] = positions[widest, rows[i]]
            rows = rows[np.argsort(keys[:m], kind="mergesort")]
            left = parting_cut(cells[rows], q_of_cell, m * (parts // 2) // parts, above, below)
            size = left.sum()
            if least <= size <= m - least:
                order[start : start + size] = rows[left]
                order[start + size : end] = rows[~left]
                stack[waiting, 0], stack[waiting, 1] = start + size, end
                stack[waiting + 1, 0], stack[waiting + 1, 1] = start, start + size
                waiting += 2
                continue
        for row in rows:
            bucket[row] = found
        found += 1
    return bucket


@_kernel
def candidates(
    member: Ints, sizes: Ints, weights: Ints, others: Ints, cells: Ints, begins: Ints, cell_of: Ints, count_of: Ints, n_others: int, n_cells: int
) -> tuple[Ints, Codes]:
    """Every candidate's degree, and twice its number of matching buckets plus one where it is a row's, each of shape (n_others * n_cells,).

    ``member`` (buckets, most): the rows of each bucket, of which ``sizes`` (buckets,) count. Bucket b holds the cells ``cell_of[begins[b] : begins[b + 1]]``,
    ascending, each ``count_of`` times, and a match with it adds ``weights[b]`` to a degree for each tuple with the cell.
    """
    degrees, matches = np.zeros(n_others * n_cells, np.int64), np.zeros(n_others * n_cells, np.int32)
    latest = np.full(n_others, -1, np.int64)
    for b in range(len(sizes)):
        for row in member[b, : sizes[b]]:
            w = others[row]
            for e in range(begins[b], begins[b + 1]):
                degrees[w * n_cells + cell_of[e]] += count_of[e] * weights[b]
                if latest[w] != b:
                    matches[w * n_cells + cell_of[e]] += 2
            latest[w] = b
            matches[w * n_cells + cells[row]] |= 1
    return degrees, matches


@_kernel
def degree_class(degree: int) -> int:
    """The class of a degree: finer where degrees are small."""
    return min(int(1.25 * math.sqrt(degree)), CLASSES - 1)


@_kernel
def histograms(degrees: Ints, matches: Codes) -> Ints:
    """How many candidates are in each class of ``degrees`` and ``matches``: fake by degree, original by degree, fake by matches, original by matches; shape (4, CLASSES)."""
    found = np.zeros((4, CLASSES), np.int64)
    for key in range(len(degrees)):
        if matches[key] > 1:
            original = matches[key] & 1
            found[original, degree_class(degrees[key])] += 1
            found[2 + original, min(matches[key] >> 1, CLASSES - 1)] += 1
    return found


@_kernel
def swaps(
    first: Ints,
    second: Ints,
    bucket: Ints,
    member: Ints,
    slot: Ints,
    sizes: Ints,
    weights: Ints,
    others: Ints,
    begins: Ints,
    cell_of: Ints,
    count_of: Ints,
    n_cells: int,
    degrees: Ints,
    matches: Codes,
    by_degree: Floats,
    by_matches: Floats,
    codes: Ints,
    counts: Floats,
    errors: Floats,
    prices: Floats,
) -> int:
    """Let rows ``first[t]`` and ``second[t]``, of one cell, change places, pair after pair, wherever that lowers the loss; returns how many did.

    The loss has two parts. Every candidate costs ``by_degree[o, class]`` and ``by_matches[o, class]`` (2, CLASSES), o = 1 where it is original. And each pair of
    attributes' values costs its price times the square of its error: ``codes`` (n, a) of attributes, numbered through, are counted in ``counts`` (buckets, k);
    ``errors`` (k, k), symmetric, say by how much n(y) * n(z) / size, summed over the buckets, exceeds the count in the table; ``prices`` (k, k), symmetric,
    are 0 for pairs that nobody asks about; each pair costs once.

    Buckets keep their sizes and cells: ``weights``, ``begins``, ``cell_of``, ``count_of`` and ``n_cells`` are as :func:`candidates` describes them.
    ``bucket``, ``member``, ``slot`` (the place of a row in its bucket),
    ``degrees``, ``matches``, ``counts`` and ``errors`` are kept up to date.
    """
    k, attributes = counts.shape[1], codes.shape[1]
    moved, share, tilt, changed = np.zeros(k), np.ones(k), np.zeros(k), np.empty(2 * attributes, np.int64)
    keys, new_degrees, new_matches = np.empty(4 * n_cells, np.int64), np.empty(4 * n_cells, np.int64), np.empty(4 * n_cells, np.int32)
    done = 0
    for t in range(len(first)):
        i, j = first[t], second[t]
        A, B, u, v = bucket[i], bucket[j], others[i], others[j]
        if A == B or u == v:
            continue
        loss, pairs, steps = 0.0, 0, 0
        both = 1.0 / sizes[A] + 1.0 / sizes[B]
        for y in range(attributes):
            if codes[i, y] != codes[j, y]:
                moved[codes[i, y]], moved[codes[j, y]] = -1.0, 1.0  # in A; the other way round in B
                share[codes[i, y]], share[codes[j, y]] = 0.5, 0.5  # a pair of changed values is met twice
                changed[pairs], changed[pairs + 1] = codes[i, y], codes[j, y]
                pairs += 2
        for z in range(k):
            tilt[z] = counts[A, z] / sizes[A] - counts[B, z] / sizes[B]
        for y in changed[:pairs]:
            for z in range(k):
                step = moved[y] * tilt[z] + moved[z] * tilt[y] + moved[y] * moved[z] * both
                loss += share[z] * prices[y, z] * step * (2 * errors[y, z] + step)
        A_u, A_v, B_u, B_v = 0, 0, 0, 0
        for row in member[A, : sizes[A]]:
            A_u += others[row] == u
            A_v += others[row] == v
        for row in member[B, : sizes[B]]:
            B_u += others[row] == u
            B_v += others[row] == v
        a, b = begins[A], begins[B]
        while a < begins[A + 1] or b < begins[B + 1]:  # the cells of both buckets, ascending
            in_A = a < begins[A + 1] and (b == begins[B + 1] or cell_of[a] <= cell_of[b])
            in_B = b < begins[B + 1] and (a == begins[A + 1] or cell_of[b] <= cell_of[a])
            x = cell_of[a] if in_A else cell_of[b]
            gain = (count_of[b] * weights[B] if in_B else 0) - (count_of[a] * weights[A] if in_A else 0)
            for which in range(2):
                key = (u if which == 0 else v) * n_cells + x
                if which == 0:  # u leaves A for B, v leaves B for A
                    more = int(in_B and B_u == 0) - int(in_A and A_u == 1)
                else:
                    more = int(in_A and A_v == 0) - int(in_B and B_v == 1)
                degree = degrees[key] + (gain if which == 0 else -gain)
                original, matched = matches[key] & 1, matches[key] >> 1
                if matched > 0:
                    loss -= by_degree[original, degree_class(degrees[key])] + by_matches[original, min(matched, CLASSES - 1)]
                if matched + more > 0:
                    loss += by_degree[original, degree_class(degree)] + by_matches[original, min(matched + more, CLASSES - 1)]
                keys[steps], new_degrees[steps], new_matches[steps] = key, degree, matches[key] + 2 * more
                steps += 1
            a += in_A
            b += in_B
        if loss < -1e-12:
            done += 1
            for step_of in range(steps):
                degrees[keys[step_of]], matches[keys[step_of]] = new_degrees[step_of], new_matches[step_of]
            for y in changed[:pairs]:
                for z in range(k):
                    step = moved[y] * tilt[z] + moved[z] * tilt[y] + moved[y] * moved[z] * both
                    errors[y, z] += step
                    if moved[z] == 0:
                        errors[z, y] += step
            for y in changed[:pairs]:
                counts[A, y] += moved[y]
                counts[B, y] -= moved[y]
            member[A, slot[i]], member[B, slot[j]] = j, i
            slot[i], slot[j] = slot[j], slot[i]
            bucket[i], bucket[j] = B, A
        for y in changed[:pairs]:
            moved[y], share[y] = 0.0, 1.0
    return done
