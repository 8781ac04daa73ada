# SPDX-License-Identifier: Apache-2.0
"""Who may come in: one browser of one person on this machine, and no other through it.

A page of another site, a name that is rebound to this machine, a form that another site sends, and
another user of the machine are all refused here, before any page is asked.
"""

import hmac
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs

from phalanx.randomness import Randomness

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]

ENTRANCE: Final = "/enter"
SAFE: Final = ("GET", "HEAD")
MOST_BYTES: Final = 1_000_000
"""A form of the studio is smaller; what is larger is not read."""
_SIZE: Final = re.compile(r"[0-9]{1,9}")
_LONGEST_PATH: Final = 1000
HEADERS: Final[Mapping[str, str]] = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "object-src 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # with no-referrer a form of ours has the origin "null"
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""What stands on every answer; a page may state a stricter policy of its own."""

_REDIRECTED: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Phalanx studio</title>'
    '<link rel="icon" href="/static/icon.svg">'
    '<meta http-equiv="refresh" content="0; url=/"><p><a href="/">Go on to the studio</a></p>'
)
"""A page and no redirect: a browser that came from elsewhere sends a strict cookie only where a
page of ours leads."""


class Door:
    """Asks every request for the right host, the right origin and a cookie of ours.

    ``host`` is the one value of the header Host that is answered, as in ``127.0.0.1:8765``.
    ``announce`` is told each new token: a token opens one browser once, and then the next one is
    made, so that there is a way in for a browser that was closed.
    """

    def __init__(self, app: App, host: str, announce: Callable[[str], None]) -> None:
        self._app = app
        self._host = host
        self._cookie = f"phalanx-{host.rpartition(':')[2]}"  # cookies are shared by all ports
        self._announce = announce
        self._lock = threading.Lock()
        self._sessions: set[str] = set()
        self._token = _secret()
        announce(self._token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it; a web socket is refused."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = _by_name(scope["headers"])
        if why := self._refusal(scope, headers):
            await _answer(send, 403, why)
        elif scope["path"] == ENTRANCE:
            await self._enter(scope, send)
        elif not self._knows(headers.get("cookie", ())):
            await _answer(
                send,
                403,
                "This browser has not come in yet; open the newest address that "
                "'phalanx studio' printed in the terminal.",
            )
        else:
            await self._app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope, headers: Mapping[str, list[str]]) -> str:
        """Why a request is refused; empty where it is not."""
        if headers.get("host") != [self._host] or len(scope["path"]) > _LONGEST_PATH:
            return "This address is not the studio's; use the one that it printed."
        site, origin = headers.get("sec-fetch-site", []), headers.get("origin", [])
        entering = scope["path"] == ENTRANCE
        if site not in ([], ["same-origin"], ["none"]) and not entering:
            return "Another page asked for this; open the studio itself."
        if scope["method"] in SAFE:
            return ""
        if entering or site != ["same-origin"] or origin != [f"http://{self._host}"]:
            return "Only a page of the studio itself may change something."
        sizes = headers.get("content-length", [])
        if len(sizes) != 1 or not _SIZE.fullmatch(sizes[0]) or int(sizes[0]) > MOST_BYTES:
            return "This is larger than any form of the studio."
        return ""

    async def _enter(self, scope: Scope, send: Send) -> None:
        """Exchange the token for a cookie, once."""
        try:
            given = parse_qs(scope["query_string"].decode("ascii"), max_num_fields=4).get(
                "token", []
            )
        except ValueError:
            given = []
        with self._lock:
            fits = len(given) == 1 and hmac.compare_digest(given[0].encode(), self._token.encode())
            if fits:
                self._token, session = _secret(), _secret()
                self._sessions.add(session)
        if not fits:
            why = "This address was used already, or is wrong; open the newest one in the terminal."
            await _answer(send, 403, why)
            return
        self._announce(self._token)
        cookie = f"{self._cookie}={session}; Path=/; HttpOnly; SameSite=Strict"
        await _answer(send, 200, _REDIRECTED, kind="text/html", more=[("set-cookie", cookie)])

    def _knows(self, cookies: Iterable[str]) -> bool:
        """Whether one of the cookies is a session of this studio."""
        for part in (part for text in cookies for part in text.split(";")):
            name, _, value = part.strip().partition("=")
            if name == self._cookie:
                with self._lock:
                    sessions = tuple(self._sessions)
                if any(hmac.compare_digest(value.encode(), known.encode()) for known in sessions):
                    return True
        return False


def _secret() -> str:
    """256 bits of the operating system's randomness."""
    return Randomness.secure().stream("a way into the studio").words(4).tobytes().hex()


def _by_name(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    """Every value that a header has, by its name in small letters."""
    by_name: dict[str, list[str]] = {}
    for name, value in headers:
        by_name.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return by_name


def _with_headers(send: Send) -> Send:
    """Sends what a page answers, with our headers where the page states none of its own."""

    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            given_headers = {name.lower() for name, _ in message["headers"]}
            ours = [
                (n.encode(), v.encode())
                for n, v in HEADERS.items()
                if n.encode() not in given_headers
            ]
            message = message | {"headers": [*message["headers"], *ours]}
        await send(message)

    return sent


async def _answer(
    send: Send,
    status: int,
    text: str,
    *,
    kind: str = "text/plain",
    more: Iterable[tuple[str, str]] = (),
) -> None:
    """An answer of the door itself."""
    body = text.encode()
    headers = [("content-type", f"{kind}; charset=utf-8"), ("content-length", str(len(body)))]
    every = [*headers, *HEADERS.items(), *more]
    named = [(name.encode(), value.encode()) for name, value in every]
    await send({"type": "http.response.start", "status": status, "headers": named})
    await send({"type": "http.response.body", "body": body})
