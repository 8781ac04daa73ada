# SPDX-License-Identifier: Apache-2.0
"""Ledgers, keys, marks, exports and backups that a disk or a stranger changed."""

import contextlib
import json
import os
import random
import sqlite3
from pathlib import Path

from fuzz import scene
from fuzz.damage import NUMBERS, TEXTS, any_json, spoiled
from phalanx.ledger.marks import _sum


def ask(fate: random.Random, ledger: str = scene.LEDGER) -> list[str]:
    """A command that reads a ledger."""
    word = fate.choice([ledger, f"sqlite:///{ledger}"])
    return fate.choice(
        [
            ["series", "list", "--ledger", word],
            ["series", "show", "ward", "--ledger", word],
            ["series", "show", "ward", "--ledger", word, "--json"],
            ["series", "export", "ward", "--ledger", word, "--to", "e.series"],
            ["series", "export", "ward", "--ledger", word, "--to", "e.series", "--copy"],
            ["series", "backup", "--ledger", word, "--to", "b"],
            ["series", "rotate-key", "--ledger", word],
            ["series", "reconcile", "ward", "--ledger", word, "out/ward-1", "out/ward-2"],
            ["series", "import", "ward.series", "--ledger", word],
            ["publish", "ward.toml", "--source", "t3.csv"],
            ["publish", "safe-sampling.toml", "--source", "t2.csv"],
            ["verify", "out/ward-1", "out/ward-2", "--ledger", word],
            [
                "attack",
                "intersection-by-person",
                "out/ward-1",
                "out/ward-2",
                "--original",
                "t1.csv",
                "--original",
                "t2.csv",
                "--identifier",
                "who",
                "--ledger",
                word,
            ],
        ]
    )


def ledger(fate: random.Random) -> list[str]:
    """A ledger with other bytes, other rows, or an odd file in its place."""
    file = Path(scene.LEDGER)
    match fate.randrange(8):
        case 0 | 1 | 2:
            file.write_bytes(spoiled(file.read_bytes(), fate))
        case 3:
            content = bytearray(file.read_bytes())
            pages = len(content) // 4096
            for _ in range(fate.choice([1, 3])):
                page, other = 4096 * fate.randrange(pages), 4096 * fate.randrange(pages)
                content[page : page + 4096] = fate.choice(
                    [content[other : other + 4096], bytes(4096), fate.randbytes(4096)]
                )
            file.write_bytes(content)
        case 4:
            Path(f"{file}-{fate.choice(['journal', 'wal', 'shm'])}").write_bytes(
                spoiled(file.read_bytes(), fate) if fate.random() < 0.5 else fate.randbytes(600)
            )
        case 5:
            odd = fate.choice(["folder", "empty", "link", "text"])
            file.unlink()
            {"folder": file.mkdir, "empty": lambda: file.write_bytes(b""), "link": lambda: file.symlink_to(fate.choice(["/dev/null", "ledger.db", "t1.csv"])),
             "text": lambda: file.write_bytes(b"SQLite format 3\0" + fate.randbytes(100))}[odd]()  # fmt: skip
        case _:
            _change_rows(file, fate)
    return ask(fate)


def _change_rows(file: Path, fate: random.Random) -> None:
    """Other values in a row, a row that is gone or twice, another table."""
    with (
        contextlib.closing(sqlite3.connect(file)) as opened,
        contextlib.suppress(sqlite3.Error, OverflowError),
        opened,
    ):
        opened.execute("PRAGMA ignore_check_constraints = 1")
        table = fate.choice(
            [
                name
                for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
        )
        column = fate.choice([row[1] for row in opened.execute(f"PRAGMA table_info({table})")])
        (row,) = fate.choice(opened.execute(f"SELECT rowid FROM {table}").fetchall())
        old = opened.execute(f'SELECT "{column}" FROM {table} WHERE rowid = ?', (row,)).fetchone()[
            0
        ]
        new = fate.choice(
            [
                None,
                fate.choice(TEXTS),
                json.dumps(any_json(fate)),
                b"\xff",
                b"",
                fate.choice([n for n in NUMBERS if isinstance(n, float) or abs(n) < 2**63]),
            ]
        )
        if isinstance(old, bytes) and old:
            new = fate.choice([new, spoiled(old, fate)])
        match fate.randrange(6):
            case 0:
                opened.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
            case 1:
                opened.execute(f"DROP TABLE {table}")
            case 2:
                opened.execute(f'ALTER TABLE {table} RENAME COLUMN "{column}" TO odd')
            case _:
                opened.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (new, row))


def key(fate: random.Random) -> list[str]:
    """A key or a mark that is gone, changed, readable by all, or comes from the environment."""
    which = fate.choice(["ledger.db.key", "ledger.db.key", "ledger.db.mark", "ledger.db.mark"])
    file = Path(which)
    match fate.randrange(9):
        case 0:
            file.unlink()
        case 1 | 2:
            file.write_bytes(spoiled(file.read_bytes(), fate))
        case 3:
            file.chmod(fate.choice([0o644, 0o640, 0o000, 0o777]))
        case 4:
            file.unlink()
            fate.choice(
                [
                    file.mkdir,
                    lambda: file.symlink_to("nowhere"),
                    lambda: file.symlink_to(which),
                    lambda: file.symlink_to("/dev/zero"),
                    lambda: file.symlink_to("t1.csv"),
                ]
            )()
        case 5:
            Path(f"{which}.{fate.choice(['new', 'next'])}").write_bytes(
                fate.choice(
                    [
                        b"",
                        file.read_bytes(),
                        fate.randbytes(64),
                        (fate.randbytes(32).hex() + "\n").encode(),
                    ]
                )
            )
        case 6 if which.endswith("mark"):
            said = json.loads(
                file.read_text().rpartition("\n{")[0]
                or file.read_text().rstrip("\n").rpartition("\n")[0]
            )
            series = said["series"]["ward"]
            fate.choice(
                [
                    lambda: series.update(moves=any_json(fate)),
                    lambda: series.update(releases=any_json(fate)),
                    series["releases"].pop,
                    lambda: series["releases"].append(["2020-01-01", "0" * 64]),
                    lambda: said.update(series=any_json(fate)),
                    lambda: said.update(format=any_json(fate)),
                    lambda: said["series"].pop("ward"),
                ]
            )()
            text = json.dumps(said, indent=1)
            file.write_text(f"{text}\n{_sum(text)}\n")
        case 7:
            os.environ["PHALANX_LEDGER_KEY"] = fate.choice(
                [
                    "",
                    "0" * 64,
                    Path("ledger.db.key").read_text(),
                    fate.choice(TEXTS).replace("\0", ""),
                    "g" * 64,
                    "ff" * 33,
                ]
            )
            os.environ["PHALANX_LEDGER_NEW_KEY"] = fate.choice(["", "1" * 64, "x"])
        case _:
            file.write_bytes(
                Path(
                    fate.choice(["ward.series.key", "ledger.db.mark", "t1.csv", "ledger.db.key"])
                ).read_bytes()
            )
    return ask(fate)


def export(fate: random.Random) -> list[str]:
    """An exported series or its key that was changed on its way, and where it is taken to."""
    file = fate.choice([Path("ward.series"), *sorted(Path("backup").glob("*.series"))])
    key_file = file.with_name(file.name + ".key")
    match fate.randrange(6):
        case 0 | 1 | 2:
            file.write_bytes(spoiled(file.read_bytes(), fate))
        case 3:
            key_file.write_bytes(spoiled(key_file.read_bytes(), fate))
        case 4:
            key_file.write_bytes(fate.choice(sorted(Path("backup").glob("*.key"))).read_bytes())
        case _:
            content = file.read_bytes()
            file.write_bytes(
                content[: fate.randrange(len(content))]
                + fate.choice([b"", (2**62).to_bytes(8, "big"), content, fate.randbytes(30)])
            )
    ledger = fate.choice(
        [
            scene.LEDGER,
            "fresh.db",
            "nowhere/fresh.db",
            "out",
            "t1.csv",
            "postgresql://127.0.0.1:1/x",
        ]
    )
    folder = (
        ["--folder", fate.choice(["out", "nowhere", "t1.csv", ""])] if fate.random() < 0.4 else []
    )
    by = (
        ["--key", fate.choice([str(key_file), "ledger.db.key", "nowhere", "out", "/dev/zero"])]
        if fate.random() < 0.3
        else []
    )
    return ["series", "import", str(file), "--ledger", ledger, *folder, *by]
