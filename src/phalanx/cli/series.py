# SPDX-License-Identifier: Apache-2.0
"""``phalanx series``: what a ledger knows, and how it goes to another ledger."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from phalanx.cli.output import JSON, show_json, show_line, show_table

app = typer.Typer(
    help=(
        "What a ledger knows about series and their releases, how it is moved, backed up and"
        " restored, and how its key is changed."
    ),
    no_args_is_help=True,
)

LEDGER = Annotated[
    str,
    typer.Option(
        "--ledger",
        help="The ledger: an SQLite file, sqlite:///file.db or postgresql://user@host/database.",
    ),
]


@app.command("list")
def list_series(ledger: LEDGER, json: bool = JSON) -> None:
    """The series of a ledger. JSON keys: series (each name, method, releases, created, moved)."""
    from phalanx.cli.locations import ledger_url
    from phalanx.ledger import Ledger

    with Ledger.open(ledger_url(ledger), create=False) as opened:
        listed = [
            {
                "name": s.name,
                "method": s.promise.get("method"),
                "releases": s.releases,
                "created": s.created,
                "moved": s.moved,
            }
            for s in opened.series()
        ]
    if json:
        show_json({"series": listed})
        return
    rows = [[*list(s.values())[:-1], "moved away" if s["moved"] else ""] for s in listed]
    if not any(s["moved"] for s in listed):
        show_table(
            "Series",
            ["series", "method", "releases", "begun"],
            [row[:-1] for row in rows],
            right=(2,),
        )
    else:
        show_table("Series", ["series", "method", "releases", "begun", ""], rows, right=(2,))


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="The name of the series.")],
    ledger: LEDGER,
    json: bool = JSON,
) -> None:
    """The releases of a series.

    JSON keys: name, promise, moved, releases (each number, day, release, wave, rows, groups,
    counterfeits, suppressed_rows, spent, digest), reconciled (each number, day, entered, forgotten).
    """
    from phalanx.cli.locations import ledger_url
    from phalanx.errors import LedgerError, did_you_mean
    from phalanx.ledger import Ledger

    with Ledger.open(ledger_url(ledger), create=False) as opened:
        promise = opened.promise(name)
        if promise is None:
            names = [s.name for s in opened.series()]
            raise LedgerError(
                "the ledger knows no series"
                f" {name!r}{did_you_mean(name, names) or '; it has ' + (', '.join(names) or 'none') + '.'}"
            )
        moved = opened.moved(name)
        keys = ("wave", "rows", "groups", "counterfeits", "suppressed_rows", "spent")
        releases: list[dict[str, Any]] = [
            {
                "number": e.number,
                "day": e.day,
                "release": e.folder,
                **{k: e.summary.get(k) for k in keys},
                "digest": e.digest,
            }
            for e in opened.releases(name)
        ]
        reconciliations = opened.reconciled(name)
    if json:
        show_json(
            {
                "name": name,
                "promise": promise,
                "moved": moved,
                "releases": releases,
                "reconciled": [each.to_json() for each in reconciliations],
            }
        )
        return
    for guarantee in promise.get("guarantees", []):
        show_line(
            "promises: "
            + ", ".join(
                [guarantee["name"], *(f"{k} = {v}" for k, v in guarantee.items() if k != "name")]
            )
        )
    counts = _spent if any(e["spent"] for e in releases) else _counted
    wave = ["wave"] if any(e["wave"] is not None for e in releases) else []
    header = ["number", *wave, "day", *counts({}), "digest", "folder"]
    show_table(
        f"Releases of {name}",
        header,
        [
            [
                e["number"],
                *(_or_blank(e[w]) for w in wave),
                e["day"],
                *counts(e).values(),
                e["digest"][:12],
                Path(e["release"]).name,
            ]
            for e in releases
        ],
        right=range(len(header) - 2),
    )
    for each in reconciliations:
        entered = (
            f"release(s) {', '.join(map(str, each.entered))} entered again from their folders"
            if each.entered
            else f"{each.number} release(s) confirmed"
        )
        show_line(
            f"reconciled on {each.day}:"
            f" {entered}{'; what they remembered is lost' if each.forgotten else ''}"
        )
    if moved is not None:
        show_line(f"moved to another ledger on {moved}, where it goes on")
    for folder in dict.fromkeys(str(Path(e["release"]).parent) for e in releases):
        show_line(f"in {folder}")


def _counted(release: Mapping[str, Any]) -> dict[str, Any]:
    """What the table says of a release between its number and its folder."""
    suppressed = release.get("suppressed_rows")
    return {name: release.get(name) for name in ("rows", "groups", "counterfeits")} | {
        "suppressed rows": "" if suppressed is None else sum(suppressed.values())
    }


def _or_blank(what: Any) -> Any:
    """What of a release that was entered again is known."""
    return "" if what is None else what


def _waves(listed: Sequence[str]) -> dict[int, str]:
    """By number, the wave that an option names."""
    from phalanx.errors import PlanError

    waves: dict[int, str] = {}
    for each in listed:
        number, _, wave = each.partition("=")
        if not (number.strip().isdecimal() and wave.strip()):
            raise PlanError(
                f"--wave {each} names no wave of a release; write its number and its wave, as in 3=2019."
            )
        if int(number) in waves:
            raise PlanError(f"--wave names release {int(number)} twice; leave one of them out.")
        waves[int(number)] = wave.strip()
    return waves


def _spent(release: Mapping[str, Any]) -> dict[str, Any]:
    """The same under differential privacy, where what was suppressed is not told, and what counts
    is what was spent up to this release.
    """
    from phalanx.exact import at_most

    spent = release.get("spent") or {}
    budget = {
        f"{name} spent": at_most(spent[name]) if name in spent else ""
        for name in ("epsilon", "delta")
    }
    return {"rows": release.get("rows"), "images": release.get("groups")} | budget


@app.command("export")
def export(
    name: Annotated[str, typer.Argument(help="The name of the series.")],
    ledger: LEDGER,
    to: Annotated[
        Path,
        typer.Option("--to", help="The file to write; its key is written beside it, as FILE.key."),
    ],
    copy: Annotated[
        bool, typer.Option("--copy", help="Make a backup: the series goes on in this ledger.")
    ] = False,
    json: bool = JSON,
) -> None:
    """Put a series into a sealed file, for another ledger; from then on this ledger refuses to
    publish it, unless it is a copy.

    JSON keys: series, releases, folders, file, key, copy, reconcile.
    """
    from phalanx.cli.locations import ledger_url
    from phalanx.ledger import Ledger

    with Ledger.open(ledger_url(ledger), create=False) as opened:
        written = opened.export_series(name, to, copy=copy)
    if json:
        show_json(written.to_json())
        return
    show_line(
        f"Series {name} ({written.releases} release(s)) is in {written.file}, sealed under the key"
        f" in {written.key}."
    )
    show_line(
        "A person who has both can continue the series and look persons up in it: send them by"
        " different ways, and remove them when they have arrived."
    )
    if copy:
        show_line(
            "This is a copy, and the series goes on here: import it only if this ledger is lost,"
            " since two ledgers would not know of each other's releases."
        )
    else:
        show_line(
            "The series is moved: this ledger refuses to publish it from now on. The release"
            " folders stay where they are."
        )


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="The file that 'series export' wrote.")],
    ledger: LEDGER,
    key: Annotated[
        Path | None,
        typer.Option("--key", help="The file of its key, where it is not beside it as FILE.key."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            help="Where the release folders are now, where they are not where they were.",
        ),
    ] = None,
    json: bool = JSON,
) -> None:
    """Take a series from a file that 'series export' wrote, whole or not at all; the ledger is made
    where there is none.

    JSON keys: series, releases, folders, file, key, copy, reconcile (whether it is published only
    after 'series reconcile').
    """
    from phalanx.cli.locations import ledger_url
    from phalanx.ledger import Ledger
    from phalanx.ledger.transfer import Incoming, key_beside

    with Incoming.of(file, key or key_beside(file)):
        """The file is in order, so that a ledger that has to be made for it is not made in vain."""
    with Ledger.open(ledger_url(ledger)) as opened:
        taken = opened.import_series(file, key=key, folder=folder)
    if json:
        show_json(taken.to_json())
        return
    show_line(
        f"Series {taken.series} ({taken.releases} release(s)) is in this ledger"
        + ("." if taken.reconcile else ", and goes on here with its next publish.")
    )
    for absent in [where for where in taken.folders if not Path(where).is_dir()]:
        show_line(
            f"missing: {absent} (the next publish reads the release folders; put it there, or"
            " import with --folder)"
        )
    if taken.copy:
        show_line(
            "It came from a copy: do not publish it from the ledger that it was copied from any more."
        )
    if taken.reconcile:
        show_line(
            "It goes on here once you say what was published since the copy was made: run 'phalanx"
            f" series reconcile {shlex.quote(taken.series)}' with this ledger, and with the folders"
            " of releases that the copy does not have."
        )
    show_line(f"Now remove {taken.file} and {taken.key}.")


@app.command("reconcile")
def reconcile(
    name: Annotated[str, typer.Argument(help="The name of the series.")],
    ledger: LEDGER,
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="The release folders that the ledger does not know; others may be among them."
        ),
    ] = None,
    wave: Annotated[
        list[str] | None,
        typer.Option(
            help="The wave of a release that is entered, as in 3=2019, where the series has waves;"
            " once for each."
        ),
    ] = None,
    json: bool = JSON,
) -> None:
    """Say to a ledger that was restored, copied or lost its mark which releases were published:
    those that it knows, and those of these folders.

    Each folder is verified, and must be the one that the mark has. What must be remembered about
    persons is in no folder: a method that needs it does not go on with such a series. That this was
    said is recorded. JSON keys: number, day, entered, forgotten.
    """
    from phalanx.cli.locations import ledger_url
    from phalanx.series.reconciling import reconcile

    waves = _waves(wave or ())
    done = reconcile(name, folders or (), ledger=ledger_url(ledger), waves=waves)
    if json:
        show_json(done.to_json())
        return
    for number in done.entered:
        show_line(f"entered: release {number}")
    show_line(
        f"The ledger and its mark agree: {done.number} release(s) of series {name} were published,"
        " and you say that there are no more."
    )
    if done.forgotten:
        show_line(
            "What these releases remembered for the next one is lost, and the method needs it: the"
            " series is not published any more."
        )
        show_line(
            "To go on, put back the ledger that was used for them, or import a copy of the series"
            " that was exported after them."
        )


@app.command("backup")
def backup(
    ledger: LEDGER,
    to: Annotated[
        Path,
        typer.Option(
            "--to", help="A folder to make, which gets a sealed file for each series, and its key."
        ),
    ],
    json: bool = JSON,
) -> None:
    """Put a copy of every series that goes on here into a new folder, as 'series export --copy'
    does; all of them, or nothing.

    JSON keys: folder, series (each series, releases, folders, file, key, copy, reconcile).
    """
    from phalanx.cli.locations import ledger_url
    from phalanx.ledger import Ledger

    with Ledger.open(ledger_url(ledger), create=False) as opened:
        written = opened.backup(to)
    if json:
        show_json({"folder": str(to), "series": [each.to_json() for each in written]})
        return
    for each in written:
        show_line(f"{each.series}: {each.releases} release(s) in {each.file}")
    show_line(
        "Keep the keys (FILE.key) apart from the files. 'phalanx series import' brings a series"
        " back, and 'phalanx series reconcile' what left since."
    )


@app.command("rotate-key")
def rotate_key(ledger: LEDGER, json: bool = JSON) -> None:
    """Seal the whole ledger anew under a fresh key, which takes the old one's place; persons are
    recognised as before.

    Where the key comes from the environment variable PHALANX_LEDGER_KEY, the new one is that of
    PHALANX_LEDGER_NEW_KEY. JSON keys: key.
    """
    from phalanx.cli.locations import ledger_url
    from phalanx.ledger import Ledger

    with Ledger.open(ledger_url(ledger), create=False) as opened:
        where = opened.rotate_key()
    if json:
        show_json({"key": where})
        return
    show_line(f"The ledger is sealed under a new key, in {where}.")
    show_line(
        "Each other publisher needs it, too. The old key opens old copies of the ledger still:"
        " keep it with them, or remove both."
    )
