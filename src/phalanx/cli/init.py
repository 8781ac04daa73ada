# SPDX-License-Identifier: Apache-2.0
"""``phalanx init``: look at a source and propose a plan."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from phalanx.cli.output import JSON, show_json, show_table, show_text
from phalanx.errors import PhalanxError, PlanError

if TYPE_CHECKING:
    import polars as pl

    from phalanx.profile.columns import ColumnProfile

_MOST_ATTRIBUTES: Final = 12
"""So many attributes' correlations fit beside each other on a screen."""
_MOST_COLUMNS: Final = 200
"""So many columns are shown; the plan and ``--json`` have all."""
_MOST_ROWS: Final = 200_000
"""Of a larger table, rows at equal distances tell two digits of a correlation as well."""


def init(
    source: Annotated[
        str,
        typer.Argument(
            help=(
                "A CSV, Parquet or Arrow file, or a database URL (sqlite:///…, postgresql://…) with"
                " --query."
            )
        ),
    ],
    query: Annotated[
        str | None, typer.Option(help="The SELECT that gives the table, for a database.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(help="Where to write the plan; default: plan.toml.", show_default=False),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="The name of the series; default: the source's.", show_default=False),
    ] = None,
    json: bool = JSON,
) -> None:
    """Profile a table (types, distinct counts, uniqueness, likely roles) and write a commented plan
    to edit.

    Nothing is published. Read the plan before you publish: a role that is guessed wrong is a
    promise about the wrong thing.
    """
    from dataclasses import asdict

    from phalanx.data.sources.source import read_source
    from phalanx.profile.proposal import propose_plan, slug
    from phalanx.profile.table import profile

    frame = read_source(source, query=query, drop=None)
    profiles = profile(frame)
    target = to or Path("plan.toml")
    text = propose_plan(
        _seen_from(source, target.parent),
        profiles,
        slug(name or Path(source.split("://")[-1]).stem),
        query=query,
    )
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise PlanError(
            f"{target} exists and is not overwritten; name another file with --to."
        ) from None
    except OSError as error:
        raise PlanError(
            f"{target} cannot be written ({(error.strerror or 'input/output error').lower()}); name"
            " another file with --to."
        ) from None
    correlation = _correlation(frame, profiles)
    if json:
        show_json(
            {
                "plan": str(target),
                "columns": [asdict(p) for p in profiles],
                "correlation": correlation,
            }
        )
        return
    show_table(
        source,
        ["column", "type", "distinct", "missing", "role", "why"],
        [
            [p.name, p.type, p.distinct, p.missing, p.role, p.reason]
            for p in profiles[:_MOST_COLUMNS]
        ],
        right=(2, 3),
    )
    if len(profiles) > _MOST_COLUMNS:
        show_text(f"{len(profiles) - _MOST_COLUMNS} more columns are in the plan.")
    if correlation is not None:
        _show_correlation(correlation, of=sum(p.role in ("quasi", "sensitive") for p in profiles))
    typer.echo(
        f"\nThe plan is in {target}. Read it, correct the roles, then: phalanx publish {target}"
    )


def _seen_from(source: str, folder: Path) -> str:
    """A file as the plan in ``folder`` names it; a database URL as it is, made absolute where it is
    a file.
    """
    if source.startswith("sqlite:///"):
        return "sqlite:///" + str(Path(source.removeprefix("sqlite:///")).absolute())
    return source if "://" in source else os.path.relpath(source, folder)


def _correlation(
    frame: "pl.DataFrame", profiles: "Sequence[ColumnProfile]"
) -> dict[str, Any] | None:
    """phi^2 of the likely quasi-identifiers and the sensitive attribute, last, and the columns into
    which slicing would put them; None for fewer than three.

    None, too, where a person has a set of values, which slicing does not take.
    """
    from phalanx.data.correlation import phi2
    from phalanx.data.microdata import Microdata
    from phalanx.data.schema import Schema
    from phalanx.methods.slicing.columns import partition

    sensitive = next((p.name for p in profiles if p.role == "sensitive"), None)
    proposed = [p for role in ("quasi", "sensitive") for p in profiles if p.role == role]
    if len(proposed) < 3 or any(p.type == "set" for p in proposed):
        return None
    if len(proposed) > _MOST_ATTRIBUTES:
        proposed = [*proposed[: _MOST_ATTRIBUTES - 1], proposed[-1]]
    rows = frame.select(p.name for p in proposed).gather_every(-(-frame.height // _MOST_ROWS))
    attributes = {}
    for p in proposed:
        schema = Schema(
            quasi=[p.name], types={p.name: "categorical" if p.prefix else p.type}, missing="value"
        )
        try:
            attributes[p.name] = Microdata.encode(rows.select(p.name), schema).columns[p.name]
        except PhalanxError:  # publish says what is wrong with it
            continue
    if len(attributes) < 3:
        return None
    names = list(attributes)
    matrix = phi2(list(attributes.values()))
    sensitive = sensitive if sensitive in attributes else None
    columns = partition(
        names,
        matrix,
        columns=2,
        sensitive=sensitive,
        sensitive_column_size=None if sensitive is None else 2,
    )
    return {
        "attributes": names,
        "phi2": matrix.round(2).tolist(),
        "columns": [list(column) for column in columns],
    }


def _show_correlation(correlation: dict[str, Any], *, of: int) -> None:
    names, matrix = correlation["attributes"], correlation["phi2"]
    typer.echo()
    show_table(
        f"Correlation of {f'{len(names)} of the {of}' if len(names) < of else 'the'} attributes "
        "(phi²: 0 where two tell nothing of each other, 1 where one is told by the other)",
        ["", *(str(number) for number in range(1, len(names)))],
        [
            [
                f"{i + 1} {name}",
                *(f"{matrix[i][j]:.2f}" if j < i else "" for j in range(len(names) - 1)),
            ]
            for i, name in enumerate(names)
        ],
        right=range(1, len(names)),
    )
    show_text(
        "Slicing into two columns would keep together: "
        + " | ".join(", ".join(column) for column in correlation["columns"])
    )
