# SPDX-License-Identifier: Apache-2.0
"""Whose value is not published, against whoever knows how often values stand: each part of what
keeps it within 1/l, and the same without it.
"""

from fractions import Fraction

import pytest

from phalanx.methods.global_guarantee.emptied import Waiting
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from worlds.cases import SPENT_SMALL
from worlds.choices import as_they_stand
from worlds.oracle import ask

HALF = Fraction(1, 2)
METHOD = GlobalGuarantee(l=2, protect=["hiv"], strategy="constant-ratio", horizon=1)


def found():
    """Two of six hold it, and the budgets of two are spent."""
    return ask(
        METHOD,
        SPENT_SMALL,
        HALF,
        how="enumerated",
        folds={"grouping": as_they_stand},
        only=("hiv",),
    ).worst


def never(*_):
    """No coin."""
    return Fraction(0)


def test_nobody_without_a_value_is_above_the_bound():
    """In all worlds, of those whose value is not published nobody is linked with it with more than
    one half, and no world is refused.
    """
    answer = found()
    assert answer.largest == HALF
    assert answer.above == answer.refused == 0


def test_showing_all_whose_budget_is_not_spent_is_caught(monkeypatch):
    """The broken twin: whoever counts what is shown knows that both of the others hold it."""
    monkeypatch.setattr(Waiting, "shown", lambda *asked: asked[1])
    monkeypatch.setattr(Waiting, "coin", never)
    monkeypatch.setattr(Waiting, "may_be_hidden", lambda *_: True)
    answer = found()
    assert answer.largest == 1
    assert answer.above == answer.certain == Fraction(1, 15)


@pytest.mark.parametrize(
    "coin",
    [never, lambda waiting, shown, whole=Waiting.coin: whole(waiting, shown) / 2],
    ids=["none", "half"],
)
def test_suppressing_only_where_the_rest_holds_too_much_is_caught(monkeypatch, coin):
    """The broken twins: without the coin, or with half of it, showing nothing tells that those
    whose budget is spent hold much.
    """
    monkeypatch.setattr(Waiting, "shown", lambda *asked: asked[1])
    monkeypatch.setattr(Waiting, "coin", coin)
    answer = found()
    assert answer.largest > HALF
    assert answer.above > 0
