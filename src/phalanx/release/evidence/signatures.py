# SPDX-License-Identifier: Apache-2.0
"""The format in which a series remembers among which values each person was published; makers and
checkers share it, and nothing that computes with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

SIGNATURES: Final = "signatures"
"""(entry, signature, value): one row per value of a signature; entries are numbered through."""
PERSONS: Final = "persons"
"""(person, entry): the signature and the value in it that were first published for a person (or for
a record of theirs).
"""


@dataclass(frozen=True, eq=False)
class Remembered:
    """Each person ever published, under the signature of the groups that they stood in."""

    signatures: pl.DataFrame
    """(entry, signature, value)"""
    persons: pl.DataFrame
    """(person, entry)"""

    @classmethod
    def of_tables(cls, tables: Mapping[str, pl.DataFrame]) -> "Remembered":
        """What a series remembers; no person before its first release."""
        empty = {
            SIGNATURES: {"entry": pl.Int64, "signature": pl.Int64, "value": pl.Null},
            PERSONS: {"person": pl.Binary, "entry": pl.Int64},
        }
        signatures, persons = (
            tables.get(name, pl.DataFrame(schema=schema)) for name, schema in empty.items()
        )
        return cls(signatures, persons)
