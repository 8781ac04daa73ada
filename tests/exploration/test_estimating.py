# SPDX-License-Identifier: Apache-2.0
"""What is estimated at once is what a release of the same rows would be."""

from pathlib import Path

import pytest

import phalanx as px
from exploration.scene import DP, PLAN, people, plan
from phalanx.errors import PlanError
from phalanx.exploration import Estimator
from phalanx.exploration import estimating as estimating_module
from phalanx.report.classes import Classes
from phalanx.report.figures import Figures
from phalanx.report.promises import in_words

SCHEMA = px.Schema(identifier="who", quasi=["age", "zip"], sensitive="ill", drop=["note"])


def estimator(to: Path, text: str | None = None, seconds: float = 60.0) -> Estimator:
    """On last year's table, with time enough for all of it."""
    read = plan(to) if text is None else plan(to, text)
    return Estimator.of(read, surrogate=[to / "last.parquet"], seconds=seconds)


def test_an_estimate_on_all_rows_is_the_release(tmp_path: Path) -> None:
    """Mondrian draws no lots by k alone: the figures are those of a release of the surrogate."""
    found = estimator(tmp_path).estimate({"name": "mondrian", "k": 4})
    release = px.publish(people(500), SCHEMA, px.Mondrian(k=4))
    classes = Classes.of_form(release.form)
    assert classes is not None
    assert (found.rows, found.of, found.refused, found.suppressed) == (120, 120, "", 0)
    assert found.loss == pytest.approx(
        Figures.of(release).loss, rel=1e-12
    )  # summed in another order
    assert (found.worst_risk, found.mean_risk) == (classes.worst, classes.average)
    assert "at least 4" in found.promised[0]


def test_what_is_promised_is_said_as_of_a_release(tmp_path: Path) -> None:
    """In the words for a table of which an attribute is sensitive, where one is."""
    for text, sensitive in ((PLAN, True), (PLAN.replace('sensitive = "ill"', ""), False)):
        wide = text.replace('"zip"]', '"zip"]' if sensitive else '"zip", "ill"]')
        found = estimator(tmp_path, wide).estimate({"name": "slicing", "l": 2})
        promised = px.Slicing(l=2).guarantees
        assert found.promised == tuple(
            in_words(g.parameters(), sensitive=sensitive) for g in promised
        )


def test_more_protection_costs_more(tmp_path: Path) -> None:
    """The figure that is moved moves the estimate."""
    on = estimator(tmp_path)
    few, many = (on.estimate({"name": "mondrian", "k": k}) for k in (2, 20))
    assert few.loss is not None and many.loss is not None
    assert few.loss < many.loss
    assert few.worst_risk is not None and many.worst_risk is not None
    assert few.worst_risk > many.worst_risk


def test_a_method_that_is_slow_is_estimated_on_fewer_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without time only the first rows are grouped, always the same ones, and it is said."""
    monkeypatch.setattr(estimating_module, "_FIRST", 30)
    on = estimator(tmp_path, seconds=0.0)
    found = on.estimate({"name": "mondrian", "k": 4})
    assert (found.rows, found.of) == (30, 120)
    again = on.estimate({"name": "mondrian", "k": 4})
    assert (again.loss, again.worst_risk) == (found.loss, found.worst_risk)


def test_what_a_method_refuses_is_said(tmp_path: Path) -> None:
    """With its own sentence, and no figure."""
    found = estimator(tmp_path).estimate({"name": "anatomy", "l": 9})
    assert "stands in" in found.refused
    assert found.loss is None
    assert found.promised == ()


def test_nothing_private_is_estimated_on_the_table(tmp_path: Path) -> None:
    """No epsilon covers a choice that looks at the table, and other methods need the table asked
    for.
    """
    read = plan(tmp_path, DP)
    private = {"name": "safe-sampling", "epsilon": 1}
    on = Estimator.of(read, on_the_table=True)
    with pytest.raises(PlanError, match="differentially private"):
        on.estimate(private)
    assert on.estimate({"name": "mondrian", "k": 4}).refused == ""
    with pytest.raises(PlanError, match="no release yet"):
        Estimator.of(read)
    with pytest.raises(PlanError, match="the plan's own table"):
        Estimator.of(read, surrogate=[tmp_path / "people.parquet"])


def test_an_estimate_leaves_nothing(tmp_path: Path) -> None:
    """No folder, no ledger, no points."""
    on = estimator(tmp_path)
    before = sorted(p.name for p in tmp_path.iterdir())
    on.estimate({"name": "mondrian", "k": 4})
    assert sorted(p.name for p in tmp_path.iterdir()) == before
