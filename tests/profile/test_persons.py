# SPDX-License-Identifier: Apache-2.0
"""Who a row is about is found where persons recur: by a name, or because values recur as persons do."""

import tomllib

import polars as pl
import pytest

from phalanx.profile.table import profile, propose_plan

PERSONS = 60


def panel(waves: int, name: str = "nr", *, wave: str = "year") -> pl.DataFrame:
    """So many persons, once in each wave; what they have changes, and their sex and birth do not."""
    rows = [
        (n * 7 + 13, 2000 + w, 1940 + n * 37 % 50, "FM"[n * 5 % 3 == 0], "nesw"[(n + w) % 4], (n * 3 + w * 5) % 7)
        for w in range(waves)
        for n in range(PERSONS)
    ]  # fmt: skip
    columns = [name, wave, "birth_year", "sex", "region", "diagnosis"]
    return pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        pl.format("d{}", "diagnosis").alias("diagnosis")
    )


def roles(frame: pl.DataFrame) -> dict[str, str]:
    return {c.name: c.role for c in profile(frame)}


@pytest.mark.parametrize("waves", [2, 6, 12, 24])
@pytest.mark.parametrize("name", ["patient_id", "nr", "pidp", "Patienten-ID", "x7", "user_id"])
def test_persons_recur_however_often(name, waves):
    """A panel is a source of waves under any name of its persons, also where most rows repeat one."""
    frame = panel(waves, name)

    assert roles(frame) == {name: "identifier", "year": "wave", "birth_year": "quasi", "sex": "quasi", "region": "quasi", "diagnosis": "sensitive"}  # fmt: skip
    plan = tomllib.loads(propose_plan("p.csv", profile(frame), "p"))
    assert (plan["source"]["wave"], plan["schema"]["identifier"]) == ("year", name)


def test_what_numbers_something_with_one_sex_and_birth_is_a_person():
    """Also where nothing says which wave a row is of; a clinic has patients of both."""
    visits = panel(6).drop("year")
    assert roles(visits)["nr"] == "identifier"
    clinics = visits.with_columns((pl.int_range(pl.len()) % 31).alias("nr"))
    assert roles(clinics)["nr"] != "identifier"


def test_a_rank_in_each_year_is_nobodys_number():
    """It comes once in each wave, and another person has it the next time."""
    frame = panel(8).with_columns(
        pl.col("birth_year").rank("ordinal", seed=1).over("year").alias("nr"),
        pl.Series("sex", ["FM"[i * 11 % 7 < 3] for i in range(8 * PERSONS)]),
        pl.Series("birth_year", [1940 + i * 29 % 53 for i in range(8 * PERSONS)]),
    )
    assert roles(frame)["nr"] != "identifier"


def test_what_is_drawn_is_not_taken_for_persons():
    """A number that tells something comes twice in some wave; a month alone says nothing of waves."""
    frame = panel(12).with_columns(
        pl.Series("nr", [i * 7919 % 10_007 % 173 for i in range(12 * PERSONS)])
    )
    assert roles(frame)["nr"] != "identifier"
    assert roles(panel(12, "duration", wave="month").drop("sex", "birth_year"))["duration"] != (
        "identifier"
    )


def test_without_an_identifier_k_is_said_to_be_of_rows():
    """Nothing tells then how many rows a person has."""
    frame = pl.DataFrame({"age": [20 + i % 40 for i in range(300)], "sex": ["f", "m", "m"] * 100})
    text = propose_plan("t.csv", profile(frame), "t")
    assert "of so many rows, each taken for a person, each is one" in text
    assert "of so many persons each is one" in propose_plan(
        "t.csv", profile(frame.with_columns(patient=pl.int_range(pl.len()))), "t"
    )
