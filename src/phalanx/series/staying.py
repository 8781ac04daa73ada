# SPDX-License-Identifier: Apache-2.0
"""A release in parts of a series that follows persons: each person stays in the part in which they
were first published, so that each part is published, remembered and checked as a series by itself.

What is remembered of parts, and who is in which group, waits on the disk until all parts hold, and
is recorded table by table.
"""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl

from phalanx.data.repeated import Repeated
from phalanx.engines.laid import Laid
from phalanx.engines.lasting import Followed
from phalanx.engines.out_of_core import Divided
from phalanx.errors import GuaranteeError, MethodError
from phalanx.guarantees.parts import Found, Merged
from phalanx.guarantees.staying import persons_and_parts
from phalanx.ledger import Recall, within
from phalanx.methods.base import Following, Memory, Method, Suppressed
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import opened, write_manifest
from phalanx.release.part import Part
from phalanx.series.drafting import Checked, check_attributes, refuse_broken
from phalanx.series.in_parts import DraftingInParts, alike, draft_of_part, grown, told

PARTS: Final = "parts"
"""The memory table (cuts) of a series in parts: where these were cut, as JSON."""
OTHERS: Final = "others"
"""The memory table (person) of a part: persons of it of whom the method remembers nothing."""


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """What the ledger remembers of each part of a series."""

    recall: Recall

    @property
    def cuts(self) -> Any:
        """Where the parts were cut; None before the first release."""
        table = self.recall.remembered().get(PARTS)
        return None if table is None else json.loads(table["cuts"][0])

    @property
    def parts(self) -> Sequence[int]:
        """The numbers of those that were ever published."""
        return sorted({part for parts in self.recall.parts().values() for part in parts})

    def memory(self, part: int, releases: int) -> Memory:
        """What is remembered of one, by a series of so many releases."""
        return Memory(
            releases,
            self.recall.remembered(part),
            None,
            self.recall.state(part),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class DraftingStaying(DraftingInParts):
    """What the next release of a series is made from, where its table is larger than the memory and
    its persons are followed.
    """

    recalled: Recalled

    def _checked(self, folder: Path, room: ExitStack, divided: Divided) -> Checked:
        """Every part in turn; then the manifest of all of them."""
        method, rng = self.method, self.randomness()
        if not isinstance(method, Following) or self.key is None:
            raise _unfollowed(method)
        releases, known = self.number - 1, self.recalled.parts
        remember, state = (room.enter_context(Laid[str](folder)) for _ in range(2))
        groups = room.enter_context(Laid[int](folder))
        followed = Followed(
            divided=divided,
            place=folder,
            key=self.key,
            rng=rng,
            began=self.recalled.cuts,
            known={part: partial(self._known, method, part) for part in known},
        )
        merged, manifest, looks = (
            Merged(f"release {self.number}: "),
            None,
            self._looks(divided.room),
        )
        rows, values = Counter[str](), Counter[str]()
        with Repeated(divided.rows, divided.room, folder) as repeated:
            persons = 0
            for at, (part, microdata) in enumerate(told(followed.parts(), divided)):
                memory = self.recalled.memory(part, releases)
                drafting = self.of(microdata=microdata, memory=memory)
                draft = draft_of_part(method, microdata, rng.of(f"part {part}"), memory)
                check_attributes(self.earlier, draft.form.attributes)
                if manifest is not None and not alike(manifest, draft.form):
                    raise GuaranteeError(
                        "the parts of the table do not have the same published columns; nothing was"
                        " published, please report this."
                    )
                manifest = grown(manifest, at, drafting, draft, rng, folder)
                read = Part.read_part(folder, manifest, at)
                checked = drafting.checked(draft, read, {})
                merged.add(Found.of(read, checked.verdicts, merged.prefix))
                looks.add(read)
                rows.update(draft.suppressed.rows or {})
                values.update(draft.suppressed.values)
                after = memory.after(draft, None)
                mapping = checked.groups
                if not isinstance(mapping, pl.DataFrame):
                    raise _unfollowed(method)
                others = others_of(mapping, known_of(method, after))
                persons += _see(repeated, pl.concat([known_of(method, after), others]))
                if len(others):
                    remember.lay(within(part, OTHERS), others.to_frame())
                for laid, tables in ((remember, draft.remember), (state, draft.state)):
                    for name, table in tables.items():
                        laid.lay(within(part, name), table)
                groups.lay(part, mapping.with_columns(pl.col("group") + read.before))
            for part in known:
                if part not in groups:  # none of its persons is there, and it goes on
                    memory = self.recalled.memory(part, releases)
                    persons += _see(repeated, known_of(method, memory))
                    for name, table in memory.state.items():
                        state.lay(within(part, name), table)
            verdict = persons_and_parts(repeated.twice(), persons)
        if manifest is None:
            raise GuaranteeError("no part was published; nothing left, please report this.")
        write_manifest(folder, manifest)
        verdicts = [*merged.verdicts(), replace(verdict, name=merged.prefix + verdict.name)]
        refuse_broken(verdicts)
        if self.number == 1:
            cuts = json.dumps(followed.remembered)
            remember.lay(PARTS, pl.DataFrame({"cuts": [cuts]}))
        return Checked(
            suppressed=Suppressed(rows=dict(rows), values=dict(values)),
            release=opened(folder),
            groups=groups,
            evidence=Evidence(),
            verdicts=verdicts,
            remember=remember,
            state=state,
            attacks=[],
            spent=None,
            look=looks.look(manifest),
        )

    def _known(self, method: Following, part: int) -> pl.Series:
        return known_of(method, self.recalled.memory(part, self.number - 1))


def _unfollowed(method: Method) -> MethodError:
    return MethodError(f"{method.name} follows no persons; leave the engine out.")


def known_of(method: Following, memory: Memory) -> pl.Series:
    """All persons of a part."""
    persons = method.known(memory).alias("person")
    others = memory.tables.get(OTHERS)
    return persons if others is None else pl.concat([persons, others["person"]])


def others_of(groups: pl.DataFrame, known: pl.Series) -> pl.Series:
    """Those who are published, in groups (person, group), and not known."""
    return groups.join(known.to_frame(), on="person", how="anti")["person"]


def _see(repeated: Repeated, persons: pl.Series) -> int:
    """Write down the persons of a part, each once; how many they are."""
    distinct = persons.unique()
    repeated.see(distinct)
    return len(distinct)
