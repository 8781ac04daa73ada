# SPDX-License-Identifier: Apache-2.0
"""What is lost: the curve passes through neighbours, the groups along a line are the best ones,
other tools' lines are read from their page, and the table of all methods has a line for each.
"""

import itertools
import sys
from importlib import import_module

import numpy as np
import polars as pl
import pytest

from support.scripts import EXPERIMENTS, run_script

FOLDER = EXPERIMENTS / "losses"
PARTS = ("folders", "methods", "orders", "papers_way", "patients")


@pytest.fixture(scope="module")
def scripts():
    """The scripts as modules, by name."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(EXPERIMENTS / "mutual_cover")
        patched.syspath_prepend(FOLDER)
        for name in PARTS:
            patched.delitem(sys.modules, name, raising=False)
        yield {name: import_module(name) for name in ("methods", "orders")}
        for name in PARTS:
            patched.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize("d", [2, 3])
def test_a_hilbert_curve_goes_from_neighbour_to_neighbour(scripts, monkeypatch, d):
    """All cells of a grid, each one step from the one before."""
    orders = scripts["orders"]
    monkeypatch.setattr(orders, "BITS", 3)
    cells = np.array(list(itertools.product(range(8), repeat=d)))
    order = orders.hilbert(cells / 7)
    assert sorted(order) == list(range(8**d))
    assert (np.abs(np.diff(cells[order], axis=0)).sum(axis=1) == 1).all()


@pytest.mark.parametrize("seed", range(4))
def test_groups_along_a_line_are_the_best_ones(scripts, seed):
    """No other cuts of ten rows into groups of two or more cost less, of any size."""
    orders = scripts["orders"]
    places = np.random.default_rng(seed).integers(0, 5, (10, 2)).astype(np.float64)

    def cost(ends):
        groups = [places[a:b] for a, b in itertools.pairwise((0, *ends, 10))]
        if min(map(len, groups)) < 2:
            return np.inf
        return sum(len(g) * (g.max(axis=0) - g.min(axis=0)).sum() for g in groups)

    ways = (ends for n in range(5) for ends in itertools.combinations(range(1, 10), n))
    found = orders.along(np.arange(10), places, 2)
    assert cost(np.flatnonzero(np.diff(found)) + 1) == min(map(cost, ways))


def test_categories_stand_beside_those_with_the_same_rows(scripts):
    """The axis of a correspondence analysis puts values together that go with the same others."""
    table = pl.DataFrame({"a": list("xyzw") * 50, "b": list("ptpt") * 50})
    order = scripts["orders"].beside_the_others(table, "a")
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset("xz"), frozenset("yw")}


def test_other_tools_lines_are_read(scripts):
    """Those of the first table, of the tools that were run on the same rows."""
    page = (
        "# x\n\n## first\n\n| made by | rows | width | pairs | error | accuracy | found | seconds | k |\n"
        "| anonypyx, k = 10 | 9 | 0.1 | 0.2 | 0.3 | 1% | 2% | 4.5 | 10 |\n"
        "| anjana, k = 10 | not made within 10 minutes |\n| mondrian | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 |\n"
        "\n## second\n\n| anonypyx, k = 5 | 8 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |\n"
    )
    assert list(scripts["methods"].of_others(page)) == [
        ["anonypyx, k = 10", "other tool", "9", "0.1", "0.2", "0.3", "", "4.5"]
    ]


def test_the_tables_go_where_the_marks_are(scripts, tmp_path):
    """A page with marks has the tables between them, and one without stays as it is."""
    methods, page = scripts["methods"], tmp_path / "page.md"
    for text in ("a\n", f"a\n{methods.BEGIN}\n{methods.END}\nb\n"):
        page.write_text(text)
        methods.written(page, "| new |")
        methods.written(page, "| new |")
        assert page.read_text().count("| new |") == text.count("printed")
    assert page.read_text().endswith(f"| new |\n\n{methods.END}\nb\n")


@pytest.mark.slow
def test_every_method_has_a_line(tmp_path):
    """On a made-up table in the shape of the census's; what makes no sense says why."""
    rng = np.random.default_rng(5)
    columns = {
        "sex": 2,
        "age": 40,
        "relate": 4,
        "marst": 3,
        "race": 3,
        "educ": 5,
        "uhrswork": 20,
        "incwage": 8,
    }
    table = {name: rng.integers(0, size, 400) for name, size in columns.items()}
    pl.DataFrame({"row_id": np.arange(400)} | table).write_parquet(
        tmp_path / "mutual_cover_census.parquet"
    )
    ran = run_script("losses/methods.py", "--only", "census", data=tmp_path)
    assert ran.returncode == 0, ran.stderr
    lines = [line.split(" | ") for line in ran.stdout.splitlines() if line.startswith("| ")][2:]
    assert [line[1] for line in lines].count("today") >= 6
    assert all(line[5] for line in lines[:-1])
    assert "no sense" in lines[-1][2]


@pytest.mark.parametrize("script", ["methods", "orders"])
def test_no_data_is_said(script):
    """Without the data folder a script says what it needs."""
    ran = run_script(f"losses/{script}.py", data=None)
    assert ran.returncode
    assert "PHALANX_DATA" in ran.stderr
