# SPDX-License-Identifier: Apache-2.0
"""Tables that say of every sentence which tests would fail if it were no longer so, and where it is
written.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.running import running

ROOT = Path(__file__).resolve().parents[2]


def sentences(folder: Path) -> Sequence[Mapping[str, Any]]:
    """What stands in the ``sentences.toml`` of a folder."""
    text = (folder / "sentences.toml").read_text(encoding="utf-8")
    entries: Sequence[Mapping[str, Any]] = tomllib.loads(text)["sentence"]
    return entries


def faults(entry: Mapping[str, Any]) -> Iterator[str]:
    """The tests of an entry that are not there or never run, files that are not there, and an entry
    that has neither.
    """
    if not entry.get("tests") and not entry.get("files"):
        yield "neither a test nor a file"
    for test in entry.get("tests", []):
        file, _, name = test.partition("::")
        if name not in running(ROOT / file):
            yield f"no such test, or one that never runs: {test}"
    for file in entry.get("files", []):
        if not (ROOT / file).is_file():
            yield f"no such file: {file}"
