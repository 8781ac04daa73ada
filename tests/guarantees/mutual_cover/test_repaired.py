# SPDX-License-Identifier: Apache-2.0
"""What is published where rows were changed after they had been drawn, against following every way
that it can go.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from phalanx.guarantees.mutual_cover import repaired
from phalanx.guarantees.mutual_cover.drawn_rows import DrawnRows
from phalanx.guarantees.mutual_cover.guarantee import MutualCover
from phalanx.guarantees.mutual_cover.repaired import published_share
from support.mutual_cover_cases import generated


def rows_of(world):
    made = world.publish()
    return DrawnRows.of(made.outputs, made.microdata, made.form, made.rows)


@pytest.mark.parametrize("changes", [1, 2, 3])
@pytest.mark.parametrize("seed", range(40))
def test_the_share_of_what_is_published(seed, changes):
    """The largest share of one tuple is the slow twin's to the fraction, with weights of 0 and
    columns that only changed rows show.
    """
    world = generated(seed, paper=True, changes=changes)
    assert published_share(rows_of(world)) == world.share(published=True)


def test_it_is_not_the_share_of_the_tables():
    """In some of these releases a single tuple has a larger share of what is published than of its
    tables: what the paper promises is not kept.
    """
    worlds = [generated(seed, paper=True) for seed in range(40)]
    more = [
        world for world in worlds if published_share(rows_of(world)) > world.share(published=False)
    ]
    assert len(more) > 5
    found = (
        more[0]
        .publish()
        .verdicts(MutualCover(delta=more[0].share(published=False), unchanged="paper"))
    )
    assert found["delta-probability"].holds
    assert (
        "which is more than delta" in found["drawing"].note
        and "the promise is about the tables alone" in found["drawing"].note
    )


def test_where_nothing_is_changed_it_is():
    """Weights of 0 everywhere leave what was drawn."""
    for seed in range(20):
        world = generated(seed, paper=True)
        still = replace(world, weights=[[0] * len(world.names) for _ in world.tables])
        assert published_share(
            rows_of(
                replace(
                    still, drawn=[next(iter(still.outcomes(i))) for i in range(len(still.group))]
                )
            )
        ) == still.share(published=False)


@pytest.mark.parametrize("seed", range(20))
def test_fine_units(seed):
    """Tables of trillions of units, of which no float tells one from none, give the same
    fractions.
    """
    world = generated(seed, paper=True, whole=2**42 - 1)
    assert published_share(rows_of(world)) == world.share(published=True)


def test_floating_point_only_chooses(monkeypatch):
    """With bounds so wide that every column is computed as fractions, the answer is the same."""
    worlds = [rows_of(generated(seed, paper=True, whole=2**42 - 1)) for seed in range(30)]
    right = [published_share(world) for world in worlds]
    monkeypatch.setattr(repaired, "_ROUNDING", 1.0)
    assert [published_share(world) for world in worlds] == right


def test_too_many_ways_are_not_followed(monkeypatch):
    """Then it is said that it was not computed."""
    made = generated(3, paper=True, changes=2).publish()
    monkeypatch.setattr(repaired, "_MOST", 3)
    found = made.verdicts(MutualCover(delta=1, changes=2, unchanged="paper"))
    assert found["drawing"].note.endswith("was not computed, as there are too many ways")


def test_a_value_that_nobody_publishes_has_no_share():
    """A column that stays empty is no column, and equal groups are looked at once."""
    world = generated(0, paper=True)
    found = published_share(rows_of(world))
    assert isinstance(found, Fraction) and 0 < found <= 1
    assert np.isclose(float(found), float(world.share(published=True)))
