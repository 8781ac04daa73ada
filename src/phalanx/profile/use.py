# SPDX-License-Identifier: Apache-2.0
"""What becomes of a table, which its rows do not say: three questions, and their answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


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


QUESTIONS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "changes": (
        "Does the table change, and is published again?",
        {
            "no": "it is published once",
            "persons": "people come and go, and what is sensitive stays true of a person",
            "values": "what is sensitive changes, too: a flu comes and goes",
        },
    ),
    "looks_original": (
        "Must it look like the original?",
        {
            "no": "intervals will do, such as age 30 to 39",
            "yes": "every row has values, as the original has",
        },
    ),
    "receiver": (
        "Who receives it?",
        {
            "internal": "colleagues, who are bound as you are: a person is one of 3",
            "partner": "people with whom you have a contract: one of 5",
            "public": "anyone: one of 12",
        },
    ),
}
"""By field of ``Use``: what is asked, and what each answer means."""
