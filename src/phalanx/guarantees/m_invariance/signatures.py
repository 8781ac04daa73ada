# SPDX-License-Identifier: Apache-2.0
"""Signatures: the set of sensitive values of a group, compared exactly over all releases of a
series.
"""

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from phalanx.arrays import Ints
from phalanx.guarantees.views.groups import Groups
from phalanx.release.folder import Release
from phalanx.release.form import Form

_NAN = object()


class Signatures:
    """One number per set of values, the same in every release of the series; two sets share a
    number only if they are equal.
    """

    def __init__(self) -> None:
        self._values: dict[Any, int] = {}
        self._sets: dict[bytes, int] = {}
        self._known: WeakKeyDictionary[Form, Ints] = WeakKeyDictionary()

    @classmethod
    def of_series(cls, releases: Sequence[Release]) -> "Signatures":
        """The numbers that the releases of one series share; remembered as long as its first
        release is in memory.
        """
        first = releases[0].form
        if first not in _series:
            _series[first] = cls()
        return _series[first]

    def values(self, values: Sequence[Any]) -> Ints:
        """A number per sensitive value, shape of ``values``; equal values share it in all
        releases.
        """
        keys = [_NAN if value != value else value for value in values]  # noqa: PLR0124 - only NaN differs from itself
        return np.array(
            [self._values.setdefault(key, len(self._values)) for key in keys], dtype=np.int64
        )

    def value(self, number: int) -> Any:
        """The sensitive value of a number."""
        return list(self._values)[number]

    @property
    def number_of_values(self) -> int:
        """How many different sensitive values have been seen."""
        return len(self._values)

    def of(self, release: Release) -> Ints:
        """The number of every group's signature, shape (g,)."""
        if release.form not in self._known:
            self._known[release.form] = self._number(Groups.of(release))
        return self._known[release.form]

    def _number(self, groups: Groups) -> Ints:
        values = self.values([] if groups.values is None else groups.values.to_list())
        return self.numbered(groups.cell_group, values[groups.cell_value], len(groups))

    def numbered(self, owner: Ints, values: Ints, owners: int) -> Ints:
        """The number of every owner's signature, shape (owners,): ``values`` (c,), by number, each
        at most once in the set of its ``owner`` (c,), which has one value at least.
        """
        q = self.number_of_values
        values = np.sort(owner * q + values) % q  # by owner, then by number
        sizes = np.bincount(owner, minlength=owners)
        starts = np.cumsum(sizes) - sizes
        numbers = np.zeros(owners, dtype=np.int64)
        for size in np.unique(sizes).tolist():
            alike = np.flatnonzero(sizes == size)
            sets = values[starts[alike][:, None] + np.arange(size)].astype(np.int64)
            firsts, which = _distinct(sets, q)
            different = [
                self._sets.setdefault(row.tobytes(), len(self._sets)) for row in sets[firsts]
            ]
            numbers[alike] = np.array(different, dtype=np.int64)[which]
        return numbers


def _distinct(sets: Ints, q: int) -> tuple[Ints, Ints]:
    """The first place of each different row of ``sets`` (s, v), whose numbers are below ``q``, in
    their order, and which of them each row is, shape (s,).
    """
    keys, reach = np.zeros(len(sets), dtype=np.int64), 1
    for numbers in sets.T:
        if reach > (1 << 62) // q:
            keys, reach = np.unique(keys, return_inverse=True)[1].astype(np.int64), len(sets)
        keys, reach = keys * q + numbers, reach * q
    _, firsts, which = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    return firsts[order], np.argsort(order)[which]


_series: WeakKeyDictionary[Form, Signatures] = WeakKeyDictionary()
