# SPDX-License-Identifier: Apache-2.0
"""Counting: who must be in which bucket of a sliced release, for anyone who knows each person's
quasi-identifiers.

A tuple that n persons have is in its matching buckets n times in all, and each value of a column is
in a bucket as often as is published. The worlds are the ways to put persons into buckets so that
all these numbers come out. How often a tuple is in a bucket, on average over all worlds, follows
from them; where a column beside the sensitive attribute's has all other attributes, it is what the
bucket shows. Else to count the worlds is to count three-dimensional tables with given margins,
for which no fast way is known. So it is done in two steps.

1. What must be: bounds of every number, tightened in turns by the margins until nothing changes.
   They are true of every world; a number that is 0 in all of them is known to be.
2. What is likely: the numbers of greatest entropy with these margins, found by scaling those that
   are open in turns (iterative proportional fitting, Deming & Stephan 1940), with strides between
   (Varadhan & Roland 2008). For large numbers they are the average over all worlds; for small ones
   they are near it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
import polars as pl

from phalanx.arrays import Floats, Ints
from phalanx.data.microdata import Microdata
from phalanx.exact import Number, bounded, exact, largest_ratio
from phalanx.guarantees.base import FromFields, Verdict
from phalanx.guarantees.sentences import one_in
from phalanx.guarantees.slicing.guarantee import SlicedDiversity
from phalanx.guarantees.slicing.posterior import matches
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.sliced import View
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.sliced import Sliced

_ROUNDS: Final = 100
"""Turns of tightening at most."""
_TURNS: Final = 1200
"""Turns of scaling at most; fewer of many numbers, but no fewer than ``_ROUNDS``."""
_WORK: Final = 1 << 27
"""So many numbers are scaled in all turns together."""
_NEAR: Final = 1e-6
"""Scaling ends when no margin is further off than this part of it."""
_DENOMINATOR: Final = 10**6
"""What is likely is told to so many parts, rounded up."""
_LEAST: Final = 1e-300
_LARGE: Final = 100.0
"""No stride goes to logarithms beyond."""


@dataclass(frozen=True)
class SlicedCounting(FromFields):
    """No sensitive value is more probable than 1/l for any person of the table to an adversary who
    counts who must be in which bucket; PlanError where l is below 1.

    An adversary who knows each person's quasi-identifiers, and that all of them are in the table.
    Where each bucket keeps the promise by itself, so does every count. Else it is counted for the
    tuples of the original table that match a bucket that does not: bounds are exact, averages are
    estimates, rounded up to a millionth (see the head of this file).
    """

    name: ClassVar[str] = "l-diverse-slicing-counted"
    forms: ClassVar[tuple[str, ...]] = ("sliced",)
    hides: ClassVar[tuple[str, ...]] = ("values",)
    l: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", bounded(self.l, "l", 1))

    def check(
        self,
        release: Release | Sliced,
        earlier: Sequence[Release] = (),
        evidence: Evidence | None = None,
    ) -> list[Verdict]:
        """The largest probability of a value of anybody; an upper bound of it where the buckets
        alone show that the promise is kept.
        """
        bound = 1 / exact(self.l, "l")
        form = Sliced.expect(release.form if isinstance(release, Release) else release)
        view = View.of(form)
        if (
            view.sensitive is None or view.sensitive.of_sets or not len(view.sizes)
        ):  # by each bucket alone, or not at all
            return [
                replace(verdict, name=self.name)
                for verdict in SlicedDiversity(l=self.l).check(release, earlier, evidence)
            ]
        most, _ = largest_ratio(view.sensitive.largest, view.sensitive.sizes)
        if most <= bound:
            return [
                Verdict(
                    name=self.name,
                    bound=bound,
                    worst=most,
                    holds=True,
                    note=f"each of {len(view.sizes)} buckets keeps it by itself, whichever"
                    " persons are in it",
                )
            ]
        microdata = (
            evidence.microdata.get(release.number)
            if evidence is not None and isinstance(release, Release)
            else None
        )
        if microdata is None or microdata.rows != int(view.sizes.sum()):
            note = (
                "some buckets do not keep it by themselves, and who must be in them is seen beside"
                " the original table alone; give that of all published rows"
            )
            return [Verdict(name=self.name, bound=bound, worst=None, holds=False, note=note)]
        counts = _largest(view, view.sensitive, microdata, bound)
        if isinstance(counts, str):
            return [Verdict(name=self.name, bound=bound, worst=None, holds=False, note=counts)]
        largest, tuples, likely, off = counts
        note = f"who must be in which bucket was counted for {tuples} different tuples"
        if likely:
            note += ", and estimated where that is open"
        return [
            Verdict(
                name=self.name,
                bound=bound,
                worst=largest,
                holds=largest <= bound,
                note="; ".join([note, *unsettled(off)]),
            )
        ]

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence; in other words where no attribute is sensitive."""
        if not sensitive:
            return (
                "Since that holds in every bucket, it holds for an adversary who counts who must"
                " be in which bucket (l-diverse slicing, counted)."
            )
        return (
            "An adversary who knows all quasi-identifiers of all persons in the table, and counts"
            " who must be in which bucket, links no person with a sensitive value with a"
            f" probability above {one_in(self.l)}; where buckets lean on each other this"
            " probability is an estimate (l-diverse slicing, counted)."
        )


def _largest(
    view: View, groups: Groups, microdata: Microdata, bound: Fraction
) -> tuple[Fraction, int, bool, float] | str:
    """The largest probability of a value of anybody who matches a bucket above the bound, rounded
    up to a millionth; how many different tuples these are; whether it is an estimate; and by how much
    that is off. Or why there is none: no way to put persons into buckets gives what is published.
    """
    people = pl.DataFrame(view.of_people(microdata, np.arange(microdata.rows)))
    distinct = people.group_by(people.columns, maintain_order=True).len("\0persons")
    tuples, persons = (
        distinct.drop("\0persons").to_numpy().astype(np.int64),
        distinct["\0persons"].to_numpy().astype(np.int64),
    )
    nowhere = np.zeros(0, dtype=np.int64)
    pairs = [(nowhere, nowhere), *((some.tuple, some.bucket) for some in matches(view, tuples))]
    tuple_of, bucket = (np.concatenate(part) for part in zip(*pairs, strict=True))
    if len(np.unique(tuple_of)) < len(tuples):
        return "the original table has rows that match no bucket"
    numbers = counted(view, tuples, persons, tuple_of, bucket)
    if numbers is None:
        return "no way to put the rows of the original table into buckets gives what is published"
    share, likely, off = numbers
    group = np.searchsorted(
        view.cell_bucket * len(view.sides[-1].values) + view.cell_value,
        bucket * len(view.sides[-1].values) + tuples[tuple_of, -1],
    )
    above = groups.largest.astype(np.float64) / groups.sizes > float(bound) * (1 + 1e-12)
    concerned = np.zeros(len(tuples), dtype=bool)
    concerned[tuple_of[above[group]]] = True
    kept = concerned[tuple_of]
    tuple_of, group, share = tuple_of[kept], group[kept], share[kept]
    length = groups.distinct[group]
    cell = (
        np.repeat(groups.starts[group], length)
        + np.arange(int(length.sum()))
        - np.repeat(np.cumsum(length) - length, length)
    )
    owner = np.repeat(tuple_of, length)
    p = pl.DataFrame(
        {
            "t": owner,
            "s": groups.cell_value[cell],
            "p": np.repeat(share / groups.sizes[group], length) * groups.cell_count[cell],
        }
    )
    most = p.group_by("t", "s").agg(pl.col("p").sum())["p"].max()
    largest = (
        Fraction(math.ceil(Fraction(min(most, 1)) * _DENOMINATOR), _DENOMINATOR)
        if isinstance(most, float)
        else Fraction(0)
    )
    return largest, int(concerned.sum()), likely, off


def unsettled(off: float) -> list[str]:
    """That what is likely has not settled, where it has not, and by how much it is off.

    >>> unsettled(0.003)
    ['what is likely did not settle: its numbers are off by up to 0.3 %']
    """
    if off < _NEAR:
        return []
    return [f"what is likely did not settle: its numbers are off by up to {100 * off:.2g} %"]


def counted(
    view: View, tuples: Ints, persons: Ints, tuple_of: Ints, bucket: Ints
) -> tuple[Floats, bool, float] | None:
    """How probable each pair's bucket is for a person with its tuple, by counting; sums to 1 over
    each tuple, shape (p,). Whether some of it is an estimate, and by which part of it some number of
    persons is still off. None where bounds exclude each other, so that there is no world.

    ``tuples`` (t, c), which so many ``persons`` (t,) have; ``tuple_of`` and ``bucket`` (p,): all
    pairs of a tuple and a bucket that it matches.
    """
    margins = [
        (tuple_of, persons),
        *(
            (side.find(bucket, tuples[tuple_of, i])[0], side.count)
            for i, side in enumerate(view.sides)
        ),
    ]
    low, high = bounds(margins)
    if (low > high).any():
        return None
    is_open = low < high
    x = np.where(is_open, 0.0, low)
    rest = []
    for of, total in margins:
        others = np.bincount(of, weights=x, minlength=len(total)).astype(np.float64)
        rest.append((of[is_open], total.astype(np.float64) - others))
    x[is_open], off = likeliest(rest)
    sums = np.bincount(tuple_of, weights=x, minlength=len(persons))
    share = np.divide(x, sums[tuple_of], out=np.zeros(len(x)), where=sums[tuple_of] > 0)
    return np.asarray(share), bool(is_open.any()), off


def likeliest(margins: Sequence[tuple[Ints, Floats]]) -> tuple[Floats, float]:
    """The numbers of greatest entropy with these margins, of which every one may be above 0, shape
    (p,); and by which part of it some margin is off. Numbers that no bound shows to be 0 go there
    as one over the turns, so that every other turn is a stride as long as the last two bend.
    """
    pairs = len(margins[0][0])
    logs, best, least = np.zeros(pairs), np.ones(pairs), math.inf
    for _ in range(max(_ROUNDS, min(_TURNS, _WORK // max(pairs, 1))) // 3 if pairs else 0):
        once, _ = _scaled(logs, margins)
        twice, off = _scaled(once, margins)
        if off < least:
            best, least = np.exp(twice), off
        if off < _NEAR:
            break
        step, bend = once - logs, twice - 2 * once + logs
        by = max(1.0, -float(step @ bend) / max(float(bend @ bend), _LEAST))
        logs, _ = _scaled(np.minimum(logs + by * (2 * step + by * bend), _LARGE), margins)
    return best, least if pairs else 0.0


def _scaled(logs: Floats, margins: Sequence[tuple[Ints, Floats]]) -> tuple[Floats, float]:
    """The logarithms after each margin was met in turn, and by which part of it one was off."""
    x, off = np.exp(logs), 0.0
    for of, total in reversed(margins):  # tuples last, so that these are met
        sums = np.bincount(of, weights=x, minlength=len(total))
        ratio = np.divide(total, sums, out=np.ones(len(total)), where=sums > 0)
        off = max(off, float(np.abs(ratio - 1).max(initial=0.0)))
        x *= ratio[of]
    return np.log(np.maximum(x, _LEAST)), off


def bounds(margins: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """The least and greatest number of each pair that the margins leave open, each of shape (p,),
    tightened in turns, until a least one is above the greatest, as where there is no world;
    ``margins``: what each pair adds to, and the totals.
    """
    pairs = len(margins[0][0])
    low, high = (
        np.zeros(pairs, dtype=np.int64),
        np.min([total[of] for of, total in margins], axis=0),
    )
    for _ in range(_ROUNDS):
        before = low, high
        for of, total in margins:
            lows, highs = (
                np.bincount(of, weights=side, minlength=len(total)).astype(np.int64)
                for side in (low, high)
            )
            low, high = (
                np.maximum(low, (total - highs)[of] + high),
                np.minimum(high, (total - lows)[of] + low),
            )
        if (low > high).any() or (
            np.array_equal(before[0], low) and np.array_equal(before[1], high)
        ):
            break
    return low, high
