# SPDX-License-Identifier: Apache-2.0
"""What was found of a release: it stays when the studio ends, and names nobody; and what a person
says that an adversary knows is what it is played with.
"""

import json
import os
import re
from html import unescape
from pathlib import Path

import polars as pl
import pytest

from phalanx.studio import findings
from phalanx.studio.place import Place
from support.studio_cases import PLAN, Studio, opened, people

ATTACK = "/release/ward/1/attack"
BARE = PLAN.replace('name = "m-invariance"\nm = 3  # enough', 'name = "mondrian"\nk = 2')


def test_what_was_found_is_there_when_the_studio_starts_again(tmp_path: Path) -> None:
    """The check, the attack and the loss of a release stand beside its reports, and another studio
    on the same folder reads them.
    """
    with opened(tmp_path) as (studio, browser):
        studio.place.plan().publish()
        for path, form in (
            (ATTACK, {"adversary": "linkage"}),
            ("/release/ward/1/verify", {}),
            ("/release/ward/1/measure", {}),
        ):
            assert studio.finish(studio.send(browser, path, **form))["state"] == "done"
    again = Studio(Place(tmp_path / "plan.toml")).inside()
    (release,) = again.get("/series.json").json()["series"][0]["releases"]
    assert release["checks"]["checks"] > 0
    assert release["checks"]["failed"] == []
    assert [a["played"] for a in release["attacks"]] == ["linkage"]
    assert release["attacks"][0]["sentence"] in unescape(again.get("/").text)
    assert "Correlation kept" in again.get("/release/ward/1/compare").text
    kept = "".join(p.read_text() for p in (tmp_path / "releases").rglob("*.found/*.json"))
    assert not [f"p{i}" for i in range(240) if f'"p{i}"' in kept]
    assert not [p for p in (tmp_path / "releases" / "ward-1").iterdir() if "found" in p.name]


def test_what_was_found_of_another_release_is_not_shown(tmp_path: Path) -> None:
    """Files of other digests, and files that are none, are passed over."""
    with opened(tmp_path) as (studio, _):
        studio.place.plan().publish()
        entry = studio.place.entry("ward", 1)
        findings.keep(entry.folder, "another", findings.CHECK, {"checks": 1, "failed": []})
        assert findings.kept(entry, findings.CHECK) == []
        place = next((tmp_path / "releases").rglob("*.found"))
        for text in ("", "[]", "{}", "nonsense", json.dumps({"digest": entry.digest})):
            (place / "check.json").write_text(text)
            assert findings.kept(entry, findings.CHECK) == []
        findings.keep(entry.folder, entry.digest, findings.CHECK, {"checks": 1, "failed": []})
        assert findings.kept(entry, findings.CHECK)[0]["checks"] == 1


def test_a_person_says_what_an_adversary_knows(tmp_path: Path) -> None:
    """What is written in its fields is what it is played with, and what it says it knows."""
    with opened(tmp_path) as (studio, browser):
        studio.place.plan().publish()
        page = browser.get(ATTACK).text
        assert 'name="asked.p_match" value="1"' in page
        form = {"adversary": "linkage", "asked.p_match": "1/2", "asked.sample": ""}
        done = studio.finish(studio.send(browser, ATTACK, **form))
        assert done["state"] == "done", done
        assert "with probability 1/2" in done["result"]["knows"]
        assert "with probability 1/2" in browser.get(ATTACK).text


@pytest.mark.parametrize(
    "wrong",
    [
        {"adversary": "composition"},
        {"adversary": "nobody"},
        {"adversary": "posterior", "asked.bound": "9" * 5_000},
    ],
)
def test_what_the_page_does_not_offer_is_refused(tmp_path: Path, wrong: dict[str, str]) -> None:
    """In a sentence: who needs what others published, and a number without end."""
    with opened(tmp_path) as (studio, browser):
        studio.place.plan().publish()
        answer = studio.send(browser, ATTACK, **wrong)
        assert answer.status_code == 400
        assert "That did not work" in answer.text


@pytest.mark.parametrize("wrong", [{"asked.p_match": "2"}, {"asked.sample": "many"}])
def test_what_no_adversary_knows_is_refused(tmp_path: Path, wrong: dict[str, str]) -> None:
    """In a sentence, and before anything is played."""
    with opened(tmp_path) as (studio, browser):
        studio.place.plan().publish()
        answer = studio.send(browser, ATTACK, adversary="linkage", **wrong)
        assert answer.status_code == 400
        assert "That did not work" in answer.text
        assert studio.place.jobs.of("attack") == []


def test_who_is_found_is_named_on_the_page_of_the_work_alone(tmp_path: Path) -> None:
    """Persons of whose value an adversary is certain, by their identifier; no page else names
    them.
    """
    with opened(tmp_path, plan=BARE) as (studio, browser):
        release = studio.place.plan().publish()
        done = studio.finish(studio.send(browser, ATTACK, adversary="posterior"))
        assert done["state"] == "done", done
        values = release.table.group_by("group").agg(pl.col("diagnosis").n_unique())["diagnosis"]
        assert 1 in values
        assert {*done["result"]["found"]} <= {*people()["patient"]}
        assert done["result"]["found"]
        page = browser.get(f"/work/{done['number']}").text
        for person in done["result"]["found"]:
            assert f"<li>{person}</li>" in page
            for other in ("/", ATTACK, f"{ATTACK}.json"):
                assert not re.search(rf"\b{person}\b", browser.get(other).text)


def test_nobody_else_may_read_what_was_found(tmp_path: Path) -> None:
    """Whatever the umask: the folder and the files are their owner's alone."""
    folder = tmp_path / "releases" / "ward-1"
    folder.mkdir(parents=True)
    before = os.umask(0)
    try:
        for _ in range(2):
            findings.keep(str(folder), "digest", findings.CHECK, {"checks": 1})
    finally:
        os.umask(before)
    (found,) = (tmp_path / "releases").rglob("*.found")
    assert found.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in found.iterdir()] == [0o600]
