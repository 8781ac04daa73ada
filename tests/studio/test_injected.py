# SPDX-License-Identifier: Apache-2.0
"""Names and values that are code for a browser or a template stay text, on every page (34)."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import polars as pl
import pytest

from phalanx.studio.app import PAGES
from support.studio_cases import PLAN, Studio, opened, people

CODE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    '" autofocus onfocus="alert(1)',
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "<a href=javascript:alert(1)>x</a>",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "${7*7}#{7*7}",
    "<div hx-get=/publish hx-trigger=load>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "]]><script>alert(1)</script>",
    "<style>@import'//evil.example'</style>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
]
MARK = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Studio, object]]:
    """A published series whose columns, values and comments are code."""
    age, sex, diagnosis = (f"{name} {MARK}" for name in ("age", "sex", "diagnosis"))
    values = [f"{CODE[i % 6]} {i % 6}" for i in range(240)]
    frame = people().with_columns(pl.Series("diagnosis", [values[i // 2] for i in range(240)]))
    frame = frame.with_columns(sex=pl.Series([CODE[6 + i % 2] for i in range(240)]))
    frame = frame.rename({"age": age, "sex": sex, "diagnosis": diagnosis})
    plan = PLAN
    for name in ("age", "sex", "diagnosis"):
        plan = plan.replace(f'"{name}"', f"'{name} {MARK}'")
    with opened(tmp_path_factory.mktemp("hostile"), plan=plan, frame=frame) as (studio, browser):
        form = {"stamp": studio.place.stamp(), "number": "1", "sure": "yes"}
        done = studio.finish(studio.send(browser, "/publish", **form))
        assert done["state"] == "done", done
        studio.finish(studio.send(browser, "/release/ward/1/attack", adversary="linkage"))
        studio.finish(studio.send(browser, "/release/ward/1/measure"))
        yield studio, browser


class Found(HTMLParser):
    """What of a page a browser would run or load that no template of ours wrote."""

    def __init__(self) -> None:
        super().__init__()
        self.live: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        ours = (named.get("src") or "").startswith("/static/")
        if tag in {"img", "style", "base", "iframe", "object"} or (tag == "script" and not ours):
            self.live.append(tag)
        if tag == "meta" and named.get("http-equiv") == "refresh" and named["content"] != "2":
            self.live.append(tag)
        self.live += [f"{tag} {name}" for name in named if name.startswith("on")]
        for name in ("href", "src", "action", "hx-get", "hx-post"):
            if name in named and not (named[name] or "").startswith(("/", "#")):
                self.live.append(f"{tag} {name}")


def live(page: str) -> list[str]:
    """What a browser would run or load."""
    found = Found()
    found.feed(page)
    return found.live


ADDRESSES = [
    *PAGES,
    "/release/{series}/{number:int}/compare?group=3&attribute=sex",
    "/data/column/1?kind=order",
    "/data/column/3?kind=tree",
    "/data/column/3?kind=order&levels=%3C/textarea%3E%3Cscript%3Ealert(1)%3C/script%3E",
    "/promise?method=mondrian&k=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E",
    "/data?from=%3Cscript%3Ealert(1)%3C/script%3E",
    "/nowhere/%3Cscript%3Ealert(1)%3C/script%3E",
    "/release/%3Cscript%3Ealert(1)%3C%2Fscript%3E/1/compare",
    "/work/2",
    "/work/3",
]


@pytest.mark.parametrize("path", ADDRESSES)
def test_names_and_values_stay_text(hostile, path: str) -> None:
    """No page makes a tag of a column's name, of a value, or of what stands in its address."""
    _, browser = hostile
    given = {"{series}": "ward", "{number:int}": "1", "{index:int}": "1", "{work:int}": "1"}
    for name, value in given.items():
        path = path.replace(name, value)
    assert live(browser.get(path).text) == []


@pytest.mark.parametrize("code", CODE)
def test_every_code_stays_text(hostile, code: str) -> None:
    """Whatever is sent in a form comes back as text, if at all, and is not computed."""
    studio, browser = hostile
    stamp = studio.place.stamp()
    forms = [
        ("/data/source", {"source": code}),
        ("/data/role", {"stamp": stamp, "column": "1", "role": code}),
        ("/data/role", {"stamp": stamp, "column": code, "role": "drop"}),
        ("/promise", {"stamp": stamp, "method": code}),
        ("/promise", {"stamp": stamp, "method": "mondrian", "k": code}),
        ("/series", {"stamp": stamp, "name": code}),
        ("/release/ward/1/attack", {"adversary": code}),
        ("/release/ward/1/original", {"source": code}),
        ("/publish", {"stamp": stamp, "number": code, "sure": "yes"}),
        ("/data/column/1", {"stamp": stamp, "kind": "bands", "levels": code}),
    ]
    for path, form in forms:
        answer = studio.send(browser, path, **form)
        assert answer.status_code == 400, path
        assert live(answer.text) == []
        assert "49" not in re.sub(r"[0-9]{3,}", "", answer.text)


def test_the_text_is_there(hostile) -> None:
    """The power of the tests above: the names are on the page, escaped."""
    _, browser = hostile
    assert "age &lt;img src=x onerror=&#34;alert(1)&#34;&gt;" in browser.get("/data").text


@pytest.mark.parametrize("code", [CODE[0], CODE[1], CODE[14], CODE[15]])
def test_code_would_be_seen(code: str) -> None:
    """The broken twin: unescaped, each is found."""
    assert live(f"<td>{code}</td>")
