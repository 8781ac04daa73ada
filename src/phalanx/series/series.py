# SPDX-License-Identifier: Apache-2.0
"""The way of the data: read, publish, check the very files, record, hand out. Whatever fails leaves
nothing behind.
"""

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from phalanx.adversaries.base import an_adversary, attacked_by
from phalanx.data.microdata import Microdata
from phalanx.data.ordering import written_down
from phalanx.data.schema import Schema
from phalanx.data.sources.available_memory import memory_held
from phalanx.data.waves import refuse_twice
from phalanx.engines.choosing import Began, Engine, divide, fetch, within
from phalanx.engines.fetched import FETCHED
from phalanx.engines.out_of_core import Divided
from phalanx.engines.spark.source import OnSpark
from phalanx.errors import (
    LedgerError,
    PhalanxError,
    PlanError,
    ReleaseError,
    SchemaError,
    kind_of,
    path_of,
    place_of,
)
from phalanx.exact import is_list
from phalanx.ledger import Ledger, ReleaseEntry
from phalanx.methods.base import Memory, Method, privacy_unit, under
from phalanx.methods.households import guarantees_of
from phalanx.methods.ordering import check_takes
from phalanx.methods.written_alike import check_written_alike
from phalanx.progress import Progress, check_progress, silent
from phalanx.series import staging
from phalanx.series.counted import counts
from phalanx.series.drafting import Checked, Drafting
from phalanx.series.earlier import published_hierarchies, read_at, readable_at, unread
from phalanx.series.given import (
    as_begun,
    by_lines,
    check_parts,
    check_places,
    check_promise,
    lasting_of,
    read_registry,
    read_table,
    reason,
    refuse_behind,
    without_a_page,
    writing,
)
from phalanx.series.once import as_release
from phalanx.series.parted import way_of
from phalanx.series.preview import Preview
from phalanx.series.released import Release, but
from phalanx.series.staying import Recalled
from phalanx.temporary import temporary_folder
from phalanx.verification import as_tables, gather_evidence, verify

if TYPE_CHECKING:
    import polars as pl

    from phalanx.adversaries import Adversary, Attack
    from phalanx.estimators import Estimate
    from phalanx.series.in_parts import DraftingInParts
    from phalanx.series.on_spark import DraftingOnSpark
    from phalanx.verification import Verification


@dataclass(frozen=True, kw_only=True)
class _Settings:
    schema: Schema
    method: Method
    to: Path
    ledger: str
    formats: tuple[str, ...]
    seed: int | None
    report: bool
    adversaries: bool
    engine: Engine | None
    memory_limit: str | int | None
    spark_master: str | None


class Series:
    """The releases of one changing table, and where they and their ledger live.

    Parameters
    ----------
    name : str
        The series' name; its releases are the folders ``NAME-1``, ``NAME-2``, …
    schema : Schema
        The role of each column.
    method : Method
        What is promised, and how tables are published.
    to : str | Path
        The folder that gets the releases.
    ledger : str | Path, optional
        A URL, or the path of an SQLite file; by default a file beside ``to``.
    formats : Sequence[str], default ('parquet',)
        The kinds of files, of ``parquet`` and ``csv``.
    seed : int, optional
        Makes releases predictable, for tests; they are marked as not for publication.
    report : bool, default True
        Whether each release gets its page; one that Spark made, or counts in parts, gets none.
    adversaries : bool, default True
        Whether adversaries are played for that page; those whose success the method bounds always
        are.
    engine : Engine, optional
        ``local``: the table is in memory; ``out-of-core``: it is read from a file some rows at a
        time, and published in parts that fit, or counted; by an estimate if not given. ``spark``:
        on Apache Spark, from Parquet or from a data frame of Spark.
    memory_limit : str | int, optional
        What the process may take, as ``4 GiB`` or in bytes; what the machine allows if not given.
        On Spark what each worker may take, 2 GiB if not given.
    spark_master : str, optional
        Where Spark runs, in its own words, as ``spark://host:7077``; by default in the session
        that is active, else on all processors of this machine.

    Raises
    ------
    SchemaError
        For an unknown format, a name that no folder can have, or a method that follows persons
        where no identifier is declared.
    MethodError
        Where the method is none.
    PlanError
        Where what the method promises holds of any table.
    """

    def __init__(
        self,
        name: str,
        schema: Schema,
        method: Method,
        *,
        to: str | Path,
        ledger: str | Path | None = None,
        formats: Sequence[str] = ("parquet",),
        seed: int | None = None,
        report: bool = True,
        adversaries: bool = True,
        engine: Engine | None = None,
        memory_limit: str | int | None = None,
        spark_master: str | None = None,
    ) -> None:
        check_parts(name, schema, method, formats, seed)
        if engine not in (None, *get_args(Engine)):
            raise PlanError(
                f"the engine is {engine!r}, and there are {' and '.join(get_args(Engine))}; name"
                " one of them, or none."
            )
        if method.needs_persons and schema.identifier is None:
            raise SchemaError(
                f"{method.name} follows persons through the releases and no identifier is declared;"
                " name the identifier column in the schema."
            )
        self.name = name
        to = place_of(to, "the folder for releases", SchemaError)
        if not isinstance(ledger, str | Path | None):
            raise LedgerError(f"the ledger is {kind_of(ledger)}; give its url, or its file's path.")
        to = to.absolute()  # wherever a notebook goes meanwhile
        place = ledger or to.parent / (name + ".db")  # not among the releases
        is_url = isinstance(place, str) and ":" in place
        file = place if is_url else path_of(place, "the ledger", LedgerError).absolute()
        url = str(place) if is_url else f"sqlite:///{file}"
        self._is = _Settings(
            schema=schema,
            method=under(method, schema),
            to=to,
            ledger=url,
            formats=tuple(dict.fromkeys(formats)),
            seed=seed,
            report=report,
            adversaries=adversaries,
            engine=engine,
            memory_limit=memory_limit,
            spark_master=spark_master,
        )
        self._published: dict[
            int,
            Any,
            # the tables that came in, so that adversaries can be played without asking for them again
        ] = {}

    def __repr__(self) -> str:
        return f"<Series {self.name!r} by {self._is.method.name}, to {self._is.to}>"

    @property
    def schema(self) -> Schema:
        """The roles of the columns."""
        return self._is.schema

    @property
    def waves(self) -> Sequence[str | None]:
        """Of which wave of a panel each release is; None where ``publish`` was not told."""
        if not Ledger.exists(self._is.ledger):
            return []
        with Ledger.open(self._is.ledger, create=False) as ledger:
            return _waves(ledger.releases(self.name))

    def publish(
        self,
        table: Any,
        *,
        registry: Any = None,
        wave: str | None = None,
        progress: Progress = silent,
    ) -> Release:
        """Publish a table once, as the next release of the series.

        The release leaves only if an independent check of its files holds; otherwise, and at any
        error, nothing is published and nothing remembered.

        Parameters
        ----------
        table : frame or path of shape (n, columns)
            pandas, Polars, Arrow, anything with the Arrow PyCapsule interface, or the path of a
            file; one row per person.
        registry : frame or path of shape (r, columns), optional
            Persons whom an adversary knows: the identifier and all quasi-identifiers, other columns
            are ignored; for a method that puts those of them who are not in ``table`` into groups.
        wave : str, optional
            What the rows are of, such as a year; the ledger knows it from then on, and refuses a
            second release of the same one.
        progress : Progress, optional
            Called with each step as it begins (``read``, ``encode``, …), and of a table in parts with
            how many rows it has come to, and of how many; else 0 and None.

        Returns
        -------
        Release
            The release that is now in its folder and in the ledger.

        Raises
        ------
        SchemaError, SourceError
            Where the table is not what the schema says.
        MethodError
            Where the method cannot keep its guarantee on it.
        GuaranteeError
            Where the check of its files does not hold.
        LedgerError
            Where the ledger cannot be read or written, or the series went on elsewhere.
        """
        began = time.perf_counter()
        check_progress(progress)
        read = [self._read(table, registry)]
        listed = read_registry(registry, self._is.schema, self._is.method)
        check_places(self._is.to, read[0], report=self._is.report)
        with writing(self._is.to):
            staging.make_room(self._is.to)
            with Ledger.open(self._is.ledger) as ledger:
                try:
                    return self._publish(read, listed, table, wave, ledger, began, progress)
                except BaseException:
                    with contextlib.suppress(PhalanxError, OSError):
                        staging.recover(
                            self._is.to, self.name, lambda: ledger.releases(self.name, marked=True)
                        )
                    raise

    def attack(self, adversary: "Adversary", *, originals: Sequence[Any] = ()) -> "Attack":
        """What an adversary concludes from all releases together, with the ledger as evidence.

        Parameters
        ----------
        adversary : Adversary
            Which one, with what it knows.
        originals : sequence of frames or paths
            The original table of each release, in order, where the adversary needs them or its
            success is asked for; without them, the tables that this object has published are used
            where it has published all.

        Returns
        -------
        Attack
            What it found, and of how many persons it is certain.

        Raises
        ------
        ReleaseError
            Where it lacks what it needs to know.
        """
        originals = as_tables(originals)
        releases = self._all()
        if not originals and set(self._published) >= {release.number for release in releases}:
            originals = [self._published[release.number] for release in releases]
        evidence, _ = gather_evidence(
            releases,
            ledger=self._is.ledger,
            originals=originals,
            identifier=self._is.schema.identifier,
            persons=False,
        )
        return attacked_by(an_adversary(adversary), releases, evidence)

    def estimate(
        self,
        query: "str | pl.Expr",
        *,
        suppressed: Sequence[int | None] = (),
        weighted: bool = True,
    ) -> "list[Estimate]":
        """Answer a query from every release of the series, in order, as ``Release.estimate`` does.

        Each release bounds its own table. How values lie within boxes is learned from all releases
        together, as their boxes cut the values at different places.

        Parameters
        ----------
        query : str | pl.Expr
            As for ``Release.estimate``.
        suppressed : Sequence[int | None], optional
            Of each release, how many rows were suppressed, where that is known.
        weighted : bool, default True
            As for ``Release.estimate``.

        Returns
        -------
        list[Estimate]
            One answer for each release.

        Raises
        ------
        ReleaseError
            Where the query is none that a release can answer.
        ExtraError
            Without the extra that reads SQL.
        """
        from phalanx.estimators import estimate

        releases = self._all()
        if not is_list(suppressed, lambda count: count is None or isinstance(count, int)):
            raise ReleaseError(
                "'suppressed' is a list of numbers of rows; write it as in suppressed = [0, 3]."
            )
        counts = [*suppressed, *[None] * (len(releases) - len(suppressed))]
        if len(counts) > len(releases):
            raise ReleaseError(
                f"'suppressed' has {len(counts)} numbers and the series {len(releases)} release(s);"
                " give one for each, or none."
            )
        return [
            estimate(
                r,
                query,
                suppressed=n,
                weighted=weighted,
                beside=[other for other in releases if other is not r],
            )
            for r, n in zip(releases, counts, strict=True)
        ]

    def verify(
        self, *, originals: Sequence[Any] = (), allow_seeded: bool = False
    ) -> "Verification":
        """Check every release of the series from its files, against the ledger and whatever
        ``originals`` are given.

        Parameters
        ----------
        originals : sequence of frames or paths
            One table for each release, in order; adds the public view, in which an adversary knows
            each person's quasi-identifiers.
        allow_seeded : bool, default False
            Accept releases that were made with a seed, in a test.

        Returns
        -------
        Verification
            Every check, and whether all hold.

        Raises
        ------
        ReleaseError, LedgerError
            Where a folder or the ledger cannot be read.
        """
        originals = as_tables(originals)
        return read_at(
            self._folders,
            partial(
                verify,
                ledger=self._is.ledger,
                originals=originals,
                identifier=self._is.schema.identifier if originals else None,
                cluster=self._is.schema.cluster if originals else None,
                allow_seeded=allow_seeded,
            ),
        )

    def _all(self) -> list[Release]:
        """The releases, in order."""
        return read_at(self._folders, lambda folders: [Release.read(each) for each in folders])

    def _folders(self) -> Sequence[Path]:
        """Where the releases lie, in order."""
        with Ledger.open(self._is.ledger, create=False) as ledger:
            entries = ledger.releases(self.name)
        if not entries:
            raise LedgerError(f"series {self.name!r} has no release yet; publish one.")
        return [readable_at(self.name, entry, self._is.to) for entry in entries]

    def _read(self, table: Any, registry: Any) -> "pl.DataFrame | Divided | OnSpark":
        """The table in memory, or the parts in which a larger one is published."""
        made = self._is
        began = self._began() if made.method.needs_persons else None
        wanted = made.schema, made.method, made.engine, made.memory_limit, began
        held = memory_held()  # and what is read from now on is let go of
        table = by_lines(table, made.schema)
        if isinstance(table, FETCHED):
            with writing(made.to):
                table = fetch(table, *wanted, place=staging.above(made.to), held=held)
        divided = divide(table, *wanted, spark_master=made.spark_master, held=held)
        if divided is None:
            limit = made.memory_limit if made.engine is None else None
            return within(read_table(table, made.schema), made.method, limit, held)
        here = not isinstance(divided, OnSpark)
        if (
            not ((here and counts(made.method)) or made.formats == ("parquet",))
            or registry is not None
        ):
            raise PlanError(
                "a table published in parts is Parquet and has no registry; set formats ="
                " ['parquet'] and leave the registry out, or raise memory_limit."
            )
        return divided

    def _began(self) -> Began | None:
        """How the first release was published; None where there is none."""
        if not Ledger.exists(self._is.ledger):
            return None
        with Ledger.open(self._is.ledger) as ledger:  # which another publisher may be making
            parts = ledger.parts(self.name)
        return None if not parts else "out-of-core" if parts[1] else "local"

    def check(self, table: Any, *, registry: Any = None, progress: Progress = silent) -> Preview:
        """Do everything but publish: the figures of a release that ``publish`` could make now, of
        which nothing is kept, recorded or remembered.

        The next ``publish`` draws anew, so that its groups may be others. What ``check`` shows
        follows from the table: a plan that is changed until its figures please is a choice that
        depends on the table, which no guarantee covers; of a differentially private release nothing
        is shown but that it can be made.

        Parameters
        ----------
        table : frame or path of shape (n, columns)
            As for ``publish``.
        registry : frame or path of shape (r, columns), optional
            As for ``publish``.
        progress : Progress, optional
            Called with each step as it begins (``read``, ``encode``, …), and of a table in parts with
            how many rows it has come to, and of how many; else 0 and None.

        Returns
        -------
        Preview
            What the release would promise, and its figures; none of its rows.

        Raises
        ------
        PhalanxError
            As for ``publish``.
        """
        began = time.perf_counter()
        check_progress(progress)
        frame = self._read(table, registry)
        listed = read_registry(registry, self._is.schema, self._is.method)
        check_places(self._is.to, frame, report=self._is.report)
        Ledger.check_place(self._is.ledger, self.name)
        with temporary_folder() as place:
            url = (
                self._is.ledger
                if Ledger.exists(self._is.ledger)
                else f"sqlite:///{place}/ledger.db"
            )
            with Ledger.open(url) as ledger:
                drafting = self._drafting(frame, listed, ledger, progress)
                return drafting.check(
                    lambda: staging.Folder.new(place, self.name),
                    lambda _, checked: Preview.of(
                        checked,
                        drafting.microdata if isinstance(drafting, Drafting) else None,
                        time.perf_counter() - began,
                    ),
                    progress,
                )

    def _drafting(
        self,
        frame: "pl.DataFrame | Divided | OnSpark",
        registry: "pl.DataFrame | None",
        ledger: Ledger,
        progress: Progress,
    ) -> "Drafting | DraftingInParts | DraftingOnSpark":
        """What the next release is made from; LedgerError where the series cannot go on, or began
        with another guarantee.
        """
        ledger.check_goes_on(self.name)
        entries = ledger.releases(self.name, marked=True)
        looks_back = self._is.method.looks_back
        looked_at = entries[-1:] if looks_back == "last" else entries
        earlier = [unread(self.name, entry, self._is.to) for entry in looked_at]
        number = len(entries) + 1
        staging.check_known(self._is.to, self.name, lambda: ledger.releases(self.name))
        progress("encode", 0, None)
        key = ledger.person_key(self.name)
        schema = self._is.schema
        divided = isinstance(frame, Divided | OnSpark)
        check_takes(self._is.method, schema, in_memory=not divided)
        microdata = None
        if not isinstance(frame, Divided | OnSpark):
            schema = written_down(schema, frame, published_hierarchies(earlier))
            check_written_alike(frame, schema, self._is.method)
            microdata = Microdata.encode(frame, schema, key, registry)
        check_promise(self.name, ledger.promise(self.name), self._promise(ledger))
        recall = ledger.recall(self.name)
        groups = {
            entry.number: mapping
            for entry in (entries if looks_back == "all" else entries[-1:])
            if microdata is not None
            if (mapping := recall.groups(entry.number)) is not None
        }
        of = partial(
            Drafting,
            series=self.name,
            number=number,
            method=self._is.method,
            formats=self._is.formats,
            seed=self._is.seed,
            attacked=self._is.report and self._is.adversaries,
            memory=Memory(
                len(entries),
                recall.remembered(),
                groups.get(number - 1),
                recall.state(),
            ),
            earlier=earlier,
            groups=groups,
        )
        if microdata is not None:
            return of(microdata=microdata)
        parted: Any = frame
        return way_of(parted, self._is.method, Recalled(recall=recall))(
            of=partial(of, attacked=False, groups={}),
            divided=parted,
            key=key if self._is.schema.identifier is not None else None,
            method=self._is.method,
            number=number,
            seed=self._is.seed,
            page=self._is.report,
            earlier=earlier,
        )

    def _publish(
        self,
        read: "list[pl.DataFrame | Divided | OnSpark]",
        registry: "pl.DataFrame | None",
        table: Any,
        wave: str | None,
        ledger: Ledger,
        began: float,
        progress: Progress,
    ) -> Release:
        """``read`` holds the table, and no longer once it is encoded: both take much memory."""
        ledger.check_writable(self.name)
        ledger.releases(
            self.name, marked=True
        )  # before anything is mended: an old ledger would not know what it must keep
        refuse_behind(
            staging.recover(self._is.to, self.name, lambda: ledger.releases(self.name, marked=True))
        )
        entries = ledger.releases(self.name)
        if wave is not None:
            refuse_twice(wave, _waves(entries))
        lasting = lasting_of(table, read[0], self._is.schema)
        drafting = self._drafting(read.pop(), registry, ledger, progress)
        number, earlier = drafting.number, drafting.earlier

        def record(room: staging.Folder, checked: Checked) -> tuple[Release, bool]:
            progress("record", 0, None)
            final = self._is.to / f"{self.name}-{number}"
            release = as_release(checked, final, table, began, earlier, wave)
            summary = self._summary(release)
            paged = self._is.report and bool(checked.look or not release.manifest.parts)
            if paged:  # later reports show it without its tables
                from phalanx.report.looks import Look
                from phalanx.report.so_far import remembered, remembering

                look = checked.look or Look.of(release)
                so_far = remembered(e.summary for e in entries)
                release = but(release, _so_far=so_far, _look=look)
                summary |= remembering(look)
            entry = ReleaseEntry(
                number=number,
                folder=str(final.resolve()),
                staging=room.path.name,
                digest=release.digest,
                summary=summary,
            )
            self._record(ledger, room, entry, checked)
            return release, paged

        release, paged = drafting.check(
            lambda: staging.Folder.new(self._is.to, self.name), record, progress
        )
        del drafting  # the page needs no table
        self._published[number] = lasting
        if not paged:
            return release
        return self._with_page(but(release, _played=self._is.adversaries))

    def _record(
        self, ledger: Ledger, room: staging.Folder, entry: ReleaseEntry, checked: Checked
    ) -> None:
        """Write a release and what it remembers into the ledger, and give its folder its name."""
        room.begin_recording()
        ledger.commit(
            self.name,
            entry,
            promise=self._promise(ledger),
            remember=checked.remember,
            groups=checked.groups,
            state=checked.state,
        )
        final = self._is.to / f"{self.name}-{entry.number}"
        try:
            room.hand_out(final)
        except OSError as error:
            raise ReleaseError(
                f"release {entry.number} is recorded and cannot be named {final}"
                f" ({reason(error)}); make room for that name, and the next publish puts it there."
            ) from None

    def _promise(self, ledger: Ledger) -> dict[str, Any]:
        """What may not change within a series."""
        schema = self._is.schema
        promise = {
            "method": self._is.method.name,
            "guarantees": [g.parameters() for g in guarantees_of(self._is.method, schema)],
            "privacy_unit": privacy_unit(self._is.method, schema),
            "identifier": schema.identifier,
            "quasi": list(schema.quasi),
            "sensitive": schema.sensitive,
        }
        if schema.cluster is not None:
            promise["cluster"] = schema.cluster
        return as_begun(ledger.promise(self.name), promise)

    def _summary(self, release: Release) -> dict[str, Any]:
        figures = release.to_json()
        keys = (
            "rows",
            "groups",
            "counterfeits",
            "registered",
            "suppressed_rows",
            "suppressed_values",
            "seconds",
        )
        optional = [key for key in ("spent", "wave") if figures[key] is not None]
        return {key: figures[key] for key in (*keys, *optional)}

    def _with_page(self, release: Release) -> Release:
        """The release with its report."""
        from polars.exceptions import PanicException  # which is no Exception

        page = self._is.to / staging.REPORTS / f"{self.name}-{release.number}.html"
        try:
            with staging.Folder.new(
                self._is.to, self.name
            ) as room:  # so that the next publish removes what an interrupted one leaves of it
                release.report(room.path / page.name)
                staging.hand_out_page(room.path / page.name, page)
        except (Exception, PanicException) as error:  # noqa: BLE001 - whatever it is, it has left
            raise ReleaseError(
                f"release {release.number} is published as {release.path}; do not publish it again."
                f" Its report cannot be written: {without_a_page(error)}"
            ) from None
        return but(release, page=page)


def _waves(entries: "Sequence[ReleaseEntry]") -> list[str | None]:
    return [entry.summary.get("wave") for entry in entries]
