# SPDX-License-Identifier: Apache-2.0
"""Which groups of a release may host each person, and how probable each of them is, for an
adversary who knows all quasi-identifiers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.adversaries.base import original_of
from phalanx.adversaries.candidates import hides_values
from phalanx.adversaries.groups.meeting import containing, few_enough
from phalanx.arrays import Floats, Ints, different, firsts, row_numbers
from phalanx.data.domain import Domain
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.guarantees.consistency.forms import part_faults
from phalanx.guarantees.slicing.counting import counted
from phalanx.guarantees.slicing.posterior import matches
from phalanx.guarantees.views.boxes import box_ends
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.sliced import View, own_values
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.form import Form, by_kind
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.generalized import Generalized
from phalanx.release.forms.sliced import BUCKET, Sliced

Found = tuple[Ints, Ints, Floats]
"""Pairs of a tuple and a group, with a weight."""
Hosting = tuple[Groups, Found, dict[str, Floats], float]
"""The groups of a release, the pairs, other readings of the weights, and by how much that by
counting is off.
"""

_ENTRIES: Final = 1 << 22
"""Entries that are held at once: of tuples, their groups and the values there."""
_TINY: Final = 1e-290
"""Shares below this are near what floating point cannot tell from 0; their logarithms are far from
it.
"""


@dataclass(frozen=True, eq=False)
class Hosts:
    """Persons as distinct tuples of quasi-identifiers, and the pairs of a tuple and a group that
    may host it.

    A group is what the release lays a distribution of sensitive values on: a group of a generalized
    release, a bucket of a bucketized one, and of a sliced one the rows of a bucket that agree on
    the quasi-identifiers of the sensitive column.
    """

    groups: Groups
    domains: tuple[Domain, ...]
    """Those of the original table's quasi-identifiers."""
    codes: npt.NDArray[np.int32]
    """The distinct tuples as codes of these domains, shape (u, attributes)."""
    of_person: Ints
    """Every person's tuple, shape (n,)."""
    owner: Ints
    """Each pair's tuple, ascending, shape (p,)."""
    group: Ints
    """Shape (p,): a place among the groups."""
    share: Floats
    """p(t, B): how probable the tuple's group is by the release alone; sums to 1 over each tuple
    that has a group, shape (p,).
    """
    others: Mapping[str, Floats] = field(default_factory=dict)
    """Other readings of p(t, B), each of shape (p,): of a sliced release by "rows" and, where
    each person published is known, by "counting".
    """
    off: float = 0.0
    """By which part of it some number of persons is still off, by counting."""

    @classmethod
    def of(
        cls, release: Release, microdata: Microdata, afford: Callable[[int], None] = lambda _: None
    ) -> "Hosts":
        """All persons of an original table beside a release of one form; ReleaseError where there
        are no sensitive values to lay hands on. While boxes are looked into, ``afford`` hears how
        many entries there are so far, and may refuse.

        Of a release that may hide values, a row without one has each value with the share that it
        has among those that are shown.
        """
        form = release.form
        if form.sensitive is None:
            raise ReleaseError(
                "the release has no sensitive attribute, so there is nothing to infer."
            )
        if faults := part_faults(form):
            raise ReleaseError(
                f"the release contradicts itself ({faults[0]}); see what 'phalanx verify' says"
                " of it."
            )
        codes, rows, of_person = _distinct(form, microdata)
        persons = np.bincount(of_person, minlength=len(codes))
        groups, pairs, others, off = by_kind(form, _HOSTS)(form, microdata, rows, persons, afford)
        groups = _filled(groups) if hides_values(release) else groups
        domains = tuple(microdata.columns[a.name].domain for a in form.attribute("quasi"))
        shared = _shared(groups, len(codes), *pairs)
        return cls(groups, domains, codes, of_person, *shared, others, off)

    @cached_property
    def first(self) -> Ints:
        """Where each tuple's pairs begin, and the end, shape (u + 1,)."""
        return np.searchsorted(self.owner, np.arange(len(self.codes) + 1)).astype(np.int64)

    @cached_property
    def persons(self) -> Ints:
        """How many persons have each tuple, shape (u,)."""
        return np.bincount(self.of_person, minlength=len(self.codes)).astype(np.int64)

    @cached_property
    def hosted(self) -> npt.NDArray[np.bool_]:
        """Whether some group may host each tuple, shape (u,)."""
        return np.diff(self.first) > 0

    @cached_property
    def open(self) -> Ints:
        """How many entries each tuple has, a value in a group that may host it, shape (u,)."""
        distinct = self.groups.distinct[self.group]
        return np.bincount(self.owner, weights=distinct, minlength=len(self.codes)).astype(np.int64)

    def entries(self, tuples: slice) -> tuple[Ints, Ints]:
        """Every value that some tuples may have in every group that may host them: the tuple,
        ascending, and the cell of ``groups``.
        """
        pairs = self._pairs(tuples)
        group = self.group[pairs]
        pair, cell = _ranges(self.groups.starts[group], self.groups.distinct[group])
        return self.owner[pairs][pair], cell

    def entries_of(self, tuples: Ints) -> tuple[Ints, Ints, Floats]:
        """The same of any tuples, some of them many times, with the probability by ``law``: the
        place in ``tuples``, ascending, the cell, and how probable it is.
        """
        owner, pair = _ranges(self.first[tuples], np.diff(self.first)[tuples])
        group = self.group[pair]
        of_pair, cell = _ranges(self.groups.starts[group], self.groups.distinct[group])
        each = self.share[pair] / self.groups.sizes[group]
        return owner[of_pair], cell, each[of_pair] * self.groups.cell_count[cell]

    def law(self, tuples: slice, share: Floats | None = None) -> Floats:
        """How probable each of these entries is: p(t, B), or another reading of it, times the
        value's share in the group; sums to 1 over each tuple.
        """
        pairs = self._pairs(tuples)
        group = self.group[pairs]
        _, cell = self.entries(tuples)
        weight = (self.share if share is None else share)[pairs]
        return (
            np.repeat(weight / self.groups.sizes[group], self.groups.distinct[group])
            * self.groups.cell_count[cell]
        )

    def probabilities(
        self, probability: Callable[[slice], Floats]
    ) -> Iterator[tuple[slice, Ints, Ints, Floats]]:
        """How probable every value is that a tuple may have, by that of their entries, some tuples
        at a time: the place of the tuple among these, ascending, the value, ascending for each, and
        its probability.

        Those of a tuple add up to 1; one that no group hosts has none.
        """
        q = 0 if self.groups.values is None else len(self.groups.values)
        for tuples in self._parts():
            owner, cell = self.entries(tuples)
            pairs, pair = different((owner - tuples.start) * q + self.groups.cell_value[cell])
            p = np.bincount(pair, weights=probability(tuples), minlength=len(pairs))
            at, value = np.divmod(pairs, max(q, 1))
            yield tuples, at, value, p / np.bincount(at, weights=p)[at]

    def _parts(self) -> Iterator[slice]:
        """Ranges of tuples with no more entries than are held at once, but for one that has more by
        itself.
        """
        before, start = np.append(0, np.cumsum(self.open)), 0
        while start < len(self.codes):
            room = int(np.searchsorted(before, before[start] + _ENTRIES, side="right")) - 1
            end = max(start + 1, min(room, len(self.codes)))
            yield slice(start, end)
            start = end

    def _pairs(self, tuples: slice) -> slice:
        return slice(int(self.first[tuples.start]), int(self.first[tuples.stop]))


def shows_values(release: Release) -> bool:
    """Whether some row shows a sensitive value."""
    groups = Groups.of(release.form)
    return groups.values is None or groups.values.null_count() < len(groups.values)


def _filled(groups: Groups) -> Groups:
    """The groups without the missing value, each row of which has every value that is shown, with
    its share, so that counts are fractions.
    """
    if groups.values is None or not groups.values.null_count():
        return groups
    is_value = groups.values.is_not_null().to_numpy()[groups.cell_value]
    hidden = np.zeros(len(groups))
    hidden[groups.cell_group[~is_value]] = groups.cell_count[~is_value]
    count = groups.cell_count[is_value].astype(np.float64)
    group, value = groups.cell_group[is_value], groups.cell_value[is_value]
    if not len(count):
        raise ReleaseError("the release shows no sensitive value, so there is nothing to infer.")
    times = np.bincount(value, weights=count)
    shown, some = np.flatnonzero(times), np.flatnonzero(hidden)
    if len(shown) * len(some) > _ENTRIES:
        raise ReleaseError(
            f"{len(some)} groups hold values that are not shown, too many to lay each of"
            f" {len(shown)} values on; use the adversary 'history'."
        )
    spread = np.outer(hidden[some], times[shown] / times.sum()).ravel()
    group = np.concatenate([group, np.repeat(some, len(shown))])
    value = np.concatenate([value, np.tile(shown, len(some))])
    q = len(groups.values)
    cells, at = np.unique(group * q + value, return_inverse=True)
    counts = np.bincount(at, weights=np.concatenate([count, spread]))
    return replace(groups, cell_group=cells // q, cell_value=cells % q, cell_count=counts)


def _ranges(starts: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """Ranges of so many numbers each: the place of the range of each number, and the number."""
    which = np.repeat(np.arange(len(starts)), lengths)
    return which, np.arange(len(which)) + (starts - (np.cumsum(lengths) - lengths))[which]


def original_table(release: Release, evidence: Evidence) -> Microdata:
    """The original table, of those who were published where a mapping tells who was."""
    microdata = original_of(release, evidence, "no quasi-identifiers are known")
    mapping = evidence.groups.get(release.number)
    if mapping is None or microdata.persons is None:
        return microdata
    published = mapping.filter(pl.col(mapping.columns[1]) != 0)["person"]
    return microdata.take(
        microdata.persons.is_in(published.implode()).arg_true().to_numpy().astype(np.int64)
    )


def _distinct(form: Form, microdata: Microdata) -> tuple[npt.NDArray[np.int32], Ints, Ints]:
    """The distinct tuples, a row that has each, and each person's."""
    names = [a.name for a in form.attribute("quasi")]
    columns = [microdata.columns[name].codes for name in names]
    of_person = row_numbers(columns, microdata.rows)
    rows = firsts(of_person)
    return np.stack([codes[rows] for codes in columns], axis=1), rows, of_person


def _shared(groups: Groups, tuples: int, owner: Ints, group: Ints, weight: Floats) -> Found:
    """The pairs in order of tuples, their weights scaled to shares; groups without a sensitive
    value host no person.
    """
    is_possible = (weight > 0) & (groups.distinct > 0)[group]
    if not is_possible.all():
        owner, group, weight = owner[is_possible], group[is_possible], weight[is_possible]
    step = np.diff(owner)
    if ((step < 0) | ((step == 0) & (group[1:] < group[:-1]))).any():
        order = np.lexsort((group, owner))
        owner, group, weight = owner[order], group[order], weight[order]
    return owner, group, weight / np.bincount(owner, weights=weight, minlength=tuples)[owner]


def _of_sliced(form: Sliced, microdata: Microdata, rows: Ints, persons: Ints, *_: Any) -> Hosting:
    """The matching buckets, weighted by f(t, B); in the order of tuples and groups also by rows,
    and by counting if there are as many persons as rows.
    """
    view = View.of(form)
    if view.sensitive is None:
        raise ReleaseError("the release has no sensitive attribute, so there is nothing to infer.")
    tuples, q = view.of_people(microdata, rows), len(view.sides[-1].values)
    key = view.cell_bucket * q + view.cell_value
    pairs: list[Found] = [_NOTHING]
    for some in matches(view, tuples):
        group = np.searchsorted(key, some.bucket * q + tuples[some.tuple, -1]).astype(np.int64)
        pairs.append((some.tuple, group, _degrees(some.tuple, some.above, some.below)))
    owner, group, weight = _together(pairs)
    order = np.lexsort((group, owner))
    owner, group, weight = owner[order], group[order], weight[order]
    bucket = view.cell_bucket[group]
    numbers = weight * view.sizes[bucket]
    others = {"rows": numbers / np.bincount(owner, weights=numbers, minlength=len(rows))[owner]}
    off = 0.0
    all_are_there = int(persons[np.unique(owner)].sum()) == int(view.sizes.sum())
    counts = counted(view, tuples, persons, owner, bucket) if all_are_there else None
    if counts is not None:
        others["counting"], off = counts[0], counts[2]
    return view.sensitive, (owner, group, weight), others, off


def _degrees(owner: Ints, above: Ints, below: Ints) -> Floats:
    """f(t, B), where it would be too small for floating point times a factor that is the same for
    all buckets of a tuple.
    """
    share: Floats = (above / below).astype(np.float64)
    if share.min(initial=1) > _TINY:
        return share
    logarithm = np.array(
        [log(a) - log(b) for a, b in zip(above.tolist(), below.tolist(), strict=True)]
    )
    most = np.full(int(owner.max()) + 1, -np.inf)
    np.maximum.at(most, owner, logarithm)
    scaled: Floats = np.exp(logarithm - most[owner])
    return scaled


def _of_bucketized(form: Bucketized, microdata: Microdata, rows: Ints, *_: Any) -> Hosting:
    """The buckets with rows of the same quasi-identifiers, weighted by how many: each of these rows
    is as likely the person's (Xiao & Tao, VLDB 2006).
    """
    attributes = form.attribute("quasi")
    names = [c for a in attributes for c in a.columns]
    cells = form.table.group_by(BUCKET, *names).len("\0rows")
    values = cells.select(names).unique().with_row_index("\0value")
    cells = cells.join(values, on=names, nulls_equal=True)
    true_values = own_values(attributes, values.drop("\0value"), microdata, rows)
    hosted = pl.DataFrame({"\0tuple": np.arange(len(rows)), "\0value": true_values}).filter(
        pl.col("\0value") >= 0
    )
    hosts = hosted.join(
        cells.select(BUCKET, pl.col("\0value").cast(pl.Int64), "\0rows"), on="\0value"
    )
    groups = Groups.of(form)
    pairs = (
        hosts["\0tuple"].to_numpy().astype(np.int64),
        np.searchsorted(groups.ids.to_numpy(), hosts[BUCKET].to_numpy()).astype(np.int64),
        hosts["\0rows"].to_numpy().astype(np.float64),
    )
    return groups, pairs, {}, 0.0


def _of_generalized(
    form: Generalized, microdata: Microdata, rows: Ints, _: Ints, afford: Callable[[int], None]
) -> Hosting:
    """The groups whose box contains the tuple, weighted by their rows."""
    codes = np.stack(
        [microdata.columns[a.name].codes[rows].astype(np.int64) for a in form.attribute("quasi")],
        axis=1,
    )
    low, high = (np.stack(ends, axis=1) for ends in zip(*box_ends(microdata, form), strict=True))
    groups, keys, entries = Groups.of(form), [], 0
    for owner, group in few_enough(containing(codes, low, high)):
        entries += int(groups.distinct[group].sum())
        afford(entries)
        keys.append(owner * len(low) + group)
    key = np.concatenate([_NOTHING[0], *keys])
    keys.clear()
    key.sort()
    owner, group = np.divmod(key, len(low))
    return groups, (owner, group, groups.sizes[group].astype(np.float64)), {}, 0.0


def _together(parts: Sequence[Found]) -> Found:
    owner, group, weight = (np.concatenate(side) for side in zip(*parts, strict=True))
    return owner, group, weight


_HOSTS: Final[Mapping[str, Callable[..., Hosting]]] = {
    "sliced": _of_sliced,
    "bucketized": _of_bucketized,
    "generalized": _of_generalized,
}
_NOTHING: Final[Found] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
