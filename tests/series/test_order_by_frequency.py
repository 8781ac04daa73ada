# SPDX-License-Identifier: Apache-2.0
"""Categories in the order of how frequent they are: published with the release, kept by the series,
and refused where the order would tell what a promise covers.
"""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx import ByFrequency, Schema, Series, verify
from phalanx.errors import SchemaError
from phalanx.plan import Plan

SCHEMA = Schema(
    identifier="who",
    quasi=["age", "town"],
    sensitive="ill",
    hierarchies={"town": ByFrequency()},
)


def table(n=400, seed=1, first=0):
    """Towns of which a few are frequent, in no alphabetical order."""
    draw = np.random.default_rng(seed)
    shares = 1 / (np.arange(12) + 1.0) ** 2
    names = draw.permutation([f"t{i:02}" for i in range(12)])
    towns = np.append(draw.choice(12, n - 12, p=shares / shares.sum()), np.arange(12))
    return pl.DataFrame(
        {
            "who": np.arange(first, first + n),
            "age": draw.integers(20, 60, n),
            "town": names[towns],
            "ill": draw.choice(["a", "b", "c", "d", "e"], n),
        }
    )


METHODS = [px.Mondrian(k=5), px.Mondrian(k=5, l=2), px.MInvariance(m=2)]
"""All that publish intervals."""


def order_of(release):
    (town,) = [a for a in release.manifest.attributes if a.name == "town"]
    return [path[0] for path in town.hierarchy["paths"]]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_series_keeps_the_order_of_its_first_release(tmp_path, method):
    """By frequency in the first table; what is published holds by the check of its files, and a
    later table with other frequencies is published in the same order.
    """
    series = Series("towns", SCHEMA, method, to=tmp_path / "out", seed=1)
    one = table()
    first = series.publish(one)
    counts = one["town"].value_counts().sort(["count", "town"], descending=[True, False])
    assert order_of(first) == counts["town"].to_list() != sorted(counts["town"])
    later = series.publish(pl.concat([one[50:], table(60, seed=1, first=900)]))
    assert order_of(later) == order_of(first)
    assert series.verify(originals=[one, pl.concat([one[50:], table(60, seed=1, first=900)])],
                         allow_seeded=True).holds  # fmt: skip
    assert verify([first.path, later.path], allow_seeded=True).holds


def test_a_value_that_was_not_there_is_refused_before_anything_is_published(tmp_path):
    """In one sentence that does not name it."""
    series = Series("towns", SCHEMA, px.Mondrian(k=5), to=tmp_path / "out", seed=1)
    series.publish(table())
    new = table().with_columns(town=pl.lit("Rye"))
    with pytest.raises(SchemaError, match="counted in the first release") as refusal:
        series.publish(new)
    assert "Rye" not in str(refusal.value)
    assert [path.name for path in sorted((tmp_path / "out").glob("towns-*"))] == ["towns-1"]


@pytest.mark.parametrize(
    "method",
    [
        px.SafeSampling(k=5, beta="1/2", scheme={"age": {"low": 0, "high": 100, "width": 10}}),
        px.Slicing(l=2),
        px.Anatomy(l=2),
        px.MutualCover(delta="1/3"),
        px.GlobalGuarantee(l=2),
    ],
    ids=lambda method: method.name,
)
def test_others_refuse_it(tmp_path, method):
    """Of differentially private releases the order would tell how often values occur, and of the
    global guarantee those of suppressed rows; others have no intervals.
    """
    series = Series("towns", SCHEMA, method, to=tmp_path / "out", seed=1)
    with pytest.raises(SchemaError, match=f"which {method.name} does not take"):
        series.publish(table())


def test_it_is_refused_where_nothing_counts_it(tmp_path):
    """In parts, of which none is the table."""
    table().write_parquet(tmp_path / "table.parquet")
    series = Series(
        "parts", SCHEMA, px.Mondrian(k=5), to=tmp_path / "out", seed=1, engine="out-of-core",
        formats=("parquet",),
    )  # fmt: skip
    with pytest.raises(SchemaError, match="counted in memory"):
        series.publish(tmp_path / "table.parquet")


@pytest.mark.parametrize("suppressing", [{"not_eligible": "suppress"}, {"changed": "suppress"}])
def test_it_names_no_value_of_a_suppressed_row(tmp_path, suppressing):
    """All values are published in their order, so that a method that may suppress rows does not take
    it: a value that stands in no row would be one of theirs.
    """
    method = px.MInvariance(m=2, **suppressing)
    series = Series("towns", SCHEMA, method, to=tmp_path / "out", seed=1)
    with pytest.raises(SchemaError, match="would name values of suppressed rows"):
        series.publish(table())
    assert not list((tmp_path / "out").glob("*"))


def test_a_grid_of_least_widths_is_not_laid_over_it():
    """A grid that follows from the table would narrow down what it is to hide."""
    with pytest.raises(SchemaError, match="has a least width"):
        px.publish(table().drop("who"), replace(SCHEMA, identifier=None),
                   px.Mondrian(k=5, min_width={"town": 3}), seed=1)  # fmt: skip


def test_a_plan_says_it(tmp_path):
    """As ``{ order = "frequency" }``; another word is refused."""
    table().write_csv(tmp_path / "towns.csv")
    plan = tmp_path / "plan.toml"
    text = """
[series]
name = "towns"
[source]
path = "towns.csv"
[schema]
identifier = "who"
quasi = ["age", "town"]
sensitive = "ill"
[schema.hierarchies]
town = { order = "frequency" }
[method]
name = "mondrian"
k = 5
[publish]
to = "releases"
"""
    plan.write_text(text)
    assert order_of(Plan.read(plan).publish())[0] == table()["town"].mode()[0]
    plan.write_text(text.replace('"frequency"', '"size"'))
    with pytest.raises(px.errors.PlanError, match="frequency"):
        Plan.read(plan).publish()


def test_intervals_are_narrower_where_few_values_are_frequent():
    """Fewer rare values lie between two frequent ones."""
    made, alphabet = table(4000), {}
    for name, hierarchies in (("counted", SCHEMA.hierarchies), ("alphabet", {})):
        schema = Schema(quasi=["age", "town"], sensitive="ill", hierarchies=hierarchies)
        release = px.publish(made.drop("who"), schema, px.Mondrian(k=5), seed=1)
        town = release.form.table.select("town_low", "town_high").unique()
        places = {value: at for at, value in enumerate(order_of(release))} if hierarchies else {
            value: at for at, value in enumerate(sorted(made["town"].unique()))
        }  # fmt: skip
        ends = release.form.table.select("town_low", "town_high").rows()
        alphabet[name] = sum(places[high] - places[low] for low, high in ends)
        assert town.height > 1
    assert alphabet["counted"] < alphabet["alphabet"]
