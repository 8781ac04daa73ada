"""Every method, published from every world: what who knows the method learns stays within the bound, or is caught where it is known not to."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from thoroughly import turn
from worlds import neighbours, table
from worlds.cases import CASES, Case
from worlds.choices import NotEnumerableError, as_they_stand
from worlds.oracle import ask
from worlds.publications import Publisher

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "who-knows-the-method.md"
QUICK = [case for case in CASES if case.quick]
OTHERS = [case for case in CASES if not case.quick]


def check(case: Case):
    """The claim, and how surely: what is enumerated must be exact in every figure."""
    answer = case.answer()
    assert case.verdict(answer) == ("open" if not case.claimed else "holds" if answer.kind == "exact" else "nothing above"), [answer, str(case)]
    if case.claimed and answer.kind == "exact":
        greatest = max(case.bound.values()) if isinstance(case.bound, dict) else case.bound
        assert all(finding.largest <= greatest for finding in answer.findings)
    return answer


@pytest.mark.parametrize("case", QUICK, ids=str)
def test_what_is_claimed_of_who_knows_the_method(case):
    """One case of each kind: the bound holds exactly from every world, or the oracle sees that it does not."""
    assert check(case).kind == ("exact" if case.how == "enumerated" else "near exact (no worlds vary)")


@pytest.mark.slow
@pytest.mark.parametrize("case", turn(OTHERS), ids=str)
def test_what_is_claimed_of_every_option(case):
    """All other lines of the table."""
    check(case)


@pytest.mark.parametrize("plan", neighbours.PLANS[:1], ids=str)
def test_safe_sampling_needs_no_more_delta_than_it_promises(plan):
    """For all pairs of tables that differ in one person, through the whole publishing code; and it needs all of it, so that less would be seen."""
    found = neighbours.ask(dict(plan))

    assert found.needed == found.promised > 0
    assert found.outputs > 1


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_method_states_of_itself_what_is_claimed(case):
    """The manifest says whether its promise holds against who knows the method: as the line claims, or the line says why it is about something else."""
    assert (case.made().holds_if_method_known == case.claimed) == (not case.differs)


def test_every_method_and_every_word_of_it_is_asked():
    """Each method of the registry, and each word that a parameter with few words may be, has a line."""
    from dataclasses import fields
    from typing import get_args, get_type_hints

    from phalanx.methods.base import registered

    asked = {(case.method, name, value) for case in CASES for name, value in case.parameters.items() if isinstance(value, str)}
    lines = {case.method for case in CASES} | {"safe-sampling"}
    assert lines == set(registered())
    missing = set()
    for method in lines - {"safe-sampling"}:  # its words are asked in tests/worlds/test_safe_sampling.py
        cls = registered()[method].load()
        hints = get_type_hints(cls)
        for f in fields(cls):
            words = {word for word in get_args(hints[f.name]) if isinstance(word, str)} - {f.default}
            missing |= {(method, f.name, word) for word in words if (method, f.name, word) not in asked}
    assert missing == {("mondrian", "distance", "hierarchical")}  # the same cuts by another distance; the toy tables have no hierarchy


@pytest.mark.parametrize("case", [case for case in QUICK if case.how == "enumerated"], ids=str)
def test_choices_enumerated_are_those_of_real_randomness(case):
    """Publishing a world again and again gives the enumerated outputs as often as their probabilities say; fails wrongly with a chance of 10^-7."""
    publisher = Publisher(case.made(), case.setting, dict(case.folds))
    world = case.setting.worlds[len(case.setting.worlds) // 2]
    assert agrees(publisher.exactly(world), [publisher.sampled(world) for _ in range(200)])


def test_a_fold_that_leaves_choices_out_is_seen():
    """The broken twin: where rows are dealt into one pile, whose order is left as it is, outputs that do occur are not enumerated."""
    from worlds.choices import dealt

    case = next(case for case in QUICK if "random" in case.option)
    publisher = Publisher(case.made(), case.setting, {"deal": dealt(1)})
    world = case.setting.worlds[0]
    assert not agrees(publisher.exactly(world), [publisher.sampled(world) for _ in range(200)])


def agrees(exact, drawn):
    """Whether counts are within what Clopper and Pearson allow of exact probabilities, on both sides."""
    from worlds.oracle import at_least

    n, alarm = len(drawn), 1e-7 / (2 * max(len(exact), 1))
    counts = {output: drawn.count(output) for output in set(drawn) | set(exact)}
    assert sum(exact.values()) == 1
    return all(at_least(k, n, alarm) <= exact.get(output, 0) <= 1 - at_least(n - k, n, alarm) for output, k in counts.items())


def test_raw_words_are_refused_rather_than_taken_as_zeros():
    """A method that draws what cannot be gone through is not enumerated by half."""
    case = next(case for case in CASES if "permanent" in case.parameters)

    with pytest.raises(NotEnumerableError, match="raw words"):
        ask(case.made(), case.setting, case.bound, how="enumerated", folds={"grouping": as_they_stand})


def test_the_page_shows_every_line_as_it_is_printed():
    """Every case stands on the page, and of the quick cases every figure does."""
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert table.HEAD in page and table.RULE in page
    for case in CASES:
        begin = f"| {case.method} | {case.option} | {case.table} |"
        printed = [line for line in page if line.startswith(begin)]
        assert len(printed) == 1, begin
        if case.quick:
            assert printed == [table.line(case, case.answer())]


def test_figures_are_written_plainly():
    """Fractions that are short stand as they are, nothing and everything are not rounded."""
    assert [table.fraction(x) for x in (Fraction(1, 2), Fraction(355, 1130))] == ["1/2", "0.314"]
    assert [table.share(x) for x in (Fraction(0), Fraction(1, 3000), Fraction(1))] == ["0", "0.0 %", "100 %"]
    assert all(re.fullmatch(r"(\|[^|]*){12}\|", line) for line in (table.HEAD, table.RULE))
