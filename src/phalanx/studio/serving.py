# SPDX-License-Identifier: Apache-2.0
"""Starting the studio: what it is to look at, a socket on this machine alone, and the server."""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from phalanx.errors import PhalanxError, PlanError, require_extra
from phalanx.studio.place import Original, Place

_DATABASES = ("sqlite:", "postgresql:", "postgres:")


def place_of(given: str | None, *, query: str | None = None, to: Path = Path("plan.toml")) -> Place:
    """What ``phalanx studio`` is to look at: a plan, a table, a ledger, or nothing yet.

    For a table the first page begins a plan, unless ``to`` is there already. Raises PlanError
    where it is, or where there is no such plan or ledger; SourceError where there is no such table.
    """
    require_extra("studio", "the studio")
    from phalanx.data.sources.batches import columns_of
    from phalanx.ledger import Ledger
    from phalanx.plan import Plan

    if given is None:
        return Place(to.absolute())
    if given.lower().endswith(".toml"):
        return Place(Plan.read(Path(given).absolute()).path)
    database = given.lower().startswith(_DATABASES)
    if query is None and (database or given.lower().endswith((".db", ".sqlite"))):
        url = given if database else f"sqlite:///{Path(given).absolute()}"
        with Ledger.open(url, create=False):
            return Place(to.absolute(), ledger_alone=url)
    if not database and not Path(given).is_file():
        columns_of(given)
    if to.exists():
        raise PlanError(f"{to.name} exists and is not overwritten; open it instead.")
    source = given if database else os.path.relpath(given, to.absolute().parent)
    return Place(to.absolute(), brought=Original(source, query))


def serve(
    place: Place,
    *,
    port: int = 0,
    announce: Callable[[str], None],
    started: Callable[[Any], None] = lambda _: None,
) -> None:
    """Serve until Ctrl-C; ``announce`` is told each new address that lets one browser in, once.

    ``started`` is given the server, whose ``should_exit`` ends it.

    Raises PlanError where the port is taken.
    """
    import uvicorn

    from phalanx.studio.app import make_app

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(("127.0.0.1", port))
        except OSError as error:
            why = (error.strerror or "input/output error").lower()
            raise PlanError(f"port {port} cannot be used ({why}); name another one.") from None
        bound.listen()  # who opens the address at once waits for the server, and is not refused
        _first_page(place)
        host = f"127.0.0.1:{bound.getsockname()[1]}"
        app = make_app(place, host, lambda token: announce(f"http://{host}/enter?token={token}"))
        config = uvicorn.Config(
            app, access_log=False, log_level="critical", server_header=False, ws="none"
        )
        server = uvicorn.Server(config)
        started(server)
        try:
            server.run(sockets=[bound])
        finally:
            place.jobs.end()


def _first_page(place: Place) -> None:
    """Make the first page once before anybody asks, so that what it loads is there."""
    from phalanx.studio import rendering
    from phalanx.studio.pages import timeline

    with suppress(PhalanxError):  # what is wrong is said on the page
        rendering.render(place, "timeline", timeline.page(place, {}), {})
