# SPDX-License-Identifier: Apache-2.0
"""Rows in an order that chance does not give are refused, in every form; honest releases, however
small, hold.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from phalanx.guarantees.consistency.order import FALSE_ALARM, order_faults
from phalanx.release.folder import Release
from phalanx.release.form import Form
from phalanx.release.forms.perturbed import Perturbed
from support.tampering_cases import METHODS, issue, people, refusal, written

FORMS = ("generalized", "bucketized", "sliced", "perturbed")


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """So many people that an order stands out in each: what is learned from every other group, and
    asked about in the rest, failed to in one run of six with 600.
    """
    return {
        name: issue(tmp_path_factory.mktemp(name), METHODS[name], [people(2000)])[0]
        for name in FORMS
    }


@pytest.fixture
def copy(issued: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    return lambda name: Path(shutil.copytree(issued[name], tmp_path / name))


def with_table(form: Form, table: pl.DataFrame) -> Form:
    return replace(form, given=(table,)) if form.kind == "sliced" else replace(form, table=table)  # type: ignore[type-var,call-arg]


def by_value(form: Form) -> Form:
    """Rows by what they say, within their groups where there are any."""
    return with_table(
        form, form.table.sort(form.table.columns if form.id_column else form.table.columns[::-1])
    )


def falling(form: Form) -> Form:
    names = form.table.columns
    return with_table(form, form.table.sort(names, descending=[c != form.id_column for c in names]))


def by_a_private_order(form: Form) -> Form:
    """Rows by one column, whose values stand in an order that only the publisher knows."""
    name = next(c for c in reversed(form.table.columns) if form.table[c].dtype == pl.String)
    keys = [*([pl.col(form.id_column)] if form.id_column else []), pl.col(name).hash(seed=7)]
    return with_table(form, form.table.sort(keys))


def groups_by_value(form: Form) -> Form:
    """Groups that are numbered by their first values."""
    table, group = form.table, form.id_column
    first = (
        table.group_by(group)
        .agg(pl.col(table.columns[1]).min().alias("key"))
        .sort("key")
        .with_row_index("new", offset=1)
    )
    mapping = dict(zip(first[group], first["new"].cast(pl.Int64), strict=True))
    renamed = {
        n: t.with_columns(pl.col(group).replace_strict(mapping)).sort(group, maintain_order=True)
        for n, t in form.tables().items()
    }
    if form.kind == "bucketized":
        return replace(form, table=renamed["data"], values=renamed["sensitive"])  # type: ignore[type-var,call-arg]
    return with_table(form, renamed["data"])


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("change", [by_value, falling, by_a_private_order, groups_by_value])
def test_an_order_that_tells(
    copy: Callable[[str], Path], name: str, change: Callable[[Form], Form]
) -> None:
    """Both formats in the same order by value, with counts and digests that fit, are refused by a
    sentence about the order.
    """
    if name == "perturbed" and change is groups_by_value:
        change = by_value  # there are no groups
    folder = copy(name)
    assert refusal([folder]) == ""
    written(folder, change)
    said = refusal([folder])
    assert (
        "pairs stand in one direction, which chance does less than once in 1,000,000,000 releases"
        in said
    )
    assert ("groups are numbered" in said) is (change is groups_by_value and name != "perturbed")


def test_rows_that_are_not_by_group(copy: Callable[[str], Path]) -> None:
    """Groups whose rows stand apart have no order that could be asked about."""
    folder = copy("generalized")
    written(
        folder, lambda form: with_table(form, form.table.sample(fraction=1, shuffle=True, seed=1))
    )
    assert "the rows are not in the order of their groups" in refusal([folder])


def test_counts_in_another_order(copy: Callable[[str], Path]) -> None:
    """Tables of counts stand in the order of what they say, and in no other."""
    folder = copy("bucketized")
    written(
        folder,
        lambda form: replace(
            form, values=form.values.sort("bucket", "ill", descending=[False, True])
        ),
    )  # type: ignore[type-var,call-arg]
    assert "the counts of sensitive values are not in the order of what they say" in refusal(
        [folder]
    )


def test_the_order_of_the_original(copy: Callable[[str], Path]) -> None:
    """An order that follows the original table alone shows beside it."""
    form = Release.read(copy("perturbed")).form
    shuffled = np.random.default_rng(1).permutation(form.rows)
    assert order_faults(form, shuffled + 1) == []
    assert (
        "the order is that of the original table"
        in order_faults(form, np.arange(1, form.rows + 1))[0]
    )


@pytest.mark.parametrize("rows", [0, 1, 2, 5, 20])
def test_small_tables_are_not_refused(rows: int) -> None:
    """A table so small that chance may give any order has one."""
    attributes = Perturbed(pl.DataFrame({"x": range(rows)}), ()).attributes
    assert order_faults(Perturbed(pl.DataFrame({"x": range(rows)}), attributes)) == []


def test_honest_orders_are_not_refused() -> None:
    """Of two thousand tables in random order none is refused, while each of them is when it is
    sorted; the stated rate is a billionth.
    """
    rng = np.random.default_rng(5)
    assert FALSE_ALARM == 1e-9
    for _ in range(2000):
        n, values = int(rng.integers(150, 400)), int(rng.integers(2, 50))
        table = pl.DataFrame({"x": rng.integers(0, values, n), "y": rng.integers(0, 5, n)})
        assert order_faults(Perturbed(table, ())) == []
        assert order_faults(Perturbed(table.sort("x"), ()))
