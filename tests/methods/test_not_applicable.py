# SPDX-License-Identifier: Apache-2.0
"""Persons whose sensitive value is not applicable, in one release: in groups of their own, and out
of all promises about values. Series are in ``test_not_applicable_series.py``, forms without groups
in ``test_not_applicable_rows.py``.
"""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phalanx as px
from naive import not_applicable as naive
from phalanx.data.microdata import Microdata
from phalanx.errors import GuaranteeError, MethodError, NotEligible, PlanError, SchemaError
from phalanx.guarantees.verify import verify as verdicts_of
from phalanx.methods import not_applicable
from phalanx.release.applicable import applicable, rows_by_group
from phalanx.release.folder import Release
from phalanx.release.manifest import NAME

SCHEMA = px.Schema(
    quasi=["age", "zip"],
    sensitive="income",
    not_applicable=["none"],
    types={"zip": "numeric"},
)
PLAIN = dataclasses.replace(SCHEMA, not_applicable=())
METHODS = [
    px.Mondrian(k=4, l=3),
    px.Mondrian(k=4, l=2, cuts="strict"),
    px.Mondrian(k=4, l=2, cuts="relaxed"),
    px.Mondrian(k=4, t="2/5"),
    px.Mondrian(k=4, t="2/5", distance="ordered", cuts="strict"),
    px.Anatomy(l=4),
    px.Slicing(l=3),
    px.Slicing(l=3, cuts="relaxed", sensitive_column_size=1),
    px.Slicing(l=3, sensitive_column_size=1, generalize_columns_k=4),
    px.Slicing(l=3, grouping="membership", bucket_size=10),
    px.Slicing(l=3, grouping="random", bucket_size=10, sensitive_column_size=1, compact=True),
]


def households(adults=60, children=40):
    """Children under 16 have no income, and are the most frequent value; the incomes of adults are
    evenly many. In an order that tells nothing of who is who.
    """
    age = [18 + 7 * i % 40 for i in range(adults)] + [i % 16 for i in range(children)]
    income = ["abcdef"[i % 6] for i in range(adults)] + ["none"] * children
    frame = pl.DataFrame(
        {"age": age, "zip": [1000 + 3 * i % 20 for i in range(len(age))], "income": income}
    )
    return frame[(np.arange(len(age)) * 37 % len(age)).tolist()]


def rows_of(release):
    """Every published row with its group: of sliced ones the last column's, of bucketized ones a
    row for each count.
    """
    form = release.form
    groups, values, times = form.sensitive_counts()
    count = [1] * len(groups) if times is None else times.to_list()
    return [
        {"group": g, "income": v}
        for g, v, n in zip(groups, values, count, strict=True)
        for _ in range(n)
    ]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: str(m.parameters()))
def test_rows_stand_in_groups_of_their_own_and_others_as_if_alone(method):
    """No group is mixed, all rows are there, each check holds, and no value has more than 1/l among
    the others, by loops over the published rows.
    """
    table = households()
    release = px.publish(table, SCHEMA, method)
    groups = naive.groups_of(rows_of(release), "group", "income")
    checks = {check.name: check for check in release.verify().checks}
    stated = next(v for name, v in checks.items() if "not applicable" in name)

    assert all(check.holds for check in checks.values())
    assert naive.mixed(groups, ["none"]) == 0
    assert sum(map(len, groups.values())) == table.height
    if getattr(method, "l", None) is not None and method.parameters().get("cuts") != "relaxed":
        assert naive.largest_share(groups, ["none"]) <= 1 / method.l
    assert stated.result == "not covered" and "40 row(s)" in stated.note
    assert release.manifest.attributes[-1].not_applicable == ["none"]


@pytest.mark.parametrize("method", [px.Slicing(l=3), px.Anatomy(l=3), px.Mondrian(k=2, l=3)])
def test_what_is_so_frequent_is_refused_where_it_is_not_declared(method):
    """Forty of a hundred have none, which no l = 3 allows."""
    with pytest.raises(NotEligible):
        px.publish(households(), PLAIN, method)


def test_adults_are_published_as_if_nobody_else_were_in_the_table():
    """Strict cuts draw nothing: the adults' boxes are those of a table of adults."""
    method, table = px.Mondrian(k=4, l=2, cuts="strict"), households()
    together = px.publish(table, SCHEMA, method).table
    alone = px.publish(table.filter(pl.col("income") != "none"), PLAIN, method).table

    def boxes(frame):
        return sorted(frame.drop("group").rows())

    assert boxes(together.filter(pl.col("income") != "none")) == boxes(alone)


def test_only_applicable_values_are_suppressed_as_too_frequent():
    """As few adults as leave l possible among adults; every child is published."""
    table = households().with_columns(income=pl.col("income").replace({"b": "a", "c": "a"}))
    method = px.Slicing(l=3, sensitive_column_size=1, not_eligible="suppress")
    release = px.publish(table, SCHEMA, method)
    groups = naive.groups_of(rows_of(release), "group", "income")

    assert all(check.holds for check in release.verify().checks)
    assert sum(values.count("none") for values in groups.values()) == 40
    assert sum(map(len, groups.values())) == 40 + 45  # 15 of 30 that are no "a" allow 15 of it
    assert naive.largest_share(groups, ["none"]) <= 1 / 3


def test_k_covers_everybody():
    """Groups of children have k rows, too; and fewer children than k are refused in a sentence."""
    release = px.publish(households(children=9), SCHEMA, px.Mondrian(k=4, l=2))
    with pytest.raises(MethodError, match=r"not applicable in 3 row.* needs 4"):
        px.publish(households(children=3), SCHEMA, px.Mondrian(k=4, l=2))

    assert min(release.table.group_by("group").len()["len"]) >= 4


def test_a_table_of_nobody_with_a_value_is_refused():
    """Nothing would be promised to anybody."""
    with pytest.raises(MethodError, match="not applicable in any row"):
        px.publish(households(adults=0), SCHEMA, px.Mondrian(k=4, l=2))


class Plain:
    """A method of another package, which has no word about such rows."""

    name = "plain"


def test_a_method_without_such_groups_refuses():
    """In one sentence, before anything is made."""
    with pytest.raises(SchemaError, match="'not_applicable' is declared, and plain"):
        not_applicable.check_takes(Plain(), SCHEMA)


def mixing(microdata, _, others, **__):
    """The broken twin: all rows are grouped as if their values were alike."""
    return others(microdata)


def test_a_method_that_mixes_is_caught(monkeypatch):
    """The check of the files sees groups of both."""
    import phalanx.methods.mondrian.method as mondrian

    monkeypatch.setattr(mondrian, "grouped_apart", mixing)
    with pytest.raises(GuaranteeError, match="not applicable beside others"):
        px.publish(households(), SCHEMA, px.Mondrian(k=4, l=2))


def test_a_manifest_that_lists_a_value_later_is_caught(tmp_path):
    """Who lists a frequent value afterwards to pass with it has mixed groups."""
    px.publish(households(children=0), PLAIN, px.Mondrian(k=4, l=2)).save(tmp_path / "r")
    place = tmp_path / "r" / NAME
    fields = json.loads(place.read_text())
    fields["attributes"][-1]["not_applicable"] = ["a"]
    place.write_text(json.dumps(fields, indent=1, ensure_ascii=False) + "\n")
    checks = px.verify(tmp_path / "r").checks

    assert "not applicable beside others" in next(c.note for c in checks if not c.holds)


def test_a_manifest_that_lists_all_values_promises_nothing(tmp_path):
    """Nobody is left whom it covers."""
    made = px.publish(households(children=0), PLAIN, px.Mondrian(k=4, l=2))
    made.save(tmp_path / "r")
    place = tmp_path / "r" / NAME
    fields = json.loads(place.read_text())
    fields["attributes"][-1]["not_applicable"] = list("abcdef")
    place.write_text(json.dumps(fields, indent=1, ensure_ascii=False) + "\n")
    failing = [c for c in px.verify(tmp_path / "r").checks if not c.holds]

    assert "nothing is promised to anybody" in failing[0].note


def test_adversaries_infer_the_others_values_only():
    """Certainty about children is no breach, and nobody's value but the adults' is attacked."""
    release = px.publish(households(), SCHEMA, px.Mondrian(k=4, l=3))
    found = release.attack(px.Posterior())

    assert (found.persons, found.exposed) == (60, 0)


@pytest.mark.parametrize(
    "method",
    [
        px.Anatomy(l=4),
        px.Slicing(l=3),
        px.Slicing(l=3, grouping="random", bucket_size=10, compact=True),
    ],
)
def test_adversaries_read_buckets_whose_numbers_have_gaps(method):
    """The buckets of adults keep their numbers, between which the children's were; who is of an age
    of their own is drawn rightly with the share of their income in their bucket.
    """
    people = households().with_columns(age=pl.int_range(100), person=pl.int_range(100))
    schema = dataclasses.replace(
        SCHEMA, identifier="person", quasi=["age"], types={"age": "numeric"}, drop=["zip"]
    )
    release = px.publish(people, schema, method, seed=5)
    form, adults = release.form, people.filter(pl.col("income") != "none")
    if form.kind == "bucketized":
        rows, values = form.table, form.values
    else:
        rows, values = form.parts
    bucket = dict(rows["age", "bucket"].rows())
    held = {(b, value): times for b, value, times in values["bucket", "income", "count"].rows()}
    size = dict(values.group_by("bucket").agg(pl.col("count").sum()).rows())
    shares = [
        held.get((bucket[age], income), 0) / size[bucket[age]]
        for age, income in adults["age", "income"].rows()
    ]
    found = release.attack(px.Posterior())

    of_adults = {bucket[age] for age in adults["age"]}
    assert max(of_adults) > len(of_adults)
    assert (found.persons, found.drawing) == (60, pytest.approx(np.mean(shares)))
    for learner in (px.Posterior(by="learning"), px.SeriesLearning()):
        assert release.attack(learner).persons == found.persons


def test_a_release_without_such_values_is_written_as_before(tmp_path):
    """Not one byte says that there could be any."""
    made = px.publish(households(children=0), PLAIN, px.Mondrian(k=4, l=2)).save(tmp_path / "r")

    assert b"not_applicable" not in (tmp_path / "r" / NAME).read_bytes()
    assert applicable(made) is made
    assert all(v.holds for v in verdicts_of([Release.read(tmp_path / "r")]))


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["a", "b", "none", "0"])), min_size=1))
def test_groups_are_counted_as_by_loops(pairs):
    """Rows with and without a value by group, against the slow twin."""
    attributes = [
        {"name": "age", "role": "quasi", "type": "numeric", "columns": ["age_low", "age_high"]},
        {
            "name": "income",
            "role": "sensitive",
            "type": "categorical",
            "columns": ["income"],
            "not_applicable": ["none", 0],
        },
    ]
    from phalanx.release.forms.generalized import Generalized
    from phalanx.release.manifest import PublishedAttribute

    table = pl.DataFrame(
        {
            "group": [g for g, _ in pairs],
            "age_low": [1] * len(pairs),
            "age_high": [1] * len(pairs),
            "income": [v for _, v in pairs],
        }
    )
    form = Generalized(table, tuple(PublishedAttribute(**a) for a in attributes))
    counted = rows_by_group(form)
    groups = naive.groups_of(table.to_dicts(), "group", "income")

    assert counted.rows() == [
        (
            group,
            sum(v in ("none", "0") for v in values),
            sum(v not in ("none", "0") for v in values),
        )
        for group, values in sorted(groups.items())
    ]


def test_parts_are_numbered_without_gaps():
    """The groups of the others come after those of the first, from 0."""
    microdata = Microdata.encode(households(adults=6, children=4), SCHEMA)
    groups = not_applicable.grouped_apart(
        microdata, lambda part: np.arange(part.rows) // 3, lambda part: np.zeros(part.rows, int)
    )

    assert sorted(set(groups.tolist())) == [0, 1, 2]


PLAN = """
[series]
name = "s"
[source]
path = "t.csv"
[schema]
quasi = ["age", "zip"]
sensitive = "income"
not_applicable = {listed}
[method]
name = "mondrian"
k = 4
l = 2
[publish]
to = "out"
"""


@pytest.mark.parametrize("listed", ['["none"]', "[0, 1.5]", "[]"])
def test_a_plan_lists_them(tmp_path, listed):
    """Texts and numbers, as TOML writes them."""
    (tmp_path / "plan.toml").write_text(PLAN.format(listed=listed))
    schema = px.Plan.read(tmp_path / "plan.toml").schema()

    assert str(list(schema.not_applicable)) == listed.replace('"', "'")


@pytest.mark.parametrize("listed", ['"none"', "[true]", "[[1]]", "{ a = 1 }"])
def test_a_plan_with_something_else_is_refused(tmp_path, listed):
    """In a sentence that names the key."""
    (tmp_path / "plan.toml").write_text(PLAN.format(listed=listed))
    with pytest.raises(PlanError, match="not_applicable"):
        px.Plan.read(tmp_path / "plan.toml").schema()
