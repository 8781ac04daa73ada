# SPDX-License-Identifier: Apache-2.0
"""m-uniqueness: every group holds at least m rows, all with different sensitive values (Xiao & Tao,
SIGMOD 2007, Definition 17).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.exact import whole
from phalanx.guarantees.base import FromFields, Verdict
from phalanx.guarantees.l_diversity import nothing_to_check
from phalanx.guarantees.views.groups import Groups, Published
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


@dataclass(frozen=True)
class MUniqueness(FromFields):
    """Every group holds at least ``m`` rows with different sensitive values; a missing value counts
    as one value. PlanError where m is below 1.
    """

    name: ClassVar[str] = "m-uniqueness"
    forms: ClassVar[tuple[str, ...]] = ("generalized",)
    hides: ClassVar[tuple[str, ...]] = ("records", "values")
    m: int

    def __post_init__(self) -> None:
        whole(self.m, "m")

    def check(
        self, release: Published, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The smallest number of different values in a group, and whether some group repeats
        one.
        """
        groups = Groups.of(release)
        if early := nothing_to_check(groups, self.name, self.m):
            return early
        few, repeated = groups.distinct < self.m, groups.distinct < groups.sizes
        wrong = np.flatnonzero(few | repeated)
        shown = (
            wrong[np.argsort(groups.distinct[wrong], kind="stable")]
            if len(wrong)
            else np.array([int(np.argmin(groups.distinct))])
        )
        faults = (
            [f"{int(few.sum())} of {len(groups)} groups hold fewer than {self.m} different values"]
            if few.any()
            else []
        )
        faults += (
            [f"{int(repeated.sum())} of {len(groups)} groups repeat a sensitive value"]
            if repeated.any()
            else []
        )
        return [
            Verdict(
                name=self.name,
                bound=self.m,
                worst=int(groups.distinct.min()),
                holds=not len(wrong),
                note="; ".join(faults) or f"{len(groups)} groups",
                worst_cases=groups.cases(shown, distinct_values=groups.distinct[shown].tolist()),
            )
        ]

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence."""
        return (
            f"Every group has at least {self.m} rows, all with different sensitive values"
            " (m-uniqueness)."
        )
