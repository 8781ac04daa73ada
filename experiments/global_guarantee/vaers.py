# SPDX-License-Identifier: Apache-2.0
"""The paper's series on vaccine reports (Section 8): 20 rounds, sets of reactions, the list of all
reports as the registry.

    PHALANX_DATA=folder python experiments/global_guarantee/vaers.py [--queries 5000] [--rounds 20]
    [--seeds 3] [--least-frequent 0.1] [--only sweeps|strategies|breaks]

Figures 6 to 9: the average relative error of range queries, the average and the largest group that
holds a protected value, seconds per round and suppressions, for l in {2, 3, 5, 7}, for k' (constant
ratio) and for alpha (geometric); each beside what members demand. Then the three strategies on the
same series, and how many persons plain Mondrian with l-diversity and m-invariance leave above 1/l.
Groups grow around holders, as the paper has it; groupings.py prints what balanced ones cost.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from phalanx.adversaries.series.history import History
from phalanx.data.schema import Schema
from phalanx.ledger import Ledger
from phalanx.methods.base import Method
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Mondrian
from phalanx.release.evidence.evidence import Evidence
from phalanx.series.series import Series
from series import VAERS, Run, paper_series, publish, reports, table_of

HEADER = [
    "",
    "groups / round",
    "average size",
    "demanded",
    "largest",
    "loss %",
    "error %",
    "error % first 5",
    "error % last 5",
    "s / round",
    "suppressed",
]


def row(name: str, run: Run) -> list[str]:
    """One line of a table: means over the rounds."""
    errors = [line.error for line in run.lines if line.error is not None]
    return [
        name,
        f"{run.mean('groups'):.1f}",
        f"{run.mean('average'):.2f}",
        f"{run.mean('demanded'):.2f}",
        str(max(line.largest for line in run.lines)),
        f"{100 * run.mean('loss'):.2f}",
        f"{np.mean(errors):.2f}" if errors else "",
        f"{np.mean(errors[:5]):.2f}" if errors else "",
        f"{np.mean(errors[-5:]):.2f}" if errors else "",
        f"{np.mean([line.seconds for line in run.lines[1:]]):.2f}",
        str(sum(line.suppressed for line in run.lines)),
    ]


def rare(records: pl.DataFrame, share: float) -> list[str]:
    """The least frequent values of all records, as the paper takes them."""
    counts = records.explode("reactions").group_by("reactions").len().sort("len", "reactions")
    return counts["reactions"][: int(share * counts.height)].to_list()


def above(releases: list, ledger: str, name: str, l: int, protected: list[str]) -> tuple[int, int]:
    """Persons who were linked to some value with more than 1/l, and all persons, by whoever knows
    everybody's group.
    """
    with Ledger.open(ledger, create=False) as opened:
        groups = {r.number: opened.groups(name, r.number) for r in releases}
    found = History(bound=f"1/{l}", values=protected).attack(releases, Evidence(groups=groups))
    return found.above, found.persons


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--least-frequent", type=float, default=0.1)
    parser.add_argument("--only", choices=["sweeps", "strategies", "breaks"])
    asked = parser.parse_args()
    records = reports()
    registry = records.select("vaers_id", "age", "sex", "state")
    protected = rare(records, asked.least_frequent)
    held = records.explode("reactions").filter(pl.col("reactions").is_in(protected)).height
    series = [
        list(paper_series(records, "reactions", asked.rounds, seed))
        for seed in range(1, asked.seeds + 1)
    ]
    published = pl.concat([table.select("vaers_id") for table in series[0]])
    print(
        f"{records.height} reports; {len(protected)} of"
        f" {records.explode('reactions')['reactions'].n_unique()} reactions protected, held {held}"
        f" times; a report is in {published.height / published.n_unique():.2f} releases\n"
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)

        def run(
            name: str,
            method: Method,
            *,
            seed: int = 1,
            queries: int = asked.queries,
            listed: bool = True,
        ) -> Run:
            place = folder / f"{name}-{seed}-{listed}"
            place.mkdir(parents=True)
            return publish(
                series[seed - 1],
                name="reports",
                schema=VAERS,
                method=method,
                to=place,
                registry=registry if listed else None,
                queries=queries,
            )

        if asked.only in (None, "sweeps"):
            for title, lines in {
                "Figure 6: constant-ratio, k' = 20": [
                    (f"l = {l}", {"l": l, "strategy": "constant-ratio", "horizon": 20})
                    for l in (2, 3, 5, 7)
                ],
                "Figure 7: geometric, alpha = 2": [
                    (f"l = {l}", {"l": l, "strategy": "geometric"}) for l in (2, 3, 5, 7)
                ],
                "Figure 8: constant-ratio, l = 2": [
                    (f"k' = {k}", {"l": 2, "strategy": "constant-ratio", "horizon": k})
                    for k in (5, 10, 15, 20)
                ],
                "Figure 9: geometric, l = 2": [
                    (f"alpha = {a}", {"l": 2, "strategy": "geometric", "alpha": a})
                    for a in (1.5, 2, 3, 4)
                ],
                "adaptive": [(f"l = {l}", {"l": l, "strategy": "adaptive"}) for l in (2, 3, 5, 7)],
            }.items():
                rows = [
                    row(
                        name,
                        run(
                            f"{title[:8]}{i}",
                            GlobalGuarantee(
                                protect=protected,
                                expected_later=protected,
                                grouping="bottom-up",
                                **settings,
                            ),
                        ),
                    )
                    for i, (name, settings) in enumerate(lines)
                ]
                print(f"### {title}\n\n{table_of(HEADER, rows)}\n", flush=True)
        if asked.only in (None, "strategies"):
            strategies = {
                "constant-ratio, k' = 20": {"strategy": "constant-ratio", "horizon": 20},
                "constant-ratio, k' = 5": {"strategy": "constant-ratio", "horizon": 5},
                "geometric, alpha = 1.5": {"strategy": "geometric", "alpha": 1.5},
                "geometric, alpha = 2": {"strategy": "geometric"},
                "geometric, alpha = 3": {"strategy": "geometric", "alpha": 3},
                "adaptive": {"strategy": "adaptive"},
            }
            for share in (asked.least_frequent, 0.9):
                for l in (2, 5):
                    rows = []
                    for name, settings in strategies.items():
                        method = GlobalGuarantee(
                            l=l,
                            protect=rare(records, share),
                            expected_later=rare(records, share),
                            grouping="bottom-up",
                            **settings,
                        )
                        runs = [
                            run(f"{name}{share}{l}", method, seed=seed + 1, queries=0, listed=False)
                            for seed in range(asked.seeds)
                        ]
                        sizes = [r.mean("average") for r in runs]
                        every = [line for r in runs for line in r.lines]
                        loss = 100 * np.mean([r.mean("loss") for r in runs])
                        spread = f"{min(sizes):.2f} to {max(sizes):.2f}"
                        rows.append(
                            [
                                name,
                                f"{np.mean(sizes):.2f}",
                                spread,
                                max(x.largest for x in every),
                                f"{loss:.2f}",
                                sum(x.suppressed for x in every),
                            ]
                        )
                    title = (
                        f"l = {l}, the {share:.0%} least frequent protected, {asked.seeds} series,"
                        " no registry"
                    )
                    print(
                        "### Strategies:"
                        f" {title}\n\n{table_of(['', 'average size', 'over the series', 'largest', 'loss %', 'suppressed'], rows)}\n",
                        flush=True,
                    )
        if asked.only in (None, "breaks"):
            breaks(series[0], folder)


def breaks(tables: list[pl.DataFrame], folder: Path) -> None:
    """One reaction per report, all values protected as each method protects them: who ends above
    1/l under which method.
    """
    single = [
        t.with_columns(pl.col("reactions").list.first().alias("reaction")).drop("reactions")
        for t in tables
    ]
    schema = Schema(identifier="vaers_id", quasi=["age", "sex", "state"], sensitive="reaction")
    values = pl.concat(single)["reaction"].value_counts(sort=True)
    common = values.filter(pl.col("count") > single[0].height / 100)["reaction"].to_list()
    protected = [v for v in values["reaction"].to_list() if v not in common]
    rows = []
    for l in (2, 5):
        methods: dict[str, Method] = {
            "Mondrian, l-diverse": Mondrian(l=l, cuts="strict"),
            "m-invariance": MInvariance(
                m=l, regions=1, changed="new-record", not_eligible="suppress"
            ),
            "global-guarantee": GlobalGuarantee(l=l, protect=protected, expected_later=protected),
        }
        for name, method in methods.items():
            place = folder / f"breaks-{name}-{l}"
            place.mkdir()
            publishing = Series(
                "reports",
                schema=schema,
                method=method,
                to=place,
                ledger=f"sqlite:///{place}/l.db",
                report=False,
            )
            releases = [publishing.publish(table) for table in single]
            over, persons = above(releases, f"sqlite:///{place}/l.db", "reports", l, protected)
            rows.append([name, l, persons, over])
    title = (
        f"persons whom someone who knows everybody's group links to one of {len(protected)}"
        " protected reactions with more than 1/l"
    )
    print(
        f"### One reaction per report, {len(single)} releases:"
        f" {title}\n\n{table_of(['', 'l', 'persons', 'above 1/l'], rows)}\n"
    )


if __name__ == "__main__":
    main()
