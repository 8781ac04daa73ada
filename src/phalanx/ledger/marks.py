# SPDX-License-Identifier: Apache-2.0
"""The mark: a file beside the key that says what was published from here, so that a ledger that
went back in time is noticed.

A mark is written once its release is in the ledger for good, and before the release folder gets its
name. So what a crash leaves is one of two: the ledger knows a release that the mark does not, which
is made good by the next publisher, before the folder gets its name; or both know it. A ledger
that knows less than its mark is never what a crash leaves.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from phalanx.errors import LedgerError
from phalanx.ledger.entries import ReleaseEntry
from phalanx.ledger.keys import flush_folder, private_folder

_FORMAT: Final = "phalanx-mark-1"
_LARGEST: Final = 64_000_000
_NAMED: Final = 3


@dataclass(frozen=True, kw_only=True)
class Marked:
    """What a mark says of a series."""

    releases: Sequence[tuple[str, str]] = ()
    """The day and the digest of every release, by number."""
    moves: int = 0
    """How often the series left the ledger or came back to it."""

    @classmethod
    def of(cls, entries: Sequence[ReleaseEntry], moves: int) -> "Marked":
        """What a mark would say of the entries of a ledger."""
        return cls(releases=tuple((entry.day, entry.digest) for entry in entries), moves=moves)

    @property
    def digests(self) -> list[str]:
        """The digests of the releases."""
        return [digest for _, digest in self.releases]

    def covers(self, other: "Marked") -> bool:
        """Whether nothing that the other one says is missing here."""
        return self.moves >= other.moves and self.digests[: len(other.releases)] == other.digests


class Mark:
    """The mark of a ledger, of all its series; it holds nothing about persons, is private all the
    same, and only ever grows.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    @classmethod
    def beside(cls, key_file: Path) -> "Mark":
        """The mark of the ledger whose key is, or would be, in a file."""
        return cls(key_file.with_suffix(".mark"))

    def read(self) -> Mapping[str, Marked]:
        """What was published, by series; nothing where there is no mark. LedgerError where it
        cannot be read or was damaged.
        """
        try:
            handle = os.open(self.file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # as of a pipe
            try:
                opened = os.fdopen(handle, "rb")
            except OSError:  # of a folder
                os.close(handle)
                raise
            with opened:
                content = opened.read(_LARGEST)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise LedgerError(
                f"the mark {self.file} cannot be read ({error.strerror}); give it back to its owner"
                " with mode 0600."
            ) from None
        try:
            text, _, digest = content.decode("ascii").rstrip("\n").rpartition("\n")
            if _sum(text) != digest:
                raise ValueError
            written: Mapping[str, Any] = json.loads(text)
            if written["format"] != _FORMAT:
                raise ValueError
            return {
                name: Marked(
                    releases=tuple((str(day), str(digest)) for day, digest in entry["releases"]),
                    moves=int(entry["moves"]),
                )
                for name, entry in written["series"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise LedgerError(
                f"the mark {self.file}, which says what was published, is damaged; put a copy of it"
                " back, or make it anew by 'phalanx series reconcile'."
            ) from None

    def prepare(self) -> None:
        """LedgerError where no mark could be written, before anything is recorded."""
        try:
            private_folder(self.file.parent)
        except OSError as error:
            raise self._unwritten(error.strerror) from None
        self.check_place()

    def check_place(self) -> None:
        """LedgerError where no mark could be written; nothing is made."""
        folder = next(path for path in self.file.absolute().parents if path.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise self._unwritten("permission denied" if folder.is_dir() else "not a directory")

    def advance(self, series: str, to: Marked, *, damaged: bool = False) -> None:
        """Have the mark say what the ledger says of a series; where it says so already, or more,
        nothing is written.

        It is written beside, flushed, and renamed into place, by one process at a time. With
        ``damaged``, a mark that cannot be read is made anew.
        """
        beside = self.file.with_name(f"{self.file.name}.new")
        if _says(self._said(damaged=damaged), series, to):
            return
        try:
            private_folder(self.file.parent)
            while True:
                with os.fdopen(
                    os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600),
                    "w",
                    encoding="ascii",
                ) as opened:
                    fcntl.flock(opened, fcntl.LOCK_EX)
                    if not _is_still(beside, opened.fileno()):
                        # what was opened is the mark by now, or was removed: another process was
                        # faster
                        continue
                    try:
                        self._write(opened, self._said(damaged=damaged), series, to, beside)
                    except BaseException:
                        beside.unlink(missing_ok=True)
                        raise
                flush_folder(self.file.parent)
                return
        except OSError as error:
            raise self._unwritten(error.strerror) from None

    def begin(self, series: str) -> None:
        """Have a mark for a series before its first release is recorded: one that is behind is made
        good, and one that is missing would be an alarm.
        """
        self.advance(series, Marked())

    def _said(self, *, damaged: bool) -> Mapping[str, Marked]:
        try:
            return self.read()
        except LedgerError:
            if not damaged:
                raise
            return {}

    def _write(
        self, opened: Any, marked: Mapping[str, Marked], series: str, to: Marked, beside: Path
    ) -> None:
        if _says(marked, series, to):
            beside.unlink()
            return
        os.fchmod(opened.fileno(), 0o600)  # whatever the umask
        opened.truncate(0)
        opened.write(_text(dict(marked) | {series: to}))
        opened.flush()
        os.fsync(opened.fileno())
        beside.replace(self.file)

    def _unwritten(self, why: str | None) -> LedgerError:
        return LedgerError(
            f"the mark {self.file}, which says what was published, cannot be written ({why}); make"
            " its folder writable, and publish again."
        )


def check_not_older(where: str, series: str, mark: Mark, marked: Marked, recorded: Marked) -> None:
    """LedgerError where a ledger knows less of a series than its mark, and what was published
    since.
    """
    if recorded.covers(marked):
        return
    here, there = recorded.digests, marked.digests
    if other := next(
        (n for n, (a, b) in enumerate(zip(here, there, strict=False), start=1) if a != b), None
    ):
        day, digest = marked.releases[other - 1]
        raise LedgerError(
            f"the ledger {where} has another release {other} of series {series!r} than its mark"
            f" {mark.file} says (of {day}, digest {_short(digest)}); put back the ledger that has"
            " that one."
        )
    if len(here) >= len(there):
        raise LedgerError(
            f"the ledger {where} does not know that series {series!r} was moved, so it is older"
            f" than its mark {mark.file}; put back the ledger that was used last."
        )
    since = [
        f"release {n} of {day}, digest {_short(digest)}"
        for n, (day, digest) in enumerate(marked.releases[len(here) :], start=len(here) + 1)
    ]
    more = f"; and {len(since) - _NAMED} more" if len(since) > _NAMED else ""
    raise LedgerError(
        f"the ledger {where} is older than what was published of series {series!r}: it has"
        f" {len(here)} releases, its mark {mark.file} {len(there)}"
        f" ({'; '.join(since[:_NAMED])}{more}). Use the newest, or 'phalanx series reconcile'."
    )


def check_marked(where: str, series: str, mark: Mark, releases: int) -> None:
    """LedgerError where there are releases and no mark, so that nothing outside of the ledger tells
    whether there were more.
    """
    marked = mark.read()
    if releases and series not in marked:
        if marked:
            raise LedgerError(
                f"the mark {mark.file} does not know series {series!r}, of which the ledger {where}"
                f" has {releases} release(s); if another steward began it, say so once by 'phalanx"
                " series reconcile'."
            )
        raise LedgerError(
            f"the ledger {where} may be an old one: it knows {releases} release(s) of series"
            f" {series!r}, and there is no mark at {mark.file}. Put it back, or use 'phalanx series"
            " reconcile'."
        )


def _says(marked: Mapping[str, Marked], series: str, to: Marked) -> bool:
    return series in marked and marked[series].covers(to)


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _text(marked: Mapping[str, Marked]) -> str:
    series = {
        name: {"moves": m.moves, "releases": [list(pair) for pair in m.releases]}
        for name, m in sorted(marked.items())
    }
    text = json.dumps({"format": _FORMAT, "series": series}, indent=1)
    return f"{text}\n{_sum(text)}\n"


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _short(digest: str) -> str:
    return digest[:12]
