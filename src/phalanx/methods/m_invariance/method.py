# SPDX-License-Identifier: Apache-2.0
"""m-Invariance: publish a table again and again while rows come and go (Xiao & Tao, SIGMOD 2007,
Section 4).

How we differ from the paper. It fills the place of a value that is short with a new tuple where one
is in stock, and so tells which value was short; here every shortage is a counterfeit, and new
tuples enter signatures in whole sets, which tells nothing (``balancing``; the proof is in
docs/explanation/m-invariance.md). It looks back one release (Lemma 4); with ``remember`` we place a
person who returns under the signature first published for them. It takes a tuple whose value
changed for a new tuple; we ask the steward. It assumes that the new tuples are m-eligible; we
refuse, or suppress the fewest that restore it. It assigns new tuples from everywhere; we assign
them region by region (``assigning.py``). Of equally good splits we take the most even one, and
counterfeits make up for lists with fewer persons before a cut. It asks for intervals of a least
width (section 4.1); here none has one unless ``min_width`` says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Ints, in_order
from phalanx.data.domain import whole_places
from phalanx.data.microdata import Microdata
from phalanx.errors import MethodError, NotEligible, PlanError, SchemaError
from phalanx.exact import of_python
from phalanx.guarantees.base import Guarantee
from phalanx.guarantees.m_invariance.guarantee import MInvariance as MInvarianceGuarantee
from phalanx.methods.base import (
    Division,
    Draft,
    LooksBack,
    Memory,
    Offer,
    Suppressed,
    check_min_width,
    check_widths,
    parameters_of,
)
from phalanx.methods.m_invariance import kernels
from phalanx.methods.m_invariance.assigning import Assigning, automatic, count, of_newcomers
from phalanx.methods.m_invariance.offer import OFFER
from phalanx.methods.m_invariance.regions import Regions
from phalanx.methods.m_invariance.signatures import Signatures
from phalanx.methods.mondrian.method import Mondrian, partition
from phalanx.methods.not_applicable import published_apart
from phalanx.methods.threads import on_all, threads
from phalanx.randomness import Randomness
from phalanx.release.evidence.signatures import Remembered
from phalanx.release.forms.generalized import generalize

Balancing = Literal["exact", "paper"]
Changed = Literal["refuse", "suppress", "new-record"]
NotEligiblePolicy = Literal["refuse", "suppress"]


@dataclass(frozen=True, kw_only=True)
class MInvariance:
    """No person's persistent value is linked with them by more than 1/m over all releases of a
    series (Lemma 3), by an adversary who knows this method.

    Assumes that the adversary knows every person's quasi-identifier values and in which releases
    the person is, that values persist, and that as far as the adversary knows persons are alike. It
    does not cover suppressed rows, nor persons who share a group with one, nor values of kept
    columns. With ``balancing = "paper"`` or ``remember = False`` it holds only against an adversary
    who does not reason about the method's choices, or about returns.

    Raises
    ------
    PlanError
        For parameters that mean nothing.

    Examples
    --------
    >>> MInvariance(m=2).parameters()["name"]
    'm-invariance'
    """

    name: ClassVar[str] = "m-invariance"
    needs_persons: ClassVar[bool] = True
    looks_back: ClassVar[LooksBack] = "digests"
    takes_registry: ClassVar[bool] = False
    takes_not_applicable: ClassVar[bool] = True
    takes_order_by_frequency: ClassVar[bool] = True
    bytes_per_value: ClassVar[int] = 300  # in later releases, with what is remembered of persons
    offer: ClassVar[Offer] = OFFER

    m: int
    """At least this many values, all different, in every group; 2 or more."""
    balancing: Balancing = "exact"
    """A value that is short in a signature: always a counterfeit, or, as in the paper, a new tuple
    where one can be spared; the paper's way needs hardly any counterfeits, and names values and
    persons to anyone who knows the method.
    """
    regions: int | Literal["auto"] = "auto"
    """New persons meet in at most so many regions of the quasi-identifiers, 1 or more: more lose
    less and need more counterfeits. 1 is the paper's way; "auto" follows from public counts, so
    that few are needed, and makes fewer of newcomers than of a first table.
    """
    remember: bool = True
    """Keep the signature of everyone ever published; False forgets those who left, as the paper
    does, and exposes some who return, and with them some who stood in their groups.
    """
    changed: Changed = "refuse"
    """A person whose sensitive value changed: refuse the release, suppress the person, or publish a
    new record under a signature of its own. Suppressing tells that the value changed; a new record
    is covered only where no adversary knows that it and the old one are of one person, for then
    they differ.
    """
    not_eligible: NotEligiblePolicy = "refuse"
    """New rows with a value in more than 1/m of them: refuse, or suppress the fewest rows that
    restore eligibility, which all hold a most frequent value.
    """
    min_width: Mapping[str, float] = field(default_factory=dict)
    """Per quasi-identifier the least width of a published interval, in its own unit (leaves for a
    categorical one).
    """

    def __post_init__(self) -> None:
        of_python(self)
        if isinstance(self.m, bool) or not isinstance(self.m, int) or self.m < 2:
            raise PlanError(
                f"[method] m = {self.m!r} must be a whole number of at least 2, for one value alone"
                " covers no person."
            )
        for key, allowed in (
            ("balancing", ("exact", "paper")),
            ("changed", ("refuse", "suppress", "new-record")),
            ("not_eligible", ("refuse", "suppress")),
        ):
            if getattr(self, key) not in allowed:
                raise PlanError(
                    f"[method] {key} = {getattr(self, key)!r} is not one of {', '.join(allowed)}."
                )
        number = isinstance(self.regions, int) and not isinstance(self.regions, bool)
        if self.regions != "auto" and not (number and int(self.regions) >= 1):
            raise PlanError(
                f"[method] regions = {self.regions!r} must be a whole number of at least 1, or"
                ' "auto".'
            )
        if self.balancing == "paper" and self.regions not in ("auto", 1):
            raise PlanError(
                f'[method] regions = {self.regions} goes with balancing = "exact"; the paper has'
                " one."
            )
        if not isinstance(self.remember, bool):
            raise PlanError(f"[method] remember = {self.remember!r} must be true or false.")
        check_widths(self.min_width)

    @property
    def holds_if_method_known(self) -> bool:
        """Where no place is filled, no person is forgotten, and no row is suppressed or published
        under a second signature by its value.
        """
        return (
            self.balancing == "exact"
            and self.remember
            and self.changed == "refuse"
            and self.not_eligible == "refuse"
        )

    @property
    def divided_by(self) -> Division | None:
        """By regions; not where who left is forgotten, who then would not stay in a part, nor where
        the fewest rows of the whole table are to be suppressed.
        """
        return "regions" if self.remember and self.not_eligible == "refuse" else None

    def known(self, memory: Memory) -> pl.Series:
        """All persons who were ever published.

        Parameters
        ----------
        memory : Memory
            What a series remembers, or a part of one.

        Returns
        -------
        pl.Series
            The keyed hash of each.
        """
        return Remembered.of_tables(memory.tables).persons["person"]

    @property
    def may_suppress(self) -> Sequence[str]:
        changed: Sequence[str] = ("changed-value",) if self.changed == "suppress" else ()
        return (*changed, "not-eligible") if self.not_eligible == "suppress" else changed

    @property
    def privacy_unit(self) -> str:
        """A person whose value changed has several records where they are published anew."""
        return "record" if self.changed == "new-record" else "person"

    @property
    def guarantees(self) -> list[Guarantee]:
        return [
            MInvarianceGuarantee(m=self.m, consecutive=not self.remember, balancing=self.balancing)
        ]

    def parameters(self) -> dict[str, Any]:
        return parameters_of(self)

    def publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        """Division, balancing (by default: entering in whole sets), assignment, split; MethodError
        or NotEligible where the promise cannot be kept.
        """
        check_min_width(self.min_width, microdata)
        return published_apart(
            microdata,
            lambda part: self._publish(part, memory, rng),
            lambda part: partition(Mondrian(k=self.m), part.quasi, None),
            rng.stream("apart"),
            least=self.m,
            min_width=self.min_width,
        )

    def _publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        """The same of rows whose values are applicable."""
        if microdata.persons is None:
            raise SchemaError(
                "m-invariance follows persons through the releases and no identifier is declared;"
                " name the identifier column in the schema."
            )
        microdata.check_single_valued("m-invariance")
        stream = rng.stream("m-invariance")
        signatures = Signatures.recall(
            microdata, memory, everyone=self.remember, per_record=self.changed == "new-record"
        )
        suppressed_rows: dict[str, int] = {}
        published = np.ones(microdata.rows, dtype=bool)
        if changed := int(signatures.changed.sum()):
            if self.changed == "refuse":
                raise MethodError(
                    f"{changed} person(s) come with another value of {microdata.schema.sensitive!r}"
                    " than was published; correct the table, or begin another series with"
                    ' changed = "suppress".'
                )
            if self.changed == "suppress":
                published[signatures.changed] = False
                suppressed_rows["changed value"] = changed

        regions = Regions.recall(microdata, memory)
        signatures, entries, source, surplus = self._assigned(
            microdata, stream.permutation(microdata.rows), published, signatures, regions
        )
        if surplus:
            suppressed_rows["not m-eligible"] = surplus
        groups = _split(entries, source, signatures, microdata)
        form, published_id = generalize(
            microdata,
            source,
            groups,
            rng.stream("generalize"),
            values=signatures.domain.gather(signatures.values[entries]),
            counterfeits=True,
            min_width=self.min_width,
        )
        group_of_row = np.zeros(microdata.rows, dtype=np.int64)
        real = source >= 0
        group_of_row[source[real]] = published_id[groups[real]]
        new = real & (signatures.of_row[source] < 0)
        entry_of_new = np.full(microdata.rows, -1, dtype=np.int64)
        entry_of_new[source[new]] = entries[new]
        return Draft(
            form=form,
            groups=group_of_row,
            remember={
                **signatures.to_remember(microdata.persons, entry_of_new),
                **regions.to_remember(),
            },
            suppressed=Suppressed(rows=suppressed_rows),
        )

    def _assigned(
        self,
        microdata: Microdata,
        shuffled: Ints,
        published: Bools,
        signatures: Signatures,
        regions: Regions,
    ) -> tuple[Signatures, Ints, Ints, int]:
        """The signatures with those that are opened; the entry and the row (-1: counterfeit) of all
        published tuples, ordered by entry; and how many rows are none of them although they are to
        be ``published`` (n,), so that the others are m-eligible.

        ``shuffled`` (n,): all rows in random order. S_cap are the tuples with a signature, S_minus
        the new ones, of which "random tuples" are the next ones.
        """
        shuffled = shuffled[published[shuffled]]
        has_signature = signatures.of_row[shuffled] >= 0
        s_cap, s_minus = shuffled[has_signature], shuffled[~has_signature]
        s_minus, surplus = self._eligible(s_minus, signatures, microdata)
        if len(s_cap) + len(s_minus) == 0:
            raise MethodError(
                "every row would be suppressed and nothing is left to publish; lower m, or add rows"
                " with other values."
            )

        buckets = _division(s_cap, signatures)
        invented, members = _shortage(signatures, buckets), _members(signatures, buckets)
        rest, filled, filled_entries = s_minus, s_minus[:0], s_minus[:0]
        if self.balancing == "paper":
            codes, of_entries, n = signatures.codes, signatures.values, signatures.n_values
            remaining = count(codes[s_minus], n)
            taken, invented = kernels.balancing(
                signatures.offsets, of_entries, buckets, remaining, self.m
            )
            filled, filled_entries, rest = kernels.take(
                codes, s_minus, np.arange(len(taken)), taken, of_entries, n
            )
        assigning = self._assigning(microdata.rows, signatures.n_values, len(rest))
        signatures, assigned, entries = assigning.assign(rest, signatures, members, regions)
        s_minus = np.concatenate([filled, assigned])
        entered = np.concatenate([filled_entries, entries])
        return signatures, *_move(s_cap, s_minus, entered, signatures, invented), surplus

    def _assigning(self, rows: int, n_values: int, new: int) -> Assigning:
        """Into how many regions ``new`` of so many rows are cut: by the plan, or by counts.

        ``n_values``: the values that signatures and new rows have. How many are present now would
        tell, for a signature's persons may be the only ones with a value.
        """
        least = 1
        regions = self.regions
        if self.balancing == "paper":
            regions = 1
        elif regions == "auto":
            regions = automatic(rows, n_values, self.m)
            regions, least = of_newcomers(regions, new, rows), n_values * self.m
        fewest = max(-(-new // regions), least)
        return Assigning(m=self.m, fewest=fewest, whole_sets=self.balancing == "exact")

    def _eligible(
        self, s_minus: Ints, signatures: Signatures, microdata: Microdata
    ) -> tuple[Ints, int]:
        """S_minus if it is m-eligible; else refuse, or the largest part of it that is, and how many
        rows that leaves out.
        """
        codes = signatures.codes[s_minus]
        counts = count(codes, signatures.n_values)
        if len(s_minus) == 0 or self.m * int(counts.max()) <= len(s_minus):
            return s_minus, 0
        cap = largest_eligible(counts, self.m)
        surplus = int(np.maximum(counts - cap, 0).sum())
        if self.not_eligible == "refuse":
            most, values = int(counts.max()), int((counts > 0).sum())
            ways = (
                [f"lower m to at most {len(s_minus) // most}"] if len(s_minus) >= 2 * most else []
            )
            if signatures.known:  # what the series states and promises stays
                ways = [f"leave {surplus} of them out at the source, or begin another series"]
            elif surplus < len(s_minus):
                ways += [f'set not_eligible = "suppress" in [method] to leave out {surplus} row(s)']
            raise NotEligible(
                f"{most} of the {len(s_minus)} new rows ({most / len(s_minus):.1%}) share one value"
                f" of {microdata.schema.sensitive!r} "
                f"(they hold {values} different values) and m = {self.m} allows 1/{self.m}"
                f" ({1 / self.m:.1%}); "
                f"{', or '.join(ways) or 'no m of 2 or more fits, so more rows with other values are needed'}."
            )
        by_value = in_order(codes)
        rank = np.empty(len(s_minus), dtype=np.int64)
        rank[by_value] = np.arange(len(s_minus)) - np.repeat(np.cumsum(counts) - counts, counts)
        return s_minus[rank < cap], surplus


def largest_eligible(counts: Ints, m: int | Fraction) -> int:
    """The largest c such that keeping at most c rows of every value leaves an m-eligible rest; 0 if
    there is none.

    Keeping more rows of the values below the cap never hurts, so for each c the best rest has
    ``sum(min(counts, c))`` rows, and it is m-eligible iff that is at least ``m * c``. The
    difference is concave in c and zero at 0, so bisection finds the last c.

    >>> largest_eligible(np.array([5, 2, 1]), 2)
    3
    """
    low, high = 0, int(counts.max(initial=0))
    while low < high:
        c = (low + high + 1) // 2
        if int(np.minimum(counts, c).sum()) >= m * c:
            low = c
        else:
            high = c - 1
    return low


def _division(s_cap: Ints, signatures: Signatures) -> Ints:
    """Phase 1: how many tuples of S_cap own each entry (signature, value)."""
    return count(signatures.entry_of_row[s_cap], len(signatures.values))


def _shortage(signatures: Signatures, buckets: Ints) -> Ints:
    """How many tuples each entry is short of, shape (e,): a counterfeit for every one, whichever
    value it is.
    """
    return np.repeat(_members(signatures, buckets), np.diff(signatures.offsets)) - buckets


def _members(signatures: Signatures, buckets: Ints) -> Ints:
    """The most tuples of S_cap that any value of each signature has, shape (q,)."""
    if len(buckets) == 0:
        return buckets
    most: Ints = np.maximum.reduceat(buckets, signatures.offsets[:-1])
    return most


def _move(
    s_cap: Ints, s_minus: Ints, entered: Ints, signatures: Signatures, invented: Ints
) -> tuple[Ints, Ints]:
    """All published tuples: the entry and the microdata row (-1: counterfeit) of each, ordered by
    entry; ``entered`` holds the entries of ``s_minus``.
    """
    entry_of_invented = np.repeat(np.arange(len(invented)), invented)
    entries = np.concatenate([signatures.entry_of_row[s_cap], entered, entry_of_invented])
    source = np.concatenate([s_cap, s_minus, np.full(len(entry_of_invented), -1, dtype=np.int64)])
    return kernels.by_entry(entries, source, len(signatures.values))


def _split(entries: Ints, source: Ints, signatures: Signatures, microdata: Microdata) -> Ints:
    """Phase 4: the group of every published tuple, shape (p,), 0 .. g-1."""
    lengths = count(entries, len(signatures.values))[signatures.offsets[:-1]]
    live = np.flatnonzero(lengths)
    sizes, lengths = np.diff(signatures.offsets)[live], lengths[live]
    starts, names = (np.concatenate([[0], np.cumsum(n)]) for n in (sizes * lengths, lengths))
    buckets = kernels.Buckets(starts, sizes, lengths, names)
    real, columns = source >= 0, microdata.quasi
    codes = np.empty((len(columns), len(source)), dtype=np.int32)
    for of, column in zip(codes, columns, strict=True):
        np.take(column.codes, np.maximum(source, 0), out=of)
    codes[:, ~real] = 0
    along = kernels.Along(
        np.concatenate(whole_places([column.domain for column in columns])).astype(np.int32),
        np.cumsum([0, *(len(column.domain) for column in columns)]),
    )
    work = np.cumsum(sizes * lengths * np.log2(lengths + 1))
    parts = min(threads(), 8, len(live))
    cuts = [
        0,
        *(int(np.searchsorted(work, work[-1] * (i + 1) / parts)) for i in range(parts - 1)),
        len(live),
    ]
    groups = np.empty(len(source), dtype=np.int64)
    on_all(lambda ends: kernels.split(codes, along, real, buckets, *ends, groups), pairwise(cuts))
    return groups


__all__ = ["MInvariance", "largest_eligible"]
