# SPDX-License-Identifier: Apache-2.0
"""The kernels that group under demands and count exposures, against slow twins in fractions and
dictionaries.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import exposures as naive
from naive import grown_groups as naive_groups
from phalanx.methods.global_guarantee import exposures
from phalanx.methods.global_guarantee.exposures import (
    TIMES,
    Demands,
    counted,
    hosts_of,
    least_survival,
)
from phalanx.methods.global_guarantee.grouping import Crowd, by_demand, cut, deal, grow, join
from phalanx.methods.global_guarantee.kernels import groups as kernels
from phalanx.methods.global_guarantee.kernels.exposures import Pairs, exposed_before, left_of
from phalanx.methods.global_guarantee.protected import Protected
from phalanx.methods.mondrian.kernels import cells
from phalanx.release.evidence.exposures import SCALE, Exposures
from support.statistics_file import StatisticsFile, everyone


@st.composite
def crowds(draw):
    """Up to 60 rows on a small grid, up to four values of which rows hold none, one or several, and
    demands that differ by row.
    """
    n, d, v = draw(st.integers(1, 60)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.0, 0.05, 0.2, 0.6]))
    rows = [
        sorted(rng.choice(v, rng.integers(1, v + 1), replace=False).tolist())
        if rng.random() < share
        else []
        for _ in range(n)
    ]
    base = rng.choice([1.0, 2.0, 3.3, 5.0], v)
    own = [  # who was exposed never demands less than who was not
        {
            s: max(float(rng.choice([2.0, 3.5, 8.0, np.inf])), float(base[s]))
            for s in range(v)
            if rng.random() < 0.2
        }
        for _ in range(n)
    ]
    starts = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
    held = Protected(
        pl.Series(range(v)),
        np.zeros(v, dtype=bool),
        starts,
        np.array([s for r in rows for s in r], dtype=np.int32),
    )
    histories = own[: draw(st.integers(1, n))]  # rows with one demand the same
    history = rng.integers(0, len(histories), n).astype(np.int32)
    own = [histories[i] for i in history]
    over = np.concatenate([[0], np.cumsum([len(o) for o in histories])]).astype(np.int64)
    demands = Demands(
        base,
        history,
        over,
        np.array([s for o in histories for s in sorted(o)], dtype=np.int32),
        np.array([o[s] for o in histories for s in sorted(o)], dtype=np.float32),
    )
    crowd = Crowd(
        rng.integers(0, 5, (n, d)) / 4,
        held,
        demands,
        n,
        draw(st.integers(1, 4)),
        rng.permutation(n),
    )
    return crowd, rows, own


def plain(given_):
    """The same as lists and fractions: positions, values, demands by row and value, and order."""
    crowd, rows, own = given_
    asked = [
        {s: own[i].get(s, crowd.demands.base[s]) for s in range(len(crowd.demands.base))}
        for i in range(crowd.rows)
    ]
    return crowd.positions.tolist(), rows, asked, crowd.order.tolist()


def broken(crowd, rows, own, members):
    """A value of which a group of these members holds too much for one of them, or None; the
    obvious way.
    """
    for value in range(len(crowd.demands.base)):
        count = sum(value in rows[m] for m in members)
        for m in members:
            if (
                count
                and Fraction(len(members), count)
                < Fraction(own[m].get(value, crowd.demands.base[value]))
                if own[m].get(value) != np.inf
                else count
            ):
                return value
    return None


def groups_of(group):
    return [np.flatnonzero(group == name).tolist() for name in np.unique(group[group >= 0])]


@given(crowds())
@settings(max_examples=150, deadline=None)
def test_grown_groups_meet_every_demand(given_):
    """Every grown group is large enough for every member and value; only rows that hold a value are
    left without one.
    """
    crowd, rows, own = given_
    group = np.full(crowd.rows, kernels.FREE, dtype=np.int64)
    lonely = grow(crowd, crowd.order, crowd.seeds, group)
    for members in groups_of(group):
        assert len(members) >= crowd.least
        assert broken(crowd, rows, own, members) is None
        assert any(rows[m] for m in members)
    assert sorted(lonely.tolist()) == [i for i in range(crowd.rows) if rows[i] and group[i] < 0]


@given(crowds())
@settings(max_examples=150, deadline=None)
def test_cut_and_joined_groups_meet_every_demand(given_):
    """So do balanced groups, of which there are none only where all rows together cannot be one,
    and groups that rows join afterwards.
    """
    crowd, rows, own = given_
    group = np.full(crowd.rows, kernels.FREE, dtype=np.int64)
    some = crowd.order[: 1 + crowd.rows // 2]
    done = cut(crowd, some, group)
    assert done == (len(some) >= crowd.least and broken(crowd, rows, own, some) is None)
    assert (group[some] >= 0).all() == done
    slow = naive_groups.join(*plain(given_), group.tolist())
    left = join(crowd, crowd.free(group), group)
    assert group.tolist() == slow
    assert sorted(left.tolist()) == np.flatnonzero(group < 0).tolist()
    found = groups_of(group)
    for members in found:
        assert len(members) >= crowd.least
        assert broken(crowd, rows, own, members) is None
    for row in np.flatnonzero(group < 0):
        assert all(broken(crowd, rows, own, [*members, int(row)]) is not None for members in found)


@given(st.lists(st.floats(2, 30), min_size=1, max_size=200), st.integers(0, 2**32 - 1))
def test_classes_of_demand(highest, seed):
    """Everybody is in one class; those of a class demand alike, but for what was too few for a
    class; the class of those who demand least is the last.
    """
    highest = np.repeat(np.array(highest), 256)
    order = np.random.default_rng(seed).permutation(len(highest))
    classes = by_demand(highest, order, 2.0)
    assert sorted(np.concatenate(classes).tolist()) == list(range(len(highest)))
    for rows in classes[:-1]:
        assert len(rows) >= 512 * highest[rows].max()
        assert highest[rows].min() > 2
    assert set(np.flatnonzero(highest <= 2)) <= set(classes[-1].tolist())


def test_a_demand_that_is_passed_over_would_be_seen():
    """The broken twin: a group that one member may not be in is found by the check above."""
    rows, own = [[0], [], []], [{}, {0: 4.0}, {}]
    crowd = Crowd(
        np.zeros((3, 1)), None, Demands(np.array([3.0]), None, None, None, None), 3, 1, np.arange(3)
    )
    assert broken(crowd, rows, own, [0, 1, 2]) == 0
    assert broken(crowd, rows, [{}, {}, {}], [0, 1, 2]) is None


@given(crowds())
@settings(max_examples=60, deadline=None)
def test_dealt_groups_have_the_least_size(given_):
    """Rows without values are dealt out into groups of exactly the least size, the last one a
    little more; too few stay as they are.
    """
    crowd, _, _ = given_
    group = np.full(crowd.rows, kernels.FREE, dtype=np.int64)
    left = deal(crowd, crowd.order, group)
    assert sorted(left.tolist()) == np.flatnonzero(group < 0).tolist()
    sizes = sorted(len(members) for members in groups_of(group))
    if crowd.rows < crowd.least:
        assert sizes == []
    else:
        assert sum(sizes) == crowd.rows
        assert len(sizes) == crowd.rows // crowd.least
        assert sizes[:-1] == [crowd.least] * (len(sizes) - 1)


@given(st.integers(1, 5), st.integers(1, 200), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_cells_are_a_k_d_tree(depth, n, seed):
    """Every row is in one cell, and of two sibling nodes all of one lie on one side of the other on
    some attribute.
    """
    rng = np.random.default_rng(seed)
    positions, order = rng.integers(0, 6, (n, 2)) / 5, rng.permutation(n)
    bounds = (np.arange(2**depth + 1, dtype=np.int64) * n) >> depth
    cells.arrange(positions, order, bounds, 0, 2**depth)
    assert sorted(order.tolist()) == list(range(n))
    for level in range(depth):
        step = 2 ** (depth - level)
        for i in range(0, 2**depth, step):
            left, right = (
                order[bounds[i] : bounds[i + step // 2]],
                order[bounds[i + step // 2] : bounds[i + step]],
            )
            if len(left) and len(right):
                assert (positions[left].max(axis=0) <= positions[right].min(axis=0)).any()


@given(st.integers(0, SCALE), st.integers(1, 2**31 - 1), st.data())
def test_what_is_left_is_rounded_down(survival, n, data):
    """The largest whole number of parts that is at most survival (n - n_s) / n, without
    overflow.
    """
    n_s = data.draw(st.integers(0, n))
    assert left_of(survival, n, n_s) == (survival * (n - n_s)) // n


@pytest.mark.parametrize("l", [2, 3, 5, 7, 10, Fraction(5, 2)])
def test_the_promise_can_be_kept_to_the_last_part(l):
    """A first group of exactly l n_s members is allowed: the scale has every such share."""
    l = Fraction(l)
    n, n_s = l.numerator, l.denominator
    assert left_of(SCALE, n, n_s) >= least_survival(l)
    assert left_of(SCALE, n * 30, n_s * 30) >= least_survival(l)
    assert left_of(SCALE, n * 30 - 1, n_s * 30) < least_survival(l)


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_memory_is_carried_as_the_slow_twin_does(data):
    """Releases of persons who come, go and return: every pair's survival is the product in
    fractions, rounded down at each step, never up; who was always exposed together is carried
    together, also where one of them was away; and who left long ago is carried no more, and laid
    aside once; however few pairs are looked at together.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(exposures, "_AT_ONCE", data.draw(st.sampled_from([1, 5, 1 << 17])))
        patched.setattr(exposures, "AWAY", away := data.draw(st.sampled_from([1, 2, 4])))
        _check_carried(data, away)


def test_what_older_versions_carried_is_read():
    """Pairs under another name, histories without numbers, and persons of whom it is not known when
    they were there; a version of then finds nothing under the name that it knows.
    """
    names = pl.Series("value", ["a", "b"])
    persons = pl.Series("person", [bytes([p]) * 16 for p in range(4)], dtype=pl.Binary)
    groups = np.array([0, 0, 1, 1])
    hosts = hosts_of(groups[[0, 2]], np.array([0, 1], dtype=np.int32), np.array([2, 2]), 2)
    file = StatisticsFile()
    carried = file.release(persons, names, groups, hosts).carried
    now = carried.to_tables()
    assert "pairs" not in now
    older = {
        "persons": now["persons"].drop("away"),
        "histories": now["histories"].drop("origin", "laid"),
        "pairs": now["linked"],
        "values": now["values"],
    }
    assert everyone(older) == everyone(now)
    read = Exposures.of_tables(older)
    assert (read.origin.tolist(), read.laid.any(), read.away.tolist()) == ([0, 1], False, [0] * 4)


def _check_carried(data, away):
    """A series, beside the slow twin's."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    names = pl.Series("value", ["a", "b", "c"])
    file, slow, trails, since = StatisticsFile(), naive.Exposures(SCALE), {}, {}
    for release in range(data.draw(st.integers(1, 7))):
        people = rng.permutation(12)[: rng.integers(1, 13)]
        persons = pl.Series("person", [bytes([p]) * 16 for p in people], dtype=pl.Binary)
        groups = rng.integers(-1, 3, len(people))
        codes = [sorted(rng.choice(3, rng.integers(0, 3), replace=False).tolist()) for _ in people]
        sizes = np.array([max(1, int((groups == g).sum())) + rng.integers(0, 3) for g in range(3)])
        row_of = np.repeat(np.arange(len(people)), [len(c) for c in codes])
        flat = np.array([c for row in codes for c in row], dtype=np.int32)
        hosts = hosts_of(groups[row_of], flat, sizes, 3)
        memory, aside, elsewhere, least = file.release(persons, names, groups, hosts)
        for person, group in zip(persons, groups.tolist(), strict=True):
            if group >= 0 and hosts.starts[group] < hosts.starts[group + 1]:
                trails.setdefault(person, []).append((release, group))
        since |= dict.fromkeys(set(persons) & trails.keys(), release)
        here = {person for person, last in since.items() if release - last < away}
        gone = {person for person, last in since.items() if release - last == away}
        assert len(memory.starts) - 1 == len({tuple(trails[person]) for person in here})
        assert (set(memory.persons), set(aside.persons)) == (here, gone)
        assert least == slow.release(persons.to_list(), groups.tolist(), codes, sizes.tolist())
        tables, exposed = file.memory.everything, slow.pairs.items()
        found = {(person, int(value)): pair for (person, value), pair in everyone(tables).items()}
        assert found == {pair: (parts, times) for pair, (parts, times, _) in exposed}
        behind = Counter(times for _, times, _ in slow.pairs.values())
        counts = (counted(memory) + elsewhere).tolist()
        assert counts == [behind[times] for times in range(TIMES + 1)]
        of_here = [times for (person, _), (_, times, _) in exposed if person in here]
        as_compiled = memory.value.astype(np.int32), memory.survival, memory.times.astype(np.uint16)
        pairs = Pairs(memory.starts, *as_compiled)
        few = exposed_before(pairs, memory.alike, 2).tolist()
        assert few == [0, of_here.count(1), len(of_here) - of_here.count(1)]
        assert all(
            Fraction(parts, SCALE) <= truth <= Fraction(parts, SCALE) + Fraction(times, 2**50)
            for parts, times, truth in slow.pairs.values()
        )
        again_read = Exposures.of_tables(tables)
        assert (again_read.value == memory.value).all()
        assert (again_read.survival == memory.survival).all()
        assert (again_read.history == memory.history).all()
        assert again_read.persons.to_list() == memory.persons.to_list()
