# SPDX-License-Identifier: Apache-2.0
"""A plan with a registry, on the command line."""

import json

import polars as pl
import pytest

from support import one_group


@pytest.fixture
def listed(ward, monkeypatch: pytest.MonkeyPatch):
    """A plan whose method takes the registry that stands in another table of the folder."""
    monkeypatch.setattr("phalanx.plan.make", lambda *_: one_group.OneGroup(groups=3, without=2))
    ward.table(one_group.rows().write_csv())
    one_group.registry().write_csv(ward.path / "voters.csv")
    plan = (
        (ward.path / "plan.toml")
        .read_text(encoding="utf-8")
        .replace(
            "[schema]",
            '[source.registry]\npath = "voters.csv"\n[schema]\nmissing = { ill = "value" }',
            1,
        )
    )
    (ward.path / "plan.toml").write_text(plan, encoding="utf-8")
    return ward


def test_what_publish_says(listed) -> None:
    """How many persons without a row, and how many values were suppressed, a line each."""
    said = listed.publish()
    assert (said.code, said.err) == (0, "")
    assert "registered: 6 person(s) without a row\n" in said.out
    assert "suppressed: 2 value(s), too rare\n" in said.out
    assert pl.read_csv(listed.path / "out" / "ward-1" / "registered.csv")["count"].sum() == 6


def test_as_json(listed) -> None:
    """The same under their keys."""
    said = json.loads(listed.publish("--json").out)
    assert (said["registered"], said["suppressed_values"], said["suppressed_rows"]) == (
        6,
        {"too rare": 2},
        {},
    )


def test_nothing_is_said_of_what_is_not_there(ward) -> None:
    """Without a registry and suppressed values there is no line about them."""
    said = ward.publish()
    assert said.code == 0
    assert "registered:" not in said.out
    assert "suppressed:" not in said.out


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda path: (path / "voters.csv").unlink(), "there is no file"),
        (
            lambda path: (path / "voters.csv").write_text("who,age\nv1,50\n", encoding="utf-8"),
            "the quasi column 'zip' is not in the registry",
        ),
        (
            lambda path: (path / "voters.csv").write_text("who,age,zip\nv1,,3\n", encoding="utf-8"),
            "in the registry: column 'age' is missing in 1 of 1 rows",
        ),
    ],
)
def test_a_wrong_registry(listed, spoil, what) -> None:
    """One sentence, and nothing is published."""
    spoil(listed.path)
    said = listed.publish()
    assert said.code == 2
    assert what in said.err
    assert not list((listed.path / "out").glob("*"))
