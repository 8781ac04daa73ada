# SPDX-License-Identifier: Apache-2.0
"""Somebody else's table: groups by exact text, and the kinds of missing kept apart."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from phalanx.errors import ReleaseError
from phalanx.guarantees.levels import levels
from phalanx.release.foreign import Foreign
from phalanx.verification import verify_table


def test_csv_keeps_missing_kinds_apart(tmp_path):
    """An empty cell, a quoted empty cell, NaN, nan, null and NA are six groups; 1 and 1.0 are
    two.
    """
    path = tmp_path / "t.csv"
    path.write_text('q,s\n,a\n"",a\nNaN,a\nnan,a\nnull,a\nNA,a\n1,a\n1.0,a\n,b\n')
    table = Foreign.read(path, quasi=["q"], sensitive="s")
    assert table.groups.to_list() == [1, 2, 3, 4, 5, 6, 7, 8, 1]


def test_frames_of_every_kind():
    """Polars, lazy, pandas and Arrow frames give the same groups."""
    data = {"age": ["2*", "2*", "3*"], "ill": ["flu", "gout", "flu"]}
    for frame in (pl.DataFrame(data), pl.LazyFrame(data), pd.DataFrame(data), pa.table(data)):
        table = Foreign.read(frame, quasi=["age"], sensitive="ill")
        assert table.groups.to_list() == [1, 1, 2]
        assert levels(table)["k"] == 1


def test_types_in_frames():
    """NaN and null differ in Polars; -0.0 and 0.0 differ as text; categories, dates, spans, times to
    the last part of a second and bytes are read as text; pandas has one missing number.
    """
    nan = float("nan")
    assert Foreign.read(
        pl.DataFrame({"q": [nan, None, nan, 0.0, -0.0]}), quasi=["q"]
    ).groups.to_list() == [1, 2, 1, 3, 4]
    assert Foreign.read(pd.DataFrame({"q": [nan, None, 1.0]}), quasi=["q"]).groups.to_list() == [
        1,
        1,
        2,
    ]
    frame = pl.DataFrame(
        {
            "c": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
            "d": pl.Series([1, 2, 1]).cast(pl.Date),
            "b": [b"\xff", b"", b"\xff"],
            "t": pl.Series([7, None, 7]).cast(pl.Duration("us")),
            "o": pl.Series([7, 8, 7]).cast(pl.Time),
        }
    )
    assert Foreign.read(frame, quasi=["o"]).groups.to_list() == [1, 2, 1]
    assert Foreign.read(frame, quasi=["c", "d", "b"]).groups.to_list() == [1, 2, 1]
    assert Foreign.read(frame, quasi=["t", "o"]).groups.to_list() == [1, 2, 1]


def test_parquet(tmp_path):
    """A Parquet file is read with its types."""
    pl.DataFrame({"q": [1, 1, None], "s": [3, 1, 2]}).write_parquet(tmp_path / "t.parquet")
    assert (
        levels(Foreign.read(tmp_path / "t.parquet", quasi=["q"], sensitive="s"))["distinct_l"] == 1
    )


def test_sensitive_numbers_have_an_order(tmp_path):
    """Text that is numbers throughout is ordered as numbers."""
    (tmp_path / "t.csv").write_text("q,s,u\n1,10,1\n1,9,1.0\n2,2,2\n")
    numbers, others = (
        Foreign.read(tmp_path / "t.csv", quasi=["q"], sensitive=name) for name in "su"
    )
    assert list(numbers.values) == [10.0, 9.0, 2.0]
    assert list(others.values) == [1.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("spelled", "different", "numeric"),
    [
        (["5", "5.0", "5e0", "6"], 2, True),
        (["0", "-0", "0.0", ""], 2, True),
        (["9007199254740993", "9007199254740992", "9007199254740993.0"], 2, True),
        (["0.10000000000000000001", "0.1"], 2, False),
        (["inf", "9007199254740992", "9007199254740993", "1", "1.0"], 4, False),
        (["9007199254740992", "9007199254740993", "1e3000000"], 3, False),
        (["007", "7", "7.0"], 3, False),
        (["5", "5.0", "flu"], 3, False),
        (["1e9999999999999999999", "1e99999999999999999999", "inf"], 3, False),
    ],
)
def test_a_number_is_one_value_however_it_is_spelled(tmp_path, spelled, different, numeric):
    """What counts as two values would protect each other; codes with a zero before them are
    texts.
    """
    (tmp_path / "t.csv").write_text("\n".join(["q,s", *(f"1,{text}" for text in spelled)]) + "\n")
    table = Foreign.read(tmp_path / "t.csv", quasi=["q"], sensitive="s")
    values = table.values  # noqa: PD011
    assert (values.n_unique(), values.dtype.is_numeric()) == (different, numeric)


def test_a_group_column():
    """With a group column the groups are those that the table names."""
    frame = pl.DataFrame({"g": [7, 7, 9, 9], "q": [1, 2, 3, 4], "s": ["a", "b", "a", "a"]})
    found = levels(Foreign.read(frame, quasi=["q"], sensitive="s", group="g"))
    assert (found["k"], found["distinct_l"]) == (2, 1)


def test_group_sizes_add_up():
    """No row is dropped, whatever is missing."""
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {c: [[None, "", "NaN", "x"][i] for i in rng.integers(0, 4, 200)] for c in "abs"}
    )
    assert levels(Foreign.read(frame, quasi=["a", "b"], sensitive="s"))["rows"] == 200


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"age,ill\n", "has no rows"),
        (b"", "is empty"),
        (b"age,ill\n1,flu\n2\n", r"line 3 of 't\.csv' has 1 field"),
        (b"age,ill\n1,flu,x\n", r"line 2 of 't\.csv' has 3 field"),
        (b"age,ill\n1,\xff\x81\n", r"line 2 of 't\.csv' is not UTF-8"),
        (b"age,ill,age\n1,2,3\n", "names 'age' twice"),
        (b"agee,ill\n1,2\n", "did you mean 'agee'"),
    ],
)
def test_bad_csv(tmp_path, content, what):
    """A file that cannot be read is refused in one sentence."""
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(ReleaseError, match=what):
        Foreign.read(path, quasi=["age"], sensitive="ill")


def test_a_table_of_pandas_that_is_not_read_whole() -> None:
    """The column at fault is named, or the name that two have; several kinds of missing values in one
    are one.
    """
    mixed = pd.DataFrame({"a": pd.Series([1, "SECRET", 2.5], dtype=object), "b": [1, 1, 2]})
    with pytest.raises(
        ReleaseError, match="column 'a' of the pandas table holds values of"
    ) as said:
        Foreign.read(mixed, quasi=["a"])
    assert "SECRET" not in str(said.value)
    with pytest.raises(ReleaseError, match="two columns called 'a'"):
        Foreign.read(pd.DataFrame([[1, 2]], columns=["a", "a"]), quasi=["a"])
    missing = pd.DataFrame({"a": pd.Series([None, float("nan"), pd.NaT, "x"], dtype=object)})
    assert Foreign.read(missing, quasi=["a"]).groups.to_list() == [1, 1, 1, 2]
    with pytest.raises(ReleaseError, match="has no column 'a'; it has none"):
        Foreign.read(pl.DataFrame(), quasi=["a"])


def test_other_refusals(tmp_path):
    """No file, no table, no quasi-identifier, more than a value in a cell, a Parquet file that is
    none.
    """
    with pytest.raises(ReleaseError, match="there is no file"):
        Foreign.read(tmp_path / "none.csv", quasi=["a"])
    with pytest.raises(ReleaseError, match="is not a table"):
        Foreign.read(object(), quasi=["a"])
    with pytest.raises(ReleaseError, match="at least one quasi-identifier"):
        Foreign.read(pl.DataFrame({"a": [1]}), quasi=[])
    with pytest.raises(ReleaseError, match="one value per cell"):
        Foreign.read(pl.DataFrame({"a": [[1]]}), quasi=["a"])
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(ReleaseError, match="is not a whole Parquet file"):
        Foreign.read(tmp_path / "t.parquet", quasi=["a"])


def test_large_whole_numbers_are_in_the_order_of_numbers(tmp_path):
    """Also where two of them are one float, so that they are told apart as texts are."""
    rows = [("a", 5), ("a", 5), ("b", 10), ("b", 2**53), ("c", 2**53 + 1), ("c", 2**53 + 1)]
    (tmp_path / "t.csv").write_text("q,s\n" + "".join(f"{q},{s}\n" for q, s in rows))
    frame = pl.DataFrame({"q": [q for q, _ in rows], "s": [s for _, s in rows]})
    in_file, in_memory = (
        {v.name: v.worst for v in verify_table(table, quasi="q", sensitive="s").checks}
        for table in (tmp_path / "t.csv", frame)
    )
    assert in_file["t_ordered"] == in_memory["t_ordered"] == Fraction(1, 2)
