# SPDX-License-Identifier: Apache-2.0
"""A series of households: its plan, its folder, its ledger, its page, and the check of all of it;
which household a row is of stands nowhere.
"""

import json
import logging
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import phalanx as px
from phalanx.cli import app
from phalanx.errors import LedgerError, MethodError, PlanError, ReleaseError
from phalanx.plan import Plan
from phalanx.release.manifest import NAME
from phalanx.series import series
from threats.test_leftovers import found

MARKER = "Zq7Marker"
PLAN = """
[series]
name = "homes"
[source]
path = "homes.csv"
[schema]
identifier = "who"
cluster = "home"
quasi = ["age", "sex"]
sensitive = "ill"
[method]
name = "mondrian"
k = 3
l = 2
[publish]
to = "releases"
"""


def homes() -> pl.DataFrame:
    """Forty couples and forty families of four."""
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        [
            (f"p{h}-{m}", f"{MARKER} {h:03}", int(rng.integers(5, 70)), "fm"[m % 2],
             f"ill {rng.integers(15)}")
            for h in range(80)
            for m in range(2 if h < 40 else 4)
        ],
        schema=["who", "home", "age", "sex", "ill"],
        orient="row",
    )  # fmt: skip


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    homes().write_csv(tmp_path / "homes.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    return Plan.read(tmp_path / "plan.toml")


def test_which_household_a_row_is_of_stands_nowhere(plan, tmp_path, capfd, caplog):
    """Not in the folder, the page, the ledger, nor in what is printed or logged; the manifest, the
    page and the ledger say that households are covered.
    """
    caplog.set_level(logging.DEBUG)
    release = plan.publish()
    page = (tmp_path / "releases" / "reports" / "homes-1.html").read_text(encoding="utf-8")
    manifest = json.loads((release.path / NAME).read_text())
    (tmp_path / "homes.csv").unlink()
    assert found(tmp_path, MARKER) == []
    assert MARKER not in caplog.text + "".join(capfd.readouterr())
    assert manifest["privacy_unit"] == "household"
    assert [g["name"] for g in manifest["guarantees"]][2:] == [
        "household-k-anonymity",
        "household-l-diversity",
    ]
    assert "each household is one of at least 3" in page
    assert "Who lives together is what the publisher’s table says" in page
    with px.Ledger.open(plan.ledger_url(), create=False) as ledger:
        assert ledger.promise("homes")["privacy_unit"] == "household"


def test_the_marker_would_be_found(tmp_path):
    """The broken twin: kept, the column is found."""
    schema = px.Schema(identifier="who", quasi=["age", "sex"], sensitive="ill", keep=["home"])
    px.publish(homes(), schema, px.Mondrian(k=3)).save(tmp_path / "out")
    assert found(tmp_path, MARKER)


def test_verify_looks_beside_the_originals(plan, tmp_path):
    """With the ledger and the cluster column both promises are checked, and without them it is said
    that they are not; with another table's households they fail.
    """
    release = plan.publish()
    homes().with_columns(home=pl.col("home").shuffle(seed=1)).write_csv(tmp_path / "other.csv")

    def verdicts(*options: str) -> tuple[int, dict[str, dict[str, object]]]:
        shown = CliRunner().invoke(app, ["verify", str(release.path), "--json", *options])
        checks = json.loads(shown.stdout)["checks"]
        return shown.exit_code, {c["name"]: c for c in checks if "household" in c["name"]}

    code, alone = verdicts()
    assert code == 0 and len(alone) == 2
    assert all(check["worst"] is None for check in alone.values())
    assert all("not checked" in check["note"] for check in alone.values())
    beside = ("--ledger", str(tmp_path / "homes.db"), "--identifier", "who", "--cluster", "home")
    code, full = verdicts(*beside, "--original", str(tmp_path / "homes.csv"))
    assert code == 0 and all(check["holds"] and check["worst"] for check in full.values())
    code, wrong = verdicts(*beside, "--original", str(tmp_path / "other.csv"))
    assert code == 1 and not any(check["holds"] for check in wrong.values())
    assert plan.series().verify(originals=[homes()]).holds


def test_a_cluster_needs_an_original(plan):
    """One sentence."""
    release = plan.publish()
    done = CliRunner().invoke(app, ["verify", str(release.path), "--cluster", "home"])
    assert done.exit_code == 2 or isinstance(done.exception, ReleaseError)


def test_a_series_of_households_stays_one(plan, tmp_path):
    """A plan without its cluster promises less, and is refused."""
    plan.publish()
    (tmp_path / "plan.toml").write_text(PLAN.replace('cluster = "home"', 'drop = ["home"]'))
    with pytest.raises(LedgerError, match="began with another guarantee"):
        Plan.read(tmp_path / "plan.toml").publish()


def moved_out(tmp_path, homes_of=lambda table: table["home"]):
    """The plan's table with a second column of households, which its plan drops or reads."""
    table = homes()
    table.with_columns(flat=homes_of(table)).write_csv(tmp_path / "homes.csv")
    there = {"home": "flat", "flat": "home"}
    for cluster, other in there.items():
        text = PLAN.replace('cluster = "home"', f'cluster = "{cluster}"\ndrop = ["{other}"]')
        (tmp_path / f"{cluster}.toml").write_text(text)
    return [Plan.read(tmp_path / f"{cluster}.toml") for cluster in there]


def test_a_series_keeps_its_column_of_households(plan, tmp_path):
    """Other households would be covered from then on, and the first ones no longer."""
    home, flat = moved_out(tmp_path)
    home.publish()
    for refused in (flat.check, flat.publish):
        with pytest.raises(LedgerError, match="began with another column of households"):
            refused()
    assert home.publish().number == 2
    with px.Ledger.open(plan.ledger_url(), create=False) as ledger:
        assert ledger.promise("homes")["cluster"] == "home"


def test_a_series_that_began_without_the_name_of_its_column_goes_on(tmp_path, monkeypatch):
    """As ledgers had it before; a series without households has none, then as now."""
    home, _ = moved_out(tmp_path)
    with monkeypatch.context() as before:
        before.setattr(
            series,
            "as_begun",
            lambda _, promise: {k: promise[k] for k in promise if k != "cluster"},
        )
        home.publish()
    assert home.publish().number == 2
    with px.Ledger.open(home.ledger_url(), create=False) as ledger:
        assert "cluster" not in ledger.promise("homes")
    schema = px.Schema(identifier="who", quasi=["age", "sex"], sensitive="ill", drop=["home"])
    px.Series("alone", schema, px.Mondrian(k=3), to=tmp_path / "alone").publish(homes())
    with px.Ledger.open(f"sqlite:///{tmp_path}/alone.db", create=False) as ledger:
        assert "cluster" not in ledger.promise("alone")


def test_smaller_groups_are_no_way_out_of_a_series(tmp_path):
    """A refusal that asks for them says that a series that has begun keeps what it promised."""
    schema = px.Schema(identifier="who", cluster="home", quasi=["age", "sex"], sensitive="ill")
    large = homes().with_columns(home=pl.lit("one"))
    for method, keeps in ((px.Mondrian(k=3), "k"), (px.Mondrian(k=3, l=2), "k and l")):
        publisher = px.Series("s", schema, method, to=tmp_path / keeps / "out")
        with pytest.raises(MethodError, match=r"ask for smaller groups, .* the source\.$"):
            publisher.publish(large)
        publisher.publish(homes())
        with pytest.raises(
            MethodError, match=rf"\(but a series that has begun keeps its {keeps}\)\.$"
        ):
            publisher.publish(large)


@pytest.mark.usefixtures("plan")
def test_households_are_not_published_in_parts(tmp_path):
    """A table that is larger than the memory is refused."""
    homes().write_parquet(tmp_path / "homes.parquet")
    in_parts = PLAN.replace("homes.csv", "homes.parquet") + 'engine = "out-of-core"\n'
    (tmp_path / "plan.toml").write_text(in_parts)
    with pytest.raises(MethodError, match="households that stay together need the whole table"):
        Plan.read(tmp_path / "plan.toml").publish()


def test_explore_needs_another_table(plan):
    """Neither a sample of rows nor a release tells who lives together."""
    with pytest.raises(PlanError, match="a sample of rows would part households"):
        px.explore(plan, ["mondrian k=3"], sample="1/2")
    plan.publish()
    with pytest.raises(PlanError, match="a release does not say who lives together"):
        px.explore(plan, ["mondrian k=3"])


def test_check_says_what_it_would_be(plan):
    """The preview promises what the release would; of m or l by rows it says nothing."""
    preview = plan.check()
    assert preview.allowed is None and preview.rows == homes().height
    assert preview.guarantees[-1] == {"name": "household-l-diversity", "l": 2}


def test_adversaries_are_played(plan):
    """Those who look at one release find what they find, as of persons."""
    release = plan.publish()
    for adversary in (px.Posterior(), px.Extremes(), px.SinglingOut()):
        assert release.attack(adversary) is not None
