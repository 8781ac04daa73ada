# SPDX-License-Identifier: Apache-2.0
"""The four answers of a page: each sentence stands where it is true, and nowhere else."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx.adversaries.opinion import play_none, play_one
from phalanx.release.form import Form
from phalanx.release.forms.generalized import Generalized
from phalanx.release.forms.perturbed import Perturbed
from phalanx.release.forms.sliced import Sliced
from phalanx.release.kinds import OURS, form_class
from phalanx.report import headlines
from phalanx.report.classes import Classes
from phalanx.report.figures import Figures
from phalanx.report.looks import Look
from phalanx.report.usefulness import Distribution, Usefulness

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


@pytest.mark.parametrize(
    ("holds", "fails", "open_", "rows", "sentence", "good"),
    [
        (3, 0, 0, 9, "Yes: all 3 checks of the published files hold.", True),
        (
            1,
            0,
            2,
            9,
            "Yes: the check of the published files holds; 2 parts were not checked.",
            True,
        ),
        (3, 1, 0, 9, "1 check failed: do not hand this release out.", False),
        (3, 0, 0, 0, "No row is published: the release holds, and is of no use to anybody.", False),
        (0, 0, 4, 9, "Nothing was checked: do not hand this release out.", False),
    ],
)
def test_the_first_answer_is_never_yes_for_nothing(
    holds, fails, open_, rows, sentence, good
) -> None:
    """A check that was not made is none that holds, and an empty release is no success."""
    results = {"holds": holds, "fails": fails, "not checked": open_}
    assert headlines.kept(results, rows) == (sentence, good)


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        (
            [4, 6],
            "finds at least 4 rows that may be the person's: the right one with at most 25.0%, and with 20.0% on average",
        ),
        ([1, 9], "finds the person's row: 1 row is alone with them"),
        ([1, 1, 9], "2 rows are alone with them"),
        ([], "No size of a class says who could be found: there is no row."),
    ],
)
def test_sizes_say_who_is_found(sizes: list[int], says: str) -> None:
    """By the smallest class; a row that is alone is said to be found."""
    assert says in headlines.by_class(
        Classes(np.array(sizes, dtype=np.int64), "a group"), Generalized.why_no_class
    )


def test_forms_without_classes_say_why() -> None:
    """Drawn values and shuffled columns have no rows of persons."""
    for kind, says in (
        (Perturbed, "values of rows were drawn"),
        (Sliced, "a row is not a person's"),
        (Form, "another package"),
    ):
        assert says in headlines.by_class(None, kind.why_no_class)


@dataclass
class Found:
    """An adversary that found something."""

    adversary: str = "posterior"
    persons: int = 60
    exposed: int = 0
    success: float = 0.5
    baseline: float = 0.3
    sentence: str = "is right about 50 %"
    by_luck: str = ""


@dataclass
class Asked:
    """A question with those who were played."""

    played: list[Any] = field(default_factory=list)
    question: str = "inference"


def test_who_was_played_is_told_with_the_worst(release: px.Release) -> None:
    """A certain one with its verdict, the best of each question with its sentence, nobody as such."""
    look = Look.of(release)
    lucky, best = (
        Found(exposed=3),
        replace_(adversary="linkage", success=0.9, sentence="is right about 90 %"),
    )
    told = headlines.found(release, look, [Asked([lucky, best])], inside=True)
    assert (
        "2 adversaries were played on this release. Most certain is posterior: 3 of 60 persons: not a breach"
        in told[1]
    )
    assert told[2] == "Inference: linkage is right about 90 %."
    told = headlines.found(release, look, [Asked([Found()])], inside=True)
    assert (
        told[1].endswith("None of them is certain, and right, about anybody.")
        and "1 adversary was" in told[1]
    )
    nobody = headlines.found(release, look, play_none("no time"), inside=True)
    assert nobody[1:] == [
        "No adversary was played for this page, which says no more of it; 'phalanx attack' plays them."
    ]
    outside = headlines.found(release, look, [Asked([lucky])], inside=False)
    assert "posterior" not in " ".join(outside) and "is not said here" in outside[1]


def replace_(**more: Any) -> Found:
    """A finding with other fields."""
    return replace(Found(), **more)


def test_what_was_lost_is_what_was_measured(release: px.Release) -> None:
    """Each figure with its sentence; what was not measured says why."""
    figures = Figures.of(release)
    use = Usefulness(
        inside=True,
        distributions=(Distribution("age", ("a", "b"), (0.5, 0.5), (0.7, 0.3)),),
        pairs=(("age", "sex", 0.4, 0.1), ("age", "ill", 0.3, 0.29)),
        errors=(0.1, 0.2, 0.4),
        sample_errors=(0.05, 0.1, 0.3),
    )
    told = headlines.lost(figures, use, 2, 1, intervals=True)
    assert (
        told[0]
        == f"An interval covers {100 * figures.loss:.1f}% of its attribute's range on average."
    )
    assert (
        told[1]
        == "Half of 3 typical counts are off by more than 20.0%; in a plain sample of as many rows, by more than 10.0%."
    )
    assert "20.0% of the rows would have to be moved" in told[2]
    assert told[3] == "2 rows are suppressed, and 1 value of published rows."
    assert headlines.lost(figures, use, 0, 0, intervals=False)[-1] == "No row is suppressed."
    none = headlines.lost(
        figures, Usefulness(inside=True, why_not="it is late"), None, 0, intervals=False
    )
    assert none == ["Nothing else was measured: it is late."]
    assert (
        "phalanx measure"
        in headlines.lost(figures, Usefulness(inside=False), None, 0, intervals=False)[0]
    )
    look = Look.of(release)
    kept = headlines.usable(look, use)
    assert (
        "Best kept together: age and ill (phi² 0.30, released 0.29); least: age and sex (0.40, released 0.10)."
        in kept
    )
    one = replace(use, pairs=(("age", "sex", 0.4, 0.1), ("age", "ill", 0.01, 0.01)))
    assert (
        "Of the two attributes that tell most of each other, age and sex, phi² is 0.40 in the"
        " original, and 0.10 released." in headlines.usable(look, one)
    )
    none = replace(use, pairs=(("age", "ill", 0.01, 0.01),))
    assert "No two attributes tell much of each other in the original." in headlines.usable(
        look, none
    )
    assert kept[-1] == "It is not for finding out about single persons."
    assert not any("phi" in each for each in headlines.usable(look, Usefulness(inside=False)))


def test_every_form_of_ours_says_what_it_is_good_for() -> None:
    """A sentence for each; an empty release is good for nothing."""
    assert [kind for kind in OURS if not form_class(kind).used_for] == []


def test_sentences_of_a_true_release_agree_with_its_attacks(release: px.Release) -> None:
    """What is said of an adversary is what it said itself."""
    answers = play_one(release, release.evidence)
    told = " ".join(headlines.found(release, Look.of(release), answers, inside=True))
    played = [attack for answer in answers for attack in answer.played]
    assert f"{len(played)} adversaries were played" in told
    assert sum(attack.sentence in told for attack in played) == sum(
        answer.asked for answer in answers
    )
