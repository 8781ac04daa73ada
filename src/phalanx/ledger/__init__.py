# SPDX-License-Identifier: Apache-2.0
"""The private record of series: what was promised, what was published, and what must be remembered
about persons, sealed.
"""

from phalanx.ledger.entries import Reconciliation, ReleaseEntry, SeriesEntry, SeriesFile
from phalanx.ledger.ledger import Ledger
from phalanx.ledger.recall import Recall
from phalanx.ledger.sealing import within

__all__ = [
    "Ledger",
    "Recall",
    "Reconciliation",
    "ReleaseEntry",
    "SeriesEntry",
    "SeriesFile",
    "within",
]
