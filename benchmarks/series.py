# SPDX-License-Identifier: Apache-2.0
"""A long series under m-invariance, as a user publishes it: `phalanx publish` in a process of its own
for each release, with the check, the ledger and the report; then `phalanx verify` of its first
releases, half of them and all of them, with their ledger.

    python benchmarks/series.py [--rows 1000000] [--releases 30] [--method TOML] [--returning]

One row in twenty leaves at every release for a newcomer. Persons ever published grow with that (2.45
times as many after 30 releases), and each is remembered; nothing else may grow with the number of a
release, and verify takes as long as the series is. With ``--returning`` half of those who come are
drawn from all who left, however long ago. ``peak`` is the most memory of the process.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import polars as pl
from jobs import PHALANX, Job, churned, plan, table, timed

SHOWN = 5
"""Every so many releases are shown, and the first two."""


def shown(name: str, figures: dict[str, float]) -> None:
    """A row of the table."""
    seconds, cpu, peak = (figures[key] for key in ("seconds", "cpu", "peak"))
    print(f"{name:<24}{seconds:>9.2f}{cpu:>9.2f}{peak:>9.0f}", flush=True)


def returned(
    frame: pl.DataFrame, away: pl.DataFrame, release: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The table of the next release, in which half of those who come were there before, where so many
    left; and who is away then.
    """
    gone = max(1, frame.height // 20)
    leaving = frame.head(gone)
    mixed = away.sample(fraction=1, shuffle=True, seed=release)
    back = mixed.head(gone // 2)
    stay = churned(frame, release).head(frame.height - back.height)
    return pl.concat([stay, back]), pl.concat([mixed.slice(back.height), leaving])


def run(rows: int, releases: int, method: str, folder: Path, *, returning: bool) -> None:
    """Publish a series, and check parts of it."""
    warm = folder / "warm"
    warm.mkdir()
    frame = table(rows)
    away = frame.clear()
    for place in (warm, folder):
        (place / "plan.toml").write_text(plan(Job("series", method, rows)))
        frame.write_parquet(place / "table.parquet")
    timed([PHALANX, "publish", "plan.toml"], warm)  # loads the kernels
    print(f"{f'{rows:,} rows':<24}{'seconds':>9}{'cpu':>9}{'peak MB':>9}")
    for number in range(1, releases + 1):
        if number > 1:
            if returning:
                frame, away = returned(frame, away, number)
            else:
                frame = churned(frame, number)
            frame.write_parquet(folder / "table.parquet")
        figures = timed([PHALANX, "publish", "plan.toml"], folder)
        if number <= 2 or number % SHOWN == 0:
            shown(f"release {number}", figures)
    for many in dict.fromkeys((1, releases // 2, releases)):
        folders = [f"releases/job-{number + 1}" for number in range(many)]
        figures = timed([PHALANX, "verify", *folders, "--ledger", "job.db"], folder)
        shown(f"verify 1 to {many}", figures)


def main() -> None:
    """Ask, run, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--releases", type=int, default=30)
    parser.add_argument("--method", default='name = "m-invariance"\nm = 4')
    parser.add_argument("--returning", action="store_true")
    asked = parser.parse_args()
    if asked.releases < 2:
        sys.exit("A series has two releases or more.")
    with tempfile.TemporaryDirectory() as folder:
        run(
            asked.rows,
            asked.releases,
            asked.method,
            Path(folder),
            returning=asked.returning,
        )


if __name__ == "__main__":
    main()
