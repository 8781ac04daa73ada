# SPDX-License-Identifier: Apache-2.0
"""Tables that others published: their groups are the rows that share all quasi-identifiers,
exactly as they are written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.data.names import check_names
from phalanx.data.sources.frames import check_index, to_polars
from phalanx.data.sources.reading import check_dates, refusing
from phalanx.data.sources.source import read_source
from phalanx.errors import ReleaseError, SourceError, did_you_mean, shown

_WIDEST: Final = 1 << 126
"""Whole numbers below this are held as such."""


@dataclass(frozen=True, eq=False)
class Foreign:
    """Another publisher's table as groups; ``groups`` and ``values`` have one entry per row."""

    quasi: tuple[str, ...]
    groups: pl.Series
    """The group of every row: 1 .. g in order of first appearance, or the values of the group
    column that was named.
    """
    sensitive: str | None
    values: pl.Series | None
    """The sensitive values; text from CSV is read as numbers where every cell is one, so that
    distances have an order.
    """
    others: Mapping[str, bool] = field(default_factory=dict)
    """The columns that were given no role, and of each whether it is another value in each row."""

    @classmethod
    def read(
        cls,
        source: Any,
        *,
        quasi: Sequence[str],
        sensitive: str | None = None,
        group: str | None = None,
    ) -> "Foreign":
        """Read a CSV or Parquet file, or a frame (Polars, pandas, Arrow, anything with the Arrow
        PyCapsule interface).

        Two rows share a group where every quasi-identifier has the same text: ``1`` and ``1.0``
        differ in a CSV file, null is a value of its own and neither ``NaN`` nor the empty text.
        With ``group`` the groups are those of that column instead. A pandas column of numbers
        writes both NaN and missing as NaN, so there they are one value.

        Raises ReleaseError where the file cannot be read, has no rows, lacks a column, or where one
        column is given two roles.

        >>> frame = pl.DataFrame({"age": ["2*", "2*", None], "ill": ["flu", "gout", "flu"]})
        >>> table = Foreign.read(frame, quasi=["age"], sensitive="ill")
        >>> table.groups.to_list()
        [1, 1, 2]
        """
        where = str(source) if isinstance(source, str | Path) else "the table"
        frame = _read_file(Path(source)) if isinstance(source, str | Path) else _of_frame(source)
        roles = [
            *quasi,
            *([] if sensitive is None else [sensitive]),
            *([] if group is None else [group]),
        ]
        for name in roles:
            if not isinstance(name, str):
                raise ReleaseError(
                    f"{shown(name)} is no name of a column; name the columns of {where} by texts."
                )
            if roles.count(name) > 1:
                raise ReleaseError(
                    f"column {name!r} is named {roles.count(name)} times; give it one role."
                )
            check_index(source, [name], ReleaseError)
            if name not in frame.columns:
                hint = (
                    did_you_mean(name, frame.columns)
                    or f"; it has {', '.join(map(repr, frame.columns[:8])) or 'none'}."
                )
                raise ReleaseError(f"{where} has no column {name!r}{hint}")
        if not quasi and group is None:
            raise ReleaseError(
                f"{where} needs at least one quasi-identifier, or a group column, to have groups;"
                " name them."
            )
        if frame.height == 0:
            raise ReleaseError(f"{where} has no rows; there is nothing to check.")
        groups = (
            _classes(frame.select(_text(frame[name]) for name in quasi))
            if group is None
            else _text(frame[group]).alias("group")
        )
        values = None if sensitive is None else _ordered(frame[sensitive])
        others = [name for name in frame.columns if name not in roles]
        return cls(
            tuple(quasi),
            groups,
            sensitive,
            values,
            {name: _tells_apart(frame[name]) for name in others},
        )


def _read_file(path: Path) -> pl.DataFrame:
    """All cells of a CSV as text; an empty cell is missing, a quoted empty one is the empty
    text.
    """
    try:
        return read_source(path, drop=None, text=None)
    except SourceError as refused:
        raise ReleaseError(str(refused)) from None


def _of_frame(source: Any) -> pl.DataFrame:
    """A table with every NaN that it has; one that is not read so as ``to_polars`` reads it, which
    names the column at fault.
    """
    unread = ReleaseError("")
    try:
        with refusing(unread):
            if isinstance(source, pl.LazyFrame):
                frame = source.collect()
            elif isinstance(source, pl.DataFrame):
                frame = source
            elif type(source).__module__.startswith("pandas"):
                frame = pl.from_pandas(source, nan_to_null=False)
            else:
                frame = pl.DataFrame(source)
            check_names(frame.columns, ReleaseError)
            for column in frame.get_columns():
                check_dates(column, ReleaseError)
            return frame
    except ReleaseError as refused:
        if refused is not unread:
            raise
    try:
        return to_polars(source, drop=None)
    except SourceError as refused:
        raise ReleaseError(str(refused)) from None


def _tells_apart(column: pl.Series) -> bool:
    """Whether each row has another value, of those that can be compared."""
    dtype = column.dtype
    if dtype.is_float() or dtype.is_nested() or dtype == pl.Object:
        return False
    values = column.drop_nulls()
    return 1 < len(values) == values.n_unique()


def _text(column: pl.Series) -> pl.Series:
    """Every cell as text, missing stays missing."""
    if column.dtype == pl.Binary:
        return column.bin.encode("hex")
    if column.dtype in (pl.Duration, pl.Time):  # whose text has no parts of a second
        return column.to_physical().cast(pl.String)
    if (
        column.dtype.is_nested()
        or column.dtype == pl.Object
        or isinstance(column.dtype, pl.BaseExtension)
    ):
        raise ReleaseError(
            f"column {column.name!r} holds {column.dtype}, and one value per cell is needed;"
            " flatten it."
        )
    return column.cast(pl.String)


def _classes(quasi: pl.DataFrame) -> pl.Series:
    """The equivalence class of every row, numbered from 1 in order of first appearance."""
    distinct = quasi.unique(maintain_order=True)
    numbered = distinct.with_columns(pl.Series("\0group", np.arange(1, distinct.height + 1)))
    return quasi.join(
        numbered, on=quasi.columns, how="left", nulls_equal=True, maintain_order="left"
    )["\0group"].alias("group")


def _ordered(values: pl.Series) -> pl.Series:
    """The sensitive column in a type whose order means something: numbers and dates as they are,
    else text. A number that is spelled in several ways is one value; codes with a zero before
    their digits are texts.
    """
    if values.dtype.is_numeric() or values.dtype.is_temporal():
        return values
    text = _text(values)
    numbers = text.cast(pl.Float64, strict=False)
    readable = numbers.null_count() == text.null_count() and not numbers.is_nan().any()
    if not readable or numbers.n_unique() == text.n_unique():
        return numbers if readable else text
    spelled = text.drop_nulls().unique(maintain_order=True)
    if spelled.str.contains(r"^\s*[+-]?0[0-9]").any():
        return text
    exactly: dict[Decimal, str] = {}
    try:
        first = [exactly.setdefault(Decimal(number), number) for number in spelled]
    except InvalidOperation:  # an exponent that no number has
        return text
    if len(exactly) == numbers.drop_nulls().n_unique():
        return numbers
    is_whole = all(
        number.is_finite() and number.copy_abs() < _WIDEST and number == number.to_integral_value()
        for number in exactly
    )
    # of whole numbers two may be one float
    one = [int(Decimal(number)) for number in first] if is_whole else first
    return text.replace_strict(spelled, pl.Series(one), default=None)
