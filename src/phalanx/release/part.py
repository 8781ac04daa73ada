# SPDX-License-Identifier: Apache-2.0
"""One part of a release in parts, as the release that it would be by itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import polars as pl

from phalanx.release.folder import Release, check_digests, form_of, read_tables
from phalanx.release.kinds import form_class
from phalanx.release.manifest import Manifest
from phalanx.release.parts import groups_before, part_of


@dataclass(frozen=True, eq=False)
class Part(Release):
    """A part, whose groups are numbered from 1 in its form, as those of a release by itself."""

    at: int = 0
    """Which part it is, from 0."""
    before: int = 0
    """How many groups the parts before it have."""
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @property
    def written(self) -> Mapping[str, pl.DataFrame]:
        """As they stand in its files, with the numbers that their groups have there."""
        return self.tables

    @classmethod
    def read_part(cls, path: Path, manifest: Manifest, number: int) -> Self:
        """Read one part of a release folder, and nothing else of it.

        Parameters
        ----------
        path : Path
            The folder.
        manifest : Manifest
            What the whole release says about itself.
        number : int
            Which part, from 0.

        Returns
        -------
        Self
            The part.

        Raises
        ------
        ReleaseError
            Where its files were changed, or do not say what the manifest says of them.
        """
        of_part, before = part_of(manifest, number), groups_before(manifest, number)
        check_digests(path, of_part)
        tables = read_tables(path, of_part)
        id_column = form_class(manifest.form).id_column
        form = form_of(
            path, of_part, {name: numbered(t, id_column, -before) for name, t in tables.items()}
        )
        return cls(manifest=of_part, form=form, path=path, at=number, before=before, tables=tables)


def numbered(table: pl.DataFrame, id_column: str, by: int) -> pl.DataFrame:
    """A table with the numbers of its groups moved; as it is where they are no whole numbers of 64
    bits, which the checks refuse.
    """
    if not by or table.schema.get(id_column) != pl.Int64:
        return table
    return table.with_columns(pl.col(id_column) + by)
