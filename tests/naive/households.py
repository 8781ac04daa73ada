# SPDX-License-Identifier: Apache-2.0
"""What is promised of households, by loops over rows of (household, group, value), after its words
alone.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

Row = tuple[Any, Any, Any]


def groups_of(household: Any, rows: Sequence[Row]) -> list[Any]:
    """Every group in which the household has a row, once for each."""
    return sorted(g for h, g, _ in rows if h == household)


def met(household: Any, rows: Sequence[Row]) -> set[Any]:
    """The households that have a row in a group of this one, itself among them."""
    where = groups_of(household, rows)
    return {h for h, g, _ in rows if g in where}


def stand_together(rows: Sequence[Row]) -> bool:
    """Whether households that meet anywhere have the same groups, with one row in each."""
    return all(
        groups_of(household, rows) == groups_of(other, rows) == sorted(set(groups_of(other, rows)))
        for household, _, _ in rows
        for other in met(household, rows)
    )


def fewest(rows: Sequence[Row]) -> int:
    """The fewest households that have a row in one group."""
    return min(len({h for h, g, _ in rows if g == group}) for _, group, _ in rows)


def largest_share(rows: Sequence[Row]) -> Fraction:
    """The largest part of the households met by one that have a member with one value."""
    return max(
        Fraction(len({h for h, _, v in rows if h in others and v == value}), len(others))
        for household, _, _ in rows
        for others in [met(household, rows)]
        for value in {v for _, _, v in rows}
    )


def kinds(
    rows: Sequence[tuple[Any, bool, tuple[Any, ...]]],
) -> Iterator[tuple[tuple[int, int], list[list[tuple[Any, ...]]]]]:
    """Households by how many rows they have and how many of them with a value: of each the
    quasi-identifiers of its members, ranked. ``rows``: the household, whether it lacks a value, and
    the quasi-identifiers.
    """
    homes: dict[Any, list[tuple[bool, tuple[Any, ...]]]] = {}
    for home, lacks, quasi in rows:
        homes.setdefault(home, []).append((lacks, quasi))
    found: dict[tuple[int, int], list[list[tuple[Any, ...]]]] = {}
    for members in homes.values():
        valued = sum(not lacks for lacks, _ in members)
        found.setdefault((len(members), valued), []).append([q for _, q in sorted(members)])
    for kind in sorted(found):
        yield kind, sorted(found[kind])
