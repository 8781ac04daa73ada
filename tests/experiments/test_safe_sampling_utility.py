# SPDX-License-Identifier: Apache-2.0
"""What safe sampling's utility is measured with, on a small made-up table in the shape of Adult,
which need not be there.
"""

import importlib
import os
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from support.scripts import EXPERIMENTS, run_script, tables_of

MODULES = ("accounts", "measures", "releases", "tables")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Like Adult: who is married and educated earns more; some cells of the schemes have hundreds
    of rows and some a few.
    """
    rng = np.random.default_rng(6)
    n = 6000
    married, degree = rng.random(n) < 0.5, rng.random(n) < 0.3
    table = pl.DataFrame(
        {
            "row_id": np.arange(n), "age": rng.choice([30, 50, 70], n, p=[0.7, 0.28, 0.02]), "education": np.where(degree, "Bachelors", "HS-grad"),
            "marital_status": np.where(married, "Married-civ-spouse", "Never-married"), "sex": rng.choice(["Female", "Male"], n, p=[0.3, 0.7]),
            "hours_per_week": rng.choice([20, 40], n, p=[0.05, 0.95]), "income": np.where(rng.random(n) < 0.1 + 0.4 * married + 0.4 * degree, ">50K", "<=50K"),
        }
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("data")
    table.write_parquet(folder / "adult.parquet")
    return folder


@pytest.fixture(scope="module")
def scripts(data):
    """The modules beside the scripts, under their own names for as long as these tests run, and the
    made-up table.
    """
    before, known = os.environ.get("PHALANX_DATA"), dict(sys.modules)
    os.environ["PHALANX_DATA"] = str(data)
    sys.path.insert(0, str(EXPERIMENTS / "safe_sampling"))
    try:
        found = SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
        found.table = found.tables.tables()["adult"]
        assert found.table.published.rows + found.table.held.rows == 6000
        yield found
    finally:
        sys.path.remove(str(EXPERIMENTS / "safe_sampling"))
        for name in MODULES:
            sys.modules.pop(name, None)
            if name in known:
                sys.modules[name] = known[name]
        os.environ.pop("PHALANX_DATA")
        if before is not None:
            os.environ["PHALANX_DATA"] = before


@pytest.fixture(scope="module")
def asked(scripts):
    """A promise, and the middle one of the fixed schemes."""
    promise = scripts.accounts.default("tight", Fraction(1), scripts.accounts.DELTA)
    return promise, scripts.releases.fixed(scripts.table, scripts.table.fixed["middle"])


def test_the_original_answers_every_query_and_has_lost_nothing(scripts):
    """On the rows themselves every error is 0, with one attribute turned round not; in a single
    cell counts are what spreading values evenly gives.
    """
    m, table = scripts.measures, scripts.table
    original = scripts.releases.unchanged(table)
    queries = m.workload(table, original, 60, 0.1, 1)
    assert np.abs(m.errors(original, queries, 1)).max() == 0
    low = original.low.copy()
    low[:, 3] = 1 - low[:, 3]
    assert np.abs(m.errors(m.Cells(low, low, original.counts), queries, 1)).max() > 0.1

    sizes = np.array([m.size(table, name) for name in table.names])
    whole = m.Cells(np.zeros((1, 6), dtype=np.int64), sizes[None] - 1, np.array([100.0]))
    even = 100 * ((queries.high - queries.low + 1) / sizes[queries.attributes]).prod(axis=1)
    assert m.counted(whole, queries) == pytest.approx(even)


def test_a_release_is_read_as_it_was_published(scripts, asked):
    """Every cell holds k rows at least and is one of the scheme's, no more rows come out than were
    sampled, and without a sample all rows are there.
    """
    promise, scheme = asked
    cells, of = scripts.releases.publish(scripts.table, scheme, promise, 1)
    assert promise.k <= cells.counts.min()
    assert 0 < cells.rows < of < scripts.table.published.rows
    whole = scripts.releases.recoded(scripts.table, scheme)
    assert whole.rows == scripts.table.published.rows
    boxes = [
        {(*low, *high) for low, high in zip(c.low.tolist(), c.high.tolist(), strict=True)}
        for c in (cells, whole)
    ]
    assert boxes[0] < boxes[1]


def test_every_row_is_in_its_cell(scripts, asked):
    """The spans of a row's image hold the row's own positions, in every attribute."""
    table = scripts.table
    image, images = asked[1].images(table.published, np.arange(table.published.rows))
    cells = scripts.measures.spans(table, images.with_columns(len=pl.lit(1)))
    at = scripts.measures.positions(table, table.published)
    assert ((cells.low[image] <= at) & (at <= cells.high[image])).all()


def test_expected_rows_are_what_comes_out(scripts, asked):
    """The expectation is that of listing all samples of a cell, and with k less by one it is not;
    it is the mean of thirty releases, nearly.
    """
    promise, scheme = asked
    expected = scripts.accounts.expected
    listed = sum(
        sum(x) * 0.25 ** sum(x) * 0.75 ** (7 - sum(x))
        for x in product((0, 1), repeat=7)
        if sum(x) >= 3
    )
    small = replace(promise, k=3, beta=Fraction(1, 4))
    assert expected(small, np.array([7])) == pytest.approx(listed)
    assert expected(replace(small, k=2), np.array([7])) != pytest.approx(listed, rel=1e-3)

    sizes = scripts.releases.all_rows(scripts.table, scheme)[1]
    published = [
        scripts.releases.publish(scripts.table, scheme, promise, run)[0].rows for run in range(30)
    ]
    assert np.mean(published) == pytest.approx(expected(promise, sizes), rel=0.03)


@pytest.mark.parametrize("way", ["levels", "partition"])
def test_a_chosen_scheme_is_published_like_a_fixed_one(scripts, way):
    """What must be told is told, and what is published is in crowds."""
    table = scripts.table
    promise = scripts.accounts.solve(
        epsilon=1, delta=1e-6, accounting="tight", epsilon_scheme=Fraction(1, 10)
    )
    cells, _ = scripts.releases.publish(
        table, scripts.releases.chosen(table, way, promise), promise, 1
    )
    target = table.names.index("income")
    assert cells.rows > 0
    assert cells.counts.min() >= promise.k
    assert (cells.low[:, target] == cells.high[:, target]).all()


def test_the_classifier_learns_from_rows_and_from_nothing_else(scripts):
    """From the rows it beats the commoner class, from rows of which the class was dealt anew it
    does not, and from no rows there is nothing to learn.
    """
    m, table = scripts.measures, scripts.table
    at = m.positions(table, table.published)
    right = m.accuracy(table, scripts.releases.unchanged(table), 1)
    assert right > m.majority(table) + 0.1
    assert m.accuracy(table, m.Cells(at[:0], at[:0], np.ones(0)), 1) is None
    at[:, -1] = np.random.default_rng(1).permutation(at[:, -1])
    assert m.accuracy(table, m.Cells(at, at, np.ones(len(at))), 1) < m.majority(table) + 0.05


def test_noisy_counts_are_near_and_small_ones_are_dropped(scripts):
    """With little noise, all cells above the threshold come out as they are, and none below."""
    table, scheme = (
        scripts.table,
        scripts.releases.fixed(scripts.table, scripts.table.fixed["middle"]),
    )
    counts = scripts.releases.all_rows(table, scheme)[1]
    found = scripts.releases.noisy_counts(table, scheme, 2.0, 1e-6, 1)
    threshold = 1 + np.log(1 / 2e-6) / 2
    assert (counts < threshold - 4).any()
    assert found.counts.min() >= threshold
    assert (counts > threshold + 4).sum() <= len(found.counts) <= (counts > threshold - 4).sum()
    assert found.rows == pytest.approx(counts[counts > threshold].sum(), rel=0.02)


def test_accounts():
    """Without data: tight accounting never asks for a larger k nor a smaller sample, and at rates
    beyond the default only it says anything.
    """
    ran = run_script("safe_sampling/accounts.py", data=None)
    assert ran.returncode == 0, ran.stderr
    ks, rates, cells = tables_of(ran.stdout).values()
    assert len(ks) == 2 * 4 * 7
    assert all(int(row[4]) <= int(row[3]) for row in ks if row[3] != "-")
    assert all(
        (row[3] == "-") == (float(row[2].split()[0]) > 1.0005 - exp(-float(row[1]))) for row in ks
    )
    assert all(float(row[3]) >= float(row[2]) for row in rates)
    assert all(float(row[6]) >= float(row[3]) - 0.05 for row in cells)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "drawn"), [("utility.py", 1), ("rates.py", 1), ("choices.py", 0)]
)
def test_scripts_run(data, tmp_path, script, drawn):
    """From beginning to end on the made-up table: what is published is a share of what is sampled,
    and what is drawn is whole.
    """
    ran = run_script(
        f"safe_sampling/{script}",
        "--table",
        "adult",
        "--runs",
        1,
        "--queries",
        30,
        *(["--plots", tmp_path] if drawn else []),
        data=data,
    )
    assert ran.returncode == 0, ran.stderr
    first = next(iter(tables_of(ran.stdout).values()))
    of_all, of_sampled = (
        np.array([float(row[column].split("%")[0]) for row in first]) for column in (-6, -5)
    )
    assert (of_all < of_sampled).any()
    assert (of_all <= of_sampled).all()
    assert of_sampled.max() <= 100
    assert len(list(tmp_path.iterdir())) == drawn
    assert all(path.read_text().endswith("</svg>\n") for path in tmp_path.iterdir())


def test_without_the_data():
    """Whoever has no data is told what to set, in one sentence."""
    ran = run_script("safe_sampling/utility.py", data=None)
    assert ran.returncode == 1
    assert ran.stderr.strip() == "Set PHALANX_DATA to the folder that holds adult.parquet."
