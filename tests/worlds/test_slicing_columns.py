# SPDX-License-Identifier: Apache-2.0
"""Random slicing against an adversary who knows the method: all ways to give the values to the
persons are published, in one bucket, and compared.

With one bucket nothing of a release is random but the order of its rows, so that what is seen is a
function of the world, and posteriors are counts.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations

import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import NotEligible
from phalanx.methods.base import Memory
from phalanx.methods.slicing import columns as columns_of_slicing
from phalanx.methods.slicing.method import Slicing
from phalanx.randomness import Randomness

QUASI = ["x", "y", "z"]
PEOPLE = [(1, 1, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1), (0, 0, 0), (0, 1, 1)]


def largest(values, **columns):
    """The method, the largest probability of a person's value given a release, and how many of the
    worlds are published.
    """
    method, seen = (
        Slicing(l=2, grouping="random", bucket_size=len(values), **columns),
        defaultdict(list),
    )
    for world in sorted(set(permutations(values))):
        frame = pl.DataFrame(
            [(*map(str, person), value) for person, value in zip(PEOPLE, world, strict=True)],
            schema=[*QUASI, "ill"],
            orient="row",
        )
        microdata = Microdata.encode(frame, Schema(quasi=QUASI, sensitive="ill"))
        try:
            form = method.publish(microdata, Memory(), Randomness.seeded(1)).form
        except NotEligible:
            continue
        seen[
            tuple(
                (column, tuple(sorted(form.table.select(column).rows()))) for column in form.columns
            )
        ].append(world)
    tops = [
        Fraction(max(Counter(held).values()), len(worlds))
        for worlds in seen.values()
        for held in zip(*worlds, strict=True)
    ]
    return method, max(tops), sum(map(len, seen.values()))


@pytest.mark.parametrize("values", ["aabbcc", "aabbcd"])
@pytest.mark.parametrize(
    "columns",
    [
        {"columns": [["x", "y"], ["z", "ill"]]},
        {"columns": [["x"], ["y"], ["z", "ill"]]},
        {"columns": [["x", "y", "z"], ["ill"]]},
        {"columns": 3, "sensitive_column_size": 1},
    ],
    ids=str,
)
def test_columns_that_values_do_not_choose(values, columns):
    """Where the plan names the columns, or the sensitive attribute stands alone, nobody's value is
    more probable than 1/l, and the method states it.
    """
    method, top, published = largest(values, **columns)
    assert method.holds_if_method_known
    assert published and top <= Fraction(1, 2)


def test_columns_found_by_correlation_tell():
    """Which attribute goes with the sensitive one is found in the sensitive values, and says them:
    the method states that it does not hold.
    """
    method, top, published = largest("aabbcc", columns=2)
    assert published and top == 1
    assert not method.holds_if_method_known


WITHOUT = [(1, 2), (0, 1), (1, 0), (2, 1), (2, 1), (2, 1)]
"""Values of two attributes of persons of whom the third is not known; no attribute is sensitive."""


def columns_over_worlds(**columns):
    """The method, and the columns in which each world is published; no attribute is sensitive."""
    method = Slicing(l=2, grouping="random", bucket_size=6, **columns)
    found = Counter()
    for world in sorted(set(permutations("000111"))):
        rows = [(str(x), str(y), z) for (x, y), z in zip(WITHOUT, world, strict=True)]
        frame = pl.DataFrame(rows, schema=QUASI, orient="row")
        microdata = Microdata.encode(frame, Schema(quasi=QUASI))
        try:
            form = method.publish(microdata, Memory(), Randomness.seeded(1)).form
        except NotEligible:
            found["refused"] += 1
            continue
        found[tuple(map(tuple, form.columns))] += 1
    return method, found


@pytest.mark.parametrize("asked", [[["x", "y"], ["y", "z"]], [["x", "y"]]])
def test_a_workload_alone_chooses_where_all_are_protected(asked):
    """Without a sensitive attribute every column is protected, so that correlations choose nothing:
    all worlds are published in the same columns, of which the method states that they tell nothing.
    """
    method, found = columns_over_worlds(columns=2, workload=asked)
    assert method.holds_if_method_known and list(found.values()) == [20]


def test_correlations_of_protected_columns_would_tell(monkeypatch):
    """Broken twin: as correlations chose before. To who knows the first two, sixteen of twenty worlds
    are left, and a third value of five eighths of them.
    """
    monkeypatch.setattr(columns_of_slicing.np, "ones_like", lambda matrix: matrix)
    _, found = columns_over_worlds(columns=2, workload=[["x", "y"], ["y", "z"]])
    assert found[("x", "y"), ("z",)] == 16 and len(found) > 1


def test_columns_by_number_do_not_hold_where_all_are_protected():
    """Correlations choose them, and the method says so."""
    method, found = columns_over_worlds(columns=2)
    assert not method.holds_if_method_known and len(found) > 1
