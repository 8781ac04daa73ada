# SPDX-License-Identifier: Apache-2.0
"""What is named on the command line for an adversary: the releases, and what lies beside them."""

from collections.abc import Mapping
from inspect import Parameter
from typing import Annotated, Any, Final

import typer

from phalanx.cli.locations import release_folders


def _releases(text: str) -> Any:
    named = typer.Argument(
        help=text, show_default=False, metavar="RELEASE", callback=release_folders
    )
    return Annotated[list[str], named]


def _option(kind: Any, text: str, name: str = "") -> Any:
    return Annotated[kind, typer.Option(*([name] if name else []), help=text, show_default=False)]


_TABLES: Final = "The table that was published, one for each release and in their order; repeat it."
_WHO: Final = "The identifier column of the original tables; goes with --ledger."
_LEDGER: Final = (
    "The ledger's URL or SQLite file, which knows who was published in which row or group."
)

RELEASE: Final = _releases("The release's folder.")
RELEASES: Final = _releases("The release folders of one series.")
ORIGINAL = _option(list[str], _TABLES)
IDENTIFIER = _option(str | None, _WHO)
LEDGER = _option(str | None, _LEDGER)

Option = tuple[Any, Any]
"""The annotation and the default of a parameter."""
SECOND_PUBLISHER: Final[Mapping[str, Option]] = {
    "beside": (
        _option(list[str], "A release folder of the second publisher; repeat it."),
        Parameter.empty,
    ),
    "beside_original": (
        _option(
            list[str],
            "The table that it was made of, one for each and in their order; repeat it.",
        ),
        Parameter.empty,
    ),
    "beside_identifier": (
        _option(str | None, "The identifier column of these tables, where it is called otherwise."),
        None,
    ),
}


def lying_beside(asks_for: Mapping[str, bool] | None) -> dict[str, Option]:
    """The options of what an adversary asks for: of all of it, none must be named, where it does
    not say.
    """
    texts = {"original": _TABLES, "identifier": _WHO, "ledger": _LEDGER}
    options: dict[str, Option] = {}
    for name, needed in (dict.fromkeys(texts, False) if asks_for is None else asks_for).items():
        kind: Any = list[str] if name == "original" else str
        options[name] = (
            _option(kind if needed else kind | None, texts[name], f"--{name}"),
            Parameter.empty if needed else None,
        )
    return options
