# SPDX-License-Identifier: Apache-2.0
"""From a release to what it shows, looked at once: whole, or part by part where the memory does not
hold it so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final
from weakref import WeakKeyDictionary

import polars as pl

from phalanx.data.sources.available_memory import in_words, memory_left
from phalanx.data.sources.reading import check_process
from phalanx.errors import MachineError, ReleaseError
from phalanx.estimators import bucketized, generalized, perturbed, recoded, sliced
from phalanx.estimators.view import View
from phalanx.progress import Progress, silent
from phalanx.release.folder import Release
from phalanx.release.form import Form
from phalanx.release.part import Part

FORMS: Final[Mapping[str, Callable[[Release], View]]] = {
    "bucketized": bucketized.view,
    "generalized": generalized.view,
    "perturbed": perturbed.view,
    "recoded": recoded.view,
    "sliced": sliced.view,
}
"""How to read each form of ours; one of another package reads itself."""

PARTS: Final = "parts"
"""What is told of as it is read."""
_OF_ENTRIES: Final = 64
"""About so many bytes an answer takes for each entry that is looked at at once."""
_OF_ENDS: Final = 128
"""The same for each end of an attribute in a condition, and four times as many where a number is
added up.
"""


def check_room(release: Release, ends: int, what: str, beside: int = 0) -> None:
    """MachineError where the memory does not hold what is worked out of so many ends of a release in
    parts, with so many bytes ``beside``, and for what.
    """
    needed = _OF_ENDS * ends + beside
    if release.manifest.parts and needed > (room := memory_left()):
        raise MachineError(
            f"{what} of {release.path} takes {in_words(needed)} of memory, and"
            f" {in_words(room)} are left; ask on a larger machine."
        )


def view_of(release: Release) -> View:
    """What a release shows, looked at once; how many rows it does not, where its manifest tells.
    MachineError where the memory does not hold it whole.
    """
    view = view_to_ask(release)
    if not view.parts:
        return view
    size, together = _sizes(view.parts)
    needed = together + _OF_ENTRIES * sum(part.entries for part in view.parts)
    if needed > (room := memory_left()):
        raise _too_much(release, size + needed, room + size)
    return _together(release, view)  # and is not kept, as others are answered from parts


def view_to_ask(release: Release, progress: Progress = silent) -> View:
    """The same to be asked, part by part where the memory does not hold it whole beside what an
    answer takes.
    """
    check_process(ReleaseError)
    if release in _views:
        return _views[release]
    reader = FORMS.get(release.manifest.form)
    if reader is None:
        view = release.form.view(release.manifest)
        if not isinstance(view, View):
            raise ReleaseError(
                f"the package that reads {release.manifest.form} releases gives no view of this one,"
                " so that nothing is estimated from it; its makers should know."
            )
    else:
        in_parts = bool(release.manifest.parts)
        view = _of_parts(release, reader, progress) if in_parts else reader(release)
    _views[release] = _with_suppression(release, view)
    return _views[release]


def _of_parts(release: Release, reader: Callable[[Release], View], progress: Progress) -> View:
    """What a release in parts shows, of which one after the other is read; MachineError where that
    is more than the memory holds.
    """
    views: list[View] = []
    parts = len(release.manifest.parts)
    for number in range(parts):
        progress(PARTS, number, parts)
        views.append(reader(Part.read_part(release.path, release.manifest, number)).packed())
        held, _ = _sizes(views)
        needed = held * parts // len(views) + _OF_ENTRIES * max(view.entries for view in views)
        if needed > (room := memory_left() + held):
            raise _too_much(release, needed, room)
    progress(PARTS, parts, parts)
    view = View.apart(views)
    if not view.alike():
        raise _different(release)
    # each part stands there twice while they are put together
    _, together = _sizes(views)
    asking = _OF_ENTRIES * sum(part.entries for part in views)
    asking += _OF_ENDS * max(view.points([a.name]) for a in view.attributes)
    return view if together + asking > memory_left() else _together(release, view)


def _together(release: Release, view: View) -> View:
    """The view that holds all parts; ReleaseError where they are not of one release."""
    try:
        return view.whole()
    except (pl.exceptions.PolarsError, KeyError, ValueError):
        raise _different(release) from None


def _different(release: Release) -> ReleaseError:
    return ReleaseError(
        f"{release.path}: its parts do not have the same columns; ask the publisher for the folder"
        " again."
    )


def _sizes(parts: Sequence[View]) -> tuple[int, int]:
    """About so many bytes they take apart, and together."""
    return sum(part.size for part in parts), sum(part.size_together for part in parts)


def _too_much(release: Release, needed: int, room: int) -> MachineError:
    return MachineError(
        f"what {release.path} shows takes {in_words(needed)} of memory, and {in_words(room)}"
        " are left; ask on a larger machine."
    )


def can_be_read(form: Form) -> bool:
    """Whether estimates can be made from a form."""
    return form.kind in FORMS or type(form).view is not Form.view


_views: WeakKeyDictionary[Release, View] = WeakKeyDictionary()


def _with_suppression(release: Release, view: View) -> View:
    """The view that knows whether rows may have been suppressed."""
    if view.unpublished is None or release.manifest.may_suppress == []:
        return view
    why = (
        "rows may have been suppressed, by the plan, and the release does not say whether and how"
        " many"
    )
    return replace(view, unpublished=None, why_unpublished=why)
