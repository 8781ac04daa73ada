# SPDX-License-Identifier: Apache-2.0
"""Frames in, the same kind out: pandas, Polars, Arrow, and whatever speaks the Arrow PyCapsule
interface.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import polars as pl
import polars.selectors as cs

from phalanx.data.names import check_named, check_names
from phalanx.data.sets import holds_sets
from phalanx.data.sources.reading import check_dates, refusing
from phalanx.errors import PhalanxError, SourceError

_UUID: Final = "extension<arrow.uuid>"
_OF_PANDAS: Final[Mapping[str, str]] = {
    "pandas.period": "periods, which would be published as the numbers that pandas keeps of them;"
    " make them dates by .dt.to_timestamp(), or texts",
    "pandas.interval": "intervals, such as pandas.cut makes; make them texts by .astype(str), or give"
    " the numbers themselves",
}
"""What is said of a type that only pandas knows."""


def to_polars(table: Any, *, drop: Collection[str] | None = ()) -> pl.DataFrame:
    """The table as a Polars frame whose columns are numbers, texts, booleans, dates, timestamps, or
    lists of texts or whole numbers (sets of values).

    ``table`` is a pandas, Polars (eager or lazy), PyArrow or narwhals frame, or anything with
    ``__arrow_c_stream__``. A pandas index is not data and is ignored (see ``check_index``). Dictionary, categorical and
    enum columns become text, so that values which no row has stay behind. A missing value stays
    missing: pandas' NaN is one, NaN of the others is taken for one when the table is encoded.

    Raises SourceError for what is no table, for two columns of one name, and for a column of other
    lists, structs, bytes, times or periods that is not in ``drop`` (``None``: none is refused), and for
    a date outside the years 1 to 9999. What is dropped and cannot be read is missing.

    >>> to_polars(pl.DataFrame({"sex": ["f", "m"]}, schema={"sex": pl.Categorical})).dtypes
    [String]
    """
    table = _native(table)
    if isinstance(table, pl.LazyFrame):
        with refusing(
            SourceError(
                "the lazy table cannot be computed; collect it first, and see what is wrong."
            )
        ):
            table = table.collect()
    if isinstance(table, pl.DataFrame):
        frame = table
    elif _kind(table) == "pandas" and hasattr(table, "columns"):
        frame = _from_pandas(table, drop)
    elif hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        frame = _from_arrow(table, drop)
    else:
        raise SourceError(
            f"{type(table).__name__} is not a table; give a pandas, Polars or Arrow table, or the"
            " path of a file."
        )
    return _plain(frame, drop)


def apart(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows in memory of their own: texts that were chosen of many hold on to all of them."""
    return pl.DataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))


def like(table: Any, frame: pl.DataFrame) -> Any:
    """``frame`` as the kind of table that ``table`` is; what speaks Arrow only becomes a PyArrow
    table.

    >>> import pyarrow as pa
    >>> type(like(pa.table({"a": [1]}), pl.DataFrame({"b": [2]}))).__name__
    'Table'
    """
    native = _native(table)
    made: Any
    if isinstance(native, pl.DataFrame):
        made = frame
    elif isinstance(native, pl.LazyFrame):
        made = frame.lazy()
    elif _kind(native) == "pandas":
        made = _to_pandas(frame)
    elif _kind(native) == "pyarrow":
        made = frame.to_arrow()
        if type(native).__name__ == "RecordBatch":
            made = _one_batch(made)
    else:
        made = _like_other(native, frame)
    if native is table:
        return made
    import narwhals as nw

    return nw.from_native(made)


def check_index(
    table: Any, names: Collection[str], refusal: type[PhalanxError] = SourceError
) -> None:
    """Raise ``refusal`` where one of the names that are asked for is an index of a pandas table, and
    no column of it.

    >>> import pandas as pd
    >>> check_index(pd.DataFrame({"age": [30]}, index=pd.Index([7], name="person")), ["age"])
    """
    table = _native(table)
    if _kind(table) != "pandas" or not hasattr(table, "columns"):
        return
    columns = {str(name) for name in table.columns}
    for name in table.index.names:
        if name is not None and str(name) in {*names} - columns:
            raise refusal(
                f"{str(name)!r} is an index of the pandas table, and no index is read; make it a"
                " column by reset_index()."
            )


def _kind(table: Any) -> str:
    """The package that a frame's class comes from; asked by name, so that no package is imported
    for it.
    """
    return type(table).__module__.split(".")[0]


def _native(table: Any) -> Any:
    return table.to_native() if _kind(table) == "narwhals" else table


def _to_pandas(frame: pl.DataFrame) -> Any:
    """As Polars does it, in which whole numbers beside a missing one are floats; those that no float
    holds are of the type Int64 of pandas.
    """
    made = frame.to_pandas()
    for column in frame.select(cs.integer()).get_columns():
        in_floats = column.cast(pl.Float64).cast(column.dtype, strict=False)
        if column.null_count() and not in_floats.equals(column):
            whole = column.to_pandas(use_pyarrow_extension_array=True)
            made[column.name] = whole.astype("Int64")
    return made


def _from_pandas(table: Any, drop: Collection[str] | None) -> pl.DataFrame:
    names = [str(name) for name in table.columns]
    check_unique(names)
    _check_zones(table, names, drop)
    mixed = _mixed("the pandas table")
    try:
        with refusing(mixed):
            own = table.set_axis(names, axis=1).copy()  # numbers would stay those of the table
            return pl.from_pandas(own, include_index=False)
    except SourceError as refused:
        if refused is not mixed:
            raise
    columns = {name: partial(_of_pandas, table, i) for i, name in enumerate(names)}
    return _by_columns(columns, len(table), drop, "pandas")


def _check_zones(table: Any, names: Sequence[str], drop: Collection[str] | None) -> None:
    """SourceError where times of one column are of several zones: all would be read in that of the
    first row, and so be of another day for one row more.
    """
    for place, name in enumerate(names):
        if drop is not None and name in drop:
            continue
        values = table.iloc[:, place]
        if hasattr(values, "cat"):
            values = values.cat.categories.to_series()
        if values.dtype != object or not isinstance(next(iter(values.dropna()), None), datetime):
            continue
        if len({str(value.tzinfo) for value in values.dropna() if isinstance(value, datetime)}) > 1:
            raise SourceError(
                f"column {name!r} has times of several zones, whose days depend on the zone; convert"
                " them to one at the source."
            )


def _of_pandas(table: Any, place: int, refusal: SourceError) -> pl.Series:
    with refusing(refusal):
        column: Any = table.iloc[:, place].copy()
        return pl.Series(pl.from_pandas(column))


def _from_arrow(table: Any, drop: Collection[str] | None) -> pl.DataFrame:
    import pyarrow as pa

    what = type(table).__name__
    with refusing(
        SourceError(
            f"{what} cannot be read as a table through the Arrow interface; convert it to a PyArrow"
            " table at the source."
        )
    ):
        read = table if isinstance(table, pa.Table) else pa.table(table)
    check_unique(read.column_names)
    check_texts(read, drop or ())
    mixed = _mixed("the Arrow table")
    try:
        with refusing(mixed):
            frame = pl.from_arrow(read)
            frame = frame if isinstance(frame, pl.DataFrame) else frame.to_frame()
            uuids = [field.name for field in read.schema if str(field.type) == _UUID]
            return frame.with_columns(_as_text(frame[name]) for name in uuids)
    except SourceError as refused:
        if refused is not mixed:
            raise
    columns = {name: partial(_of_arrow, read, name) for name in read.column_names}
    return _by_columns(columns, read.num_rows, drop, "Arrow")


def check_texts(table: Any, drop: Collection[str]) -> None:
    """SourceError for a column of text that is none, as a database that asks for no encoding may
    hold; all else takes it for text until a value is looked at.
    """
    import pyarrow as pa

    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if name in drop or str(kind) not in ("string", "large_string", "string_view"):
            continue
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            raise SourceError(
                f"column {name!r} holds text that is not UTF-8; convert it at the source, or drop it."
            ) from None


def _of_arrow(table: Any, name: str, refusal: SourceError) -> pl.Series:
    with refusing(refusal):
        return pl.Series(pl.from_arrow(table.column(name)))


def _by_columns(
    columns: Mapping[str, Callable[[SourceError], pl.Series]],
    rows: int,
    drop: Collection[str] | None,
    kind: str,
) -> pl.DataFrame:
    """A table that is not read whole, column by column, so that the one at fault is named, and one
    that is dropped anyway is missing.
    """
    read = []
    for name, column in columns.items():
        try:
            read.append(column(_mixed(f"column {name!r} of the {kind} table")).alias(name))
        except SourceError:
            if name not in (drop or ()):
                raise
            read.append(pl.repeat(None, rows, dtype=pl.String, eager=True).alias(name))
    return pl.DataFrame(read)


def _mixed(what: str) -> SourceError:
    return SourceError(
        f"{what} holds values of several types, or of one that is not read; make them numbers,"
        " texts or dates at the source."
    )


def _one_batch(table: Any) -> Any:
    import pyarrow as pa

    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def _like_other(native: Any, frame: pl.DataFrame) -> Any:
    """Frames of the other packages that narwhals knows; else a PyArrow table."""
    import narwhals as nw

    wrapped = nw.from_native(native, eager_only=True, pass_through=True)
    if isinstance(wrapped, nw.DataFrame):
        return nw.from_arrow(frame.to_arrow(), backend=wrapped.implementation).to_native()
    return frame.to_arrow()


def check_unique(names: Sequence[str]) -> None:
    """SourceError where a table has two columns of one name."""
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise SourceError(f"the table has two columns called {twice!r}; rename one at the source.")


def _as_text(uuids: pl.Series) -> pl.Series:
    """Universally unique identifiers, of 16 bytes each, as they are written."""
    digits, parts = uuids.bin.encode("hex"), ((0, 8), (8, 4), (12, 4), (16, 4), (20, 12))
    written = pl.concat_str([digits.str.slice(*part) for part in parts], separator="-")
    return pl.select(written).to_series().alias(uuids.name)


def _plain(frame: pl.DataFrame, drop: Collection[str] | None) -> pl.DataFrame:
    check_names(frame.columns, SourceError)
    check_named(frame.columns, SourceError)
    extended = {n: kind for n, kind in frame.schema.items() if isinstance(kind, pl.BaseExtension)}
    for name, kind in extended.items():
        if drop is not None and name not in drop and kind.ext_name() in _OF_PANDAS:
            raise SourceError(f"column {name!r} holds {_OF_PANDAS[kind.ext_name()]}.")
    frame = frame.with_columns(
        frame[name].ext.storage() for name in extended
    )  # what they hold, as nothing can be done with the rest
    casts = []
    for name, dtype in frame.schema.items():
        if dtype in (pl.Categorical, pl.Enum, pl.Null):
            casts.append(pl.col(name).cast(pl.String))
        elif holds_sets(dtype):
            casts.append(pl.col(name).cast(pl.List(pl.String)))
        elif (
            drop is not None
            and name not in drop
            and (dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Time, pl.Duration))
        ):
            raise SourceError(
                f"column {name!r} holds {dtype.base_type()} values, which are neither numbers,"
                " texts nor dates; drop it, or flatten it at the source."
            )
        elif name not in (drop or ()):
            check_dates(frame[name], SourceError)
    with refusing(SourceError("the table holds text that is not UTF-8; convert it at the source.")):
        return frame.with_columns(casts) if casts else frame
