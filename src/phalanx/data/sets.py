# SPDX-License-Identifier: Apache-2.0
"""Attributes of which a person may have several values: a set is kept and published as one text,
its values in order with a separator between.
"""

from typing import Final

import numpy as np
import polars as pl

from phalanx.errors import SourceError

SEPARATOR: Final = "; "
"""Stands between the values of a set; no value may hold it."""
_MARK: Final = SEPARATOR.strip()
"""What separates the values in a text of any source; spaces around it mean nothing."""


def canonical(sets: pl.Series) -> pl.Series:
    """Every set as its one text: distinct values by code point, SEPARATOR between; the empty set is
    the empty text, a missing one stays missing.

    ``sets`` of shape (n,) are lists of texts or whole numbers, texts with a semicolon between the
    values, or whole numbers, which are sets of one. Two sets have the same text only if they are
    equal. Raises SourceError for lists of anything else, and for values in lists that a text cannot
    hold: missing, empty, with a semicolon or with spaces around them.

    >>> canonical(pl.Series([["rash", "fever"], ["fever"], [], None])).to_list()
    ['fever; rash', 'fever', '', None]
    >>> canonical(pl.Series(["rash ;fever;rash", ""])).to_list()
    ['fever; rash', '']
    """
    import pyarrow as pa

    pairs = members(sets)
    offsets = np.concatenate(
        [[0], np.cumsum(np.bincount(pairs["index"].to_numpy(), minlength=len(sets)))]
    )
    lists = pa.LargeListArray.from_arrays(
        pl.Series(offsets, dtype=pl.Int64).to_arrow(),
        pairs["value"].to_arrow().cast(pa.large_string()),
    )
    texts = pl.Series(sets.name, lists, dtype=pl.List(pl.String)).list.join(SEPARATOR)
    return texts.set(sets.is_null(), None) if sets.null_count() else texts


def members(sets: pl.Series) -> pl.DataFrame:
    """Every value of every set: ``index`` (the set's place in ``sets``) and ``value``, each pair
    once, by index and then by code point.

    ``sets`` as ``canonical`` takes them, or its texts; an empty set and a missing one have no
    members. Raises SourceError as ``canonical`` does.

    >>> members(pl.Series(["fever; rash", "", None, "fever"])).rows()
    [(0, 'fever'), (0, 'rash'), (3, 'fever')]
    """
    lists, of_lists = _lists(sets), sets.dtype.is_nested()
    written = lists.explode(empty_as_null=False, keep_nulls=False)
    if of_lists and written.null_count():
        raise _unfit(sets.name, written.null_count(), "are missing")
    spellings = written.unique()
    values = spellings.str.strip_chars()
    if of_lists:
        _check(sets.name, spellings, values)
    distinct = values.filter(values != "").unique().sort()
    q = max(len(distinct), 1)
    lookup = pl.DataFrame({"value": distinct, "code": np.arange(len(distinct))})
    spelled = pl.DataFrame({"spelling": spellings, "value": values}).join(
        lookup, on="value", how="left"
    )
    code = (
        written.to_frame("spelling")
        .join(spelled, on="spelling", how="left", maintain_order="left")["code"]
        .fill_null(-1)
        .to_numpy()
    )
    index = np.repeat(np.arange(len(sets)), lists.list.len().fill_null(0).to_numpy())
    pairs = (index * q + code)[code >= 0]
    pairs.sort()
    pairs = pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])] if len(pairs) else pairs
    return pl.DataFrame({"index": pairs // q, "value": distinct.gather(pairs % q)})


def _lists(sets: pl.Series) -> pl.Series:
    if sets.dtype == pl.String or sets.dtype.is_integer():
        return sets.cast(pl.String).str.split(_MARK)
    if not holds_sets(sets.dtype):
        raise SourceError(
            f"column {sets.name!r} holds {sets.dtype}, and a set is a list of texts or whole"
            " numbers, or a text with ';' between values; convert it at the source."
        )
    return sets.cast(pl.List(pl.String))


def holds_sets(dtype: pl.DataType) -> bool:
    """Whether a column of this type holds lists whose values may be those of a set: texts,
    categories or whole numbers.

    >>> holds_sets(pl.List(pl.Int64)), holds_sets(pl.List(pl.Float64)), holds_sets(pl.String)
    (True, False, False)
    """
    inner = dtype.inner if isinstance(dtype, pl.List | pl.Array) else None
    return inner is not None and (
        inner.is_integer() or inner in (pl.String, pl.Categorical, pl.Enum, pl.Null)
    )


def _check(name: str, spellings: pl.Series, values: pl.Series) -> None:
    for wrong, what in (
        (spellings == "", "are empty"),
        (spellings != values, "have spaces around them"),
        (spellings.str.contains(_MARK, literal=True), "hold a ';', which separates values"),
    ):
        if count := int(wrong.sum()):
            raise _unfit(name, count, what)


def _unfit(name: str, count: int, what: str) -> SourceError:
    return SourceError(
        f"{count} of the values in the lists of column {name!r} {what}; leave them out or rewrite"
        " them at the source."
    )
