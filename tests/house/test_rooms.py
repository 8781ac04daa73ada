# SPDX-License-Identifier: Apache-2.0
"""That the first words of a folder are a map of it."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "phalanx"


def folders_of(path: Path) -> list[str]:
    """The rooms in a room."""
    return sorted(file.parent.name for file in path.glob("*/__init__.py"))


def off_the_map(said: str, there: set[str]) -> set[str]:
    """The modules of a folder that its first words do not name, and the names in them that are no
    modules.
    """
    return set(re.findall(r"``(\w+)``", said)) ^ there


ROOMS = [
    "adversaries",
    "data/hierarchies",
    "data/sources",
    "estimators",
    "guarantees",
    "kernels",
    "methods",
    "profile",
    "release/evidence",
    "series",
]


@pytest.mark.parametrize(
    "folder",
    ROOMS + [f"{room}/{part}" for room in ROOMS for part in folders_of(PACKAGE / room)],
)
def test_a_stranger_finds_the_room(folder):
    """The first words of a folder name each of its files, by what it belongs to, so that the place
    of the next one can be seen.
    """
    path = PACKAGE / folder
    said = ast.get_docstring(ast.parse((path / "__init__.py").read_text(encoding="utf-8"))) or ""
    parts = {file.stem for file in path.glob("*.py")} - {"__init__"} | set(folders_of(path))
    assert off_the_map(said, parts) == set()


def test_a_map_with_a_hole_is_rejected():
    """A file that nobody names, and a name of no file, are both found."""
    assert off_the_map("``one``; ``three``", {"one", "two"}) == {"two", "three"}
