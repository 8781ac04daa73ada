"""The array work of grouping against membership disclosure: cuts that keep l, and swaps of rows between buckets.

*Cells* are the pairs (q, s) of the quasi-identifiers beside the sensitive attribute and its value, numbered in the order of q and then s; a cell is a value of
the sensitive column. A bucket keeps l where ``above * n(q, s) <= below * n(q)`` for each of its cells, with l = above / below. ``others`` number the values
of all other columns together, so that a candidate is a pair (other, cell), entry ``other * cells + cell`` of the tables here. Degrees are in whole
numbers, so that equal ones are equal: a bucket adds n(other) * n(cell) times its weight, which stands for 1 / size^2.
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
"""Classes of degrees, and of match counts, whose ranks the swaps look at."""
UNIT: Final = 256
"""The weight of a bucket of mean size."""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def eligible_cut(cells: Ints, q_of_cell: Ints, middle: int, above: int, below: int) -> Bools:
    """Which rows of an l-eligible bucket go left, shape (m,): about the first ``middle``, so that both sides stay l-eligible.

    ``cells`` (m,): the rows' cells in the order of the cut. For each q, the number that goes left is the nearest to what lies before the middle (plus what
    other q were short of) for which both sides can be eligible; of its cells, those before one place of the order go left, as far as both sides can bear it.
    """
    m = len(cells)
    left = np.zeros(m, np.bool_)
    by_cell = np.argsort(cells, kind="mergesort")
    begins = np.empty(m + 1, np.int64)
    short = 0
    start = 0
    while start < m:
        q = q_of_cell[cells[by_cell[start]]]
        end, kinds, natural = start, 0, 0
        while end < m and q_of_cell[cells[by_cell[end]]] == q:
            if end == start or cells[by_cell[end]] != cells[by_cell[end - 1]]:
                begins[kinds] = end
                kinds += 1
            natural += by_cell[end] < middle
            end += 1
        begins[kinds] = end
        n = end - start
        wanted = min(max(natural + short, 0), n)
        taken = wanted
        for step in range(2 * n + 1):  # nearest first; none and all are always possible
            taken = wanted - (step + 1) // 2 if step % 2 else wanted + step // 2
            if taken < 0 or taken > n:
                continue
            cap, rest = taken * below // above, (n - taken) * below // above
            least, most, possible = 0, 0, True
            for k in range(kinds):
                size = begins[k + 1] - begins[k]
                low, high = max(0, size - rest), min(size, cap)
                possible = possible and low <= high
                least += low
                most += high
            if possible and least <= taken <= most:
                break
        short += natural - taken
        cap, rest = taken * below // above, (n - taken) * below // above
        first, last = 0, m
        while first < last:  # the first place before which, within what is possible, so many rows lie
            place = (first + last) // 2
            lying = 0
            for k in range(kinds):
                size = begins[k + 1] - begins[k]
                before = np.searchsorted(by_cell[begins[k] : begins[k + 1]], place)
                lying += min(max(before, max(0, size - rest)), min(size, cap))
            if lying < taken:
                first = place + 1
            else:
                last = place
        for k in range(kinds):
            size = begins[k + 1] - begins[k]
            before = np.searchsorted(by_cell[begins[k] : begins[k + 1]], first)
            before = min(max(before, max(0, size - rest)), min(size, cap))
            for i in range(begins[k], begins[k] + before):
                left[by_cell[i]] = True
        start = end
    return left


@_kernel
def eligible_cuts(positions: Floats, order: Ints, cells: Ints, q_of_cell: Ints, bucket_size: int, wanted: int, above: int, below: int) -> Ints:
    """The bucket of every row, 0 .. g-1 in the order of the cuts, shape (n,): Mondrian's relaxed cuts at medians, moved until both halves are l-eligible.

    ``positions`` (d, n): where rows stand in [0, 1]; ``order`` (n,): the rows in random order, by which equal ones are dealt out. Cuts go on while parts of at
    least ``bucket_size`` rows result, towards buckets of ``wanted`` rows; each is along the attribute of greatest variance.
    """
    d, n = positions.shape
    bucket = np.empty(n, np.int64)
    keys = np.empty(n, np.float64)
    stack = np.empty((n // max(1, bucket_size) + 64, 2), np.int64)
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
            left = eligible_cut(cells[rows], q_of_cell, m * (parts // 2) // parts, above, below)
            size = left.sum()
            if bucket_size <= size <= m - bucket_size:
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
def candidates(member: Ints, sizes: Ints, weights: Ints, others: Ints, cells: Ints, n_others: int, n_cells: int) -> tuple[Ints, Codes]:
    """Every candidate's degree, and twice its number of matching buckets plus one where it is a row's, each of shape (n_others * n_cells,).

    ``member`` (buckets, most): the rows of each bucket, of which ``sizes`` (buckets,) count; ``weights`` (buckets,).
    """
    degrees, matches = np.zeros(n_others * n_cells, np.int64), np.zeros(n_others * n_cells, np.int32)
    latest = np.full(n_others * n_cells, -1, np.int32)
    counts, present = np.zeros(n_cells, np.int64), np.empty(n_cells, np.int64)
    for b in range(len(sizes)):
        kinds = 0
        for row in member[b, : sizes[b]]:
            if counts[cells[row]] == 0:
                present[kinds] = cells[row]
                kinds += 1
            counts[cells[row]] += 1
        for row in member[b, : sizes[b]]:
            for x in present[:kinds]:
                key = others[row] * n_cells + x
                degrees[key] += counts[x] * weights[b]
                if latest[key] != b:
                    latest[key] = b
                    matches[key] += 2
            matches[others[row] * n_cells + cells[row]] |= 1
        for x in present[:kinds]:
            counts[x] = 0
    return degrees, matches


@_kernel
def degree_class(degree: int) -> int:
    """The class of a degree: finer where degrees are small."""
    return min(int(1.25 * math.sqrt(degree)), CLASSES - 1)


@_kernel
def histograms(degrees: Ints, matches: Codes) -> Ints:
    """How many candidates are in each class: fake by degree, original by degree, fake by matches, original by matches; shape (4, CLASSES)."""
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
    cells: Ints,
    q_of_cell: Ints,
    above: int,
    below: int,
    degrees: Ints,
    matches: Codes,
    by_degree: Floats,
    by_matches: Floats,
    positions: Floats,
    sums: Floats,
    distance: float,
    codes: Ints,
    counts: Ints,
    errors: Floats,
    prices: Floats,
) -> int:
    """Let rows ``first[t]`` and ``second[t]`` change places, one pair after the other, wherever that keeps l and lowers the loss; returns how many did.

    The loss is the sum of three. Every candidate costs ``by_degree[o, class]`` and ``by_matches[o, class]`` (2, CLASSES), o = 1 where it is original.
    Every bucket costs ``distance`` times the squared distances of its rows' ``positions`` (n, d) from their mean, whose ``sums`` (buckets, d) are kept.
    And each pair of attributes' values costs its price times the square of its error: ``codes`` (n, a) of attributes, numbered through, are counted in
    ``counts`` (buckets, k); ``errors`` (k, k), symmetric, say by how much n(y) * n(z) / size, summed over the buckets, exceeds the count in the table, and
    ``prices`` (k, k), symmetric, are 0 for pairs that nobody asks about; each pair costs once.

    ``bucket``, ``member``, ``slot`` (the place of a row in its bucket), ``degrees``, ``matches``, ``sums``, ``counts`` and ``errors`` are kept up to date.
    """
    n_cells = len(q_of_cell)
    n_others = len(degrees) // n_cells
    most = member.shape[1]
    k, d, attributes = counts.shape[1], positions.shape[1], codes.shape[1]
    of_cell, of_other = np.zeros((2, n_cells), np.int64), np.zeros((2, n_others), np.int64)
    present, met = np.empty(n_cells, np.int64), np.empty(2 * most, np.int64)
    keys, degree_steps, match_steps = np.empty(4 * most + 4 * n_cells, np.int64), np.empty(4 * most + 4 * n_cells, np.int64), np.empty(4 * most + 4 * n_cells, np.int64)
    moved, share, tilt, changed = np.zeros(k), np.ones(k), np.zeros(k), np.empty(2 * attributes, np.int64)
    done = 0
    for t in range(len(first)):
        i, j = first[t], second[t]
        A, B = bucket[i], bucket[j]
        a, b, u, v = cells[i], cells[j], others[i], others[j]
        if A == B or (a == b and u == v):
            continue
        kinds = 0
        for side in range(2):
            Z = A if side == 0 else B
            for row in member[Z, : sizes[Z]]:
                x = cells[row]
                if of_cell[0, x] == 0 and of_cell[1, x] == 0:
                    present[kinds] = x
                    kinds += 1
                of_cell[side, x] += 1
        loss, pairs, steps, allowed = 0.0, 0, 0, True
        if a != b:  # in A, a becomes b; in B, b becomes a; smaller cells and larger q cannot break l, all others are looked at
            qa, qb = q_of_cell[a], q_of_cell[b]
            in_A_a, in_A_b, in_B_a, in_B_b = 0, 0, 0, 0
            for x in present[:kinds]:
                if q_of_cell[x] == qa:
                    in_A_a += of_cell[0, x]
                    in_B_a += of_cell[1, x]
                if q_of_cell[x] == qb:
                    in_A_b += of_cell[0, x]
                    in_B_b += of_cell[1, x]
            if qa != qb:
                in_A_a, in_A_b, in_B_a, in_B_b = in_A_a - 1, in_A_b + 1, in_B_a + 1, in_B_b - 1
                for x in present[:kinds]:
                    if q_of_cell[x] == qa and above * (of_cell[0, x] - (x == a)) > below * in_A_a:
                        allowed = False
                    if q_of_cell[x] == qb and above * (of_cell[1, x] - (x == b)) > below * in_B_b:
                        allowed = False
            if above * (of_cell[0, b] + 1) > below * in_A_b or above * (of_cell[1, a] + 1) > below * in_B_a:
                allowed = False
        if allowed:
            if distance > 0:
                for y in range(d):
                    e = positions[j, y] - positions[i, y]
                    loss -= distance * ((2 * sums[A, y] + e) * e / sizes[A] - (2 * sums[B, y] - e) * e / sizes[B])
            both = 1.0 / sizes[A] + 1.0 / sizes[B]
            for y in range(attributes):
                if codes[i, y] != codes[j, y]:
                    moved[codes[i, y]], moved[codes[j, y]] = -1, 1
                    share[codes[i, y]], share[codes[j, y]] = 0.5, 0.5
                    changed[pairs], changed[pairs + 1] = codes[i, y], codes[j, y]
                    pairs += 2
            for z in range(k):
                tilt[z] = counts[A, z] / sizes[A] - counts[B, z] / sizes[B]
            for y in changed[:pairs]:
                for z in range(k):
                    step = moved[y] * tilt[z] + moved[z] * tilt[y] + moved[y] * moved[z] * both
                    loss += share[z] * prices[y, z] * step * (2 * errors[y, z] + step)
            groups = 0
            if a == b:
                met[0], met[1] = u, v
                groups = 2
                for side in range(2):
                    Z = A if side == 0 else B
                    n_u, n_v = 0, 0
                    for row in member[Z, : sizes[Z]]:
                        n_u += others[row] == u
                        n_v += others[row] == v
                    of_other[side, u], of_other[side, v] = n_u, n_v
            else:
                for side in range(2):
                    Z = A if side == 0 else B
                    for row in member[Z, : sizes[Z]]:
                        w = others[row]
                        if of_other[0, w] == 0 and of_other[1, w] == 0:
                            met[groups] = w
                            groups += 1
                        of_other[side, w] += 1
            for w in met[:groups]:
                gain_w = 0 if u == v else int(w == v) - int(w == u)
                before_A, before_B = of_other[0, w], of_other[1, w]
                after_A, after_B = before_A + gain_w, before_B - gain_w
                for place in range(kinds if gain_w != 0 else 2):
                    x = present[place] if gain_w != 0 else (a if place == 0 else b)
                    gain_x = 0 if a == b else int(x == b) - int(x == a)
                    x_A, x_B = of_cell[0, x], of_cell[1, x]
                    was_A, was_B = before_A * x_A, before_B * x_B
                    is_A, is_B = after_A * (x_A + gain_x), after_B * (x_B - gain_x)
                    if was_A == is_A and was_B == is_B:
                        continue
                    key = w * n_cells + x
                    original, matched = matches[key] & 1, matches[key] >> 1
                    more = int(is_A > 0) + int(is_B > 0) - int(was_A > 0) - int(was_B > 0)
                    degree = degrees[key] + (is_A - was_A) * weights[A] + (is_B - was_B) * weights[B]
                    if matched > 0:
                        loss -= by_degree[original, degree_class(degrees[key])] + by_matches[original, min(matched, CLASSES - 1)]
                    if matched + more > 0:
                        loss += by_degree[original, degree_class(degree)] + by_matches[original, min(matched + more, CLASSES - 1)]
                    keys[steps], degree_steps[steps], match_steps[steps] = key, degree, matches[key] + 2 * more
                    steps += 1
            for w in met[:groups]:
                of_other[0, w], of_other[1, w] = 0, 0
            if loss < -1e-12:
                done += 1
                for step_of in range(steps):
                    degrees[keys[step_of]], matches[keys[step_of]] = degree_steps[step_of], match_steps[step_of]
                for y in range(d):
                    e = positions[j, y] - positions[i, y]
                    sums[A, y] += e
                    sums[B, y] -= e
                for y in changed[:pairs]:
                    for z in range(k):
                        step = moved[y] * tilt[z] + moved[z] * tilt[y] + moved[y] * moved[z] * both
                        errors[y, z] += step
                        if moved[z] == 0:
                            errors[z, y] += step
                for y in changed[:pairs]:
                    counts[A, y] += int(moved[y])
                    counts[B, y] -= int(moved[y])
                member[A, slot[i]], member[B, slot[j]] = j, i
                slot[i], slot[j] = slot[j], slot[i]
                bucket[i], bucket[j] = B, A
            for y in changed[:pairs]:
                moved[y], share[y] = 0.0, 1.0
        for x in present[:kinds]:
            of_cell[0, x], of_cell[1, x] = 0, 0
    return done
