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
from phalanx.guarantees.global_guarantee.recalled import Recalled
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.exposures import LAID, LEFT, SCALE, Exposures
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
        self.tables = self.grown(self.aside(gone), here)
        return before, self.tables

    def aside(self, gone):
        """What is laid aside of persons with this release, each with a history of their own."""
        aside = exposures(self.carried, gone, self.values)
        numbers = 1000 * self.number + np.arange(len(gone))
        return replace(aside, origin=numbers).to_tables_aside(self.number)

    def grown(self, aside, here):
        """The tables with what is carried of those who are there, and what is laid aside."""
        tables = self.tables | aside
        for name in (LEFT, LAID):
            if grown := [each[name] for each in (self.tables, aside) if name in each]:
                tables = tables | {name: pl.concat(grown)}
        return tables | exposures(self.carried, here, self.values, alike=True).to_tables()


def last(shown, before, after, l=2, added=None):
    """The verdicts on a release with what is remembered before and after it; ``added``: to which
    tables the release adds.
    """
    groups, state = {1: mapping(shown.groups)}, (before, after)
    evidence = Evidence(groups=groups, state=state, added=added)
    return checked(GlobalGuarantee(l), [shown], evidence=evidence, last=True)


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
    laid, left, carried = after[LAID], after[LEFT], Exposures.of_tables(after)
    number = int(laid["release"].max())
    pairs, of_a = f"laid pairs {number}", carried.persons.to_list().index(key("a"))
    match how:
        case "one part more":
            return after | {pairs: changed(after[pairs], "survival", 0, 1)}
        case "one exposure less":
            return after | {pairs: changed(after[pairs], "times", 0, -1)}
        case "a person who left lost":
            return after | {LEFT: before[LEFT]}
        case "no history laid aside":
            return after | {LAID: before[LAID]}
        case "no table of pairs":
            return {name: table for name, table in after.items() if name != pairs}
        case "no pairs laid aside":
            return after | {pairs: after[pairs].clear()}
        case "too few pairs":
            return after | {LAID: changed(laid, "pairs", len(laid) - 1, -1)}
        case "a history that there is not":
            return after | {LEFT: changed(left, "history", len(left) - 1, 7)}
        case "the history of another person":
            lightest = before[LAID]["history"][-1]
            return after | {
                LEFT: changed(left, "history", len(left) - 1, lightest - left["history"][-1])
            }
        case "who left before is lost":
            return after | {LEFT: left.tail(len(left) - 1)}
        case "who left before is another":
            return after | {LEFT: pl.concat([left.head(1), left.head(1), left.tail(len(left) - 2)])}
        case "what was laid aside before is another":
            return after | {LAID: changed(laid, "history", 0, 500)}
        case "pairs laid aside before are others":
            return after | {"laid pairs 2": changed(after["laid pairs 2"], "survival", 0, 1)}
        case "pairs laid aside before are more":
            both = pl.concat([after["laid pairs 2"], after["laid pairs 2"].head(1)])
            return after | {"laid pairs 2": both}
        case "other types":
            return after | {
                "laid pairs 2": after["laid pairs 2"].with_columns(
                    pl.col("survival").cast(pl.Float64)
                )
            }
        case "no such column":
            return after | {pairs: after[pairs].drop("times")}
        case "a further column":
            return after | {LEFT: left.with_columns(more=pl.lit(1))}
        case "numbers that are not whole":
            return after | {pairs: after[pairs].with_columns(pl.col("survival") * 0.5)}
        case "nothing known of a history":
            return after | {
                "histories": after["histories"].with_columns(laid=pl.lit(None, pl.Boolean))
            }
        case "texts":
            return after | {
                "persons": after["persons"].with_columns(pl.col("away").cast(pl.String))
            }
        case "one number for all":
            return after | {
                "histories": after["histories"].with_columns(origin=pl.lit(0, pl.Int64))
            }
        case "no number":
            return after | {LAID: laid.with_columns(release=pl.lit(None, pl.UInt32))}
        case "no whole number":
            return after | {LAID: laid.with_columns(pl.col("history").cast(pl.Float64))}
        case "an earlier release's number":
            return after | {LAID: changed(laid, "release", len(laid) - 1, -1)}
        case "a number of a release that is not":
            return after | {LAID: changed(laid, "release", len(laid) - 1, 1)}
        case "two numbers":
            other = changed(changed(laid.tail(1), "release", 0, 1), "history", 0, 500)
            return after | {LAID: pl.concat([laid, other])}
        case "twice laid aside":
            return after | {LAID: pl.concat([laid, laid.tail(1)])}
        case "laid aside again":
            again = laid.tail(1).with_columns(history=before[LAID]["history"].head(1))
            both = pl.concat([after[pairs], after[pairs]])
            return after | {LAID: pl.concat([laid, again]), pairs: both}
        case "left twice":
            return after | {LEFT: pl.concat([left, left.tail(1)])}
        case "carried and laid aside":
            both = left.tail(1).with_columns(person=pl.lit(key("a")))
            return after | {LEFT: pl.concat([left, both])}
        case "laid aside anew, as less exposed":
            lighter = exposures(
                {("d", "s"): (SCALE // 9, 2), ("e", "s"): (SCALE - 1, 1)}, ["d", "e"], ["s"]
            )
            anew = replace(lighter, origin=np.array([8000, 8001])).to_tables_aside(number)
            return (
                after
                | anew
                | {name: pl.concat([before[name], anew[name]]) for name in (LEFT, LAID)}
            )
        case "returned as a stranger":
            return carrying(after, of_a, exposures(carry({}, shown), ["a"], ["s"]))
        case "returned as they left first":
            first = carry(carry({}, group(*"abce")), shown)
            return carrying(after, of_a, exposures(first, ["a"], ["s"]))
        case "returned and not counted":
            twice = carry(carry({}, group(*"abce")), group(*"abc"))
            return carrying(after, of_a, exposures(twice, ["a"], ["s"]))
        case "returned and lost":
            others = np.flatnonzero(np.arange(len(carried.persons)) != of_a)
            people = carried.persons.gather(others)
            return (
                after
                | replace(
                    carried, persons=people, history=carried.history[others], away=others
                ).to_tables()
            )
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
            origin=np.append(carried.origin, [9000]),
            laid=np.append(carried.laid, [False]),
            **{name: np.append(getattr(carried, name), getattr(other, name)) for name in PAIRS},
        ).to_tables()
    )


HOW = [
    "one part more", "one exposure less", "a person who left lost", "no history laid aside", "no table of pairs", "no pairs laid aside",
    "too few pairs", "a history that there is not", "the history of another person", "who left before is lost", "who left before is another",
    "what was laid aside before is another", "pairs laid aside before are others", "pairs laid aside before are more",
    "other types", "no such column", "a further column", "numbers that are not whole", "nothing known of a history", "texts",
    "one number for all", "no number", "no whole number", "an earlier release's number", "a number of a release that is not", "two numbers",
    "twice laid aside", "laid aside again", "left twice", "carried and laid aside", "laid aside anew, as less exposed",
    "returned as a stranger", "returned as they left first", "returned and not counted", "returned and lost",
]  # fmt: skip


@pytest.mark.parametrize("how", HOW)
def test_no_person_leaves_their_exposures_behind(how):
    """Each way to remember less of who leaves, left or returns than there was is refused."""
    shown, before, after = returning()
    assert last(shown, before, after)[CARRIED].holds
    assert not last(shown, before, forgetful(before, after, shown, how))[CARRIED].holds


@pytest.mark.parametrize(
    ("added", "holds"),
    [
        (["left", "laid", "laid pairs 5"], True),
        (["left", "laid", "laid pairs 5", "laid pairs 2"], False),
        (["left", "laid"], False),
        (["left", "laid", "laid pairs 6"], False),
    ],
)
def test_pairs_are_laid_aside_for_good(added, holds):
    """A release adds to the table of the pairs that it lays aside, and to no earlier or later one."""
    shown, before, after = returning()
    assert last(shown, before, after, added=added)[CARRIED].holds is holds


def test_pairs_that_were_laid_aside_are_there():
    """Also where a release adds nothing to them."""
    shown, before, after = returning()
    less = {name: table for name, table in after.items() if name != "laid pairs 2"}
    assert not last(shown, before, less, added=["left", "laid", "laid pairs 5"])[CARRIED].holds


def test_who_shared_a_history_shares_it_still():
    """Persons who leave together are looked at together, not each by themselves."""
    file, people = Remembering(), [f"p{i}" for i in range(50)]
    file.release(group(*people))
    before, aside = file.tables, exposures(file.carried, people, file.values, alike=True)
    file.number += 1
    after = file.grown(aside.to_tables_aside(2), [])
    recalled = Recalled.of(before, after, None)
    assert np.diff(recalled.after.starts).tolist() == [1]
    assert set(recalled.after.history.tolist()) == {0}


def test_less_may_be_left():
    """One part less survival is no fault, of who leaves as of who is there."""
    shown, before, after = returning()
    name = next(name for name in after if name.startswith("laid pairs") and name not in before)
    less = after | {name: changed(after[name], "survival", 0, -1)}
    assert last(shown, before, less)[CARRIED].holds


@pytest.mark.parametrize(("rows", "holds"), [([NONE, NONE], True), ([S, NONE], False)])
def test_a_history_is_laid_aside_once(rows, holds):
    """Who leaves again with a history that was laid aside is named with it, and nothing is stored;
    where they were exposed meanwhile, that is another one.
    """
    file = Remembering()
    for people in ("abc", "ab"):  # c leaves
        file.release(group(*people))
    of_c = file.tables[LEFT]["history"][0]
    file.release(naive.Shown({1: rows}, dict.fromkeys("ac", 1)))
    before = file.tables
    file.number += 1
    left = {LEFT: pl.DataFrame({"person": [key("c")], "history": [of_c]})}
    after = file.grown(left, ["a"])
    found = last(naive.Shown({1: [NONE]}, {"a": 1}), before, after)[CARRIED]
    assert found.holds is holds
    assert holds or "with another number of exposures" in found.note


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
