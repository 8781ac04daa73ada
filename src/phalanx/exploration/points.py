# SPDX-License-Identifier: Apache-2.0
"""One point of the grid: what is promised, and what was measured on the ground."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import polars as pl
from pydantic import TypeAdapter

from phalanx.adversaries.base import Attack, wilson
from phalanx.adversaries.opinion import question_of
from phalanx.adversaries.registry import made
from phalanx.data.schema import Schema
from phalanx.errors import MachineError, PhalanxError
from phalanx.exploration.grid import Section, label
from phalanx.methods.base import make
from phalanx.report.promises import in_words
from phalanx.series.series import Series
from phalanx.temporary import temporary_folder

OF_ONE: Final = (
    "singling-out", "linkage", "informed", "omniscient", "posterior", "posterior-learning",
)  # fmt: skip
"""Who is played on the last release, each where its form allows."""
OF_SEVERAL: Final = ("intersection", "intersection-by-person", "learning")
"""Who is played on all releases, where there are several."""
_WARM: Final = 300


@dataclass(frozen=True, kw_only=True)
class Risk:
    """What one adversary found on one point, beside what one without the release would."""

    adversary: str
    question: str
    """Which of the regulator's questions it answers."""
    sentence: str
    success: float | None
    """How often it is right, in [0, 1]; None where it found nothing to try."""
    interval: tuple[float, float]
    """The 95 % interval of that, by Wilson."""
    base_rate: float | None
    """How often an adversary is right who has not got the release."""
    persons: int

    @classmethod
    def of(cls, attack: Attack) -> "Risk":
        """How often an adversary names the row that is the person's, else the person's value."""
        named = getattr(attack, "named_rightly", None)
        if named is None:
            success, base = attack.success, attack.baseline
            interval = getattr(attack, "interval", None) or wilson(success or 0.0, attack.persons)
        else:
            (success, interval), base = named, attack.identity_baseline  # type: ignore[attr-defined]
        return cls(
            adversary=attack.adversary,
            question=question_of(attack.adversary),
            sentence=attack.sentence,
            success=success,
            interval=(interval[0], interval[1]),
            base_rate=base,
            persons=attack.persons,
        )


@dataclass(frozen=True, kw_only=True)
class Point:
    """One point: its figures stand side by side, and are never made one."""

    number: int
    method: Section
    """As it would stand under ``[method]``."""
    promised: tuple[str, ...] = ()
    """Its guarantees, a sentence each."""
    risks: tuple[Risk, ...] = ()
    loss: float | None = None
    """The mean width of intervals (NCP); None where the form has none."""
    error: float | None = None
    """The median relative error of the workload's counts."""
    sample_error: float | None = None
    """The same of a plain sample of the same size."""
    figures: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    """All that ``release.measure`` says."""
    rows: int | None = None
    suppressed_rows: int | None = None
    """Suppressed rows; None under differential privacy."""
    seconds: float | None = None
    """How long the last release took, on one core."""
    refused: str = ""
    """Why there is no release; empty where there is one."""

    @property
    def label(self) -> str:
        """The method and its parameters in few words."""
        return label(self.method)

    def risk(self, adversary: str) -> Risk | None:
        """What this adversary found; None where it was not played."""
        return next((risk for risk in self.risks if risk.adversary == adversary), None)

    def to_json(self) -> dict[str, Any]:
        """Stable keys: number, method, promised, risks (each adversary, question, sentence,
        success, interval, base_rate, persons), loss, error, sample_error, figures, rows,
        suppressed_rows, seconds, refused.
        """
        method = json.loads(json.dumps(self.method, default=str))  # dates of a scheme as texts
        return {**asdict(self), "method": method}

    @classmethod
    def of_json(cls, fields: Mapping[str, Any]) -> "Point":
        """The point that ``to_json`` told; ValueError where it is none."""
        return _reader().validate_python(fields)


@cache
def _reader() -> TypeAdapter[Point]:
    """Reads a point, and a ValueError where it is none."""
    return TypeAdapter(Point)


def measured(
    number: int, section: Section, schema: Schema, tables: Sequence[pl.DataFrame]
) -> Point:
    """Publish the tables one after the other into a private folder, attack and measure the last.
    MachineError where the machine lacks what that takes.
    """
    try:
        with temporary_folder() as place:
            series = _series(section, schema, place)
            for table in tables:
                release = series.publish(table)
            risks = [*_played(OF_ONE, release.attack)]
            if len(tables) > 1:
                risks += _played(OF_SEVERAL, series.attack)
            lost = release.measure(tables[-1], seed=0)  # the same queries of every point
    except MachineError:
        raise
    except PhalanxError as wrong:
        return Point(number=number, method=section, refused=str(wrong))
    by_name = {figure.name: figure for figure in lost.figures}
    return Point(
        number=number,
        method=section,
        promised=tuple(
            in_words(g, sensitive=schema.sensitive is not None) for g in release.manifest.guarantees
        ),
        risks=tuple(risks),
        loss=by_name["ncp"].release,
        error=by_name["workload"].release,
        sample_error=by_name["workload"].sample,
        figures=tuple(figure.to_json() for figure in lost.figures),
        rows=release.rows,
        suppressed_rows=(
            None if release.suppressed_rows is None else sum(release.suppressed_rows.values())
        ),
        seconds=None if release.seconds is None else round(release.seconds, 3),
    )


def warm(section: Section, schema: Schema, table: pl.DataFrame) -> None:
    """Load what a method needs, by publishing a few rows, so that no point is timed with it."""
    with suppress(PhalanxError), temporary_folder() as place:
        _series(section, schema, place).publish(table.head(_WARM))


def _series(section: Section, schema: Schema, place: Path) -> Series:
    method = make(
        str(section["name"]), {key: value for key, value in section.items() if key != "name"}
    )
    return Series("explored", schema, method, to=place / "out", report=False)


def _played(names: Sequence[str], attack: Any) -> list[Risk]:
    risks = []
    for name in names:
        try:
            concluded = attack(made(name))
        except MachineError:
            raise
        except PhalanxError:  # it attacks releases of another form
            continue
        if concluded.persons:
            risks.append(Risk.of(concluded))
    return risks
