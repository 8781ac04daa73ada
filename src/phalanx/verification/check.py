# SPDX-License-Identifier: Apache-2.0
"""Checking what was published: releases of ours with whatever evidence there is, or anybody's
table.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from phalanx.errors import PlanError, ReleaseError, shown
from phalanx.guarantees.base import NONE_ASKED, Verdict
from phalanx.guarantees.levels import levels
from phalanx.guarantees.registry import asked
from phalanx.guarantees.stated import alike
from phalanx.guarantees.staying import in_turn
from phalanx.guarantees.strength import promises_nothing
from phalanx.guarantees.verify import verify as verify_releases
from phalanx.progress import Progress, check_progress, silent
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release, Unread, check_unchanged, form_size
from phalanx.release.foreign import Foreign
from phalanx.release.room import Room
from phalanx.verification.gathering import as_tables, gather_evidence, read_releases
from phalanx.verification.progress import FILES, PARTS, told, told_beside
from phalanx.verification.recorded import share


@dataclass(frozen=True, repr=False)
class Verification:
    """What a check found; ``holds`` only if something was checked, and every single check holds."""

    checks: Sequence[Verdict]
    """One for each part that was looked at."""

    @property
    def holds(self) -> bool:
        """Whether something was checked, and every single check holds."""
        return self._compared and all(v.holds for v in self.checks)

    @property
    def _compared(self) -> bool:
        return any(v.result in ("holds", "fails") for v in self.checks)

    def __repr__(self) -> str:
        results = Counter(v.result for v in self.checks)
        counts = ", ".join(f"{n} {result}" for result, n in sorted(results.items()))
        fails = "FAILS" if results["fails"] else "nothing was asked"
        return f"<Verification: {'holds' if self.holds else fails} ({counts})>"

    def to_json(self) -> dict[str, Any]:
        """What a program reads of the check.

        Returns
        -------
        dict[str, Any]
            Stable keys: holds, checks (each name, bound, worst, holds, note); holds is None of a
            table of which no bound was asked, and of a figure that none was asked of.
        """
        return {
            "holds": self.holds if self._compared else None,
            "checks": [v.to_json() for v in self.checks],
        }


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
    progress: Progress = silent,
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
        The identifier column of the originals; one release alone is compared with an original that
        has none, row by row.
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
    progress : Progress, optional
        Called with what is looked at of a release in parts (``files``, ``original``, ``parts`` or
        ``persons``), how many of them were, and of how many; None where that is not known.

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
        Where there is no such engine, or no Spark, ``progress`` is no function, or ``allow_seeded``
        neither True nor False.
    ExtraError
        Where PySpark or Java is missing.
    MachineError
        Where the machine lacks the memory, threads or open files that reading takes, which is no
        verdict.
    """
    check_progress(progress)
    if not isinstance(allow_seeded, bool):
        raise PlanError(f"allow_seeded is {shown(allow_seeded)}; give True or False.")
    originals = as_tables(originals)
    with ExitStack() as rooms:
        each, beside = rooms.enter_context(_where(engine, spark_master))
        given = read_releases(releases, told(each, FILES, progress), Room(share(), form_size))
        read = [rooms.enter_context(release.on_disk()) for release in given]
        for release in read:
            if not isinstance(release, Unread):  # whose folder was looked at just now
                check_unchanged(release)
        evidence, recorded = (
            gather_evidence(
                read,
                ledger=ledger,
                originals=originals,
                identifier=identifier,
                cluster=cluster,
                persons=len(read) > 1,
                in_parts=True,
                progress=progress,
            )
            if ledger is not None or originals
            else (Evidence.of([release.evidence for release in given]), [])
        )
        return Verification(
            [
                *verify_releases(
                    read,
                    evidence,
                    allow_seeded=allow_seeded,
                    each=told(each, PARTS, progress),
                    beside=told_beside(beside, progress),
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
        Every check, and whether all hold; the levels of the table, each the best that holds; and
        which columns were not looked at.

    Raises
    ------
    ReleaseError
        Where the table cannot be read or lacks a column.
    PlanError
        Where a bound means nothing, or every table keeps it.
    """
    several = isinstance(quasi, Iterable) and not isinstance(quasi, str)
    quasi = list(quasi) if several else [quasi]  # type: ignore[list-item] # which is refused
    table = Foreign.read(source, quasi=quasi, sensitive=sensitive, group=group)
    guarantees = asked({name: bound for name, bound in bounds.items() if bound is not None})
    if nothing := next(filter(None, map(promises_nothing, guarantees)), None):
        raise PlanError(f"{nothing}; ask for more, or for no bound.")
    verdicts = [verdict for guarantee in guarantees for verdict in guarantee.check(table)]
    unseen = [verdict.name for verdict in verdicts if verdict.worst is None and not verdict.holds]
    if sensitive is None and unseen:
        raise ReleaseError(
            f"{unseen[0]} is about a sensitive attribute; name it with --sensitive (sensitive)."
        )
    figures = levels(table)
    levels_shown = [
        Verdict(
            name=name,
            bound=NONE_ASKED,
            worst=_figure(value),
            holds=True,
            note=_NOTES.get(name, ""),
            less_is_worse=name.endswith("_l"),
        )
        for name, value in figures.items()
    ]
    texts = table.values is not None and table.values.dtype == pl.String
    values = table.values.drop_nulls().unique() if table.values is not None and texts else ()
    return Verification(
        [*verdicts, *levels_shown, *_without_role(table), *alike(frozenset(values))]
    )


def _without_role(table: Foreign) -> Iterator[Verdict]:
    """The columns that nothing looked at, of which each row may have another value."""
    if not table.others:
        return
    names = [name for name, differs in table.others.items() if differs]
    which = ", ".join(map(repr, [*dict.fromkeys([*names, *table.others])][:5]))
    note = f"not covered: {len(table.others)} column(s) were named neither quasi-identifier nor"
    note += f" sensitive, and nothing was looked at in them ({which})"
    if names:
        note += f"; in {', '.join(map(repr, names[:5]))} every row has another value, as with names"
    yield Verdict(name="other columns", bound="none", worst=None, holds=True, note=note)


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
