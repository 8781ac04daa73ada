"""What commands print: JSON on standard output when asked, else text; complaints and progress on standard error."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from phalanx.guarantees.base import Verdict

_FIGURE = 24  # a digest is longer, and its beginning says enough

JSON = typer.Option(False, "--json", help="Print one JSON object with stable keys instead of text.")
QUIET = typer.Option(False, "--quiet", "-q", help="No progress on the terminal.")


def complain(sentence: str, *, as_json: bool) -> None:
    """One sentence about what is wrong, on standard error; as JSON, ``{"error": …}``, on standard output."""
    if as_json:
        sys.stdout.write(json.dumps({"error": sentence}, ensure_ascii=False) + "\n")
    else:
        sys.stderr.write(f"phalanx: {sentence}\n")


def show_json(found: Mapping[str, Any]) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(found, ensure_ascii=False, indent=1, default=str) + "\n")


def show_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int] = ()) -> None:
    """A table on standard output; numbers stand right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(header):
        table.add_column(Text(name), justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*[Text(str(cell)) for cell in row])
    Console().print(table)


def show_verdicts(verdicts: "Sequence[Verdict]") -> None:
    """The checks as a table, one line each."""
    rows = [[v.name, _short(v.bound), _short(v.worst), _mark(v), v.note] for v in verdicts]
    show_table("Checks", ["check", "bound", "worst", "result", "note"], rows, right=(1, 2))


def _mark(verdict: "Verdict") -> str:
    if verdict.worst is None and verdict.note.startswith("not checked"):
        return "not checked"
    return "holds" if verdict.holds else "FAILS"


def _short(figure: object) -> str:
    text = "" if figure is None else str(figure)
    return text if len(text) <= _FIGURE else text[: _FIGURE // 2] + "…"


@contextmanager
def steps(total: Sequence[str], *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar over named steps on standard error, on a terminal only; yields what to call when a step begins."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(total[0], total=len(total))
        begun: list[str] = []

        def begin(step: str) -> None:
            bar.update(task, description=step, completed=len(begun))
            begun.append(step)

        yield begin
