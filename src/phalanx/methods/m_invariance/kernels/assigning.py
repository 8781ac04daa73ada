# SPDX-License-Identifier: Apache-2.0
"""Who enters which signature: balancing, entering and assignment (Xiao & Tao, SIGMOD 2007, Section
4), and counting.

A *signature table* is given as ``offsets`` (q + 1,): the entries ``offsets[b] .. offsets[b+1]-1``
belong to signature b, one per value.
"""

from typing import Final

import numpy as np

from phalanx.arrays import Codes, Ints
from phalanx.kernels import njit
from phalanx.kernels.sorting import from_most, sort

_BITS: Final = 32
_PLACE: Final = (1 << _BITS) - 1
_MOST: Final = (1 << 31) - 1
"""A signature's rank is its place in the lowest ``_BITS``, and above them by how much its members
are fewer than ``_MOST``.
"""
_MARKS: Final = 62
"""Values have so many different marks."""


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
    offsets: Ints, values: Ints, marks: Ints, ranks: Ints, left: Ints, m: int, parts: int
) -> tuple[Ints, Ints]:
    """Into which signatures that there are new tuples enter, (s,), and how many whole sets, one of
    every value, (s,).

    ``values`` (e,): the value of each entry; ``marks`` (q,): of the signatures (``mark``);
    ``ranks`` (q,): theirs in ascending order (``rank``), where members are the most tuples of S_cap
    that any value has; ``left`` (lambda,): the tuples of S_minus per value, m-eligible, reduced in
    place by what enters. Each signature in its turn takes as many sets as leave S_minus m-eligible.
    Nothing here changes if the values of one signature are renamed among all who were ever put
    under it, which is why the choice tells nothing of them; the paper has no such step. With
    ``parts`` above 0 no more enter than make the rest divisible into so many parts of one size,
    each m-eligible whatever lies in it: no value in more than 1/(m parts) of the rest.
    """
    remaining, largest, some = left.sum(), left.max(), 0
    times, of_mark = np.bincount(left), _by_mark(left)
    absent = ~_held(of_mark)
    room = min(len(ranks), remaining)
    places, sets = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    for rank in ranks:
        if remaining == 0 or (parts > 0 and m * parts * largest <= remaining):
            break
        b = rank & _PLACE
        if marks[b] & absent:  # most signatures, once most values are all taken
            continue
        first, last = offsets[b], offsets[b + 1]
        fewest, most = remaining, 0
        for e in range(first, last):
            fewest, most = min(fewest, left[values[e]]), max(most, left[values[e]])
            if fewest == 0:
                break
        if fewest == 0:
            continue
        size, others = last - first, largest
        if most == largest:
            others = _most_outside(times, largest, left, values[first:last])
        take = min(fewest, (remaining - m * others) // size)
        if size > m:  # at size = m the values of the signature stay as eligible as they are
            take = min(take, (remaining - m * most) // (size - m))
        if parts > 0:
            least = _least(most, others, remaining, size, m * parts)
            take = min(take, least if least > 0 else max(most - others, 0))
        if take > 0:
            for v in values[first:last]:
                times[left[v]] -= 1
                left[v] -= take
                times[left[v]] += 1
                of_mark[v % _MARKS] -= left[v] == 0
            remaining, largest = remaining - take * size, _most(times, largest)
            absent = ~_held(of_mark)
            places[some], sets[some] = b, take
            some += 1
    return places[:some], sets[:some]


@njit(cache=True, nogil=True, fastmath=False)
def _most(times: Ints, largest: int) -> int:
    """The largest number that some value has, by how many have each, ``times``; none has more than
    ``largest``.
    """
    while largest > 0 and times[largest] == 0:
        largest -= 1
    return largest


@njit(cache=True, nogil=True, fastmath=False)
def _most_outside(times: Ints, largest: int, left: Ints, inside: Ints) -> int:
    """The largest number of ``left`` (lambda,) at a place that is not ``inside`` (s,), each of them
    once; 0 if there is none. ``times``: how many values have each number, none more than
    ``largest``.
    """
    for v in inside:
        times[left[v]] -= 1
    most = _most(times, largest)
    for v in inside:
        times[left[v]] += 1
    return most


@njit(cache=True, nogil=True, fastmath=False)
def _by_mark(left: Ints) -> Ints:
    """How many values of which there are ``left`` (lambda,) have each mark."""
    of_mark = np.zeros(_MARKS, dtype=np.int64)
    for value in range(len(left)):
        of_mark[value % _MARKS] += left[value] > 0
    return of_mark


@njit(cache=True, nogil=True, fastmath=False)
def _held(of_mark: Ints) -> int:
    """The marks that some value has, by how many have each, ``of_mark``."""
    marks = 0
    for mark in range(_MARKS):
        if of_mark[mark] > 0:
            marks |= 1 << mark
    return marks


@njit(cache=True, nogil=True, fastmath=False)
def mark(offsets: Ints, values: Ints) -> Ints:
    """One bit for each value of a signature, shape (q,), which others may share: that which is not
    held by any value that is left shows that one of its values is not left.

    ``offsets`` (q + 1,), ``values`` (e,): the signatures.
    """
    marks = np.zeros(len(offsets) - 1, dtype=np.int64)
    for b in range(len(marks)):
        for e in range(offsets[b], offsets[b + 1]):
            marks[b] |= 1 << (values[e] % _MARKS)
    return marks


@njit(cache=True, nogil=True, fastmath=False)
def in_order(values: Ints, ends: Ints) -> Ints:
    """The ``values`` (e,) from one of the ``ends`` (s + 1,) to the next in ascending order."""
    ordered = values.copy()
    for i in range(len(ends) - 1):
        sort(ordered[ends[i] : ends[i + 1]])
    return ordered


@njit(cache=True, nogil=True, fastmath=False)
def rank(members: Ints, places: Ints) -> Ints:
    """One number for each of the signatures ``places`` (s,), shape (s,), which is the smaller the
    more ``members`` (q,) it has, and of equally large ones for the first; fewer than 2^31 are in
    one.
    """
    ranks = np.empty(len(places), dtype=np.int64)
    for i in range(len(places)):
        ranks[i] = (_MOST - members[places[i]]) << _BITS | places[i]
    sort(ranks)
    return ranks


@njit(cache=True, nogil=True, fastmath=False)
def move_up(ranks: Ints, members: Ints, places: Ints, sets: Ints) -> None:
    """Add ``sets`` (s,), none below 1, to the ``members`` (q,) of the signatures ``places`` (s,),
    each of them once, and bring the ``ranks`` (q,) of all signatures, in ascending order, up to
    date; both in place.
    """
    before = rank(members, places)
    for i in range(len(places)):
        members[places[i]] += sets[i]
    after = rank(members, places)
    r, i, j = len(ranks) - 1, len(places) - 1, len(places) - 1
    while i >= 0 and ranks[r] != before[i]:
        r -= 1
    w = r
    while j >= 0:  # what moves goes to the front, so that nothing is overwritten before it is read
        if i >= 0 and ranks[r] == before[i]:
            r, i = r - 1, i - 1
            continue
        if r >= 0 and ranks[r] > after[j]:
            ranks[w] = ranks[r]
            r -= 1
        else:
            ranks[w] = after[j]
            j -= 1
        w -= 1


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
def _without_first(heap: Ints, size: int) -> int:
    """Take the largest number, which stands first, from a ``heap``, none of whose first ``size``
    numbers is larger than that in the middle of the places before it; how many are left.
    """
    size -= 1
    last, at = heap[size], 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and heap[below + 1] > heap[below]:
            below += 1
        if heap[below] <= last:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = last
    return size


@njit(cache=True, nogil=True, fastmath=False)
def _with(heap: Ints, size: int, number: int) -> int:
    """Put a ``number`` into a ``heap`` of ``size`` numbers; how many there are then."""
    at = size
    while at > 0 and heap[(at - 1) // 2] < number:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = number
    return size + 1


@njit(cache=True, nogil=True, fastmath=False)
def assignment(counts: Ints, m: int, parts: int) -> tuple[Ints, Ints, Ints]:
    """Phase 3 (Figure 3): how many tuples of which values go together.

    ``counts`` (lambda,): the tuples of S_minus per value, m-eligible. Returns ``alphas`` (i,),
    ``betas`` (i,) of the iterations and ``values`` (sum of betas,): the values of each iteration's
    signature, most frequent first; equal counts stand in the order of their codes. With ``parts``
    above 0 it stops where the rest is divisible into so many parts of one size, each m-eligible
    whatever lies in it.
    """
    total, q = counts.sum(), len(counts)
    alphas = np.empty(total // m + 1, dtype=np.int64)
    betas = np.empty(total // m + 1, dtype=np.int64)
    chosen = np.empty(total, dtype=np.int64)
    iterations, written, size = 0, 0, 0
    heap, taken = np.empty(q, dtype=np.int64), np.empty(q, dtype=np.int64)
    for value in from_most(counts):  # one number for each, the largest of the first in order
        if counts[value] > 0:
            heap[size] = counts[value] * q + q - 1 - value
            size += 1
    gamma = total
    while gamma > 0 and not (parts > 0 and m * parts * (heap[0] // q) <= gamma):
        most, beta = heap[0] // q, 0
        alpha, following = 0, most
        while alpha < 1:  # Lemma 5: some beta has a solution while S_minus is m-eligible
            taken[beta], fewest = heap[0], following
            size = _without_first(heap, size)
            beta += 1
            following = heap[0] // q if size > 0 else 0
            if beta < m:
                continue
            alpha = min(fewest, (gamma - m * following) // beta)  # Inequalities 5 and 7
            if beta > m:
                alpha = min(
                    alpha, (gamma - m * most) // (beta - m)
                )  # Inequality 6; at beta = m it is m-eligibility itself
        if parts > 0:
            least = _least(most, following, gamma, beta, m * parts)
            alpha = min(alpha, least) if least > 0 else alpha
        alphas[iterations], betas[iterations] = alpha, beta
        iterations += 1
        for i in range(beta):
            chosen[written + i] = q - 1 - taken[i] % q
            if taken[i] // q > alpha:
                size = _with(heap, size, taken[i] - alpha * q)
        written += beta
        gamma -= alpha * beta
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
def summed(places: Ints, sets: Ints) -> tuple[Ints, Ints]:
    """Each of the ``places`` (s,), none below 0, once, in ascending order, and the
    sum of its ``sets`` (s,).
    """
    n, some = len(places), 0
    keys = np.empty(n, dtype=np.int64)
    for i in range(n):
        keys[i] = places[i] * n + i
    sort(keys)
    once, sums = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for key in keys:
        if some == 0 or once[some - 1] != key // n:
            once[some] = key // n
            some += 1
        sums[some - 1] += sets[key % n]
    return once[:some], sums[:some]


@njit(cache=True, nogil=True, fastmath=False)
def entries_of(offsets: Ints, places: Ints, sets: Ints) -> tuple[Ints, Ints]:
    """The entries of the signatures ``places`` (s,) of ``offsets`` (q + 1,), in their order, and the
    ``sets`` (s,) that each of them takes part in.
    """
    n, k = 0, 0
    for b in places:
        n += offsets[b + 1] - offsets[b]
    entries, counts = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(len(places)):
        for e in range(offsets[places[i]], offsets[places[i] + 1]):
            entries[k], counts[k] = e, sets[i]
            k += 1
    return entries, counts


@njit(cache=True, nogil=True, fastmath=False)
def take(
    codes: Ints, rows: Ints, entries: Ints, counts: Ints, values: Ints, n_values: int
) -> tuple[Ints, Ints, Ints]:
    """The first of ``rows`` (r,) of each value, so many as entries ask for, value by value, and
    their entries; and all other rows, as they stand.

    ``codes`` (n,): the value of each row; ``counts`` (s,): how many rows each of the ``entries``
    (s,) takes, of its value in ``values`` (e,), one of ``n_values``. No more are asked than there
    are.
    """
    left = np.zeros(n_values, dtype=np.int64)
    for i in range(len(entries)):
        left[values[entries[i]]] += counts[i]
    place, total = np.empty(n_values, dtype=np.int64), 0
    for value in range(n_values):
        place[value] = total
        total += left[value]
    of_entry, next_of = np.empty(total, dtype=np.int64), place.copy()
    for i in range(len(entries)):
        value = values[entries[i]]
        of_entry[next_of[value] : next_of[value] + counts[i]] = entries[i]
        next_of[value] += counts[i]
    taken, rest, others = np.empty_like(of_entry), np.empty(len(rows) - total, dtype=np.int64), 0
    for row in rows:
        value = codes[row]
        if left[value] > 0:
            taken[place[value]] = row
            place[value] += 1
            left[value] -= 1
        else:
            rest[others] = row
            others += 1
    return taken, of_entry, rest


@njit(cache=True, nogil=True, fastmath=False)
def by_entry(entries: Ints, rows: Ints, n_entries: int) -> tuple[Ints, Ints]:
    """``entries`` (p,), whole numbers from 0 to ``n_entries - 1``, in ascending order, and the
    ``rows`` (p,) of each, those of one entry as they stand.
    """
    place = np.zeros(n_entries + 1, dtype=np.int64)
    for entry in entries:
        place[entry + 1] += 1
    for entry in range(1, n_entries + 1):
        place[entry] += place[entry - 1]
    ordered, of = np.empty_like(entries), np.empty_like(rows)
    for entry in range(n_entries):
        ordered[place[entry] : place[entry + 1]] = entry
    for i in range(len(entries)):
        of[place[entries[i]]] = rows[i]
        place[entries[i]] += 1
    return ordered, of
