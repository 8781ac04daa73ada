# SPDX-License-Identifier: Apache-2.0
"""Other tools' tables of the same rows: made in an environment of their own, each within a time,
and read as their tools mean them.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from phalanx.guarantees.levels import levels
from phalanx.release.foreign import Foreign

HERE = Path(__file__).resolve().parent


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
    for name in labels:
        of = {text: cell(text, labels[name]) for text in made[name].unique()}
        some = [of[text] for text in made[name]]
        columns[name] = [values[int(rng.integers(len(values)))] for values in some]
        widths.append(np.mean([(len(v) - 1) / (len(labels[name]["*"]) - 1) for v in some]))
    frame = pl.DataFrame(columns, schema={name: table.schema[name] for name in labels})
    rest = [name for name in made.columns if name not in columns]
    return frame.with_columns(made.select(rest)), float(np.mean(widths))


def theirs(
    table: pl.DataFrame,
    asked: Mapping[str, Mapping[str, Any]],
    python: Path,
    hierarchies: Mapping[str, Path],
    place: Path,
    minutes: float,
) -> Iterator[tuple[str, Made | str]]:
    """Each of the other tools, in its environment; of one that did not come to an end why not.

    ``asked``: for each name the tool and its parameters, or a ``table`` that is there already.
    """
    labels = {}
    for name, file in hierarchies.items():
        shutil.copy(file, place / f"{name}.csv")
        labels[name] = labels_of(table, name, file)
    table.write_csv(place / "table.csv")
    for name, setting in asked.items():
        given = setting.get("table")
        if given is not None:
            given.write_csv(place / "given.csv")
        asking = {key: value for key, value in setting.items() if key != "table"}
        (place / "asked.json").write_text(json.dumps(asking), encoding="utf-8")
        yield name, _made(table, asking, python, labels, place, minutes)


def _made(
    table: pl.DataFrame,
    asked: Mapping[str, Any],
    python: Path,
    labels: Mapping[str, Mapping[str, list[Any]]],
    place: Path,
    minutes: float,
) -> Made | str:
    try:
        ran = subprocess.run(
            [python, HERE / "theirs.py", place],
            capture_output=True,
            text=True,
            check=False,
            timeout=60 * minutes,
        )
    except subprocess.TimeoutExpired:
        return f"not made within {minutes:g} minutes"
    if ran.returncode:
        return f"not made: {(ran.stderr.strip().splitlines() or ['it was ended'])[-1][:100]}"
    answer = json.loads(ran.stdout.splitlines()[-1])
    made = pl.read_csv(place / "made.csv", infer_schema=False)
    if answer["levels"] is None:
        numbers = pl.col("age").cast(pl.Float64).cast(pl.Int64)
        return Made(
            made.with_columns(numbers).select(table.columns), answer["seconds"], None, made.height
        )
    drawn, loss = drawn_from(made, table, labels)
    figures = levels(
        Foreign.read(place / "made.csv", quasi=asked["quasi"], sensitive=asked["sensitive"])
    )
    both = (
        f"{figures['k']}, {figures['distinct_l']}",
        ", ".join(map(str, answer["levels"])),
        f"{float(1 / figures['frequency_l']):.0%}",
    )
    return Made(drawn.select(table.columns), answer["seconds"], loss, made.height, both)
