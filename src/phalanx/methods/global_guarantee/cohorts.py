# SPDX-License-Identifier: Apache-2.0
"""Cohorts: who once stood in a group with a permanent value is published with the same people for
good.

A permanent value (once true, always true) cannot be spread over ever new groups: whoever is in all
of them has it. So the first group that holds one becomes a cohort for life. It is published whole
or not at all; whoever is absent is stood in for by a counterfeit, which shows their permanent
value, or else what a random row of the table shows; and carriers are never fewer. What is published
then is the same whoever the carriers are, so each member is one with probability
carriers / members. See docs/explanation/cohorts.md.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import floor
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.errors import MethodError
from phalanx.methods.global_guarantee.exposures import Demands, least_survival
from phalanx.methods.global_guarantee.kernels.exposures import left_of
from phalanx.methods.global_guarantee.protected import Protected
from phalanx.methods.global_guarantee.state import (
    IN_COHORT,
    Cohort,
    Counterfeit,
    Memberships,
    Reason,
    Reasons,
    State,
    Table,
)
from phalanx.randomness import Stream
from phalanx.release.evidence.exposures import SCALE

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MEMBERS: Final = "cohorts"
"""Memory table (person, cohort): everybody who ever was in a group with a permanent value."""
CARRIERS: Final = "carriers"
"""Memory table (person, value): the permanent values that were published for them."""


def memberships(tables: Mapping[str, pl.DataFrame], persons: pl.Series) -> Memberships:
    """Who of some persons is in which cohort."""
    known = tables.get(MEMBERS, pl.DataFrame(schema={"person": pl.Binary, "cohort": pl.Int64}))
    members = {
        int(number): cohort["person"].to_list()
        for (number,), cohort in known.group_by("cohort", maintain_order=True)
    }
    carried: dict[bytes, frozenset[Any]] = {}
    for person, value in tables[CARRIERS].iter_rows() if CARRIERS in tables else ():
        carried[person] = carried.get(person, frozenset()) | {value}
    cohort = (
        persons.alias("person")
        .to_frame()
        .join(known, on="person", how="left", maintain_order="left")["cohort"]
    )
    number = cohort.fill_null(0).to_numpy().astype(np.int64)
    return Memberships(members, carried, number, max(members, default=0) + 1)


def publish_again(table: Table, state: State) -> State:
    """The cohorts of whom somebody is there; MethodError where somebody comes without a permanent
    value that was published for them.

    A permanent value is not shown where it comes new while others are absent, or where the cohort
    would then have too many.
    """
    known, keys = table.memberships, table.everybody.to_list()
    present: dict[int, list[int]] = {}
    for row in np.flatnonzero(known.cohort[: table.rows] > 0).tolist():
        present.setdefault(int(known.cohort[row]), []).append(row)
    missing, cohorts, reason = 0, [], state.reason.copy()
    for number, there in sorted(present.items()):
        members = known.members[number]
        rows = [row for row in there if _carried(table, row) <= _permanent(table.held, row)]
        missing += len(there) - len(rows)
        counts = Counter(value for person in members for value in known.carried.get(person, ()))
        for row, entry in ((r, entry) for r in rows for entry in _entries(table.held, r)):
            value = table.held.names[int(table.held.codes[entry])]
            if not table.held.permanent[table.held.codes[entry]] or value in _carried(table, row):
                continue
            may = table.rules.bound * (counts[value] + 1) <= len(members)
            if len(rows) == len(members) and may:
                counts[value] += 1
            else:
                reason[entry] = Reason.NO_COHORT
        published = {keys[row] for row in rows}
        absent = [
            Counterfeit(known.carried.get(person, frozenset()))
            for person in members
            if person not in published
        ]
        if rows:
            cohorts.append(Cohort(number, len(members), rows, absent))
    if missing:
        raise MethodError(
            f"{missing} person(s) come without the permanent value that was published for them, and"
            " suppressing them would tell that they have one; put the value back into their rows at"
            " the source."
        )
    # Registered members too: who is in a cohort is nobody's neighbour elsewhere.
    group = np.where(known.cohort > 0, IN_COHORT, state.group)
    return replace(state, group=group, reason=reason, cohorts=cohorts)


def carriers(table: Table, state: State) -> Bools:
    """Who shows a permanent value and is in no cohort yet, shape (e,)."""
    held, found = table.held, np.zeros(len(state.group), dtype=bool)
    found[held.row_of[held.permanent[held.codes] & state.shown]] = True
    return np.asarray(found & (state.group != IN_COHORT))


def found(table: Table, state: State) -> State:
    """Make cohorts of the groups with a permanent value."""
    first = state.group[carriers(table, state) & (state.group >= 0)]
    rows = np.flatnonzero(np.isin(state.group[: table.rows], first))
    rows = rows[np.argsort(state.group[rows], kind="stable")]
    ends = np.flatnonzero(np.diff(state.group[rows])) + 1
    number = max((cohort.number for cohort in state.cohorts), default=0)
    number = max(number + 1, table.memberships.next_number)
    new = [
        Cohort(number + i, len(members), members.tolist())
        for i, members in enumerate(np.split(rows, ends) if len(rows) else ())
    ]
    group = state.group.copy()
    group[rows] = IN_COHORT
    return replace(state, group=group, cohorts=[*state.cohorts, *new])


def complete(table: Table, demands: Demands, state: State, stream: Stream) -> State:
    """Say what stands in for absent members, and suppress transient values of a cohort until every
    member may be near those that stay, in real and counterfeit rows alike.
    """
    reason = state.reason.copy()
    cohorts = [
        _fit(table, demands, cohort, reason, stream)
        for cohort in _stand_in(table, state.cohorts, stream)
    ]
    return replace(state, reason=reason, cohorts=cohorts)


def to_remember(table: Table, state: State) -> dict[str, pl.DataFrame]:
    """What to append to memory: new members, and carriers whose value was never published."""
    keys, held = table.everybody, table.held
    members = [
        (keys[row], cohort.number)
        for cohort in state.cohorts
        if cohort.number >= table.memberships.next_number
        for row in cohort.rows
    ]
    new = [
        (keys[row], value)
        for cohort in state.cohorts
        for row in cohort.rows
        for value in (
            held.names[int(held.codes[entry])]
            for entry in _entries(held, row)
            if held.permanent[held.codes[entry]] and state.shown[entry]
        )
        if value not in _carried(table, row)
    ]
    remember = {}
    if members:
        schema = {"person": pl.Binary, "cohort": pl.Int64}
        remember[MEMBERS] = pl.DataFrame(members, schema=schema, orient="row")
    if new:
        persons, values = zip(*new, strict=True)
        remember[CARRIERS] = pl.DataFrame(
            {"person": pl.Series(persons, dtype=pl.Binary), "value": pl.Series(values)}
        )
    return remember


def _stand_in(table: Table, cohorts: Sequence[Cohort], stream: Stream) -> Iterator[Cohort]:
    """Let every counterfeit copy a random row without a permanent value; in sets, where values
    stand beside each other, any row.
    """
    held, lasting = table.held, np.zeros(table.rows, dtype=bool)
    lasting[held.row_of[held.permanent[held.codes]]] = not table.of_sets
    pool = np.flatnonzero(~lasting)
    copying = [table.of_sets or not c.carries for cohort in cohorts for c in cohort.counterfeits]
    many = sum(copying) if len(pool) else 0
    drawn = iter(pool[stream.integers(len(pool), many)].tolist() if many else ())
    for cohort in cohorts:
        counterfeits = [
            replace(c, copy=next(drawn, None)) if table.of_sets or not c.carries else c
            for c in cohort.counterfeits
        ]
        yield replace(cohort, counterfeits=counterfeits)


def _fit(table: Table, demands: Demands, cohort: Cohort, reason: Reasons, stream: Stream) -> Cohort:
    """Suppress what one cohort is too small for; ``reason`` is set for its rows."""
    held, where = table.held, dict[int, list[tuple[int, int | None]]]()
    copies = [(c.copy, i) for i, c in enumerate(cohort.counterfeits) if c.copy is not None]
    for row, of in [*((row, None) for row in cohort.rows), *copies]:
        for entry in _entries(held, row):
            code = int(held.codes[entry])
            if not held.permanent[code] and (of is not None or reason[entry] == Reason.SHOWN):
                where.setdefault(code, []).append((entry, of))
    counterfeits = list(cohort.counterfeits)
    for code, entries in where.items():
        most = min(_allowed(table, demands, row, code, cohort.size) for row in cohort.rows)
        if len(entries) <= most:
            continue
        for i in stream.permutation(len(entries))[max(most, 0) :].tolist():
            entry, of = entries[i]
            if of is None:
                reason[entry] = Reason.SMALL_COHORT
            else:
                without = counterfeits[of].without | {code}
                counterfeits[of] = replace(counterfeits[of], without=without)
    return replace(cohort, counterfeits=counterfeits)


def _allowed(table: Table, demands: Demands, row: int, code: int, size: int) -> int:
    """How many rows of a cohort may hold a value, for one member; where shares are added up, the
    budget must also last for the sum.
    """
    most = floor(size / demands.of(row, code))
    if table.of_sets:
        left = table.statistics.survival(row, code) - least_survival(table.rules.bound)
        while most > 0 and SCALE - left_of(SCALE, size, most) > left:
            most -= 1
    return most


def _entries(held: Protected, row: int) -> range:
    return range(int(held.starts[row]), int(held.starts[row + 1]))


def _permanent(held: Protected, row: int) -> set[Any]:
    codes = held.codes[held.starts[row] : held.starts[row + 1]]
    return {held.names[int(code)] for code in codes if held.permanent[code]}


def _carried(table: Table, row: int) -> frozenset[Any]:
    return table.memberships.carried.get(table.everybody[row], frozenset())
