# SPDX-License-Identifier: Apache-2.0
"""What is left after a publisher was stopped, whether it is right, and whether the next publisher
puts it right.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

from crash import scene
from crash.places import Place, said
from phalanx import Ledger, Release, verify
from phalanx.errors import PhalanxError, ReleaseError
from phalanx.ledger.marks import Mark


def look(place: Place) -> list[str]:
    """What is wrong before anybody mends it: something is where it must not be, or a folder with a
    release's name is not a whole release.
    """
    faults = place.strays()
    for path in folders(place, f"{scene.NAME}-*"):
        try:
            Release.read(path)
        except PhalanxError as error:
            faults.append(f"before mending: {error}")
    try:
        said = len(marked(place))
    except PhalanxError as error:
        return [*faults, f"before mending: {error}"]
    if (named := len(folders(place, f"{scene.NAME}-*"))) > said:
        faults.append(
            f"before mending: {named} releases have their names, and the mark says {said}"
        )
    return faults


def goes_on(place: Place, release: int) -> Release:
    """The next release, asked for once more by whoever was told that an earlier one has its name
    now.
    """
    try:
        return scene.publish(place.out, place.ledger, release)
    except ReleaseError as error:
        if "is in its place now; publish again" not in str(error):
            raise
    return scene.publish(place.out, place.ledger, release)


def mend(place: Place, before: int, stopped: int = 1) -> dict[str, Any]:
    """Publish once more and say whether the first stopped publisher's release, which would be the
    one after ``before``, is there; and what is wrong now.
    """
    written = [digest(path) for path in folders(place, f"{scene.NAME}-*")]
    staged = [digest(path) for path in folders(place, f".{scene.NAME}.*.staging")]
    try:
        made = goes_on(place, before + 1)
    except PhalanxError as error:
        return {"recorded": None, "faults": [f"the next publish fails: {error}"]}
    faults = []
    if not before < made.number <= before + 1 + stopped:
        faults.append(
            f"the next release has the number {made.number} after {before} and {stopped}"
            " publisher(s) that were stopped"
        )
    recorded = made.number > before + 1
    with Ledger.open(place.ledger, create=False) as ledger:
        entries = ledger.releases(scene.NAME)
    if [e.number for e in entries] != list(range(1, made.number + 1)):
        faults.append(f"the ledger has the releases {[e.number for e in entries]}")
    for entry in entries:
        path = place.out / f"{scene.NAME}-{entry.number}"
        if entry.folder != str(path.resolve()):
            faults.append(f"the ledger has {entry.folder} for {path}")
        if digest(path) != entry.digest:
            faults.append(f"{path.name} is not the folder whose digest is in the ledger")
        if entry.number < made.number and entry.digest not in {*written, *staged}:
            faults.append(f"the folder of release {entry.number} was nowhere")
    if marked(place) != [entry.digest for entry in entries]:
        faults.append(
            f"the mark says {len(marked(place))} releases, and the ledger has {len(entries)}"
        )
    return {
        "recorded": recorded,
        "faults": [*faults, *at_rest(place, made.number), *place.strays()],
    }


def at_rest(place: Place, releases: int) -> list[str]:
    """What is there besides so many releases that verify, their reports, and the ledger."""
    faults = []
    named = [f"{scene.NAME}-{n}" for n in range(1, releases + 1)]
    reports = {f"{name}.html" for name in named}
    names = {path.name for path in place.out.iterdir()}
    pages = {path.name for path in (place.out / "reports").glob("*")}
    faults += [
        f"{name} is left in the folder of the releases"
        for name in sorted((names - {*named, "reports"}) | (pages - reports))
    ]
    faults += [
        f"the report {name} is not whole"
        for name in sorted(pages & reports)
        if not (place.out / "reports" / name).read_text().rstrip().endswith("</html>")
    ]
    private = sorted(
        path.relative_to(place.private).as_posix()
        for path in place.private.rglob("*")
        if path.is_file()
    )
    if not place.at_rest.fullmatch(" ".join(private)):
        faults.append(f"the folder of the ledger holds {', '.join(private)}")
    faults += [f"the temporary file {path.name} is left" for path in place.temporary.rglob("*")]
    try:
        checked = verify([place.out / name for name in named], ledger=place.ledger)
    except PhalanxError as error:
        return [*faults, f"the releases cannot be verified: {error}"]
    faults += [
        f"{check.name} does not hold ({check.note})" for check in checked.checks if not check.holds
    ]
    return faults


def marked(place: Place) -> list[str]:
    """The digests of the releases that were published by the mark."""
    return [
        digest
        for file in place.private.rglob("*.mark")
        for digest in Mark(file).read()[scene.NAME].digests
    ]


def folders(place: Place, pattern: str) -> list[Path]:
    """The folders with names like that among the releases."""
    return [path for path in place.out.glob(pattern) if path.is_dir()] if place.out.is_dir() else []


def digest(folder: Path) -> str | None:
    """SHA-256 of the manifest in a folder; None where there is none."""
    path = folder / "release.json"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def untrue(words: str, *, succeeded: bool, recorded: bool) -> list[str]:
    """What a publisher said that is not so."""
    faults = []
    if not succeeded and (words.count("\n") != 1 or not words.endswith(".\n") or len(words) > 500):
        faults.append(f"the publisher did not say one sentence: {words!r}")
    if succeeded and not recorded:
        faults.append("the publisher was content, and its release is not there")
    if recorded and re.search(r"nothing was (published|changed|recorded)", words):
        faults.append(f"the release is there, and the publisher said: {words.strip()}")
    if not recorded and re.search(r"is (recorded|published)", words):
        faults.append(f"the release is not there, and the publisher said: {words.strip()}")
    return [
        *faults,
        *(f"the publisher's words hold {what}" for what in said(words.encode(), released=False)),
    ]
