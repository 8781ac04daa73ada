# SPDX-License-Identifier: Apache-2.0
"""Tables of a series in parts in which persons stay, and what its ledger says of them."""

import numpy as np
import polars as pl

from phalanx import Schema
from phalanx.ledger import Ledger

SCHEMA = Schema(identifier="who", quasi=["age", "sex", "zip"], sensitive="ill")
ROWS = 12_000


def people(rows, seed, first=0):
    """Persons whose illness goes with their age a little."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 80, rows)
    return pl.DataFrame(
        {
            "who": rng.permutation(rows) + first,
            "age": age,
            "sex": pl.Series(rng.choice(["a female person", "a male person"], rows)),
            "zip": rng.integers(0, 400, rows) * 25,
            "ill": pl.Series((age // 20 + rng.integers(0, 12, rows)) % 15).cast(pl.String),
        }
    )


def tables():
    """Three tables: some leave, some move house, some are new; then many return, and few are new."""
    first = people(ROWS, 19)
    moved = first[:9_000].with_columns(zip=pl.col("zip").reverse())
    return [
        first,
        pl.concat([moved, people(2_500, 20, 20_000)]),
        pl.concat([first[3_000:], people(100, 21, 30_000)]),
    ]


def url(tmp_path):
    return f"sqlite:///{tmp_path}/s.db"


def failing(verification):
    return [v.name for v in verification.checks if not v.holds]


def parts_of_persons(tmp_path, number):
    """Which part each person is in, by the ledger."""
    with Ledger.open(url(tmp_path)) as ledger:
        return pl.concat(
            ledger.groups("s", number, part).with_columns(part=pl.lit(part))
            for part in ledger.parts("s")[number]
        )
