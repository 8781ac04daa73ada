# SPDX-License-Identifier: Apache-2.0
"""Every sentence of ``sentences.toml`` about the first hour has tests that are there and run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.sentences import faults, sentences

HOW_MANY = 20
SENTENCES = sentences(Path(__file__).parent)


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
