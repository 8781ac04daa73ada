"""What may be laid beside published files, by whoever checks or attacks them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from phalanx.data.microdata import Microdata


@dataclass(frozen=True)
class Evidence:
    """What somebody knows beyond the published files.

    ``groups``: release number -> (person, group): which group each person was published in, from the ledger (keyed hashes, private).
    ``microdata``: release number -> the original table, for checks from the public view (boxes).
    """

    groups: Mapping[int, pl.DataFrame] = field(default_factory=dict)
    microdata: Mapping[int, Microdata] = field(default_factory=dict)
