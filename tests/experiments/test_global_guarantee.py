# SPDX-License-Identifier: Apache-2.0
"""The experiments of the global guarantee run from beginning to end on small made-up tables in the
shape of the real ones, which need not be there.
"""

import numpy as np
import polars as pl
import pytest

from support.scripts import run_script, tables_of


def vaers(folder, n=900):
    rng = np.random.default_rng(1)
    reports = pl.DataFrame(
        {
            "vaers_id": np.arange(n, dtype=np.int32),
            "age_yrs": rng.integers(0, 90, n).astype(np.float32),
            "sex": rng.choice(["F", "M", "U"], n),
            "state": pl.Series(["CA", "NY", "TX", None]).gather(rng.integers(0, 4, n)),
        }
    )
    reports.write_parquet(folder / "vaers_reports.parquet")
    words = [f"reaction {i}" for i in range(40)]
    shares = 1 / (np.arange(40) + 12)
    rows = [
        (i, s)
        for i in range(n)
        for s in set(rng.choice(words, rng.integers(1, 4), p=shares / shares.sum()))
    ]
    pl.DataFrame(
        rows, schema={"vaers_id": pl.Int32, "symptom": pl.String}, orient="row"
    ).write_parquet(folder / "vaers_reactions.parquet")


def test_the_series_of_the_paper(tmp_path):
    """All tables are printed; no group is smaller than demanded, none much larger; the global
    guarantee leaves nobody above 1/l.
    """
    vaers(tmp_path)
    ran = run_script(
        "global_guarantee/vaers.py",
        "--queries",
        5,
        "--rounds",
        3,
        "--seeds",
        1,
        "--least-frequent",
        0.5,
        data=tmp_path,
    )
    assert ran.returncode == 0, ran.stderr
    found = tables_of(ran.stdout)
    figures = [
        rows
        for heading, rows in found.items()
        if heading.startswith(("### Figure", "### adaptive"))
    ]
    assert len(figures) == 5
    assert all(0 < float(row[2]) <= 1.15 * float(row[3]) for rows in figures for row in rows)
    above = {
        (row[0], row[1]): int(row[3])
        for heading, rows in found.items()
        if "persons whom someone" in heading
        for row in rows
    }
    assert above["global-guarantee", "2"] == above["global-guarantee", "5"] == 0


def test_the_hospital_series(tmp_path):
    """Three strategies and three levels are printed; the global guarantee leaves nobody above 1/l,
    plain Mondrian and m-invariance somebody.
    """
    rng = np.random.default_rng(2)
    n = 1500
    patient = rng.integers(0, 600, n)
    pl.DataFrame(
        {
            "release": np.sort(rng.integers(1, 11, n)),
            "patient_nbr": patient,
            "age": [f"[{10 * d}-{10 * d + 10})" for d in rng.integers(0, 10, n)],
            "gender": rng.choice(["Female", "Male"], n),
            "race": pl.Series(["Asian", None, "Other"]).gather(rng.integers(0, 3, n)),
            "time_in_hospital": rng.integers(1, 15, n),
            "num_lab_procedures": rng.integers(1, 99, n),
            "diag_1": np.where(
                rng.random(n) < 0.2,
                np.char.add("R", rng.integers(0, 60, n).astype(str)),
                np.char.add("C", rng.integers(0, 4, n).astype(str)),
            ),
        }
    ).write_parquet(tmp_path / "diabetes130.parquet")
    ran = run_script("global_guarantee/diabetes.py", "--queries", 5, data=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = tables_of(ran.stdout)
    assert [len(rows) for rows in found.values()] == [3, 3, 3, 6]
    above = {
        (row[0], row[1]): int(row[3])
        for row in found["### Patients linked to a protected diagnosis with more than 1/l"]
    }
    assert above["global-guarantee", "2"] == above["global-guarantee", "3"] == 0
    assert above["Mondrian, l-diverse", "2"] > 0
    assert above["m-invariance", "2"] > 0


@pytest.mark.parametrize("script", ["vaers.py", "diabetes.py"])
def test_without_the_data_one_sentence_says_what_to_set(script):
    """No PHALANX_DATA: exit code 2, one line, no traceback."""
    ran = run_script(f"global_guarantee/{script}", data=None)
    assert ran.returncode == 2
    assert "PHALANX_DATA" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
