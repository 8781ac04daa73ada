# SPDX-License-Identifier: Apache-2.0
"""What a page tells of the tables of a release; of one in parts they are looked at one part after
the other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.release.folder import Release, form_of
from phalanx.release.form import Form
from phalanx.release.forms.generalized import Generalized
from phalanx.release.forms.recoded import Recoded
from phalanx.release.kinds import form_class
from phalanx.release.manifest import Manifest
from phalanx.release.part import Part
from phalanx.report.classes import Classes, groups_of
from phalanx.report.figures import ROWS, Figures, Width, intervals

_MOST: Final = 1 << 24
"""So many bytes the different intervals of a release in parts take at most, and ten times as many
while those of its parts are put together: of the attribute that has most no width is told, as a page
must not cost a release that is too large for the memory.
"""
_OF_ROOM: Final = 16
"""Intervals take no more than such a part of what a part of the table may take."""
_IN_PARTS: Final = (
    "the release is in parts, and rows with the same quasi-identifiers may stand in several of them"
)


@dataclass(frozen=True, eq=False)
class Look:
    """What was looked at."""

    form: Form
    """How the tables are laid out; of a release in parts, without their rows."""
    figures: Figures
    classes: Classes | None
    """Without a population."""
    why_no_class: str
    """Why there are no classes, where there are none."""

    @classmethod
    def of(cls, release: Release) -> "Look":
        """A release; of one in parts, one is in memory at a time, but for recoded rows, of which
        every cell is told.
        """
        manifest = release.manifest
        if not manifest.parts or manifest.form == Recoded.kind:
            form = release.form
            return cls(form, Figures.of(release), Classes.of_form(form), form.why_no_class)
        gathered = Gathered()
        for at in range(len(manifest.parts)):
            gathered.add(Part.read_part(release.path, manifest, at))
        return gathered.look(manifest)


class Gathered:
    """What the parts of a release show, from part to part."""

    def __init__(self, room: int | None = None) -> None:
        """``room``: so many bytes a part may take, where that is known."""
        self._most = _MOST if room is None else min(_MOST, room // _OF_ROOM)
        self._form: Form | None = None
        self._sizes: list[Ints] = []
        self._invented: list[Ints] = []
        self._hosts = 0
        self._intervals: dict[str, list[pl.DataFrame]] = {}
        self._unmeasured: list[str] = []

    def add(self, part: Part) -> None:
        """The next part."""
        form = part.form
        if self._form is None:
            cleared = {name: table.clear() for name, table in part.tables.items()}
            no_row = part.manifest.model_copy(update={"rows": 0, "groups": 0, "counterfeits": 0})
            self._form = form_of(part.path, no_row, cleared)
        sizes, invented = groups_of(form)
        self._sizes.append(sizes)
        self._invented.append(np.zeros_like(sizes) if invented is None else invented)
        if form.counterfeits is not None:
            self._hosts += form.counterfeits.height
        for attribute in form.attribute("quasi"):
            if attribute.name not in self._unmeasured:
                pieces = self._intervals.setdefault(attribute.name, [])
                pieces.append(intervals(form, attribute))
        self._leave_out_largest()

    def _leave_out_largest(self) -> None:
        """Until what is left takes as much as it may."""
        if self._held(self._intervals) <= self._most:
            return
        for name, pieces in self._intervals.items():
            if self._held([name]) <= 2 * self._most:  # else it is left out
                pieces[:] = [_together(pieces)]
        while self._held(self._intervals) > self._most:
            largest = max(self._intervals, key=lambda name: self._held([name]))
            del self._intervals[largest]
            self._unmeasured.append(largest)

    def _held(self, names: Iterable[str]) -> int:
        """About so many bytes their intervals take."""
        pieces = (piece for name in names for piece in self._intervals[name])
        return sum(int(piece.estimated_size()) for piece in pieces)

    def look(self, manifest: Manifest) -> Look:
        """All of them; ``manifest``: that of the whole release."""
        form = self._form
        if form is None:
            raise ValueError("a release in parts has one or more")
        sizes, invented = np.concatenate(self._sizes), np.concatenate(self._invented)
        figures = Figures(
            number=manifest.number,
            rows=manifest.rows,
            groups=manifest.groups,
            counterfeits=manifest.counterfeits,
            counterfeit_groups=self._hosts,
            registered=0,
            registered_groups=0,
            sizes=sizes,
            members=sizes,
            widths=[
                Width.of(attribute, _together(self._intervals[attribute.name]))
                for attribute in form.attribute("quasi")
                if attribute.name in self._intervals
            ],
            unmeasured=self._unmeasured,
        )
        of_groups = form_class(manifest.form) is Generalized
        classes = Classes(sizes, "a group", invented=invented) if of_groups else None
        why = form.why_no_class if Classes.of_form(form) is None else _IN_PARTS
        return Look(form, figures, classes, why)


def _together(pieces: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Intervals of several parts, each once."""
    both = pl.concat(pieces, how="vertical_relaxed")
    ends = [name for name in both.columns if name != ROWS]
    return both.group_by(ends).agg(pl.sum(ROWS)).sort(ends)


__all__ = ["Gathered", "Look"]
