# SPDX-License-Identifier: Apache-2.0
"""What tests of the ledger in PostgreSQL share: rows to record, the server's owner, and users."""

from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from phalanx.ledger import Ledger, ReleaseEntry
from phalanx.ledger.postgresql import Postgresql
from phalanx.ledger.store import Store
from support import postgresql_server


def put_rows(ledger: Ledger, number: int, rows: int = 1) -> None:
    entry = ReleaseEntry(number=number, folder="f", staging="s", digest="d", summary={})
    ledger.commit(
        "visits",
        entry,
        promise={"m": 2},
        remember={"t": pl.DataFrame({"n": range(rows)})},
        groups=None,
    )


@contextmanager
def administrator() -> Iterator[Store]:
    """The server's owner, in the schema public."""
    store = Postgresql.open(postgresql_server.running())
    try:
        yield store
    finally:
        store.close()


def as_user(url: str, user: str) -> str:
    return url.replace("phalanx@", f"{user}@")


def schema_of(url: str) -> str:
    return url.rsplit("%3D", 1)[1]
