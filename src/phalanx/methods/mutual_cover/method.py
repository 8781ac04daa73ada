# SPDX-License-Identifier: Apache-2.0
"""Mutual cover: rows that look like the original, whose quasi-identifiers were drawn so that tuples
cover for each other (Li et al., MuCo).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.correlation import phi2
from phalanx.data.distances import Distance, check_asked, distance_of
from phalanx.data.microdata import Microdata
from phalanx.errors import MethodError, PlanError, SchemaError, did_you_mean, require_extra
from phalanx.exact import Number, bounded, exact, of_python, plain, whole
from phalanx.guarantees.base import Guarantee
from phalanx.guarantees.mutual_cover.guarantee import MutualCover as Promise
from phalanx.kernels.picking import SPARE
from phalanx.methods.base import Draft, LooksBack, Memory, Offer
from phalanx.methods.mondrian.method import Mondrian, partition
from phalanx.methods.mutual_cover.exchanges import exchanged
from phalanx.methods.mutual_cover.kernels import alike_cuts, cover_cuts
from phalanx.methods.mutual_cover.kernels import drawing as kernel
from phalanx.methods.mutual_cover.kernels.exchanges import Asked
from phalanx.methods.mutual_cover.offer import OFFER
from phalanx.methods.mutual_cover.output_tables import Maker, Tables
from phalanx.methods.not_applicable import grouped_apart, rows_apart
from phalanx.randomness import Randomness
from phalanx.release.evidence.outputs import OutputTables
from phalanx.release.forms.perturbed import perturb

Grouping = Literal["cost", "mondrian"]
Outputs = Literal["alike", "least-cost"]

_ADVERSARIES: Final = ("informed", "omniscient")
"""Whom a plan can bound."""
_ORDERS: Final = 8
"""So many orders are rehearsed; by them the tables' marginals are the same, and dependence between
attributes differs by some hundredths of itself.
"""
_REHEARSED: Final = 50_000
"""So many rows are enough to rehearse an order."""


@dataclass(frozen=True, kw_only=True)
class MutualCover:
    """Every published value of a quasi-identifier could stem from at least 1/delta tuples of its
    group, none of which is more than delta of it.

    Publishes the schema of the original: each row's quasi-identifiers as drawn from the random
    output tables of its group, beside its own sensitive value; no groups. Groups are cut by
    Mondrian, by quasi-identifiers alone, with at least 1/delta rows; a group whose tuples cannot
    all change is widened. Sensitive values are not looked at, but for those that say that a person
    has none (``not_applicable``), whose rows cover for each other alone, and nothing bounds what is
    inferred about them. A missing value counts as a value of its own. What is hidden is how the rows were
    changed: an adversary who knows the method may link more than the paper's does, and the report
    says how much. The promise is about one value of one release: all rows together tell more, and
    so do two releases of one table.

    Source: Li, Ma, Xi, Zhang, Xie, Shang, "MuCo", section 4; how we differ stands at the head of
    ``methods/mutual_cover/kernels/joint_program.py``.

    Raises
    ------
    PlanError
        For parameters that cannot be met by any table.
    SchemaError
        Where columns are kept, or a distance does not fit its attribute.
    MethodError
        For fewer than 1/delta rows, and where not even all rows together could all change.

    Examples
    --------
    >>> MutualCover(delta="1/6").parameters()
    {'name': 'mutual-cover', 'delta': '1/6', 'grouping': 'cost', 'outputs': 'alike', 'changes': 1}
    """

    name: ClassVar[str] = "mutual-cover"
    needs_persons: ClassVar[bool] = False
    looks_back: ClassVar[LooksBack] = "digests"
    takes_registry: ClassVar[bool] = False
    takes_not_applicable: ClassVar[bool] = True
    offer: ClassVar[Offer] = OFFER
    holds_if_method_known: ClassVar[bool] = False
    may_suppress: ClassVar[Sequence[str]] = ()
    refused: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("l", "diversity", "c"),
        "is no option of mutual-cover, since diverse groups keep no sensitive value from an"
        " adversary who knows the method; protect it by anatomy or m-invariance, and leave this key"
        " out.",
    ) | {
        "unchanged": "is no option of mutual-cover, since the random output tables themselves change"
        " every row; leave this key out."
    }
    """What a plan may expect, and why it is not there."""

    delta: Number
    """The greatest part that one tuple may have in a published value, above 0 and at most 1; a
    fraction such as ``"1/6"``.
    """
    k: int = 1
    """The least size of a group, where 1/delta is less."""
    grouping: Grouping = "cost"
    """``cost``: of all cuts the one after which both sides will have to change least; ``mondrian``:
    the widest attribute is cut, as in the paper.
    """
    outputs: Outputs = "alike"
    """``alike``: all of a group publish a value alike, as often as it occurs there, so that rows
    tell little of whose they are and counts stay; ``least-cost``: tables that keep values near, as
    in the paper.
    """
    changes: int = 1
    """On how many quasi-identifiers a row differs from its own, at least."""
    distances: Mapping[str, Any] = field(default_factory=dict)
    """Per quasi-identifier ``l1``, ``hierarchy``, ``equal`` (0 or 1), or a matrix by values; l1 for
    numbers and dates, the hierarchy where there is one.
    """
    bounds: Mapping[str, Number] = field(default_factory=dict)
    """The greatest share of rows that ``informed`` or ``omniscient`` may name rightly; groups are
    widened, and delta lowered, until it is kept.
    """
    keep_tables: bool = False
    """Whether the ledger keeps the random output tables (sealed), so that delta-probability can be
    checked later.
    """

    def __post_init__(self) -> None:
        of_python(self)
        require_extra(
            "mutual-cover", self.name
        )  # the solver is wanted for some groups only, and perhaps after an hour
        if bounded(self.delta, "[method] delta", 0, 1) == 0:
            raise PlanError(
                "[method] delta = 0 is met by no table, as a value stems from a person; give a"
                " fraction above 0 such as 1/6."
            )
        whole(self.k, "[method] k")
        whole(self.changes, "[method] changes")
        if self.grouping not in (groupings := get_args(Grouping)):
            hint = did_you_mean(str(self.grouping), groupings) or "; use cost or mondrian."
            raise PlanError(f"[method] grouping = {self.grouping!r} is not known{hint}")
        if self.outputs not in (known := get_args(Outputs)):
            near = did_you_mean(self.outputs, known) if isinstance(self.outputs, str) else ""
            hint = near or "; use alike or least-cost."
            raise PlanError(f"[method] outputs = {self.outputs!r} is not known{hint}")
        if not isinstance(self.keep_tables, bool):
            raise PlanError(
                f"[method] keep_tables = {self.keep_tables!r} is neither true nor false; write one"
                " of them."
            )
        if not isinstance(self.bounds, Mapping):
            raise PlanError(
                f"[method] bounds = {self.bounds!r} is no table; write {{ informed = 0.1 }}, with a"
                " share for each adversary that is bounded."
            )
        for adversary, bound in self.bounds.items():
            if adversary not in _ADVERSARIES:
                hint = did_you_mean(str(adversary), _ADVERSARIES)
                hint = hint or "; known are informed and omniscient."
                raise PlanError(f"[method] bounds names the adversary {adversary!r}{hint}")
            bounded(bound, f"[method] bounds of {adversary!r}", 0, 1)
        check_asked("[method] distances", self.distances)

    @property
    def _mondrian(self) -> Mondrian:
        """What cuts the table into groups."""
        return Mondrian(k=max(self.k, math.ceil(1 / exact(self.delta, "delta"))), cut_at="median")

    @property
    def guarantees(self) -> list[Guarantee]:
        return [Promise(delta=exact(self.delta, "delta"), changes=self.changes)]

    def publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        """Per group: solve and round its random output tables (``tables``), draw from them."""
        self._refuse(microdata)
        tables = self.tables(microdata)
        order = best_order(microdata, tables, rng)
        drawn = drawn_codes(tables, draw(tables, order, rng), microdata)
        form, row = perturb(microdata, drawn, rng.stream("perturb"))
        outputs = self._evidence(microdata, tables, row, order)
        tables_kept = outputs.frames(memory.releases + 1) if self.keep_tables else {}
        return Draft(form=form, groups=row, evidence=outputs, remember=tables_kept)

    def _refuse(self, microdata: Microdata) -> None:
        """What a table cannot give, before any work."""
        if keep := microdata.schema.keep:
            raise SchemaError(
                f"column {keep[0]!r} is kept, and in rows that are published whole nothing would cover"
                " it; make it quasi, or drop it."
            )
        if self.changes > len(microdata.schema.quasi):
            raise PlanError(
                f"[method] changes = {self.changes} and there are {len(microdata.schema.quasi)}"
                " quasi-identifiers; lower it."
            )
        rows = len(rows_apart(microdata)[0])
        if rows * exact(self.delta, "delta") < 1:
            valued = " with a value" * (rows < microdata.rows)
            raise MethodError(
                f"delta = {self.delta} asks for at least"
                f" {math.ceil(1 / exact(self.delta, 'delta'))} rows{valued} and the table has"
                f" {rows}; raise delta, or publish when there are more rows."
            )

    def tables(self, microdata: Microdata) -> Tables:
        """The groups, cut by quasi-identifiers alone, and their random output tables in whole
        numbers; nothing of it is random.

        Parameters
        ----------
        microdata : Microdata
            The table, of n rows.

        Returns
        -------
        Tables
            For each group its rows and its tables.

        Raises
        ------
        MethodError
            Where no table keeps delta.
        """
        distances = self._distances(microdata)
        groups = grouped_apart(
            microdata,
            lambda part: self._groups(part, distances),
            lambda part: self._groups(part, distances),
            least=self._mondrian.k,
        )
        part = np.zeros(microdata.rows, dtype=np.int64)
        part[rows_apart(microdata)[1]] = 1
        return self._maker(microdata, distances).tables(groups, part)

    @staticmethod
    def recollect(
        digest: str,  # noqa: ARG004 - as the protocol has it
        guarantees: Sequence[Mapping[str, Any]],  # noqa: ARG004
    ) -> Mapping[str, pl.DataFrame]:
        """Nothing: a release does not depend on those before it, and its random output tables are
        in no folder.
        """
        return {}

    def wider(self, rows: int) -> "MutualCover | None":
        """The same with groups twice as large and half the delta.

        Parameters
        ----------
        rows : int
            How many rows the table has.

        Returns
        -------
        MutualCover | None
            The wider method; None where a table of so many rows has no such groups.
        """
        least = 2 * self._mondrian.k
        return (
            None if least > rows else replace(self, k=least, delta=exact(self.delta, "delta") / 2)
        )

    def parameters(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"name": self.name, "delta": plain(self.delta)}
        if self.k > 1:
            settings["k"] = self.k
        settings |= {
            "grouping": self.grouping,
            "outputs": self.outputs,
            "changes": self.changes,
        }
        if self.bounds:
            settings["bounds"] = {name: plain(bound) for name, bound in self.bounds.items()}
        if self.distances:
            settings["distances"] = {
                name: word if isinstance(word, str) else "matrix"
                for name, word in self.distances.items()
            }
        return settings

    def _distances(self, microdata: Microdata) -> list[Distance]:
        for name in self.distances:
            if name not in microdata.schema.quasi:
                hint = did_you_mean(name, microdata.schema.quasi) or "; remove it."
                raise PlanError(
                    f"[method] distances names {name!r}, which is no quasi-identifier{hint}"
                )
        domains = {name: microdata.columns[name].domain for name in microdata.schema.quasi}
        return [
            distance_of("[method] distances", name, domain, self.distances.get(name))
            for name, domain in domains.items()
        ]

    def _groups(self, microdata: Microdata, distances: list[Distance]) -> Ints:
        """The group of every row, 0 .. g-1, shape (n,)."""
        if self.grouping == "mondrian":
            return partition(self._mondrian, microdata.quasi, None)
        window, alike = math.ceil(1 / exact(self.delta, "delta")), self.outputs == "alike"
        cutter = (
            partial(alike_cuts.cut, self.changes, window)
            if alike
            else partial(cover_cuts.cut, window)
        )
        places = [distance.line for distance in distances]
        group = partition(self._mondrian, microdata.quasi, None, cutter=cutter, places=places)
        asked = Asked(self._mondrian.k, window, self.changes)
        return exchanged(microdata.quasi, distances, group, asked) if alike else group

    def _maker(self, microdata: Microdata, distances: list[Distance]) -> Maker:
        return Maker(
            columns=[column.codes for column in microdata.quasi],
            places=[column.domain.normalised for column in microdata.quasi],
            distances=distances,
            delta=exact(self.delta, "delta"),
            changes=self.changes,
            alike=self.outputs == "alike",
        )

    def _evidence(
        self, microdata: Microdata, tables: Tables, row: Ints, order: Ints
    ) -> OutputTables:
        """The tables, with the groups of published rows."""
        group = np.empty_like(tables.group)
        group[row - 1] = tables.group
        return OutputTables(
            attributes=tuple(microdata.schema.quasi),
            group=group,
            of=tables.of,
            starts=tables.problems.starts,
            counts=tables.problems.counts,
            units=tables.units,
            denominator=tables.denominator,
            changes=self.changes,
            order=tuple(order.tolist()),
        )


def draw(tables: Tables, order: Ints, rng: Randomness) -> Ints:
    """The class that every row publishes on every attribute, shape (n, d), drawn from the tables.

    ``order`` (d,): how attributes are laid along the line.
    """
    return _drawn(tables, order, _chances(tables, rng, "mutual cover:"))


def _chances(tables: Tables, rng: Randomness, what: str) -> kernel.Chances:
    """Where the line begins and a point on it for every row, and numbers for what is drawn."""
    (rows, attributes), size = tables.own.shape, tables.own.size
    first = rng.stream(f"{what} places").integers(attributes, rows)
    point = rng.stream(f"{what} points").integers(tables.denominator, rows)
    words = rng.stream(f"{what} values").words(size + SPARE) >> np.uint64(1)
    return kernel.Chances(first, point, words.astype(np.int64))


def _drawn(tables: Tables, order: Ints, chances: kernel.Chances) -> Ints:
    problems, drawn = tables.problems, np.empty_like(tables.own)
    law = kernel.Law(
        tables.table,
        problems.starts,
        problems.cells,
        tables.units,
        tables.denominator,
        order,
        tables.changes,
    )
    kernel.coupled(tables.own, law, chances, drawn)
    return drawn


def drawn_codes(
    tables: Tables, drawn: Ints, microdata: Microdata
) -> dict[str, npt.NDArray[np.int32]]:
    """The codes of the classes that were drawn, by quasi-identifier, shape (n,)."""
    first = tables.problems.starts[:-1][tables.table]
    return {
        name: tables.codes[first[:, a] + drawn[:, a]].astype(np.int32)
        for a, name in enumerate(microdata.schema.quasi)
    }


def best_order(microdata: Microdata, tables: Tables, rng: Randomness) -> Ints:
    """Of a few random orders of the attributes the one whose rehearsal, on a part of the rows,
    changes phi^2 of pairs least, shape (d,).

    Rehearsals have randomness that nothing published is drawn from. So the choice tells of the
    table only, and what is drawn afterwards has the tables' probabilities.
    """
    stream, d = rng.stream("mutual cover: order"), len(microdata.quasi)
    if d < 3:
        return stream.permutation(d)
    rows = rng.stream("mutual cover: rehearsal rows").permutation(microdata.rows)[:_REHEARSED]
    part = replace(tables, group=tables.group[rows], own=tables.own[rows])
    columns = microdata.take(rows).quasi
    before, chances = phi2(columns), _chances(part, rng, "mutual cover: rehearsal")

    def moved(order: Ints) -> float:
        codes = drawn_codes(part, _drawn(part, order, chances), microdata).values()
        after = phi2([replace(c, codes=new) for c, new in zip(columns, codes, strict=True)])
        return float(np.abs(after - before).sum())

    return min((stream.permutation(d) for _ in range(_ORDERS)), key=moved)
