# SPDX-License-Identifier: Apache-2.0
"""t-closeness: what a group shows about the sensitive attribute is close to what the whole table
shows (Li, Li & Venkatasubramanian, ICDE 2007).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.errors import PlanError, ReleaseError
from phalanx.exact import Number, bounded, exact, largest_ratio, plain
from phalanx.guarantees.base import FromFields, Verdict
from phalanx.guarantees.l_diversity import nothing_to_check, verdict
from phalanx.guarantees.views.groups import Groups, Published, places
from phalanx.guarantees.views.hierarchies import hierarchy_of, leaves_of, nodes_of
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release

Distance = Literal["equal", "ordered", "hierarchical"]
DISTANCES: tuple[Distance, ...] = ("equal", "ordered", "hierarchical")
_ROOM = 2**62
"""Sums that could pass this are computed with Python integers."""


@dataclass(frozen=True)
class Closeness(FromFields):
    """The earth mover's distance between every group's distribution of sensitive values and the
    published table's is at most ``t``.

    ``equal``: all different values are 1 apart. ``ordered``: by places in the order of the values
    (the declared leaves, where there is a hierarchy, used or not), scaled to 1. ``hierarchical``:
    the height of the lowest common ancestor over the height of the tree, whose short branches count
    as drawn out to full height. A missing value is a value, the first in order and alone under the
    root.

    PlanError where t is not in [0, 1] or the distance is unknown.
    """

    name: ClassVar[str] = "t-closeness"
    forms: ClassVar[tuple[str, ...]] = ("generalized",)
    of_values: ClassVar[bool] = True
    t: Number = field(metadata={"help": "Ask for t-closeness (equal distance) with this t."})
    distance: Distance = "equal"

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", bounded(self.t, "t", 0, 1))
        if self.distance not in DISTANCES:
            raise PlanError(
                f"distance must be one of {', '.join(DISTANCES)}, and is {self.distance!r}."
            )

    def check(
        self, release: Published, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The largest distance of a group, a fraction."""
        groups, bound = Groups.of(release), exact(self.t, "t")
        if early := nothing_to_check(groups, self.name, bound):
            return early
        try:
            worst, where = farthest(groups, self.distance)
        except ReleaseError as error:
            return [Verdict(name=self.name, bound=bound, worst=None, holds=False, note=str(error))]
        return [
            verdict(
                self.name,
                bound,
                worst,
                groups,
                where,
                "distance",
                holds=worst <= bound,
                note=f"{self.distance} distance, {len(groups)} groups",
            )
        ]

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence."""
        return (
            "In every group the sensitive values are distributed as in the whole table, up to a"
            f" distance of {plain(self.t)} ({self.distance} distance; t-closeness)."
        )


def farthest(groups: Groups, distance: Distance) -> tuple[Fraction, int]:
    """The largest distance of a group from the whole table, and the group's place; ReleaseError
    where a hierarchy is needed and missing.
    """
    if distance == "equal":
        cells = groups.cell_group, groups.cell_count, groups.cell_value
        work, factor = _equal(groups, *cells, groups.totals), 2
    else:
        work, factor = _ordered(groups) if distance == "ordered" else _hierarchical(groups)
    worst, where = largest_ratio(work, groups.sizes)
    return worst / (factor * groups.rows), where


def _fits(*factors: int) -> bool:
    product = 1
    for factor in factors:
        product *= factor
    return product < _ROOM


def _wide(groups: Groups, *arrays: Ints) -> list[Ints]:
    """The arrays as Python integers where 64 bits could overflow: sums stay below rows * largest
    group * (values + 1) * 2.
    """
    length = 0 if groups.values is None else len(groups.values)
    if _fits(groups.rows, int(groups.sizes.max()), length + 1, 2):
        return list(arrays)
    return [a.astype(object) for a in arrays]


def _equal(groups: Groups, group: Ints, count: Ints, value: Ints, totals: Ints) -> Ints:
    """``|g| * rows * sum_i |p_i - q_i|`` for every group; cells sorted by group, values that a
    group lacks are taken together.
    """
    sizes, count, totals = _wide(groups, groups.sizes, count, totals)
    starts = np.searchsorted(group, np.arange(len(groups)))
    apart = np.add.reduceat(abs(count * groups.rows - totals[value] * sizes[group]), starts)
    present = np.add.reduceat(totals[value], starts)
    return np.asarray(apart + (groups.rows - present) * sizes)


def _ordered(groups: Groups) -> tuple[Ints, int]:
    """``|g| * rows * sum_i |P_i - Q_i|`` of the cumulative distributions for every group, walking
    the runs of values between a group's own; and m - 1, by which it is scaled.
    """
    domain, place_of = domain_places(groups)
    m = len(domain)
    if m == 1:
        return np.zeros(len(groups), dtype=np.int64), 1
    totals = np.zeros(m, dtype=np.int64)
    totals[place_of] = groups.totals
    below = np.cumsum(totals)
    prefix = np.concatenate([[0], np.cumsum(below)])
    order = np.lexsort((place_of[groups.cell_value], groups.cell_group))
    group, place, count = (
        groups.cell_group[order],
        place_of[groups.cell_value][order],
        groups.cell_count[order],
    )
    sizes, starts, rows = groups.sizes, groups.starts, groups.rows
    reached = np.cumsum(count)
    reached = reached - np.concatenate([[0], np.cumsum(sizes)[:-1]])[group]
    # a run [a, b) of values over which the group's cumulative count stays the same; before a
    # group's first value it is 0
    ends = np.append(place[1:], m)
    ends[starts[1:] - 1] = m
    if not _fits(rows, int(sizes.max()), m + 1, 2):
        prefix, reached, sizes_wide = (x.astype(object) for x in (prefix, reached, sizes))
    else:
        sizes_wide = sizes
    crossing = np.searchsorted(
        below, (reached * rows // sizes_wide[group]).astype(np.int64), side="right"
    )
    middle = np.clip(crossing, place, ends)
    upward = (middle - place) * reached * rows - (prefix[middle] - prefix[place]) * sizes_wide[
        group
    ]
    downward = (prefix[ends] - prefix[middle]) * sizes_wide[group] - (
        ends - middle
    ) * reached * rows
    work = np.add.reduceat(upward + downward, starts) + prefix[place[starts]] * sizes_wide
    return np.asarray(work), m - 1


def _hierarchical(groups: Groups) -> tuple[Ints, int]:
    """The distance on a tree whose leaves are all equally deep: half the surplus that has to leave
    every node, summed over the levels below the root; as ``_ordered`` gives it.
    """
    attribute = groups.attribute
    if attribute is None or attribute.hierarchy is None:
        raise ReleaseError(
            "the hierarchical distance needs a hierarchy of the sensitive attribute in the"
            " manifest; take the equal or ordered one."
        )
    domain, place_of = domain_places(groups)
    levels = nodes_of(hierarchy_of(attribute.hierarchy, attribute.name), domain)
    height = levels.width - 1
    work: Any = 0
    for level in levels.columns[:-1]:
        # a null node is the missing value, which stands alone below the root at every level
        nodes, node_of_leaf = places(levels[level])
        node = node_of_leaf[place_of]
        totals = np.bincount(node, weights=groups.totals, minlength=len(nodes)).astype(np.int64)
        key = groups.cell_group * len(nodes) + node[groups.cell_value]
        cells, inverse = np.unique(key, return_inverse=True)
        count = np.bincount(inverse, weights=groups.cell_count).astype(np.int64)
        work = work + _equal(groups, cells // len(nodes), count, cells % len(nodes), totals)
    return work, 2 * height


def _values(groups: Groups) -> pl.Series:
    if groups.values is None:
        raise ReleaseError("no sensitive attribute is published, and this distance is about one.")
    return groups.values


def domain_places(groups: Groups) -> tuple[pl.Series, Ints]:
    """The ordered domain of the sensitive attribute, and the place in it of every published
    value.
    """
    values, attribute = _values(groups), groups.attribute
    if attribute is None or attribute.hierarchy is None:
        return values, np.arange(len(values))
    domain = leaves_of(hierarchy_of(attribute.hierarchy, attribute.name), values)
    if values.null_count():
        domain = pl.concat([pl.Series(values.name, [None], dtype=values.dtype), domain])
    lookup = pl.DataFrame({"value": domain, "place": np.arange(len(domain), dtype=np.int64)})
    places = pl.DataFrame({"value": values}).join(
        lookup, on="value", how="left", nulls_equal=True, maintain_order="left"
    )["place"]
    return domain, places.to_numpy().astype(np.int64)
