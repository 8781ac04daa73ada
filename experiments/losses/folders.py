# SPDX-License-Identifier: Apache-2.0
"""Where the data is, and a Markdown table, for the scripts beside this one."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path


def data_file(name: str) -> Path:
    """A file of the data folder; ends the script with one sentence where there is none."""
    folder = os.environ.get("PHALANX_DATA")
    if not folder or not Path(folder, name).is_file():
        sys.exit(f"this experiment needs {name}: set PHALANX_DATA to the folder that holds it.")
    return Path(folder, name)


def show(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A Markdown table."""
    for line in (header, ["---"] * len(header), *rows):
        print("| " + " | ".join(map(str, line)) + " |", flush=True)
