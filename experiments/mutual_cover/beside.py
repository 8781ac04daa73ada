"""Our mutual cover beside the authors' own program and beside the paper's algorithm, at equal disclosure, and what adversaries who know more make of each.

    PHALANX_DATA=folder python experiments/mutual_cover/beside.py [--runs 5] [--queries 1000] [--attacked 2000] [--plots folder]

*Cost*: |v - v'| / (max - min + 1) of the attribute, summed over attributes, a row. *Changed*: how many quasi-identifiers of a row are others' values. Sums of salaries are
asked as the authors' program asks: five attributes (its loop runs once more than the paper's four), of age and hours a comparison with a random value, of others one value.
*theirs* is the authors' program rebuilt (theirs.py); *measured* what was measured on the program itself, once. *The paper's way* is its algorithm as we implement it.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import theirs
from census import P_MATCH, QUASI, SENSITIVE, Cover, Floats, Ints, attacked, disclosures, microdata, originals, publish, rows_of, show, solved
from measures import apart, changed, cost, errors_of_rows, queries, together, together_before
from plots import Curves, curves

from phalanx.adversaries.informed import Informed
from phalanx.adversaries.omniscient import Omniscient
from phalanx.kernels import drawing
from phalanx.methods.joint_outputs import Tables
from phalanx.methods.mutual_cover import draw, drawn_codes
from phalanx.randomness import Randomness

L, THEIRS = 10, 6
PAPER: dict[str, Any] = {"grouping": "mondrian", "unchanged": "paper"}
MOST = (4, 5, 6, 7, 8, 10, 12, 15)
"""1/delta of our frontier."""
OF_PAPER = (5, 6, 7, 8, 10)
MEASURED = {
    "cost": 0.344,
    "identity": {"0.3": 0.0062, "0.5": 0.0152, "0.8": 0.0221, "1": 0.0},
    "attribute": {"0.3": 0.0180, "0.5": 0.0268, "0.8": 0.0300, "1": 0.0029},
}
MEASURED_ERRORS = (2.285, 0.81)
"""Mean and median of the relative errors."""
WHAT = ("identity", "attribute")
PLACES = [(w, p) for w in range(2) for p in range(len(P_MATCH)) if P_MATCH[p] != "1"]
"""Where disclosures are held equal."""


@dataclass(frozen=True)
class Found:
    """Means over runs, errors of all runs one after the other."""

    disclosed: Floats
    cost: float
    changed: float
    errors: Floats
    apart: tuple[float, float]

    @property
    def mean(self) -> float:
        return float(self.errors.mean())

    @property
    def median(self) -> float:
        return float(np.median(self.errors))

    def row(self) -> list[str]:
        disclosed = [f"{1000 * self.disclosed[w, p]:.1f}" for w in range(2) for p in range(len(P_MATCH)) if (w, P_MATCH[p]) != (0, "1")]
        return [f"{self.cost:.4f}", f"{self.changed:.2f}", *disclosed, f"{self.mean:.2f}", f"{self.median:.3f}"]


HEADER = ["cost", "changed", *(f"{w[:5]} {p}" for w in WHAT for p in P_MATCH if (w, p) != ("identity", "1")), "SUM mean", "median"]


class Beside:
    def __init__(self, runs: int, number: int, sample: int, plots: Path | None) -> None:
        self.runs, self.sample, self.plots = runs, sample, plots
        self.asked = queries(5, number)
        self.frontier: dict[int, Found] = {}
        self.paper: dict[int, Found] = {}

    def found(self, releases: Iterator[tuple[Ints, Floats]]) -> Found:
        """``releases``: what every row published, and what linkage discloses of it."""
        each = [(d, cost(r), changed(r), errors_of_rows(r, self.asked), apart(r)) for r, d in releases]
        disclosed, costs, changes, errors, moved = zip(*each, strict=True)
        phi, tv = np.mean(moved, axis=0).tolist()
        return Found(np.mean(disclosed, axis=0), float(np.mean(costs)), float(np.mean(changes)), np.concatenate(errors), (phi, tv))

    def ours(self, most: int, **more: Any) -> Found:
        method = Cover(delta=f"1/{most}", **({"l": L} | more))
        drafts = (publish(method, seed) for seed in range(1, self.runs + 1))
        return self.found((rows_of(d), disclosures(d.form, d.groups)) for d in drafts)

    def program(self) -> None:
        """The authors' program as measured, and as rebuilt."""
        group = theirs.groups(L)
        size = np.bincount(group)
        drafts = list(theirs.drawn(group, THEIRS, range(1, self.runs + 1)))
        self.unchanged = float(np.mean([share for _, share in drafts]))
        self.their_rows = drafts[0][0]
        numbers = np.arange(1, len(group) + 1)
        self.theirs = self.found((rows, disclosures(theirs.form_of(rows), numbers)) for rows, _ in drafts)
        rows = [["measured", "3,594 of 10-19", "17 %", f"{MEASURED['cost']}", *self._shown(MEASURED), *map(str, MEASURED_ERRORS)]]
        again = {w: {p: round(float(self.theirs.disclosed[i, j]), 4) for j, p in enumerate(P_MATCH)} for i, w in enumerate(WHAT)}
        of = f"{len(size):,} of {size.min()}-{size.max()}"
        rows.append(
            ["rebuilt", of, f"{self.unchanged:.1%}", f"{self.theirs.cost:.3f}", *self._shown(again), f"{self.theirs.mean:.2f}", f"{self.theirs.median:.2f}"]
        )
        title = f"The authors' program, l = {L}, delta = 1/{THEIRS}: as it was measured, and rebuilt ({self.runs} runs)"
        show(title, ["", "groups", "came out unchanged", "cost", "identity at P = .3 / .5 / .8 / 1", "attribute", "SUM mean", "median"], rows)

    def _shown(self, of: dict[str, Any]) -> list[str]:
        return [" / ".join(f"{of[w][p]:.4f}" for p in ("0.3", "0.5", "0.8", "1")) for w in WHAT]

    def settings(self) -> None:
        """All settings side by side."""
        for most in MOST:
            self.frontier[most] = self.ours(most)
        for most in OF_PAPER:
            self.paper[most] = self.ours(most, **PAPER)
        rows = [["theirs, 1/6", *self.theirs.row()]]
        rows += [[f"the paper's way, 1/{most}", *found.row()] for most, found in self.paper.items()]
        rows += [[f"ours, 1/{most}", *found.row()] for most, found in self.frontier.items()]
        self.other = {
            "ours, 1/6, groups of 20": self.ours(6, k=20),
            "ours, 1/10, groups of 40": self.ours(10, k=40),
            "ours, 1/6, two values changed": self.ours(6, changes=2),
            "ours, 1/6, l = 12": self.ours(6, l=12),
            "ours, 1/6, distinct": self.ours(6, diversity="distinct"),
            "ours, 1/8, distinct": self.ours(8, diversity="distinct"),
            "ours, 1/10, distinct": self.ours(10, diversity="distinct"),
            "ours, 1/6, the paper's groups": self.ours(6, grouping="mondrian"),
            "ours, 1/6, changed afterwards": self.ours(6, unchanged="paper"),
        }
        rows += [[name, *found.row()] for name, found in self.other.items()]
        show(f"Loss, linkage (in thousandths, at each P) and errors, l = {L}, means of {self.runs} runs", ["setting", *HEADER], rows)

    def at_equal(self) -> None:
        """What ours loses where it discloses as much, between the deltas of the frontier."""
        rows = []
        refer: list[tuple[str, Floats, float, float, float]] = [
            ("theirs, measured", self._measured(), float(MEASURED["cost"]), *MEASURED_ERRORS),  # type: ignore[arg-type]
            ("theirs, rebuilt", self.theirs.disclosed, self.theirs.cost, self.theirs.mean, self.theirs.median),
            *((f"the paper's way, 1/{m}", f.disclosed, f.cost, f.mean, f.median) for m, f in self.paper.items()),
        ]
        for name, disclosed, its_cost, its_mean, its_median in refer:
            needed = {place: self._needed(place, float(disclosed[place])) for place in PLACES if np.isfinite(disclosed[place])}
            shown = [("everywhere", max(needed.values()))]
            if name.startswith("theirs"):
                shown = [(f"{WHAT[w]}, P = {P_MATCH[p]}", most) for (w, p), most in needed.items()] + shown
            for what, most in shown:
                if most > MOST[-1]:
                    rows.append([name, what, "beyond", "", "", ""])
                    continue
                ours = {what: self._at(most, what) for what in ("cost", "mean", "median")}
                rows.append(
                    [name, what, f"{most:.2f}", *(self._less(its, ours[what]) for what, its in zip(ours, (its_cost, its_mean, its_median), strict=True))]
                )
        header = ["beside", "equal in", "1/delta of ours", "cost: its, ours", "SUM mean: its, ours", "SUM median: its, ours"]
        show("At equal disclosure: the delta that ours needs to disclose no more, and what it then loses (everywhere: in all of these)", header, rows)

    def _measured(self) -> Floats:
        return np.array([[MEASURED[w].get(p, np.nan) for p in P_MATCH] for w in WHAT])  # type: ignore[attr-defined]

    def _needed(self, place: tuple[int, int], disclosed: float) -> float:
        """1/delta with which ours discloses so much; the least of the frontier where that is less."""
        of = [float(self.frontier[m].disclosed[place]) for m in MOST]
        return float(np.interp(-disclosed, [-d for d in of], MOST)) if disclosed >= of[-1] else np.inf

    def _at(self, most: float, what: str) -> float:
        return float(np.interp(most, MOST, [getattr(self.frontier[m], what) for m in MOST]))

    def _less(self, its: float, ours: float) -> str:
        return f"{its:.3f}, {ours:.3f} ({ours / its - 1:+.0%})"

    def couplings(self) -> None:
        """Pairs of attributes before and after, by how attributes were drawn together."""
        method = Cover(delta=f"1/{THEIRS}", l=L)
        tables = solved(method)
        rng = np.random.default_rng(3)
        orders = [rng.permutation(len(QUASI)) for _ in range(20)]
        chosen = [np.array(outputs.order) for seed in range(1, 6) if (outputs := publish(method, seed).outputs) is not None]
        ways = {
            "each attribute by itself, unchanged rows stay (5 runs)": [self._apart(tables, seed) for seed in range(5)],
            "coupled, 20 random orders": [self._coupled(tables, order, seed) for seed, order in enumerate(orders)],
            "coupled, the order that the method chooses (5 runs)": [self._coupled(tables, order, 100 + seed) for seed, order in enumerate(chosen)],
        }
        before, rows = float(together_before()[0].mean()), []
        for name, drawn in ways.items():
            moved = np.array([apart(r) for r in drawn])
            same = float(np.mean([(r == originals()).all(axis=1).mean() for r in drawn]))
            rows.append([name, f"{same:.1%}", *(f"{v.mean():.5f} ({v.min():.5f}-{v.max():.5f})" for v in moved.T)])
        for name, found in {"the paper's way": self.paper[THEIRS], "theirs": self.theirs}.items():
            rows.append([f"{name} ({self.runs} runs)", "0.0%", *(f"{v:.5f}" for v in found.apart)])
        header = ["drawn", "unchanged rows", "phi² of pairs, moved by", "tables of pairs, total variation"]
        show(f"How pairs of attributes are kept, delta = 1/{THEIRS}: means over 21 pairs (mean phi² before: {before:.4f})", header, rows)
        self._pairs(ways["coupled, the order that the method chooses (5 runs)"][0])

    def _pairs(self, ours: Ints) -> None:
        paper = rows_of(publish(Cover(delta=f"1/{THEIRS}", l=L, **PAPER), 1))
        of = [together_before()[0], *(together(r)[0] for r in (ours, paper, self.their_rows))]
        pairs = list(combinations(QUASI, 2))
        rows = [[" and ".join(pairs[i]), *(f"{phi[i]:.4f}" for phi in of)] for i in np.argsort(-of[0])[:8]]
        show("phi² of the pairs that tell most of each other", ["pair", "before", "ours", "the paper's way", "theirs"], rows)

    def _values(self, tables: Tables, drawn: Ints) -> Ints:
        codes = drawn_codes(tables, drawn, microdata())
        return np.stack([np.asarray(microdata().columns[name].domain.values)[codes[name]] for name in QUASI], axis=1).astype(np.int64)

    def _coupled(self, tables: Tables, order: Ints, seed: int) -> Ints:
        return self._values(tables, draw(tables, order, None, 1, Randomness.seeded(seed)))

    def _apart(self, tables: Tables, seed: int) -> Ints:
        numbers = np.random.default_rng([4, seed]).integers(0, tables.denominator, tables.own.shape)
        drawn, problems = np.empty_like(tables.own), tables.problems
        drawing.apart(tables.own, tables.table, problems.starts, problems.cells, tables.units, numbers, drawn)
        return self._values(tables, drawn)

    def adversaries(self) -> None:
        """Who knows only the paper's, who knows how it was done, who knows the groups and the tables."""
        ways: dict[str, dict[str, Any] | None] = {"theirs, 1/6": None}
        ways |= {f"the paper's way, 1/{m}": {"delta": f"1/{m}", **PAPER} for m in (6, 10)}
        ways |= {f"ours, 1/{m}": {"delta": f"1/{m}"} for m in (6, 8, 10, 15)}
        ways |= {"ours, 1/10, groups of 40": {"delta": "1/10", "k": 40}, "ours, 1/6, two values changed": {"delta": "1/6", "changes": 2}}
        ways |= {"ours, 1/6, changed afterwards": {"delta": "1/6", "unchanged": "paper"}}
        rows = []
        for name, parameters in ways.items():
            if parameters is None:
                form, own, outputs, said = theirs.form_of(self.their_rows), np.arange(1, len(self.their_rows) + 1), None, {}
            else:
                method = Cover(l=L, **parameters)
                draft = publish(method, 1)
                form, own, outputs, said = draft.form, draft.groups, draft.outputs, method.public()
            linked = disclosures(form, own).max(axis=1)
            informed = attacked(Informed(sample=self.sample), form, own, method=said)
            cells = [f"{linked[0]:.4f}, {linked[1]:.4f}", f"{informed.identity:.4f}, {informed.attribute:.4f}"]
            if outputs is None:
                cells += ["", "", ""]
            else:
                knows = attacked(Omniscient(), form, own, outputs, said)
                cells += [f"{knows.identity:.4f}, {knows.attribute:.4f}", f"{knows.success:.4f}", f"{knows.largest:.3f}; {knows.approximate}"]
            rows.append([name, *cells])
        shares = np.unique(microdata().columns[SENSITIVE].codes, return_counts=True)[1] / microdata().rows
        header = ["setting", "linkage, best P", f"informed ({self.sample:,} persons)", "omniscient", "names the value", "largest; approximate"]
        title = f"Identity and attribute disclosure by who knows more (at random: {1 / microdata().rows:.5f}, {float((shares**2).sum()):.4f}; the most frequent salary: {shares.max():.4f})"
        show(title, header, rows)

    def plot(self) -> None:
        if self.plots is None:
            return
        panels = []
        for what, title in (("cost", "cost a row"), ("median", "median error of sums"), ("mean", "mean error of sums")):
            series = {
                "ours, by delta": [(1000 * float(f.disclosed[0, 2]), getattr(f, what)) for f in self.frontier.values()],
                "the paper's way, by delta": [(1000 * float(f.disclosed[0, 2]), getattr(f, what)) for f in self.paper.values()],
                "the authors' program, rebuilt (delta = 1/6)": [(1000 * float(self.theirs.disclosed[0, 2]), getattr(self.theirs, what))],
            }
            panels.append(Curves(title, "identity disclosure at P = 0.7, thousandths", series))
        curves(self.plots / "frontier.svg", panels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--attacked", type=int, default=2000, help="so many persons the informed adversary looks for")
    parser.add_argument("--plots", type=Path, help="write the frontier as SVG into this folder")
    asked = parser.parse_args()
    beside = Beside(asked.runs, asked.queries, asked.attacked, asked.plots)
    beside.program()
    beside.settings()
    beside.at_equal()
    beside.couplings()
    beside.adversaries()
    beside.plot()


if __name__ == "__main__":
    main()
