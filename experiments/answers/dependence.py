# SPDX-License-Identifier: Apache-2.0
"""What is answered where the illness follows from age and sex for a share of the persons, where
persons with two illnesses leave, and where many have no income: how often the truth is in the
interval, how wide that is, and how far the estimate is off. Of made-up tables, so that it needs no
data.

    python experiments/answers/dependence.py [--rows 1000] [--samples 15]
"""

import argparse
import tempfile
from collections.abc import Iterator

import numpy as np
import polars as pl

import phalanx as px
from phalanx.estimators import Estimate

ILLS = [f"i{n}" for n in range(6)]
BANDS = [(18 + 12 * n, 29 + 12 * n) for n in range(6)]
APART = [["age", "sex"], ["region"], ["ill"]]
METHODS = {
    "anatomy l=2": px.Anatomy(l=2),
    "anatomy l=4": px.Anatomy(l=4),
    "slicing, random buckets": px.Slicing(l=2, columns=APART, grouping="random", bucket_size=20),
    "slicing l=2": px.Slicing(l=2, columns=APART),
    "slicing l=3": px.Slicing(l=3, columns=APART),
    "mondrian k=6 l=2": px.Mondrian(k=6, l=2),
    "mutual-cover 1/6": px.MutualCover(delta="1/6"),
    "mutual-cover 1/30": px.MutualCover(delta="1/30"),
}
SCHEMA = px.Schema(identifier="who", quasi=["age", "sex", "region"], sensitive="ill")
Answered = tuple[float, Estimate]


def follows(rows: int, share: float, rng: np.random.Generator) -> pl.DataFrame:
    """Persons of whom a share has the illness of their age and sex, and the others any."""
    age, sex = rng.integers(18, 90, rows), rng.choice(["f", "m"], rows, p=[0.4, 0.6])
    own = ((age - 18) // 12 + (sex == "f")) % len(ILLS)
    ill = np.where(rng.random(rows) < share, own, rng.integers(0, len(ILLS), rows))
    region = rng.choice([f"r{n}" for n in range(8)], rows)
    return pl.DataFrame(
        {"who": range(rows), "age": age, "sex": sex, "region": region, "ill": np.array(ILLS)[ill]}
    )


def of_illnesses(rows: int, samples: int, method: object, share: float) -> Iterator[Answered]:
    """An illness and an age and a sex, half of them those from which it follows."""
    for sample in range(samples):
        rng = np.random.default_rng(1000 * sample + int(100 * share))
        table = follows(rows, share, rng)
        release = px.publish(table, SCHEMA, method, seed=sample)
        for turn in range(8):
            band, sex = int(rng.integers(6)), str(rng.choice(["f", "m"]))
            own = (band + (sex == "f")) % len(ILLS)
            ill = own if turn % 2 else int(rng.integers(6))
            where = f"age BETWEEN {BANDS[band][0]} AND {BANDS[band][1]} AND sex = '{sex}' AND ill = 'i{ill}'"
            truth = table.filter(pl.sql_expr(where)).height
            yield truth, release.estimate(f"count(*) WHERE {where}")


def of_ages(rows: int, samples: int, method: object, share: float) -> Iterator[Answered]:
    """The mean age of those who have an illness, and of the men among them."""
    for sample in range(samples):
        table = follows(rows, share, np.random.default_rng(1000 * sample + int(100 * share)))
        release = px.publish(table, SCHEMA, method, seed=sample)
        for where in (*(f"ill = '{ill}'" for ill in ILLS[:4]), "ill = 'i0' AND sex = 'm'"):
            truth = table.filter(pl.sql_expr(where))["age"].mean()
            yield truth, release.estimate(f"mean(age) WHERE {where}")


def of_those_who_stay(rows: int, samples: int, m: int, leaving: float) -> Iterator[Answered]:
    """Each illness in the second release, after so many of those with two of them left."""
    for sample in range(samples):
        rng = np.random.default_rng(sample)
        first = follows(rows, 0.5, rng)
        gone = np.where(first["ill"].is_in(["i4", "i5"]), leaving, 0.05)
        second = first.filter(pl.Series(rng.random(rows) > gone))
        with tempfile.TemporaryDirectory() as place:
            series = px.Series("s", SCHEMA, px.MInvariance(m=m), to=f"{place}/out", ledger=f"sqlite:///{place}/s.db", report=False, adversaries=False, seed=sample)  # fmt: skip
            series.publish(first)
            release = px.Release.read(series.publish(second).path)
            for ill in ILLS:
                truth = second.filter(pl.col("ill") == ill).height
                yield truth, release.estimate(f"count(*) WHERE ill = '{ill}'")


def of_incomes(rows: int, samples: int, k: int, zeros: float) -> Iterator[Answered]:
    """Who has no income, and who has some."""
    for sample in range(samples):
        rng = np.random.default_rng(sample)
        income = np.where(rng.random(rows) < zeros, 0.0, rng.lognormal(6, 1.2, rows).round(1))
        table = pl.DataFrame({"age": rng.integers(18, 80, rows), "income": income, "ill": rng.choice(ILLS, rows)})  # fmt: skip
        schema = px.Schema(quasi=["age", "income"], sensitive="ill", types={"income": "numeric"})
        release = px.publish(table, schema, px.Mondrian(k=k), seed=sample)
        for where in ("income = 0", "income > 0", "income = 0 AND ill = 'i1'"):
            truth = table.filter(pl.sql_expr(where)).height
            yield truth, release.estimate(f"count(*) WHERE {where}")


def line(name: str, what: str, rows: int, answered: Iterator[Answered]) -> None:
    """A line of the table; of means, where there are no ``rows``, in years."""
    shown = list(answered)
    held = np.mean([a.interval[0] <= truth <= a.interval[1] for truth, a in shown])
    width = np.mean([a.interval[1] - a.interval[0] for _, a in shown])
    off = np.mean([abs(a.estimate - truth) for truth, a in shown])
    wide = f"{width / rows:.1%} | {off / rows:.2%}" if rows else f"{width:.1f} | {off:.2f}"
    print(f"| {name} | {what} | {len(shown)} | {held:.1%} | {wide} |")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=15)
    rows, samples = vars(parser.parse_args()).values()
    print("| method | of whom | questions | held | width | mean error |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for name, method in METHODS.items():
        for share in (0.0, 0.1, 0.3, 0.5, 1.0):
            what = f"{share:.0%} have the illness of their age and sex"
            line(name, what, rows, of_illnesses(rows, samples, method, share))
    for m in (2, 3, 4):
        for leaving in (0.05, 0.3, 0.7):
            what = f"{leaving:.0%} of those with two illnesses left"
            line(f"m-invariance m={m}", what, rows, of_those_who_stay(rows, samples, m, leaving))
    for k in (5, 10, 25, 50):
        for zeros in (0.1, 0.3, 0.5, 0.7, 0.9):
            what = f"{zeros:.0%} have no income"
            line(f"mondrian k={k}", what, rows, of_incomes(rows, samples, k, zeros))
    print("\n| method | of whom | questions | held | width, years | mean error, years |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for name, method in METHODS.items():
        if name.startswith(
            "mutual-cover"
        ):  # nothing bounds its numbers, so that there is no interval
            continue
        for share in (0.0, 0.3, 1.0):
            what = f"{share:.0%} have the illness of their age and sex"
            line(name, what, 0, of_ages(rows, samples, method, share))


if __name__ == "__main__":
    main()
