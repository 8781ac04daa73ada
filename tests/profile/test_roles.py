# SPDX-License-Identifier: Apache-2.0
"""Roles by names and by what values look like: who is named is left out, what is sensitive is found, and
nothing delicate is taken for what others know.
"""

import tomllib

import polars as pl
import pytest

from phalanx.profile.columns import is_known, words
from phalanx.profile.table import profile, propose_plan


def roles(frame: pl.DataFrame) -> dict[str, str]:
    return {c.name: c.role for c in profile(frame)}


def test_german_names_and_codes_of_surveys_are_known():
    """An umlaut is a letter, and a code of DHS stands for its word."""
    assert words("Größe_cm") == {"größe", "cm"} and words("V012") == {"age"}
    frame = pl.DataFrame(
        {
            "Staatsangehörigkeit": [f"s{i % 7}" for i in range(200)],
            "v012": [15 + i % 35 for i in range(200)],
            "v005": [1000 + i for i in range(200)],
            "v130": [i % 5 for i in range(200)],
        }
    )
    assert roles(frame) == {
        "Staatsangehörigkeit": "quasi", "v012": "quasi", "v005": "weight", "v130": "quasi"
    }  # fmt: skip


def test_of_several_diagnoses_the_one_of_fewest_values():
    """Of attributes that all allow the most that is asked for, the one of fewest values is
    sensitive, and each is told.
    """
    frame = pl.DataFrame(
        {
            "age": [20 + i % 40 for i in range(400)],
            "diag_2": [f"d{i % 31}" for i in range(400)],
            "diag_1": [f"d{i % 23}" for i in range(400)],
            "died": ["no", "yes"] * 200,
        }
    )
    assert roles(frame)["diag_1"] == "sensitive"


def test_single_values_are_never_guessed_to_be_sensitive():
    """In a small table too, a column in which every row differs may name the persons; published as
    it is, it would.
    """
    frame = pl.DataFrame(
        {
            "who": ["ann", "bob", "cleo", "dan", "eve", "finn"],
            "age": [20, 20, 30, 30, 40, 40],
            "kind": ["a", "b", "c", "a", "b", "c"],
        }
    )

    roles = {c.name: c.role for c in profile(frame)}

    assert roles["who"] != "sensitive"
    assert roles["kind"] == "sensitive"


def test_what_handled_a_row_is_nobodys_secret():
    """Who gave, sent or paid is never guessed to be sensitive, in English or German; what only ends
    as such a word does is.
    """
    n = 400
    frame = pl.DataFrame(
        {
            "age": [20 + i % 40 for i in range(n)],
            "sex": ["f", "m"] * 200,
            "zip": [i % 30 for i in range(n)],
        }
        | {
            name: [f"{i % (9 + j)}x" for i in range(n)]
            for j, name in enumerate(["given_by", "v_adminby", "sentby", "Quelle", "payer_code"])
        }
    )
    assert "sensitive" not in roles(frame).values()
    assert roles(frame.with_columns(hobby=pl.Series(["a", "b", "c", "d"] * 100)))["hobby"] == (
        "sensitive"
    )


def test_what_is_sensitive_by_name_and_cannot_be_is_said():
    """Where one value has more than half of the rows, and where another attribute is chosen."""
    n = 400
    frame = pl.DataFrame(
        {
            "age": [20 + i % 40 for i in range(n)],
            "sex": ["f", "m"] * 200,
            "zip": [i % 30 for i in range(n)],
            "died": ["no"] * 390 + ["yes"] * 10,
            "drug": [f"d{i % 9}" for i in range(n)],
            "wage": [f"w{i % 7}" for i in range(n)],
        }
    )
    why = {c.name: c.reason for c in profile(frame) if c.role == "drop"}
    assert "one value has more than half of the rows" in why["died"]
    assert "one attribute can be" in why["wage"]


def test_a_frequent_diagnosis_is_left_out_of_a_narrow_table():
    """Also where few attributes are known: it would be published as what others know."""
    table = pl.DataFrame(
        {"alter": [20 + i % 50 for i in range(300)], "diagnose": [("flu", "hiv", "flu")[i % 3] for i in range(300)]}
    )  # fmt: skip
    seen = {c.name: c for c in profile(table)}
    assert {name: c.role for name, c in seen.items()} == {"alter": "quasi", "diagnose": "drop"}
    assert "more than half of the rows" in seen["diagnose"].reason


def test_an_attribute_that_is_left_alone_is_one_that_others_may_know():
    """A plan needs one; the table of `init` says what the plan does."""
    table = pl.DataFrame({"patient": range(300), "diag": ["a", "b", "c"] * 100})
    for diag in (table["diag"], pl.Series("diag", ["a", "a", "b"] * 100)):
        seen = {c.name: c for c in profile(table.with_columns(diag))}
        assert (seen["diag"].role, "no other attribute is left" in seen["diag"].reason) == (
            "quasi", True
        )  # fmt: skip
        plan = tomllib.loads(propose_plan("t.csv", list(seen.values()), "t"))
        assert plan["schema"]["quasi"] == ["diag"]


@pytest.mark.parametrize("name", ["Vorname", "Nachname", "first_name", "LastName", "patient name"])
def test_what_persons_are_called_is_never_published(name):
    """However few are called so; a hospital's name is another matter."""
    values = [f"v{i % 7}" for i in range(300)]
    table = pl.DataFrame({"alter": [20 + i % 50 for i in range(300)], name: values})
    assert roles(table)[name] == "drop"
    assert roles(table.rename({name: "hospital name"}))["hospital name"] == "quasi"


def test_dates_that_are_not_understood_are_told():
    """Months first, or one day that no month has: else a date of birth just disappears."""
    days = [f"{1 + i % 12:02}/{1 + i % 28:02}/19{10 + i % 80}" for i in range(900)]
    table = pl.DataFrame({"born": days, "sex": ["m", "f"] * 450})
    seen = {c.name: c.reason for c in profile(table)}
    assert "it looks like dates and is text" in seen["born"]
    assert "dates" not in seen["sex"]


def known_ones(n: int) -> dict[str, list[object]]:
    """Two attributes that others know."""
    return {"age": [20 + i * 7 % 60 for i in range(n)], "sex": ["f", "m"] * (n // 2)}


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("handynr", lambda i: None if i % 8 == 0 else f"x{i}"),
        ("kundenkonto", lambda i: 1e6 + 17 * i),
        ("Telefonnummer", lambda i: f"x{i // 4}"),
        ("PATIENTNAME", lambda i: f"x{i % 90}"),
        ("Wohnadresse", lambda i: f"x{i % 90}"),
        ("IPAddress", lambda i: f"x{i % 90}"),
        ("Versicherungsnehmer", lambda i: f"x{i % 90}"),
        ("case_id", lambda i: f"x{i // 3}"),
        ("what", lambda i: f"ann{i % 60}@example.org"),
        ("reach", lambda i: f"0171/{4_000_000 + i % 90}"),
        ("where", lambda i: f"Dorfstraße {i % 90}"),
        ("Beteiligte", lambda i: f"Vera M{chr(97 + i % 26)}ll{chr(97 + i // 26 % 3)}"),
        ("something", lambda i: f"x{i % 150}"),
    ],
)
def test_what_may_name_people_is_left_out(name, of):
    """By its name, in English or German, by its values, or as nothing is known of many words: else it
    would be published as what others know, or as it is.
    """
    n = 1000
    table = pl.DataFrame({**known_ones(n), name: [of(i) for i in range(n)]})
    assert roles(table)[name] in ("drop", "identifier")
    named = table.with_columns(krankheitsbild=pl.Series([f"k{i % 5}" for i in range(n)]))
    assert roles(named)["krankheitsbild"] == "sensitive"


def test_in_a_small_table_names_are_left_out():
    """Below fifty rows numbers may all differ by chance; texts do not."""
    table = pl.DataFrame({"alter": range(20, 60), "wer": [f"w{i}" for i in range(40)]})
    assert roles(table) == {"alter": "quasi", "wer": "identifier"}
    two = table.with_columns(noch=pl.Series([f"n{i}" for i in range(40)]))
    assert roles(two)["noch"] == "drop"


def test_the_words_of_a_name_are_told_apart():
    """At capitals, and a German compound says what its last part says."""
    assert words("HIVStatus") == {"hiv", "status"} and words("IDs") == {"ids"}
    assert {"hauptdiagnose", "diagnose"} == words("Hauptdiagnose")


def test_why_it_is_left_out_is_true():
    """By what it looks like, and not by its name."""
    table = pl.DataFrame(
        {**known_ones(100), "what": [f"ann{i % 60}@example.org" for i in range(100)]}
    )
    reason = {c.name: c.reason for c in profile(table)}["what"]
    assert reason == "its values look like names, addresses or numbers of people"


@pytest.mark.parametrize(
    ("name", "known"),
    [
        *(
            ("sex", True),
            ("sex_at_birth", True),
            ("marital_status", True),
            ("native.country", True),
        ),
        *(("AGEP", True), ("admission_type", True), ("education17", True), ("RAC1P", True)),
        *(("sex_offender", False), ("num_sex_partners", False), ("birth_defect", False)),
        *(("admission_reason", False), ("account_state", False)),
    ],
)
def test_one_word_of_what_others_know_is_not_enough(name, known):
    """The others must say nothing else."""
    assert is_known(name) is known


@pytest.mark.parametrize("other", ["diagnosis_year", "diagnosis_doctor"])
def test_of_a_diagnosis_neither_its_year_nor_its_doctor(other):
    """However few there are."""
    n = 600
    table = pl.DataFrame({**known_ones(n), "diagnosis": [f"d{i % 10}" for i in range(n)]})
    table = table.with_columns(pl.Series(other, [f"x{i % 6}" for i in range(n)]))
    assert roles(table)["diagnosis"] == "sensitive"


@pytest.mark.parametrize("income", ["income", "Gehalt", "debt"])
@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64])
def test_an_income_says_of_no_row_who_it_is_about(income, dtype):
    """Though all differ, it is sensitive, and the plan says what that needs; nor does a number that is
    stored with decimals, which no source takes.
    """
    n = 400
    incomes = pl.Series([20_000 + 137 * (i * 7 % n) for i in range(n)], dtype=dtype)
    table = pl.DataFrame({**known_ones(n), income: incomes})
    assert roles(table)[income] == "sensitive"
    text = propose_plan("t.csv", profile(table), "t")
    assert f'"{income}" has 400 different values: near ones count as different' in text
    assert "make it coarser at the source" in text and "who knows a value finds the row" in text
    other = "drop" if dtype == pl.Float64 else "identifier"
    assert roles(table.rename({income: "lab"}))["lab"] == other


def test_a_wage_in_cents_is_sensitive_before_an_occupation():
    """However many wages there are; of what is left out each reason is true."""
    n = 600
    table = pl.DataFrame(
        {
            **known_ones(n),
            "wage": [1000 + i * 7919 % 60_000 / 100 for i in range(n)],
            "occupation": [f"o{i % 9}" for i in range(n)],
            "medication": [f"m{i * 7 % 400}" for i in range(n)],
        }
    )
    seen = {c.name: c for c in profile(table)}
    assert {name for name, c in seen.items() if c.role == "sensitive"} == {"wage"}
    assert "one attribute can be" in seen["occupation"].reason
    assert "most rows have a value of their own" in seen["medication"].reason


def test_names_of_patients_are_no_identifier():
    """Two of them may have one name, and would be taken for one."""
    n = 400
    names = [f"Vera M{chr(97 + i % 26)}ll{chr(97 + i // 26)}" for i in range(n)]
    table = pl.DataFrame({"Patient": names, "alter": [20 + i % 50 for i in range(n)]})
    assert roles(table)["Patient"] == "drop"


@pytest.mark.parametrize("name", ["Arzt", "attending", "Richter", "Tatverdächtiger", "gp_practice"])
def test_who_is_beside_a_person_is_no_secret_of_theirs(name):
    """And is never guessed to be what is published as it is; a part of a German word says enough."""
    n = 600
    table = pl.DataFrame({**known_ones(n), name: [f"x{i % 60}" for i in range(n)]})
    assert roles(table)[name] != "sensitive"
    told = table.with_columns(Hauptdiagnose=pl.Series([f"d{i % 10}" for i in range(n)]))
    assert roles(told)["Hauptdiagnose"] == "sensitive"
