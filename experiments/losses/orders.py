# SPDX-License-Identifier: Apache-2.0
"""Groups of k along a line beside Mondrian's cuts, and Mondrian's cuts with other orders of the
categories than the alphabet's.

    PHALANX_DATA=FOLDER python experiments/losses/orders.py [--k 10] [--only adult6|adult8|acs]

*Hilbert*: rows in the order of a Hilbert curve through all quasi-identifiers, cut into groups so
that the sum of size times width is the least there is (Ghinita, Karras, Kalnis, Mamoulis, "Fast
data anonymization with low information loss", VLDB 2007: groups of k to 2k - 1 rows suffice, and
dynamic programming finds them). *Along the cuts*: the same optimum along the order in which the
cuts of least width left the rows. Both part rows that are equal, as relaxed cuts do.

Orders of categories: the *alphabet*, what Mondrian takes where nothing else is declared; how
*frequent* values are; *beside the others*: the first axis of a correspondence analysis, so that
values stand together whose rows have the same other quasi-identifiers; *hierarchy*: the order of
the published hierarchies (Adult alone); *random*: the mean of five. All of them follow from
quasi-identifiers and public files alone.

Width: mean over rows and attributes, as a part of the range, in the order that was used. *Error*:
median relative error of 300 counts about two attributes, a third of the values of each: numbers in
a row, categories at random, so that no order is favoured; rows are spread evenly over their box.
Seconds of the processor, for making the groups: the shorter of two runs after one that loads the
kernels.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numba
import numpy as np
import numpy.typing as npt
import polars as pl
from folders import data_file, show

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.methods.mondrian.method import Mondrian, partition

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Order = Callable[[pl.DataFrame, str], Sequence[str]]

ADULT = ["age", "workclass", "education_num", "marital_status", "race", "sex"]
SETS = {
    "adult6": ("Adult, 6 QI", "adult", ADULT),
    "adult8": ("Adult, 8 QI", "adult", [*ADULT, "native_country", "hours_per_week"]),
    "acs": ("ACS, 4 QI", "acs2018_occsal", ["age", "sex", "education", "birthplace"]),
}
BITS, BINS, SEEDS, QUERIES = 7, 10, 5, 300
Sets = list[tuple[str, set[str]]]
"""Of some attributes the values that a count asks for, as texts."""


@dataclass(frozen=True)
class Encoded:
    microdata: Microdata
    texts: dict[str, Sequence[str]]
    """The values that codes stand for."""


def hilbert(places: Floats) -> Ints:
    """Where rows (n, d) in the unit cube lie on a Hilbert curve: its order of them, shape (n,).

    Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707, 2004, on all rows at
    once.
    """
    x = np.round(places * (2**BITS - 1)).astype(np.int64).T.copy()
    top = 1 << (BITS - 1)
    q = top
    while q > 1:
        for axis in range(len(x)):
            set_ = (x[axis] & q) > 0
            swapped = np.where(set_, 0, (x[0] ^ x[axis]) & (q - 1))
            x[0] ^= np.where(set_, q - 1, swapped)
            if axis:
                x[axis] ^= swapped
        q >>= 1
    for axis in range(1, len(x)):
        x[axis] ^= x[axis - 1]
    turned = np.zeros(x.shape[1], dtype=np.int64)
    q = top
    while q > 1:
        turned ^= np.where((x[-1] & q) > 0, q - 1, 0)
        q >>= 1
    x ^= turned
    place = np.zeros(x.shape[1], dtype=np.int64)
    for bit in reversed(range(BITS)):
        for axis in range(len(x)):
            place = 2 * place + ((x[axis] >> bit) & 1)
    return np.argsort(place, kind="stable")


@numba.njit(nogil=True)
def best_ends(places: Floats, k: int) -> Ints:
    """Of rows (n, d) on a line, the cuts into groups of k or more whose sum of size times width is
    least: where the group that ends before each row begins, shape (n + 1,).
    """
    n, d = places.shape
    least = np.full(n + 1, np.inf)
    begin = np.zeros(n + 1, dtype=np.int64)
    least[0] = 0.0
    low, high = np.empty(d), np.empty(d)
    for end in range(k, n + 1):
        low[:], high[:] = places[end - 1], places[end - 1]
        width = 0.0
        for first in range(end - 1, max(end - 2 * k, -1), -1):
            for a in range(d):
                if places[first, a] < low[a]:
                    width += low[a] - places[first, a]
                    low[a] = places[first, a]
                elif places[first, a] > high[a]:
                    width += places[first, a] - high[a]
                    high[a] = places[first, a]
            cost = least[first] + (end - first) * width
            if end - first >= k and cost < least[end]:
                least[end], begin[end] = cost, first
    return begin


def along(order: Ints, places: Floats, k: int) -> Ints:
    """The group of every row, where groups are the best along an order of the rows, shape (n,)."""
    begin = best_ends(places[order], k)
    starts = np.zeros(len(order), dtype=np.int64)
    end = len(order)
    while end:
        end = begin[end]
        starts[end] = 1
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.cumsum(starts)
    return groups


def by_hilbert(microdata: Microdata, k: int) -> Ints:
    places = places_of(microdata)
    return along(hilbert(places), places, k)


def by_cuts(microdata: Microdata, k: int, cuts: str, cut_at: str) -> Ints:
    return partition(Mondrian(k=k, cuts=cuts, cut_at=cut_at), microdata.quasi, None)  # type: ignore[arg-type]


def along_cuts(microdata: Microdata, k: int) -> Ints:
    order = np.argsort(by_cuts(microdata, k, "strict", "least-width"), kind="stable")
    return along(order, places_of(microdata), k)


def places_of(microdata: Microdata) -> Floats:
    """Each row's place on each quasi-identifier, from 0 to 1, shape (n, d)."""
    columns = [column.domain.normalised[column.codes] for column in microdata.quasi]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def width(microdata: Microdata, groups: Ints) -> float:
    """Mean over rows and attributes of the group's interval."""
    places = places_of(microdata)
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    high, low = (by.reduceat(places[order], starts) for by in (np.maximum, np.minimum))
    return float(np.average((high - low).mean(axis=1), weights=sizes))


def queries(table: pl.DataFrame) -> list[Sets]:
    rng = np.random.default_rng(1)
    asked = []
    for _ in range(QUERIES):
        some: Sets = []
        for name in rng.choice(table.columns, 2, replace=False).tolist():
            values = table[name].unique().sort().cast(pl.String).to_list()
            size = max(1, len(values) // 3)
            first = rng.integers(0, len(values) - size + 1)
            row = table[name].dtype != pl.String
            some.append(
                (name, set(values[first:][:size] if row else rng.permutation(values)[:size]))
            )
        asked.append(some)
    return asked


def error(data: Encoded, groups: Ints, asked: list[Sets]) -> float:
    """The median relative error of counts by the boxes of groups."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    columns = dict(zip(data.microdata.schema.quasi, data.microdata.quasi, strict=True))
    lost = []
    for some in asked:
        share, met = sizes.astype(np.float64), np.ones(len(order), dtype=np.bool_)
        for name, values in some:
            codes = columns[name].codes[order]
            chosen = np.array([text in values for text in data.texts[name]])
            before = np.concatenate([[0], np.cumsum(chosen)])
            low, high = (by.reduceat(codes, starts) for by in (np.minimum, np.maximum))
            share *= (before[high + 1] - before[low]) / (high - low + 1)
            met &= chosen[codes]
        if met.any():
            lost.append(abs(share.sum() - met.sum()) / met.sum())
    return float(np.median(lost))


def encoded(table: pl.DataFrame, quasi: Sequence[str], order: Order | None) -> Encoded:
    """The table with its categories in an order of their own, or in that of the alphabet."""
    of: dict[str, Sequence[str]] = {}
    for name in quasi:
        if table[name].dtype == pl.String and order is not None:
            of[name] = order(table, name)
            ranked = {value: f"{i:03d}" for i, value in enumerate(of[name])}
            table = table.with_columns(pl.col(name).replace_strict(ranked))
        else:
            of[name] = table[name].unique().sort().cast(pl.String).to_list()
    return Encoded(Microdata.encode(table, Schema(quasi=quasi)), of)


def frequent(table: pl.DataFrame, name: str) -> Sequence[str]:
    return table[name].value_counts().sort("count", name)[name].to_list()


def at_random(table: pl.DataFrame, name: str, seed: int) -> Sequence[str]:
    return table[name].unique().sort().sample(fraction=1, shuffle=True, seed=seed).to_list()


def beside_the_others(table: pl.DataFrame, name: str) -> Sequence[str]:
    """By the first axis of a correspondence analysis with all other attributes, numbers in tenths."""
    values = table[name].unique().sort()
    own = table[name].replace_strict(values, np.arange(len(values))).to_numpy()
    parts = []
    for other in table.drop(name).get_columns():
        codes = (
            other.qcut(BINS, allow_duplicates=True).to_physical()
            if other.dtype.is_numeric()
            else other.rank("dense") - 1
        ).to_numpy()
        counts = np.zeros((len(values), int(codes.max()) + 1))
        np.add.at(counts, (own, codes.astype(np.int64)), 1)
        parts.append(counts)
    shares = np.concatenate(parts, axis=1) / (table.height * len(parts))
    rows, columns = shares.sum(axis=1, keepdims=True), shares.sum(axis=0, keepdims=True)
    apart = (shares - rows * columns) / np.sqrt(rows * np.maximum(columns, 1e-300))
    axis = np.linalg.svd(apart, full_matrices=False)[0][:, 0] / np.sqrt(rows[:, 0])
    return [values[int(i)] for i in np.argsort(axis, kind="stable")]


def of_hierarchy(table: pl.DataFrame, name: str) -> Sequence[str]:
    """The order of the leaves of the published hierarchy."""
    path = data_file(f"hierarchies/adult_hierarchy_{name.replace('_', '-')}.csv")
    leaves = [line.split(";")[0] for line in path.read_text(encoding="utf-8").splitlines()]
    present = set(table[name].unique())
    return [leaf for leaf in leaves if leaf in present] + sorted(present - set(leaves))


def timed(make: Callable[[], Ints]) -> tuple[Ints, float]:
    seconds = []
    for _ in range(3):
        began = time.process_time()
        groups = make()
        seconds.append(time.process_time() - began)
    return groups, min(seconds[1:])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--only", choices=SETS, action="append")
    given = parser.parse_args()
    rows: list[list[str]] = []
    for title, name, quasi in [SETS[chosen] for chosen in given.only or SETS]:
        table = pl.read_parquet(data_file(f"{name}.parquet"))
        table = table.filter("complete") if "complete" in table.columns else table
        table = table.select(quasi).with_columns(pl.col(pl.Categorical).cast(pl.String))
        table = table.drop_nulls()
        asked = queries(table)
        of: dict[str, Callable[[Microdata], Ints]] = {
            f"{cuts} cuts, {cut_at}": partial(by_cuts, k=given.k, cuts=cuts, cut_at=cut_at)
            for cuts in ("strict", "relaxed")
            for cut_at in ("median", "least-width")
        } | {
            "Hilbert": partial(by_hilbert, k=given.k),
            "along the cuts": partial(along_cuts, k=given.k),
        }
        both = ["strict cuts, least-width", "Hilbert"]
        orders: dict[str, tuple[list[str], list[Order | None]]] = {
            "alphabet": (list(of), [None]),
            "frequent": (both, [frequent]),
            "beside the others": (both, [beside_the_others]),
            "random": (both, [partial(at_random, seed=seed) for seed in range(SEEDS)]),
        }
        if name == "adult":
            orders["hierarchy"] = (both, [of_hierarchy])
        beside = 0.0
        for word, (some, each) in orders.items():
            data = [encoded(table, quasi, order) for order in each]
            for way in some:
                made = [timed(partial(of[way], one.microdata)) for one in data]
                pairs = [(one, groups) for one, (groups, _) in zip(data, made, strict=True)]
                found = np.mean([width(one.microdata, groups) for one, groups in pairs])
                lost = np.mean([error(one, groups, asked) for one, groups in pairs])
                beside = beside or found
                cells = [f"{len(np.unique(made[0][0])):,}", f"{found:.4f}"]
                cells += [f"{found / beside - 1:+.0%}", f"{lost:.1%}", f"{made[0][1]:.3f}"]
                rows.append([title, way, word, *cells])
    show(["table", "groups by", "order", "groups", "width", "beside", "error", "seconds"], rows)


if __name__ == "__main__":
    main()
