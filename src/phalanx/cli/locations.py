# SPDX-License-Identifier: Apache-2.0
"""How releases and a ledger may be named on the command line."""

from pathlib import Path

from phalanx.cli.output import complain


def release_folders(named: list[str]) -> list[str]:
    """The releases among what ``releases/name-*`` names: reports that lie beside their folders are
    passed over, and that is said on standard error.
    """
    reports = [
        path
        for path in named
        if path.endswith(".html") and Path(path).is_file() and Path(path).with_suffix("").is_dir()
    ]
    if not reports or len(reports) == len(named):
        return named
    complain(f"{len(reports)} report(s) beside the releases are passed over.", as_json=False)
    return [path for path in named if path not in reports]


def ledger_url(ledger: str) -> str:
    """A ledger's URL; a plain path is an SQLite file, and what begins like the URL of a database is
    no path, however it goes on.

    >>> ledger_url("discharges.db")
    'sqlite:///discharges.db'
    """
    is_url = "://" in ledger or ledger.partition(":")[0].lower() in (
        "postgresql",
        "postgres",
        "sqlite",
    )
    return ledger if is_url else f"sqlite:///{ledger}"
