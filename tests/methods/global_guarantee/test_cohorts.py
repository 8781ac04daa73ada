# SPDX-License-Identifier: Apache-2.0
"""Cohorts as the method makes them: from persons with the same past, for good, and showing nothing
but what they were founded with (docs/explanation/cohorts.md).
"""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from phalanx.data.schema import Schema
from phalanx.errors import MethodError, NotEligible
from phalanx.ledger import Ledger
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.series.series import Series
from phalanx.verification import verify

SCHEMA = Schema(identifier="who", quasi=["age"], sensitive="ill")
SETS = Schema(identifier="who", quasi=["age"], sensitive="ill", types={"ill": "set"})
METHOD = GlobalGuarantee(
    l=2, protect=["hiv", "gout"], permanent=["hiv"], expected_later=["gout", "hiv"]
)
FEW, SHOWN = "too few persons have the same past", "its cohort shows what it was founded with"


def people(who, carriers, others="flu"):
    """Persons of whom some have hiv, the others something else."""
    who = list(who)
    return pl.DataFrame(
        {
            "who": who,
            "age": [(13 * p) % 31 for p in who],
            "ill": ["hiv" if p in carriers else others for p in who],
        }
    )


def published(folder, *tables, schema=SCHEMA, method=METHOD):
    """A series of these tables."""
    url = f"sqlite:///{folder}/l.db"
    made = Series("c", schema, method, to=folder / "out", ledger=url, report=False)
    releases = [made.publish(table) for table in tables]
    assert verify([r.path for r in releases], ledger=url).holds
    return releases


def cohorts_of(folder):
    """The members of each cohort, from the ledger."""
    with Ledger.open(f"sqlite:///{folder}/l.db", create=False) as opened:
        members = opened.remembered("c")["cohorts"]
    return [group["person"].to_list() for _, group in members.group_by("cohort")]


def shows(release):
    """What the groups with hiv show, each as a sorted list."""
    groups = release.form.table.group_by("group").agg("ill")["ill"].to_list()
    return sorted(sorted(map(str, g)) for g in groups if any("hiv" in str(v) for v in g))


def test_a_cohort_shows_what_it_was_founded_with(tmp_path):
    """In every release, whoever is there, and whatever comes to its members."""
    first, second, third = published(
        tmp_path,
        people(range(60), {5}),
        people(range(60), {5, *range(20, 30)}),
        people(range(10, 60), {*range(20, 30)}),
        method=replace(METHOD, k=60),
    )
    (cohort,) = cohorts_of(tmp_path)
    assert shows(first) == shows(second) == shows(third)
    assert shows(first) == [["None"] * (len(cohort) - 1) + ["hiv"]]
    assert first.suppressed_values[SHOWN] == len(cohort) - 1
    assert third.counterfeits >= 1


def test_a_cohort_is_of_persons_with_the_same_past(tmp_path):
    """Newcomers stand with newcomers, and few of them show nothing, whatever they have."""
    made = published(
        tmp_path,
        people(range(40), set()),
        people(range(80), {50}),
        people(range(85), {50, 81}),
    )
    (cohort,) = cohorts_of(tmp_path)
    with Ledger.open(f"sqlite:///{tmp_path}/l.db", create=False) as opened:
        before = set(opened.groups("c", 1)["person"].to_list())
    assert not before & set(cohort)
    assert FEW not in made[1].suppressed_values
    assert made[2].suppressed_values[FEW] == 5
    assert len(shows(made[2])) == 1


def test_who_was_hidden_has_another_past(tmp_path):
    """Of those who showed nothing nobody knows that they were no carriers, and so they stand apart
    from those who are known not to have been.
    """
    tables = [
        people(range(40), set()),
        people(range(55), set()),
        people(range(75), {41}),
    ]
    made = published(tmp_path, *tables)
    assert [r.suppressed_values.get(FEW, 0) for r in made] == [0, 15, 15]
    assert not shows(made[2])


def test_sets_show_the_permanent_values_alone(tmp_path):
    """What stands beside a permanent value in a set is not published of a member."""
    rows = ["hiv; flu", "hiv; gout", *["flu; rash"] * 28, *["gout"] * 2, *["none"] * 28]
    table = pl.DataFrame({"who": range(60), "age": [i % 30 for i in range(60)], "ill": rows})
    (made,) = published(tmp_path, table, schema=SETS)
    assert {value for group in shows(made) for value in group} == {"", "hiv"}


def test_too_few_for_any_cohort_is_refused(tmp_path):
    """A table of which nothing could be shown is refused, and so is a value that is too frequent
    among those with the same past.
    """
    with pytest.raises(MethodError, match="need 20 persons"):
        published(tmp_path, people(range(19), {3}))
    with pytest.raises(NotEligible, match="21 of 40"):
        published(tmp_path, people(range(40), set(range(21))))


def test_pasts_are_numbered_by_what_was_published(tmp_path):
    """Two persons have one past where they were in the same releases and hidden in the same."""
    made = [range(40), range(20, 70), [*range(30), *range(50, 80)]]
    published(tmp_path, *[people(who, set()) for who in made])
    with Ledger.open(f"sqlite:///{tmp_path}/l.db", create=False) as opened:
        present = opened.remembered("c")["present"]
    pasts = present.group_by("person").agg(pl.struct("release", "hidden").sort())
    slow = {tuple(map(tuple, (r.values() for r in past))) for past in pasts["release"].to_list()}
    assert len(slow) == pasts["release"].n_unique()
    assert np.array_equal(present["release"].unique().sort(), [1, 2, 3])
