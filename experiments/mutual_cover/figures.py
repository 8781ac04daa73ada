# SPDX-License-Identifier: Apache-2.0
"""Figures 5 to 10 of the paper, by the paper's algorithm and by ours, each beside what the paper
says of it.

    PHALANX_DATA=folder python experiments/mutual_cover/figures.py [--runs 10] [--queries 1000]

*The paper's way*: groups by Mondrian's widest attribute, every attribute drawn by itself, rows that
came out unchanged are changed afterwards. *Ours*: the defaults. Five numbers in a cell are the
least, the quartiles and the greatest of the runs.

ILoss (Xiao & Tao 2006) of an interval is (number of the domain's values in it - 1) / (size of the
domain); of a value that was replaced by another, by how many values of the domain they are apart,
over its size. Both are summed over attributes, and are means over rows. Every run is asked the same
queries: four random attributes; of age and hours a comparison (=, ≠, >, ≥, <, ≤) with a random
value of the domain, of all others one random value. Whoever selects nobody is drawn again.
Intervals answer as if the domain's values were spread evenly in them; of two tables a row stands
for the mean salary of its bucket.
"""

import argparse
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from census import P_MATCH, Cover, Floats, PaperCover, disclosures, publish, rows_of, show
from measures import (
    cost,
    errors_of_buckets,
    errors_of_intervals,
    errors_of_rows,
    loss_of_intervals,
    loss_of_rows,
    loss_of_tables,
    queries,
)

from phalanx.methods.anatomy.method import Anatomy
from phalanx.methods.mondrian.method import Mondrian
from phalanx.release.forms.generalized import Generalized

DELTAS = ("1/5", "1/6", "1/7", "1/8", "1/10")
DIVERSE = (8, 10, 12, 15, 18)
LARGER = (10, 12, 15, 18, 20)
WAYS = {"the paper's way": partial(PaperCover, grouping="mondrian"), "ours": Cover}
IDENTITY, ATTRIBUTE = 0, 1


@dataclass(frozen=True)
class Runs:
    """What came out of each run, shape (runs, ...)."""

    disclosed: Floats
    """Identity and attribute disclosure at every P_match, shape (runs, 2, 6)."""
    loss: Floats
    cost: Floats
    tables: float
    """ILoss as the random output tables have it, before rows that came out unchanged are
    changed.
    """
    errors: Floats
    """Shape (runs, queries)."""

    @property
    def mean(self) -> Floats:
        return self.errors.mean(axis=1)

    @property
    def median(self) -> Floats:
        return np.median(self.errors, axis=1)

    @property
    def variance(self) -> Floats:
        return self.errors.var(axis=1)


def five(values: Floats, times: float = 1, digits: int = 1) -> str:
    return " ".join(f"{q:.{digits}f}" for q in times * np.quantile(values, (0, 0.25, 0.5, 0.75, 1)))


def middle(values: Floats) -> float:
    return float(np.median(values))


def verdict(claim: str, held: dict[str, bool]) -> None:
    """The paper's claim, and of which way it holds."""
    print(
        f'The paper: "{claim}" '
        + "; ".join(f"{way}: {'holds' if yes else 'does not hold'}" for way, yes in held.items())
        + ".\n"
    )


class Figures:
    def __init__(self, runs: int, number: int, sample: int | None) -> None:
        self.runs, self.sample = runs, sample
        self.asked = queries(4, number)
        self.cover = cache(self._cover)

    def _cover(self, way: str, delta: str, l: int) -> Runs:
        disclosed, loss, costs, errors = [], [], [], []
        for seed in range(1, self.runs + 1):
            draft = publish(WAYS[way](delta=delta, l=l), seed)
            rows = rows_of(draft)
            disclosed.append(disclosures(draft.form, draft.groups))
            loss.append(loss_of_rows(rows))
            costs.append(cost(rows))
            errors.append(errors_of_rows(rows, self.asked))
        return Runs(
            np.array(disclosed),
            np.array(loss),
            np.array(costs),
            loss_of_tables(draft),
            np.array(errors),
        )

    def by_delta(self, l: int = 10) -> dict[str, list[Runs]]:
        return {way: [self.cover(way, delta, l) for delta in DELTAS] for way in WAYS}

    def figure_5(self) -> None:
        found = self.by_delta()
        for which, what in ((IDENTITY, "identity"), (ATTRIBUTE, "attribute")):
            rows = []
            for way, by in found.items():
                for delta, runs in zip(DELTAS, by, strict=True):
                    rows.append(
                        [
                            way,
                            delta,
                            *(five(runs.disclosed[:, which, p], 1000) for p in range(len(P_MATCH))),
                        ]
                    )
            show(
                f"Figure 5: {what} disclosure in thousandths, l = 10",
                ["way", "delta", *(f"P = {p}" for p in P_MATCH)],
                rows,
            )
        at = {
            way: np.median([r.disclosed for r in by], axis=1) for way, by in found.items()
        }  # (deltas, 2, P)
        verdict(
            "The identity disclosure and attribute disclosure decrease with the reduction of δ."
            " (below P = 1)",
            {way: bool((np.diff(m[:, :, :-1], axis=0) < 0).all()) for way, m in at.items()},
        )
        verdict(
            "the probabilities of identity disclosure in Figure 5(f) keep at 0.",
            {way: bool((m[:, IDENTITY, -1] == 0).all()) for way, m in at.items()},
        )
        verdict(
            "the probability of disclosure increases when P rises from 0.3 to 0.7",
            {w: bool((np.diff(m[:, :, :3], axis=2) > 0).all()) for w, m in at.items()},
        )
        verdict(
            "the probabilities are very similar when P are 0.7 and 0.8 (within 10 %)",
            {w: bool((abs(m[:, :, 3] / m[:, :, 2] - 1) < 0.1).all()) for w, m in at.items()},
        )
        verdict(
            "the probability reduces when P is greater than 0.8.",
            {w: bool((np.diff(m[:, :, 3:], axis=2) < 0).all()) for w, m in at.items()},
        )

    def mondrian(self, l: int) -> tuple[Generalized, Floats]:
        form = publish(Mondrian(k=l, l=l, cuts="strict"), 1).form
        return form, disclosures(form, sample=self.sample)

    def figures_6_to_9(self) -> None:
        boxed = {l: self.mondrian(l) for l in DIVERSE}
        rows = [
            [l, what, *(f"{1000 * boxed[l][1][which, p]:.1f}" for p in range(len(P_MATCH)))]
            for l in DIVERSE
            for which, what in ((0, "identity"), (1, "attribute"))
        ]
        show(
            "Figure 6: disclosure of Mondrian in thousandths",
            ["l", "disclosure", *(f"P = {p}" for p in P_MATCH)],
            rows,
        )
        found = self.by_delta()
        covered = {
            way: [middle(r.disclosed[:, :, 2].mean(axis=1)) for r in by]
            for way, by in found.items()
        }
        of_boxes = {
            p: [float(boxed[l][1][:, i].mean()) for l in DIVERSE] for i, p in enumerate(P_MATCH)
        }
        low, high = min(of_boxes["1"]), max(of_boxes["1"])
        verdict(
            "the disclosure probabilities of Mondrian in Figure 6 are similar with that of MuCo in"
            " Figure 5(c). (here: between half and twice)",
            {
                f"{way} ({min(v):.3f}-{max(v):.3f} at P = 0.7, Mondrian {low:.3f}-{high:.3f} at P = 1)": (
                    low / 2 <= min(v) and max(v) <= 2 * high
                )
                for way, v in covered.items()
            },
        )
        gap = max(abs(float(d[0, -1] - d[1, -1])) / float(d[0, -1]) for _, d in boxed.values())
        verdict(
            "(Mondrian's) identity disclosure and attribute disclosure are the same (at P = 1"
            f" within 10 %; the greatest gap is {gap:.0%})",
            {"Mondrian": gap < 0.1},
        )

        loss = {l: loss_of_intervals(form) for l, (form, _) in boxed.items()}
        rows = [
            [way, f"delta = {delta}", five(r.loss, 1, 3), f"{r.tables:.3f}", five(r.cost, 1, 4)]
            for way, by in found.items()
            for delta, r in zip(DELTAS, by, strict=True)
        ]
        rows += [
            [
                "Mondrian",
                f"l = {l}",
                f"{whole:.3f}; {drawn:.3f} to a random value of the interval",
                "",
                "",
            ]
            for l, (whole, drawn) in loss.items()
        ]
        show(
            "Figure 7: ILoss a row, summed over seven attributes",
            ["way", "", "ILoss", "by the tables", "cost by |v - v'| / (max - min + 1)"],
            rows,
        )
        verdict(
            "the information loss of MuCo increases with the decrease of δ",
            {w: bool((np.diff([middle(r.loss) for r in by]) > 0).all()) for w, by in found.items()}
            | {
                f"{w}, by the tables": bool((np.diff([r.tables for r in by]) > 0).all())
                for w, by in found.items()
            },
        )
        verdict(
            "both the information loss and the interval of MuCo are much less than that of Mondrian"
            " (here: half at most; interval: from the first δ or l to the last)",
            {
                w: (
                    2 * max(r.loss.max() for r in by) < loss[DIVERSE[0]][0]
                    and 2 * (by[-1].loss.max() - by[0].loss.min())
                    < loss[DIVERSE[-1]][0] - loss[DIVERSE[0]][0]
                )
                for w, by in found.items()
            },
        )
        self.answers(
            found,
            {l: errors_of_intervals(form, self.asked) for l, (form, _) in boxed.items()},
            {l: self.anatomy(l) for l in DIVERSE},
        )

    def anatomy(self, l: int) -> Floats:
        """The errors of every run, shape (runs, queries)."""
        found = []
        for seed in range(1, self.runs + 1):
            form = publish(Anatomy(l=l), seed).form
            found.append(errors_of_buckets(form, self.asked))
        return np.array(found)

    def answers(
        self,
        covered: dict[str, list[Runs]],
        boxed: dict[int, Floats],
        bucketized: dict[int, Floats],
    ) -> None:
        of: dict[tuple[str, str], Floats] = {
            (way, f"delta = {d}"): r.errors
            for way, by in covered.items()
            for d, r in zip(DELTAS, by, strict=True)
        }
        of |= {("Mondrian", f"l = {l}"): e[None, :] for l, e in boxed.items()} | {
            ("Anatomy", f"l = {l}"): e for l, e in bucketized.items()
        }
        mean, median, variance = (
            {k: f(e, axis=1) for k, e in of.items()} for f in (np.mean, np.median, np.var)
        )
        rows = [
            [*k, five(mean[k], 1, 2), five(median[k], 1, 2), five(variance[k], 1, 0)] for k in of
        ]
        show(
            f"Figures 8 and 9: relative errors of {len(self.asked):,} sums of salaries",
            ["way", "", "mean", "median", "variance"],
            rows,
        )
        others = [k for k in of if k[0] not in WAYS]
        for figure, what, measured in (
            ("8", "average", mean),
            ("9", "variance", variance),
            ("8, by the median", "median", median),
        ):
            least = min(middle(measured[k]) for k in others)
            held = {
                way: max(middle(measured[k]) for k in of if k[0] == way) < least for way in WAYS
            }
            verdict(
                f"(Figure {figure}) the results of MuCo are much better than that of Mondrian and"
                f" Anatomy (here: the {what} is less for every δ than for any l)",
                held,
            )
        spread = {way: [middle(median[k]) for k in of if k[0] == way] for way in WAYS}
        verdict(
            "the relative error rate of MuCo does not increase steadily with the growth of δ [sic]"
            " but fluctuates (here: the median error does not rise all along as δ falls)",
            {
                f"{way} ({v[0]:.2f} to {v[-1]:.2f})": not bool((np.diff(v) > 0).all())
                for way, v in spread.items()
            },
        )

    def figure_10(self) -> None:
        found = {way: [self.cover(way, "1/6", l) for l in LARGER] for way in WAYS}
        rows = [
            [
                way,
                l,
                five(r.loss, 1, 3),
                f"{r.tables:.3f}",
                five(r.mean, 1, 2),
                five(r.median, 1, 3),
                five(r.variance, 1, 0),
            ]
            for way, by in found.items()
            for l, r in zip(LARGER, by, strict=True)
        ]
        show(
            "Figure 10: delta = 1/6, by l",
            ["way", "l", "ILoss", "by the tables", "mean error", "median error", "variance"],
            rows,
        )
        lower = {
            w: bool((np.diff([middle(r.loss) for r in by]) < 0).all()) for w, by in found.items()
        }
        lower |= {
            f"{w}, by the tables": bool((np.diff([r.tables for r in by]) < 0).all())
            for w, by in found.items()
        }
        verdict("the increase of l lowers the information loss", lower)
        verdict(
            "but raises the relative error rate. (by its mean)",
            {w: bool((np.diff([middle(r.mean) for r in by]) > 0).all()) for w, by in found.items()},
        )
        verdict(
            "the same, by its median",
            {
                w: bool((np.diff([middle(r.median) for r in by]) > 0).all())
                for w, by in found.items()
            },
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument(
        "--sample",
        type=int,
        help="of intervals, measure what linkage discloses of so many persons only",
    )
    asked = parser.parse_args()
    figures = Figures(asked.runs, asked.queries, asked.sample)
    figures.figure_5()
    figures.figures_6_to_9()
    figures.figure_10()


if __name__ == "__main__":
    main()
