# SPDX-License-Identifier: Apache-2.0
"""A household is covered where it is one row, as the page says, and where its rows count as one,
which is proposed where the table allows it.
"""

import re
import tomllib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phalanx as px
from naive import households as naive
from phalanx.errors import PlanError
from phalanx.plan import Plan
from phalanx.profile.households import cover
from phalanx.profile.table import profile, propose_plan
from phalanx.profile.use import Changes, Use
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
        ("households", "the column that says who lives together is named by 'cluster'"),
        ("weights", "the column that says how many a row stands for is named by 'weight'"),
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


def members(homes: int, sizes: int = 3, illnesses: int = 23) -> pl.DataFrame:
    """Persons of homes of one to so many members."""
    return pl.DataFrame(
        [
            (
                f"p{h}-{m}",
                4000 + h,
                20 + (h * 7 + m * 11) % 50,
                f"ill {(h * 3 + m * 5) % illnesses}",
            )
            for h in range(homes)
            for m in range(1 + h % sizes)
        ],
        schema=["person", "hhid", "age", "illness"],
        orient="row",
    )


def plan_of(frame: pl.DataFrame, changes: Changes = Changes.no) -> dict[str, dict[str, object]]:
    return tomllib.loads(propose_plan("x.csv", profile(frame), "x", use=Use(changes=changes)))


def test_a_household_is_proposed_where_it_can_be_covered(tmp_path: Path) -> None:
    """By Mondrian, and where each size has enough households with enough different values; the plan
    publishes. Else it is dropped, with a reason.
    """
    schema = plan_of(members(300))["schema"]
    assert (schema["cluster"], schema["drop"]) == ("hhid", [])
    members(300).write_csv(tmp_path / "x.csv")
    text = propose_plan("x.csv", profile(members(300)), "x", use=Use(changes=Changes.no))
    (tmp_path / "plan.toml").write_text(text)
    assert px.Plan.read(tmp_path / "plan.toml").publish().manifest.privacy_unit == "household"

    fourth = members(300)[:1].with_columns(person=pl.lit("x"), hhid=pl.lit(4002, pl.Int64))
    for other in (
        plan_of(pl.concat([members(300), fourth])),
        plan_of(members(300, sizes=8, illnesses=6)),
        plan_of(members(300), Changes.persons),
    ):
        assert "cluster" not in other["schema"]
        assert other["schema"]["drop"] == ["hhid"]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["-", "a", "b", "c"])), min_size=1, max_size=10
    )
)
def test_what_could_cover_households_is_counted_by_loops(rows: list[tuple[int, str]]) -> None:
    """The fewest of one kind, and the largest l that all of one kind allow."""
    fewest, largest = cover(
        pl.Series([home for home, _ in rows]), pl.Series([value for _, value in rows]), ["-"]
    )
    kinds = list(naive.kinds([(home, value == "-", (home, value)) for home, value in rows]))
    allowed = [
        len(homes) // sum(any(v == value for _, v in home) for home in homes)
        for _, homes in kinds
        for value in {v for home in homes for _, v in home} - {"-"}
    ]
    assert fewest == min(len(homes) for _, homes in kinds)
    assert largest == min(allowed, default=fewest)


def test_without_a_number_there_is_no_household() -> None:
    """A row whose household is missing: none is proposed."""
    assert cover(pl.Series([1, None]), pl.Series(["a", "b"]), ()) == (0, 0)
    gap = members(300).with_columns(hhid=pl.when(pl.col("hhid") > 4000).then("hhid"))
    assert "cluster" not in plan_of(gap)["schema"]
