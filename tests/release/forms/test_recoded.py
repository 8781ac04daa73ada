# SPDX-License-Identifier: Apache-2.0
"""The recoded form, read back from a folder that may say anything."""

import json
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest

from phalanx.errors import ReleaseError
from phalanx.release.forms.recoded import Recoded
from phalanx.release.manifest import PublishedAttribute

GRID = {"low": 0, "high": 100, "widths": [10], "level": 0}


@dataclass
class Said:
    """What a form looks at in a manifest."""

    scheme: Any
    attributes: list[PublishedAttribute] = field(
        default_factory=lambda: [
            PublishedAttribute(
                name="age", role="quasi", type="numeric", columns=["age_low", "age_high"]
            )
        ]
    )


def read(scheme):
    """The form of a folder whose manifest has this scheme."""
    tables = {"data": pl.DataFrame({"age_low": [10], "age_high": [20]})}
    return Recoded.of_folder(Said(json.loads(json.dumps(scheme))), tables)


@pytest.mark.parametrize(
    "recodings", [{"age": GRID}, {"age": GRID | {"level": None}}, {"age": {"level": 1}}, {}]
)
def test_schemes_that_are_read(recodings):
    """A level, the ends of a grid, or both."""
    assert read({"chosen": "fixed", "attributes": recodings}).scheme["attributes"] == recodings


@pytest.mark.parametrize(
    "recodings",
    [
        [],
        None,
        "age",
        {"age": None},
        {"age": [GRID]},
        *(
            {"age": GRID | change}
            for change in (
                {"level": "1"},
                {"level": -1},
                {"level": 0.5},
                {"widths": 10},
                {"widths": None},
                {"widths": ["10"]},
                {"low": None},
                {"high": [1]},
                {"high": 10**400},
            )
        ),
        {"age": {"widths": [10], "level": 0}},
    ],
)
def test_schemes_that_are_none(recodings):
    """What is no recoding is refused before anybody leans on it."""
    with pytest.raises(ReleaseError, match="does not say how each attribute is recoded"):
        read({"chosen": "fixed", "attributes": recodings})
