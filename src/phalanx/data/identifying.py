# SPDX-License-Identifier: Apache-2.0
"""Whether a column names people, whatever its role says: whether hardly any value comes again."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from phalanx.data.column import doubled, plain_float
from phalanx.data.domain import Domain
from phalanx.data.repeated import Repeated
from phalanx.data.schema import Schema
from phalanx.errors import SchemaError

UNIQUENESS: Final = 0.9
"""A column of texts or whole numbers, stored with decimals or not, with more distinct values per row
than this is taken for an identifier.
"""
ROWS: Final = 50
"""Below this many rows uniqueness says nothing."""


def check_identifying(values: pl.Series, schema: Schema, domain: Domain | None = None) -> None:
    """SchemaError where ``values`` (n,), over a ``domain`` where they are encoded, name people."""
    is_set = domain is not None and domain.type == "set"
    if is_set or not _judged(values, schema):
        return
    present = _present(values)
    if _measures(present):
        return
    # Without a hierarchy the domain is just the distinct values, counted already.
    counted = domain is not None and domain.hierarchy is None
    distinct = (
        len(domain) - (len(present) < len(values))
        if domain is not None and counted
        else present.n_unique()
    )
    refuse(values.name, schema, distinct, len(present))


def refuse(name: str, schema: Schema, distinct: int, filled: int) -> None:
    """SchemaError where a column with so many distinct ones among so many values names people;
    missing ones say nothing.
    """
    if filled >= ROWS and distinct > UNIQUENESS * filled:
        ways = (
            "declare it as one, or drop it."
            if name in schema.keep
            else "declare it as one, drop it, or declare its type or hierarchy."
        )
        raise SchemaError(
            f"column {name!r} looks like an identifier ({distinct} distinct values in {filled} rows);"
            f" {ways}"
        )


def judged(head: pl.DataFrame, schema: Schema) -> list[str]:
    """The columns that could name people, by their types and what the schema says of them."""
    names = [*schema.quasi, *([schema.sensitive] if schema.sensitive else []), *schema.keep]
    return [name for name in names if _judged(head[name], schema)]


def check_whole(
    names: Sequence[str],
    schema: Schema,
    each: Callable[[Sequence[str]], Iterator[pl.DataFrame]],
    rows: int,
    room: int,
    place: Path,
) -> None:
    """The same of a table that is larger than the memory, of the columns in ``names`` of a ``schema``.

    ``each`` reads some columns of its ``rows`` rows, some rows at a time. Where enough values come
    again among rows that are read together, no more is read; else hashes of a column wait on the
    disk, in ``place``, and may take ``room`` bytes together.
    """
    again, filled = dict.fromkeys(names, 0), dict.fromkeys(names, rows)
    for batch in each(names) if rows >= ROWS else ():
        for name in [*again]:
            values = _present(batch[name])
            again[name] += len(values) - values.n_unique()
            filled[name] -= batch.height - len(values)
            if _measures(values) or filled[name] - again[name] <= UNIQUENESS * filled[name]:
                del again[name]
        if not again:
            return
    for name in again:
        with Repeated(rows, room, place) as repeated:
            for batch in each([name]):
                repeated.see_values(_present(batch[name]))
            refuse(name, schema, filled[name] - repeated.twice(), filled[name])


def _present(values: pl.Series) -> pl.Series:
    """Without those that are missing."""
    if values.dtype.is_float() or values.dtype.is_decimal():
        values = plain_float(doubled(values))
    return values.drop_nulls()


def _measures(present: pl.Series) -> bool:
    """Whether they are numbers of which one has decimals, as no number of a person has."""
    return present.dtype.is_float() and not bool((present % 1 == 0).all())


def _judged(values: pl.Series, schema: Schema) -> bool:
    """Sets differ from each other anyway; who declares the type or hierarchy of a column vouches for
    it, unless it is kept as it is.
    """
    name = values.name
    vouched = name not in schema.keep and (name in schema.hierarchies or name in schema.types)
    return (
        not vouched
        and schema.types.get(name) != "set"
        and (values.dtype.is_numeric() or values.dtype in (pl.String, pl.Categorical, pl.Enum))
    )
