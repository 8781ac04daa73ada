# SPDX-License-Identifier: Apache-2.0
"""``phalanx demo``: the main job on a real panel of people, three ways."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from phalanx.cli.output import JSON, QUIET, show_json, show_table, show_text, steps


def demo(
    to: Annotated[
        Path, typer.Option(help="The folder that gets the releases; made anew at each run.")
    ] = Path("phalanx-demo"),
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Publish five years of a German health panel three times, attack each series, and verify it
    from its files.

    Needs the extra: pip install 'phalanx[demo]'. JSON keys: rows, persons, methods (each method, persons,
    exposed_by_box, exposed_by_person, counterfeits, suppressed_rows, loss, verified, seconds), report,
    picture, seconds.
    """
    from phalanx.demo import RELEASES, WAYS, run

    with steps(
        [f"{way}: {year}" for way in WAYS for year in RELEASES], quiet=quiet or json
    ) as progress:
        outcome = run(to, progress)
    if json:
        show_json(outcome.to_json())
        return
    show_text(
        f"{outcome.rows:,} person-years of {outcome.persons:,} persons, {len(RELEASES)} yearly"
        f" releases; sensitive: years of schooling; {outcome.seconds:.0f} seconds"
    )
    show_text("")
    show_table(
        "Persons exposed by intersecting the releases",
        [
            "method",
            "by box",
            "at worst",
            "counterfeits",
            "suppressed rows",
            "interval width",
            "verified",
        ],
        [
            [
                o.method,
                o.exposed_by_box,
                o.exposed_by_person,
                " ".join(map(str, o.counterfeits)),
                sum(o.suppressed_rows),
                f"{o.loss:.1%}",
                "holds" if o.verified else "FAILS",
            ]
            for o in outcome.outcomes
        ],
        right=(1, 2, 3, 4, 5),
    )
    show_text("")
    show_text("by box: to an adversary who knows each person's age, sex, children, income, …")
    show_text("at worst: to an adversary who knows which group each person was published in")
    show_text(
        "interval width: what is lost, on average, of the width of all values of an attribute"
    )
    typer.echo(f"\nas a picture: {outcome.picture}")
    typer.echo(f"report of the last release: {outcome.report}")
    command = shlex.join([*_typed(), "series", "list", "--ledger", str(to / "demo.db")])
    typer.echo(f"look inside: {command}")


def _typed() -> list[str]:
    """How this program was called, so that what is printed works as typed."""
    if Path(sys.argv[0]).name == "__main__.py":
        return [sys.executable, "-m", "phalanx"]
    return ["phalanx" if shutil.which("phalanx") == sys.argv[0] else sys.argv[0]]
