# SPDX-License-Identifier: Apache-2.0
"""Mondrian: the microdata cut into boxes, each with at least k persons and, where asked, diverse
and close sensitive values.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np

from phalanx.arrays import Codes, Floats, Ints, different
from phalanx.data.column import Column
from phalanx.data.domain import whole_places
from phalanx.data.microdata import Microdata
from phalanx.errors import PlanError
from phalanx.exact import Number, exact, of_python
from phalanx.guarantees.base import Guarantee
from phalanx.kernels.rule import meets
from phalanx.methods.base import (
    Division,
    Draft,
    LooksBack,
    Memory,
    Offer,
    check_min_width,
    check_widths,
    check_word,
    parameters_of,
)
from phalanx.methods.households import Alike, grouped_households, of_members
from phalanx.methods.mondrian.balanced import by_even_cuts
from phalanx.methods.mondrian.cut_tree import Cut, parts, rebuilt, recall, to_state
from phalanx.methods.mondrian.households import balanced_households
from phalanx.methods.mondrian.kernels import cuts as kernel
from phalanx.methods.mondrian.kernels.cutting import EITHER, RELAXED, STRICT, Table
from phalanx.methods.mondrian.kernels.narrow_cuts import LOOKED_AT
from phalanx.methods.mondrian.offer import OFFER
from phalanx.methods.not_applicable import grouped_apart
from phalanx.methods.requirement import Distance, Diversity, Requirement
from phalanx.methods.threads import on_all, threads
from phalanx.randomness import Randomness, Stream
from phalanx.release.evidence.evidence import Tables
from phalanx.release.forms.generalized import generalize

Cuts = Literal["balanced", "strict", "relaxed"]
CutAt = Literal["least-width", "median"]

_GRAIN: Final = 16
"""A node of less than this part of the table is one thread's work."""
_ALONE: Final = 150_000
"""Below this many codes of rows threads cost more than they save."""


@dataclass(frozen=True, kw_only=True)
class Mondrian:
    """Every group has at least k persons and, with l or t, sensitive values that say little about
    any one of them.

    Publishes, for each row, its group's tight interval on every quasi-identifier beside the row's
    own sensitive and kept values; rows and group ids are in random order. A missing value counts as
    a value of its own, below all others. The promise is about one release: two releases of a
    changing table may expose people together (see m-invariance).

    Balanced cuts hold against an adversary who knows the method, each person's quasi-identifiers
    and the table's values: each member of a group has each value with exactly the share that the
    group shows. ``strict`` and ``relaxed`` cuts with l or t do not: a cut that was not made says
    what would have failed, which may name persons (minimality;
    docs/explanation/k-anonymity-and-algorithms.md has figures). With k alone no cut looks at a
    sensitive value.

    Survey weights, where the schema declares them, are published as one mean for each group. An
    adversary who knows them learns who is in which group where boxes overlap or persons are equal;
    all that is said here holds with that known, since no weight has a part in a cut.

    With ``keep_cuts`` a series cuts where the release before was cut, as far as k allows, so that
    counts change with the data and not with the groups. No cut looks at a sensitive value, and who
    knows all quasi-identifiers can tell where the cuts are in any case. What two releases tell
    together is no more promised than without (docs/explanation/mondrian.md has figures).

    Where the schema declares a ``cluster``, a household counts as one person: k households or more
    of equally many rows stand together, their first members in one group, their second ones in
    another, and so on, members being ranked by the quasi-identifiers in the schema's order; with l,
    at most 1/l of them have a member with any one value. So who knows all members of a household,
    and looks at all of their groups, links it to no value with more than 1/l. Only k and
    ``frequency`` diversity, by balanced cuts, are for households.

    Source: LeFevre, DeWitt, Ramakrishnan, ICDE 2006, section 4, which is ``cut_at = "median"``; how
    we differ stands at the head of ``methods/mondrian/kernels/cuts.py``. Balanced cuts and those of
    least width are our own, see ``methods/mondrian/kernels/balanced.py`` and
    ``methods/mondrian/kernels/narrow_cuts.py``.

    Raises
    ------
    PlanError
        For parameters that cannot be met by any table, or that are not for households.
    SchemaError
        Where l or t is asked and no sensitive attribute is declared or it holds sets.
    MethodError
        For fewer than k rows, or households of one size.
    NotEligible
        Where the whole table is not diverse enough to begin with.

    Examples
    --------
    >>> Mondrian(k=10, l=2.5).parameters()
    {'name': 'mondrian', 'k': 10, 'l': '5/2', 'diversity': 'frequency', 'cuts': 'balanced'}
    """

    name: ClassVar[str] = "mondrian"
    needs_persons: ClassVar[bool] = False
    looks_back: ClassVar[LooksBack] = "digests"
    takes_registry: ClassVar[bool] = False
    takes_not_applicable: ClassVar[bool] = True
    takes_order_by_frequency: ClassVar[bool] = True
    takes_weight: ClassVar[bool] = True
    offer: ClassVar[Offer] = OFFER
    may_suppress: ClassVar[Sequence[str]] = ()
    bytes_per_value: ClassVar[int] = 170

    k: int = 1
    """The least size of a group."""
    l: Number | None = None
    """Diversity of a group's sensitive values; a whole number for ``distinct`` and
    ``recursive``.
    """
    diversity: Diversity = "frequency"
    """What l counts: no value in more than 1/l of a group, l distinct values, entropy of at least
    ln l, or recursive (c, l).
    """
    c: Number | None = None
    """Recursive diversity: the most frequent value stays below c times the sum of the l-th most
    frequent and all rarer ones.
    """
    t: Number | None = None
    """Closeness: the greatest distance between a group's sensitive distribution and the table's,
    from 0 to 1.
    """
    distance: Distance = "equal"
    """Between sensitive values: all alike, by their order, or by their hierarchy."""
    cuts: Cuts | None = None
    """``balanced``: a cut that fails tells of no person, the default with l or t; ``strict``: boxes
    are disjoint, the default with k alone; ``relaxed``: persons with one value may fall on either
    side.
    """
    cut_at: CutAt | None = None
    """Where strict and relaxed cuts are made: ``least-width``, the default: where groups are
    expected to be narrowest; ``median``: of the widest attribute.
    """
    keep_cuts: bool = False
    """In a series: cuts of the release before stay where they leave k rows on both sides; with k
    alone and strict cuts.
    """
    min_width: Mapping[str, float] = field(default_factory=dict)
    """Per attribute the least width of a published interval, in its own unit."""

    def __post_init__(self) -> None:
        of_python(self)
        for parameter, allowed in (("cuts", get_args(Cuts)), ("cut_at", get_args(CutAt))):
            if getattr(self, parameter) is not None:
                check_word(parameter, getattr(self, parameter), allowed)
        self.requirement  # noqa: B018 - validates
        if self.cut_at is not None and self._used_cuts == "balanced":
            raise PlanError(
                f"[method] cut_at = {self.cut_at!r} is for strict and relaxed cuts, and these are"
                " balanced; leave it out, or name the cuts."
            )
        if not isinstance(self.keep_cuts, bool):
            raise PlanError(f"[method] keep_cuts = {self.keep_cuts!r} must be true or false.")
        if self.keep_cuts and (self.requirement.about_sensitive or self._used_cuts != "strict"):
            raise PlanError(
                "[method] keep_cuts is for strict cuts with k alone; with l or t, kept cuts would"
                " tell of earlier values, so leave it out."
            )
        check_widths(self.min_width)

    @property
    def guarantees(self) -> list[Guarantee]:
        return self.requirement.guarantees

    @property
    def household_guarantees(self) -> list[Guarantee]:
        return self.requirement.of_households

    @cached_property
    def requirement(self) -> Requirement:
        """What every group keeps."""
        return Requirement(
            k=self.k,
            l=self.l,
            diversity=self.diversity,
            c=self.c,
            t=self.t,
            distance=self.distance,
        )

    def publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        check_min_width(self.min_width, microdata)
        if self.requirement.about_sensitive:
            microdata.check_single_valued("a promise of l or t")
        state: Tables = {}
        if self.keep_cuts:
            groups, state = self._by_kept_cuts(microdata, memory)
        elif microdata.households is not None:
            groups = self._of_households(microdata, microdata.households, rng)
        else:
            about = self.requirement.about_sensitive
            groups = grouped_apart(
                microdata,
                lambda part: self._groups(
                    part.quasi,
                    part.sensitive if about else None,
                    rng.stream("deal"),
                    part.schema.sensitive,
                ),
                lambda part: partition(Mondrian(k=self.k), part.quasi, None),
                least=self.k,
            )
        form, published = generalize(
            microdata,
            np.arange(microdata.rows),
            groups,
            rng.stream("mondrian"),
            min_width=self.min_width,
        )
        return Draft(form=form, groups=published[groups], state=state)

    def _by_kept_cuts(self, microdata: Microdata, memory: Memory) -> tuple[Ints, Tables]:
        """The group of every row, and the cuts for the next release."""
        if microdata.households is not None or microdata.schema.not_applicable:
            raise PlanError(
                "[method] keep_cuts is for tables without a cluster and without values that are"
                " not applicable; leave it out."
            )
        groups, cuts = partition_again(self, microdata.quasi, recall(memory.state, microdata))
        return groups, to_state(cuts, microdata)

    def _groups(
        self, quasi: Sequence[Column], sensitive: Column | None, stream: Stream, of: str | None
    ) -> Ints:
        """The group of every row, 0 .. g-1, shape (n,); ``of`` names the sensitive attribute."""
        if self._used_cuts == "balanced":
            return balanced_partition(self.requirement, quasi, sensitive, stream, of=of)
        if self._used_cuts == "strict":
            return partition(self, quasi, sensitive, of=of)
        # Relaxed cuts deal persons who are equal in all quasi-identifiers out in the order in which
        # they stand, which must not be that of the source.
        order = stream.permutation(len(quasi[0].codes))
        dealt = [replace(column, codes=column.codes[order]) for column in quasi]
        values = None if sensitive is None else replace(sensitive, codes=sensitive.codes[order])
        groups = np.empty(len(order), dtype=np.int64)
        groups[order] = partition(self, dealt, values, of=of)
        return groups

    def _of_households(self, microdata: Microdata, households: Ints, rng: Randomness) -> Ints:
        """The group of every row, where those of a household count as one."""
        if self.t is not None or self.diversity != "frequency":
            raise PlanError(
                "[method] of households mondrian promises k, and l as diversity = 'frequency';"
                " leave t and other diversities out, or the cluster."
            )
        if self.l is not None and self._used_cuts != "balanced":
            raise PlanError(
                f"[method] cuts = {self.cuts!r} with l is for persons, and a cluster is declared;"
                " leave the cuts out."
            )
        about, deal = self.requirement.about_sensitive, rng.stream("deal")

        def least(kind: Alike) -> int:
            return max(self.k, math.ceil(exact(self.l or 1, "l"))) if kind.valued else self.k

        def together(kind: Alike) -> Ints:
            quasi = [one for column in microdata.quasi for one in of_members(column, kind.members)]
            if about and kind.valued:
                return balanced_households(quasi, microdata, kind, least(kind), self.l or 1, deal)
            if about:
                return partition(Mondrian(k=self.k), quasi, None)
            return self._groups(quasi, None, deal, None)

        return grouped_households(
            microdata, households, together, least, rng.stream("rank of equal members")
        )

    def parameters(self) -> dict[str, Any]:
        return parameters_of(
            self,
            diversity=None if self.l is None else self.diversity,
            distance=None if self.t is None else self.distance,
            cuts=self._used_cuts,
            cut_at=None if self._used_cuts == "balanced" else self.cut_at or "least-width",
            keep_cuts=self.keep_cuts or None,
        )

    @property
    def _used_cuts(self) -> Cuts:
        return self.cuts or ("balanced" if self.requirement.about_sensitive else "strict")

    @property
    def divided_by(self) -> Division | None:
        """Regions, where each group is judged by its own values; t asks about the table's, and
        kept cuts are those of the table.
        """
        return "regions" if self.t is None and not self.keep_cuts else None

    @property
    def holds_if_method_known(self) -> bool:
        """Balanced cuts tell of no person, and no cut does where k alone is asked for; else a cut
        that was not made tells of sensitive values (minimality).
        """
        return self._used_cuts == "balanced" or not self.requirement.about_sensitive


def balanced_partition(
    requirement: Requirement,
    quasi: Sequence[Column],
    sensitive: Column | None,
    stream: Stream,
    *,
    of: str | None = None,
) -> Ints:
    """The group of every row by balanced cuts, 0 .. g-1, shape (n,); ``of`` names the sensitive
    attribute in errors.
    """
    asked = requirement.on(len(quasi[0].codes), sensitive)
    positions = np.ascontiguousarray(
        np.stack([column.domain.normalised[column.codes] for column in quasi], axis=1)
    )
    names = by_even_cuts(positions, stream, asked.rule.k, asked)
    if names is None:
        raise requirement.not_eligible(asked.rule, of)
    return different(names)[1]


def partition(
    method: Mondrian,
    quasi: Sequence[Column],
    sensitive: Column | None,
    *,
    of: str | None = None,
    cutter: Callable[..., Ints] | None = None,
    places: Sequence[Floats] | None = None,
) -> Ints:
    """The group of every row by strict or relaxed cuts, 0 .. g-1, shape (n,), numbered so that
    groups that were cut from each other late stand together.

    ``of`` names the sensitive attribute in errors; ``cutter`` makes the cuts, if not the kernel of
    Mondrian, which has its last five arguments; ``places``: where each attribute's values are, if
    not on a line of their own. The number of threads has no influence on the groups.
    """
    n = len(quasi[0].codes)
    asked = method.requirement.on(n, sensitive)
    if sensitive is not None and not meets(asked):
        raise method.requirement.not_eligible(asked.rule, of)
    below = [] if sensitive is None else [asked.sensitive]
    table = table_of(quasi, below, places)
    narrow = method.cut_at != "median"
    how = STRICT if method.cuts != "relaxed" else EITHER if narrow else RELAXED
    mondrian = partial(kernel.cut, how, LOOKED_AT if narrow else 0)
    _cut(partial(cutter or mondrian, table, asked.rule), 0, n, len(quasi))
    return groups_of(table)


def _cut(cut: Callable[[int, int, int], Ints], first: int, end: int, d: int) -> None:
    """Cut the rows ``first .. end-1`` by ``d`` attributes with a kernel that takes both and a grain,
    on all threads where that pays.
    """
    n = end - first
    if n * d < _ALONE or threads() == 1:
        cut(first, end, 0)
    else:
        on_all(lambda part: cut(int(part[0]), int(part[1]), 0), cut(first, end, n // _GRAIN))


def partition_again(
    method: Mondrian, quasi: Sequence[Column], cuts: list[Cut]
) -> tuple[Ints, list[Cut]]:
    """The group of every row by the ``cuts`` of the release before and those that are missing,
    shape (n,), and all cuts that there are now.
    """
    rule = method.requirement.on(len(quasi[0].codes), None).rule
    table = table_of(quasi, [])
    pieces = list(parts(cuts, table.codes, method.k))
    ends = np.cumsum([len(rows) for _, rows in pieces]).tolist()
    rows = np.concatenate([rows for _, rows in pieces])
    codes = np.ascontiguousarray(table.codes[:, rows])
    table = table._replace(codes=codes, rows=rows.astype(np.int32))
    cut = partial(kernel.cut, STRICT, LOOKED_AT if method.cut_at != "median" else 0, table)
    now: list[Cut] = []
    for (one, part), end in zip(pieces, ends, strict=True):
        if not len(part):
            now.append(one)
            continue
        first = end - len(part)
        _cut(partial(cut, rule), first, end, len(quasi))
        starts = first + np.flatnonzero(table.begins[first:end])
        least, greatest = (
            by.reduceat(table.codes[:, first:end], starts - first, axis=1).T
            for by in (np.minimum, np.maximum)
        )
        now += rebuilt(least, greatest)
    return groups_of(table), now


def table_of(
    quasi: Sequence[Column], below: Sequence[Codes], places: Sequence[Floats] | None = None
) -> Table:
    """The rows to cut, in the order in which they stand; ``below``: codes (n,) that
    they bring, too.
    """
    codes = np.stack([*(column.codes for column in quasi), *below])
    n = codes.shape[1]
    return Table(
        codes,
        np.arange(n, dtype=np.int32),
        np.concatenate(
            whole_places([column.domain for column in quasi]) if places is None else list(places)
        ),
        np.cumsum([0, *(len(column.domain) for column in quasi)], dtype=np.int64),
        np.zeros(n, dtype=np.bool_),
    )


def groups_of(table: Table) -> Ints:
    """The group of every row of a table that was cut, shape (n,)."""
    groups = np.empty(len(table.rows), dtype=np.int64)
    groups[table.rows] = np.cumsum(table.begins) - 1
    return groups
