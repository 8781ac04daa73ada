# SPDX-License-Identifier: Apache-2.0
"""What was found of a release, kept beside its reports until it is found anew, so that the series
still says it when the studio starts again. No person, nothing that goes out with the folder, and
nothing that another user of the machine may read.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from phalanx.ledger import ReleaseEntry
from phalanx.ledger.entries import today
from phalanx.series.staging import REPORTS, make_room

CHECK: Final = "check"
LOSS: Final = "loss"
ATTACK: Final = "attack."
"""Before the name of the adversary."""
_FORMAT: Final = 1
"""What is kept in another form by another version is passed over."""


def keep(folder: str, digest: str, kind: str, finding: Mapping[str, Any]) -> None:
    """Write down what was found of a release, whole or not at all; where nothing can be written,
    it is seen on the page of the work alone.
    """
    to = _place(folder)
    with suppress(OSError):
        make_room(to.parent)
        to.mkdir(mode=0o700, exist_ok=True)
        of = {"format": _FORMAT, "digest": digest, "day": today(), "finding": finding}
        text = json.dumps(of, default=str)
        path, new = to / f"{quote(kind, safe='')}.json", to / f".{os.getpid()}"
        new.unlink(missing_ok=True)
        new.touch(mode=0o600, exist_ok=False)
        new.write_text(text, encoding="utf-8")
        new.replace(path)


def kept(entry: ReleaseEntry, kind: str) -> list[Mapping[str, Any]]:
    """What was found of a release as it was published, each with its day; ``kind`` may be what its
    kinds begin with.
    """
    findings: list[Mapping[str, Any]] = []
    for path in sorted(_place(entry.folder).glob(f"{quote(kind, safe='')}*.json")):
        with suppress(OSError, ValueError, TypeError, KeyError):
            of = json.loads(path.read_text(encoding="utf-8"))
            if (of["format"], of["digest"]) == (_FORMAT, entry.digest):
                findings.append({**of["finding"], "day": str(of["day"])})
    return findings


def _place(folder: str) -> Path:
    """Beside the reports."""
    return Path(folder).parent / REPORTS / f"{Path(folder).name}.found"
