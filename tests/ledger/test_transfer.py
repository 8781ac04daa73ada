# SPDX-License-Identifier: Apache-2.0
"""The file of a series is written by hand, so that a later version reads what an earlier one
exported.
"""

import errno
import hmac
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Self

import polars as pl
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from phalanx.errors import LedgerError
from phalanx.ledger import Ledger
from phalanx.ledger.sealing import pack
from phalanx.ledger.transfer import Outgoing

KEY = bytes(range(32))


@pytest.fixture
def backend() -> str:
    return "sqlite"


def exported(file: Path, *records: bytes) -> None:
    """A file of these records, and its key beside it, as the format has them."""
    sealing = AESGCM(hmac.digest(KEY, b"phalanx/series/sealing", "sha256"))
    content = b"phalanx-series-2\n" + hmac.digest(KEY, b"phalanx/series/check", "sha256")[:16]
    for place, record in enumerate(records):
        nonce = bytes([place]) * 12
        sealed = nonce + sealing.encrypt(nonce, record, b'["record", %d]' % place)
        content += len(sealed).to_bytes(8, "big") + sealed
    file.write_bytes(content)
    key_file = file.with_name(f"{file.name}.key")
    key_file.touch(0o600)
    key_file.write_text(KEY.hex() + "\n")


RELEASE = {
    "number": 1,
    "folder": "/there/visits-1",
    "staging": ".1",
    "digest": "1" * 64,
    "summary": {"rows": 2},
    "day": "2026-01-31",
}
TABLES = [bytes(pack(pl.DataFrame({"n": [number]}))) for number in (1, 2)]


def contents(promise: str) -> bytes:
    """What the first record of a file says."""
    said = {
        "series": "visits",
        "promise": promise,
        "created": "2026-01-31",
        "person_key": (b"p" * 32).hex(),
        "copy": False,
        "moves": 3,
        "releases": [RELEASE | {"segments": ["carried/c", "memory/t"]}],
    }
    return json.dumps(said).encode()


def test_a_file_is_as_it_ever_was(ledger: Ledger, tmp_path: Path) -> None:
    """Sealed records, the first of which says what comes: the series of such a file is taken in whole
    with the key of its persons, and goes on under its promise, in whatever order that was written.
    """
    file, promise = tmp_path / "visits.series", {"method": "m-invariance", "m": 2}
    exported(file, contents(json.dumps(promise)), *TABLES)
    ledger.import_series(file)
    (entry,) = ledger.releases("visits", marked=True)
    assert {name: getattr(entry, name) for name in RELEASE} == RELEASE
    assert ledger.person_key("visits").key == b"p" * 32
    assert ledger.state("visits")["c"]["n"].to_list() == [1]
    assert ledger.remembered("visits")["t"]["n"].to_list() == [2]
    assert [(s.created, s.promise) for s in ledger.series()] == [("2026-01-31", promise)]
    second = replace(entry, number=2, digest="2" * 64)
    ledger.commit("visits", second, promise=promise, remember={}, groups=None)
    assert [e.number for e in ledger.releases("visits")] == [1, 2]


@pytest.mark.parametrize("promise", ['{"m": NaN}', '{"m": Infinity}', "{", ""])
def test_a_promise_that_no_ledger_writes(ledger: Ledger, tmp_path: Path, promise: str) -> None:
    """A file with a promise that is no JSON is of another make, and brings nothing."""
    exported(tmp_path / "visits.series", contents(promise), *TABLES)
    with pytest.raises(LedgerError, match="is not a series that this version of Phalanx exported"):
        ledger.import_series(tmp_path / "visits.series")
    assert ledger.series() == []


class Failing:
    """An opened file that fails at its n-th reading."""

    def __init__(self, opened: BinaryIO, last: int) -> None:
        self.opened, self.left = opened, last

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.opened.close()

    def read(self, number: int) -> bytes:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return self.opened.read(number)


def test_a_file_that_fails_while_it_is_read(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At whichever reading, of the format, the check, a record or the end, it is one sentence, and
    nothing is taken in; with a whole reading more, all of it is.
    """
    file, real, readings = tmp_path / "visits.series", Path.open, 2 + 2 * 3 + 1
    exported(file, contents("{}"), *TABLES)
    for last in range(readings):
        with monkeypatch.context() as patched:
            patched.setattr(
                Path, "open", lambda path, mode, last=last: Failing(real(path, mode), last)
            )
            with pytest.raises(
                LedgerError, match=r"series cannot be read \(Input/output error\); nothing was"
            ):
                ledger.import_series(file)
        assert ledger.series() == []
    monkeypatch.setattr(Path, "open", lambda path, mode: Failing(real(path, mode), readings))
    ledger.import_series(file)
    assert [s.name for s in ledger.series()] == ["visits"]


def test_a_file_that_is_gone_when_an_export_fails(tmp_path: Path) -> None:
    """What failed is said, and not that there is nothing to remove."""
    file = tmp_path / "visits.series"

    def export() -> None:
        with Outgoing.to(file):
            file.unlink()
            raise LedgerError("the series cannot be read.")

    with pytest.raises(LedgerError, match=r"^the series cannot be read\.$"):
        export()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_grows_too_large_is_named(tmp_path: Path) -> None:
    """Also where what is left of it is written as it is closed."""
    resource = pytest.importorskip("resource", reason="the system limits no files")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    file = tmp_path / "visits.series"

    def export() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
        try:
            with Outgoing.to(file) as out:
                for _ in range(20):
                    out.write(bytes(3000))
                out.finish()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    with pytest.raises(LedgerError, match=r"visits\.series cannot be written \(File too large\)"):
        export()
    assert list(tmp_path.iterdir()) == []
