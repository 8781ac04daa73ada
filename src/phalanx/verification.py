# SPDX-License-Identifier: Apache-2.0
"""Checking what was published: releases of ours with whatever evidence there is, or anybody's
table.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.data.sources.available_memory import memory_left
from phalanx.data.sources.source import read_source
from phalanx.errors import LedgerError, PlanError, ReleaseError
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.levels import levels
from phalanx.guarantees.registry import asked
from phalanx.guarantees.staying import in_turn
from phalanx.guarantees.verify import verify as verify_releases
from phalanx.guarantees.views.hierarchies import hierarchy_of
from phalanx.ledger import Ledger
from phalanx.ledger.rows import Entries
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import EachFile, Release, form_size, opened
from phalanx.release.foreign import Foreign
from phalanx.release.form import Form
from phalanx.release.room import Room

_PARTS: Final = 16
"""Of the memory that is left, such a part may be kept of what was read of releases, and as much of
who is in which group.
"""


@dataclass(frozen=True, repr=False)
class Verification:
    """What a check found; ``holds`` only if every single check holds."""

    checks: Sequence[Verdict]
    """One for each part that was looked at."""

    @property
    def holds(self) -> bool:
        """Whether every single check holds."""
        return all(v.holds for v in self.checks)

    def __repr__(self) -> str:
        results = Counter(v.result for v in self.checks)
        counts = ", ".join(f"{n} {result}" for result, n in sorted(results.items()))
        return f"<Verification: {'holds' if self.holds else 'FAILS'} ({counts})>"

    def to_json(self) -> dict[str, Any]:
        """What a program reads of the check.

        Returns
        -------
        dict[str, Any]
            Stable keys: holds, checks (each name, bound, worst, holds, note).
        """
        return {"holds": self.holds, "checks": [v.to_json() for v in self.checks]}


def verify(
    releases: str | Path | Release | Sequence[str | Path | Release],
    *,
    ledger: str | None = None,
    originals: Sequence[Any] = (),
    identifier: str | None = None,
    cluster: str | None = None,
    allow_seeded: bool = False,
    engine: Literal["local", "spark"] | None = None,
    spark_master: str | None = None,
) -> Verification:
    """Check releases of one series from their files, and against whatever evidence is laid beside
    them.

    What could not be checked is said. Another publisher's table is checked by ``verify_table``.

    Parameters
    ----------
    releases : str | Path | Release | Sequence[str | Path | Release]
        One or several, as folders or as what ``publish`` returned.
    ledger : str, optional
        A URL; adds the private person-to-group mapping and the digests that the ledger recorded.
    originals : sequence of frames or paths
        One table for each release, in the order of ``releases``, with the ``identifier`` column;
        adds the public view, in which an adversary knows each person's quasi-identifiers.
    identifier : str, optional
        The identifier column of the originals.
    cluster : str, optional
        The cluster column of the originals; adds what is promised of households.
    allow_seeded : bool, default False
        Accept releases that were made with a seed, in a test.
    engine : "local" or "spark", optional
        Where the parts of a release in parts are looked at: one after the other here, or by
        workers of Spark, who must see the folder under the same path. The verdicts are the same.
    spark_master : str, optional
        Where Spark runs, in its own words; by default in the session that is active, or on all
        processors of this machine.

    Returns
    -------
    Verification
        Every check, and whether all hold.

    Raises
    ------
    ReleaseError
        Where a folder cannot be read, or the originals do not fit.
    LedgerError
        Where the ledger cannot be read, or knows no such series.
    PlanError
        Where there is no such engine, or no Spark.
    ExtraError
        Where PySpark or Java is missing.
    """
    originals = as_tables(originals)
    with ExitStack() as rooms:
        each, beside = rooms.enter_context(_where(engine, spark_master))
        given = read_releases(releases, each, Room(_share(), form_size))
        read = [rooms.enter_context(release.on_disk()) for release in given]
        evidence, recorded = (
            gather_evidence(
                read,
                ledger=ledger,
                originals=originals,
                identifier=identifier,
                cluster=cluster,
                in_parts=not originals,
            )
            if ledger is not None or originals
            else (Evidence.of([release.evidence for release in given]), [])
        )
        return Verification(
            [
                *verify_releases(
                    read, evidence, allow_seeded=allow_seeded, each=each, beside=beside
                ),
                *recorded,
            ]
        )


@contextmanager
def _where(engine: str | None, master: str | None) -> Iterator[tuple[Any, Any]]:
    """What calls a function with each number of a part or a file, and what does with what lies beside
    it; PlanError where nothing does.
    """
    if engine not in (None, "local", "spark"):
        raise PlanError(
            f"the engine is {engine!r}, and a check runs on local or on spark; name one of these."
        )
    if engine != "spark":
        if master is not None:
            raise PlanError(
                "spark_master says where Spark runs, and the engine is another; set engine ="
                " 'spark', or leave it out."
            )
        yield map, in_turn
        return
    from phalanx.engines.spark.checking import workers

    with workers(master) as spark:
        yield spark.each, spark.beside


def verify_table(
    source: Any,
    *,
    quasi: Sequence[str] | str,
    sensitive: str | None = None,
    group: str | None = None,
    **bounds: Any,
) -> Verification:
    """Which k, l and t anybody's table has; with bounds given, whether it keeps them.

    Parameters
    ----------
    source : frame or path of shape (n, columns)
        The table, or its CSV or Parquet file; a missing value is a value of its own.
    quasi : Sequence[str] | str
        The quasi-identifiers.
    sensitive : str, optional
        The sensitive column; without it, only k is told.
    group : str, optional
        The column that names a row's group; without it, rows of equal quasi-identifiers are a
        group.
    **bounds : int, float, Fraction or str
        ``k``, ``l``, ``t``, or whatever field of a guarantee of another package has a help text;
        None is no bound.

    Returns
    -------
    Verification
        Every check, and whether all hold; the levels of the table, each the best that holds.

    Raises
    ------
    ReleaseError
        Where the table cannot be read or lacks a column.
    PlanError
        Where a bound means nothing.
    """
    quasi = [quasi] if isinstance(quasi, str) else quasi
    table = Foreign.read(source, quasi=quasi, sensitive=sensitive, group=group)
    guarantees = asked({name: bound for name, bound in bounds.items() if bound is not None})
    verdicts = [verdict for guarantee in guarantees for verdict in guarantee.check(table)]
    unseen = [verdict.name for verdict in verdicts if verdict.worst is None and not verdict.holds]
    if sensitive is None and unseen:
        raise ReleaseError(f"{unseen[0]} is about a sensitive attribute; name it with --sensitive.")
    figures = levels(table)
    levels_shown = [
        Verdict(
            name=name,
            bound="none asked",
            worst=_figure(value),
            holds=True,
            note=_NOTES.get(name, ""),
            less_is_worse=name.endswith("_l"),
        )
        for name, value in figures.items()
    ]
    return Verification([*verdicts, *levels_shown])


_NOTES = {
    "k": "the smallest group",
    "distinct_l": "the fewest different sensitive values of a group",
    "frequency_l": "1 / the largest share of one value in a group",
    "entropy_l": "exp of the smallest entropy of a group, rounded down",
    "recursive": "(c, l)-diverse for every c above the figure beside each l",
    "t_equal": "the largest distance between a group's values and the table's",
    "t_ordered": "the same, by how far apart ordered values are",
}


def _figure(value: Any) -> Any:
    return (
        ", ".join(f"l={l}: {c}" for l, c in value.items()) or None
        if isinstance(value, dict)
        else value
    )


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
    read = [r if isinstance(r, Release) else opened(r, each, room) for r in releases]
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
            " the releases; name it with --identifier."
        )
    # without a ledger persons are told apart only inside this process
    key, recorded, evidence = PersonKey(bytes(32)), list[Verdict](), Evidence()
    if ledger is not None:
        with Ledger.open(ledger, create=False) as opened:
            recorded, evidence = _recorded(releases, opened, ledger if in_parts else None)
            key = opened.person_key(releases[0].manifest.series)
    microdata = {
        release.number: Microdata.encode(
            frame, schema_of(release, identifier, frame.columns, cluster=cluster), key
        )
        for release, frame in (
            (release, _frame(original, release))
            for release, original in zip(releases, originals, strict=False)
        )
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


@dataclass(frozen=True)
class _Known:
    """The ledger of a series, as of one moment."""

    url: str
    series: str
    entries: Entries

    def groups(self, number: int, part: int | None = None) -> pl.DataFrame:
        """Who is in which group of a release, or of one of its parts; KeyError where it is not
        known.
        """
        with Ledger.open(self.url, create=False) as ledger:
            mapping = ledger.recall(self.series, self.entries).groups(number, part)
        if mapping is None:
            raise KeyError(number)
        return mapping


@dataclass(frozen=True)
class _OfParts(Mapping[int, pl.DataFrame]):
    """Who is in which group of each part of a release, read as it is asked for."""

    known: _Known
    number: int
    parts: Sequence[int]

    def __getitem__(self, part: int) -> pl.DataFrame:
        return self.known.groups(self.number, part)

    def __iter__(self) -> Iterator[int]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


@dataclass(frozen=True)
class _OfReleases(Mapping[int, pl.DataFrame]):
    """Who is in which group of each release, read as it is asked for, and kept as long as there is
    room.
    """

    known: _Known
    numbers: Sequence[int]
    room: Room[pl.DataFrame]

    def __getitem__(self, number: int) -> pl.DataFrame:
        if number not in self.numbers:
            raise KeyError(number)
        return self.room.get(number, partial(self.known.groups, number))

    def __contains__(self, number: object) -> bool:
        return number in self.numbers  # which reads nothing

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)


def _size(mapping: pl.DataFrame) -> int:
    return int(mapping.estimated_size())


def _share() -> float:
    """So many bytes of what was read of releases, or of who is in which group, are kept."""
    return memory_left() / _PARTS


def _recorded(
    releases: Sequence[Release], ledger: Ledger, url: str | None
) -> tuple[list[Verdict], Evidence]:
    """Whether the folders are those that the ledger recorded, and what it knows beside them; with
    its ``url`` that of parts is read later.
    """
    series = releases[0].manifest.series
    entries = {entry.number: entry for entry in ledger.releases(series)}
    if not entries:
        raise LedgerError(
            f"the ledger knows no series {series!r}; use the ledger that it was published with."
        )
    verdicts = []
    parted: dict[int, Mapping[int, pl.DataFrame]] = {}
    recall = ledger.recall(series)
    of_parts, known = recall.parts(), _Known(url or "", series, recall.entries)
    whole = [
        release.number for release in releases if url is None or not of_parts.get(release.number)
    ]
    for release in releases:
        entry = entries.get(release.number)
        same = entry is not None and entry.digest == release.digest
        verdicts.append(
            Verdict(
                name=f"release {release.number}: recorded in the ledger",
                bound=entry.digest if entry else "a record",
                worst=release.digest,
                holds=same,
                note=f"the manifest is {'' if same else 'not '}the one that the ledger recorded",
            )
        )
        if release.number not in whole:
            parted[release.number] = _OfParts(known, release.number, of_parts[release.number])
    mapped = [number for number in recall.mapped() if number in whole]
    groups: Mapping[int, pl.DataFrame]
    if url is None:
        read = {number: recall.groups(number) for number in whole}
        groups = {number: mapping for number, mapping in read.items() if mapping is not None}
    else:
        groups = _OfReleases(known, mapped, Room(_share(), _size))
    parts: dict[int, object] = {}
    drawn = {release.number: release.form_type.drawn_from for release in releases}
    if any(drawn.values()):
        remembered = recall.remembered()
        parts = {
            number: drawn_from.of_frames(remembered, number)
            for number, drawn_from in drawn.items()
            if drawn_from is not None
        }
    return verdicts, Evidence(groups=groups, parts=parts, parted=parted)


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
            f" persons{instead}; check --identifier, and the order of the originals."
        )


def _frame(original: Any, release: Release) -> pl.DataFrame:
    """All columns, whatever they hold: those that were not published are dropped, once the names
    are known.
    """
    texts = [a.name for a in release.form.attributes if a.type == "categorical"]
    return read_source(original, drop=None, text=texts)


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


__all__ = ["Verification", "gather_evidence", "read_releases", "verify", "verify_table"]
