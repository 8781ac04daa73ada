# SPDX-License-Identifier: Apache-2.0
"""The oracle's table, printed as Markdown: ``make oracle``, or ``PYTHONPATH=tests python -m
worlds.table [--write] [METHOD …]``.

``--write`` puts the lines of the run into the page, in the place of those of the same methods, and
leaves the lines of other methods as they are.
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

from worlds import neighbours
from worlds.case import Case
from worlds.cases import CASES
from worlds.oracle import Answer, Bound
from worlds.settings import PRIORS

HEAD = (
    "| method | option | persons and values | worlds | publications | kind | bound | largest |"
    " above | certain | refused | verdict |"
)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "who-knows-the-method.md"
SAFE = "safe-sampling"
RULE = "| --- | --- | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |"


def line(case: Case, answer: Answer) -> str:
    """One case as a row of the table: the figures of the prior that goes worst."""
    worst = answer.worst
    sampled = answer.kind == "sampled"
    seen = f"{float(worst.largest):.3f}, " if worst.largest else ""
    largest = f"{seen}surely {float(worst.surely):.3f}" if sampled else fraction(worst.largest)
    kind = answer.kind + ("" if worst.prior == next(iter(PRIORS)) else f", {worst.prior} prior")
    shares = [share(part) for part in (worst.above, worst.certain, worst.refused)]
    cells = [
        case.method,
        case.option,
        case.table,
        answer.worlds,
        f"{answer.publications:,}",
        kind,
        bounds(case.bound),
        largest,
        *shares,
        case.verdict(answer),
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def safe_sampling(plan: neighbours.Plan, found: neighbours.Neighbours) -> str:
    """A row about (epsilon, delta): the delta that is needed beside the one that is promised."""
    verdict = "holds" if found.needed <= found.promised else "ABOVE ITS BOUND"
    cells = [SAFE, plan.option, plan.table, found.tables, f"{found.publications:,}", "exact"]
    cells += [
        f"delta {float(found.promised):.4g}",
        f"{float(found.needed):.4g}",
        "",
        "",
        "",
        verdict,
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def fraction(number: Fraction) -> str:
    """Short fractions as they are, others to three digits."""
    return str(number) if number.denominator < 100 else f"{float(number):.3f}"


def bounds(bound: Bound) -> str:
    if not isinstance(bound, Mapping):
        return fraction(bound)
    different = sorted(set(bound.values()))
    return (
        fraction(different[0])
        if len(different) == 1
        else ", ".join(f"{value}: {fraction(of)}" for value, of in bound.items())
    )


def share(part: Fraction) -> str:
    """A part in per cent; nothing and everything are exact."""
    return "0" if part == 0 else f"{100 * float(part):.1f} %" if part < 1 else "100 %"


def row(method: str, number: int) -> str:
    """The row of a method's case of this number, asked now."""
    if method == SAFE:
        plan = neighbours.PLANS[number]
        return safe_sampling(plan, neighbours.ask(plan))
    case = [case for case in CASES if case.method == method][number]
    return line(case, case.answer())


def rows(methods: Sequence[str]) -> Iterator[str]:
    """All rows of these methods, in the order of the page; asked by as many processes as there are
    processors, each of them new, as threads do not fork.
    """
    tasks = [(method, number) for method in methods for number in range(len(LINES[method]))]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for done, found in enumerate(pool.map(row, *zip(*tasks, strict=True)), 1):
            if sys.stderr.isatty():
                sys.stderr.write(f"\r\x1b[K{done} of {len(tasks)} lines\r")
            yield found


LINES: Mapping[str, Sequence[Case] | Sequence[neighbours.Plan]] = {
    **{
        method: [case for case in CASES if case.method == method]
        for method in dict.fromkeys(case.method for case in CASES)
    },
    SAFE: neighbours.PLANS,
}
"""What is asked of each method."""


def rewritten(page: str, printed: Mapping[str, Sequence[str]]) -> str:
    """The page with the lines of these methods in the place of those that it has."""
    before, table, after = page.partition(f"{HEAD}\n{RULE}\n")
    old, rest = after[: (end := after.index("\n\n") + 1)].splitlines(), after[end:]
    kept = {
        method: printed.get(method) or [row for row in old if row.startswith(f"| {method} |")]
        for method in LINES
    }
    return before + table + "".join(f"{row}\n" for method in LINES for row in kept[method]) + rest


def main(arguments: Sequence[str]) -> None:
    write, named = "--write" in arguments, [name for name in arguments if name != "--write"]
    if strange := [name for name in named if name not in LINES]:
        sys.exit(f"{strange[0]!r} is not a method; known are {', '.join(LINES)}.")
    began, printed = time.perf_counter(), dict[str, list[str]]()
    sys.stdout.write(f"{HEAD}\n{RULE}\n")
    for found in rows([method for method in LINES if not named or method in named]):
        printed.setdefault(found.split(" | ")[0].removeprefix("| "), []).append(found)
        sys.stdout.write(f"{found}\n")
        sys.stdout.flush()
    if write:
        PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), printed), encoding="utf-8")
    minutes, processors = (time.perf_counter() - began) / 60, os.cpu_count()
    sys.stdout.write(
        f"\n{sum(map(len, printed.values()))} lines in {minutes:.1f} minutes on {processors}"
        " processors.\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
