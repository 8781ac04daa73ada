# SPDX-License-Identifier: Apache-2.0
"""Tables, releases by every method, conditions over them, and the truth by plain Python: what the
tests of answers need.
"""

import datetime as dt
from typing import Any

import numpy as np
import polars as pl

import phalanx as px
from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.estimators.conditions import All, Comparison, Condition, Either, Query, negate
from phalanx.release import folder

JOBS = Tree.of_mapping({"office": ["judge", "clerk"], "outside": ["farmer", "sailor"]})
GRIDS = {
    "age": {"low": 25, "high": 55, "width": 10},
    "pay": {"low": 1.0, "high": 3.0, "width": 2.0},
    "since": {"low": dt.date(2001, 1, 1), "high": dt.date(2006, 1, 1), "width": 4000},
    "job": 1,
}


def people(n: int = 240, seed: int = 1, *, missing: bool = True) -> pl.DataFrame:
    """Persons with a whole number, a number, a leaf, a text, a day, some of them missing, and an
    illness that goes with age.
    """
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 61, n)
    ill = np.where(
        age + rng.normal(0, 15, n) > 45,
        rng.choice(["gout", "rash"], n),
        rng.choice(["cold", "flu"], n),
    )
    lost = rng.random((5, n)) < (0.05 if missing else 0)

    def but(values: Any, i: int) -> list[Any]:
        return [None if gone else value for value, gone in zip(values, lost[i], strict=True)]

    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(n)],
            "age": but(age.tolist(), 0),
            "pay": but(np.round(rng.gamma(4, 0.5, n), 2).tolist(), 1),
            "job": but(
                rng.choice(
                    ["judge", "clerk", "farmer", "sailor"], n, p=[0.4, 0.3, 0.2, 0.1]
                ).tolist(),
                2,
            ),
            "sex": but(rng.choice(["f", "m"], n).tolist(), 3),
            "since": but(
                [dt.date(2000, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 3000, n)],
                4,
            ),
            "ill": ill.tolist(),
        }
    )


def schema(**changes: Any) -> px.Schema:
    roles = {
        "identifier": "who",
        "quasi": ["age", "pay", "job", "sex", "since"],
        "sensitive": "ill",
        "missing": "value",
        "hierarchies": {"job": JOBS},
    }
    return px.Schema(**(roles | changes))


METHODS = {
    "mondrian": px.Mondrian(k=4),
    "diverse": px.Mondrian(k=3, l=2),
    "widened": px.Mondrian(k=4, min_width={"age": 10, "pay": 0.5, "job": 2}),
    "anatomy": px.Anatomy(l=2),
    "slicing": px.Slicing(l=2, columns=[["age", "job"], ["pay", "since"], ["sex", "ill"]]),
    "overlapping": px.Slicing(
        l=2, columns=[["age", "job"], ["age", "pay", "since"], ["sex", "ill"]], compact=True
    ),
    "coarse": px.Slicing(
        l=2, columns=[["age", "job"], ["pay", "since"], ["sex", "ill"]], generalize_columns_k=6
    ),
    "mutual-cover": px.MutualCover(delta="1/4"),
    "m-invariance": px.MInvariance(m=3, not_eligible="suppress"),
    "global-guarantee": px.GlobalGuarantee(l=2),
    "safe-sampling": px.SafeSampling(
        epsilon=4, delta="7/10", k=2, beta="3/4", scheme=GRIDS, allow_empty=True
    ),
}


def published(
    method: Any, table: pl.DataFrame, to: Any, of: px.Schema | None = None
) -> folder.Release:
    """A release of the table, read back from its folder."""
    of = of or schema()
    if method.needs_persons:
        return folder.Release.read(
            px.Series("s", of, method, to=to / "out", report=False).publish(table).path
        )
    return folder.Release.read(px.publish(table, of, method).save(to / "out").path)


def holds(condition: Condition, row: dict[str, Any]) -> bool | None:
    """Whether a condition is true of a row, in SQL's three values, written as one would explain
    it.
    """
    if isinstance(condition, All):
        found = [holds(part, row) for part in condition.parts]
        return False if False in found else None if None in found else True
    if isinstance(condition, Either):
        found = [holds(part, row) for part in condition.parts]
        return True if True in found else None if None in found else False
    value = row[condition.attribute]
    if condition.kind == "missing":
        return (value is None) != condition.negated
    if value is None:
        return None
    first = condition.values[0] if condition.values else None
    true = {
        "in": lambda: (
            value in condition.values
            or (
                condition.attribute == "job"
                and any(
                    v in {"judge": "office", "clerk": "office"}.get(value, "outside")
                    for v in condition.values
                )
            )
        ),
        "below": lambda: value < first,
        "upto": lambda: value <= first,
        "prefix": lambda: value.startswith(first),
    }[condition.kind]()
    return true != condition.negated


def answer(query: Query, table: pl.DataFrame) -> float | None:
    """The truth about a table."""
    rows = [row for row in table.iter_rows(named=True) if holds(query.where, row)]
    if query.aggregate == "count":
        return float(len(rows))
    values = [row[str(query.of)] for row in rows if row[str(query.of)] is not None]
    if query.aggregate == "sum":
        return float(sum(values))
    return float(sum(values) / len(values)) if values else None


def some_test(rng: np.random.Generator, table: pl.DataFrame) -> Condition:
    """A test of one attribute, drawn with constants that are values of it, or stand between
    them.
    """
    name = str(rng.choice(["age", "pay", "job", "sex", "since", "ill"]))
    values = table[name].drop_nulls().to_list()

    def one() -> Any:
        return values[int(rng.integers(len(values)))]

    kinds = (
        ["in", "missing", "between"]
        + (["below", "upto"] if name != "job" else [])
        + (["prefix"] if name in ("sex", "ill") else [])
    )
    kind = str(rng.choice(kinds))
    negated = bool(rng.random() < 0.3)
    if kind == "missing":
        return Comparison(name, "missing", negated=negated)
    if kind == "between" and name != "job":
        low, high = sorted([one(), one()])
        return All(
            (Comparison(name, "below", (low,), negated=True), Comparison(name, "upto", (high,)))
        )
    if kind in ("below", "upto"):
        constant = one() + 0.5 if name == "age" and rng.random() < 0.3 else one()
        return Comparison(name, kind, (constant,), negated)  # type: ignore[arg-type]
    if kind == "prefix":
        return Comparison(name, "prefix", (one()[:1],), negated)
    if name == "job" and rng.random() < 0.3:
        return Comparison("job", "in", ("office",), negated)
    return Comparison(name, "in", tuple(one() for _ in range(int(rng.integers(1, 4)))), negated)


def some_condition(rng: np.random.Generator, table: pl.DataFrame, depth: int = 2) -> Condition:
    """A condition of a few tests, joined in any way."""
    if depth == 0 or rng.random() < 0.3:
        return some_test(rng, table)
    kind = All if rng.random() < 0.65 else Either
    joined = kind(
        tuple(some_condition(rng, table, depth - 1) for _ in range(int(rng.integers(1, 4))))
    )
    return negate(joined) if rng.random() < 0.15 else joined
