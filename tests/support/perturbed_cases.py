# SPDX-License-Identifier: Apache-2.0
"""Perturbed releases by hand, for tests of who attacks or checks them."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from naive.omniscient import outcomes
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.outputs import OutputTables
from phalanx.release.folder import Release
from phalanx.release.forms.perturbed import perturb
from phalanx.release.manifest import Manifest

QUASI = ["a", "b", "c"]
KINDS = {"a": pl.Int64, "b": pl.String, "c": pl.String, "s": pl.String}


def people(rows, *, persons=False, **schema):
    """Rows (a, b, c, s) as microdata; with ``persons``, each is a person of its own."""
    said = {
        "types": {"a": "numeric", "b": "categorical", "c": "categorical"},
        "quasi": QUASI,
        "sensitive": "s",
    } | schema
    frame = pl.DataFrame(rows, schema=KINDS, orient="row")
    if persons:
        frame = frame.with_columns(who=pl.Series([f"p{i}" for i in range(len(rows))]))
    return Microdata.encode(
        frame,
        Schema(identifier="who" if persons else None, missing="value", **said),
        PersonKey(bytes(32)),
    )


def of_form(form, method=None):
    """A form as a release of its own."""
    manifest = Manifest(
        series="small", number=1, form=form.kind, method=method or {"name": "by hand"}, guarantees=[], attributes=list(form.attributes), rows=form.rows,
        groups=form.groups, counterfeits=0, registered=0, boxes="tight", privacy_unit="person", files=[], **form.manifest_fields(),
    )  # fmt: skip
    return Release(manifest, form, Path("nowhere"))


def perturbed(microdata, drawn, seed=1, **more):
    """The microdata published with the drawn codes (n, d) of its quasi-identifiers: a release, and
    the evidence of who is in which row.
    """
    codes = np.asarray(drawn, dtype=np.int32).reshape(microdata.rows, -1)
    named = {name: codes[:, i] for i, name in enumerate(microdata.schema.quasi)}
    form, rows = perturb(microdata, named, Randomness.seeded(seed).stream("small"))
    return of_form(form), Evidence(microdata={1: microdata}, rows={1: rows}, **more)


def codes_of(microdata):
    """Everybody's quasi-identifiers as codes, shape (n, d)."""
    return np.stack([column.codes for column in microdata.quasi], axis=1)


@dataclass(frozen=True)
class Drawing:
    """Groups, their tables by group and attribute, and how rows are drawn from them."""

    group: list
    """Everybody's group, 0 .. g-1."""
    tables: dict
    """(group, attribute) -> units, k lists of k."""
    denominator: int
    order: tuple = ()
    changes: int = 1

    def own(self, microdata):
        """Everybody's classes, by the distinct codes of the group in their order."""
        codes, group = codes_of(microdata), np.asarray(self.group)
        return [
            tuple(
                sorted(set(codes[group == g, a].tolist())).index(codes[t, a])
                for a in range(codes.shape[1])
            )
            for t, g in enumerate(self.group)
        ]

    def law(self, own, group):
        """Classes shown -> probability, of a tuple with these classes in a group."""
        tables = [self.tables[group, a] for a in range(len(own))]
        return outcomes(own, tables, self.denominator, self.order, self.changes)

    def draw(self, microdata, rng):
        """What everybody shows, as classes, by the law."""
        found = []
        for own, group in zip(self.own(microdata), self.group, strict=True):
            law = self.law(own, group)
            shown = list(law)
            found.append(shown[rng.choice(len(shown), p=np.array([float(law[s]) for s in shown]))])
        return found

    def publish(self, microdata, shown, seed=1):
        """The release in which everybody shows these classes, and all evidence about it."""
        codes, group = codes_of(microdata), np.asarray(self.group)
        d = codes.shape[1]
        drawn = [
            [sorted(set(codes[group == g, a].tolist()))[shown[t][a]] for a in range(d)]
            for t, g in enumerate(self.group)
        ]
        release, evidence = perturbed(microdata, drawn, seed)
        return release, replace(evidence, parts={1: self.outputs(microdata, evidence.rows[1])})

    def outputs(self, microdata, rows):
        """The tables as evidence; none is shared."""
        codes, group = codes_of(microdata), np.asarray(self.group)
        d, g = codes.shape[1], int(group.max()) + 1
        counts = [
            np.unique(codes[group == i, a], return_counts=True)[1]
            for i in range(g)
            for a in range(d)
        ]
        of_row = np.empty(len(group), dtype=np.int64)
        of_row[rows - 1] = group
        return OutputTables(
            attributes=tuple(microdata.schema.quasi),
            group=of_row,
            of=np.arange(g * d).reshape(g, d),
            starts=np.cumsum([0, *map(len, counts)]).astype(np.int64),
            counts=np.concatenate(counts).astype(np.int64),
            units=np.concatenate(
                [np.ravel(self.tables[i, a]) for i in range(g) for a in range(d)]
            ).astype(np.int64),
            denominator=self.denominator,
            changes=self.changes,
            order=self.order,
        )


def random_drawing(microdata, group, rng, denominator=12):
    """Tables with cells of 0 among them, in whole parts of the denominator."""
    codes, group = codes_of(microdata), np.asarray(group)
    d, tables = codes.shape[1], {}
    for g in range(int(group.max()) + 1):
        for a in range(d):
            k = len(np.unique(codes[group == g, a]))
            tables[g, a] = [
                rng.multinomial(denominator, _shares(rng, k)).tolist() for _ in range(k)
            ]
    return Drawing(group.tolist(), tables, denominator, tuple(rng.permutation(d).tolist()))


def _shares(rng, k):
    shares = rng.integers(0, 3, k) + (np.arange(k) == rng.integers(k))
    return shares / shares.sum()
