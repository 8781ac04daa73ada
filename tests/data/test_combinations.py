# SPDX-License-Identifier: Apache-2.0
"""The combinations of values of a table that comes some rows at a time are those of the table."""

from collections import Counter
from collections.abc import Iterator
from datetime import date

import numpy as np
import polars as pl
import pytest

from phalanx.data import combinations
from phalanx.data.combinations import Combinations
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import MachineError, SchemaError, SourceError

N = 400


def table(seed: int) -> pl.DataFrame:
    """Columns of all kinds, with missing values, and numbers that are equal and look different."""
    rng = np.random.default_rng(seed)

    def some(*values: object, dtype: pl.DataType | None = None) -> pl.Series:
        return pl.Series(values, dtype=dtype, strict=False).gather(rng.integers(0, len(values), N))

    return pl.DataFrame(
        {
            "number": some(1, 2, None, dtype=pl.Int32()),
            "real": some(0.0, -0.0, float("nan"), None, 1.5),
            "text": some("a", "b", "", None),
            "day": some(date(2020, 1, 1), date(1970, 1, 1), None),
            "flag": some(True, False, None),
            "word": some("x", "y", dtype=pl.Categorical()),
            "set": some([1, 2], [2], [], None, dtype=pl.List(pl.Int64)),
        }
    )


SCHEMA = Schema(
    quasi=["number", "real", "text", "day", "flag", "word"], sensitive="set", missing="value"
)


def shown(microdata: Microdata, persons: np.ndarray) -> Counter[tuple[object, ...]]:
    """How many persons have which values."""
    columns = microdata.columns.values()
    values = [column.domain.values.gather(column.codes).to_list() for column in columns]
    counted: Counter[tuple[object, ...]] = Counter()
    for row, many in zip(zip(*values, strict=True), persons.tolist(), strict=True):
        counted[tuple(map(repr, row))] += many
    return counted


def together(whole: pl.DataFrame, at: list[int], schema: Schema = SCHEMA) -> Combinations:
    """The combinations of a table that comes in pieces which begin there."""
    pieces = [whole[i:j] for i, j in zip(at, [*at[1:], whole.height], strict=True)]
    return Combinations.counted(lambda: iter(pieces), schema)


@pytest.mark.parametrize("few", [1, 30, 1 << 20])
@pytest.mark.parametrize("most", [1 << 62, 100, 1])
def test_they_are_those_of_all_rows(monkeypatch: pytest.MonkeyPatch, few: int, most: int) -> None:
    """However many rows come at a time, wait to be counted, and columns a number holds: each
    combination is there once, over the same values, and stands for as many persons as have it.
    """
    monkeypatch.setattr(combinations, "_FEW", few)
    monkeypatch.setattr(combinations, "_MOST_KEYS", most)
    for seed in range(8):
        whole = table(seed)
        encoded = Microdata.encode(whole, SCHEMA)
        expected = shown(encoded, np.ones(N, dtype=np.int64))
        got = together(whole, [0, 0, 7 * seed, 150, 399])
        assert shown(got.microdata, got.persons) == expected
        assert got.people == N and len(got.persons) == got.microdata.rows == len(expected)
        for name, column in encoded.columns.items():
            mine = got.microdata.columns[name].domain
            assert mine.values.equals(column.domain.values, null_equal=True)
            assert (mine.type, mine.hierarchy) == (column.domain.type, column.domain.hierarchy)


def test_every_row_may_be_one() -> None:
    """Of a table in memory each row stands for one person."""
    encoded = Microdata.encode(table(1), SCHEMA)
    rows = Combinations.of(encoded)
    assert rows.microdata is encoded and rows.persons.tolist() == [1] * N


def test_more_than_the_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before more is made of them, with how many there are."""
    people = pl.DataFrame({"age": range(1000), "ill": ["a"] * 1000})
    schema = Schema(quasi=["age"], sensitive="ill")
    monkeypatch.setattr(combinations, "memory_left", lambda: 180_000)
    assert len(together(people, [0, 500], schema).persons) == 1000
    monkeypatch.setattr(combinations, "memory_left", lambda: 179_999)
    with pytest.raises(MachineError, match="has 1000 different combinations of values or more"):
        together(people, [0, 500], schema)


def test_they_are_refused_as_soon_as_their_values_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A column of which too many values differ is not read to its end; and the more columns there
    are, the fewer combinations fit.
    """
    people = pl.DataFrame({"age": range(1000), "ill": ["a"] * 1000})
    read = list[int]()

    def batches() -> Iterator[pl.DataFrame]:
        for at in range(0, 1000, 100):
            read.append(at)
            yield people[at : at + 100]

    monkeypatch.setattr(combinations, "memory_left", lambda: 50_000)
    with pytest.raises(MachineError, match="has 300 different combinations of values or more"):
        Combinations.counted(batches, Schema(quasi=["age"], sensitive="ill"))
    assert read == [0, 100, 200]
    monkeypatch.setattr(combinations, "memory_left", lambda: 180_000)
    wide = people.with_columns(pl.lit("b").alias(f"also {i}") for i in range(10))
    schema = Schema(quasi=[*wide.columns[2:], "age"], sensitive="ill")
    with pytest.raises(MachineError, match="has 1000 different"):
        together(wide, [0, 500], schema)


def test_a_table_that_cannot_be_encoded_is_refused() -> None:
    """Without rows, with sets where none may be, or with infinite numbers, of which it is not said
    how many values are, as if these were rows; as where it is read whole.
    """
    with pytest.raises(SourceError, match="the table has no rows; give one that has some"):
        together(table(1).clear(), [0])
    with pytest.raises(SchemaError, match="column 'set' is List and is declared quasi"):
        together(table(1), [0], Schema(quasi=["set"], missing="value"))
    people = pl.DataFrame({"age": [float("inf")] * 3, "ill": ["a"] * 3})
    schema = Schema(quasi=["age"], sensitive="ill")
    with pytest.raises(SourceError, match="column 'age' is infinite in some rows;"):
        together(people, [0, 2], schema)
    with pytest.raises(SourceError, match="column 'age' is infinite in some rows;"):
        Microdata.encode(people, schema)
