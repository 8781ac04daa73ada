# SPDX-License-Identifier: Apache-2.0
"""``phalanx studio``: look, choose, publish and explain, in the browser on this machine."""

import gc
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from phalanx.cli.output import JSON


def studio(
    given: Annotated[
        str | None,
        typer.Argument(
            metavar="[PLAN|SOURCE|LEDGER]",
            help="A plan (.toml); a table, for which a plan is proposed; or a ledger (.db, "
            "postgresql://…). Nothing: the plan.toml of this folder.",
        ),
    ] = None,
    query: Annotated[
        str | None, typer.Option(help="The SELECT that gives the table, for a database.")
    ] = None,
    to: Annotated[Path, typer.Option(help="Where the plan of a table is written.")] = Path(
        "plan.toml"
    ),
    port: Annotated[int, typer.Option(help="The port; 0: one that is free.", min=0, max=65535)] = 0,
    json: bool = JSON,
) -> None:
    """Open a page on this machine that covers the whole way of a table, and writes the plan.

    No other person can open it: it listens to this machine alone, and each address lets one browser
    in, once. Ctrl-C ends it. JSON keys, in a line for each new address: address.
    """
    from phalanx.studio.serving import place_of, serve

    gc.freeze()
    gc.set_threshold(700, 10, 10)  # for hours, in which cycles pile up; a command is done before

    def announce(address: str) -> None:
        if json:
            typer.echo(dumps({"address": address}))
        elif announced:
            typer.echo(f"Another browser, or this one again:  {address}")
        else:
            typer.echo(f"Open this address; it works once:  {address}")
            typer.echo("Ctrl-C ends the studio. What is published stays.")
        announced.append(address)

    announced: list[str] = []
    serve(place_of(given, query=query, to=to), port=port, announce=announce)
