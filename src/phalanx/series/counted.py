# SPDX-License-Identifier: Apache-2.0
"""A release that follows from counts of a table larger than the memory: its rows are read some at a
time, to be counted, and once more to check what the files say of each.

It is the release that the table would have in memory. It has parts only where the plan asks for this
engine, and as many as follow from its own rows: an estimate goes by how many rows the table has,
which must not show.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import Final

from phalanx.engines.out_of_core import Divided
from phalanx.errors import MethodError
from phalanx.guarantees.truth import check as truth
from phalanx.guarantees.verify import verify
from phalanx.methods.base import Budgeted, Counting, Draft, Method
from phalanx.methods.written_alike import check_written_alike
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release, opened, write_folder, write_manifest
from phalanx.series.drafting import (
    Checked,
    Drafting,
    check_attributes,
    check_strength,
    refuse_broken,
)
from phalanx.series.in_parts import DraftingInParts, division, grown

_BYTES_PER_VALUE: Final = 70
"""Of a release, while it is written and checked; ``benchmarks/larger.py`` prints peaks."""
_PART: Final = 1_000_000
"""So many rows of a release are in a part."""


class DraftingByCounts(DraftingInParts):
    """What the next release of a series is made from, where its table is larger than the memory and
    its method counts.
    """

    def _checked(self, folder: Path, _: ExitStack, divided: Divided) -> Checked:
        method = self.method
        if not isinstance(method, Counting):
            raise MethodError(f"{method.name} does not publish by counts; leave the engine out.")
        rng = self.randomness()
        for frame in islice(divided.each(divided.columns), 1):
            check_written_alike(frame, divided.schema, method)
        read = divided.readings(folder, self.key)
        drafting = self.of(microdata=next(read()))
        in_parts = divided.asked and drafting.formats == ("parquet",)
        drafts, rows = method.publish_counted(
            read,
            drafting.memory,
            rng,
            most=divided.most,
            at_once=rows_at_once(divided.most) if in_parts else None,
        )
        draft = next(drafts)
        check_attributes(self.earlier, draft.form.attributes)
        check_strength(self.earlier, draft.guarantees)
        release = self._written(folder, chain([draft], drafts), drafting, rng)
        evidence = Evidence(state=drafting.state(draft))
        verdicts = verify(
            [*self.earlier, release], evidence, allow_seeded=self.seed is not None, only_last=True
        )
        verdicts.append(truth.check_of_images(release, rows))
        refuse_broken(verdicts, told_alone=True)
        return Checked(
            suppressed=draft.suppressed,
            remember=draft.remember,
            state=draft.state,
            release=release,
            groups=None,
            evidence=evidence,
            verdicts=verdicts,
            attacks=[],
            spent=method.cost(self.number) if isinstance(method, Budgeted) else None,
        )

    def _written(
        self, folder: Path, drafts: Iterator[Draft], drafting: Drafting, rng: Randomness
    ) -> Release:
        """The files of a release, in one piece where there is one draft."""
        draft = next(drafts)
        further = next(drafts, None)
        if further is None:
            if draft.form.rows * draft.form.table.width * _BYTES_PER_VALUE > self.divided.room:
                raise MethodError(
                    "what would be published does not fit the memory in one piece; set [publish]"
                    " engine = 'out-of-core' and formats = ['parquet'], or lower beta."
                )
            fields = drafting.manifest_fields(draft, rng)
            write_folder(folder, draft.form, drafting.formats, **fields)
            return Release.read(folder)
        manifest = None
        for at, each in enumerate(chain([draft, further], drafts)):
            manifest = grown(manifest, at, drafting, each, rng, folder)
        if manifest is not None:
            write_manifest(folder, manifest)
        return opened(folder)


def rows_at_once(most: int) -> int:
    """So many published rows are in a part, by halves of the usual where memory takes no more than
    ``most``.
    """
    rows = _PART
    while rows > most:
        rows //= 2
    return rows


def counts(method: Method) -> bool:
    """Whether a table larger than the memory is counted for this method, and not divided;
    MethodError where it is neither.
    """
    return division(method) == "counts"
