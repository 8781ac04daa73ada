# SPDX-License-Identifier: Apache-2.0
"""How probable each row was for each person: which attributes change together."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx.adversaries.records import outcomes


@pytest.mark.parametrize("whole", [12, 12 * 10**8, 2**61])
def test_sets_that_change_together(whole):
    """The sets and their probabilities are those of the line, for small denominators and for such
    as overflow 64 bits when summed.
    """
    rng = np.random.default_rng(4)
    share, order = rng.integers(0, 13, (50, 4)), (2, 0, 3, 1)
    leave = share * (whole // 12)
    (sets_of,), chances_of = outcomes.changed_together(leave, order, whole)
    for sets, chances, tuple_ in zip(sets_of, chances_of, share.tolist(), strict=True):
        expected = Counter()
        for point in range(12):
            begin, changed = 0, 0
            for a in order:
                if any(begin <= point + 12 * z < begin + tuple_[a] for z in range(5)):
                    changed += 1 << a
                begin += tuple_[a]
            expected[changed] += 1 / 12
        told = Counter()
        for held, chance in zip(sets.tolist(), chances.tolist(), strict=True):
            told[held] += chance
        assert {k: v for k, v in told.items() if v > 1e-9} == pytest.approx(
            dict(expected), abs=1e-7
        )


@pytest.mark.parametrize("whole", [12, 3 * 2**59])
def test_the_line_ends_where_changes_are_certain(whole):
    """Attributes are on it, in their order, until they are long enough together; one that reaches
    beyond is, and those after it are not.
    """
    leave = np.array([[6, 3, 6, 12], [12, 12, 12, 12], [1, 1, 1, 1]]) * (whole // 12)
    for changes, expected in (
        (1, [[0, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]]),
        (2, [[1, 0, 1, 1], [0, 0, 1, 1], [1, 1, 1, 1]]),
    ):
        found = outcomes.on_line(leave, (2, 3, 0, 1), changes * whole)
        assert found.astype(int).tolist() == expected


def test_what_is_not_on_the_line_is_not_laid_along_it(monkeypatch):
    """Of many attributes that nearly always change few are on the line, and the sets of these alone
    are looked at; what is found is what it is with all of them.
    """
    rng = np.random.default_rng(6)
    table = pl.DataFrame(
        {"who": range(120), **{f"q{i}": rng.integers(0, 5, 120) for i in range(24)}}
    )
    schema = px.Schema(identifier="who", quasi=table.columns[1:])
    release = px.publish(table, schema, px.MutualCover(delta="1/10"), seed=3)
    together, laid = outcomes.changed_together, []

    def of_these(leave, order, whole):
        laid.append(len(order))
        return together(leave, order, whole)

    def of_all(leave, order, whole):
        return together(leave, (*order, *sorted({*range(24)} - {*order})), whole)

    monkeypatch.setattr(outcomes, "changed_together", of_these)
    some = release.attack(px.Omniscient(sample=60))
    monkeypatch.setattr(outcomes, "changed_together", of_all)
    everything = release.attack(px.Omniscient(sample=60))
    assert max(laid) <= 6
    assert some.to_json() == everything.to_json()
