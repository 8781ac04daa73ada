# SPDX-License-Identifier: Apache-2.0
"""What the experiments share: the two series, publishing them, the sizes that members demand, and
the errors of range queries.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.guarantees.views.boxes import box_ends
from phalanx.guarantees.views.groups import Groups
from phalanx.ledger import Ledger
from phalanx.methods.base import Memory, Method
from phalanx.methods.global_guarantee import phases
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.release.folder import Release
from phalanx.series.series import Series

Ints = npt.NDArray[np.int64]

VAERS = Schema(
    identifier="vaers_id",
    quasi=["age", "sex", "state"],
    sensitive="reactions",
    types={"reactions": "set"},
)
DIABETES = Schema(
    identifier="patient_nbr",
    quasi=["age", "gender", "race", "time_in_hospital", "num_lab_procedures"],
    sensitive="diag_1",
    missing="value",
)


def data_file(name: str) -> Path:
    """A file of the data folder; ends the script with one sentence and code 2 where there is
    none.
    """
    folder = os.environ.get("PHALANX_DATA")
    if folder is None or not (path := Path(folder, name)).is_file():
        print(
            f"this experiment needs {name}: set PHALANX_DATA to the folder that holds it.",
            file=sys.stderr,
        )
        raise SystemExit(2)
    return path


def reports() -> pl.DataFrame:
    """All reports with age and state, and the set of their reactions."""
    persons = pl.read_parquet(data_file("vaers_reports.parquet")).drop_nulls(["age_yrs", "state"])
    reactions = pl.read_parquet(data_file("vaers_reactions.parquet")).with_columns(
        pl.col("symptom").cast(pl.String).str.replace_all(";", ",")
    )
    sets = reactions.group_by("vaers_id").agg(reactions=pl.col("symptom").unique().sort())
    columns = [
        "vaers_id",
        pl.col("age_yrs").floor().cast(pl.Int32).alias("age"),
        pl.col("sex").cast(pl.String),
        pl.col("state").cast(pl.String),
    ]
    return persons.select(columns).join(sets, on="vaers_id", maintain_order="left")


def paper_series(
    records: pl.DataFrame, sensitive: str, releases: int = 20, seed: int = 1
) -> Iterator[pl.DataFrame]:
    """Section 8: equal parts; each table also keeps 20 % of the one before, and 20 % of its rows
    then get the value of a random record.
    """
    rng = np.random.default_rng(seed)
    parts = np.array_split(rng.permutation(records.height), releases)
    table = records.clear()
    for part in parts:
        kept = table[np.sort(rng.permutation(table.height)[: table.height // 5])]
        table = pl.concat([records[part], kept])
        changed = rng.permutation(table.height)[: table.height // 5]
        values = table[sensitive].to_list()
        other = records[sensitive][rng.integers(0, records.height, len(changed))].to_list()
        for row, value in zip(changed.tolist(), other, strict=True):
            values[row] = value
        table = table.with_columns(pl.Series(sensitive, values, dtype=records.schema[sensitive]))
        yield table


def encounters() -> list[pl.DataFrame]:
    """The ten releases of diabetes130, one row per patient: the last encounter."""
    rows = pl.read_parquet(data_file("diabetes130.parquet")).with_columns(
        pl.col("diag_1", "gender", "race", "age").cast(pl.String)
    )
    kept = rows.unique(["release", "patient_nbr"], keep="last", maintain_order=True).drop_nulls(
        "diag_1"
    )
    return [kept.filter(pl.col("release") == r).select(DIABETES.columns) for r in range(1, 11)]


@dataclass(frozen=True, kw_only=True)
class Line:
    """What was measured of one release."""

    number: int
    seconds: float
    processor: float
    """Seconds of the processor, of all threads."""
    groups: int
    average: float
    """Members per group with a protected value."""
    largest: int
    demanded: float
    """What the members of these groups demand, on average."""
    loss: float
    """The mean interval width over rows and quasi-identifiers."""
    suppressed: int
    error: float | None
    """The average relative error of the range queries, in per cent."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A published series."""

    name: str
    ledger: str
    published: Sequence[Release]
    lines: Sequence[Line]

    @property
    def releases(self) -> list[Release]:
        return list(self.published)

    def mean(self, what: str) -> float:
        """A figure over the rounds, rounds without groups left out."""
        found = [
            getattr(line, what)
            for line in self.lines
            if line.groups and getattr(line, what) is not None
        ]
        return float(np.mean(found)) if found else 0.0


def publish(
    tables: Sequence[pl.DataFrame],
    *,
    name: str,
    schema: Schema,
    method: Method,
    to: Path,
    registry: pl.DataFrame | None = None,
    queries: int = 0,
) -> Run:
    """Publish tables in order, each checked as ``publish`` always does, and measure every
    release.
    """
    ledger = f"sqlite:///{to / name}.db"
    series = Series(name, schema=schema, method=method, to=to, ledger=ledger, report=False)
    published: list[Release] = []
    lines: list[Line] = []
    for table in tables:
        before = _memory(ledger, name, len(published))
        began = time.perf_counter(), time.process_time()
        published.append(series.publish(table, registry=registry))
        seconds = time.perf_counter() - began[0], time.process_time() - began[1]
        lines.append(
            _measured(
                published[-1], table, schema, method, before, ledger, seconds, registry, queries
            )
        )
    tell(f"{name}: {len(published)} releases, {sum(line.seconds for line in lines):.1f} s")
    return Run(name=name, ledger=ledger, published=published, lines=lines)


def _memory(ledger: str, name: str, releases: int) -> Memory:
    if not releases:
        return Memory()
    with Ledger.open(ledger, create=False) as opened:
        return Memory(
            releases, opened.remembered(name), opened.groups(name, releases), opened.state(name)
        )


def _measured(
    published: Release,
    table: pl.DataFrame,
    schema: Schema,
    method: Method,
    before: Memory,
    ledger: str,
    seconds: tuple[float, float],
    registry: pl.DataFrame | None,
    queries: int,
) -> Line:
    with Ledger.open(ledger, create=False) as opened:
        microdata = Microdata.encode(
            _as_published(table, schema),
            schema,
            opened.person_key(published.manifest.series),
            registry,
        )
        mapping = opened.groups(published.manifest.series, published.number)
    average, largest, demanded, count = 0.0, 0, 0.0, 0
    if isinstance(method, GlobalGuarantee) and mapping is not None:
        sizes, demands = demanded_sizes(method, microdata, before, published, mapping)
        count = len(sizes)
        if count:
            average, largest, demanded = (
                float(sizes.mean()),
                int(sizes.max()),
                float(demands.mean()),
            )
    error = (
        relative_error(published, microdata, queries=queries, seed=7 + published.number)
        if queries
        else None
    )
    ends = box_ends(microdata, published.form)
    groups = Groups.of(published)
    widths = [
        ((high - low) / max(1, len(c.domain) - 1))
        for (low, high), c in zip(ends, microdata.quasi, strict=True)
    ]
    loss = float(sum(w @ groups.sizes for w in widths) / len(widths) / groups.sizes.sum())
    suppressed = sum(published.suppressed_values.values()) + sum(published.suppressed_rows.values())
    return Line(
        number=published.number,
        seconds=seconds[0],
        processor=seconds[1],
        groups=count,
        average=average,
        largest=largest,
        demanded=demanded,
        loss=loss,
        suppressed=suppressed,
        error=error,
    )


def _as_published(table: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    from phalanx.data.sources.frames import to_polars

    return to_polars(table, drop=schema.drop)


def demanded_sizes(
    method: GlobalGuarantee,
    microdata: Microdata,
    before: Memory,
    release: Release,
    mapping: pl.DataFrame,
) -> tuple[Ints, Ints]:
    """Of every group with a protected value: its members, and the least number of members that
    would do for what they demand of what it holds.
    """
    known = phases.recall(method.rules, microdata, before)
    groups = Groups.of(release).members
    names = {value: code for code, value in enumerate(known.held.names.to_list())}
    code = np.array(
        [
            names.get(value, -1)
            for value in ([] if groups.values is None else groups.values.to_list())
        ],
        dtype=np.int64,
    )[groups.cell_value]
    ids = {int(i): place for place, i in enumerate(groups.ids.to_list())}
    row_of = {person: row for row, person in enumerate(known.people.to_list())}
    members: list[list[int]] = [[] for _ in range(len(groups))]
    for person, group in mapping.iter_rows():
        if group > 0:
            members[ids[group]].append(row_of[person])
    demands = known.asked
    own = [
        dict(zip(demands.value[a:b].tolist(), demands.ratio[a:b].tolist(), strict=True))
        for a, b in zip(demands.starts, demands.starts[1:], strict=False)
    ]
    need: dict[int, float] = {}
    for cell in np.flatnonzero(code >= 0).tolist():
        g, value, count = (
            int(groups.cell_group[cell]),
            int(code[cell]),
            int(groups.cell_count[cell]),
        )
        histories = {int(demands.history[row]) for row in members[g]}
        asked = max(own[each].get(value, float(demands.base[value])) for each in histories)
        need[g] = max(need.get(g, float(method.least)), count * asked)
    which = np.array(sorted(need), dtype=np.int64)
    return np.array([len(members[g]) for g in which], dtype=np.int64), np.ceil(
        np.array([need[int(g)] for g in which])
    ).astype(np.int64)


def relative_error(
    release: Release, microdata: Microdata, *, queries: int, seed: int, share: float = 0.1
) -> float:
    """The average of |actual - estimate| / actual, in per cent, over random range queries: how many
    rows in a box of quasi-identifiers hold one of some values.

    Each query asks for a share ``share`` of the domain of every quasi-identifier and of the
    sensitive values, as in the workload of the m-invariance paper that this one follows; queries
    that no row meets are drawn again. A group counts by the part of its box that lies in the
    query's.
    """
    rng = np.random.default_rng(seed)
    groups = Groups.of(release).members
    ends, columns = box_ends(microdata, release.form), microdata.quasi
    values = [] if groups.values is None else groups.values.to_list()
    held = _held(microdata, values)
    errors: list[float] = []
    part = share ** (1 / (len(columns) + 1))
    while len(errors) < queries:
        ranges = [_range(len(c.domain), part, rng) for c in columns]
        asked = rng.random(len(values)) < part
        met = asked[held[1]]
        inside = np.ones(microdata.rows, dtype=bool)
        for column, (low, high) in zip(columns, ranges, strict=True):
            inside &= (column.codes >= low) & (column.codes <= high)
        actual = (
            len(np.unique(held[0][met & inside[held[0]]]))
            if microdata.sensitive.domain.type != "set"
            else int((met & inside[held[0]]).sum())
        )
        if not actual:
            continue
        weight = np.ones(len(groups))
        for (first, last), (low, high) in zip(ends, ranges, strict=True):
            weight *= np.maximum(np.minimum(last, high) - np.maximum(first, low) + 1, 0) / (
                last - first + 1
            )
        estimate = float(
            (weight[groups.cell_group] * groups.cell_count * asked[groups.cell_value]).sum()
        )
        errors.append(abs(actual - estimate) / actual)
    return 100 * float(np.mean(errors))


def _held(microdata: Microdata, values: Sequence[Any]) -> tuple[Ints, Ints]:
    """(row, place of a value): which rows hold which of the values."""
    from phalanx.data.sets import members

    place = {value: i for i, value in enumerate(values)}
    domain = microdata.sensitive.domain
    if domain.type == "set":
        table = members(domain.values)
        pairs: dict[int, list[int]] = {}
        for index, value in table.select("index", "value").iter_rows():
            if value in place:
                pairs.setdefault(index, []).append(place[value])
    else:
        pairs = {
            i: [place[value]] for i, value in enumerate(domain.values.to_list()) if value in place
        }
    rows, found = [], []
    for row, code in enumerate(microdata.sensitive.codes.tolist()):
        for value in pairs.get(code, ()):
            rows.append(row)
            found.append(value)
    return np.array(rows, dtype=np.int64), np.array(found, dtype=np.int64)


def _range(size: int, part: float, rng: np.random.Generator) -> tuple[int, int]:
    length = max(1, int(size * part + rng.random()))
    length = min(length, size)
    first = int(rng.integers(0, size - length + 1))
    return first, first + length - 1


def table_of(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = [header, ["---:"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def tell(what: str) -> None:
    """Progress, apart from the results."""
    print(time.strftime("%H:%M:%S"), what, file=sys.stderr, flush=True)
