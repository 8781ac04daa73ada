# SPDX-License-Identifier: Apache-2.0
"""The page asks the regulator's three questions, answers them by adversaries that were played, and
says of no other that anything was found.
"""

import re

import numpy as np
import polars as pl
import pytest

from phalanx.adversaries.opinion import QUESTIONS, play_none
from phalanx.data.schema import Schema
from phalanx.methods.base import make
from phalanx.release.folder import Release
from phalanx.report import write_report
from phalanx.series import bounds as attacking
from phalanx.series.series import Series
from report.reader import Page

RANGES = {
    "age": {"low": 0, "high": 100, "width": 100},
    "hours": {"low": 0, "high": 60, "width": 60},
}
METHODS = {
    "mondrian": {"k": 4, "l": 2},
    "anatomy": {"l": 2},
    "slicing": {
        "l": 2,
        "columns": [["age", "hours"], ["ill"]],
        "grouping": "random",
        "bucket_size": 6,
    },
    "mutual-cover": {"delta": "1/4"},
    "safe-sampling": {"epsilon": 1, "k": 2, "beta": "1/4", "scheme": RANGES, "allow_empty": True},
}


def people(n=80):
    rng = np.random.default_rng(5)
    ills = [["flu", "gout", "acne", "ulcer"][i % 4] for i in range(n)]
    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(n)],
            "age": rng.integers(20, 60, n),
            "hours": rng.integers(1, 50, n),
            "ill": ills,
        }
    )


def publish(tmp_path, name, times=1):
    schema = Schema(identifier="who", quasi=["age", "hours"], sensitive="ill")
    series = Series("s", schema=schema, method=make(name, METHODS[name]), to=tmp_path / name)
    return [series.publish(people()) for _ in range(times)][-1].page.read_text(encoding="utf-8")


def section(text):
    """The part of the page about the questions, as it is written and as it is read."""
    written = re.search(
        r"<h2>The regulator’s three questions</h2>.*?(?=<h2>)", text, re.DOTALL
    ).group()
    return written, Page(written).text


@pytest.mark.parametrize(
    ("name", "answering"),
    [
        ("mondrian", ("singling-out", "linkage", "posterior")),
        ("anatomy", ("singling-out", "linkage", "posterior")),
        ("slicing", ("membership", None, "posterior")),
        ("mutual-cover", (None, "omniscient", None)),
    ],
)
def test_each_question_is_answered_by_who_was_played(tmp_path, name, answering):
    """An adversary with what it knows and what it found; a question that nobody was played for is
    not asked, and nothing in it is green.
    """
    written, read = section(publish(tmp_path, name))

    parts = re.split(r"<h3.*?>(.*?)</h3>", written)[1:]
    assert [question.lower() for question in parts[::2]] == list(QUESTIONS)
    for part, adversary in zip(parts[1::2], answering, strict=True):
        assert (f"<b>{adversary}</b>" in part) == (adversary is not None)
        assert ("Not asked:" in part) == (adversary is None) == ("<table" not in part)
    assert (
        "holds" not in written
        and "There is no verdict" in read
        and "no guarantee covers these figures" in read
    )
    assert (
        "Not played: intersection" in read and "it attacks releases of another form" in read.lower()
    )


def test_adversaries_of_a_series_are_not_played_on_one_release(tmp_path):
    """Publishing has the table of the last release alone: whoever follows persons through a series
    is named, and not played on a part of it.
    """
    _, read = section(publish(tmp_path, "mondrian", times=2))

    assert (
        "Not played: intersection and intersection-by-person." in read
        and "It needs the original tables of all releases" in read
    )


def test_nobody_is_played_beyond_the_budget(tmp_path, monkeypatch):
    """The number of rows decides, before anybody looks at a value; the page names everybody with
    that reason, and no question is answered.
    """
    monkeypatch.setattr(attacking, "MOST_ROWS", 79)
    written, read = section(publish(tmp_path, "mondrian"))

    assert read.count("Not asked: no adversary was played for this page.") == 3
    assert "Beyond its budget: the release has 80 rows, and up to 79 are attacked here" in read
    assert "<table" not in written and "holds" not in written
    release = Release.read(tmp_path / "mondrian" / "s-1")
    assert not any(
        answer.asked for answer in attacking.questions(release, None, [])
    )  # what nobody looks at cannot decide
    monkeypatch.undo()
    assert all(answer.asked for answer in attacking.questions(release, evidence_of(release), []))


def evidence_of(release):
    from phalanx.data.microdata import Microdata
    from phalanx.release.evidence.evidence import Evidence

    return Evidence(
        microdata={
            release.number: Microdata.encode(
                people().drop("who"), Schema(quasi=["age", "hours"], sensitive="ill")
            )
        }
    )


def test_nobody_is_played_on_a_differentially_private_release(tmp_path):
    """What an adversary finds out of the original table, and the page shows, would not be covered
    by epsilon.
    """
    text = publish(tmp_path, "safe-sampling")
    written, read = section(text)

    assert (
        read.count("Not asked: no adversary was played for this page.") == 3
        and "more of the original table than differential privacy allows" in read
    )
    assert "<table" not in written and "no guarantee covers" not in read
    assert "This page shows what was released, and nothing else." in Page(text).text


def test_a_page_without_answers_says_that_nothing_is_known(tmp_path):
    """Whoever writes a page by hand and plays nobody gets no good word for it; the same page with
    everybody refused names them.
    """
    publish(tmp_path, "mondrian")
    release, path = Release.read(tmp_path / "mondrian" / "s-1"), tmp_path / "page.html"

    write_report(path, [release], [], summary={})
    assert (
        "Not asked: no adversary was played for this page, which says nothing of singling out, linkability"
        " or inference." in section(path.read_text())[1]
    )
    write_report(path, [release], [], summary={}, answers=play_none("no time"))
    assert section(path.read_text())[1].count("No time.") == 3
