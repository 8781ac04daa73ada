# SPDX-License-Identifier: Apache-2.0
"""The linkage adversary: hand-computed releases, a slow twin for every form, drawn sets of
attributes, and what it refuses.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phalanx as px
from naive import linkage as naive
from phalanx.adversaries import Linkage
from phalanx.adversaries.records import covering, linking
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PlanError, ReleaseError
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.forms.bucketized import bucketize
from phalanx.release.forms.generalized import generalize
from phalanx.release.forms.sliced import slice_into
from support.perturbed_cases import QUASI, codes_of, of_form, people, perturbed
from support.work import lines

FEW = {
    "perturbed": [[1, 2, None], ["x", None], ["m", "n"]],
    "generalized": [[1, 2, 3], ["x", "y"], ["m", "n"]],
    "bucketized": [[1, 2, None], ["x", "y"], ["m", "n"]],
}
P = ["1/10", "1/2", "0.8", "1"]


@st.composite
def small(draw):
    """Up to 10 rows of few values, missing ones among them, in up to 3 groups, in one of the forms,
    with what was drawn for each.
    """
    kind = draw(st.sampled_from(sorted(FEW)))
    row = st.tuples(*map(st.sampled_from, FEW[kind]), st.sampled_from(["s", "t", None]))
    rows = draw(st.lists(row, min_size=1, max_size=10))
    groups = np.unique(
        draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))),
        return_inverse=True,
    )[1]
    microdata = people(rows)
    width = [len(column.domain) for column in microdata.quasi]
    drawn = [[draw(st.integers(0, w - 1)) for w in width] for _ in rows]
    return kind, rows, groups, drawn, microdata


def published(kind, rows, groups, drawn, microdata):
    """The release and its evidence, and persons, records and when these match, as the slow twin
    takes them.
    """
    named = [dict(zip((*QUASI, "s"), row, strict=True)) for row in rows]
    stream = Randomness.seeded(1).stream("small")
    if kind == "perturbed":
        release, evidence = perturbed(microdata, drawn)
        values = [column.domain.values.to_list() for column in microdata.quasi]
        records = [
            ({a: values[i][codes[i]] for i, a in enumerate(QUASI)}, {row["s"]: 1})
            for codes, row in zip(drawn, named, strict=True)
        ]
        return (
            release,
            evidence,
            [(row, i, row["s"]) for i, row in enumerate(named)],
            records,
            equal,
        )
    members = [
        [row for row, g in zip(named, groups, strict=True) if g == group] for group in groups
    ]
    shares = [
        {s: Fraction(n, len(inside)) for s, n in Counter(row["s"] for row in inside).items()}
        for inside in members
    ]
    evidence = Evidence(microdata={1: microdata})
    if kind == "bucketized":
        records = list(zip(named, shares, strict=True))
        return (
            of_form(bucketize(microdata, groups, stream)[0]),
            evidence,
            [(row, None, row["s"]) for row in named],
            records,
            equal,
        )
    boxes = [{a: [row[a] for row in inside] for a in QUASI} for inside in members]
    records = [(box, {row["s"]: 1}) for box, row in zip(boxes, named, strict=True)]
    form, _ = generalize(microdata, np.arange(len(rows)), groups, stream)
    return of_form(form), evidence, [(row, None, row["s"]) for row in named], records, contains


def equal(record, value):
    return record == value


def contains(record, value):
    return min(record) <= value <= max(record)


def agrees(found, persons, records, matches, p):
    """Fails where both disclosures, their baselines or the persons' matching records are not the
    twin's.
    """
    identity, attribute = naive.disclosures(persons, records, matches, QUASI, p)
    counts = [
        sum(all(matches(record[a], values[a]) for a in QUASI) for record, _ in records)
        for values, _, _ in persons
    ]
    shares = [
        sum(Fraction(share.get(secret, 0)) for _, share in records) / len(records)
        for _, _, secret in persons
    ]
    assert found.identity == pytest.approx(float(identity))
    assert found.attribute == found.success == pytest.approx(float(attribute))
    assert found.identity_baseline == pytest.approx(1 / len(records))
    assert found.attribute_baseline == pytest.approx(float(sum(shares)) / len(persons))
    assert found.baseline == pytest.approx(
        Counter(secret for *_, secret in persons).most_common(1)[0][1] / len(persons)
    )
    assert found.histogram == dict(Counter(counts))
    assert sorted(found.per_person["candidates"].to_list()) == sorted(counts)
    assert found.identity_interval[0] <= found.identity <= found.identity_interval[1]


@given(small(), st.sampled_from(P))
@settings(max_examples=200, deadline=None)
def test_every_form_has_the_twins_figures(case, p):
    """Both disclosures, their baselines and the number of matching records are those of the slow
    twin, for every form and p_match.
    """
    release, evidence, persons, records, matches = published(*case)
    agrees(Linkage(p_match=p).attack([release], evidence), persons, records, matches, p)


@pytest.mark.parametrize("kind", sorted(FEW))
def test_a_wrong_law_is_seen(kind, monkeypatch):
    """The comparison with the slow twin refuses an adversary that never leaves an attribute out, in
    every form.
    """
    rows = [(1, "x", "m", "s"), (1, "x", "n", "t"), (2, "x", "m", "s"), (3, "y", "n", "t")]
    microdata = people(rows)
    release, evidence, *rest = published(
        kind, rows, np.array([0, 0, 1, 1]), codes_of(microdata)[[0, 1, 3, 2]], microdata
    )

    agrees(Linkage(p_match="1/2").attack([release], evidence), *rest, "1/2")
    monkeypatch.setattr(
        "phalanx.adversaries.records.linkage.weights", lambda d, _: linking.weights(d, 1.0)
    )
    with pytest.raises(AssertionError):
        agrees(Linkage(p_match="1/2").attack([release], evidence), *rest, "1/2")


def test_who_changed_everywhere_is_not_found():
    """Two persons who swap all values: at p_match 1 each is led to the other; by nothing, a record
    is found with 1/2.
    """
    microdata = people([(1, "x", "m", "s"), (2, "y", "n", "t")])
    release, evidence = perturbed(microdata, codes_of(microdata)[[1, 0]])
    found = Linkage().attack([release], evidence)

    assert (found.identity, found.attribute, found.exposed, found.histogram) == (0, 0, 0, {1: 2})
    half = Linkage(p_match="1/2").attack([release], evidence)
    assert (half.identity, half.attribute) == (
        1 / 16,
        1 / 16,
    )  # the empty set alone leaves one's own record, with 1/2
    assert found.at("1/2").to_json() == half.to_json()


def test_who_did_not_change_is_named():
    """Without any change, everybody whose values are unique is certain, and right."""
    microdata = people(
        [(1, "x", "m", "s"), (1, "x", "n", "s"), (2, "y", "n", "t"), (2, "y", "n", "s")],
        persons=True,
    )
    release, evidence = perturbed(microdata, codes_of(microdata))
    found = Linkage().attack([release], evidence)

    assert (found.identity, found.attribute, found.exposed) == (
        3 / 4,
        (1 + 1 + 1 / 2 + 1 / 2) / 4,
        2,
    )
    assert found.per_person["person"].to_list() == microdata.persons.to_list()
    assert found.per_person["exposed"].to_list() == [True, True, False, False]


def test_many_p_match_at_once():
    """`at` gives what an attack with that p_match finds, whatever the first one was."""
    microdata = people([(i % 4, "xy"[i % 2], "mn"[i // 5 % 2], "stu"[i % 3]) for i in range(20)])
    release, evidence = perturbed(microdata, codes_of(microdata)[[*range(1, 20), 0]])
    first = Linkage(p_match="0.3").attack([release], evidence)

    for p in P:
        assert first.at(p).to_json() == Linkage(p_match=p).attack([release], evidence).to_json()


def wide(n=30, d=12, seed=0):
    """A table of n rows with d quasi-identifiers of two values and a sensitive one."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({f"q{i}": rng.integers(0, 2, n) for i in range(d)}).with_columns(
        s=pl.Series(rng.integers(0, 3, n).astype(str))
    )
    return Microdata.encode(frame, Schema(quasi=[f"q{i}" for i in range(d)], sensitive="s"))


@pytest.mark.parametrize("kind", ["perturbed", "generalized", "bucketized"])
def test_sets_that_are_drawn(kind, monkeypatch):
    """With twelve attributes sets are drawn, and the exact figures lie within what is said; nothing
    but all of them is used at p_match 1.
    """
    microdata = wide()
    stream, groups = Randomness.seeded(2).stream("wide"), np.arange(30) // 3
    if kind == "perturbed":
        release, evidence = perturbed(microdata, codes_of(microdata)[np.arange(30) ^ 1])
    else:
        form = (
            bucketize(microdata, groups, stream)[0]
            if kind == "bucketized"
            else generalize(microdata, np.arange(30), groups, stream)[0]
        )
        release, evidence = of_form(form), Evidence(microdata={1: microdata})
    drawn = Linkage(p_match="1/2", subsets=500).attack([release], evidence)
    one = drawn.at(1)
    monkeypatch.setattr(linking, "ALL_OF", 12)
    exact = Linkage(p_match="1/2").attack([release], evidence)

    assert "were drawn, and the intervals include that" in drawn.note
    assert exact.note == ""
    assert drawn.identity_interval[0] < exact.identity < drawn.identity_interval[1]
    assert drawn.identity == pytest.approx(exact.identity, rel=0.25)
    assert drawn.attribute == pytest.approx(exact.attribute, rel=0.25)
    assert one.identity == pytest.approx(exact.at(1).identity)
    assert one.identity_interval == exact.at(1).identity_interval


def test_two_answers_are_compared() -> None:
    """Equal answers are equal, and others are not; what was found for each number of attributes, in
    arrays, follows from the same rows.
    """
    table = pl.DataFrame({"age": [30, 31, 40, 41], "ill": ["flu", "cold", "flu", "cold"]})
    release = px.publish(table, px.Schema(quasi=["age"], sensitive="ill"), px.Mondrian(k=2))
    matched = release.attack(px.Linkage())
    assert matched == release.attack(px.Linkage())
    assert matched != release.attack(px.Linkage(p_match="1/2"))


def test_sets_of_attributes():
    """Ten attributes or fewer: every set once; more: of every size all, or as many as are asked
    for.
    """
    stream = Randomness.seeded(0).stream("sets")
    few, many = linking.Subsets.of(3, 1, stream), linking.Subsets.of(12, 130, stream)

    assert sorted(map(tuple, few.has.tolist())) == sorted(product([False, True], repeat=3))
    assert not few.sampled.any()
    assert np.bincount(many.has.sum(axis=1)).tolist() == [1, *[10] * 11, 1]
    assert many.sampled.tolist() == [False, *[True] * 11, False]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("values", [2, 9, 1000])
def test_persons_and_rows_that_agree_are_numbered_alike(seed, values):
    """Set by set, the slow way: also where a few attributes tell all persons apart, and where some
    persons are equal in all of them.
    """
    rng = np.random.default_rng(seed)
    persons = rng.integers(0, values, (9, 12))[rng.integers(0, 9, 14)]
    rows = persons[rng.integers(0, 14, 20)]
    rows[rng.random(rows.shape) < 0.05] = rng.integers(-1, values)
    chosen = linking.Subsets.of(12, 60, Randomness.seeded(seed).stream("subsets"))
    seen = 0
    for at, of_person, there, of_row in linking.agreeing(persons, rows, chosen):
        of_both = np.concatenate([persons, rows])[:, chosen.has[at]].tolist()
        equal = [[one == other for one in of_both] for other in of_both]
        matched = [r for r in range(20) if any(equal[14 + r][:14])]
        numbers = np.concatenate([of_person, of_row])
        those = np.concatenate([np.arange(14), 14 + there])
        assert sorted(there.tolist()) == matched
        assert ((numbers[:, None] == numbers) == np.array(equal)[np.ix_(those, those)]).all()
        seen += 1
    assert seen == len(chosen)


def test_work_grows_with_the_number_of_attributes():
    """Attributes that no longer tell persons apart are compared many at once."""
    rng = np.random.default_rng(3)

    def gone_through(d):
        persons = rng.integers(0, 9, (50, d))
        chosen = linking.Subsets.of(d, 2 * d, Randomness.seeded(1).stream("subsets"))
        return lines(lambda: list(linking.agreeing(persons, persons, chosen)))

    assert gone_through(240) < 2.6 * gone_through(120)


def test_words_of_bits_are_work(monkeypatch):
    """Of many attributes fewer persons are drawn for as many pairs, as each pair takes more."""
    sizes = []
    for d in (60, 126):
        microdata, rows = wide(300, d), np.arange(300)
        form, _ = generalize(microdata, rows, rows // 3, Randomness.seeded(1).stream("boxes"))
        sets = len(linking.Subsets.of(d, 1, Randomness.seeded(1).stream("subsets")))
        monkeypatch.setattr(linking, "_MOST_PAIRS", 280 * 100 * sets)
        attack = Linkage(subsets=1).attack([of_form(form)], Evidence(microdata={1: microdata}))
        sizes.append(attack.sample)
    assert sizes == [280, 200]


def test_some_persons():
    """A sample is of so many persons, and says so; it is the same each time, and its figures are
    those of its persons.
    """
    microdata = people([(i, "x", "m", "st"[i % 2]) for i in range(20)], persons=True)
    release, evidence = perturbed(microdata, codes_of(microdata))
    found, again = (Linkage(sample=7).attack([release], evidence) for _ in range(2))

    assert (found.persons, found.sample, found.identity, found.note) == (
        7,
        7,
        1,
        "7 persons were drawn",
    )
    assert found.per_person.equals(again.per_person)
    assert Linkage(sample=20).attack([release], evidence).sample is None


def test_too_many_pairs_of_person_and_group(monkeypatch):
    """Where a generalized release leaves too many pairs, persons are drawn; and their figures are
    near everybody's.
    """
    microdata = people([(i % 50, "xy"[i % 2], "m", "stu"[i % 3]) for i in range(600)])
    form, _ = generalize(
        microdata, np.arange(600), np.arange(600) % 50 // 2, Randomness.seeded(1).stream("boxes")
    )
    release, evidence = of_form(form), Evidence(microdata={1: microdata})
    everybody = Linkage(p_match="1/2").attack([release], evidence)
    monkeypatch.setattr(covering, "_GRID", 0)
    monkeypatch.setattr(linking, "_MOST_PAIRS", 300 * 25)
    some = Linkage(p_match="1/2").attack([release], evidence)

    assert (everybody.sample, some.sample, some.persons) == (None, 300, 300)
    assert some.identity_interval[0] < everybody.identity < some.identity_interval[1]
    assert some.attribute_interval[0] < everybody.attribute < some.attribute_interval[1]


def test_some_persons_of_a_generalized_release(monkeypatch):
    """As many as are asked for, the same whether boxes are counted on a grid or in pairs."""
    rows, stream = np.arange(2000), Randomness.seeded(1).stream("boxes")
    microdata = people([(i % 7, "xy"[i % 2], "m", "stu"[i % 3]) for i in rows])
    form, _ = generalize(microdata, rows, rows % 14 // 2 + 7 * (rows // 500), stream)
    release, evidence = of_form(form), Evidence(microdata={1: microdata})
    ways = []
    monkeypatch.setattr(
        linking, "on_grids", lambda *given: ways.append(given) or covering.on_grids(*given)
    )
    on_grids = Linkage(sample=900).attack([release], evidence)
    monkeypatch.setattr(covering, "_GRID", 0)
    in_pairs = Linkage(sample=900).attack([release], evidence)

    assert len(ways) == 1
    assert (on_grids.persons, on_grids.sample) == (in_pairs.persons, in_pairs.sample) == (900, 900)
    assert on_grids.identity == pytest.approx(in_pairs.identity)
    assert on_grids.attribute == pytest.approx(in_pairs.attribute)
    assert on_grids.per_person.equals(in_pairs.per_person)


def test_parts_say_what_the_whole_says(monkeypatch):
    """Persons who are gone through one by one are attacked as all at once."""
    monkeypatch.setattr(covering, "_GRID", 0)
    microdata = people([(i % 7, "xy"[i % 2], "mn"[i // 5 % 2], "stu"[i % 3]) for i in range(40)])
    form, _ = generalize(
        microdata, np.arange(40), np.arange(40) // 5, Randomness.seeded(1).stream("boxes")
    )
    whole = Linkage(p_match="1/2").attack([of_form(form)], Evidence(microdata={1: microdata}))
    monkeypatch.setattr(covering, "_PAIRS", 1)
    parts = Linkage(p_match="1/2").attack([of_form(form)], Evidence(microdata={1: microdata}))

    assert parts.to_json() == whole.to_json()


@pytest.mark.parametrize("kind", ["generalized", "bucketized"])
def test_who_is_elsewhere_is_left_out(kind):
    """Of these forms one's own record always matches: whom no record matches on everything is left
    out, and said.
    """
    rows = [(1, "x", "m", "s"), (2, "x", "m", "t"), (1, "x", "m", "t"), (2, "x", "m", "s")]
    microdata, stream = people(rows), Randomness.seeded(1).stream("small")
    groups = np.array([0, 0, 1, 1])
    form = (
        generalize(microdata, np.arange(4), groups, stream)[0]
        if kind == "generalized"
        else bucketize(microdata, groups, stream)[0]
    )
    found = Linkage().attack(
        [of_form(form)], Evidence(microdata={1: people([*rows, (9, "z", "m", "s")])})
    )

    assert (found.persons, found.sample) == (4, None)
    assert (
        found.note
        == "1 person(s) match no record on all quasi-identifiers, so that none is theirs, and are"
        " left out"
    )


def test_who_was_not_published_is_left_out():
    """Of a perturbed release nobody without a row is attacked."""
    microdata = people([(1, "x", "m", "s"), (2, "x", "m", "t"), (3, "x", "m", "t")])
    release, evidence = perturbed(microdata, codes_of(microdata))
    two = replace(release, form=replace(release.form, table=release.form.table[:2]))
    rows = np.where(evidence.rows[1] <= 2, evidence.rows[1], 0)
    found = Linkage().attack([two], replace(evidence, rows={1: rows}))

    assert (found.persons, found.identity, found.sample) == (2, 1, None)


def test_a_release_without_sensitive_values():
    """Identity disclosure alone, of perturbed and generalized releases."""
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": ["x", "y", "x", "y"]})
    microdata = Microdata.encode(frame, Schema(quasi=["a", "b"]))
    form, _ = generalize(
        microdata, np.arange(4), np.array([0, 0, 1, 1]), Randomness.seeded(1).stream("boxes")
    )
    by_boxes = Linkage().attack([of_form(form)], Evidence(microdata={1: microdata}))
    release, evidence = perturbed(microdata, codes_of(microdata))
    by_rows = Linkage().attack([release], evidence)

    assert (by_boxes.identity, by_rows.identity) == (1 / 2, 1)
    for found in (by_boxes, by_rows):
        assert (
            found.to_json()["attribute"]
            is found.attribute_interval
            is found.attribute_baseline
            is found.success
            is found.baseline
            is None
        )


def test_values_that_nobody_has():
    """A release with numbers and codes that are nowhere in the original table is attacked all the
    same: they match nobody.
    """
    microdata = people([(1, "x", "m", "s"), (2, "x", "m", "t")])
    release, evidence = perturbed(microdata, codes_of(microdata))
    order = evidence.rows[1] - 1
    table = release.form.table.with_columns(
        a=pl.Series(np.where(order == 0, 7, 2)), b=pl.Series(["z", "x"]).gather(order)
    )
    found = Linkage().attack([replace(release, form=replace(release.form, table=table))], evidence)

    assert (found.identity, found.histogram) == (1 / 2, {0: 1, 1: 1})


def test_the_json_has_the_documented_keys():
    """Those of every attack, the disclosures, and p_match as text."""
    microdata = people([(1, "x", "m", "s"), (2, "x", "m", "t")])
    release, evidence = perturbed(microdata, codes_of(microdata)[[1, 0]])
    found = Linkage(p_match=0.5).attack([release], evidence).to_json()

    assert list(found) == [
        "adversary", "knows", "persons", "exposed", "success", "baseline", "candidates", "note",
        "identity", "identity_interval", "identity_baseline", "attribute", "attribute_interval", "attribute_baseline", "sample", "p_match",
    ]  # fmt: skip
    assert (
        found["adversary"],
        found["p_match"],
        found["identity"],
        found["identity_baseline"],
    ) == ("linkage", "1/2", 0.25, 0.5)
    assert "with probability 1/2" in found["knows"]


def test_what_is_missing_is_named():
    """One sentence for a p_match, numbers of persons and sets that are none, several releases,
    other forms, and evidence that is missing or of another release.
    """
    microdata = people([(1, "x", "m", "s"), (2, "x", "m", "t")])
    release, evidence = perturbed(microdata, codes_of(microdata))
    for p in (0, "-1/2", 1.5, "many"):
        with pytest.raises(PlanError, match="p_match must be"):
            Linkage(p_match=p)
    with pytest.raises(PlanError, match="sample must be a whole number"):
        Linkage(sample=0)
    with pytest.raises(PlanError, match="subsets must be a whole number"):
        Linkage(subsets=0)
    with pytest.raises(ReleaseError, match="one release at a time, and 2 are given"):
        Linkage().attack([release, release], evidence)
    with pytest.raises(ReleaseError, match="release 1 has no original table"):
        Linkage().attack([release], Evidence())
    with pytest.raises(
        ReleaseError, match="nothing says which row of release 1 is whose; name the ledger"
    ):
        Linkage().attack([release], Evidence(microdata={1: microdata}))
    for wrong in ([1, 1], [1, 3], [1], [-1, 1]):
        with pytest.raises(ReleaseError, match="are not those of its file"):
            Linkage().attack([release], replace(evidence, rows={1: np.array(wrong)}))
    sliced, _ = slice_into(
        microdata,
        (("a", "b"), ("c", "s")),
        np.zeros(2, np.int64),
        Randomness.seeded(1).stream("small"),
    )
    with pytest.raises(ReleaseError, match="this one is sliced"):
        Linkage().attack([of_form(sliced)], evidence)


@pytest.mark.parametrize("kind", ["perturbed", "generalized", "bucketized"])
def test_a_hundred_attributes(kind):
    """All of them are matched, and of a perturbed release the last one, too."""
    microdata = wide(6, 100)
    drawn = codes_of(microdata)
    drawn[0, 99] = 1 - drawn[0, 99]
    groups, stream = np.repeat([0, 1, 2], 2), Randomness.seeded(1).stream("wide")
    evidence = Evidence(microdata={1: microdata})
    if kind == "perturbed":
        release, evidence = perturbed(microdata, drawn)
    elif kind == "bucketized":
        release = of_form(bucketize(microdata, groups, stream)[0])
    else:
        release = of_form(generalize(microdata, np.arange(6), groups, stream)[0])
    found = Linkage(subsets=300).attack([release], evidence)
    expected = {"perturbed": 5 / 6, "generalized": 1 / 2, "bucketized": 1}[kind]
    assert found.identity == pytest.approx(expected)
    assert found.at("1/100").identity < 0.6 * expected
