# SPDX-License-Identifier: Apache-2.0
"""Households whose rows count as one: all households of one kind are points, and those that are
put together hide each other with all of their members.

A household is of a kind by how many rows it has, and how many of them have an applicable value;
both are public. Its members are ranked by their quasi-identifiers, the first of the schema first.
Of households that are put together the first members are a group, the second ones are another, and
so on: each of these groups has one row of each household, so that nothing is learned from a
household by comparing the groups of its members. Households with more rows than others would not be
hidden by them: of the values of a group they have the larger part.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from phalanx.arrays import Ints
from phalanx.data.column import Column
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import MethodError, SchemaError
from phalanx.guarantees.base import Guarantee
from phalanx.methods.base import Method
from phalanx.methods.not_applicable import rows_apart
from phalanx.randomness import Stream


@runtime_checkable
class Clustered(Protocol):
    """A method for which rows of one household can count as one, where the schema has a cluster."""

    @property
    def household_guarantees(self) -> list[Guarantee]:
        """What a release then promises beside what it promises of persons."""


def guarantees_of(method: Method, schema: Schema) -> list[Guarantee]:
    """What a release by this method promises under a schema."""
    if schema.cluster is not None and isinstance(method, Clustered):
        return [*method.guarantees, *method.household_guarantees]
    return method.guarantees


class Alike(NamedTuple):
    """Households of one kind."""

    members: Ints
    """Shape (h, s): the rows of each household, those with an applicable value first, else by
    rank.
    """
    valued: int
    """How many members have an applicable value."""


def check_takes(method: Method, schema: Schema) -> None:
    """SchemaError where households are declared, and the method covers persons only."""
    if schema.cluster is not None and not isinstance(method, Clustered):
        raise SchemaError(
            f"'cluster' is declared, and {method.name} covers persons and no households; use"
            " mondrian, or make one row of each household and drop the column."
        )


def grouped_households(
    microdata: Microdata,
    households: Ints,
    together: Callable[[Alike], Ints],
    least: Callable[[Alike], int],
    ties: Stream,
) -> Ints:
    """The group of every row, 0 .. g-1, shape (n,): ``together`` numbers, from 0, which households
    of one kind are put together, shape (h,).

    MethodError where of some kind there are fewer than ``least`` asks for.
    """
    kinds = list(_kinds(microdata, households, ties))
    few = [kind for kind in kinds if len(kind.members) < least(kind)]
    if few:
        sizes = sorted({kind.members.shape[1] for kind in few})
        alike = "size" + " and number of values" * bool(microdata.schema.not_applicable)
        raise MethodError(
            f"{sum(len(kind.members) for kind in few)} household(s), of"
            f" {', '.join(map(str, sizes))} row(s), are fewer than the {max(map(least, few))} of"
            f" their {alike} that a group needs; ask for smaller groups, or leave their rows out at"
            " the source."
        )
    groups, begun = np.empty(microdata.rows, dtype=np.int64), 0
    for kind in kinds:
        size, bundle = kind.members.shape[1], together(kind)
        groups[kind.members] = begun + bundle[:, None] * size + np.arange(size)
        begun += (int(bundle.max()) + 1) * size
    return groups


def _kinds(microdata: Microdata, households: Ints, ties: Stream) -> Iterator[Alike]:
    """All households, kind by kind; members that are equal in all quasi-identifiers are ranked at
    random, and not as the source has them.
    """
    lacks = np.zeros(microdata.rows, dtype=np.bool_)
    if microdata.schema.not_applicable:
        lacks[rows_apart(microdata)[1]] = True
    by_rank = [column.codes for column in reversed(microdata.quasi)]
    keys: list[Any] = [ties.permutation(microdata.rows), *by_rank, lacks, households]
    order = np.lexsort(keys)
    starts = np.flatnonzero(np.diff(households[order], prepend=-1))
    sizes = np.diff(starts, append=microdata.rows)
    valued = sizes - np.add.reduceat(lacks[order], starts, dtype=np.int64)
    for size, with_value in np.unique(np.stack([sizes, valued], axis=1), axis=0).tolist():
        of_kind = starts[(sizes == size) & (valued == with_value)]
        yield Alike(order[of_kind[:, None] + np.arange(size)], with_value)


def of_members(column: Column, members: Ints) -> list[Column]:
    """A quasi-identifier of the members of every household, by rank, each a column of shape (h,)."""
    return [Column(column.codes[rows], column.domain) for rows in members.T]
