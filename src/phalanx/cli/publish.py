"""``phalanx publish``: the next release of a series, by its plan."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from phalanx.cli.output import JSON, QUIET, show_json, show_table, show_text, steps

if TYPE_CHECKING:
    from phalanx.series.released import Release


def publish(
    plan: Annotated[Path, typer.Argument(help="The plan (TOML) that 'init' wrote and you edited.")],
    source: Annotated[str | None, typer.Option(help="Publish this file instead of the plan's source.")] = None,
    seed: Annotated[int | None, typer.Option(help="Make the release predictable, for tests only: it is marked as not for publication.")] = None,
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Publish the plan's table as the next release of its series.

    The release leaves only if an independent check of its very files holds; at any error nothing is published and nothing remembered. JSON keys:
    release, number, rows, groups, counterfeits, registered, suppressed, suppressed_rows, suppressed_values, spent, seconds, report, checks,
    disclosed.
    """
    from phalanx.plan import Plan
    from phalanx.series.series import STEPS

    with steps(STEPS, quiet=quiet or json) as progress:
        read = Plan.read(plan)
        published = read.publish(source=source, seed=seed, progress=progress)
    if json:
        show_json(published.to_json())
        return
    show_release(published, f"Release {published.number} of {read.name}")
    typer.echo(f"hand out:  {published.path}")
    typer.echo(f"report:    {published.page}")


def show_release(published: "Release", title: str) -> None:
    """What a release holds, what was suppressed, what adversaries find, and how many checks hold."""
    told = _told(published)
    show_table(title, list(told), [list(told.values())], right=range(len(told)))
    for reason, rows in (published.suppressed_rows or {}).items():
        typer.echo(f"suppressed: {rows} row(s), {reason}")
    for reason, values in published.suppressed_values.items():
        typer.echo(f"suppressed: {values} value(s), {reason}")
    if published.spent is not None:
        spent = published.spent
        typer.echo(f"spent:     epsilon {spent['epsilon']:.4g} at delta {spent['delta']:.3g}, by {spent['releases']:.0f} release(s) together")
    if published.registered:
        typer.echo(f"registered: {published.registered} person(s) without a row")
    for found in published.attacks:
        about = "" if found.sample is None else "about "
        secrets = "" if found.success is None else f", and {about}{found.success:.1%} of the sensitive values"
        show_text(f"{found.adversary + ':':12}names {about}{found.named_rightly[0]:.1%} of the rows rightly{secrets}")
    held = sum(v.result == "holds" for v in published.checks)
    typer.echo(f"checked:   {held} checks of the written files hold")


def _told(published: "Release") -> dict[str, object]:
    """The counts of a release, by what they are called in its form."""
    place = published.form.id_column
    counted: dict[str, object] = {f"{place}s": published.groups} if place else {}  # of a perturbed release, groups are private
    if published.form.kind == "generalized":
        counted["counterfeits"] = published.counterfeits
    suppressed_rows = {} if published.suppressed is None else {"suppressed": published.suppressed}  # under differential privacy nobody is told
    return {"rows": published.rows, **counted, **suppressed_rows, "seconds": f"{published.seconds:.2f}"}
