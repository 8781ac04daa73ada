# SPDX-License-Identifier: Apache-2.0
"""Counting who must be in which bucket: what the maker does about it, and the check by code of its
own, on made-up tables and beside all worlds.
"""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from naive.posterior import counting as all_worlds
from phalanx.adversaries import Posterior
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.guarantees.slicing import counting as checking
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


def town_of_blocks():
    """Who may be where, as pairs of a person and a place, two of each in four; of the first two
    nobody can be with the last two, which no single person and no single place shows.
    """
    pairs = np.array([(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 2), (2, 3), (3, 2), (3, 3)])
    two = np.full(4, 2)
    return [(pairs[:, 0], two), (pairs[:, 1], two)], np.array([1, 1, 0, 1, 1, 1, 1, 1, 1])


@pytest.mark.parametrize(
    "likeliest", [lambda margins: checking.likeliest(margins)[0], counting._likeliest]
)
def test_what_only_blocks_show_to_be_0_comes_out(likeliest):
    """Scaling alone would be off by a hundredth after a hundred turns, and by a thousandth after a
    thousand.
    """
    margins, expected = town_of_blocks()

    assert likeliest(margins) == pytest.approx(expected, abs=1e-4)


def some_margins(seed):
    """What persons and column values of a small sliced table add up to."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40))
    own = rng.integers(0, 4, (n, 3))
    bucket = rng.integers(0, int(rng.integers(2, 8)), n)
    tuples, persons = np.unique(own, axis=0, return_counts=True)
    held = [set(zip(bucket.tolist(), own[:, i].tolist(), strict=True)) for i in range(3)]
    pairs = np.array(
        [
            (t, b)
            for t, values in enumerate(tuples.tolist())
            for b in range(bucket.max() + 1)
            if all((b, value) in held[i] for i, value in enumerate(values))
        ]
    )
    margins = [(pairs[:, 0], persons)]
    for i in range(3):
        keys, counts = np.unique(bucket * 4 + own[:, i], return_counts=True)
        margins.append((np.searchsorted(keys, pairs[:, 1] * 4 + tuples[pairs[:, 0], i]), counts))
    return margins


def test_what_is_likely_has_the_greatest_entropy():
    """Where margins leave a number open its logarithm is a sum of one figure of each margin, as it
    is at the greatest entropy and nowhere else; all margins are met, and the maker finds the same.
    """
    several = 0
    for seed in range(40):
        margins = some_margins(seed)
        low, high = checking.bounds(margins)
        some = low < high
        x = np.where(some, 0.0, low)
        places = [of[some] for of, _ in margins]
        rest = [t - np.bincount(of, weights=x, minlength=len(t)) for of, t in margins]
        x[some], off = checking.likeliest(list(zip(places, rest, strict=True)))
        if not some.any() or off > 1e-6 or x[some].min() < 1e-3:
            continue
        of_margins = np.concatenate([of[:, None] == np.unique(of) for of in places], axis=1)
        figures = np.linalg.lstsq(of_margins.astype(np.float64), np.log(x[some]))[0]
        several += 1

        assert of_margins @ figures == pytest.approx(np.log(x[some]), abs=1e-4)
        for of, total in margins:
            assert np.bincount(of, weights=x, minlength=len(total)) == pytest.approx(
                total, rel=1e-5
            )
        assert counting._likeliest(margins) == pytest.approx(x, abs=1e-4)
    assert several > 10


def test_what_did_not_settle_is_said(monkeypatch):
    """By the check and by the adversary, and only then."""
    fakes = with_fakes()
    about = fakes.release, (), fakes.original
    settled = (
        SlicedCounting(l=2).check(*about)[0],
        Posterior().attack(fakes.release, fakes.original),
    )
    monkeypatch.setattr(checking, "_NEAR", -1.0)
    (verdict,), found = (
        SlicedCounting(l=2).check(*about),
        Posterior().attack(fakes.release, fakes.original),
    )

    assert not any("did not settle" in one.note for one in settled)
    assert "did not settle: its numbers are off by up to" in verdict.note
    assert "did not settle" in found.note


def test_what_no_world_gives_is_no_promise_kept():
    """Bounds that exclude each other show that the table is another one: its first bucket, of one
    row, would hold a tuple that no row has. By all worlds there is none.
    """
    columns, buckets = (("a",), ("b", "s")), [0, 1, 1, 1, 1, 1]
    kinds = [("a0", "b1")] + [("a0", "b0")] * 2 + [("a2", "b0")] + [("a2", "b1")] * 2
    own = ["s0", "s1", "s2", "s1", "s0", "s0"]
    rows = [{"a": a, "b": b, "s": s} for (a, b), s in zip(kinds, own, strict=True)]
    case = publish(rows, columns, buckets)
    (honest,) = SlicedCounting(l="6/5").check(case.release, (), case.original)
    assert honest.worst is not None
    swapped = [row | {"b": b} for row, b in zip(rows, ["b0"] * 3 + ["b1"] * 3, strict=True)]
    other = publish(swapped, columns, buckets)
    assert all_worlds(other.tuples, columns, case.buckets, "s") == [{}] * 6
    (found,) = SlicedCounting(l="6/5").check(case.release, (), other.original)
    assert (found.holds, found.worst) == (False, None) and "no way to put the rows" in found.note


def test_a_row_that_is_in_no_bucket_is_told():
    """As a fault of the release, so that all other checks are told, too."""
    rows = [{"a": 1, "s": "flu"}, {"a": 2, "s": "flu"}, {"a": 3, "s": "gout"}]
    case = publish(rows, (("a",), ("s",)), [0, 0, 0])
    other = publish([*rows[:2], {"a": 4, "s": "gout"}], (("a",), ("s",)), [0, 0, 0])
    (found,) = SlicedCounting(l=2).check(case.release, (), other.original)
    assert (found.holds, found.worst) == (False, None) and "match no bucket" in found.note
    nowhere = publish([row | {"a": row["a"] + 9} for row in rows], (("a",), ("s",)), [0, 0, 0])
    (found,) = SlicedCounting(l=2).check(case.release, (), nowhere.original)
    assert (found.holds, found.worst) == (False, None) and "match no bucket" in found.note


def test_what_bounds_settle_is_no_estimate():
    """And is not called one."""
    rows = [{"a": 1, "s": "flu"}, {"a": 2, "s": "flu"}, {"a": 3, "s": "gout"}]
    case = publish(rows, (("a",), ("s",)), [0, 0, 0])
    (settled,) = SlicedCounting(l=2).check(case.release, (), case.original)
    assert "estimated" not in settled.note


def test_what_they_leave_open_is_called_an_estimate():
    """Beside its figure."""
    kinds = [(0, 1, "gout"), (0, 0, "flu"), (1, 1, "gout"), (0, 1, "gout")]
    kinds += [(0, 1, "rash"), (0, 0, "rash"), (1, 0, "gout"), (1, 0, "gout")]
    rows = [{"a": a, "b": b, "s": s} for a, b, s in kinds]
    case = publish(rows, (("a",), ("b",), ("s",)), [1, 1, 1, 0, 0, 1, 0, 0])
    (likely,) = SlicedCounting(l=2).check(case.release, (), case.original)
    assert likely.note.endswith("4 different tuples, and estimated where that is open")
