# SPDX-License-Identifier: Apache-2.0
"""How many rows look alike, and the three risks that regulators ask for, from published values
alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.errors import ReleaseError, kind_of
from phalanx.exact import of_numpy
from phalanx.release.form import Form
from phalanx.release.forms.bucketized import Bucketized
from phalanx.report.per_form import per_form

THRESHOLDS: Final = (0.05, 0.09, 0.2, 0.33)
"""Above which regulators and their guides count records: 1 in 20, 11, 5 and 3."""
_BINS: Final = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, None))
_AT_ONCE: Final = 1 << 20
"""So many rows are counted together where many are equal."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows that no adversary tells apart who knows all quasi-identifiers of all persons in the
    table.

    The row of a person in a class of n rows is found with 1/n: *prosecutor* risk is that of a
    person who is known to be in the table, at worst and on average. The average is what an
    adversary finds who links all persons, the *marketer* risk. *Journalist* risk is that of a
    person of whom it is not known: 1 over the class in the population, which is at most the
    prosecutor risk, and is set to it where no population is declared.
    """

    sizes: Ints
    """Rows of each class, shape (c,)."""
    of: str
    """What a class is in this form, for a sentence."""
    population: int | None = None
    """So many persons the table is a sample of, those in it included; None: not declared."""
    invented: Ints | None = None
    """How many rows of each class are counterfeits, shape (c,); None: none are."""

    @property
    def held(self) -> Ints:
        """Rows of each class that are a person's, shape (c,)."""
        return self.sizes if self.invented is None else self.sizes - self.invented

    @classmethod
    def of_form(cls, form: Form, population: int | None = None) -> "Classes | None":
        """The classes of a release; None where a row is not a person's, as columns were shuffled
        or values drawn, and where the form is of another package. ReleaseError where the population
        is smaller than the release.
        """
        return among(_of(form), population, form.rows)

    @property
    def rows(self) -> int:
        """All rows that are a person's."""
        return int(self.held.sum())

    @property
    def worst(self) -> float:
        """The prosecutor risk of a person in the smallest class; 0 without rows."""
        sizes = self.sizes[self.held > 0]
        return 1 / int(sizes.min()) if len(sizes) else 0.0

    @property
    def average(self) -> float:
        """The mean over persons, which is the marketer risk: without counterfeits, classes over
        rows; 0 without rows.
        """
        return float((self.held / self.sizes).sum()) / self.rows if self.rows else 0.0

    def above(self, threshold: float) -> float:
        """The share of rows whose risk is above a threshold."""
        risky = self.held[1 / self.sizes > threshold] if len(self.sizes) else self.sizes
        return int(risky.sum()) / self.rows if self.rows else 0.0

    @property
    def alone(self) -> int:
        """Rows of persons that are like no other row."""
        return int(self.held[self.sizes == 1].sum())

    @property
    def population_uniques(self) -> float | None:
        """About how many rows are of persons who are like no other in the population; None where it
        is not declared.

        By Zayatz's model (1991): classes of the population are taken to be as large as often as
        those of the table, from which a row that is alone in the table is weighed against larger
        classes of which one person was sampled. A table's classes are smaller than its
        population's, so that the model says rather too many.
        """
        if self.population is None:
            return None
        if not self.alone:
            return 0.0
        share = self.rows / self.population
        among = np.arange(1, int(self.sizes.max()) + 1)
        others_absent = np.cumprod(
            np.concatenate(
                [
                    [1.0],
                    np.maximum(self.population - self.rows - among[:-1] + 1, 0)
                    / np.maximum(self.population - among[:-1], 1),
                ]
            )
        )
        one_sampled = among * share * others_absent  # of a class of each size, hypergeometric
        sizes, classes = np.unique(self.sizes, return_counts=True)
        return float(self.alone**2 * share / (classes * one_sampled[sizes - 1]).sum())

    @property
    def distribution(self) -> list[tuple[str, int, int]]:
        """Sizes of classes as (sizes, classes, rows of persons), those without classes left out."""
        bins = []
        for low, high in _BINS:
            these = (self.sizes >= low) & (self.sizes <= (high or self.sizes.max(initial=0)))
            label = f"{low}" if low == high else f"{low} to {high}" if high else f"{low} or more"
            if these.any():
                bins.append((label, int(these.sum()), int(self.held[these].sum())))
        return bins

    def to_json(self) -> dict[str, Any]:
        """Stable keys: prosecutor (highest, average), journalist (highest, is), marketer, above,
        population (persons, uniques; null where none is declared), classes (each rows, classes,
        records).
        """
        above: Mapping[str, float] = {f"{t:g}": round(self.above(t), 6) for t in THRESHOLDS}
        return {
            "prosecutor": {"highest": round(self.worst, 6), "average": round(self.average, 6)},
            "journalist": {"highest": round(self.worst, 6), "is": "at most"},
            "marketer": round(self.average, 6),
            "above": above,
            "population": None
            if self.population_uniques is None
            else {"persons": self.population, "uniques": round(self.population_uniques, 2)},
            "classes": [
                {"rows": label, "classes": classes, "records": rows}
                for label, classes, rows in self.distribution
            ],
        }


def among(classes: Classes | None, population: int | None, rows: int) -> Classes | None:
    """Classes of a table that is a sample of so many persons; ReleaseError where these are fewer
    than the ``rows`` of the release, or no number.
    """
    population = of_numpy(population)
    if population is not None and (
        isinstance(population, bool) or not isinstance(population, int | float)
    ):
        raise ReleaseError(f"the population is {kind_of(population)}; give a number of persons.")
    if population is not None and population < max(rows, 1):
        raise ReleaseError(
            f"a population of {population:,} persons is smaller than the release; say how many"
            " persons the table is a sample of, those in it included."
        )
    return None if classes is None else replace(classes, population=population)


@per_form
def _of(form: Form) -> Classes | None:
    if form.kind == "generalized":
        sizes, invented = groups_of(form)
        return Classes(sizes, "a group", invented=invented)
    if form.kind == Bucketized.kind:
        columns = [c for a in form.attribute("quasi") for c in a.columns]
        return Classes(_equal(form.table, columns), "rows with the same quasi-identifiers")
    if form.kind == "recoded":
        return Classes(_equal(form.table, form.table.columns), "rows of one image")
    return None


def groups_of(form: Form) -> tuple[Ints, Ints | None]:
    """Rows of each group of a generalized form, shape (g,), and how many of these are counterfeits,
    in the same order; None where none are.
    """
    counts = form.table[form.id_column].value_counts(sort=False)
    sizes = counts["count"].to_numpy().astype(np.int64)
    if form.counterfeits is None or not form.counterfeits.height:
        return sizes, None
    beside = form.counterfeits.rename({"count": "invented"})
    invented = counts.join(beside, on=form.id_column, how="left", maintain_order="left")["invented"]
    return sizes, invented.fill_null(0).to_numpy().astype(np.int64)


def _equal(table: pl.DataFrame, columns: list[str]) -> Ints:
    """How many rows are equal in these columns; where many are, some rows are counted after the
    other, since all together take much memory.
    """
    if not table.height:
        return np.zeros(0, dtype=np.int64)
    rows, first = table.select(columns), table.select(columns).head(_AT_ONCE)
    at_once = _AT_ONCE if 2 * first.n_unique() < first.height else rows.height
    some = [
        each.group_by(columns).len("")  # which no column is called
        for each in rows.iter_slices(at_once)
    ]
    counted = some[0] if len(some) == 1 else pl.concat(some).group_by(columns).agg(pl.sum(""))
    return counted[""].to_numpy().astype(np.int64)
