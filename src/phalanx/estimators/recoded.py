# SPDX-License-Identifier: Apache-2.0
"""What a recoded release shows: cells of a sample of the rows, those that enough others share."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.errors import ReleaseError
from phalanx.estimators.entries import Ends, Facet
from phalanx.estimators.lines import after, declared_tree, spans
from phalanx.estimators.view import View
from phalanx.exact import bounded
from phalanx.release.folder import Release
from phalanx.release.forms.recoded import Recoded
from phalanx.release.manifest import PublishedAttribute

_WHY = (
    "only a random sample of the rows is published, and of it only what enough rows share; how many"
    " rows there are is not told"
)


def view(release: Release) -> View:
    """A group for each image, whose rows all say the same: rows of the table, so many at least."""
    form = Recoded.expect(release.form)
    counted = form.table.group_by(form.table.columns, maintain_order=True).len("")
    count, group = counted[""].to_numpy().astype(np.int64), np.arange(counted.height)
    recodings = form.scheme.get("attributes", {})
    ends = {a.name: _ends(a, counted, recodings.get(a.name, {})) for a in form.attributes}
    none = np.zeros(counted.height, dtype=np.int64)
    facets = (Facet(group, count, ends),)
    return View(
        "recoded",
        form.attributes,
        count,
        none,
        facets,
        model="published rows over the sampling rate, spread evenly over their cells",
        unpublished=None,
        why_unpublished=_WHY,
        share=_beta(release),
    )


def _beta(release: Release) -> float:
    """With what probability a row was sampled, as the manifest says it."""
    stated = next((g["beta"] for g in release.manifest.guarantees if "beta" in g), 1)
    beta = float(bounded(stated, "beta", 0, 1))
    if not beta:
        raise ReleaseError("the manifest says that no row was sampled; ask the publisher again.")
    return beta


def _ends(attribute: PublishedAttribute, table: pl.DataFrame, recoding: Mapping[str, Any]) -> Ends:
    """Cells of a grid, whose first and last hold everything beyond; nodes; or values."""
    if len(attribute.columns) == 1:
        return _nodes(attribute, table[attribute.columns[0]], recoding)
    low, high = (table[c] for c in attribute.columns)
    if (
        attribute.type == "numeric"
    ):  # ends are whole where the grid's are, and values between them need not be
        low, high = low.cast(pl.Float64), high.cast(pl.Float64)
    none = low.is_null().to_numpy()
    # where all values are one, and at the top of bands, which have no ends, a missing value is
    # among them
    widths = recoding.get("widths")
    top = recoding.get("level") is None or recoding.get("level") == _top(attribute, recoding)
    sides = [_is_edge(end, recoding.get(side)) for end, side in ((low, "low"), (high, "high"))]
    everything = none & (widths is None) if top else none & False
    missing = none | everything | ((sides[0] & sides[1]) if top else False)
    return Ends(
        low,
        high,
        none & ~everything,
        missing,
        (sides[0] | everything, sides[1] | everything),
        half_open=True,
    )


def _is_edge(ends: pl.Series, edge: Any) -> np.ndarray:
    """Where an end is that of the whole grid, beyond which the cell goes on."""
    if edge is None:
        return np.zeros(len(ends), dtype=bool)
    same = (
        ends.cast(pl.String) == edge
        if isinstance(edge, str)
        else ends.cast(pl.Float64) == float(edge)
    )
    return same.fill_null(value=False).to_numpy()


def _top(attribute: PublishedAttribute, recoding: Mapping[str, Any]) -> int:
    """The level at which all values are one."""
    widths = recoding.get("widths") or (attribute.hierarchy or {}).get("widths", [])
    return len(widths) + ("widths" not in recoding)


def _nodes(attribute: PublishedAttribute, nodes: pl.Series, recoding: Mapping[str, Any]) -> Ends:
    """Nodes of a hierarchy, of which ``*`` is all values, the missing one among them, and no value
    itself; without a hierarchy values, or ``*`` for all.
    """
    null = nodes.is_null().to_numpy()
    root = (nodes == "*").fill_null(value=False).to_numpy() & (recoding.get("level") != 0)
    nodes = nodes.set(pl.Series(root), None)
    low, high = nodes, nodes
    if (tree := declared_tree(attribute)) is not None:
        low, high = (_outermost(tree, nodes, side) for side in (0, -1))
    elif (attribute.hierarchy or {}).get("kind") == "prefix":
        return _prefixes(nodes, null, root, recoding)
    return Ends(low, high, null, null | root, (root, root))


def _outermost(tree: Tree, nodes: pl.Series, side: int) -> pl.Series:
    """The first leaf under each node, or with -1 the last one; what the tree does not name, as it
    is.
    """
    ends = {node: tree.paths[places[side]][0] for node, places in spans(tree).items()}
    return nodes.replace(ends)


def _prefixes(
    nodes: pl.Series, null: np.ndarray, root: np.ndarray, recoding: Mapping[str, Any]
) -> Ends:
    """Codes cut after some characters; a star that ends one may also be the code's own, so that it
    is read as a cut.
    """
    stems = nodes.str.strip_chars_end("*")
    high = pl.Series(
        [None if stem is None else after(stem) for stem in stems.to_list()], dtype=pl.String
    )
    if recoding.get("level") == 0:
        return Ends.of_values(nodes)
    return Ends(stems, high, null, null | root, (root, root), half_open=True)
