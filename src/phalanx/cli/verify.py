# SPDX-License-Identifier: Apache-2.0
"""``phalanx verify``: check releases, ours or anybody's, from their files."""

import inspect
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from phalanx.cli.fields import option_fields
from phalanx.cli.locations import release_folders
from phalanx.cli.output import JSON, QUIET, show_json, show_verdicts, watching


class Verify(TyperCommand):
    """The command with an option for each bound that a guarantee can be asked for; each installed
    a guarantee has its option.
    """

    @cached_property
    def bounds(self) -> Sequence[Any]:
        """The options of guarantees, each found when the command is run; but for those that another
        package calls as the command's own are called.
        """
        from phalanx.guarantees.registry import askable

        own = {"help", *(param.name for param in self.params)}
        taken = {
            name: option_fields(cls, required=False)[name]
            for name, cls in askable().items()
            if name not in own
        }

        def options(**bounds: Any) -> None:
            del bounds

        options.__signature__ = inspect.Signature(list(taken.values()))  # type: ignore[attr-defined]
        options.__annotations__ = {name: option.annotation for name, option in taken.items()}
        alone = typer.Typer(add_completion=False)
        alone.command()(options)
        return [option for option in typer.main.get_command(alone).params if option.name in taken]

    def get_params(self, ctx: Any) -> list[Any]:
        """The command's own, and those of guarantees."""
        *params, show_help = super().get_params(ctx)
        return [*params, *self.bounds, show_help]

    def invoke(self, ctx: Any) -> Any:
        """Hand the bounds on by themselves."""
        ctx.meta["bounds"] = {option.name: ctx.params.pop(option.name) for option in self.bounds}
        return super().invoke(ctx)


def verify(
    ctx: typer.Context,
    releases: Annotated[
        list[str],
        typer.Argument(
            help=(
                "Release folders of one series, or one CSV or Parquet file that another publisher"
                " made."
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
    cluster: Annotated[
        str | None,
        typer.Option(
            help="The cluster column of the original tables: adds what is promised of households."
        ),
    ] = None,
    quasi: Annotated[
        list[str] | None,
        typer.Option(
            help="For another publisher's table: a quasi-identifier; repeat it, or separate by"
            " commas."
        ),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="For another publisher's table: the sensitive column.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="For another publisher's table: the column that names the group, if there is one."
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help=(
                "Where the parts of a release in parts are looked at: local, the default, or spark,"
                " whose workers must see the folder."
            )
        ),
    ] = None,
    spark_master: Annotated[
        str | None,
        typer.Option(
            help="Where Spark runs, as spark://host:7077; by default on all processors here."
        ),
    ] = None,
    allow_seeded: Annotated[
        bool, typer.Option("--allow-seeded", help="Accept a release made with a seed, in a test.")
    ] = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help=(
                "Show every check, a table for each release; of another publisher's table they are"
                " shown anyway."
            ),
        ),
    ] = False,
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Check what was published, from the files alone and against whatever evidence is given.

    Exit code 0 if everything holds, 1 if something does not, 2 if it could not be read. What could
    not be checked is said. JSON keys: holds (null where no bound was asked for), checks (each: name,
    bound, worst, holds, note).
    """
    from phalanx.cli.locations import ledger_url
    from phalanx.data.sources.batches import columns_of
    from phalanx.errors import ReleaseError
    from phalanx.verification import verify as check
    from phalanx.verification import verify_table

    about_ours = {
        "--ledger": ledger,
        "--original": original,
        "--identifier": identifier,
        "--cluster": cluster,
        "--allow-seeded": allow_seeded or None,
        "--engine": engine,
        "--spark-master": spark_master,
    }
    bounds = ctx.meta["bounds"]
    about_theirs = {"--sensitive": sensitive, **{f"--{name}": b for name, b in bounds.items()}}
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
            f"{stray} is about releases of ours, and --quasi and --group are about another"
            " publisher's table; leave one out."
            if theirs
            else (
                f"{stray} is about another publisher's table, and needs its quasi-identifiers; name"
                " them with --quasi, or leave it out."
            )
        )
    for option, column in (("--identifier", identifier), ("--cluster", cluster)):
        if column is not None and not original:
            raise ReleaseError(
                f"{option} is a column of the original tables, and none is given; name them with"
                " --original, or leave it out."
            )
    if theirs:
        if len(releases) != 1:
            raise ReleaseError(
                f"{len(releases)} tables are named together with --quasi; check one at a time."
            )
        names = list(quasi or [])
        if any("," in part for part in names):
            there = columns_of(releases[0])
            several = ([part] if part in there else part.split(",") for part in names)
            names = [name for part in several for name in part]
        verification = verify_table(
            releases[0], quasi=names, sensitive=sensitive, group=group, **bounds
        )
    elif Path(releases[0]).is_file():
        raise ReleaseError(
            f"{releases[0]} is a file, not a release folder; say which columns are"
            " quasi-identifiers with --quasi (and --sensitive) to check it."
        )
    else:
        with watching("read", quiet=quiet or json) as progress:
            verification = check(
                releases,
                ledger=None if ledger is None else ledger_url(ledger),
                originals=original or (),
                identifier=identifier,
                cluster=cluster,
                allow_seeded=allow_seeded,
                engine=engine,  # type: ignore[arg-type] # which is refused in a sentence
                spark_master=spark_master,
                progress=progress,
            )
    if json:
        show_json(verification.to_json())
    else:
        show_verdicts(verification.checks, details=details or theirs)
    raise typer.Exit(any(not verdict.holds for verdict in verification.checks))
