# SPDX-License-Identifier: Apache-2.0
"""Every form beside its original: what was published of each person, and why rows are together."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.studio_cases import PLAN, opened

METHODS = {
    "bucketized": 'name = "anatomy"\nl = 3',
    "sliced": 'name = "slicing"\nl = 3',
    "perturbed": 'name = "mutual-cover"\ndelta = "1/3"\nk = 6',
    "recoded": 'name = "safe-sampling"\nepsilon = 2\ndelta = 0.01\nexpected_rows = 240\n'
    "allow_empty = true\n[method.scheme]\nage = { low = 20, high = 80, width = 60 }",
}


def compared(tmp_path: Path, form: str) -> Any:
    """A release of a form, its page Compare from the first row, and the page of its first group."""
    if form == "perturbed":
        pytest.importorskip("kmedoids", reason="the extra of mutual-cover is not installed")
    plan = PLAN.replace('name = "m-invariance"\nm = 3  # enough', METHODS[form])
    if form == "recoded":
        plan = plan.replace('["age", "sex"]\nsensitive = "diagnosis"', '["age"]')
        plan = plan.replace('["note"]', '["note", "sex", "diagnosis"]')
    with opened(tmp_path, plan=plan) as (studio, browser):
        studio.place.plan().publish()
        address = "/release/ward/1/compare"
        assert browser.get(address).status_code == 200
        found = browser.get(f"{address}.json").json()
        first = found["rows"] and found["rows"]["beside"][0]["group"]
        group = browser.get(f"{address}.json?group={first}").json()["group"] if first else None
        if group is not None:
            assert f"{group['word']} {first}" in browser.get(f"{address}?group={first}").text
        return studio.place.release("ward", 1), found, group


def texts(row: Mapping[str, Any]) -> list[str]:
    """What was published of a person."""
    return [cell["text"] for cell in row["cells"]]


def test_a_bucket_stands_beside_its_persons(tmp_path: Path) -> None:
    """Quasi-identifiers are as they were, and of the sensitive value the bucket's are shown."""
    release, found, group = compared(tmp_path, "bucketized")
    values = release.form.values
    for own, beside in zip(found["rows"]["rows"], found["rows"]["beside"], strict=True):
        of_bucket = values.filter(values["bucket"] == beside["group"])["diagnosis"].to_list()
        assert texts(beside)[:2] == own[:2]
        assert {text.partition(" (")[0] for text in texts(beside)[2].split("; ")} == {*of_bucket}
        assert own[2] in of_bucket
        assert [cell["changed"] for cell in beside["cells"]] == [False, False, True]
    assert (group["word"], group["box"], group["persons"]) == ("bucket", [], group["rows"])
    assert sum(value["rows"] for value in group["sensitive"]) == group["rows"]


def test_a_slice_stands_beside_its_persons(tmp_path: Path) -> None:
    """Of every attribute the values of the bucket's column are shown, the person's among them."""
    _, found, group = compared(tmp_path, "sliced")
    for own, beside in zip(found["rows"]["rows"], found["rows"]["beside"], strict=True):
        for before, text in zip(own, texts(beside), strict=True):
            assert before in text.split("; ") or text.endswith("…")
    assert [box["name"] for box in group["box"]] == ["age", "sex"]
    assert sum(value["rows"] for value in group["sensitive"]) == group["rows"]


def test_a_perturbed_row_stands_beside_its_person(tmp_path: Path) -> None:
    """The row that was drawn for the person, with this person's own sensitive value."""
    release, found, group = compared(tmp_path, "perturbed")
    assert (found["grouped"], found["rows"]["word"], group) == (False, "row", None)
    rows = [[str(value) for value in row] for row in release.form.table.rows()]
    changed = 0
    for own, beside in zip(found["rows"]["rows"], found["rows"]["beside"], strict=True):
        assert texts(beside) == rows[beside["group"] - 1]
        assert texts(beside)[-1] == own[-1]
        changed += sum(cell["changed"] for cell in beside["cells"])
    assert changed


def test_no_row_of_a_private_sample_is_said(tmp_path: Path) -> None:
    """Of a differentially private release nobody is told whose rows were sampled."""
    _, found, _ = compared(tmp_path, "recoded")
    assert found["rows"] is None
    assert "differentially private" in found["why_no_rows"]
