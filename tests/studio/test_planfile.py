# SPDX-License-Identifier: Apache-2.0
"""What a page writes is a plan: comments stay, one change at a time, whole or not at all."""

import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phalanx.data.sources.dialects import Dialect
from phalanx.errors import PhalanxError, PlanError
from phalanx.studio import planfile
from support.studio_cases import PLAN, studio_on

NAMES = ["patient", "age", "sex", "diagnosis", "note"]


def test_a_role_moves_and_comments_stay(tmp_path: Path) -> None:
    """A column has one role, who had it before is dropped, and what a person wrote stays."""
    place = studio_on(tmp_path).place
    plan = planfile.change(place, place.stamp(), lambda d: planfile.set_role(d, "sex", "sensitive"))
    schema = plan.schema()
    assert (schema.sensitive, schema.quasi, schema.drop) == ("sex", ("age",), ("note", "diagnosis"))
    text = place.plan_text()
    assert "# A comment that stays." in text
    assert "m = 3  # enough" in text


def test_what_was_counted_of_another_column_goes(tmp_path: Path) -> None:
    """A proposal says beside its figure what the sensitive attribute allows; of another one that is
    not so.
    """
    place = studio_on(tmp_path).place
    text = place.plan_text().replace("m = 3  # enough", 'm = 3  # the most frequent value of "x" has 9 of 20 rows')  # fmt: skip
    place.plan_path.write_text(text, encoding="utf-8")
    planfile.change(place, place.stamp(), lambda d: planfile.set_role(d, "note", "quasi"))
    assert "the most frequent value" in place.plan_text()
    planfile.change(place, place.stamp(), lambda d: planfile.set_role(d, "sex", "sensitive"))
    assert "m = 3\n" in place.plan_text()
    assert "# A comment that stays." in place.plan_text()


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(planfile.ROLES)), max_size=6))
def test_every_click_leaves_a_plan(tmp_path: Path, clicks: list[tuple[str, str]]) -> None:
    """After any clicks every column has exactly one role, or the click was refused and the file is
    what it was.
    """
    place = studio_on(tmp_path).place
    for name, role in clicks:
        before = place.plan_text()
        try:
            planfile.change(place, place.stamp(), lambda d: planfile.set_role(d, name, role))  # noqa: B023 - called at once
        except PhalanxError:
            assert place.plan_text() == before
        else:
            schema = place.plan().schema()
            assert sorted(schema.columns) == sorted(NAMES)
            assert schema.role(name) == role


def test_an_older_page_changes_nothing(tmp_path: Path) -> None:
    """Two pages, or two persons: the second one is told to look again."""
    place = studio_on(tmp_path).place
    seen = place.stamp()
    planfile.change(place, seen, lambda d: planfile.set_role(d, "sex", "drop"))
    after = place.plan_text()
    with pytest.raises(PlanError, match="changed since"):
        planfile.change(place, seen, lambda d: planfile.set_role(d, "age", "drop"))
    assert place.plan_text() == after


def test_what_is_no_plan_is_not_written(tmp_path: Path) -> None:
    """Without a quasi-identifier there is no plan, and the file stays as it is."""
    place = studio_on(tmp_path).place
    planfile.change(place, place.stamp(), lambda d: planfile.set_role(d, "sex", "drop"))
    before = place.plan_text()
    with pytest.raises(PlanError):
        planfile.change(place, place.stamp(), lambda d: planfile.set_role(d, "age", "drop"))
    assert place.plan_text() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["people.csv", "plan.toml"]


def test_the_file_keeps_its_rights(tmp_path: Path) -> None:
    """A plan that only its owner may read stays so."""
    place = studio_on(tmp_path).place
    place.plan_path.chmod(0o640)
    planfile.change(place, place.stamp(), lambda d: planfile.set_missing(d, "age", counts=True))
    assert stat.S_IMODE(place.plan_path.stat().st_mode) == 0o640


def test_missing_hierarchy_method_source_and_series(tmp_path: Path) -> None:
    """Each of the other changes is what the plan says afterwards, and can be taken back."""
    place = studio_on(tmp_path).place

    def then(by):
        return planfile.change(place, place.stamp(), by)

    assert then(lambda d: planfile.set_missing(d, "age", counts=True)).schema().missing == {
        "age": "value"
    }
    assert then(lambda d: planfile.set_missing(d, "age", counts=False)).schema().missing == "refuse"
    banded = then(lambda d: planfile.set_hierarchy(d, "age", {"bands": [5, 10]}))
    assert banded.schema().hierarchies["age"].parameters()
    ordered = then(lambda d: planfile.set_hierarchy(d, "sex", {"tree": {"any": ["m", "f"]}}))
    assert set(ordered.schema().hierarchies) == {"age", "sex"}
    then(lambda d: planfile.set_hierarchy(d, "age", {}))
    assert not then(lambda d: planfile.set_hierarchy(d, "sex", {})).schema().hierarchies
    method = then(lambda d: planfile.set_method(d, "mondrian", {"k": 7, "l": None}, ["k", "l"]))
    assert method.method().parameters()["k"] == 7
    assert then(lambda d: planfile.set_series(d, "other")).name == "other"
    moved = then(lambda d: planfile.set_source(d, "sqlite:///a.db", "select 1", Dialect()))
    assert moved.query == "select 1"
    read = then(lambda d: planfile.set_source(d, "b.csv", None, Dialect(";", ","))).sections.source
    assert (read.path, read.dialect) == ("b.csv", Dialect(";", ","))


def test_a_dropped_column_loses_its_hierarchy(tmp_path: Path) -> None:
    """Its hierarchy goes with it, and comes back with nobody."""
    place = studio_on(tmp_path).place
    for by in (
        lambda d: planfile.set_hierarchy(d, "age", {"bands": [5]}),
        lambda d: planfile.set_role(d, "age", "drop"),
    ):
        planfile.change(place, place.stamp(), by)
    assert "hierarchies" not in place.plan_text()


def test_a_plan_with_sections_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    """Where [schema] is an inline table, the page says to edit by hand."""
    inline = 'schema = { quasi = ["age"], identifier = "patient" }\n' + PLAN.split("[schema]")[0]
    rest = PLAN[PLAN.index("[method]") :].replace(
        'name = "m-invariance"\nm = 3', 'name="mondrian"\nk=2'
    )
    place = studio_on(tmp_path, plan=inline + rest).place
    with pytest.raises(PlanError, match="by hand"):
        planfile.change(place, place.stamp(), lambda d: planfile.set_role(d, "age", "drop"))
