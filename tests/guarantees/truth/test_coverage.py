# SPDX-License-Identifier: Apache-2.0
"""What the original table shows of a release without a mapping, where a release shows hardly
anything.
"""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import phalanx as px
from phalanx.data.microdata import Microdata
from phalanx.guarantees.truth import coverage
from phalanx.guarantees.views import box_search
from phalanx.release.folder import Release

SCHEMA = px.Schema(identifier="who", quasi=["age"], sensitive="ill")
PEOPLE = pl.DataFrame({"who": [1, 2], "age": [30, 40], "ill": ["a", "b"]})


def test_a_release_without_rows_covers_nobody(tmp_path: Path) -> None:
    """Both persons are missing, which its manifest does not allow."""
    px.publish(PEOPLE, SCHEMA, px.Mondrian(k=2)).save(tmp_path / "r")
    release = Release.read(tmp_path / "r")
    empty = replace(release, form=replace(release.form, table=release.form.table.clear()))
    microdata = Microdata.encode(PEOPLE, SCHEMA)
    assert coverage.check(release, microdata, hides_values=False).holds
    verdict = coverage.check(empty, microdata, hides_values=False)
    assert not verdict.holds and verdict.note.startswith(
        "2 person(s) of the original table are not"
    )


@pytest.mark.parametrize("cells", [1, 7, 1 << 22])
def test_some_kinds_of_persons_at_a_time(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """However few are compared with the groups at once, everybody of the own table is found, and
    whoever is in no group of another release is counted: by hand, all who are older.
    """
    monkeypatch.setattr(box_search, "_COMPARED", cells)
    n = 40
    people = pl.DataFrame(
        {"who": range(n), "age": range(20, 20 + n), "ill": ["abcd"[i % 4] for i in range(n)]}
    )
    older = people.with_columns(pl.col("age") + 100)
    form = px.publish(people, SCHEMA, px.Mondrian(k=4, l=2))
    own = coverage.check(form, Microdata.encode(people, SCHEMA), hides_values=False)
    assert (own.name, own.bound, own.worst, own.holds) == ("persons of the original", 0, 0, True)
    mapped = coverage.check_mapped(form, Microdata.encode(people, SCHEMA), n)
    assert (mapped.name, mapped.bound, mapped.worst) == ("persons of the original", 0, 0)
    others = coverage.check(form, Microdata.encode(older, SCHEMA), hides_values=False)
    assert (others.worst, others.holds) == (2, False)
    assert others.note == (
        f"{n} row(s) fit no person in the original table, and are not counted as counterfeits; {n}"
        " person(s) of the original table fit no group, and 0 can be suppressed by the number of"
        " rows"
    )


def test_who_has_no_value_fits_a_row_without_one() -> None:
    """A missing value is looked for among those of the release as any other is; where values are
    suppressed, a row without one may be anybody's.
    """
    schema = px.Schema(identifier="who", quasi=["age"], sensitive="ill", missing="value")
    people = PEOPLE.with_columns(ill=pl.Series([None, "a"], dtype=pl.String))
    release = px.publish(people, schema, px.Mondrian(k=2))
    own = coverage.check(release, Microdata.encode(people, schema), hides_values=False)
    assert (own.worst, own.holds) == (0, True)
    other = coverage.check(release, Microdata.encode(PEOPLE, schema), hides_values=False)
    assert other.note.startswith("1 row(s) fit no person in the original table")
    assert coverage.check(release, Microdata.encode(PEOPLE, schema), hides_values=True).holds


@pytest.mark.parametrize("more", [0, 1])
def test_one_person_too_many_outside_is_told(more: int) -> None:
    """Of a release of two persons, aged 30 to 40, one of whom is 50 in the table: nobody fits that
    one's place, and only a table with a person more leaves room for somebody suppressed.
    """
    release = px.publish(PEOPLE, SCHEMA, px.Mondrian(k=2))
    ages, ills = [30, 40, 50], ["a", "b", "a"]
    other = pl.DataFrame({"who": [1, 2, 3], "age": ages, "ill": ills})
    microdata = Microdata.encode(other.tail(2 + more), SCHEMA)
    verdict = coverage.check(release, microdata, hides_values=False)
    said = "1 person(s) of the original table fit no group, and 0 can be suppressed"
    assert (said in verdict.note) == (more == 0)


def test_values_are_counted_group_by_group() -> None:
    """Two groups show a and b each; in the table one has both a, and the other both b, so that each
    value stands as often as there, and each person fits their group.
    """
    people = pl.DataFrame({"who": range(4), "age": [20, 21, 40, 41], "ill": ["a", "b", "a", "b"]})
    release = px.publish(people, SCHEMA, px.Mondrian(k=2, l=2))
    exchanged = people.with_columns(ill=pl.Series(["a", "a", "b", "b"]))
    verdicts = [
        coverage.check(release, Microdata.encode(table, SCHEMA), hides_values=False)
        for table in (people, exchanged)
    ]
    assert [each.worst for each in verdicts] == [0, 1]
    assert verdicts[1].note == (
        "2 row(s) fit no person in the original table, and are not counted as counterfeits"
    )


def test_only_who_is_with_a_row_without_a_value_fits_any() -> None:
    """Where values may be suppressed, a person of another value fits the group that has a row
    without one, and not the one beside it.
    """
    schema = px.Schema(identifier="who", quasi=["age"], sensitive="ill", missing="value")
    ages = [30, 40, 60, 70]
    people = pl.DataFrame({"who": range(4), "age": ages, "ill": [None, "a", "b", "c"]})
    release = px.publish(people, schema, px.Mondrian(k=2, l=2))
    for ills, faults in ((["z", "a", "b", "c"], 0), ([None, "a", "z", "c"], 4)):
        table = people.with_columns(ill=pl.Series(ills))
        verdict = coverage.check(release, Microdata.encode(table, schema), hides_values=True)
        assert verdict.worst == faults, verdict.note


def test_a_column_shows_no_value_more_often_than_the_table_has_it() -> None:
    """One of two rows of a bucket that say 40 says 30 instead: each person still finds their own
    values there.
    """
    people = pl.DataFrame({"who": range(4), "age": [30, 40, 40, 50], "ill": list("abab")})
    schema = px.Schema(identifier="who", quasi=["age"], sensitive="ill")
    release = px.publish(people, schema, px.Slicing(l=2, columns=[["age"], ["ill"]]))
    microdata = Microdata.encode(people, schema)
    assert coverage.check(release, microdata, hides_values=False).holds
    (rows,) = release.form.given
    place = rows["age"].to_list().index(40)
    changed = rows.with_columns(
        age=pl.when(pl.int_range(pl.len()) == place).then(30).otherwise(pl.col("age"))
    )
    other = replace(release, form=replace(release.form, given=(changed,)))
    verdict = coverage.check(other, microdata, hides_values=False)
    assert verdict.worst == 1
    assert verdict.note == "1 published value(s) of 'age' are of no person in the original table"
