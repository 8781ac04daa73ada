# SPDX-License-Identifier: Apache-2.0
"""Whether a table is the one that a release was made of: a plan's source may be another one by now."""

from typing import Any, Final

from phalanx.errors import ReleaseError
from phalanx.series.released import Release
from phalanx.verification import verify

_OF_THE_TABLE: Final = ("persons of the original", "truth")
"""The checks that lay the rows of a table beside its release."""


def why_another(release: Release, table: Any) -> str:
    """Why a table is not the one, as far as its rows and those of the release show it; empty where
    they fit.
    """
    checks = verify(release, originals=[table], allow_seeded=True).checks
    unfit = [v for v in checks if not v.holds and v.name.endswith(_OF_THE_TABLE)]
    return unfit[0].note if unfit else ""


def refuse_another(release: Release, why: str) -> None:
    """ReleaseError where a table is not the one."""
    if why:
        raise ReleaseError(
            f"this is not the table that release {release.number} was made of ({why}); name that one."
        )
