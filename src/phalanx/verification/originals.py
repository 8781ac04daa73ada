# SPDX-License-Identifier: Apache-2.0
"""Whether a table is the one that a release was made of: figures beside another one would say nothing,
and look as if they did.
"""

from collections.abc import Sequence
from typing import Any, Final

from phalanx.errors import ReleaseError
from phalanx.progress import Progress, silent
from phalanx.release.folder import Release
from phalanx.verification.check import verify

_OF_THE_TABLE: Final = ("persons of the original", "truth")
"""The checks that lay the rows of a table beside its release."""


def why_another(release: Release, table: Any, progress: Progress = silent) -> str:
    """Why a table is not the one, as far as its rows and those of the release show it; empty where
    they fit. ``progress`` as of ``verify``.
    """
    checks = verify(release, originals=[table], allow_seeded=True, progress=progress).checks
    unfit = [v for v in checks if not v.holds and v.name.endswith(_OF_THE_TABLE)]
    return unfit[0].note if unfit else ""


def refuse_another(release: Release, why: str) -> None:
    """ReleaseError where a table is not the one."""
    if why:
        raise ReleaseError(
            f"this is not the table that release {release.number} was made of ({why}); name that one."
        )


def refuse_others(
    releases: Sequence[Release], tables: Sequence[Any], progress: Progress = silent
) -> None:
    """ReleaseError where one of the tables is not that of its release, both in one order."""
    for release, table in zip(releases, tables, strict=False):
        refuse_another(release, why_another(release, table, progress))
