# SPDX-License-Identifier: Apache-2.0
"""The different combinations of values that the persons of a table have, of which there are far
fewer than persons where a table is larger than the memory.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Codes, Ints
from phalanx.data.column import Column, encode_column, narrowed
from phalanx.data.microdata import Microdata, check_columns
from phalanx.data.schema import Schema
from phalanx.data.sources.available_memory import in_words, memory_left
from phalanx.errors import MachineError, SourceError

_WORK: Final = 140
"""So many bytes are worked out of a combination."""
_OF_A_COLUMN: Final = 20
"""And so many of each of its columns."""
_FEW: Final = 1 << 20
"""So many of some rows' wait at least until they are counted together."""
_MOST_KEYS: Final = 1 << 62
"""A number of a combination is below this; of many columns it takes several."""


@dataclass(frozen=True, eq=False)
class Combinations:
    """What u rows of ``microdata`` hold, and how many persons hold it, ``persons`` of shape (u,)."""

    microdata: Microdata
    persons: Ints

    @property
    def people(self) -> int:
        """How many persons the table has."""
        return int(self.persons.sum())

    @classmethod
    def of(cls, microdata: Microdata) -> "Combinations":
        """Every row of a table by itself."""
        return cls(microdata, np.ones(microdata.rows, dtype=np.int64))

    @classmethod
    def counted(cls, read: Callable[[], Iterable[pl.DataFrame]], schema: Schema) -> "Combinations":
        """Of the quasi-identifiers and the sensitive value of a table, which is ``read`` some rows at
        a time, twice; each combination is a row.

        MachineError where the memory does not hold them; else what ``Microdata.encode`` raises.

        >>> schema = Schema(quasi=["age"], sensitive="ill")
        >>> batches = [pl.DataFrame({"age": [30, age], "ill": ["flu", "flu"]}) for age in (30, 40)]
        >>> Combinations.counted(lambda: batches, schema).persons.tolist()
        [3, 1]
        """
        names = [*schema.quasi, *([schema.sensitive] if schema.sensitive else [])]
        values = _values(read(), names, schema)
        columns = {name: encode_column(narrowed(values[name]), schema) for name in names}
        places = {name: _Places.of(values.pop(name), columns[name]) for name in names}
        words = _words([len(columns[name].domain) for name in names])
        keys, persons = np.zeros((len(words), 0), np.int64), np.zeros(0, np.int64)
        waiting = [(keys, persons)]
        for batch in read():
            codes = [places[name].codes_of(batch[name]) for name in names]
            waiting.append(_counted(_packed(codes, words), np.ones(batch.height, np.int64)))
            if sum(len(many) for _, many in waiting[1:]) > max(_FEW, len(persons) // 4):
                keys, persons = _together(waiting)
                _check_room(len(persons), len(names))
                waiting = [(keys, persons)]
        keys, persons = _together(waiting)
        _check_room(len(persons), len(names))
        unpacked = _unpacked(keys, words)
        coded = {
            name: Column(code, columns[name].domain)
            for name, code in zip(names, unpacked, strict=True)
        }
        none = pl.DataFrame()
        return cls(Microdata(schema, len(persons), coded, none, None), persons)


def _values(
    batches: Iterable[pl.DataFrame], names: Sequence[str], schema: Schema
) -> dict[str, pl.Series]:
    """The different values of each column; there are as many combinations or more."""
    seen = {name: list[pl.Series]() for name in names}
    rows = 0
    for batch in batches:
        check_columns(batch.select(names), schema)
        rows += batch.height
        for name, some in seen.items():
            some.append(batch[name].unique())
            if sum(map(len, some[1:])) > len(some[0]):
                some[:] = [pl.concat(some).unique()]
                _check_room(len(some[0]), len(names))
    if not rows:
        raise SourceError("the table has no rows; give one that has some.")
    return {name: pl.concat(some).unique() for name, some in seen.items()}


@dataclass(frozen=True, eq=False)
class _Places:
    """The different values of a column in their order, and the code of each, of shape (v,): values are
    looked up among all of them for each few rows, and a table of hashes would be made anew.
    """

    values: pl.Series
    codes: Ints

    @classmethod
    def of(cls, different: pl.Series, column: Column) -> "_Places":
        """Of values in any order, and their column."""
        coded = pl.DataFrame({"value": different, "code": column.codes}).sort("value")
        return cls(coded["value"], coded["code"].to_numpy().astype(np.int64))

    def codes_of(self, values: pl.Series) -> Ints:
        """The code of each value, shape (b,)."""
        codes: Ints = self.codes[self.values.search_sorted(values).to_numpy()]
        return codes


def _words(widths: Sequence[int]) -> list[list[int]]:
    """The widths of the columns, in order, that make a number together."""
    words: list[list[int]] = [[]]
    for width in widths:
        if prod(words[-1]) * width >= _MOST_KEYS:
            words.append([])
        words[-1].append(width)
    return words


def _packed(codes: Sequence[Ints], words: Sequence[Sequence[int]]) -> Ints:
    """The numbers of each row, shape (words, n)."""
    keys, columns = np.zeros((len(words), len(codes[0])), dtype=np.int64), iter(codes)
    for at, widths in enumerate(words):
        for width in widths:
            keys[at] = keys[at] * width + next(columns)
    return keys


def _unpacked(keys: Ints, words: Sequence[Sequence[int]]) -> list[Codes]:
    """The codes of each column again."""
    codes: list[Codes] = []
    rest = keys.copy()
    for at in reversed(range(len(words))):
        for width in reversed(words[at]):
            codes.append((rest[at] % width).astype(np.int32))
            rest[at] //= width
    return codes[::-1]


def _counted(keys: Ints, persons: Ints) -> tuple[Ints, Ints]:
    """Each combination once, in their order, and how many persons have it."""
    order = np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys[::-1])
    keys, persons = keys[:, order], persons[order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    return keys[:, begins], np.add.reduceat(persons, np.flatnonzero(begins))


def _together(parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Those of several numbers of rows, together."""
    return _counted(
        np.concatenate([keys for keys, _ in parts], axis=1),
        np.concatenate([persons for _, persons in parts]),
    )


def _check_room(combinations: int, columns: int) -> None:
    """MachineError where the memory does not hold what is made of so many or more."""
    needed, room = combinations * (_WORK + columns * _OF_A_COLUMN), memory_left()
    if needed > room:
        raise MachineError(
            f"the original has {combinations} different combinations of values or more, which take"
            f" about {in_words(needed)} of memory, and {in_words(room)} are left; use a larger"
            " machine."
        )
