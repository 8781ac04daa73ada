# SPDX-License-Identifier: Apache-2.0
"""Tuples as slicing sees them: a value in each column, and the cells of the sensitive column that a
bucket counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phalanx.arrays import Codes, different, firsts, row_numbers
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
                values[i] = row_numbers([boxes[i].of_row], microdata.rows)
            elif names:
                codes = [microdata.columns[name].codes for name in names]
                values[i] = row_numbers(codes, microdata.rows)
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
        which = row_numbers(self.values, self.rows)
        return self.values[:, firsts(which)]


def cells_of(q: Codes, s: Codes) -> Cells:
    """Number the pairs of rows; ``q`` and ``s`` have shape (n,)."""
    values = int(s.max()) + 1
    pairs, of_row = different(q.astype(np.int64) * values + s)
    of_pair = (pairs // values).astype(np.int32)
    first = np.searchsorted(of_pair, np.arange(int(q.max()) + 2)).astype(np.int64)
    return Cells(of_row.astype(np.int32), of_pair, (pairs % values).astype(np.int32), first)
