# SPDX-License-Identifier: Apache-2.0
"""The promises about households, against their words written as loops, and what they find where
rows are counted instead.
"""

from collections.abc import Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phalanx as px
from naive import households as naive
from phalanx.data.microdata import Microdata
from phalanx.errors import PlanError
from phalanx.guarantees.consistency.check import _promise_faults
from phalanx.guarantees.households import HouseholdAnonymity, HouseholdDiversity
from phalanx.guarantees.registry import from_parameters
from phalanx.release.evidence.evidence import Evidence

SCHEMA = px.Schema(cluster="home", quasi=["age"], sensitive="ill")
RELEASE: Any = SimpleNamespace(number=1)


def beside(rows: Sequence[naive.Row]) -> Evidence:
    """The original table and in which group each of its rows is."""
    homes, groups, values = zip(*rows, strict=True)
    table = pl.DataFrame({"home": homes, "age": [30] * len(rows), "ill": values})
    microdata = Microdata.encode(table, SCHEMA)
    return Evidence(microdata={1: microdata}, rows={1: np.array(groups, dtype=np.int64)})


def check(guarantee: Any, rows: Sequence[naive.Row]) -> Any:
    (verdict,) = guarantee.check(RELEASE, (), beside(rows))
    return verdict


def together(homes: int, members: int, values: str = "abc") -> list[naive.Row]:
    """One set of groups, in which everybody's values follow each other."""
    return [
        (f"h{h}", 1 + m, values[(h + m) % len(values)])
        for h in range(homes)
        for m in range(members)
    ]


few = st.integers(0, 3)
tables = st.lists(st.tuples(few, st.integers(1, 4), st.sampled_from("abc")), min_size=1, max_size=9)
sound = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 3), st.lists(st.sampled_from("abcd"), min_size=12)),
    min_size=1,
    max_size=3,
).map(
    lambda sets: [
        (f"{s} {h}", 1 + 10 * s + m, values[(h * members + m) % len(values)])
        for s, (homes, members, values) in enumerate(sets)
        for h in range(homes)
        for m in range(members)
    ]
)


@given(tables | sound, st.integers(2, 4))
def test_k_is_as_its_words_say(rows, k):
    """Of any rows in any groups: it holds where households stand together and each group has k of
    them, and the figure is the fewest.
    """
    verdict = check(HouseholdAnonymity(k=k), rows)
    assert verdict.worst == naive.fewest(rows)
    assert verdict.holds == (naive.stand_together(rows) and naive.fewest(rows) >= k)


@given(tables | sound, st.sampled_from(["3/2", 2, "5/2", 3]))
def test_l_is_as_its_words_say(rows, l):
    """The same of the largest share of households with a value among their members; exactly."""
    verdict = check(HouseholdDiversity(l=l), rows)
    if naive.stand_together(rows):
        assert verdict.worst == naive.largest_share(rows)
        assert verdict.holds == (naive.largest_share(rows) <= 1 / Fraction(l))
    else:
        assert not verdict.holds


BROKEN = {
    "a family alone is a group of three": [("h0", 1, v) for v in "abc"],
    "rows of one household in one group": [*together(3, 1), ("h0", 1, "d")],
    "members scattered": [("h0", 1, "a"), ("h1", 1, "b"), ("h0", 2, "a"), ("h2", 2, "c")],
    "a larger household among smaller ones": [*together(3, 1), ("h0", 2, "d")],
    "two sets that share a household": [*together(3, 2), ("h9", 3, "a"), ("h0", 3, "b")],
}


@pytest.mark.parametrize("name", BROKEN)
def test_households_that_do_not_stand_together_are_found(name):
    """Neither promise holds, however few households are asked for."""
    assert not naive.stand_together(BROKEN[name])
    assert not check(HouseholdAnonymity(k=1), BROKEN[name]).holds
    assert not check(HouseholdDiversity(l=1), BROKEN[name]).holds


def test_an_income_that_a_family_shares_counts_once():
    """Four families of three, each with an income of its own: a quarter of the households has any;
    where it is spread over two families, each counts.
    """
    shared = [(h, 1 + m, f"income {h}") for h in range(4) for m in range(3)]
    assert check(HouseholdDiversity(l=4), shared).worst == Fraction(1, 4)
    spread = [(h, g, "income 0" if (h, g) == (1, 2) else v) for h, g, v in shared]
    verdict = check(HouseholdDiversity(l=4), spread)
    assert (verdict.worst, verdict.holds) == (Fraction(1, 2), False)
    assert sorted(verdict.worst_cases["group"]) == [1, 2, 3]


def test_without_the_table_it_is_not_checked():
    """From the files alone, without a cluster column, and without whose row is whose: said so."""
    full = beside(together(3, 2))
    plain = Microdata.encode(
        pl.DataFrame({"age": [30] * 6, "ill": list("abcabc")}),
        px.Schema(quasi=["age"], sensitive="ill"),
    )
    for guarantee in (HouseholdAnonymity(k=9), HouseholdDiversity(l=9)):
        for evidence in (None, Evidence(), Evidence(microdata={1: plain}, rows=full.rows)):
            (verdict,) = guarantee.check(RELEASE, (), evidence)
            assert (verdict.result, verdict.worst) == ("not checked", None)
            assert "says who lives together" in verdict.note
        (verdict,) = guarantee.check(RELEASE, (), Evidence(microdata=full.microdata))
        assert verdict.note == "not checked: no person-to-group mapping was given"


def test_a_release_keeps_what_it_promises_and_no_more():
    """As the manifest names it, and from the evidence that a release in memory has."""
    release = px.publish(
        pl.DataFrame(
            {"home": [i // 2 for i in range(24)], "age": list(range(24)), "ill": list("abcd") * 6}
        ),
        SCHEMA,
        px.Mondrian(k=3, l=2),
    )
    for guarantee, more in (
        (HouseholdAnonymity(k=3), HouseholdAnonymity(k=13)),
        (HouseholdDiversity(l=2), HouseholdDiversity(l=9)),
    ):
        assert from_parameters(guarantee.parameters()) == guarantee
        held = guarantee.check(release, (), release.evidence)
        assert [v.result for v in held] == ["holds"]
        assert not more.check(release, (), release.evidence)[0].holds


@pytest.mark.parametrize("wrong", [0, "a", None, 1.5])
def test_a_wrong_figure_is_refused(wrong):
    """In one sentence."""
    with pytest.raises(PlanError):
        HouseholdAnonymity(k=wrong)
    with pytest.raises(PlanError):
        HouseholdDiversity(l=0.5 if wrong == 1.5 else wrong)


def test_a_release_that_only_says_household_is_found():
    """The files alone show it: no promise of households stands in its manifest."""
    table = pl.DataFrame({"home": [i // 2 for i in range(24)], "age": range(24)})
    release = px.publish(table, px.Schema(cluster="home", quasi=["age"]), px.Mondrian(k=3))
    plain = [g for g in release.manifest.guarantees if "household" not in g["name"]]
    boast = release.manifest.model_copy(update={"guarantees": plain})
    assert list(_promise_faults(SimpleNamespace(manifest=release.manifest))) == []
    assert list(_promise_faults(SimpleNamespace(manifest=boast))) == [
        "it says that it covers each household, and promises nothing of one"
    ]
