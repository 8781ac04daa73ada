# SPDX-License-Identifier: Apache-2.0
"""What the tests of the ledger share: a fresh ledger in each kind of database, and where its key
is.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phalanx.ledger import Ledger
from phalanx.ledger.keys import VARIABLE
from phalanx.ledger.postgresql import Postgresql
from support import postgresql_server


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a PostgreSQL server where there is none; here and not in a fixture, so that
    one line of the summary says it for all.
    """
    parameters = str(getattr(getattr(item, "callspec", None), "params", ""))
    if ("'postgresql'" in parameters or item.path.name.startswith("test_postgresql")) and (
        why := postgresql_server.missing()
    ):
        pytest.skip(why)


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture(params=["sqlite", "postgresql"])
def backend(request: pytest.FixtureRequest) -> str:
    """The kind of database; a test that uses it, or ``url`` or ``ledger``, runs on each, unless its
    file says otherwise.
    """
    return str(request.param)


@pytest.fixture
def new_url(tmp_path: Path) -> Callable[[str], str]:
    """Makes urls of ledgers that do not exist yet, in a kind of database."""
    names = iter(["ledger.db", *(f"ledger{i}.db" for i in range(2, 9))])

    def make(kind: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path / next(names)}"
        return postgresql_server.fresh_schema()

    return make


@pytest.fixture
def url(backend: str, new_url: Callable[[str], str]) -> str:
    return new_url(backend)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of an SQLite ledger."""
    return tmp_path / "ledger.db"


@pytest.fixture
def key_file(backend: str, file: Path, url: str) -> Path:
    """Where the key of ``url`` is or will be."""
    if backend == "sqlite":
        return file.with_name(file.name + ".key")
    store = Postgresql.open(url)
    store.close()
    return store.key_file


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    with Ledger.open(url) as opened:
        yield opened
