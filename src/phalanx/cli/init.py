# SPDX-License-Identifier: Apache-2.0
"""``phalanx init``: look at a source and propose a plan."""

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from phalanx.cli.output import JSON, show_json, show_line, show_table, show_text, visible
from phalanx.errors import PhalanxError, PlanError, without_passwords
from phalanx.profile.use import QUESTIONS, Changes, Receiver, Use

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
                "A CSV, Parquet, Arrow, Excel, SPSS, Stata or SAS file, or a database URL"
                " (sqlite:///…, postgresql://…) with --query."
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
    changes: Annotated[
        Changes | None,
        typer.Option(
            help=(
                "Whether it is published again, and what changes until then: no; persons (people"
                " come and go, what is sensitive stays true of them); values (that, too)."
            ),
            show_default=False,
        ),
    ] = None,
    looks_original: Annotated[
        bool | None,
        typer.Option(
            "--looks-original/--intervals",
            help="Whether rows must have values as the original has.",
            show_default=False,
        ),
    ] = None,
    receiver: Annotated[
        Receiver | None,
        typer.Option(
            "--for", help="Who receives it: a person is one of 3, 5 or 12.", show_default=False
        ),
    ] = None,
    not_applicable: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "A value, such as N/A, of persons who have none, which anyone may know of them; may"
                " be repeated."
            ),
            show_default=False,
        ),
    ] = None,
    json: bool = JSON,
) -> None:
    """Profile a table (types, distinct counts, uniqueness, likely roles) and write a commented plan
    to edit, with the method that fits.

    Of Parquet or CSV files that are larger than the memory, up to a million rows are looked at.
    On a terminal it asks what --changes, --looks-original, --for and --not-applicable do not say. Nothing is
    published. Read the plan before you publish: a role that is guessed wrong is a
    promise about the wrong thing. JSON keys: plan, rows (of the table, of which a larger one is
    looked at in part), columns (the profile of each), correlation (attributes,
    phi2, columns; null where it is left out).
    """
    from phalanx.data.sources.batches import read_or_sample
    from phalanx.data.sources.source import csv_dialect
    from phalanx.plan_file import write_new
    from phalanx.profile.choice import likely_changes
    from phalanx.profile.proposal import fitting, propose_plan, roles_of, series_of, slug
    from phalanx.profile.table import profile

    target = to or Path("plan.toml")
    if target.exists() and ("://" in source or Path(source).exists()):  # before it is read
        raise _exists(target)
    dialect = csv_dialect(source)
    frame, rows = read_or_sample(source, query=query, dialect=dialect)
    profiles = profile(frame, not_applicable=not_applicable or None)
    asks = not json and sys.stdin.isatty() and sys.stdout.isatty()
    if asks:
        _show_columns(source, profiles, rows)
        if public := _is_public(profiles):
            profiles = profile(frame, not_applicable=public)
    use = _use(changes, looks_original, receiver, likely_changes(roles_of(profiles)), asks=asks)
    profiles = fitting(profiles, use)
    text = propose_plan(
        _seen_from(source, target.parent),
        profiles,
        slug(name) if name else series_of(source),
        query=query,
        use=use,
        dialect=dialect,
        rows=rows,
    )
    try:
        write_new(target, text)
    except FileExistsError:
        raise _exists(target) from None
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
                "rows": rows,
                "columns": [asdict(p) for p in profiles],
                "correlation": correlation,
            }
        )
        return
    if not asks:
        _show_columns(source, profiles, rows)
    if correlation is not None:
        _show_correlation(correlation, of=sum(p.role in ("quasi", "sensitive") for p in profiles))
    show_text("")
    then = f"phalanx check {quote(str(target))}"
    show_line(f"The plan is in {target}. Read it, correct the roles, then: {then}")


def _exists(target: Path) -> PlanError:
    return PlanError(f"{target} exists and is not overwritten; name another file with --to.")


def _use(
    changes: Changes | None,
    looks_original: bool | None,
    receiver: Receiver | None,
    likely: Changes,
    *,
    asks: bool,
) -> Use:
    """What the options say, and where ``asks``, what is answered; else what is likely."""
    use = Use(
        changes=changes, looks_original=bool(looks_original), receiver=receiver or Use.receiver
    )
    open_questions = [changes, looks_original, receiver].count(None)
    if not asks or not open_questions:
        return use
    typer.echo("\nWhich method? Enter takes the answer in brackets; a first letter is enough.")
    if changes is None:
        use = replace(use, changes=Changes(_answer("changes", likely)))
    if looks_original is None:
        use = replace(use, looks_original=_answer("looks_original", "no") == "yes")
    if receiver is None:
        use = replace(use, receiver=Receiver(_answer("receiver", use.receiver)))
    return use


def _is_public(profiles: "Sequence[ColumnProfile]") -> Sequence[str]:
    """The words for "not applicable" of the sensitive attribute, where anyone may know who has
    them; asked where it has some.
    """
    for p in profiles:
        if p.role == "sensitive" and p.perhaps_not_applicable:
            values = ", ".join(map(repr, p.perhaps_not_applicable))
            typer.echo(
                f"\n{p.inapplicable} rows of {visible(p.name)} say {values}, which looks like 'none'."
            )
            if typer.confirm("  May anyone know who they are, as children have no income?"):
                return p.perhaps_not_applicable
    return ()


def _answer(about: str, default: str) -> str:
    """An answer to one of the questions, each with what it means; asked until it is one."""
    question, answers = QUESTIONS[about]
    typer.echo(f"\n{question}")
    for answer, meaning in answers.items():
        typer.echo(f"  {answer:<9} {meaning}")
    while True:
        typed = typer.prompt("  Answer", default=str(default)).strip().lower()
        if len(fitting := [a for a in answers if typed and a.startswith(typed)]) == 1:
            return fitting[0]
        typer.echo(f"  That is none of {', '.join(answers)}.")


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


def _show_columns(source: str, profiles: "Sequence[ColumnProfile]", rows: int) -> None:
    from phalanx.profile.proposal import looked_at

    some = f" ({looked_at(profiles[0].rows, rows)})" if profiles[0].rows < rows else ""
    show_table(
        without_passwords(source) + some,
        ["column", "type", "distinct", "missing", "role", "why"],
        [
            [p.name, p.type, p.distinct, p.missing, p.role, p.reason]
            for p in profiles[:_MOST_COLUMNS]
        ],
        right=(2, 3),
    )
    if len(profiles) > _MOST_COLUMNS:
        show_text(f"{len(profiles) - _MOST_COLUMNS} more columns are in the plan.")


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
