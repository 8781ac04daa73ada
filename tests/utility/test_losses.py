# SPDX-License-Identifier: Apache-2.0
"""Losses by hand: shares moved, contingency, telling apart, learning; all of them where they can be
counted on fingers.
"""

import itertools
import math
import tracemalloc
from collections import Counter

import numpy as np
import polars as pl
import pytest

from phalanx.utility import losses
from phalanx.utility.bins import Bins
from phalanx.utility.learning import accuracy
from phalanx.utility.losses import phi2, propensity, total_variation
from support.work import lines


@pytest.mark.parametrize(("attributes", "k"), [(4, 3), (9, 3), (12, 2), (5, 1), (2, 3)])
@pytest.mark.parametrize("most", [1, 7, 60])
def test_sets_of_attributes_are_every_so_manieth(attributes: int, k: int, most: int) -> None:
    """As if all were listed and most of them skipped."""
    names = [f"a{i}" for i in range(attributes)]
    every = list(itertools.combinations(names, k))
    step = max(1, math.ceil(len(every) / most))
    assert losses._sets(names, k, most) == every[::step]


def test_sets_of_a_thousand_attributes() -> None:
    """At once, as not all are listed."""
    many = [f"a{i}" for i in range(1000)]
    assert len(losses._sets(many, 3, 60)) == 60
    assert 9900 < len(losses.pairs(many)) <= 10_000


def test_sets_of_many_attributes_take_no_more_work_than_of_few() -> None:
    """Each name of a set is looked for by halves, and not from the first one on."""
    few, many = ([f"a{i}" for i in range(d)] for d in (200, 1600))
    one, other = (lines(lambda names=names: losses.pairs(names), 10**6) for names in (few, many))
    assert other < 2 * one


def tables(n=300, seed=1):
    rng = np.random.default_rng(seed)

    def one(shift):
        a = rng.integers(0, 3, n)
        return pl.DataFrame(
            {
                "a": a.tolist(),
                "b": ["xyz"[(i + int(rng.random() < shift)) % 3] for i in a],
                "c": rng.normal(shift, 1, n),
            }
        )

    return one(0.2), one(0.5)


def coded():
    first, second = tables()
    bins = Bins.of(first)
    return bins, bins.code(first), bins.code(second)


def test_products_tell_apart_as_counts_do(monkeypatch) -> None:
    """Of many attributes the regression is the same, in blocks of rows that are not full, too."""
    _, one, other = coded()
    counted = propensity(one, other)
    monkeypatch.setattr(losses, "_MOST_COUNTED", 0)
    monkeypatch.setattr(losses, "_BLOCK", 7)
    monkeypatch.setattr(losses, "_by_pair", None)
    assert propensity(one, other) == pytest.approx(counted, rel=1e-9)


@pytest.mark.parametrize("block", [1, 7, 600])
def test_products_are_what_is_counted(monkeypatch, block) -> None:
    """What the rows add up to that have two values, of all values that are estimated."""
    monkeypatch.setattr(losses, "_BLOCK", block)
    rng = np.random.default_rng(3)
    codes = [rng.integers(0, size, 600) for size in (1, 2, 4)]
    estimated = np.array([True, False, True, False, True, True, True])
    weight = rng.random(600)
    table = np.stack([c == i for c in codes for i in range(c.max() + 1)]).T[:, estimated]
    expected = table.T @ (table * weight[:, None])
    for of_pairs in (losses._by_pair, losses._multiplied):
        found = of_pairs(weight, codes, np.array([0, 1, 3, 7]), estimated)
        assert found == pytest.approx(expected)


def test_of_many_attributes_some_pairs_are_looked_at() -> None:
    """Ten thousand at most, in the order of the attributes, and each as it is by itself."""
    rng = np.random.default_rng(1)
    table = {f"a{i}": rng.integers(0, 3, 20) for i in range(150)}
    looked_at, figures = losses.pairs(list(table)), phi2(table)
    assert len(looked_at) == len(figures) <= 10_000 < math.comb(150, 2)
    for (a, b), figure in [*zip(looked_at, figures, strict=True)][::500]:
        assert phi2({a: table[a], b: table[b]}).tolist() == [figure]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_total_variation(k: int) -> None:
    """Shares counted by plain Python give the same distance."""
    bins, one, other = coded()
    expected = []
    for names in itertools.combinations(one, k):
        counts = [
            Counter(zip(*(t[name].tolist() for name in names), strict=True)) for t in (one, other)
        ]
        expected.append(
            sum(
                abs(counts[0][cell] / 300 - counts[1][cell] / 300) for cell in counts[0] | counts[1]
            )
            / 2
        )
    assert total_variation(one, other, bins, k) == pytest.approx(sum(expected) / len(expected))
    assert total_variation(one, one, bins, k) == 0
    assert total_variation({"a": one["a"]}, {"a": other["a"]}, bins, 2) is None


def test_total_variation_of_tables_of_another_size() -> None:
    """Shares are moved, and not rows."""
    bins, one, _ = coded()
    twice = {name: np.concatenate([codes, codes]) for name, codes in one.items()}
    half = {name: codes[::2] for name, codes in one.items()}
    assert total_variation(one, twice, bins, 2) == pytest.approx(0, abs=1e-12)
    assert total_variation(half, one, bins, 1) == total_variation(one, half, bins, 1) > 0


def test_phi2() -> None:
    """Contingency by its formula; 1 where one attribute says the other."""
    _, one, _ = coded()
    a, b = one["a"].tolist(), one["b"].tolist()
    pairs, rows, columns = Counter(zip(a, b, strict=True)), Counter(a), Counter(b)
    expected = (
        sum(
            (pairs[x, y] / 300 - rows[x] * columns[y] / 90_000) ** 2
            / (rows[x] * columns[y] / 90_000)
            for x in rows
            for y in columns
        )
        / 2
    )
    assert phi2({"a": one["a"], "b": one["b"]})[0] == pytest.approx(expected)
    same = pl.DataFrame({"a": [1, 1, 2, 2, 3], "b": ["x", "x", "y", "y", "z"]})
    assert phi2(Bins.of(same).code(same))[0] == pytest.approx(1)


def test_propensity() -> None:
    """0 for the same table, near 1/4 for tables without a value in common, and what another package
    finds in between.
    """
    from sklearn.linear_model import LogisticRegression

    _, one, other = coded()
    assert propensity(one, one) == pytest.approx(0, abs=1e-12)
    assert propensity({"a": np.zeros(50, np.int64)}, {"a": np.ones(50, np.int64)}) > 0.24
    design = np.concatenate([np.stack(list(t.values()), axis=1) for t in (one, other)])
    hot = np.concatenate(
        [
            (design[:, [j]] == np.unique(design[:, j])[1:]).astype(float)
            for j in range(design.shape[1])
        ],
        axis=1,
    )
    target = np.repeat([0, 1], 300)
    p = (
        LogisticRegression(C=1e3, max_iter=5000, tol=1e-10)
        .fit(hot, target)
        .predict_proba(hot)[:, 1]
    )
    assert propensity(one, other) == pytest.approx(((p - 0.5) ** 2).mean(), rel=1e-3)


def test_propensity_of_many_values() -> None:
    """A column with hundreds of values, as postcodes are, is told apart without a table of all rows
    and all values, which would take ten times as much as is allowed here.
    """
    draw = np.random.default_rng(3)
    one, other = ({"zip": draw.integers(0, 400, 40_000)} for _ in range(2))
    tracemalloc.start()
    try:
        found = propensity(one, other)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 80_000 * 400 * 8 / 10
    shares = [np.bincount(table["zip"], minlength=400) / 40_000 for table in (one, other)]
    p = shares[1] / (shares[0] + shares[1])
    expected = ((shares[0] + shares[1]) / 2 * (p - 0.5) ** 2).sum()
    assert found == pytest.approx(expected, rel=1e-2)


def test_propensity_where_values_count_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more values than are told apart the most frequent ones are, and the others are one; which
    would be found if they were coded so, and is not what is found of all of them.
    """
    draw = np.random.default_rng(5)
    one, other = (
        {"zip": np.minimum(draw.geometric(p, 4000), 30), "sex": draw.integers(0, 2, 4000)}
        for p in (0.2, 0.3)
    )
    every = propensity(one, other)
    by_hand = [{**table, "zip": np.minimum(table["zip"], 4)} for table in (one, other)]
    expected = propensity(*by_hand)
    assert abs(expected - every) > 1e-4
    monkeypatch.setattr(losses, "_MOST_VALUES", 8)  # four of each of two attributes
    assert propensity(one, other) == pytest.approx(expected, abs=1e-12)
    assert propensity(*by_hand) == pytest.approx(expected, abs=1e-12)


def test_propensity_of_more_attributes_than_values_are_told_apart(monkeypatch) -> None:
    """A regression takes the cube of their number: every so-manieth is looked at, with two values."""
    rng = np.random.default_rng(9)
    one, other = ({f"a{i}": rng.integers(0, 3, 80) for i in range(8)} for _ in range(2))
    monkeypatch.setattr(losses, "_MOST_VALUES", 6)
    some = [{name: table[name] for name in ("a0", "a3", "a6")} for table in (one, other)]
    sizes = []
    monkeypatch.setattr(
        np.linalg, "inv", lambda m, inv=np.linalg.inv: sizes.append(len(m)) or inv(m)
    )
    assert propensity(one, other) == propensity(*some) > 0
    assert set(sizes) == {4}


def test_propensity_ends_where_only_rounding_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sums are off by some 1e-7, as those of many rows are, steps do not shrink below
    1e-8, and yet it ends after as many as it takes with exact ones, at the same figure.
    """
    rng = np.random.default_rng(3)
    one = {"a": rng.integers(0, 9, 400), "b": rng.integers(0, 9, 400)}
    other = {"a": np.where(one["a"] == 0, 1, one["a"]), "b": one["b"]}
    exact, sums, steps = propensity(one, other), losses._by_value, []

    def rounded(of_rows, codes, sizes):
        steps.append(1)
        assert len(steps) < 30
        return sums(of_rows, codes, sizes) + rng.normal(scale=1e-7, size=sum(sizes))

    monkeypatch.setattr(losses, "_by_value", rounded)
    assert propensity(one, other) == pytest.approx(exact, abs=1e-8)
    steps.clear()
    monkeypatch.setattr(losses, "_ROUNDING", 0)
    with pytest.raises(AssertionError):
        propensity(one, other)


def test_propensity_where_rows_are_told_apart_for_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more values than rows, where whole steps of Newton's jump to and fro, the most likely
    odds are found, in few steps: where each value's coefficient is what its rows ask for.
    """
    rng = np.random.default_rng(0)
    one = {str(a): rng.integers(0, 10, 100) for a in range(20)}
    other = {
        a: np.where(rng.random(100) < 0.3, c, rng.integers(0, 10, 100)) for a, c in one.items()
    }
    sums, steps = losses._by_value, []

    def counted(of_rows, codes, sizes):
        steps.append(1)
        assert len(steps) < 40
        return sums(of_rows, codes, sizes)

    monkeypatch.setattr(losses, "_by_value", counted)
    found = propensity(one, other)
    hot = np.concatenate(
        [np.ones((200, 1))]
        + [np.append(one[a], other[a])[:, None] == np.arange(1, 10) for a in one],
        axis=1,
    ).astype(float)
    target, beta = np.repeat([0.0, 1.0], 100), np.zeros(hot.shape[1])
    for _ in range(400):  # a tenth of a step at a time
        p = 1 / (1 + np.exp(-hot @ beta))
        curved = (hot.T * (p * (1 - p))) @ hot + losses._RIDGE * np.eye(len(beta))
        beta += np.linalg.solve(curved, hot.T @ (target - p) - losses._RIDGE * beta) / 10
    p = 1 / (1 + np.exp(-hot @ beta))
    assert found == pytest.approx(((p - 0.5) ** 2).mean(), rel=1e-9)


def test_propensity_with_curvature_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where curvature is measured for some steps only, the end is the same as with that of each
    step; for tables near each other once is enough.
    """
    draw = np.random.default_rng(7)
    one = {name: draw.integers(0, 9, 2000) for name in ("a", "b", "c")}
    tables = [
        {name: np.minimum(codes + (draw.random(2000) < moved), 8) for name, codes in one.items()}
        for moved in (0.01, 0.3, 1)
    ]
    right, times = losses._by_pair, []
    monkeypatch.setattr(losses, "_by_pair", lambda *a: times.append(1) or right(*a))
    found = [propensity(one, other) for other in tables]
    few = len(times)
    monkeypatch.setattr(losses, "_SLOW", 0)
    assert [propensity(one, other) for other in tables] == pytest.approx(found, abs=1e-9)
    assert few < len(times) - few
    times.clear()
    monkeypatch.undo()
    monkeypatch.setattr(losses, "_by_pair", lambda *a: times.append(1) or right(*a))
    propensity(one, tables[0])
    assert len(times) == 1


def test_accuracy() -> None:
    """Naive Bayes names what another package's names, on bins that both know."""
    from sklearn.naive_bayes import CategoricalNB

    bins, one, other = coded()
    names = ["a", "c"]
    model = CategoricalNB(alpha=1, min_categories=[bins.size(n) for n in names]).fit(
        np.stack([one[n] for n in names], axis=1), one["b"]
    )
    expected = (model.predict(np.stack([other[n] for n in names], axis=1)) == other["b"]).mean()
    assert math.isclose(accuracy(one, other, "b", bins), expected, abs_tol=0.01)


def test_accuracy_where_values_are_not_as_frequent_as_others() -> None:
    """Plain counts say the same: how often a target is, times how often it has each other value."""
    rng = np.random.default_rng(4)

    def table(n: int) -> pl.DataFrame:
        y = rng.choice(3, n, p=[0.7, 0.2, 0.1])
        x, z = (np.where(rng.random(n) < 0.4, y, rng.integers(0, 3, n)) for _ in range(2))
        return pl.DataFrame({"x": x, "y": y, "z": z})

    first = table(200)
    bins = Bins.of(first)
    one, other = bins.code(first), bins.code(table(150))

    def likely(label: int, row: int) -> float:
        same = one["y"] == label
        share = same.sum() + 1.0
        for name in ("x", "z"):
            times = (one[name][same] == other[name][row]).sum()
            share *= (times + 1) / (same.sum() + bins.size(name))
        return share

    named = [max(range(5), key=lambda label, i=i: likely(label, i)) for i in range(150)]
    assert accuracy(one, other, "y", bins) == (named == other["y"]).mean()


def test_what_is_missing_is_not_learned() -> None:
    """Rows without a value teach nothing, are not asked about, and no value is named that none has."""
    table = pl.DataFrame({"x": [0, 0, 1, 1] * 10, "y": ["a", "a", "b", None] * 10})
    bins = Bins.of(table)
    hidden = table.with_columns(y=pl.lit(None, dtype=pl.String))

    assert accuracy(bins.code(table), bins.code(table), "y", bins) == 1
    assert accuracy(bins.code(hidden), bins.code(table), "y", bins) == 0
    assert accuracy(bins.code(table), bins.code(hidden), "y", bins) == 0
    one = bins.code(pl.DataFrame({"x": [0], "y": ["b"]}))
    assert accuracy(one, bins.code(table), "y", bins) == 1 / 3


@pytest.mark.parametrize(("values", "bins"), [(20, 22), (21, 11)])
def test_few_numbers_have_a_bin_each(values: int, bins: int) -> None:
    """More than twenty have tenths; one more is for missing ones, and of single values for others."""
    assert Bins.of(pl.DataFrame({"n": [*range(values)] * 3})).size("n") == bins


def test_bins() -> None:
    """Tenths of numbers, values one by one, missing ones by themselves, strangers in a bin of their
    own; drawn floats of whole numbers are whole.
    """
    table = pl.DataFrame({"n": [*range(40), None], "t": [*"ab" * 20, None]})
    bins = Bins.of(table)
    assert (
        bins.code(table)["n"].max() == 10
        and bins.code(table)["n"][-1] == bins.code(table)["t"][-1] == 0
    )
    assert bins.code(pl.DataFrame({"n": [0.0], "t": ["c"]}))["t"][0] == bins.size("t") - 1
    few = pl.DataFrame({"n": [1, 2, 3]})
    assert Bins.of(few).code(pl.DataFrame({"n": [1.2, 3.0]}))["n"].tolist() == [1, 3]


@pytest.mark.parametrize("values", [[1e16, 1e17], [1e300, -1e300], [1.0, 2.0, 1e16]])
def test_numbers_that_are_written_with_an_exponent_have_bins(values) -> None:
    """A text such as 1e16 is a float's, too: each value has a bin of its own, and none is among the
    values that the original has not.
    """
    table = pl.DataFrame({"x": values})
    bins = Bins.of(table)
    codes = bins.code(table)["x"]
    assert len(set(codes)) == len(values)
    assert codes.max() < bins.size("x") - 1


def test_numbers_beyond_64_bits_have_bins() -> None:
    """A decimal of many digits, which a release shows as a float, is still the original's value;
    beyond all integers it is none of them, and missing stays missing.
    """
    bins = Bins.of(pl.DataFrame({"x": ["2000000000000000000000", "2200000000000000000000"]}))
    floats = pl.DataFrame({"x": [2e21, 2.2e21, None, 1e300]})
    assert bins.code(floats)["x"].tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize("dense", [0, 4])
@pytest.mark.parametrize("at_once", [1, 7, 1000])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_combinations_are_counted(monkeypatch, dense: int, at_once: int, k: int) -> None:
    """In a table of all there are, or by sorting; some rows at a time."""
    monkeypatch.setattr(losses, "_DENSE", dense)
    monkeypatch.setattr(losses, "_AT_ONCE", at_once)
    rng = np.random.default_rng(7)
    sizes = [2, 5, 300][:k]
    table = {
        name: rng.integers(0, size, 50).astype(np.min_scalar_type(size))
        for name, size in zip("abc", sizes, strict=False)
    }
    times = Counter(zip(*(codes.tolist() for codes in table.values()), strict=True))
    cells, counts = losses.counted(table, list(table), sizes)
    keys = {int(np.ravel_multi_index(cell, sizes)): n for cell, n in times.items()}
    assert dict(zip(cells.tolist(), counts.tolist(), strict=True)) == keys
    assert (np.diff(cells) > 0).all()
    none = losses.counted({name: codes[:0] for name, codes in table.items()}, list(table), sizes)
    assert [each.tolist() for each in none] == [[], []]
