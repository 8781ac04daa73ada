# SPDX-License-Identifier: Apache-2.0
"""The l-diversities of a group: distinct, frequency, entropy and recursive (Machanavajjhala et al.,
ICDE 2006; frequency: Xiao & Tao, VLDB 2006).

A missing sensitive value is a value of its own. Rows are counted as published: counterfeits cannot
be told from real ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from phalanx.arrays import Ints
from phalanx.exact import Number, bounded, exact, largest_ratio, plain, whole
from phalanx.guarantees.base import FromFields, Verdict, without_rows
from phalanx.guarantees.entropy import effective_numbers, entropy_fails
from phalanx.guarantees.sentences import one_in, ordinal
from phalanx.guarantees.views.groups import Groups, Published
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


@dataclass(frozen=True)
class FrequencyDiversity(FromFields):
    """In every group the most frequent sensitive value has at most the share 1/l; PlanError where l
    is below 1.
    """

    name: ClassVar[str] = "frequency-l-diversity"
    forms: ClassVar[tuple[str, ...]] = ("generalized",)
    hides: ClassVar[tuple[str, ...]] = ("values",)
    of_each_group: ClassVar[bool] = True
    l: Number = field(
        metadata={"help": "Ask for l-diversity with this l: no value in more than 1/l of a group."}
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", bounded(self.l, "l", 1))

    def check(
        self, release: Published, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The largest share of a value in a group, a fraction."""
        return check_shares(self.name, self.l, Groups.of(release))

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence."""
        return (
            f"In every group no sensitive value stands in more than {one_in(self.l)} of the rows"
            " (frequency l-diversity)."
        )


@dataclass(frozen=True)
class DistinctDiversity(FromFields):
    """Every group holds at least ``l`` different sensitive values; PlanError where l is not a whole
    number of at least 1.
    """

    name: ClassVar[str] = "distinct-l-diversity"
    forms: ClassVar[tuple[str, ...]] = ("generalized",)
    hides: ClassVar[tuple[str, ...]] = ("values",)
    of_each_group: ClassVar[bool] = True
    l: int

    def __post_init__(self) -> None:
        whole(self.l, "l")

    def check(
        self, release: Published, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The smallest number of different values in a group."""
        return check_distinct(self.name, self.l, Groups.of(release))

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence."""
        return (
            f"Every group has at least {self.l} different sensitive values (distinct l-diversity)."
        )


@dataclass(frozen=True)
class EntropyDiversity(FromFields):
    """In every group the entropy of the sensitive values is at least ln l; PlanError where l is
    below 1.

    The verdict's figure is ``exp(entropy)``, rounded down for reading; the comparison itself is
    exact.
    """

    name: ClassVar[str] = "entropy-l-diversity"
    forms: ClassVar[tuple[str, ...]] = ("generalized",)
    hides: ClassVar[tuple[str, ...]] = ("values",)
    of_each_group: ClassVar[bool] = True
    l: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", bounded(self.l, "l", 1))

    def check(
        self, release: Published, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The smallest effective number of values in a group."""
        return check_entropy(self.name, self.l, Groups.of(release))

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence."""
        return (
            f"In every group the sensitive values are at least as mixed as {plain(self.l)} equally"
            " frequent ones, measured by entropy (entropy l-diversity)."
        )


@dataclass(frozen=True)
class RecursiveDiversity(FromFields):
    """In every group ``r_1 < c (r_l + ... + r_q)`` for the value counts ``r_1 >= ... >= r_q``;
    PlanError where c is not above 0 or l below 1.
    """

    name: ClassVar[str] = "recursive-l-diversity"
    forms: ClassVar[tuple[str, ...]] = ("generalized",)
    hides: ClassVar[tuple[str, ...]] = ("values",)
    of_each_group: ClassVar[bool] = True
    c: Number
    l: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", bounded(self.c, "c", 0))
        whole(self.l, "l")

    def check(
        self, release: Published, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The largest ``r_1 / (r_l + ... + r_q)``, which must stay below c."""
        return check_recursive(self.name, self.c, self.l, Groups.of(release))

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence."""
        return (
            f"In every group the most frequent sensitive value is less than {plain(self.c)} times"
            f" as frequent as the {ordinal(self.l)} most frequent and all rarer ones together"
            " (recursive (c,l)-diversity)."
        )


def recursive_ratio(groups: Groups, l: int) -> tuple[Fraction | None, int]:
    """The largest ``r_1 / (r_l + ... + r_q)`` of a group, None where some group has fewer than l
    values, and the group's place.
    """
    if (groups.distinct < l).any():
        return None, int(np.argmin(groups.distinct))
    order = np.lexsort((-groups.cell_count, groups.cell_group))
    falling = groups.cell_count[order]
    # every other piece starts at r_l of a group and ends before the next group's r_1
    pieces = np.stack([groups.starts, groups.starts + l - 1], axis=1).ravel()
    tails: Ints = np.add.reduceat(falling, pieces)[1::2]
    return largest_ratio(groups.largest, tails)


def check_shares(name: str, l: Number, groups: Groups, *, word: str = "groups") -> list[Verdict]:
    """Whether no sensitive value has more than 1/l of a group; ``word`` is what the groups are
    called.
    """
    bound = 1 / exact(l, "l")
    if early := nothing_to_check(groups, name, bound):
        return early
    worst, where = largest_ratio(groups.largest, groups.sizes)
    return [
        verdict(
            name,
            bound,
            worst,
            groups,
            where,
            "largest_share",
            holds=worst <= bound,
            note=f"{len(groups)} {word}",
        )
    ]


def check_distinct(name: str, l: int, groups: Groups) -> list[Verdict]:
    """Whether every group has at least l different sensitive values."""
    if early := nothing_to_check(groups, name, l):
        return early
    where = int(np.argmin(groups.distinct))
    worst = int(groups.distinct[where])
    return [verdict(name, l, worst, groups, where, "distinct", holds=worst >= l)]


def check_entropy(name: str, l: Number, groups: Groups) -> list[Verdict]:
    """Whether the entropy of every group's sensitive values is at least ln l."""
    least = exact(l, "l")
    bound = int(least) if least.denominator == 1 else least
    if early := nothing_to_check(groups, name, bound):
        return early
    failing = entropy_fails(groups, least)
    figures = effective_numbers(groups)
    where = (
        int(failing[np.argmin(np.array(figures)[failing])])
        if len(failing)
        else int(np.argmin(figures))
    )
    worst = figures[where] if len(failing) else max(figures[where], float(least))
    note = "the figure is rounded down, the comparison is exact"
    return [
        verdict(
            name, bound, worst, groups, where, "effective_number", holds=not len(failing), note=note
        )
    ]


def check_recursive(name: str, c: Number, l: int, groups: Groups) -> list[Verdict]:
    """Whether ``r_1 / (r_l + ... + r_q)`` stays below c in every group."""
    bound = exact(c, "c")
    if early := nothing_to_check(groups, name, bound):
        return early
    ratio, where = recursive_ratio(groups, l)
    worst = "infinite" if ratio is None else ratio
    holds = ratio is not None and ratio < bound
    return [
        verdict(
            name,
            bound,
            worst,
            groups,
            where,
            "ratio",
            holds=holds,
            note="the figure must stay below the bound",
        )
    ]


def nothing_to_check(groups: Groups | None, name: str, bound: int | Fraction) -> list[Verdict]:
    """The verdict on a table without rows (holds), or without a sensitive attribute of single
    values (does not), else an empty list.
    """
    if groups is None or groups.values is None:
        return [
            Verdict(
                name=name,
                bound=bound,
                worst=None,
                holds=False,
                note="no sensitive attribute is published, and this promise is about one",
            )
        ]
    if groups.of_sets:
        note = (
            "the sensitive attribute holds sets of values, and this promise is about one value for"
            " each person"
        )
        return [Verdict(name=name, bound=bound, worst=None, holds=False, note=note)]
    return [] if len(groups) else [without_rows(name, bound)]


def verdict(
    name: str,
    bound: int | Fraction,
    worst: float | Fraction | str,
    groups: Groups,
    where: int,
    figure: str,
    *,
    holds: bool,
    note: str = "",
) -> Verdict:
    """A verdict that shows the group at ``where`` as the worst case."""
    cases = groups.cases(
        np.array([where]),
        **{figure: [worst]},
        most_frequent=[int(groups.largest[where])],
        distinct_values=[int(groups.distinct[where])],
    )
    return Verdict(
        name=name,
        bound=bound,
        worst=worst,
        holds=holds,
        note=note or f"{len(groups)} groups",
        worst_cases=cases,
    )
