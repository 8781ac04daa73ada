# SPDX-License-Identifier: Apache-2.0
"""The regulator's questions: every adversary is about one of them, and what was not played is no
answer.
"""

import re

import typer

import phalanx
from adversaries.groups.test_posterior import WORKED, encoded, published
from phalanx import Extremes, Posterior, cli
from phalanx.adversaries.opinion import QUESTIONS, answers, play_all, question_of
from phalanx.adversaries.registry import ABOUT, KNOWN, OURS
from phalanx.release.evidence.evidence import Evidence

MICRODATA = encoded(WORKED)
EVIDENCE = Evidence(microdata={1: MICRODATA})


def test_nothing_played_is_nothing_asked():
    """Without attacks no question is asked."""
    assert [(answer.question, answer.asked) for answer in answers([])] == [
        (question, False) for question in QUESTIONS
    ]


def test_attacks_stand_under_their_question():
    """Extremes is about singling out, posterior about inference; linkability stays without an
    answer, and an adversary of another house is about inference.
    """
    release = published("generalized", MICRODATA, [0] * 4 + [1] * 4)
    attacks = [adversary.attack([release], EVIDENCE) for adversary in (Posterior(), Extremes())]
    singling_out, linkability, inference = answers(
        attacks, {"linkage": "of no use", "theirs": "nowhere"}
    )

    assert [a.adversary for a in singling_out.played] == ["extremes"]
    assert (linkability.asked, linkability.not_played) == (False, {"linkage": "of no use"})
    assert ([a.adversary for a in inference.played], inference.not_played) == (
        ["posterior"],
        {"theirs": "nowhere"},
    )


def test_every_adversary_is_played_or_named():
    """Whoever has a place on the command line is played by `all`, or named with a reason, for every
    form; each is told of in its turn.
    """
    attacks = typer.main.get_command(cli.app).commands["attack"]
    known = set(attacks.list_commands(typer.Context(attacks))) - {"all"}
    assert known > {"posterior", "linkage", "composition"}
    steps: list[tuple[str, int, int | None]] = []
    for kind in ("generalized", "bucketized", "sliced"):
        release = published(kind, MICRODATA, [0] * 4 + [1] * 4)
        steps.clear()
        found = play_all([release], EVIDENCE, lambda *step: steps.append(step))
        assert steps == [(name, 0, None) for name in KNOWN]
        played = {attack.adversary for answer in found for attack in answer.played}
        named = {name for answer in found for name in answer.not_played}
        assert played | named == known
        assert not played & named
        assert {question_of(name) for name in known} == set(QUESTIONS)


def test_what_ours_are_about_is_known_without_loading_them():
    """It is what the adversary itself says."""
    assert {name: KNOWN[name].question for name in OURS} == ABOUT


def test_every_attack_has_its_sentence():
    """One sentence, with a figure in it, that does not end: the page that shows it does that."""
    assert (
        phalanx.SinglingOut()
        .attack([published("generalized", MICRODATA, [0] * 8)], EVIDENCE)
        .sentence.startswith("finds no predicate")
    )
    for answer in play_all([published("generalized", MICRODATA, [0] * 4 + [1] * 4)], EVIDENCE):
        for attack in answer.played:
            assert re.search(r"\d", attack.sentence)
            assert not attack.sentence.endswith(".")
