# SPDX-License-Identifier: Apache-2.0
"""A release in parts: whole groups of it stand in files of their own, which are written, read and
checked one after the other, so that the release may be larger than the memory.

The numbers of groups go on from part to part, and a group stands in one part alone. Every part is
the file that a release of these groups by themselves would be, but for its groups' numbers, so that
every check of files is the same. What it says beside its groups is which of them were made
together, and that follows from quasi-identifiers, or from chance (``phalanx.engines``).
"""

import re
from typing import Final

from phalanx.release.manifest import Manifest, PublishedFile

_PART: Final = re.compile(r"(.+)-(\d{5})")
MOST: Final = 99_999
"""So many parts can be numbered."""


def ending(number: int) -> str:
    """How the files of a part are called behind the name of their table; parts count from 0, and
    their files from 1.

    >>> ending(0)
    '-00001'
    """
    return f"-{number + 1:05}"


def table_of(stem: str) -> str:
    """The table that a file holds, whole or a part of it, by its name without the format.

    >>> table_of("data"), table_of("data-00012")
    ('data', 'data')
    """
    called = _PART.fullmatch(stem)
    return called[1] if called else stem


def part_of(manifest: Manifest, number: int) -> Manifest:
    """What a manifest would say of one part by itself."""
    return manifest.model_copy(
        update={
            "parts": [],
            "files": _files_of(manifest, number),
            "rows": manifest.parts[number].rows,
            "groups": manifest.parts[number].groups,
            "counterfeits": manifest.parts[number].counterfeits,
            "registered": 0,
        }
    )


def _files_of(manifest: Manifest, number: int) -> list[PublishedFile]:
    """The files of one part, which usually stand together, part by part; else all are gone through,
    which takes long where there are thousands.
    """
    mine, tables = f"{ending(number)}.parquet", len(manifest.files) // len(manifest.parts)
    together = manifest.files[number * tables : (number + 1) * tables]
    if together and all(file.name.endswith(mine) for file in together):
        return together
    return [file for file in manifest.files if file.name.endswith(mine)]


def groups_before(manifest: Manifest, number: int) -> int:
    """How many groups the parts before one have."""
    return sum(part.groups for part in manifest.parts[:number])


def wrongly_in_parts(manifest: Manifest) -> str:
    """How the manifest contradicts itself about its parts; empty where it does not."""
    stems = [file.name.rsplit(".", 1)[0] for file in manifest.files]
    if not manifest.parts:
        strange = next((stem for stem in stems if table_of(stem) != stem), None)
        return "" if strange is None else f"the manifest has the file {strange} and no parts"
    if len(manifest.parts) > MOST or any(
        file.name.endswith(".csv") or table_of(stem) == stem
        for file, stem in zip(manifest.files, stems, strict=True)
    ):
        return "the manifest has parts, and names files that no part has"
    tables = {table_of(stem) for stem in stems}
    expected = {f"{table}{ending(n)}" for table in tables for n in range(len(manifest.parts))}
    if expected != set(stems):
        return "the manifest does not name the files of all of its parts"
    for what in ("rows", "groups", "counterfeits"):
        if sum(getattr(part, what) for part in manifest.parts) != getattr(manifest, what):
            return f"the {what} of its parts do not add up to those that the manifest says"
    if manifest.registered:
        return "the manifest has parts, and registered persons, of which parts tell nothing"
    return ""
