# SPDX-License-Identifier: Apache-2.0
"""What the cuts that a method tried in vain tell of each person's value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from phalanx.adversaries.groups.hosts import Hosts
from phalanx.adversaries.minimality.arrangements import Counted, Line, Pool, arrange
from phalanx.adversaries.minimality.replaying import FailedCut, FailedLine, Persons, failed_cuts
from phalanx.adversaries.minimality.requirements import Requirement
from phalanx.arrays import Ints, in_order
from phalanx.data.domain import whole_places
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.sliced import View
from phalanx.release.folder import Release
from phalanx.release.forms.sliced import Sliced

_IN_VAIN: Final = 3
"""Where so many cuts of a group cannot be counted even one by one, no more of it are tried."""
Shares = Mapping[int, Fraction]
"""Value -> how probable it is."""


@dataclass(eq=False)
class Replay:
    """A release beside the cuts that its method tried: what those that failed tell of each person's
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
    sets: Sequence[tuple[Sequence[int], Sequence[FailedCut]]] = ()
    """Cells that cuts part together, and these cuts; no cut parts two sets."""

    @classmethod
    def of(cls, release: Release, microdata: Microdata, together: int) -> "Replay":
        """Replay a release's method, and count nothing yet; ReleaseError where this cannot be
        done. Cuts that part more than ``together`` groups are left out.
        """
        if release.manifest.parts:
            raise ReleaseError(
                "the release was made in parts, whose first cuts are not replayed; publish the table"
                " in memory, into another series, to see what this adversary finds."
            )
        hosts = Hosts.of(release, microdata)
        requirement = Requirement.of(release.manifest.method, hosts.groups)
        if not np.array_equal(hosts.owner, np.arange(len(hosts.codes))):
            raise ReleaseError(
                "some persons fit into no group, or into several, so that it cannot be said whose"
                " cuts these are; it is for the whole table in disjoint boxes."
            )
        if not np.array_equal(
            np.bincount(hosts.group, weights=hosts.persons, minlength=len(hosts.groups)),
            hosts.groups.sizes,
        ):
            raise ReleaseError(
                "the groups have other numbers of persons than the original table has in them;"
                " check that it is the table that was published."
            )
        replay = cls(
            hosts,
            microdata,
            Persons(
                hosts.codes,
                whole_places(hosts.domains),
                hosts.persons,
                hosts.group,
                *_buckets(release, len(hosts.groups)),
            ),
            requirement,
        )
        replay._replay(together)
        return replay

    def __post_init__(self) -> None:
        groups = self.hosts.groups
        self.shares: list[Shares] = [_shares_of(groups, cell) for cell in range(len(groups))]
        self._tuples = np.split(
            in_order(self.persons.cell),
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

    def count(
        self,
        sets: Sequence[tuple[Sequence[int], Sequence[FailedCut]]],
        effort: int,
        together: int,
    ) -> None:
        """Count what the cuts of some of the ``sets`` tell, each at most once."""
        for cells, cuts in sets:
            self._count(cells, cuts, effort, together)

    def _replay(self, together: int) -> None:
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
        self.sets = _connected(cuts)

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
        parted_tuples = [
            np.concatenate([tuples for line in cut for tuples in line.parted.values()])
            for cut in cuts
        ]
        for cell in cells:
            tuples = self._tuples[cell]
            sides = (
                np.stack([np.isin(tuples, on_left) for on_left in parted_tuples], axis=1)
                if parted_tuples
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
