# SPDX-License-Identifier: Apache-2.0
"""Mutual cover as the paper has it: every attribute is drawn by itself, and rows that came out as
they went in are changed afterwards (Algorithm 2). What is published is then not what the random
output tables say, so that it is no option of the method. Here it is measured.

    python experiments/mutual_cover/papers_way.py      # what that does to delta; no data needed

Of a tuple of classes i_1 .. i_d, all attributes stay with probability P = prod_a p_a(i_a, i_a).
Given that, attribute a is among the changed ones with the group's r_a, and shows each of the
group's other values alike. So it is published with p_a(i_a, j) + P r_a / (k_a - 1) for another
value j, and p_a(i_a, i_a) - P r_a for its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from patients import patients

from phalanx.adversaries.records import omniscient
from phalanx.data.distances import Distance
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.guarantees.mutual_cover.drawn_rows import DrawnRows
from phalanx.methods.base import Draft, Memory
from phalanx.methods.mutual_cover.method import Grouping, MutualCover, Outputs, drawn_codes
from phalanx.methods.mutual_cover.output_tables import Maker, Tables, rounded
from phalanx.methods.mutual_cover.problems import Layout
from phalanx.methods.mutual_cover.program import solve
from phalanx.randomness import Randomness
from phalanx.release.evidence.outputs import OutputTables
from phalanx.release.forms.perturbed import perturb

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

PART = 2**20
"""Weights of attributes are whole numbers of this part."""


@dataclass(frozen=True, eq=False)
class Afterwards(OutputTables):
    """Output tables from which every attribute was drawn by itself; a row in which none had changed
    got ``changes`` of them changed: one after the other an attribute that had more than one value
    in the group and had not changed, by its weight, and there one of the group's other values.
    """

    weights: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    """Shape (g, d)."""

    @property
    def eligible(self) -> Ints:
        """The weights, 0 where the group has one value."""
        return np.where(np.diff(self.starts)[self.of] > 1, self.weights, 0)


class Apart(Maker):
    """Makes the tables of every attribute by itself; a group needs as many attributes with more
    than one value as are to be changed.
    """

    def _units(self, layout: Layout, denominator: int) -> tuple[Ints, Bools]:
        problems = layout.problems
        cells = solve(problems, self.delta).cells(problems)
        varying = (np.diff(problems.starts)[layout.tables] > 1).sum(axis=1)
        return rounded(problems, cells, self.delta, denominator), varying < self.changes


@dataclass(frozen=True, kw_only=True)
class PapersWay(MutualCover):
    """Mutual cover by the paper's Algorithms 1 and 2."""

    grouping: Grouping = "mondrian"
    outputs: Outputs = "least-cost"

    def publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        self._refuse(microdata)
        tables = self.tables(microdata)
        weights = weights_of(tables, self._distances(microdata))
        numbers = rng.stream("mutual cover: numbers").integers(tables.denominator, tables.own.size)
        drawn = apart(tables, numbers.reshape(tables.own.shape))
        drawn = change_unchanged(tables, drawn, weights, self.changes, rng)
        codes = drawn_codes(tables, drawn, microdata)
        form, row = perturb(microdata, codes, rng.stream("perturb"))
        evidence = self._evidence(microdata, tables, row, np.arange(drawn.shape[1]))
        parts = {f.name: getattr(evidence, f.name) for f in fields(evidence)}
        return Draft(form=form, groups=row, evidence=Afterwards(**parts, weights=weights))

    def _maker(self, microdata: Microdata, distances: list[Distance]) -> Maker:
        return Apart(**vars(super()._maker(microdata, distances)))

    def parameters(self) -> dict[str, Any]:
        return super().parameters() | {"unchanged": "paper", "changes": 1}


def weights_of(tables: Tables, distances: list[Distance]) -> Ints:
    """By group and attribute: the greatest distance in the group over that in the table, in whole
    numbers; 0 where the group has one value.
    """
    everything = [np.arange(len(distance)) for distance in distances]
    greatest = [
        float(d.between(codes[:, None], codes).max(initial=0)) or 1.0
        for d, codes in zip(distances, everything, strict=True)
    ]
    share = tables.problems.greatest[tables.of] / np.array(greatest)
    varies = np.diff(tables.problems.starts)[tables.of] > 1
    return np.where(varies, np.maximum(np.round(PART * share), 1), 0).astype(np.int64)


def apart(tables: Tables, number: Ints) -> Ints:
    """The class of every row on every attribute, each drawn by itself, shape (n, d); numbers are
    uniform below the denominator.
    """
    problems, table = tables.problems, tables.table
    row = problems.starts[table] + tables.own  # of all tables' rows, each of which sums to the same
    k = np.diff(problems.starts)[table]
    first = problems.cells[table] + tables.own * k
    ends = np.cumsum(tables.units)
    return np.searchsorted(ends, row * tables.denominator + number, side="right") - first


def change_unchanged(
    tables: Tables, drawn: Ints, weights: Ints, changes: int, rng: Randomness
) -> Ints:
    """The paper's Algorithm 2: rows that came out as they went in, changed on ``changes``
    attributes, each chosen by its weight, to one of the group's other values, all alike.
    """
    drawn, own = drawn.copy(), tables.own
    rows = np.flatnonzero((drawn == own).all(axis=1))
    k = np.diff(tables.problems.starts)[tables.table[rows]]
    words = rng.stream("mutual cover: values").words(2 * changes * len(rows)) >> np.uint64(1)
    words = words.astype(np.int64).reshape(len(rows), changes, 2)
    for which, value in words.transpose(1, 2, 0):
        still = (drawn[rows] == own[rows]) & (k > 1)
        weight = np.where(still, weights[tables.group[rows]], 0)
        total = weight.sum(axis=1)
        some = np.flatnonzero(total > 0)
        number = which[some] % total[some]
        chosen = (np.cumsum(weight[some], axis=1) <= number[:, None]).sum(axis=1)
        other = value[some] % (k[some, chosen] - 1)
        drawn[rows[some], chosen] = other + (other >= own[rows[some], chosen])
    return drawn


class Outcomes(omniscient.Outcomes):
    """How probable each row was, where rows that came out unchanged were changed afterwards."""

    def _logs(self, tuples: Ints, rows: Ints, changed: Bools) -> Floats:
        """Every attribute by itself, where the row came out changed; and where it did not, what was
        changed afterwards.
        """
        outputs: Any = self.drawn.outputs
        d = changed.shape[1]
        group, denominator = self.drawn.classes.group[tuples], np.log(float(outputs.denominator))
        logs = np.zeros(len(tuples))
        for a in range(d):
            logs += np.log(self._units(tuples, rows, a)) - denominator
        times = np.minimum((outputs.eligible > 0).sum(axis=1), outputs.changes)[group]
        logs[~changed.any(axis=1) & (times > 0)] = -np.inf
        shown = (self.drawn.shown[rows] >= 0).all(axis=1)
        after = np.flatnonzero((times > 0) & (changed.sum(axis=1) == times) & shown)
        leave = self._leave[tuples[after]]
        stays = np.log(outputs.denominator - leave).sum(axis=1) - d * denominator
        k = np.maximum(self._classes[tuples[after]] - 1, 1)
        others = np.where(changed[after], np.log(k), 0.0).sum(axis=1)
        weights = outputs.eligible[group[after]]
        logs[after] = np.logaddexp(
            logs[after], stays - others + np.log(_chosen(weights, changed[after]))
        )
        return logs


class Omniscient(omniscient.Omniscient):
    """Knows groups, tables, and whether rows were changed afterwards."""

    def _outcomes(self, drawn: DrawnRows) -> omniscient.Outcomes:
        by_paper = isinstance(drawn.outputs, Afterwards)
        return Outcomes(drawn) if by_paper else super()._outcomes(drawn)


def _chosen(weights: Ints, held: Bools) -> Floats:
    """How probable it is that attributes drawn one after the other, by their weights, are just
    those that are held, in whatever order, each of shape (n, d).
    """
    n, d = weights.shape
    reached = {0: np.ones(n)}
    for some in range(1, 1 << d):
        members = np.array([some >> a & 1 for a in range(d)], dtype=bool)
        within = ~(members & ~held).any(axis=1)
        reached[some] = np.zeros(n)
        for a in np.flatnonzero(members).tolist():
            left = weights.sum(axis=1) - weights[:, members].sum(axis=1) + weights[:, a]
            step = np.where(within, weights[:, a] / np.maximum(left, 1), 0)
            reached[some] += reached[some ^ 1 << a] * step
    bits = (held.astype(np.int64) << np.arange(d)).sum(axis=1)
    return np.stack([reached[some] for some in range(1 << d)])[bits, np.arange(n)]


def published_share(outputs: Afterwards, microdata: Microdata, rows: Ints) -> Fraction:
    """The largest share of a published value that one tuple gives, as it is after rows were
    changed: exact. ``rows``: the published row of each row of the table.
    """
    return max(_shares(outputs, microdata, rows), default=Fraction(0))


def _shares(outputs: Afterwards, microdata: Microdata, rows: Ints) -> Iterator[Fraction]:
    """The largest share in every column of every table."""
    classes, whole = outputs.classes(microdata, rows), outputs.denominator
    for g, of in enumerate(outputs.of.tolist()):
        own = classes.own[classes.group == g].tolist()
        tables = [outputs.table(t).tolist() for t in of]
        stay = [
            Fraction(prod(t[i][i] for t, i in zip(tables, mine, strict=True)), whole ** len(of))
            for mine in own
        ]
        for a, (table, away) in enumerate(zip(tables, _away(outputs, g), strict=True)):
            for j in range(len(table)):
                given = []
                for mine, stays in zip(own, stay, strict=True):
                    moved = stays * away
                    change = -moved if mine[a] == j else moved / max(len(table) - 1, 1)
                    given.append(Fraction(table[mine[a]][j], whole) + change)
                if any(given):
                    yield max(given) / sum(given, Fraction(0))


def _away(outputs: Afterwards, group: int) -> list[Fraction]:
    """With which probability each attribute is among the changed ones of a row that came out
    unchanged.
    """
    weights = outputs.eligible[group].tolist()
    found = [Fraction(0)] * len(weights)
    reached = {frozenset[int](): Fraction(1)}
    for _ in range(outputs.changes):
        further: dict[frozenset[int], Fraction] = {}
        for some, probability in reached.items():
            left = sum(weight for b, weight in enumerate(weights) if b not in some)
            for b, weight in enumerate(weights):
                if weight and b not in some:
                    step = probability * Fraction(weight, left)
                    further[some | {b}] = further.get(some | {b}, Fraction(0)) + step
                    found[b] += step
        reached = further
    return found


def main() -> None:
    schema = Schema(identifier="patient", quasi=["age", "sex", "town"], sensitive="diagnosis")
    microdata = Microdata.encode(patients(), schema)
    draft = PapersWay(delta="1/6").publish(microdata, Memory(), Randomness.seeded(1))
    outputs: Any = draft.evidence
    share = published_share(outputs, microdata, draft.groups)
    print(
        "3,000 made-up patients, delta = 1/6: with the rows that were changed afterwards the"
        f" largest share of one tuple in a published value is {share}"
    )


if __name__ == "__main__":
    main()
