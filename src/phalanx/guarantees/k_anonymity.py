# SPDX-License-Identifier: Apache-2.0
"""k-anonymity: every person is published among at least k."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from phalanx.exact import whole
from phalanx.guarantees.base import FromFields, Verdict, without_rows
from phalanx.guarantees.views.groups import Groups, Published
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


@dataclass(frozen=True)
class KAnonymity(FromFields):
    """Every group holds at least ``k`` persons (Sweeney 2002); counterfeits cover no person's
    identity and are not counted.

    Missing quasi-identifiers are values like any other. PlanError where k is not a whole number of
    at least 1.
    """

    name: ClassVar[str] = "k-anonymity"
    forms: ClassVar[tuple[str, ...]] = ("generalized",)
    hides: ClassVar[tuple[str, ...]] = ("records",)
    of_each_group: ClassVar[bool] = True
    k: int = field(metadata={"help": "Ask for k-anonymity with this k."})

    def __post_init__(self) -> None:
        whole(self.k, "k")

    def check(
        self, release: Published, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The smallest group, in persons."""
        groups = Groups.of(release)
        if not len(groups):
            return [without_rows(self.name, self.k)]
        persons = groups.sizes - groups.counterfeits
        order = np.argsort(persons, kind="stable")
        below = int((persons < self.k).sum())
        return [
            Verdict(
                name=self.name,
                bound=self.k,
                worst=int(persons.min()),
                holds=below == 0,
                note=(
                    f"{below} of {len(groups)} groups hold fewer than {self.k} persons"
                    if below
                    else f"{len(groups)} groups"
                ),
                worst_cases=groups.cases(order[:10], persons=persons[order[:10]].tolist()),
            )
        ]

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence."""
        return (
            f"By the quasi-identifiers each person is one of at least {self.k}: every group has at"
            f" least {self.k} rows (k-anonymity)."
        )
