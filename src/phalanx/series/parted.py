# SPDX-License-Identifier: Apache-2.0
"""How a table in parts is drafted: here or on Spark, and as what is remembered and counted asks."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from phalanx.engines.out_of_core import Divided
from phalanx.engines.spark.source import OnSpark
from phalanx.methods.base import Method
from phalanx.series.counted import DraftingByCounts, counts
from phalanx.series.in_parts import DraftingInParts
from phalanx.series.staying import DraftingStaying, Recalled

if TYPE_CHECKING:
    from phalanx.series.on_spark import DraftingOnSpark


def way_of(
    parted: Divided | OnSpark, method: Method, recalled: Recalled
) -> "Callable[..., DraftingInParts | DraftingOnSpark]":
    """What drafts a table in parts: of persons who are followed, with all that was ``recalled``; by
    counts; or part by part. What drafts on Spark is loaded for Spark alone.
    """
    here: Callable[..., DraftingInParts]
    if isinstance(parted, Divided):
        if method.needs_persons:
            here = partial(DraftingStaying, recalled=recalled)
        else:
            here = DraftingByCounts if counts(method) else DraftingInParts
        return here

    from phalanx.series.counted_on_spark import CountingOnSpark
    from phalanx.series.on_spark import DraftingOnSpark
    from phalanx.series.staying_on_spark import StayingOnSpark

    there: Callable[..., DraftingOnSpark]
    if method.needs_persons:
        there = partial(StayingOnSpark, recalled=recalled)
    else:
        there = CountingOnSpark if counts(method) else DraftingOnSpark
    return there


__all__ = ["way_of"]
