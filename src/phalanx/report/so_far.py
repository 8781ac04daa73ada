# SPDX-License-Identifier: Apache-2.0
"""What a report shows of each release of a series; few figures, from published values alone, so that
a publisher keeps them and reads no earlier table again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from phalanx.report.looks import Look

_KEY: Final = "so_far"


@dataclass(frozen=True)
class SoFar:
    """One release in the table and the picture of its series."""

    number: int
    rows: int
    groups: int
    counterfeits: int
    registered: int
    loss: float | None
    """The mean of the attributes' mean widths; None where not all were measured."""
    worst: float | None
    """The risk of a person in the smallest class; None where rows are not persons', or none."""
    average: float | None
    """The mean risk of a row; None as for ``worst``."""

    @classmethod
    def of(cls, look: Look) -> "SoFar":
        """Those of a release, from its tables."""
        figures, classes = look.figures, look.classes
        known = classes if classes is not None and classes.rows else None
        return cls(
            figures.number,
            figures.rows,
            figures.groups,
            figures.counterfeits,
            figures.registered,
            float(figures.loss) if figures.measured else None,
            None if known is None else known.worst,
            None if known is None else known.average,
        )


def remembering(look: Look) -> dict[str, Any]:
    """What the ledger keeps of a release for later reports, beside its other counts."""
    return {_KEY: asdict(SoFar.of(look))}


def remembered(summaries: Iterable[Mapping[str, Any]]) -> list[SoFar]:
    """What it kept of releases, of those of which it kept it."""
    return [SoFar(**summary[_KEY]) for summary in summaries if _KEY in summary]
