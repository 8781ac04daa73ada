"""The way of the data: read, publish, check the very files, record, hand out. Whatever fails leaves nothing behind."""

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phalanx import staging
from phalanx.adversaries.disclosure import Disclosed
from phalanx.attacking import beyond, disclosed
from phalanx.data.frames import like, to_polars
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import GuaranteeError, LedgerError, MethodError, PhalanxError, PlanError, ReleaseError, SchemaError, SourceError
from phalanx.guarantees import truth
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.strength import promises_nothing
from phalanx.guarantees.verify import verify
from phalanx.ledger import Ledger, ReleaseEntry
from phalanx.methods.base import Draft, Memory, Method, Widening, ever_wider
from phalanx.plan import Plan
from phalanx.randomness import Randomness
from phalanx.release.evidence import Evidence
from phalanx.release.exposures import Exposures
from phalanx.release.folder import FORMATS, Release, write_folder

if TYPE_CHECKING:
    import polars as pl

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Published:
    """What ``publish`` did: the release, the checks it passed, and what was left out."""

    release: Release
    verdicts: Sequence[Verdict]
    held_back: Mapping[str, int] | None
    """Rows that were not published, by reason; None where that is not told, under differential privacy."""
    suppressed_values: Mapping[str, int]
    """Sensitive values that were taken out of published rows, by reason."""
    disclosed: Sequence[Disclosed]
    """What adversaries find out of a perturbed release; empty for other forms, and where neither a report nor a bound asks for it."""
    spent: Mapping[str, float] | None
    """What a differentially private release and those before it cost together: epsilon, delta, releases; None for others."""
    seconds: float
    report: Path | None
    _like: Any = field(repr=False)

    @property
    def path(self) -> Path:
        """The release folder, which may be handed out."""
        return self.release.path

    @property
    def number(self) -> int:
        """Its place in the series, from 1."""
        return self.release.number

    @property
    def rows(self) -> int:
        """Published rows, counterfeits among them."""
        return self.release.manifest.rows

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return self.release.manifest.groups

    @property
    def counterfeits(self) -> int:
        """Rows that stand for nobody."""
        return self.release.manifest.counterfeits

    @property
    def registered(self) -> int:
        """Registered persons who are in groups without a row."""
        return self.release.manifest.registered

    @property
    def suppressed(self) -> int | None:
        """Rows of the table that were not published; None where that is not told."""
        return None if self.held_back is None else sum(self.held_back.values())

    def table(self) -> Any:
        """The published table, one row per tuple, as the kind of frame that came in; of a bucketized release the one without the sensitive values."""
        return like(self._like, self.release.form.table)

    def tables(self) -> dict[str, Any]:
        """Every published table by the name of its file, as the kind of frame that came in."""
        return {name: like(self._like, table) for name, table in self.release.form.tables().items()}

    def to_json(self) -> dict[str, Any]:
        """Stable keys: release, number, rows, groups, counterfeits, registered, suppressed, held_back, suppressed_values, spent, seconds, report, checks, disclosed."""
        return {
            "release": str(self.path),
            "number": self.number,
            "rows": self.rows,
            "groups": self.groups,
            "counterfeits": self.counterfeits,
            "registered": self.registered,
            "suppressed": self.suppressed,
            "held_back": None if self.held_back is None else dict(self.held_back),
            "suppressed_values": dict(self.suppressed_values),
            "spent": None if self.spent is None else dict(self.spent),
            "seconds": round(self.seconds, 3),
            "report": None if self.report is None else str(self.report),
            "checks": [v.to_json() for v in self.verdicts],
            "disclosed": [found.to_json() for found in self.disclosed],
        }


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

    ``to`` is the folder that gets the releases ``NAME-1``, ``NAME-2``, …; ``ledger`` a URL, by default an SQLite file beside that folder;
    ``seed`` makes releases predictable, hence marked as not for publication. Raises SchemaError for an unknown format.
    """

    def __init__(
        self,
        name: str,
        *,
        schema: Schema,
        method: Method,
        to: str | Path,
        ledger: str | None = None,
        formats: Sequence[str] = ("parquet",),
        seed: int | None = None,
        report: bool = True,
    ) -> None:
        for format in formats:
            if format not in FORMATS:
                raise SchemaError(f"format {format!r} is not one of {', '.join(FORMATS)}; correct 'formats'.")
        if not formats:
            raise SchemaError(f"no format is named, so there would be no table to publish; name one or more of {', '.join(FORMATS)} in 'formats'.")
        if not name or Path(name).name != name or name.startswith("."):
            raise SchemaError(f"the series name {name!r} cannot be a folder's name; use letters, digits, '-' and '_'.")
        if method.needs_persons and schema.identifier is None:
            raise SchemaError(f"{method.name} follows persons through the releases and no identifier is declared; name the identifier column in the schema.")
        if nothing := next((why for g in method.guarantees if (why := promises_nothing(g.public()))), None):
            raise PlanError(f"[method] {nothing}; ask for more.")
        self.name = name
        url = ledger or f"sqlite:///{Path(to).absolute().parent / (name + '.db')}"  # not in the folder whose contents are handed out
        self._is = _Settings(schema=schema, method=method, to=Path(to), ledger=url, formats=tuple(dict.fromkeys(formats)), seed=seed, report=report)

    @classmethod
    def of_plan(cls, plan: Plan, *, seed: int | None = None) -> "Series":
        """The series that a plan describes."""
        return cls(plan.name, schema=plan.schema(), method=plan.method(), to=plan.publish_to(), ledger=plan.ledger_url(), formats=plan.formats, seed=seed)

    @property
    def schema(self) -> Schema:
        """The roles of the columns."""
        return self._is.schema

    def publish(self, table: Any, *, registry: Any = None, progress: Progress = lambda _: None) -> Published:
        """Publish a table once, as the next release of the series.

        ``table``: pandas, Polars, Arrow, or anything with the Arrow PyCapsule interface, one row per person. ``registry``: another one, of persons whom
        an adversary knows (the identifier and all quasi-identifiers; other columns are ignored), for a method that puts those of them who are not in
        ``table`` into groups. The release leaves only if an independent check of its files holds; otherwise, and at any error, nothing is published
        and nothing remembered.
        """
        began = time.perf_counter()
        frame = to_polars(table, drop=self._is.schema.drop)
        listed = None if registry is None else self._registry(registry)
        try:
            staging.make_room(self._is.to)
            with Ledger.open(self._is.ledger) as ledger:
                try:
                    return self._publish(frame, listed, table, ledger, began, progress)
                except BaseException:
                    with contextlib.suppress(PhalanxError, OSError):
                        staging.recover(self._is.to, self.name, lambda: ledger.releases(self.name, marked=True))
                    raise
        except OSError as error:
            raise ReleaseError(f"{self._is.to} cannot be written ({_reason(error)}); nothing was published, so make room or choose another folder.") from None

    def _registry(self, registry: Any) -> "pl.DataFrame":
        if self._is.schema.identifier is None:
            raise SchemaError("a registry is matched with the table by person and no identifier is declared; name the identifier column, or leave it out.")
        if not self._is.method.takes_registry:
            raise SchemaError(f"a registry is of no use to {self._is.method.name}; leave it out, or publish by global-guarantee.")
        try:
            return to_polars(registry, drop=None)
        except SourceError as wrong:
            raise SourceError(f"in the registry: {wrong}") from None

    def _publish(self, frame: "pl.DataFrame", registry: "pl.DataFrame | None", table: Any, ledger: Ledger, began: float, progress: Progress) -> Published:
        ledger.releases(self.name, marked=True)  # before anything is mended: an old ledger would not know what it must keep
        staging.recover(self._is.to, self.name, lambda: ledger.releases(self.name, marked=True))
        ledger.check_goes_on(self.name)
        entries = ledger.releases(self.name, marked=True)
        looked_at = entries if self._is.method.looks_back == "all" else entries[-1:]
        earlier = [_read_earlier(self.name, entry) for entry in looked_at]
        number = len(entries) + 1
        final = self._is.to / f"{self.name}-{number}"
        staging.check_known(self._is.to, self.name, lambda: ledger.releases(self.name))

        progress("encode")
        microdata = Microdata.encode(frame, self._is.schema, ledger.person_key(self.name), registry)
        self._check_promise(ledger.promise(self.name))
        progress("group")
        groups = {entry.number: found for entry in looked_at if (found := ledger.groups(self.name, entry.number)) is not None}
        carried = ledger.carried(self.name)
        memory = Memory(len(entries), ledger.remembered(self.name), groups.get(number - 1), carried)
        bounds = self._is.method.bounds if isinstance(self._is.method, Widening) else {}
        too_much: Disclosed | None = None
        for attempt, method in enumerate(ever_wider(self._is.method, microdata.rows)):
            rng = self._randomness(number, attempt)
            draft = method.publish(microdata, memory, rng)
            own_groups = None if draft.forgets else _person_to_group(microdata, draft)
            with staging.Folder.new(self._is.to, self.name) as folder:
                progress("write")
                write_folder(folder.path, draft.form, self._is.formats, **self._said(draft, number, rng, earlier))
                progress("check")
                release = Release.read(folder.path)
                evidence = self._evidence(groups | ({} if own_groups is None else {number: own_groups}), carried, draft, {number: microdata})
                verdicts = verify([*earlier, release], evidence, allow_seeded=self._is.seed is not None, only_last=True)
                verdicts.append(truth.check(release, microdata, draft.groups, draft.shown or microdata, draft.registered))
                if broken := [v for v in verdicts if not v.holds]:
                    v = broken[0]
                    worst, bound = v.figures
                    raise GuaranteeError(
                        f"the check of the written files failed ({v.name}: bound {bound}, worst {worst or None}; {v.note}); nothing was published, please report this."
                    )
                learned = disclosed(release, evidence, bounds) if bounds or self._is.report else []
                if (too_much := beyond(learned, bounds)) is not None:
                    progress("group")
                    continue  # what was written is removed
                progress("record")
                entry = ReleaseEntry(
                    number=number, folder=str(final.resolve()), staging=folder.path.name, digest=release.digest, summary=self._summary(release, draft, began)
                )
                self._record(ledger, folder, entry, draft, own_groups)
                break
        if too_much is not None:
            raise MethodError(
                f"the {too_much.adversary} adversary names {too_much.named_rightly[0]:.1%} of the rows rightly, and the plan allows {bounds[too_much.adversary]}, "
                f"however wide groups are; nothing was published, so raise its bound in [method.bounds], or ask for more changes."
            )
        release = Release(release.manifest, release.form, final)
        try:
            report = self._report(release, earlier, verdicts, entry.summary, learned)
        except OSError as error:
            why = f"its report cannot be written ({_reason(error)})"
            raise ReleaseError(f"release {number} is published as {final}, but {why}; do not publish it again.") from None
        return Published(
            release=release,
            verdicts=verdicts,
            held_back=draft.held_back,
            suppressed_values=draft.suppressed_values,
            disclosed=learned,
            spent=draft.spent,
            seconds=time.perf_counter() - began,
            report=report,
            _like=table,
        )

    def _record(self, ledger: Ledger, folder: staging.Folder, entry: ReleaseEntry, draft: Draft, groups: "pl.DataFrame | None") -> None:
        """Write a release and what it remembers into the ledger, and give its folder its name."""
        folder.recording = True
        ledger.commit(self.name, entry, promise=self._promise(draft.per), remember=draft.remember, groups=groups, carry=draft.carry)
        final = self._is.to / f"{self.name}-{entry.number}"
        try:
            folder.hand_out(final)
        except OSError as error:
            raise ReleaseError(
                f"release {entry.number} is recorded and cannot be named {final} ({_reason(error)}); make room for that name, and the next publish puts it there."
            ) from None

    def _randomness(self, number: int, attempt: int) -> Randomness:
        """Fresh randomness for each draft of each release."""
        if self._is.seed is None:
            return Randomness.secure()
        return Randomness.seeded(self._is.seed + number if attempt == 0 else (self._is.seed + number + (attempt << 32)) % 2**64)

    def _evidence(
        self, groups: Mapping[int, "pl.DataFrame"], carried: Mapping[str, "pl.DataFrame"], draft: Draft, microdata: Mapping[int, Microdata]
    ) -> Evidence:
        of_nobody = {number: replace(table, persons=None) for number, table in microdata.items()}  # what a promise says of tuples, not of persons
        said = Evidence(groups=groups, microdata=of_nobody)
        if draft.form.kind == "perturbed":
            if draft.outputs is None:
                raise GuaranteeError(f"{self._is.method.name} made a perturbed release and no random output tables; nothing was published, please report this.")
            said = replace(said, rows=dict.fromkeys(microdata, draft.groups), outputs=dict.fromkeys(microdata, draft.outputs))
        if self._is.method.looks_back == "all":
            return said
        return replace(said, before=Exposures.of_tables(carried), after=Exposures.of_tables(draft.carry))

    def _said(self, draft: Draft, number: int, rng: Randomness, earlier: Sequence[Release]) -> dict[str, Any]:
        method = self._is.method.public()
        return {
            "series": self.name,
            "number": number,
            "method": method,
            "guarantees": [g.public() for g in draft.guarantees or self._is.method.guarantees],
            "boxes": "fixed" if draft.form.kind == "recoded" else "widened" if method.get("min_width") else "tight" if draft.form.has_intervals else "exact",
            "per": draft.per,
            "holds_if_method_known": self._is.method.holds_if_method_known,
            "may_suppress": list(self._is.method.may_suppress),
            "not_for_publication": not rng.for_publication,
            "previous": earlier[-1].digest if earlier else None,
        }

    def _check_promise(self, begun: Mapping[str, Any] | None) -> None:
        """Whether the series began with this promise; the ledger asks again at the commit, and about ``per``."""
        said = json.loads(json.dumps(self._promise("person")))
        for key, word in _PROMISED.items():
            if begun is not None and begun.get(key) != said[key]:
                raise LedgerError(f"series {self.name!r} began with another {word} and keeps its promise; put it back, or give this series another name.")

    def _promise(self, per: str) -> dict[str, Any]:
        """What may not change within a series."""
        schema = self._is.schema
        return {
            "method": self._is.method.name,
            "guarantees": [g.public() for g in self._is.method.guarantees],
            "per": per,
            "identifier": schema.identifier,
            "quasi": list(schema.quasi),
            "sensitive": schema.sensitive,
        }

    def _summary(self, release: Release, draft: Draft, began: float) -> dict[str, Any]:
        m = release.manifest
        return {
            "rows": m.rows,
            "groups": m.groups,
            "counterfeits": m.counterfeits,
            "registered": m.registered,
            "suppressed": None if draft.held_back is None else sum(draft.held_back.values()),
            "held_back": None if draft.held_back is None else dict(draft.held_back),
            "suppressed_values": dict(draft.suppressed_values),
            "seconds": round(time.perf_counter() - began, 3),
        } | ({} if draft.spent is None else {"spent": dict(draft.spent)})

    def _report(
        self, release: Release, earlier: Sequence[Release], verdicts: Sequence[Verdict], summary: Mapping[str, Any], found: Sequence[Disclosed]
    ) -> Path | None:
        if not self._is.report:
            return None
        from phalanx.report import write_report

        path = self._is.to / f"{self.name}-{release.number}.html"
        with staging.Folder.new(self._is.to, self.name) as folder:  # so that the next publish removes what an interrupted one leaves of it
            write_report(folder.path / path.name, [*earlier, release], verdicts, summary=summary, adversaries=found)
            staging.hand_out_page(folder.path / path.name, path)
        return path


def _reason(error: OSError) -> str:
    return (error.strerror or "input/output error").lower()


def _read_earlier(series: str, entry: ReleaseEntry) -> Release:
    try:
        release = Release.read(entry.folder)
    except ReleaseError as wrong:  # its own remedy, to ask the publisher, is of no use to the publisher
        what = str(wrong).rsplit(";", 1)[0]
        raise ReleaseError(f"release {entry.number} of {series!r} is not as it was published ({what}); put the published folder back.") from None
    if release.digest != entry.digest:
        raise ReleaseError(f"{entry.folder} is not what the ledger recorded as release {entry.number} of {series!r}; put the published folder back.")
    return release


def _person_to_group(microdata: Microdata, draft: Draft) -> "pl.DataFrame | None":
    """Who is in which group, registered persons without a row among them."""
    import polars as pl

    if microdata.persons is None:
        return None
    members = [pl.DataFrame({"person": microdata.persons, "group": draft.groups})]
    if microdata.registry is not None and draft.registered is not None:
        members.append(pl.DataFrame({"person": microdata.registry.persons, "group": draft.registered}))
    return pl.concat(members).filter(pl.col("group") > 0)
