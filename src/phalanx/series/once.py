# SPDX-License-Identifier: Apache-2.0
"""A table that is published once, in memory."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from phalanx.data.microdata import Microdata
from phalanx.data.ordering import written_down
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.engines.fetched import FETCHED
from phalanx.errors import MethodError, ReleaseError
from phalanx.methods import ordering
from phalanx.methods.base import Budgeted, Memory, Method, under
from phalanx.methods.written_alike import check_written_alike
from phalanx.progress import Progress, check_progress, silent
from phalanx.randomness import Randomness
from phalanx.release import folder
from phalanx.series import staging
from phalanx.series.drafting import Checked, Drafting
from phalanx.series.given import check_parts, read_table, reason
from phalanx.series.released import Release, ReleaseInParts
from phalanx.temporary import temporary_folder


def publish(
    table: Any,
    schema: Schema,
    method: Method,
    *,
    name: str = "release",
    formats: Sequence[str] = ("parquet",),
    seed: int | None = None,
    progress: Progress = silent,
) -> Release:
    """Publish a table once, in memory: nothing is written, but by ``save`` of the release, and
    nothing is remembered.

    The same independent check is made of the very files as for a series; where it does not hold,
    there is no release. A table that is published again as it changes needs a ``Series``.

    Parameters
    ----------
    table : frame or path of shape (n, columns)
        pandas, Polars, Arrow, anything with the Arrow PyCapsule interface, or the path of a file;
        one row per person.
    schema : Schema
        The role of each column.
    method : Method
        What is promised, and how the table is published.
    name : str, default 'release'
        What stands in the manifest.
    formats : Sequence[str], default ('parquet',)
        The kinds of files that ``save`` writes.
    seed : int, optional
        Makes the release predictable, for tests; it is marked as not for publication.
    progress : Progress, optional
        Called with each step as it begins (``read``, ``encode``, …), and of a table in parts with
        how many rows it has come to, and of how many; else 0 and None.

    Returns
    -------
    Release
        The checked release; its table is of the kind that came in.

    Raises
    ------
    SchemaError, SourceError
        Where the table is not what the schema says.
    MethodError
        Where the method cannot keep its guarantee on it, or needs to remember what it published or
        spent.
    GuaranteeError
        Where the check of its files does not hold.

    Examples
    --------
    >>> import polars as pl
    >>> from phalanx import Mondrian, Schema, publish
    >>> people = pl.DataFrame({"age": [30, 31, 40, 41], "ill": ["flu", "cold", "flu", "cold"]})
    >>> publish(people, Schema(quasi=["age"], sensitive="ill"), Mondrian(k=2, l=2)).rows
    4
    """
    began = time.perf_counter()
    check_parts(name, schema, method, formats, seed)
    method = under(method, schema)
    check_progress(progress)
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
    frame = read_table(table, schema)
    progress("encode", 0, None)
    ordering.check_takes(method, schema)
    check_written_alike(frame, schema, method)
    schema = written_down(schema, frame, {})
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
        with temporary_folder() as place:  # for as long as the files are checked
            return drafting.check(
                lambda: staging.Folder.new(place, name), _in_memory(table, began), progress
            )
    except OSError as error:
        raise ReleaseError(
            f"the folder for temporary files cannot be written ({reason(error)}); nothing was"
            " published, so make room, or name another in TMPDIR."
        ) from None


def as_release(
    checked: Checked,
    path: Path,
    table: Any,
    began: float,
    earlier: Sequence[folder.Release] = (),
    wave: str | None = None,
) -> Release:
    """What was checked, as its publisher gets it."""
    import polars as pl

    manifest = checked.release.manifest
    made = ReleaseInParts if manifest.parts else partial(Release, form=checked.release.form)
    return made(
        manifest=manifest,
        path=path,
        wave=wave,
        checks=checked.verdicts,
        suppressed_rows=checked.suppressed.rows,
        suppressed_values=checked.suppressed.values,
        attacks=checked.attacks,
        spent=checked.spent,
        seconds=time.perf_counter() - began,
        evidence=checked.evidence,
        _earlier=earlier,
        _look=checked.look,
        _published=table if isinstance(table, str | Path | pl.DataFrame | pl.LazyFrame) else None,
        _like=pl.DataFrame()
        if isinstance(table, (str, Path, *FETCHED)) or manifest.parts
        else table,
    )


def _in_memory(table: Any, began: float) -> Callable[[staging.Folder, Checked], Release]:
    """Takes the files of a checked draft, whose folder is about to go."""

    def take(room: staging.Folder, checked: Checked) -> Release:
        files = {file.name: file.read_bytes() for file in sorted(room.path.iterdir())}
        return replace(as_release(checked, room.path, table, began), files=files)

    return take
