# SPDX-License-Identifier: Apache-2.0
"""Values that a plan names are in the table, or said to be expected later: a typing error must not
leave a value unprotected.
"""

import polars as pl
import pytest

from phalanx.data.schema import Schema
from phalanx.errors import PlanError
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.series.series import Series

SCHEMA = Schema(identifier="who", quasi=["age"], sensitive="ill")


def table(values=("hiv", "flu", "flu", "gout"), rows=40):
    """Persons of whom one in twenty has the first value, and the others the rest in turn."""
    ill = [values[0] if i % 20 == 0 else values[1 + i % (len(values) - 1)] for i in range(rows)]
    return pl.DataFrame({"who": range(rows), "age": [20 + i % 30 for i in range(rows)], "ill": ill})


def series(folder, **settings):
    method = GlobalGuarantee(**{"l": 2} | settings)
    return Series(
        "s",
        schema=SCHEMA,
        method=method,
        to=folder / "out",
        ledger=f"sqlite:///{folder}/l.db",
        report=False,
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"protect": ["HIV"]},
            (
                "[method] protect names 'HIV', which no row has; did you mean 'hiv'? Correct it, or"
                " list it in expected_later too"
            ),
        ),
        (
            {"protect": ["hiv", "hiv "]},
            "[method] protect names 'hiv ', which no row has; did you mean 'hiv'?",
        ),
        (
            {"protect": ["hiv", "smallpox"]},
            "[method] protect names 'smallpox', which no row has. Correct it",
        ),
        (
            {"protect": ["hiv"], "permanent": ["Hiv"]},
            "[method] permanent names 'Hiv', which no row has; did you mean 'hiv'?",
        ),
        ({"permanent": ["smallpox"]}, "[method] permanent names 'smallpox', which no row has."),
        ({"protect": ["hiv", 7]}, "[method] protect names 7, which no row has."),
        (
            {"protect": ["hiv", "smallpox", "HIV"], "expected_later": ["smallpox"]},
            "[method] protect names 'HIV', which no row has",
        ),
    ],
)
def test_a_value_that_no_row_has_is_refused(tmp_path, settings, said):
    """It is named, with the value that may have been meant, and nothing is published, remembered or
    left behind.
    """
    with pytest.raises(PlanError) as refused:
        series(tmp_path, **settings).publish(table())
    assert said in str(refused.value)
    assert not list((tmp_path / "out").glob("*"))


def test_without_the_check_the_true_value_would_be_unprotected(tmp_path, monkeypatch):
    """The twin: a mistyped value, published, promises nothing about the one that was meant."""
    monkeypatch.setattr("phalanx.methods.global_guarantee.method.check_named", lambda *_: None)
    published = series(tmp_path, protect=["HIV"]).publish(table())
    (promise,) = [g for g in published.manifest.guarantees if g["name"] == "global-guarantee"]
    assert promise["protected"] == ["HIV"]
    assert "hiv" in set(published.form.table["ill"])


def test_what_is_expected_later_is_protected_when_it_comes(tmp_path):
    """A value that is listed need not be there at first; the manifest does not tell that it was
    not.
    """
    publishing = series(tmp_path, protect=["hiv", "smallpox"], expected_later=["smallpox"])
    first = publishing.publish(table())
    assert "expected_later" not in first.manifest.model_dump_json()
    assert (
        publishing.publish(
            table(("smallpox", "flu", "hiv", "gout", "flu", "flu", "flu"), 80)
        ).number
        == 2
    )


def test_a_value_may_go_again(tmp_path):
    """After the first release a protected value may be in no row: values come and go."""
    publishing = series(tmp_path, protect=["hiv"])
    publishing.publish(table())
    assert publishing.publish(table(("gout", "flu", "flu", "rash"))).number == 2


def test_numbers_and_sets_are_found_as_they_are_protected(tmp_path):
    """A number of a plan is a number of the table, and a value of a set is one of its members."""
    numbers = table().with_columns(
        ill=pl.col("ill").replace_strict({"hiv": 7, "flu": 1, "gout": 2}, return_dtype=pl.Int64)
    )
    series(tmp_path / "numbers", protect=[7]).publish(numbers)
    sets = table().with_columns(ill=pl.concat_list("ill", pl.lit("cough")))
    series(tmp_path / "sets", protect=["hiv"]).publish(sets)
    with pytest.raises(PlanError, match="protect names 'HIV'"):
        series(tmp_path / "none", protect=["HIV"]).publish(sets)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"protect": ["hiv"], "expected_later": ["smallpox"]},
            "expected_later lists 'smallpox', which neither protect nor permanent names",
        ),
        (
            {"expected_later": ["hiv"]},
            "expected_later lists 'hiv', which neither protect nor permanent names",
        ),
        ({"protect": ["hiv"], "expected_later": "hiv"}, "expected_later must be a list of values"),
        ({"protect": ["hiv"], "permanent": "hiv"}, "permanent must be a list of values"),
    ],
)
def test_what_cannot_be_expected(settings, said):
    """Something else than values that the plan names is refused before any table is read."""
    with pytest.raises(PlanError, match=said):
        GlobalGuarantee(l=2, **settings)
