# SPDX-License-Identifier: Apache-2.0
"""How long the studio's pages take: the first one, and the sliders, on 50,000 and 1,000,000 rows.

python benchmarks/studio.py [ROWS …]; the median and the slowest of 20 requests each, asked of a
server on this machine over HTTP, as a browser asks; and the median of the processor's time that
server and asker need for one, which says what a machine that does nothing else would take.
"""

import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from http.cookiejar import CookieJar
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

from phalanx.studio.serving import place_of, serve

ASKED = 20


def people(rows: int) -> pl.DataFrame:
    """Made-up persons with seven attributes."""
    draw = np.random.default_rng(1)
    return pl.DataFrame({
        "patient": np.arange(rows),
        "age": draw.integers(18, 95, rows),
        "zip": draw.integers(10000, 10400, rows).astype(str),
        "sex": draw.choice(["f", "m"], rows),
        "children": draw.integers(0, 6, rows),
        "weight": draw.normal(70, 12, rows).round(1),
        "diagnosis": draw.choice([f"d{i}" for i in range(40)], rows),
    })  # fmt: skip


def timed(
    opener: urllib.request.OpenerDirector, address: str | urllib.request.Request
) -> tuple[float, float]:
    """Seconds by the clock, and of a processor."""
    began, used = time.perf_counter(), time.process_time()
    with opener.open(address) as answer:
        answer.read()
    return time.perf_counter() - began, time.process_time() - used


def say(rows: int, what: str, found: Sequence[tuple[float, float]]) -> None:
    clock, processor = zip(*found, strict=True)
    slowest = f", slowest {max(clock):6.3f} s" if len(found) > 1 else " " * 18
    print(
        f"{rows:>9,} rows: {what:<28} {median(clock):6.3f} s{slowest}, "
        f"processor {median(processor):6.3f} s"
    )


def run(rows: int, folder: Path) -> None:
    people(rows).write_parquet(folder / "people.parquet", statistics=False)
    place = place_of(str(folder / "people.parquet"), to=folder / "plan.toml")
    said: list[str] = []
    ready = threading.Event()

    def announce(address: str) -> None:
        said.append(address)
        ready.set()

    servers: list = []
    thread = threading.Thread(
        target=serve, args=(place,), kwargs={"announce": announce, "started": servers.append}
    )
    thread.start()
    ready.wait()
    time.sleep(0.5)
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    origin = said[0].partition("/enter")[0]
    timed(opener, said[0])
    say(rows, "the first page", [timed(opener, origin + "/")])
    bring = urllib.request.Request(  # noqa: S310 - our own address
        origin + "/data/bring",
        data=b"source=people.parquet",
        headers={"sec-fetch-site": "same-origin", "origin": origin},
    )
    say(rows, "a plan proposed, and Data", [timed(opener, bring)])
    say(rows, "the series of that plan", [timed(opener, origin + "/")])
    sliders = {
        "rows of the table": lambda i: f"/data/rows?from={1 + i * rows // ASKED}",
        "the page Data": lambda i: f"/data?from={1 + i * rows // ASKED}",
        "figures of a promise": lambda i: f"/promise?only=mondrian&method=mondrian&k={2 + i}",
        "an estimate of a method": lambda i: f"/explore/estimate?method=mondrian&step.k={i % 19}",
        "classes of a hierarchy": lambda i: f"/data/column/1?kind=bands&levels={1 + i}",
    }
    place.ground = ("table", None)
    timed(opener, origin + "/explore?method=mondrian")
    for name, path in sliders.items():
        say(rows, name, [timed(opener, origin + path(i)) for i in range(ASKED)])
    servers[0].should_exit = True
    thread.join()


if __name__ == "__main__":
    for count in [int(n) for n in sys.argv[1:]] or [50_000, 1_000_000]:
        with tempfile.TemporaryDirectory() as place_:
            run(count, Path(place_))
