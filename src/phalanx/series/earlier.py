# SPDX-License-Identifier: Apache-2.0
"""The releases before the next one of a series, as they were published."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from phalanx.data.hierarchies.hierarchy import Hierarchy
from phalanx.errors import ReleaseError
from phalanx.guarantees.views.hierarchies import hierarchy_of
from phalanx.ledger import ReleaseEntry
from phalanx.release import folder


def lies_at(entry: ReleaseEntry, to: Path) -> Path:
    """Where a release lies: as it was recorded, or, where the folder that gets releases was moved or
    renamed since, by its name in that one, ``to``. An interrupted publication may not have given it
    its name yet.
    """
    recorded = Path(entry.folder)
    places = [recorded, to / recorded.name]
    if entry.staging:
        places += [recorded.parent / entry.staging, to / entry.staging]
    return next((place for place in places if place.exists()), recorded)


def unread(series: str, entry: ReleaseEntry, to: Path) -> folder.Release:
    """An earlier release, of which nothing is read but what tells that it is as it was published."""
    place = lies_at(entry, to)
    try:
        release = folder.Unread(place)
    except (
        ReleaseError
    ) as wrong:  # its own remedy, to ask the publisher, is of no use to the publisher
        what = str(wrong).rsplit(";", 1)[0]
        raise ReleaseError(
            f"release {entry.number} of {series!r} is not as it was published ({what}); put the"
            " published folder back."
        ) from None
    if release.digest != entry.digest:
        raise ReleaseError(
            f"{place} is not what the ledger recorded as release {entry.number} of"
            f" {series!r}; put the published folder back."
        )
    return release


def published_hierarchies(earlier: Sequence[folder.Release]) -> Mapping[str, Hierarchy]:
    """What the last of these releases published of each attribute that has one."""
    attributes = earlier[-1].manifest.attributes if earlier else []
    return {
        a.name: hierarchy_of(a.hierarchy, a.name) for a in attributes if a.hierarchy is not None
    }
