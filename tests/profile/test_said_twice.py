# SPDX-License-Identifier: Apache-2.0
"""Which columns say the same as another, against a comparison of all pairs."""

import itertools

import numpy as np
import polars as pl

from phalanx.profile import table as profile
from phalanx.profile.columns import counted

NAMES = {
    "whole": [0, 1, 2, 3],
    "parts": [0.0, -0.0, float("nan"), None],
    "words": ["w0", "w1", "w2", None],
    "texts": ["a;b", "b;a", "a", "c;b"],
    "lists": [["a"], ["b", "a"], ["a", "b"], None],
    "truth": [True, False, None, True],
}
"""What a column calls four different things; some call two of them the same."""


def pair_by_pair(several, _):
    """Every two columns with as many values."""
    for one, other in itertools.combinations(several, 2):
        if (one.distinct, one.missing) == (other.distinct, other.missing):
            yield one, other


def table(rng):
    """Up to nine columns of 90 rows, each of them one of three, under names of its own and often
    with a row that differs.
    """
    things = [rng.integers(0, rng.integers(1, 5), 90) for _ in range(3)]
    columns = {}
    for number in range(rng.integers(2, 10)):
        kind, codes = rng.choice(list(NAMES)), things[rng.integers(3)].copy()
        if rng.random() < 0.3:
            codes[rng.integers(90)] = rng.integers(4)
        names = [NAMES[kind][i] for i in rng.permutation(4)]
        columns[f"{kind}{number}"] = [names[code] for code in codes.tolist()]
    return pl.DataFrame(columns)


def test_what_says_the_same_is_that_of_all_pairs(monkeypatch):
    """The same columns are left out, for the same others, of tables with numbers, words, sets,
    missing values and values that are not applicable.
    """
    rng, left = np.random.default_rng(1), 0
    for _ in range(150):
        frame = table(rng)
        for not_applicable in (None, ["w1", 2]):
            columns = [counted(column, not_applicable) for column in frame.get_columns()]
            once = profile._once(columns, frame)
            with monkeypatch.context() as patch:
                patch.setattr(profile, "_compared", pair_by_pair)
                assert profile._once(columns, frame) == once
            left += sum(c.role == "drop" for c in once)
    assert left > 100


def test_a_wide_table_is_not_compared_pair_by_pair(monkeypatch):
    """Of 40 columns with equally many values, one the copy of another, one pair is compared."""
    rng, looked_at = np.random.default_rng(2), []
    frame = pl.DataFrame({f"c{i}": rng.permutation(np.arange(400) % 20) for i in range(39)})
    frame = frame.with_columns(copy=100 - pl.col("c7"))
    columns, count = [counted(column) for column in frame.get_columns()], pl.DataFrame.n_unique
    monkeypatch.setattr(
        pl.DataFrame, "n_unique", lambda rows: looked_at.append(rows.columns) or count(rows)
    )
    assert [c.name for c in profile._once(columns, frame) if c.role == "drop"] == ["c7"]
    assert looked_at == [["c7", "copy"]]
