# SPDX-License-Identifier: Apache-2.0
"""Wong, Fu, Liu, Wang and Xu, figure by figure, for ``experiments/page.py``.

The series is made as in section 8: the tuples are reactions, so that a person whose reactions stand
in several parts is in several releases; ``vaers.py`` takes whole reports instead.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from charts import Panel, line
from claims import Claim, Figure, Paper, Variant
from vaers import rare

from phalanx.guarantees.views.groups import Groups
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.methods.global_guarantee.ratios import constant_ratio, nlow
from series import VAERS, paper_series, publish, reports

ROUNDS, FIVE = 20, 5
MOST = 7
"""Digits after the point, at most, that tell two means apart."""


# Table 1 and Figure 5: arithmetic


PRINTED = {(2, 2): 3.44, (2, 5): 7.75, (2, 20): 29.41, (5, 20): 90.13, (10, 20): 190.33,
           (2, 10): 15.10, (5, 10): 45.35, (10, 10): 95.42}  # fmt: skip
"""By (l, k')."""


def ratios(_: Variant) -> dict[tuple[int, int], float]:
    return {key: constant_ratio(Fraction(key[0]), key[1]) for key in PRINTED}


def same(found: dict[tuple[int, int], float]) -> int:
    return sum(round(found[key], 2) == printed for key, printed in PRINTED.items())


def rises(values: Sequence[float]) -> bool:
    return all(a < b for a, b in pairwise(values))


TABLE_1 = Figure(
    name="Table 1",
    shows="the constant ratio n_c by l and k'",
    measured=ratios,
    setting="The formula above the table in the paper, 1/(1 - (1 - 1/l)^(1/k')).",
    claims=[
        Claim(
            says=", ".join(f"{printed:g}" for printed in PRINTED.values()),
            rule="all eight values, to two digits",
            ours=lambda f: ", ".join(f"{f[key]:.2f}" for key in PRINTED),
            holds=lambda f: same(f) == len(PRINTED),
            why="seven of the paper's eight values are not those of its own formula",
        ),
        Claim(
            says="n_c increases with l, and with k'",
            ours=lambda f: f"{f[2, 20]:.2f}, {f[5, 20]:.2f}, {f[10, 20]:.2f} at k' = 20",
            holds=lambda f: (
                rises([f[l, 20] for l in (2, 5, 10)]) and rises([f[2, k] for k in (2, 5, 10, 20)])
            ),
        ),
    ],
)


def geometric(l: int, alpha: float, exposures: int = 15) -> list[float]:
    """The ratio at each exposure."""
    found, survival = [], 1.0
    for _ in range(exposures):
        found.append(alpha * float(nlow([survival], Fraction(l))[0]))
        survival *= 1 - 1 / found[-1]
    return found


def growth(_: Variant) -> dict[str, dict[float, list[float]]]:
    return {
        "alpha": {a: geometric(2, a) for a in (3, 5, 10)},
        "l": {l: geometric(int(l), 5) for l in (2, 5, 10)},
    }


def by_exposure(found: dict[float, list[float]], name: str, title: str) -> Panel:
    places = range(1, 16)
    lines = {f"{name} = {at:g}": line(places, values) for at, values in found.items()}
    return Panel(title, "exposures to the value", lines, log_y=True)


FIGURE_5 = Figure(
    name="Figure 5",
    shows="the geometric strategy's ratio over a person's exposures",
    measured=growth,
    setting="l = 2 and alpha = 3, 5, 10; alpha = 5 and l = 2, 5, 10; 15 exposures. Arithmetic.",
    claims=[
        Claim(
            says="when k increases, the ratio increases",
            ours=lambda f: "; ".join(
                f"alpha = {a}: {r[0]:g} to {r[-1]:,.0f}" for a, r in f["alpha"].items()
            ),
            holds=lambda f: all(rises(r) for lines in f.values() for r in lines.values()),
        ),
        Claim(
            says="with a larger alpha the initial ratio is larger and it grows less",
            rule="ratio of the tenth to the first",
            ours=lambda f: ", ".join(f"{r[9] / r[0]:,.1f}" for r in f["alpha"].values()),
            holds=lambda f: (
                rises([r[0] for r in f["alpha"].values()])
                and rises([-r[9] / r[0] for r in f["alpha"].values()])
            ),
        ),
        Claim(
            says="when l increases, the ratio increases",
            ours=lambda f: (
                ", ".join(f"l = {l}: {r[9]:,.0f}" for l, r in f["l"].items()) + " at the tenth"
            ),
            holds=lambda f: all(rises(at) for at in zip(*f["l"].values(), strict=True)),
        ),
        Claim(
            says="alpha = 5 and 10 are better choices than 3, as the increase is much slower",
            rule="smaller at the fifteenth exposure",
            ours=lambda f: ", ".join(f"{r[-1]:,.0f}" for r in f["alpha"].values()),
            holds=lambda f: f["alpha"][3][-1] > max(f["alpha"][5][-1], f["alpha"][10][-1]),
        ),
    ],
    panels=lambda f: [
        by_exposure(f["alpha"], "alpha", "(a) by alpha, l = 2"),
        by_exposure(f["l"], "l", "(b) by l, alpha = 5"),
    ],
)


# Figures 6 to 9: the series of section 8


@dataclass(frozen=True)
class Rounds:
    """What was measured in each round."""

    error: list[float]
    average: list[float]
    """Rows of a group."""
    protected: list[float]
    """Members of a group that holds a protected value, registered persons among them."""
    largest: list[float]
    seconds: list[float]
    """Of the processor, so that others on the machine do not count."""
    suppressed: int
    persons: int
    releases: float
    """In how many releases a person is."""


@cache
def series(variant: Variant) -> tuple[list[pl.DataFrame], pl.DataFrame, list[str]]:
    """The tables of all rounds, the registry, and what is protected."""
    persons = reports()
    if variant == "quick":
        persons = persons.sample(fraction=0.1, seed=1)
    tuples = persons.explode("reactions").rename({"reactions": "reaction"})
    tables = [
        table.group_by(persons.columns[:-1], maintain_order=True).agg(
            reactions=pl.col("reaction").unique().sort()
        )
        for table in paper_series(tuples, "reaction", ROUNDS)
    ]
    return tables, persons.drop("reactions"), rare(persons, 0.1)


@cache
def rounds(variant: Variant, strategy: str, at: float, l: int) -> Rounds:
    tables, registry, protected = series(variant)
    takes = {"constant-ratio": "horizon", "geometric": "alpha"}
    settings: dict[str, Any] = {takes[strategy]: at} if strategy in takes else {}
    method = GlobalGuarantee(
        l=l,
        strategy=strategy,
        protect=protected,
        expected_later=protected,
        grouping="bottom-up",
        **settings,
    )
    with tempfile.TemporaryDirectory() as folder:
        run = publish(
            tables,
            name="reports",
            schema=VAERS,
            method=method,
            to=Path(folder),
            registry=registry,
            queries=100 if variant == "quick" else 5000,
        )
        sizes = [Groups.of(release).members.sizes for release in run.releases]
    persons = pl.concat([table.select("vaers_id") for table in tables])
    return Rounds(
        [float(x.error or 0) for x in run.lines],
        [float(s.mean()) for s in sizes],
        [x.average for x in run.lines],
        [float(max(s.max(), x.largest)) for s, x in zip(sizes, run.lines, strict=True)],
        [x.processor for x in run.lines],
        sum(x.suppressed for x in run.lines),
        persons.n_unique(),
        persons.height / persons.n_unique(),
    )


Sweep = dict[str, Rounds]


def some(variant: Variant, *places: float) -> list[float]:
    """All places of a sweep, or all but the third."""
    return [*places[:2], places[3]] if variant == "quick" else list(places)


def by_l(strategy: str, at: float, variant: Variant) -> Sweep:
    return {
        f"l = {l}": rounds(variant, strategy, at, l) for l in map(int, some(variant, 2, 3, 5, 7))
    }


def by_horizon(variant: Variant) -> Sweep:
    return {
        f"k' = {k:g}": rounds(variant, "constant-ratio", k, 2) for k in some(variant, 5, 10, 15, 20)
    }


def by_alpha(variant: Variant) -> Sweep:
    return {
        f"alpha = {a:g}": rounds(variant, "geometric", a, 2) for a in some(variant, 1.5, 2, 3, 4)
    }


def defaults(variant: Variant) -> Sweep:
    """Section 8's own k' and alpha, the least alpha of the sweep, and a strategy of ours; l = 2."""
    return {
        "constant ratio, k' = 20": rounds(variant, "constant-ratio", 20, 2),
        "geometric, alpha = 2": rounds(variant, "geometric", 2, 2),
        "geometric, alpha = 1.5": rounds(variant, "geometric", 1.5, 2),
        "adaptive": rounds(variant, "adaptive", 0, 2),
    }


def means(found: Sweep, what: str) -> list[float]:
    return [float(np.mean(getattr(r, what))) for r in found.values()]


def moved(found: Sweep, what: str) -> list[float]:
    """The last five rounds beside rounds two to six (the first has nothing of the one before), for
    each line.
    """
    return [
        float(np.mean(v[-FIVE:]) / np.mean(v[1 : FIVE + 1]))
        for v in (getattr(r, what) for r in found.values())
    ]


def flat(what: str, words: str, within: float, why: str = "") -> Claim:
    return Claim(
        says=f"{words} remains nearly unchanged over the rounds",
        rule=f"the last five rounds beside the second to the sixth, within a factor of {within:g}",
        ours=lambda f: f"{min(moved(f, what)):.2f} to {max(moved(f, what)):.2f} times",
        holds=lambda f: all(abs(np.log(ratio)) <= np.log(within) for ratio in moved(f, what)),
        why=why,
    )


def apart(values: Sequence[float], digits: int) -> str:
    """Numbers with so many digits, and with more where two that differ would read the same."""
    while digits < MOST and len({f"{v:.{digits}f}" for v in values}) < len(set(values)):
        digits += 1
    return ", ".join(f"{v:.{digits}f}" for v in values)


def grows(what: str, words: str, why: str | Callable[[Any], str] = "", digits: int = 2) -> Claim:
    return Claim(
        says=words,
        rule="means over the rounds rise at every step",
        ours=lambda f: apart(means(f, what), digits),
        holds=lambda f: rises(means(f, what)),
        why=why,
    )


NO_ORDER = "seconds of the processor are in no order: neither the paper's nor its reverse"
MEANS = (
    "a mean of relative errors of few queries is made by those for almost nobody; with 5,000 of all "
    "reports the first and the last rounds are level (`vaers.py`)"
)
FEW = (
    "only the tenth of the reactions that is rarest is protected, so that hardly a group holds one; "
    "all others have the least size, whatever the strategy asks"
)


ONE = (
    "the largest group of a round is one person's, who was exposed most often before: in one round of "
    "the twenty it is many times as large as in the others, which are level and in order"
)


def claims(of: str, time: Sequence[Claim] = (), *, sized: str = "") -> list[Claim]:
    return [
        flat("error", "the average relative error", 1.25, MEANS),
        grows("error", f"the error increases with {of}", FEW if sized else ""),
        flat("average", "the average group size", 1.25),
        flat("largest", "the largest group", 2, ONE),
        grows("average", f"the average group size increases with {of}", FEW if sized else ""),
        grows("protected", f"the same, of groups that hold a protected value, with {of}"),
        grows("largest", f"the largest group increases with {of}", sized or ONE, 0),
        flat("seconds", "the execution time", 2),
        *time,
    ]


def panels(found: Sweep) -> list[Panel]:
    places = range(1, ROUNDS + 1)
    return [
        Panel(
            f"({letter}) {title}",
            "round",
            {name: line(places, getattr(r, what)) for name, r in found.items()},
        )
        for letter, title, what in (
            ("a", "relative error, %", "error"),
            ("b", "average size, with a protected value", "protected"),
            ("c", "largest group", "largest"),
            ("d", "seconds of the processor", "seconds"),
        )
    ]


SETTING = (
    "85,768 vaccine reports, those with age and state, and their 289,908 reactions instead of the "
    "hospital database, 20 rounds, 5,000 queries a round, all reports as the registry, groups grown "
    "around holders. Seconds are of the processor."
)
QUICKLY = "a tenth of the persons, 100 queries, three places of each sweep instead of four."


def sweep(
    name: str, shows: str, measured: Callable[[Variant], Sweep], said: Sequence[Claim], note: str
) -> Figure:
    first = name == "Figure 6"
    return Figure(
        name=name,
        shows=shows,
        measured=measured,
        claims=said,
        setting=f"{SETTING if first else 'As in Figure 6.'} {note}",
        quickly=QUICKLY if first else "",
        panels=panels,
    )


def unordered(found: Sweep) -> str:
    """What is said where the seconds are in no order at all."""
    return "" if rises(means(found, "seconds")[::-1]) else NO_ORDER


LONGER = grows("seconds", "with a larger l the execution time is larger", unordered)
NO_TREND = Claim(
    says="no consistent trend of the execution time",
    rule="the means do not rise at every step",
    ours=lambda f: ", ".join(f"{v:.2f} s" for v in means(f, "seconds")),
    holds=lambda f: not rises(means(f, "seconds")),
)
NEVER: Mapping[str, Callable[[Sweep], Any]] = {
    "ours": lambda f: (
        f"{sum(r.suppressed for r in f.values())} values in {len(f)} series; each of"
        f" {next(iter(f.values())).persons:,} persons is in"
        f" {next(iter(f.values())).releases:.2f} releases"
    ),
    "holds": lambda f: not any(r.suppressed for r in f.values()),
}
NOT_NEEDED = Claim(
    says="suppression has not been found needed (6.3)",
    why="k' exposures are planned for, and who is exposed once more is published without the value",
    **NEVER,
)
SIZED = Claim(
    says="the mean size of groups that hold a protected value",
    rule="the paper prints none of it; adaptive is ours",
    ours=lambda f: "; ".join(
        f"{name}: {v:.2f}" for name, v in zip(f, means(f, "protected"), strict=True)
    ),
    holds=lambda _: None,
)
CAPTION = "As in the caption, {}; section 8 names {} as the default."

PAPER = Paper(
    title="The global guarantee, Wong, Fu, Liu, Wang and Xu (ICDE 2010, longer version)",
    figures=[
        TABLE_1,
        FIGURE_5,
        sweep(
            "Figure 6",
            "effect of l, constant ratio, k' = 3",
            partial(by_l, "constant-ratio", 3),
            [*claims("l", [LONGER]), NOT_NEEDED],
            CAPTION.format("k' = 3", "20"),
        ),
        sweep(
            "Figure 7",
            "effect of l, geometric, alpha = 3",
            partial(by_l, "geometric", 3),
            [*claims("l", [NO_TREND]), NOT_NEEDED],
            CAPTION.format("alpha = 3", "2"),
        ),
        sweep(
            "Figure 8",
            "effect of k', constant ratio, l = 2",
            by_horizon,
            [*claims("k'", [NO_TREND], sized=FEW), NOT_NEEDED],
            "Which k' the paper draws is in its picture only.",
        ),
        sweep(
            "Figure 9",
            "effect of alpha, geometric, l = 2",
            by_alpha,
            [
                *claims(
                    "alpha",
                    [NO_TREND],
                    sized=(
                        "a larger alpha begins with larger groups and grows less (Figure 5a): who "
                        "is exposed often needs larger ones with a small alpha"
                    ),
                ),
                NOT_NEEDED,
            ],
            "Which alpha the paper draws is in its picture only.",
        ),
        Figure(
            name="Section 8",
            shows="the defaults that the text names, and a third strategy",
            measured=defaults,
            claims=[SIZED, NOT_NEEDED],
            setting="As in Figure 6, l = 2.",
        ),
    ],
    not_made={
        "Figures 1 to 4": (
            "worked examples, to the digit in `tests/papers/test_global_guarantee.py`"
        )
    },
)
