# SPDX-License-Identifier: Apache-2.0
"""Recoded releases: one table of cells, whose equal rows are one image; and what is true in it,
that every image holds the rows that it counts.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from phalanx.arrays import Codes, Ints
from phalanx.data.combinations import Combinations
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.consistency.recodings import Recoding, recoding_of
from phalanx.guarantees.views.box_search import any_meet, box_of
from phalanx.release.forms.recoded import Recoded

_CHOSEN: Final = ("fixed", "levels", "partition")
_DENSE: Final = 1 << 22
"""Up to so many different keys are counted in an array."""
_MOST_KEYS: Final = 1 << 62
"""A key is below this."""


def cell_faults(form: Recoded) -> Sequence[str]:
    """What is wrong with the scheme and the columns of a recoded form."""
    return list(_faults(form))


def _faults(form: Recoded) -> Iterator[str]:
    if len(form.attribute("sensitive")) > 1:
        yield "there are several sensitive attributes"
    yield from (
        f"{a.name!r} is kept as it is, which this form has no place for"
        for a in form.attribute("keep")
    )
    if (
        form.scheme.keys() != {"chosen", "attributes"}
        or form.scheme["chosen"] not in _CHOSEN
        or not isinstance(form.scheme["attributes"], dict)
    ):
        yield "the scheme does not say how it was chosen, and the recoding of each attribute"
        return
    if list(form.scheme["attributes"]) != [a.name for a in form.attributes] or not form.attributes:
        yield "the attributes of the scheme are not those that are published"
        return
    if form.table.columns != [c for a in form.attributes for c in a.columns]:
        yield "the columns of data are not those of the manifest"
        return
    try:
        recodings = recodings_of(form)
    except ReleaseError as error:
        yield str(error)
        return
    for recoding in recodings:
        yield from _column_faults(form.table.select(recoding.columns), recoding)
    yield from _order_faults(form.table)


def _column_faults(columns: pl.DataFrame, recoding: Recoding) -> Iterator[str]:
    """Columns of another type, numbers that are none, and cells with one end."""
    for column in columns:
        if column.dtype != recoding.dtype and column.null_count() < len(column):
            yield (
                f"column {column.name!r} holds {column.dtype} and not {recoding.dtype}, as its"
                " recoding says"
            )
        elif column.dtype.is_float() and not column.is_finite().all():
            yield (
                f"column {column.name!r} holds NaN or an infinite number, which is no end of a cell"
            )
    if half := int((columns.to_series(0).is_null() != columns.to_series(-1).is_null()).sum()):
        yield f"{half} cell(s) of {recoding.columns[0]!r} have one end"


def _order_faults(table: pl.DataFrame) -> Iterator[str]:
    """An order that is not that of the rows themselves, which might follow persons."""
    images = _runs(table)[0]
    if not images.sort(images.columns, nulls_last=True, maintain_order=True).equals(images):
        yield "the rows are not in the order of what they say"


def first_and_last(form: Recoded) -> pl.DataFrame:
    """The rows at both ends of a part."""
    return pl.concat([form.table[:1], form.table[-1:]])


def part_faults(ends: Sequence[pl.DataFrame]) -> Iterator[str]:
    """Parts that do not follow each other in the order of what rows say, or that share an image;
    ``ends``: as ``first_and_last`` gives them, part by part.
    """
    for at, (before, after) in enumerate(pairwise(ends), 1):
        if before.schema != after.schema:  # which is said anyway
            continue
        border = pl.concat([before[-1:], after[:1]])
        ordered = border.sort(border.columns, nulls_last=True, maintain_order=True)
        if border[0].equals(border[1]):
            yield f"parts {at} and {at + 1} hold rows of one image, which stands in one part alone"
        elif not ordered.equals(border):
            yield f"parts {at} and {at + 1} are not in the order of what their rows say"


def _runs(table: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """The first row of every run of equal rows, and how many there are."""
    if not table.height:
        return table, np.zeros(0, dtype=np.int64)
    begins = (
        table.select(pl.any_horizontal(pl.all().ne_missing(pl.all().shift(1))))
        .to_series()
        .to_numpy()
        .copy()
    )
    begins[0] = True
    at = np.flatnonzero(begins)
    return table[pl.Series(at, dtype=pl.UInt32)], np.diff(at, append=table.height)


def recodings_of(form: Recoded) -> list[Recoding]:
    """The recoding of every attribute, as the scheme declares it; ReleaseError where one is
    none.
    """
    free = form.scheme["chosen"] == "partition"
    return [recoding_of(a, form.scheme["attributes"][a.name], free=free) for a in form.attributes]


@dataclass(frozen=True, eq=False)
class Images:
    """The images of a sound recoded form, in the order of what they say, as many as ``counts``
    (g,), with their cells attribute by attribute.
    """

    table: pl.DataFrame
    counts: Ints
    recodings: Sequence[Recoding]
    partition: bool

    @classmethod
    def of(cls, form: Recoded) -> "Images":
        """Read once for each form; the form has no ``cell_faults``."""
        if form not in _images_of:
            recodings, (table, counts) = recodings_of(form), _runs(form.table)
            typed = table.cast(
                {column: recoding.dtype for recoding in recodings for column in recoding.columns}
            )  # in a CSV an empty column has no type
            _images_of[form] = cls(typed, counts, recodings, form.scheme["chosen"] == "partition")
        return _images_of[form]

    @classmethod
    def together(cls, parts: Sequence["Images"]) -> "Images":
        """Those of a release whose parts are given, of which none has another's image."""
        table = pl.concat([part.table for part in parts])
        counts = np.concatenate([part.counts for part in parts])
        return cls(table, counts, parts[0].recodings, parts[0].partition)

    @cached_property
    def cells(self) -> list[tuple[pl.DataFrame, Ints]]:
        """For every attribute its different cells, and the one of each image, shape (g,)."""
        cells = []
        for recoding in self.recodings:
            ends = self.table.select(recoding.columns)
            different = ends.unique()
            place = ends.join(
                different.with_row_index(""),
                on=recoding.columns,
                how="left",
                nulls_equal=True,
                maintain_order="left",
            )[""]
            cells.append((different, place.to_numpy().astype(np.int64)))
        return cells

    @cached_property
    def strays(self) -> int:
        """How many rows are not images of the scheme."""
        sound = np.ones(len(self.counts), dtype=bool)
        for recoding, (cells, place) in zip(self.recodings, self.cells, strict=True):
            sound &= recoding.declared(cells)[place]
        return int(self.counts[~sound].sum())

    @cached_property
    def overlaps(self) -> bool:
        """Whether some row of a table would fit two images of a partition; asked where there are no
        strays.
        """
        if not self.partition or not len(self.counts):
            return False
        spans = [
            (a[place], b[place])
            for recoding, (cells, place) in zip(self.recodings, self.cells, strict=True)
            for a, b in [recoding.places(cells)]
        ]
        low, high = (np.stack(ends, axis=1) for ends in zip(*spans, strict=True))
        return any_meet(low, high)

    def codes(self, microdata: Microdata) -> list[tuple[Ints, Ints]]:
        """For every attribute the first and last code of the microdata's domain that each of its
        different cells holds.
        """
        pairs = zip(self.recodings, self.cells, strict=True)
        return [
            recoding.codes(cells, microdata.columns[recoding.name].domain)
            for recoding, (cells, _) in pairs
        ]

    def originals(self, original: Combinations) -> Ints:
        """How many rows of the original table have each image, shape (g,), of images that do not
        overlap.

        The domain of each attribute is cut at all ends of cells. Rows that agree in all pieces are
        counted, and then looked for in the images.
        """
        low, high = np.zeros((2, len(self.counts), len(self.recodings)), dtype=np.int64)
        piece_of, sizes, microdata = [], [], original.microdata
        for i, (recoding, (_, place), (first, last)) in enumerate(
            zip(self.recodings, self.cells, self.codes(microdata), strict=True)
        ):
            cuts = np.unique(np.concatenate([first, last + 1]))
            sizes.append(len(cuts) + 1)
            piece_of.append(
                np.searchsorted(
                    cuts, np.arange(len(microdata.columns[recoding.name].domain)), side="right"
                )
            )
            low[:, i] = np.searchsorted(cuts, first, side="right")[place]
            high[:, i] = np.searchsorted(cuts, last, side="right")[place]
        codes = [microdata.columns[recoding.name].codes for recoding in self.recodings]
        pieces, times = _counted(codes, piece_of, sizes, original.persons)
        image = _holding(pieces, low, high)
        return np.bincount(
            image[image >= 0], weights=times[image >= 0], minlength=len(self.counts)
        ).astype(np.int64)


_images_of: WeakKeyDictionary[Recoded, Images] = WeakKeyDictionary()


def _counted(
    codes: Sequence[Codes], piece_of: Sequence[Ints], sizes: Sequence[int], persons: Ints
) -> tuple[Ints, Ints]:
    """The different rows as pieces, attribute by attribute, shape (m, d), and how many ``persons``
    each has.
    """
    if math.prod(sizes) >= _MOST_KEYS:
        table = pl.DataFrame(
            {
                str(i): piece[code]
                for i, (code, piece) in enumerate(zip(codes, piece_of, strict=True))
            }
        )
        of_each = pl.Series("times", persons)
        counted = table.with_columns(of_each).group_by(table.columns).agg(pl.col("times").sum())
        return counted.drop("times").to_numpy(), counted["times"].to_numpy().astype(np.int64)
    key = np.zeros(len(codes[0]), dtype=np.int64)
    for code, piece, size in zip(codes, piece_of, sizes, strict=True):
        key *= size
        key += piece[code]
    if math.prod(sizes) <= _DENSE:
        tally = np.zeros(math.prod(sizes), dtype=np.int64)
        np.add.at(tally, key, persons)
        different = np.flatnonzero(tally)
        times = tally[different]
    else:
        rows = pl.DataFrame({"key": key, "times": persons})
        counted = rows.group_by("key").agg(pl.col("times").sum())
        different, times = counted["key"].to_numpy(), counted["times"].to_numpy().astype(np.int64)
    return _apart(different, sizes), times


def _apart(keys: Ints, sizes: Sequence[int]) -> Ints:
    """The pieces that each key counts, shape (m, d), of any number of attributes."""
    pieces = np.empty((len(keys), len(sizes)), dtype=np.int64)
    for i in reversed(range(len(sizes))):
        keys, pieces[:, i] = np.divmod(keys, sizes[i])
    return pieces


def _holding(pieces: Ints, low: Ints, high: Ints) -> Ints:
    """The image of every row of pieces (m, d), -1 for none; ``low`` and ``high`` (g, d) are the
    first and last piece of each image.
    """
    alive = np.flatnonzero((low <= high).all(axis=1))
    if not (low == high)[alive].all():
        return box_of(pieces, low, high)
    names = [
        str(i) for i in range(pieces.shape[1])
    ]  # where a scheme is one level for each attribute, an image is one piece of each
    own = pl.DataFrame(low[alive], schema=names).with_columns(
        image=pl.Series(alive, dtype=pl.Int64)
    )
    holding = pl.DataFrame(pieces, schema=names).join(
        own, on=names, how="left", maintain_order="left"
    )
    return holding["image"].fill_null(-1).to_numpy()


def unlike_attributes(images: Images, microdata: Microdata) -> str:
    """Why a table cannot be laid beside images: an attribute that it has not, or of another type;
    empty where it can.
    """
    for recoding in images.recodings:
        column = microdata.columns.get(recoding.name)
        if column is None or column.domain.type != recoding.type:
            return (
                f"the original table has no {recoding.type} attribute {recoding.name!r}, which the"
                " release has"
            )
    return ""


def check_truth(form: Recoded, microdata: Microdata, groups: Ints, strangers: int = 0) -> Verdict:
    """``check_truth_of`` of a table in memory."""
    return check_truth_of(Images.of(form), [(microdata, groups)], strangers)


def check_truth_of(
    images: Images, rows: Iterable[tuple[Microdata, Ints]], strangers: int = 0
) -> Verdict:
    """Each published row lies in its image, and each image has just as many rows as the table shows
    of it.

    ``rows``: those of the table, some at a time: microdata of n rows, and the number of the image of
    each, from 1, in the order of the table, shape (n,); 0 for a row that is not published.
    ``strangers``: how many persons who are not among them are said to be published. The worst figure
    is the number of rows that lie elsewhere, and of rows that an image shows too many or too few.
    """
    shown = Shown.nothing(images)
    for microdata, groups in rows:
        shown = shown.plus(Shown.of(images, microdata, groups))
        if shown.fault:
            break
    return shown.verdict(images, strangers)


@dataclass(frozen=True)
class Shown:
    """What some rows of a table show of images; what parts of a table show adds up."""

    times: Ints
    """How many of them each image has, shape (g,)."""
    elsewhere: int
    """How many lie outside their image."""
    fault: str = ""
    """Why they cannot be compared."""

    @classmethod
    def nothing(cls, images: Images) -> "Shown":
        """Of no row."""
        return cls(np.zeros_like(images.counts), 0)

    @classmethod
    def of(cls, images: Images, microdata: Microdata, groups: Ints) -> "Shown":
        """Of some rows, with the number of the image of each, as ``check_truth_of`` says."""
        nothing = cls.nothing(images)
        if unlike := unlike_attributes(images, microdata):
            return replace(nothing, fault=unlike)
        if len(groups) != microdata.rows or (
            len(groups) and not 0 <= groups.min() <= groups.max() <= len(images.counts)
        ):
            note = (
                f"the table has {len(images.counts)} different row(s), and others are said to be"
                f" those of the {microdata.rows} row(s) of the original table"
            )
            return replace(nothing, fault=note)
        at = groups[groups > 0] - 1
        times = np.bincount(at, minlength=len(images.counts))
        return cls(times, _elsewhere(images, microdata, np.flatnonzero(groups), at))

    def plus(self, other: "Shown") -> "Shown":
        """Of the rows of both."""
        fault = self.fault or other.fault
        return Shown(self.times + other.times, self.elsewhere + other.elsewhere, fault)

    def verdict(self, images: Images, strangers: int = 0) -> Verdict:
        """Whether these are all rows, and lie where they are published; ``strangers`` as
        ``check_truth_of`` says.
        """
        if self.fault:
            return Verdict(name="truth", bound=0, worst=None, holds=False, note=self.fault)
        other = int(np.abs(self.times - images.counts).sum()) + strangers
        worst = self.elsewhere + other
        note = f"{int(self.times.sum())} row(s) lie in their image, which shows just them"
        if worst:
            note = (
                f"{self.elsewhere} row(s) lie outside their image, and images show {other} row(s)"
                " too many or too few"
            )
        return Verdict(name="truth", bound=0, worst=worst, holds=worst == 0, note=note)


def _elsewhere(images: Images, microdata: Microdata, rows: Ints, at: Ints) -> int:
    """How many of the rows lie outside the image that each is said to have."""
    outside = np.zeros(len(rows), dtype=bool)
    for recoding, (_, place), (first, last) in zip(
        images.recodings, images.cells, images.codes(microdata), strict=True
    ):
        code = microdata.columns[recoding.name].codes[rows]
        outside |= (code < first.astype(np.int32)[place][at]) | (
            code > last.astype(np.int32)[place][at]
        )
    return int(outside.sum())
