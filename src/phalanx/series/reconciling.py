# SPDX-License-Identifier: Apache-2.0
"""A ledger that is older than what was published, brought up to it from the release folders, as far
as these say what must be remembered.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from phalanx.data.waves import refuse_twice
from phalanx.errors import LedgerError, ReleaseError
from phalanx.exact import is_list
from phalanx.guarantees.verify import verify
from phalanx.ledger import Ledger, Reconciliation, ReleaseEntry
from phalanx.ledger.reconciling import Standing
from phalanx.methods.base import Recollecting, registered
from phalanx.release.folder import Release
from phalanx.series import staging

if TYPE_CHECKING:
    import polars as pl


def reconcile(
    series: str,
    folders: Sequence[str | Path] = (),
    *,
    ledger: str,
    waves: Mapping[int, str] | None = None,
) -> Reconciliation:
    """Say to a ledger which releases of a series were published, with the folders of those that it
    does not know; who says so, says it of all.

    Every folder is verified from its files, must name the release before it, and must be the one
    that the mark has, where there is a mark. What the method must remember of a release is made
    from its folder where that is possible (nothing, or what was spent). Where it is about persons,
    the folder does not hold it: the releases are recorded, and the series is not published any
    more.

    Parameters
    ----------
    series : str
        The name of the series.
    folders : Sequence[str | Path], optional
        The release folders that the ledger does not know, in order.
    ledger : str
        Its URL.
    waves : Mapping[int, str], optional
        By number, the wave of each release that is entered, where those of the series have one.

    Returns
    -------
    Reconciliation
        What was entered, and whether what it must have remembered is lost.

    Raises
    ------
    LedgerError
        Where a release is missing, or is not what was published; where its wave is not said.
    ReleaseError
        Where a folder is not a release.
    SourceError
        Where a wave was published before.
    """
    listed = [folders] if isinstance(folders, str | Path) else folders
    if not is_list(listed, lambda folder: isinstance(folder, str | Path)):
        raise ReleaseError("what is given are no release folders; give a list of their paths.")
    releases = sorted(
        (Release.read(folder) for folder in listed), key=lambda release: release.number
    )
    with Ledger.open(ledger, create=False) as opened:
        standing = opened.standing(series)
        entered = _unknown(series, standing, releases)
        _check_all(series, standing, entered)
        wave_of = _waves(series, standing, entered, waves or {})
        if standing.marked and not entered:
            raise LedgerError(
                f"the ledger and its mark agree on {len(standing.entries)} release(s) of series"
                f" {series!r}; there is nothing to reconcile."
            )
        _check_files(standing, entered)
        promise = opened.promise(series) or {}
        method = registered().get(str(promise.get("method")))
        of_method = None if method is None else method.load()
        forgotten = bool(entered) and standing.remembers and not isinstance(of_method, Recollecting)
        dated = {digest: day for day, digest in standing.missing}
        return opened.reconcile(
            series,
            [
                (_entry(release, dated, wave_of[release.number]), _memory(of_method, release))
                for release in entered
            ],
            forgotten=forgotten,
        )


def _unknown(series: str, standing: Standing, releases: Sequence[Release]) -> list[Release]:
    """The releases that the ledger does not know; LedgerError where one is not of the series, or is
    another one than the ledger knows.
    """
    digest_of = {entry.number: entry.digest for entry in standing.entries}
    for release in releases:
        if release.manifest.series != series:
            raise LedgerError(
                f"{release.path} is a release of series {release.manifest.series!r} and not of"
                f" {series!r}; leave it out."
            )
        if digest_of.get(release.number, release.digest) != release.digest:
            raise LedgerError(
                f"{release.path} is not the release {release.number} of series {series!r} that the"
                " ledger recorded; leave it out."
            )
    return [release for release in releases if release.number not in digest_of]


def _check_all(series: str, standing: Standing, entered: Sequence[Release]) -> None:
    """LedgerError where a release that left would still be missing, or the releases are not a
    chain.
    """
    recorded = len(standing.entries)
    by_number = {release.number: release for release in entered}
    for number, (day, digest) in enumerate(standing.missing, start=recorded + 1):
        release = by_number.get(number)
        if release is None:
            raise LedgerError(
                f"release {number} of series {series!r} was published on {day} with the digest"
                f" {digest[:12]} and is not given; name its folder, too."
            )
        if release.digest != digest:
            raise LedgerError(
                f"{release.path} is not the release {number} of series {series!r} that was"
                f" published on {day} (digest {digest[:12]}); find that one."
            )
    before = standing.entries[-1].digest
    for number, release in enumerate(entered, start=recorded + 1):
        if release.number != number or release.manifest.previous != before:
            raise LedgerError(
                f"{release.path} does not follow release {number - 1} of series {series!r}, which"
                " it has to name; name every missing folder once."
            )
        before = release.digest
    last = recorded + len(entered)
    if standing.recorded > last:
        raise LedgerError(
            f"{standing.recorded} releases of series {series!r} were recorded, and only {last}"
            " would be known; name the missing folders, too."
        )
    places = {
        Path(standing.entries[-1].folder).parent,
        *(release.path.resolve().parent for release in entered),
    }
    for place in sorted(places):
        if further := staging.later(place, series, last):
            raise LedgerError(f"{further[0]} is not in the ledger and not given; name it, too.")


def _waves(
    series: str, standing: Standing, entered: Sequence[Release], named: Mapping[int, str]
) -> dict[int, str | None]:
    """The wave of each release that is entered, which no folder tells; LedgerError where the others
    have one and it is not said, since it could be published again.
    """
    published = [entry.summary.get("wave") for entry in standing.entries]
    have_some = any(wave is not None for wave in published)
    numbers = [release.number for release in entered]
    if strange := sorted(set(named) - set(numbers)):
        raise LedgerError(
            f"a wave is given for release {strange[0]} of series {series!r}, which is not entered;"
            " leave it out."
        )
    for number in numbers:
        wave = named.get(number)
        if wave is None and have_some:
            raise LedgerError(
                f"the releases of series {series!r} are waves of a table, and no folder tells which;"
                f" say it of release {number} by --wave {number}=WAVE."
            )
        if wave is not None:
            refuse_twice(wave, published)
        published.append(wave)
    return dict(zip(numbers, published[len(standing.entries) :], strict=True))


def _check_files(standing: Standing, entered: Sequence[Release]) -> None:
    """LedgerError where the files of a release do not keep what they promise, as those that were
    published did.
    """
    earlier = (
        [
            Release.read(entry.folder)
            for entry in standing.entries
            if (Path(entry.folder) / "release.json").is_file()
        ]
        if entered
        else []
    )
    for place, release in enumerate(entered):
        checked = verify([*earlier, *entered[: place + 1]], allow_seeded=True, only_last=True)
        if broken := [verdict for verdict in checked if not verdict.holds]:
            raise LedgerError(
                f"{release.path} is not as it was published ({broken[0].name} does not hold:"
                f" {broken[0].note}); find the folder that was handed out."
            )


def _entry(release: Release, dated: Mapping[str, str], wave: str | None) -> ReleaseEntry:
    """The entry of a release that is entered again; one that never got its name gets it at the next
    publish.
    """
    m, path = release.manifest, release.path.resolve()
    summary = {
        "rows": m.rows,
        "groups": m.groups,
        "counterfeits": m.counterfeits,
        "registered": m.registered,
        **({} if wave is None else {"wave": wave}),
    }
    unnamed = path.name.startswith(".")
    day = {"day": dated[release.digest]} if release.digest in dated else {}
    folder = path.with_name(f"{m.series}-{m.number}") if unnamed else path
    return ReleaseEntry(
        number=m.number,
        folder=str(folder),
        staging=path.name if unnamed else "",
        digest=release.digest,
        summary=summary,
        **day,
    )


def _memory(method: object, release: Release) -> "Mapping[str, pl.DataFrame]":
    return (
        method.recollect(release.digest, release.manifest.guarantees)
        if isinstance(method, Recollecting)
        else {}
    )
