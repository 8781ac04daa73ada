# SPDX-License-Identifier: Apache-2.0
"""What a check or an adversary is given: the releases, and the evidence that a ledger and original
tables give.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import polars as pl

from phalanx.data.combinations import Combinations
from phalanx.data.microdata import Microdata, check_columns
from phalanx.data.persons import PersonKey
from phalanx.data.repeated import Repeated
from phalanx.data.schema import Schema
from phalanx.data.sources.batches import Batches
from phalanx.data.sources.frames import check_index
from phalanx.data.sources.source import read_source
from phalanx.engines.fetched import some_at_a_time
from phalanx.errors import ReleaseError, SchemaError, kind_of, path_of
from phalanx.guarantees.base import Verdict, is_of_each_person
from phalanx.guarantees.registry import from_parameters
from phalanx.guarantees.views.hierarchies import hierarchy_of
from phalanx.ledger import Ledger
from phalanx.progress import Progress, silent, told_of_rows
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import EachFile, Release, opened
from phalanx.release.form import Form
from phalanx.release.room import Room
from phalanx.verification.progress import ORIGINAL
from phalanx.verification.recorded import of_ledger, share


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
    progress: Progress = silent,
) -> tuple[Evidence, list[Verdict]]:
    """The evidence that a ledger and original tables give, and whether the folders are those that
    the ledger recorded.

    ``persons``: whether it must be known who is who in the original tables; without a ledger, and
    about one release alone, it need not be. ``in_parts``: whether it is read part by part who is in
    which group of a release in parts, and an original of one counted, where nothing is asked of its
    persons: a check needs no more, an adversary and a measure need the rows. ``progress`` is told of
    rows that are counted.
    """
    if originals and len(originals) != len(releases):
        raise ReleaseError(
            f"{len(originals)} original table(s) are given for {len(releases)} release(s); give one"
            " for each, in order."
        )
    for what, name in (("identifier", identifier), ("cluster", cluster)):
        if not isinstance(name, str | None):
            raise ReleaseError(f"the {what} is {kind_of(name)}; give the name of its column.")
    if originals and identifier is None and (persons or ledger is not None):
        raise ReleaseError(
            "an original table needs its identifier column, so that a person is followed through"
            " the releases; name it with --identifier (identifier)."
        )
    # without a ledger persons are told apart only inside this process
    key, recorded, evidence = PersonKey(bytes(32)), list[Verdict](), Evidence()
    if ledger is not None:
        with Ledger.open(ledger, create=False) as opened:
            recorded, evidence = of_ledger(
                releases, opened, ledger if in_parts and not originals else None
            )
            key = opened.person_key(releases[0].manifest.series)
    microdata, combinations = dict[int, Microdata](), dict[int, Combinations]()
    for release, original in zip(releases, originals, strict=False):
        number = release.number
        counted = in_parts and number not in evidence.groups and cluster is None
        batches = _batches(release, original, identifier) if counted else None
        if batches is None:
            microdata[number] = _encoded(release, original, identifier, cluster, key)
        else:
            combinations[number] = _combined(release, batches, identifier, key, progress)
    as_recorded = {verdict.worst for verdict in recorded if verdict.holds}
    for release in releases:
        if release.digest not in as_recorded:
            continue  # what it says of registered persons may be as wrong as the rest
        if release.number in evidence.groups.keys() & microdata.keys():
            _check_all_are_there(
                release.number,
                evidence.groups[release.number]["person"],
                microdata[release.number].persons,
                release.manifest.registered,
            )
    return replace(evidence, microdata=microdata, combinations=combinations), recorded


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
    texts = [a.name for a in release.manifest.attributes if a.type == "categorical"]
    frame = read_source(original, drop=None, text=texts)
    try:
        named = [a.name for a in release.manifest.attributes]
        check_index(original, [*named, identifier or "", cluster or ""], SchemaError)
        schema = schema_of(release, identifier, frame.columns, cluster=cluster)
        return Microdata.encode(frame, schema, key)
    except SchemaError as error:
        raise SchemaError(f"the original table of release {release.number}: {error}") from None


def _batches(release: Release, original: Any, identifier: str | None) -> Batches | None:
    """The original of a release in parts, where it can be read some rows at a time, and nothing is
    asked of its persons, who are known by an ``identifier``, or of their weights.
    """
    attributes = release.manifest.attributes
    if (
        not release.manifest.parts
        or any(a.role == "weight" for a in attributes)
        or (
            identifier is not None
            and any(is_of_each_person(from_parameters(p)) for p in release.manifest.guarantees)
        )
    ):
        return None
    texts = [a.name for a in attributes if a.type == "categorical"]
    return some_at_a_time(original, texts, Path(gettempdir()))


def _combined(
    release: Release,
    batches: Batches,
    identifier: str | None,
    key: PersonKey,
    progress: Progress,
) -> Combinations:
    """The combinations of values that an original table's persons have, of the columns that were
    published; SourceError where a person is there twice.
    """
    names = [a.name for a in release.manifest.attributes if a.role in ("quasi", "sensitive")]
    telling = told_of_rows(ORIGINAL, (2 if identifier is None else 3) * batches.rows, progress)
    try:
        schema = schema_of(release, identifier, batches.names)
        check_columns(pl.DataFrame(schema=dict.fromkeys(batches.names, pl.Null)), schema)
        if identifier is not None:
            with Repeated(batches.rows, int(share()), Path(gettempdir())) as repeated:
                for batch in telling(batches.each([identifier])):
                    repeated.see(key.hash(batch[identifier]))
                repeated.check(identifier)
        values_alone = replace(schema, identifier=None, drop=[])
        return Combinations.counted(lambda: telling(batches.each(names)), values_alone)
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
    quasi, secret, weights = (
        [a for a in release.manifest.attributes if a.role == role]
        for role in ("quasi", "sensitive", "weight")
    )
    sensitive = next((a.name for a in secret), None)
    weight = next((a.name for a in weights if a.name in columns), None)
    used = {identifier, cluster, sensitive, weight, *(a.name for a in quasi)}
    return Schema(
        identifier=identifier,
        cluster=cluster,
        quasi=[a.name for a in quasi],
        sensitive=sensitive,
        weight=weight,
        drop=[c for c in columns if c not in used],
        types={a.name: a.type for a in (*quasi, *secret)},
        hierarchies={
            a.name: hierarchy_of(a.hierarchy, a.name) for a in quasi if a.hierarchy is not None
        },
        missing="value",
    )
