# SPDX-License-Identifier: Apache-2.0
"""The random output tables behind a perturbed release: which value a tuple published with which
probability. Private, as groups are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Ints, different
from phalanx.data.microdata import Microdata
from phalanx.errors import LedgerError

_ROWS: Final = "outputs-rows"
_GROUPS: Final = "outputs-groups"
_TABLES: Final = "outputs-tables"
_LAW: Final = "outputs-law"


@dataclass(frozen=True, eq=False)
class OutputTables:
    """Groups of rows, and for every group and attribute a random output table in whole numbers; no
    value of anybody is in it.

    A table has k classes, one for each distinct original value of the group in the order of the
    attribute's domain. Cell (i, j) is how many units of ``denominator`` a tuple of class i gives to
    the value of class j. Groups with equal tables share them.

    How a tuple of classes i_1 .. i_d was drawn: on attribute a it is to change with q_a =
    denominator - n_a[i_a, i_a]. From a place in the ``order`` on that is random (each of the d as
    likely), going round, these q_a are laid along a line, until it is ``changes`` times the
    denominator long or more; a q_a that reaches beyond stays whole. One point U is uniform among 0
    .. denominator - 1: an attribute of the line changes where some U + z * denominator (z = 0, 1,
    ...) lies in its part. So of these exactly their sum over the denominator, rounded down or up,
    change. What a changed one becomes is drawn by itself: value j (not i_a) with n_a[i_a, j] / q_a.
    Attributes that are not on the line are drawn each by itself: value j with n_a[i_a, j] of the
    denominator.
    """

    attributes: tuple[str, ...]
    """The quasi-identifiers, d of them."""
    group: Ints
    """The group of every published row, in the order of the file, 0 .. g-1, shape (rows,)."""
    of: Ints
    """Which table a group has on an attribute, shape (g, d)."""
    starts: Ints
    """Where each table's classes begin, and the end, shape (tables + 1,)."""
    counts: Ints
    """How many tuples each class has, all tables one after the other."""
    units: Ints
    """The cells, k * k per table, row by row, one table after the other."""
    denominator: int
    """What a row of a table sums to."""
    changes: int = 1
    """At least so many quasi-identifiers of every row were changed."""
    order: tuple[int, ...] = ()
    """How attributes were drawn together: the places of all attributes in the order in which they
    were laid along a line, from a random one on.
    """

    @cached_property
    def cells(self) -> Ints:
        """Where each table's cells begin, and the end, shape (tables + 1,)."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(self.starts) ** 2)])

    def table(self, which: int) -> Ints:
        """One table, shape (k, k)."""
        k = int(self.starts[which + 1] - self.starts[which])
        return self.units[self.cells[which] : self.cells[which + 1]].reshape(k, k)

    def frames(self, release: int) -> dict[str, pl.DataFrame]:
        """The same as tables for the ledger, which tell releases apart by their number."""
        of, d = pl.lit(release, pl.Int64).alias("release"), len(self.attributes)
        tables = len(self.starts) - 1
        table_of = np.repeat(np.arange(tables), np.diff(self.starts))
        law = {
            "denominator": [self.denominator],
            "changes": [self.changes],
            "order": [list(self.order)],
            "attributes": [list(self.attributes)],
        }
        types: dict[str, pl.DataType | type[pl.DataType]] = {
            "denominator": pl.Int64,
            "changes": pl.Int64,
            "order": pl.List(pl.Int64),
            "attributes": pl.List(pl.String),
        }
        groups = {f"table-{a}": self.of[:, a] for a in range(d)}
        k = np.diff(self.starts)[table_of]
        return {
            _LAW: pl.DataFrame(law, schema=types).with_columns(of),
            _ROWS: pl.DataFrame({"group": self.group}).with_columns(of),
            _GROUPS: pl.DataFrame(groups).with_columns(of),
            _TABLES: (
                pl.DataFrame(
                    {"table": table_of, "count": self.counts, "units": _lists(self.units, k)}
                ).with_columns(of)
            ),
        }

    @classmethod
    def of_frames(cls, frames: Mapping[str, pl.DataFrame], release: int) -> "OutputTables | None":
        """What the ledger kept of a release; None where it kept nothing. LedgerError where it is
        not what :meth:`frames` makes.
        """
        if any(name not in frames for name in (_LAW, _ROWS, _GROUPS, _TABLES)):
            return None
        law, rows, groups, tables = (
            frames[name].filter(pl.col("release") == release)
            for name in (_LAW, _ROWS, _GROUPS, _TABLES)
        )
        if law.height == 0:
            return None
        if law.height != 1:
            raise LedgerError(
                f"the ledger keeps the random output tables of release {release} twice; use a"
                " ledger that Phalanx alone has written."
            )
        attributes = tuple(law["attributes"][0])
        d = len(attributes)
        sizes = tables.group_by("table", maintain_order=True).len()["len"].to_numpy()
        of = [groups[f"table-{a}"].to_numpy() for a in range(d)]
        return cls(
            attributes=attributes,
            group=rows["group"].to_numpy().astype(np.int64),
            of=np.stack(of, axis=1).astype(np.int64),
            starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            counts=tables["count"].to_numpy().astype(np.int64),
            units=tables["units"].explode().to_numpy().astype(np.int64),
            denominator=int(law["denominator"][0]),
            changes=int(law["changes"][0]),
            order=tuple(law["order"][0]),
        )

    def classes(self, microdata: Microdata, rows: Ints) -> "Classes":
        """Which class every row of the original table was in; ``rows`` (n,): its published row,
        from 1, 0 for a row that was not published.
        """
        return Classes.of(self, microdata, rows)


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of an original table's rows in the groups that these were published in."""

    who: Ints
    """The rows of the original table that were published, shape (p,)."""
    group: Ints
    """Their groups, shape (p,)."""
    own: Ints
    """Their classes, shape (p, d)."""
    codes: tuple[Ints, ...]
    """By attribute: the codes (of the microdata's domain) of the values of all groups' classes,
    ascending in each group.
    """
    first: tuple[Ints, ...]
    """By attribute: where each group's classes begin in ``codes``, and the end, shape (g + 1,)."""
    counts: tuple[Ints, ...]
    """By attribute: how many tuples each of these classes has."""

    @classmethod
    def of(cls, outputs: OutputTables, microdata: Microdata, rows: Ints) -> "Classes":
        """Found from the original table and who was published in which row."""
        who = np.flatnonzero(rows > 0)
        group = outputs.group[rows[who] - 1]
        g = len(outputs.of)
        own, codes, first, counts = (
            np.empty((len(who), len(outputs.attributes)), np.int64),
            [],
            [],
            [],
        )
        for a, name in enumerate(outputs.attributes):
            column = microdata.columns[name]
            size = len(column.domain)
            cells, at = different(group * size + column.codes[who])
            times = np.bincount(at, minlength=len(cells))
            begins = np.searchsorted(cells, np.arange(g + 1) * size)
            own[:, a] = at - begins[group]
            codes.append(cells % size)
            first.append(begins.astype(np.int64))
            counts.append(times.astype(np.int64))
        return cls(who, group, own, tuple(codes), tuple(first), tuple(counts))


def _lists(cells: Ints, lengths: Ints) -> pl.Series:
    """Lists of the given ``lengths``, one after the other."""
    ends = np.cumsum(lengths)
    where = pl.DataFrame(
        {
            "row": np.repeat(np.arange(len(lengths)), lengths),
            "cell": cells[: int(ends[-1]) if len(ends) else 0],
        }
    )
    return where.group_by("row", maintain_order=True).agg("cell")["cell"]
