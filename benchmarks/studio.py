# SPDX-License-Identifier: Apache-2.0
"""How long the studio's pages take: the first one, and the sliders, on 50,000 and 1,000,000 rows.

python benchmarks/studio.py [ROWS …] prints a table for each: the median and the slowest of 20
requests, asked of a server on this machine over HTTP, as a browser asks; and the median of the
processor's time that server and asker need for one, which says what a machine that does nothing
else would take.
"""

import os
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from http.cookiejar import CookieJar
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

from phalanx.exploration import offers
from phalanx.studio.serving import place_of, serve

ASKED = 20
Request = str | urllib.request.Request
Seconds = tuple[float, float]
"""By the clock, and of a processor."""


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


def timed(opener: urllib.request.OpenerDirector, *addresses: Request) -> Seconds:
    """Ask for each in turn."""
    began, used = time.perf_counter(), time.process_time()
    for address in addresses:
        with opener.open(address) as answer:
            answer.read()
    return time.perf_counter() - began, time.process_time() - used


def slid(opener: urllib.request.OpenerDirector, address: str) -> tuple[Seconds, Seconds]:
    """Until a slider answers, and until its estimate stands: the page asks again while it is under
    way.
    """
    began, used, answered = time.perf_counter(), time.process_time(), None
    while True:
        with opener.open(address) as answer:
            text = answer.read()
        now = (time.perf_counter() - began, time.process_time() - used)
        answered = answered or now
        if b"under way" not in text:
            return answered, now
        time.sleep(0.3)


def say(what: str, measured: Sequence[Seconds]) -> None:
    """A line of the table; a request that is made once has no slowest one."""
    clock, processor = zip(*measured, strict=True)
    slowest = f"{max(clock):.3f} s" if len(clock) > 1 else ""
    print(f"| {what} | {median(clock):.3f} s | {slowest} | {median(processor):.3f} s |", flush=True)


def run(rows: int) -> None:
    """All pages of a table of so many rows, in the folder of the process."""
    people(rows).write_parquet("people.parquet", statistics=False)
    place = place_of("people.parquet")
    announced: list[str] = []
    ready = threading.Event()

    def announce(address: str) -> None:
        announced.append(address)
        ready.set()

    servers: list = []
    thread = threading.Thread(
        target=serve, args=(place,), kwargs={"announce": announce, "started": servers.append}
    )
    thread.start()
    ready.wait()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    origin = announced[0].partition("/enter")[0]

    def form(path: str, text: bytes) -> urllib.request.Request:
        own = {"sec-fetch-site": "same-origin", "origin": origin}
        return urllib.request.Request(origin + path, data=text, headers=own)  # noqa: S310 - our own address

    print(f"| {rows:,} rows | median | slowest of {ASKED} | of a processor |")
    print("| --- | --- | --- | --- |")
    loaded = [f"{origin}/static/{name}" for name in ("style.css", "htmx.min.js", "studio.js")]
    say("the first page, with all it loads", [timed(opener, announced[0], f"{origin}/", *loaded)])
    bring = form("/data/bring", b"source=people.parquet")
    say("a plan proposed, and the page Data", [timed(opener, bring)])
    say("the first page, of that plan", [timed(opener, f"{origin}/") for _ in range(ASKED)])
    sliders: dict[str, Callable[[int], str]] = {
        "rows of the table": lambda i: f"/data/rows?from={1 + i * rows // ASKED}",
        "the page Data": lambda i: f"/data?from={1 + i * rows // ASKED}",
        "figures of a promise": lambda i: f"/promise?only=mondrian&method=mondrian&k={2 + i}",
        "classes of a hierarchy": lambda i: f"/data/column/1?kind=bands&levels={1 + i}",
    }
    for name, path in sliders.items():
        say(name, [timed(opener, origin + path(i)) for i in range(ASKED)])
    timed(opener, form("/explore/ground", b"ground=table"))
    for method in (name for name in offers() if name != "safe-sampling"):
        estimate = f"{origin}/explore/estimate?method={method}"
        say(f"{method}: the page Explore", [timed(opener, f"{origin}/explore?method={method}")])
        (key, *_) = [f"step.{a.key}" for a in offers()[method].asked if not a.choices]
        moved = (slid(opener, f"{estimate}&{key}={i}") for i in range(ASKED))
        answered, stood = zip(*moved, strict=True)
        say(f"{method}: a slider answers", answered)
        say(f"{method}: its estimate stands", stood)
    servers[0].should_exit = True
    thread.join()


if __name__ == "__main__":
    for count in [int(n) for n in sys.argv[1:]] or [50_000, 1_000_000]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            run(count)
            os.chdir(Path(folder).parent)
