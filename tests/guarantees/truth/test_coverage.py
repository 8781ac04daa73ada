# SPDX-License-Identifier: Apache-2.0
"""What the original table shows of a release without a mapping, where a release shows hardly
anything.
"""

from dataclasses import replace
from pathlib import Path

import polars as pl

import phalanx as px
from phalanx.data.microdata import Microdata
from phalanx.guarantees.truth import coverage
from phalanx.release.folder import Release

SCHEMA = px.Schema(identifier="who", quasi=["age"], sensitive="ill")
PEOPLE = pl.DataFrame({"who": [1, 2], "age": [30, 40], "ill": ["a", "b"]})


def test_a_release_without_rows_covers_nobody(tmp_path: Path) -> None:
    """Both persons are missing, which its manifest does not allow."""
    px.publish(PEOPLE, SCHEMA, px.Mondrian(k=2)).save(tmp_path / "r")
    release = Release.read(tmp_path / "r")
    empty = replace(release, form=replace(release.form, table=release.form.table.clear()))
    microdata = Microdata.encode(PEOPLE, SCHEMA)
    assert coverage.check(release, microdata, hides_values=False).holds
    verdict = coverage.check(empty, microdata, hides_values=False)
    assert not verdict.holds and verdict.note.startswith(
        "2 person(s) of the original table are not"
    )
