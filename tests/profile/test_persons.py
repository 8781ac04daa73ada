# SPDX-License-Identifier: Apache-2.0
"""Who a row is about is found where persons recur: by a name, or because values recur as persons do."""

import tomllib
from pathlib import Path

import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.plan import Plan
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


def visits(n: int = 2000, **more: list[object]) -> pl.DataFrame:
    """Rows of a person each, with their number, and other columns."""
    columns = {
        "id": [i * 7919 % 100_003 for i in range(n)],
        "age": [20 + i * 7 % 60 for i in range(n)],
        "sex": ["fm"[i * 5 % 3 == 0] for i in range(n)],
        "diagnosis": [f"d{i * 3 % 7}" for i in range(n)],
    }
    return pl.DataFrame({**columns, **more})


@pytest.mark.parametrize("name", ["user_id", "employee_id", "emp_code", "subject", "num_emp"])
def test_who_handled_many_rows_is_not_who_they_are_about(name):
    """Forty clerks, and an attribute of so many values, beside a number of each row's own."""
    frame = visits(**{name: [i * 11 % 40 for i in range(2000)]})
    assert roles(frame)["id"] == "identifier"
    assert roles(frame.drop("id"))[name] != "identifier" or name in ("user_id", "employee_id")


def test_rooms_of_one_sex_are_no_persons():
    """Nor are teams: a sex in common is not enough without waves or a birth."""
    frame = visits().with_columns(
        room_no=pl.when(pl.col("sex") == "f").then(pl.int_range(pl.len()) % 40).otherwise(pl.int_range(pl.len()) % 30 + 100)
    )  # fmt: skip
    assert roles(frame)["room_no"] != "identifier"
    assert roles(frame)["id"] == "identifier"
    birth = frame.with_columns(birth_year=2000 - pl.col("age")).drop("id")
    assert roles(birth)["room_no"] != "identifier"


def test_what_counts_the_rows_of_each_year_is_no_person():
    """It goes from one on in each, of more rows in one than in another, or from row to row."""
    for sizes in ([100, 100, 100], [100, 80, 120]):
        years = [2000 + w for w, n in enumerate(sizes) for _ in range(n)]
        frame = pl.DataFrame(
            {
                "lfd_nr": [i + 1 for n in sizes for i in range(n)],
                "year": years,
                "region": ["nesw"[i * 3 % 4] for i in range(300)],
                "diagnosis": [f"d{i * 3 % 7}" for i in range(300)],
            }
        )
        assert {"identifier", "wave"}.isdisjoint(roles(frame).values())


def test_there_is_one_wave():
    """A year before a month, and what kind of visit it was is none."""
    frame = panel(4, "patient").with_columns(
        month=pl.int_range(pl.len()) // PERSONS % 12, visit_type=pl.lit("first")
    )
    assert [n for n, role in roles(frame).items() if role == "wave"] == ["year"]
    text = propose_plan("t.csv", profile(frame), "t")
    assert tomllib.loads(text)["source"]["wave"] == "year"


@pytest.mark.parametrize("name", ["credit_card_number", "prescription_no", "treatment_key", "credit_card"])  # fmt: skip
def test_a_number_of_something_sensitive_is_not_sensitive(name):
    """It tells who somebody is, and nothing of them."""
    frame = visits(**{name: [i * 6007 % 1_000_003 for i in range(2000)]}).rename({"id": "patient"})
    assert roles(frame)[name] == "drop"


def test_a_plan_with_an_income_can_be_published():
    """A whole number for nearly each is vouched for by its type."""
    frame = visits(salary=[20_000 + i * 37 % 74_000 for i in range(2000)]).drop("diagnosis")
    seen = profile(frame)
    assert {c.name: c.role for c in seen}["salary"] == "sensitive"
    schema = Plan.parse(propose_plan("t.csv", seen, "t"), Path("p.toml")).schema()
    assert schema.types == {"salary": "numeric"}
    Microdata.encode(frame.select(*schema.columns), schema, PersonKey(bytes(32)))
