# SPDX-License-Identifier: Apache-2.0
"""A message holds no password, whatever stands beside it, and is made in no time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.errors import PhalanxError, lack_behind, without_passwords

SLOW = re.compile(r"(?<![\w+.])([A-Za-z][\w+.-]*:/*+)(?!user@host)[^\s'\"]*@")
"""All that may be a user and a password, in one pattern, which looks at each letter again and
again.
"""
BLANKS = re.compile(
    r"(?<![\w+.])([A-Za-z][\w+.-]*:/++)(?!user@host)(?=[^\s/?#@]*:).*@(?!(?<=://user@)host)"
)
"""The same, with what may have blanks or quotes in it."""
PARTS = [
    "postgresql://",
    "user@host",
    "ann",
    ":",
    "s3",
    "@",
    "/",
    " ",
    "'",
    '"',
    ".",
    "-",
    "+",
    "é",
]


class Wordless(Exception):
    """An error of another package, which cannot say what it is about."""

    def __str__(self):
        raise RuntimeError("p3 has a")


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_what_may_be_a_password_is_taken_out(text):
    """As one pattern says it, which takes out all that stands before the last @ of a word, after
    another one, which does so before the last of all.
    """
    assert without_passwords(text) == SLOW.sub(r"\1…@", BLANKS.sub(r"\1…@", text, count=1))


@pytest.mark.parametrize(
    "text",
    [
        "there is no file 'postgresql://ann:{} pw@127.0.0.1:1/db'; did you mean x?",
        "postgresql:/ann:{} pw@db/x",
        "postgresql:///ann:pw {}@db/x",
        "postgresql://ann:pw'{} x\"y@db/x",
        "postgresql://ann:pw@{} y@db/x",
        "\"password = '{}'\"",
        "'password = \\'{}\"x\\''",
        "password='two {} words'",
        'password = "{}',
        "PASSWORD={}'s",
        "postgresql://h/db?options=-c%20password%3D{}",
        "postgresql://h/db?options=-c%20password%20%3D%20{}",
        "postgresql://h/db?options=-c%2520password%253D{}",
        "pass={}",
        "-c%2Dpass%3D{}",
        "db_pass = {}",
        "pwd = {}",
        "passwd: {}",
        "secret :{}",
        "token= {}",
        "sslpassword={}",
        "PGPASSWORD={}",
        "the file holds {{'password': '{}'}}",
        'the file holds {{"token" : "{}"}}',
        "there is no file 'pwd={}'; name another.",
    ],
)
def test_no_password_is_left(text):
    """One with a blank in its url, one beside its name, however the two are joined."""
    for secret in ("SECRETpw", "SECRET.pw", "SECRET:pw"):
        assert "SECRET" not in without_passwords(text.format(secret))
        assert "pw" not in without_passwords(text.format(secret)).replace("pwd", "")
        assert "SECRET" not in str(PhalanxError(text.format(secret)))


@pytest.mark.parametrize(
    "text",
    [
        "there is no file 'a/passenger=1.csv'; name another.",
        "there is no file 'compass=3'; name another.",
        "there is no file 'pass.csv'; did you mean 'passes.csv'?",
        "there is no file 'bypass = 3.csv'.",
        "the server asks for a password and none is given; put it into ~/.pgpass.",
        "the server refuses the user or the password; check both.",
        "the second pass takes more memory; the token is old.",
        "column 'secret': its values are no numbers.",
        "column 'token' has the role 'quasi', and tokens=3, secretary=2.",
        "write sqlite:///file.db or postgresql://user@host/database: both do.",
        "'oracle:///x' is no ledger; write postgresql://user@host/database.",
        "see https://example.org/a b, or ask ann@example.org.",
        "the url 'sqlite:///a.db?password=' is cut short; name a file.",
        "the key is 'password'; name another.",
    ],
)
def test_what_is_no_password_stays(text):
    """Names of files and ordinary sentences are said as they are."""
    assert without_passwords(text) == text


def test_a_sentence_goes_on_after_a_password():
    """What to do is still said behind it."""
    assert (
        without_passwords("no file 'postgresql://ann:a b@h:1/db?pass = x'; name another.")
        == "no file 'postgresql://…@h:1/db?pass = …'; name another."
    )


@pytest.mark.parametrize(
    "part",
    [
        "a:",
        "-a.",
        "a:/",
        "'a:",
        "password=",
        "a:@ ",
        "://",
        "password ",
        "pass='",
        'token="',
        "pwd\\",
        "a://b:@",
        "a://b: ",
    ],
)
def test_a_long_name_takes_no_time(part):
    """One of a table, or of a manifest, that a stranger made: an hour where time grew with its
    square.
    """
    assert len(str(PhalanxError(f"there is no column {part * 300_000!r}."))) < 3_000_000


WORDS = ["Too many open files", "Cannot allocate memory", "can't start new thread"]


@pytest.mark.parametrize("words", WORDS)
def test_what_the_machine_lacks_is_known_by_the_words_of_a_library(words):
    """In each of the ways in which they come, with what else is quoted beside them."""
    for said in (
        words,
        f"{words} (os error 0): /a/b.csv",
        f"failed for '/a/b.csv': {words}",
        f'IOError(Os {{ code: 0, kind: Uncategorized, message: "{words}" }})',
    ):
        assert lack_behind(RuntimeError(said))


@pytest.mark.parametrize("words", WORDS)
def test_what_a_library_quotes_says_nothing_of_the_machine(words):
    """Names and values are of a table that anybody made; a number of the system says it all."""
    for said in (
        f"could not parse `{words}` as dtype `i64` at column 'x'",
        f"could not parse `a`{words}` as dtype `i64` at column 'x'",
        f'unable to find column "{words}"; valid columns: ["x"]',
        f"no such file: '/{words}/b.csv'",
    ):
        assert lack_behind(ValueError(said)) is None
    assert lack_behind(FileNotFoundError(2, "No such file or directory", words)) is None
    assert lack_behind(Wordless()) is None
