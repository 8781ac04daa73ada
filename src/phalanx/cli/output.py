# SPDX-License-Identifier: Apache-2.0
"""What commands print: JSON on standard output when asked, else text; complaints and progress on
standard error.
"""

import json
import logging
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from phalanx.errors import PhalanxWarning
from phalanx.progress import Progress, silent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from phalanx.guarantees.base import Verdict

_FIGURE = 24  # a digest is longer, and its beginning says enough
_NOTE = 30  # columns below which a note is not worth a column
_WIDE = 240  # the width of a file or a pipe
_ORDERS = "\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""Beside those that JSON writes as escapes: characters that a terminal obeys instead of showing them,
those that break lines and turn the direction of what follows, and bytes of a path that are no text.
"""

# once, and not when the memory has run out that it takes
_OBEYED = re.compile(f"[\x00-\x1f{_ORDERS}]")
_UNESCAPED = re.compile(f"[{_ORDERS}]")

JSON = typer.Option(False, "--json", help="Print one JSON object with stable keys instead of text.")
QUIET = typer.Option(False, "--quiet", "-q", help="No progress on the terminal.")


def say_warnings() -> None:
    """What we warn of is a sentence; other packages' warnings stay as they are."""
    others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, PhalanxWarning):
            complain(str(message), as_json=False)
        else:
            others(message, category, *where, **more)

    warnings.showwarning = show
    # also where Python is asked to make errors of warnings
    warnings.simplefilter("always", PhalanxWarning)


def visible(text: str) -> str:
    r"""A text in which whatever a terminal would obey stands as an escape: names and values may be
    those of a table that a stranger made.

    >>> visible("flu\x1b[2J")
    'flu\\x1b[2J'
    """
    return _OBEYED.sub(lambda it: repr(it[0])[1:-1], text)


def _json(keys: Mapping[str, Any], indent: int | None = None) -> str:
    """The same of JSON, which says so itself of all that is not among ``_ORDERS``."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    ascii_alone = not encoding.lower().startswith("utf")  # else an escape would be none of JSON
    text = json.dumps(keys, ensure_ascii=ascii_alone, indent=indent, default=str)
    return _UNESCAPED.sub(lambda it: f"\\u{ord(it[0]):04x}", text)


def complain(sentence: str, *, as_json: bool) -> None:
    """One sentence about what is wrong, on standard error; as JSON, ``{"error": …}``, on standard
    output; nowhere where that is closed.
    """
    line = _json({"error": sentence}) if as_json else f"phalanx: {visible(sentence)}"
    stream = sys.stdout if as_json else sys.stderr
    if stream is not None:
        stream.write(f"{line}\n")


def show_json(keys: Mapping[str, Any]) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(_json(keys, indent=1) + "\n")


def show_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int] = ()
) -> None:
    """A table on standard output; numbers stand right, and no word is split while the words fit
    side by side.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    header = [visible(name) for name in header]
    cells = [[visible(str(cell)) for cell in row] for row in rows]
    console = _console()
    widths = _widths(list(zip(header, *cells, strict=True)), console.width)
    for i, name in enumerate(header):
        table.add_column(
            Text(name), justify="right" if i in right else "left", overflow="fold", width=widths[i]
        )
    for row in cells:
        table.add_row(*[Text(cell) for cell in row])
    if title:
        show_text(title)
    console.print(table)


def show_text(text: str) -> None:
    """A sentence on standard output, broken between words where a terminal ends; unbroken
    elsewhere.
    """
    from rich.text import Text

    _console().print(Text(visible(text)), soft_wrap=not sys.stdout.isatty())


def show_line(text: str) -> None:
    """One line on standard output, never wrapped, so that a path in it can be copied."""
    sys.stdout.write(f"{visible(text)}\n")


def _console() -> "Console":
    """Standard output: as wide as the terminal; elsewhere, so wide that a row is a line."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=_WIDE)


def _widths(columns: Sequence[Sequence[str]], room: int) -> Sequence[int | None]:
    """A width for every column, the widest made narrower until all fit, those first of which only
    the header is so wide, but none narrower than its longest word; None where words must be split.
    """
    from rich.cells import cell_len

    least = [
        max((cell_len(word) for cell in column for word in cell.split()), default=0)
        for column in columns
    ]
    widths = [max(map(cell_len, column)) for column in columns]
    cells = [max(map(cell_len, column[1:]), default=0) for column in columns]
    room -= 2 * (len(columns) - 1)
    if sum(least) > room:
        return [None] * len(columns)
    while sum(widths) > room:
        i = max(
            (i for i, width in enumerate(widths) if width > least[i]),
            key=lambda i: (widths[i] > cells[i], widths[i]),
        )
        widths[i] -= 1
    return widths


def show_verdicts(verdicts: "Sequence[Verdict]", *, details: bool) -> None:
    """In one sentence whether everything holds; then what does not, and in a line for each reason
    what was not checked.

    ``details``: all that was checked, too, a table for each release; notes beside checks where
    there is room, else of what fails.
    """
    releases = _by_release(verdicts)
    results = Counter(v.result for v in verdicts)
    checked = results["holds"] + results["fails"]
    headline = (
        "This does NOT hold."
        if results["fails"]
        else "Everything that was checked holds."
        if checked
        else "NOTHING was checked, as no bound was asked for."
        if results["measured"]
        else "NOTHING was checked."
    )
    of = f" of {len(releases)} releases" if len(releases) > 1 else ""
    parts = f", {results['not checked']} parts not checked" if results["not checked"] else ""
    more = "" if details else "; --details shows them"
    show_text(f"{headline} {checked} checks{of}{parts}{more}.")
    unlooked: dict[str, dict[str, set[str]]] = {}
    for title, checks in releases.items():
        looked = [
            (name, v)
            for name, v in checks
            if v.result == "fails" or (details and v.result in ("holds", "measured"))
        ]
        for name, v in checks:
            if v.result not in ("holds", "fails", "measured"):
                unlooked.setdefault(v.note.partition(" for release(s) ")[0], {}).setdefault(
                    name, set()
                ).add(title)
        if not looked:
            continue
        sys.stdout.write("\n")
        rows = [
            [name, "FAILS" if v.result == "fails" else v.result, *map(_short, v.figures)]
            for name, v in looked
        ]
        header = ["check", "result", "worst", "bound"]
        taken = sum(
            max(len(cell) for cell in column) + 2 for column in zip(header, *rows, strict=True)
        )
        beside = _console().width - taken >= _NOTE
        if beside:
            show_table(
                title,
                [*header, "note"],
                [[*row, v.note] for row, (_, v) in zip(rows, looked, strict=True)],
                right=(2, 3),
            )
        else:
            show_table(title, header, rows, right=(2, 3))
            for name, v in looked:
                if v.result == "fails":
                    show_text(f"{name}: {v.note}")
    if unlooked:
        sys.stdout.write("\n")
    for note, names in unlooked.items():
        mark, _, why = note.partition(": ")
        where = (
            f" in {len(set().union(*names.values()))} of {len(releases)} releases"
            if len(releases) > 1
            else ""
        )
        show_text(f"{mark}{where}: {why} ({', '.join(names)})")


def _by_release(verdicts: "Sequence[Verdict]") -> "dict[str, list[tuple[str, Verdict]]]":
    """The checks under their release, in order; their names without it."""
    checks: dict[str, list[tuple[str, Verdict]]] = {}
    for v in verdicts:
        release, _, name = v.name.partition(": ")
        title, name = (release, name) if release.startswith("release ") else ("Checks", v.name)
        checks.setdefault(title[:1].upper() + title[1:], []).append((name, v))
    return checks


def _short(figure: str) -> str:
    return figure if len(figure) <= _FIGURE or " " in figure else figure[: _FIGURE // 2] + "…"


@contextmanager
def steps(total: Sequence[str], *, quiet: bool) -> Iterator[Progress]:
    """A bar over named steps on standard error, on a terminal only, under it one of what a step
    counts, and above it what Phalanx says of a long wait; yields what to call when a step begins.
    """
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    with _bar() as bar:
        task, farthest = bar.add_task(total[0], total=len(total)), 0
        count = _counting(bar)

        def begin(step: str, done: int, of: int | None) -> None:
            nonlocal farthest
            farthest = max(farthest, total.index(step) if step in total else 0)
            bar.update(task, description=step, completed=farthest)
            count(None if of is None else "rows", done, of)

        waits = logging.Handler()
        waits.emit = lambda record: bar.console.print(record.getMessage())  # type: ignore[method-assign]
        log = logging.getLogger("phalanx")
        log.setLevel(logging.INFO)
        log.addHandler(waits)
        try:
            yield begin
        finally:
            log.removeHandler(waits)


@contextmanager
def watching(first: str, *, quiet: bool) -> Iterator[Progress]:
    """A bar on standard error, on a terminal only; yields what to call with what is looked at, how
    many of it were, and of how many.
    """
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    with _bar() as bar:
        count = _counting(bar)
        count(first, 0, None)
        yield count


def _counting(bar: "Bar") -> Callable[[str | None, int, int | None], None]:
    """What shows in one line how much of something is done, and in a new one of what comes next, or
    of the same from its beginning; None shows nothing.
    """
    task: TaskID | None = None
    now: tuple[str | None, int] = None, 0

    def count(what: str | None, done: int, of: int | None) -> None:
        nonlocal task, now
        if task is not None and (what != now[0] or done < now[1]):
            bar.remove_task(task)
            task = None
        if what is not None:
            if task is None:
                task = bar.add_task(what, total=of)
            bar.update(task, completed=done, total=of)
        now = what, done

    return count


def _bar() -> "Bar":
    """What was done, of how much, since when and for how long still."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Bar(*columns, console=Console(stderr=True), transient=True)
