# SPDX-License-Identifier: Apache-2.0
"""Tables with few of many possible cells, and counts whose products 64 bits do not hold, against
fractions of Python's own integers.
"""

from collections import Counter
from fractions import Fraction
from itertools import accumulate

import numpy as np
import polars as pl
import pytest

from phalanx.guarantees import t_closeness as closeness
from phalanx.guarantees.l_diversity import FrequencyDiversity, check_shares
from phalanx.guarantees.slicing.guarantee import SlicedDiversity, _times
from phalanx.guarantees.t_closeness import farthest
from phalanx.guarantees.views import groups
from phalanx.guarantees.views.groups import Groups
from phalanx.release.forms.sliced import Sliced
from phalanx.release.manifest import PublishedAttribute

SENSITIVE = PublishedAttribute(name="s", role="sensitive", type="numeric", columns=["s"])


def counted(cells, attribute=SENSITIVE):
    """The view of cells (group, value, count)."""
    group, value, times = zip(*cells, strict=True)
    return Groups.counted(
        pl.Series("group", group), pl.Series("s", value), np.array(times, dtype=np.int64), attribute
    )


def spread(weights):
    """Cells of sixty groups, each of two values of its own, so that one of sixty possible cells is
    there; ``weights`` are of the last group.
    """
    assert groups._DENSE * 120 + 1024 < 60 * 120, "these are to be counted by sorting"
    return [
        (g, 2 * g + i, n) for g in range(60) for i, n in enumerate(weights if g == 59 else (2, 2))
    ]


def test_sparse_cells_count_as_often_as_they_say():
    """Weights of few among many possible cells are added up, those of a cell that occurs twice
    too.
    """
    cells = [(g, v, n + g % 3) for g, v, n in spread((5, 7))] * 2
    view = counted(cells)
    by_hand = Counter()
    for g, v, n in cells:
        by_hand[g, v] += n

    found = zip(
        view.cell_group.tolist(),
        (view.values.to_list()[v] for v in view.cell_value.tolist()),
        view.cell_count.tolist(),
        strict=True,
    )
    assert {(g, v): n for g, v, n in found} == by_hand
    assert view.sizes.tolist() == [
        sum(n for (g, _), n in by_hand.items() if g == group) for group in range(60)
    ]


def test_sparse_cells_without_weights_are_rows():
    """Rows of few among many possible cells are counted one by one."""
    table = [(g, v) for g, v, n in spread((3, 1)) for _ in range(n)]
    assert groups._DENSE * len(table) + 1024 < 60 * 120
    cells, count = groups._tallied(np.array([g * 120 + v for g, v in table]), 60 * 120)
    assert dict(zip(cells.tolist(), count.tolist(), strict=True)) == Counter(
        g * 120 + v for g, v in table
    )


def test_cells_at_the_end_of_what_is_counted_without_sorting():
    """Sorting and counting give the same cells, whichever is taken."""
    for keys in (4 * 10 + 1024, 4 * 10 + 1025):
        key, times = np.array([keys - 1, 0, 7, 7, 7, 9, 9, 3, 3, 3]), np.arange(1, 11)
        for weights in (None, times):
            cells, count = groups._tallied(key, keys, weights)
            by_hand = Counter()
            for k, n in zip(
                key.tolist(),
                (times if weights is not None else np.ones(10, np.int64)).tolist(),
                strict=True,
            ):
                by_hand[k] += n
            assert dict(zip(cells.tolist(), count.tolist(), strict=True)) == by_hand
            assert cells.tolist() == sorted(by_hand) and cells.dtype == count.dtype == np.int64


def test_a_sparse_release_above_its_bound_is_refused():
    """One bucket of sixty has a value for three of its four tuples, which only the counts of a
    compact release say: l = 2 does not hold.
    """
    for weights, holds in (((2, 2), True), ((3, 1), False)):
        cells = spread(weights)
        part = pl.DataFrame(
            {
                "bucket": [g for g, _, _ in cells],
                "s": [v for _, v, _ in cells],
                "count": [n for _, _, n in cells],
            }
        )
        quasi = PublishedAttribute(name="a", role="quasi", type="numeric", columns=["a"])
        other = pl.DataFrame({"bucket": range(60), "a": range(60), "count": [4] * 60})
        form = Sliced((("a",), ("s",)), (quasi, SENSITIVE), (other, part), compact=True)

        (verdict,) = SlicedDiversity(l=2).check(form)
        assert (verdict.holds, verdict.worst) == (holds, Fraction(weights[0], 4))
        (verdict,) = check_shares(FrequencyDiversity.name, 2, counted(cells))
        assert (verdict.holds, verdict.worst) == (holds, Fraction(weights[0], 4))


@pytest.mark.parametrize(
    ("numbers", "factor"),
    [
        ([1, 2], 2**62),
        ([1, 2], 2**62 - 1),
        ([3, 2**40], 2**40),
        ([2**63 - 1], 1),
        ([0], 2**62),
        ([], 5),
        ([7], 2**70),
    ],
)
def test_products_that_64_bits_do_not_hold(numbers, factor):
    """Products are those of Python's integers, at 2**63 and beyond it."""
    assert [int(n) for n in _times(np.array(numbers, dtype=np.int64), factor)] == [
        n * factor for n in numbers
    ]


@pytest.mark.parametrize("l", [Fraction(2**62, 2**61 + 1), Fraction(2**62, 2**61 - 1)])
def test_bounds_with_long_numerators(l):
    """A bucket of two equal values and one that keeps 1/2 = 1/l but for 2**-61: the figure and who
    is above it are exact.
    """
    quasi = PublishedAttribute(name="a", role="quasi", type="numeric", columns=["a"])
    parts = (
        pl.DataFrame({"bucket": [0, 1], "a": [1, 2], "count": [2, 2]}),
        pl.DataFrame({"bucket": [0, 0, 1], "s": [1, 2, 1], "count": [1, 1, 2]}),
    )
    (verdict,) = SlicedDiversity(l=l).check(
        Sliced((("a",), ("s",)), (quasi, SENSITIVE), parts, compact=True)
    )
    assert not verdict.holds
    assert verdict.worst == 1


def far(cells, m):
    """The largest equal and ordered distance of the groups of cells (group, place, count) from the
    table, in fractions.
    """
    rows = sum(n for _, _, n in cells)
    worst = [Fraction(0)] * 2
    for g in {g for g, _, _ in cells}:
        size = sum(n for h, _, n in cells if h == g)
        apart = [
            sum((Fraction(n, size) for h, v, n in cells if (h, v) == (g, i)), Fraction(0))
            - Fraction(sum(n for _, v, n in cells if v == i), rows)
            for i in range(m)
        ]
        worst[0] = max(worst[0], sum(map(abs, apart)) / 2)
        worst[1] = max(worst[1], sum(abs(x) for x in accumulate(apart)) / (m - 1))
    return worst


@pytest.mark.parametrize("huge", [10, 2**20, 2**29, 2**30, 2**31, 2**33, 2**40])
def test_closeness_with_one_huge_group(huge):
    """The product of rows and the largest group passes 2**62 from about 2**30 rows on; the distance
    is the same fraction as with whole numbers of any length.
    """
    cells = [
        (0, 0, huge),
        (0, 2, huge // 2 + 1),
        (1, 1, 3),
        (1, 2, 1),
        (2, 0, 1),
        (2, 3, huge // 3),
    ]
    view = counted(cells)

    equal, ordered = far(cells, 4)
    assert farthest(view, "equal")[0] == equal
    assert farthest(view, "ordered")[0] == ordered


@pytest.mark.parametrize(
    "sizes", [(2**30, 2**29), (2**31 - 1, 2**30 + 7), (3037000499, 5), (2**32, 1)]
)
def test_where_64_bits_end(sizes):
    """Two values, one group each: right on both sides of where sums are made of longer integers."""
    cells = [(0, 0, sizes[0]), (1, 1, sizes[1])]
    view = counted(cells)
    most = Fraction(max(sizes), sum(sizes))
    assert farthest(view, "equal")[0] == farthest(view, "ordered")[0] == most


def test_what_fits_is_judged_by_every_factor():
    """Each of the factors by itself can be the one that is too much; what is just below the bound
    fits and what reaches it does not.
    """
    assert closeness._fits(2**61, 1) and closeness._fits(2**31, 2**30) and closeness._fits()
    assert (
        not closeness._fits(2**62)
        and not closeness._fits(2**31, 2**31)
        and not closeness._fits(1, 1, 2**62)
        and not closeness._fits(2, 2**61)
    )
