# SPDX-License-Identifier: Apache-2.0
"""How the values of an attribute are ordered, and what its published values and the constants of a
query are in that order.
"""

import datetime as dt
import math
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.arrays import Bools, Integers, Ints, places_among
from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.errors import ReleaseError, did_you_mean
from phalanx.estimators.conditions import Comparison
from phalanx.release.manifest import PublishedAttribute

_EPOCH: Final = dt.date(1970, 1, 1)
_LAST: Final = "\U0010ffff"
_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.(?P<digits>\d+)(?P<offset>[+-]\d\d:\d\d)?"
)
"""A timestamp as Polars writes it, with all digits of its unit."""
FAR: Final = {
    "whole": (-(2**63), 2**63 - 1),
    "number": (-sys.float_info.max, sys.float_info.max),
}
"""The least and the greatest number that can be published: a constant beyond has no key."""


class Line:
    """How the values of an attribute are ordered: whole numbers, numbers, days, the leaves of a
    tree, or texts by code point.
    """

    def __init__(
        self, attribute: PublishedAttribute, columns: Sequence[pl.Series], *, cells: bool = False
    ) -> None:
        """``cells``: the ends are of declared cells, and not values that a person has."""
        self.attribute = attribute
        self.of_values = not cells and attribute.hierarchy is None
        self._columns = columns
        tree = declared_tree(attribute)
        self.tree = {} if tree is None else {path[0]: i for i, path in enumerate(tree.paths)}
        self.nodes = {} if tree is None else spans(tree)
        dtypes = [c.dtype for c in columns if c.null_count() < len(c)]
        numeric = bool(dtypes) and all(d.is_numeric() for d in dtypes)
        self.kind = (
            "leaf"
            if self.tree
            else "day"
            if attribute.type == "date"
            else "whole"
            if numeric
            else "text"
        )
        if numeric and any(d.is_float() or d.is_decimal() for d in dtypes):
            self.kind = "number"
        elif not dtypes and attribute.type == "numeric":
            self.kind = "number"  # no value is shown, and any may be behind
        self.moment = next((d for d in dtypes if isinstance(d, pl.Datetime)), None)
        """The type of kept timestamps, which are texts in their order; None for all else."""
        self.offsets: tuple[str, ...] = ("",)
        """How kept timestamps end in a CSV, such as ``+01:00``."""
        if self.moment is None and self.kind == "text" and attribute.role == "keep":
            self.moment, self.offsets = _written_times(columns)
        self.infinite = any(c.is_infinite().any() for c in columns if c.dtype.is_float())

    @property
    def continuous(self) -> bool:
        """Whether there are values between any two others."""
        return self.kind in ("number", "text")

    @property
    def numeric(self) -> bool:
        """Whether values can be added up."""
        return self.kind in ("whole", "number")

    def keys(self, values: pl.Series) -> npt.NDArray[Any]:
        """Published values as what sorts in their order; what stands for a missing one means
        nothing.
        """
        if self.kind == "leaf":
            return (
                values.replace_strict(self.tree, default=0, return_dtype=pl.Int64)
                .fill_null(0)
                .to_numpy()
            )
        if self.kind == "text":
            return np.array(values.cast(pl.String).fill_null("").to_list(), dtype=object)
        if self.kind == "day":
            return values.cast(pl.Date).to_physical().cast(pl.Int64).fill_null(0).to_numpy()
        return (
            values.cast(pl.Float64 if self.kind == "number" else pl.Int64).fill_null(0).to_numpy()
        )

    def constants(self, test: Comparison) -> list[Any]:
        """The keys of a test's constants; ReleaseError where they are no values of the
        attribute.
        """
        if self.kind == "text" and test.kind == "prefix":
            text = str(test.values[0])
            return [text, after(text)]
        if test.kind == "prefix":
            raise ReleaseError(
                f"{test.attribute!r} is no text, and LIKE asks for one; compare it by = or by IN."
            )
        if self.kind == "leaf" and test.kind in ("below", "upto"):
            raise ReleaseError(
                f"the values of {test.attribute!r} are leaves of a hierarchy and have no less or"
                " more; ask by = or by IN."
            )
        if self.kind == "text":
            return [text for value in test.values for text in self._texts(test, value)]
        return [key for value in test.values for key in self._constant(test, value)]

    def _texts(self, test: Comparison, value: Any) -> list[str]:
        """A constant as the published texts are written; one without a zone is in the column's."""
        name = test.attribute
        if self.moment is None:
            is_number = isinstance(value, Real | Decimal) and not isinstance(value, bool)
            if is_number and (test.kind != "in" or str(value) not in self._published):
                why = "" if test.kind == "in" else ", in which '10' is less than '9',"
                raise ReleaseError(
                    f"{name!r} is text{why} and is compared with {value!r}; write a text in 'single"
                    " quotes'."
                )
            if not isinstance(value, bool):
                return [str(value)]
            if not self._has_flags:
                raise ReleaseError(
                    f"{name!r} is text, and none of it is true or false; compare it with a text in"
                    " 'single quotes'."
                )
            return [str(value).lower()]
        if test.kind in ("below", "upto"):
            self._check_order(name, str(value))
        kind, written = _written_times([pl.Series([str(value)])])
        if kind == self.moment and written[0] in self.offsets:
            return [str(value)]  # as it is published, with all its digits
        try:
            moment = dt.datetime.fromisoformat(str(value))
            texts = [self._time(moment, self.moment, offset) for offset in self.offsets]
        except (ValueError, OverflowError, pl.exceptions.PolarsError):
            raise ReleaseError(
                f"{name!r} is a time and is compared with {value!r}; write it as '2026-01-31 12:00'."
            ) from None
        return {"below": [min(texts)], "upto": [max(texts)]}.get(test.kind, texts)

    def _check_order(self, name: str, text: str) -> None:
        """ReleaseError for a time with an offset where the published times, which stand in the order
        of clocks, may not be in that of moments: of several offsets, and of an hour that a zone has
        twice.
        """
        zone, twice = None if self.moment is None else self.moment.time_zone, False
        try:
            moment = dt.datetime.fromisoformat(text)
            if moment.tzinfo is not None and zone is not None:
                there = moment.astimezone(ZoneInfo(zone))
                twice = there.replace(fold=0).utcoffset() != there.replace(fold=1).utcoffset()
        except (ValueError, OverflowError):  # which is told as that
            return
        if moment.tzinfo is not None and (twice or len(self.offsets) > 1):
            raise ReleaseError(
                f"{name!r} is published by the clock, of several offsets, and cannot be in order with"
                f" {text!r}; leave the offset out, or ask by = or by IN."
            )

    @cached_property
    def _has_flags(self) -> bool:
        """Whether a published text is true or false, or none is there."""
        return not self._published or not self._published.isdisjoint(["true", "false"])

    @cached_property
    def _published(self) -> set[str]:
        """The published texts, looked up where a constant is none."""
        return {text for c in self._columns for text in c.drop_nulls().cast(pl.String).unique()}

    def _time(self, moment: dt.datetime, kind: pl.Datetime, offset: str) -> str:
        """A moment as it is written with one of the offsets."""
        zone: Any = None if kind.time_zone is None else ZoneInfo(kind.time_zone)
        if offset:
            zone = dt.datetime.fromisoformat(f"2026-01-01T00:00:00{offset}").tzinfo
        if moment.tzinfo is not None and zone is not None:
            moment = moment.astimezone(zone)
        there = pl.Series([moment.replace(tzinfo=None)], dtype=pl.Datetime(kind.time_unit))
        text = there.dt.replace_time_zone(
            kind.time_zone, ambiguous="latest" if moment.fold else "earliest"
        ).cast(pl.String)[0]
        return f"{text}{offset}"

    def _constant(self, test: Comparison, value: Any) -> Iterable[Any]:
        name = test.attribute
        if self.kind == "leaf":
            if (places := self.nodes.get(str(value))) is None:
                hint = (
                    did_you_mean(str(value), self.tree)
                    or "; it takes leaves and nodes of its hierarchy."
                )
                raise ReleaseError(f"{value!r} is no value of {name!r}{hint}")
            return places
        if self.kind == "day":
            try:
                return [
                    (
                        (value if isinstance(value, dt.date) else dt.date.fromisoformat(value))
                        - _EPOCH
                    ).days
                ]
            except (TypeError, ValueError):
                raise ReleaseError(
                    f"{name!r} is a date and is compared with {value!r}; write it as '2026-01-31'."
                ) from None
        if isinstance(value, bool | str | dt.date):
            raise ReleaseError(
                f"{name!r} is a number and is compared with {value!r}; write a number."
            )
        least, greatest = FAR[self.kind]
        if not least <= value <= greatest:
            return [value] if self.infinite and math.isinf(value) else []
        if self.kind == "number":
            return [float(value)]
        if value == int(value):
            return [int(value)]
        # between two whole numbers: nothing is equal to it, what is below it is below the next one,
        # and what is up to it is up to the one before
        return (
            []
            if test.kind == "in"
            else [math.ceil(value) if test.kind == "below" else math.floor(value)]
        )


@dataclass(frozen=True, eq=False)
class Keys:
    """Published values as what sorts in their order: the different ones, and which of them stands
    where.
    """

    different: npt.NDArray[Any]
    """In order, shape (d,), without the missing value."""
    which: Ints
    """Shape (n,); anything where the value is missing."""
    times: Ints
    """How often each stands, shape (d,)."""
    there: Bools
    """Where a value is not missing, shape (n,)."""

    @classmethod
    def of(cls, line: Line, values: pl.Series) -> "Keys":
        """The keys of a published column; each different text is looked at once."""
        present = values.drop_nulls()
        if line.kind in ("leaf", "text"):
            texts = present.cast(pl.String)
            once = texts.unique()
            different, key = np.unique(line.keys(once), return_inverse=True)
            of_each = key[places_among(texts, once)]
        else:
            different, of_each = np.unique(line.keys(present), return_inverse=True)
        which, there = np.zeros(len(values), dtype=np.int64), values.is_not_null().to_numpy()
        which[there] = of_each
        return cls(different, which, np.bincount(of_each, minlength=len(different)), there)

    def of_entries(self, place: Integers | None) -> "Keys":
        """The same where each value stands for the entries that have its ``place``, shape (e,); None:
        for one.
        """
        if place is None:
            return self
        many = np.bincount(place, minlength=len(self.which))[self.there]
        times = np.bincount(self.which[self.there], many, minlength=len(self.different))
        return replace(self, times=times.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Known:
    """All published ends of an attribute."""

    values: npt.NDArray[Any]
    """Their keys in order, shape (d,); of a tree all leaves."""
    cut: Ints
    """Of texts that are published in intervals, how often some end at one and as often others begin
    at the next, between which there can hardly be any then; shape (d - 1,), (0,) of others.
    """

    @classmethod
    def of(cls, line: Line, ends: Sequence[tuple[Keys, ...]]) -> "Known":
        """Of low ends, with the high ones beside them where these are others."""
        if line.kind == "leaf":
            return cls(np.arange(len(line.tree)), np.zeros(0, dtype=np.int64))
        kind: Any = {"text": object, "number": np.float64}.get(line.kind, np.int64)
        of_all = [np.zeros(0, dtype=kind), *(keys.different for both in ends for keys in both)]
        if line.kind != "text" or all(len(both) == 1 for both in ends):
            return cls(np.unique(np.concatenate(of_all)), np.zeros(0, dtype=np.int64))
        values, place = np.unique(np.concatenate(of_all), return_inverse=True)
        begin, end = np.zeros((2, len(values)), dtype=np.int64)
        at = 0
        for both in ends:
            for side, keys in ((begin, both[0]), (end, both[-1])) if len(both) == 2 else ():
                side[place[at : at + len(keys.different)]] += keys.times
                at += len(keys.different)
            at += len(both[0].different) if len(both) == 1 else 0
        return cls(values, np.minimum(end[:-1], begin[1:]))


def _written_times(columns: Sequence[pl.Series]) -> tuple[pl.Datetime | None, tuple[str, ...]]:
    """What timestamps are read from a CSV, as texts: with how many digits, and which offsets in order;
    None where they are other texts.

    >>> _written_times([pl.Series(["2026-01-31 12:00:00.000+01:00"])])
    (Datetime(time_unit='ms', time_zone=None), ('+01:00',))
    """
    digits, offsets = set[int](), set[str]()
    for column in columns:
        for text in column.cast(pl.String).unique().drop_nulls():
            if (time := _TIME.fullmatch(text)) is None:
                return None, ("",)
            digits.add(len(time["digits"]))
            offsets.add(time["offset"] or "")
    unit: Any = {3: "ms", 6: "us", 9: "ns"}.get(digits.pop()) if len(digits) == 1 else None
    if unit is None or ("" in offsets and len(offsets) > 1):
        return None, ("",)
    return pl.Datetime(unit), tuple(sorted(offsets))


def declared_tree(attribute: PublishedAttribute) -> Tree | None:
    """The tree over an attribute's values, checked anew at each call; None where there is none."""
    if attribute.hierarchy is None or attribute.hierarchy.get("kind") != "tree":
        return None
    return Tree.of_paths(attribute.hierarchy["paths"])


def spans(tree: Tree) -> dict[str, range]:
    """The places of the leaves under each node of a tree, a leaf's own among them.

    >>> spans(Tree.of_paths([["flu", "lung", "*"], ["asthma", "lung", "*"]]))["lung"]
    range(0, 2)
    """
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for i, path in enumerate(tree.paths):
        for node in path:
            first.setdefault(node, i)
            last[node] = i
    return {node: range(i, last[node] + 1) for node, i in first.items()}


def after(text: str) -> str:
    """The first text that follows all texts with this prefix.

    >>> after("47")
    '48'
    """
    prefix = text.rstrip(_LAST)
    if not prefix:
        return _LAST * (len(text) + 64)
    next_one = ord(prefix[-1]) + 1
    return prefix[:-1] + chr(0xE000 if next_one == 0xD800 else next_one)
