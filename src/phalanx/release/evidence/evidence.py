# SPDX-License-Identifier: Apache-2.0
"""What may be laid beside published files, by whoever checks or attacks them."""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.release.evidence.exposures import Exposures
from phalanx.release.evidence.outputs import Ints, OutputTables


@dataclass(frozen=True)
class Evidence:
    """What somebody knows beyond the published files.

    ``groups``: release number -> (person, group): which group each person was published in, from
    the ledger (keyed hashes, private). ``microdata``: release number -> the original table, for
    checks from the public view (boxes). ``before`` and ``after``: what the series carried before
    the last release, and is to carry after it; with them the last release is checked without those
    before it. None for a check of the whole series. ``rows``: release number -> the published row,
    from 1, of every row of the original table, 0 for none, where this is known without ``groups``;
    of a perturbed release, whose rows each stand alone, ``groups`` holds rows. ``outputs``: release
    number -> the random output tables that a perturbed release was drawn from, private.
    """

    groups: Mapping[int, pl.DataFrame] = field(default_factory=dict)
    microdata: Mapping[int, Microdata] = field(default_factory=dict)
    before: Exposures | None = None
    after: Exposures | None = None
    rows: Mapping[int, Ints] = field(default_factory=dict)
    outputs: Mapping[int, OutputTables] = field(default_factory=dict)

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
            outputs=dict(ChainMap(*(dict(part.outputs) for part in parts))),
        )

    def published_rows(self, number: int) -> Ints | None:
        """The published row, from 1, of every row of a release's original table, 0 for none; None
        where nothing tells it.
        """
        if number in self.rows:
            return self.rows[number]
        microdata, mapping = self.microdata.get(number), self.groups.get(number)
        if microdata is None or microdata.persons is None or mapping is None:
            return None
        persons = microdata.persons.to_frame("person")
        return (
            persons.join(mapping, on="person", how="left", maintain_order="left")["group"]
            .fill_null(0)
            .to_numpy()
            .astype("int64")
        )
