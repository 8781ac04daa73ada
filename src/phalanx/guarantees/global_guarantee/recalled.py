# SPDX-License-Identifier: Apache-2.0
"""What a series knows of each person before a release and after it, as the next release would recall
it: what is carried, and about who left what was laid aside last.

Of who left, and is exposed to nothing, nothing changes: what was laid aside stays as it is, and is
looked at again where they return.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from phalanx.arrays import Integers, Ints
from phalanx.data.standing import rows_of
from phalanx.guarantees.global_guarantee.shares import numbered
from phalanx.release.evidence.evidence import Tables
from phalanx.release.evidence.exposures import (
    HISTORIES,
    LAID,
    LEFT,
    PAIRS,
    PAIRS_ASIDE,
    PERSONS,
    SCALE,
    Exposures,
    pairs_aside,
)

NONE = -1
"""The history of a person about whom nothing is known."""
_COLUMNS = {
    PERSONS: ("person", "history", "away"),
    HISTORIES: ("pairs", "origin", "laid"),
    PAIRS: ("value", "survival", "times"),
    LEFT: ("person", "history"),
    LAID: ("history", "pairs", "release"),
}
_TYPES: Mapping[str, Collection[Any]] = {"person": {pl.Binary()}, "laid": {pl.Boolean()}}
_WHOLE: Collection[Any] = {
    *(pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64()),
    *(pl.UInt8(), pl.UInt16(), pl.UInt32(), pl.UInt64()),
}
"""The types of all other columns."""
_BEFORE, _AFTER = "before", "after"
_EARLIER, _WITH = "before, of persons who left,", "after, of persons who left,"


class Behind:
    """Numbers of several arrays, one behind the other, of which none is copied to look some up.

    >>> Behind([np.array([5, 6]), np.array([7])])[np.array([2, 0])].tolist()
    [7, 5]
    """

    def __init__(self, arrays: Sequence[Integers]) -> None:
        self.arrays = arrays
        self.ends = np.cumsum([len(each) for each in arrays])

    def __getitem__(self, at: Ints) -> Integers:
        """Those at some places, in the order of these."""
        others = np.flatnonzero(at >= self.ends[0])
        if not len(others):
            return self.arrays[0][at]
        numbers = np.zeros(len(at), np.result_type(*self.arrays))
        if self.ends[0]:
            np.take(self.arrays[0].astype(numbers.dtype, copy=False), at, out=numbers, mode="clip")
        of = np.searchsorted(self.ends, at[others], side="right")
        for which in np.unique(of).tolist():
            here = others[of == which]
            numbers[here] = self.arrays[which][at[here] - self.ends[which - 1]]
        return numbers


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of each person, in several pieces."""

    persons: pl.Series
    """Each once, shape (p,)."""
    history: Ints
    """Which history each has, shape (p,), through all pieces; NONE for none."""
    starts: Ints
    """The first pair of each history, shape (h + 1,)."""
    value: Behind
    survival: Behind
    times: Behind
    values: pl.Series

    @classmethod
    def of(
        cls, pieces: Sequence[Exposures], persons: pl.Series, history: Ints, values: pl.Series
    ) -> "Known":
        """The ``pieces``, and who has which of their histories."""
        many = np.concatenate([np.diff(piece.starts) for piece in pieces])
        return cls(
            persons,
            history,
            np.append([0], np.cumsum(many)),
            Behind([piece.value for piece in pieces]),
            Behind([piece.survival for piece in pieces]),
            Behind([piece.times for piece in pieces]),
            values,
        )

    @property
    def links(self) -> int:
        """How many pairs of a person and a value there are, where each person has a history."""
        return int(np.diff(self.starts)[self.history].sum())


@dataclass(frozen=True, eq=False)
class Recalled:
    """All of whom something is carried with a release, or was laid aside with it: ``before`` and
    ``after`` are about the same persons, in the same order.
    """

    before: Known
    after: Known

    @classmethod
    def of(
        cls, before: Tables, after: Tables, added: Collection[str] | None
    ) -> "Recalled | Sequence[str]":
        """What the tables say that are remembered before a release and after it; where they are no
        exposures, or lose a person, what is wrong. ``added``: the names of those to which the release
        adds rows; None where this is not known.
        """
        try:
            _check(_column_faults(before, after))
            _check(_left_faults(before, after), _pairs_faults(before, after, added))
            return cls._of(before, after)
        except _UnsoundError as wrong:
            return wrong.faults
        except (KeyError, IndexError, TypeError, ValueError, pl.exceptions.PolarsError):
            return ["what is remembered has other columns, or other types, than it must have"]

    @classmethod
    def _of(cls, before: Tables, after: Tables) -> "Recalled":
        earlier, carried = Exposures.of_tables(before), Exposures.of_tables(after)
        _check(shape_faults(earlier, _BEFORE), shape_faults(carried, _AFTER))
        _check(value_faults(earlier, carried))
        aside = _recalled(after, _added(LEFT, before, after), _WITH)
        everyone = [carried, *aside]
        people, now = _numbered_through(everyone)
        at = rows_of(people, earlier.persons)
        # where no person ever left, all who were not there before are new, and looked at already
        strangers = people.filter(at == NONE) if aside or LEFT in before else people.clear()
        _check(_people_faults(at, strangers, earlier))
        returned = _recalled(before, _returned(before, strangers), _EARLIER)
        pieces, was = [earlier, *returned], np.append(earlier.history, [NONE])[at]
        known, histories = _numbered_through(pieces)
        back = slice(len(earlier.persons), None)
        was[rows_of(known[back], people)] = histories[back]
        return cls(
            Known.of(pieces, people, was, carried.values),
            Known.of(everyone, people, now, carried.values),
        )


class _UnsoundError(Exception):
    """What is remembered are no exposures, or they are not of the same persons."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__(*faults)
        self.faults = faults


def _check(*faults: Iterable[str]) -> None:
    if every := list(chain(*faults)):
        raise _UnsoundError(every)


def shape_faults(carried: Exposures, when: str) -> Iterator[str]:
    """What keeps tables from being exposures at all; ``when`` says which of them these are."""
    if faults := list(fit_faults(carried, when)):
        yield from faults
        return
    starts = carried.starts
    if len(carried.value) and (
        carried.value.min() < 0 or carried.value.max() >= len(carried.values)
    ):
        yield f"pairs carried {when} are about values that are not carried"
        return
    if carried.persons.n_unique() < len(carried.persons) or carried.persons.null_count():
        yield f"persons are carried {when} more than once"
    if carried.values.n_unique() < len(carried.values) or carried.values.null_count():
        yield f"values are carried {when} more than once"
    ascending = np.append(carried.value[1:] > carried.value[:-1], [True])
    ascending[starts[starts > 0] - 1] = True  # from one history to the next
    if not ascending.all():
        yield f"pairs carried {when} are not in order, or twice"
    if len(carried.survival) and (carried.survival.min() < 0 or carried.survival.max() > SCALE):
        yield f"survival carried {when} is outside of 0 and 1"


def fit_faults(carried: Exposures, when: str) -> Iterator[str]:
    """Whether persons have histories, and these pairs."""
    lengths = {len(carried.value), len(carried.survival), len(carried.times)}
    starts, history = carried.starts, carried.history
    if (
        len(lengths) > 1
        or not len(starts)
        or starts[0] != 0
        or starts[-1] != len(carried.value)
        or (np.diff(starts) < 0).any()
    ):
        yield f"the pairs carried {when} do not fit the histories"
    elif len(history) != len(carried.persons) or (
        len(history) and (history.min() < 0 or history.max() >= len(starts) - 1)
    ):
        yield f"the histories carried {when} do not fit the persons"


def _people_faults(at: Ints, strangers: pl.Series, earlier: Exposures) -> Iterator[str]:
    """Whether each person of before is there once afterwards, by their places ``at``, and so are those
    who were not.
    """
    times = np.bincount(at[at != NONE], minlength=len(earlier.persons))
    if (times > 1).any() or strangers.n_unique() < len(strangers):
        yield "persons are carried after more than once"
    elif (times == 0).any():
        yield "persons that were carried before are lost"


def value_faults(before: Exposures, after: Exposures) -> Iterator[str]:
    """Whether what a series carried before has the same place afterwards."""
    values = after.values.head(len(before.values))
    if len(before.values) and not values.cast(before.values.dtype, strict=False).equals(
        before.values, check_names=False
    ):
        yield "values that were carried before are lost or in other places"


def _table(name: str, tables: Tables) -> pl.DataFrame:
    """Who left, or what was laid aside; nothing where there is no such table."""
    schema = {"person": pl.Binary} if name == LEFT else {"pairs": pl.UInt32, "release": pl.UInt32}
    return tables[name] if name in tables else pl.DataFrame(schema=schema | {"history": pl.Int64})


def _added(name: str, before: Tables, after: Tables) -> pl.DataFrame:
    """The rows of such a table that a release added."""
    return _table(name, after).slice(len(_table(name, before)))


def _column_faults(before: Tables, after: Tables) -> Iterator[str]:
    """Whether tables have the columns and the types that they must have, and nothing is missing."""
    new = (pairs_aside(release) for release in _added(LAID, before, after)["release"].unique())
    for name, columns in {**_COLUMNS, **dict.fromkeys(new, _COLUMNS[PAIRS])}.items():
        if name in after and not (
            tuple(after[name].columns) == columns
            and all(each.dtype in _TYPES.get(each.name, _WHOLE) for each in after[name])
            and not any(each.null_count() for each in after[name])
        ):
            yield f"the table {name!r} has other columns, or other types, than it must have"
    if HISTORIES in after and after[HISTORIES]["origin"].is_duplicated().any():
        yield "histories that are carried have the same number"


def _left_faults(before: Tables, after: Tables) -> Iterator[str]:
    """Whether those who left before, and what was laid aside, are named as they were; and what was
    laid aside with the release by a number of its own, and once.
    """
    for name in (LEFT, LAID):
        earlier, new = _table(name, before), _added(name, before, after)
        if len(earlier) and not _are_alike(_table(name, after).head(len(earlier)), earlier):
            yield "what was laid aside before is not named as it was"
    last = earlier["release"].max() if len(earlier) else 0
    if new["release"].n_unique() > 1 or (new["release"] <= last).any():
        yield "histories that were laid aside with the release are named with another one"
    again = new["history"].is_in(earlier["history"].implode()).any()
    if again or new["history"].n_unique() < len(new):
        yield "histories are laid aside more than once"


def _are_alike(some: pl.DataFrame, others: pl.DataFrame) -> bool:
    """Whether tables are the same, also in their types, which numbers of another one are not."""
    return some.schema == others.schema and some.equals(others)


def _pairs_faults(before: Tables, after: Tables, added: Collection[str] | None) -> Iterator[str]:
    """Whether pairs that were laid aside before are as they were, and those that are with the release
    are remembered for good.
    """
    earlier = [pairs_aside(release) for release in _table(LAID, before)["release"].unique()]
    new = [pairs_aside(release) for release in _added(LAID, before, after)["release"].unique()]
    if added is None:
        changed = any(not _are_alike(after[name], before[name]) for name in earlier)
    else:
        changed = not set(earlier) <= set(after)
        changed |= [name for name in added if name.startswith(PAIRS_ASIDE)] != new
    if changed:
        yield "what was laid aside before is not as it was, or with the release not for good"


def _returned(before: Tables, persons: pl.Series) -> pl.DataFrame:
    """Those of ``persons`` who left before (person, history), as they left last."""
    left = _table(LEFT, before)
    some = left.filter(left["person"].is_in(persons.implode()))
    newest = rows_of(persons, some["person"])
    return some[np.sort(newest[newest != NONE])]


def _recalled(tables: Tables, left: pl.DataFrame, when: str) -> list[Exposures]:
    """What was laid aside about those who ``left`` (person, history), release by release."""
    laid = _table(LAID, tables)
    row_of = numbered(left["history"], laid["history"])
    if (row_of == NONE).any():
        raise _UnsoundError([f"histories carried {when} are not laid aside"])
    release_of, pieces = laid["release"].to_numpy()[row_of], []
    for release in np.unique(release_of).tolist():
        some = np.flatnonzero(release_of == release)
        try:
            aside = Exposures.laid_aside(tables, release)
        except KeyError:
            raise _UnsoundError([f"the pairs carried {when} are not laid aside"]) from None
        place = numbered(left["history"].gather(some), pl.Series(aside.origin))
        piece = replace(aside, persons=left["person"].gather(some), history=place)
        _check(fit_faults(piece, when))
        pieces.append(_of_these(piece))
    _check(*(shape_faults(piece, when) for piece in pieces))
    return pieces


def _of_these(piece: Exposures) -> Exposures:
    """The same with the histories that its persons have."""
    some, history = np.unique(piece.history, return_inverse=True)
    at, many = of_histories(piece, some)
    return replace(
        piece,
        history=history,
        starts=np.append([0], np.cumsum(many)),
        value=piece.value[at],
        survival=piece.survival[at],
        times=piece.times[at],
        origin=piece.origin[some],
        laid=piece.laid[some],
    )


def of_histories(carried: Exposures | Known, history: Ints) -> tuple[Ints, Ints]:
    """The places of the pairs of some histories, and how many each has; NONE has none."""
    first, end = carried.starts[history], carried.starts[history + 1]
    many = np.where(history == NONE, 0, end - first)
    at = np.repeat(first - np.cumsum(many) + many, many) + np.arange(int(many.sum()))
    return at, many


def _numbered_through(pieces: Sequence[Exposures]) -> tuple[pl.Series, Ints]:
    """The persons of all pieces, and their histories, which are numbered through them."""
    behind = np.cumsum([0, *(len(piece.starts) - 1 for piece in pieces[:-1])])
    persons = pl.concat([piece.persons.alias("person") for piece in pieces])
    history = [piece.history + n for piece, n in zip(pieces, behind, strict=True)]
    return persons, np.concatenate(history)
