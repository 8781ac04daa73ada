"""Buckets of slicing by Mondrian's cuts, judged by the halves alone or by all buckets that a tuple matches."""

from typing import TYPE_CHECKING

import numpy as np

from phalanx.data.microdata import Microdata
from phalanx.errors import NotEligible
from phalanx.kernels.exact_cuts import cut_exact
from phalanx.kernels.local_cuts import cut_local, keeps
from phalanx.methods.mondrian import Mondrian, rule_of
from phalanx.methods.tuples import Cells, Coded, Ints
from phalanx.randomness import Stream

if TYPE_CHECKING:
    from phalanx.methods.slicing import Slicing


def by_cuts(method: "Slicing", microdata: Microdata, coded: Coded, stream: Stream, *, over_all_buckets: bool) -> Ints:
    """The bucket of every row, 0 .. g-1, shape (n,); NotEligible where the table as one bucket does not keep the promise.

    ``over_all_buckets``: whether a cut is judged by p(t, s), else by its halves alone. Relaxed cuts deal equal values out in the order in which they stand,
    so tuples are shuffled by ``stream`` first.
    """
    n, quasi = microdata.rows, microdata.quasi
    order = stream.permutation(n) if method.cuts == "relaxed" else np.arange(n)
    of_bucket = Mondrian(k=method.bucket_size or 1, l=method.l, diversity=method.diversity, c=method.c, t=method.t, distance=method.distance, cuts=method.cuts)
    sensitive = microdata.columns[microdata.schema.sensitive] if microdata.schema.sensitive is not None else quasi[0]
    rule, log_l, totals, nodes, node_totals, values = rule_of(of_bucket, n, sensitive)
    lines, cells = _every_column(coded) if coded.sensitive is None else _of_sensitive(coded, values)
    about = cells.q, cells.s, cells.first, rule, log_l, totals, nodes, node_totals
    if not keeps(lines.ravel(), *about):
        raise NotEligible(
            f"the table as one bucket does not keep what [method] asks (l = {method.l}, t = {method.t}); lower l, raise t, or name fewer attributes in the sensitive column."
        )
    below = np.concatenate([coded.values[:-1], lines]) if over_all_buckets else lines
    codes = np.ascontiguousarray(np.concatenate([[column.codes for column in quasi], below])[:, order], dtype=np.int32)
    positions = np.concatenate([column.domain.normalised for column in quasi])
    offsets = np.cumsum([0, *(len(column.domain) for column in quasi)], dtype=np.int64)
    rows, begins = order.astype(np.int32), np.zeros(n, dtype=np.bool_)
    if over_all_buckets:
        tuples, _ = coded.distinct
        widths = coded.values.max(axis=1).astype(np.int64) + 1
        cut_exact(codes, rows, positions, offsets, np.ascontiguousarray(tuples), widths, cells.q, cells.s, cells.first, rule, -1, begins)
    else:
        cut_local(codes, rows, positions, offsets, *about, begins)
    buckets = np.empty(n, dtype=np.int64)
    buckets[rows] = np.cumsum(begins) - 1
    return buckets


def _of_sensitive(coded: Coded, values: np.ndarray) -> tuple[np.ndarray, Cells]:
    """One cell a row: the sensitive value, numbered as the rule does, among those with the row's quasi-identifiers beside it."""
    cells = Cells.of(coded.values[-1], values)
    return cells.of_row[None, :], cells


def _every_column(coded: Coded) -> tuple[np.ndarray, Cells]:
    """A cell for each column of a row: the column's value, among all rows of the bucket."""
    widths = coded.values.max(axis=1) + 1
    starts = np.concatenate([[0], np.cumsum(widths)])
    which = np.repeat(np.arange(len(widths)), widths).astype(np.int32)
    of_row = (coded.values + starts[:-1, None]).astype(np.int32)
    return of_row, Cells(of_row.ravel(), which, (np.arange(starts[-1]) - starts[which]).astype(np.int32), starts.astype(np.int64))
