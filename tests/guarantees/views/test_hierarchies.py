# SPDX-License-Identifier: Apache-2.0
"""A check reads the hierarchy that a manifest declares by itself."""

import polars as pl

from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.guarantees.views.hierarchies import nodes_of

TREE = Tree.of_paths([["flu", "lung", "*"], ["gout", "joint", "*"]])


def test_a_missing_value_stands_under_the_root_alone() -> None:
    """At every finer level it is still missing, and other leaves are as they were."""
    plain = nodes_of(TREE, pl.Series("ill", ["flu", "gout"]))
    assert plain.rows() == [("flu", "lung", "*"), ("gout", "joint", "*")]
    assert nodes_of(TREE, pl.Series("ill", [None, "flu", "gout"])).rows() == [
        (None, None, "*"),
        *plain.rows(),
    ]
