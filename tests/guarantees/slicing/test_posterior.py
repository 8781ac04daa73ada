# SPDX-License-Identifier: Apache-2.0
"""How p(t, s) is computed: exactly, and roughly where only candidates for the largest are
sought.
"""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.guarantees.slicing import posterior as source
from phalanx.guarantees.views.sliced import View
from phalanx.randomness import Randomness
from phalanx.release.forms.sliced import slice_into
from support.sliced_cases import ILLNESSES, generated, with_fakes


def many_columns() -> tuple[View, np.ndarray]:
    """Forty columns, three buckets, and the tuples of the table."""
    rng = np.random.default_rng(5)
    names = [f"q{i}" for i in range(40)]
    frame = pl.DataFrame(
        {name: rng.integers(0, 2, 12) for name in names}
        | {"s": [ILLNESSES[i % 3] for i in range(12)]}
    )
    microdata = Microdata.encode(
        pl.concat([frame, frame.with_columns(s=pl.Series(["ulcer"] * 12))]),
        Schema(quasi=names, sensitive="s"),
    )
    form, _ = slice_into(
        microdata,
        (*((name,) for name in names), ("s",)),
        np.arange(24) % 3,
        Randomness.secure().stream("test"),
    )
    view = View.of(form)
    return view, view.of_people(microdata, np.arange(12))


def test_shares_that_floating_point_cannot_tell_from_nothing():
    """With columns so many and buckets so large that f(t, B) is below every positive float, the
    largest p(t, s) is the same: all shares are scaled alike.
    """
    view, tuples = many_columns()
    far = replace(view, sides=tuple(replace(side, within=side.within << 50) for side in view.sides))
    (found,) = source.matches(far, tuples)
    assert max(a / b for a, b in zip(found.above, found.below, strict=True)) == 0
    assert source.largest(far, tuples) == source.largest(view, tuples)
    assert source.largest(view, tuples)[0] > Fraction(1, 3)


@pytest.mark.parametrize("seed", [9, 12])
@pytest.mark.parametrize("smallest", [source._SMALL, 2.0], ids=["as it is", "scaled"])
@pytest.mark.parametrize("by", source.WEIGHINGS)
def test_rough_figures_are_near(monkeypatch, seed, smallest, by):
    """p(t, s) in floating point differs from the fraction by no more than rounding, whether shares
    are scaled or not.
    """
    monkeypatch.setattr(source, "_SMALL", smallest)
    view = View.of(generated(seed).form)
    tuples = np.array(list(product(*(range(-1, len(side.values)) for side in view.sides))))
    true = {
        row: dict(zip(p.values, p.shares, strict=True))
        for row, p in source.distributions(view, tuples, by)
    }
    told = {}
    for some in source.roughly(view, tuples, by):
        for owner, value, p in zip(
            some.owner.tolist(), some.value.tolist(), some.p.tolist(), strict=True
        ):
            told.setdefault(int(some.tuples[owner]), {})[value] = p
    assert {row: set(p) for row, p in told.items()} == {row: set(p) for row, p in true.items()}
    assert all(
        math.isclose(p, true[row][value], rel_tol=1e-12)
        for row, one in told.items()
        for value, p in one.items()
    )


def test_tuples_that_are_nowhere_match_nothing():
    """A tuple with a value that no bucket holds, in whichever column, matches no bucket and has no
    p(t, s).
    """
    view = View.of(with_fakes().form)
    tuples = np.array([[-1, 0], [0, -1], [-1, -1]])
    assert (
        list(source.matches(view, tuples)) == []
        and list(source.distributions(view, tuples, "rows")) == []
    )
    assert source.largest(view, tuples) == (0, -1, -1)
    assert source.largest(view, np.zeros((0, 2), dtype=np.int64)) == (0, -1, -1)
