# SPDX-License-Identifier: Apache-2.0
"""Every sentence of ``sentences.toml`` about the studio has tests that are there and run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.sentences import faults, sentences

SENTENCES = sentences(Path(__file__).parent)


def test_each_sentence_stands_once() -> None:
    """And is one."""
    assert len({entry["sentence"] for entry in SENTENCES}) == len(SENTENCES) > 40


@pytest.mark.parametrize("entry", SENTENCES, ids=lambda entry: entry["sentence"][:40])
def test_every_sentence_is_shown(entry: Mapping[str, Any]) -> None:
    """Its tests exist and run, and its documents are there."""
    assert {"sentence", "tests"} <= set(entry) <= {"sentence", "tests", "files"}
    assert not list(faults(entry))


def test_a_document_that_is_gone_is_seen() -> None:
    """The broken twin: a renamed file is named."""
    entry = {"tests": ["tests/studio/test_sentences.py::test_each_sentence_stands_once"]}
    assert not list(faults(entry))
    assert len(list(faults(entry | {"files": ["docs/tutorial/gone.md"]}))) == 1
