# SPDX-License-Identifier: Apache-2.0
"""Registered persons who are not among the rows: who they are, and their quasi-identifiers over the
domains of the table and of the registry together.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import polars as pl

from phalanx.data.column import Column, check_missing, encode_column, kind_of, typed
from phalanx.data.persons import PersonKey
from phalanx.data.repeated import repeated
from phalanx.data.schema import Missing, Schema, Type
from phalanx.errors import SchemaError, SourceError, did_you_mean, listed


def absent(
    registry: pl.DataFrame, schema: Schema, key: PersonKey | None, persons: pl.Series | None
) -> tuple[pl.DataFrame, pl.Series]:
    """The registered persons who are not in the microdata: their quasi-identifiers, and their keyed
    hashes.
    """
    if schema.identifier is None or key is None or persons is None:
        raise SchemaError(
            "a registry is matched with the table by person and no identifier is declared; name the"
            " identifier column, or leave it out."
        )
    for name in (schema.identifier, *schema.quasi):
        if name not in registry.columns:
            hint = (
                did_you_mean(name, registry.columns) or "; it has " + listed(registry.columns) + "."
            )
            raise SchemaError(
                f"the {schema.role(name)} column {name!r} is not in the registry{hint}"
            )
    with _of_the_registry():
        hashes = key.hash(registry[schema.identifier]).alias("person")
        if twice := repeated(hashes):
            raise SourceError(
                f"{twice} row(s) repeat a person in identifier column {schema.identifier!r}; keep"
                " one row for each person."
            )
    lacking = ~hashes.is_in(persons.implode())
    return registry.select(schema.quasi).filter(lacking), hashes.filter(lacking)


def encode_together(values: pl.Series, listed: pl.Series, schema: Schema) -> tuple[Column, Column]:
    """An attribute of the microdata and of the registry, over one domain; of what kind it is, the
    microdata say.
    """
    hierarchy = schema.hierarchies.get(values.name)
    kind = kind_of(values, schema.types.get(values.name), hierarchy)
    ours = typed(values, kind)
    with _of_the_registry():
        if kind == "date" and listed.dtype.is_numeric():
            raise SchemaError(
                f"column {values.name!r} is {listed.dtype} and holds dates in the table; convert it"
                " at the source."
            )
        beside = typed(listed, kind_of(listed, kind, hierarchy))
        check_missing(beside, schema)
        ours, beside = _of_one_type(ours, beside, kind)
        if hierarchy is not None:
            hierarchy.leaves(beside.unique().drop_nulls())
    both = encode_column(pl.concat([ours, beside.alias(ours.name)]), schema)
    return replace(both, codes=both.codes[: len(ours)]), replace(
        both, codes=both.codes[len(ours) :]
    )


def _of_one_type(first: pl.Series, beside: pl.Series, kind: Type) -> tuple[pl.Series, pl.Series]:
    """Both as the microdata's type where it holds the registry's values, else as the wider one."""
    if kind == "categorical":
        return first.cast(pl.String), beside.cast(pl.String)
    if first.dtype == beside.dtype:
        return first, beside
    if first.dtype.is_integer() and (
        beside.dtype.is_integer() or bool((beside == beside.round()).all())
    ):  # pandas has floats where a value is missing
        whole = [values.cast(pl.Int64, strict=False) for values in (first, beside)]
        if any(
            now.null_count() > before.null_count()
            for now, before in zip(whole, (first, beside), strict=True)
        ):
            raise SourceError(
                f"column {first.name!r} holds whole numbers beyond 64 bits; make it text at the"
                " source, here and in the table."
            )
        return whole[0], whole[1]
    return first.cast(pl.Float64), beside.cast(pl.Float64)


def of_persons(schema: Schema) -> Schema:
    """What of a schema is about a registry: the identifier and the quasi-identifiers."""
    missing: Mapping[str, Missing] = {
        name: "value" for name in schema.quasi if name in schema.may_be_missing
    }
    return Schema(
        identifier=schema.identifier,
        quasi=schema.quasi,
        types={n: kind for n, kind in schema.types.items() if n in schema.quasi},
        hierarchies={n: tree for n, tree in schema.hierarchies.items() if n in schema.quasi},
        missing=missing,
    )


@contextmanager
def _of_the_registry() -> Iterator[None]:
    """Says of an error that it is about the registry."""
    try:
        yield
    except (SchemaError, SourceError) as wrong:
        raise type(wrong)(f"in the registry: {wrong}") from None
