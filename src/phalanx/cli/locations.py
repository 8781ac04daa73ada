# SPDX-License-Identifier: Apache-2.0
"""How releases, a ledger, a page and a picture may be named on the command line."""

from pathlib import Path

from phalanx.cli.output import complain


def release_folders(named: list[str]) -> list[str]:
    """The releases among what ``releases/*`` names: the folder of their reports is passed over, and
    that is said on standard error.
    """
    from phalanx.series.staging import REPORTS

    releases = [
        path
        for path in named
        if Path(path).name != REPORTS or not Path(path).is_dir() or any(Path(path).glob("*.json"))
    ]
    if not releases or len(releases) == len(named):
        return named
    complain("the reports beside the releases are passed over.", as_json=False)
    return releases


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


def check_ending(file: Path, option: str, *endings: str) -> None:
    """PlanError where a page or a picture would have the name of another kind of file: no program
    would show it, and a plan, a table or a ledger may be there.
    """
    from phalanx.errors import PlanError

    if file.suffix.lower() not in endings:
        raise PlanError(
            f"{option} {str(file)!r} is no name of such a file; let it end in {' or '.join(endings)}."
        )
