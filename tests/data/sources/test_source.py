# SPDX-License-Identifier: Apache-2.0
"""A source is read whole and true, or refused in one sentence that names file and line."""

import datetime as dt
import gzip

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phalanx.data.sources import reading, source
from phalanx.data.sources.csv_files import inferred
from phalanx.data.sources.source import read_source
from phalanx.errors import SourceError

FRAME = pl.DataFrame(
    {
        "id": [1, 2, 3],
        "zip": ["01234", "99999", None],
        "when": [dt.date(2026, 1, 1), None, dt.date(2026, 1, 3)],
        "x": [1.5, -0.25, 3.0],
    }
)


def csv_of(tmp_path, content, name="t.csv"):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return tmp_path / name


def test_every_file_format_gives_the_same_table(tmp_path):
    """CSV, TSV, gzipped CSV, Parquet, Arrow file and stream of one table are read as the same
    table.
    """
    FRAME.write_csv(tmp_path / "t.csv")
    FRAME.write_csv(tmp_path / "t.tsv", separator="\t")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    FRAME.write_parquet(tmp_path / "t.parquet")
    FRAME.write_ipc(tmp_path / "t.arrow")
    FRAME.write_ipc_stream(tmp_path / "t.feather")

    for name in ["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.arrow", "t.feather"]:
        assert read_source(tmp_path / name).equals(FRAME), name
        assert read_source(str(tmp_path / name)).schema == FRAME.schema, name


@pytest.mark.parametrize(
    ("fields", "dtype", "values"),
    [
        (["1", "2"], pl.Int64, [1, 2]),
        (["1", "", "-0"], pl.Int64, [1, None, 0]),
        (["1", "2.5", "-0.0"], pl.Float64, [1.0, 2.5, -0.0]),
        (["1e3", ".5"], pl.Float64, [1000.0, 0.5]),
        (["01234", "99999"], pl.String, ["01234", "99999"]),
        (["1.5", "00.5"], pl.String, ["1.5", "00.5"]),
        (["+491", "492"], pl.String, ["+491", "492"]),
        (["0", "0.5", "10"], pl.Float64, [0.0, 0.5, 10.0]),
        (["12345678901234567890", "1"], pl.String, ["12345678901234567890", "1"]),
        (["true", "false"], pl.String, ["true", "false"]),
        (["2026-01-31", ""], pl.Date, [dt.date(2026, 1, 31), None]),
        (["2026-01-31", "2026-02-30"], pl.String, ["2026-01-31", "2026-02-30"]),
        (
            ["2026-01-31T10:00:00"],
            pl.Datetime("us"),
            [dt.datetime(2026, 1, 31, 10)],  # noqa: DTZ001
        ),
        (["31.1.2026", "01.02.2026"], pl.Date, [dt.date(2026, 1, 31), dt.date(2026, 2, 1)]),
        (["31.01.26"], pl.String, ["31.01.26"]),
        (["30.02.2026"], pl.String, ["30.02.2026"]),
        (
            ["31.01.2026 10:00"],
            pl.Datetime("us"),
            [dt.datetime(2026, 1, 31, 10)],  # noqa: DTZ001
        ),
        (["NA", "1"], pl.String, ["NA", "1"]),
        (["", ""], pl.String, ["", ""]),
    ],
)
def test_types_are_inferred_without_loss(fields, dtype, values):
    """A column is a number or a date only where every field is one and none loses anything by
    it.
    """
    column = inferred(pl.Series("x", fields, dtype=pl.String))

    assert (column.dtype, column.to_list()) == (dtype, values)


def test_types_come_from_every_row(tmp_path):
    """One leading zero, letter or fraction after ten thousand whole numbers decides."""
    for last, dtype in [("07", pl.String), ("a", pl.String), ("1.5", pl.Float64), ("7", pl.Int64)]:
        path = csv_of(tmp_path, "x\n" + "".join(f"{i}\n" for i in range(10_000)) + last + "\n")

        assert read_source(path).dtypes == [dtype]


def test_empty_fields_are_missing_and_quoted_empty_ones_are_empty_text(tmp_path):
    """An empty field is missing; "" is the empty text among texts, and missing among numbers."""
    frame = read_source(csv_of(tmp_path, 'text,number\n,\n"",""\nx,1\n'))

    assert frame.rows() == [(None, None), ("", None), ("x", 1)]


def test_not_a_number_among_numbers(tmp_path):
    """NaN among numbers is a number that is missing, which encoding treats as such."""
    frame = read_source(csv_of(tmp_path, "x,y\nNaN,1\n1.5,2\n"))

    assert frame["x"].is_nan().to_list() == [True, False]


def test_line_ends_marks_quotes_and_strange_names(tmp_path):
    """Windows line ends, a byte order mark, quoted separators, line breaks in values, and any
    column name on one line are read as they are meant.
    """
    frame = read_source(
        csv_of(tmp_path, '\ufeff"say ""hi""","a,b",two words,🙂\r\n"1\n2","x,y",,z\r\n\r\n')
    )

    assert frame.columns == ['say "hi"', "a,b", "two words", "🙂"]
    assert frame.rows() == [("1\n2", "x,y", None, "z")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b\nK\xc3\xb6ln,2\n1,\xff\n", r"line 3 of 't\.csv' is not UTF-8; save it as UTF-8\.$"),
        (b"a,\xe4\nK\xc3\xb6ln,2\n", r"line 1 of 't\.csv' is not UTF-8"),
        (b"a,b\n\x81,\xe4\n", r"line 2 of 't\.csv' is not UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        ("a,b\n1,2\n".encode("utf-16-le"), "UTF-16"),
        ("a,b\n1,2\n".encode("utf-16-be"), "UTF-16"),
        (b'a,"b\n1,SECRET\n1,SECRET\n', r"the header of 't\.csv' goes on over several lines"),
        (b'a,"line\nbreak"\n1,2\n', r"the header of 't\.csv' goes on over several lines"),
        (
            b"a,b\n1,SECRET\n1,2,SECRET\n",
            r"line 3 of 't\.csv' has 3 field\(s\) where the header has 2",
        ),
        (b"a,b\n1,2\nSECRET\n", r"line 3 of 't\.csv' has 1 field\(s\)"),
        (b'a,b\n"1\n1",2\nSECRET\n', r"line 4 of 't\.csv' has 1 field\(s\)"),
        (b"a,b\n1,2\n\n3,4\n", r"line 3 of 't\.csv' is empty; delete it"),
        (b'a,b\n"SECRET,2\n3,4\n', r"line 2|quotes"),
        (b'a,b\nSEC"RET,2\n3"4,5\n', "quotes"),
        (b"a,a\n1,2\n", "names 'a' twice"),
        (b"a,\n1,2\n", "no name for column 2"),
        (b"sep=;\na;b\n1;SECRET\n", "Excel's word for the separator"),
        (b"a;b\n1;2;SECRET\n", r"line 2 of 't\.csv' has 3 field\(s\) .* with a semicolon in it"),
        (b"a,b\r1,2\r", "carriage return"),
    ],
)
def test_wrong_csv_is_one_sentence(tmp_path, content, said):
    """Each way to get a CSV wrong is refused with file and line, and without a value."""
    with pytest.raises(SourceError, match=said) as refused:
        read_source(csv_of(tmp_path, content))
    assert "SECRET" not in str(refused.value)


def test_missing_values_in_the_last_column_are_not_short_rows(tmp_path):
    """A row that ends in its separator is whole, quoted or not."""
    assert read_source(csv_of(tmp_path, "a,b\n1,\n2,3\n")).rows() == [(1, None), (2, 3)]
    assert read_source(csv_of(tmp_path, 'a,b\n"1",\n2,3\n')).rows() == [(1, None), (2, 3)]
    long = f'a,b\n"{"x" * 140_000}",\n"y",3\n'  # more than the module csv takes at first
    assert read_source(csv_of(tmp_path, long))["b"].to_list() == [None, 3]


def test_a_missing_file_names_its_neighbour(tmp_path):
    """A mistyped path gets the nearest file of its folder."""
    csv_of(tmp_path, "a\n1\n", "discharges.csv")

    with pytest.raises(SourceError, match=r"did you mean 'discharges\.csv'"):
        read_source(tmp_path / "discharge.csv")
    with pytest.raises(SourceError, match="no folder"):
        read_source(tmp_path / "nowhere" / "x.csv")
    with pytest.raises(SourceError, match="is a folder"):
        read_source(tmp_path)
    with pytest.raises(SourceError, match="not of a known kind"):
        read_source(csv_of(tmp_path, "a\n1\n", "t.ods"))


def test_a_path_is_no_pattern(tmp_path):
    """Stars and brackets in a file's name are just its name."""
    for name in ["t[1].csv", "t*.csv", "t[1].parquet"]:
        if name.endswith("csv"):
            FRAME.write_csv(tmp_path / name)
        else:
            FRAME.write_parquet(tmp_path / name)

        assert read_source(tmp_path / name).equals(FRAME)


def test_damaged_files_are_one_sentence(tmp_path):
    """Cut, overwritten or mislabelled Parquet, Arrow and gzip files are refused without a
    traceback.
    """
    FRAME.write_parquet(tmp_path / "t.parquet")
    FRAME.write_ipc(tmp_path / "t.arrow")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a\n1\n" * 1000))
    for name in ["t.parquet", "t.arrow", "t.csv.gz"]:
        whole = (tmp_path / name).read_bytes()
        for broken in (
            whole[: len(whole) // 2],
            whole[: len(whole) // 3],
            b"",
            b"\0" * 100,
            whole[:8] + b"\xff" * 64 + whole[72:],
        ):
            if name == "t.arrow" and len(broken) == len(whole):
                continue  # plain Arrow has no check over its values
            (tmp_path / name).write_bytes(broken)
            with pytest.raises(SourceError, match=r"t\."):
                read_source(tmp_path / name)


def test_a_parquet_bomb_is_refused_before_reading(tmp_path, monkeypatch):
    """A file that declares more values than its bytes can hold is refused; a million equal rows are
    not.
    """
    pq.write_table(
        pa.table({f"c{i}": pa.repeat(pa.scalar("x"), 1_000_000) for i in range(5)}),
        tmp_path / "equal.parquet",
    )

    assert read_source(tmp_path / "equal.parquet").shape == (1_000_000, 5)

    monkeypatch.setattr(reading, "ALWAYS_CELLS", 1000)
    monkeypatch.setattr(reading, "MAX_CELLS_PER_BYTE", 100)
    monkeypatch.setattr(pl, "read_parquet", lambda *_, **__: pytest.fail("the bomb was read"))
    with pytest.raises(SourceError, match="damaged or hostile"):
        read_source(tmp_path / "equal.parquet")


def test_an_arrow_bomb_is_refused(tmp_path):
    """An Arrow file of a column of nothing may declare any number of rows in a few bytes."""
    table = pa.table({"x": pa.nulls(2**31 - 1)})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)

    with pytest.raises(SourceError, match="damaged or hostile"):
        read_source(tmp_path / "t.arrow")


def test_categories_leave_their_unused_values_behind(tmp_path):
    """A value that was filtered out of a dictionary column is in nothing that is read."""
    full = pa.table({"x": pa.array(["kept", "MARKER"]).dictionary_encode()})
    pq.write_table(full.filter(pa.array([True, False])), tmp_path / "t.parquet")
    frame = read_source(tmp_path / "t.parquet")

    assert frame.dtypes == [pl.String]
    frame.write_ipc(tmp_path / "out.arrow")
    assert b"MARKER" in (tmp_path / "t.parquet").read_bytes()
    assert b"MARKER" not in (tmp_path / "out.arrow").read_bytes()


def test_nested_columns_need_to_be_dropped(tmp_path):
    """A column of structs, or of lists that are no sets, is refused by name unless it is
    dropped.
    """
    pl.DataFrame({"a": [1], "l": [[1.5, 2.0]]}).write_parquet(tmp_path / "t.parquet")

    with pytest.raises(SourceError, match="column 'l' holds List"):
        read_source(tmp_path / "t.parquet")
    assert read_source(tmp_path / "t.parquet", drop=["l"]).columns == ["a", "l"]


def test_columns_of_sets_are_read(tmp_path):
    """Lists of text come out of Parquet and Arrow files as they are."""
    frame = pl.DataFrame({"a": [1, 2, 3], "l": [["rash", "fever"], [], None]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")

    assert read_source(tmp_path / "t.parquet").equals(frame)
    assert read_source(tmp_path / "t.arrow").equals(frame)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.arrow", "folder"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, name):
    """Half of its rows may be those of another table."""
    path = tmp_path / name
    table = pl.DataFrame({"a": [1, 2, 3]})

    def write(frame):
        if name == "folder":
            path.mkdir(exist_ok=True)
            frame.write_parquet(path / "one.parquet")
        elif name.endswith("gz"):
            path.write_bytes(gzip.compress(frame.write_csv().encode()))
        else:
            getattr(
                frame,
                {"csv": "write_csv", "parquet": "write_parquet", "arrow": "write_ipc"}[name[2:]],
            )(path)

    write(table)
    assert read_source(path).equals(table)
    kind = source._read_kind if name != "folder" else source.read_folder

    def changed(*given):
        read = kind(*given)
        write(table.with_columns(b=pl.lit(1)))
        return read

    monkeypatch.setattr(source, kind.__name__, changed)
    with pytest.raises(SourceError, match="changed while it was read"):
        read_source(path)
