# SPDX-License-Identifier: Apache-2.0
"""Which values the public view leaves a person, beside going through all groups."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guarantees.m_invariance.test_guarantee import PEOPLE, microdata_of, release_of, verdicts_of
from naive import guarantees as naive
from phalanx.guarantees.m_invariance import candidates, following
from phalanx.guarantees.views import box_search
from phalanx.guarantees.views.boxes import candidate_sets, set_of_each
from phalanx.guarantees.views.groups import Groups
from phalanx.release.evidence.evidence import Evidence


@settings(max_examples=120, deadline=None)
@given(PEOPLE, st.randoms(use_true_random=False))
def test_candidate_sets_against_the_slow_twin(rows, dice):
    """The candidate sets are the values of all groups whose box holds the person, missing values
    included.
    """
    people = {f"p{i}": row for i, row in enumerate(rows)}
    names = list(people)
    dice.shuffle(names)
    cut = dice.randint(1, len(names))
    release = release_of(1, people, [g for g in (names[:cut], names[cut:]) if g])
    table = release.form.table
    values = Groups.of(release).values.to_list()
    q = len(values)
    found = candidate_sets(microdata_of(people), release.form, np.arange(q), q)
    sets = set_of_each(*found, q)
    for i, (age, code, own) in enumerate(rows):
        expected = {
            row[5]
            for row in table.rows()
            if naive.in_interval(age, row[1], row[2]) and naive.in_interval(code, row[3], row[4])
        }
        assert {value for v, value in enumerate(values) if int(sets[i, 0]) >> v & 1} == expected
        assert own in expected


def test_a_value_that_comes_later_is_left_to_no_one_who_was_there_before():
    """The first release holds 64 values, all that a word has room for; in the second the first
    person stands beside a value of the next word.
    """
    first = {f"p{i}": (i // 16, i % 16, f"d{i % 64:02}") for i in range(128)}
    second = {"p0": first["p0"], "new": (0, 1, "d64")}
    series = [
        release_of(1, first, [[f"p{i}", f"p{i + 1}"] for i in range(0, 128, 2)]),
        release_of(2, second, [["p0", "new"]]),
    ]
    evidence = Evidence(microdata={1: microdata_of(first), 2: microdata_of(second)})
    assert verdicts_of(series, evidence=evidence)["candidate sets by box"].worst == 1


def some_series(rng):
    """One to three releases of persons who come and go, in groups by chance, the box of each of
    which holds its persons, and the original tables, some of them of other persons' ages.
    """
    names = [f"p{i}" for i in range(rng.choice([6, 15, 60]))]
    values = int(rng.choice([4, 200]))
    series, microdata = [], {}
    for number in range(1, int(rng.integers(2, 5))):
        here = [name for name in names if rng.random() < 0.7] or names[:2]
        people = {
            name: (int(rng.integers(0, 8)), int(rng.integers(0, 4)), f"d{rng.integers(0, values)}")
            for name in here
        }
        cut = sorted({0, len(here), *rng.integers(0, len(here), 3).tolist()})
        series.append(release_of(number, people, [here[i:j] for i, j in pairwise(cut)]))
        if rng.random() < 0.3:
            people = {name: (int(rng.integers(0, 9)), *rest) for name, (_, *rest) in people.items()}
        microdata[number] = microdata_of(people)
    return series, microdata


def slow_sets(series, microdata, *, consecutive):
    """The fewest candidates that anyone has had, and how many had each set of them in the first
    release in which they were so few; by Python's sets, person by person.
    """
    left, fewest, smallest = {}, None, {}
    for release in series:
        rows = release.form.table.rows()
        people, now = microdata[release.number], {}
        codes = [people.columns[name] for name in ("age", "zip")]
        known = [column.domain.values.gather(column.codes).to_list() for column in codes]
        for who, age, zip_code in zip(people.persons.to_list(), *known, strict=True):
            inside = {r[5] for r in rows if r[1] <= age <= r[2] and r[3] <= zip_code <= r[4]}
            if inside:
                now[who] = inside & left.get(who, inside)
                left[who] = inside if consecutive else now[who]
        if consecutive:
            left = {who: some for who, some in left.items() if who in now}
        sizes = [len(some) for some in now.values()]
        if sizes and (fewest is None or min(sizes) < fewest):
            fewest = min(sizes)
            smallest = Counter(frozenset(some) for some in now.values() if len(some) == fewest)
    return fewest, smallest


def wrong_sets(seeds):
    """How often the check finds other sets than the slow twin."""
    wrong = 0
    for seed in seeds:
        series, microdata = some_series(np.random.default_rng(seed))
        for consecutive in (False, True):
            verdict = verdicts_of(
                series, evidence=Evidence(microdata=microdata), consecutive=consecutive
            )["candidate sets by box"]
            fewest, smallest = slow_sets(series, microdata, consecutive=consecutive)
            shown = {
                frozenset(filter(None, text.split(", "))): many
                for text, many in verdict.worst_cases.rows()
            }
            few = len(smallest) <= 10
            wrong += verdict.worst != fewest or (few and shown != dict(smallest))
            wrong += not few and not shown.items() <= smallest.items()
    return wrong


@pytest.mark.parametrize("at_once", [1, 5, 1 << 22])
def test_what_is_left_over_a_series_against_the_slow_twin(monkeypatch, at_once):
    """However few sets are looked at at once: the fewest candidates, and how many have them."""
    monkeypatch.setattr(candidates, "_AT_ONCE", at_once)
    monkeypatch.setattr(box_search, "_HELD", at_once)
    assert wrong_sets(range(40)) == 0


class Forgets(candidates.Candidates):
    """A twin that keeps no sets from one release to the next."""

    def add(self, release, evidence, *, last):
        super().add(release, evidence, last=True)


class KeepsLater(candidates.Candidates):
    """A twin that leaves to persons what was in no release before."""

    def _left(self, who, now):
        left = super()._left(who, now)
        old = self._sets.shape[1]
        left[:, old:] = now[:, old:]
        return left


class Alone(candidates.Candidates):
    """A twin to whom no one was seen before."""

    def _left(self, who, now):
        return now.copy()


@pytest.mark.parametrize("twin", [Forgets, KeepsLater, Alone])
def test_broken_twins_are_seen(monkeypatch, twin):
    """The slow twin says otherwise."""
    monkeypatch.setattr(following, "Candidates", twin)
    assert wrong_sets(range(40)) > 0


def test_of_one_release_no_sets_are_kept():
    """Of 3,000 persons with 1,500 values, each of whom is in a box with three others."""
    people = {f"p{i}": (i // 4, 0, f"d{i % 1500}") for i in range(3000)}
    names = list(people)
    groups = [names[i : i + 4] for i in range(0, 3000, 4)]
    evidence, release = Evidence(microdata={1: microdata_of(people)}), release_of(1, people, groups)
    signatures = following.Signatures.of_series([release])
    so_far = candidates.Candidates(signatures, 2, consecutive=False, records=False)
    so_far.add(release, evidence, last=True)
    assert (so_far.fewest, len(so_far), so_far._sets.size) == (4, 3000, 0)
