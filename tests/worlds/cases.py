# SPDX-License-Identifier: Apache-2.0
"""What the oracle is asked: every method with every grouping, strategy and option that a plan can
name, on tables small enough for all worlds.

Lines about hierarchies stand in ``worlds.hierarchies``; ``worlds.options`` lists all options, and
what is not asked and why.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from worlds.case import HALF, THIRD, Case, holds, of_the_valued, open_, without_values
from worlds.choices import as_they_stand, by_value, dealt, first_two, whole
from worlds.hierarchies import in_towns, of_quasi_identifiers
from worlds.oracle import Bound
from worlds.settings import (
    ABSENT,
    AGES,
    Beside,
    Setting,
    any_series,
    anything,
    beside_none,
    households,
    once,
    orders,
    passing,
    series,
    turning,
)

AGE = [["q0"], ["sick"]]
ONE_OF_SIX = {"a": THIRD, "b": THIRD, "c": THIRD}


def anatomy() -> Iterable[Case]:
    yield holds("anatomy", {"l": 2}, "aabbc (residue)", once("aabbc"), HALF, quick=True)
    yield holds("anatomy", {"l": 2}, "aabbcc", once("aabbcc"), HALF)
    yield holds("anatomy", {"l": 3}, "aabbcc", once("aabbcc"), THIRD)
    yield holds("anatomy", {"l": 3}, "abcde (residue)", once("abcde"), THIRD)
    yield holds("anatomy", {"l": "3/2"}, "aabbc", once("aabbc"), HALF)
    yield holds("anatomy", {"l": 2}, "all of {a, b, c}^5", anything("abc", 5), HALF)
    yield holds(
        "anatomy",
        {"l": 2},
        "aabbc, and two without a value",
        beside_none("aabbc", 2),
        HALF,
        folds={"anatomy": by_value},
        only=tuple("abc"),
    )


GROWING = (((1, 2), "ab"), ((1, 2, 11, 16), "ac"))
LEAVING = (((1, 2, 4, 7), "aabb"), ((1, 2, 11, 16), "ab"))
SHORT = (((1, 2), "ab"), ((1, 11, 22, 29), "acd"))
STOCKED = (((1, 2, 4, 7), "abcc"), ((1, 2, 11, 16, 22), "abc"))
RETURNING = (((1, 2, 4, 7), "abcc"), ((1, 4, 11, 16), "bd"), ((1, 2, 7, 11, 22, 29), "ac"))
LARGER = (((1, 2, 4), "abc"), ((1, 2, 7, 11, 16), "abc"))
TOLD = (((1, 2, 4, 7), "aaab"), ((1, 2, 11, 16), "bc"))
BOB = (
    ((20, 21), ("hiv", "ulcer")),
    ((20, 31, 33, 36, 40, 45), ("hiv", "hiv", "flu", "flu", "cold")),
)
KEPT = (
    ((11, 16), [Beside("a", "k"), Beside("b", "l")]),
    ((11, 1, 2), [Beside("a", "x"), Beside("b", "y")]),
)
"""Newcomers are so young that one of them, and not who stays, is in the group of the counterfeit,
which shows no kept values.
"""
CHANGED = replace(passing(((1, 2, 4, 7), "abcc"), ((1, 2, 11, 16), "abcc")), records=True)
ANY = any_series("abc", (1, 2), (1, 4, 7, 11))
REFUSING = any_series("abc", (1, 2), (1, 4, 7))
TWO_QI = [(1, 5), (2, 9), (4, 2), (7, 7), (11, 1), (16, 4), (22, 3), (29, 8)]


COMING = (((1, 2, 4, 7), "abcd"), ((1, 7, 11, 16, 22, 29), "abcd"))
BACK = (((1, 2, 4, 7), "abcd"), ((1, 7, 11, 16), "ab"), ((2, 7, 11, 22, 29), "ab"))
TOTALS = (
    "a refusal tells how frequent a value is, of no person more than another; a prior that is"
    " skewed uses it"
)
TOTAL = "nothing is left here that a total would tell of; in the line of those who leave it is"
COVERED = "the line asks of suppressed rows, too, which no guarantee covers, as the manifest says"
LUCKY = "on this table no cut that is not made tells; on others it does"
NOT_PUBLIC = "who has no value is shown, and is taken to be public, which it is not here"
UNSEEN = "groups and tables do not look at values, which is all that is asked here"
HIDDEN = (
    "what is promised of all releases does not count those in which a person's value is not shown"
)
WITH_KEPT = "a release of a series with kept columns does not say that it holds"
REGISTRY = "a release with a registry does not say that it holds"
ALIKE = "on this table the bound is kept only by a group of all rows, which all come out alike"


NONE_IN_BETWEEN = {
    "aabb, and two without a value": beside_none("aabb", 2),
    "ab and two without a value, then ac; two have none any more, two come": turning(
        ((1, 2), "ab", (4, 7)), ((1, 4, 11), "ac", (2, 7))
    ),
    "the same, and they return": turning(
        ((1, 2), "ab", (4, 7)),
        ((1, 4, 11), "ac", (2, 7)),
        ((2, 4, 7, 16), "bc", (1, 11)),
    ),
}


def m_invariance() -> Iterable[Case]:
    for table in ("aabb", "aabbc", "aabbcc"):
        yield holds("m-invariance", {"m": 2}, table, once(table), HALF, quick=table == "aabbc")
    yield holds("m-invariance", {"m": 2}, "aabbcc, two QI", once("aabbcc", quasi=TWO_QI[:6]), HALF)
    yield holds("m-invariance", {"m": 3}, "aabbcc", once("aabbcc"), THIRD)
    yield holds("m-invariance", {"m": 2, "min_width": {"q0": 5}}, "aabbc", once("aabbc"), HALF)
    yield holds("m-invariance", {"m": 2}, "all of {a, b, c}^5", anything("abc", 5), HALF)
    shortages = (
        ("ab, one leaves, acd come", series(*SHORT)),
        ("abcc, two leave, abc come", series(*STOCKED)),
        ("hiv ulcer, one leaves, 2 hiv 2 flu cold come", series(*BOB)),
        ("all of {a, b, c}: 1 2; 1 4 7 11", ANY),
    )
    for balancing, claim in (("exact", holds), ("paper", open_)):
        for table, setting in shortages:
            yield claim(
                "m-invariance",
                {"m": 2, "balancing": balancing},
                table,
                setting,
                HALF,
                quick=table.startswith("ab,"),
            )
    yield holds("m-invariance", {"m": 2}, "ab stay, ac come", series(*GROWING), HALF, quick=True)
    yield holds("m-invariance", {"m": 2}, "aabb, two leave, ab come", series(*LEAVING), HALF)
    yield holds(
        "m-invariance",
        {"m": 2},
        "abcc; two leave, bd come; two return, ac come",
        series(*RETURNING),
        HALF,
    )
    yield open_(
        "m-invariance",
        {"m": 2},
        "a and b with kept k and l; one leaves, a and b with x and y come",
        series(*KEPT),
        HALF,
        differs=WITH_KEPT,
    )
    for table, setting in NONE_IN_BETWEEN.items():
        yield holds(
            "m-invariance", {"m": 2}, table, setting, HALF, only=tuple("abc"), quick="then" in table
        )
    yield open_(
        "m-invariance",
        {"m": 2},
        "aabb--, where it is not public who has no value",
        once("aabb--", not_applicable=["-"]),
        HALF,
        differs=NOT_PUBLIC,
    )
    regional = (
        (2, "abcd", once("abcd"), HALF),
        (2, "aabbcc (cut nowhere)", once("aabbcc"), HALF),
        (3, "aabcde (the whole table keeps a set)", once("aabcde"), HALF),
        (2, "aabcd, two QI", once("aabcd", quasi=TWO_QI[:5]), HALF),
        (2, "all of {a, b, c, d}^4", anything("abcd", 4), HALF),
        (2, "abcd; two leave, abcd come", series(*COMING), HALF),
        (2, "abcd; two leave, ab come; two leave, two return, ab come", series(*BACK), HALF),
    )
    for regions, table, setting, bound in regional:
        given = {"m": 2, "regions": regions}
        yield holds("m-invariance", given, table, setting, bound, quick=table == "abcd")
    yield holds("m-invariance", {"m": 3, "regions": 2}, "abcdef", once("abcdef"), THIRD)
    yield open_(
        "m-invariance",
        {"m": 2},
        "all of {a, b, c}: 1 2; 1 4 7, one refused",
        REFUSING,
        HALF,
        refusals=True,
        differs=TOTALS,
    )
    yield open_("m-invariance", {"m": 2, "not_eligible": "suppress"}, "aaab", once("aaab"), HALF)
    yield open_("m-invariance", {"m": 3, "not_eligible": "suppress"}, "aabbc", once("aabbc"), THIRD)
    yield open_(
        "m-invariance",
        {"m": 2, "not_eligible": "suppress"},
        "all of {a, b, c}^4",
        anything("abc", 4),
        HALF,
    )
    yield open_(
        "m-invariance",
        {"m": 2, "remember": False},
        "abcc; two leave, bd come; two return, ac come",
        series(*RETURNING),
        HALF,
    )
    two, apart = {"m": 2}, {"m": 2, "regions": 2}
    for before, after, table, setting, bound in (
        (two, {"m": 3}, "abc; one leaves, abc come", series(*LARGER), HALF),
        (two, {"m": 3}, "abcc, two leave, abc come", series(*STOCKED), HALF),
        (two, apart, "abcc, two leave, abc come", series(*STOCKED), HALF),
        (apart, two, "abcd; two leave, ab come; two return, ab come", series(*BACK), HALF),
        (two, {"m": 2, "min_width": {"q0": 5}}, "ab, one leaves, acd come", series(*SHORT), HALF),
    ):
        quick = table.startswith("ab,")
        yield holds("m-invariance", before, table, setting, bound, then=(after,), quick=quick)
    for then in (two, apart):
        yield open_(
            "m-invariance",
            {"m": 2, "not_eligible": "suppress"},
            "aaab; two leave, bc come",
            series(*TOLD),
            HALF,
            then=(then,),
            quick=then is two,
        )
    for changed in ("suppress", "new-record"):
        yield open_(
            "m-invariance",
            {"m": 2, "changed": changed},
            "abcc; two leave, two come, abcc, all may change",
            CHANGED,
            HALF,
        )


def hiv(holders: int, persons: int) -> list[str]:
    return ["hiv"] * holders + ["none"] * (persons - holders)


def again(persons: int) -> Setting:
    """One of so many persons has it in each of two releases."""
    return passing(*[(AGES[:persons], hiv(1, persons))] * 2)


TWICE = passing(
    ((1, 2, 4, 7, 11, 16, 22, 29), hiv(1, 8)), ((1, 2, 4, 7, 11, 16, 37, 46), hiv(1, 8))
)
UNEQUAL = passing(
    ((1, 2, 4, 7), hiv(1, 4)),
    ((1, 100, 4, 7, 11, 16, 22, 29), hiv(1, 8)),
    quasi={age: (age,) for age in (1, 2, 4, 7, 11, 16, 22, 29)} | {100: (1,)},
)
SETS = [
    frozenset({"hiv"}),
    frozenset({"hiv", "flu"}),
    *[frozenset({"flu"})] * 2,
    *[frozenset[str]()] * 2,
]
SPENT_SETS = replace(
    passing(
        (AGES[:4], [frozenset({"hiv"}), *[frozenset[str]()] * 3]),
        (
            AGES[:6],
            [
                frozenset({"hiv"}),
                frozenset({"hiv", "flu"}),
                frozenset({"flu"}),
                *[frozenset[str]()] * 3,
            ],
        ),
    ),
    records=True,
)
"""A set that is not shown is missing, and one that is empty is not."""
STAYING_KEPT = Setting(
    (AGES[:4], (AGES[0], *AGES[4:7])),
    tuple(
        (
            tuple(map(Beside, was, kept)),
            tuple(map(Beside, now, (kept[0], *others))),
        )
        for was, now in product(orders(hiv(1, 4)), repeat=2)
        for kept in orders("klmn")
        for others in orders("xyz")
    ),
    lasting=False,
)
REGISTERED = ["hiv", "none", "none", "none", "none", ABSENT, ABSENT]
LEAVING_A_REGISTRY = Setting(
    (AGES[:4], AGES[:6]),
    tuple(product(orders(hiv(1, 4)), orders(["hiv", "none", *[ABSENT] * 4]))),
    lasting=False,
    registry=True,
    records=True,
)
STRATEGIES: tuple[Mapping[str, Any], ...] = (
    {"strategy": "adaptive"},
    {"strategy": "geometric"},
    {"strategy": "constant-ratio", "horizon": 2},
)
LASTING = series(((1, 2, 4, 7, 11, 16), hiv(1, 6)), ((2, 4, 7, 11, 16, 22), ["none"]))
MANY = tuple(i * i + i for i in range(1, 82))
"""Enough for cohorts, whose members have the same past."""
NUMBERS = {"types": {"q0": "numeric"}}
"""Said of an attribute in which so many differ."""
SPENT = replace(passing((AGES[:4], hiv(1, 4)), (AGES[:8], hiv(3, 8))), records=True)
SPENT_SMALL = replace(passing((AGES[:4], hiv(1, 4)), (AGES[:6], hiv(2, 6))), records=True)
SPENT_TWICE = replace(
    passing((AGES[:4], hiv(1, 4)), (AGES[:5], hiv(1, 5)), (AGES[:6], hiv(2, 6))), records=True
)
SPENT_THIRD = replace(passing((AGES[:6], hiv(1, 6)), (AGES[:9], hiv(2, 9))), records=True)
SPENT_MUCH = replace(passing((AGES[:3], hiv(1, 3)), (AGES[:7], hiv(4, 7))), records=True)
SPENT_TWO = replace(
    passing((AGES[:4], ["a", *["none"] * 3]), (AGES[:6], ["a", "a", "b", "b", "none", "none"])),
    records=True,
)
FREE = tuple(
    (first, then)
    for first in orders(hiv(1, 4))
    for then in product(("flu", "hiv", "none"), repeat=6)
)
SPENT_FREE = Setting((AGES[:4], AGES[:6]), FREE, lasting=False, records=True)
JUMP = tuple(
    (first, then) for first in orders(hiv(1, 8)) for then in product(("flu", "hiv"), repeat=8)
)
JUMPING = Setting((AGES[:8],) * 2, JUMP, lasting=False, records=True)
INFECTED = Setting(
    (MANY[:20],) * 2,
    tuple(
        (one, two)
        for one in orders(hiv(1, 20))
        for two in orders(hiv(2, 20))
        if two[one.index("hiv")] == "hiv"
    ),
)
LATE = Setting(
    (MANY[:60], MANY[:61]),
    tuple((("none",) * 60, two) for two in orders(hiv(1, 61))),
    declared=NUMBERS,
)
LEFT = Setting(
    (MANY[:80], MANY[:81], MANY[19:81]),
    tuple((("none",) * 80, two, two[19:]) for two in orders(hiv(1, 81)) if two.index("hiv") >= 19),
    declared=NUMBERS,
)
"""One comes, others are silent with them, and all of these leave but the one."""
INFECTED_AMONG = Setting(
    (MANY[:36],) * 2,
    tuple(
        (one, two)
        for one in orders(hiv(1, 36))
        for two in orders(hiv(2, 36))
        if two[one.index("hiv")] == "hiv"
    ),
)
BOTH = Setting(
    (MANY[:20],),
    tuple((world,) for world in orders(["hiv", "flu", "flu", *["none"] * 17]) if world[9] == "hiv"),
)
FOR_GOOD = {
    "2 of 20 for good": series((MANY[:20], hiv(2, 20))),
    "1 of 20 for good, one leaves, one comes": series(
        (MANY[:20], hiv(1, 20)), (MANY[1:21], ["none"])
    ),
    "1 of 20 for good, then 1 of 2 who come": series(
        (MANY[:20], hiv(1, 20)), (MANY[:22], hiv(1, 2))
    ),
    "1 of 20 for good, then 1 of 20 who come": series(
        (MANY[:40:2], hiv(1, 20)), (MANY[:40], hiv(1, 20))
    ),
}


def global_guarantee() -> Iterable[Case]:
    """Balanced cuts draw nothing but the order of rows of equal quasi-identifiers, so that all
    choices are gone through; groups that grow may draw more.
    """
    method, base = "global-guarantee", {"l": 2, "protect": ["hiv"]}
    cut = {"how": "enumerated", "folds": {"grouping": as_they_stand}, "only": ("hiv",)}
    grown = {"how": "repeated", "only": ("hiv",)}
    replaced, newcomer = (
        "1 of 8, twice, two replaced",
        "1 of 4; 1 of 8, a newcomer of the age of one who stays",
    )
    for spending in STRATEGIES:
        even, geometric = (
            base | dict(spending) | {"grouping": "balanced"},
            spending["strategy"] == "geometric",
        )
        for holders, persons in ((1, 12), (2, 8), (2, 12)):
            quick = geometric and persons == 8
            yield holds(
                method,
                even,
                f"{holders} of {persons}",
                once(hiv(holders, persons)),
                HALF,
                quick=quick,
                **cut,
            )
        for persons in (9, 12):
            yield holds(method, even, f"1 of {persons}, twice", again(persons), HALF, **cut)
        yield holds(method, even, replaced, TWICE, HALF, **cut)
        yield holds(
            method, even, newcomer, UNEQUAL, HALF, **(cut | {"folds": {"grouping": first_two}})
        )
        yield holds(method, even, "all of {hiv, none}^8", anything(("hiv", "none"), 8), HALF, **cut)
    for more in (
        {"strategy": "geometric", "alpha": 3},
        {"strategy": "adaptive", "horizon": 3},
        {"strategy": "adaptive", "horizon": [1, 0.5]},
    ):
        for table, setting in (("2 of 8", once(hiv(2, 8))), ("1 of 9, twice", again(9))):
            yield holds(method, base | more, table, setting, HALF, **cut)
    for spending in STRATEGIES:
        given = base | dict(spending) | {"grouping": "bottom-up"}
        yield open_(
            method,
            given,
            "1 of 12",
            once(hiv(1, 12)),
            HALF,
            quick=spending["strategy"] == "adaptive",
            **grown,
        )
        yield open_(method, given, "2 of 8", once(hiv(2, 8)), HALF, **grown)
        yield open_(method, given, replaced, TWICE, HALF, **grown)
        yield open_(method, given, newcomer, UNEQUAL, HALF, **grown)
    small = {"strategy": "constant-ratio", "horizon": 1}
    for grouping, claim, way in (("balanced", holds, cut), ("bottom-up", open_, grown)):
        given = base | {"grouping": grouping}
        every = {"l": 2, "protect": "all", "grouping": grouping}
        yield claim(method, every | small, "aabbcc", once("aabbcc"), HALF, **(way | {"only": None}))
        yield claim(
            method,
            every | {"protect": ["a", "b"]},
            "abcccccc",
            once("abcccccc"),
            HALF,
            **(way | {"only": ("a", "b")}),
        )
        yield claim(
            method,
            every | {"protect": {"least_frequent": 0.5}},
            "aaaaaabb",
            once("aaaaaabb"),
            HALF,
            **(way | {"only": ("b",)}),
        )
        yield claim(
            method, given | small, "sets: hiv, hiv flu, 2 flu, 2 empty", once(SETS), HALF, **way
        )
        yield claim(
            method,
            given,
            "1 of 7 registered has it, 2 are absent",
            once(REGISTERED, registry=True),
            HALF,
            **grown,
        )
        if claim is holds:
            yield open_(
                method,
                given | {"strategy": "geometric"},
                "1 of 4; 1 of 4, of whom one stays with a kept value, beside others' of their own",
                STAYING_KEPT,
                HALF,
                differs=WITH_KEPT,
                **way,
            )
            yield open_(
                method,
                given | small,
                "1 of 4 registered, then 1 of 6, of whom 4 are absent",
                LEAVING_A_REGISTRY,
                HALF,
                differs=REGISTRY,
                **grown,
            )
        yield claim(method, given | {"k": 3}, "1 of 12", once(hiv(1, 12)), HALF, **way)
        yield claim(
            method, given | {"min_width": {"q0": 5}}, "1 of 12", once(hiv(1, 12)), HALF, **way
        )
    yield holds(
        method,
        {"l": 2, "protect": "all"},
        "aaabbccd",
        once("aaabbccd"),
        HALF,
        **(cut | {"only": None}),
    )
    spent = base | small | {"grouping": "balanced"}
    yield holds(
        method,
        spent,
        "1 of 4, their budget is spent; any of {flu, hiv, none} of 6, by release",
        SPENT_FREE,
        HALF,
        **cut,
    )
    yield holds(
        method, spent, "1 of 4, their budget is spent; 3 of 8, by release", SPENT, HALF, **cut
    )
    yield holds(
        method,
        spent,
        "the same, of those whose value is published",
        replace(SPENT, shown_only=True),
        HALF,
        **cut,
    )
    yield holds(
        method,
        spent,
        "1 of 4, their budget is spent; 2 of 6, by release",
        SPENT_SMALL,
        HALF,
        quick=True,
        **cut,
    )
    yield open_(
        method,
        spent,
        "the same, in any release: also in one that shows no value of the person",
        replace(SPENT_SMALL, records=False),
        HALF,
        differs=HIDDEN,
        **cut,
    )
    yield holds(
        method,
        spent,
        "sets: 1 of 4 has hiv, their budget is spent; 2 of 6, one with flu, by release",
        SPENT_SETS,
        HALF,
        **cut,
    )
    yield holds(method, spent, "1 of 4; 1 of 5; 2 of 6, by release", SPENT_TWICE, HALF, **cut)
    yield holds(
        method,
        spent | {"l": 3},
        "1 of 6, their budget is spent; 2 of 9, by release",
        SPENT_THIRD,
        THIRD,
        **cut,
    )
    yield holds(
        method,
        spent | {"l": "3/2"},
        "1 of 3, their budget is spent; 4 of 7, by release",
        SPENT_MUCH,
        Fraction(2, 3),
        **cut,
    )
    several = spent | {"protect": ["a", "b"]}
    yield holds(
        method,
        several,
        "a of 4, their budget is spent; aabb of 6, by release",
        SPENT_TWO,
        HALF,
        **(cut | {"only": ("a", "b")}),
    )
    changing = (
        ({"strategy": "adaptive"}, {"strategy": "geometric", "alpha": 3}),
        ({"strategy": "geometric"}, {"strategy": "constant-ratio", "horizon": 1}),
        ({"strategy": "constant-ratio", "horizon": 1}, {"strategy": "adaptive", "l": 3}),
        ({"strategy": "adaptive"}, {"strategy": "adaptive", "horizon": 3, "k": 3}),
    )
    for before, after in changing:
        for table, setting in (
            ("1 of 9, twice", again(9)),
            ("1 of 8, twice, two replaced", TWICE),
            ("1 of 6; 2 of 9, by release", SPENT_THIRD),
        ):
            yield holds(
                method,
                base | before,
                f"{table}, of those whose value is published",
                replace(setting, shown_only=True),
                HALF,
                then=(base | after,),
                quick="alpha" in after and setting is TWICE,
                **cut,
            )
    jumping = base | {"grouping": "balanced"}
    yield holds(method, jumping, "1 of 8; any of {flu, hiv} of 8, by release", JUMPING, HALF, **cut)
    yield holds(
        method,
        jumping,
        "the same, of those whose value is published",
        replace(JUMPING, shown_only=True),
        HALF,
        **cut,
    )
    lasting = base | {"permanent": ["hiv"]}
    for table, setting in FOR_GOOD.items():
        quick = table.endswith("one comes")
        yield holds(
            method, lasting | small, table, setting, HALF, quick=quick, differs=TOTAL, **cut
        )
    turned = turning(
        ((1, 2, 4, 7, 11, 16, 22, 29), hiv(1, 8), (37, 46)),
        ((1, 2, 4, 7, 11, 16, 37, 56), hiv(1, 8), (22, 46)),
        lasting=False,
    )
    for spending in STRATEGIES:
        yield holds(
            method,
            base | dict(spending) | {"grouping": "balanced"},
            "1 of 8 beside two without a value, twice; one of these has one later, one none",
            turned,
            HALF,
            quick=spending["strategy"] == "geometric",
            **cut,
        )
    yield open_(
        method,
        small | {"l": 2, "protect": "all", "grouping": "balanced"},
        "aabb--, where it is not public who has no value",
        once("aabb--", not_applicable=["-"]),
        HALF,
        differs=NOT_PUBLIC,
        **(cut | {"only": None}),
    )
    another = "for good, then another one of them, too"
    yield holds(method, lasting, f"1 of 20 {another}", INFECTED, HALF, differs=TOTAL, **cut)
    yield holds(
        method,
        lasting | small | {"l": "3/2"},
        f"1 of 36 {another}",
        INFECTED_AMONG,
        Fraction(2, 3),
        differs=TOTAL,
        **cut,
    )
    later = lasting | {"expected_later": ["hiv"]}
    yield holds(
        method, later, "none of 60, then 1 of 61 for good", LATE, HALF, differs=TOTAL, **cut
    )
    yield open_(
        method,
        later,
        "none of 80, then 1 of 81, of whom all leave who are silent with the newcomer",
        LEFT,
        HALF,
        **cut,
    )
    yield holds(
        method,
        lasting | small | {"protect": ["hiv", "flu"]},
        "one of 20 is known to have hiv for good, 2 of the others have flu",
        BOTH,
        HALF,
        differs=TOTAL,
        **(cut | {"only": ("flu",)}),
    )
    yield open_(
        method,
        lasting | {"grouping": "bottom-up"},
        "1 of 6 for good, one leaves, one comes",
        LASTING,
        HALF,
        **grown,
    )


CLOSE: Mapping[Any, Fraction] = {"a": Fraction(5, 6), "b": HALF}
RULES: tuple[tuple[Mapping[str, Any], str, Bound], ...] = (
    ({"l": 2, "diversity": "distinct"}, "aaaabb", Fraction(2, 3)),
    ({"l": "1.7", "diversity": "entropy"}, "aaabbc", Fraction(17, 20)),
    ({"l": 2, "diversity": "recursive", "c": 2}, "aaabbcc", Fraction(2, 3)),
    ({"t": "1/6"}, "aaaabb", CLOSE),
    ({"t": "1/6", "distance": "ordered"}, "aaaabb", CLOSE),
)
OF_EIGHT: Mapping[Any, Fraction] = {"a": Fraction(19, 24), "b": Fraction(13, 24)}
EVENLY = tuple(
    (rule, "aaaaabbb", OF_EIGHT) if "t" in rule else (rule, table, bound)
    for rule, table, bound in RULES
)
"""Tables that balanced cuts deal out as one part."""


def mondrian() -> Iterable[Case]:
    on = {
        "how": "enumerated",
        "folds": {"deal": as_they_stand},
    }  # of strict cuts, and of balanced ones of a table that is dealt out as one part
    off = {"how": "repeated"}
    strict, even = {"k": 2, "cuts": "strict"}, {"k": 2, "cuts": "balanced"}
    yield holds(
        "mondrian",
        {"k": 2},
        "aabbcc: boxes, without their values",
        once("aabbcc"),
        ONE_OF_SIX,
        look=without_values,
        quick=True,
        **on,
    )
    for cuts, claim in ((even, holds), (strict, open_)):
        yield claim(
            "mondrian",
            cuts | {"l": 2},
            "aabbcc, and two without a value",
            beside_none("aabbcc", 2),
            HALF,
            how="enumerated",
            folds={"deal": as_they_stand},
            only=tuple("abc"),
            quick=cuts is even,
        )
    yield open_(
        "mondrian",
        even | {"l": 2},
        "aabb--, where it is not public who has no value",
        once("aabb--", not_applicable=["-"]),
        HALF,
        how="enumerated",
        folds={"deal": as_they_stand},
        differs=NOT_PUBLIC,
    )
    for table in ("aabbcc", "aabbcd", "aaabbbcc", "aaabbccd"):
        yield holds(
            "mondrian", even | {"l": 2}, table, once(table), HALF, quick=table == "aabbcc", **on
        )
    for table in ("aabbcc", "aaabbccd"):
        yield holds(
            "mondrian",
            even | {"l": 2},
            f"{table}, two QI",
            once(table, quasi=TWO_QI[: len(table)]),
            HALF,
            **on,
        )
    for table, quasi, coins in (
        ("aabb, three of them equal", [(1,), (1,), (1,), (2,)], {"deal": whole}),
        ("aabbcc, two QI", TWO_QI[:6], {"deal": as_they_stand}),
    ):
        yield holds(
            "mondrian",
            even | {"l": 2},
            f"{table}, with weights that name each group's members",
            once(table.split(",")[0], quasi=quasi, weight="w"),
            HALF,
            how="enumerated",
            folds=coins,
            quick=table.startswith("aabbcc"),
        )
    yield holds("mondrian", even | {"l": 2}, "all of {a, b, c}^6", anything("abc", 6), HALF, **on)
    yield holds(
        "mondrian", even | {"l": 2, "min_width": {"q0": 5}}, "aabbcc", once("aabbcc"), HALF, **on
    )
    yield holds(
        "mondrian",
        even | {"l": 2},
        "aaabbcc (dealt out as 4 and 3)",
        once("aaabbcc"),
        HALF,
        how="sampled",
        runs=1500,
    )
    for rule, table, bound in EVENLY:
        values = "aaabbbcc" if "c" in rule else table
        yield holds("mondrian", even | dict(rule), values, once(values), bound, **on)
        if rule.get("diversity") in ("entropy", "recursive"):
            yield holds(
                "mondrian", even | dict(rule), "all of {a, b, c}^6", anything("abc", 6), bound, **on
            )
    for table in ("aabbcc", "aabbcd", "aaabbcc"):
        yield open_(
            "mondrian", strict | {"l": 2}, table, once(table), HALF, quick=table == "aabbcc", **on
        )
    yield open_(
        "mondrian",
        strict | {"l": 2},
        "aabbcc, two QI",
        once("aabbcc", quasi=TWO_QI[:6]),
        HALF,
        **on,
    )
    yield open_("mondrian", strict | {"l": 2}, "all of {a, b, c}^6", anything("abc", 6), HALF, **on)
    yield open_(
        "mondrian", strict | {"l": 2, "min_width": {"q0": 5}}, "aabbcc", once("aabbcc"), HALF, **on
    )
    for rule, table, bound in RULES:
        yield open_("mondrian", strict | dict(rule), table, once(table), bound, **on)
    for table in ("aabbcc", "aaabbcc"):
        yield open_(
            "mondrian", strict | {"l": 2, "cut_at": "median"}, table, once(table), HALF, **on
        )
    yield open_(
        "mondrian",
        strict | {"l": 2, "cut_at": "least-width"},
        "aaabbbcc, two QI",
        once("aaabbbcc", quasi=TWO_QI),
        HALF,
        **on,
    )
    yield holds(
        "mondrian", strict | {"k": 3, "l": 3}, "aabbcc", once("aabbcc"), THIRD, differs=LUCKY, **on
    )
    ties = once("aabbcc", quasi=[(1,), (1,), (2,), (2,), (3,), (3,)])
    relaxed = {"k": 2, "l": 2, "cuts": "relaxed"}
    yield open_(
        "mondrian", relaxed, "aabbcc, ages 1 1 2 2 3 3", ties, HALF, how="sampled", runs=1500
    )
    yield open_("mondrian", relaxed, "aaabbcc", once("aaabbcc"), HALF, **off)
    yield open_(
        "mondrian", relaxed, "aaabbbcc, two QI", once("aaabbbcc", quasi=TWO_QI), HALF, **off
    )
    yield from homes()


def homes() -> Iterable[Case]:
    """Couples: whether one of the two has a value is bounded, also where both have the same."""
    on = {"how": "enumerated", "folds": {"deal": as_they_stand}}
    even = {"k": 2, "l": 2, "cuts": "balanced"}
    shared = [tuple(v for v in world for _ in range(2)) for world in orders("aabbcc")]
    for values, worlds in (
        ("aabbcc, each is a couple's", shared),
        ("aabbccdd, of four couples", orders("aabbccdd")),
        ("all of {a, b, c}^8, of four couples", list(product("abc", repeat=8))),
    ):
        yield holds(
            "mondrian",
            even,
            values,
            households(worlds, 2, cluster="home"),
            HALF,
            quick=worlds is shared,
            **on,
        )
    yield holds(
        "mondrian",
        even,
        "aabbcc, each is a couple's, with weights that name each group's members",
        households(shared, 2, cluster="home", weight="w"),
        HALF,
        quick=True,
        **on,
    )
    yield open_(
        "mondrian",
        even | {"k": 3},
        "aabbcc, each is a couple's, as persons",
        households(shared, 2),
        HALF,
        differs="it is asked about households, and no cluster is declared",
        quick=True,
        **on,
    )


def slicing() -> Iterable[Case]:
    yield from dealt_buckets()
    on = {"how": "enumerated"}
    cuts = {"l": 2, "grouping": "mondrian", "columns": AGE}
    for check in ("exact", "local"):
        yield open_(
            "slicing",
            cuts | {"check": check},
            "aabbcc",
            once("aabbcc"),
            HALF,
            quick=check == "exact",
            **on,
        )
    yield open_("slicing", cuts, "aaabbcc", once("aaabbcc"), HALF, **on)
    even = {"how": "enumerated", "folds": {"deal": as_they_stand}}
    for table in ("aabbcc", "aaabbbcc"):
        yield holds("slicing", cuts | {"cuts": "balanced"}, table, once(table), HALF, **even)
    yield holds(
        "slicing",
        cuts | {"cuts": "balanced"},
        "all of {a, b, c}^6",
        anything("abc", 6),
        HALF,
        **even,
    )
    alone = {"l": 2, "columns": 2, "sensitive_column_size": 1}
    yield holds(
        "slicing",
        alone,
        "aabbcc, two QI, the value alone",
        once("aabbcc", quasi=TWO_QI[:6]),
        HALF,
        **even,
    )
    for rule, table, bound in EVENLY:
        if "t" in rule:
            yield holds(
                "slicing",
                cuts | {"l": 1, "cuts": "balanced"} | dict(rule),
                table,
                once(table),
                bound,
                **even,
            )
    pairs = [(age, sex) for age, sex in zip((1, 2, 4, 7, 11, 16), "mfmfmf", strict=True)]
    wide = cuts | {"columns": [["q0", "q1"], ["sick"]]}
    for given in (wide, wide | {"generalize_columns_k": 2}):
        yield open_(
            "slicing",
            given,
            "aabbcc, two QI in one column",
            once("aabbcc", quasi=pairs),
            HALF,
            **on,
        )
    alike = [(age, "m") for age in (1, 2, 4, 7, 11, 16, 22)]
    yield open_(
        "slicing",
        cuts | {"columns": BESIDE},
        "aaabbcc, one QI beside the value",
        once("aaabbcc", quasi=alike),
        HALF,
        **on,
    )
    ties = [(1, 1), (1, 2), (2, 1), (2, 1), (3, 2)]
    for check in ("exact", "local"):
        given = cuts | {"columns": [["q0"], ["q1"], ["sick"]], "cuts": "relaxed", "check": check}
        yield open_("slicing", given, "aabcd, equal ages", once("aabcd", quasi=ties), HALF)
    for rule, table, bound in RULES:
        if rule.get("diversity") != "entropy":
            yield open_(
                "slicing",
                cuts | ({} if "l" in rule else {"l": 1}) | dict(rule),
                table,
                once(table),
                bound,
                **on,
            )


BESIDE = [["q0"], ["q1", "sick"]]


def dealt_buckets() -> Iterable[Case]:
    """Slicing whose buckets are dealt out, or follow from how often values stand."""
    at_random = {"l": 2, "columns": AGE, "grouping": "random", "bucket_size": 2}
    yield holds(
        "slicing", at_random, "aabbc", once("aabbc"), HALF, folds={"deal": dealt(2)}, quick=True
    )
    yield holds("slicing", at_random, "aabbcc", once("aabbcc"), HALF, folds={"deal": dealt(3)})
    yield holds(
        "slicing",
        at_random,
        "aabbc, and two without a value",
        beside_none("aabbc", 2),
        HALF,
        folds={"deal": dealt(2)},
        only=tuple("abc"),
    )
    yield holds(
        "slicing",
        at_random,
        "all of {a, b, c}^4",
        anything("abc", 4),
        HALF,
        folds={"deal": dealt(2)},
    )
    yield holds(
        "slicing",
        at_random | {"compact": True},
        "aabbc",
        once("aabbc"),
        HALF,
        folds={"deal": dealt(2)},
    )
    three = once("aabbcc", quasi=[(1, 1, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1), (0, 0, 0), (0, 1, 1)])
    for given, claim in (
        ({"columns": [["q0", "q1"], ["q2", "sick"]]}, holds),
        ({"columns": 2, "workload": [["q1", "q2"], ["q0", "sick"]]}, holds),
        ({"columns": 3, "workload": [["q0", "q2"]]}, holds),
        ({"columns": 2}, open_),
        ({"columns": 2, "bins": 2}, open_),
        ({"columns": 2, "bins": {"q0": 2}}, open_),
    ):
        yield claim(
            "slicing",
            at_random | given | {"bucket_size": 6},
            "aabbcc, three QI",
            three,
            HALF,
            folds={"deal": dealt(1)},
        )
    suppressed_rows = at_random | {"not_eligible": "suppress"}
    yield open_(
        "slicing",
        suppressed_rows,
        "aaab",
        once("aaab"),
        HALF,
        how="sampled",
        runs=600,
        differs=COVERED,
    )
    member = {"l": 2, "columns": AGE, "grouping": "membership", "bucket_size": 2}
    on = {"folds": {"deal": by_value}}
    for table in ("aabbc", "aaabbc", "aabbcc"):
        yield holds("slicing", member, table, once(table), HALF, quick=table == "aabbc", **on)
    yield holds("slicing", member | {"bucket_size": 3}, "aaabbc", once("aaabbc"), HALF, **on)
    yield holds("slicing", member | {"l": 3}, "aabbcd", once("aabbcd"), THIRD, **on)
    yield holds("slicing", member, "all of {a, b, c}^5", anything("abc", 5), HALF, **on)
    sexes = [(age, sex) for age, sex in zip((1, 2, 4, 7, 11, 16), "mfmmff", strict=True)]
    yield holds(
        "slicing",
        member | {"columns": BESIDE},
        "aabbcc, one QI beside the value",
        once("aabbcc", quasi=sexes),
        HALF,
        **on,
    )


FAR = {"1": {"2": 1, "4": 3}, "2": {"4": 1}}


def mutual_cover() -> Iterable[Case]:
    """Where all values differ, a person's value is a row, and the bound is delta: no tuple is more
    than that of a published value.
    """
    alone = {"how": "sampled", "runs": 1500}
    half = {"delta": "1/2"}
    least = half | {"outputs": "least-cost"}  # few outputs, so that what they tell is seen
    unseen_values = "aabbcc: rows, without their values"
    yield holds(
        "mutual-cover",
        half,
        unseen_values,
        once("aabbcc"),
        ONE_OF_SIX,
        look=without_values,
        differs=UNSEEN,
        **alone,
    )
    abc = "abc: whose row is whose"
    for more in (
        {"grouping": "cost"},
        {"grouping": "mondrian"},
        {"outputs": "least-cost"},
        {"k": 3, "keep_tables": True},
        {"outputs": "least-cost", "distances": {"q0": "l1"}},
        {"outputs": "least-cost", "distances": {"q0": "equal"}},
        {"outputs": "least-cost", "distances": {"q0": FAR}},
    ):
        yield open_("mutual-cover", half | more, abc, once("abc"), HALF, **alone)
    yield open_(
        "mutual-cover",
        least | {"distances": {"q0": "hierarchy"}},
        "abc, towns: whose row is whose",
        in_towns("abc"),
        HALF,
        **alone,
    )
    yield open_(
        "mutual-cover",
        least | {"bounds": {"informed": "1/2"}},
        "abc, two QI: whose row is whose",
        once("abc", quasi=TWO_QI[:3]),
        HALF,
        **alone,
    )
    yield open_(
        "mutual-cover",
        half,
        "abc, and three without a value: whose row is whose, by the rows with one",
        beside_none("abc", 3),
        HALF,
        only=tuple("abc"),
        look=of_the_valued,
        **alone,
    )
    bounded, table = least | {"bounds": {"omniscient": "1/4"}}, "abcd, two QI: whose row is whose"
    yield holds(
        "mutual-cover",
        bounded,
        table,
        once("abcd", quasi=TWO_QI[:4]),
        HALF,
        **(alone | {"runs": 600, "differs": ALIKE}),
    )
    yield open_(
        "mutual-cover",
        least | {"changes": 2},
        "abbb, two QI: whose row has the a",
        once("abbb", quasi=TWO_QI[:4]),
        HALF,
        only=("a",),
        **alone,
    )


LINES: Mapping[str, Callable[[], Iterable[Case]]] = {
    "anatomy": anatomy,
    "m-invariance": m_invariance,
    "global-guarantee": global_guarantee,
    "mondrian": mondrian,
    "slicing": slicing,
    "mutual-cover": mutual_cover,
}
CASES: tuple[Case, ...] = tuple(
    case
    for method, lines in LINES.items()
    for case in (*lines(), *of_quasi_identifiers(method, hiv(2, 8)))
)
