# SPDX-License-Identifier: Apache-2.0
"""Series of releases by hand: persons in groups, release by release, for tests of who follows
them.
"""

from pathlib import Path

import numpy as np
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.generalized import generalize
from phalanx.release.manifest import Manifest

SCHEMA = Schema(
    identifier="who", quasi=["a", "b"], sensitive="s", types={"a": "numeric", "b": "categorical"}
)
KEY = PersonKey(bytes(32))


def released(tables, groups):
    """A release for each table (rows of who, a, b, s) with everybody's group beside it, as releases
    1, 2, … and the evidence of their tables.
    """
    releases, microdata = [], {}
    for number, (rows, of) in enumerate(zip(tables, groups, strict=True), 1):
        frame = pl.DataFrame(
            rows,
            schema={"who": pl.String, "a": pl.Int64, "b": pl.String, "s": pl.String},
            orient="row",
        )
        microdata[number] = Microdata.encode(frame, SCHEMA, KEY)
        places = np.unique(of, return_inverse=True)[1].astype(np.int64)
        form = generalize(
            microdata[number],
            np.arange(len(rows)),
            places,
            Randomness.seeded(number).stream("cases"),
        )[0]
        manifest = Manifest(
            series="cases", number=number, form="generalized", method={"name": "by hand"}, guarantees=[], attributes=list(form.attributes), rows=form.rows,
            groups=form.groups, counterfeits=0, boxes="tight", files=[],
        )  # fmt: skip
        releases.append(Release(manifest, form, Path("nowhere")))
    return releases, Evidence(microdata=microdata)


def slow(tables, groups):
    """The same releases as the slow twins take them: person -> group -> share, and group -> value
    -> count.
    """
    found = []
    for rows, of in zip(tables, groups, strict=True):
        members = {
            g: [row for row, own in zip(rows, of, strict=True) if own == g] for g in sorted(set(of))
        }
        hosts = {}
        for who, a, b, _ in rows:
            reach = {}
            for g, inside in members.items():
                a_s, b_s = [r[1] for r in inside], [r[2] for r in inside]
                if min(a_s) <= a <= max(a_s) and min(b_s) <= b <= max(b_s):
                    reach[g] = len(inside)
            hosts[who] = {g: n / sum(reach.values()) for g, n in reach.items()}
        counts = {g: {} for g in members}
        for g, inside in members.items():
            for *_, s in inside:
                counts[g][s] = counts[g].get(s, 0) + 1
        found.append((hosts, counts))
    return found
