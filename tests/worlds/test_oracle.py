# SPDX-License-Identifier: Apache-2.0
"""The oracle itself: what is known exactly of toy methods, what it must catch, and what its
canonical form may leave out.
"""

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from math import comb

import numpy as np
import polars as pl
import pytest

from phalanx.data.schema import Schema
from phalanx.methods.base import Draft
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.slicing.method import Slicing
from phalanx.randomness import Randomness
from phalanx.release.forms.generalized import generalize
from phalanx.series.series import Series
from worlds.choices import (
    Choices,
    EveryRandomness,
    NotEnumerableError,
    by_value,
    dealt,
    enumerated,
    whole,
)
from worlds.oracle import SEEN, ask, at_least
from worlds.publications import Publisher, canonical, groups_of, remembered
from worlds.settings import PRIORS, anything, once, orders, passing, series, skewed

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Toy:
    """A method that publishes the groups that ``grouped`` makes of the codes by a stream; values
    stand beside the boxes.
    """

    grouped: object
    name = "toy"
    guarantees = ()

    def parameters(self):
        return {}

    def publish(self, microdata, memory, rng):
        groups = np.asarray(
            self.grouped(microdata.sensitive.codes, rng.stream("toy")), dtype=np.int64
        )
        form, published = generalize(
            microdata, np.arange(microdata.rows), groups, rng.stream("generalize")
        )
        return Draft(form=form, groups=published[groups])


def at_random(codes, stream):
    """A uniformly random partition into groups of two."""
    groups = np.empty(len(codes), dtype=np.int64)
    groups[stream.permutation(len(codes))] = np.arange(len(codes)) // 2
    return groups


def around_the_holder(codes, _):
    """The one row of value 0 with the next older one; where it is the oldest, with the first."""
    holder = int(np.flatnonzero(codes == 0)[0])
    groups = np.ones(len(codes), dtype=np.int64)
    groups[[holder, (holder + 1) % len(codes)]] = 0
    return groups


def whispering(codes, stream):
    """Two halves with 3/4 where the first row is the one of value 0, with 1/4 where not; else one
    group of all.
    """
    split = (stream.integers(4, 1)[0] < 3) == (codes[0] == 0)
    return np.arange(len(codes)) // 2 if split else np.zeros(len(codes), dtype=np.int64)


def test_one_group_of_all_says_the_shares():
    """Where nothing is chosen, everybody has each value with exactly its share."""
    answer = ask(Toy(lambda codes, _: np.zeros(len(codes))), once("aabcc"), HALF, how="enumerated")

    assert (answer.kind, answer.worlds, answer.outputs) == ("exact", 30, 1)
    assert answer.worst.largest == Fraction(2, 5)


@pytest.mark.parametrize(
    ("values", "largest", "above"),
    [
        ("abcd", HALF, Fraction(0)),
        ("aabb", Fraction(1), Fraction(1, 3)),
        ("aaab", Fraction(1), Fraction(1)),
    ],
)
def test_a_random_partition_says_what_stands_in_the_groups(values, largest, above):
    """Of a group of n that shows a value h times everybody has it with exactly h/n: two pairs {a,
    a}, {b, b} come with 1/3, and tell.
    """
    found = ask(Toy(at_random), once(values), HALF, how="enumerated").worst

    assert (found.largest, found.above, found.certain) == (largest, above, above)


def test_who_points_at_the_holder_is_caught_with_certainty():
    """Four persons, groups of two, one holder: 1/2 by the files, and certain for who knows that the
    holder is the first of their group, going round.
    """
    found = ask(Toy(around_the_holder), once("abbb"), HALF, how="repeated").worst

    assert (found.largest, found.above, found.certain) == (1, 1, 1)


def test_a_whisper_has_exactly_its_odds():
    """Split with 3/4 or 1/4: in the first half 3/4 to 1/4, in the other 1/2; unsplit 1/10 for the
    first row and 3/10 for the others.
    """
    answer = ask(
        Toy(whispering), once("abbb"), {"a": HALF, "b": Fraction(9, 10)}, how="enumerated", only="a"
    )

    assert answer.worst.largest == Fraction(3, 4)
    assert answer.worst.above == Fraction(1, 4) * (Fraction(3, 4) + Fraction(1, 4))
    assert answer.worst.certain == 0


def test_a_sample_catches_a_whisper_and_no_random_partition():
    """The power of what is sampled: 3/4 where 1/2 is allowed is surely above, and where a bound
    holds nothing is.
    """
    caught = ask(Toy(whispering), once("abbb"), HALF, how="sampled", runs=2000, only="a").worst
    quiet = ask(Toy(at_random), once("abcd"), HALF, how="sampled", runs=2000).worst

    assert HALF < caught.surely < Fraction(3, 4) and caught.above > Fraction(1, 8)
    assert quiet.surely < HALF < quiet.largest < Fraction(3, 4) and quiet.above == 0


@pytest.mark.parametrize("n", [1, 7, 60])
def test_a_lower_bound_is_too_high_as_seldom_as_it_says(n):
    """Clopper and Pearson: with k hits the bound p has P(k or more hits) = alarm, so that whatever
    the truth it is exceeded no more often.
    """
    for alarm in (1e-2, 1e-9):
        for k in range(1, n + 1, max(1, n // 9)):
            p = Fraction(at_least(k, n, alarm))
            tail = sum(comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1))
            assert float(tail) == pytest.approx(alarm, rel=1e-6)
        for truth in (Fraction(1, 10), HALF, Fraction(9, 10)):
            wrong = sum(
                comb(n, k) * truth**k * (1 - truth) ** (n - k)
                for k in range(n + 1)
                if at_least(k, n, alarm) > truth
            )
            assert wrong <= alarm
    assert at_least(0, n, 0.5) == 0
    assert (
        sum(comb(n, k) * HALF**n for k in range(n + 1) if Fraction(k, n) > HALF) > 1e-2
    )  # the broken twin: a frequency is no bound


def test_choices_are_all_there_with_their_chances():
    """Permutations, piles and chances are gone through completely, each once."""
    codes = np.array([0, 1, 0, 1, 0])
    found = {
        fold: list(enumerated(lambda choices, fold=fold: tuple(fold(choices, codes).tolist())))
        for fold in (whole, by_value, dealt(2))
    }
    assert [len(paths) for paths in found.values()] == [120, 12, 10]
    for paths in found.values():
        assert sum(chance for chance, _ in paths) == 1
        assert {chance for chance, _ in paths} == {Fraction(1, len(paths))}
        assert len({order for _, order in paths}) == len(paths)
        assert all(sorted(order) == list(range(5)) for _, order in paths)
    weighted = list(enumerated(lambda choices: choices.weighted([Fraction(1, 4), Fraction(3, 4)])))
    assert weighted == [(Fraction(1, 4), 0), (Fraction(3, 4), 1)]
    assert Choices([]).among(1) == 0


def test_a_stream_of_the_same_name_draws_the_same():
    """As with real randomness: begun again it repeats itself, another name does not; drawing
    something else instead cannot be gone through.
    """

    def run(choices):
        rng = EveryRandomness(choices, {}, np.zeros(3))
        first, again, other = rng.stream("a"), rng.stream("a"), rng.stream("b")
        drawn = [
            tuple(first.permutation(3)),
            tuple(first.integers(2, 1)),
            tuple(again.permutation(3)),
            tuple(again.integers(2, 1)),
            tuple(other.permutation(3)),
        ]
        with pytest.raises(NotEnumerableError):
            rng.stream("a").permutation(2)
        return tuple(drawn)

    paths = [drawn for _, drawn in enumerated(run)]
    assert len(set(paths)) == len(paths) == 6 * 2 * 6
    assert all(drawn[:2] == drawn[2:4] for drawn in paths)


SHORT = series(((1, 2), "ab"), ((1, 11, 22, 29), "acd"))


def draft_of(method, setting, world, seed):
    """The draft of a world's last release, by a seed."""
    publisher = Publisher(method, setting)
    from phalanx.methods.base import Memory

    memory = Memory()
    for release, values in enumerate(world):
        microdata = publisher._microdata(release, values)
        draft = method.publish(microdata, memory, Randomness.seeded(seed + release))
        memory = remembered(memory, microdata, draft)
    return draft


def test_ids_and_the_order_of_rows_are_left_out_and_nothing_else():
    """Renumbered and shuffled releases are the same; another value, box, place, count or row is
    another release.
    """
    method = MInvariance(m=2)
    draft = draft_of(method, SHORT, (("a", "b"), ("a", "a", "c", "d")), 1)
    form = draft.form
    seen = canonical(draft, method)
    assert form.counterfeits is not None and form.counterfeits.height == 1

    def changed(**parts):
        return canonical(replace(draft, form=replace(form, **parts)), method)

    again = {
        old: new
        for new, old in enumerate(reversed(form.table["group"].unique().to_list()), start=7)
    }
    renumbered = form.table.with_columns(pl.col("group").replace_strict(again))[::-1]
    assert (
        changed(
            table=renumbered,
            counterfeits=form.counterfeits.with_columns(pl.col("group").replace_strict(again)),
        )
        == seen
    )
    low, sick = form.table["q0_low"].to_list(), form.table["sick"].to_list()
    swapped = [sick[-1], *sick[1:-1], sick[0]]
    assert sick[0] != sick[-1] and form.table["group"][0] != form.table["group"][-1]
    others = [
        changed(table=form.table.with_columns(pl.Series("q0_low", [low[0] - 1, *low[1:]]))),
        changed(table=form.table.with_columns(pl.Series("sick", swapped))),
        changed(table=form.table[1:]),
        changed(counterfeits=form.counterfeits.with_columns(pl.col("count") + 1)),
        changed(counterfeits=form.counterfeits.with_columns(pl.col("group") % 2 + 1)),
        changed(attributes=form.attributes[:1]),
        canonical(draft, MInvariance(m=2, remember=False)),
        canonical(draft, MInvariance(m=2, changed="new-record")),
    ]
    assert seen not in others and len(set(others)) == len(others)


def test_columns_of_slicing_are_multisets_and_stay_in_their_bucket():
    """What stands in one row of a sliced bucket is random and left out; what stands in another
    bucket is not.
    """
    method = Slicing(l=2, columns=[["q0"], ["sick"]], grouping="random", bucket_size=2)
    setting = once("abab")
    draft = draft_of(method, setting, setting.worlds[0], 3)
    table = draft.form.given[0].sort("bucket")
    a, b, c, d = table["sick"].to_list()

    def shown(values):
        return canonical(
            replace(
                draft,
                form=replace(draft.form, given=(table.with_columns(pl.Series("sick", values)),)),
            ),
            method,
        )

    assert shown([b, a, c, d]) == shown([a, b, d, c]) == canonical(draft, method)
    assert shown([a, a, b, b]) != canonical(draft, method)


@pytest.mark.parametrize(
    ("method", "setting"),
    [
        (
            MInvariance(m=2),
            series(((1, 2, 4, 7), "abcc"), ((1, 4, 11, 16), "bd"), ((1, 2, 7, 11, 22, 29), "ac")),
        ),
        (
            GlobalGuarantee(l=2, protect=["hiv"], strategy="geometric"),
            passing(
                ((1, 2, 4, 7), ["hiv", "no", "no", "no"]),
                ((1, 2, 4, 7, 11, 16), ["hiv", *["no"] * 5]),
            ),
        ),
    ],
    ids=["m-invariance", "global-guarantee"],
)
def test_memory_is_carried_as_the_ledger_does(method, setting, tmp_path):
    """A series by the public door, with its ledger and its files, publishes what the oracle's
    publisher does with the same seeds.
    """
    world = setting.worlds[len(setting.worlds) // 3]
    door = Series(
        "s",
        schema=Schema(identifier="who", quasi=["q0"], sensitive="sick"),
        method=method,
        to=tmp_path / "out",
        seed=5,
        report=False,
    )
    for release, (persons, values) in enumerate(zip(setting.present, world, strict=True)):
        frame = pl.DataFrame({"who": [f"p{p}" for p in persons], "q0": persons, "sick": values})
        published = door.publish(frame)
        expected = draft_of(method, setting, world[: release + 1], 6)
        assert groups_of(published.form) == groups_of(expected.form)


def test_priors_are_exchangeable_over_persons():
    """A world weighs as much when its persons change places; the broken twin, a prior that knows
    one person, does not.
    """
    setting = anything("abc", 4)
    place = {world: i for i, world in enumerate(setting.worlds)}

    def exchangeable(weights):
        return all(
            weights[place[tuple(order),]] == weights[i]
            for (values,), i in place.items()
            for order in permutations(values)
        )

    assert [exchangeable(prior(setting)) for prior in PRIORS.values()] == [True, True, True]
    assert len({tuple(prior(setting)) for prior in PRIORS.values()}) == len(PRIORS)
    assert not exchangeable(
        [
            weight * (1 + (world[0][0] == "a"))
            for weight, world in zip(skewed(setting), setting.worlds, strict=True)
        ]
    )


def test_worlds_are_all_worlds():
    """Orders of a multiset are all different and complete; those who stay keep their value, those
    who pass do not.
    """
    assert Counter(orders("aabb")) == Counter(set(permutations("aabb")))
    assert len(SHORT.worlds) == 2 * 6 and all(
        first[0] == second[0] for first, second in SHORT.worlds
    )
    both = passing(((1, 2), "ab"), ((1, 2), "ab"))
    assert len(both.worlds) == 4 and any(first[0] != second[0] for first, second in both.worlds)
    assert SEEN > 1
