# SPDX-License-Identifier: Apache-2.0
"""What is given to publish: one sentence where something else stands in the place of a table, a
name, a schema, a method or formats.
"""

import contextlib
import errno
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from phalanx.data.names import is_of_a_folder
from phalanx.data.schema import Schema
from phalanx.data.sources.frames import check_index
from phalanx.data.sources.source import is_csv, read_source
from phalanx.engines.fetched import Lines
from phalanx.errors import (
    LedgerError,
    MethodError,
    PhalanxError,
    PhalanxWarning,
    PlanError,
    ReleaseError,
    SchemaError,
    SourceError,
    fault,
    kind_of,
    path_of,
    shortened,
)
from phalanx.exact import is_list, whole
from phalanx.guarantees.strength import promises_nothing
from phalanx.methods.base import Method
from phalanx.methods.weights import check_takes_weight
from phalanx.release.folder import FORMATS
from phalanx.series import staging

if TYPE_CHECKING:
    import polars as pl

_LONGEST: Final = 255 - staging.ADDED
"""Bytes of a series name: a folder's has 255 at most, and that of a staging folder is the longest."""
_FEW: Final = 1000
"""So many persons are looked for first, one of whom returns in nearly every table."""
STEPS = ("read", "encode", "group", "write", "check", "record")
"""The steps that ``progress`` is told about, in order."""
_CLUSTER: Final = "cluster"
_PROMISED: Final = {
    "method": "method",
    "guarantees": "guarantee (the method's parameters say it)",
    "privacy_unit": 'privacy unit (each record under changed = "new-record", else each person)',
    "identifier": "identifier",
    "quasi": "list of quasi-identifiers",
    "sensitive": "sensitive attribute",
    _CLUSTER: "column of households",
}
"""What may not change within a series, and what it is called."""


class NoPersonReturns(PhalanxWarning):
    """None of a table's persons was in an earlier release, which may be, or be a slip."""


def warn_of_strangers(number: int, persons: "pl.Series", known: "pl.Series") -> None:
    """Warn where no person of a release is one of those who are ``known`` from earlier ones, as
    where identifiers are written in another way than before.
    """
    if not len(known) or any(
        known.is_in(some.implode()).any() for some in (persons.head(_FEW), persons)
    ):
        return
    warnings.warn(
        f"no person of release {number} was in an earlier one; if identifiers are written in another"
        " way now (007 for 7), who stays is taken for a new person, and not covered.",
        NoPersonReturns,
        stacklevel=2,
    )


def refuse_behind(put: Sequence[Path]) -> None:
    """ReleaseError where releases got their names now, which an interrupted publication had recorded:
    a user who runs it again may not know, and would publish the same table twice.
    """
    if put:
        raise ReleaseError(
            f"{put[-1].name} was recorded when its publication was interrupted, and is in its place"
            " now; publish again for one release more."
        )


def as_begun(begun: Mapping[str, Any] | None, promise: Mapping[str, Any]) -> dict[str, Any]:
    """A promise without its column of households where a series with households began before ledgers
    knew which column that is.
    """
    unsaid = (
        begun is not None and _CLUSTER not in begun and begun.get("privacy_unit") == "household"
    )
    return {key: value for key, value in promise.items() if not (unsaid and key == _CLUSTER)}


def check_promise(series: str, begun: Mapping[str, Any] | None, promise: Mapping[str, Any]) -> None:
    """LedgerError where a series began with another promise; the ledger asks again at the commit."""
    promise = json.loads(json.dumps(promise))
    for key, word in _PROMISED.items():
        if begun is not None and begun.get(key) != promise.get(key):
            raise LedgerError(
                f"series {series!r} began with another {word} and keeps its promise; put it back, or"
                " give this series another name."
            )


def check_parts(
    name: str, schema: Schema, method: Method, formats: Sequence[str], seed: int | None
) -> None:
    """PlanError, SchemaError or MethodError where something is not what it must be."""
    if not isinstance(name, str):
        raise SchemaError(f"the series name is {kind_of(name)}; give a text, then the schema.")
    if (size := len(name.encode("utf-8", "surrogatepass"))) > _LONGEST:
        raise SchemaError(
            f"the series name {shortened(repr(name))} has {size} bytes, and {_LONGEST} fit into the"
            " names of its folders; shorten it."
        )
    if not is_of_a_folder(name):
        raise SchemaError(
            f"the series name {shortened(repr(name))} cannot be a folder's name; use letters, digits, '-' and '_'."
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
    if not is_list(formats, lambda _: True):
        what = f"the text {formats!r}" if isinstance(formats, str) else kind_of(formats)
        raise SchemaError(f"formats is {what}; give a list, as in ['parquet', 'csv'].")
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
    check_takes_weight(method, schema)
    if nothing := next((why for g in method.guarantees if (why := promises_nothing(g))), None):
        raise PlanError(f"[method] {nothing}; ask for more.")


def by_lines(table: Any, schema: Schema) -> Any:
    """A CSV file by its path as what is read once it is known how much memory there is."""
    if not is_csv(table):
        return table
    return Lines(path_of(table, "the source", SourceError), None, schema.drop, schema.texts)


def read_table(table: Any, schema: Schema) -> "pl.DataFrame":
    """The table in memory; SourceError where it is none, or has a column as its index."""
    check_index(table, schema.columns)
    return read_source(table, drop=schema.drop, text=schema.texts)


def lasting_of(table: Any, read: Any, schema: Schema) -> Any:
    """What adversaries are played on later, without asking for the table again: what was read of
    one in memory, which may be changed in its place meanwhile, or be read only once.
    """
    import polars as pl

    if isinstance(table, str | Path | pl.LazyFrame) or not isinstance(read, pl.DataFrame):
        return table
    return read.drop(schema.drop, strict=False)


def read_registry(registry: Any, schema: Schema, method: Method) -> "pl.DataFrame | None":
    """The registry in memory, None where there is none; SchemaError where the series has no use for
    one, SourceError, which names it, as for the table.
    """
    if registry is None:
        return None
    if schema.identifier is None:
        raise SchemaError(
            "a registry is matched with the table by person and no identifier is declared; name"
            " the identifier column, or leave it out."
        )
    if not method.takes_registry:
        raise SchemaError(
            f"a registry is of no use to {method.name}; leave it out, or publish by"
            " global-guarantee."
        )
    try:
        check_index(registry, [schema.identifier, *schema.quasi])
        return read_source(registry, drop=None)
    except SourceError as wrong:
        raise SourceError(f"in the registry: {wrong}") from None


def reason(error: OSError) -> str:
    """Why a system refused."""
    return (error.strerror or "input/output error").lower()


def remedy(error: OSError) -> str:
    """What to do about a folder that cannot be written."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "let a process open more files (ulimit -n)"
    return "make room or choose another folder"


def without_a_page(error: BaseException) -> str:
    """Why there is no report of a release that has left, and what to do."""
    failed = error.__cause__ or error  # of the disk, without the place, which is gone
    if isinstance(failed, OSError):
        return f"{reason(failed)}; make room, and make it by 'phalanx report'."
    return str(error) if isinstance(error, PhalanxError) else fault(error)


def check_places(to: Path, table: Any, *, report: bool) -> None:
    """ReleaseError where a release, or its report, cannot be written to a folder; nothing is made. Of
    a table that is not in memory there may be no report.
    """
    import polars as pl

    paged = report and isinstance(table, pl.DataFrame)
    for folder in (to, to / staging.REPORTS) if paged else (to,):
        with writing(folder):
            staging.check_room(folder)


@contextlib.contextmanager
def writing(to: Path) -> Iterator[None]:
    """ReleaseError where the folder for releases cannot be written, with what to do about it."""
    try:
        yield
    except OSError as error:
        raise ReleaseError(
            f"{to} cannot be written ({reason(error)}); nothing was published, so {remedy(error)}."
        ) from None
