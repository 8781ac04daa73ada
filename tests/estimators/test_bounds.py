# SPDX-License-Identifier: Apache-2.0
"""Hard bounds hold, whatever is asked of whatever release; a twin that forgets what can be
forgotten is caught.
"""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx.estimators import answering as module
from phalanx.estimators.answering import answer as asked_of
from phalanx.estimators.bounds import Bounds
from phalanx.estimators.conditions import All, Comparison, Either, Query
from phalanx.estimators.reading import view_of
from phalanx.estimators.sums import Taken
from phalanx.release import folder
from support.estimator_cases import METHODS, answer, people, published, schema, some_condition
from support.work import lines

QUERIES = 45


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """A release by every method, made when it is first asked for, and its table."""
    made = {}

    def release(name):
        if name not in made:
            table = people(400 if name == "safe-sampling" else 240)
            made[name] = published(METHODS[name], table, tmp_path_factory.mktemp(name)), table
        return made[name]

    return release


def queries(table, seed, times=QUERIES):
    rng = np.random.default_rng(seed)
    for i in range(times):
        of = None if i % 3 == 0 else str(rng.choice(["age", "pay"]))
        aggregate = "count" if of is None else ("sum", "mean")[i % 2]
        where = some_condition(rng, table)
        yield Query(
            aggregate,
            of,
            where if of is None else All((where, Comparison(of, "missing", negated=True))),
        )


def single_values(table):
    """How many rows have each age, and how many are below it."""
    for age in table["age"].drop_nulls().unique():
        yield Query("count", None, Comparison("age", "in", (age,)))
        yield Query("count", None, Comparison("age", "below", (age,)))


def outside(release, table, suppressed, asked=None):
    """The queries whose truth is not within the bounds that the release gives; and how many bounds
    there were.
    """
    wrong, bounds = [], 0
    for query in asked or queries(table, 5):
        truth, found = (
            answer(query, table),
            asked_of(release, query, "", suppressed=suppressed).figures[0],
        )
        bounds += (found.low is not None) + (found.high is not None)
        if truth is None:
            continue
        below = found.low is not None and truth < found.low
        above = found.high is not None and truth > found.high
        if below or above or (found.estimate is not None and not np.isfinite(found.estimate)):
            wrong.append((query, truth, found))
    return wrong, bounds


@pytest.mark.parametrize("name", METHODS)
def test_the_truth_is_within_the_bounds(releases, name: str) -> None:
    """Of every form and method, of counts, sums and means, of any condition: no truth lies outside
    of the bounds.
    """
    release, table = releases(name)
    wrong, bounds = outside(release, table, None)
    assert wrong == []
    assert bounds >= QUERIES / 4


@pytest.mark.parametrize("name", ["m-invariance", "global-guarantee"])
def test_bounds_with_the_number_of_suppressed_rows(releases, name: str) -> None:
    """Where the publisher says how many rows were suppressed, counts have upper bounds, which
    hold.
    """
    release, table = releases(name)
    wrong, bounds = outside(
        release, table, table.height - (release.manifest.rows - release.manifest.counterfeits)
    )
    assert wrong == []
    assert bounds > outside(release, table, None)[1]


def skewed(tmp_path, **changes):
    """A release by m-invariance with counterfeits: the second one of a series, in which half of the
    persons left.
    """
    table = people(120, seed=3, missing=False).with_row_index("at")
    first, second = (
        table.filter(pl.col("at") < 90).drop("at"),
        table.filter(pl.col("at") % 2 == 0).drop("at"),
    )
    series = px.Series(
        "s",
        schema(**changes),
        px.MInvariance(m=3, not_eligible="suppress"),
        to=tmp_path / "out",
        report=False,
    )
    series.publish(first)
    release = folder.Release.read(series.publish(second).path)
    return release, second


@pytest.fixture(scope="module")
def counterfeited(tmp_path_factory):
    return skewed(tmp_path_factory.mktemp("skewed"))


def test_counterfeits_are_accounted_for(counterfeited) -> None:
    """In a release with counterfeits and suppressed rows the truth is within the bounds."""
    release, table = counterfeited
    assert release.manifest.counterfeits > 0
    absent = table.height - (release.manifest.rows - release.manifest.counterfeits)
    wrong, bounds = outside(release, table, absent)
    assert wrong == [] and bounds > QUERIES / 2


def test_whoever_forgets_counterfeits_is_caught(
    counterfeited, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken twin: bounds that take counterfeits for persons do not hold."""
    release, table = counterfeited
    right = module.view_to_ask

    def forgetful(of, *_):
        view = right(of)
        return replace(view, counterfeits=np.zeros_like(view.counterfeits))

    monkeypatch.setattr(module, "view_to_ask", forgetful)
    assert outside(
        release, table, table.height - (release.manifest.rows - release.manifest.counterfeits)
    )[0]


def test_whoever_forgets_suppression_is_caught(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: bounds that take a release with suppressed rows for the whole table do not
    hold.
    """
    table = people(120).with_columns(
        ill=pl.when(pl.int_range(pl.len()) < 70).then(pl.lit("cold")).otherwise("ill")
    )
    release = published(METHODS["m-invariance"], table, tmp_path)
    assert release.manifest.rows < table.height
    assert outside(release, table, None)[0] == []
    right = module.view_to_ask
    monkeypatch.setattr(module, "view_to_ask", lambda of, *_: replace(right(of), unpublished=0))
    assert outside(release, table, None)[0]


@pytest.mark.parametrize("name", ["widened", "coarse"])
def test_whoever_believes_in_ends_is_caught(
    releases, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broken twin: ends that are nobody's in the group, taken for somebody's, give bounds that
    do not hold.
    """
    release, table = releases(name)
    right = module.view_to_ask

    def believing(of, *_):
        view = right(of)
        return replace(
            view,
            facets=tuple(replace(f, tight=np.ones(len(f.count), dtype=bool)) for f in view.facets),
        )

    assert outside(release, table, None, single_values(table))[0] == []
    monkeypatch.setattr(module, "view_to_ask", believing)
    assert outside(release, table, None, single_values(table))[0]


def test_whoever_closes_cells_is_caught(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twins: the last cell of a grid taken to end where it says, and a sample taken for
    the table, give bounds that do not hold.
    """
    table = people(1600).select("who", "age")  # so many that no sample is without it
    method = replace(METHODS["safe-sampling"], scheme={"age": {"low": 25, "high": 55, "width": 10}})
    release = published(
        method, table, tmp_path, px.Schema(identifier="who", quasi=["age"], missing="value")
    )
    right = module.view_to_ask

    def closed(of, *_):
        view = right(of)
        ends = {
            name: replace(e, unbounded=(e.unbounded[0] & False, e.unbounded[1] & False))
            for name, e in view.facets[0].ends.items()
        }
        return replace(view, facets=(replace(view.facets[0], ends=ends),))

    def pushed(of, *_):
        view = right(of)
        return replace(view, unpublished=0)

    last = [
        Query(
            "count",
            None,
            All(
                (Comparison("age", "below", (45,), negated=True), Comparison("age", "below", (55,)))
            ),
        ),
        Query("count", None, All()),
    ]
    assert outside(release, table, None, last)[0] == []
    for broken in (closed, pushed):
        monkeypatch.setattr(module, "view_to_ask", broken)
        assert outside(release, table, None, last)[0]


def test_cells_with_whole_ends_hold_fractions(tmp_path) -> None:
    """Whole ends of a grid do not make whole numbers of what is between them: of a cell from 1 to
    3, nobody knows who is at most 2.
    """
    table = pl.DataFrame({"who": [f"p{i}" for i in range(200)], "pay": [2.5] * 200})
    method = replace(METHODS["safe-sampling"], scheme={"pay": {"low": 1, "high": 5, "width": 2}})
    release = published(method, table, tmp_path, px.Schema(identifier="who", quasi=["pay"]))
    between = All((Comparison("pay", "below", (1,), negated=True), Comparison("pay", "upto", (2,))))
    assert release.form.rows > 100
    assert asked_of(release, Query("count", None, between), "").figures[0].low == 0


def test_tight_ends_say_more_than_their_box() -> None:
    """Somebody of a group stands at each end of a tight box: of the group from 20 to 40, one is 20
    and one is 40, and at most all others are between.
    """
    table = pl.DataFrame({"age": [20, 25, 30, 40]})
    release = px.publish(table, px.Schema(quasi=["age"]), px.Mondrian(k=4))

    def bounds(*tests):
        found = asked_of(release, Query("count", None, All(tests)), "").figures[0]
        return found.low, found.high

    assert bounds(Comparison("age", "in", (20,))) == (1, 3)
    assert bounds(Comparison("age", "in", (21,))) == (0, 2)
    assert bounds(Comparison("age", "in", (41,))) == (0, 0)
    assert bounds(Comparison("age", "below", (40,))) == (1, 3)
    assert bounds(Comparison("age", "in", (20, 40))) == (2, 4)
    total = asked_of(
        release, Query("sum", "age", Comparison("age", "missing", negated=True)), ""
    ).figures[0]
    assert total.low is not None and total.high is not None and total.low <= 115 <= total.high


@pytest.mark.parametrize(
    ("numbers", "shift", "least"),
    [
        ([1e308, 1e308, -1e308], 0.0, 1e308),
        ([1e308, 1e308], 0.0, np.inf),
        ([-1e308, -1e308, -1e308], 1e307, -np.inf),
        ([1.5, -2.5], 1.0, 1.0),
    ],
)
def test_a_least_sum_that_no_float_holds(numbers, shift, least) -> None:
    """A sum is right though what is added on the way to it is more than a float holds, and infinite
    where it is itself.
    """
    once = np.ones(len(numbers), dtype=np.int64)
    with np.errstate(over="ignore"):
        assert Taken(np.array(numbers), once, once).least(shift) == pytest.approx(least)


ENDS = [-(2**63), -(2**63) + 1, -1, 2**53 + 1, 2**62 + 1, 2**63 - 2, 2**63 - 1]


def at_ends(method):
    """A release of whole numbers at the ends of what 64 bits hold, each twice."""
    table = pl.DataFrame({"v": ENDS * 2, "ill": ["a"] * len(ENDS) + ["b"] * len(ENDS)})
    return px.publish(table, px.Schema(quasi=["v"], sensitive="ill"), method)


@pytest.mark.parametrize("value", [*ENDS, -(2**64), 2**64, -1e30, 1e30, 0.5, float(2**63)])
def test_whole_numbers_at_the_ends_of_64_bits(value) -> None:
    """Each is compared with each constant as it stands, with those beyond all of them, too."""
    release = at_ends(px.Anatomy(l=2))
    for kind, truth in (
        ("in", sum(v == value for v in ENDS)),
        ("below", sum(v < value for v in ENDS)),
        ("upto", sum(v <= value for v in ENDS)),
    ):
        asked = Query("count", None, Comparison("v", kind, (value,)))
        counted = asked_of(release, asked, "").figures[0]
        assert (counted.low, counted.high) == (2 * truth, 2 * truth)


def test_a_box_over_all_whole_numbers_holds_those_between() -> None:
    """The distance from one end to the other is beyond 64 bits with a sign, and no reason to take
    what lies between for impossible.
    """
    release = at_ends(px.Mondrian(k=14))
    zero = asked_of(release, Query("count", None, Comparison("v", "in", (0,))), "").figures[0]
    assert zero.low == 0 and zero.high == 12
    between = All((Comparison("v", "upto", (-(2**63),), True), Comparison("v", "below", (2**62,))))
    some = asked_of(release, Query("count", None, between), "").figures[0]
    assert some.high == 12 and some.estimate > 0
    with pytest.raises(px.PhalanxError, match="intervals"):
        release.estimate("count(*) group by v")


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1])
def test_a_mean_of_what_no_float_holds(value) -> None:
    """Bounds of a mean stand on both sides of a number that is between two floats."""
    table = pl.DataFrame({"v": [value] * 4, "ill": ["a", "b"] * 2})
    release = px.publish(table, px.Schema(quasi=["v"], sensitive="ill"), px.Anatomy(l=2))
    where = All((Comparison("ill", "in", ("a",)), Comparison("v", "missing", negated=True)))
    mean = asked_of(release, Query("mean", "v", where), "").figures[0]
    assert int(mean.low) <= value <= int(mean.high)
    nothing = All((Comparison("ill", "in", ("a",)), Comparison("v", "in", (value,))))
    either = Either((nothing, Comparison("v", "in", (0,))))
    mean = asked_of(release, Query("mean", "v", either), "").figures[0]
    assert int(mean.low) <= value <= int(mean.high)


def test_an_interval_of_numbers_whose_squares_no_float_holds() -> None:
    """An interval is numbers still, within the hard bounds, and nothing warns."""
    table = pl.DataFrame({"v": [1e300, -1e300, 0.0] * 4, "ill": ["a", "a", "b", "b"] * 3})
    release = px.publish(table, px.Schema(quasi=["v"], sensitive="ill"), px.Anatomy(l=2))
    answered = release.estimate("sum(v) where ill = 'a'")
    assert (answered.low, answered.high) == answered.interval
    assert np.isfinite([answered.estimate, *answered.interval]).all()
    far = table.with_columns(v=pl.when(pl.col("v") == 0).then(1.0).otherwise(pl.col("v") * 1.7e8))
    release = px.publish(far, px.Schema(quasi=["v"], sensitive="ill"), px.Mondrian(k=5))
    answered = release.estimate("sum(v) where v < 1e308")
    assert answered.low is answered.high is answered.estimate is answered.interval is None
    release = px.publish(table, px.Schema(quasi=["v"], sensitive="ill"), px.Anatomy(l=2))
    view = view_of(release)
    assert view.regions("v", All()).middle[[1, 3, 5]].tolist() == [-1e300, 0.0, 1e300]
    most = table.with_columns(v=pl.when(pl.col("v") > 0).then(1.7e308).otherwise(-1.0))
    release = px.publish(most, px.Schema(quasi=["v"], sensitive="ill"), px.Anatomy(l=2))
    assert view_of(release).regions("v", All()).middle[[1, 3]].tolist() == [-1.0, 1.7e308]


def test_parts_of_several_facets_are_parted_once(releases) -> None:
    """Twice as many parts of a condition take twice the work, though no facet answers them whole."""
    release, table = releases("anatomy")
    view = view_of(release)
    sensitive = release.form.sensitive
    assert table[sensitive].dtype == pl.String and table["age"].dtype.is_integer()

    def gone_through(n: int) -> int:
        tests = [
            Comparison(sensitive, "in", (str(i),)) if i % 2 else Comparison("age", "in", (i,))
            for i in range(n)
        ]
        bounds = Bounds(
            view,
            {
                name: view.regions(name, All(tuple(t for t in tests if t.attribute == name)))
                for name in (sensitive, "age")
            },
        )
        return lines(lambda: bounds.rows(Either(tuple(tests))))

    assert gone_through(1000) < 2.6 * gone_through(500)


@pytest.mark.parametrize("formats", [["parquet"], ["csv"]])
@pytest.mark.parametrize("hidden", ["all budgets spent", "a counterfeit in each group"])
def test_numbers_that_are_nowhere_shown_may_be_any(tmp_path, hidden, formats):
    """A column of which no value is published may hold decimals as well as whole numbers, so that no
    range of it is impossible.
    """
    people = pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(8)],
            "age": range(20, 28),
            "ill": list("abcdefgh"),
            "dose": [0.25, 0.5] * 4,
        }
    )
    if hidden == "all budgets spent":
        method = px.GlobalGuarantee(l=2, strategy="constant-ratio", horizon=1)
        tables, given = [people.drop("ill")] * 2, {"sensitive": "dose"}
    else:
        method, tables = px.MInvariance(m=2), [people, people[:1]]
        given = {"sensitive": "ill", "keep": "dose"}
    made = px.Series("s", px.Schema(identifier="who", quasi="age", **given), method, to=tmp_path / "out", formats=formats)  # fmt: skip
    made.publish(tables[0])
    release = px.Release.read(made.publish(tables[1]).path)
    assert release.table["dose"].null_count() == release.rows

    for where in ("dose = 0.25", "dose > 0 and dose < 1", "dose between 0.2 and 0.3"):
        truth = pl.SQLContext(t=tables[1]).execute(f"select count(*), sum(dose) from t where {where}", eager=True).row(0)  # fmt: skip
        for what, true in zip(("count(*)", "sum(dose)"), truth, strict=True):
            found = release.estimate(f"{what} where {where}", suppressed=0)
            low, high = found.low, found.high
            assert (low is None or low <= true) and (high is None or true <= high), (what, where)
