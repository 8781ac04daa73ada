# SPDX-License-Identifier: Apache-2.0
"""``phalanx check``: everything but publishing, and what a release would be."""

from pathlib import Path
from typing import Annotated

import typer

from phalanx.cli.output import JSON, QUIET, show_json, show_text, steps
from phalanx.cli.publish import show_counts


def check(
    plan: Annotated[Path, typer.Argument(help="The plan (TOML) that 'init' wrote and you edited.")],
    source: Annotated[
        str | None, typer.Option(help="Check with this file instead of the plan's source.")
    ] = None,
    wave: Annotated[
        str | None, typer.Option(help="Check with this wave of the table instead of the next one.")
    ] = None,
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Do everything but publish, and say what a release would be: nothing is written, recorded or
    remembered.

    Exit code 0 where ``publish`` would make a release now, else the same as of ``publish``, with
    the same sentence. JSON keys: series, number, wave, method, guarantees, spent, rows, groups,
    counterfeits, registered, suppressed_rows, suppressed_values, allowed, seconds, memory, checks,
    disclosed; under differential privacy all after spent are null, since how much a sample
    publishes is for the release alone to say.
    """
    from phalanx.plan import Plan
    from phalanx.series.given import STEPS

    with steps(STEPS[:-1], quiet=quiet or json) as progress:
        read = Plan.read(plan)
        preview = read.check(source=source, wave=wave, progress=progress)
    if json:
        show_json(preview.to_json())
        return
    of_wave = "" if preview.wave is None else f", wave {preview.wave},"
    if preview.rows is None:
        show_text(
            f"Release {preview.number} of {read.name}{of_wave} can be made; what it would hold is not shown,"
            " as only a release that is paid for may tell it."
        )
    else:
        show_counts(
            preview,
            f"Release {preview.number} of {read.name}{of_wave.rstrip(',')}, if it were published now",
            preview.group,
        )
        if preview.allowed is not None:
            typer.echo(
                f"allowed:   an m or l of {preview.allowed} at most, by its most frequent value"
            )
        typer.echo(f"memory:    {(preview.memory or 0) / 1e6:,.0f} MB at the peak")
    typer.echo("Nothing was published: 'phalanx publish' draws anew and does it.")
