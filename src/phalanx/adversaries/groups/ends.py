# SPDX-License-Identifier: Apache-2.0
"""Who can have set the ends of published boxes: an end of a tight box is the value of a person who
is in the group.
"""

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.adversaries.groups.meeting import containing, few_enough
from phalanx.arrays import Bools, Ints, firsts, row_numbers
from phalanx.data.domain import Domain
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.guarantees.views.boxes import box_ends, codes_of_ends
from phalanx.guarantees.views.groups import Groups, places
from phalanx.release.folder import Release
from phalanx.release.forms.generalized import GROUP

NO_PERSON: Final = -1
_NEAR: Final = Fraction(1, 10**9)
"""A float this near to a line of the grid, relatively, is taken to be on it."""
_EPOCH: Final = date(1970, 1, 1).toordinal()
_LIMITS: Final = frozenset(
    map(
        Fraction,
        (
            2**63 - 1,
            -(2**63),
            date.max.toordinal() - _EPOCH,
            date.min.toordinal() - _EPOCH,
            sys.float_info.max,
            -sys.float_info.max,
        ),
    )
)
"""What cannot be written beyond: widening ends there, too."""


@dataclass(frozen=True, eq=False)
class Ends:
    """The ends of all boxes of a release beside a population of whom some are in it. An end is a
    group, an attribute, and a side: 0 low, 1 high.
    """

    groups: Groups
    population: npt.NDArray[np.int32]
    """The quasi-identifiers of all persons as codes, those of the original table first, shape (n,
    d).
    """
    rows: Ints
    """A published row of every group, shape (g,)."""
    codes: Ints
    """The code of every end, NO_PERSON where it need not be the value of a person with a row in the
    group, shape (g, d, 2).
    """
    candidates: Ints
    """How many persons can have set each end: those who have its value and lie in the box, shape
    (g, d, 2).
    """
    only: Ints
    """The person where there is one candidate, else NO_PERSON, shape (g, d, 2)."""
    fewest: Ints
    """For each person the fewest candidates of an end that they can have set, 0 where there is
    none, shape (n,).
    """
    hosted: Bools
    """Whether each person lies in some box, shape (n,)."""

    @classmethod
    def of(cls, release: Release, microdata: Microdata) -> "Ends":
        """The ends of a generalized release, and the original table with its registry, where it has
        one, as the population.

        ReleaseError where a tight box has an end that none of them can have set: then there are
        others, and nothing follows.
        """
        form, groups = release.generalized, Groups.of(release)
        names = [a.name for a in form.attribute("quasi")]
        parts = [microdata] if microdata.registry is None else [microdata, microdata.registry]
        population = [
            np.concatenate([part.columns[name].codes for part in parts]) for name in names
        ]
        ids, place = places(form.table[GROUP])
        rows = np.zeros(len(ids), dtype=np.int64)
        rows[place] = np.arange(len(place))
        codes = _codes(release, microdata, rows)
        # a person in a group without a row may have set its ends
        codes[groups.registered > 0] = NO_PERSON
        of_person = row_numbers(population, len(population[0]))
        persons = np.bincount(of_person)
        first = firsts(of_person)
        tuples = np.stack([codes[first] for codes in population], axis=1)
        low, high = (
            np.stack(ends, axis=1) for ends in zip(*box_ends(microdata, form), strict=True)
        )
        inside = np.zeros(len(tuples), dtype=bool)
        candidates, one = np.zeros_like(codes), np.zeros_like(codes)
        for a, side, who, of in _setting(tuples, codes, low, high, inside):
            for counted, weights in ((candidates, persons), (one, first)):
                counts = np.bincount(of, weights=weights[who], minlength=len(codes))
                counted[:, a, side] += counts.astype(np.int64)  # of one candidate, this person
        if release.manifest.boxes == "tight" and (
            strange := int(((codes != NO_PERSON) & (candidates == 0)).any(axis=(1, 2)).sum())
        ):
            raise ReleaseError(
                f"{strange} group(s) of the release have an end that no row of the original"
                " table can have set; check that it is the table that was published."
            )
        fewest = np.full(len(tuples), len(of_person) + 1)
        for a, side, who, of in _setting(tuples, codes, low, high, inside):
            np.minimum.at(fewest, who, candidates[of, a, side])
        fewest[fewest > len(of_person)] = 0
        return cls(
            groups,
            np.stack(population, axis=1),
            rows,
            codes,
            candidates,
            np.where(candidates == 1, one, NO_PERSON),
            fewest[of_person],
            inside[of_person],
        )


def _setting(
    tuples: npt.NDArray[np.int32], codes: Ints, low: Ints, high: Ints, inside: Bools
) -> Iterator[tuple[int, int, Ints, Ints]]:
    """By attribute and side, the pairs of a tuple and a box that contains it whose end the tuple can
    have set, some at a time: all of them would take gigabytes. ``inside`` is set where a tuple lies
    in some box.
    """
    for some, boxes in few_enough(containing(tuples.astype(np.int64), low, high)):
        inside[some] = True
        for a, side in np.ndindex(codes.shape[1:]):
            equal = tuples[some, a] == codes[boxes, a, side]
            yield a, side, some[equal], boxes[equal]


def _codes(release: Release, microdata: Microdata, rows: Ints) -> Ints:
    """The code of every end of the groups that have these rows; NO_PERSON where it is no value of
    the domain, or widening may have put it there.
    """
    table, attributes = release.form.table, release.form.attribute("quasi")
    widths = release.manifest.method.get("min_width")
    codes = np.full((len(rows), len(attributes), 2), NO_PERSON, dtype=np.int64)
    for a, attribute in enumerate(attributes):
        domain, ends = (
            microdata.columns[attribute.name].domain,
            [table[c].gather(rows) for c in attribute.columns[-2:]],
        )
        exact = np.ones(len(rows), dtype=bool)
        if release.manifest.boxes != "tight":
            exact = (
                _unmoved(domain, ends[0], ends[1], widths.get(attribute.name))
                if isinstance(widths, Mapping)
                else ~exact
            )
        for side, values in enumerate(ends):
            first, last = codes_of_ends(domain, values, values)
            # a missing value is an end that no widening moves
            codes[:, a, side] = np.where(
                (first <= last) & (exact | values.is_null().to_numpy()), first, NO_PERSON
            )
    return codes


def _unmoved(domain: Domain, low: pl.Series, high: pl.Series, width: float | None) -> Bools:
    """Which intervals no widening to this width can have made: wide ones, and those with an end
    that is not on the grid.
    """
    if width is None:
        return np.ones(len(low), dtype=bool)
    if domain.type == "categorical":
        return _unmoved_leaves(domain, low, high, math.ceil(width))
    step, whole = Fraction(str(width)), not low.dtype.is_float()
    a, b = (end.to_physical() if end.dtype == pl.Date else end for end in (low, high))
    snapped = _on_grid(a, step, below=True, whole=whole) & _on_grid(
        b, step, below=False, whole=whole
    )
    first, last = a.cast(pl.Float64), b.cast(pl.Float64)
    # three cells, at the end of what can be written; whole numbers lie outward of them, and large
    # floats somewhere near
    most = 3 * width + 2 * whole + float(_NEAR) * (first.abs() + last.abs())
    wide = (last - first > most).fill_null(value=False).to_numpy()
    return wide | ~snapped


def _on_grid(ends: pl.Series, step: Fraction, *, below: bool, whole: bool) -> Bools:
    """Which ends are what a line of the grid is written as, or missing: of whole numbers the next
    one outward.
    """
    distinct = ends.unique().drop_nulls()
    lines = [
        x for x in distinct.to_list() if _is_line(Fraction(str(x)), step, below=below, whole=whole)
    ]
    return (
        ends.is_in(pl.Series(lines, dtype=ends.dtype).implode()).fill_null(value=True)
    ).to_numpy()


def _is_line(x: Fraction, step: Fraction, *, below: bool, whole: bool) -> bool:
    if x in _LIMITS:
        return True
    if not whole:
        return abs(x - round(x / step) * step) <= _NEAR * max(abs(x), step)
    return math.ceil(x / step) * step < x + 1 if below else math.floor(x / step) * step > x - 1


def _unmoved_leaves(domain: Domain, low: pl.Series, high: pl.Series, width: int) -> Bools:
    """The same for leaves: a widened interval is one or two whole cells of so many leaves, the last
    of which takes those left over.
    """
    first = int(domain.has_missing)
    cells = max(1, (len(domain) - first) // width)
    begin, end = codes_of_ends(domain, low, high)
    of_begin, of_end = (np.clip((code - first) // width, 0, cells - 1) for code in (begin, end))
    whole = ((begin < first) | (begin == of_begin * width + first)) & (
        end == np.where(of_end == cells - 1, len(domain) - 1, of_end * width + width - 1 + first)
    )
    return np.asarray(~whole | ((begin >= first) & (of_end - of_begin > 1)))
