# SPDX-License-Identifier: Apache-2.0
"""Uniform integers from words: every bound exactly, the words that would make it uneven refused,
none used twice.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.kernels.picking import SPARE, pick

WORDS = 2**63


@given(st.integers(1, WORDS - 1), st.data())
def test_a_draw_below_the_last_whole_multiple_counts(bound, data):
    """Of the 2^63 words just the greatest multiple of the bound is used, so that each integer has
    equally many; the others are passed over.
    """
    fair = WORDS // bound * bound
    last, first_refused = fair - 1, fair
    assert pick(bound, np.array([last]), 0) == (bound - 1, 1)
    word = data.draw(st.integers(0, last))
    if first_refused < WORDS:
        refused = data.draw(st.integers(first_refused, WORDS - 1))
        assert pick(bound, np.array([refused, first_refused, WORDS - 1, word]), 0) == (
            word % bound,
            4,
        )
    assert pick(bound, np.array([7, word]), 1) == (word % bound, 2)


@pytest.mark.parametrize("bound", [1, 2, 2**62, 2**63 - 1])
def test_ends(bound):
    """A bound of 1 has one outcome, powers of 2 refuse nothing, and of the greatest bound one word
    is refused.
    """
    assert pick(bound, np.array([WORDS - 1, 0]), 0) == (
        (0, 2) if bound == WORDS - 1 else (bound - 1, 1)
    )


def test_words_that_run_out_are_an_error():
    """Where all words are refused or used, nothing is made up."""
    with pytest.raises(ValueError, match="too few draws"):
        pick(3, np.array([5]), 1)
    with pytest.raises(ValueError, match="too few draws"):
        pick(3 * 2**60, np.full(SPARE, WORDS - 1), 0)


def test_a_remainder_without_refusing_would_be_uneven():
    """For a bound of 3/4 of the words' number a plain remainder gives its lower third twice as
    often; these draws give each third a third.

    30,000 draws, seeded; the share of the lower third is within 0.02 of 1/3, which chance leaves
    with a probability below 1e-12 (seven standard errors).
    """
    bound = 3 * 2**61
    words = np.random.default_rng(3).integers(0, WORDS, 60_000, dtype=np.int64)
    at, low = 0, 0
    for _ in range(30_000):
        number, at = pick(bound, words, at)
        low += number < 2**61
    assert abs(low / 30_000 - 1 / 3) < 0.02
    assert not abs((words[:30_000] % bound < 2**61).mean() - 1 / 3) < 0.02
