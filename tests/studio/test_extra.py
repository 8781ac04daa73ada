# SPDX-License-Identifier: Apache-2.0
"""The studio as a part: what its extra brings is small, it needs no build, nothing imports it, and it
listens to this machine alone.
"""

import ast
import re
import socket
from importlib.metadata import distribution, requires
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from packaging.requirements import Requirement

import phalanx
from phalanx.studio.place import Place
from phalanx.studio.rendering import STATIC
from support.chromium import served

MOST_BYTES = 7_000_000


def brought(of: str, extra: str = "") -> set[str]:
    """The distributions that one brings here, by itself or with an extra."""
    names, todo = set(), [(of, extra)]
    while todo:
        name, chosen = todo.pop()
        for needed in map(Requirement, requires(name) or []):
            here = needed.marker is None or needed.marker.evaluate({"extra": chosen})
            if here and needed.name.lower() not in names:
                names.add(needed.name.lower())
                todo.append((needed.name, ""))
    return names


def test_the_extra_is_small() -> None:
    """What ``phalanx[studio]`` brings beside the core."""
    more = brought("phalanx", "studio") - brought("phalanx")
    assert {"starlette", "tomlkit", "uvicorn"} <= more
    assert not more & {"pandas", "scipy", "streamlit", "dash"}
    size = 0
    for name in more:
        found = distribution(name)
        paths = [found.locate_file(file) for file in found.files or ()]
        size += sum(path.stat().st_size for path in paths if path.is_file())
    assert 1_000_000 < size < MOST_BYTES


def test_nothing_is_built_or_loaded_from_elsewhere() -> None:
    """What pages load is in the package as it is written, htmx among it, and names no address that
    a browser would load from.
    """
    folder = files("phalanx.studio") / "static"
    assert {file.name for file in folder.iterdir()} == {*STATIC}
    for page in (files("phalanx.studio") / "templates").iterdir():
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"""(src|href|action|hx-get|hx-post)=["']?(https?:)?//""", text), page


def test_it_uses_what_anybody_may_use() -> None:
    """No part of another room whose name says that it is that room's alone."""
    studio = Path(phalanx.__file__).parent / "studio"
    names = [
        name
        for file in studio.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("phalanx")
        for name in (*str(node.module).split("."), *(alias.name for alias in node.names))
    ]
    assert len(names) > 100
    assert [name for name in names if name.startswith("_")] == []


def test_nothing_imports_it() -> None:
    """But its command."""
    root = Path(phalanx.__file__).parent
    importing = {
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        if "phalanx.studio" in file.read_text(encoding="utf-8")
        and not file.is_relative_to(root / "studio")
    }
    assert importing == {str(Path("cli", "studio.py"))}


def test_it_listens_to_this_machine_alone(tmp_path: Path) -> None:
    """At 127.0.0.1, and at no other address of the machine."""
    with served(Place(tmp_path / "plan.toml")) as addresses:
        host = urlsplit(addresses[0])
        assert host.hostname == "127.0.0.1"
        socket.create_connection(("127.0.0.1", host.port), 5).close()
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", host.port), 5)
