# SPDX-License-Identifier: Apache-2.0
"""Promises about p(t, s) of a sliced release, against the paper's formulas in fractions."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from naive.posterior import closeness, matching_degree, posterior, recursive_ratio
from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PlanError
from phalanx.guarantees.slicing import guarantee as slicing
from phalanx.guarantees.slicing import one_by_one
from phalanx.guarantees.slicing import posterior as source
from phalanx.guarantees.slicing.guarantee import (
    SlicedCloseness,
    SlicedDistinct,
    SlicedDiversity,
    SlicedRecursive,
)
from phalanx.guarantees.views.sliced import View
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.forms.sliced import Sliced, slice_into
from support.sliced_cases import ILLNESSES, Published, by_count, generated, publish, with_fakes


@dataclass(frozen=True)
class Promise:
    """A promise as the paper would have it: a figure of p(t, .), and whether it is good enough."""

    guarantee: object
    figure: Callable
    """Of p(t, .) and the table's distribution."""
    keeps: Callable
    worst: Callable = max


def promises(rng):
    """Each promise with random parameters, so that many are just kept or just broken."""
    l, whole_l, c = (
        Fraction(int(rng.integers(10, 25)), 10),
        int(rng.integers(1, 4)),
        Fraction(int(rng.integers(1, 40)), 10),
    )
    t, order = Fraction(int(rng.integers(1, 20)), 20), ILLNESSES
    return [
        Promise(SlicedDiversity(l=l), lambda p, _: max(p.values()), lambda f: f <= 1 / l),
        Promise(SlicedDistinct(l=whole_l), lambda p, _: len(p), lambda f: f >= whole_l, min),
        Promise(
            SlicedRecursive(c=c, l=whole_l),
            lambda p, _: ratio if (ratio := recursive_ratio(p, whole_l)) is not None else math.inf,
            lambda f: f < c,
        ),
        Promise(SlicedCloseness(t=t), lambda p, q: closeness(p, q, order)[0], lambda f: f <= t),
        Promise(
            SlicedCloseness(t=t, distance="ordered"),
            lambda p, q: closeness(p, q, [v for v in order if v in q])[1],
            lambda f: f <= t,
        ),
    ]


def parts(case):
    """The distribution of every part of a bucket: (bucket, quasi-identifiers of the sensitive
    column) -> value -> share.
    """
    found = {}
    for b, sides in enumerate(case.buckets):
        rows = [dict(zip(case.columns[-1], values, strict=True)) for values in sides[-1]]
        for row in rows:
            q = tuple(row[name] for name in case.columns[-1] if name != "s")
            alike = [
                other["s"]
                for other in rows
                if tuple(other[name] for name in case.columns[-1] if name != "s") == q
            ]
            found[b, q] = {
                value: Fraction(times, len(alike)) for value, times in Counter(alike).items()
            }
    return found


def differences(seed, case=None):
    """What the verdicts say and the formulas do not: on the files alone, and beside the original
    table.
    """
    case, found = case or generated(seed), []
    table = {
        value: Fraction(times, len(case.rows))
        for value, times in Counter(row["s"] for row in case.rows).items()
    }
    single = parts(case)
    sets = {"files": case.candidates, "original": case.tuples}
    p = {
        what: [
            [posterior(t, case.columns, case.buckets, "s", by) for by in ("shares", "rows")]
            for t in tuples
        ]
        for what, tuples in sets.items()
    }
    for promise in promises(np.random.default_rng(seed)):
        local = {at: promise.figure(d, table) for at, d in single.items()}
        bad = {at for at, figure in local.items() if not promise.keeps(figure)}
        for what, evidence in (("files", None), ("original", case.original)):
            (verdict,) = promise.guarantee.check(case.release, (), evidence)
            figures = [
                promise.worst(promise.figure(one, table) for one in both) for both in p[what]
            ]
            own = [tuple(t[name] for name in case.columns[-1] if name != "s") for t in sets[what]]
            concerned = [
                figure for figure, q in zip(figures, own, strict=True) if q in {q for _, q in bad}
            ]
            if what == "files":  # these are asked to match the very bucket
                concerned = [
                    figure
                    for t, figure in zip(sets[what], figures, strict=True)
                    if any(matches_part(t, case, *at) for at in bad)
                ]
            expected = promise.worst(concerned if bad else local.values())
            kept = all(promise.keeps(figure) for figure in figures)
            told = math.inf if verdict.worst == "infinite" else verdict.worst
            if verdict.holds != kept or told != expected:
                found.append(
                    f"{what}: {promise.guarantee}: {verdict.holds} and {told}, not {kept} and"
                    f" {expected}"
                )
    return found


def matches_part(t, case, b, q):
    """Whether the tuple matches the bucket and has these quasi-identifiers of the sensitive
    column.
    """
    return (
        tuple(t[name] for name in case.columns[-1] if name != "s") == q
        and matching_degree(t, case.columns, case.buckets[b], "s") > 0
    )


def wrong(seeds):
    return {seed: found for seed in seeds if (found := differences(seed))}


def test_every_promise_is_what_the_formulas_say():
    """Diversity, distinct, recursive, equal and ordered closeness: the same verdict and the same
    worst figure, from files and beside the original.
    """
    assert wrong(range(50)) == {}


@pytest.mark.slow
def test_every_promise_is_what_the_formulas_say_on_many_tables():
    """The same on many tables."""
    assert wrong(range(1000, 1200)) == {}


def test_all_three_answers_come_up():
    """Each promise is kept by every bucket alone, kept by p(t, s) although a bucket breaks it, and
    broken, in several of the generated tables each.
    """
    answers = Counter()
    for seed in range(100):
        case = generated(seed)
        for promise in promises(np.random.default_rng(seed)):
            (verdict,) = promise.guarantee.check(case.release, (), case.original)
            name = f"{promise.guarantee.name}{getattr(promise.guarantee, 'distance', '')}"
            answers[
                name,
                (
                    "alone"
                    if verdict.note.startswith("each of")
                    else "together"
                    if verdict.holds
                    else "broken"
                ),
            ] += 1
    assert len(answers) == 5 * 3
    assert min(answers.values()) >= 3, answers


def test_buckets_that_keep_it_alone_keep_it_for_everybody_thinkable():
    """The convexity that the quick check rests on: what every part of a bucket keeps, p(t, .) of
    every candidate keeps, in the table or not.
    """
    kept = 0
    for seed in range(80):
        case, single = generated(seed), None
        table = {
            value: Fraction(times, len(case.rows))
            for value, times in Counter(row["s"] for row in case.rows).items()
        }
        for promise in promises(np.random.default_rng(seed)):
            single = single or parts(case)
            if all(promise.keeps(promise.figure(d, table)) for d in single.values()):
                kept += 1
                assert all(
                    promise.keeps(
                        promise.figure(posterior(t, case.columns, case.buckets, "s"), table)
                    )
                    for t in case.candidates
                ), seed
    assert kept > 60


def test_more_values_beside_the_sensitive_one_than_elsewhere():
    """Five quasi-identifiers in the sensitive column and one in the other: every promise is what
    the formulas say.
    """
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = [
            {"a": 0, "c": int(rng.integers(5)), "s": ILLNESSES[rng.integers(4)]} for _ in range(24)
        ]
        case = publish(rows, (("a",), ("c", "s")), [i % 3 for i in range(24)])
        assert differences(seed, case) == []


def test_verdicts_say_what_was_asked():
    """Name and bound of a verdict are those of the promise, kept or broken, from files and beside
    the original.
    """
    for seed in range(30):
        case = generated(seed)
        for guarantee, bound in (
            (SlicedDiversity(l=2), Fraction(1, 2)),
            (SlicedDistinct(l=2), 2),
            (SlicedRecursive(c=2, l=2), 2),
            (SlicedCloseness(t=Fraction(2, 5)), Fraction(2, 5)),
        ):
            for evidence in (None, case.original):
                (verdict,) = guarantee.check(case.release, (), evidence)
                assert (verdict.name, verdict.bound) == (guarantee.name, bound)


def only_the_first_bucket(matches):
    def twin(view, tuples):
        for found in matches(view, tuples):
            first = np.unique(found.tuple, return_index=True)[1]
            yield source.Matches(
                found.tuple[first], found.bucket[first], found.above[first], found.below[first]
            )

    return twin


def all_but_one(candidates):
    def twin(view, bucket, value):
        return candidates(view, bucket, value)[1:]

    return twin


def never(_):
    return lambda *_: False


@pytest.mark.parametrize(
    ("module", "name", "twin"),
    [
        (source, "matches", only_the_first_bucket),
        (one_by_one, "candidates", all_but_one),
        (slicing, "ge", never),
        (slicing, "gt", never),
        (slicing, "le", never),
        (SlicedCloseness, "_distance", lambda distance: lambda *asked: distance(*asked) / 2),
        (
            SlicedRecursive,
            "_ratio",
            lambda ratio: lambda self, p: ratio(replace(self, l=self.l + 1), p),
        ),
    ],
    ids=[
        "one bucket alone",
        "a candidate left out",
        "never kept",
        "never below",
        "never enough",
        "half the distance",
        "one value too few",
    ],
)
def test_broken_twins_are_caught(monkeypatch, module, name, twin):
    """A check that forgets buckets or candidates, refuses what is kept, or mixes up the values,
    gives other verdicts than the formulas.
    """
    monkeypatch.setattr(module, name, twin(getattr(module, name)))
    assert len(wrong(range(30))) >= 2


def halves() -> Published:
    """Everybody matches two buckets, each of which gives one value; together they give two values a
    half each.
    """
    return publish(
        [{"a": 1, "s": "flu"}, {"a": 1, "s": "flu"}, {"a": 1, "s": "gout"}, {"a": 1, "s": "gout"}],
        (("a",), ("s",)),
        [0, 0, 1, 1],
    )


def test_what_is_reached_exactly_is_kept():
    """p(t, s) = 1/l is allowed, a distance of t and l values too; a ratio of c is not, as its
    definition has it.
    """
    form = halves().form
    kept = [
        SlicedDiversity(l=2),
        SlicedDistinct(l=2),
        SlicedRecursive(c="1.001", l=2),
        SlicedCloseness(t=0),
        SlicedCloseness(t=0, distance="ordered"),
    ]
    found = [guarantee.check(form)[0] for guarantee in kept]
    assert [(v.holds, v.worst) for v in found] == [
        (True, Fraction(1, 2)),
        (True, 2),
        (True, 1),
        (True, 0),
        (True, 0),
    ]
    assert all(
        v.note.startswith(
            "2 of 2 parts of buckets do not keep it by themselves; p(t, s) was computed by shares"
            " and by rows for all 1 candidate"
        )
        for v in found
    )
    broken = [SlicedDiversity(l="2.001"), SlicedDistinct(l=3), SlicedRecursive(c=1, l=2)]
    assert not any(guarantee.check(form)[0].holds for guarantee in broken)


def test_a_bucket_with_just_enough_values_keeps_it_by_itself():
    """Only the bucket with one value is counted as one that does not."""
    rows = [{"a": 1, "s": "flu"}, {"a": 1, "s": "gout"}, {"a": 2, "s": "rash"}]
    (verdict,) = SlicedDistinct(l=2).check(publish(rows, (("a",), ("s",)), [0, 0, 1]).form)
    assert (verdict.holds, verdict.worst) == (False, 1)
    assert verdict.note.startswith("1 of 2 parts of buckets do not keep it by themselves")


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_a_bucket_at_just_the_distance_keeps_it_by_itself(distance):
    """Of six rows four have the flu: a bucket of two with the flu is a third away from that, and the
    other bucket a sixth.
    """
    rows = [{"a": 1, "s": "flu"}] * 4 + [{"a": 1, "s": "gout"}] * 2
    form = publish(rows, (("a",), ("s",)), [0, 0, 1, 1, 1, 1]).form
    (verdict,) = SlicedCloseness(t=Fraction(1, 6), distance=distance).check(form)
    assert verdict.note.startswith("1 of 2 parts of buckets do not keep it by themselves")


def test_the_bucket_that_a_verdict_shows_is_one_of_the_worst_tuple():
    """The worst case names a bucket that breaks the promise by itself and that the worst tuple
    matches, however the buckets are numbered.
    """
    rows = [
        {"a": 1, "s": "flu"},
        {"a": 1, "s": "flu"},
        {"a": 1, "s": "gout"},
        {"a": 2, "s": "rash"},
        {"a": 2, "s": "rash"},
    ]
    for _ in range(12):
        case = publish(rows, (("a",), ("s",)), [0, 0, 0, 1, 1])
        (verdict,) = SlicedDiversity(l=2).check(case.form)
        assert not verdict.holds and verdict.worst == 1
        (shown,) = verdict.worst_cases["bucket"]
        part = case.form.parts[0].filter(pl.col("bucket") == shown)
        assert part["a"].to_list() == [2] and verdict.worst_cases["size"].to_list() == [2]


def test_the_original_shows_what_the_files_leave_open():
    """A fake tuple that breaks the promise: the files alone do not show it kept, and say what
    would; beside the original it is seen to be kept.
    """
    case = with_fakes()
    alone, beside = (
        SlicedDiversity(l=2).check(case.release)[0],
        SlicedDiversity(l=2).check(case.release, (), case.original)[0],
    )
    assert not alone.holds and alone.worst == 1
    assert (
        "whether they are in the table or not; whether anybody is such a tuple, only the original"
        " table shows" in alone.note
    )
    assert beside.holds and beside.worst == Fraction(1, 2)
    assert "different tuples of the original table" in beside.note


def other_rows(case, change):
    names = [name for name in case.rows[0] if name != "s"]
    frame = change(pl.DataFrame(case.rows))
    return Evidence(
        microdata={1: Microdata.encode(frame, Schema(quasi=names, sensitive="s", missing="value"))}
    )


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda t: t.with_columns(b=pl.lit("w")), "lacks values of b that are published"),
        (lambda t: t.with_columns(pl.col("a") + 100), "lacks values of a that are published"),
        (
            lambda t: t.with_columns(pl.lit(2, dtype=pl.Int64).alias("a")),
            "lacks values of a that are published",
        ),
        (lambda t: t.head(5), "has 5 rows, fewer than the release"),
    ],
)
def test_the_original_of_another_release_shows_nothing(change, what):
    """A table that lacks what is published is not its original; that nobody in it breaks the
    promise is worth nothing.
    """
    case = with_fakes()
    (verdict,) = SlicedDiversity(l=2).check(case.release, (), other_rows(case, change))
    assert not verdict.holds and verdict.worst is None
    assert what in verdict.note


def test_people_who_were_suppressed_are_no_obstacle():
    """The original may hold more than was published: whoever matches no bucket is not asked
    about.
    """
    case = with_fakes()
    more = pl.DataFrame({"a": [9, 1], "b": ["x", "w"], "s": ["flu", "flu"]})
    (verdict,) = SlicedDiversity(l=2).check(
        case.release, (), other_rows(case, lambda t: pl.concat([t, more]))
    )
    assert verdict.holds and verdict.worst == Fraction(1, 2)


def test_too_many_candidates(monkeypatch):
    """Where the files leave more candidates open than are looked at, the promise is not shown by
    them; beside the original it is.
    """
    case = with_fakes()
    monkeypatch.setattr(source, "MOST_CANDIDATES", 2)
    (alone,) = SlicedDiversity(l=2).check(case.release)
    assert not alone.holds and alone.worst is None
    assert "the files alone do not show the promise; give the original table" in alone.note
    assert SlicedDiversity(l=2).check(case.release, (), case.original)[0].holds


def without_sensitive(rows, columns, bucket):
    names = sorted({name for column in columns for name in column})
    microdata = Microdata.encode(
        pl.DataFrame(rows).select(names), Schema(quasi=names, missing="value")
    )
    return slice_into(microdata, columns, np.array(bucket), Randomness.secure().stream("test"))[0]


def test_without_a_sensitive_attribute_every_column_is_one():
    """The most frequent value of any column in any bucket decides, and is named."""
    rows = [
        {"a": a, "b": b}
        for a, b in zip([1, 1, 2, 2, 3, 4], ["x", "y", "x", "y", "z", "z"], strict=True)
    ]
    form = without_sensitive(rows, (("a",), ("b",)), [0, 0, 0, 0, 1, 1])
    (verdict,) = SlicedDiversity(l=2).check(form)
    assert not verdict.holds and verdict.worst == 1
    assert (
        verdict.note
        == "no attribute is sensitive, so every column is taken for one; 2 buckets, the worst in"
        " column b"
    )
    assert SlicedDiversity(l=1).check(form)[0].holds
    even = without_sensitive(rows[:4], (("a",), ("b",)), [0, 0, 0, 0])
    assert (
        SlicedDiversity(l=2).check(even)[0].holds
        and not SlicedDiversity(l="2.1").check(even)[0].holds
    )
    for guarantee in (SlicedDistinct(l=1), SlicedRecursive(c=100, l=1), SlicedCloseness(t=1)):
        (verdict,) = guarantee.check(form)
        assert (
            not verdict.holds
            and verdict.worst is None
            and "no sensitive attribute is published" in verdict.note
        )


def test_without_a_sensitive_attribute_shared_ones_are_known():
    """Whoever knows the other columns knows what they share with this one: among those who agree on
    it, no value may be too frequent.
    """
    rows = [
        {"a": 1, "b": "x", "c": 5},
        {"a": 2, "b": "x", "c": 6},
        {"a": 3, "b": "y", "c": 7},
        {"a": 4, "b": "y", "c": 8},
    ]
    form = without_sensitive(rows, (("a", "b"), ("b", "c")), [0, 0, 0, 0])
    assert SlicedDiversity(l=2).check(form)[0].worst == Fraction(1, 2)
    assert not SlicedDiversity(l=3).check(form)[0].holds
    rows[2]["b"] = "z"
    assert (
        SlicedDiversity(l=2)
        .check(without_sensitive(rows, (("a", "b"), ("b", "c")), [0, 0, 0, 0]))[0]
        .worst
        == 1
    )


GUARANTEES = [
    SlicedDiversity(l=2),
    SlicedDistinct(l=2),
    SlicedRecursive(c=2, l=2),
    SlicedCloseness(t="1/2"),
]


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: g.name)
def test_a_table_without_rows(guarantee):
    """Nobody is in it, so the promise holds, with a note that says so."""
    microdata = Microdata.encode(
        pl.DataFrame({"a": [1], "s": ["flu"]}), Schema(quasi=["a"], sensitive="s")
    )
    form, _ = slice_into(
        microdata, (("a",), ("s",)), np.array([0]), Randomness.secure().stream("test")
    )
    (verdict,) = guarantee.check(replace(form, given=(form.given[0].clear(),)))
    assert verdict.holds and verdict.worst is None and verdict.note == "the table has no rows"
    (full,) = guarantee.check(form)
    assert (verdict.name, verdict.bound) == (full.name, full.bound) == (guarantee.name, full.bound)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda g: g.name)
def test_sets_of_values_are_refused(guarantee):
    """A bound on whole sets is none on the values in them, so it is not given for one."""
    schema = Schema(quasi=["a"], sensitive="s", types={"s": "set"})
    microdata = Microdata.encode(
        pl.DataFrame({"a": [1, 2, 3], "s": ["flu", "flu;gout", "flu;rash"]}), schema
    )
    form, _ = slice_into(
        microdata, (("a",), ("s",)), np.array([0, 0, 0]), Randomness.secure().stream("test")
    )
    (verdict,) = guarantee.check(form)
    assert not verdict.holds and "holds sets of values" in verdict.note


@pytest.mark.parametrize(
    "make",
    [
        lambda: SlicedDiversity(l="0.9"),
        lambda: SlicedDiversity(l=0),
        lambda: SlicedDiversity(l=float("nan")),
        lambda: SlicedDistinct(l=0),
        lambda: SlicedDistinct(l=1.5),
        lambda: SlicedRecursive(c=0, l=2),
        lambda: SlicedRecursive(c=-1, l=2),
        lambda: SlicedRecursive(c=1, l="2"),
        lambda: SlicedCloseness(t="1.01"),
        lambda: SlicedCloseness(t=-1),
        lambda: SlicedCloseness(t=1, distance="hierarchical"),
    ],
)
def test_parameters_that_cannot_be(make):
    """What no table could keep, or no definition has, is an error of the plan."""
    with pytest.raises(PlanError):
        make()


def test_the_ratio_to_nothing_is_above_every_bound():
    """Where a tuple has fewer than l values, no c is large enough."""
    (verdict,) = SlicedRecursive(c="1e40", l=3).check(halves().form)
    assert (
        not verdict.holds
        and verdict.worst == "infinite"
        and verdict.worst_cases["figure"].to_list() == ["infinite"]
    )


def test_closeness_counts_declared_leaves_that_nobody_has():
    """The ordered distance goes by the places among all leaves that the hierarchy declares."""
    tree = Tree.of_paths(
        [
            ["acne", "skin", "*"],
            ["rash", "skin", "*"],
            ["flu", "other", "*"],
            ["gout", "other", "*"],
        ]
    )
    rows = [
        {"a": 1, "s": "acne"},
        {"a": 1, "s": "acne"},
        {"a": 2, "s": "gout"},
        {"a": 2, "s": "gout"},
    ]
    case = publish(rows, (("a",), ("s",)), [0, 0, 1, 1], hierarchy=tree)
    (verdict,) = SlicedCloseness(t="1/4", distance="ordered").check(case.form)
    assert not verdict.holds and verdict.worst == Fraction(1, 2)
    case = publish(
        [{"a": 1, "s": "acne"}, {"a": 1, "s": "rash"}], (("a",), ("s",)), [0, 1], hierarchy=tree
    )
    assert SlicedCloseness(t="1/4", distance="ordered").check(case.form)[0].holds
    for s, other, worst in (("acne", "rash", Fraction(1, 6)), ("acne", "gout", Fraction(1, 2))):
        case = publish(
            [{"a": 1, "s": s}, {"a": 2, "s": other}], (("a",), ("s",)), [0, 1], hierarchy=tree
        )
        (verdict,) = SlicedCloseness(t="1/10", distance="ordered").check(case.form)
        assert not verdict.holds and verdict.worst == worst


def test_very_large_parameters_are_compared_exactly():
    """A bound beyond 64 bits is compared with Python's integers, and not with what is left of
    it.
    """
    form = halves().form
    assert not SlicedDiversity(l=Fraction(10**40 + 1, 5 * 10**39)).check(form)[0].holds
    assert SlicedDiversity(l=Fraction(10**40 - 1, 5 * 10**39)).check(form)[0].holds
    assert not SlicedRecursive(c=Fraction(10**40 - 1, 10**40), l=2).check(form)[0].holds
    assert SlicedRecursive(c=Fraction(10**40 + 1, 10**40), l=2).check(form)[0].holds


@pytest.mark.parametrize("lowered", [0, 1])
def test_what_rounding_mixes_up_is_decided_by_fractions(monkeypatch, lowered):
    """Two tuples whose p(t, s) differ by less than floating point can tell, one of them rounded
    down: the larger one is found all the same.
    """
    k = 10**9
    form = by_count({"flu": k + 1, "gout": k}, {"flu": k + 2, "gout": k + 1})
    rough = source.roughly

    def rounded(view, tuples, by):
        yield from (
            replace(some, p=some.p * np.where(some.owner == lowered, 1 - 1e-12, 1))
            for some in rough(view, tuples, by)
        )

    monkeypatch.setattr(source, "roughly", rounded)
    assert source.largest(View.of(form), np.array([[0, 0], [1, 0]]))[:2] == (
        Fraction(k + 1, 2 * k + 1),
        0,
    )
    (verdict,) = SlicedDiversity(l=2 - Fraction(2, 2 * k + 3)).check(form)
    assert not verdict.holds and verdict.worst == Fraction(k + 1, 2 * k + 1)


@pytest.mark.parametrize("error", [-1e-11, 0, 1e-11])
@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_parts_that_come_near_the_bound_are_compared_as_fractions(monkeypatch, error, distance):
    """A part of a bucket at exactly the bound keeps it and one that is above by less than rounding
    costs does not, whichever way rounding goes.
    """
    form = by_count(
        {"flu": 3, "gout": 1}, {"flu": 1, "gout": 3}, {"flu": 10**12 + 1, "gout": 10**12 - 1}
    )
    rough = SlicedCloseness._rough
    monkeypatch.setattr(
        SlicedCloseness, "_rough", lambda *asked, **more: rough(*asked, **more) + error
    )
    most = SlicedCloseness(t=0, distance=distance).check(form)[0].worst
    for t, parts in (
        (most, None),
        (most - Fraction(1, 10**15), 1),
        (most - Fraction(2, 10**12), 2),
    ):
        (verdict,) = SlicedCloseness(t=t, distance=distance).check(form)
        assert verdict.holds == (parts is None)
        assert parts is None or verdict.note.startswith(f"{parts} of 3 parts of buckets"), (
            t,
            verdict.note,
        )


def test_large_searches_are_done_in_parts(monkeypatch):
    """However few pairs are held at once, the verdicts are the same."""
    monkeypatch.setattr(source, "_PAIRS", 3)
    monkeypatch.setattr(slicing, "_ENTRIES", 8)
    assert wrong(range(25)) == {}


def some_buckets(form, at):
    """The release that buckets would be by themselves."""
    given = tuple(part.filter(pl.col("bucket").is_in(at)) for part in form.parts)
    return Sliced(form.columns, form.attributes, given, compact=True)


def test_what_each_part_keeps_all_of_them_keep():
    """A tuple that matches buckets of several parts has a mixture of what these give it: no promise
    that each part keeps by itself, by its files alone, is broken by all together. Closeness is to
    the whole table: each part may be close to itself, and so it is not asked of parts.
    """
    outcomes = Counter()
    for seed in range(60):
        form = generated(seed).form
        buckets = form.sizes["bucket"].to_list()
        for promise in promises(np.random.default_rng(seed)):
            check, name = promise.guarantee.check, type(promise.guarantee)
            for split in range(1, len(buckets)):
                parts = (buckets[:split], buckets[split:])
                kept = all(check(some_buckets(form, at))[0].holds for at in parts)
                outcomes[name, kept, check(form)[0].holds] += 1
    of_each = {name for name, _, _ in outcomes if getattr(name, "of_each_group", False)}
    assert of_each == {SlicedDiversity, SlicedDistinct, SlicedRecursive}
    for name in of_each:
        assert not outcomes[name, True, False]
        assert min(outcomes[name, True, True], outcomes[name, False, False]) > 5
    assert outcomes[SlicedDiversity, False, True]  # leaning on another part is refused
    assert outcomes[SlicedCloseness, True, False]
