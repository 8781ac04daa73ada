# SPDX-License-Identifier: Apache-2.0
"""Who enters which signature: balancing, entering and assignment (Xiao & Tao, SIGMOD 2007, Section
4), and counting.

A *signature table* is given as ``offsets`` (q + 1,): the entries ``offsets[b] .. offsets[b+1]-1``
belong to signature b, one per value.
"""

import numpy as np

from phalanx.arrays import Codes, Ints
from phalanx.kernels import njit
from phalanx.kernels.sorting import from_most


@njit(cache=True, nogil=True, fastmath=False)
def balancing(offsets: Ints, values: Ints, owned: Ints, left: Ints, m: int) -> tuple[Ints, Ints]:
    """Phase 2 as in the paper: make every value of a bucket's signature owned by the same number of
    tuples.

    ``values`` (e,): the value of each entry; ``owned`` (e,): the tuples of S_cap that own it;
    ``left`` (lambda,): the tuples of S_minus per value, m-eligible, reduced in place by what is
    taken. Returns ``filled`` and ``invented`` (e,): tuples taken from S_minus, and counterfeits.
    Taking q tuples of one value leaves S_minus m-eligible iff m times the largest count of the
    *other* values stays at most what remains (taking more of the same value never helps it to be
    too frequent), which gives the largest q in one step.
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
def entering(
    offsets: Ints, values: Ints, order: Ints, left: Ints, m: int, parts: int
) -> tuple[Ints, Ints]:
    """Into which signatures that there are new tuples enter, (s,), and how many whole sets, one of
    every value, (s,).

    ``values`` (e,): the value of each entry; ``order`` (q,): the signatures, the one with most
    members first (``from_most``), where members are the most tuples of S_cap that any value has;
    ``left`` (lambda,): the tuples of S_minus per value, m-eligible, reduced in place by what
    enters. Each signature in its turn takes as many sets as leave S_minus m-eligible. Nothing here
    changes if the values of one signature are renamed among all who were ever put under it, which
    is why the choice tells nothing of them; the paper has no such step. With ``parts`` above 0 no
    more enter than make the rest divisible into so many parts of one size, each m-eligible whatever
    lies in it: no value in more than 1/(m parts) of the rest.
    """
    remaining, some = left.sum(), 0
    room = min(len(order), remaining)
    places, sets = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    inside = np.zeros(len(left), dtype=np.bool_)
    for b in order:
        if remaining == 0 or (parts > 0 and m * parts * left.max() <= remaining):
            break
        fewest, most = remaining, 0
        for e in range(offsets[b], offsets[b + 1]):
            fewest, most = min(fewest, left[values[e]]), max(most, left[values[e]])
        if fewest == 0:
            continue
        size, others = offsets[b + 1] - offsets[b], 0
        for e in range(offsets[b], offsets[b + 1]):
            inside[values[e]] = True
        for u in range(len(left)):
            if not inside[u]:
                others = max(others, left[u])
        take = min(fewest, (remaining - m * others) // size)
        if size > m:  # at size = m the values of the signature stay as eligible as they are
            take = min(take, (remaining - m * most) // (size - m))
        if parts > 0:
            least = _least(most, others, remaining, size, m * parts)
            take = min(take, least if least > 0 else max(most - others, 0))
        for e in range(offsets[b], offsets[b + 1]):
            inside[values[e]] = False
            left[values[e]] -= take
        if take > 0:
            places[some], sets[some] = b, take
            some += 1
            remaining -= take * size
    return places[:some], sets[:some]


@njit(cache=True, nogil=True, fastmath=False)
def moved_up(order: Ints, members: Ints, more: Ints) -> Ints:
    """The order of all signatures, the one with most ``members`` (q,) first, of equally large ones
    the first; shape (q,).

    ``order``: the same before ``more`` (c,), in ascending order and each once, had more members, or
    were there at all.
    """
    moved = np.zeros(len(members), dtype=np.bool_)
    own = np.empty(len(more), dtype=np.int64)
    for i in range(len(more)):
        own[i] = members[more[i]]
        moved[more[i]] = True
    merged, k = np.empty(len(members), dtype=np.int64), 0
    places, i = from_most(own), 0
    for b in order:
        if moved[b]:
            continue
        while i < len(places):
            a = more[places[i]]
            if members[a] < members[b] or (members[a] == members[b] and a > b):
                break
            merged[k] = a
            i, k = i + 1, k + 1
        merged[k] = b
        k += 1
    for rest in range(i, len(places)):
        merged[k] = more[places[rest]]
        k += 1
    return merged


@njit(cache=True, nogil=True, fastmath=False)
def _least(most: int, others: int, remaining: int, size: int, m: int) -> int:
    """The fewest sets to take so that the rest is m-eligible; 0 where no number does, or none need.

    ``most``, ``others``: the largest counts of values in the set, and outside it; ``remaining``:
    all tuples; ``size``: values of a set.
    """
    if size >= m or most * m <= remaining:
        return 0
    least = -((remaining - m * most) // (m - size))
    return least if m * others <= remaining - least * size else 0


@njit(cache=True, nogil=True, fastmath=False)
def assignment(counts: Ints, m: int, parts: int) -> tuple[Ints, Ints, Ints]:
    """Phase 3 (Figure 3): how many tuples of which values go together.

    ``counts`` (lambda,): the tuples of S_minus per value, m-eligible. Returns ``alphas`` (i,),
    ``betas`` (i,) of the iterations and ``values`` (sum of betas,): the values of each iteration's
    signature, most frequent first; equal counts stand in the order of their codes. With ``parts``
    above 0 it stops where the rest is divisible into so many parts of one size, each m-eligible
    whatever lies in it.
    """
    total = counts.sum()
    alphas = np.empty(total // m + 1, dtype=np.int64)
    betas = np.empty(total // m + 1, dtype=np.int64)
    chosen = np.empty(total, dtype=np.int64)
    iterations, written = 0, 0
    order = from_most(counts)
    n, size = np.empty_like(order), 0
    for i in range(len(order)):
        n[i] = counts[order[i]]
        size += n[i] > 0
    merged_order, merged_n = order.copy(), n.copy()
    gamma = total
    while gamma > 0 and not (parts > 0 and m * parts * n[0] <= gamma):
        beta = m
        alpha = 0
        while True:  # Lemma 5: some beta has a solution while S_minus is m-eligible
            following = n[beta] if beta < size else 0
            alpha = min(n[beta - 1], (gamma - m * following) // beta)  # Inequalities 5 and 7
            if beta > m:
                alpha = min(
                    alpha, (gamma - m * n[0]) // (beta - m)
                )  # Inequality 6; at beta = m it is m-eligibility itself
            if alpha >= 1:
                break
            beta += 1
        if parts > 0:
            least = _least(n[0], n[beta] if beta < size else 0, gamma, beta, m * parts)
            alpha = min(alpha, least) if least > 0 else alpha
        alphas[iterations], betas[iterations] = alpha, beta
        iterations += 1
        for i in range(beta):
            chosen[written + i] = order[i]
        written += beta
        gamma -= alpha * beta
        i, j, k = (
            0,
            beta,
            0,
        )  # the beta reduced counts and the untouched rest are each in order: merge them
        while i < beta or j < size:
            reduced = n[i] - alpha if i < beta else -1
            if i < beta and (
                j >= size or reduced > n[j] or (reduced == n[j] and order[i] < order[j])
            ):
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
def counted(codes: Ints | Codes, rows: Ints, n_codes: int) -> Ints:
    """How many of ``rows`` (r,) have each of the ``codes`` (n,), whole numbers from 0 to ``n_codes
    - 1``; shape (n_codes,).
    """
    counts = np.zeros(n_codes, dtype=np.int64)
    for row in rows:
        counts[codes[row]] += 1
    return counts


@njit(cache=True, nogil=True, fastmath=False)
def first_of_each(codes: Ints, rows: Ints, asked: Ints) -> tuple[Ints, Ints]:
    """The first ``asked`` (q,) of ``rows`` (r,) with each of the ``codes`` (n,), by code; and all
    others. Both as they stand; no more are asked than there are.
    """
    place = np.zeros(len(asked), dtype=np.int64)
    for code in range(1, len(asked)):
        place[code] = place[code - 1] + asked[code - 1]
    left, taken = asked.copy(), np.empty(asked.sum(), dtype=np.int64)
    rest, others = np.empty(len(rows) - len(taken), dtype=np.int64), 0
    for row in rows:
        code = codes[row]
        if left[code] > 0:
            taken[place[code]] = row
            place[code] += 1
            left[code] -= 1
        else:
            rest[others] = row
            others += 1
    return taken, rest


@njit(cache=True, nogil=True, fastmath=False)
def counted_order(codes: Ints, n_codes: int) -> Ints:
    """The stable order of ``codes`` (p,), whole numbers from 0 to ``n_codes - 1``, by counting
    them; shape (p,).
    """
    place = np.zeros(n_codes + 1, dtype=np.int64)
    for code in codes:
        place[code + 1] += 1
    for code in range(1, n_codes + 1):
        place[code] += place[code - 1]
    order = np.empty(len(codes), dtype=np.int64)
    for slot in range(len(codes)):
        order[place[codes[slot]]] = slot
        place[codes[slot]] += 1
    return order
