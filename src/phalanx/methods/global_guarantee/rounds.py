# SPDX-License-Identifier: Apache-2.0
"""One release under the global guarantee in the making: recall, suppress what no group can hold,
group, count the new exposures.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from math import floor
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.data.sets import SEPARATOR
from phalanx.errors import MethodError, SchemaError
from phalanx.methods.base import Draft, Memory
from phalanx.methods.global_guarantee.cohorts import Cohorts, Counterfeit, fit, stand_in
from phalanx.methods.global_guarantee.emptied import Waiting, check_frequent
from phalanx.methods.global_guarantee.exposures import (
    Demands,
    Hosts,
    Recalled,
    counted,
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
from phalanx.methods.global_guarantee.kernels.exposures import left_of
from phalanx.methods.global_guarantee.protected import Protected, frequent, suppress
from phalanx.methods.global_guarantee.ratios import AtMost, Strategy
from phalanx.methods.global_guarantee.rules import Rules
from phalanx.methods.global_guarantee.uneven import hedged
from phalanx.randomness import Randomness
from phalanx.release.evidence.exposures import SCALE, Exposures
from phalanx.release.forms.generalized import Generalized, generalize

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_FREE: Final = -1
_COHORT: Final = -2
_LESS: Final = (2.0, 1.25, 1.0)
"""How many times the least ratio is asked where the table is too small for the strategy, in
turn.
"""
_FILLED: Final = 0.9
"""Whoever demands groups that one value would fill to more than this part, by its share in the last
release, is published without a value.
"""
_UNPROTECTED, _SHARES = "unprotected", "shares"


@dataclass(frozen=True, eq=False)
class Round:
    """One release in the making: ``draft`` says in which order."""

    rules: Rules
    microdata: Microdata
    memory: Memory
    rng: Randomness
    suppressed_values: dict[str, int] = field(default_factory=dict)
    suppressed_rows: dict[str, int] = field(default_factory=dict)
    emptied: list[int] = field(default_factory=list)
    """Rows that are published without a sensitive value, whatever it is."""
    cuts: list[tuple[Demands, Ints]] = field(default_factory=list)
    """What was demanded where which rows were cut into groups."""

    def draft(self) -> Draft:
        """The release as it would be published."""
        held, n = self.held, self.microdata.rows
        gone = np.zeros(len(held.codes), dtype=bool)
        group = np.full(len(self.everybody), _FREE, dtype=np.int64)
        cohorts = Cohorts.recall(self.memory.tables, self.everybody)
        if self.rules.permanent:
            self._cohorts_again(cohorts, gone, group)
        if self.rules.balanced:
            self._cut(cohorts, gone, group)
        else:
            self._suppress_spent(gone)
            self._grow_cohorts(cohorts, gone, group)
            self._grow(gone, group)
        self._fit(cohorts, gone)
        inside = group[:n] >= 0
        if not inside.any() and not cohorts.cohorts:
            raise MethodError(
                f"the table has {n} row(s) and a group needs {self.rules.least}, so nothing is left"
                " to publish; lower k or l, or publish when there are more rows."
            )
        return self._finished(gone, group, cohorts)

    @cached_property
    def persons(self) -> pl.Series:
        """The person of every row."""
        if self.microdata.persons is None:
            raise SchemaError(
                "global-guarantee follows persons through the releases and no identifier is"
                " declared; name the identifier column in the schema."
            )
        return self.microdata.persons

    @cached_property
    def everybody(self) -> pl.Series:
        """The person of every row, and then the registered persons."""
        registry = self.microdata.registry
        return (
            self.persons
            if registry is None or registry.persons is None
            else pl.concat([self.persons, registry.persons.alias(self.persons.name)])
        )

    @cached_property
    def bound(self) -> Fraction:
        """The l of the promise."""
        return self.rules.bound

    @cached_property
    def before(self) -> Exposures:
        """What the series carries."""
        return Exposures.of_tables(self.memory.state)

    @cached_property
    def unprotected(self) -> pl.Series:
        """The values that the first release found too frequent to be protected."""
        if _UNPROTECTED in self.memory.tables:
            return self.memory.tables[_UNPROTECTED]["value"]
        if isinstance(self.rules.protect, Mapping):
            common = frequent(self.microdata.sensitive, self.rules.protect["least_frequent"])
            return common.filter(
                ~common.is_in(pl.Series(list(self.rules.permanent), dtype=common.dtype).implode())
            )
        return pl.Series("value", [], dtype=pl.String)

    @cached_property
    def held(self) -> Protected:
        """Which rows hold which protected values."""
        listed = None if isinstance(self.rules.protect, str | Mapping) else self.rules.protect
        return Protected.of(
            self.microdata.sensitive,
            self.before.values,
            only=listed,
            never=self.unprotected,
            permanent=self.rules.permanent,
        )

    @cached_property
    def recalled(self) -> Recalled:
        """What everybody was exposed to."""
        return Recalled.of(self.before, self.everybody, self.held.names)

    @cached_property
    def strategy(self) -> Strategy:
        """How budgets are spent in this release."""
        return self.rules.spending(counted(self.before).tolist(), self.memory.releases)

    @cached_property
    def demands(self) -> Demands:
        """What everybody demands of a group."""
        return self._demands(self.strategy)

    def _demands(self, strategy: Strategy) -> Demands:
        return self.recalled.demands(strategy)

    def _crowd(self, held: Protected, demands: Demands | None = None) -> Crowd:
        tables = (
            [self.microdata]
            if self.microdata.registry is None
            else [self.microdata, self.microdata.registry]
        )
        strangers = len(self.everybody) - self.microdata.rows
        order = self.rng.stream("grouping").permutation(len(self.everybody))
        return Crowd(
            places(*tables),
            held.with_strangers(strangers),
            demands or self.demands,
            self.microdata.rows,
            self.rules.least,
            order,
        )

    def _demand(self, row: int, code: int) -> float:
        d = self.demands
        first, end = int(d.starts[row]), int(d.starts[row + 1])
        at = first + int(np.searchsorted(d.value[first:end], code))
        return float(d.ratio[at]) if at < end and d.value[at] == code else float(d.base[code])

    def _suppress_spent(self, gone: Bools) -> None:
        """Values that no group of this table can hold together with their own person."""
        d, held = self._demands(AtMost(self.strategy, self.bound, 1.0)), self.held
        if not len(d.ratio) or not len(held.codes):
            return
        v = max(len(held.names), 1)
        rows = np.repeat(np.arange(len(d.starts) - 1), np.diff(d.starts))
        spent = rows * v + d.value
        spent = spent[d.ratio > len(self.everybody)]
        entries = np.isin(held.row_of * v + held.codes, spent) & ~held.permanent[held.codes]
        gone[entries] = True
        self._count("the person's budget for it is spent", int(entries.sum()))

    def _count(self, reason: str, values: int) -> None:
        if values:
            self.suppressed_values[reason] = self.suppressed_values.get(reason, 0) + values

    def _cohorts_again(self, cohorts: Cohorts, gone: Bools, group: Ints) -> None:
        """Publish the cohorts of whom somebody is there."""
        missing = cohorts.publish_again(self.persons, self.held, self.bound, gone)
        if len(missing):
            raise MethodError(
                f"{len(missing)} person(s) come without the permanent value that was published for"
                " them, and holding them back would tell that they have one; put the value back"
                " into their rows at the source."
            )
        self._count("no cohort can take its permanent value", int(gone.sum()))
        group[cohorts.of_row >= 0] = (
            _COHORT  # registered members too: who is in a cohort is nobody's neighbour elsewhere
        )

    def _carriers(self, gone: Bools, group: Ints) -> Bools:
        """The rows with a permanent value that are in no cohort yet, shape (n,)."""
        held, found = self.held, np.zeros(self.microdata.rows, dtype=bool)
        found[held.row_of[held.permanent[held.codes] & ~gone]] = True
        carriers: Bools = found & (group[: len(found)] != _COHORT)
        return carriers

    def _found(self, cohorts: Cohorts, gone: Bools, group: Ints) -> None:
        """Make cohorts of the groups with a permanent value."""
        held, n = self.held, self.microdata.rows
        names = np.unique(group[:n][self._carriers(gone, group) & (group[:n] >= 0)])
        for name in names:
            rows = np.flatnonzero(group[:n] == name)
            cohorts.found(self.persons, held.without(gone), rows)
            group[rows] = _COHORT

    def _fit(self, cohorts: Cohorts, gone: Bools) -> None:
        """Say what stands in for absent members, and suppress what a cohort is too small for."""
        held, n = self.held, self.microdata.rows
        stream = self.rng.stream("counterfeits")
        lasting = np.zeros(n, dtype=bool)
        lasting[held.row_of[held.permanent[held.codes]]] = True
        stand_in(
            cohorts.cohorts,
            np.flatnonzero(~lasting) if not self._is_set else np.arange(n),
            stream,
            beside=self._is_set,
        )
        values = sum(fit(cohort, held, gone, self._allowed, stream) for cohort in cohorts.cohorts)
        self._count("its cohort is too small for it", values)

    def _cut(self, cohorts: Cohorts, gone: Bools, group: Ints) -> None:
        """Everybody who is in no cohort, in balanced groups; whoever's budget is spent is published
        without a sensitive value, whatever it is.
        """
        held, n = self.held, self.microdata.rows
        crowd = self._crowd(held.without(gone))
        spent = self._spent(crowd.demands)
        if (
            len(group) > n and self._carriers(gone, group).any()
        ):  # members of a cohort are real rows: first without registered persons
            alone = group.copy()
            self._cut_classes(
                crowd, crowd.order[(crowd.order < n) & (alone[crowd.order] == _FREE)], spent, alone
            )
            self._found(cohorts, gone, alone)
            group[alone == _COHORT] = _COHORT
        self._cut_classes(crowd, crowd.order[group[crowd.order] == _FREE], spent, group)
        populated = np.isin(group, np.unique(group[:n][group[:n] >= 0]))
        group[(group >= 0) & ~populated] = _FREE
        self._found(cohorts, gone, group)
        emptied = np.flatnonzero(spent[:n] & (group[:n] == _FREE))
        self.emptied.extend(emptied.tolist())
        gone[np.isin(held.row_of, emptied)] = True
        self._count("the person's budget is spent", len(emptied))
        self._place(emptied, gone, group)

    def _cut_classes(self, crowd: Crowd, order: Ints, spent: Bools, group: Ints) -> None:
        """Cut those whose budget is not ``spent``, apart by what they demand, those who demand
        least first; what may not be published is spent, too.

        See ``methods/global_guarantee/emptied.py``: nothing is shown of a class and of all who
        demand more where that would tell too much of the others.
        """
        self.cuts.clear()
        check_frequent(crowd.held, order, self.bound)
        base = float(crowd.demands.base.max(initial=1.0))
        highest = np.full(crowd.rows, base)
        np.maximum.at(
            highest,
            np.repeat(np.arange(crowd.rows), np.diff(crowd.demands.starts)),
            crowd.demands.ratio,
        )
        least, coins = (
            self._demands(AtMost(self.strategy, self.bound, 1.0)),
            self.rng.stream("suppressed"),
        )
        waiting = order
        for rows in reversed(by_demand(highest, order[~spent[order]], base)):
            rest = Waiting(waiting, crowd.held, least, self.bound)
            shown = rest.shown(
                rows[np.argsort(-highest[rows], kind="stable")], highest, crowd.least
            )
            spent[rows] = True
            spent[shown] = False
            if not len(shown):
                continue
            there = np.isin(waiting, shown)
            shown, others = waiting[there], waiting[~there]
            if (
                len(coins.bernoulli(rest.coin(len(shown)), 1))
                or not rest.may_be_hidden(others)
                or not self._cut_class(crowd, shown, group)
            ):
                spent[waiting] = True
                return
            waiting = others

    def _cut_class(self, crowd: Crowd, rows: Ints, group: Ints) -> bool:
        """Cut rows under the strategy's ratios, or where they are too many for the table, under
        less, down to what the promise needs.
        """
        less = (self._demands(AtMost(self.strategy, self.bound, times)) for times in _LESS)
        for demands in chain([crowd.demands], less):
            if cut(replace(crowd, demands=demands), rows, group):
                self.cuts.append((demands, rows))
                return True
        return False

    def _spent(self, demands: Demands) -> Bools:
        """Who demands more than the share that a value had in the last release can give, or more
        rows than there are; shape of everybody.
        """
        shares = np.zeros(len(demands.base))
        if _SHARES in self.memory.state:
            known = self.memory.state[_SHARES]["share"].to_numpy()
            shares[: len(known)] = known
        ratio = np.minimum(demands.ratio, len(self.everybody) + 1)
        asks_too_much = (ratio * shares[demands.value] > _FILLED) | (ratio > len(self.everybody))
        spent = np.zeros(len(self.everybody), dtype=bool)
        spent[np.repeat(np.arange(len(spent)), np.diff(demands.starts))[asks_too_much]] = True
        return spent

    def _place(self, rows: Ints, gone: Bools, group: Ints) -> None:
        """Groups for rows without protected values; what fits nowhere is suppressed."""
        crowd = self._crowd(self.held.without(gone))
        rest = crowd.order[np.isin(crowd.order, rows)]
        deal(crowd, rest, group)
        left = rest[group[rest] == _FREE]
        join(crowd, left, group)
        if still := int((group[left] == _FREE).sum()):
            self.suppressed_rows["too few rows for a group"] = still

    def _grow_cohorts(self, cohorts: Cohorts, gone: Bools, group: Ints) -> None:
        """Found new cohorts around permanent values that come new."""
        held, n = self.held, self.microdata.rows
        wanted = self._carriers(gone, group)
        if not wanted.any():
            return
        before = int(gone.sum())
        crowd = self._crowd(held.without(gone))
        everyone = np.concatenate([wanted, np.zeros(len(group) - n, dtype=bool)])
        lonely = grow(
            crowd, crowd.order[(crowd.order < n) & (group[crowd.order] == _FREE)], everyone, group
        )
        alone = np.isin(held.row_of, lonely) & held.permanent[held.codes]
        gone[alone] = True
        self._count("no cohort can take its permanent value", int(gone.sum()) - before)
        self._found(cohorts, gone, group)

    def _allowed(self, row: int, code: int, size: int) -> int:
        """How many rows of a cohort may hold a value, for one member; where shares are added up,
        the budget must also last for the sum.
        """
        most = floor(size / self._demand(row, code))
        if self._is_set:
            starts, index = self.recalled.pairs()
            mine = index[starts[row] : starts[row + 1]]
            known = [int(self.before.survival[i]) for i in mine if self.before.value[i] == code]
            left = (known[0] if known else SCALE) - least_survival(self.bound)
            while most > 0 and SCALE - left_of(SCALE, size, most) > left:
                most -= 1
        return most

    @property
    def _is_set(self) -> bool:
        return self.microdata.sensitive.domain.type == "set"

    def _grow(self, gone: Bools, group: Ints) -> None:
        """Everybody who is in no cohort; what finds no company loses its protected values, and
        fewer rows than a group needs are suppressed.
        """
        held, n = self.held, self.microdata.rows
        crowd = self._crowd(held.without(gone))
        lonely = grow(crowd, crowd.order[group[crowd.order] == _FREE], crowd.seeds, group)
        lonely = self._content_with_less(crowd, lonely, group)
        alone = np.isin(held.row_of, lonely) & ~gone
        gone[alone] = True
        self._count("no group is large enough for it", int(alone.sum()))
        self._place(np.flatnonzero(group[:n] == _FREE), gone, group)

    def _content_with_less(self, crowd: Crowd, lonely: Ints, group: Ints) -> Ints:
        """Groups for rows that found none as large as the strategy would like: as large as there
        are, down to what the promise needs.
        """
        for times in _LESS:
            join(crowd, lonely, group)
            lonely = lonely[group[lonely] == _FREE]
            if not len(lonely):
                break
            crowd = replace(crowd, demands=self._demands(AtMost(self.strategy, self.bound, times)))
            wanted = np.zeros(crowd.rows, dtype=bool)
            wanted[lonely] = True
            lonely = grow(crowd, crowd.order[group[crowd.order] == _FREE], wanted, group)
        join(crowd, lonely, group)
        left: Ints = lonely[group[lonely] == _FREE]
        return left

    def _finished(self, gone: Bools, group: Ints, cohorts: Cohorts) -> Draft:
        held, n = self.held, self.microdata.rows
        names, numbered = np.unique(group[group >= 0], return_inverse=True)
        place = np.full(len(group), -1, dtype=np.int64)
        place[group >= 0] = numbered
        for i, cohort in enumerate(cohorts.cohorts):
            place[cohort.rows] = len(names) + i
        sizes = np.concatenate(
            [
                np.bincount(numbered, minlength=len(names)),
                [cohort.size for cohort in cohorts.cohorts],
            ]
        ).astype(np.int64)
        shows = held.without(gone | held.permanent[held.codes])
        added = (
            np.arange(len(sizes)) >= len(names)
            if self._is_set
            else np.zeros(len(sizes), dtype=bool)
        )
        invented = [
            (len(names) + i, code)
            for i, cohort in enumerate(cohorts.cohorts)
            for c in cohort.counterfeits
            for code in self._codes(c)
        ]
        hosts = Hosts.of(
            np.concatenate(
                [place[shows.row_of], np.array([g for g, _ in invented], dtype=np.int64)]
            ),
            np.concatenate([shows.codes, np.array([code for _, code in invented], dtype=np.int32)]),
            sizes,
            added,
            len(held.names),
        )
        after, least = self.recalled.after(
            self.everybody, *self._exposing(hosts, place, len(names))
        )
        if least < least_survival(self.bound):
            raise MethodError(
                "the groups as built would link somebody too often, and nothing was published;"
                " please report this."
            )
        taken: dict[int, set[Any]] = {}
        for row, code in zip(held.row_of[gone].tolist(), held.codes[gone].tolist(), strict=True):
            taken.setdefault(row, set()).add(held.names[code])
        shown = suppress(self.microdata, taken, np.array(self.emptied, dtype=np.int64))
        form, published_id, registered = self._form(shown, place, cohorts, len(names))
        groups = np.zeros(n, dtype=np.int64)
        groups[place[:n] >= 0] = published_id[place[:n][place[:n] >= 0]]
        first = (
            {}
            if self.memory.releases
            else {_UNPROTECTED: self.unprotected.alias("value").to_frame()}
        )
        return Draft(
            form=form,
            groups=groups,
            remember=first | cohorts.to_remember(),
            state=after.to_tables() | {_SHARES: self._shares(hosts, int(sizes.sum()))},
            registered=registered,
            suppressed_microdata=shown if taken or self.emptied else None,
            suppressed_values=self.suppressed_values,
            suppressed_rows=self.suppressed_rows,
        )

    def _shares(self, hosts: Hosts, rows: int) -> pl.DataFrame:
        """The share of every protected value in all groups; where no row shows one, as it was
        before.
        """
        if len(self.emptied) == self.microdata.rows and _SHARES in self.memory.state:
            return self.memory.state[_SHARES]
        return pl.DataFrame(
            {"share": np.bincount(hosts.value, hosts.count, len(self.held.names)) / max(rows, 1)}
        )

    def _exposing(self, hosts: Hosts, place: Ints, groups: int) -> tuple[Ints, Hosts]:
        """The group in which every row is exposed, and how: who is known to be emptied hides
        nobody, and a failed cut into unequal parts says more than c/n.

        ``groups``: how many groups there are; cohorts follow.
        """
        emptied, n = np.array(self.emptied, dtype=np.int64), len(hosts.size)
        emptied = emptied[place[emptied] >= 0]
        others = replace(hosts, size=hosts.size - np.bincount(place[emptied], minlength=n))
        inside = [
            (demands, rows[(place[rows] >= 0) & (place[rows] < groups)])
            for demands, rows in self.cuts
        ]
        others = hedged(others, place, inside, self.rules.least)
        exposed = place.copy()
        exposed[emptied] += n  # they are members of their groups as these are written
        return exposed, others.beside(hosts)

    def _form(
        self, shown: Microdata, place: Ints, cohorts: Cohorts, groups: int
    ) -> tuple[Generalized, Ints, Ints | None]:
        n, registry = self.microdata.rows, self.microdata.registry
        rows = np.flatnonzero(place[:n] >= 0)
        absent = [
            (groups + i, counterfeit)
            for i, cohort in enumerate(cohorts.cohorts)
            for counterfeit in cohort.counterfeits
        ]
        source = np.concatenate([rows, np.full(len(absent), -1, dtype=np.int64)])
        where = np.concatenate([place[rows], np.array([g for g, _ in absent], dtype=np.int64)])
        column = shown.sensitive
        values = None
        if self.rules.permanent:
            own = column.domain.values.gather(column.codes[rows])
            values = pl.concat(
                [
                    own,
                    pl.Series(
                        own.name,
                        [self._looks_like(counterfeit) for _, counterfeit in absent],
                        dtype=own.dtype,
                    ),
                ]
            )
        beside = None if registry is None else (registry, place[n:])
        form, published_id = generalize(
            shown,
            source,
            where,
            self.rng.stream("generalize"),
            values=values,
            counterfeits=bool(self.rules.permanent),
            min_width=self.rules.min_width,
            registry=beside,
        )
        registered = (
            None if registry is None else np.where(place[n:] >= 0, published_id[place[n:]], 0)
        )
        return form, published_id, registered

    def _codes(self, counterfeit: Counterfeit) -> list[int]:
        """The transient protected values that a counterfeit shows."""
        held, row = self.held, counterfeit.copy
        codes = [] if row < 0 else held.codes[held.starts[row] : held.starts[row + 1]].tolist()
        return [
            code for code in codes if not held.permanent[code] and code not in counterfeit.without
        ]

    def _looks_like(self, counterfeit: Counterfeit) -> Any:
        """The sensitive value that a counterfeit shows."""
        column, held, row = self.microdata.sensitive, self.held, counterfeit.copy
        copied = None if row < 0 else column.domain.values[int(column.codes[row])]
        hidden = {held.names[code] for code in counterfeit.without}
        if not self._is_set:
            return (
                next(iter(counterfeit.carries))
                if counterfeit.carries
                else None
                if copied in hidden
                else copied
            )
        lasting = set(held.names.filter(pl.Series(held.permanent)).to_list())
        beside = {value for value in str(copied or "").split(SEPARATOR) if value} - hidden - lasting
        return SEPARATOR.join(sorted(beside | set(counterfeit.carries)))
