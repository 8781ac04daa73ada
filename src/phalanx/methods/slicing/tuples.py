# SPDX-License-Identifier: Apache-2.0
"""Tuples as slicing sees them: a value in each column, and the cells of the sensitive column that a
bucket counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phalanx.arrays import Codes, Integers, different, firsts
from phalanx.data.microdata import Microdata
from phalanx.methods.slicing.kernels.halves import Cells
from phalanx.release.forms.sliced import Boxes


@dataclass(frozen=True, eq=False)
class Coded:
    """Every row's value in each column, as a number; of the sensitive column, in the last place,
    its quasi-identifiers only.
    """

    values: Codes
    """Shape (c, n): numbers from 0 in each column, all of which occur."""
    sensitive: Codes | None
    """Shape (n,): codes of the sensitive attribute; None where there is none."""

    @classmethod
    def of(
        cls, microdata: Microdata, columns: Sequence[Sequence[str]], boxes: Mapping[int, Boxes]
    ) -> "Coded":
        """Number the values; generalized columns have one for each box."""
        secret = microdata.schema.sensitive
        values = np.zeros((len(columns), microdata.rows), dtype=np.int32)
        for i, column in enumerate(columns):
            names = [name for name in column if name != secret]
            if i in boxes:
                values[i] = numbered([boxes[i].of_row])
            elif names:
                values[i] = numbered([microdata.columns[name].codes for name in names])
        return cls(values, None if secret is None else microdata.columns[secret].codes)

    @property
    def rows(self) -> int:
        """How many tuples there are."""
        return int(self.values.shape[1])

    @cached_property
    def cells(self) -> Cells:
        """The pairs of a sensitive value and the quasi-identifiers beside it, of every row."""
        if self.sensitive is None:
            raise ValueError("cells are about a sensitive attribute")
        return cells_of(self.values[-1], self.sensitive)

    @cached_property
    def distinct(self) -> Codes:
        """The different tuples, without their sensitive values, shape (c, t)."""
        which = numbered(list(self.values))
        return self.values[:, firsts(which)]


def cells_of(q: Codes, s: Codes) -> Cells:
    """Number the pairs of rows; ``q`` and ``s`` have shape (n,)."""
    values = int(s.max()) + 1
    pairs, of_row = different(q.astype(np.int64) * values + s)
    of_pair = (pairs // values).astype(np.int32)
    first = np.searchsorted(of_pair, np.arange(int(q.max()) + 2)).astype(np.int64)
    return Cells(of_row.astype(np.int32), of_pair, (pairs % values).astype(np.int32), first)


def numbered(codes: Sequence[Integers]) -> Codes:
    """The number of every row's combination of codes, 0 .. v-1 in their order, shape (n,); what checks
    has a function of its own for that, so that a mistake in one does not hide behind the other.
    """
    combined = codes[0].astype(np.int64)
    for more in codes[1:]:
        width = int(more.max()) + 1
        if int(combined.max()) >= 2**31:
            combined = different(combined)[1]
        combined = combined * width + more
    return different(combined)[1].astype(np.int32)
