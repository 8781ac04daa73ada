# SPDX-License-Identifier: Apache-2.0
"""Buckets of slicing by Mondrian's cuts, judged by the halves alone or by all buckets that a tuple
matches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from phalanx.data.microdata import Microdata
from phalanx.methods.mondrian.kernels.cuts import L_DEN, L_NUM
from phalanx.methods.mondrian.method import Mondrian, rule_of
from phalanx.methods.slicing.counting import above
from phalanx.methods.slicing.kernels.exact_cuts import cut_exact
from phalanx.methods.slicing.kernels.local_cuts import cut_local, keeps
from phalanx.methods.slicing.tuples import Cells, Coded, Codes, Floats, Ints, numbered
from phalanx.randomness import Stream


@dataclass(frozen=True, eq=False)
class Local:
    """What a bucket must keep by itself, so that every tuple that may be in it is covered."""

    lines: Codes
    """Shape (m, n): the cells of every row, one for each value that is protected."""
    cells: Cells
    rule: Ints
    about: tuple[Any, ...]
    """What the kernels take."""

    @classmethod
    def of(
        cls,
        requirement: Mondrian,
        microdata: Microdata,
        coded: Coded,
        columns: Sequence[Sequence[str]],
    ) -> "Local":
        """A bucket's ``requirement`` as a rule on a table; every column is protected where no
        attribute is sensitive.
        """
        secret = microdata.schema.sensitive
        rule, log_l, totals, nodes, node_totals, values = rule_of(
            requirement,
            microdata.rows,
            microdata.quasi[0] if secret is None else microdata.columns[secret],
        )
        lines, cells = (
            _every_column(microdata, coded, columns)
            if secret is None
            else _of_sensitive(coded, values)
        )
        return cls(
            lines,
            cells,
            rule,
            (cells.q, cells.s, cells.first, rule, log_l, totals, nodes, node_totals),
        )

    def keeps(self, rows: Ints) -> bool:
        """Whether these rows, as one bucket, keep it."""
        return bool(keeps(self.lines[:, rows].ravel(), *self.about))


def by_cuts(
    local: Local,
    microdata: Microdata,
    coded: Coded,
    stream: Stream | None,
    *,
    over_all_buckets: bool,
) -> Ints:
    """The bucket of every row, 0 .. g-1, shape (n,); as one bucket they keep the promise.

    ``over_all_buckets``: whether a cut is judged by p(t, s), else by its halves alone. Relaxed cuts
    deal equal values out in the order in which they stand, so tuples are shuffled by ``stream``
    first.
    """
    n, quasi = microdata.rows, microdata.quasi
    order = np.arange(n) if stream is None else stream.permutation(n)
    below = np.concatenate([coded.values[:-1], local.lines]) if over_all_buckets else local.lines
    codes = np.ascontiguousarray(
        np.concatenate([[column.codes for column in quasi], below])[:, order], dtype=np.int32
    )
    positions = np.concatenate([column.domain.normalised for column in quasi])
    offsets = np.cumsum([0, *(len(column.domain) for column in quasi)], dtype=np.int64)
    if over_all_buckets:
        return _over_all(local, coded, codes, order, positions, offsets)
    rows, begins = order.astype(np.int32), np.zeros(n, dtype=np.bool_)
    cut_local(codes, rows, positions, offsets, *local.about, begins)
    return _numbers(rows, begins)


def _over_all(
    local: Local, coded: Coded, codes: Codes, order: Ints, positions: Floats, offsets: Ints
) -> Ints:
    """Buckets cut by p(t, s); tuples that counting gives a value with more than 1/l are asked to
    keep it in each bucket, and all is cut anew, until there are none.
    """
    tuples, cells = np.ascontiguousarray(coded.distinct), local.cells
    widths, l = coded.values.max(axis=1).astype(np.int64) + 1, local.rule[L_NUM] / local.rule[L_DEN]
    in_each = np.zeros(tuples.shape[1], dtype=np.bool_)
    while True:
        again, rows, begins = (
            codes.copy(),
            order.astype(np.int32),
            np.zeros(len(order), dtype=np.bool_),
        )
        tuple_of, starts, _ = cut_exact(
            again,
            rows,
            positions,
            offsets,
            tuples,
            widths,
            cells.q,
            cells.s,
            cells.first,
            in_each,
            local.rule,
            -1,
            begins,
        )
        buckets = _numbers(rows, begins)
        found = above(
            coded, buckets, tuple_of.astype(np.int64), (np.cumsum(begins) - 1)[starts], float(l)
        )
        if not found.any():
            return buckets
        in_each |= found


def _numbers(rows: Codes, begins: npt.NDArray[np.bool_]) -> Ints:
    """The bucket of every row, 0 .. g-1, of ``rows`` in the order of buckets, each of which begins
    somewhere.
    """
    buckets = np.empty(len(rows), dtype=np.int64)
    buckets[rows] = np.cumsum(begins) - 1
    return buckets


def _of_sensitive(coded: Coded, values: npt.NDArray[np.int32]) -> tuple[Codes, Cells]:
    """One cell a row: the sensitive value, numbered as the rule does, among those with the row's
    quasi-identifiers beside it.
    """
    cells = Cells.of(coded.values[-1], values)
    return cells.of_row[None, :], cells


def _every_column(
    microdata: Microdata, coded: Coded, columns: Sequence[Sequence[str]]
) -> tuple[Codes, Cells]:
    """A cell for each column of a row: the column's value, among the rows of the bucket that agree
    on what the column shares with others.
    """
    found: list[Cells] = []
    for i, column in enumerate(columns):
        elsewhere = {name for j, other in enumerate(columns) if j != i for name in other}
        shared = [microdata.columns[name].codes for name in column if name in elsewhere]
        found.append(
            Cells.of(
                numbered(shared) if shared else np.zeros(coded.rows, dtype=np.int32),
                coded.values[i],
            )
        )
    cells_before = np.cumsum([0, *(len(c.q) for c in found)])
    q_before = np.cumsum([0, *(len(c.first) - 1 for c in found)])
    lines = np.stack(
        [c.of_row + before for c, before in zip(found, cells_before, strict=False)]
    ).astype(np.int32)
    q = np.concatenate([c.q + before for c, before in zip(found, q_before, strict=False)]).astype(
        np.int32
    )
    first = np.concatenate(
        [*(c.first[:-1] + before for c, before in zip(found, cells_before, strict=False)), [len(q)]]
    ).astype(np.int64)
    return lines, Cells(lines.ravel(), q, np.concatenate([c.s for c in found]), first)
