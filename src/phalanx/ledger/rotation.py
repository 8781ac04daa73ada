# SPDX-License-Identifier: Apache-2.0
"""The key of a ledger, changed: everything is sealed anew in one transaction, with the new key on
the disk before it, and in its place after it.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from phalanx.errors import LedgerError
from phalanx.ledger.keys import VARIABLE, Keyring, flush_folder, fresh_key, read_key, write_key
from phalanx.ledger.marks import check_marked
from phalanx.ledger.rows import CHECK, PERSON, Head, Rows, is_key
from phalanx.ledger.sealing import seal
from phalanx.ledger.store import Store

NEW_VARIABLE: Final = "PHALANX_LEDGER_NEW_KEY"
_ID: Final = "SELECT value FROM meta WHERE name = 'id'"
_SERIES: Final = (
    "SELECT name FROM series UNION SELECT series FROM releases UNION SELECT series FROM segments"
)
"""Those, too, of which a row is hidden from us: what stayed under the old key would be lost."""


def open_keys(store: Store, ledger: bytes) -> Keyring:
    """The keys of a ledger; a change of the key that was interrupted once the ledger had it is
    finished.

    LedgerError where the key is missing, readable by others, or not that of the ledger.
    """
    next_file = _next(store.key_file)
    missing: LedgerError | None = None
    try:
        root = Keyring.load(store.key_file)
        if is_key(store, keys := root.of_ledger(ledger)):
            return keys
    except LedgerError as error:
        missing = error
    if VARIABLE not in os.environ and next_file.exists():
        keys = Keyring.of_file(next_file).of_ledger(ledger)
        if is_key(store, keys):
            _put_in_place(store.key_file)
            return keys
    if missing is not None:
        raise missing
    raise LedgerError(
        f"{root.origin} does not hold the key of the ledger {store.where}; put the right key back."
    )


def rotate(rows: Rows) -> Keyring:
    """Seal everything anew under a new key; the keys that the ledger has afterwards.

    A crash before the transaction is done leaves the old key in place, and the new one beside it,
    of no use; a crash after it leaves a ledger that :func:`open_keys` opens with the new one.
    LedgerError where the mark knows more than the ledger, or there is none: a newer copy of it would
    need the old key.
    Persons keep their keys, which are sealed as those of a series that came from another ledger
    are.
    """
    store, old = rows.store, rows.keys
    with store.transaction():
        rows.check_key()
        ((ledger,),) = store.run(_ID)
        new = _new_root(store.key_file).of_ledger(ledger)
        renewed = Rows(store, new)
        try:
            here = {str(series) for (series,) in store.run(_SERIES)}
            for series in sorted(here | rows.mark.read().keys()):
                _renew(rows, renewed, series)
            store.run(
                "UPDATE meta SET value = $1 WHERE name = 'check'", seal(new.check(), CHECK, "check")
            )
        except BaseException:
            if VARIABLE not in os.environ:
                _next(store.key_file).unlink(missing_ok=True)
            raise
    if VARIABLE in os.environ:
        return new
    _put_in_place(store.key_file)
    return replace(new, origin=old.origin)


def _renew(rows: Rows, renewed: Rows, series: str) -> None:
    """Everything of one series, read under the old key and written under the new one."""
    entries, recorded = rows.known(series)
    promise = rows.promise(series)
    if promise is None:
        raise rows.store.damaged()
    check_marked(rows.store.where, series, rows.mark, len(entries))
    person_key = rows.person_key(series, entries).key
    for entry, names in entries:
        for name in names:
            sealed = renewed.seal(rows.segment(series, entry, name), series, entry, name)
            rows.store.run(
                "UPDATE segments SET sealed = $1 WHERE series = $2 AND number = $3 AND name = $4",
                sealed,
                series,
                entry.number,
                name,
            )
        brings = entry.number == 1 and PERSON not in names
        if brings:
            renewed.insert_segment(
                series, 1, PERSON, renewed.seal(person_key, series, entry, PERSON)
            )
        renewed.authenticate_anew(series, entry, [*names, PERSON] if brings else names)
    renewed.set_head(series, Head.of(promise, recorded.digests, recorded.moves))


def _new_root(key_file: Path) -> Keyring:
    """The new key: a fresh one, written beside the old one; or that of the environment, where the
    old one is there, too.
    """
    if VARIABLE in os.environ:
        if NEW_VARIABLE not in os.environ:
            raise LedgerError(
                f"the key comes from the environment variable {VARIABLE}, so the new one must, too;"
                f" set {NEW_VARIABLE}, and {VARIABLE} afterwards."
            )
        if os.environ[NEW_VARIABLE] == os.environ[VARIABLE]:
            raise LedgerError(
                f"{NEW_VARIABLE} is the key that {VARIABLE} has already; set it to a new one."
            )
        return Keyring.of_variable(NEW_VARIABLE)
    beside = _next(key_file)
    if beside.exists():
        # what an interrupted change left, which the ledger does not have: it would have been put in
        # place
        beside.unlink(missing_ok=True)
    key = fresh_key()
    write_key(beside, key, remedy="make its folder writable, with room")
    if read_key(beside, of="the ledger", remedy="try again") != key:
        raise LedgerError(
            f"the key file {beside} was written by another process meanwhile; nothing was changed,"
            " so try again."
        )
    return Keyring.of_file(beside)


def _put_in_place(key_file: Path) -> None:
    """Give the new key its name, unless another process did meanwhile."""
    try:
        _next(key_file).replace(key_file)
        flush_folder(key_file.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise LedgerError(
            f"the ledger has its new key, in {_next(key_file)}, which cannot be renamed to"
            f" {key_file} ({error.strerror}); rename it yourself."
        ) from None


def _next(key_file: Path) -> Path:
    return key_file.with_name(f"{key_file.name}.next")
