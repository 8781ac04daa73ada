# SPDX-License-Identifier: Apache-2.0
"""Partitions chosen by differential privacy: the scores are those that are written, a row moves
each by what the noise covers, and boxes are what they say.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import private_schemes as naive
from phalanx.data.hierarchies.hierarchy import Bands
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PlanError, SchemaError
from phalanx.methods.safe_sampling import private_partition
from phalanx.methods.safe_sampling.partitions import Cut, Node, Opened, Span
from phalanx.methods.safe_sampling.private_choice import UNIT, PrivateChoice
from phalanx.methods.safe_sampling.private_partition import Division, choose_partition
from phalanx.methods.safe_sampling.schemes import Axes
from support.scheme_cases import RANGE, TREE, TWINS, axes, microdata, odds_keep, rows

ROWS = rows(missing_ages=False)
TABLES = st.lists(ROWS, min_size=1, max_size=30)
FIXED = st.tuples(*(st.none() | st.sampled_from(twin.levels) for twin in TWINS.values())).filter(
    lambda fixed: None in fixed
)
CROWDS = st.integers(0, 4)
ALL_OPEN = (None, None, None, None)
EVERYTHING = Fraction(10**6)
"""So large an epsilon that the best cut wins."""


@st.composite
def boxes(draw, table, fixed):
    """A box that cuts of the whole lead to, a side for each attribute without a level."""
    twins = list(TWINS.values())
    box = [
        None if level is not None else twin.all() for twin, level in zip(twins, fixed, strict=True)
    ]
    for _ in range(draw(st.integers(0, 4))):
        inside = [
            row
            for row in table
            if all(s is None or a.holds(s, v) for a, s, v in zip(twins, box, row, strict=True))
        ]
        cuts = [
            (i, p)
            for i, s in enumerate(box)
            if s is not None
            for parts in twins[i].cuts(s, [row[i] for row in inside])
            for p in parts
        ]
        if cuts:
            i, part = draw(st.sampled_from(cuts))
            box[i] = part
    return box


def sides(box):
    """A slow twin's box as the program has it."""
    return tuple(
        (Span if name == "age" else Node)(*side)
        for name, side in zip(TWINS, box, strict=True)
        if side is not None
    )


def scored(table, fixed, box, crowd):
    """The program's scores of a box, and by how much they may change."""
    division = Division(axes(fixed), microdata(table), crowd)
    inside = [
        all(s is None or a.holds(s, v) for a, s, v in zip(TWINS.values(), box, row, strict=True))
        for row in table
    ]
    return division.scores(
        sides(box), division.all_rows[np.array(inside)[division.all_rows]]
    ).tolist(), division.sensitivity(sides(box))


@settings(max_examples=100, deadline=None)
@given(TABLES, FIXED, CROWDS, st.data())
def test_scores_are_those_of_the_slow_twin(table, fixed, crowd, data):
    """What a box is worth whole, and after each of its cuts, in their order; and there are as many
    as the box says without the table.
    """
    box = data.draw(boxes(table, fixed))
    found, _ = scored(table, fixed, box, crowd)
    assert found == naive.scores(table, list(TWINS.values()), fixed, box, crowd)
    assert len(found) == 1 + Division(axes(fixed), microdata(table), crowd).cuts(sides(box))


def moved_too_far(before, after, most):
    """The scores that did not move by 0 to the sensitivity."""
    return [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if not 0 <= b - a <= most]


@settings(max_examples=100, deadline=None)
@given(TABLES, ROWS, FIXED, CROWDS, st.data())
def test_a_row_raises_every_score_by_the_sensitivity_at_most(table, row, fixed, crowd, data):
    """Adding any row, in the box or not, moves all its scores up, or not at all, and none by more
    than the noise is made for.
    """
    box = data.draw(boxes([*table, row], fixed))
    (before, most), (after, same) = (
        scored(table, fixed, box, crowd),
        scored([*table, row], fixed, box, crowd),
    )
    assert most == same
    assert moved_too_far(before, after, most) == []


def test_gains_are_not_monotonic_and_the_check_sees_it():
    """The gain of a cut over staying whole falls when a row makes the whole more useful, which is
    why the usefulness itself is weighed.
    """
    (before, most), (after, _) = (
        scored(
            [(1, "cook", "471", "flu"), (29, "cook", "471", "flu")] * n,
            (None, 0, 0, 0),
            [(0, 8), None, None, None],
            2,
        )
        for n in (1, 2)
    )
    gains = [[score - found[0] for score in found] for found in (before, after)]
    assert moved_too_far(before, after, 2 * most) == []
    assert moved_too_far(*gains, 2 * most)


def all_tuples():
    """Every tuple of the small domains, missing values among them."""
    return [
        (age, job, z, ill)
        for age in (-3, 0, 3, 4, 11, 12, 29, 33)
        for job in (*(p[0] for p in TREE.paths), None)
        for z in ("471", "472", "900", None)
        for ill in ("flu", None)
    ]


def holds(published, row):
    """Whether a published box holds a tuple, as a reader would say: low <= age < high, and the
    first and last cell hold everything beyond.
    """
    low, high, job, zip_, ill = published
    age = min(max(row[0], 0), 29)
    path = next((p for p in TREE.paths if p[0] == row[1]), (None, "*"))
    zips = (None, "*") if row[2] is None else (row[2], row[2][:2] + "*", "*")
    return low <= age < high and job in path and zip_ in zips and ill in (row[3], "*")


@settings(max_examples=25, deadline=None)
@given(TABLES, st.lists(st.booleans(), min_size=4, max_size=4).filter(any), st.data())
def test_every_tuple_is_in_one_box_by_itself_alone(table, divided, data):
    """Published boxes hold their tuples, no tuple is in two, none is left out, and a tuple's image
    is the same whatever table it comes with.
    """
    fixed = tuple(None if free else 0 for free in divided)
    scheme = choose_partition(
        axes(fixed),
        microdata(table),
        data.draw(st.sampled_from([Fraction(1), EVERYTHING])),
        data.draw(CROWDS),
        4,
    )
    tuples = all_tuples()
    image, images = scheme.images(microdata(tuples), np.arange(len(tuples)))
    published = images.rows()
    assert all(
        holds(box, row) == (i == image[j])
        for j, row in enumerate(tuples)
        for i, box in enumerate(published)
    )
    some = data.draw(st.lists(st.integers(0, len(tuples) - 1), min_size=1, max_size=5))
    alone, there = scheme.images(microdata([tuples[j] for j in some]), np.arange(len(some)))
    assert [there.row(i) for i in alone] == [published[image[j]] for j in some]


def test_a_crowded_place_gets_finer_boxes():
    """Where rows are many, boxes are small; where they are few, one large box keeps its crowd."""
    schema = Schema(quasi=["age"])
    table = Microdata.encode(
        pl.DataFrame({"age": [1] * 100 + [5] * 100 + [9] * 100 + [13] * 100 + [19, 23, 29] * 6}),
        schema,
    )
    scheme = choose_partition(
        Axes.of({"age": RANGE}, schema, choose=True), table, EVERYTHING, 10, 6
    )
    image, images = scheme.images(table, np.arange(table.rows))
    assert Counter(images[image.tolist()].rows()) == {
        (0, 4): 100,
        (4, 8): 100,
        (8, 12): 100,
        (12, 16): 100,
        (16, 30): 18,
    }


def test_little_epsilon_leaves_a_thin_table_whole_or_not():
    """It is a draw: with much noise, both staying whole and being divided occur."""
    assert (
        len(
            {
                choose_partition(
                    axes((2, 3, 2, None)),
                    microdata([(1, "cook", "471", "flu")] * 5),
                    Fraction(1, 1000),
                    2,
                ).root
                is None
                for _ in range(60)
            }
        )
        == 2
    )


def test_a_missing_category_is_a_child_of_the_root():
    """It is published as missing, beside the nodes below the root, and not divided further."""
    table = [(1, job, "471", "flu") for job in ("cook", None) for _ in range(50)]
    scheme = choose_partition(axes((2, None, 2, 1)), microdata(table), EVERYTHING, 5)
    image, images = scheme.images(microdata(table), np.arange(100))
    assert Counter(images["job"].gather(image).to_list()) == {"cook": 50, None: 50}


def test_nodes_that_change_nothing_are_passed_over():
    """A node whose only child has its leaves opens into the leaves at once; a node with one leaf
    does not open.
    """
    division = Division(
        axes((2, None, 2, 1)),
        microdata([(1, job, "471", "flu") for job in ("cook", "baker", "clerk", "pilot")]),
        0,
    )
    opened = division.divided(
        (Node(2, "indoors"),),
        np.arange(2),
        1,
        lambda box, _: Opened(0, 0, {}) if box == (Node(0, "cook"),) else None,
    )
    assert opened == Opened(0, 0, {"cook": Opened(0, 0, {})})
    assert [
        division.cuts((Node(*node),))
        for node in ((3, "*"), (2, "town"), (1, "office"), (2, "pilot"), (2, None))
    ] == [1, 1, 0, 0, 0]


@settings(max_examples=50, deadline=None)
@given(TABLES, FIXED, CROWDS, st.data())
def test_only_the_finest_cells_matter(table, fixed, crowd, data):
    """Ages that move within their cells of the finest grid change no score, wherever the smallest
    and the largest lie.
    """
    box = data.draw(boxes(table, fixed))
    moved = [
        (-1000 if age < 4 else 1000 if age >= 28 else age // 4 * 4 + 3, *rest)
        for age, *rest in table
    ]
    assert scored(moved, fixed, box, crowd) == scored(table, fixed, box, crowd)


def test_of_many_edges_evenly_spaced_ones_are_weighed():
    """A fine grid offers a thousand edges at most, and all of them once the span is short."""
    schema = Schema(quasi=["age"])
    division = Division(
        Axes.of({"age": {"low": 0, "high": 100_000, "widths": [1]}}, schema, choose=True),
        Microdata.encode(pl.DataFrame({"age": [5, 7, 99_000]}), schema),
        0,
    )
    assert [
        division.cuts((Span(low, high),))
        for low, high in ((0, 100_000), (40, 1041), (40, 1042), (3, 4))
    ] == [999, 1000, 500, 0]
    assert division.divided((Span(0, 100_000),), np.arange(3), 999, lambda *_: None) == Cut(
        0, Span(0, 99_900), Span(99_900, 100_000), (None, None)
    )
    assert len(division.scores((Span(0, 100_000),), np.arange(3))) == 1000


class Highest(PrivateChoice):
    """The highest score, by no chance, and the first of equal ones."""

    def head_start(self, others):
        return 0

    def among(self, scores):
        return int(np.argmax(scores))


@settings(max_examples=25, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=60), st.integers(1, 4))
def test_boxes_of_less_than_k_rows_need_no_choice(table, k):
    """Whether those are divided or not, the images with k rows or more are the same, and so is all
    that can ever leave.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(private_partition, "PrivateChoice", Highest)
        shown = []
        for least in (1, k):
            image, images = choose_partition(
                axes(ALL_OPEN), microdata(table), EVERYTHING, 0, 6, least
            ).images(microdata(table), np.arange(len(table)))
            shown.append({images.row(i): n for i, n in Counter(image.tolist()).items() if n >= k})
    assert shown[0] == shown[1]


def depth_of(part):
    """How often a row may be in a box that is divided."""
    parts = () if part is None else part.parts if isinstance(part, Cut) else part.children.values()
    return 0 if part is None else 1 + max(map(depth_of, parts), default=0)


@settings(max_examples=25, deadline=None)
@given(TABLES, CROWDS, st.integers(1, 5))
def test_every_level_costs_its_share(table, crowd, depth):
    """Each choice is paid an equal part of epsilon, has noise for all that a row may do to its
    scores, and no row is in more choices than there are parts.
    """
    paid = []

    class Noted(Highest):
        def among(self, scores):
            paid.append((self.epsilon, self.sensitivity, len(scores)))
            return super().among(scores)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(private_partition, "PrivateChoice", Noted)
        scheme = choose_partition(axes(ALL_OPEN), microdata(table), Fraction(1), crowd, depth)
    division = Division(axes(ALL_OPEN), microdata(table), crowd)
    whole = sides([twin.all() for twin in TWINS.values()])
    assert {epsilon for epsilon, _, _ in paid} == {Fraction(1, depth)}
    assert paid[0][1:] == (division.sensitivity(whole), 1 + division.cuts(whole))
    assert depth_of(scheme.root) <= depth


def test_the_manifest_tells_of_no_box():
    """What is public is what was declared, and which attributes the partition divides."""
    scheme = choose_partition(
        axes((None, 1, 0, None)), microdata([(1, "cook", "471", "flu")] * 9), EVERYTHING, 2
    )
    assert scheme.parameters() == {
        "chosen": "partition",
        "attributes": {"age": RANGE, "job": {"level": 1}, "zip": {"level": 0}, "ill": {}},
    }
    assert (
        scheme.epsilon,
        [a.name for a in scheme.attributes(microdata([(1, "cook", "471", "flu")]))],
    ) == (EVERYTHING, list(TWINS))


def test_dates_are_published_as_dates():
    """The ends of a box of dates are days; an empty sample has the same columns."""
    schema = Schema(quasi=["day"])
    days = Microdata.encode(pl.DataFrame({"day": pl.Series([0, 40, 80] * 9).cast(pl.Date)}), schema)
    declared = {
        "day": {
            "low": pl.Series([0]).cast(pl.Date)[0],
            "high": pl.Series([90]).cast(pl.Date)[0],
            "widths": [30],
        }
    }
    scheme = choose_partition(Axes.of(declared, schema, choose=True), days, EVERYTHING, 2)
    _, images = scheme.images(days, np.arange(27))
    assert images.sort("day_low").equals(
        pl.DataFrame({"day_low": [0, 30, 60], "day_high": [30, 60, 90]}).cast(pl.Date)
    )
    assert scheme.images(days, np.arange(0))[1].schema == images.schema


def test_neighbours_choose_alike():
    """Whoever sees a whole partition learns of one row at most a factor e^epsilon in the odds, over
    all its levels; with a fifth of the noise, it is found.
    """
    epsilon, table = Fraction(2), [("flu", "471")] * 4
    schema = Schema(quasi=["ill", "zip"])
    here, there = (microdata(t, schema) for t in (table, [*table, table[0]]))
    scheme_axes = Axes.of({}, schema, choose=True)
    divisions = {id(t): Division(scheme_axes, t, 4) for t in (here, there)}

    def chosen(neighbour, spent):
        return Counter(
            repr(choose_partition(scheme_axes, neighbour, spent, 4, 2).root) for _ in range(1000)
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            private_partition, "Division", lambda _axes, t, _crowd: divisions[id(t)]
        )  # counted once, drawn often
        assert odds_keep(chosen(here, epsilon), chosen(there, epsilon), epsilon)
        assert not odds_keep(chosen(here, 5 * epsilon), chosen(there, 5 * epsilon), epsilon)


def test_nothing_to_divide_is_refused():
    """Where the plan fixes all levels, a partition would be paid for and not made."""
    with pytest.raises(PlanError, match="fixes all levels"):
        choose_partition(axes((0, 0, 0, 0)), microdata([(1, "cook", "471", "flu")]), Fraction(1), 2)


def test_bands_without_a_level_are_refused():
    """They have no end that could be cut from; with a level they stand beside the boxes."""
    schema = Schema(quasi=["age"], sensitive="ill", hierarchies={"age": Bands((5, 20))})
    table = microdata([(1, "flu"), (7, "cold")] * 9, schema)
    with pytest.raises(PlanError, match="age is in bands"):
        choose_partition(Axes.of({}, schema, choose=True), table, Fraction(1), 2)
    scheme = choose_partition(Axes.of({"age": 1}, schema, choose=True), table, EVERYTHING, 2)
    assert sorted(scheme.images(table, np.arange(18))[1].rows()) == [(0, 5, "flu"), (5, 10, "cold")]


def test_missing_numbers_without_a_level_are_refused():
    """By the choice, and by a scheme that meets them later; with a level they are published as
    missing.
    """
    whole, holed = ([(age, "cook", "471", "flu")] * 9 for age in (1, None))
    with pytest.raises(SchemaError, match="'age' has missing values"):
        choose_partition(axes(ALL_OPEN), microdata(whole + holed), Fraction(1), 2)
    with pytest.raises(SchemaError, match="'age' has missing values"):
        choose_partition(axes(ALL_OPEN), microdata(whole), Fraction(1), 2).images(
            microdata(holed), np.arange(9)
        )
    scheme = choose_partition(axes((0, None, None, None)), microdata(whole + holed), EVERYTHING, 2)
    assert set(scheme.images(microdata(whole + holed), np.arange(18))[1]["age_low"]) == {0, None}


def test_a_unit_is_all_that_an_attribute_says():
    """The sensitivity is never more than a unit for each attribute, and less where some are fixed
    at a coarse level.
    """
    table = microdata([(1, "cook", "471", "flu")])
    open_, coarse = (Division(axes(fixed), table, 1) for fixed in (ALL_OPEN, (2, 3, 2, None)))
    assert coarse.sensitivity((Node(1, "*"),)) == UNIT
    assert open_.sensitivity((Span(0, 8), Node(3, "*"), Node(2, "*"), Node(1, "*"))) == UNIT
    assert (
        open_.sensitivity((Span(0, 1), Node(0, "cook"), Node(0, "471"), Node(1, "*")))
        == 4 * UNIT - UNIT * 4 // 30
    )
