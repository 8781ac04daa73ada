# SPDX-License-Identifier: Apache-2.0
"""CITATION.cff is one: what the Citation File Format 1.2.0 asks for is there, and nothing that it
does not know.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]
KNOWN = {
    *("abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi"),
    *("identifiers", "keywords", "license", "license-url", "message", "preferred-citation"),
    *("references", "repository", "repository-artifact", "repository-code", "title", "type"),
    *("url", "version"),
}
KINDS = {"article", "book", "conference-paper", "report", "software", "thesis", "unpublished"}


def faults(cited: Any) -> list[str]:
    """What is wrong with a citation file, read as YAML."""
    wrong = [f"unknown: {key}" for key in cited if key not in KNOWN]
    needed = {"cff-version": str, "message": str, "title": str, "authors": list}
    wrong += [f"no {key}" for key, kind in needed.items() if not isinstance(cited.get(key), kind)]
    wrong += [] if str(cited.get("cff-version")) == "1.2.0" else ["another version of the format"]
    wrong += [] if cited.get("type", "software") in {"software", "dataset"} else ["type"]
    for one in [cited, *cited.get("references", [])]:
        for author in one.get("authors") or [{}]:
            if not {"name", "family-names"} & set(author):
                wrong.append(f"an author of {one.get('title')!r} without a name")
    for one in cited.get("references", []):
        if one.get("type") not in KINDS or not isinstance(one.get("title"), str):
            wrong.append(f"a reference without type or title: {one}")
    return wrong


def cited() -> Any:
    """The citation file of the repository."""
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_the_citation_file_is_right() -> None:
    """It is a citation file, of this version and licence, and names five papers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert faults(cited()) == []
    assert (cited()["version"], cited()["license"]) == (project["version"], project["license"])
    assert len(cited()["references"]) == 5


@pytest.mark.parametrize(
    "change",
    [
        {"authors": None},
        {"authors": [{}]},
        {"title": 7},
        {"cff-version": "1.1.0"},
        {"licence": "Apache-2.0"},
        {"type": "poem"},
        {"references": [{"type": "rumour", "title": "x", "authors": [{"name": "y"}]}]},
    ],
)
def test_a_wrong_citation_file_is_seen(change: dict[str, Any]) -> None:
    """The broken twins: each is found."""
    assert faults(cited() | change)
