# SPDX-License-Identifier: Apache-2.0
"""The public face of a release: its tables, its checks, its adversaries; in memory, or as a
folder.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phalanx.adversaries.base import an_adversary, attacked_by
from phalanx.data.sources.frames import check_index, like
from phalanx.errors import PhalanxError, ReleaseError, path_of, place_of
from phalanx.exact import is_list
from phalanx.guarantees.base import Verdict
from phalanx.progress import Progress, silent
from phalanx.release import folder
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.form import Form
from phalanx.release.kinds import form_class
from phalanx.release.manifest import Manifest
from phalanx.series import staging
from phalanx.temporary import temporary_folder

if TYPE_CHECKING:
    import polars as pl

    from phalanx.adversaries import Adversary, Attack
    from phalanx.adversaries.disclosure import Disclosed
    from phalanx.estimators import Estimate
    from phalanx.report import Audience
    from phalanx.report.looks import Look
    from phalanx.report.so_far import SoFar
    from phalanx.utility import Measured
    from phalanx.verification import Verification


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Release(folder.Release):
    """What was published once: by ``publish`` or a series, or read again from its folder by
    ``Release.read``.

    A release that was published here has its evidence beside it (the original table, who is in
    which group), so that it can be checked and attacked without a ledger. None of that is written
    by ``save``; a release is not pickled.
    """

    checks: Sequence[Verdict] = ()
    """The checks that its files passed when it was published; none of a folder that was only
    read.
    """
    suppressed_rows: Mapping[str, int] | None = None
    """Rows of the table that were not published, by reason; None where that is not told, under
    differential privacy, or not known, of a folder that was only read.
    """
    suppressed_values: Mapping[str, int] | None = None
    """Sensitive values that were taken out of published rows, by reason; None where that is not
    known.
    """
    attacks: Sequence["Disclosed"] = ()
    """What adversaries found out of a perturbed release before it left; empty for other forms, and
    where neither a report nor a bound asks for it.
    """
    spent: Mapping[str, float] | None = None
    """What a differentially private release and those before it cost together: epsilon, delta,
    releases; None for others.
    """
    wave: str | None = None
    """Of which wave of a panel it is, where that was told when it was published here."""
    seconds: float | None = None
    """How long publishing took."""
    page: Path | None = None
    """The report that was written in ``reports``, beside the folders of a series."""
    files: Mapping[str, bytes] | None = None
    """The files of a release in memory, by name; None of one that has a folder."""
    _earlier: Sequence[folder.Release] = ()
    _so_far: Sequence["SoFar"] = ()
    _shown: "Sequence[Verdict] | None" = None
    _look: "Look | None" = None
    _played: bool = True
    _like: Any = None
    _published: Any = None

    @classmethod
    def _of_folder(cls, path: Path, manifest: Manifest) -> "Release":
        """A release in parts reads no table before one is asked for."""
        none: Mapping[str, int] | None = None if _may_suppress(manifest) else {}
        known: dict[str, Any] = {"suppressed_rows": none, "suppressed_values": none}
        if manifest.parts:
            return ReleaseInParts(manifest=manifest, path=path, **known)
        return cls(manifest=manifest, form=folder.read_form(path, manifest), path=path, **known)

    @property
    def table(self) -> Any:
        """The published table, one row per tuple, as the kind of frame that came in, Polars where
        it came from files; of a bucketized release the one without the sensitive values.
        """
        return self._as_it_came(self.form.table)

    @property
    def tables(self) -> dict[str, Any]:
        """Every published table by the name of its file, of the same kind as ``table``."""
        return {name: self._as_it_came(table) for name, table in self.form.tables().items()}

    def _as_it_came(self, table: "pl.DataFrame") -> Any:
        given = table.clone()  # as a Polars frame can be changed in its place
        return given if self._like is None else like(self._like, given)

    @property
    def rows(self) -> int:
        """Published rows, counterfeits among them."""
        return self.manifest.rows

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return self.manifest.groups

    @property
    def counterfeits(self) -> int:
        """Rows that are no person's."""
        return self.manifest.counterfeits

    @property
    def registered(self) -> int:
        """Registered persons who are in groups without a row."""
        return self.manifest.registered

    def verify(self, *, allow_seeded: bool = False) -> "Verification":
        """Read the files again and check them as ``phalanx.verify`` does, against all evidence that
        there is.

        Parameters
        ----------
        allow_seeded : bool, default False
            Accept a release that was made with a seed, in a test.

        Returns
        -------
        Verification
            Every check, and whether all hold.

        Raises
        ------
        ReleaseError
            Where the files are not those of the manifest.
        """
        from phalanx.guarantees.verify import verify
        from phalanx.verification import Verification

        with self.on_disk() as on_disk:
            read = folder.opened(on_disk.path)
            if read.digest != self.digest:
                raise ReleaseError(
                    f"{self.path} is not the release that was published here (its digest differs);"
                    " put the published folder back."
                )
            return Verification(
                verify(
                    [*self._earlier, read], self.evidence, allow_seeded=allow_seeded, only_last=True
                )
            )

    def with_evidence(
        self, *, original: Any = None, identifier: str | None = None, ledger: str | None = None
    ) -> "Release":
        """The release with what its publisher can lay beside it, so that a folder that was read can
        be attacked as one that was published here.

        Parameters
        ----------
        original : frame or path of shape (n, columns), optional
            The table that was published.
        identifier : str, optional
            Its identifier column, where persons are to be followed.
        ledger : str, optional
            A URL; the ledger knows who was published in which row or group, and what was suppressed.

        Returns
        -------
        Release
            The same release, with evidence.

        Raises
        ------
        ReleaseError, LedgerError
            Where they do not fit.
        """
        from phalanx.verification import gather_evidence

        originals = [] if original is None else [original]
        evidence, _ = gather_evidence(
            [self], ledger=ledger, originals=originals, identifier=identifier, persons=False
        )
        known = {} if ledger is None else _recorded_counts(self, ledger)
        return but(self, evidence=evidence, **known)

    def attack(self, adversary: "Adversary") -> "Attack":
        """What an adversary concludes from this release alone.

        Parameters
        ----------
        adversary : Adversary
            Which one, with what it knows.

        Returns
        -------
        Attack
            What it found, and of how many persons it is certain.

        Raises
        ------
        ReleaseError
            Where it lacks what it needs to know.
        """
        return attacked_by(an_adversary(adversary), [self], self.evidence)

    def estimate(
        self,
        query: "str | pl.Expr",
        *,
        suppressed: int | None = None,
        weighted: bool = True,
        beside: "Sequence[Release]" = (),
        progress: Progress = silent,
    ) -> "Estimate":
        """Answer a count, a sum or a mean from the release alone: bounds that hold by construction,
        a point estimate, and a model's interval.

        As in SQL, no comparison is true of a missing value. Bounds are of the table behind the
        release.

        Parameters
        ----------
        query : str | pl.Expr
            SQL such as ``"count(*) where age between 30 and 40 group by diagnosis"`` (needs the
            extra ``estimate``), or a Polars expression: a condition, or ``pl.len()``, a column's
            ``.sum()`` or ``.mean()``, filtered by one.
        suppressed : int, optional
            How many rows were suppressed, where the publisher tells it; without it, a release whose
            plan allows it has no upper bounds.
        weighted : bool, default True
            Where the release carries survey weights, a row counts as many times as its weight says;
            False: each counts once, as in the sample.
        beside : sequence of Release, optional
            Other releases of the series: how values lie within boxes is learned from theirs, too, as
            they cut the values at different places. Bounds are of this release's table alone.
        progress : Progress, optional
            Called with ``parts`` as they are read and ``groups`` as they are answered, how many
            were, and of how many.

        Returns
        -------
        Estimate
            A figure for each group that the query asks for, in the units of the attribute.

        Raises
        ------
        ReleaseError
            Where the query is none that a release can answer, with the reason; where a release
            beside it is none of its series.
        ExtraError
            Without the extra that reads SQL.
        """
        from phalanx.estimators import estimate

        if not is_list(beside, lambda other: isinstance(other, Release)):
            raise ReleaseError("'beside' is a list of releases; read each by Release.read(folder).")
        names = {other.manifest.series for other in beside} - {self.manifest.series}
        if names:
            raise ReleaseError(
                f"a release beside it is of the series {min(names)!r}, and this one of"
                f" {self.manifest.series!r}; give releases of one series."
            )
        return estimate(
            self,
            query,
            suppressed=suppressed,
            weighted=weighted,
            beside=[other for other in beside if other.digest != self.digest],
            progress=progress,
        )

    def draw(
        self,
        times: int = 20,
        *,
        never: "Sequence[str | pl.Expr] | str | pl.Expr" = (),
        seed: int | None = None,
    ) -> list[Any]:
        """Draw tables that the release leaves possible, in the original's columns with values in
        them.

        Any analysis of a plain table can be made of each of them, and pooled by ``phalanx.pool``. A
        drawn table is a guess, and not a release: within a group attributes of different facets go
        together by chance, so that what goes together in the original goes together less in draws.
        Of a sample (safe sampling) as many rows are drawn as were published. Where survey weights
        are published, each row has the mean weight of its group.

        Parameters
        ----------
        times : int, default 20
            How many tables.
        never : Sequence[str | pl.Expr] | str | pl.Expr, optional
            Conditions that no row fulfils, as in ``["age < 16 and education = 'Doctorate'"]``:
            groups with such rows are drawn again, and the rows are left out where that does not
            help.
        seed : int, optional
            Draw the same tables again.

        Returns
        -------
        list[Any]
            ``times`` tables, each the kind of frame that came in; Polars of a release that was
            read.

        Raises
        ------
        ReleaseError
            Where the release holds sets, or a condition is none.
        ExtraError
            Without the extra that reads conditions as text.
        """
        from phalanx.estimators.draws import draw

        tables = draw(self, times, never=never, seed=seed)
        return [self._as_it_came(table) for table in tables]

    def measure(
        self,
        original: Any = None,
        *,
        held_out: Any = None,
        seed: int | None = None,
        progress: Progress = silent,
    ) -> "Measured":
        """What was lost: figures of the release and of tables drawn from it beside the original,
        each next to a sample of the same size.

        The sample is drawn from the original with replacement, so that its figures are what chance
        alone loses. These figures say how private values are distributed: they are for the
        publisher.

        Parameters
        ----------
        original : frame or path of shape (n, columns), optional
            The table that was published; of what ``publish`` returned, the one that it was given, where
            that was a path or a frame of Polars.
        held_out : frame or path, optional
            Other rows of the same kind, that the release was not made of, on which a model that
            learned from the release is tried.
        seed : int, optional
            Draw the same tables again.
        progress : Progress, optional
            Called with what is looked at (``parts`` of the release, ``original``, ``drawn tables``
            or ``counts``), how many parts, rows or counts of it were, and of how many.

        Returns
        -------
        Measured
            The figures, shares of 1 unless their names say otherwise.

        Raises
        ------
        ReleaseError
            Where a table lacks a published column, there is no row, or no table is known.
        """
        from phalanx.data.sources.source import read_source
        from phalanx.engines.fetched import read_or_batches
        from phalanx.utility import measure

        original = self._published if original is None else original
        if original is None:
            raise ReleaseError(
                "this release does not hold the table it was made of; give it, as in"
                " measure('table.csv')."
            )
        attributes = self.manifest.attributes
        for given in (original, held_out):
            check_index(given, [a.name for a in attributes], ReleaseError)
        texts = [a.name for a in attributes if a.type == "categorical"]
        table = read_or_batches(original, texts, in_parts=bool(self.manifest.parts))
        other = None if held_out is None else read_source(held_out, drop=None, text=texts)
        return measure(self, table, held_out=other, seed=seed, progress=progress)

    def save(self, path: str | Path) -> "Release":
        """Write the checked files into a new folder, whole or not at all.

        Parameters
        ----------
        path : str | Path
            The folder, which must not be there yet.

        Returns
        -------
        Release
            The release that is there.

        Raises
        ------
        ReleaseError
            Where the name is taken, or the folder cannot be written.
        """
        final = path_of(path, "the new folder", ReleaseError)
        if final.exists():
            raise ReleaseError(
                f"{final} exists, and a release is never written over another; choose another name."
            )
        place_of(final, "the new folder", ReleaseError)
        try:
            staging.make_room(final.parent)
            with staging.Folder.new(final.parent, final.name) as room, self.on_disk() as read:
                for file in sorted(read.path.iterdir()):
                    folder.write_bytes(room.path / file.name, file.read_bytes())
                folder.Release.read(room.path)
                room.hand_out(final)
        except OSError as error:
            raise ReleaseError(
                f"{final} cannot be written ({(error.strerror or 'input/output error').lower()});"
                " choose another folder."
            ) from None
        return but(self, path=final, files=None)

    def report(
        self,
        path: str | Path,
        *,
        audience: "Audience" = "internal",
        population: int | None = None,
    ) -> Path:
        """Write the page about this release and those before it.

        Parameters
        ----------
        path : str | Path
            The HTML file.
        audience : Audience, default 'internal'
            ``internal``, for the publisher: also what adversaries found, and what was lost beside
            the original, as shares and counts; it names no value that was not released, and is not
            to be handed out. ``external``, for those who receive the release: released values
            alone, and the check that anybody can make of them.
        population : int | None, optional
            So many persons the table is a sample of, those in it included; for the regulator's
            table.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ReleaseError
            Where it cannot be written, the audience is neither, or the population is smaller than
            the release.
        """
        from phalanx.report import AUDIENCES, write_report
        from phalanx.series.bounds import questions

        target = place_of(path, "the page's file", ReleaseError)
        if audience not in AUDIENCES:
            raise ReleaseError(f"a page is for {' or '.join(AUDIENCES)}, and not {audience!r}.")
        checks = checks_for(self, audience) if self._shown is None else self._shown
        inside: dict[str, Any] = {}
        try:
            if audience == "internal":
                inside = {
                    "adversaries": self.attacks,
                    "answers": questions(self, self.evidence, self.attacks, played=self._played),
                    "microdata": self.evidence.microdata.get(self.number),
                }
            write_report(
                target,
                [*self._earlier, self],
                checks,
                summary=self._summary() if inside else {},
                audience=audience,
                population=population,
                so_far=self._so_far,
                look=self._look,
                **inside,
            )
        except OSError as error:
            raise ReleaseError(
                f"{path} cannot be written ({(error.strerror or 'input/output error').lower()});"
                " choose another place."
            ) from error
        except PhalanxError:
            raise
        except Exception:
            if all(v.holds for v in checks if v.name.endswith("consistency")):
                raise
            raise ReleaseError(
                f"{self.path} contradicts itself, and no page can be made of it; 'phalanx verify'"
                " says where."
            ) from None
        return target

    def _summary(self) -> dict[str, Any]:
        return {
            "suppressed_rows": self.suppressed_rows,
            "suppressed_values": self.suppressed_values,
            "seconds": self.seconds,
        } | ({} if self.spent is None else {"spent": self.spent})

    def to_json(self) -> dict[str, Any]:
        """Stable keys: release, number, wave, rows, groups, counterfeits, registered,
        suppressed_rows, suppressed_values, spent, seconds, report, checks, disclosed.
        """
        return {
            "release": str(self.path) if self.files is None else None,
            "number": self.number,
            "wave": self.wave,
            "rows": self.rows,
            "groups": self.groups,
            "counterfeits": self.counterfeits,
            "registered": self.registered,
            "suppressed_rows": None if self.suppressed_rows is None else dict(self.suppressed_rows),
            "suppressed_values": (
                None if self.suppressed_values is None else dict(self.suppressed_values)
            ),
            "spent": None if self.spent is None else dict(self.spent),
            "seconds": None if self.seconds is None else round(self.seconds, 3),
            "report": None if self.page is None else str(self.page),
            "checks": [v.to_json() for v in self.checks],
            "disclosed": [attack.to_json() for attack in self.attacks],
        }

    @contextmanager
    def on_disk(self) -> Iterator[folder.Release]:
        """The release where its files can be looked at: in memory, read again from a private folder
        that is there as long as it is needed.
        """
        if self.files is None:
            yield self
            return
        with temporary_folder() as place:
            for name, content in self.files.items():
                (place / name).write_bytes(content)
            yield folder.Release.read(place)

    @cached_property
    def _facts(self) -> dict[str, str]:
        """What a card says of it."""
        m = self.manifest
        groups = self.form_type.id_column
        in_groups = f" in {m.groups:,} {groups}s" if groups else ""
        holding = sum(v.result == "holds" for v in self.checks)
        return {
            "release": f"{m.number} of {m.series}",
            "size": f"{m.rows:,} rows{in_groups}",
            "method": str(m.method["name"]),
            "guarantees": "; ".join(str(g["name"]) for g in m.guarantees),
            "checks": (
                f"{holding} hold"
                if self.checks and all(v.holds for v in self.checks)
                else "not checked here"
            ),
            "place": "in memory" if self.files is not None else str(self.path),
        }

    def __repr__(self) -> str:
        fact = self._facts
        return (
            f"<Release {fact['release']}: {fact['size']}, by {fact['method']}; checks:"
            f" {fact['checks']}; {fact['place']}>"
        )

    def _repr_html_(self) -> str:
        lines = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td>{html.escape(text)}</td></tr>"
            for name, text in self._facts.items()
        )
        return f"<table>{lines}</table>"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a release is not pickled, because private evidence lies beside it; use save, and"
            " Release.read."
        )


class ReleaseInParts(Release):
    """A release of a table that is larger than the memory: no table of it is read before one is
    asked for, and then whole.
    """

    def __init__(self, **given: Any) -> None:
        absent = {one.name: one.default for one in fields(Release) if one.default is not MISSING}
        made = {"evidence": Evidence()}
        self.__dict__.update({**absent, **made, **given})

    @cached_property
    def form(self) -> Form:
        """What its tables hold."""
        return folder.Unread(self.path, self.manifest).form


def _may_suppress(manifest: Manifest) -> bool:
    """Whether rows or values may not be in a release, by what its manifest says."""
    return manifest.may_suppress != [] or form_class(manifest.form).tells_itself_alone


def _recorded_counts(release: folder.Release, ledger: str) -> dict[str, Any]:
    """What a ledger knows of what was suppressed of a release, as fields of it; nothing where it
    did not record it.
    """
    from phalanx.ledger import Ledger

    with Ledger.open(ledger, create=False) as opened:
        for entry in opened.releases(release.manifest.series):
            if entry.digest == release.digest:
                counts = ("suppressed_rows", "suppressed_values")
                return {name: entry.summary[name] for name in counts if name in entry.summary}
    return {}


def checks_for(release: Release, audience: "Audience") -> list[Verdict]:
    """What a page shows as checked: for those outside, what anybody can check."""
    if audience == "internal":
        return list(release.checks or release.verify().checks)
    from phalanx.guarantees.verify import verify

    state = release.evidence.state
    with release.on_disk() as there:
        return verify(
            [*release._earlier, there],  # noqa: SLF001 - it is made here
            None if state is None else Evidence(state=state),
            allow_seeded=release.manifest.not_for_publication,
            only_last=True,
        )


def but(release: Release, **others: Any) -> Release:
    """The same release with other fields; no table of one in parts is read for it."""
    if not isinstance(release, ReleaseInParts):
        return replace(release, **others)
    given = {
        one.name: vars(release)[one.name] for one in fields(Release) if one.name in vars(release)
    }
    return ReleaseInParts(**given | others)
