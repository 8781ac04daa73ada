# SPDX-License-Identifier: Apache-2.0
"""What m-invariance does beyond the paper: returning persons, changed values, tables that are not
eligible, least widths.
"""

import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import MethodError, NotEligible, PlanError, SchemaError
from phalanx.methods.base import Memory, privacy_unit
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.randomness import Randomness

KEY = PersonKey(bytes(32))


def table(rows, **schema):
    frame = pl.DataFrame(
        rows,
        schema=["who", "age", "ill", *(["ward"] if rows and len(rows[0]) == 4 else [])],
        orient="row",
        infer_schema_length=None,
    )
    return Microdata.encode(
        frame, Schema(**{"identifier": "who", "quasi": ["age"], "sensitive": "ill"} | schema), KEY
    )


class History:
    """Publishes tables one after the other and remembers as a ledger would."""

    def __init__(self, **parameters):
        self.method = MInvariance(**parameters)
        self.memory = Memory()

    def publish(self, rows, rng=None, **schema):
        microdata = table(rows, **schema)
        draft = self.method.publish(microdata, self.memory, rng or Randomness.secure())
        self.memory = self.memory.after(draft, draft.mapping(microdata))
        values = {
            g: frozenset(v) for g, v in draft.form.table.group_by("group").agg("ill").iter_rows()
        }
        signature = {
            row[0]: values.get(g) for row, g in zip(rows, draft.groups.tolist(), strict=True)
        }
        sizes = draft.form.table.group_by("group").agg(
            pl.len(), pl.col("ill").n_unique().alias("different")
        )
        assert (sizes["len"] == sizes["different"]).all() and sizes["len"].min() >= self.method.m
        return draft, signature


FOUR = [("ann", 20, "flu"), ("bob", 30, "gout"), ("cleo", 40, "acne"), ("dan", 50, "ulcer")]


def test_whoever_returns_is_under_the_first_signature():
    """Absent in release 2, back in release 3: the same values around them as in release 1."""
    for _ in range(20):
        history = History(m=2)
        _, first = history.publish(FOUR)
        history.publish([("eve", 25, "flu"), ("finn", 35, "acne"), *FOUR[1:2]])
        _, third = history.publish([FOUR[0], FOUR[2], ("gus", 33, "ulcer"), ("hal", 44, "gout")])
        assert third["ann"] == first["ann"] and third["cleo"] == first["cleo"]


def test_forgetting_loses_the_first_signature():
    """The paper's variant gives some who return another signature: the broken twin of the test
    above.
    """
    history = History(m=2, remember=False)
    _, first = history.publish(FOUR)
    history.publish([("eve", 25, "flu"), ("finn", 35, "acne")])
    _, third = history.publish([FOUR[0], ("hal", 44, "ulcer")])

    assert first["ann"] == {"flu", "acne"}
    assert third["ann"] == {"flu", "ulcer"}


CHANGED = [("ann", 20, "gout"), *FOUR[1:]]


def test_a_changed_value_is_refused_by_default():
    """The message says how many persons, and shows nobody's value."""
    history = History(m=2)
    history.publish(FOUR)
    with pytest.raises(
        MethodError, match=r"^1 person\(s\) come with another value of 'ill'"
    ) as refused:
        history.publish(CHANGED)
    assert "gout" not in str(refused.value) and "ann" not in str(refused.value)


def test_a_changed_value_is_suppressed():
    """The person is left out and counted; back at the old value, the person is back under the old
    signature.
    """
    history = History(m=2, changed="suppress")
    _, first = history.publish(FOUR)
    draft, second = history.publish(CHANGED)
    assert draft.suppressed.rows == {"changed value": 1}
    assert second["ann"] is None
    _, third = history.publish(FOUR)
    assert third["ann"] == first["ann"]


def test_a_changed_value_is_a_new_record():
    """Each value of the person has a signature of its own, which lasts; the method says that the
    promise is per record.
    """
    history = History(m=2, changed="new-record", not_eligible="suppress")
    _, first = history.publish(FOUR)
    assert privacy_unit(history.method) == "record"
    assert privacy_unit(MInvariance(m=2)) == "person"
    more = [("ida", 21, "flu"), ("joe", 22, "acne"), ("kim", 23, "ulcer")]
    _, second = history.publish([*CHANGED, *more])
    _, third = history.publish([*CHANGED, *more])
    _, fourth = history.publish([*FOUR, *more])
    assert "gout" in second["ann"] and third["ann"] == second["ann"]
    assert fourth["ann"] == first["ann"]


def test_a_table_that_is_not_eligible_is_refused_with_the_ways_out():
    """The message names the share, a smaller m that fits, and how many rows suppressing would
    cost.
    """
    rows = [(f"p{i}", i, "flu" if i < 5 else f"d{i}") for i in range(8)]
    with pytest.raises(NotEligible, match=r"5 of the 8 new rows \(62.5%\)") as refused:
        History(m=2).publish(rows)
    said = str(refused.value)
    assert "leave out 2 row(s)" in said and "flu" not in said


def test_the_fewest_rows_are_suppressed():
    """Five flus among three others: two are left out, no more."""
    rows = [(f"p{i}", i, "flu" if i < 5 else f"d{i}") for i in range(8)]
    draft, signature = History(m=2, not_eligible="suppress").publish(rows)
    assert draft.suppressed.rows == {"not m-eligible": 2}
    assert sum(s is None for s in signature.values()) == 2


def test_m_beyond_the_domain_publishes_nothing():
    """Where every row would be suppressed, one sentence and no draft."""
    with pytest.raises(NotEligible, match="lower m"):
        History(m=5).publish(FOUR)
    with pytest.raises(MethodError, match="nothing is left to publish"):
        History(m=5, not_eligible="suppress").publish(FOUR)


def test_a_value_that_nobody_has_any_more_is_still_counterfeited():
    """The signature of those who stay holds a value that has left the table; a counterfeit carries
    it.
    """
    history = History(m=2)
    history.publish(FOUR[:2])
    draft, signature = history.publish(FOUR[:1])
    assert signature["ann"] == {"flu", "gout"}
    assert draft.form.counterfeit_rows == 1 and draft.form.rows == 2


def test_counterfeits_never_fill_a_group():
    """Every group has a person in it, whatever the shortage."""
    history = History(m=2)
    rows = [(f"p{i}", i, "ab"[i % 2]) for i in range(40)]
    history.publish(rows)
    draft, _ = history.publish([r for r in rows if r[2] == "a" or r[0] == "p1"])
    counts = dict(draft.form.counterfeits.iter_rows())
    assert sum(counts.values()) == 19 and max(counts.values()) == 1


def test_numbers_are_the_same_whatever_their_width():
    """A sensitive value read as a whole number in one year and as a decimal in the next has not
    changed.
    """
    history = History(m=2)
    _, first = history.publish([("ann", 20, 9), ("bob", 30, 11)])
    _, second = history.publish(
        [("ann", 21, 9.0), ("bob", 31, 11.0), ("cleo", 30, 10.5), ("dan", 40, 9.5)]
    )
    assert second["ann"] == first["ann"] == {9, 11}


def test_numbers_that_no_fraction_stands_beside():
    """Two whole numbers of a signature that a column of fractions would make one: its groups would
    hold the same value twice.
    """
    large = [("ann", 20, 2**53), ("bob", 30, 2**53 + 1)]
    halves = [("eve", 25, 0.5), ("finn", 35, 1.5)]
    for first, then in ((large, halves), (halves, large)):
        history = History(m=2)
        history.publish(first)
        with pytest.raises(SchemaError, match=r"column 'ill' holds whole numbers beyond 2\*\*53"):
            history.publish(then)


def test_a_missing_sensitive_value_is_a_value():
    """It has its place in signatures, and stays the same from release to release."""
    history = History(m=2)
    rows = [("ann", 20, None), ("bob", 30, "flu")]
    _, first = history.publish(rows, missing="value")
    _, second = history.publish(rows, missing="value")
    assert first["ann"] == second["ann"] == {None, "flu"}


def test_everybody_leaves_and_everybody_returns():
    """A release of strangers in between changes nothing for those who come back."""
    history = History(m=2)
    _, first = history.publish(FOUR)
    history.publish([("x", 1, "flu"), ("y", 2, "gout")])
    _, third = history.publish(FOUR)
    assert third == first


def test_intervals_have_a_least_width():
    """No published interval is narrower than asked, and every person lies in theirs."""
    draft, _ = History(m=2, min_width={"age": 5}).publish(FOUR)
    shown = draft.form.table
    assert (shown["age_high"] - shown["age_low"] >= 5).all()
    for (_, age, _), group in zip(FOUR, draft.groups.tolist(), strict=True):
        low, high = shown.filter(pl.col("group") == group).select("age_low", "age_high").row(0)
        assert low <= age <= high


def test_two_runs_differ_and_two_seeded_runs_do_not():
    """Which tuples meet is drawn anew each time; a seed repeats it."""
    rows = [(f"p{i}", i % 7, "abcd"[i % 4]) for i in range(60)]
    fresh = {History(m=2).publish(rows)[0].form.table.write_csv() for _ in range(3)}
    seeded = {
        History(m=2).publish(rows, Randomness.seeded(7))[0].form.table.write_csv() for _ in range(3)
    }
    assert len(fresh) == 3
    assert len(seeded) == 1


def test_a_group_with_a_counterfeit_shows_no_kept_values():
    """Real rows and counterfeits alike, so that nothing tells them apart; all other groups show
    theirs as they are.
    """
    rows = [(f"p{i}", i, "ab"[i % 2], f"w{i % 3}") for i in range(12)]
    history = History(m=2)
    history.publish(rows, keep=["ward"])
    draft, _ = history.publish(rows[:5], keep=["ward"])
    (with_one,) = draft.form.counterfeits["group"].to_list()
    beside = draft.form.table.with_columns(
        blank=pl.col("ward").is_null(), hosts=pl.col("group") == with_one
    )
    assert draft.form.counterfeit_rows == 1
    assert beside["blank"].to_list() == beside["hosts"].to_list()
    own = {(row[0], row[3]) for row in rows}
    for (who, *_), group in zip(rows, draft.groups.tolist(), strict=False):
        shown = set(draft.form.table.filter(pl.col("group") == group)["ward"])
        assert group == with_one or any((who, ward) in own for ward in shown)


def test_new_tuples_enter_signatures_in_whole_sets():
    """Five of one value stay and four of the other; four more of each enter beside them, and the
    one that is short is a counterfeit.
    """
    history = History(m=2)
    rows = [(f"p{i}", i, "ab"[i % 2]) for i in range(10)]
    history.publish(rows)
    draft, signature = history.publish([*rows[:9], *((f"n{i}", i, "ab"[i % 2]) for i in range(8))])
    assert draft.form.counterfeit_rows == 1 and draft.form.groups == 9
    assert set(signature.values()) == {frozenset("ab")}
    assert len(history.memory.tables["signatures"]) == 2


def test_the_paper_fills_what_is_short():
    """The same with the paper's filling: no counterfeit, as a newcomer takes the place; the
    guarantee says which way it was.
    """
    history = History(m=2, balancing="paper")
    rows = [(f"p{i}", i, "ab"[i % 2]) for i in range(10)]
    history.publish(rows)
    draft, _ = history.publish(
        [*rows[:9], ("x", 1, "b"), ("y", 2, "c"), ("z", 3, "d"), ("w", 4, "c"), ("v", 5, "d")]
    )
    assert draft.form.counterfeit_rows == 0
    assert MInvariance(m=2, balancing="paper").guarantees[0].parameters() == {
        "name": "m-invariance",
        "m": 2,
        "balancing": "paper",
    }
    assert (
        MInvariance(m=2).parameters()["balancing"]
        == MInvariance(m=2).guarantees[0].parameters()["balancing"]
        == "exact"
    )


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"m": 1}, "at least 2"),
        ({"m": 2.5}, "whole number"),
        ({"m": True}, "whole number"),
        ({"m": 2, "balancing": "fill"}, "balancing"),
        ({"m": 2, "changed": "ignore"}, "changed"),
        ({"m": 2, "not_eligible": "drop"}, "not_eligible"),
        ({"m": 2, "remember": "yes"}, "remember"),
        ({"m": 2, "min_width": {"age": -1}}, "min_width"),
        ({"m": 2, "min_width": 2}, "min_width is a table"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(parameters, said):
    """One sentence that names the parameter."""
    with pytest.raises(PlanError, match=said):
        MInvariance(**parameters)


def test_persons_are_needed():
    """Without an identifier nobody can be followed through the releases."""
    with pytest.raises(SchemaError, match="identifier"):
        History(m=2).publish(FOUR, identifier=None, drop=["who"])
