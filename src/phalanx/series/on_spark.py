# SPDX-License-Identifier: Apache-2.0
"""A release that Spark makes: each cell is drafted, written and checked where its rows are, by the
same functions as a part of a release out of core; what comes here are figures.

A worker writes its cell as a release by itself, and looks whether what it says of each row is so.
Once it is known how many groups each has, they are numbered through in the files that are handed
out, which are compared with the drafts. These very files are then checked, part by part, by what
``phalanx verify`` runs. Workers must see the folder of the releases under the same path.
"""

import contextlib
import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.engines.spark.running import Running
from phalanx.engines.spark.source import OnSpark
from phalanx.errors import GuaranteeError, ReleaseError
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.verify import verify
from phalanx.methods.base import Draft, Method, Suppressed
from phalanx.progress import Progress
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release, Unread, write_folder, write_manifest, write_tables
from phalanx.release.kinds import form_class
from phalanx.release.manifest import Manifest, PublishedFile, PublishedPart
from phalanx.release.part import numbered
from phalanx.release.parts import ending, groups_before
from phalanx.series.drafting import Checked, Drafting, check_attributes, refuse_broken
from phalanx.series.in_parts import OfParts, division, draft_of_part
from phalanx.series.staging import Folder

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class DraftingOnSpark(OfParts):
    """What the next release of a series is made from, where its table is on Spark."""

    divided: OnSpark

    def check(
        self,
        room: Callable[[], AbstractContextManager[Folder]],
        take: Callable[[Folder, Checked], T],
        progress: Progress,
    ) -> T:
        """As ``Drafting.check`` does, for a table on Spark."""
        with room() as folder:
            checked = self._checked(folder.path.absolute(), progress)
            return take(folder, checked)

    def _checked(self, folder: Path, progress: Progress) -> Checked:
        rng, drafts = self.randomness(), drafts_in(folder)
        with self.divided.running(folder) as running:
            progress("group", 0, None)
            method = running.settled(self.method, rng)
            figures = running.solved(
                division(method),
                rng,
                partial(draft_cell, self.of, method, drafts),
                persons=True,
            )
            progress("write", 0, None)
            manifest = merged(drafts, figures)
            check_attributes(self.earlier, manifest.attributes)
            manifest = numbered_through(running, manifest, drafts, folder)
            progress("check", 0, None)
            release = Unread(folder, manifest)
            verdicts = verify(
                [*self.earlier, release],
                allow_seeded=self.seed is not None,
                only_last=True,
                each=running.each,
            )
        verdicts.append(truth_of(figures))
        refuse_broken(verdicts)
        return Checked(
            suppressed=suppressed_of(figures),
            release=release,
            groups=None,
            evidence=Evidence(),
            verdicts=verdicts,
            attacks=[],
            spent=None,
        )


def drafts_in(folder: Path) -> Path:
    """Make the folder of drafts, within that of the release until it is handed out."""
    drafts = folder / "drafts"
    drafts.mkdir(mode=0o700)
    return drafts


def draft_cell(
    of: "partial[Drafting]",
    method: Method,
    drafts: Path,
    at: int,
    microdata: Microdata,
    rng: Randomness,
) -> Mapping[str, Any]:
    """Publish one cell as a release by itself, in a worker.

    Parameters
    ----------
    of : partial[Drafting]
        Makes its drafting.
    method : Method
        How it is published.
    drafts : Path
        The folder that gets it.
    at : int
        Its number.
    microdata : Microdata
        Its rows.
    rng : Randomness
        The one source of chance.

    Returns
    -------
    Mapping[str, Any]
        Figures: its rows and groups, what was suppressed, what the check of truth found, and a
        digest of all that its manifest says which is the same of all cells.

    Raises
    ------
    PhalanxError
        Where it cannot be published, or its files say what is not so.
    """
    drafting = of(microdata=microdata)
    return figures_of(drafting, draft_of_part(method, microdata, rng), drafts, at, rng)


def figures_of(
    drafting: Drafting, draft: Draft, drafts: Path, at: int, rng: Randomness
) -> Mapping[str, Any]:
    """Write the draft of a cell, and look whether what its files say is so.

    Parameters
    ----------
    drafting : Drafting
        What it was made from.
    draft : Draft
        The draft.
    drafts : Path
        The folder that gets it.
    at : int
        The number of the cell.
    rng : Randomness
        The one source of chance.

    Returns
    -------
    Mapping[str, Any]
        As ``draft_cell`` gives them.

    Raises
    ------
    GuaranteeError
        Where its files say what is not so.
    """
    verdicts = []

    def look(release: Release) -> None:
        verdicts.append(drafting.truth(draft, release))
        refuse_broken(verdicts)

    figures = write_draft(drafting, draft, drafts, at, rng, look)
    return {**figures, "truth": verdicts[0].to_json()}


def write_draft(
    drafting: Drafting,
    draft: Draft,
    drafts: Path,
    at: int,
    rng: Randomness,
    look: Callable[[Release], None],
) -> Mapping[str, Any]:
    """Write the draft of a cell as a release by itself.

    Parameters
    ----------
    drafting : Drafting
        What it was made from.
    draft : Draft
        The draft.
    drafts : Path
        The folder that gets it.
    at : int
        The number of the cell.
    rng : Randomness
        The one source of chance.
    look : Callable[[Release], None]
        Looks at what was written, before it has its name.

    Returns
    -------
    Mapping[str, Any]
        Figures: its rows and groups, what was suppressed, and a digest of all that its manifest
        says which is the same of all cells.
    """
    with tempfile.TemporaryDirectory(dir=drafts) as name:
        room = Path(name) / "draft"
        room.mkdir()
        manifest = write_folder(
            room, draft.form, ("parquet",), **drafting.manifest_fields(draft, rng)
        )
        look(Release.read(room))
        with contextlib.suppress(
            OSError
        ):  # which says that it was drafted before, with these draws
            room.rename(drafts / str(at))
    return {
        "rows": manifest.rows,
        "groups": manifest.groups,
        "counterfeits": manifest.counterfeits,
        "suppressed": dict(draft.suppressed.rows or {}),
        "taken": dict(draft.suppressed.values),
        "says": hashlib.sha256(_of_all(manifest).to_bytes()).hexdigest(),
    }


def number_cell(manifest: Manifest, drafts: Path, folder: Path, at: int) -> list[tuple[str, str]]:
    """Write a cell's draft with the numbers that its groups have in the release, in a worker.

    Parameters
    ----------
    manifest : Manifest
        Of the release, with its parts.
    drafts : Path
        Where drafts are.
    folder : Path
        Where the release is.
    at : int
        The number of the cell.

    Returns
    -------
    list[tuple[str, str]]
        The names of its files, and their digests.

    Raises
    ------
    GuaranteeError
        Where a file does not hold what the draft holds.
    """
    draft = Release.read(drafts / str(at))
    before, id_column = groups_before(manifest, at), form_class(manifest.form).id_column
    tables = {n: numbered(t, id_column, before) for n, t in draft.form.tables().items()}
    with tempfile.TemporaryDirectory(dir=drafts) as name:
        files = write_tables(Path(name), tables, ("parquet",), ending(at))
        for table, file in zip(draft.form.tables().values(), files, strict=True):
            if not numbered(_written(Path(name) / file.name), id_column, -before).equals(table):
                raise GuaranteeError(
                    "a part of the release was written otherwise than it was drafted; nothing was"
                    " published, please report this."
                )
            (Path(name) / file.name).replace(folder / file.name)
    return [(file.name, file.sha256) for file in files]


def _written(path: Path) -> pl.DataFrame:
    from phalanx.data.names import check_names
    from phalanx.data.sources.reading import read_parquet

    table = read_parquet(path, ReleaseError(f"{path.name} cannot be read; check the disk."))
    check_names(table.columns, ReleaseError)
    return table


def merged(drafts: Path, figures: Sequence[Mapping[str, Any]]) -> Manifest:
    """What the manifest says of all cells, without their files; ReleaseError where a draft is not
    where workers wrote it.
    """
    if len({cell["says"] for cell in figures}) != 1:
        raise GuaranteeError(
            "the parts of the table do not have the same published columns; nothing was published,"
            " please report this."
        )
    if not all((drafts / str(at)).is_dir() for at in range(len(figures))):
        raise ReleaseError(
            f"the workers of Spark do not write to {drafts.parent.parent} as it is seen here; name a"
            " folder for releases that all of them share."
        )
    first = drafts / "0"
    manifest = Manifest.from_bytes((first / "release.json").read_bytes(), first)
    parts = [
        PublishedPart(rows=cell["rows"], groups=cell["groups"], counterfeits=cell["counterfeits"])
        for cell in figures
    ]
    return manifest.model_copy(
        update={
            "rows": sum(part.rows for part in parts),
            "groups": sum(part.groups for part in parts),
            "counterfeits": sum(part.counterfeits for part in parts),
            "files": [],
            "parts": parts,
        }
    )


def numbered_through(running: Running, manifest: Manifest, drafts: Path, folder: Path) -> Manifest:
    """The manifest with the files of all cells, which are written, as it is; drafts are gone."""
    written = running.each(
        partial(number_cell, manifest, drafts, folder), range(len(manifest.parts)), "number"
    )
    files = [
        PublishedFile(name=name, sha256=digest) for of_cell in written for name, digest in of_cell
    ]
    shutil.rmtree(drafts)
    manifest = manifest.model_copy(update={"files": files})
    write_manifest(folder, manifest)
    return manifest


def _of_all(manifest: Manifest) -> Manifest:
    return manifest.model_copy(update={"rows": 0, "groups": 0, "counterfeits": 0, "files": []})


def suppressed_of(figures: Sequence[Mapping[str, Any]]) -> Suppressed:
    """What is not published of all cells."""
    rows, values = Counter[str](), Counter[str]()
    for cell in figures:
        rows.update(cell["suppressed"])
        values.update(cell["taken"])
    return Suppressed(rows=dict(rows), values=dict(values))


def truth_of(figures: Sequence[Mapping[str, Any]]) -> Verdict:
    """The verdict on what the drafts say of each row, the worst of all cells."""
    verdicts = [Verdict(**cell["truth"]) for cell in figures]
    worst = max(verdicts, key=lambda verdict: (not verdict.holds, verdict.worst or 0))
    return replace(worst, note=f"{worst.note} (in each of {len(verdicts)} parts)")
