# SPDX-License-Identifier: Apache-2.0
"""What a group must keep, whichever method makes it: validated once, and turned into a kernel's
rule once.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, get_args

import numpy as np

from phalanx.arrays import Codes, Ints
from phalanx.data.column import Column
from phalanx.errors import MethodError, NotEligible, PlanError, SchemaError, lower_to
from phalanx.exact import Number, bounded, exact, whole
from phalanx.guarantees.base import Guarantee
from phalanx.guarantees.households import HouseholdAnonymity, HouseholdDiversity
from phalanx.guarantees.k_anonymity import KAnonymity
from phalanx.guarantees.l_diversity import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    RecursiveDiversity,
)
from phalanx.guarantees.t_closeness import Closeness
from phalanx.kernels import rule as kernel
from phalanx.kernels.rule import Asked, Rule
from phalanx.methods.base import check_word

Diversity = Literal["frequency", "distinct", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]

_LARGEST: Final = 2**30
"""Fractions whose parts are larger do not fit the kernel; they are tightened to ones that do."""
_KINDS: Final[Mapping[str, int]] = {
    "frequency": kernel.FREQUENCY,
    "distinct": kernel.DISTINCT,
    "entropy": kernel.ENTROPY,
    "recursive": kernel.RECURSIVE,
}


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """What a group must keep: its least size, and the diversity and closeness of its sensitive
    values. Raises PlanError for parameters that cannot be met by any table.

    >>> Requirement(k=2, l="5/2").about_sensitive
    True
    """

    k: int = 1
    """The least size."""
    l: Number | None = None
    """Diversity; a whole number for ``distinct`` and ``recursive``."""
    diversity: Diversity = "frequency"
    c: Number | None = None
    """Recursive diversity: the most frequent value stays below c times the sum of the l-th most
    frequent and all rarer ones.
    """
    t: Number | None = None
    """Closeness: the greatest distance from the table's distribution, from 0 to 1."""
    distance: Distance = "equal"

    def __post_init__(self) -> None:
        whole(self.k, "[method] k")
        check_word("diversity", self.diversity, get_args(Diversity))
        check_word("distance", self.distance, get_args(Distance))
        if self.l is None and self.diversity != "frequency":
            raise PlanError(f"[method] diversity = {self.diversity!r} needs l; add it.")
        if (
            self.l is not None
            and bounded(self.l, "[method] l", 1).denominator != 1
            and self.diversity in ("distinct", "recursive")
        ):
            raise PlanError(
                f"[method] l = {self.l} is not a whole number, and diversity = {self.diversity!r}"
                " counts values; round it up."
            )
        if (self.c is None) == (self.diversity == "recursive"):
            raise PlanError(
                "[method] c belongs to diversity = 'recursive', which needs both c and l; give both"
                " or neither."
            )
        if self.c is not None and bounded(self.c, "[method] c", 0) == 0:
            raise PlanError("[method] c = 0 is met by no group; give a number above 0.")
        if self.t is not None:
            bounded(self.t, "[method] t", 0, 1)
        elif self.distance != "equal":
            raise PlanError(f"[method] distance = {self.distance!r} needs t; add it.")

    @property
    def about_sensitive(self) -> bool:
        """Whether it is about sensitive values."""
        return self.l is not None or self.t is not None

    @property
    def guarantees(self) -> list[Guarantee]:
        """What groups that keep it guarantee."""
        promised: list[Guarantee] = []
        if self.k > 1 or not self.about_sensitive:
            promised.append(KAnonymity(k=self.k))
        if self.l is not None:
            l = exact(self.l, "l")
            if self.diversity == "frequency":
                promised.append(FrequencyDiversity(l=l))
            elif self.diversity == "entropy":
                promised.append(EntropyDiversity(l=l))
            elif self.diversity == "distinct":
                promised.append(DistinctDiversity(l=int(l)))
            elif self.c is not None:
                promised.append(RecursiveDiversity(c=exact(self.c, "c"), l=int(l)))
        if self.t is not None:
            promised.append(Closeness(t=exact(self.t, "t"), distance=self.distance))
        return promised

    @property
    def of_households(self) -> list[Guarantee]:
        """What groups of households guarantee beside, whose rows count as one."""
        promised: list[Guarantee] = []
        if self.k > 1:
            promised.append(HouseholdAnonymity(k=self.k))
        if self.l is not None:
            promised.append(HouseholdDiversity(l=self.l))
        return promised

    def on(self, rows: int, sensitive: Column | None) -> Asked:
        """The requirement as kernels take it, on a table of so many ``rows``; a fraction that does
        not fit is tightened, never loosened. MethodError where there are fewer than k rows, or too
        many for exact closeness; SchemaError where a distance needs a hierarchy.
        """
        rule, values = kernel.of_size(self.k)._replace(rows=rows), np.empty(0, dtype=np.int32)
        if sensitive is not None:
            rule = self._diverse(rule)
            present = np.flatnonzero(np.bincount(sensitive.codes, minlength=len(sensitive.domain)))
            values, m = self._numbered(sensitive, present)
            rule = self._close(rule, sensitive, present, np.bincount(values, minlength=m))
        if rows < self.k:
            raise MethodError(
                f"the table has {rows} row(s) and a group needs k = {self.k}; lower k, or publish"
                " when there are more rows."
            )
        return Asked(values, rule)

    def _diverse(self, rule: Rule) -> Rule:
        """With l and c."""
        if self.l is not None:
            l = _above(min(exact(self.l, "l"), Fraction(rule.rows + 1)))
            k = max(self.k, math.ceil(l))  # fewer rows are never diverse
            rule = rule._replace(
                k=k,
                diversity=_KINDS[self.diversity],
                l_num=l.numerator,
                l_den=l.denominator,
                log_l=math.log(l),
            )
        if self.c is not None:
            c = _below(min(exact(self.c, "c"), Fraction(rule.rows + 1)))
            rule = rule._replace(c_num=c.numerator, c_den=c.denominator)
        return rule

    def _numbered(self, sensitive: Column, present: Ints) -> tuple[Codes, int]:
        """The place of each row's value among the values that the distance is about, and the number
        of those.

        The ordered distance counts all declared leaves where there is a hierarchy, used or not;
        else a value is one that the table holds.
        """
        place_of = np.zeros(len(sensitive.domain), dtype=np.int32)
        values, hierarchy = sensitive.domain.values.gather(present), sensitive.domain.hierarchy
        if self.distance != "ordered" or hierarchy is None:
            place_of[present] = np.arange(len(present))
            return place_of[sensitive.codes], len(present)
        leaves = hierarchy.leaves(values.drop_nulls()).cast(values.dtype)
        missing = values.null_count()
        leaf = {value: place for place, value in enumerate(leaves.to_list(), missing)}
        place_of[present] = [leaf.get(value, 0) for value in values.to_list()]
        return place_of[sensitive.codes], missing + len(leaves)

    def _close(self, rule: Rule, sensitive: Column, present: Ints, totals: Ints) -> Rule:
        """With t, and with how often the table has each value."""
        totals = totals.astype(np.int64)
        nodes = np.arange(len(totals), dtype=np.int32)[None, :]
        if self.t is not None:
            t = _below(exact(self.t, "t"))
            distance = kernel.ORDERED if self.distance == "ordered" else kernel.TREE
            rule = rule._replace(distance=distance, t_num=t.numerator, t_den=t.denominator)
            if self.distance == "hierarchical":
                nodes = _levels(sensitive, present)
            if rule.rows >= 2**31:
                raise MethodError(
                    f"the table has {rule.rows} rows, and closeness is decided exactly for fewer than"
                    f" {2**31}; publish fewer rows."
                )
        node_totals = np.zeros(nodes.shape, dtype=np.int64)
        for level, above in enumerate(nodes):
            np.add.at(node_totals[level], above, totals)
        return rule._replace(
            totals=totals, nodes=nodes, node_totals=node_totals, sums=kernel.sums_of(totals)
        )

    def not_eligible(self, rule: Rule, of: str | None) -> NotEligible:
        """By how much the whole table fails, and the ways out; ``of`` names the sensitive
        attribute.
        """
        counts = np.sort(rule.totals[rule.totals > 0])[::-1]
        n, most, distinct = int(counts.sum()), int(counts[0]), len(counts)
        out = "or make the values coarser at the source."
        if distinct == 1:
            return NotEligible(
                f"column {of!r} has one value in all {n} rows, which no l above 1 can hide; name"
                " another sensitive attribute, or drop it."
            )
        if self.diversity == "distinct" or exact(self.l or 1, "l") > distinct:
            return NotEligible(
                f"column {of!r} has {distinct} distinct value(s) and l = {self.l} asks for at least"
                f" as many in every group; {lower_to('l', distinct)}{out}"
            )
        if self.diversity == "frequency":
            highest = math.floor(100 * n / most) / 100
            return NotEligible(
                f"the most frequent value of column {of!r} stands in {most} of {n} rows"
                f" ({100 * most / n:.1f} %) and l = {self.l} allows at most 1/l;"
                f" {lower_to('l', highest)}suppress rows with that value, {out}"
            )
        if self.diversity == "entropy":
            log_n = math.log(n)
            highest = (
                math.floor(
                    100 * math.exp(log_n - math.fsum(int(r) * math.log(int(r)) for r in counts) / n)
                )
                / 100
            )
            return NotEligible(
                f"column {of!r} has over all {n} rows the entropy of {highest:g} equally frequent"
                f" values, and l = {self.l} is asked; {lower_to('l', highest)}{out}"
            )
        tail = int(counts[int(exact(self.l or 1, "l")) - 1 :].sum())
        return NotEligible(
            f"the most frequent value of column {of!r} stands in {most} of {n} rows, and c ="
            f" {self.c}, l = {self.l} allows fewer than c times {tail}; raise c above"
            f" {math.ceil(100 * most / tail) / 100:g}, lower l, {out}"
        )


def _levels(sensitive: Column, present: Ints) -> Codes:
    """The node above each present value, numbered on each level below the root, shape (levels,
    values).
    """
    ancestors = sensitive.domain.ancestors
    if ancestors is None:
        raise SchemaError(
            "distance = 'hierarchical' is about the sensitive attribute's hierarchy, and it has"
            " none; declare one, or use 'equal' or 'ordered'."
        )
    below_root = ancestors[present].select(ancestors.columns[:-1])
    return np.stack(
        [
            level.fill_null("").rank("dense").to_numpy().astype(np.int32) - np.int32(1)
            for level in below_root
        ]
    )


def _below(value: Fraction) -> Fraction:
    """The same where its parts fit the kernel, else a fraction just below."""
    return (
        value
        if max(value.numerator, value.denominator) <= _LARGEST
        else Fraction(math.floor(value * (scale := _scale(value))), scale)
    )


def _above(value: Fraction) -> Fraction:
    return (
        value
        if max(value.numerator, value.denominator) <= _LARGEST
        else Fraction(math.ceil(value * (scale := _scale(value))), scale)
    )


def _scale(value: Fraction) -> int:
    return max(1, _LARGEST // (math.ceil(value) + 1))
