# SPDX-License-Identifier: Apache-2.0
"""How values are believed to lie: as by going through every entry and every region of it."""

import random

import numpy as np
import pytest

from naive import spreading as naive
from phalanx.estimators import spreading
from phalanx.estimators.view import Box

REGIONS = 7
ROUNDS = 2


def some_boxes(seed):
    """Entries between two of a few regions, some with the missing value, or it alone; how many rows
    each has; and how much room there is in each region.
    """
    dice = random.Random(seed)
    boxes, counts = [], []
    for _ in range(dice.randint(1, 9)):
        low, high = sorted((dice.randrange(REGIONS), dice.randrange(REGIONS)))
        missing = dice.random() < 0.3
        if missing and dice.random() < 0.3:
            low, high = 1, 0
        tight = dice.random() < 0.5 and low <= high and (low != high or missing)
        boxes.append((low, high, missing, tight))
        counts.append(dice.randint(1, 5))
    measure = [dice.choice([0.0, 1.0, 2.5]) for _ in range(REGIONS)]
    return boxes, counts, [*measure, 0.0]


def as_arrays(boxes):
    """The same entries, those that are alike as one box."""
    different = sorted(set(boxes))
    low, high, missing, tight = (np.array(side) for side in zip(*different, strict=True))
    return Box(low, high, missing, tight, np.array([different.index(box) for box in boxes]))


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_regions_have_the_rows_of_their_boxes(seed: int, ends: bool) -> None:
    """By running sums over regions, which make of a box two differences."""
    boxes, counts, measure = some_boxes(seed)
    right = naive.spread(boxes, counts, measure, ends=ends, rounds=ROUNDS)
    found = spreading.maximized(
        spreading.Boxes.of(as_arrays(boxes), np.array(counts)), np.array(measure), ends=ends
    )
    assert found == pytest.approx(right, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_a_mean_is_that_of_the_rows_of_a_box(seed: int) -> None:
    """One stands at each tight end, the others as the regions of the box weigh."""
    boxes, counts, share = some_boxes(seed)
    dice = random.Random(seed)
    share[-1] = dice.choice([0.0, 1.0])
    value = [float(dice.randint(-3, 3)) for _ in share]
    box, n = as_arrays(boxes), np.array(counts)
    inner = spreading.mean_inside(box, np.array(share), np.array(value))
    found = spreading.with_ends(box, n, np.array(value), inner)
    right = [naive.mean(b, c, share, value, ends=True) for b, c in zip(boxes, counts, strict=True)]
    assert found == pytest.approx(right)
    one = [naive.mean(b, c, share, value, ends=False) for b, c in zip(boxes, counts, strict=True)]
    assert inner[box.which] == pytest.approx(one)
