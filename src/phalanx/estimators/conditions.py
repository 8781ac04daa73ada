# SPDX-License-Identifier: Apache-2.0
"""What a query asks of a row: tests of single attributes, joined by and and or. Negations stand at
the tests, as SQL's three values need it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Kind = Literal["in", "below", "upto", "prefix", "missing"]
Aggregate = Literal["count", "sum", "mean"]


@dataclass(frozen=True)
class Comparison:
    """A test of one attribute: ``in`` the values, ``below`` or ``upto`` the one value, with a
    ``prefix``, or ``missing``.

    As in SQL no test is true of a missing value, negated or not, but ``missing`` itself. Tests are
    equal where their values are written alike: among texts 1, 1.0 and true are three, as are 0.0 and
    -0.0 two.
    """

    attribute: str
    kind: Kind
    values: tuple[Any, ...] = ()
    negated: bool = False
    _written: tuple[Any, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        written = self.values  # texts as they are: a copy of each may take gigabytes
        if not all(isinstance(value, str) for value in written):
            written = tuple((type(value), repr(value)) for value in self.values)
        object.__setattr__(self, "_written", written)


@dataclass(frozen=True)
class All:
    """True of a row of which every part is true; of every row where there are no parts."""

    parts: tuple["Condition", ...] = ()


@dataclass(frozen=True)
class Either:
    """True of a row of which some part is true."""

    parts: tuple["Condition", ...]


Condition = Comparison | All | Either


@dataclass(frozen=True)
class Query:
    """What is asked: how many rows, or the sum or mean of an attribute over them, of those rows of
    which ``where`` is true; once per value of ``by``.
    """

    aggregate: Aggregate
    of: str | None
    where: Condition
    by: tuple[str, ...] = ()


def negate(condition: Condition) -> Condition:
    """True of the rows of which the condition is false; of none of which it is unknown.

    >>> negate(All((Comparison("age", "below", (30,)), Comparison("sex", "in", ("f",)))))
    ... # doctest: +NORMALIZE_WHITESPACE
    Either(parts=(Comparison(attribute='age', kind='below', values=(30,), negated=True),
                  Comparison(attribute='sex', kind='in', values=('f',), negated=True)))
    """
    if isinstance(condition, Comparison):
        return replace(condition, negated=not condition.negated)
    parts = tuple(negate(part) for part in condition.parts)
    return Either(parts) if isinstance(condition, All) else All(parts)


def both(first: Condition, second: Condition) -> Condition:
    """True where both are."""
    parts = [
        part for one in (first, second) for part in (one.parts if isinstance(one, All) else (one,))
    ]
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def comparisons(condition: Condition) -> Iterator[Comparison]:
    """Every test in a condition, from left to right."""
    if isinstance(condition, Comparison):
        yield condition
    else:
        for part in condition.parts:
            yield from comparisons(part)
