# SPDX-License-Identifier: Apache-2.0
"""The order of published rows: one that no row has a part in, or one that chance gave.

Tables of counts are in the order of what they say. All other rows stand in the order of their
groups, whose numbers are random, and within a group at random. An order by a value, or by the
source, would tell who is who. What is asked of random order is a test with a stated rate of false
alarms: rows (or groups) are taken in pairs half their number apart. Exchanging the two of a pair is
as likely as not, whatever they hold, so that of the pairs that differ the number of those that
ascend is as of a fair coin (Chernoff's bound of its tails is used). Values that have no order of
their own, or were put in another one, are ranked by where they stand in one half of the rows, and
asked about in the other half.

Few pairs show nothing: fewer than about 36 are never refused. An order that follows what was not
published is not seen here.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.arrays import Floats, Ints
from phalanx.guarantees.consistency.intervals import in_order
from phalanx.guarantees.consistency.runs import begins
from phalanx.release.form import Form

FALSE_ALARM: Final = 1e-9
"""How often a release in random order is refused at most, all tests of one release together."""
_LONG: Final = 64
"""In groups of so many rows, every other row tells the order that the rest are asked about; of
shorter ones, every other group does.
"""

_Test = tuple[str, int, int]
"""What was asked about, of how many pairs, and how many of them ascend."""


def order_faults(form: Form, original: Ints | None = None) -> list[str]:
    """What is wrong with the order of a sound form's rows.

    ``original`` (n,): the published group of every row of the original table, 0 for none; of a
    perturbed release the published row, from 1.
    """
    if faults := list(_declared_faults(form)):
        return faults
    return _refused(list(_tests(form, original)))


@dataclass(frozen=True)
class PartOrder:
    """What one part of a release shows of the order of rows; of a form of which ``order_faults``
    finds nothing.
    """

    rows: int
    tests: Sequence[_Test]
    ends: Mapping[str, Any]
    """The least and the greatest value of each column that chance should order, by what it is."""

    @classmethod
    def of(cls, form: Form) -> "PartOrder":
        """Look at one part.

        Parameters
        ----------
        form : Form
            Its form.

        Returns
        -------
        PartOrder
            What it shows.
        """
        ends = {
            f"{end} {name!r}": getattr(table[name], how)()
            for table, *_ in form.in_random_order()
            for name in table.columns
            if name != form.id_column
            for end, how in (("least", "min"), ("greatest", "max"))
        }
        return cls(form.rows, list(_tests(form, None)), ends)


class InParts:
    """The same questions about a release in parts, of which each may be too small to show anything:
    the pairs of all parts together, and how the parts themselves are numbered.
    """

    def __init__(self) -> None:
        self._pairs: dict[str, tuple[int, int]] = {}
        self._ends: dict[str, list[Any]] = {}

    def add(self, part: PartOrder) -> None:
        """Take a further part in, in their order.

        Parameters
        ----------
        part : PartOrder
            What it shows by itself.
        """
        for what, pairs, ascending in part.tests:
            before = self._pairs.get(what, (0, 0))
            self._pairs[what] = (before[0] + pairs, before[1] + ascending)
        self._ends.setdefault("size", []).append(part.rows)
        for what, value in part.ends.items():
            self._ends.setdefault(what, []).append(value)

    def faults(self) -> list[str]:
        """What is wrong with the order of all parts together.

        Returns
        -------
        list[str]
            One sentence for each question that chance does not answer so.
        """
        numbered = [
            _asked(
                f"parts are numbered in the order of their {what}",
                _rank(pl.Series(values, strict=False)).astype(np.float64),
            )
            for what, values in self._ends.items()
        ]
        within = [(f"{what}, over all parts", *seen) for what, seen in self._pairs.items()]
        return _refused([*within, *numbered])


def _refused(tests: Sequence[_Test]) -> list[str]:
    """The tests that chance does not pass."""
    most = math.log(2 * max(1, len(tests)) / FALSE_ALARM)
    return [
        f"{what}: {max(ascending, pairs - ascending)} of {pairs} pairs stand in one direction,"
        f" which chance does less than once in {round(1 / FALSE_ALARM):,} releases"
        for what, pairs, ascending in tests
        if _surprise(pairs, ascending) > most
    ]


def _surprise(pairs: int, ascending: int) -> float:
    """-ln of Chernoff's bound of the probability that a fair coin is so far off to that side."""
    if not pairs:
        return 0.0
    share = ascending / pairs
    return pairs * (math.log(2) + sum(p * math.log(p) for p in (share, 1 - share) if p))


def _declared_faults(form: Form) -> Iterator[str]:
    """Rows that are not in the order of their groups, and counts that are not in the order of what
    they say.
    """
    if form.id_column and not form.table[form.id_column].is_sorted():
        yield f"the rows are not in the order of their {form.id_column}s"
    for what, table, by in form.in_sorted_order():
        keys = pl.DataFrame(
            [
                (table[column] if attribute is None else in_order(attribute, table[column])).alias(
                    column
                )
                for column, attribute in by
            ]
        )
        if not keys.sort(keys.columns, nulls_last=False, maintain_order=True).equals(keys):
            yield what


def _tests(form: Form, original: Ints | None) -> Iterator[_Test]:
    """What chance orders: values within groups, and what groups are by their numbers."""
    for table, within, ordered, alike in form.in_random_order():
        if not table.height:
            return
        ids = (
            table[form.id_column].to_numpy() if form.id_column else np.zeros(table.height, np.int64)
        )
        starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
        sizes = np.diff(starts, append=table.height)
        where = "within groups rows" if form.id_column else "rows"
        ranks = {name: _rank(table[name]) for name in within}
        for name in within:
            yield _asked(
                f"{where} stand in the order of {name!r}",
                ranks[name],
                starts,
                sizes,
            )
            yield _asked(
                f"{where} stand in an order that {name!r} decides",
                *_learned(ranks[name], starts, sizes),
            )
        if form.id_column:
            yield _asked("groups are numbered by their size", sizes)
            for name in ordered:
                if name in ranks:
                    own, begin = ranks[name], starts
                elif name in alike:
                    own, begin = _rank(table[name].gather(starts)), np.arange(len(starts))
                else:
                    own, begin = _ranks_of_runs(table[name], starts)
                for what, statistic in (
                    ("least", np.minimum.reduceat(own, begin)),
                    ("greatest", np.maximum.reduceat(own, begin)),
                ):
                    yield _asked(
                        f"groups are numbered in the order of their {what} {name!r}",
                        statistic,
                    )
    if original is not None:
        yield _asked(
            "the order is that of the original table",
            _first_places(original, form.groups if form.id_column else form.rows),
        )


def _ranks_of_runs(values: pl.Series, starts: Ints) -> tuple[Ints, Ints]:
    """The ranks of the values of groups that begin at ``starts`` (g,), equal neighbours once; and
    where each group begins among them, shape (g,).
    """
    one = begins(values)
    one[starts] = True
    at = np.flatnonzero(one)
    return _rank(values.gather(at)), np.searchsorted(at, starts).astype(np.int64)


def _rank(values: pl.Series) -> Ints:
    """The places of values in their order, equal ones alike; a missing value is the lowest."""
    if values.dtype == pl.String:
        texts = values.drop_nulls().unique().sort()
        places = pl.Series(np.arange(1, len(texts) + 1))
        return values.replace_strict(texts, places, default=0).fill_null(0).to_numpy()
    if values.dtype.is_integer() or values.dtype.is_temporal():
        numbers = values.to_physical()
        ends = [int(end) for end in (numbers.min(), numbers.max()) if isinstance(end, int)]
        if ends and ends[1] - ends[0] <= 2 * len(values) and abs(ends[0]) < 1 << 62:
            places = numbers.cast(pl.Int64) - (ends[0] - 1)  # nothing is sorted
            return places.fill_null(0).to_numpy()
    return values.rank("dense").fill_null(0).to_numpy().astype(np.int64)


def _asked(
    what: str, scores: Floats | Ints, starts: Ints | None = None, sizes: Ints | None = None
) -> _Test:
    """How many pairs of rows differ in their scores, and how many of these ascend; pairs are half a
    group apart. A score that is none is of no pair.
    """
    starts = np.zeros(1, np.int64) if starts is None else starts
    sizes = np.array([len(scores)]) if sizes is None else sizes
    half = sizes // 2
    first = np.repeat(starts - np.cumsum(half) + half, half)
    first += np.arange(len(first))
    ahead = -scores[first]
    first += np.repeat(half, half)
    ahead += scores[first]
    return what, int((np.abs(ahead) > 0).sum()), int((ahead > 0).sum())


def _learned(ranks: Ints, starts: Ints, sizes: Ints) -> tuple[Floats, Ints, Ints]:
    """The rows that are asked about, by groups, scored by where their values stand on average in
    the rows that are not.
    """
    kind = np.int32 if len(ranks) < 1 << 31 else np.int64
    place = np.arange(len(ranks), dtype=kind) - np.repeat(starts.astype(kind), sizes)
    long = np.repeat(sizes >= _LONG, sizes)
    telling = np.where(long, place % 2 == 1, np.repeat(np.arange(len(sizes)) % 2 == 1, sizes))
    share = place[telling] / np.repeat(sizes.astype(kind), sizes)[telling]
    del place, long  # the most that a check of many rows holds
    taught = ranks[telling]
    times = np.bincount(taught, minlength=int(ranks.max()) + 1)
    summed = np.bincount(taught, weights=share, minlength=len(times))
    del taught, share
    scores = np.where(times > 0, summed / np.maximum(times, 1), np.nan)[ranks[~telling]]
    untold = np.add.reduceat(~telling, starts, dtype=np.int64)
    return scores, np.cumsum(untold) - untold, untold


def _first_places(original: Ints, places: int) -> Floats:
    """Where in the original table each group's rows are on average, shape (places,)."""
    at = np.flatnonzero((original > 0) & (original <= places))
    which = original[at] - 1
    times = np.bincount(which, minlength=places)
    return np.where(
        times > 0, np.bincount(which, weights=at, minlength=places) / np.maximum(times, 1), np.nan
    )
