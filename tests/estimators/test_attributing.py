# SPDX-License-Identifier: Apache-2.0
"""How much of what is counted in groups belongs to each kind of row: as plain algebra says of every
correlation, near the truth where groups tell it, and within what is stated.
"""

import math

import numpy as np
import pytest

from phalanx.estimators.attributing import Held, diagonal, learned


def dealt(seed: int, shares: list[float], groups: int = 300, size: int = 4):
    """Groups of so many rows of different kinds, and how many rows of each group are hits."""
    rng = np.random.default_rng(seed)
    kinds = np.concatenate([rng.permutation(len(shares))[:size] for _ in range(groups)])
    group = np.repeat(np.arange(groups), size)
    hit = rng.random(len(kinds)) < np.array(shares)[kinds]
    held = Held(group, kinds, np.ones(len(kinds)), np.full(groups, float(size)))
    return held, np.bincount(group, hit, groups), kinds, hit


def believed(held: Held, hits: np.ndarray, kinds: int):
    return learned([(held, hits)], *diagonal(held.normal(kinds)), kinds)


@pytest.mark.parametrize("seed", range(5))
def test_products_are_of_all_pairs_of_kinds(seed):
    """Over the rows of their group, however many groups are looked at together."""
    held, _, _, _ = dealt(seed, [0.5] * 6)
    table = np.zeros((300, 6))
    for group, kind, count in zip(held.group, held.kind, held.count, strict=True):
        table[group, kind] += count
    assert held.normal(6) == pytest.approx(table.T @ (table / 4))


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_averages_of_what_each_correlation_says(seed):
    """By solving the equations of each as they stand, and weighing them by a normal density."""
    held, hits, _, _ = dealt(seed, [0.1, 0.2, 0.5, 0.5, 0.9], groups=40, size=2)
    table = np.zeros((40, 5))
    np.add.at(table, (held.group, held.kind), 1.0)
    mean, design = hits.sum() / 80, table / math.sqrt(2)
    left = (hits - 2 * mean) / math.sqrt(2)
    likely, shares = [], []
    for correlation in np.linspace(0, 0.995, 40):
        of_kinds = correlation**2 * mean * (1 - mean)
        noise = mean * (1 - mean) - of_kinds
        spread = noise * np.eye(40) + of_kinds * design @ design.T
        inverse = np.linalg.inv(spread)
        likely.append(-0.5 * (np.linalg.slogdet(spread)[1] + left @ inverse @ left))
        shares.append(mean + of_kinds * design.T @ inverse @ left)
    weights = np.exp(0.2 * (np.array(likely) - max(likely)))
    right = weights @ np.array(shares) / weights.sum()
    assert believed(held, hits, 5).share == pytest.approx(right, abs=1e-8)


@pytest.mark.parametrize(
    "shares", [[0.3] * 6, [0, 0, 0.2, 0.4, 1, 1], [0, 0.02, 0.02, 0.02, 0.9, 0]]
)
def test_the_truth_is_within_what_is_stated(shares):
    """Nineteen times of twenty at least, for one kind and for two together; and near it."""
    held_it, off = 0, []
    for seed in range(60):
        held, hits, kinds, hit = dealt(seed, shares)
        learnt = believed(held, hits, 6)
        for chosen in ([seed % 6], [seed % 6, (seed + 1) % 6]):
            some = np.isin(kinds, chosen)
            expected, deviation = learnt.total([(held, hits, some.astype(float))])
            truth = float((hit & some).sum())
            held_it += abs(expected - truth) <= 1.96 * deviation
            off.append(abs(expected - truth) / some.sum())
    assert held_it >= 0.95 * 120
    assert np.mean(off) < 0.06


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_where_all_are_hits_or_none_nothing_is_uncertain(share):
    """Each kind has that share of hits."""
    held, hits, _, _ = dealt(1, [share] * 6)
    learnt = believed(held, hits, 6)
    assert learnt.share.tolist() == [share] * 6
    assert learnt.total([(held, hits, np.ones(len(held.kind)))]) == (hits.sum(), 0.0)


def test_all_kinds_together_have_all_hits():
    """In each group, and for certain."""
    held, hits, _, _ = dealt(3, [0, 0, 0.2, 0.4, 1, 1])
    learnt = believed(held, hits, 6)
    assert np.bincount(held.group, learnt.entries(held, hits)) == pytest.approx(hits)
    expected, deviation = learnt.total([(held, hits, np.ones(len(held.kind)))])
    assert (expected, deviation) == (pytest.approx(hits.sum()), pytest.approx(0, abs=1e-6))
