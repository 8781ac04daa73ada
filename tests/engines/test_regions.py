# SPDX-License-Identifier: Apache-2.0
"""Regions divide a table by its quasi-identifiers and the number of rows alone."""

import inspect
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx import Prefix, Schema, Tree
from phalanx.data.column import encode_column
from phalanx.engines import out_of_core
from phalanx.engines import regions as engine
from phalanx.engines.out_of_core import Divided
from phalanx.engines.regions import Attribute, compact, merged, regions
from phalanx.randomness import Randomness


def stream():
    return Randomness.seeded(1).stream("test")


def test_regions_are_boxes_of_about_as_many_rows():
    """Every region has at most about as many rows as are wanted, and its rows are told by their
    quasi-identifiers.
    """
    places = np.random.default_rng(1).random((20_000, 3))
    root = regions(places[::4], 20_000, 1_500)
    parts = root.parts_of(places, stream())
    sizes = np.bincount(parts)
    assert len(sizes) == root.end
    assert sizes.min() > 300
    assert sizes.max() < 1_500 * 1.3
    assert (parts == root.parts_of(places, Randomness.seeded(2).stream("other"))).all()


def test_a_long_tail_is_not_cut_off_before_others_are_cut():
    """Half of the rows would lie as far from each other after such a cut as all did before."""
    rng = np.random.default_rng(1)
    tail = rng.lognormal(0, 1.5, 20_000)
    places = np.stack([tail / tail.max(), *rng.random((2, 20_000))], axis=1)
    root = regions(places, 20_000, 5_000)
    assert root.end == 4
    assert {root.attribute, root.below.attribute, root.above.attribute} == {1, 2}


@given(st.lists(st.integers(0, 40), min_size=2, max_size=60), st.integers(0, 2**32))
def test_a_width_is_that_of_rows_drawn_at_random(numbers, seed):
    """The mean over all draws, where there are many values and a long tail, and else how far all
    rows reach.
    """
    places = np.array(numbers) ** 8 / 40**8
    values, counts = np.unique(places, return_counts=True)
    width, reach = engine._width(values, counts), values[-1] - values[0]
    drawn = np.ptp(np.random.default_rng(seed).choice(places, (4_000, 8)), axis=1).mean()
    if len(values) < 16 or drawn > 0.53 * reach:
        assert width == reach
    elif drawn < 0.47 * reach:
        assert width == pytest.approx(drawn, abs=0.03)


def test_equal_rows_are_never_cut_but_dealt_out():
    """Where no quasi-identifier divides so many rows, chance does."""
    places = np.repeat([[0.0, 0.0], [1.0, 0.0]], [9_000, 1_000], axis=0)
    root = regions(places, 10_000, 1_000)
    parts = root.parts_of(places, stream())
    assert set(parts[:9_000].tolist()) & set(parts[9_000:].tolist()) == set()
    assert root.end == 10
    assert np.bincount(parts)[:9].min() > 800


def test_neighbouring_floats_are_parted():
    """Between them lies no number, and each stands on its side."""
    low, high = 0.7, float(np.nextafter(0.7, 1))
    places = np.repeat([[0.0], [low], [high], [1.0]], [1, 4_999, 4_999, 1], axis=0)
    root = regions(places, 10_000, 6_000)
    parts = root.parts_of(places, stream())
    assert root.end == 2
    assert np.bincount(parts).tolist() == [5_000, 5_000]


def test_small_parts_are_published_with_their_neighbours():
    """No part has fewer rows than asked where there are so many."""
    for counts in set(permutations([0, 1, 2, 7, 9])):
        together = merged(counts, 5)
        assert [n for part in together for n in part] == [n for n, c in enumerate(counts) if c]
        assert all(sum(counts[n] for n in part) >= 5 for part in together)


def test_a_part_of_the_table_knows_how_far_the_whole_reaches():
    """Numbers by their ends, categories by all of them, leaves by their hierarchy; the values stay
    as they are.
    """
    tree = Tree.of_mapping({"north": ["b", "a"], "south": ["c"]})
    schema = Schema(
        quasi=["n", "c", "t", "p"], hierarchies={"t": tree, "p": Prefix((2, 1, 0))}, missing="value"
    )
    whole = {
        "n": pl.Series("n", [5, 1, None, 9, 7]),
        "c": pl.Series("c", ["y", "x", "z", None, "y"]),
        "t": pl.Series("t", ["a", "b", "c", "a", "c"]),
        "p": pl.Series("p", ["12", "13", "20", "11", "12"]),
    }
    reach = {
        "n": [5, 7, None, 1, 9],
        "c": ["x", "y", "z"],
        "t": ["b", "a", "c"],
        "p": ["11", "12", "13", "20"],
    }
    for name, values in whole.items():
        attribute = Attribute(name, schema)
        attribute.see(values[:2])
        attribute.see(values[2:])
        part = encode_column(values[:1], schema)
        wider = attribute.over_all(part)
        assert wider.domain.values.gather(wider.codes).to_list() == values[:1].to_list()
        assert set(wider.domain.values.to_list()) <= set(reach[name])
        assert {reach[name][-2], reach[name][-1]} <= set(
            wider.domain.values.to_list()
        ) or name == "c"
        places = attribute.places(attribute.canonical(values))
        assert places[values.is_not_null().to_numpy()].min() == 0
        assert places.max() == 1
        assert (places[values.is_null().to_numpy()] < 0).all()


def parts_of(frame, tmp_path, seed=3):
    frame.write_parquet(tmp_path / "t.parquet")
    schema = Schema(quasi=["a", "b"], sensitive="ill")
    batches = out_of_core.Batches.of(tmp_path / "t.parquet")
    divided = Divided(batches, schema, frame.height, 300, 1 << 20)
    (place := tmp_path / "rows").mkdir(exist_ok=True)
    parts = list(divided.parts("regions", place, None, Randomness.seeded(seed)))
    assert list(place.iterdir()) == []
    return [
        list(
            zip(
                *(p.columns[q].domain.values.gather(p.columns[q].codes) for q in ("a", "b")),
                strict=True,
            )
        )
        for p in parts
    ]


@given(
    st.lists(st.lists(st.none() | st.text("aB\u00e9 ", max_size=3), min_size=1), min_size=1),
    st.sampled_from([0, 1, 1 << 16]),
)
def test_texts_have_the_places_of_their_order(batches: list[list[str | None]], few: int):
    """However many were seen at once, and a part's codes are those of the same values among all."""
    schema = Schema(quasi=["a"], types={"a": "categorical"}, missing="value")
    attribute = Attribute("a", schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_FEW", few)
        for batch in batches:
            attribute.see(pl.Series("a", batch, dtype=pl.String))
    everything = sorted({value for batch in batches for value in batch if value is not None})
    assert attribute.reach().to_list() == everything
    for batch in batches:
        values = pl.Series("a", batch, dtype=pl.String)
        expected = [
            -1.0 if value is None else everything.index(value) / max(1, len(everything) - 1)
            for value in batch
        ]
        assert attribute.places(values).tolist() == expected
        wider = attribute.over_all(encode_column(values, schema))
        assert wider.domain.values.gather(wider.codes).to_list() == batch
        present = wider.domain.values.drop_nulls().to_list()
        assert present == everything


def test_no_sensitive_value_has_a_part_in_the_partition(tmp_path):
    """The same quasi-identifiers in the same order give the same parts, whatever the sensitive
    values are: permuted, all equal, or the quasi-identifiers once more.
    """
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"a": rng.integers(0, 40, 2_000), "b": rng.integers(0, 30, 2_000)})
    with_values = [
        frame.with_columns(ill=pl.Series(values))
        for values in (rng.integers(0, 9, 2_000), np.zeros(2_000, np.int64), frame["a"].to_numpy())
    ]
    first, *others = [parts_of(each, tmp_path) for each in with_values]
    assert len(first) > 4
    assert sum(len(part) for part in first) == 2_000
    assert all(other == first for other in others)


def test_regions_are_shown_no_sensitive_value():
    """What cuts, and what tells where a row goes, takes no argument that could hold one."""
    assert list(inspect.signature(regions).parameters) == ["sample", "rows", "most"]
    assert list(inspect.signature(merged).parameters) == ["counts", "least"]


@pytest.mark.parametrize("by", ["regions", "chance"])
def test_the_order_of_parts_is_that_of_chance(tmp_path, by):
    """Not that of the regions: another seed gives another one."""
    frame = pl.DataFrame({"a": np.arange(3_000) % 50, "b": np.arange(3_000) % 7, "ill": 0})
    frame.write_parquet(tmp_path / "t.parquet")
    batches = out_of_core.Batches.of(tmp_path / "t.parquet")
    divided = Divided(batches, Schema(quasi=["a", "b"], sensitive="ill"), 3_000, 200, 1 << 20)
    (place := tmp_path / "rows").mkdir()
    least = [
        [
            int(part.columns["a"].codes.min())
            for part in divided.parts(by, place, None, Randomness.seeded(seed))
        ]
        for seed in range(3)
    ]
    if by == "regions":
        assert len({tuple(order) for order in least}) > 1
        assert all(order != sorted(order) for order in least)
    assert len(least[0]) > 8


def test_texts_that_were_drawn_let_go_of_those_that_were_not() -> None:
    """A sample holds its own bytes, not those of all rows that it was drawn from."""
    texts = pl.Series([f"a text that is longer than twelve bytes {n}" for n in range(10_000)])
    drawn = texts.filter(pl.Series(range(10_000)) % 1_000 == 0)

    def held(values: pl.Series) -> int:
        buffers = values.to_arrow(compat_level=pl.CompatLevel.newest()).buffers()
        return sum(each.size for each in buffers if each is not None)

    assert compact(drawn).to_list() == drawn.to_list()
    assert held(drawn) > 100_000 > 2_000 > held(compact(drawn))
