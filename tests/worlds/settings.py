# SPDX-License-Identifier: Apache-2.0
"""Who is in which release, and all that they could have: the worlds that an adversary cannot tell
apart before anything is published.

The adversary knows everybody's quasi-identifiers and who is in which release. A world gives
everybody in every release a sensitive value (or a set of them, or a value and what is kept beside
it, or says that a registered person is absent).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from math import prod
from typing import Any

AGES = (1, 2, 4, 7, 11, 16, 22, 29, 37, 46, 56, 67)
"""Quasi-identifiers at growing distances, so that no two cuts are alike."""
ABSENT = None
"""What a registered person has who is not in the table."""

Value = Any
World = tuple[tuple[Value, ...], ...]
"""For each release, the values of those who are there, in their order."""


@dataclass(frozen=True)
class Beside:
    """A sensitive value, and the kept value that is published beside it."""

    value: str
    kept: str


@dataclass(frozen=True, eq=False)
class Setting:
    """``present``: the persons of each release; ``quasi``: their quasi-identifiers, by default the
    person's number as the only one.
    """

    present: tuple[tuple[int, ...], ...]
    worlds: tuple[World, ...]
    lasting: bool = True
    """Whether a person's value is one for all releases."""
    quasi: Mapping[int, tuple[Any, ...]] | None = None
    registry: bool = False
    """Whether everybody is registered, and those with the value ABSENT have no row."""
    records: bool = False
    """Whether what is asked is the value in each release by itself."""
    shown_only: bool = False
    """Whether only persons are asked about whose value is published, in the releases in which it
    is; of tables with one quasi-identifier.
    """
    declared: Mapping[str, Any] = field(default_factory=dict)
    """What the schema says beside the roles: hierarchies, and what a missing value is."""
    members: int = 1
    """How many persons, one after the other, are a household; what is asked is whether any of them
    has a value.
    """

    def quasi_of(self, person: int) -> tuple[Any, ...]:
        """The quasi-identifier values of a person."""
        return (person,) if self.quasi is None else tuple(self.quasi[person])

    @cached_property
    def domain(self) -> list[Value]:
        """All values that occur in some world, in a fixed order."""
        return sorted(
            {value for world in self.worlds for values in world for value in values}, key=repr
        )

    def draws(self, world: World) -> Iterator[list[Value]]:
        """The values that a prior draws: of each release those of newcomers, or where values come
        and go those of everybody. That somebody has none is public, and not drawn.
        """
        seen: set[int] = set()
        first: list[Value] = []
        none = self.declared.get("not_applicable", ())
        for persons, values in zip(self.present, world, strict=True):
            valued = [
                (person, value)
                for person, value in zip(persons, values, strict=True)
                if value not in none
            ]
            new = [value for person, value in valued if not self.lasting or person not in seen]
            seen |= {person for person, _ in valued}
            if self.lasting:
                first += new
            else:
                yield new
        if self.lasting:
            yield first


def once(
    values: Sequence[Value],
    *,
    quasi: Sequence[tuple[Any, ...]] | None = None,
    registry: bool = False,
    **declared: Any,
) -> Setting:
    """One release; all ways to give these values to as many persons."""
    there = AGES[: len(values)]
    of = None if quasi is None else dict(zip(there, quasi, strict=True))
    return Setting(
        (there,),
        tuple((world,) for world in orders(values)),
        quasi=of,
        registry=registry,
        declared=declared,
    )


def households(worlds: Sequence[tuple[Value, ...]], members: int, **declared: Any) -> Setting:
    """One release of households of so many ``members``, with these worlds."""
    return Setting(
        (AGES[: len(worlds[0])],),
        tuple((world,) for world in worlds),
        declared=declared,
        members=members,
    )


def beside_none(values: Sequence[Value], without: int) -> Setting:
    """One release; all ways to give these values to as many persons, and after them so many whose
    value is not applicable, as everybody knows.
    """
    there = AGES[: len(values) + without]
    worlds = tuple(((*given, *("-" * without)),) for given in orders(values))
    return Setting((there,), worlds, declared={"not_applicable": ["-"]})


def turning(
    *releases: tuple[Sequence[int], Sequence[Value], Sequence[int]], lasting: bool = True
) -> Setting:
    """For each release the persons with a value, the values of those of them who had none before
    (or of all, where values come and go), given to these in all ways, and the persons of whom
    everybody knows that they have none there.
    """
    one = series if lasting else passing
    valued = one(*((persons, values) for persons, values, _ in releases))
    return replace(
        valued,
        present=tuple((*persons, *without) for persons, _, without in releases),
        worlds=tuple(
            tuple(
                (*values, *("-" * len(without)))
                for values, (_, _, without) in zip(world, releases, strict=True)
            )
            for world in valued.worlds
        ),
        declared={"not_applicable": ["-"]},
    )


def anything(domain: Sequence[Value], n: int) -> Setting:
    """One release of ``n`` persons; everybody may have any value."""
    return Setting((AGES[:n],), tuple((world,) for world in product(domain, repeat=n)))


def series(*releases: tuple[Sequence[int], Sequence[Value]]) -> Setting:
    """Values that last: for each release the persons who are there, and the values of those of them
    who are new, given to these in all ways.
    """
    return _lasting([(tuple(persons), orders(values)) for persons, values in releases])


def any_series(domain: Sequence[Value], *present: Sequence[int]) -> Setting:
    """Values that last; everybody may have any value."""
    seen: set[int] = set()
    releases = []
    for persons in present:
        new = set(persons) - seen
        seen |= new
        releases.append((tuple(persons), list(product(domain, repeat=len(new)))))
    return _lasting(releases)


def passing(
    *releases: tuple[Sequence[int], Sequence[Value]],
    quasi: Mapping[int, tuple[Any, ...]] | None = None,
) -> Setting:
    """Values that come and go: for each release the persons and the values there, given to them in
    all ways, in each release anew.
    """
    worlds = tuple(product(*(orders(values) for _, values in releases)))
    return Setting(
        tuple(tuple(persons) for persons, _ in releases), worlds, lasting=False, quasi=quasi
    )


def orders(values: Sequence[Value]) -> list[tuple[Value, ...]]:
    """All different orders of these values."""
    return list(_orders(tuple(sorted(values, key=repr))))


@cache
def _orders(values: tuple[Value, ...]) -> list[tuple[Value, ...]]:
    """Those of values that are sorted."""
    places = {value: place for place, value in enumerate(values)}
    return [
        (first, *rest)
        for first, place in places.items()
        for rest in _orders(values[:place] + values[place + 1 :])
    ] or [()]


def _lasting(releases: Sequence[tuple[tuple[int, ...], Sequence[tuple[Value, ...]]]]) -> Setting:
    newcomers: list[list[int]] = []
    seen: set[int] = set()
    for persons, _ in releases:
        newcomers.append([person for person in persons if person not in seen])
        seen |= set(persons)
    worlds = []
    for given in product(*(ways for _, ways in releases)):
        has = {
            person: value
            for new, values in zip(newcomers, given, strict=True)
            for person, value in zip(new, values, strict=True)
        }
        worlds.append(tuple(tuple(has[person] for person in persons) for persons, _ in releases))
    return Setting(tuple(persons for persons, _ in releases), tuple(worlds))


def uniform(setting: Setting) -> list[Fraction]:
    """All worlds alike."""
    return [Fraction(1)] * len(setting.worlds)


def skewed(setting: Setting) -> list[Fraction]:
    """Everybody by themselves, each value half as likely as the one before it."""
    share = {value: Fraction(1, 2**i) for i, value in enumerate(setting.domain)}
    return [
        prod(
            (share[value] for values in setting.draws(world) for value in values), start=Fraction(1)
        )
        for world in setting.worlds
    ]


def contagious(setting: Setting) -> list[Fraction]:
    """An urn: each person has a value the more likely the more others have it, and the last values
    are the more frequent ones to begin with.
    """
    weight = {value: Fraction(i + 1, 2) for i, value in enumerate(setting.domain)}
    return [
        prod((_urn(weight, values) for values in setting.draws(world)), start=Fraction(1))
        for world in setting.worlds
    ]


def _urn(weight: Mapping[Value, Fraction], values: Sequence[Value]) -> Fraction:
    total, counts, chance = sum(weight.values()), dict(weight), Fraction(1)
    for drawn, value in enumerate(values):
        chance *= counts[value] / (total + drawn)
        counts[value] += 1
    return chance


PRIORS = {"uniform": uniform, "skewed": skewed, "contagious": contagious}
"""Priors that are exchangeable over persons; any other one is what an adversary knows of a person
beforehand, and no method bounds that.
"""
