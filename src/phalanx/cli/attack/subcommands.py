# SPDX-License-Identifier: Apache-2.0
"""A subcommand for every adversary, made of what its class says of itself."""

import inspect
from collections.abc import Mapping
from typing import Any, Final, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from phalanx.adversaries.registry import KNOWN, OURS
from phalanx.cli.attack.described import described
from phalanx.cli.attack.options import RELEASE, RELEASES, SECOND_PUBLISHER, lying_beside
from phalanx.cli.attack.playing import other_publisher, play
from phalanx.cli.fields import option_fields, parameter
from phalanx.cli.output import JSON
from phalanx.errors import ExtraError

_PANELS: Final[Mapping[str, str]] = {
    "singling out": "Who is in it, from one release",
    "inference": "Values, from one release",
    "linkability": "Whose record is which, from one release",
    "series": "Over a series",
    "publishers": "Two publishers",
}
"""By what an adversary looks at, and of one release by its question."""
_UNUSABLE: Final = "Announced by a package, and not to be used"


class Subcommands(TyperGroup):
    """``all``, and every adversary that is known, each loaded when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Ours first."""
        own = super().list_commands(ctx)
        return [*own, *(name for name in KNOWN if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One of ours as a list of all shows it; what another package says of its own, it must be asked."""
        if cmd_name in OURS:
            text, variables = described(OURS[cmd_name])
            return TyperCommand(
                cmd_name,
                help=_sentence(cmd_name, text, variables),
                rich_help_panel=_panel(variables),
            )
        if (own := super().get_command(ctx, cmd_name)) is not None or cmd_name not in KNOWN:
            return own  # as ``all``
        try:
            return command_of(cmd_name)
        except ExtraError as error:  # the others are listed all the same
            return TyperCommand(cmd_name, help=str(error), rich_help_panel=_UNUSABLE)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The one that is to be played, with its options; where there is none, those that may be
        meant.
        """
        if args and args[0] not in self.list_commands(ctx):
            commands = {name: TyperCommand(name) for name in KNOWN}
            self.commands = {**commands, **self.commands}  # typer looks for them there
        name, command, rest = super().resolve_command(ctx, args)
        own = name in super().list_commands(ctx) or name not in KNOWN
        return name, command if own else command_of(str(name)), rest


def command_of(name: str) -> Any:
    """The releases, what lies beside them, and an option for each of the adversary's fields that has a help text."""
    cls = KNOWN[name]
    variables = {
        key: getattr(cls, key)
        for key in ("looks_at", "question", "asks_for", "sentences")
        if hasattr(cls, key)
    }
    looks_at = variables.get("looks_at", "series")
    options = option_fields(cls)

    def run(releases: list[str], json: bool, **given: Any) -> None:
        beside = {key: given.pop(key, None) for key in ("original", "identifier", "ledger")}
        parameters = getattr(cls, "variants", {}).get(name, {})
        if looks_at == "publishers":
            parameters |= other_publisher(
                given.pop("beside"),
                given.pop("beside_original"),
                given.pop("beside_identifier") or beside["identifier"],
            )
        chosen = {key: value for key, value in given.items() if value is not None}
        play(cls(**parameters, **chosen), releases, beside, alone=looks_at == "release", json=json)

    taken = {"releases": parameter("releases", RELEASE if looks_at == "release" else RELEASES)}
    taken |= {
        key: parameter(key, *option)
        for key, option in lying_beside(variables.get("asks_for")).items()
    }
    taken |= {
        key: parameter(key, *option)
        for key, option in (SECOND_PUBLISHER if looks_at == "publishers" else {}).items()
    }
    taken |= options | {"json": parameter("json", bool, JSON)}
    run.__signature__ = inspect.Signature(list(taken.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {key: parameter.annotation for key, parameter in taken.items()}
    text = f"{_sentence(name, inspect.getdoc(cls) or name, variables)}\n\n{_keys(cls)}"
    text = text.replace("``", "")  # which markdown would not show
    app = typer.Typer(rich_markup_mode="markdown", add_completion=False)
    app.command(
        name, help=text, short_help=text.partition("\n")[0], rich_help_panel=_panel(variables)
    )(run)
    return typer.main.get_command(app)


def _sentence(name: str, text: str, variables: Mapping[str, Any]) -> str:
    """What it does: the first paragraph of its class, or of this name of it."""
    return str(
        variables.get("sentences", {}).get(name) or " ".join(text.partition("\n\n")[0].split())
    )


def _panel(variables: Mapping[str, Any]) -> str:
    looks_at = variables.get("looks_at", "series")
    return _PANELS[variables.get("question", "inference") if looks_at == "release" else looks_at]


def _keys(cls: Any) -> str:
    """The keys of what it finds, by the class of its findings."""
    findings = get_type_hints(cls.attack).get("return")
    text = inspect.getdoc(getattr(findings, "to_json", None)) or ""
    return f"JSON: {text[:1].lower()}{' '.join(text.split())[1:]}" if text else ""
