# SPDX-License-Identifier: Apache-2.0
"""Sliced releases by hand and generated ones, beside the tables that they are of."""

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from naive.posterior import posterior
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.sliced import Sliced, slice_into
from phalanx.release.manifest import Manifest

ILLNESSES = ["flu", "gout", "rash", "ulcer"]
"""In alphabetical order, which is that of the ordered distance."""


SHAPES = [
    (("a", "b"), ("c", "s")),
    (("a",), ("b",), ("s",)),
    (("a", "b"), ("b", "s")),
    (("a",), ("b",), ("c", "s")),
    (("a", "b"), ("b", "c"), ("c", "s")),
]


@dataclass(frozen=True)
class Published:
    """A table in buckets and its release."""

    columns: tuple
    rows: list
    buckets: list
    """For each bucket, each column's tuples of values."""
    release: Release
    microdata: Microdata

    @property
    def form(self) -> Sliced:
        return self.release.form

    @property
    def original(self) -> Evidence:
        return Evidence(microdata={1: self.microdata})

    @property
    def tuples(self):
        """The tuples of the table, without the sensitive value."""
        return [{name: value for name, value in row.items() if name != "s"} for row in self.rows]

    @property
    def candidates(self):
        """All tuples that match some bucket."""
        names = sorted({name for column in self.columns for name in column} - {"s"})
        every = (
            dict(zip(names, values, strict=True))
            for values in product(*({row[name] for row in self.rows} for name in names))
        )
        return [t for t in every if posterior(t, self.columns, self.buckets, "s")]


def released(form: Sliced) -> Release:
    said = {
        "series": "s",
        "number": 1,
        "method": {"name": "by hand"},
        "guarantees": [],
        "boxes": "exact",
        "not_for_publication": False,
        "files": [],
    }
    manifest = Manifest(
        form="sliced",
        attributes=list(form.attributes),
        rows=form.rows,
        groups=form.groups,
        counterfeits=0,
        **form.manifest_fields(),
        **said,
    )
    return Release(manifest, form, Path())


def publish(rows, columns, bucket, hierarchy=None) -> Published:
    """Rows as dictionaries, in buckets 0 .. g-1."""
    quasi = sorted({name for column in columns for name in column} - {"s"})
    schema = Schema(
        quasi=quasi,
        sensitive="s",
        hierarchies={} if hierarchy is None else {"s": hierarchy},
        missing="value",
    )
    microdata = Microdata.encode(
        pl.DataFrame(rows, infer_schema_length=None).select(*quasi, "s"), schema
    )
    form, _ = slice_into(
        microdata,
        columns,
        np.array(bucket),
        Randomness.secure().stream("test"),
        compact=len(rows) % 2 == 0,
    )
    buckets = [
        [
            [
                tuple(row[name] for name in column)
                for row, at in zip(rows, bucket, strict=True)
                if at == b
            ]
            for column in columns
        ]
        for b in range(max(bucket) + 1)
    ]
    return Published(columns, rows, buckets, released(form), microdata)


def generated(seed) -> Published:
    """Up to 30 rows in buckets of three or more, some of them with few sensitive values."""
    rng = np.random.default_rng(seed)
    n, g = int(rng.integers(6, 31)), int(rng.integers(1, 5))
    bucket = rng.permutation(np.arange(n) % g).tolist()
    few = [rng.permutation(ILLNESSES)[: rng.integers(1, 5)].tolist() for _ in range(g)]
    rows = [
        {
            "a": int(rng.integers(3)),
            "b": "xy"[rng.integers(2)],
            "c": [None, "z"][rng.integers(2)],
            "s": few[b][rng.integers(len(few[b]))],
        }
        for b in bucket
    ]
    columns = SHAPES[seed % len(SHAPES)]
    used = {name for column in columns for name in column}
    return publish(
        [{name: value for name, value in row.items() if name in used} for row in rows],
        columns,
        bucket,
    )


def with_fakes() -> Published:
    """Everybody in the table has two values of a half each, and the candidate (a = 4, b = x), who
    is not in the table, has one value alone.
    """
    first = [(1, "x", "flu"), (2, "y", "rash"), (4, "z", "flu"), (4, "z", "gout")]
    second = [(1, "x", "gout"), (2, "y", "acne"), (5, "z", "flu"), (5, "z", "gout")]
    rows = [dict(zip("abs", row, strict=True)) for row in first + second]
    return publish(rows, (("a",), ("b", "s")), [0, 0, 0, 0, 1, 1, 1, 1])


def by_count(*buckets) -> Sliced:
    """A compact form of a = the bucket's number, with as many tuples with each value as are
    said.
    """
    form = publish([{"a": 1, "s": "flu"}, {"a": 1, "s": "gout"}], (("a",), ("s",)), [0, 0]).form
    assert form.compact
    first = pl.DataFrame(
        {
            "bucket": range(1, len(buckets) + 1),
            "a": range(1, len(buckets) + 1),
            "count": [sum(b.values()) for b in buckets],
        }
    )
    second = pl.DataFrame(
        [(i, s, n) for i, b in enumerate(buckets, 1) for s, n in b.items()],
        schema=["bucket", "s", "count"],
        orient="row",
    )
    return replace(form, given=(first, second))
