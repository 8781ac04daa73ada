# SPDX-License-Identifier: Apache-2.0
"""What a release carries on for those after it, and every way for that to be too little."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from naive import global_guarantee as naive
from phalanx.guarantees.global_guarantee import carried as guarantee_carried
from phalanx.guarantees.global_guarantee.carried import Resting
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.exposures import SCALE, Exposures
from support.shown import checked, key, keys, made, mapping

S, T, NONE = frozenset("s"), frozenset("t"), frozenset()
ALONE, PERSONS, EVER, CARRIED, PERMANENT = (
    "each release alone",
    "persons and groups",
    "ever linked",
    "carried memory",
    "permanent values",
)


@pytest.fixture(autouse=True, params=[1, guarantee_carried._AT_ONCE], ids=["each", "all"])
def _at_once(request, monkeypatch):
    """Persons of one kind are looked at after the other, or all together."""
    monkeypatch.setattr(guarantee_carried, "_AT_ONCE", request.param)


def carry(before, shown, protected="all"):
    """What the slow way carries on: a dictionary (person, value) -> (parts rounded down, times)."""
    after = dict(before)
    for (p, v), x in naive.ever_linked([shown]).items():
        if protected == "all" or v in protected:
            parts, times = after.get((p, v), (SCALE, 0))
            after[p, v] = parts * (1 - x).numerator // (1 - x).denominator, times + 1
    return after


def exposures(carried, persons, values, alike=False):
    """The tables of such a dictionary, with persons and values in a given order; each person has a
    history of their own, or persons of whom the same is carried have one.
    """
    of = [sorted((values.index(v), *carried[q, v]) for q, v in carried if q == p) for p in persons]
    histories = sorted(of, reverse=True) if alike else of
    histories = [
        pairs for i, pairs in enumerate(histories) if not alike or pairs not in histories[:i]
    ]
    history = [histories.index(pairs) if alike else i for i, pairs in enumerate(of)]
    starts = np.cumsum([0, *map(len, histories)])
    pairs = [pair for pairs in histories for pair in pairs]
    columns = [np.array([pair[i] for pair in pairs], dtype=np.int64) for i in range(3)]
    return Exposures(
        keys(persons),
        np.array(history, dtype=np.int64),
        starts,
        *columns,
        pl.Series("value", values, dtype=pl.String),
        np.arange(len(histories)),
        np.zeros(len(histories), dtype=bool),
        np.zeros(len(persons), dtype=np.int64),
    )


def chain(seed, releases=4, alike=False):
    """A series with what the slow way carries before and after each release."""
    series = made(np.random.default_rng(seed), of_sets=False, releases=releases, people=20)
    persons, values, carried = [], [], {}
    for shown in series:
        before = exposures(carried, persons, values, alike)
        carried = carry(carried, shown)
        persons = persons + sorted({p for p, _ in carried} - set(persons))
        values = values + sorted({v for _, v in carried} - set(values))
        yield shown, before, exposures(carried, persons, values, alike)


def last(guarantee, shown, before, after, number=1):
    """The verdicts on a release with what is carried before and after it, be it what no tables can
    hold.
    """
    state = ({"carried": before}, {"carried": after})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Exposures, "of_tables", staticmethod(lambda tables: tables["carried"]))
        return checked(
            guarantee,
            [shown],
            evidence=Evidence(groups={number: mapping(shown.groups)}, state=state),
            last=True,
        )


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_a_chain_of_checks_is_the_check_of_the_series(seed, alike):
    """Checked one release at a time with what is carried, the worst figures are those of the whole
    series, but for less than a part in 10^15.
    """
    series, worst = [], Fraction(0)
    for shown, before, after in chain(seed, alike=alike):
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
    fewer = replace(
        after,
        value=after.value[without],
        survival=after.survival[without],
        times=after.times[without],
        starts=starts,
    )
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
            return replace(after, persons=after.persons[:-1], history=after.history[:-1])
        case "a history lost":
            return replace(
                after, starts=after.starts[:-1], value=after.value[gone], survival=after.survival[gone],
                times=after.times[gone],
            )  # fmt: skip
        case "a history of before the first":
            return replace(after, history=np.append([-1], after.history[1:]))
        case "no history":
            return replace(after, history=after.history[:-1])
        case "the history of another person":
            other = np.flatnonzero(after.history != after.history[0])[0]
            return replace(after, history=np.append(after.history[other], after.history[1:]))
        case "two persons' histories exchanged":
            other = int(np.flatnonzero(after.history != after.history[0])[0])
            history = after.history.copy()
            history[[0, other]] = history[[other, 0]]
            return replace(after, history=history)
        case "persons in another order":
            return replace(after, persons=after.persons.reverse())
        case "values in another order":
            return replace(after, values=after.values.reverse())
        case "values lost":
            return replace(after, values=after.values[:1])
        case "a value twice":
            return replace(after, values=pl.concat([after.values, after.values[:1]]))
        case "a person twice":
            return replace(
                after,
                persons=pl.concat([after.persons, after.persons[:1]]),
                history=np.append(after.history, after.history[:1]),
            )
        case "pairs in another order":
            return replace(after, value=value[::-1].copy())
        case "a pair twice":
            at = after.starts[int(np.argmax(np.diff(after.starts)))]
            value[at + 1] = value[at]
            return replace(after, value=value)
        case "a value before the first":
            value[0] = -1
            return replace(after, value=value)
        case "below none":
            return replace(after, survival=np.where(without, after.survival, -1))
        case "above all":
            return replace(after, survival=np.where(without, after.survival, SCALE + 1))
        case "pairs of nobody":
            return replace(after, starts=after.starts[:-1])
        case "a pair invented":
            return replace(
                after, persons=pl.concat([after.persons, keys(["nobody"])]), history=np.append(after.history, len(after.starts) - 1),
                starts=np.append(after.starts, after.starts[-1] + 1), value=np.append(after.value, 0), survival=np.append(after.survival, SCALE), times=np.append(after.times, 0),
            )  # fmt: skip
        case "as before":
            return before
        case "a pair under the person before":
            who = next(
                i for i in range(1, len(after.starts) - 1) if after.value[after.starts[i]] == 0
            )
            value[after.starts[who]] = len(after.values)
            return replace(
                after, value=value, starts=after.starts + (np.arange(len(after.starts)) == who)
            )
    raise AssertionError(how)


HOW = [
    "one part more", "one exposure less", "a pair lost", "a person lost", "a history lost", "a history of before the first", "no history",
    "the history of another person", "two persons' histories exchanged", "persons in another order", "values in another order", "values lost",
    "a value twice", "a person twice", "pairs in another order", "a pair twice", "a value before the first", "below none", "above all", "pairs of nobody", "a pair invented", "a pair under the person before", "as before",
]  # fmt: skip


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("how", HOW)
def test_what_is_carried_on_understates_nothing(how, alike):
    """Each way to carry on less than there was is refused, after the second release and after later
    ones; one part less survival is not.
    """
    for shown, before, after in list(chain(1, alike=alike))[1:]:
        assert not last(GlobalGuarantee(2), shown, before, spoiled(after, before, how))[
            CARRIED
        ].holds
        less = replace(after, survival=np.maximum(after.survival - 1, 0))
        assert last(GlobalGuarantee(2), shown, before, less)[CARRIED].holds


def test_a_history_may_be_empty():
    """Of a person who was never linked something may be carried that says so."""
    shown, before, after = next(chain(1))
    people = pl.concat([after.persons, keys(["nobody"])])
    history, starts = (np.append(e, e[-1] + n) for e, n in ((after.history, 0), (after.starts, 0)))
    history[-1] = len(after.starts) - 1
    with_one = replace(after, persons=people, history=history, starts=starts)
    assert last(GlobalGuarantee(2), shown, before, with_one)[CARRIED].holds


def test_new_pairs_may_not_be_lost():
    """What the very first release links is carried on, each pair of it."""
    shown, before, after = next(chain(1))
    assert last(GlobalGuarantee(2), shown, before, after)[CARRIED].holds
    for i in range(len(after.value)):
        rest = np.arange(len(after.value)) != i
        starts = after.starts - (after.starts > i)
        lost = replace(
            after,
            starts=starts,
            value=after.value[rest],
            survival=after.survival[rest],
            times=after.times[rest],
        )
        assert not last(GlobalGuarantee(2), shown, before, lost)[CARRIED].holds


def test_unlinked_pairs_may_not_recover():
    """Somebody who is not in the release keeps the survival they had: more of it is refused."""
    *_, (shown, before, after) = chain(5)
    absent = [key(p) for p in sorted({f"p{i}" for i in range(20)} - set(shown.groups))]
    assert (after.history == np.arange(len(after.persons))).all()
    owner = np.repeat(np.arange(len(after.persons)), np.diff(after.starts))
    theirs = np.isin(owner, [i for i, p in enumerate(after.persons) if p in absent]) & (
        after.survival < SCALE
    )
    assert theirs.any()
    assert not last(
        GlobalGuarantee(2), shown, before, replace(after, survival=after.survival + theirs)
    )[CARRIED].holds


def damaged(before, after, rng):
    """Both with a few pairs that have another value, survival or number of exposures, or none."""
    pairs = after.value.copy(), after.survival.copy(), after.times.copy()
    for i in rng.choice(len(after.value), 4):
        pairs[rng.integers(0, 3)][i] += rng.integers(-2, 3)
    times = before.times.copy()
    times[rng.choice(len(times), int(rng.integers(0, 3)))] = 0
    value, survival = np.abs(pairs[0]) % len(after.values), np.clip(pairs[1], 0, SCALE)
    return replace(before, times=times), replace(
        after, value=value, survival=survival, times=np.maximum(pairs[2], 0)
    )


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_whom_nothing_exposes_are_judged_as_all_others(monkeypatch, seed, alike):
    """What is carried about persons whom a release exposes to nothing is only compared; what is
    found is what is found where it is computed as for all others.
    """
    rng, of, rested = np.random.default_rng(seed), Resting.of, []

    def computed(*kinds):
        rested.append(of(*kinds))
        return replace(rested[-1], alike=False)

    for shown, before, after in chain(seed, alike=alike):
        for _ in range(8 if len(before.value) else 0):
            wrong = damaged(before, after, rng)
            found = last(GlobalGuarantee(2), shown, *wrong)[CARRIED]
            with monkeypatch.context() as patch:
                patch.setattr(Resting, "of", computed)
                true = last(GlobalGuarantee(2), shown, *wrong)[CARRIED]
            assert (found.holds, found.note) == (true.holds, true.note)
    assert any(one.alike and len(one.at_before) for one in rested)


def test_pairs_stay_with_whom_nothing_exposes():
    """Of persons who are not in a release, one is carried on with a pair of the other."""
    links = {("a", "s"): (SCALE // 2, 1), ("b", "t"): (SCALE // 2, 1), ("b", "u"): (SCALE // 2, 1)}
    shown = naive.Shown({1: [S, NONE, NONE]}, dict.fromkeys("cde", 1))
    before = exposures(links, ["a", "b"], ["s", "t", "u"])
    after = exposures(carry(links, shown), list("abcde"), ["s", "t", "u"])
    assert last(GlobalGuarantee(2), shown, before, after)[CARRIED].holds
    assert after.starts[:3].tolist() == [0, 1, 3]
    moved = replace(after, starts=after.starts + (np.arange(len(after.starts)) == 1))
    assert not last(GlobalGuarantee(2), shown, before, moved)[CARRIED].holds


def test_what_was_carried_counts():
    """A release that is harmless by itself is refused to somebody whose budget is spent."""
    shown = naive.Shown({1: [S, NONE, NONE]}, dict.fromkeys("abc", 1))
    before = exposures({("a", "s"): (SCALE // 2 + 1, 3)}, ["a"], ["s"])
    after = exposures(carry({("a", "s"): (SCALE // 2 + 1, 3)}, shown), ["a", "b", "c"], ["s"])

    assert last(
        GlobalGuarantee(2),
        shown,
        Exposures.none(),
        exposures(carry({}, shown), ["a", "b", "c"], ["s"]),
    )[EVER].worst == Fraction(1, 3)
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
    found = last(
        GlobalGuarantee(2), naive.Shown({1: [NONE, NONE]}, dict.fromkeys("ab", 1)), before, before
    )
    assert found[EVER].note == "this release links no person to a protected value"
    assert found[CARRIED].holds


def test_nobodys_exposures_become_somebody_elses():
    """Persons or values that change places take each other's survival, which is refused even where
    the release links nobody.
    """
    carried = {("a", "s"): (SCALE // 2, 1), ("b", "t"): (SCALE // 4, 1)}
    nothing, before = (
        naive.Shown({1: [NONE, NONE]}, dict.fromkeys("xy", 1)),
        exposures(carried, ["a", "b"], ["s", "t"]),
    )
    assert last(GlobalGuarantee(2), nothing, before, before)[CARRIED].holds
    for persons, values in (
        (before.persons.reverse(), before.values),
        (before.persons, before.values.reverse()),
    ):
        assert not last(
            GlobalGuarantee(2), nothing, before, replace(before, persons=persons, values=values)
        )[CARRIED].holds


def test_what_was_carried_before_is_looked_at_too():
    """Tables that say that somebody is less likely than not at all to have been linked are no
    exposures.
    """
    nothing, before = (
        naive.Shown({1: [NONE, NONE]}, dict.fromkeys("xy", 1)),
        exposures({("a", "s"): (SCALE + 1, 1)}, ["a"], ["s"]),
    )
    found = last(
        GlobalGuarantee(2), nothing, before, exposures({("a", "s"): (SCALE, 1)}, ["a"], ["s"])
    )[CARRIED]
    assert not found.holds
    assert "survival carried before is outside of 0 and 1" in found.note


@pytest.mark.parametrize("many", [0, 1, 5, 60])
@pytest.mark.parametrize("dense", [0, 4, 1000])
def test_pairs_are_looked_up(monkeypatch, many, dense):
    """In a table of all numbers or by halves: the place of each key that is there, and which keys
    come again.
    """
    monkeypatch.setattr(guarantee_carried, "_DENSE", dense)
    rng = np.random.default_rng(many)
    pairs = np.sort(rng.choice(100, many, replace=False)).astype(np.int64)
    keys = rng.integers(-1, 100, 80)
    there = pairs.tolist()
    expected = [there.index(k) if k in there else -1 for k in keys.tolist()]
    assert guarantee_carried._among(pairs, keys, 100).tolist() == expected
    known = keys[keys >= 0].tolist()
    again = sorted(k for place, k in enumerate(known) if k in known[:place])
    assert guarantee_carried._again(np.array(known, dtype=np.int64), 100).tolist() == again


def test_permanent_values_need_the_whole_series():
    """With permanent values what is carried is not enough, and the whole series is checked whatever
    is laid beside it.
    """
    shown = naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1))
    found = last(GlobalGuarantee(2, permanent=["s"]), shown, Exposures.none(), Exposures.none())
    assert PERMANENT in found and CARRIED not in found
