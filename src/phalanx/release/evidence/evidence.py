# SPDX-License-Identifier: Apache-2.0
"""What may be laid beside published files, by anyone who checks or attacks them."""

from collections import ChainMap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.combinations import Combinations
from phalanx.data.microdata import Microdata
from phalanx.data.standing import rows_of

Tables = Mapping[str, pl.DataFrame]
"""Private tables by name, which the package of a method and its guarantee alone understands."""
T = TypeVar("T")


@dataclass(frozen=True)
class Evidence:
    """What is known beyond the published files, by release number.

    ``groups``: which group each person was published in (person, group), from the ledger (keyed
    hashes, private); of a release whose rows each stand alone, which row. ``microdata``: the
    original table, for checks from the public view (boxes). ``rows``: the published row, from 1, of
    every row of the original table, 0 for none, where this is known without ``groups``. ``parts``:
    what the form or the guarantee of a release asks for by type, private: as its method made it, or
    as the ledger remembers it. ``state``: the tables that the ledger remembered before the last
    release, and those that it is to remember with it; with them the last release is checked without
    those before it. None for a check of the whole series. ``added``: the names of those tables to which
    the last release adds rows; None where this is not known. ``parted``: by release and part, ``groups``
    of a release in parts in which persons stay, read as each is asked for; the parts are in the order
    of their files, and have the same number in all releases. ``combinations``: in the place of
    ``microdata``, what the persons of an original table have that need not be told apart.
    """

    groups: Mapping[int, pl.DataFrame] = field(default_factory=dict)
    microdata: Mapping[int, Microdata] = field(default_factory=dict)
    rows: Mapping[int, Ints] = field(default_factory=dict)
    parts: Mapping[int, object] = field(default_factory=dict)
    state: tuple[Tables, Tables] | None = None
    added: Collection[str] | None = None
    parted: Mapping[int, Mapping[int, pl.DataFrame]] = field(default_factory=dict)
    combinations: Mapping[int, Combinations] = field(default_factory=dict)

    @classmethod
    def of(cls, parts: Sequence["Evidence"]) -> "Evidence":
        """What lies beside several releases, together; what a series carried is about the last one
        alone, and left out where there are more.
        """
        if len(parts) == 1:
            return parts[0]
        return cls(
            groups=dict(ChainMap(*(dict(part.groups) for part in parts))),
            microdata=dict(ChainMap(*(dict(part.microdata) for part in parts))),
            rows=dict(ChainMap(*(dict(part.rows) for part in parts))),
            parts=dict(ChainMap(*(dict(part.parts) for part in parts))),
            parted=dict(ChainMap(*(dict(part.parted) for part in parts))),
            combinations=dict(ChainMap(*(dict(part.combinations) for part in parts))),
        )

    def part(self, kind: type[T], number: int) -> T | None:
        """What is of this type beside a release; None where nothing is."""
        part = self.parts.get(number)
        return part if isinstance(part, kind) else None

    def published_rows(self, number: int) -> Ints | None:
        """The published row, from 1, of every row of a release's original table, 0 for none; None
        where nothing tells it.
        """
        if number in self.rows:
            return self.rows[number]
        microdata, mapping = self.microdata.get(number), self.groups.get(number)
        if microdata is None or microdata.persons is None or mapping is None:
            return None
        rows = rows_of(microdata.persons, mapping["person"])
        groups = mapping["group"].cast(pl.Int64).fill_null(0).to_numpy()
        return np.append(groups, 0)[rows]
