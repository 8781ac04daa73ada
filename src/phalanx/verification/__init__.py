# SPDX-License-Identifier: Apache-2.0
"""Checking what was published, with whatever evidence there is.

- ``check``: ``verify`` for releases of ours, ``verify_table`` for anybody's table, and what both
  give.
- ``gathering``: the folders as releases, and the evidence of a ledger and of original tables.
- ``originals``: whether a table is the one that a release was made of.
- ``progress``: what a check is doing, said while it lasts.
- ``recorded``: whether the folders are those of the ledger, and who it says is in which group.
"""

from phalanx.verification.check import Verification, verify, verify_table
from phalanx.verification.gathering import as_tables, gather_evidence, read_releases, schema_of

__all__ = [
    "Verification",
    "as_tables",
    "gather_evidence",
    "read_releases",
    "schema_of",
    "verify",
    "verify_table",
]
