# SPDX-License-Identifier: Apache-2.0
"""Three answers choose a method; the plan says why, and publishes as it is."""

import itertools
import tomllib
from pathlib import Path

import polars as pl
import pytest

from phalanx.plan import Plan
from phalanx.profile.proposal import propose_plan
from phalanx.profile.table import profile
from phalanx.profile.use import Changes, Receiver, Use

N = 240
CLINIC = pl.DataFrame(
    {
        "patient": [f"MARKER-P{i}" for i in range(N)],
        "age": [20 + i * 7 % 60 for i in range(N)],
        "sex": ["f", "m"] * (N // 2),
        "diagnosis": [f"MARKER-D{min(i // 3 % 6, i % 7)}" for i in range(N)],
    }
)
REACTIONS = [[f"MARKER-R{j}" for j in range(1, 30) if (i * j + i) % 11 == 1] for i in range(N)]
TABLES = {
    "whole": CLINIC,
    "without an identifier": CLINIC.drop("patient"),
    "nothing sensitive": CLINIC.drop("diagnosis"),
    "sets": CLINIC.drop("diagnosis").with_columns(pl.Series("reactions", REACTIONS)),
    "one value in all sets": CLINIC.drop("diagnosis").with_columns(
        pl.Series("reactions", [[*several, "MARKER-R0"] for several in REACTIONS])
    ),
}
RECEIVED = {Receiver.internal: 3, Receiver.partner: 5, Receiver.public: 12}


def proposed(table: str, **said: object) -> str:
    return propose_plan("t.parquet", profile(TABLES[table]), "t", use=Use(**said))


def method(table: str, **said: object) -> dict[str, object]:
    return tomllib.loads(proposed(table, **said))["method"]


@pytest.mark.parametrize(("distinct", "told"), [(50, False), (51, True)])
def test_a_secret_that_is_measured_is_told_to_be_coarse(distinct, told):
    """Near numbers count as different ones, so that many of them may hide nothing."""
    income = [1000 + i % distinct for i in range(N)]
    frame = CLINIC.drop("diagnosis").with_columns(income=pl.Series(income))
    text = propose_plan("t.parquet", profile(frame), "t", use=Use())
    assert tomllib.loads(text)["schema"]["sensitive"] == "income"
    assert (f'"income" has {distinct} different values' in text) == told


@pytest.mark.parametrize(
    ("table", "changes", "looks_original", "name"),
    [
        ("whole", "no", False, "mondrian"),
        ("whole", "no", True, "mutual-cover"),
        ("whole", "persons", False, "m-invariance"),
        ("whole", "persons", True, "m-invariance"),
        ("whole", "values", False, "global-guarantee"),
        ("whole", "values", True, "global-guarantee"),
        ("whole", None, False, "m-invariance"),
        ("sets", "persons", False, "global-guarantee"),
        ("sets", "no", True, "mondrian"),
        ("sets", None, False, "mondrian"),
        ("one value in all sets", "values", False, "mondrian"),
        ("without an identifier", "values", False, "mondrian"),
        ("without an identifier", None, False, "mondrian"),
        ("nothing sensitive", "persons", False, "mondrian"),
        ("nothing sensitive", "no", True, "mutual-cover"),
    ],
)
def test_a_method_by_three_answers(table, changes, looks_original, name) -> None:
    """A table that changes is followed where it can be, before it is asked how it looks; and in
    values only where it is published once.
    """
    use = {
        "changes": changes and Changes(changes),
        "looks_original": looks_original,
        "receiver": Receiver.partner,
    }

    assert method(table, **use)["name"] == name


def test_whom_people_are_hidden_from_says_among_how_many() -> None:
    """One of 3, 5 or 12; no value is hidden among more than its frequency allows, or than 5."""
    for receiver, among in RECEIVED.items():
        once = method("whole", changes=Changes.no, receiver=receiver)
        assert once == {"name": "mondrian", "k": among, "l": 3}
        once = method("nothing sensitive", changes=Changes.no, receiver=receiver)
        assert once == {"name": "mondrian", "k": among}
        values = method("whole", changes=Changes.values, receiver=receiver)
        assert values == {"name": "global-guarantee", "l": 2, "k": among}
    even = CLINIC.with_columns(diagnosis=pl.Series([f"d{i % 20}" for i in range(N)]))
    for receiver, among in RECEIVED.items():
        text = propose_plan("t.csv", profile(even), "t", use=Use(receiver=receiver))
        assert tomllib.loads(text)["method"] == {"name": "m-invariance", "m": among}
        text = propose_plan(
            "t.csv", profile(even), "t", use=Use(receiver=receiver, changes=Changes.no)
        )
        assert tomllib.loads(text)["method"]["l"] == min(among, 5)


def test_fewer_than_the_receiver_needs_is_said() -> None:
    """Where values allow no m as large as the number of persons of whom each is to be one, the plan
    says of how many each is one instead; where they do, there is nothing to say.
    """
    for receiver, among in RECEIVED.items():
        text = proposed("whole", changes=Changes.persons, receiver=receiver)
        m = tomllib.loads(text)["method"]["m"]
        fewer = f"# A person is one of {m}, and not of {among}: the most frequent value allows no larger m."
        assert m == 3 and (fewer in text.splitlines()) == (m < among)


def test_a_value_at_its_bound_leaves_room_for_groups() -> None:
    """Of four values that are equally frequent, l = 4 would be kept by hardly any group but the
    table; where values leave room, and at 2, nothing is taken off.
    """
    for values, l in ((2, 2), (3, 2), (4, 3), (5, 4), (6, 5)):
        even = CLINIC.with_columns(diagnosis=pl.Series([f"d{i % values}" for i in range(N)]))
        text = propose_plan("t.csv", profile(even), "t", use=Use(changes=Changes.no))
        assert tomllib.loads(text)["method"]["l"] == l


def test_what_everybody_receives_is_no_row_of_a_person() -> None:
    """Where everybody may look, rows that look like the original would be found: values are linked
    within buckets instead, in a column of their own, or there are intervals.
    """
    public = {"changes": Changes.no, "looks_original": True, "receiver": Receiver.public}

    assert method("whole", **public) == {
        "name": "slicing",
        "l": 3,
        "sensitive_column_size": 1,
        "bucket_size": 12,
    }
    assert method("nothing sensitive", **public)["name"] == "mondrian"
    assert method("sets", **public)["name"] == "mondrian"


@pytest.mark.parametrize(
    ("table", "said", "why"),
    [
        ("whole", {"changes": Changes.values}, "values come and go"),
        ("whole", {}, "what is sensitive stays true of a person"),
        ("whole", {"changes": Changes.no}, "Published once"),
        ("whole", {"looks_original": True}, "no method that follows a table does"),
        ("sets", {"changes": Changes.values}, "a person has a set of values"),
        ("without an identifier", {"changes": Changes.values}, "no person can be recognised"),
        ("nothing sensitive", {"changes": Changes.values}, "no attribute was recognised"),
        ("one value in all sets", {"changes": Changes.values}, "more than half of the rows"),
        ("sets", {"changes": Changes.no, "looks_original": True}, "takes sets of values"),
    ],
)
def test_the_plan_says_why(table, said, why) -> None:
    """Each method stands below its reason."""
    assert why in proposed(table, **said).partition("[method]")[2].partition("\nname = ")[0]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("changes", "looks_original", "receiver"),
    list(itertools.product([None, *Changes], [False, True], Receiver)),
)
def test_every_proposal_is_a_plan_without_values(table, changes, looks_original, receiver) -> None:
    """It parses, its method accepts its parameters, and nothing of it is from the table."""
    text = proposed(table, changes=changes, looks_original=looks_original, receiver=receiver)

    Plan.parse(text, Path("p.toml")).method()
    assert "MARKER" not in text
    assert max(map(len, text.partition("[method]")[2].splitlines())) <= 110


@pytest.mark.parametrize(
    ("table", "changes", "looks_original", "receiver"),
    [
        ("whole", Changes.persons, False, Receiver.public),
        ("whole", Changes.values, False, Receiver.public),
        ("whole", Changes.no, False, Receiver.public),
        ("whole", Changes.no, True, Receiver.public),
        ("whole", Changes.no, True, Receiver.partner),
        ("sets", Changes.values, False, Receiver.partner),
        ("one value in all sets", Changes.values, False, Receiver.internal),
        ("without an identifier", None, False, Receiver.internal),
    ],
)
def test_what_is_proposed_publishes(tmp_path, table, changes, looks_original, receiver) -> None:
    """Nothing of a proposal has to be changed for a first release that holds."""
    TABLES[table].write_parquet(tmp_path / "t.parquet", statistics=False)
    text = proposed(table, changes=changes, looks_original=looks_original, receiver=receiver)
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")

    assert Plan.read(tmp_path / "plan.toml").publish().rows == N


def test_the_rate_at_which_rows_are_found_stands_before_delta() -> None:
    """Delta invites being read as that rate, which is what is bounded first."""
    text = proposed("whole", changes=Changes("no"), looks_original=True, receiver=Receiver.partner)
    assert 0 < text.index("bounds = { omniscient") < text.index("\ndelta = ")
    assert "it bounds no rate at which rows are found" in text
