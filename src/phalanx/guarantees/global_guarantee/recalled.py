# SPDX-License-Identifier: Apache-2.0
"""What a series knows of each person before a release and after it, as the next release would recall
it: what is carried about who is there, and about who left what was laid aside with it last.

Of whom a release exposes to nothing, and who was not in the one before it, nothing changes: what was
laid aside stays as it is, and is looked at again where they return.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.standing import rows_of
from phalanx.release.evidence.evidence import Tables
from phalanx.release.evidence.exposures import LEFT, SCALE, Exposures

NONE = -1
"""The history of a person about whom nothing is known."""
_BEFORE, _AFTER = "before", "after"
_EARLIER, _WITH = "before, of persons who left,", "after, of persons who left,"


@dataclass(frozen=True, eq=False)
class Recalled:
    """All of whom something is carried with a release, or was laid aside with it: ``before`` and
    ``after`` are about the same persons, in the same order, and a history may be NONE.
    """

    before: Exposures
    after: Exposures

    @classmethod
    def of(cls, before: Tables, after: Tables) -> "Recalled | Sequence[str]":
        """What the tables say that are remembered before a release and after it; where they are no
        exposures, or lose a person, what is wrong.
        """
        earlier, carried = Exposures.of_tables(before), Exposures.of_tables(after)
        faults = [*shape_faults(earlier, _BEFORE), *shape_faults(carried, _AFTER)]
        if faults or (faults := [*value_faults(earlier, carried), *_left_faults(before, after)]):
            return faults
        gone = _newly_left(before, after)
        aside = [_laid_aside(after, int(gone["release"][0]))] if len(gone) else []
        if faults := [fault for each in aside for fault in shape_faults(each, _WITH)]:
            return faults
        everyone = [carried, *aside]
        people = pl.concat([each.persons.alias("person") for each in everyone])
        at = rows_of(people, earlier.persons)
        times, unknown = np.bincount(at + 1, minlength=len(earlier.persons) + 1)[1:], at == NONE
        strangers = people.gather(np.flatnonzero(unknown))
        if (times > 1).any() or strangers.n_unique() < len(strangers):
            return ["persons are carried after more than once"]
        if (times == 0).any():
            return ["persons that were carried before are lost"]
        pieces, histories = [earlier], np.append(earlier.history, [NONE])[at]
        unknown = np.flatnonzero(unknown)
        for who, piece in _returned(before, strangers):
            if faults := list(shape_faults(piece, _EARLIER)):
                return faults
            where = rows_of(strangers.gather(who), piece.persons)
            histories[unknown[who]] = _reached(pieces) + piece.history[where]
            pieces.append(piece)
        behind = [_reached(everyone[:place]) for place in range(len(everyone))]
        now = [each.history + first for each, first in zip(everyone, behind, strict=True)]
        return cls(
            _joined(pieces, people, histories, carried.values),
            _joined(everyone, people, np.concatenate(now), carried.values),
        )


def shape_faults(carried: Exposures, when: str) -> Iterator[str]:
    """What keeps tables from being exposures at all; ``when`` says which of them these are."""
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
        return
    if len(history) != len(carried.persons) or (
        len(history) and (history.min() < 0 or history.max() >= len(starts) - 1)
    ):
        yield f"the histories carried {when} do not fit the persons"
        return
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


def value_faults(before: Exposures, after: Exposures) -> Iterator[str]:
    """Whether what a series carried before has the same place afterwards."""
    values = after.values.head(len(before.values))
    if len(before.values) and not values.cast(before.values.dtype, strict=False).equals(
        before.values, check_names=False
    ):
        yield "values that were carried before are lost or in other places"


def _left(tables: Tables) -> pl.DataFrame:
    """Who left so far, and with which release."""
    if LEFT in tables:
        return tables[LEFT]
    return pl.DataFrame(schema={"person": pl.Binary, "release": pl.UInt32, "history": pl.UInt32})


def _newly_left(before: Tables, after: Tables) -> pl.DataFrame:
    """Who left with the release."""
    return _left(after).slice(len(_left(before)))


def _left_faults(before: Tables, after: Tables) -> Iterator[str]:
    """Whether those who left before are named as they were, and who left with the release by a number
    of its own.
    """
    earlier, gone = _left(before), _newly_left(before, after)
    if not _left(after).head(len(earlier)).equals(earlier):
        yield "persons who left before are not named as they were"
    elif (
        gone["release"].n_unique() > 1 or gone["release"].is_in(earlier["release"].implode()).any()
    ):
        yield "persons who left with the release are named with another one"


def _returned(before: Tables, persons: pl.Series) -> Iterator[tuple[Ints, Exposures]]:
    """Those of ``persons`` who left before, by their place, and what was laid aside with them when
    they left last; release by release.
    """
    left = _left(before)
    if not len(left) or not len(persons):
        return
    some = left.filter(left["person"].is_in(persons.implode()))
    newest = rows_of(persons, some["person"])
    of = np.append(some["release"].to_numpy().astype(np.int64), [NONE])[newest]
    for release in np.unique(of[of != NONE]).tolist():
        yield np.flatnonzero(of == release), _laid_aside(before, release)


def _laid_aside(tables: Tables, release: int) -> Exposures:
    """What was laid aside with a release; where that is missing, persons whom no history fits."""
    try:
        return Exposures.laid_aside(tables, release)
    except KeyError:
        return replace(Exposures.none(), persons=_left(tables)["person"])


def _reached(pieces: Sequence[Exposures]) -> int:
    """How many histories some exposures have together."""
    return sum(len(piece.starts) - 1 for piece in pieces)


def _joined(
    pieces: Sequence[Exposures], persons: pl.Series, history: Ints, values: pl.Series
) -> Exposures:
    """One set of exposures, in which histories are numbered through all ``pieces``."""
    if len(pieces) == 1:
        one = pieces[0]
        return Exposures(persons, history, one.starts, one.value, one.survival, one.times, values)
    many = np.concatenate([np.diff(piece.starts) for piece in pieces])
    return Exposures(
        persons,
        history,
        np.append([0], np.cumsum(many)),
        np.concatenate([piece.value for piece in pieces]),
        np.concatenate([piece.survival for piece in pieces]),
        np.concatenate([piece.times for piece in pieces]),
        values,
    )
