# SPDX-License-Identifier: Apache-2.0
"""Publish an m-invariant series from every world, and see what the output says about the world.

A world gives every person a sensitive value (in each release, where values change). The adversary
knows everybody's quasi-identifier, who is in which table, and the method. Each world is published
by the method itself, once for every order that its one door to randomness may give; what is
published is a multiset of groups (ids and the order of rows are random). Bayes then gives the
probability of every person's value, in exact fractions.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import factorial, prod

import numpy as np
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import PhalanxError
from phalanx.methods.base import Memory
from phalanx.methods.m_invariance.method import MInvariance

KEY = PersonKey(bytes(32))
SCHEMA = Schema(identifier="who", quasi=["age"], sensitive="ill")
EVERY_ORDER = 6
"""Up to so many orders of a table's rows are all tried; of more, those that differ within the rows
of one value that are all new or all known.
"""


@dataclass(frozen=True)
class Order:
    """Stands in for the randomness of a release: the method is given one order, and publishes in
    another that does not matter.
    """

    given: tuple
    task: str = ""
    for_publication = False

    def stream(self, task):
        return replace(self, task=task)

    def permutation(self, n):
        return np.array(self.given if self.task == "m-invariance" else range(n), dtype=np.int64)


def orders(classes):
    """The orders of rows, equally likely, that have to be tried; ``classes``: what each row is,
    within which alone its order may matter.
    """
    if factorial(len(classes)) <= EVERY_ORDER:
        return list(permutations(range(len(classes))))
    alike = defaultdict(list)
    for row, kind in enumerate(classes):
        alike[kind].append(row)
    return [
        tuple(row for part in parts for row in part)
        for parts in product(*(permutations(rows) for rows in alike.values()))
    ]


def seen(form):
    """What a release shows: its groups, each with its rows, and how many of them are
    counterfeits.
    """
    counts = dict(form.counterfeits.iter_rows())
    groups = defaultdict(list)
    for group, *row in form.table.rows():
        groups[group].append(tuple(row))
    return tuple(
        sorted(
            (tuple(sorted(rows, key=str)), counts.get(group, 0)) for group, rows in groups.items()
        )
    )


@cache
def person(who):
    return KEY.hash(pl.Series([who]))[0]


class Series:
    """The tables of a series, as far as the adversary knows them: ``present[j]`` are the persons of
    release j, each with an age.
    """

    def __init__(self, method, ages, present):
        self.method, self.ages, self.present = method, ages, present
        self.known = {}

    def outputs(self, world):
        """Every output of one world, with its probability; ``world[j]``: the value of every person
        in release j.
        """
        states = {((), ((), (), ())): Fraction(1)}
        for persons, values in zip(self.present, world, strict=True):
            after = defaultdict(Fraction)
            for (shown, memory), chance in states.items():
                for (now, then), share in self.published(
                    persons, tuple(values[p] for p in persons), memory
                ).items():
                    after[(*shown, now), then] += chance * share
            states = after
        total = defaultdict(Fraction)
        for (shown, _), chance in states.items():
            total[shown] += chance
        return total

    def published(self, persons, values, memory):
        """What is published of one table, and what is remembered then, with probabilities."""
        if (persons, values, memory) not in self.known:
            known, entries, last = memory
            tables = {
                "persons": pl.DataFrame(
                    known, schema={"person": pl.Binary, "entry": pl.Int32}, orient="row"
                ),
                "signatures": pl.DataFrame(
                    entries,
                    schema={"entry": pl.Int64, "signature": pl.Int64, "value": pl.String},
                    orient="row",
                ),
            }
            given = Memory(
                len(entries),
                tables if known else {},
                pl.DataFrame({"person": last}, schema={"person": pl.Binary}) if known else None,
            )
            frame = pl.DataFrame(
                {"who": persons, "age": [self.ages[p] for p in persons], "ill": values}
            )
            microdata = Microdata.encode(frame, SCHEMA, KEY)
            everybody = {who for who, _ in known}
            tried = orders(
                [(value, person(p) in everybody) for p, value in zip(persons, values, strict=True)]
            )
            found = defaultdict(Fraction)
            for order in tried:
                found[self.one(microdata, given, order, memory)] += Fraction(1, len(tried))
            self.known[persons, values, memory] = found
        return self.known[persons, values, memory]

    def one(self, microdata, given, order, memory):
        try:
            draft = self.method.publish(microdata, given, Order(order))
        except PhalanxError:
            return "refused", memory
        known, entries, _ = memory
        more = sorted(draft.remember["persons"].rows())
        last = tuple(sorted(microdata.persons.filter(pl.Series(draft.groups > 0)).to_list()))
        return seen(draft.form), (
            (*known, *more),
            (*entries, *draft.remember["signatures"].rows()),
            last,
        )


class InParts(Series):
    """The same of a series in parts, of which each is published, and remembered, by itself; a
    release is refused where one of its parts is. ``part_of(j, p)``: the part of a person in release j.
    """

    def __init__(self, method, ages, present, part_of):
        super().__init__(method, ages, present)
        numbers = range(len(present))
        self.parts = sorted({part_of(j, p) for j in numbers for p in present[j]})
        self.persons = [
            [tuple(p for p in persons if part_of(j, p) == part) for part in self.parts]
            for j, persons in enumerate(present)
        ]

    def outputs(self, world):
        states = {((), (((), (), ()),) * len(self.parts)): Fraction(1)}
        for in_parts, values in zip(self.persons, world, strict=True):
            after = defaultdict(Fraction)
            for (shown, memories), chance in states.items():
                outcomes = [
                    self.published(persons, tuple(values[p] for p in persons), memory)
                    if persons
                    else {((), memory): Fraction(1)}
                    for persons, memory in zip(in_parts, memories, strict=True)
                ]
                for together in product(*(outcome.items() for outcome in outcomes)):
                    now = tuple(shown_now for (shown_now, _), _ in together)
                    then = tuple(memory for (_, memory), _ in together)
                    if "refused" in now:
                        now, then = "refused", memories
                    after[(*shown, now), then] += chance * prod(share for _, share in together)
            states = after
        total = defaultdict(Fraction)
        for (shown, _), chance in states.items():
            total[shown] += chance
        return total


def posteriors(
    series, worlds, facts=lambda world: {(p, v) for values in world for p, v in values.items()}
):
    """The largest probability of a fact, over everything that may be published; and the probability
    of what is published having one above ``bound``.

    ``worlds``: pairs of a world and its weight. Returns a function of the bound.
    """
    weight, of_fact = defaultdict(Fraction), defaultdict(lambda: defaultdict(Fraction))
    for world, prior in worlds:
        for shown, chance in series.outputs(world).items():
            if "refused" in shown:
                continue
            weight[shown] += prior * chance
            for fact in facts(world):
                of_fact[shown][fact] += prior * chance
    largest = {shown: max(found.values()) / weight[shown] for shown, found in of_fact.items()}
    total = sum(weight.values())

    def share_above(bound):
        return sum(weight[shown] for shown, top in largest.items() if top > bound) / total

    return max(largest.values()), share_above


def lasting(persons, multiset, releases):
    """Every way to give lasting values, as often as in the multiset, to persons."""
    return [
        ((dict(zip(persons, values, strict=True)),) * releases, Fraction(1))
        for values in sorted(set(permutations(multiset)))
    ]


def independent(persons, shares, releases):
    """Every way to give lasting values to persons, each drawn with its share."""
    found = []
    for values in product(shares, repeat=len(persons)):
        weight = Fraction(1)
        for value in values:
            weight *= shares[value]
        found.append(((dict(zip(persons, values, strict=True)),) * releases, weight))
    return found


def minvariance(balancing="exact", **parameters):
    return MInvariance(balancing=balancing, **({"m": 2} | parameters))
