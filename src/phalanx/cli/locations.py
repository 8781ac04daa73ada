"""How a ledger may be named on the command line."""


def ledger_url(ledger: str) -> str:
    """A ledger's URL; a plain path is an SQLite file.

    >>> ledger_url("discharges.db")
    'sqlite:///discharges.db'
    """
    return ledger if "://" in ledger else f"sqlite:///{ledger}"
