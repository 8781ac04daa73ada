# SPDX-License-Identifier: Apache-2.0
"""What a paper's figure is here: what is measured for it, what the paper says of it, and when that
holds. ``page.py`` gathers the papers, each declared in its folder's ``paper.py``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from charts import Panel

Variant = Literal["full", "quick"]
"""Whether all is measured, or less of everything."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One thing that the paper says."""

    says: str
    """In the paper's words where they are short."""
    ours: Callable[[Any], str]
    """What came out here, in words, of what the figure measured."""
    holds: Callable[[Any], bool | None]
    """None where too little was measured to say."""
    rule: str = ""
    """When it counts as held, where the paper's words leave that open."""
    why: str | Callable[[Any], str] = ""
    """What is behind it where it does not hold; as what was found has it, or whatever that was."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure, table or passage of a paper."""

    name: str
    shows: str
    measured: Callable[[Variant], Any]
    """Measures what the claims look at."""
    claims: Sequence[Claim]
    setting: str
    """What is measured, and what is not as in the paper."""
    quickly: str = ""
    """What is less in the quick variant."""
    panels: Callable[[Any], Sequence[Panel]] | None = None
    """Its picture, in the paper's form."""


@dataclass(frozen=True, kw_only=True)
class Paper:
    """One paper: its figures in order, and those that are not made, with the reason."""

    title: str
    figures: Sequence[Figure]
    not_made: Mapping[str, str] = field(default_factory=dict)
