# SPDX-License-Identifier: Apache-2.0
"""How often the truth is where an answer says: hard bounds, the model's interval, and the estimate
beside the uniform one of the papers.

    PHALANX_DATA=folder python experiments/answers/coverage.py [--queries 120] [--tables
    nist,adult,acs,rwm5yr] [--methods NAME,…] [--rows 20000]

Publishes tables of four kinds by every method, asks random counts, sums and means whose truth is at
least 1 row in 400, and prints for each release how many answers hold. `rwm5yr` needs no folder.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import phalanx as px
from phalanx.demo import panel
from phalanx.estimators.answering import answer
from phalanx.estimators.bounds import Bounds
from phalanx.estimators.conditions import All, Comparison, Query, comparisons
from phalanx.estimators.models import Model
from phalanx.estimators.reading import view_of
from phalanx.randomness import Randomness
from phalanx.utility.workloads import Rows, workload


def table_of(name: str, rows: int, seed: int) -> tuple[pl.DataFrame, list[str], str]:
    """A table with a column `who`, its quasi-identifiers and its sensitive attribute."""
    if name == "rwm5yr":
        quasi, sensitive = ["age", "female", "married", "kids", "hhninc"], "educ"
        table = panel().filter(pl.col("year") == 1984).rename({"id": "who"})
    else:
        folder = os.environ.get("PHALANX_DATA")
        if not folder:
            sys.exit(f"this experiment needs {name}: set PHALANX_DATA to the folder that holds it.")
        if name == "nist":
            quasi, sensitive = (
                ["AGEP", "SEX", "MSP", "RAC1P", "EDU", "OWN_RENT", "PUMA"],
                "PINCP_DECILE",
            )
            table = pl.read_csv(
                Path(folder) / "nist_ma2019.csv", infer_schema_length=None, null_values=["N"]
            )
        elif name == "adult":
            quasi, sensitive = (
                ["age", "sex", "education_num", "marital_status", "race", "hours_per_week"],
                "occupation",
            )
            table = pl.read_parquet(Path(folder) / "adult.parquet").filter("complete")
        else:
            quasi, sensitive = ["age", "sex", "education17", "birthplace57"], "occupation50"
            table = pl.read_parquet(Path(folder) / "acs2018_occsal.parquet")
        table = table.sample(min(rows, table.height), seed=6 + seed).with_row_index("who")
    return (
        table.select("who", *quasi, sensitive).with_columns(pl.col(pl.Categorical).cast(pl.String)),
        quasi,
        sensitive,
    )


def methods(quasi: list[str], sensitive: str, name: str) -> dict[str, object]:
    """The methods, each as it is likely to be used."""
    half = len(quasi) // 2
    apart = [quasi[:half], quasi[half:], [sensitive]]
    return {
        "mondrian k=6": px.Mondrian(k=6),
        "mondrian k=6 l=2": px.Mondrian(k=6, l=2),
        "mondrian k=25 l=2": px.Mondrian(k=25, l=2),
        "m-invariance m=2": px.MInvariance(m=2, regions=1),
        "anatomy l=2": px.Anatomy(l=2),
        "slicing l=2": px.Slicing(l=2, columns=apart),
        "slicing, random buckets": px.Slicing(
            l=2, columns=apart, grouping="random", bucket_size=20
        ),
        "mutual-cover 1/6": px.MutualCover(delta="1/6"),
        "mutual-cover 1/30": px.MutualCover(delta="1/30"),
        "global-guarantee l=2": px.GlobalGuarantee(l=2),
        "safe-sampling": px.SafeSampling(
            epsilon=2, delta="1e-3", scheme=scheme(name), allow_empty=True
        ),
    }


def scheme(name: str) -> dict[str, object]:
    """Grids for safe sampling."""
    ages = {"low": 0, "high": 100, "width": 10}
    return {
        "rwm5yr": {"age": ages, "female": {"low": 0, "high": 2, "width": 1}, "married": {"low": 0, "high": 2, "width": 1}, "kids": {"low": 0, "high": 2, "width": 1},
                   "hhninc": {"low": 0, "high": 30, "width": 30}, "educ": {"low": 0, "high": 20, "width": 5}},
        "nist": {"AGEP": ages, "SEX": {"low": 1, "high": 3, "width": 1}, "MSP": {"low": 0, "high": 7, "width": 7}, "RAC1P": {"low": 1, "high": 10, "width": 9},
                 "EDU": {"low": 0, "high": 14, "width": 14}, "OWN_RENT": {"low": 0, "high": 3, "width": 3}, "PUMA": 1, "PINCP_DECILE": {"low": 0, "high": 10, "width": 5}},
        "adult": {"age": ages, "education_num": {"low": 0, "high": 20, "width": 10}, "hours_per_week": {"low": 0, "high": 100, "width": 50}, "marital_status": 1, "race": 1},
        "acs": {"age": ages, "education17": 1, "birthplace57": 1},
    }[name]  # fmt: skip


def publish(table: pl.DataFrame, quasi: list[str], sensitive: str, method: object) -> px.Release:
    schema = px.Schema(identifier="who", quasi=quasi, sensitive=sensitive, missing="value")
    if not method.needs_persons:
        return px.publish(table, schema, method)
    with tempfile.TemporaryDirectory() as place:
        return px.Release.read(
            px.Series("s", schema, method, to=f"{place}/out", report=False).publish(table).path
        )


def numbers(table: pl.DataFrame, quasi: list[str]) -> list[str]:
    return [name for name in quasi if table[name].dtype.is_numeric() and table[name].n_unique() > 8]


def queries(
    table: pl.DataFrame, quasi: list[str], sensitive: str, times: int, seed: int
) -> list[tuple[Query, float]]:
    """Counts, and half as many sums and means, with the truth; a third of all without the sensitive
    value.
    """
    stream = Randomness.seeded(seed).stream("workload")
    rows = Rows(table)
    asked = workload(rows, quasi, sensitive, 2 * times // 3, stream) + workload(
        rows, quasi, None, times // 3, stream
    )
    found = [(query, float(truth)) for query, truth in asked]
    names = numbers(table, quasi)
    for i, (query, _) in enumerate(asked):
        of = names[i % len(names)]
        where = All((*query.where.parts, Comparison(of, "missing", negated=True)))
        values = table.filter(true(query.where))[of].drop_nulls()
        if len(values) and i % 2 == 0:
            found.append(
                (Query("sum", of, where), float(values.sum()))
                if i % 4 == 0
                else (Query("mean", of, where), float(values.mean()))
            )
    return found


def true(where: All) -> pl.Expr:
    of = {
        "in": lambda t: pl.col(t.attribute).is_in(list(t.values)),
        "below": lambda t: pl.col(t.attribute) >= t.values[0],
        "upto": lambda t: pl.col(t.attribute) <= t.values[0],
    }
    return pl.all_horizontal([of[t.kind](t).fill_null(value=False) for t in where.parts])


def uniform(release: px.Release, query: Query) -> tuple[float, float]:
    """The papers' estimate, values anywhere in a box alike, and its naive standard deviation."""
    view = view_of(release)
    bounds = Bounds(
        view,
        {t.attribute: view.regions(t.attribute, query.where) for t in comparisons(query.where)},
    )
    rows = Model(view, bounds, "uniform", ends=False).rows(query.where)
    low, high = bounds.rows(query.where)
    return float(rows.sum()) / view.share, float(
        np.sqrt(np.maximum(rows * (1 - rows / np.maximum(view.real, 1)), 0)[low < high].sum())
    )


def share(found: list[bool]) -> str:
    return f"{100 * np.mean(found):.1f}" if found else "none"


def line(release: px.Release, asked: list[tuple[Query, float]]) -> list[str]:
    """The figures of one release."""
    held: list[bool] = []
    intervals: dict[str, list[bool]] = {"count": [], "sum": [], "mean": []}
    errors, plain, bias, naive, widths = [], [], [], [], []
    for query, truth in asked:
        found = answer(release, query, "").figures[0]
        slack = (
            1e-9 * abs(truth) if query.aggregate != "count" else 0
        )  # the truth itself is a sum of floats
        for bound, sign in ((found.low, 1), (found.high, -1)):
            if bound is not None:
                held.append(sign * (truth - bound) >= -slack)
        if found.interval is not None:
            intervals[query.aggregate].append(
                found.interval[0] - slack <= truth <= found.interval[1] + slack
            )
        if query.aggregate == "count" and found.estimate is not None:
            errors.append(abs(found.estimate - truth) / truth)
            widths.append(
                0 if found.interval is None else (found.interval[1] - found.interval[0]) / 2 / truth
            )
            guess, deviation = uniform(release, query)
            plain.append(abs(guess - truth) / truth)
            bias.append((guess - truth) / truth)
            naive.append(abs(guess - truth) <= 1.96 * deviation + 0.5)
    half = f"{100 * np.median(widths):.0f}" if intervals["count"] else "none"
    figures = [
        f"{100 * np.median(plain):.1f}",
        f"{100 * np.mean(bias):+.0f}",
        share(naive),
        f"{100 * np.median(errors):.1f}",
    ]
    return [
        share(held),
        *figures,
        *(share(intervals[kind]) for kind in ("count", "sum", "mean")),
        half,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=120)
    parser.add_argument("--tables", default="nist,adult,acs,rwm5yr")
    parser.add_argument("--methods", default="")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(
        "| table | method | bounds hold, % | uniform: median error, % | bias, % | naive interval"
        " holds, % | ours: median error, % | counts held, % | sums held, % | means held, % | half"
        " width, % |"
    )
    print("| --- | --- " + "| ---: " * 9 + "|")
    began = time.perf_counter()
    for name in given.tables.split(","):
        table, quasi, sensitive = table_of(name, given.rows, given.seed)
        asked = queries(table, quasi, sensitive, given.queries, given.seed)
        for called, method in methods(quasi, sensitive, name).items():
            if given.methods and not any(
                called.startswith(wanted) for wanted in given.methods.split(",")
            ):
                continue
            try:
                cells = line(publish(table, quasi, sensitive, method), asked)
            except px.PhalanxError as error:
                cells = [f"refused: {str(error)[:60]}"]
            print("|", " | ".join([name, called, *cells]), "|", flush=True)
    print(f"\n{time.perf_counter() - began:.0f} seconds")


if __name__ == "__main__":
    main()
