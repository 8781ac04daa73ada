# SPDX-License-Identifier: Apache-2.0
"""Buckets of slicing by Mondrian's cuts, judged by the halves alone or by all buckets that a tuple
matches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from phalanx.arrays import Codes, Ints
from phalanx.data.microdata import Microdata
from phalanx.kernels.rule import Rule
from phalanx.methods.mondrian.kernels.cutting import AT_LAST, STRICT, Table
from phalanx.methods.mondrian.kernels.narrow_cuts import LOOKED_AT
from phalanx.methods.mondrian.method import groups_of, table_of
from phalanx.methods.requirement import Requirement
from phalanx.methods.slicing.counting import above
from phalanx.methods.slicing.kernels.diversity_check import Tuples
from phalanx.methods.slicing.kernels.halves import Cells, keeps
from phalanx.methods.slicing.kernels.tuple_partition import tuple_partition
from phalanx.methods.slicing.tuples import Coded, cells_of, numbered
from phalanx.randomness import Stream


class Way(NamedTuple):
    """How rows are cut, as the kernel has it."""

    how: int
    compared: int


STRICTLY: Final = Way(STRICT, 0)
"""As in the paper: at medians, and rows of equal values stay together."""
RELAXEDLY: Final = Way(AT_LAST, LOOKED_AT)
"""Where buckets are expected to be narrowest, and then at medians; only where no cut between values
is allowed do rows of equal values fall on both sides. Chosen on made-up tables, see
experiments/slicing/cut_rules.py."""


@dataclass(frozen=True, eq=False)
class Local:
    """What a bucket must keep by itself, so that every tuple that may be in it is covered."""

    lines: Codes
    """Shape (m, n): the cells of every row, one for each value that is protected."""
    cells: Cells
    rule: Rule

    @classmethod
    def of(
        cls,
        requirement: Requirement,
        microdata: Microdata,
        coded: Coded,
        columns: Sequence[Sequence[str]],
    ) -> "Local":
        """A bucket's ``requirement`` as a rule on a table; every column is protected where no
        attribute is sensitive.
        """
        secret = microdata.schema.sensitive
        if secret is None:
            rule = requirement.on(microdata.rows, microdata.quasi[0]).rule
            return cls(*_every_column(microdata, coded, columns), rule)
        asked = requirement.on(microdata.rows, microdata.columns[secret])
        cells = cells_of(coded.values[-1], asked.sensitive)
        return cls(cells.of_row[None, :], cells, asked.rule)

    def keeps(self, rows: Ints) -> bool:
        """Whether these rows, as one bucket, keep it."""
        return bool(keeps(np.take(self.lines, rows, axis=1), self.cells, self.rule))


def by_cuts(
    local: Local,
    microdata: Microdata,
    coded: Coded,
    stream: Stream | None,
    *,
    over_all_buckets: bool,
    way: Way | None = None,
) -> Ints:
    """The bucket of every row, 0 .. g-1, shape (n,); as one bucket they keep the promise.

    ``over_all_buckets``: whether a cut is judged by p(t, s), else by its halves alone. Relaxed cuts
    deal equal values out in the order in which they stand, so tuples are shuffled by ``stream``
    first; without one, cuts are strict. ``way``: how to cut, if not so.
    """
    table = table_of(
        microdata.quasi, [*(coded.values[:-1] if over_all_buckets else []), *local.lines]
    )
    way = way or (STRICTLY if stream is None else RELAXEDLY)
    if stream is not None:
        order = stream.permutation(microdata.rows)
        table = table._replace(
            codes=np.take(table.codes, order, axis=1), rows=order.astype(np.int32)
        )
    if over_all_buckets:
        return _over_all(local, coded, table, way)
    none = Tuples(np.empty((0, 0), dtype=np.int32), np.empty(0, dtype=np.bool_))
    tuple_partition(table, local.cells, local.rule, *way, none, -1)
    return groups_of(table)


def _over_all(local: Local, coded: Coded, table: Table, way: Way) -> Ints:
    """Buckets cut by p(t, s); tuples that counting gives a value with more than 1/l are asked to
    keep it in each bucket, and all is cut anew, until there are none.
    """
    l = local.rule.l_num / local.rule.l_den
    distinct = np.ascontiguousarray(coded.distinct)
    tuples = Tuples(distinct, np.zeros(distinct.shape[1], dtype=np.bool_))
    while True:
        again = table._replace(
            codes=table.codes.copy(), rows=table.rows.copy(), begins=table.begins.copy()
        )
        tuple_of, starts, _ = tuple_partition(again, local.cells, local.rule, *way, tuples, -1)
        buckets, of_place = groups_of(again), np.cumsum(again.begins) - 1
        bad = above(coded, buckets, tuple_of.astype(np.int64), of_place[starts], l)
        if not bad.any():
            return buckets
        tuples.in_each[bad] = True


def _every_column(
    microdata: Microdata, coded: Coded, columns: Sequence[Sequence[str]]
) -> tuple[Codes, Cells]:
    """A cell for each column of a row: the column's value, among the rows of the bucket that agree
    on what the column shares with others.
    """
    by_column: list[Cells] = []
    for i, column in enumerate(columns):
        elsewhere = {name for j, other in enumerate(columns) if j != i for name in other}
        shared = [microdata.columns[name].codes for name in column if name in elsewhere]
        by_column.append(
            cells_of(
                numbered(shared) if shared else np.zeros(coded.rows, dtype=np.int32),
                coded.values[i],
            )
        )
    cells_before = np.cumsum([0, *(len(c.q) for c in by_column)])
    q_before = np.cumsum([0, *(len(c.first) - 1 for c in by_column)])
    lines = np.stack(
        [c.of_row + before for c, before in zip(by_column, cells_before, strict=False)]
    ).astype(np.int32)
    q = np.concatenate(
        [c.q + before for c, before in zip(by_column, q_before, strict=False)]
    ).astype(np.int32)
    first = np.concatenate(
        [
            *(c.first[:-1] + before for c, before in zip(by_column, cells_before, strict=False)),
            [len(q)],
        ]
    ).astype(np.int64)
    return lines, Cells(lines.ravel(), q, np.concatenate([c.s for c in by_column]), first)
