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
