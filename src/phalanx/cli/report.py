# SPDX-License-Identifier: Apache-2.0
"""``phalanx report``: the page about a release, for inside or for outside."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from phalanx.cli.locations import release_folders
from phalanx.cli.output import JSON, show_json, show_line, show_text

if TYPE_CHECKING:
    from phalanx.release.folder import Release
    from phalanx.report import Audience as AudienceOf


class Audience(StrEnum):
    """Whom a page is for."""

    internal = "internal"
    external = "external"


def report(
    releases: Annotated[
        list[str],
        typer.Argument(
            help="The release's folder, and those of the releases before it.",
            callback=release_folders,
        ),
    ],
    audience: Annotated[
        Audience, typer.Option("--for", help="The publisher who answers for it, or the recipient.")
    ],
    to: Annotated[Path, typer.Option(help="Where the page goes.", show_default=False)],
    original: Annotated[
        str | None, typer.Option(help="The table that was published; for a page for inside.")
    ] = None,
    identifier: Annotated[
        str | None, typer.Option(help="The identifier column of that table.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="The ledger's URL or SQLite file: who is in which group.")
    ] = None,
    population: Annotated[
        int | None,
        typer.Option(help="So many persons the table is a sample of, those in it included."),
    ] = None,
    json: bool = JSON,
) -> None:
    """Write the page about the newest of these releases; exit code 1 where a check of it fails.

    One for *internal* use says, with --original, what adversaries find and what was lost; it names
    no value that was not released. One for *external* use is made of released values alone, and may
    go with them. JSON keys: page, audience, digest, holds, guarantees, regulator (prosecutor,
    journalist, marketer, above, population, classes; null where a row is not a person's), questions.
    """
    from phalanx.cli.locations import check_ending, ledger_url
    from phalanx.errors import ReleaseError
    from phalanx.report.classes import among
    from phalanx.report.looks import Look
    from phalanx.series.bounds import questions
    from phalanx.series.released import Release, but, checks_for
    from phalanx.verification import read_releases

    if audience is Audience.external and (original or ledger):
        raise ReleaseError(
            "a page for outside is made of released values alone; leave out --original and --ledger."
        )
    if identifier is not None and original is None:
        raise ReleaseError(
            "--identifier is a column of the original table, and none is given; name it with"
            " --original, or leave it out."
        )
    check_ending(to, "--to", ".html", ".htm")
    *earlier, last = sorted(read_releases(releases), key=_number)
    url = None if ledger is None else ledger_url(ledger)
    read = Release.read(last.path)
    known = read.with_evidence(original=original, identifier=identifier, ledger=url)
    release = but(known, _earlier=earlier)
    inside = audience is Audience.internal
    whom: AudienceOf = "internal" if inside else "external"
    checks = checks_for(release, whom)
    failed = [verdict for verdict in checks if not verdict.holds]
    written = but(release, _shown=checks).report(to, audience=whom, population=population)
    if not json:
        show_line(f"report:    {written}")
        if failed:
            show_text(
                f"This does NOT hold: {failed[0].name}; do not hand the release out, and see what"
                " 'phalanx verify' says."
            )
        raise typer.Exit(bool(failed))
    look = Look.of(release)  # which the page has shown to be possible
    classes = among(look.classes, population, look.figures.rows)
    asked = questions(release, release.evidence, ()) if inside else []
    show_json({
        "page": str(written),
        "audience": audience.value,
        "digest": release.digest,
        "holds": not failed,
        "guarantees": [dict(g) for g in release.manifest.guarantees],
        "regulator": None if classes is None else classes.to_json(),
        "questions": [answer.to_json() for answer in asked],
    })  # fmt: skip
    raise typer.Exit(bool(failed))


def _number(release: "Release") -> int:
    return release.number
