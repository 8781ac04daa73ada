# SPDX-License-Identifier: Apache-2.0
"""The experiments about whoever knows the method run from beginning to end on small made-up tables,
and without data tell what to set.
"""

import numpy as np
import polars as pl
import pytest

from support.scripts import run_script, tables_of

N = 600


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Made-up tables in the shape of Adult and of the hospital series."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(1)
    words = lambda name, q: pl.Series([f"{name} {i}" for i in range(q)]).gather(  # noqa: E731
        rng.integers(0, q, N)
    )
    adult = {"age": rng.integers(17, 90, N).astype(np.int16), "complete": rng.random(N) < 0.9}
    counts = {
        "workclass": 4,
        "education": 6,
        "marital_status": 4,
        "race": 3,
        "sex": 2,
        "occupation": 9,
    }
    pl.DataFrame(adult | {name: words(name, q) for name, q in counts.items()}).write_parquet(
        folder / "adult.parquet"
    )
    encounters = {
        "release": np.sort(rng.integers(1, 4, N)),
        "patient_nbr": rng.integers(0, 400, N),
        "age": [f"[{10 * d}-{10 * d + 10})" for d in rng.integers(0, 10, N)],
        "gender": rng.choice(["Female", "Male"], N),
        "race": pl.Series(["Asian", None, "Other"]).gather(rng.integers(0, 3, N)),
        "time_in_hospital": rng.integers(1, 15, N),
        "num_lab_procedures": rng.integers(1, 99, N),
        "diag_1": np.where(
            rng.random(N) < 0.2,
            np.char.add("R", rng.integers(0, 40, N).astype(str)),
            np.char.add("C", rng.integers(0, 4, N).astype(str)),
        ),
    }
    pl.DataFrame(encounters).write_parquet(folder / "diabetes130.parquet")
    return folder


@pytest.mark.parametrize(
    ("script", "name"), [("minimality.py", "adult.parquet"), ("growth.py", "diabetes130.parquet")]
)
def test_without_data_it_says_what_to_set(script, name):
    """A script that finds no data says in one sentence what to set."""
    chosen = ["--table", "adult"] if script == "minimality.py" else ["--series", "diabetes130"]
    ran = run_script(f"knowing_the_method/{script}", *chosen, data=None)
    assert ran.returncode == 1
    assert ran.stderr.strip() == f"Set PHALANX_DATA to the folder that holds {name}."


def test_minimality(data):
    """Every method that can publish the table has a row, and where l is small somebody is above the
    bound; the cuts of slicing are those of Mondrian.
    """
    ran = run_script(
        "knowing_the_method/minimality.py", "--table", "adult", "--effort", 300, data=data
    )
    assert ran.returncode == 0, ran.stderr
    ((heading, rows),) = tables_of(ran.stdout).items()
    assert heading.startswith("### adult")
    found = {row[0]: row[1:] for row in rows}
    assert int(found["mondrian, l = 2"][2]) > 0
    assert found["slicing, strict, l = 2"] == found["mondrian, l = 2"]
    assert "mondrian, l = 10" not in found


def test_minimality_of_some_sets(data):
    """Where worlds are counted for some sets of groups, sums have intervals; where for all, the
    rows are those without the option.
    """
    asked = ["--table", "adult", "--effort", 300, "--only", "mondrian, l = 2"]
    printed = []
    for sets in (["--sets", 10], ["--sets", 10_000], []):
        ran = run_script("knowing_the_method/minimality.py", *asked, *sets, data=data)
        assert ran.returncode == 0, ran.stderr
        ((_, (row,)),) = tables_of(ran.stdout).items()
        printed.append(row)
    some, all_sets, plain = printed
    assert all_sets == plain
    assert some[1] == plain[1]
    mean, low, _, high = some[3].replace("(", "").replace(")", "").split()
    assert float(low) <= float(mean) <= float(high)
    assert float(low) <= float(plain[3]) <= float(high)


def test_growth(data):
    """Every strategy has a row; groups are named more often than by chance, and no share is above
    100 per cent.
    """
    ran = run_script(
        "knowing_the_method/growth.py", "--series", "diabetes130", "--releases", 3, data=data
    )
    assert ran.returncode == 0, ran.stderr
    ((_, rows),) = tables_of(ran.stdout).items()
    assert [row[0] for row in rows] == ["adaptive", "geometric", "constant-ratio"]
    assert all(
        float(row[2].split()[0]) > float(row[4]) and float(row[2].split()[0]) <= 100 for row in rows
    )
