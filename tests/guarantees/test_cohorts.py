"""Cohorts as the check sees them: each rule that can be broken is refused in words, and what keeps the rules is not."""

from fractions import Fraction

import pytest

from naive import global_guarantee as naive
from phalanx.guarantees.global_guarantee import GlobalGuarantee
from shown import checked

ALONE, PERMANENT = "each release alone", "permanent values"
S, NONE = frozenset("s"), frozenset()
V = frozenset("v")
FOUNDED = naive.Shown({1: [V, NONE, NONE, NONE]}, dict.fromkeys("abcd", 1))
WRONG_COHORTS = {
    "a member elsewhere": (
        naive.Shown({1: [V, NONE, NONE, NONE], 2: [NONE, S]}, {**dict.fromkeys("abc", 1), "d": 2, "x": 2}, {1: 1}),
        ["1 member(s) of cohorts stand in groups without a permanent value", "group 1 lacks 1 member(s) of its cohort who are in the release"],
    ),
    "a registered stranger": (
        naive.Shown({1: [V, NONE, NONE, NONE]}, dict.fromkeys("abcdx", 1), {}, {1: 1}),
        [
            "group 1 holds a permanent value and 1 registered person(s) without a row",
            "group 1 holds a permanent value and mixes members of a cohort with others",
        ],
    ),
    "nobody there": (naive.Shown({1: [V, NONE, NONE, NONE]}, {}, {1: 4}), ["group 1 holds a permanent value and nobody is in it"]),
    "a new one with a counterfeit": (
        naive.Shown({1: [V, NONE, NONE]}, dict.fromkeys("xy", 1), {1: 1}),
        ["group 1 is a new cohort of 2 person(s) and has 3 row(s), 1 of them counterfeit"],
    ),
    "a new one that counts a counterfeit more than it has": (
        naive.Shown({1: [V, NONE]}, dict.fromkeys("xy", 1), {1: 1}),
        ["group 1 is a new cohort of 2 person(s) and has 2 row(s), 1 of them counterfeit"],
    ),
    "a row too many": (
        naive.Shown({1: [V, NONE, NONE, NONE, NONE]}, dict.fromkeys("abcd", 1)),
        ["group 1 has 5 row(s), 0 of them counterfeit, and its cohort 4 members, 4 of whom are in it"],
    ),
    "a counterfeit that is not counted": (
        naive.Shown({1: [V, NONE, NONE, NONE]}, dict.fromkeys("abc", 1)),
        ["group 1 has 4 row(s), 0 of them counterfeit, and its cohort 4 members, 3 of whom are in it"],
    ),
    "a new carrier, and no counterfeit": (
        naive.Shown({1: [V, V, NONE]}, dict.fromkeys("abc", 1)),
        ["group 1 has 2 carrier(s) of a permanent value and had 1, while 1 member(s) of its cohort are absent"],
    ),
    "no counterfeit": (
        naive.Shown({1: [V, NONE, NONE]}, dict.fromkeys("abc", 1)),
        ["group 1 has 3 row(s), 0 of them counterfeit, and its cohort 4 members, 3 of whom are in it"],
    ),
    "a counterfeit too many": (
        naive.Shown({1: [V, NONE, NONE, NONE, NONE]}, dict.fromkeys("abcd", 1), {1: 1}),
        ["group 1 has 5 row(s), 1 of them counterfeit, and its cohort 4 members, 4 of whom are in it"],
    ),
    "a lost carrier": (
        naive.Shown({1: [frozenset("w"), NONE, NONE, NONE]}, dict.fromkeys("abcd", 1)),
        ["group 1 has 0 carrier(s) of a permanent value and had 1"],
    ),
    "a new carrier beside a counterfeit": (
        naive.Shown({1: [V, V, NONE, NONE]}, dict.fromkeys("abc", 1), {1: 1}),
        ["group 1 has 2 carrier(s) of a permanent value and had 1, while 1 member(s) of its cohort are absent"],
    ),
}


@pytest.mark.parametrize("how", WRONG_COHORTS)
def test_wrong_cohorts(how):
    """Each broken rule of cohorts is refused, in words that name the release and the group and nobody; a cohort that keeps them is not."""
    wrong, said = WRONG_COHORTS[how]
    promise = GlobalGuarantee(2, permanent=["v", "w"])
    grown = naive.Shown({1: [V, V, NONE, NONE]}, dict.fromkeys("abcd", 1))

    assert checked(promise, [FOUNDED, grown])[PERMANENT].holds
    found = checked(promise, [FOUNDED, wrong])[PERMANENT]

    assert not found.holds
    assert all(f"release 2: {words}" in found.note for words in said), found.note


def test_too_many_carriers():
    """A cohort in which more than one in l carries a permanent value is refused, with the share that each member has."""
    full = naive.Shown({1: [V, V, V, NONE]}, dict.fromkeys("abcd", 1))
    found = checked(GlobalGuarantee(2, permanent=["v"]), [FOUNDED, full])
    assert (found[ALONE].holds, found[ALONE].worst, found[PERMANENT].holds) == (False, Fraction(3, 4), True)


def test_a_cohort_follows_its_people_not_its_number():
    """The number of its group says nothing, releases without any of its members change nothing, and what it once showed is not forgotten over them."""
    again = naive.Shown({1: [NONE, S], 2: [V, NONE, NONE, NONE]}, {**dict.fromkeys("xy", 1), **dict.fromkeys("abd", 2)}, {2: 1})
    without = naive.Shown({1: [NONE, S]}, dict.fromkeys("xy", 1))
    less = naive.Shown({1: [frozenset("w"), NONE, NONE, NONE]}, dict.fromkeys("abcd", 1))
    promise = GlobalGuarantee(2, permanent=["v", "w"])
    assert checked(promise, [FOUNDED, without, again, without, FOUNDED])[PERMANENT].holds
    assert "release 4: group 1 has 0 carrier(s)" in checked(promise, [FOUNDED, without, again, less])[PERMANENT].note


def test_who_was_held_back_is_absent():
    """A member whose row was held back, group 0 of the mapping, is stood in for like one who is not in the table."""
    held_back = naive.Shown({1: [V, NONE, NONE, NONE]}, {**dict.fromkeys("abc", 1), "d": 0}, {1: 1})
    assert checked(GlobalGuarantee(2, permanent=["v"]), [FOUNDED, held_back, FOUNDED])[PERMANENT].holds
