# SPDX-License-Identifier: Apache-2.0
"""The plan of a point: another method, and else the steward's own words."""

from pathlib import Path

import pytest

from exploration.scene import DP, PLAN, plan
from phalanx.errors import PlanError
from phalanx.exploration.adopting import adopted
from phalanx.plan import Plan


def test_only_the_method_changes(tmp_path: Path) -> None:
    """Comments and sections stay, the old parameters and their tables go, and a line says why."""
    chosen = {"name": "slicing", "l": "5/2", "columns": [["age"], ["zip", "ill"]], "compact": True}
    for text in (PLAN, DP, PLAN.replace("[schema]", "  [schema] # roles")):
        read = plan(tmp_path, text)
        changed = adopted(read, text, chosen, source=None, why="It was cheap.")
        found = Plan.parse(changed, read.path).sections
        assert {"name": found.method_.name, **(found.method_.model_extra or {})} == chosen
        assert (
            "# It was cheap." in changed
            and "# clinic's plan" in changed
            and "# its name" in changed
        )
        assert "epsilon" not in changed and "# a comment" not in changed
        assert (found.source, found.schema_) == (read.sections.source, read.sections.schema_)


def test_a_spent_sample_is_not_published(tmp_path: Path) -> None:
    """The plan's source is the rest of the table."""
    read = plan(tmp_path)
    rest = tmp_path / "clinic.explore" / "rest.parquet"
    changed = adopted(read, PLAN, {"name": "anatomy", "l": 2}, source=rest, why="-")
    found = Plan.parse(changed, read.path)
    assert found.source_path() == str(rest.resolve()) and found.method().name == "anatomy"


@pytest.mark.parametrize(
    "text",
    [
        PLAN.replace('[method]\n# a comment\nname = "mondrian"\nk = 4\nl = 2\n', "").replace(
            "# clinic's plan", 'method = { name = "mondrian", k = 4, l = 2 }'
        ),
        PLAN.replace("[method]", '["method"]'),
    ],
)
def test_what_cannot_be_replaced_is_said(tmp_path: Path, text: str) -> None:
    """No plan is written that is not what was chosen."""
    read = plan(tmp_path, text)
    with pytest.raises(PlanError, match=r"write anatomy l=2 under \[method\] by hand|is not TOML"):
        adopted(read, text, {"name": "anatomy", "l": 2}, source=None, why="-")
