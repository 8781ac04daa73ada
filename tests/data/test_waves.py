# SPDX-License-Identifier: Apache-2.0
"""A panel in one table: which wave is next, and what is said where there is none."""

import math
from datetime import date, time
from decimal import Decimal

import polars as pl
import pytest

from phalanx.data.waves import NoneNextError, in_order, one_wave, waves_of
from phalanx.errors import SourceError

PANEL = pl.DataFrame({"who": [1, 1, 2, 3, 3], "year": [2019, 2020, 2020, 2018, 2019]})


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([2018, 2019], ["2018", "2019"]),
        ([2018.0, 2019.0], ["2018", "2019"]),
        ([1.5, 2.0], ["1.5", "2.0"]),
        (["w1", "w2"], ["w1", "w2"]),
        ([date(2018, 1, 31), date(2019, 1, 31)], ["2018-01-31", "2019-01-31"]),
    ],
)
def test_a_wave_is_called_as_it_is_written(values, texts):
    """Years of a CSV, of Stata, dates and words."""
    assert waves_of(pl.DataFrame({"wave": values}), "wave").to_list() == texts


def test_a_day_is_one_wave_however_its_midnight_is_written():
    """A table that is exported again by another program may have moments where days were; the wave
    is out all the same.
    """
    days = [date(2018, 1, 31), date(2019, 1, 31)]
    table = pl.DataFrame({"who": [1, 2], "wave": days})
    moments = table.with_columns(pl.col("wave").cast(pl.Datetime))
    assert waves_of(moments, "wave").to_list() == ["2018-01-31", "2019-01-31"]
    later = moments.with_columns(pl.col("wave") + pl.duration(hours=1))
    assert waves_of(later, "wave").to_list()[0].startswith("2018-01-31 01:00:00")
    texts = table.with_columns(pl.col("wave").cast(pl.String) + " 00:00:00")
    for again in (moments, texts):
        with pytest.raises(SourceError, match=r"all 2 wave\(s\) of the source are published"):
            one_wave(again, "wave", None, ["2018-01-31", "2019-01-31"])
        for written in ("2018-01-31", "2018-01-31 00:00:00.000000", "2018-01-31T00:00"):
            with pytest.raises(SourceError, match="was published as release 1"):
                one_wave(again, "wave", written, ["2018-01-31", "2019-01-31"])


def test_numbers_in_texts_have_their_own_order():
    """The tenth wave comes after the second, whatever the alphabet says, with zeros before or
    without.
    """
    assert in_order(["w10", "w2", "w1", "w2"]) == ["w1", "w2", "w10"]
    assert in_order(["2019-Q4", "2020-Q1", "2019-Q1"]) == ["2019-Q1", "2019-Q4", "2020-Q1"]
    assert in_order(["10", "9", "09"])[-1] == "10"


@pytest.mark.parametrize(
    ("published", "wave"),
    [([], "2018"), (["2018"], "2019"), (["2019"], "2020"), (["2017"], "2018"), ([None, "2018"], "2019"), (["2019", "2018"], "2020")],
)  # fmt: skip
def test_the_next_wave_is_the_first_after_the_last_release(published, wave):
    """Its rows alone, without the column; one that is out already is passed over."""
    found, rows = one_wave(PANEL, "year", None, published)
    assert found == wave
    assert rows.columns == ["who"]
    assert rows["who"].to_list() == PANEL.filter(pl.col("year") == int(wave))["who"].to_list()


def test_a_number_is_one_wave_however_many_decimals_it_has():
    """Of a database, 1.50; the wave is out all the same."""
    table = pl.DataFrame({"who": [1, 2], "wave": [Decimal("1.50"), Decimal("2.50")]})
    assert one_wave(table, "wave", None, ["1.5"])[0] == "2.50"
    with pytest.raises(SourceError, match="was published as release 1"):
        one_wave(table, "wave", "1.500", ["1.5"])
    large = pl.DataFrame({"who": [1], "wave": [1e308]})
    assert one_wave(large, "wave", None, [])[1].height == 1


def test_a_wave_by_name():
    """Also an earlier one, and however its number is written."""
    assert one_wave(PANEL, "year", "2018", ["2019"])[1].height == 1
    assert one_wave(pl.DataFrame({"wave": ["01", "02"]}), "wave", "2", [])[0] == "02"


@pytest.mark.parametrize(
    ("wave", "published", "sentence"),
    [
        ("2019", ["2018", "2019"], "wave '2019' was published as release 2, and is not published"),
        ("02019", ["2019"], "was published as release 1"),
        ("2017", [], "no wave '2017' in 'year'"),
        (None, ["2018", "2019", "2020"], "all 3 wave(s) of the source are published, '2020' last"),
        (
            None,
            ["2020"],
            "no further wave comes after '2020', which was published last; name an earlier",
        ),
        (None, ["2018", None], "which wave release 2 published is not known"),
        (
            None,
            ["2018", None, "2020"],
            "no further wave comes after '2020', which was published last; add the rows",
        ),
        (2019, [], "the wave is of the type int; give it as a text"),
    ],
)
def test_no_wave_to_publish(wave, published, sentence):
    """A sentence says why, and what to do."""
    with pytest.raises(SourceError) as wrong:
        one_wave(PANEL, "year", wave, published)
    assert sentence in str(wrong.value)


@pytest.mark.parametrize(
    ("published", "waves"),
    [
        (["2018", "2019"], ["w2018", "w2019", "w2020"]),
        (["2018", "2019"], ["2019-01-01", "2020-01-01"]),
        (["w2018", "w2019"], ["2018", "2019"]),
        (["w1"], ["W1", "w 2"]),
        (["first"], ["2", "3"]),
        (["2018"], ["year"]),
        (["jan"], ["january", "march"]),
    ],
)
def test_waves_that_are_written_in_another_way(published, waves):
    """The same rows could be published again under another name, so none is chosen; one that is
    named is.
    """
    table = pl.DataFrame({"who": range(len(waves)), "wave": waves})
    sentence = rf"waves were written like '{published[-1]}' and are now like .*by --wave"
    with pytest.raises(SourceError, match=sentence) as refused:
        one_wave(table, "wave", None, published)
    assert not isinstance(refused.value, NoneNextError)
    assert one_wave(table, "wave", waves[-1], published)[0] == waves[-1]


@pytest.mark.parametrize(
    ("published", "waves", "following"),
    [
        (["1a"], ["1a", "1b", "2a"], "1b"),
        (["week 1"], ["week 1", "week 2"], "week 2"),
        (["wave A"], ["wave A", "wave B"], "wave B"),
        (["2019-Q4"], ["2020-Q1"], "2020-Q1"),
        (["1.5"], ["2.0", "2.5"], "2.0"),
        (["w9"], [" w10"], " w10"),
        (["2019-01-01"], ["2019-01-01 00:00:00", "2020-01-01 00:00:00"], "2020-01-01 00:00:00"),
        (["2019.0"], ["2019", "2020"], "2020"),
    ],
)
def test_waves_that_are_written_alike(published, waves, following):
    """Other numbers, words beside the one that is out, and what says the same day or number."""
    table = pl.DataFrame({"who": range(len(waves)), "wave": waves})
    assert one_wave(table, "wave", None, published)[0] == following


@pytest.mark.parametrize(
    ("waves", "pair"),
    [
        (["spring", "autumn"], ("autumn", "spring")),
        (["baseline", "week 1"], ("baseline", "week 1")),
        (["Jan 2019", "Feb 2019"], ("Feb 2019", "Jan 2019")),
        (["2019 spring", "2019 autumn"], ("2019 autumn", "2019 spring")),
        (["Q1 2018", "Q2 2018", "Q1 2019"], ("Q1 2019", "Q2 2018")),
        (["31.01.2019", "28.02.2019"], ("28.02.2019", "31.01.2019")),
        (["1.10", "1.9"], ("1.10", "1.9")),
        (["Q4/19", "Q1/20"], ("Q1/20", "Q4/19")),
        (["Q4-19", "Q1-20"], ("Q1-20", "Q4-19")),
        (["H2 19 (final)", "H1 20 (final)"], ("H1 20 (final)", "H2 19 (final)")),
        (["31.12.20 10:00", "15.01.21 10:00"], ("15.01.21 10:00", "31.12.20 10:00")),
        (["31.12.20", "15.01.21"], ("15.01.21", "31.12.20")),
        (["F2020", "S2019"], ("F2020", "S2019")),
        (["w1", "W2", "w3"], ("W2", "w1")),
        (["v2-1", "v2_2"], ("v2-1", "v2_2")),
        (["春", "夏"], ("夏", "春")),
        (["2019", "baseline"], ("2019", "baseline")),
        (["2019", "spring 2018"], ("2019", "spring 2018")),
    ],
)
@pytest.mark.parametrize("published", [False, True])
def test_an_order_that_is_not_sure_is_not_guessed(waves, pair, published):
    """A release cannot be taken back, so where the alphabet, a day before its year or decimals
    would decide, the steward does.
    """
    table = pl.DataFrame({"who": range(len(waves)), "wave": waves})
    out = in_order(waves)[:1] if published else []
    with pytest.raises(SourceError) as unsure:
        one_wave(table, "wave", None, out)
    assert str(unsure.value) == (
        f"whether {pair[0]!r} comes before {pair[1]!r} in 'wave' is not sure; name the next wave"
        " by --wave."
    )
    assert one_wave(table, "wave", waves[-1], waves[:-1])[0] == waves[-1]


@pytest.mark.parametrize(
    "waves",
    [
        ["-2", "-1", "0", "1"],
        ["Q1 2019", "Q2 2019"],
        ["round1_2019", "round2_2020", "round3_2021"],
        ["W1-2018", "W2-2019"],
        ["2019-03-31", "2019-06-30", "2019-09-30"],
        [date(2019, 3, 31), date(2019, 6, 30)],
        [time(8, 30), time(9)],
        ["08:30", "09:00"],
        ["2019-W09-5", "2019-W10-1"],
        ["1.2.3", "1.3.1"],
        ["2019E1", "2019E2", "2020E1"],
        [2.0**60, 2.0**61],
        ["w1 12/2019", "w2 03/2020"],
        [1e-7, 0.5, 2.5, 1.5e16],
        [Decimal("1.50"), Decimal("2.50")],
        [-1.5, -0.5, 1.5],
        [2019.0, 2019.25, 2019.5],
        ["2018/2019", "2019/2020"],
        ["01/2019", "01/2020"],
        ["2019-12-31", "2020-01-01"],
        ["2019a", "2019b", "2020a"],
    ],
)
def test_an_order_that_is_sure(waves):
    """Years before and after an event, quarters of one year, school years, days."""
    table = pl.DataFrame({"who": range(len(waves)), "wave": waves[::-1]})
    called = waves_of(pl.DataFrame({"wave": waves}), "wave").to_list()
    for published in range(len(waves)):
        assert one_wave(table, "wave", None, called[:published])[0] == called[published]


def test_no_wave_is_recommended_that_may_be_out():
    """Where some were written in another way, which one is left is not known."""
    table = pl.DataFrame({"who": [1, 2], "wave": ["2019", "2020"]})
    with pytest.raises(NoneNextError, match="add the rows of the next one"):
        one_wave(table, "wave", None, ["w2019", "2020"])


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (PANEL.rename({"year": "jahr"}), "no column 'year'"),
        (PANEL.rename({"year": "Year"}), "did you mean 'Year'?"),
        (PANEL.with_columns(year=pl.Series([1, None, 1, None, 1])), "2 row(s) have no 'year'"),
        (PANEL.with_columns(year=pl.Series(["1", " ", "1", "", "1"])), "2 row(s) have no 'year'"),
        (PANEL.with_columns(year=pl.Series([[1]] * 5)), "can tell no waves"),
        (PANEL.with_columns(year=pl.duration(days=1)), "can tell no waves"),
        (PANEL.with_columns(year=pl.Series([1.0, math.nan, math.inf, 1, 1])), "2 row(s) have no"),
        (PANEL.with_columns(year=pl.Series(["1.5", "1.50", "2", "2", "2"])), "are one; write"),
        (PANEL.clear(), "no rows"),
        (
            PANEL.with_columns(year=pl.Series(["9", "09", "8", "8", "8"])),
            "are one; write them alike",
        ),
    ],
)
def test_a_column_that_tells_no_waves(table, sentence):
    """A row of no wave would be in no release, without a word."""
    with pytest.raises(SourceError) as wrong:
        one_wave(table, "year", None, [])
    assert sentence in str(wrong.value)
