# SPDX-License-Identifier: Apache-2.0
"""A real series: ten releases of hospital encounters, in which patients come back with other
diagnoses.

    PHALANX_DATA=folder python experiments/global_guarantee/diabetes.py [--queries 1000]

The main diagnosis (716 codes) is the sensitive attribute; all but the most frequent ones are
protected. Prints sizes beside what the members demand, errors, suppressions and seconds of the
three strategies, and how many patients plain Mondrian and m-invariance leave above 1/l.
"""

import argparse
import tempfile
from pathlib import Path

import polars as pl
from vaers import HEADER, above, row

from phalanx.methods.base import Method
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Mondrian
from phalanx.series.series import Series
from series import DIABETES, encounters, publish, table_of

FREQUENT = 0.01


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1000)
    asked = parser.parse_args()
    tables = encounters()
    everything = pl.concat(tables)
    counts = everything["diag_1"].value_counts(sort=True)
    protected = counts.filter(pl.col("count") <= FREQUENT * everything.height)["diag_1"].to_list()
    held = everything.filter(pl.col("diag_1").is_in(protected)).height
    print(
        f"{everything.height} encounters of {everything['patient_nbr'].n_unique()} patients in"
        f" {len(tables)} releases; {len(protected)} of {counts.height}"
    )
    print(
        f"diagnoses protected (each in at most {FREQUENT:.0%} of the encounters), which {held}"
        " encounters have\n"
    )
    strategies = {
        "constant-ratio, k' = 10": {"strategy": "constant-ratio", "horizon": 10},
        "geometric, alpha = 2": {"strategy": "geometric"},
        "adaptive": {"strategy": "adaptive"},
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for l in (2, 3, 5):
            rows = []
            for name, settings in strategies.items():
                place = folder / f"{name}-{l}"
                place.mkdir()
                method = GlobalGuarantee(
                    l=l,
                    protect=protected,
                    expected_later=protected,
                    grouping="bottom-up",
                    **settings,
                )
                rows.append(
                    row(
                        name,
                        publish(
                            tables,
                            name="encounters",
                            schema=DIABETES,
                            method=method,
                            to=place,
                            queries=asked.queries,
                        ),
                    )
                )
            print(f"### l = {l}\n\n{table_of(HEADER, rows)}\n", flush=True)
        rows = []
        for l in (2, 3):
            methods: dict[str, Method] = {
                "Mondrian, l-diverse": Mondrian(l=l, cuts="strict"),
                "m-invariance": MInvariance(
                    m=l, regions=1, changed="new-record", not_eligible="suppress"
                ),
                "global-guarantee": GlobalGuarantee(
                    l=l, protect=protected, expected_later=protected
                ),
            }
            for name, method in methods.items():
                place = folder / f"breaks-{name}-{l}"
                place.mkdir()
                publishing = Series(
                    "encounters",
                    schema=DIABETES,
                    method=method,
                    to=place,
                    ledger=f"sqlite:///{place}/l.db",
                    report=False,
                )
                releases = [publishing.publish(table) for table in tables]
                over, persons = above(
                    releases, f"sqlite:///{place}/l.db", "encounters", l, protected
                )
                rows.append([name, l, persons, over])
        print(
            "### Patients linked to a protected diagnosis with more than"
            f" 1/l\n\n{table_of(['', 'l', 'patients', 'above 1/l'], rows)}"
        )


if __name__ == "__main__":
    main()
