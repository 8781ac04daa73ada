# SPDX-License-Identifier: Apache-2.0
"""What a check or an adversary is given: the releases, and the evidence that a ledger and original
tables give.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.data.sources.frames import check_index
from phalanx.data.sources.source import read_source
from phalanx.errors import ReleaseError, SchemaError, path_of
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.views.hierarchies import hierarchy_of
from phalanx.ledger import Ledger
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import EachFile, Release, opened
from phalanx.release.form import Form
from phalanx.release.room import Room
from phalanx.verification.recorded import of_ledger


def as_tables(originals: Any) -> Sequence[Any]:
    """Original tables, or the paths of some; one by itself is a list of one."""
    return originals if isinstance(originals, list | tuple) else [originals]


def read_releases(
    releases: str | Path | Release | Sequence[str | Path | Release],
    each: EachFile = map,
    room: Room[Form] | None = None,
) -> list[Release]:
    """The folders as releases, in the order given; ReleaseError where they are of several series,
    or one is given twice. ``each`` compares the files of one in parts with their digests; with
    ``room`` tables are read as they are asked for.
    """
    if isinstance(releases, str | Path | Release):
        releases = [releases]
    if not isinstance(releases, Sequence) or not all(
        isinstance(given, str | Path | Release) for given in releases
    ):
        raise ReleaseError(
            "what is given is no release; give folders or releases, or check another publisher's"
            " table by verify_table."
        )
    if not releases:
        raise ReleaseError("no release is named; give the folders that 'publish' made.")
    what = "the release folder"
    read = [
        r if isinstance(r, Release) else opened(path_of(r, what, ReleaseError), each, room)
        for r in releases
    ]
    if len(names := sorted({r.manifest.series for r in read})) > 1:
        raise ReleaseError(
            f"the releases are of different series ({', '.join(names)}); check one series at a"
            " time."
        )
    if len({r.number for r in read}) < len(read):
        raise ReleaseError("one release is given twice; name each folder once.")
    return read


def gather_evidence(
    releases: Sequence[Release],
    *,
    ledger: str | None,
    originals: Sequence[Any] = (),
    identifier: str | None = None,
    cluster: str | None = None,
    persons: bool = True,
    in_parts: bool = False,
) -> tuple[Evidence, list[Verdict]]:
    """The evidence that a ledger and original tables give, and whether the folders are those that
    the ledger recorded.

    ``persons``: whether it must be known who is who in the original tables; without a ledger, and
    about one release alone, it need not be. ``in_parts``: whether it is read part by part who is in
    which group of a release in parts.
    """
    if originals and len(originals) != len(releases):
        raise ReleaseError(
            f"{len(originals)} original table(s) are given for {len(releases)} release(s); give one"
            " for each, in order."
        )
    if originals and identifier is None and (persons or ledger is not None):
        raise ReleaseError(
            "an original table needs its identifier column, so that a person is followed through"
            " the releases; name it with --identifier (identifier)."
        )
    # without a ledger persons are told apart only inside this process
    key, recorded, evidence = PersonKey(bytes(32)), list[Verdict](), Evidence()
    if ledger is not None:
        with Ledger.open(ledger, create=False) as opened:
            recorded, evidence = of_ledger(releases, opened, ledger if in_parts else None)
            key = opened.person_key(releases[0].manifest.series)
    microdata = {
        release.number: _encoded(release, original, identifier, cluster, key)
        for release, original in zip(releases, originals, strict=False)
    }
    for release in releases:
        if release.number in evidence.groups.keys() & microdata.keys():
            _check_all_are_there(
                release.number,
                evidence.groups[release.number]["person"],
                microdata[release.number].persons,
                release.manifest.registered,
            )
    return replace(evidence, microdata=microdata), recorded


def _check_all_are_there(
    number: int, published: pl.Series, original: pl.Series | None, registered: int
) -> None:
    """The original table of another release would pass for a check of those few who are in both; of
    their own, only those who are registered lack a row.
    """
    absent = registered if original is None else int((~published.is_in(original.implode())).sum())
    if absent != registered:
        instead = f" (and not the {registered} who are registered)" if registered else ""
        raise ReleaseError(
            f"the original table given for release {number} lacks {absent} of its {len(published)}"
            f" persons{instead}; check --identifier (identifier), and the order of the originals."
        )


def _encoded(
    release: Release, original: Any, identifier: str | None, cluster: str | None, key: PersonKey
) -> Microdata:
    """An original table under the schema by which it was published; all columns are read, whatever
    they hold, and those that were not published dropped, once the names are known. SchemaError, with
    the release that it was given for, where it is not such a table.
    """
    texts = [a.name for a in release.form.attributes if a.type == "categorical"]
    frame = read_source(original, drop=None, text=texts)
    try:
        named = [a.name for a in release.form.attributes]
        check_index(original, [*named, identifier or "", cluster or ""], SchemaError)
        schema = schema_of(release, identifier, frame.columns, cluster=cluster)
        return Microdata.encode(frame, schema, key)
    except SchemaError as error:
        raise SchemaError(f"the original table of release {release.number}: {error}") from None


def schema_of(
    release: Release,
    identifier: str | None,
    columns: Sequence[str],
    *,
    cluster: str | None = None,
) -> Schema:
    """The schema under which an original table was published, as far as the manifest tells; other
    columns are dropped.
    """
    quasi = release.form.attribute("quasi")
    sensitive = next((a.name for a in release.form.attribute("sensitive")), None)
    weights = [a.name for a in release.form.attribute("weight") if a.name in columns]
    weight = next(iter(weights), None)
    used = {identifier, cluster, sensitive, weight, *(a.name for a in quasi)}
    return Schema(
        identifier=identifier,
        cluster=cluster,
        quasi=[a.name for a in quasi],
        sensitive=sensitive,
        weight=weight,
        drop=[c for c in columns if c not in used],
        types={a.name: a.type for a in (*quasi, *release.form.attribute("sensitive"))},
        hierarchies={
            a.name: hierarchy_of(a.hierarchy, a.name) for a in quasi if a.hierarchy is not None
        },
        missing="value",
    )
