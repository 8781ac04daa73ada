# SPDX-License-Identifier: Apache-2.0
"""What groups cost that do not point at holders: balanced cuts beside groups that grow around
holders, for each strategy, on four series; and what a registry wins back.

The method alone is run, without ledger and check, so that all of it takes minutes.

    PHALANX_DATA=folder python experiments/global_guarantee/groupings.py [--only
    panel|health|encounters|reports] [--l 2]

Prints for each release series: groups with a protected value, their average size, the mean width of
their intervals (each group counted once), the mean width over all rows, values that were
suppressed, the release in which that began, and seconds. Two series need no data folder: a made-up
panel of workers whose occupation mostly stays, half of the occupations protected; and the German
health panel of the demo, with the number of visits to a doctor.
"""

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.demo import panel
from phalanx.methods.base import Memory
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.randomness import Randomness
from series import DIABETES, encounters, paper_series, reports, table_of, tell

STRATEGIES = {
    "adaptive": {"strategy": "adaptive"},
    "geometric, alpha = 2": {"strategy": "geometric"},
    "geometric, alpha = 1.5": {"strategy": "geometric", "alpha": 1.5},
    "constant-ratio, k' = 5": {"strategy": "constant-ratio", "horizon": 5},
}
Tables = tuple[Schema, Sequence[pl.DataFrame], list[str]]


def workers(persons: int = 1000, waves: int = 8, seed: int = 1) -> Tables:
    """A made-up panel: everybody comes back in most waves, one occupation of thirteen that changes
    for one in ten, half of the occupations protected.
    """
    rng = np.random.default_rng(seed)
    shares = 1 / np.sqrt(np.arange(1, 14))
    occupations = np.array([f"occupation {i:02}" for i in range(13)])
    held = rng.choice(13, persons, p=shares / shares.sum())
    born, school, region = (
        rng.integers(14, 47, persons),
        rng.integers(8, 19, persons),
        rng.integers(0, 40, persons),
    )
    tables = []
    for _ in range(waves):
        moves = rng.random(persons) < 0.1
        held = np.where(moves, rng.choice(13, persons, p=shares / shares.sum()), held)
        there = rng.random(persons) < 0.85
        frame = pl.DataFrame(
            {
                "who": np.arange(persons),
                "born": born,
                "school": school,
                "region": region,
                "occupation": occupations[held],
            }
        )
        tables.append(frame.filter(pl.Series(there)))
    return (
        Schema(identifier="who", quasi=["born", "school", "region"], sensitive="occupation"),
        tables,
        occupations[6:].tolist(),
    )


def health() -> Tables:
    """The health panel: years of schooling that at most one in fifty has are protected; they hardly
    ever change.
    """
    frame = panel().with_columns(schooling=pl.col("educ").cast(pl.String))
    counts = frame["schooling"].value_counts()
    schema = Schema(identifier="id", quasi=["age", "female", "hhninc"], sensitive="schooling")
    tables = [
        part.select(schema.columns)
        for _, part in sorted(frame.group_by("year"), key=lambda pair: pair[0])
    ]
    return (
        schema,
        tables,
        counts.filter(pl.col("count") * 50 <= frame.height)["schooling"].to_list(),
    )


def hospital() -> Tables:
    """The hospital encounters; diagnoses of at most one in a hundred are protected."""
    tables = encounters()
    counts = pl.concat(tables)["diag_1"].value_counts()
    return (
        DIABETES,
        tables,
        counts.filter(pl.col("count") * 100 <= counts["count"].sum())["diag_1"].to_list(),
    )


def vaccines() -> Tables:
    """The paper's series, one reaction a report; those of at most one in a hundred rows are
    protected.
    """
    records = (
        reports().with_columns(pl.col("reactions").list.first().alias("reaction")).drop("reactions")
    )
    counts = records["reaction"].value_counts()
    schema = Schema(identifier="vaers_id", quasi=["age", "sex", "state"], sensitive="reaction")
    return (
        schema,
        list(paper_series(records, "reaction", 10)),
        counts.filter(pl.col("count") * 100 <= records.height)["reaction"].to_list(),
    )


SERIES: dict[str, Callable[[], Tables]] = {
    "health": health,
    "encounters": hospital,
    "reports": vaccines,
    "panel": workers,
}


def registry_of(schema: Schema, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Everybody who is ever in a series, as they are when they are first there."""
    known = [frame.select(schema.identifier, *schema.quasi) for frame in frames]
    return pl.concat(known).unique(schema.identifier, keep="first", maintain_order=True)


def measured(tables: Tables, method: GlobalGuarantee, *, registered: bool = False) -> list[str]:
    """What a series of releases looks like: means over releases and groups, sums of what is
    suppressed; ``registered``: with a registry of everybody who is ever there.
    """
    schema, frames, protected = tables
    registry = registry_of(schema, frames) if registered else None
    memory, sizes, widths, rows, suppressed = Memory(), [], [], [], []
    began = time.perf_counter()
    for frame in frames:
        microdata = Microdata.encode(frame, schema, PersonKey(bytes(32)), registry)
        draft = method.publish(microdata, memory, Randomness.secure())
        memory = memory.after(draft, draft.mapping(microdata))
        shown = (draft.suppressed.microdata or microdata).sensitive
        held = (
            shown.domain.values.is_in(pl.Series(protected).implode())
            .fill_null(value=False)
            .to_numpy()[shown.codes]
        )
        absent = microdata.registry
        members = [c.codes for c in microdata.quasi]
        if absent is not None:
            columns = zip(members, absent.quasi, strict=True)
            members = [np.concatenate([codes, c.codes]) for codes, c in columns]
        places = {
            f"q{i}": c.domain.normalised[codes]
            for i, (c, codes) in enumerate(zip(microdata.quasi, members, strict=True))
        }
        others = np.zeros(len(draft.groups) - len(held), dtype=bool)
        found = pl.DataFrame(
            {
                "group": draft.groups,
                "held": np.concatenate([held, others]),
                "row": np.arange(len(draft.groups)) < len(held),
                **places,
            }
        ).filter(pl.col("group") > 0)
        width = pl.mean_horizontal(pl.col(n).max() - pl.col(n).min() for n in places)
        groups = found.group_by("group").agg(
            width.alias("width"), pl.col("row").sum(), n=pl.len(), held=pl.col("held").any()
        )
        with_one = groups.filter("held")
        sizes.append(with_one["n"].mean() or 0.0)
        widths.append(with_one["width"].mean() or 0.0)
        rows.append(float((groups["width"] * groups["row"]).sum() / groups["row"].sum()))
        suppressed.append(
            sum(draft.suppressed.values.values()) + sum((draft.suppressed.rows or {}).values())
        )
    first = next((i + 1 for i, values in enumerate(suppressed) if values), "")
    return [
        f"{np.mean(sizes):.2f}",
        f"{100 * np.mean(widths):.2f}",
        f"{100 * np.mean(rows):.2f}",
        sum(suppressed),
        first,
        f"{time.perf_counter() - began:.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=list(SERIES))
    parser.add_argument("--l", type=int, default=2)
    asked = parser.parse_args()
    for name, make in SERIES.items():
        if asked.only not in (None, name):
            continue
        tables = make()
        rows = []
        for strategy, settings in STRATEGIES.items():
            for grouping, registered in (
                ("bottom-up", False),
                ("balanced", False),
                ("balanced", True),
            ):
                method = GlobalGuarantee(
                    l=asked.l,
                    protect=tables[2],
                    expected_later=tables[2],
                    grouping=grouping,
                    **settings,
                )
                way = f"{grouping}, registry" if registered else grouping
                rows.append([strategy, way, *measured(tables, method, registered=registered)])
                tell(f"{name}: {strategy}, {way}")
        header = [
            "strategy",
            "grouping",
            "size of groups with a protected value",
            "their width %",
            "width of all rows %",
            "suppressed",
            "from release",
            "s",
        ]
        title = (
            f"{name}: {len(tables[1])} releases, {sum(t.height for t in tables[1])} rows,"
            f" {len(tables[2])} values protected, l = {asked.l}"
        )
        print(f"### {title}\n\n{table_of(header, rows)}\n", flush=True)


if __name__ == "__main__":
    main()
