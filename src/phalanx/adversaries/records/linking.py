# SPDX-License-Identifier: Apache-2.0
"""How many published records match each person on every set of quasi-identifiers, and how many of
them have the person's sensitive value.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Final

import numpy as np
import polars as pl

from phalanx.adversaries.disclosure import drawn, numbered
from phalanx.adversaries.records.covering import Boxes, grid_work, in_pairs, on_grids
from phalanx.adversaries.records.rows import BITS, Records
from phalanx.arrays import Bools, Floats, Ints, different, row_numbers
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.guarantees.consistency.forms import form_faults
from phalanx.guarantees.views.boxes import box_ends
from phalanx.guarantees.views.groups import Groups, places
from phalanx.randomness import Stream
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.generalized import Generalized
from phalanx.release.forms.perturbed import Perturbed
from phalanx.release.forms.sliced import BUCKET

ALL_OF: Final = 10
"""Of so many attributes, or fewer, all sets are taken."""
_TABLE: Final = 4
"""Up to so many numbers per key are looked up in a table; more are sorted."""
_MOST_PAIRS: Final = 1 << 30
"""So many pairs of a person and a group are compared (once for every set of attributes that was
drawn and every word of bits that such a set takes), or fields of grids gone through; where there
are more, persons are drawn.
"""
_FEWEST: Final = 200
"""At least so many persons are drawn."""
_COMPARED: Final = 64
"""So many attributes of a row are compared at once with those of a person."""


@dataclass(frozen=True, eq=False)
class Subsets:
    """Sets of attributes; where they are not all, every size has some, of that size each equally
    likely.
    """

    has: Bools
    """Which attributes each holds, shape (m, d)."""
    sampled: Bools
    """Whether the sets of a size were drawn, shape (d + 1,)."""

    @classmethod
    def of(cls, d: int, most: int, stream: Stream) -> "Subsets":
        """All sets of ``d`` attributes where d is at most 10; else at most ``most`` and at least
        two of every size that has more.
        """
        each = 2**d if d <= ALL_OF else max(2, most // (d + 1))
        sets: list[tuple[int, ...]] = []
        sampled = np.zeros(d + 1, dtype=bool)
        for size in range(d + 1):
            sampled[size] = comb(d, size) > each
            sets += (
                (tuple(stream.permutation(d)[:size].tolist()) for _ in range(each))
                if sampled[size]
                else combinations(range(d), size)
            )
        has = np.zeros((len(sets), d), dtype=bool)
        for at, held in enumerate(sets):
            has[at, list(held)] = True
        return cls(has, sampled)

    def __len__(self) -> int:
        return len(self.has)

    def by_size(self, figure: Floats) -> tuple[Floats, Floats]:
        """The mean of a figure of every set over the sets of each size, and the variance of that
        mean where they were drawn, each of shape (d + 1,).
        """
        size = self.has.sum(axis=1)
        times = np.bincount(size)
        mean = np.bincount(size, weights=figure) / times
        spread = np.bincount(size, weights=(figure - mean[size]) ** 2) / np.maximum(times - 1, 1)
        return mean, np.where(self.sampled, spread / times, 0.0)


def weights(d: int, p: float) -> Floats:
    """How probable each number of attributes is, where each of ``d`` is taken with probability
    ``p``, shape (d + 1,).
    """
    exact = Fraction(p)
    return np.array([float(comb(d, n) * exact**n * (1 - exact) ** (d - n)) for n in range(d + 1)])


def agreeing(persons: Ints, rows: Ints, subsets: Subsets) -> Iterator[tuple[int, Ints, Ints, Ints]]:
    """For every set of attributes, by its place: a number for each person; the rows that agree with
    some person on all of its attributes; their numbers.

    Numbers are equal just where persons and rows agree. ``persons`` (p, d) and ``rows`` (n, d) are
    codes, the latter -1 for a value that no person has. Where some attributes of a set tell apart
    all persons that differ in any, the others number no person anew: then each row is compared with
    the persons whose number it has.
    """
    widths = np.maximum(persons.max(axis=0, initial=0), rows.max(axis=0, initial=0)) + 1
    sets = [tuple(np.flatnonzero(held).tolist()) for held in subsets.has]
    everything, different_persons = np.arange(len(rows)), _different(persons, subsets)
    begun: list[tuple[tuple[int, ...], Ints, Ints, Ints]] = [
        ((), np.zeros(len(persons), np.int64), everything, np.zeros(len(rows), np.int64))
    ]
    for at in sorted(
        range(len(sets)), key=sets.__getitem__
    ):  # so that sets that begin alike share the work
        while sets[at][: len(begun[-1][0])] != begun[-1][0]:
            begun.pop()
        for place in range(len(begun[-1][0]), len(sets[at])):
            held, of_person, there, of_row = begun[-1]
            attribute = sets[at][place]
            if int(of_person.max(initial=0)) + 1 >= different_persons > 0:
                rest = np.array(sets[at][place:])
                there, of_row = _still(persons, rows, rest, of_person, there, of_row)
                begun.append((sets[at], of_person, there, of_row))
                break
            codes, width = rows[there, attribute], int(widths[attribute])
            of_person, of_row = numbered_alike(
                of_person * width + persons[:, attribute],
                np.where(codes < 0, -1, of_row * width + codes),
            )
            kept = of_row >= 0
            begun.append(((*held, attribute), of_person, there[kept], of_row[kept]))
        yield at, *begun[-1][1:]


def _different(persons: Ints, subsets: Subsets) -> int:
    """How many persons differ in some attribute; 0 where all sets of few attributes are taken,
    which share so much work that it does not matter.
    """
    if persons.shape[1] <= ALL_OF or not len(persons):
        return 0
    asked = persons.T[subsets.has.any(axis=0)]
    return int(row_numbers(asked, len(persons)).max()) + 1


def _still(
    persons: Ints, rows: Ints, rest: Ints, of_person: Ints, there: Ints, of_row: Ints
) -> tuple[Ints, Ints]:
    """The rows that agree with the persons of their number on the ``rest`` of a set, too, and their
    numbers; all persons of a number agree on it.
    """
    one = np.zeros(int(of_person.max()) + 1, dtype=np.int64)
    one[of_person] = np.arange(len(of_person))
    for begin in range(0, len(rest), _COMPARED):
        some = rest[begin : begin + _COMPARED]
        alike = (rows[there[:, None], some] == persons[one[of_row][:, None], some]).all(axis=1)
        there, of_row = there[alike], of_row[alike]
    return there, of_row


def numbered_alike(keys: Ints, others: Ints) -> tuple[Ints, Ints]:
    """A number for each of the keys, and for each of the others that equals one the same, else -1;
    keys are 0 or more, and numbers are from 0 on without gaps.
    """
    most = int(keys.max(initial=-1))
    if most >= _TABLE * (len(keys) + len(others)):
        number = different(np.concatenate([keys, others]))[1]
        occurs = np.zeros(len(number), dtype=bool)
        occurs[number[: len(keys)]] = True
        number = np.where(occurs, np.cumsum(occurs) - 1, -1)[number]
        return number[: len(keys)], number[len(keys) :]
    table = np.zeros(most + 2, dtype=np.int64)
    table[keys] = 1
    table = np.where(table, np.cumsum(table) - 1, -1)  # the last is for others that are no key
    return table[keys], table[np.where((others < 0) | (others > most), most + 1, others)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Matching:
    """Who was attacked, and what each set of attributes discloses, shape (m,): means over these
    persons.
    """

    microdata: Microdata
    who: Ints
    """Rows of the original table, shape (n,)."""
    outside: int
    """How many more were looked at and match no record on all attributes, where their own would."""
    drawn: int | None
    """How many were drawn, those outside among them; None where all were looked at."""
    count: Ints
    """How many records match each on all attributes, shape (n,)."""
    alone: Bools
    """Whether their own record alone does, shape (n,)."""
    identity: Floats
    attribute: Floats
    """All zero where there is no sensitive attribute."""
    values: Ints | None
    """Their sensitive values, shape (n,)."""
    shares: Floats
    """The share of each value among all published rows, shape (q,)."""


@dataclass(frozen=True, eq=False)
class _Cells:
    """The sensitive values of published rows: a row has one, or the shares of the values of its
    bucket.
    """

    first: Ints | None
    """Where each row's cells begin, and the end, shape (n + 1,); None where each has one."""
    value: Ints
    share: Floats
    """Sums to 1 over each row."""


def by_rows(
    form: Perturbed, microdata: Microdata, row_of: Ints, chosen: Subsets, sample: int | None
) -> Matching:
    """Records match with equal values; ``row_of`` (n,): the row of each person's own record, from
    0, which need not match; -1 for those who were not published.
    """
    published = np.flatnonzero(row_of >= 0)
    who = drawn(published, sample)
    records = Records.of(form, microdata)
    differ = records.persons[who] != records.rows[row_of[who]]
    cells = values = None
    if form.sensitive is not None:
        of_row, of_person = numbered(form.table[form.sensitive], microdata)
        cells, values = _Cells(None, of_row, np.ones(form.rows)), of_person[who]
    return _matched(
        records, microdata, who, differ, cells, values, chosen, outside=0, of=len(published)
    )


def by_buckets(
    form: Bucketized, microdata: Microdata, chosen: Subsets, sample: int | None
) -> Matching:
    """Records match with equal values, a person's own always; each has the values of its bucket, by
    their shares.
    """
    if faults := form_faults(form):
        raise ReleaseError(
            f"the release contradicts itself ({faults[0]}); see what 'phalanx verify' says of it."
        )
    records, groups = Records.of(form, microdata), Groups.of(form)
    people = drawn(np.arange(microdata.rows), sample)
    d = records.rows.shape[1]
    _, of_person, _, of_row = next(
        agreeing(
            records.persons[people],
            records.rows,
            Subsets(np.ones((1, d), bool), np.zeros(d + 1, bool)),
        )
    )
    who = people[np.isin(of_person, of_row)]
    published, true_values = numbered(
        pl.Series([]) if groups.values is None else groups.values, microdata
    )
    bucket = places(form.table[BUCKET])[1]
    length = groups.distinct[bucket]
    row = np.repeat(np.arange(form.rows), length)
    cell = groups.starts[bucket][row] + np.arange(len(row)) - (np.cumsum(length) - length)[row]
    cells = _Cells(
        np.concatenate([np.zeros(1, np.int64), np.cumsum(length)]),
        published[groups.cell_value[cell]],
        groups.cell_count[cell] / groups.sizes[bucket[row]],
    )
    differ = np.zeros((len(who), d), dtype=bool)
    return _matched(
        records,
        microdata,
        who,
        differ,
        cells,
        true_values[who],
        chosen,
        outside=len(people) - len(who),
        of=microdata.rows,
    )


def _matched(
    records: Records,
    microdata: Microdata,
    who: Ints,
    differ: Bools,
    cells: _Cells | None,
    values: Ints | None,
    chosen: Subsets,
    *,
    outside: int,
    of: int,
) -> Matching:
    """Go through all sets of attributes; ``differ`` (n, d): on which of them a person's own record
    has other values.
    """
    n = len(who)
    identity, attribute = np.zeros(len(chosen)), np.zeros(len(chosen))
    count, alone = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
    for at, of_person, there, of_row in agreeing(records.persons[who], records.rows, chosen):
        matching = np.bincount(of_row, minlength=int(of_person.max(initial=0)) + 1)[of_person]
        own, least = ~differ[:, chosen.has[at]].any(axis=1), np.maximum(matching, 1)
        identity[at] = (own / least).sum() / max(n, 1)
        if cells is not None and values is not None:
            attribute[at] = (_alike(of_person, values, there, of_row, cells) / least).sum() / max(
                n, 1
            )
        if chosen.has[at].all():
            count, alone = matching, own & (matching == 1)
    return Matching(
        microdata=microdata,
        who=who,
        outside=outside,
        drawn=None if n + outside == of else n + outside,
        count=count,
        alone=alone,
        identity=identity,
        attribute=attribute,
        values=values,
        shares=_shares(cells, values, len(records.rows)),
    )


def _alike(of_person: Ints, values: Ints, there: Ints, of_row: Ints, cells: _Cells) -> Floats:
    """How many of the records with each person's number have the person's value; ``there``: the
    rows that have a number.
    """
    q = int(max(values.max(initial=0), cells.value.max(initial=0))) + 1
    cell, of_cell = (
        (there, of_row) if cells.first is None else _repeated(there, of_row, cells.first)
    )
    wanted, number_of_row = numbered_alike(of_person * q + values, of_cell * q + cells.value[cell])
    kept = number_of_row >= 0
    return np.asarray(
        np.bincount(
            number_of_row[kept],
            weights=cells.share[cell[kept]],
            minlength=int(wanted.max(initial=-1)) + 1,
        )[wanted]
    )


def _repeated(rows: Ints, numbers: Ints, first: Ints) -> tuple[Ints, Ints]:
    """The cells of some rows, and the number of the row that each is of."""
    length = first[rows + 1] - first[rows]
    ends = np.cumsum(length)
    return np.arange(int(length.sum())) + np.repeat(
        first[rows] - (ends - length), length
    ), np.repeat(numbers, length)


def _shares(cells: _Cells | None, values: Ints | None, rows: int) -> Floats:
    """The share of every value among all rows."""
    if cells is None or values is None:
        return np.zeros(0)
    return (
        np.bincount(cells.value, weights=cells.share, minlength=int(values.max(initial=-1)) + 1)
        / rows
    )


def by_boxes(
    form: Generalized, microdata: Microdata, chosen: Subsets, sample: int | None
) -> Matching:
    """Records match whose intervals contain the values, a person's own always."""
    groups = Groups.of(form)
    low, high = (
        np.stack(ends, axis=1).astype(np.int64)
        for ends in zip(*box_ends(microdata, form), strict=True)
    )
    codes = np.stack(
        [microdata.columns[a.name].codes.astype(np.int64) for a in form.attribute("quasi")], axis=1
    )
    every = len(chosen.sampled) - 1 <= ALL_OF
    published = values = None
    none = np.zeros(0, dtype=np.int64)
    boxes = Boxes(low, high, groups.sizes, none, none, none)
    if groups.values is not None:
        published, values = numbered(groups.values, microdata)
        of_cell = published[groups.cell_value]
        boxes = Boxes(low, high, groups.sizes, groups.cell_group, of_cell, groups.cell_count)
    words = -(-codes.shape[1] // BITS)  # of bits that are compared for a pair
    times = len(groups) * (1 if every else len(chosen) * words)
    attacked = len(codes) if sample is None else min(sample, len(codes))
    work = grid_work(codes, values, boxes, chosen.has)
    on_a_grid = work <= min(attacked * times, _MOST_PAIRS)
    room = attacked if on_a_grid else max(_FEWEST, _MOST_PAIRS // times)
    people = drawn(np.arange(microdata.rows), room if sample is None else sample)
    values = None if values is None else values[people]
    covered = (
        on_grids(codes[people], values, boxes, chosen.has)
        if on_a_grid
        else in_pairs(codes[people], values, boxes, chosen.has, every=every)
    )
    there = covered.count > 0
    who, n = people[there], max(int(there.sum()), 1)
    return Matching(
        microdata=microdata,
        who=who,
        outside=int((~there).sum()),
        drawn=None if len(people) == microdata.rows else len(people),
        count=covered.count[there],
        alone=covered.count[there] == 1,
        identity=covered.identity / n,
        attribute=covered.attribute / n,
        values=None if values is None else values[there],
        shares=_of_values(groups, published, values),
    )


def _of_values(groups: Groups, published: Ints | None, values: Ints | None) -> Floats:
    """The share of every value among all rows."""
    if published is None or values is None:
        return np.zeros(0)
    return (
        np.bincount(published, weights=groups.totals, minlength=int(values.max(initial=-1)) + 1)
        / groups.rows
    )
