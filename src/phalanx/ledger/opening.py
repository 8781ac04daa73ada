# SPDX-License-Identifier: Apache-2.0
"""How a ledger is opened, and begun where there is none."""

from pathlib import Path
from typing import Final

from phalanx.errors import LedgerError, kind_of
from phalanx.ledger.keys import Keyring
from phalanx.ledger.marks import Mark, Marked, check_not_older
from phalanx.ledger.rotation import open_keys
from phalanx.ledger.rows import CHECK
from phalanx.ledger.sealing import seal
from phalanx.ledger.sqlite import Sqlite
from phalanx.ledger.store import Store, table_definitions
from phalanx.randomness import Randomness

_FORMAT: Final = b"phalanx-ledger-3"
_ID: Final = 16


def opened(url: str, *, create: bool) -> tuple[Store, Keyring]:
    """The store of a url, recognised as a ledger or made one, and its keys; LedgerError as
    ``Ledger.open`` says.
    """
    store = store_of(url, create=create)
    try:
        tables = store.tables()
        if "meta" in tables:
            id_ = _recognised(store)
            keys = open_keys(store, id_)
        elif tables:
            raise LedgerError(
                f"{store.where} is a database and not a ledger; name another {store.kind}."
            )
        elif not create:
            raise LedgerError(
                f"there is no ledger at {store.where} (the {store.kind} is empty); 'publish'"
                " makes one, so check the name."
            )
        else:
            root = Keyring.create(store.key_file)
            _begin(store, root)
            keys = open_keys(store, _recognised(store))
    except BaseException:
        store.close()
        raise
    return store, keys


def check_new(where: str, key_file: Path, series: str) -> None:
    """LedgerError where a ledger that is not there would not be a new one, by what stands beside it:
    a key that cannot be used, or a mark of a series.
    """
    if key_file.exists():
        Keyring.load(key_file)
    mark = Mark.beside(key_file)
    check_not_older(where, series, mark, mark.read().get(series, Marked()), Marked())


def store_of(url: str, *, create: bool) -> Store:
    """The store of a url, not looked into."""
    if not isinstance(url, str):
        raise LedgerError(f"the ledger is {kind_of(url)}; give its url, as a text.")
    scheme, colon, _ = url.partition(":")
    if colon and scheme == "sqlite":
        return Sqlite.open(url, create=create)
    if scheme in ("postgresql", "postgres"):
        from phalanx.ledger.postgresql import Postgresql

        return Postgresql.open(url)
    raise LedgerError(
        "a ledger url starts with sqlite:/// or postgresql://, and this one does not; write"
        f" sqlite:///{'ledger.db' if colon else url}."
    )


def _begin(store: Store, root: Keyring) -> None:
    """Make the tables, unless another process made them while we waited for the lock."""
    with store.transaction():
        if "meta" in store.tables():
            return
        for definition in table_definitions(store):
            store.run(definition)
        id_ = Randomness.secure().stream("ledger id").words(_ID // 8).tobytes()
        for name, value in (
            ("format", _FORMAT),
            ("id", id_),
            ("check", seal(root.of_ledger(id_).check(), CHECK, "check")),
        ):
            store.run("INSERT INTO meta (name, value) VALUES ($1, $2)", name, value)


def _recognised(store: Store) -> bytes:
    """The random id of a ledger; LedgerError where it is none."""
    meta = (
        dict(store.run("SELECT name, value FROM meta"))
        if store.tables() >= {"meta", "series", "releases", "segments"}
        else {}
    )
    id_ = meta.get("id")
    if meta.get("format") != _FORMAT or not isinstance(id_, bytes) or len(id_) != _ID:
        raise LedgerError(
            f"{store.where} is not a ledger of this version of Phalanx; use the version that made"
            f" it, or name another {store.kind}."
        )
    return id_
