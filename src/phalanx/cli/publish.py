# SPDX-License-Identifier: Apache-2.0
"""``phalanx publish``: the next release of a series, by its plan."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from phalanx.cli.output import JSON, QUIET, show_json, show_line, show_table, show_text, steps

if TYPE_CHECKING:
    from phalanx.series.preview import Preview
    from phalanx.series.released import Release


def publish(
    plan: Annotated[Path, typer.Argument(help="The plan (TOML) that 'init' wrote and you edited.")],
    source: Annotated[
        str | None, typer.Option(help="Publish this file instead of the plan's source.")
    ] = None,
    wave: Annotated[
        str | None,
        typer.Option(
            help="Which wave of the table, where [source] names their column; else the next one."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help=(
                "Make the release predictable, for tests only: it is marked as not for publication."
            )
        ),
    ] = None,
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Publish the plan's table as the next release of its series.

    The release leaves only if an independent check of its very files holds; at any error nothing is
    published and nothing remembered. JSON keys: release, number, wave, rows, groups, counterfeits,
    registered, suppressed_rows, suppressed_values, spent, seconds, report, checks,
    disclosed.
    """
    from phalanx.plan import Plan
    from phalanx.series.given import STEPS

    with steps(STEPS, quiet=quiet or json) as progress:
        read = Plan.read(plan)
        published = read.publish(source=source, wave=wave, seed=seed, progress=progress)
    if json:
        show_json(published.to_json())
        return
    of_wave = "" if published.wave is None else f", wave {published.wave}"
    show_counts(
        published,
        f"Release {published.number} of {read.name}{of_wave}",
        published.form_type.id_column or None,
    )
    show_line(f"hand out:  {published.path}")
    if published.page is not None:
        show_line(f"report:    {published.page}")


def show_counts(release: "Release | Preview", title: str, group: str | None) -> None:
    """What a release holds, what was suppressed, what adversaries find, and how many checks hold;
    ``group``: what a group is called, None where there is none.
    """
    if not release.rows:
        show_text("NO ROW IS PUBLISHED: the release is of no use to anybody.")
    counts = _counts(release, group)
    show_table(title, list(counts), [list(counts.values())], right=range(len(counts)))
    for reason, rows in (release.suppressed_rows or {}).items():
        show_line(f"suppressed: {rows} row(s), {reason}")
    for reason, values in (release.suppressed_values or {}).items():
        show_line(f"suppressed: {values} value(s), {reason}")
    if release.spent is not None:
        from phalanx.exact import at_most

        spent = release.spent
        show_line(
            f"spent:     epsilon {at_most(spent['epsilon'])} at delta {at_most(spent['delta'])}, by"
            f" {spent['releases']:.0f} release(s) together"
        )
    if release.registered:
        show_line(f"registered: {release.registered} person(s) without a row")
    attacks = release.attacks or ()
    for attack in attacks:
        about = "" if attack.sample is None else "about "
        secrets = (
            ""
            if attack.success is None
            else f", and {about}{attack.success:.1%} of the sensitive values"
        )
        show_text(
            f"{attack.adversary + ':':12}names {about}{attack.named_rightly[0]:.1%} of the rows"
            f" rightly{secrets}"
        )
    if attacks and all(attack.adversary != "omniscient" for attack in attacks):
        show_text("omniscient: not played, as groups have too many rows for its budget")
    results = Counter(v.result for v in release.checks or ())
    not_checked = (
        f"; {results['not checked']} part(s) not checked" if results["not checked"] else ""
    )
    show_line(f"checked:   {results['holds']} checks of the written files hold{not_checked}")


def _counts(release: "Release | Preview", group: str | None) -> dict[str, object]:
    """The counts of a release, by what they are called in its form; a form without groups has no
    counterfeits either.
    """
    counts: dict[str, object] = {"rows": release.rows}
    if group is not None:
        counts[f"{group}s"] = release.groups
    if group == "group":
        counts["counterfeits"] = release.counterfeits
    if release.suppressed_rows is not None:  # under differential privacy they are not told
        counts["suppressed rows"] = sum(release.suppressed_rows.values())
    return {**counts, "seconds": f"{release.seconds:.2f}"}
