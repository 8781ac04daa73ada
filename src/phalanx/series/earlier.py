# SPDX-License-Identifier: Apache-2.0
"""The releases before the next one of a series, as they were published."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from phalanx.data.hierarchies.hierarchy import Hierarchy
from phalanx.errors import ReleaseError
from phalanx.guarantees.views.hierarchies import hierarchy_of
from phalanx.ledger import ReleaseEntry
from phalanx.release import folder
from phalanx.series import staging

A = TypeVar("A")
T = TypeVar("T")


def lies_at(entry: ReleaseEntry, to: Path) -> Path:
    """Where a release lies: as it was recorded, or, where the folder that gets releases was moved or
    renamed since, by its name in that one, ``to``.

    A publisher who is at work may not have given it its name yet, and is waited for; an interrupted
    one has not.
    """
    recorded = Path(entry.folder)
    named = [recorded, to / recorded.name]
    places = dict.fromkeys((recorded.parent, to)) if entry.staging else ()
    unnamed = [place / entry.staging for place in places]
    if not any(place.exists() for place in named):
        for place in unnamed:
            staging.wait_for_publisher(place)
    return next((place for place in (*named, *unnamed) if place.exists()), recorded)


def readable_at(series: str, entry: ReleaseEntry, to: Path) -> Path:
    """Where a release lies, as ``lies_at`` finds it; ReleaseError where another user has recorded it
    and not given it its name, so that no one else may read it.
    """
    place = lies_at(entry, to)
    if entry.staging and place.name == entry.staging and staging.is_of_another(place):
        staging.wait_for_name(place)
        place = lies_at(entry, to)
        if place.name == entry.staging and staging.is_of_another(place):
            raise staging.kept_by_another(series, entry.number, place)
    return place


def read_at(at: Callable[[], A], read: Callable[[A], T]) -> T:
    """What is read of releases where they lie, and once more where they lie elsewhere by then: a
    publisher may give one its name at that moment.
    """
    first = at()
    try:
        return read(first)
    except (ReleaseError, OSError):
        if (then := at()) == first:
            raise
        return read(then)


def unread(series: str, entry: ReleaseEntry, to: Path) -> folder.Release:
    """An earlier release, of which nothing is read but what tells that it is as it was published."""

    def read(place: Path) -> folder.Release:
        try:
            return folder.Unread(place)
        except (
            ReleaseError
        ) as wrong:  # its own remedy, to ask the publisher, is of no use to the publisher
            what = str(wrong).rsplit(";", 1)[0]
            raise ReleaseError(
                f"release {entry.number} of {series!r} is not as it was published ({what}); put the"
                " published folder back."
            ) from None

    release = read_at(lambda: readable_at(series, entry, to), read)
    if release.digest != entry.digest:
        raise ReleaseError(
            f"{release.path} is not what the ledger recorded as release {entry.number} of"
            f" {series!r}; put the published folder back."
        )
    return release


def published_hierarchies(earlier: Sequence[folder.Release]) -> Mapping[str, Hierarchy]:
    """What the last of these releases published of each attribute that has one."""
    attributes = earlier[-1].manifest.attributes if earlier else []
    return {
        a.name: hierarchy_of(a.hierarchy, a.name) for a in attributes if a.hierarchy is not None
    }
