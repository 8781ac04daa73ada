# SPDX-License-Identifier: Apache-2.0
"""``phalanx estimate``: answer a query from a release's folder alone."""

from typing import Annotated

import typer

from phalanx.cli.output import JSON, QUIET, show_json, show_table, show_text, watching


def estimate(
    release: Annotated[str, typer.Argument(help="The release's folder.", show_default=False)],
    query: Annotated[
        str,
        typer.Argument(
            help="As in \"count(*) where sex = 'F' and age between 30 and 40 group by diagnosis\".",
            show_default=False,
        ),
    ],
    suppressed: Annotated[
        int | None, typer.Option(help="How many rows were suppressed, where the publisher says so.")
    ] = None,
    unweighted: Annotated[
        bool,
        typer.Option(
            "--unweighted", help="Count each row once, also where the release has survey weights."
        ),
    ] = False,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            help="The folder of another release of the series, from which it is learned how values"
            " lie; once for each.",
            show_default=False,
        ),
    ] = None,
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Count, add up or average rows of the table behind a release: bounds that are certain, an
    estimate, and a model's interval.

    Needs the extra: pip install 'phalanx[estimate]'. JSON keys: query, by, level, model, figures
    (each low, high, published, interval, estimate, values), notes, weight.
    """
    from phalanx.series.released import Release

    read, others = Release.read(release), [Release.read(folder) for folder in beside or ()]
    with watching("groups", quiet=quiet or json) as progress:
        answer = read.estimate(
            query,
            suppressed=suppressed,
            weighted=not unweighted,
            beside=others,
            progress=progress,
        )
    if json:
        show_json(answer.to_json())
        return
    header = [*answer.by, "certainly", "estimate", "95 % interval (model)"]
    show_table("", header, answer.lines(), right=(len(answer.by) + 1,))
    show_text(f"The estimate is a model's: {answer.model}.")
    for note in answer.notes:
        show_text(f"{note[:1].upper()}{note[1:]}.")
