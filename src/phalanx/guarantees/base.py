# SPDX-License-Identifier: Apache-2.0
"""What a guarantee is: it states a promise, and checks it from what was published. No code here
comes from the makers of releases.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar, Final, Protocol, runtime_checkable

import polars as pl

from phalanx.exact import plain, rounded
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest

_DIGITS: Final = (4, 6, 9, 17)
"""So many of them are tried until two figures that differ differ as shown."""
_FRACTION: Final = 5
"""A fraction of so many characters is shown as it is, as in ``1/3`` or ``12/35``."""
NONE_ASKED: Final = "none asked"
"""The bound of a figure that is shown, and compared with nothing."""
_LONG: Final = re.compile(r"\b\d+/[1-9]\d*\b")
"""Fractions in a text, such as one for each l."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a check found. ``worst`` is compared with ``bound`` exactly, never with a tolerance."""

    name: str
    """The guarantee, or the part of it that was checked."""
    bound: int | float | Fraction | str
    worst: int | float | Fraction | str | None
    """The worst figure found; None where there was nothing to look at."""
    holds: bool
    note: str = ""
    """What was looked at, and what could not be checked and why."""
    worst_cases: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False, compare=False)
    """The worst cases as rows of published values (groups), never of persons; not compared."""
    less_is_worse: bool = False
    """Whether a smaller figure is worse, where no bound tells."""

    def __post_init__(self) -> None:
        if not isinstance(self.holds, bool) or not isinstance(self.note, str):
            raise TypeError("a verdict holds or not, by True or False, and its note is a text")

    @property
    def result(self) -> str:
        """``holds`` or ``fails``; where nothing was compared, how the note begins (``not checked``,
        ``not covered`` or ``stated``), or ``measured`` where no bound was asked for.
        """
        if self.bound == NONE_ASKED:
            return "measured"
        mark = self.note.partition(":")[0]
        if self.holds and self.worst is None and mark in ("not checked", "not covered", "stated"):
            return mark
        return "holds" if self.holds else "fails"

    @property
    def figures(self) -> tuple[str, str]:
        """``worst`` and ``bound`` as people read them: short fractions exactly, else decimals of
        which worst is shown as worse, if anything, and bound as stricter.

        >>> Verdict(name="t", bound=Fraction(1, 3), worst=Fraction(333331, 1000000), holds=True).figures
        ('0.333331', '1/3')
        """
        worst, bound = _fraction(self.worst), _fraction(self.bound)
        if worst is None or bound is None or worst == bound:
            return _shown(self.worst, up=not self.less_is_worse), _shown(
                self.bound, up=not self.less_is_worse
            )
        below = worst < bound
        more_is_worse = below == self.holds
        for digits in _DIGITS:
            texts = (
                _shown(self.worst, up=more_is_worse, digits=digits),
                _shown(self.bound, up=not more_is_worse, digits=digits),
            )
            if (Fraction(texts[0]) < Fraction(texts[1])) == below and texts[0] != texts[1]:
                break
        return texts

    def to_json(self) -> dict[str, Any]:
        """Stable keys: name, bound, worst, holds, note; fractions as text such as ``"1/2"``."""
        bound, worst = (str(x) if isinstance(x, Fraction) else x for x in (self.bound, self.worst))
        return {
            "name": self.name,
            "bound": bound,
            "worst": worst,
            "holds": None if self.result == "measured" else self.holds,
            "note": self.note,
        }


def _fraction(figure: float | Fraction | str | None) -> Fraction | None:
    """The number that a figure is; None where it is a text, or none."""
    if (
        figure is None
        or isinstance(figure, str)
        or (isinstance(figure, float) and not math.isfinite(figure))
    ):
        return None
    return Fraction(repr(figure)) if isinstance(figure, float) else Fraction(figure)


def _shown(figure: float | Fraction | str | None, *, up: bool, digits: int = _DIGITS[0]) -> str:
    number = _fraction(figure)
    if number is None:
        return (
            ""
            if figure is None
            else _LONG.sub(lambda match: _shown(Fraction(match[0]), up=up), str(figure))
        )
    if number.denominator == 1:
        return str(number.numerator)
    text = str(number)
    return (
        text
        if isinstance(figure, Fraction) and len(text) <= _FRACTION
        else rounded(number, up=up, digits=digits)
    )


def without_rows(name: str, bound: float | Fraction) -> Verdict:
    """The verdict on a table without rows, in which no person is."""
    return Verdict(name=name, bound=bound, worst=None, holds=True, note="the table has no rows")


class Guarantee(Protocol):
    """A frozen dataclass of the promise's parameters; found by the entry point of its name, in the
    group ``phalanx.guarantees``.

    It may be ``Followed``, ``Worded``, ``Limited`` and ``Graded`` too. ``variants``, where it has
    some, are other names of it, each with the parameters that it stands for; each needs an entry
    point of its own.
    ``hides``: what it says that no adversary is certain of, of ``records`` (whose is which) and
    ``values``; ``of_values``: whether it is about sensitive values, as one that hides them is, so
    that it is checked without the persons whose value is not applicable; ``of_each_group``: whether it is
    about every group by itself, so that a release in parts is checked part by part; ``counts_parts``:
    whether each of these may be laid beside the original table by itself; ``of_each_person``:
    whether it is about every person by themselves, so that this is done where persons stay in their parts;
    ``over_series``: whether
    its promise is about all releases together; ``no_breach(public, manifest)``: why what is certain
    is no breach of it all the same, empty where it is one; ``not_of_lasting(public)``: the same of what
    follows if values stay with their persons. A field whose metadata have a ``help``
    text can be asked of anybody's table, of which ``check`` looks at no more than ``Groups.of``
    does: it is an option of ``phalanx verify``, and an argument of ``verify_table``.
    """

    name: ClassVar[str]
    forms: ClassVar[tuple[str, ...]]
    """The kinds of releases that the promise is about."""

    def check(
        self, release: Release, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """Check a release, with the series before it and whatever evidence there is; one verdict
        per part of the promise.
        """

    def parameters(self) -> dict[str, Any]:
        """Name and parameters, as the manifest shows them."""


def is_of_each_person(guarantee: Guarantee) -> bool:
    """Whether a guarantee is about every person by themselves."""
    return bool(getattr(guarantee, "of_each_person", False))


class FromFields:
    """What guarantees have whose fields are all that the manifest shows of them."""

    name: ClassVar[str]

    def parameters(self) -> dict[str, Any]:
        """Name and parameters, as the manifest shows them."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return {"name": self.name} | {
            key: value if isinstance(value, str) else plain(value) for key, value in values.items()
        }


@runtime_checkable
class Followed(Protocol):
    """A guarantee over a series that is checked release by release in one pass, so that a check of
    all releases takes as long as they are.
    """

    def check_each(
        self, releases: Sequence[Release], evidence: Evidence | None = None
    ) -> Iterator[list[Verdict]]:
        """For each release of a series, in order, what ``check`` finds of it and those before it."""


@runtime_checkable
class Worded(Protocol):
    """A guarantee that has a sentence for the report; of any other one, name and parameters are
    shown.
    """

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence; ``sensitive``: whether the release names a sensitive
        attribute.
        """


@runtime_checkable
class Limited(Protocol):
    """A guarantee that says in the report what it leaves out."""

    def limits(
        self,
        manifest: Manifest,
        earlier: Sequence[Manifest] = (),
        *,
        reidentified: float | None = None,
    ) -> Iterator[tuple[str, str]]:
        """What anyone who hands out this release must know, as (headline, sentence).

        ``earlier`` are the manifests of the releases before it; ``reidentified`` is the share of
        persons whose row the adversary names who names most, where that was measured.
        """


@runtime_checkable
class Graded(Protocol):
    """A guarantee that knows how much it promises; of any other one, parameters are compared by
    what their names mean everywhere (``strength``).
    """

    def promises_nothing(self) -> str:
        """Why every table keeps this promise; empty where not every one does."""

    def weaker_than(self, before: Any) -> Iterator[str]:
        """What this promises less than ``before``, a guarantee of the same class; nothing where it
        promises as much, or more.
        """
