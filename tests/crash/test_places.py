# SPDX-License-Identifier: Apache-2.0
"""The search finds what it looks for, in each form in which it could lie about; and a disk keeps
what was flushed.
"""

import os
import struct
from pathlib import Path

import polars as pl
import pytest

from crash import scene
from crash.disk import Disk
from crash.places import Place, said
from crash.tracer import Call

TEXT, NUMBER = f"a {scene.HIDDEN} text", scene.HIDDEN_INCOME + 7 * 202
FORMS = {
    "utf-8": TEXT.encode(), "utf-16": TEXT.encode("utf-16-le"), "logged bytes": TEXT.encode().hex().encode(), "in capitals": TEXT.upper().encode(),
    "digits": b" %d," % NUMBER, "little end first": struct.pack("<q", NUMBER), "big end first": struct.pack(">q", NUMBER),
    "float": struct.pack("<d", NUMBER), "float, big end first": struct.pack(">d", NUMBER),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_hidden_things_are_found(form: str) -> None:
    """A hidden text and a hidden number are found in every form, in a release too."""
    assert len(said(b"before" + FORMS[form] + b"behind", released=True)) == 1


def test_released_things_are_found_elsewhere(tmp_path: Path) -> None:
    """What a release shows may stand in release folders, staging folders and reports, and nowhere
    else; packed or not.
    """
    place = Place(tmp_path)
    name, staging = scene.NAME, f".{scene.NAME}.0123456789abcdef.staging"
    for where in (
        f"out/{name}-1/data.parquet",
        f"out/{staging}/data.parquet",
        f"out/reports/{name}-1.html",
        "private/ledger.db",
        "temporary/x",
        f"out/{name}-1.txt",
    ):
        path = place.world / where
        path.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame(
            {
                "ward": [f"{i} {scene.SHOWN}" for i in range(99)],
                "income": [scene.LOWEST + i for i in range(99)],
            }
        ).write_parquet(path)
    assert sorted(place.strays()) == sorted(
        f"{where} holds {what}"
        for where in ("private/ledger.db", "temporary/x", f"out/{name}-1.txt")
        for what in ("a released text", "a released number")
    )


def test_nothing_is_found_in_a_release(tmp_path: Path) -> None:
    """A published release of the scene holds nothing that the search finds, and what it shows is
    really there.
    """
    place = Place(tmp_path)
    place.private.mkdir(parents=True)
    path = scene.publish(place.out, place.ledger, 1).path
    assert place.strays() == []
    for file in ("data.csv", "data.parquet"):
        assert said((path / file).read_bytes(), released=True) == []
    assert len(said((path / "data.csv").read_bytes(), released=False)) == 2


def write(path: Path, content: bytes, disk: Disk | None) -> None:
    """Write a file, and flush it to a disk."""
    path.write_bytes(content)
    if disk is not None:
        disk.watch(Call("fsync", (str(path),)))


@pytest.mark.parametrize(("keep_names", "left"), [
    (False, {"old": b"old", "flushed": b"1", "removed": b"gone"}),
    (True, {"old": b"old", "flushed": b"1", "empty": b"", "moved": b"2", "folder": None}),
])  # fmt: skip
def test_a_disk_keeps_what_was_flushed(
    tmp_path: Path, keep_names: bool, left: dict[str, bytes | None]
) -> None:
    """A disk keeps flushed bytes under flushed names, or under all names."""
    root = tmp_path / "root"
    root.mkdir()
    for name, content in {"old": b"old", "removed": b"gone"}.items():
        write(root / name, content, None)
    disk = Disk(root)
    write(root / "old", b"newer", None)
    write(root / "flushed", b"1", disk)
    disk.watch(Call("fsync", (str(root),)))
    write(root / "flushed", b"1 and more", None)
    write(root / "empty", b"not flushed", None)
    write(root / "named", b"2", disk)
    (root / "named").rename(root / "moved")
    (root / "folder").mkdir()
    gone = os.lstat(root / "removed")
    (root / "removed").unlink()
    disk.watch(Call("unlink", (str(root / "removed"),), nodes=(gone,)))
    disk.watch(Call("fsync", (str(root / "nowhere"),), result=-5))
    disk.fail(keep_names=keep_names)
    assert {
        path.name: path.read_bytes() if path.is_file() else None for path in root.iterdir()
    } == left
