# SPDX-License-Identifier: Apache-2.0
"""Cohorts as the method makes them: from persons with the same past, for good, and showing nothing
but what they were founded with (docs/explanation/cohorts.md).
"""

from dataclasses import replace

import polars as pl
import pytest

from phalanx.data.schema import Schema
from phalanx.errors import MethodError, NotEligible
from phalanx.ledger import Ledger
from phalanx.methods.global_guarantee.cohorts import memberships
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.series.series import Series
from phalanx.verification import verify

SCHEMA = Schema(identifier="who", quasi=["age"], sensitive="ill")
SETS = Schema(identifier="who", quasi=["age"], sensitive="ill", types={"ill": "set"})
METHOD = GlobalGuarantee(
    l=2, protect=["hiv", "gout"], permanent=["hiv"], expected_later=["gout", "hiv"]
)
FEW, SHOWN = (
    "hidden together, since too few have the same past",
    "its cohort shows what it was founded with",
)


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
    assert made[2].suppressed_values[FEW] == 20 - len(cohort)
    assert len(shows(made[2])) == 1


def test_nobody_is_silent_with_few_and_whoever_is_stays_so(tmp_path):
    """Fifteen newcomers show nothing, five others are drawn to them, and they are the same ones in
    the next release, in which the newcomers of the same past are enough.
    """
    tables = [
        people(range(40), set()),
        people(range(55), set()),
        people(range(75), {41}),
    ]
    made = published(tmp_path, *tables)
    assert [r.suppressed_values.get(FEW, 0) for r in made] == [0, 20, 20]
    with Ledger.open(f"sqlite:///{tmp_path}/l.db", create=False) as opened:
        present = opened.remembered("c")["present"].filter("hidden")
    then, now = (set(present.filter(pl.col("release") == n)["person"]) for n in (2, 3))
    assert then == now
    assert not shows(made[2])


def test_sets_show_the_permanent_values_alone(tmp_path):
    """What stands beside a permanent value in a set is not published of a member; a set without one
    is missing.
    """
    rows = ["hiv; flu", "hiv; gout", *["flu; rash"] * 28, *["gout"] * 2, *["none"] * 28]
    table = pl.DataFrame({"who": range(60), "age": [i % 30 for i in range(60)], "ill": rows})
    (made,) = published(tmp_path, table, schema=SETS)
    assert {value for group in shows(made) for value in group} == {"None", "hiv"}


def test_too_few_for_any_cohort_is_refused(tmp_path):
    """A table of which nothing could be shown is refused, and so is a value that is too frequent
    among those with the same past.
    """
    with pytest.raises(MethodError, match="need 20 persons"):
        published(tmp_path, people(range(19), {3}))
    with pytest.raises(NotEligible, match="11 of 40 rows, and l = 2 allows at most 1/4"):
        published(tmp_path, people(range(40), set(range(11))))


def test_too_many_who_come_to_carry_it_are_refused(tmp_path, tmp_path_factory):
    """What comes later is hidden among those of whom nothing is shown, as long as they are enough."""
    first = people(range(25), {5})
    assert published(tmp_path, first, people(range(25), {5, 6}))
    with pytest.raises(MethodError, match="came to carry a permanent value, too many"):
        published(tmp_path_factory.mktemp("b"), first, people(range(25), set(range(5, 20))))


def test_pasts_are_numbered_by_what_was_published(tmp_path):
    """What the ledger keeps tells who was in which release, and who was silent there."""
    made = [range(40), range(20, 70), [*range(30), *range(50, 80)]]
    published(tmp_path, *[people(who, set()) for who in made])
    with Ledger.open(f"sqlite:///{tmp_path}/l.db", create=False) as opened:
        present = opened.remembered("c")["present"]
    persons = present["person"].unique(maintain_order=True)
    found = memberships({"present": present}, persons)
    rows = {person: present.filter(pl.col("person") == person) for person in persons}
    pasts = [tuple(sorted(rows[person]["release"])) for person in persons]
    assert len(set(pasts)) > 2
    assert len({*zip(pasts, found.past.tolist(), strict=True)}) == len(set(pasts))
    assert len(set(found.past.tolist())) == len(set(pasts))
    assert found.silent.tolist() == [rows[person]["hidden"].any() for person in persons]
