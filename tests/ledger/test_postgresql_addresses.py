# SPDX-License-Identifier: Apache-2.0
"""The address of a ledger in PostgreSQL: what cannot be opened is one sentence without a password,
and the address names the key file.
"""

import sys

import pytest
from adbc_driver_manager import AdbcStatusCode, dbapi

from phalanx.errors import ExtraError, LedgerError
from phalanx.ledger import Ledger
from phalanx.ledger.postgresql import Address

# What is wrong with an address, and what the ledger says about it. {host} stands for the folder of
# the test server's socket.
UNREACHABLE = [
    ("postgresql://ann:hunter2@127.0.0.1:1/db", "postgresql://127.0.0.1:1/db cannot be reached"),
    (
        "postgresql://ann:hunter2@nowhere.invalid/db",
        "postgresql://nowhere.invalid/db cannot be reached",
    ),
    ("postgresql://ann:hunter2@/db?host=/nowhere", "postgresql://%2Fnowhere/db cannot be reached"),
    (
        "postgresql:///db?host=/nowhere&user=ann&password=hunter2",
        "postgresql://%2Fnowhere/db cannot be reached",
    ),
    (
        "postgresql://phalanx:hunter2@/none?host={host}",
        "/none does not exist; have the database made",
    ),
    ("postgresql://nobody:hunter2@/postgres?host={host}", "/postgres knows no such user"),
    (
        "postgresql://ann:hunter2@127.0.0.1:1,[::1]:1/db",
        "postgresql://127.0.0.1:1,[::1]:1/db cannot be reached",
    ),
    ("postgresql://ann:hunter2@h/db?sslmode=hunter2", "postgresql://h/db cannot be opened"),
    ("postgresql://ann:hunter2@h/db?hunter2=1", "postgresql://h/db cannot be opened"),
]


@pytest.mark.parametrize(("address", "words"), UNREACHABLE)
def test_what_cannot_be_opened(new_url, address: str, words: str) -> None:
    """No server, no database, no such user, a wrong option: one sentence each, with the address and
    without the password.
    """
    host = new_url("postgresql").split("host=")[1].split("&")[0]
    with pytest.raises(LedgerError) as told:
        Ledger.open(address.replace("{host}", host))
    assert words in str(told.value)
    assert str(told.value).startswith("the ledger postgresql://")
    assert str(told.value).endswith(".")
    assert "hunter2" not in str(told.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:",
        "postgresql:/",
        "postgresql:hunter2",
        "postgresql://u:p@ss:hunter2@host/db",
        "postgresql://u:pa/ss@hunter2/db",
        "postgresql://u:12/hunter2@host/db",
        "postgresql://u:pa?ss@hunter2/db",
        "postgresql://u:pa#hunter2@host/db",
        "postgresql://u:hunter2@host:port/db",
        "postgresql://u:hunter2@host/db\0",
        "postgresql://u:hunter2@host/a/b",
        "postgres://u:hunter2@[::1/db",
    ],
)
def test_urls_that_are_none(url: str) -> None:
    """A url that is read in more ways than one, such as one with a bare @ in its password, is
    refused, and nothing of it is shown.
    """
    with pytest.raises(
        LedgerError,
        match="the ledger url is not one of PostgreSQL; write postgresql://user@host/database",
    ) as told:
        Ledger.open(url)
    assert "hunter2" not in str(told.value)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            'FATAL:  password authentication failed for user "anneliese"',
            "refuses the user or the password",
        ),
        ("fe_sendauth: no password supplied", "asks for a password and none is given"),
        (
            'FATAL:  no pg_hba.conf entry for host "1.2.3.4", user "anneliese"',
            "does not let this user in from here",
        ),
        ("FATAL:  sorry, too many clients already", "has no connection left"),
        ("FATAL:  the database system is starting up", "is starting or stopping"),
        ("canceling statement due to statement timeout", "allows a statement too little time"),
        ("server does not support SSL, but SSL was required", "encryption of the connection"),
        ('FATAL:  permission denied for database "db"', "the right to CONNECT"),
        (
            "FATAL:  Passwort-Authentifizierung für Benutzer »anneliese« fehlgeschlagen",
            "cannot be opened; check host, database, user and password",
        ),
    ],
)
def test_what_the_driver_says_at_the_door(
    monkeypatch: pytest.MonkeyPatch, words: str, sentence: str
) -> None:
    """Each reason for which a server does not let somebody in has its sentence, which quotes
    nobody.
    """

    def refused(*_: object, **__: object) -> None:
        raise dbapi.OperationalError(
            f"IO: [libpq] Failed to connect: {words}", status_code=AdbcStatusCode.IO
        )

    driver = pytest.importorskip("adbc_driver_postgresql.dbapi")
    monkeypatch.setattr(driver, "connect", refused)
    with pytest.raises(LedgerError) as told:
        Ledger.open("postgresql://anneliese@host/db")
    assert sentence in str(told.value)
    assert "anneliese" not in str(told.value)


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the driver is not installed, the sentence says how to install it."""
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(
        ExtraError,
        match=(
            r"a ledger in PostgreSQL needs the extra 'postgres'; run pip install"
            r" 'phalanx\[postgres\]'\."
        ),
    ) as told:
        Ledger.open("postgresql://u:hunter2@h/d")
    assert "hunter2" not in str(told.value)


SAME = [
    ("postgresql://ann@h/d", "postgres://bob:pw@h:5432/d?connect_timeout=3"),
    ("postgresql://h/d", "postgresql:///?host=h&dbname=d"),
    ("postgresql://%2Frun%2Fpg/d", "postgresql:///d?host=/run/pg"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_ledger_has_one_key_file(one: str, other: str) -> None:
    """User, password and options do not change which key belongs to a ledger; host, port, database
    and schema do.
    """
    assert Address.of(one).key_file() == Address.of(other).key_file()
    different = [
        "postgresql://g/d",
        "postgresql://h/e",
        "postgresql://h:1/d",
        "postgresql://h/d?host=i",
    ]
    files = {Address.of(url).key_file() for url in [one, *different]}
    assert len(files) == 5
    assert (
        Address(host="h", database="d", schema="s").key_file()
        != Address(host="h", database="d").key_file()
    )


def test_the_environment_names_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """What libpq takes from the environment is part of the address."""
    plain = Address.of("postgresql:///d")
    monkeypatch.setenv("PGHOST", "db.example.org")
    monkeypatch.setenv("PGPORT", "5433")
    assert Address.of("postgresql:///d").shown() == "postgresql://db.example.org:5433/d"
    assert Address.of("postgresql:///d").key_file() != plain.key_file()
