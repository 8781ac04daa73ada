# SPDX-License-Identifier: Apache-2.0
"""Cohorts: who once stood in a group with a permanent value is published with the same people for
good.

A permanent value (once true, always true) cannot be spread over ever new groups: a person who is in
all of them has it. So the first group that holds one becomes a cohort for life. It is published
whole or not at all, always with the permanent values that it was founded with and with nothing
else; a person who is absent is stood in for by a counterfeit. A cohort is cut from people of whom
the same was published in every release before, so that each is as likely a carrier as the next.
What is published is then the same whichever members the carriers are, and each member is one with
probability carriers / members. See docs/explanation/cohorts.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Ints, in_order
from phalanx.errors import MethodError
from phalanx.methods.global_guarantee.protected import Protected
from phalanx.methods.global_guarantee.state import (
    IN_COHORT,
    Cohort,
    Memberships,
    Reason,
    State,
    Table,
)

MEMBERS: Final = "cohorts"
"""Memory table (person, cohort): each person who ever was in a group with a permanent value."""
CARRIERS: Final = "carriers"
"""Memory table (person, value): the permanent values that were published for them."""
PRESENT: Final = "present"
"""Memory table (person, release, hidden): who was in which release, and who was silent there: without
a value, whatever it is, then and from then on.
"""


def memberships(tables: Mapping[str, pl.DataFrame], persons: pl.Series) -> Memberships:
    """Who of some persons is in which cohort, and of whom the same was published so far."""
    known = tables.get(MEMBERS, pl.DataFrame(schema={"person": pl.Binary, "cohort": pl.Int64}))
    members = dict(known.group_by("cohort", maintain_order=True).agg("person").iter_rows())
    carried: dict[bytes, frozenset[Any]] = {}
    for person, value in tables[CARRIERS].iter_rows() if CARRIERS in tables else ():
        carried[person] = carried.get(person, frozenset()) | {value}
    asked = persons.alias("person").to_frame()
    cohort = asked.join(known, on="person", how="left", maintain_order="left")["cohort"]
    return Memberships(
        members,
        carried,
        cohort.fill_null(0).to_numpy().astype(np.int64),
        *_past(tables, asked),
        max(members, default=0) + 1,
    )


def publish_again(table: Table, state: State) -> State:
    """The cohorts of whom a person is there; MethodError where a person comes without a permanent
    value that was published for them.
    """
    known, keys = table.memberships, table.people.to_list()
    present: dict[int, list[int]] = {}
    for row in np.flatnonzero(known.cohort[: table.rows] > 0).tolist():
        present.setdefault(int(known.cohort[row]), []).append(row)
    missing, cohorts = 0, []
    for number, rows in sorted(present.items()):
        carries = {row: known.carried.get(keys[row], frozenset()) for row in rows}
        missing += sum(not has <= _permanent(table.held, row) for row, has in carries.items())
        there = {keys[row] for row in rows}
        absent = [
            known.carried.get(person, frozenset())
            for person in known.members[number]
            if person not in there
        ]
        cohorts.append(Cohort(number, carries, absent))
    if missing:
        raise MethodError(
            f"{missing} person(s) come without the permanent value that was published for them; put"
            " it back into their rows at the source."
        )
    # Registered members too: who is in a cohort is no person's neighbour elsewhere.
    group = np.where(known.cohort > 0, IN_COHORT, state.group)
    return _silenced(table, replace(state, group=group, cohorts=cohorts), cohorts)


def carriers(table: Table, state: State) -> Bools:
    """Who shows a permanent value and is in no cohort yet, shape (e,)."""
    protected, carriers = table.held, np.zeros(len(state.group), dtype=bool)
    carriers[protected.row_of[protected.permanent[protected.codes] & state.shown]] = True
    return np.asarray(carriers & (state.group != IN_COHORT))


def found(table: Table, state: State) -> State:
    """Make cohorts of the groups with a permanent value."""
    first = state.group[carriers(table, state) & (state.group >= 0)]
    rows = np.flatnonzero(np.isin(state.group[: table.rows], first))
    rows = rows[in_order(state.group[rows])]
    ends = np.flatnonzero(np.diff(state.group[rows])) + 1
    number = max((cohort.number for cohort in state.cohorts), default=0)
    number = max(number + 1, table.memberships.next_number)
    new = [
        Cohort(number + i, {row: _permanent(table.held, row) for row in members.tolist()})
        for i, members in enumerate(np.split(rows, ends) if len(rows) else ())
    ]
    group = state.group.copy()
    group[rows] = IN_COHORT
    return _silenced(table, replace(state, group=group, cohorts=[*state.cohorts, *new]), new)


def to_remember(table: Table, state: State) -> dict[str, pl.DataFrame]:
    """What to append to memory of this release: new members and carriers, and who was
    there; nothing where no value is permanent.
    """
    if not table.rules.permanent:
        return {}
    keys, new = table.people, table.memberships.next_number
    founded = [cohort for cohort in state.cohorts if cohort.number >= new]
    members = [(keys[row], cohort.number) for cohort in founded for row in cohort.rows]
    carried = [
        (keys[row], value)
        for cohort in founded
        for row, values in cohort.carries.items()
        for value in sorted(values, key=str)
    ]
    members_present = pl.DataFrame(
        {
            "person": keys.head(table.rows),
            "release": np.full(table.rows, table.releases + 1, dtype=np.int64),
            "hidden": state.hidden[: table.rows],
        }
    )
    remember = {PRESENT: members_present}
    if members:
        schema = {"person": pl.Binary, "cohort": pl.Int64}
        remember[MEMBERS] = pl.DataFrame(members, schema=schema, orient="row")
    if carried:
        persons, values = zip(*carried, strict=True)
        remember[CARRIERS] = pl.DataFrame(
            {"person": pl.Series(persons, dtype=pl.Binary), "value": pl.Series(values)}
        )
    return remember


def _past(tables: Mapping[str, pl.DataFrame], asked: pl.DataFrame) -> tuple[Ints, Bools]:
    if PRESENT not in tables:
        return np.zeros(asked.height, dtype=np.int64), np.zeros(asked.height, dtype=bool)
    present = (
        tables[PRESENT]
        .group_by("person")
        .agg(pl.col("release").sort().alias("past"), pl.col("hidden").any())
    )
    pasts = present.select("past").unique().sort(pl.col("past").list.len(), "past")
    numbered = asked.join(
        present.join(pasts.with_row_index("number", 1), on="past"),
        on="person",
        how="left",
        maintain_order="left",
    )
    return (
        numbered["number"].fill_null(0).to_numpy().astype(np.int64),
        numbered["hidden"].fill_null(value=False).to_numpy(),
    )


def _silenced(table: Table, state: State, cohorts: Sequence[Cohort]) -> State:
    """Nothing is shown of the members of some cohorts but the permanent values of the founding, and
    these also of persons who may be linked to nothing else any more.
    """
    protected, reason, emptied = table.held, state.reason.copy(), state.emptied.copy()
    carries = {row: has for cohort in cohorts for row, has in cohort.carries.items()}
    emptied[list(carries)] = [not has for has in carries.values()]
    row_of, names = protected.row_of, protected.names.to_list()
    entries = np.flatnonzero(np.isin(row_of, np.array(list(carries), dtype=np.int64)))
    rows, codes = row_of[entries].tolist(), protected.codes[entries].tolist()
    shown = [names[code] in carries[row] for row, code in zip(rows, codes, strict=True)]
    kept = protected.permanent[protected.codes[entries]] & np.array(shown, dtype=bool)
    reason[entries[~kept]] = Reason.IN_COHORT
    return replace(state, reason=reason, emptied=emptied)


def _permanent(protected: Protected, row: int) -> frozenset[Any]:
    codes = protected.codes[protected.starts[row] : protected.starts[row + 1]]
    return frozenset(protected.names[int(code)] for code in codes if protected.permanent[code])
