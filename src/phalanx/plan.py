# SPDX-License-Identifier: Apache-2.0
"""The plan: the steward's file, read once, validated whole, every path resolved against its
folder.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from phalanx.data.hierarchies.files import hierarchy_of
from phalanx.data.hierarchies.hierarchy import Hierarchy
from phalanx.data.schema import Schema
from phalanx.data.sources.batches import is_parquet
from phalanx.data.sources.databases import sqlite_path
from phalanx.data.sources.frames import check_index
from phalanx.data.sources.source import ENDINGS, is_csv, read_source
from phalanx.data.waves import one_wave
from phalanx.engines.fetched import Lines, Query
from phalanx.errors import (
    PhalanxError,
    PlanError,
    SchemaError,
    SourceError,
    did_you_mean,
    kind_of,
    path_of,
)
from phalanx.guarantees.strength import promises_nothing
from phalanx.methods.base import Budgeted, Method, make
from phalanx.plan_file import Format, PlanFile, TableSection, parsed
from phalanx.progress import Progress, check_progress, silent
from phalanx.series.preview import Preview
from phalanx.series.released import Release
from phalanx.series.series import Series

_LARGEST: Final = 1_000_000
"""So many bytes of a plan are read: what is named by mistake may have no end."""


@dataclass(frozen=True)
class Plan:
    """A plan and the file that it was read from.

    Every wrong plan gives one PlanError that names file, key and remedy, and where a key is unknown
    the nearest known one.
    """

    path: Path
    """The plan's file; what it names is relative to its folder."""
    sections: PlanFile = field(repr=False)
    """What the file says; not shown, because a url may hold a password."""

    @classmethod
    def read(cls, path: str | Path) -> "Plan":
        """Read and validate a plan; what its hierarchies' files hold is looked at by ``schema``,
        its method's parameters by ``method``.

        Parameters
        ----------
        path : str | Path
            The TOML file.

        Returns
        -------
        Plan
            The plan.

        Raises
        ------
        PlanError
            Where a key is unknown or its value wrong.
        """
        path = path_of(path, "the plan", PlanError)
        if path.name.lower().endswith(ENDINGS) and path.is_file():
            raise PlanError(
                f"{str(path)!r} is a table and no plan; 'phalanx init' writes a plan for it."
            )
        try:
            with path.open("rb") as opened:
                content = opened.read(_LARGEST + 1)
            if len(content) > _LARGEST:
                raise PlanError(
                    f"{str(path)!r} is larger than any plan; name the file that phalanx init wrote."
                )
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise PlanError(f"the plan {str(path)!r} is not UTF-8; save it as UTF-8.") from None
        except OSError:
            siblings = [p.name for p in path.parent.glob("*.toml")] if path.parent.is_dir() else []
            raise PlanError(
                f"there is no plan {str(path)!r} that can be"
                f" read{did_you_mean(path.name, siblings) or '; phalanx init SOURCE writes one.'}"
            ) from None
        return cls.parse(text, path)

    @classmethod
    def parse(cls, text: str, path: Path) -> "Plan":
        """A plan from its text.

        Parameters
        ----------
        text : str
            What stands in the file, TOML.
        path : Path
            Where it stands, or would; other paths are relative to its folder.

        Returns
        -------
        Plan
            The plan.

        Raises
        ------
        PlanError
            Where a key is unknown or its value wrong.
        """
        path = path_of(path, "the plan", PlanError)
        if not isinstance(text, str):
            raise PlanError(
                f"the plan is {kind_of(text)}; give its text, or its file to Plan.read."
            )
        return cls(path, parsed(text, path))

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """The JSON Schema of a plan, for editors and docs."""
        return PlanFile.model_json_schema(by_alias=True)

    @property
    def name(self) -> str:
        """The name of the series."""
        return self.sections.series.name

    @property
    def query(self) -> str | None:
        """The query of a database source."""
        return self.sections.source.query

    @property
    def wave(self) -> str | None:
        """The column that tells the waves of the table apart, each a release of its own."""
        return self.sections.source.wave

    @property
    def registry_query(self) -> str | None:
        """The query of a registry in a database."""
        registry = self.sections.source.registry
        return None if registry is None else registry.query

    @property
    def formats(self) -> tuple[Format, ...]:
        """What the tables are written as, each once."""
        return tuple(dict.fromkeys(self.sections.publish.formats))

    def schema(self) -> Schema:
        """The roles of the columns, with the hierarchies read.

        Returns
        -------
        Schema
            The schema.

        Raises
        ------
        PlanError
            Where a hierarchy's file cannot be read, or the roles contradict each other.
        """
        s = self.sections.schema_
        hierarchies: dict[str, Hierarchy] = {}
        for name, declared in s.hierarchies.items():
            try:
                hierarchies[name] = hierarchy_of(
                    declared.model_dump(exclude_unset=True), self.path.parent
                )
            except SchemaError as wrong:
                raise PlanError(
                    f"in the plan {str(self.path)!r} [schema.hierarchies] {name}: {wrong}"
                ) from None
        named = (s.identifier, s.cluster, s.sensitive, s.weight, *s.quasi, *s.keep, *s.drop)
        if self.wave is not None and self.wave in named:
            raise PlanError(
                f"in the plan {str(self.path)!r} {self.wave!r} tells the waves apart and has a role"
                " besides; remove it from [schema], as all rows of a release have the same one."
            )
        try:
            return Schema(
                identifier=s.identifier,
                cluster=s.cluster,
                quasi=s.quasi,
                sensitive=s.sensitive,
                weight=s.weight,
                keep=s.keep,
                drop=s.drop,
                types=s.types,
                missing=s.missing,
                hierarchies=hierarchies,
                not_applicable=s.not_applicable,
            )
        except SchemaError as wrong:
            raise PlanError(f"in the plan {str(self.path)!r} [schema]: {wrong}") from None

    def method(self) -> Method:
        """The method with its parameters.

        Returns
        -------
        Method
            The method.

        Raises
        ------
        PlanError
            Where the name or a parameter is unknown or wrong, where all that is promised holds of
            any table, and where the plan names a registry that the method does not take.
        """
        m = self.sections.method_
        try:
            method = make(m.name, m.model_extra or {})
        except PhalanxError as wrong:
            raise PlanError(f"in the plan {str(self.path)!r} {wrong}") from None
        except (TypeError, ValueError, ArithmeticError):
            raise PlanError(
                f"in the plan {str(self.path)!r} a parameter of [method] {m.name} has a value of"
                " the wrong kind; see the method's reference."
            ) from None
        if self.sections.source.registry is not None and not method.takes_registry:
            raise PlanError(
                f"in the plan {str(self.path)!r} [source.registry] is of use to global-guarantee"
                " only; remove it."
            )
        if (whys := [*map(promises_nothing, method.guarantees)]) and all(whys):
            raise PlanError(
                f"in the plan {str(self.path)!r} [method] {m.name} is asked for nothing, and would"
                " publish all rows as they are; give k or l of 2 or more."
            )
        return method

    def series(self, *, seed: int | None = None) -> Series:
        """The series that the plan describes.

        Parameters
        ----------
        seed : int, optional
            For tests; marks what the series publishes.

        Returns
        -------
        Series
            The series, with its schema, method, folder and ledger.

        Raises
        ------
        PlanError, SchemaError
            As of ``method`` and ``schema``.
        """
        return Series(
            self.name,
            self.schema(),
            self.method(),
            to=self.publish_to(),
            ledger=self.ledger_url(),
            formats=self.formats,
            seed=seed,
            engine=self.sections.publish.engine,
            report=self.sections.publish.report,
            adversaries=self.sections.publish.adversaries,
            memory_limit=self.sections.publish.memory_limit,
            spark_master=self.sections.publish.spark_master,
        )

    def publish(
        self,
        *,
        source: Any = None,
        wave: str | None = None,
        seed: int | None = None,
        progress: Progress = silent,
    ) -> Release:
        """Publish the plan's table as the next release of its series; at any error nothing is
        published.

        Parameters
        ----------
        source : frame or path of shape (n, columns), optional
            A table, or the path of a file, in the place of the plan's table.
        wave : str, optional
            Which wave of it, where the plan names the column that tells them apart; the next one
            by default, and under differential privacy none is chosen by the table.
        seed : int, optional
            Makes the release predictable, for tests; it is marked as not for publication.
        progress : Progress, optional
            Called with each step as it begins (``read``, ``encode``, …), and of a table in parts with
            how many rows it has come to, and of how many; else 0 and None.

        Returns
        -------
        Release
            The release that is now in its folder and in the ledger.

        Raises
        ------
        PhalanxError
            As for ``Series.publish``.
        """
        series = self.series(seed=seed)
        check_progress(progress)
        progress("read", 0, None)
        wave, table = self._read(source, wave)
        return series.publish(
            table, registry=self._registry(series.schema), wave=wave, progress=progress
        )

    def check(
        self,
        *,
        source: Any = None,
        wave: str | None = None,
        progress: Progress = silent,
    ) -> Preview:
        """Do everything but publish, as ``Series.check`` does: the figures of a release, and none
        of its rows.

        Parameters
        ----------
        source : frame or path of shape (n, columns), optional
            A table, or the path of a file, in the place of the plan's table.
        wave : str, optional
            As for ``publish``.
        progress : Progress, optional
            Called with each step as it begins (``read``, ``encode``, …), and of a table in parts with
            how many rows it has come to, and of how many; else 0 and None.

        Returns
        -------
        Preview
            What the release would promise, and its figures.

        Raises
        ------
        PhalanxError
            As for ``Series.publish``.
        """
        series = self.series()
        check_progress(progress)
        progress("read", 0, None)
        wave, table = self._read(source, wave)
        preview = series.check(table, registry=self._registry(series.schema), progress=progress)
        return replace(preview, wave=wave)

    def table(self) -> Any:
        """The rows that the next release publishes.

        Returns
        -------
        frame of shape (n, columns)
            The source, or its next wave without the column that tells waves apart.

        Raises
        ------
        PhalanxError
            As for ``publish``.
        """
        schema = self.schema()
        table = self._read(None, None)[1]
        return read_source(table, drop=schema.drop, text=schema.texts)

    def _read(self, source: Any, wave: str | None) -> tuple[str | None, Any]:
        """The microdata, or what holds them, and of which wave they are where the plan has
        waves.
        """
        if wave is not None and self.wave is None:
            raise PlanError(
                f"the plan {str(self.path)!r} has no waves; name their column under [source] wave,"
                " or leave --wave out."
            )
        if self.wave is not None and wave is None and isinstance(self.method(), Budgeted):
            raise PlanError(
                "which wave is next would be chosen by the table, which no epsilon covers; name it"
                " by --wave."
            )
        schema = self.schema()
        given = self.source_path() if source is None else source
        if self.wave is None and (
            not isinstance(given, str | Path) or is_parquet(given)
        ):  # which is read in parts where it is large
            return None, given
        check_index(given, [*schema.columns, self.wave or ""])
        dialect = self.sections.source.dialect
        if self.wave is None and source is None and "://" in str(given):
            return None, Query(str(given), self.query, schema.drop, schema.texts)
        if self.wave is None and is_csv(given):
            return None, Lines(Path(given), dialect, schema.drop, schema.texts)
        table = read_source(
            given,
            query=self.query if source is None else None,
            drop=schema.drop,
            text=schema.texts,
            dialect=dialect,
        )
        if self.wave is None:
            return None, table
        return one_wave(table, self.wave, wave, self.series().waves)

    def _registry(self, schema: Schema) -> Any:
        """The registry, where there is one."""
        registry, listed = self.sections.source.registry, self.registry_path()
        if registry is None or listed is None:
            return None
        return read_source(
            listed,
            query=registry.query,
            drop=None,
            text=schema.texts,
            dialect=registry.dialect,
        )

    def source_path(self) -> str:
        """What ``read_source`` takes: the absolute path of the file, or the database's url with its
        path made absolute.
        """
        return self._table(self.sections.source, "[source]")

    def registry_path(self) -> str | None:
        """The same of the registry; None where there is none."""
        registry = self.sections.source.registry
        return None if registry is None else self._table(registry, "[source.registry]")

    def publish_to(self) -> Path:
        """The absolute folder of the releases."""
        return self._resolved(self.sections.publish.to)

    def ledger_url(self) -> str:
        """The ledger's url, its path made absolute; beside the plan and named after the series
        where none is given.

        Returns
        -------
        str
            The url.

        Raises
        ------
        PlanError
            Where that would be the SQLite file that a table is read from, into which nothing may be
            written.
        """
        url = self._url(self.sections.ledger.url or f"sqlite:///{self.name}.db", "[ledger] url")
        if url.startswith("sqlite:") and url in (self.source_path(), self.registry_path()):
            raise PlanError(
                f"in the plan {str(self.path)!r} the ledger would be written into the database that"
                " is the source; name another one under [ledger] url."
            )
        return url

    def _resolved(self, path: str) -> Path:
        try:
            where = (self.path.absolute().parent / Path(path).expanduser()).resolve()
            goes_round = where.is_symlink()  # where Python 3.13 stops
        except (
            RuntimeError,
            ValueError,
        ):  # links that go round, an unknown home, a NUL
            goes_round = True
        if goes_round:
            raise PlanError(
                f"in the plan {str(self.path)!r} the path {path!r} leads nowhere; correct it."
            )
        return where

    def _table(self, table: TableSection, section: str) -> str:
        return (
            str(self._resolved(table.path))
            if table.path is not None
            else self._url(table.url or "", f"{section} url")
        )

    def _url(self, url: str, key: str) -> str:
        scheme = url.split("://", 1)[0] if "://" in url else ""
        if scheme in ("postgresql", "postgres"):
            return url
        try:
            if scheme != "sqlite":
                raise SourceError(
                    "it is neither sqlite:///file.db nor postgresql://…; write one of them."
                )
            return f"sqlite:///{self._resolved(str(sqlite_path(url)))}"
        except SourceError as wrong:
            raise PlanError(f"in the plan {str(self.path)!r} {key}: {wrong}") from None
