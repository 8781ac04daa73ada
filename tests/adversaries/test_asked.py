# SPDX-License-Identifier: Apache-2.0
"""An adversary that is given nothing, or something else than releases and evidence, says so in one
sentence.
"""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from phalanx import (
    Extremes,
    History,
    Informed,
    Intersection,
    Linkage,
    Membership,
    MInvariance,
    Omniscient,
    Posterior,
    Release,
    Schema,
    Series,
)
from phalanx.errors import PhalanxError
from phalanx.release.evidence.evidence import Evidence

ADVERSARIES = (
    Extremes,
    History,
    Informed,
    Intersection,
    Linkage,
    Membership,
    Omniscient,
    Posterior,
)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder: Path = tmp_path_factory.mktemp("asked")
    table = pl.DataFrame(
        {
            "p": range(40),
            "age": [i % 13 for i in range(40)],
            "d": ["abcd"[i % 4] for i in range(40)],
        }
    )
    schema = Schema(identifier="p", quasi=["age"], sensitive="d")
    return Series(
        "s", schema=schema, method=MInvariance(m=2), to=folder / "out", report=False
    ).publish(table)


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize(
    "what",
    ["no evidence", "no releases", "a path", "a missing release", "a folder", "other evidence"],
)
def test_something_else_is_refused(release: Release, adversary: Any, what: str) -> None:
    """One sentence for each."""
    given: dict[str, tuple[Any, Any]] = {
        "no evidence": ([Release.read(release.path)], None),
        "no releases": (None, Evidence()),
        "a path": ("out/s-1", Evidence()),
        "a missing release": ([None], Evidence()),
        "a folder": ([release.path], Evidence()),
        "other evidence": ([release], {"groups": {}}),
    }
    with pytest.raises(PhalanxError) as told:
        adversary().attack(*given[what])
    assert str(told.value).count(". ") == 0


@pytest.mark.parametrize(("adversary", "parameter"), [(Intersection, "view"), (Posterior, "by")])
@pytest.mark.parametrize("value", [None, ["box"], {}, 1])
def test_parameters_of_another_kind(adversary: Any, parameter: str, value: object) -> None:
    """A list where a word is meant is a sentence, too."""
    with pytest.raises(PhalanxError, match="adversary"):
        adversary(**{parameter: value})
