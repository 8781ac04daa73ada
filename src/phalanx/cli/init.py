"""``phalanx init``: look at a source and propose a plan."""

import os
from pathlib import Path
from typing import Annotated

import typer

from phalanx.cli.output import JSON, show_json, show_table
from phalanx.errors import PlanError


def init(
    source: Annotated[str, typer.Argument(help="A CSV, Parquet or Arrow file, or a database URL (sqlite:///…, postgresql://…) with --query.")],
    query: Annotated[str | None, typer.Option(help="The SELECT that gives the table, for a database.")] = None,
    to: Annotated[Path | None, typer.Option(help="Where to write the plan; default: plan.toml.", show_default=False)] = None,
    name: Annotated[str | None, typer.Option(help="The name of the series; default: the source's.", show_default=False)] = None,
    json: bool = JSON,
) -> None:
    """Profile a table (types, distinct counts, uniqueness, likely roles) and write a commented plan to edit.

    Nothing is published. Read the plan before you publish: a role that is guessed wrong is a promise about the wrong thing.
    """
    from dataclasses import asdict

    from phalanx.data.profile import profile
    from phalanx.data.proposal import propose_plan, slug
    from phalanx.data.sources import read_source

    profiles = profile(read_source(source, query=query, drop=None))
    target = to or Path("plan.toml")
    text = propose_plan(_seen_from(source, target.parent), profiles, slug(name or Path(source.split("://")[-1]).stem), query=query)
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise PlanError(f"{target} exists and is not overwritten; name another file with --to.") from None
    except OSError as error:
        raise PlanError(f"{target} cannot be written ({(error.strerror or 'input/output error').lower()}); name another file with --to.") from None
    if json:
        show_json({"plan": str(target), "columns": [asdict(p) for p in profiles]})
        return
    show_table(
        source,
        ["column", "type", "distinct", "missing", "role", "why"],
        [[p.name, p.type, p.distinct, p.missing, p.role, p.reason] for p in profiles],
        right=(2, 3),
    )
    typer.echo(f"\nThe plan is in {target}. Read it, correct the roles, then: phalanx publish {target}")


def _seen_from(source: str, folder: Path) -> str:
    """A file as the plan in ``folder`` names it; a database URL as it is, made absolute where it is a file."""
    if source.startswith("sqlite:///"):
        return "sqlite:///" + str(Path(source.removeprefix("sqlite:///")).absolute())
    return source if "://" in source else os.path.relpath(source, folder)
