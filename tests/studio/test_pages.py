# SPDX-License-Identifier: Apache-2.0
"""Every page, as HTML and as JSON: what it says of a plan, a table, and a series."""

import ast
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from markupsafe import escape

import phalanx as px
from phalanx.data.sources import batches
from phalanx.errors import PlanError, ReleaseError, SourceError
from phalanx.profile.use import QUESTIONS
from phalanx.studio import rendering, work
from phalanx.studio.app import PAGES
from phalanx.studio.pages import compare, data, publishing, reproducing, timeline, windows
from phalanx.studio.place import Place
from phalanx.studio.serving import place_of
from phalanx.verification.originals import why_another
from support.studio_cases import PLAN, Studio, opened, people, studio_on, write

ONCE = PLAN.replace('name = "m-invariance"\nm = 3  # enough', 'name = "mondrian"\nk = 5\nl = 2')


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Studio, object]]:
    """A studio whose first release is out, and a browser inside."""
    with opened(tmp_path_factory.mktemp("ward")) as (studio, browser):
        form = {"stamp": studio.place.stamp(), "number": "1", "sure": "yes"}
        done = studio.finish(studio.send(browser, "/publish", **form))
        assert done["state"] == "done", done
        yield studio, browser


def filled(path: str) -> str:
    """The address of a page about the first release, or the first column."""
    given = {"{series}": "ward", "{number:int}": "1", "{index:int}": "1", "{work:int}": "1"}
    for name, value in given.items():
        path = path.replace(name, value)
    return path


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_json_too(published, path: str) -> None:
    """A page and its JSON are of one function of the plan and the ledger."""
    studio, browser = published
    address = filled(path)
    page, found = browser.get(address), browser.get(f"{address}.json")
    assert (page.status_code, found.status_code) == (200, 200)
    assert page.headers["content-type"].startswith("text/html")
    told = PAGES[path][1](studio.place, query={}, **({} if "{" not in path else arguments(path)))
    assert found.json() == json.loads(json.dumps(told))


def arguments(path: str) -> dict[str, object]:
    """What the places of an address stand for."""
    every = {"series": "ward", "number": 1, "index": 1, "work": 1}
    return {name: value for name, value in every.items() if f"{{{name}" in path}


def test_the_timeline_rounds_up_what_was_spent(published, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three releases of one plan cost 1.1853, and not 1.2, nor 1.1."""
    _, browser = published
    entry = timeline._release
    spent = {"spent": {"epsilon": 1.18529, "delta": 1e-05, "releases": 3}}
    monkeypatch.setattr(timeline, "_release", lambda *given: entry(*given) | spent)
    text = browser.get("/").text
    assert "<dt>epsilon spent</dt><dd>1.186</dd>" in text
    assert "<dt>delta spent</dt><dd>1e-5</dd>" in text


def test_the_timeline_says_what_was_promised_and_done(published) -> None:
    """The front page has the release, its promise, its rows, and a way to the next one."""
    _, browser = published
    found = browser.get("/series.json").json()
    (series,) = found["series"]
    (release,) = series["releases"]
    assert (series["name"], release["number"], release["rows"]) == ("ward", 1, 240)
    assert "1/3" in release["promises"][0]
    assert found["next"] == 2
    assert "Publish the next release" in browser.get("/").text


def test_a_lost_folder_is_said(tmp_path: Path) -> None:
    """A release whose folder is gone is on the timeline still, and the page says that it is gone."""
    studio = studio_on(tmp_path)
    release = studio.place.plan().publish()
    release.path.rename(tmp_path / "elsewhere")
    browser = studio.inside()
    assert "Its folder is not where it was published." in browser.get("/").text
    (tmp_path / "elsewhere").rename(release.path)
    assert "Its folder is not" not in browser.get("/").text


def test_what_an_earlier_release_told_is_not_promised_away(tmp_path: Path) -> None:
    """A plan that suppressed rows and no longer does states nothing of who knows the method."""
    suppressing = PLAN.replace("m = 3  # enough", 'm = 3\nnot_eligible = "suppress"')
    studio = studio_on(tmp_path, plan=suppressing)
    studio.place.plan().publish()
    studio.place.plan_path.write_text(PLAN)
    offers = studio.inside().get("/promise.json").json()["offers"]
    said = {each["name"]: each["holds_if_method_known"] for each in offers}
    assert said["m-invariance"] is False and said["mondrian"] is True


def test_a_project_that_was_moved_is_looked_at_where_it_is(tmp_path: Path) -> None:
    """With its plan, its ledger and its releases."""
    was, now = tmp_path / "was", tmp_path / "now"
    was.mkdir()
    studio_on(was).place.plan().publish()
    was.rename(now)
    browser = studio_on(now).inside()
    assert "Its folder is not" not in browser.get("/").text
    for address in ("/release/ward/1/compare", "/release/ward/1/handover"):
        assert browser.get(address).status_code == 200


@pytest.mark.parametrize("harm", ["moved", "cut"])
def test_a_folder_that_was_harmed_meanwhile_is_not_handed_over(tmp_path: Path, harm: str) -> None:
    """Though it was looked at before; and is again once it is put back."""
    studio = studio_on(tmp_path)
    release, browser = studio.place.plan().publish(), studio.inside()
    addresses = ["/release/ward/1/compare", "/release/ward/1/handover"]
    assert "Its folder is not" not in browser.get("/").text
    assert [browser.get(address).status_code for address in addresses] == [200, 200]
    file = next(release.path.glob("*.csv"))
    content = file.read_bytes()
    if harm == "moved":
        release.path.rename(tmp_path / "elsewhere")
    else:
        file.write_bytes(content[:-20])
    assert "Its folder is not" in browser.get("/").text
    assert [browser.get(address).status_code for address in addresses] == [400, 400]
    if harm == "moved":
        (tmp_path / "elsewhere").rename(release.path)
    else:
        file.write_bytes(content)
    assert "Its folder is not" not in browser.get("/").text
    assert [browser.get(address).status_code for address in addresses] == [200, 200]


def test_a_table_that_is_gone_can_be_named_anew(tmp_path: Path) -> None:
    """The page Data says that its file is gone, and takes another one."""
    with opened(tmp_path) as (studio, browser):
        (tmp_path / "people.csv").rename(tmp_path / "moved.csv")
        page = browser.get("/data").text
        assert "The table cannot be read" in page
        assert "moved.csv" in page
        form = {"stamp": studio.place.stamp(), "source": "moved.csv"}
        assert studio.send(browser, "/data/source", **form).status_code == 303
        assert browser.get("/data.json").json()["rows"]["of"] == 240


def test_a_table_is_read_as_the_plan_says(tmp_path: Path) -> None:
    """A separator that the plan does not state is none for the page either: publishing would refuse
    it, and the page Data says so and takes the file anew.
    """
    with opened(tmp_path) as (studio, browser):
        people().write_csv(tmp_path / "people.csv", separator=";")
        page = browser.get("/data").text
        assert "The table cannot be read" in page or "The table lacks columns" in page
        form = {"stamp": studio.place.stamp(), "source": "people.csv"}
        assert studio.send(browser, "/data/source", **form).status_code == 303
        assert 'separator = ";"' in studio.place.plan_text()
        assert browser.get("/data.json").json()["absent"] == []
        assert studio.finish(studio.send(browser, "/check"))["state"] == "done"


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n", b"\0\0", b"a,a\n1,2\n", b"a;a\n1;2\n", b"\x81\n1\n"]
)
def test_what_is_no_table_begins_no_plan(tmp_path: Path, content: bytes) -> None:
    """One sentence, and nothing is written."""
    with opened(tmp_path, plan=None) as (studio, browser):
        (tmp_path / "odd.csv").write_bytes(content)
        answer = studio.send(browser, "/data/bring", source="odd.csv")
        assert answer.status_code == 400
        assert "That did not work" in answer.text
        assert not studio.place.has_plan


def test_values_that_are_not_applicable(tmp_path: Path) -> None:
    """They are chosen among the table's, every method of ours takes them, what is published
    verifies, and another sensitive attribute has none.
    """
    with opened(tmp_path, plan=ONCE) as (studio, browser):
        assert [f["rows"] for f in browser.get("/data.json").json()["frequent"]] == [40] * 6
        form = {"stamp": studio.place.stamp(), "value.2": "cold"}
        wrong = studio.send(browser, "/data/not-applicable", **form | {"value.0": "<b>"})
        assert wrong.status_code == 400
        assert studio.send(browser, "/data/not-applicable", **form).status_code == 303
        assert studio.place.plan().schema().not_applicable == ("cold",)
        found = browser.get("/data.json").json()["frequent"]
        assert [f["value"] for f in found if f["listed"]] == ["cold"]
        offers = {o["name"]: o["wrong"] for o in browser.get("/promise.json").json()["offers"]}
        assert not any("not_applicable" in wrong for wrong in offers.values())
        assert offers["mondrian"] == ""
        form = {"stamp": studio.place.stamp(), "number": "1", "sure": "yes"}
        done = studio.finish(studio.send(browser, "/publish", **form))
        assert done["state"] == "done", done
        form = {"stamp": studio.place.stamp(), "column": "2", "role": "sensitive"}
        assert studio.send(browser, "/data/role", **form).status_code == 303
        assert studio.place.plan().schema().not_applicable == ()


def test_a_code_that_is_not_applicable_is_a_number(tmp_path: Path) -> None:
    """A code of a column of numbers stands in the plan as a number, and is taken away again."""
    frame = people().with_columns(diagnosis=pl.int_range(240) % 6 - 1)
    with opened(tmp_path, plan=ONCE, frame=frame) as (studio, browser):
        for form, listed in (({"value.0": "-1"}, (-1,)), ({}, ())):
            form |= {"stamp": studio.place.stamp()}
            assert studio.send(browser, "/data/not-applicable", **form).status_code == 303
            assert studio.place.plan().schema().not_applicable == listed


def test_the_most_that_can_be_promised_is_of_who_has_a_value(tmp_path: Path) -> None:
    """Rows whose value is not applicable are no most frequent value, on the page and in a check."""
    none = pl.int_range(240) % 2 == 0
    frame = people().with_columns(
        diagnosis=pl.when(none).then(pl.lit("none")).otherwise("diagnosis")
    )
    with opened(tmp_path, plan=ONCE, frame=frame) as (studio, browser):
        assert browser.get("/promise.json").json()["most"]["share"] == 1 / 2
        form = {"stamp": studio.place.stamp(), "value.0": "none"}
        assert studio.send(browser, "/data/not-applicable", **form).status_code == 303
        most = browser.get("/promise.json").json()["most"]
        preview = studio.place.plan().check()
    assert (most["share"], most["most"], preview.allowed) == (1 / 6, 6, 6)


def test_the_plans_method_comes_first(published) -> None:
    """Whoever looks at the promise of the plan need not search for it."""
    _, browser = published
    assert browser.get("/promise.json").json()["offers"][0]["name"] == "m-invariance"


def test_a_check_that_was_not_made_is_not_said_to_hold(published) -> None:
    """What could not be checked is counted, and not marked as what holds."""
    studio, browser = published
    done = studio.finish(studio.send(browser, "/release/ward/1/verify"))
    checks = done["result"]["checks"]
    unmade = sum(check["holds"] and check["worst"] is None for check in checks)
    page = browser.get(f"/work/{done['number']}").text
    assert page.count(">not checked<") == unmade > 0
    assert f"{unmade} could not: the note says why" in page
    assert 'class="holds" data-is="result">not checked' not in page


def test_the_risk_is_counted() -> None:
    """Unique rows as columns are added, against a slow count in plain Python."""
    frame = people(97).with_columns(pl.Series("*", [i % 5 for i in range(97)]))
    names = ["age", "sex", "*"]
    found = data.risk(data.Table(("t",), frame, (), frame.height), names)
    for i, step in enumerate(found["steps"], 1):
        rows = list(zip(*(frame.get_column(n).to_list() for n in names[:i]), strict=True))
        alone = [row for row in rows if rows.count(row) == 1]
        few = [row for row in rows if rows.count(row) < 5]
        assert (step["unique"], step["few"]) == (len(alone), len(few))
    assert sum(size["rows"] for size in found["sizes"]) == 97


def test_any_set_of_columns_is_counted_at_once(published) -> None:
    """Whoever asks what somebody who knows these columns finds need not change the plan."""
    studio, browser = published
    frame, plan = studio.place.table().frame, studio.place.plan_text()
    for chosen in ([1], [1, 3], [2, 3, 4], []):
        address = "/data.json?knows=these" + "".join(f"&knows.{i}=yes" for i in chosen)
        found = browser.get(address).json()
        names = [frame.columns[i] for i in chosen]
        assert [c["name"] for c in found["columns"] if c["known"]] == names
        assert [step["name"] for step in found["risk"]["steps"]] == names
        if names:
            unique = sum(n == 1 for n in Counter(frame.select(names).rows()).values())
            assert found["risk"]["steps"][-1]["unique"] == unique
    assert browser.get("/data.json").json()["risk"]["names"] == ["age", "sex"]
    assert studio.place.plan_text() == plan


def test_a_column_that_is_a_pattern_is_one_column(tmp_path: Path) -> None:
    """Polars reads some names as patterns; here a column is its very name (42)."""
    frame = people().rename({"age": "^.*$", "sex": "*"})
    plan = PLAN.replace('quasi = ["age", "sex"]', 'quasi = ["^.*$", "*"]')
    with opened(tmp_path, plan=plan, frame=frame) as (_, browser):
        answer = browser.get("/data.json")
        assert answer.json()["unread"] or answer.json()["risk"]["names"] == ["^.*$", "*"]


@pytest.mark.parametrize(
    ("first", "shown"), [("1", 1), ("0", 1), ("-7", 1), ("200", 200), ("9999999", 221)]
)
def test_rows_are_a_window(published, first: str, shown: int) -> None:
    """Twenty rows from the one that is asked for, and never beyond the table."""
    _, browser = published
    rows = browser.get(f"/data/rows.json?from={first}").json()["rows"]
    assert (rows["first"], len(rows["rows"])) == (shown, windows.ROWS)
    assert rows["rows"][0][0] == f"p{shown - 1}"


def test_a_million_rows_are_a_window(tmp_path: Path) -> None:
    """Of a long table a page holds twenty rows, wherever it stands, and stays small."""
    of = 1_000_000
    frame = pl.select(patient=pl.int_range(of), age=pl.int_range(of) % 70, sex=pl.int_range(of) % 2)
    frame = frame.with_columns(diagnosis=pl.col("age") % 6, note=pl.lit("seen"))
    with opened(tmp_path, frame=frame) as (_, browser):
        for first, shown in ((1, 1), (500_000, 500_000), (of, of - 19)):
            answer = browser.get(f"/data/rows?from={first}")
            assert f"Rows {shown:,} to {shown + 19:,} of 1,000,000" in answer.text
            assert len(answer.content) < 20_000
        assert len(browser.get("/data").content) < 60_000


def test_a_table_larger_than_the_memory_is_looked_at_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows at equal distances, which the page says, and the plan that it proposes; a table of which
    only names are asked is not read.
    """
    monkeypatch.setattr(batches, "_SAMPLE", 80)
    monkeypatch.setattr(batches.Batches, "fits", lambda _: False)
    people().write_parquet(tmp_path / "people.parquet")
    with opened(tmp_path, plan=None) as (studio, browser):
        assert studio.send(browser, "/data/bring", source="people.parquet").status_code == 303
        assert "80 of 240 rows" in studio.place.plan_text()
        found = browser.get("/data.json").json()
        assert (found["all_rows"], found["looked_at"], found["rows"]["of"]) == (240, 80, 80)
        assert "80 rows are looked at" in browser.get("/data").text
        monkeypatch.setattr(batches, "read_source", None)
        people().drop("sex").write_parquet(tmp_path / "other.parquet")
        form = {"stamp": studio.place.stamp(), "source": "other.parquet"}
        assert "he table has no column" in studio.send(browser, "/data/source", **form).text


def test_a_folder_is_read_again_where_a_file_of_it_changed(tmp_path: Path) -> None:
    """As one file is."""
    (tmp_path / "people").mkdir()
    with opened(tmp_path, plan=None) as (studio, browser):
        for rows, part in ((240, "1"), (300, "2"), (270, "2")):
            frame = people(240 if part == "1" else rows - 240)
            frame.write_parquet(tmp_path / "people" / f"{part}.parquet")
            if part == "1":
                studio.send(browser, "/data/bring", source="people")
            assert browser.get("/data.json").json()["all_rows"] == rows


def test_a_chart_of_whole_numbers_begins_at_whole_numbers() -> None:
    """Every value is in one bin, a bin begins at a whole number, and bins are few."""
    for values in ([5], [1, 2, 2], list(range(17, 91)), [0, 10**9], [-7, 3, 40]):
        labels, counts = windows.bars(pl.Series(values), pl.Series(values))
        assert sum(counts) == len(values)
        assert int(labels[0]) == min(values)
        assert len(labels) == len(counts) <= 12


def test_a_chart_leaves_infinite_numbers_out() -> None:
    """Bins are of the others."""
    values = pl.Series([1.0, 2.0, float("inf"), float("-inf"), float("nan"), None])
    _, counts = windows.bars(values, values)
    assert sum(counts) == 2
    nothing = windows.bars(values.head(0), values.filter(values.is_infinite()))
    assert nothing == ([], [])


@pytest.mark.parametrize(
    "candidates", [{3: 9}, {1: 1, 12: 1}, {0: 4, 13: 1}, {5: 1, 10**5: 2}, {9: 3, 10: 4, 10**6: 1}]
)
def test_a_chart_of_candidates_has_every_person(candidates: dict[int, int]) -> None:
    """In the bar of their number, and bars are few; those of whom one is left stand alone."""
    labels, counts = publishing.bars(candidates)
    assert sum(counts) == sum(candidates.values())
    assert counts[-1] > 0
    assert len(labels) == len(counts) == len(set(labels)) <= 20
    if min(candidates) <= 1:
        assert labels[1 - min(candidates)] == "1"
    for size, persons in candidates.items():
        (at,) = [i for i, label in enumerate(labels) if inside(size, label)]
        assert counts[at] >= persons


def inside(size: int, label: str) -> bool:
    """Whether a bar's label covers a number."""
    low, _, high = label.partition("–")
    return int(low) <= size <= int(high or low)


@pytest.mark.parametrize("first", ["x", "1e3", "٣", "1" * 30, "--1"])
def test_what_is_no_number_is_refused(published, first: str) -> None:
    """A window that begins nowhere is refused in one sentence."""
    _, browser = published
    answer = browser.get("/data/rows.json", params={"from": first})
    assert answer.status_code == 400
    assert answer.json()["error"].count(".") == 1


def test_the_original_stands_beside_the_release(published) -> None:
    """Each row's group is the one that holds its person: the box covers the row, by the ledger."""
    studio, browser = published
    found = browser.get("/release/ward/1/compare/rows.json?from=41").json()["rows"]
    release = studio.place.release("ward", 1)
    table = release.form.table
    for row, beside in zip(found["rows"], found["beside"], strict=True):
        group = table.filter(pl.col("group") == beside["group"])
        low, high = (group[c][0] for c in release.form.attribute("quasi")[0].columns)
        assert low <= int(row[0]) <= high
        assert row[-1] in group["diagnosis"].to_list()
        assert [c["changed"] for c in beside["cells"]] == [
            c["text"] != own for c, own in zip(beside["cells"], row, strict=True)
        ]


def test_a_group_says_why_its_rows_are_together(published) -> None:
    """The box, the persons in it, and what whoever knows the group is left with."""
    _, browser = published
    found = browser.get("/release/ward/1/compare.json?group=7").json()["group"]
    assert found["persons"] + found["counterfeits"] == found["rows"] == 3
    assert len(found["sensitive"]) == 3
    assert len(found["members"]) == found["persons"]


def test_another_table_is_not_taken_for_the_original(published, tmp_path: Path) -> None:
    """Persons who are not those of the release are noticed, and nothing is laid beside it."""
    studio, browser = published
    other = write(people().with_columns(pl.col("patient") + "x"), tmp_path / "other.csv")
    try:
        form = {"source": str(other)}
        assert studio.send(browser, "/release/ward/1/original", **form).status_code == 303
        found = browser.get("/release/ward/1/compare.json").json()
        assert found["rows"] is None
        assert "not the table" in found["wrong"]
    finally:
        studio.place.named.clear()


def test_a_source_that_changed_is_not_the_original_any_more(tmp_path: Path, monkeypatch) -> None:
    """Where the plan's file is another table by now, no figure of it is shown, measured, or kept as
    what an adversary found.
    """
    monkeypatch.chdir(tmp_path)
    write(people(), tmp_path / "t.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[series]\nname = "ward"\n[source]\npath = "t.csv"\n[schema]\nquasi = ["age", "sex"]\n'
        'sensitive = "diagnosis"\ndrop = ["patient", "note"]\n[method]\nname = "mondrian"\nk = 3\n'
        '[publish]\nto = "releases"\n'
    )
    px.Plan.read(plan).publish()
    release = px.Release.read(tmp_path / "releases" / "ward-1")
    right, wrong = people(), people().with_columns(pl.col("age") + 40)
    assert why_another(release, right) == ""
    assert why_another(release, wrong) != ""
    studio_place = Place(plan)
    assert compare.page(studio_place, "ward", 1, {})["questions"]
    write(wrong, tmp_path / "t.csv")
    found = compare.page(Place(plan), "ward", 1, {})
    assert "this is not the table that release 1 was made of" in found["wrong"]
    assert (found["questions"], found["charts"]) == ([], None)
    folder, table = str(release.path), str(tmp_path / "t.csv")
    beside = {"ledger": f"sqlite:///{tmp_path}/ward.db", "identifier": None, "knows": {}}
    for begin in (
        lambda: work.measure(lambda *_: None, folder=folder, original=table, identifier=None),
        lambda: work.attack(
            lambda *_: None, adversary="posterior", folders=[folder], originals=[(table, None, None)], **beside
        ),
    ):  # fmt: skip
        with pytest.raises(ReleaseError, match="this is not the table that release 1"):
            begin()
    assert not list((tmp_path / "releases").rglob("*.found"))


def test_commands_of_a_page_name_all_that_it_uses(published) -> None:
    """Every folder with its table, who is who, and the ledger; they run as they stand."""
    studio, browser = published
    said = browser.get("/release/ward/1/attack.json").json()["by"]["command"]
    assert said.startswith("phalanx attack all releases/ward-1 --original ")
    assert " --identifier patient --ledger " in said
    assert said in [
        c["command"] for c in browser.get("/release/ward/1/handover.json").json()["commands"]
    ]
    assert (
        reproducing.shown(studio.place, str(studio.place.plan_path.parent / "-x.csv")) == "./-x.csv"
    )


def test_an_attack_says_a_sentence_first(published) -> None:
    """What an adversary found is a sentence, a verdict and figures; and it stands on the timeline."""
    studio, browser = published
    form = {"adversary": "linkage"}
    done = studio.finish(studio.send(browser, "/release/ward/1/attack", **form))
    assert done["state"] == "done", done
    assert done["result"]["sentence"].startswith("linkage ")
    page = browser.get(f"/work/{done['number']}").text
    assert done["result"]["sentence"][1:20] in page
    assert "linkage" in browser.get("/").text


def test_what_was_lost_is_measured(published) -> None:
    """The figures of the release beside those of a sample."""
    studio, browser = published
    done = studio.finish(studio.send(browser, "/release/ward/1/measure"))
    assert {"ncp", "workload"} <= {f["name"] for f in done["result"]["figures"]}
    assert [p["attributes"] for p in done["result"]["pairs"]] == [
        ["age", "sex"], ["age", "diagnosis"], ["sex", "diagnosis"],
    ]  # fmt: skip
    page = browser.get("/release/ward/1/compare").text
    assert "a sample of the same size" in page
    assert "Correlation kept" in page


def test_a_release_is_checked_again(published) -> None:
    """From its files and the ledger; the timeline says that it was."""
    studio, browser = published
    done = studio.finish(studio.send(browser, "/release/ward/1/verify"))
    assert done["result"]["holds"] is True
    assert "Again, on 20" in browser.get("/").text


def test_the_report_runs_nothing(published) -> None:
    """The report is shown as it is, under a policy that lets nothing run and nothing load."""
    _, browser = published
    answer = browser.get("/release/ward/1/report")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "allow-scripts" not in policy


def test_what_is_handed_over_can_be_made_without_the_studio(published) -> None:
    """The plan on the page is the file, and the commands name what is there."""
    studio, browser = published
    found = browser.get("/release/ward/1/handover.json").json()
    assert found["plan"] == studio.place.plan_text()
    assert found["folder"] == "releases/ward-1"
    assert px.verify(studio.place.plan_path.parent / found["folder"]).holds


def test_every_method_is_offered_or_refused_with_a_reason(tmp_path: Path) -> None:
    """Without an identifier nobody can be followed, and the page says so; simple groups do."""
    plan = ONCE.replace('identifier = "patient"\n', "").replace(
        'drop = ["note"]', 'drop = ["note", "patient"]'
    )
    with opened(tmp_path, plan=plan) as (_, browser):
        offers = {o["name"]: o for o in browser.get("/promise.json").json()["offers"]}
    assert "identifier" in offers["m-invariance"]["wrong"]
    assert offers["mondrian"]["wrong"] == ""
    assert offers["mondrian"]["guarantees"]
    assert len(offers) == 7


def test_every_method_says_what_it_assumes_and_leaves_open(published) -> None:
    """And what it promises, each about the plan's own attribute."""
    _, browser = published
    page = browser.get("/promise").text
    for offer in browser.get("/promise.json").json()["offers"]:
        for key in ("promise", "assumes", "open"):
            assert offer[key], (offer["name"], key)
            assert "{" not in offer[key]
        assert escape(offer["assumes"][1:]) in page


def test_typical_questions_are_answered_from_both(published) -> None:
    """The original's own count stands beside the estimate, and within what is sure."""
    studio, browser = published
    frame = studio.place.table().frame
    asked = browser.get("/release/ward/1/compare.json").json()["questions"]
    counts = {f"rows with sex = {s}": n for s, n in frame["sex"].value_counts().iter_rows()}
    of_sex = [q for q in asked if q["question"] in counts]
    assert len(asked) == 3
    assert [q["original"] for q in of_sex] == [counts[q["question"]] for q in of_sex] != []
    assert all(q["low"] <= q["original"] <= q["high"] for q in asked)


def test_a_promise_is_shown_before_it_is_adopted(published) -> None:
    """Figures that are tried change the sentence, and not the plan; and one card alone can be asked
    for.
    """
    studio, browser = published
    before = studio.place.plan_text()
    found = browser.get("/promise.json?method=mondrian&k=17").json()
    offer = next(o for o in found["offers"] if o["name"] == "mondrian")
    assert "17" in offer["guarantees"][0]
    german = browser.get("/promise.json?method=safe-sampling&epsilon=0,5").json()["offers"]
    point = browser.get("/promise.json?method=safe-sampling&epsilon=0.5").json()["offers"]
    assert [o["guarantees"] for o in german] == [o["guarantees"] for o in point]
    alone = browser.get("/promise.json?method=mondrian&k=17&only=mondrian").json()["offers"]
    assert alone == [offer]
    assert studio.place.plan_text() == before


def test_numbers_follow_the_language(published) -> None:
    """A browser that asks for German reads German numbers."""
    _, browser = published
    page = "/data/rows?from=1"
    assert "of 240" in browser.get(page).text
    wide = browser.get("/data", headers={"accept-language": "de-DE,de;q=0.9"}).text
    assert "100,0 %" in wide
    assert "100.0%" not in wide


def test_numbers_within_sentences_follow_the_language(published) -> None:
    """Those that adversaries say, and those of pictures; values of the table stay as they are."""
    studio, browser = published
    german = {"accept-language": "de"}
    form = {"adversary": "linkage"}
    done = studio.finish(studio.send(browser, "/release/ward/1/attack", **form))
    said = done["result"]["sentence"]
    (share,) = re.findall(r"([0-9]+[.][0-9]+) % of the persons", said)
    work = f"/work/{done['number']}"
    assert f"{share} % of the persons" in browser.get(work).text
    turned = browser.get(work, headers=german).text
    assert f"{share.replace('.', ',')} % of the persons" in turned
    assert rendering.sentence("<text>12,345</text> <text>K35.8</text>", german=True) == (
        "<text>12.345</text> <text>K35.8</text>"
    )


def test_without_a_plan_there_is_a_way_to_begin(tmp_path: Path) -> None:
    """A table of the folder is chosen, and becomes a plan that can be published."""
    with opened(tmp_path, plan=None) as (studio, browser):
        page = browser.get("/").text
        assert "people.csv" in page
        assert studio.send(browser, "/data/bring", source="people.csv").status_code == 303
        assert studio.place.plan().schema().identifier == "patient"
        again = studio.send(browser, "/data/bring", source="people.csv")
        assert again.status_code == 400
        assert "not overwritten" in again.text


@pytest.mark.parametrize(
    ("answers", "method"),
    [
        ({}, {"name": "m-invariance", "m": 5}),
        ({"changes": "", "looks_original": "no", "receiver": "internal"}, {"m": 3}),
        ({"changes": "no"}, {"name": "mondrian", "k": 5}),
        ({"changes": "no", "looks_original": "yes"}, {"name": "mutual-cover"}),
        ({"changes": "values", "receiver": "public"}, {"name": "global-guarantee", "k": 12}),
    ],
)
def test_three_questions_choose_the_method(tmp_path: Path, answers, method) -> None:
    """The same as ``phalanx init`` asks, where a plan is begun; what nobody answers is as there."""
    with opened(tmp_path, plan=None) as (studio, browser):
        page = browser.get("/").text
        for field, (question, means) in QUESTIONS.items():
            assert question in page
            assert all(f'id="{field}-{answer}"' in page for answer in means)
        assert studio.send(browser, "/data/bring", source="people.csv", **answers).is_redirect
        adopted = tomllib.loads(studio.place.plan_text())["method"]
        assert method.items() <= adopted.items()


def test_an_answer_that_is_none(tmp_path: Path) -> None:
    """It is refused in a sentence, and no plan is written."""
    with opened(tmp_path, plan=None) as (studio, browser):
        wrong = studio.send(browser, "/data/bring", source="people.csv", receiver="all")
        assert (wrong.status_code, studio.place.has_plan) == (400, False)
        assert "no such answer" in wrong.text


def test_a_studio_on_a_table_begins_with_the_questions(tmp_path: Path, monkeypatch) -> None:
    """The first page has the table's name, and nothing is written before it is answered."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q1.csv").write_text("patient,age\n1,2\n")
    studio = Studio(place_of("q1.csv"))
    assert 'value="q1.csv"' in studio.inside().get("/").text
    assert not studio.place.has_plan
    with pytest.raises(SourceError, match="there is no file"):
        place_of("q2.csv")
    (tmp_path / "plan.toml").write_text("")
    with pytest.raises(PlanError, match="not overwritten"):
        place_of("q1.csv")


def test_a_ledger_alone_is_looked_at(tmp_path: Path) -> None:
    """Without the plan there are the timeline, and releases to check, to attack and to hand over;
    nothing is published.
    """
    from phalanx.studio.place import Place

    studio_on(tmp_path).place.plan().publish()
    alone = Studio(Place(tmp_path / "none.toml", ledger_alone=f"sqlite:///{tmp_path}/ward.db"))
    browser = alone.inside()
    assert "Release 1" in browser.get("/").text
    for page in ("compare", "attack", "handover"):
        assert browser.get(f"/release/ward/1/{page}").status_code == 200
    assert browser.get("/publish").status_code == 400
    table = {"source": str(tmp_path / "people.csv")}
    assert alone.send(browser, "/release/ward/1/original", **table).status_code == 303
    assert browser.get("/release/ward/1/compare.json").json()["rows"]["of"] == 240


def test_the_style_is_the_reports_too(published) -> None:
    """One stylesheet: the colours and tables of the report, then what only the studio has."""
    _, browser = published
    style = browser.get("/static/style.css").text
    assert style.index("--accent:") < style.index(".studio main")
    assert "{%" not in style
    assert "{{" not in style


def test_under_every_page_stands_how_to_do_it_without_the_studio(published) -> None:
    """The plan, a command that names what is there, and Python that can be pasted."""
    studio, browser = published
    for path in PAGES:
        if path.endswith("rows") or path in ("/explore/estimate", "/work/{work:int}"):
            continue  # parts of a page; the work of one
        by = browser.get(f"{filled(path)}.json").json()["by"]
        page = browser.get(filled(path)).text
        assert "The same without the studio" in page, path
        assert by["command"].startswith("phalanx "), path
        assert by["plan"] == studio.place.plan_text(), path
        assert "# A comment that stays." in page, path
        if (
            "…" not in by["python"]
            and "TABLE" not in by["python"]
            and "publish()" not in by["python"]
        ):
            ast.parse(by["python"])


@pytest.mark.parametrize("path", ["/series", "/data", "/promise", "/data/column/{index:int}"])
def test_what_stands_under_a_page_runs(published, monkeypatch, path: str) -> None:
    """The Python under a page runs in the plan's folder."""
    studio, browser = published
    monkeypatch.chdir(studio.place.plan_path.parent)
    exec(browser.get(f"{filled(path)}.json").json()["by"]["python"], {})  # noqa: S102 - our own text
