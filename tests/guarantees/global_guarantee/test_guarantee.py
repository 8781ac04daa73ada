# SPDX-License-Identifier: Apache-2.0
"""The check of the global guarantee beside its slow twin, and every way to be wrong about it:
counts, mappings, carried memory, promises.
"""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import global_guarantee as naive
from phalanx.errors import PlanError, ReleaseError
from phalanx.guarantees.global_guarantee import breach, shares
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee
from phalanx.guarantees.registry import from_parameters
from phalanx.release.evidence.evidence import Evidence
from support.shown import checked, evidence_of, key, keys, made, mapping, releases_of

S, T, NONE = frozenset("s"), frozenset("t"), frozenset()
ALONE, PERSONS, EVER, CARRIED, PERMANENT = (
    "each release alone",
    "persons and groups",
    "ever linked",
    "carried memory",
    "permanent values",
)


@pytest.mark.parametrize("of_sets", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_the_slow_twin_finds_the_same(of_sets, seed):
    """Worst figures, what holds and which pairs are above a bound are those of the slow twin, for
    all values, listed ones and all but some.
    """
    series = made(np.random.default_rng(seed), of_sets=of_sets)
    for protected, unprotected, without in (
        ("all", ["t"], "t"),
        (["s", "u"], [], "tv"),
        ("all", [], ""),
    ):
        true = naive.ever_linked(series, without=without)
        bound = sorted(true.values())[len(true) // 2]
        promise = GlobalGuarantee(
            1 / bound if bound < 1 else 2, protected=protected, unprotected=unprotected
        )
        found = checked(promise, series, of_sets=of_sets)

        assert found[EVER].worst == max(true.values())
        assert found[ALONE].worst == naive.largest_share(series, without=without)
        assert found[PERSONS].holds
        for part in (EVER, ALONE):
            assert found[part].holds == (found[part].worst <= 1 / Fraction(promise.l))
        pairs = breach.Series.of(
            releases_of(series, of_sets=of_sets), evidence_of(series).groups, promise.passes
        )
        above = set()
        for part in pairs.parts():
            chosen = part.above(bound)
            above |= {
                (pairs.persons[int(p)], pairs.cells.values[int(v)])
                for h, v in zip(part.history[chosen], part.value[chosen], strict=True)
                for p in np.flatnonzero(pairs.history == h)
            }
        assert above == {(key(p), v) for (p, v), x in true.items() if x > bound}


@pytest.mark.parametrize("seed", range(5))
def test_what_is_near_is_decided_by_fractions(monkeypatch, seed):
    """However many pairs floats cannot tell apart, the largest fraction is the worst figure."""
    monkeypatch.setattr(breach, "_NEAR", 1.0)
    series = made(np.random.default_rng(seed), of_sets=False)
    true = naive.ever_linked(series, without="").values()
    assert len(set(true)) > 1
    assert checked(GlobalGuarantee(2), series)[EVER].worst == max(true)


@given(st.integers(0, 2**32), st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_some_persons_at_a_time(seed, most):
    """However many persons are looked at together, the worst figure, its groups and the number of
    pairs are the same.
    """
    series = made(np.random.default_rng(seed), of_sets=False)
    whole = checked(GlobalGuarantee(2), series)[EVER]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(breach, "_LINKS", most)
        parted = checked(GlobalGuarantee(2), series)[EVER]

    assert (parted.worst, parted.note) == (whole.worst, whole.note)
    p = shares.linked(
        [(*row, False) for row in parted.worst_cases.select("members", "holding").iter_rows()]
    )
    assert p == whole.worst


def test_groups_of_any_numbers():
    """Groups need not follow each other in their numbers."""
    series = [
        naive.Shown(
            {3: [S, NONE], 5: [NONE], 70: [T, NONE, NONE]},
            {"a": 3, "b": 3, "c": 70, "d": 70, "e": 70, "f": 5},
        )
    ] * 2
    found = checked(GlobalGuarantee(2, protected=["t"]), series)
    assert (found[PERSONS].holds, found[EVER].worst) == (True, Fraction(5, 9))


def test_the_worst_case_is_shown_as_groups():
    """The groups that linked the worst person to the value, by release and size; no person in
    it.
    """
    series = [
        naive.Shown({1: [S, NONE], 2: [NONE]}, {"a": 1, "b": 1, "c": 2}),
        naive.Shown(
            {1: [NONE, T], 2: [S, NONE, NONE]}, dict.fromkeys("bd", 1) | dict.fromkeys("ace", 2)
        ),
    ]

    cases = checked(GlobalGuarantee(2), series)[EVER].worst_cases

    assert cases.rows(named=True) == [
        {"release": 1, "group": 1, "members": 2, "holding": 1, "value": "s"},
        {"release": 2, "group": 2, "members": 3, "holding": 1, "value": "s"},
    ]


def test_a_bound_is_never_met_by_rounding():
    """A probability that is above 1/l by less than a float can tell is refused; at 1/l exactly it
    holds.
    """
    series = [
        naive.Shown({1: [S, NONE, NONE]}, dict.fromkeys("abc", 1)),
        naive.Shown({1: [S, NONE, NONE]}, dict.fromkeys("abc", 1)),
    ]
    for l, holds in (
        (Fraction(9, 5), True),
        (Fraction(9, 5) + Fraction(1, 10**30), False),
        (Fraction(9, 5) - Fraction(1, 10**30), True),
    ):
        assert checked(GlobalGuarantee(l), series)[EVER].holds is holds


def test_who_is_above_a_bound_is_told_exactly():
    """A bound below a probability by less than a float can tell has it above, and the probability
    itself does not.
    """
    series = [
        naive.Shown(
            {1: [S, NONE, NONE], 2: [NONE, T]},
            {**dict.fromkeys("abc", 1), **dict.fromkeys("de", 2)},
        )
    ] * 2
    (pairs,) = breach.Series.of(
        releases_of(series), evidence_of(series).groups, GlobalGuarantee(2).protects
    ).parts()
    for bound, above in (
        (Fraction(5, 9), 2),
        (Fraction(5, 9) - Fraction(1, 10**30), 5),
        (Fraction(3, 4), 0),
        (Fraction(3, 4) - Fraction(1, 10**30), 2),
    ):
        assert pairs.persons[pairs.above(bound)].sum() == above


def test_the_worst_is_found_beside_added_shares():
    """Shares that are added, in cohorts of sets, hide no larger probability elsewhere."""
    both, whom = frozenset("vs"), {**dict.fromkeys("abcd", 1), **dict.fromkeys("xy", 2)}
    series = [naive.Shown({1: [both, NONE, NONE, NONE], 2: [S, NONE]}, whom)] * 2
    found = checked(GlobalGuarantee(2, permanent=["v"]), series, of_sets=True)[EVER]
    assert (
        found.worst
        == Fraction(3, 4)
        == max(naive.ever_linked(series, permanent="v", of_sets=True).values())
    )
    assert found.worst_cases["group"].to_list() == [2, 2]


def test_the_worst_is_not_whom_most_groups_link():
    """Beside a cohort, whose shares are added, somebody linked once by two thirds is worse off
    than those who are linked twice by a quarter.
    """
    both = frozenset("vs")
    whom = {**dict.fromkeys("abcd", 1), **dict.fromkeys("efgh", 2), **dict.fromkeys("xyz", 3)}
    twice = {1: [both, NONE, NONE, NONE], 2: [T, NONE, NONE, NONE]}
    series = [
        naive.Shown({**twice, 3: [T, T, NONE]}, whom),
        naive.Shown({**twice, 3: [NONE, NONE, NONE]}, whom),
    ]
    found = checked(GlobalGuarantee(2, permanent=["v"]), series, of_sets=True)[EVER]
    assert found.worst == Fraction(2, 3)
    assert found.worst == max(naive.ever_linked(series, permanent="v", of_sets=True).values())


def test_shares_beside_a_single_permanent_value_are_multiplied():
    """Where a row holds one value, two releases that link a quarter each leave nine sixteenths, in
    a group with a permanent value as in any other.
    """
    series = [naive.Shown({1: [frozenset("v"), S, NONE, NONE]}, dict.fromkeys("abcd", 1))] * 2
    found = checked(GlobalGuarantee(2, permanent=["v"]), series)[EVER]
    assert found.worst == Fraction(7, 16)
    assert found.worst == max(naive.ever_linked(series, without="v").values())


def test_a_release_without_rows_links_nobody():
    """Whoever a mapping places there is told, and the releases before it count as they did."""
    series = [
        naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1)),
        naive.Shown({}, dict.fromkeys("ab", 1)),
    ]
    found = checked(GlobalGuarantee(2), series)
    assert (found[PERSONS].holds, found[EVER].worst) == (False, Fraction(1, 2))


def test_who_stood_in_the_same_groups_is_looked_at_once():
    """Persons have one history as long as they stand in the same groups, and each is counted."""
    first = {**dict.fromkeys("abc", 1), **dict.fromkeys("de", 2)}
    shown = [
        naive.Shown({1: [S, NONE, NONE], 2: [T, NONE]}, first),
        naive.Shown({1: [S, NONE, NONE], 2: [T, NONE]}, {**first, "c": 2, "d": 1}),
    ]
    for releases, many in ((shown[:1], [2, 3]), (shown, [1, 1, 1, 2])):
        series = breach.Series.of(
            releases_of(releases), evidence_of(releases).groups, GlobalGuarantee(2).protects
        )
        assert sorted(series.many.tolist()) == many
        assert sum(int(pairs.persons.sum()) for pairs in series.parts()) == len(
            naive.ever_linked(releases)
        )


def test_whom_a_mapping_names_twice_is_linked_twice():
    """A release that has a person in two groups links them in both, and does not hold anyway."""
    series = [naive.Shown({1: [S, NONE], 2: [S, NONE]}, {"a": 1, "b": 1, "c": 2, "d": 2})]
    evidence = evidence_of(series)
    groups = {
        1: pl.concat([evidence.groups[1], pl.DataFrame({"person": [key("a")], "group": [2]})])
    }
    (pairs,) = breach.Series.of(releases_of(series), groups, GlobalGuarantee(2).protects).parts()
    assert pairs.worst()[0] == Fraction(3, 4)


@pytest.mark.parametrize("first", [1, 2])
def test_the_worst_of_all_parts(monkeypatch, first):
    """Where persons are looked at one after the other, the worst of all is told, be it the first
    or the last one.
    """
    monkeypatch.setattr(breach, "_LINKS", 1)
    whom = {**dict.fromkeys("ab", first), **dict.fromkeys("cdef", 3 - first)}
    series = [
        naive.Shown({first: [S, NONE], 3 - first: [T, NONE, NONE, NONE]}, whom),
    ] * 2
    found = checked(GlobalGuarantee(2), series)[EVER]
    assert (found.worst, found.holds) == (Fraction(3, 4), False)
    assert found.worst_cases["group"].to_list() == [first, first]


def test_values_of_different_types_are_the_same():
    """A release read from CSV has numbers as text, which are the same values."""
    series = [naive.Shown({1: [frozenset("5"), NONE]}, dict.fromkeys("ab", 1))] * 2
    first, second = releases_of(series)
    number = second.form.table.with_columns(pl.col("ill").cast(pl.Int64))
    second = replace(second, form=replace(second.form, table=number))

    for protected in ("all", ["5"], [5]):
        (ever,) = [
            v
            for v in GlobalGuarantee(2, protected=protected).check(
                second, [first], evidence_of(series)
            )
            if "ever" in v.name
        ]
        assert ever.worst == Fraction(3, 4)


def test_no_value_is_lost_among_types():
    """Values of one type stay what they are; of several they are text, or floats where they are
    numbers and some of them are.
    """
    wide, narrow = pl.Series([2**40, 5]), pl.Series([7, None], dtype=pl.Int16)
    assert shares._union([wide, wide, pl.Series([], dtype=pl.String)]).to_list() == [5, 2**40]
    assert shares._union([wide, narrow]).to_list() == [str(2**40), "5", "7"]
    assert shares._union([narrow, pl.Series(["x", "7"])]).to_list() == ["7", "x"]
    assert shares._union([narrow, pl.Series([1.5])]).to_list() == [1.5, 7.0]


def test_what_cannot_be_checked_is_said():
    """Without a mapping, or without the releases before, the parts that need them say so, and the
    others are checked all the same.
    """
    series = [naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1))] * 3
    files = checked(GlobalGuarantee(2), series, evidence=Evidence())
    assert files[ALONE].holds and files[ALONE].worst == Fraction(1, 2)
    assert all(
        "not checked: no person-to-group mapping was given for release(s) 1, 2, 3"
        in files[part].note
        and files[part].holds
        and files[part].worst is None
        for part in (PERSONS, EVER)
    )
    assert (files[PERSONS].bound, files[EVER].bound) == (0, Fraction(1, 2))
    one = GlobalGuarantee(2).check(releases_of(series)[2], (), evidence_of(series))
    assert [v.note for v in one][-1] == "not checked: release(s) 1, 2 of the series were not given"
    gap = GlobalGuarantee(2).check(
        releases_of(series)[2], releases_of(series)[:1], evidence_of(series)
    )
    assert [v.note for v in gap][-1] == "not checked: release(s) 2 of the series were not given"
    some = GlobalGuarantee(2).check(
        releases_of(series)[2],
        releases_of(series)[:2],
        Evidence(groups={1: mapping({"a": 1, "b": 1}), 3: mapping({"a": 1, "b": 1})}),
    )
    assert {(v.worst, v.holds) for v in some if v.name.endswith(EVER)} == {
        (Fraction(3, 4), False),
        (None, True),
    }
    lasting = checked(GlobalGuarantee(2, permanent=["s"]), series, evidence=Evidence())
    assert "not checked: no person-to-group mapping" in lasting[PERMANENT].note
    later = GlobalGuarantee(2, permanent=["s"]).check(
        releases_of(series)[2], (), evidence_of(series)
    )
    assert "cohorts are followed from the first release on" in later[-1].note


def test_nothing_protected_is_nothing_to_bound():
    """Where nobody is linked to a protected value the promise holds, and it says that there was
    nothing to look at.
    """
    found = checked(
        GlobalGuarantee(2, protected=["t"]), [naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1))]
    )
    assert (found[EVER].worst, found[EVER].holds, found[ALONE].worst) == (None, True, None)
    assert found[ALONE].result == "not covered"
    assert "no protected value is published" in found[ALONE].note


def test_no_sensitive_attribute_is_no_promise_kept():
    """A release without a sensitive attribute is refused."""
    (release,) = releases_of([naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1))])
    bare = replace(
        release,
        manifest=release.manifest.model_copy(update={"attributes": []}),
        form=replace(release.form, table=release.form.table.drop("ill"), attributes=()),
    )
    (verdict,) = GlobalGuarantee(2).check(bare)
    assert not verdict.holds
    assert "no sensitive attribute" in verdict.note


TRUE = naive.Shown(
    {1: [S, NONE, NONE], 2: [NONE, NONE]}, {"a": 1, "b": 1, "c": 1, "d": 1, "e": 2}, {2: 1}, {1: 1}
)
WRONG_MAPPINGS = {
    "somebody twice": (
        {"person": ["a", "a", "b", "c", "d", "e"], "group": [1, 1, 1, 1, 1, 2]},
        "names 1 person(s) more than once",
    ),
    "a group that is not there": (
        {"person": ["a", "b", "c", "d", "e", "f"], "group": [1, 1, 1, 1, 2, 3]},
        "puts 1 person(s) into groups that are not",
    ),
    "a negative group": (
        {"person": ["a", "b", "c", "d", "e", "f"], "group": [1, 1, 1, 1, 2, -1]},
        "puts 1 person(s) into groups that are not",
    ),
    "no group": (
        {"person": ["a", "b", "c", "d", "e", "f"], "group": [1, 1, 1, 1, 2, None]},
        "puts 1 person(s) into groups that are not",
    ),
    "a row without a person": (
        {"person": ["a", "b", "c", None, "e"], "group": [1, 1, 1, 1, 2]},
        "1 row(s) that name no person",
    ),
    "somebody too few": (
        {"person": ["a", "b", "c", "e"], "group": [1, 1, 1, 2]},
        "1 group(s) have another number of persons",
    ),
    "somebody for a counterfeit": (
        {"person": ["a", "b", "c", "d", "e", "f"], "group": [1, 1, 1, 1, 2, 2]},
        "1 group(s) have another number of persons",
    ),
    "somebody elsewhere": (
        {"person": ["a", "b", "c", "d", "e"], "group": [1, 1, 1, 2, 2]},
        "2 group(s) have another number of persons",
    ),
}


@pytest.mark.parametrize("how", WRONG_MAPPINGS)
def test_wrong_mappings(how):
    """Each way in which a mapping cannot be that of the files is refused, and said; the true one is
    not.
    """
    names, said = WRONG_MAPPINGS[how]
    persons = pl.concat([keys([p]) if p else keys(["x"]).clear(1) for p in names["person"]])
    wrong = pl.DataFrame({"person": persons, "group": pl.Series(names["group"], dtype=pl.Int64)})

    assert checked(GlobalGuarantee(2), [TRUE])[PERSONS].holds
    found = checked(GlobalGuarantee(2), [TRUE], evidence=Evidence(groups={1: wrong}))[PERSONS]

    assert not found.holds
    assert said in found.note


def test_eight_faults_are_shown():
    """Of ten wrong mappings eight are told, and that there are two more."""
    few = mapping({p: g for p, g in TRUE.groups.items() if p != "a"})
    evidence = Evidence(groups=dict.fromkeys(range(1, 11), few))
    found = checked(GlobalGuarantee(2), [TRUE] * 10, evidence=evidence)[PERSONS]
    assert (found.holds, found.worst) == (False, 10)
    told = found.note.split("; ")
    assert [text[:10] for text in told[:8]] == [f"release {i}:" for i in range(1, 9)]
    assert told[8:] == ["and 2 more"]


def test_group_0_is_nobodys():
    """Rows that were suppressed are in group 0 of a mapping; they are in no release."""
    marked = Evidence(groups={1: mapping(TRUE.groups | {"z": 0})})
    found, plain = (
        checked(GlobalGuarantee(2), [TRUE], evidence=marked),
        checked(GlobalGuarantee(2), [TRUE]),
    )
    assert {part: v.to_json() for part, v in found.items()} == {
        part: v.to_json() for part, v in plain.items()
    }


WRONG_COUNTS = {
    "as many registered as counterfeit": (
        {1: 90, 2: 1},
        {1: 91},
        "1 group(s) would consist of counterfeits alone",
    ),
    "counterfeits alone": ({2: 2}, {1: 1, 2: 1}, "1 group(s) would consist of counterfeits alone"),
    "none": ({2: 1, 1: 0}, {1: 1}, "1 counterfeit count(s) are not positive"),
    "less than none": ({2: 1, 1: -1}, {}, "1 counterfeit count(s) are not positive"),
    "registered less than none": ({2: 1}, {1: 1, 2: -1}, "1 registered count(s) are not positive"),
    "counts of no group": (
        {2: 1, 7: 1},
        {1: 1},
        "1 counterfeit count(s) name a group that is not in the data",
    ),
    "less than none, as many as there are rows": (
        {2: 1},
        {1: -3, 2: 4},
        "1 registered count(s) are not positive",
    ),
    "less than none, more than there are rows": (
        {2: 1},
        {1: -4, 2: 5},
        "1 registered count(s) are not positive",
    ),
    "more than there can be": (
        {2: 1},
        {1: 2**63 - 1},
        "1 registered count(s) are of more persons than there can be",
    ),
    "registered of no group": (
        {2: 1},
        {1: 1, 7: 1},
        "1 registered count(s) name a group that is not in the data",
    ),
}


@pytest.mark.parametrize("how", WRONG_COUNTS)
def test_wrong_counts(how):
    """Counts that would make groups look larger than they are, or are no counts, are refused; with
    and without a mapping.
    """
    counterfeits, registered, said = WRONG_COUNTS[how]
    wrong = replace(TRUE, counterfeits=counterfeits, registered=registered)

    (release,) = releases_of([wrong])
    for evidence in (evidence_of([wrong]), Evidence()):
        found = GlobalGuarantee(2).check(release, (), evidence)
        assert said in "; ".join(v.note for v in found if not v.holds)


def test_counts_that_are_no_numbers_or_twice():
    """Texts where counts should be, and two counts of one group, are refused."""
    (release,) = releases_of([TRUE])
    for table, said in (
        (pl.DataFrame({"group": [1], "count": ["2"]}), "something else than whole numbers"),
        (pl.DataFrame({"group": [1, 1], "count": [1, 1]}), "1 group(s) are counted twice"),
        (
            pl.DataFrame(
                {"group": [1], "count": [2**63 + 5]}, schema_overrides={"count": pl.UInt64}
            ),
            "1 registered count(s) are of more persons",
        ),
        (
            pl.DataFrame(
                {"group": [2**63 + 5], "count": [1]}, schema_overrides={"group": pl.UInt64}
            ),
            "1 registered count(s) name a group that is not in the data",
        ),
    ):
        wrong = replace(release, form=replace(release.form, registered=table))
        found = GlobalGuarantee(2).check(wrong)
        assert said in "; ".join(v.note for v in found if not v.holds)


@pytest.mark.parametrize(
    "guarantee",
    [
        GlobalGuarantee(2),
        GlobalGuarantee("5/2", protected=["s", 3]),
        GlobalGuarantee(1.5, unprotected=["t"], permanent=["v"]),
    ],
    ids=str,
)
def test_manifest_and_back(guarantee):
    """What the manifest says names the promise again, and the same promise protects the same
    values.
    """
    again = from_parameters(guarantee.parameters())
    assert again.parameters() == guarantee.parameters()
    values = pl.Series(["s", "t", "v", None, "3"])
    assert again.protects(values).tolist() == guarantee.protects(values).tolist()


@pytest.mark.parametrize(
    ("values", "listed", "same"),
    [
        ([0, 1, 2], [0.5, 1.0, 2.5], [False, True, False]),
        ([0.5, 1.0, 2.5], [0, 1, 2], [False, True, False]),
        ([2.0**53], [2**53 + 1], [False]),
        ([1, 2], ["1", 2, "x"], [True, True]),
        (["1", "2"], [1, "x"], [True, False]),
        ([date(2026, 1, 1), date(2026, 1, 2)], ["2026-01-02", 20454, "x"], [False, True]),
    ],
)
def test_a_value_is_listed_exactly(values, listed, same):
    """A number is listed where an equal one is, never where it would be rounded to one; a date by
    its text, never by its number.
    """
    column = pl.Series(values)
    assert GlobalGuarantee(2, protected=listed).protects(column).tolist() == same
    assert GlobalGuarantee(2, unprotected=listed).protects(column).tolist() == [
        not each for each in same
    ]


def test_which_values_are_protected():
    """All but the unprotected, or the listed; permanent ones always; a missing value never."""
    values = pl.Series([None, "s", "t", "v"])
    assert GlobalGuarantee(2).protects(values).tolist() == [False, True, True, True]
    assert GlobalGuarantee(2, unprotected=["s", "v"], permanent=["v"]).protects(
        values
    ).tolist() == [False, False, True, True]
    assert GlobalGuarantee(2, protected=["s", None], permanent=["v"]).protects(values).tolist() == [
        False,
        True,
        False,
        True,
    ]
    assert GlobalGuarantee(2, protected=["s"], permanent=["v"]).passes(values).tolist() == [
        False,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "parameters",
    [
        {"l": 1}, {"l": "1/2"}, {"l": "two"}, {"l": None}, {"l": 2, "protected": "some"}, {"l": 2, "protected": ["s", ["t"]]}, {"l": 2, "unprotected": "st"},
        {"l": 2, "permanent": 3}, {"l": 2, "permanent": [{}]}, {},
    ],
    ids=str,
)  # fmt: skip
def test_promises_that_mean_nothing(parameters):
    """They are refused when they are made, and when a manifest makes them."""
    if parameters:
        with pytest.raises(PlanError):
            GlobalGuarantee(**parameters)
    with pytest.raises(ReleaseError):
        from_parameters({"name": "global-guarantee", **parameters})


@given(st.integers(0, 2**32), st.integers(1, 40), st.booleans(), st.floats(0.5, 1))
@settings(max_examples=60, deadline=None)
def test_one_pass_finds_what_each_check_finds(seed, most, of_sets, mapped):
    """Release by release a pass over a series says what a check of that release and those before it
    says, word for word, however many persons are looked at together, and whatever is lacking.
    """
    rng = np.random.default_rng(seed)
    series = made(rng, of_sets=of_sets)
    releases = releases_of(series, of_sets=of_sets)
    groups = {n: g for n, g in evidence_of(series).groups.items() if rng.random() < mapped}
    for promise in (
        GlobalGuarantee(2),
        GlobalGuarantee(3, protected=["s"]),
        GlobalGuarantee(2, protected=["nobody's"]),
        GlobalGuarantee(2, permanent=["s"]),
    ):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(breach, "_LINKS", most)
            each = [
                promise.check(release, releases[:i], Evidence(groups))
                for i, release in enumerate(releases)
            ]
            passed = list(promise.check_each(releases, Evidence(groups)))
        assert [[v.to_json() for v in found] for found in passed] == [
            [v.to_json() for v in found] for found in each
        ]
