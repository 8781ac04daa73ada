"""What the tests of the ledger share: a fresh ledger file and entries to commit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from phalanx.ledger import Ledger
from phalanx.ledger.keys import VARIABLE


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def url(file: Path) -> str:
    return f"sqlite:///{file}"


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    with Ledger.open(url) as opened:
        yield opened
