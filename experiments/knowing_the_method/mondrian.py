# SPDX-License-Identifier: Apache-2.0
"""What cuts that tell of nobody cost: widths, groups and seconds of balanced, strict and relaxed
cuts, and of m-invariance's first release.

    PHALANX_DATA=folder python experiments/knowing_the_method/mondrian.py

Width is the mean over rows and attributes of the published interval, as a part of the attribute's
range (categories by their order). Balanced cuts and m-invariance hold against an adversary who
knows the method; strict and relaxed cuts do not.
"""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import NotEligible
from phalanx.methods.base import Memory, Method
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Cuts, Mondrian
from phalanx.randomness import Randomness

ADULT = ["age", "workclass", "education_num", "marital_status", "race", "sex"]
ACS = ["age", "sex", "education", "birthplace"]
CUTS: tuple[Cuts, ...] = ("strict", "relaxed", "balanced")


def microdata(name: str, quasi: list[str], sensitive: str, rows: int | None = None) -> Microdata:
    table = pl.read_parquet(Path(os.environ["PHALANX_DATA"]) / f"{name}.parquet")
    if "complete" in table.columns:
        table = table.filter("complete")
    table = (
        table.select(*quasi, sensitive)
        .drop_nulls()
        .with_columns(pl.col(pl.Categorical).cast(pl.String))
    )
    table = table if rows is None else table.sample(rows, seed=1)
    return Microdata.encode(
        table.with_row_index("row"),
        Schema(identifier="row", quasi=quasi, sensitive=sensitive),
        PersonKey(bytes(32)),
    )


def width(data: Microdata, groups: npt.NDArray[np.int64]) -> float:
    """The mean over rows and attributes of the group's interval, as a part of the attribute's
    range.
    """
    positions = np.stack([column.domain.normalised[column.codes] for column in data.quasi], axis=1)
    _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    low, high = (
        np.full((len(sizes), positions.shape[1]), np.inf),
        np.full((len(sizes), positions.shape[1]), -np.inf),
    )
    np.minimum.at(low, group, positions)
    np.maximum.at(high, group, positions)
    return float(np.average((high - low).mean(axis=1), weights=sizes))


def show(table: str, asked: str, name: str, method: Method, data: Microdata) -> None:
    """One row of the table: groups, rows of the largest, width, seconds."""
    began = time.perf_counter()
    try:
        draft = method.publish(data, Memory(), Randomness.seeded(1))
    except NotEligible:
        print(f"| {table} | {asked} | {name} | refused | | | |", flush=True)
        return
    seconds = time.perf_counter() - began
    sizes = np.unique(draft.groups, return_counts=True)[1]
    print(
        f"| {table} | {asked} | {name} | {len(sizes):,} | {sizes.max():,} |"
        f" {width(data, draft.groups):.4f} | {seconds:.1f} |",
        flush=True,
    )


def of(cuts: Any, **parameters: Any) -> Mondrian:
    """Strict and relaxed cuts at medians, as in the paper."""
    return Mondrian(cuts=cuts, cut_at=None if cuts == "balanced" else "median", **parameters)


def main() -> None:
    print(
        "| table | asked | groups by | groups | largest | width | seconds |\n| --- | --- | --- |"
        " ---: | ---: | ---: | ---: |"
    )
    adult = microdata("adult", ADULT, "occupation")
    for k, l in ((10, 2), (10, 3), (10, 4), (10, 6), (10, 8), (1, 2), (1, 4)):
        for cuts in CUTS:
            show("adult", f"k = {k}, l = {l}", cuts, of(cuts, k=k, l=l), adult)
        if k == 1:
            show("adult", f"m = {l}", "m-invariance", MInvariance(m=l, regions=1), adult)
    for cuts in CUTS:
        show("adult", "k = 10, t = 1/5", cuts, of(cuts, k=10, t="1/5"), adult)
    for rows, l in ((4000, 2), (4000, 4), (None, 2), (None, 4), (None, 10)):
        data = microdata("acs2018_occsal", ACS, "income", rows)
        for cuts in CUTS:
            show(f"ACS, {data.rows:,} rows", f"l = {l}", cuts, of(cuts, l=l), data)
        show(
            f"ACS, {data.rows:,} rows",
            f"m = {l}",
            "m-invariance",
            MInvariance(m=l, regions=1),
            data,
        )


if __name__ == "__main__":
    main()
