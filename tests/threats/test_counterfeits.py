# SPDX-License-Identifier: Apache-2.0
"""Threat 10 and 11: within its group nothing tells a counterfeit from a person: not its place, its
kept values, its formatting.
"""

import math
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.methods.base import Draft, Memory
from phalanx.methods.m_invariance import method as m_invariance
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.randomness import Randomness
from phalanx.release.folder import Release, write_folder
from phalanx.release.forms import generalized

SURE = 5.2
"""So many standard errors off half is a false alarm once in ten million."""
SERIES = 44
SCHEMA = Schema(
    identifier="who",
    quasi=["age", "born"],
    sensitive="score",
    keep=["ward", "weight"],
    missing="value",
    types={"born": "date"},
)
KEY = PersonKey(bytes(32))


def people(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Kept values that depend on the sensitive one, as real ones do; scores of several lengths when
    written.
    """
    kind = rng.integers(0, 6, n)
    score = np.array([0.5, 12.25, 100.0, 1e-3, 7.0, 33.3])[kind]
    days = rng.integers(0, 9000, n)
    return pl.DataFrame({
        "who": rng.permutation(n),
        "age": rng.integers(18, 90, n),
        "born": [str(date(1990, 1, 1) + timedelta(days=int(d))) for d in days],
        "score": score,
        "ward": [None if w == 5 else f"ward {w}" for w in (kind + rng.integers(0, 3, n)) % 6],
        "weight": np.round(50 + 5 * kind + rng.normal(0, 10, n), 1),
    })  # fmt: skip


def shrinking(rng: np.random.Generator) -> tuple[Draft, Draft]:
    """A first release, and a second one from which a third of the people are gone, so that
    counterfeits take their places.
    """
    first = people(rng, 60)
    method = MInvariance(m=3, not_eligible="suppress")
    microdata = Microdata.encode(first, SCHEMA, KEY)
    made = method.publish(microdata, Memory(), Randomness.secure())
    gone = (first["score"] == first["score"].unique().sort()[int(rng.integers(6))]) | (
        pl.Series(rng.random(60)) < 0.2
    )
    memory = Memory().after(made, made.mapping(microdata))
    return made, method.publish(
        Microdata.encode(first.filter(~gone), SCHEMA, KEY), memory, Randomness.secure()
    )


class Overheard:
    """A stream that lets its permutations be seen."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.drawn = stream, list[Any]()

    def permutation(self, n: int) -> Any:
        self.drawn.append(self.stream.permutation(n))
        return self.drawn[-1]


def borrowed(table: pl.DataFrame, microdata: Microdata, source: Any) -> pl.DataFrame:
    """Kept values of everybody; a counterfeit's are those of the first row with its sensitive
    value.
    """
    score, first = table["score"].to_list(), {}
    for row, value in zip(source.tolist(), score, strict=True):
        if row >= 0:
            first.setdefault(value, row)
    donors = [
        row if row >= 0 else first.get(value, int(source.max()))
        for row, value in zip(source.tolist(), score, strict=True)
    ]
    return table.with_columns(
        microdata.kept[name].gather(donors).alias(name) for name in ("ward", "weight")
    )


def marked(
    patch: pytest.MonkeyPatch, *, last: bool = False, blank: bool = False, borrow: bool = False
) -> None:
    """Let drafts say which rows are counterfeits; with ``last``, ``blank`` or ``borrow`` they are
    those of a broken twin that gives them away.

    ``generalize`` publishes tuples in an order that it draws, and that is where they are overheard.
    With ``borrow`` every group shows its kept values, and a counterfeit those of a real row with
    its sensitive value.
    """
    real = generalized.generalize

    def generalize(microdata: Any, source: Any, groups: Any, stream: Any, **more: Any) -> Any:
        overheard = Overheard(stream)
        form, ids = real(microdata, source, groups, overheard, **more)
        order = overheard.drawn[0]
        order = order[generalized.by_group(ids[groups[order]])]
        table = form.table.with_columns(counterfeit=pl.Series(source[order] < 0))
        if borrow:
            table = borrowed(table, microdata, source[order])
        if last:
            table = table.sort("group", "counterfeit", maintain_order=True)
        if blank:
            table = table.with_columns(weight=pl.when("counterfeit").then(0.0).otherwise("weight"))
        return generalized.Generalized(table, form.attributes, form.counterfeits), ids

    patch.setattr(m_invariance, "generalize", generalize)


def groups_with_counterfeits(tables: list[pl.DataFrame]) -> list[pl.DataFrame]:
    return [
        rows
        for table in tables
        for _, rows in table.group_by("group", maintain_order=True)
        if 0 < rows["counterfeit"].sum() < rows.height
    ]


def auc(groups: list[pl.DataFrame], feature: Any) -> tuple[float, float]:
    """How often a counterfeit's feature is above a real tuple's of its group (ties count half), and
    how many standard errors that is off half.
    """
    wins, pairs = [], []
    for rows in groups:
        x, y = np.asarray(feature(rows), dtype=float), rows["counterfeit"].to_numpy()
        above = np.sign(x[y][:, None] - x[~y][None, :])
        wins.append(above.sum())
        pairs.append(above.size)
    scores = np.array(wins)
    error = (
        math.sqrt(float((scores**2).sum())) or 1.0
    )  # under no difference every group's score has mean 0
    return 0.5 + float(scores.sum() / sum(pairs)) / 2, float(scores.sum()) / error


def digits(column: str) -> Any:
    return lambda rows: [
        len(line.split(",")[rows.columns.index(column)])
        for line in rows.write_csv().splitlines()[1:]
    ]


def missing(column: str) -> Any:
    return lambda rows: rows[column].is_null()


FEATURES: dict[str, Any] = {
    "place": lambda rows: np.arange(rows.height),
    "first": lambda rows: np.arange(rows.height) == 0,
    "last": lambda rows: np.arange(rows.height) == rows.height - 1,
    "repeated": lambda rows: rows["repeated"],
    "missing ward": missing("ward"),
    "missing weight": missing("weight"),
    "digits of weight": digits("weight"),
    "length of the line": lambda rows: [
        len(line)
        for line in rows.drop("counterfeit", "score", "repeated").write_csv().splitlines()[1:]
    ],
}


def made(**twin: bool) -> list[pl.DataFrame]:
    """Second releases; ``repeated`` says whether another row of the release has the same kept and
    sensitive values.
    """
    rng = np.random.default_rng(11)
    with pytest.MonkeyPatch.context() as patch:
        marked(patch, **twin)
        tables = [shrinking(rng)[1].form.table for _ in range(SERIES)]
    return [
        t.with_columns(repeated=pl.struct("score", "ward", "weight").is_duplicated())
        for t in tables
    ]


@pytest.fixture(scope="module")
def tables() -> list[pl.DataFrame]:
    return made()


def logistic(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The weights of a logistic regression, by Newton's method with a little ridge."""
    weights = np.zeros(x.shape[1])
    for _ in range(12):
        p = 1 / (1 + np.exp(-x @ weights))
        weights += np.linalg.solve(
            (x.T * (p * (1 - p))) @ x + 1e-2 * np.eye(x.shape[1]), x.T @ (y - p) - 1e-2 * weights
        )
    return weights


def features(rows: pl.DataFrame) -> np.ndarray[Any, Any]:
    """What a classifier sees: place, formatting, missing values; the kept values against what is
    usual for their sensitive value; centred in the group.
    """
    columns = [np.asarray(f(rows), dtype=float) for f in FEATURES.values()]
    columns.append(rows["residual"].abs().to_numpy())
    columns.append(rows["residual"].to_numpy())
    x = np.stack(columns, axis=1)
    return x - x.mean(axis=0)


def with_residuals(tables: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """The weight against its mean among all who have the same score: what a learner makes of the
    correlation of kept and sensitive values.
    """
    return [
        t.with_columns(
            residual=(pl.col("weight") - pl.col("weight").mean().over("score")).fill_null(0.0)
        )
        for t in tables
    ]


def classified(tables: list[pl.DataFrame]) -> tuple[float, float]:
    """A classifier trained on half of the series and asked about the other half."""
    half = len(tables) // 2
    train, test = (
        groups_with_counterfeits(with_residuals(part)) for part in (tables[:half], tables[half:])
    )
    weights = logistic(
        np.concatenate([features(g) for g in train]),
        np.concatenate([g["counterfeit"].to_numpy() for g in train]).astype(float),
    )
    return auc(test, lambda rows: features(rows) @ weights)


def test_there_is_something_to_tell(tables: list[pl.DataFrame]) -> None:
    """The tests below look at enough counterfeits, in groups with real tuples, and their counts are
    those published.
    """
    groups = groups_with_counterfeits(tables)
    assert len(groups) > 100
    assert all(rows["score"].n_unique() == rows.height for rows in groups)


@pytest.mark.parametrize("feature", FEATURES)
def test_no_column_tells_them(tables: list[pl.DataFrame], feature: str) -> None:
    """Within a group: place, missing values, digits and length of the written line are those of
    real tuples.
    """
    _, off = auc(groups_with_counterfeits(tables), FEATURES[feature])
    assert abs(off) < SURE


def test_no_classifier_tells_them(tables: list[pl.DataFrame]) -> None:
    """A classifier over all of these together, and over how kept and sensitive values go together,
    does no better than chance.
    """
    share, off = classified(tables)
    assert abs(off) < SURE
    assert 0.3 < share < 0.7


@pytest.mark.parametrize("broken", ["last", "blank", "borrow"])
def test_broken_twins_are_told(broken: str) -> None:
    """The same classifier finds counterfeits that stand last in their group, and those whose kept
    values are filled in, or borrowed.
    """
    share, off = classified(made(**{broken: True}))
    assert off > SURE
    assert share > 0.7


def test_the_types_and_the_written_form(tmp_path: Path) -> None:
    """A release with counterfeits has the columns and types of one without; the counts stand in
    their own file and nowhere else.
    """
    without, with_some = shrinking(np.random.default_rng(3))
    assert without.form.counterfeit_rows == 0
    assert with_some.form.counterfeit_rows > 0
    assert without.form.table.schema == with_some.form.table.schema
    said: dict[str, Any] = {
        "series": "s",
        "number": 1,
        "method": {"name": "m-invariance"},
        "guarantees": [{"name": "m-invariance", "m": 3}],
        "boxes": "tight",
    }
    (tmp_path / "r").mkdir()
    write_folder(tmp_path / "r", with_some.form, ("parquet", "csv"), **said)
    assert Release.read(tmp_path / "r").form.counterfeits.equals(with_some.form.counterfeits)
    lines = (tmp_path / "r" / "data.csv").read_text(encoding="utf-8").splitlines()
    scores = {line.split(",")[5] for line in lines[1:]}
    assert scores <= {"0.5", "12.25", "100.0", "0.001", "7.0", "33.3"}
    assert with_some.form.counterfeits["group"].is_sorted()
