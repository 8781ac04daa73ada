# SPDX-License-Identifier: Apache-2.0
"""The ledger's key: one file of 32 random bytes that only its owner may read, and the keys derived
from it.
"""

import errno
import fcntl
import hashlib
import hmac
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from phalanx.data.persons import PersonKey
from phalanx.errors import LedgerError
from phalanx.randomness import Randomness

VARIABLE: Final = "PHALANX_LEDGER_KEY"
_BYTES: Final = 32


@dataclass(frozen=True, repr=False)
class Keyring:
    """The root key and what is derived from it; ``repr`` shows nothing.

    One key may be that of several ledgers: each derives its own from it and its random id
    (:meth:`of_ledger`). Every series has keys of its own, so that the same person has unrelated
    person keys in two series, and a segment of one series is noise in another.
    """

    _root: bytes
    origin: str
    """Where the key came from, for error messages."""

    @classmethod
    def load(cls, file: Path) -> "Keyring":
        """The key of a ledger that exists; LedgerError where it is missing, readable by others or
        not a key.
        """
        if VARIABLE in os.environ:
            return cls.of_variable(VARIABLE)
        return cls.of_file(file)

    @classmethod
    def of_file(cls, file: Path) -> "Keyring":
        """The key in a file."""
        return cls(
            read_key(file, of="its ledger", remedy=f"put it back, or set {VARIABLE}"),
            f"the key file {file}",
        )

    @classmethod
    def of_variable(cls, name: str) -> "Keyring":
        """The key in an environment variable that is set."""
        return cls(
            _parse(os.environ[name], f"the environment variable {name}"),
            f"the environment variable {name}",
        )

    @classmethod
    def create(cls, file: Path) -> "Keyring":
        """A fresh key in a new file of mode 0600; a key that is there already is used and never
        overwritten.
        """
        if VARIABLE in os.environ or file.exists():
            return cls.load(file)
        write_key(
            file, fresh_key(), remedy=f"make its folder writable, with room, or set {VARIABLE}"
        )
        return cls.load(file)

    def of_ledger(self, ledger: bytes) -> "Keyring":
        """The keys of one ledger, by the random id that it was made with, so that two ledgers under
        one key have nothing in common.
        """
        return Keyring(
            HKDF(hashes.SHA256(), _BYTES, salt=ledger, info=b"phalanx/ledger").derive(self._root),
            self.origin,
        )

    def person(self, series: str) -> PersonKey:
        """The key that turns identifiers into person keys in one series."""
        return PersonKey(self._derive("person", series))

    def sealing(self, series: str) -> bytes:
        """The key under which the segments of one series are sealed."""
        return self._derive("sealing", series)

    def check(self) -> bytes:
        """The key of the ledger's check value."""
        return self._derive("check", "")

    def authenticate(self, series: str, content: bytes) -> bytes:
        """HMAC-SHA256 of what the ledger says in plain about a release, 32 bytes."""
        return hmac.digest(self._derive("entry", series), content, hashlib.sha256)

    def _derive(self, purpose: str, series: str) -> bytes:
        info = (
            f"phalanx/ledger/{purpose}/{series}".encode()
        )  # a purpose holds no slash, so no two pairs read the same
        return HKDF(hashes.SHA256(), _BYTES, salt=None, info=info).derive(self._root)

    def __repr__(self) -> str:
        return "Keyring(…)"


def fresh_key() -> bytes:
    """A new key of 32 bytes."""
    return Randomness.secure().stream("ledger key").words(_BYTES // 8).tobytes()


def read_key(file: Path, *, of: str, remedy: str) -> bytes:
    """The key in a file that only its owner may read; LedgerError where it is missing, readable by
    others or not a key.
    """
    try:
        # a pipe would be waited for
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            os.close(handle)
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
    except FileNotFoundError:
        raise LedgerError(
            f"the key file {file} is missing, and nothing in {of} can be read without it; {remedy}."
        ) from None
    except OSError as error:
        raise LedgerError(
            f"the key file {file} cannot be read ({error.strerror}); give it back to its owner with"
            " mode 0600."
        ) from None
    with os.fdopen(handle, "rb") as opened:
        if stat.S_IMODE(os.fstat(handle).st_mode) & 0o077:
            raise LedgerError(
                f"the key file {file} can be read by others than its owner; run: chmod 600 {file}"
            )
        try:
            content = opened.read(1024)
        except OSError as error:
            raise LedgerError(
                f"the key file {file} cannot be read ({error.strerror}); put the file back."
            ) from None
    return _parse(content.decode("latin-1"), f"the key file {file}")


def write_key(file: Path, key: bytes, *, remedy: str) -> None:
    """Put a key into a new file that only its owner may read; where another process was faster, its
    key stands.

    No process ever sees half a key: it is written beside, flushed, and renamed into place. The name
    beside is always the same, so that the next one takes over what an interrupted one leaves, and
    is locked, so that no process takes it over from one that still writes.
    """
    beside = file.with_name(f"{file.name}.new")
    try:
        private_folder(file.parent)
        with os.fdopen(
            os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600),
            "w",
            encoding="ascii",
        ) as opened:
            fcntl.flock(opened, fcntl.LOCK_EX)
            if file.exists():  # and what was opened may be the key by now
                beside.unlink(missing_ok=True)
                return
            owner = os.fstat(opened.fileno()).st_uid
            if owner != os.geteuid():  # who could read what root writes there
                raise OSError(errno.EPERM, f"{beside.name} belongs to another user")
            try:
                os.fchmod(opened.fileno(), 0o600)  # a strict umask must not lock the owner out
                opened.truncate(0)
                opened.write(key.hex() + "\n")
                opened.flush()
                os.fsync(opened.fileno())
                beside.replace(file)
            except BaseException:
                beside.unlink(missing_ok=True)
                raise
        flush_folder(file.parent)
    except OSError as error:
        raise LedgerError(
            f"the key file {file} cannot be written ({error.strerror}); {remedy}."
        ) from error


def _parse(text: str, origin: str) -> bytes:
    if not re.fullmatch(rf"[0-9a-fA-F]{{{2 * _BYTES}}}", text.strip()):
        raise LedgerError(
            f"{origin} does not hold a key ({2 * _BYTES} hexadecimal digits); put the right key"
            " back."
        )
    return bytes.fromhex(text.strip())


def private_folder(folder: Path) -> None:
    """Make a folder that is not there, and those above it, for their owner only."""
    if folder.is_dir():
        return
    private_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)  # whatever the umask
    flush_folder(folder.parent)


def flush_folder(folder: Path) -> None:
    """Make the names in a folder survive a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
