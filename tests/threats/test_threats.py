# SPDX-License-Identifier: Apache-2.0
"""Every threat of ``threats.toml`` has tests that are there and run, or a place in the known limits
that is there.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.running import running

ROOT = Path(__file__).resolve().parents[2]
LIMITS = ROOT / "docs" / "explanation" / "known-limits.md"
HOW_MANY = 47
THREATS: Sequence[Mapping[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "threats.toml").read_text()
)["threat"]


def sections(page: str) -> set[str]:
    """The headings of the page, and the first cells of its tables."""
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    cells = re.findall(r"^\| ([^|]+?) \|", page, re.MULTILINE)
    return {*headings, *cells}


def faults(threat: Mapping[str, Any], page: str) -> Iterator[str]:
    """What is wrong with an entry."""
    tests, limits = threat.get("tests", []), threat.get("limit", [])
    if not tests and not limits:
        yield "neither a test nor a limit"
    for test in tests:
        file, _, name = test.partition("::")
        if name not in running(ROOT / file):
            yield f"no such test, or one that never runs: {test}"
    there = sections(page)
    for limit in [limits] if isinstance(limits, str) else limits:
        if not any(section == limit or section.startswith(f"{limit} (") for section in there):
            yield f"the known limits have no section or row {limit!r}"


def test_all_threats_are_there() -> None:
    """Each number once, in order, with words of its own."""
    assert [threat["number"] for threat in THREATS] == list(range(1, HOW_MANY + 1))
    assert len({threat["threat"] for threat in THREATS}) == HOW_MANY


@pytest.mark.parametrize("threat", THREATS, ids=lambda threat: threat["number"])
def test_every_threat_is_tested_or_a_known_limit(threat: Mapping[str, Any]) -> None:
    """Named tests exist and run; named sections exist."""
    assert set(threat) <= {"number", "threat", "tests", "limit"}
    assert not list(faults(threat, LIMITS.read_text()))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "neither a test nor a limit"),
        ({"tests": ["tests/threats/test_threats.py::test_that_is_not_there"]}, "no such test"),
        ({"tests": ["tests/threats/no_file.py::test_all_threats_are_there"]}, "no such test"),
        ({"tests": ["tests/threats/test_threats.py::faults"]}, "no such test"),
        ({"limit": "A section that is not there"}, "no section or row"),
        ({"limit": ["Safe sampling", "Safe"]}, "no section or row 'Safe'"),
    ],
)
def test_wrong_entries_are_seen(entry: Mapping[str, Any], said: str) -> None:
    """A hole, a test that was renamed, a section that was taken out: each is seen."""
    assert [fault for fault in faults(entry, LIMITS.read_text()) if said in fault]


def test_tests_that_never_run_do_not_count(tmp_path: Path) -> None:
    """What is skipped or expected to fail is no test of a threat; what is skipped where something
    is missing is.
    """
    file = tmp_path / "test_some.py"
    file.write_text(
        "import pytest\n@pytest.mark.skip(reason='later')\ndef test_a():"
        " ...\n@pytest.mark.xfail\ndef test_b(): ...\n@pytest.mark.skipif(True, reason='no"
        " server')\ndef test_c(): ...\ndef test_d(): ...\n"
    )
    assert running(file) == {"test_c", "test_d"}
    (tmp_path / "test_none.py").write_text(
        "import pytest\npytestmark = pytest.mark.skip('all')\ndef test_a(): ...\n"
    )
    assert running(tmp_path / "test_none.py") == set()
