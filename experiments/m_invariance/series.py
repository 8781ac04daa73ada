# SPDX-License-Identifier: Apache-2.0
"""What the two experiments share: where the data is, publishing a list of tables as a series,
attacking it, and asking it for counts.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.adversaries import Intersection
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.guarantees.m_invariance.signatures import Signatures
from phalanx.guarantees.views.boxes import box_ends
from phalanx.guarantees.views.groups import Groups
from phalanx.ledger import Ledger
from phalanx.methods.base import Method
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.form import Form
from phalanx.series.series import Series

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


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


def replaced(
    pool: pl.DataFrame, first: int, each: int, releases: int, seed: int
) -> Iterator[pl.DataFrame]:
    """The paper's series: ``first`` random rows; then ``each`` random rows leave for good at every
    release and as many arrive for the first time.
    """
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(pool.height)
    present, waiting = shuffled[:first], shuffled[first:]
    for number in range(releases):
        if number:
            if len(waiting) < each:
                raise ValueError(f"the pool of {pool.height} rows ends after {number} releases")
            stay = rng.permutation(len(present))[each:]
            present, waiting = np.concatenate([present[stay], waiting[:each]]), waiting[each:]
        yield pool[present]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A published series: its releases in order, and where its ledger is."""

    name: str
    ledger: str
    published: Sequence[Release]

    @property
    def releases(self) -> list[Release]:
        return list(self.published)

    def groups(self) -> Evidence:
        """Who was published in which group, as the ledger has it."""
        with Ledger.open(self.ledger, create=False) as ledger:
            found = {
                p.number: mapping
                for p in self.published
                if (mapping := ledger.groups(self.name, p.number)) is not None
            }
        return Evidence(groups=found)

    def microdata(self, table: pl.DataFrame, schema: Schema) -> Microdata:
        """A table of the series, encoded with the persons as the ledger knows them."""
        with Ledger.open(self.ledger, create=False) as ledger:
            return Microdata.encode(table, schema, ledger.person_key(self.name))


def publish(
    tables: Sequence[pl.DataFrame], *, name: str, schema: Schema, method: Method, to: Path
) -> Run:
    """Publish tables in order, each checked as ``publish`` always does; a line per release goes to
    the standard error. What lies beside each release is left to the ledger, which has it once.
    """
    ledger = f"sqlite:///{to / name}.db"
    series = Series(name, schema=schema, method=method, to=to, ledger=ledger, report=False)
    published = []
    for table in tables:
        published.append(replace(series.publish(table), evidence=Evidence()))
        tell(f"{name}: release {published[-1].number} in {published[-1].seconds:.1f} s")
    return Run(name=name, ledger=ledger, published=published)


def vulnerable(run: Run) -> int:
    """Persons with one candidate left for whoever knows everybody's group in every release; no
    fewer are vulnerable by Lemma 1, which knows boxes only.
    """
    return Intersection(view="person").attack(run.releases, run.groups()).exposed


def vulnerable_by_box(
    run: Run, tables: Sequence[pl.DataFrame], schema: Schema, *, at_most: int
) -> tuple[int, int]:
    """Lemma 1 itself, among (at most so many of) those with one candidate by group, the only ones
    who can have one by box: (vulnerable, of how many).
    """
    evidence = run.groups()
    by_person = Intersection(view="person").attack(run.releases, evidence).per_person
    suspects = by_person.filter(pl.col("exposed")).sort("person").head(at_most).select("person")
    encoded = {
        p.number: run.microdata(table, schema)
        for p, table in zip(run.published, tables, strict=True)
    }
    some = {number: m.take(_rows(m, suspects)) for number, m in encoded.items()}
    present = [r for r in run.releases if some[r.number].rows]
    few = {n: g.join(suspects, on="person", how="semi") for n, g in evidence.groups.items()}
    return (
        Intersection(view="box").attack(present, Evidence(groups=few, microdata=some)).exposed
        if present
        else 0
    ), suspects.height


def _rows(microdata: Microdata, persons: pl.DataFrame) -> Ints:
    everybody = pl.DataFrame({"person": microdata.persons}).with_row_index("row")
    return everybody.join(persons, on="person", how="semi")["row"].to_numpy().astype(np.int64)


def workload_error(
    release: Release | Form,
    microdata: Microdata,
    *,
    theta: float,
    queries: int,
    seed: int,
    about: str | None = None,
) -> float:
    """The median of |actual - estimate| / actual over random COUNT queries, whose ranges are |A|
    theta^(1/(d+1)) values long on every attribute (Section 5.2).

    A group contributes (rows - counterfeits) * share of its box inside the query's box * share of
    its rows whose sensitive value qualifies. Boxes are measured in values of the domain. A length
    between two whole numbers is one of them at random, so that the expected selectivity stays
    theta; queries that nobody meets are drawn again. With ``about`` only that quasi-identifier and
    the sensitive attribute are asked for, the others are free.
    """
    rng = np.random.default_rng(seed)
    groups = Groups.of(release)
    ends, columns = box_ends(microdata, _form(release)), [*microdata.quasi, microdata.sensitive]
    asked = [about in (None, name) for name in microdata.schema.quasi] + [True]
    code_of = {
        value: code for code, value in enumerate(microdata.sensitive.domain.values.to_list())
    }
    codes = [_narrow(column.codes, len(column.domain)) for column in columns]
    sensitive = np.array([code_of.get(value, -1) for value in _values(groups)], dtype=np.int64)
    before = [
        *(_boxes_before(*of, len(c.domain)) for of, c in zip(ends, microdata.quasi, strict=True)),
        _values_before(groups, sensitive[groups.cell_value], len(code_of)),
    ]
    real = (groups.sizes - groups.counterfeits).astype(np.float64)
    errors: list[float] = []
    while len(errors) < queries:
        ranges = [
            _range(len(c.domain), theta ** (1 / len(columns)) if yes else 1.0, rng)
            for c, yes in zip(columns, asked, strict=True)
        ]
        met = np.ones(microdata.rows, dtype=bool)
        for of_rows, (low, high), yes in zip(codes, ranges, asked, strict=True):
            if yes:
                met &= (of_rows >= low) & (of_rows <= high)
        if not (actual := int(np.count_nonzero(met))):
            continue
        share = real
        for of_groups, (low, high) in zip(before, ranges, strict=True):
            share = share * (of_groups[high + 1] - of_groups[low])
        errors.append(abs(actual - float(share.sum())) / actual)
    return float(np.median(errors))


def _values(groups: Groups) -> list[Any]:
    return [] if groups.values is None else groups.values.to_list()


def _boxes_before(first: Ints, last: Ints, size: int) -> Floats:
    """The share of each group's interval that lies before a code, shape (size + 1, g)."""
    code = np.arange(size + 1)[:, None]
    return np.clip(code - first, 0, last - first + 1) / (last - first + 1)


def _values_before(groups: Groups, codes: Ints, size: int) -> Floats:
    """The share of each group's rows whose sensitive value lies before a code, shape
    (size + 1, g); ``codes`` are the cells', -1 for what is no value of the table.
    """
    counts = np.zeros((size + 1, len(groups)))
    known = codes >= 0
    np.add.at(counts, (codes[known] + 1, groups.cell_group[known]), groups.cell_count[known])
    return np.cumsum(counts, axis=0) / groups.sizes


def _narrow(codes: Ints, size: int) -> npt.NDArray[Any]:
    """Codes in as few bytes as they need, which are compared faster."""
    return codes.astype(np.min_scalar_type(-max(size, 1)))


def _range(size: int, part: float, rng: np.random.Generator) -> tuple[int, int]:
    """The first and last code of a random range that covers on average this part of a domain, and
    one value at least.
    """
    length = max(1, int(size * part + rng.random() * (part < 1)))
    first = int(rng.integers(0, size - length + 1))
    return first, first + length - 1


def loss(release: Release | Form, microdata: Microdata) -> float:
    """The mean width of real rows' intervals, as a share of each quasi-identifier's domain (the
    normalized certainty penalty).
    """
    groups = Groups.of(release)
    real = groups.sizes - groups.counterfeits
    widths = [
        (last - first) / max(len(column.domain) - 1, 1)
        for column, (first, last) in zip(
            microdata.quasi, box_ends(microdata, _form(release)), strict=True
        )
    ]
    return float(sum((width * real).sum() for width in widths) / (len(widths) * real.sum()))


def _form(release: Release | Form) -> Form:
    return release.form if isinstance(release, Release) else release


def signatures(release: Release) -> int:
    """How many different signatures the groups of a release have."""
    return len(np.unique(Signatures.of_series([release]).of(release)))


def table_of(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = [header, ["---:"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def tell(what: str) -> None:
    """Progress, apart from the results."""
    print(time.strftime("%H:%M:%S"), what, file=sys.stderr, flush=True)
