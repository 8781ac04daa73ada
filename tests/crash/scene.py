# SPDX-License-Identifier: Apache-2.0
"""The tables that are published while the publisher is killed, and what of them may be where.

Everybody's signature is all five illnesses, so every group has somebody with the first and somebody
with the last of them, who have the lowest and the highest income and town. So no release says the
exact income or town of anybody else, whatever the groups are.
"""

from pathlib import Path
from typing import Any

import polars as pl

from phalanx import MInvariance, Schema, Series
from phalanx.series.released import Release

NAME = "visits"
HIDDEN, SHOWN = "Hidden7qz", "Shown8kx"
"""In every text that must be nowhere, and in every text that a release may show and nothing else
may hold.
"""
HIDDEN_INCOME, LOWEST, HIGHEST = 0x6BD4_8FA2_0000, 0x5AC3_7E91_0000, 0x7CE5_90B3_0000
"""Incomes begin here and are less than 2^11 above; the first ones must be nowhere."""
ILLNESSES = [f"{SHOWN} illness {letter}" for letter in "ABCDE"]
SCHEMA = Schema(
    identifier="patient",
    quasi=["income", "town"],
    sensitive="illness",
    keep=["ward"],
    drop=["notes"],
    types={"income": "numeric", "town": "categorical"},
)
METHOD = MInvariance(m=5, changed="suppress", not_eligible="suppress")


def person(number: int, rank: int, **other: Any) -> dict[str, Any]:
    """One row: the texts that must be nowhere, and quasi-identifiers inside of every interval, or
    at its ends.
    """
    end = {0: (LOWEST, "aa"), 4: (HIGHEST, "zz")}.get(rank)
    income, town = (
        (HIDDEN_INCOME + 7 * number, f"mm {HIDDEN} town {number}")
        if end is None
        else (end[0] + number % 3, f"{end[1]} {SHOWN} town {number % 3}")
    )
    row = {
        "patient": f"{HIDDEN} patient {number}",
        "income": income,
        "town": town,
        "illness": ILLNESSES[rank],
        "ward": f"{SHOWN} ward {number % 2}",
    }
    return row | {"notes": f"{HIDDEN} note {number}"} | other


def people(release: int) -> pl.DataFrame:
    """The table of a release: forty people and more; some leave, some come, two come with another
    illness, three bring one that is too frequent.
    """
    rows = [person(i, i % 5) for i in range(40)]
    if release > 1:
        gone = {0, 2, 4, 7, 8} | ({11, 13} if release > 2 else set())
        changed = {
            i: person(i, i % 5, illness=f"{HIDDEN} illness {i}", ward=f"{HIDDEN} ward {i}")
            for i in (6, 21)
        }
        rows = [changed.get(i, row) for i, row in enumerate(rows) if i not in gone]
        rows += [person(100 + i, i % 5) for i in range(10 * (release - 1))]
        rows += [person(200 + i, 1) for i in range(3)]
    return pl.DataFrame(rows)


def publish(to: Path, ledger: str, release: int, **said: Any) -> Release:
    """Publish the table of a release as the next of the series."""
    return Series(
        NAME, schema=SCHEMA, method=METHOD, to=to, ledger=ledger, formats=("parquet", "csv"), **said
    ).publish(people(release))
