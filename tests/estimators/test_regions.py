# SPDX-License-Identifier: Apache-2.0
"""What the values of an attribute are taken for, by how they are published."""

from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.estimators import recoded
from phalanx.estimators.bounds import merged
from phalanx.estimators.conditions import All, Comparison, Either
from phalanx.estimators.entries import Ends, Facet
from phalanx.estimators.lines import Keys, Known, Line, declared_tree, spans
from phalanx.estimators.models import _classes
from phalanx.estimators.regions import Regions
from phalanx.estimators.spreading import Boxes, maximized
from phalanx.estimators.view import Box, View
from phalanx.release.manifest import PublishedAttribute
from support import work

PRICE = PublishedAttribute(name="price", role="quasi", type="numeric", columns=["price"])


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [(pl.Int64, "whole"), (pl.Float64, "number"), (pl.Decimal(38, 2), "number")],
    ids=str,
)
def test_a_number_is_taken_for_what_it_is(dtype, kind):
    """A decimal is no whole number: 2.50 is above 2, and one of 30 digits is no fault."""
    values = pl.Series([Decimal(2), Decimal(10) ** 18]).cast(dtype)
    line = Line(PRICE, [values])
    assert line.kind == kind
    assert list(line.keys(values)) == [2, 10**18]


def test_the_fraction_of_a_decimal_counts():
    """Cut off, 2.50 and 2.00 would be one value."""
    values = pl.Series([Decimal("2.50"), Decimal("2.00"), Decimal("1e30")], dtype=pl.Decimal(38, 2))
    assert list(Line(PRICE, [values]).keys(values)) == [2.5, 2.0, 1e30]


def test_a_value_beyond_all_others_leaves_figures_to_them() -> None:
    """Beside a region of 1e300, those of a narrow measure still have the rows that are theirs
    alone: each figure is a number, and boxes keep their rows.
    """
    none = np.zeros(3, dtype=bool)
    box = Box(np.array([0, 1, 3]), np.array([0, 2, 3]), none, none, np.arange(3))
    with np.errstate(all="raise", under="ignore"):
        boxes = Boxes.of(box, np.array([4, 4, 4]))
        share = maximized(boxes, np.array([1.0, 0.0, 2.0, 1e300, 0.0]), ends=False)
    assert np.isfinite(share).all()
    assert [share[0], share[1:3].sum(), share[3]] == pytest.approx([1 / 3] * 3, rel=1e-3)


def ends_of(entries: list[tuple[int | None, int | None, bool, bool]]) -> tuple[Facet, View]:
    """A facet whose entries go from one number to another one, an end of None being open, some with
    the missing value, some tight; and a view of it alone.
    """
    low, high, missing, tight = (list(column) for column in zip(*entries, strict=True))
    opened = tuple(np.array([end is None for end in ends]) for ends in (low, high))
    numbers = [pl.Series([end or 0 for end in ends], dtype=pl.Int64) for ends in (low, high)]
    nothing = np.array(
        [a is not None and b is not None and a > b for a, b in zip(low, high, strict=True)]
    )
    ends = Ends(*numbers, nothing, np.array(missing) | nothing, opened)  # type: ignore[arg-type]
    every, ones = np.arange(len(entries)), np.ones(len(entries), dtype=np.int64)
    facet = Facet(every, ones, {"price": ends}, np.array(tight))
    return facet, View("generalized", (PRICE,), ones, 0 * ones, (facet,))


def regions_of(box: Box) -> list[tuple[int, int, bool, bool]]:
    """What a box says of every entry."""
    parts = (part[box.which].tolist() for part in (box.low, box.high, box.missing, box.tight))
    return list(zip(*parts, strict=True))


ENTRY = st.tuples(
    st.none() | st.integers(0, 3), st.none() | st.integers(0, 3), st.booleans(), st.booleans()
)


@given(st.lists(ENTRY, min_size=1, max_size=12))
@example([(1, 2, missing, tight) for missing in (False, True) for tight in (False, True)])
@example([(1, 2, False, False), (None, 2, False, False), (1, None, False, False)])
def test_equal_entries_are_one_box_and_others_are_not(entries):
    """Each entry's box is what it would be among entries that were all looked at by themselves, and
    no two boxes say the same.
    """
    facet, view = ends_of(entries)
    regions = view.regions("price", All(()))
    box = Box.of(view, facet, "price", regions)
    by_itself = np.arange(len(entries))
    view._different[id(facet), "price"] = by_itself, by_itself
    assert regions_of(box) == regions_of(Box.of(view, facet, "price", regions))
    assert len(box.low) == len({*zip(*(part.tolist() for part in ends_said(facet)), strict=True)})


def ends_said(facet: Facet) -> list[np.ndarray]:
    """All that a facet says of each entry, column by column."""
    ends = facet.ends["price"]
    numbers = [end.to_numpy() for end in (ends.low, ends.high)]
    return [*numbers, ends.nothing, ends.missing, *ends.unbounded, facet.tight]  # type: ignore[list-item]


def test_boxes_that_leave_out_a_mark_are_caught():
    """Were tight entries taken for others between the same ends, their rows would not be counted at
    the ends.
    """
    facet, view = ends_of([(1, 2, False, False), (1, 2, False, True)])
    regions = view.regions("price", All(()))
    view._different[id(facet), "price"] = np.array([0]), np.array([0, 0])
    wrong = regions_of(Box.of(view, facet, "price", regions))
    del view._different[id(facet), "price"]
    assert wrong != regions_of(Box.of(view, facet, "price", regions))


BRANCHES = st.lists(st.lists(st.integers(1, 4), max_size=3), min_size=1, max_size=4)


def paths_of(branches):
    """The path of each leaf, by how many there are under each node of each branch; a branch of
    none is a leaf itself.
    """
    return [
        path
        for i, branch in enumerate(branches)
        for path in (
            [
                (f"{i}.{j}.{k}", f"{i}.{j}", f"{i}", "*")
                for j, n in enumerate(branch)
                for k in range(n)
            ]
            or [(f"{i}", "*")]
        )
    ]


def published(paths):
    """An attribute whose leaves the paths of a tree name."""
    public = {"kind": "tree", "paths": [list(path) for path in paths]}
    return PublishedAttribute(
        name="job", role="quasi", type="categorical", columns=["job"], hierarchy=public
    )


def wrong_places(paths, places_under=spans):
    """The nodes of a tree of which other leaves are named than those whose path has the node."""
    tree = Tree.of_paths(paths)
    told = places_under(tree)
    return [
        node
        for node in {node for path in tree.paths for node in path}
        if list(told[node]) != [i for i, path in enumerate(tree.paths) if node in path]
    ]


@given(BRANCHES.map(paths_of))
def test_leaves_under_a_node_as_by_looking_at_each_path(paths):
    """Whether paths are short or long, and whichever node is asked for: the leaves under it, and
    of a recoded release the first and the last of them; a name that is no node's stays.
    """
    tree = declared_tree(published(paths))
    assert wrong_places(paths) == []
    nodes = pl.Series([*dict.fromkeys(node for path in tree.paths for node in path), "no", None])
    under = [[path[0] for path in tree.paths if node in path] or [node] for node in nodes]
    for side in (0, -1):
        assert recoded._outermost(tree, nodes, side).to_list() == [leaves[side] for leaves in under]


def test_a_search_that_stops_at_the_first_leaf_is_caught():
    """A node has all of its leaves."""
    paths = [["judge", "office", "*"], ["clerk", "office", "*"], ["pilot", "*"]]
    wrong = wrong_places(paths, lambda tree: {node: at[:1] for node, at in spans(tree).items()})
    assert sorted(wrong) == ["*", "office"]


def test_no_constant_of_a_query_goes_through_the_tree():
    """A question that names a thousand of a thousand leaves is no more than a step for each, as
    the tree is looked through once.
    """
    line = Line(published([[f"l{i}", f"n{i // 10}", "*"] for i in range(1000)]), [])
    test = Comparison("job", "in", tuple(f"l{i}" for i in range(1000)))
    assert line.constants(test) == list(range(1000))
    assert work.lines(lambda: line.constants(test)) < 20_000


def classes_by_hand(masks, size):
    """Which masks hold, of every region by itself, and the regions that are alike."""
    of_each = [tuple(bool(mask[i]) for mask in masks) for i in range(size)]
    return [(one, [i for i in range(size) if of_each[i] == one]) for one in sorted(set(of_each))]


def classes(masks, size):
    """The same as the model parts them."""
    return [(one, np.flatnonzero(inside).tolist()) for one, inside in _classes(masks, size)]


@given(st.integers(1, 6), st.integers(0, 80), st.randoms(use_true_random=False))
def test_regions_are_parted_as_by_looking_at_each(size, many, dice):
    """By no mask, some, or more than a whole number has bits; in order, as figures are added up in
    it.
    """
    masks = [np.array([dice.random() < 0.5 for _ in range(size)]) for _ in range(many)]
    assert classes(masks, size) == classes_by_hand(masks, size)


def test_masks_in_another_order_are_caught():
    """Which masks hold is told in their order."""
    masks = [np.array([True, False]), np.array([False, False])]
    assert classes(masks[::-1], 2) != classes_by_hand(masks, 2)


def true_in(regions, test):
    """Where one test is true, region by region."""
    keys = [regions.points.tolist().index(key) for key in regions.line.constants(test)]
    inside = []
    for region in range(regions.missing):
        if test.kind == "missing":
            inside.append(False)
        elif test.kind == "in":
            inside.append(any(region == 2 * key + 1 for key in keys))
        elif test.kind == "prefix":
            inside.append(2 * keys[0] + 1 <= region < 2 * keys[1] + 1)
        elif not keys:
            inside.append(test.values[0] > 0)
        else:
            inside.append(region < 2 * keys[0] + 1 + (test.kind == "upto"))
    at_missing = test.kind == "missing" and not test.negated
    return np.array([*(one != test.negated for one in inside), at_missing])


NUMBERS = st.sampled_from([1, 3, 3.5, 4, 9, 1e300, -1e300])
TESTS = st.one_of(
    st.builds(
        Comparison, st.just("price"), st.just("in"), st.lists(NUMBERS).map(tuple), st.booleans()
    ),
    st.builds(
        Comparison,
        st.just("price"),
        st.sampled_from(["below", "upto"]),
        NUMBERS.map(lambda number: (number,)),
        st.booleans(),
    ),
    st.builds(Comparison, st.just("price"), st.just("missing"), st.just(()), st.booleans()),
)


@given(st.lists(TESTS, min_size=1, max_size=4), st.sampled_from([pl.Int64, pl.Float64]))
def test_tests_are_true_together_where_each_is(tests, dtype):
    """All of them, or one at least: as by looking at each test and each region."""
    column = pl.Series([1, 3, None, 4], dtype=dtype)
    line = Line(PRICE, [column])
    regions = Regions.of(line, Known.of(line, [(Keys.of(line, column),)]), tests)
    masks = [true_in(regions, test) for test in tests]
    assert regions.mask(*tests, every=True).tolist() == np.logical_and.reduce(masks).tolist()
    assert regions.mask(*tests, every=False).tolist() == np.logical_or.reduce(masks).tolist()


def test_texts_with_a_beginning_are_told_from_others():
    """By themselves, negated, and beside others."""
    column = pl.Series(["a", "ab", "b", None])
    line = Line(PRICE, [column])
    tests = [Comparison("price", "prefix", ("a",)), Comparison("price", "prefix", ("ab",), True)]
    regions = Regions.of(line, Known.of(line, [(Keys.of(line, column),)]), tests)
    masks = [true_in(regions, test) for test in tests]
    assert [regions.mask(test).tolist() for test in tests] == [mask.tolist() for mask in masks]
    assert regions.mask(*tests).tolist() == (masks[0] & masks[1]).tolist()


def test_many_tests_take_no_table_of_tests_and_regions():
    """Each of them has a constant of its own, and so regions: twice as many take twice the room."""

    def room(n):
        line = Line(PRICE, [pl.Series([1, 2])])
        tests = [Comparison("price", "in", (i,)) for i in range(n)]
        condition = Either(tuple(tests))
        regions = {"price": Regions.of(line, Known.of(line, []), tests)}
        return work.memory(lambda: merged(condition, regions))

    assert room(8000) < 2.6 * room(4000)
