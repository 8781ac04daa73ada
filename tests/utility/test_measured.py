# SPDX-License-Identifier: Apache-2.0
"""A release beside its original: every figure beside a sample of the same size, of every form, and
none where there is none.
"""

import datetime as dt
import json

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx.randomness import Randomness
from phalanx.utility import measured
from phalanx.utility.bins import Bins
from phalanx.utility.losses import phi2, propensity, total_variation
from phalanx.utility.measured import _Beside, _of_tables, _repeated, _times
from support.estimator_cases import METHODS, people, published, schema

TABLE = people(300)
NAMES = ["ncp", "discernibility", "marginals", "pairs", "triples", "phi2", "propensity", "workload"]


@pytest.mark.parametrize(
    "name", ["widened", "anatomy", "coarse", "mutual-cover", "m-invariance", "safe-sampling"]
)
def test_every_form_is_measured(name: str, tmp_path) -> None:
    """All figures are there, each beside the sample's; a form without groups has no group figures,
    and no figure is out of its range.
    """
    release = px.Release.read(published(METHODS[name], TABLE, tmp_path).path)
    found = release.measure(TABLE, seed=1)
    assert [f.name for f in found.figures] == NAMES
    assert found.rows == release.rows - release.counterfeits and found.original == 300
    for figure in found.figures:
        assert (figure.release is None) == (
            name == "mutual-cover" and figure.name in ("ncp", "discernibility")
        )
        assert figure.release is None or 0 <= figure.release <= (
            300 if figure.name in ("discernibility", "workload") else 1
        )
    assert (
        json.dumps(found.to_json())
        and "(sample" in repr(found)
        and "sample of the same size" in found._repr_html_()
    )


def test_figures_tell_a_coarse_release_from_a_fine_one() -> None:
    """Groups of everybody lose more than groups of two, by every figure of the form and by pairs; a
    bucketized release loses no marginal.
    """
    fine, coarse = (
        px.publish(TABLE, schema(), px.Mondrian(k=k)).measure(TABLE, seed=2) for k in (2, 150)
    )
    for name in ("ncp", "discernibility", "pairs", "propensity"):
        assert fine[name].release < coarse[name].release
    assert (
        px.publish(TABLE, schema(), px.Anatomy(l=2)).measure(TABLE, seed=2)["marginals"].release
        == 0
    )
    with pytest.raises(px.PhalanxError, match="no figure 'nothing'"):
        fine["nothing"]


def test_learning_needs_rows_that_were_held_out() -> None:
    """What a model learns is measured on other rows, or not at all, which is said."""
    release = px.publish(TABLE, schema(), px.Mondrian(k=3))
    assert any("held-out" in note for note in release.measure(TABLE, seed=1).notes)
    found = release.measure(TABLE, held_out=people(300, seed=9), seed=1)
    assert found["learning"].better == "higher" and 0.25 < found["learning"].release < 1


def test_the_table_that_was_published_need_not_be_given_again(tmp_path):
    """What ``publish`` returned knows it; a release that was read does not, and says so."""
    release = px.publish(TABLE, schema(), px.Mondrian(k=5))
    assert release.measure(seed=1) == release.measure(TABLE, seed=1)
    release.save(tmp_path / "r")
    given_otherwise = px.publish(TABLE.to_pandas(), schema(), px.Mondrian(k=5))
    for other in (px.Release.read(tmp_path / "r"), given_otherwise):
        with pytest.raises(px.errors.ReleaseError, match="does not hold the table"):
            other.measure()


def test_learning_is_by_rows_of_the_original() -> None:
    """What holds of all of them holds of seven tenths of those that were held out."""
    table = pl.DataFrame({"x": ["a", "b"] * 100, "ill": ["u", "v"] * 100})
    held_out = pl.DataFrame({"x": ["a", "b"] * 10, "ill": ["u", "v"] * 7 + ["v", "u"] * 3})
    release = px.publish(table, px.Schema(quasi=["x"], sensitive="ill"), px.Mondrian(k=2))
    found = release.measure(table, held_out=held_out, seed=1)["learning"]
    assert (found.release, found.sample) == pytest.approx((0.7, 0.7))


def test_counts_are_those_of_the_original() -> None:
    """A release that shows all values as they are loses none, and a sample some."""
    table = pl.DataFrame({"x": ["a", "b"] * 60, "y": ["u", "v", "w", "x"] * 30})
    release = px.publish(table, px.Schema(quasi=["x", "y"]), px.Mondrian(k=2), seed=1)
    found = release.measure(table, seed=0).to_json()["figures"][-1]
    assert found.pop("sample") > 0
    assert found == {
        "name": "workload",
        "release": 0,
        "meaning": "median relative error of 100 random counts",
        "better": "lower",
    }


@pytest.mark.parametrize("words", [["x"], ["ill"], ["x", "ill"]], ids=str)
def test_whole_numbers_that_are_words_are_counted(words) -> None:
    """A code is asked for as it is published."""
    table = pl.DataFrame({"x": [1, 2] * 60, "ill": [7, 8, 9] * 40})
    roles = px.Schema(quasi=["x"], sensitive="ill", types=dict.fromkeys(words, "categorical"))
    release = px.publish(table, roles, px.Mondrian(k=2), seed=1)
    assert release.measure(table, seed=1)["workload"].release == 0


def test_figures_of_tables_are_their_losses() -> None:
    """Each by its name: of drawn ones on average, and of the sample by itself."""
    table, one, other, sample = (
        people(n, seed=n).select("age", "sex", "ill") for n in (90, 91, 92, 50)
    )
    bins = Bins.of(table)
    codes = [bins.code(each) for each in (table, one, other, sample)]
    losses = {
        "marginals": lambda a, b: total_variation(a, b, bins, 1),
        "pairs": lambda a, b: total_variation(a, b, bins, 2),
        "triples": lambda a, b: total_variation(a, b, bins, 3),
        "phi2": lambda a, b: np.abs(phi2(a) - phi2(b)).mean(),
        "propensity": propensity,
    }
    beside = _Beside(bins, codes[0], None, "ill", Randomness.seeded(1).stream("compared"))
    found = _of_tables([beside.figures(c) for c in codes[1:3]], beside.figures(codes[3]))
    assert [figure.name for figure in found] == list(losses)
    for figure in found:
        of_one, of_other, of_sample = (losses[figure.name](codes[0], each) for each in codes[1:])
        assert figure.release == pytest.approx((of_one + of_other) / 2)
        assert figure.sample == pytest.approx(of_sample)


@pytest.mark.parametrize(
    ("values", "k", "width"), [("abcd", 12, 1 / 3), ("abcdef", 18, 1 / 3), ("ab", 12, 1)]
)
def test_widths_of_values_in_an_order(values: str, k: int, width: float) -> None:
    """For how many values that the release names an interval goes on, of all of them but one; and
    in how large a group a row is.
    """
    table = pl.DataFrame({"x": list(values) * 6, "ill": ["a", "b"] * 3 * len(values)})
    roles = px.Schema(quasi=["x"], sensitive="ill", types={"x": "categorical"})
    release = px.publish(table, roles, px.Mondrian(k=k), seed=1)
    found = release.measure(table, seed=1)
    assert found["ncp"].release == pytest.approx(width)
    assert found["discernibility"].release == k


def test_another_table_is_refused() -> None:
    """A table without a published column is not the original."""
    release = px.publish(TABLE, schema(), px.Mondrian(k=3))
    with pytest.raises(px.PhalanxError, match="no column 'ill'"):
        release.measure(TABLE.drop("ill"))


def test_measure_takes_files_and_sets(tmp_path) -> None:
    """The original may be a file; sets of values are left out, and the figures say so."""
    TABLE.write_csv(tmp_path / "t.csv", date_format="%Y-%m-%d")
    table = pl.DataFrame({"age": [1, 2, 3, 4], "ill": [["a"], ["b"], ["a", "b"], []]})
    found = px.publish(table, px.Schema(quasi=["age"], sensitive="ill"), px.Mondrian(k=2)).measure(
        table
    )
    assert any("sets" in note for note in found.notes)


def test_columns_of_another_type_are_read_as_they_were_published() -> None:
    """Numbers and days that stand as text are measured as such; what is none is refused, and no
    value of a person is named.
    """
    release = px.publish(TABLE, schema(), px.Mondrian(k=3))
    figures = release.measure(TABLE, seed=1).figures
    for since in (pl.String, pl.Datetime):
        other = TABLE.with_columns(pl.col("age").cast(pl.String), pl.col("since").cast(since))
        assert release.measure(other, seed=1).figures == figures
    with pytest.raises(px.PhalanxError, match=r"'age' .* text that is not a number") as refused:
        release.measure(TABLE.with_columns(age=pl.lit("secret")))
    assert "secret" not in str(refused.value)
    with pytest.raises(px.PhalanxError, match="'ill' holds lists"):
        release.measure(TABLE.with_columns(ill=pl.lit(["a"])))


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (pl.Decimal(10, 2), "numeric"),
        (pl.Decimal(10, 2), "categorical"),
        (pl.Float32, "numeric"),
        (pl.Float32, "categorical"),
        (pl.Float64, "numeric"),
        (pl.Int8, "numeric"),
        (pl.Boolean, "categorical"),
        (pl.Datetime("us", "Europe/Berlin"), "date"),
    ],
    ids=str,
)
def test_what_is_published_as_it_is_loses_nothing(dtype, kind) -> None:
    """Single values that are all published are the original's, of whatever type that has them: a
    decimal and a short float are published as long ones, NaN as missing.
    """
    numbers = [0, 1, 2, None] if dtype in (pl.Int8, pl.Boolean) else [0.0, 1.5, 0.1, None]
    column = pl.Series("x", numbers * 10)
    if kind == "date":
        column = (
            (column * 86_400_000_000).cast(pl.Int64).cast(pl.Datetime).dt.replace_time_zone("UTC")
        )
    column = column.cast(dtype)
    if dtype == pl.Float64:
        column = column.fill_null(float("nan"))
    table = pl.DataFrame({"x": column, "ill": ["a"] * 20 + ["b"] * 20})
    roles = px.Schema(quasi=["x"], sensitive="ill", missing="value", types={"x": kind})
    measured = px.publish(table, roles, px.Anatomy(l=2), seed=1).measure(table, seed=1)
    assert measured["marginals"].release == 0
    assert measured["propensity"].release == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("kind", "width"), [("number", 0.25), ("day", 24 / 99)])
def test_the_cells_of_a_grid_have_a_width(kind: str, width: float) -> None:
    """A quarter of the line is a quarter, though the ends of cells are not in them: of days the last
    one in it counts.
    """
    first = 0 if kind == "number" else dt.date(2024, 1, 1)
    step = (lambda n: n) if kind == "number" else dt.timedelta
    table = pl.DataFrame(
        {"x": [first + step(i % 100) for i in range(800)], "ill": ["a", "b"] * 400}
    )
    grid = {"low": first, "high": first + step(100), "width": 25}
    release = px.publish(
        table,
        px.Schema(quasi=["x"], sensitive="ill"),
        px.SafeSampling(epsilon=1, delta=1e-4, scheme={"x": grid}, expected_rows=800),
        seed=1,
    )
    assert release.measure(table, seed=1)["ncp"].release == pytest.approx(width, rel=0.02)


@pytest.mark.parametrize("beyond", [2**57, 2**60, 1_700_000_000_000_000_000, -(2**63)])
def test_widths_do_not_depend_on_how_large_numbers_are(beyond: int) -> None:
    """Moments in nanoseconds are as far apart as minutes are."""
    numbers = np.random.default_rng(3).integers(0, 1000, 400) + beyond
    table = pl.DataFrame({"x": numbers, "ill": ["a", "b"] * 200})
    release = px.publish(table, px.Schema(quasi=["x"], sensitive="ill"), px.Mondrian(k=5))
    low, high = (release.generalized.table[end].to_list() for end in ("x_low", "x_high"))
    widths = sum(b - a for a, b in zip(low, high, strict=True)) / len(low)
    whole = int(numbers.max()) - int(numbers.min())
    assert release.measure(table, seed=1)["ncp"].release == pytest.approx(widths / whole)


def test_a_table_without_rows_is_none_to_measure_by() -> None:
    """Which of the tables has none is said."""
    release = px.publish(TABLE, schema(), px.Mondrian(k=3))
    with pytest.raises(px.PhalanxError, match="the held-out table has no row"):
        release.measure(TABLE, held_out=TABLE.clear())
    with pytest.raises(px.PhalanxError, match="the original has no row"):
        release.measure(TABLE.clear())


@pytest.mark.parametrize("values", [[2**53, 2**53 + 1], [-1.7e308, 0.0, 1.7e308]])
def test_widths_that_no_float_holds(values) -> None:
    """Of numbers that are too near each other for floats or too far apart, a width is a share."""
    table = pl.DataFrame({"x": values * 4, "ill": ["a", "b"] * 2 * len(values)})
    release = px.publish(table, px.Schema(quasi=["x"], sensitive="ill"), px.Mondrian(k=7), seed=1)
    assert release.measure(table, seed=1)["ncp"].release in (0.0, 1.0)


@pytest.mark.parametrize(("height", "rows"), [(50, 50), (50, 7), (3, 400), (2000, 1)])
@pytest.mark.parametrize("at_once", [1, 10, 10_000])
def test_a_sample_is_of_so_many_rows(monkeypatch, height: int, rows: int, at_once: int) -> None:
    """Each of them the same draws, however many are drawn at a time and in whatever type they are
    counted; and each row of the table stands there as often as it was drawn.
    """
    expected = np.bincount(
        Randomness.seeded(1).stream("s").integers(height, rows), minlength=height
    )
    monkeypatch.setattr(measured, "_AT_ONCE", at_once)
    times = _times(height, rows, Randomness.seeded(1).stream("s"))
    assert times.tolist() == expected.tolist()
    assert times.dtype == (np.uint16 if height > at_once else np.int64)
    codes = {"a": np.arange(height, dtype=np.uint16), "b": np.ones(height, dtype=np.uint8)}
    found = _repeated(codes, times)
    assert found["a"].tolist() == np.repeat(np.arange(height), expected).tolist()
    assert {name: code.dtype for name, code in found.items()} == {"a": np.uint16, "b": np.uint8}


def test_a_sample_that_has_a_row_very_often_is_counted(monkeypatch) -> None:
    """More often than a small number says."""
    monkeypatch.setattr(measured, "_AT_ONCE", 1)
    assert _times(2, 2**17, Randomness.seeded(1).stream("s")).sum() == 2**17


@pytest.mark.parametrize("name", ["widened", "m-invariance", "safe-sampling", "mutual-cover"])
@pytest.mark.parametrize("at_once", [20, 50, 299])
def test_pieces_of_the_original_are_measured_as_the_whole(
    tmp_path, monkeypatch, name: str, at_once: int
) -> None:
    """Every figure is the same, of what is learned, too."""
    release = px.Release.read(published(METHODS[name], TABLE, tmp_path).path)
    others = people(90, seed=4)
    whole = release.measure(TABLE, held_out=others, seed=5)
    monkeypatch.setattr(measured, "_AT_ONCE", at_once)
    assert release.measure(TABLE, held_out=others, seed=5).to_json() == whole.to_json()


def test_some_rows_are_compared_where_there_are_many(monkeypatch) -> None:
    """As many of each table, by chance, which is said; other figures are the same."""
    release = px.publish(TABLE, schema(), px.Mondrian(k=3))
    of_all = release.measure(TABLE, seed=1)
    assert not any("propensity" in note for note in of_all.notes)
    monkeypatch.setattr(measured, "_COMPARED", 250)
    compared: list[tuple[int, int]] = []

    def seen(one, other):
        compared.append(tuple(len(table["age"]) for table in (one, other)))
        return propensity(one, other)

    monkeypatch.setattr(measured, "propensity", seen)
    found = release.measure(TABLE, seed=1)
    assert len(compared) == 4
    assert len({of_the_original for of_the_original, _ in compared}) == 1
    assert all(200 < rows < 300 for both in compared for rows in both)
    note = "propensity is that of about 250 rows, chosen at random, of each table that has more"
    assert note in found.notes
    for figure in found.figures:
        before = of_all[figure.name]
        assert (figure == before) == (figure.name != "propensity")
        assert figure.release == pytest.approx(before.release, abs=0.05)


def test_how_far_it_is_is_told() -> None:
    """Rows of the original twice, rows of three tables, and counts; what is no function is refused."""
    release = px.publish(TABLE, schema(), px.Mondrian(k=3))
    told: list[tuple[str, int, int | None]] = []
    release.measure(TABLE, seed=1, progress=lambda *each: told.append(each))
    last = {what: (done, of) for what, done, of in told}
    assert last == {"original": (600, 600), "drawn tables": (900, 900), "counts": (100, 100)}
    assert [*last] == ["original", "drawn tables", "counts"]
    with pytest.raises(px.PhalanxError, match="progress is of the type int"):
        release.measure(TABLE, progress=3)


def test_a_held_out_table_of_which_nothing_is_learned_is_not_looked_at() -> None:
    """Where there is no sensitive attribute, which a note says; figures are plain numbers."""
    table = pl.DataFrame({"a": [1, 2, 3, 4] * 9, "b": ["u", "v"] * 18})
    release = px.publish(table, px.Schema(quasi=["a", "b"]), px.Mondrian(k=3), seed=1)
    found = release.measure(table, held_out=table.select("a"), seed=1)
    assert "no learning: there is no sensitive attribute of single values" in found.notes
    for figure in found.figures:
        assert {type(figure.release), type(figure.sample)} <= {float, type(None)}
