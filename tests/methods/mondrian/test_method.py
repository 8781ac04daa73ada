# SPDX-License-Identifier: Apache-2.0
"""Mondrian from microdata to a draft: what is published keeps the promise, and what cannot be kept
is refused in one sentence.
"""

from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from naive import mondrian as naive
from phalanx.data.hierarchies.hierarchy import Prefix, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import MethodError, NotEligible, PlanError, SchemaError
from phalanx.methods.base import Draft, Memory, make
from phalanx.methods.mondrian.method import Mondrian
from phalanx.randomness import Randomness

ILLNESSES = Tree.of_mapping(
    {"lung": ["flu", "cold", "asthma"], "stomach": ["ulcer", "gastritis"], "skin": ["rash", "acne"]}
)


def patients(n: int = 400) -> pl.DataFrame:
    """Persons with an age, a sex, a zip code and an illness, some more frequent than others."""
    rng = np.random.default_rng(7)
    illness = rng.choice(
        [path[0] for path in ILLNESSES.paths], n, p=[0.25, 0.2, 0.15, 0.15, 0.1, 0.1, 0.05]
    )
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "zip": [f"{z:05d}" for z in 47000 + rng.integers(0, 40, n)],
            "illness": illness,
        }
    )


def schema(**changes: Any) -> Schema:
    said: dict[str, Any] = {
        "quasi": ["age", "sex", "zip"],
        "sensitive": "illness",
        "hierarchies": {"zip": Prefix((5, 3, 0)), "illness": ILLNESSES},
    }
    return Schema(**(said | changes))


def publish(method: Mondrian, frame: pl.DataFrame, roles: Schema | None = None) -> Draft:
    return method.publish(
        Microdata.encode(frame, roles or schema()), Memory(), Randomness.seeded(5)
    )


def published_groups(draft: Draft, column: str = "illness") -> list[list[Any]]:
    """The sensitive values of every published group."""
    found: dict[int, list[Any]] = defaultdict(list)
    for group, value in draft.form.table.select("group", column).iter_rows():
        found[group].append(value)
    return list(found.values())


PRINCIPLES: list[tuple[dict[str, Any], Any]] = [
    ({}, lambda _: naive.at_least(4)),
    ({"l": 3}, lambda _: naive.frequency(Fraction(3))),
    ({"l": 4, "diversity": "distinct"}, lambda _: naive.distinct(Fraction(4))),
    ({"l": "7/2", "diversity": "entropy"}, lambda _: naive.entropy(Fraction(7, 2))),
    ({"l": 3, "c": 1, "diversity": "recursive"}, lambda _: naive.recursive(Fraction(1), 3)),
    ({"t": 0.3}, lambda table: naive.closeness(Fraction(3, 10), table, "equal")),
    (
        {"t": 0.2, "distance": "ordered"},
        lambda table: naive.closeness(
            Fraction(1, 5), table, "ordered", [list(p) for p in ILLNESSES.paths]
        ),
    ),
    (
        {"t": "1/5", "distance": "hierarchical"},
        lambda table: naive.closeness(
            Fraction(1, 5), table, "hierarchical", [list(p) for p in ILLNESSES.paths]
        ),
    ),
    (
        {"l": 2, "t": 0.3},
        lambda table: (
            lambda g: (
                naive.frequency(Fraction(2))(g)
                and naive.closeness(Fraction(3, 10), table, "equal")(g)
            )
        ),
    ),
]


@pytest.mark.parametrize(
    "ways",
    [
        {"cuts": "balanced"},
        *(
            {"cuts": cuts, "cut_at": at}
            for cuts in ("strict", "relaxed")
            for at in ("least-width", "median")
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("parameters", "principle"), PRINCIPLES, ids=[str(p) for p, _ in PRINCIPLES]
)
def test_every_published_group_keeps_the_promise_exactly(
    parameters: dict[str, Any], principle: Any, ways: dict[str, Any]
) -> None:
    """In fractions, from the published table, by the twin's definitions; and by the guarantees that
    the method names.
    """
    frame = patients()
    method = Mondrian(k=4, **ways, **parameters)
    draft = publish(method, frame)
    place = {path[0]: i for i, path in enumerate(ILLNESSES.paths)}
    holds = principle([place[v] for v in frame["illness"]])
    groups = [[place[v] for v in group] for group in published_groups(draft)]
    assert len(groups) > 3
    assert all(len(group) >= 4 and holds(group) for group in groups)
    assert sum(map(len, groups)) == frame.height


@pytest.mark.parametrize("parameters", [p for p, _ in PRINCIPLES], ids=str)
def test_the_independent_check_agrees(parameters: dict[str, Any]) -> None:
    """The guarantees that the method promises hold for what it publishes."""
    method = Mondrian(k=4, **parameters)
    draft = publish(method, patients())
    verdicts = [
        verdict for guarantee in method.guarantees for verdict in guarantee.check(draft.form)
    ]  # type: ignore[arg-type]
    assert len(verdicts) >= len(method.guarantees) == 1 + len(parameters.keys() & {"l", "t"})
    assert all(verdict.holds for verdict in verdicts), verdicts


def test_the_independent_check_refuses_a_broken_method() -> None:
    """Groups cut for k alone are not what a diverse method promises."""
    draft = publish(Mondrian(k=4), patients())
    promised = Mondrian(k=4, l=3).guarantees[1]
    assert not all(verdict.holds for verdict in promised.check(draft.form))  # type: ignore[arg-type]


def test_intervals_are_tight_and_hold_their_persons() -> None:
    """Every row lies in its group's published intervals, whose ends are values of the group; the
    draft says which group each row is in.
    """
    frame = patients()
    draft = publish(Mondrian(k=5), frame)
    own = (
        frame.with_columns(group=pl.Series(draft.groups))
        .group_by("group")
        .agg(pl.col("age").min().alias("low"), pl.col("age").max().alias("high"), pl.len())
    )
    boxes = draft.form.table.group_by("group").agg(
        pl.col("age_low").first(), pl.col("age_high").first(), pl.len().alias("published")
    )
    joined = own.join(boxes, on="group", validate="1:1")
    assert joined.height == draft.form.groups
    for said, found in (("age_low", "low"), ("age_high", "high"), ("published", "len")):
        assert joined[said].to_list() == joined[found].to_list()


def test_strict_boxes_are_disjoint() -> None:
    """No two strict groups share a point of the quasi-identifiers."""
    table = publish(Mondrian(k=5), patients()).form.table
    boxes = (
        table.select("group", "age_low", "age_high", "sex_low", "sex_high", "zip_low", "zip_high")
        .unique()
        .rows()
    )
    for i, (_, *a) in enumerate(boxes):
        for _, *b in boxes[:i]:
            assert any(a[2 * x] > b[2 * x + 1] or b[2 * x] > a[2 * x + 1] for x in range(3))


def test_relaxed_groups_are_smaller_than_2k() -> None:
    """Relaxed cuts go through equal values, so that every group of persons who differ has fewer
    than 2k.
    """
    sizes = [
        len(g)
        for cut_at in ("median", "least-width")
        for g in published_groups(publish(Mondrian(k=5, cuts="relaxed", cut_at=cut_at), patients()))
    ]  # type: ignore[arg-type]
    assert min(sizes) >= 5
    assert max(sizes) < 10


@pytest.mark.parametrize("cut_at", ["median", "least-width"])
def test_strict_groups_do_not_depend_on_the_order_of_the_source(cut_at: Any) -> None:
    """With k alone neither the order of rows nor a sensitive value has any part in a group."""
    frame = patients().with_row_index("row")
    shuffled, other = (
        frame.sample(fraction=1, shuffle=True, seed=3),
        frame.with_columns(illness=frame["illness"].reverse()),
    )
    roles, method = schema(drop=["row"]), Mondrian(k=5, cut_at=cut_at)
    found = [
        {frozenset(table.filter(draft.groups == g)["row"]) for g in set(draft.groups.tolist())}
        for table in (frame, shuffled, other)
        for draft in [publish(method, table, roles)]
    ]
    assert found[0] == found[1] == found[2]


def test_one_row_is_published_as_it_is() -> None:
    """A single row is one group where k allows it."""
    draft = publish(Mondrian(), patients(1))
    assert draft.form.rows == draft.form.groups == 1
    assert draft.groups.tolist() == [1]


def test_equal_rows_are_one_group() -> None:
    """Nothing is gained by cutting rows that are all equal."""
    frame = pl.concat([patients(1)] * 50)
    assert (
        publish(Mondrian(k=2), frame).form.groups
        == publish(Mondrian(k=2, cuts="relaxed"), frame).form.groups
        == 1
    )


def test_a_missing_value_is_a_value_of_its_own() -> None:
    """Rows with a missing age are cut from the others and published with a missing interval; a
    missing illness counts as an illness.
    """
    frame = pl.DataFrame(
        {
            "age": [None] * 4 + [40] * 4,
            "sex": ["f"] * 8,
            "zip": ["47000"] * 8,
            "illness": [None, "flu"] * 4,
        }
    )
    draft = publish(Mondrian(k=4, l=2), frame, schema(missing="value"))
    assert draft.form.groups == 2
    assert sorted(map(str, draft.form.table["age_low"].unique().to_list())) == ["40", "None"]
    assert (
        publish(
            Mondrian(k=2, t=0, distance="hierarchical", cuts="strict"),
            frame,
            schema(missing="value"),
        ).form.groups
        == 2
    )


def test_more_than_the_table_has_is_refused() -> None:
    """K above the number of rows cannot be promised."""
    with pytest.raises(MethodError, match="the table has 3 row\\(s\\) and a group needs k = 4"):
        publish(Mondrian(k=4), patients(3))


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"l": 8}, "'illness' has 7 distinct value\\(s\\) and l = 8 .* lower l to at most 7"),
        (
            {"l": 8, "diversity": "distinct"},
            "'illness' has 7 distinct value\\(s\\) and l = 8 .* lower l to at most 7",
        ),
        (
            {"l": 6},
            "stands in \\d+ of 400 rows \\([0-9.]+ %\\) and l = 6 .* lower l to at most [0-9.]+,",
        ),
        (
            {"l": 7, "diversity": "entropy"},
            "the entropy of 6\\.\\d+ equally frequent values, and l = 7",
        ),
        ({"l": 5, "c": "1/2", "diversity": "recursive"}, "fewer than c times \\d+; raise c above"),
    ],
    ids=str,
)
def test_a_table_that_is_not_diverse_enough_is_refused_with_the_ways_out(
    parameters: dict[str, Any], sentence: str
) -> None:
    """By how much it fails, and what would help, without naming a person's value."""
    with pytest.raises(NotEligible, match=sentence) as caught:
        publish(Mondrian(**parameters), patients())
    assert not any(path[0] in str(caught.value) for path in ILLNESSES.paths)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"k": 0}, "k must be a whole number"),
        ({"k": 2.5}, "k must be a whole number"),
        ({"k": True}, "k must be a whole number"),
        ({"l": 0.5}, "l must be at least 1"),
        ({"l": "many"}, "l must be a number"),
        ({"l": float("nan")}, "l must be a number"),
        ({"l": 2.5, "diversity": "distinct"}, "l = 2.5 is not a whole number"),
        ({"l": 2, "diversity": "entropic"}, "did you mean 'entropy'"),
        ({"diversity": "distinct"}, "needs l"),
        ({"l": 2, "diversity": "recursive"}, "needs both c and l"),
        ({"l": 2, "c": 3}, "needs both c and l"),
        ({"l": 2, "c": 0, "diversity": "recursive"}, "met by no group"),
        ({"t": 1.5}, "t must be at least 0 and at most 1"),
        ({"distance": "ordered"}, "needs t"),
        (
            {"t": 0.1, "distance": "far"},
            "'far' is not known; use one of equal, ordered, hierarchical",
        ),
        ({"cuts": "loose"}, "use one of balanced, strict, relaxed"),
        ({"cut_at": "nowhere"}, "'nowhere' is not known; use one of least-width, median"),
        ({"l": 2, "cut_at": "median"}, "cut_at = 'median' is for strict and relaxed cuts"),
        ({"min_width": {"age": 0}}, "min_width for 'age'"),
        ({"min_width": 2}, "min_width is a table"),
        ({"min_width": None}, "min_width is a table"),
    ],
    ids=str,
)
def test_parameters_that_mean_nothing_are_plan_errors(
    parameters: dict[str, Any], sentence: str
) -> None:
    """One sentence that names the key, through the same door as a plan."""
    with pytest.raises(PlanError, match=sentence):
        make("mondrian", parameters)


def test_what_the_schema_lacks_is_said() -> None:
    """L needs a sensitive attribute, the hierarchical distance a hierarchy, min_width a
    quasi-identifier.
    """
    frame = patients()
    with pytest.raises(SchemaError, match="no sensitive attribute"):
        publish(Mondrian(l=2), frame, schema(sensitive=None, drop=["illness"], hierarchies={}))
    with pytest.raises(SchemaError, match="has none; declare one"):
        publish(Mondrian(t=0.2, distance="hierarchical"), frame, schema(hierarchies={}))
    with pytest.raises(PlanError, match="did you mean 'age'"):
        publish(Mondrian(min_width={"agee": 5}), frame)


def test_without_a_sensitive_attribute_k_alone_works() -> None:
    """A table of quasi-identifiers alone can be k-anonymous."""
    draft = publish(
        Mondrian(k=6), patients().drop("illness"), schema(sensitive=None, hierarchies={})
    )
    assert draft.form.table.group_by("group").len()["len"].min() >= 6  # type: ignore[operator]


def test_ten_thousand_sensitive_values_simply_work() -> None:
    """A wide sensitive domain costs no more than its rows."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"age": rng.integers(0, 90, 12_000), "cost": rng.permutation(12_000) // 1.2}
    )
    for parameters in ({"l": 5}, {"t": 0.5, "distance": "ordered"}, {"t": 0.99}):
        draft = publish(Mondrian(k=5, **parameters), frame, Schema(quasi=["age"], sensitive="cost"))  # type: ignore[arg-type]
        assert draft.form.groups > 1


def test_fractions_that_do_not_fit_are_tightened() -> None:
    """A t with twenty digits is kept, never loosened: a bound of just under one half refuses a
    distance of one half.
    """
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "illness": ["flu", "flu", "rash", "rash"]})
    roles = Schema(quasi=["age"], sensitive="illness")
    assert publish(Mondrian(t="0.5", cuts="strict"), frame, roles).form.groups == 2
    assert (
        publish(Mondrian(t="0.49999999999999999999", cuts="strict"), frame, roles).form.groups == 1
    )


def test_the_manifest_shows_the_parameters() -> None:
    """Only what was asked, in plain numbers."""
    assert Mondrian(k=3, l=0.2 * 10, t="1/4", min_width={"age": 2}).parameters() == {
        "name": "mondrian",
        "k": 3,
        "l": 2,
        "diversity": "frequency",
        "t": "1/4",
        "distance": "equal",
        "cuts": "balanced",
        "min_width": {"age": 2},
    }
    assert Mondrian(k=3, cut_at="median").parameters() == {
        "name": "mondrian",
        "k": 3,
        "cuts": "strict",
        "cut_at": "median",
    }
    assert Mondrian(k=3, l=2, cuts="relaxed").parameters()["cut_at"] == "least-width"


def test_the_ordered_distance_without_a_hierarchy_is_over_the_values_of_the_table() -> None:
    """Numbers in their order; method and check count the same values."""
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {"age": rng.integers(18, 90, 300), "income": rng.choice([0, 10, 500, 700], 300)}
    )
    method = Mondrian(k=3, t=0.15, distance="ordered")
    draft = publish(method, frame, Schema(quasi=["age"], sensitive="income"))
    table = frame["income"].to_list()
    apart = [naive.apart(group, table, "ordered") for group in published_groups(draft, "income")]
    (verdict,) = method.guarantees[1].check(draft.form)  # type: ignore[arg-type]
    assert len(apart) > 3
    assert verdict.worst == max(apart) <= Fraction(3, 20)
