# SPDX-License-Identifier: Apache-2.0
"""Which promises a table keeps, whatever made it: its k, its l of every kind, its t."""

from fractions import Fraction
from typing import Any, Final

from phalanx.exact import largest_ratio
from phalanx.guarantees.entropy import effective_numbers
from phalanx.guarantees.l_diversity import recursive_ratio
from phalanx.guarantees.t_closeness import farthest
from phalanx.guarantees.views.groups import Groups, Published

_MOST: Final = 20
"""Recursive diversity is told up to this l."""


def levels(table: Published) -> dict[str, Any]:
    """The levels of a table, each the best that holds.

    ``rows``, ``groups``; ``k``; and with a sensitive attribute ``distinct_l``, ``frequency_l`` (a
    fraction), ``entropy_l`` (rounded down at nine digits), ``recursive`` (for each l from 2 to
    20: the table is (c, l)-diverse for every c above this fraction), ``t_equal``, ``t_ordered``
    (fractions), and ``t_hierarchical`` where the manifest has a hierarchy. Missing values are
    values.
    """
    groups = Groups.of(table)
    figures: dict[str, Any] = {"rows": groups.rows, "groups": len(groups)}
    if not len(groups):
        return figures
    figures["k"] = int((groups.sizes - groups.counterfeits).min())
    if groups.values is None:
        return figures
    figures["distinct_l"] = int(groups.distinct.min())
    figures["frequency_l"] = 1 / largest_ratio(groups.largest, groups.sizes)[0]
    figures["entropy_l"] = min(effective_numbers(groups))
    recursive: dict[int, Fraction] = {}
    for l in range(2, min(figures["distinct_l"], _MOST) + 1):
        ratio, _ = recursive_ratio(groups, l)
        if ratio is not None:
            recursive[l] = ratio
    figures["recursive"] = recursive
    figures["t_equal"] = farthest(groups, "equal")[0]
    figures["t_ordered"] = farthest(groups, "ordered")[0]
    if groups.attribute is not None and groups.attribute.hierarchy is not None:
        figures["t_hierarchical"] = farthest(groups, "hierarchical")[0]
    return figures
