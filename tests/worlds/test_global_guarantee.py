"""The global guarantee against all possible worlds of small series, in exact fractions: Lemma 4, and the argument about permanent values."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naive import global_guarantee as naive
from phalanx.guarantees import breach
from phalanx.guarantees.global_guarantee import GlobalGuarantee
from shown import evidence_of, key, releases_of
from worlds.global_guarantee import Group, ever_linked

VALUES = "stu"
LASTING = frozenset("vw")


def as_shown(series):
    """What is published of groups with known members: rows, mapping, and the counts beside them."""
    return [
        naive.Shown(
            rows={g: list(group.rows) for g, group in enumerate(release, 1)},
            groups={p: g for g, group in enumerate(release, 1) for p in group.there},
            counterfeits={g: n for g, group in enumerate(release, 1) if (n := len(group.absent) + group.nobody)},
            registered={g: n for g, group in enumerate(release, 1) if (n := len(group.there) + len(group.absent) + group.nobody - len(group.rows))},
        )
        for release in series
    ]


def figures(series, guarantee, *, of_sets):
    """(person, value) -> the probability that the check computes."""
    shown = as_shown(series)
    found = breach.Series.of(releases_of(shown, of_sets=of_sets), evidence_of(shown).groups, guarantee.passes, guarantee.added)
    names = {key(p): p for s in shown for p in s.groups}
    cells = found.cells
    return {
        (names[found.persons[int(pairs.person[i])]], cells.values[int(pairs.value[i])]): cells.probability(
            cells.kind[pairs.cell[pairs.starts[i] : pairs.starts[i + 1]]].tolist()
        )
        for pairs in found.parts()
        for i in range(len(pairs))
    }


def verdicts(series, guarantee, *, of_sets):
    shown = as_shown(series)
    releases = releases_of(shown, of_sets=of_sets)
    found = guarantee.check(releases[-1], releases[:-1], evidence_of(shown))
    return {v.name.removeprefix("global guarantee: "): v for v in found}


def a_row(draw, of_sets):
    """The transient values of a row: at most one, or a set."""
    return frozenset(draw(st.sets(st.sampled_from(VALUES), max_size=2))) if of_sets else frozenset(draw(st.sampled_from(["", "", "s", "s", "t", "u"])))


@st.composite
def transient_series(draw):
    """2 or 3 releases of up to 6 persons who come, stay away and return, in up to 3 groups, some of them registered without a row, with counterfeits."""
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
                groups.append(Group(there, tuple(a_row(draw, of_sets) for _ in range(len(there) + nobody - without)), nobody=nobody))
        if groups:
            series.append(groups)
    return series, of_sets


def check_lemma_4(case):
    """The check's figure for each person and value is the share of worlds in which they were linked, and its worst figure the largest of them."""
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
    """1 - prod (1 - n_s / n) is the share of all worlds: with absence, return, sets of values, registered persons and counterfeits."""
    check_lemma_4(case)


@pytest.mark.slow
@given(transient_series())
@settings(max_examples=4000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_lemma_4_on_thousands_of_series(case):
    """The same on thousands of series."""
    check_lemma_4(case)


@pytest.mark.parametrize("forget", ["registered", "an earlier release", "one row that holds the value"])
def test_a_wrong_lemma_is_seen(forget):
    """The comparison with all worlds sees figures that forget somebody or something."""
    series = [[Group(("a", "b", "c"), (frozenset("s"), frozenset("s")))], [Group(("a", "d"), (frozenset("s"), frozenset()))]]
    (first,), (second,) = series
    wrong = {
        "registered": [[replace(first, there=("a", "b"))], [second]],
        "an earlier release": [[second]],
        "one row that holds the value": [[replace(first, rows=(frozenset("s"), frozenset()))], [second]],
    }[forget]

    assert ever_linked(series, "a", "s")["s"] == 1 - Fraction(1, 3) * Fraction(1, 2)
    assert naive.ever_linked(as_shown(wrong))["a", "s"] != ever_linked(series, "a", "s")["s"]


@st.composite
def cohorts(draw):
    """A cohort of 2 to 4 that obeys the rules: founded after a release or at once, with absent members, and carriers who are added when all are there."""
    of_sets, n = draw(st.booleans()), draw(st.integers(2, 4))
    members = [f"p{i}" for i in range(n)]
    lasting = draw(st.sampled_from(["v", "v", "vw"])) if n == 4 else "v"
    carries = {m: frozenset() for m in members}

    def grow():
        for v in lasting:
            free = [m for m in members if v not in carries[m] and (of_sets or not carries[m])]
            if free and sum(v in held for held in carries.values()) < n // 2 and draw(st.booleans()):
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
        there = members if j == 0 else [m for m in members if draw(st.sampled_from([True, True, False]))]
        if j == 0 or len(there) == n:
            grow()
        others = [Group(("x", "y"), (a_row(draw, of_sets), a_row(draw, of_sets)))] if draw(st.booleans()) else []
        absent = [m for m in members if m not in there]
        series.append([*([Group(tuple(there), tuple(row(m) for m in members), tuple(absent))] if there else []), *others])
    return [release for release in series if release], members, of_sets, carries


def promise(l=2):
    return GlobalGuarantee(l, permanent=sorted(LASTING))


def check_permanent(case):
    """Every member carries a permanent value with exactly carriers / members; of transient values the check's figure is at least the true one."""
    series, members, of_sets, carries = case
    computed = figures(series, promise(), of_sets=of_sets)
    assert computed == naive.ever_linked(as_shown(series), permanent=LASTING, of_sets=of_sets)
    for p in [*members, "x", "y"]:
        true = ever_linked(series, p, VALUES + "vw", LASTING)
        for v in LASTING:
            assert true[v] == (Fraction(sum(v in held for held in carries.values()), len(members)) if p in members else 0)
        for v in VALUES:
            assert true[v] <= computed.get((p, v), 0)
    found = verdicts(series, promise(), of_sets=of_sets)
    assert found["permanent values"].holds, found["permanent values"].note
    assert found["persons and groups"].holds
    assert naive.cohorts_are_kept(as_shown(series), LASTING)


@given(cohorts())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_permanent_values(case):
    """In series that obey the rules of cohorts, all worlds say what the check says of permanent values, and no more of transient ones."""
    check_permanent(case)


@pytest.mark.slow
@given(cohorts())
@settings(max_examples=4000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_permanent_values_on_thousands_of_series(case):
    """The same on thousands of series."""
    check_permanent(case)


def test_a_product_is_too_little_for_sets():
    """With sets, multiplying a transient value's shares in a cohort would understate it: beside the permanent value, then elsewhere, it has met everybody."""
    series = [
        [Group(("a", "b"), (frozenset("vs"), frozenset()))],
        [Group(("a", "b"), (frozenset("v"), frozenset("s")))],
    ]

    true = ever_linked(series, "a", "s", LASTING)["s"]

    assert true == 1 > naive.ever_linked(as_shown(series), permanent=LASTING, of_sets=False)["a", "s"] == Fraction(3, 4)
    assert figures(series, promise(), of_sets=True)["a", "s"] == 1
    assert not verdicts(series, promise(), of_sets=True)["ever linked"].holds


V, S, NONE = frozenset("v"), frozenset("s"), frozenset()
FOUNDED = [Group(("a", "b", "c", "d"), (V, NONE, NONE, NONE))]
WHOLE = [Group(("a", "b", "c"), (V, NONE, NONE, NONE), absent=("d",))]
BROKEN = {
    "a companion stands elsewhere": [Group(("a", "b", "c"), (V, NONE, NONE), nobody=0), Group(("d", "x"), (NONE, S))],
    "a companion stands elsewhere, with a counterfeit": [Group(("a", "b", "c"), (V, NONE, NONE, NONE), nobody=1), Group(("d", "x"), (NONE, S))],
    "a new carrier while somebody is absent": [Group(("a", "b", "c"), (V, V, NONE, NONE), absent=("d",))],
    "no counterfeit for somebody absent": [Group(("a", "b", "c"), (V, NONE, NONE))],
    "a cohort without its value": [Group(("a",), (NONE,)), Group(("b", "c", "d"), (V, NONE, NONE))],
    "a stranger joins": [Group(("a", "b", "c", "d", "x"), (V, NONE, NONE, NONE, NONE))],
    "fewer carriers": [Group(("a", "b", "c", "d"), (NONE, NONE, NONE, NONE))],
    "registered persons in a cohort": [Group(("a", "b", "c", "d", "x"), (V, NONE, NONE, NONE))],
    "a new cohort with a counterfeit": [Group(("x", "y"), (V, NONE, NONE), nobody=1), *WHOLE],
    "two cohorts as one": [Group(("e", "f", "g", "h"), (V, NONE, NONE, NONE)), Group(("a", "b", "c", "d"), (V, NONE, NONE, NONE))],
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
        return [BROKEN[how], [Group(("a", "b", "e", "f"), (V, NONE, NONE, NONE)), Group(("c", "d", "g", "h"), (V, NONE, NONE, NONE))]]
    return [FOUNDED, BROKEN[how]]


@pytest.mark.parametrize("how", MORE_THAN_A_SHARE)
def test_broken_cohorts_expose(how):
    """Each of the rules is needed: without it all worlds together link somebody to the value with more than the cohort's share of carriers."""
    series = broken(how)
    carriers = max(sum("v" in row for row in group.rows) for release in series for group in release)

    assert max(ever_linked(series, p, "v", LASTING)["v"] for p in "abcd") > Fraction(carriers, 4)
    assert all(ever_linked([FOUNDED, WHOLE], p, "v", LASTING)["v"] == Fraction(1, 4) for p in "abcd")


@pytest.mark.parametrize("how", BROKEN)
def test_broken_cohorts_are_refused(how):
    """The check refuses each of them, and so does its slow twin; neither refuses the same cohort with all its members, or with a counterfeit."""
    for kept in ([FOUNDED, FOUNDED], [FOUNDED, WHOLE], [FOUNDED, [Group(("x",), (S,))], WHOLE], [[Group(("d",), (S,))], FOUNDED, WHOLE]):
        assert verdicts(kept, promise(4), of_sets=False)["permanent values"].holds
        assert naive.cohorts_are_kept(as_shown(kept), LASTING)

    assert not verdicts(broken(how), promise(), of_sets=False)["permanent values"].holds
    assert not naive.cohorts_are_kept(as_shown(broken(how)), LASTING)
