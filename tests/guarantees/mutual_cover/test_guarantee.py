# SPDX-License-Identifier: Apache-2.0
"""Mutual cover is checked exactly: every part against a slow twin or by hand, and every part has a
release that it must reject.
"""

from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
import polars as pl
import pytest

import phalanx as px
from naive import mutual_cover as naive
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PlanError
from phalanx.guarantees.mutual_cover import drawn_rows
from phalanx.guarantees.mutual_cover.drawn_rows import DrawnRows
from phalanx.guarantees.mutual_cover.guarantee import MutualCover
from phalanx.guarantees.mutual_cover.originals import Beside
from phalanx.guarantees.registry import from_parameters
from phalanx.guarantees.verify import verify
from phalanx.release.evidence.evidence import Evidence
from support.mutual_cover_cases import Published, World, generated, released

FLU_AND_GOUT = pl.DataFrame(
    {
        "who": range(4),
        "age": [30, 30, 40, 40],
        "sex": ["F", "M", "F", "M"],
        "ill": ["flu", "gout", "flu", "gout"],
    }
)
EVEN = [[6, 6], [6, 6]]
"""Both values of an attribute are equally probable for everybody."""
BY_HAND = World(
    FLU_AND_GOUT,
    [0] * 4,
    [[EVEN, EVEN]],
    [(0, 0), (0, 1), (1, 0), (1, 1)],
    whole=12,
    changes=1,
    order=(0, 1),
    drawn=[(1, 0), (0, 0), (0, 0), (0, 1)],
)
"""Four people in one group, of whom each has a quarter of every value; q adds up to 1 for
everybody, so that just one of two attributes changes.
"""


def test_a_good_release_holds():
    """Every part is looked at and holds, with the figures that one sees by hand."""
    found = BY_HAND.publish().verdicts(MutualCover(delta="1/4"))
    figures = {name: (v.bound, v.worst, v.holds) for name, v in found.items()}
    assert figures == {
        "rows": (4, 4, True),
        "values of the original": (0, 0, True),
        "changed rows": (1, 1, True),
        "random output tables": (0, 0, True),
        "delta-probability": (Fraction(1, 4), Fraction(1, 4), True),
        "tuples behind a value": (4, 4, True),
        "drawing": (0, 0, True),
    }


def test_what_cannot_be_checked_is_said():
    """Without evidence the file alone is looked at; all else is a verdict that says why not, and
    with what it would be.
    """
    made, promise = BY_HAND.publish(), MutualCover(delta="1/4")
    alone = made.verdicts(promise, Evidence())
    assert {name for name, v in alone.items() if not v.note.startswith("not checked")} == {"rows"}
    assert all(
        v.holds and v.worst is None for v in alone.values() if v.note.startswith("not checked")
    )
    beside = made.verdicts(promise, Evidence(microdata={1: made.microdata}))
    assert {name for name, v in beside.items() if v.note.startswith("not checked")} == {
        "delta-probability",
        "drawing",
    }
    assert "the ledger keeps them where the plan says so" in beside["delta-probability"].note
    tables = made.verdicts(promise, Evidence(parts={1: made.outputs}))
    assert {name for name, v in tables.items() if v.note.startswith("not checked")} == {
        "values of the original",
        "changed rows",
        "drawing",
    }
    without_rows = made.verdicts(
        promise, Evidence(microdata={1: made.microdata}, parts={1: made.outputs})
    )
    assert without_rows["drawing"].note == "not checked: nothing tells who is in which row"


def test_the_mapping_of_the_ledger_tells_rows():
    """Where persons are known, the person-to-row mapping is as good as rows."""
    made = BY_HAND.publish()
    mapping = pl.DataFrame({"person": made.microdata.persons, "group": made.rows}).sample(
        fraction=1, shuffle=True, seed=1
    )
    found = made.verdicts(
        MutualCover(delta="1/4"),
        Evidence(microdata={1: made.microdata}, groups={1: mapping}, parts={1: made.outputs}),
    )
    assert found["changed rows"].bound == 1 and found["drawing"].worst == 0


@pytest.mark.parametrize("seed", range(40))
def test_delta_probability_is_that_of_the_tables(seed):
    """On generated tables the worst share is the slow twin's to the fraction, holds at that delta
    and at no smaller one, and Corollary 3.2 follows.
    """
    world = generated(seed)
    made, share = world.publish(), world.share
    exactly = made.verdicts(MutualCover(delta=share))
    assert exactly["random output tables"].holds, exactly["random output tables"].note
    assert (exactly["delta-probability"].worst, exactly["delta-probability"].holds) == (share, True)
    assert (
        exactly["tuples behind a value"].worst >= ceil(1 / share)
        and exactly["tuples behind a value"].holds
    )
    less = made.verdicts(MutualCover(delta=share - Fraction(1, 10**30)))["delta-probability"]
    assert (less.worst, less.holds) == (share, False)


@pytest.mark.parametrize("seed", range(40))
def test_tuples_behind_a_value_are_counted(seed):
    """The fewest tuples of a column are the slow twin's, and one more is not promised in vain."""
    world = generated(seed)
    feeders = [
        sum(
            world.group[i] == g and table[world.classes[i][a]][j] > 0
            for i in range(len(world.group))
        )
        for g, tables in enumerate(world.tables)
        for a, table in enumerate(tables)
        for j in range(len(table))
    ]
    fewest = min(f for f in feeders if f)
    for tuples, holds in ((fewest, True), (fewest + 1, False)):
        found = world.publish().verdicts(MutualCover(delta=Fraction(1, tuples)))[
            "tuples behind a value"
        ]
        assert (found.worst, found.bound, found.holds) == (fewest, tuples, holds)


@pytest.mark.parametrize("whole", [2**40, 2**59, 2**62 - 2])
def test_one_unit_too_many_is_seen(whole):
    """However fine the units are, also where sums pass 64 bits, one of them more than delta is
    more.
    """
    half = whole // 2
    world = replace(BY_HAND, tables=[[[[half, half], [half, half]]] * 2], whole=whole)
    assert all(v.holds for v in world.publish().verdicts(MutualCover(delta="1/4")).values())
    more = replace(world, tables=[[[[half + 1, half - 1], [half, half]], world.tables[0][1]]])
    found = more.publish().verdicts(MutualCover(delta="1/4"))
    assert found["random output tables"].holds and not found["delta-probability"].holds
    assert found["delta-probability"].worst == Fraction(half, 4 * half - 2)
    still = found["drawing"]
    assert (still.worst, still.holds) == (2, False) and "2 row(s) change too seldom" in still.note


def test_too_few_rows():
    """A release of fewer rows than stand behind a value cannot keep its promise; one without rows
    breaks none.
    """
    made = BY_HAND.publish()
    few = made.verdicts(MutualCover(delta="1/5"), Evidence())["rows"]
    assert (few.bound, few.worst, few.holds) == (5, 4, False)
    none = made.with_table(made.form.table.clear()).verdicts(MutualCover(delta="1/5"), Evidence())
    assert all(v.holds for v in none.values()) and none["rows"].note == "the table has no rows"


def put(made: Published, column, value, row=0):
    table = made.form.table.with_columns(
        pl.when(pl.int_range(pl.len()) == row).then(pl.lit(value)).otherwise(column).alias(column)
    )
    return made.with_table(table)


STRANGE = {
    "a value of nobody": (
        lambda made: put(made, "age", 35),
        1,
        "1 published value(s) of quasi-identifiers are of no person",
    ),
    "a missing value of nobody": (
        lambda made: put(made, "sex", None),
        1,
        "1 published value(s) of quasi-identifiers are of no person",
    ),
    "another sensitive value": (
        lambda made: put(made, "ill", "gout" if made.form.table["ill"][0] == "flu" else "flu"),
        1,
        "1 sensitive value(s) are not those",
    ),
    "a sensitive value of nobody": (
        lambda made: put(made, "ill", "rash"),
        1,
        "1 sensitive value(s) are not those",
    ),
    "a row less": (
        lambda made: made.with_table(made.form.table.head(3)),
        1,
        "the release has 3 row(s) and the original table 4",
    ),
    "a row more": (
        lambda made: made.with_table(pl.concat([made.form.table, made.form.table.head(1)])),
        2,
        "the release has 5 row(s)",
    ),
}


@pytest.mark.parametrize(("change", "worst", "what"), STRANGE.values(), ids=STRANGE)
def test_what_is_not_of_the_original_is_counted(change, worst, what):
    """Values of nobody, other sensitive values, rows too many or too few are told beside the
    original table, whether rows are known or not.
    """
    made = BY_HAND.publish()
    changed = change(made)
    found = changed.verdicts(MutualCover(delta="1/3"), Evidence(microdata={1: made.microdata}))
    assert (found["values of the original"].worst, found["values of the original"].holds) == (
        worst,
        False,
    )
    assert what in found["values of the original"].note
    known = changed.verdicts(MutualCover(delta="1/3"))["values of the original"]
    assert not known.holds
    if "quasi-identifiers" not in what:
        assert not found["changed rows"].holds and "cannot be counted" in found["changed rows"].note


def test_a_value_that_only_rows_suppressed_have_is_of_nobody():
    """Where it is known who was published, the values of those who were not are no published
    values.
    """
    five = pl.concat(
        [FLU_AND_GOUT, pl.DataFrame({"who": [4], "age": [50], "sex": ["F"], "ill": ["flu"]})]
    )
    microdata = Microdata.encode(five, Schema(quasi=["age", "sex"], sensitive="ill", drop=["who"]))
    made = BY_HAND.publish()
    rows = np.append(made.rows, 0)
    assert made.verdicts(
        MutualCover(delta="1/4"),
        Evidence(microdata={1: microdata}, rows={1: rows}, parts={1: made.outputs}),
    )["drawing"].holds
    shown = put(made, "age", 50)
    found = shown.verdicts(
        MutualCover(delta="1/4"), Evidence(microdata={1: microdata}, rows={1: rows})
    )
    assert (found["values of the original"].worst, found["values of the original"].holds) == (
        1,
        False,
    )
    unknown = shown.verdicts(MutualCover(delta="1/4"), Evidence(microdata={1: microdata}))
    assert unknown["values of the original"].note.startswith(
        "the release has 4 row(s) and the original table 5"
    )


ROWS = {
    "twice the same": (np.array([1, 1, 2, 3]), "are not those of one row"),
    "from 0": (np.array([0, 1, 2, 3]), "are not those of one row"),
    "beyond the last": (np.array([1, 2, 3, 5]), "are not those of one row"),
    "below 0": (np.array([1, 2, 3, -4]), "are not those of one row"),
    "too few": (np.array([1, 2, 3]), "are not said by one whole number for each"),
    "fractions": (np.array([1.0, 2, 3, 4]), "are not said by one whole number for each"),
    "a table": (np.array([[1, 2], [3, 4]]), "are not said by one whole number for each"),
}


@pytest.mark.parametrize(("rows", "what"), ROWS.values(), ids=ROWS)
def test_rows_that_cannot_be(rows, what):
    """Whatever is said of who is in which row, rows that are not one person's each are refused, and
    nothing is said to be unchanged or drawn.
    """
    made = replace(BY_HAND.publish(), rows=rows)
    found = made.verdicts(MutualCover(delta="1/4"))
    refused = found["values of the original"]
    assert what in refused.note and (refused.bound, refused.worst) == (0, None)
    assert not refused.holds and not found["drawing"].holds and "changed rows" not in found


def test_an_original_of_something_else():
    """A table without one of the columns is no original of the release."""
    made = BY_HAND.publish()
    other = Microdata.encode(
        FLU_AND_GOUT.drop("sex"), Schema(quasi=["age"], sensitive="ill", drop=["who"])
    )
    found = made.verdicts(
        MutualCover(delta="1/4"),
        Evidence(microdata={1: other}, rows={1: made.rows}, parts={1: made.outputs}),
    )
    assert (
        found["values of the original"].note == "the original table has no column 'sex'"
        and not found["drawing"].holds
    )


@pytest.mark.parametrize("seed", range(60))
def test_rows_that_differ_too_little(seed):
    """The fewest changes of a row are the slow twin's, where it is known whose the rows are; one
    more is not kept.
    """
    world = generated(seed)
    made = world.publish()
    fewest = min(
        sum(a != b for a, b in zip(own, shown, strict=True))
        for own, shown in zip(world.classes, world.drawn, strict=True)
    )
    for changes in (1, 2):
        found = made.verdicts(MutualCover(delta="1/2", changes=changes))["changed rows"]
        assert (found.worst, found.bound, found.holds) == (fewest, changes, fewest >= changes)


@pytest.mark.parametrize("seed", range(60))
def test_rows_that_must_be_unchanged(seed):
    """Without knowing whose the rows are, just those are counted that are unchanged in every way to
    assign rows to persons of their sensitive value.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    frame = pl.DataFrame(
        {
            "who": range(n),
            "age": rng.integers(30, 32, n),
            "sex": rng.choice(["F", "M"], n),
            "ill": rng.choice(["flu", "gout"], n),
        }
    )
    shown = frame.with_columns(
        age=pl.Series(rng.choice(frame["age"].to_numpy(), n)),
        sex=pl.Series(rng.choice(frame["sex"].to_numpy(), n)),
    )
    microdata = Microdata.encode(
        frame, Schema(identifier="who", quasi=["age", "sex"], sensitive="ill")
    )
    published = Published(
        released(replace(BY_HAND.publish().form, table=shown.drop("who"))),
        microdata,
        np.arange(n),
        BY_HAND.publish().outputs,
    )
    expected = 0
    for ill in ("flu", "gout"):
        own, row = (
            table.filter(pl.col("ill") == ill).select("age", "sex").rows()
            for table in (frame, shown)
        )
        expected += naive.fewest_unchanged(own, row) if own else 0
    found = published.verdicts(MutualCover(delta="1/2"), Evidence(microdata={1: microdata}))
    assert (found["changed rows"].worst, found["changed rows"].holds) == (expected, expected == 0)


def test_fewer_changes_are_seen_where_a_value_tells_whose_a_row_is():
    """Of a value that one row has, whose the row is needs no ledger: where two changes are promised
    and one is made, the original table alone shows it; with others nothing is said of it.
    """
    alone = FLU_AND_GOUT.with_columns(ill=pl.Series(["flu", "gout", "rash", "hiv"]))
    for frame, expected in ((alone, 4), (FLU_AND_GOUT, 0)):
        made = replace(BY_HAND, frame=frame).publish()
        evidence = Evidence(microdata={1: made.microdata})
        one, two = (
            made.verdicts(MutualCover(delta="1/4", changes=changes), evidence)["changed rows"]
            for changes in (1, 2)
        )
        assert (one.worst, one.holds) == (0, True)
        assert (two.worst, two.holds) == (expected, not expected)
        assert "fewer than 2 changes are seen of values of one row alone" in two.note
        assert "fewer than" not in one.note


def test_rows_without_a_sensitive_attribute_may_be_anybodys():
    """Where no sensitive value tells rows apart, a row is surely unchanged only if more have its
    values than there are others.
    """
    microdata = Microdata.encode(pl.DataFrame({"age": [1, 1, 1, 2]}), Schema(quasi=["age"]))
    made = BY_HAND.publish()
    form = replace(
        made.form, table=pl.DataFrame({"age": [1, 1, 2, 1]}), attributes=made.form.attributes[:1]
    )
    assert (
        Beside.of(form, microdata, None).surely_unchanged()
        == naive.fewest_unchanged([(1,), (1,), (1,), (2,)], [(1,), (1,), (2,), (1,)])
        == 2
    )


@pytest.mark.parametrize("changes", [1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_rows_that_may_have_been_drawn(seed, changes):
    """Of everybody's conceivable rows just those are accepted that come out in some way that the
    drawing can go.
    """
    world = generated(seed, changes=changes)
    made = world.publish()
    drawn = DrawnRows.of(made.outputs, made.microdata, made.form, made.rows)
    assert drawn.shown.tolist() == [list(row) for row in world.drawn] and drawn.impossible() == 0
    for i in range(len(world.group)):
        outcomes, tables = world.outcomes(i), world.tables[world.group[i]]
        for conceivable in np.ndindex(*(len(table) for table in tables)):
            shown = drawn.shown.copy()
            shown[i] = conceivable
            assert replace(drawn, shown=shown).impossible() == (
                0 if conceivable in outcomes else 1
            ), (conceivable, outcomes)
        shown[i, 0] = -1
        assert replace(drawn, shown=shown).impossible() == 1


@pytest.mark.parametrize("changes", [1, 2])
@pytest.mark.parametrize("seed", range(30))
def test_probabilities_to_change_tell_how_many_do(monkeypatch, seed, changes):
    """Following the law, every attribute comes out as its table says, and all rows change often
    enough just where that is said of them; also if only some are looked at together.
    """
    world = generated(seed, changes=changes)
    still = 0
    for i, own in enumerate(world.classes):
        outcomes = world.outcomes(i)
        for a, table in enumerate(world.tables[world.group[i]]):
            assert naive.marginal(outcomes, a, len(table)) == [
                Fraction(units, world.whole) for units in table[own[a]]
            ]
        still += any(
            sum(j != i for i, j in zip(own, outcome, strict=True)) < changes for outcome in outcomes
        )
    made = world.publish()
    drawn = DrawnRows.of(made.outputs, made.microdata, made.form, made.rows)
    assert drawn.too_still(changes) == still
    monkeypatch.setattr(drawn_rows, "_AT_ONCE", 2)
    assert (drawn.too_still(changes), drawn.impossible()) == (still, 0)
    verdict = made.verdicts(MutualCover(delta="1/2", changes=changes))["drawing"]
    assert (verdict.worst, verdict.holds) == (still, still == 0)


def test_tables_of_other_people():
    """Tables whose classes are not those of the original table are seen, whether a class has other
    tuples, is missing, or is one too many.
    """
    made = BY_HAND.publish()
    others = {
        "other counts": FLU_AND_GOUT.with_columns(age=pl.Series([30, 30, 30, 40])),
        "a class less": FLU_AND_GOUT.with_columns(sex=pl.lit("F")),
        "a class more": FLU_AND_GOUT.with_columns(age=pl.Series([30, 31, 40, 40])),
    }
    for frame in others.values():
        microdata = Microdata.encode(
            frame, Schema(quasi=["age", "sex"], sensitive="ill", drop=["who"])
        )
        found = made.verdicts(
            MutualCover(delta="1/4"),
            Evidence(microdata={1: microdata}, rows={1: made.rows}, parts={1: made.outputs}),
        )["drawing"]
        assert (found.worst, found.holds) == (
            1,
            False,
        ) and "1 group(s) have other tuples" in found.note


def test_what_the_manifest_says_is_read_back():
    """Parameters are shown as they are compared, fractions as text."""
    promise = MutualCover(delta=0.3, changes=2)
    assert from_parameters(promise.parameters()) == promise
    assert promise.parameters() == {
        "name": "mutual-cover",
        "delta": "3/10",
        "changes": 2,
    }
    assert (
        MutualCover(delta=1).tuples,
        MutualCover(delta="2/7").tuples,
        MutualCover(delta=0.1).tuples,
    ) == (1, 4, 10)


@pytest.mark.parametrize(
    "said",
    [
        {"delta": 0}, {"delta": "-1/2"}, {"delta": "3/2"}, {"delta": "many"}, {"delta": float("nan")}, {"delta": None}, {"delta": True},
        {"changes": 0}, {"changes": 1.0}, {"changes": True},
    ],
)  # fmt: skip
def test_parameters_that_cannot_be(said):
    """A delta outside of (0, 1], and words that are unknown are errors of the plan."""
    with pytest.raises(PlanError):
        MutualCover(**{"delta": "1/2"} | said)


def test_it_is_about_perturbed_releases():
    """Of a release of another form it is promised in vain."""
    made = BY_HAND.publish()
    other = replace(
        made.release,
        manifest=made.release.manifest.model_copy(
            update={"guarantees": [{"name": "k-anonymity", "k": 1}]}
        ),
    )
    assert any(
        "this is promised of generalized releases only" in v.note
        for v in verify([other])
        if not v.holds
    )


def test_more_changes_than_quasi_identifiers_is_no_promise():
    """By the file alone: no row can keep it."""
    release = BY_HAND.publish().release
    (rows, *_) = MutualCover(delta="1/4", changes=3).check(release)
    assert not rows.holds and "there are 2" in rows.note
    assert MutualCover(delta="1/4", changes=2).check(release)[0].holds


@pytest.mark.parametrize(("others", "holds"), [(0, True), (1, False), (3, False), (4, True)])
def test_rows_without_a_value_are_enough_for_a_group(others, holds):
    """Of those whose value is not applicable as of the others, or none."""
    ill = ["none"] * others + ["flu", "gout"] * 4
    table = pl.DataFrame({"age": [30 + i % 4 for i in range(len(ill))], "ill": ill})
    schema = px.Schema(quasi=["age"], sensitive="ill", not_applicable=["none"])
    enough = table.with_columns(ill=pl.Series(["flu", "gout"] * (len(ill) // 2 + 1)).head(len(ill)))
    form = px.publish(enough, schema, px.MutualCover(delta="1/4"), seed=1).form
    lying = released(replace(form, table=form.table.with_columns(ill=pl.Series(ill))))
    (rows, *_) = MutualCover(delta="1/4").check(lying)
    assert rows.holds is holds
