# SPDX-License-Identifier: Apache-2.0
"""Who is in whose box, for every type of quasi-identifier."""

from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.guarantees import in_interval
from phalanx.data.hierarchies.hierarchy import Bands, Prefix, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.guarantees.views.boxes import candidate_sets, ends_of, set_of_each, unfitting
from phalanx.guarantees.views.groups import Groups
from phalanx.randomness import Randomness
from phalanx.release.forms.generalized import generalize

JOB = Tree.of_paths(
    [
        ["nurse", "care", "*"],
        ["baker", "craft", "*"],
        ["doctor", "care", "*"],
        ["smith", "craft", "*"],
    ]
)
LEAVES = [path[0] for path in JOB.paths]
SCHEMA = Schema(
    quasi=["age", "pay", "zip", "job", "born", "town"],
    sensitive="ill",
    hierarchies={"age": Bands((10, 20)), "zip": Prefix((2, 1, 0)), "job": JOB},
    missing="value",
)
TYPES = {
    "age": pl.Int64,
    "pay": pl.Float64,
    "zip": pl.String,
    "job": pl.String,
    "born": pl.Date,
    "town": pl.String,
    "ill": pl.String,
}
ROW = st.tuples(
    st.none() | st.integers(0, 40), st.none() | st.sampled_from([0.5, 1.25, 7.0]), st.none() | st.sampled_from(["10", "11", "20"]),
    st.none() | st.sampled_from(LEAVES), st.none() | st.dates(date(1900, 1, 1)), st.none() | st.sampled_from(["", "Z", "a", "é", "𝄞"]), st.sampled_from("xyz"),
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.lists(ROW, min_size=2, max_size=8), st.booleans())
def test_boxes_of_every_type(rows, widened):
    """Numbers, dates, text, prefixes, trees and missing values: the boxes contain whom the slow
    twin says, widened ones too.
    """
    microdata = Microdata.encode(pl.DataFrame(rows, schema=TYPES, orient="row"), SCHEMA)
    form, _ = generalize(
        microdata,
        np.arange(len(rows)),
        np.arange(len(rows)) * 2 // len(rows),
        Randomness.secure().stream("test"),
        min_width={"pay": 2.0, "town": 2, "born": 30} if widened else None,
    )
    values = Groups.of(form).values.to_list()
    q = len(values)
    sets = set_of_each(*candidate_sets(microdata, form, np.arange(q), q), q)
    published = form.table.rows(named=True)

    def place(name, value):
        return LEAVES.index(value) if name == "job" and value is not None else value

    for i, row in enumerate(rows):
        known = dict(zip(TYPES, row, strict=True))
        expected = {
            p["ill"]
            for p in published
            if all(
                in_interval(*(place(q, v) for v in (known[q], p[f"{q}_low"], p[f"{q}_high"])))
                for q in SCHEMA.quasi
            )
        }
        assert {value for v, value in enumerate(values) if int(sets[i, 0]) >> v & 1} == expected
        assert known["ill"] in expected


@pytest.mark.parametrize("who", range(4))
def test_who_is_outside_is_seen_in_every_group(who):
    """One of four persons in two groups is of another age than their box holds, and an end of it is
    of no person any more: in the first group, and in the last one.
    """
    schema = Schema(quasi=["age"], sensitive="ill")
    ages = [20, 22, 40, 42]
    people = Microdata.encode(pl.DataFrame({"age": ages, "ill": [*"abab"]}), schema)
    at = np.array([0, 0, 1, 1])
    stream = Randomness.seeded(1).stream("test")
    form, place = generalize(people, np.arange(4), at, stream)
    ages[who] = 30
    other = Microdata.encode(pl.DataFrame({"age": ages, "ill": [*"abab"]}), schema)
    rows = np.argsort(place[at], kind="stable")
    for table, faults in ((people, (0, 0)), (other, (1, 1))):
        assert unfitting(table, ends_of(table, form), rows, place[at][rows] - 1) == faults
