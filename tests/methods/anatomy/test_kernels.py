# SPDX-License-Identifier: Apache-2.0
"""Anatomy's kernel does what its slow twin does, keeps the paper's properties, and draws
uniformly.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from naive import anatomy as naive
from phalanx.kernels.picking import SPARE, pick
from phalanx.methods.anatomy import kernels as kernel
from support.uniform import SURE, p_of
from support.work import lines, uncompiled


def drawn(rng: np.random.Generator, n: int) -> np.ndarray:
    """The draws for a table of n rows."""
    return rng.integers(0, 2**63, n + SPARE, dtype=np.uint64).astype(np.int64)


def picker(draws: np.ndarray):
    """The twin's ``pick``: the same draws in the same order."""
    words = iter(draws.tolist())

    def pick(bound: int) -> int:
        while (word := next(words)) >= 2**63 - 2**63 % bound:
            pass
        return word % bound

    return pick


def by_value(values: list[int], shuffled: list[int]) -> np.ndarray:
    """The shuffled rows by value, in random order within each."""
    return np.array(sorted(shuffled, key=lambda row: values[row]), dtype=np.int64)


def bucketized(
    values: list[int], size: int, rng: np.random.Generator, q: int | None = None
) -> np.ndarray:
    """The bucket of every row, freshly shuffled and drawn."""
    counts = np.bincount(values, minlength=q or 0)
    return kernel.bucketization(
        counts,
        by_value(values, rng.permutation(len(values)).tolist()),
        size,
        drawn(rng, len(values)),
    )


@st.composite
def eligible(draw: st.DrawFn) -> tuple[list[int], int]:
    """Values of rows and a size, eligible; often just so (a value in exactly n / size rows), with
    values that no row has.
    """
    size = draw(st.integers(1, 5))
    most = draw(st.integers(1, 8))
    counts = draw(
        st.lists(st.one_of(st.just(most), st.integers(0, most)), min_size=size, max_size=size + 6)
    )
    counts[0] = most
    missing = size * most - sum(counts)
    while missing > 0:  # values of their own, so many that the most frequent one is just eligible
        counts.append(min(missing, most))
        missing -= counts[-1]
    values = [v for v, count in enumerate(counts) for _ in range(count)]
    return draw(st.permutations(values)), size


@given(eligible(), st.integers(0, 2**32))
@settings(deadline=None)  # the first call compiles
@example(([0], 1), 0)
@example(([0, 1, 2], 3), 0)
def test_the_twin_forms_the_same_groups(table: tuple[list[int], int], seed: int) -> None:
    """With the same permutation and draws, kernel and twin put the same rows together, group by
    group.
    """
    values, size = table
    rng = np.random.default_rng(seed)
    shuffled, draws = rng.permutation(len(values)).tolist(), drawn(rng, len(values))
    found = kernel.bucketization(np.bincount(values), by_value(values, shuffled), size, draws)
    groups = naive.groups_of(values, shuffled, size, picker(draws))
    assert [set(np.flatnonzero(found == b).tolist()) for b in range(int(found.max()) + 1)] == [
        set(group) for group in groups
    ]


@given(eligible(), st.integers(0, 2**32))
@settings(deadline=None)  # the first call compiles
def test_properties_1_to_3_of_the_paper(table: tuple[list[int], int], seed: int) -> None:
    """Residue rows are fewer than l, each of another value; every bucket has l rows or more, all of
    different values; every row is in one bucket.
    """
    values, size = table
    found = bucketized(values, size, np.random.default_rng(seed))
    buckets = [
        [values[row] for row in np.flatnonzero(found == b)] for b in range(int(found.max()) + 1)
    ]
    assert sum(map(len, buckets)) == len(values)
    assert len(buckets) == len(values) // size
    assert all(len(bucket) == len(set(bucket)) >= size for bucket in buckets)
    assert sum(len(bucket) - size for bucket in buckets) == len(values) % size < size


UNIFORM = [
    # five values once each: three of them in one bucket and two in the other, whichever comes first
    pytest.param([0, 1, 2, 3, 4], 2, 20, id="ties and residue"),
    # one of two rows of value 0 goes first, with one of two values
    pytest.param([0, 0, 1, 2], 2, 4, id="rows of a value"),
    # two values thrice each: every group pairs any two rows that are left
    pytest.param([0, 0, 0, 1, 1, 1], 2, 36, id="pairs"),
]


@pytest.mark.parametrize(("values", "size", "kinds"), UNIFORM)
def test_choices_are_uniform(values: list[int], size: int, kinds: int) -> None:
    """Of tiny tables every outcome that the paper's algorithm allows comes equally often;
    chi-square, a false alarm once in ten million runs.
    """
    rng = np.random.default_rng(11)
    found = Counter(tuple(bucketized(values, size, rng).tolist()) for _ in range(100 * kinds))
    assert p_of(found, kinds) > SURE


@pytest.mark.parametrize("broken", ["ties", "rows", "residue"])
def test_one_sided_choices_are_seen(broken: str) -> None:
    """Ties that go to the first value, rows taken in the order of the source, or residue that joins
    the first group do not pass for uniform.
    """
    rng = np.random.default_rng(12)

    def twin(values: list[int], size: int) -> tuple[int, ...]:
        shuffled = (
            list(range(len(values))) if broken == "rows" else rng.permutation(len(values)).tolist()
        )
        calls = iter(range(100))

        def pick(bound: int) -> int:
            return (
                bound - 1
                if broken == "ties"
                else 0
                if broken == "residue" and bound == 2 and next(calls) == 1
                else int(rng.integers(bound))
            )

        place = {
            row: g
            for g, group in enumerate(naive.groups_of(values, shuffled, size, pick))
            for row in group
        }
        return tuple(place[row] for row in range(len(values)))

    values, size, kinds = UNIFORM[1 if broken == "rows" else 0].values
    assert p_of(Counter(twin(values, size) for _ in range(100 * kinds)), kinds) < SURE


def test_a_draw_has_no_bias() -> None:
    """Of the draws, those beyond the last whole multiple of the bound are refused, and the next one
    is taken.
    """
    bound = 2**62 + 1
    assert pick(bound, np.array([2**63 - 1, bound, 7], dtype=np.int64), 0) == (7, 3)
    assert pick(bound, np.array([bound - 1], dtype=np.int64), 0) == (bound - 1, 1)
    assert pick(4, np.array([2**63 - 1], dtype=np.int64), 0) == (3, 1)


def test_too_few_draws_are_not_read_past_their_end() -> None:
    """A kernel that is given too few draws says so."""
    with pytest.raises(ValueError, match="too few draws"):
        kernel.bucketization(np.array([1, 1, 1]), np.arange(3), 2, np.zeros(0, dtype=np.int64))


def table(rows: int, q: int) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """The kernel's arguments for a table of so many rows, with q values, in buckets of 5."""
    rng = np.random.default_rng(1)
    values = rng.permutation(np.arange(rows) % q)
    return np.bincount(values, minlength=q), np.argsort(values, kind="stable"), 5, drawn(rng, rows)


@pytest.mark.parametrize("q", [10, 200_000])
def test_a_million_rows(q: int) -> None:
    """A million rows are two hundred thousand buckets, of few values and of many."""
    assert int(kernel.bucketization(*table(1_000_000, q)).max()) == 199_999


@pytest.mark.parametrize("q", [10, 500, 1000])
def test_the_work_grows_with_the_rows(monkeypatch: pytest.MonkeyPatch, q: int) -> None:
    """With the rows and not with their square, nor with the number of values times the number of
    groups.
    """
    uncompiled(monkeypatch, kernel)
    kernel.bucketization(*table(100, q))  # what it calls itself is compiled, or read, here

    def work(rows: int) -> int:
        return lines(lambda: kernel.bucketization(*table(rows, q)))

    assert work(4000) < 4.5 * work(1000) < 4.5 * 1000 * 50
