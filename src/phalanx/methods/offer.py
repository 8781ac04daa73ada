# SPDX-License-Identifier: Apache-2.0
"""What a method says of itself to whoever has not chosen one yet: for which table it is, what it
promises in plain words, which figures are asked for and tried.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from phalanx.methods.base import KNOWN


@dataclass(frozen=True)
class Asked:
    """One parameter that a person is asked for; the plan may set others by hand."""

    key: str
    label: str
    begins: str
    """What stands there before anybody wrote something; empty where nothing is asked for."""
    whole: bool = True
    choices: Sequence[str] = ()
    """The words to choose from, where it is no figure."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A method in the words of somebody who has a table and a duty."""

    table: str
    """Which table it is for."""
    promise: str
    """What it promises; ``{it}`` stands for the sensitive attribute, a parameter's name for its
    figure.
    """
    open: str
    """What it does not hide."""
    asked: Sequence[Asked]
    needs_sensitive: bool = False
    """Whether it is for nothing where no attribute is sensitive."""
    tried: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """What ``phalanx explore`` tries where no values are named, by parameter."""
    tried_beside: Mapping[str, Any] = field(default_factory=dict)
    """What stands beside that where an attribute is sensitive."""
    compiled_by: Sequence[Mapping[str, Any]] = ()
    """Parameters that between them reach every kernel, for ``phalanx warm``; none: no kernels."""


@runtime_checkable
class Offered(Protocol):
    """A method that the studio offers, ``phalanx explore`` tries and ``phalanx warm`` compiles
    without being named.
    """

    offer: Offer


def offers() -> dict[str, Offer]:
    """What each installed method says of itself, by name; a method without an offer must be named
    by whoever wants it.
    """
    return {name: cls.offer for name, cls in KNOWN.items() if isinstance(cls, Offered)}
