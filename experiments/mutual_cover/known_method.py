# SPDX-License-Identifier: Apache-2.0
"""What an adversary who knows the method infers from mutual cover with an l: every small table that
could have been ours is published, and its output compared.

    python experiments/mutual_cover/known_method.py      # half a minute, no data needed

A world gives the values of a list to persons of given ages, in any order; all worlds are equally
likely. Each is published by the method's own groups and random output tables, every draw from these
is followed with its probability, and the adversary sees the published rows. All figures are exact.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import polars as pl
from census import Diverse, show

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PhalanxError
from phalanx.methods.mutual_cover.method import MutualCover

Row = dict[int, Fraction]
"""What a person publishes: age -> probability."""
World = tuple[str, ...]
Output = tuple[tuple[int, str], ...]
AGES = (1, 2, 4, 7, 11, 16)
HALF = Fraction(1, 2)
_TABLES = (
    (AGES, "aaabbc", HALF),
    (AGES, "aabbcc", HALF),
    (AGES[:3], "abc", HALF),
    (AGES[:4], "aabb", HALF),
    (AGES[:4], "abcd", HALF),
    (AGES[:4], "abcd", Fraction(1, 3)),
)


@dataclass(frozen=True)
class Published:
    """The tables of one world: of each person the row of its table, and its group."""

    rows: tuple[Row, ...]
    group: tuple[int, ...]


def published(method: MutualCover, ages: Sequence[int], world: World) -> Published | None:
    """The random output tables that the method makes of a world; None where it refuses."""
    microdata = Microdata.encode(
        pl.DataFrame({"age": ages, "ill": world}), Schema(quasi=["age"], sensitive="ill")
    )
    try:
        tables = method.tables(microdata)
    except PhalanxError:
        return None
    names, problems, rows = microdata.columns["age"].domain.values, tables.problems, []
    for table, own in zip(tables.table[:, 0], tables.own[:, 0], strict=True):
        codes = tables.codes[problems.starts[table] : problems.starts[table + 1]]
        units = tables.units[problems.cells[table] + own * len(codes) :][: len(codes)]
        rows.append(
            {
                names[int(c)]: Fraction(int(u), tables.denominator)
                for c, u in zip(codes, units, strict=True)
                if u
            }
        )
    return Published(tuple(rows), tuple(map(int, tables.group)))


def draws(made: Published) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Every way to draw all rows, with its probability. With one quasi-identifier, a person's own
    age has probability 0 and rows are independent.
    """
    for drawn in product(*(row.items() for row in made.rows)):
        probability = Fraction(1)
        for _, p in drawn:
            probability *= p
        yield tuple(age for age, _ in drawn), probability


def covers_are_diverse(made: Published, world: World, ages: tuple[int, ...], l: Fraction) -> bool:
    """Whether of all persons from whom a published age could stem, weighed by their probabilities,
    no value has more than 1/l.
    """
    for age, group in set(zip(ages, made.group, strict=True)):
        shares: Counter[str] = Counter()
        for row, value, other in zip(made.rows, world, made.group, strict=True):
            if other == group:
                shares[value] += row.get(age, Fraction(0))  # type: ignore[assignment]
        if l * max(shares.values()) > shares.total():
            return False
    return True


@dataclass(frozen=True)
class Inferred:
    """``refused``: the share of worlds and draws that are not published; the rest is of those that
    are.
    """

    refused: Fraction
    value: Fraction
    """The largest probability of a person's value, given the whole output."""
    above: Fraction
    """In what share of the publications somebody's is above 1/l."""
    certain: Fraction
    stems: Fraction
    """The largest probability that a published row stems from a person."""
    beyond: Fraction
    """In what share of the publications one is above delta."""


def inferred(
    method: MutualCover,
    ages: Sequence[int],
    values: str,
    l: Fraction,
    delta: Fraction,
    *,
    ask_covers: bool = False,
) -> Inferred:
    """What the outputs of all worlds say; with ``ask_covers`` a draw leaves only where the covers
    of all its values are diverse.
    """
    worlds = sorted(set(permutations(values)))
    seen: dict[Output, Fraction] = defaultdict(Fraction)
    holds: dict[Output, dict[tuple[int, str], Fraction]] = defaultdict(
        lambda: defaultdict(Fraction)
    )
    gives: dict[Output, dict[tuple[int, int], Fraction]] = defaultdict(
        lambda: defaultdict(Fraction)
    )
    for world in worlds:
        if (made := published(method, ages, world)) is None:
            continue
        for drawn, probability in draws(made):
            if ask_covers and not covers_are_diverse(made, world, drawn, l):
                continue
            output = tuple(sorted(zip(drawn, world, strict=True)))
            seen[output] += probability
            for person, (age, value) in enumerate(zip(drawn, world, strict=True)):
                holds[output][person, value] += probability
                gives[output][person, age] += probability / drawn.count(age)
    total = sum(seen.values(), Fraction(0))
    value = {output: max(holds[output].values()) / p for output, p in seen.items()}
    stems = {output: max(gives[output].values()) / p for output, p in seen.items()}

    def share(outputs: Iterator[Output]) -> Fraction:
        return sum((seen[output] for output in outputs), Fraction(0)) / total

    return Inferred(
        refused=1 - total / len(worlds),
        value=max(value.values()),
        above=share(o for o in seen if value[o] > 1 / l),
        certain=share(o for o in seen if value[o] == 1),
        stems=max(stems.values()),
        beyond=share(o for o in seen if stems[o] > delta),
    )


def cases() -> Iterator[tuple[str, str, Sequence[int], str, Inferred]]:
    """Every way to ask for l = 2, on several tables: (way, delta, ages, values, what is
    inferred).
    """
    for ages, values, delta in _TABLES:
        asked: dict[str, Any] = {"delta": delta, "outputs": "least-cost"}
        for way, method, ask_covers in (
            ("of groups", Diverse(**asked, l=2), False),
            ("of covers, else refused", MutualCover(**asked), True),
            ("not asked", MutualCover(**asked), False),
            ("not asked, alike", MutualCover(delta=delta), False),
        ):
            yield (
                way,
                str(delta),
                ages,
                values,
                inferred(method, ages, values, Fraction(2), delta, ask_covers=ask_covers),
            )


def main() -> None:
    def percent(share: Fraction) -> str:
        return f"{float(share):.0%}"

    def decimal(figure: Fraction) -> str:
        return f"{float(figure):.3g}"

    rows = [
        [
            " ".join(map(str, ages)),
            values,
            delta,
            way,
            percent(f.refused),
            decimal(f.value),
            percent(f.above),
            percent(f.certain),
            decimal(f.stems),
            percent(f.beyond),
        ]
        for way, delta, ages, values, f in cases()
    ]
    header = [
        "ages",
        "values",
        "delta",
        "l = 2",
        "refused",
        "largest value",
        "above 1/2",
        "certain",
        "largest stem",
        "above delta",
    ]
    show("Mutual cover in the eyes of who knows the method; exact", header, rows)


if __name__ == "__main__":
    main()
