# SPDX-License-Identifier: Apache-2.0
"""Whether what a method hands over is what its contract says, before anything is made of it; a
method of another package is told what is wrong with its draft, not where ours stumbled over it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.errors import MethodError, kind_of
from phalanx.methods.base import OURS, Draft, Memory, Method, Suppressed
from phalanx.release.form import Form


def agreed(draft: Any, method: Method, microdata: Microdata, memory: Memory) -> Draft:
    """The draft that a method made; MethodError where it is none."""
    if not isinstance(draft, Draft):
        faults: Iterator[str] = iter([f"makes a draft that is {kind_of(draft)}"])
    else:
        faults = chain(
            _faults(draft),
            _groups_faults(draft, microdata),
            _tables_faults("remembers", draft.remember),
            _tables_faults("carries", draft.state),
            _unlike(draft, method, memory),
        )
    if wrong := next(faults, ""):
        raise MethodError(
            f"the method {method.name!r} {wrong}; nothing was published, and its makers should know"
            " (docs/extending.md)."
        )
    taken: Draft = draft
    return taken


def _faults(draft: Draft) -> Iterator[str]:
    if not isinstance(draft.form, Form):
        yield f"makes a form that is {kind_of(draft.form)}"
    if not isinstance(draft.suppressed, Suppressed):
        yield f"says of what is suppressed what is {kind_of(draft.suppressed)}"
    if not isinstance(draft.guarantees, Sequence | None):
        yield f"names guarantees that are {kind_of(draft.guarantees)}"


def _groups_faults(draft: Draft, microdata: Microdata) -> Iterator[str]:
    members = microdata.rows + (0 if microdata.registry is None else microdata.registry.rows)
    groups: Any = draft.groups
    if not isinstance(groups, np.ndarray):
        yield f"gives groups that are {kind_of(groups)}, and an array of int64 is asked"
    elif groups.dtype != np.int64:
        yield f"gives groups of {groups.dtype}, and int64 is asked"
    elif groups.shape != (members,):
        yield f"gives groups of the shape {groups.shape}, and there are {members} persons"


def _tables_faults(what: str, tables: Any) -> Iterator[str]:
    """What a method remembers or carries on and cannot be kept."""
    if not isinstance(tables, Mapping):
        yield f"{what} what is {kind_of(tables)}, and tables by name are asked"
        return
    for name, table in tables.items():
        if not isinstance(table, pl.DataFrame):
            yield f"{what} as {name!r} what is {kind_of(table)}, and a polars DataFrame is asked"
        elif pl.Object in table.dtypes:
            yield f"{what} Python objects in {name!r}, which cannot be kept"


def _unlike(draft: Draft, method: Method, memory: Memory) -> Iterator[str]:
    """What a method of another package remembers and could not be read beside what it remembered
    before; ours are not asked, as it would be read for it.
    """
    if method.name in OURS:
        return
    for name, table in draft.remember.items():
        if name in memory.tables and (before := memory.tables[name].schema) != table.schema:
            yield f"remembers {name!r} with other columns ({_shown(table.schema)}) than before ({_shown(before)})"


def _shown(schema: pl.Schema) -> str:
    return ", ".join(f"{name}: {kind}" for name, kind in schema.items())
