# SPDX-License-Identifier: Apache-2.0
"""Anatomy's l-diversity of a bucketized release, against all ways in which a bucket's values may
belong to its tuples.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PlanError
from phalanx.guarantees import l_diversity as diversity
from phalanx.guarantees.anatomy import AnatomyDiversity
from phalanx.randomness import Randomness
from phalanx.release.forms.bucketized import Bucketized, bucketize


def published(rows, bucket, **schema) -> Bucketized:
    microdata = Microdata.encode(
        pl.DataFrame(rows, schema=["age", "ill"], orient="row"),
        Schema(quasi=["age"], sensitive="ill", missing="value", **schema),
    )
    return bucketize(microdata, np.array(bucket), Randomness.secure().stream("test"))[0]


def links(form):
    """For every tuple and value the share of arrangements of its bucket's values over its tuples
    that give it this value.
    """
    found = {}
    for bucket in form.table["bucket"].unique().to_list():
        tuples = form.table.filter(pl.col("bucket") == bucket)["age"].to_list()
        beside = form.values.filter(pl.col("bucket") == bucket)
        values = [v for v, n in zip(beside["ill"], beside["count"], strict=True) for _ in range(n)]
        orders = list(permutations(values))
        for i, age in enumerate(tuples):
            for value in set(values):
                found[bucket, i, age, value] = Fraction(
                    sum(order[i] == value for order in orders), len(orders)
                )
    return found


def small_release(seed):
    rng = np.random.default_rng(seed)
    n, g = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    g = min(g, n)
    return published(
        [(i, [None, "flu", "gout", "rash"][rng.integers(4)]) for i in range(n)],
        [i % g for i in range(n)],
    )


def differences(seeds):
    found = []
    for seed in seeds:
        form, l = (
            small_release(seed),
            Fraction(int(np.random.default_rng(seed).integers(10, 35)), 10),
        )
        (verdict,) = AnatomyDiversity(l=l).check(form)
        worst = max(links(form).values())
        if (verdict.worst, verdict.holds) != (worst, worst <= 1 / l):
            found.append(seed)
    return found


def test_the_worst_link_of_anybody():
    """The figure is the largest share of arrangements that give a tuple a value, and the promise
    holds where it is at most 1/l.
    """
    assert differences(range(120)) == []


def test_both_answers_come_up():
    """Some of the generated releases keep their promise, and some do not."""
    answers = [AnatomyDiversity(l=2).check(small_release(seed))[0].holds for seed in range(120)]
    assert 10 < sum(answers) < 110


@pytest.mark.parametrize(
    "twin",
    [
        lambda _, below: (Fraction(1, int(below.max())), 0),
        lambda above, below: (Fraction(int(above[0]), int(below[0])), 0),
    ],
)
def test_broken_twins_are_caught(monkeypatch, twin):
    """A check that looks at the sizes of buckets alone, or at the first bucket alone, gives other
    verdicts.
    """
    monkeypatch.setattr(diversity, "largest_ratio", twin)
    assert len(differences(range(120))) > 10


def test_one_in_l_is_allowed():
    """A value with exactly 1/l of a bucket is allowed, and the verdict shows the bucket."""
    form = published([(1, "flu"), (2, "gout"), (3, "flu"), (4, "gout")], [0, 0, 1, 1])
    (verdict,) = AnatomyDiversity(l=2).check(form)
    assert (
        verdict.holds
        and verdict.worst == verdict.bound == Fraction(1, 2)
        and verdict.note == "2 buckets"
    )
    (verdict,) = AnatomyDiversity(l="2.0000001").check(form)
    assert not verdict.holds and verdict.worst_cases["size"].to_list() == [2]


def test_a_missing_value_is_a_value():
    """That somebody's value is missing is a value like others, and may not be too frequent."""
    assert AnatomyDiversity(l=2).check(published([(1, None), (2, None), (3, "flu")], [0, 0, 0]))[
        0
    ].worst == Fraction(2, 3)


def test_what_it_is_not_about():
    """A table without rows keeps it; sets of values do not, since a bound on sets is none on their
    members.
    """
    form = published([(1, "flu"), (2, "gout")], [0, 0])
    (empty,) = AnatomyDiversity(l=2).check(
        replace(form, table=form.table.clear(), values=form.values.clear())
    )
    assert empty.holds and empty.worst is None and empty.note == "the table has no rows"
    (of_sets,) = AnatomyDiversity(l=2).check(
        published([(1, "flu"), (2, "flu;gout")], [0, 0], types={"ill": "set"})
    )
    assert not of_sets.holds and "holds sets of values" in of_sets.note


@pytest.mark.parametrize("l", [0, "0.99", -1, float("inf"), "two", None, True])
def test_parameters_that_cannot_be(l):
    """L below 1, or no number, is an error of the plan."""
    with pytest.raises(PlanError):
        AnatomyDiversity(l=l)
    assert AnatomyDiversity(l="5/2").parameters() == {"name": "anatomy-l-diversity", "l": "5/2"}
