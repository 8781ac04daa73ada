# SPDX-License-Identifier: Apache-2.0
"""The experiments of mutual cover run from beginning to end on a small made-up table in the shape
of the real one, which need not be there.
"""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from support.scripts import EXPERIMENTS, run_script, tables_of


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Like the authors' extract: codes, no two rows with the same quasi-identifiers, salaries of
    which none is frequent.
    """
    rng = np.random.default_rng(5)
    n = 1200
    age = rng.integers(16, 71, n)
    table = pl.DataFrame(
        {
            "sex": rng.integers(1, 3, n), "age": age, "relate": rng.integers(1, 14, n), "marst": np.where(age < 25, 6, rng.integers(1, 7, n)),
            "race": rng.choice(9, n, p=[0.6] + [0.05] * 8) + 1, "educ": rng.choice([1, 2, 5, 6, 7, 10, 11], n), "uhrswork": rng.integers(1, 100, n),
            "incwage": rng.integers(1, 60, n) * 1000,
        }
    ).unique(["sex", "age", "relate", "marst", "race", "educ", "uhrswork"], maintain_order=True)  # fmt: skip
    folder = tmp_path_factory.mktemp("data")
    table.with_row_index("row_id").write_parquet(folder / "mutual_cover_census.parquet")
    return folder


def numbers(cell):
    return list(map(float, cell.split()))


@pytest.mark.slow
def test_figures(data):
    """All figures are printed; five numbers are in order; nobody is found at P = 1, and every claim
    of the paper has its verdict.
    """
    ran = run_script("mutual_cover/figures.py", "--runs", 2, "--queries", 60, data=data)
    assert ran.returncode == 0, ran.stderr
    identity, attribute, mondrian, loss, errors, by_l = tables_of(ran.stdout).values()
    for rows in (identity, attribute):
        assert [row[0] for row in rows] == ["the paper's way"] * 5 + ["ours"] * 5
        assert all(sorted(numbers(cell)) == numbers(cell) for row in rows for cell in row[2:])
    assert all(numbers(row[-1]) == [0.0] * 5 for row in identity)
    assert [row[0] for row in mondrian] == [
        l for l in ("8", "10", "12", "15", "18") for _ in range(2)
    ]
    assert [row[0] for row in loss].count("Mondrian") == 5
    assert [row[0] for row in errors].count("Anatomy") == 5
    assert len(by_l) == 10
    claims = [line for line in ran.stdout.splitlines() if line.startswith("The paper: ")]
    assert len(claims) == 16
    assert all("hold" in line for line in claims)


@pytest.mark.slow
def test_beside(data, tmp_path):
    """Theirs is rebuilt, all settings stand side by side, least cost is least at equal delta, and who
    knows more finds no less.
    """
    ran = run_script(
        "mutual_cover/beside.py",
        "--runs",
        1,
        "--queries",
        60,
        "--attacked",
        200,
        "--plots",
        tmp_path,
        data=data,
    )
    assert ran.returncode == 0, ran.stderr
    program, classes, settings, known, equal, to_informed, kept, pairs, hours = tables_of(
        ran.stdout
    ).values()
    assert [row[0] for row in program] == ["measured", "rebuilt"]
    assert len(classes) == 2
    costs = {row[0]: float(row[1]) for row in settings}
    assert costs["least cost, 1/6"] < costs["the paper's way, 1/6"] < costs["theirs, 1/6"]
    assert [row[0] for row in known] == list(costs)
    for row in known:
        linked, informed, *knows = (float(cell.split(",")[0]) for cell in row[3:6] if cell)
        assert linked < informed + 0.02
        assert all(informed < most + 0.05 for most in knows)
    assert {row[1] for row in equal} >= {"all of these", "identity, P = 0.5"}
    assert [row[2] for row in to_informed] == ["ours", "least cost"] * 11
    assert float(kept[0][1].rstrip("%")) > 0
    assert [row[1] for row in kept[1:]] == ["0.0%"] * 6
    assert len(pairs) == len(hours) == 8
    assert (tmp_path / "frontier.svg").is_file()


def inside(data, code):
    """Run code beside the scripts."""
    environment = {"PHALANX_DATA": str(data), "PATH": ""}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=EXPERIMENTS / "mutual_cover",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_a_release_that_leaves_a_row_as_it_was_ends_the_script(data):
    """Identity disclosure at P = 1 must be 0: with one row unchanged it is not, and no figure of it
    is printed.
    """
    code = (
        "import numpy as np, theirs; from census import *; r = originals().copy(); r[:, 1] += 1;"
        " {}; print(disclosures(theirs.form_of(r), np.arange(1, len(r) + 1))[0, -1])"
    )
    sound, broken = inside(data, code.format("0")), inside(data, code.format("r[7, 1] -= 1"))
    assert sound.returncode == 0, sound.stderr
    assert float(sound.stdout) == 0
    assert broken.returncode == 1
    assert "must be 0" in broken.stderr


def test_the_original_answers_every_query_and_has_lost_nothing(data):
    """Measured on the rows themselves all errors, losses and distances of pairs are 0; with two
    columns dealt anew none of them is.
    """
    code = (
        "import numpy as np; from measures import *; r = originals().copy(); {};"
        " print(errors_of_rows(r, queries(4, 50)).max(), cost(r), loss_of_rows(r), changed(r),"
        " *apart(r))"
    )
    same, dealt = (
        inside(data, code.format(what))
        for what in ("0", "r[:, 1:3] = r[np.random.default_rng(1).permutation(len(r)), 1:3]")
    )
    assert same.returncode == 0, same.stderr
    assert list(map(float, same.stdout.split())) == [0.0] * 6
    assert all(float(cell) > 0 for cell in dealt.stdout.split())


def test_the_rebuilt_program_keeps_what_it_promises(data):
    """Every group has at least l rows, of different salaries; no tuple has more than delta of any
    whole number, and with a smaller delta one would.
    """
    code = (
        "import numpy as np, theirs; from census import *; of, s = theirs.groups(4),"
        " microdata().sensitive.codes; print(np.bincount(of).min(), len(np.unique(of * 1000 + s))"
        " == len(of)); table = np.diff(theirs.output_table((0, 0, 1, 3, 3, 7, 9), 4), axis=1,"
        " prepend=0); share = table.max(axis=0) / np.maximum(table.sum(axis=0), 1e-12);"
        " print(share.max())"
    )
    ran = inside(data, code)
    assert ran.returncode == 0, ran.stderr
    least, different, share = ran.stdout.split()
    assert int(least) >= 4
    assert different == "True"
    assert 1 / 5 < float(share) <= 1 / 4 + 1e-9


@pytest.mark.parametrize("script", ["figures.py", "beside.py"])
def test_without_the_data(script):
    """Whoever has no data is told what to set, in one sentence."""
    ran = run_script(f"mutual_cover/{script}", data=None)
    assert ran.returncode == 1
    assert (
        ran.stderr.strip()
        == "Set PHALANX_DATA to the folder that holds mutual_cover_census.parquet."
    )


def test_a_row_for_each_tuple_costs_no_more(tmp_path):
    """Shared rows are a special case, and where persons are much alike some groups gain."""
    rng = np.random.default_rng(5)
    n = 900
    table = pl.DataFrame(
        {
            "sex": rng.integers(1, 3, n), "age": rng.integers(16, 22, n), "relate": rng.choice(3, n, p=[0.7, 0.2, 0.1]), "marst": rng.choice(2, n, p=[0.8, 0.2]),
            "race": rng.choice(3, n, p=[0.8, 0.1, 0.1]), "educ": rng.choice(4, n), "uhrswork": rng.choice([20, 38, 40], n),
            "incwage": rng.integers(1, 60, n) * 1000,
        }
    ).unique(["sex", "age", "relate", "marst", "race", "educ", "uhrswork"], maintain_order=True)  # fmt: skip
    table.with_row_index("row_id").write_parquet(tmp_path / "mutual_cover_census.parquet")
    ran = run_script("mutual_cover/per_tuple.py", "--groups", 400, "--delta", "1/4", data=tmp_path)
    assert ran.returncode == 0, ran.stderr
    ((row,),) = tables_of(ran.stdout).values()
    solved, _, joint, shared, least, _, most, gained, *_ = row
    assert 0 < int(gained) <= int(joint) <= int(solved) <= 400
    assert 0 < float(least) < float(shared)
    assert 0 < float(most.rstrip("%")) < 50
