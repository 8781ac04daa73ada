# SPDX-License-Identifier: Apache-2.0
"""Mondrian: the microdata cut into boxes, each with at least k persons and, where asked, diverse
and close sensitive values.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from phalanx.data.microdata import Column, Microdata
from phalanx.errors import MethodError, NotEligible, PlanError, SchemaError, did_you_mean, lower_to
from phalanx.exact import Number, bounded, exact, plain, whole
from phalanx.guarantees.base import Guarantee
from phalanx.guarantees.k_anonymity import KAnonymity
from phalanx.guarantees.l_diversity import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    RecursiveDiversity,
)
from phalanx.guarantees.t_closeness import Closeness
from phalanx.methods.base import Draft, Memory, check_min_width, check_widths
from phalanx.methods.mondrian.balanced import by_even_cuts
from phalanx.methods.mondrian.kernels import cuts as kernel
from phalanx.methods.mondrian.kernels.balanced import Requirement
from phalanx.randomness import Randomness, Stream
from phalanx.release.forms.generalized import generalize

Diversity = Literal["frequency", "distinct", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]
Cuts = Literal["balanced", "strict", "relaxed"]
CutAt = Literal["least-width", "median"]

_WORDS: Final = {
    "diversity": get_args(Diversity),
    "distance": get_args(Distance),
    "cuts": get_args(Cuts),
    "cut_at": get_args(CutAt),
}
_LARGEST: Final = 2**30
"""Fractions whose parts are larger do not fit the kernel; they are tightened to ones that do."""
_KINDS: Final = {
    "frequency": kernel.FREQUENCY,
    "distinct": kernel.DISTINCT,
    "entropy": kernel.ENTROPY,
    "recursive": kernel.RECURSIVE,
}
_GRAIN: Final = 16
"""A node of less than this part of the table is one thread's work."""
_ALONE: Final = 50_000
"""Below this many rows threads cost more than they save."""


@dataclass(frozen=True, kw_only=True)
class Mondrian:
    """Every group has at least k persons and, with l or t, sensitive values that say little about
    any one of them.

    Publishes, for each row, its group's tight interval on every quasi-identifier beside the row's
    own sensitive and kept values; rows and group ids are in random order. A missing value counts as
    a value of its own, below all others. The promise is about one release: two releases of a
    changing table may expose people together (see m-invariance).

    Raises PlanError for parameters that cannot be met by any table, SchemaError where l or t is
    asked and no sensitive attribute is declared or it holds sets, MethodError for fewer than k
    rows, NotEligible where the whole table is not diverse enough to begin with.

    Balanced cuts hold against an adversary who knows the method, everybody's quasi-identifiers and
    the table's values: each member of a group has each value with exactly the share that the group
    shows. ``strict`` and ``relaxed`` cuts with l or t do not: a cut that was not made says what
    would have failed, which may name persons (minimality;
    docs/explanation/k-anonymity-and-algorithms.md has figures). With k alone no cut looks at a
    sensitive value.

    Source: LeFevre, DeWitt, Ramakrishnan, ICDE 2006, section 4, which is ``cut_at = "median"``; how
    we differ stands at the head of ``methods/mondrian/kernels/cuts.py``. Balanced cuts and those of
    least width are our own, see ``methods/mondrian/kernels/balanced.py`` and
    ``methods/mondrian/kernels/narrow_cuts.py``.

    >>> Mondrian(k=10, l=2.5).parameters()
    {'name': 'mondrian', 'k': 10, 'l': '5/2', 'diversity': 'frequency', 'cuts': 'balanced'}
    """

    name: ClassVar[str] = "mondrian"
    needs_persons: ClassVar[bool] = False
    looks_back: ClassVar[Literal["all", "last"]] = "all"
    takes_registry: ClassVar[bool] = False
    may_suppress: ClassVar[Sequence[str]] = ()

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
    """``balanced``: a cut that fails tells of nobody, the default with l or t; ``strict``: boxes
    are disjoint, the default with k alone; ``relaxed``: persons with one value may fall on either
    side.
    """
    cut_at: CutAt | None = None
    """Where strict and relaxed cuts are made: ``least-width``, the default: where groups are
    expected to be narrowest; ``median``: of the widest attribute.
    """
    min_width: Mapping[str, float] = field(default_factory=dict)
    """Per attribute the least width of a published interval, in its own unit."""

    def __post_init__(self) -> None:
        whole(self.k, "[method] k")
        for parameter, allowed in _WORDS.items():
            word = getattr(self, parameter)
            if word not in allowed and (parameter not in ("cuts", "cut_at") or word is not None):
                raise PlanError(
                    f"[method] {parameter} = {word!r} is not"
                    f" known{did_you_mean(str(word), allowed) or '; use one of ' + ', '.join(allowed) + '.'}"
                )
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
        if self.t is None and self.distance != "equal":
            raise PlanError(f"[method] distance = {self.distance!r} needs t; add it.")
        if self.cut_at is not None and self._used_cuts == "balanced":
            raise PlanError(
                f"[method] cut_at = {self.cut_at!r} is for strict and relaxed cuts, and these are"
                " balanced; leave it out, or name the cuts."
            )
        check_widths(self.min_width)

    @property
    def guarantees(self) -> list[Guarantee]:
        promised: list[Guarantee] = (
            [] if self.k == 1 and (self.l, self.t) != (None, None) else [KAnonymity(k=self.k)]
        )
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

    def publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        check_min_width(self.min_width, microdata)
        if self._about_sensitive:
            microdata.check_single_valued("a promise of l or t")
        of = microdata.schema.sensitive
        if self._used_cuts == "balanced":
            groups = balanced_partition(
                self,
                microdata.quasi,
                microdata.sensitive if self._about_sensitive else None,
                rng.stream("deal"),
                of=of,
            )
        else:
            # Relaxed cuts deal persons who are equal in all quasi-identifiers out in the order in
            # which they stand, which must not be that of the source.
            order = (
                rng.stream("deal").permutation(microdata.rows)
                if self._used_cuts == "relaxed"
                else np.arange(microdata.rows)
            )
            dealt = microdata.take(order) if self._used_cuts == "relaxed" else microdata
            groups = np.empty(microdata.rows, dtype=np.int64)
            groups[order] = partition(
                self, dealt.quasi, dealt.sensitive if self._about_sensitive else None, of=of
            )
        form, published = generalize(
            microdata,
            np.arange(microdata.rows),
            groups,
            rng.stream("mondrian"),
            min_width=self.min_width,
        )
        return Draft(form=form, groups=published[groups])

    def parameters(self) -> dict[str, Any]:
        said: dict[str, Any] = {"name": self.name, "k": self.k}
        if self.l is not None:
            said |= {"l": plain(self.l), "diversity": self.diversity}
        if self.c is not None:
            said["c"] = plain(self.c)
        if self.t is not None:
            said |= {"t": plain(self.t), "distance": self.distance}
        said["cuts"] = self._used_cuts
        if self._used_cuts != "balanced":
            said["cut_at"] = self._used_cut_at
        return said | ({"min_width": dict(self.min_width)} if self.min_width else {})

    @property
    def _about_sensitive(self) -> bool:
        return self.l is not None or self.t is not None

    @property
    def _used_cuts(self) -> Cuts:
        return self.cuts or ("balanced" if self._about_sensitive else "strict")

    @property
    def _used_cut_at(self) -> CutAt:
        return self.cut_at or "least-width"

    @property
    def holds_if_method_known(self) -> bool:
        """Balanced cuts tell of nobody, and no cut does where k alone is asked for; else a cut that
        was not made tells of sensitive values (minimality).
        """
        return self._used_cuts == "balanced" or not self._about_sensitive


def balanced_partition(
    method: Mondrian,
    quasi: Sequence[Column],
    sensitive: Column | None,
    stream: Stream,
    *,
    of: str | None = None,
) -> npt.NDArray[np.int64]:
    """The group of every row by balanced cuts, 0 .. g-1, shape (n,); ``of`` names the sensitive
    attribute in errors.
    """
    n = len(quasi[0].codes)
    rule, log_l, totals, nodes, node_totals, values = rule_of(method, n, sensitive)
    positions = np.ascontiguousarray(
        np.stack([column.domain.normalised[column.codes] for column in quasi], axis=1)
    )
    if n < method.k:
        raise _too_few(method, n)
    names = by_even_cuts(
        positions,
        stream,
        int(rule[kernel.K]),
        Requirement(values, rule, log_l, totals, nodes, node_totals),
    )
    if names is None:
        raise _not_eligible(method, np.sort(totals[totals > 0])[::-1], of)
    groups: npt.NDArray[np.int64] = np.unique(names, return_inverse=True)[1]
    return groups


def partition(
    method: Mondrian,
    quasi: Sequence[Column],
    sensitive: Column | None,
    *,
    of: str | None = None,
    cutter: Callable[..., npt.NDArray[np.int64]] = kernel.cut,
    places: Sequence[npt.NDArray[np.float64]] | None = None,
) -> npt.NDArray[np.int64]:
    """The group of every row, 0 .. g-1, shape (n,), numbered so that groups that were cut from each
    other late stand together.

    ``of`` names the sensitive attribute in errors; ``cutter`` makes the cuts, by the kernel's
    signature; ``places``: where each attribute's values are, if not from 0 to 1 on a line. The
    number of threads has no influence on the groups.
    """
    n = len(quasi[0].codes)
    rule, log_l, totals, nodes, node_totals, values = rule_of(method, n, sensitive)
    if n < method.k:
        raise _too_few(method, n)
    if sensitive is not None and not kernel.meets(values, rule, log_l, totals, nodes, node_totals):
        raise _not_eligible(method, np.sort(totals[totals > 0])[::-1], of)
    stacked = np.empty((len(quasi) + (sensitive is not None), n), dtype=np.int32)
    for a, column in enumerate(quasi):
        stacked[a] = column.codes
    if sensitive is not None:
        stacked[-1] = values
    positions = np.concatenate(
        [column.domain.normalised for column in quasi] if places is None else list(places)
    )
    offsets = np.cumsum([0, *(len(column.domain) for column in quasi)], dtype=np.int64)
    rows = np.arange(n, dtype=np.int32)
    begins = np.zeros(n, dtype=np.bool_)

    def cut(first: int, end: int, grain: int) -> npt.NDArray[np.int64]:
        left: npt.NDArray[np.int64] = cutter(
            stacked,
            rows,
            positions,
            offsets,
            rule,
            log_l,
            totals,
            nodes,
            node_totals,
            first,
            end,
            grain,
            begins,
        )
        return left

    threads = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if n < _ALONE or threads == 1:
        cut(0, n, 0)
    else:
        parts = cut(0, n, n // _GRAIN)
        with ThreadPoolExecutor(threads) as pool:
            for waiting in [pool.submit(cut, int(first), int(end), 0) for first, end in parts]:
                waiting.result()
    groups = np.empty(n, dtype=np.int64)
    groups[rows] = np.cumsum(begins) - 1
    return groups


def rule_of(method: Mondrian, n: int, sensitive: Column | None) -> tuple[Any, ...]:
    """The parameters as the kernel takes them; a fraction that does not fit is tightened, never
    loosened.
    """
    rule = np.ones(kernel.RULE_LENGTH, dtype=np.int64)
    rule[[kernel.DIVERSITY, kernel.DISTANCE]] = kernel.NONE
    rule[kernel.K], rule[kernel.ROWS], rule[kernel.RELAXED] = method.k, n, method.cuts == "relaxed"
    rule[kernel.CUT_AT] = kernel.MEDIAN if method.cut_at == "median" else kernel.LEAST_WIDTH
    nothing = (
        np.empty(0, dtype=np.int64),
        np.empty((1, 0), dtype=np.int32),
        np.empty((1, 0), dtype=np.int64),
    )
    if sensitive is None:
        return rule, 0.0, *nothing, np.empty(0, dtype=np.int32)
    log_l = 0.0
    if method.l is not None:
        l = _above(min(exact(method.l, "l"), Fraction(n + 1)))
        rule[kernel.DIVERSITY], rule[kernel.L_NUM], rule[kernel.L_DEN] = (
            _KINDS[method.diversity],
            l.numerator,
            l.denominator,
        )
        rule[kernel.K] = max(method.k, math.ceil(l))  # fewer tuples are never diverse
        log_l = math.log(l)
    if method.c is not None:
        c = _below(min(exact(method.c, "c"), Fraction(n + 1)))
        rule[kernel.C_NUM], rule[kernel.C_DEN] = c.numerator, c.denominator
    counts = np.bincount(sensitive.codes, minlength=len(sensitive.domain))
    present = np.flatnonzero(counts)
    places, m = _places(sensitive, present, method.distance)
    place_of = np.zeros(len(counts), dtype=np.int32)
    place_of[present] = places
    values = place_of[sensitive.codes]
    totals = np.bincount(values, minlength=m).astype(np.int64)
    nodes = np.arange(len(totals), dtype=np.int32)[None, :]
    if method.t is not None:
        t = _below(exact(method.t, "t"))
        rule[kernel.DISTANCE] = kernel.ORDERED if method.distance == "ordered" else kernel.TREE
        rule[kernel.T_NUM], rule[kernel.T_DEN] = t.numerator, t.denominator
        if method.distance == "hierarchical":
            nodes = _levels(sensitive, present)
        if max(len(totals), 2 * len(nodes)) * n * n >= 2**62:
            raise MethodError(
                f"closeness over {len(present)} sensitive values in {n} rows is too large to be"
                " decided exactly; publish fewer rows, or recode the values."
            )
    node_totals = np.zeros(nodes.shape, dtype=np.int64)
    for level, above in enumerate(nodes):
        np.add.at(node_totals[level], above, totals)
    return rule, log_l, totals, nodes, node_totals, values


def _places(
    sensitive: Column, present: npt.NDArray[np.int64], distance: Distance
) -> tuple[npt.NDArray[np.int64], int]:
    """The place of each present value among the values that the distance is about, and the number
    of those.

    The ordered distance counts all declared leaves where there is a hierarchy, used or not; else a
    value is one that the table holds.
    """
    values, hierarchy = sensitive.domain.values.gather(present), sensitive.domain.hierarchy
    if distance != "ordered" or hierarchy is None:
        return np.arange(len(present)), len(present)
    leaves = hierarchy.leaves(values.drop_nulls()).cast(values.dtype)
    missing = values.null_count()
    place_of = {leaf: place for place, leaf in enumerate(leaves.to_list(), missing)}
    return np.array([place_of.get(value, 0) for value in values.to_list()]), missing + len(leaves)


def _levels(sensitive: Column, present: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
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


def _too_few(method: Mondrian, n: int) -> MethodError:
    return MethodError(
        f"the table has {n} row(s) and a group needs k = {method.k}; lower k, or publish when there"
        " are more rows."
    )


def _not_eligible(method: Mondrian, counts: npt.NDArray[np.int64], of: str | None) -> NotEligible:
    """By how much the whole table fails, and the ways out; ``counts`` in falling order."""
    n, most, distinct = int(counts.sum()), int(counts[0]), len(counts)
    out = "or make the values coarser at the source."
    if distinct == 1:
        return NotEligible(
            f"column {of!r} has one value in all {n} rows, which no l above 1 can hide; name"
            " another sensitive attribute, or drop it."
        )
    if method.diversity == "distinct" or exact(method.l or 1, "l") > distinct:
        return NotEligible(
            f"column {of!r} has {distinct} distinct value(s) and l = {method.l} asks for at least"
            f" as many in every group; {lower_to('l', distinct)}{out}"
        )
    if method.diversity == "frequency":
        highest = math.floor(100 * n / most) / 100
        return NotEligible(
            f"the most frequent value of column {of!r} stands in {most} of {n} rows"
            f" ({100 * most / n:.1f} %) and l = {method.l} allows at most 1/l;"
            f" {lower_to('l', highest)}suppress rows with that value, {out}"
        )
    if method.diversity == "entropy":
        log_n = math.log(n)
        highest = (
            math.floor(
                100 * math.exp(log_n - math.fsum(int(r) * math.log(int(r)) for r in counts) / n)
            )
            / 100
        )
        return NotEligible(
            f"column {of!r} has over all {n} rows the entropy of {highest:g} equally frequent"
            f" values, and l = {method.l} is asked; {lower_to('l', highest)}{out}"
        )
    tail = int(counts[int(exact(method.l or 1, "l")) - 1 :].sum())
    return NotEligible(
        f"the most frequent value of column {of!r} stands in {most} of {n} rows, and c ="
        f" {method.c}, l = {method.l} allows fewer than c times {tail}; raise c above"
        f" {math.ceil(100 * most / tail) / 100:g}, lower l, {out}"
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
