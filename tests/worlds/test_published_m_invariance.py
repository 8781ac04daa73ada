# SPDX-License-Identifier: Apache-2.0
"""Against somebody who knows the method: m-invariant series published from every world, in exact
fractions (worlds/published_m_invariance.py).
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from phalanx.methods.m_invariance import assigning
from phalanx.methods.m_invariance import method as m_invariance
from phalanx.methods.m_invariance.assigning import Assigning
from worlds import published_m_invariance
from worlds.published_m_invariance import Series, independent, lasting, minvariance, posteriors

AGES = {f"p{i}": age for i, age in enumerate((1, 2, 4, 7, 11, 16, 22))}
HALF = Fraction(1, 2)
SHARES = {
    "uniform": {"a": Fraction(1, 3), "b": Fraction(1, 3), "c": Fraction(1, 3)},
    "skewed": {"a": Fraction(1, 2), "b": Fraction(1, 3), "c": Fraction(1, 6)},
    "very skewed": {"a": Fraction(4, 5), "b": Fraction(3, 20), "c": Fraction(1, 20)},
}


def table(persons):
    return tuple(f"p{i}" for i in persons)


def series(*tables, **parameters):
    return Series(minvariance(**parameters), AGES, [table(t) for t in tables])


def worlds(values, releases):
    return lasting(table(range(len(values))), values, releases)


SHORT = {
    "one of two stays": ("abacd", [(0, 1), (0, 2, 3, 4)]),
    "two of four stay": ("abccabc", [(0, 1, 2, 3), (0, 2, 4, 5, 6)]),
}
"""Values of persons and tables in which a value is short, in one signature or several, and another
in stock.
"""
HOLDS = SHORT | {
    "whole sets enter one signature": ("abaabb", [(0, 1), (0, 2, 3, 4, 5)]),
    "whole sets enter one of two signatures": ("abcdab", [(0, 1, 2, 3), (0, 2, 4, 5)]),
    "a whole set enters, and the rest opens a signature": ("ababcd", [(0, 1), (1, 2, 3, 4, 5)]),
    "whole sets enter where nobody is left": ("abab", [(0, 1), (2, 3), (0, 2)]),
    "one of two returns": ("aabbac", [(0, 1), (0, 2, 3), (1, 2, 4, 5)]),
    "they leave and return": ("abac", [(0, 1), (0, 2, 3), (0, 1, 2)]),
    "they change places": ("aabb", [(0, 1), (0, 2, 3), (1, 2), (0, 1, 2, 3)]),
}


@pytest.mark.parametrize("case", HOLDS)
def test_nobody_is_linked_with_more_than_one_in_m(case):
    """Whatever the values of all persons are, as a multiset: a mixture of these is every prior
    under which persons are alike.
    """
    values, tables = HOLDS[case]
    largest, above = posteriors(series(*tables), worlds(values, len(tables)))
    assert largest <= HALF
    assert above(HALF) == 0


@pytest.mark.parametrize("values", ["abcabc", "abcabd"])
def test_three_values_cover_with_one_in_three(values):
    """With m = 3: a person leaves, and three arrive, as a whole set or not."""
    third = Fraction(1, 3)
    largest, above = posteriors(series((0, 1, 2), (0, 1, 3, 4, 5), m=3), worlds(values, 2))
    assert largest <= third
    assert above(third) == 0


@pytest.mark.parametrize("tables", [[(0, 1), (0, 2, 3), (0, 1, 2)], [(0, 1), (0, 2, 3, 4)]])
def test_it_holds_for_every_prior_under_which_persons_are_alike(tables):
    """Values drawn with equal and with very different shares: 1/m all the same."""
    persons, published = table(sorted({p for t in tables for p in t})), series(*tables)
    for shares in SHARES.values():
        assert posteriors(published, independent(persons, shares, len(tables)))[0] <= HALF


@pytest.mark.parametrize(
    ("case", "share"), [("one of two stays", 1), ("two of four stay", Fraction(2, 3))]
)
def test_the_papers_filling_is_caught(case, share):
    """Where a value that is short may be filled, somebody is certain, in many publications or in
    all.
    """
    values, tables = SHORT[case]
    largest, above = posteriors(series(*tables, balancing="paper"), worlds(values, len(tables)))
    assert largest == 1
    assert above(HALF) >= share


def test_sets_that_enter_by_what_is_short_are_caught(monkeypatch):
    """A broken twin in which new tuples enter a signature only where its first value is not
    short.
    """
    enter, members, short = assigning.kernels.entering, m_invariance._members, []

    def remembered(signatures, buckets):
        short[:] = [len(buckets) > 0 and buckets[0] < buckets.max()]
        return members(signatures, buckets)

    def by_value(offsets, values, marks, ranks, left, m, parts):
        some = ranks[:0] if short[0] else ranks
        return enter(offsets, values, marks, some, left, m, parts)

    tables, given = [(0, 1), (0, 2, 3, 4, 5)], worlds("acabcd", 2)
    assert posteriors(series(*tables), given)[0] <= HALF
    monkeypatch.setattr(m_invariance, "_members", remembered)
    monkeypatch.setattr(assigning.kernels, "entering", by_value)
    assert posteriors(series(*tables), given)[0] > HALF


def test_a_split_that_asks_whose_counterfeits_they_are_is_caught(monkeypatch):
    """A broken twin whose first list has its counterfeits beside the youngest, and the others
    theirs beside the oldest.
    """
    split = m_invariance.kernels.split

    def by_list(_codes, _along, real, buckets, first, last, group):
        for b in range(first, last):
            start, size, length, name = (int(of[b]) for of in buckets)
            for j in range(size):
                mine = np.arange(start + j * length, start + (j + 1) * length)
                short = ~real[mine]
                order = mine[np.argsort(~short if j == 0 else short, kind="stable")]
                group[order] = name + np.arange(length)

    values, tables = HOLDS["whole sets enter one signature"]
    given = worlds(values, len(tables))
    monkeypatch.setattr(m_invariance.kernels, "split", by_list)
    assert posteriors(series(*tables), given)[0] > HALF
    monkeypatch.setattr(m_invariance.kernels, "split", split)
    assert posteriors(series(*tables), given)[0] <= HALF


REGIONAL = {
    "abcd": [(0, 1, 2, 3)],
    "aabcde": [(0, 1, 2, 3, 4, 5)],
    "abcdab": [(0, 1, 2, 3), (0, 3, 4, 5)],
}


@pytest.mark.parametrize("values", REGIONAL)
def test_regions_link_nobody_with_more_than_one_in_m(values):
    """Cut, cut after a set was kept, and with persons who leave and come."""
    ages = {f"p{i}": age for i, age in enumerate((1, 2, 4, 7, 11, 16, 22, 29))}
    tables = [table(t) for t in REGIONAL[values]]
    published = Series(minvariance(regions=3), ages, tables)
    largest, above = posteriors(published, lasting(table(range(len(values))), values, len(tables)))
    assert largest <= HALF
    assert above(HALF) == 0


def test_regions_that_look_at_values_are_caught(monkeypatch):
    """A broken twin that cuts where both parts happen to be m-eligible: a cut that was not made
    tells.
    """
    assign = Assigning.assign

    def by_luck(self, s_minus, signatures, members, regions):
        whole = Assigning(m=self.m, fewest=len(s_minus))
        by_age = np.argsort(regions.microdata.quasi[0].codes[s_minus])
        parts = [s_minus[np.sort(half)] for half in np.array_split(by_age, 2)]
        if any(np.bincount(signatures.codes[p]).max() * self.m > len(p) for p in parts):
            return assign(whole, s_minus, signatures, members, regions)
        placed = []
        for part in parts:
            there = np.pad(members, (0, len(signatures.ids) - len(members)))
            signatures, *new = assign(whole, part, signatures, there, regions)
            placed.append(new)
        return signatures, *(np.concatenate(each) for each in zip(*placed, strict=True))

    one, given = [(0, 1, 2, 3, 4, 5)], worlds("aabbcc", 1)
    assert posteriors(series(*one, regions=3), given)[0] <= HALF
    monkeypatch.setattr(Assigning, "assign", by_luck)
    largest, above = posteriors(series(*one, regions=3), given)
    assert largest == 1
    assert above(HALF) == Fraction(3, 10)


def test_forgetting_exposes_who_returns_and_with_them_who_stayed():
    """Of two persons one returns, under another signature, and the other one stayed; with
    ``remember`` the same series holds.
    """
    tables, given = [(0, 1), (0, 2, 3), (0, 1, 4, 5)], worlds("aabbcc", 3)
    assert (
        posteriors(series(*tables, remember=False), given, lambda world: {("p0", world[0]["p0"])})[
            0
        ]
        == 1
    )
    assert posteriors(series(*tables), given)[0] <= HALF


def test_the_suppressed_are_not_covered():
    """Three of four hold one value, and two of them are suppressed: whoever knows the values'
    frequencies knows theirs; who does not, does not.
    """
    everybody = series((0, 1, 2, 3), not_eligible="suppress")
    assert posteriors(everybody, worlds("aaab", 1))[0] == 1
    shares = {"a": HALF, "b": HALF}
    assert posteriors(everybody, independent(table(range(4)), shares, 1))[0] <= HALF


def test_nor_is_who_shares_a_group_with_somebody_who_was_suppressed():
    """The suppressed of release 1 hold the frequent value; in release 2 one of them stands beside a
    newcomer, whose value it gives away.
    """
    published = series((0, 1, 2, 3), (0, 1, 2, 3, 4, 5), not_eligible="suppress")
    largest, _ = posteriors(
        published, worlds("aaabbc", 2), lambda world: {(p, world[1][p]) for p in ("p4", "p5")}
    )
    assert largest > HALF


def changing(persons, rates):
    """Values of two releases: each of three values is equally likely at first, and changes with its
    rate to either other one.
    """
    found = []
    for first, then in product(product("abc", repeat=len(persons)), repeat=2):
        weight = Fraction(1)
        for before, after in zip(first, then, strict=True):
            weight *= 1 - rates[before] if before == after else rates[before] / 2
        if weight:
            found.append(
                (
                    (dict(zip(persons, first, strict=True)), dict(zip(persons, then, strict=True))),
                    weight,
                )
            )
    return found


def at_first(world):
    return set(world[0].items())


def test_whoever_is_suppressed_for_a_change_is_covered_where_all_values_change_alike():
    """Where one value alone changes, the suppressed had that one."""
    two = table((0, 1))
    alike, one = (
        changing(two, dict(zip("abc", rates, strict=True)))
        for rates in ([Fraction(1, 4)] * 3, [HALF, Fraction(0), Fraction(0)])
    )
    published = series((0, 1), (0, 1), changed="suppress")
    assert posteriors(published, alike, at_first)[0] <= HALF
    assert posteriors(published, one, at_first)[0] == 1


def test_two_records_of_one_person_are_not_covered_together():
    """Whoever knows that both are one person's knows that their values differ, however values
    change.
    """
    two = changing(table((0, 1)), dict.fromkeys("abc", Fraction(1, 4)))
    arrives = [
        (tuple(values | {"p2": own} for values in world), weight)
        for world, weight in two
        for own in "abc"
    ]
    largest, _ = posteriors(series((0, 1), (0, 1, 2), changed="new-record"), arrives, at_first)
    assert largest > HALF


def test_only_the_order_within_a_value_matters(monkeypatch):
    """What the oracle leaves out changes nothing: all orders of four rows give what those give that
    differ within one value, new or known.
    """
    values, tables = HOLDS["whole sets enter one of two signatures"]
    world = (dict(zip(table(range(6)), values, strict=True)),) * 2
    for balancing in ("exact", "paper"):
        few = series(*tables, balancing=balancing).outputs(world)
        with monkeypatch.context() as patch:
            patch.setattr(published_m_invariance, "EVERY_ORDER", 24)
            assert series(*tables, balancing=balancing).outputs(world) == few
