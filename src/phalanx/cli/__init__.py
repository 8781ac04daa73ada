"""The command line: one file per command, each thin over the Python interface; heavy imports wait until a command runs."""

import os
import sys

import typer

from phalanx.cli import attack, demo, init, publish, series, verify
from phalanx.cli.output import complain
from phalanx.errors import GuaranteeError, PhalanxError

app = typer.Typer(
    name="phalanx",
    help="Publish a table about people, once or again and again, so that everyone is covered by others to a stated, checked degree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("init")(init.init)
app.command("publish")(publish.publish)
app.command("verify")(verify.verify)
app.command("attack")(attack.attack)
app.add_typer(series.app, name="series")
app.command("demo")(demo.demo)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Show the version and leave.")) -> None:  # noqa: FBT001, FBT003
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"phalanx {installed('phalanx')}")
        raise typer.Exit


def main() -> None:
    """Run the command line. Exit codes: 0 done and holding, 1 a check does not hold, 2 wrong input or use, 130 interrupted."""
    try:
        app()
    except PhalanxError as error:
        complain(str(error), as_json="--json" in sys.argv)
        sys.exit(1 if isinstance(error, GuaranteeError) else 2)
    except KeyboardInterrupt:
        complain("interrupted; nothing was published.", as_json="--json" in sys.argv)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
