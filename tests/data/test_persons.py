# SPDX-License-Identifier: Apache-2.0
"""Persons become keyed hashes: the same person always the same, two persons never, the key never
shown.
"""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.persons import person_key
from phalanx.data.persons import PersonKey
from phalanx.errors import SourceError

KEY = PersonKey(bytes(range(32)))

identifiers = st.text(min_size=1, max_size=70).filter(
    lambda t: t == t.strip() and max(t) < "\ud800"
)


@settings(max_examples=150, deadline=None)
@given(st.lists(identifiers, min_size=1, max_size=12))
def test_agrees_with_the_slow_twin_on_texts(texts):
    """Many identifiers of many lengths at once hash as each one does alone, block by block."""
    values = pl.Series("id", texts, dtype=pl.String)
    if (
        values != values.str.strip_chars()
    ).any():  # Polars and Python disagree on a few blanks; those are refused, tested below
        return

    assert [person_key(KEY.key, t) for t in texts] == KEY.hash(values).to_list()


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12))
def test_agrees_with_the_slow_twin_on_integers(numbers):
    """Whole numbers hash as their text, so that a series survives a change from Parquet to CSV."""
    keys = KEY.hash(pl.Series("id", numbers, dtype=pl.Int64))

    assert [person_key(KEY.key, n) for n in numbers] == keys.to_list()
    assert KEY.hash(pl.Series("id", [str(n) for n in numbers])).to_list() == keys.to_list()


@pytest.mark.parametrize("length", [1, 11, 12, 13, 15, 16, 17, 31, 32, 33, 100])
def test_block_edges(length):
    """Texts that end just before, at and after a block's end agree with the twin, alone and beside
    shorter ones.
    """
    texts = ["x" * length, "y", "x" * (length + 1)]

    assert [person_key(KEY.key, t) for t in texts] == KEY.hash(pl.Series("id", texts)).to_list()


def test_unicode_twins_are_one_person():
    """A name typed with a combining accent is the person typed with the accented letter."""
    composed, decomposed = KEY.hash(pl.Series("id", ["Ren\u00e9", "Rene\u0301"])).to_list()

    assert composed == decomposed


def test_trailing_zero_bytes_are_another_person():
    """The padding cannot be imitated: the length stands in front."""
    keys = KEY.hash(pl.Series("id", ["a", "a\0", "a\0\0", "\0", "a" * 16, "a" * 16 + "\0"]))

    assert keys.n_unique() == 6


def test_a_hundred_thousand_persons_do_not_collide():
    """Different identifiers give different keys of 16 bytes."""
    keys = KEY.hash(pl.Series("id", range(100_000)))

    assert keys.n_unique() == 100_000
    assert keys.bin.size().unique().to_list() == [16]


def test_another_key_gives_other_persons():
    """Without the key nobody can recompute who is who."""
    ids = pl.Series("id", range(100))

    assert not set(KEY.hash(ids)) & set(PersonKey(bytes(32)).hash(ids))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (pl.Series("id", ["a", None]), "missing in 1 of 2"),
        (pl.Series("id", ["a", ""]), "empty in 1 of 2"),
        (pl.Series("id", ["a", " b"]), "blanks around it in 1 of 2"),
        (pl.Series("id", ["a", "b\u00a0"]), "blanks around it in 1 of 2"),
        (pl.Series("id", [1.0, 2.0]), "Float64"),
        (pl.Series("id", [True]), "Boolean"),
    ],
)
def test_refuses_what_names_nobody(values, said):
    """A missing, empty, padded or fractional identifier is refused by column and count, never by
    value.
    """
    with pytest.raises(SourceError, match=said):
        KEY.hash(values)


def test_no_persons_no_keys():
    """No identifiers give no keys."""
    assert KEY.hash(pl.Series("id", [], dtype=pl.String)).to_list() == []


def test_the_key_is_not_shown():
    """The key is in no repr."""
    assert repr(KEY) == "PersonKey(…)"


def test_categories_are_their_text():
    """A categorical identifier is the same person as its text."""
    ids = ["p1", "p2", "p1"]

    assert (
        KEY.hash(pl.Series("id", ids, dtype=pl.Categorical)).to_list()
        == KEY.hash(pl.Series("id", ids)).to_list()
    )


def test_short_texts_of_a_part_of_a_column() -> None:
    """Each is read where it lies, whatever stands before it."""
    texts = pl.Series("who", [f"p{n}" for n in range(30)])
    hashes = KEY.hash(texts)
    assert KEY.hash(texts[7:19]).equals(hashes[7:19])
    assert KEY.hash(pl.concat([texts[:3], texts[9:]], rechunk=False)).to_list() == [
        *hashes[:3],
        *hashes[9:],
    ]
