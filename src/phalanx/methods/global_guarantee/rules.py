# SPDX-License-Identifier: Apache-2.0
"""What a plan asks of every release of a series under the global guarantee."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from phalanx.methods.global_guarantee.ratios import Strategy


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a plan asks of every release of a series, as far as a round needs it."""

    bound: Fraction
    """The l of the promise."""
    least: int
    """The least size of any group."""
    balanced: bool
    """Whether the table is cut evenly; else groups grow around holders."""
    protect: str | Sequence[Any] | Mapping[str, float]
    """As in the plan: all values, those listed, or those that are rare at first."""
    permanent: Sequence[Any]
    """The protected values that stay with a person."""
    min_width: Mapping[str, float]
    """Per quasi-identifier the least width of a published interval."""
    spending: Callable[[Sequence[int], int], Strategy]
    """How budgets are spent, from the exposures that a series shows after so many releases."""
