# SPDX-License-Identifier: Apache-2.0
"""The key file is private, made once, never overwritten, and everything that is wrong with it is
one sentence.
"""

import errno
import fcntl
import hmac
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from phalanx.errors import LedgerError
from phalanx.ledger import Ledger
from phalanx.ledger.keys import VARIABLE, Keyring
from phalanx.ledger.marks import Mark


def beside(key_file: Path) -> list[str]:
    """What is in the folder of a key, less an SQLite ledger."""
    return sorted(p.name for p in key_file.parent.iterdir() if p.name != "ledger.db")


def test_a_key_is_made_with_the_ledger(url: str, key_file: Path) -> None:
    """A new ledger has a key file of 64 hexadecimal digits, mode 0600, with nothing left beside it;
    opening again changes nothing.
    """
    Ledger.open(url).close()
    content = key_file.read_bytes()
    assert len(bytes.fromhex(content.decode())) == 32
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert beside(key_file) == [key_file.name]
    Ledger.open(url).close()
    assert key_file.read_bytes() == content


def test_two_ledgers_have_two_keys(backend: str, new_url: Callable[[str], str]) -> None:
    """No two ledgers share a key, not even in two schemas of one database."""
    keys = set()
    for _ in range(2):
        with Ledger.open(new_url(backend)) as ledger:
            keys.add(ledger._store.key_file.read_bytes())
    assert len(keys) == 2


def test_keys_are_derived_as_they_ever_were() -> None:
    """By HKDF of a purpose and a series, so that a later version opens what an earlier one made."""

    def hkdf(root: bytes, info: bytes, salt: bytes = bytes(32)) -> bytes:
        return hmac.digest(hmac.digest(salt, root, "sha256"), info + b"\1", "sha256")

    root, ledger = b"r" * 32, b"i" * 16
    of = Keyring(root, "a test").of_ledger(ledger)
    base = hkdf(root, b"phalanx/ledger", ledger)
    assert of.check() == hkdf(base, b"phalanx/ledger/check/")
    assert of.sealing("s/é") == hkdf(base, "phalanx/ledger/sealing/s/é".encode())
    assert of.person("s").key == hkdf(base, b"phalanx/ledger/person/s")
    entry = hkdf(base, b"phalanx/ledger/entry/s")
    assert of.authenticate("s", b"x") == hmac.digest(entry, b"x", "sha256")


def test_a_missing_key(url: str, key_file: Path) -> None:
    """Without its key a ledger does not open, and no new key is made that would hide the loss."""
    Ledger.open(url).close()
    key_file.unlink()
    with pytest.raises(
        LedgerError, match="is missing, and nothing in its ledger can be read without it"
    ):
        Ledger.open(url)
    assert not key_file.exists()


def test_a_wrong_key(url: str, key_file: Path) -> None:
    """Another ledger's key is recognised before anything is read or written."""
    Ledger.open(url).close()
    right = key_file.read_text()
    key_file.write_text("0" * 64)
    with pytest.raises(LedgerError, match="does not hold the key of the ledger"):
        Ledger.open(url)
    key_file.write_text(right)
    Ledger.open(url).close()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"0" * 63,
        b"0" * 65,
        b"g" * 64,
        b"\xff" * 64,
        b"0x" + b"0" * 62,
        b"0" * 32 + b" " + b"0" * 31,
        b"1" * 5000,
    ],
)
def test_something_else_than_a_key(url: str, key_file: Path, content: bytes) -> None:
    """A file that holds no key is named, and its content is not shown."""
    Ledger.open(url).close()
    key_file.write_bytes(content)
    with pytest.raises(LedgerError, match="does not hold a key") as told:
        Ledger.open(url)
    assert not content or content.decode("latin-1") not in str(told.value)


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660, 0o601, 0o777])
def test_a_key_that_others_may_read(url: str, key_file: Path, mode: int) -> None:
    """A key that others could have read is refused until its mode is put right, with the command
    that does it.
    """
    Ledger.open(url).close()
    key_file.chmod(mode)
    with pytest.raises(LedgerError, match="chmod 600"):
        Ledger.open(url)
    key_file.chmod(0o400)
    Ledger.open(url).close()


def test_a_key_is_not_given_to_another_user(
    url: str, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who laid a file where the key is written owns it, and root could write to it all the same."""
    beside = key_file.with_name(f"{key_file.name}.new")
    beside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside.touch()
    monkeypatch.setattr(os, "geteuid", lambda: beside.stat().st_uid + 1)
    with pytest.raises(LedgerError, match="belongs to another user"):
        Ledger.open(url)
    assert not key_file.exists() and beside.read_bytes() == b""


def test_no_pipe_is_waited_for(url: str, key_file: Path) -> None:
    """In place of the key, and in place of the mark."""
    Ledger.open(url).close()
    key_file.unlink()
    os.mkfifo(key_file, mode=0o600)
    with pytest.raises(LedgerError, match="does not hold a key"):
        Ledger.open(url)
    mark = Mark.beside(key_file)
    os.mkfifo(mark.file)
    with pytest.raises(LedgerError, match="is damaged"):
        mark.read()


def test_the_environment_wins(url: str, key_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variable set no key file is made or read; a wrong or malformed value is refused
    without showing it.
    """
    monkeypatch.setenv(VARIABLE, "ab" * 32)
    with Ledger.open(url) as ledger:
        person = ledger.person_key("s").hash(pl.Series([1]))[0]
    assert not key_file.exists()
    monkeypatch.setenv(VARIABLE, "AB" * 32)
    with Ledger.open(url) as ledger:
        assert ledger.person_key("s").hash(pl.Series([1]))[0] == person
    for wrong, words in (
        ("ac" * 32, "does not hold the key of the ledger"),
        ("secret", "does not hold a key"),
        ("", "does not hold a key"),
    ):
        monkeypatch.setenv(VARIABLE, wrong)
        with pytest.raises(LedgerError, match=f"{VARIABLE} {words}") as told:
            Ledger.open(url)
        assert not wrong or wrong not in str(told.value)


def test_an_interrupted_beginning_is_resumed(url: str, key_file: Path) -> None:
    """A key without a ledger, as a crash between the two leaves it, is used and not replaced."""
    with Ledger.open(url) as ledger:
        for table in ("segments", "releases", "series", "meta"):
            ledger._store.run(f"DROP TABLE {table}")
    content = key_file.read_bytes()
    Ledger.open(url).close()
    assert key_file.read_bytes() == content


def test_a_full_disk_leaves_no_half_key(
    url: str, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that could not be written leaves nothing behind, and the ledger begins when there is
    room.
    """
    real = os.fsync

    def full(handle: int) -> None:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    key_file.parent.mkdir(parents=True, exist_ok=True)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(LedgerError, match=r"cannot be written \(No space left on device\)"):
            Ledger.open(url)
    assert beside(key_file) == []
    Ledger.open(url).close()


def test_the_name_of_a_key_survives_a_power_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of a key is flushed once the key has its name, and the one above it once the folder
    has its own.
    """
    folder = tmp_path / "keys"
    real, flushed = os.fsync, []

    def looking(handle: int) -> None:
        own = os.fstat(handle)
        flushed.extend(
            (name, (folder / "ledger.key").exists())
            for name in ("keys", ".")
            if (tmp_path / name).is_dir() and os.path.samestat(own, (tmp_path / name).stat())
        )
        real(handle)

    monkeypatch.setattr(os, "fsync", looking)
    Keyring.create(folder / "ledger.key")
    assert flushed == [(".", False), ("keys", True)]


def test_another_process_made_the_folder_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the making; it is used as it is, and the key comes to stand in it."""
    real = Path.mkdir

    def late(self: Path, *how: Any, **more: Any) -> None:
        real(self)
        real(self, *how, **more)

    file = tmp_path / "keys" / "ledger.key"
    monkeypatch.setattr(Path, "mkdir", late)
    Keyring.create(file)
    assert len(bytes.fromhex(file.read_text())) == 32


def test_another_process_was_faster(key_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two make the key at once, both use the one that stands."""
    real = fcntl.flock

    def late(*lock: Any) -> None:
        key_file.touch(0o600)
        key_file.write_text("cd" * 32)
        real(*lock)

    monkeypatch.setattr(fcntl, "flock", late)
    keys = Keyring.create(key_file)
    assert key_file.read_text() == "cd" * 32
    assert keys.sealing("s") == Keyring.load(key_file).sealing("s")
    assert beside(key_file) == [key_file.name]


def test_another_process_was_faster_and_renamed_what_was_opened(
    key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the file that both had opened beside became the other's key before this one had the
    lock, nothing is left to take away, and the key stands.
    """
    real = fcntl.flock

    def late(*lock: Any) -> None:
        real(*lock)
        opened = key_file.with_name(f"{key_file.name}.new")
        opened.write_text("ef" * 32)
        opened.replace(key_file)

    monkeypatch.setattr(fcntl, "flock", late)
    keys = Keyring.create(key_file)
    assert key_file.read_text() == "ef" * 32
    assert keys.sealing("s") == Keyring.load(key_file).sealing("s")
    assert beside(key_file) == [key_file.name]


def test_keys_are_never_shown(ledger: Ledger, key_file: Path) -> None:
    """No repr holds a key, and every purpose and series has a key of its own."""
    root = key_file.read_text().strip()
    keys = Keyring.load(key_file)
    for thing in (keys, ledger, ledger.person_key("s")):
        assert root not in repr(thing)
        assert "\\x" not in repr(thing)
    derived = [
        keys.sealing("a"),
        keys.sealing("b"),
        keys.person("a").key,
        keys.person("b").key,
        keys.check(),
        bytes.fromhex(root),
    ]
    assert len(set(derived)) == len(derived)
