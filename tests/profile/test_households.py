# SPDX-License-Identifier: Apache-2.0
"""A household is covered where it is one row, as the page says; as a role it is refused."""

import re
from pathlib import Path

import pytest

from phalanx.errors import PlanError
from phalanx.plan import Plan
from support.pythons import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "init.md"


def test_the_page_makes_one_row_of_each_household(tmp_path: Path) -> None:
    """Its Python runs as it stands, 200 households of three members are published, and every check
    holds.
    """
    (block,) = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE
    )
    done = run("-c", f"{block}\nprint(release.rows, release.verify().holds)", cwd=tmp_path)

    assert (done.returncode, done.stdout.split()) == (0, ["200", "True"]), done.stderr


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("cluster", "make one row of each household, with its number as the identifier"),
        ("households", "make one row of each household, with its number as the identifier"),
    ],
)
def test_what_is_no_role_is_refused_with_what_to_do(key: str, instead: str) -> None:
    """In one sentence, which names what to do."""
    text = (
        '[series]\nname = "s"\n[source]\npath = "t.csv"\n[schema]\nquasi = ["age"]\n'
        f'{key} = "hhid"\n[method]\nname = "mondrian"\nk = 2\n[publish]\nto = "out"\n'
    )
    with pytest.raises(
        PlanError, match=f"[schema] {key} is no role.*{instead}".replace("[", r"\[")
    ):
        Plan.parse(text, Path("plan.toml"))
