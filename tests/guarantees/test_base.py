# SPDX-License-Identifier: Apache-2.0
"""Figures of verdicts as people read them: never better than they are, and never so short that a
bound that holds looks broken; JSON has them exactly.
"""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.exact import rounded
from phalanx.guarantees.base import Verdict

LONG = Fraction(33333332, 99999999)


def verdict(worst, bound, *, more_is_worse=True, **more):
    return Verdict(
        name="t",
        bound=bound,
        worst=worst,
        holds=worst <= bound if more_is_worse else worst >= bound,
        **more,
    )


@pytest.mark.parametrize(
    ("worst", "bound", "figures"),
    [
        (Fraction(1, 3), Fraction(1, 2), ("1/3", "1/2")),
        (Fraction(161, 1500), Fraction(1, 4), ("0.1074", "1/4")),
        (LONG, Fraction(1, 2), ("0.3334", "1/2")),
        (LONG, Fraction(1, 3), ("0.333333324", "1/3")),
        (Fraction(1, 3) + Fraction(1, 10**8), Fraction(1, 3), ("0.3334", "1/3")),
        (5, 4, ("5", "4")),
        (0.1234567, Fraction(1, 2), ("0.1235", "1/2")),
        (Fraction(1, 10**6), Fraction(3, 10**6), ("1e-6", "3e-6")),
    ],
)
def test_figures_can_be_read(worst, bound, figures):
    """Short fractions as they are, others as decimals, longer ones only where the two would look
    alike or in the wrong order.
    """
    shown = verdict(worst, bound)
    assert shown.figures == figures
    assert shown.to_json()["worst"] == (str(worst) if isinstance(worst, Fraction) else worst)


def test_texts_and_nothing():
    """A text is shown as it is, but for long fractions in it; what was not looked at is nothing."""
    assert Verdict(name="t", bound="no seed", worst=None, holds=True).figures == ("", "no seed")
    told = Verdict(name="t", bound="none asked", worst="l=2: 3/4, l=3: 14641/10007", holds=True)
    assert (
        told.figures == ("l=2: 3/4, l=3: 1.464", "none asked")
        and told.to_json()["worst"] == "l=2: 3/4, l=3: 14641/10007"
    )
    alone = Verdict(name="t", bound=None, worst=Fraction(1, 3) + Fraction(1, 10**8), holds=True)
    assert alone.figures == ("0.3334", "")
    least = Verdict(name="t", bound="none asked", worst=LONG, holds=True, less_is_worse=True)
    assert least.figures[0] == "0.3333"


fractions = st.fractions(min_value=0, max_value=10, max_denominator=10**12)


@given(fractions, fractions, st.booleans())
@settings(deadline=None, max_examples=300)
def test_no_figure_looks_better_than_it_is(worst, bound, more_is_worse):
    """Worst is shown as it is or worse, bound as it is or stricter, by less than a thousandth; and
    read as numbers, the two say whether it holds.
    """
    found = verdict(worst, bound, more_is_worse=more_is_worse)
    shown, allowed = map(Fraction, found.figures)
    if worst == bound:
        assert shown == allowed
        return
    sign = 1 if more_is_worse else -1
    assert sign * shown >= sign * worst and sign * allowed <= sign * bound
    assert abs(shown - worst) <= worst / 1000 and abs(allowed - bound) <= bound / 1000
    assert (sign * shown <= sign * allowed) == found.holds


@given(fractions, st.booleans(), st.integers(1, 17))
@settings(deadline=None, max_examples=200)
def test_rounded_to_the_side_that_is_asked(number, up, digits):
    """Never less, or never more, with so many digits; a float would show some numbers on the wrong
    side, which this must catch.
    """
    text = rounded(number, up=up, digits=digits)
    assert Fraction(text) >= number if up else Fraction(text) <= number
    assert len(text.partition("e")[0].replace(".", "").strip("0")) <= digits
    wrong = f"{float(LONG):.4g}"
    assert not Fraction(wrong) >= LONG
