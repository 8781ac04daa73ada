# SPDX-License-Identifier: Apache-2.0
"""A series in a file, on its way to another ledger: sealed under a key of its own, written whole,
and read back only as it was written.
"""

import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from phalanx.errors import LedgerError
from phalanx.ledger.entries import ReleaseEntry
from phalanx.ledger.keys import fresh_key, read_key, write_key
from phalanx.ledger.rows import MOVED, PERSON
from phalanx.ledger.sealing import MOST, seal, unseal

_FORMAT: Final = b"phalanx-series-2\n"
_CHECK: Final = 16
_LENGTH: Final = 8
_SEALING: Final = 28  # what sealing adds: nonce and tag


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a file says about its series, before the segments come, release by release, in the order
    of their names here.
    """

    series: str
    promise: str
    """As the ledger has it, JSON."""
    created: str
    person_key: bytes
    """The key that turns identifiers into person keys, without which the persons would be
    forgotten.
    """
    copy: bool
    """Whether the series goes on where it came from."""
    moves: int
    """How often the series had left the ledger that it came from, or come back to it."""
    releases: Sequence[tuple[ReleaseEntry, Sequence[str]]]
    """Every release with the names of its segments."""

    def to_bytes(self) -> bytes:
        """The contents as JSON."""
        releases = [asdict(entry) | {"segments": list(names)} for entry, names in self.releases]
        content = {
            "series": self.series,
            "promise": self.promise,
            "created": self.created,
            "person_key": self.person_key.hex(),
            "copy": self.copy,
            "moves": self.moves,
        }
        return json.dumps(content | {"releases": releases}, allow_nan=False).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> "Contents":
        """The contents that were written; ValueError, KeyError or TypeError where they are of
        another make.
        """
        fields: Mapping[str, Any] = json.loads(content)
        releases = [
            (
                ReleaseEntry(**{k: v for k, v in r.items() if k != "segments"}),
                [str(name) for name in r["segments"]],
            )
            for r in fields["releases"]
        ]
        key = bytes.fromhex(fields["person_key"])
        own = {name for _, names in releases for name in names} & {PERSON, MOVED}
        if (
            len(key) != 32
            or not releases
            or [entry.number for entry, _ in releases] != list(range(1, len(releases) + 1))
            or own
        ):
            raise ValueError
        return cls(
            series=str(fields["series"]),
            promise=json.dumps(json.loads(fields["promise"]), sort_keys=True, allow_nan=False),
            created=str(fields["created"]),
            person_key=key,
            copy=bool(fields["copy"]),
            moves=int(fields["moves"]),
            releases=releases,
        )


class Outgoing:
    """A new file that takes a series, record by record; each is bound to its place in the row, so
    that none can be changed, swapped or left out.
    """

    def __init__(self, file: Path, opened: BinaryIO, key: bytes) -> None:
        self._file = file
        self._opened = opened
        self._key = key
        self._count = 0
        self._made = [file]

    @classmethod
    @contextmanager
    def to(cls, file: Path) -> Iterator["Outgoing"]:
        """Make the file, for its owner only; file and key are removed again where the block ends
        with an error.
        """
        for path in (file, key_beside(file)):
            if path.exists() or path.is_symlink():
                raise _exists(path)
        key = fresh_key()
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _unwritten(file, error) from error
        try:
            with os.fdopen(handle, "wb") as opened:  # which may fail as it is closed, too
                out = cls(file, opened, key)
                try:
                    os.fchmod(handle, 0o600)  # whatever the umask
                    opened.write(_FORMAT + _check_of(key))
                    yield out
                except BaseException:
                    for path in out._made:
                        path.unlink(missing_ok=True)
                    raise
        except OSError as error:
            raise _unwritten(file, error) from error

    def write(self, content: bytes) -> None:
        """Append a record."""
        sealed = seal(_sealing_of(self._key), content, "record", self._count)
        self._opened.write(len(sealed).to_bytes(_LENGTH, "big"))
        self._opened.write(sealed)
        self._count += 1

    def finish(self) -> None:
        """Have the file and its key on the disk."""
        self._opened.flush()
        os.fsync(self._opened.fileno())
        key_file = key_beside(self._file)
        write_key(key_file, self._key, remedy="choose another folder")
        if read_key(key_file, of=str(self._file), remedy="export again") != self._key:
            raise _exists(key_file)
        self._made.append(key_file)


class Incoming:
    """A file that was exported, read in the order in which it was written; LedgerError where it is
    not as it was written.
    """

    def __init__(self, file: Path, opened: BinaryIO, key: bytes) -> None:
        self._file = file
        self._opened = opened
        self._key = key
        self._count = 0
        try:
            self.contents = Contents.from_bytes(self.read())
        except (KeyError, TypeError, ValueError):
            raise _other_version(file) from None

    @classmethod
    @contextmanager
    def of(cls, file: Path, key_file: Path) -> Iterator["Incoming"]:
        """Open a file with its key."""
        try:
            opened = file.open("rb")
        except OSError as error:
            raise LedgerError(
                f"{file} cannot be read ({error.strerror}); name the file that 'series export'"
                " wrote."
            ) from None
        with opened:
            if _bytes_of(file, opened, len(_FORMAT)) != _FORMAT:
                raise _other_version(file)
            key = read_key(
                key_file,
                of=str(file),
                remedy="have it sent too, and name it with --key where it is not beside the file",
            )
            if not hmac.compare_digest(_bytes_of(file, opened, _CHECK), _check_of(key)):
                raise LedgerError(
                    f"the key file {key_file} does not hold the key of {file}; put the key there"
                    " that was exported with it."
                )
            yield cls(file, opened, key)

    def read(self) -> bytes:
        """The next record."""
        length = int.from_bytes(_bytes_of(self._file, self._opened, _LENGTH), "big")
        sealed = _bytes_of(self._file, self._opened, length) if length <= MOST + _SEALING else b""
        content = (
            unseal(_sealing_of(self._key), sealed, "record", self._count)
            if len(sealed) == length
            else None
        )
        if content is None:
            raise self._changed()
        self._count += 1
        return content

    def end(self) -> None:
        """Make sure that nothing follows the last record."""
        if _bytes_of(self._file, self._opened, 1):
            raise self._changed()

    def _changed(self) -> LedgerError:
        return LedgerError(
            f"{self._file} is not as it was exported (changed or cut short on its way); nothing was"
            " imported, so have it sent again."
        )


def key_beside(file: Path) -> Path:
    """Where the key of an exported series is, unless the user puts it elsewhere."""
    return file.parent / f"{file.name}.key"  # also of what has no name, which is no such file


def _bytes_of(file: Path, opened: BinaryIO, number: int) -> bytes:
    """The next bytes of a file, so many or as many as there are."""
    try:
        return opened.read(number)
    except OSError as error:
        raise LedgerError(
            f"{file} cannot be read ({error.strerror}); nothing was imported."
        ) from None


def _sealing_of(key: bytes) -> bytes:
    return hmac.digest(key, b"phalanx/series/sealing", hashlib.sha256)


def _check_of(key: bytes) -> bytes:
    """Tells a wrong key from a changed file, and nothing about the key."""
    return hmac.digest(key, b"phalanx/series/check", hashlib.sha256)[:_CHECK]


def _exists(path: Path) -> LedgerError:
    return LedgerError(
        f"{path} exists already and is not overwritten; name another file, or remove what an"
        " interrupted export left."
    )


def _unwritten(file: Path, error: OSError) -> LedgerError:
    return LedgerError(
        f"{file} cannot be written ({error.strerror}); nothing was exported, so make room or choose"
        " another folder."
    )


def _other_version(file: Path) -> LedgerError:
    return LedgerError(
        f"{file} is not a series that this version of Phalanx exported; name the file that 'series"
        " export' wrote."
    )
