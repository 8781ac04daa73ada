# SPDX-License-Identifier: Apache-2.0
"""The learning adversary: a slow twin, what it must never look at, and that it learns what is there
to be learned and nothing else.
"""

from dataclasses import dataclass, replace
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from adversaries.groups.test_posterior import (
    COLUMNS,
    QUASI,
    agrees,
    attack,
    encoded,
    published,
    slow_hosts,
    small,
)
from naive import learning as naive
from phalanx.adversaries import Posterior
from phalanx.adversaries.groups import hosts as hosting
from phalanx.adversaries.groups import learning
from phalanx.adversaries.groups.hosts import Hosts
from phalanx.adversaries.groups.learning import learned
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import ReleaseError
from phalanx.release.evidence.evidence import Evidence

LEARNING = Posterior(by="learning")


@given(small())
@settings(max_examples=100, deadline=None)
def test_everybody_has_the_twins_probabilities(case):
    """What it finds in small releases of every form is what the slow twin does, who has a
    dictionary for everybody.
    """
    kind, rows, buckets, columns = case
    hosts, groups = slow_hosts(kind, rows, buckets, columns)
    expected = [naive.by_value(p) for p in naive.learned([row[:-1] for row in rows], hosts, groups)]

    microdata = encoded(rows)
    found = Hosts.of(published(kind, microdata, buckets, columns), microdata)
    p = as_table(found)[found.of_person]
    values = found.groups.values.to_list()
    for row, of_twin in zip(p, expected, strict=True):
        assert row.sum() == pytest.approx(1)
        assert row.tolist() == pytest.approx(
            [of_twin.get(value, 0) for value in values], rel=1e-6, abs=1e-9
        )


def as_table(hosts):
    """What is learned of every tuple and value, shape (tuples, values)."""
    table = np.zeros((len(hosts.codes), len(hosts.groups.values)))
    for tuples, at, value, p in learned(hosts):
        table[tuples][at, value] = p
    return table


def people(n, seed, *, told=0.8, ages=500):
    """Rows whose s of four values is told by b and c with chance ``told``, and a tells nothing."""
    rng = np.random.default_rng(seed)
    b, c, a = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.integers(0, ages, n)
    s = np.where(rng.random(n) < told, 2 * b + c, rng.integers(0, 4, n))
    return [(int(i), "xy"[j], "mn"[k], "stuv"[v]) for i, j, k, v in zip(a, b, c, s, strict=True)]


def in_pairs(rows, seed):
    """Rows in buckets of two different values, any two, as anatomy might have them; rows that are
    left over are dropped.
    """
    rng = np.random.default_rng(seed)
    left = [
        rng.permutation([i for i, row in enumerate(rows) if row[-1] == v]).tolist() for v in "stuv"
    ]
    kept = []
    while sum(map(bool, left)) > 1:
        sizes = np.array([len(some) for some in left])
        kept += [left[v].pop() for v in rng.choice(4, 2, replace=False, p=sizes / sizes.sum())]
    return [rows[i] for i in kept], np.repeat(np.arange(len(kept) // 2), 2)


@pytest.mark.parametrize("kind", ["bucketized", "sliced"])
def test_it_learns_what_is_there(kind):
    """Where quasi-identifiers tell values, buckets of two different values, with which the law is
    right every other time, hide few of them.
    """
    rows, buckets = in_pairs(people(2000, 3), 3)
    by_law, by_learning = (
        attack(kind, rows, buckets, adversary, columns=(tuple(QUASI), ("s",)))
        for adversary in (Posterior(), LEARNING)
    )

    assert by_learning.interval[0] > 0.75 > 0.7 > by_law.interval[1]
    assert by_learning.above_success > 0.75


def test_there_is_nothing_to_learn_from_chance():
    """Where quasi-identifiers tell nothing, it is right as often as the law, whatever it believes;
    and where all buckets hold the same, it believes the law.
    """
    rows, buckets = in_pairs(people(8000, 4, told=0), 4)
    found = attack("bucketized", rows, buckets, LEARNING, columns=(tuple(QUASI), ("s",)))
    assert found.interval[0] < 0.52
    assert found.success < 0.53

    rows = [
        row
        for one in zip(
            *([row for row in people(2000, 4) if row[-1] == v][:300] for v in "stuv"), strict=True
        )
        for row in one
    ]
    found = attack("bucketized", rows, np.repeat(np.arange(300), 4), LEARNING)
    assert found.largest == pytest.approx(1 / 4)


@dataclass(frozen=True)
class Peeking(Posterior):
    """A wrong adversary, which names everybody's value in the original table."""

    def attack(self, releases, evidence):
        found = super().attack(releases, evidence)
        true = evidence.microdata[1].sensitive
        return replace(
            found,
            per_person=found.per_person.with_columns(guess=true.domain.values.gather(true.codes)),
        )


def blind(adversary):
    """Whether it says the same of everybody when the original's sensitive values are dealt out
    anew.
    """
    rows, buckets = in_pairs(people(400, 5), 5)
    release = published("bucketized", encoded(rows), buckets)
    others = [
        (*row[:-1], s)
        for row, s in zip(
            rows,
            np.random.default_rng(6).permutation([row[-1] for row in rows]).tolist(),
            strict=True,
        )
    ]
    found, again = (
        adversary.attack([release], Evidence(microdata={1: encoded(some)}))
        for some in (rows, others)
    )
    assert found.success != again.success
    return found.per_person["guess", "probability", "candidates"].equals(
        again.per_person["guess", "probability", "candidates"]
    )


@pytest.mark.parametrize("by", ["law", "learning"])
def test_true_values_only_tell_how_often_it_is_right(by):
    """Whoever has which value in the original table, it believes the same of everybody; one who
    peeks is found out.
    """
    assert blind(Posterior(by=by))
    assert not blind(Peeking(by=by))


def test_what_it_believes_fits_what_is_published():
    """Added up over everybody in a group, it believes in as many persons with each value as the
    group holds, up to a twentieth of a person.
    """
    rows, buckets = in_pairs(people(200, 7), 7)
    rows = [
        (i, *row[1:]) for i, row in enumerate(rows)
    ]  # everybody is alone with the quasi-identifiers, so that all are in one bucket
    microdata = encoded(rows)
    hosts = Hosts.of(published("bucketized", microdata, buckets), microdata)
    p = as_table(hosts)
    held = np.zeros((len(hosts.groups), p.shape[1]))
    np.add.at(held, hosts.group, p)

    assert (held > 0).sum() == len(rows)
    assert held[held > 0].tolist() == pytest.approx([1] * len(rows), abs=0.05)
    assert p.max() > 0.9


def test_many_numbers_are_learned_in_intervals(monkeypatch):
    """Of 1000 ages few persons have any, and none tells much by itself; in intervals they do."""
    rng = np.random.default_rng(8)
    rows, buckets = in_pairs(
        [(int(a), "x", "m", "stuv"[a // 250]) for a in rng.integers(0, 1000, 600)], 8
    )
    with_intervals = attack("bucketized", rows, buckets, LEARNING)
    monkeypatch.setattr(learning, "BINS", 1000)
    without = attack("bucketized", rows, buckets, LEARNING)

    assert with_intervals.success > 0.8
    assert with_intervals.success > without.interval[1]


def test_intervals_hold_about_as_many_persons():
    """Sixteen intervals, one after the other, of 100 persons each where every number is one
    person's; a frequent number is in one interval.
    """
    microdata = Microdata.encode(
        pl.DataFrame({"a": list(range(1600)), "s": ["s"] * 1600}),
        Schema(quasi=["a"], sensitive="s", types={"a": "numeric"}),
    )
    hosts = Hosts.of(published("generalized", microdata, [0] * 1600), microdata)
    feature, size = learning._feature(hosts, 0)

    assert size == 16
    assert np.bincount(feature[np.argsort(hosts.codes[:, 0])]).tolist() == [100] * 16
    assert (np.diff(feature[np.argsort(hosts.codes[:, 0])]) >= 0).all()


@pytest.mark.parametrize("kind", ["bucketized", "generalized"])
def test_what_is_too_large_is_said(monkeypatch, kind):
    """One sentence, before memory is taken."""
    monkeypatch.setattr(learning, "MOST_ENTRIES", 3)
    with pytest.raises(
        ReleaseError,
        match="leaves more than 3 pairs of tuple and value open, and the learning",
    ):
        attack(kind, [(i, "x", "m", "st"[i % 2]) for i in range(4)], [0, 0, 1, 1], LEARNING)


def test_boxes_are_not_all_found_for_what_is_too_large():
    """It refuses as soon as the boxes found so far leave too much open."""
    microdata, asked = encoded([(i, "x", "m", "st"[i % 2]) for i in range(4)]), []

    def refuse(entries):
        asked.append(entries)
        raise ReleaseError("enough.")

    with (
        mock.patch.object(hosting, "_shared", side_effect=AssertionError),
        pytest.raises(ReleaseError, match="enough"),
    ):
        Hosts.of(published("generalized", microdata, [0] * 4), microdata, refuse)

    assert asked == [8]


def test_persons_who_are_nowhere_teach_nothing():
    """Whoever fits into no bucket is left out and changes nothing; who has everybody's
    quasi-identifiers, in a release of nobody else, too.
    """
    rows, buckets = in_pairs(people(400, 9), 9)
    alone = attack("bucketized", rows, buckets, LEARNING)
    beside = attack("bucketized", rows, buckets, LEARNING, people=[*rows, (9999, "x", "m", "s")])

    assert beside.persons == alone.persons == len(rows)
    assert beside.per_person["guess"].to_list() == alone.per_person["guess"].to_list()


@pytest.mark.parametrize("by", ["law", "learning"])
def test_where_nobody_fits_there_is_nobody(by):
    """An original table of other people gives figures of nobody, and no warning."""
    rows = [(1, "x", "m", "s"), (2, "x", "m", "t")]
    found = attack("sliced", rows, [0, 0], Posterior(by=by), people=[(9, "y", "n", "s")])

    assert (
        found.persons,
        found.success,
        found.baseline,
        found.interval,
        found.largest,
        found.histogram,
    ) == (0, 0, 0, (0, 1), 0, {})


def test_a_wrong_twin_is_seen():
    """The comparison refuses the law's probabilities for those that were learned."""
    rows, buckets = in_pairs(people(60, 10, ages=30), 10)
    hosts, groups = slow_hosts("bucketized", rows, buckets.tolist(), COLUMNS)
    found = attack("bucketized", rows, buckets, LEARNING)

    agrees(
        found,
        rows,
        [naive.by_value(p) for p in naive.learned([row[:-1] for row in rows], hosts, groups)],
        1 / 2,
    )
    with pytest.raises(AssertionError):
        agrees(found, rows, [naive.by_value(p) for p in naive.law(hosts, groups)], 1 / 2)
