# SPDX-License-Identifier: Apache-2.0
"""Persons whose sensitive value is not applicable, in a series: those who have one are published as
if the others were not there, whoever turns from one to the other.
"""

import dataclasses
from collections import Counter

import numpy as np
import polars as pl
import pytest

import phalanx as px
from naive import not_applicable as naive
from phalanx.data.microdata import Microdata
from phalanx.data.not_applicable import is_listed
from phalanx.data.persons import PersonKey
from phalanx.errors import GuaranteeError, MethodError, PlanError, SchemaError
from phalanx.methods import not_applicable
from phalanx.methods.base import Memory
from phalanx.randomness import Randomness
from phalanx.release.folder import Release

SCHEMA = px.Schema(
    identifier="who",
    quasi=["age", "zip"],
    sensitive="income",
    not_applicable=["none"],
    types={"zip": "numeric"},
)
PLAIN = dataclasses.replace(SCHEMA, not_applicable=())
KEY = PersonKey(bytes(32))
SERIES = [
    px.MInvariance(m=3),
    px.MInvariance(m=2, regions=2),
    px.MInvariance(m=2, balancing="paper", min_width={"age": 5}),
    px.GlobalGuarantee(l=3, protect=["a", "b"]),
    px.GlobalGuarantee(l=3, grouping="bottom-up"),
    px.GlobalGuarantee(l=3, strategy="constant-ratio", horizon=1, min_width={"age": 5}),
    px.GlobalGuarantee(l=2, protect={"least_frequent": 0.5}),
    px.GlobalGuarantee(l="3/2", protect=["a"], permanent=["a"]),
]
EACH = pytest.mark.parametrize("method", SERIES, ids=lambda m: str(m.parameters()))


def people(incomes, *, only=None):
    """A row for everybody, at the ages and places that go with their number; ``only`` some."""
    frame = pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(len(incomes))],
            "age": [20 + 7 * i % 40 for i in range(len(incomes))],
            "zip": [1000 + 3 * i % 20 for i in range(len(incomes))],
            "income": incomes,
        }
    )
    return frame if only is None else frame.filter(pl.Series(only))


def three():
    """Sixty with a value and forty without; then six of these have one and two of those none; and
    one of the two has again what they had.
    """
    first = ["abcdef"[i % 6] for i in range(60)] + ["none"] * 40
    then = first[:60] + list("abcdef") + ["none"] * 34
    then[1] = then[2] = "none"
    last = list(then)
    last[1] = first[1]
    return [first, then, last]


def drafts(method, releases, schema, registry=None):
    """The drafts of a series by seeded randomness, with the memory carried on."""
    memory, made = Memory(), []
    for number, frame in enumerate(releases):
        microdata = Microdata.encode(frame, schema, KEY, registry)
        draft = method.publish(microdata, memory, Randomness.seeded(number))
        mapping = draft.mapping(microdata).sort("person")
        memory = memory.after(draft, mapping)
        made.append(draft)
    return made


def contents(form, *, without=()):
    """The groups of a form as they are written, whatever they are called; those left out that hold
    one of these values. Counterfeits and registered persons are counted.
    """
    held = {}
    for group, *row in form.table.rows():
        held.setdefault(group, []).append(tuple(map(str, row)))
    more = [
        {} if counts is None else dict(counts.rows())
        for counts in (form.counterfeits, form.registered)
    ]
    return Counter(
        (tuple(sorted(rows)), *(of.get(group, 0) for of in more))
        for group, rows in held.items()
        if not any(row[-1] in without for row in rows)
    )


@EACH
def test_a_series_holds_and_mixes_no_group(tmp_path, method):
    """Every check holds after each release, and those who had none and come to have a value are as
    newcomers.
    """
    series = px.Series("s", SCHEMA, method, to=tmp_path / "out")
    for incomes in three():
        release = series.publish(people(incomes))
        rows = release.table.to_dicts()

        assert naive.mixed(naive.groups_of(rows, "group", "income"), ["none"]) == 0
        assert sum(row["income"] == "none" for row in rows) == incomes.count("none")
    found = series.verify()

    assert found.holds, [check for check in found.checks if not check.holds]
    assert sum("values that are not applicable" in check.name for check in found.checks) == 3
    alone = px.verify([tmp_path / "out" / f"s-{n}" for n in (1, 2, 3)])
    assert alone.holds


@EACH
def test_those_with_a_value_are_published_as_if_the_others_were_not_there(method):
    """The same chance gives the same groups, release by release, as of tables of them alone."""
    tables = three()
    together = drafts(method, [people(incomes) for incomes in tables], SCHEMA)
    alone = drafts(
        method, [people(incomes, only=[v != "none" for v in incomes]) for incomes in tables], PLAIN
    )

    for one, other in zip(together, alone, strict=True):
        assert contents(one.form, without=["none"]) == contents(other.form)
        assert {name: t.rows() for name, t in one.remember.items()} == {
            name: t.rows() for name, t in other.remember.items()
        }
        assert {name: t.rows() for name, t in one.state.items()} == {
            name: t.rows() for name, t in other.state.items()
        }


def test_a_registered_person_without_a_value_hides_nobody():
    """Persons who are registered and absent may be anybody's company; one who is there and has no
    value is known not to be.
    """
    method, everybody = px.GlobalGuarantee(l=3, protect=["a"]), people(["x"] * 100)
    there = [i % 5 > 0 for i in range(100)]
    incomes = three()[0]
    with_value = [here and v != "none" for here, v in zip(there, incomes, strict=True)]
    neither = everybody.filter(
        pl.Series([here == valued for here, valued in zip(there, with_value, strict=True)])
    )
    (together,) = drafts(method, [people(incomes, only=there)], SCHEMA, everybody)
    (alone,) = drafts(method, [people(incomes, only=with_value)], PLAIN, neither)

    assert together.form.registered_persons > 0
    assert contents(together.form, without=["none"]) == contents(alone.form)


@EACH
def test_a_method_that_mixes_is_caught(tmp_path, monkeypatch, method):
    """The broken twin publishes all rows alike, and the check of the files sees it."""
    monkeypatch.setattr(
        not_applicable, "rows_apart", lambda m: (np.arange(m.rows), np.zeros(0, np.int64))
    )
    incomes = ["abcdef"[i % 6] if i % 5 else "none" for i in range(100)]
    with pytest.raises(GuaranteeError, match="not applicable beside others"):
        px.Series("s", SCHEMA, method, to=tmp_path / "out").publish(people(incomes))


def test_what_is_not_applicable_stays_so_over_a_series(tmp_path):
    """Who stood in a group as one of two values and now stands apart has that value, and the other
    one is their neighbour's: a later list is refused, by the publisher and by the check.
    """
    series = px.Series("s", PLAIN, px.MInvariance(m=3), to=tmp_path / "out")
    series.publish(people(["abcdef"[i % 6] for i in range(60)]))
    later = dataclasses.replace(SCHEMA, not_applicable=["a"])
    with pytest.raises((SchemaError, px.PhalanxError)):
        px.Series("s", later, px.MInvariance(m=3), to=tmp_path / "out").publish(
            people(["abcdef"[i % 6] for i in range(60)])
        )
    one = px.publish(people(["abcdef"[i % 6] for i in range(60)]), PLAIN, px.Mondrian(k=3))
    other = px.publish(people(["abcdef"[i % 6] for i in range(60)]), later, px.Mondrian(k=3))
    manifest = other.manifest.model_copy(update={"number": 2, "previous": one.digest})
    after = (
        dataclasses.replace(other, manifest=manifest) if dataclasses.is_dataclass(other) else other
    )
    failing = [c for c in px.verify([one, after]).checks if not c.holds]

    assert any("its attributes are not those" in c.note for c in failing)


@pytest.mark.parametrize("method", [px.MInvariance(m=3), px.GlobalGuarantee(l=3)])
def test_few_others_and_no_others(tmp_path, method):
    """Fewer than a group needs are refused, and a release of nobody with a value, too."""
    series = px.Series("s", SCHEMA, method, to=tmp_path / "out")
    with pytest.raises(MethodError, match=r"not applicable in 2 row.* needs 3"):
        series.publish(people(["abcdef"[i % 6] for i in range(60)] + ["none"] * 2))
    with pytest.raises(MethodError, match="not applicable in any row"):
        series.publish(people(["none"] * 60))


@pytest.mark.parametrize("key", ["protect", "permanent"])
def test_a_plan_does_not_protect_what_is_not_applicable(tmp_path, key):
    """One of the two is a mistake."""
    method = px.GlobalGuarantee(**{"l": 2, "protect": ["a"], key: ["none"]})
    with pytest.raises(PlanError, match=f"{key} names 'none', and the schema lists it as not"):
        px.Series("s", SCHEMA, method, to=tmp_path / "out").publish(people(three()[0]))


def test_an_adversary_is_played_on_the_others(tmp_path):
    """Whoever ever had a value is attacked by the releases in which they had one."""
    series = px.Series("s", SCHEMA, px.MInvariance(m=3), to=tmp_path / "out")
    for incomes in three():
        series.publish(people(incomes))
    found = series.attack(px.Intersection())

    assert (found.persons, found.exposed) == (66, 0)


def test_a_release_is_read_again_with_all_its_groups(tmp_path):
    """Numbers of groups and counts of counterfeits go together in the files."""
    series = px.Series("s", SCHEMA, px.MInvariance(m=2), to=tmp_path / "out")
    first, then, _ = three()
    series.publish(people(first))
    gone = [i % 7 > 1 for i in range(100)]
    series.publish(people(then, only=gone))
    form = Release.read(tmp_path / "out" / "s-2").form

    assert form.counterfeit_rows > 0
    assert sorted(form.table["group"].unique()) == list(range(1, form.groups + 1))
    assert form.table["group"].is_sorted() and form.counterfeits["group"].is_sorted()
    listed = form.table.filter(pl.col("income") == "none")["group"].unique()
    assert not form.counterfeits["group"].is_in(listed.implode()).any()


NUMBERS = [
    px.MInvariance(m=2, changed="new-record"),
    px.GlobalGuarantee(l=1.5),
    px.GlobalGuarantee(l=1.5, grouping="bottom-up"),
    px.Mondrian(k=2, l=1.5),
]


@pytest.mark.parametrize("listed", [0, 0.0, "0", "0.0", "-0"])
@pytest.mark.parametrize("method", NUMBERS, ids=lambda m: m.name)
def test_a_number_is_listed_in_every_type(tmp_path, method, listed):
    """Who has 0 stands apart where the column has fractions, none, or fewer bits, and where 0 is
    listed as text: the list would be another one else.
    """
    schema = dataclasses.replace(SCHEMA, not_applicable=[listed])
    series = px.Series("s", schema, method, to=tmp_path / "out", report=False)
    whole = [i % 7 for i in range(98)]
    halves = [n + (0.5 if n and i % 2 else 0.0) for i, n in enumerate(whole)]
    tables = [
        people(pl.Series(incomes, dtype=dtype))
        for incomes, dtype in (
            (whole, pl.Int64),
            (halves, pl.Float64),
            (whole, pl.Int8),
            (halves, pl.Float64),
        )
    ]
    for table in tables:
        rows = series.publish(table).form.table
        mixed = rows.group_by("group").agg(pl.col("income").eq_missing(0).mean().alias("none"))
        assert set(mixed["none"]) == {0, 1}
    assert series.verify(originals=tables).holds


@pytest.mark.parametrize("types", [{}, {"income": "categorical"}])
def test_who_is_left_without_a_number_beside_those_who_have_none(tmp_path, types):
    """Values are suppressed in a table of whole numbers that follows one with fractions, beside
    persons who have none, as in any other.
    """
    schema = dataclasses.replace(SCHEMA, not_applicable=[0], types={"zip": "numeric"} | types)
    method = px.GlobalGuarantee(l=2, alpha=1.01)
    series = px.Series("s", schema, method, to=tmp_path / "out", report=False)
    whole = [i % 7 for i in range(98)]
    tables = [people([n + 0.5 if n else 0.0 for n in whole]), *[people(whole)] * 3]
    made = [series.publish(table) for table in tables]
    assert made[-1].suppressed_values
    assert series.verify(originals=tables).holds


@pytest.mark.parametrize(
    ("listed", "value", "same"),
    [
        ("1/2", 0.5, False),
        ("0.50", 0.5, True),
        ("nan", 0.5, False),
        (" 5", 5, True),
        ("9007199254740993", 2**53 + 1, True),
        ("9007199254740993", 2**53, False),
        ("9007199254740993", float(2**53), False),
        (0, "0", True),
        ("0.0", "0", False),
        (0.5, 0.5, True),
        (1, 0.5, False),
        ("none", 0, False),
    ],
)
def test_maker_and_checker_list_the_same(listed, value, same):
    """Both compare a number with what is listed exactly, and a text by its letters."""
    assert not_applicable._alike(value, listed) is same
    assert is_listed(pl.Series([value]), [listed]).tolist() == [same]
