# SPDX-License-Identifier: Apache-2.0
"""The microdata of one release: integer codes over ordered domains. Identifiers do not get past
this door.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.data import sets
from phalanx.data.domain import Domain
from phalanx.data.hierarchies.hierarchy import Bands, Hierarchy, Prefix, Tree
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Missing, Schema, Type
from phalanx.errors import SchemaError, SourceError, did_you_mean, listed

Codes = npt.NDArray[np.int32]

_IDENTIFIER_UNIQUENESS: Final = 0.9
"""A text or integer column with more distinct values per row than this is taken for an
identifier.
"""
_IDENTIFIER_ROWS: Final = 50
"""Below this many rows uniqueness says nothing."""


@dataclass(frozen=True, eq=False)
class Column:
    """One attribute: ``codes`` of shape (n,) into ``domain``."""

    codes: Codes
    domain: Domain


@dataclass(frozen=True, eq=False)
class Microdata:
    """A table about people, encoded.

    ``columns`` holds the quasi-identifiers and the sensitive attribute; ``kept`` the columns to
    publish as they are; ``persons`` the keyed hashes (None where the schema declares no identifier,
    or no key was given). ``registry`` holds the registered persons who are not among the rows, each
    once, over the same domains: their quasi-identifiers and nothing else.
    """

    schema: Schema
    rows: int
    columns: Mapping[str, Column]
    kept: pl.DataFrame
    persons: pl.Series | None
    registry: "Microdata | None" = None

    @classmethod
    def encode(
        cls,
        frame: pl.DataFrame,
        schema: Schema,
        key: PersonKey | None = None,
        registry: pl.DataFrame | None = None,
    ) -> "Microdata":
        """Encode a table; every column has a role, missing values follow the schema, nothing is
        silently dropped.

        ``registry``: a table of persons whom an adversary knows, with the identifier and all
        quasi-identifiers; its other columns are ignored. The domains hold the values of those of
        them who are not in ``frame``, too.

        Raises SchemaError (a column without a role, or one that looks like an identifier and is not
        declared; a registry without persons), SourceError (an empty table, a missing value that the
        schema refuses, a person twice).
        """
        _check_columns(frame, schema)
        if frame.height == 0:
            raise SourceError("the table has no rows; there is nothing to publish.")
        frame = frame.with_columns(
            _narrow(frame[name])
            for name in frame.columns
            if name != schema.identifier and name not in schema.drop
        )
        if registry is not None:
            return cls._encode_beside(frame, schema, key, registry)
        names = [*schema.quasi, *([schema.sensitive] if schema.sensitive else [])]
        columns = {name: _encode_column(frame[name], schema) for name in names}
        if schema.not_applicable and columns[str(schema.sensitive)].domain.type == "set":
            raise SchemaError(
                f"column {schema.sensitive!r} holds sets of values, and 'not_applicable' is about"
                " single ones; remove it, as an empty set says the same."
            )
        for name in schema.keep:
            _check_missing(frame[name], schema)
        for name in names:
            _check_identifying(frame[name], schema, columns[name].domain)
        for name in schema.keep:
            _check_identifying(frame[name], schema)
        persons = None
        if schema.identifier is not None and key is not None:
            persons = key.hash(frame[schema.identifier]).alias("person")
            if twice := frame.height - persons.n_unique():
                raise SourceError(
                    f"{twice} row(s) repeat a person in identifier column {schema.identifier!r}; a"
                    " release holds one row per person, so keep one of them."
                )
        return cls(schema, frame.height, columns, frame.select(schema.keep), persons)

    @classmethod
    def _encode_beside(
        cls, frame: pl.DataFrame, schema: Schema, key: PersonKey | None, registry: pl.DataFrame
    ) -> "Microdata":
        """The table by itself, and then its quasi-identifiers once more, over the domains of
        both.
        """
        alone = cls.encode(frame, schema, key)
        listed, persons = _absent(registry, schema, key, alone.persons)
        together = {
            name: _encode_together(frame[name], listed[name], schema) for name in schema.quasi
        }
        beside = cls(
            _of_persons(schema),
            listed.height,
            {name: c for name, (_, c) in together.items()},
            listed.select([]),
            persons,
        )
        return replace(
            alone,
            columns={**alone.columns, **{name: c for name, (c, _) in together.items()}},
            registry=beside,
        )

    def take(self, rows: npt.NDArray[np.int64]) -> "Microdata":
        """The given rows, in the given order, over the same domains; the registry stays as it
        is.
        """
        columns = {name: replace(c, codes=c.codes[rows]) for name, c in self.columns.items()}
        persons = None if self.persons is None else self.persons.gather(rows)
        kept = (
            self.kept[rows] if self.kept.width else self.kept
        )  # a frame without columns has no rows to take
        return replace(self, rows=len(rows), columns=columns, kept=kept, persons=persons)

    @property
    def quasi(self) -> list[Column]:
        """The quasi-identifiers, in the schema's order."""
        return [self.columns[name] for name in self.schema.quasi]

    @property
    def sensitive(self) -> Column:
        """The sensitive attribute; SchemaError where none is declared."""
        if self.schema.sensitive is None:
            raise SchemaError(
                "no sensitive attribute is declared, and this promise is about one; name it in"
                " 'sensitive'."
            )
        return self.columns[self.schema.sensitive]

    def check_single_valued(self, asked: str) -> None:
        """SchemaError where the sensitive attribute holds sets, and what is ``asked`` is about one
        value for each person.
        """
        if self.sensitive.domain.type == "set":
            raise SchemaError(
                f"column {self.schema.sensitive!r} holds sets of values, and {asked} is about one"
                " value for each person; use global-guarantee, or Mondrian with k alone."
            )


def _check_columns(frame: pl.DataFrame, schema: Schema) -> None:
    roles = schema.roles
    if not set(roles) & set(frame.columns):  # names may then be a row of values
        raise SchemaError(
            "none of the declared columns is in the table; see whether its first line names them."
        )
    for name, role in roles.items():
        if name not in frame.columns:
            raise SchemaError(
                f"the {role} column {name!r} is not in the"
                f" table{did_you_mean(name, frame.columns) or '; it has ' + listed(frame.columns) + '.'}"
            )
        if frame[name].dtype.is_nested() and role not in ("sensitive", "drop"):
            raise SchemaError(
                f"column {name!r} is {frame[name].dtype.base_type()} and is declared {role}; only"
                " the sensitive attribute may be a set of values, so drop it or flatten it at the"
                " source."
            )
    if without := [name for name in frame.columns if name not in roles]:
        raise SchemaError(
            f"column(s) {listed(without)} have no role; add each to identifier, quasi, sensitive,"
            " keep or drop."
        )


def _check_missing(values: pl.Series, schema: Schema) -> None:
    missing = values.null_count() + (int(values.is_nan().sum()) if values.dtype.is_float() else 0)
    if missing and values.name not in schema.may_be_missing:
        raise SourceError(
            f"column {values.name!r} is missing in {missing} of {len(values)} rows; say missing ="
            ' "value" in the schema to treat that as a value of its own, or fill it at the source.'
        )


def _check_identifying(values: pl.Series, schema: Schema, domain: Domain | None = None) -> None:
    """A whole-number or text column in which nearly every row differs names people, whatever its
    role says; sets differ from each other anyway.
    """
    name, rows = values.name, len(values)
    vouched = (domain is not None and domain.type == "set") or (
        name in schema.quasi and (name in schema.hierarchies or name in schema.types)
    )
    if (
        vouched
        or rows < _IDENTIFIER_ROWS
        or not (values.dtype.is_integer() or values.dtype in (pl.String, pl.Categorical, pl.Enum))
    ):
        return
    # Without a hierarchy the domain is just the distinct values, counted already.
    distinct = len(domain) if domain is not None and domain.hierarchy is None else values.n_unique()
    if distinct > _IDENTIFIER_UNIQUENESS * rows:
        raise SchemaError(
            f"column {name!r} looks like an identifier ({distinct} distinct values in {rows} rows);"
            " declare it as one, drop it, or declare its type or hierarchy."
        )


def plain_float(values: pl.Series) -> pl.Series:
    """The column with -0.0 as 0.0 and NaN as missing; adding 0.0 would not do, as Polars takes that
    for nothing to do.
    """
    filled = values.fill_nan(None)
    zero = (filled == 0).fill_null(value=False)
    return filled.set(zero, 0.0) if zero.any() else filled


def infer_type(dtype: pl.DataType) -> Type:
    """Numbers are numeric, dates and timestamps date, lists of texts or whole numbers set, all else
    categorical.
    """
    if dtype.is_numeric():
        return "numeric"
    if sets.holds_sets(dtype):
        return "set"
    return "date" if dtype in (pl.Date, pl.Datetime) else "categorical"


def _encode_column(values: pl.Series, schema: Schema) -> Column:
    name = values.name
    hierarchy = schema.hierarchies.get(name)
    kind = _kind(values, schema.types.get(name), hierarchy)
    values = _typed(values, kind)
    _check_missing(values, schema)
    if kind == "categorical" and (hierarchy is not None or name != schema.sensitive):
        values = values.cast(pl.String)
    if values.dtype.is_integer() and hierarchy is None and not values.null_count():
        return _encode_integers(values, kind)
    distinct = values.unique().drop_nulls()
    leaves = distinct.sort() if hierarchy is None else hierarchy.leaves(distinct).cast(values.dtype)
    domain = (
        pl.concat([pl.Series(name, [None], dtype=values.dtype), leaves])
        if values.null_count()
        else leaves
    )
    codes = pl.DataFrame({"value": values}).join(
        pl.DataFrame({"value": domain, "code": np.arange(len(domain), dtype=np.int32)}),
        on="value",
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )["code"]
    return Column(codes.to_numpy().astype(np.int32), Domain(kind, domain.alias(name), hierarchy))


def _absent(
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
        if twice := len(hashes) - hashes.n_unique():
            raise SourceError(
                f"{twice} row(s) repeat a person in identifier column {schema.identifier!r}; keep"
                " one row for each person."
            )
    absent = ~hashes.is_in(persons.implode())
    return registry.select(schema.quasi).filter(absent), hashes.filter(absent)


def _encode_together(values: pl.Series, listed: pl.Series, schema: Schema) -> tuple[Column, Column]:
    """An attribute of the microdata and of the registry, over one domain; of what kind it is, the
    microdata say.
    """
    hierarchy = schema.hierarchies.get(values.name)
    kind = _kind(values, schema.types.get(values.name), hierarchy)
    typed = _typed(values, kind)
    with _of_the_registry():
        if kind == "date" and listed.dtype.is_numeric():
            raise SchemaError(
                f"column {values.name!r} is {listed.dtype} and holds dates in the table; convert it"
                " at the source."
            )
        beside = _typed(listed, _kind(listed, kind, hierarchy))
        _check_missing(beside, schema)
        typed, beside = _of_one_type(typed, beside, kind)
        if hierarchy is not None:
            hierarchy.leaves(beside.unique().drop_nulls())
    both = _encode_column(pl.concat([typed, beside.alias(typed.name)]), schema)
    return replace(both, codes=both.codes[: len(typed)]), replace(
        both, codes=both.codes[len(typed) :]
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


@contextmanager
def _of_the_registry() -> Iterator[None]:
    """Says of an error that it is about the registry."""
    try:
        yield
    except (SchemaError, SourceError) as wrong:
        raise type(wrong)(f"in the registry: {wrong}") from None


def _of_persons(schema: Schema) -> Schema:
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


def _kind(values: pl.Series, declared: Type | None, hierarchy: Hierarchy | None) -> Type:
    """The declared type, else what the hierarchy or the data suggests; bands are over numbers,
    trees and prefixes over text, and sets have none.
    """
    name, suggested = values.name, infer_type(values.dtype)
    lists = suggested == "set"
    if (values.dtype.is_nested() and not lists) or values.dtype in (pl.Binary, pl.Object):
        raise SchemaError(
            f"column {name!r} is {values.dtype.base_type()}, which is neither a number, a date nor"
            " a category; drop it or flatten it at the source."
        )
    if lists and (declared not in (None, "set") or hierarchy is not None):
        raise SchemaError(
            f"column {name!r} holds lists, which are sets of values; declare it a set without a"
            " hierarchy, or flatten it at the source."
        )
    if isinstance(hierarchy, Tree | Prefix):
        if declared not in (None, "categorical"):
            raise SchemaError(
                f"column {name!r} is declared {declared} and has a hierarchy over text; declare it"
                " categorical, or give it bands."
            )
        return "categorical"
    kind = declared or suggested
    if isinstance(hierarchy, Bands) and kind != "numeric":
        raise SchemaError(
            f"column {name!r} is {kind} and its hierarchy is in bands of numbers; declare it"
            " numeric, or give it a tree."
        )
    return kind


def _typed(values: pl.Series, kind: Type) -> pl.Series:
    """The column in one canonical type: -0.0 is 0.0, NaN is missing, a timestamp is its day, a
    decimal the nearest float.
    """
    name, dtype = values.name, values.dtype
    if kind == "set":
        return sets.canonical(values)
    if dtype.is_float():
        values = plain_float(values.cast(pl.Float64))
    if kind == "categorical":
        return values if dtype.is_integer() else values.cast(pl.String)
    if kind == "date":
        try:
            return (
                values.str.to_date("%Y-%m-%d")
                if dtype == pl.String
                else values.dt.date()
                if dtype == pl.Datetime
                else values.cast(pl.Date)
            )
        except pl.exceptions.PolarsError:
            raise SchemaError(
                f"column {name!r} is declared date and is {dtype} with values that are not dates"
                " like 2026-01-31; convert it at the source."
            ) from None
    if dtype.is_decimal():
        exact, values = values, values.cast(pl.Float64)
        if values.n_unique() < exact.n_unique():
            raise SourceError(
                f"column {name!r} has decimals that differ beyond the 15 digits that a number"
                " keeps; round them at the source."
            )
    elif not dtype.is_numeric():
        try:
            values = (
                values.cast(pl.Int64)
                if dtype == pl.Boolean
                else values.cast(pl.String).cast(pl.Float64)
            )
        except pl.exceptions.PolarsError:
            raise SchemaError(
                f"column {name!r} is declared numeric and holds text that is not a number; declare"
                " it categorical or clean it at the source."
            ) from None
        if values.dtype.is_float():
            values = plain_float(values)
    if values.dtype.is_float() and (infinite := int(values.is_infinite().sum())):
        raise SourceError(
            f"column {name!r} is infinite in {infinite} of {len(values)} rows; a position on a line"
            " is needed, so replace it at the source."
        )
    return values


def _narrow(values: pl.Series) -> pl.Series:
    """Whole numbers of 128 bits, which no reader of Parquet knows, and those without a sign, as such
    of 64.
    """
    if values.dtype not in (pl.Int128, pl.UInt128, pl.UInt64):
        return values
    narrow = values.cast(pl.Int64, strict=False)
    if narrow.null_count() > values.null_count():
        raise _too_wide(values.name)
    return narrow


def _too_wide(name: str) -> SourceError:
    return SourceError(
        f"column {name!r} holds whole numbers beyond 64 bits; declare it identifier, drop it, or"
        " make it text at the source."
    )


def _encode_integers(values: pl.Series, kind: Type) -> Column:
    """Whole numbers of a small range are counted instead of sorted."""
    low, high = int(values.min()), int(values.max())  # type: ignore[arg-type]
    if not -(2**63) <= low <= high < 2**63:
        raise _too_wide(values.name)
    numbers = values.cast(pl.Int64).to_numpy()
    if high - low > 4 * len(values) + 1024:
        distinct, codes = np.unique(numbers, return_inverse=True)
        return Column(
            codes.astype(np.int32),
            Domain(kind, pl.Series(values.name, distinct).cast(values.dtype)),
        )
    offsets = numbers - low
    present = np.zeros(high - low + 1, dtype=bool)
    present[offsets] = True
    code_of = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return Column(
        code_of[offsets],
        Domain(kind, pl.Series(values.name, np.flatnonzero(present) + low).cast(values.dtype)),
    )
