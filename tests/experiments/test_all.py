# SPDX-License-Identifier: Apache-2.0
"""The experiments run from beginning to end on small made-up tables in the shape of the real ones,
which need not be there.
"""

import importlib.util
import sys
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from phalanx.data.schema import Schema
from phalanx.methods.m_invariance.method import MInvariance
from support.scripts import EXPERIMENTS, run_script


@pytest.fixture(scope="module")
def common():
    """The module that the scripts share."""
    spec = importlib.util.spec_from_file_location(
        "m_invariance_series", EXPERIMENTS / "m_invariance" / "series.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


def census(rows):
    """In the shape of acs2018_occsal: every sensitive value about equally often."""
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "row_id": np.arange(rows),
            "age": rng.integers(17, 96, rows),
            "sex": rng.choice(["f", "m"], rows),
            "education17": np.char.add("e", rng.integers(0, 17, rows).astype(str)),
            "birthplace57": np.char.add("b", rng.integers(0, 57, rows).astype(str)),
            "occupation50": np.char.add("o", rng.integers(0, 50, rows).astype(str)),
            "income50": rng.integers(0, 50, rows),
        }
    )


def admissions(rows):
    """In the shape of diabetes130: patients come back, some with another diagnosis."""
    rng = np.random.default_rng(2)
    codes = {
        "402.1": "Circulatory (390-459)",
        "414": "Circulatory (390-459)",
        "250.02": "Diabetes (250)",
        "486": "Respiratory (460-519)",
        "V57": "Supplementary (V)",
    }
    patient = rng.integers(0, rows // 2, rows)
    usual = rng.integers(0, len(codes), rows // 2)
    code = np.array(list(codes))[
        np.where(rng.random(rows) < 0.1, rng.integers(0, len(codes), rows), usual[patient])
    ]
    decade = rng.integers(0, 10, rows)
    return pl.DataFrame(
        {
            "release": np.sort(rng.integers(1, 4, rows)),
            "patient_nbr": patient,
            "age": [f"[{10 * d}-{10 * d + 10})" for d in decade],
            "gender": rng.choice(["Female", "Male"], rows),
            "race": pl.Series(["Asian", None, "Other"]).gather(rng.integers(0, 3, rows)),
            "admission_type": rng.choice(["Emergency", "Elective"], rows),
            "time_in_hospital": rng.integers(1, 15, rows),
            "diag_1": code,
            "diag_1_chapter": [codes[c] for c in code],
        }
    )


def table_after(text, heading):
    """The cells of the first Markdown table after a line."""
    block = next(
        block for block in text[text.index(heading) :].split("\n\n") if block.startswith("|")
    )
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()[2:]
    ]


def test_the_series_of_the_paper_exposes_nobody_and_mondrian_somebody(tmp_path):
    """A line per release with all its rows; no tuple vulnerable under m-invariance, some under
    Mondrian.
    """
    census(1200).write_parquet(tmp_path / "acs2018_occsal.parquet")

    ran = run_script(
        "m_invariance/acs.py",
        "--first",
        600,
        "--replaced",
        100,
        "--releases",
        5,
        "--m",
        4,
        "--sensitive",
        "income50",
        "--quick",
        data=tmp_path,
    )

    assert ran.returncode == 0, ran.stderr
    releases = table_after(ran.stdout, "m = 4")
    assert [int(r[0]) for r in releases] == [1, 2, 3, 4, 5]
    assert all(int(r[1]) == 600 + int(r[4]) for r in releases)
    vulnerable = {row[0]: int(row[2]) for row in table_after(ran.stdout, "figure 4")}
    assert vulnerable["m-invariance, m = 4"] == vulnerable["m-invariance, m = 2"] == 0
    assert vulnerable["Mondrian, l = 2"] > 0


def test_the_hospital_series_exposes_nobody_who_is_remembered(tmp_path):
    """Three ways of publishing; remembering exposes nobody, by box or by group, and holds changed
    values back.
    """
    admissions(1500).write_parquet(tmp_path / "diabetes130.parquet")

    ran = run_script("m_invariance/diabetes.py", data=tmp_path)

    assert ran.returncode == 0, ran.stderr
    for heading in ("Sensitive: chapter", "Sensitive: block"):
        ways = {
            row[0]: list(map(int, row[1:]))
            for row in table_after(ran.stdout[ran.stdout.index(heading) :], "All three")
        }
        patients, _, suppressed_rows, by_box, by_group = ways["m-invariance, remembering"]
        assert patients > 500
        assert suppressed_rows > 0
        assert (by_box, by_group) == (0, 0)
        assert ways["Mondrian"][4] > 0


def test_never_filling_is_measured_beside_the_papers_filling(tmp_path):
    """A line per release for both ways, none with counterfeits in the first; never filling needs
    more; the adversary is played on both.
    """
    census(1200).write_parquet(tmp_path / "acs2018_occsal.parquet")

    ran = run_script(
        "m_invariance/balancing.py",
        "--series",
        "acs",
        "--first",
        600,
        "--replaced",
        100,
        "--releases",
        5,
        "--m",
        4,
        data=tmp_path,
    )

    assert ran.returncode == 0, ran.stderr
    releases = table_after(ran.stdout, "acs, occupation50")
    assert [int(r[0]) for r in releases] == [1, 2, 3, 4, 5]
    assert sum(int(r[1]) for r in releases) < sum(int(r[2]) for r in releases)
    assert int(releases[0][1]) == int(releases[0][2]) == 0
    attacked = table_after(ran.stdout, "The adversary")
    assert [row[1] for row in attacked] == ["paper", "exact"]
    assert int(attacked[1][2]) > int(attacked[0][2])


def test_ways_to_enter_stand_above_the_floor(tmp_path):
    """By counts alone: every way leaves counterfeits, and none fewer than if every value stood in
    one signature.
    """
    census(1200).write_parquet(tmp_path / "acs2018_occsal.parquet")
    few = ["--first", 600, "--replaced", 100, "--releases", 5, "--m", 4, "--seeds", 2]
    ran = run_script("m_invariance/entering.py", *few, data=tmp_path)
    assert ran.returncode == 0, ran.stderr
    rows = table_after(ran.stdout, "Release 5")
    assert [row[0] for row in rows] == [
        "largest first",
        "in proportion",
        "fewest left over",
        "least spread",
        "half of each",
        "floor",
    ]
    assert all(int(row[1]) >= int(rows[-1][1]) > 0 for row in rows)


@pytest.mark.parametrize("script", ["acs.py", "balancing.py", "diabetes.py", "entering.py"])
def test_without_the_data_one_sentence_says_what_to_set(script):
    """No PHALANX_DATA: exit code 2, one line, no traceback."""
    ran = run_script(f"m_invariance/{script}", data=None)
    assert ran.returncode == 2
    assert "PHALANX_DATA" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_a_series_replaces_rows_for_good(common):
    """Every release has as many rows; so many leave, so many arrive, and nobody returns; a pool
    that is too small is refused.
    """
    pool = pl.DataFrame({"row_id": np.arange(100)})
    tables = [set(t["row_id"].to_list()) for t in common.replaced(pool, 60, 10, 5, seed=1)]
    assert [len(t) for t in tables] == [60] * 5
    for i, (before, after) in enumerate(pairwise(tables)):
        assert len(after - before) == len(before - after) == 10
        assert not (after - before) & set().union(*tables[: i + 1])
    with pytest.raises(ValueError, match="ends after 5"):
        list(common.replaced(pool, 60, 10, 6, seed=1))


def test_a_query_for_everything_is_answered_exactly(common, tmp_path):
    """At theta = 1 every range is the whole domain, and the estimate counts the real rows, no
    counterfeit; below it errs.
    """
    schema = Schema(identifier="row_id", quasi=["age", "sex"], sensitive="income50")
    tables = [
        t.select("row_id", "age", "sex", "income50")
        for t in common.replaced(census(700), 400, 50, 4, seed=3)
    ]
    run = common.publish(tables, name="s", schema=schema, method=MInvariance(m=4), to=tmp_path)
    microdata = run.microdata(tables[-1], schema)
    error = {
        theta: common.workload_error(run.releases[-1], microdata, theta=theta, queries=20, seed=1)
        for theta in (0.05, 1.0)
    }
    assert error[1.0] < 1e-12 < error[0.05]


def by_hand(common, release, microdata, ranges):
    """|actual - estimate| / actual of one query, group by group and row by row."""
    groups = common.Groups.of(release)
    ends = common.box_ends(microdata, release.form)
    place = {v: i for i, v in enumerate(microdata.sensitive.domain.values.to_list())}
    (*boxes, (least, most)) = ranges
    held = groups.values.to_list()
    estimate = 0.0
    for group in range(len(groups)):
        part = float(groups.sizes[group] - groups.counterfeits[group]) / groups.sizes[group]
        for (first, last), (low, high) in zip(ends, boxes, strict=True):
            inside = [c for c in range(first[group], last[group] + 1) if low <= c <= high]
            part *= len(inside) / (last[group] - first[group] + 1)
        cells = np.flatnonzero(groups.cell_group == group)
        asked = [c for c in cells if least <= place.get(held[groups.cell_value[c]], -1) <= most]
        estimate += part * sum(int(groups.cell_count[c]) for c in asked)
    columns = [*microdata.quasi, microdata.sensitive]
    codes = zip(*(column.codes.tolist() for column in columns), strict=True)
    actual = sum(
        all(low <= c <= high for c, (low, high) in zip(row, ranges, strict=True)) for row in codes
    )
    return abs(actual - estimate) / actual


def test_the_error_is_that_of_counting_by_hand(common, tmp_path, monkeypatch):
    """Of one query at a time, over releases with counterfeits."""
    schema = Schema(identifier="row_id", quasi=["age", "sex"], sensitive="income50")
    tables = [
        t.select("row_id", "age", "sex", "income50")
        for t in common.replaced(census(500), 200, 60, 3, seed=3)
    ]
    run = common.publish(tables, name="s", schema=schema, method=MInvariance(m=6), to=tmp_path)
    microdata = run.microdata(tables[-1], schema)
    for seed in range(8):
        drawn = []

        def noted(*asked, drawn=drawn, draw=common._range):
            drawn.append(draw(*asked))
            return drawn[-1]

        with monkeypatch.context() as patched:
            patched.setattr(common, "_range", noted)
            error = common.workload_error(
                run.releases[-1], microdata, theta=0.2, queries=1, seed=seed
            )
        ours = by_hand(common, run.releases[-1], microdata, drawn[-3:])
        assert error == pytest.approx(ours, abs=1e-12)
