# SPDX-License-Identifier: Apache-2.0
"""Running an experiment as its reader does, and reading the Markdown tables that it prints."""

import os
from pathlib import Path

from support.pythons import run

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"


def run_script(script, *arguments, data):
    """Run ``FOLDER/NAME.py`` of the experiments with the data folder, or without any where ``data``
    is None.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PHALANX_DATA"} | (
        {} if data is None else {"PHALANX_DATA": str(data)}
    )
    return run(EXPERIMENTS / script, *arguments, environment=environment)


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
