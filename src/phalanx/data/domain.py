# SPDX-License-Identifier: Apache-2.0
"""The ordered domain of an attribute: distinct values, their codes, and their positions on a
line.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.data.hierarchies.hierarchy import Hierarchy
from phalanx.data.schema import Type

_LINES: Final = 2**30
"""How long the lines of all attributes are together, on which values have whole places."""


@dataclass(frozen=True, eq=False)
class Domain:
    """Code ``c`` stands for ``values[c]``; codes grow with the attribute's order (numbers, dates,
    leaves left to right).
    """

    type: Type
    values: pl.Series
    """Distinct values in order; the first is null where a missing value counts as a value of its
    own.
    """
    hierarchy: Hierarchy | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def has_missing(self) -> bool:
        """Whether code 0 stands for the missing value."""
        return len(self.values) > 0 and self.values[0] is None

    @cached_property
    def positions(self) -> npt.NDArray[np.float64]:
        """Real positions, shape (len,): the number, the day, or the leaf's place; missing lies one
        mean gap below the rest.
        """
        first = int(self.has_missing)
        present = self.values[first:]
        if self.type in ("categorical", "set"):
            places = np.arange(len(present), dtype=np.float64)
        else:
            places = present.to_physical().cast(pl.Float64).to_numpy()
        if not first:
            return places
        # of halves, which are exact, as no float may hold how far apart the ends are
        least, greatest = (float(places[0]), float(places[-1])) if len(places) else (1.0, 1.0)
        gap = (greatest / 2 - least / 2) / (len(places) - 1) * 2 if len(places) > 1 else 1.0
        below = max(least - gap, -sys.float_info.max)
        return np.concatenate([[below], places])

    @cached_property
    def normalised(self) -> npt.NDArray[np.float64]:
        """Positions scaled to [0, 1], shape (len,); all zero where the domain is a point."""
        positions = self.positions
        if len(self) == 0:
            return positions
        if not np.isfinite(float(positions[-1]) - float(positions[0])):
            positions = positions / 2  # so that no difference is beyond all numbers
        low, high = positions[0], positions[-1]
        scaled = np.zeros(len(self)) if high == low else (positions - low) / (high - low)
        return np.asarray(scaled, dtype=np.float64)

    def places(self, longest: int) -> npt.NDArray[np.float64]:
        """Positions as whole numbers on a line that is so long, rounded to the nearest, shape
        (len,); and pushed apart where they come to the same, so that one value far from all others
        does not make these equal, unless a sixteenth of the line had no room for all values.
        """
        rounded = np.rint(self.normalised * longest)
        if len(self) > longest // 16:
            return np.asarray(rounded, dtype=np.float64)
        codes = np.arange(len(self))
        return np.asarray(np.maximum.accumulate(rounded - codes) + codes, dtype=np.float64)

    @cached_property
    def ancestors(self) -> pl.DataFrame | None:
        """One text column per level of the hierarchy, one row per code; a missing value stands
        under the root alone.
        """
        if self.hierarchy is None:
            return None
        first = int(self.has_missing)
        table = self.hierarchy.ancestors(self.values[first:])
        if not first:
            return table
        alone = pl.DataFrame(
            {name: ["*" if name == table.columns[-1] else None] for name in table.columns},
            schema=table.schema,
        )
        return pl.concat([alone, table])


def whole_places(domains: Sequence[Domain]) -> list[npt.NDArray[np.float64]]:
    """Where the values of each attribute are, on lines that are 2**30 long together: whole numbers,
    so that widths on all attributes add up to the same in any order, and to less than 2**31.
    """
    return [domain.places(_LINES // len(domains)) for domain in domains]
