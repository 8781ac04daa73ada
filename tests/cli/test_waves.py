# SPDX-License-Identifier: Apache-2.0
"""One file publishes wave after wave: by itself or by name, and never one of them twice."""

import json

import polars as pl
import pytest

import phalanx as px
from phalanx.errors import PlanError, SourceError
from phalanx.plan import Plan
from phalanx.studio.place import Place

WAVES = ("2017", "2018", "2019")


@pytest.fixture
def panel(ward):
    """Three waves, in which the table of ``ward`` shrinks from its front."""
    lines = (ward.path / "t.csv").read_text().splitlines()
    rows = [f"{line},{w}" for i, w in enumerate(WAVES) for line in lines[1 + i :]]
    ward.table("\n".join([lines[0] + ",year", *rows]) + "\n")
    planned(ward)
    return ward


def planned(ward, *, schema=None, method='name = "mondrian"\nk = 2'):
    """A plan with a wave."""
    ward.plan(method=method, **({} if schema is None else {"schema": schema}))
    plan = ward.path / "plan.toml"
    plan.write_text(plan.read_text().replace("[source]", '[source]\nwave = "year"'))


def test_wave_after_wave(panel):
    """Each publish takes the next one; the ledger knows which, the release does not say it; when
    all are out, a sentence says so.
    """
    found = [json.loads(panel.publish("--json").out) for _ in WAVES]
    assert [(f["number"], f["wave"]) for f in found] == [(1, "2017"), (2, "2018"), (3, "2019")]
    assert [f["rows"] for f in found] == [40, 39, 38]
    assert "year" not in px.Release.read(found[0]["release"]).table.columns
    assert b"2017" not in (panel.path / "out" / "ward-1" / "release.json").read_bytes()

    before = panel.snapshot()
    said = panel.publish()
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("phalanx: all 3 wave(s) of the source are published, '2019' last")
    assert panel.snapshot() == before
    shown = panel.call("series", "show", "ward", "--ledger", "ward.db").out
    assert [line.split()[:2] for line in shown.splitlines() if "ward-" in line] == [
        [str(i), w] for i, w in enumerate(WAVES, 1)
    ]


def test_a_wave_by_name(panel):
    """It is published, and what is next comes after it; a second release of it is refused."""
    assert "Release 1 of ward, wave 2018" in panel.publish("--wave", "2018").out
    assert "wave 2019, if it were published" in panel.call("check", "plan.toml").out
    twice = panel.publish("--wave", "2018")
    assert twice.code == 2
    assert "wave '2018' was published as release 1" in twice.err
    assert panel.publish("--json").code == 0
    earlier = panel.publish()
    assert "name an earlier one by --wave, such as '2017'" in earlier.err
    assert json.loads(panel.publish("--wave", "2017", "--json").out)["number"] == 3


def test_check_and_publish_choose_alike(panel):
    """The one wave that is left, wherever it stands; and all refuse waves that are written anew."""
    for wave in ("2018", "2017"):  # what follows the last one is out
        assert panel.publish("--wave", wave).code == 0
    assert "wave 2019, if it were published" in panel.call("check", "plan.toml").out
    assert Plan.read("plan.toml").table().height == 38
    again = pl.read_csv("t.csv").with_columns("wave " + pl.col("year").cast(pl.String))
    again.drop("literal").with_columns(year=again["literal"]).write_csv("t.csv")
    plan, before = Plan.read("plan.toml"), panel.snapshot()
    for choose in (plan.check, plan.publish, plan.table, Place(plan.path).table):
        with pytest.raises(SourceError, match="were written like '2017' and are now like 'wave 2"):
            choose()
    assert panel.snapshot() == before


@pytest.mark.usefixtures("panel")
def test_two_publishers_of_one_wave():
    """Who comes second is told, as the ledger knows the wave by then."""
    series = Plan.read("plan.toml").series()
    table = pl.read_csv("t.csv").filter(pl.col("year") == 2017).drop("year")
    series.publish(table, wave="2017")
    with pytest.raises(SourceError, match="published as release 1"):
        series.publish(table, wave="2017")
    assert series.waves == ["2017"]


def test_a_plan_without_waves(ward):
    """--wave is refused where no column tells waves apart."""
    said = ward.publish("--wave", "2019")
    assert (said.code, said.out) == (2, "")
    assert "has no waves; name their column under [source] wave" in said.err


def test_the_wave_has_no_role(panel):
    """A column that tells the waves apart is the same in all rows of a release."""
    planned(
        panel,
        schema='identifier = "who"\nquasi = ["age", "zip"]\nsensitive = "ill"\ndrop = ["year"]',
    )
    said = panel.publish()
    assert said.code == 2
    assert "tells the waves apart and has a role besides" in said.err


def test_no_wave_is_chosen_under_differential_privacy(panel):
    """Which waves there are follows from the rows, and one row more may be a wave of its own."""
    pytest.importorskip("opendp")
    planned(
        panel,
        method=(
            'name = "safe-sampling"\nepsilon = 1\ndelta = 1e-3\nallow_empty = true\n'
            '[method.scheme]\nage = { low = 0, high = 100, width = 50 }\n'
            'zip = { low = 0, high = 20000, width = 20000 }'
        ),
    )  # fmt: skip
    said = panel.publish()
    assert said.code == 2
    assert "no epsilon covers; name it by --wave" in said.err
    assert panel.call("check", "plan.toml", "--wave", "2017").code == 0


def test_a_surrogate_of_waves_is_a_series(panel):
    """Explored are as many releases as it has waves."""
    from phalanx.exploration.ground import ground

    (panel.path / "other.csv").write_bytes((panel.path / "t.csv").read_bytes())
    asked = {"sample": None, "on_the_table": False, "folder": panel.path}
    plan = Plan.read("plan.toml")
    found = ground(plan, [], surrogate=["other.csv"], **asked)
    assert [table.height for table in found.tables] == [40, 39, 38]
    assert "year" not in found.tables[0].columns
    with pytest.raises(PlanError, match="a sample of one wave would leave its persons"):
        ground(plan, [], surrogate=[], **asked | {"sample": "1/2"})
