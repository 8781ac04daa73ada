# SPDX-License-Identifier: Apache-2.0
"""Distances that somebody wrote down: read alike by whoever makes a release and by whoever attacks
it.
"""

import polars as pl
import pytest

from phalanx.adversaries.records import nearness
from phalanx.data.distance_matrix import distance_matrix
from phalanx.data.domain import Domain
from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.errors import PlanError
from phalanx.methods.mutual_cover import distances

HOURS = Domain("numeric", pl.Series("hours", [None, 8.0, 40.0]))
SAID = {"": {8: 3, 40: 4}, "8": {"40": 1.5}}


def test_keys_are_values_or_their_text():
    """A number as a plan writes it, or as Python has it; nothing is a missing value; what is said
    one way holds the other way.
    """
    assert distance_matrix("distances", HOURS, SAID).tolist() == [
        [0, 3, 4],
        [3, 0, 1.5],
        [4, 1.5, 0],
    ]


@pytest.mark.parametrize("wrong", [-1, float("inf"), float("nan"), "far", True, None])
def test_a_distance_is_a_number_of_0_or_more(wrong):
    """Anything else counts as a gap, and the sentence begins with what was asked and tells no
    value.
    """
    with pytest.raises(
        PlanError,
        match=(
            r"^distances of 'hours' is a matrix without a distance of 0 or more for some two of its"
            r" 3 values; give one for each two\.$"
        ),
    ):
        distance_matrix("distances of 'hours'", HOURS, SAID | {"8": {"40": wrong}})


def test_maker_and_adversary_read_the_same():
    """One matrix, two readers that share no code of theirs: each gets the same distances."""
    made, attacked = (
        distances.distance_of("hours", HOURS, SAID),
        nearness.distance_of("hours", HOURS, SAID),
    )
    assert isinstance(made, distances.Matrix)
    assert isinstance(attacked, nearness.Matrix)
    assert (
        made.matrix.tolist()
        == attacked.matrix.tolist()
        == distance_matrix("", HOURS, SAID).tolist()
    )


def test_a_missing_value_is_no_empty_text_to_the_adversary_either():
    """It stands under the root alone, where a leaf that is the empty text stands under its parent,
    too.
    """
    tree = Tree.of_mapping({"known": ["a", ""], "other": ["b"]})
    domain = Domain("categorical", pl.Series("town", [None, "a", "", "b"]), tree)
    away = nearness.distance_of("town", domain).to_all(pl.Series([0]).to_numpy())
    assert away[0].tolist() == [0, 1, 1, 1]
