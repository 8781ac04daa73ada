# SPDX-License-Identifier: Apache-2.0
"""The verdicts on the parts of a release, merged into those on all of it: the worst figure counts,
and all must hold.

A part is checked as a release by itself. That is a check of the whole release for what is about
every group by itself, because a group stands in one part alone, which is looked at here. What a lie
about parts could hide is asked of all of them together: an order that few rows do not show, and an
order of the parts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite

import polars as pl

from phalanx.guarantees import stated
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.consistency.check import NAME
from phalanx.guarantees.consistency.order import InParts, PartOrder
from phalanx.guarantees.consistency.recoded import first_and_last, part_faults
from phalanx.release.forms.recoded import Recoded
from phalanx.release.part import Part


@dataclass(frozen=True)
class Found:
    """What was found of one part by itself: figures, and the values, types and ends that are compared
    with those of other parts.
    """

    at: int
    verdicts: Sequence[Verdict]
    order: PartOrder | None
    """None where the part contradicts itself."""
    values: frozenset[str]
    types: pl.Schema
    ends: pl.DataFrame | None = None
    """The first and the last row of a part whose rows stand in the order of what they say."""

    @classmethod
    def of(cls, part: Part, verdicts: Sequence[Verdict], prefix: str = "") -> "Found":
        """Sum up what was found.

        Parameters
        ----------
        part : Part
            The part.
        verdicts : Sequence[Verdict]
            What was found of it by itself.
        prefix : str, optional
            Of the verdicts' names.

        Returns
        -------
        Found
            The verdicts with the numbers that groups have in the release, and what else is asked
            of all parts together.
        """
        sound = any(v.name == prefix + NAME and v.holds for v in verdicts)
        strangers = list(_strangers(part))
        return cls(
            part.at,
            [
                _among_all(with_faults(v, strangers) if v.name == prefix + NAME else v, part.before)
                for v in verdicts
            ],
            PartOrder.of(part.form) if sound and not isinstance(part.form, Recoded) else None,
            stated.sensitive_values(part.form),
            part.form.table.schema,
            first_and_last(part.form) if sound and isinstance(part.form, Recoded) else None,
        )


class Worst:
    """The worst verdict of each name, over the parts of one release."""

    def __init__(self) -> None:
        self._worst: dict[str, tuple[Verdict, int]] = {}
        self._differ: set[str] = set()

    def add(self, verdicts: Sequence[Verdict], at: int) -> None:
        """Take in what was found of a further part.

        Parameters
        ----------
        verdicts : Sequence[Verdict]
            Of the part by itself.
        at : int
            Which part it is, from 0.
        """
        for verdict in verdicts:
            worst = self._worst.get(verdict.name)
            if worst is not None and worst[0].note != verdict.note:
                self._differ.add(verdict.name)
            if worst is None or _is_worse(verdict, worst[0]):
                self._worst[verdict.name] = (verdict, at)

    def verdicts(self, parts: int) -> list[Verdict]:
        """The worst ones.

        Parameters
        ----------
        parts : int
            How many there are.

        Returns
        -------
        list[Verdict]
            One of each name, whose note says in which part it was found.
        """
        return [
            replace(
                verdict,
                note=f"{verdict.note} (in part {at + 1} of {parts}, the worst)"
                if name in self._differ
                else f"{verdict.note} (in each of {parts} parts)",
            )
            for name, (verdict, at) in self._worst.items()
        ]


class Merged:
    """What was found of the parts of one release, in their order; ``prefix``: of verdicts' names."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._worst = Worst()
        self._order = InParts()
        self._values: set[str] = set()
        self._types: list[pl.Schema] = []
        self._ends: list[pl.DataFrame] = []

    def add(self, part: Found) -> None:
        """Take what was found of a further part in.

        Parameters
        ----------
        part : Found
            What was found of it by itself.
        """
        self._worst.add(part.verdicts, part.at)
        if part.order is not None:
            self._order.add(part.order)
        self._values |= part.values
        self._types.append(part.types)
        if part.ends is not None:
            self._ends.append(part.ends)

    def verdicts(self) -> list[Verdict]:
        """What was found of the whole release.

        Returns
        -------
        list[Verdict]
            One of each name, the worst.
        """
        alike = self.prefix + stated.ALIKE
        merged = [v for v in self._worst.verdicts(len(self._types)) if v.name != alike]
        among = [*self._order.faults(), *part_faults(self._ends)]
        if any(types != self._types[0] for types in self._types):
            among.append("its parts have columns of different types")
        consistency = self.prefix + NAME
        of_all = [replace(v, name=self.prefix + v.name) for v in stated.alike(self._values)]
        return [*(with_faults(v, among) if v.name == consistency else v for v in merged), *of_all]


def with_faults(verdict: Verdict, faults: Sequence[str]) -> Verdict:
    """The verdict of consistency with further faults."""
    if not faults:
        return verdict
    note = "; ".join(faults) + (f"; {verdict.note}" if not verdict.holds else "")
    cases = pl.DataFrame({"fault": pl.Series(faults, dtype=pl.String)})
    return replace(
        verdict,
        worst=len(faults) + (verdict.worst if isinstance(verdict.worst, int) else 0),
        holds=False,
        note=note,
        worst_cases=pl.concat([cases, verdict.worst_cases]),
    )


def _strangers(part: Part) -> Iterator[str]:
    """Rows of a part whose groups are not its own, so that a group may stand in several parts; boxes
    of a partition, of which no part shows whether they overlap.
    """
    if isinstance(part.form, Recoded) and part.form.scheme.get("chosen") == "partition":
        yield "the scheme is a partition, which is published in one piece"
    name = part.form.id_column
    for table in part.form.tables().values():
        if name in table.columns and table[name].dtype.is_integer():
            numbers = table[name]
            # of too few bits for what they should be
            if numbers.dtype not in (pl.Int64, pl.UInt64):
                numbers = numbers.cast(pl.Int64)
            outside = ((numbers < 1) | (numbers > part.manifest.groups)).sum()
            if outside:
                yield (
                    f"part {part.at + 1} has {outside} row(s) of {part.form.group_word}s that are"
                    " numbered as another part's, and a group stands in one part alone"
                )


def _among_all(verdict: Verdict, before: int) -> Verdict:
    """The worst cases of a part with the numbers that their groups have in the release."""
    cases = verdict.worst_cases
    if not before or "group" not in cases.columns or not cases["group"].dtype.is_integer():
        return verdict
    return replace(verdict, worst_cases=cases.with_columns(pl.col("group") + before))


def _is_worse(one: Verdict, other: Verdict) -> bool:
    """Whether a verdict says worse of its part than another of the same name: it fails, or it is
    further beyond the bound, or nearer to it.
    """
    if one.holds != other.holds:
        return not one.holds
    mine, theirs = _from_bound(one), _from_bound(other)
    if mine is None or theirs is None:
        return theirs is None and mine is not None
    return mine < theirs if one.holds else mine > theirs


def _from_bound(verdict: Verdict) -> Fraction | None:
    """How far the figure is from the bound; None where they are no numbers."""
    worst, bound = verdict.worst, verdict.bound
    if isinstance(worst, str | None) or isinstance(bound, str):
        return None
    if not (isfinite(worst) and isfinite(bound)):
        return None
    return abs(Fraction(worst) - Fraction(bound))
