# SPDX-License-Identifier: Apache-2.0
"""The worked example of Wong, Fu, Liu, Wang and Xu (ICDE 2010), as the check sees it."""

from fractions import Fraction

import pytest

from naive.global_guarantee import Shown
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee
from phalanx.guarantees.global_guarantee.shares import linked
from support.shown import evidence_of, releases_of

ILL, WELL = frozenset(["chlamydia"]), frozenset(["flu"])


def groups_of(*sizes):
    """One release after the other puts ann into a group of so many, one of whom has chlamydia."""
    return [
        Shown(
            {1: [ILL, *[WELL] * (n - 1)]},
            dict.fromkeys(["ann", *(f"other {i}" for i in range(n - 1))], 1),
        )
        for n in sizes
    ]


def ever_linked(series, l=2):
    releases = releases_of(series)
    verdicts = GlobalGuarantee(l, unprotected=["flu"]).check(
        releases[-1], releases[:-1], evidence_of(series)
    )
    alone, *_, ever = verdicts
    assert ever.name == "global-guarantee: ever linked"
    return alone, ever


def test_groups_of_two_are_refused():
    """Twice in a group of two: each release links with 1/2 and no more, and both together with
    3/4.
    """
    alone, ever = ever_linked(groups_of(2, 2))

    assert (alone.worst, alone.holds) == (Fraction(1, 2), True)
    assert (ever.worst, ever.holds) == (Fraction(3, 4), False)


def test_groups_of_four_hold():
    """Twice in a group of four: 7/16."""
    assert ever_linked(groups_of(4, 4))[1].worst == Fraction(7, 16)
    assert ever_linked(groups_of(4, 4))[1].holds


def test_theorem_1_at_its_bound():
    """After twice four and l = 2 the third group must have nine members; with nine it holds with
    nothing to spare, with eight it does not.
    """
    assert ever_linked(groups_of(4, 4, 9))[1].worst == Fraction(1, 2)
    assert ever_linked(groups_of(4, 4, 9))[1].holds
    assert not ever_linked(groups_of(4, 4, 8))[1].holds


def test_theorem_2():
    """Whoever has spent exactly all can be near the value in no group, however large."""
    assert not ever_linked(groups_of(4, 4, 9, 5000))[1].holds


@pytest.mark.parametrize(
    ("l", "k", "ratio"),
    [(2, 2, 3.414), (2, 5, 7.725), (2, 10, 14.93), (5, 10, 45.32), (10, 20, 190.33)],
)
def test_the_constant_ratio_lasts_for_its_exposures(l, k, ratio):
    """Groups of the constant ratio, as large as whole members make them, keep the promise for k'
    exposures and break it a member smaller.
    """
    n = int(ratio) + 1
    assert linked([(n, 1, False)] * k) <= Fraction(1, l) < linked([(n - 1, 1, False)] * k)
