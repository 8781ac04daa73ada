# SPDX-License-Identifier: Apache-2.0
"""The folder that every hostile input is let into: tables, plans, releases of every form, a ledger,
what was exported from it, and a bomb.
"""

import contextlib
import json
import os
import random
import shlex
import shutil
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa

from phalanx.cli import main

MARKER, MARKED_NUMBER, PASSWORD = "Qz7hidden", "27182818", "Pw9secret"
"""What stands in the tables, as a part of every text and of every number of one column, and in
urls; it must be in no output.
"""

METHODS = {
    "ward": 'name = "m-invariance"\nm = 2\nchanged = "suppress"',
    "mondrian": 'name = "mondrian"\nk = 4\nl = 2\ncuts = "strict"',
    "anatomy": 'name = "anatomy"\nl = 2',
    "slicing": 'name = "slicing"\ncolumns = 2\nsensitive_column_size = 1\nl = 2',
    "mutual-cover": 'name = "mutual-cover"\ndelta = "1/4"',
    "safe-sampling": (
        'name = "safe-sampling"\nepsilon = 2\ndelta = "1/10"\nallow_empty ='
        " true\n[method.scheme]\nage = { level = 1 }\nincome = { level = 1 }"
    ),
    "global-guarantee": 'name = "global-guarantee"\nl = 2',
}
"""A series for every method; the first has two releases, and a third table waits."""
LEDGER = "ledger.db"
EXPLORED = 'explore mondrian.toml --on-the-table --try "anatomy l=2" --workers 1'
"""A run whose points are kept: of an undamaged folder it goes on without a process."""
WARM = [
    (
        "verify out/ward-1 out/ward-2 --ledger ledger.db --original t1.csv --original t2.csv"
        " --identifier who"
    ),
    (
        "attack all out/ward-1 out/ward-2 --original t1.csv --original t2.csv --identifier who"
        " --ledger ledger.db"
    ),
    *(
        f"attack all out/{name}-1 --original t1.csv --identifier who --ledger ledger.db"
        for name in METHODS
    ),
    *(f"verify out/{name}-1 --ledger ledger.db" for name in METHODS),
    "verify t1.csv --quasi age,town --sensitive ill --k 1 --l 1 --t 1",
    "init t1.csv --to new.toml",
    "budget --epsilon 1 --delta 1e-3",
    "init t.xlsx --to excel.toml",
    "init t.sav --to spss.toml",
    "publish ward.toml --source t3.csv",
]
"""Commands that use most of the kernels, to compile them."""


def table(release: int) -> pl.DataFrame:
    """Forty persons and more. The first row has no marker: in a table whose names are cut off, it
    stands where the names stand.
    """
    rows = []
    for i in range(40 + 4 * (release - 1)):
        town, ill = f"town {i % 3}", f"ill {'abcd'[i % 4]}"
        words = (
            {"town": town, "ill": ill}
            if i == 0
            else {"town": f"{MARKER} {town}", "ill": f"{MARKER} {ill}"}
        )
        first = (
            {"who": "p0", "income": 1}
            if i == 0
            else {"who": f"{MARKER} {i}", "income": int(f"{MARKED_NUMBER}{i:02d}")}
        )
        rows.append(
            first | {"age": 20 + i % 7} | words | {"note": f"{MARKER} note" if i else "note"}
        )
    return pl.DataFrame(rows).select("who", "age", "income", "town", "ill", "note")


def plan(series: str) -> str:
    """The plan of a series."""
    sampled = series == "safe-sampling"
    hierarchies = (
        "[schema.hierarchies]\nincome = { bands = [1000000] }\nage = { bands = [10] }\n"
        if sampled
        else ""
    )
    quasi, drop = (
        (["age", "income"], ["note", "town"]) if sampled else (["age", "income", "town"], ["note"])
    )
    return (
        f'[series]\nname = "{series}"\n[source]\npath = "t1.csv"\n[schema]\nidentifier ='
        f' "who"\nquasi = {json.dumps(quasi)}\nsensitive = "ill"\ndrop ='
        f" {json.dumps(drop)}\n{hierarchies}[method]\n{METHODS[series]}\n[publish]\nto ="
        f' "out"\nformats = ["parquet", "csv"]\n[ledger]\nurl = "sqlite:///{LEDGER}"\n'
    )


def call(command: str) -> None:
    """Run a command in this process, and see it succeed."""
    sys.argv = ["phalanx", *shlex.split(command)]
    try:
        main()
    except SystemExit as leaving:
        if leaving.code not in {None, 0, 1}:
            raise RuntimeError(f"{command}: {leaving.code}") from None


def build(base: Path) -> None:
    """Everything that inputs are made of, in ``base / "kept"``; it was made as ``base / "world"``,
    since a ledger knows release folders by their paths.
    """
    world = base / "world"
    world.mkdir(parents=True)
    (base / "home").mkdir()
    os.chdir(world)
    os.environ |= {"HOME": str(base / "home"), "XDG_CONFIG_HOME": str(base / "home")}
    with Path("/dev/null").open("w") as nothing:
        os.dup2(nothing.fileno(), 1)
    for release in (1, 2, 3):
        table(release).write_csv(f"t{release}.csv")
    table(1).write_parquet("t.parquet")
    table(1).write_ipc("t.arrow", compat_level=pl.CompatLevel.oldest())
    for series in METHODS:
        Path(f"{series}.toml").write_text(plan(series), encoding="utf-8")
        call(f"publish {series}.toml")
    call("publish ward.toml --source t2.csv")
    call(f"series export ward --ledger {LEDGER} --to ward.series --copy")
    call(f"series backup --ledger {LEDGER} --to backup")
    call(EXPLORED)
    for_others(table(1))
    bomb(world / "bomb.arrow")
    world.rename(base / "kept")


def rehearse(base: Path) -> None:
    """Build a scene, and use most of what there is on a copy of it."""
    build(base)
    restore(base / "world", base / "kept")
    os.chdir(base / "world")
    for command in WARM:
        with contextlib.suppress(RuntimeError):  # one that fails is for the doors to find
            call(command)


def for_others(people: pl.DataFrame) -> None:
    """The table as files of Excel and of statistics packages, in the current folder."""
    import pyreadstat

    people.write_excel("t.xlsx")
    pyreadstat.write_sav(people, "t.sav")
    pyreadstat.write_sav(people, "t.zsav", row_compress=True)
    pyreadstat.write_dta(people, "t.dta")
    pyreadstat.write_xport(people, "t.xpt")


def bomb(file: Path) -> None:
    """A file of 8,000 bytes that holds 200 million values."""
    zeros = pa.Array.from_buffers(pa.uint8(), 20_000_000, [None, pa.py_buffer(bytes(20_000_000))])
    wide = pa.table({f"c{i}": zeros for i in range(10)})
    with pa.ipc.new_file(
        file, wide.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as out:
        out.write_table(wide)


def restore(world: Path, kept: Path) -> None:
    """The folder as it was built."""
    shutil.rmtree(world, ignore_errors=True)
    shutil.copytree(kept, world)


def fate_of(door: str, number: int) -> random.Random:
    """What an input is made by."""
    return random.Random(f"{door} {number}")
