"""The kernels of grouping against membership disclosure do what their slow twins do."""

from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from naive import membership as naive
from phalanx.kernels import membership as kernels

ls = st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5, 2), Fraction(3)])


def ints(values):
    return np.array(values, dtype=np.int64)


@st.composite
def eligible_rows(draw):
    """Rows' cells, the q of each cell, and an l that they keep."""
    q_of_cell = sorted(draw(st.lists(st.integers(0, 2), min_size=1, max_size=8)))
    cells = draw(st.lists(st.integers(0, len(q_of_cell) - 1), min_size=1, max_size=40))
    l = draw(ls)
    return [x for x in cells if naive.keeps([y for y in cells if q_of_cell[y] == q_of_cell[x]], q_of_cell, l)], q_of_cell, l


@given(eligible_rows(), st.floats(0, 1))
@settings(deadline=None)  # the first call compiles
def test_parting_cut_is_its_twin_and_keeps_l(rows, share):
    """The same rows go left, and both sides keep l, whatever it is."""
    cells, q_of_cell, l = rows
    assume(cells)
    middle = int(share * len(cells))

    left = kernels.parting_cut(ints(cells), ints(q_of_cell), middle, l.numerator, l.denominator).tolist()

    assert left == naive.parting_cut(cells, q_of_cell, middle, l)
    assert all(naive.keeps([x for x, goes in zip(cells, left, strict=True) if goes is side], q_of_cell, l) for side in (True, False))


@given(eligible_rows())
@settings(deadline=None)  # the first call compiles
def test_parting_cut_meets_a_middle_that_every_q_can_bear(rows):
    """Where l asks for nothing, exactly the middle goes left."""
    cells, q_of_cell, _ = rows
    assume(cells)
    for middle in range(len(cells) + 1):
        assert kernels.parting_cut(ints(cells), ints(q_of_cell), middle, 1, 1).sum() == middle


def test_parting_cut_parts_values():
    """Two values lie left and two right, mixed a little: after the cut no side shares a value with the other."""
    cells = ints([0, 1, 0, 2, 1, 0, 1, 3, 2, 3, 2, 3])

    left = kernels.parting_cut(cells, ints([0, 0, 0, 0]), 6, 2, 1)

    assert set(cells[left].tolist()) == {0, 1}
    assert set(cells[~left].tolist()) == {2, 3}


@given(eligible_rows(), st.integers(1, 6), st.integers(0, 3), st.randoms(use_true_random=False))
@settings(deadline=None)  # the first call compiles
def test_parting_cuts_are_their_twin(rows, least, more, random):
    """The same buckets in the same order; none below the least size, but for a table that is."""
    cells, q_of_cell, l = rows
    assume(cells)
    n = len(cells)
    positions = [[random.randrange(4) for _ in range(n)], [1000 * random.randrange(2) for _ in range(n)]]  # so that no variances tie by rounding
    order = random.sample(range(n), n)

    bucket = kernels.parting_cuts(np.array(positions, float), ints(order), ints(cells), ints(q_of_cell), least, least + more, l.numerator, l.denominator)

    found = [np.flatnonzero(bucket == b).tolist() for b in range(int(bucket.max()) + 1)]
    assert found == [sorted(rows_of) for rows_of in naive.parting_cuts(positions, order, cells, q_of_cell, least, least + more, l)]
    assert sorted(i for rows_of in found for i in rows_of) == list(range(n))
    assert all(len(rows_of) >= min(least, n) and naive.keeps([cells[i] for i in rows_of], q_of_cell, l) for rows_of in found)


@st.composite
def bucketed(draw):
    """A small table in buckets: bucket, others, cells, attributes' values numbered through."""
    n = draw(st.integers(4, 14))
    few = st.integers(0, 2)
    bucket, others, cells = (draw(st.lists(few, min_size=n, max_size=n)) for _ in range(3))
    bucket = np.unique(bucket, return_inverse=True)[1].tolist()
    codes = [(w, 3 + w % 2, 5 + x) for w, x in zip(others, cells, strict=True)]  # others tell the attributes of all other columns
    return bucket, others, cells, codes


def laid_out(bucket, cells):
    """What kernels take besides: member, slot, sizes, weights, and the cells of each bucket."""
    sizes = np.bincount(bucket)
    member, slot = np.zeros((len(sizes), sizes.max()), dtype=np.int64), np.zeros(len(bucket), dtype=np.int64)
    filled = [0] * len(sizes)
    for i, b in enumerate(bucket):
        member[b, filled[b]], slot[i] = i, filled[b]
        filled[b] += 1
    held = [[x for x, c in zip(cells, bucket, strict=True) if c == b] for b in range(len(sizes))]
    entries = [sorted((x, of_b.count(x)) for x in set(of_b)) for of_b in held]
    begins = np.cumsum([0, *map(len, entries)])
    flat = ints([entry for of_b in entries for entry in of_b])
    return member, slot, sizes.astype(np.int64), ints([7 + b for b in range(len(sizes))]), begins.astype(np.int64), flat[:, 0].copy(), flat[:, 1].copy()


@given(bucketed())
@settings(deadline=None)  # the first call compiles
def test_candidates_and_their_classes_are_counted_one_by_one(table):
    """Degrees, matches and originals as the twin finds them, and as many in every class."""
    bucket, others, cells, _ = table
    member, _, sizes, weights, *entries = laid_out(bucket, cells)

    degrees, matches = kernels.candidates(member, sizes, weights, ints(others), ints(cells), *entries, 3, 3)

    expected = naive.candidates(bucket, weights.tolist(), others, cells)
    found = {(key // 3, key % 3): [int(degrees[key]), int(matches[key]) >> 1, bool(matches[key] & 1)] for key in range(9) if matches[key] > 1}
    assert found == expected
    assert kernels.histograms(degrees, matches).tolist() == naive.histograms(expected, kernels.CLASSES)


@given(st.integers(0, 10**12))
@settings(deadline=None)  # the first call compiles
def test_classes_of_degrees(degree):
    """Classes are whole parts of roots, in exact arithmetic where floating point is exact enough."""
    assert abs(kernels.degree_class(degree) - naive.degree_class(degree, kernels.CLASSES)) <= (0 if degree < 2**40 else 1)


@given(bucketed(), st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)  # the twin computes the whole loss twice for every pair
def test_swaps_are_those_that_lower_the_loss(table, seed):
    """The same pairs change places as by computing the loss anew each time, and all that is kept is as computed anew."""
    bucket, others, cells, codes = table
    member, slot, sizes, weights, *entries = laid_out(bucket, cells)
    alike = [(i, j) for i in range(len(cells)) for j in range(len(cells)) if cells[i] == cells[j]]
    rng = np.random.default_rng(seed)
    pairs = [alike[k] for k in rng.integers(len(alike), size=12)]
    by_degree, by_matches = rng.integers(-64, 64, size=(2, 2, kernels.CLASSES)) / 64
    prices = np.zeros((8, 8))
    for y in range(8):
        for z in range(y):
            if (y < 3, 3 <= y < 5) != (z < 3, 3 <= z < 5):
                prices[y, z] = prices[z, y] = rng.integers(16) / 16
    expected, count = naive.swaps(pairs, bucket, weights.tolist(), others, cells, by_degree.tolist(), by_matches.tolist(), codes, prices.tolist())
    counts = np.array([[sum(y in row for row, c in zip(codes, bucket, strict=True) if c == b) for y in range(8)] for b in range(len(sizes))], dtype=np.float64)
    together = np.array([[sum(y in row and z in row for row in codes) for z in range(8)] for y in range(8)], dtype=np.float64)
    errors = counts.T @ (counts / sizes[:, None]) - together
    degrees, matches = kernels.candidates(member, sizes, weights, ints(others), ints(cells), *entries, 3, 3)
    found = ints(bucket)
    first, second = ints(pairs).T.copy()

    done = kernels.swaps(
        *(first, second, found, member, slot, sizes, weights, ints(others), *entries, 3),
        *(degrees, matches, by_degree, by_matches, ints(codes), counts, errors, prices),
    )

    assert (found.tolist(), done) == (expected, count)
    assert all(member[found[i], slot[i]] == i for i in range(len(found)))
    anew = kernels.candidates(member, sizes, weights, ints(others), ints(cells), *entries, 3, 3)
    assert (degrees.tolist(), matches.tolist()) == (anew[0].tolist(), anew[1].tolist())
    recounted = np.array([[sum(y in row for row, c in zip(codes, expected, strict=True) if c == b) for y in range(8)] for b in range(len(sizes))])
    assert (counts == recounted).all()
    np.testing.assert_allclose(errors, recounted.T @ (recounted / sizes[:, None]) - together, atol=1e-9)
