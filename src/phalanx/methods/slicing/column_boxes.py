# SPDX-License-Identifier: Apache-2.0
"""The boxes that become of a column's values, each shared by enough rows (Li, Li, Zhang, Molloy,
"Slicing", section 4.2).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from phalanx.arrays import Ints, in_order
from phalanx.data.microdata import Microdata
from phalanx.errors import MethodError, PlanError
from phalanx.exact import whole
from phalanx.methods.mondrian.method import Mondrian, partition
from phalanx.release.forms.sliced import Boxes

_KEY: Final = "[method] generalize_columns_k"


def column_boxes(
    microdata: Microdata, columns: Sequence[Sequence[str]], k: int
) -> dict[int, Boxes]:
    """Boxes for every column that has quasi-identifiers, by its place; each box holds at least
    ``k`` rows of the whole table.

    A box is an interval of each quasi-identifier of the column, no wider than its rows; no two
    boxes of a column have a value in common, so that an adversary who knows a person's values knows
    the box. What is sensitive is in no box. With ``k`` = 1 a box is one column value.

    ``columns`` are names of attributes. Raises PlanError where ``k`` is no whole number of at least
    1 or an attribute stands in two columns, MethodError for fewer than ``k`` rows.

    Source: the paper leaves the way open and names Mondrian; these are its strict cuts at medians,
    over the column's attributes only.
    """
    whole(k, _KEY)
    if sum(map(len, columns)) > len(set().union(*columns)):
        raise PlanError(
            f"{_KEY} cannot be kept where an attribute stands in two columns, whose intervals would"
            " cross; leave it out."
        )
    if microdata.rows < k:
        raise MethodError(
            f"the table has {microdata.rows} row(s) and {_KEY} = {k} asks for as many with each"
            " column value; lower it, or leave it out."
        )
    quasi_of = [
        [name for name in column if name != microdata.schema.sensitive] for column in columns
    ]
    return {place: _boxes(microdata, names, k) for place, names in enumerate(quasi_of) if names}


def _boxes(microdata: Microdata, names: Sequence[str], k: int) -> Boxes:
    of_row = partition(
        Mondrian(k=k, cut_at="median"), [microdata.columns[name] for name in names], None
    )
    order = in_order(of_row)
    begins = np.flatnonzero(np.diff(of_row[order], prepend=-1))
    ends: dict[str, tuple[Ints, Ints]] = {}
    for name in names:
        codes = microdata.columns[name].codes[order].astype(np.int64)
        ends[name] = np.minimum.reduceat(codes, begins), np.maximum.reduceat(codes, begins)
    return Boxes(of_row, ends)
