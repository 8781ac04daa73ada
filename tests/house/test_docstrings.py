# SPDX-License-Identifier: Apache-2.0
"""What a public name takes, gives and refuses stands in its docstring, in numpydoc's sections."""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

import phalanx
from phalanx.adversaries.base import Adversary
from phalanx.data.hierarchies.hierarchy import Hierarchy
from phalanx.methods.base import Method, Recollecting

ERROR = re.compile(r"\b[A-Z]\w*Error\b|\bNotEligible\b")
SECTION = re.compile(r"^(Parameters|Returns|Yields|Raises|Examples)\n-+\n", re.MULTILINE)
CONTRACTS = {
    Method: "guarantees",
    Recollecting: "recollect",
    Adversary: "looks_at",
    Hierarchy: "ancestors",
}
"""What a method of one of these takes and gives is said once; and what only they have."""


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that are ours."""
    for owner in cls.__mro__:
        if owner.__module__.startswith("phalanx."):
            for name, member in vars(owner).items():
                plain = getattr(member, "__func__", getattr(member, "fget", member))
                plain = getattr(plain, "func", plain)
                if not name.startswith("_") and inspect.isfunction(plain):
                    yield name, member


def public() -> dict[str, Callable[..., Any]]:
    """Every public function, and every method of a public class that takes something or says of
    itself more than its contract.
    """
    found: dict[str, Callable[..., Any]] = {}
    for name in phalanx.__all__:
        thing = inspect.unwrap(getattr(phalanx, name))
        if not inspect.isclass(thing):
            found[name] = thing
            continue
        said_once = [contract for contract, mark in CONTRACTS.items() if hasattr(thing, mark)]
        for called, member in members(thing):
            function = inspect.unwrap(getattr(member, "__func__", member))
            if inspect.isfunction(function) and not any(hasattr(c, called) for c in said_once):
                found.setdefault(f"{name}.{called}", function)
    for contract in CONTRACTS:
        found |= {
            f"{contract.__name__}.{called}": member
            for called, member in members(contract)
            if inspect.isfunction(member)
        }
    return found


def sections(docstring: str) -> dict[str, str]:
    """The text before the first section under the empty name, and each section's under its own."""
    first, *rest = SECTION.split(inspect.cleandoc(docstring))
    return {"": first} | dict(zip(rest[::2], rest[1::2], strict=True))


def entries(section: str) -> list[str]:
    """What a section lists."""
    return [line.partition(" : ")[0] for line in section.splitlines() if line and line[0] != " "]


def wrong(function: Callable[..., Any]) -> Iterator[str]:
    """What a docstring keeps from a reader."""
    said = sections(function.__doc__ or "")
    signature = inspect.signature(function)
    takes = [
        {p.VAR_KEYWORD: "**", p.VAR_POSITIONAL: "*"}.get(p.kind, "") + p.name
        for p in signature.parameters.values()
        if p.name not in ("self", "cls")
    ]
    if entries(said.get("Parameters", "")) != takes:
        yield f"takes {takes}, and lists {entries(said.get('Parameters', ''))}"
    if takes and signature.return_annotation not in (None, "None") and "Returns" not in said:
        yield "does not say what it returns"
    if not said[""].strip():
        yield "says nothing"
    if error := ERROR.search(said[""]):
        yield f"{error[0]} is not under Raises"
    for section in ("Parameters", "Raises"):
        for entry, below in re.findall(
            r"^(\S.*)(?:\n|$)((?:    .*\n?)*)", said.get(section, ""), re.MULTILINE
        ):
            if not below.strip() or (section == "Parameters" and " : " not in entry):
                yield f"{entry!r} is not described"


@pytest.mark.parametrize("name", public())
def test_public_names_list_what_they_take_give_and_refuse(name: str) -> None:
    """Parameters in their order, each with its type and what it means; Returns; Raises."""
    assert list(wrong(public()[name])) == []


@pytest.mark.parametrize("name", [n for n in phalanx.__all__ if n[0].isupper()])
def test_public_classes_list_what_they_take_and_refuse(name: str) -> None:
    """Each parameter with a text below it, and no error in the prose."""
    cls = getattr(phalanx, name)
    prose = sections(cls.__doc__ or "")[""]
    assert re.findall(rf"(?:{ERROR.pattern}) (?:where|for)\b", prose) == []
    assert not is_dataclass(cls) or undocumented(cls) == []


def undocumented(cls: type) -> list[str]:
    """The parameters of a dataclass that have no text below them, nor one for the command line."""
    text = "\n".join(inspect.getsource(c) for c in cls.__mro__ if is_dataclass(c))
    return [
        one.name
        for one in fields(cls)  # type: ignore[arg-type]
        if one.init
        and not one.name.startswith("_")
        and "help" not in one.metadata
        and not re.search(rf'^    {one.name}: (?:.|\n    )*?\n    """', text, re.MULTILINE)
    ]


def takes_all(n, *, first, **more) -> int:
    """Gives a number.

    Parameters
    ----------
    n : int
        A number.
    """


def test_what_is_kept_from_a_reader_is_seen() -> None:
    """The broken twin: two parameters, what is returned, and an error in the prose."""
    assert len(list(wrong(takes_all))) == 2

    def refuses(n) -> None:
        """PlanError where n is none.

        Parameters
        ----------
        n
        """

    assert list(wrong(refuses)) == ["PlanError is not under Raises", "'n' is not described"]


def test_there_are_names_to_look_at() -> None:
    """The public door, and not an empty list."""
    assert len(public()) > 70 and {"publish", "Series.publish", "Ledger.open"} <= set(public())
