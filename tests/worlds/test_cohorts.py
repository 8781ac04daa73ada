# SPDX-License-Identifier: Apache-2.0
"""Against somebody who knows the method: permanent values, published from every world in exact
fractions. The lines of the oracle ask the method as it is; here its rules are broken one by one.
"""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from phalanx.methods.global_guarantee import cohorts
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from worlds.cases import FOR_GOOD, INFECTED, INFECTED_AMONG, LATE
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


def largest(setting):
    """The largest chance of anybody to have it, in any publication, and whether some are above."""
    answer = ask(
        SMALLEST, setting, HALF, how="enumerated", folds={"grouping": as_they_stand}, only=("hiv",)
    )
    worst = max(answer.findings, key=lambda finding: finding.largest)
    return worst.largest, worst.above


def test_newcomers_are_not_covered_by_those_who_are_known_not_to_have_it(monkeypatch):
    """Cohorts cut from everybody, whatever their past, are caught."""
    setting = FOR_GOOD["1 of 20 for good, then 1 of 20 who come"]
    assert largest(setting) == (HALF, 0)
    monkeypatch.setattr(cohorts, "_past", lambda _, asked: np.zeros(asked.height, dtype=np.int64))
    found, above = largest(setting)
    assert found > HALF
    assert above > 0


def test_a_member_who_comes_to_have_it_is_not_shown(monkeypatch):
    """What comes later is known as it was before; members of whom more is shown are caught."""
    found, _ = largest(INFECTED)
    share = Fraction(1, 2) + Fraction(1, 2) * Fraction(1, 19)
    assert found == share
    assert f"{share.numerator}/{share.denominator}" in PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(cohorts, "_silenced", lambda _, state: state)
    assert largest(INFECTED)[0] == 1


def test_a_total_tells_what_is_hidden():
    """The page's figures for whoever knows how often the value stands in the table."""
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    found, above = largest(LATE)
    assert (found, above) == (1, Fraction(1, 21)) and "in 4.8 % of the publications" in page
    found, above = largest(INFECTED_AMONG)
    assert (found, above) == (1, Fraction(1, 23)) and "both are certain: in 4.3 %" in page


@pytest.mark.parametrize("table", [name for name in FOR_GOOD if "20 who" not in name])
def test_few_who_come_show_nothing(table):
    """Nobody is above one half, a newcomer without company neither."""
    assert largest(FOR_GOOD[table])[0] <= HALF
