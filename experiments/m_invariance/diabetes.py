# SPDX-License-Identifier: Apache-2.0
"""A real series under m-invariance: ten releases of hospital admissions (``diabetes130``), in which
patients come back and diagnoses change.

    PHALANX_DATA=FOLDER python experiments/m_invariance/diabetes.py [--releases 10]

Roles. A patient's last admission of a release stands for the patient (identifier ``patient_nbr``).
Quasi-identifiers are what a neighbour, an employer or an insurer may know of somebody's stay: age
(in bands of ten years, as the source has it), gender, race, type of admission, days in hospital.
Sensitive is the main diagnosis: as the chapter of ICD-9, and, because three in ten patients share
the chapter of circulatory diseases and m could not exceed 2, as the chapter with that one opened
into its own blocks. Prints Markdown tables; progress goes to the standard error.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl

import series as common
from phalanx.adversaries import Intersection
from phalanx.data.schema import Schema
from phalanx.methods.base import Method
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Mondrian
from phalanx.verification import gather_evidence

PERSON = "patient_nbr"
QUASI = ("age", "gender", "race", "admission_type", "time_in_hospital")
SENSITIVE = ("chapter", "block")
BLOCKS = {  # the circulatory chapter of ICD-9, 390-459; each block from this number on
    "rheumatic heart disease": 390,
    "hypertension": 401,
    "ischemic heart disease": 410,
    "pulmonary circulation": 415,
    "other heart disease": 420,
    "cerebrovascular disease": 430,
    "arteries": 440,
    "veins": 451,
}


def prepared(admissions: pl.DataFrame) -> pl.DataFrame:
    """One row per release and patient, in the roles above."""
    number = pl.col("diag_1").cast(pl.String).cast(pl.Float64, strict=False)
    chapter = pl.col("diag_1_chapter").cast(pl.String)
    block = pl.lit(None, dtype=pl.String)
    for name, first in BLOCKS.items():
        block = pl.when(number >= first).then(pl.lit(name)).otherwise(block)
    return (
        admissions.unique(["release", PERSON], keep="last", maintain_order=True)
        .with_columns(
            age=pl.col("age").cast(pl.String).str.extract(r"(\d+)").cast(pl.Int64),
            chapter=chapter,
            block=pl.when(chapter.str.starts_with("Circulatory")).then(block).otherwise(chapter),
        )
        .select("release", PERSON, *QUASI, *SENSITIVE)
    )


def newcomers(tables: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Per release the patients who were in none before it: the paper's S_minus, for a memory of
    everyone.
    """
    seen = pl.DataFrame(schema={PERSON: tables[0].schema[PERSON]})
    found = []
    for table in tables:
        found.append(table.join(seen, on=PERSON, how="anti"))
        seen = pl.concat([seen, table.select(PERSON)]).unique()
    return found


def most(tables: Sequence[pl.DataFrame], sensitive: str) -> tuple[int, list[int]]:
    """The highest m that all newcomers are eligible for, and how many newcomers share the most
    frequent value in each release.
    """
    top = [int(table[sensitive].value_counts()["count"].max()) for table in tables]  # type: ignore[arg-type]
    return min(table.height // share for table, share in zip(tables, top, strict=True)), top


def experiment(everything: pl.DataFrame, sensitive: str, releases: int, to: Path) -> None:
    """Publish the series three ways, attack each, and print it."""
    tables = [
        t.drop("release", *(s for s in SENSITIVE if s != sensitive))
        for t in everything.partition_by("release", maintain_order=True)
    ][:releases]
    new = newcomers(tables)
    m, top = most(new, sensitive)
    if m < 2:
        raise SystemExit(
            f"{sensitive}: some value is shared by more than half of the newcomers of a release,"
            " and nothing can be promised."
        )
    schema = Schema(identifier=PERSON, quasi=QUASI, sensitive=sensitive, missing="value")
    methods: dict[str, tuple[str, Method]] = {
        "remembering": (
            "m-invariance, remembering",
            MInvariance(m=m, regions=1, changed="suppress"),
        ),
        "forgetting": (
            "m-invariance, forgetting",
            MInvariance(
                m=m, regions=1, changed="suppress", not_eligible="suppress", remember=False
            ),
        ),
        "mondrian": ("Mondrian", Mondrian(k=m, l=m, cuts="strict")),
    }
    runs = {
        name: common.publish(tables, name=name, schema=schema, method=method, to=to)
        for name, (_, method) in methods.items()
    }
    values = pl.concat(tables)[sensitive].n_unique()
    print(f"\n## Sensitive: {sensitive} ({values} values, m = {m})\n\nm-invariance, remembering:\n")
    rows = [
        (
            p.number,
            t.height,
            n.height,
            f"{share / n.height:.1%}",
            p.rows,
            p.groups,
            p.counterfeits,
            sum(p.suppressed_rows.values()),
            f"{p.seconds:.2f}",
        )
        for p, t, n, share in zip(runs["remembering"].published, tables, new, top, strict=True)
    ]
    print(
        common.table_of(
            (
                "release",
                "patients",
                "new",
                "of them with the top value",
                "rows",
                "groups",
                "counterfeits",
                "suppressed",
                "seconds",
            ),
            rows,
        )
    )
    print(f"\nAll three, l = m = {m}:\n")
    attacked = [(methods[name][0], *figures(run, tables)) for name, run in runs.items()]
    print(
        common.table_of(
            (
                "published by",
                "patients",
                "counterfeits",
                "suppressed",
                "exposed by box",
                "exposed by group",
            ),
            attacked,
        )
    )


def figures(run: common.Run, tables: Sequence[pl.DataFrame]) -> tuple[int, int, int, int, int]:
    """Patients, counterfeits, rows suppressed; patients exposed by the intersection adversary, by
    box and by group.
    """
    evidence, _ = gather_evidence(
        run.releases, ledger=run.ledger, originals=tables, identifier=PERSON
    )
    by_box = Intersection(view="box").attack(run.releases, evidence)
    by_group = Intersection(view="person").attack(run.releases, evidence)
    counterfeits, suppressed_rows = (
        sum(p.counterfeits for p in run.published),
        sum(sum(p.suppressed_rows.values()) for p in run.published),
    )
    return by_group.persons, counterfeits, suppressed_rows, by_box.exposed, by_group.exposed


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--releases", type=int, default=10)
    given = arguments.parse_args()
    everything = prepared(pl.read_parquet(common.data_file("diabetes130.parquet")))
    for sensitive in SENSITIVE:
        with tempfile.TemporaryDirectory() as place:
            experiment(everything, sensitive, given.releases, Path(place))


if __name__ == "__main__":
    main()
