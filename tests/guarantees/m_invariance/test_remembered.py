# SPDX-License-Identifier: Apache-2.0
"""The last release beside what the series remembers: as strict as the check of the whole series, and
every way for the memory to lie.
"""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guarantees.m_invariance.test_guarantee import mapping_of, microdata_of, persons, release_of
from phalanx.guarantees.m_invariance.guarantee import MInvariance
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.signatures import PERSONS, SIGNATURES

BY_PERSON, REMEMBERED = "signatures by person", "remembered signatures"


def remember(before, people, groups):
    """What a faithful series remembers after a release: whoever is new, under the values of the
    group; a slow twin that knows nothing of the method.
    """
    known = dict(before)
    for members in groups:
        values = frozenset(people[name][2] if name in people else name for name in members)
        for name in members:
            if name in people:
                known.setdefault(name, (values, people[name][2]))
    return known


def tables_of(known):
    """The tables of that memory."""
    sets = list(dict.fromkeys(values for values, _ in known.values()))
    entries = [(i, value) for i, values in enumerate(sets, 1) for value in sorted(values, key=str)]
    entry_of = {entry: place for place, entry in enumerate(entries)}
    rows = [entry_of[sets.index(values) + 1, own] for values, own in known.values()]
    return {
        SIGNATURES: pl.DataFrame(
            [(place, i, value) for place, (i, value) in enumerate(entries)],
            schema={"entry": pl.Int64, "signature": pl.Int64, "value": pl.String},
            orient="row",
        ),
        PERSONS: pl.DataFrame(
            {"person": persons(list(known)), "entry": pl.Series(rows, dtype=pl.Int32)}
        ),
    }


def last(people, groups, before, after, **manifest):
    """The verdicts about a second release, by their parts."""
    release = release_of(2, people, groups, **manifest)
    evidence = Evidence({2: mapping_of(people, groups)}, state=(before, after))
    found = MInvariance(2).check(release, (), evidence)
    return {v.name.removeprefix("m-invariance: "): v for v in found}


T1 = {"Ann": (1, 1, "a"), "Ben": (2, 2, "b"), "Cal": (3, 3, "a"), "Dan": (4, 4, "c")}
G1 = [["Ann", "Ben"], ["Cal", "Dan"]]
T2 = {"Ann": (1, 1, "a"), "Cal": (3, 3, "a"), "Dan": (4, 4, "c"), "Eve": (5, 5, "b")}
G2 = [["Ann", "Eve"], ["Cal", "Dan"]]
BEFORE = tables_of(first := remember({}, T1, G1))
AFTER = tables_of(remember(first, T2, G2))


def test_a_faithful_memory_holds():
    """Whoever stays stands under the remembered signature, who is new is remembered under theirs."""
    found = last(T2, G2, BEFORE, AFTER)
    assert all(v.holds for v in found.values())
    assert (found[BY_PERSON].worst, found[REMEMBERED].worst) == (1, 0)
    assert found["m-uniqueness"].note == "1 release(s)"


def test_another_signature_is_refused():
    """Somebody under another signature than in the first release, which is not laid beside it."""
    groups = [["Ann", "Dan"], ["Cal", "Eve"]]
    found = last(T2, groups, BEFORE, AFTER)
    assert not found[BY_PERSON].holds
    assert set(found[BY_PERSON].worst_cases["signature"]) == {"a, b", "a, c"}


def changed(tables, name, **columns):
    return tables | {name: tables[name].with_columns(**columns)}


def without(tables, name, which):
    return tables | {name: tables[name].filter(pl.int_range(pl.len()) != which)}


def appended(tables, name, row):
    table = tables[name]
    return tables | {
        name: pl.concat([table, pl.DataFrame([row], schema=table.schema, orient="row")])
    }


NOBODY = persons(["Zoe"])[0]
LIES = {
    "who is new is not remembered": (BEFORE, BEFORE, BY_PERSON),
    "who was there is forgotten": (BEFORE, without(AFTER, PERSONS, 1), REMEMBERED),
    "the person before them is put in their place": (
        BEFORE,
        changed(AFTER, PERSONS, person=pl.col("person").reverse()),
        REMEMBERED,
    ),
    "another signature is remembered now": (
        BEFORE,
        changed(AFTER, PERSONS, entry=pl.lit(3, pl.Int32)),
        REMEMBERED,
    ),
    "the memory lied before, and goes on": (
        changed(BEFORE, PERSONS, entry=pl.lit(3, pl.Int32)),
        changed(AFTER, PERSONS, entry=pl.lit(3, pl.Int32)),
        BY_PERSON,
    ),
    "an old signature gets a value": (BEFORE, appended(AFTER, SIGNATURES, (9, 1, "z")), REMEMBERED),
    "a value of an old signature changes": (
        BEFORE,
        changed(AFTER, SIGNATURES, value=pl.col("value").replace("b", "z")),
        REMEMBERED,
    ),
    "somebody is invented": (BEFORE, appended(AFTER, PERSONS, (NOBODY, 0)), REMEMBERED),
    "somebody twice": (
        BEFORE,
        appended(AFTER, PERSONS, (persons(["Eve"])[0], 3)),
        REMEMBERED,
    ),
    "an entry twice": (BEFORE, appended(AFTER, SIGNATURES, (0, 9, "z")), REMEMBERED),
    "a value twice": (BEFORE, appended(AFTER, SIGNATURES, (9, 1, "b")), REMEMBERED),
    "under no signature": (BEFORE, appended(AFTER, PERSONS, (persons(["Eve"])[0], 99)), REMEMBERED),
    "nobody's person": (BEFORE, appended(AFTER, PERSONS, (None, 0)), REMEMBERED),
    "no such table": (BEFORE, changed(AFTER, PERSONS, entry=pl.lit("x")), REMEMBERED),
    "a table without its column": (
        AFTER | {SIGNATURES: AFTER[SIGNATURES].drop("value")},
        AFTER,
        REMEMBERED,
    ),
}


@pytest.mark.parametrize("how", LIES)
def test_a_memory_that_lies_is_refused(how):
    """Each broken twin of a faithful memory fails, in the part that is about it."""
    before, after, part = LIES[how]
    assert not last(T2, G2, before, after)[part].holds


def test_records_may_have_several_signatures():
    """Where the promise is per record, a changed value has a signature of its own; which value it
    was says the microdata, and what cannot be told is said.
    """
    people, groups = T2 | {"Ann": (1, 1, "c")}, [["Ann", "Eve"], ["Cal", "Dan"]]
    after = appended(AFTER, SIGNATURES, (10, 9, "b"))
    after = appended(appended(after, SIGNATURES, (11, 9, "c")), PERSONS, (persons(["Ann"])[0], 11))
    after = changed(
        after,
        PERSONS,
        entry=pl.when(pl.col("person") == persons(["Eve"])[0])
        .then(10)
        .otherwise(pl.col("entry"))
        .cast(pl.Int32),
    )
    blind = last(people, groups, BEFORE, after, privacy_unit="record")
    assert blind[BY_PERSON].note.startswith("not checked: the promise is per record")
    assert "1 person(s) are remembered under more than one signature" in blind[BY_PERSON].note
    assert blind[REMEMBERED].holds
    release = release_of(2, people, groups, privacy_unit="record")
    evidence = Evidence({2: mapping_of(people, groups)}, {2: microdata_of(people)}, state=(BEFORE, after))  # fmt: skip
    assert all(v.holds for v in MInvariance(2).check(release, (), evidence))
    mixed = replace(evidence, microdata={2: microdata_of(people | {"Ann": (1, 1, "a")})})
    by_person = next(v for v in MInvariance(2).check(release, (), mixed) if BY_PERSON in v.name)
    assert (by_person.holds, by_person.worst) == (False, 2)


def test_neighbours_alone_need_no_memory():
    """The promise over neighbours is checked between the last two releases, and reads no more."""
    series = [release_of(number, T1, G1) for number in (1, 2, 3)]
    evidence = Evidence({2: mapping_of(T1, G1), 3: mapping_of(T1, G1)}, state=({}, {}))
    found = MInvariance(2, consecutive=True).check(series[2], series[:2], evidence)
    assert all(v.holds for v in found)
    assert "2 release(s)" in next(v.note for v in found if BY_PERSON in v.name)
    moved = [["Ann", "Dan"], ["Ben", "Cal"]]
    evidence = replace(evidence, groups={2: mapping_of(T1, G1), 3: mapping_of(T1, moved)})
    found = MInvariance(2, consecutive=True).check(release_of(3, T1, moved), series[:2], evidence)
    assert not next(v for v in found if BY_PERSON in v.name).holds


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_as_strict_as_the_whole_series(dice):
    """Over random series, some of them m-invariant and some not, the check of each release beside a
    faithful memory fails at the first release at which the check of the whole series does.
    """
    names = [f"p{i}" for i in range(6)]
    values = {name: dice.choice("abc") for name in names}
    known, mappings, releases = {}, {}, []
    for number in range(1, 5):
        there = [name for name in names if dice.random() < 0.8] or names[:1]
        people = {name: (1, 1, values[name]) for name in there}
        if dice.random() < 0.7:  # groups that keep what is remembered
            groups = [[name, *sorted(known.get(name, (set("ab"), 0))[0] - {values[name]})] for name in there]  # fmt: skip
        else:
            cut = dice.randint(1, len(there))
            groups = [part for part in (there[:cut], there[cut:]) if part]
        before, known = known, remember(known, people, groups)
        releases.append(release_of(number, people, groups))
        mappings[number] = mapping_of(people, groups)
        whole = MInvariance(1).check(releases[-1], releases[:-1], Evidence(dict(mappings)))
        by_memory = MInvariance(1).check(
            releases[-1],
            releases[:-1],
            Evidence({number: mappings[number]}, state=(tables_of(before), tables_of(known))),
        )
        verdict = {BY_PERSON in v.name: v.holds for v in whole if v.name.endswith(BY_PERSON)}[True]
        assert verdict == all(v.holds for v in by_memory if "signatures" in v.name)
        if not verdict:
            return
