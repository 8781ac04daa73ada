# SPDX-License-Identifier: Apache-2.0
"""Mutual cover in the paper's way, which the experiments measure: drawn as the paper says, what is
published is not what the tables say, and whoever knows the law of it has the twin's probabilities.
"""

import sys
from collections import Counter
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import chdtrc

from naive import mutual_cover as shares
from naive import omniscient as naive
from phalanx.errors import MethodError
from phalanx.methods.base import Memory
from phalanx.methods.mutual_cover.problems import Problems
from phalanx.randomness import Randomness
from support.drafts import encoded, simple
from support.perturbed_cases import Drawing, people, random_drawing
from support.scripts import EXPERIMENTS, run_script

sys.path.insert(0, str(EXPERIMENTS / "mutual_cover"))
import papers_way
from papers_way import Afterwards, Omniscient, PapersWay, published_share


@dataclass(frozen=True)
class Repaired(Drawing):
    """Tables that every attribute is drawn from by itself, and by group the weights of changes."""

    weights: tuple = ()

    def law(self, own, group):
        tables = [self.tables[group, a] for a in range(len(own))]
        return naive.repaired_outcomes(
            own, tables, self.denominator, self.weights[group], self.changes
        )

    def outputs(self, microdata, rows):
        parts = super().outputs(microdata, rows)
        weights = np.asarray(self.weights, dtype=np.int64)
        return Afterwards(
            **{f.name: getattr(parts, f.name) for f in fields(parts)}, weights=weights
        )


def world(seed):
    """Up to 8 persons in up to 3 groups: microdata, drawing, what everybody shows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    group = np.unique(rng.integers(0, rng.integers(1, 4), n), return_inverse=True)[1]
    rows = [
        (int(rng.integers(3)), *("xyz"[i] for i in rng.integers(0, 3, 2)), "s") for _ in range(n)
    ]
    microdata = people(rows)
    made = random_drawing(microdata, group, rng)
    weights = tuple(map(tuple, rng.integers(0, 4, (int(group.max()) + 1, 3)).tolist()))
    made = replace(made, changes=int(rng.integers(1, 4)))
    parts = {f.name: getattr(made, f.name) for f in fields(made)}
    drawing = Repaired(**parts, weights=weights)
    return microdata, drawing, drawing.draw(microdata, rng)


def own_chances(microdata, drawing, shown):
    """By person: how probable the own row is, by going through all assignments."""
    own, found = drawing.own(microdata), {}
    for g in set(drawing.group):
        members = [t for t, of in enumerate(drawing.group) if of == g]
        laws = [drawing.law(own[t], g) for t in members]
        p = naive.posterior([[law.get(shown[r], Fraction(0)) for r in members] for law in laws])
        found |= {t: float(p[i][i]) for i, t in enumerate(members)}
    return [found[t] for t in range(len(own))]


def believed(seed):
    """What the adversary finds of everybody, and what the twin does."""
    microdata, drawing, shown = world(seed)
    release, evidence = drawing.publish(microdata, shown)
    found = Omniscient().attack([release], evidence).per_person["identity"].to_list()
    return found, own_chances(microdata, drawing, shown)


def test_who_knows_the_law_has_the_twins_probabilities(monkeypatch):
    """Everybody's probabilities are those of all assignments in fractions; without the weights they
    are not.
    """
    for seed in range(40):
        found, expected = believed(seed)
        assert found == pytest.approx(expected)
    real = papers_way._chosen
    monkeypatch.setattr(papers_way, "_chosen", lambda w, held: real(np.minimum(w, 1), held))
    assert sum(found != pytest.approx(expected) for found, expected in map(believed, range(40))) > 3


@pytest.mark.parametrize("seed", range(20))
def test_the_share_of_what_is_published(seed):
    """The largest share of a value is that of following every way a row can go."""
    microdata, drawing, shown = world(seed)
    _, evidence = drawing.publish(microdata, shown)
    own, largest = drawing.own(microdata), Fraction(0)
    for g in set(drawing.group):
        laws = [Counter(drawing.law(own[t], g)) for t, of in enumerate(drawing.group) if of == g]
        for a in range(3):
            k = len(drawing.tables[g, a])
            given = [shares.marginal(law, a, k) for law in laws]
            largest = max(largest, shares.largest_share(given))
    assert published_share(evidence.parts[1], microdata, evidence.rows[1]) == largest


def test_rows_come_out_as_in_the_paper():
    """Of 200,000 rows, whole rows have the probabilities of independent attributes with Algorithm 2
    after them, and none is as it was.
    """
    rows = [(i % 4, i % 3 + i % 2, "s") for i in range(8)]
    microdata, method = simple(rows), PapersWay(delta="1/4", k=8)
    tables = method.tables(microdata)
    weights = papers_way.weights_of(tables, method._distances(microdata))
    times = 25_000
    many = replace(
        tables, group=np.zeros(8 * times, np.int64), own=np.repeat(tables.own, times, axis=0)
    )
    rng = Randomness.seeded(3)
    numbers = rng.stream("test").integers(tables.denominator, many.own.size)
    drawn = papers_way.apart(many, numbers.reshape(many.own.shape))
    drawn = papers_way.change_unchanged(many, drawn, weights, 1, rng)
    assert (drawn != many.own).any(axis=1).all()
    units = [tables.problems.part(tables.units, int(t)).tolist() for t in tables.of[0]]
    for t, own in enumerate(map(tuple, tables.own.tolist())):
        law = naive.repaired_outcomes(own, units, tables.denominator, weights[0].tolist(), 1)
        seen = Counter(map(tuple, drawn[t * times : (t + 1) * times].tolist()))
        assert set(seen) <= set(law)
        pairs = [(seen[row], times * float(p)) for row, p in law.items()]
        statistic = sum((n - expected) ** 2 / expected for n, expected in pairs)
        assert chdtrc(max(len(pairs) - 1, 1), statistic) > 1e-7


def test_weights_are_the_papers():
    """The greatest distance in the group over that in the table, in parts of 2^20; 0 where the
    group has one value.
    """
    microdata = encoded()
    draft = PapersWay(delta="1/3").publish(microdata, Memory(), Randomness.seeded(1))
    outputs, age = draft.evidence, microdata.columns["age"]
    codes = np.empty(microdata.rows, np.int64)
    codes[draft.groups - 1] = age.codes
    for g in range(len(outputs.of)):
        places = age.domain.normalised[codes[outputs.group == g]]
        share = places.max() - places.min()
        assert outputs.weights[g, 0] == (round(2**20 * share) if share else 0)
        two = len(outputs.table(int(outputs.of[g, 1]))) == 2
        assert outputs.weights[g, 1] == (2**20 if two else 0)


def test_not_all_can_change():
    """Where not even all rows together vary on as many attributes, that is refused."""
    for rows, changes in (([(1, 1, "flu")] * 8, 1), ([(i, 1, "flu") for i in range(8)], 2)):
        with pytest.raises(MethodError, match="not even all rows together can all change"):
            PapersWay(delta="1/4", changes=changes).publish(
                simple(rows), Memory(), Randomness.seeded(1)
            )


def test_tables_are_those_of_every_attribute_by_itself():
    """They cost no more than ours, which change every tuple."""
    microdata = encoded()
    apart, ours = (
        way(delta="1/3", k=60, grouping="mondrian", outputs="least-cost").tables(microdata)
        for way in (PapersWay, PapersWay.__base__)
    )

    def cost(tables):
        problems: Problems = tables.problems
        counts = np.repeat(
            problems.counts, np.repeat(np.diff(problems.starts), np.diff(problems.starts))
        )
        return float((counts * problems.distances * tables.units).sum()) / tables.denominator

    assert apart.group.tolist() == ours.group.tolist()
    assert cost(apart) < cost(ours)


def test_the_sentence_of_the_document():
    """The command prints what changing rows afterwards does to delta."""
    ran = run_script("mutual_cover/papers_way.py", data=None)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip().endswith("the largest share of one tuple in a published value is 1")
