# SPDX-License-Identifier: Apache-2.0
"""The page of a perturbed release speaks of rows, of what was drawn and of adversaries, and shows
no groups, no intervals and nobody's value.
"""

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

from phalanx.data.schema import Schema
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.mutual_cover.guarantee import MutualCover as Promise
from phalanx.methods.mutual_cover.method import MutualCover
from phalanx.report import write_report
from phalanx.report.adversaries import told
from phalanx.report.figures import Figures, Shown
from phalanx.report.promises import in_words
from phalanx.series.series import Series
from report.reader import Page

EVIL = '<img src=x onerror="alert(1)">'


def people(n=60):
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "who": [f"marker-person-{i}" for i in range(n)],
            "age": rng.integers(20, 70, n),
            "sex": rng.choice(["F", "M"], n),
            "town": pl.Series([["Aachen", "Bonn", None][i % 3] for i in range(n)]),
            "notes": [f"marker-note-{i}" for i in range(n)],
            "ill": [["flu", "gout", "acne", "ulcer"][i % 4] for i in range(n)],
        }
    )


def publish(tmp_path, *, times=1, rename=None, attacked=True, **parameters):
    names = rename or {}
    schema = Schema(
        identifier="who",
        quasi=[names.get(c, c) for c in ("age", "sex", "town")],
        sensitive=names.get("ill", "ill"),
        drop=["notes"],
        missing="value",
    )
    series = Series(
        "clinic",
        schema=schema,
        method=MutualCover(**{"delta": "1/4"} | parameters),
        to=tmp_path / "out",
    )
    made = [series.publish(people().rename(names)) for _ in range(times)]
    if not attacked:
        write_report(made[-1].page, made, made[-1].checks, summary={})
    text = made[-1].page.read_text(encoding="utf-8")
    return made, Page(text), text


def test_it_speaks_of_rows(tmp_path):
    """There are no groups to count, no buckets, intervals, counterfeits or information loss;
    quasi-identifiers are told to be drawn.
    """
    made, page, _ = publish(tmp_path)
    text = re.sub(
        "The regulator’s three questions.*The check", "", page.text
    )  # which names adversaries of other forms
    assert not re.search(
        "bucket|interval|counterfeit|information loss|mean width|Groups by|0 groups", text
    )
    assert (
        "Quasi-identifiers, published with values that were drawn: age, sex, town. Sensitive"
        " attribute: ill." in page.text
    )
    assert "rows 60 quasi-identifiers 3 suppressed rows 0" in page.text
    assert "with this person's own ill, in random order" in page.text.replace("’", "'")
    assert "published as they are: age" not in page.text and "No rows were suppressed." in page.text
    assert all(v.holds for v in made[0].checks) and "do not hand" not in page.text


def test_every_attribute_has_its_figures(tmp_path):
    """How many different values its column shows, how frequent the most frequent one is, and how
    many rows have none: those of the file.
    """
    made, page, _ = publish(tmp_path)
    table = pl.read_parquet(made[0].path / "data.parquet")
    for name in table.columns:
        most = table[name].value_counts(sort=True)["count"][0] / table.height
        assert (
            f" {name} {table[name].n_unique()} {most:.1%} {table[name].null_count()} " in page.text
        )


def test_figures_of_columns():
    """Counted by hand, missing values among them; nothing is divided by nothing."""
    assert Shown.of(pl.Series("x", [1, 1, None, 2])) == Shown("x", 3, 0.5, 1)
    assert Shown.of(pl.Series("x", [], dtype=pl.Int64)) == Shown("x", 0, 0.0, 0)


def test_a_column_may_be_called_count():
    """The name that counts get elsewhere is a name like any other."""
    shown = Shown.of(pl.Series("count", ["a", "b", "a", "a"]))
    assert shown == Shown("count", 2, 0.75, 0)


def test_the_figures_of_a_release(tmp_path):
    """No groups, no widths, all rows, every attribute."""
    made, _, _ = publish(tmp_path)
    figures = Figures.of(made[0])
    assert (
        figures.rows,
        figures.groups,
        len(figures.sizes),
        list(figures.widths),
        figures.loss,
    ) == (60, 0, 0, [], 0.0)
    assert [one.name for one in figures.shown] == ["age", "sex", "town", "ill"]


def test_the_promise_and_what_it_leaves_out(tmp_path):
    """The sentence of the promise is that of the manifest, with what it is not about."""
    made, page, _ = publish(tmp_path)
    assert in_words(made[0].manifest.guarantees[0]) in page.text
    assert (
        "One release at a time" in page.text
        and "Values are real ones of other persons" in page.text
    )


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        (
            Promise(delta="2/11"),
            (
                "from at least 6 of whom it could stem, and no single person accounts for more than"
                " 2/11"
            ),
        ),
        (
            Promise(delta="2/11"),
            "In every row at least one quasi-identifier shows another value than the person's own",
        ),
        (
            Promise(delta="2/11", changes=3),
            "In every row at least 3 quasi-identifiers show another value than the person's own",
        ),
        (Promise(delta=1), "Of sensitive values nothing is promised."),
    ],
)
def test_every_part_of_the_promise_is_in_words(promise, words):
    """Numbers of tuples, changes, and what is not promised are told."""
    assert words in in_words(promise.parameters())


@pytest.mark.parametrize(
    "said", [{}, {"delta": "x"}, {"delta": 0}, {"delta": "1/0"}, {"delta": 1, "changes": "x"}]
)
def test_a_promise_that_means_nothing_is_shown_as_it_is(said):
    """Names and parameters, where no sentence can be made of them."""
    assert in_words({"name": "mutual-cover", **said}).startswith("mutual-cover")


@dataclass(frozen=True)
class Found:
    """What an adversary found out."""

    adversary: str
    knows: str
    persons: int
    named_rightly: tuple[float, tuple[float, float]]
    success: float | None
    sample: int | None = None
    identity_baseline: float = 1 / 60
    note: str = ""
    attribute_baseline: float | None = 0.25


def page_of(path, release, found):
    """The page of a release that such adversaries attacked."""
    write_report(
        path,
        [release],
        [Verdict(name="truth", bound=0, worst=0, holds=True)],
        summary={},
        adversaries=found,
    )
    return Page(path.read_text(encoding="utf-8"))


def test_adversaries_stand_side_by_side(tmp_path):
    """Each adversary's name, what it knows, whom it stands for, and its figures stand in one row,
    after those of taking any row; without any there is none.
    """
    made, without, _ = publish(tmp_path, attacked=False)
    found = [
        Found(
            "linkage", "all quasi-identifiers", 1000, (0.0152, (0.01, 0.025)), 0.0268, sample=1000
        ),
        Found("informed", EVIL, 60, (0.0, (0.0, 0.1)), 1.0),
        Found("stranger", "nobody knows what", 60, (0.25, (0.1, 0.4)), None),
    ]
    page = page_of(tmp_path / "page.html", made[0], found)
    figures = re.sub(
        r"(?<=\.) (Takes every value|The release folder says).*?(?= (1,000|60) )", "", page.text
    )
    assert (
        "anybody knows nothing, and takes any row. 1.7% 25.0% linkage knows all quasi-identifiers."
        " 1,000 1.5% 1.0% to 2.5% 2.7% " in figures
    )
    assert (
        f"informed knows {EVIL}. 60 0% 100% stranger knows nobody knows what. 60 25.0% – "
        in figures
    )
    assert (
        "it is the least to expect" in page.text
        and "judge the release by this adversary" not in page.text
    )
    assert (
        "Some of the persons were drawn" in page.text
        and "rows named by the strongest adversary played 25.0%" in page.text
    )
    assert "img" not in page.tags and page.open == []
    everybody = page_of(tmp_path / "page.html", made[0], found[1:])
    assert "persons were drawn" not in everybody.text and "10.0% to 40.0%" not in everybody.text
    assert not re.search("What an adversary could find out|informed|stranger", without.text)


def test_every_adversary_of_ours_is_described(tmp_path):
    """Whom each of the adversaries stands for that look at a release before it leaves, so that a
    reader knows which figure to judge by.
    """
    made, page, _ = publish(tmp_path)
    assert [row.who != "" for row in told(made[0].attacks, {})] == [False, True, True, True]
    assert all(row.who in page.text.replace("’", "'") for row in told(made[0].attacks, {}))
    assert told([], {}) == []


def test_without_sensitive_values_there_is_no_figure_of_them(tmp_path):
    """The table has no column for what is not published."""
    series = Series(
        "clinic",
        schema=Schema(quasi=["age", "sex"], drop=["who", "town", "notes", "ill"]),
        method=MutualCover(delta="1/4"),
        to=tmp_path / "out",
    )
    page = Page(series.publish(people()).page.read_text(encoding="utf-8"))
    assert (
        "adversary persons the right row anybody" in page.text
        and "the right value" not in page.text
        and "a value of" not in page.text
    )


@pytest.mark.parametrize(("share", "told"), [(0.2501, True), (0.25, False)])
def test_rows_that_can_be_recognised_are_warned_of(tmp_path, share, told):
    """How many rows the strongest adversary finds stands before what delta means, as a warning where
    it is more than delta.
    """
    made, _, _ = publish(tmp_path)
    page = page_of(
        tmp_path / "page.html", made[0], [Found("informed", "x", 60, (share, (0, 1)), None)]
    )
    assert ("Rows can be recognised" in page.text) == told
    assert ("How many rows are found" in page.text) != told
    measured = page.text.index("names the right row for 25.0% of the persons")
    assert measured < page.text.index("could stem")


def test_what_the_plan_allows_is_told(tmp_path):
    """Beside an adversary that the plan bounds stands how much it may name, and nobody is warned of
    what was allowed: it is said.
    """
    made, _, _ = publish(tmp_path, bounds={"omniscient": "4/5"})
    page = page_of(
        tmp_path / "page.html",
        made[0],
        [Found(name, "x", 60, (0.7, (0, 1)), None) for name in ("omniscient", "informed")],
    )
    assert (
        "judge the release by this adversary. The plan allows it to name 4/5 of the rows."
        in page.text
    )
    assert page.text.count("The plan allows it") == 1
    assert (
        "names the right row for 70.0% of the persons. The plan allows omniscient 4/5." in page.text
    )
    assert "Rows can be recognised" not in page.text


def test_the_page_stands_alone(tmp_path):
    """No script and nothing to load; every element is closed in order; a column whose name is
    markup is shown as text.
    """
    _, page, text = publish(tmp_path, rename={"town": EVIL, "ill": "ill & <b>"})
    assert (
        "script" not in page.tags
        and "img" not in page.tags
        and "b" not in {tag for tag in page.tags if tag == "b" and "<b></b>" in text}
    )
    assert not any(
        name in ("src", "href", "srcset", "action", "data") or name.startswith("on")
        for name, _ in page.attributes
    )
    assert "http" not in text.replace("http-equiv", "") and page.open == []
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_nothing_private_is_shown(tmp_path):
    """Identifiers, dropped columns, values, places, and how many groups there are stand nowhere."""
    made, page, text = publish(tmp_path, keep_tables=True)
    assert "marker" not in text and str(tmp_path) not in text and ".db" not in text
    assert not re.search(r"\d+ (random output table|groups?\b|tables\b)", page.text)
    assert len(made[0].checks) == 11


def test_a_series_is_shown(tmp_path):
    """The table of releases counts rows, and no groups."""
    _, page, _ = publish(tmp_path, times=2)
    assert "release rows 1 60 2 60 " in page.text
    assert "roups by release" not in page.text


def test_what_was_laid_beside_is_told(tmp_path):
    """The original table and the private tables are named where a note speaks of them, and not
    where they could not be looked at.
    """
    made, page, _ = publish(tmp_path)
    assert (
        "the original table was looked at, too" in page.text
        and "the private record of them was used" in page.text
    )
    path = tmp_path / "page.html"
    verdicts = Promise(delta="1/4").check(made[0])
    write_report(path, [made[0]], verdicts, summary={})
    bare = Page(path.read_text(encoding="utf-8"))
    assert (
        "the original table was looked at" not in bare.text
        and "the private record of them" not in bare.text
    )
    assert "; 4 parts were not checked." in bare.text
