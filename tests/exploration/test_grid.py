# SPDX-License-Identifier: Apache-2.0
"""Which points are explored."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from phalanx import Mondrian
from phalanx.data.schema import Schema
from phalanx.errors import PlanError
from phalanx.exploration.grid import label, sections
from phalanx.methods.base import KNOWN, OURS, offers

OWN = {"name": "mondrian", "k": 4, "l": 2, "cuts": "strict"}
SCHEMA = Schema(identifier="who", quasi=["age"], sensitive="ill")


def test_every_method_of_ours_is_tried() -> None:
    """Over figures that its plan may have, which it offers itself."""
    assert set(offers()) == set(OURS)
    for name, offer in offers().items():
        fields = {one.name for one in dataclasses.fields(KNOWN[name])}
        assert offer.tried and {*offer.tried, *offer.tried_beside} <= fields
        assert {asked.key for asked in offer.asked} <= fields


def test_every_combination_is_a_point_once_and_the_plans_own_is_first() -> None:
    """The plan's other parameters stay where the method is its own, and of others are the method's."""
    found = sections(
        OWN, SCHEMA, ["mondrian k=4,8 l=2", "anatomy l=5/2", {"name": "anatomy", "l": 3}]
    )
    assert found == [
        OWN,
        {"name": "mondrian", "k": 8, "l": 2, "cuts": "strict"},
        {"name": "anatomy", "l": "5/2"},
        {"name": "anatomy", "l": 3},
    ]
    numbers = {"name": "mondrian", "k": np.int64(5), "min_width": {"age": np.float32(2)}}
    k = sections(OWN, SCHEMA, [numbers])[1]["k"]
    assert k == 5 and type(k) is int
    assert label(found[1]) == "mondrian k=8 l=2 cuts=strict"
    assert sections(OWN, SCHEMA, ["mondrian cuts=balanced min_width={age=5}"])[1]["min_width"] == {
        "age": 5
    }


@pytest.mark.parametrize(
    ("schema", "methods"),
    [
        (Schema(quasi=["age"]), {"mondrian", "mutual-cover"}),
        (
            Schema(quasi=["age"], sensitive="ill"),
            {"mondrian", "mutual-cover", "anatomy", "slicing"},
        ),
        (SCHEMA, set(OURS) - {"safe-sampling"}),
    ],
)
def test_what_the_schema_has_a_place_for_is_tried(schema: Schema, methods: set[str]) -> None:
    """No value is hidden where none is sensitive, and nobody followed where nobody is named."""
    found = sections(OWN, schema)
    assert found[0] == OWN and {each["name"] for each in found} == methods
    assert [each["k"] for each in found if each["name"] == "mondrian"] == [4, 5, 10, 20]
    assert all(each.get("cuts") == "strict" for each in found if each["name"] == "mondrian")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("mondrain k=5", "did you mean 'mondrian'"),
        ("mondrian k", "write it as key=value,value"),
        ("mondrian k=5 k=6", "has 'k' twice; write all its values in one word"),
        ("mondrian name=anatomy", "which is no parameter"),
        ("", "names no method"),
        (" ", "names no method"),
        ({"k": 5}, "names no method"),
        ({"name": [1]}, "names no method"),
        (Mondrian(k=5), "is of the type Mondrian; give a text"),
        (5, "is of the type int; give a text"),
        ({"name": "mondrian", "l": Fraction(5, 2)}, "'l' is of the type Fraction; give a number"),
        ("mondrian k={0} l={0}".format(",".join(map(str, range(9999)))), "99980001 points"),
        ("mondrian k=" + ",".join(map(str, range(300))), "at most 200 are tried"),
    ],
)
def test_what_is_no_grid_is_refused(asked: object, says: str) -> None:
    """In one sentence, with what to do."""
    with pytest.raises(PlanError, match=says):
        sections(OWN, SCHEMA, [asked])


def test_one_thing_is_no_list() -> None:
    """What stands in the place of the list of points is refused as one of them would be."""
    with pytest.raises(PlanError, match="a point of the grid is of the type Mondrian"):
        sections(OWN, SCHEMA, Mondrian(k=5))  # type: ignore[arg-type]


def test_what_is_no_value_of_toml_is_a_text() -> None:
    """A date, more digits than anybody reads, and brackets too deep go to the method as they were
    written, which refuses them; values that are named again are no points.
    """
    for text in ("1979-05-27", "9" * 5000, "[" * 30_000):
        assert sections(OWN, SCHEMA, [f"mondrian k={text}"])[1]["k"] == text
    again = ",".join(["8"] * 9999)
    assert len(sections(OWN, SCHEMA, [f"mondrian k={again} l={again}"])) == 2
