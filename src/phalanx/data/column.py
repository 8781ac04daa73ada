# SPDX-License-Identifier: Apache-2.0
"""One attribute of a table: what type it has, and its values as codes over an ordered domain."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from phalanx.arrays import Codes
from phalanx.data import sets
from phalanx.data.domain import Domain
from phalanx.data.hierarchies.hierarchy import Bands, ByFrequency, Hierarchy, Prefix, Tree
from phalanx.data.schema import Schema, Type
from phalanx.data.sources.reading import check_dates
from phalanx.errors import SchemaError, SourceError


@dataclass(frozen=True, eq=False)
class Column:
    """One attribute: ``codes`` of shape (n,) into ``domain``."""

    codes: Codes
    domain: Domain


def encode_column(values: pl.Series, schema: Schema) -> Column:
    """The column over the domain of its values, or of its hierarchy; SchemaError or SourceError
    where they do not fit what the schema says.
    """
    name = values.name
    hierarchy = schema.hierarchies.get(name)
    kind = kind_of(values, schema.types.get(name), hierarchy)
    values = typed(values, kind)
    check_missing(values, schema)
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


def check_missing(values: pl.Series, schema: Schema) -> None:
    """SourceError where values are missing that the schema does not let be missing."""
    missing = values.null_count() + (int(values.is_nan().sum()) if values.dtype.is_float() else 0)
    if missing and values.name not in schema.may_be_missing:
        raise SourceError(
            f"column {values.name!r} is missing in {missing} of {len(values)} rows; say missing ="
            ' "value" in the schema to treat that as a value of its own, or fill it at the source.'
        )


def check_beside_fractions(name: str, parts: Sequence[pl.Series]) -> None:
    """SchemaError where some of the values of a series, which are in ``parts``, are fractions, and a
    whole number is too large to stand beside them: two such numbers would become one.
    """
    if any(part.dtype.is_float() for part in parts) and any(
        part.dtype.is_integer()
        and not part.cast(pl.Float64).cast(part.dtype, strict=False).equals(part)
        for part in parts
    ):
        raise SchemaError(
            f"column {name!r} holds whole numbers beyond 2**53, and fractions in this or an earlier"
            " release; make it text, under another series name."
        )


def infer_type(dtype: pl.DataType) -> Type:
    """Numbers are numeric, dates and timestamps date, lists of texts or whole numbers set, all else
    categorical.
    """
    if dtype.is_numeric():
        return "numeric"
    if sets.holds_sets(dtype):
        return "set"
    return "date" if dtype in (pl.Date, pl.Datetime) else "categorical"


def kind_of(values: pl.Series, declared: Type | None, hierarchy: Hierarchy | None) -> Type:
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
    if isinstance(hierarchy, Tree | Prefix | ByFrequency):
        if declared not in (None, "categorical"):
            raise SchemaError(
                f"column {name!r} is declared {declared} and has a hierarchy over text; declare it"
                " categorical, or give it bands."
            )
        return "categorical"
    kind = declared or suggested
    if isinstance(hierarchy, Bands) and kind != "numeric":
        way = (
            "leave it out, as intervals of dates need none"
            if kind == "date"
            else "declare it numeric, or give it a tree"
        )
        raise SchemaError(
            f"column {name!r} is {kind} and its hierarchy is in bands of numbers; {way}."
        )
    return kind


def typed(values: pl.Series, kind: Type) -> pl.Series:
    """The column in one canonical type: -0.0 is 0.0, NaN is missing, a timestamp is its day, a
    decimal the nearest float.
    """
    name, dtype = values.name, values.dtype
    if kind == "set":
        return sets.canonical(values)
    if dtype.is_float():
        values = plain_float(doubled(values))
    if kind == "categorical":
        return values if dtype.is_integer() else values.cast(pl.String)
    if kind == "date":
        try:
            days = (
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
        check_dates(days, SourceError)
        return days
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
    if values.dtype.is_float() and values.is_infinite().any():
        raise SourceError(
            f"column {name!r} is infinite in some rows; a position on a line is needed, so replace it"
            " at the source."
        )
    return values


def doubled(values: pl.Series) -> pl.Series:
    """A column of numbers in double precision, of single precision by the shortest decimals that tell
    its numbers: 0.3 is 0.3, and not 0.30000001192092896.

    >>> doubled(pl.Series([0.3, None], dtype=pl.Float32)).to_list()
    [0.3, None]
    """
    single = values.dtype == pl.Float32
    return (values.cast(pl.String) if single else values).cast(pl.Float64)


def plain_float(values: pl.Series) -> pl.Series:
    """The column with -0.0 as 0.0 and NaN as missing; adding 0.0 would not do, as Polars takes that
    for nothing to do.
    """
    filled = values.fill_nan(None)
    zero = (filled == 0).fill_null(value=False)
    return filled.set(zero, 0.0) if zero.any() else filled


def narrowed(values: pl.Series) -> pl.Series:
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
