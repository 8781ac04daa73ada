# SPDX-License-Identifier: Apache-2.0
"""The perturbed form: the schema of the original, some quasi-identifiers replaced by others'
values, no groups (mutual cover).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.randomness import Stream
from phalanx.release.evidence.outputs import OutputTables
from phalanx.release.form import Form
from phalanx.release.manifest import Manifest, PublishedAttribute


@dataclass(frozen=True, eq=False)
class Perturbed(Form):
    """One table with the columns of the original, a row per tuple: quasi-identifiers as they were
    drawn, the sensitive value as it is.
    """

    kind: ClassVar = "perturbed"
    id_column: ClassVar[str] = ""
    used_for: ClassVar[str] = (
        "It looks like the original and loads as one; a single row need not be true of anybody."
    )
    why_no_class: ClassVar[str] = (
        "values of rows were drawn, and the adversaries say what that hides"
    )
    group_word: ClassVar[str] = ""
    drawn_from: ClassVar = OutputTables
    visible: ClassVar[tuple[str, str] | None] = (
        "Values are real ones of other persons, and sensitive values are exact",
        (
            "Every row is of one person, with this person's own sensitive value; what may be wrong"
            " in it are the quasi-identifiers. An adversary who knows how the rows were made, or"
            " guesses it, can tell which rows may be a person's. No value is invented: a rare one"
            " says that a person in the table has it."
        ),
    )

    table: pl.DataFrame
    attributes: tuple[PublishedAttribute, ...]

    @property
    def rows(self) -> int:
        return self.table.height

    @property
    def groups(self) -> int:
        """None is published: in which group a row was drawn is private."""
        return 0

    def tables(self) -> Mapping[str, pl.DataFrame]:
        return {"data": self.table}

    def headers(self) -> Mapping[str, list[str]]:
        return {"data": [column for a in self.attributes for column in a.columns]}

    @classmethod
    def of_folder(cls, manifest: Manifest, tables: Mapping[str, pl.DataFrame]) -> "Perturbed":
        """ReleaseError where an attribute stands in more than one column, or is kept."""
        attributes = manifest.attributes
        if any(a.columns != [a.name] or a.role in ("keep", "weight") for a in attributes):
            raise ReleaseError(
                "a perturbed release has one column for each attribute, under its own name; ask the"
                " publisher for the folder again."
            )
        return cls(tables["data"], tuple(attributes))


def perturb(
    microdata: Microdata, drawn: Mapping[str, npt.NDArray[np.int32]], stream: Stream
) -> tuple[Perturbed, Ints]:
    """Publish tuples with the quasi-identifiers that were ``drawn`` for them (codes, shape (n,))
    and their own sensitive value, in random order.

    Returns the form and, for every row of the microdata, the number of its published row, from 1,
    shape (n,).
    """
    schema = microdata.schema
    order = stream.permutation(microdata.rows)
    columns: dict[str, pl.Series] = {}
    attributes: list[PublishedAttribute] = []
    for name in (*schema.quasi, *(() if schema.sensitive is None else (schema.sensitive,))):
        column = microdata.columns[name]
        codes = drawn.get(name, column.codes)
        columns[name] = column.domain.values.gather(codes[order])
        attributes.append(
            PublishedAttribute(
                name=name,
                role="sensitive" if name == schema.sensitive else "quasi",
                type=column.domain.type,
                columns=[name],
                hierarchy=(
                    None
                    if column.domain.hierarchy is None
                    else column.domain.hierarchy.parameters()
                ),
                not_applicable=list(schema.not_applicable) if name == schema.sensitive else [],
            )
        )
    row = np.empty(microdata.rows, dtype=np.int64)
    row[order] = np.arange(1, microdata.rows + 1)
    return Perturbed(pl.DataFrame(columns), tuple(attributes)), row
