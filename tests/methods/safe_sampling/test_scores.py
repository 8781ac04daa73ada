# SPDX-License-Identifier: Apache-2.0
"""Scores that a private choice could have, enumerated: over all neighbours of all small tables, none
moves by less than 0 or by more than the noise is made for.
"""

import sys
from collections.abc import Callable
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.methods.safe_sampling import private_levels
from phalanx.methods.safe_sampling.private_levels import qualities
from phalanx.methods.safe_sampling.schemes import Axes
from support.scripts import EXPERIMENTS

sys.path.insert(0, str(EXPERIMENTS / "safe_sampling"))
from scores import SCORES, scored_by

SCHEMA = Schema(quasi=["age"], sensitive="ill")
AXES = Axes.of({"age": {"low": 0, "high": 4, "widths": [1, 2]}}, SCHEMA, choose=True)
KINDS = tuple(product((0, 1, 3), ("flu", "gout")))
MOST = 4


def scored(rows: tuple[tuple[int, str], ...], crowd: int) -> np.ndarray:
    frame = pl.DataFrame(list(rows), schema={"age": pl.Int64, "ill": pl.String}, orient="row")
    return qualities(AXES, Microdata.encode(frame, SCHEMA), crowd)


def beyond(crowd: int, score: Callable[..., np.ndarray] = scored) -> int:
    """By how much a score moves too far, or down, at most, when any row is added to any table of up
    to four rows; not above 0 where the sensitivity is right.
    """
    most, found = int(private_levels.weights(AXES).max()), -sys.maxsize
    known = {
        rows: score(rows, crowd)
        for n in range(1, MOST + 2)
        for rows in combinations_with_replacement(KINDS, n)
    }
    for rows, before in known.items():
        for row in KINDS if len(rows) <= MOST else ():
            moved = known[tuple(sorted([*rows, row]))] - before
            found = max(found, int((-moved).max()), int(moved.max()) - most)
    return found


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("crowd", [0, 1, 2])
def test_no_row_moves_a_score_beyond_its_greatest_weight(name, crowd):
    """All 461 tables of up to five rows: adding a row raises every score by 0 to the sensitivity,
    and some by all of it.
    """
    with scored_by(SCORES[name]):
        assert beyond(crowd) == 0


def test_a_score_of_squared_crowds_is_seen_to_move_further():
    """A broken twin: rewarding crowds by their square moves further than the noise is made for."""

    def broken(rows, crowd):
        return scored(rows, crowd) * len(rows)

    assert beyond(1, broken) > 0


def test_todays_weights_are_those_of_the_cube():
    """The trial's steepest score is the one that the method has."""
    assert SCORES["sum³"](AXES).tolist() == private_levels.weights(AXES).tolist()
