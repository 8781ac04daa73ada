# SPDX-License-Identifier: Apache-2.0
"""Random output tables as evidence: whether they are any, and what they say of published values.
Whole numbers throughout, nothing is rounded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phalanx.arrays import Ints
from phalanx.exact import largest_ratio
from phalanx.release.evidence.outputs import OutputTables

_CELLS: Final = 1 << 22
"""So many cells of tables are looked at together."""
_ROOM: Final = 2**62
"""Sums that could pass this are computed with Python's integers."""

Wholes = npt.NDArray[Any]
"""Whole numbers, in 64 bits where sums fit, else Python's."""


def table_faults(
    outputs: OutputTables, attributes: Sequence[str], rows: int, *, changes: int = 1, k: int = 1
) -> list[str]:
    """What makes tables no evidence for a release of ``rows`` rows with these quasi-identifiers;
    empty where they are sound.

    Shapes and places, one table of the right size for each group and attribute, rows that sum to
    the denominator exactly, an order of the attributes, a law by which ``changes`` of them change at
    least, and groups of ``k`` rows at least.
    """
    for look in (_shape_faults, _place_faults):
        if faults := list(look(outputs, attributes, rows)):
            return faults
    return [
        *_law_faults(outputs, changes),
        *_size_faults(outputs, k),
        *_unit_faults(outputs),
    ]


def _shape_faults(outputs: OutputTables, attributes: Sequence[str], rows: int) -> Iterator[str]:
    arrays = {
        "group": (outputs.group, 1),
        "of": (outputs.of, 2),
        "starts": (outputs.starts, 1),
        "counts": (outputs.counts, 1),
        "units": (outputs.units, 1),
    }
    for name, (array, dimensions) in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype != np.int64 or array.ndim != dimensions:
            yield f"{name!r} holds something else than whole numbers in {dimensions} dimension(s)"
            return
    for name, number in (("denominator", outputs.denominator), ("changes", outputs.changes)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            yield f"{name!r} is not a whole number of at least 1"
    if not isinstance(outputs.attributes, tuple) or sorted(map(str, outputs.attributes)) != sorted(
        attributes
    ):
        yield "they are not about the quasi-identifiers of the release"
    elif outputs.of.shape[1] != len(attributes):
        yield (
            f"groups have {outputs.of.shape[1]} tables and not {len(attributes)}, one for each"
            " quasi-identifier"
        )
    if len(outputs.group) != rows:
        yield f"they are about {len(outputs.group)} rows and the release has {rows}"


def _place_faults(outputs: OutputTables, _: Sequence[str], rows: int) -> Iterator[str]:
    starts, classes, groups = outputs.starts, len(outputs.counts), len(outputs.of)
    if (
        not len(starts)
        or starts[0] != 0
        or starts[-1] != classes
        or starts.min() < 0
        or starts.max() > classes
        or not (np.diff(starts) > 0).all()
    ):
        yield "the classes of tables do not follow one another"
    elif len(outputs.units) != sum(int(k) ** 2 for k in np.diff(starts)):
        yield "the tables have not a row and a column for each of their classes"
    if classes and not 1 <= outputs.counts.min() <= outputs.counts.max() <= rows:
        yield "a class has no tuple, or more than there are rows"
    if rows and not 0 <= outputs.group.min() <= outputs.group.max() < groups:
        yield "a row is in a group that is nowhere"
    elif not np.bincount(outputs.group, minlength=groups).all():
        yield "a group has no rows"
    if outputs.of.size and not 0 <= outputs.of.min() <= outputs.of.max() < len(starts) - 1:
        yield "a group has a table that is nowhere"
    elif not np.bincount(outputs.of.ravel(), minlength=max(len(starts) - 1, 0)).all():
        yield "a table is of no group"


def _law_faults(outputs: OutputTables, changes: int) -> Iterator[str]:
    """Faults in what is said of how rows were drawn; rows that were drawn again until more of them
    changed than by the law are others than the tables say.
    """
    d, order = len(outputs.attributes), outputs.order
    if outputs.changes < changes:
        yield f"by their law {outputs.changes} quasi-identifier(s) change, and {changes} are promised"
    if outputs.changes > d:
        yield f"{outputs.changes} of {d} quasi-identifier(s) cannot be changed"
    if (
        not isinstance(order, tuple)
        or not all(type(a) is int for a in order)
        or sorted(order) != list(range(d))
    ):
        yield "the order in which attributes were drawn does not name each of them once"


def _size_faults(outputs: OutputTables, k: int) -> Iterator[str]:
    """Groups of another size than the tuples that their tables are about, or smaller than ``k``."""
    if not len(outputs.of):
        return
    sizes = np.bincount(outputs.group, minlength=len(outputs.of))
    tuples = np.add.reduceat(outputs.counts, outputs.starts[:-1])
    if unlike := int((tuples[outputs.of] != sizes[:, None]).any(axis=1).sum()):
        yield f"{unlike} group(s) have another number of rows than their tables have tuples"
    if small := int((sizes < k).sum()):
        yield f"{small} group(s) have fewer rows than the k = {k} of the method"


def _unit_faults(outputs: OutputTables) -> Iterator[str]:
    if (
        len(outputs.units)
        and not 0 <= outputs.units.min() <= outputs.units.max() <= outputs.denominator
    ):
        yield "a table holds a probability below 0 or above 1"
        return
    exact = _kind(int(np.diff(outputs.starts).max(initial=0)) * outputs.denominator)
    if unlike := sum(
        int((units.astype(exact).sum(axis=2) != outputs.denominator).sum())
        for _, _, units in _tables(outputs)
    ):
        yield f"{unlike} row(s) of tables do not sum to 1"


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of all tables that some tuple may publish, one after the other."""

    largest: Wholes
    """The largest number of units that one tuple gives to the column."""
    mass: Wholes
    """The units that all tuples of the group give to it."""
    feeders: Ints
    """How many tuples give it any."""

    @classmethod
    def of(cls, outputs: OutputTables) -> "Columns":
        """Of sound tables."""
        exact = _kind(outputs.denominator * len(outputs.group))
        parts: list[tuple[Wholes, Wholes, Ints]] = []
        for _, counts, units in _tables(outputs):
            mass = (units.astype(exact) * counts[:, :, None].astype(exact)).sum(axis=1)
            fed = mass > 0
            feeders = ((units > 0) * counts[:, :, None]).sum(axis=1)
            parts.append((units.max(axis=1)[fed], mass[fed], feeders[fed]))
        none = np.zeros(0, np.int64)
        largest, mass, feeders = zip(*parts, strict=True) if parts else ((none,), (none,), (none,))
        return cls(np.concatenate(largest), np.concatenate(mass), np.concatenate(feeders))

    def share(self) -> Fraction | None:
        """The largest share of a published value that one tuple gives, the least delta that the
        tables keep; None without tables.
        """
        return largest_ratio(self.largest, self.mass)[0] if len(self.mass) else None

    def fewest(self) -> int | None:
        """How many tuples a published value may come from, at least; None without tables."""
        return int(self.feeders.min()) if len(self.feeders) else None


def _kind(largest_sum: int) -> Any:
    """The type in which sums up to this are exact."""
    return np.int64 if largest_sum < _ROOM else object


def _tables(outputs: OutputTables) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Tables of equally many classes together, some at a time: which, their counts, shape (t, k),
    and units, shape (t, k, k).
    """
    classes = np.diff(outputs.starts)
    for k in np.unique(classes).tolist():
        of_k = np.flatnonzero(classes == k)
        step = max(1, _CELLS // k**2)
        for begin in range(0, len(of_k), step):
            which = of_k[begin : begin + step]
            counts = outputs.counts[outputs.starts[which][:, None] + np.arange(k)]
            yield (
                which,
                counts,
                outputs.units[outputs.cells[which][:, None] + np.arange(k * k)].reshape(-1, k, k),
            )
