"""What a guarantee is: it states a promise, and checks it from what was published. No code here comes from the makers of releases."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import polars as pl

from phalanx.release.evidence import Evidence
from phalanx.release.folder import Release


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a check found. ``worst`` is compared with ``bound`` exactly, never with a tolerance."""

    name: str
    """The guarantee, or the part of it that was checked."""
    bound: int | float | Fraction | str
    worst: int | float | Fraction | str | None
    """The worst figure found; None where there was nothing to look at."""
    holds: bool
    note: str = ""
    """What was looked at, and what could not be checked and why."""
    worst_cases: pl.DataFrame = field(default_factory=pl.DataFrame)
    """The worst cases as rows of published values (groups), never of persons."""

    @property
    def result(self) -> str:
        """``holds`` or ``fails``; where nothing was compared, how the note begins: ``not checked``, ``not covered`` or ``stated``."""
        mark = self.note.partition(":")[0]
        if self.holds and self.worst is None and mark in ("not checked", "not covered", "stated"):
            return mark
        return "holds" if self.holds else "fails"

    def to_json(self) -> dict[str, Any]:
        """Stable keys: name, bound, worst, holds, note; fractions as text such as ``"1/2"``."""
        bound, worst = (str(x) if isinstance(x, Fraction) else x for x in (self.bound, self.worst))
        return {"name": self.name, "bound": bound, "worst": worst, "holds": self.holds, "note": self.note}


class Guarantee(Protocol):
    """A frozen dataclass of the promise's parameters."""

    name: ClassVar[str]
    forms: ClassVar[tuple[str, ...]]
    """The kinds of releases that the promise is about."""

    def check(self, release: Release, earlier: Sequence[Release] = (), evidence: Evidence | None = None) -> list[Verdict]:
        """Check a release, with the series before it and whatever evidence there is; one verdict per part of the promise."""

    def public(self) -> dict[str, Any]:
        """Name and parameters, as the manifest shows them."""
