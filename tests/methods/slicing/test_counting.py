# SPDX-License-Identifier: Apache-2.0
"""Counting who must be in which bucket: what the maker does about it, and the check by code of its
own, on made-up tables and beside all worlds.
"""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from naive.posterior import counting as all_worlds
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.guarantees.slicing.counting import SlicedCounting
from phalanx.guarantees.slicing.guarantee import SlicedDiversity
from phalanx.methods.base import Memory
from phalanx.methods.mondrian.kernels.cutting import RELAXED
from phalanx.methods.slicing import counting, cuts
from phalanx.methods.slicing.method import Slicing
from phalanx.methods.slicing.tuples import Coded
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from support.sliced_cases import publish, released, with_fakes

COLUMNS = (("age",), ("town",), ("job", "illness"))


def survey(seed, n=150):
    """Persons whose age and illness go with their job."""
    rng = np.random.default_rng(seed)
    job, town = rng.integers(0, 4, n), rng.integers(0, 3, n)
    age, illness = (
        2 * job + rng.integers(0, 6, n),
        (job + rng.choice(4, n, p=[0.45, 0.25, 0.2, 0.1])) % 5,
    )
    frame = pl.DataFrame(
        {
            "age": age,
            "town": [f"t{i}" for i in town],
            "job": [f"j{i}" for i in job],
            "illness": [f"i{i}" for i in illness],
        }
    )
    return Microdata.encode(
        frame, Schema(quasi=["age", "town", "job"], sensitive="illness", types={"age": "numeric"})
    )


def verdicts(microdata):
    """What a relaxed slice keeps: p(t, s) by shares and rows, and counted."""
    form = (
        Slicing(l=2, columns=COLUMNS, cuts="relaxed")
        .publish(microdata, Memory(), Randomness.seeded(1))
        .form
    )
    about = released(form), (), Evidence(microdata={1: microdata})
    return SlicedDiversity(l=2).check(*about)[0], SlicedCounting(l=2).check(*about)[0]


@pytest.mark.parametrize("seed", [0, 4, 9, 10])
def test_what_leans_on_others_is_counted(seed, monkeypatch):
    """Both checks hold; made without counting (broken twin), p(t, s) keeps the bound and counting
    finds somebody far above it. Cuts through the rows at medians at once make buckets that lean.
    """
    monkeypatch.setattr(cuts, "RELAXEDLY", cuts.Way(RELAXED, 0))
    microdata = survey(seed)
    assert all(verdict.holds for verdict in verdicts(microdata))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            cuts, "above", lambda coded, *_: np.zeros(coded.distinct.shape[1], dtype=bool)
        )
        by_share, counted = verdicts(microdata)

    assert by_share.holds
    assert not counted.holds
    assert counted.worst > Fraction(11, 20)


def worlds_above(case, l):
    """The tuples that match a bucket above 1/l and are above it in the mean of all worlds."""
    found = set()
    for t, shares in zip(
        case.tuples, all_worlds(case.tuples, case.columns, case.buckets, "s"), strict=True
    ):
        p, alone = {}, Fraction(0)
        for b, share in shares.items():
            rows = [
                dict(zip(case.columns[-1], values, strict=True)) for values in case.buckets[b][-1]
            ]
            alike = [
                row["s"]
                for row in rows
                if all(row[name] == t[name] for name in case.columns[-1] if name != "s")
            ]
            for s in set(alike):
                part = Fraction(alike.count(s), len(alike))
                p[s], alone = p.get(s, 0) + share * part, max(alone, part)
        if max(p.values()) * l > 1 and alone * l > 1:
            found.add(tuple(t.values()))
    return found


def test_tuples_above_are_those_of_all_worlds(monkeypatch):
    """Where the sensitive attribute stands alone beside one column, whoever counts all worlds finds
    the same tuples above the bound; l is between all shares.
    """
    monkeypatch.setattr(counting, "_MARGIN", 1e-6)
    several, l = 0, 1.87
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = [
            {"a": int(rng.integers(3)), "b": "xy"[rng.integers(2)], "s": "stu"[rng.integers(3)]}
            for _ in range(8)
        ]
        bucket = np.unique(rng.integers(0, 3, 8), return_inverse=True)[1]
        case = publish(rows, (("a", "b"), ("s",)), bucket)
        coded = Coded.of(case.microdata, case.columns, {})
        held = [
            {tuple(coded.values[:, i]) for i in range(8) if bucket[i] == b}
            for b in range(bucket.max() + 1)
        ]
        pairs = np.array(
            [
                (t, b)
                for t, own in enumerate(coded.distinct.T)
                for b, inside in enumerate(held)
                if tuple(own) in inside
            ]
        )

        found = counting.above(coded, bucket, *pairs.T, l)

        mine = {
            tuple(case.tuples[i].values())
            for t in np.flatnonzero(found)
            for i in range(8)
            if (coded.values[:, i] == coded.distinct[:, t]).all()
        }
        assert mine == worlds_above(case, l), seed
        several += bool(mine) and len(held) > 1
    assert several > 10


def test_what_the_files_alone_show():
    """Buckets that keep it by themselves keep it for whoever counts; others are for those who have
    the table, all of it.
    """
    case = publish(
        [{"a": i, "s": s} for i, s in enumerate(["flu", "gout"] * 2)],
        (("a",), ("s",)),
        [0, 0, 1, 1],
    )
    (alone,) = SlicedCounting(l=2).check(case.form)
    assert alone.holds and alone.worst == Fraction(1, 2)

    fakes = with_fakes()
    (files,), (beside,) = (
        SlicedCounting(l=2).check(fakes.release),
        SlicedCounting(l=2).check(fakes.release, (), fakes.original),
    )
    assert not files.holds and files.worst is None and "original table" in files.note
    assert beside.holds == (beside.worst <= Fraction(1, 2))

    more = Evidence(
        microdata={1: fakes.microdata.take(np.array([*range(fakes.microdata.rows), 0]))}
    )
    assert not SlicedCounting(l=2).check(fakes.release, (), more)[0].holds


def test_what_is_likely_is_rounded_up_to_a_millionth():
    """Two of three in one bucket have the flu, so that anybody there has it with two thirds."""
    rows = [{"a": 1, "s": "flu"}, {"a": 2, "s": "flu"}, {"a": 3, "s": "gout"}]
    case = publish(rows, (("a",), ("s",)), [0, 0, 0])
    (verdict,) = SlicedCounting(l=2).check(case.release, (), case.original)
    assert (verdict.holds, verdict.worst) == (False, Fraction(666_667, 10**6))


def test_a_half_and_a_row_is_more_than_a_half():
    """Of 20 001 rows in one bucket 10 001 have the flu: no rounding makes that one in two."""
    rows = [{"a": 1, "s": "flu"}] * 10_001 + [{"a": 1, "s": "gout"}] * 10_000
    case = publish(rows, (("a",), ("s",)), [0] * len(rows))
    (verdict,) = SlicedCounting(l=2).check(case.release, (), case.original)
    assert not verdict.holds and verdict.worst >= Fraction(10_001, 20_001)


def test_nothing_is_more_probable_than_1():
    """Where everybody of a tuple has one value, in three buckets, rounding up tells 1."""
    rows = [{"a": 1, "s": "flu"}] * 7
    case = publish(rows, (("a",), ("s",)), [0, 0, 0, 1, 1, 1, 2])
    (verdict,) = SlicedCounting(l=2).check(case.release, (), case.original)
    assert verdict.worst == 1
