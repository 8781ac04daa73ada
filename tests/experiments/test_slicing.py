# SPDX-License-Identifier: Apache-2.0
"""The experiments of slicing run from beginning to end on a small made-up table in the shape of the
real one, which need not be there.
"""

import numpy as np
import polars as pl
import pytest

from support.scripts import run_script, tables_of


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Like Adult: more rows of some combinations than of others, and an occupation that goes with
    sex.
    """
    rng = np.random.default_rng(2)
    n = 1500
    sex = rng.choice(["Female", "Male"], n, p=[0.4, 0.6])
    job = (rng.integers(0, 8, n) + 3 * (sex == "Male")) % 11
    table = {
        "row_id": np.arange(n), "age": rng.integers(17, 70, n), "workclass": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1]), "fnlwgt": rng.permutation(n) * 7,
        "education": rng.choice([f"e{i}" for i in range(6)], n), "education_num": rng.integers(1, 16, n), "marital_status": rng.choice(["m", "n", "d"], n),
        "occupation": [f"job {j}" for j in job], "relationship": rng.choice(["h", "w", "o"], n), "race": rng.choice(["r", "s"], n, p=[0.85, 0.15]), "sex": sex,
        "capital_gain": rng.choice([0, 5000], n), "capital_loss": rng.choice([0, 900], n), "hours_per_week": rng.integers(10, 60, n),
        "native_country": rng.choice(["x", "y"], n), "income": rng.choice(["<=50K", ">50K"], n), "complete": [True] * n,
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("data")
    pl.DataFrame(table).write_parquet(folder / "adult.parquet")
    return folder


def test_columns(data):
    """Both cuts of the table are partitioned, sex stands first among what is closest to occupation,
    and every attribute is in one column.
    """
    ran = run_script("slicing/columns.py", data=data)
    assert ran.returncode == 0, ran.stderr
    found = tables_of(ran.stdout)
    assert len(found) == 4
    assert all(
        row[1].startswith("sex ")
        for heading, rows in found.items()
        if "closest" in heading
        for row in rows
    )
    assert all(
        row[2].count("occupation") == 1
        for heading, rows in found.items()
        if "columns" in heading
        for row in rows
    )


def test_cuts(data):
    """The exact check makes no fewer buckets than the local one, and as many where cuts are strict,
    of which a tuple matches one.
    """
    ran = run_script("slicing/cuts.py", data=data)
    assert ran.returncode == 0, ran.stderr
    for rows in tables_of(ran.stdout).values():
        buckets = {(row[0], row[1]): int(row[2]) for row in rows}
        assert rows
        assert all(row[5].startswith("1.00, 1") for row in rows if row[1].startswith("strict"))
        assert all(
            number == buckets[l, "strict / local"]
            for (l, way), number in buckets.items()
            if way == "strict / exact"
        )


def test_membership(data):
    """Groupings stand side by side, of which boxes say nothing by number; fake tuples are counted
    for every p and both numbers of columns.
    """
    ran = run_script("slicing/membership.py", "--size", 50, "--queries", 50, data=data)
    assert ran.returncode == 0, ran.stderr
    beside, *others = tables_of(ran.stdout).values()
    assert [row[1] for row in beside] == [
        "random",
        *["strict", "relaxed", "membership"] * 2,
        "strict",
        "relaxed",
    ]
    assert all(float(row[3].split()[0]) == 0.5 for row in beside if row[1] == "strict")
    assert all(0.4 < float(row[4].split()[0]) < 0.95 for row in beside)
    assert [len(rows) for rows in others] == [8, 8]


def test_the_goal_of_membership(data):
    """Random buckets, boxes and the grouping stand side by side for the tables that are there; on
    the one like German credit the goal is held.
    """
    ran = run_script("slicing/membership.py", "--goal", data=data)
    assert ran.returncode == 0, ran.stderr
    (rows,) = tables_of(ran.stdout).values()
    assert [row[4] for row in rows] == ["random", "strict", "membership"] * 6
    assert [row[8] for row in rows if row[0] == "like German credit"] == ["", "", "held"] * 3


def test_further_tables_of_membership(data):
    """Adult with all attributes and the health panel need no further file; whoever goes by counts
    alone stands beside both adversaries.
    """
    ran = run_script("slicing/membership.py", "--others", data=data)
    assert ran.returncode == 0, ran.stderr
    (rows,) = tables_of(ran.stdout).values()
    assert [row[0] for row in rows] == [
        "Adult, OCC-15",
        "health panel",
        "health panel without income",
    ]
    assert rows[2][7].startswith("missed by")


def test_what_is_known_without_the_release(data):
    """Where others have the same values, the other half of a table tells who is in this one; where
    nobody has, it tells nothing.
    """
    ran = run_script("slicing/membership.py", "--without", data=data)
    assert ran.returncode == 0, ran.stderr
    (rows,) = tables_of(ran.stdout).values()
    known = {(name, int(l)): float(cells[2].split()[0]) for name, _, l, *cells in rows}
    assert known["health panel without income", 2] > 0.8
    assert abs(known["like German credit", 2] - 0.5) < 0.02


def test_readings(data):
    """Nobody is above the bound by shares, by rows or by counting."""
    ran = run_script("slicing/readings.py", data=data)
    assert ran.returncode == 0, ran.stderr
    (rows,) = tables_of(ran.stdout).values()
    assert rows
    assert all(cell.startswith("0, ") for row in rows for cell in row[3:6])


def test_figure_1():
    """Needs no data. Ours is what a stack and all attributes give by strict cuts, where nothing
    weighs by rows; the order of buckets changes nothing there; and one split makes fewer buckets.
    """
    ran = run_script("slicing/figure_1.py", "--tables", 12, "--rows", 12, data=None)
    assert ran.returncode == 0, ran.stderr
    (rows,) = tables_of(ran.stdout).values()
    made = {tuple(row[1:4]): float(row[4]) for row in rows}
    assert len(made) == 10
    strict = {key[1:]: buckets for key, buckets in made.items() if key[0] == "strict"}
    assert strict["ours, as it is", "all"] == strict["stack", "all"] == strict["queue", "all"]
    assert strict["queue", "one"] < strict["queue", "all"]


@pytest.mark.parametrize(
    "script",
    ["columns.py", "cuts.py", "learners.py", "learning.py", "membership.py", "readings.py"],
)
def test_without_the_data(script):
    """Whoever has no data is told what to set, in one sentence."""
    ran = run_script(f"slicing/{script}", data=None)
    assert ran.returncode == 1
    assert ran.stderr.strip() == "Set PHALANX_DATA to the folder that holds adult.parquet."


def test_learning(data):
    """Every way of publishing has its accuracies for both classifiers, none of which is above 1,
    and what is learned from the original is among them.
    """
    ran = run_script("slicing/learning.py", "--quick", "--l", 3, "--only", "OCC-7", data=data)
    assert ran.returncode == 0, ran.stderr
    first, second, columns, alike, dealt, published = tables_of(ran.stdout).values()
    for rows in (first, second):
        assert [row[1] for row in rows] == [
            "slicing",
            "bucketization",
            "generalization",
            "original",
            "most frequent class",
        ]
        assert all(0 < float(cell.rstrip("%")) < 100 for row in rows for cell in row[2:])
    assert [row[1] for row in columns] == ["c = 2", "c = 3", "c = 5"] * 2
    assert len(alike) == 1
    assert [row[2] for row in dealt] == ["slicing", "bucketization"] * 4
    assert [row[2] for row in published] == ["slicing", "bucketization", "generalization"] * 2


def test_learners(data):
    """Both adversaries name an occupation for everybody, from every release; where l is promised,
    the law gives no value more than 1/l.
    """
    ran = run_script("slicing/learners.py", data=data)
    assert ran.returncode == 0, ran.stderr
    (rows,) = tables_of(ran.stdout).values()
    assert len(rows) == 10
    assert all(0 < float(cell.split("%")[0]) < 100 for row in rows for cell in (row[2], row[4]))
    promised = [(float(row[3]), 5 if "l = 5" in row[0] else 3) for row in rows[:-1]]
    assert all(largest <= 1 / l + 0.0005 for largest, l in promised)
