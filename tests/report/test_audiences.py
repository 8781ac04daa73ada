# SPDX-License-Identifier: Apache-2.0
"""The page answers first, is signed last, and has nothing of the original for those outside."""

import re
from dataclasses import replace

import polars as pl
import pytest

import phalanx as px
from phalanx.errors import ReleaseError
from phalanx.guarantees.sentences import percent
from phalanx.report.classes import THRESHOLDS, Classes
from report.reader import Page

PEOPLE = pl.DataFrame({
    "age": [20 + i * 7 % 40 for i in range(60)],
    "sex": ["fm"[i % 2] for i in range(60)],
    "ill": [["flu", "gout", "rash"][i % 3] for i in range(60)],
})  # fmt: skip
SCHEMA = px.Schema(quasi=["age", "sex"], sensitive="ill")


@pytest.fixture(scope="module")
def release() -> px.Release:
    """A release with its original beside it."""
    return px.publish(PEOPLE, SCHEMA, px.Mondrian(k=4))


def page_of(release: px.Release, tmp_path, audience: str = "internal") -> Page:
    return Page(release.report(tmp_path / "p.html", audience=audience).read_text(encoding="utf-8"))


def test_four_questions_come_first(release, tmp_path) -> None:
    """In their order, before pictures, before what the regulator signs, before the checks."""
    for audience in ("internal", "external"):
        text = page_of(release, tmp_path, audience).text
        heads = [
            "Is the guarantee kept?", "What is promised", "Who could still be found, and by whom?",
            "What was lost?", "What can be done with it?", "In pictures", "For the regulator",
            "Assumptions, and what this page covers", "The check",
        ]  # fmt: skip
        places = [text.index(head) for head in heads]
        assert places == sorted(places)


def test_the_regulators_table_has_the_figures_of_the_classes(release, tmp_path) -> None:
    """Prosecutor, journalist and marketer risk, the shares above each threshold, classes by size."""
    classes = Classes.of_form(release.form)
    assert classes is not None
    text = page_of(release, tmp_path, "external").text
    worst, mean = percent(classes.worst), percent(classes.average)
    assert f"1 over the rows of the class {worst} {mean} journalist" in text
    assert f"at most the prosecutor’s ≤ {worst} ≤ {mean} marketer" in text
    assert f"counts how many are right {mean}" in text
    shares = " ".join(percent(classes.above(t)) for t in THRESHOLDS)
    assert f"risk above 0.05 0.09 0.2 0.33 share of all records {shares}" in text
    assert "classes " + " ".join(f"{n:,}" for _, n, _ in classes.distribution) in text
    assert "a class is a group" in text


def test_there_is_no_risk_of_rows_that_are_nobodys(tmp_path) -> None:
    """Of drawn values the page says so, and has no figure in its place."""
    made = px.publish(PEOPLE, SCHEMA, px.MutualCover(delta="1/3"))
    text = page_of(made, tmp_path).text
    assert (
        "No figure is given of prosecutor, journalist and marketer risk: values of rows were"
        in text
        and "prosecutor looks" not in text
    )
    assert "values of rows were drawn, and the adversaries say what that hides" in text


def test_it_can_be_signed_and_says_what_it_covers(release, tmp_path) -> None:
    """The digest, the assumptions, each rule with what is on the page and what is not, four lines."""
    text = page_of(release, tmp_path).text
    assert release.digest in text
    assert (
        "Quasi-identifiers are those that the plan names, and no others are known: age, sex."
        in text
    )
    assert "A row is one person’s." in text and "No population is declared" in text
    assert "The method and its parameters are known to the adversary." in text
    for asked in ("EMA Policy 0070", "HIPAA, 45 CFR 164.514(b)(1)", "GDPR, recital 26"):
        assert asked in text
    assert "Made by Checked by Date Decision" in text
    page = release.report(tmp_path / "of-a-sample.html", population=6000)
    declared = Page(page.read_text(encoding="utf-8")).text
    assert "No population is declared" not in declared
    assert "The population is as large as the publisher says" in declared
    strict = px.publish(PEOPLE, SCHEMA, px.Mondrian(k=4, l=2, cuts="strict"))
    assert "No adversary replays the method." in page_of(strict, tmp_path).text
    manifest = replace(
        release, manifest=release.manifest.model_copy(update={"privacy_unit": "record"})
    )
    assert "A row is a record; a person may have several." in page_of(manifest, tmp_path).text


def test_outside_is_made_of_released_values_alone(release, tmp_path) -> None:
    """Without the original, its counts and its findings the same page is written, byte by byte."""
    alone = replace(
        release, evidence=type(release.evidence)(), attacks=(), suppressed_rows={"x": 3}, checks=()
    )
    pages = [
        each.report(tmp_path / f"{i}.html", audience="external").read_bytes()
        for i, each in enumerate((release, alone))
    ]
    assert pages[0] == pages[1]
    text = Page(pages[0].decode()).text
    assert "This page shows released values, and nothing else." in text
    assert (
        "What adversaries find who are judged by the original table is not said to those who receive"
        in text
    )
    assert "How many rows were suppressed is not said here." in text
    assert not re.search("not to be handed out|original 1|played on this|suppressed 0", text)
    assert "takes every interval for evenly filled" in text


def test_inside_says_what_its_figures_come_from(release, tmp_path) -> None:
    """And that it stays inside; the budget of its questions is named."""
    text = page_of(release, tmp_path).text
    assert (
        "For inside, not to be handed out." in text
        and "beside figures of the original table" in text
    )
    assert re.search(
        r"Questions are \d+ counts on one to three quasi-identifiers and ill, drawn at random, a page's budget",
        text,
    )


def test_a_page_is_for_one_of_two(release, tmp_path) -> None:
    """Anybody else is refused."""
    with pytest.raises(ReleaseError, match="for internal or external, and not 'all'"):
        release.report(tmp_path / "p.html", audience="all")


def test_the_risk_of_a_series_is_drawn_where_there_is_one(tmp_path) -> None:
    """A bar and a mark for each release; none before there are three."""
    people = PEOPLE.with_row_index("who")
    schema = px.Schema(identifier="who", quasi=["age", "sex"], sensitive="ill")
    series = px.Series("s", schema, px.MInvariance(m=2), to=tmp_path / "out")
    _, second, third = (series.publish(people).page.read_text(encoding="utf-8") for _ in range(3))
    assert "Prosecutor risk by release" not in second
    assert re.search(r"1: [\d.]+%, on average [\d.]+%; 2: [\d.]+%, on average [\d.]+%; 3", third)
