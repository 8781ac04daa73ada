"""What an adversary is: it says what it knows, and concludes from published files what it can about every person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import polars as pl

from phalanx.release.evidence import Evidence
from phalanx.release.folder import Release

Z: Final = 1.959963984540054
"""The standard normal distribution has 95 % of its mass between -z and z."""


@dataclass(frozen=True, kw_only=True)
class Attack:
    """What an adversary concluded, beside what somebody without the releases would."""

    adversary: str
    knows: str
    """What it knows, in one sentence."""
    persons: int
    """How many persons it attacked."""
    exposed: int
    """Persons for whom it is certain, and right."""
    success: float | None
    """How often it names the right value if it picks one of its candidates at random; None where the true values were not given."""
    baseline: float | None
    """How often somebody without the releases would, who always names the most frequent value."""
    histogram: Mapping[int, int]
    """Number of candidates left -> number of persons."""
    note: str = ""
    per_person: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """(person, candidates, exposed): private, never part of a report."""

    def to_json(self) -> dict[str, Any]:
        """Stable keys: adversary, knows, persons, exposed, success, baseline, candidates, note."""
        return {
            "adversary": self.adversary,
            "knows": self.knows,
            "persons": self.persons,
            "exposed": self.exposed,
            "success": _rounded(self.success),
            "baseline": _rounded(self.baseline),
            "candidates": {str(size): persons for size, persons in sorted(self.histogram.items())},
            "note": self.note,
        }


class Adversary(Protocol):
    """A frozen dataclass of what the adversary knows."""

    @property
    def name(self) -> str:
        """The word on the command line, as a subcommand of ``phalanx attack``."""

    @property
    def knows(self) -> str:
        """What it knows, in one sentence."""

    def attack(self, releases: Sequence[Release], evidence: Evidence) -> Attack:
        """Attack all persons of a series; ReleaseError where it lacks what it needs to know."""


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 6)
