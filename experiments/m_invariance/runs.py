# SPDX-License-Identifier: Apache-2.0
"""The paper's series at the scale of the census extract, with as many releases as the paper has,
each published once: what its figures look at (``paper.py``).
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from acs import QUASI, SENSITIVE, THETA, THETAS, schema_of
from claims import Variant

import series as common
from phalanx.methods.base import Method
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Mondrian

VOLUMES = (5, 10, 20, 40)
"""r of the paper, in thousands of its 600."""
POOL, FIRST = 600, 200
M = 10


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    thousand: int
    """Rows that stand for a thousand of the paper's."""
    sensitive: Sequence[str]
    m: Sequence[int]
    l: Sequence[int]
    diverse_volumes: Sequence[int]
    """Those that Mondrian is published with."""
    volumes: Sequence[int]
    queries: int
    every: int
    """Workloads are asked of every so many releases."""


FULL = Scale(492, SENSITIVE, (2, 4, 6, 8, 10), (2, 4, 6, 8, 10), VOLUMES, VOLUMES, 10_000, 10)
QUICK = Scale(49, SENSITIVE[:1], (10,), (2, 10), (20, 40), (5, 20, 40), 200, 20)


def scale(variant: Variant) -> Scale:
    return FULL if variant == "full" else QUICK


@dataclass(frozen=True)
class Made:
    """What one series has, release by release."""

    counterfeits: list[int]
    seconds: list[float]
    vulnerable: int
    persons: int
    errors: dict[int, dict[float, float]]
    """By release and theta the median error of a workload."""

    def average(self, theta: float) -> float:
        return float(np.mean([by[theta] for by in self.errors.values()]))


@cache
def made(variant: Variant, sensitive: str, volume: int, *, m: int = 0, l: int = 0) -> Made:
    """Publish one of the paper's series, m-invariant or l-diverse."""
    of, schema = scale(variant), schema_of(sensitive)
    method: Method = MInvariance(m=m, balancing="paper") if m else Mondrian(k=l, l=l, cuts="strict")
    pool = pl.read_parquet(common.data_file("acs2018_occsal.parquet"))
    pool = pool.select("row_id", *QUASI, sensitive).sample(of.thousand * POOL, seed=1)
    releases = 1 + (POOL - FIRST) // volume
    tables = list(
        common.replaced(pool, of.thousand * FIRST, of.thousand * volume, releases, seed=2007)
    )
    with tempfile.TemporaryDirectory() as folder:
        run = common.publish(tables, name="s", schema=schema, method=method, to=Path(folder))
        asked = {
            number: run.microdata(tables[number - 1], schema)
            for number in range(1, releases + 1, of.every)
            if m
        }
        thetas = THETAS if (volume, m) == (VOLUMES[0], M) else (THETA,)
        return Made(
            [release.counterfeits for release in run.releases],
            [release.seconds for release in run.releases],
            common.vulnerable(run),
            len({person for table in tables for person in table["row_id"].to_list()}),
            {
                number: {
                    theta: common.workload_error(
                        run.releases[number - 1],
                        microdata,
                        theta=theta,
                        queries=of.queries,
                        seed=number,
                    )
                    for theta in thetas
                }
                for number, microdata in asked.items()
            },
        )


Sets = dict[tuple[str, int, int], Made]
"""By sensitive attribute, volume and m or l."""


def with_mondrian(variant: Variant) -> Sets:
    of = scale(variant)
    return {
        (s, r, l): made(variant, s, r, l=l)
        for s in of.sensitive
        for l in of.l
        for r in of.diverse_volumes
    }


def both(variant: Variant) -> Sets:
    """The paper's series of 81 releases."""
    return {(s, 5, M): made(variant, s, 5, m=M) for s in scale(variant).sensitive}


def by_volume(variant: Variant) -> Sets:
    return {
        (s, r, M): made(variant, s, r, m=M)
        for s in scale(variant).sensitive
        for r in scale(variant).volumes
    }


def by_m(variant: Variant) -> Sets:
    of = scale(variant)
    return {(s, 5, m): made(variant, s, 5, m=m) for s in of.sensitive for m in of.m}


def by_either(variant: Variant) -> Sets:
    return by_volume(variant) | by_m(variant)
