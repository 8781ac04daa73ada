# SPDX-License-Identifier: Apache-2.0
"""What adversaries found out, as the page of a release tells it: who they are, how often they name
the right row, and whom to expect.

The regulator's three questions, too, each answered by those who were played; where none was, there
is no answer.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from phalanx.adversaries.registry import KNOWN
from phalanx.errors import PhalanxError

_OTHER_FORM: Final = "it attacks releases of another form"


class Disclosure(Protocol):
    """What one adversary found out about each person, as the section on adversaries shows it."""

    @property
    def adversary(self) -> str:
        """Its name."""

    @property
    def knows(self) -> str:
        """What it knows, in one sentence."""

    @property
    def persons(self) -> int:
        """How many persons it looked for."""

    @property
    def note(self) -> str:
        """How its work was bounded, or what it left out."""

    @property
    def sample(self) -> int | None:
        """The same where they were drawn; None where all were looked for."""

    @property
    def named_rightly(self) -> tuple[float, tuple[float, float]]:
        """How often the row that it names as a person's is that person's, on average over persons,
        and the 95 % confidence interval.
        """

    @property
    def identity_baseline(self) -> float:
        """The same for an adversary who takes any row."""

    @property
    def success(self) -> float | None:
        """How often the sensitive value that it names is the person's; None where none is
        published.
        """

    @property
    def attribute_baseline(self) -> float | None:
        """The same for an adversary who takes any row."""


class Finding(Protocol):
    """What one adversary found, in a sentence."""

    @property
    def adversary(self) -> str:
        """Its name."""

    @property
    def knows(self) -> str:
        """What it knows, in one sentence."""

    @property
    def sentence(self) -> str:
        """What it found."""


class Question(Protocol):
    """One of the regulator's questions, as ``adversaries.opinion`` answers it."""

    @property
    def question(self) -> str:
        """Its name."""

    @property
    def asks(self) -> str:
        """The question."""

    @property
    def played(self) -> Sequence[Finding]:
        """What those found who were played."""

    @property
    def not_played(self) -> Mapping[str, str]:
        """Those who were not, each with the reason."""


@dataclass(frozen=True)
class Told:
    """A row of the table of adversaries."""

    name: str
    knows: str
    who: str
    """Whom it stands for; empty for an adversary of another house."""
    persons: int | None
    """None for an adversary who takes any row, whichever person is looked for."""
    rows: float
    """The share of persons whose row it names."""
    interval: tuple[float, float] | None
    """Where that of all persons lies; None where all were looked for."""
    values: float | None
    """The share of persons whose sensitive value it names."""
    allowed: str
    """The greatest share of rows that the plan allows it to name; empty where it says none."""
    note: str = ""
    """How its work was bounded, or what it left out; empty where nothing was."""


def told(attacks: Sequence[Disclosure], bounds: Mapping[str, Any]) -> list[Told]:
    """Rows of the table, the first of them for an adversary who takes any row; no rows where no
    adversary attacked. ``bounds``: the plan's, by adversary.
    """
    if not attacks:
        return []
    anybody = Told(
        "anybody",
        "nothing, and takes any row",
        "",
        None,
        attacks[0].identity_baseline,
        None,
        attacks[0].attribute_baseline,
        "",
    )
    return [anybody, *(_told(each, str(bounds.get(each.adversary, ""))) for each in attacks)]


def reasons(question: Question, kind: str) -> list[tuple[str, list[str]]]:
    """Why adversaries were not played, each reason once, with their names; that they are about
    another form than this ``kind`` in few words.
    """
    by_reason: dict[str, list[str]] = {}
    for name, why in question.not_played.items():
        other = f"this one is {kind}" in why or f"a {kind} release has" in why
        by_reason.setdefault(_OTHER_FORM if other else why, []).append(name)
    return list(by_reason.items())


def most_named(attacks: Sequence[Disclosure]) -> float | None:
    """The share of persons whose row the adversary names who names most; None where none
    attacked.
    """
    return max((each.named_rightly[0] for each in attacks), default=None)


def _of(adversary: str, what: str) -> Any:
    """What the class of an adversary says of itself; nothing where it says nothing."""
    with suppress(KeyError, PhalanxError):
        return getattr(KNOWN[adversary], what, "")
    return ""


def _told(attack: Disclosure, allowed: str) -> Told:
    rows, interval = attack.named_rightly
    within = None if attack.sample is None else interval
    return Told(
        attack.adversary,
        attack.knows,
        str(_of(attack.adversary, "stands_for")),
        attack.persons,
        rows,
        within,
        attack.success,
        allowed,
        attack.note,
    )
