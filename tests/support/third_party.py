# SPDX-License-Identifier: Apache-2.0
"""Packages of somebody else, installed in a folder: modules, and beside them the names that they
announce.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest


def install(
    folder: Path,
    name: str,
    modules: Mapping[str, str],
    announces: Mapping[str, Mapping[str, str]],
    patch: pytest.MonkeyPatch,
) -> Path:
    """Put a package into a folder as an installer would, and the folder on the path.

    ``modules``: source by name. ``announces``: by group of entry points, what stands for each name.
    """
    room, metadata = (
        folder / name.replace("-", "_"),
        folder / f"{name.replace('-', '_')}-1.0.dist-info",
    )
    room.mkdir(parents=True)
    metadata.mkdir()
    for module, source in {"__init__": '"""Somebody else\'s."""\n', **modules}.items():
        (room / f"{module}.py").write_text(source)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line
        for group, points in announces.items()
        for line in (f"[{group}]", *(f"{point} = {value}" for point, value in points.items()), "")
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    patch.syspath_prepend(str(folder))
    return folder
