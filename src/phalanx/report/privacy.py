# SPDX-License-Identifier: Apache-2.0
"""What a differentially private release costs, in plain words, from its manifest and what its
series has spent.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from phalanx.errors import PhalanxError
from phalanx.guarantees.sentences import as_promised

NAME: Final = "differential-privacy"
"""The guarantee whose costs these are."""


@dataclass(frozen=True)
class Privacy:
    """The promise of one release, and what it costs together with those before it."""

    epsilon: Fraction
    delta: Fraction
    k: int
    beta: Fraction
    accounting: str
    epsilon_scheme: Fraction
    budget: tuple[Fraction, Fraction] | None
    """What all releases of the series may cost together, epsilon and delta; None where no budget is
    named, which allows one release.
    """

    @classmethod
    def of(cls, guarantee: Mapping[str, Any]) -> "Privacy":
        """As the manifest has it; KeyError, ValueError or ArithmeticError where that means
        nothing.
        """
        budget = guarantee.get("budget")
        return cls(
            epsilon=_number(guarantee["epsilon"]),
            delta=_number(guarantee["delta"]),
            k=int(guarantee["k"]),
            beta=_number(guarantee["beta"]),
            accounting=str(guarantee.get("accounting", "tight")),
            epsilon_scheme=_number(guarantee.get("epsilon_scheme", 0)),
            budget=(_number(budget["epsilon"]), _number(budget["delta"])) if budget else None,
        )

    @property
    def deltas(self) -> dict[str, str]:
        """The delta of this k, beta and epsilon by each accounting; empty where it cannot be
        computed.
        """
        from phalanx.accounting import theorem_delta, tight_delta

        figures = {}
        for name, delta in (("tight", tight_delta), ("theorem", theorem_delta)):
            with suppress(PhalanxError):  # the theorem says nothing of a large beta
                figures[name] = as_promised(
                    delta(self.k, self.beta, self.epsilon - self.epsilon_scheme)
                )
        return figures

    @property
    def crowd(self) -> int:
        """About so many rows of the table an image needs to be published, k / beta."""
        return math.ceil(self.k / self.beta)

    def cost(self, number: int, spent: Mapping[str, Any]) -> str:
        """What this release costs together with those before it, and what may still be spent."""
        if number == 1:
            cost = (
                "This is the first release of its series, and costs epsilon"
                f" {as_promised(self.epsilon)} at delta {as_promised(self.delta)}."
            )
        else:
            epsilon, delta = (
                spent.get("epsilon", number * self.epsilon),
                spent.get("delta", number * self.delta),
            )
            less = (
                " (composed exactly, which is less than their sum)"
                if as_promised(epsilon) != as_promised(number * self.epsilon)
                else ""
            )
            cost = (
                "Every release of a series draws a sample of its own, and all of them cost: this"
                f" one by itself epsilon {as_promised(self.epsilon)} at delta"
                f" {as_promised(self.delta)},"
                f" and releases 1 to {number} together epsilon {as_promised(epsilon)} at delta"
                f" {as_promised(delta)}{less}."
            )
        if self.budget is None:
            return f"{cost} The plan allows one release."
        return (
            f"{cost} The plan allows all releases together epsilon"
            f" {as_promised(self.budget[0])} at delta {as_promised(self.budget[1])}, and no"
            " release beyond that leaves."
        )


def _number(shown: Any) -> Fraction:
    """A number of a manifest, or of what a series has spent; a float stands for its shortest
    decimal text.
    """
    return Fraction(
        repr(shown)
        if isinstance(shown, float)
        else shown
        if isinstance(shown, Fraction | int)
        else str(shown)
    )
