# SPDX-License-Identifier: Apache-2.0
"""What groups cost that do not point at holders: balanced cuts beside groups that grow around
holders, for each strategy, on four series; and what a registry wins back.

The method alone is run, without ledger and check, so that all of it takes minutes.

    PHALANX_DATA=folder python experiments/global_guarantee/groupings.py [--only
    panel|health|encounters|reports] [--l 2] [--times 5]

Publishes each series five times, with seeds, and prints means over these times, with the least and
the greatest in brackets where they differ: the average size of groups with a protected value, the
mean width of their intervals (each group counted once), the mean width over all rows, values that
were suppressed, the first release in which one was, and seconds of the processor. *Beside grown*:
both widths beside those of groups that grow around holders, of the same strategy and without a
registry. Two series need no data folder: a made-up panel of workers whose occupation mostly stays,
half of the occupations protected; and the German health panel of the demo, with the years of
schooling.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

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
WAYS = (("bottom-up", False), ("balanced", False), ("balanced", True))
"""Groupings, and whether there is a registry; the first is what the others stand beside."""
SMALL = 300
"""Rows of two tables that are published first, which loads the kernels."""
HEADER = (
    "strategy",
    "grouping",
    "size of groups with a protected value",
    "their width %",
    "width of all rows %",
    "beside grown",
    "suppressed",
    "from release",
    "s",
)
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


@dataclass(frozen=True)
class Measured:
    """What one series of releases looks like: means over releases and groups, and the sum of what is
    suppressed.
    """

    size: float
    """Members of a group with a protected value."""
    width: float
    """Mean width of such groups, in per cent."""
    rows: float
    """Mean width over all rows, in per cent."""
    suppressed: int
    first: int | None
    """The release in which something was suppressed first."""
    seconds: float


def measured(
    tables: Tables, method: GlobalGuarantee, seed: int, *, registered: bool = False
) -> Measured:
    """What a series of releases looks like; ``registered``: with a registry of everybody who is ever
    there.
    """
    schema, frames, protected = tables
    registry = registry_of(schema, frames) if registered else None
    memory, sizes, widths, rows, suppressed = Memory(), [], [], [], []
    randomness = Randomness.seeded(seed)
    began = time.process_time()
    for frame in frames:
        microdata = Microdata.encode(frame, schema, PersonKey(bytes(32)), registry)
        draft = method.publish(microdata, memory, randomness)
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
    return Measured(
        float(np.mean(sizes)),
        100 * float(np.mean(widths)),
        100 * float(np.mean(rows)),
        sum(suppressed),
        next((i + 1 for i, values in enumerate(suppressed) if values), None),
        time.process_time() - began,
    )


def of_all(values: Sequence[float], digits: int = 2) -> str:
    """The mean, and in brackets the least and the greatest where they differ."""
    least, mean, greatest = (f"{f(values):,.{digits}f}" for f in (min, fmean, max))
    return mean if least == greatest else f"{mean} ({least} to {greatest})"


def row(times: Sequence[Measured], grown: Sequence[Measured]) -> list[str]:
    """The cells of one way to publish a series, beside the same with groups that grow."""
    beside = [
        f"{fmean(getattr(m, what) for m in times) / fmean(getattr(m, what) for m in grown):.1f}"
        for what in ("width", "rows")
    ]
    return [
        of_all([m.size for m in times]),
        of_all([m.width for m in times]),
        of_all([m.rows for m in times]),
        "" if times is grown else ", ".join(beside),
        of_all([m.suppressed for m in times], 0),
        str(min((m.first for m in times if m.first), default="")),
        f"{fmean(m.seconds for m in times):.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=list(SERIES))
    parser.add_argument("--l", type=int, default=2)
    parser.add_argument("--times", type=int, default=5, help="how often each is published; 5")
    asked = parser.parse_args()
    for name, make in SERIES.items():
        if asked.only not in (None, name):
            continue
        tables = make()
        rows = []
        for strategy, settings in STRATEGIES.items():
            grown: list[Measured] = []
            for grouping, registered in WAYS:
                method = GlobalGuarantee(
                    l=asked.l,
                    protect=tables[2],
                    expected_later=tables[2],
                    grouping=grouping,
                    **settings,
                )
                way = f"{grouping}, registry" if registered else grouping
                measured((tables[0], [t.head(SMALL) for t in tables[1][:2]], tables[2]), method, 1)
                times = [
                    measured(tables, method, seed, registered=registered)
                    for seed in range(1, asked.times + 1)
                ]
                grown = grown or times
                rows.append([strategy, way, *row(times, grown)])
                tell(f"{name}: {strategy}, {way}")
        title = (
            f"{name}: {len(tables[1])} releases, {sum(t.height for t in tables[1])} rows,"
            f" {len(tables[2])} values protected, l = {asked.l}"
        )
        print(f"### {title}\n\n{table_of(HEADER, rows)}\n", flush=True)


if __name__ == "__main__":
    main()
