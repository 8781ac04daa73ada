# SPDX-License-Identifier: Apache-2.0
"""The page of a release in parts: it says what that of the same table in one piece would, and no more
than one part is in memory for it.
"""

import io
import json
import re
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from phalanx import Anatomy, GlobalGuarantee, MInvariance, Mondrian, Release, Series, Slicing
from phalanx.cli import app
from phalanx.errors import ReleaseError
from phalanx.release import folder
from phalanx.report import looks
from phalanx.report.looks import Gathered, Look
from phalanx.report.so_far import SoFar
from series.test_in_parts import SCHEMA, people, small  # noqa: F401 - a fixture
from support.tampering_cases import bytes_of

METHODS = [
    Mondrian(k=5),
    Anatomy(l=3),
    Slicing(l=3, columns=[["age", "sex"], ["zip"], ["ill"]]),
    Slicing(l=3, columns=2, sensitive_column_size=1, compact=True),
    MInvariance(m=3),
    GlobalGuarantee(l=2),
]
NAMES = ["mondrian", "anatomy", "sliced", "compact", "m-invariance", "global guarantee"]


@pytest.fixture
def tight(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """So little memory that those who follow persons have several parts, too."""
    request.getfixturevalue("small")
    for method in (GlobalGuarantee, MInvariance):
        monkeypatch.setattr(method, "bytes_per_value", 170)


def published(tmp_path: Any, method: Any, **changes: Any) -> Release:
    people().write_parquet(tmp_path / "t.parquet")
    series = Series("s", SCHEMA, method, to=tmp_path / "out", **changes)
    return series.publish(tmp_path / "t.parquet")


def in_one_piece(release: Release) -> Look:
    """What is told of the whole tables."""
    read = folder.Release.read(release.path)
    return Look.of(replace(read, manifest=read.manifest.model_copy(update={"parts": []})))


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_parts_are_told_of_as_the_whole_is(tmp_path: Any, method: Any) -> None:
    """Sizes, classes, and of each attribute the domain, the mean, the median and what is exact; as
    the parts were looked at when they were made, and when they are read again.
    """
    made = published(tmp_path, method)
    assert len(made.manifest.parts) > 2
    whole, again = in_one_piece(made), Look.of(folder.opened(made.path))
    assert made._look is not None
    for look in (made._look, again):
        for name in ("rows", "groups", "counterfeits", "counterfeit_groups", "loss"):
            assert getattr(look.figures, name) == pytest.approx(getattr(whole.figures, name))
        assert sorted(look.figures.sizes.tolist()) == sorted(whole.figures.sizes.tolist())
        assert [
            (width.name, width.domain, width.with_missing) for width in look.figures.widths
        ] == [(width.name, width.domain, width.with_missing) for width in whole.figures.widths]
        for mine, other in zip(look.figures.widths, whole.figures.widths, strict=True):
            assert mine.mean == pytest.approx(other.mean)
            assert (mine.median, mine.exact) == (other.median, other.exact)
        if isinstance(method, Anatomy):
            assert look.classes is None and whole.classes is not None
            assert "may stand in several of them" in look.why_no_class
        elif whole.classes is None:
            assert look.classes is None and look.why_no_class == whole.why_no_class
        else:
            assert look.classes is not None
            assert look.classes.to_json() == whole.classes.to_json()
        assert look.form.rows == 0 < SoFar.of(look).rows == made.rows


@pytest.mark.usefixtures("small")
def test_the_page_is_written_without_the_whole(tmp_path: Any, monkeypatch: Any) -> None:
    """When it is published, and by whoever reads the folder; the next page has the series so far."""

    def whole(*_: Any) -> None:
        raise AssertionError("the whole release was read")

    monkeypatch.setattr(folder.Unread, "_read", whole)
    made = published(tmp_path, Mondrian(k=5))
    assert made.page is not None
    shown = made.page.read_text()
    assert f"The release is in {len(made.manifest.parts)} parts" in shown
    assert "12,000" in shown and "Interval widths" in shown
    page = Release.read(made.path).report(tmp_path / "out.html", audience="external")
    assert f"in {len(made.manifest.parts)} parts" in page.read_text()
    asked = ["report", str(made.path), "--for", "internal", "--to", str(tmp_path / "in.html")]
    done = CliRunner().invoke(app, [*asked, "--json"])
    assert done.exit_code == 0
    assert json.loads(done.output)["regulator"]["prosecutor"]["highest"] == 0.2
    assert Release.read(made.path).save(tmp_path / "copy").digest == made.digest
    assert Release.read(made.path).with_evidence().rows == made.rows
    again = published(tmp_path, Mondrian(k=5))
    assert again.page is not None and "The series so far" in again.page.read_text()
    assert again._so_far[0].rows == made.rows


@pytest.mark.usefixtures("small")
def test_a_plan_without_a_page_looks_at_nothing(tmp_path: Any, monkeypatch: Any) -> None:
    """Neither at parts, nor for the ledger."""
    monkeypatch.setattr(Gathered, "add", lambda *_: pytest.fail("a part was looked at"))
    made = published(tmp_path, Mondrian(k=5), report=False)
    assert (made.page, made._look) == (None, None)
    with pytest.raises(pytest.fail.Exception, match="a part was looked at"):
        published(tmp_path, Mondrian(k=5))


@pytest.mark.usefixtures("small")
def test_too_many_intervals_are_said_to_be_unmeasured(tmp_path: Any, monkeypatch: Any) -> None:
    """The attribute is named, all others are measured, and the mean is theirs."""
    monkeypatch.setattr(looks, "_MOST", 1_000)
    made = published(tmp_path, Mondrian(k=5))
    look = made._look
    assert look is not None and made.page is not None
    measured = [width.name for width in look.figures.widths]
    assert measured and look.figures.unmeasured
    assert sorted([*measured, *look.figures.unmeasured]) == ["age", "sex", "zip"]
    assert "more different intervals than are looked at" in made.page.read_text()
    assert SoFar.of(look).loss is None
    shown = re.sub(r"<[^>]*>", " ", made.page.read_text())
    assert re.search(r"information loss\s+–", shown) and "An interval covers" not in shown


@pytest.mark.usefixtures("small")
def test_a_population_smaller_than_the_release_is_refused(tmp_path: Any) -> None:
    """Also where no classes are told of."""
    made = published(tmp_path, Anatomy(l=3), report=False)
    with pytest.raises(ReleaseError, match="a population of 10 persons is smaller"):
        made.report(tmp_path / "page.html", population=10)


@pytest.mark.usefixtures("small")
def test_a_copy_says_where_it_is(tmp_path: Any) -> None:
    """Whatever was asked of the release before."""
    made = published(tmp_path, Mondrian(k=5), report=False)
    assert str(made.path) in repr(made)
    saved = made.save(tmp_path / "copy")
    assert str(saved.path) in repr(saved) and str(made.path) not in repr(saved)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("dtype", [pl.String, pl.Float64, pl.Categorical])
def test_parts_that_contradict_each_other_have_no_page(tmp_path: Any, dtype: Any) -> None:
    """One sentence says so, as of a release in one piece."""
    made = published(tmp_path, Mondrian(k=5), report=False)
    name = made.manifest.files[1].name
    bent = pl.read_parquet(made.path / name).with_columns(
        pl.col("age_low").cast(pl.String).cast(dtype)
    )
    bent.write_parquet(content := io.BytesIO())
    bytes_of(made.path, name, content.getvalue())
    asked = ["report", str(made.path), "--for", "external", "--to", str(tmp_path / "p.html")]
    done = CliRunner().invoke(app, asked)
    assert isinstance(done.exception, ReleaseError)
    assert "contradicts itself" in str(done.exception) or "same columns" in str(done.exception)
