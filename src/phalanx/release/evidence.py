"""What may be laid beside published files, by whoever checks or attacks them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.release.exposures import Exposures


@dataclass(frozen=True)
class Evidence:
    """What somebody knows beyond the published files.

    ``groups``: release number -> (person, group): which group each person was published in, from the ledger (keyed hashes, private).
    ``microdata``: release number -> the original table, for checks from the public view (boxes).
    ``before`` and ``after``: what the series carried before the last release, and is to carry after it; with them the last release is checked without
    those before it. None for a check of the whole series.
    """

    groups: Mapping[int, pl.DataFrame] = field(default_factory=dict)
    microdata: Mapping[int, Microdata] = field(default_factory=dict)
    before: Exposures | None = None
    after: Exposures | None = None
