# SPDX-License-Identifier: Apache-2.0
"""Which sensitive values are protected, which rows hold them, and how a row looks without some of
them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Codes, Ints
from phalanx.data.column import Column, check_beside_fractions
from phalanx.data.domain import Domain
from phalanx.data.microdata import Microdata
from phalanx.data.sets import SEPARATOR, members
from phalanx.errors import PlanError, did_you_mean


@dataclass(frozen=True, eq=False)
class Protected:
    """The protected values of every row, as compressed rows: row i holds ``codes[starts[i]:starts[i
    + 1]]``, ascending.
    """

    names: pl.Series
    """The protected values, shape (v,): those that the series remembers in their old order, then
    new ones.
    """
    permanent: Bools
    """Which of them are permanent, shape (v,)."""
    starts: Ints
    codes: Codes

    @classmethod
    def of(
        cls,
        column: Column,
        known: pl.Series,
        *,
        only: Sequence[Any] | None,
        never: pl.Series,
        permanent: Sequence[Any],
    ) -> "Protected":
        """The protected values of a column.

        ``known``: values whose places are taken; ``only``: the values that are protected, None for
        all but those in ``never``. All are of one type, as :func:`in_one_type` makes them.
        """
        pairs = _held(column.domain)
        kind = pairs["value"].dtype
        lasts = as_column(permanent, kind).implode()
        if only is not None:
            pairs = pairs.filter(
                pl.col("value").is_in(as_column([*only, *permanent], kind).implode())
            )
        elif len(never):
            pairs = pairs.filter(~pl.col("value").is_in(never.cast(kind).implode()))
        names = pl.concat([known.cast(kind).alias("value"), pairs["value"].unique().sort()]).unique(
            maintain_order=True
        )
        coded = pl.DataFrame({"value": names, "code": np.arange(len(names), dtype=np.int32)})
        pairs = pairs.join(coded, on="value", how="left", maintain_order="left").sort(
            "index", "code"
        )
        per_value = np.bincount(pairs["index"].to_numpy(), minlength=len(column.domain)).astype(
            np.int64
        )
        first = np.concatenate([[0], np.cumsum(per_value)])
        sizes = per_value[column.codes]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        codes = pairs["code"].to_numpy()[
            np.repeat(first[column.codes] - starts[:-1], sizes) + np.arange(starts[-1])
        ]
        lasting = names.is_in(lasts).fill_null(value=False).to_numpy()
        return cls(names, lasting, starts, codes.astype(np.int32))

    @property
    def row_of(self) -> Ints:
        """The row of every entry of ``codes``."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def by(self, rows: Ints) -> Codes:
        """What some rows hold, in the order of the table."""
        wanted = np.zeros(len(self.starts) - 1, dtype=bool)
        wanted[rows] = True
        held: Codes = self.codes[np.repeat(wanted, np.diff(self.starts))]
        return held

    def only(self, shown: Bools) -> "Protected":
        """The same with only the entries that are marked."""
        per_row = np.bincount(self.row_of[shown], minlength=len(self.starts) - 1)
        starts = np.concatenate([[0], np.cumsum(per_row)]).astype(np.int64)
        return replace(self, starts=starts, codes=self.codes[shown])

    def with_strangers(self, n: int) -> "Protected":
        """The same with ``n`` more rows that hold nothing."""
        return replace(self, starts=np.concatenate([self.starts, np.full(n, self.starts[-1])]))


def in_one_type(column: Column, remembered: Sequence[pl.Series]) -> Column:
    """The column in a type that holds its values and those that the series remembers: a table of
    whole numbers follows one with fractions, and both are the same values.

    SchemaError where a whole number is too large to stand beside fractions.
    """
    values, name = column.domain.values, column.domain.values.name
    kinds = {
        each.dtype
        for each in (values.drop_nulls(), *remembered)
        if len(each) or each.dtype.is_numeric()  # every part of a release in parts alike
    }
    if kinds <= {values.dtype}:
        return column
    kind: pl.DataType = next(iter(kinds)) if len(kinds) == 1 else pl.String()
    if len(kinds) > 1 and all(each.is_numeric() for each in kinds):
        kind = pl.Float64() if any(each.is_float() for each in kinds) else pl.Int64()
    if kind.is_float():
        check_beside_fractions(name, (values, *remembered))
    return replace(column, domain=replace(column.domain, values=values.cast(kind)))


def check_named(
    column: Column, named: Mapping[str, Sequence[Any]], expected: Sequence[Any]
) -> None:
    """PlanError where a key of the plan names a value that no row has and that is not ``expected``
    later: mistyped, it would leave the true value unprotected.
    """
    members = _held(column.domain)
    rows = np.bincount(column.codes, minlength=len(column.domain))
    values_held = members.filter(pl.Series(rows[members["index"].to_numpy()] > 0))["value"].unique()
    for key, values in named.items():
        for value, is_there in zip(values, _is_among(values, values_held), strict=True):
            if not is_there and value not in expected:
                near = did_you_mean(str(value), values_held.cast(pl.String).to_list()) or "."
                raise PlanError(
                    f"[method] {key} names {value!r}, which no row has{near} Correct it, or list it"
                    " in expected_later too if it is yet to come."
                )


def _is_among(values: Sequence[Any], values_held: pl.Series) -> list[bool]:
    """Which values of a plan are among those of a column, as the column's type reads them."""
    read = as_column(values, values_held.dtype)
    return read.is_in(values_held.implode()).fill_null(value=False).to_list()


def as_column(values: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """Values of a plan as a column of a type has them, null for one that it cannot have."""
    read = [_read(pl.Series([value], strict=False), dtype) for value in values]
    return pl.concat([pl.Series([], dtype=dtype), *read])


def _read(value: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.Date:
        if value.dtype == pl.String:
            return value.str.to_date("%Y-%m-%d", strict=False)
        return value if value.dtype == pl.Date else pl.Series([None], dtype=dtype)
    read = value.cast(dtype, strict=False)
    fraction = dtype.is_integer() and value.dtype.is_float() and (read != value).any()
    return pl.Series([None], dtype=dtype) if fraction else read


def frequent(column: Column, share: float) -> pl.Series:
    """The values that are not among the ``share`` least frequent ones of a column (the paper
    protects the 10 % least frequent).
    """
    members = _held(column.domain)
    rows = np.bincount(column.codes, minlength=len(column.domain))
    counts = (
        members.with_columns(rows=rows[members["index"].to_numpy()])
        .group_by("value")
        .agg(pl.col("rows").sum())
        .sort("rows", "value")
    )
    return counts["value"][int(share * counts.height) :].sort()


def suppress(microdata: Microdata, taken: Mapping[int, set[Any]], emptied: Ints) -> Microdata:
    """The microdata with values taken out of some rows: a single value becomes missing, a set loses
    it.

    ``taken``: the values to take out, by row; ``emptied``: rows of which nothing is left, so that
    value and set are missing, shape (e,).
    """
    if not (taken or len(emptied)) or microdata.schema.sensitive is None:
        return microdata
    column = microdata.sensitive
    domain, concerned = column.domain, np.zeros(len(column.codes), dtype=np.bool_)
    concerned[emptied] = concerned[[*taken]] = True
    rows = np.flatnonzero(concerned)
    if domain.type == "set":
        empty = set(emptied.tolist())
        own = domain.values.gather(column.codes[rows]).to_list()
        texts = [
            (
                None
                if row in empty
                else SEPARATOR.join(v for v in text.split(SEPARATOR) if v and v not in taken[row])
            )
            for row, text in zip(rows.tolist(), own, strict=True)
        ]
        values = (
            pl.concat([domain.values, pl.Series(domain.values.name, texts, dtype=pl.String)])
            .unique()
            .sort()
        )
        coded = pl.DataFrame({"value": values, "code": np.arange(len(values), dtype=np.int32)})
        moved = (
            domain.values.alias("value")
            .to_frame()
            .join(coded, on="value", how="left", nulls_equal=True, maintain_order="left")["code"]
            .to_numpy()
        )
        codes = moved[column.codes]
        codes[rows] = (
            pl.DataFrame({"value": texts}, schema={"value": pl.String})
            .join(coded, on="value", how="left", nulls_equal=True, maintain_order="left")["code"]
            .to_numpy()
        )
    else:
        shift = 0 if domain.has_missing else 1
        values = (
            domain.values
            if domain.has_missing
            else pl.concat([domain.values.clear(1), domain.values])
        )
        codes = column.codes + np.int32(shift)
        codes[rows] = 0
    shown = Column(codes.astype(np.int32), Domain(domain.type, values, domain.hierarchy))
    return replace(microdata, columns={**microdata.columns, microdata.schema.sensitive: shown})


def _held(domain: Domain) -> pl.DataFrame:
    """(index, value): which single values each entry of a domain holds; a missing one holds
    none.
    """
    if domain.type == "set":
        pairs = members(domain.values)
        return pairs.select(pl.col("index").cast(pl.Int64), "value")
    return pl.DataFrame(
        {"index": np.arange(len(domain), dtype=np.int64), "value": domain.values}
    ).drop_nulls("value")
