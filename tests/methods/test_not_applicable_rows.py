# SPDX-License-Identifier: Apache-2.0
"""Persons whose sensitive value is not applicable, in releases without groups: of mutual cover they
cover for each other alone, and of safe sampling nothing changes.
"""

import dataclasses

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx.adversaries.records.informed import Informed
from phalanx.data.microdata import Microdata
from phalanx.errors import GuaranteeError, MethodError
from phalanx.methods.base import Memory
from phalanx.methods.mutual_cover import method as mutual_cover
from phalanx.methods.mutual_cover.output_tables import widened
from phalanx.randomness import Randomness

SCHEMA = px.Schema(
    quasi=["age", "zip"],
    sensitive="income",
    not_applicable=["none"],
    types={"age": "numeric", "zip": "numeric"},
)
PLAIN = dataclasses.replace(SCHEMA, not_applicable=())
COVER = [
    px.MutualCover(delta="1/4"),
    px.MutualCover(delta="1/3", grouping="mondrian", changes=2),
    px.MutualCover(delta="1/2", k=5, distances={"age": "equal"}),
]


def table(adults=60, children=40):
    """Children under 20, and adults, whose ages overlap a little."""
    age = [16 + 7 * i % 40 for i in range(adults)] + [i % 20 for i in range(children)]
    frame = pl.DataFrame(
        {
            "age": age,
            "zip": [1000 + 3 * i % 20 for i in range(len(age))],
            "income": ["abcdef"[i % 6] for i in range(adults)] + ["none"] * children,
        }
    )
    return frame[(np.arange(len(age)) * 37 % len(age)).tolist()]


@pytest.mark.parametrize("method", COVER, ids=lambda m: str(m.parameters()))
def test_no_group_holds_both(method):
    """By loops over the random output tables' groups; and the check says so."""
    microdata = Microdata.encode(table(), SCHEMA)
    tables = method.tables(microdata)
    without = [
        microdata.sensitive.domain.values[int(c)] == "none" for c in microdata.sensitive.codes
    ]
    held = {}
    for group, lacks in zip(tables.group.tolist(), without, strict=True):
        held.setdefault(group, set()).add(lacks)
    release = px.publish(table(), SCHEMA, method)
    checks = {check.name.split(": ")[-1]: check for check in release.verify().checks}

    assert all(len(kinds) == 1 for kinds in held.values())
    assert "40 row(s) stand in groups of their own" in checks["rows without a value"].note
    assert checks["values that are not applicable"].result == "stated"
    assert release.manifest.attributes[-1].not_applicable == ["none"]
    assert all(check.holds for check in checks.values())


def test_a_method_that_mixes_is_caught(monkeypatch):
    """The broken twin cuts all rows together, and the random output tables show it."""
    monkeypatch.setattr(
        mutual_cover, "grouped_apart", lambda microdata, one, _, **__: one(microdata)
    )
    monkeypatch.setattr(
        mutual_cover, "rows_apart", lambda m: (np.arange(m.rows), np.zeros(0, np.int64))
    )
    with pytest.raises(GuaranteeError, match="not applicable beside others"):
        px.publish(table(), SCHEMA, px.MutualCover(delta="1/4"))


def test_without_groups_of_their_own_a_row_would_be_told():
    """Four persons cover for each other, one of them a child; the row without an income is theirs.
    Apart, four children do.
    """
    method = px.MutualCover(delta="1/4", grouping="mondrian", outputs="least-cost")
    mixed = px.publish(table(57, 3), PLAIN, method, seed=1)
    told = dataclasses.replace(
        mixed, form=dataclasses.replace(mixed.form, attributes=_declared(mixed.form.attributes))
    )
    apart = px.publish(table(56, 4), SCHEMA, method)

    assert told.attack(Informed()).identity > mixed.attack(Informed()).identity
    assert (apart.table["income"] == "none").sum() == 4
    with pytest.raises(MethodError, match=r"not applicable in 3 row.* needs 4"):
        px.publish(table(57, 3), SCHEMA, method)


def _declared(attributes):
    return tuple(
        a.model_copy(update={"not_applicable": ["none"]}) if a.role == "sensitive" else a
        for a in attributes
    )


def test_groups_are_widened_among_their_own():
    """A bad group takes the farther neighbour where the nearer one is of another part, and none
    where it has no other.
    """
    group = np.repeat(np.arange(4), 2)
    places = np.array([[0.0], [0], [0.9], [0.9], [1], [1], [5], [5]])
    bad, part = np.array([False, True, False, False]), np.repeat([0, 1], 4)

    assert widened(group, bad, places, np.zeros(8, int)).tolist() == [0, 0, 1, 1, 1, 1, 2, 2]
    assert widened(group, bad, places, part).tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
    with pytest.raises(MethodError, match="not even all such rows"):
        widened(group, bad, places, np.repeat([0, 1, 2, 2], 2))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_sample_is_the_same_with_and_without(seed):
    """The promise is to everybody, whoever is known to have no value: not a row differs."""
    method = px.SafeSampling(
        k=5,
        beta="1/2",
        epsilon=1,
        scheme={"age": {"low": 0, "high": 60, "width": 20}},
        allow_empty=True,
    )
    schema = dataclasses.replace(SCHEMA, quasi=["age"], drop=["zip"], types={})
    with_it, without = (
        method.publish(Microdata.encode(table(), one), Memory(), Randomness.seeded(seed)).form
        for one in (schema, dataclasses.replace(schema, not_applicable=()))
    )
    assert with_it.table.equals(without.table) and with_it.rows > 0
    release = px.publish(table(), schema, method)
    stated = next(c for c in release.verify().checks if "not applicable" in c.name)

    assert stated.result == "stated" and "covered as all others" in stated.note
