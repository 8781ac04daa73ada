# SPDX-License-Identifier: Apache-2.0
"""The entry for NIST's archive: tables go to plans and back unchanged, and each plan has its
labels.
"""

import csv
import importlib.util
import json
import os
import sys
from pathlib import Path

import polars as pl
import pytest

import phalanx as px
from support.scripts import EXPERIMENTS, run_script

FOLDER = EXPERIMENTS / "nist"


@pytest.fixture(scope="module")
def script():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("nist", FOLDER / "nist.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_table_comes_back_in_nists_codes(script, tmp_path):
    """What plans take as numbers are NIST's codes again, N among them, whatever was drawn as a
    number with a fraction.
    """
    codes = pl.DataFrame(
        [["3", "1", "N", "6", "1", "2", "N", "N", "N", "2"], list("9156112945")],
        schema=list(script.FEATURES),
        orient="row",
    )
    codes.with_columns(PUMA=pl.lit("25-00503")).write_csv(tmp_path / "nist_ma2019.csv")
    table = script.people(tmp_path, 2019)
    assert table["EDU"].to_list() == [0, 2]
    assert script.as_nist(table).equals(codes)
    drawn = table.with_columns(AGEP=pl.lit(99.9), EDU=pl.lit(0.3))
    assert script.as_nist(drawn).select("AGEP", "EDU").rows() == [("99", "N")] * 2


def test_each_plan_is_one_and_has_its_labels(script):
    """Every plan can be read, is of the ten features, and stands with its labels in the index."""
    with (FOLDER / "index.csv").open(encoding="utf-8") as file:
        index = {row["labels path"]: row for row in csv.DictReader(file)}
    plans = script.plans()
    assert {path.parent.parent.name for path in plans} == {
        f"phalanx_{name.replace('-', '_')}" for name in script.PROMISES
    }
    for path in plans:
        plan = px.Plan.read(path)
        schema = plan.schema()
        assert {*schema.quasi, schema.sensitive} == set(script.FEATURES)
        labels = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["labels"]
        assert labels.items() <= index[str(path.with_suffix(".json").relative_to(FOLDER))].items()
        assert labels["algorithm name"] == plan.method().name
        assert f"{labels['algorithm name']}, {labels['variant label']}" == script.named(path)
    assert len(index) == len(plans)


def test_the_index_is_that_of_the_archive(script):
    """Its columns are those of the archive's own index, the first without a name."""
    with (FOLDER / "index.csv").open(encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["", *script.COLUMNS]
    assert [row[0] for row in rows] == [str(i) for i in range(len(rows))]
    assert {row[header.index("feature space size")] for row in rows} == {"227026800"}


def test_a_run_that_was_ended_goes_on(script, tmp_path):
    """What was said of a table before is not asked again, unless the table is another one."""
    for name in script.NEEDED:
        place = tmp_path / "excerpts" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("{}")
    (tmp_path / "nist_ma2019.csv").touch()
    judge = tmp_path / "judge"
    judge.write_text(
        f"#!{sys.executable}\nimport json, pathlib, sys\n"
        "tables = json.loads((pathlib.Path(sys.argv[2]) / 'asked.json').read_text())['tables']\n"
        "for name in tables[:2]:\n    print(json.dumps({'asked': tables}), flush=True)\n"
        "sys.exit(len(tables) > 2)\n"
    )
    judge.chmod(0o755)

    def run(place, **contents):
        files = tmp_path / place
        files.mkdir()
        for name, text in contents.items():
            (files / f"{name}.csv").write_text(text)
        kept = tmp_path / "judged.json"
        given = (judge, files, tmp_path / "excerpts", tmp_path, {}, list(contents), kept)
        return script.judge(*given)

    with pytest.raises(SystemExit):
        run("first", a="1", b="2", c="3")
    second = run("second", a="1", b="2", c="3")
    assert second["a"] == {"asked": ["a", "b", "c"]}
    assert second["c"] == {"asked": ["c"]}
    assert run("third", a="1", b="4", c="3")["b"] == {"asked": ["b"]}


@pytest.mark.slow
@pytest.mark.skipif(
    not Path(os.environ.get("PHALANX_DATA", ""), "nist_ma2019.csv").is_file(),
    reason="needs nist_ma2019.csv in PHALANX_DATA",
)
@pytest.mark.parametrize("draws", ["mondrian_k_6", "slicing_l_3"])
def test_the_hashes_of_the_index_are_those_of_todays_draws(script, tmp_path, draws):
    """The page is of what the code draws now: a draw's bytes have the hash in the index."""
    with (FOLDER / "index.csv").open(encoding="utf-8") as file:
        index = {Path(row["data path"]).stem: row["deid data id"] for row in csv.DictReader(file)}
    stem = f"{draws}_demographic_focused_ma2019"
    (plan,) = (plan for plan in script.plans() if plan.stem == stem)
    people = script.people(Path(os.environ["PHALANX_DATA"]), 2019)
    people.write_parquet(tmp_path / "people.parquet")
    drawn = script.as_nist(script.draw(plan, tmp_path)).write_csv().encode()
    assert script.sha1(drawn) == index[stem], "the page of NIST's judge is stale: make nist"


def test_no_table_of_persons_is_kept():
    """The folder has plans, labels and an index, and no table."""
    assert [path.name for path in FOLDER.glob("*.csv")] == ["index.csv"]
    kept = {path.suffix for path in (FOLDER / "deid_data").rglob("*") if path.is_file()}
    assert kept == {".toml", ".json"}


def test_every_line_of_the_short_table_is_one_of_the_long(script):
    """What the front page shows begins like a line of the long table, each of one line at least."""
    names = [script.named(plan) for plan in script.plans()] + ["other people, of 2018"]
    names += [p["made by"] for p in json.loads((FOLDER / "published.json").read_text())]
    assert all(any(name.startswith(few) for name in names) for few in script.FEW)


def test_only_what_stands_between_the_marks_is_written(script, tmp_path):
    """A page keeps everything else, and a second writing changes nothing."""
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- printed by experiments/nist/nist.py -->\nold\n<!-- end -->\nz\n")
    script.written(page, "| new |")
    first = page.read_text()
    assert first.startswith("a\n<!--")
    assert first.endswith("| new |\n\n<!-- end -->\nz\n")
    script.written(page, "| new |")
    assert page.read_text() == first


def test_what_is_missing_is_said(tmp_path):
    """Without the data, or without NIST's folder, the script says what it needs; code 2."""
    ran = run_script("nist/nist.py", data=None)
    assert ran.returncode == 2
    assert "PHALANX_DATA" in ran.stderr
    for year in (2018, 2019):
        (tmp_path / f"nist_ma{year}.csv").touch()
    ran = run_script("nist/nist.py", data=tmp_path)
    assert ran.returncode == 2
    assert "--excerpts" in ran.stderr
