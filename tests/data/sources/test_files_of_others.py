# SPDX-License-Identifier: Apache-2.0
"""Excel, SPSS, Stata and SAS: read whole with codes or labels, or refused in a sentence without a
value.
"""

import datetime as dt
import resource
import signal
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fuzz import packages
from phalanx import verify_table
from phalanx.data.sources import coded_files, reading
from phalanx.data.sources.source import read_source
from phalanx.errors import ExtraError, MachineError, SourceError

pyreadstat = pytest.importorskip("pyreadstat")
xlsxwriter = pytest.importorskip("xlsxwriter")
pytest.importorskip("fastexcel")

DAYS = [dt.date(2020, 1, 31), None, dt.date(2021, 2, 1)]
MIDNIGHT = dt.datetime.fromisoformat("2020-01-31T00:00:00")
TEN = MIDNIGHT.replace(hour=10)
PEOPLE = pl.DataFrame(
    {
        "who": ["MARKER1", "", "MARKER3"],
        "age": [30.0, 31.0, None],
        "sex": [1, 2, 3],
        "share": [0.5, 1.0, 1.5],
    }
)
LABELS = {"sex": {1: "male", 2: "female"}, "share": {1: "all", 0.5: "half"}}


def written(path: Path) -> Path:
    """PEOPLE in the file's own kind, with labels where it has any."""
    if path.suffix == ".xpt":
        pyreadstat.write_xport(PEOPLE, str(path))
    elif path.suffix == ".dta":
        pyreadstat.write_dta(
            PEOPLE.with_columns(day=pl.Series(DAYS)),
            str(path),
            variable_value_labels={"sex": LABELS["sex"]},
        )
    else:
        pyreadstat.write_sav(
            PEOPLE.with_columns(day=pl.Series(DAYS)),
            str(path),
            variable_value_labels=LABELS,
            row_compress=path.suffix == ".zsav",
        )
    return path


def workbook(path: Path, *sheets: list[list[object]]) -> Path:
    with xlsxwriter.Workbook(path, {"default_date_format": "yyyy-mm-dd"}) as book:
        for rows in sheets:
            sheet = book.add_worksheet()
            for i, row in enumerate(rows):
                for j, value in enumerate(row):
                    if value is not None:
                        sheet.write(i, j, value)
    return path


@pytest.mark.parametrize("kind", ["sav", "zsav", "dta", "xpt"])
def test_codes_are_kept(tmp_path, kind) -> None:
    """Whole numbers where all of a column are, missing values and empty texts as missing, dates as
    dates; no label.
    """
    frame = read_source(written(tmp_path / f"t.{kind}"))

    assert frame.drop("day", strict=False).to_dict(as_series=False) == {
        "who": ["MARKER1", None, "MARKER3"],
        "age": [30, 31, None],
        "sex": [1, 2, 3],
        "share": [0.5, 1.0, 1.5],
    }
    assert frame.schema["age"] == pl.Int64
    assert kind == "xpt" or frame["day"].to_list() == DAYS


def test_labels_where_a_column_is_declared_to_hold_categories(tmp_path) -> None:
    """A code with a label becomes it, one without stays as it is; no row decides about another, and
    a label that two codes share is used for neither.
    """
    frame = read_source(written(tmp_path / "t.sav"), text=["sex", "share", "age", "day"])

    assert frame["sex"].to_list() == ["male", "female", "3"]
    assert frame["share"].to_list() == ["half", "all", "1.5"]
    assert frame["age"].to_list() == ["30", "31", None]
    assert frame["day"].to_list() == ["2020-01-31", None, "2021-02-01"]
    pyreadstat.write_sav(
        PEOPLE, str(tmp_path / "u.sav"), variable_value_labels={"sex": {1: "m", 2: "m", 3: "x"}}
    )
    assert read_source(tmp_path / "u.sav", text=None)["sex"].to_list() == ["1", "2", "x"]


def test_what_a_file_declares_missing_is_missing(tmp_path) -> None:
    """A code of SPSS for a refusal or for not applicable is no value."""
    pyreadstat.write_sav(PEOPLE, str(tmp_path / "t.sav"), missing_ranges={"sex": [3]})

    assert read_source(tmp_path / "t.sav")["sex"].to_list() == [1, 2, None]


def test_a_workbook_is_read_as_its_csv(tmp_path) -> None:
    """Types follow every row, zeros in front keep a text, a day without a time is a date, and empty
    rows below and empty sheets are nothing.
    """
    path = workbook(
        tmp_path / "t.xlsx",
        [
            ["who", "age", "zip", "day", "at", "mixed", "share"],
            ["a", 30, "01234", DAYS[0], TEN, 1, 0.5],
            ["b", None, "99999", DAYS[2], MIDNIGHT, "x", 1],
            [],
            [" "],
        ],
        [],
    )
    frame = read_source(path)

    assert frame.rows() == [
        ("a", 30, "01234", DAYS[0], TEN, "1", 0.5),
        ("b", None, "99999", DAYS[2], MIDNIGHT, "x", 1.0),
    ]
    assert frame.schema["age"] == pl.Int64
    assert read_source(path, text=["age"])["age"].to_list() == ["30", None]


@pytest.mark.parametrize(
    ("sheets", "says"),
    [
        ([[["a"], ["MARKER"]], [["b"], ["MARKER"]]], "has 2 sheets that are not empty"),
        ([[]], "has 0 sheets that are not empty"),
        ([[["a", None], ["MARKER", "MARKER"]]], "no name for column 2"),
        ([[["a", "a"], ["MARKER", 1]]], "names 'a' twice"),
        ([[["a"], ["MARKER"], ["=NA()"]]], "row 3 .* error such as #N/A"),
    ],
)
def test_a_workbook_that_is_no_table_is_refused(tmp_path, sheets, says) -> None:
    """In one sentence that says where, and quotes no cell."""
    path = workbook(tmp_path / "t.xlsx", *sheets)
    if "error" in says:
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet()
            sheet.write_column(0, 0, ["a", "MARKER"])
            sheet.write_formula(2, 0, "=NA()", None, "#N/A")
    with pytest.raises(SourceError, match=says) as refused:
        read_source(path)
    assert "MARKER" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("xlsx", "Excel"),
        ("sav", "SPSS"),
        ("zsav", "SPSS"),
        ("dta", "Stata"),
        ("sas7bdat", "SAS"),
        ("xpt", "SAS transport"),
    ],
)
def test_a_broken_file_is_refused(tmp_path, capfd, kind, named) -> None:
    """Of whatever bytes: by its kind and name, and nothing else is written anywhere."""
    (tmp_path / f"t.{kind}").write_bytes(b"MARKER" * 99)
    with pytest.raises(SourceError, match=f"not a whole {named} file"):
        read_source(tmp_path / f"t.{kind}")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["xlsx", "sav", "dta", "xpt"])
def test_half_a_file_is_refused(tmp_path, kind) -> None:
    """A file that ends before its rows do is never a shorter table."""
    rows = 3000
    frame = pl.DataFrame({"a": range(rows), "b": [f"MARKER{i}" for i in range(rows)]})
    path = tmp_path / f"t.{kind}"
    if kind == "xlsx":
        workbook(path, [["a", "b"], *map(list, frame.rows())])
    else:
        getattr(pyreadstat, {"xpt": "write_xport"}.get(kind, f"write_{kind}"))(frame, str(path))
    assert read_source(path).height == rows
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2 // 80 * 80 + 1])
    with pytest.raises(SourceError):
        read_source(path)


def test_a_far_cell_is_no_large_table(tmp_path, monkeypatch) -> None:
    """Two cells a million rows and sixteen thousand columns apart are refused before there is room
    for all between; so is a workbook that unpacks to much more than it is.
    """
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "a")
        sheet.write(1_048_575, 16_383, 1)
    with pytest.raises(SourceError, match="declares 17179869184 values"):
        read_source(path)
    small = workbook(tmp_path / "u.xlsx", [["a"], [1]])
    with zipfile.ZipFile(small, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/media/x", bytes(1 << 24))
    monkeypatch.setattr(reading, "ALWAYS_BYTES", 1 << 20)
    monkeypatch.setattr(reading, "MAX_EXPANSION", 200)
    with pytest.raises(SourceError, match="damaged or hostile"):
        read_source(small)


def bent_workbook(folder: Path, old: bytes, new: bytes) -> Path:
    """A workbook of one cell, other bytes in whose parts stand for those that were there."""
    small, path = workbook(folder / "t.xlsx", [["a"], [1]]), folder / "u.xlsx"
    with (
        zipfile.ZipFile(small) as whole,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bent,
    ):
        for name in whole.namelist():
            bent.writestr(name, whole.read(name).replace(old, new))
    return path


@pytest.mark.parametrize("place", ["ZZZZ2", "zzzz2", "A1048577", "XFE2"])
def test_a_cell_beyond_any_sheet_is_no_table(tmp_path, place) -> None:
    """A reference that Excel does not have is refused before there is room for all before it."""
    path = bent_workbook(tmp_path, b'r="A2"', f'r="{place}"'.encode())
    with pytest.raises(SourceError, match="not a whole Excel file"):
        read_source(path)


def test_the_reader_logs_nothing(tmp_path, caplog) -> None:
    """What the reader would log of a sheet that states a wrong size may quote it."""
    path = bent_workbook(tmp_path, b'dimension ref="A1', b'dimension ref="ZZZZ9')
    assert read_source(path).height == 1
    assert caplog.records == []


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_a_file_that_declares_too_much_is_not_read(tmp_path, monkeypatch, kind) -> None:
    """Rows and widths stand in its head, and are compared with its size and the memory first."""
    path = written(tmp_path / f"t.{kind}")
    small = "import phalanx.data.sources.reading as r; r.memory_left = lambda: 8; "
    monkeypatch.setattr(coded_files, "_ASIDE", small + coded_files._ASIDE)
    with pytest.raises(MachineError, match=r"[MG]B of memory or more"):
        read_source(path)


def test_a_reader_that_dies_is_a_sentence(tmp_path, monkeypatch) -> None:
    """A damaged file may end the process that reads it, and it is not ours."""
    path = written(tmp_path / "t.sav")
    monkeypatch.setattr(coded_files, "_ASIDE", "import os; os.kill(os.getpid(), 11)")
    with pytest.raises(SourceError, match="not a whole SPSS file"):
        read_source(path)


@pytest.mark.parametrize("kind", ["xlsx", "sav", "dta", "sas7bdat"])
def test_without_the_extra_it_is_named(tmp_path, monkeypatch, kind) -> None:
    """Before the file is opened."""
    (tmp_path / f"t.{kind}").write_bytes(b"")
    monkeypatch.setattr("phalanx.errors.find_spec", lambda _: None)
    with pytest.raises(ExtraError, match=r"files needs the extra 'files'; run pip install"):
        read_source(tmp_path / f"t.{kind}")


@pytest.mark.parametrize("kind", ["xlsx", "sav", "zsav", "dta", "xpt"])
def test_damaged_bytes_are_a_table_or_a_sentence(tmp_path, capfd, kind) -> None:
    """Whatever bytes change, the file is read, or refused as a file is: nothing else is raised, and
    nothing is written anywhere.
    """
    path = tmp_path / f"t.{kind}"
    if kind == "xlsx":
        workbook(path, [["a", "b"], *([f"MARKER{i}", i] for i in range(40))])
    else:
        written(path)
    whole, rng, sentences = path.read_bytes(), np.random.default_rng(5), []
    for _ in range(150 if kind == "xlsx" else 8):
        damaged = bytearray(whole)
        for at in rng.integers(0, len(whole), rng.integers(1, 6)):
            damaged[at] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            read_source(path, text=["a", "sex"])
        except SourceError as refused:
            sentences.append(str(refused))
    assert sentences and "MARKER" not in " ".join(sentences)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("lies", [True, False])
@pytest.mark.parametrize("part", [packages.SHEET, "xl/sharedStrings.xml", "xl/styles.xml"])
def test_a_workbook_that_unpacks_to_far_more_is_refused(tmp_path, monkeypatch, part, lies) -> None:
    """A part of 3 GB in a file of 3 MB, whether or not it states its length, and before anything has
    made room for it.
    """
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_excel("t.xlsx")
    packages.bomb(part, lies=lies)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(
        SourceError, match="not a whole Excel file" if lies else "unpacks to 3.2 GB"
    ):
        read_source("u.xlsx")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


def test_the_name_of_a_damaged_file_says_nothing_of_the_machine(tmp_path):
    """It stands in the command that reads the file, and says that, if anything."""
    path = tmp_path / "too many open files.sav"
    path.write_bytes(b"\0garbage" * 40)
    with pytest.raises(SourceError, match="is not a whole SPSS file"):
        read_source(path)


def test_a_reader_that_the_system_ends_lacked_memory(tmp_path, monkeypatch):
    """That says nothing of the file."""
    monkeypatch.setattr(
        coded_files, "_ASIDE", f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})"
    )
    with pytest.raises(MachineError, match="needs more memory than is left"):
        read_source(written(tmp_path / "t.sav"))


def test_numbers_are_those_that_cells_hold(tmp_path) -> None:
    """Whatever the number of places, also beside a text; and texts stay what they are."""
    path = tmp_path / "t.xlsx"
    numbers = [1.5e-10, 1 / 3, 1e19, 1e300, -2.5]
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["number", "whole", "mixed", "code", "none", "tiny"])
        for i, number in enumerate(numbers, 1):
            sheet.write_row(i, 0, [number, i])
            sheet.write(i, 2, number) if i > 1 else sheet.write_string(i, 2, "refused")
            sheet.write_string(i, 3, f"1234567890123456789{i}")
            sheet.write(i, 4, number) if i > 1 else sheet.write_string(i, 4, "N/A")
            sheet.write(i, 5, i * 1e-12)
    frame = read_source(path)
    assert frame["number"].to_list() == numbers
    assert frame["whole"].to_list() == [1, 2, 3, 4, 5] and frame.schema["whole"] == pl.Int64
    assert frame["mixed"][0] == "refused" and frame["none"][0] == "N/A"
    for name in ("mixed", "none"):
        assert [float(text) for text in frame[name][1:]] == numbers[1:]
    assert frame["code"].to_list() == [f"1234567890123456789{i}" for i in range(1, 6)]
    assert frame["tiny"].to_list() == [i * 1e-12 for i in range(1, 6)]
    assert read_source(path, text=["whole", "code"])["whole"].to_list() == list("12345")
    for text in (["number", "tiny"], None):
        texts = read_source(path, text=text)
        assert [float(one) for one in texts["number"]] == numbers
        assert texts["tiny"].n_unique() == 5


def test_a_table_of_somebody_else_is_counted_by_what_cells_hold(tmp_path) -> None:
    """Eight numbers that differ beyond the ninth place are eight, and none is covered by another."""
    path = workbook(tmp_path / "t.xlsx", [["x"], *([i * 1e-10] for i in range(1, 9))])
    found = {check.name: check for check in verify_table(path, quasi=["x"], k=2).checks}
    assert not found["k-anonymity"].holds and found["groups"].worst == 8


@pytest.mark.parametrize("above", [0, 3])
def test_times_of_day_are_no_dates(tmp_path, above: int) -> None:
    """Nor are spans of time; both are refused, unless they are dropped or declared categories; rows
    above a table, and columns beside it, change nothing.
    """
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        clock, span, day = (
            book.add_format({"num_format": each}) for each in ("hh:mm", "[h]:mm", "yyyy-mm-dd")
        )
        sheet.write_row(above, above, ["arrival", "stay", "day"])
        for i in range(4):
            sheet.write_datetime(above + 1 + i, above, dt.time(8 + i, 30), clock)
            sheet.write_datetime(above + 1 + i, above + 1, dt.timedelta(hours=10 + 20 * i), span)
            sheet.write_datetime(above + 1 + i, above + 2, dt.date(2024, 1, 1 + i), day)
    with pytest.raises(SourceError, match="column 'arrival' holds Time values"):
        read_source(path)
    with pytest.raises(SourceError, match="column 'stay' holds Duration values"):
        read_source(path, drop=["arrival"])
    frame = read_source(path, drop=["stay"], text=["arrival"])
    assert frame["arrival"].to_list() == ["08:30:00", "09:30:00", "10:30:00", "11:30:00"]
    assert frame["day"].to_list() == [dt.date(2024, 1, 1 + i) for i in range(4)]
