# SPDX-License-Identifier: Apache-2.0
"""The model of large tables on Spark: on a run that is made up, so that each line can be reckoned by
hand.
"""

import json
import sys

import pytest

from support.scripts import EXPERIMENTS

sys.path.insert(0, str(EXPERIMENTS / "spark"))
from scale import Measured, Size, tables

ROWS = 10_000_000
LIMIT = 2_550_000_000
"""Of which 40 % hold a million rows of six columns."""


def stage(name, tasks, written=0, read=0):
    return {"name": name, "tasks": tasks, "written": written, "read": read}


@pytest.fixture
def measured():
    """Ten million rows in ten cells of a million; reading took 20 s in 2 tasks, solving 80 s."""
    run = {
        "rows": ROWS,
        "method": "mondrian",
        "parts": 10,
        "seconds": 60.0,
        "start": 9.0,
        "between": 1.0,
        "source": 200_000_000,
        "release": 100_000_000,
        "stages": [
            stage("tag", [10.0, 10.0]),
            stage("solve", [6.0] * 8 + [16.0] * 2, written=300_000_000),
        ],
    }
    probes = {"pack": 1e-4, "unpack": 1e-4, "piece": 1000, "task": 0.01, "python": 0.02}
    found = {"master": "local[2]", "limit": LIMIT, "packed_at_once": 500_000, "probes": probes}
    return Measured(found | {"runs": [run | {"stages": []}, run]})


def test_one_executor_takes_what_was_measured_as_often_as_there_are_more_rows(measured):
    """A hundred times the rows, on the same two processors."""
    size = Size(measured, 10**9, 1)
    short = size.shorts()
    assert (size.wanted, size.cells) == (1_000_000, 1000)
    assert short["processors"] == pytest.approx(100 * 100 / 2)
    assert size.pieces == 2000 * 1000
    assert short["packing small pieces"] == pytest.approx(2e6 * 2e-4 / 2)
    assert size.shuffled == pytest.approx(30 * 10**9 + 2e6 * 1000)
    assert short["network"] == 0
    assert short["shared folder"] == pytest.approx((2 * 20e9 + 7 * 10e9) / 1e9)
    assert short["start of Spark"] == 10


def test_more_executors_share_the_work_and_not_the_rest(measured):
    """Ten times as many take a tenth of the time of processors; too many wait for tasks."""
    few, more, many = (Size(measured, 10**9, n).shorts() for n in (10, 100, 1000))
    for name in ("processors", "packing small pieces", "network"):
        assert more[name] == pytest.approx(few[name] / 10)
    assert few["shared folder"] == many["shared folder"]
    assert few["fewer tasks than processors"] == 0
    reading, partitions = 2_000.0, 150
    assert many["fewer tasks than processors"] == pytest.approx(
        reading / partitions - reading / 2000, rel=0.01
    )
    # the longest of 1,000 cells is twice the mean one: Graham's bound for the last to begin
    assert few["the longest task"] == pytest.approx((1 - 1 / 20) * (16.0 + 2_000 / 150), rel=0.01)


def test_it_says_what_is_short_first(measured, tmp_path):
    """In both tables, from the file as it is written."""
    file = tmp_path / "measured.json"
    file.write_text(json.dumps(measured.found))
    text = tables(Measured(json.loads(file.read_text())))
    assert text.count("| most of it | processors |") == 2
    assert "| cells | 10,000 | 10,000 | 10,000 | 10,000 |" in text


@pytest.fixture
def followed(measured):
    """The same, in which rows and persons met in 10 ways first, for 40 s; and a tenth of the rows,
    for which no stage ran for 5.5 s, and not for 10.
    """
    run = measured.run | {"method": "m-invariance"}
    run["stages"] = [*run["stages"], stage("tag", [4.0] * 10, read=400_000_000)]
    small = run | {"rows": ROWS // 10, "start": 4.5}
    return Measured(measured.found | {"runs": [small, run]})


def test_persons_are_dealt_and_recorded(followed):
    """Rows are packed twice, more tasks begin, and one process writes all that is remembered."""
    size = Size(followed, 10**9, 10)
    short = size.shorts()
    assert short["start of Spark"] == pytest.approx(5.0)
    assert short["one process records persons"] == pytest.approx(500.0)
    # half a million rows at a time by 1,000 ways, and each way by 1,000 cells
    assert size.pieces == 2000 * 1000 + 1000 * 1000
    assert short["processors"] == pytest.approx(100 * 140 / 20)
    tasks = 2 * size.partitions + 9 * 1000
    assert short["one process starts all tasks"] == pytest.approx(tasks * 0.01)
    assert "| meet known persons | 4.00 |" in tables(followed)


def test_nobody_is_recorded_where_one_run_alone_was_measured(measured):
    """As nothing tells what grows with the rows."""
    assert measured.alone == (10.0, 0.0)
    assert Size(measured, 10**9, 10).shorts()["one process records persons"] == 0
