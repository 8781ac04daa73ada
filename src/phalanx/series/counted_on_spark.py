# SPDX-License-Identifier: Apache-2.0
"""A release that follows from counts, made by Spark: rows are drawn and counted where they are, one
worker adds up and lays down what is published, image by image, and workers write and check it.

It is a release as ``counted`` makes one: its parts follow from its own rows alone.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.engines.spark.counting import Counting, Sampling
from phalanx.engines.spark.running import Running
from phalanx.engines.spark.tasks import packed, unpacked
from phalanx.errors import MethodError
from phalanx.guarantees.consistency.recoded import Images, Shown
from phalanx.guarantees.verify import verify
from phalanx.methods.base import Budgeted, Summing
from phalanx.progress import Progress
from phalanx.randomness import Shared
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release, Unread
from phalanx.release.forms.recoded import Recoded, cuts
from phalanx.release.manifest import Manifest
from phalanx.release.part import Part
from phalanx.series.counted import rows_at_once
from phalanx.series.drafting import (
    Checked,
    Drafting,
    check_attributes,
    check_strength,
    refuse_broken,
)
from phalanx.series.on_spark import (
    DraftingOnSpark,
    drafts_in,
    merged,
    numbered_through,
    write_draft,
)
from phalanx.series.staging import Folder

T = TypeVar("T")


@dataclass(frozen=True)
class Laid:
    """What is published, image by image, in pieces in a folder that all workers see."""

    folder: Path
    method: Summing
    schema: Schema
    mark: str

    def lay(self, counted: Iterator[tuple[pl.DataFrame, Ints]], most: int) -> int:
        """Add up, and lay down what is published; how many pieces it is."""
        images, times = self.method.crowded(counted, self.schema, most)
        ends = cuts(times, rows_at_once(most))
        for piece, (at, end) in enumerate(pairwise(ends)):
            table = [images[at:end].to_struct("image"), pl.Series("times", times[at:end])]
            (self.folder / f"images-{piece}").write_bytes(packed(pl.DataFrame(table)))
        return len(ends) - 1

    def read(self, piece: int) -> tuple[pl.DataFrame, Ints]:
        """The images of a piece, and how often each is published."""
        table = unpacked((self.folder / f"images-{piece}").read_bytes())
        return table["image"].struct.unnest(), table["times"].to_numpy()


@dataclass(frozen=True, kw_only=True, eq=False)
class CountingOnSpark(DraftingOnSpark):
    """What the next release of a series is made from, where its table is on Spark and its method
    counts.
    """

    def check(
        self,
        room: Callable[[], AbstractContextManager[Folder]],
        take: Callable[[Folder, Checked], T],
        progress: Progress,
    ) -> T:
        """As ``Drafting.check`` does, for a table on Spark; what workers lay down for each other is
        beside the release.
        """
        with room() as folder, room() as beside:
            checked = self._counted(folder.path.absolute(), beside.path.absolute(), progress)
            return take(folder, checked)

    def _counted(self, folder: Path, beside: Path, progress: Progress) -> Checked:
        method, rng, schema = self.method, self.randomness(), self.divided.schema
        if not isinstance(method, Summing):
            raise MethodError(f"{method.name} does not publish by counts; leave the engine out.")
        drafting, drafts = self.of(microdata=_nothing(schema)), drafts_in(folder)
        mark = method.admitted(schema, drafting.memory, rng)
        laid = Laid(beside, method, schema, mark)
        with self.divided.running(folder) as running:
            progress("group", 0, None)
            counting = Counting(running, Sampling(schema, method, rng.shared()))
            if self.key is not None:
                counting.check_persons(rng)
            pieces = counting.laid(partial(laid.lay, most=self.divided.most))
            images, times = laid.read(0)
            draft = method.drafted(images[:0], times[:0], schema, mark)
            check_attributes(self.earlier, draft.form.attributes)
            check_strength(self.earlier, draft.guarantees)
            progress("write", 0, None)
            write = partial(write_piece, self.of, laid, drafts, rng.shared())
            release = _written(running, folder, drafts, running.each(write, range(pieces), "write"))
            progress("check", 0, None)
            evidence = Evidence(state=drafting.state(draft))
            verdicts = verify(
                [*self.earlier, release],
                evidence,
                allow_seeded=self.seed is not None,
                only_last=True,
                each=running.each,
            )
            published = _images(running, release)
            total = Shown.nothing(published)
            for seen in counting.seen(partial(show, laid, pieces, published)):
                total = total.plus(_shown(seen))
        verdicts.append(total.verdict(published))
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


def write_piece(
    of: "partial[Drafting]", laid: Laid, drafts: Path, shared: Shared, piece: int
) -> Mapping[str, Any]:
    """Write one piece as a release by itself, in a worker.

    Parameters
    ----------
    of : partial[Drafting]
        Makes its drafting.
    laid : Laid
        What is published.
    drafts : Path
        The folder that gets it.
    shared : Shared
        Says whether the release may leave.
    piece : int
        Its number.

    Returns
    -------
    Mapping[str, Any]
        Figures, as ``write_draft`` gives them.
    """
    draft = laid.method.drafted(*laid.read(piece), laid.schema, laid.mark)
    drafting, rng = of(microdata=_nothing(laid.schema)), shared.of(f"piece {piece}")
    return write_draft(drafting, draft, drafts, piece, rng, lambda _: None)


def images_of_part(folder: Path, manifest: Manifest, at: int) -> Images:
    """The images of one part of a release, from its files.

    Parameters
    ----------
    folder : Path
        Where the release is.
    manifest : Manifest
        What it says about itself.
    at : int
        Which part.

    Returns
    -------
    Images
        Each once.

    Raises
    ------
    ReleaseError
        Where its files cannot be read.
    """
    return Images.of(Recoded.expect(Part.read_part(folder, manifest, at).form))


def show(
    laid: Laid,
    pieces: int,
    published: Images,
    rows: Iterator[tuple[Microdata, pl.DataFrame, Ints]],
) -> bytes:
    """What rows of a partition show of the published images, in a worker.

    Parameters
    ----------
    laid : Laid
        What was laid down, in the order in which it is published.
    pieces : int
        In so many pieces.
    published : Images
        What the files hold.
    rows : Iterator[tuple[Microdata, pl.DataFrame, Ints]]
        Some at a time, with their images and that of each, from 0, -1 for one that was not drawn.

    Returns
    -------
    bytes
        A ``Shown``.
    """
    images = pl.concat([laid.read(piece)[0] for piece in range(pieces)])
    numbered = images.with_columns(pl.Series("", np.arange(1, images.height + 1)))
    total = Shown.nothing(published)
    for microdata, here, of_row in rows:
        number = here.join(
            numbered, on=here.columns, how="left", nulls_equal=True, maintain_order="left"
        )[""].fill_null(0)
        groups = np.append(number.to_numpy(), 0)[of_row]  # the last one for those not drawn
        total = total.plus(Shown.of(published, microdata, groups))
    of_all = {"times": [pl.Series(total.times)], "elsewhere": total.elsewhere, "fault": total.fault}
    return packed(pl.DataFrame(of_all))


def _shown(seen: bytes) -> Shown:
    times, elsewhere, fault = unpacked(seen).row(0)
    return Shown(np.array(times, dtype=np.int64), elsewhere, fault)


def _images(running: Running, release: Release) -> Images:
    """Those of all files of a release."""
    if not release.manifest.parts:
        return Images.of(Recoded.expect(release.form))
    of_part = partial(images_of_part, release.path, release.manifest)
    return Images.together(running.each(of_part, range(len(release.manifest.parts)), "look"))


def _written(
    running: Running, folder: Path, drafts: Path, figures: Sequence[Mapping[str, Any]]
) -> Release:
    """The release of all pieces; of one it has no parts."""
    if len(figures) > 1:
        return Unread(folder, numbered_through(running, merged(drafts, figures), drafts, folder))
    for file in (drafts / "0").iterdir():
        file.rename(folder / file.name)
    shutil.rmtree(drafts)
    return Release.read(folder)


def _nothing(schema: Schema) -> Microdata:
    """No row of a table; what is asked of it is its schema."""
    return Microdata(schema, 0, {}, pl.DataFrame(), None)
