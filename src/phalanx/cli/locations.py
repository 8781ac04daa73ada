"""How a ledger may be named on the command line."""


def ledger_url(ledger: str) -> str:
    """A ledger's URL; a plain path is an SQLite file, and what begins like the URL of a database is no path, however it goes on.

    >>> ledger_url("discharges.db")
    'sqlite:///discharges.db'
    """
    is_url = "://" in ledger or ledger.partition(":")[0].lower() in ("postgresql", "postgres", "sqlite")
    return ledger if is_url else f"sqlite:///{ledger}"
