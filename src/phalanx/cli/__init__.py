# SPDX-License-Identifier: Apache-2.0
"""The command line: one file per command, each thin over the Python interface; heavy imports wait
until a command runs.
"""

import atexit
import gc
import os
import sys
from typing import Any, Final, NoReturn

import typer

from phalanx.cli import (
    attack,
    budget,
    check,
    demo,
    draw,
    estimate,
    explore,
    init,
    measure,
    publish,
    report,
    series,
    studio,
    verify,
    warm,
)
from phalanx.cli.output import complain, say_warnings
from phalanx.cli.processor import give_back, sort_fast
from phalanx.ended import MEMORY, ended
from phalanx.errors import (
    GuaranteeError,
    PhalanxError,
    fault,
    lack_behind,
    unusable,
    without_passwords,
)
from phalanx.streams import keep_standard_error, open_closed_streams, write_any_letter

_WrongUse: type[Exception] = typer.BadParameter.__mro__[
    2
]  # ClickException; typer may bring a click of its own

_UNREAD: Final = 141
"""As a shell shows of what a signal ends that writes for no reader."""

app = typer.Typer(
    name="phalanx",
    help=(
        "Publish a table about people, once or again and again, so that everyone is covered by"
        " others to a stated, checked degree."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # the default would take the [demo] of an extra for a style, and swallow it
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("init")(init.init)
app.command("explore")(explore.explore)
app.command("check")(check.check)
app.command("publish")(publish.publish)
app.command("report")(report.report)
app.command("verify", cls=verify.Verify)(verify.verify)
app.add_typer(attack.app, name="attack")
app.add_typer(series.app, name="series")
app.command("estimate")(estimate.estimate)
app.command("draw")(draw.draw)
app.command("measure")(measure.measure)
app.command("budget")(budget.budget)
app.command("studio")(studio.studio)
app.command("demo")(demo.demo)
app.command("warm")(warm.warm)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Show the version and leave."),
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"phalanx {installed('phalanx')}")
        raise typer.Exit


def _no_memory(error: BaseException | None) -> bool:
    """Whether memory was missing, also where what was to be closed then failed for it."""
    while error is not None and not isinstance(error, MemoryError):
        error = error.__context__
    return error is not None


def main() -> None:
    """Run the command line. Exit codes: 0 done and holding, 1 a check does not hold, 2 wrong input
    or use, 70 a fault of ours, 130 interrupted, 141 where what reads the output is gone.
    """
    # what a command loads stays until it ends; to look for cycles in it costs a tenth of the start,
    # and a sixth of a small publication at its end
    gc.set_threshold(250_000, 20, 100)
    atexit.register(gc.freeze)
    open_closed_streams()
    write_any_letter()
    keep_standard_error()
    say_warnings()
    # else Arrow reserves a gigabyte for itself, which counts where memory has a limit
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # else a thread of NumPy's linear algebra waits awake, for a tenth of a publication
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # else every installed package is asked whether it wants to see what pydantic reads
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    sort_fast()
    give_back()
    try:
        code = app(
            prog_name="phalanx", standalone_mode=False
        )  # else typer would draw a frame around what is wrong, also where JSON was asked for
    except PhalanxError as error:
        _leave(1 if isinstance(error, GuaranteeError) else 2, str(error))
    except _WrongUse as error:
        _leave(2, without_passwords(_use(error)))
    except OSError as error:
        _leave(2, str(lack_behind(error) or unusable(error)))
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):  # of which typer makes 1, a verdict
            sys.exit(_UNREAD)
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, a panic of Rust code too, its message may quote values of persons
        if _no_memory(error):
            _leave(2, ended(MEMORY))
        _leave(2 if lack_behind(error) else 70, fault(error))
    if code == 130:
        _leave(code, ended("interrupted"))
    sys.exit(code)


def _use(error: Any) -> str:
    """What is wrong with the words on the command line; empty where the help was shown instead."""
    message = " ".join(error.format_message().split()).replace(". Did you", "; did you")
    message = message.replace(". Choose from", "; choose from").replace(": Value error, ", ": ")
    how = (
        ""
        if not message or message.endswith("?")
        else f"; {error.ctx.command_path} --help says how."
        if error.ctx is not None
        else "."
    )
    return f"{message[:1].lower()}{message[1:].rstrip('.')}{how}"


def _leave(code: int, sentence: str) -> NoReturn:
    if sentence:
        complain(sentence, as_json="--json" in sys.argv)
    sys.exit(code)
