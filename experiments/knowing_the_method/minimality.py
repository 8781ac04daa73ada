# SPDX-License-Identifier: Apache-2.0
"""How far above 1/l a minimality adversary gets where cuts look at sensitive values: Mondrian and
strict slicing, on Adult and ACS.

    PHALANX_DATA=folder python experiments/knowing_the_method/minimality.py [--table adult] [--rows
    20000] [--effort 1000] [--only slicing]

For every publication: groups; cuts that failed by the values and how many of them were too much
work to count; persons above the bound, and how often the adversary is right about these; persons
for whom one value is left; how often its best guess is right, beside somebody who goes by the
shares of the groups, and somebody without the release. Intervals are of 95 %.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import polars as pl

from phalanx.adversaries import Minimality
from phalanx.adversaries.minimality.adversary import Replayed
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import NotEligible
from phalanx.methods.base import Memory, Method
from phalanx.methods.mondrian.method import Mondrian
from phalanx.methods.slicing.method import Slicing
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest

TABLES = {
    "adult": (
        "adult.parquet",
        ["age", "workclass", "education", "marital_status", "race", "sex"],
        "occupation",
    ),
    "acs": (
        "acs2018_occsal.parquet",
        ["age", "sex", "education17", "birthplace57"],
        "occupation50",
    ),
}
METHODS: dict[str, Method] = {
    **{
        f"mondrian, l = {l}": Mondrian(l=l, cuts="strict", cut_at="median")
        for l in (2, 3, 4, 5, 6, 8, 10)
    },
    **{
        f"mondrian, entropy, l = {l}": Mondrian(
            l=l, diversity="entropy", cuts="strict", cut_at="median"
        )
        for l in (2, 4)
    },
    "mondrian, t = 0.5": Mondrian(k=5, t="0.5", cuts="strict", cut_at="median"),
    **{
        f"slicing, strict, l = {l}": Slicing(l=l, columns=2, sensitive_column_size=1, cuts="strict")
        for l in (2, 4)
    },
    **{
        f"slicing, two in the sensitive column, l = {l}": Slicing(
            l=l, columns=2, sensitive_column_size=2
        )
        for l in (2, 4)
    },
}
HEADER = [
    "",
    "groups",
    "cuts failed (not counted)",
    "above",
    "right about these",
    "certain",
    "largest",
    "best guess right",
    "by shares",
    "without",
]


def table_of(name: str, rows: int | None) -> Microdata:
    """The quasi-identifiers and the sensitive attribute, of the complete rows, or of so many drawn
    from them.
    """
    file, quasi, sensitive = TABLES[name]
    folder = os.environ.get("PHALANX_DATA")
    if not folder or not Path(folder, file).is_file():
        sys.exit(f"Set PHALANX_DATA to the folder that holds {file}.")
    found = pl.read_parquet(Path(folder, file))
    found = (
        (found.filter("complete") if "complete" in found.columns else found)
        .select(*quasi, sensitive)
        .drop_nulls()
    )
    if rows is not None and rows < found.height:
        found = found[Randomness.seeded(0).stream("rows").permutation(found.height)[:rows]]
    return Microdata.encode(
        found,
        Schema(
            quasi=quasi,
            sensitive=sensitive,
            types={q: "numeric" for q in quasi if found[q].dtype.is_numeric()},
        ),
    )


def published(method: Method, microdata: Microdata) -> Release:
    """A seeded publication; nothing leaves."""
    form = method.publish(microdata, Memory(), Randomness.seeded(1)).form
    manifest = Manifest(
        series="experiment", number=1, form=form.kind, method=method.parameters(), guarantees=[], attributes=list(form.attributes), rows=form.rows,
        groups=form.groups, counterfeits=0, boxes="tight", files=[], **form.manifest_fields(),
    )  # fmt: skip
    return Release(manifest, form, Path())


def row(name: str, found: Replayed) -> list[object]:
    return [
        name,
        found.groups,
        f"{found.cuts} ({found.unused})",
        found.above,
        (
            ""
            if found.above_success is None or found.above_interval is None
            else share(found.above_success, found.above_interval)
        ),
        found.certain,
        f"{float(found.largest):.3f}",
        share(found.success or 0.0, found.interval),
        f"{100 * found.by_share:.1f}",
        f"{100 * (found.baseline or 0.0):.1f}",
    ]


def share(mean: float, ends: tuple[float, float]) -> str:
    """In per cent."""
    return f"{100 * mean:.1f} ({100 * ends[0]:.1f} to {100 * ends[1]:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", choices=list(TABLES), action="append")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--effort", type=int, default=1000)
    parser.add_argument("--only", default="", help="methods whose name begins so")
    asked = parser.parse_args()
    for name in asked.table or TABLES:
        microdata = table_of(name, asked.rows)
        print(
            f"### {name}: {microdata.rows} rows\n\n| {' | '.join(HEADER)}"
            f" |\n|{' --- |' * len(HEADER)}",
            flush=True,
        )
        for what, method in (
            (what, method) for what, method in METHODS.items() if what.startswith(asked.only)
        ):
            began = time.perf_counter()
            try:
                release = published(method, microdata)
            except NotEligible:
                continue
            found = Minimality(effort=asked.effort).attack(
                [release], Evidence(microdata={1: microdata})
            )
            print("| " + " | ".join(map(str, row(what, found))) + " |", flush=True)
            print(f"{name}, {what}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
        print()


if __name__ == "__main__":
    main()
