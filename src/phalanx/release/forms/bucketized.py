# SPDX-License-Identifier: Apache-2.0
"""The bucketized form: quasi-identifiers as they are, and beside them how often each sensitive
value stands in each bucket (Xiao & Tao, VLDB 2006).
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError, SchemaError
from phalanx.randomness import Stream
from phalanx.release.form import (
    Form,
    RandomOrder,
    SensitiveCounts,
    SortedCounts,
    Together,
    types_of,
)
from phalanx.release.forms.generalized import by_group
from phalanx.release.forms.sliced import BUCKET, COUNT, check_published
from phalanx.release.manifest import Manifest, PublishedAttribute


@dataclass(frozen=True, eq=False)
class Bucketized(Form):
    """Two tables: ``table`` (bucket and quasi-identifiers, one row per tuple) and ``values``
    (bucket, sensitive value, count).
    """

    kind: ClassVar = "bucketized"
    id_column: ClassVar[str] = BUCKET
    used_for: ClassVar[str] = (
        "Quasi-identifiers stand as they are; which sensitive value of a bucket is whose does not."
    )
    group_word: ClassVar[str] = "bucket"
    visible: ClassVar[tuple[str, str] | None] = (
        "Who is in the table can be seen",
        (
            "Quasi-identifiers are published as they are, a row for each person: an adversary who"
            " knows those of a person sees whether they are in the table, and in which bucket."
            " Only the link with the sensitive value is hidden."
        ),
    )

    table: pl.DataFrame
    values: pl.DataFrame
    attributes: tuple[PublishedAttribute, ...]

    @property
    def rows(self) -> int:
        return self.table.height

    @property
    def groups(self) -> int:
        return self.table[BUCKET].n_unique()

    def tables(self) -> Mapping[str, pl.DataFrame]:
        return {"data": self.table, "sensitive": self.values}

    def headers(self) -> Mapping[str, list[str]]:
        quasi = [column for a in self.attributes if a.role != "sensitive" for column in a.columns]
        return {"data": [BUCKET, *quasi], "sensitive": [BUCKET, str(self.sensitive), COUNT]}

    def sensitive_counts(self) -> SensitiveCounts:
        if self.sensitive is None:
            return super().sensitive_counts()
        return SensitiveCounts(self.values[BUCKET], self.values[self.sensitive], self.values[COUNT])

    def in_random_order(self) -> Iterator[RandomOrder]:
        yield RandomOrder(self.table, self.table.columns[1:], self.table.columns[1:])
        yield RandomOrder(self.values, [], [str(self.sensitive)])

    def in_sorted_order(self) -> Iterator[SortedCounts]:
        what = "the counts of sensitive values are not in the order of what they say"
        yield SortedCounts(
            what,
            self.values,
            [(BUCKET, None), (str(self.sensitive), self.attribute("sensitive")[0])],
        )

    def together(self) -> Sequence[Together]:
        """Quasi-identifiers, whose rows are shown one by one, and the sensitive attribute."""
        quasi, sensitive = (
            [a.name for a in self.attribute(role)] for role in ("quasi", "sensitive")
        )
        return Together(
            quasi, self.table.with_columns(pl.lit(1, dtype=pl.Int64).alias(COUNT))
        ), Together(sensitive, self.values)

    @classmethod
    def files(cls, manifest: Manifest) -> tuple[AbstractSet[str], AbstractSet[str]]:
        return {"data", "sensitive"}, {"data", "sensitive"}

    @classmethod
    def csv_types(cls, manifest: Manifest, table: str) -> dict[str, Any]:
        counts: dict[str, Any] = (
            {BUCKET: pl.Int64} if table == "data" else {BUCKET: pl.Int64, COUNT: pl.Int64}
        )
        attributes = [
            a for a in manifest.attributes if (a.role == "sensitive") == (table == "sensitive")
        ]
        return counts | {
            column: dtype
            for attribute in attributes
            for column, dtype in types_of(attribute).items()
        }

    @classmethod
    def of_folder(cls, manifest: Manifest, tables: Mapping[str, pl.DataFrame]) -> "Bucketized":
        """ReleaseError where the manifest names no sensitive attribute, or columns that cannot
        be.
        """
        attributes = manifest.attributes
        check_published(attributes)
        if [a.role for a in attributes].count("sensitive") != 1:
            raise ReleaseError(
                "a bucketized release has one sensitive attribute, and the manifest names none or"
                " several; ask the publisher for the folder again."
            )
        return cls(tables["data"], tables["sensitive"], tuple(attributes))


def bucketize(microdata: Microdata, buckets: Ints, stream: Stream) -> tuple[Bucketized, Ints]:
    """Publish every row's quasi-identifiers as they are and every bucket's sensitive values by
    count; random bucket ids, random order.

    ``buckets`` (n,): 0 .. g-1, none empty. Returns the form and, for every bucket, the id under
    which it was published, shape (g,).
    """
    schema, sensitive = microdata.schema, microdata.sensitive
    g = int(buckets.max(initial=-1)) + 1
    published_id = stream.permutation(g) + 1
    ids = published_id[buckets]
    shuffled = stream.permutation(microdata.rows)
    order = shuffled[by_group(ids[shuffled])]
    if taken := next(
        (name for name in (*schema.quasi, str(schema.sensitive)) if name in (BUCKET, COUNT)), None
    ):
        raise SchemaError(
            f"a published column would be called {taken!r}, which is taken; rename the column at"
            " the source."
        )
    rows = {BUCKET: pl.Series(ids[order])} | {
        name: microdata.columns[name].domain.values.gather(microdata.columns[name].codes[order])
        for name in schema.quasi
    }
    q = len(sensitive.domain)
    cells, count = np.unique(ids * q + sensitive.codes, return_counts=True)
    values = {
        BUCKET: pl.Series(cells // q),
        str(schema.sensitive): sensitive.domain.values.gather(cells % q),
        COUNT: pl.Series(count.astype(np.int64)),
    }
    attributes = [
        PublishedAttribute(
            name=name,
            role="sensitive" if name == schema.sensitive else "quasi",
            type=(domain := microdata.columns[name].domain).type,
            columns=[name],
            hierarchy=None if domain.hierarchy is None else domain.hierarchy.parameters(),
            not_applicable=list(schema.not_applicable) if name == schema.sensitive else [],
        )
        for name in (*schema.quasi, str(schema.sensitive))
    ]
    return Bucketized(pl.DataFrame(rows), pl.DataFrame(values), tuple(attributes)), published_id
