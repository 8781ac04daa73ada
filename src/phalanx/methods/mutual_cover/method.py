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

from phalanx.data.microdata import Microdata
from phalanx.errors import MethodError, PlanError, SchemaError, did_you_mean, require_extra
from phalanx.exact import Number, bounded, exact, plain, whole
from phalanx.guarantees.base import Guarantee
from phalanx.guarantees.mutual_cover.guarantee import MutualCover as Promise
from phalanx.kernels.picking import SPARE
from phalanx.methods.base import Draft, Memory
from phalanx.methods.mondrian.method import Mondrian, partition
from phalanx.methods.mutual_cover.coupling import best_order
from phalanx.methods.mutual_cover.distances import Distance, check_asked, distance_of
from phalanx.methods.mutual_cover.joint_outputs import Maker, Tables
from phalanx.methods.mutual_cover.kernels import cover_cuts
from phalanx.methods.mutual_cover.kernels import drawing as kernel
from phalanx.methods.mutual_cover.outputs import Ints
from phalanx.randomness import Randomness
from phalanx.release.evidence.outputs import OutputTables
from phalanx.release.forms.perturbed import perturb

Unchanged = Literal["coupled", "paper"]
Grouping = Literal["cost", "mondrian"]

_ADVERSARIES: Final = ("informed", "omniscient")
"""Whom a plan can bound."""
_REHEARSED: Final = 50_000
"""So many rows are enough to rehearse an order."""
_WEIGHT: Final = 2**20
"""Weights of attributes are whole numbers of this part."""


@dataclass(frozen=True, kw_only=True)
class MutualCover:
    """Every published value of a quasi-identifier could stem from at least 1/delta tuples of its
    group, none of which is more than delta of it.

    Publishes the schema of the original: each row's quasi-identifiers as drawn from the random
    output tables of its group, beside its own sensitive value; no groups. Groups are cut by
    Mondrian, by quasi-identifiers alone, with at least 1/delta rows; a group whose tuples cannot
    all change is widened. Sensitive values are not looked at, and nothing bounds what is inferred
    about them. A missing value counts as a value of its own. What is hidden is how the rows were
    changed: an adversary who knows the method may link more than the paper's does, and the report
    says how much. The promise is about one value of one release: all rows together tell more, and
    so do two releases of one table.

    Raises PlanError for parameters that cannot be met by any table, SchemaError where columns are
    kept, or a distance does not fit its attribute, MethodError for fewer than 1/delta rows and
    where not even all rows together could all change.

    Source: Li, Ma, Xi, Zhang, Xie, Shang, "MuCo", section 4; how we differ stands at the head of
    ``methods/mutual_cover/kernels/joint_outputs.py``.

    >>> MutualCover(delta="1/6").parameters()
    {'name': 'mutual-cover', 'delta': '1/6', 'grouping': 'cost', 'unchanged': 'coupled', 'changes': 1}
    """

    name: ClassVar[str] = "mutual-cover"
    needs_persons: ClassVar[bool] = False
    looks_back: ClassVar[Literal["all", "last"]] = "all"
    takes_registry: ClassVar[bool] = False
    holds_if_method_known: ClassVar[bool] = False
    may_suppress: ClassVar[Sequence[str]] = ()
    refused: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("l", "diversity", "c"),
        "is no option of mutual-cover, since diverse groups keep no sensitive value from an"
        " adversary who knows the method; protect it by anatomy or m-invariance, and leave this key"
        " out.",
    )
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
    unchanged: Unchanged = "coupled"
    """How rows are kept from coming out as they went in: ``coupled``: by the tables themselves;
    ``paper``: by changing them afterwards.
    """
    changes: int = 1
    """On how many quasi-identifiers a row differs from its own, at least; with ``paper``, a row
    that would otherwise not differ at all.
    """
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
        require_extra(
            "mutual-cover", self.name
        )  # the solver is wanted for some groups only, and perhaps after an hour
        if bounded(self.delta, "[method] delta", 0, 1) == 0:
            raise PlanError(
                "[method] delta = 0 is met by no table, as a value stems from somebody; give a"
                " fraction above 0 such as 1/6."
            )
        whole(self.k, "[method] k")
        whole(self.changes, "[method] changes")
        for parameter, allowed in (
            ("unchanged", get_args(Unchanged)),
            ("grouping", get_args(Grouping)),
        ):
            if (word := getattr(self, parameter)) not in allowed:
                raise PlanError(
                    f"[method] {parameter} = {word!r} is not"
                    f" known{did_you_mean(str(word), allowed) or '; use ' + ' or '.join(allowed) + '.'}"
                )
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
                known = (
                    did_you_mean(str(adversary), _ADVERSARIES)
                    or "; known are informed and omniscient."
                )
                raise PlanError(f"[method] bounds names the adversary {adversary!r}{known}")
            bounded(bound, f"[method] bounds of {adversary!r}", 0, 1)
        check_asked(self.distances)

    @property
    def _mondrian(self) -> Mondrian:
        """What cuts the table into groups."""
        return Mondrian(k=max(self.k, math.ceil(1 / exact(self.delta, "delta"))), cut_at="median")

    @property
    def guarantees(self) -> list[Guarantee]:
        return [
            Promise(
                delta=exact(self.delta, "delta"), changes=self.changes, unchanged=self.unchanged
            )
        ]

    def publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        if keep := microdata.schema.keep:
            raise SchemaError(
                f"column {keep[0]!r} is kept, and mutual cover publishes whole rows, in which a"
                " kept column would be a quasi-identifier that nobody covers; make it quasi, or"
                " drop it."
            )
        if self.changes > len(microdata.schema.quasi):
            raise PlanError(
                f"[method] changes = {self.changes} and there are {len(microdata.schema.quasi)}"
                " quasi-identifiers; lower it."
            )
        if microdata.rows * exact(self.delta, "delta") < 1:
            raise MethodError(
                f"delta = {self.delta} asks for at least"
                f" {math.ceil(1 / exact(self.delta, 'delta'))} rows and the table has"
                f" {microdata.rows}; raise delta, or publish when there are more rows."
            )
        tables = self.tables(microdata)
        coupled = self.unchanged == "coupled"
        order = _order(microdata, tables, rng) if coupled else np.arange(len(microdata.quasi))
        weights = None if coupled else _weights(tables, self._distances(microdata))
        drawn = draw(tables, order, weights, self.changes, rng)
        form, row = perturb(microdata, drawn_codes(tables, drawn, microdata), rng.stream("perturb"))
        outputs = _outputs(microdata, tables, row, self.changes, order, weights)
        return Draft(
            form=form,
            groups=row,
            outputs=outputs,
            remember=outputs.frames(memory.releases + 1) if self.keep_tables else {},
        )

    def tables(self, microdata: Microdata) -> Tables:
        """The groups, cut by quasi-identifiers alone, and their random output tables; nothing of it
        is random.
        """
        distances = self._distances(microdata)
        return self._maker(microdata, distances).tables(self._groups(microdata, distances))

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
        """The same with groups twice as large and half the delta; None where a table of so many
        ``rows`` has no such groups.
        """
        least = 2 * self._mondrian.k
        return (
            None if least > rows else replace(self, k=least, delta=exact(self.delta, "delta") / 2)
        )

    def parameters(self) -> dict[str, Any]:
        said: dict[str, Any] = {"name": self.name, "delta": plain(self.delta)}
        if self.k > 1:
            said["k"] = self.k
        said |= {"grouping": self.grouping, "unchanged": self.unchanged, "changes": self.changes}
        if self.bounds:
            said["bounds"] = {name: plain(bound) for name, bound in self.bounds.items()}
        return said | (
            {
                "distances": {
                    name: word if isinstance(word, str) else "matrix"
                    for name, word in self.distances.items()
                }
            }
            if self.distances
            else {}
        )

    def _distances(self, microdata: Microdata) -> list[Distance]:
        for name in self.distances:
            if name not in microdata.schema.quasi:
                raise PlanError(
                    f"[method] distances names {name!r}, which is no"
                    f" quasi-identifier{did_you_mean(name, microdata.schema.quasi) or '; remove it.'}"
                )
        return [
            distance_of(name, microdata.columns[name].domain, self.distances.get(name))
            for name in microdata.schema.quasi
        ]

    def _groups(self, microdata: Microdata, distances: list[Distance]) -> Ints:
        """The group of every row, 0 .. g-1, shape (n,)."""
        if self.grouping == "mondrian":
            return partition(self._mondrian, microdata.quasi, None)
        cutter = partial(cover_cuts.cut, math.ceil(1 / exact(self.delta, "delta")))
        return partition(
            self._mondrian,
            microdata.quasi,
            None,
            cutter=cutter,
            places=[distance.line for distance in distances],
        )

    def _maker(self, microdata: Microdata, distances: list[Distance]) -> Maker:
        quasi = microdata.quasi
        return Maker(
            columns=[column.codes for column in quasi],
            sizes=[len(column.domain) for column in quasi],
            places=[column.domain.normalised for column in quasi],
            distances=distances,
            delta=exact(self.delta, "delta"),
            changes=self.changes,
            coupled=self.unchanged == "coupled",
        )


def draw(tables: Tables, order: Ints, weights: Ints | None, changes: int, rng: Randomness) -> Ints:
    """The class that every row publishes on every attribute, shape (n, d), drawn from the tables.

    ``order`` (d,): how attributes are laid along the line. With ``weights`` (g, d) rows are drawn
    as in the paper, and changed afterwards.
    """
    problems, drawn = tables.problems, np.empty_like(tables.own)
    n, d = drawn.shape
    if weights is None:
        point = rng.stream("mutual cover: points").integers(tables.denominator, n)
        draws = _draws(rng, n * d + SPARE)
        kernel.coupled(
            tables.own,
            tables.table,
            problems.starts,
            problems.cells,
            tables.units,
            tables.denominator,
            order,
            point,
            draws,
            drawn,
        )
        return drawn
    numbers = rng.stream("mutual cover: numbers").integers(tables.denominator, n * d).reshape(n, d)
    kernel.apart(
        tables.own, tables.table, problems.starts, problems.cells, tables.units, numbers, drawn
    )
    draws = _draws(rng, 2 * changes * n + SPARE)
    kernel.change_unchanged(
        tables.own, tables.table, problems.starts, weights[tables.group], changes, draws, drawn
    )
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


def _order(microdata: Microdata, tables: Tables, rng: Randomness) -> Ints:
    """The order of the attributes in which pairs of them keep their dependence best, by rehearsals
    on a part of the rows.
    """
    rows = rng.stream("mutual cover: rehearsal rows").permutation(microdata.rows)[:_REHEARSED]
    part = replace(tables, group=tables.group[rows], own=tables.own[rows])
    columns = microdata.take(rows).quasi
    point = rng.stream("mutual cover: rehearsal points").integers(tables.denominator, len(rows))
    draws = (
        rng.stream("mutual cover: rehearsal values").words(tables.own[rows].size + SPARE)
        >> np.uint64(1)
    ).astype(np.int64)

    def rehearse(order: Ints) -> list[npt.NDArray[np.int32]]:
        drawn = np.empty_like(part.own)
        kernel.coupled(
            part.own,
            part.table,
            part.problems.starts,
            part.problems.cells,
            part.units,
            part.denominator,
            order,
            point,
            draws,
            drawn,
        )
        return list(drawn_codes(part, drawn, microdata).values())

    return best_order(columns, rehearse, rng.stream("mutual cover: order"))


def _draws(rng: Randomness, n: int) -> Ints:
    draws: Ints = (rng.stream("mutual cover: values").words(n) >> np.uint64(1)).astype(np.int64)
    return draws


def _weights(tables: Tables, distances: list[Distance]) -> Ints:
    """By group and attribute: the greatest distance in the group over that in the table, in whole
    numbers; 0 where the group has one value.
    """
    greatest = np.maximum.reduceat(tables.problems.distances, tables.problems.cells[:-1])[tables.of]
    share = greatest / np.array([distance.greatest or 1.0 for distance in distances])
    varies = np.diff(tables.problems.starts)[tables.of] > 1
    weights: Ints = np.where(varies, np.maximum(np.round(_WEIGHT * share), 1), 0).astype(np.int64)
    return weights


def _outputs(
    microdata: Microdata, tables: Tables, row: Ints, changes: int, order: Ints, weights: Ints | None
) -> OutputTables:
    """The tables as evidence, with the groups of published rows."""
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
        changes=changes,
        order=tuple(order.tolist()) if weights is None else (),
        weights=weights,
    )
