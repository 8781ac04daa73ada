"""Grouping against membership disclosure: who is in the table stands out less than in random buckets or boxes, and every bucket keeps l."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.adversaries import matching
from phalanx.kernels.cells import arrange
from phalanx.methods import membership
from phalanx.methods.dealing import at_random
from phalanx.methods.tuples import Coded, numbered
from phalanx.randomness import Randomness


def table(n, seed):
    """A table about people: age, schooling and marriage in one column, sex and job in the other; jobs go with schooling, and frequent rows are many."""
    rng = np.random.default_rng(seed)
    age, schooling, married = (50 * rng.beta(2, 3, n)).astype(np.int64), rng.binomial(8, 0.4, n), rng.integers(0, 3, n)
    sex = rng.integers(0, 2, n)
    job = np.clip(schooling + rng.geometric(0.2, n) - 1, 0, 15)
    attributes = np.stack([age, schooling, married, sex])
    return Coded(np.stack([numbered([age, schooling, married]), sex.astype(np.int32)]), job.astype(np.int32)), attributes, [0, 0, 0, 1]


def eligible_table(n, seed, l):
    """Its rows that may stay."""
    coded, attributes, column_of = table(n, seed)
    stays = membership.eligible(coded.values[-1], coded.sensitive, l, Randomness.seeded(seed).stream("hold back"))
    return Coded(np.stack([numbered([coded.values[0][stays]]), coded.values[1][stays]]), coded.sensitive[stays]), attributes[:, stays], column_of


def keeps(bucket, coded, l):
    """Whether every bucket keeps l by itself, counted one by one."""
    for b in set(bucket.tolist()):
        q, s = coded.values[-1][bucket == b].tolist(), coded.sensitive[bucket == b].tolist()
        pairs = list(zip(q, s, strict=True))
        if any(pairs.count(pair) * l > q.count(pair[0]) for pair in set(pairs)):
            return False
    return True


def boxes(attributes, size):
    """Buckets of a k-d tree over all attributes."""
    positions = np.ascontiguousarray((attributes / attributes.max(axis=1, keepdims=True)).T)
    order, bounds = np.arange(attributes.shape[1]), np.linspace(0, attributes.shape[1], attributes.shape[1] // size + 1).astype(np.int64)
    arrange(positions, order, bounds, 0, len(bounds) - 1)
    bucket = np.empty(len(order), dtype=np.int64)
    bucket[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return bucket


def whole(coded):
    """Every row's value in each column, the sensitive attribute among them, shape (c, n)."""
    return np.concatenate([coded.values[:-1], coded.cells.of_row[None, :]]).astype(np.int64)


def ranking(bucket, coded):
    """What both adversaries make of buckets."""
    columns = [matching.Column.of_rows(bucket, values) for values in whole(coded)]
    return matching.rank(columns, np.bincount(bucket), np.unique(whole(coded).T, axis=0), Randomness.seeded(0).stream("rank"))


def counting_error(bucket, coded, attributes):
    """How far estimated counts of each attribute with the sensitive value are from the true ones, as a share of rows."""
    total = 0.0
    for codes in attributes[:-1]:
        of_attribute, of_value = np.zeros((bucket.max() + 1, codes.max() + 1)), np.zeros((bucket.max() + 1, coded.sensitive.max() + 1))
        np.add.at(of_attribute, (bucket, codes), 1)
        np.add.at(of_value, (bucket, coded.sensitive), 1)
        true = np.zeros((codes.max() + 1, coded.sensitive.max() + 1))
        np.add.at(true, (codes, coded.sensitive), 1)
        total += np.abs(of_attribute.T @ (of_value / np.bincount(bucket)[:, None]) - true).sum() / len(bucket)
    return total


@given(st.integers(0, 10**6), st.integers(1, 400), st.sampled_from([Fraction(1), Fraction(2), Fraction(7, 3), Fraction(4)]), st.integers(5, 60))
@settings(deadline=None, max_examples=40)  # the first call compiles
def test_buckets_keep_l_and_their_size(seed, n, l, size):
    """Every row is in one bucket of at least the size asked for, and each bucket keeps l by itself, fractions too."""
    coded, attributes, column_of = eligible_table(n, seed, l)
    if coded.rows == 0:
        return

    bucket = membership.group(coded, attributes, column_of, bucket_size=size, l=l, stream=Randomness.seeded(seed).stream("deal"), rounds=2)

    sizes = np.bincount(bucket)
    assert bucket.shape == (coded.rows,)
    assert sizes.min() >= min(size, coded.rows)
    assert keeps(bucket, coded, l)


@pytest.mark.parametrize("l", [Fraction(2), Fraction(5, 2), Fraction(5)])
def test_buckets_are_at_most_half_as_large_again(l):
    """Where buckets have room for many times l rows, none exceeds one and a half times the size asked for."""
    coded, attributes, column_of = eligible_table(5000, 3, l)

    bucket = membership.group(coded, attributes, column_of, bucket_size=100, l=l, stream=Randomness.seeded(1).stream("deal"), rounds=1)

    sizes = np.bincount(bucket)
    assert 100 <= sizes.min() <= sizes.max() <= 150


def test_the_test_of_l_sees_a_bucket_that_breaks_it():
    """Broken twin: a row of a frequent value in the place of another one is seen."""
    coded, attributes, column_of = eligible_table(2000, 5, Fraction(4))
    bucket = membership.group(coded, attributes, column_of, bucket_size=50, l=Fraction(4), stream=Randomness.seeded(1).stream("deal"), rounds=1)
    alike = np.flatnonzero((coded.values[-1] == coded.values[-1][0]) & (coded.sensitive == coded.sensitive[0]))
    bucket[alike] = bucket[0]

    assert not keeps(bucket, coded, Fraction(4))


def test_swaps_leave_sizes_and_the_sensitive_column_as_they_were():
    """Whatever a promise says about the sensitive column of buckets, it says before and after."""
    coded, attributes, column_of = table(3000, 8)
    before = at_random(coded.rows, 70, Randomness.seeded(2).stream("random"))

    after = membership.swapped(before, coded, attributes, column_of, stream=Randomness.seeded(2).stream("swaps"), rounds=3)

    def held(bucket):
        return np.unique(np.stack([bucket, coded.cells.of_row]), axis=1, return_counts=True)

    assert (before != after).any()
    for one, other in zip(held(before), held(after), strict=True):
        assert (one == other).all()


def test_originals_stand_out_less_than_in_random_buckets_and_boxes():
    """Both adversaries do worse than against random buckets, and the better one worse than against boxes; counts across columns stay closer than in random buckets."""
    coded, attributes, column_of = eligible_table(8000, 4, Fraction(4))
    stream = Randomness.seeded(6).stream("deal")

    parted = membership.parted(coded.cells, attributes, bucket_size=100, l=Fraction(4), stream=stream)
    swapped = membership.swapped(parted, coded, attributes, column_of, stream=stream, rounds=6)

    random, boxed = at_random(coded.rows, 110, stream), boxes(attributes, 110)
    ours, first, theirs, in_boxes = (ranking(bucket, coded) for bucket in (swapped, parted, random, boxed))
    assert max(ours.by_degree.high, ours.by_number.high) <= 0.7
    assert ours.by_degree.high < first.by_degree.low < theirs.by_degree.low
    assert ours.by_number.high < first.by_number.low < theirs.by_number.low
    assert max(ours.by_degree.high, ours.by_number.high) < max(in_boxes.by_degree.low, in_boxes.by_number.low)
    assert counting_error(swapped, coded, attributes) < counting_error(parted, coded, attributes) < counting_error(random, coded, attributes)


def test_counts_across_columns_weigh_beside_the_adversaries(monkeypatch):
    """Where the adversaries weigh a thousand times as much, they see less, and counts are further off."""
    coded, attributes, column_of = eligible_table(8000, 4, Fraction(4))
    parted = membership.parted(coded.cells, attributes, bucket_size=100, l=Fraction(4), stream=Randomness.seeded(6).stream("deal"))

    def swapped():
        return membership.swapped(parted, coded, attributes, column_of, stream=Randomness.seeded(6).stream("swaps"), rounds=6)

    weighed = swapped()
    monkeypatch.setattr(membership, "_WEIGHT", 1000 * membership._WEIGHT)
    hidden = swapped()

    assert counting_error(weighed, coded, attributes) < 0.9 * counting_error(hidden, coded, attributes)
    assert ranking(hidden, coded).by_degree.area < ranking(weighed, coded).by_degree.area


def test_the_same_stream_makes_the_same_buckets():
    """All randomness comes from the stream."""
    coded, attributes, column_of = eligible_table(1500, 4, Fraction(3))

    one, again, other = (
        membership.group(coded, attributes, column_of, bucket_size=40, l=Fraction(3), stream=Randomness.seeded(seed).stream("deal"), rounds=2)
        for seed in (1, 1, 2)
    )

    assert (one == again).all()
    assert (one != other).any()


def test_large_tables_are_swapped_in_blocks(monkeypatch):
    """Where all candidates do not fit into one table, runs of buckets are swapped by themselves, and still lower both adversaries' area."""
    coded, attributes, column_of = eligible_table(6000, 9, Fraction(4))
    stream = Randomness.seeded(6).stream("deal")
    parted = membership.parted(coded.cells, attributes, bucket_size=60, l=Fraction(4), stream=stream)
    monkeypatch.setattr(membership, "_CANDIDATES", 1 << 13)

    swapped = membership.swapped(parted, coded, attributes, column_of, stream=stream, rounds=6)

    assert (np.bincount(swapped) == np.bincount(parted)).all()
    before, after = ranking(parted, coded), ranking(swapped, coded)
    assert after.by_degree.area < before.by_degree.area
    assert after.by_number.area < before.by_number.area


@pytest.mark.parametrize("columns", [1, 3])
def test_swaps_are_for_two_columns(columns):
    """Tables of one column or of three are cut, keep l, and nobody changes places afterwards."""
    coded, attributes, _ = eligible_table(900, 2, Fraction(3))
    values = [*attributes[: columns - 1], coded.values[-1]]
    several = Coded(np.stack(values).astype(np.int32), coded.sensitive)
    column_of = [0, *[columns - 2] * 2, columns - 1] if columns > 1 else [0] * 4

    about, l = Randomness.seeded(6), Fraction(3)

    bucket = membership.group(several, attributes, column_of, bucket_size=50, l=l, stream=about.stream("deal"))

    assert keeps(bucket, several, l)
    assert (bucket == membership.parted(several.cells, attributes, bucket_size=50, l=l, stream=about.stream("deal"))).all()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=40), st.sampled_from([1, 2, 3, Fraction(5, 2)]))
@settings(deadline=None)
def test_as_few_rows_as_possible_are_held_back(rows, l):
    """The rest keeps l, and letting any value have one more row, or every q all that it can, keeps no more."""
    q, s = np.array(rows).T
    stays = membership.eligible(q, s, l, Randomness.seeded(1).stream("hold back"))

    for one in set(q.tolist()):
        counts = np.bincount(s[q == one])
        best = max(sum(min(int(n), cap) for n in counts) for cap in range(len(rows) + 1) if sum(min(int(n), cap) for n in counts) >= l * min(cap, counts.max()))
        left = np.bincount(s[stays & (q == one)], minlength=1)
        assert left.sum() == best
        assert l * left.max() <= left.sum()


def test_a_table_that_does_not_keep_l_is_refused():
    """A value that stands too often in the whole table cannot be covered."""
    coded, attributes, _ = table(500, 1)
    with pytest.raises(ValueError, match="more than 1/30"):
        membership.parted(coded.cells, attributes, bucket_size=50, l=Fraction(30), stream=Randomness.seeded(1).stream("deal"))
