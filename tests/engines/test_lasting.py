# SPDX-License-Identifier: Apache-2.0
"""Parts in which persons stay: cut once, remembered in the attributes' own units, and found again by
the person.
"""

import json
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx import Schema, Tree
from phalanx.data.persons import PersonKey
from phalanx.engines.lasting import Belonging, Lasting
from phalanx.engines.regions import Attribute, Region, regions
from phalanx.errors import SchemaError, SourceError
from phalanx.randomness import Randomness

KEY = PersonKey(bytes(32))
TREE = Tree.of_mapping({"north": ["b", "a", "e"], "south": ["d", "c"]})
SCHEMA = Schema(quasi=["age", "day", "word", "place"], hierarchies={"place": TREE})
FRAME = pl.DataFrame(
    {
        "age": [3, 9, 21, None, 40],
        "day": [date(2020, 1, 1) + timedelta(days=9 * i) for i in range(5)],
        "word": ["x", "ab", "m", "f", "k"],
        "place": ["a", "d", "b", "c", "e"],
    }
)


def stream():
    return Randomness.seeded(1).stream("test")


def looked(frame):
    attributes = [Attribute(name, SCHEMA) for name in SCHEMA.quasi]
    for one in attributes:
        one.see(frame[one.name])
    return attributes


def sides(attribute, cut, values):
    """Which values lie below a cut."""
    return (attribute.places(attribute.canonical(values)) < attribute.place_of(cut)).tolist()


@pytest.mark.parametrize("name", SCHEMA.quasi)
def test_a_cut_parts_the_same_values_in_every_table(name):
    """Whatever other values a later table has: numbers and dates beyond the ends, words and leaves
    between those that were there; a missing value is below all.
    """
    later = pl.DataFrame(
        {
            "age": [3, 9, 21, None, 40, -7, 99],
            "day": [*FRAME["day"], date(2010, 1, 1), date(2030, 1, 1)],
            "word": [*FRAME["word"], "a", "z"],
            "place": [*FRAME["place"], "a", "d"],
        }
    )
    number = SCHEMA.quasi.index(name)
    first, second = looked(FRAME)[number], looked(later)[number]
    places = np.unique(first.places(first.canonical(FRAME[name])))
    for below, above in pairwise(places):
        at = (below + above) / 2
        cut = json.loads(json.dumps(first.cut_at(at)))
        expected = (first.places(first.canonical(FRAME[name])) < at).tolist()
        assert sides(first, cut, FRAME[name]) == expected
        assert sides(second, cut, later[name])[: FRAME.height] == expected
        if name in ("age", "day") and below >= 0:
            assert sides(second, cut, later[name])[FRAME.height :] == [True, False]


@pytest.mark.parametrize("name", SCHEMA.quasi)
def test_missing_values_stay_apart_from_all_others(name):
    """Where they were cut apart once, whatever values a later table has: none of the first."""
    later = pl.DataFrame(
        {
            "age": [None, 1_000, -1_000],
            "day": [None, date(2200, 1, 1), date(1800, 1, 1)],
            "word": [None, "A", "zz"],
            "place": [None, "c", "b"],
        }
    )
    number = SCHEMA.quasi.index(name)
    half_missing = pl.concat(
        [FRAME[name].drop_nulls(), pl.Series(name, [None] * 5, FRAME[name].dtype)]
    )
    attributes, second = looked(FRAME), looked(later)
    first = Attribute(name, SCHEMA)
    first.see(half_missing)
    attributes[number] = first
    root = regions(first.places(first.canonical(half_missing))[:, None], 10, 6)
    root = replace(root, attribute=number)
    lasting = Lasting(root, list(range(1, root.end + 1)))
    remembered = json.loads(json.dumps(lasting.to_json(attributes)))
    again = Lasting.of_json(remembered, second).root
    assert root.at == again.at
    places = second[number].places(second[number].canonical(later[name]))
    assert (places < again.at).tolist() == [True, False, False]


@pytest.mark.parametrize("name", ["age", "day"])
def test_a_number_that_became_a_text_is_told(name):
    """Without a value of it: such a table has no place along a cut of numbers."""
    number = SCHEMA.quasi.index(name)
    at = json.loads(json.dumps(looked(FRAME)[number].cut_at(0.5)))
    attribute = Attribute(name, SCHEMA)
    attribute.see(FRAME[name].cast(pl.String).fill_null("Zq7"))
    with pytest.raises(SchemaError, match=f"column '{name}' is categorical in this table") as told:
        attribute.place_of(at)
    assert "Zq7" not in str(told.value)


def test_parts_are_what_was_remembered_of_them():
    """Through JSON, with cells that chance deals out among several parts."""
    attributes = looked(FRAME)
    root = Region(0, 0.5, Region(first=0, ways=2), Region(2, 0.4, Region(first=2), Region(first=3)))
    lasting = Lasting(root, [2, 4, 1, 3])
    again = Lasting.of_json(json.loads(json.dumps(lasting.to_json(attributes))), attributes)
    assert again.of_cell == lasting.of_cell
    places = np.stack([one.places(one.canonical(FRAME[one.name])) for one in attributes], axis=1)
    assert (again.root.parts_of(places, stream()) == root.parts_of(places, stream())).all()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9).filter(any), st.integers(1, 12))
def test_every_cell_is_in_a_part_that_is_not_too_small(counts, least):
    """Also one without a row, in which somebody may live later; parts are numbered from 1."""
    lasting = Lasting.begun(Region(ways=len(counts)), counts, least, stream())
    rows = dict.fromkeys(lasting.parts, 0)
    for part, count in zip(lasting.of_cell, counts, strict=True):
        rows[part] += count
    assert sorted(rows) == list(range(1, len(rows) + 1))
    assert min(rows.values()) >= min(least, sum(counts))
    new = lasting.newcomers(counts, least)
    assert set(new) == set(rows)
    for target in set(new.values()):
        together = sum(rows[part] for part in rows if new[part] == target)
        assert together >= min(least, sum(counts))
        assert new[target] == target


def test_a_person_is_found_in_the_part_they_were_in(tmp_path):
    """Of three hundred every third one is known, of two parts; a person in both, which no check lets
    happen, is found in one of them; one who is twice in the table is refused.
    """
    persons = KEY.hash(pl.Series([f"p{number}" for number in range(300)]))
    with Belonging(tmp_path) as belonging:
        belonging.see(persons[:200])
        belonging.see(persons[200:])
        belonging.know(1, persons.gather_every(6))
        belonging.know(7, persons.gather_every(6, offset=3))
        belonging.know(2, KEY.hash(pl.Series(["gone"])))
        belonging.know(3, persons.clear())
        expected = [1 if i % 6 == 0 else 7 if i % 6 == 3 else -1 for i in range(300)]
        assert belonging.parts("who").tolist() == expected
        belonging.see(persons[5:7])
        with pytest.raises(SourceError, match=r"^2 row\(s\) repeat a person"):
            belonging.parts("who")
    assert list(tmp_path.iterdir()) == []


def test_a_cut_at_a_leaf_that_is_named_no_more_is_the_hierarchys_fault():
    """And not the table's, whose values are all named; one that is not is said as anywhere."""
    tree = Tree.of_mapping({"north": ["b", "a"], "south": ["c"]})
    schema = Schema(quasi=["place"], hierarchies={"place": tree})
    for values, told in (
        (["a", "c"], "'place' has another hierarchy than the series began with"),
        (["a", "e"], "'place' holds 1 distinct value"),
    ):
        attribute = Attribute("place", schema)
        attribute.see(pl.Series("place", values))
        with pytest.raises(SchemaError, match=told):
            attribute.place_of("d")
