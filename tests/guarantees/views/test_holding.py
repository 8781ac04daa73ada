# SPDX-License-Identifier: Apache-2.0
"""What boxes hold is the same as sets and as numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.arrays import sets_of
from phalanx.guarantees.views.box_search import held_around
from phalanx.guarantees.views.holding import AsNumbers, AsSets, holding
from support import work

BOXES = st.lists(st.sets(st.integers(0, 199), max_size=5), min_size=1, max_size=6)


def cells(boxes, q=200):
    """Which box holds which number, of how many boxes, and below which numbers are."""
    owner = np.repeat(np.arange(len(boxes)), [len(box) for box in boxes])
    return owner, np.array([v for box in boxes for v in box], dtype=np.int64), len(boxes), q


def sets(boxes):
    """What boxes hold, as words."""
    return sets_of(*cells(boxes))


def differences(boxes, first, rest, numbers):
    """What is said otherwise as numbers than by Python's sets: of all that some boxes hold, of
    which others hold more, and of what is around three points of which the second has no box.
    """
    held = numbers.added(numbers.nothing, np.array(first, dtype=np.int64))
    union = set().union(*(boxes[i] for i in first))
    some = np.array([*rest, *first], dtype=np.int64)
    told = numbers.around(held, 3, np.repeat([0, 2], [len(rest), len(some)]), np.append(rest, some))
    points = [union.union(*(boxes[i] for i in at)) for at in (rest, [], some)]
    return [
        numbers.hold_more(some, held).tolist() != [not boxes[i] <= union for i in some],
        not np.array_equal(told, sets(points)),
    ]


@given(BOXES, st.data())
def test_sets_and_numbers_say_the_same(boxes, data):
    """Whatever boxes hold, none of them too, and whichever of them are looked at."""
    places = st.lists(st.sampled_from(range(len(boxes))), max_size=4)
    first, rest = data.draw(places), data.draw(places)
    for form in (AsSets(sets(boxes)), AsNumbers.of(*cells(boxes)), holding(*cells(boxes))):
        assert not any(differences(boxes, first, np.array(rest, dtype=np.int64), form))


class WithoutTheFirst(AsNumbers):
    """A twin that starts each point with what its own boxes hold."""

    def around(self, held, points, point, box):
        return super().around(self.nothing, points, point, box)


class WithoutPadding(AsNumbers):
    """A twin to whom a box with fewer numbers holds one more."""

    @property
    def nothing(self):
        return np.zeros(self.words * 64 + 1, dtype=np.bool_)


@pytest.mark.parametrize("twin", [WithoutTheFirst, WithoutPadding])
def test_broken_twins_are_seen(twin):
    """What was held before is in each set, and no box holds what stands for nothing."""
    boxes = [{0, 64}, {64}, set()]
    cases = [([0], np.array([1])), ([], np.array([2]))]
    for first, rest in cases:
        assert not any(differences(boxes, first, rest, AsNumbers.of(*cells(boxes))))
    assert any(d for case in cases for d in differences(boxes, *case, twin.of(*cells(boxes))))


def test_few_of_many_values_take_no_room_for_all():
    """Where each of 2,000 boxes holds one of 2,000 values, the words of all of them are never laid
    side by side for the pairs of a point and a box.
    """
    points, low = np.arange(200)[:, None], np.zeros((2000, 1), dtype=np.int64)
    low[:, 0] = np.arange(2000) % 100
    each = np.arange(2000)

    def around(holds):
        return [sets for _, sets in held_around(points, low, low + 100, holds)]

    assert work.memory(lambda: around(holding(each, each, 2000, 2000))) < 8_000_000
    by_sets = around(AsSets(sets_of(each, each, 2000, 2000)))
    assert np.array_equal(
        np.concatenate(around(holding(each, each, 2000, 2000))), np.concatenate(by_sets)
    )
