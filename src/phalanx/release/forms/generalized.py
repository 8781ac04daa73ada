# SPDX-License-Identifier: Apache-2.0
"""The generalized form: one row per tuple, the same interval for a whole group on every
quasi-identifier.
"""

import math
import sys
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.column import plain_float
from phalanx.data.domain import Domain
from phalanx.data.hierarchies.hierarchy import Hierarchy
from phalanx.data.microdata import Microdata
from phalanx.data.weights import group_means, rounded
from phalanx.errors import SchemaError
from phalanx.randomness import Stream
from phalanx.release.form import Form, RandomOrder, SortedCounts
from phalanx.release.manifest import Manifest, PublishedAttribute

GROUP = "group"

_EPOCH: Final = date(1970, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = date.min.toordinal() - _EPOCH, date.max.toordinal() - _EPOCH


@dataclass(frozen=True, eq=False)
class Generalized(Form):
    """Published tables: ``table`` (group, intervals, sensitive values, the group's mean weight, kept
    values), and two of counts by group (group, count; None if the form has none).

    ``counterfeits`` counts the counterfeits, ``registered`` the registered persons who are in the
    group without a row.
    """

    kind: ClassVar = "generalized"
    id_column: ClassVar[str] = GROUP
    used_for: ClassVar[str] = (
        "Sensitive values stand as they are; quasi-identifiers as intervals that hold "
        "for every row."
    )

    table: pl.DataFrame
    attributes: tuple[PublishedAttribute, ...]
    counterfeits: pl.DataFrame | None = None
    registered: pl.DataFrame | None = None

    @property
    def rows(self) -> int:
        """How many tuples are published, counterfeits among them."""
        return self.table.height

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return self.table[GROUP].n_unique()

    @property
    def counterfeit_rows(self) -> int:
        """How many of the rows are counterfeits, by the counts published beside them."""
        return _total(self.counterfeits)

    @property
    def registered_persons(self) -> int:
        """How many registered persons are in the groups without a row, by the counts published
        beside them.
        """
        return _total(self.registered)

    def tables(self) -> Mapping[str, pl.DataFrame]:
        beside = {"counterfeits": self.counterfeits, "registered": self.registered}
        return {"data": self.table} | {
            name: counts for name, counts in beside.items() if counts is not None
        }

    def headers(self) -> Mapping[str, list[str]]:
        data = [GROUP, *(column for a in self.attributes for column in a.columns)]
        return {name: data if name == "data" else [GROUP, "count"] for name in self.tables()}

    @classmethod
    def files(cls, manifest: Manifest) -> tuple[AbstractSet[str], AbstractSet[str]]:
        return {"data"}, {"data", "counterfeits", "registered"}

    @classmethod
    def csv_types(cls, manifest: Manifest, table: str) -> dict[str, Any]:
        return (
            super().csv_types(manifest, table)
            if table == "data"
            else {GROUP: pl.Int64, "count": pl.Int64}
        )

    @classmethod
    def of_folder(cls, manifest: Manifest, tables: Mapping[str, pl.DataFrame]) -> "Generalized":
        return cls(
            tables["data"],
            tuple(manifest.attributes),
            tables.get("counterfeits"),
            tables.get("registered"),
        )

    def in_random_order(self) -> Iterator[RandomOrder]:
        """All rows of a group share their intervals and weight; what chance orders within it is the
        rest.
        """
        own = [a for a in self.attributes if a.role not in ("quasi", "weight")]
        yield RandomOrder(
            self.table,
            [c for a in own for c in a.columns],
            self.table.columns[1:],
            [c for a in self.attribute("quasi") for c in a.columns],
        )

    def in_sorted_order(self) -> Iterator[SortedCounts]:
        for name, counts in self.tables().items():
            if name != "data":
                yield SortedCounts(
                    f"the {name} are not in the order of their groups", counts, [(GROUP, None)]
                )


def _total(counts: pl.DataFrame | None) -> int:
    """The sum of published counts; 0 where they are no numbers, which the checks refuse."""
    return (
        int(counts["count"].sum())
        if counts is not None and counts["count"].dtype.is_integer()
        else 0
    )


def generalize(
    microdata: Microdata,
    source: Ints,
    groups: Ints,
    stream: Stream,
    *,
    values: pl.Series | None = None,
    counterfeits: bool = False,
    min_width: Mapping[str, float] | None = None,
    registry: tuple[Microdata, Ints] | None = None,
) -> tuple[Generalized, Ints]:
    """Publish tuples in groups: minimum intervals, random group ids, random row order.

    ``source`` (p,): the microdata row behind each published tuple, -1 for a counterfeit. ``groups``
    (p,): its group, 0 .. g-1, every group with at least one real tuple. ``values`` (p,): the
    sensitive values, if counterfeits need other ones than the rows'. ``min_width``: per attribute
    the least width in its own unit (leaves for a categorical one); a narrower interval is snapped
    outward to the grid of that width, which depends on no data, so that publishing again does not
    narrow it down. ``registry``: the microdata's registry, and the group of each of its persons, -1
    for those in none; the groups' intervals hold them too, and they have no row.

    A counterfeit has no kept values of its own, and borrowed ones are recognised (two rows with
    equal kept and sensitive values). So a group that holds a counterfeit, which is public, shows no
    kept values in any of its rows.

    Returns the form and, for every group, the id under which it was published, shape (g,).
    """
    schema = microdata.schema
    order = stream.permutation(len(source))
    g = int(groups.max()) + 1
    published_id = stream.permutation(g) + 1
    ids = published_id[groups]
    order = order[by_group(ids[order])]
    source, ids = source[order], ids[order]
    values = None if values is None else values.gather(order)
    del order, groups  # as long as each of these is, nothing is held longer than it is needed
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    sizes = np.diff(np.append(starts, len(ids)))
    real = source >= 0
    all_real = bool(real.all())
    listed = (
        np.flatnonzero(registry[1] >= 0) if registry is not None else np.zeros(0, dtype=np.int64)
    )
    virtual = published_id[registry[1][listed]] if registry is not None else listed
    attributes: list[PublishedAttribute] = []
    boxes: dict[str, pl.Series] = {GROUP: pl.Series(ids[starts])}
    for name in schema.quasi:
        column = microdata.columns[name]
        codes = column.codes[source]
        low = np.minimum.reduceat(
            codes if all_real else np.where(real, codes, np.iinfo(np.int32).max), starts
        )
        high = np.maximum.reduceat(codes if all_real else np.where(real, codes, -1), starts)
        if registry is not None:
            _widen(
                low, high, registry[0].columns[name].codes[listed], virtual - 1
            )  # groups are numbered from 1, and each has a row
        series = interval(name, column.domain, low, high, (min_width or {}).get(name))
        public = None if column.domain.hierarchy is None else column.domain.hierarchy.parameters()
        attributes.append(
            PublishedAttribute(
                name=name,
                role="quasi",
                type=column.domain.type,
                columns=[s.name for s in series],
                hierarchy=public,
            )
        )
        for s in series:
            _add(boxes, s)
    table = pl.DataFrame(boxes)[
        pl.Series(np.repeat(np.arange(len(starts), dtype=np.uint32), sizes))
    ].to_dict()
    if schema.sensitive is not None:
        domain = microdata.sensitive.domain
        own = domain.values.gather(microdata.sensitive.codes[source]) if values is None else values
        _add(table, own.alias(schema.sensitive))
        public = None if domain.hierarchy is None else domain.hierarchy.parameters()
        attributes.append(
            PublishedAttribute(
                name=schema.sensitive,
                role="sensitive",
                type=domain.type,
                columns=[schema.sensitive],
                hierarchy=public,
                not_applicable=list(schema.not_applicable),
            )
        )
    if schema.weight is not None and microdata.weights is not None:
        means = group_means(microdata.weights[source[real]], ids[real] - 1, g)
        _add(table, pl.Series(schema.weight, rounded(means)[ids - 1]))
        attributes.append(
            PublishedAttribute(
                name=schema.weight, role="weight", type="numeric", columns=[schema.weight]
            )
        )
    if schema.keep:
        covered = pl.Series(np.repeat(np.logical_and.reduceat(real, starts), sizes))
        for name in schema.keep:
            kept = microdata.kept[name]
            kept = (
                kept.cast(pl.String)
                if kept.dtype in (pl.Categorical, pl.Enum)
                else plain_float(kept)
                if kept.dtype.is_float()
                else kept
            )
            _add(
                table,
                pl.select(
                    pl.when(covered).then(kept.gather(np.maximum(source, 0))).alias(name)
                ).to_series(),
            )
            numeric = kept.dtype.is_numeric()
            attributes.append(
                PublishedAttribute(
                    name=name,
                    role="keep",
                    type=(
                        "numeric" if numeric else "date" if kept.dtype == pl.Date else "categorical"
                    ),
                    columns=[name],
                )
            )
    counts = _counted(ids[~real]) if counterfeits else None
    return (
        Generalized(
            pl.DataFrame(table),
            tuple(attributes),
            counts,
            None if registry is None else _counted(virtual),
        ),
        published_id,
    )


def _widen(
    low: npt.NDArray[np.int32],
    high: npt.NDArray[np.int32],
    codes: npt.NDArray[np.int32],
    place: Ints,
) -> None:
    """Make intervals hold the codes of further persons, each at the place of its group."""
    np.minimum.at(low, place, codes)
    np.maximum.at(high, place, codes)


def _counted(ids: Ints) -> pl.DataFrame:
    """How often each group occurs, in the order of groups."""
    group, count = np.unique(ids, return_counts=True)
    return pl.DataFrame({GROUP: group.astype(np.int64), "count": count.astype(np.int64)})


def by_group(ids: Ints) -> Ints:
    """The stable order of rows by group; each row's place is packed below its group id, so that
    plain integers are sorted.
    """
    bits = np.uint64(max(1, len(ids).bit_length()))
    packed = ids.astype(np.uint64)
    packed <<= bits
    packed |= np.arange(len(ids), dtype=np.uint64)
    packed.sort()
    packed &= (np.uint64(1) << bits) - np.uint64(1)
    order: Ints = packed.view(np.int64)
    return order


def _add(table: dict[str, pl.Series], series: pl.Series) -> None:
    if series.name in table:
        raise SchemaError(
            f"two published columns would be called {series.name!r} ('group', '<name>_low' and"
            " '<name>_high' are taken); rename the column at the source."
        )
    table[series.name] = series


def interval(
    name: str,
    domain: Domain,
    low: npt.NDArray[np.int32],
    high: npt.NDArray[np.int32],
    width: float | None,
) -> list[pl.Series]:
    """The columns of one attribute, one value per group, by the codes of its ends; ``width``: as
    ``min_width`` in :func:`generalize`.
    """
    if width is not None and domain.type == "categorical":
        low, high = _snap_leaves(domain, low, high, min(math.ceil(width), len(domain)))
    low_values = domain.values.gather(low).alias(f"{name}_low")
    high_values = domain.values.gather(high).alias(f"{name}_high")
    if width is not None and domain.type != "categorical":
        low_values, high_values = _snap(low_values, high_values, width)
    ends = [low_values, high_values]
    if (ancestors := domain.ancestors) is None or domain.hierarchy is None:
        return ends
    if width is not None and domain.type != "categorical":
        # a node of the ends before widening would tell what widening hides
        above_low, above_high = (_ancestors(domain.hierarchy, end) for end in ends)
    else:
        above_low, above_high = (ancestors.select(pl.all().gather(codes)) for codes in (low, high))
    node = pl.Series(name, ["*"] * len(low), dtype=pl.String)
    for level in reversed(ancestors.columns):
        at_low, at_high = above_low[level], above_high[level]
        node = node.zip_with(~(at_low == at_high).fill_null(value=False), at_low.alias(name))
    return [node, *ends]


def _ancestors(hierarchy: Hierarchy, ends: pl.Series) -> pl.DataFrame:
    """The nodes above ends that need not be values of the domain, one text column per level;
    nothing above a missing end.
    """
    distinct = ends.drop_nulls().unique()
    table = hierarchy.ancestors(distinct).with_columns(distinct.alias("end"))
    return (
        pl.DataFrame({"end": ends})
        .join(table, on="end", how="left", maintain_order="left")
        .drop("end")
    )


def _snap(low: pl.Series, high: pl.Series, width: float) -> tuple[pl.Series, pl.Series]:
    """Ends of intervals narrower than ``width``, moved outward to multiples of it; an end that
    stands for missing (null) stays.

    Whole numbers become 64-bit ones whatever their type was, since the grid may lie outside of a
    narrow type.
    """
    days, floats = low.dtype == pl.Date, low.dtype.is_float()
    kind = pl.Float64 if floats else pl.Int64
    step = Fraction(str(width))
    ends = pl.DataFrame(
        {
            "a": (low.to_physical() if days else low).cast(kind),
            "b": (high.to_physical() if days else high).cast(kind),
        }
    )
    distinct = ends.unique()
    least, most = (
        (_FIRST_DAY, _LAST_DAY)
        if days
        else (-sys.float_info.max, sys.float_info.max)
        if floats
        else (-(2**63), 2**63 - 1)
    )
    widened = [
        _widened(a, b, step, Fraction(least), Fraction(most)) for a, b in distinct.iter_rows()
    ]
    down = pl.Series(
        "low",
        [None if x is None else float(x) if floats else math.floor(x) for x, _ in widened],
        dtype=kind,
    )
    up = pl.Series(
        "high",
        [None if x is None else float(x) if floats else math.ceil(x) for _, x in widened],
        dtype=kind,
    )
    table = distinct.with_columns(down, up)
    moved = ends.join(table, on=["a", "b"], how="left", nulls_equal=True, maintain_order="left")
    first, last = (
        moved[name].cast(pl.Int32).cast(pl.Date) if days else moved[name]
        for name in ("low", "high")
    )
    return first.alias(low.name), last.alias(high.name)


def _widened(
    a: float | None, b: float | None, step: Fraction, least: Fraction, most: Fraction
) -> tuple[Fraction | None, Fraction | None]:
    """One interval, exactly; numbers mean their decimal text, so that 1.7 is on the grid of 0.1."""
    if b is None:
        return None, None
    top = Fraction(str(b))
    up = math.ceil(top / step) * step
    if a is None:
        return None, min(up, most)
    bottom = Fraction(str(a))
    if top - bottom >= step:
        return bottom, top
    down = math.floor(bottom / step) * step
    up = max(up, down + step)
    if up > most:  # dates such as 9999-12-31 stand at the end of what can be written
        down, up = down - step, most
    elif down < least:
        down, up = least, up + step
    return max(down, least), min(up, most)


def _snap_leaves(
    domain: Domain, low: npt.NDArray[np.int32], high: npt.NDArray[np.int32], width: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Intervals of fewer than ``width`` leaves, moved outward to cells of that many leaves; the
    last cell takes the leaves that are left over.
    """
    first = int(domain.has_missing)
    cells = max(1, (len(domain) - first) // width)
    narrow = (high >= first) & (high - np.maximum(low, first) + 1 < width)
    down = np.minimum((low - first) // width, cells - 1) * width + first
    cell = np.minimum((high - first) // width, cells - 1)
    up = np.where(cell == cells - 1, len(domain) - 1, cell * width + width - 1 + first)
    return np.where(narrow & (low >= first), down, low).astype(np.int32), np.where(
        narrow, up, high
    ).astype(np.int32)
