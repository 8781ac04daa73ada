# SPDX-License-Identifier: Apache-2.0
"""How far above 1/l a minimality adversary gets where cuts look at sensitive values: Mondrian and
strict slicing, on Adult and ACS.

    PHALANX_DATA=folder python experiments/knowing_the_method/minimality.py [--table adult] [--rows
    20000] [--effort 1000] [--sets 300] [--only slicing]

For every publication: groups; cuts that failed by the values and how many of them were too much
work to count; persons above the bound, and how often the adversary is right about these; persons
for whom one value is left; how often its best guess is right, beside somebody who goes by the
shares of the groups, and somebody without the release. Intervals are of 95 %.

``--sets`` bounds the work: all cuts of the table are replayed, and worlds are counted for so many
sets of groups, drawn at random, that failed cuts part together. Sums over all persons are then
estimates, in proportion to the persons of all such sets; their intervals take a set for one trial.
*Right about these* and *largest* are those of the persons who were drawn.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.adversaries import Minimality
from phalanx.adversaries.minimality.beliefs import Replay
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import NotEligible
from phalanx.exact import Ints
from phalanx.methods.base import Memory, Method
from phalanx.methods.mondrian.method import Mondrian
from phalanx.methods.slicing.method import Slicing
from phalanx.randomness import Randomness
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
    **{
        f"mondrian, least width, l = {l}": Mondrian(l=l, cuts="strict", cut_at="least-width")
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


def replayed(release: Release, microdata: Microdata, effort: int, most: int | None) -> list[str]:
    """The cells of a row, behind its name; counted for all sets of groups, or for so many."""
    adversary = Minimality(effort=effort)
    replay = Replay.of(release, microdata, adversary.together)
    beyond, sets = replay.unused, replay.sets
    drawn = Randomness.seeded(2).stream("sets").permutation(len(sets))[:most]
    replay.count([sets[i] for i in drawn], adversary.effort, adversary.together)
    found, everything = adversary.conclude(replay), len(drawn) == len(sets)
    add, persons = Sums(replay, drawn), found.per_person
    gained, half = add((persons["right"] - persons["right_by_share"]).to_numpy())
    right, half = found.by_share + gained / found.persons, half / found.persons
    unused = beyond + (replay.unused - beyond) * len(sets) / max(len(drawn), 1)
    return [
        str(found.groups),
        f"{found.cuts} ({'' if everything else 'about '}{unused:.0f})",
        number(*add(persons["above"].to_numpy())),
        (
            ""
            if found.above_success is None or found.above_interval is None
            else share(found.above_success, found.above_interval)
        ),
        number(*add((persons["candidates"] == 1).to_numpy())),
        f"{float(found.largest):.3f}",
        share(right, found.interval if everything else (right - half, right + half)),
        f"{100 * found.by_share:.1f}",
        f"{100 * (found.baseline or 0.0):.1f}",
    ]


class Sums:
    """Sums over all persons, and half of their 95 % intervals, where only some of the sets of
    groups that cuts part together were counted.

    A sum is in proportion to the persons of all sets (a ratio estimate from whole sets, all drawn
    alike); persons in no set are known.
    """

    def __init__(self, replay: Replay, drawn: Ints) -> None:
        of_cell = np.full(len(replay.shares), -1)
        for i, (cells, _) in enumerate(replay.sets):
            of_cell[list(cells)] = i
        of_person = of_cell[replay.persons.cell[replay.hosts.of_person]]
        self.drawn, self.inside, self.sets = drawn, of_person >= 0, len(replay.sets)
        self.of_person = of_person[self.inside]
        self.size = np.bincount(self.of_person, minlength=self.sets)

    def __call__(self, each: npt.NDArray[Any]) -> tuple[float, float]:
        outside = float(each[~self.inside].sum())
        if not len(self.drawn):
            return outside, 0.0
        of_set = np.bincount(self.of_person, weights=each[self.inside], minlength=self.sets)
        size, here = self.size[self.drawn], of_set[self.drawn]
        ratio, not_drawn = here.sum() / size.sum(), 1 - len(here) / self.sets
        spread = np.sqrt(not_drawn * ((here - ratio * size) ** 2).sum() / max(len(here) - 1, 1))
        half = 1.96 * spread * self.sets / np.sqrt(len(here))
        return outside + float(ratio * self.size.sum()), float(half)


def number(found: float, half: float) -> str:
    ends = f" ({max(found - half, 0):.0f} to {found + half:.0f})" if half else ""
    return f"{found:.0f}{ends}"


def share(mean: float, ends: tuple[float, float]) -> str:
    """In per cent."""
    return f"{100 * mean:.1f} ({100 * ends[0]:.1f} to {100 * ends[1]:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", choices=list(TABLES), action="append")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--effort", type=int, default=1000)
    parser.add_argument("--sets", type=int)
    parser.add_argument("--only", default="", help="methods whose name begins so")
    asked = parser.parse_args()
    sets = "" if asked.sets is None else f", counted for {asked.sets} sets of groups"
    for name in asked.table or TABLES:
        microdata = table_of(name, asked.rows)
        print(
            f"### {name}: {microdata.rows} rows{sets}\n\n| {' | '.join(HEADER)}"
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
            cells = replayed(release, microdata, asked.effort, asked.sets)
            print(f"| {' | '.join([what, *cells])} |", flush=True)
            print(f"{name}, {what}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
        print()


if __name__ == "__main__":
    main()
