# SPDX-License-Identifier: Apache-2.0
"""Who may come in (THREATS 31 to 33): hosts, origins, tokens, cookies, and what every answer says."""

import asyncio
from pathlib import Path

import pytest

from phalanx.studio.app import ACTIONS, ASKED, PAGES
from phalanx.studio.door import HEADERS, MOST_BYTES
from phalanx.studio.rendering import STATIC, static
from support.studio_cases import HOST, OWN, PLAN, Studio, opened, studio_on

SESSION = "phalanx-8765"
WRONG_HOSTS = [
    "evil.example",
    "evil.example:8765",
    "localhost:8765",
    "127.0.0.1",
    "127.0.0.1:80",
    "127.0.0.1:8765.evil.example",
    "127.0.0.1:8765/series",
    "evil.example/127.0.0.1:8765",
    "user@127.0.0.1:8765",
    "127.0.0.1:8765#evil",
    "127.0.0.1.nip.io:8765",
    "[::1]:8765",
    "0.0.0.0:8765",
    "127.1:8765",
    "2130706433:8765",
    "",
]
PATHS = ["/", *PAGES, *ASKED, *ACTIONS, *(f"/static/{name}" for name in STATIC)]


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return studio_on(tmp_path)


def plain(path: str) -> str:
    """An address with something in its places."""
    given = {"{series}": "ward", "{number:int}": "1", "{index:int}": "0", "{work:int}": "1"}
    for name, value in given.items():
        path = path.replace(name, value)
    return path


@pytest.mark.parametrize("host", WRONG_HOSTS)
def test_another_host_is_refused(studio: Studio, host: str) -> None:
    """A name that is rebound to this machine gets nothing, not even with a cookie (31, 32)."""
    browser = studio.inside()
    answer = browser.get("/data", headers={"host": host})
    assert answer.status_code == 403
    assert "diagnosis" not in answer.text


def test_two_hosts_are_refused(studio: Studio) -> None:
    """A request with two headers Host is refused, whichever comes first."""
    sent: list[dict] = []

    async def ask() -> None:
        async def receive() -> dict:
            return {"type": "http.request", "body": b""}

        async def send(message: dict) -> None:
            sent.append(message)

        headers = [(b"host", HOST.encode()), (b"host", b"evil.example")]
        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b""}
        await studio.door(scope | {"headers": headers}, receive, send)

    asyncio.run(ask())
    assert sent[0]["status"] == 403


def test_a_web_socket_is_refused(studio: Studio) -> None:
    """There is no web socket, so that no page opens one."""
    sent: list[dict] = []

    async def ask() -> None:
        async def send(message: dict) -> None:
            sent.append(message)

        await studio.door({"type": "websocket", "path": "/", "headers": []}, None, send)

    asyncio.run(ask())
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize("path", PATHS)
def test_without_a_cookie_nothing_is_served(studio: Studio, path: str) -> None:
    """No page, no JSON, no script and no style for a browser that has not come in."""
    for address in (plain(path), f"{plain(path)}.json"):
        answer = studio.browser().get(address)
        assert answer.status_code == 403
        assert "has not come in" in answer.text


def test_the_token_is_worthless_once_it_was_used(studio: Studio) -> None:
    """It opens one browser; the next one needs the next token, which is announced then."""
    first = studio.tokens[-1]
    assert studio.browser().get(f"/enter?token={first}").status_code == 200
    again = studio.browser().get(f"/enter?token={first}")
    assert again.status_code == 403
    assert "set-cookie" not in again.headers
    assert len(studio.tokens) == 2
    assert studio.browser().get(f"/enter?token={studio.tokens[-1]}").status_code == 200


@pytest.mark.parametrize("query", ["", "?token=", "?token=x", "?token={0}&token={0}", "?TOKEN={0}"])
def test_a_wrong_token_opens_nothing(studio: Studio, query: str) -> None:
    """A missing, empty, wrong or doubled token sets no cookie, and leaves the right one as it is."""
    answer = studio.browser().get("/enter" + query.format(studio.tokens[-1]))
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert len(studio.tokens) == 1


def test_tokens_are_long_and_differ(studio: Studio) -> None:
    """256 bits, never the same twice, and the cookie is none of the tokens."""
    browser = studio.inside()
    assert len(set(studio.tokens)) == 2
    assert all(len(bytes.fromhex(token)) == 32 for token in studio.tokens)
    assert browser.cookies[SESSION] not in studio.tokens


def test_the_cookie_is_strict(studio: Studio) -> None:
    """No script reads it, and no other site's page sends it."""
    cookie = studio.browser().get(f"/enter?token={studio.tokens[-1]}").headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert "Domain" not in cookie


@pytest.mark.parametrize("cookie", ["", "x", "{0}x", "; ".join(["a=b"] * 50), '"\\'])
def test_a_wrong_cookie_opens_nothing(studio: Studio, cookie: str) -> None:
    """Neither an empty cookie nor one that begins like the right one."""
    right = studio.inside().cookies[SESSION]
    given = {"cookie": f"{SESSION}={cookie.format(right)}"}
    assert studio.browser(given).get("/").status_code == 403


@pytest.mark.parametrize("cookie", ["{0}", 'a={{"b": 1}}; {0}', "{0}; b=,;;=", "phalanx-1=x; {0}"])
def test_a_right_cookie_opens(studio: Studio, cookie: str) -> None:
    """The power of the tests above: with the right one there is a page, whatever other programs of
    this machine put beside it.
    """
    right = f"{SESSION}={studio.inside().cookies[SESSION]}"
    assert studio.browser({"cookie": cookie.format(right)}).get("/").status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_another_page_reads_nothing(studio: Studio, site: str) -> None:
    """A page of another origin, another port of this machine among them, gets no page."""
    assert studio.inside().get("/", headers={"sec-fetch-site": site}).status_code == 403


FORGED = [
    {},
    {"origin": f"http://{HOST}"},
    {"sec-fetch-site": "same-origin"},
    {"sec-fetch-site": "none", "origin": f"http://{HOST}"},
    {"sec-fetch-site": "same-site", "origin": f"http://{HOST}"},
    {"sec-fetch-site": "cross-site", "origin": "http://evil.example"},
    {"sec-fetch-site": "same-origin", "origin": "null"},
    {"sec-fetch-site": "same-origin", "origin": "http://127.0.0.1"},
    {"sec-fetch-site": "same-origin", "origin": "http://127.0.0.1:9999"},
    {"sec-fetch-site": "same-origin", "origin": f"https://{HOST}"},
    {"sec-fetch-site": "same-origin", "origin": f"http://{HOST}.evil.example"},
]


@pytest.mark.parametrize("headers", FORGED)
def test_a_form_of_another_page_changes_nothing(studio: Studio, headers: dict[str, str]) -> None:
    """Only a page of the studio may change the plan: both headers are there, and both are right."""
    form = {"stamp": studio.place.stamp(), "column": "1", "role": "drop"}
    assert studio.inside().post("/data/role", data=form, headers=headers).status_code == 403
    assert studio.place.plan_text() == PLAN


def test_a_form_of_the_studio_changes_the_plan(studio: Studio) -> None:
    """The power of the tests above: with both headers it is changed."""
    form = {"stamp": studio.place.stamp(), "column": "1", "role": "drop"}
    assert studio.inside().post("/data/role", data=form, headers=OWN).status_code == 303
    assert studio.place.plan_text() != PLAN


@pytest.mark.parametrize("path", PATHS)
def test_no_method_gets_around(studio: Studio, path: str) -> None:
    """Whatever the method, what is not read is refused without the headers of our own page."""
    browser = studio.inside()
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "odd"):
        assert browser.request(method, plain(path)).status_code == 403, method


def test_what_is_read_changes_nothing(studio: Studio) -> None:
    """No address that is read can be used to change something: actions answer to POST alone, and
    what else has their address shows something or refuses.
    """
    browser = studio.inside()
    there = sorted(studio.place.plan_path.parent.rglob("*"))
    for path in ACTIONS:
        if path not in PAGES:
            assert browser.get(plain(path)).status_code in (400, 404, 405)
    assert studio.place.plan_text() == PLAN
    assert sorted(studio.place.plan_path.parent.rglob("*")) == there


@pytest.mark.parametrize("path", ["/", "/nowhere", "/series.json", "/static/style.css", "/enter"])
def test_every_answer_is_guarded(studio: Studio, path: str) -> None:
    """Pages, errors and files are not kept, not framed, and load from nowhere else."""
    answer = studio.inside().get(path)
    assert {name: answer.headers.get(name) for name in HEADERS} == dict(HEADERS)
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "size", ["", "x", "-1", "²", "+1", "9" * 5000, str(MOST_BYTES + 1), str(10**30)]
)
def test_a_large_form_is_not_read(studio: Studio, size: str) -> None:
    """A form says how long it is, and is refused unread where that is too long."""
    headers = OWN | {"content-length": size.encode("latin-1")}
    answer = studio.inside().post("/data/role", content=b"a=b", headers=headers)
    assert answer.status_code == 403


@pytest.mark.parametrize("path", ["/release/ward/{}/compare", "/data/column/{}", "/{}", "/work/{}"])
def test_an_endless_address_is_not_read(studio: Studio, path: str) -> None:
    """A number with more digits than anybody reads is no fault of ours."""
    answer = studio.inside().get(path.format("9" * 5000))
    assert answer.status_code == 403 and "is not the studio's" in answer.text


TRAVERSALS = [
    "/static/../app.py",
    "/static/%2e%2e/app.py",
    "/static/..%2fapp.py",
    "/static/%2e%2e%2fapp.py",
    "/static//etc/passwd",
    "/static/style.css/../../app.py",
    "/static/style.css%00.js",
    "/static/....//app.py",
    "/static/\\..\\app.py",
    "/release/..%2f..%2fetc/1/report",
    "/release/%2e%2e/1/handover",
    "/release/ward/..%2f..%2fplan.toml/report",
    "/release//etc/passwd/1/report",
    "/data/column/../../plan.toml",
    "/data/column/..%2fplan.toml",
    "/plan.toml",
    "/people.csv",
    "/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/work/../plan.toml",
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_address_leads_to_a_file(tmp_path: Path, path: str) -> None:
    """Addresses hold numbers and names of series, and no path (33)."""
    with opened(tmp_path) as (_, browser):
        answer = browser.get(path)
        assert answer.status_code in (400, 404)
        for secret in ("root:", "import ", "A comment that stays", "p17"):
            assert secret not in answer.text


def test_what_is_served_holds_no_token(studio: Studio) -> None:
    """The token is in no page and in no file that is served."""
    browser = studio.inside()
    served = [browser.get(plain(path)).text for path in ("/", *PAGES)]
    served += [static(name).decode() for name in STATIC]
    for token in [*studio.tokens, browser.cookies[SESSION]]:
        assert not [text for text in served if token in text]


def test_addresses_hold_no_path_of_the_machine(studio: Studio) -> None:
    """No link and no form of a page names a folder of this machine."""
    import re

    browser = studio.inside()
    for path in ("/", *PAGES):
        page = browser.get(plain(path)).text
        for link in re.findall(r'(?:href|action|src|hx-[a-z]+)="([^"]*)"', page):
            assert str(studio.place.plan_path.parent) not in link


def test_a_fault_tells_nothing(studio: Studio, monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    """A fault of ours says where it is, and quotes nothing; nothing is logged (26)."""

    def fails(_: object) -> None:
        raise RuntimeError("p17 has gout")

    monkeypatch.setattr(type(studio.place), "plan", fails)
    answer = studio.inside().get("/data")
    assert answer.status_code == 500
    assert "RuntimeError" in answer.text
    assert "gout" not in answer.text + "".join(capfd.readouterr())
