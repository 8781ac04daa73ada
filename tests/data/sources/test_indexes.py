# SPDX-License-Identifier: Apache-2.0
"""No index of a pandas table is read, and where one bears a name that is asked for, its refusal says
so.
"""

import narwhals as nw
import pandas as pd
import polars as pl
import pytest

import phalanx as px
from phalanx.data.sources.frames import check_index
from phalanx.errors import PhalanxError, SourceError

PEOPLE = pd.DataFrame(
    {
        "person": [f"p{i}" for i in range(8)],
        "age": [30, 31, 32, 33, 40, 41, 42, 43],
        "ill": ["flu", "cold"] * 4,
    }
)
SCHEMA = px.Schema(identifier="person", quasi=["age"], sensitive="ill")
BY_PERSON = PEOPLE.set_index("person")
BY_AGE = PEOPLE.set_index("age")
BY_YEAR = PEOPLE.set_index(pd.Index([2025] * 4 + [2026] * 4, name="year"))


@pytest.fixture
def release():
    return px.publish(PEOPLE, SCHEMA, px.Mondrian(k=2))


def series(tmp_path):
    return px.Series("s", SCHEMA, px.GlobalGuarantee(l=2), to=tmp_path, report=False)


def plan(tmp_path, more=""):
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "plan.toml").write_text(
        '[series]\nname = "s"\n[source]\npath = "people.csv"\n'
        + more
        + '[schema]\nidentifier = "person"\n'
        'quasi = ["age"]\nsensitive = "ill"\n[method]\nname = "mondrian"\nk = 2\n'
        '[publish]\nto = "out"\n'
    )
    return px.Plan.read(tmp_path / "plan.toml")


ASKED = {
    "publish": lambda _release, _to: px.publish(BY_PERSON, SCHEMA, px.Mondrian(k=2)),
    "series": lambda _release, to: series(to).publish(BY_PERSON),
    "check": lambda _release, to: series(to).check(BY_PERSON),
    "registry": lambda _release, to: series(to).publish(PEOPLE, registry=BY_PERSON),
    "plan": lambda _release, to: plan(to).publish(source=BY_PERSON),
    "waves": lambda _release, to: plan(to, 'wave = "year"\n').publish(source=BY_YEAR),
    "explore": lambda _release, to: px.explore(plan(to), surrogate=[BY_PERSON]),
    "original": lambda release, _to: release.with_evidence(original=BY_PERSON, identifier="person"),
    "measure": lambda release, _to: release.measure(BY_AGE),
    "held out": lambda release, _to: release.measure(PEOPLE, held_out=BY_AGE),
    "verify": lambda _release, _to: px.verify_table(BY_AGE, quasi=["age"], sensitive="ill", k=2),
}


@pytest.mark.parametrize("asked", ASKED)
def test_an_index_that_is_asked_for(release, tmp_path, asked: str) -> None:
    """Wherever a table is given: the index is named, and what makes a column of it."""
    with pytest.raises(PhalanxError, match=r"is an index of the pandas table.*reset_index\(\)"):
        ASKED[asked](release, tmp_path)


def test_which_index_is_asked_for() -> None:
    """One of several, and one in a table that narwhals holds; none without a name, none that is a
    column too, and none that is not asked for.
    """
    for table in (PEOPLE.set_index(["ill", "person"]), nw.from_native(BY_PERSON)):
        with pytest.raises(SourceError, match="'person' is an index"):
            check_index(table, ["age", "person"])
    for table in (
        PEOPLE.set_axis(range(8)),
        PEOPLE.set_index(pd.Index(range(8), name="person")),
        PEOPLE["age"],
        pl.from_pandas(PEOPLE),
        "person",
        None,
    ):
        check_index(table, ["age", "person"])
    check_index(BY_PERSON, ["age"])
