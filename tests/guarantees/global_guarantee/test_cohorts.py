# SPDX-License-Identifier: Apache-2.0
"""Every rule of cohorts by itself (docs/explanation/cohorts.md): the series that breaks it, and
what is said about it.
"""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from naive import global_guarantee as naive
from phalanx.guarantees.global_guarantee import cohorts
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee
from support.shown import evidence_of, mapping, releases_of

V, W, BOTH, NONE = frozenset("v"), frozenset("w"), frozenset("vw"), frozenset()
PROMISE = GlobalGuarantee(2, permanent=["v", "w"])


def release(*groups, counterfeits=(), registered=()):
    """Groups of (members, rows), numbered from 1; counts of counterfeits and of registered persons
    by group.
    """
    return naive.Shown(
        rows={g: list(rows) for g, (_, rows) in enumerate(groups, 1)},
        groups={p: g for g, (people, _) in enumerate(groups, 1) for p in people},
        counterfeits=dict(counterfeits),
        registered=dict(registered),
    )


def carrying(v, n=4, w=0):
    """N rows, some of which hold v and others w."""
    return [V] * v + [W] * w + [NONE] * (n - v - w)


FOUNDED = release(("abcd", carrying(1)))
AWAY = {1: 1}
KEPT = {
    "all there": [FOUNDED, FOUNDED],
    "somebody absent": [FOUNDED, release(("abc", carrying(1)), counterfeits=AWAY), FOUNDED],
    "nobody there": [FOUNDED, release(("xy", [NONE, NONE])), FOUNDED],
    "only one there": [
        FOUNDED,
        release(("d", carrying(1)), ("xy", [NONE, NONE]), counterfeits={1: 3}),
    ],
    "a new carrier, then somebody absent": [
        FOUNDED,
        release(("abcd", carrying(2))),
        release(("bcd", carrying(2)), counterfeits=AWAY),
        release(("abcd", carrying(3))),
    ],
    "another value, then somebody absent": [
        FOUNDED,
        release(("abcd", carrying(1, w=1))),
        release(("bcd", carrying(1, w=1)), counterfeits=AWAY),
    ],
    "elsewhere before": [release(("ax", [NONE, NONE]), ("bcy", [NONE] * 3)), FOUNDED],
    "two cohorts": [
        FOUNDED,
        release(("abcd", carrying(1)), ("ef", carrying(1, 2))),
        release(("ef", carrying(1, 2)), ("abc", carrying(1)), counterfeits={2: 1}),
    ],
    "registered persons elsewhere": [
        FOUNDED,
        release(("abcd", carrying(1)), ("xyz", [NONE, NONE]), registered={2: 1}),
    ],
}
BROKEN = {
    "new, with a counterfeit": ([release(("abc", carrying(1)), counterfeits=AWAY)], ["group 1 is a new cohort of 3 person(s) and has 4 row(s), 1 of them counterfeit"]),
    "new, with a registered person": (
        [release(("abcde", carrying(1)), registered={1: 1})],
        [
            "group 1 holds a permanent value and 1 registered person(s) without a row",
            "group 1 is a new cohort of 5 person(s) and has 4 row(s), 0 of them counterfeit",
        ],
    ),
    "new, with a registered person for a counterfeit": (
        [release(("abcd", carrying(1)), counterfeits=AWAY, registered={1: 1})],
        [
            "group 1 holds a permanent value and 1 registered person(s) without a row",
            "group 1 is a new cohort of 4 person(s) and has 4 row(s), 1 of them counterfeit",
        ],
    ),
    "new, of nobody": ([release(("", carrying(1)), ("x", [NONE]), counterfeits={1: 4})], ["group 1 is a new cohort of 0 person(s) and has 4 row(s), 4 of them counterfeit"]),
    "a member registered": (
        [FOUNDED, release(("abcd", carrying(1)), counterfeits=AWAY, registered={1: 1})],
        [
            "group 1 holds a permanent value and 1 registered person(s) without a row",
            "group 1 has 4 row(s), 1 of them counterfeit, and its cohort 4 members, 4 of whom are in it",
        ],
    ),
    "a member elsewhere": (
        [FOUNDED, release(("abc", carrying(1)), ("dx", [NONE, NONE]), counterfeits=AWAY)],
        ["1 member(s) of cohorts stand in groups without a permanent value", "group 1 lacks 1 member(s) of its cohort who are in the release"],
    ),
    "two halves, each with counterfeits": (
        [FOUNDED, release(("ab", carrying(1)), ("cd", carrying(1)), counterfeits={1: 2, 2: 2})],
        ["group 1 lacks 2 member(s) of its cohort who are in the release", "group 2 lacks 2 member(s) of its cohort who are in the release"],
    ),
    "all members elsewhere": ([FOUNDED, release(("abcd", [NONE] * 4))], ["4 member(s) of cohorts stand in groups without a permanent value"]),
    "a stranger for somebody absent": ([FOUNDED, release(("abcx", carrying(1)))], ["group 1 holds a permanent value and mixes members of a cohort with others"]),
    "a stranger beside all": ([FOUNDED, release(("abcdx", carrying(1, 5)))], ["group 1 holds a permanent value and mixes members of a cohort with others"]),
    "members of two": (
        [release(("ab", carrying(1, 2)), ("cd", carrying(1, 2))), release(("ac", carrying(1, 2)), counterfeits={})],
        ["group 1 holds a permanent value and mixes members of a cohort with others"],
    ),
    "a row too few": (
        [FOUNDED, release(("abc", carrying(1, 3)))],
        ["group 1 has 3 row(s), 0 of them counterfeit, and its cohort 4 members, 3 of whom are in it"],
    ),
    "a counterfeit too many": (
        [FOUNDED, release(("abcd", carrying(1, 5)), counterfeits=AWAY)],
        ["group 1 has 5 row(s), 1 of them counterfeit, and its cohort 4 members, 4 of whom are in it"],
    ),
    "a row that is nobody's": (
        [FOUNDED, release(("abcd", carrying(1, 5)))],
        ["group 1 has 5 row(s), 0 of them counterfeit, and its cohort 4 members, 4 of whom are in it"],
    ),
    "counterfeits that do not say so": (
        [FOUNDED, release(("abc", carrying(1)))],
        ["group 1 has 4 row(s), 0 of them counterfeit, and its cohort 4 members, 3 of whom are in it"],
    ),
    "fewer carriers": ([release(("abcd", carrying(2))), FOUNDED], ["group 1 has 1 carrier(s) of a permanent value and had 2"]),
    "one of two values gone": ([release(("abcd", carrying(1, w=1))), FOUNDED], ["group 1 has 0 carrier(s) of a permanent value and had 1"]),
    "a new carrier while somebody is absent": (
        [FOUNDED, release(("abc", carrying(2)), counterfeits=AWAY)],
        ["group 1 has 2 carrier(s) of a permanent value and had 1, while 1 member(s) of its cohort are absent"],
    ),
    "another value while somebody is absent": (
        [FOUNDED, release(("abc", carrying(1, w=1)), counterfeits=AWAY)],
        ["group 1 has 1 carrier(s) of a permanent value and had 0, while 1 member(s) of its cohort are absent"],
    ),
    "fewer carriers than were added": (
        [FOUNDED, release(("abcd", carrying(2))), FOUNDED],
        ["group 1 has 1 carrier(s) of a permanent value and had 2"],
    ),
}  # fmt: skip


def faults(series):
    return list(cohorts.faults(releases_of(series), evidence_of(series).groups, PROMISE.lasts))


@pytest.mark.parametrize("how", KEPT)
def test_what_is_allowed(how):
    """Absence, return, growth, other groups before: no rule is broken, and the slow twin agrees."""
    assert faults(KEPT[how]) == []
    assert naive.cohorts_are_kept(KEPT[how], "vw")


@pytest.mark.parametrize("how", BROKEN)
def test_what_is_not(how):
    """Each rule that is broken is said with its release and group, and nothing else is; the slow
    twin agrees that one is.
    """
    series, said = BROKEN[how]
    assert faults(series) == [f"release {len(series)}: {fault}" for fault in said]
    assert not naive.cohorts_are_kept(series, "vw")


def test_sets_have_cohorts_too():
    """A value in a set counts wherever it stands, beside others or alone."""
    series = [
        release(("abcd", [BOTH, frozenset("st"), NONE, NONE])),
        release(("abc", [frozenset("vws"), NONE, NONE, frozenset("t")]), counterfeits=AWAY),
    ]
    promise = GlobalGuarantee(2, permanent=["v", "w"])
    for shown, n in (
        (series, 0),
        ([series[0], release(("abc", [V, W, V, NONE]), counterfeits=AWAY)], 1),
    ):
        assert (
            len(
                list(
                    cohorts.faults(
                        releases_of(shown, of_sets=True), evidence_of(shown).groups, promise.lasts
                    )
                )
            )
            == n
        )


@pytest.mark.parametrize("seed", range(40))
def test_the_slow_twin_agrees(seed):
    """On random series that keep the rules or break some of them, the check refuses those that the
    slow twin refuses.
    """
    rng = np.random.default_rng(seed)
    for _ in range(20):
        series = [release(("abcd", carrying(1)), ("efg", carrying(1, 3)), ("xyz", [NONE] * 3))]
        for _ in range(int(rng.integers(1, 4))):
            groups, counts = [], {}
            for people, before in (("abcd", 1), ("efg", 1)):
                there = "".join(p for p in people if rng.random() < 0.8) + (
                    "x" if rng.random() < 0.05 else ""
                )
                if there:
                    invented = len(people) - len(there) + int(rng.random() < 0.05)
                    rows = carrying(
                        min(before + int(rng.random() < 0.2), len(people)),
                        max(len(there) + max(invented, 0), 2),
                    )
                    groups.append((there, rows if rng.random() < 0.95 else [NONE] * len(rows)))
                    counts |= {len(groups): invented} if invented > 0 else {}
            series.append(release(*groups, ("yz", [NONE, NONE]), counterfeits=counts))
        assert (faults(series) == []) == naive.cohorts_are_kept(series, "vw")


def damaged(rng, *, of_sets):
    """A series in which persons come, go and stray between groups as chance has it, and in which
    rows, counterfeits and registered persons are often too many or too few.
    """
    series, groups = [], {}
    for _ in range(int(rng.integers(1, 5))):
        groups = {p: g for p, g in groups.items() if rng.random() < 0.9}
        groups |= {
            f"p{i}": int(rng.integers(1, 6)) for i in range(14) if rng.random() < 0.5 ** len(series)
        }
        if rng.random() < 0.2:  # the same groups under other numbers
            numbers = rng.permutation(40) + 1
            groups = {p: int(numbers[g % 40]) for p, g in groups.items()}
        rows, counterfeits, registered = {}, {}, {}
        for g in {*groups.values(), *rng.integers(50, 90, int(rng.random() < 0.1)).tolist()}:
            there = sum(group == g for group in groups.values())
            invented = int(rng.integers(0, 3)) * int(rng.random() < 0.4)
            rows[g] = [
                frozenset(v for v in "vwst" if rng.random() < 0.2)
                if of_sets
                else frozenset("vwst"[int(rng.integers(0, 10)) :][:1])
                for _ in range(max(there + invented - int(rng.random() < 0.1), 1))
            ]
            counterfeits |= {g: invented} if invented else {}
            registered |= {g: 1} if rng.random() < 0.05 else {}
        series.append(naive.Shown(rows, groups, counterfeits, registered))
    return series


@pytest.mark.parametrize("of_sets", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_the_slow_twin_says_the_same(seed, of_sets):
    """On random damaged series the check says word for word what the slow twin says, in the same
    order.
    """
    rng = np.random.default_rng(seed)
    for _ in range(20):
        series = damaged(rng, of_sets=of_sets)
        said = list(
            cohorts.faults(
                releases_of(series, of_sets=of_sets), evidence_of(series).groups, PROMISE.lasts
            )
        )
        assert said == naive.cohort_faults(series, "vw")
        assert (said == []) == naive.cohorts_are_kept(series, "vw")


def test_groups_that_are_no_numbers_are_nobodys():
    """Ids that are text are told as groups without their persons, and raise nothing."""
    (founded,) = releases_of([FOUNDED])
    table = founded.form.table.with_columns(group=pl.lit("one"))
    named = replace(founded, form=replace(founded.form, table=table))
    faults = list(cohorts.faults([named], {1: mapping(FOUNDED.groups)}, PROMISE.lasts))
    assert faults == [
        "release 1: group -1 is a new cohort of 0 person(s) and has 4 row(s), 0 of them counterfeit"
    ]
