# SPDX-License-Identifier: Apache-2.0
"""Whether what a method hands over is what its contract says, before anything is made of it; a
method of another package is told what is wrong with its draft, not where ours stumbled over it.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, get_args

import numpy as np
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.errors import MethodError, kind_of
from phalanx.guarantees.base import Guarantee
from phalanx.guarantees.strength import weakened
from phalanx.methods.base import OURS, Draft, Memory, Method, Suppressed
from phalanx.release.form import Form
from phalanx.release.manifest import Suppressible


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
            _in_both(draft),
            _unlike(draft, method, memory),
            _suppression_faults(draft.suppressed, method),
            _manifest_faults(method, draft.guarantees),
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
    if not isinstance(draft.guarantees, Sequence | None) or isinstance(draft.guarantees, str):
        yield f"names guarantees that are {kind_of(draft.guarantees)}"
    for guarantee in draft.guarantees or ():
        if not callable(getattr(guarantee, "parameters", None)):
            yield f"names a guarantee that is {kind_of(guarantee)}"


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
        if not isinstance(name, str):
            yield f"{what} a table under what is {kind_of(name)}, and a text is asked"
        elif not isinstance(table, pl.DataFrame):
            yield f"{what} as {name!r} what is {kind_of(table)}, and a polars DataFrame is asked"
        elif pl.Object in table.dtypes:
            yield f"{what} Python objects in {name!r}, which cannot be kept"


def _in_both(draft: Draft) -> Iterator[str]:
    """What is to be added to what was before, and to take its place."""
    for name in draft.remember.keys() & draft.state.keys():
        yield f"remembers {name!r} and carries it on, and one name is for one of both"


def _suppression_faults(suppressed: Suppressed, method: Method) -> Iterator[str]:
    """What cannot be said of what is not published."""
    known, allowed = get_args(Suppressible), method.may_suppress
    if isinstance(allowed, str) or not isinstance(allowed, Collection):
        yield f"says why it may suppress by what is {kind_of(allowed)}, and a list of words is asked"
    elif unknown := [reason for reason in allowed if reason not in known]:
        yield f"may suppress for {unknown[0]!r}, and a manifest takes {', '.join(known)}"
    for what, counted in (("rows", suppressed.rows), ("values", suppressed.values)):
        if counted is None:
            continue
        if not isinstance(counted, Mapping):
            yield f"counts suppressed {what} by what is {kind_of(counted)}, and numbers by reason are asked"
        elif any(
            not isinstance(why, str) or isinstance(n, bool) or not isinstance(n, int) or n < 0
            for why, n in counted.items()
        ):
            yield f"counts suppressed {what} by something else than Python's whole numbers from 0"


def _manifest_faults(method: Method, guarantees: Sequence[Guarantee] | None) -> Iterator[str]:
    """What a manifest cannot show, or what promises less than the plan that stays in the ledger."""
    shown = method.parameters()
    own = [guarantee.parameters() for guarantee in method.guarantees]
    promised = own if guarantees is None else [each.parameters() for each in guarantees]
    for what, public in (
        ("parameters()", shown),
        *(("what it promises", each) for each in (*own, *promised)),
    ):
        if not _is_plain(public):
            yield f"shows in {what} something else than JSON with finite numbers"
            return
    if shown.get("name") != method.name:
        yield f"shows the name {shown.get('name')!r} in parameters()"
    # ours say in a draft what a plan leaves open, as which values are the least frequent ones
    if method.name not in OURS and any(weakened(promised, own)):
        yield "promises less in its draft than by its parameters"


def _is_plain(shown: Any) -> bool:
    """Whether what is shown is an object that JSON has."""
    try:
        json.dumps(shown, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return isinstance(shown, dict)


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
