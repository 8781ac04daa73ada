# SPDX-License-Identifier: Apache-2.0
"""Publishing, broken on purpose: each of these must be found by stopping it at every call."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.ledger import Ledger, sealing, store
from phalanx.ledger.marks import Mark, Marked
from phalanx.ledger.rows import Rows
from phalanx.series import staging


def named_too_early() -> None:
    """The folder gets its name before the ledger knows it."""
    commit = Ledger.commit

    def late(self: Ledger, series: str, entry: Any, **said: Any) -> None:
        final = Path(entry.folder)
        (final.parent / entry.staging).rename(final)
        commit(self, series, entry, **said)

    Ledger.commit = late
    staging.Folder.hand_out = lambda *_: None


def unknown_to_the_ledger() -> None:
    """The ledger does not know under which name the folder was written."""
    commit = Ledger.commit
    Ledger.commit = lambda self, series, entry, **said: commit(
        self, series, replace(entry, staging="elsewhere"), **said
    )


def never_mended() -> None:
    """Nobody looks after what a stopped publisher left."""
    staging.recover = lambda *_: []


def statement_by_statement() -> None:
    """The ledger records each part of a release for itself."""

    @contextlib.contextmanager
    def nothing(*_: Any) -> Iterator[None]:
        yield

    store.Store.transaction = nothing


def unsealed() -> None:
    """What the ledger remembers is there to read."""
    plain = SimpleNamespace(
        encrypt=lambda _nonce, content, _place: bytes(content),
        decrypt=lambda _nonce, content, _place: bytes(content),
    )
    sealing.AESGCM = lambda _key: plain


def a_copy_beside() -> None:
    """The table is put into a temporary file while it is encoded."""
    _copy(lambda: None)


def a_copy_elsewhere() -> None:
    """The same, and not where temporary files belong."""
    _copy(lambda: Path(tempfile.gettempdir()).parents[1])


def _copy(where: Callable[[], Path | None]) -> None:
    encode = Microdata.encode

    def copying(frame: Any, *rest: Any) -> Microdata:
        with tempfile.NamedTemporaryFile("wb", dir=where()) as file:
            frame.write_csv(file)
            file.flush()
            return encode(frame, *rest)

    Microdata.encode = copying


def marked_too_late() -> None:
    """The folder gets its name before the mark says so."""
    advance, hand_out, late = Mark.advance, staging.Folder.hand_out, []
    Mark.advance = lambda *said, **how: late.append((said, how))

    def first(*a: Any) -> None:
        hand_out(*a)
        for said, how in late:
            advance(*said, **how)

    staging.Folder.hand_out = first


def marked_too_early() -> None:
    """The mark says so before the ledger knows it for good."""
    insert = Rows.insert_release

    def early(self: Rows, series: str, promise: str, entry: Any, segments: Any) -> None:
        insert(self, series, promise, entry, segments)
        known = self.mark.read().get(series, Marked())
        self.mark.advance(
            series, replace(known, releases=(*known.releases, (entry.day, entry.digest)))
        )

    Rows.insert_release = early


def swallowed() -> None:
    """An error after the recording is told as if nothing had happened."""
    hand_out = staging.Folder.hand_out

    def failing(*a: Any) -> None:
        try:
            hand_out(*a)
        except OSError:
            raise ReleaseError("it cannot be named; nothing was published.") from None

    staging.Folder.hand_out = failing


def never_flushed() -> None:
    """Nothing that Python writes is flushed to the disk."""
    os.fsync = lambda _: None


def not_named_on_the_disk() -> None:
    """The name under which the ledger knows the folder is not flushed before the ledger knows
    it.
    """
    flush = staging._flush
    staging._flush = lambda path: (
        None
        if path.is_dir() and any(inner.suffix == ".staging" for inner in path.iterdir())
        else flush(path)
    )


def removed_too_early() -> None:
    """A publisher that fails removes its folder even when the ledger may know it."""
    leave = staging.Folder.__exit__

    def hasty(self: Any, *why: Any) -> None:
        if why[0] is not None:
            shutil.rmtree(self.path, ignore_errors=True)
        leave(self, *why)

    staging.Folder.__exit__ = hasty


TWINS: dict[str, Callable[[], None]] = {
    twin.__name__: twin
    for twin in (
        named_too_early,
        unknown_to_the_ledger,
        never_mended,
        statement_by_statement,
        unsealed,
        a_copy_beside,
        a_copy_elsewhere,
        marked_too_late,
        marked_too_early,
        swallowed,
        never_flushed,
        not_named_on_the_disk,
        removed_too_early,
    )
}
