# SPDX-License-Identifier: Apache-2.0
"""What an adversary is: it says what it knows, and concludes from published files what it can about
every person.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar, Final, Literal, Protocol

import numpy as np
import polars as pl

from phalanx.adversaries.showing import Shown, share
from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError, kind_of
from phalanx.release.applicable import applicable_parts
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release

Looks = Literal["release", "series", "publishers"]
Interval = tuple[float, float]

Z: Final = 1.959963984540054
"""The standard normal distribution has 95 % of its mass between -z and z."""


def wilson(share: float, n: int) -> Interval:
    """The 95 % interval of Wilson (1927) around a share of n trials, (0, 1) where there are none.

    >>> [round(end, 4) for end in wilson(0.5, 100)]
    [0.4038, 0.5962]
    """
    if n == 0:
        return 0.0, 1.0
    around = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return min(max(0.0, around - half), share), max(min(1.0, around + half), share)


def trials(clusters: Ints) -> int:
    """As how many trials as many as ``clusters`` count, of which those of one cluster are right or
    wrong together: the square of their number by the sum of the squares of the clusters' sizes
    (Kish, Survey Sampling, 1965), rounded down.

    >>> trials(np.array([1, 2, 3])), trials(np.array([1, 1, 1, 2]))
    (3, 1)
    """
    many = np.unique(clusters, return_counts=True)[1]
    return int(many.sum() ** 2 // (many**2).sum()) if len(many) else 0


def may_be_luck(of_how_many: str, interval: Interval | None, bound: Fraction) -> str:
    """What an adversary who may be wrong is right about, as a sentence, where no more than the bound
    is promised and the interval reaches down to it; else empty.

    >>> may_be_luck("It is right about 4 of 10", (0.2, 0.7), Fraction(1, 2))
    'It is right about 4 of 10 (20.0 to 70.0 %, with 95 % confidence), where the promise allows 1/2.'
    >>> may_be_luck("It is right about 9 of 10", (0.6, 1.0), Fraction(1, 2))
    ''
    """
    if interval is None or interval[0] > bound:
        return ""
    return f"{of_how_many} ({between(interval)}, with 95 % confidence), where the promise allows {bound}."


def attacked_by(adversary: Any, releases: Sequence[Release], evidence: Evidence) -> "Attack":
    """What an adversary finds, which may be one of another package; ReleaseError where that is no
    finding, or one that cannot be.
    """
    attack = adversary.attack(releases, evidence)
    if not isinstance(attack, Attack):
        wrong = f"finds what is {kind_of(attack)}"
    elif not 0 <= attack.exposed <= attack.persons:
        wrong = f"exposes {attack.exposed} of {attack.persons} persons"
    elif shares := [
        s for s in (attack.success, attack.baseline) if s is not None and not 0 <= s <= 1
    ]:
        wrong = f"is right about {shares[0]} of them, which is no share"
    else:
        return attack
    raise ReleaseError(
        f"the adversary {adversary.name!r} {wrong}; what it says is not shown, and its makers should"
        " know."
    )


@dataclass(frozen=True, kw_only=True)
class Attack:
    """What an adversary concluded, beside what one without the releases would."""

    adversary: str
    knows: str
    """What it knows, in one sentence."""
    persons: int
    """How many persons it attacked."""
    exposed: int
    """Persons for whom it is certain, and right."""
    success: float | None
    """How often it names the right value if it picks one of its candidates at random; None where
    the true values were not given.
    """
    baseline: float | None
    """How often an adversary without the releases would, who always names the most frequent value.
    """
    histogram: Mapping[int, int]
    """Number of candidates left -> number of persons."""
    note: str = ""
    per_person: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False, compare=False)
    """(person, candidates, exposed): private, never part of a report, and not compared."""

    @property
    def sentence(self) -> str:
        """What it found, in one sentence, beside what one without the release would."""
        right = "" if self.success is None else f", and is right about {percent(self.success)}"
        without = (
            ""
            if self.success is None or self.baseline is None
            else f" where {percent(self.baseline)} would be without the release"
        )
        return (
            f"is certain, and right, about {self.exposed} of {self.persons} persons{right}{without}"
        )

    @property
    def by_luck(self) -> str:
        """How many of those whom it takes for certain it is right about, in a sentence, where that
        may be luck by what is promised; empty for an adversary who is never wrong, and for one who
        is right more often.
        """
        return ""

    def tables(self) -> Iterator[Shown]:
        """What it found, as tables of words and figures."""
        yield Shown(
            ["persons", "exposed", "success", "without the release"],
            [[self.persons, self.exposed, share(self.success), share(self.baseline)]],
            range(4),
        )
        yield Shown(["candidates left", "persons"], sorted(self.histogram.items()), (0, 1))

    def binned(self, header: Sequence[str], bins: Sequence[tuple[str, float, float]]) -> Shown:
        """The persons of whom more than one number and up to another are left, the empty bins left
        out; each bin with its name.
        """
        counts = [
            [name, sum(n for left, n in self.histogram.items() if above < left <= upto)]
            for name, above, upto in bins
        ]
        return Shown(header, [row for row in counts if row[1]], (1,))

    def to_json(self) -> dict[str, Any]:
        """Stable keys: adversary, knows, persons, exposed, success, baseline, candidates, note."""
        return {
            "adversary": self.adversary,
            "knows": self.knows,
            "persons": self.persons,
            "exposed": self.exposed,
            "success": _rounded(self.success),
            "baseline": _rounded(self.baseline),
            "candidates": {str(size): persons for size, persons in sorted(self.histogram.items())},
            "note": self.note,
        }


class Adversary(Protocol):
    """A frozen dataclass of what the adversary knows; found by the entry point of its name, in the
    group ``phalanx.adversaries``.

    Fields with ``metadata={"help": ...}`` are options of ``phalanx attack NAME``, under the name
    that ``"option"`` says. It may also have, each a ``ClassVar``: ``asks_for``, of ``original``,
    ``identifier`` and ``ledger`` those that it can be given, each with whether it cannot be played
    without; ``sentences``, by name what it does, where the first paragraph of its docstring does
    not say it; ``variants``, by other names of it the parameters that they stand for, each
    with an entry point of its own; ``played_with``, parameters that it is played with by
    default; ``not_of_one``, what is done instead where a series has one release; ``stands_for``,
    whom it stands for, for the report;
    ``exposes``, what a guarantee must hide so that it is a breach if it is certain of a person,
    ``values`` (of anybody who does not say it), ``records``, or nothing, and ``no_breach``, why it
    is none where no guarantee does; ``knows_method``, whether it replays the method;
    ``takes_values_to_stay``, whether it is about persons who keep their values.
    """

    question: ClassVar[str]
    """Which of the regulator's questions it answers (``phalanx.adversaries.opinion.QUESTIONS``)."""
    looks_at: ClassVar[Looks]
    """One release, a whole series, or two publishers; one that looks at these is played by itself
    alone.
    """

    @property
    def name(self) -> str:
        """The word on the command line, as a subcommand of ``phalanx attack``."""

    @property
    def knows(self) -> str:
        """What it knows, in one sentence."""

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Attack:
        """Attack all persons of a series.

        Parameters
        ----------
        releases : Release | Sequence[Release]
            One release, or those of a series in order.
        evidence : Evidence, optional
            What lies beside the releases; without any, an adversary who needs some refuses.

        Returns
        -------
        Attack
            What it found, and of how many persons it is certain.

        Raises
        ------
        ReleaseError
            Where it lacks what it needs to know.
        """


def percent(share: float) -> str:
    """A share as a sentence has it: two digits that count where it is small.

    >>> percent(0.3333), percent(0.00012)
    ('33.3 %', '0.012 %')
    """
    return (
        f"{share:.1%}".replace("%", " %") if share >= 0.01 or share == 0 else f"{100 * share:.2g} %"
    )


def between(interval: tuple[float, float]) -> str:
    """An interval as a sentence has it.

    >>> between((0.25, 0.5))
    '25.0 to 50.0 %'
    """
    return f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f} %"


def an_adversary(thing: Any) -> Adversary:
    """An adversary; ReleaseError where a name, a class or something else is in its place."""
    if isinstance(thing, type) or not hasattr(thing, "attack"):
        raise ReleaseError(
            f"the adversary is {kind_of(thing)}; give one with its parameters, as in Linkage()."
        )
    adversary: Adversary = thing
    return adversary


def original_of(
    release: Release, evidence: Evidence, without: str, *, persons: bool = False
) -> Microdata:
    """The original table beside a release, where needed with persons; ReleaseError where there is
    none, with what ``without`` it is not known, and how it is laid there.
    """
    microdata = evidence.microdata.get(release.number)
    if microdata is not None and not (persons and microdata.persons is None):
        return microdata
    raise ReleaseError(
        f"release {release.number} has no original table{' with persons' * persons} beside it,"
        f" without which {without}; give it by with_evidence(original=…{', identifier=…' * persons}),"
        " or a series by attack(originals=…)."
    )


def asked(
    releases: Release | Sequence[Release],
    evidence: Evidence | None,
    *,
    of_values: bool = False,
    of_single: str = "",
) -> tuple[list[Release], Evidence]:
    """What an adversary is asked about: one release or several, with what lies beside those that
    were published here where no evidence is given. ``of_values``: without the persons whose
    sensitive value is not applicable, which need not be inferred. ``of_single``: the name of an
    adversary who looks at single values, and at no sets of them.

    ReleaseError where something else is in the place of a release.
    """
    given = [releases] if isinstance(releases, Release) else releases
    if not isinstance(given, Sequence) or not all(hasattr(release, "form") for release in given):
        raise ReleaseError(
            "an adversary attacks releases, and is given something else; give it a list of what"
            " Release.read or publish returned."
        )
    if not isinstance(evidence, Evidence | None):
        raise ReleaseError(
            "what is laid beside the releases is not evidence; give an Evidence, or nothing."
        )
    if of_single:
        _refuse_sets(given, of_single)
    if evidence is None:
        evidence = Evidence.of([getattr(release, "evidence", Evidence()) for release in given])
    return applicable_parts(given, evidence) if of_values else (list(given), evidence)


def _refuse_sets(releases: Sequence[Release], adversary: str) -> None:
    """ReleaseError where a sensitive attribute holds sets: of these it is certain of single values
    while the sets differ.
    """
    for release in releases:
        if any(attribute.type == "set" for attribute in release.form.attribute("sensitive")):
            raise ReleaseError(
                f"the sensitive attribute of release {release.number} holds sets of values, and the"
                f" {adversary} adversary looks at single ones; use 'history', by the ledger."
            )


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 6)


def where_groups_stand(release: Release) -> str:
    """What to name where nothing says who is in which group of a release."""
    if release.manifest.parts:
        return "name its ledger, which knows groups in parts only where persons are followed"
    return "name its ledger"
