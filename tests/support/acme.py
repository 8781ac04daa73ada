# SPDX-License-Identifier: Apache-2.0
"""A package of somebody else, with a method, a guarantee, a form and an adversary, as text: it is
installed in a folder, and no file of ours knows it.
"""

FORM = '''
"""Rows of a group with equal values, counted."""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from phalanx.errors import ReleaseError
from phalanx.estimators.entries import Ends, Facet
from phalanx.estimators.view import View
from phalanx.release.form import Form, SensitiveCounts, SortedCounts


@dataclass(frozen=True, eq=False)
class Tally(Form):
    """How often each sensitive value stands in each group, and the group's interval on every quasi-identifier."""

    kind: ClassVar = "acme-tally"
    id_column: ClassVar[str] = "group"
    described_by: ClassVar[str] = "layout"
    used_for: ClassVar[str] = "Add up its counts."
    why_no_class: ClassVar[str] = "a tally has no rows of persons"
    read_as: ClassVar[str] = "The file data counts the values of each group."
    counts: pl.DataFrame
    attributes: tuple

    @property
    def table(self):
        return self.counts[np.repeat(np.arange(self.counts.height), self.counts["count"].to_numpy())].drop("count")

    @property
    def rows(self):
        return int(self.counts["count"].sum())

    @property
    def groups(self):
        return self.counts["group"].n_unique()

    def tables(self):
        return {"data": self.counts}

    def headers(self):
        return {"data": ["group", *(c for a in self.attributes for c in a.columns), "count"]}

    def manifest_fields(self):
        return {"layout": {"counted": True}}

    @classmethod
    def of_folder(cls, manifest, tables):
        if manifest.layout != {"counted": True}:
            raise ReleaseError("the layout is that of another tally; ask the publisher for the folder again.")
        return cls(tables["data"], tuple(manifest.attributes))

    @classmethod
    def csv_types(cls, manifest, table):
        return super().csv_types(manifest, table) | {"group": pl.Int64, "count": pl.Int64}

    def sensitive_counts(self):
        return SensitiveCounts(self.counts["group"], self.counts[self.sensitive], self.counts["count"])

    def in_random_order(self):
        yield from ()

    def in_sorted_order(self):
        yield SortedCounts("the counts are not in the order of what they say", self.counts, [("group", None), (self.sensitive, None)])

    def faults(self):
        return ["a count is below 1"] if (self.counts["count"] < 1).any() else []

    def view(self, manifest):
        ids, rows = np.unique(self.counts["group"].to_numpy().repeat(self.counts["count"].to_numpy()), return_counts=True)
        boxes = self.counts.select("group", *(c for a in self.attribute("quasi") for c in a.columns)).unique(maintain_order=True)
        intervals = {a.name: Ends.of_interval(*(boxes[column] for column in a.columns)) for a in self.attribute("quasi")}
        values = {self.sensitive: Ends.of_values(self.counts[self.sensitive])}
        facets = (
            Facet(np.arange(len(ids)), rows, intervals),
            Facet(np.searchsorted(ids, self.counts["group"].to_numpy()), self.counts["count"].to_numpy(), values),
        )
        return View(self.kind, self.attributes, rows, np.zeros(len(ids), dtype=np.int64), facets, model="values lie evenly in their boxes")

    def untrue(self, microdata, groups):
        own = pl.DataFrame({"group": groups, self.sensitive: microdata.sensitive.domain.values.gather(microdata.sensitive.codes)}).filter(pl.col("group") > 0)
        for attribute in self.attribute("quasi"):
            column = microdata.columns[attribute.name]
            own = own.with_columns(column.domain.values.gather(column.codes[groups > 0]).alias(attribute.name))
        boxes = self.counts.select("group", *(c for a in self.attribute("quasi") for c in a.columns)).unique()
        inside = own.join(boxes, on="group", how="left", maintain_order="left")
        outside = [~pl.col(a.name).is_between(*map(pl.col, a.columns)).fill_null(False) for a in self.attribute("quasi")]
        told = own.group_by("group", self.sensitive).len("own").join(self.counts, on=["group", self.sensitive], how="full", coalesce=True, nulls_equal=True)
        unlike = (pl.col("own").cast(pl.Int64).fill_null(0) - pl.col("count").fill_null(0)).abs().sum()
        return inside.filter(pl.any_horizontal(outside)).height + int(told.select(unlike).item())
'''
GUARANTEE = '''
"""Many rows."""
from dataclasses import dataclass, field
from typing import ClassVar

from phalanx.exact import whole
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.views.groups import Groups


@dataclass(frozen=True)
class ManyRows:
    """Every group has at least ``rows`` rows; PlanError where that is not a whole number of at least 1."""

    name: ClassVar[str] = "acme-rows"
    forms: ClassVar = ("acme-tally", "generalized")
    rows: int = field(default=2, metadata={"help": "Ask for groups of so many rows."})

    def __post_init__(self):
        whole(self.rows, "rows")

    def check(self, release, earlier=(), evidence=None):
        least = int(Groups.of(release).sizes.min())
        return [Verdict(name=self.name, bound=self.rows, worst=least, holds=least >= self.rows, note="rows of the smallest group")]

    def parameters(self):
        return {"name": self.name, "rows": self.rows}

    def in_words(self, *, sensitive=True):
        return f"Every group of this tally has at least {self.rows} rows."

    def promises_nothing(self):
        return "rows = 1 promises nothing: every group has a row" if self.rows == 1 else ""

    def weaker_than(self, before):
        if self.rows < before.rows:
            yield "fewer rows"
'''
METHOD = '''
"""Groups of neighbours, tallied."""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from acme.form import Tally
from acme.guarantee import ManyRows
from phalanx.exact import whole
from phalanx.methods.base import Asked, Draft, Offer
from phalanx.release.manifest import PublishedAttribute


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Rows in groups of at least ``rows`` by their first quasi-identifier."""

    name: ClassVar[str] = "acme-neighbours"
    needs_persons: ClassVar[bool] = False
    looks_back: ClassVar[str] = "all"
    takes_registry: ClassVar[bool] = False
    holds_if_method_known: ClassVar[bool] = True
    may_suppress: ClassVar = ()
    offer: ClassVar[Offer] = Offer(
        table="The table is published once, and counts of groups will do.",
        promise="Everybody is one of at least {rows} persons who are counted together.",
        open="Which values stand together in a group.",
        asked=(Asked("rows", "rows: persons who are counted together", "5"),),
        needs_sensitive=True,
        tried={"rows": (3, 6)},
        compiled_by=({"rows": 4},),
    )
    rows: int = 2

    def __post_init__(self):
        whole(self.rows, "[method] rows")

    @property
    def guarantees(self):
        return [ManyRows(rows=self.rows)]

    def parameters(self):
        return {"name": self.name, "rows": self.rows}

    def publish(self, microdata, memory, rng):
        n, quasi, sensitive = microdata.rows, microdata.schema.quasi, microdata.schema.sensitive
        place = np.empty(n, dtype=np.int64)
        place[np.argsort(microdata.columns[quasi[0]].codes, kind="stable")] = np.minimum(np.arange(n) // self.rows, max(n // self.rows, 1) - 1)
        ids = (rng.stream("groups").permutation(int(place.max()) + 1) + 1)[place]
        rows = pl.DataFrame({"group": ids} | {name: c.domain.values.gather(c.codes) for name, c in microdata.columns.items() if name in (*quasi, sensitive)})
        ends = [end for name in quasi for end in (pl.col(name).min().over("group").alias(f"{name}_low"), pl.col(name).max().over("group").alias(f"{name}_high"))]
        data = rows.with_columns(ends).group_by("group", *(f"{name}_{end}" for name in quasi for end in ("low", "high")), sensitive).agg(pl.len().cast(pl.Int64).alias("count"))
        attributes = [PublishedAttribute(name=name, role="quasi", type=microdata.columns[name].domain.type, columns=[f"{name}_low", f"{name}_high"]) for name in quasi]
        attributes.append(PublishedAttribute(name=sensitive, role="sensitive", type=microdata.sensitive.domain.type, columns=[sensitive]))
        return Draft(form=Tally(data.sort("group", sensitive), tuple(attributes)), groups=ids)
'''
ADVERSARY = '''
"""Somebody who guesses."""
from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from phalanx.adversaries.base import Attack, asked
from phalanx.adversaries.disclosure import one_release
from phalanx.adversaries.showing import Shown
from phalanx.errors import PlanError, ReleaseError


@dataclass(frozen=True, kw_only=True)
class Guessed(Attack):
    """What was guessed."""

    guess: str

    def tables(self):
        yield Shown(["persons", "the guess"], [[self.persons, self.guess]], (0,))
        yield from super().tables()


@dataclass(frozen=True)
class Guesser:
    """Names the value that stands most often in the release."""

    question: ClassVar[str] = "inference"
    looks_at: ClassVar[str] = "release"
    rank: int = field(default=1, metadata={"help": "Name the most frequent value, or the second, or the third."})

    def __post_init__(self):
        if self.rank not in (1, 2, 3):
            raise PlanError(f"rank must be 1, 2 or 3, and is {self.rank!r}.")

    @property
    def name(self):
        return "acme-guesser"

    @property
    def knows(self):
        return "the release, and nothing else"

    def attack(self, releases, evidence=None):
        releases, evidence = asked(releases, evidence)
        release = one_release(releases, self.name)
        microdata = evidence.microdata.get(release.number)
        if microdata is None:
            raise ReleaseError(f"release {release.number} has no original table beside it, without which nobody tells whether a guess is right.")
        _, values, times = release.form.sensitive_counts()
        tally = Counter()
        for value, count in zip(values.to_list(), np.ones(len(values)) if times is None else times.to_list()):
            tally[value] += count
        guess = sorted(tally, key=lambda value: (-tally[value], str(value)))[self.rank - 1]
        own = microdata.sensitive.domain.values.gather(microdata.sensitive.codes)
        return Guessed(
            adversary=self.name, knows=self.knows, persons=microdata.rows, exposed=0, success=float((own == guess).mean()), baseline=None,
            histogram={len(tally): microdata.rows}, guess=str(guess),
        )
'''
MODULES = {"form": FORM, "guarantee": GUARANTEE, "method": METHOD, "adversary": ADVERSARY}
ANNOUNCES = {
    "phalanx.methods": {"acme-neighbours": "acme.method:Neighbours"},
    "phalanx.guarantees": {"acme-rows": "acme.guarantee:ManyRows"},
    "phalanx.forms": {"acme-tally": "acme.form:Tally"},
    "phalanx.adversaries": {"acme-guesser": "acme.adversary:Guesser"},
}
