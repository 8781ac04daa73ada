# SPDX-License-Identifier: Apache-2.0
"""The sliced form: attributes in columns, tuples in buckets, and each column's values permuted
within a bucket by themselves (Li, Li, Zhang, Molloy).
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

import numpy as np
import polars as pl

from phalanx.arrays import Ints, different, firsts
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError, SchemaError
from phalanx.randomness import Stream
from phalanx.release.form import Form, RandomOrder, SensitiveCounts, SortedCounts, Together
from phalanx.release.forms.generalized import by_group, interval
from phalanx.release.manifest import Manifest, PublishedAttribute, Slices

BUCKET: Final = "bucket"
COUNT: Final = "count"
_WIDE: Final = 2**63
"""Whole numbers of 64 bits are below."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """A column whose values are generalized: every row's box, and the first and last code of each
    attribute in each box.
    """

    of_row: Ints
    """Shape (n,): 0 .. b-1."""
    ends: Mapping[str, tuple[Ints, Ints]]
    """Per attribute the codes of the low and the high end, each of shape (b,)."""

    def take(self, rows: Ints) -> "Boxes":
        """The boxes of the given rows, in the given order; some boxes may be no person's then."""
        return replace(self, of_row=self.of_row[rows])


@dataclass(frozen=True, eq=False)
class Sliced(Form):
    """Columns of attributes (the sensitive one, if any, in the last) and what each bucket holds in
    them.

    ``parts`` has one table per column: bucket, the column's attributes as they are published, and
    how often they stand together in the bucket. Written as rows, a bucket's columns stand side by
    side in random order, each by itself: what stands in one row belongs to no person. ``compact``
    releases hold the parts as they are.
    """

    kind: ClassVar = "sliced"
    id_column: ClassVar[str] = BUCKET
    used_for: ClassVar[str] = (
        "Attributes of one column go together as in the original; between columns only "
        "the bucket links them."
    )
    why_no_class: ClassVar[str] = (
        "a row is not a person's, and the adversaries say what buckets tell"
    )
    group_word: ClassVar[str] = "bucket"
    described_by: ClassVar[str | None] = "sliced"
    visible: ClassVar[tuple[str, str] | None] = (
        "Values can be seen, and combinations within a column",
        (
            "Values are published as they are, unless they are intervals, and so is what stands"
            " together in one column. A rare value, or a rare combination of values of one column,"
            " tells an adversary who knows whose it is that this person is in the table."
        ),
    )

    columns: tuple[tuple[str, ...], ...]
    attributes: tuple[PublishedAttribute, ...]
    given: tuple[pl.DataFrame, ...]
    """The table of rows, or the parts where the release is compact."""
    compact: bool = False

    @cached_property
    def parts(self) -> tuple[pl.DataFrame, ...]:
        """Per column (bucket, published attributes, count), ascending; equal values are counted
        together.
        """
        if self.compact:
            return self.given
        rows = self.given[0]
        return tuple(
            _counted(
                rows.select(
                    BUCKET,
                    *(
                        pl.col(column).alias(name)
                        for column, name in zip(self.written(i), self.published(i), strict=True)
                    ),
                )
            )
            for i in range(len(self.columns))
        )

    @cached_property
    def table(self) -> pl.DataFrame:  # type: ignore[override]
        """One row per tuple; of a compact release the columns' values in ascending order, each
        column by itself.
        """
        if not self.compact:
            return self.given[0]
        sides = [
            part[np.repeat(np.arange(part.height), part[COUNT].cast(pl.Int64).to_numpy())].drop(
                COUNT
            )
            for part in self.parts
        ]
        named = [
            side.rename(dict(zip(self.published(i), self._in_rows(i), strict=True)))
            for i, side in enumerate(sides)
        ]
        return pl.concat([named[0], *(side.drop(BUCKET) for side in named[1:])], how="horizontal")

    @cached_property
    def sizes(self) -> pl.DataFrame:
        """(bucket, count): how many tuples each bucket has, ascending."""
        return self.parts[0].group_by(BUCKET).agg(pl.col(COUNT).sum()).sort(BUCKET)

    @property
    def rows(self) -> int:
        if not self.compact:
            return self.given[0].height
        counts = self.given[0][COUNT]
        return (
            int(counts.sum()) if counts.dtype.is_integer() else 0
        )  # what is no number is refused by the checks

    @property
    def groups(self) -> int:
        return self.given[0][BUCKET].n_unique()

    def published(self, column: int) -> list[str]:
        """The names under which a column's attributes are published."""
        by_name = {a.name: a for a in self.attributes}
        return [published for name in self.columns[column] for published in by_name[name].columns]

    def written(self, column: int) -> list[str]:
        """The names under which a column's attributes stand in its table; in a table of rows, where
        an attribute may stand again, with the column's number.
        """
        return self.published(column) if self.compact else self._in_rows(column)

    def tables(self) -> Mapping[str, pl.DataFrame]:
        return dict(zip(self.headers(), self.given, strict=True))

    def headers(self) -> Mapping[str, list[str]]:
        if self.compact:
            return {
                f"column-{i + 1}": [BUCKET, *self.published(i), COUNT]
                for i in range(len(self.columns))
            }
        return {
            "data": [BUCKET, *(name for i in range(len(self.columns)) for name in self._in_rows(i))]
        }

    def manifest_fields(self) -> dict[str, Any]:
        return {"sliced": Slices(columns=[list(c) for c in self.columns], compact=self.compact)}

    def sensitive_counts(self) -> SensitiveCounts:
        last = self.parts[-1]
        return SensitiveCounts(
            last[BUCKET], None if self.sensitive is None else last[self.sensitive], last[COUNT]
        )

    def in_random_order(self) -> Iterator[RandomOrder]:
        if not self.compact:
            yield from super().in_random_order()
            return
        for i, part in enumerate(self.parts):
            yield RandomOrder(part, [], self.published(i))

    def in_sorted_order(self) -> Iterator[SortedCounts]:
        if self.compact:
            for i, part in enumerate(self.given):
                what = f"the counts of column {i + 1} are not in the order of what they say"
                yield SortedCounts(what, part, [(name, None) for name in part.columns[:-1]])

    def together(self) -> Sequence[Together]:
        return tuple(
            Together(column, part) for column, part in zip(self.columns, self.parts, strict=True)
        )

    def _in_rows(self, column: int) -> list[str]:
        """The names in a table of rows: an attribute of a second column is marked with the number
        of that column.
        """
        before = {name for earlier in self.columns[:column] for name in earlier}
        by_name = {a.name: a for a in self.attributes}
        return [
            f"{published}_in_{column + 1}" if name in before else published
            for name in self.columns[column]
            for published in by_name[name].columns
        ]

    @classmethod
    def files(cls, manifest: Manifest) -> tuple[AbstractSet[str], AbstractSet[str]]:
        slices = manifest.sliced or Slices(columns=[])
        names = (
            {f"column-{i + 1}" for i in range(len(slices.columns))} if slices.compact else {"data"}
        )
        return names, names

    @classmethod
    def csv_types(cls, manifest: Manifest, table: str) -> dict[str, Any]:
        form = cls.of_folder(manifest, {})
        of_column = super().csv_types(manifest, table)
        types: dict[str, Any] = (
            {BUCKET: pl.Int64} if table == "data" else {BUCKET: pl.Int64, COUNT: pl.Int64}
        )
        for i in range(len(form.columns)):
            if table in ("data", f"column-{i + 1}"):
                types |= {
                    name: of_column[c]
                    for name, c in zip(form.written(i), form.published(i), strict=True)
                    if c in of_column
                }
        return types

    @classmethod
    def of_folder(cls, manifest: Manifest, tables: Mapping[str, pl.DataFrame]) -> "Sliced":
        """ReleaseError where the columns of the manifest are none that can be."""
        slices, attributes = manifest.sliced or Slices(columns=[]), manifest.attributes
        check_published(attributes)
        attribute_names = {a.name for a in attributes}
        named = {name for column in slices.columns for name in column}
        if (
            not attribute_names
            or named != attribute_names
            or not all(slices.columns)
            or any(len(set(column)) < len(column) for column in slices.columns)
        ):
            raise ReleaseError(
                "the columns that the manifest names do not hold every attribute, each once in a"
                " column; ask the publisher for the folder again."
            )
        columns = tuple(tuple(column) for column in slices.columns)
        names = [f"column-{i + 1}" for i in range(len(columns))] if slices.compact else ["data"]
        return cls(
            columns,
            tuple(attributes),
            tuple(tables[name] for name in names if name in tables),
            slices.compact,
        )


def slice_into(
    microdata: Microdata,
    columns: Sequence[Sequence[str]],
    buckets: Ints,
    stream: Stream,
    *,
    boxes: Mapping[int, Boxes] | None = None,
    compact: bool = False,
) -> tuple[Sliced, Ints]:
    """Publish every row in its bucket, each column permuted by itself; random bucket ids.

    ``buckets`` (n,): 0 .. g-1, none empty. ``boxes``: the columns (by place) whose values are
    generalized; all other values are published as they are. Returns the form and, for every bucket,
    the id under which it was published, shape (g,).
    """
    g = int(buckets.max(initial=-1)) + 1
    published_id = stream.permutation(g) + 1
    ids = published_id[buckets]
    attributes: dict[str, PublishedAttribute] = {}
    sides: list[pl.DataFrame] = []
    for i, column in enumerate(columns):
        shuffled = stream.permutation(microdata.rows)
        order = shuffled[by_group(ids[shuffled])]
        values: dict[str, pl.Series] = {BUCKET: pl.Series(ids[order])}
        for name in column:
            for series in _values(
                microdata, name, order, None if boxes is None else boxes.get(i), attributes
            ):
                if series.name in values or series.name == COUNT:
                    raise _taken(series.name)
                values[series.name] = series
        sides.append(pl.DataFrame(values))
    published = tuple(
        attributes[name]
        for name in [
            *microdata.schema.quasi,
            *([microdata.schema.sensitive] if microdata.schema.sensitive else []),
        ]
    )
    form = Sliced(tuple(tuple(c) for c in columns), published, (), compact)
    if compact:
        return (
            Sliced(form.columns, published, tuple(_counted(side) for side in sides), compact),
            published_id,
        )
    table = {BUCKET: sides[0][BUCKET]}
    for i, side in enumerate(sides):
        for column, series in zip(form._in_rows(i), side.get_columns()[1:], strict=True):  # noqa: SLF001  # a form in the making
            if column in table:
                raise _taken(column)
            table[column] = series
    return Sliced(form.columns, published, (pl.DataFrame(table),), compact), published_id


def _values(
    microdata: Microdata,
    name: str,
    order: Ints,
    boxes: Boxes | None,
    attributes: dict[str, PublishedAttribute],
) -> list[pl.Series]:
    """The published values of one attribute in the given order of rows; says in ``attributes`` how
    they are published.
    """
    column = microdata.columns[name]
    role: Literal["quasi", "sensitive"] = (
        "sensitive" if name == microdata.schema.sensitive else "quasi"
    )
    public = None if column.domain.hierarchy is None else column.domain.hierarchy.parameters()
    if boxes is None or role == "sensitive":
        columns = [column.domain.values.gather(column.codes[order]).alias(name)]
    else:
        low, high = boxes.ends[name]
        columns = [
            ends.gather(boxes.of_row[order])
            for ends in interval(
                name, column.domain, low.astype(np.int32), high.astype(np.int32), None
            )
        ]
    published = PublishedAttribute(
        name=name,
        role=role,
        type=column.domain.type,
        columns=[s.name for s in columns],
        hierarchy=public,
        not_applicable=list(microdata.schema.not_applicable) if role == "sensitive" else [],
    )
    if attributes.setdefault(name, published) != published:
        raise SchemaError(
            f"attribute {name!r} is generalized in one column and not in another; leave it in one"
            " column, or generalize none."
        )
    return columns


def _counted(side: pl.DataFrame) -> pl.DataFrame:
    """Equal rows counted, in ascending order, which tells nothing about the source; by one number for
    each row, as to sort texts takes several times as long.
    """
    key, keys = np.zeros(side.height, dtype=np.int64), 1
    for column in side:
        place, values = _places(column)
        if keys * values >= _WIDE:
            distinct, key = different(key)
            keys = len(distinct)
        key, keys = key * values + place, keys * values
    distinct, place = different(key)
    counts = pl.Series(COUNT, np.bincount(place, minlength=len(distinct)), dtype=pl.Int64)
    return side[firsts(place)].with_columns(counts)


def _places(column: pl.Series) -> tuple[Ints, int]:
    """The place of every value among those that are there, a missing one first; and how many places
    there are.
    """
    if column.dtype.is_integer() and not column.null_count() and len(column):
        low, high = int(column.min()), int(column.max())  # type: ignore[arg-type]
        if low >= -_WIDE and high < _WIDE and high - low < 4 * len(column):
            return column.cast(pl.Int64).to_numpy() - low, high - low + 1
    values = pl.DataFrame({"value": column.unique().sort(nulls_last=False)})
    numbered = values.with_columns(pl.Series("place", np.arange(values.height, dtype=np.int64)))
    placed = pl.DataFrame({"value": column}).join(
        numbered, on="value", how="left", nulls_equal=True, maintain_order="left"
    )
    return placed["place"].to_numpy(), values.height


def check_published(attributes: Sequence[PublishedAttribute]) -> None:
    """ReleaseError where the attributes of a manifest cannot stand in tables of buckets: one
    without columns, a name given twice or taken.
    """
    names, published = [a.name for a in attributes], [c for a in attributes for c in a.columns]
    if (
        len(set(names)) < len(names)
        or len(set(published)) < len(published)
        or not all(a.columns for a in attributes)
    ):
        raise ReleaseError(
            "the manifest does not name every attribute and its columns once; ask the publisher for"
            " the folder again."
        )
    if taken := next((name for name in published if name in (BUCKET, COUNT)), None):
        raise ReleaseError(
            f"the manifest calls a column {taken!r}, which is taken; ask the publisher for the"
            " folder again."
        )


def _taken(name: str) -> SchemaError:
    return SchemaError(
        f"two published columns would be called {name!r} ('bucket', 'count', '<name>_low',"
        " '<name>_high' and '<name>_in_2' are taken); rename it at the source."
    )
