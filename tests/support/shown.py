# SPDX-License-Identifier: Apache-2.0
"""Small series by hand, of groups with known members, as the releases and the mappings that checks
and adversaries look at.
"""

from pathlib import Path

import polars as pl

from naive import global_guarantee as naive
from phalanx.data.persons import PersonKey
from phalanx.data.sets import SEPARATOR
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.generalized import Generalized
from phalanx.release.manifest import Manifest, PublishedAttribute

KEY = PersonKey(bytes(32))
COUNTS = {"group": pl.Int64, "count": pl.Int64}


def key(person):
    """The person key of a name."""
    return keys([person])[0]


def keys(persons):
    return KEY.hash(pl.Series("person", persons, dtype=pl.String))


def text(row, *, of_sets):
    """A row's set of values as it is published: a set as its text, a single value by itself, none
    as missing.
    """
    assert of_sets or len(row) <= 1
    return SEPARATOR.join(sorted(row)) if of_sets else next(iter(row), None)


def releases_of(series, *, of_sets=False):
    """Releases of ``naive.global_guarantee.Shown``; each set of values is one row."""
    attribute = PublishedAttribute(
        name="ill", role="sensitive", type="set" if of_sets else "categorical", columns=["ill"]
    )
    found = []
    for number, shown in enumerate(series, 1):
        rows = [(g, text(row, of_sets=of_sets)) for g, held in shown.rows.items() for row in held]
        counts = [
            pl.DataFrame(list(c.items()), schema=COUNTS, orient="row")
            for c in (shown.counterfeits, shown.registered)
        ]
        form = Generalized(
            pl.DataFrame(rows, schema={"group": pl.Int64, "ill": pl.String}, orient="row"),
            (attribute,),
            *counts,
        )
        manifest = Manifest(
            series="small", number=number, form="generalized", method={"name": "by hand"}, guarantees=[], attributes=[attribute],
            rows=form.rows, groups=form.groups, counterfeits=form.counterfeit_rows, registered=form.registered_persons, boxes="tight", privacy_unit="person", files=[],
        )  # fmt: skip
        found.append(Release(manifest, form, Path("nowhere")))
    return found


def evidence_of(series):
    """The mapping of every release."""
    return Evidence(
        groups={number: mapping(shown.groups) for number, shown in enumerate(series, 1)}
    )


def mapping(groups):
    """(person, group) of a dictionary."""
    return pl.DataFrame(
        {"person": keys(list(groups)), "group": pl.Series(list(groups.values()), dtype=pl.Int64)}
    )


def checked(guarantee, series, *, evidence=None, of_sets=False, last=False):
    """The verdicts on a series, or on its last release alone, by their part of the promise."""
    releases = releases_of(series, of_sets=of_sets)
    found = guarantee.check(
        releases[-1],
        [] if last else releases[:-1],
        evidence_of(series) if evidence is None else evidence,
    )
    assert all(v.name.startswith("global-guarantee") for v in found)
    return {v.name.removeprefix("global-guarantee: "): v for v in found}


def made(rng, *, of_sets, releases=5, people=40):
    """A series of groups of about eight, some with registered persons, some with counterfeits."""
    series = []
    for _ in range(releases):
        there = [f"p{i}" for i in rng.permutation(people)[: int(rng.integers(people // 2, people))]]
        groups = {
            p: int(g)
            for p, g in zip(
                there, rng.integers(1, max(len(there) // 8, 2), len(there)), strict=True
            )
        }
        rows, counterfeits, registered = {}, {}, {}
        for g in sorted(set(groups.values())):
            people_of = [p for p in there if groups[p] == g]
            absent, invented = (
                int(rng.integers(0, len(people_of))) if rng.random() < 0.3 else 0,
                int(rng.random() < 0.2),
            )
            n = len(people_of) - absent + invented
            if of_sets:
                rows[g] = [frozenset(v for v in "stuv" if rng.random() < 0.08) for _ in range(n)]
            else:
                rows[g] = [
                    frozenset(str(rng.choice(list("stuv")))) if rng.random() < 0.2 else frozenset()
                    for _ in range(n)
                ]
            counterfeits |= {g: invented} if invented else {}
            registered |= {g: absent} if absent else {}
        series.append(naive.Shown(rows, groups, counterfeits, registered))
    return series
