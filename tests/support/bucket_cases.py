# SPDX-License-Identifier: Apache-2.0
"""A sliced and a bucketized release of each kind, issued into a folder, and what the check says of
it.
"""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from phalanx.data.hierarchies.hierarchy import Bands, Prefix
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import ReleaseError
from phalanx.guarantees.verify import verify
from phalanx.methods.slicing.column_boxes import column_boxes
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release, write_folder
from phalanx.release.form import Form
from phalanx.release.forms.bucketized import bucketize
from phalanx.release.forms.sliced import Sliced, slice_into
from phalanx.release.manifest import NAME, digest

FRAME = pl.DataFrame({
    "who": list("abcdefgh"),
    "age": [22, 22, 33, 52, 54, 60, 60, None],
    "born": [date(1999, 1, 1)] * 2 + [date(1990, 2, 2), date(1970, 3, 3), None, date(1964, 1, 1), date(1964, 1, 2), date(1960, 1, 1)],
    "sex": list("MFFFMMMF"),
    "zip": ["47906", "47906", "47905", "47905", "47302", "47302", "47304", "47304"],
    "ill": ["dyspepsia", "flu", "flu", "bronchitis", "flu", None, "dyspepsia", "gastritis"],
})  # fmt: skip


SCHEMA = Schema(
    identifier="who",
    quasi=["age", "born", "sex", "zip"],
    sensitive="ill",
    hierarchies={"age": Bands((10, 20)), "zip": Prefix((5, 3, 0))},
    missing="value",
)


MICRODATA = Microdata.encode(FRAME, SCHEMA, PersonKey(bytes(32)))


OF_ROW = np.array([0, 0, 0, 0, 1, 1, 1, 1])


APART = (("age", "born", "sex"), ("zip", "ill"))


SHARED = (("age", "born"), ("born", "sex"), ("sex", "zip", "ill"))


def form_of(kind: str) -> tuple[Form, np.ndarray]:
    """A form of eight people in two buckets, and the published bucket of each person."""
    stream = Randomness.secure().stream("test")
    if kind == "bucketized":
        form, ids = bucketize(MICRODATA, OF_ROW, stream)
    else:
        columns = SHARED if "shared" in kind else APART
        boxes = column_boxes(MICRODATA, columns, 2) if "boxes" in kind else None
        form, ids = slice_into(
            MICRODATA, columns, OF_ROW, stream, boxes=boxes, compact="compact" in kind
        )
    return form, ids[OF_ROW]


KINDS = [
    "rows",
    "compact",
    "shared rows",
    "shared compact",
    "boxes rows",
    "boxes compact",
    "bucketized",
]


FORMATS = [("parquet", "csv"), ("parquet",), ("csv",)]


def promise_of(form: Form) -> dict[str, Any]:
    """One that the untouched form keeps; with a shared attribute, a person's value may be
    certain.
    """
    if isinstance(form, Sliced) and len(form.columns) > 2:
        return {"name": "t-close-slicing", "t": "99/100"}
    return {
        "name": "anatomy-l-diversity" if form.kind == "bucketized" else "l-diverse-slicing",
        "l": 2,
    }


def issue(
    path: Path,
    form: Form,
    formats: tuple[str, ...] = ("parquet",),
    promise: dict[str, Any] | None = None,
) -> Path:
    path.mkdir()
    said = {
        "series": "s",
        "number": 1,
        "method": {"name": "by hand"},
        "boxes": "exact",
        "not_for_publication": False,
        "previous": None,
    }
    write_folder(path, form, formats, guarantees=[promise or promise_of(form)], **said)
    return path


def refusal(path: Path, evidence: Evidence | None = None) -> str:
    """What is said against the folder; empty where it holds."""
    try:
        return " | ".join(
            f"{v.name}: {v.note}" for v in verify([Release.read(path)], evidence) if not v.holds
        )
    except ReleaseError as error:
        return str(error)


def rewritten(path: Path, name: str, content: bytes) -> None:
    """Other bytes in a file, with the right digest in the manifest."""
    (path / name).write_bytes(content)
    say(path, lambda m: [f.update(sha256=digest(content)) for f in m["files"] if f["name"] == name])


def say(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    manifest = json.loads((path / NAME).read_bytes())
    change(manifest)
    (path / NAME).write_bytes((json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode())
