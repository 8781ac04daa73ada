# SPDX-License-Identifier: Apache-2.0
"""Every method, published from every world: what who knows the method learns stays within the
bound, or is caught where it is known not to.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import numpy as np
import pytest

from phalanx.methods.anatomy.method import Anatomy
from phalanx.methods.base import registered
from phalanx.methods.safe_sampling.private_choice import PrivateChoice
from worlds import neighbours, options, table
from worlds.case import Case
from worlds.cases import CASES
from worlds.choices import NotEnumerableError, Unread, permute_and_flip
from worlds.oracle import asked_priors
from worlds.publications import Publisher
from worlds.settings import PRIORS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "who-knows-the-method.md"
QUICK = [case for case in CASES if case.quick]
OTHERS = [case for case in CASES if not case.quick]


def check(case: Case):
    """The claim, and how surely: what is enumerated must be exact in every figure."""
    answer = case.answer()
    assert case.verdict(answer) == (
        "open" if not case.claimed else "holds" if answer.kind == "exact" else "nothing above"
    ), [answer, str(case)]
    if case.claimed and answer.kind == "exact":
        greatest = max(case.bound.values()) if isinstance(case.bound, dict) else case.bound
        assert all(finding.largest <= greatest for finding in answer.findings)
    return answer


@pytest.mark.parametrize("case", QUICK, ids=str)
def test_what_is_claimed_of_who_knows_the_method(case):
    """One case of each kind: the bound holds exactly from every world, or the oracle sees that it
    does not.
    """
    assert check(case).kind == (
        "exact" if case.how == "enumerated" else "near exact (no worlds vary)"
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", OTHERS, ids=str)
def test_what_is_claimed_of_every_option(case):
    """All other lines of the table."""
    check(case)


@pytest.mark.parametrize(
    "plan", [plan for plan in neighbours.PLANS if plan.quick], ids=lambda plan: plan.option
)
def test_safe_sampling_needs_no_more_delta_than_it_promises(plan):
    """For all pairs of tables that differ in one person, through the whole publishing code; and it
    needs all of it, so that less would be seen.
    """
    found = neighbours.ask(plan)

    assert found.needed == found.promised > 0
    assert found.outputs > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan", [plan for plan in neighbours.PLANS if not plan.quick], ids=lambda plan: plan.option
)
def test_safe_sampling_keeps_its_promise_in_every_line(plan):
    """Where a scheme is chosen by the table, by all choices with their chances, and over two
    releases, too.
    """
    found = neighbours.ask(plan)

    assert 0 < found.needed <= found.promised
    assert found.outputs > 1


def test_chances_of_a_private_choice_are_those_of_the_draws():
    """OpenDP's own draws are as frequent as the chances that are gone through; of twice the noise
    they are not. Fails wrongly with a chance of 10^-7.
    """
    scores, choice, other = (
        np.array([0, 3, 7, 8]),
        PrivateChoice(Fraction(1, 2), 1),
        PrivateChoice(Fraction(1, 4), 1),
    )
    exact = dict(enumerate(permute_and_flip(scores.tolist(), Fraction(choice.scale))))

    assert agrees(exact, [choice.among(scores) for _ in range(2000)])
    assert not agrees(exact, [other.among(scores) for _ in range(2000)])


def test_a_method_states_of_itself_what_is_claimed():
    """The manifest says whether its promise holds against who knows the method: as the line claims,
    or the line says why it is about something else. A series says so where all its plans do.
    """
    assert [
        str(case) for case in CASES if (stated(case) == case.claimed) == bool(case.differs)
    ] == []


def stated(case):
    return all(method.holds_if_method_known for method in (case.made(), *case.made_later))


def test_every_option_is_asked_or_has_a_reason():
    """Each key that a plan can name, each word that may stand there, and each hierarchy; the page
    has the reason for those that are not asked.
    """
    missing = options.every_option() - options.asked_options()
    page = " ".join(PAGE.read_text(encoding="utf-8").split())

    assert missing == set(options.NOT_ASKED)
    assert all(
        f"`{name}`" in page and reason in page for (_, name, _), reason in options.NOT_ASKED.items()
    )
    assert {case.method for case in CASES} | {"safe-sampling"} == set(registered())


def test_an_option_that_is_new_is_missed(monkeypatch):
    """The broken twins: a method with one word more, and lines without those of one option."""

    @dataclass(frozen=True, kw_only=True)
    class Newer(Anatomy):
        ties: Literal["random", "public"] = "random"

    monkeypatch.setattr(
        options, "registered", lambda: {"anatomy": SimpleNamespace(load=lambda: Newer)}
    )
    assert options.every_option() - options.asked_options() - set(options.NOT_ASKED) == {
        ("anatomy", "ties", "'public'")
    }
    monkeypatch.undo()
    monkeypatch.setattr(
        options, "CASES", [case for case in CASES if "bounds" not in case.parameters]
    )
    assert options.every_option() - options.asked_options() - set(options.NOT_ASKED) == {
        ("mutual-cover", "bounds", word) for word in ("informed", "omniscient")
    }


def test_every_line_asks_three_priors():
    """A uniform and two skewed ones; where all worlds give the same values to persons in another
    order the three are one, and nothing is left to ask.
    """
    assert len(PRIORS) == 3
    for setting in {case.setting for case in CASES}:
        drawn = {
            tuple(tuple(sorted(map(repr, values))) for values in setting.draws(world))
            for world in setting.worlds
        }
        assert asked_priors(setting).keys() == (set(PRIORS) if len(drawn) > 1 else {"uniform"})


@pytest.mark.parametrize("case", [case for case in QUICK if case.how == "enumerated"], ids=str)
def test_choices_enumerated_are_those_of_real_randomness(case):
    """Publishing a world again and again gives the enumerated outputs as often as their
    probabilities say; fails wrongly with a chance of 10^-7.
    """
    publisher = Publisher(case.made(), case.setting, dict(case.folds), case.made_later)
    world = case.setting.worlds[len(case.setting.worlds) // 2]
    assert agrees(publisher.exactly(world), [publisher.sampled(world) for _ in range(200)])


def test_a_fold_that_leaves_choices_out_is_seen():
    """The broken twin: where rows are dealt into one pile, whose order is left as it is, outputs
    that do occur are not enumerated.
    """
    from worlds.choices import dealt

    case = next(case for case in QUICK if "random" in case.option)
    publisher = Publisher(case.made(), case.setting, {"deal": dealt(1)})
    world = case.setting.worlds[0]
    assert not agrees(publisher.exactly(world), [publisher.sampled(world) for _ in range(200)])


def agrees(exact, drawn):
    """Whether counts are within what Clopper and Pearson allow of exact probabilities, on both
    sides.
    """
    from worlds.oracle import at_least

    n, alarm = len(drawn), 1e-7 / (2 * max(len(exact), 1))
    counts = {output: drawn.count(output) for output in set(drawn) | set(exact)}
    assert sum(exact.values()) == 1
    return all(
        at_least(k, n, alarm) <= exact.get(output, 0) <= 1 - at_least(n - k, n, alarm)
        for output, k in counts.items()
    )


def test_raw_words_are_refused_rather_than_taken_as_zeros():
    """A method that looks at raw words, which cannot be gone through, is not enumerated by half."""
    with pytest.raises(NotEnumerableError, match="grouping: raw words"):
        np.array([Unread("grouping")]).astype(np.uint64)


def test_the_page_shows_every_line_as_it_is_printed():
    """Every case stands on the page, in the order of the run and with nothing between, and of the
    quick cases every figure does.
    """
    page = PAGE.read_text(encoding="utf-8")
    _, _, after = page.partition(f"{table.HEAD}\n{table.RULE}\n")
    lines = after[: after.index("\n\n")].splitlines()
    begins = [f"| {case.method} | {case.option} | {case.table} |" for case in CASES] + [
        f"| {table.SAFE} | {p.option} | {p.table} |" for p in neighbours.PLANS
    ]

    assert len(lines) == len(begins) == len(set(begins))
    for line, begin, case in zip(lines, begins, [*CASES, *neighbours.PLANS], strict=True):
        assert line.startswith(begin)
        if case.quick:
            assert line == (
                table.safe_sampling(case, neighbours.ask(case))
                if begin.startswith(f"| {table.SAFE}")
                else table.line(case, case.answer())
            )


def test_the_lines_of_one_method_can_be_rewritten():
    """A run of one method leaves the lines of all others, and what stands around the table, as they
    are.
    """
    page = PAGE.read_text(encoding="utf-8")
    row = f"| {CASES[0].method} | some | line |"
    written = table.rewritten(page, {CASES[0].method: [row]})

    assert [line for line in written.splitlines() if line not in page.splitlines()] == [row]
    assert (
        len(page.splitlines()) - len(written.splitlines()) == len(table.LINES[CASES[0].method]) - 1
    )
    assert table.rewritten(page, {}) == page


def test_figures_are_written_plainly():
    """Fractions that are short stand as they are, nothing and everything are not rounded."""
    assert [table.fraction(x) for x in (Fraction(1, 2), Fraction(355, 1130))] == ["1/2", "0.314"]
    assert [table.share(x) for x in (Fraction(0), Fraction(1, 3000), Fraction(1))] == [
        "0",
        "0.0 %",
        "100 %",
    ]
    assert all(re.fullmatch(r"(\|[^|]*){12}\|", line) for line in (table.HEAD, table.RULE))
