# SPDX-License-Identifier: Apache-2.0
"""Against somebody who knows the method: series under the global guarantee published from every
world, in exact fractions.

Everybody has each value with a fixed chance, by themselves and in every release anew. The adversary
knows that, the code, and the members and values of every group. What is carried on follows from
this, so that releases are judged one by one: the chance of having ever been linked is 1 less the
product over releases.
"""

from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import comb, prod
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import MethodError
from phalanx.methods.base import Memory
from phalanx.methods.global_guarantee import exposures, phases
from phalanx.methods.global_guarantee.draft import draft
from phalanx.methods.global_guarantee.emptied import Waiting
from phalanx.methods.global_guarantee.exposures import Demands
from phalanx.methods.global_guarantee.kernels.exposures import Hosts
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.methods.global_guarantee.uneven import hedged
from phalanx.randomness import Randomness
from worlds.choices import EveryRandomness, as_they_stand, enumerated

AGES = (1, 2, 4, 7, 11, 16, 22, 29, 37)
HALF = Fraction(1, 2)
PAGES = Path(__file__).resolve().parents[2] / "docs" / "explanation"
PAGE = " ".join((PAGES / "global-guarantee.md").read_text(encoding="utf-8").split())
RARE = {"hiv": Fraction(1, 4), "none": Fraction(3, 4)}
KEY, SCHEMA = PersonKey(bytes(32)), Schema(identifier="who", quasi=["age"], sensitive="sick")


class Series:
    """All worlds of a series; ``ever``: the largest chance of having been linked, ``above``: how
    often it is above ``bound``.

    ``told``: how much more likely a value is for somebody who was published without one than it was
    before, at most; ``tells``: how often it is more likely.
    """

    def __init__(
        self,
        tables,
        prior=RARE,
        protected=("hiv",),
        bound=HALF,
        ages=lambda person: person,
        **parameters,
    ):
        self.method = GlobalGuarantee(
            **(
                {
                    "l": 2,
                    "protect": list(protected),
                    "expected_later": list(protected),
                    "strategy": "constant-ratio",
                    "horizon": 1,
                }
                | parameters
            )
        )
        self.tables, self.protected, self.bound, self.ages = tables, protected, bound, ages
        self.priors = prior if isinstance(prior, list) else [prior] * len(tables)
        self.ever, self.told = Fraction(0), Fraction(0)
        self.published, self._above, self._told = Fraction(0), Fraction(0), Fraction(0)
        self._follow((), Memory(), {}, Fraction(1))

    @property
    def above(self):
        return self._above / self.published

    @property
    def tells(self):
        return self._told / self.published

    def _follow(self, shown, memory, left, chance, told=False):
        if len(shown) == len(self.tables):
            self.published += chance
            self._above += chance * any(1 - x > self.bound for x in left.values())
            self._told += chance * told
            return
        persons, prior = self.tables[len(shown)], self.priors[len(shown)]
        outputs = defaultdict(lambda: [Fraction(0), defaultdict(Fraction), None])
        for values in product(prior, repeat=len(persons)):
            for probability, found in enumerated(
                lambda choices, values=values: self._publish(persons, values, memory, choices)
            ):
                if found is None:
                    continue
                weight = probability * prod(prior[value] for value in values)
                output, after = found
                seen = outputs[output]
                seen[0], seen[2] = seen[0] + weight, after
                for person, value in zip(persons, values, strict=True):
                    for one in self._of(value):
                        seen[1][person, one] += weight
        for output, (mass, held, after) in outputs.items():
            now, hidden, tells = dict(left), output[1], told
            for (person, value), weight in held.items():
                before = sum(chance for has, chance in prior.items() if value in self._of(has))
                if person in hidden:
                    self.told = max(self.told, weight / mass - before)
                    tells = tells or weight / mass > before
                else:
                    now[person, value] = now.get((person, value), 1) * (1 - weight / mass)
            self.ever = max(self.ever, *(1 - x for x in now.values()), 0)
            self._follow((*shown, output), after, now, chance * mass, tells)

    def _of(self, value):
        return [
            one
            for one in self.protected
            if (one in value if isinstance(value, frozenset) else one == value)
        ]

    def _publish(self, persons, values, memory, choices):
        """The groups (members and values), who was emptied or suppressed, and the memory; None for
        a refusal.
        """
        sick = [sorted(value) if isinstance(value, frozenset) else value for value in values]
        frame = pl.DataFrame(
            {
                "who": [f"p{p}" for p in persons],
                "age": [self.ages(p) for p in persons],
                "sick": sick,
            }
        )
        microdata = Microdata.encode(frame, SCHEMA, KEY)
        rng = EveryRandomness(choices, {"grouping": as_they_stand}, microdata.sensitive.codes)
        try:
            table = phases.recall(self.method.rules, microdata, memory)
            state = phases.decide(table, rng)
            made = draft(table, state, phases.expose(table, state), rng.stream("generalize"))
        except MethodError:
            return None
        emptied = np.flatnonzero(state.emptied)
        column = (made.suppressed.microdata or microdata).sensitive
        groups = defaultdict(lambda: ([], []))
        for person, group, code in zip(
            persons, made.groups.tolist(), column.codes.tolist(), strict=True
        ):
            groups[group][0].append(person)
            groups[group][1].append(str(column.domain.values[code]))
        suppressed_rows = groups.pop(0, ([], []))[0]
        output = tuple(
            sorted((tuple(members), tuple(sorted(shown))) for members, shown in groups.values())
        )
        hidden = frozenset(suppressed_rows) | {persons[row] for row in emptied}
        return (output, hidden), memory.after(made, None)


UNEVEN = [AGES[:5], AGES[5:7], AGES[:7]], [RARE, {"none": Fraction(1)}, RARE]
"""A table of five, which cannot be cut evenly; others; and all."""
JOINED = [(1, 2), (1, 4, 7, 11, 16), (4, 7, 22, 29, 37)], [{"flu": HALF, "none": HALF}, RARE, RARE]
"""One whose budget for another value is spent comes back alone, and the company they are given
comes back without them.
"""
BOTH = ("hiv", "flu")


@pytest.mark.parametrize("case", [UNEVEN, JOINED], ids=["uneven", "joined"])
def test_nobody_is_ever_linked_with_more_than_one_half(case):
    """Over all releases together, where budgets are spent at once."""
    series = Series(*case, BOTH)
    assert series.published > 0
    assert 0 < series.ever <= HALF
    assert series.above == 0


@pytest.mark.parametrize("case", [UNEVEN, JOINED], ids=["uneven", "joined"])
def test_what_is_laid_aside_is_as_what_is_carried(monkeypatch, case):
    """Of who leaves and returns the adversary learns the same, to the fraction, wherever what is known
    of them was kept meanwhile.
    """
    carried = Series(*case, BOTH)
    monkeypatch.setattr(exposures, "AWAY", 1)
    aside = Series(*case, BOTH)
    assert (aside.ever, aside.told, aside.published) == (
        carried.ever,
        carried.told,
        carried.published,
    )


def test_who_returns_without_their_past_is_caught(monkeypatch):
    """The broken twin: what was laid aside is not read again, and budgets are spent twice."""
    monkeypatch.setattr(exposures, "AWAY", 1)
    monkeypatch.setattr(exposures, "_left", lambda *_: pl.DataFrame())
    series = Series(*UNEVEN, BOTH)
    assert series.ever > HALF
    assert series.above > 0


def test_a_failed_uneven_cut_counted_by_its_share_is_caught(monkeypatch):
    """The broken twin: five with two holders counted as 2/5, where some are known to hold it with
    1/2.
    """
    monkeypatch.setattr(phases, "hedged", lambda hosts, *_: hosts)
    series = Series(*UNEVEN)
    assert series.ever == Fraction(4, 7)
    assert series.above > 0


def test_somebody_known_to_be_emptied_counted_as_company_is_caught(monkeypatch):
    """The broken twin: a group of two with one holder counted as 1/3 because of somebody who is
    published without a value, as everybody can compute.
    """

    def as_written(table, state, hosts, place, _):
        cuts = [(asked, rows[place[rows] >= 0]) for asked, rows in state.cuts]
        return place, hedged(hosts, place, cuts, table.rules.least)

    monkeypatch.setattr(phases, "exposing", as_written)
    alone = {
        "shown": lambda *asked: asked[1],
        "coin": lambda *_: Fraction(0),
        "may_be_hidden": lambda *_: True,
    }
    for (
        name,
        made,
    ) in (
        alone.items()
    ):  # in so small a table nobody else goes without a value, and one is emptied alone
        monkeypatch.setattr(Waiting, name, made)
    series = Series(*JOINED, BOTH)
    assert series.ever > HALF
    assert series.above > 0


CASES = {
    "three values, everybody twice": {
        "tables": [AGES[:5]] * 2,
        "prior": dict.fromkeys("abc", Fraction(1, 3)),
        "protected": "abc",
    },
    "two values": {
        "tables": [AGES[:5], AGES[1:5]],
        "prior": {"a": Fraction(1, 4), "b": Fraction(1, 4), "none": HALF},
        "protected": "ab",
    },
    "sets": {
        "tables": [AGES[:5], AGES[:3]],
        "prior": {
            frozenset("a"): Fraction(1, 4),
            frozenset("ab"): Fraction(1, 8),
            frozenset("b"): Fraction(1, 8),
            frozenset(): HALF,
        },
        "protected": "ab",
    },
    "a large share, three times": {
        "tables": [AGES[:5]] * 3,
        "prior": {"hiv": HALF, "none": HALF},
        "bound": Fraction(2, 3),
        "l": "3/2",
        "horizon": 2,
    },
    "geometric": {
        "tables": [AGES[:6]] * 3,
        "prior": {"hiv": Fraction(1, 8), "none": Fraction(7, 8)},
        "strategy": "geometric",
        "horizon": None,
    },
    "little to spare": {
        "tables": [AGES[:5], AGES[:6], AGES[1:6]],
        "strategy": "geometric",
        "horizon": None,
        "alpha": 1.01,
    },
    "adaptive": {
        "tables": [AGES[:6]] * 3,
        "prior": {"hiv": Fraction(1, 8), "none": Fraction(7, 8)},
        "strategy": "adaptive",
        "horizon": None,
    },
    "groups of three": {"tables": [AGES[:4], AGES[1:6], AGES[2:7]], "k": 3},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_it_holds_whatever_is_protected_and_however_budgets_are_spent(case):
    """Three values, sets, shares above one half, every strategy, k above l."""
    series = Series(**CASES[case])
    assert 0 < series.ever <= series.bound
    assert series.above == 0


def test_a_class_that_is_emptied_because_it_holds_too_much_is_told_about():
    """What no method can hide: four come back of whom too many hold it, so all are published
    without a value; how much that tells, and how often.
    """
    series = Series([AGES[:4]] * 2, strategy="geometric", horizon=None, alpha=1.01)
    said = (
        f"up to {float(RARE['hiv'] + series.told):.2f} instead of {float(RARE['hiv']):.2f}" in PAGE
        and f"{float(series.tells):.1%}".replace("%", " %") in PAGE
    )
    assert said, [series.told, series.tells]
    assert series.ever <= HALF
    assert series.told > 0


def lies(sizes, counts):
    """Every way in which values of these ``counts`` may lie in parts of these ``sizes``, and in how
    many ways it does.
    """
    if not counts:
        yield (), 1
        return
    for there in product(*(range(min(counts[0], size) + 1) for size in sizes)):
        if sum(there) == counts[0]:
            ways = prod(comb(size, held) for size, held in zip(sizes, there, strict=True))
            for others, more in lies(
                [size - held for size, held in zip(sizes, there, strict=True)], counts[1:]
            ):
                yield (there, *others), ways * more


def linked(n, parts, counts, most):
    """The largest chance of a member to hold each value, given that a cut of ``n`` rows failed;
    None where it cannot.
    """
    sizes = [n * (x + 1) // parts - n * x // parts for x in range(parts)]
    failed = [
        (where, ways)
        for where, ways in lies(sizes, counts)
        if any(held > q for there, q in zip(where, most, strict=True) for held in there)
    ]
    total = sum(ways for _, ways in failed)
    if not total:
        return None
    return [
        max(
            Fraction(sum(where[v][x] * ways for where, ways in failed), total * sizes[x])
            for x in range(parts)
        )
        for v in range(len(counts))
    ]


def hedge(n, counts, ratios):
    """What the method counts for one group of ``n`` rows."""
    v, rows = len(counts), np.arange(n)
    hosts = Hosts(
        np.array([0, v]),
        np.arange(v, dtype=np.int32),
        np.array(counts),
        np.array([n]),
    )
    none = np.zeros(0, dtype=np.int32)
    base = np.array([float(x) for x in ratios])
    asks = Demands(
        base,
        np.zeros(n, dtype=np.int32),
        np.zeros(2, dtype=np.int64),
        none,
        np.zeros(0, np.float32),
    )
    found = hedged(hosts, np.zeros(n, dtype=np.int64), [(asks, rows)], 2)
    return [Fraction(int(c), int(found.size[0])) for c in found.held]


def cuts():
    for n in (5, 7, 9, 10, 11):
        for v in (1, 2):
            for ratios in product((Fraction(3, 2), 2, Fraction(5, 2), 3, 4), repeat=v):
                for counts in product(range(1, n), repeat=v):
                    if sum(counts) <= n and all(
                        c * r <= n for c, r in zip(counts, ratios, strict=True)
                    ):
                        yield n, counts, ratios


def told_of(n, counts, ratios):
    return linked(n, 2, counts, [int((n // 2) / r) for r in ratios]) if n % 2 and n % 3 else None


def test_what_is_counted_after_a_failed_uneven_cut_is_never_too_little_and_within_the_ratio():
    """All ways in which one or two values can lie in up to eleven rows; what is counted is reached,
    so that less would be too little.
    """
    reached = 0
    for n, counts, ratios in cuts():
        told, counted = told_of(n, counts, ratios), hedge(n, counts, ratios)
        assert all(share * ratio <= 1 for share, ratio in zip(counted, ratios, strict=True))
        if told is not None:
            assert all(chance <= share for chance, share in zip(told, counted, strict=True)), (
                n,
                counts,
                ratios,
            )
            reached += any(
                chance == share > Fraction(c, n)
                for chance, share, c in zip(told, counted, counts, strict=True)
            )
    assert reached > 0


def test_a_survival_that_cannot_be_carried_exactly_is_not_asked_for():
    """1 - 1/43 is no whole number of the parts in which survival is carried: 44 rows may show one;
    43, whose share is 1/43, show nothing; 42 are refused.
    """

    def publish(n):
        frame = pl.DataFrame(
            {
                "who": [f"p{i}" for i in range(n)],
                "age": list(range(n)),
                "sick": ["hiv", *["none"] * (n - 1)],
            }
        )
        microdata = Microdata.encode(frame, SCHEMA, KEY)
        return GlobalGuarantee(l=43, protect=["hiv"]).publish(
            microdata, Memory(), Randomness.secure()
        )

    assert publish(44).suppressed.values == {}
    draft = publish(43)
    assert (
        draft.suppressed.microdata.sensitive.domain.values.gather(
            draft.suppressed.microdata.sensitive.codes
        ).null_count()
        == 43
    )
    with pytest.raises(MethodError, match="lower l"):
        publish(42)


def test_the_proof_for_one_value_in_two_parts_that_differ_by_a_row():
    """Its closed form, its two inequalities and its polynomial
    (docs/explanation/who-knows-the-method.md), for parts of up to 16 rows.
    """
    for m in range(1, 17):
        for q, c in (
            (most, count) for most in range(1, m + 1) for count in range(most + 1, 2 * most + 1)
        ):
            n, d, u = 2 * m + 1, 2 * q - c, m - q
            chance = {
                x: Fraction(comb(m, x) * comb(m + 1, c - x), comb(n, c))
                for x in range(max(0, c - m - 1), min(m, c) + 1)
            }
            failed = {x: p for x, p in chance.items() if x > q or c - x > q}
            less = sum((Fraction(c * m, n) - x) * p for x, p in failed.items())
            assert less == Fraction(
                (c - q) * (m + 1) * (d + 1) * comb(m, q) * comb(m, c - q),
                (m + 1 - c + q) * n * comb(n, c),
            )
            assert sum((x - q) * p for x, p in failed.items()) <= 0
            assert less <= (m + 1) * (Fraction(q, m) - Fraction(c, n)) * sum(failed.values())
            room = (m + 1) * (2 * u + 2 + d) * (m * d + q) - m * (q + 1) * (d + 1) * (u + 2 + d)
            assert (
                room
                == m * u * d**2 + u * ((m + 1) * (m - 1) + m * (u + 3)) * d + u * (q - 1) * (m + 2)
                >= 0
            )
            for part, held in (
                (m, 1),
                (m + 1, 0),
            ):  # nobody of either part is linked with more than q / m
                mine = sum((x if held else c - x) * p for x, p in failed.items())
                assert mine * m <= q * part * sum(failed.values())
