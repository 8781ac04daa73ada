# SPDX-License-Identifier: Apache-2.0
"""The key file of a ledger in PostgreSQL is its user's own, and can be copied to a colleague."""

import os
import stat
from pathlib import Path

import pytest

from phalanx.errors import LedgerError
from phalanx.ledger import Ledger
from phalanx.ledger.postgresql import Address
from support.postgresql_cases import put_rows


@pytest.fixture
def backend() -> str:
    return "postgresql"


@pytest.mark.usefixtures("ledger")
def test_the_key_file_is_the_users_own(key_file: Path) -> None:
    """The key is below the user's configuration, in folders and a file that only they may enter,
    and the name tells nothing.
    """
    config = Path(os.environ["XDG_CONFIG_HOME"])
    assert key_file.parent == config / "phalanx"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (config, key_file.parent, key_file)] == [
        0o700,
        0o700,
        0o600,
    ]
    assert len(key_file.name) == 64 + len(".key")


@pytest.mark.parametrize("umask", [0, 0o777])
def test_the_folder_is_private_whatever_the_umask(url: str, key_file: Path, umask: int) -> None:
    """Neither a wide umask opens the folder of keys nor a strict one locks the owner out."""
    before = os.umask(umask)
    try:
        Ledger.open(url).close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(key_file.parent.stat().st_mode) == 0o700


def test_without_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without XDG_CONFIG_HOME, or with a relative one, which its specification ignores, keys are in
    ~/.config.
    """
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in (None, "relative"):
        monkeypatch.delenv("XDG_CONFIG_HOME") if value is None else monkeypatch.setenv(
            "XDG_CONFIG_HOME", value
        )
        assert Address.of("postgresql://h/d").key_file().parent == tmp_path / ".config" / "phalanx"


def test_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whom the machine does not know, as in a container, reads what to set."""

    def unknown() -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr(Path, "home", unknown)
    with pytest.raises(LedgerError, match=r"this user has none; set XDG_CONFIG_HOME to a private"):
        Address.of("postgresql://h/d").key_file()


def test_a_colleague_copies_the_key(
    url: str, key_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On another machine the error names the path where the key belongs, and with the file copied
    there the ledger opens.
    """
    with Ledger.open(url) as ledger:
        put_rows(ledger, 1)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "elsewhere"))
    there = tmp_path / "elsewhere" / "phalanx" / key_file.name
    with pytest.raises(
        LedgerError, match=f"the key file {there} is missing, and nothing in its ledger can be read"
    ):
        Ledger.open(url)
    there.parent.mkdir(parents=True)
    there.touch(0o600)
    there.write_text(key_file.read_text())
    with Ledger.open(url) as ledger:
        assert len(ledger.releases("visits")) == 1
