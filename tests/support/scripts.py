# SPDX-License-Identifier: Apache-2.0
"""Running an experiment as its reader does, and reading the Markdown tables that it prints."""

import os
import subprocess
import sys
from pathlib import Path

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"


def run_script(script, *arguments, data):
    """Run ``FOLDER/NAME.py`` of the experiments with the data folder, or without any where ``data``
    is None.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PHALANX_DATA"} | (
        {} if data is None else {"PHALANX_DATA": str(data)}
    )
    command = [sys.executable, EXPERIMENTS / script, *map(str, arguments)]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=400
    )


def tables_of(text):
    """Heading -> rows of cells, for every Markdown table."""
    found, heading = {}, ""
    for block in text.split("\n\n"):
        if block.startswith("### "):
            heading = block
        if block.startswith("|"):
            found[heading] = [
                [cell.strip() for cell in line.strip("|").split("|")]
                for line in block.splitlines()[2:]
            ]
    return found
