# SPDX-License-Identifier: Apache-2.0
"""Tables, declarations and their slow twins for the tests of schemes that are chosen privately, and
one audit of such choices.
"""

from collections import Counter
from fractions import Fraction
from math import exp

import polars as pl
from hypothesis import strategies as st
from scipy.special import betainccinv, betaincinv

from naive.private_schemes import Grid, Nodes
from phalanx.data.hierarchies.hierarchy import Prefix, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.methods.safe_sampling.schemes import Axes

TREE = Tree.of_paths(
    [
        ["cook", "kitchen", "indoors", "*"],
        ["baker", "kitchen", "indoors", "*"],
        ["clerk", "office", "town", "*"],
        ["guard", "gate", "town", "*"],
        ["pilot", "*"],
    ]
)
"""A node with one child, which has two; one with two children, each with one; and a short path."""
ZIPS = ["471", "472", "481", "900"]
SCHEMA = Schema(
    quasi=["age", "job", "zip"],
    sensitive="ill",
    hierarchies={"job": TREE, "zip": Prefix((3, 2, 0))},
    missing="value",
)
RANGE = {"low": 0, "high": 30, "widths": [4, 8]}
TWINS = {
    "age": Grid(0, 30, [4, 8]),
    "job": Nodes({path[0]: path for path in TREE.paths}),
    "zip": Nodes({z: [z, z[:2] + "*", "*"] for z in ZIPS}, declared=False),
    "ill": Nodes({x: [x, "*"] for x in ("flu", "cold")}, declared=False),
}
TYPES = {"age": pl.Int64, "job": pl.String, "zip": pl.String, "ill": pl.String}


def rows(*, missing_ages):
    """A row: ages beyond both ends among them, and missing values."""
    ages = st.integers(-3, 33)
    return st.tuples(
        st.none() | ages if missing_ages else ages,
        st.none() | st.sampled_from([path[0] for path in TREE.paths]),
        st.none() | st.sampled_from(ZIPS),
        st.none() | st.sampled_from(["flu", "cold"]),
    )


def microdata(table, schema=SCHEMA):
    """A list of rows, encoded."""
    names = [*schema.quasi, *([schema.sensitive] if schema.sensitive else [])]
    return Microdata.encode(
        pl.DataFrame(table, schema={name: TYPES[name] for name in names}, orient="row"), schema
    )


def axes(fixed):
    """The recodings of all four attributes, of which some have a level, in their order None for the
    others.
    """
    declared = {
        name: level
        for name, level in zip(TYPES, fixed, strict=True)
        if level is not None and name != "age"
    }
    return Axes.of(
        declared | {"age": RANGE | ({} if fixed[0] is None else {"level": fixed[0]})},
        SCHEMA,
        choose=True,
    )


def odds_keep(here: Counter, there: Counter, epsilon: Fraction, alarm: float = 1e-6) -> bool:
    """Whether two neighbours' outcomes are those of an epsilon-differentially private choice, as
    far as so many draws can tell.

    Of each outcome, a lower confidence bound of the one probability is held against an upper bound
    of the other, by Clopper and Pearson; by Bonferroni, a correct choice is rejected with
    probability ``alarm`` at most.
    """
    each = alarm / (4 * len(here | there))

    def exceeds(a, b):
        low = {x: betaincinv(n, a.total() - n + 1, each) for x, n in a.items()}
        high = {
            x: betainccinv(b[x] + 1, b.total() - b[x], each) if b[x] < b.total() else 1 for x in a
        }
        return any(low[x] > exp(epsilon) * high[x] for x in a)

    return not (exceeds(here, there) or exceeds(there, here))
