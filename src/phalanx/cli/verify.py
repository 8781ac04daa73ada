# SPDX-License-Identifier: Apache-2.0
"""``phalanx verify``: check releases, ours or anybody's, from their files."""

from pathlib import Path
from typing import Annotated

import typer

from phalanx.cli.locations import release_folders
from phalanx.cli.output import JSON, show_json, show_verdicts


def verify(
    releases: Annotated[
        list[str],
        typer.Argument(
            help=(
                "Release folders of one series, or one CSV or Parquet file that somebody else made."
            ),
            callback=release_folders,
        ),
    ],
    ledger: Annotated[
        str | None,
        typer.Option(
            help=(
                "The ledger's URL or SQLite file: adds the check by person and of the recorded"
                " digests."
            )
        ),
    ] = None,
    original: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "The original table of each release, in their order; repeat it: adds the public"
                " view (boxes)."
            )
        ),
    ] = None,
    identifier: Annotated[
        str | None, typer.Option(help="The identifier column of the original tables.")
    ] = None,
    quasi: Annotated[
        list[str] | None,
        typer.Option(
            help="For somebody else's table: a quasi-identifier; repeat it, or separate by commas."
        ),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="For somebody else's table: the sensitive column.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="For somebody else's table: the column that names the group, if there is one."
        ),
    ] = None,
    k: Annotated[int | None, typer.Option(help="Ask for k-anonymity with this k.")] = None,
    l: Annotated[float | None, typer.Option(help="Ask for l-diversity with this l.")] = None,
    t: Annotated[
        str | None, typer.Option(help="Ask for t-closeness (equal distance) with this t.")
    ] = None,
    allow_seeded: Annotated[
        bool, typer.Option("--allow-seeded", help="Accept a release made with a seed, in a test.")
    ] = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help=(
                "Show every check, a table for each release; of somebody else's table they are"
                " shown anyway."
            ),
        ),
    ] = False,
    json: bool = JSON,
) -> None:
    """Check what was published, from the files alone and against whatever evidence is given.

    Exit code 0 if everything holds, 1 if something does not, 2 if it could not be read. What could
    not be checked is said. JSON keys: holds, checks (each: name, bound, worst, holds, note).
    """
    from phalanx.cli.locations import ledger_url
    from phalanx.errors import ReleaseError
    from phalanx.verification import verify as check
    from phalanx.verification import verify_table

    about_ours = {
        "--ledger": ledger,
        "--original": original,
        "--identifier": identifier,
        "--allow-seeded": allow_seeded or None,
    }
    about_theirs = {"--sensitive": sensitive, "--k": k, "--l": l, "--t": t}
    theirs = bool(quasi or group)
    if stray := next(
        (
            option
            for option, given in (about_ours if theirs else about_theirs).items()
            if given is not None
        ),
        None,
    ):
        raise ReleaseError(
            f"{stray} is about releases of ours, and --quasi and --group are about somebody else's"
            " table; leave one out."
            if theirs
            else (
                f"{stray} is about somebody else's table, and needs its quasi-identifiers; name"
                " them with --quasi, or leave it out."
            )
        )
    if identifier is not None and not original:
        raise ReleaseError(
            "--identifier is a column of the original tables, and none is given; name them with"
            " --original, or leave it out."
        )
    if theirs:
        if len(releases) != 1:
            raise ReleaseError(
                f"{len(releases)} tables are named together with --quasi; check one at a time."
            )
        names = [
            name
            for part in quasi or []
            for name in ([part] if "," not in part else part.split(","))
        ]
        verification = verify_table(
            releases[0], quasi=names, sensitive=sensitive, group=group, k=k, l=l, t=t
        )
    elif Path(releases[0]).is_file():
        raise ReleaseError(
            f"{releases[0]} is a file, not a release folder; say which columns are"
            " quasi-identifiers with --quasi (and --sensitive) to check it."
        )
    else:
        verification = check(
            releases,
            ledger=None if ledger is None else ledger_url(ledger),
            originals=original or (),
            identifier=identifier,
            allow_seeded=allow_seeded,
        )
    if json:
        show_json(verification.to_json())
    else:
        show_verdicts(verification.checks, details=details or theirs)
    raise typer.Exit(0 if verification.holds else 1)
