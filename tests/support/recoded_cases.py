# SPDX-License-Identifier: Apache-2.0
"""Recoded releases by hand: a table about patients, how a row of it is recoded, and the folder of
what a sample of it shows.
"""

import datetime as dt
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from naive import recodings as naive
from phalanx.data.hierarchies.hierarchy import Bands, Prefix, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.guarantees.differential_privacy.guarantee import DifferentialPrivacy
from phalanx.guarantees.verify import verify
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release, write_folder
from phalanx.release.forms.recoded import Recoded
from phalanx.release.manifest import PublishedAttribute

PATHS = {
    "judge": ["judge", "office", "*"],
    "clerk": ["clerk", "office", "*"],
    "farmer": ["farmer", "outside", "*"],
    "pilot": ["pilot", "*"],
}
JOBS, ZIPS, INCOMES = Tree.of_paths(list(PATHS.values())), Prefix((4, 2, 0)), Bands((10000, 20000))
AGES = {"low": 20, "high": 95, "widths": [10, 50]}
DOSES = {"low": 0.5, "high": 8, "widths": [0.7]}
DAYS = {"low": "1998-01-01", "high": "2003-05-05", "widths": [365, 730]}
SCHEMA = Schema(
    quasi=["age", "dose", "since", "job", "zip", "income", "sex"],
    sensitive="ill",
    types={"ill": "categorical"},
    hierarchies={"job": JOBS, "zip": ZIPS, "income": INCOMES},
    missing="value",
)
TYPES = {
    "age": pl.Int64,
    "dose": pl.Float64,
    "since": pl.Date,
    "job": pl.String,
    "zip": pl.String,
    "income": pl.Int64,
    "sex": pl.String,
    "ill": pl.Int64,
}
LEVELS = {"age": 0, "dose": 0, "since": 1, "job": 1, "zip": 1, "income": 1, "sex": 0, "ill": 0}
TOPS = {"age": 2, "dose": 1, "since": 2, "job": 2, "zip": 2, "income": 3, "sex": 1, "ill": 1}
LOWEST = {"income": 1}
ENTRIES = {"age": AGES, "dose": DOSES, "since": DAYS}
PROMISE = DifferentialPrivacy(epsilon=2, delta="1/8", k=3, beta="1/2")
"""True of crowds of three of every second row, and of no smaller delta: two rows show nothing, and
three all of themselves with a probability of 1/8.
"""


def people(n, seed=1):
    """Patients, some values of whom are missing, and some beyond the ranges."""
    rng = np.random.default_rng(seed)

    def some(values):
        return [None if x < 0.07 else value for x, value in zip(rng.random(n), values, strict=True)]

    return pl.DataFrame(
        {
            "age": some(rng.integers(10, 110, n).tolist()),
            "dose": some(np.round(rng.random(n) * 9, 1).tolist()),
            "since": some(
                [dt.date(1997, 6, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 2500, n)]
            ),
            "job": some(rng.choice(list(PATHS), n).tolist()),
            "zip": some([f"{x:04d}" for x in rng.integers(0, 40, n) * 37]),
            "income": some(rng.integers(-9000, 45000, n).tolist()),
            "sex": some(rng.choice(["f", "m"], n).tolist()),
            "ill": some(rng.integers(1, 4, n).tolist()),
        },
        schema=TYPES,
    )


def image(row, levels):
    """What a row is published as, by the slow twin."""
    day = row["since"] and (row["since"] - dt.date(1970, 1, 1)).days
    first, last = (
        (dt.date.fromisoformat(DAYS[end]) - dt.date(1970, 1, 1)).days for end in ("low", "high")
    )
    since = naive.range_cell(first, last, DAYS["widths"], levels["since"], day)
    return (
        *naive.range_cell(*AGES.values(), levels["age"], row["age"]),
        *naive.range_cell(*DOSES.values(), levels["dose"], row["dose"]),
        *(None if end is None else dt.date(1970, 1, 1) + dt.timedelta(days=end) for end in since),
        *naive.leaf_node(PATHS, levels["job"], row["job"]),
        *naive.code_node(ZIPS.lengths, levels["zip"], row["zip"]),
        *naive.band(INCOMES.widths, levels["income"], row["income"]),
        *naive.text_node(levels["sex"], row["sex"]),
        *naive.text_node(levels["ill"], row["ill"]),
    )


def attributes(names=tuple(TYPES)):
    """What a manifest says of the patients' columns."""
    hierarchies = {"job": JOBS, "zip": ZIPS, "income": INCOMES}
    kinds = {"age": "numeric", "dose": "numeric", "since": "date", "income": "numeric"}
    return tuple(
        PublishedAttribute(
            name=name,
            role="sensitive" if name == "ill" else "quasi",
            type=kinds.get(name, "categorical"),
            columns=[f"{name}_low", f"{name}_high"] if name in kinds else [name],
            hierarchy=hierarchies[name].parameters() if name in hierarchies else None,
        )
        for name in names
    )


def columns(names=tuple(TYPES)):
    """The published columns and their types."""
    kinds = {"age": pl.Int64, "dose": pl.Float64, "since": pl.Date, "income": pl.Int64}
    return {column: kinds.get(a.name, pl.String) for a in attributes(names) for column in a.columns}


@dataclass(frozen=True)
class Published:
    """A form, and what else its folder says."""

    form: Recoded
    guarantees: list = field(default_factory=list)
    number: int = 1
    previous: str | None = None
    method: dict = field(default_factory=dict)

    def written(self, path, formats=("parquet", "csv")):
        """The release, read back from its folder."""
        path.mkdir(exist_ok=True)
        write_folder(
            path, self.form, formats, series="patients", number=self.number, method={"name": "by hand"} | self.method, boxes="fixed", previous=self.previous,
            guarantees=[promise.parameters() for promise in self.guarantees],
        )  # fmt: skip
        return Release.read(path)

    def with_rows(self, rows):
        """The same with other rows, in their order."""
        return replace(
            self,
            form=replace(
                self.form,
                table=ordered(pl.DataFrame(rows, schema=self.form.table.schema, orient="row")),
            ),
        )

    def with_scheme(self, chosen, entries):
        return replace(
            self, form=replace(self.form, scheme={"chosen": chosen, "attributes": entries})
        )


def ordered(table):
    """The rows in the order in which they are published."""
    return table.sort(table.columns, nulls_last=True)


def publish(frame, sample, levels, k, guarantees=()):
    """What a sample shows at these levels: the release, and the number of the image of every row, 0
    for those that are not published.
    """
    images = [image(row, levels) for row in frame.rows(named=True)]
    counted = Counter(images[i] for i in sample)
    shown = [images[i] for i in sample if counted[images[i]] >= k]
    table = ordered(pl.DataFrame(shown, schema=columns(), orient="row"))
    place = {row: i + 1 for i, row in enumerate(dict.fromkeys(table.rows()))}
    groups = np.zeros(frame.height, dtype=np.int64)
    for i in sample:
        groups[i] = place.get(images[i], 0)
    entries = {name: ENTRIES.get(name, {}) | {"level": levels[name]} for name in TYPES}
    return (
        Published(
            Recoded(table, attributes(), {"chosen": "fixed", "attributes": entries}),
            list(guarantees),
        ),
        groups,
    )


def encoded(frame):
    return Microdata.encode(frame, SCHEMA)


def verdicts(release, evidence=None, earlier=()):
    """The verdicts on one release, by the last words of their names."""
    return {
        v.name.split(": ")[-1]: v for v in verify([*earlier, release], evidence, only_last=True)
    }


def beside(microdata):
    """The original table as evidence."""
    return Evidence(microdata={1: microdata})
