# SPDX-License-Identifier: Apache-2.0
"""Households whose rows count as one: they stand together, each with one row in each of the same
groups, and hide each other there with all of their members.

So an adversary who knows all members of a household, and looks at every group that one of them is
in, finds the same households in each, and nothing tells them apart. Which rows are of one household
is not published: the files alone show the smaller promise about persons, and these are checked
where the original table, with its cluster column, and the person-to-group mapping are laid beside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Codes, Ints
from phalanx.data.microdata import Microdata
from phalanx.exact import Number, bounded, exact, whole
from phalanx.guarantees.base import FromFields, Verdict
from phalanx.guarantees.sentences import one_in
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


@dataclass(frozen=True)
class HouseholdAnonymity(FromFields):
    """Every household is one of at least ``k`` that have one row each in each of the same groups.

    PlanError where k is not a whole number of at least 1.
    """

    name: ClassVar[str] = "household-k-anonymity"
    forms: ClassVar[tuple[str, ...]] = ("generalized",)
    hides: ClassVar[tuple[str, ...]] = ("records",)
    of_households: ClassVar[bool] = True
    k: int

    def __post_init__(self) -> None:
        whole(self.k, "k")

    def check(
        self, release: Release, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The fewest households of a group."""
        seen = _seen(release, evidence)
        if isinstance(seen, str):
            return [Verdict(name=self.name, bound=self.k, worst=None, holds=True, note=seen)]
        fewest = int(seen.households.min())
        return [
            Verdict(
                name=self.name,
                bound=self.k,
                worst=fewest,
                holds=not seen.fault and fewest >= self.k,
                note=seen.fault
                or f"{seen.households.sum()} households in {len(seen.households)} sets of groups",
                worst_cases=seen.cases(int(seen.households.argmin())),
            )
        ]

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence."""
        return (
            f"By the quasi-identifiers of all its members each household is one of at least {self.k}:"
            " those that share a group share all of their groups, with one row each in each"
            " (household k-anonymity)."
        )


@dataclass(frozen=True)
class HouseholdDiversity(FromFields):
    """Of the households that stand together no more than 1/l have a member with any one sensitive
    value; PlanError where l is below 1.
    """

    name: ClassVar[str] = "household-l-diversity"
    forms: ClassVar[tuple[str, ...]] = ("generalized",)
    hides: ClassVar[tuple[str, ...]] = ("values",)
    of_households: ClassVar[bool] = True
    l: Number

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", bounded(self.l, "l", 1))

    def check(
        self, release: Release, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """The largest share of households that have a member with one value, a fraction."""
        bound = 1 / exact(self.l, "l")
        seen = _seen(release, evidence)
        if isinstance(seen, str):
            return [Verdict(name=self.name, bound=bound, worst=None, holds=True, note=seen)]
        if seen.values is None:
            note = "no sensitive attribute of single values is known, and this promise is about one"
            return [Verdict(name=self.name, bound=bound, worst=None, holds=False, note=note)]
        holders = (
            pl.DataFrame({"set": seen.of, "household": seen.household, "value": seen.values})
            .unique()
            .group_by("set", "value")
            .agg(holders=pl.len())
            .group_by("set")
            .agg(pl.col("holders").max())
            .sort("set")["holders"]
        )
        shares = [
            Fraction(int(most), int(of)) for most, of in zip(holders, seen.households, strict=True)
        ]
        worst = max(shares)
        return [
            Verdict(
                name=self.name,
                bound=bound,
                worst=worst,
                holds=not seen.fault and worst <= bound,
                note=seen.fault or f"{len(shares)} sets of groups",
                worst_cases=seen.cases(shares.index(worst)),
            )
        ]

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence."""
        return (
            f"Of the households that share their groups at most {one_in(self.l)} have a member with any"
            " one sensitive value (household l-diversity)."
        )


class _Seen(NamedTuple):
    """The published rows of an original table, in sets of groups that share households."""

    of: Ints
    """Shape (n,): the set of each row, 0 .. b-1."""
    household: Ints
    """Shape (n,)."""
    group: Ints
    """Shape (n,): the published group."""
    values: Codes | None
    """Shape (n,): a code for each sensitive value."""
    households: Ints
    """Shape (b,): how many households a set has."""
    fault: str
    """Why households do not stand together; empty where they do."""

    def cases(self, at: int) -> pl.DataFrame:
        """The groups of a set."""
        groups = np.unique(self.group[self.of == at])
        return pl.DataFrame(
            {"group": groups, "households": [int(self.households[at])] * len(groups)}
        )


def _seen(release: Release, evidence: Evidence | None) -> _Seen | str:
    """What the original table shows; a note where it is not known whose rows are of one household,
    or in which group they are.
    """
    microdata = None if evidence is None else evidence.microdata.get(release.number)
    groups = None if evidence is None else evidence.published_rows(release.number)
    if microdata is None or microdata.households is None:
        return "not checked: no original table with its cluster column says who lives together"
    if groups is None:
        return "not checked: no person-to-group mapping was given"
    published = groups > 0
    if not published.any():
        return "the table has no rows"
    group, household = groups[published], microdata.households[published]
    rows = pl.DataFrame({"household": household, "group": group})
    rows = rows.with_columns(first=pl.col("group").min().over("household"))
    pairs = rows.unique().with_columns(
        beside=pl.len().over("group"), mixed=pl.col("first").n_unique().over("group") > 1
    )
    sets = (
        pairs.group_by("first")
        .agg(
            pl.len().alias("pairs"),
            pl.col("household", "group").n_unique(),
            pl.col("beside").min(),
            pl.col("mixed").any(),
        )
        .sort("first")
    )
    apart = sets.filter(
        pl.col("mixed") | (pl.col("pairs") != pl.col("household") * pl.col("group"))
    )
    return _Seen(
        of=np.searchsorted(sets["first"].to_numpy(), rows["first"].to_numpy()),
        household=household,
        group=group,
        values=_codes(microdata, published),
        households=sets["beside"].to_numpy().astype(np.int64),
        fault=_fault(len(rows) - len(pairs), len(apart)),
    )


def _codes(microdata: Microdata, published: Bools) -> Codes | None:
    if microdata.schema.sensitive is None or microdata.sensitive.domain.type == "set":
        return None
    codes: Codes = microdata.sensitive.codes[published]
    return codes


def _fault(second: int, apart: int) -> str:
    if second:
        return f"{second} row(s) stand in a group in which their household has a row already"
    if apart:
        return f"in {apart} set(s) of groups households share some of their groups and not all"
    return ""
