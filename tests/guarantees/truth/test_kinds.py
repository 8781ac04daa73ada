# SPDX-License-Identifier: Apache-2.0
"""Kinds of persons, and the groups that each may be in."""

import numpy as np
import pytest

from phalanx import arrays
from phalanx.guarantees.truth import kinds as searched
from phalanx.guarantees.truth.kinds import Kinds, Shown


def shown_by_some_groups(rng, d, codes, values):
    """Up to nine groups with boxes of ``d`` attributes, of which some hold nothing; each shows up to
    three values, and one in four may be anybody's.
    """
    g = int(rng.integers(0, 9))
    low = rng.integers(0, codes, (g, d))
    high = low + rng.integers(-1, codes, (g, d))
    cells = sorted({(group, int(v)) for group in range(g) for v in rng.integers(0, values, 3)})
    group, value = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    return Shown(low, high, group, value, rng.random(g) < 1 / 4)


def wrongly_hosted(rng, hosts):
    """Whether ``hosts`` gives another pair than comparing each kind with each group does."""
    n, d, codes, values = (int(rng.integers(low, 5)) for low in (0, 0, 1, 1))
    persons = rng.integers(0, codes, (4 * n, d))
    own = rng.integers(0, values + 1, 4 * n)  # the last one is not shown
    shown = shown_by_some_groups(rng, d, codes, values)
    kinds = Kinds.of(list(persons.T), own, np.ones(len(own), np.int64))
    cells = {*zip(shown.group.tolist(), shown.value.tolist(), strict=True)}
    expected = [
        (kind, group)
        for kind in range(len(kinds.value))
        for group in range(len(shown.low))
        if (shown.low[group] <= kinds.points[kinds.point[kind]]).all()
        and (kinds.points[kinds.point[kind]] <= shown.high[group]).all()
        and (shown.of_anybody[group] or (group, int(kinds.value[kind])) in cells)
    ]
    kind, group = hosts(kinds, shown)
    return sorted(zip(kind.tolist(), group.tolist(), strict=True)) != expected


@pytest.mark.parametrize("few", [0, 64])
@pytest.mark.parametrize("at_once", [1, 5, 1 << 20])
def test_hosts_are_those_of_comparing_all(monkeypatch, few, at_once):
    """By boxes and values together, and by boxes first; some pairs at a time, and all."""
    monkeypatch.setattr(searched, "_FEW", few)
    monkeypatch.setattr(searched, "_AT_ONCE", at_once)
    assert not any(wrongly_hosted(np.random.default_rng(seed), Kinds.hosts) for seed in range(60))


@pytest.mark.parametrize(
    "broken",
    [
        lambda shown: shown._replace(of_anybody=np.zeros_like(shown.of_anybody)),
        lambda shown: shown._replace(of_anybody=np.ones_like(shown.of_anybody)),
        lambda shown: shown._replace(high=shown.high - 1),
        lambda shown: shown._replace(group=shown.group[:0], value=shown.value[:0]),
    ],
    ids=["none is anybody's", "all are", "without the high end", "without values"],
)
def test_other_hosts_are_refused(broken):
    """By the same comparison: what leaves a part of what groups show out is wrong somewhere."""

    def hosts(kinds, shown):
        return kinds.hosts(broken(shown))

    assert any(wrongly_hosted(np.random.default_rng(seed), hosts) for seed in range(60))


@pytest.mark.parametrize("most", [1 << 62, 20])
def test_kinds_are_those_of_numpy(monkeypatch, most):
    """Their rows, order, numbers and first rows, where the number of a kind fits, and where columns
    are numbered anew on the way.
    """
    monkeypatch.setattr(arrays, "_MOST_NUMBERS", most)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 3, (int(rng.integers(0, 40)), 4))
        kinds = Kinds.of(list(rows[:, :-1].T), rows[:, -1], np.ones(len(rows), np.int64))
        different, first, of_row, persons = np.unique(
            rows, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        assert (
            np.column_stack([kinds.points[kinds.point], kinds.value]).tolist() == different.tolist()
        )
        assert kinds.example.tolist() == first.tolist()
        assert kinds.of_row.tolist() == of_row.ravel().tolist()
        assert kinds.persons.tolist() == persons.tolist()
