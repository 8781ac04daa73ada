# SPDX-License-Identifier: Apache-2.0
"""One release under the global guarantee, phase by phase: recall, demands, suppress, cohorts,
group, expose (Wong, Fu, Liu, Wang, Xu, ICDE 2010; the sections are named beside the functions).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from math import ceil
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Ints, different
from phalanx.data.microdata import Microdata
from phalanx.errors import MethodError, SchemaError
from phalanx.methods.base import Memory
from phalanx.methods.global_guarantee import cohorts
from phalanx.methods.global_guarantee.emptied import Waiting, check_frequent
from phalanx.methods.global_guarantee.exposures import (
    Statistics,
    beside,
    counted,
    hosts_of,
    least_survival,
)
from phalanx.methods.global_guarantee.grouping import (
    Crowd,
    by_demand,
    cut,
    deal,
    grow,
    join,
    places,
)
from phalanx.methods.global_guarantee.kernels.demands import spent
from phalanx.methods.global_guarantee.kernels.exposures import NOWHERE, Hosts
from phalanx.methods.global_guarantee.kernels.groups import FREE
from phalanx.methods.global_guarantee.protected import (
    Protected,
    as_column,
    frequent,
    in_one_type,
)
from phalanx.methods.global_guarantee.state import (
    SHARES,
    UNPROTECTED,
    Cut,
    Exposed,
    Reason,
    Rules,
    State,
    Table,
)
from phalanx.methods.global_guarantee.uneven import hedged
from phalanx.randomness import Randomness
from phalanx.release.evidence.exposures import Exposures

_LESS: Final = (2.0, 1.25, 1.0)
"""How many times the least ratio is asked where the table is too small for the strategy, in
turn.
"""
_FEWEST: Final = 10
"""So many times l persons with the same past are enough for a cohort, and so many are silent where
anybody is.
"""
_ROOM: Final = 2
"""At most 1/(2 l) of a cohort carries a permanent value when it is founded."""
_FILLED: Final = 0.9
"""A person who demands groups that one value would fill to more than this part, by its share in the
last release, is published without a value.
"""


def decide(table: Table, rng: Randomness) -> State:
    """Who is in which group, and what is not shown; MethodError where nothing is left."""
    state = State.nothing(table)
    if table.rules.permanent:
        state = cohorts.publish_again(table, state)
    state = suppress(table, state)
    state = group(table, state, rng)
    if not state.cohorts and not (state.group[: table.rows] >= 0).any():
        raise MethodError(
            f"the table has {table.rows} row(s) and a group needs {table.rules.least}, so nothing"
            " is left to publish; lower k or l, or publish when there are more rows."
        )
    return state


def recall(rules: Rules, microdata: Microdata, memory: Memory) -> Table:
    """The table beside what the series remembers: the statistics file of Section 7, and cohorts."""
    if microdata.persons is None:
        raise SchemaError(
            "global-guarantee follows persons through the releases and no identifier is declared;"
            " name the identifier column in the schema."
        )
    people, registry = microdata.persons, microdata.registry
    if registry is not None and registry.persons is not None:
        people = pl.concat([people, registry.persons.alias(people.name)])
    tables = memory.everything
    carried = Exposures.of_tables(tables)
    unprotected = _unprotected(rules, microdata, memory)
    column = in_one_type(microdata.sensitive, (carried.values, unprotected))
    microdata = replace(microdata, columns={**microdata.columns, column.domain.values.name: column})
    protected = Protected.of(
        microdata.sensitive,
        carried.values,
        only=None if isinstance(rules.protect, str | Mapping) else rules.protect,
        never=unprotected,
        permanent=rules.permanent,
    ).with_strangers(len(people) - microdata.rows)
    statistics = Statistics.of(carried, people, protected.names, tables)
    exposures = counted(statistics.carried) + statistics.elsewhere
    return Table(
        rules=rules,
        microdata=microdata,
        people=people,
        held=protected,
        unprotected=unprotected,
        statistics=statistics,
        memberships=cohorts.memberships(memory.tables, people),
        shares=memory.state[SHARES]["share"].to_numpy() if SHARES in memory.state else np.zeros(0),
        strategy=rules.spending(exposures.tolist(), memory.releases),
        releases=memory.releases,
    )


def suppress(table: Table, state: State) -> State:
    """What no group of this table could hold (Section 6.3): in balanced groups every value of
    a person who demands too much, holder or not; in grown groups the value of a holder who does.
    """
    if table.rules.balanced:
        spent = _spent(table) & (state.group == FREE)
        return replace(state, emptied=state.emptied | spent)
    protected, least, v = table.held, table.least, len(table.held.names)
    much = np.flatnonzero(least.ratio > len(table.people))
    too_much = least.history_of(much) * v + least.value[much]
    entries = (
        np.isin(least.history[protected.row_of].astype(np.int64) * v + protected.codes, too_much)
        & ~protected.permanent[protected.codes]
    )
    return replace(state, reason=state.refused(entries, Reason.SPENT))


def group(table: Table, state: State, rng: Randomness) -> State:
    """Groups of all persons who are in no cohort, in which every demand is met (Section 7); what
    fits nowhere stays FREE.
    """
    tables = [table.microdata]
    if table.microdata.registry is not None:
        tables.append(table.microdata.registry)
    crowd = Crowd(
        places(*tables),
        table.held.only(state.shown),
        table.asked,
        table.rows,
        table.rules.least,
        rng.stream("grouping").permutation(len(table.people)),
    )
    if table.rules.balanced:
        return _cut_evenly(table, crowd, state, rng)
    return _grow_around_holders(table, crowd, state)


def expose(table: Table, state: State) -> Exposed:
    """Count each person's exposures in groups as they are built (Section 4.2, Lemma 4), and bring
    the statistics file up to date (Section 7). MethodError where the guarantee would not be kept.
    """
    place, sizes, groups = _numbered(state)
    protected = table.held
    shows = protected.only(state.shown & ~protected.permanent[protected.codes])
    hosts = hosts_of(place[shows.row_of], shows.codes, sizes, len(protected.names))
    hosted = exposing(table, state, hosts, place, groups)
    onward = table.statistics.after(table.people, *hosted, table.releases + 1)
    if onward.least < least_survival(table.rules.bound):
        raise MethodError(
            "the groups as built would link a person too often, and nothing was published; please"
            " report this."
        )
    return Exposed(place, groups, hosts, onward)


def exposing(
    table: Table, state: State, hosts: Hosts, place: Ints, groups: int
) -> tuple[Ints, Hosts]:
    """The group in which each person is exposed, and how: a person who is known to be emptied hides
    no person, and a failed cut into unequal parts says more than c/n.

    ``hosts``, ``place``, ``groups`` as in :class:`Exposed`.
    """
    emptied, n = np.flatnonzero(state.emptied[: table.rows]), len(hosts.size)
    emptied = emptied[place[emptied] != NOWHERE]
    others = hosts._replace(size=hosts.size - np.bincount(place[emptied], minlength=n))
    cuts = [
        Cut(asked, rows[(place[rows] != NOWHERE) & (place[rows] < groups)])
        for asked, rows in state.cuts
    ]
    others = hedged(others, place, cuts, table.rules.least)
    exposed = place.copy()
    exposed[emptied] += n  # they are members of their groups as these are written
    return exposed, beside(others, hosts)


def _unprotected(rules: Rules, microdata: Microdata, memory: Memory) -> pl.Series:
    """The values that the first release found too frequent to be protected."""
    if UNPROTECTED in memory.tables:
        return memory.tables[UNPROTECTED]["value"]
    if not isinstance(rules.protect, Mapping):
        return pl.Series("value", [], dtype=pl.String)
    common = frequent(microdata.sensitive, rules.protect["least_frequent"])
    return common.filter(~common.is_in(as_column(rules.permanent, common.dtype).implode()))


def _spent(table: Table) -> Bools:
    """Who demands more than the share that a value had in the last release can give, or more rows
    than there are; shape (e,).
    """
    asked, people = table.asked, len(table.people)
    shares = np.zeros(len(asked.base))
    shares[: len(table.shares)] = table.shares
    of_history: Bools = spent(asked.starts, asked.value, asked.ratio, shares, _FILLED, people)
    return of_history[asked.history]


def _cut_evenly(table: Table, crowd: Crowd, state: State, rng: Randomness) -> State:
    """Balanced groups; anyone who may not be shown is published without a value in other groups."""
    if table.rules.permanent:
        state = _cut_cohorts(table, crowd, state)
        crowd = replace(crowd, held=table.held.only(~table.held.permanent[table.held.codes]))
    state = _cut_classes(table, crowd, state, crowd.order, rng)
    populated = np.isin(state.group, state.group[: crowd.real])
    state = replace(state, group=np.where(populated | (state.group < 0), state.group, FREE))
    entries = state.emptied[table.held.row_of]
    return _place(crowd, replace(state, reason=state.refused(entries, Reason.SPENT)), table.held)


def _cut_cohorts(table: Table, crowd: Crowd, state: State) -> State:
    """Cohorts around permanent values that come new, cut from persons with the same past, by
    permanent values alone.

    A cohort has room for what its members come to carry later, which is not shown: at most 1/(2 l)
    of them are carriers.
    """
    protected, bound = table.held, table.rules.bound
    lasting = replace(
        crowd, held=protected.only(state.shown & protected.permanent[protected.codes])
    )
    free = crowd.free(state.group)
    free = free[free < crowd.real]
    fewest = max(_FEWEST * bound, Fraction(crowd.least))
    silent = _silent(table, state, free, ceil(fewest))
    open_to_all, past = free[~silent], table.memberships.past
    for number in np.unique(past[open_to_all]).tolist():
        rows = open_to_all[past[open_to_all] == number]
        check_frequent(lasting.held, rows, bound, _ROOM)
        groups = state.group.copy()
        _cut_class(table, lasting, rows, groups, least=float(_ROOM * bound))
        state = cohorts.found(table, replace(state, group=groups))
        state = replace(state, group=np.where(state.group >= 0, FREE, state.group))
    if silent.all() and len(free) and not state.cohorts:
        raise MethodError(
            f"permanent values need {ceil(fewest)} persons of whom the same was published so far,"
            " and fewer are here; publish when there are more, or lower l."
        )
    hidden = state.hidden.copy()
    hidden[free[silent]] = True
    _check_later(table, state, free[silent])
    return replace(state, hidden=hidden, emptied=state.emptied | hidden)


def _check_later(table: Table, state: State, silent: Ints) -> None:
    """MethodError where so many of those who show nothing new came to carry a permanent value that
    a member of a cohort would be a carrier with more than 1/l, for who knows how many they are.
    """
    protected = table.held
    founding = {row: has for cohort in state.cohorts for row, has in cohort.carries.items()}
    quiet = np.array([*founding, *silent.tolist()], dtype=np.int64)
    holders = protected.codes[np.isin(protected.row_of, quiet)]
    founders = Counter(chain.from_iterable(founding.values()))
    shares: dict[Any, Fraction] = {}
    for cohort in state.cohorts:
        for value, share in cohort.shares.items():
            shares[value] = max(share, shares.get(value, share))
    for code in np.unique(holders[protected.permanent[holders]]).tolist():
        value = protected.names[code]
        founded = founders[value]
        later = int((holders == code).sum()) - founded
        share = shares.get(value, Fraction(0))
        if (
            later
            and share + (1 - share) * Fraction(later, len(quiet) - founded) > 1 / table.rules.bound
        ):
            raise MethodError(
                f"{later} of {len(quiet)} persons of whom nothing new is shown came to carry a"
                " permanent value, too many to be hidden among them; begin another series."
            )


def _silent(table: Table, state: State, free: Ints, fewest: int) -> Bools:
    """Who of ``free``, given in random order, shows nothing from now on, shape (f,): those who did
    so before, and those of whom fewer than ``fewest`` have the same past.

    An adversary who knows how often a value stands in the table subtracts what is shown. So no
    person is silent with few: with the members of cohorts, of whom nothing new is shown either, the
    silent are ``fewest`` at least. Others are drawn to them at random, whatever they hold.
    """
    past = table.memberships.past[free]
    silent = table.memberships.silent[free]
    for _ in range(2):
        _, of, times = np.unique(
            np.where(silent, -1, past), return_inverse=True, return_counts=True
        )
        silent = silent | (times[of] < fewest)
        quiet = int(silent.sum()) + sum(len(cohort.rows) for cohort in state.cohorts)
        if quiet:
            silent[np.flatnonzero(~silent)[: max(0, fewest - quiet)]] = True
    return silent


def _cut_classes(table: Table, crowd: Crowd, state: State, order: Ints, rng: Randomness) -> State:
    """Cut those of ``order`` who are free and not emptied, apart by what they demand, those who
    demand least first; what may not be shown is emptied, too.

    See ``methods/global_guarantee/emptied.py``: nothing is shown of a class and of all who demand
    more where that would tell too much of the others.
    """
    waiting = order[(state.group[order] == FREE) | _quiet(crowd, state)[order]]
    check_frequent(crowd.held, waiting, table.rules.bound)
    asked = crowd.demands
    base, highest = float(asked.base.max(initial=1.0)), asked.highest
    coins, emptied, groups = rng.stream("suppressed"), state.emptied.copy(), state.group.copy()
    cuts: list[Cut] = []
    for rows in reversed(by_demand(highest, waiting[~emptied[waiting]], base)):
        rest = Waiting(waiting, crowd.held, table.least, table.rules.bound)
        hardest_first = rows[np.argsort(-highest[rows], kind="stable")]
        chosen = rest.shown(hardest_first, highest, crowd.least)
        emptied[rows] = True
        if not len(chosen):
            continue
        is_chosen = np.isin(waiting, chosen)
        shown, others = waiting[is_chosen], waiting[~is_chosen]
        hidden = len(coins.bernoulli(rest.coin(len(shown)), 1)) or not rest.may_be_hidden(others)
        made = None if hidden else _cut_class(table, crowd, shown, groups)
        if made is None:
            emptied[waiting] = True
            break
        emptied[shown] = False
        cuts.append(made)
        waiting = others
    return replace(state, group=groups, emptied=emptied, cuts=cuts)


def _quiet(crowd: Crowd, state: State) -> Bools:
    """The members of cohorts whose values are not shown, which a total tells with those of all
    others of whom none is shown, shape (e,).
    """
    quiet = np.zeros(crowd.rows, dtype=bool)
    quiet[[row for cohort in state.cohorts for row, has in cohort.carries.items() if not has]] = (
        True
    )
    return quiet


def _cut_class(
    table: Table, crowd: Crowd, rows: Ints, groups: Ints, least: float = 1.0
) -> Cut | None:
    """Cut rows under the strategy's ratios, or where they are too many for the table, under less,
    down to what the guarantee needs, or to ``least``; ``groups`` is set. None where even that
    cannot be met.
    """
    for at_most in (None, *_LESS):
        asked = crowd.demands
        if at_most is not None:
            asked = table.at_most(at_most)
        asked = replace(asked, base=np.maximum(asked.base, least))
        if cut(replace(crowd, demands=asked), rows, groups):
            return Cut(asked, rows)
    return None


def _grow_around_holders(table: Table, crowd: Crowd, state: State) -> State:
    """Groups grown around rows with protected values, cohorts first; what finds no company loses
    its protected values.
    """
    protected = table.held
    wanted = cohorts.carriers(table, state)
    if wanted.any():
        groups = state.group.copy()
        real = crowd.free(groups)
        lonely = grow(crowd, real[real < crowd.real], wanted, groups)
        alone = np.isin(protected.row_of, lonely) & protected.permanent[protected.codes]
        state = replace(state, group=groups, reason=state.refused(alone, Reason.NO_COHORT))
        state = cohorts.found(table, state)
        crowd = replace(crowd, held=protected.only(state.shown))
    groups = state.group.copy()
    lonely = grow(crowd, crowd.free(groups), crowd.seeds, groups)
    lonely = _content_with_less(table, crowd, lonely, groups)
    alone = np.isin(protected.row_of, lonely)
    reason = state.refused(alone, Reason.NO_GROUP)
    return _place(crowd, replace(state, group=groups, reason=reason), protected)


def _content_with_less(table: Table, crowd: Crowd, lonely: Ints, groups: Ints) -> Ints:
    """Groups for rows that found none as large as the strategy would like: as large as there are,
    down to what the guarantee needs; ``groups`` is set. Returns those who found none.
    """
    for at_most in _LESS:
        lonely = join(crowd, lonely, groups)
        if not len(lonely):
            return lonely
        crowd = replace(crowd, demands=table.at_most(at_most))
        wanted = np.zeros(crowd.rows, dtype=bool)
        wanted[lonely] = True
        lonely = grow(crowd, crowd.free(groups), wanted, groups)
    return join(crowd, lonely, groups)


def _place(crowd: Crowd, state: State, protected: Protected) -> State:
    """Groups for rows that show no protected value and are in none yet."""
    crowd = replace(crowd, held=protected.only(state.shown))
    groups, rows = state.group.copy(), crowd.free(state.group)
    join(crowd, deal(crowd, rows[rows < crowd.real], groups), groups)
    return replace(state, group=groups)


def _numbered(state: State) -> tuple[Ints, Ints, int]:
    """The number of each person's group, cohorts last, NOWHERE for none; the size of each, and how
    many of them are no cohorts.
    """
    inside = state.group >= 0
    names, number = different(state.group[inside])
    place = np.full(len(state.group), NOWHERE, dtype=np.int64)
    place[inside] = number
    for i, cohort in enumerate(state.cohorts):
        place[cohort.rows] = len(names) + i
    sizes = np.bincount(number, minlength=len(names)), [cohort.size for cohort in state.cohorts]
    return place, np.concatenate(sizes).astype(np.int64), len(names)
