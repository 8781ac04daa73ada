# SPDX-License-Identifier: Apache-2.0
"""The membership adversary: its figures against lists of all candidates and of all arrangements of
small tables.
"""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from math import prod
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adversaries.groups.test_posterior import COLUMNS, QUASI, WORKED, encoded, published
from phalanx.adversaries import Membership
from phalanx.adversaries.groups import matching, membership
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import ReleaseError
from phalanx.release.evidence.evidence import Evidence

NAMES = (*QUASI, "s")


def attack(rows, buckets, *, columns=COLUMNS, people=None):
    """What it finds in a sliced release of the rows; ``people``: the original table where it is
    another one.
    """
    microdata = encoded(rows)
    original = microdata if people is None else encoded(people)
    return Membership().attack(
        [published("sliced", microdata, buckets, columns)], Evidence(microdata={1: original})
    )


def cut(row, columns):
    """A row's value in every column."""
    return tuple(
        tuple(dict(zip(NAMES, row, strict=True))[name] for name in column) for column in columns
    )


def candidates(rows, buckets, columns):
    """Every candidate with its number of matching buckets and its degree, by listing them."""
    numbers, degrees = Counter(), Counter()
    for b in set(buckets):
        inside = [cut(row, columns) for row, own in zip(rows, buckets, strict=True) if own == b]
        counts = [Counter(values) for values in zip(*inside, strict=True)]
        for candidate in product(*counts):
            numbers[candidate] += 1
            degrees[candidate] += prod(
                (Fraction(c[v], len(inside)) for c, v in zip(counts, candidate, strict=True)),
                start=Fraction(1),
            )
    return numbers, degrees


def certain(rows, buckets, columns):
    """The tuples that every arrangement of some bucket's columns holds, by listing the
    arrangements.
    """
    found = set()
    for b in set(buckets):
        first, *others = zip(
            *[cut(row, columns) for row, own in zip(rows, buckets, strict=True) if own == b],
            strict=True,
        )
        arrangements = [
            set(zip(first, *arranged, strict=True))
            for arranged in product(*(set(permutations(values)) for values in others))
        ]
        found |= set.intersection(*arrangements)
    return found


def counted(true, fake):
    """The area under the curve by comparing every pair."""
    return (
        sum((a > b) + (a == b) / 2 for a in true for b in fake) / (len(true) * len(fake))
        if fake
        else 0.5
    )


@st.composite
def small(draw):
    """Up to 9 rows of few values in buckets of up to 4, in two or three columns."""
    row = st.tuples(
        st.integers(1, 3), st.sampled_from("xy"), st.sampled_from("mn"), st.sampled_from("st")
    )
    rows = draw(st.lists(row, min_size=1, max_size=9))
    buckets = [i // 4 for i in range(len(rows))]
    return (
        rows,
        buckets,
        draw(
            st.sampled_from(
                [
                    COLUMNS,
                    (("a", "b", "c"), ("s",)),
                    (("a",), ("b", "c", "s")),
                    (("a",), ("b",), ("c", "s")),
                ]
            )
        ),
    )


@given(small(), st.sampled_from([0, matching.FEW_PAIRS]))
@settings(max_examples=150, deadline=None)
def test_figures_are_those_of_all_candidates(case, few):
    """Originals and fakes by number of matching buckets, both areas, and who must be in the table;
    drawn figures, of other than two columns where even few are, within their margin.
    """
    rows, buckets, columns = case
    with mock.patch.multiple(matching, DRAWN=20_000, FEW_PAIRS=few):
        found = attack(rows, buckets, columns=columns)
    numbers, degrees = candidates(rows, buckets, columns)
    originals = {cut(row, columns) for row in rows}
    fakes = set(numbers) - originals

    own = [cut(row, columns) for row in rows]
    assert (found.persons, found.tuples) == (len(rows), len(originals))
    assert found.histogram == dict(Counter(numbers[o] for o in own))
    assert found.exposed == sum(o in certain(rows, buckets, columns) for o in own)
    assert found.per_person["candidates"].to_list() == [numbers[cut(row, columns)] for row in rows]
    assert found.per_person["exposed"].to_list() == [
        cut(row, columns) in certain(rows, buckets, columns) for row in rows
    ]
    assert found.drawn == (len(columns) > 2 and few == 0)
    margin = {"rel": 0.08, "abs": 0.08} if found.drawn else {"rel": 1e-9}
    assert found.fakes == pytest.approx(len(fakes), **margin)
    assert dict(found.of_fakes) == pytest.approx(dict(Counter(numbers[f] for f in fakes)), **margin)
    for area, score in ((found.by_number, numbers), (found.by_degree, degrees)):
        assert area.area == pytest.approx(
            counted([score[o] for o in own], [score[f] for f in fakes]), **margin
        )
        assert area.low <= area.area <= area.high


def test_a_careless_certainty_is_seen(monkeypatch):
    """The list of arrangements refuses an adversary that is sure of whatever is frequent in every
    column.
    """
    rows = [(1, "x", "m", "s"), (1, "x", "m", "t"), (2, "x", "n", "s"), (3, "x", "m", "s")]
    true = sum(cut(row, COLUMNS) in certain(rows, [0] * 4, COLUMNS) for row in rows)
    assert attack(rows, [0] * 4).exposed == true
    careless = lambda columns, sizes: np.stack(  # noqa: E731
        [membership._most_frequent(c, len(sizes))[0] for c in columns], axis=1
    )
    monkeypatch.setattr(membership, "_certain", careless)
    assert attack(rows, [0] * 4).exposed != true


def test_persons_with_equal_tuples_count_as_often_as_there_are():
    """Nine persons of one tuple that stands before all fakes, and one whose tuple is level with
    them: nine of ten, and not one of two, stand before half of the rest.
    """
    rows = [(1, "x", "m", "s")] * 9 + [(2, "y", "n", "t")]
    found = attack(rows, [0] * 10, columns=(("a", "b"), ("c", "s")))

    assert (found.persons, found.tuples, found.fakes) == (10, 2, 2)
    assert found.by_degree.area == pytest.approx(0.9)  # degrees .81 and .01 beside twice .09
    assert found.by_number.area == 0.5


def test_majorities_that_must_meet():
    """Three of four with one value and two of four with another may be apart in no arrangement; two
    and two may.
    """
    rows = [(1, "x", "m", "s"), (1, "x", "m", "s"), (1, "x", "n", "t"), (2, "x", "n", "u")]
    found = attack(rows, [0] * 4, columns=(("a",), ("b", "c", "s")))

    assert found.per_person["exposed"].to_list() == [True, True, False, False]
    assert (
        attack([*rows[:2], *rows[3:] * 2], [0] * 4, columns=(("a",), ("b", "c", "s"))).exposed == 0
    )


def test_the_papers_example():
    """Each bucket of the worked example leaves four ages and sexes with four zips and diseases
    open, or fewer where values repeat; every tuple matches one.
    """
    found = attack(WORKED, [0] * 4 + [1] * 4)

    assert (found.persons, found.histogram, found.of_fakes) == (
        8,
        {1: 8},
        {1: 4 * 4 - 4 + 3 * 4 - 4 + 0},
    )
    assert (found.by_number.area, found.exposed, found.success) == (pytest.approx(0.5), 0, None)


def test_everybody_else_is_left_out():
    """Persons whose values no bucket leaves open are counted in the note; where nobody is left
    nothing can be said.
    """
    found = attack(
        WORKED,
        [0, 1] * 4,
        people=[*WORKED, (70, "F", "47304", "flu"), (22, "M", "47304", "gastritis")],
    )
    assert found.persons == 8
    assert "2 person(s) of the original table match no bucket" in found.note
    nobody = attack(WORKED, [0, 1] * 4, people=[(70, "F", "47304", "flu")])
    assert (
        nobody.persons,
        nobody.fakes,
        nobody.by_degree.area,
        nobody.by_degree.low,
        nobody.by_degree.high,
    ) == (0, 0, 0.5, 0, 1)


def test_the_ledger_says_who_was_published():
    """With the mapping, somebody who was suppressed is no original, though the release leaves them
    open.
    """
    rows = [(1, "x", "m", "s"), (2, "x", "n", "t")]
    microdata = encoded([*rows, (1, "x", "n", "t")], persons=True)
    sliced = published("sliced", encoded(rows), [0, 0])
    mapping = pl.DataFrame({"person": microdata.persons, "group": [1, 1, 0]})

    assert Membership().attack([sliced], Evidence(microdata={1: microdata})).persons == 3
    assert (
        Membership()
        .attack([sliced], Evidence(groups={1: mapping}, microdata={1: microdata}))
        .persons
        == 2
    )


def test_without_a_sensitive_attribute():
    """A table without one is ranked by its columns all the same."""
    microdata = Microdata.encode(pl.DataFrame({"a": [1, 2], "b": [1, 2]}), Schema(quasi=["a", "b"]))
    found = Membership().attack(
        [published("sliced", microdata, [0, 0], (("a",), ("b",)))],
        Evidence(microdata={1: microdata}),
    )

    assert (found.persons, found.fakes, found.by_degree.area) == (2, 2, 0.5)


def test_drawing_is_said_and_gives_the_same_figures_again(monkeypatch):
    """Where fakes are too many to list, the note says so, and asking again gives the same."""
    monkeypatch.setattr(matching, "MOST_PAIRS", 1)
    found, again = (attack(WORKED, [0, 1] * 4) for _ in range(2))

    assert found.drawn
    assert "estimated from a sample" in found.note
    assert found.to_json() == again.to_json()


def test_the_json_has_the_documented_keys():
    """Those of every attack, and the membership adversary's own."""
    found = attack(WORKED, [0] * 4 + [1] * 4).to_json()

    assert list(found) == [
        "adversary", "knows", "persons", "exposed", "success", "baseline", "candidates", "note",
        "tuples", "fakes", "drawn", "by_number", "by_degree", "fake_candidates",
    ]  # fmt: skip
    assert found["by_number"] == {"area": 0.5, "interval": [0.5, 0.5]}
    assert (found["candidates"], found["fake_candidates"]) == ({"1": 8}, {"1": 20.0})


def test_what_is_missing_is_named():
    """One sentence for several releases, another form, no original table, files that contradict
    themselves, and shared attributes.
    """
    microdata = encoded(WORKED)
    evidence, one = Evidence(microdata={1: microdata}), published("sliced", microdata, [0, 1] * 4)
    with pytest.raises(ReleaseError, match="one release at a time, and 2 are given"):
        Membership().attack([one, one], evidence)
    with pytest.raises(ReleaseError, match="and this one is bucketized"):
        Membership().attack([published("bucketized", microdata, [0, 1] * 4)], evidence)
    with pytest.raises(ReleaseError, match="release 1 has no original table"):
        Membership().attack([one], Evidence())
    with pytest.raises(ReleaseError, match="columns of the release share attributes"):
        Membership().attack(
            [published("sliced", microdata, [0, 1] * 4, (("a", "b"), ("b", "c", "s")))], evidence
        )
