# SPDX-License-Identifier: Apache-2.0
"""Every sentence of ``sentences.toml`` has tests that are there and run, or documents."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.sentences import faults, sentences

HOW_MANY = {"the first hour": 22, "before": 8, "after": 11, "the page": 10, "show": 4}
SENTENCES = sentences(Path(__file__).parent)


def test_all_sentences_are_there() -> None:
    """Each once, of every part."""
    assert len({entry["sentence"] for entry in SENTENCES}) == len(SENTENCES)
    assert Counter(entry["part"] for entry in SENTENCES) == HOW_MANY


@pytest.mark.parametrize("entry", SENTENCES, ids=lambda entry: entry["sentence"][:40])
def test_every_sentence_is_shown(entry: Mapping[str, Any]) -> None:
    """Its tests exist and run, and its documents are there; of the first hour each has a test."""
    assert set(entry) <= {"part", "sentence", "tests", "files"}
    assert entry.get("tests") or entry["part"] != "the first hour"
    assert not list(faults(entry))


@pytest.mark.parametrize(
    "shown",
    [
        {},
        {"tests": ["tests/cli/test_sentences.py::test_that_is_not_there"]},
        {"tests": ["tests/cli/test_sentences.py::faults"]},
        {"tests": ["tests/cli/no_file.py::test_all_sentences_are_there"]},
        {"files": ["docs/no-page.md"]},
    ],
)
def test_wrong_entries_are_seen(shown: Mapping[str, Sequence[str]]) -> None:
    """A sentence without anything, a test that was renamed, a helper, a page that is gone: each is
    seen.
    """
    assert list(faults({"sentence": "it is so"} | shown))
