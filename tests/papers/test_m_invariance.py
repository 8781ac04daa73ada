# SPDX-License-Identifier: Apache-2.0
"""The worked example of Xiao & Tao (SIGMOD 2007): Tables 1 to 3."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

import polars as pl
import pytest

from phalanx.adversaries import Intersection
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.methods.base import Memory
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.forms.generalized import Generalized
from phalanx.release.manifest import PublishedAttribute

T1 = [
    ("Bob", 21, 12000, "dyspepsia"),
    ("Alice", 22, 14000, "bronchitis"),
    ("Andy", 24, 18000, "flu"),
    ("David", 23, 25000, "gastritis"),
    ("Gary", 41, 20000, "flu"),
    ("Helen", 36, 27000, "gastritis"),
    ("Jane", 37, 33000, "dyspepsia"),
    ("Ken", 40, 35000, "flu"),
    ("Linda", 43, 26000, "gastritis"),
    ("Paul", 52, 33000, "dyspepsia"),
    ("Steve", 56, 34000, "gastritis"),
]
STAY = {"Bob", "David", "Jane", "Linda", "Gary", "Steve"}
T2 = [row for row in T1 if row[0] in STAY] + [
    ("Emily", 25, 21000, "flu"),
    ("Mary", 46, 30000, "gastritis"),
    ("Ray", 54, 31000, "dyspepsia"),
    ("Tom", 60, 44000, "gastritis"),
    ("Vince", 65, 36000, "flu"),
]
GROUPS_1 = [
    ["Bob", "Alice"],
    ["Andy", "David"],
    ["Gary", "Helen"],
    ["Jane", "Ken", "Linda"],
    ["Paul", "Steve"],
]
GROUPS_2 = [
    ["Bob"],
    ["David", "Emily"],
    ["Jane", "Linda"],
    ["Gary", "Mary"],
    ["Ray", "Steve"],
    ["Tom", "Vince"],
]
COUNTERFEITS_2 = {1: "bronchitis", 3: "flu"}
DIVERSE_2 = [
    ["Bob", "David"],
    ["Emily", "Jane", "Linda"],
    ["Gary", "Mary"],
    ["Ray", "Steve"],
    ["Tom", "Vince"],
]

SCHEMA = Schema(identifier="name", quasi=["age", "zip"], sensitive="disease")
KEY = PersonKey(bytes(32))


def microdata(table):
    return Microdata.encode(
        pl.DataFrame(table, schema=["name", "age", "zip", "disease"], orient="row"), SCHEMA, KEY
    )


def key(name):
    return KEY.hash(pl.Series("name", [name]))[0]


def signatures(groups, table):
    disease = {name: d for name, _, _, d in table}
    return {name: frozenset(disease[n] for n in group) for group in groups for name in group}


def memory_of_release_1(distinct=None):
    """What a ledger would hold after the paper's T*(1), with its signatures in this order."""
    by_person = signatures(GROUPS_1, T1)
    disease = {name: d for name, _, _, d in T1}
    distinct = distinct or sorted(set(by_person.values()), key=sorted)
    entry_of = {(s, v): e for e, (s, v) in enumerate((s, v) for s in distinct for v in sorted(s))}
    table = pl.DataFrame(
        {
            "entry": list(entry_of.values()),
            "signature": [distinct.index(s) + 1 for s, _ in entry_of],
            "value": [v for _, v in entry_of],
        }
    )
    persons = pl.DataFrame(
        {
            "person": [key(n) for n in by_person],
            "entry": [entry_of[s, disease[n]] for n, s in by_person.items()],
        },
        schema={"person": pl.Binary, "entry": pl.Int32},
    )
    groups = pl.DataFrame(
        {
            "person": [key(n) for g in GROUPS_1 for n in g],
            "group": [i for i, g in enumerate(GROUPS_1, 1) for _ in g],
        }
    )
    return Memory(1, {"persons": persons, "signatures": table}, groups)


@dataclass(frozen=True)
class ByHand:
    """A release as far as an adversary sees it."""

    number: int
    form: Generalized
    groups: pl.DataFrame = field(default_factory=pl.DataFrame)
    manifest: ClassVar[Any] = SimpleNamespace(registered=0, may_suppress=[])

    @property
    def generalized(self):
        return self.form


def by_hand(number, table, groups, counterfeits=None):
    """The groups of the paper with minimum intervals."""
    rows, who = [], []
    row_of = {row[0]: row for row in table}
    for g, names in enumerate(groups, 1):
        ages, zips = [row_of[n][1] for n in names], [row_of[n][2] for n in names]
        box = (min(ages), max(ages), min(zips), max(zips))
        values = [row_of[n][3] for n in names] + (
            [counterfeits[g]] if counterfeits and g in counterfeits else []
        )
        rows += [(g, *box, v) for v in values]
        who += [(key(n), g) for n in names]
    attributes = (
        PublishedAttribute(
            name="age", role="quasi", type="numeric", columns=["age_low", "age_high"]
        ),
        PublishedAttribute(
            name="zip", role="quasi", type="numeric", columns=["zip_low", "zip_high"]
        ),
        PublishedAttribute(
            name="disease", role="sensitive", type="categorical", columns=["disease"]
        ),
    )
    table = pl.DataFrame(
        rows,
        schema=["group", "age_low", "age_high", "zip_low", "zip_high", "disease"],
        orient="row",
    )
    counts = (
        None
        if counterfeits is None
        else pl.DataFrame({"group": list(counterfeits), "count": [1] * len(counterfeits)})
    )
    return ByHand(
        number,
        Generalized(table, attributes, counts),
        pl.DataFrame(who, schema={"person": pl.Binary, "group": pl.Int64}, orient="row"),
    )


def attack(releases, view):
    tables = {1: T1, 2: T2}
    evidence = Evidence(
        groups={r.number: r.groups for r in releases},
        microdata={r.number: microdata(tables[r.number]) for r in releases},
    )
    found = Intersection(view=view).attack(releases, evidence)
    exposed = set(found.per_person.filter("exposed")["person"])
    return {name for name in {row[0] for row in T1 + T2} if key(name) in exposed}


@pytest.mark.parametrize("attempt", range(20))
def test_release_2_needs_exactly_two_counterfeits(attempt):
    """Whatever the random choices: two counterfeits, m-unique groups, and everybody who stayed
    keeps the signature of T*(1).
    """
    draft = MInvariance(m=2, balancing="paper").publish(
        microdata(T2), memory_of_release_1(), Randomness.secure()
    )

    assert draft.form.counterfeit_rows == 2, attempt
    values = dict(draft.form.table.group_by("group").agg("disease").iter_rows())
    assert all(len(v) == len(set(v)) >= 2 for v in values.values())
    before = signatures(GROUPS_1, T1)
    now = {row[0]: frozenset(values[g]) for row, g in zip(T2, draft.groups.tolist(), strict=True)}
    assert all(now[name] == before[name] for name in STAY)
    assert now["Bob"] == {"dyspepsia", "bronchitis"}


FIGURE_2 = [
    frozenset({"flu", "gastritis"}),
    frozenset({"dyspepsia", "gastritis"}),
    frozenset({"dyspepsia", "bronchitis"}),
    frozenset({"dyspepsia", "flu", "gastritis"}),
]
TABLE_3A = {
    (frozenset({"Bob"}), (21, 21), (12000, 12000), frozenset({"dyspepsia", "bronchitis"})),
    (frozenset({"David", "Emily"}), (23, 25), (21000, 25000), FIGURE_2[0]),
    (frozenset({"Jane", "Linda"}), (37, 43), (26000, 33000), FIGURE_2[3]),
    (frozenset({"Gary", "Mary"}), (41, 46), (20000, 30000), FIGURE_2[0]),
    (frozenset({"Ray", "Steve"}), (54, 56), (31000, 34000), FIGURE_2[1]),
    (frozenset({"Tom", "Vince"}), (60, 65), (36000, 44000), FIGURE_2[0]),
}
"""Persons, ages, zip codes and diseases of each group; without the least width that makes Bob's age
[21, 22] in the paper.
"""


@pytest.mark.parametrize("attempt", range(5))
def test_the_papers_release_2(attempt):
    """Table 3a, group by group, whatever is drawn: with signatures numbered as in Figure 2, since
    buckets are balanced in this order.
    """
    draft = MInvariance(m=2, balancing="paper").publish(
        microdata(T2), memory_of_release_1(FIGURE_2), Randomness.secure()
    )

    members = {}
    for (name, *_), group in zip(T2, draft.groups.tolist(), strict=True):
        members.setdefault(group, set()).add(name)
    shown = draft.form.table.group_by("group").agg(pl.exclude("disease").first(), "disease")
    ages, zips = (shown.select(f"{c}_low", f"{c}_high").rows() for c in ("age", "zip"))
    found = {
        (frozenset(members[group]), age, place, frozenset(diseases))
        for group, age, place, diseases in zip(
            shown["group"], ages, zips, shown["disease"].to_list(), strict=True
        )
    }
    assert found == TABLE_3A, attempt


def test_another_numbering_fills_another_bucket():
    """In the order of the alphabet a new flu can be spared for Jane and Linda, where Table 3a has a
    counterfeit: which place is filled is the numbering's.
    """
    draft = MInvariance(m=2, balancing="paper").publish(
        microdata(T2), memory_of_release_1(), Randomness.secure()
    )
    group = dict(zip((row[0] for row in T2), draft.groups.tolist(), strict=True))
    assert group["Jane"] == group["Linda"]
    assert group["Jane"] in {group["Emily"], group["Vince"]}


def test_never_filling_needs_one_for_every_value_that_is_short():
    """Whoever arrives takes nobody's place: as many counterfeits as values are short among those
    who stayed, and these keep their signatures.
    """
    draft = MInvariance(m=2).publish(microdata(T2), memory_of_release_1(), Randomness.secure())

    before = signatures(GROUPS_1, T1)
    values = dict(draft.form.table.group_by("group").agg("disease").iter_rows())
    now = {row[0]: frozenset(values[g]) for row, g in zip(T2, draft.groups.tolist(), strict=True)}
    assert all(now[name] == before[name] for name in STAY)
    owned = {
        s: [sum(before[n] == s and d == v for n, _, _, d in T2 if n in STAY) for v in s]
        for s in {before[n] for n in STAY}
    }
    assert draft.form.counterfeit_rows == sum(
        max(counts) * len(counts) - sum(counts) for counts in owned.values()
    )


@pytest.mark.parametrize("view", ["box", "person"])
def test_the_papers_releases_expose_nobody(view):
    """Tables 1b and 3a: no vulnerable tuple."""
    releases = [by_hand(1, T1, GROUPS_1), by_hand(2, T2, GROUPS_2, COUNTERFEITS_2)]

    assert attack(releases, view) == set()


def test_two_diverse_releases_expose_bob():
    """Tables 1b and 2b: {dyspepsia, bronchitis} and {dyspepsia, gastritis} leave Bob's
    dyspepsia.
    """
    releases = [by_hand(1, T1, GROUPS_1), by_hand(2, T2, DIVERSE_2)]

    assert "Bob" in attack(releases, "box")
    assert "Bob" in attack(releases, "person")
