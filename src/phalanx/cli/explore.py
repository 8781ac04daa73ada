# SPDX-License-Identifier: Apache-2.0
"""``phalanx explore``: what methods and parameters would promise, risk and lose, beforehand."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from phalanx.cli.output import JSON, QUIET, show_json, show_line, show_table, show_text, watching

if TYPE_CHECKING:
    from phalanx.exploration import Exploration

_TRY = 'A method and values to combine, as in "mondrian k=5,10,20 l=2"; repeat it.'
_SURROGATE = (
    "Run on this table of the same kind, such as another year; repeat it for a series, in order."
)
_SAMPLE = "Run on this share of the rows, as 1/10, drawn once: an adopted plan leaves them out."
_TABLE = "Run on the table itself, which no guarantee covers; refused under differential privacy."


def explore(
    plan: Annotated[Path, typer.Argument(help="The plan (TOML) that 'init' wrote.")],
    tried: Annotated[list[str] | None, typer.Option("--try", help=_TRY)] = None,
    surrogate: Annotated[list[str] | None, typer.Option(help=_SURROGATE)] = None,
    sample: Annotated[str | None, typer.Option(help=_SAMPLE)] = None,
    on_the_table: Annotated[bool, typer.Option("--on-the-table", help=_TABLE)] = False,
    adopt: Annotated[
        tuple[int, Path] | None,
        typer.Option(metavar="N FILE", help="Write the plan of point N into this new file."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Where the picture goes (SVG); else into NAME.explore/.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="How many processes; else all cores.")] = None,
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Try methods and parameters, and set side by side what each promises, risks and loses.

    Runs on a table drawn from the last release, or on what an option names, and says why. Points
    are kept in NAME.explore/ beside the plan, private, so that an interrupted run goes on, and
    --adopt asks no question twice. The figures are for the publisher. JSON keys: ran_on, why,
    resumed, sample_error, base_rates, frontiers, points (each number, method, promised, risks,
    loss, error, sample_error, figures, rows, suppressed_rows, seconds, refused), picture, adopted.
    """
    from phalanx.cli.locations import check_ending
    from phalanx.exploration import check_place, explore
    from phalanx.plan import Plan
    from phalanx.report import writing

    if picture is not None:
        check_ending(picture, "--picture", ".svg")
        writing.check_place(picture, writing.PICTURE)
    if adopt is not None:
        check_place(Plan.read(plan), adopt[1])
    with watching("points", quiet=quiet or json) as progress:
        exploration = explore(
            plan, tried or (), surrogate=surrogate or (), sample=sample, on_the_table=on_the_table,
            workers=workers, progress=progress,
        )  # fmt: skip
    check_some(exploration)
    drawn = None
    if exploration.is_pictured:
        drawn = picture or exploration.folder / "picture.svg"
        writing.write(drawn, exploration.picture(), private=True)
    written = None if adopt is None else exploration.adopt(*adopt)
    if json:
        files = {"picture": drawn, "adopted": written}
        show_json(
            exploration.to_json() | {k: None if v is None else str(v) for k, v in files.items()}
        )
        return
    _show(exploration)
    if drawn is not None:
        show_line(f"picture:   {drawn}")
    if written is not None:
        show_line(f"adopted:   {written}")
    else:
        show_text("Nothing was published. Add --adopt N FILE to write the plan of a point.")


def check_some(exploration: "Exploration") -> None:
    """PlanError where no point could be tried, all for one reason: then it is one of the table."""
    from phalanx.errors import PlanError

    reasons = {point.refused for point in exploration.points}
    if len(reasons) == 1 and (reason := reasons.pop()):
        raise PlanError(f"nothing can be tried on {exploration.ran_on}: {reason}")


def _show(exploration: "Exploration") -> None:
    """The sentence, the figures, what is promised, and what could not be."""
    show_text(exploration.why)
    head, rows = exploration.table()
    show_table("", head, rows, right=[0, *range(2, len(head))])
    show_text("")
    promised = [
        [point.number, point.label, " ".join(point.promised)]
        for point in exploration.points
        if not point.refused
    ]
    show_table("What each promises", ["", "method", "guarantee"], promised, right=(0,))
    for point in exploration.points:
        if point.refused:
            show_text(f"{point.number} {point.label} cannot be published: {point.refused}")
    show_text(
        "Percentages of an adversary: how often it is right (95 % interval). loss: mean width of "
        "intervals. error: median relative error of counts. suppressed rows: how many."
    )
