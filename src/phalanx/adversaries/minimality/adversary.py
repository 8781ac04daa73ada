# SPDX-License-Identifier: Apache-2.0
"""The minimality adversary: it replays the method's cuts, and learns from those that were not made
(Wong, Fu, Wang, Pei, VLDB 2007).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
import polars as pl

from phalanx.adversaries.base import Attack, Looks, asked
from phalanx.adversaries.disclosure import one_release
from phalanx.adversaries.groups.hosts import Hosts, original_table
from phalanx.adversaries.groups.posterior import Interval, most_frequent, true_values, wilson
from phalanx.adversaries.minimality.arrangements import Counted, Line, Pool, arrange
from phalanx.adversaries.minimality.replaying import FailedCut, FailedLine, Persons, failed_cuts
from phalanx.adversaries.minimality.requirements import Requirement
from phalanx.adversaries.showing import Shown, interval, share
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.exact import Ints, whole
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.sliced import View
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.sliced import Sliced

_IN_VAIN: Final = 3
"""Where so many cuts of a group cannot be counted even one by one, no more of it are tried."""
Shares = Mapping[int, Fraction]
"""Value -> how probable it is."""


@dataclass(frozen=True, kw_only=True)
class Replayed(Attack):
    """What the minimality adversary concluded. ``success`` is how often it is right if it names the
    most probable value, one of them where several are.
    """

    interval: Interval
    """The 95 % confidence interval of ``success``, by Wilson."""
    by_share: float
    """How often somebody who ignores the method is right, who names the most frequent value of the
    person's group.
    """
    by_share_interval: Interval
    """Its 95 % confidence interval, by Wilson."""
    bound: Fraction | None
    """1/l; None where the method asks for no l."""
    above: int
    """Persons for whom a value is more probable than 1/l (where t alone is asked for, than the
    table's share and t) and than its share in their group.
    """
    above_success: float | None
    """How often it is right about these if it names the most probable value; None where there are
    none.
    """
    above_interval: Interval | None
    """Its 95 % confidence interval, by Wilson."""
    certain: int
    """Persons for whom only one value is possible."""
    largest: Fraction
    """The largest probability that it gives any value of anybody, exactly."""
    groups: int
    cuts: int
    """How many cuts failed by the values of the groups."""
    unused: int
    """How many of these were too many together to be counted, and tell it nothing."""

    def tables(self) -> Iterator[Shown]:
        rows = [
            ["replays the method", share(self.success), interval(self.interval)],
            [
                "ignores it, and names the most frequent value of the group",
                share(self.by_share),
                interval(self.by_share_interval),
            ],
            ["names the most frequent value, without the release", share(self.baseline), ""],
        ]
        yield Shown(["what it does", "right", "95 % interval"], rows, (1,))
        above = "above the bound" if self.bound is None else f"above {self.bound}"
        header = [
            "persons",
            above,
            "of these right",
            "one value possible",
            "largest probability",
            "cuts that failed",
            "not counted",
        ]
        cells = [
            self.persons,
            self.above,
            share(self.above_success, "nobody"),
            self.certain,
            f"{float(self.largest):.6g}",
            self.cuts,
            self.unused,
        ]
        yield Shown(header, [cells], range(7))

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack, and interval, by_share, by_share_interval, bound and largest
        (as text), above, above_success, above_interval, certain, groups, cuts, unused.
        """
        more = {
            "interval": [round(end, 6) for end in self.interval],
            "by_share": round(self.by_share, 6),
            "by_share_interval": [round(end, 6) for end in self.by_share_interval],
            "bound": None if self.bound is None else str(self.bound),
            "above": self.above,
            "above_success": None if self.above_success is None else round(self.above_success, 6),
            "above_interval": (
                None
                if self.above_interval is None
                else [round(end, 6) for end in self.above_interval]
            ),
            "certain": self.certain,
            "largest": str(self.largest),
            "groups": self.groups,
            "cuts": self.cuts,
            "unused": self.unused,
        }
        return super().to_json() | more


@dataclass(frozen=True, kw_only=True)
class Minimality:
    """Replays Mondrian, or slicing by Mondrian's strict cuts, and lays on every person's values the
    share of the worlds that the method publishes so.

    It knows everybody's quasi-identifiers, who is in the release, the method and its public
    parameters. A world gives every group's values to the group's persons in some order; all are
    equally likely before, and those are left in which every cut that the method tried and did not
    make breaks the requirement. They are counted exactly, in whole numbers. Cuts whose worlds take
    more than ``effort`` steps to count together are taken by fewer, down to none, and those left
    out are noted: what is found is then exactly what somebody finds who ignores them. Cuts that
    part more than ``together`` groups are left out.

    Needs ``evidence.microdata``, whose sensitive values only tell how often the adversary is right,
    and the whole table that was published (of a release with suppressed rows ``evidence.groups``
    tells who is in it).

    Raises
    ------
    ReleaseError
        Where the method is none that can be replayed: relaxed cuts, another grouping, generalized
        columns, the hierarchical distance, ``min_width`` where it lets boxes overlap.
    """

    question: ClassVar[str] = "inference"
    looks_at: ClassVar[Looks] = "release"
    asks_for: ClassVar[Mapping[str, bool]] = {
        "original": True,
        "identifier": False,
        "ledger": False,
    }
    knows_method: ClassVar[bool] = True

    effort: int = 20_000
    """So many steps are spent to count the worlds of a cut."""
    together: int = 4
    """Of at most so many groups a cut is counted together."""

    def __post_init__(self) -> None:
        whole(self.effort, "effort")
        whole(self.together, "together")

    @property
    def name(self) -> str:
        return "minimality"

    @property
    def knows(self) -> str:
        return (
            "everybody's quasi-identifier values, who is in the release, and the method, which it"
            " replays"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Replayed:
        """Everybody's most probable value and how often it is right; ReleaseError for several
        releases, a missing table or a method that it cannot replay.
        """
        releases, evidence = asked(releases, evidence)
        release = one_release(releases, self.name)
        return self._conclude(
            Replay.of(release, original_table(release, evidence), self.effort, self.together)
        )

    def _conclude(self, replay: "Replay") -> Replayed:
        hosts, microdata = replay.hosts, replay.microdata
        true, of_tuple = true_values(hosts, microdata), hosts.of_person
        n = len(of_tuple)
        bound = None if replay.requirement.l is None else 1 / replay.requirement.l
        guess, candidates, above = (
            np.zeros(n, dtype=np.int64),
            np.zeros(n, dtype=np.int64),
            np.zeros(n, dtype=bool),
        )
        named, by_share, probability = np.zeros(n), np.zeros(n), np.zeros(n)
        largest = Fraction(0)
        order = np.argsort(of_tuple, kind="stable")
        first = np.searchsorted(of_tuple[order], np.arange(len(hosts.codes) + 1))
        for cell, tuples, shares in replay.beliefs():
            of_group, most = replay.shares[cell], max(shares.values())
            best, common = _best(shares), _best(of_group)
            who = np.concatenate([order[first[t] : first[t + 1]] for t in tuples.tolist()])
            named[who], by_share[who] = (
                np.isin(true[who], best) / len(best),
                np.isin(true[who], common) / len(common),
            )
            guess[who], candidates[who], probability[who] = (
                best[0],
                sum(p > 0 for p in shares.values()),
                float(most),
            )
            above[who] = any(
                p > max(replay.limit(value), of_group[value]) for value, p in shares.items()
            )
            largest = max(largest, most)
        certain = candidates == 1
        values = (
            hosts.groups.values
            if hosts.groups.values is not None
            else pl.Series("guess", [], dtype=pl.Null)
        )
        exposed = certain & (named > 0)
        per_person = pl.DataFrame(
            {
                "candidates": candidates,
                "exposed": exposed,
                "probability": probability,
                "above": above,
                "guess": values.gather(guess),
            }
        )
        if microdata.persons is not None:
            per_person.insert_column(0, microdata.persons.alias("person"))
        success, share, over = float(named.mean()), float(by_share.mean()), int(above.sum())
        rightly = float(named[above].mean()) if over else None
        return Replayed(
            adversary=self.name,
            knows=self.knows,
            persons=n,
            exposed=int(exposed.sum()),
            success=success,
            baseline=most_frequent(microdata, np.ones(n, dtype=bool)) / n,
            histogram={
                int(size): int(m)
                for size, m in zip(*np.unique(candidates, return_counts=True), strict=True)
            },
            note=_note(replay),
            per_person=per_person,
            interval=wilson(success, n),
            by_share=share,
            by_share_interval=wilson(share, n),
            bound=bound,
            above=over,
            above_success=rightly,
            above_interval=None if rightly is None else wilson(rightly, over),
            certain=int(certain.sum()),
            largest=largest,
            groups=len(np.unique(replay.persons.group)),
            cuts=replay.cuts,
            unused=replay.unused,
        )


@dataclass(eq=False)
class Replay:
    """A release beside the cuts that its method tried: what those that failed tell of everybody's
    value.
    """

    hosts: Hosts
    microdata: Microdata
    persons: Persons
    requirement: Requirement
    cuts: int = 0
    """How many cuts failed by the values."""
    unused: int = 0
    """How many of them were too many together to be counted."""

    @classmethod
    def of(cls, release: Release, microdata: Microdata, effort: int, together: int) -> "Replay":
        """Replay a release's method; ReleaseError where this cannot be done."""
        hosts = Hosts.of(release.form, microdata)
        requirement = Requirement.of(release.manifest.method, hosts.groups)
        if not np.array_equal(hosts.owner, np.arange(len(hosts.codes))):
            raise ReleaseError(
                "some persons fit into no group, or into several, so that nobody can say whose cuts"
                " these are; it is for the whole table in disjoint boxes."
            )
        if not np.array_equal(
            np.bincount(hosts.group, weights=hosts.persons, minlength=len(hosts.groups)),
            hosts.groups.sizes,
        ):
            raise ReleaseError(
                "the groups have other numbers of persons than the original table has in them;"
                " check that it is the table that was published."
            )
        positions = [domain.normalised for domain in hosts.domains]
        replay = cls(
            hosts,
            microdata,
            Persons(
                hosts.codes,
                positions,
                hosts.persons,
                hosts.group,
                *_buckets(release, len(hosts.groups)),
            ),
            requirement,
        )
        replay._learn(effort, together)
        return replay

    def __post_init__(self) -> None:
        groups = self.hosts.groups
        self.shares: list[Shares] = [_shares_of(groups, cell) for cell in range(len(groups))]
        self._tuples = np.split(
            np.argsort(self.persons.cell, kind="stable"),
            np.cumsum(np.bincount(self.persons.cell, minlength=len(groups)))[:-1],
        )
        self._refined: dict[int, list[tuple[Ints, Shares]]] = {}

    def beliefs(self) -> list[tuple[int, Ints, Shares]]:
        """For every cell and the tuples in it that are alike to all cuts: how probable each value
        is for their persons.
        """
        return [
            (cell, tuples, shares)
            for cell in range(len(self.shares))
            for tuples, shares in self._refined.get(cell, [(self._tuples[cell], self.shares[cell])])
        ]

    def limit(self, value: int) -> Fraction:
        """How probable the requirement lets a value be, for anyone who goes by a group's shares; 0
        where it says nothing.
        """
        asked, totals = self.requirement, self.hosts.groups.totals
        if asked.l is not None:
            return 1 / asked.l
        return (
            Fraction(0) if asked.t is None else Fraction(int(totals[value]), asked.rows) + asked.t
        )

    def _learn(self, effort: int, together: int) -> None:
        cuts: list[FailedCut] = []
        for cut in failed_cuts(
            self.persons,
            self.hosts.groups,
            self.requirement.least,
            together,
            least_width=self.requirement.least_width,
        ):
            if not self.requirement.about_values:
                raise ReleaseError(
                    "the groups could have been cut further by this method; check that it is the"
                    " table that was published."
                )
            self.cuts += 1
            if cut is None:
                self.unused += 1
            elif cut:
                cuts.append(cut)
        for cells, about in _connected(cuts):
            self._count(cells, about, effort, together)

    def _count(
        self, cells: Sequence[int], cuts: Sequence[FailedCut], effort: int, together: int
    ) -> None:
        """What cuts tell of the cells that they part: all of them at once if this can be counted,
        else what they tell of each cell by itself.
        """
        if len(cells) <= together and self._settled(cells, cuts, effort):
            return
        if len(cells) > 1:
            for cell in cells:
                self._count(
                    [cell], [cut for cut in cuts if _parted(cut) == {cell}], effort, together
                )
            self.unused += sum(len(_parted(cut)) > 1 for cut in cuts)
            return
        alone: list[tuple[int, int]] = []
        for i, cut in enumerate(cuts):
            arrangements, _ = self._counted(cells, [cut], effort)
            if arrangements is not None:
                alone.append((arrangements.total, i))
            elif i - len(alone) == _IN_VAIN - 1:
                break
        chosen: list[FailedCut] = []
        for _, i in sorted(alone):
            if not self._settled(cells, [*chosen, cuts[i]], effort):
                break
            chosen.append(cuts[i])
        self.unused += len(cuts) - len(chosen)

    def _settled(self, cells: Sequence[int], cuts: Sequence[FailedCut], effort: int) -> bool:
        arrangements, atoms = self._counted(cells, cuts, effort)
        if arrangements is None:
            return False
        for cell in cells:
            self._refined[cell] = []
        for atom, (cell, tuples) in enumerate(atoms):
            size = int(self.persons.count[tuples].sum())
            self._refined[cell].append(
                (
                    tuples,
                    {
                        v: arrangements.expected.get((atom, v), Fraction(0)) / size
                        for v in self.shares[cell]
                    },
                )
            )
        return True

    def _counted(
        self, cells: Sequence[int], cuts: Sequence[FailedCut], effort: int
    ) -> tuple[Counted | None, list[tuple[int, Ints]]]:
        """The arrangements of some cells in which these cuts fail, which part no other cells; and
        the atoms, each the tuples of a cell that no cut parts.
        """
        groups, pools = self.hosts.groups, []
        atoms: list[tuple[int, Ints]] = []
        left = [
            np.concatenate([tuples for line in cut for tuples in line.parted.values()])
            for cut in cuts
        ]
        for cell in cells:
            tuples = self._tuples[cell]
            sides = (
                np.stack([np.isin(tuples, on_left) for on_left in left], axis=1)
                if left
                else np.zeros((len(tuples), 1), dtype=bool)
            )
            _, which = np.unique(sides, axis=0, return_inverse=True)
            own = [tuples[which.ravel() == i] for i in range(int(which.max()) + 1)]
            of_cell = slice(
                int(groups.starts[cell]), int(groups.starts[cell] + groups.distinct[cell])
            )
            counts = dict(
                zip(
                    groups.cell_value[of_cell].tolist(),
                    groups.cell_count[of_cell].tolist(),
                    strict=True,
                )
            )
            pools.append(Pool(tuple(range(len(atoms), len(atoms) + len(own))), counts))
            atoms += [(cell, some) for some in own]
        lines = [[self._line(line, atoms) for line in cut] for cut in cuts]
        arrangements = arrange(
            [int(self.persons.count[some].sum()) for _, some in atoms],
            pools,
            lines,
            self.requirement,
            effort,
        )
        if arrangements is not None and not arrangements.total:
            raise ReleaseError(
                "no table is published in these groups by the method that the manifest names; check"
                " that it is the table that was published."
            )
        return arrangements, atoms

    @staticmethod
    def _line(line: FailedLine, atoms: Sequence[tuple[int, Ints]]) -> Line:
        inside = [
            (i, bool(np.isin(some[0], line.parted[cell])))
            for i, (cell, some) in enumerate(atoms)
            if cell in line.parted
        ]
        return Line(
            line.sizes,
            line.beside,
            (tuple(i for i, left in inside if left), tuple(i for i, left in inside if not left)),
        )


def _buckets(release: Release, cells: int) -> tuple[Ints, Ints]:
    """Every cell's group and line: in a generalized release a cell is a group, and all are judged
    together.
    """
    if release.form.kind != Sliced.kind:
        return np.arange(cells), np.zeros(cells, dtype=np.int64)
    view = View.of(Sliced.expect(release.form))
    return view.cell_bucket, view.cell_value


def _shares_of(groups: Groups, cell: int) -> Shares:
    of_cell = slice(int(groups.starts[cell]), int(groups.starts[cell] + groups.distinct[cell]))
    size = int(groups.sizes[cell])
    return {
        v: Fraction(n, size)
        for v, n in zip(
            groups.cell_value[of_cell].tolist(), groups.cell_count[of_cell].tolist(), strict=True
        )
    }


def _best(shares: Shares) -> list[int]:
    """The most probable values."""
    most = max(shares.values())
    return [value for value, p in shares.items() if p == most]


def _parted(cut: FailedCut) -> set[int]:
    return {cell for line in cut for cell in line.parted}


def _connected(cuts: Sequence[FailedCut]) -> list[tuple[list[int], list[FailedCut]]]:
    """Cells that cuts part together, directly or by way of others, with all cuts that part them."""
    above: dict[int, int] = {}

    def root(cell: int) -> int:
        while above.setdefault(cell, cell) != cell:
            above[cell] = above[above[cell]]
            cell = above[cell]
        return cell

    for cut in cuts:
        for cell in _parted(cut):
            above[root(cell)] = root(min(_parted(cut)))
    parts: dict[int, tuple[list[int], list[FailedCut]]] = {}
    for cell in above:
        parts.setdefault(root(cell), ([], []))[0].append(cell)
    for cut in cuts:
        parts[root(min(_parted(cut)))][1].append(cut)
    return list(parts.values())


def _note(replay: Replay) -> str:
    if not replay.requirement.about_values:
        return (
            "the method asks nothing of the sensitive values, so that its cuts tell nothing about"
            " them"
        )
    return (
        f"{replay.cuts} cut(s) failed by the values; {replay.unused} of them were too many together"
        " to be counted, and were left out"
    )
