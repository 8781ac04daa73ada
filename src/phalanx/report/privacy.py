"""What a differentially private release promises, does not promise and costs, in plain words, from its manifest and what its series has spent."""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from phalanx.errors import PhalanxError
from phalanx.exact import rounded

NAME: Final = "differential privacy"
"""The guarantee that this module has words for."""


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
    """What all releases of the series may cost together, epsilon and delta; None where no budget is named, which allows one release."""

    @classmethod
    def of(cls, guarantee: Mapping[str, Any]) -> "Privacy":
        """As the manifest has it; KeyError, ValueError or ArithmeticError where that means nothing."""
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

    def in_words(self) -> str:
        """The promise as a sentence that says what it means for one row."""
        factor, sure = math.exp(self.epsilon), 1 / (1 + math.exp(-self.epsilon))
        return (
            f"This release tells hardly anything of whether any one row was in the table (differential privacy, epsilon = {shown(self.epsilon)}, delta = "
            f"{shown(self.delta)}). Whatever it could show is at most {shown(factor)} times (e^{shown(self.epsilon)}) as probable with the row as without it, and without as "
            f"with, but for an excess of {shown(self.delta)} in probability. So whoever held it for as likely as not that the row is there is at most {math.ceil(1000 * sure) / 10:g}% "
            "sure afterwards, whatever else they know."
        )

    @property
    def deltas(self) -> dict[str, str]:
        """The delta of this k, beta and epsilon by each accounting; empty where it cannot be computed."""
        from phalanx.accounting import theorem_delta, tight_delta

        found = {}
        for name, delta in (("tight", tight_delta), ("theorem", theorem_delta)):
            with suppress(PhalanxError):  # the theorem says nothing of a large beta
                found[name] = shown(delta(self.k, self.beta, self.epsilon - self.epsilon_scheme))
        return found

    @property
    def of_two_rows(self) -> tuple[Fraction, Fraction]:
        """What is promised where two rows differ, or one is exchanged for another: 2 epsilon and (1 + e^epsilon) delta, the delta rounded up, at most 1."""
        from phalanx.accounting.directed import exponential

        return 2 * self.epsilon, min(Fraction(1), (1 + Fraction(exponential(self.epsilon, 20)[1])) * self.delta)

    @property
    def crowd(self) -> int:
        """About so many rows of the table an image needs to be published, k / beta."""
        return math.ceil(self.k / self.beta)

    def cost(self, number: int, spent: Mapping[str, Any]) -> str:
        """What this release costs together with those before it, and what may still be spent."""
        if number == 1:
            cost = f"This is the first release of its series, and costs epsilon {shown(self.epsilon)} at delta {shown(self.delta)}."
        else:
            epsilon, delta = (spent.get("epsilon", number * self.epsilon), spent.get("delta", number * self.delta))
            less = " (composed exactly, which is less than their sum)" if shown(epsilon) != shown(number * self.epsilon) else ""
            cost = (
                f"Every release of a series draws a sample of its own, and all of them cost: this one by itself epsilon {shown(self.epsilon)} at delta "
                f"{shown(self.delta)}, and releases 1 to {number} together epsilon {shown(epsilon)} at delta {shown(delta)}{less}."
            )
        if self.budget is None:
            return f"{cost} The plan allows one release."
        return (
            f"{cost} The plan allows all releases together epsilon {shown(self.budget[0])} at delta {shown(self.budget[1])}, and no release beyond that leaves."
        )


def in_words(guarantee: Mapping[str, Any]) -> str:
    """The promise of a manifest as a sentence; KeyError, ValueError or ArithmeticError where it means nothing."""
    return Privacy.of(guarantee).in_words()


def limits(guarantee: Mapping[str, Any], *, rows: int) -> Iterator[tuple[str, str]]:
    """What differential privacy of one row leaves out, as (headline, sentence); ``rows`` are the published ones."""
    try:
        promise = Privacy.of(guarantee)
    except (KeyError, ValueError, ArithmeticError):
        return
    if rows * promise.delta >= 1:
        yield (
            "Delta is large for so many rows",
            (
                f"With a delta of {shown(promise.delta)} a method could publish some of {rows:,} rows as they are and keep its promise. This method does not do that, "
                "but the figure promises little; choose a delta far below 1 divided by the number of rows."
            ),
        )
    epsilon, delta = promise.of_two_rows
    yield (
        "About one row, and this series alone",
        (
            f"Whoever has several rows in the table is promised less. With two, or where one row is exchanged for another, epsilon is {shown(epsilon)} and delta "
            f"{shown(delta)}: twice epsilon, and 1 + e^epsilon times delta. What is published elsewhere about the same table comes on top, and is "
            "in none of the figures here. Where rows say much of each other, as those of relatives may, the rows of one tell of the other. What the release "
            "teaches about people in general may be believed of anybody, in the table or not."
        ),
    )


def shown(number: float | Fraction | Decimal | str) -> str:
    """A figure that is promised at most, as people read it: four digits, rounded up; a small one as 1 over a whole number where it is one.

    >>> [shown(x) for x in (1, "1/2", Fraction(1, 10**6), 2.718281828, 9.7712e-07)]
    ['1', '0.5', '1/1,000,000', '2.719', '9.772e-7']
    """
    exact = _number(number)
    return f"1/{exact.denominator:,}" if exact.numerator == 1 and exact.denominator >= 1000 else short(exact)


def short(number: Fraction) -> str:
    """The same where there is little room: ``1e-6``."""
    return rounded(number, up=True)


def _number(said: Any) -> Fraction:
    """A number of a manifest, or of what a series has spent; a float stands for its shortest decimal text."""
    return Fraction(repr(said) if isinstance(said, float) else said if isinstance(said, Fraction | int) else str(said))
