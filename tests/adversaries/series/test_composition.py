# SPDX-License-Identifier: Apache-2.0
"""The composition adversary: two publishers who cut differently, two who cut alike, and a slow
twin.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import sightings as naive
from phalanx import Composition
from phalanx.adversaries.base import wilson
from phalanx.errors import ReleaseError
from phalanx.release.evidence.evidence import Evidence
from support.series_cases import released, slow


def play(first, second):
    """What the adversary finds in two publishers' series, each (tables, groups)."""
    releases, evidence = released(*first)
    beside, known = released(*second)
    return Composition(beside=beside, known=known).attack(releases, evidence)


def crowd(n=2000, seed=1):
    """Persons on a line, each with one of four values that nothing tells."""
    rng = np.random.default_rng(seed)
    return [(f"p{i}", i, "x", "stuv"[rng.integers(4)]) for i in range(n)]


def cuts(n, size, shift):
    """Groups of neighbours, the first of ``shift`` persons."""
    return [(i + size - shift) // size for i in range(n)]


def test_two_who_cut_differently_expose():
    """Groups of four neighbours, cut at other places: a person's two groups share two persons, and
    whoever's groups share one value alone is exposed.

    Counted the slow way, with sets; each publisher alone exposes fewer than a fifth as many, and
    its interval is below that of both.
    """
    people = crowd()
    one, two = cuts(2000, 4, 4), cuts(2000, 4, 2)
    found = play(([people], [one]), ([people], [two]))
    alone = [
        {g: {s for (*_, s), own in zip(people, of, strict=True) if own == g} for g in set(of)}
        for of in (one, two)
    ]
    left = [alone[0][a] & alone[1][b] for a, b in zip(one, two, strict=True)]

    assert found.persons == 2000
    assert found.exposed == sum(len(values) == 1 for values in left) > 200
    assert found.exposed > 5 * max(exposed for exposed, _ in found.alone)
    assert found.interval[0] > wilson(max(success for _, success in found.alone), 2000)[1]
    assert max(success for _, success in found.alone) > found.baseline


def test_two_who_cut_alike_tell_nothing_more():
    """The same groups twice: nobody more is exposed, and the most probable value is right as often
    as by one of them.
    """
    people = crowd()
    found = play(([people], [cuts(2000, 4, 4)]), ([people], [cuts(2000, 4, 4)]))

    assert found.alone[0] == found.alone[1] == (found.exposed, pytest.approx(found.success))


@st.composite
def pairs(draw):
    """Up to seven persons of few values, all or some of them in either table, in up to three groups
    each.
    """
    n = draw(st.integers(1, 7))
    people = [
        (
            f"p{i}",
            draw(st.integers(0, 4)),
            draw(st.sampled_from("xy")),
            draw(st.sampled_from("stu")),
        )
        for i in range(n)
    ]
    sides = []
    for _ in range(2):
        those = draw(st.lists(st.sampled_from(people), min_size=1, max_size=n, unique=True))
        sides.append(
            ([those], [draw(st.lists(st.integers(0, 2), min_size=len(those), max_size=len(those)))])
        )
    return sides


@given(pairs())
@settings(max_examples=150, deadline=None)
def test_the_twin_agrees(sides):
    """Persons in both, those exposed, by both and by each, and how often the most probable value is
    right, are those of the slow twin.
    """
    (first, second) = sides
    both = (
        {row[0]: row[-1] for row in first[0][0]}
        if (common := {row[0] for row in first[0][0]} & {row[0] for row in second[0][0]})
        else {}
    )
    true = {who: s for who, s in both.items() if who in common}
    if not true:
        with pytest.raises(ReleaseError, match="no person is in the releases of both publishers"):
            play(first, second)
        return
    releases = [*slow(*first), *slow(*second)]
    rows = [row for side in (first, second) for row in side[0][0]]
    everywhere = {
        v: sum(row[-1] == v for row in rows) / len(rows) for v in {row[-1] for row in rows}
    }
    found = play(first, second)

    def judged(those):
        p = naive.together(those, true, everywhere)
        likely = {
            who: [v for v, x in of.items() if x >= max(of.values()) * (1 - 1e-9)]
            for who, of in p.items()
        }
        exposed = sum(set(of) == {true[who]} for who, of in p.items())
        return exposed, pytest.approx(
            sum((true[who] in values) / max(len(values), 1) for who, values in likely.items())
            / len(true)
        )

    assert found.persons == len(true)
    assert (found.exposed, found.success) == judged(releases)
    assert found.alone == (judged(releases[:1]), judged(releases[1:]))


def test_who_contradicts_whom():
    """Somebody whose value is another one in the second table: the two leave nothing, and the note
    counts it.
    """
    people = [("p", 1, "x", "s"), ("q", 2, "x", "t")]
    changed = [("p", 1, "x", "u"), ("q", 2, "x", "t")]
    found = play(([people], [[0, 1]]), ([changed], [[0, 1]]))

    assert (found.persons, found.exposed, found.histogram) == (2, 1, {0: 1, 1: 1})
    assert "contradict each other about 1 person(s)" in found.note


def test_what_is_missing_is_named():
    """No persons beside a release; and the JSON has the documented keys."""
    people = crowd(8)
    releases, evidence = released([people], [[0] * 8])
    with pytest.raises(ReleaseError, match="has no original table"):
        Composition(beside=releases, known=Evidence()).attack(releases, evidence)
    found = Composition(beside=releases, known=evidence).attack(releases, evidence).to_json()
    assert list(found)[8:] == ["interval", "alone"]
    assert [list(side) for side in found["alone"]] == [["exposed", "success"]] * 2
