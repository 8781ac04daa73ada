# SPDX-License-Identifier: Apache-2.0
"""The tutorial for one's own table: its Python and its commands as they stand, one after the other,
and what it says of the plans.
"""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from support.pythons import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "own-table.md"
BLOCKS = re.findall(
    r"^```(python|sh)\n(.*?)^```",
    PAGE.read_text(encoding="utf-8"),
    flags=re.DOTALL | re.MULTILINE,
)


def test_from_file_to_explained_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call
) -> None:
    """Every command ends well; weights, codes, gaps, and what is said twice are where the page says."""
    monkeypatch.chdir(tmp_path)
    done = run("-c", "\n".join(text for kind, text in BLOCKS if kind == "python"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    commands = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
    assert len(commands) == 15
    for command in commands:
        said = call(*shlex.split(command)[1:])
        assert (said.code, said.err) == (0, ""), command
    plans = {p.stem: tomllib.loads(p.read_text()) for p in tmp_path.glob("*.toml")}
    survey, children, reports, stays = (
        plans[name]["schema"] for name in ("survey", "children", "reports", "stays")
    )
    assert survey["weight"] == "PWGTP" and survey["sensitive"] == "PINCP_DECILE"
    assert "not_applicable" not in survey and children["not_applicable"] == ["N"]
    assert '# not_applicable = ["N"]' in Path("survey.toml").read_text(encoding="utf-8")
    assert set(reports["missing"]) == {"state", "age_yrs"} and "received" in reports["drop"]
    assert reports["sensitive"] == "outcome" and stays["sensitive"] == "diag_1"
    assert "admission_type" in stays["quasi"] and "admission_type_id" in stays["drop"]
    assert "age" in stays["hierarchies"] and plans["stays"]["method"]["name"] == "m-invariance"
    assert {p.name for p in tmp_path.glob("*.html")} == {"children.html", "reports.html"}
