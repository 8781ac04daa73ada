# SPDX-License-Identifier: Apache-2.0
"""All methods beside anonypyx, anjana, a synthesizer and ARX's published solutions, on one table:
loss, error, accuracy, who stands in the table once more, and seconds.

    PHALANX_DATA=FOLDER python experiments/head_to_head/head_to_head.py [--environment FOLDER]
        [--rows N] [--minutes M] [--write]

UCI Adult as it is usually cut: 30,162 complete rows are published, the other 15,060 are held out.
Two tables, each of one level: ours, and ARX's own. Everything is judged as a table in the
original's columns. What is published in intervals, sets or buckets is drawn from them, once: ours
by ``Release.draw``, which learns from the release what is likely, that of others each value alike,
and Mondrian's both ways, so that one can see what the first way is worth.
Seconds are of the processor, ours after a run that loads the kernels. The other tools run in an environment of their own, which the first
run makes, and each has ``--minutes``; one that needs more is told so. ``--write`` puts the tables
into the pages.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import arx
import numpy as np
import polars as pl
from peers import Made, theirs

import phalanx as px
from phalanx.data.hierarchies.files import read_tree
from phalanx.randomness import Randomness
from phalanx.utility.bins import Bins
from phalanx.utility.learning import accuracy
from phalanx.utility.losses import total_variation
from phalanx.utility.workloads import Rows, errors, workload

sys.path.append(str(Path(__file__).resolve().parents[1]))  # environments.py stands there

from environments import environment

HERE = Path(__file__).resolve().parent
PAGES = {HERE / "README.md": "all", HERE.parents[1] / "README.md": "few"}
QUASI = ("age", "workclass", "education", "marital_status", "race", "sex", "native_country")
SENSITIVE = "occupation"
K, L = 10, 3
QUERIES, SMALL = 300, 1500
SCHEME = {
    "age": {"low": 17, "high": 91, "width": 37},
    "workclass": 2,
    "education": 3,
    "marital_status": 1,
    "race": 1,
    "native_country": 2,
}
HEADER = (
    "made by", "rows", "width", "pairs", "error", "accuracy", "found", "seconds",
    "k, l by ours", "by pycanon", "greatest share",
)  # fmt: skip
FEW = ("other people", "mondrian, k", "anonypyx, k = 10 ", "anjana, k = 10 ", "anatomy", "slicing",
       "m-invariance", "mutual cover", "safe sampling", "global guarantee",
       "DataSynthesizer")  # fmt: skip
"""How the lines of the short table begin."""


@dataclass(frozen=True)
class Board:
    """One level on which all are compared."""

    title: str
    quasi: Sequence[str]
    ours: Mapping[str, Any]
    theirs: Mapping[str, Mapping[str, Any]]

    @property
    def schema(self) -> px.Schema:
        """The roles of the columns."""
        return px.Schema(identifier="row_id", quasi=list(self.quasi), sensitive=SENSITIVE)


def our_level(rows: int) -> Board:
    """Groups of 10, and l = 3 where a method has an l."""
    shared = {
        "quasi": list(QUASI),
        "sensitive": SENSITIVE,
        "k": K,
        "l": None,
        "suppressed": 5,
        "epsilon": 0,
    }
    return Board(
        f"{rows:,} rows of Adult",
        QUASI,
        {
            "mondrian, k = 10": px.Mondrian(k=K),
            "mondrian, k = 10, l = 3": px.Mondrian(k=K, l=L),
            "anatomy, l = 3": px.Anatomy(l=L),
            "slicing, l = 3": px.Slicing(l=L, sensitive_column_size=1),
            "m-invariance, m = 3": px.MInvariance(m=L),
            "global guarantee, l = 3": px.GlobalGuarantee(l=L),
            "global guarantee, l = 3, of the rarest tenth of values": px.GlobalGuarantee(
                l=L, protect={"least_frequent": 0.1}
            ),
            "mutual cover, delta = 1/10": px.MutualCover(delta="1/10"),
            "safe sampling, k = 10, epsilon = 2": px.SafeSampling(
                k=K,
                epsilon=2,
                delta="1/100000",
                scheme=SCHEME,
                expected_rows=rows,
                allow_empty=True,
            ),
        },
        {
            "anonypyx, k = 10": shared | {"tool": "anonypyx"},
            "anonypyx, k = 10, distinct l = 3": shared | {"tool": "anonypyx", "l": L},
            "anjana, k = 10": shared | {"tool": "anjana"},
            "anjana, k = 10, distinct l = 3": shared | {"tool": "anjana", "l": L},
            "DataSynthesizer, no promise": shared | {"tool": "synthesizer"},
            "DataSynthesizer, epsilon = 1": shared | {"tool": "synthesizer", "epsilon": 1},
        },
    )


def level_of_arx(table: pl.DataFrame, hierarchies: Mapping[str, Path]) -> Board:
    """ARX's own level: eight quasi-identifiers, k = 5, or recursive (4, 5)-diversity; with ARX's
    two solutions rebuilt. SystemExit where one has not the loss that ARX publishes.
    """
    shared = {"quasi": list(arx.QUASI), "sensitive": SENSITIVE, "k": 5, "l": None}
    solved: dict[str, Mapping[str, Any]] = {}
    for name, solution in arx.SOLUTIONS.items():
        made, loss = arx.rebuilt(table, solution, hierarchies)
        if not np.allclose(loss, solution.loss, rtol=0, atol=1e-9):
            raise SystemExit(f"{name} was not rebuilt: its loss is {loss}.")
        ours = f"published loss {np.mean(solution.loss):.4f}, rebuilt {np.mean(loss):.4f}"
        solved[f"{name}; {ours}"] = shared | {"tool": "given", "table": made}
    return Board(
        f"{table.height:,} rows of Adult on ARX's own level",
        arx.QUASI,
        {
            "mondrian, k = 5": px.Mondrian(k=5),
            "mondrian, recursive (4, 5)-diversity": px.Mondrian(l=5, diversity="recursive", c=4),
            "mutual cover, delta = 1/5": px.MutualCover(delta="1/5"),
        },
        solved | {"anonypyx, k = 5": shared | {"tool": "anonypyx"}},
    )


def read(folder: Path, rows: int | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The published rows, and those held out."""
    table = pl.read_parquet(folder / "adult.parquet").filter(pl.col("complete"))
    texts = [pl.col(name).cast(pl.String) for name in (*QUASI[1:], "income", SENSITIVE)]
    parts = [
        table.filter(pl.col("split") == split).select("row_id", "age", *texts)
        for split in ("train", "test")
    ]
    return parts[0].head(rows or parts[0].height), parts[1]


def hierarchies_of(folder: Path) -> dict[str, Path]:
    """The file of each attribute's hierarchy."""
    words = {name: name.replace("_", "-") for name in QUASI} | {"income": "salary-class"}
    return {name: folder / f"adult_hierarchy_{word}.csv" for name, word in words.items()}


def published(
    table: pl.DataFrame, schema: px.Schema, method: Any, hierarchies: Mapping[str, Path]
) -> px.Release:
    """A release of a method, in memory where it remembers nothing, else as the first of a series."""
    if isinstance(method, px.SafeSampling):
        trees = {name: read_tree(hierarchies[name]) for name in schema.quasi if name != "age"}
        roles = px.Schema(
            identifier="row_id", quasi=schema.quasi, sensitive=SENSITIVE, hierarchies=trees
        )
        return px.publish(table, roles, method, seed=1)
    if not method.needs_persons:
        return px.publish(table, schema, method, seed=1)
    with tempfile.TemporaryDirectory() as place:
        series = px.Series("first", schema, method, to=f"{place}/out", report=False, seed=1)
        return px.Release.read(series.publish(table).path)


def ours(
    table: pl.DataFrame, board: Board, hierarchies: Mapping[str, Path]
) -> Iterator[tuple[str, Made]]:
    """Each of our methods, published into memory and checked."""
    table = table.select("row_id", *board.quasi, SENSITIVE)
    for name, method in board.ours.items():
        with contextlib.suppress(px.PhalanxError):
            published(table.head(SMALL), board.schema, method, hierarchies)  # loads the kernels
        began = time.process_time()
        release = published(table, board.schema, method, hierarchies)
        seconds = time.process_time() - began
        drawn = release.draw(1, seed=1)[0].select(*board.quasi, SENSITIVE).cast({"age": pl.Int64})
        figure = release.measure(table, seed=1)["ncp"]
        yield name, Made(drawn, seconds, figure.release, drawn.height)
        if isinstance(method, px.Mondrian):  # as tables of others are drawn
            drawn = alike(release.table, table, board.quasi)
            yield f"{name}, each value alike", Made(drawn, seconds, figure.release, drawn.height)


def alike(published: pl.DataFrame, table: pl.DataFrame, quasi: Sequence[str]) -> pl.DataFrame:
    """A table of values from published intervals, each value between the ends that stands in the
    table equally likely.
    """
    rng, drawn = np.random.default_rng(1), {}
    for name in quasi:
        values = table[name].unique().sort()
        first, last = (values.search_sorted(published[f"{name}_{end}"]) for end in ("low", "high"))
        at = rng.integers(first.to_numpy(), last.to_numpy(), endpoint=True)
        drawn[name] = values.gather(at)
    return pl.DataFrame(drawn).with_columns(published[SENSITIVE])


def found(table: pl.DataFrame, drawn: pl.DataFrame) -> float:
    """Of the rows that stand once in the table the share that stands in the other one as well."""
    alone = table.filter(table.is_unique())
    return alone.join(drawn.unique(), on=alone.columns, how="semi", nulls_equal=True).height / max(
        alone.height, 1
    )


def row(
    table: pl.DataFrame, held_out: pl.DataFrame, quasi: Sequence[str], name: str, made: Made | str
) -> str:
    """The line of one tool."""
    if isinstance(made, str):
        return f"| {name} | {made} |{' |' * (len(HEADER) - 2)}"
    bins = Bins.of(table)
    original, codes = bins.code(table), bins.code(made.drawn)
    stream = Randomness.seeded(1).stream("workload")
    queries = workload(Rows(table), quasi, SENSITIVE, QUERIES, stream)
    share = made.drawn.height / table.height
    rows = Rows(made.drawn)
    lost = errors(queries, lambda query: int(rows.true_of(query.where).sum()) / share)
    right = accuracy(codes, bins.code(held_out), SENSITIVE, bins)
    cells = [
        name, f"{made.published:,}", "" if made.loss is None else f"{made.loss:.3f}",
        f"{total_variation(original, codes, bins, 2):.3f}", f"{np.median(lost):.3f}",
        f"{right:.1%}", f"{found(table, made.drawn):.1%}", f"{made.seconds:.1f}",
        *(made.levels or ("", "", "")),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def printed(
    board: Board, table: pl.DataFrame, held_out: pl.DataFrame, python: Path,
    hierarchies: Mapping[str, Path], minutes: float,
) -> list[str]:  # fmt: skip
    """The lines of a board, each printed as soon as it is known."""
    plain, others = (t.select(*board.quasi, SENSITIVE) for t in (table, held_out))
    half = others.sample(min(plain.height, others.height), seed=1)
    itself = [
        ("the table itself", Made(plain, 0, 0, plain.height)),
        ("other people, held out", Made(half, 0, None, half.height)),
    ]
    lines = []
    print(f"## {board.title}\n\n{header()}")
    with tempfile.TemporaryDirectory() as place:
        files = {name: hierarchies[name] for name in board.quasi}
        of_others = theirs(plain, board.theirs, python, files, Path(place), minutes)
        for name, made in chain(itself, ours(table, board, hierarchies), of_others):
            lines.append(row(plain, others, board.quasi, name, made))
            print(lines[-1], flush=True)
    print()
    return lines


def header() -> str:
    """The heading of a table."""
    return f"| {' | '.join(HEADER)} |\n|{' --- |' * len(HEADER)}"


def written(page: Path, tables: str) -> None:
    """The page with these tables between its marks; as it is where it has none."""
    begin, end = "<!-- printed by experiments/head_to_head/head_to_head.py -->", "<!-- end -->"
    before, mark, rest = page.read_text(encoding="utf-8").partition(begin)
    if mark:
        after = rest.partition(end)[2]
        page.write_text(f"{before}{begin}\n\n{tables}\n\n{end}{after}", encoding="utf-8")


def main() -> None:
    """Publish with everything, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--environment", type=Path, default=HERE / ".venv-peers")
    parser.add_argument("--rows", type=int, help="publish the first so many rows only")
    parser.add_argument("--minutes", type=float, default=15, help="for each other tool; 15")
    parser.add_argument("--write", action="store_true", help="put the tables into the pages")
    given = parser.parse_args()
    folder = os.environ.get("PHALANX_DATA")
    if folder is None or not Path(folder, "adult.parquet").is_file():
        print(
            "this experiment needs adult.parquet and hierarchies: set PHALANX_DATA.",
            file=sys.stderr,
        )
        raise SystemExit(2)
    table, held_out = read(Path(folder), given.rows)
    hierarchies, python = (
        hierarchies_of(Path(folder, "hierarchies")),
        environment(
            given.environment,
            HERE / "requirements.txt",
            "the other tools could not be installed",
        ),
    )
    boards = [our_level(table.height)]
    if given.rows is None:
        boards.append(level_of_arx(table, hierarchies))  # whose figures are of all rows
    lines = {
        board.title: printed(board, table, held_out, python, hierarchies, given.minutes)
        for board in boards
    }
    tables = {
        "all": "\n\n".join("\n".join([f"## {t}\n", header(), *lines[t]]) for t in lines),
        "few": "\n".join(
            [header(), *(line for line in lines[boards[0].title] if line[2:].startswith(FEW))]
        ),
    }
    if given.write:
        for page, kind in PAGES.items():
            written(page, tables[kind])


if __name__ == "__main__":
    main()
