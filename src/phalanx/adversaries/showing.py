# SPDX-License-Identifier: Apache-2.0
"""What an adversary found as tables of words and figures, ready to print."""

from collections.abc import Sequence
from typing import NamedTuple


class Shown(NamedTuple):
    """One table of what was found."""

    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    right: Sequence[int] = ()
    """The columns of figures, which stand right."""


def share(figure: float | None, without: str = "unknown") -> str:
    """A share as a percentage with one digit; ``without`` where there is none.

    >>> share(0.25), share(None)
    ('25.0%', 'unknown')
    """
    return without if figure is None else f"{figure:.1%}"


def small(figure: float) -> str:
    """A share that may be small, with two digits that count.

    >>> small(0.00012)
    '0.012%'
    """
    return f"{100 * figure:.2g}%"


def interval(ends: tuple[float, float]) -> str:
    """A confidence interval.

    >>> interval((0.25, 0.5))
    '25.0% to 50.0%'
    """
    return f"{ends[0]:.1%} to {ends[1]:.1%}"
