# SPDX-License-Identifier: Apache-2.0
"""Compiling every kernel before it is needed, by publishing a small made-up table with each method
in each of its ways.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from phalanx.data.schema import Schema
from phalanx.errors import PlanError, did_you_mean
from phalanx.methods.base import KNOWN, make, offers
from phalanx.progress import Progress, silent
from phalanx.series.series import Series
from phalanx.temporary import temporary_folder


@dataclass(frozen=True)
class Warmed:
    """What was compiled, and where it lies."""

    place: Path
    kept: bool
    """Whether the next process finds it; not in a temporary folder."""
    seconds: Mapping[str, float]
    kernels: int
    """How many of them lie compiled there."""

    def to_json(self) -> dict[str, Any]:
        """Stable keys: place, kept, methods (each name, seconds), kernels."""
        methods = [
            {"name": name, "seconds": round(seconds, 3)} for name, seconds in self.seconds.items()
        ]
        return {
            "place": str(self.place),
            "kept": self.kept,
            "methods": methods,
            "kernels": self.kernels,
        }


def ways(name: str | None = None) -> dict[str, Sequence[Mapping[str, Any]]]:
    """By method what compiles its kernels: of the method of that name, or of all that have kernels;
    PlanError where there are none.
    """
    compiled = {each: offer.compiled_by for each, offer in offers().items() if offer.compiled_by}
    if name is None:
        return dict(sorted(compiled.items()))
    if name not in compiled:
        also = " and says nothing of kernels" if name in KNOWN else ""
        near = did_you_mean(name, compiled) or "; known are " + ", ".join(sorted(compiled)) + "."
        raise PlanError(f"{name!r} is not a method to compile{also}{near}")
    return {name: compiled[name]}


def warm(name: str | None = None, progress: Progress = silent) -> Warmed:
    """Compile the kernels of a method, or of all, and keep them where the next process finds them,
    if there is such a place.
    """
    from phalanx.kernels import cache

    seconds: dict[str, float] = {}
    for method, parameters in ways(name).items():
        progress(method, 0, None)
        began = time.perf_counter()
        for way in parameters:
            _publish(method, way)
        seconds[method] = time.perf_counter() - began
    return Warmed(
        cache.PLACE, cache.KEPT, seconds, len({path.name for path in cache.PLACE.rglob("*.nbi")})
    )


def _publish(method: str, way: Mapping[str, Any]) -> None:
    """Two releases, as what is remembered has kernels of its own."""
    with temporary_folder() as folder:
        schema = Schema(identifier="who", quasi=["age", "job", "sex"], sensitive="ill")
        series = Series(
            "warm",
            schema=schema,
            method=make(method, way),
            to=folder / "out",
            ledger=f"sqlite:///{folder}/warm.db",
            report=False,
        )
        for number in (0, 1):
            series.publish(_people(number))


def _people(number: int) -> pl.DataFrame:
    """Some made-up persons, of whom a few leave and others come before the second release."""
    who = range(number * 20, number * 20 + 260)
    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in who],
            "age": [(i * 7) % 80 + 20 for i in who],
            "job": [["clerk", "judge", "sailor"][i * 5 // 2 % 3] for i in who],
            "sex": ["fm"[i // 3 % 2] for i in who],
            "ill": ["abcdef"[i * i % 11 % 6] for i in who],
        }
    )
