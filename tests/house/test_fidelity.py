# SPDX-License-Identifier: Apache-2.0
"""Every file and every name that docs/explanation/fidelity.md speaks of exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "fidelity.md"
PAPERS = ("m-invariance", "The global guarantee", "Slicing", "Mutual cover", "Safe sampling")


def places(text: str) -> list[tuple[str, str]]:
    """The files that a text names in code, each with the name behind the colon, or with none."""
    return re.findall(r"`((?:[\w-]+/)+[\w-]+\.py)(?::([\w.]+))?`", text)


@cache
def names(path: Path) -> frozenset[str]:
    """What a module defines: functions, classes, constants, and `Class.method`."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
            inside = node.body if isinstance(node, ast.ClassDef) else []
            found |= {f"{node.name}.{m.name}" for m in inside if isinstance(m, ast.FunctionDef)}
    return frozenset(found)


def missing(text: str) -> list[str]:
    """The places of a text that are none."""
    wrong = []
    for path, name in places(text):
        where = next(
            (at for at in (ROOT / "src" / "phalanx" / path, ROOT / path) if at.is_file()), None
        )
        if where is None or (name and name not in names(where)):
            wrong.append(f"{path}:{name}")
    return wrong


def test_every_place_exists() -> None:
    """No row of the page leads to a file or a name that is gone."""
    assert missing(PAGE.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_is_there(paper: str) -> None:
    """Each of the five papers has a section, with a place in the code for most of its rows."""
    text = PAGE.read_text(encoding="utf-8")
    section = re.split(r"^## ", text, flags=re.MULTILINE)
    (own,) = [part for part in section if part.startswith(f"{paper}\n")]
    rows = [line for line in own.splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 15
    assert sum(bool(places(row)) for row in rows) > 0.9 * len(rows)


def test_a_row_says_whether_it_is_the_same() -> None:
    """Each row says same, wider or other; and if it is not the same, why."""
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and not line.startswith(("| the paper", "| ---"))
    ]
    assert {row[2] for row in rows} == {"same", "wider", "other"}
    assert [row[0] for row in rows if row[2] != "same" and not row[3]] == []


@pytest.mark.parametrize(
    "text",
    [
        "`methods/nowhere.py`",
        "`methods/slicing/method.py:Nothing`",
        "`methods/slicing/method.py:Slicing.nothing`",
        "`tests/papers/test_slicing.py:test_nothing`",
    ],
)
def test_a_made_up_place_is_found(text: str) -> None:
    """A file or a name that does not exist is seen."""
    assert missing(text)


@pytest.mark.parametrize(
    "text",
    [
        "`methods/slicing/method.py`",
        "`methods/slicing/method.py:Slicing`",
        "`methods/slicing/method.py:Slicing.parameters`",
        "`tests/papers/test_slicing.py:TABLE`",
    ],
)
def test_a_right_place_is_accepted(text: str) -> None:
    """And what exists is not complained of."""
    assert missing(text) == []
