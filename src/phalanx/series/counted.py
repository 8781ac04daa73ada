# SPDX-License-Identifier: Apache-2.0
"""A release that follows from counts of a table larger than the memory: its rows are read some at a
time, to be counted, and once more to check what the files say of each. It is in one piece, and shows
nothing of that.
"""

from pathlib import Path
from typing import Final

from phalanx.errors import MethodError
from phalanx.guarantees.truth import check as truth
from phalanx.guarantees.verify import verify
from phalanx.methods.base import Budgeted, Counting, Method
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release, write_folder
from phalanx.series.drafting import Checked, check_attributes, refuse_broken
from phalanx.series.in_parts import DraftingInParts, division

_BYTES_PER_VALUE: Final = 60
"""Of a release, while it is written and checked; ``benchmarks/larger.py`` prints peaks."""


class DraftingByCounts(DraftingInParts):
    """What the next release of a series is made from, where its table is larger than the memory and
    its method counts.
    """

    def _checked(self, folder: Path) -> Checked:
        method = self.method
        if not isinstance(method, Counting):
            raise MethodError(f"{method.name} does not publish by counts; leave the engine out.")
        rng = self.randomness()
        read = self.divided.readings(folder, self.key)
        drafting = self.of(microdata=next(read()))
        draft, rows = method.publish_counted(read, drafting.memory, rng, most=self.divided.most)
        if draft.form.rows * draft.form.table.width * _BYTES_PER_VALUE > self.divided.room:
            raise MethodError(
                "what would be published does not fit the memory, as safe sampling publishes in one"
                " piece; lower beta, recode more coarsely, or raise [publish] memory_limit."
            )
        check_attributes(self.earlier, draft.form.attributes)
        write_folder(folder, draft.form, drafting.formats, **drafting.manifest_fields(draft, rng))
        release = Release.read(folder)
        evidence = Evidence(state=drafting.state(draft))
        verdicts = verify(
            [*self.earlier, release], evidence, allow_seeded=self.seed is not None, only_last=True
        )
        verdicts.append(truth.check_of_images(release, rows))
        refuse_broken(verdicts)
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


def counts(method: Method) -> bool:
    """Whether a table larger than the memory is counted for this method, and not divided;
    MethodError where it is neither.
    """
    return division(method) == "counts"
