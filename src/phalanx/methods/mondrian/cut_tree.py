# SPDX-License-Identifier: Apache-2.0
"""Cuts that stay from release to release, so that persons who stay keep their group and their box.

Where a cut lies follows from the quasi-identifiers of this release and of those before it alone. It
stays as long as it leaves k rows on both sides; where it does not, all below it is cut anew, and a
part that has become large enough is cut further.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from phalanx.arrays import Codes, Ints
from phalanx.data.microdata import Microdata

CUTS: Final = "cuts"
"""State table (attribute, last): all cuts, each before those of its first part and then those of
its second one; the greatest code of the first part; no attribute stands for a part without cut."""
VALUES: Final = "cut values"
"""State table (attribute, value): the values that have these codes, in order."""
_NONE: Final = -1


class Cut(NamedTuple):
    """One cut, or a part that has none."""

    attribute: int
    """-1: a part that has none."""
    last: int
    """The greatest code of the first part."""


def parts(cuts: list[Cut], codes: Codes, k: int) -> Iterator[tuple[Cut, Ints]]:
    """The cuts that stay, in their order, each with no rows, and the parts that they leave, with
    their rows; ``codes`` (d, n).
    """
    behind = _behind(cuts)
    waiting = [(0, np.arange(codes.shape[1]))]
    while waiting:
        at, rows = waiting.pop()
        attribute, last = cuts[at]
        first = codes[attribute, rows] <= last if attribute != _NONE else np.zeros(0, np.bool_)
        if attribute != _NONE and k <= int(first.sum()) <= len(rows) - k:
            yield cuts[at], rows[:0]
            waiting += [(behind[at + 1], rows[~first]), (at + 1, rows[first])]
        else:
            yield Cut(_NONE, 0), rows


def _behind(cuts: list[Cut]) -> list[int]:
    """Behind each cut and all below it, the place of the next one."""
    behind = [0] * len(cuts)
    for at in reversed(range(len(cuts))):
        alone = cuts[at].attribute == _NONE
        behind[at] = at + 1 if alone else behind[behind[at + 1]]
    return behind


def rebuilt(low: Codes, high: Codes) -> Iterator[Cut]:
    """Cuts that part groups which strict cuts left in this order, from the least and the greatest
    codes of each, shape (g, d).
    """
    waiting = [(0, len(low))]
    while waiting:
        first, end = waiting.pop()
        if end - first == 1:
            yield Cut(_NONE, 0)
            continue
        greatest = np.maximum.accumulate(high[first : end - 1], axis=0)
        least = np.minimum.accumulate(low[first + 1 : end][::-1], axis=0)[::-1]
        places, attributes = np.nonzero(greatest < least)
        best = int(np.argmin(np.abs(2 * (places + 1) - (end - first))))
        place, attribute = int(places[best]), int(attributes[best])
        yield Cut(attribute, int(greatest[place, attribute]))
        middle = first + place + 1
        waiting += [(middle, end), (first, middle)]


def recall(state: Mapping[str, pl.DataFrame], microdata: Microdata) -> list[Cut]:
    """The cuts of the release before, in this table's codes; one part where there are none.

    A value that the release before had not goes with the value before it in order.
    """
    if CUTS not in state:
        return [Cut(_NONE, 0)]
    names = list(microdata.schema.quasi)
    renewed = {
        name: _renewed(
            state[VALUES].filter(pl.col("attribute") == name)["value"],
            column.domain.values.cast(pl.String),
        )
        for name, column in zip(names, microdata.quasi, strict=True)
    }
    return [
        Cut(_NONE, 0) if name is None else Cut(names.index(name), int(renewed[name][last]))
        for name, last in state[CUTS].iter_rows()
    ]


def _renewed(before: pl.Series, now: pl.Series) -> Ints:
    """For each of the old values the last new code that lies on its side of a cut behind it, shape
    (len(before),); -1 where none does.
    """
    places = pl.DataFrame({"value": before, "place": np.arange(len(before))})
    old_place = pl.DataFrame({"value": now}).join(
        places, on="value", how="left", nulls_equal=True, maintain_order="left"
    )["place"]
    reached = np.maximum.accumulate(old_place.fill_null(-1).to_numpy())
    return np.searchsorted(reached, np.arange(len(before)), side="right") - 1


def to_state(cuts: Iterable[Cut], microdata: Microdata) -> dict[str, pl.DataFrame]:
    """What the next release is to know."""
    names = list(microdata.schema.quasi)
    listed = [(None if a == _NONE else names[a], last) for a, last in cuts]
    values = [
        pl.DataFrame({"value": column.domain.values.cast(pl.String)}).select(
            attribute=pl.lit(name), value="value"
        )
        for name, column in zip(names, microdata.quasi, strict=True)
    ]
    table = pl.DataFrame(listed, {"attribute": pl.String, "last": pl.Int64}, orient="row")
    return {CUTS: table, VALUES: pl.concat(values)}
