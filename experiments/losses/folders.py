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


def table_of(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = (header, ["---"] * len(header), *rows)
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def show(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table."""
    print(table_of(header, rows), flush=True)
