"""Anatomy's l-diversity: in no bucket has a sensitive value more than 1/l of the tuples (Xiao & Tao, VLDB 2006, definition 2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from phalanx.guarantees.base import Verdict
from phalanx.guarantees.diversity import nothing_to_check, verdict
from phalanx.guarantees.exact import Number, bounded, exact, largest_ratio, plain
from phalanx.guarantees.groups import Groups, Published
from phalanx.release.evidence import Evidence
from phalanx.release.folder import Release


@dataclass(frozen=True)
class AnatomyDiversity:
    """In no bucket has a sensitive value more than 1/l of the bucket's tuples; PlanError where l is below 1.

    Whoever knows all quasi-identifiers of a person finds the person's bucket, as these are published as they are, and links them with a value with at
    most this. That a person is in the table at all is not hidden.
    """

    name: ClassVar[str] = "anatomy's l-diversity"
    forms: ClassVar[tuple[str, ...]] = ("bucketized",)
    l: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", bounded(self.l, "l", 1))

    def check(self, release: Published, earlier: Sequence[Release] = (), evidence: Evidence | None = None) -> list[Verdict]:
        """The largest share of one value in a bucket, a fraction."""
        groups, bound = Groups.of(release), 1 / exact(self.l, "l")
        if early := nothing_to_check(groups, self.name, bound):
            return early
        worst, where = largest_ratio(groups.largest, groups.sizes)
        return [verdict(self.name, bound, worst, groups, where, "share", holds=worst <= bound, note=f"{len(groups)} buckets")]

    def public(self) -> dict[str, Any]:
        """Name and parameters, as the manifest shows them."""
        return {"name": self.name, "l": plain(self.l)}
