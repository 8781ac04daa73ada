# SPDX-License-Identifier: Apache-2.0
"""Tiny worlds for safe sampling: a domain of few different rows, a fixed scheme that recodes them,
and all tables that they make.

A table is a tuple of row kinds, in rising order where it has an even number of rows and in falling
order where it has an odd one: neighbouring tables list their rows in opposite orders, as a
mechanism must not tell in which order they came.
"""

from dataclasses import dataclass, field
from datetime import date
from itertools import combinations_with_replacement

import numpy as np
import polars as pl

from naive import safe_sampling as naive
from phalanx.data.hierarchies.hierarchy import Bands, Prefix, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.methods.safe_sampling.method import publish_sample
from phalanx.methods.safe_sampling.schemes import FixedScheme


@dataclass(frozen=True)
class World:
    """``kinds``: the different rows that there are; ``images``: what each is published as;
    ``declared``: the plan's scheme.
    """

    schema: Schema
    declared: dict
    types: dict
    kinds: list
    images: list = field(repr=False)

    @property
    def scheme(self):
        return FixedScheme.of(self.declared, self.schema)

    def microdata(self, table):
        """The table encoded by itself, as the software does it; nobody at all is what is left when
        the only row is taken out.
        """
        rows = [self.kinds[kind] for kind in table or (0,)]
        encoded = Microdata.encode(pl.DataFrame(rows, schema=self.types, orient="row"), self.schema)
        return encoded if table else encoded.take(np.zeros(0, dtype=np.int64))

    def tables(self, most):
        """All tables of up to ``most`` rows."""
        for n in range(most + 1):
            for table in combinations_with_replacement(range(len(self.kinds)), n):
                yield table if n % 2 == 0 else table[::-1]

    def pairs(self, most):
        """All neighbouring tables of up to ``most`` rows: a table, the same with one row added, and
        the kind of that row.
        """
        listed = {tuple(sorted(table)): table for table in self.tables(most)}
        for rows, table in listed.items():
            if len(rows) < most:
                for kind in range(len(self.kinds)):
                    yield table, listed[tuple(sorted((*rows, kind)))], kind

    def crowd(self, table, kind):
        """How many rows of a table have the image of that kind."""
        return sum(self.images[other] == self.images[kind] for other in table)


def told(form):
    """All that a release says: the columns with their types, the rows in their order, and what the
    manifest says of them.
    """
    return (
        str(form.table.schema),
        tuple(form.table.rows()),
        repr(form.attributes),
        repr(form.manifest_fields()),
    )


def safe(microdata, sample, scheme, k):
    """The mechanism itself: what it shows of one sample."""
    return told(publish_sample(microdata, sample, scheme, k)[0])


def outcomes(world, table, k, mechanism=safe, scheme=None, *, every=False):
    """What all samples of a table show. Samples of the same kinds of rows are run once, or
    ``every`` one by itself.
    """
    microdata, scheme, known = world.microdata(table), scheme or world.scheme, {}

    def shown():
        for sample in naive.samples(len(table)):
            kinds = tuple(sorted(table[i] for i in sample))
            if every or kinds not in known:
                known[kinds] = mechanism(microdata, np.array(sample, dtype=np.int64), scheme, k)
            yield sample, known[kinds]

    return naive.Outcomes(len(table), shown())


PLACES = Tree.of_mapping({"north": ["oslo", "turku"], "south": ["rome"]})

WEEK = (date(2026, 1, 1), date(2026, 1, 8))

WORLDS = {
    "a tree": World(
        Schema(quasi=["place"], hierarchies={"place": PLACES}),
        {"place": 1},
        {"place": pl.String},
        [("oslo",), ("turku",), ("rome",)],
        [("north",), ("north",), ("south",)],
    ),
    "a grid": World(
        Schema(quasi=["age"]),
        {"age": {"low": 0, "high": 4, "width": 2}},
        {"age": pl.Int64},
        [(1,), (2,), (9,)],
        [(0, 2), (2, 4), (2, 4)],
    ),
    "days and illnesses": World(
        Schema(quasi=["day"], sensitive="illness", missing="value"),
        {"day": {"low": date(2026, 1, 1), "high": date(2026, 1, 15), "width": 7}},
        {"day": pl.Date, "illness": pl.String},
        [
            (date(2026, 1, 2), "flu"),
            (date(2026, 1, 3), "flu"),
            (date(2026, 1, 3), "gout"),
            (None, "gout"),
        ],
        [(*WEEK, "flu"), (*WEEK, "flu"), (*WEEK, "gout"), (None, None, "gout")],
    ),
    "bands and a missing value": World(
        Schema(quasi=["age"], hierarchies={"age": Bands((5,))}, missing="value"),
        {"age": 1},
        {"age": pl.Int64},
        [(3,), (4,), (None,)],
        [(0, 5), (0, 5), (None, None)],
    ),
    "codes": World(
        Schema(quasi=["zip"], hierarchies={"zip": Prefix((3, 2, 0))}),
        {"zip": 1},
        {"zip": pl.String},
        [("471",), ("472",), ("533",)],
        [("47*",), ("47*",), ("53*",)],
    ),
}
