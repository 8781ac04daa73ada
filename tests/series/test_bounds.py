# SPDX-License-Identifier: Apache-2.0
"""Adversaries before a release leaves: they are told side by side, and a plan's bounds on them are
kept, or nothing is published.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx import Mondrian, MutualCover, Plan, Schema, Series
from phalanx.errors import GuaranteeError, MethodError, PlanError, ReleaseError
from phalanx.ledger import Ledger
from phalanx.methods.base import Draft, Memory, strengthened
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.outputs import OutputTables
from phalanx.series.bounds import beyond, disclosed


def people(rows: int = 400, seed: int = 3) -> pl.DataFrame:
    """A made-up table in which ages tell nearly everybody apart."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "person": np.arange(rows),
            "age": rng.integers(18, 90, rows),
            "hours": rng.integers(1, 60, rows),
            "sex": rng.choice(["f", "m"], rows),
            "salary": rng.integers(0, 60, rows),
        }
    )


def series(to: Path, method: Any, *, report: bool = False) -> Series:
    schema = Schema(identifier="person", quasi=["age", "hours", "sex"], sensitive="salary")
    return Series("people", schema=schema, method=method, to=to / "out", report=report)


def test_three_adversaries_stand_side_by_side(tmp_path):
    """Whoever publishes by mutual cover gets three figures, the one of most knowledge first, in
    Python, in JSON and in the report.
    """
    published = series(tmp_path, MutualCover(delta="1/5"), report=True).publish(people())
    assert [found.adversary for found in published.attacks] == ["omniscient", "informed", "linkage"]
    assert all(
        5 * published.attacks[2].identity < knows_more.identity
        for knows_more in published.attacks[:2]
    )  # which of those two does better is chance here
    assert [found["adversary"] for found in published.to_json()["disclosed"]] == [
        "omniscient",
        "informed",
        "linkage",
    ]
    assert published.page is not None
    page = published.page.read_text()
    assert all(name in page for name in ("linkage", "informed", "omniscient"))


def test_nobody_attacks_where_nobody_asks(tmp_path):
    """Without a report and without bounds publishing takes no time for adversaries; other forms are
    not attacked, either.
    """
    assert series(tmp_path, MutualCover(delta="1/5")).publish(people()).attacks == []


PLAN = """
[series]
name = "people"
[source]
path = "people.csv"
[schema]
identifier = "person"
quasi = ["age", "hours", "sex"]
sensitive = "salary"
[method]
name = "mutual-cover"
delta = "1/5"
{bounds}
[publish]
to = "out"
{publish}
"""


def planned(to: Path, publish: str, bounds: str = "") -> Any:
    """What a plan with these lines publishes of the made-up table."""
    people().write_csv(to / "people.csv")
    (to / "plan.toml").write_text(PLAN.format(publish=publish, bounds=bounds))
    return Plan.read(to / "plan.toml").publish()


def test_a_plan_turns_the_report_off(tmp_path):
    """Then there is no page, and no adversary is played; the next release has both where the plan
    wants them again.
    """
    published = planned(tmp_path, "report = false")
    assert (published.page, list(published.attacks)) == (None, [])
    assert not (tmp_path / "out" / "reports").exists()
    assert published.to_json()["report"] is None
    again = planned(tmp_path, "")
    assert again.number == 2
    assert again.page.name == "people-2.html"
    assert len(again.attacks) == 3


def test_a_plan_turns_adversaries_off(tmp_path):
    """The page names each with that reason, but whom the plan bounds."""
    published = planned(tmp_path, "adversaries = false")
    assert list(published.attacks) == []
    page = published.page.read_text()
    assert "Adversaries are turned off for this page" in page
    assert "beyond its budget" not in page
    published = planned(tmp_path, "adversaries = false", "bounds = { informed = 0.9 }")
    assert [played.adversary for played in published.attacks] == ["informed"]


def test_adversaries_of_a_small_release_are_turned_off_as_well(tmp_path, monkeypatch):
    """A page answers the regulator's questions by playing others on a small release; but not where
    the plan wants none.
    """
    monkeypatch.setattr("phalanx.adversaries.opinion.play_one", None)
    schema = Schema(identifier="person", quasi=["age", "hours", "sex"], sensitive="salary")
    for adversaries in (False, True):
        to = tmp_path / str(adversaries)
        asked = Series("s", schema, Mondrian(k=5), to=to / "out", adversaries=adversaries)
        if adversaries:
            with pytest.raises(ReleaseError, match="Its report cannot be written"):
                asked.publish(people())
        else:
            assert (
                "Adversaries are turned off for this page"
                in asked.publish(people()).page.read_text()
            )


@pytest.mark.parametrize("adversary", ["informed", "omniscient"])
def test_a_bound_is_kept_by_wider_groups(tmp_path, adversary):
    """The figure of the release that leaves is within the bound, which that of the plan as it
    stands is not; the promise is the plan's.
    """
    free = series(tmp_path / "free", MutualCover(delta="1/3"), report=True).publish(people())
    bounded = series(
        tmp_path / "bounded", MutualCover(delta="1/3", bounds={adversary: 0.15}), report=True
    ).publish(people())
    figure = (
        {found.adversary: found.identity for found in free.attacks},
        {found.adversary: found.identity for found in bounded.attacks},
    )
    assert figure[0][adversary] > 0.15 >= figure[1][adversary]
    assert bounded.manifest.guarantees[0]["delta"] == "1/3"
    assert bounded.number == 1


def test_a_bound_that_no_groups_keep_publishes_nothing(tmp_path):
    """Where not even the widest groups keep it, one sentence says who still finds out how much, and
    neither folder nor ledger remember anything.

    The widest are all rows in one, of which the adversary names one rightly in the mean, and in two
    of five draws none.
    """
    refused = ""
    for draw in range(30):
        to = tmp_path / str(draw)
        asked = series(to, MutualCover(delta="1/3", bounds={"omniscient": "1/1000"}))
        try:
            asked.publish(people(120))
        except MethodError as error:
            refused = str(error)
            break
    words = r"the omniscient adversary names .*% of the rows rightly, and the plan allows 1/1000"
    assert re.search(words, refused)
    assert list((to / "out").iterdir()) == []
    with Ledger.open(f"sqlite:///{to}/people.db") as ledger:
        assert ledger.releases("people") == []


def test_bounds_name_known_adversaries_and_shares():
    """A bound on nobody, or of more than everything, is refused with what can be bounded."""
    with pytest.raises(
        PlanError, match="bounds names the adversary 'infromed'; did you mean 'informed'"
    ):
        MutualCover(delta="1/6", bounds={"infromed": 0.1})
    with pytest.raises(PlanError, match="bounds of 'informed'"):
        MutualCover(delta="1/6", bounds={"informed": 1.5})


def test_wider_is_twice_the_group_and_half_of_delta():
    """Each step doubles the least group and halves delta, until the table has no such groups;
    without bounds there is one step.
    """
    steps = list(strengthened(MutualCover(delta="1/6", bounds={"informed": 0.1}), 100))
    assert [(m.k, str(m.delta)) for m in steps] == [
        (1, "1/6"),
        (12, "1/12"),
        (24, "1/24"),
        (48, "1/48"),
        (96, "1/96"),
    ]
    assert len(list(strengthened(MutualCover(delta="1/6"), 100))) == 1


def test_a_drawn_figure_counts_with_its_interval(tmp_path):
    """Where only some persons were attacked, the end of the interval decides, never the mean; where
    all were, the figure itself.
    """
    published = series(tmp_path, MutualCover(delta="1/5"), report=True).publish(people())
    informed = published.attacks[1]
    above = {"informed": informed.identity + 1e-6}
    assert beyond([informed], above) is None
    assert beyond([replace(informed, sample=50)], above) is not None
    assert beyond([informed], {"omniscient": 0}) is None


@dataclass(frozen=True)
class WithoutTables(MutualCover):
    """Draws as it should and keeps to itself from what."""

    def publish(self, microdata: Any, memory: Memory, rng: Any) -> Draft:
        return replace(super().publish(microdata, memory, rng), evidence=None)


def test_a_method_that_shows_no_tables_publishes_nothing(tmp_path):
    """Without the random output tables nothing shows what was promised, so nothing leaves."""
    with pytest.raises(
        GuaranteeError, match="does not say what its perturbed release was drawn from"
    ):
        series(tmp_path, WithoutTables(delta="1/5")).publish(people())
    assert list((tmp_path / "out").iterdir()) == []


def test_other_forms_are_left_alone(tmp_path):
    """A generalized release is not attacked by adversaries of rows that were changed."""
    published = series(tmp_path, Mondrian(k=5)).publish(people())
    assert disclosed(published, Evidence(parts={}), {}, shown=True) == []
    assert not any(isinstance(value, OutputTables) for value in vars(published.form).values())


@pytest.mark.parametrize("attributes", [62, 63])
def test_of_many_quasi_identifiers_all_three_are_played(tmp_path, attributes):
    """Sets of attributes are bits of one whole number, or of two."""
    rng = np.random.default_rng(3)
    names = [f"q{i}" for i in range(attributes)]
    frame = pl.DataFrame({"person": np.arange(60)} | {n: rng.integers(0, 4, 60) for n in names})
    method = MutualCover(delta="1/3", keep_tables=True, bounds={"omniscient": 0.9})
    schema = Schema(identifier="person", quasi=names)
    published = Series(f"of{attributes}", schema, method, to=tmp_path).publish(frame)
    assert published.page is not None
    assert [played.adversary for played in published.attacks] == [
        "omniscient",
        "informed",
        "linkage",
    ]
