"""The oracle's table, printed as Markdown: ``make oracle``, or ``PYTHONPATH=tests python -m worlds.table [METHOD …]``."""

import sys
import time
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from worlds import neighbours
from worlds.cases import CASES, Case
from worlds.oracle import Answer, Bound
from worlds.settings import PRIORS

HEAD = "| method | option | persons and values | worlds | publications | kind | bound | largest | above | certain | refused | verdict |"
RULE = "| --- | --- | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |"


def line(case: Case, answer: Answer) -> str:
    """One case as a row of the table: the figures of the prior that goes worst."""
    worst = answer.worst
    sampled = answer.kind == "sampled"
    seen = f"{float(worst.largest):.3f}, " if worst.largest else ""
    largest = f"{seen}surely {float(worst.surely):.3f}" if sampled else fraction(worst.largest)
    kind = answer.kind + ("" if worst.prior == next(iter(PRIORS)) else f", {worst.prior} prior")
    shares = [share(part) for part in (worst.above, worst.certain, worst.refused)]
    cells = [case.method, case.option, case.table, answer.worlds, f"{answer.publications:,}", kind, bounds(case.bound), largest, *shares, case.verdict(answer)]
    return "| " + " | ".join(map(str, cells)) + " |"


def safe_sampling(found: neighbours.Neighbours) -> str:
    """A row about (epsilon, delta): the delta that is needed beside the one that is promised."""
    verdict = "holds" if found.needed <= found.promised else "ABOVE ITS BOUND"
    cells = ["safe-sampling", found.option, "all tables of up to 4 of 4 persons, values a and b", found.tables, f"{found.publications:,}", "exact"]
    cells += [f"delta {float(found.promised):.4g}", f"{float(found.needed):.4g}", "", "", "", verdict]
    return "| " + " | ".join(map(str, cells)) + " |"


def fraction(number: Fraction) -> str:
    """Short fractions as they are, others to three digits."""
    return str(number) if number.denominator < 100 else f"{float(number):.3f}"


def bounds(bound: Bound) -> str:
    if not isinstance(bound, Mapping):
        return fraction(bound)
    different = sorted(set(bound.values()))
    return fraction(different[0]) if len(different) == 1 else ", ".join(f"{value}: {fraction(of)}" for value, of in bound.items())


def share(part: Fraction) -> str:
    """A part in per cent; nothing and everything are exact."""
    return "0" if part == 0 else f"{100 * float(part):.1f} %" if part < 1 else "100 %"


def rows(wanted: Iterable[str]) -> Iterable[str]:
    """All rows, one by one."""
    names = list(wanted)
    chosen = [case for case in CASES if not names or case.method in names]
    for number, case in enumerate(chosen):
        yield line(case, case.answer(Progress(f"{number + 1}/{len(chosen)} {case}")))
    if not names or "safe-sampling" in names:
        yield from (safe_sampling(neighbours.ask(dict(plan))) for plan in neighbours.PLANS)


class Progress:
    """One line on a terminal that says how far a case is, a few times in a second; nothing elsewhere."""

    def __init__(self, title: str) -> None:
        self.title, self.last = title, 0.0

    def __call__(self, done: int, of: int) -> None:
        now = time.monotonic()
        if sys.stderr.isatty() and now > self.last + 0.2:
            self.last = now
            say(f"\r\x1b[K{self.title[:100]}: {done} of {of}\r")


def say(words: str) -> None:
    sys.stderr.write(words)
    sys.stderr.flush()


def main(arguments: list[str]) -> None:
    known: dict[str, Any] = dict.fromkeys([*(case.method for case in CASES), "safe-sampling"])
    if strange := [name for name in arguments if name not in known]:
        sys.exit(f"{strange[0]!r} is not a method; known are {', '.join(known)}.")
    for row in (HEAD, RULE):
        sys.stdout.write(row + "\n")
    for row in rows(arguments):
        sys.stdout.write(row + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
