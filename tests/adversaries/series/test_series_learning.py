# SPDX-License-Identifier: Apache-2.0
"""Learning over a series: planted series that teach and that do not, a slow twin, and one release
as its own learner has it.
"""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import sightings as naive
from phalanx import Posterior, SeriesLearning
from phalanx.adversaries.series import sightings
from phalanx.release.evidence.evidence import Evidence
from support.series_cases import released, slow


def crowd(n=1500, seed=1):
    """Persons on a line, in four places that half of them have one of two values from, and the
    others any of eight.
    """
    rng = np.random.default_rng(seed)
    people = []
    for i in range(n):
        place = int(rng.integers(4))
        pool = ("sw", "tx", "uy", "vz")[place] if rng.random() < 0.5 else "stuvwxyz"
        people.append((f"p{i}", i, "mnop"[place], pool[rng.integers(len(pool))]))
    return people


def cuts(n, size, shift):
    """Groups of neighbours, cut at other places for other shifts."""
    return [(i + shift) // size for i in range(n)]


def test_a_series_that_teaches():
    """Three releases of groups that differ, with values that go with a quasi-identifier: right far
    more often than by one release, and than by the law.

    Each time the interval is above the other one.
    """
    people = crowd()
    releases, evidence = released([people] * 3, [cuts(1500, 6, shift) for shift in (0, 2, 4)])
    found = SeriesLearning().attack(releases, evidence)

    assert found.persons == 1500
    assert found.interval[0] > 1.3 * found.alone_interval[1]
    assert found.alone_interval[0] > found.baseline
    assert found.interval[0] > 1.3 * found.by_law_interval[1]
    assert (
        found.alone
        == Posterior(by="learning")
        .attack(releases[2:], Evidence(microdata={3: evidence.microdata[3]}))
        .success
    )


def couples(seed=4):
    """Groups of two persons with two of four values, the same in every release, and nothing that
    goes with values; the groups beside them.
    """
    rng = np.random.default_rng(seed)
    values = [v for _ in range(600) for v in rng.permutation(list("stuv"))[:2]]
    return [(f"p{i}", i // 2, "xy"[rng.integers(2)], str(v)) for i, v in enumerate(values)], [
        i // 2 for i in range(1200)
    ]


def test_a_series_that_does_not():
    """Groups of two that stay as they are, and nothing that goes with their values: learning is
    right as often as a coin, and where something does, is not.

    Each group gives a share from 0 to 1, independently of the others: by Hoeffding's inequality the
    mean over g groups is off by more than sqrt(ln(2 / alpha) / (2 g)) with probability alpha, 1e-6.
    """
    people, groups = couples()
    found = SeriesLearning().attack(*released([people] * 3, [groups] * 3))
    allowed = sqrt(log(2 / 1e-6) / (2 * 600))

    assert abs(found.success - 1 / 2) < allowed
    assert (found.exposed, found.histogram) == (0, {2: 1200})
    taught = [(who, a, "xy"[s in "su"], s) for who, a, _, s in people]
    assert SeriesLearning().attack(*released([taught] * 3, [groups] * 3)).success - 1 / 2 > allowed


@st.composite
def series(draw):
    """Up to seven persons of few values in one to three releases, all or some of them in each,
    their values kept or not, in up to three groups each.
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
    keep = draw(st.booleans())
    tables, groups = [], []
    for _ in range(draw(st.integers(1, 3))):
        those = draw(st.lists(st.sampled_from(people), min_size=1, max_size=n, unique=True))
        tables.append(
            those if keep else [(who, a, b, draw(st.sampled_from("stu"))) for who, a, b, _ in those]
        )
        groups.append(draw(st.lists(st.integers(0, 2), min_size=len(those), max_size=len(those))))
    return tables, groups


def judged(probability, true):
    """How often the most probable value is right, of slow probabilities."""
    likely = {
        who: [v for v, x in of.items() if x >= max(of.values()) * (1 - 1e-9)]
        for who, of in probability.items()
    }
    return sum((true[who] in values) / len(values) for who, values in likely.items()) / len(true)


@given(series())
@settings(max_examples=80, deadline=None)
def test_the_twin_agrees(case):
    """Everybody's probabilities after one fit, and what the releases multiply to, are those of the
    slow twin.
    """
    tables, groups = case
    releases, evidence = released(tables, groups)
    seen = sightings.Sightings.of([(release, evidence) for release in releases])
    rows = [row for table in tables for row in table]
    everywhere = {
        v: sum(row[-1] == v for row in rows) / len(rows) for v in {row[-1] for row in rows}
    }
    persons = dict.fromkeys(who for who, *_ in rows)
    expected = naive.together(slow(tables, groups), persons, everywhere)
    names = {
        h: who
        for release, table in zip(seen.each, tables, strict=True)
        for h, (who, *_) in zip(release.microdata.persons, table, strict=True)
    }
    values = seen.values.domain.to_list()

    everyone = np.arange(len(seen.persons))
    table = seen.together(range(len(releases)), everyone)
    found = [{} for _ in everyone]
    for person, value, p in zip(table.person, table.value, table.p, strict=True):
        found[person][values[value]] = p
    for person, p in zip(seen.persons, found, strict=True):
        assert p == pytest.approx(expected[names[person]])


@given(series())
@settings(max_examples=40, deadline=None)
def test_some_persons_have_what_they_have_among_all(case):
    """Persons who are taken some at a time have what they have among all, nobody is left out, and
    no more are taken at once than fit.
    """
    releases, evidence = released(*case)
    seen = sightings.Sightings.of([(release, evidence) for release in releases])
    everyone = np.arange(len(seen.persons))
    at_once = seen.together(range(len(releases)), everyone)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sightings, "_AT_ONCE", 3)
        blocks = list(seen.in_blocks(everyone))

    entries = np.zeros(len(everyone), dtype=np.int64)
    for sighting in seen.each:
        entries[sighting.who] += sighting.open
    assert np.concatenate(blocks).tolist() == everyone.tolist()
    assert all(entries[some[1:]].sum() < 3 for some in blocks)
    for some in blocks:
        own = seen.together(range(len(releases)), some)
        those = np.isin(at_once.person, some)
        assert some[own.person].tolist() == at_once.person[those].tolist()
        assert own.value.tolist() == at_once.value[those].tolist()
        assert own.p == pytest.approx(at_once.p[those])


def test_what_is_kept_grows_with_what_is_possible():
    """Groups of two of 300 values: two entries for each of 1,200 persons, where a table of persons
    and values would have 300.
    """
    people = [(f"p{i}", i, "x", f"s{(i % 2 + i // 2) % 300}") for i in range(1200)]
    releases, evidence = released([people] * 2, [cuts(1200, 2, 0)] * 2)
    seen = sightings.Sightings.of([(release, evidence) for release in releases])

    assert len(seen.together([0, 1], np.arange(1200)).p) == 2400
    assert SeriesLearning().attack(releases, evidence).histogram == {2: 1200}


@given(series())
@settings(max_examples=60, deadline=None)
def test_the_learner_is_its_twin(case):
    """How often the learner is right is what the slow learner says, where no two values of a person
    are nearly equally probable.
    """
    tables, groups = case
    releases, evidence = released(tables, groups)
    found = SeriesLearning().attack(releases, evidence)
    rows = [row for table in tables for row in table]
    everywhere = {
        v: sum(row[-1] == v for row in rows) / len(rows) for v in {row[-1] for row in rows}
    }
    people, true = {who: (a, b) for who, a, b, _ in rows}, {who: s for who, *_, s in rows}
    slowly = naive.learned(people, slow(tables, groups), everywhere)
    nearly = [sorted(p.values(), reverse=True) for p in slowly.values()]

    assert found.persons == len(people)
    if all(len(p) < 2 or p[0] > p[1] * (1 + 1e-6) for p in nearly):
        assert found.success == pytest.approx(judged(slowly, true))


@given(series())
@settings(max_examples=60, deadline=None)
def test_one_release_is_learned_as_by_its_own_learner(case):
    """Of one release the learner of a series is the learner of a release."""
    tables, groups = case
    releases, evidence = released(tables[:1], groups[:1])
    found = SeriesLearning().attack(releases, evidence)
    one = Posterior(by="learning").attack(releases, evidence)

    assert (found.persons, found.exposed, found.histogram) == (
        one.persons,
        one.exposed,
        one.histogram,
    )
    assert found.success == pytest.approx(found.alone) == pytest.approx(one.success)


def test_a_learner_that_does_not_fit_is_seen(monkeypatch):
    """The comparison with the learner of one release refuses a series' learner that lets groups
    hold more than they do.
    """
    people = crowd(200)
    releases, evidence = released([people], [cuts(200, 4, 0)])
    monkeypatch.setattr(
        "phalanx.adversaries.series.series_learning._fitted", lambda *given: given[-1]
    )
    assert SeriesLearning().attack(releases, evidence).success != pytest.approx(
        Posterior(by="learning").attack(releases, evidence).success
    )


def test_changed_values_are_counted():
    """Persons whose value changed are counted in the note, and judged by their last one; and the
    JSON has the documented keys.
    """
    before, after = (
        [("p", 1, "x", "s"), ("q", 2, "y", "t")],
        [("p", 1, "x", "t"), ("q", 2, "y", "t")],
    )
    found = SeriesLearning().attack(*released([before, after], [[0, 1], [0, 1]]))

    assert found.success == 1
    assert "1 person(s) changed the sensitive value" in found.note
    assert list(found.to_json())[8:] == [
        "interval",
        "alone",
        "alone_interval",
        "by_law",
        "by_law_interval",
    ]
