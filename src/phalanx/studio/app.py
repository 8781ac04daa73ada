# SPDX-License-Identifier: Apache-2.0
"""The addresses of the studio: a page for each, the same as JSON, and what a form may change."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from phalanx.errors import PhalanxError, fault, unusable
from phalanx.studio import actions, rendering
from phalanx.studio.door import SAFE, Door
from phalanx.studio.pages import (
    attack,
    beside,
    checking,
    compare,
    data,
    explore,
    handover,
    promise,
    publishing,
    sliders,
    timeline,
)
from phalanx.studio.place import Place

Make = Callable[..., dict[str, Any]]
Do = Callable[..., str]
Endpoint = Callable[[Request], Awaitable[Response]]

_RELEASE: Final = "/release/{series}/{number:int}"
PAGES: Final[Mapping[str, tuple[str, Make]]] = {
    "/series": ("timeline", timeline.page),
    "/data": ("data", data.page),
    "/data/rows": ("rows", data.rows),
    "/data/column/{index:int}": ("column", data.hierarchy),
    "/promise": ("promise", promise.page),
    "/explore": ("explore", explore.page),
    "/explore/estimate": ("estimate", sliders.estimate),
    "/publish": ("publish", publishing.page),
    "/verify": ("checking", checking.page),
    "/work/{work:int}": ("work", publishing.work),
    f"{_RELEASE}/compare": ("compare", compare.page),
    f"{_RELEASE}/compare/rows": ("beside", beside.rows),
    f"{_RELEASE}/attack": ("attack", attack.page),
    f"{_RELEASE}/handover": ("handover", handover.page),
}
"""By address: the template, and the function of the plan and the ledger that fills it."""
ASKED: Final[Mapping[str, tuple[str, Make]]] = {
    "/data/column/{index:int}/classes": ("column", data.hierarchy),
}
"""Pages of what a form says, which is too long for an address, or is a path; they change nothing."""
ACTIONS: Final[Mapping[str, Do]] = {
    "/data/bring": actions.bring,
    "/data/source": actions.source,
    "/data/role": actions.role,
    "/data/missing": actions.missing,
    "/data/not-applicable": actions.not_applicable,
    "/data/column/{index:int}": actions.hierarchy,
    "/promise": actions.promise,
    "/series": actions.series,
    "/explore": actions.explore,
    "/explore/ground": actions.ground,
    "/work/{work:int}/adopt": actions.adopt,
    "/check": actions.check,
    "/publish": actions.publish,
    "/verify/bring": actions.bring_foreign,
    "/verify": actions.check_foreign,
    "/work/{work:int}/cancel": actions.cancel,
    f"{_RELEASE}/original": actions.original,
    f"{_RELEASE}/verify": actions.verify,
    f"{_RELEASE}/report": actions.report,
    f"{_RELEASE}/attack": actions.attack,
    f"{_RELEASE}/measure": actions.measure,
}
"""By address: what a form does; it answers with the address of the page to go to."""


def make_app(place: Place, host: str, announce: Callable[[str], None]) -> Door:
    """The studio behind its door; ``host`` and ``announce`` as in :class:`Door`."""
    routes = [Route("/", _page(place, "timeline", timeline.page))]
    for path, (template, make) in PAGES.items():
        routes.append(Route(path, _page(place, template, make)))
        routes.append(Route(f"{path}.json", _page(place, None, make)))
    routes += [Route(path, _page(place, *of), methods=["POST"]) for path, of in ASKED.items()]
    routes += [Route(path, _action(place, do), methods=["POST"]) for path, do in ACTIONS.items()]
    for audience, path in handover.REPORTS_SHOWN.items():
        shown = partial(handover.report, place, audience=audience)
        routes.append(Route(f"{_RELEASE}{path}", _alone(shown)))
    routes += [Route(f"/static/{name}", _static(name)) for name in rendering.STATIC]
    refused: Any = dict.fromkeys((HTTPException, PhalanxError, OSError), _refused(place))
    return Door(
        Starlette(routes=routes, exception_handlers=refused | {Exception: _failed}),
        host,
        announce,
    )


def _page(place: Place, template: str | None, make: Make) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        query = dict(request.query_params) if request.method in SAFE else await _form(request)

        def shown() -> Response:
            fields = make(place, query=query, **request.path_params)
            if template is None:
                return JSONResponse(fields)
            return _html(rendering.render(place, template, fields, request.headers))

        return await run_in_threadpool(shown)

    return endpoint


def _action(place: Place, do: Do) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        form = await _form(request)
        to = await run_in_threadpool(lambda: do(place, form=form, **request.path_params))
        return RedirectResponse(to, status_code=303)

    return endpoint


async def _form(request: Request) -> dict[str, str]:
    """What a form says."""
    body = (await request.body()).decode("utf-8", errors="replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=2000))
    except ValueError:
        raise PhalanxError("the form has too many fields; look at the page again.") from None


def _alone(text: Callable[..., str]) -> Endpoint:
    """A report as it is: a document of its own, in which nothing runs."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"

    async def endpoint(request: Request) -> Response:
        content = await run_in_threadpool(lambda: text(**request.path_params))
        headers = {"content-security-policy": policy}
        return Response(content, media_type="text/html", headers=headers)

    return endpoint


def _static(name: str) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return Response(rendering.static(name), media_type=rendering.STATIC[name])

    return endpoint


def _refused(place: Place) -> Callable[[Request, Any], Awaitable[Response]]:
    """What is wrong, in one sentence, as a page or as JSON."""

    async def endpoint(request: Request, error: Any) -> Response:
        missing = isinstance(error, HTTPException)
        status = error.status_code if missing else 400
        sentence = (
            "there is no such page; choose one above."
            if missing
            else unusable(error)
            if isinstance(error, OSError)
            else str(error)
        )
        if request.url.path.endswith(".json"):
            return JSONResponse({"error": sentence}, status_code=status)
        fields = {"error": sentence}
        page = await run_in_threadpool(
            lambda: rendering.render(place, "error", fields, request.headers)
        )
        return _html(page, status)

    return endpoint


async def _failed(request: Request, error: Exception) -> Response:
    """A fault of ours: where it is, and nothing of what it was about."""
    return Response(fault(error), status_code=500, media_type="text/plain")


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status_code=status, media_type="text/html")
