# SPDX-License-Identifier: Apache-2.0
"""What has been decided, as it would be published: the form, and what the series remembers of
it.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.data.sets import SEPARATOR
from phalanx.methods.base import Draft, Suppressed
from phalanx.methods.global_guarantee import cohorts
from phalanx.methods.global_guarantee.exposures import ELSEWHERE
from phalanx.methods.global_guarantee.kernels.exposures import NOWHERE
from phalanx.methods.global_guarantee.protected import suppress
from phalanx.methods.global_guarantee.state import (
    SHARES,
    UNPROTECTED,
    Exposed,
    Reason,
    State,
    Table,
)
from phalanx.randomness import Stream
from phalanx.release.forms.generalized import Generalized, generalize

_REASONS: Final = {
    Reason.NO_COHORT: "no cohort can take its permanent value",
    Reason.SPENT: "the person's budget for it is spent",
    Reason.NO_GROUP: "no group is large enough for it",
    Reason.IN_COHORT: "its cohort shows what it was founded with",
}
_EMPTIED: Final = "the person's budget is spent"
_HIDDEN: Final = "hidden together, since too few have the same past"
_NO_GROUP: Final = "too few rows for a group"
_NO_ROW: Final = -1
"""Stands for a counterfeit among the rows behind published tuples."""


def draft(table: Table, state: State, exposed: Exposed, stream: Stream) -> Draft:
    """The release as it would be published, if the check of its files holds."""
    emptied = np.flatnonzero(state.emptied[: table.rows])
    if table.of_sets:
        shown = suppress(table.microdata, _taken(table, state), emptied)
    else:  # a row with one value has nothing without it
        without = state.emptied[: table.rows].copy()
        without[table.held.row_of[~state.shown]] = True
        shown = suppress(table.microdata, {}, np.flatnonzero(without))
    form, published_id = _form(table, shown, state, exposed, stream)
    groups = np.where(exposed.place == NOWHERE, 0, published_id[exposed.place])
    suppressed_rows = int((exposed.place[: table.rows] == NOWHERE).sum())
    first = {UNPROTECTED: table.unprotected.alias("value").to_frame()} if table.first else {}
    onward = exposed.onward
    return Draft(
        form=form,
        groups=groups,
        remember=first
        | cohorts.to_remember(table, state)
        | onward.aside.to_tables_aside(table.releases + 1),
        state=onward.carried.to_tables()
        | {
            SHARES: _shares(table, exposed, len(emptied)),
            ELSEWHERE: pl.DataFrame({"pairs": onward.elsewhere}),
        },
        suppressed=Suppressed(
            rows={_NO_GROUP: suppressed_rows} if suppressed_rows else {},
            values=_suppressed_values(table, state),
            microdata=shown if shown is not table.microdata else None,
        ),
    )


def _taken(table: Table, state: State) -> dict[int, set[Any]]:
    """The values that are taken out of the sets of rows."""
    protected, hidden, names = table.held, ~state.shown, table.held.names.to_list()
    taken: dict[int, set[Any]] = {}
    for row, code in zip(
        protected.row_of[hidden].tolist(), protected.codes[hidden].tolist(), strict=True
    ):
        taken.setdefault(row, set()).add(names[code])
    column = table.microdata.sensitive
    for row, carries in _in_cohorts(state):
        if carries:
            own = str(column.domain.values[int(column.codes[row])]).split(SEPARATOR)
            taken[row] = set(own) - carries
    return taken


def _form(
    table: Table, shown: Microdata, state: State, exposed: Exposed, stream: Stream
) -> tuple[Generalized, Ints]:
    """The published rows and counterfeits, and the id under which each group is published."""
    place, registry, column = exposed.place, table.microdata.registry, shown.sensitive
    rows = np.flatnonzero(place[: table.rows] != NOWHERE)
    absent = [
        (exposed.groups + i, carries)
        for i, cohort in enumerate(state.cohorts)
        for carries in cohort.counterfeits
    ]
    values = None
    if table.rules.permanent:
        own = column.domain.values.gather(column.codes[rows])
        invented = [_looks_like(table, carries) for _, carries in absent]
        values = pl.concat([own, pl.Series(own.name, invented, dtype=own.dtype)])
    return generalize(
        shown,
        np.concatenate([rows, np.full(len(absent), _NO_ROW, dtype=np.int64)]),
        np.concatenate([place[rows], np.array([g for g, _ in absent], dtype=np.int64)]),
        stream,
        values=values,
        counterfeits=bool(table.rules.permanent),
        min_width=table.rules.min_width,
        registry=None if registry is None else (registry, place[table.rows :]),
    )


def _looks_like(table: Table, carries: frozenset[Any]) -> Any:
    """The sensitive value that a counterfeit shows: its permanent ones, and nothing else."""
    if table.of_sets:
        return SEPARATOR.join(sorted(carries)) or None
    return next(iter(carries), None)


def _in_cohorts(state: State) -> Iterator[tuple[int, frozenset[Any]]]:
    """The row of every member of a cohort who is there, and the permanent values it shows."""
    return chain.from_iterable(cohort.carries.items() for cohort in state.cohorts)


def _shares(table: Table, exposed: Exposed, emptied: int) -> pl.DataFrame:
    """The share of every protected value in all groups; where no row shows one, as it was
    before.
    """
    hosts = exposed.hosts
    if emptied == table.rows and not table.first:
        return pl.DataFrame({"share": table.shares})
    counts = np.bincount(hosts.value, hosts.held, len(table.held.names))
    return pl.DataFrame({"share": counts / max(int(hosts.size.sum()), 1)})


def _suppressed_values(table: Table, state: State) -> dict[str, int]:
    """How many values are suppressed, by reason; of a person who is emptied, all are one."""
    emptied = state.emptied[: table.rows]
    silent = np.zeros(len(emptied), dtype=bool)
    silent[[row for row, _ in _in_cohorts(state)]] = True
    hidden = state.hidden[: table.rows]
    reasons = Counter(state.reason[~state.emptied[table.held.row_of]].tolist())
    counts = {why: reasons[reason] for reason, why in _REASONS.items()}
    counts[_EMPTIED] = int((emptied & ~silent & ~hidden).sum())
    counts[_HIDDEN] = int(hidden.sum())
    counts[_REASONS[Reason.IN_COHORT]] += int((emptied & silent).sum())
    return {why: count for why, count in counts.items() if count}
