# SPDX-License-Identifier: Apache-2.0
"""Every method on every table: what is lost with today's defaults, what was lost with the earlier
ones and in the papers' ways, what other tools lose, and seconds.

    PHALANX_DATA=FOLDER python experiments/losses/methods.py [--only TABLE] [--rows N] [--write]

Tables: ``adult`` (30,162 complete rows, as in the head to head), ``acs`` (30,000 rows of
``acs2018_occsal``), ``census`` (the mutual cover paper's own table) and ``nist`` (the Massachusetts
excerpt of 2019). *Width*: mean width of a row's intervals, as a share of the range; *pairs*: total
variation of pairs of values; *error*: median relative error of 300 counts; both of one table drawn
from the release. Each way publishes five times, and means are printed. *Beside*: error beside that of the first line of the method, in per cent. Seconds
are of the processor, for publishing and checking, after a run that loads the kernels. Other tools'
lines are read from the page of the head to head, where a command prints them. All random choices
are seeded. ``--rows`` takes the first so many rows of each table, publishes once, and leaves other
tools out.
"""

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
from folders import data_file, table_of

import phalanx as px
from phalanx.data.hierarchies.files import read_tree
from phalanx.data.microdata import Microdata
from phalanx.estimators.conditions import Query
from phalanx.methods.base import Memory
from phalanx.randomness import Randomness
from phalanx.utility.bins import Bins
from phalanx.utility.losses import total_variation
from phalanx.utility.workloads import Rows, errors, workload

sys.path.append(str(Path(__file__).resolve().parents[1] / "mutual_cover"))  # the paper's way

from papers_way import PapersWay

HERE = Path(__file__).resolve().parent
HEADER = ("method", "way", "rows", "width", "pairs", "error", "beside", "seconds")
BEFORE, PAPERS, TODAY = "before", "the paper's", "today"
BOTH = "the paper's, ours before"
QUERIES, SMALL = 300, 1500
SEEDS = (1, 2, 3, 4, 5)
BEGIN, END = "<!-- printed by experiments/losses/methods.py -->", "<!-- end -->"
PEERS = HERE.parent / "head_to_head" / "README.md"
OTHERS, SECONDS = ("anonypyx", "anjana"), 7
"""How the lines of other tools begin there that are made of the same rows, and where their seconds
stand.
"""
ADULT = ("age", "workclass", "education", "marital_status", "race", "sex", "native_country")
NIST = ("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "DVET", "DEYE")
SAMPLED_NIST = (
    HERE.parent
    / "nist/deid_data/phalanx_safe_sampling/ma/safe_sampling_e_2_demographic_focused_ma2019.toml"
)
LEVELS = {
    "age": {"low": 17, "high": 91, "width": 37},
    "workclass": 2,
    "education": 3,
    "marital_status": 1,
    "race": 1,
    "native_country": 2,
}
NO_LEVELS = (
    "makes no sense here: it needs levels that were fixed before the table was seen, and none come"
    " with it"
)


@dataclass(frozen=True, kw_only=True)
class Board:
    """One table, and what is asked on it."""

    title: str
    table: pl.DataFrame
    schema: px.Schema
    k: int
    l: int = 3
    sampling: px.SafeSampling | None = None
    """Where levels come with the table, in these ``trees``."""
    trees: Mapping[str, Any] = field(default_factory=dict)
    others: bool = False
    """Whether other tools were run on these rows."""
    seeds: tuple[int, ...] = SEEDS


def adult() -> Board:
    table = pl.read_parquet(data_file("adult.parquet")).filter("complete", split="train")
    trees = {
        name: read_tree(data_file(f"hierarchies/adult_hierarchy_{name.replace('_', '-')}.csv"))
        for name in ADULT[1:]
    }
    return Board(
        title="Adult, occupation",
        table=table,
        schema=px.Schema(identifier="row_id", quasi=list(ADULT), sensitive="occupation"),
        k=10,
        sampling=px.SafeSampling(
            k=10, epsilon=2, delta="1/100000", scheme=LEVELS, allow_empty=True
        ),
        trees=trees,
        others=True,
    )


def acs() -> Board:
    quasi = ["age", "sex", "education17", "birthplace57"]
    table = pl.read_parquet(data_file("acs2018_occsal.parquet")).sample(30_000, seed=1)
    schema = px.Schema(identifier="row_id", quasi=quasi, sensitive="occupation50")
    return Board(title="ACS, occupation", table=table, schema=schema, k=10)


def census() -> Board:
    quasi = ["sex", "age", "relate", "marst", "race", "educ", "uhrswork"]
    table = pl.read_parquet(data_file("mutual_cover_census.parquet"))
    schema = px.Schema(identifier="row_id", quasi=quasi, sensitive="incwage")
    return Board(title="Mutual cover's census, wage", table=table, schema=schema, k=10)


def nist() -> Board:
    read = pl.read_csv(data_file("nist_ma2019.csv"), infer_schema=False)
    numbers = [pl.col("AGEP").cast(int), pl.col("EDU").replace("N", "0").cast(int)]
    schema = px.Schema(identifier="row_id", quasi=list(NIST), sensitive="PINCP_DECILE")
    plan = px.Plan.read(SAMPLED_NIST)
    return Board(
        title="NIST's Massachusetts, decile of income",
        table=read.with_columns(numbers).with_row_index("row_id"),
        schema=schema,
        k=6,
        sampling=plan.method(),  # type: ignore[arg-type]
        trees=plan.schema().hierarchies,
    )


BOARDS = {"adult": adult, "acs": acs, "census": census, "nist": nist}


def ways(board: Board) -> Iterator[tuple[str, str, Any]]:
    """Method, way and what publishes, or why it makes no sense."""
    k, l = board.k, board.l
    strict = {"cuts": "strict", "cut_at": "median"}
    yield f"mondrian, k = {k}", BOTH, px.Mondrian(k=k, **strict)
    yield f"mondrian, k = {k}", TODAY, px.Mondrian(k=k)
    yield f"mondrian, k = {k}, l = {l}", BOTH, px.Mondrian(k=k, l=l, **strict)
    yield f"mondrian, k = {k}, l = {l}", TODAY, px.Mondrian(k=k, l=l)
    yield f"anatomy, l = {l}", "the paper's, today", px.Anatomy(l=l)
    sliced = partial(px.Slicing, l=l, sensitive_column_size=1)
    yield f"slicing, l = {l}", BOTH, sliced(cuts="strict", check="local")
    yield f"slicing, l = {l}", TODAY, sliced()
    yield f"m-invariance, m = {l}, release 1", BOTH, px.MInvariance(m=l, balancing="paper")
    yield f"m-invariance, m = {l}, release 1", "one region", px.MInvariance(m=l, regions=1)
    yield f"m-invariance, m = {l}, release 1", TODAY, px.MInvariance(m=l)
    rare = partial(px.GlobalGuarantee, l=l, protect={"least_frequent": 0.1})
    yield f"global guarantee, l = {l}, release 1", BOTH, rare(grouping="bottom-up")
    yield f"global guarantee, l = {l}, release 1", TODAY, rare()
    delta = f"1/{k}"
    yield f"mutual cover, delta = {delta}", PAPERS, PapersWay(delta=delta, grouping="mondrian")
    yield f"mutual cover, delta = {delta}", TODAY, px.MutualCover(delta=delta)
    if board.sampling is None:
        yield "safe sampling", TODAY, NO_LEVELS
        return
    sampled = replace(board.sampling, expected_rows=board.table.height)
    name = f"safe sampling, k = {sampled.k}, epsilon = {sampled.epsilon}"
    yield name, BOTH, replace(sampled, accounting="theorem")
    yield name, TODAY, sampled


@dataclass(frozen=True)
class Made:
    """What one way made: a table in the original's columns, and what is known of it."""

    table: pl.DataFrame
    width: float | None
    seconds: float


def published(board: Board, method: Any, seed: int) -> Made:
    """A table drawn from a release of the method; where there are no groups the release itself."""
    schema, table = board.schema, board.table.select("row_id", *names(board))
    if isinstance(method, px.SafeSampling):
        schema = replace(schema, hierarchies=board.trees)
    began = time.process_time()
    if isinstance(method, PapersWay):  # no option of the package, so that no check knows it
        microdata = Microdata.encode(table.drop("row_id"), replace(schema, identifier=None))
        draft = method.publish(microdata, Memory(), Randomness.seeded(seed))
        return Made(draft.form.table, None, time.process_time() - began)
    if method.needs_persons:
        with tempfile.TemporaryDirectory() as place:
            series = px.Series("first", schema, method, to=f"{place}/out", report=False, seed=seed)
            release = px.Release.read(series.publish(table).path)
    else:
        release = px.publish(table, schema, method, seed=seed)
    seconds = time.process_time() - began
    if isinstance(method, px.MutualCover):
        return Made(release.table, None, seconds)
    drawn = release.draw(1, seed=seed)[0]
    return Made(drawn, release.measure(table, seed=seed)["ncp"].release, seconds)


def names(board: Board) -> list[str]:
    """The published attributes."""
    return [*board.schema.quasi, str(board.schema.sensitive)]


def lines(board: Board) -> Iterator[list[str]]:
    """The lines of a table, each as soon as it is known."""
    table = board.table.select(names(board))
    bins = Bins.of(table)
    stream = Randomness.seeded(1).stream("workload")
    asked = workload(Rows(table), list(board.schema.quasi), board.schema.sensitive, QUERIES, stream)
    original, first = bins.code(table), {}
    for name, way, method in ways(board):
        if isinstance(method, str):
            yield [name, way, method, *[""] * (len(HEADER) - 3)]
            continue
        with contextlib.suppress(px.PhalanxError):
            published(replace(board, table=board.table.head(SMALL)), method, 1)  # loads the kernels
        try:
            made = [published(board, method, seed) for seed in board.seeds]
        except px.PhalanxError as why:
            yield [name, way, f"refused: {why}", *[""] * (len(HEADER) - 3)]
            continue
        of = [each.table.select(table.columns).cast(dict(table.schema)) for each in made]
        error = fmean(error_of(drawn, asked, drawn.height / table.height) for drawn in of)
        pairs = fmean(total_variation(original, bins.code(drawn), bins, 2) for drawn in of)
        widths = [each.width for each in made if each.width is not None]
        beside = "" if name not in first else f"{error / first[name] - 1:+.0%}"
        first.setdefault(name, error)
        yield [
            name,
            way,
            f"{fmean(drawn.height for drawn in of):,.0f}",
            f"{fmean(widths):.3f}" if widths else "",
            f"{pairs:.3f}",
            f"{error:.3f}",
            beside,
            f"{fmean(each.seconds for each in made):.1f}",
        ]
    if board.others:
        yield from of_others(PEERS.read_text(encoding="utf-8"))


def error_of(table: pl.DataFrame, asked: Sequence[tuple[Query, int]], share: float) -> float:
    """The median relative error of counts by a table that is such a share of the original."""
    rows = Rows(table)
    lost = errors(asked, lambda query: int(rows.true_of(query.where).sum()) / share)
    return float(np.median(lost))


def of_others(page: str) -> Iterator[list[str]]:
    """Other tools' lines of the first table of the head to head."""
    for line in page.split("\n## ")[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0].startswith(OTHERS) and len(cells) > SECONDS:
            rows, width, pairs, error, seconds = (cells[i] for i in (1, 2, 3, 4, SECONDS))
            yield [cells[0], "other tool", rows, width, pairs, error, "", seconds]


def written(page: Path, tables: str) -> None:
    """The page with these tables between its marks."""
    before, mark, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    if mark:
        after = rest.partition(END)[2]
        page.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=BOARDS, action="append")
    parser.add_argument("--rows", type=int, help="publish the first so many rows only")
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    given = parser.parse_args()
    if given.write and (given.only or given.rows):
        parser.error("--write is for all tables and all rows; leave --only and --rows out")
    tables = []
    for name in given.only or BOARDS:
        board = BOARDS[name]()
        if given.rows is not None:
            board = replace(
                board, table=board.table.head(given.rows), others=False, seeds=SEEDS[:1]
            )
        title = f"### {board.title}: {board.table.height:,} rows"
        print(f"{title}\n\n{table_of(HEADER, [])}", flush=True)
        rows = []
        for row in lines(board):
            rows.append(row)
            print(f"| {' | '.join(row)} |", flush=True)
        print()
        tables.append(f"{title}\n\n{table_of(HEADER, rows)}")
    if given.write:
        written(HERE / "README.md", "\n\n".join(tables))


if __name__ == "__main__":
    main()
