# SPDX-License-Identifier: Apache-2.0
"""Adversaries of other packages, each a subcommand made of what its class says of itself."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Annotated, Any, Final, get_type_hints

import typer
from typer.core import TyperGroup

from phalanx.adversaries.registry import KNOWN
from phalanx.cli.attack.options import OWN_IDENTIFIER, OWN_LEDGER, RELEASE, RELEASES
from phalanx.cli.attack.playing import play
from phalanx.cli.output import JSON

_PLAIN: Final = (int, float, str, bool)
_ORIGINAL = Annotated[
    list[str],
    typer.Option(
        "--original", help="The table that was published, one for each release; repeat it."
    ),
]


class WithOthers(TyperGroup):
    """The subcommands of ours, and those of every adversary that another package announces; its
    package is loaded when it is asked for.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Ours first."""
        return [*super().list_commands(ctx), *KNOWN.others]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Ours, where there is one of that name."""
        found = super().get_command(ctx, cmd_name)
        return command_of(cmd_name) if found is None and cmd_name in KNOWN.others else found


def command_of(name: str) -> Any:
    """The subcommand of an adversary: one release or several, what lies beside them, and a word for
    each of its fields that has a help text.
    """
    cls = KNOWN[name]
    alone = getattr(cls, "looks_at", "series") == "release"
    hints = get_type_hints(cls)
    options = [one for one in fields(cls) if "help" in one.metadata]

    def run(
        releases: list[str],
        original: list[str],
        identifier: str | None,
        ledger: str | None,
        json: bool,
        **given: Any,
    ) -> None:
        chosen = {key: value for key, value in given.items() if value is not None}
        parameters = getattr(cls, "variants", {}).get(name, {}) | chosen
        play(cls(**parameters), releases, original, identifier, ledger, alone=alone, json=json)

    taken = [
        _parameter("releases", RELEASE if alone else RELEASES),
        _parameter("original", _ORIGINAL, []),
    ]
    taken += [_option(one, hints[one.name]) for one in options]
    taken += [
        _parameter("identifier", OWN_IDENTIFIER, None),
        _parameter("ledger", OWN_LEDGER, None),
        _parameter("json", bool, JSON),
    ]
    run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
    return _single(name, run, inspect.getdoc(cls) or name)


def _parameter(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def _option(one: "Field[Any]", hint: Any) -> inspect.Parameter:
    """A field as an option: of its own type where that is a plain one, else as text; asked for
    where it has no default.
    """
    plain = hint if hint in _PLAIN else str
    default = (
        inspect.Parameter.empty
        if one.default is MISSING and one.default_factory is MISSING
        else None
        if one.default is MISSING
        else one.default
    )
    kind = plain | None if default is None else plain
    return _parameter(one.name, Annotated[kind, typer.Option(help=one.metadata["help"])], default)


def _single(name: str, run: Callable[..., None], text: str) -> Any:
    app = typer.Typer(rich_markup_mode="markdown", add_completion=False)
    app.command(
        name, help=text, short_help=text.partition("\n")[0], rich_help_panel="Of other packages"
    )(run)
    return typer.main.get_command(app)
