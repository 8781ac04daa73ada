# SPDX-License-Identifier: Apache-2.0
"""Whether the table, taken as one bucket, keeps l: which rows may stay so that it does, and what
stands in the way where it does not.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from phalanx.arrays import Bools, Integers, Ints, in_order
from phalanx.data.microdata import Microdata
from phalanx.errors import NotEligible, listed, lower_to
from phalanx.exact import Number, exact
from phalanx.methods.m_invariance.method import largest_eligible
from phalanx.methods.slicing.tuples import Coded, cells_of


def eligible(q: Integers, sensitive: Integers, l: int | Fraction, order: Ints) -> Bools:
    """Which rows may stay so that no value has more than 1/l of the rows with its q, as many as
    possible, shape (n,); who is suppressed is drawn by lot, which ``order`` (n,) is.
    """
    cells = cells_of(q.astype(np.int32), sensitive.astype(np.int32))
    counts = np.bincount(cells.of_row)
    cap = np.zeros(len(counts), dtype=np.int64)
    for start, end in zip(cells.first[:-1].tolist(), cells.first[1:].tolist(), strict=True):
        cap[start:end] = largest_eligible(counts[start:end], l)
    order = order[in_order(cells.of_row[order])]
    stays = np.empty(len(q), dtype=bool)
    stays[order] = (
        np.arange(len(q)) - (np.cumsum(counts) - counts)[cells.of_row[order]]
        < cap[cells.of_row[order]]
    )
    return stays


def largest_share(coded: Coded) -> tuple[int, int, int]:
    """The largest share that a value has in the whole table, as a count of how many, and the column
    it stands in (by place).

    Of the sensitive attribute, among the rows that agree on what stands beside it; of all columns,
    where there is none.
    """
    if coded.sensitive is None:
        counts = [int(np.bincount(column).max()) for column in coded.values]
        where = int(np.argmax(counts))
        return counts[where], coded.rows, where
    cells = coded.cells
    counts_of = np.bincount(cells.of_row, minlength=len(cells.q))
    among = np.bincount(coded.values[-1])[cells.q]
    worst = int(np.argmax(counts_of / among))
    return int(counts_of[worst]), int(among[worst]), len(coded.values) - 1


def check_eligible(
    microdata: Microdata,
    coded: Coded,
    columns: Sequence[Sequence[str]],
    asked: Number,
    *,
    columns_are_named: bool,
    may_suppress: bool,
    may_generalize: bool,
    whole_l: bool,
) -> None:
    """NotEligible where the whole table, taken as one bucket, does not keep the largest share that
    l, as it was ``asked`` for, allows; with the ways out that other parameters leave: whether rows may
    be suppressed, columns generalized, and l any number or a ``whole_l`` alone.
    """
    l, sensitive = exact(asked, "l"), microdata.schema.sensitive
    above, below, where = largest_share(coded)
    if l * above <= below:
        return
    most_l = below // above if whole_l else math.floor(100 * below / above) / 100
    lower = lower_to("l", most_l)
    suppress = "suppress rows with not_eligible, or " * may_suppress
    if sensitive is None:
        raise NotEligible(
            f"a value of column {' + '.join(columns[where])} stands in {above} of {below} rows,"
            f" and l = {asked} allows at most 1/l; {lower}put more attributes into that column, or"
            " drop those that hardly vary."
        )
    beside = [name for name in columns[-1] if name != sensitive]
    if not beside:
        raise NotEligible(
            f"a value of column {sensitive!r} stands in {above} of {below} rows, and l ="
            f" {asked} allows at most 1/l; {lower}{suppress}make the values coarser at the source."
        )

    def kept(*names: str) -> bool:
        above, below, _ = largest_share(Coded.of(microdata, [[*names, sensitive]], {}))
        return l * above <= below

    if not kept():
        most = int(np.bincount(microdata.sensitive.codes).max())
        alone = "" if columns_are_named else "set sensitive_column_size = 1 and "
        way_out = (
            f"a value stands in {most} of all {coded.rows} rows, so {lower}"
            f"{(alone + suppress) if may_suppress else ''}make the values coarser at the source."
        )
    else:
        blockers = [name for name in beside if not kept(name)]
        which = (
            f"{listed(blockers)} {'stands' if len(blockers) == 1 else 'stand'} in the way"
            if blockers
            else "they do so only together"
        )
        remedy = (
            "name columns that leave the sensitive attribute alone"
            if columns_are_named
            else "set sensitive_column_size = 1"
        )
        way_out = (
            f"{which}: {remedy}, {lower}or make {'it' if len(beside) == 1 else 'them'} coarser"
            f" {'with generalize_columns_k' if may_generalize else 'at the source'}."
        )
    raise NotEligible(
        f"a value of column {sensitive!r} stands in {above} of {below} rows that agree on"
        f" {listed(beside)}, and l = {asked} allows at most 1/l; {way_out}"
    )
