# SPDX-License-Identifier: Apache-2.0
"""A release in parts: each is drafted, written, read back and checked as a release by itself, one
after the other, so that no more than one is in memory.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.engines.out_of_core import Divided
from phalanx.errors import GuaranteeError, MethodError
from phalanx.guarantees.parts import Found, Merged
from phalanx.methods.base import Divisible, Division, Draft, Memory, Method, Settling, Suppressed
from phalanx.progress import Progress
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release, opened, write_manifest, write_tables
from phalanx.release.form import Form
from phalanx.release.manifest import Manifest, PublishedFile, PublishedPart
from phalanx.release.part import Part, numbered
from phalanx.release.parts import ending
from phalanx.series.drafting import Checked, Drafting, check_attributes, drafted, refuse_broken
from phalanx.series.staging import Folder

if TYPE_CHECKING:
    from phalanx.report.looks import Gathered

T = TypeVar("T")

_WHOLE: Final = {"not_eligible": "suppress rows", "generalize_columns_k": "generalize columns"}
"""What methods advise to that no part can be given by itself."""


class Unseen:
    """Looks at no part, as no page will tell of it."""

    def add(self, part: Part) -> None:
        """The next part."""

    def look(self, _: Manifest) -> None:
        """Nothing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OfParts:
    """What the next release of a series is made from, where it has parts, wherever these are."""

    of: "partial[Drafting]"
    """Makes the drafting of a part by itself, once its ``microdata`` are given."""
    key: PersonKey | None
    method: Method
    number: int
    seed: int | None
    page: bool = False
    """Whether a page will tell of the release; there is none of what is made on Spark."""
    earlier: Sequence[Release] = ()

    def randomness(self) -> Randomness:
        """Fresh randomness for each release."""
        if self.seed is None:
            return Randomness.secure()
        return Randomness.seeded(self.seed + self.number)


@dataclass(frozen=True, kw_only=True, eq=False)
class DraftingInParts(OfParts):
    """What the next release of a series is made from, where its table is larger than the memory."""

    divided: Divided

    def check(
        self,
        room: Callable[[], AbstractContextManager[Folder]],
        take: Callable[[Folder, Checked], T],
        progress: Progress,
    ) -> T:
        """As ``Drafting.check`` does, for a table in parts; their rows lie meanwhile on the disk of
        the folder, in files without a name.
        """
        divided = replace(self.divided, progress=progress)
        with room() as folder, ExitStack() as opened:
            checked = self._checked(folder.path, opened, divided)
            progress("check", 0, None)
            return take(folder, checked)

    def _checked(self, folder: Path, _: ExitStack, divided: Divided) -> Checked:
        """Every part in turn; then the manifest of all of them."""
        by = division(self.method)
        rng = self.randomness()
        method = self.method
        if isinstance(method, Settling) and method.settles:
            method = method.settled(divided.drawn(rng))
        merged, manifest, suppressed = Merged(f"release {self.number}: "), None, Counter[str]()
        looks = self._looks(divided.room)
        for at, microdata in told(enumerate(divided.parts(by, folder, self.key, rng)), divided):
            drafting = self.of(microdata=microdata)
            draft = draft_of_part(method, microdata, rng.of(f"part {at}"))
            check_attributes(self.earlier, draft.form.attributes)
            if manifest is not None and not alike(manifest, draft.form):
                raise GuaranteeError(
                    "the parts of the table do not have the same published columns; nothing was"
                    " published, please report this."
                )
            manifest = grown(manifest, at, drafting, draft, rng, folder)
            part = Part.read_part(folder, manifest, at)
            verdicts = drafting.checked(draft, part, {}).verdicts
            merged.add(Found.of(part, verdicts, merged.prefix))
            suppressed.update(draft.suppressed.rows or {})
            looks.add(part)
        if manifest is None:
            raise GuaranteeError("no part was published; nothing left, please report this.")
        write_manifest(folder, manifest)
        verdicts = merged.verdicts()
        refuse_broken(verdicts)
        return Checked(
            suppressed=Suppressed(rows=dict(suppressed)),
            release=opened(folder),
            groups=None,
            evidence=Evidence(),
            verdicts=verdicts,
            attacks=[],
            spent=None,
            look=looks.look(manifest),
        )

    def _looks(self, room: int) -> "Gathered | Unseen":
        """What gathers looks at parts, which is loaded where a page is asked for alone."""
        if not self.page:
            return Unseen()
        from phalanx.report.looks import Gathered

        return Gathered(room)


def told(
    parts: Iterable[tuple[int, Microdata]], divided: Divided
) -> Iterator[tuple[int, Microdata]]:
    """Numbered parts of a table, and how many of its rows those have that were gone through."""
    done = 0
    for number, microdata in parts:
        divided.progress("group", done, divided.rows)
        done += microdata.rows
        yield number, microdata
        del microdata  # while the next one is read
        divided.progress("group", done, divided.rows)


def alike(manifest: Manifest, form: Form) -> bool:
    """Whether a part is laid out as those before it."""
    laid_out = form.manifest_fields()
    before = {name: getattr(manifest, name) for name in laid_out}
    return list(form.attributes) == manifest.attributes and laid_out == before


def division(method: Method) -> Division:
    """How a method may be divided; MethodError where it may not."""
    by = method.divided_by if isinstance(method, Divisible) else None
    if by is None:
        raise MethodError(f"{method.name} does not publish in parts; leave the engine out.")
    return by


def draft_of_part(
    method: Method, microdata: Microdata, rng: Randomness, memory: Memory | None = None
) -> Draft:
    """The draft of one part, as if it were a table by itself; ``memory``: what is remembered of
    it.
    """
    try:
        return drafted(method, microdata, memory or Memory(), rng)
    except MethodError as error:
        words = str(error).removesuffix(".")
        for key, what in _WHOLE.items():
            words += f" (and to {what} takes the whole table in memory)" if key in words else ""
        raise type(error)(
            f"one of the parts in which the table is published has {microdata.rows:,} rows: {words}."
        ) from None


def grown(
    manifest: Manifest | None,
    at: int,
    drafting: Drafting,
    draft: Draft,
    rng: Randomness,
    folder: Path,
) -> Manifest:
    """Write a further part, and what the manifest says with it."""
    form = draft.form
    parts: list[PublishedPart] = [] if manifest is None else manifest.parts
    files: list[PublishedFile] = [] if manifest is None else manifest.files
    before = sum(part.groups for part in parts)
    tables = {n: numbered(table, form.id_column, before) for n, table in form.tables().items()}
    parts = [
        *parts,
        PublishedPart(rows=form.rows, groups=form.groups, counterfeits=form.counterfeit_rows),
    ]
    return Manifest(
        form=form.kind,
        attributes=list(form.attributes),
        rows=sum(part.rows for part in parts),
        groups=sum(part.groups for part in parts),
        counterfeits=sum(part.counterfeits for part in parts),
        registered=form.registered_persons,
        files=[*files, *write_tables(folder, tables, ("parquet",), ending(at))],
        parts=parts,
        **form.manifest_fields(),
        **drafting.manifest_fields(draft, rng),
    )
