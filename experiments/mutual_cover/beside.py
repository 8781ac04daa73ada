# SPDX-License-Identifier: Apache-2.0
"""Our mutual cover beside the authors' own program and beside the paper's algorithm, at equal
disclosure, and what adversaries who know more make of each.

    PHALANX_DATA=folder python experiments/mutual_cover/beside.py [--runs 5] [--queries 1000]
    [--attacked N] [--plots folder]

*Cost*: |v - v'| / (max - min + 1) of the attribute, summed over attributes, a row. *Changed*: how
many quasi-identifiers of a row are others' values. Sums of salaries are asked as the authors'
program asks: five attributes (its loop runs once more than the paper's four), of age and hours a
comparison with a random value, of others one value. *theirs* is the authors' program rebuilt
(theirs.py); *measured* what was measured on the program itself, once. *The paper's way* is its
algorithm as we implement it, and *least cost* our tables of least cost (``outputs =
"least-cost"``), both in l-diverse groups as in the paper; *ours* the default, which has no l.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import papers_way
import theirs
from census import (
    P_MATCH,
    QUASI,
    Cover,
    Floats,
    Ints,
    Ours,
    PaperCover,
    attacked,
    disclosures,
    microdata,
    originals,
    publish,
    rows_of,
    show,
    solved,
)
from measures import alone, apart, changed, cost, errors_of_rows, queries, together, together_before

from phalanx.adversaries.records.informed import Informed
from phalanx.methods.mutual_cover.method import draw, drawn_codes
from phalanx.methods.mutual_cover.output_tables import Tables
from phalanx.randomness import Randomness
from phalanx.release.evidence.outputs import OutputTables
from phalanx.release.form import Form

sys.path.append(str(Path(__file__).resolve().parents[1]))  # charts.py stands there

import charts

L, THEIRS = 10, 6
PAPER: dict[str, Any] = {"of": PaperCover, "grouping": "mondrian", "l": L}
MOST = (2, 3, 4, 5, 6, 8, 10, 15, 20)
"""1/delta of our frontier."""
OF_PAPER, OF_LEAST = (5, 6, 7, 8, 10), (4, 5, 6, 8, 10, 15)
LEAST: dict[str, Any] = {"of": Cover, "l": L}
OTHERS: dict[str, dict[str, Any]] = {
    "ours, 1/3, two values changed": {"delta": "1/3", "changes": 2},
    "ours, 1/6, two values changed": {"delta": "1/6", "changes": 2},
    "ours, 1/3, groups of 6": {"delta": "1/3", "k": 6},
    "ours, 1/6, the paper's groups": {"delta": "1/6", "grouping": "mondrian"},
    "least cost, 1/6, two values changed": LEAST | {"delta": "1/6", "changes": 2},
    "least cost, 1/6, groups of 20": LEAST | {"delta": "1/6", "k": 20},
}
MEASURED = {
    "identity": {"0.3": 0.0062, "0.5": 0.0152, "0.8": 0.0221, "1": 0.0},
    "attribute": {"0.3": 0.0180, "0.5": 0.0268, "0.8": 0.0300, "1": 0.0029},
}
MEASURED_COST, MEASURED_MEAN, MEASURED_MEDIAN = 0.344, 2.285, 0.81
MEASURED_CLASSES, CLASSES = (
    (3.40, 0.64, 0.31, 0.21),
    ((0, 10), (10, 100), (100, 1000), (1000, 10**9)),
)
WHAT = ("identity", "attribute")
PLACES = {
    f"{w}, P = {p}": (i, j) for i, w in enumerate(WHAT) for j, p in enumerate(P_MATCH) if p != "1"
}
"""Where disclosures are held equal."""


@dataclass(frozen=True)
class Found:
    """Means over runs, errors of all runs one after the other; of adversaries who know more, what
    they make of the first run.
    """

    disclosed: Floats
    """Identity and attribute disclosure at every P_match, shape (2, 6)."""
    cost: float
    changed: float
    errors: Floats
    apart: tuple[float, float]
    """As :func:`measures.apart`."""
    alone: Floats
    """By attribute, as :func:`measures.alone`."""
    informed: Any = None
    omniscient: Any = None

    @property
    def mean(self) -> float:
        return float(self.errors.mean())

    @property
    def median(self) -> float:
        return float(np.median(self.errors))

    def row(self) -> list[str]:
        disclosed = [
            f"{1000 * self.disclosed[w, p]:.1f}"
            for w in range(2)
            for p in range(len(P_MATCH))
            if (w, P_MATCH[p]) != (0, "1")
        ]
        return [
            f"{self.cost:.4f}",
            f"{self.changed:.2f}",
            *disclosed,
            f"{self.mean:.2f}",
            f"{self.median:.3f}",
        ]

    def known(self) -> list[str]:
        linked, informed, knows = self.disclosed.max(axis=1), self.informed, self.omniscient
        cells = [
            f"{self.cost:.4f}",
            f"{self.median:.3f}",
            f"{linked[0]:.4f}, {linked[1]:.4f}",
            f"{informed.identity:.3f}, {informed.attribute:.3f}",
        ]
        if knows is None:
            return [*cells, "", ""]
        return [*cells, f"{knows.identity:.3f}, {knows.attribute:.3f}", f"{knows.success:.3f}"]


HEADER = [
    "cost",
    "changed",
    *(f"{w[:5]} {p}" for w in WHAT for p in P_MATCH if (w, p) != ("identity", "1")),
    "SUM mean",
    "median",
]
Frontier = dict[int, Found]
"""What was found, by 1/delta."""
Draws = Iterator[tuple[Ints, Form, Ints, OutputTables | None]]
"""What every row published, in the order of the table; the release, whose row is which, and the
tables it was drawn from.
"""


class Beside:
    def __init__(self, runs: int, number: int, sample: int | None, plots: Path | None) -> None:
        self.runs, self.sample, self.plots = runs, sample, plots
        self.asked = queries(5, number)

    def found(self, drafts: Draws, said: dict[str, Any] | None = None) -> Found:
        disclosed, costs, changes, errors, moved, single = [], [], [], [], [], []
        informed = omniscient = None
        for rows, form, own, outputs in drafts:
            disclosed.append(disclosures(form, own))
            costs.append(cost(rows))
            changes.append(changed(rows))
            errors.append(errors_of_rows(rows, self.asked))
            moved.append(apart(rows))
            single.append(alone(rows))
            if informed is None:
                informed = attacked(Informed(sample=self.sample), form, own, method=said)
                omniscient = (
                    None
                    if outputs is None
                    else attacked(
                        papers_way.Omniscient(sample=self.sample), form, own, outputs, said
                    )
                )
        phi, tv = np.mean(moved, axis=0).tolist()
        means = float(np.mean(costs)), float(np.mean(changes))
        return Found(
            np.mean(disclosed, axis=0),
            *means,
            np.concatenate(errors),
            (phi, tv),
            np.mean(single, axis=0),
            informed,
            omniscient,
        )

    def ours(self, **given: Any) -> Found:
        parameters = dict(given)
        method = parameters.pop("of", Ours)(**parameters)
        drafts = (publish(method, seed) for seed in range(1, self.runs + 1))
        return self.found(
            ((rows_of(d), d.form, d.groups, d.evidence) for d in drafts), method.parameters()
        )

    def program(self) -> None:
        """The authors' program as measured, and as rebuilt."""
        group = theirs.groups(L)
        size = np.bincount(group)
        drafts = list(theirs.drawn(group, THEIRS, range(1, self.runs + 1)))
        unchanged = float(np.mean([share for _, share in drafts]))
        self.their_rows = drafts[0][0]
        numbers = np.arange(1, len(group) + 1)
        self.theirs = self.found((rows, theirs.form_of(rows), numbers, None) for rows, _ in drafts)
        again = {
            w: {p: float(self.theirs.disclosed[i, j]) for j, p in enumerate(P_MATCH)}
            for i, w in enumerate(WHAT)
        }
        groups = f"{len(size):,} of {size.min()}-{size.max()}"
        rows = [
            [
                "measured",
                "3,594 of 10-19",
                "17 %",
                f"{MEASURED_COST}",
                *self._shown(MEASURED),
                f"{MEASURED_MEAN}",
                f"{MEASURED_MEDIAN}",
            ],
            [
                "rebuilt",
                groups,
                f"{unchanged:.1%}",
                f"{self.theirs.cost:.3f}",
                *self._shown(again),
                f"{self.theirs.mean:.2f}",
                f"{self.theirs.median:.2f}",
            ],
        ]
        title = (
            f"The authors' program, l = {L}, delta = 1/{THEIRS}: as it was measured, and rebuilt"
            f" ({self.runs} runs)"
        )
        show(
            title,
            [
                "",
                "groups",
                "came out unchanged",
                "cost",
                "identity at P = .3 / .5 / .8 / 1",
                "attribute",
                "SUM mean",
                "median",
            ],
            rows,
        )
        asked = np.array([q.rows for q in self.asked])
        each = self.theirs.errors.reshape(self.runs, -1)
        share = [
            (
                f"{each[:, inside].mean():.2f} ({inside.sum()})"
                if (inside := (asked > low) & (asked <= high)).any()
                else "none"
            )
            for low, high in CLASSES
        ]
        header = ["rows asked about", "1-10", "11-100", "101-1,000", "more"]
        show(
            "Mean SUM errors of the program by how many rows are asked about",
            header,
            [["measured", *map(str, MEASURED_CLASSES)], ["rebuilt (queries)", *share]],
        )

    def _shown(self, of: dict[str, dict[str, float]]) -> list[str]:
        return [" / ".join(f"{of[w][p]:.4f}" for p in ("0.3", "0.5", "0.8", "1")) for w in WHAT]

    def settings(self) -> None:
        """All settings side by side, by what the paper's adversary and those who know more make of
        them.
        """
        self.frontier = {most: self.ours(delta=f"1/{most}") for most in MOST}
        self.paper = {most: self.ours(delta=f"1/{most}", **PAPER) for most in OF_PAPER}
        found = {f"theirs, 1/{THEIRS}": self.theirs}
        found |= {f"the paper's way, 1/{most}": f for most, f in self.paper.items()} | {
            f"ours, 1/{most}": f for most, f in self.frontier.items()
        }
        self.least = {most: self.ours(delta=f"1/{most}", **LEAST) for most in OF_LEAST}
        found |= {f"least cost, 1/{most}": f for most, f in self.least.items()}
        found |= {name: self.ours(**parameters) for name, parameters in OTHERS.items()}
        self.named = found
        rows = [[name, *f.row()] for name, f in found.items()]
        show(
            f"Loss, linkage (in thousandths, at each P) and errors, l = {L}, means of {self.runs}"
            " runs",
            ["setting", *HEADER],
            rows,
        )
        _, times = np.unique(microdata().sensitive.codes, return_counts=True)
        n = microdata().rows
        title = (
            "Identity and attribute disclosure by who knows more, informed of"
            f" {self.theirs.informed.persons:,} persons (at random {1 / n:.5f} and"
            f" {float(((times / n) ** 2).sum()):.4f}; the most frequent salary has"
            f" {times.max() / n:.4f})"
        )
        header = [
            "setting",
            "cost",
            "SUM median",
            "linkage, best P",
            "informed",
            "omniscient",
            "names the salary",
        ]
        show(title, header, [[name, *f.known()] for name, f in found.items()])

    def at_equal(self) -> None:
        """What ours loses where it discloses as much, between the deltas of the frontier."""
        measured = {what: MEASURED[what.split(",")[0]].get(what.split("= ")[1]) for what in PLACES}
        refer: list[tuple[str, dict[str, float], tuple[float, float, float]]] = [
            (
                "theirs, measured",
                {what: d for what, d in measured.items() if d is not None},
                (MEASURED_COST, MEASURED_MEAN, MEASURED_MEDIAN),
            )
        ]
        for name, f in (
            (f"theirs, 1/{THEIRS}", self.theirs),
            *((f"the paper's way, 1/{m}", f) for m, f in self.paper.items()),
        ):
            refer.append(
                (
                    name,
                    {what: float(f.disclosed[place]) for what, place in PLACES.items()},
                    (f.cost, f.mean, f.median),
                )
            )
        rows = []
        for name, disclosed, its in refer:
            needed = {
                what: _needed(
                    self.frontier, lambda f, place=PLACES[what]: float(f.disclosed[place]), d
                )
                for what, d in disclosed.items()
            }
            if name.startswith("theirs"):
                rows += [
                    [name, what, *_less(self.frontier, most, its)] for what, most in needed.items()
                ]
            rows.append([name, "all of these", *_less(self.frontier, max(needed.values()), its)])
        header = [
            "beside",
            "equal in",
            "1/delta of ours",
            "cost: its, ours",
            "SUM mean: its, ours",
            "SUM median: its, ours",
        ]
        show(
            "At equal disclosure by linkage: the delta with which ours discloses no more, and what"
            " it then loses",
            header,
            rows,
        )
        rows = []
        for who, of in (("informed", _informed), ("omniscient", _omniscient)):
            for name, f in (
                (f"theirs, 1/{THEIRS}", self.theirs),
                *((f"the paper's way, 1/{m}", f) for m, f in self.paper.items()),
            ):
                if (disclosed := of(f)) is None:
                    continue
                for way, frontier in (("ours", self.frontier), ("least cost", self.least)):
                    most = _needed(frontier, of, disclosed)
                    its = _less(frontier, most, (f.cost, f.mean, f.median))
                    rows.append([name, f"{who}, {disclosed / 1000:.3f}", way, *its])
        show(
            "The same at equal identity disclosure to who knows more",
            ["beside", "to", "with", *header[2:]],
            rows,
        )

    def couplings(self) -> None:
        """Pairs of attributes before and after, by how attributes were drawn together."""
        method = Ours(delta=f"1/{THEIRS}")
        tables = solved(method)
        rng = np.random.default_rng(3)
        orders = [rng.permutation(len(QUASI)) for _ in range(20)]
        chosen = [
            np.array(outputs.order)
            for seed in range(1, 6)
            if (outputs := publish(method, seed).evidence) is not None
        ]
        ways = {
            "each attribute by itself, unchanged rows stay (5 runs)": [
                self._apart(tables, seed) for seed in range(5)
            ],
            "coupled, 20 random orders": [
                self._coupled(tables, order, seed) for seed, order in enumerate(orders)
            ],
            "coupled, the order that the method chooses (5 runs)": [
                self._coupled(tables, order, 100 + seed) for seed, order in enumerate(chosen)
            ],
        }
        rows = []
        for name, drawn in ways.items():
            moved = np.array([apart(r) for r in drawn])
            same = float(np.mean([(r == originals()).all(axis=1).mean() for r in drawn]))
            single = np.mean([alone(r) for r in drawn], axis=0)
            rows.append(
                [
                    name,
                    f"{same:.1%}",
                    *(f"{v.mean():.5f} ({v.min():.5f}-{v.max():.5f})" for v in moved.T),
                    *self._single(single),
                ]
            )
        for name in (
            f"ours, 1/{THEIRS}, the paper's groups",
            f"least cost, 1/{THEIRS}",
            f"the paper's way, 1/{THEIRS}",
            f"theirs, 1/{THEIRS}",
        ):
            f = self.named[name]
            rows.append(
                [
                    f"{name} ({self.runs} runs)",
                    "0.0%",
                    *(f"{v:.5f}" for v in f.apart),
                    *self._single(f.alone),
                ]
            )
        header = [
            "drawn",
            "unchanged rows",
            "phi² of pairs, moved by",
            "tables of pairs",
            "of single attributes",
            "of hours",
        ]
        before = float(together_before()[0].mean())
        show(
            f"How the table's pairs of attributes are kept, delta = 1/{THEIRS}: means over 21 pairs"
            f" (phi² before: {before:.4f}); tables by total variation",
            header,
            rows,
        )
        self._pairs(ways["coupled, the order that the method chooses (5 runs)"][0])

    def _pairs(self, ours: Ints) -> None:
        paper = rows_of(publish(PaperCover(delta=f"1/{THEIRS}", l=L, grouping="mondrian"), 1))
        of = [together_before()[0], *(together(r)[0] for r in (ours, paper, self.their_rows))]
        pairs = list(combinations(QUASI, 2))
        rows = [
            [" and ".join(pairs[i]), *(f"{phi[i]:.4f}" for phi in of)]
            for i in np.argsort(-of[0])[:8]
        ]
        header = ["pair", "before", "ours", "the paper's way", "theirs"]
        show("phi² of the pairs that tell most of each other", header, rows)

        counts = [
            np.bincount(r[:, QUASI.index("uhrswork")], minlength=100)
            for r in (originals(), ours, paper, self.their_rows)
        ]
        moved = np.argsort(-np.abs(counts[1] - counts[0]), kind="stable")[:8]
        show(
            "Rows with the hours a week that ours moves most",
            ["hours", *header[1:]],
            [[hours, *(f"{c[hours]:,}" for c in counts)] for hours in moved],
        )

    def _single(self, moved: Floats) -> list[str]:
        return [f"{moved.mean():.4f}", f"{moved[QUASI.index('uhrswork')]:.4f}"]

    def _values(self, tables: Tables, drawn: Ints) -> Ints:
        codes = drawn_codes(tables, drawn, microdata())
        return np.stack(
            [np.asarray(microdata().columns[name].domain.values)[codes[name]] for name in QUASI],
            axis=1,
        ).astype(np.int64)

    def _coupled(self, tables: Tables, order: Ints, seed: int) -> Ints:
        return self._values(tables, draw(tables, order, Randomness.seeded(seed)))

    def _apart(self, tables: Tables, seed: int) -> Ints:
        numbers = np.random.default_rng([4, seed]).integers(0, tables.denominator, tables.own.shape)
        return self._values(tables, papers_way.apart(tables, numbers))

    def plot(self) -> None:
        if self.plots is None:
            return
        panels = []
        for across, of in (
            ("linkage, P = 0.7, thousandths", _linked),
            ("informed, thousandths", _informed),
            ("omniscient, thousandths", _omniscient),
        ):
            for what, title in (("cost", "cost a row"), ("median", "median error of sums")):
                ways = {
                    "ours, delta = 1/2 to 1/20": self.frontier.values(),
                    "least cost, delta = 1/4 to 1/15": self.least.values(),
                    "the paper's way, delta = 1/5 to 1/10": self.paper.values(),
                    f"the authors' program, rebuilt, delta = 1/{THEIRS}": [self.theirs],
                }
                series = {
                    name: charts.line([of(f) for f in by], [getattr(f, what) for f in by])
                    for name, by in ways.items()
                    if all(of(f) is not None for f in by)
                }
                panels.append(charts.Panel(title, f"identity disclosure: {across}", series))
        charts.draw(self.plots / "frontier.svg", panels, columns=2)


def _needed(frontier: Frontier, of: Callable[[Found], Any], disclosed: float) -> float:
    """1/delta with which a frontier discloses so much; its least where that discloses less, none
    where its greatest discloses more.
    """
    there = [of(f) for f in frontier.values()]
    return (
        float(np.interp(-disclosed, [-d for d in there], list(frontier)))
        if disclosed >= there[-1]
        else np.inf
    )


def _less(frontier: Frontier, most: float, its: tuple[float, float, float]) -> list[str]:
    """1/delta, and beside its cost, mean and median those of the frontier there."""
    if most > max(frontier):
        return [f"above {max(frontier)}", "", "", ""]
    ours = [
        float(np.interp(most, list(frontier), [getattr(f, what) for f in frontier.values()]))
        for what in ("cost", "mean", "median")
    ]
    return [
        f"{most:.1f}",
        *(f"{a:.3f}, {b:.3f} ({b / a - 1:+.0%})" for a, b in zip(its, ours, strict=True)),
    ]


def _linked(found: Found) -> float:
    return 1000 * float(found.disclosed[0, P_MATCH.index("0.7")])


def _informed(found: Found) -> float:
    return 1000 * float(found.informed.identity)


def _omniscient(found: Found) -> float | None:
    """None of the authors' program, whose tables are not known."""
    return None if found.omniscient is None else 1000 * float(found.omniscient.identity)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument(
        "--attacked",
        type=int,
        help=(
            "so many persons those who know more look for; else the informed adversary for 2,000,"
            " the omniscient for all"
        ),
    )
    parser.add_argument("--plots", type=Path, help="write the frontier as SVG into this folder")
    asked = parser.parse_args()
    beside = Beside(asked.runs, asked.queries, asked.attacked, asked.plots)
    beside.program()
    beside.settings()
    beside.at_equal()
    beside.couplings()
    beside.plot()


if __name__ == "__main__":
    main()
