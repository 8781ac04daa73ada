# SPDX-License-Identifier: Apache-2.0
"""The net-worth example of Li, Qardaji and Su (section 3.1), run: what the boxes of a k-anonymous
table say of the one rich person of a town.

    python experiments/safe_sampling/net_worth.py

The town is made up: sixty persons, of whom every second one is in the survey that is published, and
one owns more than 10 million. Everybody in town knows who is how old, and who is rich; nobody knows
who answered the survey. Mondrian publishes it with k = 4. Then the rich person does not answer, and
it is published again. Last, both tables in cells that were fixed beforehand, of which those with
fewer than four rows are dropped.
"""

import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from phalanx import Mondrian, Schema, Series
from phalanx.adversaries import Extremes
from phalanx.adversaries.groups.extremes import Proven
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.release.evidence.evidence import Evidence

K = 4
SCHEMA = Schema(identifier="name", quasi=["age", "net_worth"], sensitive="illness")
ILLNESSES = ("asthma", "diabetes", "flu", "gastritis", "migraine")


def town() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The survey, and everybody in town without illnesses; ``rich`` is the only one above 10
    million.
    """
    rng = np.random.default_rng(5)
    age, worth = rng.integers(20, 80, 60), rng.integers(1, 400, 60) * 5_000
    names = [f"p{i}" for i in range(59)] + ["rich"]
    everybody = pl.DataFrame(
        {"name": names, "age": [*age[:59], 52], "net_worth": [*worth[:59], 35_000_000]}
    )
    survey = everybody[1::2].with_columns(illness=pl.Series(rng.choice(ILLNESSES, 30)))
    return survey, everybody


def published(survey: pl.DataFrame, everybody: pl.DataFrame) -> tuple[pl.DataFrame, Proven]:
    """The groups of a release of the survey, richest first, and what the adversary reads off
    them.
    """
    with tempfile.TemporaryDirectory() as folder:
        # a seed, so that group numbers are the same in every run
        release = Series(
            "survey",
            schema=SCHEMA,
            method=Mondrian(k=K, cut_at="median"),
            to=Path(folder) / "out",
            seed=1,
            report=False,
        ).publish(survey)
    of_town = Microdata.encode(survey, SCHEMA, PersonKey(bytes(32)), registry=everybody)
    boxes = ["age_low", "age_high", "net_worth_low", "net_worth_high"]
    groups = release.form.table.group_by("group", *boxes).agg(
        pl.len().alias("rows"), pl.col("illness").sort()
    )
    return groups.sort("net_worth_high", descending=True), Extremes().attack(
        [release], Evidence(microdata={1: of_town})
    )


def show(title: str, groups: pl.DataFrame, found: Proven, most: int = 3) -> None:
    """The first groups as a table, and what the adversary says in sentences."""
    print(f"### {title}\n")
    print("| group | age | net worth | rows | illnesses |\n| --- | --- | --- | --- | --- |")
    for group, *ends, rows, ill in groups.head(most).iter_rows():
        print(
            f"| {group} | {ends[0]} to {ends[1]} | {ends[2]:,} to {ends[3]:,} | {rows} |"
            f" {', '.join(ill)} |"
        )
    print(
        f"\nand {len(groups) - most} more groups. {found.exposed} of {found.persons} persons must"
        f" be in the table, by ends of {found.proving} groups."
    )
    for extreme in found.extremes:
        if (extreme.attribute, extreme.end) == ("net_worth", "largest"):
            print(
                f"The richest person in town is in the table, in group {extreme.group}, and owns"
                f" exactly {int(extreme.value):,}."
            )
            print(
                f"Among the {extreme.rows} rows there, {extreme.share:.0%} say {extreme.sensitive}."
            )
    print()


def cells(survey: pl.DataFrame) -> dict[tuple[int, bool], int]:
    """The rows of every fixed cell, 20 years of age by whether net worth is above a million,
    without those of fewer than K rows.
    """
    cell = [pl.col("age") // 20 * 20, pl.col("net_worth") > 1_000_000]
    counted = survey.group_by(*cell).agg(pl.len().alias("rows")).filter(pl.col("rows") >= K)
    return {(age, rich): rows for age, rich, rows in counted.iter_rows()}


def show_cells(
    with_rich: dict[tuple[int, bool], int], without: dict[tuple[int, bool], int]
) -> None:
    """Both recodings side by side."""
    print(
        "### Both, in fixed cells\n\n| age | net worth | rows with the rich person | without |\n|"
        " --- | --- | --- | --- |"
    )
    for age, rich in sorted(with_rich | without):
        rows = [str(of.get((age, rich), "dropped")) for of in (with_rich, without)]
        print(
            f"| {age} to {age + 19} | {'above' if rich else 'up to'} 1,000,000 | {rows[0]} |"
            f" {rows[1]} |"
        )


def main() -> None:
    survey, everybody = town()
    without = survey.filter(pl.col("name") != "rich")
    show("With the rich person", *published(survey, everybody))
    show("Without", *published(without, everybody))
    show_cells(cells(survey), cells(without))


if __name__ == "__main__":
    main()
