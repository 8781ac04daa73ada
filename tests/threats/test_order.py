# SPDX-License-Identifier: Apache-2.0
"""Threats 4 and 5: the order of rows, group ids and columns tell nothing of the table that came
in.
"""

import math
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.methods.base import Memory
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Mondrian, partition
from phalanx.randomness import Randomness, Stream
from phalanx.release.forms.generalized import generalize

SURE = 1e-7
METHODS: dict[str, Any] = {
    "strict": Mondrian(k=2),
    "relaxed": Mondrian(k=2, cuts="relaxed", cut_at="median"),
    "balanced": Mondrian(k=2, cuts="balanced"),
    "m-invariance": MInvariance(m=2),
}
SCHEMA = Schema(identifier="who", quasi=["age"], sensitive="ill", keep=["who it is"])


def draft(method: Any, frame: pl.DataFrame) -> pl.DataFrame:
    """The published table; ``who it is`` is kept, so that the tests see whose row a row is."""
    return method.publish(
        Microdata.encode(frame, SCHEMA, PersonKey(bytes(32))), Memory(), Randomness.secure()
    ).form.table


def people(ages: list[int], values: list[str]) -> pl.DataFrame:
    names = [f"p{i:02d}" for i in range(len(ages))]
    return pl.DataFrame({"who": names, "who it is": names, "age": ages, "ill": values})


def homogeneous(samples: list[Counter[Any]]) -> float:
    """The p-value of samples of one distribution, by Wilson and Hilferty's approximation of
    chi-square; rare outcomes are put together.
    """
    total = sum(samples, Counter())
    kinds = [k for k, n in total.items() if n >= 8 * len(samples)]
    rows = [[s[k] for k in kinds] + [sum(s.values()) - sum(s[k] for k in kinds)] for s in samples]
    rows = [row if sum(r[-1] for r in rows) >= 8 * len(samples) else row[:-1] for row in rows]
    if len(rows[0]) < 2:
        return 1.0
    table = np.array(rows, dtype=float)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    degrees = (table.shape[0] - 1) * (table.shape[1] - 1)
    x = float(((table - expected) ** 2 / expected).sum())
    z = ((x / degrees) ** (1 / 3) - (1 - 2 / (9 * degrees))) / math.sqrt(2 / (9 * degrees))
    return 0.5 * math.erfc(z / math.sqrt(2))


def outcomes(method: Any, frame: pl.DataFrame, times: int) -> Counter[Any]:
    return Counter(
        tuple(draft(method, frame).select("group", "who it is").rows()) for _ in range(times)
    )


def groupings(method: Any, frame: pl.DataFrame, times: int) -> Counter[Any]:
    """Who stands with whom, whatever the order and the ids."""

    def grouping() -> Any:
        rows = draft(method, frame).select("group", "who it is").rows()
        return frozenset(frozenset(who for g, who in rows if g == group) for group, _ in rows)

    return Counter(grouping() for _ in range(times))


@pytest.mark.parametrize("name", METHODS)
def test_the_order_that_comes_in_does_not_matter(name: str) -> None:
    """Four people of one age: the whole published table has the same distribution whichever of the
    orders they come in.
    """
    frame = people([30, 30, 30, 30], ["a", "b", "a", "b"])
    orders = list(permutations(range(4)))[::5]
    assert (
        homogeneous([outcomes(METHODS[name], frame[list(order)], 120) for order in orders]) > SURE
    )


@pytest.mark.parametrize("name", METHODS)
def test_all_orders_come_out_alike(name: str) -> None:
    """Three or four people in one group: each of the orders is as frequent as any other, whatever
    order they came in.
    """
    frame = (
        people([30, 30, 30], ["a", "b", "a"])
        if name != "m-invariance"
        else people([30, 30], ["a", "b"])
    )
    n = frame.height
    found = Counter(
        tuple(draft(METHODS[name], frame)["who it is"]) for _ in range(150 * math.factorial(n))
    )
    assert set(found) == set(permutations(frame["who"].to_list()))
    assert homogeneous([found, Counter(dict.fromkeys(found, 1_000_000))]) > SURE


class Dealing:
    """A broken twin: relaxed cuts that deal ties in the order of the source."""

    def publish(self, microdata: Microdata, _: Memory, rng: Randomness) -> Any:
        groups = partition(Mondrian(k=2, cuts="relaxed", cut_at="median"), microdata.quasi, None)
        form, _ids = generalize(microdata, np.arange(microdata.rows), groups, rng.stream("t"))
        return type("Draft", (), {"form": form})


class Unshuffled:
    """A broken twin: groups are random, and rows stay in the order of the source within them."""

    def publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Any:
        made = Mondrian(k=2).publish(microdata, memory, rng)
        return type(
            "Draft",
            (),
            {"form": type("Form", (), {"table": made.form.table.sort("group", "who it is")})},
        )


def test_who_stands_with_whom_does_not_follow_the_order() -> None:
    """Relaxed cuts: of eight people of one age, which halves they fall into is independent of the
    order they come in; the broken twin is seen.
    """
    frame = people([30] * 4 + [40] * 2, ["a"] * 6)
    orders = [[0, 1, 2, 3, 4, 5], [3, 1, 0, 2, 5, 4], [5, 4, 3, 2, 1, 0], [0, 3, 1, 2, 4, 5]]
    assert (
        homogeneous([groupings(METHODS["relaxed"], frame[order], 150) for order in orders]) > SURE
    )
    assert homogeneous([groupings(Dealing(), frame[order], 150) for order in orders]) < SURE


def test_rows_left_in_order_would_be_seen() -> None:
    """The test of orders rejects a method that leaves rows as they came."""
    frame = people([30, 30, 30], ["a", "b", "a"])
    found = Counter(tuple(draft(Unshuffled(), frame)["who it is"]) for _ in range(100))
    orders = list(permutations(frame["who"].to_list()))
    assert (
        homogeneous(
            [
                Counter({order: found[order] for order in orders}),
                Counter(dict.fromkeys(orders, 10**6)),
            ]
        )
        < SURE
    )


def ranks(x: Any) -> Any:
    """Their places when they are sorted; equal ones share their mean place."""
    _, which, times = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(times) - (times - 1) / 2)[which]


def z_of_ranks(x: Any, y: Any) -> float:
    """Spearman's correlation times the square root of n: about standard normal where there is none."""
    x, y = ranks(x), ranks(y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        return 0.0  # what is the same for all follows nothing
    return float(np.corrcoef(x, y)[0, 1] * math.sqrt(len(x) - 1))


@pytest.mark.parametrize("name", METHODS)
def test_places_do_not_follow_the_table(name: str) -> None:
    """Over a thousand people: a row's place in the file and its group's id are uncorrelated with
    its place in the table, its age and its value.
    """
    rng = np.random.default_rng(5)
    frame = people(rng.integers(18, 90, 1000).tolist(), rng.choice(list("abcdef"), 1000).tolist())
    frame = frame.with_columns(
        pl.Series("who it is", [f"{i % 500}" for i in range(1000)])
    )  # twice each, or it would be taken for an identifier
    table = draft(METHODS[name], frame)
    first = np.array([int(w) for w in table["who it is"]])
    tie = rng.permutation(table.height)  # equal values are ranked in an order of their own
    groups = table["group"].to_numpy()
    sizes = table.group_by("group").agg(
        size=pl.len(),
        first=pl.col("who it is").cast(pl.Int64).min(),
        age=pl.col("age_low").first(),
        ill=pl.col("ill").min(),
    )
    for column in (
        first,
        table["age_low"].to_numpy(),
        np.unique(table["ill"].to_numpy(), return_inverse=True)[1],
    ):
        assert (
            abs(z_of_ranks(np.arange(table.height)[tie], column[tie])) < 12
        )  # rows of a group stand together, which doubles it
    shuffled = sizes.sample(fraction=1.0, shuffle=True, seed=1)
    for column in ("size", "first", "age"):
        assert abs(z_of_ranks(shuffled["group"], shuffled[column])) < 6
    within = np.arange(len(groups)) - np.searchsorted(groups, groups)
    for column in (first, np.unique(table["ill"].to_numpy(), return_inverse=True)[1]):
        means = {g: column[groups == g].mean() for g in np.unique(groups)}
        assert (
            abs(z_of_ranks(within[tie], (column - np.array([means[g] for g in groups]))[tie])) < 6
        )


def test_ids_in_order_of_size_would_be_seen() -> None:
    """The test of ids rejects ids that follow the size of groups."""
    sizes = np.sort(np.random.default_rng(1).integers(2, 9, 300))
    assert abs(z_of_ranks(np.arange(300), sizes)) > 6


def test_permuting_the_input_permutes_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all randomness switched off, the groups of strict cuts are the same sets of people in
    every order: only ties are dealt, and none are here.
    """
    monkeypatch.setattr(Stream, "permutation", lambda _, n: np.arange(n))
    frame = people([20, 31, 42, 53, 64, 75], list("ababab"))
    found = {
        next(iter(groupings(METHODS["strict"], frame[list(order)], 1)))
        for order in list(permutations(range(6)))[::37]
    }
    assert len(found) == 1


@pytest.mark.parametrize("name", METHODS)
def test_the_columns_are_those_declared(name: str) -> None:
    """Group, intervals, sensitive and kept values; no index, no row number."""
    table = draft(METHODS[name], people([20, 31, 42, 53], list("abab")))
    assert table.columns == ["group", "age_low", "age_high", "ill", "who it is"]
    assert table.dtypes == [pl.Int64, pl.Int64, pl.Int64, pl.String, pl.String]
