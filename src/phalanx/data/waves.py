# SPDX-License-Identifier: Apache-2.0
"""The waves of a panel: one table with the rows of many releases, which a column tells apart."""

import re
from collections.abc import Iterable, Sequence
from datetime import time
from decimal import Decimal
from itertools import pairwise, zip_longest
from typing import Final

import polars as pl

from phalanx.errors import SourceError, did_you_mean, kind_of

_MOST_NAMED: Final = 12
_MIDNIGHT: Final = re.compile(
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]00:00(?::00(?:\.0+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?$"
)
"""A day, as a column of moments writes it."""
_WHOLE: Final = re.compile(r"^(-?[0-9]+)\.0+$")
_NUMBER: Final = r"-?[0-9]+(?:\.[0-9]+)?"
_CLOCK: Final = re.compile(r"[0-9]{1,2}(?::[0-9]{2})+(?:\.[0-9]+)?")
_SHORT: Final = re.compile(r"[0-9]{2}")
"""A year of two digits, or anything else."""
_PART: Final = re.compile(r"[0-9]+|[^\W0-9_]+|[\W_]+")
_YEAR: Final = re.compile(r"[12][0-9]{3}")


class NoneNextError(SourceError):
    """Which wave comes next is not known, or none does."""


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
    if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object, pl.Duration):
        raise SourceError(f"the column {column!r} can tell no waves; name one of numbers or texts.")
    if values.dtype.is_float():
        values = values.set(~values.is_finite(), None)
        if ((values == values.floor()) & (values.abs() < 2.0**63)).all():
            values = values.cast(pl.Int64)
        else:
            each = values.drop_nulls().unique()
            written = [f"{Decimal(repr(number)):f}" for number in each.to_list()]
            values = values.replace_strict(each, written, return_dtype=pl.String, default=None)
    if values.dtype == pl.Datetime and (values.dt.time() == time()).all():
        values = values.dt.date()
    texts = values.cast(pl.String).alias(column)
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
    the one that was published last that is not out.

    ``published`` has the wave of every release so far, None where it was not said. SourceError
    where the wave is out already, there is none to choose or their order is not sure
    (``NoneNextError``), or the one to choose is written in another way than the last, and may be out.
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
        raise NoneNextError(
            f"which wave release {len(published)} published is not known; say by --wave which is"
            " next."
        )
    if not waves:
        raise SourceError("the source has no rows, and so no wave; name another.")
    following = _next(
        waves,
        column,
        published,
        is_sure=table[column].dtype.is_numeric() or table[column].dtype.is_temporal(),
    )
    return following, table.filter(rows_of == following).drop(column)


def _next(
    waves: Sequence[str], column: str, published: Sequence[str | None], *, is_sure: bool
) -> str:
    """The first of some waves of a column that comes after the last that was published, and is not
    out. ``is_sure``: whether their order is, as that of numbers and times.
    """
    last = published[-1] if published else None
    if last is None:
        _refuse_unsure(() if is_sure else waves, column)
        return waves[0]
    out = {_place(w) for w in published if w is not None}
    left = [w for w in waves if _place(w) not in out]
    if not left:
        raise NoneNextError(
            f"all {len(waves)} wave(s) of the source are published, {last!r} last; add the"
            " rows of the next one to it."
        )
    following = next((w for w in left if _place(w) > _place(last)), None)
    if not _are_written_alike(last, wave := following or left[-1], waves):
        raise SourceError(
            f"waves were written like {last!r} and are now like {wave!r}, so that one may be out;"
            " write them alike at the source, or name one by --wave."
        )
    if following is not None:
        _refuse_unsure(() if is_sure else [last, *waves], column)
        return following
    if not all(w is not None and _are_written_alike(w, wave, waves) for w in published):
        # which may be one of them
        raise NoneNextError(
            f"no further wave comes after {last!r}, which was published last; add the rows of"
            " the next one to the source."
        )
    raise NoneNextError(
        f"no further wave comes after {last!r}, which was published last; name an earlier"
        f" one by --wave, such as {left[-1]!r}."
    )


def _refuse_unsure(waves: Iterable[str], column: str) -> None:
    """NoneNextError where two waves of a column may come in another order than they would be
    published in.
    """
    if unsure := next(filter(_is_unsure, pairwise(in_order(waves))), None):
        raise NoneNextError(
            f"whether {unsure[0]!r} comes before {unsure[1]!r} in {column!r} is not sure; name the"
            " next wave by --wave."
        )


def _is_unsure(neighbours: tuple[str, str]) -> bool:
    """Whether of two texts, in their order, another order may be meant: by words or signs, where a day
    or quarter stands before the year, or as ``1.10`` stands before ``1.9``. Single letters have their
    order.

    >>> [_is_unsure(w) for w in (("autumn", "spring"), ("Q1/20", "Q4/19"), ("1.10", "1.9"))]
    [True, True, True]
    >>> [_is_unsure(w) for w in (("2019b", "2020a"), ("W1-2018", "W2-2019"), ("w2", "w10"))]
    [False, False, False]
    """
    texts = [_plain(wave) for wave in neighbours]
    if all(re.fullmatch(_NUMBER, text) for text in texts):
        (first, places), (second, others) = (text.partition(".")[::2] for text in texts)
        return first == second and 0 < len(places) != len(others) > 0
    parts = list(zip_longest(*map(_PART.findall, texts), fillvalue=""))
    unlike = next((pair for pair in parts if pair[0] != pair[1]), None)
    if unlike is None:
        return False
    if not all(part.isdecimal() for part in unlike):
        first, second = unlike
        letters = len(first) == len(second) == 1 and (first + second).isascii()
        if not (letters and first.isalpha() and first.lower() < second.lower()):
            return True
    return not all(map(_YEAR.fullmatch, parts[0])) and _falls_by_year(parts, texts)


def _falls_by_year(parts: Sequence[tuple[str, str]], texts: Sequence[str]) -> bool:
    """Whether of two texts with a year behind other numbers the first is the later one."""
    years = [pair for pair in parts if all(map(_YEAR.fullmatch, pair))]
    if any(a != b for a, b in years):
        return any(a > b for a, b in years)
    behind = [pair for pair in parts[1:] if all(map(_SHORT.fullmatch, pair))]
    if not years and (not behind or all(map(_CLOCK.fullmatch, texts))):
        return False
    numbers = [tuple(map(Decimal, pair)) for pair in parts if all(p.isdecimal() for p in pair)]
    return [a for a, _ in reversed(numbers)] > [b for _, b in reversed(numbers)]


def _are_written_alike(published: str, wave: str, waves: Sequence[str]) -> bool:
    """Whether a wave is written like one that was published; if not, it may be the same, but where
    the one that was published is still among the waves.
    """
    return _writing(published) == _writing(wave) or _place(published) in map(_place, waves)


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


def _place(wave: str) -> tuple[str | Decimal, ...]:
    """Where a wave stands among others: its parts in turn, of which each second one is a number; a
    day stands where its midnight does, a whole number where it does with decimals.

    >>> _place("2020-01-11 00:00:00.000000") == _place("2020-01-11")
    True
    >>> _place("2019.0") == _place("2019")
    True
    """
    plain = _plain(wave)
    if re.fullmatch(_NUMBER, plain):
        return "", Decimal(plain), ""
    parts = re.split(r"([0-9]+)", plain)
    return tuple(Decimal(part) if i % 2 else part for i, part in enumerate(parts))


def _plain(wave: str) -> str:
    """A wave without the blanks around it, a midnight, and the decimals of a whole number."""
    return _WHOLE.sub(r"\1", _MIDNIGHT.sub(r"\1", wave.strip()))


def _writing(wave: str) -> list[str]:
    """How a wave is written: the texts around its numbers, of which there is one more.

    >>> _writing("w2-2019"), _writing("2019.5") == _writing("2020")
    (['w', '-', ''], True)
    """
    plain = _plain(wave)
    return re.split(_NUMBER if re.fullmatch(_NUMBER, plain) else r"[0-9]+", plain)
