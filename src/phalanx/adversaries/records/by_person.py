# SPDX-License-Identifier: Apache-2.0
"""What the omniscient adversary believes of each person of some groups, of whole releases some groups
at a time: nothing goes from one group to another, and all pairs of all groups may take gigabytes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phalanx.adversaries.naming import named_rightly
from phalanx.adversaries.records.assignments import Believed, Pairs, posterior
from phalanx.adversaries.records.kinds import Kinds, all_pairs, kinds_of, pairs_by_group
from phalanx.adversaries.records.outcomes import Outcomes
from phalanx.arrays import Bools, Floats, Ints, different, in_order, places_in
from phalanx.errors import ReleaseError
from phalanx.guarantees.mutual_cover.drawn_rows import DrawnRows

_AT_ONCE: Final = 1 << 18
"""Pairs of groups that are weighed at once."""


@dataclass(frozen=True, eq=False)
class Believes:
    """What is believed of one thing about each person, a row or a sensitive value."""

    own: Floats
    """How probable the person's own one is, shape (n,)."""
    named: Floats
    """How often the most probable one is the person's own, one of them where several are, shape (n,)."""
    largest: float
    """The largest probability of any."""

    @classmethod
    def of_all(cls, parts: Sequence["Believes"], order: Ints) -> "Believes":
        """Of the persons of all parts, in another order (n,)."""
        return cls(
            np.concatenate([each.own for each in parts])[order],
            np.concatenate([each.named for each in parts])[order],
            max(each.largest for each in parts),
        )


@dataclass(frozen=True, eq=False)
class ByPerson:
    """What is believed of some persons."""

    who: Ints
    """Their rows of the original table, shape (n,)."""
    count: Ints
    """How many rows are possible for each, shape (n,)."""
    exact: Bools
    """Whether probabilities are sums over all that may have happened, shape (n,)."""
    row: Believes
    value: Believes | None
    """None where there is no sensitive value."""

    @classmethod
    def of_all(cls, parts: Sequence["ByPerson"]) -> "ByPerson":
        """Of the persons of all parts, as they stand in the original table."""
        who = np.concatenate([each.who for each in parts])
        order = in_order(who)
        values = [each.value for each in parts if each.value is not None]
        return cls(
            who[order],
            np.concatenate([each.count for each in parts])[order],
            np.concatenate([each.exact for each in parts])[order],
            Believes.of_all([each.row for each in parts], order),
            Believes.of_all(values, order) if values else None,
        )


def by_person(
    drawn: DrawnRows,
    outcomes: Callable[[DrawnRows], Outcomes],
    values: tuple[Ints, Ints] | None,
    work: int | None,
) -> ByPerson:
    """What is believed of all persons of ``drawn``.

    ``outcomes``: how probable each row was; ``values``: the sensitive values of the rows of the
    original table, and those that their published rows show, shape (N,) each; ``work``: the budget
    of states, which all groups share; None: no bound, and then some groups are weighed at a time.

    Raises ReleaseError where a person's row cannot have been drawn.
    """
    parts = [drawn] if work is not None else _some_at_a_time(drawn)
    return ByPerson.of_all([_of_some(part, outcomes(part), values, work) for part in parts])


def _some_at_a_time(drawn: DrawnRows) -> Iterator[DrawnRows]:
    """The persons of whole groups that have few pairs together, or those of one group."""
    group = drawn.classes.group
    order, pairs = in_order(group), pairs_by_group(*kinds_of(drawn))
    ends = np.cumsum(np.bincount(group, minlength=len(pairs)))
    part = np.cumsum(pairs) // _AT_ONCE
    lasts = np.flatnonzero(np.diff(part, append=-1))  # a group that passes the bound begins a part
    begin = 0
    for end in ends[lasts].tolist():
        if end > begin:
            yield drawn.of_persons(np.sort(order[begin:end]))
        begin = end


def _of_some(
    drawn: DrawnRows, outcomes: Outcomes, values: tuple[Ints, Ints] | None, work: int | None
) -> ByPerson:
    """The same of all groups at once."""
    kinds = kinds_of(drawn)
    believed, (persons, rows) = believed_of(outcomes, kinds, work), (each.of for each in kinds)
    pairs, p, who = believed.pairs, believed.probability, drawn.classes.who
    many, r = pairs.rows[pairs.row], len(pairs.rows)
    own = places_in(persons * r + rows, pairs.person * r + pairs.row)
    count = np.bincount(pairs.person, weights=many, minlength=1).astype(np.int64)[persons]
    named = named_rightly(pairs.person, p, own, persons, many)
    return ByPerson(
        who,
        count,
        believed.exact[persons],
        Believes(p[own], named, float(p.max(initial=0))),
        None
        if values is None
        else _of_values(pairs, p, (persons, rows), values[0][who], values[1][who]),
    )


def believed_of(outcomes: Outcomes, kinds: tuple[Kinds, Kinds], work: int | None) -> Believed:
    """The posterior over all groups; ReleaseError where a person's row cannot have been drawn."""
    persons, rows = kinds
    person_of, row_of = np.zeros((2, len(persons.of)), dtype=np.int64)
    person_of[persons.first], row_of[rows.first] = persons.of[persons.first], rows.of[rows.first]
    possible = [
        outcomes.possible(persons.first[some], rows.first[others])
        for some, others in all_pairs(persons.group, rows.group)
    ]
    person, row, logs = (np.concatenate(side) for side in zip(*possible, strict=True))
    person, row = person_of[person], row_of[row]
    own = different(persons.of * len(rows.many) + rows.of)[0]
    missing = ~np.isin(persons.of * len(rows.many) + rows.of, person * len(rows.many) + row)
    if missing.any():
        raise ReleaseError(
            f"{int(missing.sum())} row(s) cannot have been drawn from the random output tables, so"
            " that these are those of another release; use the ledger that it was published with."
        )
    own_kinds = own // len(rows.many), own % len(rows.many)
    return posterior(
        Pairs.of_kinds(person, row, logs, (persons.many, rows.many), own_kinds), work=work
    )


def _of_values(
    pairs: Pairs, probability: Floats, kinds: tuple[Ints, Ints], own: Ints, shown: Ints
) -> Believes:
    """What is believed of the sensitive values of persons, whose ``own`` is (n,), and whose rows have
    those that are ``shown`` (n,); ``kinds``: of persons and of rows, shape (n,) each.
    """
    persons, rows = kinds
    person, value, mass = _by_value(pairs, probability, rows, shown)
    q = max(int(each.max(initial=0)) for each in (value, own)) + 1
    at = places_in(persons * q + own, person * q + value)
    return Believes(
        np.where(at >= 0, np.append(mass, [0.0])[at], 0.0),
        named_rightly(person, mass, at, persons),
        float(mass.max(initial=0)),
    )


def _by_value(
    pairs: Pairs, probability: Floats, row: Ints, value: Ints
) -> tuple[Ints, Ints, Floats]:
    """Kinds of persons and the sensitive values that they may have, with their probabilities;
    ``row`` and ``value`` (n,): the kind and the value of every row.
    """
    q = int(value.max(initial=0)) + 1
    held, place = different(row * q + value)
    many, of = np.bincount(place, minlength=len(held)), held // q
    begins, ends = (np.searchsorted(of, pairs.row, side=side) for side in ("left", "right"))
    length = ends - begins
    at = np.repeat(begins - np.cumsum(length) + length, length) + np.arange(int(length.sum()))
    keys, key = different(np.repeat(pairs.person, length) * q + held[at] % q)
    mass = np.bincount(key, weights=np.repeat(probability, length) * many[at], minlength=len(keys))
    return keys // q, keys % q, np.asarray(mass, dtype=np.float64)
