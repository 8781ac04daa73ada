# SPDX-License-Identifier: Apache-2.0
"""A message holds no password, whatever stands beside it, and is made in no time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.errors import PhalanxError, without_passwords

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
