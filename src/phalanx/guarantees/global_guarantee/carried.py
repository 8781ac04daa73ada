# SPDX-License-Identifier: Apache-2.0
"""What a series carries on about each person's exposures, checked beside the release that it
follows: no person is carried on as less exposed than they are.

If that holds after every release, then what is carried before the next one understates no person's
exposure, and a check of the next one alone is a check of the whole series. It is not so of cohorts,
whose promise is about all their releases: a series with permanent values is always checked whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.guarantees.global_guarantee.shares import Cells, Protects, numbered
from phalanx.release.evidence.exposures import SCALE, Exposures
from phalanx.release.folder import Release

_NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Exposed:
    """The pairs of person and value that a release links, beside what was carried about them before
    it, shape (e,) each.
    """

    cells: Cells
    person: Ints
    """A place among the persons of the mapping."""
    cell: Ints
    key: Ints
    """The pair, as a number under which what is carried after the release knows it; -1 where that
    knows the person or the value not at all.
    """
    before: Ints
    """Survival before, in parts of SCALE."""

    @classmethod
    def of(
        cls,
        release: Release,
        mapping: pl.DataFrame,
        before: Exposures,
        after: Exposures,
        protects: Protects,
    ) -> "Exposed":
        """The links of a release; ``before`` and ``after`` are well-formed, and ``after`` begins
        with the persons and values of ``before``.
        """
        cells = Cells.of([release], protects)
        row, where = cells.hosts(0, release, mapping)
        lookup = pl.DataFrame(
            {"person": after.persons, "place": np.arange(len(after.persons), dtype=np.int64)}
        )
        whose = (
            mapping.select("person")[row]
            .join(lookup, on="person", how="left", maintain_order="left")["place"]
            .fill_null(-1)
            .to_numpy()
        )
        entry, cell = cells.spread(0, np.arange(len(row)), where)
        person, value = (
            whose[entry].astype(np.int64),
            numbered(cells.values, after.values)[cells.value[cell]],
        )
        width = len(after.values)
        key = np.where((person >= 0) & (value >= 0), person * width + value, -1)
        pairs = pair_keys(before, width)
        at = np.minimum(np.searchsorted(pairs, key), max(len(pairs) - 1, 0))
        survival = np.full(len(key), SCALE, dtype=np.int64)
        if len(pairs):
            seen = pairs[at] == key
            survival[seen] = before.survival[at[seen]]
        return cls(cells, row[entry], cell, key, survival)

    @property
    def after(self) -> Ints:
        """Survival after the release in parts of SCALE, rounded down: whole numbers that fit,
        however large the parts are.
        """
        n, n_s = self.cells.members[self.cell], self.cells.holding[self.cell]
        return self.before // n * (n - n_s) + self.before % n * (n - n_s) // n

    def worst(self) -> tuple[Fraction, int]:
        """The largest probability of having ever been linked, as a fraction, and an entry that has
        it; there is at least one entry.
        """
        surviving = self.before / SCALE * (1 - self.cells.share[self.cell])
        near = np.flatnonzero(surviving <= surviving.min() + _NEAR)
        table = pl.DataFrame(
            {"before": self.before[near], "kind": self.cells.kind[self.cell[near]], "entry": near}
        )
        worst, where = Fraction(-1), -1
        for before, kind, entry in (
            table.group_by("before", "kind", maintain_order=True)
            .agg(pl.col("entry").first())
            .iter_rows()
        ):
            n, n_s, _ = self.cells.of_kind(kind)
            if (p := 1 - Fraction(before, SCALE) * Fraction(n - n_s, n)) > worst:
                worst, where = p, entry
        return worst, where

    def faults(self, before: Exposures, after: Exposures) -> Iterator[str]:
        """Pairs that are lost, invented, or carried on as less exposed than they are."""
        width = len(after.values)
        pairs, pairs_before = pair_keys(after, width), pair_keys(before, width)
        if forgotten := int((self.key < 0).sum()):
            yield (
                f"{forgotten} exposure(s) are of persons or to values that nothing is carried about"
            )
        has_key = self.key >= 0
        key, now = self.key[has_key], self.after[has_key]
        if twice := len(key) - len(np.unique(key)):
            yield f"{twice} pair(s) of person and value are linked twice by one release"
            return
        at, at_before = np.searchsorted(pairs, key), np.searchsorted(pairs, pairs_before)
        if lost := int(
            (_at(pairs, at) != key).sum() + (_at(pairs, at_before) != pairs_before).sum()
        ):
            yield f"{lost} pair(s) of person and value are not carried on"
            return
        survival, times = (
            np.full(len(pairs), SCALE, dtype=np.int64),
            np.zeros(len(pairs), dtype=np.int64),
        )
        survival[at_before], times[at_before] = before.survival, before.times
        survival[at], times[at] = now, times[at] + 1
        if over := int((after.survival > survival).sum()):
            yield f"{over} pair(s) of person and value are carried on as less exposed than they are"
        if miscounted := int((after.times != times).sum()):
            yield (
                f"{miscounted} pair(s) of person and value are carried on with another number of"
                " exposures than they had"
            )
        if invented := int((times == 0).sum()):
            yield f"{invented} pair(s) of person and value are carried on and were never linked"


def shape_faults(carried: Exposures, when: str) -> Iterator[str]:
    """What keeps tables from being exposures at all; ``when`` says whether they are those before or
    after the release.
    """
    lengths = {len(carried.value), len(carried.survival), len(carried.times)}
    starts = carried.starts
    if (
        len(lengths) > 1
        or len(starts) != len(carried.persons) + 1
        or starts[0] != 0
        or starts[-1] != len(carried.value)
        or (np.diff(starts) < 0).any()
    ):
        yield f"the pairs carried {when} do not fit the persons"
        return
    if len(carried.value) and (
        carried.value.min() < 0 or carried.value.max() >= len(carried.values)
    ):
        yield f"pairs carried {when} are about values that are not carried"
        return
    if carried.persons.n_unique() < len(carried.persons) or carried.persons.null_count():
        yield f"persons are carried {when} more than once"
    if carried.values.n_unique() < len(carried.values) or carried.values.null_count():
        yield f"values are carried {when} more than once"
    if (np.diff(pair_keys(carried, len(carried.values))) <= 0).any():
        yield f"pairs carried {when} are not in order, or twice"
    if len(carried.survival) and (carried.survival.min() < 0 or carried.survival.max() > SCALE):
        yield f"survival carried {when} is outside of 0 and 1"


def succession_faults(before: Exposures, after: Exposures) -> Iterator[str]:
    """Whether whom and what a series carried before has the same place afterwards."""
    persons, values = after.persons.head(len(before.persons)), after.values.head(len(before.values))
    if not persons.equals(before.persons, check_names=False):
        yield "persons that were carried before are lost or in other places"
    if len(before.values) and not values.cast(before.values.dtype, strict=False).equals(
        before.values, check_names=False
    ):
        yield "values that were carried before are lost or in other places"


def pair_keys(exposures: Exposures, width: int) -> Ints:
    """A number for each pair of person and value, ascending where they are in order, shape (e,);
    ``width`` is more than any value's place.
    """
    owner = np.repeat(np.arange(len(exposures.persons), dtype=np.int64), np.diff(exposures.starts))
    return owner * width + exposures.value


def _at(pairs: Ints, at: Ints) -> Ints:
    """The pairs at some places, -1 beyond the end."""
    return (
        np.where(at < len(pairs), pairs[np.minimum(at, len(pairs) - 1)], -1)
        if len(pairs)
        else np.full(len(at), -1)
    )
