# SPDX-License-Identifier: Apache-2.0
"""The waves of a panel: one table with the rows of many releases, which a column tells apart."""

import re
from collections.abc import Iterable, Sequence
from datetime import time
from itertools import pairwise
from typing import Final

import polars as pl

from phalanx.errors import SourceError, did_you_mean, kind_of

_MOST_NAMED: Final = 12
_MIDNIGHT: Final = re.compile(
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]00:00(?::00(?:\.0+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?$"
)
"""A day, as a column of moments writes it."""
_WHOLE: Final = re.compile(r"^(-?[0-9]+)\.0+$")


def waves_of(table: pl.DataFrame, column: str) -> pl.Series:
    """The wave of every row, as text; whole numbers without a fraction, as SPSS and Stata have
    none, and days without their midnight.

    SourceError where the table has no such column, or a row has no wave.

    >>> waves_of(pl.DataFrame({"year": [2018.0, 2019.0]}), "year").to_list()
    ['2018', '2019']
    """
    if column not in table.columns:
        raise SourceError(
            f"the source has no column {column!r}, which [source] wave"
            f" names{did_you_mean(column, table.columns) or '; correct the plan.'}"
        )
    values = table[column]
    if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object):
        raise SourceError(f"the column {column!r} can tell no waves; name one of numbers or texts.")
    if values.dtype.is_float() and values.is_finite().all() and (values == values.floor()).all():
        values = values.cast(pl.Int64, strict=False)
    if values.dtype == pl.Datetime and (values.dt.time() == time()).all():
        values = values.dt.date()
    texts = values.cast(pl.String)
    if blank := texts.null_count() + int((texts.str.strip_chars() == "").sum()):
        raise SourceError(
            f"{blank} row(s) have no {column!r}, which says their wave; complete them at the"
            " source."
        )
    return texts


def in_order(waves: Iterable[str]) -> list[str]:
    """Each wave once, numbers within texts by their size.

    >>> in_order(["w10", "w2", "w1", "w2"])
    ['w1', 'w2', 'w10']
    """
    return sorted(set(waves), key=_place)


def one_wave(
    table: pl.DataFrame, column: str, wave: str | None, published: Sequence[str | None]
) -> tuple[str, pl.DataFrame]:
    """A wave and its rows, without the column: the one that is asked for, or else the first after
    the one that was published last.

    ``published`` has the wave of every release so far, None where it was not said. SourceError
    where the wave is out already, or there is none to choose.
    """
    rows_of = waves_of(table, column)
    waves = in_order(rows_of)
    if alike := next(
        (pair for pair in pairwise(waves) if _place(pair[0]) == _place(pair[1])), None
    ):
        raise SourceError(
            f"the waves {alike[0]!r} and {alike[1]!r} in {column!r} are one; write them"
            " alike at the source."
        )
    if wave is not None:
        refuse_twice(wave, published)
        chosen = next((w for w in waves if _place(w) == _place(wave)), None)
        if chosen is None:
            some = ", ".join(waves[-_MOST_NAMED:]) or "none"
            hint = did_you_mean(wave, waves) or f"; its last ones are {some}."
            raise SourceError(f"the source has no wave {wave!r} in {column!r}{hint}")
        return chosen, table.filter(rows_of == chosen).drop(column)
    if published and published[-1] is None:
        raise SourceError(
            f"which wave release {len(published)} published is not known; say by --wave which is"
            " next."
        )
    last = _place(published[-1] or "") if published else None
    following = next((w for w in waves if last is None or _place(w) > last), None)
    if following is None:
        out = {_place(w) for w in published if w is not None}
        earlier = [w for w in waves if _place(w) not in out]
        if None in published and earlier:  # which may be one of them
            raise SourceError(
                f"no wave comes after {published[-1]!r}, which was published last; add the rows of"
                " the next one to the source."
            )
        if earlier:
            raise SourceError(
                f"no wave comes after {published[-1]!r}, which was published last; name an earlier"
                f" one by --wave, such as {earlier[-1]!r}."
            )
        raise SourceError(
            f"all {len(waves)} wave(s) of the source are published, {published[-1]!r} last; add the"
            " rows of the next one to it."
            if waves
            else "the source has no rows, and so no wave; name another."
        )
    return following, table.filter(rows_of == following).drop(column)


def refuse_twice(wave: str, published: Sequence[str | None]) -> None:
    """SourceError where a wave was published: a second release of the same rows can be laid beside
    the first; and where it is no text.
    """
    if not isinstance(wave, str):
        raise SourceError(f"the wave is {kind_of(wave)}; give it as a text, such as '2019'.")
    for number, out in enumerate(published, 1):
        if out is not None and _place(out) == _place(wave):
            raise SourceError(
                f"wave {out!r} was published as release {number}, and is not published again; name"
                " another one by --wave."
            )


def _place(wave: str) -> tuple[tuple[int, str], ...]:
    """Where a wave stands among others: its parts in turn, of which each second one is a number; a
    day stands where its midnight does, a whole number where it does with decimals.

    >>> _place("2020-01-11 00:00:00.000000") == _place("2020-01-11")
    True
    >>> _place("2019.0") == _place("2019")
    True
    """
    plain = _WHOLE.sub(r"\1", _MIDNIGHT.sub(r"\1", wave.strip()))
    parts = re.split(r"([0-9]+)", plain)
    return tuple(
        (len(digits), digits) if i % 2 and (digits := part.lstrip("0") or "0") else (0, part)
        for i, part in enumerate(parts)
    )
