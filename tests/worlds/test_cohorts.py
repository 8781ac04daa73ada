# SPDX-License-Identifier: Apache-2.0
"""Against somebody who knows the method: permanent values, published from every world in exact
fractions. The lines of the oracle ask the method as it is; here its rules are broken one by one.
"""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from phalanx.methods.global_guarantee import cohorts, phases
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from worlds.cases import BOTH, FOR_GOOD, INFECTED, LATE, LEFT, hiv, orders
from worlds.choices import as_they_stand
from worlds.oracle import ask

HALF = Fraction(1, 2)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "cohorts.md"
SMALLEST = GlobalGuarantee(
    l=2,
    protect=["hiv"],
    permanent=["hiv"],
    expected_later=["hiv"],
    strategy="constant-ratio",
    horizon=1,
)


def largest(setting, method=SMALLEST, only=("hiv",)):
    """The largest chance of anybody to have it, in any publication, and how many are above."""
    answer = ask(
        method, setting, HALF, how="enumerated", folds={"grouping": as_they_stand}, only=only
    )
    worst = max(answer.findings, key=lambda finding: finding.largest)
    return worst.largest, worst.above


def nobody_else(table, _, free, fewest):
    """Silent are those of whom too few have the same past, and nobody is drawn to them."""
    past = table.memberships.past[free]
    _, of, times = np.unique(past, return_inverse=True, return_counts=True)
    return times[of] < fewest


def test_newcomers_are_not_covered_by_those_who_are_known_not_to_have_it(monkeypatch):
    """Cohorts cut from everybody, whatever their past, are caught."""
    setting = FOR_GOOD["1 of 20 for good, then 1 of 20 who come"]
    assert largest(setting)[0] <= HALF
    monkeypatch.setattr(cohorts, "_past", lambda _, asked: np.zeros((2, asked.height), np.int64))
    monkeypatch.setattr(phases, "_silent", lambda _, __, free, ___: np.zeros(len(free), bool))
    monkeypatch.setattr(phases, "_ROOM", 1)
    found, above = largest(setting)
    assert found > HALF
    assert above > 0


def test_a_newcomer_is_not_silent_alone(monkeypatch):
    """Who knows that the value stands in the table once, and sees it nowhere, would know whose it
    is.
    """
    assert largest(LATE)[0] <= HALF
    monkeypatch.setattr(phases, "_silent", nobody_else)
    monkeypatch.setattr(phases, "_check_later", lambda *_: None)
    assert largest(LATE)[0] == 1


def test_a_member_who_comes_to_have_it_is_not_shown(monkeypatch):
    """A cohort has room for what comes later; one without room is caught."""
    assert largest(INFECTED)[0] <= HALF
    with monkeypatch.context() as broken:
        broken.setattr(phases, "_check_later", lambda *_: None)
        broken.setattr(phases, "_ROOM", 1)
        assert largest(INFECTED)[0] == HALF + HALF / 19


@pytest.mark.slow
def test_members_of_whom_more_is_shown_are_caught(monkeypatch):
    """Two of twenty come to have it, where one had it: members of cohorts who show it give others
    away.
    """
    more = tuple(
        (one, two)
        for one in orders(hiv(1, 20))
        for two in orders(hiv(3, 20))
        if two[one.index("hiv")] == "hiv"
    )
    setting = replace(INFECTED, worlds=more)
    monkeypatch.setattr(phases, "_check_later", lambda *_: None)
    monkeypatch.setattr(cohorts, "_silenced", lambda _, state, __: state)
    assert largest(setting)[0] == Fraction(3, 4)


def test_what_else_a_member_has_is_told_with_all_others(monkeypatch):
    """Values of members that are not shown may be no more frequent among them than 1/l."""
    method = replace(SMALLEST, protect=["hiv", "flu"], expected_later=[])
    monkeypatch.setattr(phases, "_ROOM", 1)  # cohorts of two or three, in which two are many
    assert largest(BOTH, method, ("flu",))[0] <= HALF
    monkeypatch.setattr(phases, "_quiet", lambda crowd, _: np.zeros(crowd.rows, dtype=bool))
    assert largest(BOTH, method, ("flu",))[0] > HALF


def test_all_the_silent_leave_but_one():
    """The page's figure for what is left: the last of the silent is known by subtraction."""
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    found, above = largest(LEFT)
    assert (found, above) == (1, Fraction(1, 62))
    assert "in 1.6 % of the publications" in page


@pytest.mark.parametrize("table", [name for name in FOR_GOOD if "20 who" not in name])
def test_few_who_come_show_nothing(table):
    """Nobody is above one half, a newcomer without company neither."""
    assert largest(FOR_GOOD[table])[0] <= HALF
