# SPDX-License-Identifier: Apache-2.0
"""The figures of a report, computed from a published form."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Floats, Ints
from phalanx.release.folder import Release
from phalanx.release.form import Form
from phalanx.release.forms.generalized import GROUP, Generalized
from phalanx.release.forms.recoded import Recoded
from phalanx.release.forms.sliced import COUNT
from phalanx.release.manifest import PublishedAttribute
from phalanx.report.per_form import per_form
from phalanx.report.recodings import Recoding

ROWS: Final = "rows of the group"
"""The column of how many rows a group, or an interval, has."""


@dataclass(frozen=True, eq=False)
class Width:
    """How wide one attribute's intervals are, as shares of the released domain; a group's rows all
    have the same.
    """

    name: str
    shares: Floats
    """One share in [0, 1] per group, or per different interval, shape (g,)."""
    sizes: Ints
    """Rows of each, shape (g,)."""
    domain: str
    """The released domain in words."""
    with_missing: bool
    """Some interval includes missing values."""
    single: Bools
    """Which intervals are a single value, or the missing one alone, shape (g,)."""

    @classmethod
    def of(cls, attribute: PublishedAttribute, boxes: pl.DataFrame) -> "Width":
        """Of the attribute's intervals in ``boxes``, with how many rows each has."""
        return _width(attribute, boxes, boxes[ROWS].to_numpy().astype(np.int64))

    @property
    def mean(self) -> float:
        """The mean over published rows: the normalized certainty penalty (Xu et al., KDD 2006) of
        this attribute; 0 for a table without rows.
        """
        rows = int(self.sizes.sum())
        return min(1.0, float(self.shares @ self.sizes) / rows) if rows else 0.0

    @property
    def median(self) -> float:
        """The median over published rows; 0 for a table without rows."""
        rows = int(self.sizes.sum())
        if not rows:
            return 0.0
        order = np.argsort(self.shares)
        middle = np.searchsorted(
            np.cumsum(self.sizes[order]), [(rows - 1) // 2, rows // 2], side="right"
        )
        return float(self.shares[order][middle].mean())

    @property
    def exact(self) -> float:
        """The share of published rows whose interval is a single value; 0 for a table without
        rows.
        """
        rows = int(self.sizes.sum())
        return int(self.sizes[self.single].sum()) / rows if rows else 0.0


@dataclass(frozen=True)
class Shown:
    """What the rows of a perturbed release show of one attribute."""

    name: str
    values: int
    """How many different values, missing ones among them."""
    most: float
    """The share of rows with the most frequent one; 0 for a table without rows."""
    missing: int
    """Rows without a value."""

    @classmethod
    def of(cls, column: pl.Series) -> "Shown":
        """Counted in a published column."""
        counts = column.alias("value").value_counts(sort=True)["count"]
        return cls(
            column.name,
            len(counts),
            counts[0] / len(column) if len(counts) else 0.0,
            column.null_count(),
        )


@dataclass(frozen=True, eq=False)
class Figures:
    """What a report tells about one release."""

    number: int
    rows: int
    groups: int
    counterfeits: int
    counterfeit_groups: int
    registered: int
    registered_groups: int
    sizes: Ints
    """Rows per group, shape (g,)."""
    members: Ints
    """Rows and registered persons per group, shape (g,)."""
    widths: Sequence[Width]
    shown: Sequence[Shown] = ()
    """By attribute, of a perturbed release."""
    recodings: Sequence[Recoding] = ()
    """By attribute, of a recoded release."""
    unmeasured: Sequence[str] = ()
    """Attributes with more different intervals than are looked at."""

    @property
    def measured(self) -> bool:
        """Whether all attributes are, so that there is a mean."""
        return not self.unmeasured

    @property
    def loss(self) -> float:
        """The mean of the attributes' mean widths."""
        return sum(w.mean for w in self.widths) / len(self.widths) if self.widths else 0.0

    @classmethod
    def of(cls, release: Release) -> "Figures":
        """Those of a release, which has a number."""
        return replace(cls.of_form(release.form), number=release.number)

    @staticmethod
    @per_form
    def of_form(form: Form) -> "Figures":
        """Those of a release that has no number yet, from one row per group, since a group's rows
        share their intervals.
        """
        number, quasi = 1, form.attribute("quasi")
        if form.kind == Recoded.kind:
            return Figures._of_images(number, Recoded.expect(form))
        if not form.id_column:
            return Figures._of_rows(number, form)
        if form.kind != Generalized.kind:
            return Figures._of_buckets(number, form)
        boxes = _boxes(form.table, list(dict.fromkeys(c for a in quasi for c in a.columns[-2:])))
        sizes = boxes[ROWS].to_numpy().astype(np.int64)
        hosts, with_registered = (
            0 if counts is None else counts.height
            for counts in (form.counterfeits, form.registered)
        )
        return Figures(
            number=number,
            rows=form.rows,
            groups=boxes.height,
            counterfeits=form.counterfeit_rows,
            counterfeit_groups=hosts,
            registered=form.registered_persons,
            registered_groups=with_registered,
            sizes=sizes,
            members=(
                sizes if form.registered is None else sizes + _beside(boxes[GROUP], form.registered)
            ),
            widths=[_width(a, boxes, sizes) for a in quasi],
        )

    @classmethod
    def _of_rows(cls, number: int, form: Form) -> "Figures":
        """The same of a form without groups, whose rows show single values."""
        none = np.zeros(0, dtype=np.int64)
        shown = [Shown.of(form.table[c]) for a in form.attributes for c in a.columns]
        return cls(number, form.rows, 0, 0, 0, 0, 0, none, none, [], shown)

    @classmethod
    def _of_images(cls, number: int, form: Recoded) -> "Figures":
        """The same of recoded rows, whose groups are the rows of one image; their intervals follow
        a grid and not the rows, and are not measured.
        """
        sizes = (
            form.table.group_by(form.table.columns)
            .agg(pl.len().alias(ROWS))[ROWS]
            .to_numpy()
            .astype(np.int64)
        )
        return cls(
            number,
            form.rows,
            len(sizes),
            0,
            0,
            0,
            0,
            sizes,
            sizes,
            [],
            recodings=[Recoding.of(form, a) for a in form.attributes],
        )

    @classmethod
    def _of_buckets(cls, number: int, form: Form) -> "Figures":
        """The same of a form of buckets, whose values are exact, or generalized by themselves."""
        ids = form.table[form.id_column]
        sizes = ids.value_counts(sort=False)["count"].to_numpy().astype(np.int64)
        widths = [Width.of(a, intervals(form, a)) for a in form.attribute("quasi")]
        return cls(
            number=number,
            rows=form.rows,
            groups=form.groups,
            counterfeits=0,
            counterfeit_groups=0,
            registered=0,
            registered_groups=0,
            sizes=sizes,
            members=sizes,
            widths=widths,
        )


def intervals(form: Form, attribute: PublishedAttribute) -> pl.DataFrame:
    """The different intervals of one attribute, or its values where these are published, with how
    many rows each has.
    """
    ends = list(dict.fromkeys(attribute.columns[-2:]))
    part = next((c.counts for c in form.together() if attribute.name in c.names), None)
    table, rows = (form.table, pl.len()) if part is None else (part, pl.sum(COUNT))
    return table.group_by(ends).agg(rows.cast(pl.Int64).alias(ROWS)).sort(ends)


def _boxes(table: pl.DataFrame, ends: Sequence[str]) -> pl.DataFrame:
    """One row per group: its intervals and how many rows it has. Our own releases are sorted by
    group, which makes this a pass over one column.
    """
    ids = table[GROUP]
    if table.height and ids.dtype.is_integer() and not ids.null_count():
        steps = np.diff(ids.to_numpy())
        if (steps >= 0).all():
            starts = np.concatenate([[0], np.flatnonzero(steps) + 1])
            sizes = np.diff(starts, append=table.height)
            return table.select(pl.col([GROUP, *ends]).gather(starts)).with_columns(
                pl.Series(ROWS, sizes)
            )
    return table.group_by(GROUP).agg(pl.len().alias(ROWS), *[pl.col(c).first() for c in ends])


def _beside(ids: pl.Series, counts: pl.DataFrame) -> Ints:
    """What a file of counts says of each group, 0 where it says nothing."""
    counted = counts.select(pl.col(GROUP).cast(ids.dtype), "count")
    return (
        ids.to_frame(GROUP)
        .join(counted, on=GROUP, how="left", maintain_order="left")["count"]
        .fill_null(0)
        .to_numpy()
        .astype(np.int64)
    )


def _width(attribute: PublishedAttribute, boxes: pl.DataFrame, sizes: Ints) -> Width:
    low, high = boxes[attribute.columns[-2:][0]], boxes[attribute.columns[-1]]
    below, upto, span, domain = (
        _leaf_places(attribute, low, high)
        if attribute.type == "categorical"
        else _line_places(low, high)
    )
    shares = (upto - below) / span if span else np.zeros(len(sizes))
    single = low.eq_missing(high).to_numpy()
    return Width(attribute.name, shares, sizes, domain, bool(low.null_count()), single)


def _line_places(low: pl.Series, high: pl.Series) -> tuple[Floats, Floats, float, str]:
    """Numbers and days as they are, halved so that no length overflows; a missing end counts as the
    least released value.
    """
    ends = pl.concat([low.alias("end"), high.alias("end")]).drop_nulls()
    if not len(ends):
        return (
            np.zeros(len(low)),
            np.zeros(len(low)),
            0.0,
            "missing only" if len(low) else "no values",
        )
    a, b, both = (s.to_physical().cast(pl.Float64) / 2 for s in (low, high, ends))
    least, most = float(both.min()), float(both.max())  # type: ignore[arg-type]
    first, last = (_plain(end) for end in (ends.min(), ends.max()))
    return (
        a.fill_null(least).to_numpy(),
        b.fill_null(least).to_numpy(),
        most - least,
        f"{first} to {last}" if first != last else f"{first} only",
    )


def _plain(end: object) -> str:
    """A number without an idle decimal, a date as it is written."""
    return (
        str(int(end))
        if isinstance(end, float) and end.is_integer() and abs(end) < 1e15
        else str(end)
    )


def _leaf_places(
    attribute: PublishedAttribute, low: pl.Series, high: pl.Series
) -> tuple[Floats, Floats, float, str]:
    """Leaves in the order of the declared tree, else released values in code point order; missing
    stands first.
    """
    hierarchy = attribute.hierarchy or {}
    seen = pl.concat([low.alias("end"), high.alias("end")]).cast(pl.String).unique().sort()
    declared = [path[0] for path in hierarchy["paths"]] if hierarchy.get("kind") == "tree" else []
    declared_leaves = set(declared)
    leaves = declared + [value for value in seen.drop_nulls() if value not in declared_leaves]
    order = [None, *leaves] if seen.null_count() else leaves
    place = pl.DataFrame(
        {"end": order, "place": np.arange(len(order), dtype=np.float64)},
        schema={"end": pl.String, "place": pl.Float64},
    )
    joined = (
        s.cast(pl.String)
        .to_frame("end")
        .join(place, on="end", how="left", nulls_equal=True, maintain_order="left")
        for s in (low, high)
    )
    below, upto = (table["place"].to_numpy() for table in joined)
    kinds = (
        f"{len(leaves):,}"
        f" value{'' if len(leaves) == 1 else 's'}{' of the hierarchy' if declared else ''}"
        f"{' and missing' if seen.null_count() else ''}"
    )
    return below, upto, float(max(0, len(order) - 1)), kinds


def size_histogram(sizes: Ints, most: int = 24) -> list[tuple[str, int]]:
    """Group sizes as (label, groups): each size by itself where they are few, else in equal ranges,
    those without groups among them.
    """
    if not len(sizes):
        return []
    first, last = int(sizes.min()), int(sizes.max())
    step = -(-(last - first + 1) // most)
    counts = np.bincount((sizes - first) // step)
    labels = [first + i * step for i in range(len(counts))]
    return [
        (f"{a:,}" if step == 1 else f"{a:,}–{a + step - 1:,}", int(n))
        for a, n in zip(labels, counts, strict=True)
    ]
