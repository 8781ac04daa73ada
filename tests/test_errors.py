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
    """As one pattern says it, which takes out all that stands before the last @ of a word."""
    assert without_passwords(text) == SLOW.sub(r"\1…@", text)


@pytest.mark.parametrize("part", ["a:", "-a.", "a:/", "'a:", "password=", "a:@ ", "://"])
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
