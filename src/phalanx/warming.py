# SPDX-License-Identifier: Apache-2.0
"""Compiling every kernel before it is needed, by publishing a small made-up table with each method
in each of its ways.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from phalanx.data.schema import Schema
from phalanx.errors import PlanError, did_you_mean
from phalanx.methods.base import make, registered
from phalanx.series.series import Series

_AGE: Final = {"low": 0, "high": 100, "width": 10}
_ALONE: Final = {"l": 2, "sensitive_column_size": 1}
_NAMED: Final = {"l": 2, "columns": [["age", "job", "sex"], ["ill"]]}
WAYS: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = {
    "anatomy": [{"l": 2}],
    "global-guarantee": [
        {"l": 2},
        {"l": 2, "grouping": "bottom-up"},
        {"l": 2, "strategy": "geometric", "alpha": 2},
        {"l": 2, "strategy": "constant-ratio", "horizon": 3},
        {"l": 2, "protect": ["a"], "k": 2},
    ],
    "m-invariance": [
        {"m": 2},
        {"m": 2, "regions": 2},
        {"m": 2, "balancing": "paper"},
        {"m": 2, "not_eligible": "suppress", "changed": "new-record"},
    ],
    "mondrian": [
        {"k": 3, "l": 2, "cuts": "balanced"},
        *(
            {"k": 3, "l": 2, "cuts": cuts, "diversity": d}
            for cuts in ("strict", "relaxed")
            for d in ("frequency", "distinct", "entropy")
        ),
        {"k": 2, "l": 2, "c": 3, "diversity": "recursive"},
        *({"k": 2, "t": 0.6, "distance": distance} for distance in ("equal", "ordered")),
        {"k": 3, "min_width": {"age": 5}},
        {"k": 3, "cuts": "strict", "cut_at": "median"},
    ],
    "mutual-cover": [
        {"delta": 0.5},
        {"delta": 0.5, "grouping": "mondrian", "changes": 2},
        {"delta": 0.4, "k": 4, "changes": 2},
    ],
    "safe-sampling": [
        {"epsilon": 2, "delta": 0.01, "scheme": {"age": _AGE}, "allow_empty": True},
        {
            "epsilon": 2,
            "delta": 0.01,
            "scheme": {"age": _AGE},
            "allow_empty": True,
            "choose": "partition",
            "epsilon_scheme": 1,
        },
    ],
    "slicing": [
        *(
            _ALONE | {"check": check, "cuts": cuts}
            for check in ("exact", "local")
            for cuts in ("balanced", "strict", "relaxed")
        ),
        _ALONE | {"columns": 2, "check": "local"},
        _NAMED | {"grouping": "random", "bucket_size": 8},
        _NAMED | {"grouping": "membership", "bucket_size": 8},
        _NAMED | {"generalize_columns_k": 2, "compact": True},
        _NAMED | {"c": 3, "diversity": "recursive", "cuts": "strict"},
    ],
}
"""By method, the parameters that between them reach every kernel, but for three that few tables
need.
"""


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


def methods_of(name: str | None) -> list[str]:
    """The method of that name, or all that have kernels; PlanError where there is none."""
    if name is None:
        return sorted(WAYS)
    if name not in WAYS:
        also = " and has no kernels of ours" if name in registered() else ""
        raise PlanError(
            f"{name!r} is not a method to"
            f" compile{also}{did_you_mean(name, WAYS) or '; known are ' + ', '.join(sorted(WAYS)) + '.'}"
        )
    return [name]


def warm(name: str | None = None, progress: Callable[[str], None] = lambda _: None) -> Warmed:
    """Compile the kernels of a method, or of all, and keep them where the next process finds them,
    if there is such a place.
    """
    from phalanx.kernels import cache

    seconds: dict[str, float] = {}
    for method in methods_of(name):
        progress(method)
        began = time.perf_counter()
        for way in WAYS[method]:
            _publish(method, way)
        seconds[method] = time.perf_counter() - began
    return Warmed(
        cache.PLACE, cache.KEPT, seconds, len({path.name for path in cache.PLACE.rglob("*.nbi")})
    )


def _publish(method: str, way: Mapping[str, Any]) -> None:
    """Two releases, as what is remembered has kernels of its own."""
    with tempfile.TemporaryDirectory(prefix="phalanx-") as folder:
        schema = Schema(identifier="who", quasi=["age", "job", "sex"], sensitive="ill")
        series = Series(
            "warm",
            schema=schema,
            method=make(method, way),
            to=Path(folder) / "out",
            ledger=f"sqlite:///{folder}/warm.db",
            report=False,
        )
        for number in (0,) if method == "safe-sampling" else (0, 1):
            series.publish(_people(number))


def _people(number: int) -> pl.DataFrame:
    """A hundred and twenty made-up persons; some leave and some come before the second release."""
    who = range(number * 20, number * 20 + 120)
    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in who],
            "age": [(i * 7) % 60 + 20 for i in who],
            "job": [["clerk", "judge", "sailor"][i * 5 // 2 % 3] for i in who],
            "sex": ["fm"[i // 3 % 2] for i in who],
            "ill": ["abcdef"[i * i % 11 % 6] for i in who],
        }
    )
