# SPDX-License-Identifier: Apache-2.0
"""Cuts that stay from release to release: every group has k rows, groups of those who stay are the
same, sensitive values have no part in it, and what cannot be is refused in one sentence.
"""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import MethodError, PlanError
from phalanx.methods.base import Draft, Memory
from phalanx.methods.mondrian.cut_tree import Cut, parts, rebuilt
from phalanx.methods.mondrian.method import Mondrian
from phalanx.randomness import Randomness
from phalanx.series.series import Series

METHOD = Mondrian(k=4, keep_cuts=True)
QUASI = ("age", "sex", "town", "day")


def people(n: int, seed: int = 1, towns: str = "abcdefg") -> pl.DataFrame:
    """Persons of several kinds of attributes, ages with ties."""
    rng = np.random.default_rng(seed)
    days = [dt.date(2026, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 40, n)]
    return pl.DataFrame(
        {
            "age": rng.integers(18, 60, n) / 2,
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(list(towns), n),
            "day": days,
            "illness": rng.choice(["flu", "cold", "gout"], n),
        }
    )


def schema(**more: Any) -> Schema:
    return Schema(quasi=QUASI, sensitive="illness", **more)


def published(
    table: pl.DataFrame, memory: Memory, method: Mondrian = METHOD
) -> tuple[Draft, Memory]:
    draft = method.publish(Microdata.encode(table, schema()), memory, Randomness.seeded(2))
    return draft, memory.after(draft, None)


def together(draft: Draft, rows: range) -> set[frozenset[int]]:
    """Which of these rows stand in one group."""
    groups: dict[int, list[int]] = {}
    for row in rows:
        groups.setdefault(int(draft.groups[row]), []).append(row)
    return {frozenset(group) for group in groups.values()}


def test_the_first_release_is_cut_as_without() -> None:
    """Kept cuts begin as strict cuts do."""
    table = people(500)
    first, _ = published(table, Memory())
    plain, _ = published(table, Memory(), Mondrian(k=4))
    assert together(first, range(500)) == together(plain, range(500))


def test_who_stays_keeps_the_group() -> None:
    """A table that did not change has the groups that it had, and one row more changes one group,
    or parts it; cut anew, many groups are others.
    """
    table, more = people(500), people(1, seed=3)
    first, memory = published(table, Memory())
    again, _ = published(table, memory)
    assert together(first, range(500)) == together(again, range(500))
    grown, _ = published(pl.concat([table, more]), memory)
    groups = together(first, range(500)) - together(grown, range(500))
    assert len(groups) <= 1
    anew, _ = published(pl.concat([table, more])[::-1].head(480)[::-1], Memory())
    assert len(together(first, range(21, 500)) - together(anew, range(480))) > 1


@pytest.mark.parametrize("seed", range(8))
def test_every_group_has_k_rows_whatever_comes_and_goes(seed: int) -> None:
    """Over releases with other values, other sizes, and none of the persons of before."""
    rng, memory = np.random.default_rng(seed), Memory()
    for release in range(5):
        towns = "".join(rng.choice(list("abcdefghijk"), 5, replace=False))
        table = people(int(rng.integers(4, 300)), seed=100 * seed + release, towns=towns)
        draft, memory = published(table, memory)
        sizes = np.unique(draft.groups, return_counts=True)[1]
        assert sizes.min() >= 4
        assert draft.form.rows == table.height
        again, _ = published(table, memory)
        assert together(draft, range(table.height)) == together(again, range(table.height))


def test_kept_groups_lie_in_boxes_that_do_not_overlap() -> None:
    """What was rebuilt from the groups are strict cuts: no row fits into another group's box."""
    table, memory = people(200), Memory()
    for release in range(3):
        draft, memory = published(table, memory)
        codes = np.stack([c.codes for c in Microdata.encode(table, schema()).quasi], axis=1)
        for group in np.unique(draft.groups):
            own = codes[draft.groups == group]
            inside = ((codes >= own.min(axis=0)) & (codes <= own.max(axis=0))).all(axis=1)
            assert set(draft.groups[inside]) == {group}
        table = pl.concat([table[20:], people(30, seed=release + 10)])


def test_sensitive_values_have_no_part_in_it() -> None:
    """Groups and what is remembered are the same whatever the sensitive values are."""
    first, other = people(200), people(220, seed=2)
    found = []
    for illness in ("illness", pl.lit("flu").alias("illness")):
        memory = Memory()
        for table in (first, other):
            draft, memory = published(table.with_columns(illness), memory)
        found.append((together(draft, range(220)), memory.state))
    assert found[0][0] == found[1][0]
    assert all(table.equals(found[1][1][name]) for name, table in found[0][1].items())
    assert "illness" not in str([table.to_dict() for table in memory.state.values()])


def test_a_cut_that_leaves_too_few_is_not_kept() -> None:
    """The broken twin: keeping it all the same would leave a group of less than k."""
    codes = np.array([[0, 0, 0, 1, 1, 1, 1, 1]], dtype=np.int32)
    cuts = [Cut(0, 0), Cut(-1, 0), Cut(-1, 0)]
    assert [len(rows) for _, rows in parts(cuts, codes, 3)] == [0, 3, 5]
    assert [len(rows) for _, rows in parts(cuts, codes, 4)] == [8]


def test_cuts_are_rebuilt_from_groups() -> None:
    """Four groups on two attributes, in the order in which cuts leave them."""
    low = np.array([[0, 0], [0, 3], [2, 0], [4, 0]])
    high = np.array([[1, 2], [1, 5], [3, 5], [5, 5]])
    none = Cut(-1, 0)
    assert list(rebuilt(low, high)) == [Cut(0, 1), Cut(1, 2), none, none, Cut(0, 3), none, none]


@pytest.mark.parametrize(
    "parameters",
    [{"l": 2}, {"t": 0.5}, {"cuts": "relaxed"}, {"cuts": "balanced"}],
    ids=str,
)
def test_more_than_k_is_refused(parameters: dict[str, Any]) -> None:
    """Where cuts could depend on sensitive values, or rows that are equal are parted."""
    with pytest.raises(PlanError, match="keep_cuts"):
        Mondrian(k=4, keep_cuts=True, **parameters)
    with pytest.raises(PlanError, match="true or false"):
        Mondrian(k=4, keep_cuts="yes")  # type: ignore[arg-type]


def test_tables_that_are_grouped_in_parts_are_refused() -> None:
    """Values that are not applicable, and fewer rows than k."""
    microdata = Microdata.encode(people(30), schema(not_applicable=("gout",)))
    with pytest.raises(PlanError, match="not applicable"):
        METHOD.publish(microdata, Memory(), Randomness.seeded(1))
    with pytest.raises(MethodError):
        published(people(3), Memory())


def test_a_series_keeps_them_in_its_ledger(tmp_path: Path) -> None:
    """From release to release: all boxes of a table that did not change are those of before; and
    the manifest says that cuts are kept.
    """
    series = Series("s", schema(), METHOD, to=tmp_path / "out", report=False)
    for more in (0, 60):
        table = pl.concat([people(300), people(more, seed=4)])
        first, second = series.publish(table), series.publish(table)
        assert (
            first.form.table.drop("group", "illness")
            .sort(pl.all())
            .equals(second.form.table.drop("group", "illness").sort(pl.all()))
        )
    assert second.manifest.method["keep_cuts"] is True
    assert "keep_cuts" not in Mondrian(k=4).parameters()
