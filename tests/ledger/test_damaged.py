# SPDX-License-Identifier: Apache-2.0
"""Whatever a disk or a stranger made of a ledger, it is used as it was written, or refused in one
sentence.
"""

import random
import shutil
from pathlib import Path

import polars as pl
import pytest

from phalanx.errors import LedgerError
from phalanx.ledger import Ledger, ReleaseEntry

COPIES = 250


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of two series."""
    file = tmp_path_factory.mktemp("whole") / "ledger.db"
    with Ledger.open(f"sqlite:///{file}") as ledger:
        for series in ("a", "b"):
            for number in (1, 2):
                entry = ReleaseEntry(
                    number=number,
                    folder=f"/out/{series}-{number}",
                    staging=".s",
                    digest=f"{number}" * 64,
                    summary={"rows": 2, "é": None},
                )
                table = pl.DataFrame({"n": [number]})
                ledger.commit(
                    series,
                    entry,
                    promise={"m": 2},
                    remember={"t": table},
                    groups=None,
                    state={"c": table},
                )
    return file


def everything(url: str) -> list[object]:
    """All that a ledger says; LedgerError."""
    with Ledger.open(url, create=False) as ledger:
        said: list[object] = [ledger.series()]
        for series in ("a", "b"):
            said += [
                ledger.promise(series),
                ledger.releases(series, marked=True),
                ledger.moved(series),
                ledger.reconciled(series),
            ]
            said += [
                {name: t.to_dicts() for name, t in tables.items()}
                for tables in (ledger.remembered(series), ledger.state(series))
            ]
        return said


def spoiled(content: bytes, fate: random.Random) -> bytes:
    """A copy in which a few bytes, a page or the end are not what they were."""
    changed = bytearray(content)
    how = fate.randrange(4)
    if how == 0:
        for _ in range(fate.randrange(1, 6)):
            changed[fate.randrange(len(changed))] = fate.randrange(256)
    elif how == 1:
        start = fate.randrange(len(changed))
        changed[start : start + 64] = fate.randbytes(len(changed[start : start + 64]))
    elif how == 2:
        page, other = (4096 * fate.randrange(len(changed) // 4096) for _ in range(2))
        changed[page : page + 4096] = content[other : other + 4096]
    else:
        del changed[fate.randrange(len(changed)) :]
    return bytes(changed)


def test_damaged_copies(whole: Path, tmp_path: Path) -> None:
    """Two hundred and fifty copies, each damaged: what is read is what was written, or there is one
    sentence; never anything else.
    """
    content, expected = whole.read_bytes(), everything(f"sqlite:///{whole}")
    for end in ("key", "mark"):
        shutil.copy(f"{whole}.{end}", tmp_path / f"ledger.db.{end}")
    refused = 0
    for seed in range(COPIES):
        (tmp_path / "ledger.db").write_bytes(spoiled(content, random.Random(seed)))
        for beside in tmp_path.glob("ledger.db-*"):
            beside.unlink()
        try:
            found = everything(f"sqlite:///{tmp_path}/ledger.db")
        except LedgerError as error:
            refused += 1
            assert str(error).count(". ") <= 1, seed  # noqa: PT017 - or it is what was written
        else:
            assert sorted(map(repr, found)) == sorted(map(repr, expected)), seed
    assert refused > COPIES / 3


COLUMNS = [
    "series.name",
    "series.promise",
    "series.head",
    "releases.number",
    "releases.folder",
    "releases.day",
    "releases.summary",
]
COLUMNS += ["releases.authentic", "segments.name", "segments.sealed", "meta.value", "meta.name"]
VALUES = [
    "NULL",
    "7",
    "-1",
    "1.5",
    "9223372036854775807",
    "x'ff00fe'",
    "CAST(x'ff00fe' AS TEXT)",
    "'{'",
    "'[1]'",
    "''",
    f"'{'[' * 3000}'",
]


@pytest.mark.parametrize("column", COLUMNS)
def test_values_of_another_kind(whole: Path, tmp_path: Path, column: str) -> None:
    """Any column that holds something else than it can: one sentence, whatever the database gives
    for it.
    """
    table, name = column.split(".")
    for end in ("key", "mark"):
        shutil.copy(f"{whole}.{end}", tmp_path / f"ledger.db.{end}")
    url = f"sqlite:///{tmp_path}/ledger.db"
    for value in VALUES:
        shutil.copy(whole, tmp_path / "ledger.db")
        with Ledger.open(url) as ledger:
            rows = ledger._store.run(f"SELECT * FROM {table}")
            columns = [row[1] for row in ledger._store.run(f"PRAGMA table_info({table})")]
            ledger._store.run("PRAGMA foreign_keys = OFF")
            ledger._store.run(f"DROP TABLE {table}")
            ledger._store.run(f"CREATE TABLE {table} ({', '.join(columns)})")
            for row in rows:
                ledger._store.run(
                    f"INSERT INTO {table} VALUES"
                    f" ({', '.join(f'${i}' for i in range(1, len(row) + 1))})",
                    *row,
                )
            ledger._store.run(f"UPDATE {table} SET {name} = {value} WHERE rowid = 1")
        with pytest.raises(LedgerError) as told:
            everything(url)
        assert str(told.value).count(". ") <= 1, value
