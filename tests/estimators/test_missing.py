# SPDX-License-Identifier: Apache-2.0
"""What an estimate makes of values that are missing: a few beside others, most, or of an attribute of
which nothing is published.
"""

import numpy as np
import polars as pl
import pytest

import phalanx as px

SCHEMA = px.Schema(
    identifier="who",
    quasi=["age", "sex"],
    sensitive="ill",
    types={"age": "numeric"},
    missing="value",
)


def people(seed: int, share: float, rows: int = 2000) -> pl.DataFrame:
    """Persons of whom a share has no age, and as many no sex."""
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 70, rows), rng.choice(["f", "m"], rows, p=[0.3, 0.7])
    without = rng.random((2, rows)) < share
    return pl.DataFrame(
        {
            "who": range(rows),
            "age": [None if none else int(a) for a, none in zip(age, without[0], strict=True)],
            "sex": [None if none else str(s) for s, none in zip(sex, without[1], strict=True)],
            "ill": rng.choice(["a", "b", "c"], rows),
        }
    )


def truth(table: pl.DataFrame, where: str) -> float:
    return float(table.filter(pl.sql_expr(where)).height)


def test_three_without_a_value_are_no_half_of_those_beside_them() -> None:
    """Fewer than k share the box of the lowest value, which they would have had half of."""
    table = pl.DataFrame(
        {
            "who": range(1000),
            "sex": [None] * 3 + ["f"] * 300 + ["m"] * 697,
            "ill": ["a", "b", "c", "d"] * 250,
        }
    )
    schema = px.Schema(identifier="who", quasi=["sex"], sensitive="ill", missing="value")
    release = px.publish(table, schema, px.Mondrian(k=5), seed=1)
    women, without = (
        release.estimate(f"count(*) where sex {is_so}") for is_so in ("= 'f'", "is null")
    )
    assert 295 < women.estimate < 302
    assert 1 <= without.estimate < 10
    assert women.interval[0] <= 300 <= women.interval[1]
    assert without.interval[0] <= 3 <= without.interval[1]
    drawn = release.draw(times=10, seed=1)
    assert np.mean([table["sex"].null_count() for table in drawn]) < 30


@pytest.mark.parametrize(
    "method",
    [
        px.Mondrian(k=10),
        px.Mondrian(k=100),
        px.Slicing(l=2, columns=[["age", "sex"], ["ill"]], generalize_columns_k=25),
    ],
    ids=["small groups", "large groups", "sliced"],
)
@pytest.mark.parametrize("share", [0.003, 0.03])
def test_intervals_hold_where_values_are_missing(method: object, share: float) -> None:
    """As often as elsewhere, of values and of missing ones; where most rows may be either, none is
    shown, with the reason.
    """
    shown = held = 0
    for seed in range(4):
        table = people(seed, share)
        release = px.publish(table, SCHEMA, method, seed=seed)
        for where in (
            "sex = 'f'",
            "sex IS NULL",
            "age < 40",
            "age IS NULL",
            "age > 60 AND ill = 'a'",
            "sex = 'm' AND ill = 'b'",
        ):
            found = release.estimate(f"count(*) where {where}")
            if found.interval is None:
                assert "of most rows it is not told whether they have a value" in found.notes[-1]
                continue
            shown += 1
            held += found.interval[0] <= truth(table, where) <= found.interval[1]
    assert shown >= 12
    assert held >= 0.95 * shown


def test_where_most_may_be_missing_there_is_no_interval() -> None:
    """Two large groups with a few missing ages each: where ages begin is not told at all."""
    table = people(1, 0.02)
    release = px.publish(table, SCHEMA, px.Mondrian(k=900), seed=1)
    found = release.estimate("count(*) where age < 40")
    assert found.interval is None
    assert (
        "no interval: of most rows it is not told whether they have a value of 'age'" in found.notes
    )
    assert release.estimate("count(*) where ill = 'a'").interval is not None


def test_of_what_is_nowhere_published_there_is_no_estimate() -> None:
    """A scheme that makes all of an attribute ``*`` says nothing of it: no value has half of the
    rows, and none has all that are missing.
    """
    table = people(2, 0)
    scheme = {"age": {"low": 0, "high": 100, "width": 50}, "sex": 1}
    method = px.SafeSampling(epsilon=1, delta="1e-6", scheme=scheme, allow_empty=True)
    release = px.publish(table, SCHEMA, method, seed=1)
    for where in ("sex = 'f'", "sex = 'banana'", "sex is null", "sex <> 'f'", "sex in ('f', 'm')"):
        found = release.estimate(f"count(*) where {where}")
        assert found.estimate is None
        assert "the release says nothing of 'sex', so that there is no estimate" in found.notes
    assert release.estimate("count(*) where age < 50").estimate > 0


def test_a_value_that_all_lack_is_known() -> None:
    """Where no person has one, nothing is open."""
    table = people(3, 0).with_columns(sex=pl.lit(None, dtype=pl.String))
    release = px.publish(table, SCHEMA, px.Mondrian(k=5), seed=1)
    assert release.estimate("count(*) where sex is null").estimate == 2000
    assert release.estimate("count(*) where sex = 'f'").estimate == 0


def test_what_lies_beyond_a_grid_is_said_to_be_taken_for_inside() -> None:
    """Its first and last cells have no end, and rows have to be somewhere."""
    table = people(4, 0)
    method = px.SafeSampling(
        epsilon=1,
        delta="1e-6",
        scheme={"age": {"low": 30, "high": 50, "width": 10}, "sex": 0},
        allow_empty=True,
    )
    release = px.publish(table, SCHEMA, method, seed=1)
    note = "the first and the last cell of 'age' hold what is beyond them, too"
    assert any(n.startswith(note) for n in release.estimate("count(*) where age >= 50").notes)
    assert not any(n.startswith(note) for n in release.estimate("count(*) where sex = 'f'").notes)
