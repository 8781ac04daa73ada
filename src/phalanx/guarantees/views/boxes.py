# SPDX-License-Identifier: Apache-2.0
"""The public view: which groups' boxes contain a person, and which sensitive values these groups
leave possible (Xiao & Tao, SIGMOD 2007, Lemma 1).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.arrays import Bools, Ints, Sets, firsts, row_numbers, words
from phalanx.data.domain import Domain
from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.data.microdata import Microdata
from phalanx.guarantees.views.box_search import held_around
from phalanx.guarantees.views.groups import Groups, a_row_of_each
from phalanx.guarantees.views.holding import holding
from phalanx.guarantees.views.widening import Grid
from phalanx.release.forms.generalized import GROUP, Generalized

_NOWHERE: Final = np.iinfo(np.int64).max


def candidate_sets(
    microdata: Microdata, form: Generalized, number: Ints, q: int
) -> tuple[Iterator[tuple[Ints, Sets]], Ints]:
    """The sensitive values of all groups whose box contains some quasi-identifiers, a set of numbers
    below ``q`` for each that occur, some after the other: which, and their sets; and which of them
    are those of each row, shape (n,).

    ``number``: that of each of ``Groups.of(form).values``.

    An interval whose low end is missing contains the missing value; one whose both ends are missing
    contains nothing else.
    """
    groups = Groups.of(form)
    holds = holding(groups.cell_group, number[groups.cell_value], len(groups), q)
    low, high = (np.stack(side, axis=1) for side in zip(*box_ends(microdata, form), strict=True))
    columns = [microdata.columns[a.name].codes for a in form.attribute("quasi")]
    whose = row_numbers(columns, microdata.rows)
    rows = firsts(whose)
    distinct = np.stack([codes[rows].astype(np.int64) for codes in columns], axis=1)
    return held_around(distinct, low, high, holds), whose


def set_of_each(pieces: Iterable[tuple[Ints, Sets]], whose: Ints, q: int) -> Sets:
    """The candidate set of each row, of what :func:`candidate_sets` gives, shape (n, words)."""
    sets = np.zeros((int(whose.max(initial=-1)) + 1, words(q)), dtype=np.uint64)
    for some, theirs in pieces:
        sets[some] = theirs
    return sets[whose]


class Ends(NamedTuple):
    """The intervals of all groups on one attribute, in codes of the microdata's domain."""

    name: str
    low: Ints
    """The first code that lies within each, shape (g,)."""
    high: Ints
    """The last one, shape (g,)."""
    are_values: Bools
    """Whether both ends are values of the domain, shape (g,)."""
    grid: Grid | None = None
    """To which narrow ones are moved."""


def ends_of(
    microdata: Microdata, form: Generalized, widths: Mapping[str, Fraction] = MappingProxyType({})
) -> list[Ends]:
    """The intervals of every quasi-identifier; ``widths``: of those that have a least one."""
    a_row = a_row_of_each(form.table[GROUP])
    ends = []
    for a in form.attribute("quasi"):
        domain = microdata.columns[a.name].domain
        low, high = (form.table[c].gather(a_row) for c in a.columns[-2:])
        width = widths.get(a.name)
        grid = None if width is None else Grid(domain, width, low, high)
        ends.append(Ends(a.name, *_ends(domain, low, high), grid))
    return ends


def box_ends(microdata: Microdata, form: Generalized) -> list[tuple[Ints, Ints]]:
    """Per quasi-identifier the first and last code of the microdata's domain that every group's
    interval contains, each of shape (g,).
    """
    return [(ends.low, ends.high) for ends in ends_of(microdata, form)]


def unfitting(
    microdata: Microdata, boxes: Sequence[Ends], rows: Ints, at: Ints, *, perhaps: bool = False
) -> tuple[int, int]:
    """How many of ``rows`` (p,), group by group, lie outside the box of the group at their place
    ``at`` (p,); and how many groups of theirs have an interval with an end that is no value of
    their rows, nor one moved to the grid. ``perhaps``: whether not all of them must be in the group.
    """
    begin = np.flatnonzero(np.diff(at, prepend=-1))
    hosts, outside = at[begin], np.zeros(len(rows), dtype=bool)
    loose = np.zeros(len(begin), dtype=bool)
    for name, low, high, are_values, grid in boxes:
        codes = microdata.columns[name].codes[rows]
        least, greatest = np.minimum.reduceat(codes, begin), np.maximum.reduceat(codes, begin)
        first, last = low[hosts], high[hosts]
        if grid is None:
            loose |= (least != first) | (greatest != last) | ~are_values[hosts]
        else:
            follows = grid.may_follow if perhaps else grid.follows
            loose |= ~follows(least, greatest, hosts)
        if ((least < first) | (greatest > last)).any():
            outside |= (codes < low[at]) | (codes > high[at])
    return int(outside.sum()), int(loose.sum())


def codes_of_ends(domain: Domain, low: pl.Series, high: pl.Series) -> tuple[Ints, Ints]:
    """The first and last code of a domain that lie within each interval; where a single value is
    not in the domain, the first is above the last.
    """
    return _ends(domain, low, high)[:2]


def _ends(domain: Domain, low: pl.Series, high: pl.Series) -> tuple[Ints, Ints, Bools]:
    """The same, and whether both ends are values of the domain."""
    first = int(domain.has_missing)
    present = domain.values[first:]
    below, upto_low = _places(domain, present, low)
    below_high, upto = _places(domain, present, high)
    no_low, no_high = low.is_null().to_numpy(), high.is_null().to_numpy()
    low_code = np.where(no_low, 0, np.where(below == _NOWHERE, _NOWHERE, below + first))
    high_code = np.where(no_high, first - 1, np.where(upto == _NOWHERE, -1, upto + first - 1))
    are_values = np.where(no_low, domain.has_missing, below < upto_low)
    are_values &= np.where(no_high, domain.has_missing, below_high < upto)
    return low_code.astype(np.int64), high_code.astype(np.int64), are_values


def _places(domain: Domain, present: pl.Series, ends: pl.Series) -> tuple[Ints, Ints]:
    """How many of the present values lie below each end, and how many at or below it; nowhere for
    an end of another kind.

    Texts are compared once for each different one, for there are far fewer of them than groups.
    """
    if ends.dtype != pl.String:
        return _places_of_each(domain, present, ends)
    different = ends.unique()
    below, upto = _places_of_each(domain, present, different)
    lookup = pl.DataFrame({"end": different, "below": below, "upto": upto})
    places = ends.to_frame("end").join(
        lookup, on="end", how="left", nulls_equal=True, maintain_order="left"
    )
    return places["below"].to_numpy(), places["upto"].to_numpy()


def _places_of_each(domain: Domain, present: pl.Series, ends: pl.Series) -> tuple[Ints, Ints]:
    if isinstance(domain.hierarchy, Tree):
        leaf = {value: i for i, value in enumerate(present.cast(pl.String).to_list())}
        below = np.array(
            [leaf.get(end, _NOWHERE) for end in ends.cast(pl.String).to_list()], dtype=np.int64
        )
        return below, np.where(below == _NOWHERE, _NOWHERE, below + (below != _NOWHERE))
    if present.dtype == pl.String:
        texts = ends.cast(pl.String).fill_null("")
        below, upto = (
            present.search_sorted(texts, "left").to_numpy(),
            present.search_sorted(texts, "right").to_numpy(),
        )
        return below.astype(np.int64), upto.astype(np.int64)
    numbers, wanted, strange = _comparable(present, ends)
    below, upto = (
        np.searchsorted(numbers, wanted, side="left"),
        np.searchsorted(numbers, wanted, side="right"),
    )
    return np.where(strange, _NOWHERE, below).astype(np.int64), np.where(
        strange, _NOWHERE, upto
    ).astype(np.int64)


def _comparable(
    present: pl.Series, ends: pl.Series
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Bools]:
    cast = (
        ends
        if ends.dtype.is_numeric() and present.dtype.is_numeric()
        else ends.cast(present.dtype, strict=False)
    )
    strange = (cast.is_null() & ends.is_not_null()).to_numpy()
    return present.to_physical().to_numpy(), cast.to_physical().fill_null(0).to_numpy(), strange
