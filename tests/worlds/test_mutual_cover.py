# SPDX-License-Identifier: Apache-2.0
"""Mutual cover against an adversary who knows the method: every small table that could have been
ours is published, in exact fractions.
"""

import sys
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.methods.base import Memory
from phalanx.methods.mutual_cover.method import MutualCover
from phalanx.randomness import Randomness
from support.scripts import EXPERIMENTS, run_script, tables_of

sys.path.insert(0, str(EXPERIMENTS / "mutual_cover"))
from census import Diverse
from known_method import AGES, HALF, draws, inferred, published

OURS, DIVERSE = MutualCover(delta=HALF), Diverse(delta=HALF, l=2)
LEAST = replace(OURS, outputs="least-cost")


def worlds(values):
    return sorted(set(permutations(values)))


def test_what_is_drawn_is_what_is_published():
    """All ways to draw have probability 1 together, and 400 releases by the whole method are these
    ways and no others.
    """
    found = dict(draws(published(OURS, AGES[:3], tuple("abc"))))
    assert len(found) == 8 and sum(found.values()) == 1
    microdata = Microdata.encode(
        pl.DataFrame({"age": AGES[:3], "ill": list("abc")}), Schema(quasi=["age"], sensitive="ill")
    )
    drafts = [OURS.publish(microdata, Memory(), Randomness.seeded(seed)) for seed in range(400)]
    assert {tuple(draft.form.table.sort("ill")["age"]) for draft in drafts} == set(found)


def test_sensitive_values_have_no_influence_on_the_tables():
    """Whatever they are, groups and tables are the same; in groups that are made diverse they are
    not, which this must catch.
    """
    for ours in (OURS, LEAST):
        assert len({str(published(ours, AGES, world)) for world in worlds("aabbcc")}) == 1
    assert len({str(published(DIVERSE, AGES, world)) for world in worlds("aabbcc")}) > 1


@pytest.mark.parametrize(
    ("method", "ages", "values", "ask_covers"),
    [(DIVERSE, AGES, "aaabbc", False), (OURS, AGES[:3], "abc", True), (OURS, AGES, "aaabbc", True)],
    ids=["l of groups", "l of covers", "l of covers, where values are frequent"],
)
def test_diversity_protects_nothing(method, ages, values, ask_covers):
    """Why l is no option: whether it is asked of groups or of all persons that a value could stem
    from, most releases make somebody's value certain.
    """
    found = inferred(method, ages, values, Fraction(2), HALF, ask_covers=ask_covers)
    assert found.value == 1 and found.certain > HALF
    assert found.refused == 0 or ask_covers


def test_all_rows_tell_more_than_one_value():
    """Why delta is stated to hold against those only who do not know the method: three persons, and
    in three of four releases a row is surely one's.
    """
    found = inferred(OURS, AGES[:3], "abc", Fraction(2), HALF)
    assert (found.stems, found.beyond, found.refused) == (1, Fraction(3, 4), 0)
    assert not OURS.holds_if_method_known


def test_where_nothing_more_is_told():
    """Tables of least cost are two pairs that trade their ages with certainty: everybody's value
    and every row's person stay at 1/2, so that the oracle does not cry at everything.
    """
    found = inferred(LEAST, AGES[:4], "abcd", Fraction(2), HALF)
    assert (found.value, found.above, found.stems, found.beyond) == (HALF, 0, HALF, 0)
    alike = inferred(OURS, AGES[:4], "abcd", Fraction(2), HALF)
    assert (alike.stems, alike.beyond < Fraction(1, 4)) == (1, True)  # which is told as it is


def test_the_table_of_the_document():
    """The command prints a row for every table and way to ask."""
    ran = run_script("mutual_cover/known_method.py", data=None)
    assert ran.returncode == 0, ran.stderr
    ((_, rows),) = tables_of(ran.stdout).items()
    assert len(rows) == 24 and [row[3] for row in rows[:4]] == [
        "of groups",
        "of covers, else refused",
        "not asked",
        "not asked, alike",
    ]
