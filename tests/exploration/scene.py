# SPDX-License-Identifier: Apache-2.0
"""A plan, a table and last year's, small enough to be explored in a test."""

from pathlib import Path

import numpy as np
import polars as pl

from phalanx.plan import Plan

PLAN = """# clinic's plan
[series]
name = "clinic"  # its name
[source]
path = "people.parquet"
[schema]
identifier = "who"
quasi = ["age", "zip"]
sensitive = "ill"
drop = ["note"]
[method]
# a comment
name = "mondrian"
k = 4
l = 2
[publish]
to = "releases"
"""


def people(first: int = 0, n: int = 120) -> pl.DataFrame:
    """Made-up patients."""
    who = np.arange(first, first + n)
    return pl.DataFrame({
        "who": [f"p{i}" for i in who],
        "age": 20 + who * 7 % 50,
        "zip": [f"{100 + i * 131 % 9}" for i in who],
        "ill": [["flu", "gout", "rash", "acne"][i * 13 % 4] for i in who],
        "note": "-",
    })  # fmt: skip


def plan(to: Path, text: str = PLAN) -> Plan:
    """The plan in a folder, with its table and last year's beside it."""
    people().write_parquet(to / "people.parquet", statistics=False)
    people(500).write_parquet(to / "last.parquet", statistics=False)
    (to / "plan.toml").write_text(text, encoding="utf-8")
    return Plan.read(to / "plan.toml")


DP = PLAN.replace(
    'name = "mondrian"\nk = 4\nl = 2',
    'name = "safe-sampling"\nepsilon = 2\nk = 3\nbeta = "1/2"\nallow_empty = true\n'
    "[method.scheme]\nage = { low = 0, high = 100, width = 50 }\nzip = 0\nill = 0",
)
"""The same under differential privacy."""
