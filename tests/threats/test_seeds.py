# SPDX-License-Identifier: Apache-2.0
"""Threat 2: whoever tries seeds, one after the other, on what was published does not find the one
that it was made with.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from phalanx import Anatomy, Schema, Series
from phalanx.randomness import Randomness

N = 24
SEEDS = 2**12
SCHEMA = Schema(identifier="who", quasi=["age"], sensitive="ill")


def table() -> pl.DataFrame:
    """People of different ages, so that the order of published rows is one of 24! and no two seeds
    give the same by chance.
    """
    return pl.DataFrame(
        {"who": range(N), "age": range(20, 20 + N), "ill": [f"illness {i % 4}" for i in range(N)]}
    )


def published(folder: Path, seed: int | None = None) -> list[int]:
    """The order in which the rows of a release stand, as places in the source."""
    release = Series(
        "s",
        schema=SCHEMA,
        method=Anatomy(l=2),
        to=folder,
        report=False,
        ledger=f"sqlite:///{folder}.db",
        seed=seed,
    ).publish(table())
    return [age - 20 for age in release.form.table["age"].to_list()]


GENERATORS: dict[str, Callable[[int], list[int]]] = {
    "numpy": lambda seed: np.random.default_rng(seed).permutation(N).tolist(),
    "Python": lambda seed: random.Random(seed).sample(range(N), N),
    "ours": lambda seed: Randomness.seeded(seed).stream("rows").permutation(N).tolist(),
}


def seeds_that_give(order: list[int], generator: Callable[[int], list[int]]) -> Iterator[int]:
    """The seeds whose permutation is an order, or takes it back."""
    back = np.argsort(order).tolist()
    for seed in range(SEEDS):
        if generator(seed) in (order, back):
            yield seed


@pytest.mark.parametrize("name", GENERATORS)
def test_no_small_seed_gives_a_published_order(tmp_path: Path, name: str) -> None:
    """The order of a release is that of none of thousands of seeds, of any generator that is at
    hand.
    """
    assert not list(seeds_that_give(published(tmp_path / "out"), GENERATORS[name]))


@pytest.mark.parametrize("name", GENERATORS)
def test_an_order_of_a_small_seed_is_found(name: str) -> None:
    """The search finds the seed of an order that was made with one."""
    assert list(seeds_that_give(GENERATORS[name](SEEDS - 5), GENERATORS[name])) == [SEEDS - 5]


def test_a_release_made_with_a_seed_is_made_again(tmp_path: Path) -> None:
    """Whoever has the program repeats a seeded release, which is why it is marked; two releases
    without a seed differ.
    """
    one, other = (published(tmp_path / f"seeded {i}", seed=7) for i in range(2))
    assert one == other
    assert published(tmp_path / "free 1") != published(tmp_path / "free 2")
