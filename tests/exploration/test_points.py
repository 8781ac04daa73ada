# SPDX-License-Identifier: Apache-2.0
"""What is measured of one point is what the public verbs say of such a release."""

import json
from pathlib import Path

import pytest

import phalanx as px
from exploration.scene import people
from phalanx.adversaries.base import wilson
from phalanx.adversaries.registry import made
from phalanx.errors import MachineError
from phalanx.exploration import worker
from phalanx.exploration.points import OF_ONE, OF_SEVERAL, Point, measured, warm
from phalanx.plan_file import PlanFile
from phalanx.series.released import Release
from phalanx.series.series import Series

PLAN = PlanFile.model_validate(
    {
        "series": {"name": "s"},
        "source": {"path": "t.parquet"},
        "schema": {
            "identifier": "who",
            "quasi": ["age", "zip"],
            "sensitive": "ill",
            "drop": ["note"],
        },
        "method": {"name": "mondrian", "k": 4},
        "publish": {"to": "out"},
    }
)
SCHEMA = px.Schema(identifier="who", quasi=["age", "zip"], sensitive="ill", drop=["note"])


def test_a_point_has_the_figures_of_its_release() -> None:
    """Strict cuts by k are no lottery: loss, error and every adversary are those of a release."""
    point = measured(7, {"name": "mondrian", "k": 4}, SCHEMA, [people()])
    release = px.publish(people(), SCHEMA, px.Mondrian(k=4))
    lost = release.measure(people(), seed=0)
    assert (point.number, point.rows, point.suppressed_rows, point.refused) == (7, 120, 0, "")
    assert point.loss == pytest.approx(lost["ncp"].release)
    assert (point.error, point.sample_error) == pytest.approx(
        (lost["workload"].release, lost["workload"].sample)
    )
    (promise,) = point.promised
    assert promise == (
        "By the quasi-identifiers each person is one of at least 4: every group has at least 4 rows"
        " (k-anonymity)."
    )
    assert [risk.adversary for risk in point.risks] == [
        "singling-out", "linkage", "posterior", "posterior-learning",
    ]  # fmt: skip
    linked = release.attack(made("linkage"))
    risk = point.risk("linkage")
    assert risk is not None and risk.question == "linkability" and risk.sentence == linked.sentence
    success, interval = linked.named_rightly
    assert risk.success == pytest.approx(success)
    assert risk.interval == pytest.approx(interval)
    assert risk.base_rate == linked.identity_baseline == 1 / 120
    assert point.risk("omniscient") is None


def test_an_interval_is_made_where_an_adversary_gives_none() -> None:
    """Of a series, of which the last release is measured; everybody in it is a trial."""
    tables = [people(), people(20)]
    point = measured(1, {"name": "m-invariance", "m": 2}, SCHEMA, tables)
    risk = point.risk("intersection")
    assert risk is not None and risk.success is not None
    assert risk.interval == wilson(risk.success, risk.persons)
    assert set(OF_SEVERAL) <= {risk.adversary for risk in point.risks}
    alone = measured(1, {"name": "m-invariance", "m": 2}, SCHEMA, tables[:1])
    assert {risk.adversary for risk in alone.risks} <= set(OF_ONE)


def test_what_a_method_refuses_is_said_of_its_point() -> None:
    """With the method's own sentence, and no figure."""
    point = measured(1, {"name": "anatomy", "l": 9}, SCHEMA, [people()])
    assert "stands in 30 of 120 rows" in point.refused and point.error is None and not point.risks
    assert (
        "unknown key 'kk'" in measured(1, {"name": "anatomy", "kk": 9}, SCHEMA, [people()]).refused
    )


@pytest.mark.parametrize(
    ("error", "refused", "lasting"),
    [
        (MachineError("the machine is small."), "the machine is small.", False),
        (MemoryError(), "this needs more memory than is left; ", False),
        (KeyError("a person's value"), "a fault of Phalanx itself (KeyError in ", True),
    ],
)
def test_what_the_machine_lacks_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, refused: str, lasting: bool
) -> None:
    """An adversary that could not be played for it is not left out, and the point is not kept."""

    def lacking(*_: object) -> None:
        raise error

    people().write_parquet(tmp_path / "t.parquet")
    task = {
        "number": 1,
        "method": {"name": "mondrian", "k": 4},
        "path": str(tmp_path / "plan.toml"),
        "plan": PLAN.model_dump(mode="json", by_alias=True, exclude_unset=True),
        "tables": [str(tmp_path / "t.parquet")],
    }
    monkeypatch.setattr(Release, "attack", lacking)
    came = worker.answer(task, set())
    assert came["point"]["refused"].startswith(refused)
    assert "value" not in came["point"]["refused"]
    assert came["lasting"] is lasting


def test_a_point_is_read_again_as_it_was() -> None:
    """What is kept for the next run is all of it, also of one that was refused."""
    for section in ({"name": "anatomy", "l": 2}, {"name": "anatomy", "l": 9}):
        point = measured(3, section, SCHEMA, [people()])
        assert Point.of_json(json.loads(json.dumps(point.to_json()))) == point


def test_a_few_rows_are_published_beforehand_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is timed of a point is its publication: to measure and to attack beforehand is left out."""
    published, publish = [], Series.publish

    def counted(series: Series, table: object) -> Release:
        published.append(len(table))  # type: ignore[arg-type]
        return publish(series, table)

    monkeypatch.setattr(Series, "publish", counted)
    for name in ("measure", "attack"):
        monkeypatch.setattr(Release, name, lambda *_, name=name, **__: pytest.fail(name))
    warm({"name": "mondrian", "k": 3}, SCHEMA, people(0, 400))
    assert published == [300]
