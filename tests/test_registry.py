# SPDX-License-Identifier: Apache-2.0
"""A registry on the way of the data: registered persons without a row are members of groups,
counted, mapped and checked like everybody.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx import Ledger, MInvariance, Mondrian, Release, Schema, Series, verify
from phalanx.data.microdata import Microdata
from phalanx.errors import GuaranteeError, PhalanxError, ReleaseError, SchemaError, SourceError
from phalanx.methods.base import Draft, Memory
from phalanx.randomness import Randomness
from support.one_group import SCHEMA, OneGroup, registry, rows
from support.tampering_cases import written


def series_in(to: Path, method: Any = None, **said: Any) -> Series:
    return Series(
        "s",
        **{
            "schema": SCHEMA,
            "method": method or OneGroup(),
            "to": to / "out",
            "ledger": f"sqlite:///{to}/l.db",
            "report": False,
        }
        | said,
    )


def mapping_of(to: Path, number: int = 1) -> pl.DataFrame:
    with Ledger.open(f"sqlite:///{to}/l.db") as ledger:
        found = ledger.groups("s", number)
    assert found is not None
    return found


def test_registered_persons_are_in_groups(tmp_path: Path) -> None:
    """Those who have no row are counted by group, widen the boxes, and are in the private mapping;
    the table has no row more.
    """
    made = series_in(tmp_path, OneGroup(groups=3)).publish(rows(), registry=registry())
    table, counts = made.table, pl.read_parquet(made.path / "registered.parquet")
    assert (made.rows, made.registered, table.height) == (12, 6, 12)
    assert counts["count"].sum() == made.manifest.registered == 6
    assert table["age_high"].unique().sort().to_list() == [55, 56, 57]
    assert set(table["zip_low"]) == {"399"}
    hosted = mapping_of(tmp_path).group_by("group").len().sort("group")
    real = table.group_by("group").len().sort("group")
    assert (
        hosted.join(counts, on="group")
        .select((pl.col("len") - pl.col("count")).alias("len"))
        .equals(real.select(pl.col("len")))
    )
    assert any(
        "6 registered person(s) are counted and lie in the box" in v.note for v in made.checks
    )


def test_without_a_registry_nothing_is_said_of_one(tmp_path: Path) -> None:
    """No file, no word in the manifest, nobody more in the mapping."""
    made = series_in(tmp_path).publish(rows())
    assert made.registered == 0
    assert {p.name for p in made.path.iterdir()} == {"data.parquet", "release.json"}
    assert b"registered" not in (made.path / "release.json").read_bytes()
    assert mapping_of(tmp_path).height == 12


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "pyarrow"])
def test_a_registry_of_any_kind(tmp_path: Path, kind: str) -> None:
    """A registry is any kind of frame, whatever its other columns hold; the table that comes out is
    of the kind of the rows.
    """
    beside = registry().with_columns(tags=pl.Series([[1.5]] * 13), raw=pl.lit(b"x"))
    given: Any = {
        "polars": beside,
        "lazy": beside.lazy(),
        "pandas": beside.to_pandas(),
        "pyarrow": beside.to_arrow(),
    }[kind]
    made = series_in(tmp_path).publish(rows(), registry=given)
    assert made.registered == 4
    assert isinstance(made.table, pl.DataFrame)
    assert b"MARKER" not in b"".join(p.read_bytes() for p in made.path.iterdir())


def test_suppressed_values_are_told(tmp_path: Path) -> None:
    """By reason, in what publish returns, in its JSON and in the ledger."""
    made = series_in(tmp_path, OneGroup(without=2)).publish(rows())
    assert made.suppressed_values == made.to_json()["suppressed_values"] == {"too rare": 2}
    assert made.table["ill"].null_count() == 2
    with Ledger.open(f"sqlite:///{tmp_path}/l.db") as ledger:
        assert ledger.releases("s")[0].summary["suppressed_values"] == {"too rare": 2}
        assert ledger.releases("s")[0].summary["suppressed_rows"] == {}
    assert json.loads(json.dumps(made.to_json()))["registered"] == 0


def test_the_next_release_knows_who_was_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mapping that a method remembers holds registered persons too; whoever gets a row is
    registered no more.
    """
    seen: list[Memory] = []
    real = OneGroup.publish

    def overheard(self: OneGroup, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        seen.append(memory)
        return real(self, microdata, memory, rng)

    monkeypatch.setattr(OneGroup, "publish", overheard)
    series = series_in(tmp_path)
    series.publish(rows(), registry=registry())
    arrived = pl.concat([rows(), registry().tail(2).select("who", "age", "zip", ill=pl.lit("a"))])
    made = series.publish(arrived, registry=registry())
    assert made.registered == 3
    assert seen[1].groups is not None
    assert seen[1].groups.height == 16
    assert mapping_of(tmp_path, 2)["person"].n_unique() == mapping_of(tmp_path, 2).height == 17


def spoiled(kind: str, draft: Draft) -> Draft:
    """What a method with a fault might say about registered persons."""
    form, counts, members = draft.form, draft.form.registered, draft.groups[:12]
    registered = draft.groups[len(members) :]
    assert counts is not None
    if kind == "a box without them":
        table = form.table.with_columns(age_high=pl.lit(31, dtype=pl.Int64))
        return replace(draft, form=replace(form, table=table))
    if kind == "a count too many":
        return replace(
            draft, form=replace(form, registered=counts.with_columns(pl.col("count") + 1))
        )
    if kind == "no counts":
        return replace(draft, form=replace(form, registered=None))
    if kind == "a group that is nowhere":
        return replace(draft, groups=np.append(members, np.where(registered > 0, 9, 0)))
    if kind == "nobody named":
        return replace(draft, groups=np.append(members, np.zeros_like(registered)))
    return replace(
        draft, form=replace(form, registered=counts.with_columns(group=pl.lit(9, dtype=pl.Int64)))
    )


WRONG = {
    "a box without them": (
        "4 registered person(s) lie outside the box of their group, and 0 group(s) count another"
        " number"
    ),
    "a count too many": (
        "0 registered person(s) lie outside the box of their group, and 1 group(s) count another"
        " number"
    ),
    "no counts": "1 group(s) count another number of them",
    "a group that is nowhere": "4 registered person(s) lie outside the box",
    "nobody named": "1 group(s) count another number of them",
    "a count for a group that is nowhere": (
        "1 registered count(s) name a group that is not in the data"
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_broken_method_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Registered persons outside of their box, or counted wrongly: the check of the files refuses,
    and nothing is published or remembered.
    """
    real = OneGroup.publish
    monkeypatch.setattr(OneGroup, "publish", lambda self, *given: spoiled(kind, real(self, *given)))
    with pytest.raises(GuaranteeError) as refused:
        series_in(tmp_path).publish(rows(), registry=registry())
    assert WRONG[kind] in str(refused.value)
    assert list((tmp_path / "out").iterdir()) == []
    with Ledger.open(f"sqlite:///{tmp_path}/l.db") as ledger:
        assert ledger.groups("s", 1) is None


REFUSED: dict[str, tuple[dict[str, Any], Any, type[PhalanxError], str]] = {
    "no identifier": (
        {"schema": Schema(quasi=["age", "zip"], sensitive="ill", drop=["who"])}, registry(), SchemaError, "a registry is matched with the table by person",
    ),
    "a method that takes none": ({"method": MInvariance(m=2)}, registry(), SchemaError, "a registry is of no use to m-invariance; leave it out"),
    "another one": ({"method": Mondrian(k=2)}, registry(), SchemaError, "a registry is of no use to mondrian; leave it out"),
    "no table": ({}, [1, 2], SourceError, "in the registry: list is not a table"),
    "a person twice": ({}, pl.concat([registry(), registry()]), SourceError, r"in the registry: 13 row\(s\) repeat a person"),
    "a column missing": ({}, registry().drop("zip"), SchemaError, "the quasi column 'zip' is not in the registry"),
}  # fmt: skip


@pytest.mark.parametrize(("said", "given", "error", "what"), REFUSED.values(), ids=REFUSED.keys())
def test_registries_that_are_refused(
    tmp_path: Path, said: dict[str, Any], given: Any, error: type[PhalanxError], what: str
) -> None:
    """One sentence, and nothing is published."""
    with pytest.raises(error, match=what):
        series_in(tmp_path, **said).publish(rows(), registry=given)
    assert not list((tmp_path / "out").glob("*"))


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return series_in(
        tmp_path_factory.mktemp("issued"), OneGroup(groups=2), formats=("parquet", "csv")
    ).publish(rows(), registry=registry())


def ledger_of(issued: Release) -> str:
    return f"sqlite:///{issued.path.parents[1]}/l.db"


def test_an_officer_with_table_and_ledger(issued: Release) -> None:
    """The original table need not hold registered persons; whom it lacks beyond them is missed, and
    so is a registered person who has a row there.
    """
    found = verify([issued.path], ledger=ledger_of(issued), originals=[rows()], identifier="who")
    assert found.holds, [v.note for v in found.checks if not v.holds]
    assert any("5 registered person(s) are counted" in v.note for v in found.checks)
    with pytest.raises(
        ReleaseError,
        match=r"lacks 6 of its 17 persons \(and not the 5 who are registered\); check --identifier",
    ):
        verify([issued.path], ledger=ledger_of(issued), originals=[rows(11)], identifier="who")
    more = pl.concat([rows(), registry().tail(8).select("who", "age", "zip", ill=pl.lit("a"))])
    with pytest.raises(
        ReleaseError, match=r"lacks 0 of its 17 persons \(and not the 5 who are registered\)"
    ):
        verify([issued.path], ledger=ledger_of(issued), originals=[more], identifier="who")


def test_an_officer_sees_counts_that_are_not_those_of_the_mapping(
    issued: Release, tmp_path: Path
) -> None:
    """Counts that were moved from group to group, in files that agree with each other, are seen by
    whoever has table and ledger.
    """
    moved = tmp_path / "s-1"
    shutil.copytree(issued.path, moved)
    assert pl.read_parquet(moved / "registered.parquet")["count"].n_unique() == 2
    written(
        moved,
        lambda form: replace(
            form, registered=form.registered.with_columns(pl.col("count").reverse())
        ),
    )
    found = verify([moved], ledger=ledger_of(issued), originals=[rows()], identifier="who")
    assert [
        "2 group(s) count another number of them" in v.note
        for v in found.checks
        if v.name == "release 1: truth"
    ] == [True]
    assert not found.holds
