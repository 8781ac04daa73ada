# SPDX-License-Identifier: Apache-2.0
"""Whose row is whose: knots, sums person by person, and beliefs, beside going through all
assignments.
"""

from fractions import Fraction

import numpy as np
import pytest

from naive import omniscient as naive
from phalanx.adversaries.records import assignments


def likelihood(rng, m, share=0.5):
    """A table of m persons and rows with cells of 0 among them, the own ones above 0."""
    table = np.where(rng.random((m, m)) < share, rng.integers(1, 20, (m, m)), 0)
    table[np.arange(m), np.arange(m)] = rng.integers(1, 20, m)
    return table


def pairs_of(table):
    person, row = np.nonzero(table)
    return assignments.Pairs.of(person, row, np.log(table[person, row]), len(table))


def as_table(believed):
    found = np.zeros((len(believed.pairs.persons),) * 2)
    found[believed.pairs.person, believed.pairs.row] = believed.probability
    return found


def sinkhorn(table):
    """Rows and columns scaled to sums of 1 in turns."""
    scaled = table.astype(float)
    for _ in range(500):
        scaled /= scaled.sum(axis=1, keepdims=True)
        scaled /= scaled.sum(axis=0, keepdims=True)
    return scaled


@pytest.mark.parametrize("seed", range(100))
def test_sums_over_all_assignments(seed):
    """Every probability is that of going through all assignments, and a pair that is in none falls
    away.
    """
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 7))
    table = likelihood(rng, m, rng.random())
    expected = naive.posterior([[Fraction(int(x)) for x in row] for row in table])
    found = assignments.posterior(pairs_of(table))

    assert as_table(found) == pytest.approx(np.array(expected, dtype=float))
    assert found.exact.all()
    assert (as_table(found) > 0).tolist() == [[p > 0 for p in row] for row in expected]


def test_a_wrong_sum_is_seen(monkeypatch):
    """The comparison above refuses rows and columns that are only scaled: for two persons this
    takes the root of the odds.
    """
    table = np.array([[9, 1], [1, 9]])
    monkeypatch.setattr(
        assignments, "person_by_person", lambda logs, _: (sinkhorn(np.exp(logs)).ravel(), 0)
    )

    assert as_table(assignments.posterior(pairs_of(table)))[0, 0] == pytest.approx(9 / 10)
    assert float(
        naive.posterior([[Fraction(int(x)) for x in row] for row in table])[0][0]
    ) == pytest.approx(81 / 82)


def test_knots():
    """Persons are in one knot where rows may go round among them, and in different ones where they
    may go one way only.
    """
    ring = np.eye(6, dtype=int)
    ring[0, 1] = ring[1, 2] = ring[2, 0] = ring[2, 3] = ring[4, 5] = ring[5, 4] = 1
    knot = assignments.knots(pairs_of(ring))

    assert knot[0] == knot[1] == knot[2]
    assert knot[4] == knot[5]
    assert len(set(knot.tolist())) == 3


@pytest.mark.parametrize("seed", range(30))
def test_knots_are_those_of_all_ways(seed):
    """Two are in one knot just where there is a way from each to the other."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 15))
    table = likelihood(rng, m, 2 / m * rng.random())
    ways = table > 0
    for _ in range(m):
        ways = ways @ ways
    knot = assignments.knots(pairs_of(table))

    assert (knot[:, None] == knot[None, :]).tolist() == (ways & ways.T).tolist()


def ring(m):
    """Persons each of whom may have published the own row, or the next one's."""
    row = np.stack([np.arange(m), (np.arange(m) + 1) % m], axis=1).ravel()
    return assignments.Pairs.of(np.repeat(np.arange(m), 2), row, np.zeros(2 * m), m)


def test_long_ways():
    """A ring of many thousand persons is one knot, found without recursion; of one that can be
    summed, all stay or all move on; a larger one is believed.
    """
    assert assignments.knots(ring(50_000)).max() == 0
    small, large = (assignments.posterior(ring(m)) for m in (400, 600))

    assert (small.exact.all(), large.exact.any()) == (True, False)
    assert small.probability == pytest.approx(np.full(800, 0.5))
    assert large.probability == pytest.approx(np.full(1200, 0.5))


@pytest.mark.parametrize("apart", [100, 300])
def test_tiny_probabilities(apart):
    """Likelihoods far below the smallest float give the same probabilities."""
    rng = np.random.default_rng(8)
    pairs = pairs_of(likelihood(rng, 6))
    far = assignments.Pairs.of(
        pairs.person, pairs.row, pairs.logs - apart * (10 + pairs.person) - 100 * pairs.row, 6
    )
    found = assignments.posterior(far)

    assert found.exact.all()
    assert as_table(found) == pytest.approx(as_table(assignments.posterior(pairs)))


def test_too_far_apart_for_floating_point():
    """Where nothing is left of a knot's sums they are believed, and not taken for 0."""
    logs = np.array([[-4000.0, -4000.0], [-4000.0, -4000.0]])

    assert assignments.person_by_person(logs, 100) is None


def test_how_far_beliefs_are_off():
    """On knots of 10 to 14, sparse as those of real releases, beliefs are off by less than 0.06 on
    average and hardly to one side; scaling alone is worse.
    """
    rng = np.random.default_rng(5)
    exact, believed, scaled = [], [], []
    for _ in range(60):
        m = int(rng.integers(10, 15))
        table = np.where(likelihood(rng, m, 0.25) > 0, np.exp(rng.normal(size=(m, m))), 0)
        pairs = pairs_of(table)
        knot = assignments.knots(pairs)
        sums, guess = (assignments.posterior(pairs, most) for most in (assignments.MOST_STATES, 0))
        assert sums.exact.all()
        assert (guess.exact == (np.bincount(knot)[knot] == 1)).all()
        assert np.bincount(guess.pairs.person, weights=guess.probability) == pytest.approx(
            np.ones(m)
        )
        own = np.arange(m)
        exact.append(as_table(sums)[own, own])
        believed.append(as_table(guess)[own, own])
        scaled.append(sinkhorn(np.where(knot[:, None] == knot[None, :], table, 0))[own, own])
    exact, believed, scaled = map(np.concatenate, (exact, believed, scaled))

    assert 0 < np.abs(believed - exact).mean() < 0.06
    assert abs((believed - exact).mean()) < 0.01
    assert np.abs(scaled - exact).mean() > 1.5 * np.abs(believed - exact).mean()


def test_what_takes_too_many_states_is_believed():
    """Of two knots the one that takes more states than may be is believed, the other summed; all
    persons alike are believed right.
    """
    table = np.zeros((16, 16), dtype=int)
    table[:2, :2] = [[3, 1], [1, 3]]
    table[2:, 2:] = 1
    found = assignments.posterior(pairs_of(table), 100)

    assert found.exact.tolist() == [True] * 2 + [False] * 14
    assert as_table(found)[0, 0] == pytest.approx(9 / 10)
    assert as_table(found)[2:, 2:] == pytest.approx(np.full((14, 14), 1 / 14))


def test_many_open_rows():
    """Where more rows are open at once than a number has bits nothing is summed, whatever is asked
    for.
    """
    assert assignments.person_by_person(np.zeros((63, 63)), 2**62) is None


def test_a_budget_is_spent_on_small_knots_first():
    """Two knots of two and one of five: what is left for the large one does not suffice, its
    persons are believed and said to be, and all others are exact as without a budget.
    """
    rng = np.random.default_rng(1)
    table = np.zeros((9, 9), dtype=int)
    for first, last in ((0, 2), (2, 4), (4, 9)):
        table[first:last, first:last] = rng.integers(1, 20, (last - first, last - first))
    pairs = pairs_of(table)
    free, bounded, nothing = (assignments.posterior(pairs, work=work) for work in (None, 20, 1))
    assert free.exact.all()
    assert bounded.exact.tolist() == [True] * 4 + [False] * 5
    assert as_table(bounded)[:4] == pytest.approx(as_table(free)[:4])
    assert not nothing.exact[4:].any() and as_table(nothing).sum(axis=1) == pytest.approx(1)


def alike(rng):
    """Kinds of persons and of rows with how many there are of each, and the table of all persons and
    rows that they stand for; row i is the one of person i.
    """
    kinds, m = int(rng.integers(1, 5)), int(rng.integers(2, 10))
    weight = likelihood(rng, kinds, rng.random())
    person, row = np.sort(rng.integers(0, kinds, (2, m)))
    weight[person, row] = rng.integers(1, 20, m)
    seen = [np.unique(side, return_inverse=True) for side in (person, row)]
    (persons, of), (rows, shows) = seen
    weight = weight[persons][:, rows]
    at, where = np.nonzero(weight)
    own = np.unique(of * len(rows) + shows)
    pairs = assignments.Pairs.of_kinds(
        at,
        where,
        np.log(weight[at, where]),
        (np.bincount(of), np.bincount(shows)),
        (own // len(rows), own % len(rows)),
    )
    return pairs, of, shows, weight[of][:, shows]


@pytest.mark.parametrize("most", [assignments.MOST_STATES, 0])
@pytest.mark.parametrize("seed", range(60))
def test_what_is_so_of_one_is_so_of_all_alike(seed, most):
    """Kinds of persons and rows get the probabilities that each of them gets alone, summed or
    believed, and are in the same knots.
    """
    kinds, of, shows, table = alike(np.random.default_rng(seed))
    single = pairs_of(table)
    found, expected = (assignments.posterior(pairs, most) for pairs in (kinds, single))
    by_kind = np.zeros((len(kinds.persons), len(kinds.rows)))
    by_kind[found.pairs.person, found.pairs.row] = found.probability
    assert by_kind[of][:, shows] == pytest.approx(as_table(expected), abs=1e-7)
    assert found.exact[of].tolist() == expected.exact.tolist()
    knot, of_single = assignments.knots(kinds)[of], assignments.knots(single)
    assert (knot[:, None] == knot).tolist() == (of_single[:, None] == of_single).tolist()


def test_many_alike_are_few_kinds():
    """A million persons of three kinds: no time and no memory follows how many they are, and each
    row is equally likely among those that may be a person's.
    """
    many = np.array([500_000, 300_000, 200_000])
    at, where = (each.ravel() for each in np.indices((3, 3)))
    each = np.arange(3)
    pairs = assignments.Pairs.of_kinds(at, where, np.zeros(9), (many, many), (each, each))
    found = assignments.posterior(pairs)
    assert not found.exact.any()
    assert found.probability == pytest.approx(np.full(9, 1e-6))
