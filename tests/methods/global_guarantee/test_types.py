# SPDX-License-Identifier: Apache-2.0
"""Values keep their place in a series when the type of their column changes, as where one quarter
has no fractions, and a plan names values of every type.
"""

from datetime import date, timedelta
from decimal import Decimal

import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import NotEligible, PlanError, SchemaError
from phalanx.ledger import Ledger
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.methods.global_guarantee.protected import in_one_type
from phalanx.release.evidence.exposures import Exposures
from phalanx.series.series import Series

WHOLE, HALVES = [0, 1, 2, 3], [0.5, 1.5, 2.0, 3.0]
DAY = date(2026, 1, 1)
DAYS = [DAY + timedelta(days=n) for n in range(8)]


def table(values, dtype=None, rows=40):
    """The same persons with these values in turn, in a column of a type."""
    cost = pl.Series([values[i % len(values)] for i in range(rows)], dtype=dtype)
    return pl.DataFrame(
        {"who": range(rows), "age": [20 + i * 7 % 50 for i in range(rows)]}
    ).with_columns(cost=cost)


def series(folder, *, types=None, **settings):
    """A series whose sensitive attribute is what something cost."""
    return Series(
        "s",
        Schema(identifier="who", quasi=["age"], sensitive="cost", types=types or {}),
        GlobalGuarantee(**{"l": 1.5} | settings),
        to=folder / "out",
        ledger=f"sqlite:///{folder}/l.db",
        report=False,
    )


def carried(folder):
    """The values that the series carries something about."""
    with Ledger.open(f"sqlite:///{folder}/l.db", create=False) as opened:
        return Exposures.of_tables(opened.state("s")).values.to_list()


@pytest.mark.parametrize("types", [{}, {"cost": "categorical"}])
@pytest.mark.parametrize(
    "settings", [{}, {"l": 1.2, "protect": {"least_frequent": 0.5}}, {"protect": [1, 1.5]}]
)
@pytest.mark.parametrize(
    "tables",
    [
        [(HALVES, None), (WHOLE, None), (HALVES, None)],
        [(WHOLE, None), (HALVES, None), (WHOLE, None)],
        [([0, 1, 2, 300], pl.Int64), (WHOLE, pl.Int8), ([0, 1, 2, 300], pl.Int32)],
        [(WHOLE, pl.Int8), ([Decimal("0.5"), Decimal(1)], None), (WHOLE, pl.Int8)],
    ],
)
def test_numbers_are_the_same_in_every_type(tmp_path, tables, settings, types):
    """A table of whole numbers may follow one with fractions, and the other way round: what was
    carried about each value is carried on, and all holds by the files and mappings.
    """
    if "protect" in settings and not isinstance(settings["protect"], dict):
        settings = settings | {"expected_later": settings["protect"]}
    visits = series(tmp_path, types=types, **settings)
    for values, dtype in tables:
        visits.publish(table(values, dtype))
    assert visits.verify(originals=[table(*each) for each in tables]).holds
    names = carried(tmp_path)
    assert names
    assert types or len({float(name) for name in names}) == len(names)


def test_a_fraction_protects_nothing_but_itself(tmp_path):
    """A half that was too frequent to be protected says nothing of 0, which comes later in a table
    of whole numbers, and is protected as all that come later.
    """
    visits = series(tmp_path, l=3, protect={"least_frequent": 0.9})
    visits.publish(table([0.5, 0.5, 0.5, 1.0, 2.0, 0.5, 3.0, 0.5, 4.0, 5.0]))
    with pytest.raises(NotEligible, match=r"20 of 40 rows, and l = 3 allows at most 1/3"):
        visits.publish(table([0, 1, 0, 2, 0, 3, 0, 4]))


@pytest.mark.parametrize(
    "settings",
    [
        {"permanent": [9]},
        {"permanent": ["9"], "protect": {"least_frequent": 0.5}},
    ],
)
def test_a_permanent_value_is_the_same_with_and_without_a_fraction(tmp_path, settings):
    """Cohorts that were founded by 9 go on by 9.0."""
    visits = series(tmp_path, **settings)
    for values in ([1, 9, 3, 4, 5, 6, 7, 8], [1.0, 9.0, 3.0, 4.0, 5.0, 6.0, 7.5, 8.0]):
        visits.publish(table(values))
    assert visits.verify().holds


@pytest.mark.parametrize("tables", [([2**53 + 1, 1], [0.5, 1.5]), ([0.5, 1.5], [2**53 + 1, 1])])
def test_numbers_that_no_fraction_stands_beside(tmp_path, tables):
    """A whole number that a column of fractions would round is refused beside them, as it would be
    another value then.
    """
    visits = series(tmp_path)
    visits.publish(table(tables[0]))
    with pytest.raises(SchemaError, match=r"column 'cost' holds whole numbers beyond 2\*\*53"):
        visits.publish(table(tables[1]))


def test_another_kind_of_column_is_refused(tmp_path):
    """Texts in the place of numbers, or dates in the place of texts, are named as such."""
    for first, then in ((["a", "b"], WHOLE), (WHOLE, ["a", "b"]), (["a", "b"], DAYS)):
        visits = series(tmp_path / str(then[0]))
        visits.publish(table(first))
        with pytest.raises(SchemaError, match=r"column 'cost' is .* and was"):
            visits.publish(table(then))


@pytest.mark.parametrize(
    "settings",
    [
        {"protect": [DAY]},
        {"protect": ["2026-01-01"]},
        {"protect": {"least_frequent": 0.5}},
        {"protect": ["2026-01-01"], "permanent": [DAYS[1]]},
        {"protect": {"least_frequent": 0.5}, "permanent": ["2026-01-02"]},
        {"permanent": [DAYS[1]]},
        {"permanent": ["2027-01-01"], "expected_later": ["2027-01-01"]},
    ],
)
def test_dates_are_protected(tmp_path, settings):
    """A plan names dates as dates or as their text, and the manifest has the text."""
    visits = series(tmp_path, **settings)
    for _ in range(2):
        release = visits.publish(table(DAYS))
    assert visits.verify(originals=[table(DAYS)] * 2).holds
    (guarantee,) = release.manifest.guarantees
    listed = [guarantee.get(key, []) for key in ("protected", "unprotected", "permanent")]
    assert all(isinstance(v, str) for values in listed if values != "all" for v in values)


def test_a_date_that_is_protected_is_found_by_the_check(tmp_path):
    """A date that stands in half of all rows is refused where it is protected by its text."""
    with pytest.raises(NotEligible, match="20 of 40 rows"):
        series(tmp_path, l=3, protect=["2026-01-01"]).publish(table([DAY, DAYS[1], DAY, DAYS[2]]))


@pytest.mark.parametrize(
    ("values", "listed"),
    [(WHOLE, 2.5), (DAYS, 18262), (DAYS, "1.1.2026"), (WHOLE, "one"), (["a", "b"], DAY)],
)
def test_a_value_that_the_column_cannot_have(tmp_path, values, listed):
    """What no value of the column's type is equal to is taken for mistyped, and protects no other
    one by being rounded.
    """
    with pytest.raises(PlanError, match="which no row has"):
        series(tmp_path, protect=[values[0], listed]).publish(table(values))


def test_a_share_is_one_fraction(tmp_path):
    """What an l with a fraction allows is a share like any other, and no fraction of fractions."""
    with pytest.raises(NotEligible, match=r"30 of 40 rows, and l = 3/2 allows at most 2/3 of"):
        series(tmp_path, l=1.5).publish(table([0, 0, 0, 1]))


def test_values_of_several_types(tmp_path):
    """A plan may name one value as a number and another one as text."""
    visits = series(tmp_path, protect=[1, "2", Decimal(3)])
    visits.publish(table(WHOLE))
    assert visits.verify().holds
    assert carried(tmp_path) == [1, 2, 3]


def test_a_part_that_carries_nothing_is_of_the_type_of_the_others():
    """A part of a larger table of whole numbers, about whose persons nothing is carried yet, is
    published with fractions where the series was, as the files of all parts are read together.
    """
    column = Microdata.encode(
        table(WHOLE), Schema(identifier="who", quasi=["age"], sensitive="cost")
    )
    none = pl.Series([], dtype=pl.Float64)
    assert in_one_type(column.sensitive, [none]).domain.values.dtype == pl.Float64
    assert in_one_type(column.sensitive, [none.cast(pl.String)]) is column.sensitive
