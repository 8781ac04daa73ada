# SPDX-License-Identifier: Apache-2.0
"""The adversary that asks why a counterfeit was needed: certain where places are filled as in the
paper, and no better than 1/m where none is.
"""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx.adversaries import Counterfeits
from phalanx.adversaries.base import trials, wilson
from phalanx.adversaries.series import counterfeits
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import ReleaseError
from phalanx.methods.base import Memory
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.forms.generalized import Generalized

KEY = PersonKey(bytes(32))
SCHEMA = Schema(identifier="who", quasi=["age"], sensitive="ill")
SURE = 5.2
"""So many standard errors off the bound is a false alarm once in ten million."""


@dataclass(frozen=True)
class Shown:
    number: int
    form: Generalized
    manifest: Any

    @property
    def generalized(self):
        return self.form


def published(tables, **parameters):
    """Releases of tables with the columns who, age, ill, one after the other, and all the
    evidence.
    """
    method, memory = MInvariance(**parameters), Memory()
    releases, groups, microdata = [], {}, {}
    for number, frame in enumerate(tables, 1):
        microdata[number] = Microdata.encode(frame, SCHEMA, KEY)
        draft = method.publish(microdata[number], memory, Randomness.secure())
        groups[number] = pl.DataFrame({"person": microdata[number].persons, "group": draft.groups})
        memory = memory.after(draft, draft.mapping(microdata[number]))
        releases.append(
            Shown(number, draft.form, SimpleNamespace(method=method.parameters(), parts=None))
        )
    return releases, Evidence(groups=groups, microdata=microdata)


def table(rows):
    return pl.DataFrame(rows, schema=["who", "age", "ill"], orient="row")


BOB = [
    table([("bob", 20, "hiv"), ("ann", 21, "ulcer")]),
    table(
        [("bob", 20, "hiv"), *((f"n{i}", 30 + i, ("hiv", "flu", "cold")[i % 3]) for i in range(9))]
    ),
]


@pytest.mark.parametrize(("ill", "counterfeits"), [("hiv", 1), ("ulcer", 0)])
def test_the_papers_filling_tells_what_bob_has(ill, counterfeits):
    """A counterfeit is needed if the ulcer is short, which nobody new has; the adversary names it,
    and who stays and who left.
    """
    swapped = {"hiv": "ulcer", "ulcer": "hiv"}
    before = table([("bob", 20, ill), ("ann", 21, swapped[ill])])
    after = table([("bob", 20, ill), *BOB[1].rows()[1:]])
    found = Counterfeits().attack(*published([before, after], m=2, balancing="paper"))
    assert (found.groups, found.named, found.named_rightly) == (
        counterfeits,
        counterfeits,
        counterfeits,
    )
    assert found.exposed == found.above == found.certain == 2 * counterfeits
    assert found.named_baseline == (0.5 if counterfeits else None)


def series(rng, m):
    """Five releases of made-up persons who come, leave and return, whatever they have; newcomers
    are m-eligible.
    """
    n, values = 300, "abcdefgh"
    while True:
        ill = rng.choice(list(values), n, p=(0.26, 0.2, 0.15, 0.12, 0.1, 0.07, 0.06, 0.04))
        arrives = np.sort(rng.integers(0, 5, n))
        counts = [np.unique(ill[arrives == j], return_counts=True)[1] for j in range(5)]
        if all(m * c.max() <= c.sum() for c in counts):
            break
    age = rng.integers(18, 90, n)
    there = [(arrives == j) | (arrives < j) & (rng.random(n) < 0.6) for j in range(5)]
    return [
        table([(int(i), int(age[i]), str(ill[i])) for i in np.flatnonzero(now)]) for now in there
    ]


def attacks(balancing, m, runs):
    rng = np.random.default_rng(13)
    return [
        Counterfeits().attack(*published(series(rng, m), m=m, balancing=balancing))
        for _ in range(runs)
    ]


def off(hits, tries, bound):
    """How many standard errors hits are above the bound times tries, run by run: those of one run
    hang together.
    """
    difference = np.array(hits) - bound * np.array(tries)
    return float(difference.sum() / max(np.sqrt((difference**2).sum()), 1e-9))


@pytest.mark.parametrize("m", [2, 3])
def test_never_filling_leaves_it_no_better_than_the_bound(m):
    """Over many made-up series it names what it would by picking at random, and whoever it is
    certain about it gets right no more often than 1/m.
    """
    found = attacks("exact", m, runs=40)
    named = [a.named for a in found]
    assert sum(named) > 100 and sum(a.certain for a in found) > 100
    by_chance = sum(a.named * (a.named_baseline or 0) for a in found) / sum(named)
    assert abs(off([a.named_rightly for a in found], named, by_chance)) < SURE
    assert off([a.exposed for a in found], [a.certain for a in found], 1 / m) < SURE
    alarms = [not a.by_luck for a in found if a.exposed]
    assert len(alarms) > 10 and sum(alarms) <= 8  # of 40, by chance one in forty each


def test_the_papers_filling_exposes_many():
    """The same series, filled as in the paper: whoever it is certain about it gets right far more
    often than one in two.
    """
    found = attacks("paper", 2, runs=40)
    certain, exposed = (sum(getattr(a, key) for a in found) for key in ("certain", "exposed"))
    assert certain > 100 and exposed / certain > 0.9
    assert off([a.exposed for a in found], [a.certain for a in found], 1 / 2) > 3


def test_a_chain_of_persons_is_one_trial():
    """By hand: ten persons of one signature, certain together and right, are one throw of a coin;
    of two signatures with five each they are two.
    """
    assert [trials(np.array(of)) for of in ([7] * 10, [1, 2] * 5, [1, 1, 1, 2], [])] == [1, 2, 1, 0]
    found = Counterfeits().attack(*published(BOB, m=2, balancing="paper"))
    assert (found.certain, found.exposed) == (2, 2)
    assert found.certain_interval == found.named_interval == wilson(1.0, 1)
    assert found.by_luck.startswith("It takes 2 of 11 persons for certain and is right about 2 of")
    assert replace(found, certain_interval=wilson(1.0, 10)).by_luck == ""


def test_the_json_has_the_keys_of_every_attack_and_its_own():
    """Stable keys, intervals as two numbers."""
    keys = Counterfeits().attack(*published(BOB, m=2, balancing="paper")).to_json()
    assert {
        "adversary",
        "knows",
        "persons",
        "exposed",
        "success",
        "baseline",
        "candidates",
        "note",
    } < keys.keys()
    assert keys["named"] == keys["named_rightly"] == 1 and keys["named_interval"][1] == 1
    assert keys["above"] == keys["certain"] == 2 and keys["bound"] == "1/2"


def test_what_it_lacks_is_said():
    """No mapping, no table, another method: one sentence each."""
    releases, evidence = published(BOB, m=2)
    with pytest.raises(ReleaseError, match="mapping"):
        Counterfeits().attack(releases, Evidence(microdata=evidence.microdata))
    with pytest.raises(ReleaseError, match="original table"):
        Counterfeits().attack(releases, Evidence(groups=evidence.groups))
    other = [
        Shown(r.number, r.form, SimpleNamespace(method={"name": "mondrian"}, parts=None))
        for r in releases
    ]
    with pytest.raises(ReleaseError, match="m-invariance"):
        Counterfeits().attack(other, evidence)


def test_more_than_it_can_hold_is_said(monkeypatch):
    """Eleven persons, whose sets take a word each, and not where it can hold ten."""
    releases, evidence = published(BOB, m=2)
    monkeypatch.setattr(counterfeits, "_MOST", 11)
    assert Counterfeits().attack(releases, evidence).persons == 11
    monkeypatch.setattr(counterfeits, "_MOST", 10)
    with pytest.raises(ReleaseError, match="4 values that 11 persons may have, which is more than"):
        Counterfeits().attack(releases, evidence)
