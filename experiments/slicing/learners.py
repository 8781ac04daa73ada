# SPDX-License-Identifier: Apache-2.0
"""What somebody who knows everybody's quasi-identifiers makes of one release, by the law and by
learning.

    PHALANX_DATA=folder python experiments/slicing/learners.py

Both adversaries name a value for everybody in the table; the figure is how often it is right, with
its 95 % interval. *Law* takes every arrangement of a bucket's values for equally likely; *learning*
learns from the whole release which values go with which quasi-identifiers. *Largest*: the largest
probability that the law gives any value of anybody, which the promise bounds.
"""

from pathlib import Path
from typing import Any

from adult import OCC_7, SENSITIVE, microdata, publish, random_slices, show

from phalanx.adversaries import Posterior
from phalanx.methods.anatomy.method import Anatomy
from phalanx.methods.base import Method
from phalanx.methods.mondrian.method import Mondrian
from phalanx.methods.slicing.method import Slicing
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest

REST = [name for name in OCC_7 if name != "sex"]
COLUMNS = [REST, ["sex", SENSITIVE]]
WAYS: dict[str, Method] = {
    "slicing, {sex, occupation}, strict, l = 3": Slicing(l=3, columns=COLUMNS),
    "the same, relaxed and exact": Slicing(l=3, columns=COLUMNS, cuts="relaxed"),
    "the same, against membership, buckets of 100": Slicing(
        l=3, columns=COLUMNS, grouping="membership", bucket_size=100
    ),
    "slicing, occupation alone, strict, l = 3": Slicing(l=3, columns=[OCC_7, [SENSITIVE]]),
    "slicing, occupation alone, strict, l = 5": Slicing(l=5, columns=[OCC_7, [SENSITIVE]]),
    "anatomy, l = 3": Anatomy(l=3),
    "anatomy, l = 5": Anatomy(l=5),
    "Mondrian, l = 3": Mondrian(l=3, cuts="strict"),
    "Mondrian, l = 5": Mondrian(l=5, cuts="strict"),
    "slicing, random buckets of 100": random_slices(COLUMNS, 100),
}


def shown(found: Any) -> str:
    return f"{found.success:.1%} ({found.interval[0]:.1%}-{found.interval[1]:.1%})"


def main() -> None:
    table = microdata(OCC_7)
    rows = []
    baseline = 0.0
    for what, method in WAYS.items():
        form = publish(method, table, 1).form
        said = {
            "series": "adult",
            "number": 1,
            "method": method.parameters(),
            "guarantees": [],
            "boxes": "tight",
            "files": [],
            **form.manifest_fields(),
        }
        manifest = Manifest(
            form=form.kind,
            attributes=list(form.attributes),
            rows=form.rows,
            groups=form.groups,
            counterfeits=0,
            **said,
        )
        evidence = Evidence(microdata={1: table})
        law, learning = (
            Posterior(by=by).attack([Release(manifest, form, Path("nowhere"))], evidence)
            for by in ("law", "learning")
        )  # type: ignore[arg-type]
        rows.append([what, form.groups, shown(law), f"{law.largest:.3f}", shown(learning)])
        baseline = law.baseline or 0.0
    show(
        "OCC-7: how often each adversary is right about occupation (the most frequent one:"
        f" {baseline:.1%})",
        ["release", "groups", "law", "largest", "learning"],
        rows,
    )


if __name__ == "__main__":
    main()
