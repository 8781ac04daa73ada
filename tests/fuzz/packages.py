# SPDX-License-Identifier: Apache-2.0
"""Tables of Excel, SPSS, Stata and SAS: damaged, bombs, with odd names, formulas and errors."""

import random
import struct
import zipfile
import zlib
from pathlib import Path

from fuzz import scene
from fuzz.damage import NAMES, NUMBERS, spoiled
from fuzz.tables import ask

KINDS = ["sav", "zsav", "dta", "xpt"]
FORMULAS = [
    "=1+1", "=A1", "=1/0", '=HYPERLINK("x")', "=cmd|'/c calc'!A1", "=NA()", "=SUM(A1:XFD1048576)",
]  # fmt: skip
SHEET = "xl/worksheets/sheet1.xml"
LARGE = 3 << 30
"""So much a bomb unpacks to."""


def coded(fate: random.Random) -> list[str]:
    """A file of SPSS, Stata or SAS that was damaged, declares too much, or is of another kind."""
    kind = fate.choice(KINDS)
    content = Path(f"t.{kind}").read_bytes()
    if fate.random() < 0.3:
        content = _swollen(content, fate)
    content = spoiled(content, fate) if fate.random() < 0.8 else content
    name = f"u.{fate.choice([kind, kind, kind, *KINDS, 'sas7bdat', 'por', 'csv', 'SAV', 'xlsx'])}"
    Path(name).write_bytes(content)
    return ask(fate, name)


def _swollen(content: bytes, fate: random.Random) -> bytes:
    """The file with a greater number where it says how many rows or columns it has."""
    number = struct.pack("<i", 40)
    places = [i for i in range(len(content) - 4) if content[i : i + 4] == number]
    at = fate.choice(places or [fate.randrange(200)])
    great = struct.pack("<i", fate.choice([-1, 0, 10**6, 10**9, 2**31 - 1, -(2**31)]))
    return content[:at] + great + content[at + 4 :]


def workbook(fate: random.Random) -> list[str]:
    """A workbook that was written oddly, whose parts were changed, or that is a bomb."""
    match fate.randrange(5):
        case 0:
            Path("u.xlsx").write_bytes(spoiled(Path("t.xlsx").read_bytes(), fate))
        case 1:
            _written(fate)
        case 2:
            bomb(fate.choice([SHEET, "xl/sharedStrings.xml", "xl/styles.xml"]), fate.random() < 0.7)
        case _:
            _changed(fate)
    name = fate.choice(["u.xlsx"] * 4 + ["u.xlsm", "u.xls", "u.xlsb", "u.ods", "u.csv", "u.XLSX"])
    if name != "u.xlsx":
        Path("u.xlsx").rename(name)
    return ask(fate, name)


def _written(fate: random.Random) -> None:
    """A workbook of a proper writer with odd names, cells, formulas, or one cell far away."""
    import xlsxwriter

    table = scene.table(1)
    with xlsxwriter.Workbook("u.xlsx") as book:
        for _ in range(fate.choice([1, 1, 1, 2])):
            sheet = book.add_worksheet()
            names = [n if fate.random() < 0.9 else fate.choice(NAMES) for n in table.columns]
            sheet.write_row(0, 0, names)
            for i, row in enumerate(table.iter_rows(), fate.choice([1, 1, 1, 2, 0])):
                sheet.write_row(i, 0, row)
            for _ in range(fate.choice([0, 1, 3])):
                row, column = fate.randrange(42), fate.randrange(8)
                match fate.randrange(4):
                    case 0:
                        sheet.write_formula(row, column, fate.choice(FORMULAS), value="#DIV/0!")
                    case 1:
                        odd = [n for n in NUMBERS if abs(n) < 1e300]
                        sheet.write_number(row, column, fate.choice(odd))
                    case 2:
                        sheet.write_string(row, column, fate.choice(NAMES)[:30_000])
                    case _:
                        sheet.write_boolean(row, column, fate.random() < 0.5)
            if fate.random() < 0.15:
                sheet.write_number(fate.choice([99_999, 1_048_575]), fate.choice([0, 16_383]), 1)


def _changed(fate: random.Random) -> None:
    """A workbook with one of its parts spoiled, gone, twice, or under another name."""
    with zipfile.ZipFile("t.xlsx") as packed:
        parts = {part.filename: packed.read(part) for part in packed.infolist()}
    chosen = fate.choice([*parts, SHEET, SHEET])
    renamed = fate.choice(["../../x.xml", "/etc/x", "xl/worksheets/", "XL/WORKSHEETS/SHEET1.XML"])
    with zipfile.ZipFile("u.xlsx", "w", zipfile.ZIP_DEFLATED) as out:
        for name, part in parts.items():
            if name != chosen:
                out.writestr(name, part)
                continue
            match fate.randrange(5):
                case 0 | 1:
                    out.writestr(name, spoiled(part, fate))
                case 2:
                    for old, new in (("A1", fate.choice(["XFD1048576", "A0", "", "ZZZZ9", "A1:B2"])),
                                     (">0<", f">{fate.choice([-1, 2**31, 2**64, 'x'])}<")):  # fmt: skip
                        part = part.replace(old.encode(), new.encode(), fate.choice([1, -1]))  # noqa: PLW2901 - bent twice
                    out.writestr(name, part)
                case 3:
                    out.writestr(fate.choice([renamed, f"{name}.x"]), part)
                case _:
                    pass


def bomb(chosen: str, lies: bool) -> None:
    """A workbook of which a part unpacks to 3 GB; where it ``lies``, it says that it is small."""
    with zipfile.ZipFile("t.xlsx") as packed:
        parts = {part.filename: packed.read(part) for part in packed.infolist()}
    head, tail = parts[chosen][:-20], parts[chosen][-20:]
    deflate, more = zlib.compressobj(9, zlib.DEFLATED, -15), b" " * (1 << 22)
    squeezed = deflate.compress(head) + deflate.flush(zlib.Z_FULL_FLUSH)
    once = deflate.compress(more) + deflate.flush(zlib.Z_FULL_FLUSH)
    squeezed += once * (LARGE // len(more)) + deflate.compress(tail) + deflate.flush()
    with zipfile.ZipFile("u.xlsx", "w", zipfile.ZIP_STORED) as out:
        for name, part in parts.items():
            if name != chosen:
                out.writestr(name, part)
        out.writestr(chosen, squeezed)
        part = out.getinfo(chosen)
        began = part.header_offset
        part.compress_type = zipfile.ZIP_DEFLATED
        part.file_size = len(head) + len(tail) if lies else LARGE + len(head) + len(tail)
        part.CRC = zlib.crc32(head + more[: len(tail)]) if lies else 0
    content = bytearray(Path("u.xlsx").read_bytes())
    content[began + 8 : began + 10] = struct.pack("<H", zipfile.ZIP_DEFLATED)
    Path("u.xlsx").write_bytes(content)
