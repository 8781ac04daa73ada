# SPDX-License-Identifier: Apache-2.0
"""What is sent to a studio that no page of it sends: odd addresses, odd forms, steps in no order,
and requests of somebody else.
"""

import contextlib
import http.client
import random
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fuzz import plans, scene
from fuzz.damage import NAMES, NUMBERS, TEXTS, spoiled
from phalanx.plan import Plan
from phalanx.studio import serving
from phalanx.studio.app import ACTIONS, PAGES
from phalanx.studio.place import Place
from phalanx.studio.rendering import STATIC

FIELDS: dict[str, dict[str, list[str]]] = {
    "/data/bring": {"source": ["t2.csv", "t.parquet"], "query": [""]},
    "/data/source": {"source": ["t2.csv", "t3.csv", "t.arrow", "bomb.arrow"], "query": [""]},
    "/data/role": {
        "column": ["0", "1", "3", "5"],
        "role": ["quasi", "keep", "drop", "sensitive", "identifier"],
    },
    "/data/missing": {"column": ["1", "3"], "counts": ["value", ""]},
    "/data/not-applicable": {"value.0": ["flu", "0", ""], "value.x": ["<b>", "flu; cold"]},
    "/data/column/{index:int}": {
        "kind": ["bands", "prefix", "order", "tree", "none"],
        "levels": ["5, 10", "6, 3, 0", "a;b;*", ""],
    },
    "/promise": {
        "method": ["m-invariance", "mondrian", "anatomy"],
        **{key: ["2", "3", "1/4"] for key in ("m", "k", "l", "t", "delta", "epsilon", "columns")},
        "changed": ["suppress", "refuse"],
    },
    "/series": {"name": ["other", "ward", "../x"]},
    "/explore": {
        "ground": ["released", "other", "table"],
        "tried": ["mondrian k=2", "anatomy l=2"],
        "source": ["t2.csv"],
    },
    "/explore/ground": {"ground": ["released", "other", "table"], "source": ["t2.csv", ""]},
    "/verify": {},
    "/verify/bring": {"source": ["t1.csv", "out/ward-1", "nowhere"], "quasi": ["age"], "k": ["2"]},
    "/release/{series}/{number:int}/report": {"audience": ["internal", "external", "x"]},
    "/work/{work:int}/adopt": {"point": ["1", "2"]},
    "/check": {},
    "/publish": {"sure": ["yes"], "number": ["1", "2", "3"]},
    "/work/{work:int}/cancel": {},
    "/release/{series}/{number:int}/original": {"source": ["t1.csv", "t2.csv"], "query": [""]},
    "/release/{series}/{number:int}/verify": {},
    "/release/{series}/{number:int}/attack": {"adversary": ["linkage", "intersection", "skewness"]},
    "/release/{series}/{number:int}/measure": {},
}
"""What every form holds beside the stamp, and what may stand there."""
ASKED = ["from", "attribute", "group", "method", "m", "k", "kind", "levels", "points", "token"]
METHODS = ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "X", "post"]
STATUSES = {200, 303, 307, 400, 404, 405}
ELSEWHERE: list[dict[str, str | None]] = [
    {"Host": "evil.example"}, {"Host": "localhost"}, {"Host": ""}, {"Host": None}, {"Cookie": None}, {"Cookie": "phalanx=x"}, {"Cookie": "é; =; ;;phalanx-1=\xff"},
    {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
]  # fmt: skip
"""What a request of somebody else says; a form of theirs may say what stands below as well."""
ELSEWHERE_FORM: list[dict[str, str | None]] = [
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": None}, {"Sec-Fetch-Site": None}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://127.0.0.1"},
]  # fmt: skip
SECONDS = 3
"""So long is waited for work that a form began, before it is cancelled."""


def studio(fate: random.Random) -> list[str]:
    """A studio on a plan, a table, a ledger, or what is none of them; and who visits it."""
    visited_by(lambda address, place: visit(address, place, fate))
    if fate.random() < 0.1:
        for file in Path("out/ward-1").iterdir():
            if fate.random() < 0.5:
                file.write_bytes(spoiled(file.read_bytes(), fate))
    match fate.randrange(10):
        case 0:
            plans.plan(fate)
            return ["studio", "plan.toml"]
        case 1:
            return ["studio", fate.choice(["t1.csv", "t.parquet", "t.arrow"]), "--to", "new.toml"]
        case 2:
            return ["studio", fate.choice([scene.LEDGER, f"sqlite:///{scene.LEDGER}"])]
        case 3:
            return ["studio", fate.choice(["nowhere.toml", "out", "/dev/zero", "/dev/null"])]
        case 4:
            return ["studio"]
        case _:
            return ["studio", fate.choice(["ward.toml", "ward.toml", "mondrian.toml"])]


def visited_by(visit: Callable[[str, Place], None]) -> None:
    """Let every studio of this process have a visitor, and end after the visit; ``visit`` is given
    the address that lets it in.
    """
    serve = serving.serve

    def visited(place: Place, *, announce: Callable[[str], None], **given: Any) -> None:
        addresses: list[str] = []

        def told(address: str) -> None:
            addresses.append(address)
            announce(address)

        def come(server: Any) -> None:
            try:
                while not server.started and not server.should_exit:
                    time.sleep(0.01)
                visit(addresses[0], place)
            except Exception as error:  # noqa: BLE001 - what a visitor cannot bear is a fault, too
                say(f"it broke off by {type(error).__name__} {error}")
            finally:
                server.should_exit = True

        serve(
            place,
            announce=told,
            started=lambda server: threading.Thread(
                target=come, args=(server,), daemon=True
            ).start(),
            **given,
        )

    serving.serve = visited


def say(fault: str) -> None:
    """What no studio does, as a line that the trial looks for."""
    print(f"visitor: {fault}", flush=True)  # noqa: T201 - what is printed is looked at


class Visitor:
    """A browser that was let in, and looks at every answer."""

    def __init__(self, address: str) -> None:
        self.host, _, self.entrance = address.removeprefix("http://").partition("/")
        came = self.ask("GET", f"/{self.entrance}", {}, None)
        self.cookie = (came.headers.get("set-cookie") or "").partition(";")[0]

    def own(self) -> dict[str, str | None]:
        """What a browser says of a request of the studio itself."""
        return {
            "Host": self.host, "Origin": f"http://{self.host}", "Sec-Fetch-Site": "same-origin",
            "Cookie": getattr(self, "cookie", None),
            "Content-Type": "application/x-www-form-urlencoded",
        }  # fmt: skip

    def ask(
        self,
        method: str,
        path: str,
        more: dict[str, str | None],
        body: bytes | None,
        *,
        stranger: bool = False,
    ) -> "Answer":
        """One request, and its answer, which is looked at."""
        headers = self.own() | {"Content-Length": str(len(body or b""))} | more
        connection = http.client.HTTPConnection(self.host, timeout=SECONDS)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                if value is not None:
                    connection.putheader(name, value.encode("latin-1", "replace"))
            connection.endheaders()
            with contextlib.suppress(OSError):  # it may have answered already
                connection.send(body or b"")
            try:
                response = connection.getresponse()
                text = response.read().decode("utf-8", "replace")
            except (OSError, http.client.HTTPException) as error:
                said = f"{type(error).__name__} after {method} {path[:200]} {more}"
                if not stranger:
                    say(f"no answer: {said}")
                return Answer(0, {}, "")
        answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, text)
        look(f"{method} {path[:200]}", answer, stranger=stranger)
        return answer


class Answer:
    """What came back."""

    def __init__(self, status: int, headers: dict[str, str], text: str) -> None:
        self.status, self.headers, self.text = status, headers, text


def look(asked: str, answer: Answer, *, stranger: bool) -> None:
    """Whether an answer is a page, another address or a refusal, and shows nothing that it may not;
    what is refused is printed, as every output is looked at for values.
    """
    if stranger and answer.status < 400:
        say(f"a stranger got {answer.status} for {asked}")
    if not stranger and answer.status not in STATUSES:
        say(f"{answer.status} for {asked}: {answer.text[-300:]}")
    if answer.status == 200 and "content-security-policy" not in answer.headers:
        say(f"no policy stands on {asked}")
    if scene.PASSWORD in answer.text:
        say(f"a password stands on {asked}")
    if answer.status >= 400:
        print(re.sub(r"\s+", " ", answer.text[-2000:]).encode("ascii", "replace").decode())  # noqa: T201


def visit(address: str, place: Place, fate: random.Random) -> None:
    """Some requests, and what they leave: a plan that still is one, and nothing that a stranger
    changed.
    """
    visitor = Visitor(address)
    was_plan = is_plan(place.plan_path)
    work = 0
    for _ in range(fate.randrange(4, 12)):
        if fate.random() < 0.3:
            before = held(place)
            strange(visitor, place, fate)
            if held(place) != before:
                say("a stranger changed a plan or a ledger")
        elif fate.random() < 0.4:
            path = filled(fate.choice(list(PAGES)), fate)
            odd = urlencode([(fate.choice(ASKED), word(fate)) for _ in range(fate.randrange(3))])
            more = fate.choice(["", ".json", "/report", "/picture", "/", "/../data"])
            visitor.ask("GET", f"{path}{more}?{odd}", {}, None)
        else:
            path, body = form(place, fate, begun=work > 0)
            answer = visitor.ask("POST", path, {}, body)
            to = answer.headers.get("location", "")
            if answer.status == 303 and re.fullmatch(r"/work/[0-9]+", to):
                work += 1
                wait(visitor, to, fate)
            elif answer.status == 303:
                visitor.ask("GET", to.partition("#")[0], {}, None)
        if was_plan and not is_plan(place.plan_path):
            say("the plan is none any more")


def wait(visitor: Visitor, path: str, fate: random.Random) -> None:
    """Wait for some work, or cancel it."""
    until = time.monotonic() + fate.choice([0, SECONDS])
    while time.monotonic() < until:
        if '"running"' not in visitor.ask("GET", f"{path}.json", {}, None).text:
            break
        time.sleep(0.05)
    visitor.ask("GET", path, {}, None)
    visitor.ask("POST", f"{path}/cancel", {}, b"")


def is_plan(path: Path) -> bool:
    """Whether a file is read as a plan."""
    try:
        Plan.read(path)
    except Exception:  # noqa: BLE001 - that it is none is all that is asked
        return False
    return True


def held(place: Place) -> list[bytes]:
    """What a stranger must not change."""
    kept = [place.plan_path, Path(scene.LEDGER), *sorted(Path("out").glob("*/release.json"))]
    return [file.read_bytes() for file in kept if file.is_file()]


def word(fate: random.Random) -> str:
    """Something odd; no password, as what somebody writes into a form is shown again."""
    if fate.random() < 0.3:
        return str(fate.choice([n for n in NUMBERS if abs(n) < 10**101 or n != n]))
    return fate.choice(
        [*NAMES, "9" * 5000, "٣", "²", "1,2", "5, 10\n20", "mondrian", "who", "ill", "town"]
    )


def filled(path: str, fate: random.Random) -> str:
    """An address with something in its places, mostly what is there."""
    known = {"{series}": "ward", "{number:int}": "1", "{index:int}": "1", "{work:int}": "1"}
    for name, value in known.items():
        odd = quote(fate.choice([word(fate)[:300], "0", "99", "-1"]), safe=fate.choice(["", "/."]))
        path = path.replace(name, value if fate.random() < 0.8 else odd)
    return path


def form(place: Place, fate: random.Random, *, begun: bool) -> tuple[str, bytes]:
    """A form in no order of steps: with an older stamp, without some fields, with fields twice, or
    with bytes that are no form. Work that takes a process of its own is begun once.
    """
    heavy = {
        path for path in ACTIONS if path.endswith(("/check", "/verify", "/attack", "/measure"))
    } | {"/explore", "/publish"}
    usual = [path for path in ACTIONS if path not in heavy]
    path = fate.choice(usual if begun or fate.random() < 0.7 else sorted(heavy))
    fields = [("stamp", place.stamp() if fate.random() < 0.85 else word(fate))]
    for name, values in FIELDS[path].items():
        if fate.random() < 0.9:
            fields.append((name, fate.choice(values) if fate.random() < 0.6 else text(name, fate)))
    if fate.random() < 0.15:
        fields += [(name, word(fate)) for name, _ in fields]
    if fate.random() < 0.05:
        fields += [(word(fate)[:50], word(fate)) for _ in range(250)]
    fate.shuffle(fields)
    body = urlencode(fields, errors="replace").encode()
    if fate.random() < 0.1:
        body = spoiled(body, fate)
    return filled(path, fate), body


def text(name: str, fate: random.Random) -> str:
    """What somebody writes into a field; where a database is named, it may hold a password."""
    if name in {"source", "query"}:
        return fate.choice([*TEXTS, "/dev/zero", "/dev/null", "out", "~", "select 1", "t1.csv"])
    return word(fate)


def strange(visitor: Visitor, place: Place, fate: random.Random) -> None:
    """A request that is refused whatever it asks: of somebody else, of no browser, or of no form."""
    if fate.random() < 0.5:
        path = filled(fate.choice([*PAGES, *(f"/static/{name}" for name in STATIC)]), fate)
        visitor.ask("GET", path, fate.choice(ELSEWHERE), None, stranger=True)
        return
    path, body = form(place, fate, begun=True)
    match fate.randrange(5):
        case 0:
            visitor.ask(fate.choice(METHODS), path, {}, body, stranger=True)
        case 1:
            size = fate.choice(["-1", "x", "", "1e3", "٣", "9" * 30, "9" * 5000, "2000000", "0x1"])
            visitor.ask("POST", path, {"Content-Length": size}, body[:100], stranger=True)
        case 2:
            chunked = {"Content-Length": None, "Transfer-Encoding": "chunked"}
            whole = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
            visitor.ask("POST", path, chunked, whole, stranger=True)
        case _:
            elsewhere = fate.choice([*ELSEWHERE, *ELSEWHERE_FORM])
            visitor.ask("POST", path, elsewhere, body, stranger=True)
