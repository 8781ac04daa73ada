# SPDX-License-Identifier: Apache-2.0
"""Tables: CSV, Parquet and Arrow files that are damaged, cut, swollen, or say what no table says;
and databases that are asked strange questions.
"""

import gzip
import random
import sqlite3
from pathlib import Path

from fuzz import scene
from fuzz.damage import NAMES, NUMBERS, TEXTS, spoiled


def ask(fate: random.Random, file: str) -> list[str]:
    """A command that reads a table."""
    ledger = ["--ledger", scene.LEDGER] if fate.random() < 0.5 else []
    return fate.choice(
        [
            [
                "publish",
                fate.choice([f"{series}.toml" for series in scene.METHODS]),
                "--source",
                file,
            ],
            ["publish", "ward.toml", "--source", file],
            ["init", file, "--to", "new.toml"],
            [
                "verify",
                file,
                "--quasi",
                "age,town",
                "--sensitive",
                "ill",
                "--k",
                "2",
                "--l",
                "2",
                "--t",
                "1/2",
            ],
            ["verify", file, "--group", fate.choice(["ill", "who", "age"])],
            ["verify", "out/ward-1", "--original", file, "--identifier", "who", *ledger],
            [
                "attack",
                "all",
                f"out/{fate.choice(list(scene.METHODS))}-1",
                "--original",
                file,
                "--identifier",
                "who",
                *ledger,
            ],
        ]
    )


def csv(fate: random.Random) -> list[str]:
    """A CSV file with cells, lines, names or bytes that are not as they should be."""
    lines = [line.split(",") for line in Path("t1.csv").read_text().splitlines()]
    separator, encoding, end, file = ",", "utf-8", "\n", "t.csv"
    for _ in range(fate.choice([1, 1, 2, 4])):
        row, column = fate.randrange(1, len(lines)), fate.randrange(len(lines[0]))
        match fate.randrange(12):
            case 0:
                lines[row][column % len(lines[row])] = fate.choice(TEXTS)
            case 1:
                number = str(fate.choice(NUMBERS))
                lines[row][column % len(lines[row])] = (
                    number if fate.random() < 0.7 else number.replace(".", ",")
                )
            case 2:
                for line in lines[1:]:
                    line[column % len(line)] = (
                        str(fate.choice(NUMBERS)) if fate.random() < 0.7 else fate.choice(TEXTS)
                    )
            case 3:
                lines[0][column % len(lines[0])] = fate.choice(NAMES)
            case 4:
                lines[row] = lines[row][: fate.randrange(len(lines[row]) + 1)] or [""]
            case 5:
                lines[row].append(fate.choice(TEXTS))
            case 6:
                del lines[0 if fate.random() < 0.2 and len(lines) > 2 else row]
            case 7:
                lines[row][column % len(lines[row])] = fate.choice(
                    ['"', 'a"b', '"a"b', '"a\nb"', '"a,b"', "'", '""', '"' * 7]
                )
            case 8:
                separator, end = (
                    fate.choice([";", "\t", ",", "|", ", "]),
                    fate.choice(["\n", "\r\n", "\r", "\n\n"]),
                )
            case 9:
                encoding = fate.choice(["utf-16", "latin-1", "utf-8-sig", "utf-32", "cp037"])
            case 10:
                lines[row][column % len(lines[row])] = "x" * fate.choice([1000, 10**6])
            case _:
                more = fate.choice([1, 50, 3000])
                if max(len(line[0]) for line in lines) > 10**4:
                    more = 1  # a line of gigabytes takes the fuzzer's own memory
                lines = (
                    [
                        line + [f"{name}{i}" for i in range(more) for name in (line[0],)]
                        for line in lines
                    ]
                    if more < 3000 or len(lines) < 60
                    else lines
                )
        if len(lines) < 2:
            break
    content = end.join(separator.join(line) for line in lines).encode(encoding, "replace")
    if fate.random() < 0.25:
        content = spoiled(content, fate)
    if fate.random() < 0.1:
        file, content = (
            "t.csv.gz",
            gzip.compress(content + (b"0" * fate.choice([0, 10**6, 10**8])), 1),
        )
        content = spoiled(content, fate) if fate.random() < 0.4 else content
    Path(file).write_bytes(content)
    return ask(fate, file)


def parquet(fate: random.Random) -> list[str]:
    """A Parquet file that was damaged, or a bomb."""
    return _file(fate, "parquet")


def arrow(fate: random.Random) -> list[str]:
    """An Arrow file or stream that was damaged, or a bomb."""
    return _file(fate, "arrow")


def _swollen(content: bytes, fate: random.Random) -> bytes:
    """A Parquet file whose footer says greater numbers: of rows, of values, of bytes."""
    length = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - length : -8]
    at = fate.choice(
        [i for i, byte in enumerate(footer) if byte == 0x50]
        if fate.random() < 0.6
        else range(length)
    )  # 40 rows, as a varint
    great, number = b"", fate.choice([10**6, 10**9, 2**31, 2**40, 2**62, 2**64 - 1])
    while number > 127:
        great, number = great + bytes([number & 127 | 128]), number >> 7
    footer = footer[:at] + great + bytes([number]) + footer[at + 1 :]
    return content[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _file(fate: random.Random, kind: str) -> list[str]:
    if kind == "arrow" and fate.random() < 0.01:
        return ask(fate, "bomb.arrow")
    content = Path(f"t.{kind}").read_bytes()
    if kind == "parquet" and fate.random() < 0.2:
        Path("u.parquet").write_bytes(_swollen(content, fate))
        return ask(fate, "u.parquet")
    if kind == "arrow" and fate.random() < 0.3:
        import pyarrow as pa

        read, stream = pa.ipc.open_file("t.arrow").read_all(), pa.BufferOutputStream()
        compressed = pa.ipc.IpcWriteOptions(compression=fate.choice([None, "lz4", "zstd"]))
        with pa.ipc.new_stream(stream, read.schema, options=compressed) as out:
            out.write_table(read, max_chunksize=fate.choice([None, 7]))
        content = stream.getvalue().to_pybytes()
    name = f"u.{fate.choice([kind, kind, kind, 'parquet', 'arrow', 'feather', 'csv', 'txt'])}"
    Path(name).write_bytes(spoiled(content, fate))
    return ask(fate, name)


def database(fate: random.Random) -> list[str]:
    """A query that is odd, on a database with odd values, or one that was damaged."""
    with sqlite3.connect("d.db") as made:
        made.execute('CREATE TABLE t (who, age, income, town, ill, note, "*")')
        rows = [line.split(",") for line in Path("t1.csv").read_text().splitlines()[1:]]
        for row in rows:
            odd = (
                fate.choice(
                    [None, b"\xff\x00", 2**63 - 1, 1e308, float("inf"), scene.MARKER, "", "é\0"]
                )
                if fate.random() < 0.03
                else row[1]
            )
            made.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, 1)", (row[0], odd, *row[2:]))
    made.close()
    if fate.random() < 0.4:
        Path("d.db").write_bytes(spoiled(Path("d.db").read_bytes(), fate))
    query = fate.choice(
        [
            "SELECT * FROM t", "SELECT who, age, income, town, ill, note FROM t", "SELECT who, age, income, town, ill, note FROM t; DROP TABLE t", "DELETE FROM t", "SELECT abs(who) FROM t",
            "SELECT",
            "", "\0", "SELECT who AS '' FROM t", "SELECT who, who FROM t", "SELECT json(who) FROM t", "SELECT CAST(who AS INTEGER) AS age, * FROM t", "SELECT load_extension(who) FROM t",
            "SELECT * FROM nobody", "SELECT zeroblob(200000000) AS age", "PRAGMA writable_schema=1", "SELECT 1 AS age UNION ALL SELECT who FROM t",
            "SELECT printf('%.*c', 300000000, 'x') AS ill",
            f"SELECT {scene.MARKER} FROM t", "SELECT * FROM t WHERE age = $1", "EXPLAIN SELECT * FROM t", "ATTACH 'ledger.db' AS l; SELECT * FROM l.releases", "VALUES (1), (x'ff')",
            "SELECT who, age + 9223372036854775807 AS age, income, town, ill, note FROM t", "SELECT who, CAST(town AS BLOB) AS town, age, income, ill, note FROM t",
        ]
    )  # fmt: skip
    url = fate.choice(
        [
            "sqlite:///d.db",
            "sqlite:///d.db",
            "sqlite:///d.db",
            "sqlite:///nowhere.db",
            "sqlite:///out",
            "sqlite:///t1.csv",
            "sqlite:///ledger.db",
            *[t for t in TEXTS if "://" in t],
        ]
    )
    if fate.random() < 0.5:
        return ["init", url, "--query", query.replace("\0", ""), "--to", "new.toml"]
    text = scene.plan(fate.choice(list(scene.METHODS))).replace(
        'path = "t1.csv"',
        "url = '''" + url + "'''\nquery = '''" + query.replace("\0", "\\u0000") + "'''",
    )
    Path("plan.toml").write_text(text, encoding="utf-8")
    return ["publish", "plan.toml"]
