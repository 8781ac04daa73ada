# SPDX-License-Identifier: Apache-2.0
"""Drawn tables: in the original's columns, within what was published, without rows that cannot be;
and Rubin's rules.
"""

import json
import math

import numpy as np
import polars as pl
import pytest
from scipy.special import stdtrit

import phalanx as px
from estimators.test_view import halves
from phalanx.data.hierarchies.hierarchy import Prefix
from phalanx.errors import ReleaseError
from phalanx.estimators import draws, reading
from phalanx.estimators.draws import draw, drawing
from phalanx.estimators.pooling import _quantile
from phalanx.estimators.reading import view_of
from phalanx.estimators.view import View
from phalanx.randomness import Randomness
from support.estimator_cases import JOBS, METHODS, people, published, schema

TABLE = people()


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    made = {}

    def of(name):
        if name not in made:
            release = published(
                METHODS[name],
                people(400) if name == "safe-sampling" else TABLE,
                tmp_path_factory.mktemp(name),
            )
            made[name] = release, draw(release, 3, seed=1)
        return made[name]

    return of


@pytest.mark.parametrize("name", METHODS)
def test_tables_in_the_original_schema(drawn, name: str) -> None:
    """A drawn table has the columns and types of the original and a row for each row that is
    somebody's.
    """
    release, tables = drawn(name)
    for table in tables:
        original = TABLE.drop("who")
        assert table.columns == original.columns
        # a grid does not say whether its numbers were whole
        assert [
            pl.Float64 if name == "safe-sampling" and d.is_numeric() else d for d in original.dtypes
        ] == table.dtypes
        assert table.height == release.manifest.rows - release.manifest.counterfeits
    assert not tables[0].equals(tables[1])


@pytest.mark.parametrize("name", ["anatomy", "slicing"])
def test_what_is_published_is_kept(drawn, name: str) -> None:
    """Of forms with exact values each attribute is drawn as it was published: only what stands
    beside what is a guess.
    """
    _, tables = drawn(name)
    for column in TABLE.columns[1:]:
        assert tables[0][column].sort().to_list() == TABLE[column].sort().to_list()


def test_a_drawn_table_fits_the_release(drawn) -> None:
    """Every draw is a table that the release leaves possible: no query of a draw lies outside of
    the hard bounds.
    """
    from estimators.test_bounds import outside
    from phalanx.estimators.answering import answer
    from phalanx.estimators.conditions import Query

    for name in ("mondrian", "diverse", "m-invariance", "coarse", "overlapping"):
        release, tables = drawn(name)
        absent = TABLE.height - tables[0].height
        if name != "overlapping":
            assert outside(release, tables[0], absent or None)[0] == []
        assert answer is not None and Query is not None


def test_what_the_model_learned_is_uncertain(drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each draw learns anew from boxes of random weight, and rows follow what it learned."""
    release, _ = drawn("coarse")
    weights, learned = draws._weights, []

    def learning(*given):
        learned.append(weights(*given))
        return learned[-1]

    monkeypatch.setattr(draws, "_weights", learning)
    draw(release, 2, seed=4)
    half = len(learned) // 2
    pairs = list(zip(learned[:half], learned[half:], strict=True))
    assert pairs and not any(np.allclose(one, other) for one, other in pairs)


def test_rows_that_cannot_be_are_not_drawn(drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    """No row of a draw fulfils a condition that none can; nearly all rows are there, as groups with
    such rows are drawn again and again before one is left out.
    """
    release, _ = drawn("diverse")
    rule = "age < 35 and ill = 'gout'"
    before = draw(release, 5, seed=2)
    after = draw(release, 5, never=[rule, pl.col("sex") == "x"], seed=2)
    holds = (pl.col("age") < 35) & (pl.col("ill") == "gout")
    assert sum(t.filter(holds).height for t in before) > 0
    assert sum(t.filter(holds).height for t in after) == 0
    assert all(t.height >= 0.9 * TABLE.height for t in after)
    monkeypatch.setattr(draws, "_TRIES", 0)
    once = draw(release, 5, never=[rule], seed=2)
    assert sum(t.height for t in once) < sum(t.height for t in after)


@pytest.mark.parametrize("values", [list("abcd"), [1, 2, 3, 4], [1.5, 2.5, 3.5, 4.5]])
def test_where_every_value_is_suppressed_none_is_drawn(tmp_path, values) -> None:
    """Of an attribute of which no value at all is published, every drawn value is missing."""
    frame = pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(40)],
            "age": [20 + i % 7 for i in range(40)],
            "ill": [values[i % 4] for i in range(40)],
        }
    )
    of = px.Schema(identifier="who", quasi=["age"], sensitive="ill")
    series = px.Series(
        "s", of, px.GlobalGuarantee(l=2, protect=[values[0]]), to=tmp_path / "out", report=False
    )
    series.publish(frame)
    second = px.Release.read(series.publish(frame).path)
    assert second.form.table["ill"].null_count() == 40
    (table,) = draw(second, 1, seed=1)
    assert (table.height, table["ill"].null_count(), table["age"].null_count()) == (40, 40, 0)


@pytest.mark.parametrize("hierarchy", [None, Prefix((2, 1, 0))])
def test_a_star_that_is_all_values_is_none(tmp_path, hierarchy) -> None:
    """Of an attribute that a scheme makes ``*`` for everybody nothing is known: every drawn value is
    missing, and none is the star or an end of all texts.
    """
    scheme = {"age": {"low": 20, "high": 60, "width": 20}, "ward": 1 if hierarchy is None else 2}
    frame = pl.DataFrame(
        {
            "age": [20 + i % 40 for i in range(400)],
            "ward": ["a1", "a2", "b1", "b2"] * 100,
            "ill": ["flu", "gout"] * 200,
        }
    )
    of = px.Schema(
        quasi=["age", "ward"],
        sensitive="ill",
        hierarchies={} if hierarchy is None else {"ward": hierarchy},
    )
    method = px.SafeSampling(
        epsilon=4, delta="7/10", k=2, beta="3/4", scheme=scheme, allow_empty=True
    )
    release = published(method, frame, tmp_path, of)
    assert release.form.table["ward"].unique().to_list() == ["*"]
    (table,) = draw(release, 1, seed=1)
    assert 0 < table.height == table["ward"].null_count()


def test_a_star_beside_values_is_one_of_them(tmp_path) -> None:
    """Where a star stands beside nodes of a tree, what is drawn for it is a leaf or missing."""
    frame = pl.DataFrame({"job": ["judge", "farmer"] * 200, "ill": ["flu", "gout"] * 200})
    of = px.Schema(quasi=["job"], sensitive="ill", hierarchies={"job": JOBS})
    method = px.SafeSampling(
        epsilon=4, delta="7/10", k=2, beta="3/4", scheme={"job": 2}, allow_empty=True
    )
    (table,) = draw(published(method, frame, tmp_path, of), 1, seed=1)
    assert set(table["job"].drop_nulls()) == {"judge", "clerk", "farmer", "sailor"}


def test_what_cannot_be_drawn(drawn) -> None:
    """Wrong numbers and wrong conditions are refused in a sentence."""
    release, _ = drawn("mondrian")
    for said in (
        {"times": 0},
        {"times": True},
        {"never": ["wage > 1"]},
        {"never": ["age >"]},
        {"never": ["age < 5 group by sex"]},
    ):
        with pytest.raises(ReleaseError):
            draw(release, **said)


def test_the_kind_of_frame_that_came_in() -> None:
    """A release that came of pandas is drawn as pandas; a seed draws the same again."""
    made = px.publish(TABLE.to_pandas(), schema(), px.Mondrian(k=4))
    one, other = made.draw(2, seed=4)
    assert (
        type(one).__module__.startswith("pandas")
        and len(one) == TABLE.height
        and not one.equals(other)
    )
    assert made.draw(1, seed=4)[0].equals(one)


@pytest.mark.parametrize("values", [[2**53 + 1, 2**63 - 1], [-1.7e308, 1.7e308]])
def test_numbers_that_are_far_from_0_are_drawn(values) -> None:
    """What is published as it is stays so, also where no float holds it; and what lies between two
    numbers is a number.
    """
    table = pl.DataFrame({"v": values * 20, "ill": ["a", "a", "b", "b"] * 10})
    schema = px.Schema(quasi=["v"], sensitive="ill")
    exact = px.publish(table, schema, px.Anatomy(l=2)).draw(1, seed=1)[0]
    assert sorted(exact["v"]) == sorted(table["v"])
    between = px.publish(table, schema, px.Mondrian(k=40)).draw(1, seed=1)[0]["v"]
    assert all(min(values) <= value <= max(values) for value in between)


def test_rubins_rules() -> None:
    """Within, between, their sum and the degrees of freedom, by the book; tables that agree leave
    the within variance alone.
    """
    found = px.pool([1.0, 2.0, 3.0, 6.0], [0.5, 0.6, 0.7, 0.8])
    assert (found.estimate, found.within, found.tables) == (3.0, pytest.approx(0.65), 4)
    assert found.between == pytest.approx(14 / 3)
    assert found.variance == pytest.approx(0.65 + 1.25 * 14 / 3)
    assert found.freedom == pytest.approx(3 * (1 + 0.65 / (1.25 * 14 / 3)) ** 2)
    half = stdtrit(found.freedom, 0.975) * np.sqrt(found.variance)
    assert found.interval == (pytest.approx(3 - half), pytest.approx(3 + half))
    assert math.isinf(px.pool([0, 1e-90], [1, 1]).freedom)
    same = px.pool([2.0, 2.0], [4.0, 4.0])
    assert same.interval == (
        pytest.approx(2 - 1.959964 * 2),
        pytest.approx(2 + 1.959964 * 2),
    ) and json.dumps(same.to_json())


@pytest.mark.parametrize("freedom", [1, 1.7, 3, 12.5, 200, 1e5])
@pytest.mark.parametrize("p", [0.6, 0.975, 0.999])
def test_quantiles_of_t(p: float, freedom: float) -> None:
    """The quantile is scipy's."""
    assert _quantile(p, freedom) == pytest.approx(stdtrit(freedom, p), rel=1e-8)


@pytest.mark.parametrize(
    "given",
    [
        ([1.0], [1.0]),
        ([1.0, 2.0], [1.0]),
        ([1.0, float("nan")], [1.0, 1.0]),
        ([1.0, 2.0], [1.0, -1.0]),
    ],
)
def test_what_cannot_be_pooled(given) -> None:
    """One table, unequal lists, missing and negative variances are refused."""
    with pytest.raises(px.PhalanxError, match="two or more"):
        px.pool(*given)


@pytest.mark.parametrize("level", [0, 1, 1 - 2**-53])
def test_a_level_that_no_interval_has(level) -> None:
    """A level whose quantile is infinite is refused, as is one that a float has in the place of 1."""
    with pytest.raises(px.PhalanxError, match="between 0 and 1"):
        px.pool([2.0, 2.0], [4.0, 4.0], level=level)
    low, high = px.pool([2.0, 2.0], [4.0, 4.0], level=1 - 2**-52).interval
    assert np.isfinite([low, high]).all()


def test_a_table_is_drawn_when_it_is_asked_for(drawn) -> None:
    """Of a thousand million tables the first ones come at once, the same as of three; what is wrong
    is refused before the first.
    """
    release, tables = drawn("mondrian")
    many = drawing(release, 10**9, seed=1)
    assert all(pl.concat(next(many)).equals(table) for table in tables)
    with pytest.raises(ReleaseError, match="no number of tables"):
        drawing(release, 0)


def is_one_of_them(drawn: pl.DataFrame, table: pl.DataFrame, name: str) -> None:
    """As many rows of the same columns as another drawn table; of a form that shows values, each as
    often.
    """
    assert drawn.schema == table.schema
    assert drawn.height == table.height
    if name in ("anatomy", "slicing"):
        for column in drawn.columns:
            assert drawn[column].sort().equals(table[column].sort())


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("most", [1, 7, 60])
def test_pieces_are_all_groups_each_in_one(drawn, monkeypatch, name: str, most: int) -> None:
    """Whole groups, in no order that a release gives them; of each facet the entries of these; and a
    piece goes beyond what is drawn at a time by less than a group.
    """
    view = view_of(drawn(name)[0])
    monkeypatch.setattr(draws, "_AT_ONCE", most)
    chosen, taken = [], View.taken
    monkeypatch.setattr(View, "taken", lambda self, some: chosen.append(some) or taken(self, some))
    pieces = list(draws._chosen(view, Randomness.seeded(3).stream("draw")))
    if name == "mutual-cover":  # all of its rows are one group
        assert len(pieces) == 1
        return
    assert len(pieces) == len(chosen) > 1
    groups = np.concatenate([some for ((some, _),) in chosen])
    assert sorted(groups) == list(range(len(view.rows)))
    assert sorted(groups) != groups.tolist()
    for piece, ((some, entries),) in zip(pieces, chosen, strict=True):
        assert (np.diff(some) > 0).all()
        assert view.real[some].sum() < most + view.real[some].max() + 1
        assert piece.real.tolist() == view.real[some].tolist()
        for facet, of_piece, mine in zip(view.believed, piece.believed, entries, strict=True):
            assert mine.tolist() == np.flatnonzero(np.isin(facet.group, some)).tolist()
            assert some[of_piece.group].tolist() == facet.group[mine].tolist()
            assert of_piece.count.tolist() == facet.count[mine].tolist()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("most", [50, 1 << 20])
def test_parts_that_stay_apart_are_drawn_from(drawn, monkeypatch, name: str, most: int) -> None:
    """As the whole is: a table that the release leaves possible, in each piece rows of each part, and
    no row that cannot be.
    """
    release, (table, *_) = drawn(name)
    monkeypatch.setattr(draws, "_AT_ONCE", most)
    chosen, taken = [], View.taken
    monkeypatch.setattr(View, "taken", lambda self, some: chosen.append(some) or taken(self, some))
    parts = [some.packed() for some in halves(view_of(release))]
    monkeypatch.setitem(reading._views, release, View.apart(parts))
    (pieces,) = drawing(release, 1, seed=2)
    listed = list(pieces)
    # groups that go beyond no piece leave none of a part out
    many = [part.persons >= len(chosen) * int(part.real.max(initial=0)) > 0 for part in parts]
    assert all(many) or name != "mondrian" or not chosen
    assert all(
        len(groups) for some in chosen for (groups, _), of in zip(some, many, strict=True) if of
    )
    assert reading._views[release].parts
    assert (len(listed) > 1) == (most == 50 and name != "mutual-cover")
    is_one_of_them(pl.concat(listed), table, name)
    (pieces,) = drawing(release, 1, never=["age < 40"], seed=2)
    assert all(piece.filter(pl.col("age") < 40).is_empty() for piece in pieces)


@pytest.mark.parametrize("name", METHODS)
def test_a_table_in_pieces_is_one_that_the_release_leaves_possible(
    drawn, monkeypatch, name: str
) -> None:
    """And no row that cannot be is in it."""
    release, (table, *_) = drawn(name)
    monkeypatch.setattr(draws, "_AT_ONCE", 50)
    (pieces,) = drawing(release, 1, seed=2)
    listed = list(pieces)
    assert (len(listed) > 1) == (name != "mutual-cover")
    is_one_of_them(pl.concat(listed), table, name)
    (pieces,) = drawing(release, 1, never=["age < 40"], seed=2)
    assert all(piece.filter(pl.col("age") < 40).is_empty() for piece in pieces)


def test_a_group_that_is_larger_than_a_piece_is_drawn_whole(monkeypatch) -> None:
    """And leaves no empty piece behind it."""
    table = pl.DataFrame({"x": [1] * 90 + [2] * 6, "ill": ["a", "b"] * 48})
    release = px.publish(table, px.Schema(quasi=["x"], sensitive="ill"), px.Mondrian(k=5), seed=1)
    monkeypatch.setattr(draws, "_AT_ONCE", 10)
    (pieces,) = drawing(release, 1, seed=1)
    assert {piece.height for piece in pieces} in ({90, 6}, {96})


def test_of_sets_nothing_is_drawn() -> None:
    """And what is said of it is of drawing."""
    table = pl.DataFrame({"age": [1, 2, 3, 4], "ill": [["a"], ["b"], ["a", "b"], []]})
    release = px.publish(table, px.Schema(quasi=["age"], sensitive="ill"), px.Mondrian(k=2))
    with pytest.raises(ReleaseError, match="'ill' holds sets of values, and no table with sets"):
        draw(release, 1)
