# SPDX-License-Identifier: Apache-2.0
"""Every sentence of ``sentences.toml`` about the first hour has tests that are there and run."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.running import running

ROOT = Path(__file__).resolve().parents[2]
HOW_MANY = 20
SENTENCES: Sequence[Mapping[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "sentences.toml").read_text(encoding="utf-8")
)["sentence"]


def faults(entry: Mapping[str, Any]) -> Iterator[str]:
    """The tests of an entry that are not there or never run, and an entry that has none."""
    if not entry.get("tests"):
        yield "no test"
    for test in entry.get("tests", []):
        file, _, name = test.partition("::")
        if name not in running(ROOT / file):
            yield f"no such test, or one that never runs: {test}"


def test_all_sentences_are_there() -> None:
    """Each once."""
    assert len({entry["sentence"] for entry in SENTENCES}) == len(SENTENCES) == HOW_MANY


@pytest.mark.parametrize("entry", SENTENCES, ids=lambda entry: entry["sentence"][:40])
def test_every_sentence_is_tested(entry: Mapping[str, Any]) -> None:
    """Its tests exist and run."""
    assert set(entry) == {"sentence", "tests"}
    assert not list(faults(entry))


@pytest.mark.parametrize(
    "tests",
    [
        [],
        ["tests/cli/test_sentences.py::test_that_is_not_there"],
        ["tests/cli/test_sentences.py::faults"],
        ["tests/cli/no_file.py::test_all_sentences_are_there"],
    ],
)
def test_wrong_entries_are_seen(tests: Sequence[str]) -> None:
    """A sentence without a test, a test that was renamed, a helper: each is seen."""
    assert list(faults({"sentence": "it is so", "tests": tests}))
