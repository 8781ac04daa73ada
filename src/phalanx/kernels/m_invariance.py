"""The array work of m-invariance: balancing, assignment and split (Xiao & Tao, SIGMOD 2007, Section 4).

A *signature table* is given as ``offsets`` (q + 1,): the entries ``offsets[b] .. offsets[b+1]-1`` belong to signature b, one per value.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@njit(cache=True, nogil=True, fastmath=False)
def balancing(offsets: Ints, values: Ints, owned: Ints, left: Ints, m: int) -> tuple[Ints, Ints]:
    """Phase 2: make every value of a bucket's signature owned by the same number of tuples.

    ``values`` (e,): the value of each entry; ``owned`` (e,): the tuples of S_cap that own it; ``left`` (lambda,): the tuples of S_minus per value,
    m-eligible, reduced in place by what is taken. Returns ``filled`` and ``invented`` (e,): tuples taken from S_minus, and counterfeits.
    Taking q tuples of one value leaves S_minus m-eligible iff m times the largest count of the *other* values stays at most what remains
    (taking more of the same value never helps it to be too frequent), which gives the largest q in one step.
    """
    filled = np.zeros_like(owned)
    invented = np.zeros_like(owned)
    remaining = left.sum()
    for b in range(len(offsets) - 1):
        most = 0
        for e in range(offsets[b], offsets[b + 1]):
            most = max(most, owned[e])
        for e in range(offsets[b], offsets[b + 1]):
            shortage = most - owned[e]
            if shortage == 0:
                continue
            v = values[e]
            take = min(shortage, left[v])
            if take > 0:
                others = 0
                for u in range(len(left)):
                    if u != v:
                        others = max(others, left[u])
                take = min(take, remaining - m * others)
            take = max(take, 0)
            left[v] -= take
            remaining -= take
            filled[e] = take
            invented[e] = shortage - take
    return filled, invented


@njit(cache=True, nogil=True, fastmath=False)
def assignment(counts: Ints, m: int) -> tuple[Ints, Ints, Ints]:
    """Phase 3 (Figure 3): how many tuples of which values go together.

    ``counts`` (lambda,): the tuples of S_minus per value, m-eligible. Returns ``alphas`` (i,), ``betas`` (i,) of the iterations and ``values``
    (sum of betas,): the values of each iteration's signature, most frequent first; equal counts stand in the order of their codes.
    """
    total = counts.sum()
    alphas = np.empty(total // m + 1, dtype=np.int64)
    betas = np.empty(total // m + 1, dtype=np.int64)
    chosen = np.empty(total, dtype=np.int64)
    iterations, written = 0, 0
    order = np.argsort(-counts, kind="mergesort")
    n = counts[order].copy()
    merged_order, merged_n = order.copy(), n.copy()
    size = np.count_nonzero(n)
    gamma = total
    while gamma > 0:
        beta = m
        alpha = 0
        while True:  # Lemma 5: some beta has a solution while S_minus is m-eligible
            following = n[beta] if beta < size else 0
            alpha = min(n[beta - 1], (gamma - m * following) // beta)  # Inequalities 5 and 7
            if beta > m:
                alpha = min(alpha, (gamma - m * n[0]) // (beta - m))  # Inequality 6; at beta = m it is m-eligibility itself
            if alpha >= 1:
                break
            beta += 1
        alphas[iterations], betas[iterations] = alpha, beta
        iterations += 1
        chosen[written : written + beta] = order[:beta]
        written += beta
        gamma -= alpha * beta
        i, j, k = 0, beta, 0  # the beta reduced counts and the untouched rest are each in order: merge them
        while i < beta or j < size:
            reduced = n[i] - alpha if i < beta else -1
            if i < beta and (j >= size or reduced > n[j] or (reduced == n[j] and order[i] < order[j])):
                merged_order[k], merged_n[k] = order[i], reduced
                i += 1
            else:
                merged_order[k], merged_n[k] = order[j], n[j]
                j += 1
            k += 1
        while size > 0 and merged_n[size - 1] == 0:
            size -= 1
        order, merged_order = merged_order, order
        n, merged_n = merged_n, n
    return alphas[:iterations], betas[:iterations], chosen[:written]


@njit(cache=True, nogil=True, fastmath=False)
def sorted_lists(entries: Ints, codes: Ints, n_entries: int, n_codes: int) -> Ints:
    """Slots ordered by entry, within an entry by code (-1, a counterfeit, first), within equal codes as they stand; shape (p,).

    ``entries`` are below ``n_entries`` and ``codes`` below ``n_codes``, both of shape (p,).
    """
    p = len(entries)
    by_code = np.zeros(n_codes + 2, dtype=np.int64)
    for slot in range(p):
        by_code[codes[slot] + 2] += 1
    for c in range(1, len(by_code)):
        by_code[c] += by_code[c - 1]
    first = np.empty(p, dtype=np.int64)
    for slot in range(p):
        first[by_code[codes[slot] + 1]] = slot
        by_code[codes[slot] + 1] += 1
    by_entry = np.zeros(n_entries + 1, dtype=np.int64)
    for slot in range(p):
        by_entry[entries[slot] + 1] += 1
    for e in range(1, len(by_entry)):
        by_entry[e] += by_entry[e - 1]
    order = np.empty(p, dtype=np.int64)
    for i in range(p):
        slot = first[i]
        order[by_entry[entries[slot]]] = slot
        by_entry[entries[slot]] += 1
    return order


@njit(cache=True, nogil=True, fastmath=False)
def split(orders: Ints, positions: Floats, real: npt.NDArray[np.bool_], starts: Ints, sizes: Ints, lengths: Ints, first: int, last: int) -> None:
    """Phase 4: cut the buckets ``first .. last-1`` into groups of one tuple per value (Section 4.3).

    Bucket b holds ``sizes[b]`` lists (one per value) of ``lengths[b]`` slots from slot ``starts[b]`` on. ``orders`` (d, p): per attribute the slots,
    each list sorted by that attribute; ``positions`` (p, d) in [0, 1]; ``real`` (p,): False for a counterfeit, whose position does not count.
    On return the g-th slots of a bucket's lists, in ``orders[0]`` (as in every other row), are its g-th group.
    Of schemes with equal perimeter the most even one is taken, so that equal tuples do not make the recursion deep.
    """
    d = orders.shape[0]
    marked = np.zeros(orders.shape[1], dtype=np.bool_)
    low, high = np.empty(d), np.empty(d)
    for b in range(first, last):
        s, length, start = sizes[b], lengths[b], starts[b]
        if length < 2:
            continue
        perimeter = np.empty(length)
        moved = np.empty(length, dtype=np.int64)
        stack = np.empty((length + 1, 2), dtype=np.int64)
        stack[0, 0], stack[0, 1] = 0, length
        depth = 1
        while depth > 0:
            depth -= 1
            begin, end = stack[depth, 0], stack[depth, 1]
            n = end - begin
            best, best_a, best_x = np.inf, 0, 0
            for a in range(d):
                low[:], high[:] = np.inf, -np.inf
                for x in range(1, n):
                    for j in range(s):
                        slot = orders[a, start + j * length + begin + x - 1]
                        if real[slot]:
                            for i in range(d):
                                low[i] = min(low[i], positions[slot, i])
                                high[i] = max(high[i], positions[slot, i])
                    span = 0.0
                    for i in range(d):
                        span += high[i] - low[i]
                    perimeter[x] = x * s * span
                low[:], high[:] = np.inf, -np.inf
                for x in range(n - 1, 0, -1):
                    for j in range(s):
                        slot = orders[a, start + j * length + begin + x]
                        if real[slot]:
                            for i in range(d):
                                low[i] = min(low[i], positions[slot, i])
                                high[i] = max(high[i], positions[slot, i])
                    span = 0.0
                    for i in range(d):
                        span += high[i] - low[i]
                    cost = perimeter[x] + (n - x) * s * span
                    if cost < best or (cost == best and abs(2 * x - n) < abs(2 * best_x - n)):
                        best, best_a, best_x = cost, a, x
            for j in range(s):
                head = start + j * length + begin
                for x in range(best_x):
                    marked[orders[best_a, head + x]] = True
                for a in range(d):
                    if a == best_a:
                        continue
                    left, right = 0, 0
                    for x in range(n):  # a stable partition keeps both halves sorted
                        slot = orders[a, head + x]
                        if marked[slot]:
                            orders[a, head + left] = slot
                            left += 1
                        else:
                            moved[right] = slot
                            right += 1
                    for x in range(right):
                        orders[a, head + left + x] = moved[x]
                for x in range(best_x):
                    marked[orders[best_a, head + x]] = False
            if best_x > 1:
                stack[depth, 0], stack[depth, 1] = begin, begin + best_x
                depth += 1
            if n - best_x > 1:
                stack[depth, 0], stack[depth, 1] = begin + best_x, end
                depth += 1
