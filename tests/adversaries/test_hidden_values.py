# SPDX-License-Identifier: Apache-2.0
"""Rows whose value is not shown, sets of values, and registered persons without a row: no adversary
takes what is not said for a value.
"""

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx.adversaries.candidates import Values, hides_values
from phalanx.adversaries.groups import hosts
from phalanx.adversaries.groups.hosts import shows_values
from phalanx.adversaries.opinion import play_one
from phalanx.errors import ReleaseError
from phalanx.guarantees.views.groups import Groups

SCHEMA = px.Schema(identifier="who", quasi=["age"], sensitive="ill")
ONCE = px.GlobalGuarantee(l=2, strategy="constant-ratio", horizon=1)
"""The first release spends all that may be told, so that a second one of the same persons hides it."""


def people(ill):
    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(len(ill))],
            "age": range(20, 20 + len(ill)),
            "ill": list(ill),
        }
    )


def series(tmp_path, method=ONCE):
    return px.Series("s", SCHEMA, method, to=tmp_path / "out", report=False)


def test_a_release_that_hides_all_values_breaks_nothing(tmp_path):
    """Nothing is certain where nothing is said; a release more never makes an adversary who
    intersects less certain.
    """
    table = people("aabbccdd" * 2)
    made = [series(tmp_path).publish(table) for _ in range(2)]
    assert hides_values(made[1]) and not shows_values(made[1])
    posterior = {
        a.adversary for answer in play_one(made[1], made[1].evidence) for a in answer.played
    }
    with pytest.raises(ReleaseError, match="shows no sensitive value"):
        made[1].attack(px.Posterior())

    assert "posterior" not in posterior
    first = made[0].attack(px.Intersection(view="person"))
    for view in ("box", "person"):
        both = series(tmp_path).attack(px.Intersection(view=view), originals=[table, table])
        assert both.exposed >= (first.exposed if view == "person" else 0)
        assert 0 not in both.histogram and both.persons == 16
    learned = series(tmp_path).attack(px.SeriesLearning(), originals=[table, table])
    assert learned.persons == 16 and learned.exposed == first.exposed


def test_what_is_not_shown_may_be_any_value(tmp_path):
    """Some rows are hidden and others show their value: candidates of the first are all values, and
    probabilities are those of the values that are shown.
    """
    table = people("aabbccdd" * 2)
    series(tmp_path).publish(table)
    newer = table.with_columns(
        who=pl.when(pl.col("age") < 28).then("who").otherwise(pl.col("who") + "n")
    )
    made = series(tmp_path).publish(newer)
    groups = Groups.of(made.form)
    assert groups.values.null_count() == 1 and shows_values(made)

    found = made.attack(px.Posterior())
    values = Values.of([made.form.table["ill"]])
    mapping = made.evidence.groups[2]
    at = np.searchsorted(groups.ids.to_numpy(), mapping["group"].to_numpy())
    sets = values.opened(values.of_groups(made.form, at), made)
    hidden = np.isin(at, groups.cell_group[groups.cell_value == 0])
    assert (np.bitwise_count(sets[hidden]).sum(axis=1) == len(values.domain)).all() and hidden.any()
    assert found.exposed == 0 and None not in found.per_person["guess"].to_list()
    filled = hosts._filled(groups)
    totals = np.bincount(filled.cell_group, weights=filled.cell_count)
    assert totals == pytest.approx(groups.sizes) and 0 not in filled.cell_value


def test_a_missing_value_that_is_published_is_one():
    """Where no value may be hidden, the missing one is a value as any other."""
    table = pl.DataFrame(
        {"who": range(8), "age": [20] * 4 + [50] * 4, "ill": [None] * 4 + list("abcd")}
    )
    schema = px.Schema(identifier="who", quasi=["age"], sensitive="ill", missing="value")
    made = px.publish(table, schema, px.Mondrian(k=4), seed=1)
    assert made.attack(px.Posterior()).exposed == 4


@pytest.mark.parametrize(
    "adversary",
    [px.Posterior(), px.Posterior(by="learning"), px.Intersection(), px.SeriesLearning()],
)
def test_sets_are_looked_at_by_history_alone(adversary):
    """All four have hiv among their values, which no adversary of single values would see."""
    ill = [
        ["hiv", "flu"],
        ["hiv"],
        ["hiv", "gout"],
        ["hiv", "rash"],
        ["flu"],
        ["gout"],
        ["rash"],
        [],
    ]
    table = pl.DataFrame({"who": range(8), "age": [20] * 4 + [50] * 4, "ill": ill})
    made = px.publish(table, SCHEMA, px.Mondrian(k=4), seed=1)
    with pytest.raises(ReleaseError, match=r"holds sets of values.*use 'history', by the ledger"):
        made.attack(adversary)
    assert made.attack(px.History()).exposed == 4


def test_who_is_registered_has_no_row_to_be_exposed_by(tmp_path):
    """Persons who left and are still registered keep the candidates that earlier releases left, and
    are none of the persons of a later one.
    """
    table = people("aaaabbbb")
    registry = people("aaaabbbbbbbbbb").drop("ill")
    method = px.GlobalGuarantee(l=2, protect=["b"], expected_later=["b"])
    one = series(tmp_path, method)
    first = one.publish(table, registry=registry)
    alone = {view: first.attack(px.Intersection(view=view)) for view in ("box", "person")}
    assert alone["person"].persons == alone["box"].persons == 8
    assert alone["person"].exposed >= alone["box"].exposed
    later = people("aaaabbbbbbbbbb")[4:].with_columns(ill=pl.Series(list("bbbbababab")))
    one.publish(later, registry=registry)
    for view in ("box", "person"):
        both = one.attack(px.Intersection(view=view))
        assert both.exposed >= alone[view].exposed and both.persons == 14
