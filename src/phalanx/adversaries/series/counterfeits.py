# SPDX-License-Identifier: Apache-2.0
"""The adversary who asks why a counterfeit was needed: minimality reasoning (Wong et al., VLDB
2007) about m-invariant series.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import Any, ClassVar, Final

import numpy as np
import polars as pl

from phalanx.adversaries.base import (
    Attack,
    Interval,
    Looks,
    asked,
    between,
    may_be_luck,
    original_of,
    trials,
    where_groups_stand,
    wilson,
)
from phalanx.adversaries.candidates import Values, hold
from phalanx.adversaries.showing import Shown, interval
from phalanx.arrays import Bools, Ints, Sets, sets_of, sizes
from phalanx.errors import ReleaseError
from phalanx.guarantees.views.groups import Groups
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.generalized import GROUP

_BITS: Final = 64
_MOST: Final = 1 << 26
"""So many words the persons' sets may take, which is half a gigabyte, and what is made of them six
times that.
"""


@dataclass(frozen=True, kw_only=True)
class Named(Attack):
    """What this adversary concluded. ``exposed`` counts persons for whom it is certain, and right;
    ``histogram`` the candidates that it leaves.
    """

    groups: int
    """Groups that hold counterfeits, over all releases."""
    named: int
    """Those of them in which it names the values of all counterfeits."""
    named_rightly: int
    """Those in which it is right."""
    named_interval: Interval | None
    """The share of right ones among the named, as a 95 % confidence interval by Wilson, for as many
    trials as ``trials`` says of their signatures, of each of which the groups are right or wrong
    together; None where none is named.
    """
    named_baseline: float | None
    """The same for an adversary who picks as many values of the group at random."""
    certain: int
    """Persons for whom one candidate is left."""
    certain_interval: Interval | None
    """How often that one is right, as such an interval, since who is certain makes others of the
    signature certain; None where no person has only one.
    """
    bound: Fraction
    """How often it may be right about those: 1/m, of the least m of the series."""
    above: int
    """Persons with fewer candidates than the m of their series, the true value among them; no
    success by itself, as it may be wrong about others.
    """

    @property
    def sentence(self) -> str:
        """Of how many it is certain, and how often that is right, beside what is promised."""
        if self.certain_interval is None:
            return f"is certain about none of {self.persons} persons"
        return (
            f"is certain about {self.certain} of {self.persons} persons, and right about"
            f" {self.exposed} of these ({between(self.certain_interval)}), where the promise allows"
            f" {self.bound}"
        )

    @property
    def by_luck(self) -> str:
        """Of how many it is certain, and how many of these are right."""
        right = (
            f"It takes {self.certain:,} of {self.persons:,} persons for certain and is right about"
            f" {self.exposed:,} of these"
        )
        return may_be_luck(right, self.certain_interval, self.bound)

    def tables(self) -> Iterator[Shown]:
        rows: list[list[object]] = [
            [
                "groups whose counterfeits it names",
                self.groups,
                self.named,
                self.named_rightly,
                "" if self.named_interval is None else interval(self.named_interval),
            ],
            [
                "persons with one value left",
                self.persons,
                self.certain,
                self.exposed,
                "" if self.certain_interval is None else interval(self.certain_interval),
            ],
        ]
        yield Shown(["", "of", "number", "right", "95 % interval"], rows, (1, 2, 3))
        yield Shown(
            ["persons with fewer than m values left, theirs among them"], [[self.above]], (0,)
        )

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack, and groups, named, named_rightly, named_interval,
        named_baseline, certain, certain_interval, bound (as text), above.
        """
        more = {
            "groups": self.groups,
            "named": self.named,
            "named_rightly": self.named_rightly,
            "named_interval": _rounded(self.named_interval),
            "named_baseline": (
                None if self.named_baseline is None else round(self.named_baseline, 6)
            ),
            "certain": self.certain,
            "certain_interval": _rounded(self.certain_interval),
            "bound": str(self.bound),
            "above": self.above,
        }
        return super().to_json() | more


@dataclass(frozen=True)
class Counterfeits:
    """Names the values of counterfeits by what was in stock, and persons by the values that are
    left.

    It reasons that the method, as the paper has it, makes a counterfeit only of a value that no new
    tuple could be spared for, and that groups of new persons alone show which values could. So if a
    group holds as many counterfeits as it has values that were not in stock, they are these; its
    real members have the others, in this and every release; and who is certain leaves less for the
    others of a group.

    It knows each person's group in every release (needs ``evidence.groups``), the worst case of
    knowing quasi-identifiers and presence. The true values are needed to score it
    (``evidence.microdata`` with persons, of every release). Works on series by m-invariance. It may
    be wrong: persons whom it contradicts itself about keep the candidates that they had.

    Raises
    ------
    ReleaseError
        On series by another method, and where something is missing.
    """

    question: ClassVar[str] = "inference"
    looks_at: ClassVar[Looks] = "series"
    asks_for: ClassVar[Mapping[str, bool]] = {"original": True, "identifier": True, "ledger": True}
    knows_method: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "counterfeits"

    @property
    def knows(self) -> str:
        return (
            "in which group of each release each person was published, and by which method; it asks"
            " why a counterfeit was needed"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Named:
        """What it names, and how often rightly."""
        releases, evidence = asked(releases, evidence, of_values=True)
        series = sorted(releases, key=lambda r: r.number)
        for release in series:
            _check(release, evidence)
        values = Values.of(
            [r.generalized.table[str(r.form.sensitive)] for r in series]
            + [evidence.microdata[r.number].sensitive.domain.values for r in series]
        )
        people = pl.concat(
            [_published(evidence.groups[r.number])["person"] for r in series]
        ).unique(maintain_order=True)
        if len(people) * values.words > _MOST:
            raise ReleaseError(
                f"there are {len(values.domain)} values that {len(people)} persons may have, which is"
                " more than this adversary can hold."
            )
        numbered = pl.DataFrame({"person": people, "who": np.arange(len(people), dtype=np.int64)})
        seen, last = (
            np.zeros(len(people), dtype=bool),
            np.full(len(people), -1, dtype=np.int64),
        )
        views = []
        for release in series:
            view = _View.of(release, evidence, values, numbered, seen)
            views.append(view)
            if release.manifest.method.get("remember") is False:
                seen[:] = False
            seen[view.who] = True
            last[view.who] = view.true
        remaining = np.full((len(people), values.words), np.iinfo(np.uint64).max, dtype=np.uint64)
        for view in views:
            _narrow(remaining, view.who, view.sets[view.place])
        for view in views:
            _narrow(remaining, view.who, ~view.named[view.place])
        while any(_who_is_certain_leaves_less(remaining, view) for view in views):
            pass
        return self._conclude(
            views, people, remaining, last, min(int(r.manifest.method["m"]) for r in series)
        )

    def _conclude(
        self, views: Sequence["_View"], people: pl.Series, left: Sets, true: Ints, m: int
    ) -> Named:
        size, right = sizes(left), hold(left, true)
        one = size == 1
        named = [group for view in views for group in view.scored()]
        rightly = sum(correct for correct, _ in named)
        certain, exposed = int(one.sum()), int((one & right).sum())
        of_person, of_groups = _signatures(views, len(people))
        return Named(
            adversary=self.name,
            knows=self.knows,
            persons=len(people),
            exposed=exposed,
            success=float((right / np.maximum(size, 1)).mean()),
            baseline=int(np.bincount(true).max()) / len(true),
            histogram={
                int(s): int(n) for s, n in zip(*np.unique(size, return_counts=True), strict=True)
            },
            per_person=pl.DataFrame({"person": people, "candidates": size, "exposed": one & right}),
            groups=sum(int((view.invented > 0).sum()) for view in views),
            named=len(named),
            named_rightly=rightly,
            named_interval=wilson(rightly / len(named), trials(of_groups)) if named else None,
            named_baseline=sum(chance for _, chance in named) / len(named) if named else None,
            certain=certain,
            certain_interval=(
                wilson(exposed / certain, trials(of_person[one])) if certain else None
            ),
            bound=Fraction(1, m),
            above=int(((size < m) & right).sum()),
        )


@dataclass(frozen=True, eq=False)
class _View:
    """One release as this adversary sees it, and the truth beside it."""

    who: Ints
    """The number of every published person, shape (p,)."""
    place: Ints
    """The place of their group, shape (p,)."""
    true: Ints
    """The number of their value, shape (p,); the adversary does not look at it."""
    sets: Sets
    """The values of each group."""
    invented: Ints
    """How many counterfeits each group has."""
    named: Sets
    """The values of each group that are named as counterfeits; none where it cannot tell."""

    @classmethod
    def of(
        cls,
        release: Release,
        evidence: Evidence,
        values: Values,
        numbered: pl.DataFrame,
        seen: Bools,
    ) -> "_View":
        """``seen``: the persons whom the method knows from before."""
        groups = Groups.of(release.generalized)
        ids, each = groups.ids, np.arange(len(groups), dtype=np.int64)
        sets = values.of_groups(release.generalized, each)
        microdata = evidence.microdata[release.number]
        true_values = values.places(microdata.sensitive.domain.values)[microdata.sensitive.codes]
        at = pl.DataFrame({GROUP: ids.cast(pl.Int64), "place": each})
        rows = (
            _published(evidence.groups[release.number])
            .with_columns(pl.col(GROUP).cast(pl.Int64))
            .join(numbered, on="person", how="left", maintain_order="left")
            .join(at, on=GROUP, how="left", maintain_order="left")
            .join(
                pl.DataFrame({"person": microdata.persons, "true": true_values}),
                on="person",
                how="left",
                maintain_order="left",
            )
        )
        if rows["place"].null_count() or rows["true"].null_count():
            raise ReleaseError(
                f"the person-to-group mapping does not fit release {release.number} and its"
                " original table; use what it was published with."
            )
        who, place, true = (rows[name].to_numpy() for name in ("who", "place", "true"))
        newcomers = np.bincount(place, weights=~seen[who], minlength=len(groups)).astype(np.int64)
        stock = _stock(groups, newcomers == groups.sizes, values)
        lacking = sets & ~_packed(_spared(stock, int(release.manifest.method["m"])), values)
        tells = (groups.counterfeits > 0) & (sizes(lacking) == groups.counterfeits)
        return cls(
            who,
            place,
            true,
            sets,
            groups.counterfeits,
            np.where(tells[:, None], lacking, np.uint64(0)),
        )

    def scored(self) -> list[tuple[bool, float]]:
        """For every group in which all counterfeits are named: whether rightly, and how probably by
        picking at random.
        """
        own = np.zeros_like(self.sets)
        np.bitwise_or.at(
            own,
            (self.place, self.true // _BITS),
            np.uint64(1) << (self.true % _BITS).astype(np.uint64),
        )
        named_groups = np.flatnonzero(sizes(self.named))
        correct = (self.named[named_groups] == (self.sets & ~own)[named_groups]).all(axis=1)
        size = sizes(self.sets)[named_groups]
        return [
            (bool(c), 1 / comb(int(s), int(k)))
            for c, s, k in zip(correct, size, self.invented[named_groups], strict=True)
        ]


def _signatures(views: Sequence[_View], many: int) -> tuple[Ints, Ints]:
    """The number of the signature of each of so many persons, where they were last, and of each
    group of which counterfeits are named.
    """
    number = np.unique(np.concatenate([view.sets for view in views]), axis=0, return_inverse=True)[
        1
    ]
    ends = np.cumsum([0, *(len(view.sets) for view in views)])
    of_views = [number[begin:end] for begin, end in pairwise(ends)]
    of_person = np.zeros(many, dtype=np.int64)
    for view, of_group in zip(views, of_views, strict=True):
        of_person[view.who] = of_group[view.place]
    named = [
        of_group[sizes(view.named) > 0] for view, of_group in zip(views, of_views, strict=True)
    ]
    return of_person, np.concatenate(named)


def _stock(groups: Groups, new: Bools, values: Values) -> Ints:
    """How many new tuples of each value are seen in groups of new persons alone, shape
    (values,).
    """
    if groups.values is None:
        return np.zeros(len(values.domain), dtype=np.int64)
    shown = new[groups.cell_group]
    number = values.places(groups.values)[groups.cell_value[shown]]
    return np.bincount(
        number, weights=groups.cell_count[shown], minlength=len(values.domain)
    ).astype(np.int64)


def _spared(stock: Ints, m: int) -> Bools:
    """Of which values one more tuple could have been taken such that the rest stays m-eligible."""
    others = np.full(len(stock), stock.max())
    others[stock.argmax()] = np.delete(stock, stock.argmax()).max(initial=0)
    spared: Bools = (stock > 0) & (m * others <= stock.sum() - 1)
    return spared


def _packed(some: Bools, values: Values) -> Sets:
    """A set of values, shape (1, words)."""
    held = np.flatnonzero(some)
    return sets_of(np.zeros(len(held), dtype=np.int64), held, 1, len(values.domain))


def _narrow(left: Sets, who: Ints, to: Sets) -> bool:
    """Keep of persons' candidates those in the sets beside them, where any is left; whether
    anything was narrowed.
    """
    now = left[who] & to
    is_open = sizes(now) > 0
    changed = bool((now[is_open] != left[who[is_open]]).any())
    left[who[is_open]] = now[is_open]
    return changed


def _who_is_certain_leaves_less(left: Sets, view: _View) -> bool:
    """A value of a group is one person's."""
    one = sizes(left[view.who]) == 1
    taken = np.zeros_like(view.sets)
    np.bitwise_or.at(taken, view.place[one], left[view.who[one]])
    return _narrow(left, view.who[~one], ~taken[view.place[~one]])


def _published(mapping: pl.DataFrame) -> pl.DataFrame:
    """Group 0 is no person's group: those rows were suppressed."""
    return mapping.filter(pl.col(GROUP) != 0)


def _check(release: Release, evidence: Evidence) -> None:
    method: Mapping[str, Any] = release.manifest.method
    if method.get("name") != "m-invariance":
        raise ReleaseError(
            f"release {release.number} was not made by m-invariance, which alone makes counterfeits"
            " for values; use the adversary 'intersection'."
        )
    if release.number not in evidence.groups:
        raise ReleaseError(
            f"release {release.number} has no person-to-group mapping, without which the worst case"
            f" is unknown; {where_groups_stand(release)}."
        )
    original_of(release, evidence, "nothing is scored", persons=True)


def _rounded(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [round(end, 6) for end in interval]
