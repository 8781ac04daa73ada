# SPDX-License-Identifier: Apache-2.0
"""A second opinion: Anonymeter and anonypyx's intersection attack on the releases that our
adversaries attack, beside each other.

    python experiments/judges/judges.py [--environment FOLDER] [--persons 3000] [--targets 300]

The judges run in an environment of their own, which is made in the folder at the first run
(``.venv-judges`` here if none is named). The data is the health panel of the demo, whose persons
come and go.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from phalanx import (
    Intersection,
    Linkage,
    MInvariance,
    Mondrian,
    Posterior,
    Release,
    Schema,
    Series,
    SinglingOut,
)
from phalanx.adversaries.base import wilson
from phalanx.adversaries.groups.predicates import Predicates, Regions
from phalanx.adversaries.series.sightings import Sightings
from phalanx.demo import RELEASES, panel
from phalanx.release.evidence.evidence import Evidence
from phalanx.verification import gather_evidence

sys.path.append(str(Path(__file__).resolve().parents[1]))  # environments.py stands there

from environments import environment

HERE = Path(__file__).resolve().parent
QUASI, SENSITIVE = ["born", "female", "married", "income"], "educ"
SCHEMA = Schema(identifier="id", quasi=QUASI, sensitive=SENSITIVE, types={"income": "numeric"})
EXPECTED = 0.1
SERIES = {
    "l-diverse Mondrian, k = 4, l = 2": Mondrian(k=4, l=2),
    "m-invariance, m = 2": MInvariance(m=2, regions=1, not_eligible="suppress"),
}
ONE = {
    "as it is": Mondrian(
        k=1, t="0.99999"
    ),  # which no group reaches: a promise of nothing is refused
    "k = 5, l = 2": Mondrian(k=5, l=2),
    "k = 20, l = 2": Mondrian(k=20, l=2),
    "k = 200, l = 2": Mondrian(k=200, l=2),
    "m-invariance, m = 3": MInvariance(m=3, regions=1, not_eligible="suppress"),
}


def people() -> pl.DataFrame:
    """The panel with values that stay: what everybody said in their first year, and the years in
    which they were there; income in tenths.
    """
    rows = panel().with_columns(
        born=pl.col("year") - pl.col("age"),
        income=(pl.col("hhninc") * 10).round().cast(pl.Int64),
        educ=pl.col("educ").round().cast(pl.Int64),
    )
    first = (
        rows.sort("year")
        .unique("id", keep="first", maintain_order=True)
        .select("id", *QUASI, SENSITIVE)
    )
    return first.join(rows.group_by("id").agg("year"), on="id", maintain_order="left")


def published(
    name: str, method: Any, tables: Sequence[pl.DataFrame], folder: Path
) -> tuple[list[Release], Evidence]:
    """The tables as a series, and what somebody knows who has them."""
    series = Series(
        name,
        schema=SCHEMA,
        method=method,
        to=folder / name,
        ledger=f"sqlite:///{folder / name}.db",
        report=False,
    )
    releases = [series.publish(table) for table in tables]
    evidence, _ = gather_evidence(releases, ledger=None, originals=tables, identifier="id")
    return releases, evidence


def as_intervals(release: Release) -> pl.DataFrame:
    """The rows of a generalized release, every attribute as the two ends of its interval."""
    ends = [
        pl.col(c).alias(f"{a.name}_{end}")
        for a in release.form.attribute("quasi")
        for end, c in zip(("min", "max"), a.columns[-2:], strict=True)
    ]
    return release.form.table.select(*ends, SENSITIVE)


def intersections(
    everybody: pl.DataFrame, targets: int, folder: Path
) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """For every series what the judge is asked, and what our adversary leaves of each target."""
    tables = [
        everybody.filter(pl.col("year").list.contains(year)).drop("year") for year in RELEASES[:3]
    ]
    for i, (name, method) in enumerate(SERIES.items()):
        releases, evidence = published(f"series-{i}", method, tables, folder)
        found = Intersection(view="box").attack(releases, evidence)
        seen = Sightings.of([(release, evidence) for release in releases])
        left = seen.together(range(len(releases))) > 0
        number = dict(zip(seen.persons, range(len(seen.persons)), strict=True))
        several = (
            pl.concat([t.select("id") for t in tables])
            .group_by("id")
            .len()
            .filter(pl.col("len") > 1)
            .sort("id")["id"]
            .to_list()
        )
        some = sorted(np.random.default_rng(1).permutation(several)[:targets].tolist())
        hashes = {
            who: h
            for release, table in zip(seen.each, tables, strict=True)
            for who, h in zip(table["id"], release.microdata.persons, strict=True)
        }
        present = [
            [place for place, who in enumerate(some) if who in set(table["id"])] for table in tables
        ]
        known = everybody.filter(pl.col("id").is_in(some)).sort("id")
        knowledge = {f"{q}_{end}": known[q] for q in QUASI for end in ("min", "max")}
        pl.DataFrame({"ID": np.arange(len(some))} | knowledge).write_parquet(
            folder / f"targets-{i}.parquet"
        )
        files = []
        for r, (release, there) in enumerate(zip(releases, present, strict=True)):
            as_intervals(release).write_parquet(folder / f"series-{i}-{r}.parquet")
            files.append({"table": f"series-{i}-{r}.parquet", "present": there})
        values = seen.values.domain.to_list()
        sets = [
            (
                sorted(
                    v for v, there in zip(values, left[number[hashes[who]]], strict=True) if there
                )
                if hashes[who] in number
                else None
            )
            for who in some
        ]
        of = dict(zip(found.per_person["person"], found.per_person["candidates"], strict=True))
        ours = {
            "name": name,
            "sets": sets,
            "counts": [of.get(hashes[who]) for who in some],
            "exposed": found.exposed,
            "persons": found.persons,
        }
        yield (
            {
                "quasi": QUASI,
                "sensitive": SENSITIVE,
                "targets": f"targets-{i}.parquet",
                "releases": files,
                "number": len(some),
            },
            ours,
        )


def drawn(release: Release, seed: int) -> pl.DataFrame:
    """A table that the release stands for: of every row a value within each of its intervals, each
    equally likely.
    """
    rng, rows = np.random.default_rng(seed), as_intervals(release)
    return pl.DataFrame(
        {
            q: rng.integers(rows[f"{q}_min"].to_numpy(), rows[f"{q}_max"].to_numpy() + 1)
            for q in QUASI
        }
        | {SENSITIVE: rows[SENSITIVE]}
    )


def single_releases(
    everybody: pl.DataFrame, persons: int, folder: Path
) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """For every release of half of the persons what the judge is asked, the other half being the
    control, and what our adversaries find.
    """
    order = np.random.default_rng(2).permutation(everybody.height)
    half = min(persons, everybody.height // 2)
    table, control = (everybody.drop("year")[order[start : start + half]] for start in (0, half))
    table.drop("id").write_parquet(folder / "original.parquet")
    control.drop("id").write_parquet(folder / "control.parquet")
    for i, (name, method) in enumerate(ONE.items()):
        (release,), evidence = published(f"one-{i}", method, [table], folder)
        drawn(release, 3).write_parquet(folder / f"drawn-{i}.parquet")
        microdata = evidence.microdata[1]
        regions = Regions.of(release, microdata)
        made = Predicates.best(regions, np.arange(len(regions)), EXPECTED / microdata.rows)
        domains = [microdata.columns[q].domain.values for q in QUASI]
        predicates = [
            {
                "box": {
                    q: (domain[int(low)], domain[int(high)])
                    for q, domain, low, high in zip(
                        QUASI, domains, made.low[p], made.high[p], strict=True
                    )
                },
                "value": (
                    None
                    if made.value[p] < 0
                    else microdata.sensitive.domain.values[int(made.value[p])]
                ),
            }
            for p in np.flatnonzero(made.bit == 1)
        ]
        ours = {
            "name": name,
            "singling out": (
                SinglingOut(expected=str(EXPECTED), sample=None).attack([release], evidence)
            ),
            "chance": (
                float((half * made.weight * (1 - made.weight) ** (half - 1))[made.bit == 1].mean())
                if predicates
                else None
            ),
            "inference": Posterior().attack([release], evidence),
            "linkage": Linkage().attack([release], evidence),
        }
        files = {
            "original": "original.parquet",
            "control": "control.parquet",
            "drawn": f"drawn-{i}.parquet",
        }
        yield {"quasi": QUASI, "sensitive": SENSITIVE, "predicates": predicates} | files, ours


def table_of(heading: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table under its heading."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in (header, ["---"] * len(header), *rows)]
    return f"### {heading}\n\n" + "\n".join(lines) + "\n"


def rate(value: float, ends: tuple[float, float]) -> str:
    """A share with its interval."""
    return f"{100 * value:.1f} ({100 * ends[0]:.1f} to {100 * ends[1]:.1f})"


def theirs(of: Mapping[str, Sequence[float]], name: str) -> str:
    """A rate of Anonymeter with its interval."""
    value, error = of[name]
    return rate(value, (max(0, value - error), min(1, value + error)))


def alike(sets: Sequence[Any], judge: Sequence[Any]) -> int:
    """How many targets both leave the same values; whoever is in no box of ours is left none by the
    judge.
    """
    return sum((ours or []) == judged for ours, judged in zip(sets, judge, strict=True))


def main() -> None:
    """Publish, ask both, and print the tables."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    asked.add_argument(
        "--environment",
        type=Path,
        default=HERE / ".venv-judges",
        help="the judges' environment, made at the first run",
    )
    asked.add_argument(
        "--persons",
        type=int,
        default=3000,
        help="so many persons are published, and as many are the control",
    )
    asked.add_argument(
        "--targets", type=int, default=300, help="so many persons the intersection attacks look for"
    )
    given = asked.parse_args()
    python, everybody = (
        environment(
            given.environment, HERE / "requirements.txt", "the judges could not be installed"
        ),
        people(),
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        series, releases = (
            list(intersections(everybody, given.targets, folder)),
            list(single_releases(everybody, given.persons, folder)),
        )
        question = {"intersection": [a for a, _ in series], "releases": [a for a, _ in releases]}
        (folder / "asked.json").write_text(json.dumps(question), encoding="utf-8")
        ran = subprocess.run(
            [python, HERE / "theirs.py", folder], capture_output=True, text=True, check=False
        )
    if ran.returncode:
        sys.stderr.write(ran.stderr)
        raise SystemExit("the judges failed.")
    answer = json.loads(ran.stdout.splitlines()[-1])
    rows: list[Sequence[object]] = []
    for (_, ours), judge in zip(series, answer["intersection"], strict=True):
        counts = sum(
            (count or 0) == len(judged) for count, judged in zip(ours["counts"], judge, strict=True)
        )
        rows.append(
            [
                ours["name"],
                len(judge),
                alike(ours["sets"], judge),
                counts,
                sum(len(s) == 1 for s in ours["sets"] if s),
                sum(len(s) == 1 for s in judge),
            ]
        )
    header = [
        "series of three years",
        "targets",
        "the same set",
        "as many as *intersection*",
        "one value left, ours",
        "one value left, anonypyx",
    ]
    print(table_of("Candidate sets, ours and anonypyx's", header, rows))
    rows = []
    for (_, ours), judge in zip(releases, answer["releases"], strict=True):
        n, found = len(judge["counts"]["original"]), ours["singling out"]
        here, there = (
            [int(c == 1) for c in judge["counts"][name]] for name in ("original", "control")
        )
        shares = [rate(sum(c) / n, wilson(sum(c) / n, n)) if n else "none" for c in (here, there)]
        mine = (
            rate(found.success, found.interval)
            if found.success is not None
            else "none light enough"
        )
        chance = "" if ours["chance"] is None else f"{100 * ours['chance']:.1f}"
        out = judge["singling out"]
        rows.append(
            [
                ours["name"],
                found.predicates,
                mine,
                n,
                *shares,
                chance,
                theirs(out, "attack"),
                theirs(out, "control"),
            ]
        )
    header = [
        "release",
        "our predicates",
        "right, %",
        "of these without a bit",
        "right, counted by Anonymeter",
        "on other persons",
        "by weight",
    ]
    print(table_of("Singling out", [*header, "Anonymeter's attack, %", "its control"], rows))
    rows = []
    for (_, ours), judge in zip(releases, answer["releases"], strict=True):
        posterior, linkage, inferred, linked = (
            ours["inference"],
            ours["linkage"],
            judge["inference"],
            judge["linkability"],
        )
        rows.append(
            [
                ours["name"], rate(posterior.drawing, posterior.drawing_interval), theirs(inferred, "attack"), theirs(inferred, "control"),
                theirs(inferred, "baseline"), rate(linkage.identity, linkage.identity_interval), theirs(linked, "attack"), theirs(linked, "control"),
            ]
        )  # fmt: skip
    header = [
        "release",
        "*posterior* draws, %",
        "Anonymeter infers",
        "its control",
        "its baseline",
        "*linkage*, own record, %",
        "Anonymeter links halves",
        "its control",
    ]
    print(table_of("Inference and linkability", header, rows))


if __name__ == "__main__":
    main()
