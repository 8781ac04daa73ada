# SPDX-License-Identifier: Apache-2.0
"""What is added to the url of a PostgreSQL ledger, and what is not since somebody has decided it;
needs no server.
"""

import pytest

from phalanx.ledger.postgresql import _with_defaults

OWN = {
    "connect_timeout": "15",
    "keepalives_idle": "60",
    "tcp_user_timeout": "120000",
    "application_name": "phalanx",
}
VARIABLES = {"connect_timeout": "PGCONNECT_TIMEOUT", "application_name": "PGAPPNAME"}


@pytest.fixture(autouse=True)
def _nothing_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)


def added(url: str) -> dict[str, str]:
    """The options of a url with defaults, which must begin with the url itself."""
    whole = _with_defaults(url)
    assert whole.startswith(url)
    rest = whole[len(url) :]
    if not rest:
        return {}
    assert rest[0] == ("&" if "?" in url else "?")
    return dict(pair.split("=") for pair in rest[1:].split("&"))


@pytest.mark.parametrize(
    "url",
    ["postgresql://h/d", "postgresql://h/d?sslmode=require", "postgresql:///d?host=/run&port=1"],
)
def test_a_plain_url_gets_all(url: str) -> None:
    """Time limits, signs of life and a name are added, after ``?`` or ``&`` as the url has options
    already or not.
    """
    assert added(url) == OWN


@pytest.mark.parametrize("name", OWN)
def test_what_the_url_says_stays(name: str) -> None:
    """An option in the url is not said again, and the others are."""
    assert added(f"postgresql://h/d?{name}=7") == {
        other: value for other, value in OWN.items() if other != name
    }


@pytest.mark.parametrize("name", VARIABLES)
def test_what_the_environment_says_stays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option that libpq takes from the environment is not overridden, whatever the url says of
    others.
    """
    monkeypatch.setenv(VARIABLES[name], "7")
    assert added("postgresql://h/d") == {
        other: value for other, value in OWN.items() if other != name
    }


def test_nothing_is_added_where_all_is_decided() -> None:
    """Such a url stays as it is, without a ``?`` or ``&`` at its end."""
    whole = f"postgresql://h/d?{'&'.join(f'{name}=1' for name in OWN)}"
    assert _with_defaults(whole) == whole
