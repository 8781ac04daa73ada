# SPDX-License-Identifier: Apache-2.0
"""On what methods are tried, and why."""

from pathlib import Path

import polars as pl
import pytest

from exploration.scene import DP, PLAN, people, plan
from phalanx.data.sources import batches, csv_blocks
from phalanx.data.sources.source import read_source
from phalanx.errors import PlanError
from phalanx.exploration.ground import Ground, digest, ground
from phalanx.plan import Plan


def on(
    to: Path, text: str = PLAN, points: list[dict[str, object]] | None = None, **asked: object
) -> Ground:
    """What is run on for a plan."""
    given = {"surrogate": [], "sample": None, "on_the_table": False} | asked
    read = plan(to, text)
    m = read.sections.method_
    return ground(read, points or [{"name": m.name, **(m.model_extra or {})}], folder=to, **given)  # type: ignore[arg-type]


def test_without_a_release_nothing_is_run_on(tmp_path: Path) -> None:
    """The table is no default, and the sentence says the ways out."""
    with pytest.raises(PlanError, match=r"has no release yet .* --surrogate, or spend .* --sample"):
        on(tmp_path)


def test_the_last_release_serves_and_not_the_table(tmp_path: Path) -> None:
    """A table is drawn from it, the same each time, of values that need be nobody's."""
    for _ in range(2):
        plan(tmp_path).publish()
    (tmp_path / "people.parquet").unlink()
    found = on(tmp_path)
    assert found.tables[0].height == 120 and set(found.tables[0].columns) == {
        "who",
        "age",
        "zip",
        "ill",
        "note",
    }
    assert "drawn from release 2 of clinic, which is out already" in found.why
    assert "which no guarantee covers" in found.why and found.source is None
    assert digest(found.tables) == digest(on(tmp_path).tables)
    assert digest(found.tables) != digest([people()])


def test_a_surrogate_is_not_the_table(tmp_path: Path) -> None:
    """A path or a frame; of several each is a release."""
    found = on(tmp_path, surrogate=[tmp_path / "last.parquet", people(900)])
    assert [t["who"][0] for t in found.tables] == ["p500", "p900"]
    assert found.why.startswith(
        "This ran on last.parquet, a frame, one after the other, and not on"
    )


def test_the_table_is_no_surrogate_of_itself(tmp_path: Path) -> None:
    """Whatever it is called: nobody is told that this was not the table when it was."""
    for named in (tmp_path / "people.parquet", f"{tmp_path}/../{tmp_path.name}/people.parquet"):
        with pytest.raises(PlanError, match="is the plan's own table"):
            on(tmp_path, surrogate=[named])


def test_the_table_itself_is_said_to_be_covered_by_nothing(tmp_path: Path) -> None:
    """Whoever insists is told."""
    found = on(tmp_path, on_the_table=True)
    assert found.tables[0].equals(people()) and "no guarantee covers the choice" in found.why


@pytest.mark.parametrize("asked", [{"on_the_table": True}, {"sample": "1/2"}])
def test_differential_privacy_is_never_chosen_on_the_table(
    tmp_path: Path, asked: dict[str, object]
) -> None:
    """Nor on a part of it; also where it is one point of many, and where it cannot even be made."""
    with pytest.raises(PlanError, match="no epsilon covers a choice that looks at the table"):
        on(tmp_path, DP, **asked)
    for beside in (
        {"name": "safe-sampling", "epsilon": 1, "delta": 1e-6},
        {"name": "safe-sampling"},
    ):
        with pytest.raises(PlanError, match="no epsilon covers a choice that looks at the table"):
            on(tmp_path, points=[{"name": "mondrian", "k": 4}, beside], **asked)
    assert on(tmp_path, DP, surrogate=[people(7)]).tables[0].height == 120


def test_a_sample_is_spent(tmp_path: Path) -> None:
    """Its rows and the others are the table, nobody is in both; both are private; it is drawn once."""
    found = on(tmp_path, sample="1/3")
    rest = pl.read_parquet(found.source)
    both = [*found.tables[0]["who"], *rest["who"]]
    assert sorted(both) == sorted(people()["who"]) and 0 < rest.height < 120
    assert (found.source.stat().st_mode & 0o777, found.source.name) == (0o600, "rest.parquet")
    assert "are spent: a plan that is adopted publishes the others" in found.why
    assert on(tmp_path, sample="1/3").tables[0].equals(found.tables[0])
    with pytest.raises(PlanError, match="one table is sampled once"):
        on(tmp_path, sample="1/2")


def test_a_sample_is_spent_of_a_table_that_the_memory_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is drawn some rows at a time, and is known again by who reads the table whole."""
    with monkeypatch.context() as patch:
        patch.setattr(batches, "memory_left", lambda: 100)
        patch.setattr(batches, "AT_ONCE", 7)
        patch.setattr(Plan, "table", lambda _: pytest.fail("the table was read whole"))
        drawn = on(tmp_path, sample="1/3")
    rest = pl.read_parquet(drawn.source)
    both = pl.concat([drawn.tables[0], rest], how="vertical_relaxed").sort("who")
    assert both.equals(people().sort("who")) and 0 < rest.height < 120
    assert on(tmp_path, sample="1/3").tables[0].equals(drawn.tables[0])


def test_a_sample_is_spent_of_a_csv_file_that_the_memory_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read some lines at a time, and known again where the memory holds it."""
    plan(tmp_path)
    people().write_csv(tmp_path / "people.csv")
    text = PLAN.replace("people.parquet", "people.csv")
    with monkeypatch.context() as patch:
        patch.setattr(csv_blocks, "memory_left", lambda: 100)
        patch.setattr(csv_blocks, "_AT_ONCE", 100)
        patch.setattr(Plan, "table", lambda _: pytest.fail("the table was read whole"))
        drawn = on(tmp_path, text, sample="1/3")
    rest = pl.read_parquet(drawn.source)
    both = pl.concat([drawn.tables[0], rest], how="vertical_relaxed").sort("who")
    whole = read_source(
        tmp_path / "people.csv", text=Plan.read(tmp_path / "plan.toml").schema().texts
    )
    assert both.equals(whole.sort("who")) and 0 < rest.height < 120
    assert on(tmp_path, text, sample="1/3").tables[0].equals(drawn.tables[0])


@pytest.mark.parametrize("share", [0, 1, 2, "a"])
def test_a_share_is_between_0_and_1(tmp_path: Path, share: object) -> None:
    """All of the table would be the table itself."""
    with pytest.raises(PlanError):
        on(tmp_path, sample=share)


def test_a_sample_of_one_wave_is_none(tmp_path: Path) -> None:
    """Who was drawn would be in the other waves, too."""
    waves = PLAN.replace("[source]", '[source]\nwave = "year"')
    with pytest.raises(PlanError, match="a sample of one wave would leave its persons in"):
        on(tmp_path, waves, sample="1/3")


def test_two_grounds_are_none(tmp_path: Path) -> None:
    """One is kept."""
    with pytest.raises(PlanError, match="exclude each other"):
        on(tmp_path, sample="1/2", on_the_table=True)
