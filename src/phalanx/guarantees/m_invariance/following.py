# SPDX-License-Identifier: Apache-2.0
"""What a check of m-invariance has found so far, in one pass over a series: each release is looked
at once, so that a check of all of them takes as long as they are.
"""

from collections.abc import Sequence

import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.m_invariance.candidates import Candidates
from phalanx.guarantees.m_invariance.hosts import Stood, hosts_of
from phalanx.guarantees.m_invariance.m_uniqueness import MUniqueness
from phalanx.guarantees.m_invariance.signatures import Signatures
from phalanx.guarantees.views.members import counted_faults, mapping_faults
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


class Following:
    """A series as far as it was followed; ``records`` says that the promise is per record."""

    def __init__(
        self, m: int, evidence: Evidence, first: Release, *, consecutive: bool, records: bool
    ) -> None:
        self.evidence, self.records = evidence, records
        self.signatures = Signatures.of_series([first])
        self.series: list[Release] = []
        self.unique: list[Verdict] = []
        """m-uniqueness, of each release."""
        self.counted_faults: list[str] = []
        self.mapped: list[Release] = []
        """Releases with a mapping."""
        self.mapping_faults: list[str] = []
        self.attributed: list[Release] = []
        """Those of them of which it is told whose signature is whose."""
        self.stood, self.persons = Stood(consecutive=consecutive), Stood(consecutive=consecutive)
        """Those whom the promise is about; and persons, where that is another thing."""
        self.in_boxes: list[Release] = []
        """Releases with microdata that have persons."""
        self.candidates = Candidates(self.signatures, m, consecutive=consecutive, records=records)
        self._promise = MUniqueness(m)

    def add(self, release: Release, *, last: bool, hosted: bool = True) -> None:
        """The next release, which may be the ``last``; ``hosted``: also who stood under which
        signature.
        """
        evidence, number = self.evidence, release.number
        microdata, mapping = evidence.microdata.get(number), evidence.groups.get(number)
        self.series.append(release)
        self.unique.append(self._promise.check(release)[0])
        self.counted_faults += [f"release {number}: {fault}" for fault in counted_faults(release)]
        if mapping is not None:
            self.mapped.append(release)
            faults = mapping_faults(release, mapping)
            self.mapping_faults += [f"release {number}: {fault}" for fault in faults]
            if hosted and (not self.records or has_persons(microdata)):
                self.attributed.append(release)
                self.stood.add(self.hosts(release))
            if hosted and self.records:
                self.persons.add(hosts_of(release, evidence, self.signatures, records=False))
        if has_persons(microdata):
            self.in_boxes.append(release)
            self.candidates.add(release, evidence, last=last)

    def tells_not_whose(self, release: Release) -> bool:
        """Whether rows of a release may have been suppressed, and no mapping tells whose."""
        return bool(release.manifest.may_suppress) and release not in self.mapped

    def may_be_suppressed(self) -> bool:
        """Whether all who are left with fewer than m values may be persons whose rows were suppressed
        up to then, by the number of rows that are missing where no mapping tells whose.
        """
        missing, enough = 0, True
        for release, short in zip(self.in_boxes, self.candidates.short, strict=True):
            if self.tells_not_whose(release):
                people = self.evidence.microdata[release.number].rows
                form = release.generalized
                missing += max(0, people - (form.rows - form.counterfeit_rows))
            enough &= short <= missing
        return enough

    def hosts(self, release: Release) -> pl.DataFrame:
        """Those whom the promise is about in a release, as ``hosts_of`` has them."""
        return hosts_of(release, self.evidence, self.signatures, records=self.records)


def without(series: Sequence[Release], given: Sequence[Release]) -> str:
    """The numbers of the releases of a series that are not among the given ones."""
    numbers = [str(r.number) for r in series if r not in given]
    return ", ".join(numbers[:8]) + (f" and {len(numbers) - 8} more" if len(numbers) > 8 else "")


def has_persons(microdata: Microdata | None) -> bool:
    """Whether it is known whose the rows are."""
    return microdata is not None and microdata.persons is not None
