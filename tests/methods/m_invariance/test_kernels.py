# SPDX-License-Identifier: Apache-2.0
"""The kernels of m-invariance do what their slow twins do."""

from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import m_invariance as naive
from phalanx.methods.m_invariance import kernels
from phalanx.methods.m_invariance.kernels import assigning, splitting
from phalanx.methods.m_invariance.method import largest_eligible
from phalanx.methods.m_invariance.signatures import Growing, Opened, Signatures
from support.work import uncompiled

counts = st.lists(st.integers(0, 12), min_size=2, max_size=7)
ms = st.integers(2, 4)


def made_eligible(numbers, m):
    """The numbers capped so that they are m-eligible."""
    cap = naive.largest_eligible(numbers, m)
    return [min(n, cap) for n in numbers]


@given(counts, ms)
@settings(deadline=None)  # the first call compiles
def test_largest_eligible_is_the_one_found_by_trying(numbers, m):
    """Bisection and trial agree, and one more would not be eligible."""
    assert largest_eligible(np.array(numbers), m) == naive.largest_eligible(numbers, m)


@given(counts, ms)
@settings(deadline=None)  # the first call compiles
def test_holding_back_is_smallest(numbers, m):
    """No way of leaving out fewer rows leaves an m-eligible rest, among all ways."""
    numbers = [min(n, 4) for n in numbers[:4]]
    cap = largest_eligible(np.array(numbers), m)
    kept = sum(min(n, cap) for n in numbers)
    rows = [v for v, n in enumerate(numbers) for _ in range(n)]
    best = max(
        size
        for size in range(len(rows) + 1)
        for some in set(combinations(rows, size))
        if naive.eligible(Counter(some), m)
    )
    assert kept == best


def assigned(numbers, m, parts):
    """The kernel's moves, as the twin has them."""
    alphas, betas, chosen = kernels.assignment(np.array(numbers, dtype=np.int64), m, parts)
    ends = np.cumsum(betas)
    return [
        (int(a), chosen[e - b : e].tolist()) for a, b, e in zip(alphas, betas, ends, strict=True)
    ]


@given(counts, ms)
@settings(deadline=None)  # the first call compiles
def test_assignment_is_figure_3(numbers, m):
    """Same alphas, betas and signatures as the twin; all tuples are assigned; every signature has m
    values.
    """
    numbers = made_eligible(numbers, m)

    moves = assigned(numbers, m, 0)

    assert moves == naive.assignment(dict(enumerate(numbers)), m)
    assert sum(a * len(values) for a, values in moves) == sum(numbers)
    assert all(len(set(values)) >= m for _, values in moves)


@given(st.lists(st.integers(0, 40), min_size=2, max_size=12), ms, st.integers(1, 4))
@settings(deadline=None, max_examples=300)
def test_assignment_for_parts_stops_where_the_rest_can_be_divided(numbers, m, parts):
    """The same moves as the twin; of the rest no value has more than 1/(m parts), so that each part
    is m-eligible whatever lies in it; and the last move was needed.
    """
    numbers = made_eligible(numbers, m)

    moves = assigned(numbers, m, parts)

    assert moves == naive.assignment(dict(enumerate(numbers)), m, parts)
    rests = [Counter(dict(enumerate(numbers)))]
    for alpha, values in moves:
        rests.append(rests[-1] - Counter(dict.fromkeys(values, alpha)))
    assert naive.eligible(rests[-1], m * parts)
    assert all(naive.eligible(rest, m) for rest in rests)
    assert not any(naive.eligible(rest, m * parts) for rest in rests[:-1])


def test_assignment_for_parts_leaves_rows_that_all_parts_share():
    """Of 30, 20 and four times 10 rows, two parts need the most frequent value below 1/4: one move
    of the fewest sets; a twin that does not ask for parts assigns everybody and is told apart.
    """
    numbers = [30, 20, 10, 10, 10, 10]
    moves = assigned(numbers, 2, 2)
    assert sum(alpha * len(values) for alpha, values in moves) < sum(numbers)
    assert moves != naive.assignment(dict(enumerate(numbers)), 2)


@st.composite
def buckets_and_new(draw, most=9):
    m = draw(ms)
    domain = draw(st.integers(m, 6))
    buckets = draw(
        st.lists(
            st.lists(st.integers(0, domain - 1), min_size=m, max_size=domain, unique=True),
            max_size=4,
        )
    )
    owned = [{v: draw(st.integers(0, 4)) for v in sorted(b)} for b in buckets]
    left = made_eligible(draw(st.lists(st.integers(0, most), min_size=domain, max_size=domain)), m)
    return m, [o for o in owned if max(o.values())], left


@given(buckets_and_new())
@settings(deadline=None)  # the first call compiles
def test_balancing_takes_one_tuple_at_a_time(case):
    """The step of many tuples equals many steps of one; the buckets end balanced and S_minus
    m-eligible.
    """
    m, buckets, numbers = case
    left = np.array(numbers, dtype=np.int64)
    offsets = np.cumsum([0, *(len(b) for b in buckets)]).astype(np.int64)
    values = np.array([v for b in buckets for v in b], dtype=np.int64)
    owned = np.array([n for b in buckets for n in b.values()], dtype=np.int64)

    filled, invented = kernels.balancing(offsets, values, owned, left, m)

    rest = Counter(dict(enumerate(numbers)))
    took, made = naive.balancing(buckets, rest, m)
    assert filled.tolist() == [t[v] for b, t in zip(buckets, took, strict=True) for v in b]
    assert invented.tolist() == [t[v] for b, t in zip(buckets, made, strict=True) for v in b]
    assert left.tolist() == [rest[v] for v in range(len(numbers))]
    for i, b in enumerate(buckets):
        part = slice(offsets[i], offsets[i + 1])
        assert len(set((owned + filled + invented)[part])) == 1
        assert len(b) == offsets[i + 1] - offsets[i]
    assert naive.eligible(Counter(dict(enumerate(left.tolist()))), m)


def entering(offsets, values, members, left, m, parts):
    """How many sets enter each signature, also those that none enters."""
    ranks = kernels.rank(members, np.arange(len(members)))
    marks = kernels.mark(offsets, values)
    places, taken = kernels.entering(offsets, values, marks, ranks, left, m, parts)
    assert (taken > 0).all() and len(set(places.tolist())) == len(places)
    sets = np.zeros(len(members), dtype=np.int64)
    sets[places] = taken
    return sets


@given(buckets_and_new(), st.sampled_from([1, 31, 62]))
@settings(deadline=None)  # the first call compiles
def test_entering_takes_one_set_at_a_time(case, apart):
    """The step of many sets equals many steps of one; S_minus stays m-eligible, and as many tuples
    of every value enter; also where values share their marks, as all do that are 62 codes ``apart``.
    """
    m, buckets, numbers = case
    left = np.zeros(apart * len(numbers), dtype=np.int64)
    left[::apart] = numbers
    offsets = np.cumsum([0, *(len(b) for b in buckets)]).astype(np.int64)
    values = apart * np.array([v for b in buckets for v in b], dtype=np.int64)
    members = np.array([max(b.values()) for b in buckets], dtype=np.int64)

    sets = entering(offsets, values, members, left, m, 0)

    rest = Counter(dict(enumerate(numbers)))
    assert sets.tolist() == naive.entering([list(b) for b in buckets], members.tolist(), rest, m)
    assert left[::apart].tolist() == [rest[v] for v in range(len(numbers))]
    assert naive.eligible(Counter(dict(enumerate(left.tolist()))), m)


def test_a_mark_that_is_not_held_tells_a_value_that_is_not_left():
    """Values of two signatures have a bit each, of which one is shared by a value 62 codes on."""
    offsets, values = np.array([0, 2, 3]), np.array([0, 3, 62], dtype=np.int64)
    assert kernels.mark(offsets, values).tolist() == [0b1001, 0b1]
    left = np.zeros(63, dtype=np.int64)
    left[[3, 62]] = 2
    assert assigning._held(assigning._by_mark(left)) == 0b1001


@given(buckets_and_new(most=30), st.integers(1, 4))
@settings(deadline=None, max_examples=300)
def test_entering_for_parts_takes_no_more_than_it_must(case, parts):
    """The same sets as the twin; S_minus stays m-eligible, and nobody enters where the rest can be
    divided already.
    """
    m, buckets, numbers = case
    left = np.array(numbers, dtype=np.int64)
    offsets = np.cumsum([0, *(len(b) for b in buckets)]).astype(np.int64)
    values = np.array([v for b in buckets for v in b], dtype=np.int64)
    members = np.array([max(b.values()) for b in buckets], dtype=np.int64)

    sets = entering(offsets, values, members, left, m, parts)

    rest = Counter(dict(enumerate(numbers)))
    divisible = naive.eligible(rest, m * parts)
    assert sets.tolist() == naive.entering(
        [list(b) for b in buckets], members.tolist(), rest, m, parts
    )
    assert left.tolist() == [rest[v] for v in range(len(numbers))]
    assert naive.eligible(Counter(dict(enumerate(left.tolist()))), m)
    assert not (divisible and sets.any())


def test_entering_for_parts_is_told_apart_from_entering_for_one():
    """Where all could enter, only as many do as bring the most frequent value to 1/4 of the rest; a
    twin that does not ask for parts lets more enter.
    """
    left, signature = np.array([30, 20, 10, 10, 10, 10], dtype=np.int64), [0, 1]
    ends, members = np.array([0, 2]), np.array([5])
    sets = entering(ends, np.array(signature), members, left, 2, 2)
    rest = Counter(dict(enumerate([30, 20, 10, 10, 10, 10])))
    assert naive.entering([signature], [5], Counter(rest), 2, 2) == sets.tolist()
    assert naive.entering([signature], [5], rest, 2) != sets.tolist()
    assert 4 * left.max() <= left.sum()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.data())
@settings(deadline=None, max_examples=300)
def test_who_got_more_members_moves_up(members, data):
    """The signatures stand as they do when they are ordered anew, whoever has more."""
    numbers = np.array(members, dtype=np.int64)
    everyone = np.arange(len(numbers))
    more = np.array(data.draw(st.permutations(range(len(numbers)))), dtype=np.int64)
    more = more[: data.draw(st.integers(0, len(numbers)))]
    sets = np.array([data.draw(st.integers(1, 4)) for _ in more], dtype=np.int64)
    ranks = kernels.rank(numbers, everyone)

    kernels.move_up(ranks, numbers, more, sets)

    added = dict(zip(more.tolist(), sets.tolist(), strict=True))
    after = [n + added.get(place, 0) for place, n in enumerate(members)]
    assert numbers.tolist() == after
    order = sorted(range(len(after)), key=lambda place: (-after[place], place))
    assert [rank % 2**32 for rank in ranks.tolist()] == order
    assert ranks.tolist() == kernels.rank(numbers, everyone).tolist()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), max_size=20))
@settings(deadline=None)  # the first call compiles
def test_sets_of_one_signature_are_summed(pairs):
    """Each place once, in ascending order, with all that was said of it."""
    total = Counter()
    for place, sets in pairs:
        total[place] += sets
    said = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    places, sums = kernels.summed(said[:, 0].copy(), said[:, 1].copy())
    assert list(zip(places.tolist(), sums.tolist(), strict=True)) == sorted(total.items())


def test_a_signature_that_is_opened_stands_last_until_it_has_members():
    """It has no members, and those that are as small were opened before."""
    none = np.zeros(0, dtype=np.int64)
    opened = Opened(
        Signatures(
            domain=pl.Series(["a", "b", "c"]),
            codes=none,
            offsets=np.array([0, 2, 4]),
            values=np.array([0, 1, 1, 2]),
            ids=np.arange(2),
            entries=np.arange(4),
            of_row=none,
            entry_of_row=none,
            changed=none.astype(bool),
            known=2,
        ),
        np.array([0, 3]),
    )
    assert (opened.ranks % 2**32).tolist() == [1, 0]
    none_more = opened.open(none, np.zeros(1, dtype=np.int64))
    assert none_more.tolist() == []
    places = opened.open(np.array([2, 1, 2, 0, 0, 2]), np.array([0, 2, 4, 6]))
    assert places.tolist() == [1, 2, 2]  # the first is there, and the last is as the one before it
    assert (opened.ranks % 2**32).tolist() == [1, 0, 2]
    opened.add(np.array([2]), np.array([4]))
    assert (opened.ranks % 2**32).tolist() == [2, 1, 0]
    offsets, values, marks = opened.table()
    assert (offsets.tolist(), values.tolist()) == ([0, 2, 4, 6], [0, 1, 1, 2, 0, 2])
    assert marks.tolist() == kernels.mark(offsets, values).tolist()


def test_numbers_that_are_added_stand_behind_the_others():
    """Whatever room there was; those who were given theirs keep it."""
    given_ones = np.array([3, 1], dtype=np.int64)
    growing, all_of_them = Growing(given_ones), [3, 1]
    for more in ([], [4], [1, 5, 9], [2] * 20):
        growing.add(np.array(more, dtype=np.int64))
        all_of_them += more
        assert growing.all.tolist() == all_of_them
    growing.all[0] = 7
    assert given_ones.tolist() == [3, 1]


@st.composite
def one_bucket(draw):
    s, length = draw(st.integers(2, 3)), draw(st.integers(1, 5))
    d = draw(st.integers(1, 6) | st.integers(15, 18))
    cells = st.lists(st.integers(0, 4), min_size=d, max_size=d)
    positions = [draw(cells) for _ in range(s * length)]
    # the list of the value that set the bucket's size holds no counterfeit
    real = [j == 0 or draw(st.booleans()) for j in range(s) for _ in range(length)]
    return s, length, np.array(positions, dtype=np.int64), np.array(real)


def run_split(s, length, codes, real, first=3):
    """The group of every slot; the first one is called ``first``."""
    slots, d = codes.shape
    along = kernels.Along(np.tile(np.arange(5, dtype=np.int32), d), 5 * np.arange(d + 1))
    buckets = kernels.Buckets(*(np.array([number]) for number in (0, s, length, first)))
    group = np.full(slots, -1, dtype=np.int64)
    shown = np.ascontiguousarray(np.where(real[:, None], codes, 0).T.astype(np.int32))
    kernels.split(shown, along, real, buckets, 0, 1, group)
    return group - first


def lists_of(s, length, codes, real):
    """The slots of each list, and where each lies."""
    lists = [list(range(j * length, (j + 1) * length)) for j in range(s)]
    places = zip(codes, real, strict=True)
    return lists, [tuple(code.tolist()) if there else None for code, there in places]


@given(one_bucket())
@settings(deadline=None)  # the first call compiles
def test_split_makes_groups_of_one_tuple_per_value(bucket):
    """Each group has one slot of every list, and which those are is what cutting lists of slots
    gives.
    """
    s, length, codes, _ = bucket
    groups = run_split(*bucket)
    assert (np.sort(groups.reshape(s, length)) == np.arange(length)).all()
    lists, positions = lists_of(*bucket)
    expected = naive.split(lists, positions, codes.shape[1])
    assert [tuple(np.flatnonzero(groups == g)) for g in range(length)] == expected


@given(st.integers(2, 3), st.integers(5, 30), st.integers(1, 9), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=15)
def test_groups_are_the_same_however_attributes_are_looked_at(s, length, d, seed):
    """Four at a time, or all of a slot together until all but one are as wide as they will be."""
    draw = np.random.default_rng(seed)
    codes, real = draw.integers(0, 5, (s * length, d)), np.ones(s * length, dtype=bool)
    expected = run_split(s, length, codes, real)
    with pytest.MonkeyPatch.context() as monkeypatch:
        uncompiled(monkeypatch, splitting)
        monkeypatch.setattr(splitting, "_MANY", 1)
        monkeypatch.setattr(kernels, "split", splitting.split)
        assert run_split(s, length, codes, real).tolist() == expected.tolist()


@pytest.mark.parametrize("most", [0, 1, 255, 256, 65_535, 65_536, 2**24, 2**31 - 1])
@given(st.lists(st.integers(0, 2**31 - 1), max_size=40), st.integers(0, 5))
@settings(deadline=None)
def test_the_order_of_codes_is_stable(most, codes, first):
    """Of one, two, three and four bytes, from any place on."""
    codes = np.array([code % (most + 1) for code in codes], dtype=np.int32)
    order, moved = np.empty((2, max(len(codes) - first, 0)), dtype=np.uint32)
    splitting._in_order(codes, first, most, order, moved, np.empty(257, dtype=np.int64))
    assert order.tolist() == np.argsort(codes[first:], kind="stable").tolist()


@given(one_bucket(), st.randoms())
@settings(max_examples=200, deadline=None)
def test_the_split_treats_lists_alike(bucket, random):
    """Whichever value each list is of: the same tuples meet, also where tuples and schemes are
    equally good.
    """
    s, length, codes, real = bucket
    lists = random.sample(range(s), s)
    rows = np.concatenate([np.arange(j * length, (j + 1) * length) for j in lists])

    found = []
    for slots in (np.arange(s * length), rows):
        groups = run_split(s, length, codes[slots], real[slots])
        found.append({frozenset(slots[groups == g].tolist()) for g in range(length)})

    assert found[0] == found[1]


@given(one_bucket())
@settings(max_examples=200, deadline=None)
def test_the_first_split_is_a_best_scheme(bucket):
    """For two tuples per value the groups are exactly one scheme, and it costs what the best scheme
    costs.
    """
    s, length, codes, real = bucket
    if length != 2:
        codes, real, length = np.vstack([codes[:1]] * (2 * s)), np.array([True] * (2 * s)), 2

    groups = run_split(s, length, codes, real)

    lists, positions = lists_of(s, length, codes, real)
    assert naive.total_perimeter(
        [np.flatnonzero(groups == g) for g in range(2)], positions
    ) == naive.best_scheme(lists, positions, codes.shape[1])


@given(st.lists(st.integers(0, 9)))
@settings(deadline=None)  # the first call compiles
def test_rows_are_brought_into_the_order_of_their_entries(codes):
    """As a stable sort does, those of one entry as they stand."""
    rows = np.arange(len(codes)) * 7
    entries, of = kernels.by_entry(np.array(codes, dtype=np.int64), rows, 10)
    assert entries.tolist() == sorted(codes)
    assert of.tolist() == sorted(rows.tolist(), key=lambda row: codes[row // 7])


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.data())
@settings(deadline=None)  # the first call compiles
def test_the_first_rows_of_each_value_are_taken(codes, data):
    """As they stand, so many as the entries of a value ask for, the first entry first; all others
    stay in order.
    """
    rows = data.draw(st.permutations(range(len(codes))))
    arrays = np.array(codes), np.array(rows)
    assert kernels.counted(*arrays, 6).tolist() == [Counter(codes)[code] for code in range(6)]
    values = data.draw(st.lists(st.integers(0, 5), max_size=8))  # of the entries
    some = data.draw(st.permutations(range(len(values))))
    left, expected = {v: [row for row in rows if codes[row] == v] for v in range(6)}, {}
    counts = []
    for entry in some:
        waiting = left[values[entry]]
        counts.append(data.draw(st.integers(0, len(waiting))))
        expected[entry], left[values[entry]] = waiting[: counts[-1]], waiting[counts[-1] :]

    taken, entries, rest = kernels.take(
        *arrays, *(np.array(each, dtype=np.int64) for each in (some, counts, values)), 6
    )

    by_value = sorted(some, key=values.__getitem__)
    assert list(zip(taken.tolist(), entries.tolist(), strict=True)) == [
        (row, entry) for entry in by_value for row in expected[entry]
    ]
    assert rest.tolist() == [row for row in rows if row not in set(taken.tolist())]


def test_all_values_of_a_signature_are_asked_as_often():
    """The entries of the second and the first of three signatures, in this order."""
    entries, counts = kernels.entries_of(np.array([0, 2, 5, 6]), np.array([1, 0]), np.array([7, 3]))
    assert entries.tolist() == [2, 3, 4, 0, 1]
    assert counts.tolist() == [7, 7, 7, 3, 3]


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(-1, 10))
@settings(deadline=None)  # the first call compiles
def test_rows_are_parted_in_their_order(codes, begins):
    """Those below where the second part begins, and the others."""
    rows = np.arange(len(codes))[::-1].copy()
    first, second = kernels.parted(np.array(codes, dtype=np.int32), rows, begins)
    assert first.tolist() == [row for row in rows if codes[row] < begins]
    assert second.tolist() == [row for row in rows if codes[row] >= begins]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=9))
@settings(deadline=None)  # the first call compiles
def test_a_line_is_halved_where_its_parts_are_most_equal(counts):
    """The first such place, and what the standard deviations of the rows say is won there."""
    positions = np.arange(len(counts)) ** 1.5
    middle, gain = kernels.halved(np.array(counts, dtype=np.int64), positions)
    cuts = range(1, len(counts))
    best = min(cuts, key=lambda at: abs(sum(counts[:at]) - sum(counts[at:])), default=0)
    assert middle == best

    def spread(part):
        there = np.repeat(positions[part], counts[part])
        return len(there) * there.std() if len(there) else 0.0

    parts = spread(slice(None, middle)) + spread(slice(middle, None))
    assert gain == pytest.approx(spread(slice(None)) - parts, abs=1e-9)
