# SPDX-License-Identifier: Apache-2.0
"""The growth adversary: it grows the groups of the global guarantee again, from each member in
turn, and names whom they grew around.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl

from phalanx.adversaries.base import (
    Attack,
    Interval,
    Looks,
    asked,
    between,
    may_be_luck,
    percent,
    trials,
    wilson,
)
from phalanx.adversaries.series.growing import Asked, Demand, Group, Left, gaps, reached
from phalanx.adversaries.series.joining import ROUNDING
from phalanx.adversaries.showing import Shown, interval, share
from phalanx.arrays import Bools, Floats, Ints, in_order
from phalanx.data.microdata import Microdata
from phalanx.data.sets import members as values_of_sets
from phalanx.errors import ReleaseError
from phalanx.exact import Number, bounded
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee
from phalanx.guarantees.registry import from_parameters
from phalanx.guarantees.views.groups import Groups
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


@dataclass(frozen=True, kw_only=True)
class Grown(Attack):
    """What the growth adversary concluded. ``success`` is how often the member whom it names holds
    the value that it names, over all groups with a protected value.

    ``baseline`` is the same for an adversary who names any member; ``exposed`` counts the holders
    whom it names where its replay is clear.
    """

    interval: Interval
    """The 95 % confidence interval of ``success``, by Wilson; who is named again counts once."""
    by_past: float
    """How often an adversary is right who replays nothing and names the member who was linked most
    to the group's values before, as a person who had one may have it still.
    """
    by_past_interval: Interval
    """Its 95 % confidence interval, by Wilson."""
    bound: Fraction
    """What the guarantee lets anybody be linked with at most: 1/l, or as asked for."""
    groups: int
    """Groups with a protected value, over all releases."""
    clear: int
    """Groups that can have grown around one of their members only."""
    clear_success: float | None
    """How often that member holds the value that is named; None where no replay is clear."""
    clear_interval: Interval | None
    """Its 95 % confidence interval, by Wilson."""
    clear_baseline: float | None
    """How often any member of these groups does."""

    @property
    def sentence(self) -> str:
        """How often it names a holder, beside what naming any member would."""
        return (
            f"names a holder of a protected value in {percent(self.success or 0)} of {self.groups}"
            f" groups ({between(self.interval)}), where naming any member would in"
            f" {percent(self.baseline or 0)}, and is sure of itself in {self.clear}"
        )

    @property
    def by_luck(self) -> str:
        """In how many groups it is sure of itself, and in how many it is right."""
        right = (
            f"It is sure of itself in {self.clear:,} groups and right in {self.exposed:,} of these"
        )
        return may_be_luck(right, self.clear_interval, self.bound)

    def tables(self) -> Iterator[Shown]:
        rows: list[list[object]] = [
            [
                "all with a protected value",
                self.groups,
                share(self.success),
                interval(self.interval),
                share(self.baseline),
            ],
            [
                "one member can have grown it",
                self.clear,
                share(self.clear_success, "none"),
                "",
                share(self.clear_baseline, ""),
            ],
        ]
        rows.append(
            [
                "all, by the past alone",
                self.groups,
                share(self.by_past),
                interval(self.by_past_interval),
                "",
            ]
        )
        if self.clear_interval is not None:
            rows[1][3] = interval(self.clear_interval)
        yield Shown(
            ["groups", "", "holder named", "95 % interval", "by naming any member"], rows, (1, 2, 4)
        )

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack, and interval, by_past, by_past_interval, bound (as text),
        groups, clear, clear_success, clear_interval, clear_baseline.
        """
        more = {
            "interval": [round(end, 6) for end in self.interval],
            "by_past": round(self.by_past, 6),
            "by_past_interval": [round(end, 6) for end in self.by_past_interval],
            "bound": str(self.bound),
            "groups": self.groups,
            "clear": self.clear,
            "clear_success": _rounded(self.clear_success),
            "clear_interval": (
                None
                if self.clear_interval is None
                else [round(end, 6) for end in self.clear_interval]
            ),
            "clear_baseline": _rounded(self.clear_baseline),
        }
        return super().to_json() | more


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Names a member of every group with a protected value: the one around whom this very group can
    have grown, and the value for which the group is as large as it is.

    It knows each person's quasi-identifiers and group in every release, and the method with its
    public parameters; from past groups it computes how much each person demands. It is made for
    ``grouping = "bottom-up"`` and plays against any grouping, which shows whether that one gives
    its holders away too.

    The replay is the method's but for what is not public. Which rows were free when a group grew:
    it takes those of groups without protected values and of smaller groups, which grow later, and
    leaves out those of groups of the same size. What the adaptive strategy asks of whom: it takes a
    person who was linked more often to demand more. Ties: they go to members of the group. Cells of
    large tables and rows that found no company at first: it takes no notice. So a replay may fail
    for each person; it names the member from whom it reached most of the group, of several the one
    who demands most, and one of them by lot where they are still several. The value is the
    protected one of the group for which the member demands most, too.

    Needs ``evidence.groups`` and ``evidence.microdata`` of every release, whose sensitive values
    only tell how often it is right. ``bound``: by default 1/l by the manifest.

    Raises
    ------
    ReleaseError
        Where a manifest promises no global guarantee, no group grew, or registered persons stand in
        the groups, whose places are not given.
    """

    question: ClassVar[str] = "inference"
    looks_at: ClassVar[Looks] = "series"
    asks_for: ClassVar[Mapping[str, bool]] = {"original": True, "identifier": True, "ledger": True}
    knows_method: ClassVar[bool] = True

    bound: Number | None = field(
        default=None,
        metadata={
            "help": "What the guarantee lets anybody be linked with; 1/l by the manifest if not"
            " given."
        },
    )

    def __post_init__(self) -> None:
        if self.bound is not None:
            bounded(self.bound, "the bound", 0, 1)

    @property
    def name(self) -> str:
        return "growth"

    @property
    def knows(self) -> str:
        return (
            "each person's quasi-identifier values, in which group of each release each person was"
            " published, and the method, which it replays"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Grown:
        """Whom it names, group by group; ReleaseError where it lacks what it needs to know."""
        releases, evidence = asked(releases, evidence, of_values=True)
        left = Left()
        named = [
            one
            for r in sorted(releases, key=lambda r: r.number)
            for one in _attacked(r, evidence, left)
        ]
        if not named:
            raise ReleaseError(
                "no group of the releases grew around a row with a protected value, so that this"
                " adversary has no person to name; play 'history' or 'intersection'."
            )
        clear = [one for one in named if one.clear]
        rightly, of_clear = (
            sum(one.right for one in some) / max(len(some), 1) for some in (named, clear)
        )
        by_past = sum(one.by_past for one in named) / max(len(named), 1)
        seeds: Counter[int] = Counter()
        for one in named:
            seeds[one.candidates] += one.members
        per_person = pl.DataFrame(
            {
                "person": [p for one in named for p in one.names],
                "candidates": [one.candidates for one in named for _ in one.names],
                "exposed": pl.Series(
                    [one.clear and one.right == 1 for one in named for _ in one.names],
                    dtype=pl.Boolean,
                ),
            }
        )
        return Grown(
            adversary=self.name,
            knows=self.knows,
            persons=sum(one.members for one in named),
            exposed=int(per_person["exposed"].sum()),
            success=rightly,
            baseline=sum(one.promised for one in named) / max(len(named), 1),
            histogram=dict(sorted(seeds.items())),
            note=(
                f"{len(named)} group(s) with a protected value in {len(releases)} release(s); a"
                " person counts in every release"
            ),
            per_person=per_person,
            interval=wilson(rightly, _trials(named)),
            by_past=by_past,
            by_past_interval=wilson(by_past, _trials(named)),
            bound=self._bound(releases),
            groups=len(named),
            clear=len(clear),
            clear_success=of_clear if clear else None,
            clear_interval=wilson(of_clear, _trials(clear)) if clear else None,
            clear_baseline=sum(one.promised for one in clear) / len(clear) if clear else None,
        )

    def _bound(self, releases: Sequence[Release]) -> Fraction:
        if self.bound is not None:
            return bounded(self.bound, "the bound", 0, 1)
        return max(1 / bounded(_promise(release).l, "l", 1) for release in releases)


@dataclass(frozen=True)
class _Named:
    """Whom it names of one group."""

    names: list[bytes]
    """The members who remain; it names one of them, drawn by lot."""
    candidates: int
    """How many members the group can have grown around; all where it can have around none."""
    members: int
    right: float
    """The share of the names that hold the value that is named with them."""
    promised: float
    """The same of all members."""
    by_past: float
    """The share of those members who demand most that do."""
    clear: bool


class _Grouped:
    """The rows of a release by their groups, of which those near a box are found by their own."""

    rows: list[Ints]
    """The rows of every group."""

    def __init__(self, place: Ints, positions: Floats, taken: Ints, cohort: Bools) -> None:
        """``place`` of every row's group, -1 where it was not published, and ``positions``, shape
        (n, d); how large the groups that took rows had become, and which are of cohorts, whose rows
        are never free.
        """
        by_place, groups = in_order(place), np.arange(len(taken))
        self._unpublished, *self.rows = np.split(by_place, np.searchsorted(place[by_place], groups))
        groups = groups[~cohort]
        self._groups = groups[in_order(taken[groups])]
        self._taken = taken[self._groups]
        low, high = np.full((2, len(taken), positions.shape[1]), [[[np.inf]], [[-np.inf]]])
        published, self._positions = place >= 0, positions
        np.minimum.at(low, place[published], positions[published])
        np.maximum.at(high, place[published], positions[published])
        self._low, self._high = low[self._groups], high[self._groups]

    def free(self, members: Floats, size: int) -> Ints:
        """The rows that no group had taken that became as large as ``size``, without those that are
        too far from some ``members`` to come before one of them.
        """
        low, high = members.min(axis=0), members.max(axis=0)
        first, most = slice(int(np.searchsorted(self._taken, size))), (high - low).sum() + ROUNDING
        near = gaps(self._low[first], self._high[first], low, high) < most
        rows = np.concatenate(
            [self._unpublished, *(self.rows[g] for g in self._groups[first][near].tolist())]
        )
        positions = self._positions[rows]
        near_rows: Ints = rows[gaps(positions, positions, low, high) < most]
        return near_rows


def _attacked(release: Release, evidence: Evidence, left: Left) -> Iterator[_Named]:
    """All groups of a release with a protected value; ``left`` is as before the release, and is
    brought up to date.
    """
    microdata, place = _placed(release, evidence)
    groups, promise = Groups.of(release).members, _promise(release)
    if groups.values is None or microdata.persons is None:
        raise ReleaseError(
            f"release {release.number} has no sensitive attribute, or its original table no"
            " identifier; the growth adversary needs both."
        )
    passes, lasts = promise.passes(groups.values), promise.lasts(groups.values)
    persons, values = microdata.persons.to_list(), groups.values.to_list()
    positions = np.stack(
        [column.domain.normalised[column.codes] for column in microdata.quasi], axis=1
    )
    demand = Demand.of(release.manifest.method)
    numbers = left.numbers(persons)
    asked = Asked(demand, numbers, left)
    cell = np.flatnonzero(passes[groups.cell_value])
    protecting = np.bincount(groups.cell_group[cell], minlength=len(groups)) > 0
    # rows of cohorts stand where they stood before; they are no person's neighbours
    cohort = np.bincount(groups.cell_group[lasts[groups.cell_value]], minlength=len(groups)) > 0
    grouped = _Grouped(place, positions, np.where(protecting, groups.sizes, 0), cohort)
    holds = _held(microdata)
    after: dict[Any, list[tuple[Ints, float]]] = defaultdict(list)
    cell = cell[in_order(groups.cell_group[cell])]
    cells = np.split(cell, np.searchsorted(groups.cell_group[cell], np.arange(1, len(groups))))
    for g in np.flatnonzero(protecting).tolist():
        rows = grouped.rows[g]
        size = int(groups.sizes[g])
        mine = cells[g].tolist()
        here = {values[int(groups.cell_value[i])]: int(groups.cell_count[i]) for i in mine}
        for value, count in here.items():
            after[value].append((rows, 1 - count / size))
        if cohort[g] or size < 2:
            continue
        free = grouped.free(positions[rows], size)
        by_value, by_others = (
            np.array([count * asked.of(value, those) for value, count in here.items()])
            for those in (rows, free)
        )
        demanded = by_value.max(axis=0)
        sizes = reached(
            Group(
                positions[rows],
                positions[free],
                demanded,
                by_others.max(axis=0),
                single=sum(here.values()) == 1,
            ),
            demand,
        )
        held = [holds[microdata.sensitive.codes[row]] for row in rows.tolist()]
        has_value = _right(by_value >= demanded - ROUNDING, held, list(here))
        pressing = demanded >= demanded.max() - ROUNDING
        best, possible = sizes == sizes.max(), int((sizes == size - 1).sum())
        best &= demanded >= demanded[best].max() - ROUNDING
        yield _Named(
            names=[persons[row] for row in rows[best].tolist()],
            candidates=possible or size,
            members=size,
            right=float(has_value[best].mean()),
            promised=float(has_value.mean()),
            by_past=float(has_value[pressing].mean()),
            clear=possible == 1,
        )
    for value, linked in after.items():
        rows = np.concatenate([rows for rows, _ in linked])
        kept = np.repeat([share for _, share in linked], [len(rows) for rows, _ in linked])
        left.link(value, numbers[rows], kept)


def _placed(release: Release, evidence: Evidence) -> tuple[Microdata, Ints]:
    """The original table, and for every row the place of its group, -1 where it was not published;
    ReleaseError where one is missing.
    """
    microdata, mapping = evidence.microdata.get(release.number), evidence.groups.get(release.number)
    if microdata is None or mapping is None or microdata.persons is None:
        raise ReleaseError(
            f"the growth adversary knows all values and groups, and release {release.number}"
            " lacks them; name original, identifier, ledger."
        )
    if release.generalized.registered is not None:
        raise ReleaseError(
            f"release {release.number} has registered persons, whose part in its groups cannot be"
            " replayed; ask about another release."
        )
    ids = pl.DataFrame(
        {
            "group": Groups.of(release).ids.cast(pl.Int64),
            "place": np.arange(len(Groups.of(release)), dtype=np.int64),
        }
    )
    hosted = (
        mapping.select("person", pl.col("group").cast(pl.Int64))
        .filter(pl.col("group") != 0)
        .join(ids, on="group", how="left")
    )
    places = microdata.persons.to_frame("person").join(
        hosted, on="person", how="left", maintain_order="left"
    )["place"]
    if len(places) - places.null_count() != hosted.height:
        raise ReleaseError(
            f"the original table of release {release.number} lacks persons of its groups; give the"
            " originals in the order of the releases, and the identifier column."
        )
    return microdata, places.fill_null(-1).to_numpy()


def _promise(release: Release) -> GlobalGuarantee:
    for public in release.manifest.guarantees:
        if public.get("name") == GlobalGuarantee.name and isinstance(
            promise := from_parameters(public), GlobalGuarantee
        ):
            return promise
    raise ReleaseError(
        f"release {release.number} promises no global guarantee, so that no group grew around"
        " anybody; this adversary is about that method."
    )


def _held(microdata: Microdata) -> list[list[Any]]:
    """The single values of every sensitive code."""
    domain = microdata.sensitive.domain
    if domain.type != "set":
        return [[value] for value in domain.values.to_list()]
    values_of: list[list[Any]] = [[] for _ in range(len(domain))]
    for index, value in values_of_sets(domain.values).iter_rows():
        values_of[index].append(value)
    return values_of


def _trials(named: Sequence[_Named]) -> int:
    """Who is named again may hold the same value still, and counts once."""
    first: dict[bytes, int] = {}
    return trials(np.array([first.setdefault(one.names[0], len(first)) for one in named], np.int64))


def _right(named: Bools, held: Sequence[Sequence[Any]], values: Sequence[Any]) -> Floats:
    """How often each member holds what is named with them, one of the ``values`` that are
    ``named``, shape (v, n), drawn by lot; ``held``: what each of the n holds. Shape (n,).
    """
    holding = np.array([[value in mine for mine in held] for value in values])
    share: Floats = (named & holding).sum(axis=0) / named.sum(axis=0)
    return share


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 6)
