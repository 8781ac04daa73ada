# SPDX-License-Identifier: Apache-2.0
"""All methods beside anonypyx, anjana and a synthesizer, on one table and one level: loss, error,
accuracy, who stands in the table once more, and seconds.

    PHALANX_DATA=FOLDER python experiments/head_to_head/head_to_head.py [--environment FOLDER] [--rows N]

UCI Adult as it is usually cut: 30,162 complete rows are published, the other 15,060 are held out.
Everything is judged as a table in the original's columns. What is published in intervals, sets or
buckets is drawn from them, once: ours by ``Release.draw``, which learns from the release what is
likely, that of others each value alike. Seconds are of the processor. The other tools run in an
environment of their own, which the first run makes.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import phalanx as px
from phalanx.data.hierarchies.files import read_tree
from phalanx.guarantees.levels import levels
from phalanx.randomness import Randomness
from phalanx.release.foreign import Foreign
from phalanx.utility.learning import accuracy
from phalanx.utility.losses import Bins, total_variation
from phalanx.utility.workloads import counted, errors, workload

HERE = Path(__file__).resolve().parent
QUASI = ["age", "workclass", "education", "marital_status", "race", "sex", "native_country"]
SENSITIVE = "occupation"
K, L = 10, 3
QUERIES = 300
SCHEMA = px.Schema(identifier="row_id", quasi=QUASI, sensitive=SENSITIVE)
SCHEME = {
    "age": {"low": 17, "high": 91, "width": 37},
    "workclass": 2,
    "education": 3,
    "marital_status": 1,
    "race": 1,
    "native_country": 2,
}
SHARED = {"quasi": QUASI, "sensitive": SENSITIVE, "k": K, "l": None, "suppressed": 5, "epsilon": 0}
THEIRS: Mapping[str, Mapping[str, Any]] = {
    "anonypyx, k = 10": SHARED | {"tool": "anonypyx"},
    "anonypyx, k = 10, distinct l = 3": SHARED | {"tool": "anonypyx", "l": L},
    "anjana, k = 10": SHARED | {"tool": "anjana"},
    "anjana, k = 10, distinct l = 3": SHARED | {"tool": "anjana", "l": L},
    "DataSynthesizer, no promise": SHARED | {"tool": "synthesizer"},
    "DataSynthesizer, epsilon = 1": SHARED | {"tool": "synthesizer", "epsilon": 1},
}


@dataclass(frozen=True)
class Made:
    """What one tool made: a table in the original's columns, and what is known of it."""

    drawn: pl.DataFrame
    seconds: float
    loss: float | None
    """Mean width of intervals or sets as a share of all values; None where there are none."""
    published: int
    levels: tuple[str, str, str] | None = None
    """k and distinct l by ours and by pycanon, and the greatest share of a value in a group."""


def read(folder: Path, rows: int | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The published rows, and those held out."""
    table = pl.read_parquet(folder / "adult.parquet").filter(pl.col("complete"))
    texts = [pl.col(name).cast(pl.String) for name in (*QUASI[1:], SENSITIVE)]
    parts = [
        table.filter(pl.col("split") == split).select("row_id", "age", *texts)
        for split in ("train", "test")
    ]
    return parts[0].head(rows or parts[0].height), parts[1]


def our_methods(rows: int) -> Mapping[str, Any]:
    """Our methods, for a table of about so many rows."""
    return {
        "mondrian, k = 10": px.Mondrian(k=K),
        "mondrian, k = 10, l = 3": px.Mondrian(k=K, l=L),
        "anatomy, l = 3": px.Anatomy(l=L),
        "slicing, l = 3": px.Slicing(l=L, sensitive_column_size=1),
        "m-invariance, m = 3": px.MInvariance(m=L, regions="auto"),
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
    }


def hierarchy_file(hierarchies: Path, name: str) -> Path:
    """Where an attribute's hierarchy is."""
    return hierarchies / f"adult_hierarchy_{name.replace('_', '-')}.csv"


def published(table: pl.DataFrame, method: Any, hierarchies: Path) -> px.Release:
    """A release of a method, in memory where it remembers nothing, else as the first of a series."""
    if isinstance(method, px.SafeSampling):
        trees = {name: read_tree(hierarchy_file(hierarchies, name)) for name in QUASI[1:]}
        return px.publish(table, replace(SCHEMA, hierarchies=trees), method, seed=1)
    if not method.needs_persons:
        return px.publish(table, SCHEMA, method, seed=1)
    with tempfile.TemporaryDirectory() as place:
        series = px.Series("first", SCHEMA, method, to=f"{place}/out", report=False, seed=1)
        return px.Release.read(series.publish(table).path)


def ours(table: pl.DataFrame, hierarchies: Path) -> Iterator[tuple[str, Made]]:
    """Each of our methods, published into memory and checked."""
    for name, method in our_methods(table.height).items():
        began = time.process_time()
        release = published(table, method, hierarchies)
        seconds = time.process_time() - began
        drawn = release.draw(1, seed=1)[0].select(*QUASI, SENSITIVE).cast({"age": pl.Int64})
        figure = release.measure(table, seed=1)["ncp"]
        yield name, Made(drawn, seconds, figure.release, drawn.height)


def environment(folder: Path) -> Path:
    """The Python of the other tools' environment, which is made where it is not there yet."""
    python = folder / "bin" / "python"
    if not (folder / "installed").is_file():
        venv.create(folder, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet", "--no-input"]
        ran = subprocess.run(
            [*install, "-r", HERE / "requirements.txt"],
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            last = ran.stderr.strip().splitlines()[-1]
            raise SystemExit(f"the other tools could not be installed: {last}")
        (folder / "installed").touch()
    return python


def labels_of(table: pl.DataFrame, name: str, hierarchy: Path) -> dict[str, list[Any]]:
    """The values of the table that each label of an attribute's hierarchy covers."""
    values = table[name].unique().sort().to_list()
    texts = {str(value): value for value in values}
    labels: dict[str, list[Any]] = {}
    for line in hierarchy.read_text(encoding="utf-8").splitlines():
        leaf, *above = line.split(";")
        for label in dict.fromkeys(above):
            labels.setdefault(label, []).extend([texts[leaf]] if leaf in texts else [])
    return labels | {text: [value] for text, value in texts.items()} | {"*": values}


def cell(text: str, labels: Mapping[str, list[Any]]) -> list[Any]:
    """The values that a published cell may stand for: a label, a set, or an interval."""
    if text in labels:
        return labels[text]
    if "," in text:
        return [value for part in text.split(",") for value in labels[part]]
    low, high = (int(float(part)) for part in text.split("-"))
    return [value for value in labels["*"] if low <= value <= high]


def drawn_from(
    made: pl.DataFrame, table: pl.DataFrame, labels: Mapping[str, Mapping[str, list[Any]]]
) -> tuple[pl.DataFrame, float]:
    """A table of the values that cells stand for, each equally likely; and the mean width of
    cells.
    """
    rng, columns, widths = np.random.default_rng(1), {}, []
    for name in QUASI:
        of = {text: cell(text, labels[name]) for text in made[name].unique()}
        some = [of[text] for text in made[name]]
        columns[name] = [values[int(rng.integers(len(values)))] for values in some]
        widths.append(np.mean([(len(v) - 1) / (len(labels[name]["*"]) - 1) for v in some]))
    frame = pl.DataFrame(columns, schema={name: table.schema[name] for name in QUASI})
    return frame.with_columns(made[SENSITIVE]), float(np.mean(widths))


def theirs(
    table: pl.DataFrame, folder: Path, python: Path, hierarchies: Path
) -> Iterator[tuple[str, Made]]:
    """Each of the other tools, in its environment."""
    table.write_csv(folder / "table.csv")
    labels = {}
    for name in QUASI:
        file = hierarchy_file(hierarchies, name)
        shutil.copy(file, folder / f"{name}.csv")
        labels[name] = labels_of(table, name, file)
    asked = [setting | {"to": f"{i}.csv"} for i, setting in enumerate(THEIRS.values())]
    (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    ran = subprocess.run(
        [python, HERE / "theirs.py", folder], capture_output=True, text=True, check=False
    )
    if ran.returncode:
        sys.stderr.write(ran.stderr)
        raise SystemExit("the other tools failed.")
    answers = json.loads(ran.stdout.splitlines()[-1])
    for name, setting, answer in zip(THEIRS, asked, answers, strict=True):
        path = folder / setting["to"]
        made = pl.read_csv(path, infer_schema=False)
        if answer["levels"] is None:
            drawn, loss, both = (
                made.with_columns(pl.col("age").cast(pl.Float64).cast(pl.Int64)),
                None,
                None,
            )
        else:
            drawn, loss = drawn_from(made, table, labels)
            figures = levels(Foreign.read(path, quasi=QUASI, sensitive=SENSITIVE))
            both = (
                f"{figures['k']}, {figures['distinct_l']}",
                ", ".join(map(str, answer["levels"])),
                f"{float(1 / figures['frequency_l']):.0%}",
            )
        yield (
            name,
            Made(drawn.select(*QUASI, SENSITIVE), answer["seconds"], loss, made.height, both),
        )


def found(table: pl.DataFrame, drawn: pl.DataFrame) -> float:
    """Of the rows that stand once in the table the share that stands in the other one as well."""
    alone = table.filter(table.is_unique())
    return alone.join(drawn.unique(), on=alone.columns, how="semi", nulls_equal=True).height / max(
        alone.height, 1
    )


def row(table: pl.DataFrame, held_out: pl.DataFrame, name: str, made: Made) -> list[str]:
    """The figures of one tool."""
    bins = Bins.of(table)
    original, codes = bins.code(table), bins.code(made.drawn)
    stream = Randomness.seeded(1).stream("workload")
    queries = workload(table, QUASI, SENSITIVE, QUERIES, stream)
    share = made.drawn.height / table.height
    lost = errors(queries, lambda query: counted(made.drawn, query.where) / share)
    right = accuracy(codes, bins.code(held_out), SENSITIVE, bins)
    return [
        name, f"{made.published:,}", "" if made.loss is None else f"{made.loss:.3f}",
        f"{total_variation(original, codes, bins, 2):.3f}", f"{np.median(lost):.3f}",
        f"{right:.1%}", f"{found(table, made.drawn):.1%}", f"{made.seconds:.1f}",
        *(made.levels or ("", "", "")),
    ]  # fmt: skip


HEADER = (
    "made by", "rows", "width", "pairs", "error", "accuracy", "found", "seconds",
    "k, l by ours", "by pycanon", "greatest share",
)  # fmt: skip


def main() -> None:
    """Publish with everything, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--environment", type=Path, default=HERE / ".venv-peers")
    parser.add_argument("--rows", type=int, help="publish the first so many rows only")
    given = parser.parse_args()
    folder = os.environ.get("PHALANX_DATA")
    if folder is None or not Path(folder, "adult.parquet").is_file():
        print(
            "this experiment needs adult.parquet and hierarchies: set PHALANX_DATA.",
            file=sys.stderr,
        )
        raise SystemExit(2)
    table, held_out = read(Path(folder), given.rows)
    python = environment(given.environment)
    plain, others = (t.drop("row_id").select(*QUASI, SENSITIVE) for t in (table, held_out))
    half = others.sample(min(plain.height, others.height), seed=1)
    print(f"## {table.height:,} rows of Adult\n")
    print(f"| {' | '.join(HEADER)} |\n|{' --- |' * len(HEADER)}")
    itself = [
        ("the table itself", Made(plain, 0, 0, plain.height)),
        ("other people, held out", Made(half, 0, None, half.height)),
    ]
    with tempfile.TemporaryDirectory() as place:
        hierarchies = Path(folder, "hierarchies")
        of_others = theirs(plain, Path(place), python, hierarchies)
        for name, made in chain(itself, ours(table, hierarchies), of_others):
            print(f"| {' | '.join(row(plain, others, name, made))} |", flush=True)


if __name__ == "__main__":
    main()
