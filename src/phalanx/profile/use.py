# SPDX-License-Identifier: Apache-2.0
"""What becomes of a table, which its rows do not say."""

from dataclasses import dataclass
from enum import StrEnum


class Changes(StrEnum):
    """Whether a table is published again, and what changes until then."""

    no = "no"
    persons = "persons"
    values = "values"


class Receiver(StrEnum):
    """Who receives a release."""

    internal = "internal"
    partner = "partner"
    public = "public"


@dataclass(frozen=True, kw_only=True)
class Use:
    """What becomes of a table: what a method is chosen by."""

    changes: Changes | None = None
    """``persons``: it is published again and again, people come and go, and what is sensitive stays
    true of a person; ``values``: that changes, too. None: ``persons`` where the table has an
    identifier and a sensitive attribute of single values, else ``no``.
    """
    looks_original: bool = False
    """Whether rows must have values, and no intervals."""
    receiver: Receiver = Receiver.partner
    """Whom people are to be hidden from."""
