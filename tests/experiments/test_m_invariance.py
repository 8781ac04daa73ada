# SPDX-License-Identifier: Apache-2.0
"""The frontier over regions: a line for each number of them beside the paper's way, and the same
figures once more in short.
"""

import pytest

from support.scripts import run_script


@pytest.mark.slow
def test_regions_stand_beside_the_papers_way():
    """On the made-up series, which needs no data: more regions lose less, none lose as much."""
    ran = run_script(
        "m_invariance/regions.py",
        *("--series", "made-up", "--m", "4", "--releases", "2", "--regions", "1", "paper", "16"),
        data=None,
    )
    assert ran.returncode == 0, ran.stderr
    lines, short, goal = ran.stdout.split("\n\n")
    rows = [line.strip("| ").split(" | ") for line in lines.splitlines()[2:]]
    assert [row[2] for row in rows] == ["paper", "1", "16"]
    assert rows[0][8].strip() == ""
    assert float(rows[2][5]) < float(rows[1][5])
    assert int(rows[2][8].rstrip("%")) < int(rows[1][8].rstrip("%")) < 10
    last = short.splitlines()[-1].strip("| ").split(" | ")
    assert last[2:] == [f"{row[5]}, {row[7]}, {row[11]}, {row[13]}" for row in rows]
    assert goal.startswith("Loss 50% and error 60% below the paper's")
    assert "made-up, m = 4:" in goal
