# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of what must not be wrong: ``make mutants``, or ``PYTHONPATH=tests python -m
mutants [N] [--seed S] [--only TEXT] [--tests PATH …] [--json]``.

It makes N random small changes (``mutations``), one at a time, in a copy of the source, and runs
the tests that run the changed line until one fails. A mutant that no test notices must stand in
``survivors.toml`` with the reason why that is so. Which test runs which line is found first, once
for each state of the tree. Ctrl-C ends it with what was tried so far. It ends with 1 where a survivor
is not listed or fewer than 90 % are noticed.
"""

import argparse
import hashlib
import json
import math
import re
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from mutants import trials
from mutants.mutations import Mutation, mutations
from mutants.trials import PACKAGES, ROOT, Copy, Fork, Tests
from support import postgresql_server

PROCESSES = 2
LEAST = 0.90
_PART = 20_000
_SLOWEST = 40.0
"""Tests of so many seconds of a processor, the quick ones first, are asked about one mutant."""


@dataclass
class Outcome:
    """What became of a mutant."""

    mutation: Mutation
    noticed: bool
    by: str
    """The test that noticed it, or how else; for a survivor the reason that is listed, if there is
    one.
    """
    seconds: float


def sources() -> Iterator[tuple[str, str]]:
    """The files that are changed, and their text."""
    for package in PACKAGES:
        for path in sorted((ROOT / "src" / "phalanx" / package).rglob("*.py")):
            yield path.relative_to(ROOT / "src" / "phalanx").as_posix(), path.read_text()


def survivors() -> dict[tuple[str, str, str], str]:
    """The reasons that are listed, by the mutant's key."""
    with (Path(__file__).parent / "survivors.toml").open("rb") as file:
        return {
            (entry["file"], entry["before"], entry["after"]): entry["why"]
            for entry in tomllib.load(file).get("survivor", [])
        }


def sample(able: Sequence[Mutation], seed: int) -> list[Mutation]:
    """The mutants in an order that the seed decides for each by itself: where the source changes
    elsewhere, the others keep their places.
    """
    seen: Counter[tuple[str, str, str]] = Counter()

    def place(mutation: Mutation) -> bytes:
        seen[mutation.key] += 1
        named = json.dumps([seed, *mutation.key, seen[mutation.key]])
        return hashlib.sha256(named.encode()).digest()

    return sorted(able, key=place)


def files_of(places: Sequence[str]) -> list[Path]:
    """The files of tests at these places."""
    return [
        path
        for place in places
        for path in (
            [ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("test_*.py")
        )
    ]


def recorded(copies: Sequence[Copy], files: Sequence[Path]) -> Tests:
    """Which test runs what: for each file of tests from an earlier run on this very source and
    file, or found now.
    """
    source = hashlib.sha256(b"\0".join(text.encode() for _, text in sources())).digest()
    keep = Path(tempfile.gettempdir()) / "phalanx-mutants"
    keep.mkdir(mode=0o700, exist_ok=True)
    notes = {
        str(path.relative_to(ROOT)): (
            keep / f"{path.stem}-{hashlib.sha256(source + path.read_bytes()).hexdigest()[:16]}.json"
        )
        for path in files
    }
    new = sorted(
        (name for name, note in notes.items() if not note.exists()),
        key=lambda name: -(ROOT / name).stat().st_size,
    )
    said(
        f"finding out which lines the tests of {len(new)} files run; of {len(notes) - len(new)} it"
        " is known"
    )
    for names, answer, _ in forks(
        copies,
        list(together(new)),
        lambda copy, names: lambda: trials.record(copy.source, names),
        900,
    ):
        if answer is None:
            raise RuntimeError(f"{', '.join(names)}: no end comes")
        for test in answer["failed"]:
            said(f"  left out, since it does not pass here: {test}")
        for name in names:
            own = {
                what: {
                    test: of for test, of in answer[what].items() if test.startswith(f"{name}::")
                }
                for what in ("seconds", "lines")
            }
            notes[name].write_text(json.dumps(own))
    tests = Tests()
    for note in notes.values():
        found = json.loads(note.read_text())
        tests.seconds |= found["seconds"]
        tests.lines |= found["lines"]
    return tests


def together(files: Sequence[str]) -> Iterator[list[str]]:
    """Some files at a time, the small ones together, as each fork begins by importing us."""
    part: list[str] = []
    for name in files:
        part.append(name)
        if sum((ROOT / each).stat().st_size for each in part) > _PART:
            yield part
            part = []
    if part:
        yield part


def forks(copies, jobs, work, seconds):
    """Jobs done in forks, one for each copy at a time; each with its answer and how long it took,
    as they end.
    """
    waiting, running = list(reversed(jobs)), {}
    try:
        while waiting or running:
            for copy in copies:
                if copy.folder not in running and waiting:
                    job = waiting.pop()
                    limit = seconds(job) if callable(seconds) else seconds
                    running[copy.folder] = (
                        job,
                        Fork.start(work(copy, job), copy.folder / "answer.json", limit),
                        time.monotonic(),
                    )
            for folder, (job, fork, began) in list(running.items()):
                if fork.ended():
                    del running[folder]
                    yield job, fork.manifest_fields(), time.monotonic() - began
            time.sleep(0.02)
    finally:
        for _, fork, _ in running.values():
            fork.last = 0
            fork.ended()


def outcome(mutation: Mutation, answer: dict | None, seconds: float, reasons: dict) -> Outcome:
    """What an answer means."""
    if answer is None:
        return Outcome(mutation, noticed=True, by="(it hangs or dies)", seconds=seconds)
    if answer["code"] in {0, trials.NO_TEST}:
        return Outcome(mutation, noticed=False, by=reasons.get(mutation.key, ""), seconds=seconds)
    return Outcome(
        mutation,
        noticed=True,
        by=next(iter(answer["failed"]), "(it cannot be imported)"),
        seconds=seconds,
    )


def tried(copies: Sequence[Copy], chosen: Sequence[Mutation], tests: Tests) -> Iterator[Outcome]:
    """Each mutant before the tests that run it."""
    reasons, last = survivors(), {copy.folder: None for copy in copies}

    def work(copy: Copy, job: tuple[Mutation, list[str]]):
        if last[copy.folder]:
            trials.restore(copy, last[copy.folder])
        mutation, order = job
        last[copy.folder] = mutation
        trials.apply(copy, mutation)
        return lambda: trials.noticed(copy.source, order)

    def limit(job: tuple[Mutation, list[str]]) -> float:
        return 15 + 4 * sum(tests.seconds[test] for test in job[1])

    jobs = [(mutation, within(tests.of(mutation), tests.seconds)) for mutation in chosen]
    for (mutation, _), answer, seconds in forks(copies, jobs, work, limit):
        yield outcome(mutation, answer, seconds, reasons)
    for copy in copies:
        if last[copy.folder]:
            trials.restore(copy, last[copy.folder])


def doubted(copy: Copy, outcomes: Sequence[Outcome], tests: Tests) -> set[str]:
    """The tests that noticed a mutant and fail without one, too: what they say counts for
    nothing.
    """
    asked = sorted({o.by for o in outcomes if o.by in tests.seconds})
    limit = 60 + 8 * sum(tests.seconds[test] for test in asked)
    ((_, answer, _),) = forks(
        [copy], [asked], lambda copy, asked: lambda: trials.failing(copy.source, asked), limit
    )
    return set(asked) if answer is None else set(answer["failed"])


def between(share: int, number: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for the share of all mutants, from those that were tried."""
    z, p = 1.959964, share / number
    middle, half = (
        p + z * z / (2 * number),
        z * math.sqrt(p * (1 - p) / number + z * z / (4 * number * number)),
    )
    return tuple((middle + sign * half) / (1 + z * z / number) for sign in (-1, 1))


def within(order: list[str], seconds: dict[str, float]) -> list[str]:
    """The first tests, as many as are done in the time."""
    total, part = 0.0, []
    for test in order:
        total += seconds[test]
        if total > _SLOWEST:
            break
        part.append(test)
    return part


def said(text: str) -> None:
    """What is going on, where no figure goes."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def shown(outcomes: Sequence[Outcome]) -> str:
    """The table by kind of change, and the survivors."""
    if not outcomes:
        return "no mutant was tried"
    total, killed = (
        Counter(o.mutation.operator for o in outcomes),
        Counter(o.mutation.operator for o in outcomes if o.noticed),
    )
    low, high = between(killed.total(), len(outcomes))
    accounted = sum(bool(o.noticed or o.by) for o in outcomes)
    lines = [f"{'change':<24}{'mutants':>8}{'noticed':>8}"]
    lines += [
        f"{operator:<24}{total[operator]:>8}{killed[operator]:>8}" for operator in sorted(total)
    ]
    lines += [
        (
            f"{'all':<24}{len(outcomes):>8}{sum(killed.values()):>8} "
            f" {100 * killed.total() / len(outcomes):.1f} %"
        ),
        f"of all mutants there are, noticed: {100 * low:.1f} to {100 * high:.1f} % (95 %)",
        (
            f"noticed, or listed with the reason why not: {accounted},"
            f" {100 * accounted / len(outcomes):.1f} %"
        ),
        "",
    ]
    for o in (o for o in outcomes if not o.noticed):
        m = o.mutation
        lines += [
            f"{m.file}:{m.first} ({m.operator})",
            f"  - {m.before}",
            f"  + {m.after}",
            f"  {'listed: ' + o.by if o.by else 'NOT LISTED'}",
        ]
    return "\n".join(lines)


def main(words: Sequence[str]) -> int:
    """Choose, try, print."""
    parser = argparse.ArgumentParser(
        prog="mutants",
        description="Random small changes of the source, and whether a test notices each.",
    )
    parser.add_argument("number", nargs="?", type=int, default=300)
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument(
        "--only",
        default="",
        help="mutants whose 'file:line before -> after' holds this (a regular expression)",
    )
    parser.add_argument(
        "--tests",
        nargs="+",
        default=trials.TESTS,
        help="files and folders of tests, relative to the checkout",
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(words)

    everything = [mutation for file, text in sources() for mutation in mutations(file, text)]
    able = [
        m
        for m in everything
        if re.search(options.only, f"{m.file}:{m.first} {m.before} -> {m.after}")
    ]
    chosen = sample(able, options.seed)[: options.number]
    said(f"{len(chosen)} of {len(able)} mutants of {', '.join(PACKAGES)}; seed {options.seed}")
    began = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is stopped, too
    trials.warm()
    files = files_of(options.tests)
    if (
        any(path.parent.name == "ledger" for path in files) and not postgresql_server.missing()
    ):  # one for all forks
        postgresql_server.running()
    with tempfile.TemporaryDirectory(prefix="phalanx-mutants-") as folder:
        copies = [Copy(Path(folder) / str(i)) for i in range(PROCESSES)]
        for copy in copies:
            copy.make()
        tests = recorded(copies, files)
        said(f"{len(tests.seconds)} tests, {time.monotonic() - began:.0f} s")
        outcomes = []
        try:
            for result in tried(copies, chosen, tests):
                outcomes.append(result)
                m = result.mutation
                said(
                    f"{len(outcomes):>4} {'noticed ' if result.noticed else 'SURVIVED'}"
                    f" {result.seconds:5.1f} s  {m.file}:{m.first}  {m.before}  ->  {m.after} "
                    f" {result.by}"
                )
        except KeyboardInterrupt:
            said(f"stopped: {len(outcomes)} of {len(chosen)} mutants were tried")
        else:
            wrong = doubted(copies[0], outcomes, tests)
            for o in outcomes:
                if o.by in wrong:
                    said(f"not counted, as {o.by} fails without it, too: {o.mutation.before}")
                    o.noticed, o.by = False, ""
    if options.json:
        out = json.dumps(
            {"seed": options.seed, "of": len(able), "outcomes": [asdict(o) for o in outcomes]},
            indent=1,
        )
    else:
        out = shown(outcomes)
    sys.stdout.write(f"{out}\n")
    killed = sum(o.noticed for o in outcomes)
    return int(killed < LEAST * len(outcomes) or any(not o.noticed and not o.by for o in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
