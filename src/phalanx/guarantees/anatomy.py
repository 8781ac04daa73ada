# SPDX-License-Identifier: Apache-2.0
"""Anatomy's l-diversity: in no bucket has a sensitive value more than 1/l of the tuples (Xiao &
Tao, VLDB 2006, definition 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from phalanx.exact import Number, bounded
from phalanx.guarantees.base import FromFields, Verdict
from phalanx.guarantees.l_diversity import check_shares
from phalanx.guarantees.sentences import one_in
from phalanx.guarantees.views.groups import Groups, Published
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


@dataclass(frozen=True)
class AnatomyDiversity(FromFields):
    """In no bucket has a sensitive value more than 1/l of the bucket's tuples; PlanError where l is
    below 1.

    Anyone who knows all quasi-identifiers of a person finds the person's bucket, as these are
    published as they are, and links them with a value with at most this. That a person is in the
    table at all is not hidden.
    """

    name: ClassVar[str] = "anatomy-l-diversity"
    forms: ClassVar[tuple[str, ...]] = ("bucketized",)
    hides: ClassVar[tuple[str, ...]] = ("values",)
    of_each_group: ClassVar[bool] = True
    l: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", bounded(self.l, "l", 1))

    def check(
        self, release: Published, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The largest share of one value in a bucket, a fraction."""
        return check_shares(self.name, self.l, Groups.of(release), word="buckets")

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence."""
        return (
            f"In no bucket do more than {one_in(self.l)} of the persons have the same sensitive"
            " value: an adversary who knows all quasi-identifiers of a person in the table finds"
            f" their bucket, and links them with no value with a probability above {one_in(self.l)}"
            " (anatomy's l-diversity)."
        )
