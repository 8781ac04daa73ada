# SPDX-License-Identifier: Apache-2.0
"""Made-up patients, and what mutual cover makes of them, for the tests of the method."""

import datetime as dt

import numpy as np
import polars as pl

from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.methods.base import Memory
from phalanx.methods.mutual_cover.method import MutualCover
from phalanx.randomness import Randomness

QUASI = ["age", "sex", "job", "since"]
JOBS = Tree.of_mapping({"office": ["judge", "clerk"], "outside": ["farmer", "sailor"]})
ILLNESSES = [f"illness {i}" for i in range(6)]


def patients(n=200, seed=3):
    """Persons with a number, a text, a leaf and a day, some of them missing, and an illness."""
    rng = np.random.default_rng(seed)
    ages = [
        None if x < 0.03 else int(a)
        for x, a in zip(rng.random(n), rng.integers(20, 60, n), strict=True)
    ]
    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(n)],
            "age": ages,
            "sex": rng.choice(["f", "m"], n),
            "job": rng.choice(["judge", "clerk", "farmer", "sailor"], n, p=[0.5, 0.3, 0.1, 0.1]),
            "since": [
                dt.date(2000, 1, 1) + dt.timedelta(days=int(d))
                for d in rng.integers(0, 3000, n) // 300 * 300
            ],
            "illness": [ILLNESSES[i] for i in rng.integers(0, 6, n)],
        }
    )


def schema(**changes):
    roles = {
        "identifier": "who",
        "quasi": QUASI,
        "sensitive": "illness",
        "missing": "value",
        "hierarchies": {"job": JOBS},
    }
    return Schema(**(roles | changes))


def encoded(frame=None, **changes):
    return Microdata.encode(
        patients() if frame is None else frame, schema(**changes), PersonKey(bytes(32))
    )


def simple(rows, **changes):
    """Rows of (a, b, illness)."""
    roles = {"identifier": None, "quasi": ["a", "b"], "hierarchies": {}}
    return encoded(
        pl.DataFrame(rows, schema=["a", "b", "illness"], orient="row"), **(roles | changes)
    )


def publish(microdata, seed=1, **parameters):
    return MutualCover(**parameters).publish(microdata, Memory(), Randomness.seeded(seed))
