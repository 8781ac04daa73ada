# SPDX-License-Identifier: Apache-2.0
"""What no example has: very many values, very many attributes, one enormous group, and names that
no programmer would give a column.
"""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from phalanx import Schema, Series
from phalanx.errors import PhalanxError, SchemaError, SourceError
from phalanx.methods.base import Method
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Mondrian
from phalanx.series.released import Release
from phalanx.verification import verify

STRANGE = [
    'a "b"',
    "c'd",
    "e f",
    "👩‍⚕️",
    "first line\nsecond line",
    "col\r\n",
    "x'; DROP TABLE persons; --",
    "a,b",
    ";",
    "[bold]",
    "<script>alert(1)</script>",
    "ä",
    "a\u0308",  # the same letter to a reader, another name to a machine
    "\t",
    " lead",
    "%s",
    "{x}",
    "$ref",
    "..",
    "null",
    "a\\b",
    "שלום",
    "group",
    "age_low",
    "0",
]
SENSITIVE = "ill? 'n' \"x\"\n"


def people(n: int, **columns: Sequence[object] | np.ndarray) -> pl.DataFrame:
    """``n`` persons."""
    return pl.DataFrame({"who": np.arange(n), **columns})


def publish_and_verify(
    folder: Path,
    table: pl.DataFrame,
    schema: Schema,
    method: Method,
    formats: Sequence[str] = ("parquet",),
    *,
    boxes: bool = True,
) -> Release:
    """The release, verified from its files with the ledger, and with the original table unless
    ``boxes`` is false.
    """
    published = Series(
        "strange", schema=schema, method=method, to=folder / "out", formats=formats
    ).publish(table)
    found = verify(
        [published.path],
        ledger=f"sqlite:///{folder / 'strange.db'}",
        originals=[table] if boxes else [],
        identifier=schema.identifier,
    )
    assert [v.name for v in found.checks if not v.holds] == []
    assert (
        published.rows - published.counterfeits + sum(published.suppressed_rows.values())
        == table.height
    )
    return published


def test_ten_thousand_sensitive_values(tmp_path: Path) -> None:
    """Each of ten thousand values is published as often as it was held, in groups of ten different
    ones.
    """
    rng = np.random.default_rng(1)
    n = 50_000
    table = people(
        n,
        age=rng.integers(0, 90, n),
        zip=rng.integers(0, 5000, n),
        ill=[f"icd {i % 10_000}" for i in rng.permutation(n)],
    )
    schema = Schema(identifier="who", quasi=["age", "zip"], sensitive="ill")
    published = publish_and_verify(tmp_path, table, schema, MInvariance(m=10), boxes=False)
    assert published.counterfeits == 0
    assert (
        published.table["ill"]
        .value_counts()
        .sort("ill")
        .equals(table["ill"].value_counts().sort("ill"))
    )
    assert published.table.group_by("group").agg(pl.col("ill").n_unique())["ill"].min() == 10


@pytest.mark.parametrize(
    "method", [MInvariance(m=3), Mondrian(k=5, l=2)], ids=lambda method: method.name
)
def test_sixty_quasi_identifiers(tmp_path: Path, method: Method) -> None:
    """Sixty attributes give sixty intervals, each of which holds what its person has."""
    rng = np.random.default_rng(2)
    n, names = 2000, [f"q{i}" for i in range(60)]
    table = people(n, **{name: rng.integers(0, 50, n) for name in names}, ill=rng.integers(0, 9, n))
    published = publish_and_verify(
        tmp_path, table, Schema(identifier="who", quasi=names, sensitive="ill"), method
    )
    columns = published.table.columns
    assert columns == [
        "group",
        *(f"{name}_{end}" for name in names for end in ("low", "high")),
        "ill",
    ]


@pytest.mark.parametrize(
    ("method", "groups"),
    [
        pytest.param(Mondrian(k=1_000_000), 1, id="mondrian"),
        pytest.param(MInvariance(m=2), 500_000, id="m-invariance", marks=pytest.mark.slow),
    ],
)
def test_a_million_equal_rows(tmp_path: Path, method: Method, groups: int) -> None:
    """A million people who differ in nothing known: one group of all of them, or half a million
    pairs; nobody's age is blurred.
    """
    n = 1_000_000
    table = people(n, age=np.full(n, 40), ill=np.arange(n) % 2)
    published = publish_and_verify(
        tmp_path, table, Schema(identifier="who", quasi=["age"], sensitive="ill"), method
    )
    assert (published.rows, published.groups, published.counterfeits) == (n, groups, 0)
    assert published.table.select("age_low", "age_high").unique().rows() == [(40, 40)]


def test_strange_names_together(tmp_path: Path) -> None:
    """Quotes, spaces, line breaks, emoji and SQL in names: published in every format under these
    names, counted in the ledger, shown in the report.
    """
    rng = np.random.default_rng(3)
    names = [name for name in STRANGE if name != "age_low"]
    table = (
        people(60, **{name: rng.integers(0, 9, 60) for name in names})
        .rename({"who": "who ✓\n"})
        .with_columns((pl.int_range(60) % 4).alias(SENSITIVE))
    )
    schema = Schema(identifier="who ✓\n", quasi=names, sensitive=SENSITIVE)
    published = publish_and_verify(
        tmp_path, table, schema, MInvariance(m=2), formats=("parquet", "csv")
    )
    expected = ["group", *(f"{name}_{end}" for name in names for end in ("low", "high")), SENSITIVE]
    assert pl.read_parquet(published.path / "data.parquet").columns == expected
    with (published.path / "data.csv").open(
        newline="", encoding="utf-8-sig"
    ) as file:  # Polars leaves doubled quotes in the names that it reads
        assert next(csv.reader(file)) == expected
    assert {
        a["name"] for a in json.loads((published.path / "release.json").read_text())["attributes"]
    } >= {*names, SENSITIVE}
    assert published.page is not None
    assert "<script>alert(1)" not in published.page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_name_alone(tmp_path: Path, name: str) -> None:
    """Every one of them names a quasi-identifier, and a sensitive attribute unless it is one of our
    own.
    """
    table = people(24, q=np.arange(24) // 3, s=np.arange(24) % 4)
    as_quasi = Schema(identifier="who", quasi=[name], sensitive="s")
    assert (
        publish_and_verify(
            tmp_path, table.rename({"q": name}), as_quasi, MInvariance(m=2), formats=("csv",)
        ).rows
        == 24
    )
    if name != "group":
        as_sensitive = Schema(identifier="who", quasi=["q"], sensitive=name)
        publish_and_verify(
            tmp_path / "again",
            table.rename({"s": name}),
            as_sensitive,
            MInvariance(m=2),
            formats=("csv",),
        )


@pytest.mark.parametrize(
    ("quasi", "sensitive", "keep"),
    [
        (["age"], "group", []),
        (["age"], "age_low", []),
        (["age"], "age_high", []),
        (["age"], "s", ["group"]),
        (["age"], "s", ["age_low"]),
    ],
    ids=str,
)
def test_two_columns_of_one_name(
    tmp_path: Path, quasi: list[str], sensitive: str, keep: list[str]
) -> None:
    """A column that would be published under a name of ours is one sentence that names it, before
    anything is written.
    """
    table = people(24, **{name: np.arange(24) % 4 for name in [*quasi, sensitive, *keep]})
    with pytest.raises(
        SchemaError,
        match=(
            r"two published columns would be called '(group|age_low|age_high)' .*; rename the"
            r" column at the source\.$"
        ),
    ):
        publish_and_verify(
            tmp_path,
            table,
            Schema(identifier="who", quasi=quasi, sensitive=sensitive, keep=keep),
            MInvariance(m=2),
        )
    assert list(tmp_path.glob("out/*")) == []


@pytest.mark.parametrize(
    ("name", "error"),
    [("", SourceError), (" ", None), ("a" * 300, None)],
    ids=["none", "blank", "long"],
)
def test_names_at_the_edge(tmp_path: Path, name: str, error: type[PhalanxError] | None) -> None:
    """A column without a name is refused in a sentence; blank and very long names are names."""
    table = people(24, q=np.arange(24) // 3, s=np.arange(24) % 4).rename({"q": name})
    schema = Schema(identifier="who", quasi=[name], sensitive="s")
    if error is None:
        assert (
            publish_and_verify(
                tmp_path, table, schema, MInvariance(m=2), formats=("parquet", "csv")
            ).rows
            == 24
        )
        return
    with pytest.raises(error, match="without a name"):
        publish_and_verify(tmp_path, table, schema, MInvariance(m=2))
    assert list(tmp_path.glob("out/*")) == []
