# SPDX-License-Identifier: Apache-2.0
"""The omniscient adversary: hand-computed releases, a slow twin that goes through all assignments,
calibration, and what it refuses.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from naive import omniscient as naive
from phalanx.adversaries import Omniscient
from phalanx.adversaries.base import wilson
from phalanx.adversaries.records import assignments, by_person, kinds, omniscient, outcomes
from phalanx.adversaries.records import rows as record_rows
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PlanError, ReleaseError
from phalanx.guarantees.mutual_cover.drawn_rows import DrawnRows
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.forms.generalized import generalize
from support.perturbed_cases import Drawing, codes_of, of_form, people, perturbed, random_drawing


def world(seed):
    """Up to 8 persons in up to 3 groups, tables of their own, and a release drawn from them:
    microdata, drawing, what everybody shows.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    group = np.unique(rng.integers(0, rng.integers(1, 4), n), return_inverse=True)[1]
    rows = [
        (
            int(rng.integers(3)) or None,
            "xyz"[rng.integers(3)],
            "mn"[rng.integers(2)],
            "stu"[rng.integers(3)],
        )
        for _ in range(n)
    ]
    microdata = people(rows)
    drawing = random_drawing(microdata, group, rng)
    return rows, microdata, drawing, drawing.draw(microdata, rng)


def beliefs_of(microdata, drawing, shown):
    """By person: row's person -> probability, by the twin."""
    own, found = drawing.own(microdata), {}
    for g in set(drawing.group):
        members = [t for t, of in enumerate(drawing.group) if of == g]
        laws = {t: drawing.law(own[t], g) for t in members}
        p = naive.posterior(
            [[laws[t].get(shown[r], Fraction(0)) for r in members] for t in members]
        )
        found |= {
            t: {r: x for r, x in zip(members, row, strict=True) if x}
            for t, row in zip(members, p, strict=True)
        }
    return [found[t] for t in range(len(own))]


def agrees(found, secrets, expected):
    """Fails where what the adversary found is not what the twin's probabilities of everybody's rows
    say.
    """
    n = len(secrets)
    values = [Counter() for _ in secrets]
    for t, p in enumerate(expected):
        for r, x in p.items():
            values[t][secrets[r]] += x
    assert found.per_person["identity"].to_list() == pytest.approx(
        [float(p[t]) for t, p in enumerate(expected)]
    )
    assert found.per_person["attribute"].to_list() == pytest.approx(
        [float(v[s]) for v, s in zip(values, secrets, strict=True)]
    )
    assert found.per_person["candidates"].to_list() == list(map(len, expected))
    assert found.identity == pytest.approx(float(sum(p[t] for t, p in enumerate(expected))) / n)
    assert found.attribute == pytest.approx(
        float(sum(v[s] for v, s in zip(values, secrets, strict=True))) / n
    )
    assert found.named == pytest.approx(float(sum(first(p, t) for t, p in enumerate(expected))) / n)
    assert found.success == pytest.approx(
        float(sum(first(v, s) for v, s in zip(values, secrets, strict=True))) / n
    )
    assert found.largest == pytest.approx(float(max(max(v.values()) for v in values)))
    assert found.largest_identity == pytest.approx(float(max(max(p.values()) for p in expected)))
    assert found.exposed == sum(len(p) == 1 for p in expected)
    assert found.approximate == 0


def first(chances, right):
    """How often naming one of the most probable is right."""
    most = [x for x, p in chances.items() if p == max(chances.values())]
    return Fraction(right in most, len(most))


@pytest.mark.parametrize("seed", range(60))
def test_everybody_has_the_twins_probabilities(seed):
    """Everybody's probabilities, and all figures, are those of going through all assignments of
    rows in fractions.
    """
    rows, microdata, drawing, shown = world(seed)
    release, evidence = drawing.publish(microdata, shown)
    agrees(
        Omniscient().attack([release], evidence),
        [row[-1] for row in rows],
        beliefs_of(microdata, drawing, shown),
    )


def test_a_wrong_law_is_seen(monkeypatch):
    """The comparison with the twin refuses an adversary that forgets in which order attributes were
    drawn together.
    """

    def caught(seed):
        rows, microdata, drawing, shown = world(seed)
        release, evidence = drawing.publish(microdata, shown)
        try:
            agrees(
                Omniscient().attack([release], evidence),
                [row[-1] for row in rows],
                beliefs_of(microdata, drawing, shown),
            )
        except (AssertionError, ReleaseError):
            return True
        return False

    assert not any(map(caught, range(20)))
    right = outcomes.changed_together
    monkeypatch.setattr(
        outcomes,
        "changed_together",
        lambda leave, _, whole: right(leave, (0, 1, 2), whole),
    )
    assert sum(map(caught, range(20))) > 3


EVEN, SWAP = [[6, 6], [6, 6]], [[0, 12], [12, 0]]


def two(table, second=None):
    """Two persons who differ in a, with the table; with ``second``, in b, too."""
    microdata = people([(1, "x", "m", "s"), (2, "x" if second is None else "y", "m", "t")])
    one = [[12]]
    return microdata, Drawing(
        [0, 0], {(0, 0): table, (0, 1): second or one, (0, 2): one}, 12, (0, 1, 2)
    )


def test_who_covers_for_whom():
    """Two who publish each other's value for sure are known; two who publish either alike are not
    told apart; whatever they show.
    """
    microdata, drawing = two(SWAP)
    release, evidence = drawing.publish(microdata, [(1, 0, 0), (0, 0, 0)])
    sure = Omniscient().attack([release], evidence)
    microdata, drawing = two(EVEN)
    for shown in ([(1, 0, 0), (0, 0, 0)], [(0, 0, 0), (1, 0, 0)], [(1, 0, 0), (1, 0, 0)]):
        release, evidence = drawing.publish(microdata, shown)
        even = Omniscient().attack([release], evidence)
        assert (
            even.identity,
            even.attribute,
            even.named,
            even.largest,
            even.exposed,
            even.histogram,
        ) == (0.5, 0.5, 0.5, 0.5, 0, {2: 2})

    assert (
        sure.identity,
        sure.attribute,
        sure.named,
        sure.success,
        sure.largest,
        sure.exposed,
        sure.histogram,
    ) == (1, 1, 1, 1, 1, 2, {1: 2})


def test_odds_multiply_over_an_assignment():
    """Where each keeps the value with 3/4, rows that look like the others' are swapped with 1/9 to
    1: the square of the odds of one row.
    """
    microdata, drawing = two([[9, 3], [3, 9]])
    release, evidence = drawing.publish(microdata, [(0, 0, 0), (1, 0, 0)])

    assert Omniscient().attack([release], evidence).identity == pytest.approx(81 / 90)


def test_drawn_together_tells_more():
    """Two attributes of which just one changes each time: a row that shows both of the other's
    values cannot be one's own.
    """
    microdata, drawing = two(EVEN, EVEN)
    assert drawing.law((0, 0, 0), 0) == {(1, 0, 0): Fraction(1, 2), (0, 1, 0): Fraction(1, 2)}
    release, evidence = drawing.publish(microdata, [(1, 0, 0), (1, 0, 0)])

    assert Omniscient().attack([release], evidence).identity == 0.5


def test_it_is_as_right_as_it_says():
    """Calibration, by draws: over 400 releases the mean probability of the own row is that of a
    random row drawn by the posterior, within five deviations.
    """
    rng = np.random.default_rng(11)
    microdata = people(
        [(int(rng.integers(4)), "xyz"[i % 3], "mn"[i % 2], "st"[i % 2]) for i in range(8)]
    )
    for _ in range(2):
        drawing = random_drawing(microdata, [0] * 8, rng)
        gap = []
        for _ in range(200):
            release, evidence = drawing.publish(
                microdata, drawing.draw(microdata, rng), int(rng.integers(1 << 30))
            )
            drawn = rows_of(release, evidence)
            persons, rows = kinds.kinds_of(drawn)
            believed = by_person.believed_of(outcomes.Outcomes(drawn), (persons, rows), None)
            p = np.zeros((len(persons.many), len(rows.many)))
            p[believed.pairs.person, believed.pairs.row] = believed.probability
            own = p[persons.of, rows.of]
            gap.append(own.sum() - (p**2 * np.outer(persons.many, rows.many)).sum())
        assert abs(np.mean(gap)) < 5 * np.std(gap) / np.sqrt(len(gap))
        assert np.std(gap) > 0.05


def rows_of(release, evidence):
    return DrawnRows.of(evidence.parts[1], evidence.microdata[1], release.form, evidence.rows[1])


@pytest.mark.parametrize("seed", range(4, 8))
@pytest.mark.parametrize(("room", "pairs"), [(kinds, 1), (by_person, 1), (by_person, 9)])
def test_parts_say_what_the_whole_says(room, pairs, seed, monkeypatch):
    """Pairs that are gone through a few at a time, and groups that are weighed a few at a time, give
    the same of each person.
    """
    _, microdata, drawing, shown = world(seed)
    release, evidence = drawing.publish(microdata, shown)
    whole = Omniscient().attack([release], evidence)
    monkeypatch.setattr(room, "_AT_ONCE", pairs)
    parts = Omniscient().attack([release], evidence)

    assert parts.to_json() == whole.to_json()
    assert_frame_equal(parts.per_person, whole.per_person)


def test_approximate_persons_are_counted(monkeypatch):
    """Where a sum would take too many states it is believed instead, which is counted and said; for
    two persons alike nothing is lost.
    """
    microdata, drawing = two(EVEN)
    release, evidence = drawing.publish(microdata, [(1, 0, 0), (0, 0, 0)])
    monkeypatch.setattr(assignments, "MOST_STATES", 0)
    monkeypatch.setattr(by_person, "posterior", lambda pairs, **_: assignments.posterior(pairs, 0))
    found = Omniscient().attack([release], evidence)

    assert (found.approximate, found.note) == (
        2,
        "the probabilities of 2 person(s) are approximate",
    )
    assert found.identity == pytest.approx(0.5)


def test_groups_are_drawn():
    """With a sample, groups are drawn until they have so many persons; what is said of these is
    what is said of them among all, and an interval counts groups.
    """
    rng = np.random.default_rng(9)
    microdata = people(
        [(int(rng.integers(4)), "xy"[i % 2], "mn"[i // 5 % 2], "stu"[i % 3]) for i in range(300)],
        persons=True,
    )
    drawing = random_drawing(microdata, np.arange(300) // 5, rng)
    release, evidence = drawing.publish(microdata, drawing.draw(microdata, rng))
    everybody, some, again = (
        Omniscient(sample=sample).attack([release], evidence) for sample in (None, 121, 121)
    )
    common = everybody.per_person.join(
        some.per_person.select("person"), on="person", how="semi", maintain_order="left"
    )

    assert (everybody.sample, Omniscient(sample=300).attack([release], evidence).sample) == (
        None,
        None,
    )
    assert (some.sample, some.persons, some.note) == (
        125,
        125,
        "125 of 300 persons were drawn, by groups",
    )
    assert some.per_person.equals(again.per_person)
    assert some.per_person.sort("person").equals(common.sort("person"))
    assert some.identity_interval == wilson(some.identity, 25)
    assert some.named_interval == wilson(some.named, 25)
    assert some.identity_interval[0] < everybody.identity < some.identity_interval[1]


def test_a_release_without_sensitive_values():
    """Identity disclosure alone."""
    microdata = Microdata.encode(pl.DataFrame({"a": [1, 2]}), Schema(quasi=["a"]))
    release, evidence = Drawing([0, 0], {(0, 0): EVEN}, 12, (0,)).publish(microdata, [(1,), (0,)])
    found = Omniscient().attack([release], evidence)

    assert found.identity == 0.5
    assert (
        found.to_json()["attribute"]
        is found.success
        is found.largest
        is found.attribute_interval
        is None
    )


def test_persons_and_json():
    """Everybody's figures stand beside their hash; the keys are the documented ones."""
    microdata = people([(1, "x", "m", "s"), (2, "x", "m", "t")], persons=True)
    drawing = two(EVEN)[1]
    release, evidence = drawing.publish(microdata, [(1, 0, 0), (0, 0, 0)])
    found = Omniscient().attack([release], evidence)

    assert found.per_person["person"].to_list() == microdata.persons.to_list()
    assert list(found.to_json()) == [
        "adversary", "knows", "persons", "exposed", "success", "baseline", "candidates", "note",
        "identity", "identity_interval", "identity_baseline", "attribute", "attribute_interval", "attribute_baseline", "sample",
        "named", "named_interval", "largest", "largest_identity", "approximate",
    ]  # fmt: skip
    assert (
        found.to_json()["adversary"],
        found.to_json()["sample"],
        found.identity_baseline,
        found.attribute_baseline,
    ) == ("omniscient", None, 0.5, 0.5)


def test_what_is_missing_is_named():
    """One sentence for a sample of nobody, several releases, other forms, and evidence that is
    missing, contradicts itself, or is of another release.
    """
    microdata, drawing = two(SWAP)
    release, evidence = drawing.publish(microdata, [(1, 0, 0), (0, 0, 0)])
    with pytest.raises(PlanError, match="sample must be a whole number of at least 1"):
        Omniscient(sample=0)
    with pytest.raises(ReleaseError, match="one release at a time, and 2 are given"):
        Omniscient().attack([release, release], evidence)
    with pytest.raises(ReleaseError, match="release 1 has no original table"):
        Omniscient().attack([release], Evidence())
    with pytest.raises(
        ReleaseError, match="nothing says which row of release 1 is whose; name the ledger"
    ):
        Omniscient().attack([release], replace(evidence, rows={}))
    with pytest.raises(ReleaseError, match="publish with keep_tables = true"):
        Omniscient().attack([release], replace(evidence, parts={}))
    with pytest.raises(
        ReleaseError,
        match=r"not those of release 1 \(they are about 1 rows and the release has 2\)",
    ):
        Omniscient().attack(
            [release],
            replace(evidence, parts={1: replace(evidence.parts[1], group=np.array([0]))}),
        )
    with pytest.raises(ReleaseError, match=r"1 group\(s\) differ from the original table"):
        Omniscient().attack(
            [release],
            replace(evidence, microdata={1: people([(1, "x", "m", "s"), (1, "x", "m", "t")])}),
        )
    with pytest.raises(ReleaseError, match=r"2 row\(s\) cannot have been drawn"):
        Omniscient().attack([drawing.publish(microdata, [(0, 0, 0), (1, 0, 0)])[0]], evidence)
    strange = replace(
        release,
        form=replace(release.form, table=release.form.table.with_columns(a=pl.Series([7, 8]))),
    )
    with pytest.raises(ReleaseError, match=r"2 row\(s\) cannot have been drawn"):
        Omniscient().attack([strange], evidence)
    broken = replace(
        release,
        form=replace(release.form, table=release.form.table.with_columns(b=pl.Series([1, 2]))),
    )
    with pytest.raises(ReleaseError, match="the release contradicts itself"):
        Omniscient().attack([broken], evidence)
    form, _ = generalize(
        microdata, np.arange(2), np.zeros(2, np.int64), Randomness.seeded(1).stream("small")
    )
    with pytest.raises(ReleaseError, match="this one is generalized"):
        Omniscient().attack([of_form(form)], evidence)


@pytest.mark.parametrize("seed", range(4))
def test_attributes_have_bits_in_several_words(seed, monkeypatch):
    """With a word for each attribute everybody's probabilities are the same."""
    _, microdata, drawing, shown = world(seed)
    release, evidence = drawing.publish(microdata, shown)
    expected = Omniscient().attack([release], evidence)
    for module in (record_rows, outcomes):
        monkeypatch.setattr(module, "BITS", 1)
    found = Omniscient().attack([release], evidence)
    assert found.identity == expected.identity
    assert found.per_person.equals(expected.per_person)


@pytest.mark.parametrize("d", [17, 100])
def test_many_attributes_may_have_to_change(d):
    """That all of them must is not too much."""
    some = Microdata.encode(
        pl.DataFrame({f"q{i}": [0, 1] for i in range(d)}), Schema(quasi=[f"q{i}" for i in range(d)])
    )
    drawing = Drawing([0, 0], {(0, a): SWAP for a in range(d)}, 12, tuple(range(d)), d)
    release, evidence = perturbed(some, codes_of(some)[[1, 0]])
    found = Omniscient().attack(
        [release], replace(evidence, parts={1: drawing.outputs(some, evidence.rows[1])})
    )
    assert (found.persons, found.identity) == (2, 1)


def test_what_is_too_much_is_refused(monkeypatch):
    """One sentence for groups of too many pairs."""
    microdata, drawing = two(EVEN)
    release, evidence = drawing.publish(microdata, [(1, 0, 0), (0, 0, 0)])
    monkeypatch.setattr(omniscient, "_MOST_PAIRS", 3)
    with pytest.raises(
        ReleaseError, match="the groups leave 4 pairs of unlike persons and unlike rows, too many"
    ):
        Omniscient().attack([release], evidence)
