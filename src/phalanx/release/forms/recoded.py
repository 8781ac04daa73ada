# SPDX-License-Identifier: Apache-2.0
"""The recoded form: rows of a sample as the cells that a scheme of fixed recodings puts them into,
and no other trace of the table (safe sampling).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.errors import ReleaseError, SchemaError
from phalanx.release.form import Form, RandomOrder
from phalanx.release.manifest import Manifest, PublishedAttribute


@dataclass(frozen=True, eq=False)
class Recoded(Form):
    """One table, a row per published tuple, sorted by what it says: for every attribute a node of
    its hierarchy, or the two ends of a cell of its grid.

    ``low <= value < high``, and the first and last cell of a grid hold everything beyond. Equal
    rows are one image. ``scheme`` is what the manifest says of the recodings.
    """

    kind: ClassVar = "recoded"
    id_column: ClassVar[str] = ""
    used_for: ClassVar[str] = (
        "It is a sample: what is counted in it, divided by beta, estimates the table."
    )
    group_word: ClassVar[str] = "image"
    described_by: ClassVar[str | None] = "scheme"
    tells_itself_alone: ClassVar[bool] = True

    table: pl.DataFrame
    attributes: tuple[PublishedAttribute, ...]
    scheme: Mapping[str, Any]

    @property
    def rows(self) -> int:
        return self.table.height

    @property
    def groups(self) -> int:
        """How many different images there are."""
        return self.table.n_unique() if self.table.height else 0

    def tables(self) -> Mapping[str, pl.DataFrame]:
        return {"data": self.table}

    def headers(self) -> Mapping[str, list[str]]:
        return {"data": [column for a in self.attributes for column in a.columns]}

    def manifest_fields(self) -> dict[str, Any]:
        return {"scheme": dict(self.scheme)}

    def in_random_order(self) -> Iterator[RandomOrder]:
        """None: rows stand in the order of what they say."""
        yield from ()

    @classmethod
    def of_folder(cls, manifest: Manifest, tables: Mapping[str, pl.DataFrame]) -> "Recoded":
        """ReleaseError where an attribute is kept, or stands in other columns than a recoding
        gives, or where the scheme is none.
        """
        attributes, scheme = manifest.attributes, manifest.scheme or {}
        for a in attributes:
            if a.role in ("keep", "weight") or a.columns not in (
                [a.name],
                [f"{a.name}_low", f"{a.name}_high"],
            ):
                raise ReleaseError(
                    "a recoded release has a node, or the two ends of a cell, for each attribute;"
                    " ask the publisher for the folder again."
                )
        recodings = scheme.get("attributes", {})
        if not isinstance(recodings, dict) or not all(map(_is_recoding, recodings.values())):
            raise ReleaseError(
                "the scheme in the manifest does not say how each attribute is recoded; ask the"
                " publisher for the folder again."
            )
        return cls(tables["data"], tuple(attributes), scheme)


def _is_recoding(entry: object) -> bool:
    """Whether this is a level, the ends of a grid, or both; not whether they fit the attribute."""
    if not isinstance(entry, dict):
        return False
    level, widths = entry.get("level", 0), entry.get("widths", [])
    return (
        (level is None or (isinstance(level, int) and level >= 0))
        and isinstance(widths, list)
        and all(map(_is_number, widths))
        and ("widths" not in entry or {"low", "high"} <= entry.keys())
        and all(
            isinstance(end, str) or _is_number(end)
            for end in (entry.get("low", 0), entry.get("high", 0))
        )
    )


def _is_number(value: object) -> bool:
    """Whether it is one that a column can hold."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63)


def different_names(columns: Sequence[str]) -> None:
    """SchemaError where two published columns would have one name."""
    if twice := [name for name in columns if columns.count(name) > 1]:
        raise SchemaError(
            f"two published columns would be called {twice[0]!r} ('<name>_low' and '<name>_high'"
            " are taken); rename the column at the source."
        )


def in_order(images: pl.DataFrame, attributes: Sequence[PublishedAttribute]) -> pl.Series:
    """The places of different images, shape (g,), in the order of what they say, in which they are
    published; SchemaError where two columns would have one name.
    """
    names = [column for a in attributes for column in a.columns]
    different_names(names)
    if not images.height:
        return pl.Series([], dtype=pl.UInt32)
    return images.with_row_index("", offset=0).sort(names, nulls_last=True, maintain_order=True)[""]


def cuts(times: Ints, at_once: int | None) -> list[int]:
    """Where images that occur so many ``times`` (g,) are cut into pieces of at most ``at_once`` rows,
    or of one image; from 0 to g, and nothing but published counts has a part in it.
    """
    ends = np.cumsum(times)
    cuts = [0]
    while at_once is not None and cuts[-1] < len(ends):
        behind = ends[cuts[-1] - 1] if cuts[-1] else 0
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(ends, behind + at_once, side="right"))))
    return cuts if len(cuts) > 1 else [0, len(ends)]


def recode(
    images: pl.DataFrame,
    counts: Ints,
    attributes: Sequence[PublishedAttribute],
    scheme: Mapping[str, Any],
) -> tuple[Recoded, Ints]:
    """Publish every image as often as it was counted, in the order of what the images say, which no
    row has a part in.

    ``images``: one row per different image, the columns of the attributes; ``counts`` (g,). Returns
    the form and the place of every image in that order, from 1, shape (g,). SchemaError where two
    columns would have one name.
    """
    names = [column for a in attributes for column in a.columns]
    order = in_order(images, attributes)
    place = np.empty(images.height, dtype=np.int64)
    place[order.to_numpy()] = np.arange(1, images.height + 1)
    rows = np.repeat(order.to_numpy(), counts[order.to_numpy()])
    return (
        Recoded(images.select(names)[pl.Series(rows, dtype=pl.UInt32)], tuple(attributes), scheme),
        place,
    )
