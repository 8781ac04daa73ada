# SPDX-License-Identifier: Apache-2.0
"""The way of the data: read, publish, check the very files, record, hand out. Whatever fails leaves
nothing behind.
"""

import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phalanx.adversaries.base import an_adversary
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.data.sources.frames import to_polars
from phalanx.data.sources.source import read_source
from phalanx.errors import (
    LedgerError,
    MethodError,
    PhalanxError,
    PlanError,
    ReleaseError,
    SchemaError,
    SourceError,
    kind_of,
)
from phalanx.exact import whole
from phalanx.guarantees.strength import promises_nothing
from phalanx.ledger import Ledger, ReleaseEntry
from phalanx.methods.base import Budgeted, Memory, Method, privacy_unit
from phalanx.randomness import Randomness
from phalanx.release import folder
from phalanx.release.folder import FORMATS
from phalanx.series import staging
from phalanx.series.drafting import Checked, Drafting
from phalanx.series.preview import Preview
from phalanx.series.released import Release
from phalanx.verification import as_tables, gather_evidence, verify

if TYPE_CHECKING:
    import polars as pl

    from phalanx.adversaries import Adversary, Attack
    from phalanx.estimators import Estimate
    from phalanx.verification import Verification

Progress = Callable[[str], None]
STEPS = ("read", "encode", "group", "write", "check", "record")
"""The steps that ``progress`` is told about, in order."""

_PROMISED = {
    "method": "method",
    "guarantees": "guarantee (the method's parameters say it)",
    "identifier": "identifier",
    "quasi": "list of quasi-identifiers",
    "sensitive": "sensitive attribute",
}


def publish(
    table: Any,
    schema: Schema,
    method: Method,
    *,
    name: str = "release",
    formats: Sequence[str] = ("parquet",),
    seed: int | None = None,
    progress: Progress = lambda _: None,
) -> Release:
    """Publish a table once, in memory: nothing is written, but by ``save`` of the release, and
    nothing is remembered.

    The same independent check is made of the very files as for a series; where it does not hold,
    there is no release. ``table``: pandas, Polars, Arrow, anything with the Arrow PyCapsule
    interface, or the path of a file; one row per person. ``name`` stands in the manifest; ``seed``
    makes the release predictable, hence marked as not for publication. A table that is published
    again as it changes needs a ``Series``.

    Raises SchemaError or SourceError where the table is not what the schema says, MethodError where
    the method cannot keep its guarantee on it, or needs to remember what it published or spent.

    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [30, 31, 40, 41], "ill": ["flu", "cold", "flu", "cold"]})
    >>> publish(people, Schema(quasi=["age"], sensitive="ill"), Mondrian(k=2, l=2)).rows
    4
    """
    began = time.perf_counter()
    _check_parts(name, schema, method, formats, seed)
    if method.needs_persons:
        raise MethodError(
            f"{method.name} remembers what it published, and in memory there is no ledger; publish"
            " by a Series."
        )
    if isinstance(method, Budgeted) and method.budget:
        raise MethodError(
            f"the budget of {method.name} is kept by remembering what was spent, and in memory"
            " there is no ledger; publish by a Series, or give no budget."
        )
    frame = _frame(table, schema)
    progress("encode")
    drafting = Drafting(
        series=name,
        number=1,
        method=method,
        microdata=Microdata.encode(
            frame,
            schema,
            PersonKey(Randomness.secure().stream("persons in memory").words(4).tobytes()),
        ),
        formats=tuple(dict.fromkeys(formats)),
        seed=seed,
        attacked=False,
        memory=Memory(),
        groups={},
    )

    try:
        with tempfile.TemporaryDirectory(
            prefix="phalanx-"
        ) as place:  # private, for as long as the files are checked
            return drafting.check(
                lambda: staging.Folder.new(Path(place), name), _in_memory(table, began), progress
            )
    except OSError as error:
        raise ReleaseError(
            f"the folder for temporary files cannot be written ({_reason(error)}); nothing was"
            " published, so make room, or name another in TMPDIR."
        ) from None


@dataclass(frozen=True, kw_only=True)
class _Settings:
    schema: Schema
    method: Method
    to: Path
    ledger: str
    formats: tuple[str, ...]
    seed: int | None
    report: bool


class Series:
    """The releases of one changing table, and where they and their ledger live.

    ``to`` is the folder that gets the releases ``NAME-1``, ``NAME-2``, …; ``ledger`` a URL, or
    the path of an SQLite file, by default one beside that folder; ``seed`` makes releases predictable, hence marked as
    not for publication. Raises SchemaError for an unknown format.
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
    ) -> None:
        _check_parts(name, schema, method, formats, seed)
        if method.needs_persons and schema.identifier is None:
            raise SchemaError(
                f"{method.name} follows persons through the releases and no identifier is declared;"
                " name the identifier column in the schema."
            )
        self.name = name
        if not isinstance(to, str | Path):
            raise SchemaError(f"the folder for releases is {kind_of(to)}; give its path as 'to'.")
        place = ledger or Path(to).absolute().parent / (name + ".db")  # not among the releases
        url = place if isinstance(place, str) else f"sqlite:///{place.absolute()}"
        self._is = _Settings(
            schema=schema,
            method=method,
            to=Path(to),
            ledger=url,
            formats=tuple(dict.fromkeys(formats)),
            seed=seed,
            report=report,
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

    def publish(
        self, table: Any, *, registry: Any = None, progress: Progress = lambda _: None
    ) -> Release:
        """Publish a table once, as the next release of the series.

        ``table``: pandas, Polars, Arrow, anything with the Arrow PyCapsule interface, or the path
        of a file; one row per person. ``registry``: another one, of persons whom an adversary knows
        (the identifier and all quasi-identifiers; other columns are ignored), for a method that
        puts those of them who are not in ``table`` into groups. The release leaves only if an
        independent check of its files holds; otherwise, and at any error, nothing is published and
        nothing remembered.
        """
        began = time.perf_counter()
        frame = _frame(table, self._is.schema)
        listed = None if registry is None else self._registry(registry)
        try:
            staging.make_room(self._is.to)
            with Ledger.open(self._is.ledger) as ledger:
                try:
                    return self._publish(frame, listed, table, ledger, began, progress)
                except BaseException:
                    with contextlib.suppress(PhalanxError, OSError):
                        staging.recover(
                            self._is.to, self.name, lambda: ledger.releases(self.name, marked=True)
                        )
                    raise
        except OSError as error:
            raise ReleaseError(
                f"{self._is.to} cannot be written ({_reason(error)}); nothing was published, so"
                " make room or choose another folder."
            ) from None

    def attack(self, adversary: "Adversary", *, originals: Sequence[Any] = ()) -> "Attack":
        """What an adversary concludes from all releases together, with the ledger as evidence.

        ``originals``: the original table of each release, in order, where the adversary needs them
        or its success is asked for; without them, the tables that this object has published are
        used where it has published all.
        """
        originals = as_tables(originals)
        releases = [Release.read(entry.folder) for entry in self._entries()]
        if not originals and set(self._published) >= {release.number for release in releases}:
            originals = [self._published[release.number] for release in releases]
        evidence, _ = gather_evidence(
            releases,
            ledger=self._is.ledger,
            originals=originals,
            identifier=self._is.schema.identifier,
            persons=False,
        )
        return an_adversary(adversary).attack(releases, evidence)

    def estimate(
        self, query: "str | pl.Expr", *, suppressed: Sequence[int | None] = ()
    ) -> "list[Estimate]":
        """Answer a query from every release of the series, in order, as ``Release.estimate`` does.

        Each release bounds its own table. How values lie within boxes is learned from all releases
        together, as their boxes cut the values at different places. ``suppressed``: of each
        release, how many rows were suppressed, where that is said.
        """
        from phalanx.estimators import estimate

        releases = [Release.read(entry.folder) for entry in self._entries()]
        counts = [*suppressed, *[None] * (len(releases) - len(suppressed))]
        if len(counts) > len(releases):
            raise ReleaseError(
                f"'suppressed' has {len(counts)} numbers and the series {len(releases)} release(s);"
                " give one for each, or none."
            )
        return [
            estimate(r, query, suppressed=n, beside=[other for other in releases if other is not r])
            for r, n in zip(releases, counts, strict=True)
        ]

    def verify(
        self, *, originals: Sequence[Any] = (), allow_seeded: bool = False
    ) -> "Verification":
        """Check every release of the series from its files, against the ledger and whatever
        ``originals`` (one table for each, in order) are given.
        """
        folders, originals = [entry.folder for entry in self._entries()], as_tables(originals)
        return verify(
            folders,
            ledger=self._is.ledger,
            originals=originals,
            identifier=self._is.schema.identifier if originals else None,
            allow_seeded=allow_seeded,
        )

    def _entries(self) -> "Sequence[ReleaseEntry]":
        with Ledger.open(self._is.ledger, create=False) as ledger:
            entries = ledger.releases(self.name)
        if not entries:
            raise LedgerError(f"series {self.name!r} has no release yet; publish one.")
        return entries

    def _registry(self, registry: Any) -> "pl.DataFrame":
        if self._is.schema.identifier is None:
            raise SchemaError(
                "a registry is matched with the table by person and no identifier is declared; name"
                " the identifier column, or leave it out."
            )
        if not self._is.method.takes_registry:
            raise SchemaError(
                f"a registry is of no use to {self._is.method.name}; leave it out, or publish by"
                " global-guarantee."
            )
        try:
            return _frame(registry, None)
        except SourceError as wrong:
            raise SourceError(f"in the registry: {wrong}") from None

    def check(
        self, table: Any, *, registry: Any = None, progress: Progress = lambda _: None
    ) -> Preview:
        """Do everything but publish: the figures of a release that ``publish`` could make now, of
        which nothing is kept, recorded or remembered.

        The next ``publish`` draws anew, so that its groups may be others. What ``check`` shows
        follows from the table: whoever changes a plan until they like what they see makes a choice
        that depends on it, which no guarantee covers; of a differentially private release nothing
        is shown but that it can be made. Parameters and errors as for ``publish``.
        """
        began = time.perf_counter()
        frame = _frame(table, self._is.schema)
        listed = None if registry is None else self._registry(registry)
        with tempfile.TemporaryDirectory(prefix="phalanx-") as place:
            url = (
                self._is.ledger
                if Ledger.exists(self._is.ledger)
                else f"sqlite:///{place}/ledger.db"
            )
            with Ledger.open(url) as ledger:
                drafting = self._drafting(frame, listed, ledger, progress)
                return drafting.check(
                    lambda: staging.Folder.new(Path(place), self.name),
                    lambda _, checked: Preview.of(checked, time.perf_counter() - began),
                    progress,
                )

    def _drafting(
        self,
        frame: "pl.DataFrame",
        registry: "pl.DataFrame | None",
        ledger: Ledger,
        progress: Progress,
    ) -> Drafting:
        """What the next release is made from; LedgerError where the series cannot go on, or began
        with another guarantee.
        """
        ledger.check_goes_on(self.name)
        entries = ledger.releases(self.name, marked=True)
        looked_at = entries if self._is.method.looks_back == "all" else entries[-1:]
        earlier = [_read_earlier(self.name, entry) for entry in looked_at]
        number = len(entries) + 1
        staging.check_known(self._is.to, self.name, lambda: ledger.releases(self.name))
        progress("encode")
        microdata = Microdata.encode(frame, self._is.schema, ledger.person_key(self.name), registry)
        self._check_promise(ledger.promise(self.name))
        groups = {
            entry.number: mapping
            for entry in looked_at
            if (mapping := ledger.groups(self.name, entry.number)) is not None
        }
        return Drafting(
            series=self.name,
            number=number,
            method=self._is.method,
            microdata=microdata,
            formats=self._is.formats,
            seed=self._is.seed,
            attacked=self._is.report,
            memory=Memory(
                len(entries),
                ledger.remembered(self.name),
                groups.get(number - 1),
                ledger.state(self.name),
            ),
            earlier=earlier,
            groups=groups,
        )

    def _publish(
        self,
        frame: "pl.DataFrame",
        registry: "pl.DataFrame | None",
        table: Any,
        ledger: Ledger,
        began: float,
        progress: Progress,
    ) -> Release:
        ledger.releases(
            self.name, marked=True
        )  # before anything is mended: an old ledger would not know what it must keep
        staging.recover(self._is.to, self.name, lambda: ledger.releases(self.name, marked=True))
        drafting = self._drafting(frame, registry, ledger, progress)
        number = drafting.number

        def record(room: staging.Folder, checked: Checked) -> Release:
            progress("record")
            final = self._is.to / f"{self.name}-{number}"
            release = _released(checked, final, table, began, drafting.earlier)
            summary = self._summary(release)
            entry = ReleaseEntry(
                number=number,
                folder=str(final.resolve()),
                staging=room.path.name,
                digest=release.digest,
                summary=summary,
            )
            self._record(ledger, room, entry, checked)
            return release

        release = drafting.check(
            lambda: staging.Folder.new(self._is.to, self.name), record, progress
        )
        self._published[number] = table
        return self._with_page(release)

    def _record(
        self, ledger: Ledger, room: staging.Folder, entry: ReleaseEntry, checked: Checked
    ) -> None:
        """Write a release and what it remembers into the ledger, and give its folder its name."""
        room.recording = True
        draft = checked.draft
        ledger.commit(
            self.name,
            entry,
            promise=self._promise(),
            remember=draft.remember,
            groups=checked.groups,
            state=draft.state,
        )
        final = self._is.to / f"{self.name}-{entry.number}"
        try:
            room.hand_out(final)
        except OSError as error:
            raise ReleaseError(
                f"release {entry.number} is recorded and cannot be named {final}"
                f" ({_reason(error)}); make room for that name, and the next publish puts it there."
            ) from None

    def _check_promise(self, begun: Mapping[str, Any] | None) -> None:
        """Whether the series began with this promise; the ledger asks again at the commit, and
        about the privacy unit.
        """
        promise = json.loads(json.dumps(self._promise()))
        for key, word in _PROMISED.items():
            if begun is not None and begun.get(key) != promise[key]:
                raise LedgerError(
                    f"series {self.name!r} began with another {word} and keeps its promise; put it"
                    " back, or give this series another name."
                )

    def _promise(self) -> dict[str, Any]:
        """What may not change within a series."""
        schema = self._is.schema
        return {
            "method": self._is.method.name,
            "guarantees": [g.parameters() for g in self._is.method.guarantees],
            "privacy_unit": privacy_unit(self._is.method),
            "identifier": schema.identifier,
            "quasi": list(schema.quasi),
            "sensitive": schema.sensitive,
        }

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
        return {key: figures[key] for key in keys} | (
            {} if release.spent is None else {"spent": figures["spent"]}
        )

    def _with_page(self, release: Release) -> Release:
        """The release with its report, where the series writes one."""
        if not self._is.report:
            return release
        page = self._is.to / f"{self.name}-{release.number}.html"
        try:
            with staging.Folder.new(
                self._is.to, self.name
            ) as room:  # so that the next publish removes what an interrupted one leaves of it
                release.report(room.path / page.name)
                staging.hand_out_page(room.path / page.name, page)
        except (OSError, ReleaseError) as error:
            why = (
                "its report cannot be written"
                f" ({_reason(error) if isinstance(error, OSError) else error})"
            )
            raise ReleaseError(
                f"release {release.number} is published as {release.path}, but {why}; do not"
                " publish it again."
            ) from None
        return replace(release, page=page)


def _released(
    checked: Checked, path: Path, table: Any, began: float, earlier: Sequence[folder.Release] = ()
) -> Release:
    """What was checked, as its publisher gets it."""
    return Release(
        manifest=checked.release.manifest,
        form=checked.release.form,
        path=path,
        checks=checked.verdicts,
        suppressed_rows=checked.draft.suppressed_rows,
        suppressed_values=checked.draft.suppressed_values,
        attacks=checked.attacks,
        spent=checked.spent,
        seconds=time.perf_counter() - began,
        evidence=checked.evidence,
        _earlier=earlier,
        _like=None if isinstance(table, str | Path) else table,
    )


def _in_memory(table: Any, began: float) -> Callable[[staging.Folder, Checked], Release]:
    """Takes the files of a checked draft, whose folder is about to go."""

    def take(room: staging.Folder, checked: Checked) -> Release:
        files = {file.name: file.read_bytes() for file in sorted(room.path.iterdir())}
        return replace(_released(checked, room.path, table, began), files=files)

    return take


def _check_parts(
    name: str, schema: Schema, method: Method, formats: Sequence[str], seed: int | None
) -> None:
    """One sentence where something else stands in the place of a name, a schema, a method or
    formats.
    """
    if not isinstance(name, str) or not name or Path(name).name != name or name.startswith("."):
        raise SchemaError(
            f"the series name {name!r} cannot be a folder's name; use letters, digits, '-' and '_'."
        )
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"the schema is {kind_of(schema)}; give a Schema, as in Schema(quasi=['age', 'zip'],"
            " sensitive='diagnosis')."
        )
    if isinstance(method, type) or not isinstance(method, Method):
        raise MethodError(
            f"the method is {kind_of(method)}; give a method with its parameters, as in"
            " Mondrian(k=5)."
        )
    if isinstance(formats, str):
        raise SchemaError(
            f"formats is the text {formats!r}; give a list, as in ['parquet', 'csv']."
        )
    for format in formats:
        if format not in FORMATS:
            raise SchemaError(
                f"format {format!r} is not one of {', '.join(FORMATS)}; correct 'formats'."
            )
    if seed is not None:
        whole(seed, "the seed", 0)
    if not formats:
        raise SchemaError(
            "no format is named, so there would be no table to publish; name one or more of"
            f" {', '.join(FORMATS)} in 'formats'."
        )
    if nothing := next(
        (why for g in method.guarantees if (why := promises_nothing(g.parameters()))), None
    ):
        raise PlanError(f"[method] {nothing}; ask for more.")


def _frame(table: Any, schema: Schema | None) -> "pl.DataFrame":
    """A table, or the file that a path names; without a schema its columns may have any type."""
    drop, text = (None, ()) if schema is None else (schema.drop, schema.texts)
    return (
        read_source(table, drop=drop, text=text)
        if isinstance(table, str | Path)
        else to_polars(table, drop=drop)
    )


def _reason(error: OSError) -> str:
    return (error.strerror or "input/output error").lower()


def _read_earlier(series: str, entry: ReleaseEntry) -> folder.Release:
    try:
        release = folder.Release.read(entry.folder)
    except (
        ReleaseError
    ) as wrong:  # its own remedy, to ask the publisher, is of no use to the publisher
        what = str(wrong).rsplit(";", 1)[0]
        raise ReleaseError(
            f"release {entry.number} of {series!r} is not as it was published ({what}); put the"
            " published folder back."
        ) from None
    if release.digest != entry.digest:
        raise ReleaseError(
            f"{entry.folder} is not what the ledger recorded as release {entry.number} of"
            f" {series!r}; put the published folder back."
        )
    return release
