# SPDX-License-Identifier: Apache-2.0
"""Li, Li, Zhang and Molloy, figure by figure, for ``experiments/page.py``."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from math import log

import numpy as np
import polars as pl
from adult import OCC_7, OCC_15, SENSITIVE, codes_of, microdata, publish, random_slices
from charts import Panel, line
from claims import Claim, Figure, Paper, Variant
from learning import Way, accuracies, original, published, relinked
from membership import CLUSTERED, ranked

from phalanx.data.correlation import phi2
from phalanx.methods.slicing.method import Slicing

TABLES = {"OCC-7": OCC_7, "OCC-15": OCC_15}
WAYS = ("slicing", "bucketization", "generalization")
CLASSIFIERS = ("decision tree", "naive Bayes")
MEMBERSHIP_SIZES = (10, 100, 500, 1000)
QUICK_SIZES = (10, 100)


# The table


def closest(_: Variant) -> dict[str, object]:
    """The attributes of both tables by phi² with occupation, and how often each combination of
    quasi-identifiers stands.
    """
    found: dict[str, object] = {}
    for name, quasi in TABLES.items():
        table = microdata(quasi)
        near = phi2([table.columns[n] for n in [*quasi, SENSITIVE]])[-1, :-1]
        found[name] = [quasi[i] for i in np.argsort(-near)]
        counts = np.bincount(codes_of(table, quasi))
        found[f"{name}, combinations"] = len(counts)
        found[f"{name}, once"] = float((counts == 1).sum() / table.rows)
    return found


THE_TABLE = Figure(
    name="Section 6",
    shows="the two tables",
    measured=closest,
    setting="UCI Adult, the 45,222 complete rows; phi² with 10 bins.",
    claims=[
        Claim(
            says="in OCC-7 closest to occupation is sex, then education",
            ours=lambda f: ", ".join(f["OCC-7"][:3]),
            holds=lambda f: f["OCC-7"][:2] == ["sex", "education"],
            why=(
                "workclass stands between them; education as a number, in 5 or 10 bins, stands "
                "before workclass"
            ),
        ),
        Claim(
            says="in OCC-15 sex, then salary",
            ours=lambda f: ", ".join(f["OCC-15"][:3]),
            holds=lambda f: f["OCC-15"][:2] == ["sex", "income"],
        ),
        Claim(
            says="in both, each combination of quasi-identifiers occurs exactly once (6.3)",
            rule="for 99 % of the rows",
            ours=lambda f: "; ".join(
                f"{n}: {f[f'{n}, combinations']:,} combinations, {f[f'{n}, once']:.0%} of the rows"
                " alone"
                for n in TABLES
            ),
            holds=lambda f: all(f[f"{n}, once"] >= 0.99 for n in TABLES),
            why="not so in OCC-7, which leaves out what tells rows apart",
        ),
    ],
)


# Section 4.2: column generalization


@dataclass(frozen=True)
class Often:
    """How often the values of a sensitive column stand in the table, where k was asked for."""

    boxes: int
    fewest_of_box: int
    values: int
    """A box of quasi-identifiers and a sensitive value."""
    below_k: int
    fewest: int


GENERALIZED_K = 50


def generalized_columns(_: Variant) -> dict[str, Often]:
    """Of OCC-7, by the sensitive column: five columns by clusters, and two of a given size."""
    table, found = microdata(OCC_7), {}
    for asked in ({"columns": 5}, {"sensitive_column_size": 4}, {"sensitive_column_size": 5}):
        method = Slicing(l=1, generalize_columns_k=GENERALIZED_K, **asked)
        part = publish(method, table, 1).form.parts[-1]
        values = [name for name in part.columns if name not in ("bucket", "count")]
        quasi = [name for name in values if name != SENSITIVE]
        of_box, of_value = (
            part.group_by(names).agg(pl.col("count").sum())["count"] for names in (quasi, values)
        )
        short = [name.removesuffix("_low") for name in quasi if not name.endswith("_high")]
        found[", ".join(short)] = Often(
            of_box.len(),
            of_box.min(),
            of_value.len(),
            int((of_value < GENERALIZED_K).sum()),
            of_value.min(),
        )
    return found


GENERALIZATION = Figure(
    name="Section 4.2",
    shows="column generalization",
    measured=generalized_columns,
    setting=(
        "OCC-7 with `generalize_columns_k = 50`, by the quasi-identifiers that share a column with "
        "occupation. Column generalization is no part of the paper's experiments."
    ),
    claims=[
        Claim(
            says="each column value appears with at least some frequency",
            rule="50, of the quasi-identifiers of the sensitive column",
            ours=lambda f: "; ".join(
                f"{{{n}}}: {o.boxes:,} intervals, {o.fewest_of_box:,} rows at least"
                for n, o in f.items()
            ),
            holds=lambda f: all(o.fewest_of_box >= GENERALIZED_K for o in f.values()),
        ),
        Claim(
            says="the same",
            rule="50, of the whole sensitive column",
            ours=lambda f: "; ".join(
                f"{{{n}}}: {o.below_k:,} of {o.values:,} below, the rarest {o.fewest}"
                for n, o in f.items()
            ),
            holds=lambda f: not any(o.below_k for o in f.values()),
            why=(
                "intervals are made of quasi-identifiers, and the sensitive value stands beside "
                "them as it is, so that both together may stand once"
            ),
        ),
    ],
)


# Figures 3 to 5: what classifiers learn


@dataclass(frozen=True)
class Learned:
    """Accuracies by (table, classifier, l) and way."""

    of: dict[tuple[str, str, int], dict[str, float]]
    original: dict[tuple[str, str], float]


def scale(variant: Variant) -> tuple[Sequence[str], Sequence[int], int, int]:
    """Tables, l, folds, and how often tables are put together at random."""
    return (["OCC-7"], (5, 10), 3, 1) if variant == "quick" else (list(TABLES), (5, 8, 10), 10, 5)


@cache
def learned(target: str, variant: Variant) -> Learned:
    names, diversities, folds, relinks = scale(variant)
    of: dict[tuple[str, str, int], dict[str, float]] = {}
    ceiling: dict[tuple[str, str], float] = {}
    for name in names:
        table = microdata(TABLES[name])
        for l in diversities:
            ways = published(l, relinks) | ({"original": original} if l == diversities[0] else {})
            found = accuracies(
                table,
                ways,
                target,
                folds,
                without="education_num" if target == "education" else None,
            )
            for i, classifier in enumerate(CLASSIFIERS):
                of[name, classifier, l] = {way: found[way][i] for way in WAYS}
                if "original" in found:
                    ceiling[name, classifier] = found["original"][i]
    return Learned(of, ceiling)


def above(found: Learned, one: str, others: Sequence[str], by: float = 0.0) -> tuple[int, int]:
    """In how many cells one way is above all others by so much, and of how many."""
    cells = found.of.values()
    return sum(all(c[one] > c[o] + by for o in others) for c in cells), len(cells)


def cells(counted: tuple[int, int]) -> str:
    return f"in {counted[0]} of {counted[1]} cells"


def apart(found: Learned, one: str, other: str) -> str:
    """The least and the greatest difference, in points."""
    points = [100 * (c[one] - c[other]) for c in found.of.values()]
    return f"{min(points):+.1f} to {max(points):+.1f} points"


def lost(found: Learned, way: str) -> float:
    """The mean loss, in points, from the least l to the largest."""
    keys = sorted(found.of)
    ends = [(k, max(o for o in keys if o[:2] == k[:2])) for k in keys if k[2] == keys[0][2]]
    return float(np.mean([100 * (found.of[a][way] - found.of[b][way]) for a, b in ends]))


def accuracy_panels(found: Learned) -> list[Panel]:
    panels = []
    for name, classifier in found.original:
        at = sorted(l for n, c, l in found.of if (n, c) == (name, classifier))
        bars = {"original": line(range(len(at)), [found.original[name, classifier]] * len(at))}
        for way in reversed(WAYS):
            values = [found.of[name, classifier, l][way] for l in at]
            bars[way] = line(range(len(at)), values)
        places = [f"l = {l}" for l in at]
        panels.append(Panel(f"{classifier}, {name}", "accuracy", bars, places=places, bars=True))
    return panels


LEARNING = (
    "Distinct l-diversity by Mondrian, since as a bound on shares l = 5, 8 and 10 cannot be kept on "
    "this table; tested on original rows of the held-out fold; the tree stands for J48."
)
LEARNING_QUICKLY = (
    "OCC-7, l = 5 and 10, three folds instead of ten, put together once instead of five times."
)
BY_SEX = (
    "Mondrian cuts by sex first, so that every bucket is of one sex and a bucketized table tells "
    "what the column {sex, occupation} tells a sliced one; with random buckets slicing is 5 points "
    "above (`learning.py`)"
)

FIGURE_3 = Figure(
    name="Figure 3",
    shows="learning occupation",
    measured=partial(learned, SENSITIVE),
    setting=LEARNING,
    quickly=LEARNING_QUICKLY,
    claims=[
        Claim(
            says="in all experiments, slicing outperforms generalization",
            ours=lambda f: (
                f"{cells(above(f, 'slicing', ['generalization']))}, {apart(f, 'slicing', 'generalization')}"
            ),
            holds=lambda f: len(set(above(f, "slicing", ["generalization"]))) == 1,
            why="for the tree a generalized table with its bounds as features tells about as much",
        ),
        Claim(
            says="in all experiments, slicing outperforms bucketization",
            ours=lambda f: (
                f"{cells(above(f, 'slicing', ['bucketization']))}, {apart(f, 'slicing', 'bucketization')}"
            ),
            holds=lambda f: len(set(above(f, "slicing", ["bucketization"]))) == 1,
            why=BY_SEX,
        ),
        Claim(
            says="bucketization performs even slightly worse than generalization",
            rule="in every cell",
            ours=lambda f: apart(f, "bucketization", "generalization"),
            holds=lambda f: len(set(above(f, "generalization", ["bucketization"]))) == 1,
            why=BY_SEX,
        ),
        Claim(
            says="as l increases, generalization and bucketization deteriorate much faster than slicing",
            rule="from the least l to the largest, twice as much on average",
            ours=lambda f: ", ".join(f"{way} {lost(f, way):.1f} points" for way in WAYS),
            holds=lambda f: 2 * lost(f, "slicing") < min(lost(f, way) for way in WAYS[1:]),
            why=BY_SEX,
        ),
    ],
    panels=accuracy_panels,
)
FIGURE_4 = Figure(
    name="Figure 4",
    shows="learning education",
    measured=partial(learned, "education"),
    setting="As in Figure 3; education_num is left out of OCC-15, as it says what education is.",
    claims=[
        Claim(
            says="in all experiments, bucketization and slicing perform much better than generalization",
            rule="by more than 2 points",
            ours=lambda f: (
                f"slicing {apart(f, 'slicing', 'generalization')}, bucketization {apart(f, 'bucketization', 'generalization')}"
            ),
            holds=lambda f: all(
                len(set(above(f, way, ["generalization"], 0.02))) == 1 for way in WAYS[:2]
            ),
            why="naive Bayes loses less to generalization in OCC-15 at l = 5",
        ),
        Claim(
            says="the accuracies of bucketization and slicing are lower than that of the original data",
            ours=lambda f: "; ".join(
                f"{c}, {n}: {value:.1%}, slicing {max(f.of[k]['slicing'] for k in f.of if k[:2] == (n, c)):.1%} at most"
                for (n, c), value in f.original.items()
            ),
            holds=lambda f: all(
                max(cell[way] for way in WAYS[:2]) < f.original[key[:2]]
                for key, cell in f.of.items()
            ),
            why="equal within the noise of the folds: what occupation tells of education is little",
        ),
    ],
    panels=accuracy_panels,
)


def more_columns(variant: Variant) -> dict[str, dict[str, tuple[float, float]]]:
    """By target the accuracies of slicing with c columns, and of the other two, at l = 5."""
    names, _, folds, relinks = scale(variant)
    table = microdata(TABLES[names[-1]])
    ways: dict[str, Way] = {
        f"c = {c}": partial(
            relinked,
            Slicing(l=5, diversity="distinct", columns=c, sensitive_column_size=2),
            relinks,
        )
        for c in (2, 3, 5)
    }
    ways |= {way: published(5, relinks)[way] for way in WAYS[1:]}
    return {
        target: accuracies(
            table, ways, target, folds, without="education_num" if target == "education" else None
        )
        for target in (SENSITIVE, "education")
    }


C = ("c = 2", "c = 3", "c = 5")


def least(found: dict[str, tuple[float, float]], way: str) -> float:
    """How far, in points, slicing with any c is above another way at least."""
    return min(100 * (found[c][i] - found[way][i]) for c in C for i in range(2))


FIGURE_5 = Figure(
    name="Figure 5",
    shows="slicing into more columns, l = 5",
    measured=more_columns,
    setting="As in Figure 3, with OCC-15 as in the paper.",
    claims=[
        Claim(
            says="classification accuracy decreases only slightly when c increases",
            rule="by at most one point from c = 2 to 5",
            ours=lambda f: "; ".join(
                f"{target}: {100 * (by['c = 5'][0] - by['c = 2'][0]):+.1f} (tree), {100 * (by['c = 5'][1] - by['c = 2'][1]):+.1f} (Bayes)"
                for target, by in f.items()
            ),
            holds=lambda f: all(
                by["c = 2"][i] - by["c = 5"][i] <= 0.01 for by in f.values() for i in range(2)
            ),
        ),
        Claim(
            says="in all cases, slicing shows better accuracy than generalization",
            ours=lambda f: "; ".join(
                f"{target}: {least(by, 'generalization'):+.1f} points at least"
                for target, by in f.items()
            ),
            holds=lambda f: all(least(by, "generalization") > 0 for by in f.values()),
            why="for the tree a generalized table with its bounds as features tells about as much",
        ),
        Claim(
            says="when the target is the sensitive attribute, slicing is even better than bucketization",
            ours=lambda f: f"{least(f[SENSITIVE], 'bucketization'):+.1f} points at least",
            holds=lambda f: least(f[SENSITIVE], "bucketization") > 0,
            why=BY_SEX,
        ),
    ],
    panels=lambda f: [
        Panel(
            f"learning {target}",
            "accuracy",
            {
                name: line(range(5), [by[way][i] for way in (*C, *WAYS[1:])])
                for i, name in enumerate(CLASSIFIERS)
            },
            places=[*C, "bucket.", "general."],
            bars=True,
        )
        for target, by in f.items()
    ],
)


# Figures 6 and 7: membership


@dataclass(frozen=True)
class Matches:
    """Of one release: fake tuples, and tuples with at most 10, 11 to 20 and more matching
    buckets.
    """

    fakes: float
    originals: int
    """Different tuples of the table."""
    fake: tuple[float, float, float]
    rows: tuple[float, float, float]


Membership = dict[tuple[str, int, int], Matches]
"""By table, c (1: bucketization) and p."""


def matched(name: str, columns: Sequence[Sequence[str]], p: int) -> Matches:
    table = microdata(TABLES[name])
    buckets = publish(random_slices(CLUSTERED[name, 2], p), table, p).groups
    found = ranked(table, columns, buckets)
    ranking = found.ranking

    def ranges(numbers: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
        some = [
            float(weights[(numbers > a) & (numbers <= b)].sum())
            for a, b in pairwise((0, 10, 20, 10**9))
        ]
        return some[0], some[1], some[2]

    return Matches(
        ranking.fakes,
        len(found.rows),
        ranges(ranking.numbers_of_fakes, ranking.weights_of_fakes),
        ranges(ranking.numbers_of_originals, found.rows),
    )


@cache
def membership(variant: Variant) -> Membership:
    found = {}
    for name, quasi in TABLES.items():
        if variant == "full" or name == "OCC-7":
            for p in MEMBERSHIP_SIZES if variant == "full" else QUICK_SIZES:
                for c in (2, 5):
                    found[name, c, p] = matched(name, CLUSTERED[name, c], p)
                found[name, 1, p] = matched(name, [quasi, [SENSITIVE]], p)
    return found


def sizes(found: Membership) -> list[int]:
    return sorted({p for _, _, p in found})


def lines(found: Membership, value: Callable[[Matches], float]) -> Iterable[list[float]]:
    """The values over p, of every table with 2 and with 5 columns."""
    for name in dict.fromkeys(n for n, _, _ in found):
        for c in (2, 5):
            yield [value(found[name, c, p]) for p in sizes(found)]


def grown(found: Membership) -> list[float]:
    """How many times more fake tuples five columns have than two."""
    return [m.fakes / found[n, 2, p].fakes for (n, c, p), m in found.items() if c == 5]


def share(counted: tuple[float, float, float]) -> float:
    return counted[2] / max(sum(counted), 1)


FAKES = (
    "the paper does not print its two columns; of all 63 partitions none gives its three figures, "
    "unless a tuple is its quasi-identifiers alone: {education, marital status} and the other four "
    "give 93,183, 5,092 and 36,236 (`membership.py --search`)"
)
RANDOM = "Random buckets of p rows; columns of the correlations; counted are different tuples. "
RANDOM_QUICKLY = "OCC-7, p = 10 and 100 alone."

FIGURE_6 = Figure(
    name="Figure 6",
    shows="the number of fake tuples by p",
    measured=membership,
    setting=RANDOM + "Bucketization, which the paper leaves out, is the line c = 1.",
    quickly=RANDOM_QUICKLY,
    claims=[
        Claim(
            says="OCC-7, p = 100, c = 2: 87,936 fake tuples",
            rule="within a tenth",
            ours=lambda f: f"{f['OCC-7', 2, 100].fakes:,.0f}",
            holds=lambda f: abs(f["OCC-7", 2, 100].fakes / 87_936 - 1) < 0.1,
            why=FAKES,
        ),
        Claim(
            says="when p increases, the number of fake tuples becomes larger",
            ours=lambda f: "; ".join(
                " ".join(f"{v:,.0f}" for v in by) for by in lines(f, lambda m: m.fakes)
            ),
            holds=lambda f: all(
                a < b for by in lines(f, lambda m: m.fakes) for a, b in pairwise(by)
            ),
            why="with few values there is an end: no more than all combinations that can be",
        ),
        Claim(
            says="with more columns it becomes exponentially larger",
            rule="from 2 columns to 5 at least five times",
            ours=lambda f: f"{min(grown(f)):,.1f} to {max(grown(f)):,.1f} times",
            holds=lambda f: min(grown(f)) >= 5,
        ),
        Claim(
            says="in almost all experiments larger than the number of original tuples",
            rule="in nine of ten",
            ours=lambda f: (
                f"in {sum(m.fakes > m.originals for k, m in f.items() if k[1] > 1)} of {sum(k[1] > 1 for k in f)}"
            ),
            holds=lambda f: (
                sum(m.fakes > m.originals for k, m in f.items() if k[1] > 1)
                >= 0.9 * sum(k[1] > 1 for k in f)
            ),
        ),
        Claim(
            says="bucketization is vulnerable: who is in the table is seen in it (section 5: no fakes)",
            rule="no fake tuple, the sensitive value counted with the others",
            ours=lambda f: (
                f"{f['OCC-7', 1, 100].fakes:,.0f} with p = 100; of quasi-identifiers alone none, as they are published as they are"
            ),
            holds=lambda f: f["OCC-7", 1, 100].fakes == 0,
            why="only a tuple without its sensitive value has no fakes; with it there are as many as here",
        ),
    ],
    panels=lambda f: [
        Panel(
            f"fake tuples, {name}",
            "rows a bucket, p",
            {
                f"c = {c}": line(
                    range(len(sizes(f))), [max(f[name, c, p].fakes, 1) for p in sizes(f)]
                )
                for c in (1, 2, 5)
            },
            places=[str(p) for p in sizes(f)],
            bars=True,
            log_y=True,
        )
        for name in dict.fromkeys(n for n, _, _ in f)
    ],
)


def closer(found: Membership) -> list[list[float]]:
    """|ln| of originals by fakes with more than 20 buckets, over p, where there are any."""
    return [
        [abs(log(a / b)) for a, b in zip(x, y, strict=True) if a and b]
        for x, y in zip(
            lines(found, lambda m: m.rows[2]), lines(found, lambda m: m.fake[2]), strict=True
        )
    ]


FIGURE_7 = Figure(
    name="Figure 7",
    shows="tuples by their number of matching buckets",
    measured=membership,
    setting="As in Figure 6. Originals are rows, since OCC-7 has only 23,325 different ones.",
    claims=[
        Claim(
            says="OCC-7, p = 100, c = 2: 5,325 fake and 31,452 original tuples with more than 20",
            rule="each within a tenth",
            ours=lambda f: (
                f"{f['OCC-7', 2, 100].fake[2]:,.0f} and {f['OCC-7', 2, 100].rows[2]:,.0f}"
            ),
            holds=lambda f: (
                abs(f["OCC-7", 2, 100].fake[2] / 5_325 - 1) < 0.1
                and abs(f["OCC-7", 2, 100].rows[2] / 31_452 - 1) < 0.1
            ),
            why=f"the second one does; {FAKES}",
        ),
        Claim(
            says="the numbers are even closer for larger p and c",
            rule="with each p nearer than with the one before",
            ours=lambda f: (
                "; ".join(" ".join(f"{v:.2f}" for v in by) for by in closer(f))
                + " (|ln| of their ratio)"
            ),
            holds=lambda f: all(a > b for by in closer(f) for a, b in pairwise(by)),
            why="with five columns fakes soon outnumber the originals, and the ratio grows again",
        ),
        Claim(
            says="in general, original tuples have more matching buckets than fake ones",
            rule="a larger share has more than 20, wherever any has",
            ours=lambda f: "; ".join(
                f"{n}, c = {c}, p = {p}: {share(m.rows):.0%} and {share(m.fake):.0%}"
                for (n, c, p), m in f.items()
                if c == 2 and n == "OCC-7"
            ),
            holds=lambda f: all(
                share(m.rows) > share(m.fake) for m in f.values() if m.rows[2] or m.fake[2]
            ),
        ),
    ],
    panels=lambda f: [
        Panel(
            f"{'bucketization' if c == 1 else f'{c}-column'} ({name})",
            "rows a bucket, p",
            {
                label: line(range(len(sizes(f))), [value(f[name, c, p]) for p in sizes(f)])
                for label, value in (
                    ("original, at most 10", lambda m: m.rows[0]),
                    ("original, 11 to 20", lambda m: m.rows[1]),
                    ("original, more than 20", lambda m: m.rows[2]),
                    ("fake, 11 to 20", lambda m: m.fake[1]),
                    ("fake, more than 20", lambda m: m.fake[2]),
                )
            },
            places=[str(p) for p in sizes(f)],
            bars=True,
        )
        for name in dict.fromkeys(n for n, _, _ in f)
        for c in (2, 5, 1)
    ],
)

PAPER = Paper(
    title="Slicing, Li, Li, Zhang and Molloy (IEEE TKDE 24(3), 2012)",
    figures=[THE_TABLE, GENERALIZATION, FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_6, FIGURE_7],
    not_made={
        "Table 1": "the worked example, to the digit in `tests/papers/test_slicing.py`",
        "Table 2": "the attributes of Adult; they are what the file has",
        "Figures 1 and 2": "algorithms; line by line in `docs/explanation/fidelity.md`",
    },
)
