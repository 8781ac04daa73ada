# SPDX-License-Identifier: Apache-2.0
"""Schemes: maps of single rows to the images under which they are published. A fixed scheme comes
from the plan and never sees a table.

Source: Li, Qardaji, Su, section 3.2: a safe k-anonymization first settles on a map g of tuples (a
constant for a strongly safe one, or a choice that is differentially private), and then applies it
to each tuple by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import polars as pl

from phalanx.arrays import Codes, Ints
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PlanError, SchemaError, did_you_mean
from phalanx.methods.safe_sampling.axes import Axis, Cells, axis_of
from phalanx.methods.safe_sampling.kernels import images as kernel
from phalanx.release.forms.recoded import different_names
from phalanx.release.manifest import PublishedAttribute


class Scheme(Protocol):
    """A map of rows to images, each row by itself. ``epsilon`` is what its choice cost, 0 for a
    fixed one; nothing else may choose by the data.
    """

    @property
    def epsilon(self) -> Fraction:
        """What the choice of the scheme cost."""

    def images(self, microdata: Microdata, rows: Ints) -> tuple[Ints, pl.DataFrame]:
        """The image of each of the given rows, numbered from 0, shape (s,), and the images, a row
        each with the columns of :meth:`attributes`.
        """

    def attributes(self, microdata: Microdata) -> list[PublishedAttribute]:
        """The attributes and the columns in which they are published."""

    def parameters(self) -> dict[str, Any]:
        """What the manifest says of the scheme."""


@dataclass(frozen=True)
class Axes:
    """How each attribute may be recoded: what the plan says, without the data. Those without a
    level are left to a private choice.
    """

    axes: tuple[Axis, ...]
    levels: Mapping[str, int | None]

    @classmethod
    def of(cls, declared: Mapping[str, Any], schema: Schema, *, choose: bool) -> "Axes":
        """The recodings that ``[method.scheme]`` declares for the columns of a schema.

        Where nothing is chosen by the data (not ``choose``), an attribute without a level is
        published at its lowest. PlanError where a column is not published or a recoding does not
        fit it, SchemaError where columns are kept, which no proof would cover.
        """
        names = (*schema.quasi, *(() if schema.sensitive is None else (schema.sensitive,)))
        if schema.keep:
            raise SchemaError(
                f"column {schema.keep[0]!r} is kept, and under differential privacy every published"
                " column is covered; make it quasi, sensitive, or drop it."
            )
        for name in declared:
            if name not in names:
                raise PlanError(
                    f"[method.scheme] names {name!r}, which is not"
                    f" published{did_you_mean(name, names) or '; remove it.'}"
                )
        axes = tuple(
            axis_of(name, declared.get(name), schema.hierarchies.get(name)) for name in names
        )
        levels: dict[str, int | None] = {}
        for axis in axes:
            level = axis.asked(declared.get(axis.name))
            levels[axis.name] = level if level is not None or choose else axis.lowest
        return cls(axes, levels)

    def check_fits(self, microdata: Microdata) -> None:
        """SchemaError where an attribute is of another type than its recoding is for."""
        for axis in self.axes:
            axis.check_fits(microdata.columns[axis.name].domain)


@dataclass(frozen=True)
class FixedScheme:
    """A level for every attribute. It is made of the plan alone, so that no record can change it; a
    choice that cost ``epsilon`` may have set the levels.

    >>> from phalanx.data.schema import Schema
    >>> schema = Schema(quasi=["age"], sensitive="diagnosis")
    >>> scheme = FixedScheme.of({"age": {"low": 0, "high": 100, "width": 10}}, schema)
    >>> scheme.parameters()["attributes"]["age"]
    {'low': 0, 'high': 100, 'widths': [10], 'level': 0}
    """

    axes: tuple[Axis, ...]
    levels: tuple[int, ...]
    chosen: str = "fixed"
    epsilon: Fraction = Fraction(0)

    @classmethod
    def of(cls, declared: Mapping[str, Any], schema: Schema) -> "FixedScheme":
        """The scheme that ``[method.scheme]`` declares; PlanError, SchemaError as
        :meth:`Axes.of`.
        """
        axes = Axes.of(declared, schema, choose=False)
        return cls(axes.axes, tuple(axes.levels[axis.name] or 0 for axis in axes.axes))

    def images(self, microdata: Microdata, rows: Ints) -> tuple[Ints, pl.DataFrame]:
        """The image of each of the given rows, numbered from 0, and the images."""
        cells = [
            axis.cells(microdata.columns[axis.name].domain, level)
            for axis, level in zip(self.axes, self.levels, strict=True)
        ]
        codes = [microdata.columns[axis.name].codes for axis in self.axes]
        return number_images(codes, cells, rows)

    def attributes(self, microdata: Microdata) -> list[PublishedAttribute]:
        """The attributes and the columns in which they are published."""
        return published_attributes(self.axes, microdata.schema)

    def parameters(self) -> dict[str, Any]:
        """What the manifest says of the scheme."""
        return {
            "chosen": self.chosen,
            "attributes": {
                axis.name: axis.parameters() | {"level": level}
                for axis, level in zip(self.axes, self.levels, strict=True)
            },
        }


def published_attributes(axes: Sequence[Axis], schema: Schema) -> list[PublishedAttribute]:
    """Of each recoded attribute its role, its type and its columns."""
    return [
        PublishedAttribute(
            name=axis.name,
            role="sensitive" if axis.name == schema.sensitive else "quasi",
            type=axis.type,
            columns=axis.columns,
            hierarchy=None if axis.hierarchy is None else axis.hierarchy.parameters(),
            not_applicable=(list(schema.not_applicable) if axis.name == schema.sensitive else []),
        )
        for axis in axes
    ]


def number_images(
    codes: Sequence[Codes], cells: Sequence[Cells], rows: Ints
) -> tuple[Ints, pl.DataFrame]:
    """Number the different combinations of cells among the given rows, shape (s,), and write each
    of them out, a row each.
    """
    key = np.zeros(len(rows), dtype=np.int64)
    size = 1
    for code, cell in zip(codes, cells, strict=True):
        if size * cell.count >= 2**62:
            key, size = _dense(key)
        kernel.add_digit(key, cell.of_code, code, rows, cell.count)
        size *= cell.count
    image, first = kernel.number(key) if len(rows) else (key, key)
    columns: list[pl.Series] = []
    different_names([series.name for cell in cells for series in cell.columns])
    for code, cell in zip(codes, cells, strict=True):
        at = cell.of_code[code[rows[first]]]
        columns += [series.gather(at) for series in cell.columns]
    return image, pl.DataFrame(columns)


def _dense(key: Ints) -> tuple[Ints, int]:
    """The same keys, numbered without gaps, and how many there are."""
    image, first = kernel.number(key) if len(key) else (key, key)
    return image, max(1, len(first))
