# SPDX-License-Identifier: Apache-2.0
"""The paper's table and its two cuts, and how a slice of it is made, for the scripts beside this
one.
"""

import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.methods.base import Draft, Memory, Method
from phalanx.methods.slicing.method import Slicing
from phalanx.randomness import Randomness

OCC_7 = ["age", "workclass", "education", "marital_status", "race", "sex"]
OCC_15 = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "relationship", "race", "sex",
    "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
]  # fmt: skip
SENSITIVE = "occupation"
Ints = npt.NDArray[np.int64]


@cache
def adult() -> pl.DataFrame:
    """The complete rows of UCI Adult, from the folder that PHALANX_DATA names."""
    folder = os.environ.get("PHALANX_DATA")
    if not folder or not Path(folder, "adult.parquet").is_file():
        sys.exit("Set PHALANX_DATA to the folder that holds adult.parquet.")
    found = pl.read_parquet(Path(folder, "adult.parquet"))
    return found.filter("complete") if "complete" in found.columns else found


def microdata(
    quasi: Sequence[str], frame: pl.DataFrame | None = None, sensitive: str = SENSITIVE
) -> Microdata:
    """The table with these quasi-identifiers; a declared type vouches for the weight, in which
    nearly every row differs.
    """
    table = (adult() if frame is None else frame).select(*quasi, sensitive)
    types: dict[str, Any] = {name: "numeric" for name in quasi if table[name].dtype.is_numeric()}
    return Microdata.encode(table, Schema(quasi=list(quasi), sensitive=sensitive, types=types))


def publish(method: Method, table: Microdata, seed: int) -> Draft:
    """A seeded draft; nothing leaves."""
    return method.publish(table, Memory(), Randomness.seeded(seed))


def codes_of(table: Microdata, names: Sequence[str]) -> Ints:
    """The number of every row's combination of values, shape (n,)."""
    codes = np.stack([table.columns[name].codes for name in names], axis=1)
    return np.unique(codes, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def random_slices(columns: Sequence[Sequence[str]], size: int) -> Slicing:
    """The paper's buckets for membership: dealt at random, with no promise."""
    return Slicing(l=1, columns=columns, grouping="random", bucket_size=size)


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A Markdown table under a heading."""
    print(f"### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print()
