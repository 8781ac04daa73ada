# SPDX-License-Identifier: Apache-2.0
"""What every benchmark is measured beside: the floor, the same for all, and how figures are noted
and printed.
"""

import resource
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

Seconds = dict[str, list[float]]


@contextmanager
def timed(seconds: Seconds, what: str) -> Iterator[None]:
    """Note how long the block took."""
    begun = time.perf_counter()
    yield
    seconds[what].append(time.perf_counter() - begun)


def floor(source: Path, folder: Path, quasi: Sequence[str], seconds: Seconds) -> None:
    """What any publisher must at least do: read the file, sort it by the quasi-identifiers, write
    it as Parquet.
    """
    with timed(seconds, "floor"):
        pl.read_parquet(source).sort(list(quasi)).write_parquet(folder / "sorted.parquet")


def show(heading: str, seconds: Seconds, compared: Sequence[str]) -> None:
    """Medians with their spread, the ratios to the floor, and the peak memory of the whole
    process.
    """
    print(heading)
    for what, each in seconds.items():
        print(f"{what:<24}{statistics.median(each):8.3f} s   ({min(each):.3f} to {max(each):.3f})")
    for what in compared:
        print(
            f"{what + ' / floor':<28}{statistics.median(seconds[what]) / statistics.median(seconds['floor']):6.2f}"
        )
    print(
        f"{'peak memory':<24}{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MB"
        " (whole process, all of them)"
    )
