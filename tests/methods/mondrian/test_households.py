# SPDX-License-Identifier: Apache-2.0
"""Mondrian where the rows of a household count as one: what is published keeps what is promised of
households, whatever the table; and a release that counts rows is refused.
"""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phalanx as px
from naive import households as naive
from phalanx.data.microdata import Microdata
from phalanx.errors import (
    GuaranteeError,
    MethodError,
    NotEligible,
    PlanError,
    SchemaError,
    SourceError,
)
from phalanx.methods import households as module
from phalanx.methods.base import Memory
from phalanx.methods.mondrian.balanced import shares_of
from phalanx.randomness import Randomness

SCHEMA = px.Schema(cluster="home", quasi=["age", "zip"], sensitive="ill")
PLAIN = px.Schema(drop=["home"], quasi=["age", "zip"], sensitive="ill")
METHODS = [
    px.Mondrian(k=3),
    px.Mondrian(k=3, cuts="relaxed"),
    px.Mondrian(k=3, cuts="strict", cut_at="median"),
    px.Mondrian(k=3, cuts="balanced"),
    px.Mondrian(k=2, l=2),
    px.Mondrian(k=4, l="5/2"),
    px.Mondrian(l=3),
]


def families(homes=60, most=3, values=40, seed=0):
    """Homes of one to ``most`` members, in one town each, in an order that tells nothing."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"h{h}", int(rng.integers(0 if member else 18, 70)), h % 7, f"ill {rng.integers(values)}")
        for h in range(homes)
        for member in range(h % most + 1)
    ]
    frame = pl.DataFrame(rows, schema=["home", "age", "zip", "ill"], orient="row")
    return frame[rng.permutation(frame.height).tolist()]


def published(frame, method, schema=SCHEMA):
    """Every row of the table as (household, group, value)."""
    microdata = Microdata.encode(frame, schema)
    groups = method.publish(microdata, Memory(), Randomness.secure()).groups
    return list(zip(frame["home"], groups.tolist(), frame["ill"], strict=True))


def keeps(rows, method):
    """What the method promises of households, by loops."""
    return (
        naive.stand_together(rows)
        and naive.fewest(rows) >= method.k
        and (method.l is None or naive.largest_share(rows) * Fraction(method.l) <= 1)
    )


@pytest.mark.parametrize("method", METHODS, ids=lambda m: str(m.parameters()))
def test_households_hide_each_other_with_all_their_members(method):
    """By loops over all rows; every check of the release holds, and it says household."""
    frame = families()
    assert keeps(published(frame, method), method)
    release = px.publish(frame, SCHEMA, method)
    names = {check.name.removeprefix("release 1: "): check for check in release.verify().checks}
    assert all(check.holds for check in names.values())
    assert release.manifest.privacy_unit == "household"
    assert ("household-k-anonymity" in names) == (method.k > 1)
    assert ("household-l-diversity" in names) == (method.l is not None)
    assert release.rows == frame.height and "home" not in release.table.columns


@settings(max_examples=60)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.sampled_from("abcdef")),
                 min_size=1, max_size=3),
        min_size=4, max_size=14,
    ),
    st.sampled_from(METHODS),
)  # fmt: skip
def test_whatever_the_table(homes, method):
    """Small tables of any shape: what is not refused keeps its promise."""
    rows = [(str(h), *row) for h, members in enumerate(homes) for row in members]
    frame = pl.DataFrame(rows, schema=["home", "age", "zip", "ill"], orient="row")
    try:
        shown = published(frame, method)
    except MethodError:
        return
    assert keeps(shown, method)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["-", "x", "y"])),
        min_size=1, max_size=12,
    ).filter(lambda rows: any(value != "-" for *_, value in rows))
)  # fmt: skip
def test_members_are_ranked_by_what_is_public(rows):
    """Households by kind, and their members by rank, as a loop has them; rows that are equal in all
    that is public may change places.
    """
    frame = pl.DataFrame(rows, schema=["home", "age", "ill"], orient="row")
    schema = px.Schema(cluster="home", quasi=["age"], sensitive="ill", not_applicable=["-"])
    microdata = Microdata.encode(frame, schema)
    ages = frame["age"].to_numpy()
    assert [
        (
            (kind.members.shape[1], kind.valued),
            sorted([(int(ages[row]),) for row in members] for members in kind.members),
        )
        for kind in module._kinds(
            microdata, microdata.households, Randomness.secure().stream("ties")
        )
    ] == list(naive.kinds([(home, value == "-", (age,)) for home, age, value in rows]))


def test_equal_members_are_ranked_at_random():
    """Twins stand in the source in one order, and in the groups in both."""
    frame = pl.DataFrame({"home": [0, 0], "age": [7, 7], "ill": ["a", "b"]})
    schema = px.Schema(cluster="home", quasi=["age"], sensitive="ill")
    microdata = Microdata.encode(frame, schema)
    orders = {
        tuple(kind.members[0].tolist())
        for _ in range(80)
        for kind in module._kinds(
            microdata, microdata.households, Randomness.secure().stream("ties")
        )
    }
    assert orders == {(0, 1), (1, 0)}  # fails wrongly with a chance of 2^-79


@given(st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), min_size=1, max_size=6))
def test_shares_hold_each_value_once(values):
    """What a household holds is the set of its members' values."""
    shares = shares_of(np.array(values, dtype=np.int32), 2.5)
    held = [
        sorted(shares.codes[start:end].tolist())
        for start, end in itertools.pairwise(shares.starts.tolist())
    ]
    assert held == [sorted(set(row)) for row in values]
    assert set(shares.base.tolist()) == {2.5}


def test_rows_that_are_counted_instead_are_refused(monkeypatch):
    """The broken twins: families as persons, members grouped each by themselves, and shares that
    count the members of one rank alone.
    """
    frame = families()
    counted = published(frame, px.Mondrian(k=3, l=2), PLAIN)
    assert not naive.stand_together(counted)

    def apart(microdata, households, together, least, ties):  # noqa: ARG001 - as it is called
        groups, begun = np.empty(microdata.rows, dtype=np.int64), 0
        for kind in module._kinds(microdata, households, ties):
            for rank in range(kind.members.shape[1]):
                alone = module.Alike(kind.members[:, [rank]], min(kind.valued, 1))
                groups[alone.members[:, 0]] = begun + together(alone)
                begun = int(groups[alone.members].max()) + 1
        return groups

    monkeypatch.setattr("phalanx.methods.mondrian.method.grouped_households", apart)
    with pytest.raises(GuaranteeError, match="household-k-anonymity"):
        px.publish(frame, SCHEMA, px.Mondrian(k=3))
    monkeypatch.undo()

    monkeypatch.setattr(
        "phalanx.methods.mondrian.households.shares_of",
        lambda values, ratio: shares_of(
            values + np.arange(values.shape[1], dtype=np.int32) * 100, ratio
        ),
    )
    with pytest.raises(GuaranteeError, match="household-l-diversity"):
        px.publish(families(values=12), SCHEMA, px.Mondrian(l="5/2"))


def test_a_household_of_rows_that_look_alike_is_no_group():
    """Five rows of one family are five persons to k = 5, and one household."""
    frame = pl.DataFrame(
        {
            "home": [i // 5 for i in range(50)],
            "age": [10 * (i // 5) for i in range(50)],
            "zip": [1] * 50,
            "ill": [f"ill {i // 5}" for i in range(50)],
        }
    )
    assert naive.fewest(published(frame, px.Mondrian(k=5), PLAIN)) == 1
    rows = published(frame, px.Mondrian(k=5), SCHEMA)
    assert (naive.fewest(rows), len({group for _, group, _ in rows})) == (5, 10)


def test_children_without_an_income_stand_apart():
    """Households are alike where as many members have a value; no group is mixed, and shares are of
    those with one.
    """
    frame = families(300).with_columns(
        ill=pl.when(pl.col("age") < 18).then(pl.lit("none")).otherwise("ill")
    )
    schema = replace(SCHEMA, not_applicable=["none"])
    method = px.Mondrian(k=3, l=2)
    release = px.publish(frame, schema, method)
    kinds = {check.name.removeprefix("release 1: "): check for check in release.verify().checks}
    assert all(check.holds for check in kinds.values())
    rows = published(frame, method, schema)
    assert naive.stand_together(rows) and naive.fewest(rows) >= 3
    assert naive.largest_share([row for row in rows if row[2] != "none"]) <= 1 / 2


def test_what_cannot_be_kept_is_refused():
    """In one sentence, with what to do."""
    frame = families()
    rare = pl.concat([frame, pl.DataFrame({"home": ["x"] * 9, "age": [5] * 9, "zip": [1] * 9, "ill": ["a"] * 9}).cast(frame.schema)])  # fmt: skip
    with pytest.raises(
        MethodError,
        match=r"1 household\(s\), of 9 row\(s\), are fewer than the 3.*leave their rows out",
    ):
        px.publish(rare, SCHEMA, px.Mondrian(k=3))
    same = frame.with_columns(ill=pl.lit("flu"))
    with pytest.raises(NotEligible, match="of 20 households of 1 rows 20 have a member with"):
        px.publish(same, SCHEMA, px.Mondrian(l=2))
    for method in (px.Mondrian(k=2, t="1/2"), px.Mondrian(l=2, diversity="distinct")):
        with pytest.raises(PlanError, match="leave t and other diversities out, or the cluster"):
            px.publish(frame, SCHEMA, method)
    with pytest.raises(PlanError, match="cuts = 'strict' with l is for persons"):
        px.publish(frame, SCHEMA, px.Mondrian(l=2, cuts="strict"))
    for other in (px.Anatomy(l=2), px.Slicing(l=2)):
        with pytest.raises(SchemaError, match="covers persons and no households; use mondrian"):
            px.publish(frame, SCHEMA, other)
    gap = frame.with_columns(home=pl.when(pl.col("age") < 5).then(None).otherwise("home"))
    with pytest.raises(SourceError, match="cluster column 'home' is missing in"):
        px.publish(gap, SCHEMA, px.Mondrian(k=2))
