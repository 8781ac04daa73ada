# SPDX-License-Identifier: Apache-2.0
"""A perturbed release beside the original table: whose values it publishes, and which rows are as
they were.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.guarantees.consistency.perturbed import codes_of
from phalanx.release.forms.perturbed import Perturbed


def rows_fault(form: Perturbed, microdata: Microdata, rows: Ints | None) -> str:
    """Why an original table, or what is said of its rows, is none of this release; empty where they
    fit.

    ``rows`` (n,): the published row of each row of the microdata, from 1, 0 for one that was not
    published; None where that is not known.
    """
    if lacking := [a.name for a in form.attributes if a.name not in microdata.columns]:
        return f"the original table has no column {lacking[0]!r}"
    if rows is None:
        return ""
    if rows.shape != (microdata.rows,) or not np.issubdtype(rows.dtype, np.integer):
        return (
            f"the published rows of {microdata.rows} row(s) of the original table are not said by"
            " one whole number for each"
        )
    if not np.array_equal(np.sort(rows[rows != 0]), np.arange(1, form.rows + 1)):
        return (
            f"the {form.rows} row(s) of the release are not those of one row of the original table"
            " each"
        )
    return ""


@dataclass(frozen=True, eq=False)
class Beside:
    """Codes of the published rows and of the original ones, over the original's domains; -1 for a
    published value that is in no original row.
    """

    names: tuple[str, ...]
    """The quasi-identifiers, and the sensitive attribute last where there is one."""
    published: Ints
    """Shape (rows, names)."""
    original: Ints
    """Of the rows that were published, as far as that is known, shape (p, names)."""
    row: Ints | None
    """In which published row each original one is, from 0, shape (p,)."""
    quasi: int
    """So many of the names are quasi-identifiers."""

    @classmethod
    def of(cls, form: Perturbed, microdata: Microdata, rows: Ints | None) -> "Beside":
        """Of an original table without :func:`rows_fault`."""
        who = np.arange(microdata.rows) if rows is None else np.flatnonzero(rows)
        names = (
            *(a.name for a in form.attribute("quasi")),
            *(a.name for a in form.attribute("sensitive")),
        )
        published, original = (
            np.empty((form.rows, len(names)), np.int64),
            np.empty((len(who), len(names)), np.int64),
        )
        for i, name in enumerate(names):
            column = microdata.columns[name]
            original[:, i] = column.codes[who]
            occurs = np.bincount(original[:, i], minlength=len(column.domain)) > 0
            codes = codes_of(column.domain, form.table[name])
            published[:, i] = np.where((codes >= 0) & occurs[np.maximum(codes, 0)], codes, -1)
        return cls(
            names,
            published,
            original,
            None if rows is None else rows[who] - 1,
            len(form.attribute("quasi")),
        )

    def value_faults(self) -> Iterator[tuple[str, int]]:
        """What is published and not in the original table, and how much of it."""
        if unlike := abs(len(self.published) - len(self.original)):
            yield (
                (
                    f"the release has {len(self.published)} row(s) and the original table"
                    f" {len(self.original)}"
                ),
                unlike,
            )
        if strange := int((self.published[:, : self.quasi] < 0).sum()):
            yield (
                (
                    f"{strange} published value(s) of quasi-identifiers are of no person in the"
                    " original table"
                ),
                strange,
            )
        for i in range(self.quasi, len(self.names)):
            values = (
                int(max(self.published[:, i].max(initial=-1), self.original[:, i].max(initial=-1)))
                + 2
            )
            there, wanted = (
                np.bincount(codes[:, i] + 1, minlength=values)
                for codes in (self.published, self.original)
            )
            if unlike := int(np.maximum(there - wanted, 0).sum()):
                yield (
                    (
                        f"{unlike} sensitive value(s) are not those of the original table, each as"
                        " often"
                    ),
                    unlike,
                )

    @cached_property
    def _changes(self) -> Ints:
        """In how many quasi-identifiers each person's row differs from theirs, shape (p,)."""
        differ = np.not_equal(
            self.published[self.row, : self.quasi], self.original[:, : self.quasi]
        )
        changes: Ints = np.count_nonzero(differ, axis=1).astype(np.int64)
        return changes

    def fewest_changes(self) -> int | None:
        """In how many quasi-identifiers a row differs from its person's, at least; None without
        rows.
        """
        return int(self._changes.min()) if len(self._changes) else None

    def below(self, least: int) -> int:
        """How many rows differ in fewer quasi-identifiers."""
        return int((self._changes < least).sum())

    def surely_below(self, least: int) -> int:
        """How many rows differ in some quasi-identifiers, and in fewer than ``least``, from the only
        person who has their sensitive value; for releases without :meth:`value_faults`.
        """
        if self.quasi == len(self.names):
            return 0
        once = np.bincount(self.original[:, self.quasi]) == 1
        published, original = (
            alone[np.argsort(alone[:, self.quasi]), : self.quasi]
            for codes in (self.published, self.original)
            for alone in (codes[once[codes[:, self.quasi]]],)
        )
        changes = np.count_nonzero(published != original, axis=1)
        return int(((changes > 0) & (changes < least)).sum())

    def surely_unchanged(self) -> int:
        """How many rows are as they were, at least, whichever person is in which row of their
        sensitive value; for releases without :meth:`value_faults`.

        Of n tuples with one sensitive value, o have some quasi-identifiers and p rows show them: if
        o + p > n, then o + p - n of these tuples cannot be in another row; for no other
        quasi-identifiers this is so too, and there is a way in which all other tuples are in rows
        that differ (Hall).
        """
        names = [str(i) for i in range(len(self.names))]
        secret = names[self.quasi :]
        published, original = (
            pl.DataFrame(codes, schema=names, orient="row")
            .group_by(names)
            .agg(pl.len().cast(pl.Int64))
            for codes in (self.published, self.original)
        )
        both = original.join(published, on=names, how="inner", suffix=" published")
        of_value = original.group_by(secret).agg(pl.sum("len").alias("all")) if secret else None
        both = (
            both.join(of_value, on=secret, how="left")
            if of_value is not None
            else both.with_columns(all=pl.lit(len(self.original), dtype=pl.Int64))
        )
        return int((both["len"] + both["len published"] - both["all"]).clip(lower_bound=0).sum())
