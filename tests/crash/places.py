# SPDX-License-Identifier: Apache-2.0
"""Where a series lives while its publishers are stopped: a folder for the releases, one for the
ledger and its key, one for temporary files.

A place is put back into the state from which every publisher starts, and searched for what must not
be where it is.
"""

import contextlib
import os
import re
import shutil
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from crash import scene
from crash.tracer import Call

ZSTD = b"\x28\xb5\x2f\xfd"


class Place:
    """A place with an SQLite ledger."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.world, self._kept = folder / "world", folder / "kept"
        self.out, self.private, self.temporary = (
            self.world / "out",
            self.world / "private",
            self.world / "temporary",
        )

    @property
    def ledger(self) -> str:
        """The url of the ledger."""
        return f"sqlite:///{self.private}/ledger.db"

    at_rest = re.compile("ledger.db ledger.db.key ledger.db.mark")
    """The files of the folder of the ledger while nobody publishes."""

    def begin(self) -> None:
        """Nothing is there but empty folders; temporary files and configuration of this process and
        its forks are inside from now on.
        """
        shutil.rmtree(self.world, ignore_errors=True)
        self.private.mkdir(parents=True)
        self.temporary.mkdir()
        os.environ |= {
            "TMPDIR": str(self.temporary),
            "HOME": str(self.temporary),
            "XDG_CONFIG_HOME": str(self.private),
        }
        tempfile.tempdir = None  # where they were put before is not looked up again otherwise

    def keep(self) -> None:
        """What is here is what every publisher starts from."""
        shutil.rmtree(self._kept, ignore_errors=True)
        shutil.copytree(self.world, self._kept)

    def reset(self) -> None:
        """Back to what was kept."""
        shutil.rmtree(self.world)
        shutil.copytree(self._kept, self.world)

    def covers(self, call: Call) -> bool:
        """Whether a call is about files of this place alone, or about a connection."""
        return call.socket is not None or all(
            Path(path).is_relative_to(self.world) for path in call.paths
        )

    def strays(self) -> list[str]:
        """Files that hold what they must not, and what it is."""
        return [
            f"{path.relative_to(self.world)} holds {what}"
            for path, what in self._strays(self.world)
        ]

    def strays_of_all(self) -> list[str]:
        """The same, in what outlives a reset and takes long to search."""
        return []

    def _strays(self, folder: Path) -> Iterator[tuple[Path, str]]:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            try:
                content = path.read_bytes()
            except FileNotFoundError:  # a live server removes files of its own in between
                continue
            for what in said(
                content,
                *packed(content),
                released=bool(_RELEASED.match(path.relative_to(folder).as_posix())),
            ):
                yield path, what


_RELEASED = re.compile(
    rf"out/(\.?{scene.NAME}(\.[0-9a-f]{{16}}\.staging/|-\d+/)|reports/{scene.NAME}-\d+\.html$)"
)
"""Release folders, staging folders and reports may show what a release shows."""


def said(*contents: bytes, released: bool) -> list[str]:
    """What is in these bytes that may not be there; ``released`` where a release may stand."""
    sought = {"hidden text": _TEXTS[0], "a hidden number": _NUMBERS[0]}
    if not released:
        sought |= {"a released text": _TEXTS[1], "a released number": _NUMBERS[1]}
    return [
        what
        for what, forms in sought.items()
        if any(form in content for content in contents for form in forms)
    ]


def _text(word: str) -> list[bytes]:
    """A word in the usual encodings, and as the hexadecimal digits in which a database logs
    bytes.
    """
    return [
        word.encode(),
        word.encode("utf-16-le"),
        word.encode("utf-16-be"),
        word.encode().hex().encode(),
        word.lower().encode(),
        word.upper().encode(),
    ]


def _number(*begins: int) -> list[bytes]:
    """The numbers from each of ``begins`` to 2^11 above, as text, as an integer in either byte
    order, as a float.
    """
    forms = []
    for begin in begins:
        forms += [
            str(begin)[:9].encode(),
            begin.to_bytes(6, "little")[2:] + bytes(2),
            bytes(2) + begin.to_bytes(6, "big")[:4],
        ]
        forms += [struct.pack("<d", begin)[3:], struct.pack(">d", begin)[:5]]
    return forms


_TEXTS = (_text(scene.HIDDEN), _text(scene.SHOWN))
_NUMBERS = (_number(scene.HIDDEN_INCOME), _number(scene.LOWEST, scene.HIGHEST))


def packed(content: bytes) -> Iterator[bytes]:
    """All that unpacks inside of a file: the pages of Parquet are Zstandard frames."""
    start = content.find(ZSTD)
    while start >= 0:
        frame = bytearray()
        with (
            contextlib.suppress(OSError),
            pa.CompressedInputStream(pa.BufferReader(content[start:]), "zstd") as unpacked,
        ):
            while byte := unpacked.read(
                1
            ):  # what stands behind the frame cannot be unpacked and ends the reading
                frame += byte
        yield bytes(frame)
        start = content.find(ZSTD, start + 1)
