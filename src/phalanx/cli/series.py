"""``phalanx series``: what a ledger knows."""

from pathlib import Path
from typing import Annotated, Any

import typer

from phalanx.cli.output import JSON, show_json, show_table

app = typer.Typer(help="What a ledger knows about series and their releases.", no_args_is_help=True)

LEDGER = Annotated[str, typer.Option("--ledger", help="The ledger's URL or SQLite file.")]


@app.command("list")
def list_series(ledger: LEDGER, json: bool = JSON) -> None:
    """The series of a ledger. JSON keys: series (each name, method, releases, created)."""
    from phalanx.cli.locations import ledger_url
    from phalanx.ledger import Ledger

    with Ledger.open(ledger_url(ledger), create=False) as opened:
        found = [{"name": s.name, "method": s.promise.get("method"), "releases": s.releases, "created": s.created} for s in opened.series()]
    if json:
        show_json({"series": found})
        return
    show_table("Series", ["series", "method", "releases", "begun"], [list(s.values()) for s in found], right=(2,))


@app.command("show")
def show(name: Annotated[str, typer.Argument(help="The name of the series.")], ledger: LEDGER, json: bool = JSON) -> None:
    """The releases of a series. JSON keys: name, promise, releases (each number, release, rows, groups, counterfeits, suppressed, digest)."""
    from phalanx.cli.locations import ledger_url
    from phalanx.errors import LedgerError, did_you_mean
    from phalanx.ledger import Ledger

    with Ledger.open(ledger_url(ledger), create=False) as opened:
        promise = opened.promise(name)
        if promise is None:
            known = [s.name for s in opened.series()]
            raise LedgerError(f"the ledger knows no series {name!r}{did_you_mean(name, known) or '; it has ' + (', '.join(known) or 'none') + '.'}")
        keys = ("rows", "groups", "counterfeits", "suppressed")
        found: list[dict[str, Any]] = [
            {"number": e.number, "release": e.folder, **{k: e.summary.get(k) for k in keys}, "digest": e.digest} for e in opened.releases(name)
        ]
    if json:
        show_json({"name": name, "promise": promise, "releases": found})
        return
    for guarantee in promise.get("guarantees", []):
        typer.echo("promises: " + ", ".join([guarantee["name"], *(f"{k} = {v}" for k, v in guarantee.items() if k != "name")]))
    show_table(
        f"Releases of {name}",
        ["number", "rows", "groups", "counterfeits", "held back", "folder"],
        [[e["number"], *(e[k] for k in keys), Path(e["release"]).name] for e in found],
        right=range(5),
    )
    for folder in dict.fromkeys(str(Path(e["release"]).parent) for e in found):
        typer.echo(f"in {folder}")
