# SPDX-License-Identifier: Apache-2.0
"""What the studio looks at: a plan file, a ledger, or nothing yet. All else is read from them."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from phalanx.data.sources.batches import read_or_sample
from phalanx.data.sources.dialects import Dialect
from phalanx.data.sources.parquet_folders import state_of
from phalanx.data.waves import NoneNextError, in_order, one_wave, waves_of
from phalanx.errors import LedgerError, PhalanxError, PlanError, ReleaseError, SourceError
from phalanx.ledger import Ledger, ReleaseEntry
from phalanx.plan import Plan
from phalanx.profile.columns import ColumnProfile
from phalanx.profile.table import profile
from phalanx.series.earlier import lies_at, read_at, readable_at
from phalanx.series.released import Release
from phalanx.studio.jobs import Jobs
from phalanx.studio.soon import Soon
from phalanx.verification.originals import refuse_another, why_another

T = TypeVar("T")


@dataclass(frozen=True)
class Table:
    """A table that was read, and what it looks like; ``key`` is another one for another table."""

    key: tuple[Any, ...]
    frame: pl.DataFrame
    columns: Sequence[ColumnProfile]
    rows: int
    """How many rows it has, of which ``frame`` are some at equal distances where the memory does not
    hold them.
    """
    wave: str | None = None
    """Of which wave its rows are, where the source holds several."""


@dataclass(frozen=True)
class Original:
    """Where the table behind a release is, as a person named it."""

    source: str
    query: str | None = None
    wave: tuple[str, str | None] | None = None
    """The column that tells waves apart, and the wave; None for the one that is next."""
    dialect: Dialect | None = None
    """How a CSV file is written, as the plan states it; None: as is detected."""


def mark(source: str) -> tuple[Any, ...]:
    """Another one where a file, or one of a folder, is another one; empty for a database, which is
    asked once.
    """
    if "://" in source:
        return ()
    with suppress(SourceError):
        return state_of(Path(source))
    return ()


class Remembered:
    """The newest answers to questions that are asked again and again; each is computed once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._answers: dict[Any, Any] = {}
        self._lock = threading.RLock()

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """The answer for a key; one is made at a time, so that no table is read twice at once."""
        with self._lock:
            if key not in self._answers:
                made = make()
                while len(self._answers) >= self._most:
                    del self._answers[next(iter(self._answers))]
                self._answers[key] = made
            return self._answers[key]


def as_it_is(entry: ReleaseEntry) -> tuple[Any, ...]:
    """Another one where a file of a release is another one, or is gone."""
    with suppress(OSError):
        states = [(file.name, file.stat()) for file in sorted(Path(entry.folder).iterdir())]
        files = [(name, of.st_mtime_ns, of.st_size, of.st_ino) for name, of in states]
        return entry.folder, entry.digest, *files
    return entry.folder, entry.digest


@dataclass
class Place:
    """Where a person works: the plan's file, and a ledger where there is no plan.

    What is read is remembered for as long as its file is the same, so that a page costs little;
    nothing else is kept, but for running work and the originals that a person named.
    """

    plan_path: Path
    """The plan's file, which need not be there yet."""
    brought: Original | None = None
    """A table that a plan is to be begun for."""
    ledger_alone: str | None = None
    """The url of a ledger that is looked at without a plan."""
    jobs: Jobs = field(default_factory=Jobs)
    named: dict[tuple[str, int], Original] = field(default_factory=dict)
    """The tables behind releases, as far as they were named here."""
    _tables: Remembered = field(default_factory=lambda: Remembered(2))
    answers: Remembered = field(default_factory=lambda: Remembered(64))
    """What pages compute of tables and releases that do not change."""
    _releases: Remembered = field(default_factory=lambda: Remembered(8))
    estimators: Remembered = field(default_factory=lambda: Remembered(2))
    """What answers sliders, by what it answers on."""
    estimates: Soon = field(default_factory=Soon)
    patience: float = 0.15
    """So many seconds a slider waits for its estimate; after that the page asks again."""
    foreign: str | None = None
    """What others published, and a person brought to be checked."""
    _ground: tuple[str, str | None] | None = None

    @property
    def has_plan(self) -> bool:
        """Whether there is a plan to work on."""
        return self.ledger_alone is None and self.plan_path.is_file()

    def plan(self) -> Plan:
        """The plan as its file says now; PlanError where there is none."""
        if self.ledger_alone is not None:
            raise PlanError("this studio looks at a ledger; start it with a plan to publish.")
        return Plan.read(self.plan_path)

    def plan_text(self) -> str:
        """The plan's file."""
        self.plan()
        return self.plan_path.read_text(encoding="utf-8-sig")

    def stamp(self) -> str:
        """What stands for the plan's text in a form, so that no older page changes a newer plan."""
        return "" if not self.has_plan else sha256(self.plan_path.read_bytes()).hexdigest()[:32]

    def ledger_url(self) -> str:
        """The ledger: the one that was named, or the plan's."""
        return self.ledger_alone or self.plan().ledger_url()

    def with_ledger(self, ask: Callable[[Ledger], T], empty: T) -> T:
        """What a ledger answers; ``empty`` where none was made yet."""
        url = self.ledger_url()
        if not Ledger.exists(url):
            return empty
        with Ledger.open(url, create=False) as ledger:
            return ask(ledger)

    def entries(self, series: str) -> Sequence[ReleaseEntry]:
        """The releases of a series, in order, each with the folder in which it lies now; none where it
        has not begun.
        """
        none: list[ReleaseEntry] = []
        listed = self.with_ledger(lambda ledger: ledger.releases(series), none)
        if not self.has_plan or (plan := self.plan()).name != series:
            return listed
        return [replace(e, folder=str(lies_at(e, plan.publish_to()))) for e in listed]

    def entry(self, series: str, number: int) -> ReleaseEntry:
        """One release; LedgerError where there is none of this number."""
        for entry in self.entries(series):
            if entry.number == number:
                return entry
        raise LedgerError(f"series {series!r} has no release {number}; choose one of the timeline.")

    def up_to(self, series: str, number: int) -> Sequence[ReleaseEntry]:
        """A release after those before it."""
        self.entry(series, number)
        return [entry for entry in self.entries(series) if entry.number <= number]

    def promise(self, series: str) -> Mapping[str, Any]:
        """What a series promised when it began; empty where it has not begun."""
        return self.with_ledger(lambda ledger: ledger.promise(series), None) or {}

    def release(self, series: str, number: int) -> Release:
        """A release, read and checked against the ledger's digest, again where its files changed."""

        def read(entry: ReleaseEntry) -> Release:
            release = Release.read(readable_at(series, entry, Path(entry.folder).parent))
            if release.digest != entry.digest:
                raise ReleaseError(f"release {number} is not as it was published; put it back.")
            return release

        def remembered(entry: ReleaseEntry) -> Release:
            release: Release = self._releases.get(as_it_is(entry), lambda: read(entry))
            return release

        return read_at(lambda: self.entry(series, number), remembered)

    def table(self) -> Table:
        """The plan's source, read whole."""
        plan = self.plan()
        try:
            texts = tuple(plan.schema().texts)
        except PhalanxError:  # the page that shows the table is the one to correct it on
            texts = ()
        wave = None if plan.wave is None else (plan.wave, None)
        of = Original(plan.source_path(), plan.query, wave, plan.sections.source.dialect)
        return self._read(of, texts)

    def original(self, series: str, number: int) -> Table:
        """The table behind a release: the one that was named for it, or else the plan's source;
        ReleaseError where its rows are not those of the release.
        """
        chosen = self.original_source(series, number)
        if chosen is None:
            raise SourceError("the original table is not known here; name its file.")
        release = self.release(series, number)
        texts = tuple(a.name for a in release.form.attributes if a.type == "categorical")
        table = self._read(chosen, texts)
        if table.frame.height == table.rows:  # else some of its rows are looked at
            key = ("original", release.digest, table.key)
            why = self.answers.get(key, lambda: why_another(release, table.frame))
            refuse_another(release, why)
        return table

    def original_source(self, series: str, number: int) -> Original | None:
        """Where that table is: as was chosen, or of the newest release the plan's source, in
        which every release has its wave where there are waves; None where it was not said.
        """
        if (chosen := self.named.get((series, number))) is not None:
            return chosen
        if not self.has_plan or (plan := self.plan()).name != series:
            return None
        entries = self.entries(series)
        if plan.wave is not None:
            waves = [e.summary.get("wave") for e in entries if e.number == number]
            wave = (plan.wave, waves[0]) if waves and waves[0] is not None else None
            return None if wave is None else Original(plan.source_path(), plan.query, wave)
        return Original(plan.source_path(), plan.query) if len(entries) == number else None

    @property
    def ground(self) -> tuple[str, str | None]:
        """On what points are tried: as was chosen, or the last release, or a table that is still
        to be named; and that table.
        """
        chosen = self._ground or ("released", None)
        nothing = chosen[0] == "released" and not self.entries(self.plan().name)
        return ("other", None) if nothing else chosen

    @ground.setter
    def ground(self, chosen: tuple[str, str | None]) -> None:
        """What was chosen."""
        self._ground = chosen

    def _read(self, of: Original, texts: tuple[str, ...]) -> Table:
        """A table, read again only where its file changed; a query is asked once."""
        published = [e.summary.get("wave") for e in self.entries(self.plan().name)] if (
            of.wave is not None and of.wave[1] is None
        ) else []  # fmt: skip
        key = (of, texts, mark(of.source), tuple(published))

        def read() -> Table:
            frame, height = read_or_sample(
                of.source, query=of.query, text=texts, dialect=of.dialect
            )
            if of.wave is None:
                return Table(key, frame, profile(frame), height)
            wave, rows = _rows(frame, *of.wave, published)
            return Table(key, rows, profile(rows), rows.height, wave)

        table: Table = self._tables.get(key, read)
        return table


def _rows(
    frame: pl.DataFrame, column: str, wave: str | None, published: Sequence[str | None]
) -> tuple[str, pl.DataFrame]:
    """The rows of a wave: of the one that is next, or the last where none is left."""
    if wave is None:
        with suppress(NoneNextError):
            return one_wave(frame, column, None, published)
        wave = in_order(waves_of(frame, column))[-1]
    return one_wave(frame, column, wave, ())
