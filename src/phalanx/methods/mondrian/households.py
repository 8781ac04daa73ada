# SPDX-License-Identifier: Apache-2.0
"""Balanced cuts of households: each is one point, with all quasi-identifiers of all members, and
has the values of all of them.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from phalanx.arrays import Ints
from phalanx.data.column import Column
from phalanx.data.microdata import Microdata
from phalanx.errors import NotEligible, lower_to
from phalanx.exact import Number, exact
from phalanx.kernels.rule import Asked, of_size
from phalanx.methods.households import Alike
from phalanx.methods.mondrian.balanced import by_even_cuts, shares_of
from phalanx.randomness import Stream


def balanced_households(
    quasi: Sequence[Column], microdata: Microdata, kind: Alike, least: int, l: Number, deal: Stream
) -> Ints:
    """Which households are put together, 0 .. b-1, shape (h,): ``least`` or more, of which no more
    than 1/l have any one value. NotEligible where all of them together have one more often.
    """
    values = microdata.sensitive.codes[kind.members[:, : kind.valued]]
    positions = np.ascontiguousarray(
        np.stack([column.domain.normalised[column.codes] for column in quasi], axis=1)
    )
    asked = Asked(np.empty(0, dtype=np.int32), of_size(least))
    names = by_even_cuts(positions, deal, least, asked, shares_of(values, _at_least(exact(l, "l"))))
    if names is None:
        h, size = kind.members.shape
        ordered = np.sort(values, axis=1)
        once = np.diff(ordered, axis=1, prepend=-1) != 0
        most = int(np.bincount(ordered[once]).max())
        raise NotEligible(
            f"of {h} households of {size} rows {most} have a member with the most frequent value of"
            f" column {microdata.schema.sensitive!r}, and l = {l} allows 1/l;"
            f" {lower_to('l', math.floor(100 * h / most) / 100)}leave rows out, or make the values"
            " coarser at the source."
        )
    together: Ints = np.unique(names, return_inverse=True)[1]
    return together


def _at_least(l: Fraction) -> float:
    near = float(l)
    return near if Fraction(near) >= l else math.nextafter(near, math.inf)
