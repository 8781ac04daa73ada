# SPDX-License-Identifier: Apache-2.0
"""What is laid aside of persons who leave, and every way for that to be too little when they return."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from guarantees.global_guarantee.test_carried import CARRIED, EVER, carry, exposures
from naive import global_guarantee as naive
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.exposures import LEFT, SCALE, Exposures
from support.shown import checked, key, made, mapping

S, NONE = frozenset("s"), frozenset()
PAIRS = ("value", "survival", "times")


class Remembering:
    """The tables that a series remembers, made the slow way, release by release."""

    def __init__(self):
        self.tables, self.carried, self.persons, self.values, self.number = {}, {}, [], [], 0

    def release(self, shown):
        """Count one, in which those leave who are not there; the tables before and after it."""
        self.number += 1
        self.carried = carry(self.carried, shown)
        self.values += sorted({v for _, v in self.carried} - set(self.values))
        known = {p for p, _ in self.carried}
        here = sorted(known & shown.groups.keys(), reverse=self.number % 2 == 0)
        gone = [p for p in self.persons if p not in here]
        before, self.persons = self.tables, here
        aside = exposures(self.carried, gone, self.values)
        self.tables = self.grown(aside.to_tables_aside(self.number), here)
        return before, self.tables

    def grown(self, aside, here):
        """The tables with what is carried of those who are there, and what is laid aside."""
        left = [tables[LEFT] for tables in (self.tables, aside) if LEFT in tables]
        tables = self.tables | aside | ({LEFT: pl.concat(left)} if left else {})
        return tables | exposures(self.carried, here, self.values, alike=True).to_tables()


def last(shown, before, after, l=2):
    """The verdicts on a release with what is remembered before and after it."""
    return checked(
        GlobalGuarantee(l),
        [shown],
        evidence=Evidence(groups={1: mapping(shown.groups)}, state=(before, after)),
        last=True,
    )


@pytest.mark.parametrize("seed", range(10))
def test_who_returns_is_recalled(seed):
    """Where persons leave and return, some again and again, each release checked with what is
    remembered gives the worst figure of the whole series.
    """
    file, series, worst, left = Remembering(), [], Fraction(0), 0
    for shown in made(np.random.default_rng(seed), of_sets=False, releases=6, people=20):
        series.append(shown)
        before, after = file.release(shown)
        found = last(shown, before, after)
        assert found[CARRIED].holds, found[CARRIED].note
        worst = max(worst, found[EVER].worst or 0)
        true = max(naive.ever_linked(series).values(), default=0)
        assert 0 <= worst - true < Fraction(1, 10**15)
        left = max(left, len(after[LEFT]) if LEFT in after else 0)
        assert len(Exposures.of_tables(after).persons) <= len(shown.groups)
    assert left > 10


def group(*people):
    """A release of one group."""
    return naive.Shown({1: [S, *[NONE] * (len(people) - 1)]}, dict.fromkeys(people, 1))


def returning():
    """A series in which a is there three times, and away after each, and e left with the second
    release: the last release, and the tables before and after it.
    """
    file = Remembering()
    for people in ("abce", "bcd", "abc", "bcd"):
        file.release(group(*people))
    shown = group(*"abc")
    return shown, *file.release(shown)


def test_the_last_that_was_laid_aside_counts():
    """Who left twice is as exposed as when they left last."""
    shown, before, after = returning()
    assert before[LEFT]["person"].to_list().count(key("a")) == 2
    found = last(shown, before, after)
    assert found[CARRIED].holds
    b_and_c = 1 - Fraction(3, 4) * Fraction(2, 3) ** 4
    assert 0 <= found[EVER].worst - b_and_c < Fraction(1, 10**15)


def changed(table, column, row, by):
    """A table with another number in one place."""
    numbers = table[column].to_list()
    numbers[row] += by
    return table.with_columns(pl.Series(column, numbers, dtype=table.schema[column]))


def forgetful(before, after, shown, how):
    """The tables after a release with one thing wrong."""
    number = int(after[LEFT]["release"].max())
    fewer = {name: table for name, table in after.items() if not name.endswith(f" {number}")}
    pairs, histories, left = f"left pairs {number}", f"left histories {number}", after[LEFT]
    of_a = Exposures.of_tables(after).persons.to_list().index(key("a"))
    match how:
        case "one part more":
            return after | {pairs: changed(after[pairs], "survival", 0, 1)}
        case "one exposure less":
            return after | {pairs: changed(after[pairs], "times", 0, -1)}
        case "a person who left lost":
            return fewer | {LEFT: left.head(len(before[LEFT]))}
        case "nothing laid aside":
            return fewer
        case "no pairs laid aside":
            return after | {pairs: after[pairs].clear()}
        case "a history that there is not":
            return after | {LEFT: changed(left, "history", len(left) - 1, 1)}
        case "no history laid aside":
            return after | {histories: after[histories].clear(), pairs: after[pairs].clear()}
        case "who left before is lost":
            return after | {LEFT: left.tail(len(left) - 1)}
        case "who left before is another":
            return after | {LEFT: pl.concat([left.head(1), left.head(1), left.tail(len(left) - 2)])}
        case "an earlier release's number":
            return after | {LEFT: changed(left, "release", len(left) - 1, -1)}
        case "a number of a release that is not":
            return after | {LEFT: changed(left, "release", len(left) - 1, 1)}
        case "two numbers":
            return after | {LEFT: pl.concat([left, changed(left.tail(1), "release", 0, 1)])}
        case "twice laid aside":
            return after | {LEFT: pl.concat([left, left.tail(1)])}
        case "carried and laid aside":
            both = left.tail(1).with_columns(person=pl.lit(key("a")))
            return after | {LEFT: pl.concat([left, both])}
        case "laid aside anew, as less exposed":
            of_both = {("d", "s"): (SCALE // 9, 2), ("e", "s"): (SCALE - 1, 1)}
            anew = exposures(of_both, ["d", "e"], ["s"]).to_tables_aside(number)
            return after | anew | {LEFT: pl.concat([before[LEFT], anew[LEFT]])}
        case "returned as a stranger":
            stranger = exposures(carry({}, shown), ["a"], ["s"])
            return carrying(after, of_a, stranger)
        case "returned as they left first":
            first = carry(carry({}, group(*"abce")), shown)
            return carrying(after, of_a, exposures(first, ["a"], ["s"]))
        case "returned and not counted":
            twice = carry(carry({}, group(*"abce")), group(*"abc"))
            return carrying(after, of_a, exposures(twice, ["a"], ["s"]))
        case "returned and lost":
            carried = Exposures.of_tables(after)
            others = np.flatnonzero(np.arange(len(carried.persons)) != of_a)
            return after | replace(
                carried, persons=carried.persons.gather(others), history=carried.history[others]
            ).to_tables()  # fmt: skip
    raise AssertionError(how)


def carrying(after, place, other):
    """The tables with the history of another person in the place of one's own."""
    carried = Exposures.of_tables(after)
    history = carried.history.copy()
    history[place] = len(carried.starts) - 1
    return (
        after
        | replace(
            carried,
            history=history,
            starts=np.append(carried.starts, carried.starts[-1] + other.starts[-1]),
            **{name: np.append(getattr(carried, name), getattr(other, name)) for name in PAIRS},
        ).to_tables()
    )


HOW = [
    "one part more", "one exposure less", "a person who left lost", "nothing laid aside", "no pairs laid aside",
    "a history that there is not", "no history laid aside", "who left before is lost", "who left before is another",
    "an earlier release's number", "a number of a release that is not", "two numbers", "twice laid aside", "carried and laid aside",
    "laid aside anew, as less exposed", "returned as a stranger", "returned as they left first", "returned and not counted", "returned and lost",
]  # fmt: skip


@pytest.mark.parametrize("how", HOW)
def test_no_person_leaves_their_exposures_behind(how):
    """Each way to remember less of who leaves, left or returns than there was is refused."""
    shown, before, after = returning()
    assert last(shown, before, after)[CARRIED].holds
    assert not last(shown, before, forgetful(before, after, shown, how))[CARRIED].holds


def test_less_may_be_left():
    """One part less survival is no fault, of who leaves as of who is there."""
    shown, before, after = returning()
    name = next(name for name in after if name.startswith("left pairs") and name not in before)
    less = after | {name: changed(after[name], "survival", 0, -1)}
    assert last(shown, before, less)[CARRIED].holds


def test_whom_nothing_exposes_stays_laid_aside():
    """A person who left, and returns to a group that links no person to anything, is as they were;
    where it links them, they are carried on.
    """
    file = Remembering()
    for people in ("abc", "bcd"):
        file.release(group(*people))
    apart = naive.Shown(
        {1: [S, NONE, NONE], 2: [NONE, NONE]}, {"b": 1, "c": 1, "d": 1, "a": 2, "e": 2}
    )
    before = file.tables
    after = (
        file.grown({}, ["b", "c", "d"])
        | exposures(carry(file.carried, apart), ["b", "c", "d"], ["s"]).to_tables()
    )
    assert last(apart, before, after, l=4)[CARRIED].holds
    together = naive.Shown({1: [S, NONE, NONE, NONE]}, dict.fromkeys("abcd", 1))
    after |= exposures(carry(file.carried, together), ["b", "c", "d"], ["s"]).to_tables()
    found = last(together, before, after, l=4)[CARRIED]
    assert not found.holds
    assert "1 exposure(s) are of persons or to values that nothing is carried about" in found.note


def test_the_budget_of_who_returns_is_not_new():
    """A release that is harmless by itself is refused to who left with hardly any budget."""
    carried = {("a", "s"): (SCALE // 2 + 1, 3)}
    aside = exposures(carried, ["a"], ["s"]).to_tables_aside(1)
    before = exposures({}, [], ["s"]).to_tables() | aside
    shown = group(*"abc")
    after = exposures(carry(carried, shown), list("abc"), ["s"]).to_tables() | aside
    found = last(shown, before, after)
    assert (found[EVER].holds, found[CARRIED].holds) == (False, True)
    assert found[EVER].worst == 1 - Fraction(SCALE // 2 + 1, SCALE) * Fraction(2, 3)
