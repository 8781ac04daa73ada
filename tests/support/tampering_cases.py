# SPDX-License-Identifier: Apache-2.0
"""Releases that a middleman bends: every form, and tools that write a folder again with digests,
counts and chain that fit.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from phalanx import Anatomy, MInvariance, Mondrian, MutualCover, Schema, Series, Slicing, verify
from phalanx.errors import ReleaseError
from phalanx.release.folder import Release, write_folder
from phalanx.release.form import Form
from phalanx.release.manifest import NAME, Manifest, digest

SCHEMA = Schema(identifier="who", quasi=["age", "zip"], sensitive="ill")
METHODS: Mapping[str, Any] = {
    "generalized": Mondrian(k=4, l=2),
    "series": MInvariance(m=3),
    "bucketized": Anatomy(l=3),
    "sliced": Slicing(l=2, columns=2, sensitive_column_size=1),
    "perturbed": MutualCover(delta="1/4"),
}
OWN = {
    "form",
    "sliced",
    "scheme",
    "attributes",
    "rows",
    "groups",
    "counterfeits",
    "registered",
    "files",
    "format",
}


def people(n: int = 240, seed: int = 1, first: int = 0) -> pl.DataFrame:
    """A table without any order of its own."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame({
        "who": [f"person {i}" for i in range(first, first + n)],
        "age": rng.integers(20, 80, n),
        "zip": [str(z) for z in rng.integers(300, 340, n)],
        "ill": rng.choice(["flu", "gout", "rash", "ulcer", "acne", "cough"], n),
    })  # fmt: skip


def issue(
    to: Path,
    method: Any,
    tables: Sequence[pl.DataFrame],
    *,
    formats: Sequence[str] = ("parquet", "csv"),
) -> list[Path]:
    series = Series(
        "s",
        schema=SCHEMA,
        method=method,
        to=to,
        ledger=f"sqlite:///{to}/s.db",
        formats=formats,
        report=False,
    )
    return [series.publish(table).path for table in tables]


def refusal(folders: Sequence[Path], **evidence: Any) -> str:
    """What is said against the folders; empty where they hold."""
    try:
        checks = verify(folders, **evidence).checks
    except ReleaseError as error:
        return str(error)
    return " | ".join(f"{v.name}: {v.note}" for v in checks if not v.holds)


def notes(folders: Sequence[Path], **evidence: Any) -> str:
    return " | ".join(f"{v.name}: {v.note}" for v in verify(folders, **evidence).checks)


def written(path: Path, change: Callable[[Form], Form], **manifest: Any) -> None:
    """Change the form and write the whole folder again."""
    old = Release.read(path)
    formats = tuple(dict.fromkeys(f.name.rsplit(".", 1)[1] for f in old.manifest.files))
    shutil.rmtree(path)
    path.mkdir()
    write_folder(
        path, change(old.form), formats, **(old.manifest.model_dump(exclude=OWN) | manifest)
    )


def stated(path: Path, **changes: Any) -> None:
    """Edit the manifest in its canonical form; a function is called with the old value."""
    manifest = json.loads((path / NAME).read_bytes())
    for key, value in changes.items():
        manifest[key] = value(manifest[key]) if callable(value) else value
    (path / NAME).write_bytes((json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode())


def bytes_of(path: Path, name: str, content: bytes) -> None:
    """Put other bytes in a file, with the digest that fits."""
    (path / name).write_bytes(content)
    manifest = Manifest.from_bytes((path / NAME).read_bytes(), path)
    files = [
        f.model_copy(update={"sha256": digest((path / f.name).read_bytes())})
        for f in manifest.files
    ]
    (path / NAME).write_bytes(manifest.model_copy(update={"files": files}).to_bytes())


def chained(folders: Sequence[Path]) -> None:
    """Make each release name the one before it."""
    for before, after in pairwise(folders):
        stated(after, previous=Release.read(before).digest)
