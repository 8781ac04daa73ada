# SPDX-License-Identifier: Apache-2.0
"""Persons that stand in a table twice, by the halves of their keyed hashes."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.data.persons import PersonKey
from phalanx.data.repeated import (
    Repeated,
    _in_a_row,
    _laid,
    _repeated,
    are_keys,
    halves,
    repeated,
)
from phalanx.errors import SourceError


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=40))
def test_keys_are_counted_that_were_there_before(keys: list[tuple[int, int]]) -> None:
    """The count is that of a set, also where first halves are equal and second ones are not."""
    assert _repeated(np.array(keys, dtype=np.uint64).reshape(-1, 2)) == len(keys) - len(set(keys))


@pytest.mark.parametrize("room", [1, 10**9])
def test_a_person_is_found_whichever_file_their_hash_is_in(tmp_path: Path, room: int) -> None:
    """Three persons who come again are found in one file and in many, and nothing stays behind."""
    persons = PersonKey(bytes(32)).hash(pl.Series([f"p{number}" for number in range(300)]))
    with Repeated(303, room, tmp_path) as repeated:
        repeated.see(persons)
        repeated.check("person")
        repeated.see(persons[:3])
        with pytest.raises(SourceError, match=r"^3 row\(s\) repeat a person"):
            repeated.check("person")
    assert list(tmp_path.iterdir()) == []


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=12), st.integers(0, 3), st.booleans()
)
def test_who_is_named_again_is_counted(named, first, alike):
    """Keys of whatever length, missing ones too, and some that begin alike; also of a table that
    is a part of another one.
    """
    keys = [None if n is None else bytes([0 if alike else n] * 8 + [n] * 8) for n in named]
    short = [key if key is None or place else key[:5] for place, key in enumerate(keys)]
    for each in (keys, short):
        part = pl.Series(each, dtype=pl.Binary)[first:]
        assert repeated(part) == len(each[first:]) - len(set(each[first:]))


@pytest.mark.parametrize("at_once", [1, 7, 2**20])
@pytest.mark.parametrize(
    ("of", "in_a_row"),
    [
        (lambda keys: keys, True),
        (lambda keys: keys[3:9], True),
        (lambda keys: keys.head(1), True),
        (lambda keys: keys.head(0), False),
        (lambda keys: keys.reverse(), False),
        (lambda keys: keys.gather([4, 5, 6, 9, 8]), False),
        (lambda keys: pl.concat([keys[:4], keys[6:]], rechunk=False), False),
        (lambda keys: pl.concat([keys, keys.reverse()], rechunk=True), False),
    ],
)
def test_halves_are_the_bytes_of_the_keys(monkeypatch, of, in_a_row, at_once):
    """Whether they lie one behind the other, so that nothing is copied, or anywhere."""
    monkeypatch.setattr("phalanx.data.repeated._AT_ONCE", at_once)
    keys = of(PersonKey(bytes(32)).hash(pl.Series("who", range(20))))
    assert [half.tobytes() for half in halves(keys)] == keys.to_list()
    laid = _laid(keys.rechunk())
    assert (laid is not None and _in_a_row(laid[0][:, 3])) == in_a_row
    assert are_keys(keys)


@pytest.mark.parametrize("long", [13, 15, 17, 32])
def test_what_is_longer_or_shorter_is_no_key(long):
    """Also where all bytes lie in one place, as those of keys do."""
    keys = pl.Series([bytes(16), bytes(16), bytes(long)], dtype=pl.Binary)
    assert are_keys(keys[:2]) and not are_keys(keys)
    assert repeated(keys) == 1


def test_keys_that_lie_between_others_are_read_where_they_do():
    """Bytes of other lengths between them, so that they are no number of keys apart."""
    keys = pl.Series([bytes([1]) * 16, bytes(17), bytes([2]) * 16, bytes([3]) * 16])
    some = keys.gather([3, 0, 2])
    assert [half.tobytes() for half in halves(some)] == some.to_list()
