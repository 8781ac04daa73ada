# SPDX-License-Identifier: Apache-2.0
"""What a sliced release promises about p(t, s), the probability of each sensitive value of a tuple
over all buckets that it matches.

Every promise here asks for something that holds of a mixture of distributions whenever it holds of
each (a convex condition). p(t, .) is a mixture of the distributions that t's matching buckets have
among tuples with t's quasi-identifiers of the sensitive column. So where each of these meets the
condition, every tuple does, whichever persons may be in the table; this is seen from the files in
one pass. Where one does not, the tuples that match it are looked at one by one: those of the
original table, where it is given, else all candidates that the files leave open, fake ones among
them.

Of a release in parts it is enough that each part keeps the promise by itself. A tuple that matches
buckets of several parts stands in each of these as a candidate, and its p(t, .) is a mixture of what
they give it, weighed by shares or by rows; so what each meets, all together meet. Closeness alone is
asked of the whole release, since what it compares with is the whole table's distribution.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from operator import ge, gt, le
from typing import ClassVar, Final

import numpy as np
import polars as pl

from phalanx.arrays import Floats, Ints
from phalanx.errors import PlanError, ReleaseError
from phalanx.exact import Number, bounded, exact, largest_ratio, plain, whole
from phalanx.guarantees.base import FromFields, Verdict
from phalanx.guarantees.l_diversity import nothing_to_check, recursive_ratio
from phalanx.guarantees.sentences import one_in, ordinal
from phalanx.guarantees.slicing.one_by_one import (
    Sources,
    kept_by_buckets,
    one_by_one,
)
from phalanx.guarantees.slicing.posterior import (
    Distribution,
    Figure,
    Rough,
    largest,
    roughly,
    worst,
)
from phalanx.guarantees.t_closeness import domain_places, farthest
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.sliced import View
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.sliced import BUCKET, COUNT, Sliced

_ENTRIES: Final = 1 << 22
"""Entries of a table of tuples and sensitive values that is held at once."""
_ROUNDING: Final = 1e-9
"""More than rounding costs a distance."""


@dataclass(frozen=True)
class SlicedDiversity(FromFields):
    """p(t, s) is at most 1/l for every tuple t and sensitive value s (l-diverse slicing); PlanError
    where l is below 1.

    Where no attribute is sensitive, every column is taken for one: in no bucket has a value of any
    column more than 1/l of the tuples, of those that agree on the attributes that it shares with
    other columns, so that an adversary who knows all other columns of a tuple links no value with
    more than 1/l.

    Source: Li, Li, Zhang, Molloy, section 3.2. The paper's algorithm rejects p = 1/l, its
    definition and example allow it: so do we. The paper looks at the tuples of the table alone; so
    do we where it is given, and at all that may be in it where it is not.
    """

    name: ClassVar[str] = "l-diverse-slicing"
    forms: ClassVar[tuple[str, ...]] = ("sliced",)
    hides: ClassVar[tuple[str, ...]] = ("values",)
    of_each_group: ClassVar[bool] = True
    l: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", bounded(self.l, "l", 1))

    def check(
        self, release: Sources, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The largest p(t, s), a fraction; an upper bound of it where the buckets alone show that
        the promise is kept.
        """
        form, bound = _form(release), 1 / exact(self.l, "l")
        view = View.of(form)
        if view.sensitive is None and len(view.sizes):
            return [self._every_column(view, form, bound)]
        if early := nothing_to_check(view.sensitive, self.name, bound):
            return early
        groups: Groups = view.sensitive  # type: ignore[assignment]
        most, where = largest_ratio(groups.largest, groups.sizes)
        if most <= bound:
            return [kept_by_buckets(self.name, bound, most, view, where)]
        l = exact(self.l, "l")
        bad = _times(groups.largest, l.numerator) > _times(groups.sizes, l.denominator)

        def search(tuples: Ints) -> tuple[Figure, int]:
            return largest(view, tuples)[:2]

        return [
            one_by_one(
                self.name, bound, release, view, bad, search, evidence, holds=partial(ge, bound)
            )
        ]

    def _every_column(self, view: View, form: Sliced, bound: Fraction) -> Verdict:
        by_name = {a.name: a for a in form.attributes}
        shares = []
        for i, part in enumerate(form.parts):
            elsewhere = {name for j, column in enumerate(form.columns) if j != i for name in column}
            shared = [
                c for name in form.columns[i] if name in elsewhere for c in by_name[name].columns
            ]
            counts = part.select(COUNT, pl.col(COUNT).sum().over(BUCKET, *shared).alias("agreeing"))
            share, _ = largest_ratio(
                counts[COUNT].to_numpy(), counts["agreeing"].to_numpy().astype(np.int64)
            )
            shares.append(share)
        most = max(shares)
        worst = form.columns[shares.index(most)]
        note = (
            f"no attribute is sensitive, so every column is taken for one; {len(view.sizes)}"
            f" buckets, the worst in column {', '.join(worst)}"
        )
        return Verdict(name=self.name, bound=bound, worst=most, holds=most <= bound, note=note)

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence; in other words where no attribute is sensitive."""
        share = one_in(self.l)
        if not sensitive:
            return (
                "No attribute is named as sensitive, so every column is treated as if it were: in"
                f" no bucket do more than {share} of the persons have the same in a column. An"
                " adversary who knows what a person in the table has in all other columns links"
                f" them with nothing in that one with a probability above {share} (l-diverse"
                " slicing)."
            )
        return (
            "An adversary who knows all quasi-identifiers of a person in the table links them with"
            f" no sensitive value with a probability above {share}, over all buckets that this"
            " person may be in, each bucket being as likely as the other, or each row (l-diverse"
            " slicing)."
        )


@dataclass(frozen=True)
class SlicedDistinct(FromFields):
    """At least l sensitive values have p(t, s) above 0, for every tuple t that may be in the table;
    PlanError where l is no whole number from 1.

    Distinct l-diversity asked of p(t, s): weak by itself, as one of the values may have nearly all
    of p(t, .). It is what the experiments of Li, Li, Zhang, Molloy (section 6) must have asked for:
    their l = 10 cannot be a bound of 1/10 where one occupation of 14 has 13 % of the rows.
    """

    name: ClassVar[str] = "distinct-l-diverse-slicing"
    forms: ClassVar[tuple[str, ...]] = ("sliced",)
    hides: ClassVar[tuple[str, ...]] = ("values",)
    of_each_group: ClassVar[bool] = True
    l: int

    def __post_init__(self) -> None:
        whole(self.l, "l")

    def check(
        self, release: Sources, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The fewest values of a tuple; a lower bound of it where the buckets alone show that the
        promise is kept.
        """
        view = View.of(_form(release))
        if early := nothing_to_check(view.sensitive, self.name, Fraction(self.l)):
            return early
        groups: Groups = view.sensitive  # type: ignore[assignment]
        where = int(np.argmin(groups.distinct))
        fewest = Fraction(int(groups.distinct[where]))
        if fewest >= self.l:
            return [kept_by_buckets(self.name, Fraction(self.l), fewest, view, where)]
        bad = groups.distinct < self.l

        def search(tuples: Ints) -> tuple[Figure, int]:
            largest: tuple[Figure, int] = math.inf, -1
            for some in roughly(
                view, tuples, "shares"
            ):  # which values there are is exact, and the same by rows
                distinct = np.bincount(some.owner)
                if distinct.min() < largest[0]:
                    largest = Fraction(int(distinct.min())), int(some.tuples[np.argmin(distinct)])
            return largest

        return [
            one_by_one(
                self.name,
                Fraction(self.l),
                release,
                view,
                bad,
                search,
                evidence,
                holds=partial(le, Fraction(self.l)),
            )
        ]

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence."""
        return (
            "An adversary who knows all quasi-identifiers of a person in the table is left with at"
            f" least {self.l} sensitive values that may be theirs, over all buckets that this"
            " person may be in; one of these may be far more probable than the others (distinct"
            " l-diverse slicing)."
        )


@dataclass(frozen=True)
class SlicedRecursive(FromFields):
    """For every tuple t, with p(t, .) in falling order, ``p_1 < c (p_l + p_(l+1) + ...)``;
    PlanError where c is not above 0 or l is no whole number from 1.

    Recursive (c, l)-diversity of Machanavajjhala et al., asked of p(t, s) as Li, Li, Zhang, Molloy
    (section 3.2) say it may be.
    """

    name: ClassVar[str] = "recursive-l-diverse-slicing"
    forms: ClassVar[tuple[str, ...]] = ("sliced",)
    hides: ClassVar[tuple[str, ...]] = ("values",)
    of_each_group: ClassVar[bool] = True
    c: Number
    l: int

    def __post_init__(self) -> None:
        if bounded(self.c, "c", 0) == 0:
            raise PlanError("c = 0 is met by no table; give a number above 0.")
        object.__setattr__(self, "c", bounded(self.c, "c", 0))
        whole(self.l, "l")

    def check(
        self, release: Sources, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The largest ``p_1 / (p_l + ...)``, which must stay below c."""
        view, bound = View.of(_form(release)), exact(self.c, "c")
        if early := nothing_to_check(view.sensitive, self.name, bound):
            return early
        groups: Groups = view.sensitive  # type: ignore[assignment]
        ratio, where = recursive_ratio(groups, self.l)
        if ratio is not None and ratio < bound:
            return [kept_by_buckets(self.name, bound, ratio, view, where)]
        tail = self._tail(
            groups.cell_group, groups.cell_count.astype(np.float64), len(groups)
        ).astype(np.int64)  # counts below 2**53 are exact
        bad = _times(groups.largest, bound.denominator) >= _times(tail, bound.numerator)

        def search(tuples: Ints) -> tuple[Figure, int]:
            return worst(view, tuples, self._rough, self._ratio)[:2]

        return [
            one_by_one(
                self.name, bound, release, view, bad, search, evidence, holds=partial(gt, bound)
            )
        ]

    def _tail(self, owner: Ints, shares: Floats, owners: int) -> Floats:
        """Of each owner of shares, ascending, the sum of the l-th largest share and all smaller
        ones.
        """
        order = np.lexsort((-shares, owner))
        rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
        return np.bincount(
            owner, weights=shares[order] * (rank >= self.l - 1), minlength=owners
        ).astype(np.float64)

    def _rough(self, some: Rough) -> Floats:
        tail = self._tail(some.owner, some.p, len(some.tuples))
        with np.errstate(divide="ignore", over="ignore"):  # without a tail it is infinite
            return some.largest / tail

    def _ratio(self, p: Distribution) -> Figure:
        falling = sorted(p.shares, reverse=True)
        tail = sum(falling[self.l - 1 :], Fraction(0))
        return falling[0] / tail if tail else math.inf

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence."""
        return (
            "For an adversary who knows all quasi-identifiers of a person in the table, the most"
            " probable sensitive value, over all buckets that this person may be in, is less than"
            f" {plain(self.c)} times as probable as the {ordinal(self.l)} most probable and all"
            " less probable ones together (recursive (c,l)-diverse slicing)."
        )


@dataclass(frozen=True)
class SlicedCloseness(FromFields):
    """For every tuple t, the distance between p(t, .) and the table's distribution of the sensitive
    attribute is at most t; PlanError where t is not in [0, 1].

    t-closeness of Li, Li, Venkatasubramanian, asked of p(t, s) as Li, Li, Zhang, Molloy (section
    3.2) say it may be. ``equal``: all values are 1 apart; ``ordered``: by their places in order,
    scaled to 1.
    """

    name: ClassVar[str] = "t-close-slicing"
    forms: ClassVar[tuple[str, ...]] = ("sliced",)
    of_values: ClassVar[bool] = True
    t: Number
    distance: str = "equal"

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", bounded(self.t, "t", 0, 1))
        if self.distance not in ("equal", "ordered"):
            raise PlanError(f"distance must be equal or ordered, and is {self.distance!r}.")

    def check(
        self, release: Sources, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The largest distance of some p(t, .), a fraction."""
        view, bound = View.of(_form(release)), exact(self.t, "t")
        if early := nothing_to_check(view.sensitive, self.name, bound):
            return early
        groups: Groups = view.sensitive  # type: ignore[assignment]
        try:  # of a hierarchy that does not fit
            most, where = farthest(groups, "ordered" if self.distance == "ordered" else "equal")
            length, place = self._places(groups)
        except ReleaseError as error:
            return [Verdict(name=self.name, bound=bound, worst=None, holds=False, note=str(error))]
        if most <= bound:
            return [kept_by_buckets(self.name, bound, most, view, where)]
        table = [Fraction(int(n), groups.rows) for n in groups.totals]
        rough = partial(self._rough, table=groups.totals / groups.rows, place=place, length=length)
        figures = rough(
            Rough(
                np.arange(len(groups)),
                groups.cell_group,
                groups.cell_value,
                groups.cell_count / groups.sizes[groups.cell_group],
            )
        )
        bad = figures > float(bound)
        for g in np.flatnonzero(np.abs(figures - float(bound)) <= _ROUNDING).tolist():
            bad[g] = self._distance(_of_group(groups, g), table, place, length) > bound

        def search(tuples: Ints) -> tuple[Figure, int]:
            return worst(view, tuples, rough, lambda p: self._distance(p, table, place, length))[:2]

        return [
            one_by_one(
                self.name, bound, release, view, bad, search, evidence, holds=partial(ge, bound)
            )
        ]

    def _places(self, groups: Groups) -> tuple[int, Ints]:
        """How many values there are, and the place of each published one; in order, and with all
        declared leaves, where that counts.
        """
        if self.distance == "equal":
            return len(groups.totals), np.arange(len(groups.totals))
        domain, place = domain_places(groups)
        return len(domain), place

    def _rough(self, some: Rough, *, table: Floats, place: Ints, length: int) -> Floats:
        if self.distance == "equal":
            return (
                some.summed(np.abs(some.p - table[some.value])) + 1 - some.summed(table[some.value])
            ) / 2
        distances = np.zeros(len(some.tuples))
        of_table = np.bincount(place, weights=table, minlength=length)
        step = max(1, _ENTRIES // length)
        for start in range(0, len(distances), step):
            entries = slice(*np.searchsorted(some.owner, [start, start + step]))
            apart: Floats = np.tile(-of_table, (min(step, len(distances) - start), 1))
            apart[some.owner[entries] - start, place[some.value[entries]]] += some.p[entries]
            distances[start : start + step] = np.abs(np.cumsum(apart, axis=1)).sum(axis=1)
        return distances / max(1, length - 1)

    def _distance(
        self, p: Distribution, table: Sequence[Fraction], place: Ints, length: int
    ) -> Fraction:
        apart = [
            Fraction(0)
        ] * length  # a declared leaf that no person has lies between others all the same
        for v, share in enumerate(table):
            apart[int(place[v])] -= share
        for v, share in zip(p.values, p.shares, strict=True):
            apart[int(place[v])] += share
        if self.distance == "equal":
            return sum(map(abs, apart), Fraction(0)) / 2
        total, carried = Fraction(0), Fraction(0)
        for step in apart:
            carried += step
            total += abs(carried)
        return total / max(1, length - 1)

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence."""
        return (
            "For an adversary who knows all quasi-identifiers of a person in the table, the"
            " sensitive values, over all buckets that this person may be in, are as probable as"
            f" they are frequent in the whole table, up to a distance of {plain(self.t)}"
            f" ({self.distance} distance; t-close slicing)."
        )


def _form(release: Sources) -> Sliced:
    return Sliced.expect(release.form if isinstance(release, Release) else release)


def _times(numbers: Ints, factor: int) -> np.ndarray:
    """The products, as Python integers where 64 bits do not hold them."""
    return (
        numbers * factor
        if factor * int(numbers.max(initial=1)) < 2**63
        else numbers.astype(object) * factor
    )


def _of_group(groups: Groups, g: int) -> Distribution:
    first = int(groups.starts[g])
    cells = range(first, first + int(groups.distinct[g]))
    return Distribution(
        [int(groups.cell_value[c]) for c in cells],
        [Fraction(int(groups.cell_count[c]), int(groups.sizes[g])) for c in cells],
    )
