# SPDX-License-Identifier: Apache-2.0
"""One line of the oracle's table: a method, its parameters, a setting, the bound, and what is
claimed.

``holds``: the bound holds against who knows the method. ``open_``: it does not, and the oracle must
catch it; such a line is also the broken twin that shows that the oracle sees. Where a method states
otherwise of itself, a line says why (``differs``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from phalanx.methods.base import make
from worlds.choices import Fold, by_value
from worlds.oracle import Answer, Bound, Kind, Look, ask
from worlds.publications import REFUSED, Output
from worlds.settings import Setting


@dataclass(frozen=True, eq=False)
class Case:
    """One line of the table."""

    method: str
    parameters: Mapping[str, Any]
    table: str
    """The persons and their values, in words."""
    setting: Setting
    bound: Bound
    claimed: bool
    """Whether the bound is claimed to hold against who knows the method."""
    how: Kind = "enumerated"
    runs: int = 2
    folds: Mapping[str, Fold] = field(default_factory=dict)
    only: tuple[Any, ...] | None = None
    look: Look = lambda output: output
    refusals: bool = False
    then: tuple[Mapping[str, Any], ...] = ()
    """The parameters of the second release, the third, and so on, where a plan changes."""
    quick: bool = False
    """Whether it is asked in every run of the tests."""
    differs: str = ""
    """Why ``claimed`` is not what the method states of itself (``holds_if_method_known``); empty
    where it is.
    """

    @property
    def option(self) -> str:
        """The parameters, as a plan writes them, and those that change in later releases."""
        return "; then ".join(
            ", ".join(f"{name} = {_plain(value)}" for name, value in given.items())
            for given in (self.parameters, *self.then)
        )

    def __str__(self) -> str:
        return f"{self.method}: {self.option}: {self.table}"

    def made(self, release: int = 0) -> Any:
        """The method with its parameters in a release, counted from 0, as a plan makes it; of the
        values that it names, some worlds have none.
        """
        parameters = (self.parameters, *self.then)[release]
        given = [parameters.get(key) for key in ("protect", "permanent")]
        named = [value for values in given if isinstance(values, list) for value in values]
        return make(self.method, {**parameters, **({"expected_later": named} if named else {})})

    @property
    def made_later(self) -> list[Any]:
        """The methods of ``then``."""
        return [self.made(release) for release in range(1, len(self.then) + 1)]

    def answer(self) -> Answer:
        """Ask the oracle."""
        given = {
            "folds": self.folds,
            "only": self.only,
            "look": self.look,
            "refusals": self.refusals,
            "then": self.made_later,
        }
        return ask(self.made(), self.setting, self.bound, how=self.how, runs=self.runs, **given)

    def verdict(self, answer: Answer) -> str:
        """What the answer says of the claim; a word in capitals where they do not agree."""
        above = any(finding.above > 0 for finding in answer.findings)
        if self.claimed:
            return (
                "ABOVE ITS BOUND"
                if above
                else "holds"
                if answer.kind == "exact"
                else "nothing above"
            )
        return "open" if above else "open, NOT SEEN"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name} = {_plain(of)}" for name, of in value.items()) + "}"
    return (
        "[" + ", ".join(map(_plain, value)) + "]" if isinstance(value, list | tuple) else str(value)
    )


def of_the_valued(output: Output) -> Output:
    """The rows of an output whose value is applicable, without what stands beside them: a part of
    what is seen, so that what it tells is told.
    """
    return tuple(
        shown
        if shown == REFUSED
        else tuple(
            tuple((name, tuple(row for row in rows if row[-1] != "-")) for name, rows in group)
            for group in shown[0]
        )
        for shown in output
    )


def without_values(output: Output) -> Output:
    """An output less its sensitive values, which stand last in a row: what groupings that do not
    look at values must leave independent of them.
    """
    return tuple(
        shown
        if shown == REFUSED
        else tuple(
            tuple((name, tuple(row[:-1] for row in rows)) for name, rows in group)
            for group in shown[0]
        )
        for shown in output
    )


HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
FOLDS: Mapping[str, Fold] = {"m-invariance": by_value, "anatomy": by_value}


def holds(
    method: str,
    parameters: Mapping[str, Any],
    table: str,
    setting: Setting,
    bound: Bound,
    **more: Any,
) -> Case:
    """A bound that must hold against who knows the method."""
    return Case(
        method, parameters, table, setting, bound, claimed=True, **({"folds": FOLDS} | more)
    )


def open_(
    method: str,
    parameters: Mapping[str, Any],
    table: str,
    setting: Setting,
    bound: Bound,
    **more: Any,
) -> Case:
    """A bound that does not hold against who knows the method, which the oracle must see."""
    return Case(
        method, parameters, table, setting, bound, claimed=False, **({"folds": FOLDS} | more)
    )
