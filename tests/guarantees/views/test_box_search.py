# SPDX-License-Identifier: Apache-2.0
"""Boxes are found, and seen to meet, as by comparing all of them."""

from itertools import pairwise

import numpy as np
import pytest

from phalanx.arrays import sets_of, words
from phalanx.guarantees.views import box_search
from phalanx.guarantees.views.box_search import any_meet, box_of, held_around, pairs_inside
from phalanx.guarantees.views.holding import holding


def some_boxes(seed):
    """Up to forty boxes in up to three dimensions, and points beside and in them; some boxes hold
    nothing.
    """
    rng = np.random.default_rng(seed)
    b, d, wide = int(rng.integers(0, 40)), int(rng.integers(1, 4)), int(rng.integers(1, 12))
    low = rng.integers(0, 30, (b, d))
    return rng.integers(-1, 32, (50, d)), low, low + rng.integers(0, wide, (b, d))


def grid(seed):
    """Boxes as strict cuts make them: no two meet, and together they hold every point of a cube."""
    rng = np.random.default_rng(seed)
    waiting, done = [(np.zeros(3, dtype=np.int64), np.full(3, 15))], []
    while waiting:
        low, high = waiting.pop()
        at = int(rng.integers(3))
        if len(done) + len(waiting) > 60 or low[at] == high[at]:
            done.append((low, high))
            continue
        cut = int(rng.integers(low[at], high[at]))
        upto, after = high.copy(), low.copy()
        upto[at], after[at] = cut, cut + 1
        waiting += [(low, upto), (after, high)]
    low, high = (np.array(side) for side in zip(*done, strict=True))
    return np.stack(np.meshgrid(*[np.arange(16)] * 3), axis=-1).reshape(-1, 3), low, high


def wrong(cases, find=box_of, meet=any_meet):
    """Which cases the search says something else of than comparing one by one."""
    found = []
    for i, (points, low, high) in enumerate(cases):
        holders = [
            [j for j in range(len(low)) if (low[j] <= p).all() and (p <= high[j]).all()]
            for p in points
        ]
        told = find(points, low, high)
        some_meet = any(
            (low[j] <= high[k]).all() and (low[k] <= high[j]).all()
            for j in range(len(low))
            for k in range(j)
        )
        if (
            any(
                (box not in held) if held else box != -1
                for box, held in zip(told.tolist(), holders, strict=True)
            )
            or meet(low, high) != some_meet
        ):
            found.append(i)
    return found


@pytest.mark.parametrize("compared", [1, 8, 64, 1 << 18])
def test_as_by_comparing_all(monkeypatch, compared):
    """Every point has a box that holds it, or none, and boxes meet, exactly where that is so;
    however few are compared at once.
    """
    monkeypatch.setattr(box_search, "_COMPARED", compared)
    assert wrong([some_boxes(seed) for seed in range(60)]) == []


@pytest.mark.parametrize("compared", [16, 1 << 18])
def test_boxes_of_cuts(monkeypatch, compared):
    """Boxes of strict cuts hold every point once and do not meet; one of them drawn out by one
    does.
    """
    monkeypatch.setattr(box_search, "_COMPARED", compared)
    points, low, high = grid(1)
    assert len(low) > 40
    assert (box_of(points, low, high) >= 0).all() and not any_meet(low, high)
    high = high.copy()
    at = tuple(np.argwhere(high < 15)[0])
    high[at] += 1
    assert any_meet(low, high)


def test_both_answers_come_up():
    """Some of the generated boxes meet, and some do not."""
    answers = [any_meet(low, high) for _, low, high in (some_boxes(seed) for seed in range(60))]
    assert 10 < sum(answers) < 50


def test_boxes_without_a_cut():
    """Boxes that all lie over one another are compared one by one, and end."""
    low, high = np.zeros((700, 2), dtype=np.int64), np.full((700, 2), 3)
    assert any_meet(low, high)
    assert (box_of(np.array([[1, 2], [4, 0]] * 500), low, high) == np.array([0, -1] * 500)).all()
    assert not any_meet(low[:1], high[:1]) and not any_meet(low[:0], high[:0])
    assert box_of(np.zeros((2, 2), dtype=np.int64), low[:0], high[:0]).tolist() == [-1, -1]


def test_a_cut_leaves_few_boxes_on_either_side():
    """No side of a cut has more than four fifths of the boxes, or the search would go on for long;
    and where nine of ten begin and end together, there is no cut.
    """
    cuts = 0
    for seed in range(60):
        _, low, high = some_boxes(seed)
        if len(low) and (cut := box_search._cut(low, high)):
            at, value = cut
            cuts += 1
            assert 5 * max((low[:, at] < value).sum(), (high[:, at] >= value).sum()) <= 4 * len(low)
    assert cuts > 20
    alike = np.array([[0]] * 9 + [[5]])
    assert box_search._cut(alike, alike) is None


def test_a_box_with_crossed_ends_holds_nothing():
    """A value that nobody has in the domain stands as ends that are crossed, and holds no point."""
    assert box_of(
        np.array([[0], [7]]), np.array([[np.iinfo(np.int64).max]]), np.array([[-1]])
    ).tolist() == [-1, -1]


def beside_the_cut(points, low, high):
    """A twin that halves once and forgets the boxes across the cut."""
    found = np.full(len(points), -1)
    for side, boxes in (
        (points[:, 0] < 15, high[:, 0] < 15),
        (points[:, 0] >= 15, low[:, 0] >= 15),
    ):
        there = np.flatnonzero(boxes)
        told = box_of(points[side], low[there], high[there])
        found[side] = np.where(told < 0, -1, np.append(there, -1)[told])
    return found


def neighbours_meet(low, high):
    """A twin that compares boxes with the next one alone."""
    order = np.argsort(low[:, 0], kind="stable")
    return any((low[j] <= high[k]).all() and (low[k] <= high[j]).all() for j, k in pairwise(order))


def test_broken_twins_are_caught():
    """A search that forgets the boxes across its cuts, or compares only neighbours, gives other
    answers.
    """
    cases = [some_boxes(seed) for seed in range(60)]
    assert len(wrong(cases, find=beside_the_cut)) > 5
    assert len(wrong(cases, meet=neighbours_meet)) > 5


THINGS = 130
"""Of what boxes hold: more than two words have bits for."""


def what_boxes_hold(seed, boxes):
    """Up to one, two or three of seven things in each box, some of them in each of three words."""
    rng = np.random.default_rng(seed)
    holds = np.zeros((boxes, THINGS), dtype=np.bool_)
    for box in holds:
        box[np.array([0, 1, 63, 64, 100, 128, 129])[rng.integers(0, 7, 1 + seed % 3)]] = True
    return holds


def packed(holds):
    """The same as sets."""
    return sets_of(*np.nonzero(holds), *holds.shape)


def around_each(points, low, high, holds):
    """What is held around each point, all of whom come once, of truth values as sets."""
    sets = np.zeros((len(points), words(holds.shape[1])), dtype=np.uint64)
    came = []
    for some, theirs in held_around(points, low, high, holding(*np.nonzero(holds), *holds.shape)):
        sets[some] = theirs
        came += some.tolist()
    assert sorted(came) == list(range(len(points)))
    return sets


def wrongly_held(find):
    """Which cases ``find`` says something else of than comparing one by one."""
    found = []
    for seed in range(60):
        points, low, high = some_boxes(seed)
        holds = what_boxes_hold(seed, len(low))
        by_hand = np.zeros((len(points), THINGS), dtype=np.bool_)
        for i, p in enumerate(points):
            for box, first, last in zip(holds, low, high, strict=True):
                by_hand[i] |= box & bool((first <= p).all() and (p <= last).all())
        if not np.array_equal(find(points, low, high, holds), packed(by_hand)):
            found.append(seed)
    return found


@pytest.mark.parametrize("at_once", [1, 1 << 22])
@pytest.mark.parametrize("compared", [0, 8, 64, 1 << 18])
def test_what_is_held_around_as_by_comparing_all(monkeypatch, compared, at_once):
    """However few points and boxes are compared at once, of boxes that hold nothing too."""
    monkeypatch.setattr(box_search, "_COMPARED", compared)
    monkeypatch.setattr(box_search, "_HELD", at_once)
    assert wrongly_held(around_each) == []


@pytest.mark.parametrize("compared", [0, 8, 1 << 18])
def test_all_pairs_of_points_and_boxes(monkeypatch, compared):
    """Each pair of a point and a box that holds it, once and in order, as by comparing all; boxes
    around all points are among them, and there may be no points or no boxes.
    """
    monkeypatch.setattr(box_search, "_COMPARED", compared)
    around_all = 0
    for seed in range(40):
        points, low, high = some_boxes(seed)
        if seed % 2 and len(low):  # a box around all
            low[0], high[0] = -1, 99
        inside = [
            (i, j)
            for i, p in enumerate(points)
            for j in range(len(low))
            if (low[j] <= p).all() and (p <= high[j]).all()
        ]
        point, box = pairs_inside(points, low, high)
        assert list(zip(point.tolist(), box.tolist(), strict=True)) == inside
        if len(points):
            whole = ((low <= points.min(axis=0)) & (high >= points.max(axis=0))).all(axis=1)
            around_all += int(whole.sum())
    assert around_all
    none = pairs_inside(points[:0], low, high)
    assert [len(side) for side in (*none, *pairs_inside(points, low[:0], high[:0]))] == [0] * 4


def test_what_is_held_around_equal_points(monkeypatch):
    """Points that are all alike cannot be halved, and need not be: a box that meets one is around
    all; without points, or without boxes, nothing is held.
    """
    monkeypatch.setattr(box_search, "_COMPARED", 0)
    points, low = np.full((400, 2), 3), np.array([[0, 0], [3, 4], [3, 3]])
    holds = np.eye(3, dtype=np.bool_)
    assert (around_each(points, low, low + 3, holds) == [[0b101]]).all()
    assert around_each(points[:0], low, low + 3, holds).shape == (0, 1)
    assert not around_each(points, low[:0], low[:0], holds[:0]).any()


def without_boxes_across(points, low, high, holds):
    """A twin that halves once and forgets the boxes across the cut."""
    around = np.zeros((len(points), words(holds.shape[1])), dtype=np.uint64)
    for side, boxes in (
        (points[:, 0] < 15, high[:, 0] < 15),
        (points[:, 0] >= 15, low[:, 0] >= 15),
    ):
        around[side] = around_each(points[side], low[boxes], high[boxes], holds[boxes])
    return around


def around_some(points, low, high, holds):
    """A twin that takes a box that reaches among the points for one around all of them."""
    least, most = points.min(axis=0), points.max(axis=0)
    whole = ((low <= most) & (high >= least)).all(axis=1)
    return around_each(points, low, high, holds) | np.bitwise_or.reduce(packed(holds)[whole])


@pytest.mark.parametrize("twin", [without_boxes_across, around_some])
def test_broken_twins_are_seen(twin):
    """What is held around points is wrong somewhere."""
    assert wrongly_held(twin)
