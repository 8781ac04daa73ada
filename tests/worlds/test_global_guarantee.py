# SPDX-License-Identifier: Apache-2.0
"""The global guarantee against all possible worlds of small series, in exact fractions: Lemma 4,
and the argument about permanent values.
"""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, assume, find, given, settings
from hypothesis import strategies as st

from naive import global_guarantee as naive
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import MethodError
from phalanx.guarantees.global_guarantee import breach
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee
from phalanx.methods.base import Memory
from phalanx.methods.global_guarantee import phases
from phalanx.methods.global_guarantee.method import GlobalGuarantee as Method
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest
from support.shown import KEY, evidence_of, key, releases_of
from worlds.global_guarantee import Group, ever_linked, ways

VALUES = "stu"
LASTING = frozenset("vw")


def as_shown(series):
    """What is published of groups with known members: rows, mapping, and the counts beside them."""
    return [
        naive.Shown(
            rows={g: list(group.rows) for g, group in enumerate(release, 1)},
            groups={p: g for g, group in enumerate(release, 1) for p in group.there},
            counterfeits={
                g: n
                for g, group in enumerate(release, 1)
                if (n := len(group.absent) + group.nobody)
            },
            registered={
                g: n
                for g, group in enumerate(release, 1)
                if (n := len(group.there) + len(group.absent) + group.nobody - len(group.rows))
            },
        )
        for release in series
    ]


def figures(series, guarantee, *, of_sets):
    """(person, value) -> the probability that the check computes."""
    shown = as_shown(series)
    found = breach.Series.of(
        releases_of(shown, of_sets=of_sets),
        evidence_of(shown).groups,
        guarantee.passes,
        guarantee.added,
    )
    names = {key(p): p for s in shown for p in s.groups}
    cells = found.cells
    return {
        (
            names[found.persons[int(person)]],
            cells.values[int(pairs.value[i])],
        ): cells.probability(cells.kind[pairs.cell[pairs.starts[i] : pairs.starts[i + 1]]].tolist())
        for pairs in found.parts()
        for i in range(len(pairs))
        for person in np.flatnonzero(found.history == pairs.history[i])
    }


def verdicts(series, guarantee, *, of_sets):
    shown = as_shown(series)
    releases = releases_of(shown, of_sets=of_sets)
    found = guarantee.check(releases[-1], releases[:-1], evidence_of(shown))
    return {v.name.removeprefix("global-guarantee: "): v for v in found}


def a_row(draw, of_sets):
    """The transient values of a row: at most one, or a set."""
    return (
        frozenset(draw(st.sets(st.sampled_from(VALUES), max_size=2)))
        if of_sets
        else frozenset(draw(st.sampled_from(["", "", "s", "s", "t", "u"])))
    )


@st.composite
def transient_series(draw):
    """2 or 3 releases of up to 6 persons who come, stay away and return, in up to 3 groups, some of
    them registered without a row, with counterfeits.
    """
    of_sets, people = draw(st.booleans()), [f"p{i}" for i in range(draw(st.integers(2, 6)))]
    series = []
    for _ in range(draw(st.integers(2, 3))):
        where = {p: draw(st.integers(0, 3)) for p in people}
        groups = []
        for g in range(1, 4):
            there = tuple(p for p in people if where[p] == g)
            if there:
                nobody = draw(st.sampled_from([0, 0, 0, 1]))
                without = draw(st.integers(0, len(there) - 1)) if draw(st.booleans()) else 0
                groups.append(
                    Group(
                        there,
                        tuple(a_row(draw, of_sets) for _ in range(len(there) + nobody - without)),
                        nobody=nobody,
                    )
                )
        if groups:
            series.append(groups)
    return series, of_sets


def check_lemma_4(case):
    """The check's figure for each person and value is the share of worlds in which they were
    linked, and its worst figure the largest of them.
    """
    series, of_sets = case
    people = {p for release in series for group in release for p in group.there}
    true = {(p, v): x for p in people for v, x in ever_linked(series, p, VALUES).items() if x}

    assert naive.ever_linked(as_shown(series)) == true
    if series:
        assert figures(series, GlobalGuarantee(2), of_sets=of_sets) == true
        found = verdicts(series, GlobalGuarantee(2), of_sets=of_sets)
        assert found["persons and groups"].holds
        assert found["ever linked"].worst == max(true.values(), default=None)
        assert found["ever linked"].holds == (max(true.values(), default=0) <= Fraction(1, 2))


@given(transient_series())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_lemma_4(case):
    """1 - prod (1 - n_s / n) is the share of all worlds: with absence, return, sets of values,
    registered persons and counterfeits.
    """
    check_lemma_4(case)


@pytest.mark.slow
@given(transient_series())
@settings(max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_lemma_4_on_thousands_of_series(case):
    """The same on thousands of series."""
    check_lemma_4(case)


@pytest.mark.parametrize(
    "forget", ["registered", "an earlier release", "one row that holds the value"]
)
def test_a_wrong_lemma_is_seen(forget):
    """The comparison with all worlds sees figures that forget somebody or something."""
    series = [
        [Group(("a", "b", "c"), (frozenset("s"), frozenset("s")))],
        [Group(("a", "d"), (frozenset("s"), frozenset()))],
    ]
    (first,), (second,) = series
    wrong = {
        "registered": [[replace(first, there=("a", "b"))], [second]],
        "an earlier release": [[second]],
        "one row that holds the value": [
            [replace(first, rows=(frozenset("s"), frozenset()))],
            [second],
        ],
    }[forget]

    assert ever_linked(series, "a", "s")["s"] == 1 - Fraction(1, 3) * Fraction(1, 2)
    assert naive.ever_linked(as_shown(wrong))["a", "s"] != ever_linked(series, "a", "s")["s"]


@st.composite
def cohorts(draw):
    """A cohort of 2 to 4 that obeys the rules: founded after a release or at once, with absent
    members, and carriers who are added when all are there.
    """
    of_sets, n = draw(st.booleans()), draw(st.integers(2, 4))
    members = [f"p{i}" for i in range(n)]
    lasting = draw(st.sampled_from(["v", "v", "vw"])) if n == 4 else "v"
    carries = {m: frozenset() for m in members}

    def grow():
        for v in lasting:
            free = [m for m in members if v not in carries[m] and (of_sets or not carries[m])]
            if (
                free
                and sum(v in held for held in carries.values()) < n // 2
                and draw(st.booleans())
            ):
                carries[draw(st.sampled_from(free))] |= {v}

    def row(m):
        return carries[m] | a_row(draw, of_sets) if of_sets or not carries[m] else carries[m]

    series = []
    if draw(st.booleans()):  # before they are a cohort, members stand anywhere
        there = [m for m in members if draw(st.booleans())]
        groups = [tuple(there[:2]), tuple(there[2:]) or ("x",)]
        series.append([Group(g, tuple(a_row(draw, of_sets) for _ in g)) for g in groups if g])
    carries[members[0]] = frozenset("v")
    for j in range(draw(st.integers(2, 3))):
        there = (
            members
            if j == 0
            else [m for m in members if draw(st.sampled_from([True, True, False]))]
        )
        if j == 0 or len(there) == n:
            grow()
        others = (
            [Group(("x", "y"), (a_row(draw, of_sets), a_row(draw, of_sets)))]
            if draw(st.booleans())
            else []
        )
        absent = [m for m in members if m not in there]
        series.append(
            [
                *(
                    [Group(tuple(there), tuple(row(m) for m in members), tuple(absent))]
                    if there
                    else []
                ),
                *others,
            ]
        )
    return [release for release in series if release], members, of_sets, carries


def promise(l=2):
    return GlobalGuarantee(l, permanent=sorted(LASTING))


def check_permanent(case):
    """Every member carries a permanent value with exactly carriers / members; of transient values
    the check's figure is at least the true one.
    """
    series, members, of_sets, carries = case
    computed = figures(series, promise(), of_sets=of_sets)
    assert computed == naive.ever_linked(as_shown(series), permanent=LASTING, of_sets=of_sets)
    for p in [*members, "x", "y"]:
        true = ever_linked(series, p, VALUES + "vw", LASTING)
        for v in LASTING:
            assert true[v] == (
                Fraction(sum(v in held for held in carries.values()), len(members))
                if p in members
                else 0
            )
        for v in VALUES:
            assert true[v] <= computed.get((p, v), 0)
    found = verdicts(series, promise(), of_sets=of_sets)
    assert found["permanent values"].holds, found["permanent values"].note
    assert found["persons and groups"].holds
    assert naive.cohorts_are_kept(as_shown(series), LASTING)


@given(cohorts())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_permanent_values(case):
    """In series that obey the rules of cohorts, all worlds say what the check says of permanent
    values, and no more of transient ones.
    """
    check_permanent(case)


@pytest.mark.slow
@given(cohorts())
@settings(max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_permanent_values_on_thousands_of_series(case):
    """The same on thousands of series."""
    check_permanent(case)


def test_a_product_is_too_little_for_sets():
    """With sets, multiplying a transient value's shares in a cohort would understate it: beside the
    permanent value, then elsewhere, it has met everybody.
    """
    series = [
        [Group(("a", "b"), (frozenset("vs"), frozenset()))],
        [Group(("a", "b"), (frozenset("v"), frozenset("s")))],
    ]

    true = ever_linked(series, "a", "s", LASTING)["s"]

    assert (
        true
        == 1
        > naive.ever_linked(as_shown(series), permanent=LASTING, of_sets=False)["a", "s"]
        == Fraction(3, 4)
    )
    assert figures(series, promise(), of_sets=True)["a", "s"] == 1
    assert not verdicts(series, promise(), of_sets=True)["ever linked"].holds


V, S, NONE = frozenset("v"), frozenset("s"), frozenset()
FOUNDED = [Group(("a", "b", "c", "d"), (V, NONE, NONE, NONE))]
WHOLE = [Group(("a", "b", "c"), (V, NONE, NONE, NONE), absent=("d",))]
BROKEN = {
    "a companion stands elsewhere": [
        Group(("a", "b", "c"), (V, NONE, NONE), nobody=0),
        Group(("d", "x"), (NONE, S)),
    ],
    "a companion stands elsewhere, with a counterfeit": [
        Group(("a", "b", "c"), (V, NONE, NONE, NONE), nobody=1),
        Group(("d", "x"), (NONE, S)),
    ],
    "a new carrier while somebody is absent": [
        Group(("a", "b", "c"), (V, V, NONE, NONE), absent=("d",))
    ],
    "no counterfeit for somebody absent": [Group(("a", "b", "c"), (V, NONE, NONE))],
    "a cohort without its value": [Group(("a",), (NONE,)), Group(("b", "c", "d"), (V, NONE, NONE))],
    "a stranger joins": [Group(("a", "b", "c", "d", "x"), (V, NONE, NONE, NONE, NONE))],
    "fewer carriers": [Group(("a", "b", "c", "d"), (NONE, NONE, NONE, NONE))],
    "registered persons in a cohort": [Group(("a", "b", "c", "d", "x"), (V, NONE, NONE, NONE))],
    "a new cohort with a counterfeit": [Group(("x", "y"), (V, NONE, NONE), nobody=1), *WHOLE],
    "two cohorts as one": [
        Group(("e", "f", "g", "h"), (V, NONE, NONE, NONE)),
        Group(("a", "b", "c", "d"), (V, NONE, NONE, NONE)),
    ],
}
MORE_THAN_A_SHARE = [
    "a companion stands elsewhere",
    "a companion stands elsewhere, with a counterfeit",
    "a new carrier while somebody is absent",
    "no counterfeit for somebody absent",
    "a cohort without its value",
]


def broken(how):
    if how == "two cohorts as one":
        return [
            BROKEN[how],
            [
                Group(("a", "b", "e", "f"), (V, NONE, NONE, NONE)),
                Group(("c", "d", "g", "h"), (V, NONE, NONE, NONE)),
            ],
        ]
    return [FOUNDED, BROKEN[how]]


@pytest.mark.parametrize("how", MORE_THAN_A_SHARE)
def test_broken_cohorts_expose(how):
    """Each of the rules is needed: without it all worlds together link somebody to the value with
    more than the cohort's share of carriers.
    """
    series = broken(how)
    carriers = max(sum("v" in row for row in group.rows) for release in series for group in release)

    assert max(ever_linked(series, p, "v", LASTING)["v"] for p in "abcd") > Fraction(carriers, 4)
    assert all(
        ever_linked([FOUNDED, WHOLE], p, "v", LASTING)["v"] == Fraction(1, 4) for p in "abcd"
    )


@pytest.mark.parametrize("how", BROKEN)
def test_broken_cohorts_are_refused(how):
    """The check refuses each of them, and so does its slow twin; neither refuses the same cohort
    with all its members, or with a counterfeit.
    """
    for kept in (
        [FOUNDED, FOUNDED],
        [FOUNDED, WHOLE],
        [FOUNDED, [Group(("x",), (S,))], WHOLE],
        [[Group(("d",), (S,))], FOUNDED, WHOLE],
    ):
        assert verdicts(kept, promise(4), of_sets=False)["permanent values"].holds
        assert naive.cohorts_are_kept(as_shown(kept), LASTING)

    assert not verdicts(broken(how), promise(), of_sets=False)["permanent values"].holds
    assert not naive.cohorts_are_kept(as_shown(broken(how)), LASTING)


@st.composite
def tables(draw):
    """2 or 3 small tables of persons who come, stay away and return with values that come and go;
    some with a registry, or with a value that stays.
    """
    of_sets, lasting, registry = (draw(st.booleans()) for _ in range(3))
    n = draw(st.integers(3, 11 if lasting else 14))
    protected = draw(st.sampled_from(["s", "st"]))
    ages = {p: draw(st.integers(20, 29)) for p in range(n)}
    has = {p: lasting and draw(st.sampled_from([False, False, False, True])) for p in range(n)}
    found = []
    for _ in range(draw(st.integers(2, 3))):
        rows = {}
        for p in range(n):
            if draw(st.sampled_from([True, True, False])):
                has[p] |= lasting and draw(st.sampled_from([False] * 9 + [True]))
                transient = a_row(draw, of_sets) & set(protected)
                rows[p] = (
                    transient | {"v"}
                    if has[p] and of_sets
                    else frozenset("v")
                    if has[p]
                    else transient
                )
        if rows:
            found.append(rows)
    return found, ages, of_sets, lasting, registry and not lasting, draw(st.integers(0, 2**32))


def published_by_the_method(case, *, forget=""):
    """The series that the method makes of small tables, as groups with known members, and the
    releases and evidence to check.

    ``forget``: ``exposures`` or ``cohorts``, of which memory is empty before every release. A cohort
    may have few members here: that it has many is for who knows totals, which no file tells.
    """
    with patch.object(phases, "_FEWEST", 2):
        return _published(case, forget)


def _published(case, forget):
    found, ages, of_sets, lasting, registry, seed = case
    schema = Schema(
        identifier="who",
        quasi=["age"],
        sensitive="ill",
        missing={"ill": "value"},
        types={"ill": "set"} if of_sets else {},
    )
    method = Method(
        l=2,
        strategy="geometric",
        alpha=1.5,
        permanent=["v"] if lasting else [],
        expected_later=["v"] if lasting else [],
    )
    names = {key(str(p)): f"p{p}" for p in ages}
    memory, series, releases, groups, cohort_of = Memory(), [], [], {}, {}
    for number, rows in enumerate(found):
        listed = (
            pl.DataFrame({"who": [str(p) for p in ages], "age": list(ages.values())})
            if registry
            else None
        )
        ill = [
            "; ".join(sorted(row)) if of_sets else next(iter(row), None) for row in rows.values()
        ]
        frame = pl.DataFrame(
            {
                "who": [str(p) for p in rows],
                "age": [ages[p] for p in rows],
                "ill": pl.Series(ill, dtype=pl.String),
            }
        )
        microdata = Microdata.encode(frame, schema, KEY, listed)
        try:
            draft = method.publish(microdata, memory, Randomness.seeded(seed + number))
        except MethodError:
            continue
        mapping = draft.mapping(microdata)
        remembered = replace(
            draft,
            remember={} if forget == "cohorts" else draft.remember,
            state={} if forget == "exposures" else draft.state,
        )
        memory = memory.after(remembered, mapping)
        release = released(draft.form, len(series) + 1)
        series.append(
            as_groups(release, {names[p]: g for p, g in mapping.iter_rows()}, of_sets, cohort_of)
        )
        releases.append(release)
        groups[release.number] = mapping
    return (
        series,
        releases,
        Evidence(groups=groups),
        (Method(l=2, permanent=["v"]) if lasting else method).promise(()),
    )


def released(form, number):
    manifest = Manifest(
        series="small", number=number, form="generalized", method={"name": "global-guarantee"}, guarantees=[], attributes=list(form.attributes), rows=form.rows,
        groups=form.groups, counterfeits=form.counterfeit_rows, registered=form.registered_persons, boxes="tight", privacy_unit="person", files=[],
    )  # fmt: skip
    return Release(manifest, form, Path("nowhere"))


def as_groups(release, group_of, of_sets, cohort_of):
    """The groups of a release with their members; ``cohort_of`` (person -> founding members) grows
    by its new cohorts.
    """
    rows = {}
    for group, value in release.form.table.select("group", "ill").iter_rows():
        rows.setdefault(group, []).append(
            frozenset(value.split("; ")) - {""}
            if of_sets and value
            else frozenset([value] if value else [])
        )
    found = []
    for group, held in rows.items():
        there = tuple(p for p, g in group_of.items() if g == group)
        if any("v" in row for row in held):
            for p in there:
                cohort_of.setdefault(p, there)
        absent = tuple(p for p in cohort_of.get(there[0], ()) if p not in group_of)
        found.append(Group(there, tuple(held), absent))
    return found


def largest_in_all_worlds(series, promised):
    """The largest probability of anybody ever having been linked to anything."""
    people = {p for release in series for group in release for p in group.there}
    permanent = frozenset(promised.permanent)
    return max(
        (max(ever_linked(series, p, VALUES + "v", permanent).values()) for p in people),
        default=Fraction(0),
    )


def is_small(series):
    """Whether its worlds can be counted in no time."""
    return all(ways(group) <= 1000 for release in series for group in release)


def check_the_method(case):
    """In all worlds of what the method publishes nobody was ever linked to anything with more than
    1/2, and the check holds.
    """
    series, releases, evidence, promised = published_by_the_method(case)
    assume(series and is_small(series))
    assert largest_in_all_worlds(series, promised) <= Fraction(1, 2)
    assert [
        v.note for v in promised.check(releases[-1], releases[:-1], evidence) if not v.holds
    ] == []


@given(tables())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_method_keeps_its_promise_in_all_worlds(case):
    """Whatever small tables come, with sets, a registry or a permanent value, all worlds of what is
    published keep the promise.
    """
    check_the_method(case)


@pytest.mark.slow
@given(tables())
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_method_keeps_its_promise_in_all_worlds_of_a_thousand_series(case):
    """The same on a thousand series."""
    check_the_method(case)


def test_a_founding_shows_what_a_cohort_is_founded_with():
    """Also where nothing else may be shown of its members, as a first release told half of what
    they may be linked to.
    """
    first = {p: frozenset("s" if p % 2 else "") for p in range(10)}
    second = {p: frozenset("v" if p == 0 else "") for p in range(6)}
    case = [first, second, second], dict.fromkeys(range(10), 20), False, True, False, 1

    series, releases, evidence, promised = published_by_the_method(case)

    shown = [[row for group in release for row in group.rows if row] for release in series]
    assert shown == [[frozenset("s")] * 5, [frozenset("v")], [frozenset("v")]]
    assert all(v.holds for v in promised.check(releases[-1], releases[:-1], evidence))


FIND = settings(
    max_examples=5000, deadline=None, database=None, derandomize=True, phases=[Phase.generate]
)


@pytest.mark.parametrize(
    ("forget", "part"), [("exposures", "ever linked"), ("cohorts", "permanent values")]
)
def test_a_method_that_forgets_is_caught(forget, part):
    """Without its memory of exposures the same method exceeds 1/2 in all worlds of some series, and
    without that of cohorts the 1/4 with which they are founded; the check of the series refuses it.
    """

    def exceeds(case):
        series, _, _, promised = published_by_the_method(case, forget=forget)
        wanted = promised.permanent if forget == "cohorts" else not promised.permanent
        if not (wanted and series and is_small(series)):
            return False
        if forget == "exposures":
            return largest_in_all_worlds(series, promised) > Fraction(1, 2)
        found = [
            ever_linked(series, p, "v", LASTING)
            for release in series
            for group in release
            for p in group.there
        ]
        return any(f is None or f["v"] > Fraction(1, 4) for f in found)

    case = find(tables(), exceeds, settings=FIND)
    _, releases, evidence, promised = published_by_the_method(case, forget=forget)

    refused = [v.name for v in promised.check(releases[-1], releases[:-1], evidence) if not v.holds]
    assert f"global-guarantee: {part}" in refused
    series, _, _, promised = published_by_the_method(case)
    assert largest_in_all_worlds(series, promised) <= Fraction(1, 2)
