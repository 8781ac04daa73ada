# SPDX-License-Identifier: Apache-2.0
"""The worked example of Li, Li, Zhang, Molloy ("Slicing: A New Approach for Privacy Preserving Data
Publishing"): Table 1, sections 3.1 and 3.2.
"""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.guarantees.slicing.guarantee import SlicedDiversity
from phalanx.guarantees.slicing.posterior import distributions, matches
from phalanx.guarantees.views.sliced import View
from phalanx.randomness import Randomness
from phalanx.release.forms.sliced import Sliced, slice_into

TABLE = [
    (22, "M", "47906", "dyspepsia"),
    (22, "F", "47906", "flu"),
    (33, "F", "47905", "flu"),
    (52, "F", "47905", "bronchitis"),
    (54, "M", "47302", "flu"),
    (60, "M", "47302", "dyspepsia"),
    (60, "M", "47304", "dyspepsia"),
    (64, "F", "47304", "gastritis"),
]
BUCKETS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
COLUMNS = (("age", "sex"), ("zip", "disease"))
HALF = Fraction(1, 2)


def microdata():
    frame = pl.DataFrame(TABLE, schema=["age", "sex", "zip", "disease"], orient="row")
    return Microdata.encode(frame, Schema(quasi=["age", "sex", "zip"], sensitive="disease"))


@pytest.fixture(params=[False, True], ids=["rows", "compact"])
def sliced(request) -> Sliced:
    return slice_into(
        microdata(), COLUMNS, BUCKETS, Randomness.secure().stream("example"), compact=request.param
    )[0]


def test_the_first_tuple(sliced):
    """For t1 = (22, M, 47906): f_1 = 1/4, f_2 = 2/4, its one matching bucket is the first, and
    D(t1, B1) = {dyspepsia .5, flu .5} is p(t1, .).
    """
    view = View.of(sliced)
    t1 = view.of_people(microdata(), np.array([0]))

    (found,) = matches(view, t1)
    assert len(found.tuple) == 1
    degrees = [
        Fraction(int(side.count[at[0]]), int(side.within[at[0]]))
        for side, i in zip(view.sides, t1[0], strict=True)
        for at in [side.find(found.bucket, i)[0]]
    ]
    assert degrees == [Fraction(1, 4), Fraction(2, 4)]
    assert Fraction(found.above[0], found.below[0]) == Fraction(1, 8)

    ((_, p),) = distributions(view, t1, "shares")
    assert dict(zip(view.sensitive.values.gather(p.values), p.shares, strict=True)) == {
        "dyspepsia": HALF,
        "flu": HALF,
    }


def test_the_table_is_two_diverse_and_not_more(sliced):
    """p(t, s) = 1/2 is accepted at l = 2, as the paper's definition and example have it, and
    nothing above.
    """
    (verdict,) = SlicedDiversity(l=2).check(sliced)
    assert verdict.holds and verdict.worst == HALF
    assert not SlicedDiversity(l="201/100").check(sliced)[0].holds


def test_every_tuple_of_the_example(sliced):
    """All eight tuples match their own bucket alone, and two diseases have 1/2 each."""
    view = View.of(sliced)
    found = {
        i: dict(zip(view.sensitive.values.gather(p.values), p.shares, strict=True))
        for i, p in distributions(view, view.of_people(microdata(), np.arange(8)), "shares")
    }
    pairs = {
        0: {"dyspepsia", "flu"},
        1: {"dyspepsia", "flu"},
        2: {"flu", "bronchitis"},
        3: {"flu", "bronchitis"},
    }
    pairs |= {
        4: {"flu", "dyspepsia"},
        5: {"flu", "dyspepsia"},
        6: {"dyspepsia", "gastritis"},
        7: {"dyspepsia", "gastritis"},
    }
    assert found == {i: dict.fromkeys(pair, HALF) for i, pair in pairs.items()}


def test_a_row_belongs_to_nobody(sliced):
    """What is published are the paper's columns, bucket by bucket: the values of both columns, and
    no link between them.
    """
    published = sliced.parts
    ids = published[0]["bucket"].unique().to_list()
    by_bucket = [
        {b: part.filter(pl.col("bucket") == b).drop("bucket", "count").rows() for b in ids}
        for part in published
    ]
    own = [
        [(age, sex) for age, sex, _, _ in TABLE[:4]],
        [(age, sex) for age, sex, _, _ in TABLE[4:]],
    ]
    sides = [
        [(zip_, ill) for _, _, zip_, ill in TABLE[:4]],
        [(zip_, ill) for _, _, zip_, ill in TABLE[4:]],
    ]
    expected = [
        (sorted(set(one)), sorted(set(other))) for one, other in zip(own, sides, strict=True)
    ]
    assert sorted((sorted(by_bucket[0][b]), sorted(by_bucket[1][b])) for b in ids) == sorted(
        expected
    )
