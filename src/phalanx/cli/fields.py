# SPDX-License-Identifier: Apache-2.0
"""Options of commands from the fields of dataclasses: a guarantee's, an adversary's."""

import inspect
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import typer

_PLAIN: Final = (int, float, str, bool)


def option_fields(cls: Any, *, required: bool = True) -> dict[str, inspect.Parameter]:
    """By name, an option for each field that has a ``help`` text in its metadata; ``required``:
    whether it must be given where the field has no default, which else is nothing.
    """
    hints = get_type_hints(cls)
    options = {one.name: one for one in fields(cls) if "help" in one.metadata}
    return {name: _option(one, hints[name], required=required) for name, one in options.items()}


def parameter(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    """A parameter that is given by name."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def _option(one: "Field[Any]", hint: Any, *, required: bool) -> inspect.Parameter:
    """A field as an option: of its own type where that is a plain one, repeated where it holds
    several, else as text.
    """
    kinds = [
        part
        for part in (get_args(hint) if get_origin(hint) in (Union, UnionType) else [hint])
        if part is not type(None)
    ]
    several = inspect.isclass(get_origin(kinds[0])) and issubclass(get_origin(kinds[0]), Sequence)
    kind: Any = (
        list[str] if several else kinds[0] if len(kinds) == 1 and kinds[0] in _PLAIN else str
    )
    is_bare = one.default is MISSING and one.default_factory is MISSING
    default = (
        inspect.Parameter.empty
        if required and is_bare
        else None
        if not required or one.default is MISSING or several
        else one.default
    )
    names = [one.metadata["option"]] if "option" in one.metadata else []
    option = typer.Option(*names, help=one.metadata["help"], show_default=default is not None)
    return parameter(
        one.name, Annotated[kind if default is not None else kind | None, option], default
    )
