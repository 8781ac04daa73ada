# SPDX-License-Identifier: Apache-2.0
"""Li, Ma, Xi, Zhang, Xie and Shang, figure by figure, for ``experiments/page.py``; what is measured
is ``figures.py``'s, where more of it is printed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from census import P_MATCH, QUASI, Floats, census
from charts import Panel, line, runs
from claims import Claim, Figure, Paper, Variant
from figures import ATTRIBUTE, DELTAS, DIVERSE, IDENTITY, LARGER, WAYS, Figures, Runs, middle
from measures import errors_of_intervals, loss_of_intervals

AT = {p: i for i, p in enumerate(P_MATCH)}
KINDS = {"identity": IDENTITY, "attribute": ATTRIBUTE}
ON_AVERAGE: dict[str, Callable[[Floats], Floats]] = {
    "mean": lambda errors: errors.mean(axis=1),
    "variance": lambda errors: errors.var(axis=1),
    "median": lambda errors: np.median(errors, axis=1),
}


@cache
def measuring(variant: Variant) -> Figures:
    return Figures(2, 300, 2000) if variant == "quick" else Figures(10, 1000, None)


Covered = dict[str, list[Runs]]
"""By way, along delta or l."""


def some(places: Sequence[Any], variant: Variant) -> list[Any]:
    """All of them, or every second one."""
    return list(places[::2]) if variant == "quick" else list(places)


def shown(places: Sequence[Any], measured: Sequence[Any]) -> list[str]:
    """What stands below so many of them."""
    return list(map(str, places if len(places) == len(measured) else some(places, "quick")))


@cache
def by_delta(variant: Variant) -> Covered:
    figures = measuring(variant)
    return {way: [figures.cover(way, d, 10) for d in some(DELTAS, variant)] for way in WAYS}


@dataclass(frozen=True)
class Compared:
    """MuCo beside Mondrian and Anatomy, both along l."""

    covered: Covered
    disclosed: list[Floats]
    """By Mondrian: identity and attribute disclosure at every P_match."""
    loss: list[float]
    """Of Mondrian."""
    errors: dict[str, list[Floats]]
    """By way, each shape (runs, queries)."""

    def by(self, what: str) -> dict[str, list[float]]:
        """A figure of the errors by way, in the middle of the runs."""
        return {
            way: [middle(ON_AVERAGE[what](errors)) for errors in by]
            for way, by in self.errors.items()
        }


@cache
def beside(variant: Variant) -> Compared:
    figures = measuring(variant)
    diverse = some(DIVERSE, variant)
    boxed = [figures.mondrian(l) for l in diverse]
    covered = by_delta(variant)
    errors = {way: [r.errors for r in by] for way, by in covered.items()}
    errors["Mondrian"] = [errors_of_intervals(form, figures.asked)[None, :] for form, _ in boxed]
    errors["Anatomy"] = [figures.anatomy(l) for l in diverse]
    return Compared(
        covered,
        [disclosed for _, disclosed in boxed],
        [loss_of_intervals(form)[0] for form, _ in boxed],
        errors,
    )


def by_l(variant: Variant) -> Covered:
    figures = measuring(variant)
    return {way: [figures.cover(way, "1/6", l) for l in some(LARGER, variant)] for way in WAYS}


def table_1(_: Variant) -> list[int]:
    return [census()[name].n_unique() for name in [*QUASI, census().columns[-1]]]


def disclosure(found: Covered) -> dict[str, Floats]:
    """The middle of the runs by way, shape (deltas, 2, P_match)."""
    return {way: np.median([r.disclosed for r in by], axis=1) for way, by in found.items()}


def everywhere(found: Covered, asked: Callable[[Floats], bool]) -> bool:
    return all(asked(m) for m in disclosure(found).values())


def which(found: Covered, asked: Callable[[Floats], bool]) -> str:
    """Of which way it holds."""
    return "; ".join(
        f"{way}: {'yes' if asked(m) else 'no'}" for way, m in disclosure(found).items()
    )


def at_p(found: Covered, p: str, kind: str = "identity") -> str:
    return "; ".join(
        f"{way}: " + ", ".join(f"{1000 * v:.1f}" for v in m[:, KINDS[kind], AT[p]])
        for way, m in disclosure(found).items()
    )


def on_figure_5(
    says: str, asked: Callable[[Floats], bool], ours: Callable[[Covered], str] | None = None
) -> Claim:
    return Claim(
        says=says,
        rule="for both kinds, every delta, both ways",
        ours=ours or (lambda f: which(f, asked)),
        holds=lambda f: everywhere(f, asked),
    )


SETTING = (
    "The authors' own 40,152 rows, l = 10, ten runs; *the paper's way* is the paper's algorithm, "
    '*ours* our tables of least cost (`outputs = "least-cost"`) in the same diverse groups.'
)
QUICKLY = (
    "every second delta and l, two runs, 300 queries, Mondrian's disclosure for 2,000 persons."
)

FIGURE_5 = Figure(
    name="Figure 5",
    shows="disclosure of MuCo by delta, for each P_match",
    measured=by_delta,
    setting=SETTING + " In thousandths.",
    quickly=QUICKLY,
    claims=[
        on_figure_5(
            "identity and attribute disclosure decrease with delta (below P = 1)",
            lambda m: bool((np.diff(m[:, :, :-1], axis=0) < 0).all()),
            lambda f: f"identity, P = 0.7: {at_p(f, '0.7')}",
        ),
        on_figure_5(
            "identity disclosure keeps at 0 for P = 1",
            lambda m: bool((m[:, IDENTITY, -1] == 0).all()),
            lambda f: at_p(f, "1"),
        ),
        on_figure_5(
            "disclosure increases when P rises from 0.3 to 0.7",
            lambda m: bool((np.diff(m[:, :, :3], axis=2) > 0).all()),
        ),
        on_figure_5(
            "very similar when P are 0.7 and 0.8 (within 10 %)",
            lambda m: bool((abs(m[:, :, 3] / m[:, :, 2] - 1) < 0.1).all()),
        ),
        on_figure_5(
            "reduces when P is greater than 0.8",
            lambda m: bool((np.diff(m[:, :, 3:], axis=2) < 0).all()),
        ),
    ],
    panels=lambda f: [
        Panel(
            f"{kind}, P = {p}",
            "delta",
            {
                way: runs(range(len(by)), [r.disclosed[:, which, AT[p]].tolist() for r in by])
                for way, by in f.items()
            },
            places=shown(DELTAS, f["ours"]),
        )
        for p in P_MATCH
        for kind, which in KINDS.items()
    ],
)


def ends(values: Sequence[float], digits: int = 3) -> str:
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def of_boxes(found: Compared) -> list[float]:
    """Mondrian's disclosure at P = 1, the mean of both kinds, along l."""
    return [float(d[:, AT["1"]].mean()) for d in found.disclosed]


def of_covers(found: Compared) -> dict[str, list[float]]:
    """MuCo's at P = 0.7, along delta."""
    return {
        way: m[:, :, AT["0.7"]].mean(axis=1).tolist()
        for way, m in disclosure(found.covered).items()
    }


def gap(found: Compared) -> float:
    return max(float(abs(d[0, -1] - d[1, -1]) / d[0, -1]) for d in found.disclosed)


FIGURE_6 = Figure(
    name="Figure 6",
    shows="disclosure of Mondrian by l",
    measured=beside,
    setting="As in Figure 5. P of Mondrian is not given; here P = 1, all quasi-identifiers.",
    claims=[
        Claim(
            says="similar to that of MuCo in Figure 5(c)",
            rule="between half of Mondrian's least and twice its greatest",
            ours=lambda f: (
                f"Mondrian {ends(of_boxes(f))}; "
                + "; ".join(f"{way} {ends(by)}" for way, by in of_covers(f).items())
            ),
            holds=lambda f: all(
                min(of_boxes(f)) / 2 <= min(by) and max(by) <= 2 * max(of_boxes(f))
                for by in of_covers(f).values()
            ),
        ),
        Claim(
            says="identity and attribute disclosure are the same under l-diversity",
            rule="within 10 %",
            ours=lambda f: f"the greatest gap is {gap(f):.0%}",
            holds=lambda f: gap(f) < 0.1,
            why="others of a group have a person's salary, too, so that more is disclosed of it",
        ),
    ],
    panels=lambda f: [
        Panel(
            "Mondrian, P = 1",
            "l",
            {
                kind: line(range(len(f.loss)), [float(d[which, -1]) for d in f.disclosed])
                for kind, which in KINDS.items()
            },
            places=shown(DIVERSE, f.loss),
        )
    ],
)


def losses(found: Covered) -> dict[str, list[float]]:
    return {way: [middle(r.loss) for r in by] for way, by in found.items()}


AFTERWARDS = (
    "not in the paper's way: half to two thirds of its loss is made afterwards, on the rows that came "
    "out unchanged, and of these there are more the greater delta is; the tables' own loss does rise"
)

FIGURE_7 = Figure(
    name="Figure 7",
    shows="information loss (ILoss)",
    measured=beside,
    setting="As in Figure 5. A row's sum over seven attributes.",
    claims=[
        Claim(
            says="the loss of MuCo increases as delta decreases",
            rule="in both ways, at every step",
            ours=lambda f: "; ".join(
                f"{way}: " + ", ".join(f"{v:.3f}" for v in by)
                for way, by in losses(f.covered).items()
            ),
            holds=lambda f: all(
                a < b for by in losses(f.covered).values() for a, b in pairwise(by)
            ),
            why=AFTERWARDS,
        ),
        Claim(
            says="much less than that of Mondrian",
            rule="at most half, for every delta and l",
            ours=lambda f: (
                f"{ends([v for by in losses(f.covered).values() for v in by])} beside "
                + ends(f.loss)
            ),
            holds=lambda f: (
                2 * max(v for by in losses(f.covered).values() for v in by) < min(f.loss)
            ),
        ),
    ],
    panels=lambda f: [
        Panel(
            "(a) MuCo",
            "delta",
            {
                way: runs(range(len(by)), [r.loss.tolist() for r in by])
                for way, by in f.covered.items()
            },
            places=shown(DELTAS, f.loss),
        ),
        Panel(
            "(b) Mondrian",
            "l",
            {"Mondrian": line(range(len(f.loss)), f.loss)},
            places=shown(DIVERSE, f.loss),
        ),
    ],
)


def better(found: Compared, what: str) -> bool:
    by = found.by(what)
    return max(v for way in WAYS for v in by[way]) < min(
        v for way in ("Mondrian", "Anatomy") for v in by[way]
    )


def each(found: Compared, what: str) -> str:
    return "; ".join(f"{way} {ends(by, 2)}" for way, by in found.by(what).items())


FEW = (
    "a mean or a variance of relative errors is made by a few queries for almost nobody: the same "
    "setting has variances from 5 to 961 in ten runs"
)


def errors_figure(name: str, shows: str, what: str, more: Sequence[Claim]) -> Figure:
    return Figure(
        name=name,
        shows=shows,
        measured=beside,
        setting="As in Figure 5. 1,000 sums of salaries by four attributes.",
        claims=[
            Claim(
                says="much better than Mondrian and Anatomy",
                rule=f"the {what} is less for every delta than for any l",
                ours=lambda f: each(f, what),
                holds=lambda f: better(f, what),
                why=FEW,
            ),
            *more,
        ],
        panels=lambda f: [
            Panel(
                f"{what} of errors, {'MuCo' if names == tuple(WAYS) else names[0]}",
                across,
                {
                    way: runs(
                        range(len(f.loss)), [ON_AVERAGE[what](e).tolist() for e in f.errors[way]]
                    )
                    for way in names
                },
                places=shown(places, f.loss),
                log_y=True,
            )
            for names, across, places in (
                (tuple(WAYS), "delta", DELTAS),
                (("Mondrian",), "l", DIVERSE),
                (("Anatomy",), "l", DIVERSE),
            )
        ],
    )


FIGURE_8 = errors_figure(
    "Figure 8",
    "average relative error of sums",
    "mean",
    [
        Claim(
            says="the same, by the median, which the paper does not print",
            rule="less for every delta than for any l",
            ours=lambda f: each(f, "median"),
            holds=lambda f: better(f, "median"),
        ),
        Claim(
            says="the error of MuCo does not increase steadily as delta falls but fluctuates",
            rule="in both ways the mean does not rise at every step",
            ours=lambda f: "; ".join(
                f"{way}: " + ", ".join(f"{v:.2f}" for v in f.by("mean")[way]) for way in WAYS
            ),
            holds=lambda f: (
                not any(all(a < b for a, b in pairwise(f.by("mean")[way])) for way in WAYS)
            ),
            why=FEW,
        ),
    ],
)
FIGURE_9 = errors_figure("Figure 9", "variance of the relative errors", "variance", [])


def along_l(found: Covered, what: str) -> dict[str, list[float]]:
    return {way: [middle(getattr(r, what)) for r in by] for way, by in found.items()}


def steps(of: dict[str, list[float]], digits: int = 3) -> str:
    return "; ".join(
        f"{way}: " + ", ".join(f"{v:.{digits}f}" for v in by) for way, by in of.items()
    )


FIGURE_10 = Figure(
    name="Figure 10",
    shows="influence of attribute protection, delta = 1/6",
    measured=by_l,
    setting="As in Figure 5, with l from 10 to 20.",
    claims=[
        Claim(
            says="the increase of l lowers the information loss",
            rule="in both ways, from the least l to the greatest",
            ours=lambda f: steps(along_l(f, "loss")),
            holds=lambda f: all(by[-1] < by[0] for by in along_l(f, "loss").values()),
            why=(
                "in the paper's way rows are changed afterwards to any value of a wider group; the "
                "tables themselves lose less"
            ),
        ),
        Claim(
            says="but raises the relative error rate",
            rule="in both ways, the median, from the least l to the greatest",
            ours=lambda f: steps(along_l(f, "median")),
            holds=lambda f: all(by[-1] > by[0] for by in along_l(f, "median").values()),
            why="in ours it falls: in larger groups rows are hardly changed, and easier to link",
        ),
    ],
    panels=lambda f: [
        Panel(
            title,
            "l",
            {
                way: runs(range(len(by)), [getattr(r, what).tolist() for r in by])
                for way, by in f.items()
            },
            places=shown(LARGER, f["ours"]),
        )
        for title, what in (("(a) ILoss", "loss"), ("(b) median error", "median"))
    ],
)

TABLE_1 = Figure(
    name="Table 1",
    shows="sizes of the domains",
    measured=table_1,
    setting="How many values of each attribute stand in the table.",
    claims=[
        Claim(
            says="2, 55, 13, 6, 9, 10, 95, 851",
            rule="in any order of the attributes",
            ours=lambda f: ", ".join(map(str, f)),
            holds=lambda f: sorted(f) == sorted([2, 55, 13, 6, 9, 10, 95, 851]),
            why="some values of the declared domains occur in no row of the extract",
        )
    ],
)

PAPER = Paper(
    title="Mutual cover, Li, Ma, Xi, Zhang, Xie and Shang",
    figures=[TABLE_1, FIGURE_5, FIGURE_6, FIGURE_7, FIGURE_8, FIGURE_9, FIGURE_10],
    not_made={
        "Figures 1 to 4": (
            "the running example; its tables are pictures that the text does not repeat, and its "
            "properties are tested in `tests/papers/test_mutual_cover.py`"
        ),
        "Box plots": "lines with their least and greatest value stand for boxes",
    },
)
