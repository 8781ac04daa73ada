"""The check of the global guarantee beside its slow twin, and every way to be wrong about it: counts, mappings, carried memory, promises."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import global_guarantee as naive
from phalanx.errors import PlanError, ReleaseError
from phalanx.guarantees.global_guarantee import breach
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee
from phalanx.guarantees.registry import from_parameters
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.exposures import SCALE, Exposures
from support.shown import checked, evidence_of, key, keys, mapping, releases_of

S, T, NONE = frozenset("s"), frozenset("t"), frozenset()
ALONE, PERSONS, EVER, CARRIED, PERMANENT = "each release alone", "persons and groups", "ever linked", "carried memory", "permanent values"


def made(rng, *, of_sets, releases=5, people=40):
    """A series of groups of about eight, some with registered persons, some with counterfeits."""
    series = []
    for _ in range(releases):
        there = [f"p{i}" for i in rng.permutation(people)[: int(rng.integers(people // 2, people))]]
        groups = {p: int(g) for p, g in zip(there, rng.integers(1, max(len(there) // 8, 2), len(there)), strict=True)}
        rows, counterfeits, registered = {}, {}, {}
        for g in sorted(set(groups.values())):
            people_of = [p for p in there if groups[p] == g]
            absent, invented = int(rng.integers(0, len(people_of))) if rng.random() < 0.3 else 0, int(rng.random() < 0.2)
            n = len(people_of) - absent + invented
            if of_sets:
                rows[g] = [frozenset(v for v in "stuv" if rng.random() < 0.08) for _ in range(n)]
            else:
                rows[g] = [frozenset(str(rng.choice(list("stuv")))) if rng.random() < 0.2 else NONE for _ in range(n)]
            counterfeits |= {g: invented} if invented else {}
            registered |= {g: absent} if absent else {}
        series.append(naive.Shown(rows, groups, counterfeits, registered))
    return series


@pytest.mark.parametrize("of_sets", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_the_slow_twin_finds_the_same(of_sets, seed):
    """Worst figures, what holds and which pairs are above a bound are those of the slow twin, for all values, listed ones and all but some."""
    series = made(np.random.default_rng(seed), of_sets=of_sets)
    for protected, unprotected, without in (("all", ["t"], "t"), (["s", "u"], [], "tv"), ("all", [], "")):
        true = naive.ever_linked(series, without=without)
        bound = sorted(true.values())[len(true) // 2]
        promise = GlobalGuarantee(1 / bound if bound < 1 else 2, protected=protected, unprotected=unprotected)
        found = checked(promise, series, of_sets=of_sets)

        assert found[EVER].worst == max(true.values())
        assert found[ALONE].worst == naive.largest_share(series, without=without)
        assert found[PERSONS].holds
        for part in (EVER, ALONE):
            assert found[part].holds == (found[part].worst <= 1 / Fraction(promise.l))
        pairs = breach.Series.of(releases_of(series, of_sets=of_sets), evidence_of(series).groups, promise.passes)
        above = set()
        for part in pairs.parts():
            chosen = part.above(bound)
            above |= {(pairs.persons[int(p)], pairs.cells.values[int(v)]) for p, v in zip(part.person[chosen], part.value[chosen], strict=True)}
        assert above == {(key(p), v) for (p, v), x in true.items() if x > bound}


@given(st.integers(0, 2**32), st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_some_persons_at_a_time(seed, most):
    """However many persons are looked at together, the worst figure, its groups and the number of pairs are the same."""
    series = made(np.random.default_rng(seed), of_sets=False)
    whole = checked(GlobalGuarantee(2), series)[EVER]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(breach, "_LINKS", most)
        parted = checked(GlobalGuarantee(2), series)[EVER]

    assert (parted.worst, parted.note) == (whole.worst, whole.note)
    p = breach.linked([(*row, False) for row in parted.worst_cases.select("members", "holding").iter_rows()])
    assert p == whole.worst


def test_keys_too_large_to_pack_are_ordered_all_the_same():
    """Order and stability are the same whether or not places fit beside the keys."""
    key = np.random.default_rng(1).integers(0, 50, 500)
    for scale in (1, 2**56):
        ordered, order = breach._ordered(key * scale)
        assert (order == np.argsort(key, kind="stable")).all()
        assert (ordered == key[order] * scale).all()


def test_groups_of_any_numbers():
    """Groups need not follow each other in their numbers."""
    series = [naive.Shown({3: [S, NONE], 5: [NONE], 70: [T, NONE, NONE]}, {"a": 3, "b": 3, "c": 70, "d": 70, "e": 70, "f": 5})] * 2
    found = checked(GlobalGuarantee(2, protected=["t"]), series)
    assert (found[PERSONS].holds, found[EVER].worst) == (True, Fraction(5, 9))


def test_the_worst_case_is_shown_as_groups():
    """The groups that linked the worst person to the value, by release and size; no person in it."""
    series = [
        naive.Shown({1: [S, NONE], 2: [NONE]}, {"a": 1, "b": 1, "c": 2}),
        naive.Shown({1: [NONE, T], 2: [S, NONE, NONE]}, dict.fromkeys("bd", 1) | dict.fromkeys("ace", 2)),
    ]

    cases = checked(GlobalGuarantee(2), series)[EVER].worst_cases

    assert cases.rows(named=True) == [
        {"release": 1, "group": 1, "members": 2, "holding": 1, "value": "s"},
        {"release": 2, "group": 2, "members": 3, "holding": 1, "value": "s"},
    ]


def test_a_bound_is_never_met_by_rounding():
    """A probability that is above 1/l by less than a float can tell is refused; at 1/l exactly it holds."""
    series = [naive.Shown({1: [S, NONE, NONE]}, dict.fromkeys("abc", 1)), naive.Shown({1: [S, NONE, NONE]}, dict.fromkeys("abc", 1))]
    for l, holds in ((Fraction(9, 5), True), (Fraction(9, 5) + Fraction(1, 10**30), False), (Fraction(9, 5) - Fraction(1, 10**30), True)):
        assert checked(GlobalGuarantee(l), series)[EVER].holds is holds


def test_who_is_above_a_bound_is_told_exactly():
    """A bound below a probability by less than a float can tell has it above, and the probability itself does not."""
    series = [naive.Shown({1: [S, NONE, NONE], 2: [NONE, T]}, {**dict.fromkeys("abc", 1), **dict.fromkeys("de", 2)})] * 2
    (pairs,) = breach.Series.of(releases_of(series), evidence_of(series).groups, GlobalGuarantee(2).protects).parts()
    for bound, above in ((Fraction(5, 9), 2), (Fraction(5, 9) - Fraction(1, 10**30), 5), (Fraction(3, 4), 0), (Fraction(3, 4) - Fraction(1, 10**30), 2)):
        assert pairs.above(bound).sum() == above


def test_the_worst_is_found_beside_added_shares():
    """Shares that are added, in cohorts of sets, hide no larger probability elsewhere."""
    both, whom = frozenset("vs"), {**dict.fromkeys("abcd", 1), **dict.fromkeys("xy", 2)}
    series = [naive.Shown({1: [both, NONE, NONE, NONE], 2: [S, NONE]}, whom)] * 2
    found = checked(GlobalGuarantee(2, permanent=["v"]), series, of_sets=True)[EVER]
    assert found.worst == Fraction(3, 4) == max(naive.ever_linked(series, permanent="v", of_sets=True).values())
    assert found.worst_cases["group"].to_list() == [2, 2]


def test_values_of_different_types_are_the_same():
    """A release read from CSV has numbers as text, which are the same values."""
    series = [naive.Shown({1: [frozenset("5"), NONE]}, dict.fromkeys("ab", 1))] * 2
    first, second = releases_of(series)
    number = second.form.table.with_columns(pl.col("ill").cast(pl.Int64))
    second = replace(second, form=replace(second.form, table=number))

    for protected in ("all", ["5"], [5]):
        (ever,) = [v for v in GlobalGuarantee(2, protected=protected).check(second, [first], evidence_of(series)) if "ever" in v.name]
        assert ever.worst == Fraction(3, 4)


def test_what_cannot_be_checked_is_said():
    """Without a mapping, or without the releases before, the parts that need them say so, and the others are checked all the same."""
    series = [naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1))] * 3
    files = checked(GlobalGuarantee(2), series, evidence=Evidence())
    assert files[ALONE].holds and files[ALONE].worst == Fraction(1, 2)
    assert all("not checked: no person-to-group mapping was given for release(s) 1, 2, 3" in files[part].note for part in (PERSONS, EVER))
    one = GlobalGuarantee(2).check(releases_of(series)[2], (), evidence_of(series))
    assert [v.note for v in one][-1] == "not checked: release(s) 1, 2 of the series were not given"
    some = GlobalGuarantee(2).check(
        releases_of(series)[2], releases_of(series)[:2], Evidence(groups={1: mapping({"a": 1, "b": 1}), 3: mapping({"a": 1, "b": 1})})
    )
    assert {(v.worst, v.holds) for v in some if v.name.endswith(EVER)} == {(Fraction(3, 4), False), (None, True)}
    lasting = checked(GlobalGuarantee(2, permanent=["s"]), series, evidence=Evidence())
    assert "not checked: no person-to-group mapping" in lasting[PERMANENT].note
    later = GlobalGuarantee(2, permanent=["s"]).check(releases_of(series)[2], (), evidence_of(series))
    assert "cohorts are followed from the first release on" in later[-1].note


def test_nothing_protected_is_nothing_to_bound():
    """Where nobody is linked to a protected value the promise holds, and it says that there was nothing to look at."""
    found = checked(GlobalGuarantee(2, protected=["t"]), [naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1))])
    assert (found[EVER].worst, found[EVER].holds, found[ALONE].worst) == (None, True, None)
    assert found[ALONE].note == "no protected value is published"


def test_no_sensitive_attribute_is_no_promise_kept():
    """A release without a sensitive attribute is refused."""
    (release,) = releases_of([naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1))])
    bare = replace(release, form=replace(release.form, table=release.form.table.drop("ill"), attributes=()))
    (verdict,) = GlobalGuarantee(2).check(bare)
    assert not verdict.holds
    assert "no sensitive attribute" in verdict.note


TRUE = naive.Shown({1: [S, NONE, NONE], 2: [NONE, NONE]}, {"a": 1, "b": 1, "c": 1, "d": 1, "e": 2}, {2: 1}, {1: 1})
WRONG_MAPPINGS = {
    "somebody twice": ({"person": ["a", "a", "b", "c", "d", "e"], "group": [1, 1, 1, 1, 1, 2]}, "names 1 person(s) more than once"),
    "a group that is not there": ({"person": ["a", "b", "c", "d", "e", "f"], "group": [1, 1, 1, 1, 2, 3]}, "puts 1 person(s) into groups that are not"),
    "a negative group": ({"person": ["a", "b", "c", "d", "e", "f"], "group": [1, 1, 1, 1, 2, -1]}, "puts 1 person(s) into groups that are not"),
    "no group": ({"person": ["a", "b", "c", "d", "e", "f"], "group": [1, 1, 1, 1, 2, None]}, "puts 1 person(s) into groups that are not"),
    "a row without a person": ({"person": ["a", "b", "c", None, "e"], "group": [1, 1, 1, 1, 2]}, "1 row(s) that name nobody"),
    "somebody too few": ({"person": ["a", "b", "c", "e"], "group": [1, 1, 1, 2]}, "1 group(s) have another number of persons"),
    "somebody for a counterfeit": ({"person": ["a", "b", "c", "d", "e", "f"], "group": [1, 1, 1, 1, 2, 2]}, "1 group(s) have another number of persons"),
    "somebody elsewhere": ({"person": ["a", "b", "c", "d", "e"], "group": [1, 1, 1, 2, 2]}, "2 group(s) have another number of persons"),
}


@pytest.mark.parametrize("how", WRONG_MAPPINGS)
def test_wrong_mappings(how):
    """Each way in which a mapping cannot be that of the files is refused, and said; the true one is not."""
    names, said = WRONG_MAPPINGS[how]
    persons = pl.concat([keys([p]) if p else keys(["x"]).clear(1) for p in names["person"]])
    wrong = pl.DataFrame({"person": persons, "group": pl.Series(names["group"], dtype=pl.Int64)})

    assert checked(GlobalGuarantee(2), [TRUE])[PERSONS].holds
    found = checked(GlobalGuarantee(2), [TRUE], evidence=Evidence(groups={1: wrong}))[PERSONS]

    assert not found.holds
    assert said in found.note


def test_group_0_is_nobodys():
    """Rows that were suppressed are in group 0 of a mapping; they are in no release."""
    marked = Evidence(groups={1: mapping(TRUE.groups | {"z": 0})})
    found, plain = checked(GlobalGuarantee(2), [TRUE], evidence=marked), checked(GlobalGuarantee(2), [TRUE])
    assert {part: v.to_json() for part, v in found.items()} == {part: v.to_json() for part, v in plain.items()}


WRONG_COUNTS = {
    "as many registered as counterfeit": ({1: 90, 2: 1}, {1: 91}, "1 group(s) would consist of counterfeits alone"),
    "counterfeits alone": ({2: 2}, {1: 1, 2: 1}, "1 group(s) would consist of counterfeits alone"),
    "none": ({2: 1, 1: 0}, {1: 1}, "1 counterfeit count(s) are not positive"),
    "less than none": ({2: 1, 1: -1}, {}, "1 counterfeit count(s) are not positive"),
    "registered less than none": ({2: 1}, {1: 1, 2: -1}, "1 registered count(s) are not positive"),
    "counts of no group": ({2: 1, 7: 1}, {1: 1}, "1 counterfeit count(s) name a group that is not in the data"),
    "less than none, as many as there are rows": ({2: 1}, {1: -3, 2: 4}, "1 registered count(s) are not positive"),
    "less than none, more than there are rows": ({2: 1}, {1: -4, 2: 5}, "1 registered count(s) are not positive"),
    "more than there can be": ({2: 1}, {1: 2**63 - 1}, "1 registered count(s) are of more persons than there can be"),
    "registered of no group": ({2: 1}, {1: 1, 7: 1}, "1 registered count(s) name a group that is not in the data"),
}


@pytest.mark.parametrize("how", WRONG_COUNTS)
def test_wrong_counts(how):
    """Counts that would make groups look larger than they are, or are no counts, are refused; with and without a mapping."""
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
        (pl.DataFrame({"group": [1], "count": [2**63 + 5]}, schema_overrides={"count": pl.UInt64}), "1 registered count(s) are of more persons"),
        (
            pl.DataFrame({"group": [2**63 + 5], "count": [1]}, schema_overrides={"group": pl.UInt64}),
            "1 registered count(s) name a group that is not in the data",
        ),
    ):
        wrong = replace(release, form=replace(release.form, registered=table))
        found = GlobalGuarantee(2).check(wrong)
        assert said in "; ".join(v.note for v in found if not v.holds)


def carry(before, shown, protected="all"):
    """What the slow way carries on: a dictionary (person, value) -> (parts rounded down, times)."""
    after = dict(before)
    for (p, v), x in naive.ever_linked([shown]).items():
        if protected == "all" or v in protected:
            parts, times = after.get((p, v), (SCALE, 0))
            after[p, v] = parts * (1 - x).numerator // (1 - x).denominator, times + 1
    return after


def exposures(carried, persons, values):
    """The tables of such a dictionary, with persons and values in a given order."""
    pairs = sorted((persons.index(p), values.index(v), *carried[p, v]) for p, v in carried)
    starts = np.cumsum([0, *(sum(i == who for i, *_ in pairs) for who in range(len(persons)))])
    columns = [np.array([pair[i] for pair in pairs], dtype=np.int64) for i in (1, 2, 3)]
    return Exposures(keys(persons), starts, *columns, pl.Series("value", values, dtype=pl.String))


def chain(seed, releases=4):
    """A series with what the slow way carries before and after each release."""
    series = made(np.random.default_rng(seed), of_sets=False, releases=releases, people=20)
    persons, values, carried = [], [], {}
    for shown in series:
        before = exposures(carried, persons, values)
        carried = carry(carried, shown)
        persons = persons + sorted({p for p, _ in carried} - set(persons))
        values = values + sorted({v for _, v in carried} - set(values))
        yield shown, before, exposures(carried, persons, values)


def last(guarantee, shown, before, after, number=1):
    """The verdicts on a release with what is carried before and after it."""
    return checked(guarantee, [shown], evidence=Evidence(groups={number: mapping(shown.groups)}, before=before, after=after), last=True)


@pytest.mark.parametrize("seed", range(10))
def test_a_chain_of_checks_is_the_check_of_the_series(seed):
    """Checked one release at a time with what is carried, the worst figures are those of the whole series, but for less than a part in 10^15."""
    series, worst = [], Fraction(0)
    for shown, before, after in chain(seed):
        series.append(shown)
        found = last(GlobalGuarantee(2), shown, before, after)
        assert found[CARRIED].holds, found[CARRIED].note
        worst = max(worst, found[EVER].worst or 0)
        true = max(naive.ever_linked(series).values(), default=0)
        assert 0 <= worst - true < Fraction(1, 10**15)
        assert found[EVER].holds == ((found[EVER].worst or 0) <= Fraction(1, 2))


def spoiled(after, before, how):
    """Carried tables with one thing wrong."""
    i = int(np.argmin(after.survival))
    survival, times, value = after.survival.copy(), after.times.copy(), after.value.copy()
    survival[i] += 1
    times[i] -= 1
    without = np.arange(len(after.value)) != i
    owner = np.searchsorted(after.starts, i, side="right") - 1
    starts = after.starts - (np.arange(len(after.starts)) > owner)
    fewer = replace(after, value=after.value[without], survival=after.survival[without], times=after.times[without], starts=starts)
    last_one = np.diff(after.starts)[-1]
    gone = slice(None, len(after.value) - last_one)
    match how:
        case "one part more":
            return replace(after, survival=survival)
        case "one exposure less":
            return replace(after, times=times)
        case "a pair lost":
            return fewer
        case "a person lost":
            return replace(
                after, persons=after.persons[:-1], starts=after.starts[:-1], value=after.value[gone], survival=after.survival[gone],
                times=after.times[gone],
            )  # fmt: skip
        case "persons in another order":
            return replace(after, persons=after.persons.reverse())
        case "values in another order":
            return replace(after, values=after.values.reverse())
        case "values lost":
            return replace(after, values=after.values[:1])
        case "a value twice":
            return replace(after, values=pl.concat([after.values, after.values[:1]]))
        case "a person twice":
            return replace(after, persons=pl.concat([after.persons, after.persons[:1]]), starts=np.append(after.starts, after.starts[-1]))
        case "pairs in another order":
            return replace(after, value=value[::-1].copy())
        case "below none":
            return replace(after, survival=np.where(without, after.survival, -1))
        case "above all":
            return replace(after, survival=np.where(without, after.survival, SCALE + 1))
        case "pairs of nobody":
            return replace(after, starts=after.starts[:-1])
        case "a pair invented":
            return replace(
                after, persons=pl.concat([after.persons, keys(["nobody"])]), starts=np.append(after.starts, after.starts[-1] + 1), value=np.append(after.value, 0),
                survival=np.append(after.survival, SCALE), times=np.append(after.times, 0),
            )  # fmt: skip
        case "as before":
            return before
        case "a pair under the person before":
            who = next(i for i in range(1, len(after.persons)) if after.value[after.starts[i]] == 0)
            value[after.starts[who]] = len(after.values)
            return replace(after, value=value, starts=after.starts + (np.arange(len(after.starts)) == who))
    raise AssertionError(how)


HOW = [
    "one part more", "one exposure less", "a pair lost", "a person lost", "persons in another order", "values in another order", "values lost",
    "a value twice", "a person twice", "pairs in another order", "below none", "above all", "pairs of nobody", "a pair invented", "a pair under the person before", "as before",
]  # fmt: skip


@pytest.mark.parametrize("how", HOW)
def test_what_is_carried_on_understates_nothing(how):
    """Each way to carry on less than there was is refused, after the second release and after later ones; one part less survival is not."""
    for shown, before, after in list(chain(1))[1:]:
        assert not last(GlobalGuarantee(2), shown, before, spoiled(after, before, how))[CARRIED].holds
        less = replace(after, survival=np.maximum(after.survival - 1, 0))
        assert last(GlobalGuarantee(2), shown, before, less)[CARRIED].holds


def test_new_pairs_may_not_be_lost():
    """What the very first release links is carried on, each pair of it."""
    shown, before, after = next(chain(1))
    assert last(GlobalGuarantee(2), shown, before, after)[CARRIED].holds
    for i in range(len(after.value)):
        rest = np.arange(len(after.value)) != i
        starts = after.starts - (after.starts > i)
        lost = Exposures(after.persons, starts, after.value[rest], after.survival[rest], after.times[rest], after.values)
        assert not last(GlobalGuarantee(2), shown, before, lost)[CARRIED].holds


def test_unlinked_pairs_may_not_recover():
    """Somebody who is not in the release keeps the survival they had: more of it is refused."""
    *_, (shown, before, after) = chain(5)
    absent = [key(p) for p in sorted({f"p{i}" for i in range(20)} - set(shown.groups))]
    owner = np.repeat(np.arange(len(after.persons)), np.diff(after.starts))
    theirs = np.isin(owner, [i for i, p in enumerate(after.persons) if p in absent]) & (after.survival < SCALE)
    assert theirs.any()
    assert not last(GlobalGuarantee(2), shown, before, replace(after, survival=after.survival + theirs))[CARRIED].holds


def test_what_was_carried_counts():
    """A release that is harmless by itself is refused to somebody whose budget is spent."""
    shown = naive.Shown({1: [S, NONE, NONE]}, dict.fromkeys("abc", 1))
    before = exposures({("a", "s"): (SCALE // 2 + 1, 3)}, ["a"], ["s"])
    after = exposures(carry({("a", "s"): (SCALE // 2 + 1, 3)}, shown), ["a", "b", "c"], ["s"])

    assert last(GlobalGuarantee(2), shown, Exposures.none(), exposures(carry({}, shown), ["a", "b", "c"], ["s"]))[EVER].worst == Fraction(1, 3)
    found = last(GlobalGuarantee(2), shown, before, after)
    assert (found[EVER].holds, found[CARRIED].holds) == (False, True)
    assert found[EVER].worst == 1 - Fraction(SCALE // 2 + 1, SCALE) * Fraction(2, 3)
    assert found[EVER].worst_cases.rows() == [(1, 1, 3, 1)]


def test_one_part_decides():
    """The comparison with 1/l is exact to the last of the parts in which survival is carried."""
    shown = naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1))
    for parts, holds in ((SCALE, True), (SCALE - 1, False)):
        before = exposures({("a", "s"): (parts, 1)}, ["a"], ["s"])
        after = exposures(carry({("a", "s"): (parts, 1)}, shown), ["a", "b"], ["s"])
        assert last(GlobalGuarantee(2), shown, before, after)[EVER].holds is holds


def test_a_release_that_links_nobody():
    """Carries on what there was, and says that it links nobody."""
    before = exposures({("a", "s"): (SCALE // 2, 1)}, ["a"], ["s"])
    found = last(GlobalGuarantee(2), naive.Shown({1: [NONE, NONE]}, dict.fromkeys("ab", 1)), before, before)
    assert found[EVER].note == "this release links nobody to a protected value"
    assert found[CARRIED].holds


def test_nobodys_exposures_become_somebody_elses():
    """Persons or values that change places take each other's survival, which is refused even where the release links nobody."""
    carried = {("a", "s"): (SCALE // 2, 1), ("b", "t"): (SCALE // 4, 1)}
    nothing, before = naive.Shown({1: [NONE, NONE]}, dict.fromkeys("xy", 1)), exposures(carried, ["a", "b"], ["s", "t"])
    assert last(GlobalGuarantee(2), nothing, before, before)[CARRIED].holds
    for persons, values in ((before.persons.reverse(), before.values), (before.persons, before.values.reverse())):
        assert not last(GlobalGuarantee(2), nothing, before, replace(before, persons=persons, values=values))[CARRIED].holds


def test_what_was_carried_before_is_looked_at_too():
    """Tables that say that somebody is less likely than not at all to have been linked are no exposures."""
    nothing, before = naive.Shown({1: [NONE, NONE]}, dict.fromkeys("xy", 1)), exposures({("a", "s"): (SCALE + 1, 1)}, ["a"], ["s"])
    found = last(GlobalGuarantee(2), nothing, before, exposures({("a", "s"): (SCALE, 1)}, ["a"], ["s"]))[CARRIED]
    assert not found.holds
    assert "survival carried before is outside of 0 and 1" in found.note


def test_permanent_values_need_the_whole_series():
    """With permanent values what is carried is not enough, and the whole series is checked whatever is laid beside it."""
    shown = naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1))
    found = last(GlobalGuarantee(2, permanent=["s"]), shown, Exposures.none(), Exposures.none())
    assert PERMANENT in found and CARRIED not in found


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
    """What the manifest says names the promise again, and the same promise protects the same values."""
    again = from_parameters(guarantee.parameters())
    assert again.parameters() == guarantee.parameters()
    values = pl.Series(["s", "t", "v", None, "3"])
    assert again.protects(values).tolist() == guarantee.protects(values).tolist()


def test_which_values_are_protected():
    """All but the unprotected, or the listed; permanent ones always; a missing value never."""
    values = pl.Series([None, "s", "t", "v"])
    assert GlobalGuarantee(2).protects(values).tolist() == [False, True, True, True]
    assert GlobalGuarantee(2, unprotected=["s", "v"], permanent=["v"]).protects(values).tolist() == [False, False, True, True]
    assert GlobalGuarantee(2, protected=["s", None], permanent=["v"]).protects(values).tolist() == [False, True, False, True]
    assert GlobalGuarantee(2, protected=["s"], permanent=["v"]).passes(values).tolist() == [False, True, False, False]


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
        from_parameters({"name": "global guarantee", **parameters})
